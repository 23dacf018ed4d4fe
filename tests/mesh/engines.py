# SPDX-License-Identifier: Apache-2.0
"""What stands behind the ports for L7 rules of each Node: it finds everything
good, sends back what it gets, and remembers in which VLANs that came."""

import socket
import struct

import frames
from cluster import NODES
from tap import ETH_P_ALL, PACKET_AUXDATA, SOL_PACKET, vlan_of

TARGET, RETURN = 'tap0', 'tap1'


class Engines:
    """'open_socket' opens one in a network namespace."""

    def __init__(self, open_socket):
        self.nodes = {}         # By file descriptor.
        self.inputs = {}
        self.outputs = {}
        self.rules = {node: {} for node in NODES}   # {VLAN: name of the rule}
        self.seen = []          # (Node, VLAN, Frame)
        self.n_forwarded = 0
        for node in NODES:
            sock = open_socket('box-' + node, TARGET, ETH_P_ALL)
            sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self.inputs[node] = sock
            self.nodes[sock.fileno()] = node
            # Where nothing comes in: it gets no frames to hold.
            self.outputs[node] = open_socket('box-' + node, RETURN, 0)
            self.outputs[node].setblocking(True)

    def forward(self, fd):
        """All that is there."""
        node = self.nodes[fd]
        while True:
            try:
                frame, beside, _, address = self.inputs[node].recvmsg(2048,
                                                                      1024)
            except BlockingIOError:
                return
            if address[2] == socket.PACKET_OUTGOING:
                continue
            vlan = (vlan_of(beside) or 0) & 0xfff
            self.seen.append((node, vlan, frames.parse(frame)))
            self.back(node, vlan, frame)
            self.n_forwarded += 1

    def forward_all(self):
        for fd in self.nodes:
            self.forward(fd)

    def back(self, node, vlan, frame):
        self.outputs[node].send(frame[:12] + struct.pack('!HH', 0x8100, vlan)
                                + frame[12:])

    def take(self):
        """[(Node, name of the rule, Frame)] since it was last asked."""
        seen, self.seen = self.seen, []
        return [(node, self.rules[node].get(vlan, 'VLAN %s' % vlan), frame)
                for node, vlan, frame in seen]
