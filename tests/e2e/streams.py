#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP connections that stay open and are asked again and again.

    streams.py STATUS-FILE STOP-FILE URL...

One connection for each URL, which never opens a second one.  STATUS-FILE has a
line for each, "URL ANSWERS ERROR-OR-dash", anew with each round, until STOP-FILE
exists."""

import http.client
import os
import sys
import threading
import time
import urllib.parse

PATIENCE, PACE = 40, 0.02


class Stream(threading.Thread):
    def __init__(self, url):
        super().__init__(daemon=True)
        self.url = urllib.parse.urlparse(url)
        self.line = url
        self.answers = 0
        self.error = None

    def run(self):
        conn = http.client.HTTPConnection(self.url.hostname,
                                          self.url.port or 80,
                                          timeout=PATIENCE)
        conn.auto_open = 0
        try:
            conn.connect()
            while True:
                conn.request('GET', self.url.path or '/')
                conn.getresponse().read()
                self.answers += 1
                time.sleep(PACE)
        except (OSError, http.client.HTTPException) as e:
            self.error = type(e).__name__


def main():
    status, stop = sys.argv[1:3]
    streams = [Stream(url) for url in sys.argv[3:]]
    for s in streams:
        s.start()
    while not os.path.exists(stop):
        with open(status + '.new', 'w') as f:
            for s in streams:
                print(s.line, s.answers, s.error or '-', file=f)
        os.rename(status + '.new', status)
        time.sleep(0.05)


if __name__ == '__main__':
    main()
