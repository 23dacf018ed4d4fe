# SPDX-License-Identifier: Apache-2.0
"""Hugepages for the time of the benchmark, where the machine has memory."""

import contextlib

FOLDER = '/sys/kernel/mm/hugepages/hugepages-2048kB/'
# For each switch.  One takes what is there of the wanted, testpmd the rest.
ENOUGH = 768
PAGE_KB = 2048


def read(name):
    with open(FOLDER + name) as f:
        return int(f.read())


def write(n):
    with open(FOLDER + 'nr_hugepages', 'w') as f:
        f.write(str(n))


def available_kb():
    with open('/proc/meminfo') as f:
        for line in f:
            if line.startswith('MemAvailable:'):
                return int(line.split()[1])
    return 0


@contextlib.contextmanager
def reserved(n_switches):
    """Yields for how many switches there are enough; takes back what it
    added."""
    before = None
    try:
        # For one, and testpmd beside it.
        wanted = max(2, n_switches) * ENOUGH
        missing = wanted - read('free_hugepages')
        if missing > 0 and available_kb() > 3 * missing * PAGE_KB:
            before = read('nr_hugepages')
            write(before + missing)
        n = read('free_hugepages') // ENOUGH
    except OSError:
        n = 0
    try:
        yield n
    finally:
        if before is not None:
            write(before)
