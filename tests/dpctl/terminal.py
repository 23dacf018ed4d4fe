#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program on a terminal of its own until it has drawn twice.

usage: terminal.py q|INT PROGRAM [ARG...]

Then types "q", or what interrupts.  Prints what the program wrote, and
whether it left the terminal as it was.  Status: 0 if the program ended as it
should, 1 if not.
"""

import os
import pty
import signal
import subprocess
import sys
import termios

KEYS = {"q": b"q", "INT": b"\x03"}
ENDS = {"q": 0, "INT": -signal.SIGINT}
HOME = b"\033[H"                # Each drawing begins with it.
SHOW_CURSOR = b"\033[?25h"


def read(fd):
    try:
        return os.read(fd, 65536)
    except OSError:             # Linux's way to say that nobody is there.
        return b""


def main():
    how, command = sys.argv[1], sys.argv[2:]
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(ours)

    # In a session with this terminal, so that it may interrupt.
    program = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
        preexec_fn=lambda: os.close(os.open(os.ttyname(theirs), os.O_RDWR)))
    os.close(theirs)
    output = b""
    while output.count(HOME) < 3:
        data = read(ours)
        if not data:
            break
        output += data
    os.write(ours, KEYS[how])
    while data := read(ours):
        output += data
    status = program.wait()
    after = termios.tcgetattr(ours)

    print(output.decode())
    if before == after and SHOW_CURSOR in output:
        print("the terminal is as before")
    print("status %d" % status)
    return 0 if status == ENDS[how] else 1


if __name__ == "__main__":
    sys.exit(main())
