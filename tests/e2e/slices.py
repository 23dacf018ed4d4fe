#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads many policy rules and sees what others see meanwhile.

    slices.py SOCKET RULES
    slices.py SOCKET --stats        asks for counters until there is no bridge

Prints the generation that the load made, whether a client who asked meanwhile
got the Pods of before or after another client's change, and the generation of
that.  What it took goes to stderr."""

import random
import sys
import time

from rpc import Client

RULES_OF_POLICY, STAGED = 10, 500
NODE = {"kind": "NodeConfig", "name": "node", "podCIDR": "10.10.0.0/24",
        "serviceCIDR": "10.96.0.0/12",
        "gateway": {"port": "gw0", "mac": "0a:00:00:00:00:01",
                    "ip": "10.10.0.1"},
        "transportIP": "192.168.1.1"}


def result(reply):
    """Of a call that has to succeed."""
    value, error = reply
    if error:
        sys.exit(error["message"])
    return value


def pod(index):
    return {"kind": "Pod", "name": "default/pod%d" % index,
            "port": "pod%d" % index, "mac": "0a:00:00:00:01:%02x" % index,
            "ips": ["10.10.0.%d" % (10 + index)]}


def policies(n_rules, prefix="p"):
    rng = random.Random(n_rules)
    for i in range(n_rules // RULES_OF_POLICY):
        yield {"kind": "NetworkPolicy",
               "name": "K8sNetworkPolicy:default/%s%d" % (prefix, i),
               "type": "K8sNetworkPolicy", "appliedToGroups": ["pods"],
               "rules": [{
                   "direction": "In",
                   "from": {"ipBlocks": [{"cidr": "%d.%d.%d.0/24" % (
                       rng.randrange(11, 190), rng.randrange(256),
                       rng.randrange(256))} for _ in range(4)]},
                   "services": [{"protocol": "TCP",
                                 "port": rng.randrange(1, 60000)}]}
                         for _ in range(RULES_OF_POLICY)]}


def read_stats(path):
    client = Client(path)
    while not client.call("stats")[1]:
        pass


def main():
    if sys.argv[2] == "--stats":
        read_stats(sys.argv[1])
        return
    path, n_rules = sys.argv[1], int(sys.argv[2])
    loader, reader, writer = (Client(path) for _ in range(3))

    result(loader.call("apply", records=[NODE, pod(1), {
        "kind": "AppliedToGroup", "name": "pods",
        "pods": ["default/pod1"]}]))
    records = list(policies(n_rules))
    for first in range(0, len(records), STAGED):
        result(loader.call("stage", apply=records[first:first + STAGED]))

    started = time.monotonic()
    loader.send("transact", staged=True)
    time.sleep(0.05)
    reader.send("get", kind="Pod")
    writer.send("apply", records=[pod(2)])
    print(result(loader.reply())["generation"])
    seconds = time.monotonic() - started
    print(len(result(reader.reply())["records"]) in (1, 2))
    print(result(writer.reply())["generation"])
    print("%d rules in %.2f s, the others' replies after %.2f s" % (
        n_rules, seconds, time.monotonic() - started), file=sys.stderr)

    took = []
    for i in range(10):
        started = time.monotonic()
        result(writer.call("apply", records=list(
            policies(RULES_OF_POLICY, "more%d-" % i))))
        took.append((time.monotonic() - started) * 1000)
    print("%d rules more in %.1f to %.1f ms" % (
        RULES_OF_POLICY, min(took), max(took)), file=sys.stderr)


if __name__ == "__main__":
    main()
