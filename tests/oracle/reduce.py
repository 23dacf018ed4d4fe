# SPDX-License-Identifier: Apache-2.0
"""Makes a sequence of steps that shows a mismatch shorter."""

import re
import time

import steps as steps_module


def replay(pairs, steps, careful=True, strict=False):
    """Does 'steps' on a fresh pair.  Returns the Mismatch, or None.  'careful'
    compares connections and counters after each step.  Steps that don't make
    sense (any more) are an error if 'strict'; else they end it."""
    with pairs() as pair:
        for n, step in enumerate(steps):
            try:
                pair.do(step)
                if careful and step[0] in ('packets', 'warp', 'appctl'):
                    pair.check()
            except steps_module.Mismatch as e:
                e.step = n
                return e
            except (RuntimeError, OSError, KeyError):
                if strict:
                    raise
                return None
    return None


def signature(mismatch):
    """What differs, without how much."""
    return {re.sub(r'n_(packets|bytes)=\d+', '', line)
            for line in str(mismatch).splitlines()[1:]}


class Reducer:
    def __init__(self, pairs, steps, mismatch, careful, seconds):
        self.pairs, self.steps, self.careful = pairs, steps, careful
        self.mismatch = mismatch
        self.deadline = time.monotonic() + seconds

    def try_steps(self, steps):
        """Takes 'steps' if they fail too."""
        if time.monotonic() > self.deadline:
            return False
        mismatch = replay(self.pairs, steps, self.careful)
        if not mismatch:
            return False
        if not signature(mismatch) <= signature(self.mismatch):
            return False                # Another one.
        self.steps = steps[:mismatch.step + 1]
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
        for n in reversed(range(len(self.steps))):
            if n >= len(self.steps):
                continue
            if self.steps[n][0] == 'packets':
                self.inside(n, lambda step: step[2],
                            lambda step, frames: [*step[:2], frames])
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


def reduce(pairs, steps, mismatch, seconds):
    """Returns shorter steps and their Mismatch; None if the mismatch doesn't
    come again."""
    for careful in True, False:
        r = Reducer(pairs, steps, mismatch, careful, seconds)
        if r.try_steps(steps):
            r.reduce()
            return r.steps, r.mismatch
    return None
