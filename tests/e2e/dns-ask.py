#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a DNS server for a name, or sends an answer that nobody asked for.

    dns-ask.py [--tcp] SERVER NAME      prints how many bytes came back, or
                                        "none" after three seconds;
                                        "truncated" and how many by TCP if
                                        the answer was
    dns-ask.py --forge NAME IP CLIENT PORT
                                        tells PORT of CLIENT, from port 53,
                                        that NAME has address IP
"""

import socket
import struct
import sys


def encode(name):
    return b"".join(bytes([len(p)]) + p.encode()
                    for p in name.split(".") if p) + b"\0"


def message(flags, name, answer=b""):
    return (struct.pack("!HHHHHH", 0x4242, flags, 1, bool(answer), 0, 0)
            + encode(name) + struct.pack("!HH", 1, 1) + answer)


def forge(name, ip, client, port):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("0.0.0.0", 53))
    answer = (encode(name) + struct.pack("!HHIH", 1, 1, 60, 4)
              + socket.inet_aton(ip))
    sock.sendto(message(0x8180, name, answer), (client, int(port)))


def ask(tcp, server, name):
    query = message(0x0100, name)
    sock = socket.socket(socket.AF_INET6 if ":" in server else socket.AF_INET,
                         socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    sock.settimeout(3)
    try:
        sock.connect((server, 53))
        if tcp:
            sock.sendall(struct.pack("!H", len(query)) + query)
        else:
            sock.send(query)
        answer = sock.recv(65536)
    except OSError:
        print("none")
        return
    if not tcp and len(answer) > 3 and answer[2] & 2:
        if answer[:2] != query[:2] or answer[12:] != query[12:]:
            print("none: another question")
            return
        print("truncated", end=" ")
        ask(True, server, name)
    else:
        print(len(answer))


def main():
    if sys.argv[1] == "--forge":
        forge(*sys.argv[2:])
    else:
        tcp = sys.argv[1] == "--tcp"
        ask(tcp, *sys.argv[2 if tcp else 1:])


if __name__ == "__main__":
    main()
