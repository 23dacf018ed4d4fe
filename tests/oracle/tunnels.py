# SPDX-License-Identifier: Apache-2.0
"""Geneve tunnels to other nodes: what is on the wire.

The port PORT of the bridge under test is the tunnel; its packets leave and
enter through UNDERLAY, a port of the stock bridge BRIDGE."""

import struct

import packets

PORT, BRIDGE, UNDERLAY = 'gnv0', 'br-phy', 'phy'
OUR_MAC, OUR_IP = '02:00:00:00:aa:01', '192.168.50.1'
PEER_MAC, PEERS = '02:00:00:00:aa:02', ['192.168.50.2', '192.168.50.3']
VNIS = [0, 1, 77]
GENEVE, TEB = 6081, 0x6558


def wrap(rnd, frame):
    """'frame' as another node sends it."""
    header = struct.pack('!BBHI', 0, 0, TEB, rnd.choice(VNIS) << 8)
    return packets.Packet(
        eth_src=PEER_MAC, eth_dst=OUR_MAC, src=rnd.choice(PEERS), dst=OUR_IP,
        sport=rnd.choice([50000, 60000]), dport=GENEVE, no_sum=True,
        tos=rnd.choice([0, 0, 0, 1, 2, 3]), data=header + frame).frame()


def unwrap(frame):
    """The frame inside 'frame', or 'frame' if it is no tunnel's."""
    outer = packets.parse(frame)
    if not outer or outer.v6 or outer.dport != GENEVE:
        return frame
    start = 14 + 20 + 8
    return frame[start + 8 + (frame[start] & 0x3f) * 4:]
