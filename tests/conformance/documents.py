# SPDX-License-Identifier: Apache-2.0
"""The pipeline documents: what each shows, and of which bridges.

A document's flows stand in CASE-flows.txt, a line each: name, tabulator, the
text as the document prints it.  A name is what people call the flow by: the
node if the document shows more than one, the table, the flow's number there.
Where the documents themselves are at hand, the extracts are verified against
them; they aren't part of the repository.
"""

import collections
import html
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def die(message):
    sys.exit("%s: %s" % (os.path.basename(sys.argv[0]), message))


class Node:
    """A bridge of a document: its records and ports, from FILE; the tables
    that the document shows of it, None for all."""

    def __init__(self, name, path):
        self.name = name
        self.path = os.path.join(HERE, path)
        with open(self.path, encoding="utf-8") as f:
            state = json.load(f)
        self.ports = state["ports"]
        self.tables = state.get("tables")


class Case:
    """Documents that show the same flows, and which pipeline makes them.

    'ids': the numbers that differ from bridge to bridge.
    'cookies': do the documents show them?"""

    def __init__(self, name, pipeline, options, documents, extract, nodes,
                 ids, cookies=False):
        self.name = name
        self.pipeline, self.options = pipeline, options
        self.documents, self.extract = documents, extract
        self.nodes = [Node(node, name + ("-" + node if node else "")
                           + "-state.json") for node in nodes]
        self.ids = ids
        self.cookies = cookies

    def path(self, what):
        return os.path.join(HERE, "%s-%s.txt" % (self.name, what))

    def node(self, name):
        for node in self.nodes:
            if node.name == name:
                return node
        die("case %s has no node \"%s\"" % (self.name, name))


# Extracting.

def extract_v115(text):
    """Flows and groups in the blocks of text: "Classifier 3"."""
    for block in re.findall(r"^```text\n(.*?)^```", text, re.M | re.S):
        for line in re.sub(r"\\\n\s*", "", block).splitlines():
            m = re.match(r"(\d+)\. ((?:table=(\w+)|group_id=).*)$", line)
            if m:
                yield ("%s %s" % (m.group(3) or "group", m.group(1)),
                       m.group(2))


def extract_early(text):
    """Flows of one table after the other, most of them numbered: "table 50
    3"."""
    n = collections.Counter()
    for m in re.finditer(r"^(?:(\d+)\. )?(table=(\d+), .*)$", text, re.M):
        n[m.group(3)] += 1
        if m.group(1) and int(m.group(1)) != n[m.group(3)]:
            die("the document counts its flows in another way: " + m.group(0))
        yield "table %s %d" % (m.group(3), n[m.group(3)]), m.group(2)


def plain(text):
    """'text' without its HTML, one line below the other."""
    return html.unescape(re.sub(r"</?[a-z]+>", "", text))


def walk_listings(text):
    """Yields ("worker1 table 50", flows) for each listing."""
    nodes = {"f76q2": "worker1", "fv5x9": "worker2"}
    title, flows = None, []
    for line in plain(text).splitlines():
        m = re.search(r"antrea-agent-(\w+) .*dump-flows br-int table=(\d+)",
                      line)
        if m or line.startswith("vmware@"):
            if title:
                yield title, flows
            title = m and "%s table %s" % (nodes[m.group(1)], m.group(2))
            flows = []
        elif title and line.strip().startswith("cookie="):
            flows.append(line.strip())


def extract_walk(text):
    """Flows of the listings, of which several are shown twice: "worker1 table
    50 3"."""
    seen = collections.OrderedDict()
    for title, flows in walk_listings(text):
        if seen.setdefault(title, flows) != flows:
            die("the document shows two different listings of " + title)
    # In the order of a dump, not of the walk.
    for title in sorted(seen, key=lambda t: (t.split()[0], int(t.split()[2]))):
        for n, flow in enumerate(seen[title], 1):
            yield "%s %d" % (title, n), flow


def extract_packets(text):
    """The packets that open a connection, as tcpdump shows them."""
    return re.findall(r"^\d\d:\d\d:\d\d\.\d+ (.* Flags \[S\.?\].*?) *$",
                      plain(text), re.M)


# Reading extracts, verifying them.

def read_extract(path):
    entries = collections.OrderedDict()
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                name, text = line.rstrip("\n").split("\t")
                if name in entries:
                    die("%s: %s twice" % (path, name))
                entries[name] = text
    return entries


def find_documents(given=None):
    """All documents that are at hand: prefix ("000_") to path."""
    folder = (given or os.environ.get("ADP_SEEDS")
              or os.path.join(os.path.dirname(TOP), "shared", "seeds"))
    if given and not os.path.isdir(given):
        die("%s: no such folder" % given)
    return ({name[:4]: os.path.join(folder, name)
             for name in sorted(os.listdir(folder))
             if re.match(r"\d\d\d_", name)} if os.path.isdir(folder) else {})


def read_document(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def verify(case, flows, documents):
    """Compares the extract 'flows' with the documents.  Says what it saw."""
    for prefix in case.documents:
        if prefix not in documents:
            print("Extract: document %s isn't here to be compared with."
                  % prefix)
            continue
        text = read_document(documents[prefix])
        theirs = collections.OrderedDict(case.extract(text))
        for name in sorted(set(theirs) | set(flows)):
            if theirs.get(name) != flows.get(name):
                die("%s and document %s differ in %s:\n  %s\n  %s"
                    % (os.path.basename(case.path("flows")), prefix, name,
                       flows.get(name), theirs.get(name)))
        if list(theirs) != list(flows):
            die("%s and document %s differ in their order"
                % (os.path.basename(case.path("flows")), prefix))
        print("Extract: equals document %s, %d flows and groups%s."
              % (prefix, len(flows), verify_walk(case, text)))


def verify_walk(case, text):
    """The rest that the walk shows: how often each listing, and packets."""
    if case.extract is not extract_walk:
        return ""
    n = collections.Counter(title for title, _ in walk_listings(text))
    known = read_extract(case.path("packets")).values()
    packets = extract_packets(text)
    for line in packets:
        if line not in known:
            die("%s: the document shows %s as well"
                % (os.path.basename(case.path("packets")), line))
    return " in %d listings (%d of them repeated), %d packets" \
        % (sum(n.values()), sum(n.values()) - len(n), len(packets))


def cases():
    every = (
        Case("v115", "v1.15", "probe-mark", ["000_"], extract_v115, [""],
             {"port", "group", "conj", "vlan"}),
        Case("early", "early", "", ["002_"], extract_early,
             ["coredns", "nginx"], {"conj"}),
        Case("walk", "early", "walk", ["003_", "004_"], extract_walk,
             ["worker1", "worker2"], {"conj"}, cookies=True),
    )
    return {case.name: case for case in every}
