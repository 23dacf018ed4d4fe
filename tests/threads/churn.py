# SPDX-License-Identifier: Apache-2.0
"""What happens to the daemon while its Pods talk: several threads, each with
connections of its own, change records, flows and groups, ports and threads, and
look at it all."""

import random
import threading
import time

import daemon


class Churn:
    def __init__(self, target, seed):
        self.daemon = target
        self.stop = threading.Event()
        self.errors = []
        self.counts = {}
        self.threads = [
            threading.Thread(target=self.run, args=(do, '%d/%s' % (
                seed, do.__name__)))
            for do in (self.change_records, self.change_flows,
                       self.change_ports, self.look)]

    def run(self, make, seed):
        steps = make(random.Random(seed))
        try:
            while not self.stop.is_set():
                name = next(steps)
                self.counts[name] = self.counts.get(name, 0) + 1
        except Exception as e:          # pylint: disable=broad-except
            self.errors.append('%s: %s' % (make.__name__, e))
            self.stop.set()

    def for_seconds(self, seconds, enough):
        """Where the machine has other work, it takes longer until 'enough'
        says so: at most five times as long."""
        for thread in self.threads:
            thread.start()
        deadline = time.monotonic() + 5 * seconds
        self.stop.wait(seconds)
        while not enough() and time.monotonic() < deadline:
            if self.stop.wait(2):
                break
        self.stop.set()
        for thread in self.threads:
            thread.join()

    def change_records(self, rnd):
        """The typed state of br-int."""
        call = self.daemon.records()

        def apply(*records):
            call('apply', {'bridge': 'br-int', 'records': list(records)})

        def group():
            addresses = [daemon.CLIENT, '10.10.1.0/24'] + [
                '10.10.0.%d' % n for n in rnd.sample(range(30, 250), 3)]
            apply({'kind': 'AddressGroup', 'name': 'clients',
                   'addresses': addresses[rnd.randrange(2):]})

        def service():
            apply(daemon.service(rnd.randrange(5), rnd.random() < .5))

        def policy():
            name = 'AntreaNetworkPolicy:default/p%d' % rnd.randrange(4)
            if rnd.random() < .4:
                call('delete', {'bridge': 'br-int', 'ignore_missing': True,
                                'records': [{'kind': 'NetworkPolicy',
                                             'name': name}]})
            else:
                apply({'kind': 'NetworkPolicy', 'name': name,
                       'type': 'AntreaNetworkPolicy',
                       'tierPriority': rnd.choice([50, 250]),
                       'priority': rnd.randrange(1, 9),
                       'appliedToGroups': ['web'], 'rules': [{
                           'direction': rnd.choice(['In', 'Out']),
                           'action': rnd.choice(['Allow', 'Allow', 'Drop']),
                           'services': [{'protocol': 'TCP', 'port':
                                         rnd.choice([80, 3306, 9999])}]}]})

        def pod():
            name = 'default/' + rnd.choice(['client', 'db'])
            record = next(r for r in daemon.RECORDS if r['name'] == name)
            call('delete', {'bridge': 'br-int', 'ignore_missing': True,
                            'records': [{'kind': 'Pod', 'name': name}]})
            try:
                apply(record)
            except RuntimeError as e:
                if "'missing'" not in str(e):       # Its port.
                    raise

        def replace():
            try:
                call('replace', {'bridge': 'br-int', 'records':
                                 daemon.RECORDS + [daemon.service(3, True)]})
            except RuntimeError as e:
                if "'missing'" not in str(e):
                    raise

        def crowd():
            """Comes into the bridge in slices, and leaves it so."""
            addresses = ['10.100.%d.%d' % divmod(n, 256) for n in range(2100)]
            apply({'kind': 'AddressGroup', 'name': 'crowd',
                   'addresses': addresses + [daemon.CLIENT]},
                  {'kind': 'NetworkPolicy',
                   'name': 'AntreaNetworkPolicy:default/crowd',
                   'type': 'AntreaNetworkPolicy', 'tierPriority': 100,
                   'priority': 1, 'appliedToGroups': ['web'], 'rules': [{
                       'direction': 'In', 'action': 'Allow',
                       'from': {'addressGroups': ['crowd']}}]})
            call('delete', {'bridge': 'br-int', 'records': [
                {'kind': 'NetworkPolicy',
                 'name': 'AntreaNetworkPolicy:default/crowd'},
                {'kind': 'AddressGroup', 'name': 'crowd'}]})

        while True:
            step, = rnd.choices([group, service, policy, pod, replace, crowd],
                                [16, 8, 8, 4, 2, 1])
            step()
            yield 'records: ' + step.__name__
            time.sleep(rnd.random() * .1)

    def change_flows(self, rnd):
        """Flows and groups of br-flows, by OpenFlow."""
        ofctl = self.daemon.ofctl

        def add():
            ofctl('add-flows', 'br-flows', '-', stdin='\n'.join(
                'table=1,priority=%d,tcp,nw_src=10.20.0.%d,tp_dst=%d '
                'actions=%s' % (rnd.choice([1, 30, 40]), rnd.randrange(1, 5),
                                rnd.randrange(80, 90),
                                rnd.choice(['drop', 'group:1', 'group:2',
                                            'ct(commit,zone=7),output:2']))
                for _ in range(rnd.choice([1, 20]))), may_fail=True)

        def delete():
            ofctl('del-flows', 'br-flows',
                  'table=1,tcp,tp_dst=%d' % rnd.randrange(80, 90))

        def bundle():
            ofctl('add-flows', 'br-flows', '-', '--bundle',
                  stdin=daemon.FLOWS, may_fail=True)

        def group():
            ofctl('add-group', 'br-flows', daemon.GROUP.replace(
                'group_id=1', 'group_id=2'), may_fail=True)
            ofctl('mod-group', 'br-flows', daemon.GROUP.replace(
                'weight:50', 'weight:%d' % rnd.randrange(100)))

        def bucket():
            ofctl('insert-buckets', 'br-flows',
                  'group_id=1,command_bucket_id=last,bucket=bucket_id:%d,'
                  'actions=output:2' % rnd.randrange(10, 20), may_fail=True)

        def no_group():
            ofctl('del-groups', 'br-flows', 'group_id=2')

        def tables():
            ofctl('mod-table', 'br-flows', rnd.choice(['5', '6']),
                  rnd.choice(['drop', 'continue', 'controller']))

        def all_again():
            ofctl('del-flows', 'br-flows')
            ofctl('add-flows', 'br-flows', '-', stdin=daemon.FLOWS)

        while True:
            step, = rnd.choices([add, delete, bundle, group, bucket, no_group,
                                 tables, all_again],
                                [6, 4, 2, 4, 2, 1, 1, 1])
            step()
            yield 'flows: ' + step.__name__
            time.sleep(rnd.random() * .1)

    def change_ports(self, rnd):
        """Ports, tunnels, bridges, threads, capacities."""
        vsctl, control = self.daemon.vsctl, self.daemon.connect()

        def port():
            name = rnd.choice(['client', 'db', 'p1', 'p2', 'antrea-gw0'])
            vsctl('--if-exists', 'del-port', name)
            time.sleep(rnd.random() * .1)
            vsctl(*self.daemon.pod_args(name)[1:])

        def tunnel():
            vsctl('--if-exists', 'del-port', 'antrea-tun0')
            vsctl(*self.daemon.tunnel_args()[1:])

        def bridge():
            vsctl('del-br', 'br-more')
            time.sleep(rnd.random() * .2)
            self.daemon.add_more()

        def underlay():
            vsctl('del-br', 'br-phy')
            time.sleep(rnd.random() * .2)
            self.daemon.add_underlay(control)

        def way():
            """How packets get to the other node."""
            kind = rnd.choice(['neighbour', 'unknown', 'route', 'flows'])
            if kind == 'neighbour':
                control('tnl/neigh/set', 'br-phy', daemon.PEER_IP,
                        '02:00:00:00:aa:%02x' % rnd.randrange(3, 6))
            elif kind == 'unknown':
                control('tnl/neigh/flush')
            elif kind == 'route':
                control('ovs/route/del', '192.168.50.0/24')
            else:
                self.daemon.ofctl('mod-flows', 'br-phy',
                                  'in_port=LOCAL actions=' + rnd.choice(
                                      ['drop', 'dec_ttl,output:1']))
            time.sleep(rnd.random() * .3)
            self.daemon.ofctl('mod-flows', 'br-phy',
                              'in_port=LOCAL actions=output:1')
            if kind == 'route':
                self.daemon.route(control)
            self.daemon.neighbours(control)

        def half_open():
            vsctl('set', 'Open_vSwitch', '.',
                  'other_config:antrea-dp-max-%s=%s'
                  % (rnd.choice(['half-open', 'unanswered']),
                     rnd.choice(['3', '10', '50', '65536', 'unlimited'])))

        def sessions():
            vsctl('set', 'Bridge', rnd.choice(['br-int', 'br-flows']),
                  'other_config:antrea-dp-max-sessions=%d'
                  % rnd.choice([64, 1024, 100000]))

        def learned():
            vsctl('set', 'Bridge', 'br-flows',
                  'other_config:antrea-dp-max-learned-per-flow=%d'
                  % rnd.choice([10, 1000]))

        def rebalance():
            control('dpif-netdev/pmd-rxq-rebalance')

        def cores():
            vsctl('set', 'Open_vSwitch', '.', 'other_config:pmd-cpu-mask=0x2')
            vsctl('set', 'Open_vSwitch', '.', 'other_config:pmd-cpu-mask=0x3')

        while True:
            step, = rnd.choices([port, tunnel, bridge, underlay, way,
                                 half_open, sessions, learned, rebalance,
                                 cores], [6, 2, 2, 1, 6, 4, 3, 1, 1, 1])
            step()
            yield 'ports: ' + step.__name__
            time.sleep(rnd.random() * .5)

    def look(self, rnd):
        """Time that passes, connections that go, and whatever can be asked."""
        control = self.daemon.connect()
        records = self.daemon.records()

        def later():
            control('time/warp', str(rnd.choice([1000, 5000, 20000])))
            self.daemon.neighbours(control)

        def flush():
            if rnd.random() < .3:
                control('dpctl/flush-conntrack')
            else:
                control('dpctl/flush-conntrack',
                        'zone=%d' % rnd.choice([7, 65520]))

        def limits():
            control('dpctl/ct-set-maxconns', str(rnd.choice([500, 100000])))

        def purge():
            control('revalidator/purge')

        def stats():
            for bridge in 'br-int', 'br-flows':
                control('antrea-dp/stats-show', bridge)
            records('stats', {'bridge': 'br-int'})
            control('dpif-netdev/pmd-stats-show')
            control('coverage/show')

        def trace():
            records('trace', {
                'bridge': 'br-int', 'in_port': 'web', 'flow':
                'tcp,dl_src=%s,dl_dst=%s,nw_src=%s,nw_dst=10.105.31.235,'
                'nw_ttl=64,tcp_dst=80' % (daemon.PODS['web'][3],
                                          daemon.GATEWAY, daemon.WEB)})

        def dumps():
            control('bridge/dump-flows', 'br-int')
            control('dpctl/dump-flows')
            control('dpctl/dump-conntrack')
            control('antrea-dp/program-show', 'br-int')
            self.daemon.ofctl('dump-group-stats', 'br-flows')

        def reinstall():
            control('antrea-dp/reinstall', 'br-int')

        while True:
            step, = rnd.choices([later, flush, limits, purge, stats, trace,
                                 dumps, reinstall], [5, 2, 1, 1, 4, 2, 3, 1])
            step()
            yield 'look: ' + step.__name__
            time.sleep(rnd.random() * .3)
