# SPDX-License-Identifier: Apache-2.0
"""A private Open vSwitch with one PMD thread and net_gen ports."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import cluster
import generator
import unixctl

PHYSICAL_SLOT = 1               # The tunnel's, or the port below it.
PHYSICAL_QUEUES = 4             # As many polls as there are clients.
MAX_CONNECTIONS = 4000000
START_TIMEOUT = 60
CHATTER = re.compile(
    r'\|(INFO|DBG)\||\|(timeval|dpif)\|WARN\||checksum offload')


class Tree:
    """Programs to measure: an installed prefix, or a tree of ovs/prepare."""

    def __init__(self, path):
        self.path = os.path.abspath(path)
        built = os.path.join(self.path, 'build')
        if os.path.exists(os.path.join(built, 'vswitchd', 'ovs-vswitchd')):
            self.folders = [os.path.join(built, name) for name in
                            ('vswitchd', 'ovsdb', 'utilities')]
            self.schema = os.path.join(self.path, 'src', 'vswitchd',
                                       'vswitch.ovsschema')
        else:
            self.folders = [os.path.join(self.path, name)
                            for name in ('sbin', 'bin')]
            self.schema = os.path.join(self.path, 'share', 'openvswitch',
                                       'vswitch.ovsschema')
        self.program('ovs-vswitchd')

    def program(self, name):
        for folder in self.folders:
            path = os.path.join(folder, name)
            if os.access(path, os.X_OK):
                return path
        raise RuntimeError('no %s in %s' % (name, self.path))


class Side:
    """One of those that are compared."""

    def __init__(self, name, tree, datapath_type, other_config=(),
                 bridge_config=()):
        self.name, self.tree, self.datapath_type = name, tree, datapath_type
        self.other_config, self.bridge_config = other_config, bridge_config


class Machine:
    """Where the switches run: cores, memory (for how many of them at a time),
    the generator's plug-in."""

    def __init__(self, plugin, main_core=0, pmd_core=1, huge=True,
                 n_switches=1):
        self.plugin, self.huge, self.n_switches = plugin, huge, n_switches
        self.main_core, self.pmd_core = main_core, pmd_core

    def other_config(self):
        memory = ('--in-memory' if self.huge
                  else '--no-huge --legacy-mem -m 2048')
        return ['antrea-dp-shadow=' + os.environ.get('ADP_SHADOW', '0'),
                'dpdk-init=true',
                'dpdk-lcore-mask=0x%x' % (1 << self.main_core),
                'pmd-cpu-mask=0x%x' % (1 << self.pmd_core),
                'dpdk-extra="%s --no-pci --no-telemetry -d %s"' % (
                    memory, self.plugin)]


