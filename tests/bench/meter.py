# SPDX-License-Identifier: Apache-2.0
"""Measuring: windows of time in which everything is counted."""

import time

import generator

# A window in which more than this of the core was taken away from the PMD
# thread is measured again, at most so many times.
MAX_AWAY_PERCENT = 2
MAX_REPEATS = 6


def stolen_seconds(core):
    """For how long the hypervisor ran something else."""
    with open('/proc/stat') as f:
        for line in f:
            if line.startswith('cpu%d ' % core):
                return int(line.split()[8]) / 100
    return 0


def waited_seconds(switch):
    """For how long the PMD thread waited while something else ran on its
    core; 0 where the kernel doesn't tell."""
    try:
        with open('/proc/%d/task/%d/schedstat' % (
                switch.vswitchd.pid, switch.pmd_thread())) as f:
            return int(f.read().split()[1]) / 1e9
    except OSError:
        return 0


def page_faults(switch):
    """How often the PMD thread had to wait for memory to be mapped."""
    with open('/proc/%d/task/%d/stat' % (switch.vswitchd.pid,
                                         switch.pmd_thread())) as f:
        fields = f.read().rpartition(')')[2].split()
    return int(fields[7]) + int(fields[9])      # Minor and major ones.


class Window:
    """What happened between two moments; 'ports' may be none."""

    def __init__(self, switch, ports):
        self.switch, self.ports = switch, ports
        self.core = switch.machine.pmd_core
        self.alu = self.memory = None
        if ports:
            self.alu, self.memory = switch.generator.probe(min(ports))

    def begin(self):
        switch = self.switch
        if switch.profiler:
            switch.profiler.start(switch)
        self.connections = -switch.n_connections()
        switch.control('dpif-netdev/pmd-stats-clear')
        self.away = -self.away_seconds()
        self.faults = -page_faults(switch)
        self.counters = switch.generator.counters(self.ports)
        if self.ports:
            switch.generator.longest_gap(self.ports)
        self.started = time.monotonic()

    def end(self):
        switch = self.switch
        after = switch.generator.counters(self.ports)
        self.seconds = time.monotonic() - self.started
        self.gap = (switch.generator.longest_gap(self.ports)
                    if self.ports else 0)
        if switch.profiler:
            switch.profiler.finish(switch)
        self.away += self.away_seconds()
        self.faults += page_faults(switch)
        self.pmd = switch.pmd_stats()
        self.connections += switch.n_connections()
        self.counters = {
            port: {name: after[port][name] - before[name]
                   for name in generator.COUNTERS}
            for port, before in self.counters.items()}
        return self

    def total(self, counter):
        return sum(counters[counter] for counters in self.counters.values())

    def rate(self, counter):
        return self.total(counter) / self.seconds

    def away_seconds(self):
        return stolen_seconds(self.core) + waited_seconds(self.switch)

    @property
    def away_percent(self):
        """How much of the core was not ours."""
        return 100 * self.away / self.seconds

    @property
    def cycles_per_packet(self):
        return self.pmd.get('avg processing cycles per packet', 0.0)

    @property
    def upcalls(self):
        return (self.pmd.get('miss with success upcall', 0)
                + self.pmd.get('miss with failed upcall', 0))

    def summary(self):
        """What explains a figure; kept beside it."""
        return {
            'mpps_in': self.rate('rx') / 1e6,
            'mpps_out': self.rate('tx') / 1e6,
            'missed': self.total('missed'),
            'missed_away': self.total('missed_away'),
            'longest_gap_us': self.gap / 1000,
            'echo_dropped': self.total('echo_dropped'),
            'upcalls': self.upcalls,
            'passes': self.pmd.get('avg. datapath passes per packet', 0),
            'away_percent': self.away_percent,
            'page_faults': self.faults,
            'alu_cycles': self.alu,
            'memory_cycles': self.memory,
        }


def window(switch, ports, seconds):
    w = Window(switch, ports)
    w.begin()
    time.sleep(seconds)
    return w.end()


def quiet_window(switch, ports, seconds, pause=0.15):
    """A window in which the core was ours, if there is such."""
    for _ in range(MAX_REPEATS + 1):
        time.sleep(pause)
        w = window(switch, ports, seconds)
        if w.away_percent <= MAX_AWAY_PERCENT:
            break
    return w
