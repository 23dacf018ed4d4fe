#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a bridge answers a controller: prints it, so that bridges of two types
can be compared.

    answers.py MANAGEMENT-SOCKET CONTROL-SOCKET

The bridge is empty and has the ports p1, p2 and p3, of type dummy, with these
numbers.  What differs from run to run is left out: transaction IDs that depend on
how often was asked, durations, buffers, hardware addresses."""

import json
import os
import struct
import sys
import time

import controller
from controller import (Connection, bucket, experimenter, flow, group, hub,
                        is_error, is_flow_removed, is_packet_in, meter,
                        nicira_ext, ofp, parser, resume, tlv_map,
                        to_controller)

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir))
from unixctl import Control                 # noqa: E402
from mesh import frames                     # noqa: E402

VOLATILE = {'duration', 'duration_sec', 'duration_nsec', 'buffer_id', 'xid',
            'hw_addr', 'datapath_id', 'msg_len', 'version'}
MANY = 90000
IP, ARP, UDP, TCP = 0x800, 0x806, 17, 6


# --- how an answer is written -----------------------------------------------

def scrub(value):
    if isinstance(value, dict):
        if value.get('field') == 'duration':
            return 'duration'
        return {key: '*' if key in VOLATILE else scrub(member)
                for key, member in value.items()}
    if isinstance(value, list):
        return [scrub(member) for member in value]
    return value


def describe(msg):
    """One line."""
    if is_error(msg):
        # An experimenter's says first whose it is.
        whose = 4 if msg.type == ofp.OFPET_EXPERIMENTER else 0
        return 'error type %d code %d %s about %s' % (
            msg.type, msg.code, msg.data[:whose].hex(),
            without_ids(bytearray(msg.data[whose:])).hex())
    if isinstance(msg, controller.Raw):
        return 'raw %d %s' % (len(msg.buf), msg.buf[8:].hex())
    if is_packet_in(msg):
        return 'packet-in reason %s table %s cookie %#x userdata %s length ' \
            '%s metadata %s continues %s data %s' % (
                msg.reason, msg.table_id, msg.cookie or 0,
                (msg.userdata or b'').hex(), msg.total_len,
                (msg.metadata or b'').hex(), msg.continuation is not None,
                (msg.data or b'').hex())
    return json.dumps(scrub(msg.to_jsondict()), sort_keys=True)


def without_ids(data):
    """A message in an error, or its beginning, without transaction IDs."""
    if len(data) >= 8 and data[0] == ofp.OFP_VERSION:
        data[4:8] = bytes(4)
        if data[1] == ofp.OFPT_BUNDLE_ADD_MESSAGE and len(data) >= 24:
            data[20:24] = bytes(4)
    return data


def show(title, messages):
    print('--- ' + title)
    for msg in messages:
        print(describe(msg))
    sys.stdout.flush()


# --- packets -----------------------------------------------------------------

class Ports:
    def __init__(self, path):
        self.control = Control(path)

    def inject(self, port, *packets):
        if packets:
            # Stock forwards as it did until its threads have seen that flows
            # have changed.
            self.control('revalidator/purge')
            self.control('netdev-dummy/receive', port,
                         *[packet.hex() for packet in packets])
        self.control('version')


def udp(source_port=1000, port=2000, payload=b'', source=1, destination=2):
    """From and to hosts 10.0.0.N."""
    def host(n):
        return bytes((10, 0, 0, n))

    def mac(n):
        return bytes((10, 0, 0, 0, 0, n))
    return frames.ip_frame(
        mac(destination), mac(source), host(source), host(destination), UDP,
        frames.udp(host(source), host(destination), source_port, port,
                   payload))


def output(port):
    return parser.OFPActionOutput(port, 0xffff)


def resubmit(table):
    return parser.NXActionResubmitTable(ofp.OFPP_IN_PORT & 0xffff, table)


def set_field(**field):
    return parser.OFPActionSetField(**field)


def flows_of(c, **fields):
    """All flows of these, in the same order always."""
    own = {key: fields.pop(key) for key in (
        'table_id', 'cookie', 'cookie_mask', 'out_port', 'out_group')
        if key in fields}
    found = []
    for part in c.request(parser.OFPFlowDescStatsRequest(
            c, match=parser.OFPMatch(**fields), **own)):
        found += part.body
    return sorted(found, key=lambda f: (f.table_id, -f.priority,
                                        json.dumps(f.match.to_jsondict())))


def show_flows(title, flows):
    print('--- ' + title)
    for found in flows:
        print(json.dumps(scrub(found.to_jsondict()), sort_keys=True))


def n_packets(found):
    return found.stats['packet_count']


def wait_for_packets(c, ports, n, **fields):
    """Until the only flow of these has seen them."""
    end = time.monotonic() + controller.TIMEOUT
    while time.monotonic() < end:
        ports.control('revalidator/purge')
        found = flows_of(c, **fields)
        if found and n_packets(found[0]) >= n:
            break
        hub.sleep(0.02)
    return found


def clear(c):
    c.take_all(lambda m: True)
    c.must(flow(c, command=ofp.OFPFC_DELETE, table_id=ofp.OFPTT_ALL),
           group(c, ofp.OFPG_ALL, command=ofp.OFPGC_DELETE, kind=0),
           parser.OFPMeterMod(c, ofp.OFPMC_DELETE, 0, ofp.OFPM_ALL),
           tlv_map(c, 2))
    c.take_all(lambda m: True)


# --- the questions ------------------------------------------------------------

def beginnings(c, other, ports):
    show('features', c.request(parser.OFPFeaturesRequest(c)))
    show('config', c.request(parser.OFPGetConfigRequest(c)))
    show('echo', c.request(parser.OFPEchoRequest(c, b'echo')))
    show('ports', c.request(parser.OFPPortDescStatsRequest(c, 0)))
    show('description', c.request(parser.OFPDescStatsRequest(c, 0)))
    show('tables', c.request(parser.OFPTableStatsRequest(c, 0)))
    show('table descriptions',
         c.request(parser.OFPTableDescStatsRequest(c, 0)))
    show('group features',
         c.request(parser.OFPGroupFeaturesStatsRequest(c, 0)))
    show('meter features',
         c.request(parser.OFPMeterFeaturesStatsRequest(c, 0)))
    show('bundle features, which OVS has none of', c.request(
        parser.OFPBundleFeaturesStatsRequest(c, 0)))
    show('role', c.request(parser.OFPRoleRequest(
        c, ofp.OFPCR_ROLE_EQUAL, 0, 0)))
    show('primary', c.request(parser.OFPRoleRequest(
        c, ofp.OFPCR_ROLE_MASTER, 0, 5)))
    other.request(parser.OFPRoleRequest(other, ofp.OFPCR_ROLE_MASTER, 0, 6))
    show('secondary now, says the switch', [c.take(
        lambda m: m.msg_type == ofp.OFPT_ROLE_STATUS, 'role status')])
    show('a secondary changes nothing', c.do(flow(c, priority=1)))
    show('nor by a bundle', [c.control(1, ofp.OFPBCT_OPEN_REQUEST, 1)])
    show('stale', c.request(parser.OFPRoleRequest(
        c, ofp.OFPCR_ROLE_MASTER, 0, 4)))
    for each in c, other:
        each.request(parser.OFPRoleRequest(each, ofp.OFPCR_ROLE_EQUAL, 0, 0))
    show('what comes unasked', c.request(parser.OFPGetAsyncRequest(c)))
    c.introduce()
    show('no such type of message',
         c.do(parser.OFPExperimenter(c, 0x2320, 999, b'')))
    show('no such experimenter',
         c.do(parser.OFPExperimenter(c, 0x1234, 1, b'')))


def tables(c, other, ports):
    """As Antrea's agent names its tables: it sends features back."""
    parts = c.request(parser.OFPTableFeaturesStatsRequest(c, 0, []))
    show('table features', parts)
    entry = parts[0].buf[16:]
    entry = bytearray(entry[:struct.unpack_from('!H', entry)[0]])
    for title, name in (('a table is named', b'Classifier'),
                        ('another name', b'Other'), ('no name', b'')):
        entry[16:48] = name.ljust(32, b'\0')
        show(title, c.request(RawBody(c, entry)))
    entry[2] = 254
    show('not of a table that nobody may change', c.request(
        RawBody(c, entry)))
    show('a table that is too much', c.do(flow(c, table_id=254)))
    show('what happens when a table is full',
         c.do(parser.OFPTableMod(c, 3, 1 << 2, [])))
    show('descriptions then', c.request(parser.OFPTableDescStatsRequest(
        c, 0)))
    c.do(parser.OFPTableMod(c, 3, 0, []))


