# SPDX-License-Identifier: Apache-2.0
"""The table, for terminals and as Markdown, and the JSON."""

import json

HEADINGS = ('case', 'side', 'median', 'min', 'max', 'unit', 'cycles/packet',
            'away %', 'ours/stock', 'goal', '')
LEFT = {0, 1, 5, 9, 10}         # Columns that aren't numbers.


def number(value):
    """Four digits."""
    if value is None:
        return ''
    if abs(value) >= 1000:
        return '{:,.0f}'.format(value)
    return '%.*f' % (3 if abs(value) < 10 else 2 if abs(value) < 100 else 1,
                     value)


def verdict(results, name):
    """With the share of another case that was reached, if that is the goal."""
    text = {True: 'reached', False: 'not reached', None: ''}[
        results.reached(name)]
    share = getattr(results.cases[name].goal, 'share', None)
    if text and share:
        text += ': %.2f' % share(results, name)
    return text


def rows(results, name):
    """One for each side."""
    case, figures = results.cases[name], results.figures[name]
    ratio = results.ratio(name)
    for i, (side, f) in enumerate(figures.items()):
        last = i == len(figures) - 1
        yield (name if i == 0 else '', side, number(f.median), number(f.min),
               number(f.max), case.unit, number(f.cycles),
               '' if f.away is None else '%.0f' % f.away,
               '%.2f' % ratio if last and ratio is not None else '',
               case.goal.text if last and case.goal else '',
               verdict(results, name) if last else '')
    for side, text in results.failures.get(name, ()):
        yield (name, side, 'FAILED', '', '', '', '', '', '', '', text)


def table(results, names=None):
    lines = [HEADINGS]
    for name in names or results.cases:
        lines += rows(results, name)
    widths = [max(len(line[i]) for line in lines)
              for i in range(len(HEADINGS) - 1)] + [0]
    return '\n'.join(
        '  '.join(cell.ljust(width) if i in LEFT else cell.rjust(width)
                  for i, (cell, width) in enumerate(zip(line, widths))
                  ).rstrip() for line in lines)


def markdown(results):
    def line(cells):
        return '| %s |' % ' | '.join(cells)

    lines = [line(HEADINGS),
             line('---' if i in LEFT else '---:'
                  for i in range(len(HEADINGS)))]
    for name in results.cases:
        lines += [line(row) for row in rows(results, name)]
    return '\n'.join(lines) + '\n'


def write(results, about, path):
    """'path' without its ending; returns the files."""
    with open(path + '.json', 'w') as f:
        json.dump({'about': about, 'cases': results.to_json()}, f, indent=1)
        f.write('\n')
    with open(path + '.md', 'w') as f:
        f.write(markdown(results))
    return [path + '.json', path + '.md']
