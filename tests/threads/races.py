# SPDX-License-Identifier: Apache-2.0
"""Reads what ThreadSanitizer reports, and tells upstream's own races from all
others.

A race is between two accesses, each made by a function that others have called.
If none of all these is ours, hooks included, it is upstream's.  If ours have
called functions of upstream that race, known-races.txt must say why that does
no harm.  An access by a function of ours is never excused.  So it is with
cycles of locks."""

import os
import re

here = os.path.dirname(os.path.abspath(__file__))

BEGIN, LINE = 'WARNING: ThreadSanitizer: ', '=' * 18
# Heads of the paragraphs that tell where threads were.
ACCESS = re.compile(r'  (Previous )?([Aa]tomic )?([Rr]ead|[Ww]rite) of size')
LOCKING = re.compile(r'  Mutex M\d+ (previously )?acquired ')
FRAME = re.compile(r' +#\d+ (\S+) (\S+)')


def our_hooks():
    """The files that we add to upstream's tree."""
    with open(os.path.join(here, '../../ovs/hooks/FILES')) as f:
        return [re.escape(os.path.basename(line.split()[1]))
                for line in f if line.strip()]


# Source files that are ours, in upstream's tree or not.
OURS = re.compile(r'(^|/)(adp-|model|pipeline|netdev-pod|talk-ring|%s)[^/]*$'
                  % '|'.join(our_hooks()))
# Functions that do what their caller asks.
LIBRARY = re.compile(r'^((nullable_)?mem(cpy|set|move|cmp)|str\w+|free|'
                     r'x?(m|c|z|re)alloc\w*|xmemdup|__tsan_\w+|'
                     r'__interceptor_\w+|pthread_\w+|atomic_\w+|'
                     r'ovs_refcount_\w+)$')
LOCKS = re.compile(r'^(ovs_(mutex|rwlock)_\w+|pthread_\w+)$')


class Race:
    def __init__(self, text):
        self.kind = text.split(' (pid=')[0]
        self.text = text
        self.sides = []
        self.calls = []         # All that led there.
        for part in text.split('\n\n'):
            lines = part.splitlines()
            # The first paragraph begins with the kind.
            for i, line in enumerate(lines[:2]):
                for head, helpers in (ACCESS, LIBRARY), (LOCKING, LOCKS):
                    if head.match(line):
                        frames = [m.groups() for m in
                                  map(FRAME.match, lines[i + 1:]) if m]
                        self.calls += frames
                        self.sides.append(self.who(frames, helpers))

    @staticmethod
    def who(frames, helpers):
        """(function, place) of the innermost one that isn't a helper."""
        for function, place in frames:
            if not helpers.match(function):
                return function, place
        return '?', '?'

    @property
    def functions(self):
        return frozenset(function for function, _ in self.sides)

    def is_ours(self):
        return any(OURS.search(place) for _, place in self.sides)

    def is_upstreams(self):
        """True if nothing of ours led there.  (What only wraps a function of
        the main loop doesn't count.)"""
        return all(self.sides) and ('?', '?') not in self.sides \
            and not any(OURS.search(place)
                        and not function.startswith('__wrap_')
                        for function, place in self.calls)

    def title(self):
        return '%s: %s' % (self.kind, ' / '.join(
            '%s (%s)' % (function, os.path.basename(place))
            for function, place in self.sides))


class Excuses:
    def __init__(self):
        self.races = []         # Sets of functions that may race.
        self.locks = set()      # Whose cycles of locks are no deadlocks.
        with open(os.path.join(here, 'known-races.txt')) as f:
            for line in f:
                words = line.split()
                if not words or line.startswith('#'):
                    continue
                if words[0] == 'lock-order':
                    self.locks.update(words[1:])
                else:
                    self.races.append(frozenset(words))

    def excuse(self, race):
        if len(race.sides) < 2 or race.is_ours():
            return False
        if race.is_upstreams():
            return True
        if race.kind == 'data race':
            return any(race.functions <= names for names in self.races)
        return race.kind.startswith('lock-order-inversion') \
            and bool(race.functions & self.locks)


def read(text):
    """All reports, also one that breaks off."""
    return [Race(part.split('\n' + LINE)[0])
            for part in text.split(BEGIN)[1:]]


def judge(text):
    """Reports that nothing excuses, one for each pair of functions, and how
    many were excused."""
    excuses, bad, n_known = Excuses(), {}, 0
    for race in read(text):
        if excuses.excuse(race):
            n_known += 1
        else:
            bad.setdefault((race.kind, race.functions), race)
    return list(bad.values()), n_known
