# SPDX-License-Identifier: Apache-2.0
"""Changes to flows, groups, ports and conntrack while connections live.

Each is undone some time later."""

import re

import tunnels
from packets import ICMP, ICMP6, TCP, UDP


def split(flow):
    """'table=1,priority=2,ip actions=drop' -> what identifies it, actions."""
    match, actions = flow.split('actions=', 1)
    parts = [part.strip() for part in match.split(',')]
    parts = [part for part in parts
             if part and not part.startswith(('cookie=', 'idle_timeout=',
                                              'hard_timeout='))]
    return ','.join(parts), actions


class Changes:
    """flows, groups    as they are installed: lines for ovs-ofctl
    tables              in the order in which packets pass them
    zones               conntrack's
    other_actions       function of a flow: actions that may be in its place
    source_ports        flows may match on source ports"""

    def __init__(self, rnd, pair, flows, groups, tables, zones,
                 other_actions=lambda flow: 'drop', source_ports=True):
        self.rnd, self.pair = rnd, pair
        self.flows, self.groups = list(flows), list(groups)
        self.tables, self.zones = list(tables), list(zones)
        self.other_actions = other_actions
        self.source_ports = source_ports
        self.n_added = 0
        self.limited = 0                # Limits on connections in force.
        self.timed = 0                  # Timeout policies in force.
        self.missing = set()            # Groups that are deleted: numbers.
        self.undo = []                  # Functions, to be called in any order.
        kinds = {
            self.shadow: 8, self.delete: 3, self.modify: 4,
            self.install_again: 1, self.replace_all: 1, self.group: 3,
            self.mark: 4, self.flush: 3, self.flush_tuple: 2,
            self.limit: 1, self.timeouts: 1, self.port: 1, self.misses: 2,
        }
        if not self.groups:
            del kinds[self.group]
        if not self.zones:
            for kind in (self.mark, self.flush, self.flush_tuple, self.limit,
                         self.timeouts):
                del kinds[kind]
        self.kinds = kinds

    def one(self, talks):
        if self.undo and self.rnd.random() < .5:
            self.undo.pop(self.rnd.randrange(len(self.undo)))()
            return
        kind = self.rnd.choices(list(self.kinds), list(self.kinds.values()))[0]
        kind(talks)

    def undo_all(self):
        while self.undo:
            self.undo.pop()()

    # Ways to tell the switch.

    def flow_mods(self, *lines, bundle=None):
        """'lines' are "add FLOW", "modify_strict FLOW" and the like."""
        if bundle is None:
            bundle = self.rnd.random() < .3
        self.pair.do(['ofctl', ['add-flows', '-']
                      + (['--bundle'] if bundle else []),
                      ''.join(line + '\n' for line in lines)])

    def bundle(self, *lines):
        """'lines' are "flow add FLOW", "group modify GROUP" and the like."""
        self.pair.do(['ofctl', ['bundle', '-'],
                      ''.join(line + '\n' for line in lines)])

    def possible(self, flows):
        """Those of 'flows' whose groups are there.  The others come with
        these."""
        return [flow for flow in flows
                if self.missing.isdisjoint(re.findall(r'group:(\d+)', flow))]

    def priority(self, *above):
        """A little higher than one of 'above'.  No flow has the same: which of
        two flows of one priority gets a packet is nowhere said."""
        self.n_added += 1
        return self.rnd.choice(above) + self.n_added

    # What a live connection looks like in a match.

    def match(self, talks):
        rnd = self.rnd
        talk = rnd.choice(talks)
        port, p = talk.next
        if talk.far and rnd.random() < .5:
            p = talk.far[1]
        v6 = p.v6
        fields = [('ipv6' if v6 else 'ip')]
        if rnd.random() < .5:
            fields = [{TCP: 'tcp', UDP: 'udp', ICMP: 'icmp',
                       ICMP6: 'icmp6'}.get(p.proto, 'ip')]
            if fields[0] in ('tcp', 'udp'):
                if rnd.random() < .5:
                    fields.append('tp_dst=%d' % p.dport)
                if rnd.random() < .3 and self.source_ports:
                    fields.append('tp_src=%d' % p.sport)
            if v6 and fields[0] != 'icmp6':
                fields[0] = 'ipv6' if fields[0] == 'ip' else fields[0] + '6'
        if rnd.random() < .7:
            fields.append('%s_src=%s' % ('ipv6' if v6 else 'nw', p.src))
        if rnd.random() < .5:
            fields.append('%s_dst=%s' % ('ipv6' if v6 else 'nw', p.dst))
        if rnd.random() < .2:
            fields.append('in_port=%d' % self.pair.ours.ports.get(port, 99))
        if self.zones and rnd.random() < .2:
            fields.append('ct_state=' + rnd.choice(
                ['+est+trk-snat-dnat', '+new+trk-snat-dnat', '+est+trk',
                 '+rpl+trk', '-rpl+trk', '-trk']))
        return ','.join(fields)

    # Changes.

    def shadow(self, talks):
        """A flow above those that live connections use."""
        rnd = self.rnd
        flow = 'table=%s,priority=%d,%s' % (rnd.choice(self.tables),
                                            self.priority(1000, 30000, 65000),
                                            self.match(talks))
        self.flow_mods('add %s,actions=drop' % flow)
        self.undo.append(lambda: self.flow_mods('delete_strict ' + flow))

    def delete(self, talks):
        flows = self.rnd.sample(self.flows, min(len(self.flows),
                                                self.rnd.choice([1, 1, 3])))
        self.flow_mods(*('delete_strict ' + split(flow)[0]
                         for flow in flows))
        self.undo.append(lambda: self.flow_mods(
            *('add ' + flow for flow in self.possible(flows))))

    def modify(self, talks):
        """Another flow's actions, or none."""
        rnd = self.rnd
        flow = rnd.choice(self.flows)
        actions = rnd.choice(['drop', self.other_actions(flow)])
        # What is invalid can't be committed.
        if not self.possible([actions]) or '+inv' in flow and (
                'ct(' in actions):
            actions = 'drop'
        self.flow_mods('modify_strict %s,actions=%s' % (split(flow)[0],
                                                        actions))
        self.undo.append(lambda: self.flow_mods(
            *('add ' + flow for flow in self.possible([flow]))))

    def install_again(self, talks):
        """The same flows once more; then they are as they were first."""
        lines = ['add ' + flow for flow in self.possible(self.flows)]
        self.rnd.shuffle(lines)
        self.flow_mods(*lines)

    def replace_all(self, talks):
        self.bundle('flow delete',
                    *('flow add ' + flow
                      for flow in self.possible(self.flows)))
        if self.groups:
            self.pair.do(['ofctl', ['mod-group', '-', '--may-create'],
                          ''.join(g + '\n' for g in self.groups)])
            self.missing.clear()

    def group(self, talks):
        """Another bucket, or none, or no group."""
        rnd = self.rnd
        group = rnd.choice(self.groups)
        other = rnd.choice(self.groups)
        name, rest = group.split(',', 1)
        number = name.split('=')[1]
        kind = rnd.randrange(3)

        def modify(other):
            if number not in self.missing:
                self.bundle('group modify ' + other)

        def add():
            self.missing.discard(number)
            self.bundle('group delete ' + name, 'group add ' + group,
                        *('flow add ' + flow
                          for flow in self.possible(self.flows)
                          if number in re.findall(r'group:(\d+)', flow)))

        if kind == 0:
            modify('%s,%s' % (name, other.split(',', 1)[1]))
            self.undo.append(lambda: modify(group))
        elif kind == 1 and 'type=indirect' not in group:
            modify('%s,%s' % (name, rest.split(',')[0]))
            self.undo.append(lambda: modify(group))
        else:
            self.bundle('group delete ' + name)
            self.missing.add(number)
            self.undo.append(add)

    def mark(self, talks):
        """Another rule writes ct_mark or ct_label of live connections, or
        makes them anew."""
        rnd = self.rnd
        n = rnd.randrange(len(self.tables) - 1)
        flow = 'table=%s,priority=%d,%s' % (
            self.tables[n], self.priority(1000, 30000), self.match(talks))
        what = rnd.choice(['set_field:0x%x/0x%x->ct_mark' % (
                               rnd.choice([0, 0x10, 0x20, 0x12]), 0x3f),
                           'set_field:0x%x/0xff->ct_label' % rnd.randrange(3),
                           'set_field:0x%x00000000/0xff00000000->ct_label'
                           % rnd.randrange(3)])
        force = rnd.random() < .3
        if force and 'ct_state' not in flow:
            # A packet that has been translated just now is left out.
            flow += ',ct_state=-snat-dnat'
        self.flow_mods('add %s,actions=ct(commit%s,zone=%d,table=%s,exec(%s))'
                       % (flow, ',force' if force else '',
                          rnd.choice(self.zones),
                          rnd.choice(self.tables[n + 1:]), what))
        self.undo.append(lambda: self.flow_mods('delete_strict ' + flow))

    def flush(self, talks):
        command = ['dpctl/flush-conntrack']
        if self.rnd.random() < .6:
            command.append('zone=%d' % self.rnd.choice(self.zones))
        self.pair.do(['appctl', command])

    def flush_tuple(self, talks):
        p = self.rnd.choice(talks).near
        if p.proto not in (TCP, UDP) or p.v6:
            return
        self.pair.do(['appctl', [
            'dpctl/flush-conntrack', 'zone=%d' % self.rnd.choice(self.zones),
            'ct_nw_src=%s,ct_nw_dst=%s,ct_nw_proto=%d,ct_tp_src=%d,'
            'ct_tp_dst=%d' % (p.src, p.dst, p.proto, p.sport, p.dport)]])

    def limit(self, talks):
        zone = 'zone=%d' % self.rnd.choice(self.zones)
        self.pair.do(['appctl', ['dpctl/ct-set-limits',
                                 '%s,limit=%d' % (zone, self.rnd.choice(
                                     [1, 3, 10]))]])
        self.limited += 1

        def remove():
            self.pair.do(['appctl', ['dpctl/ct-del-limits', zone]])
            self.limited -= 1

        self.undo.append(remove)

    def timeouts(self, talks):
        zone = 'zone=%d' % self.rnd.choice(self.zones)
        policy = ['%s=%d' % (name, self.rnd.choice([1, 2, 30]))
                  for name in self.rnd.sample(
                      ['udp_first', 'udp_single', 'udp_multiple',
                       'tcp_syn_sent', 'tcp_established', 'icmp_first'], 3)]
        remove = ['vsctl', ['--if-exists', 'del-zone-tp', 'DATAPATH', zone]]

        def undo():
            self.pair.do(remove)
            self.timed -= 1

        self.timed += 1
        self.pair.do(remove)
        self.pair.do(['vsctl', ['add-zone-tp', 'DATAPATH', zone] + policy])
        self.undo.append(undo)

    def misses(self, talks):
        """A table does something else with packets that no flow matches, and
        there are some."""
        table = self.rnd.choice(self.tables)
        here = [flow for flow in self.flows
                if flow.startswith('table=%s,' % table)
                and ',priority=0 ' in flow]

        def miss(what):
            self.pair.do(['ofctl', ['mod-table', str(table), what, '-O',
                                    'OpenFlow11']])

        def undo():
            miss('drop')
            self.flow_mods(*('add ' + flow for flow in here))

        self.flow_mods(*('delete_strict ' + split(flow)[0] for flow in here))
        miss(self.rnd.choice(['continue', 'continue', 'controller', 'drop']))
        self.undo.append(undo)

    def port(self, talks):
        """A port goes, comes or gets another number."""
        port = self.rnd.choice([port for port in self.pair.ours.ports
                                if port != tunnels.PORT])
        number = self.pair.ours.ports[port]
        if self.rnd.random() < .5:
            self.pair.do(['del-port', port])
        else:
            self.pair.do(['add-port', port, number + 50])
        self.undo.append(lambda: self.pair.do(['add-port', port, number]))
