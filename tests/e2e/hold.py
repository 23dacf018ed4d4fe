#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One HTTP connection that stays open, driven through two fifos.

    hold.py URL IN OUT

For each line read from IN it sends a request over the same connection and
writes the answer, or "failed REASON", to OUT as one line.  It never opens a
second connection.
"""

import http.client
import sys
import urllib.parse


def main():
    url = urllib.parse.urlparse(sys.argv[1])
    conn = http.client.HTTPConnection(url.hostname, url.port or 80, timeout=8)
    conn.auto_open = 0
    error = None
    try:
        conn.connect()
    except OSError as e:
        error = e
    with open(sys.argv[2]) as asks, open(sys.argv[3], "w") as answers:
        for _ in asks:
            try:
                if error:
                    raise error
                conn.request("GET", url.path or "/")
                text = conn.getresponse().read().decode().strip()
            except (OSError, http.client.HTTPException) as e:
                text = "failed %s" % type(e).__name__
            print(text, file=answers, flush=True)


if __name__ == "__main__":
    main()