class RawBody(parser.OFPTableFeaturesStatsRequest):
    """A multi-part request with a body that is made already."""

    def __init__(self, connection, body):
        super().__init__(connection, 0, [])
        self.raw = body

    def _serialize_stats_body(self):
        self.buf += bytes(16 - len(self.buf)) + self.raw


def tlv_maps(c, other, ports):
    request = experimenter(c, controller.NXT_TLV_TABLE_REQUEST)
    show('no map', c.request(request))
    show('maps', c.do(tlv_map(c, 0, [(0x104, 0x80, 4, 0),
                                     (0x104, 0x81, 16, 1)])))
    request = experimenter(c, controller.NXT_TLV_TABLE_REQUEST)
    show('are there', c.request(request))
    show('an option twice', c.do(tlv_map(c, 0, [(0x104, 0x80, 4, 2)])))
    show('a field twice', c.do(tlv_map(c, 0, [(0x104, 0x82, 4, 0)])))
    show('a length that is none', c.do(tlv_map(c, 0, [(0x104, 0x83, 3, 3)])))
    show('no such field', c.do(tlv_map(c, 0, [(0x104, 0x84, 4, 64)])))
    show('too much for the table', c.do(tlv_map(c, 0, [
        (0x105, i, 124, 4 + i) for i in range(3)])))
    show('not there', c.do(tlv_map(c, 1, [(0x107, 0x80, 4, 5)])))
    show('one goes', c.do(tlv_map(c, 1, [(0x104, 0x81, 16, 1)])))
    request = experimenter(c, controller.NXT_TLV_TABLE_REQUEST)
    show('the other one stays', c.request(request))
    show('all go', c.do(tlv_map(c, 2)))
    show('no such command', c.do(tlv_map(c, 9)))


