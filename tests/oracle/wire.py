# SPDX-License-Identifier: Apache-2.0
"""The far ends of a switch's tap devices: what tap-wire.c, which its daemon
has preloaded, shares with us.

Many batches are handed over at once; the daemon takes one in each turn of its
main loop, in their order.  Across a tap the kernel would see each packet, and
for each we would have to ask whether the daemon is done with it."""

import contextlib
import ctypes
import fcntl
import mmap
import os
import select
import socket
import struct
import subprocess

N_PORTS, NAME_SIZE = 64, 16
IN_SIZE, OUT_SIZE = 4 << 20, 24 << 20
# round, batches, gap, lost, out; then the names.
HEADER, NAMES = struct.Struct('=5I'), 32
IN = NAMES + N_PORTS * NAME_SIZE
OUT = IN + IN_SIZE
OUT_HEADER = struct.Struct('=IHH')
OUTSIDE = 0xffffffff

CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

libc = ctypes.CDLL(None, use_errno=True)
here = os.path.dirname(os.path.abspath(__file__))


def compile_library(name, folder):
    """The library that the source NAME.c is to preload, in 'folder'."""
    path = os.path.join(folder, name + '.so')
    subprocess.run(['cc', '-shared', '-fPIC', '-O2', '-o', path,
                    os.path.join(here, name + '.c')], check=True)
    return path


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
    """For ports of these names."""

    def __init__(self, path, ports):
        self.ports = list(ports)
        self.numbers = {port: i for i, port in enumerate(self.ports)}
        self.path = path
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.ftruncate(fd, OUT + OUT_SIZE)
        self.map = mmap.mmap(fd, OUT + OUT_SIZE)
        os.close(fd)
        for i, port in enumerate(self.ports):
            at = NAMES + i * NAME_SIZE
            self.map[at:at + NAME_SIZE] = port.encode().ljust(NAME_SIZE, b'\0')
        self.done, self.done_write = os.pipe()
        self.round = 0
        self.control = None

    def environment(self):
        """What the daemon has to be told, and the descriptor that it gets."""
        return {'ADP_ORACLE_WIRE': self.path,
                'ADP_ORACLE_WIRE_PIPE': str(self.done_write)}, self.done_write

    def attach(self, pid):
        """To the daemon 'pid', when it runs."""
        with network_of(pid):
            # The kernel has nothing to say of its own.
            for name in 'all', 'default':
                path = '/proc/sys/net/ipv6/conf/%s/disable_ipv6' % name
                if os.path.exists(path):
                    with open(path, 'w') as f:
                        f.write('1')
            self.control = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)

    def up(self, port):
        """Switches on the device of 'port'."""
        request = struct.pack('16sh14x', port.encode(), 0)
        request = fcntl.ioctl(self.control, SIOCGIFFLAGS, request)
        flags = struct.unpack('16sh14x', request)[1]
        fcntl.ioctl(self.control, SIOCSIFFLAGS,
                    struct.pack('16sh14x', port.encode(), flags | IFF_UP))

    def encode(self, batches):
        """'batches' as begin() takes them: a list of (port, frames)."""
        parts = []
        for port, frames in batches:
            parts.append(struct.pack('=HH', self.numbers[port], len(frames)))
            for frame in frames:
                parts += len(frame).to_bytes(2, 'little'), frame
        return b''.join(parts)

    def begin(self, n_batches, encoded, gap=0):
        """Hands batches over.  The daemon starts with them at its next turn,
        for which it may have to be woken up."""
        if len(encoded) > IN_SIZE:
            raise ValueError('too much at once')
        self.map[IN:IN + len(encoded)] = encoded
        self.round += 1
        # What was sent since the last round stays.
        self.map[4:16] = struct.pack('=3I', n_batches, gap, 0)
        self.map[:4] = struct.pack('=I', self.round)

    def wait(self, seconds):
        """Returns false if the daemon isn't done with the batches by then."""
        if not select.select([self.done], [], [], seconds)[0]:
            return False
        os.read(self.done, 1)
        return True

    def take(self):
        """What the switch sent since the last call, as it was written."""
        size = HEADER.unpack_from(self.map)[4]
        if size > OUT_SIZE:
            raise RuntimeError('too many packets were sent')
        sent = self.map[OUT:OUT + size]
        self.map[16:20] = bytes(4)
        return sent

    def n_lost(self):
        """Batches that nobody read, of the last round."""
        return HEADER.unpack_from(self.map)[3]

    def decode(self, sent):
        """A list of (batch, port, frame)."""
        found, at, size = [], 0, len(sent)
        while at < size:
            batch, port, length = OUT_HEADER.unpack_from(sent, at)
            at += 8
            found.append((batch, self.ports[port], sent[at:at + length]))
            at += length
        return found

    def close(self):
        self.map.close()
        os.close(self.done)
        os.close(self.done_write)
        if self.control:
            self.control.close()
