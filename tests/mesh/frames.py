# SPDX-License-Identifier: Apache-2.0
"""Probes as frames: TCP (a SYN), UDP, SCTP (an INIT) and ICMP, of both
families, and what comes of them: the same arrived, answers, refusals; and
messages of IGMP.  (Those of DNS are in names.py.)

A probe bears a number of 32 bits, where each protocol has room for it, and NAT
leaves it alone: TCP's sequence number, SCTP's initiate tag, the payload of
others.  Answers bear it as well.  Of what an ICMP error quotes eight bytes of
the transport's header are left: there the ports tell."""

import functools
import ipaddress
import struct

TCP, UDP, SCTP, ICMP = 'TCP', 'UDP', 'SCTP', 'ICMP'
NUMBERS = {TCP: 6, UDP: 17, SCTP: 132}
NAMES = {number: name for name, number in NUMBERS.items()}
ICMP4, ICMP6 = 1, 58
ECHO = {4: 8, 6: 128}
ECHO_REPLY = {4: 0, 6: 129}
TIMESTAMP = 13                  # IPv4 only.
IGMP = 2
QUERY, REPORT_V1, REPORT_V2, LEAVE, REPORT_V3 = 0x11, 0x12, 0x16, 0x17, 0x22
TO_INCLUDE, TO_EXCLUDE = 3, 4   # Of version 3: leaving and joining.
ALL_HOSTS, ALL_ROUTERS, ALL_V3 = '224.0.0.1', '224.0.0.2', '224.0.0.22'
ROUTER_ALERT = b'\x94\x04\0\0'   # What hosts send IGMP with.
DNS_PORT = 53
DNS_NUMBER = 0xd0000000         # And the message's ID: a probe's number.
UNREACHABLE = {4: 3, 6: 1}
PROHIBITED = {4: 10, 6: 1}      # The code of a rule that rejects.
SYN, RST, ACK = 2, 4, 16

# What a frame is.
PROBE, ANSWER, RESET, ERROR, DATA = 'probe', 'answer', 'reset', 'error', 'data'


def checksum(data):
    if len(data) & 1:
        data += b'\0'
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total ^ 0xffff


def crc32c_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC32C = crc32c_table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ CRC32C[(crc ^ byte) & 0xff]
    return struct.pack('<I', crc ^ 0xffffffff)


def mac(text):
    return bytes.fromhex(text.replace(':', ''))


@functools.lru_cache(maxsize=None)
def packed(address):
    return ipaddress.ip_address(address).packed


def pseudo(src, dst, number, length):
    if len(src) == 4:
        return src + dst + struct.pack('!BBH', 0, number, length)
    return src + dst + struct.pack('!IxxxB', length, number)


def ip_frame(dl_dst, dl_src, src, dst, number, payload, options=b''):
    """'src' and 'dst' are packed addresses, the MACs bytes."""
    if len(src) == 4:
        length = 20 + len(options)
        header = struct.pack('!BBHHHBBH', 0x40 | length // 4, 0,
                             length + len(payload), 0, 0x4000,
                             1 if number == IGMP else 64, number,
                             0) + src + dst + options
        header = (header[:10] + struct.pack('!H', checksum(header))
                  + header[12:])
        ethertype = b'\x08\x00'
    else:
        header = struct.pack('!IHBB', 6 << 28, len(payload), number,
                             64) + src + dst
        ethertype = b'\x86\xdd'
    return dl_dst + dl_src + ethertype + header + payload


def tcp(src, dst, sport, dport, seq, ack, flags, data=b''):
    segment = struct.pack('!HHIIBBHHH', sport, dport, seq, ack, 5 << 4, flags,
                          0xffff, 0, 0) + data
    total = checksum(pseudo(src, dst, 6, len(segment)) + segment)
    return segment[:16] + struct.pack('!H', total) + segment[18:]


def udp(src, dst, sport, dport, data):
    length = 8 + len(data)
    head = struct.pack('!HHH', sport, dport, length)
    total = checksum(pseudo(src, dst, 17, length) + head + b'\0\0' + data)
    return head + struct.pack('!H', total or 0xffff) + data


def sctp(sport, dport, vtag, kind, tag):
    """INIT (1) or INIT ACK (2)."""
    head = struct.pack('!HHI', sport, dport, vtag)
    value = struct.pack('!IIHHI', tag, 65536, 1, 1, 1)
    if kind == 2:
        value += struct.pack('!HH4s', 7, 8, b'cake')
    chunk = struct.pack('!BBH', kind, 0, 4 + len(value)) + value
    return head + crc32c(head + bytes(4) + chunk) + chunk


