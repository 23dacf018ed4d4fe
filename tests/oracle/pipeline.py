# SPDX-License-Identifier: Apache-2.0
"""The built-in pipeline of a node with three Pods."""

import os
import re
import subprocess

import packets
from changes import Changes
from talk import Talk, World
from traffic import Traffic

here = os.path.dirname(os.path.abspath(__file__))

PORTS = {'antrea-gw0': 2, 'client': 36, 'web': 37, 'db': 38}
GATEWAY = 'ba:5e:d1:55:aa:c0'
SERVICE_MAC = 'aa:bb:cc:dd:ee:ff'
OUTSIDE = ['192.168.77.1', '8.8.8.8']
HOSTS = {
    'antrea-gw0': (GATEWAY, ['10.10.0.1'] + OUTSIDE),
    'client': ('5e:b5:e3:a6:90:b7', ['10.10.0.26']),
    'web': ('fa:b7:53:74:21:a6', ['10.10.0.24']),
    'db': ('36:48:21:a2:9d:b4', ['10.10.0.25']),
}
SERVICES = ['10.105.31.235', '192.168.77.150', '10.101.255.29']
ZONES = [65520, 65521]


def destinations(client):
    found = [(mac, ips[0]) for port, (mac, ips) in HOSTS.items()
             if port != client]
    service = SERVICE_MAC if client == 'antrea-gw0' else GATEWAY
    return found + [(service, ip) for ip in SERVICES] \
        + [(GATEWAY, ip) for ip in OUTSIDE if client != 'antrea-gw0']


def unambiguous(flows):
    """Gives each flow of a table without conjunctions a priority of its own,
    in the same order.  Some match the same packets as others of their
    priority, and which of them gets a packet is nowhere said."""
    tables = {}
    for flow in flows:
        table, priority = re.search(r'table=(\w+), priority=(\d+)',
                                    flow).groups()
        tables.setdefault(table, []).append((int(priority), flow))
    result = []
    for table in tables.values():
        if any('conj' in flow for _, flow in table):
            result += [flow for _, flow in table]
            continue
        table.sort(key=lambda item: item[0])
        result += [re.sub(r'priority=\d+', 'priority=%d' % (10 * rank), flow)
                   for rank, (_, flow) in enumerate(table)]
    return result


class Pipeline:
    def __init__(self, gen_flows):
        def generated(what):
            args = [gen_flows, '--' + what, os.path.join(here, 'state.json')]
            args += ['%s=%d' % item for item in PORTS.items()]
            return subprocess.run(args, check=True, text=True,
                                  capture_output=True).stdout.splitlines()

        self.tables = dict(reversed(line.split())
                           for line in generated('tables'))

        def numbered(line):
            return re.sub(r'(table[=:]|resubmit\(,)(\w+)',
                          lambda m: m[1] + self.tables.get(m[2], m[2]), line)

        self.flows = unambiguous(map(numbered, generated('flows')))
        self.groups = list(map(numbered, generated('groups')))
        self.meters = generated('meters')

    def load(self, pair):
        args = []
        for name, number in self.tables.items():
            args += ['--', '--id=@t%s' % number, 'create', 'Flow_Table',
                     'name=' + name, '--', 'set', 'bridge', 'br0',
                     'flow_tables:%s=@t%s' % (number, number)]
        pair.do(['vsctl', args[1:]])
        for line in self.meters:
            pair.do(['ofctl', ['add-meter', line]])
        pair.do(['ofctl', ['add-groups', '-'], '\n'.join(self.groups)])
        pair.do(['ofctl', ['add-flows', '-', '--bundle'],
                 '\n'.join(self.flows)])
        # Everybody is known to the L2 tables first.
        for port, (mac, ips) in HOSTS.items():
            pair.do(['packets', port, [packets.arp(
                1, mac, ips[0], '00:00:00:00:00:00', ips[0])]])

    def run(self, pair, rnd, n_packets, fragments=False, traffic=Traffic):
        """With IP fragments, flows stay as they are.  Stock holds fragments
        back, counts them twice and releases them into any other batch, so when
        they come out and how often they are counted isn't compared, but all
        else is."""
        pair.with_fragments = not fragments
        self.load(pair)
        world = World(HOSTS, destinations)
        if fragments:
            run = traffic(rnd, pair, world,
                          kinds=dict(Talk.KINDS, fragments=4),
                          batches=False, compared='connections')
        else:
            changes = Changes(rnd, pair, self.flows, self.groups,
                              list(self.tables.values()), ZONES,
                              source_ports=rnd.random() < .5)
            run = traffic(rnd, pair, world, changes)
        run.run(n_packets)