def meters(c, other, ports):
    show('a meter', c.do(meter(c, 256, 100)))
    show('again', c.do(meter(c, 256, 100)))
    show('changed', c.do(meter(c, 256, 200, ofp.OFPMC_MODIFY)))
    show('one that there is not', c.do(meter(c, 9, 1, ofp.OFPMC_MODIFY)))
    show('none to delete', c.do(meter(c, 9, 1, ofp.OFPMC_DELETE)))
    show('an ID too large', c.do(meter(c, 0xff000001, 1)))
    show('no ID', c.do(meter(c, 0, 1)))
    show('no band', c.do(parser.OFPMeterMod(c, 0, ofp.OFPMF_KBPS, 3, [])))
    show('two units', c.do(meter(c, 4, 1, flags=ofp.OFPMF_KBPS
                                 | ofp.OFPMF_PKTPS)))
    show('a band of another kind', c.do(parser.OFPMeterMod(
        c, 0, ofp.OFPMF_KBPS, 5, [parser.OFPMeterBandDscpRemark(5, 5, 1)])))
    show('in kbps', c.do(meter(c, 6, 1000, flags=ofp.OFPMF_KBPS
                               | ofp.OFPMF_BURST)))
    show('two bands', c.do(parser.OFPMeterMod(
        c, 0, ofp.OFPMF_KBPS | ofp.OFPMF_BURST, 7, [
            parser.OFPMeterBandDrop(10, 1), parser.OFPMeterBandDrop(20, 2)])))
    show('meters', c.request(parser.OFPMeterDescStatsRequest(c, 0)))
    show('one meter', c.request(parser.OFPMeterDescStatsRequest(c, 0, 256)))
    show('no meter', c.request(parser.OFPMeterDescStatsRequest(c, 0, 9)))
    show('counters', c.request(parser.OFPMeterStatsRequest(c, 0)))
    show('in a flow', c.do(flow(c, [parser.OFPActionMeter(256), output(2)],
                                priority=7, in_port=1,
                                flags=ofp.OFPFF_SEND_FLOW_REM)))
    show('one that there is not in a flow',
         c.do(flow(c, [parser.OFPActionMeter(9)], priority=8)))
    ports.inject('p1', *[udp(i) for i in range(5)])
    wait_for_packets(c, ports, 5, in_port=1)
    show('counters of five packets',
         c.request(parser.OFPMeterStatsRequest(c, 0, 256)))
    show('goes', c.do(meter(c, 256, 1, ofp.OFPMC_DELETE)))
    show('and its flow with it', [c.take(is_flow_removed, 'flow removed')])


def buckets(ids, port=80):
    for i in ids:
        yield bucket(i, [set_field(reg3=0x0a000000 + i),
                         set_field(reg4=(port, 0xffff)), resubmit(1)])


def groups(c, other, ports):
    show('a group', c.do(group(c, 1, buckets([0, 1]))))
    show('again', c.do(group(c, 1, buckets([0]))))
    show('a bucket twice', c.do(group(c, 2, buckets([5, 5]))))
    show('no such group', c.do(group(c, 9, buckets([0]),
                                     ofp.OFPGC_MODIFY)))
    show('an ID that is none', c.do(group(c, 0xffffff01, buckets([0]))))
    show('no such type', c.do(group(c, 3, buckets([0]), kind=9)))
    show('indirect with two', c.do(group(
        c, 3, buckets([0, 1]), kind=ofp.OFPGT_INDIRECT)))
    show('weights in one that has none', c.do(group(
        c, 3, buckets([0]), kind=ofp.OFPGT_ALL)))
    everybody = [bucket(i, [output(i)], weight=None) for i in (1, 2, 3)]
    show('for all', c.do(group(c, 4, everybody, kind=ofp.OFPGT_ALL)))
    show('its own bucket', c.do(group(c, 5, [bucket(
        0, [parser.OFPActionGroup(5)])])))
    show('of a group that there is not', c.do(group(c, 6, [bucket(
        0, [parser.OFPActionGroup(77)])])))
    show('of a group', c.do(group(c, 7, [bucket(
        0, [parser.OFPActionGroup(4)])])))
    show('which closes a loop', c.do(group(c, 4, [bucket(
        0, [parser.OFPActionGroup(7)], weight=None)], ofp.OFPGC_MODIFY,
        ofp.OFPGT_ALL)))
    first, last = ofp.OFPG_BUCKET_FIRST, ofp.OFPG_BUCKET_LAST
    insert, remove = ofp.OFPGC_INSERT_BUCKET, ofp.OFPGC_REMOVE_BUCKET
    for title, ids, command, where in (
            ('in front', [10], insert, first), ('behind', [11], insert, last),
            ('after 0', [12, 13], insert, 0), ('after none', [14], insert, 99),
            ('one that there is', [10], insert, last),
            ('the first goes', [], remove, first),
            ('the last goes', [], remove, last), ('12 goes', [], remove, 12),
            ('99 goes', [], remove, 99)):
        show(title, c.do(group(c, 1, buckets(ids), command,
                               command_bucket_id=where)))
        show('then there are',
             c.request(parser.OFPGroupDescStatsRequest(c, 0, 1)))
    show('into no group', c.do(group(c, 99, buckets([0]), insert,
                                     command_bucket_id=last)))
    show('all go', c.do(group(c, 1, [], remove,
                              command_bucket_id=ofp.OFPG_BUCKET_ALL)))
    show('statistics', [])
    for group_id in (1, 4, 7):
        show('of %d' % group_id, c.request(
            parser.OFPGroupStatsRequest(c, 0, group_id)))
    show('of no group', c.request(parser.OFPGroupStatsRequest(c, 0, 99)))
    show('in a flow', c.do(flow(c, [parser.OFPActionGroup(4)], priority=3,
                                flags=ofp.OFPFF_SEND_FLOW_REM)))
    show('goes', c.do(group(c, 4, [], ofp.OFPGC_DELETE, kind=0)))
    show('and its flow with it', [c.take(is_flow_removed, 'flow removed')])
    show('none to delete', c.do(group(c, 4, [], ofp.OFPGC_DELETE, kind=0)))


