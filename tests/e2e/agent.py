#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Antrea's agent, as a bridge's OpenFlow tables see it: a controller made with
os-ken, driven through two fifos.

    agent.py MANAGEMENT-SOCKET IN OUT

For each line read from IN it does what that says and writes one line to OUT:

    record FILE         the bridge's meters, groups and flows: what it will load
    load FILE ROUND     all of it, with cookies of this round; policies before Pods
    stale ROUND         deletes what is of that round
    rounds              how many flows there are of each round
    rewrite FILE N      deletes all policies' flows and adds them, N times, a bundle each
    deny FILE PORT      deletes the policies' flows of this TCP port
    allow FILE PORT     adds them again
    crowd N             N flows in a bundle, and their end
    pause IN-PORT PORT N  holds N datagrams to this port and sends them on
    out IN-PORT HEX     a packet, into the first table
    wait                nothing; says that it's there

ROUND is what Antrea counts up with each start; it is the upper 16 bits of cookies.
"""

import json
import os
import struct
import sys

from eventlet.greenio import GreenPipe

import controller
from controller import (Connection, flow, group, is_flow_removed,
                        is_packet_in, ofp, parser, resume, to_controller)

ROUND_SHIFT, CATEGORY_SHIFT = 48, 40
ROUND_MASK = 0xffff << ROUND_SHIFT
# Of the objects that flows are made for.
DEFAULT, POD, POLICY = 0, 1, 2
ALL = ofp.OFPTT_ALL
CROWD_TABLE = 200
IP, UDP = 0x800, 17


def category(message):
    return message[8 + 8 - 1 - CATEGORY_SHIFT // 8]


def serialized(connection, message):
    connection.set_xid(message)
    message.serialize()
    return bytes(message.buf)


def in_round(message, number):
    """A flow mod with its cookie's round."""
    return message[:8] + struct.pack('!H', number) + message[10:]


