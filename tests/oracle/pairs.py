# SPDX-License-Identifier: Apache-2.0
"""Pairs of switches, ours and a stock one."""

import contextlib

import steps
import switch
import threaded


def pairs(prefix, stock, keep, ports, threads=False):
    """A function that makes a pair of switches with these ports.  'stock' is
    where the stock one is installed, or None.  Ours may have packet threads;
    in the other one the main thread handles packets."""
    @contextlib.contextmanager
    def make():
        with switch.Workdir(keep) as workdir, contextlib.ExitStack() as stack:
            two = []
            preload = switch.libraries()
            for name, where, kind in (('antrea', prefix, 'antrea'),
                                      ('netdev', stock or prefix, 'dummy')):
                make_one = threaded.ThreadedSwitch \
                    if threads and kind == 'antrea' else switch.Switch
                sw = make_one(name, where, kind, ports, workdir, preload,
                              caching=kind == 'antrea')
                stack.callback(sw.stop)
                two.append(sw)
            pair = steps.Pair(*two)
            yield pair
            differences = pair.ours.shadow_differences()
            if differences:
                raise RuntimeError('the shadow: ' + differences)
    return make
