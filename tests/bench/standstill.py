# SPDX-License-Identifier: Apache-2.0
"""Times in which a core stood still, of which the kernel doesn't always know:
a hypervisor that pauses a machine, or looks for a page of memory that it has
taken away from it, doesn't run another machine in its place.  A program with
real-time priority is the witness: what a thread could have done while not even
that ran on its core wasn't up to the thread."""

import collections
import os
import subprocess


class Witness:
    """Between its making and silences()."""

    def __init__(self, machine, core):
        program = os.path.join(os.path.dirname(machine.plugin), 'witness')
        self.process = subprocess.Popen(
            [program, str(core)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        # Without real-time priority there is none, and nothing is explained.
        self.process.stdout.readline()

    def silences(self):
        """(begun, ended) of each, by time.monotonic()."""
        text, _ = self.process.communicate()
        return [tuple(int(word) / 1e9 for word in line.split())
                for line in text.splitlines()]


def overlap(begun, ended, silences):
    """Seconds."""
    return sum(max(0, min(ended, to) - max(begun, since))
               for since, to in silences)


def explained(gaps, silences, rate):
    """How many of the packets that were missed in 'gaps', which are those of
    generator.Generator, would have had room, had none come at 'rate' while the
    core stood still."""
    periods = collections.defaultdict(lambda: [0, 0])
    for begun, ended, missed, period in gaps:
        periods[period][0] += missed
        periods[period][1] += overlap(begun, ended, silences) * rate
    return sum(min(missed, int(came)) for missed, came in periods.values())
