# SPDX-License-Identifier: Apache-2.0
"""A document's flows against those of a bridge: what is missing, what is
there too much, and what of it CASE-deviations.txt explains."""

import collections
import os
import re

from documents import TOP, die
from mapping import find_mapping, split, substitute, substitute_group


# Deviations.

class Deviation:
    """What CASE-deviations.txt says of one flow.

    kind 'absent'  the document shows something that isn't in the state
         'slip'    should read as 'texts', in the document's own numbers
         'extra'   flows of ours, given by 'texts', that the document doesn't
                   show"""

    def __init__(self, kind, name):
        self.kind, self.name = kind, name
        self.texts, self.reason = [], ""
        self.used = 0


def read_deviations(case, doc):
    """'doc': all flows of the document, by name."""
    deviations = []
    path = case.path("deviations")
    with open(path, encoding="utf-8") as f:
        for n, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line.strip() or line.startswith("#"):
                continue
            if not line.startswith(" "):
                kind, name = line.split(" ", 1)
                if kind not in ("absent", "slip", "extra"):
                    die("%s:%d: unknown kind of deviation" % (path, n))
                deviations.append(Deviation(kind, name))
            elif line.startswith("  > "):
                deviations[-1].texts.append(line[4:])
            else:
                deviations[-1].reason += " " + line.strip()
    for d in deviations:
        if not d.reason or (d.kind in ("slip", "extra")) != bool(d.texts) \
                or (d.kind == "slip" and len(d.texts) > 1):
            die("%s: %s: reason or text is missing or too much"
                % (path, d.name))
        if d.kind != "extra" and d.name not in doc:
            die("%s: deviation of unknown flow %s" % (path, d.name))
    return deviations


def check_explained(deviations):
    """Each is explained to people as well."""
    with open(os.path.join(TOP, "docs", "seed-deviations.md"),
              encoding="utf-8") as f:
        explained = f.read()
    for d in deviations:
        if "`%s`" % d.name not in explained:
            die("docs/seed-deviations.md doesn't explain %s" % d.name)


# Both sides.

def read_flows(path):
    """The flows of an ovs-ofctl dump, without statistics."""
    return [flow for _, flow in read_counters(path)]


def read_counters(path):
    """(n_packets, flow) for each flow of an ovs-ofctl dump; n_packets is 0
    without statistics."""
    counters = []
    with open(path, encoding="utf-8") as f:
        for line in f:
            if " actions=" in line:
                n = re.search(r"\bn_packets=(\d+)", line)
                flow = re.sub(r"\b(?:duration|n_packets|n_bytes|idle_age|"
                              r"hard_age)=[^ ]*, *", "", line.strip())
                counters.append((int(n.group(1)) if n else 0,
                                 with_table(flow)))
    return counters


def read_groups(path):
    with open(path, encoding="utf-8") as f:
        return [line.strip() for line in f if "group_id=" in line]


def with_table(flow):
    """ovs-ofctl doesn't print a flow's table if it is number 0 and has no
    name."""
    if re.search(r"\btable=|^group_id=", flow):
        return flow
    return re.sub(r"^(cookie=\w+, *)?", r"\1table=0, ", flow)


def node_of(name, case):
    """The node that a flow or a deviation of the document belongs to."""
    for node in case.nodes:
        if node.tables is not None:
            m = re.match(r"table (\d+)\b", name)
            if m and int(m.group(1)) in node.tables:
                return node
        elif not node.name or name.startswith(node.name + " "):
            return node
    die("%s belongs to no node" % name)


class Report:
    def __init__(self, case):
        self.case = case
        self.rows = collections.OrderedDict()
        self.errors = []
        self.notes = []

    def row(self, table):
        return self.rows.setdefault(table, collections.Counter())

    def error(self, format_, *args):
        self.errors.append(format_ % args)

    def show(self):
        print("%-27s %9s %6s %6s %6s" % (self.case.name, "matched",
                                         "slips", "absent", "extra"))
        total = collections.Counter()
        for table, c in self.rows.items():
            print("%-27s %4d /%3d %6d %6d %6d"
                  % (table, c["matched"], c["total"], c["slip"], c["absent"],
                     c["extra"]))
            total.update(c)
        print("%-27s %4d /%3d %6d %6d %6d"
              % ("all", total["matched"], total["total"], total["slip"],
                 total["absent"], total["extra"]))
        if self.notes:
            print("\nDeviations:")
        for note in self.notes:
            print("  " + note)
        for error in self.errors:
            print("ERROR: " + error)


# Comparing.

