# SPDX-License-Identifier: Apache-2.0
"""Flows as text that can be compared: in one form, and without the numbers
that differ from bridge to bridge.

IDs of conjunctions and groups, VLANs of L7 rules, and numbers of ports, are replaced by what
they stand for, which is found in the flows themselves.  The mapping has to be
a bijection; what is unknown stays unequal to everything else.
"""

import collections
import re
import subprocess

from documents import die


class Normalizer:
    """Runs gen-flows for a node of a case.  --normalize needs to know all
    port names."""

    def __init__(self, program, case, node):
        self.case, self.node = case, node
        self.command = [program, "--pipeline=" + case.pipeline]
        self.ports = dict(node.ports)

    def call(self, args, text=None):
        p = subprocess.run(self.command + args, input=text, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if p.returncode:
            die("%s failed: %s" % (self.command[0], p.stderr.strip()))
        return p.stdout.splitlines()

    def generate(self, what):
        args = ["--options=" + self.case.options] if self.case.options else []
        return self.call(args + [what, self.node.path]
                         + ["%s=%d" % port
                            for port in self.node.ports.items()])

    def tables(self):
        """The pipeline's tables: ID to name."""
        return {int(line.split()[0]): line.split()[1]
                for line in self.call(["--tables"])}

    def learn_ports(self, texts):
        for text in texts:
            for m in re.finditer(r'(?:in_port=|output:)(?:"([^"]+)"|'
                                 r'([A-Za-z][\w.-]*))', text):
                name = m.group(1) or m.group(2)
                if name not in ("IN_PORT", "LOCAL", "CONTROLLER", "NORMAL") \
                        and not name.startswith("NXM_") \
                        and not re.match(r"reg\d", name):
                    self.ports.setdefault(name, 1000 + len(self.ports))

    def run(self, texts):
        """Cookies are kept where the documents show them."""
        cookies, bare = [], []
        for text in texts:
            m = re.match(r"(cookie=0x[0-9a-f]+, *)?(.*)$", text)
            cookies.append((m.group(1) or "") if self.case.cookies else "")
            bare.append(m.group(2))
        if not bare:
            return []
        self.learn_ports(bare)
        args = ["--normalize"]
        args += ["%s=%d" % port for port in sorted(self.ports.items())]
        lines = self.call(args, "\n".join(bare) + "\n")
        if len(lines) != len(bare):
            die("normalizing lost flows")
        return [cookie + line for cookie, line in zip(cookies, lines)]


HEXA = r"0x(?P<id>[0-9a-f]+)"
L7_LABEL = r"(?P<post>/0xfff0000000000000000->ct_label)"


def split(flow):
    """(table, priority, match, actions) of a normalized flow."""
    m = re.match(r"(?:cookie=0x[0-9a-f]+, *)?table=(\w+), "
                 r"(?:hard_timeout=\d+, )?priority=(\d+),?(.*?) "
                 r"actions=(.*)$", flow)
    if not m:
        die("can't split: %s" % flow)
    return m.group(1), int(m.group(2)), m.group(3), m.group(4)


def map_value(mapping, kind, value, number):
    return mapping[kind].get(number, "<%s?%s>" % (kind, value))


def find_ports(flows):
    """Port numbers, from L2ForwardingCalc: "the port of that MAC"."""
    ports = {}
    for table, _, match, actions in map(split, flows):
        m = re.match(r"set_field:0x([0-9a-f]+)->reg1,", actions)
        if table == "L2ForwardingCalc" and m:
            ports[int(m.group(1), 16)] = "<port %s>" % match
    return ports


def find_groups(flows):
    """Group IDs, from ServiceLB: "the group of that match"."""
    groups = {}
    for table, priority, match, actions in map(split, flows):
        m = re.search(r"group:(\d+)$", actions)
        if table == "ServiceLB" and m:
            groups[int(m.group(1))] = "<group %d %s>" % (priority, match)
    return groups


def find_conjs(flows, ports):
    """Conjunction IDs, by the clauses that each has in a table: "the one of
    these matches".  Priorities don't count: a slip in one would hide the
    conjunction and with it all else about it."""
    clauses = collections.defaultdict(list)
    for table, _, match, actions in map(split, flows):
        for m in re.finditer(r"conjunction\((\d+),(\d+/\d+)\)", actions):
            match_m = re.sub(r"reg1=0x([0-9a-f]+)",
                             lambda r: ports.get(int(r.group(1), 16),
                                                 r.group(0)), match)
            clauses[int(m.group(1))].append("%s %s %s" % (table, match_m,
                                                          m.group(2)))
    conjs = {}
    for conj_id, texts in clauses.items():
        text = "<conj %s>" % "; ".join(sorted(texts))
        if text in conjs.values():
            die("conjunctions can't be told apart: %s" % text)
        conjs[conj_id] = text
    return conjs


def find_vlans(flows, conjs):
    """VLANs of L7 rules, from the rules' flows: "the one of that
    conjunction"."""
    vlans = {}
    for _, _, match, actions in map(split, flows):
        m = re.search(r"set_field:" + HEXA + L7_LABEL, actions)
        conj = re.search(r"\bconj_id=(\d+)", match)
        if m and conj:
            vlans[int(m.group("id"), 16) >> 64] = (
                "<VLAN of %s>" % conjs[int(conj.group(1))])
    return vlans


def find_mapping(flows, ids):
    """The mapping of the kinds of numbers in 'ids', from normalized flows."""
    ports = find_ports(flows) if "port" in ids else {}
    conjs = find_conjs(flows, ports)
    mapping = {"port": ports, "group": find_groups(flows), "conj": conjs,
               "vlan": find_vlans(flows, conjs)}
    return {kind: mapping[kind] for kind in ids}


# Where numbers stand in a normalized flow: pattern, kind, base, and by how
# many bits the number is shifted to the left there.
PLACES = (
    (r"(?P<pre>\breg1=)" + HEXA + r"(?P<post>)", "port", 16, 0),
    (r"(?P<pre>set_field:)" + HEXA + r"(?P<post>->reg1\b)", "port", 16, 0),
    (r"(?P<pre>\bgroup:)(?P<id>\d+)(?P<post>)", "group", 10, 0),
    (r"(?P<pre>set_field:)" + HEXA + r"(?P<post>->reg7\b)", "group", 16, 0),
    (r"(?P<pre>\bcookie=0x[0-9a-f]{1,4}03)00(?P<id>[0-9a-f]{8})(?P<post>)",
     "group", 16, 0),
    (r"(?P<pre>conjunction\()(?P<id>\d+)(?P<post>,)", "conj", 10, 0),
    (r"(?P<pre>\bconj_id=)(?P<id>\d+)(?P<post>)", "conj", 10, 0),
    (r"(?P<pre>set_field:)" + HEXA + r"(?P<post>->reg[56]\b)", "conj", 16, 0),
    (r"(?P<pre>load:)" + HEXA + r"(?P<post>->NXM_NX_REG[56]\[\])",
     "conj", 16, 0),
    (r"(?P<pre>load:)" + HEXA + r"(?P<post>->NXM_NX_REG7\[\])",
     "group", 16, 0),
    (r"(?P<pre>set_field:)" + HEXA + r"(?P<post>/0xffffffff->ct_label)",
     "conj", 16, 0),
    (r"(?P<pre>set_field:)" + HEXA
     + r"(?P<post>/0xffffffff00000000->ct_label)", "conj", 16, 32),
    (r"(?P<pre>set_field:)" + HEXA + L7_LABEL, "vlan", 16, 64),
    (r"(?P<pre>ct_label=)" + HEXA + r"(?P<post>/0xffffffff\b)",
     "conj", 16, 0),
    (r"(?P<pre>ct_label=)" + HEXA + r"(?P<post>/0xffffffff00000000)",
     "conj", 16, 32),
)
# In tables of policies only.
POLICY_PLACES = (
    (r"(?P<pre>\breg3=)" + HEXA + r"(?P<post>)", "conj", 16, 0),
    (r"(?P<pre>set_field:)" + HEXA + r"(?P<post>->reg3\b)", "conj", 16, 0),
)


def substitute(flow, mapping):
    """'flow' with all IDs replaced by what they stand for."""
    places = PLACES
    table = split(flow)[0]
    if "Policy" in table or table.endswith(("Rule", "Metric")):
        places += POLICY_PLACES
    for pattern, kind, base, shift in places:
        if kind in mapping:
            flow = re.sub(pattern, lambda m: m.group("pre") + map_value(
                mapping, kind, m.group("id"),
                int(m.group("id"), base) >> shift) + m.group("post"), flow)
    if "group" in mapping:
        flow = re.sub(r"\bcookie=0x[0-9a-f]{1,4}03<", "cookie=<", flow)
    return sort_conjunctions(flow)


def sort_conjunctions(flow):
    """The order of several conjunction() actions means nothing."""
    head, actions = flow.split(" actions=", 1)
    if actions.startswith("conjunction("):
        actions = ",".join(sorted(re.findall(r"conjunction\(.*?,\d+/\d+\)",
                                             actions)))
    return "%s actions=%s" % (head, actions)


def substitute_group(group, mapping):
    m = re.match(r"group_id=(\d+)(.*)$", group)
    return "group_id=%s%s" % (map_value(mapping, "group", m.group(1),
                                        int(m.group(1))), m.group(2))