def icmp(src, dst, kind, ident, number):
    data = struct.pack('!BBHHHI', kind, 0, 0, ident, 0, number)
    if kind == TIMESTAMP:
        data += bytes(8)
    head = b'' if len(src) == 4 else pseudo(src, dst, ICMP6, len(data))
    total = checksum(head + data)
    return data[:2] + struct.pack('!H', total) + data[4:]


def multicast_mac(group):
    return b'\x01\0\x5e' + bytes([group[1] & 0x7f]) + group[2:]


def igmp_checked(message):
    return message[:2] + struct.pack('!H', checksum(message)) + message[4:]


def igmp_report(kind, joins, groups):
    """[(destination, message)] of what tells of 'groups', packed addresses;
    of LEAVE and the older reports one each."""
    if kind == REPORT_V3:
        records = b''.join(struct.pack('!BBH4s', TO_EXCLUDE if joins
                                       else TO_INCLUDE, 0, 0, group)
                           for group in groups)
        return [(packed(ALL_V3), igmp_checked(struct.pack(
            '!BBHHH', kind, 0, 0, 0, len(groups)) + records))]
    return [(packed(ALL_ROUTERS) if kind == LEAVE else group,
             igmp_checked(struct.pack('!BBH4s', kind, 0, 0, group)))
            for group in groups]


def igmp_query(group, number):
    """Of version 3, about 'group' or all of them: the number is a source."""
    about = bytes(4) if group == packed(ALL_HOSTS) else group
    return igmp_checked(struct.pack('!BBH4sBBHI', QUERY, 10, 0, about, 0, 125,
                                    1, number))


def payload(protocol, src, dst, sport, dport, number):
    """A probe's transport header and what follows; 'dport' is ICMP's type,
    and 'sport' its identifier."""
    if protocol == TCP:
        return 6, tcp(src, dst, sport, dport, number, 0, SYN)
    if protocol == UDP:
        return 17, udp(src, dst, sport, dport, struct.pack('!I', number))
    if protocol == SCTP:
        return 132, sctp(sport, dport, 0, 1, number)
    return (ICMP4 if len(src) == 4 else ICMP6,
            icmp(src, dst, dport, sport, number))


class Frame:
    """What arrived: what it is, and the number of the probe that it is or
    answers; for errors the probe's key (see key_of())."""

    __slots__ = ('kind', 'protocol', 'src', 'dst', 'sport', 'dport', 'number',
                 'code', 'key', 'sound', 'data')

    def __init__(self, protocol, src, dst):
        self.protocol = protocol
        self.src = src
        self.dst = dst
        self.sport = self.dport = 0
        self.kind = self.number = self.code = self.key = self.data = None
        self.sound = True


def key_of(protocol, src, dst, sport, dport):
    return protocol, src, dst, sport, dport


def split(frame):
    """(protocol number, source, destination, payload) of a frame, or None."""
    if frame[12:14] == b'\x08\x00':
        start = 14 + (frame[14] & 15) * 4
        end = 14 + struct.unpack_from('!H', frame, 16)[0]
        return frame[23], frame[26:30], frame[30:34], frame[start:end]
    if frame[12:14] == b'\x86\xdd':
        end = 54 + struct.unpack_from('!H', frame, 18)[0]
        return frame[20], frame[22:38], frame[38:54], frame[54:end]
    return None


def parse(raw):
    """A Frame, or None for what is none of ours."""
    parts = split(raw)
    if not parts or len(parts[3]) < 8:
        return None
    number, src, dst, rest = parts
    name = NAMES.get(number, ICMP)
    frame = Frame(name, src, dst)
    if name == TCP:
        return parse_tcp(frame, rest)
    if name == UDP:
        return parse_udp(frame, rest)
    if name == SCTP:
        return parse_sctp(frame, rest)
    if number in (ICMP4, ICMP6):
        return parse_icmp(frame, rest)
    return parse_igmp(frame, rest) if number == IGMP else None


def parse_igmp(frame, rest):
    """Queries without our number are the datapath's own."""
    frame.protocol, frame.sound = 'IGMP', checksum(rest) == 0
    if rest[0] == QUERY:
        if len(rest) != 16:
            return None
        frame.kind, frame.number = PROBE, struct.unpack_from('!I', rest, 12)[0]
    return frame


