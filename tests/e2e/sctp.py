#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SCTP of its own on a raw socket: kernels without SCTP will do.

    sctp.py serve PORT...
    sctp.py open SOURCE-PORT HOST PORT
    sctp.py send SOURCE-PORT HOST PORT TAG CHUNK

"serve" takes associations on all PORTs and prints a line for each chunk that
arrives on any port, "FROM PORT -> PORT CHUNK".  "open" opens an association,
sends data over it and prints "open TAG TAG" (of packets there and back) when
it was acknowledged, or else "closed: WHAT-ARRIVED".  "send" sends one packet.
A packet with a wrong checksum ends either side with an error."""

import select
import socket
import struct
import sys
import time

DATA, INIT, INIT_ACK, SACK, COOKIE_ECHO, COOKIE_ACK = 0, 1, 2, 3, 10, 11
NAMES = {DATA: "DATA", INIT: "INIT", INIT_ACK: "INIT-ACK", SACK: "SACK",
         COOKIE_ECHO: "COOKIE-ECHO", COOKIE_ACK: "COOKIE-ACK"}
SERVER_TAG, CLIENT_TAG = 0x5e2, 0xc11
# Bodies of INIT and INIT ACK behind the tag: window, streams, TSN.
FIXED = struct.pack(">IHHI", 65536, 1, 1, 1)
BODIES = {DATA: struct.pack(">IHHI", 1, 0, 0, 0) + b"data",
          SACK: struct.pack(">IIHH", 1, 65536, 0, 0)}


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return struct.pack("<I", crc ^ 0xffffffff)


def packet(sport, dport, vtag, *chunks):
    head = struct.pack(">HHI", sport, dport, vtag)
    body = b""
    for kind, value in chunks:
        body += struct.pack(">BBH", kind, 3, 4 + len(value)) + value
        body += bytes(-len(body) % 4)
    return head + crc32c(head + bytes(4) + body) + body


def parse(data):
    """Source port, destination port, tag, [(kind, value), ...]"""
    sport, dport, vtag = struct.unpack_from(">HHI", data)
    if data[8:12] != crc32c(data[:8] + bytes(4) + data[12:]):
        sys.exit("wrong checksum: " + data.hex())
    chunks = []
    offset = 12
    while offset < len(data):
        kind, _, size = struct.unpack_from(">BBH", data, offset)
        chunks.append((kind, data[offset + 4:offset + size]))
        offset += size + -size % 4
    return sport, dport, vtag, chunks


def raw_socket():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_SCTP)


def receive(sock):
    data, address = sock.recvfrom(65536)
    return address[0], parse(data[(data[0] & 15) * 4:])


def answers(chunks, tags, peer):
    """What a server answers.  'tags' remembers its peers'."""
    for kind, value in chunks:
        if kind == INIT:
            tags[peer] = struct.unpack_from(">I", value)[0]
            cookie = struct.pack(">HH", 7, 8) + b"cake"
            yield INIT_ACK, struct.pack(">I", SERVER_TAG) + FIXED + cookie
        elif kind == COOKIE_ECHO:
            yield COOKIE_ACK, b""
        elif kind == DATA:
            yield SACK, BODIES[SACK]


def serve(ports):
    sock, tags = raw_socket(), {}
    print("ready", flush=True)
    while True:
        host, (sport, dport, vtag, chunks) = receive(sock)
        for kind, _ in chunks:
            print(host, sport, "->", dport, NAMES.get(kind, kind), flush=True)
        if dport not in ports:
            continue
        answer = list(answers(chunks, tags, (host, sport, dport)))
        tag = tags.get((host, sport, dport))
        if answer and tag:
            sock.sendto(packet(dport, sport, tag, *answer), (host, 0))


def wait_for(sock, source, limit=1.0):
    """The next packet from 'source', or None."""
    end = time.monotonic() + limit
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([sock], [], [], left)[0]:
            return None
        host, found = receive(sock)
        if (host, found[0], found[1]) == source:
            return found


def open_association(sport, host, dport):
    sock = raw_socket()
    vtag = 0
    steps = [(INIT, INIT_ACK), (COOKIE_ECHO, COOKIE_ACK), (DATA, SACK)]
    for sends, expects in steps:
        value = {INIT: struct.pack(">I", CLIENT_TAG) + FIXED,
                 COOKIE_ECHO: b"cake"}.get(sends, BODIES.get(sends))
        sock.sendto(packet(sport, dport, vtag, (sends, value)), (host, 0))
        found = wait_for(sock, (host, dport, sport))
        kinds = [kind for kind, _ in found[3]] if found else []
        if expects not in kinds or found[2] != CLIENT_TAG:
            print("closed:", found)
            return 1
        if expects == INIT_ACK:
            vtag = struct.unpack_from(">I", found[3][0][1])[0]
    print("open %d %d" % (vtag, CLIENT_TAG))
    return 0


def main(command, *args):
    if command == "serve":
        serve([int(port) for port in args])
    elif command == "open":
        return open_association(int(args[0]), args[1], int(args[2]))
    else:
        sport, host, dport, tag, name = args
        kind = {text: kind for kind, text in NAMES.items()}[name]
        value = BODIES.get(kind, struct.pack(">I", CLIENT_TAG) + FIXED)
        raw_socket().sendto(packet(int(sport), int(dport), int(tag),
                                   (kind, value)), (host, 0))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
