#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends a frame as fast as one thread can: many a system call, past the
network's stack and queueing discipline, so that little of what is measured
is the sender's.

    flood.py DEVICE SECONDS <FRAME

Prints how many frames the device took, and in how many seconds."""

import ctypes
import errno
import os
import socket
import sys
import time

BATCH = 256
SOL_PACKET, PACKET_QDISC_BYPASS = 263, 20


class IoVec(ctypes.Structure):
    _fields_ = [('base', ctypes.c_char_p), ('len', ctypes.c_size_t)]


class MsgHdr(ctypes.Structure):
    _fields_ = [('name', ctypes.c_void_p), ('namelen', ctypes.c_uint32),
                ('iov', ctypes.POINTER(IoVec)), ('iovlen', ctypes.c_size_t),
                ('control', ctypes.c_void_p),
                ('controllen', ctypes.c_size_t), ('flags', ctypes.c_int)]


class MMsgHdr(ctypes.Structure):
    _fields_ = [('hdr', MsgHdr), ('len', ctypes.c_uint)]


def main(device, seconds):
    libc = ctypes.CDLL(None, use_errno=True)
    frame = sys.stdin.buffer.read()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((device, 0))
        s.setsockopt(SOL_PACKET, PACKET_QDISC_BYPASS, 1)
        iov = IoVec(frame, len(frame))
        messages = (MMsgHdr * BATCH)()
        for message in messages:
            message.hdr.iov = ctypes.pointer(iov)
            message.hdr.iovlen = 1
        n, began = 0, time.monotonic()
        while (passed := time.monotonic() - began) < float(seconds):
            sent = libc.sendmmsg(s.fileno(), messages, BATCH, 0)
            if sent >= 0:
                n += sent
            elif ctypes.get_errno() != errno.ENOBUFS:
                raise OSError(ctypes.get_errno(),
                              os.strerror(ctypes.get_errno()))
    print(n, passed)


if __name__ == '__main__':
    main(*sys.argv[1:])
