#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A DNS server for tests, by UDP and TCP: tells what its zone says, true or not.

    dns-server.py ZONE [--port PORT] [--bind ADDRESS]

ZONE is a JSON file, read anew for each query: {"NAME": {...}} with "a" and
"aaaa" (lists of addresses), "ttl" (60), "cname" (another name, whose entry
follows), or one of

    "many": [FIRST, N]   N addresses of 10.20.0.0/16 from number FIRST + N * how
                         often the name was asked for before
    "repeat": N          the answer, N times
    "raw": "HEX"         these bytes behind the query's number
    "silent": true       no answer
    "big": N             N records of type TXT behind the others

A name that isn't there gets none.
"""

import argparse
import json
import socket
import socketserver
import struct
import threading

NXDOMAIN = 3
asked = {}


def encode(name):
    return b"".join(bytes([len(p)]) + p.encode()
                    for p in name.split(".") if p) + b"\0"


def record(name, rtype, ttl, data):
    return (encode(name) + struct.pack("!HHIH", rtype, 1, ttl, len(data))
            + data)


def records(zone, name):
    entry = zone.get(name, {})
    ttl = entry.get("ttl", 60)
    if "cname" in entry:
        yield record(name, 5, ttl, encode(entry["cname"]))
        yield from records(zone, entry["cname"])
    if "many" in entry:
        first, n = entry["many"]
        turn = asked[name] = asked.get(name, -1) + 1
        for i in range(first + n * turn, first + n * turn + n):
            # As real servers write it: a pointer to the question.
            yield (b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, ttl, 4)
                   + bytes([10, 20, i >> 8, i & 255]))
    for ip in entry.get("a", []):
        yield record(name, 1, ttl, socket.inet_aton(ip))
    for ip in entry.get("aaaa", []):
        yield record(name, 28, ttl,
                     socket.inet_pton(socket.AF_INET6, ip))
    for _ in range(entry.get("big", 0)):
        yield record(name, 16, ttl, b"\x3f" + 63 * b"x")


def question(query):
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    return ".".join(labels), query[12:at + 5]


def answers(path, query):
    with open(path, encoding="ascii") as f:
        zone = json.load(f)
    name, asked_for = question(query)
    entry = zone.get(name.lower())
    if entry is None:
        return [query[:2] + struct.pack("!HHHHH", 0x8180 | NXDOMAIN, 1, 0, 0,
                                        0) + asked_for]
    if entry.get("silent"):
        return []
    if "raw" in entry:
        return [query[:2] + bytes.fromhex(entry["raw"])]
    found = list(records(zone, name.lower()))
    return [query[:2] + struct.pack("!HHHHH", 0x8180, 1, len(found), 0, 0)
            + asked_for + b"".join(found)] * entry.get("repeat", 1)


class TCPHandler(socketserver.BaseRequestHandler):
    def handle(self):
        head = self.request.recv(2, socket.MSG_WAITALL)
        query = self.request.recv(struct.unpack("!H", head)[0],
                                  socket.MSG_WAITALL)
        for answer in answers(self.server.path, query):
            self.request.sendall(struct.pack("!H", len(answer)) + answer)


class UDPHandler(socketserver.BaseRequestHandler):
    def handle(self):
        query, sock = self.request
        for answer in answers(self.server.path, query):
            sock.sendto(answer, self.client_address)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("zone")
    parser.add_argument("--port", type=int, default=53)
    parser.add_argument("--bind", default="0.0.0.0")
    args = parser.parse_args()
    socketserver.TCPServer.allow_reuse_address = True
    if ":" in args.bind:
        socketserver.TCPServer.address_family = socket.AF_INET6
        socketserver.UDPServer.address_family = socket.AF_INET6
    # In this order: who sees the one sees the other.
    udp = socketserver.ThreadingUDPServer((args.bind, args.port), UDPHandler)
    tcp = socketserver.ThreadingTCPServer((args.bind, args.port), TCPHandler)
    tcp.path = udp.path = args.zone
    threading.Thread(target=tcp.serve_forever, daemon=True).start()
    udp.serve_forever()


if __name__ == "__main__":
    main()