class Switch:
    """Runs from entry into its context until exit."""

    def __init__(self, side, machine, other_config=()):
        self.side, self.machine = side, machine
        self.other_config = other_config
        self.processes, self.vswitchd, self.control = [], None, None
        self.profiler = None            # Set to profile each window.
        self.max_connections = MAX_CONNECTIONS
        self.max_sessions = None        # The default.

    def __enter__(self):
        shm = '/dev/shm'        # Not a disk: the PMD thread writes there.
        self.dir = tempfile.mkdtemp(prefix='antrea-dp-bench-',
                                    dir=shm if os.path.isdir(shm) else None)
        self.env = dict(os.environ, OVS_RUNDIR=self.dir, OVS_LOGDIR=self.dir,
                        OVS_DBDIR=self.dir, OVS_SYSCONFDIR=self.dir)
        try:
            self.generator = generator.Generator(self.dir + '/generator')
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, kind, error, traceback):
        try:
            if isinstance(error, Exception):
                self.show_log()
        finally:
            self.stop()

    # Processes.

    def tool(self, name, *args, stdin=None, timeout=600):
        result = subprocess.run(
            [self.side.tree.program(name), *args], env=self.env, input=stdin,
            text=True, capture_output=True, timeout=timeout)
        if result.returncode:
            lines = [line for line in result.stderr.splitlines()
                     if not CHATTER.search(line)]
            raise RuntimeError('%s %s: %s' % (name, ' '.join(args)[:100],
                                              ' '.join(lines)[:300]))
        return result.stdout

    def daemon(self, name, *args):
        log = open('%s/%s.out' % (self.dir, name), 'w')
        # It has a network of its own, and ends with this process.
        command = ['setpriv', '--pdeathsig', 'KILL', 'unshare', '--net',
                   self.side.tree.program(name), *args, '--no-chdir',
                   '--log-file', '-vconsole:off', '-vsyslog:off']
        process = subprocess.Popen(command, env=self.env, stdout=log,
                                   stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        self.processes.append(process)
        return process

    def start(self):
        database = 'unix:%s/db.sock' % self.dir
        self.tool('ovsdb-tool', 'create', self.dir + '/conf.db',
                  self.side.tree.schema)
        self.daemon('ovsdb-server', self.dir + '/conf.db',
                    '--remote=p' + database)
        self.vsctl('--no-wait', 'init')
        self.vsctl('--no-wait', 'set', 'Open_vSwitch', '.', *(
            'other_config:' + setting for setting in
            self.machine.other_config() + list(self.side.other_config)
            + list(self.other_config)))
        self.vswitchd = self.daemon('ovs-vswitchd', database,
                                    '--unixctl=%s/vswitchd.ctl' % self.dir)
        self.control = unixctl.Control(self.dir + '/vswitchd.ctl',
                                       START_TIMEOUT)

    def pause(self):
        """Stops the switch, which notices nothing but that time has passed."""
        self.vswitchd.send_signal(signal.SIGSTOP)

    def resume(self):
        self.vswitchd.send_signal(signal.SIGCONT)

    def stop(self):
        if self.vswitchd:
            self.resume()
        if self.control:
            self.control.close()
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []
        shutil.rmtree(self.dir, ignore_errors=True)

    def show_log(self):
        for name in 'ovs-vswitchd.log', 'ovs-vswitchd.out':
            try:
                with open(os.path.join(self.dir, name)) as f:
                    lines = [line for line in f.read().splitlines()
                             if not CHATTER.search(line)]
            except OSError:
                continue
            for line in lines[-10:]:
                print('  %s: %s' % (self.side.name, line))

    def check_alive(self):
        status = self.vswitchd.poll()
        if status is not None:
            name = (signal.Signals(-status).name if status < 0
                    else 'status %d' % status)
            raise RuntimeError('ovs-vswitchd ended: ' + name)

    # Configuration.

    def vsctl(self, *args):
        return self.tool('ovs-vsctl', '--retry', '--timeout=%d'
                         % START_TIMEOUT, '--db=unix:%s/db.sock' % self.dir,
                         *args)

    def ofctl(self, command, *args, stdin=None):
        return self.tool('ovs-ofctl', '-O', 'OpenFlow15', command,
                         '%s/br-int.mgmt' % self.dir, *args, stdin=stdin)

    def in_network(self, *command):
        subprocess.run(['nsenter', '-t', str(self.vswitchd.pid), '--net',
                        *command], check=True, timeout=30)

    @staticmethod
    def bridge_args(name, mac, datapath_type, *settings):
        return ['add-br', name, '--', 'set', 'bridge', name,
                'datapath_type=' + datapath_type, 'fail_mode=secure',
                'protocols=OpenFlow10,OpenFlow15',
                'other_config:hwaddr=' + mac, *settings]

    def br_int_args(self):
        return self.bridge_args(
            'br-int', '02:00:00:00:00:01', self.side.datapath_type,
            'other_config:antrea-dp-annotated-ports=true',
            *('other_config:' + c for c in self.side.bridge_config),
            *(['other_config:antrea-dp-max-sessions=%d' % self.max_sessions]
              if self.max_sessions else []))

    def port_args(self, bridge, name, slot, ofport=None, *settings):
        """A port whose generator has the slot of the same number."""
        devargs = 'options:dpdk-devargs="net_gen%d,control=%s,slot=%d"' % (
            slot, self.generator.path, slot)
        return ['--', 'add-port', bridge, name, '--', 'set', 'interface',
                name, 'type=dpdk', devargs, *settings] + (
                    ['ofport_request=%d' % ofport] if ofport else [])

    def pod_args(self, pods):
        """The ports of Pods."""
        args = []
        for pod in pods:
            args += self.port_args('br-int', 'pod%d' % pod.index, pod.port,
                                   pod.port)
        return args

    def add_bridge(self, pods, geneve_nodes=()):
        """br-int with a port for each of 'pods'.  The tunnel's port is one
        of net_gen too; with 'geneve_nodes' it is a real one, and the port of
        the network below it."""
        args = self.br_int_args()
        args += self.port_args('br-int', 'antrea-gw0', cluster.GATEWAY_PORT,
                               cluster.GATEWAY_PORT)
        args += self.pod_args(pods)
        if geneve_nodes:
            args += ['--', 'add-port', 'br-int', 'antrea-tun0', '--', 'set',
                     'interface', 'antrea-tun0', 'type=geneve',
                     'options:remote_ip=flow', 'options:key=flow',
                     'ofport_request=%d' % cluster.TUNNEL_PORT, '--']
            args += self.bridge_args('br-phy', '02:00:00:00:77:02', 'netdev')
            args += self.port_args('br-phy', 'phy0', PHYSICAL_SLOT, None,
                                   'options:n_rxq=%d' % PHYSICAL_QUEUES)
        else:
            args += self.port_args('br-int', 'antrea-tun0', PHYSICAL_SLOT,
                                   cluster.TUNNEL_PORT,
                                   'options:n_rxq=%d' % PHYSICAL_QUEUES)
        self.vsctl(*args)
        if geneve_nodes:
            self.add_underlay(geneve_nodes)
        self.check_ports()
        self.control('dpctl/ct-set-maxconns', str(self.max_connections))

    def add_underlay(self, nodes):
        self.ofctl_bridge('br-phy', 'add-flow', 'actions=NORMAL')
        self.in_network('ip', 'address', 'add', cluster.TRANSPORT_NET, 'dev',
                        'br-phy')
        self.in_network('ip', 'link', 'set', 'br-phy', 'up')
        self.wait_for_route()
        for node in nodes:
            self.control('tnl/neigh/set', 'br-phy', node.transport_ip,
                         node.transport_mac)

    def ofctl_bridge(self, bridge, command, *args):
        return self.tool('ovs-ofctl', '-O', 'OpenFlow15', command,
                         '%s/%s.mgmt' % (self.dir, bridge), *args)

    def wait_for_route(self):
        deadline = time.monotonic() + START_TIMEOUT
        while ('dev br-phy' not in self.control('ovs/route/show')
               or '192.168.0.0/16' not in self.control('ovs/route/show')):
            if time.monotonic() > deadline:
                raise RuntimeError('no route through br-phy')
            time.sleep(0.05)

    def check_ports(self):
        table = self.vsctl('--format=csv', '--no-headings',
                           '--columns=name,ofport,error', 'list', 'interface')
        bad = [line for line in table.splitlines()
               if ',-1,' in line or ',[],' in line]
        if bad:
            raise RuntimeError('ports without a device: ' + '; '.join(bad))

    def load(self, flows):
        """Returns how many seconds the flows took."""
        self.ofctl('add-meter',
                   'meter=256,pktps,burst,stats,'
                   'bands=type=drop,rate=100,burst_size=200')
        self.ofctl('add-groups', '-', stdin='\n'.join(flows.groups) + '\n')
        for buckets in flows.more_buckets:
            self.ofctl('insert-buckets', buckets)
        started = time.monotonic()
        self.ofctl('add-flows', '-', '--bundle',
                   stdin='\n'.join(flows.flows) + '\n')
        return time.monotonic() - started

    # What it says.

    def pmd_stats(self):
        """The counters of the PMD thread."""
        self.check_alive()
        text = self.control('dpif-netdev/pmd-stats-show')
        pmd = re.search(r'^pmd thread .*?(?=^\S|\Z)', text, re.M | re.S)
        if not pmd:
            raise RuntimeError('no PMD thread: ' + text[:500])
        return {m[1].strip(): float(m[2]) for m in re.finditer(
            r'^ +([^:\n]+): +([0-9.]+)', pmd[0], re.M)}

    def datapath_stats(self):
        """What antrea-dp says of itself."""
        return json.loads(self.control('antrea-dp/stats-show', 'br-int'))

    def threads(self, name):
        """Numbers, for tools of the kernel, of those whose names begin so."""
        folder = '/proc/%d/task' % self.vswitchd.pid
        for task in os.listdir(folder):
            with open('%s/%s/comm' % (folder, task)) as f:
                if f.read().startswith(name):
                    yield int(task)

    def pmd_thread(self):
        for task in self.threads('pmd-'):
            return task
        raise RuntimeError('no PMD thread')

    def n_connections(self):
        return int(self.control('dpctl/ct-get-nconns'))

    def n_megaflows(self):
        return self.control('dpctl/dump-flows').count('\n')

    def flush(self):
        """Forgets connections and megaflows.  (dpctl/del-flows would leave
        the revalidators' copies: the same flow is then not installed again
        for a while, and every packet is an upcall.)"""
        self.control('dpctl/flush-conntrack')
        self.control('revalidator/purge')
