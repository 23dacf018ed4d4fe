#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The daemon under ThreadSanitizer: three threads that handle packets, with
the two directions of connections in different ones, while everything changes.
Prints "ok - ..." and "not ok - ..." lines."""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.dirname(here)]
sys.dont_write_bytecode = True

from churn import Churn         # noqa: E402
from counts import counts       # noqa: E402
from daemon import Daemon       # noqa: E402
import races                    # noqa: E402


class Checks:
    def __init__(self):
        self.failed = False

    def __call__(self, ok, what, *why):
        print('%sok - %s' % ('' if ok else 'not ', what), flush=True)
        if not ok:
            self.failed = True
            for line in '\n'.join(map(str, why)).splitlines():
                print('# ' + line)


def notices_races(check, start):
    """What is to be found is found: two threads add to one counter."""
    switch = start(race=True)
    switch.configure()
    deadline = time.monotonic() + 30
    found = False
    while not found and time.monotonic() < deadline:
        time.sleep(.2)
        found = any(race.is_ours() and race.kind == 'data race'
                    and set(race.functions) == {'netdev_pod_rxq_recv'}
                    for race in races.judge(switch.races())[0])
    switch.stop()
    check(found, 'a race of ours is noticed')


def was_busy(switch):
    """What shows that the test tested something: whether it is so, what, and
    figures."""
    stats = switch.stats('br-int')
    flows = switch.stats('br-flows')
    pmds = [t for t in stats['threads'] if t['thread'] == 'pmd']
    yield (len(pmds) == 2 and all(t['packets'] > 2000 for t in pmds),
           'two PMD threads had packets', stats['threads'])
    for stat, what in ((stats, 'br-int'), (flows, 'br-flows')):
        yield (stat['packets']['handled'] > 2000
               and stat['packets']['hits'] > 100,
               '%s handled packets, many by a cached verdict' % what,
               (stat['packets'], stat['punts']))
    yield (flows['packets']['learned'] >= 10, 'flows were learned',
           flows['packets'])
    hits = switch.control('coverage/read-counter',
                          'datapath_tunnel_template_hit')
    yield int(hits) > 100, 'packets came out of tunnels', hits
    yield (stats['tunnels']['translated'] > 10, 'ways into tunnels were renewed',
           stats['tunnels'])
    yield (stats['connections']['half_open_evicted'] > 0,
           'half-open connections left for want of room', stats['connections'])


def without_races(check, start, seconds, seed):
    switch = start()
    switch.configure()
    churn = Churn(switch, seed)
    busy = []

    def is_enough():
        # Later, threads may have come anew and count from none.
        busy[:] = was_busy(switch) if switch.alive() else []
        return all(ok for ok, _, _ in busy)

    churn.for_seconds(seconds, is_enough)
    check(not churn.errors, 'every change was taken', *churn.errors)
    if switch.alive() and not churn.errors:
        for ok, what, figures in busy:
            check(ok, what, figures)
        check(switch.exit() == 0, 'the daemon ends as it is told to')
    else:
        check(switch.alive(), 'the daemon lives')
    print('# ' + ', '.join('%s %d' % item
                           for item in sorted(churn.counts.items())))
    no_race(check, switch)
    switch.stop()


def every_packet_counts(check, start, seed):
    switch = start()
    counts(check, switch, seed)
    check(switch.alive() and switch.exit() == 0,
          'the daemon that counted ends as it is told to')
    no_race(check, switch)
    switch.stop()


def no_race(check, switch):
    bad, n_known = races.judge(switch.races())
    print('# %d reports on races of upstream\'s' % n_known)
    for race in bad:
        check(False, race.title(), race.text)
    check(not bad, 'no race')


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument('--prefix', required=True, help='installed tools')
    ap.add_argument('--vswitchd', required=True,
                    help='tests/threads/ovs-vswitchd of a build with '
                    '--enable-thread-sanitizer')
    ap.add_argument('--seconds', type=int, default=60)
    ap.add_argument('--seed', type=int,
                    default=random.SystemRandom().randrange(1 << 31))
    ap.add_argument('--keep', help='folder for logs, kept')
    args = ap.parse_args()

    check = Checks()
    workdirs = []
    switches = []

    def start(race=False):
        if args.keep:
            os.makedirs(args.keep, exist_ok=True)
        workdirs.append(tempfile.mkdtemp(prefix='adp-threads-',
                                         dir=args.keep))
        switches.append(Daemon(args.vswitchd, args.prefix, workdirs[-1],
                               race))
        return switches[-1]

    print('seed %d' % args.seed, flush=True)
    try:
        notices_races(check, start)
        every_packet_counts(check, start, args.seed)
        without_races(check, start, args.seconds, args.seed)
    finally:
        for switch in switches:
            switch.stop()
        if not args.keep:
            for workdir in workdirs:
                shutil.rmtree(workdir, ignore_errors=True)
    return 1 if check.failed else 0


sys.exit(main())
