# SPDX-License-Identifier: Apache-2.0
"""One changed object of a large cluster, given to antrea-dpctl: what it costs
the command and the daemon.  Stock has no such thing and is left out."""

import os
import subprocess
import time

import objects
from case import Case, Sample
from cases_policies import PODS, State
from results import OURS, Limit

SIZES = (5000, 100), (10000, 1000)      # Pods, policies.
CHANGES = 20


class Dpctl:
    """antrea-dpctl on the switch, and the CPU seconds that it takes."""

    def __init__(self, switch):
        self.program = switch.side.tree.program('antrea-dpctl')
        self.env = switch.env

    def __call__(self, verb, items):
        """Seconds of user and system."""
        with subprocess.Popen(
                [self.program, '--node', objects.OUR_NODE, verb, '-f', '-'],
                env=self.env, stdin=subprocess.PIPE, text=True,
                stdout=subprocess.DEVNULL) as process:
            process.stdin.write(objects.text(items))
            process.stdin.close()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError('antrea-dpctl %s failed' % verb)
        return usage.ru_utime + usage.ru_stime


class Change(Case):
    """CPU time of the command for each change; the daemon's beside it."""

    more_is_better = False
    unit = 'ms'

    def __init__(self, name, size, goal=None):
        super().__init__(name, goal)
        self.size = size

    def run(self, switch):
        if switch.side.name != OURS:
            return []
        state, dpctl = State(switch), Dpctl(switch)
        world = objects.Objects(*self.size, local=PODS)
        try:
            dpctl('apply', world.all())
            return [self.measure(state, dpctl, items)
                    for items in self.changes(world)]
        finally:
            state.close()

    @staticmethod
    def measure(state, dpctl, items):
        started, daemon = time.monotonic(), -state.cpu_seconds()
        cpu = dpctl('apply', items)
        daemon += state.cpu_seconds()
        return Sample(cpu * 1000, daemon_ms=daemon * 1000,
                      elapsed_ms=(time.monotonic() - started) * 1000)


class PodChange(Change):
    """Pods that get another label, of other Nodes and of ours."""

    @staticmethod
    def changes(world):
        for i in range(CHANGES):
            index = i if i % 2 else world.n_pods - 1 - i
            yield [world.pod(index, app='app%d' % (i % objects.APPS))]


class PolicyChange(Change):
    """Policies that become those of another number."""

    @staticmethod
    def changes(world):
        for i in range(CHANGES):
            policy = world.policy(i)
            policy['spec'] = world.policy(i + 7)['spec']
            yield [policy]


def cases():
    for pods, policies in SIZES:
        suffix = '%dkx%d' % (pods // 1000, policies)
        yield PodChange('object-pod-' + suffix, (pods, policies),
                        Limit(50, '50 ms'))
        yield PolicyChange('object-policy-' + suffix, (pods, policies),
                           Limit(50, '50 ms'))
