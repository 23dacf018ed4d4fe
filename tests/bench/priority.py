# SPDX-License-Identifier: Apache-2.0
"""Who runs first where the benchmark shares a core with what it measures."""

import os


def yield_to_daemons():
    """The calling thread, when it wakes up, waits for its turn rather than
    stop in the middle of its turn a main thread that has just answered it.
    What it starts has the default policy."""
    os.sched_setscheduler(0, os.SCHED_BATCH | os.SCHED_RESET_ON_FORK,
                          os.sched_param(0))
