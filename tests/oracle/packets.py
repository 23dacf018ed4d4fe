# SPDX-License-Identifier: Apache-2.0
"""Ethernet frames from fields, and fields from frames.  Addresses are text, as
in tcpdump."""

import copy
import socket
import struct

FIN, SYN, RST, PSH, ACK, URG = 1, 2, 4, 8, 16, 32
ICMP, TCP, UDP, SCTP, ICMP6 = 1, 6, 17, 132, 58
IPV4, ARP, IPV6, VLAN = 0x800, 0x806, 0x86dd, 0x8100
L4_OF_TEXT = {'tcp': TCP, 'udp': UDP, 'icmp': ICMP, 'icmp6': ICMP6}


def mac_bytes(text):
    return bytes.fromhex(text.replace(':', ''))


def mac_text(data):
    return ':'.join('%02x' % byte for byte in data)


def ip_bytes(text):
    return socket.inet_pton(socket.AF_INET6 if ':' in text
                            else socket.AF_INET, text)


def ip_text(data):
    return socket.inet_ntop(socket.AF_INET6 if len(data) == 16
                            else socket.AF_INET, data)


def checksum(data):
    if len(data) % 2:
        data += b'\0'
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = CRC32C[(crc ^ byte) & 0xff] ^ crc >> 8
    return struct.pack('<I', crc ^ 0xffffffff)


def crc32c_of_byte(byte):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
    return byte


CRC32C = [crc32c_of_byte(byte) for byte in range(256)]


# IPv6's extension headers that OVS passes to find the protocol.
PASSED = {0, 43, 44, 51, 60}


def chunk(kind, value=b'', flags=0):
    """A chunk of SCTP."""
    return struct.pack('!BBH', kind, flags, 4 + len(value)) + value \
        + bytes(-len(value) % 4)


def init_chunk(kind, tag):
    return chunk(kind, struct.pack('!IIHHI', tag, 65536, 1, 1, 1))


def arp(op, sha, spa, tha, tpa, dst='ff:ff:ff:ff:ff:ff'):
    return ethernet(sha, dst, ARP, arp_body(op, sha, spa, tha, tpa))


def arp_body(op, sha, spa, tha, tpa):
    return struct.pack('!HHBBH', 1, IPV4, 6, 4, op) + mac_bytes(sha) \
        + ip_bytes(spa) + mac_bytes(tha) + ip_bytes(tpa)


def ethernet(src, dst, ethertype, payload, vlans=(), tpid=VLAN):
    tags = b''.join(struct.pack('!HH', tpid, tci) for tci in vlans)
    return mac_bytes(dst) + mac_bytes(src) + tags \
        + struct.pack('!H', ethertype) + payload


