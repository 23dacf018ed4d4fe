# SPDX-License-Identifier: Apache-2.0
"""What a case is: something measured alike on each side."""

import fnmatch
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))


class Sample:
    """One figure, the cycles per packet while it was measured, and what else
    may explain it."""

    def __init__(self, value, cycles=None, **details):
        self.value, self.cycles, self.details = value, cycles, details


class Case:
    """Subclasses say how to measure."""

    unit = 'Mpps'
    more_is_better = True
    # Whether 'run' may be interrupted where it yields: see there.
    in_turn = False
    # Of the Open_vSwitch table, before the daemon starts.
    other_config = ()

    def __init__(self, name, goal=None):
        self.name, self.goal = name, goal
        self.title = self.default = None

    def run(self, switch):
        """Measures on a switch that has just started; returns Samples.

        If 'in_turn', it yields None when all is prepared, and perhaps once
        more, and then the Samples.  Between any two of these the switch may be
        stopped while those of other sides run, so that what changes on the
        machine meets all sides alike."""
        raise NotImplementedError


def read_catalogue():
    """Name -> (whether default, title), of the file that also the shell
    reads."""
    catalogue = {}
    with open(os.path.join(HERE, 'cases.txt')) as f:
        for line in f:
            m = re.match(r'([a-z0-9-]+) +([*-]) +(.+)$', line)
            if m:
                catalogue[m[1]] = m[2] == '*', m[3]
    return catalogue


def named(cases):
    """'cases' in the order of the catalogue, each with its title."""
    catalogue = read_catalogue()
    by_name = {case.name: case for case in cases}
    if by_name.keys() != catalogue.keys():
        raise RuntimeError('cases.txt names other cases: %s' % ' '.join(
            sorted(by_name.keys() ^ catalogue.keys())))
    for name, (default, title) in catalogue.items():
        by_name[name].default, by_name[name].title = default, title
    return [by_name[name] for name in catalogue]


class UnknownCase(Exception):
    pass


def select(cases, words):
    """The cases that 'words' name: a name, the beginning of several up to a
    "-", a pattern, or "all"; without words, the default ones."""
    if not words:
        return [case for case in cases if case.default]
    chosen = []
    for word in words:
        found = [case for case in cases if case.name == word] or [
            case for case in cases
            if word == 'all' or case.name.startswith(word + '-')
            or fnmatch.fnmatchcase(case.name, word)]
        if not found:
            raise UnknownCase(word)
        chosen += [case for case in found if case not in chosen]
    return chosen
