#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at pages of `antrea-dpctl trace --html` with a browser.

usage: check-pages.py PAGES ANSWERS [SCREENSHOT]

PAGES is a folder with a page NAME.html for each answer NAME.json of the folder
ANSWERS.  In wide and narrow windows, in light and dark, the tables that the
packet met must look different from others, and they and all texts must lie
within the window.  SCREENSHOT becomes a picture of the page "dropped".
"""

import json
import os
import pathlib
import sys

import browser

# The window of the picture in the README.
PICTURE = {"width": 1120, "height": 1190}

# What stands where, and what it looks like.
LOOK = """
function box(e) {
    const b = e.getBoundingClientRect();
    return [b.left, b.right, b.width, b.height];
}
function tables(on) {
    return Array.from(document.querySelectorAll('g.table'))
        .filter(g => g.classList.contains('on') == on)
        .map(g => ({id: Number(g.dataset.table),
                    colour: getComputedStyle(g.querySelector('rect')).stroke,
                    text: getComputedStyle(g.querySelector('text')).fill,
                    box: box(g)}));
}
return {
    on: tables(true),
    off: tables(false),
    background: getComputedStyle(document.body).backgroundColor,
    edges: Array.from(document.querySelectorAll('path.edge'))
        .map(e => ({colour: getComputedStyle(e).stroke,
                    width: parseFloat(getComputedStyle(e).strokeWidth),
                    length: e.getTotalLength(), box: box(e)})),
    texts: Array.from(document.querySelectorAll(
            'h1,h2,h3,p,code,th,td,svg text'))
        .map(e => ({text: e.textContent.slice(0, 40), box: box(e)})),
    names: Array.from(document.querySelectorAll('g.table text'))
        .map(e => ({text: e.textContent, right: box(e)[1],
                    limit: box(e.parentNode.closest('g').querySelector(
                               'rect'))[1]})),
    scroll: document.documentElement.scrollWidth,
    width: document.documentElement.clientWidth,
    resources: performance.getEntriesByType('resource').length,
};
"""


def luminance(colour):
    """Of "rgb(r, g, b)", as WCAG 2 defines it."""
    channels = [int(c) / 255 for c in colour[4:-1].split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
              for c in channels]
    return sum(k * c for k, c in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def inside(box, look):
    left, right, width, height = box
    return width > 0 and height > 0 and left >= 0 and right <= look["width"]


def problems(look, answer):
    """What is wrong with a page, as texts."""
    path = {visit["id"] for visit in answer["tables"]}
    background = look["background"]
    off_colours = {table["colour"] for table in look["off"]}

    if {table["id"] for table in look["on"]} != path:
        yield "other tables are marked than the packet met"
    if off_colours & {table["colour"] for table in look["on"]}:
        yield "the marked tables look like the others"
    for table in look["on"]:
        if not inside(table["box"], look):
            yield "table %d isn't in the window" % table["id"]
        if contrast(table["colour"], background) < 3:
            yield "the frame of table %d is hard to see" % table["id"]
    for table in look["on"] + look["off"]:
        if contrast(table["text"], background) < 4.5:
            yield "the name of table %d is hard to read" % table["id"]
    if not look["edges"]:
        yield "there are no steps"
    for edge in look["edges"]:
        # A line straight down has no width of its own.
        left, right = edge["box"][:2]
        if (edge["width"] < 1 or edge["length"] < 2
                or contrast(edge["colour"], background) < 3
                or left < 0 or right > look["width"]):
            yield "a step can't be seen: %s" % edge
    for text in look["texts"]:
        if not inside(text["box"], look):
            yield "not in the window: %s" % text
    for name in look["names"]:
        if name["right"] > name["limit"]:
            yield "a name doesn't fit its box: %s" % name
    if look["scroll"] > look["width"]:
        yield "the page is wider than the window"
    if look["resources"]:
        yield "the page loads something"


def main():
    pages = pathlib.Path(sys.argv[1]).resolve()
    answers = pathlib.Path(sys.argv[2])
    if not browser.find():
        sys.exit("check-browser: needs Debian's packages chromium and "
                 "chromium-driver")
    failed = False
    with browser.Browser() as window:
        for answer_file in sorted(answers.glob("*.json")):
            answer = json.loads(answer_file.read_text(encoding="utf-8"))
            page = (pages / answer_file.stem).with_suffix(".html")
            backgrounds = set()
            for width in 1280, 400:
                for dark in False, True:
                    window.open(page.as_uri(), width=width, dark=dark)
                    look = window.run(LOOK)
                    backgrounds.add(look["background"])
                    found = list(problems(look, answer))
                    failed = failed or bool(found)
                    print("%sok - %s, %d wide, %s" % (
                        "not " if found else "", page.stem, width,
                        "dark" if dark else "light"))
                    for problem in found[:20]:
                        print("# " + problem)
            if len(backgrounds) != 2:
                failed = True
                print("not ok - %s: light and dark differ" % page.stem)
        if len(sys.argv) > 3:
            window.open((pages / "dropped.html").as_uri(), **PICTURE)
            window.screenshot(os.path.abspath(sys.argv[3]))
    sys.exit(failed)


if __name__ == "__main__":
    main()