def endpoints(c, other, ports):
    """1,000 of a Service, as many at a time as the agent sends."""
    insert, remove = ofp.OFPGC_INSERT_BUCKET, ofp.OFPGC_REMOVE_BUCKET
    for group_id in 1, 2, 3:
        show('700 endpoints', c.bundle([group(
            c, group_id, buckets(range(700)))]))
        show('300 more', c.bundle([group(
            c, group_id, buckets(range(700, 1000)), insert,
            command_bucket_id=ofp.OFPG_BUCKET_LAST)]))
    show('all of them, in as many parts as it takes',
         c.request(parser.OFPGroupDescStatsRequest(c, 0)))
    show('their statistics', c.request(parser.OFPGroupStatsRequest(c, 0)))
    show('every third goes, one by one', c.bundle([
        group(c, 1, [], remove, command_bucket_id=i)
        for i in range(0, 1000, 3)]))
    show('what is left', c.request(parser.OFPGroupDescStatsRequest(c, 0, 1)))
    show('one that went, in the middle of a bundle', c.bundle(
        [group(c, 1, [], remove, command_bucket_id=i) for i in (1, 3, 4)]))
    show('which changes nothing',
         c.request(parser.OFPGroupDescStatsRequest(c, 0, 1)))


def copies(c, other, ports):
    """Of a packet, for a multicast group's members: each its own, and each
    counted."""
    members = [bucket(1, [output(1)], weight=None),
               bucket(2, [set_field(eth_src='0a:00:00:00:00:42'), output(2)],
                      weight=None),
               bucket(3, [resubmit(5)], weight=None)]
    show('members', c.do(group(c, 11, members, kind=ofp.OFPGT_ALL)))
    c.must(flow(c, [parser.OFPActionGroup(11)], priority=5, in_port=1,
                cookie=11),
           flow(c, [set_field(reg1=3), output(3)], table_id=5, cookie=12))
    before = sent(c)
    ports.inject('p1', *[udp(i, payload=b'm' * i) for i in range(7)])
    show_flows('went on in a table', wait_for_packets(c, ports, 7,
                                                      table_id=5))
    show('of the group', c.request(parser.OFPGroupStatsRequest(c, 0, 11)))
    print(wait_for_sent(c, before, 14))
    show('one leaves', c.do(group(
        c, 11, [], ofp.OFPGC_REMOVE_BUCKET, kind=ofp.OFPGT_ALL,
        command_bucket_id=2)))
    ports.inject('p1', udp(9))
    show_flows('the others', wait_for_packets(c, ports, 8, table_id=5))
    print(wait_for_sent(c, before, 15))


def wait_for_sent(c, before, n):
    """Until 'n' more have left, which flows count before ports do."""
    end = time.monotonic() + controller.TIMEOUT
    while True:
        more = [now - was for now, was in zip(sent(c), before)]
        if sum(more) >= n or time.monotonic() > end:
            return more
        hub.sleep(0.02)


def sent(c):
    """How many packets left by each port."""
    stats = c.request(parser.OFPPortStatsRequest(c, 0, ofp.OFPP_ANY))
    return [each.tx_packets for part in stats for each in sorted(
        part.body, key=lambda each: each.port_no) if each.port_no <= 3]


def evictions(c, other, ports):
    """Table 20 has room for three flows."""
    for i in range(6):
        show('flow %d' % i, c.do(flow(
            c, table_id=20, priority=i, cookie=i, importance=i,
            idle_timeout=1000 + i, flags=ofp.OFPFF_SEND_FLOW_REM)))
        if i >= 3:
            show('another one leaves', [c.take(is_flow_removed)])
    show_flows('left', flows_of(c, table_id=20))
    show('too many that are to stay', [m for i in range(4) for m in c.do(flow(
        c, table_id=20, priority=10 + i))])
    c.take_all(is_flow_removed)


