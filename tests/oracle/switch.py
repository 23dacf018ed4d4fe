# SPDX-License-Identifier: Apache-2.0
"""An ovs-vswitchd of our own, with dummy ports and a clock that stands."""

import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time

import packets


class Control:
    """The control socket of ovs-appctl, without a process for each command."""

    def __init__(self, path):
        self.socket = self.connect(path)
        self.decoder = json.JSONDecoder()
        self.id = 0

    @staticmethod
    def connect(path):
        """The socket's file is there a moment before it listens."""
        deadline = time.monotonic() + 30
        while True:
            s = socket.socket(socket.AF_UNIX)
            try:
                s.connect(path)
                return s
            except (FileNotFoundError, ConnectionRefusedError):
                s.close()
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def __call__(self, method, *args):
        self.id += 1
        request = {'method': method, 'params': list(args), 'id': self.id}
        self.socket.sendall(json.dumps(request).encode())
        reply = ''
        while True:
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                raise RuntimeError('%s: ovs-vswitchd is gone' % method)
            reply += chunk.decode()
            try:
                message, _ = self.decoder.raw_decode(reply)
                break
            except ValueError:
                pass
        if message['error'] is not None:
            raise RuntimeError('%s: %s' % (method, message['error']))
        return message['result']


class Switch:
    def __init__(self, name, prefix, datapath_type, ports, workdir):
        self.name, self.prefix, self.ports = name, prefix, ports
        self.dir = os.path.join(workdir, name)
        os.mkdir(self.dir)
        self.env = dict(os.environ, OVS_RUNDIR=self.dir, OVS_LOGDIR=self.dir,
                        OVS_DBDIR=self.dir, OVS_SYSCONFDIR=self.dir)
        self.processes = []
        self.offsets = {port: 0 for port in ports}
        self.start(datapath_type)

    def tool(self, name, *args, stdin=None):
        path = os.path.join(self.prefix, 'bin', name)
        result = subprocess.run([path, *args], env=self.env, input=stdin,
                                text=True, capture_output=True, timeout=60)
        if result.returncode:
            raise RuntimeError('%s %s: %s' % (name, ' '.join(args)[:200],
                                              result.stderr))
        return result.stdout

    def daemon(self, name, *args):
        path = os.path.join(self.prefix, 'sbin', name)
        log = open(os.path.join(self.dir, name + '.out'), 'w')
        # A network of its own: its tap devices meet nobody else's.
        self.processes.append(subprocess.Popen(
            ['unshare', '--net', path, *args, '--no-chdir', '--log-file', '-vconsole:off'],
            env=self.env, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def wait_for(self, path):
        deadline = time.monotonic() + 30
        while not os.path.exists(path):
            if time.monotonic() > deadline:
                raise RuntimeError('%s: %s does not appear' % (self.name, path))
            time.sleep(0.01)

    def vsctl(self, *args):
        return self.tool('ovs-vsctl', '--retry',
                         '--db=unix:%s/db.sock' % self.dir,
                         *args)

    def start(self, datapath_type):
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
        self.control = Control(control)
        args = ['add-br', 'br0', '--', 'set', 'bridge', 'br0',
                'datapath_type=' + datapath_type, 'fail_mode=secure',
                'other_config:antrea-dp-pipeline=none']
        for port, number in self.ports.items():
            args += ['--', 'add-port', 'br0', port, '--', 'set', 'interface',
                     port, 'type=dummy', 'ofport_request=%d' % number,
                     'options:tx_pcap=%s/%s.pcap' % (self.dir, port)]
        self.vsctl(*args)
        self.control('time/stop')

    def ofctl(self, command, *args, stdin=None):
        return self.tool('ovs-ofctl', '-O', 'OpenFlow15', '--names', command,
                         '%s/br0.mgmt' % self.dir, *args, stdin=stdin)

    def inject(self, port, frame):
        self.control('netdev-dummy/receive', port, frame.hex())
        self.turn()

    def turn(self):
        """Returns some turns of the main loop later."""
        for _ in range(3):
            self.control('version')

    def sent(self):
        """What each port sent since the last call."""
        result = {}
        for port in self.ports:
            path = '%s/%s.pcap' % (self.dir, port)
            frames = []
            if os.path.exists(path):
                frames, self.offsets[port] = packets.read_pcap(
                    path, self.offsets[port])
            if frames:
                result[port] = frames
        return result

    def warp(self, ms):
        self.control('time/warp', str(ms))
        self.control('version')

    def connections(self):
        return sorted(self.control('dpctl/dump-conntrack').splitlines())

    def flows(self):
        """Match text -> packets, bytes."""
        self.control('revalidator/wait')
        self.control('revalidator/wait')
        result = {}
        for line in self.ofctl('dump-flows').splitlines():
            m = re.search(r'(table=\S+),.* n_packets=(\d+), n_bytes=(\d+),'
                          r'.*?(priority=.*? actions=.*)$', line)
            if m:
                result[m[1] + ' ' + m[4]] = (int(m[2]), int(m[3]))
        return result

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.check_sanitizers()

    def check_sanitizers(self):
        for name in os.listdir(self.dir):
            if name.endswith('.out'):
                with open(os.path.join(self.dir, name)) as f:
                    text = f.read()
                if 'Sanitizer' in text or 'runtime error' in text:
                    raise RuntimeError('%s: %s' % (self.name, text[:4000]))


class Workdir:
    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix='antrea-dp-oracle-')
        return self.path

    def __exit__(self, *args):
        shutil.rmtree(self.path, ignore_errors=True)
