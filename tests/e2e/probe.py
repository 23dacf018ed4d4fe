#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens a new TCP connection again and again and says how each one fared.

    probe.py HOST PORT INTERVAL STOP-FILE

Every INTERVAL seconds, until STOP-FILE exists, a connection is begun, without
waiting for the others.  Prints "TIME RESULT" for each, where TIME is when its
SYN was sent and RESULT is "ok", "late" (only a repeated SYN came through: the
first was denied) or "denied" (no answer in 4 seconds, or refused).
"""

import errno
import os
import select
import socket
import struct
import sys
import time

TIMEOUT = 4.0


def retransmits(sock):
    """tcpi_total_retrans of struct tcp_info."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    return struct.unpack_from("I", info, 100)[0]


class Probe:
    def __init__(self, host, port):
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.sock.setblocking(False)
        self.began = time.time()
        error = self.sock.connect_ex((host, port))
        self.done = error not in (0, errno.EINPROGRESS)
        if self.done:
            self.finish("denied")

    def writable(self):
        if self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.finish("denied")
        else:
            self.finish("late" if retransmits(self.sock) else "ok")

    def finish(self, result):
        print("%.6f %s" % (self.began, result), flush=True)
        self.sock.close()
        self.done = True


def main():
    host, port = sys.argv[1], int(sys.argv[2])
    interval, stop_file = float(sys.argv[3]), sys.argv[4]
    probes = []
    due = time.time()
    stopped = False
    while probes or not stopped:
        now = time.time()
        if not stopped and now >= due:
            due = now + interval
            stopped = os.path.exists(stop_file)
            probes.append(Probe(host, port))
        by_fd = {p.sock.fileno(): p for p in probes if not p.done}
        poll = select.poll()
        for fd in by_fd:
            poll.register(fd, select.POLLOUT)
        for fd, _ in poll.poll(interval * 1000):
            by_fd[fd].writable()
        now = time.time()
        for probe in probes:
            if not probe.done and now - probe.began > TIMEOUT:
                probe.finish("denied")
        probes = [p for p in probes if not p.done]


if __name__ == "__main__":
    main()