class Flow:
    """One of a bridge.  What it matches and does is kept as bytes: os-ken doesn't
    know all that Antrea does."""

    def __init__(self, data):
        (self.table_id, self.priority, self.idle_timeout, self.hard_timeout,
         self.flags, self.importance, self.cookie) = struct.unpack_from(
             '!4xBxHHHHHQ', data)
        self.match, rest = self.padded(data[24:])
        _, self.instructions = self.padded(rest)    # Behind the statistics.

    @staticmethod
    def padded(data):
        length = -(-struct.unpack_from('!H', data, 2)[0] // 8) * 8
        return data[:length], data[length:]

    def mod(self):
        """The flow mod that adds it."""
        body = struct.pack(
            '!QQBBHHHIIIHH', self.cookie, 0, self.table_id, ofp.OFPFC_ADD, 0,
            0, self.priority, ofp.OFP_NO_BUFFER, ofp.OFPP_ANY, ofp.OFPG_ANY,
            self.flags, self.importance) + self.match + self.instructions
        return struct.pack('!BBHI', ofp.OFP_VERSION, ofp.OFPT_FLOW_MOD,
                           8 + len(body), 0) + body


def match_of(data, at=0):
    return parser.OFPMatch.parser(bytearray(data), at)


class Agent:
    def __init__(self, path):
        self.connection = Connection(path)
        self.connection.introduce()

    def ask(self, request):
        replies = self.connection.request(request)
        for part in replies:
            if part.msg_type == ofp.OFPT_ERROR:
                raise RuntimeError('refused: %d/%d' % (part.type, part.code))
        return replies

    def bundle(self, messages):
        errors = self.connection.bundle(messages)
        if errors:
            raise RuntimeError('a bundle was refused: %s' % [
                (e.type, e.code) for e in errors])

    # --- what is there, and there again --------------------------------------

    def flows(self, **fields):
        for part in self.ask(parser.OFPFlowDescStatsRequest(
                self.connection, **fields)):
            body = part.buf[16:]
            while body:
                length, = struct.unpack_from('!H', body)
                yield Flow(body[:length])
                body = body[length:]

    def groups(self):
        """As group mods.  os-ken doesn't read them, so they are copied."""
        for part in self.ask(parser.OFPGroupDescStatsRequest(
                self.connection, 0)):
            body = part.buf[16:]
            while body:
                length, kind, group_id, buckets_len = struct.unpack_from(
                    '!HBxIH', body)
                rest = struct.pack('!HBxIH2xI', ofp.OFPGC_ADD, kind, group_id,
                                   buckets_len, ofp.OFPG_BUCKET_ALL) \
                    + body[16:length]
                yield struct.pack('!BBHI', ofp.OFP_VERSION, ofp.OFPT_GROUP_MOD,
                                  8 + len(rest), 0) + rest
                body = body[length:]

    def record(self, path):
        c = self.connection
        meters, flows = [], []
        for part in self.ask(parser.OFPMeterDescStatsRequest(c, 0)):
            for found in part.body:
                meters.append(serialized(c, parser.OFPMeterMod(
                    c, ofp.OFPMC_ADD, found.flags, found.meter_id,
                    found.bands)))
        for found in self.flows():
            # Learned ones are packets' work.
            if not found.idle_timeout and not found.hard_timeout:
                flows.append(found.mod())
        groups = list(self.groups())
        with open(path, 'w') as file:
            json.dump({'meters': [m.hex() for m in meters],
                       'groups': [g.hex() for g in groups],
                       'flows': [f.hex() for f in flows]}, file)
        return '%d meters, %d groups, %d flows' % (
            len(meters), len(groups), len(flows))

    @staticmethod
    def read(path):
        with open(path) as file:
            state = json.load(file)
        return {kind: [bytes.fromhex(m) for m in messages]
                for kind, messages in state.items()}

    def load(self, path, number):
        """Meters and groups that there are already go first, and with them the
        flows that use them, as when an agent starts."""
        c, number = self.connection, int(number)
        state = self.read(path)
        c.must(parser.OFPMeterMod(c, ofp.OFPMC_DELETE, 0, ofp.OFPM_ALL))
        for message in state['meters']:
            c.send(message)
        c.must()
        flows = [in_round(f, number) for f in state['flows']]
        of = {}
        for message in flows:
            of.setdefault(category(message), []).append(message)
        self.bundle([group(c, ofp.OFPG_ALL, command=ofp.OFPGC_DELETE, kind=0)]
                    + state['groups'])
        for kind in [DEFAULT, POLICY] + sorted(
                set(of) - {DEFAULT, POLICY, POD}) + [POD]:
            self.bundle(of.get(kind, []))
        return 'loaded %d flows' % len(flows)

    def stale(self, number):
        c = self.connection
        c.must(flow(c, command=ofp.OFPFC_DELETE, table_id=ALL,
                    cookie=int(number) << ROUND_SHIFT,
                    cookie_mask=ROUND_MASK))
        return 'deleted'

    def rounds(self):
        count = {}
        for found in self.flows():
            number = found.cookie >> ROUND_SHIFT
            count[number] = count.get(number, 0) + 1
        return ' '.join('%d:%d' % item for item in sorted(count.items()))

    # --- changes ----------------------------------------------------------------

    def now(self):
        """The round that is in force."""
        return max(int(each.split(':')[0]) for each in self.rounds().split())

    def deletion(self, message):
        """Of the flow that a flow mod adds."""
        return message[:25] + bytes([ofp.OFPFC_DELETE_STRICT]) + message[26:]

    def policies(self, path):
        number = self.now()
        return [in_round(f, number) for f in self.read(path)['flows']
                if category(f) == POLICY]

    def rewrite(self, path, n):
        policies = self.policies(path)
        for _ in range(int(n)):
            self.bundle([self.deletion(f) for f in policies] + policies)
        return 'rewrote %d flows' % len(policies)

    def of_port(self, path, port):
        port = int(port)
        for message in self.policies(path):
            if match_of(message, 48).get('tcp_dst') == port:
                yield message

    def deny(self, path, port):
        flows = list(self.of_port(path, port))
        self.bundle([self.deletion(f) for f in flows])
        return 'deleted' if flows else 'nothing to delete'

    def allow(self, path, port):
        self.bundle(list(self.of_port(path, port)))
        return 'added'

    def crowd(self, n):
        c = self.connection
        template = serialized(c, flow(
            c, [parser.OFPActionOutput(1, 0xffff)], priority=100, eth_type=IP,
            table_id=CROWD_TABLE, ipv4_src='11.0.0.0'))
        at = template.index(bytes((11, 0, 0, 0)))
        self.bundle(template[:at] + struct.pack('!I', (11 << 24) + i)
                    + template[at + 4:] for i in range(int(n)))
        stats = self.aggregate(CROWD_TABLE, 0)
        self.bundle([flow(c, command=ofp.OFPFC_DELETE, table_id=CROWD_TABLE)])
        return '%d flows' % stats['flow_count']

    def aggregate(self, table_id, cookie):
        """Of flows of the cookie, or of all if that is 0."""
        reply, = self.ask(parser.OFPAggregateStatsRequest(
            self.connection, 0, table_id, ofp.OFPP_ANY, ofp.OFPG_ANY, cookie,
            (1 << 64) - 1 if cookie else 0, parser.OFPMatch()))
        return reply.body.stats

    # --- packets ------------------------------------------------------------------

    def classifier(self, in_port):
        """The flow for all that comes from a Pod."""
        for found in self.flows():
            match = match_of(found.match)
            if match.get('in_port') == in_port and 'eth_type' not in match:
                return found
        raise RuntimeError('no flow for port %d' % in_port)

    def pause(self, in_port, port, n):
        """As the agent does with DNS: a meter in front, userdata that tells what
        it's about, and each goes on when it was looked at.  The flow then tells how
        many there were."""
        c, in_port, port, n = (self.connection, int(in_port), int(port),
                               int(n))
        beyond = self.classifier(in_port)
        actions, goto, rest = [], None, bytearray(beyond.instructions)
        while rest:
            instruction = parser.OFPInstruction.parser(rest, 0)
            if isinstance(instruction, parser.OFPInstructionActions):
                actions += instruction.actions
            else:
                goto = instruction.table_id
            rest = rest[instruction.len:]
        c.must(flow(
            c, [parser.OFPActionMeter(256),
                to_controller(userdata=[2], pause=True)] + actions, goto=goto,
            table_id=beyond.table_id, priority=65000, cookie=0x9,
            in_port=in_port, eth_type=IP, ip_proto=UDP, udp_dst=port,
            flags=ofp.OFPFF_SEND_FLOW_REM))
        yield 'ready'
        for _ in range(n):
            waiting = c.take(is_packet_in, 'packet-in')
            if bytes(waiting.userdata) != b'\2':
                raise RuntimeError('a packet-in of somebody else')
            c.must(resume(c, waiting))
        yield 'sent on'
        # Those that wait went stock's way, whose counters come later.
        while self.aggregate(beyond.table_id, 0x9)['packet_count'] < n:
            controller.hub.sleep(0.05)
        c.must(flow(c, command=ofp.OFPFC_DELETE, table_id=beyond.table_id,
                    cookie=0x9, cookie_mask=(1 << 64) - 1))
        gone = c.take(is_flow_removed, 'flow removed')
        yield 'flow removed, reason %d, %d packets' % (
            gone.reason, gone.stats['packet_count'])

    def out(self, in_port, packet):
        self.connection.must(parser.OFPPacketOut(
            self.connection, ofp.OFP_NO_BUFFER,
            parser.OFPMatch(in_port=int(in_port)),
            [parser.OFPActionOutput(ofp.OFPP_TABLE, 0)],
            bytes.fromhex(packet)))
        return 'sent'

    def wait(self):
        return 'here'


def main():
    controller.start()
    controller.RAW_PARTS += (ofp.OFPMP_FLOW_DESC,)
    agent = Agent(sys.argv[1])
    commands = GreenPipe(os.open(sys.argv[2], os.O_RDONLY), 'r')
    with open(sys.argv[3], 'w') as answers:
        for line in commands:
            name, *args = line.split()
            try:
                result = getattr(agent, name)(*args)
                for text in [result] if isinstance(result, str) else result:
                    print(text, file=answers, flush=True)
            except RuntimeError as error:
                print(error, file=answers, flush=True)


if __name__ == '__main__':
    main()
