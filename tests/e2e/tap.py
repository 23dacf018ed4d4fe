#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands behind the ports that packets are redirected to.

  tap.py IN OUT         forwards each frame that comes by interface IN to OUT,
                        unchanged, and prints a line for each: its VLAN or
                        "-", its length

A VLAN header comes beside the frame, where the kernel has put it, and is put
back.
"""

import socket
import struct
import sys

PACKET_AUXDATA = 8
SOL_PACKET = 263
ETH_P_ALL = 3
TP_STATUS_VLAN_VALID = 1 << 4


def open_socket(name):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                      socket.htons(ETH_P_ALL))
    s.bind((name, ETH_P_ALL))
    s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    return s


def vlan_of(ancillary):
    """The TCI, or None."""
    for level, kind, data in ancillary:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, _ = struct.unpack("=IIIHHHH", data[:20])
            if status & TP_STATUS_VLAN_VALID:
                return tci
    return None


def main():
    source, target = open_socket(sys.argv[1]), open_socket(sys.argv[2])
    print("ready", flush=True)
    while True:
        frame, ancillary, _, address = source.recvmsg(65536, 1024)
        if address[2] == socket.PACKET_OUTGOING:
            continue
        tci = vlan_of(ancillary)
        if tci is not None:
            frame = frame[:12] + struct.pack("!HH", 0x8100, tci) + frame[12:]
        print("-" if tci is None else tci & 0xfff, len(frame), flush=True)
        target.send(frame)


if __name__ == "__main__":
    main()