def flow_mods(c, other, ports):
    goto = parser.OFPInstructionGotoTable
    bad = (
        ('no such table', flow(c, table_id=255)),
        ('no such port', flow(c, [output(0xfffffe00)])),
        ('a port of nobody', flow(c, [output(77)])),
        ('no such group', flow(c, [parser.OFPActionGroup(5)])),
        ('no prerequisite', flow(c, tcp_dst=80)),
        ('no prerequisite of an action', flow(c, [set_field(tcp_dst=80)])),
        ('a mask with bits to spare', flow(c, reg0=(3, 1))),
        ('a register by a constant', flow(c, [set_field(reg0=5)])),
        ('back', flow(c, table_id=5, goto=4)),
        ('and forth', flow(c, table_id=5, goto=6)),
        ('overlap', flow(c, priority=10, flags=ofp.OFPFF_CHECK_OVERLAP,
                         eth_type=IP)),
        ('there is one', flow(c, priority=10, in_port=1,
                              flags=ofp.OFPFF_CHECK_OVERLAP)),
        ('no such command', flow(c, command=9)),
        ('no such flag', flow(c, flags=0x80)),
        ('a buffer', flow(c, buffer_id=5)),
        ('one clause of three', flow(c, [parser.NXActionConjunction(
            0, 3, 7)], priority=20, in_port=1)),
        ('a clause too many', flow(c, [parser.NXActionConjunction(
            3, 3, 7)], priority=21, in_port=1)),
        ('clauses and more', flow(c, [parser.NXActionConjunction(
            0, 3, 7), output(1)], priority=22, in_port=1)),
        ('a register too large', flow(c, [parser.NXActionRegLoad2(
            'reg0', 1, mask=1)])),
        ('learning what it can not', flow(c, [parser.NXActionLearn(
            table_id=255, specs=[])])),
        ('ct to a table of nobody', flow(c, [parser.NXActionCT(
            1, '', 9, 254, 0, [])], priority=23, eth_type=IP)),
        ('ct without IP', flow(c, [parser.NXActionCT(
            1, '', 9, 3, 0, [])], priority=23)),
        ('ct', flow(c, [parser.NXActionCT(1, '', 9, 3, 0, [])], priority=23,
                    eth_type=IP)),
        ('nat without ct', flow(c, [parser.NXActionNAT(0)], priority=24,
                                eth_type=IP)))
    for title, msg in bad:
        show(title, c.do(msg))
    show_flows('what is there', flows_of(c))
    clear(c)

    for i in range(4):
        c.must(flow(c, [output(2)], priority=i, cookie=0x10000 * i + 5,
                    in_port=1, table_id=i, flags=ofp.OFPFF_SEND_FLOW_REM))
    show_flows('of a cookie', flows_of(c, cookie=0x10005,
                                       cookie_mask=0xffffffff))
    show_flows('of a round', flows_of(c, cookie=0x20000,
                                      cookie_mask=0xffff0000))
    show_flows('to a port', flows_of(c, out_port=2))
    show_flows('to none', flows_of(c, out_port=3))
    show('summed up', c.request(parser.OFPAggregateStatsRequest(
        c, 0, ofp.OFPTT_ALL, ofp.OFPP_ANY, ofp.OFPG_ANY, 5, 0xffff,
        parser.OFPMatch())))
    show('changed by cookie', c.do(flow(
        c, [output(3)], ofp.OFPFC_MODIFY, cookie=0x20005,
        cookie_mask=(1 << 64) - 1, table_id=ofp.OFPTT_ALL)))
    show('changed strictly', c.do(flow(
        c, [output(3)], ofp.OFPFC_MODIFY_STRICT, table_id=1, priority=1,
        in_port=1)))
    show('changed where nothing is', c.do(flow(
        c, [output(3)], ofp.OFPFC_MODIFY, table_id=9, in_port=1)))
    show_flows('then', flows_of(c))
    show('deleted by round', c.do(flow(
        c, command=ofp.OFPFC_DELETE, cookie=0x10000, cookie_mask=0xffff0000,
        table_id=ofp.OFPTT_ALL)))
    show('by port', c.do(flow(c, command=ofp.OFPFC_DELETE, out_port=3,
                              table_id=ofp.OFPTT_ALL)))
    show('the rest', c.do(flow(c, command=ofp.OFPFC_DELETE,
                               table_id=ofp.OFPTT_ALL)))
    # In no order: one may still be waited for, by who counts its packets.
    show('all said so', sorted((c.take(is_flow_removed) for _ in range(4)),
                               key=lambda m: (m.table_id, m.priority,
                                              m.cookie)))


def counters(c, other, ports):
    """What went through a flow is told when it goes, and no packet less."""
    for priority, n in (10, 3), (11, 0), (12, 20):
        c.must(flow(c, [output(2)], priority=priority, in_port=1,
                    eth_type=IP, ip_proto=UDP, udp_src=priority,
                    cookie=priority, flags=ofp.OFPFF_SEND_FLOW_REM))
        ports.inject('p1', *[udp(priority, i, b'x' * i)
                             for i in range(1, n + 1)])
        wait_for_packets(c, ports, n, cookie=priority,
                         cookie_mask=(1 << 64) - 1)
    c.must(flow(c, command=ofp.OFPFC_DELETE, table_id=0, in_port=1))
    show('flows go', sorted((c.take(is_flow_removed) for _ in range(3)),
                            key=lambda m: m.cookie))

    def fields():
        return {'priority': 20, 'in_port': 1, 'eth_type': IP,
                'flags': ofp.OFPFF_SEND_FLOW_REM}
    c.must(flow(c, [output(2)], cookie=1, **fields()))
    ports.inject('p1', udp(), udp())
    wait_for_packets(c, ports, 2, cookie=1, cookie_mask=1)
    c.must(flow(c, [output(2)], cookie=3, **fields()))
    show_flows('the same again, with another cookie', flows_of(c))
    ports.inject('p1', udp(5))
    wait_for_packets(c, ports, 3, cookie=1, cookie_mask=1)
    show_flows('goes on', flows_of(c))
    again = fields()
    again['flags'] |= ofp.OFPFF_RESET_COUNTS
    c.must(flow(c, [output(2)], cookie=5, **again))
    show_flows('from the beginning', flows_of(c))
    ports.inject('p1', udp(6))
    wait_for_packets(c, ports, 1, cookie=1, cookie_mask=1)
    c.must(flow(c, [output(3)], ofp.OFPFC_MODIFY, in_port=1, eth_type=IP))
    show_flows('changed', flows_of(c))
    show('one goes by its time', c.do(flow(
        c, [output(2)], priority=30, in_port=3, hard_timeout=1,
        flags=ofp.OFPFF_SEND_FLOW_REM)))
    show('and says so', [c.take(is_flow_removed)])
    show('one that is not used', c.do(flow(
        c, [output(2)], priority=31, in_port=3, idle_timeout=1,
        flags=ofp.OFPFF_SEND_FLOW_REM)))
    show('says so', [c.take(is_flow_removed)])


