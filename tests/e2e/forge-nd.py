#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends one message of neighbour discovery as somebody else would.

  forge-nd.py IFACE advertise MAC SOURCE TARGET LINK   to all nodes, with the
                                        link-layer address LINK for TARGET
  forge-nd.py IFACE solicit MAC SOURCE TARGET LINK     for TARGET, with the
                                        source's link-layer address LINK, or
                                        "-" without that option

MAC is the frame's source.
"""

import ipaddress
import socket
import struct
import sys


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def main():
    iface, what, frame_mac, source, target, link = sys.argv[1:]
    source = ipaddress.ip_address(source).packed
    target = ipaddress.ip_address(target).packed
    if what == "advertise":
        kind, flags, option = 136, 0x20000000, 2
        destination = ipaddress.ip_address("ff02::1").packed
    else:
        kind, flags, option = 135, 0, 1
        destination = (ipaddress.ip_address("ff02::1:ff00:0").packed[:13]
                       + target[13:])
    body = struct.pack("!BBHI", kind, 0, 0, flags) + target
    if link != "-":
        body += struct.pack("!BB", option, 1) + mac(link)
    pseudo = source + destination + struct.pack("!II", len(body), 58)
    body = body[:2] + struct.pack("!H", checksum(pseudo + body)) + body[4:]
    packet = (struct.pack("!IHBB", 6 << 28, len(body), 58, 255)
              + source + destination + body)
    frame = (b"\x33\x33" + destination[12:] + mac(frame_mac)
             + struct.pack("!H", 0x86dd) + packet)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((iface, 0))
    s.send(frame)


main()
