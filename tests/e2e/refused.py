#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends one packet that will be refused, and looks at what comes back.

    refused.py tcp|udp|icmp|sctp HOST [PORT]

Prints the error that the application sees and what the answer is, such as

    ECONNREFUSED: TCP RST|ACK, ttl 128
    EHOSTUNREACH: ICMP 3/10, ttl 128
    EACCES: ICMPv6 1/1, ttl 128

or "no answer" after a second and a half.  Fails, and says why, if anything in the
answer is wrong: its MAC addresses and addresses, which must be those of what was
sent the contrary way, checksums, TCP's numbers, and what an ICMP error quotes,
which must be the packet as it was sent.
"""

import errno
import os
import select
import socket
import struct
import sys
import time

WAIT = 1.5 * float(os.environ.get('ADP_E2E_SLOW', '1'))
PROTOCOLS = {'tcp': 6, 'udp': 17, 'icmp': 1, 'icmp6': 58, 'sctp': 132}
# Bytes of the header that aren't a checksum, or before it.
SENT_AS_QUOTED = {17: 6, 1: 2, 58: 2}


def checksum(data):
    if len(data) % 2:
        data += b'\0'
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


class Packet:
    """An IPv4 packet in its frame."""

    ethertype, error_name = b'\x08\x00', 'ICMP'

    def __init__(self, frame):
        self.dl_dst, self.dl_src = frame[:6], frame[6:12]
        header_len = (frame[14] & 15) * 4
        total = struct.unpack_from('!H', frame, 16)[0]
        self.ip = frame[14:14 + total]
        self.header = self.ip[:header_len]
        self.payload = self.ip[header_len:]
        self.ttl, self.proto = self.ip[8], self.ip[9]
        self.src, self.dst = self.ip[12:16], self.ip[16:20]

    def is_true(self):
        pseudo = self.src + self.dst + struct.pack('!HH', self.proto,
                                                   len(self.payload))
        return (checksum(self.header) == 0
                and checksum((pseudo if self.proto == 6 else b'')
                             + self.payload) == 0)

    @staticmethod
    def without_ttl(header):
        return header[:8] + b'\0' + header[9:10] + b'\0\0' + header[12:]


class Packet6:
    """The same of IPv6."""

    ethertype, error_name = b'\x86\xdd', 'ICMPv6'

    def __init__(self, frame):
        self.dl_dst, self.dl_src = frame[:6], frame[6:12]
        length, self.proto, self.ttl = struct.unpack_from('!HBB', frame, 18)
        self.ip = frame[14:54 + length]
        self.header, self.payload = self.ip[:40], self.ip[40:]
        self.src, self.dst = self.ip[8:24], self.ip[24:40]

    def is_true(self):
        pseudo = self.src + self.dst + struct.pack('!II', len(self.payload),
                                                   self.proto)
        return (self.ip[0] >> 4 == 6
                and checksum(pseudo + self.payload) == 0)

    @staticmethod
    def without_ttl(header):
        return header[:7] + b'\0' + header[8:]


def need(true, what):
    if not true:
        sys.exit('wrong: ' + what)


def check_tcp(sent, answer):
    sport, dport, seq, ack, ctl = struct.unpack_from('!HHIIH', answer.payload)
    old_sport, old_dport, old_seq = struct.unpack_from('!HHI', sent.payload)
    need((sport, dport) == (old_dport, old_sport), 'ports')
    need(ctl & 0x3f == 0x14, 'flags %#x' % (ctl & 0x3f))
    need(ack == (old_seq + 1) % 2**32, 'ack %d of seq %d' % (ack, old_seq))
    need(seq == 0, 'seq %d' % seq)
    return 'TCP RST|ACK'


def check_icmp(sent, answer):
    kind, code = answer.payload[:2]
    quoted = answer.payload[8:]
    need(len(quoted) == len(sent.header) + 8, '%d bytes quoted' % len(quoted))
    # A router on the way has counted the TTL down.
    need(sent.without_ttl(quoted[:len(sent.header)])
         == sent.without_ttl(sent.header),
         'quotes %s, not %s' % (quoted.hex(), sent.header.hex()))
    # Checksums may have been left for later when the packet was sent.
    n = SENT_AS_QUOTED.get(sent.proto, 8)
    need(quoted[len(sent.header):][:n] == sent.payload[:n], 'quotes ' +
         quoted.hex())
    return '%s %d/%d' % (answer.error_name, kind, code)


def find(sniffer, kind, proto, host, end):
    """The first packet to 'host', and the first that comes back."""
    sent = None
    while time.monotonic() < end:
        if not select.select([sniffer], [], [], 0.05)[0]:
            continue
        frame, address = sniffer.recvfrom(65536)
        if frame[12:14] != kind.ethertype:
            continue
        packet = kind(frame)
        if address[2] == socket.PACKET_OUTGOING:
            if packet.dst == host and packet.proto == proto:
                sent = sent or packet
        elif sent and packet.src == host:
            return sent, packet
    return sent, None


def make_socket(family, protocol):
    if protocol not in ('tcp', 'udp'):
        return socket.socket(family, socket.SOCK_RAW, PROTOCOLS[protocol])
    return socket.socket(family, socket.SOCK_STREAM
                         if protocol == 'tcp' else socket.SOCK_DGRAM)


def payload_of(protocol):
    if protocol == 'icmp6':             # The kernel does the checksum.
        return struct.pack('!BBHHH', 128, 0, 0, 77, 1) + b'who\n'
    if protocol == 'icmp':
        data = bytearray(struct.pack('!BBHHH', 8, 0, 0, 77, 1) + b'who\n')
        struct.pack_into('!H', data, 2, checksum(bytes(data)))
        return bytes(data)
    return b'who\n'


def main():
    protocol, host = sys.argv[1:3]
    port = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    sniffer = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                            socket.htons(3))
    family, kind = ((socket.AF_INET6, Packet6) if ':' in host
                    else (socket.AF_INET, Packet))
    if family == socket.AF_INET6 and protocol == 'icmp':
        protocol = 'icmp6'
    sock = make_socket(family, protocol)
    sock.setblocking(False)
    end = time.monotonic() + WAIT
    error = sock.connect_ex((host, port))
    if protocol != 'tcp':
        sock.send(payload_of(protocol))
    sent, answer = find(sniffer, kind, PROTOCOLS[protocol],
                        socket.inet_pton(family, host), end)
    need(sent, 'nothing was sent')
    if not answer:
        print('no answer')
        return

    need(answer.dl_src == sent.dl_dst and answer.dl_dst == sent.dl_src,
         'MAC addresses')
    need(answer.dst == sent.src, 'destination')
    need(answer.is_true(), 'checksums of ' + answer.ip.hex())
    what = (check_tcp if answer.proto == 6 else check_icmp)(sent, answer)
    while error in (0, errno.EINPROGRESS) and time.monotonic() < end:
        error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    print('%s: %s, ttl %d' % (errno.errorcode.get(error, 'no error'), what,
                              answer.ttl))


if __name__ == '__main__':
    main()
