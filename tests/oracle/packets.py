# SPDX-License-Identifier: Apache-2.0
"""Ethernet frames, from fields.  Addresses are text, as in tcpdump."""

import socket
import struct


def _mac(text):
    return bytes.fromhex(text.replace(':', ''))


def checksum(data):
    if len(data) % 2:
        data += b'\0'
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ethernet(src, dst, ethertype, payload):
    return _mac(dst) + _mac(src) + struct.pack('!H', ethertype) + payload


def arp(op, sha, spa, tha, tpa, dst='ff:ff:ff:ff:ff:ff'):
    body = struct.pack('!HHBBH', 1, 0x800, 6, 4, op)
    body += _mac(sha) + socket.inet_aton(spa) + _mac(tha) + socket.inet_aton(tpa)
    return ethernet(sha, dst, 0x806, body)


def ipv4(src, dst, proto, payload, ttl=64, tos=0, ident=0, frag=0):
    header = struct.pack('!BBHHHBBH', 0x45, tos, 20 + len(payload), ident,
                         frag, ttl, proto, 0)
    header += socket.inet_aton(src) + socket.inet_aton(dst)
    header = header[:10] + struct.pack('!H', checksum(header)) + header[12:]
    return header + payload


def _l4(src, dst, proto, segment, offset):
    pseudo = socket.inet_aton(src) + socket.inet_aton(dst)
    pseudo += struct.pack('!BBH', 0, proto, len(segment))
    value = checksum(pseudo + segment)
    if proto == 17 and value == 0:
        value = 0xffff
    return segment[:offset] + struct.pack('!H', value) + segment[offset + 2:]


FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def tcp(src, dst, sport, dport, flags, seq=0, ack=0, window=65535, data=b''):
    segment = struct.pack('!HHIIBBHHH', sport, dport, seq & 0xffffffff,
                          ack & 0xffffffff, 5 << 4, flags, window, 0, 0)
    return _l4(src, dst, 6, segment + data, 16)


def udp(src, dst, sport, dport, data=b''):
    segment = struct.pack('!HHHH', sport, dport, 8 + len(data), 0)
    return _l4(src, dst, 17, segment + data, 6)


def icmp(kind, code, rest, data=b''):
    body = struct.pack('!BBHI', kind, code, 0, rest) + data
    return body[:2] + struct.pack('!H', checksum(body)) + body[4:]


def read_pcap(path, offset):
    """Frames of the pcap file 'path' from byte 'offset' on, and the new
    offset."""
    frames = []
    with open(path, 'rb') as f:
        f.seek(offset)
        if not offset:
            offset += len(f.read(24))
        while True:
            header = f.read(16)
            if len(header) < 16:
                return frames, offset
            length = struct.unpack('=IIII', header)[2]
            frame = f.read(length)
            if len(frame) < length:
                return frames, offset
            frames.append(frame)
            offset += 16 + length
