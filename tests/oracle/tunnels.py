# SPDX-License-Identifier: Apache-2.0
"""Tunnels to other nodes, over IPv4 and IPv6: what is on the wire.

The port PORT of the bridge under test is the tunnel; its packets leave and
enter through UNDERLAY, a port of the stock bridge BRIDGE."""

import struct

import packets

PORT, BRIDGE, UNDERLAY = 'gnv0', 'br-phy', 'phy'
OUR_MAC, OUR_IP, OUR_IP6 = '02:00:00:00:aa:01', '192.168.50.1', 'fd50::1'
PEER_MAC, PEERS = '02:00:00:00:aa:02', ['192.168.50.2', '192.168.50.3',
                                        'fd50::2', 'fd50::3']
NETS = ['192.168.50.0/24', 'fd50::/64']
VNIS = [0, 1, 77]
DPORTS = {'geneve': 6081, 'vxlan': 4789}
TEB = 0x6558


def field(name, address):
    """The field "src" or "dst" of a tunnel that has such an address."""
    return ('tun_ipv6_' if ':' in address else 'tun_') + name


def is_question(port, frame):
    """Who has a peer's address?  Stock asks for each packet and each of its
    ways, ours now and then."""
    if port != UNDERLAY or frame[6:12] != packets.mac_bytes(OUR_MAC):
        return False
    start = packets.behind_tags(frame)
    kind = frame[start:start + 2]
    return kind == b'\x08\x06' or (kind == b'\x86\xdd'
                                   and frame[start + 8] == packets.ICMP6
                                   and frame[start + 42] == 135)


def interface(rnd):
    """What the tunnel's port is, but for where it leads: columns of its
    Interface."""
    choices = {'tos': ['inherit', '0x20', None], 'ttl': ['inherit', '9', None],
               'csum': ['true', 'false', None]}
    columns = ['type=' + rnd.choice(['geneve', 'geneve', 'vxlan'])]
    for name, values in choices.items():
        value = rnd.choice(values)
        if value:
            columns.append('options:%s=%s' % (name, value))
    return columns


def geneve(rnd):
    options = b''
    for _ in range(rnd.choice([0, 0, 0, 0, 1, 2])):
        # None that is critical: for such a one stock drops what comes from the
        # same peer afterwards, too.
        content = bytes(4 * rnd.randrange(4))
        options += struct.pack('!HBB', 0x102, rnd.randrange(3),
                               len(content) // 4) + content
    return struct.pack('!BBHI', len(options) // 4, 0, TEB,
                       rnd.choice(VNIS) << 8) + options


def vxlan(rnd):
    return struct.pack('!II', 8 << 24, rnd.choice(VNIS) << 8)


def wrap(rnd, kind, frame):
    """'frame' as another node sends it."""
    peer = rnd.choice(PEERS)
    header = geneve(rnd) if kind == 'geneve' else vxlan(rnd)
    return packets.Packet(
        eth_src=PEER_MAC, eth_dst=OUR_MAC, src=peer,
        dst=OUR_IP6 if ':' in peer else OUR_IP,
        sport=rnd.choice([50000, 60000]), dport=DPORTS[kind],
        no_sum=rnd.random() < .6, bad_sum=rnd.random() < .02,
        tag=rnd.choice([1, 1, 2, 0xffff]),
        tos=rnd.choice([0, 0, 0, 1, 2, 3]), data=header + frame).frame()


def unwrap(frame):
    """The frame inside 'frame', or 'frame' if it is no tunnel's."""
    outer = packets.parse(frame)
    if not outer or outer.proto != packets.UDP \
            or outer.dport not in DPORTS.values():
        return frame
    start = 14 + (40 if outer.v6 else 20) + 8
    if outer.dport == DPORTS['geneve'] and len(frame) > start:
        start += (frame[start] & 0x3f) * 4
    return frame[start + 8:]