def pipelined(c, other, ports):
    """Who asks without waiting for answers gets each in its turn."""
    messages = []
    for i in range(90):
        messages += [
            flow(c, [output(2)], priority=100 + i, in_port=1),
            parser.OFPAggregateStatsRequest(
                c, 0, 0, ofp.OFPP_ANY, ofp.OFPG_ANY, 0, 0,
                parser.OFPMatch()),
            parser.OFPEchoRequest(c, b'%d' % i),
            flow(c, [parser.OFPActionGroup(8)], priority=300 + i)]
    for message in messages:
        c.send_msg(message)
    c.barrier()
    numbers = {message.xid: i for i, message in enumerate(messages)}
    came = c.take_all(lambda m: m.xid in numbers)
    print('--- in this order:', [numbers[m.xid] for m in came])
    show('each of them', came)


def bundles(c, other, ports):
    atomic, ordered = ofp.OFPBF_ATOMIC, ofp.OFPBF_ORDERED

    def control(title, *args):
        show(title, [m for m in [c.control(*args)] if m])

    control('closed before it is open', 50, ofp.OFPBCT_CLOSE_REQUEST, atomic)
    control('committed', 50, ofp.OFPBCT_COMMIT_REQUEST, atomic)
    control('thrown away', 50, ofp.OFPBCT_DISCARD_REQUEST, atomic)
    control('open', 51, ofp.OFPBCT_OPEN_REQUEST, atomic)
    control('twice', 51, ofp.OFPBCT_OPEN_REQUEST, atomic)
    control('not in another way', 51, ofp.OFPBCT_CLOSE_REQUEST, ordered)
    control('no such question', 52, 77, atomic)
    control('the answer to a question', 52, ofp.OFPBCT_OPEN_REPLY, atomic)
    control('open', 53, ofp.OFPBCT_OPEN_REQUEST, atomic | ordered)
    c.add((53, atomic), [flow(c, priority=1)])
    show('in another way', c.do())
    control('open', 54, ofp.OFPBCT_OPEN_REQUEST, atomic | ordered)
    c.add((54, atomic | ordered), [flow(c, priority=2)])
    control('closed', 54, ofp.OFPBCT_CLOSE_REQUEST, atomic | ordered)
    c.add((54, atomic | ordered), [flow(c, priority=3)])
    show('too late', c.do())
    control('committed', 54, ofp.OFPBCT_COMMIT_REQUEST, atomic | ordered)
    show_flows('nothing of it is there', flows_of(c))
    c.add((55, atomic), [flow(c, priority=4)])
    show('opens itself', c.do())
    control('committed', 55, ofp.OFPBCT_COMMIT_REQUEST, atomic)
    show_flows('and is there', flows_of(c))

    show('a role', c.bundle([parser.OFPRoleRequest(
        c, ofp.OFPCR_ROLE_EQUAL, 0, 0)]))
    show('a meter', c.bundle([meter(c, 1, 5)]))
    show('one that is wrong', c.bundle([
        flow(c, priority=10), flow(c, priority=11, tcp_dst=1),
        flow(c, priority=12)]))
    show('one that fails', c.bundle([
        flow(c, priority=20), flow(c, [parser.OFPActionGroup(8)]),
        flow(c, priority=22)]))
    show('in any order', c.bundle([
        flow(c, priority=30), flow(c, [parser.OFPActionGroup(8)])], atomic))
    show('groups before flows', c.bundle([
        group(c, 8, buckets([0])),
        flow(c, [parser.OFPActionGroup(8)], priority=40)]))
    show('flows before groups', c.bundle([
        flow(c, [parser.OFPActionGroup(9)], priority=41),
        group(c, 9, buckets([0]))]))
    show('a group goes and comes back, with its flow', c.bundle([
        group(c, 8, [], ofp.OFPGC_DELETE, kind=0),
        group(c, 8, buckets([0, 1])),
        flow(c, [parser.OFPActionGroup(8)], priority=40, cookie=7)]))
    show('goes, and what follows fails', c.bundle([
        group(c, 8, [], ofp.OFPGC_DELETE, kind=0),
        flow(c, [parser.OFPActionGroup(8)], priority=42)]))
    show('a packet', c.bundle([parser.OFPPacketOut(
        c, ofp.OFP_NO_BUFFER, parser.OFPMatch(in_port=1), [output(2)],
        udp(7))]))
    show_flows('in the end', flows_of(c))
    show('groups', c.request(parser.OFPGroupDescStatsRequest(c, 0)))


