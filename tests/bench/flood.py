#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends UDP as fast as one thread can, many packets a system call.

    flood.py ADDRESS PORT PAYLOAD SECONDS

Prints how many packets the kernel took, and in how many seconds."""

import ctypes
import os
import socket
import sys
import time

BATCH = 128


class IoVec(ctypes.Structure):
    _fields_ = [('base', ctypes.c_char_p), ('len', ctypes.c_size_t)]


class MsgHdr(ctypes.Structure):
    _fields_ = [('name', ctypes.c_void_p), ('namelen', ctypes.c_uint32),
                ('iov', ctypes.POINTER(IoVec)), ('iovlen', ctypes.c_size_t),
                ('control', ctypes.c_void_p),
                ('controllen', ctypes.c_size_t), ('flags', ctypes.c_int)]


class MMsgHdr(ctypes.Structure):
    _fields_ = [('hdr', MsgHdr), ('len', ctypes.c_uint)]


def main(address, port, payload, seconds):
    libc = ctypes.CDLL(None, use_errno=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((address, int(port)))
        iov = IoVec(b'\0' * int(payload), int(payload))
        messages = (MMsgHdr * BATCH)()
        for message in messages:
            message.hdr.iov = ctypes.pointer(iov)
            message.hdr.iovlen = 1
        n, began = 0, time.monotonic()
        while (passed := time.monotonic() - began) < float(seconds):
            sent = libc.sendmmsg(s.fileno(), messages, BATCH, 0)
            if sent < 0:
                raise OSError(ctypes.get_errno(),
                              os.strerror(ctypes.get_errno()))
            n += sent
    print(n, passed)


if __name__ == '__main__':
    main(*sys.argv[1:])
