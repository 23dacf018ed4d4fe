# SPDX-License-Identifier: Apache-2.0
"""Ports of the kernel's: iperf3 between two network namespaces, whose veths
are the switch's ports, and beside it between two behind a bridge of the
kernel's, which is the most that such ports can do.

All share the cores but the PMD thread, which stock's main thread, polling
such ports itself, leaves idle.

The same by AF_XDP, which takes a port of the type afxdp and has nothing for
checksums and segments that are left to others: the Pods leave none."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

import frames
from case import Case, Sample

SECONDS = 4
START_TIMEOUT = 20
ADDRESSES = '10.99.0.1', '10.99.0.2'
FLOOD = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'flood.py')


def run(*command, timeout=60, stdin=None):
    result = subprocess.run(command, capture_output=True, input=stdin,
                            timeout=timeout)
    if result.returncode:
        raise RuntimeError('%s: %s' % (
            ' '.join(command)[:100],
            result.stderr.decode(errors='replace').strip()[-200:]))
    return result.stdout.decode()


class Namespace:
    """A network of its own, for as long as its process lives."""

    def __init__(self):
        self.process = subprocess.Popen(
            ['setpriv', '--pdeathsig', 'KILL', 'unshare', '--net', 'sleep',
             'infinity'], stdin=subprocess.DEVNULL)
        self.pid = self.process.pid
        deadline = time.monotonic() + START_TIMEOUT
        while (os.readlink('/proc/%d/ns/net' % self.pid)
               == os.readlink('/proc/self/ns/net')):
            if time.monotonic() > deadline:
                raise RuntimeError('no network namespace')
            time.sleep(0.01)

    def command(self, *command):
        return ['nsenter', '-t', str(self.pid), '--net', *command]

    def run(self, *command, **kwargs):
        return run(*self.command(*command), **kwargs)

    def close(self):
        self.process.kill()
        self.process.wait()


class Pods:
    """Two namespaces, with a veth each to the network of process 'pid'."""

    def __init__(self, stack, pid, prefix):
        self.ports = []
        self.spaces = [Namespace(), Namespace()]
        for i, space in enumerate(self.spaces):
            stack.callback(space.close)
            port = '%s%d' % (prefix, i)
            space.run('ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer',
                      'name', port, 'netns', str(pid))
            space.run('ip', 'addr', 'add', ADDRESSES[i] + '/24', 'dev',
                      'eth0')
            space.run('ip', 'link', 'set', 'eth0', 'up')
            run('nsenter', '-t', str(pid), '--net', 'ip', 'link', 'set', port,
                'arp', 'off', 'up')
            self.ports.append(port)

    def wait_until_ready(self):
        deadline = time.monotonic() + START_TIMEOUT
        while subprocess.run(
                self.spaces[0].command('ping', '-q', '-c1', '-W1',
                                       ADDRESSES[1]),
                stdout=subprocess.DEVNULL).returncode:
            if time.monotonic() > deadline:
                raise RuntimeError('the Pods don\'t reach each other')

    def finish_packets(self, index):
        """Has the Pod leave no checksums and segments to others."""
        self.spaces[index].run('ethtool', '-K', 'eth0', 'tx', 'off')

    def forget_small_packets(self):
        """The second Pod drops what SmallPackets sends it, which costs less
        than to read it: else it is that which would be measured."""
        self.spaces[1].run(
            'nft', 'add table ip raw; '
            'add chain ip raw in { type filter hook prerouting priority -300;'
            ' }; add rule ip raw in ip protocol udp ip length %d drop'
            % (frames.MIN_LEN - 14))

    def received(self):
        """How many packets the second Pod's device has received."""
        devices = self.spaces[1].run('cat', '/proc/net/dev')
        return int(devices.split('eth0:')[1].split()[1])

    def mac(self, index):
        return json.loads(self.spaces[index].run(
            'ip', '-j', 'link', 'show', 'dev', 'eth0'))[0]['address']

    def flood(self):
        """How many small packets the first Pod sent the second, and for how
        long."""
        sent, seconds = self.spaces[0].run(
            sys.executable, FLOOD, 'eth0', str(SECONDS),
            stdin=frames.udp(self.mac(0), self.mac(1), *ADDRESSES, 9, 9)
            ).split()
        return int(sent), float(seconds)

    def iperf(self, *options):
        """What the client has to say in the end."""
        server = subprocess.Popen(
            self.spaces[1].command('setpriv', '--pdeathsig', 'KILL', 'iperf3',
                                   '-s', '-1'),
            stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + START_TIMEOUT
            while ':5201' not in self.spaces[1].run('ss', '-ltn'):
                if time.monotonic() > deadline:
                    raise RuntimeError('no iperf3 server')
                time.sleep(0.05)
            return json.loads(self.spaces[0].run(
                'iperf3', '-J', '-c', ADDRESSES[1], '-t', str(SECONDS),
                *options))['end']
        finally:
            server.kill()
            server.wait()


class KernelPorts(Case):
    other_config = ['userspace-tso-enable=true']

    def __init__(self, name, afxdp=False):
        super().__init__(name)
        self.afxdp = afxdp
        if afxdp:               # Which excludes it.
            self.other_config = ()

    def run(self, switch):
        for tool in 'iperf3', 'nft':
            if not shutil.which(tool):
                raise RuntimeError('needs %s' % tool)
        cores = os.sched_getaffinity(0)
        # The Pods are anywhere; the switch has been started.
        os.sched_setaffinity(0, {switch.machine.main_core,
                                 switch.machine.pmd_core})
        try:
            with contextlib.ExitStack() as stack:
                return self.samples(switch, stack)
        finally:
            os.sched_setaffinity(0, cores)

    def samples(self, switch, stack):
        pods = Pods(stack, switch.vswitchd.pid, 'veth')
        args = switch.br_int_args()
        for i, port in enumerate(pods.ports):
            args += ['--', 'add-port', 'br-int', port, '--', 'set',
                     'interface', port, 'ofport_request=%d' % (i + 1)]
            if self.afxdp:
                args.append('type=afxdp')
                pods.finish_packets(i)
        switch.vsctl(*args)
        switch.check_ports()
        switch.ofctl('add-flow', 'in_port=1,actions=output:2')
        switch.ofctl('add-flow', 'in_port=2,actions=output:1')
        bridge = Namespace()
        stack.callback(bridge.close)
        others = Pods(stack, bridge.pid, 'veth')
        bridge.run('ip', 'link', 'add', 'bridge', 'type', 'bridge')
        bridge.run('ip', 'link', 'set', 'bridge', 'up')
        for port in others.ports:
            bridge.run('ip', 'link', 'set', port, 'master', 'bridge')
        for both in pods, others:
            both.wait_until_ready()
        value, details = self.measure(pods)
        return [Sample(value, None, kernel_bridge=self.measure(others)[0],
                       **details)]


class Streams(KernelPorts):
    """TCP, so many connections."""

    unit = 'Gbit/s'

    def __init__(self, name, n, **kwargs):
        super().__init__(name, **kwargs)
        self.n = n

    def measure(self, pods):
        end = pods.iperf('-P', str(self.n))
        return (end['sum_received']['bits_per_second'] / 1e9,
                {'sent_again': end['sum_sent']['retransmits']})


class SmallPackets(KernelPorts):
    """As many as one sender makes, with a system call for many and past its
    network's stack, and of these those that arrive."""

    def measure(self, pods):
        pods.forget_small_packets()
        before = pods.received()
        sent, seconds = pods.flood()
        return ((pods.received() - before) / seconds / 1e6,
                {'sent_mpps': sent / seconds / 1e6})


def cases():
    yield Streams('kernel-tcp-1', 1)
    yield Streams('kernel-tcp-8', 8)
    yield SmallPackets('kernel-udp-64')
    yield Streams('afxdp-tcp-1', 1, afxdp=True)
    yield Streams('afxdp-tcp-8', 8, afxdp=True)
    yield SmallPackets('afxdp-udp-64', afxdp=True)
