# SPDX-License-Identifier: Apache-2.0
"""An ovs-vswitchd built with ThreadSanitizer, whose ports are Pods that talk
(netdev-pod.c): a Node of Antrea's with a tunnel, and a bridge with flows of its
own.  Its tools are those of an ordinary build."""

import json
import os
import subprocess
import time

import unixctl

GATEWAY = 'ba:5e:d1:55:aa:c0'
GLOBAL_MAC = 'aa:bb:cc:dd:ee:ff'
OUR_MAC, OUR_IP = '02:00:00:00:aa:01', '192.168.50.1'
PEER_MAC, PEER_IP = '02:00:00:00:aa:02', '192.168.50.2'
SERVICES = ['tcp/10.105.31.235/80', 'udp/10.105.31.235/443']
WEB, CLIENT, DB = '10.10.0.24', '10.10.0.26', '10.10.0.25'

# Port -> bridge, type, core, address of Ethernet, who it sends to, its IP
# addresses, to whom it talks, connections a second.
PODS = {
    'client': ('br-int', 'pod', 0, '5e:b5:e3:a6:90:b7', GATEWAY, CLIENT,
               SERVICES + ['icmp/10.10.1.7/0', 'tcp/10.10.1.7/80'], 120),
    'web': ('br-int', 'pod', 1, 'fa:b7:53:74:21:a6', GATEWAY, WEB,
            SERVICES + ['udp/10.10.1.8/53', 'tcp/%s/3306' % DB], 60),
    'db': ('br-int', 'pod', 1, '36:48:21:a2:9d:b4', GATEWAY, DB,
           SERVICES, 60),
    # What comes from the host, in the main thread.
    'antrea-gw0': ('br-int', 'pod-main', None, GATEWAY, GLOBAL_MAC,
                   '10.10.0.1', ['tcp/192.168.77.150/80'] + SERVICES, 40),
    'p1': ('br-flows', 'pod', 0, '02:00:00:00:01:01', '02:00:00:00:01:02',
           ' '.join('10.20.0.%d' % i for i in range(1, 41)),
           ['tcp/10.30.0.%d/%d' % (i, 80 + i) for i in range(1, 9)]
           + ['udp/10.30.0.1/53', 'udp/10.40.0.1/53'], 120),
    'p2': ('br-flows', 'pod', 1, '02:00:00:00:01:02', '02:00:00:00:01:01',
           '10.30.0.9', ['tcp/10.20.0.1/80', 'udp/10.20.0.2/53'], 60),
    # On a bridge that comes and goes.
    'm1': ('br-more', 'pod', 0, '02:00:00:00:02:01', '02:00:00:00:02:02',
           '10.50.0.1', ['tcp/10.60.0.1/80', 'udp/10.60.0.1/53'], 100),
    'm2': ('br-more', 'pod', 1, '02:00:00:00:02:02', '02:00:00:00:02:01',
           '10.60.0.1', ['tcp/10.50.0.1/80', 'udp/10.50.0.1/53'], 100),
    # Where packets are counted: from "s..." so many, to "to..." in silence.
    **{name: ('br-count', 'pod', core, '02:00:00:00:03:%02x' % i,
              '02:00:00:00:04:01', '10.70.0.%d' % i,
              ['udp/10.80.0.1/%d' % port for port in range(53, 57)], rate)
       for i, (name, core, rate) in enumerate((
           ('to-passed', 0, 0), ('to-other', 1, 0), ('s1', 0, 2000),
           ('s2', 1, 2000), ('s3', 0, 2000), ('s4', 1, 2000),
           ('s5', 0, 2000), ('s6', 1, 2000)), 1)},
}
NUMBERS = {'antrea-gw0': 2, 'client': 36, 'web': 37, 'db': 38, 'p1': 1,
           'p2': 2, 'm1': 1, 'm2': 2, 'to-passed': 1, 'to-other': 2,
           's1': 3, 's2': 4, 's3': 5, 's4': 6, 's5': 7, 's6': 8}
LIMIT = 20000                   # Packets of each of "s...".

