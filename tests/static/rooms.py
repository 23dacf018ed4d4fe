#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: rooms.txt says it, the sources are compared.  And no
name means two things: neither a file's nor that of a struct, union or enum.
What is named *-private.h is for its own room alone.

usage: rooms.py TOP [ROOMS]
"""

import os
import re
import sys

FLOORS = ("lib", "antrea-dp", "utilities")


def read_rooms(path):
    """Returns what each room may include, and the exceptions."""
    allowed, excused = {}, set()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split("#")[0].split()
            if not words:
                continue
            if words[0] == "but":
                excused.add((words[1], words[3]))
                continue
            room, allowed_here = words[0], set()
            for word in words[1:]:
                if word.startswith("+"):
                    allowed_here |= {word[1:]} | allowed[word[1:]]
                else:
                    allowed_here.add(word)
            allowed[room] = allowed_here
    return allowed, excused


def read_sources(top):
    """Returns the room of each file, by its name, the includes, and what has
    the name of another."""
    room_of, includes, twice, file_of = {}, {}, [], {}
    for floor in FLOORS:
        for folder, _, names in os.walk(os.path.join(top, floor)):
            for name in names:
                if not name.endswith((".c", ".h", ".def")):
                    continue
                if name in room_of:
                    twice.append("two files are named %s" % name)
                room_of[name] = os.path.relpath(folder, top)
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    text = f.read()
                includes[name] = set(
                    re.findall(r'^ *#include "([^"]+)"', text, re.M))
                for tag in re.findall(
                        r"\b((?:struct|union|enum) \w+)\s*\{", text):
                    other = file_of.setdefault(tag, name)
                    if other != name:
                        twice.append("%s and %s each have a %s"
                                     % (other, name, tag))
    return room_of, includes, twice


def main():
    top = sys.argv[1]
    rooms = (sys.argv[2] if len(sys.argv) > 2 else
             os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          "rooms.txt"))
    allowed, excused = read_rooms(rooms)
    room_of, includes, twice = read_sources(top)
    complaints = list(twice)
    met = set()
    n = 0
    for name in sorted(room_of):
        room = room_of[name]
        if room not in allowed:
            complaints.append("%s: no room %s in rooms.txt" % (name, room))
            continue
        for other in sorted(includes[name]):
            there = room_of.get(other)
            if not there:
                continue
            n += 1
            if there == room:
                continue
            if other.endswith("-private.h"):
                complaints.append("%s/%s includes %s, which is private to %s"
                                  % (room, name, other, there))
                continue
            if there in allowed[room]:
                continue
            if (name, other) in excused:
                met.add((name, other))
                continue
            complaints.append("%s/%s includes %s/%s, which is not below it"
                              % (room, name, there, other))
    complaints += ["nothing needs 'but %s -> %s' any more" % pair
                   for pair in sorted(excused - met)]
    for complaint in complaints:
        print("FAILED: " + complaint)
    print("%d files, %d includes" % (len(room_of), n))
    sys.exit(bool(complaints) or not n)


if __name__ == "__main__":
    main()
