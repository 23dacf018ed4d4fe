#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Controllers as they shouldn't be, on a bridge's management socket.

    controller-faults.py SOCKET garbage SEED
    controller-faults.py SOCKET half
    controller-faults.py SOCKET deaf STOP-FILE

"garbage" sends messages whose headers are right and whose rest is random, and bytes
that are random altogether.  "half" sends parts of messages and leaves.  "deaf" asks
for all flows and for news of them, again and again, and for packets, and reads
nothing until STOP-FILE exists.  The bridge must go on answering others: that is
asked after each step."""

import os
import random
import struct
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir))
from openflow import Connection, FLOW_MOD, VERSION      # noqa: E402

MULTIPART_REQUEST, MULTIPART_FLOW = 18, 1
MESSAGES = 36                   # Kinds, and some more.


def connect(path):
    """The bridge takes new ones turn by turn."""
    while True:
        try:
            return Connection(path)
        except BlockingIOError:
            time.sleep(.01)


def others_get_on(path):
    other = connect(path)
    other.barrier()
    other.close()


def leave(connection):
    try:
        connection.socket.shutdown(2)
    except OSError:
        pass
    connection.close()


def send(connection, data):
    """False if the bridge has had enough."""
    try:
        connection.socket.sendall(data)
        return True
    except OSError:
        return False


def garbage(path, seed):
    rng = random.Random(seed)
    for n in range(300):
        connection = connect(path)
        if n % 3:
            connection.barrier()
        for _ in range(20):
            kind = rng.randrange(MESSAGES)
            body = rng.randbytes(rng.choice((0, 4, 8, 16, 40, 64, 200, 3000)))
            length = 8 + len(body)
            if not n % 5:
                length = rng.randrange(65536)
            version = VERSION if n % 7 else rng.randrange(256)
            if not send(connection, struct.pack('!BBHI', version, kind,
                                                length, n) + body):
                break
        leave(connection)
        if not n % 30:
            others_get_on(path)
    others_get_on(path)


def half(path):
    whole = struct.pack('!BBHI', VERSION, FLOW_MOD, 56, 1) + bytes(48)
    held = []
    for n in range(len(whole)):
        connection = connect(path)
        connection.barrier()
        send(connection, whole[:n])
        if n % 2:
            held.append(connection)
        else:
            connection.close()
    others_get_on(path)
    for connection in held:
        connection.close()
    for n in range(200):
        connection = connect(path)
        connection.close()
    others_get_on(path)


def deaf(path, stop):
    flows = struct.pack('!HHI', MULTIPART_FLOW, 0, 0) + struct.pack(
        '!B3xIIIQQHHI', 255, 0xffffffff, 0xffffffff, 0, 0, 0, 1, 4, 0)
    # NXST_FLOW_MONITOR is of OpenFlow 1.0 to 1.3 only; ONF's is of 1.4 on.
    monitor = struct.pack('!HHI', 16, 0, 0) + struct.pack(
        '!IIIHBBHHI', 1, 0xffffffff, 0xffffffff, 0xf, 255, 0, 1, 4, 0)
    deaf_ones = []
    for _ in range(3):
        connection = connect(path)
        connection.take_packets()
        connection.send(MULTIPART_REQUEST, monitor, 9)
        connection.socket.setblocking(False)
        deaf_ones.append(connection)
    print('deaf', flush=True)
    asked = 0
    while not os.path.exists(stop):
        for connection in deaf_ones:
            try:
                connection.send(MULTIPART_REQUEST, flows, 10)
                asked += 1
            except BlockingIOError:
                pass
            except OSError:
                sys.exit('a slow controller was thrown out')
        time.sleep(.01)
    print('asked %d times' % asked, flush=True)
    for connection in deaf_ones:
        leave(connection)
    others_get_on(path)


def main():
    path, what = sys.argv[1], sys.argv[2]
    if what == 'garbage':
        garbage(path, int(sys.argv[3]))
    elif what == 'half':
        half(path)
    else:
        deaf(path, sys.argv[3])
    print('others get on', flush=True)


if __name__ == '__main__':
    main()
