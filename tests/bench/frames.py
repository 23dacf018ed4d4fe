# SPDX-License-Identifier: Apache-2.0
"""Ethernet frames of TCP and UDP."""

import ipaddress
import struct

SYN, ACK, PSH = 2, 16, 8
MIN_LEN = 60                    # Without the checksum at the end.
HEADERS_LEN = {4: 34, 6: 54}    # Of Ethernet and IP.
TCP_LEN, UDP_LEN = 20, 8
PROTOCOLS = {'tcp': 6, 'udp': 17}
CLIENT_SEQ, SERVER_SEQ = 0x10000000, 0x20000000


def mac_bytes(mac):
    return bytes.fromhex(mac.replace(':', ''))


def ip_bytes(ip):
    return ipaddress.ip_address(ip).packed


def version(ip):
    return ipaddress.ip_address(ip).version


def l4_ofs(frame):
    """Where the header of TCP or UDP begins in 'frame'."""
    return HEADERS_LEN[frame[14] >> 4]


def checksum(data):
    if len(data) % 2:
        data += b'\0'
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip_header(src, dst, protocol, payload_len):
    if version(src) == 6:
        return struct.pack('!IHBB', 6 << 28, payload_len, PROTOCOLS[protocol],
                           64) + ip_bytes(src) + ip_bytes(dst)
    header = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + payload_len, 1,
                         0x4000, 64, PROTOCOLS[protocol], 0, ip_bytes(src),
                         ip_bytes(dst))
    return header[:10] + struct.pack('!H', checksum(header)) + header[12:]


def l4_bytes(src, dst, protocol, header, checksum_ofs, payload):
    pseudo = ip_bytes(src) + ip_bytes(dst) + struct.pack(
        '!BBH', 0, PROTOCOLS[protocol], len(header) + len(payload))
    value = checksum(pseudo + header + payload)
    if protocol == 'udp':
        value = value or 0xffff
    return (header[:checksum_ofs] + struct.pack('!H', value)
            + header[checksum_ofs + 2:] + payload)


def ethernet(src_mac, dst_mac, src, dst, protocol, l4):
    ethertype = {4: b'\x08\x00', 6: b'\x86\xdd'}[version(src)]
    frame = (mac_bytes(dst_mac) + mac_bytes(src_mac) + ethertype
             + ip_header(src, dst, protocol, len(l4)) + l4)
    return frame.ljust(MIN_LEN, b'\0')


def udp(src_mac, dst_mac, src, dst, sport, dport, size=MIN_LEN):
    payload = bytes(max(0, size - HEADERS_LEN[version(src)] - UDP_LEN))
    header = struct.pack('!HHHH', sport, dport, 8 + len(payload), 0)
    return ethernet(src_mac, dst_mac, src, dst, 'udp',
                    l4_bytes(src, dst, 'udp', header, 6, payload))


def tcp(src_mac, dst_mac, src, dst, sport, dport, phase='data',
        size=MIN_LEN):
    """'phase' of a connection: "syn", "ack" (of the handshake), "data"."""
    flags = {'syn': SYN, 'ack': ACK, 'data': ACK | PSH}[phase]
    seq, ack = ((CLIENT_SEQ, 0) if phase == 'syn'
                else (CLIENT_SEQ + 1, SERVER_SEQ + 1))
    payload = (bytes(max(6, size - HEADERS_LEN[version(src)] - TCP_LEN))
               if phase == 'data' else b'')
    header = struct.pack('!HHIIBBHHH', sport, dport, seq, ack, 0x50, flags,
                         65535, 0, 0)
    return ethernet(src_mac, dst_mac, src, dst, 'tcp',
                    l4_bytes(src, dst, 'tcp', header, 16, payload))