def compare(expected, ours, by_name, extras, row_of, report):
    """'expected': names to the document's flows, as it prints them and mapped
    as they should read; 'ours': our flows, mapped, to the text as it is;
    'row_of': the row of the report for a flow of ours."""
    left = dict(ours)

    for name, (text, mapped) in expected.items():
        row = report.row(name.rsplit(" ", 1)[0])
        deviation = by_name.get(name)
        kind = deviation.kind if deviation else None
        row["total"] += 1
        found = left.pop(mapped, None)
        if kind == "absent":
            deviation.used += 1
            row["absent"] += 1
            if found:
                report.error("%s is said to be absent, but is here", name)
        elif not found:
            report.error("%s is missing:\n    %s%s", name, text,
                         "\n    should read: " + deviation.texts[0]
                         if deviation else "")
        elif kind == "slip":
            deviation.used += 1
            row["slip"] += 1
        else:
            row["matched"] += 1

    for mapped, text in left.items():
        deviation = extras.get(mapped)
        report.row(row_of(text))["extra"] += 1
        if deviation:
            deviation.used += 1
        else:
            report.error("not in the document:\n    %s", text)


class Comparison:
    """One node of a case against flows of ours."""

    def __init__(self, case, node, normalizer, doc, deviations, report):
        self.case, self.node = case, node
        self.normalizer, self.doc, self.report = normalizer, doc, report
        self.ids = {name: str(number)
                    for number, name in normalizer.tables().items()}
        self.deviations = [d for d in deviations
                           if node_of(d.name, case) is node]
        self.by_name = {d.name: d for d in self.deviations
                        if d.kind != "extra"}

        # The document as it should read.
        names = [n for n in doc if node_of(n, case) is node]
        should = [self.by_name[n].texts[0]
                  if n in self.by_name and self.by_name[n].texts else doc[n]
                  for n in names]
        normalizer.learn_ports(should)
        self.theirs = collections.OrderedDict(
            zip(names, normalizer.run(map(with_table, should))))
        self.map = find_mapping([t for n, t in self.theirs.items()
                                 if not n.startswith("group ")], case.ids)
        self.check_bijection("document", self.map)

    def check_bijection(self, side, mapping):
        for kind, values in mapping.items():
            if len(values) != len(set(values.values())):
                self.report.error("the %s's %s numbers are no bijection",
                                  side, kind)

    def row_of(self, text):
        """The report's row for a normalized flow of ours."""
        table = split(text)[0]
        if self.case.name == "v115":
            return table
        return "%stable %s" % (self.node.name + " "
                               if self.node.tables is None else "",
                               self.ids.get(table, table))

    def shown(self, text):
        """Is a flow of ours in a table that the document shows?"""
        table = split(text)[0]
        return (self.node.tables is None
                or int(self.ids.get(table, table)) in self.node.tables)

    def extras(self, start, sub):
        """The deviations 'extra' of flows, or groups: mapped text to
        deviation."""
        texts, deviations = [], []
        for d in self.deviations:
            for text in d.texts if d.kind == "extra" else ():
                if text.startswith("group_id=") == (start == "group_id="):
                    texts.append(text)
                    deviations.append(d)
        return {sub(text, self.map): d for text, d in
                zip(self.normalizer.run(texts), deviations)}

    def flows(self, flows):
        ours = [f for f in self.normalizer.run(flows) if self.shown(f)]
        self.our_map = find_mapping(ours, self.case.ids)
        self.check_bijection("dump", self.our_map)
        mapped = collections.OrderedDict((substitute(f, self.our_map), f)
                                         for f in ours)
        if len(mapped) != len(ours):
            self.report.error("two of our flows are the same once mapped")
        compare(collections.OrderedDict(
            (name, (self.doc[name], substitute(text, self.map)))
            for name, text in self.theirs.items()
            if not name.startswith("group ")), mapped, self.by_name,
                self.extras("table=", substitute), self.row_of, self.report)

    def groups(self, groups):
        ours = collections.OrderedDict(
            (substitute_group(g, self.our_map), g)
            for g in self.normalizer.run(groups))
        compare(collections.OrderedDict(
            (name, (self.doc[name], substitute_group(text, self.map)))
            for name, text in self.theirs.items()
            if name.startswith("group ")), ours, self.by_name,
                self.extras("group_id=", substitute_group),
                lambda text: "group", self.report)

    def names(self, flows):
        """What the document calls flows of ours: (table, priority, match) as
        mapped, to name.  Flows that it doesn't show have the name of their
        deviation."""
        self.our_map = find_mapping(self.normalizer.run(flows), self.case.ids)
        named = [(substitute(text, self.map), name)
                 for name, text in self.theirs.items()]
        named += [(mapped, d.name) for mapped, d in
                  self.extras("table=", substitute).items()]
        return {split(mapped)[:3]: name for mapped, name in named}

    def key(self, flow):
        """The key in names() of a normalized flow of ours."""
        return split(substitute(flow, self.our_map))[:3]

    def check_deviations(self, with_groups):
        for d in self.deviations:
            self.report.notes.append("%-7s %s:%s" % (d.kind, d.name,
                                                     d.reason))
            if d.name.startswith("group ") and not with_groups:
                continue
            if d.used != (len(d.texts) if d.kind == "extra" else 1):
                self.report.error("deviation %s %s doesn't occur", d.kind,
                                  d.name)
