# SPDX-License-Identifier: Apache-2.0
"""Makes a sequence of steps that shows a mismatch shorter.

First whole steps go, then, of bursts of many batches, all that one batch for
each step leaves, then flows, and packets of a batch."""

import contextlib
import re
import subprocess
import time

import steps as steps_module

# Comparing all after each step takes time: for so many at the most.
CAREFUL = 60

# Steps that say what is to be compared: others differ without them.
COMPARING = 'learns', 'bytes'


# A switch is gone, or in a state that no step expects.
BROKEN = RuntimeError, OSError, subprocess.SubprocessError


def replay(pairs, steps, careful=True):
    """Does 'steps' on a fresh pair, as replay_on()."""
    with pairs() as pair:
        return replay_on(pair, steps, careful)


def replay_on(pair, steps, careful=True, strict=False):
    """Does 'steps'.  Returns the Mismatch, or None.  'careful' compares
    connections and counters after each step.  Steps that don't make sense (any
    more) are an error if 'strict'; else they end it."""
    for n, step in enumerate(steps):
        try:
            pair.do(step)
            if careful and step[0] in ('packets', 'warp', 'appctl'):
                pair.check()
        except steps_module.Mismatch as e:
            e.step = n
            return e
        except (*BROKEN, KeyError, ValueError) as e:
            dead = pair.dead()
            if dead:
                e = steps_module.Mismatch('died\n  ' + dead)
                e.step = n
                return e
            if strict:
                raise
            return None
    return None


def signature(mismatch):
    """What differs, without how much."""
    return {re.sub(r'n_(packets|bytes)=\d+|(?<=_error) \d+', '', line)
            for line in str(mismatch).splitlines()[1:]}


def single(step):
    """'step' as steps of one batch each."""
    if step[0] != 'burst':
        return [step]
    return [['packets', port, frames] for port, frames in step[1]]


class Reducer:
    """Tries on one pair, restored each time, or if 'fresh' on a new one."""

    def __init__(self, pairs, steps, mismatch, careful, fresh, deadline):
        self.pairs, self.steps, self.careful = pairs, steps, careful
        self.mismatch, self.fresh, self.deadline = mismatch, fresh, deadline
        self.stack, self.pair = contextlib.ExitStack(), None

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.stack.close()

    def replay(self, steps):
        if self.fresh:
            return replay(self.pairs, steps, self.careful)
        if not self.pair:
            self.pair = self.stack.enter_context(self.pairs())
        mismatch = replay_on(self.pair, steps, self.careful)
        try:
            self.pair.restore()
        except (*BROKEN, steps_module.Mismatch):
            self.stack.close()
            self.pair = None
        return mismatch

    def try_steps(self, steps):
        """Takes 'steps' if they fail too."""
        if time.monotonic() > self.deadline:
            return False
        told = [step for step in self.steps if step[0] in COMPARING]
        if [step for step in steps if step[0] in COMPARING] != told:
            return False
        mismatch = self.replay(steps)
        if not mismatch:
            return False
        if not signature(mismatch) <= signature(self.mismatch):
            return False                # Another one.
        self.steps = cut(steps, mismatch)
        self.mismatch = mismatch
        return True

    def without(self, get, put):
        """Leaves out parts of the list get(), which put() replaces."""
        size = max(1, len(get()) // 2)
        while size:
            i = 0
            while i < len(get()):
                if time.monotonic() > self.deadline:
                    return
                items = get()
                fewer = items[:i] + items[i + size:]
                if not self.try_steps(put(fewer)):
                    i += size
            size //= 2

    def reduce(self):
        # The last step shows the mismatch.
        self.without(lambda: self.steps[:-1],
                     lambda fewer: fewer + self.steps[-1:])
        if any(step[0] == 'burst' for step in self.steps):
            self.try_steps([one for step in self.steps
                            for one in single(step)])
            self.without(lambda: self.steps[:-1],
                         lambda fewer: fewer + self.steps[-1:])
        if not self.careful and len(self.steps) < CAREFUL:
            self.careful = True
            if not self.try_steps(self.steps):
                self.careful = False
        for n in reversed(range(len(self.steps))):
            if n >= len(self.steps):
                continue
            if self.steps[n][0] == 'packets':
                self.inside(n, lambda step: step[2],
                            lambda step, frames: [*step[:2], frames])
            elif self.steps[n][0] == 'burst':
                self.inside(n, lambda step: step[1],
                            lambda step, batches: ['burst', batches])
            elif self.steps[n][0] == 'ofctl' and len(self.steps[n]) > 2:
                self.inside(n, lambda step: step[2].splitlines(),
                            lambda step, lines: [*step[:2],
                                                 '\n'.join(lines) + '\n'])

    def inside(self, n, get, put):
        if len(get(self.steps[n])) < 2:
            return

        def replace(fewer):
            return self.steps[:n] + [put(self.steps[n], fewer)] \
                + self.steps[n + 1:]

        def parts():
            return get(self.steps[n]) if n < len(self.steps) else []

        self.without(parts, replace)


def cut(steps, mismatch):
    """Without what came after the mismatch."""
    steps = steps[:mismatch.step + 1]
    last = steps[-1]
    if last[0] == 'burst' and mismatch.batch is not None:
        steps[-1] = ['burst', last[1][:mismatch.batch + 1]]
    return steps


def reduce(pairs, steps, mismatch, seconds):
    """Returns shorter steps and their Mismatch; None if the mismatch doesn't
    come again."""
    deadline = time.monotonic() + seconds
    many = len(steps) > CAREFUL or any(step[0] == 'burst' for step in steps)
    for fresh in False, True:
        for careful in [False] if many else [True, False]:
            with Reducer(pairs, cut(steps, mismatch), mismatch, careful,
                         fresh, deadline) as r:
                if not r.try_steps(r.steps):
                    continue
                r.reduce()
            # What was there before might have been needed.
            found = fresh or replay(pairs, r.steps, r.careful)
            if found:
                return r.steps, r.mismatch
    return None