def parse_tcp(frame, rest):
    frame.sport, frame.dport, seq, ack, _, flags = struct.unpack_from(
        '!HHIIBB', rest)
    frame.sound = checksum(pseudo(frame.src, frame.dst, 6, len(rest))
                           + rest) == 0
    if flags == SYN:
        frame.kind, frame.number = PROBE, seq
    elif flags == SYN | ACK:
        frame.kind, frame.number = ANSWER, (ack - 1) & 0xffffffff
    elif flags & RST:
        frame.kind, frame.number = RESET, (ack - 1) & 0xffffffff
    else:
        frame.kind, frame.data = DATA, rest[20:]
    return frame


def parse_udp(frame, rest):
    frame.sport, frame.dport = struct.unpack_from('!HH', rest)
    frame.sound = checksum(pseudo(frame.src, frame.dst, 17, len(rest))
                           + rest) == 0
    if len(rest) == 12:
        frame.kind, frame.number = PROBE, struct.unpack_from('!I', rest, 8)[0]
    elif len(rest) == 16:
        frame.kind, frame.number = ANSWER, struct.unpack_from('!I', rest, 8)[0]
    elif DNS_PORT in (frame.sport, frame.dport) and len(rest) > 20:
        ident, flags = struct.unpack_from('!HH', rest, 8)
        frame.kind = ANSWER if flags >> 15 else PROBE
        frame.number = DNS_NUMBER | ident
        frame.data = rest[8:]
    return frame


def parse_sctp(frame, rest):
    frame.sport, frame.dport, vtag = struct.unpack_from('!HHI', rest)
    frame.sound = rest[8:12] == crc32c(rest[:8] + bytes(4) + rest[12:])
    if len(rest) >= 32 and rest[12] in (1, 2):
        frame.kind = PROBE if rest[12] == 1 else ANSWER
        frame.number = (vtag if rest[12] == 2
                        else struct.unpack_from('!I', rest, 16)[0])
    return frame


def parse_icmp(frame, rest):
    family = 4 if len(frame.src) == 4 else 6
    head = b'' if family == 4 else pseudo(frame.src, frame.dst, ICMP6,
                                          len(rest))
    frame.sound = checksum(head + rest) == 0
    frame.dport = kind = rest[0]
    if kind == UNREACHABLE[family]:
        frame.kind, frame.code = ERROR, rest[1]
        frame.key = quoted_key(family, rest[8:])
    elif kind in (ECHO[family], TIMESTAMP) and len(rest) >= 12:
        frame.kind = PROBE
        frame.sport, frame.number = struct.unpack_from('!HxxI', rest, 4)
    elif kind == ECHO_REPLY[family] and len(rest) >= 12:
        frame.kind = ANSWER
        frame.sport, frame.number = struct.unpack_from('!HxxI', rest, 4)
    return frame


def quoted_key(family, quoted):
    if family == 4:
        number, src, dst = quoted[9], quoted[12:16], quoted[16:20]
        rest = quoted[(quoted[0] & 15) * 4:]
    else:
        number, src, dst = quoted[6], quoted[8:24], quoted[24:40]
        rest = quoted[40:]
    if number in (ICMP4, ICMP6):
        return key_of(ICMP, src, dst, struct.unpack_from('!H', rest, 4)[0],
                      rest[0])
    return key_of(NAMES.get(number), src, dst,
                  *struct.unpack_from('!HH', rest))


def answer(frame):
    """(protocol number, payload) of what the receiver of a probe would say
    first, or None where it says nothing."""
    src, dst = frame.dst, frame.src
    if frame.protocol == TCP:
        return 6, tcp(src, dst, frame.dport, frame.sport, 1,
                      (frame.number + 1) & 0xffffffff, SYN | ACK)
    if frame.protocol == UDP:
        return 17, udp(src, dst, frame.dport, frame.sport,
                       struct.pack('!II', frame.number, 0))
    if frame.protocol == SCTP:
        return 132, sctp(frame.dport, frame.sport, frame.number, 2, 1)
    family = 4 if len(src) == 4 else 6
    if frame.dport != ECHO[family]:
        return None
    return (ICMP4 if family == 4 else ICMP6,
            icmp(src, dst, ECHO_REPLY[family], frame.sport, frame.number))
