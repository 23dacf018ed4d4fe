#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that send calls before the ones in front are answered.

    sent-ahead.py SOCKET

Prints what isn't as it should be."""

import json
import socket
import sys
import threading

from rpc import Client

AHEAD = 100                     # More than the daemon takes up at a time.
HOLDS = 30


def group(name, i=0):
    return {"kind": "AddressGroup", "name": name,
            "addresses": ["10.%d.%d.0/24" % (i >> 8 & 255, i & 255)]}


def expect(what, want, have):
    if want != have:
        print("%s: %s in the place of %s" % (what, have, want))


def in_order(path):
    """Each call has its own answer, and sees what those before it did."""
    client = Client(path, 60)
    first = client.call("get", kind="Pod")[0]["generation"]
    for i in range(AHEAD):
        client.send("apply", records=[group("a", i)])
        if i % 10 == 3:
            client.send("apply", records=[{"kind": "AddressGroup"}])
            client.send("get", kind="AddressGroup", name="a")
            client.send("delete", records=[{"kind": "AddressGroup",
                                            "name": "none"}])
    for i in range(AHEAD):
        result, _ = client.reply()
        expect("apply %d" % i, {"generation": first + 1 + i, "applied": 1},
               result)
        if i % 10 == 3:
            expect("a wrong one", "invalid", client.reply()[1]["code"])
            expect("get", {"generation": first + 1 + i,
                           "records": [group("a", i)]}, client.reply()[0])
            expect("delete", "missing", client.reply()[1]["code"])


def half_closed(path):
    """Who says that no more comes gets all answers."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    for i in range(AHEAD):
        s.sendall(json.dumps({"method": "apply", "id": i, "params": [
            {"records": [group("b", i)]}]}).encode())
    s.shutdown(socket.SHUT_WR)
    with s.makefile() as f:
        replies = [json.loads(line) for line in f]
    expect("answers", list(range(AHEAD)), [r["id"] for r in replies])
    expect("errors", [], [r["error"] for r in replies if r["error"]])


def stream(path, name, ends):
    client = Client(path, 60)
    n_sent = n_read = 0
    while not ends.is_set() or n_read < n_sent:
        while not ends.is_set() and n_sent < n_read + 16:
            client.send("apply", records=[group(name, n_sent)])
            n_sent += 1
        error = client.reply()[1]
        n_read += 1
        if error:
            print("%s: %s" % (name, error["message"]))


def held(path):
    """Beside clients that change something all the time, who holds the state
    isn't overtaken."""
    ends = threading.Event()
    streams = [threading.Thread(target=stream, args=(path, name, ends))
               for name in ("c", "d")]
    for thread in streams:
        thread.start()
    client = Client(path, 60)
    for i in range(HOLDS):
        generation = client.call("get", kind="Pod",
                                 hold=True)[0]["generation"]
        result, error = client.call("apply", records=[group("e", i)],
                                    if_generation=generation)
        expect("hold %d" % i, None, error)
        if result:
            expect("hold %d" % i, generation + 1, result["generation"])
    ends.set()
    for thread in streams:
        thread.join()


def main():
    in_order(sys.argv[1])
    half_closed(sys.argv[1])
    held(sys.argv[1])


if __name__ == "__main__":
    main()