def monitors(c, other, ports):
    def monitor(monitor_id, flags, command=ofp.OFPFMC_ADD):
        return parser.OFPFlowMonitorRequest(
            c, 0, monitor_id, ofp.OFPP_ANY, ofp.OFPG_ANY, flags,
            ofp.OFPTT_ALL, command, parser.OFPMatch())

    def updates(n=1):
        show('updates', [c.take(
            lambda m: m.msg_type == ofp.OFPT_MULTIPART_REPLY, 'update')
            for _ in range(n)])

    everything = (ofp.OFPFMF_INITIAL | ofp.OFPFMF_ADD | ofp.OFPFMF_REMOVED
                  | ofp.OFPFMF_MODIFY | ofp.OFPFMF_INSTRUCTIONS)
    c.must(flow(c, [output(2)], priority=1, in_port=1, cookie=1))
    show('what is there', c.request(monitor(1, everything)))
    other.must(flow(other, [output(3)], priority=2, in_port=1, cookie=2))
    updates()
    c.must(flow(c, [output(3)], priority=3, in_port=1, cookie=3))
    updates()
    other.bundle([flow(other, [output(1)], priority=i, in_port=2)
                  for i in range(5)])
    updates()
    other.must(flow(other, [output(3)], ofp.OFPFC_MODIFY, in_port=2))
    updates()
    other.must(flow(other, command=ofp.OFPFC_DELETE, in_port=2, table_id=0))
    updates()
    show('no more', c.do(monitor(1, 0, ofp.OFPFMC_DELETE)))
    other.must(flow(other, [output(3)], priority=4, in_port=1))
    show('nothing comes', c.do())


def packets(c, other, ports):
    """To the controller, from it, and from it on."""
    c.must(meter(c, 256, 1000), group(
        c, 5, [bucket(0, [output(2)]), bucket(1, [output(2)])]))
    c.must(flow(c, [set_field(reg1=77), set_field(reg3=0x12345678),
                    parser.OFPActionMeter(256),
                    to_controller(userdata=[1, 3], reason=1)], priority=10,
                cookie=0x10005, in_port=1, eth_type=IP, ip_proto=UDP,
                udp_dst=53))
    ports.inject('p1', udp(1, 53, b'question'))
    show('with a meter and userdata', [c.take(is_packet_in, 'packet-in')])
    show('for all controllers', [other.take(is_packet_in, 'packet-in')])
    ports.inject('p1', udp(2, 53, b'long' * 100))
    show('a long one is cut', [c.take(is_packet_in, 'packet-in')])
    show('for all', [other.take(is_packet_in, 'packet-in')])
    c.must(flow(c, [to_controller(userdata=[9], controller_id=7)],
                priority=11, in_port=1, eth_type=IP, ip_proto=UDP,
                udp_dst=54))
    other.introduce(7)
    ports.inject('p1', udp(3, 54))
    show('for a controller by number', [other.take(is_packet_in)])
    c.barrier()
    show('not for others', c.take_all(is_packet_in))

    c.must(flow(c, [parser.OFPActionMeter(256), set_field(reg5=5),
                    to_controller(userdata=[2, 0, 0], pause=True),
                    resubmit(3)], priority=12,
        cookie=0x10006, in_port=1, eth_type=IP, ip_proto=UDP, udp_dst=55),
        flow(c, [parser.NXActionCT(1, '', 9, 4, 0, [])], table_id=3,
             priority=1, reg5=5, cookie=0x10007, eth_type=IP),
        flow(c, [output(2)], table_id=4, priority=1, reg5=5,
             ct_state=(0x21, 0x21), cookie=0x10008))
    waiting = []
    for source in range(1, 4):
        ports.inject('p1', udp(source, 55, b'answer' * 40))
        waiting.append(c.take(is_packet_in, 'packet-in'))
    show('waiting', waiting)
    show_flows('nothing has gone on', flows_of(c, table_id=3))
    show('sent on', c.do(*[resume(c, each) for each in waiting]))
    show_flows('as it was', wait_for_packets(c, ports, 3, table_id=4))
    show('twice', c.do(resume(c, waiting[0])))
    broken = experimenter(c, controller.NXT_RESUME,
                          bytes(waiting[0].buf[16:40]))
    show('not whole', c.do(broken))

    def out(in_port, actions, data=udp(9)):
        return parser.OFPPacketOut(c, ofp.OFP_NO_BUFFER, parser.OFPMatch(
            in_port=in_port), actions, data)
    show('out of a port', c.do(out(ofp.OFPP_CONTROLLER, [output(2)])))
    show('through the tables', c.do(out(1, [set_field(reg5=5), resubmit(3)])))
    show('from the first one', c.do(out(
        1, [output(ofp.OFPP_TABLE)], udp(9, 54))))
    show('which tells', [other.take(is_packet_in, 'packet-in')])
    show('by a group', c.do(out(1, [parser.OFPActionGroup(5)])))
    show('by none', c.do(out(1, [parser.OFPActionGroup(6)])))
    show('from no port', c.do(out(0xfffffe00, [output(2)])))
    show('to no port', c.do(out(1, [output(0xfffffe00)])))
    show('without a packet', c.do(out(1, [output(2)])))
    show('of a buffer', c.do(parser.OFPPacketOut(
        c, 5, parser.OFPMatch(in_port=1), [output(2)])))
    show_flows('what they went through', wait_for_packets(
        c, ports, 4, table_id=4))
    show('the port', c.request(parser.OFPPortStatsRequest(c, 0, 2)))
    show('the group', c.request(parser.OFPGroupStatsRequest(c, 0, 5)))


