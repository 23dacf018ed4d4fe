# SPDX-License-Identifier: Apache-2.0
"""Cycles per packet as pictures, by gnuplot."""

import shutil
import subprocess

NUMBERS = {'1': 1, '100': 100, '1k': 1000, '10k': 10000, '100k': 100000,
           '1m': 1000000}

# File, what the horizontal axis counts, and lines: beginning of the cases'
# names and what to call it.
PLOTS = (
    ('connections', 'connections', (('est-pp-udp-', 'Pod to Pod, UDP'),
                                    ('est-svc-tcp-', 'ClusterIP, TCP'))),
    ('rules', 'policy rules', (('rules-new-', 'new connection'),
                               ('rules-est-', 'established'))),
)
SETTINGS = """\
set terminal pngcairo size 1100,600 font 'sans,11'
set output '{path}'
set logscale xy
set format x '10^{{%T}}'
set xlabel '{label}'
set ylabel 'cycles per packet'
set grid
set key outside right top vertical
"""


def points(results, prefix, side):
    """(number, cycles) of the cases of one line."""
    found = []
    for name, figures in results.figures.items():
        number = NUMBERS.get(name[len(prefix):])
        if name.startswith(prefix) and number and side in figures:
            if figures[side].cycles:
                found.append((number, figures[side].cycles))
    return sorted(found)


def curves(results, lines):
    """(title, points) of what has at least two points."""
    sides = {side: None for figures in results.figures.values()
             for side in figures}
    for prefix, title in lines:
        for side in sides:
            line = points(results, prefix, side)
            if len(line) > 1:
                yield '%s: %s' % (title, side), line


def script(path, label, found):
    text = SETTINGS.format(path=path, label=label)
    data = ''
    for i, (_, line) in enumerate(found):
        data += '$d%d << EOD\n%s\nEOD\n' % (
            i, '\n'.join('%d %f' % point for point in line))
    plots = ', '.join("$d%d with linespoints lw 2 pt 7 title '%s'" % (
        i, title) for i, (title, _) in enumerate(found))
    return text + data + 'plot [][50:] ' + plots + '\n'


def write(results, path):
    """Returns the files; none without gnuplot or without enough points."""
    written = []
    if not shutil.which('gnuplot'):
        return written
    for name, label, lines in PLOTS:
        found = list(curves(results, lines))
        if found:
            file = '%s-%s.png' % (path, name)
            subprocess.run(['gnuplot'], input=script(file, label, found),
                           text=True, check=True, timeout=60)
            written.append(file)
    return written
