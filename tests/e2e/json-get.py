#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints members of a JSON text from stdin: json-get.py PATH...

A PATH is names (or numbers of array elements) with dots between; texts come
out bare, anything else as JSON, one line each.  Status 1 if one is missing.
"""

import json
import sys


def main():
    value = json.load(sys.stdin)
    for path in sys.argv[1:]:
        at = value
        try:
            for step in path.split("."):
                at = at[int(step)] if isinstance(at, list) else at[step]
        except (KeyError, IndexError, TypeError, ValueError):
            sys.exit("no %s in the JSON text" % path)
        print(at if isinstance(at, str) else json.dumps(at))


if __name__ == "__main__":
    main()
