#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends datagrams of which a policy allows some and denies others, each from a
port of its own, so that each is a connection.

    steady.py ADDRESS ALLOWED-PORT DENIED-PORT STOP-FILE [blind]

An allowed one is sent when few wait for their answers, so no queue on the way can
be too short for them: one that isn't answered was lost.  It is waited for.  With
"blind" nothing is waited for.  Prints how many were sent and answered when STOP-FILE
exists."""

import os
import select
import socket
import sys
import time

WINDOW, PACE, PATIENCE = 8, 0.002, 30
FIRST_PORT, LAST_PORT = 33000, 60000


class Sender:
    def __init__(self, address):
        self.address = address
        self.port = FIRST_PORT
        self.sockets = {}

    def send(self, port):
        """From the next port that is free."""
        while True:
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.port = self.port + 1 if self.port < LAST_PORT else FIRST_PORT
            try:
                sock.bind(('', self.port))
                break
            except OSError:
                sock.close()
        sock.setblocking(False)
        sock.sendto(b'steady', (self.address, port))
        self.sockets[sock.fileno()] = sock

    def forget(self, fd):
        self.sockets.pop(fd).close()

    def answered(self, seconds):
        """How many were, until then or the first."""
        ready = select.poll()
        for fd in self.sockets:
            ready.register(fd, select.POLLIN)
        n = 0
        for fd, _ in ready.poll(seconds * 1000):
            try:
                self.sockets[fd].recv(2048)
                n += 1
            except OSError:
                continue
            self.forget(fd)
        return n


def main():
    address, allowed_port, denied_port = (sys.argv[1], int(sys.argv[2]),
                                          int(sys.argv[3]))
    stop_file, blind = sys.argv[4], sys.argv[5:] == ['blind']
    slow = float(os.environ.get('ADP_E2E_SLOW', 1))
    allowed, denied = Sender(address), Sender(address)
    sent = answered = leaked = 0
    while not os.path.exists(stop_file):
        if blind and len(allowed.sockets) >= WINDOW:
            allowed.forget(next(iter(allowed.sockets)))
        if len(allowed.sockets) < WINDOW:
            allowed.send(allowed_port)
            sent += 1
        if len(denied.sockets) >= WINDOW:
            denied.forget(next(iter(denied.sockets)))
        denied.send(denied_port)
        answered += allowed.answered(PACE)
        leaked += denied.answered(0)
        time.sleep(PACE)
    end = time.monotonic() + (0 if blind else PATIENCE * slow)
    while allowed.sockets and time.monotonic() < end:
        answered += allowed.answered(1)
    leaked += denied.answered(0)
    print('lost %d leaked %d' % (sent - answered, leaked))
    print('sent %d answered %d' % (sent, answered), file=sys.stderr)


if __name__ == '__main__':
    main()