class Packet:
    """An IP packet in a frame.  What it is given as fields is what it
    says, be it true or not."""

    def __init__(self, **fields):
        self.eth_src = self.eth_dst = '00:00:00:00:00:00'
        self.vlans = []                 # TCIs, outermost first.
        self.src = self.dst = None
        self.proto = UDP
        self.tos, self.ttl = 0, 64
        # What a packet is known by: IPv4 identification, IPv6 flow label.  With
        # a 'label', TCP's urgent pointer or the end of UDP's data instead.
        self.tag = 0
        self.label = None
        self.frag = 0                   # IPv4 flags and offset.
        self.ip_options = b''
        self.sport = self.dport = 0     # Of ICMP: type and code.
        self.flags = self.seq = self.ack = 0
        self.window = 65535
        self.options = b''              # TCP's.
        self.rest = 0                   # ICMP: identifier and sequence.
        self.vtag = 0                   # SCTP's.  'data' are its chunks.
        self.data = b''
        self.trailer = b''              # Behind the IP packet.
        self.bad_ip_sum = self.bad_sum = self.no_sum = False
        self.raw = None                 # In place of a transport header.
        self.tpid = VLAN
        self.extensions = ()            # IPv6: (type, content) of each header.
        self.more_len = 0               # Longer than it is, says the IP header.
        self.first_byte = None          # Of the IP header, if it isn't right.
        self.l4_changes = {}            # Offset: byte.  Before the checksum.
        self.other = None               # (Ethertype, payload): it isn't IP.
        for name, value in fields.items():
            setattr(self, name, value)

    def but(self, **fields):
        """A copy with other 'fields'."""
        other = copy.copy(self)
        for name, value in fields.items():
            setattr(other, name, value)
        return other

    @property
    def v6(self):
        return ':' in self.src

    @property
    def has_label(self):
        """True if all packets of the connection may have the same one."""
        return self.label is not None and self.proto in (TCP, UDP)

    def mirror(self, **fields):
        """What whoever got this packet would answer from."""
        return Packet(eth_src=self.eth_dst, eth_dst=self.eth_src,
                      vlans=self.vlans, src=self.dst, dst=self.src,
                      proto=self.proto, sport=self.dport, dport=self.sport,
                      **fields)

    def transport(self):
        """The header and data, and where in it the checksum is."""
        if self.proto == TCP:
            options = self.options + bytes(-len(self.options) % 4)
            return struct.pack(
                '!HHIIBBHHH', self.sport, self.dport, self.seq & 0xffffffff,
                self.ack & 0xffffffff, (5 + len(options) // 4) << 4,
                self.flags, self.window, 0,
                self.tag if self.has_label else 0) + options + self.data, 16
        if self.proto == UDP:
            data = self.data
            if self.has_label:
                data += struct.pack('!H', self.tag)
            return struct.pack('!HHHH', self.sport, self.dport,
                               8 + len(data), 0) + data, 6
        if self.proto in (ICMP, ICMP6):
            return struct.pack('!BBHI', self.sport, self.dport, 0,
                               self.rest) + self.data, 2
        return struct.pack('!HHII', self.sport, self.dport, self.vtag, 0) \
            + self.data, 8 if self.proto == SCTP else None

    def segment(self):
        if self.raw is not None:
            return self.raw
        segment, offset = self.transport()
        for place, byte in self.l4_changes.items():
            segment = segment[:place] + bytes([byte]) + segment[place + 1:]
        if offset is None or self.no_sum:
            return segment
        if self.proto == SCTP:
            value = crc32c(segment + b'\0' * self.bad_sum)
            return segment[:offset] + value + segment[offset + 4:]
        pseudo = b''
        if self.proto != ICMP:
            pseudo = ip_bytes(self.src) + ip_bytes(self.dst) \
                + struct.pack('!II' if self.v6 else '!HH',
                              *((len(segment), self.proto) if self.v6
                                else (self.proto, len(segment))))
        value = checksum(pseudo + segment)
        if self.proto == UDP and value == 0:
            value = 0xffff
        if self.bad_sum:
            value ^= 0x5a5a
        return segment[:offset] + struct.pack('!H', value) \
            + segment[offset + 2:]

    def shown_proto(self):
        """The protocol that a switch takes it for: of IPv6, also the first
        extension header that it can't pass."""
        return next((kind for kind, _ in self.extensions
                     if kind not in PASSED), self.proto)

    def ip(self):
        segment = self.segment()
        if self.v6:
            proto = self.proto
            for kind, content in reversed(self.extensions):
                segment = bytes([proto]) + content + segment
                proto = kind
            first = self.first_byte or 0x60
            return struct.pack('!IHBB',
                               (first << 24) | self.tos << 20 | (
                                   self.label if self.has_label else self.tag),
                               max(0, len(segment) + self.more_len) & 0xffff,
                               proto, self.ttl) \
                + ip_bytes(self.src) + ip_bytes(self.dst) + segment
        header = struct.pack('!BBHHHBBH',
                             self.first_byte
                             or 0x45 + len(self.ip_options) // 4,
                             self.tos,
                             max(0, 20 + len(self.ip_options) + len(segment)
                                 + self.more_len) & 0xffff,
                             self.tag, self.frag, self.ttl, self.proto, 0)
        header += ip_bytes(self.src) + ip_bytes(self.dst) + self.ip_options
        value = checksum(header) ^ (0x1234 if self.bad_ip_sum else 0)
        return header[:10] + struct.pack('!H', value) + header[12:] + segment

    def frame(self):
        if self.other:
            return ethernet(self.eth_src, self.eth_dst, *self.other,
                            self.vlans, self.tpid) + self.trailer
        return ethernet(self.eth_src, self.eth_dst,
                        IPV6 if self.v6 else IPV4, self.ip(),
                        self.vlans, self.tpid) + self.trailer


LABELS = [0, 0x80001, 0xfffff]  # None is a tag.


def behind_tags(frame, types=(b'\x81\0', b'\x88\xa8')):
    """Where in 'frame' the Ethertype is, behind whole VLAN tags of 'types'."""
    offset = 12
    while frame[offset:offset + 2] in types and len(frame) >= offset + 4:
        offset += 4
    return offset


def parse(frame):
    """The Packet in 'frame', as far as an answer or a match needs it, or None
    if it isn't IP."""
    offset = behind_tags(frame, (b'\x81\0',))
    vlans = [struct.unpack_from('!H', frame, at + 2)[0]
             for at in range(12, offset, 4)]
    ethertype = int.from_bytes(frame[offset:offset + 2], 'big')
    ip = frame[offset + 2:]
    p = Packet(eth_dst=mac_text(frame[:6]), eth_src=mac_text(frame[6:12]),
               vlans=vlans)
    try:
        if ethertype == IPV4:
            size = (ip[0] & 15) * 4
            p.tos, p.ttl, p.proto = ip[1], ip[8], ip[9]
            p.tag, p.frag = struct.unpack_from('!HH', ip, 4)
            p.src, p.dst = ip_text(ip[12:16]), ip_text(ip[16:20])
            segment = ip[size:int.from_bytes(ip[2:4], 'big')]
        elif ethertype == IPV6:
            word, size, p.proto, p.ttl = struct.unpack_from('!IHBB', ip)
            p.tos, p.tag = word >> 20 & 0xff, word & 0xfffff
            p.src, p.dst = ip_text(ip[8:24]), ip_text(ip[24:40])
            segment = ip[40:40 + size]
        else:
            return None
        if p.proto in (ICMP, ICMP6):
            p.sport, p.dport, _, p.rest = struct.unpack_from('!BBHI', segment)
        else:
            p.sport, p.dport = struct.unpack_from('!HH', segment)
        if p.proto == TCP:
            p.flags = segment[13]
        if p.v6 and p.tag in LABELS and p.proto in (TCP, UDP):
            p.label = p.tag
            p.tag, = struct.unpack('!H', segment[18:20] if p.proto == TCP
                                   else segment[-2:])
    except (struct.error, IndexError, ValueError):
        return None if p.dst is None else p
    return p


def flow(p):
    """'p' as the flow that a trace starts from."""
    names = {TCP: 'tcp', UDP: 'udp', SCTP: 'sctp', ICMP: 'icmp',
             ICMP6: 'icmp6'}
    kind = names.get(p.proto, 'ip')
    if p.v6:
        kind = {'ip': 'ipv6', 'icmp6': 'icmp6'}.get(kind, kind + '6')
    address = 'ipv6' if p.v6 else 'nw'
    text = '%s,dl_src=%s,dl_dst=%s,%s_src=%s,%s_dst=%s,nw_tos=%d,nw_ecn=%d,' \
        'nw_ttl=%d' % (kind, p.eth_src, p.eth_dst, address, p.src, address,
                       p.dst, p.tos & ~3, p.tos & 3, p.ttl)
    if p.proto in (TCP, UDP, SCTP):
        name = names[p.proto]
        text += ',%s_src=%d,%s_dst=%d' % (name, p.sport, name, p.dport)
    elif p.proto in (ICMP, ICMP6):
        name = 'icmpv6' if p.v6 else 'icmp'
        text += ',%s_type=%d,%s_code=%d' % (name, p.sport, name, p.dport)
    if p.proto == TCP:
        text += ',tcp_flags=0x%x' % p.flags
    return text