RECORDS = [
    {'kind': 'NodeConfig', 'name': 'node',
     'gateway': {'port': 'antrea-gw0', 'mac': GATEWAY, 'ip': '10.10.0.1'},
     'tunnel': {'port': 'antrea-tun0'}, 'podCIDR': '10.10.0.0/24',
     'serviceCIDR': '10.96.0.0/12', 'transportIP': OUR_IP},
    {'kind': 'PeerNode', 'name': 'peer', 'podCIDR': '10.10.1.0/24',
     'gatewayIP': '10.10.1.1', 'transportIP': PEER_IP},
    {'kind': 'Service', 'name': 'default/lb',
     'loadBalancerIPs': ['192.168.77.150'],
     'ports': [{'port': 80, 'endpoints': [
         {'ip': WEB, 'port': 80, 'local': True}]}]},
    {'kind': 'AddressGroup', 'name': 'clients',
     'addresses': [CLIENT, '10.10.1.0/24']},
    {'kind': 'AppliedToGroup', 'name': 'web', 'pods': ['default/web']},
    {'kind': 'NetworkPolicy', 'name': 'K8sNetworkPolicy:default/web',
     'type': 'K8sNetworkPolicy', 'appliedToGroups': ['web'],
     'rules': [{'direction': 'In', 'from': {
         'addressGroups': ['clients'],
         'ipBlocks': [{'cidr': '10.10.0.0/24'}]}}]},
] + [{'kind': 'Pod', 'name': 'default/' + name, 'port': name,
      'mac': PODS[name][3], 'ips': [PODS[name][5]]}
     for name in ('client', 'web', 'db')]

# UDP's connections get another mark and label from each direction.
FLOWS = """
table=0,priority=10,arp actions=drop
table=0,priority=10,udp,nw_dst=10.40.0.0/16 actions=NORMAL
table=0,priority=5,ip,in_port=1 actions=ct(table=1,zone=7)
table=0,priority=5,ip,in_port=2 actions=ct(table=2,zone=7)
table=1,priority=25,udp,ct_state=+trk+est actions=ct(commit,zone=7,exec(load:1->NXM_NX_CT_MARK[],load:1->NXM_NX_CT_LABEL[0..15])),output:2
table=2,priority=25,udp,ct_state=+trk+est actions=ct(commit,zone=7,exec(load:2->NXM_NX_CT_MARK[],load:2->NXM_NX_CT_LABEL[0..15])),output:1
table=1,priority=20,ct_state=+trk+est actions=dec_ttl,resubmit(,4),output:2
table=1,priority=10,tcp,ct_state=+trk+new actions=group:1
table=1,priority=5,ip,ct_state=+trk actions=resubmit(,3),ct(commit,zone=7,exec(load:1->NXM_NX_CT_MARK[])),output:2
table=2,priority=10,ct_state=+trk+est actions=dec_ttl,output:1
table=2,priority=5,ip,ct_state=+trk actions=ct(commit,zone=7),output:1
table=3,priority=5,ip actions=learn(table=4,idle_timeout=5,hard_timeout=20,priority=100,eth_type=0x800,nw_proto=6,NXM_OF_IP_SRC[],load:1->NXM_NX_REG0[])
"""
MORE_FLOWS = """
table=0,priority=5,ip actions=ct(table=1,zone=9)
table=1,priority=10,ip,ct_state=+trk+new,in_port=1 actions=ct(commit,zone=9,nat(src=10.50.0.100)),learn(table=2,idle_timeout=5,priority=100,eth_type=0x800,NXM_OF_IP_SRC[],load:1->NXM_NX_REG0[]),output:2
table=1,priority=9,ip,ct_state=+trk+new actions=ct(commit,zone=9),output:1
table=1,priority=5,ip,in_port=1 actions=resubmit(,2),output:2
table=1,priority=5,ip,in_port=2 actions=output:1
"""
GROUP = ('group_id=1,type=select,bucket=bucket_id:1,weight:100,'
         'actions=set_field:10.30.0.8->ip_dst,resubmit(,3),'
         'ct(commit,zone=7),output:2,'
         'bucket=bucket_id:2,weight:50,actions=resubmit(,3),'
         'ct(commit,zone=7,nat(src=10.20.0.100-10.20.0.120)),output:2')


