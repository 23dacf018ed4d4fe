#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small engine for L7 rules, behind the ports antrea-l7-tap0 and -tap1.

  l7-engine.py IN OUT RULES

Forwards what comes by interface IN to OUT, in the VLAN in which it came.  What
a client says first on a TCP connection must be an HTTP request that one of the
protocols of the VLAN's rule matches; otherwise both sides get a RST, and nothing
of the connection passes any more.  RULES is a file with what
`antrea-dpctl get l7rules -o json` prints, read again for each request.

Prints a line for each frame ("VLAN LENGTH") and for each decision ("pass VLAN
METHOD PATH", "close VLAN METHOD PATH").
"""

import fnmatch
import json
import socket
import struct
import sys

from tap import open_socket, vlan_of

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


class Packet:
    """A TCP packet in an Ethernet frame without VLAN, IPv4 or IPv6."""

    def __init__(self, frame):
        kind, = struct.unpack_from("!H", frame, 12)
        self.is_ipv6 = kind == 0x86dd
        if self.is_ipv6:
            self.protocol, l4, end = frame[20], 54, 54 + struct.unpack_from(
                "!H", frame, 18)[0]
            self.src, self.dst = frame[22:38], frame[38:54]
        else:
            self.protocol, l4 = frame[23], 14 + (frame[14] & 15) * 4
            end = 14 + struct.unpack_from("!H", frame, 16)[0]
            self.src, self.dst = frame[26:30], frame[30:34]
        self.macs = frame[:12]
        self.is_tcp = self.protocol == socket.IPPROTO_TCP
        if self.is_tcp:
            (self.sport, self.dport, self.seq, self.ack, offset,
             self.flags) = struct.unpack_from("!HHIIBB", frame, l4)
            self.payload = frame[l4 + (offset >> 4) * 4:end]


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def reset(macs, is_ipv6, src, sport, dst, dport, seq, ack):
    """A frame with a RST from 'src' to 'dst'."""
    tcp = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, 5 << 4, RST | ACK,
                      0, 0, 0)
    pseudo = src + dst + (struct.pack("!II", len(tcp), socket.IPPROTO_TCP)
                          if is_ipv6 else
                          struct.pack("!HH", socket.IPPROTO_TCP, len(tcp)))
    tcp = tcp[:16] + struct.pack("!H", checksum(pseudo + tcp)) + tcp[18:]
    if is_ipv6:
        ip = struct.pack("!IHBB", 6 << 28, len(tcp), socket.IPPROTO_TCP, 64)
        return macs + b"\x86\xdd" + ip + src + dst + tcp
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64,
                     socket.IPPROTO_TCP, 0) + src + dst
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return macs + b"\x08\x00" + ip + tcp


def matches(protocol, method, path, host):
    http = protocol.get("http")
    return (http is not None
            and http.get("method", method) == method
            and fnmatch.fnmatchcase(path, http.get("path", "*"))
            and fnmatch.fnmatchcase(host, http.get("host", "*")))


def decide(rules_file, vlan, payload):
    """True to let the connection pass, and what was asked for."""
    lines = payload.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/"):
        return False, "no HTTP"
    host = ""
    for line in lines[1:]:
        if line.lower().startswith("host:"):
            host = line[5:].strip().split(":")[0]
    with open(rules_file, encoding="utf-8") as f:
        rules = json.load(f)["rules"]
    ok = any(matches(protocol, words[0], words[1], host)
             for rule in rules if rule["vlan"] == vlan
             for protocol in rule["protocols"])
    return ok, "%s %s" % (words[0], words[1])


class Connection:
    """What is known of one, by VLAN, client's address and port: where a Service
    is between, requests go to the endpoint's address, and answers come from the
    Service's."""

    def __init__(self):
        self.passes = None      # Unknown.
        self.server = None      # Address and port, as the client knows them.


class Engine:
    def __init__(self, rules_file, send):
        self.rules_file, self.send = rules_file, send
        self.connections = {}

    def handle(self, vlan, frame):
        p = Packet(frame)
        if not p.is_tcp:
            return              # No HTTP.
        client, server = (vlan, p.src, p.sport), (vlan, p.dst, p.dport)
        if p.flags & (SYN | ACK) == SYN:
            self.connections[client] = Connection()
        connection = self.connections.get(client)
        if not connection:
            connection = self.connections.get(server)
            if connection:
                connection.server = (p.src, p.sport)
        elif connection.passes is None and p.payload:
            ok, what = decide(self.rules_file, vlan, p.payload)
            print("pass" if ok else "close", vlan, what, flush=True)
            connection.passes = ok
            if not ok:
                self.close(vlan, p, connection)
        if connection and connection.passes is not False:
            self.send(vlan, frame)

    def close(self, vlan, p, connection):
        """To the server, in the client's name, and the other way round."""
        back = p.macs[6:] + p.macs[:6]
        self.send(vlan, reset(p.macs, p.is_ipv6, p.src, p.sport, p.dst,
                              p.dport, p.seq, p.ack))
        self.send(vlan, reset(back, p.is_ipv6, *connection.server, p.src,
                              p.sport, p.ack,
                              p.seq + len(p.payload) & 0xffffffff))


def main():
    source, target = open_socket(sys.argv[1]), open_socket(sys.argv[2])

    def send(vlan, frame):
        target.send(frame[:12] + struct.pack("!HH", 0x8100, vlan) + frame[12:])

    engine = Engine(sys.argv[3], send)
    print("ready", flush=True)
    while True:
        frame, ancillary, _, address = source.recvmsg(65536, 1024)
        if address[2] == socket.PACKET_OUTGOING:
            continue
        tci = vlan_of(ancillary)
        if tci is None and frame[12:14] == b"\x81\x00":
            tci, = struct.unpack_from("!H", frame, 14)
            frame = frame[:12] + frame[16:]
        if tci is None:
            print("- %d" % len(frame), flush=True)
            continue
        print("%d %d" % (tci & 0xfff, len(frame)), flush=True)
        engine.handle(tci & 0xfff, frame)


if __name__ == "__main__":
    main()
