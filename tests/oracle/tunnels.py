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
    options = b''
    for _ in range(rnd.choice([0, 0, 0, 0, 1, 2])):
        # None that is critical: for such a one stock drops what comes from the
        # same peer afterwards, too.
        content = bytes(4 * rnd.randrange(4))
        options += struct.pack('!HBB', 0x102, rnd.randrange(3),
                               len(content) // 4) + content
    header = struct.pack('!BBHI', len(options) // 4, 0, TEB,
                         rnd.choice(VNIS) << 8) + options
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
