#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many small requests, each on a connection of its own.

    fetch.py [--count N] [--source-port P] URL

URL is http://HOST:PORT/ or udp://HOST:PORT.  Prints for each request the
first two words of the answer ("NAME CLIENT-IP"), or "failed REASON".  With
--source-port the connections come from port P, P + 1, ...  Three failures in
a row end it.
"""

import argparse
import http.client
import socket
import urllib.parse


def ask_http(host, port, timeout, source):
    conn = http.client.HTTPConnection(host, port, timeout=timeout,
                                      source_address=("", source))
    try:
        conn.connect()
        # The server closes first: who does keeps the port for a minute, and a
        # list may ask for it again.
        with conn.sock.dup() as sock:
            conn.request("GET", "/", headers={"Connection": "close"})
            answer = conn.getresponse().read().decode()
            while sock.recv(2048):
                pass
        return answer
    finally:
        conn.close()


def ask_udp(host, port, timeout, source):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.settimeout(timeout)
        sock.bind(("", source))
        sock.connect((host, port))
        sock.send(b"who\n")
        return sock.recv(2048).decode()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--source-port", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=5.0)
    parser.add_argument("url")
    args = parser.parse_args()
    url = urllib.parse.urlparse(args.url)
    ask = ask_udp if url.scheme == "udp" else ask_http
    failed = 0
    for i in range(args.count):
        if failed == 3:
            break       # Nobody is there: that is known well enough.
        source = args.source_port + i if args.source_port else 0
        try:
            answer = ask(url.hostname, url.port or 80, args.timeout, source)
            print(" ".join(answer.split()[:2]))
            failed = 0
        except (OSError, http.client.HTTPException) as error:
            print("failed", "%s: %s" % (type(error).__name__, error))
            failed += 1


if __name__ == "__main__":
    main()
