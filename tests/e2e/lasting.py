#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Connections that last, and whether they do.

    lasting.py server PORT
    lasting.py client STATUS-FILE STOP-FILE ADDRESS:PORT...

The server answers each line of a TCP connection, and each datagram, by the same.
The client has some TCP connections and UDP flows to each address, never opens
another one, and sends a numbered message by each of them, again and again.  One
waits for its answer before it sends the next, so no queue on the way can be too
short.  A datagram without an answer is lost; a TCP connection that ends, or has no
answer, is broken.  STATUS-FILE tells after each round how many there were, what
was lost, and what is broken, until STOP-FILE exists: "ROUNDS LOST BROKEN"."""

import os
import select
import socket
import sys
import threading
import time

OF_EACH = 4
SLOW = float(os.environ.get('ADP_E2E_SLOW', 1))
PATIENCE, PACE = 20 * SLOW, 0.01


def answer_stream(conn):
    try:
        while True:
            data = conn.recv(2048)
            if not data:
                break
            conn.sendall(data)
    except OSError:
        pass
    conn.close()


def answer_datagrams(port):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(('', port))
    while True:
        data, peer = sock.recvfrom(2048)
        sock.sendto(data, peer)


def serve(port):
    threading.Thread(target=answer_datagrams, args=(port,),
                     daemon=True).start()
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(('', port))
    sock.listen(64)
    while True:
        threading.Thread(target=answer_stream, args=(sock.accept()[0],),
                         daemon=True).start()


class Link:
    def __init__(self, address, kind):
        self.kind = kind
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(address)
        self.broken = False
        self.message = self.text = b''

    def send(self, number):
        self.message, self.text = b'%d\n' % number, b''
        try:
            self.socket.send(self.message)
        except OSError:
            self.broken = True

    def receive(self):
        """True if that was the answer."""
        try:
            data = self.socket.recv(2048)
        except OSError:
            self.broken = self.kind == socket.SOCK_STREAM
            return False
        if self.kind == socket.SOCK_DGRAM:
            return data == self.message         # Not a late one.
        self.broken = not data
        self.text += data
        return self.text == self.message


def one_round(links, number):
    """How many datagrams were lost."""
    waiting = {}
    ready = select.poll()
    for link in links:
        if not link.broken:
            link.send(number)
            waiting[link.socket.fileno()] = link
            ready.register(link.socket, select.POLLIN)
    end = time.monotonic() + PATIENCE
    while waiting and time.monotonic() < end:
        for fd, _ in ready.poll(200):
            if waiting[fd].receive() or waiting[fd].broken:
                ready.unregister(fd)
                del waiting[fd]
    lost = 0
    for link in waiting.values():
        if link.kind == socket.SOCK_STREAM:
            link.broken = True
        else:
            lost += 1
    return lost


def client(status, stop, targets):
    links = []
    for target in targets:
        host, port = target.split(':')
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            links += [Link((host, int(port)), kind) for _ in range(OF_EACH)]
    rounds = lost = 0
    while True:
        stopped = os.path.exists(stop)
        lost += one_round(links, rounds)
        rounds += 1
        with open(status + '.new', 'w') as f:
            print(rounds, lost, sum(link.broken for link in links),
                  'stopped' if stopped else '', file=f)
        os.rename(status + '.new', status)
        if stopped:
            break
        time.sleep(PACE)


def main():
    if sys.argv[1] == 'server':
        serve(int(sys.argv[2]))
    client(sys.argv[2], sys.argv[3], sys.argv[4:])


if __name__ == '__main__':
    main()
