# SPDX-License-Identifier: Apache-2.0
"""An ovs-vswitchd of our own, with tap ports and a clock that stands."""

import atexit
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import tunnels
import unixctl
import wire

# An OpenFlow table's number, packets and bytes, and what identifies a flow.
FLOW = re.compile(r'(table=\S+),.* n_packets=(\d+), n_bytes=(\d+),'
                  r'.*?(priority=.*? ?actions=.*)$')


# One in so many packets is compared by the daemon itself with upstream's
# translation (ADP_SHADOW in the environment).
SHADOW = os.environ.get('ADP_SHADOW', '')

XID = re.compile(r'\(xid=\S+\)')


class Switch:
    """Ports are given as {name: OpenFlow port number}.  One of them may be
    tunnels.PORT; then a second bridge, of stock type, is the underlay.  Without
    'caching', the switch keeps no megaflows: each packet is translated anew, as
    the flows are at that moment, and is counted at once."""

    threads = False                     # The main thread handles packets.
    names = False                       # Of ports and tables in ofctl().
    GLOBAL = []                         # Columns of the table Open_vSwitch.

    def __init__(self, name, prefix, datapath_type, ports, workdir, preload,
                 caching=True):
        self.name, self.prefix, self.ports = name, prefix, dict(ports)
        self.dir = os.path.join(workdir, name)
        os.mkdir(self.dir)
        self.env = dict(os.environ, OVS_RUNDIR=self.dir, OVS_LOGDIR=self.dir,
                        OVS_DBDIR=self.dir, OVS_SYSCONFDIR=self.dir)
        self.datapath_type, self.preload = datapath_type, preload
        self.caching = caching
        self.records = None
        self.read_up_to = {}            # Of files with what was sent.
        self.wire = wire.Wire(os.path.join(self.dir, 'wire'),
                              [tunnels.UNDERLAY, *ports])
        self.processes = []
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def popen(self, name, *args):
        path = os.path.join(self.prefix, 'bin', name)
        return subprocess.Popen([path, *args], env=self.env, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def tool(self, name, *args, stdin=None):
        process = self.popen(name, *args)
        out, err = process.communicate(stdin, timeout=60)
        if process.returncode:
            raise RuntimeError('%s %s: %s' % (name, ' '.join(args)[:200],
                                              err))
        return out

    def daemon(self, name, *args):
        path = os.path.join(self.prefix, 'sbin', name)
        log = open(os.path.join(self.dir, name + '.out'), 'w')
        env = dict(self.env)
        fds = []
        if name == 'ovs-vswitchd':
            more, fd = self.wire.environment()
            env.update(more, LD_PRELOAD=' '.join(self.preload))
            env['ASAN_OPTIONS'] = 'verify_asan_link_order=0:' \
                + env.get('ASAN_OPTIONS', '')
            fds.append(fd)
        # A network of its own: its tap devices meet nobody else's.
        self.processes.append(subprocess.Popen(
            ['unshare', '--net', path, *args, '--no-chdir', '--log-file',
             '-vconsole:off'],
            env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            pass_fds=fds))

    def wait_for(self, path):
        deadline = time.monotonic() + 30
        while not os.path.exists(path):
            if time.monotonic() > deadline:
                raise RuntimeError('%s: no %s' % (self.name, path))
            time.sleep(0.01)

    def vsctl_args(self, *args):
        return ('ovs-vsctl', '--retry', '--db=unix:%s/db.sock' % self.dir,
                *args)

    def vsctl(self, *args):
        return self.tool(*self.vsctl_args(*args))

    def start(self):
        schema = os.path.join(self.prefix, 'share', 'openvswitch',
                              'vswitch.ovsschema')
        self.tool('ovsdb-tool', 'create', self.dir + '/conf.db', schema)
        self.daemon('ovsdb-server', self.dir + '/conf.db',
                    '--remote=punix:%s/db.sock' % self.dir)
        self.wait_for(self.dir + '/db.sock')
        self.vsctl('--no-wait', 'init')
        control = self.dir + '/vswitchd.ctl'
        self.daemon('ovs-vswitchd', 'unix:%s/db.sock' % self.dir,
                    '--enable-dummy', '--unixctl=' + control)
        self.pid = self.processes[-1].pid
        self.control = unixctl.Control(control, reply_timeout=60)
        self.other_control = unixctl.Control(control, reply_timeout=60)
        # For what takes long.
        self.waiting = unixctl.Control(control, reply_timeout=60)
        self.wire.attach(self.pid)
        # A stock bridge first: conntrack starts with it, and so both switches
        # have made the same random numbers by then.  Sorting what the database
        # tells takes some, too: what the daemon wrote into it at its start must
        # have come back before the bridge does.
        self.vsctl('wait-until', 'Open_vSwitch', '.', 'iface_types!=[]')
        self.vsctl('add-br', tunnels.BRIDGE, '--', 'set', 'bridge',
                   tunnels.BRIDGE, 'datapath_type=dummy', 'fail_mode=secure',
                   'other_config:hwaddr=' + tunnels.OUR_MAC)
        if tunnels.PORT in self.ports:
            self.add_underlay()
        args = ['--', '--id=@d', 'create', 'Datapath', 'datapath_version=x',
                '--', 'set',
                'Open_vSwitch', '.',
                # The revalidators do nothing by themselves.
                'other_config:max-idle=1000000000',
                'other_config:max-revalidator=1000000000',
                *self.GLOBAL,
                *([] if self.caching else ['other_config:flow-limit=0']),
                'datapaths:%s=@d' % self.datapath_type, '--',
                'add-br', 'br0', '--', 'set', 'bridge', 'br0',
                'datapath_type=' + self.datapath_type, 'fail_mode=secure',
                'other_config:antrea-dp-pipeline=none']
        for port, number in self.ports.items():
            args += ['--', *self.add_port_args(port, number)]
        self.vsctl(*args)
        if SHADOW and self.datapath_type == 'antrea':
            self.vsctl('set', 'Open_vSwitch', '.',
                       'other_config:antrea-dp-shadow=' + SHADOW)
        self.ports_up()
        self.listen()
        self.control('time/stop')

    def add_port_args(self, port, number):
        if port == tunnels.PORT:
            options = ['type=geneve', 'options:remote_ip=flow',
                       'options:key=flow']
        else:
            options = ['type=tap']
        return ['add-port', 'br0', port, '--', 'set', 'interface', port,
                'ofport_request=%d' % number, *options]

    def add_underlay(self):
        bridge, port = tunnels.BRIDGE, tunnels.UNDERLAY
        self.vsctl('add-port', bridge, port, '--', 'set', 'interface', port,
                   'type=tap', 'ofport_request=1')
        self.wire.up(port)
        # The local port of a dummy bridge has no device.
        self.control('netdev-dummy/ip4addr', bridge, tunnels.OUR_IP + '/24')
        self.control('netdev-dummy/ip6addr', bridge, tunnels.OUR_IP6 + '/64')
        for net in tunnels.NETS:
            self.control('ovs/route/add', net, bridge)
        self.tool('ovs-ofctl', 'add-flows', '%s/%s.mgmt' % (self.dir, bridge),
                  '-', stdin='in_port=LOCAL actions=output:1\n' + ''.join(
                      'in_port=1,%s,tp_dst=%d actions=LOCAL\n' % (proto, port)
                      for proto in ('udp', 'udp6')
                      for port in tunnels.DPORTS.values()))
        for i in tunnels.PEERS:
            self.control('tnl/neigh/set', bridge, i, tunnels.PEER_MAC)

    def cache(self, on):
        """Sets 'caching'.  What is there stays."""
        self.caching = on
        self.vsctl(*(['remove', 'Open_vSwitch', '.', 'other_config',
                      'flow-limit'] if on else
                     ['set', 'Open_vSwitch', '.',
                      'other_config:flow-limit=0']))

    def ports_up(self):
        """Switches on the ports' devices, and waits until the switch knows."""
        for port in self.ports:
            if port != tunnels.PORT:
                self.wire.up(port)
        deadline = time.monotonic() + 30
        while re.search(r'(?m)^ (?!LOCAL).*\n.*\n\s+state:\s+LINK_DOWN',
                        self.ofctl('dump-ports-desc')):
            if time.monotonic() > deadline:
                raise RuntimeError('%s: ports are down' % self.name)

    def ofctl_args(self, command, *args):
        # For names it asks what each of the tables can, which takes longer than
        # most of its commands.
        return ('ovs-ofctl', '-O', 'OpenFlow15',
                '--names' if self.names else '--no-names', command,
                '%s/br0.mgmt' % self.dir, *args)

    def ofctl(self, command, *args, stdin=None):
        return self.tool(*self.ofctl_args(command, *args), stdin=stdin)

    def begin(self, batches, encoded, gap=0):
        """Lets batches, a list of (port, frames), come in, one after the other.
        'encoded' they are as Wire.encode() wrote them.  Each gets a turn of
        the main loop, and 'gap' more."""
        self.wire.begin(len(batches), encoded, gap)
        self.control.send('version')            # Wakes it up.

    def finish(self):
        """Returns when the switch is done with them."""
        self.control.receive()
        deadline = time.monotonic() + 60
        while not self.wire.wait(1):
            why = self.dead()
            if why or time.monotonic() > deadline:
                raise RuntimeError(why or '%s: never done' % self.name)
        if self.wire.n_lost():
            raise RuntimeError('%s: no such port' % self.name)

    def send(self, port, frames):
        """Lets 'frames' come in through 'port', as one batch, and returns when
        the switch is done with them."""
        batches = [(port, frames)]
        self.begin(batches, self.wire.encode(batches))
        self.finish()

    def take(self):
        """What it sent since the last call: equal for two switches if they
        sent the same."""
        return self.wire.take()

    def decode(self, sent):
        """What take() returned, as a list of (batch, port, frame)."""
        return self.wire.decode(sent)

    def sent(self):
        """A list of (port, frame)."""
        return [(port, frame) for _, port, frame in self.decode(self.take())]

    def is_ours(self):
        """True if the daemon is ours, whatever the type of the bridge."""
        return 'antrea-dp/' in self.control('list-commands')

    def transact(self, apply, delete):
        """Changes the records of its built-in pipeline."""
        if not self.records:
            self.records = unixctl.Control(self.dir + '/antrea-dp.sock',
                                           reply_timeout=60)
        self.records('transact', {'bridge': 'br0', 'apply': apply,
                                  'delete': delete, 'ignore_missing': True})

    def connections(self):
        return sorted(self.control('dpctl/dump-conntrack').splitlines())

    def flows(self):
        """Match text -> packets, bytes."""
        result = {}
        for line in self.ofctl('dump-flows').splitlines():
            m = FLOW.search(line)
            if m:
                result[m[1] + ' ' + m[4]] = (int(m[2]), int(m[3]))
        return result

    def stats(self):
        return json.loads(self.control('antrea-dp/stats-show', 'br0'))

    def n_punts(self):
        return self.stats()['punts']['total']

    def listen(self):
        """A controller begins to note what it is told."""
        path = os.path.join(self.dir, 'controller')
        with open(path + '.out', 'w') as log:
            self.processes.append(subprocess.Popen(
                [os.path.join(self.prefix, 'bin', 'ovs-ofctl'), '-O',
                 'OpenFlow15', '--unixctl=%s.ctl' % path, 'monitor',
                 '%s/br0.mgmt' % self.dir, '65535'],
                env=self.env, stdout=log, stderr=log,
                stdin=subprocess.DEVNULL))
        self.wait_for(path + '.ctl')
        self.controller = unixctl.Control(path + '.ctl', reply_timeout=60)
        self.told = open(path + '.out')
        self.packet_ins()

    def listen_as(self, controller_id):
        """From now on it is the controller of that number."""
        self.controller('ofctl/send', '060400180000000000002320'
                        '00000014000000000000%04x' % controller_id)

    def packet_ins(self):
        """What the controller was told since the last call, one text for each
        packet."""
        self.controller('ofctl/barrier')
        messages, inside = [], False
        for line in self.told.read().splitlines():
            if line.startswith(('OFPT_', 'NXT_')):
                inside = line.startswith('NXT_PACKET_IN2')
                if inside:
                    messages.append(XID.sub('', line))
            elif inside:
                messages[-1] += '\n' + line
        return sorted(messages)

    def dead(self):
        """How its daemon ended, or None."""
        try:
            code = self.processes[1].wait(timeout=.2)
        except subprocess.TimeoutExpired:
            return None
        return '%s: ovs-vswitchd ended with %d' % (self.name, code)

    def shadow_differences(self):
        """Packets that fared otherwise than in upstream's translation, of
        those that the daemon compared by itself, as text."""
        if not SHADOW or self.datapath_type != 'antrea':
            return ''
        print('%s: shadow: %s' % (self.name,
                                  json.dumps(self.stats()['shadow'])))
        shown = self.control('antrea-dp/shadow-show', 'br0').strip()
        return '' if shown == '[]' else shown

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.wire.close()
        self.check_sanitizers()

    def check_sanitizers(self):
        for name in os.listdir(self.dir):
            if name.endswith('.out'):
                with open(os.path.join(self.dir, name)) as f:
                    text = f.read()
                if 'Sanitizer' in text or 'runtime error' in text:
                    raise RuntimeError('%s: %s' % (self.name, text[:4000]))


@functools.cache
def libraries():
    """What daemons are to preload: all switches make the same random numbers,
    and their ports are ours.  It is there until this process ends."""
    folder = tempfile.mkdtemp(prefix='antrea-dp-oracle-')
    atexit.register(shutil.rmtree, folder)
    return [wire.compile_library(name, folder)
            for name in ('same-random', 'tap-wire')]


class Workdir:
    """A temporary folder, or a new one below 'keep'."""

    def __init__(self, keep=None):
        self.keep = keep and os.path.abspath(keep)      # For daemons, too.

    def __enter__(self):
        if self.keep:
            os.makedirs(self.keep, exist_ok=True)
        self.path = tempfile.mkdtemp(prefix='antrea-dp-oracle-',
                                     dir=self.keep)
        return self.path

    def __exit__(self, *args):
        if not self.keep:
            shutil.rmtree(self.path, ignore_errors=True)
