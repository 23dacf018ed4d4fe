# SPDX-License-Identifier: Apache-2.0
"""What was measured, and whether it reaches the goals."""

import statistics

OURS = 'ours'


class Figure:
    """All samples of one case on one side."""

    def __init__(self, samples):
        values = [sample.value for sample in samples]
        cycles = [sample.cycles for sample in samples
                  if sample.cycles is not None]
        self.median, self.min, self.max = (statistics.median(values),
                                           min(values), max(values))
        self.cycles = statistics.median(cycles) if cycles else None
        away = [sample.details['away_percent'] for sample in samples
                if 'away_percent' in sample.details]
        self.away = statistics.median(away) if away else None
        self.samples = samples

    def worst(self, detail):
        return max(sample.details[detail] for sample in self.samples)

    def to_json(self):
        return {'median': self.median, 'min': self.min, 'max': self.max,
                'cycles_per_packet': self.cycles,
                'samples': [dict(sample.details, value=sample.value,
                                 cycles_per_packet=sample.cycles)
                            for sample in self.samples]}


class Results:
    """Case -> side -> Figure."""

    def __init__(self):
        self.cases, self.figures, self.failures = {}, {}, {}
        self.references = {}    # Case -> Figure of that which it is compared
                                # with, measured in turn with it.

    def add(self, case, samples):
        """'samples': of each side that has any."""
        self.cases[case.name] = case
        self.figures[case.name] = {
            side: Figure(s) for side, s in samples.items() if s}

    def add_reference(self, case, samples):
        if samples:
            self.references[case.name] = Figure(samples)

    def fail(self, case, side, text):
        self.failures.setdefault(case.name, []).append((side, text))

    def ours(self, name):
        return self.figures.get(name, {}).get(OURS)

    def stock(self, name):
        """The better one of the stock sides."""
        stock = [figure for side, figure in self.figures.get(name, {}).items()
                 if side != OURS]
        if not stock:
            return None
        choose = max if self.cases[name].more_is_better else min
        return choose(stock, key=lambda figure: figure.median)

    def ratio(self, name):
        ours, stock = self.ours(name), self.stock(name)
        if ours is None or stock is None or not stock.median:
            return None
        return ours.median / stock.median

    def reached(self, name):
        """Whether the goal is; None if there is none or it can't be told."""
        goal = self.cases[name].goal
        return goal.reached(self, name) if goal else None

    def to_json(self):
        return [{'case': name, 'title': self.cases[name].title,
                 'unit': self.cases[name].unit,
                 'goal': self.cases[name].goal and self.cases[name].goal.text,
                 'reached': self.reached(name), 'ratio': self.ratio(name),
                 'sides': {side: figure.to_json()
                           for side, figure in sides.items()},
                 **({'reference': self.references[name].to_json()}
                    if name in self.references else {}),
                 'failures': self.failures.get(name, [])}
                for name, sides in self.figures.items()]


class Times:
    """So many times as much as stock."""

    def __init__(self, ratio):
        self.ratio, self.text = ratio, '%gx stock' % ratio

    def reached(self, results, name):
        ratio = results.ratio(name)
        return None if ratio is None else ratio >= self.ratio


class OwnTimes:
    """At least, or at most, a multiple of ours in another case."""

    def __init__(self, other, factor):
        self.other, self.factor = other, factor
        self.text = '%.3gx own %s' % (factor, other)

    def share(self, results, name):
        """Ours of the other case's; None if one of them wasn't measured."""
        ours = results.ours(name)
        other = results.references.get(name, results.ours(self.other))
        if ours is None or other is None or not other.median:
            return None
        return ours.median / other.median

    def reached(self, results, name):
        share = self.share(results, name)
        if share is None:
            return None
        return (share >= self.factor if results.cases[name].more_is_better
                else share <= self.factor)


class Limit:
    """A figure of ours, whatever stock does."""

    def __init__(self, limit, text):
        self.limit, self.text = limit, text

    def reached(self, results, name):
        ours = results.ours(name)
        if ours is None:
            return None
        return (ours.median >= self.limit
                if results.cases[name].more_is_better
                else ours.median <= self.limit)


class NothingLost(Limit):
    """The same, and no sample lost a packet but those that came while the
    core was away or stood still; details that have bounds stay within them."""

    def __init__(self, limit, text, **bounds):
        super().__init__(limit, text)
        self.bounds = dict(bounds, lost_here=0)

    def reached(self, results, name):
        ours = results.ours(name)
        return super().reached(results, name) and all(
            ours.worst(detail) <= bound
            for detail, bound in self.bounds.items())