def port_mod(c, config, number=3):
    """Of port 3, or of one that there is not."""
    port = [p for p in c.request(parser.OFPPortDescStatsRequest(c, 0))[0].body
            if p.port_no == 3][0]
    return parser.OFPPortMod(
        c, number, port.hw_addr if number == 3 else '0a:00:00:00:00:63',
        config, ofp.OFPPC_NO_FWD,
        [parser.OFPPortModPropEthernet(ofp.OFPPMPT_ETHERNET, advertise=0)])


def versions(c, other, ports):
    """A bundle has as many of the tables as there are groups of mods between
    its port mods."""
    for title, command, port in (
            ('a group comes with the second', ofp.OFPGC_ADD, 2),
            ('and is another one', ofp.OFPGC_MODIFY, 3)):
        show(title, c.bundle([
            flow(c, priority=1), port_mod(c, 0),
            group(c, 13, [bucket(0, [output(port)])], command),
            flow(c, [parser.OFPActionGroup(13)], priority=5, in_port=1)],
            ofp.OFPBF_ORDERED))
        before = sent(c)
        ports.inject('p1', udp(13))
        print(wait_for_sent(c, before, 1))


def unasked(c, other, ports):
    """What one controller does, others are told where they asked for it."""
    def is_port(msg):
        return msg.msg_type == ofp.OFPT_PORT_STATUS
    show('no forwarding there', c.do(port_mod(c, ofp.OFPPC_NO_FWD)))
    show('which another one is told', [other.take(is_port, 'port status')])
    show('forwarding', c.do(port_mod(c, 0)))
    show('and so', [other.take(is_port, 'port status')])
    show('no such port', c.do(port_mod(c, 0, 99)))
    other.must(flow(other, [output(1)], priority=1, in_port=1, cookie=4,
                    flags=ofp.OFPFF_SEND_FLOW_REM))
    c.must(flow(c, command=ofp.OFPFC_DELETE, in_port=1, table_id=0))
    show('a flow went', [other.take(is_flow_removed, 'flow removed')])


def many(c, other, ports):
    """A great bundle, and others' business while it comes."""
    flags = ofp.OFPBF_ATOMIC | ofp.OFPBF_ORDERED
    clear(c)
    c.must(flow(c, [to_controller(userdata=[1], controller_id=7)], priority=9,
                in_port=1))
    other.introduce(7)
    first = flow(c, [output(2)], priority=100, table_id=7, eth_type=IP,
                 ipv4_src='11.0.0.0')
    c.set_xid(first)
    first.serialize()
    template = bytes(first.buf)
    where = template.index(bytes((11, 0, 0, 0)))

    def flows(numbers):
        for i in numbers:
            yield template[:where] + struct.pack('!I', (11 << 24) + i) \
                + template[where + 4:]

    bundle = c.open(flags)
    steps = 6
    for step in range(steps):
        c.add(bundle, flows(range(step * MANY // steps,
                                  (step + 1) * MANY // steps)))
        show('an echo beside it', other.request(
            parser.OFPEchoRequest(other, b'%d' % step)))
        ports.inject('p1', udp(step))
        show('a packet', [other.take(is_packet_in, 'packet-in')])
        other.must(flow(other, [output(2)], priority=5, table_id=8,
                        cookie=step, flags=ofp.OFPFF_SEND_FLOW_REM))
        other.must(flow(other, command=ofp.OFPFC_DELETE, table_id=8))
        show('a flow', [other.take(is_flow_removed, 'flow removed')])
    aggregate = parser.OFPAggregateStatsRequest
    show('none is in force', other.request(aggregate(
        other, 0, 7, ofp.OFPP_ANY, ofp.OFPG_ANY, 0, 0, parser.OFPMatch())))
    show('committed', c.commit(bundle))
    show('all are', other.request(aggregate(
        other, 0, 7, ofp.OFPP_ANY, ofp.OFPG_ANY, 0, 0, parser.OFPMatch())))
    show('an echo', c.request(parser.OFPEchoRequest(c, b'after')))
    show('all go', c.bundle([flow(c, command=ofp.OFPFC_DELETE, table_id=7)]))
    show('none is left', c.request(aggregate(
        c, 0, 7, ofp.OFPP_ANY, ofp.OFPG_ANY, 0, 0, parser.OFPMatch())))


SECTIONS = (beginnings, tables, tlv_maps, meters, groups, endpoints, copies,
            evictions, flow_mods, counters, pipelined, bundles, versions,
            monitors, packets, unasked, many)


def main():
    controller.start()
    ports = Ports(sys.argv[2])
    wanted = sys.argv[3:]
    for section in SECTIONS:
        if wanted and section.__name__ not in wanted:
            continue
        print('=== ' + section.__name__)
        c, other = Connection(sys.argv[1]), Connection(sys.argv[1])
        for each in c, other:
            each.introduce()
        section(c, other, ports)
        clear(c)
        c.close()
        other.close()


main()
