# SPDX-License-Identifier: Apache-2.0
"""The far ends of a switch's tap devices.

A tap device hands all that waits to the switch as one batch, as NICs do."""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct

ETH_P_ALL = 3
PACKET_OUTGOING = 4
SOL_PACKET = 263
PACKET_AUXDATA = 8
SO_RCVBUFFORCE = 33
CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
TP_STATUS_VLAN_VALID = 1 << 4
TP_STATUS_VLAN_TPID_VALID = 1 << 6

libc = ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def network_of(pid):
    """Inside, this thread is in the network namespace of process 'pid'."""
    def enter(fd):
        if libc.setns(fd, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), 'setns')

    ours = os.open('/proc/self/ns/net', os.O_RDONLY)
    theirs = os.open('/proc/%d/ns/net' % pid, os.O_RDONLY)
    try:
        enter(theirs)
        try:
            yield
        finally:
            enter(ours)
    finally:
        os.close(ours)
        os.close(theirs)


class Wire:
    def __init__(self, pid):
        with network_of(pid):
            # The kernel has nothing to say of its own.
            for name in 'all', 'default':
                path = '/proc/sys/net/ipv6/conf/%s/disable_ipv6' % name
                if os.path.exists(path):
                    with open(path, 'w') as f:
                        f.write('1')
            self.tx = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.rx = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                                    socket.htons(ETH_P_ALL))
        self.rx.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 25)
        self.rx.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.rx.setblocking(False)

    def up(self, port):
        """Switches on the device of 'port'."""
        request = struct.pack('16sh14x', port.encode(), 0)
        request = fcntl.ioctl(self.tx, SIOCGIFFLAGS, request)
        flags = struct.unpack('16sh14x', request)[1]
        fcntl.ioctl(self.tx, SIOCSIFFLAGS,
                    struct.pack('16sh14x', port.encode(), flags | IFF_UP))

    def send(self, port, frame):
        self.tx.sendto(frame, (port, 0))

    def receive(self, ports):
        """What the switch sent since the last call, in order: a list of
        (port, frame)."""
        sent = []
        while True:
            try:
                frame, anc, _, address = self.rx.recvmsg(65536, 64)
            except BlockingIOError:
                return sent
            port, kind = address[0], address[2]
            if kind != PACKET_OUTGOING and port in ports:
                sent.append((port, self.tagged(frame, anc)))

    @staticmethod
    def tagged(frame, anc):
        """'frame' with the VLAN tag that the kernel took off."""
        for level, kind, data in anc:
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                status, tci, tpid = struct.unpack('=I12xHH', data)
                if status & TP_STATUS_VLAN_VALID:
                    if not status & TP_STATUS_VLAN_TPID_VALID:
                        tpid = 0x8100
                    return frame[:12] + struct.pack('!HH', tpid, tci) \
                        + frame[12:]
        return frame

    def close(self):
        self.tx.close()
        self.rx.close()
