#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a page of `antrea-dpctl trace --html` with the answer that it is
made of.

usage: check-page.py PAGE ANSWER

The page must be well-formed XML, and the tables, the steps from one to the
next and the flows in it those of the answer's walk, in its order.
"""

import json
import sys
import xml.etree.ElementTree as ElementTree

HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"

# Outcomes that look like another one.
CLASSES = {"to controller": "forwarded", "rejected": "dropped"}


def has_class(element, name):
    return name in element.get("class", "").split()


def steps_between(visits):
    """The steps between tables as (from, to, whether it comes back)."""

    def caller(i):
        """The visit that the walk comes back to after visit i, or None."""
        while "from" in visits[i]:
            step = next(s for s in visits[visits[i]["from"]]["steps"]
                        if s.get("visit") == i)
            if step.get("returns"):
                return visits[i]["from"]
            i = visits[i]["from"]
        return None

    edges = []
    for i, visit in enumerate(visits[1:]):
        origin = visit["from"]
        if origin != i:
            assert caller(i) == origin, "visit %d isn't left" % i
            edges.append((visits[i]["id"], visits[origin]["id"], True))
        edges.append((visits[origin]["id"], visit["id"], False))
    return edges


def check(page, answer):
    visits = answer["tables"]
    path = [visit["id"] for visit in visits]

    articles = list(page.iter(HTML + "article"))
    assert [int(a.get("data-table")) for a in articles] == path, "articles"
    for article, visit in zip(articles, visits):
        flows = ["".join(code.itertext())
                 for code in article.iter(HTML + "code")]
        assert flows == [visit["flow"]] if "flow" in visit else not flows

    folded = [a for d in page.iter(HTML + "details")
              for a in d.iter(HTML + "article")]
    for article, visit in zip(articles, visits):
        if article in folded:
            assert visit["flow"] == "priority=0", "a flow is folded away"
    assert articles[-1] not in folded, "the end is folded away"
    assert folded or "priority=0" not in [
        v.get("flow") for v in visits[:-1] if len(v["steps"]) == 1
        and v["steps"][0]["do"] == "goto"], "nothing is folded away"

    tables = [g for g in page.iter(SVG + "g") if has_class(g, "table")]
    assert ([int(g.get("data-table")) for g in tables]
            == [table["id"] for table in answer["pipeline_tables"]]), "tables"
    marked = [int(g.get("data-table")) for g in tables if has_class(g, "on")]
    assert sorted(marked) == sorted(set(path)), "marked tables"

    edges = [(int(e.get("data-from")), int(e.get("data-to")),
              has_class(e, "back"))
             for e in page.iter(SVG + "path") if e.get("data-from")]
    assert edges == steps_between(visits), "steps"

    ids = [e.get("id") for e in page.iter() if e.get("id")]
    assert len(ids) == len(set(ids)), "ids"
    for link in page.iter(HTML + "a"):
        assert link.get("href")[1:] in ids, link.get("href")
    for link in page.iter(SVG + "a"):
        assert link.get("href")[1:] in ids, link.get("href")
    verdict = next(e for e in page.iter() if e.get("id") == "verdict")
    outcome = answer["outcome"]
    assert has_class(verdict, CLASSES.get(outcome, outcome)), "verdict"
    decided = [a.get("href") for a in verdict.iter(HTML + "a")]
    assert decided and decided[-1][7:].isdigit(), "who decided"
    assert articles[int(decided[-1][7:])] not in folded, "who decided"
    return path


def main():
    page = ElementTree.parse(sys.argv[1]).getroot()
    with open(sys.argv[2], encoding="utf-8") as file:
        answer = json.load(file)
    print(*check(page, answer))


if __name__ == "__main__":
    main()