def service(n_endpoints, affinity):
    """The record of the Service that all talk to."""
    ends = [WEB, DB, '10.10.1.7', '10.10.1.8'][:n_endpoints]

    def endpoints(port):
        return [{'ip': ip, 'port': port, 'local': ip in (WEB, DB)}
                for ip in ends]
    record = {'kind': 'Service', 'name': 'default/clusterip',
              'clusterIP': '10.105.31.235', 'ports': [
                  {'port': 80, 'endpoints': endpoints(80)},
                  {'port': 443, 'protocol': 'UDP',
                   'endpoints': endpoints(443)}]}
    if affinity:
        record['sessionAffinity'] = {'timeoutSeconds': 20}
    return record


class Daemon:
    def __init__(self, program, prefix, workdir, race=False):
        self.dir, self.prefix, self.race = workdir, prefix, race
        self.env = dict(os.environ, OVS_RUNDIR=workdir, OVS_LOGDIR=workdir,
                        OVS_DBDIR=workdir, OVS_SYSCONFDIR=workdir)
        self.processes = []
        try:
            self.start(program)
        except BaseException:
            self.stop()
            raise

    def start(self, program):
        workdir = self.dir
        schema = os.path.join(self.prefix, 'share', 'openvswitch',
                              'vswitch.ovsschema')
        self.tool('ovsdb-tool', 'create', workdir + '/conf.db', schema)
        self.spawn(os.path.join(self.prefix, 'sbin', 'ovsdb-server'),
                   workdir + '/conf.db',
                   '--remote=punix:%s/db.sock' % workdir)
        self.wait_for(workdir + '/db.sock')
        self.vsctl('--no-wait', 'init', '--', 'set', 'Open_vSwitch', '.',
                   'other_config:pmd-cpu-mask=0x3',
                   'other_config:pmd-maxsleep=200',
                   'other_config:n-handler-threads=2',
                   'other_config:n-revalidator-threads=2',
                   'other_config:antrea-dp-max-half-open=20',
                   'other_config:antrea-dp-max-unanswered=20')
        control = workdir + '/vswitchd.ctl'
        self.env['TSAN_OPTIONS'] = ('log_path=%s/races exitcode=0 '
                                    'history_size=7 second_deadlock_stack=1'
                                    % workdir)
        self.spawn(program, 'unix:%s/db.sock' % workdir, '--enable-dummy',
                   '--disable-system', '--unixctl=' + control)
        self.vswitchd = self.processes[-1]
        self.control = unixctl.Control(control, timeout=60)

    def spawn(self, program, *args):
        name = os.path.join(self.dir, os.path.basename(program) + '.out')
        with open(name, 'w') as log:
            self.processes.append(subprocess.Popen(
                [program, *args, '--no-chdir', '--log-file', '-vconsole:off'],
                env=self.env, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log))

    def connect(self):
        """Another connection for commands: one a thread."""
        return unixctl.Control(self.dir + '/vswitchd.ctl')

    @staticmethod
    def wait_for(path):
        deadline = time.monotonic() + 30
        while not os.path.exists(path):
            if time.monotonic() > deadline:
                raise RuntimeError('no ' + path)
            time.sleep(0.01)

    def tool(self, name, *args, stdin=None, may_fail=False):
        result = subprocess.run(
            [os.path.join(self.prefix, 'bin', name), *args], env=self.env,
            input=stdin, capture_output=True, text=True, timeout=120)
        if result.returncode and not may_fail:
            raise RuntimeError('%s %s: %s' % (name, ' '.join(args)[:300],
                                              result.stderr))
        return result.stdout

    def vsctl(self, *args):
        # The server's socket is there a moment before it listens.
        self.tool('ovs-vsctl', '--retry', '--db=unix:%s/db.sock' % self.dir,
                  *args)

    def ofctl(self, command, bridge, *args, stdin=None, may_fail=False):
        version = ([] if 'flow' in command else ['-O', 'OpenFlow11']
                   if command == 'mod-table' else ['-O', 'OpenFlow15'])
        return self.tool('ovs-ofctl', *version, command,
                         '%s/%s.mgmt' % (self.dir, bridge), *args,
                         stdin=stdin, may_fail=may_fail)

    def records(self):
        """A connection for records: one a thread."""
        return unixctl.Control(self.dir + '/antrea-dp.sock')

    def pod_args(self, name):
        bridge, kind, core, mac, gateway, ips, talk, rate = PODS[name]
        args = ['--', '--may-exist', 'add-port', bridge, name, '--', 'set',
                'Interface', name, 'type=' + kind,
                'ofport_request=%d' % NUMBERS[name],
                'options:pod-mac="%s"' % mac,
                'options:pod-gateway="%s"' % gateway,
                'options:pod-ips="%s"' % ips,
                'options:pod-talk="%s"' % ' '.join(talk),
                'options:pod-rate=%d' % rate,
                'options:pod-limit=%d' % (LIMIT if bridge == 'br-count'
                                          else 0),
                'options:pod-race=%s' % str(self.race).lower()]
        if core is not None:
            args.append('other_config:pmd-rxq-affinity="0:%d"' % core)
        return args

    def tunnel_args(self):
        return ['--', '--may-exist', 'add-port', 'br-int', 'antrea-tun0',
                '--', 'set', 'Interface', 'antrea-tun0', 'type=geneve',
                'ofport_request=1', 'options:remote_ip=flow',
                'options:key=flow']

    def add_underlay(self, control):
        outer = '/'.join([OUR_MAC, PEER_MAC, OUR_IP, PEER_IP])
        self.vsctl(
            'add-br', 'br-phy', '--', 'set', 'Bridge', 'br-phy',
            'datapath_type=dummy', 'fail_mode=secure',
            'other_config:hwaddr="%s"' % OUR_MAC,
            '--', 'add-port', 'br-phy', 'phy', '--', 'set', 'Interface',
            'phy', 'type=pod', 'ofport_request=1',
            'options:pod-mac="%s"' % GLOBAL_MAC,
            'options:pod-gateway="%s"' % GLOBAL_MAC,
            'options:pod-ips="10.10.1.7 10.10.1.8 10.10.1.9"',
            'options:pod-talk="tcp/%s/80 udp/%s/443 tcp/%s/80"' % (WEB, WEB,
                                                                   CLIENT),
            'options:pod-rate=80', 'options:pod-outer="%s"' % outer,
            'other_config:pmd-rxq-affinity="0:0"')
        control('netdev-dummy/ip4addr', 'br-phy', OUR_IP + '/24')
        self.route(control)
        self.neighbours(control)
        self.ofctl('add-flows', 'br-phy', '-', stdin=(
            'in_port=LOCAL actions=output:1\n'
            'in_port=1,udp,tp_dst=6081 actions=LOCAL\n'))

    def add_bridge(self, bridge, *settings):
        """With its Pods."""
        self.vsctl('add-br', bridge, '--', 'set', 'Bridge', bridge,
                   'datapath_type=antrea', 'fail_mode=secure', *settings,
                   *(arg for name in PODS if PODS[name][0] == bridge
                     for arg in self.pod_args(name)))

    def add_more(self):
        """The bridge that comes and goes."""
        self.add_bridge('br-more', 'other_config:antrea-dp-pipeline=none')
        self.ofctl('add-flows', 'br-more', '-', stdin=MORE_FLOWS)

    def configure(self):
        self.add_underlay(self.control)
        self.add_bridge('br-int', *self.tunnel_args())
        self.add_bridge('br-flows', 'other_config:antrea-dp-pipeline=none')
        self.add_more()
        self.ofctl('add-group', 'br-flows', GROUP)
        self.ofctl('add-flows', 'br-flows', '-', stdin=FLOWS)
        self.records()('replace', {'bridge': 'br-int', 'records':
                                   RECORDS + [service(2, True)]})

    @staticmethod
    def route(control):
        control('ovs/route/add', OUR_IP + '/24', 'br-phy')

    @staticmethod
    def neighbours(control):
        control('tnl/neigh/set', 'br-phy', PEER_IP, PEER_MAC)

    def stats(self, bridge):
        return json.loads(self.control('antrea-dp/stats-show', bridge))

    def alive(self):
        return self.vswitchd.poll() is None

    def races(self):
        """What ThreadSanitizer has written."""
        texts = []
        for name in sorted(os.listdir(self.dir)):
            if name.startswith('races.'):
                with open(os.path.join(self.dir, name),
                          errors='replace') as f:
                    texts.append(f.read())
        return ''.join(texts)

    def exit(self):
        """Ends it as an operator would.  Returns its exit code."""
        self.control('exit')
        return self.vswitchd.wait(timeout=60)

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.kill()
            process.wait()
