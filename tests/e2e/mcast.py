#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Multicast of one host, and messages of IGMP, right and wrong ones.

    mcast.py receive IP GROUP PORT      until it is ended: "TEXT" a line
    mcast.py send IP GROUP PORT TEXT [COUNT]
    mcast.py igmp IP WHAT GROUP...      WHAT: v1, v2, leave, join3, leave3
    mcast.py bad IP GROUP               each kind of wrong message
    mcast.py query IP                   a general query
    mcast.py flood IP FIRST COUNT       joins COUNT groups from FIRST on

IP is the host's own address.
"""

import socket
import struct
import sys


def csum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    total = (total >> 16) + (total & 0xffff)
    return ~(total + (total >> 16)) & 0xffff


def message(data):
    return data[:2] + struct.pack("!H", csum(data)) + data[4:]


def simple(kind, group):
    return message(struct.pack("!BBH4s", kind, 0, 0, socket.inet_aton(group)))


def report3(kind, groups, count=None):
    records = b"".join(struct.pack("!BBH4s", kind, 0, 0, socket.inet_aton(g))
                       for g in groups)
    return message(struct.pack("!BBHHH", 0x22, 0, 0, 0,
                               len(groups) if count is None else count)
                   + records)


def raw(ip):
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_IGMP)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                 socket.inet_aton(ip))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 1)
    s.bind((ip, 0))
    return s


def receive(ip, group, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((group, int(port)))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                 socket.inet_aton(group) + socket.inet_aton(ip))
    while True:
        print(s.recv(2048).decode(), flush=True)


def send(ip, group, port, text, count="1"):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                 socket.inet_aton(ip))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 8)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    s.bind((ip, 0))
    for _ in range(int(count)):
        s.sendto(text.encode(), (group, int(port)))


def igmp(ip, what, *groups):
    s = raw(ip)
    if what in ("join3", "leave3"):
        s.sendto(report3(4 if what == "join3" else 3, groups),
                 ("224.0.0.22", 0))
        return
    kind = {"v1": 0x12, "v2": 0x16, "leave": 0x17}[what]
    for group in groups:
        s.sendto(simple(kind, group),
                 ("224.0.0.2" if what == "leave" else group, 0))


def bad(ip, group):
    good = report3(4, [group])
    for data in (good[:4], good[:-1] + b"\x77", report3(4, [group], 3),
                 report3(4, [group], 65535), simple(0x16, group)[:7]):
        raw(ip).sendto(data, ("224.0.0.22", 0))


def query(ip):
    raw(ip).sendto(simple(0x11, "0.0.0.0"), ("224.0.0.1", 0))


def flood(ip, first, count):
    s = raw(ip)
    start = struct.unpack("!I", socket.inet_aton(first))[0]
    for i in range(int(count)):
        group = socket.inet_ntoa(struct.pack("!I", start + i))
        s.sendto(simple(0x16, group), (group, 0))


COMMANDS = {f.__name__: f for f in (receive, send, igmp, bad, query, flood)}
COMMANDS[sys.argv[1]](*sys.argv[2:])
