#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What fills a table, beside a neighbour whose open connections must not notice.

    limits.py CONTROL-SOCKET FOLDER PATTERN ROUNDS

As hostile.py, whose Pods these are, but that the neighbour begins no connection:
where the table of connections itself is full, it can't."""

import collections
import sys
import time

sys.dont_write_bytecode = True
import hostile                              # noqa: E402
from hostile import GW_MAC, address, frames, ip, mac, udp      # noqa: E402

BATCH = 50
AT_ONCE = 32                    # The main thread takes so many of a port.


def numbers(i):
    return range(i * BATCH, (i + 1) * BATCH)


def answered(i):
    """Connections whose other end is an accomplice; that go on."""
    for n in numbers(i):
        ask = udp('bad', mac('sink'), ip('bad'), ip('sink'), 1024 + n, 9,
                  b'?')
        answer = udp('sink', mac('bad'), ip('sink'), ip('bad'), 9, 1024 + n,
                     b'!')
        for _ in range(2):
            yield 'bad', ask
            yield 'sink', answer


def kinds_of_packets(i):
    """One connection, with any TTL and ToS: each a session of its own."""
    for n in numbers(i):
        data = b'?' * 8
        frame = bytearray(udp('bad', mac('sink'), ip('bad'), ip('sink'), 1024,
                              9, data))
        frame[14 + 1] = n // 250 * 4 & 0xfc
        frame[14 + 8] = 2 + n % 250
        frame[14 + 10:14 + 12] = bytes(2)
        total = frames.checksum(bytes(frame[14:34]))
        frame[14 + 10:14 + 12] = total.to_bytes(2, 'big')
        yield 'bad', bytes(frame)
        yield 'bad', bytes(frame)


def tags(i):
    """Each VLAN tag that there can be."""
    for n in numbers(i):
        plain = udp('bad', mac('sink'), ip('bad'), ip('sink'), 1024, 9, b'?')
        # Priority and VLAN.
        tag = b'\x81\x00' + (n >> 12 << 13 | n & 0xfff).to_bytes(2, 'big')
        yield 'bad', plain[:12] + tag + plain[12:]


def destinations(i):
    """Each of which takes a walk of its own, which is kept when it is met again."""
    for n in numbers(i):
        frame = udp('bad', GW_MAC, ip('bad'), address(n, '20.0.0.0'), 1024, 9,
                    b'?')
        yield 'bad', frame
        yield 'bad', frame


PATTERNS = {pattern.__name__: pattern for pattern in (
    answered, destinations, kinds_of_packets, tags)}


class Neighbour(hostile.Neighbour):
    def begins(self):
        pass


def main():
    path, folder, pattern, rounds = sys.argv[1:]
    world = hostile.World(path, folder)
    neighbour = Neighbour(world)
    for i in range(int(rounds)):
        by_port = collections.defaultdict(list)
        for port, frame in PATTERNS[pattern](i):
            by_port[port].append(frame)
        for port, batch in by_port.items():
            for first in range(0, len(batch), AT_ONCE):
                world.inject(port, *batch[first:first + AT_ONCE])
        time.sleep(.002)
        neighbour.goes_on()
    world.ends()


if __name__ == '__main__':
    main()
