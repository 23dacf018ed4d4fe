#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who may include whom: rooms.txt says it, the sources are compared.  And no
name means two things: neither a file's nor that of a struct, union or enum.
What is named *-private.h is for its own room alone.  What an object file calls
in another must lie below it, too: a header may declare what a room above
defines.

usage: rooms.py TOP BUILD [ROOMS]
"""

import os
import re
import subprocess
import sys

FLOORS = ("lib", "antrea-dp", "utilities")

# What goes into upstream's tree, and is compiled there.
HOOKS = "ovs/hooks"


def read_rooms(path):
    """Returns what each room may include."""
    allowed = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split("#")[0].split()
            if not words:
                continue
            room, allowed_here = words[0], set()
            for word in words[1:]:
                if word.startswith("+"):
                    allowed_here |= {word[1:]} | allowed[word[1:]]
                else:
                    allowed_here.add(word)
            allowed[room] = allowed_here
    return allowed


def read_sources(top):
    """Returns the room of each file, by its name, the includes, and what has
    the name of another."""
    room_of, includes, twice, file_of, seen = {}, {}, [], {}, set()
    for floor in FLOORS + (HOOKS,):
        for folder, _, names in os.walk(os.path.join(top, floor)):
            for name in names:
                if not name.endswith((".c", ".h", ".def")):
                    continue
                if name in seen:
                    twice.append("two files are named %s" % name)
                seen.add(name)
                with open(os.path.join(folder, name), encoding="utf-8") as f:
                    text = f.read()
                if floor != HOOKS:
                    room_of[name] = os.path.relpath(folder, top)
                    includes[name] = set(
                        re.findall(r'^ *#include "([^"]+)"', text, re.M))
                for tag in re.findall(
                        r"\b((?:struct|union|enum) \w+)\s*\{", text):
                    other = file_of.setdefault(tag, name)
                    if other != name:
                        twice.append("%s and %s each have a %s"
                                     % (other, name, tag))
    return room_of, includes, twice


def read_objects(build, room_of):
    """Returns the source file that defines each symbol, and the symbols that
    each wants from elsewhere."""
    defined_in, wanted = {}, {}
    for floor in FLOORS:
        for folder, _, names in os.walk(os.path.join(build, floor)):
            for name in names:
                source = name[:-2] + ".c"
                if not name.endswith(".o") or source not in room_of:
                    continue
                symbols = subprocess.run(
                    ["nm", os.path.join(folder, name)], check=True,
                    stdout=subprocess.PIPE, universal_newlines=True).stdout
                for line in symbols.splitlines():
                    *_, kind, symbol = line.split()
                    if kind == "U":
                        wanted.setdefault(source, set()).add(symbol)
                    elif kind in "BCDRTV":
                        defined_in[symbol] = source
    return defined_in, wanted


def check_objects(build, room_of, allowed):
    """Returns the complaints about what objects want, and how many symbols of
    other rooms there are among it."""
    defined_in, wanted = read_objects(build, room_of)
    complaints, n = [], 0
    for source in sorted(wanted):
        room = room_of[source]
        for symbol in sorted(wanted[source] & defined_in.keys()):
            there = room_of[defined_in[symbol]]
            if there == room:
                continue
            n += 1
            if there not in allowed.get(room, ()):
                complaints.append("%s/%s uses %s of %s/%s, which is not below "
                                  "it" % (room, source, symbol, there,
                                          defined_in[symbol]))
    return complaints, n


def main():
    top, build = sys.argv[1:3]
    rooms = (sys.argv[3] if len(sys.argv) > 3 else
             os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          "rooms.txt"))
    allowed = read_rooms(rooms)
    room_of, includes, twice = read_sources(top)
    complaints = list(twice)
    n = 0
    complaints += ["%s has no README.md" % room
                   for room in sorted({HOOKS, *room_of.values()})
                   if not os.path.exists(os.path.join(top, room, "README.md"))]
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
            complaints.append("%s/%s includes %s/%s, which is not below it"
                              % (room, name, there, other))
    from_objects, n_symbols = check_objects(build, room_of, allowed)
    complaints += from_objects
    for complaint in complaints:
        print("FAILED: " + complaint)
    print("%d files, %d includes, %d symbols of other rooms"
          % (len(room_of), n, n_symbols))
    sys.exit(bool(complaints) or not n or not n_symbols)


if __name__ == "__main__":
    main()
