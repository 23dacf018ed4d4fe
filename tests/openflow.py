# SPDX-License-Identifier: Apache-2.0
"""A connection to a bridge, as a controller has it: one flow takes effect
without the start of a process before it.  OpenFlow 1.5, and of that only what
is needed here."""

import socket
import struct

VERSION = 6
HELLO, ERROR, ECHO_REQUEST, ECHO_REPLY = 0, 1, 2, 3
EXPERIMENTER, SET_CONFIG, PACKET_IN = 4, 9, 10
NICIRA, SET_CONTROLLER_ID = 0x2320, 20
FLOW_MOD, BARRIER_REQUEST, BARRIER_REPLY = 14, 20, 21
ADD, DELETE_STRICT = 0, 4
ANY = 0xffffffff
OXM_IN_PORT, OXM_ETH_TYPE = 0, 5


def oxm(field, value):
    return struct.pack('!HBB', 0x8000, field << 1, len(value)) + value


def match(*fields):
    body = b''.join(fields)
    length = 4 + len(body)
    return (struct.pack('!HH', 1, length) + body).ljust(-(-length // 8) * 8,
                                                        b'\0')


class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.n_packet_ins = 0
        self.send(HELLO)

    def send(self, kind, body=b'', xid=1):
        self.socket.sendall(struct.pack('!BBHI', VERSION, kind, 8 + len(body),
                                        xid) + body)

    def read(self, n):
        data = b''
        while len(data) < n:
            chunk = self.socket.recv(n - len(data))
            if not chunk:
                raise RuntimeError('the switch closed its connection')
            data += chunk
        return data

    def receive(self):
        """The next message's kind; what needs no answer of the caller's is
        dealt with."""
        _, kind, length, xid = struct.unpack('!BBHI', self.read(8))
        body = self.read(length - 8)
        if kind == ERROR:
            raise RuntimeError('OpenFlow error ' + body[:4].hex())
        if kind == ECHO_REQUEST:
            self.send(ECHO_REPLY, body, xid)
        self.n_packet_ins += kind == PACKET_IN
        return kind

    def barrier(self):
        """Returns when all that was sent has been done."""
        self.send(BARRIER_REQUEST)
        while self.receive() != BARRIER_REPLY:
            pass

    def take_packets(self, controller_id=0):
        """From now on packets for controllers of this number come here."""
        self.send(EXPERIMENTER, struct.pack('!II6xH', NICIRA,
                                            SET_CONTROLLER_ID, controller_id))
        self.send(SET_CONFIG, struct.pack('!HH', 0, 128))
        self.barrier()

    def drop(self, command, table, priority, in_port):
        """Adds or deletes a flow that drops all IPv4 of a port."""
        fixed = struct.pack('!QQBBHHHIIIHH', 0, 0, table, command, 0, 0,
                            priority, ANY, ANY, ANY, 0, 0)
        self.send(FLOW_MOD, fixed + match(
            oxm(OXM_IN_PORT, struct.pack('!I', in_port)),
            oxm(OXM_ETH_TYPE, struct.pack('!H', 0x800))))

    def close(self):
        self.socket.close()
