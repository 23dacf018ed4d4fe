#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has many clients at once change, read and leave.

    crowd.py SOCKET base SEED         the state to begin with
    crowd.py SOCKET SECONDS SEED      random calls, small and large
    crowd.py SOCKET load < RECORDS    makes these the state
    crowd.py SOCKET dump > RECORDS    waits for its turn, and prints the state

No reply may be missing.  Some calls are in vain: for what is in them, or
("internal") because the groups that they need are flushed in the middle."""

import json
import random
import sys
import threading
import time

from rpc import Client, Gone
from slices import NODE, pod

REFUSALS = {"conflict", "missing", "invalid", "limit", "busy", "bridge"}
TIMEOUT = 20                    # Seconds.
# The only reason for "internal".
NO_GROUP = "OFPBAC_BAD_OUT_GROUP"


def is_refusal(error):
    return error["code"] in REFUSALS or (
        error["code"] == "internal" and NO_GROUP in error["message"])


def policy(rng, name, n_rules):
    def rule():
        peer = {"ipBlocks": [{"cidr": "%d.%d.0.0/16" % (
            rng.randrange(11, 90), rng.randrange(256))}]}
        if rng.randrange(2):
            peer["addressGroups"] = ["g%d" % rng.randrange(20)]
        return {"direction": "In", "from": peer,
                "services": [{"protocol": "TCP",
                              "port": rng.randrange(1, 60000)}]}
    return {"kind": "NetworkPolicy", "name": "p%d" % name,
            "type": "K8sNetworkPolicy", "appliedToGroups": ["pods"],
            "rules": [rule() for _ in range(n_rules)]}


def group(rng, name, n):
    return {"kind": "AddressGroup", "name": "g%d" % name, "addresses": sorted({
        "10.20.%d.%d" % (rng.randrange(256), rng.randrange(256))
        for _ in range(n)})}


def service(rng, name, n):
    return {"kind": "Service", "name": "default/s%d" % name,
            "clusterIP": "10.96.%d.%d" % divmod(name, 256),
            "ports": [{"port": 80, "endpoints": [
                {"ip": "10.10.1.%d" % (i + 1), "port": 80}
                for i in rng.sample(range(200), n)]}]}


def base():
    return [NODE, pod(1), pod(2),
            {"kind": "AppliedToGroup", "name": "pods",
             "pods": ["default/pod1", "default/pod2"]}]


def groups(rng):
    return [group(rng, i, 5) for i in range(20)]


def some(rng, n):
    names = rng.sample(range(600), n)
    return [policy(rng, i, rng.randrange(1, 6)) if rng.randrange(3)
            else service(rng, i, rng.randrange(1, 6)) for i in names]


def keys(rng, n):
    return [{"kind": "NetworkPolicy", "name": "p%d" % i}
            if rng.randrange(3) else
            {"kind": "Service", "name": "default/s%d" % i}
            for i in rng.sample(range(600), n)]


def patch(rng, n):
    return {"kind": "AddressGroup", "name": "g%d" % rng.randrange(20),
            rng.choice(("add", "remove")): group(rng, 0, n)["addresses"]}


def random_call(rng):
    large = not rng.randrange(4)
    n = rng.randrange(100, 400) if large else rng.randrange(1, 10)
    what = rng.randrange(14)
    if what < 4:
        return "apply", {"records": some(rng, n)}
    if what < 6:
        return "delete", {"records": keys(rng, n),
                          "ignore_missing": bool(rng.randrange(8))}
    if what == 6:
        return "replace", {"records": base() + groups(rng) + some(rng, n)}
    if what == 7:
        return "apply", {"records": [group(rng, rng.randrange(20),
                                           3 * n)]}
    if what == 8:
        return "transact", {"apply": some(rng, n), "if_generation":
                            rng.randrange(200)}
    if what == 9:
        return "apply", {"records": some(rng, n) + [{"kind": "Pod",
                                                     "name": "bad"}]}
    if what == 10:
        return "apply", {"records": [pod(rng.randrange(1, 3))]}
    if what == 11:
        return "stats", {}
    if what == 12:
        return "transact", {"patch": [patch(rng, n)],
                            "apply": some(rng, n)}
    return "get", {"kind": rng.choice(("Pod", "NetworkPolicy", "Service"))}


class Crowd:
    def __init__(self, path, end, seed):
        self.path, self.end, self.seed = path, end, seed
        self.faults, self.n, self.lock = [], {}, threading.Lock()

    def note(self, what):
        with self.lock:
            self.n[what] = self.n.get(what, 0) + 1

    def client(self, number):
        rng = random.Random(self.seed * 100 + number)
        c = Client(self.path, TIMEOUT)
        try:
            while time.monotonic() < self.end:
                method, params = random_call(rng)
                c.send(method, **params)
                if not rng.randrange(6):
                    time.sleep(rng.random() * 0.2)
                    c.socket.close()
                    c = Client(self.path, TIMEOUT)
                    self.note("left")
                    if rng.randrange(2):
                        c.call("watch")
                    continue
                error = c.reply()[1]
                self.note(error["code"] if error else "done")
                if error and not is_refusal(error):
                    self.faults.append("%s: %s" % (method, error))
        except Exception as e:
            self.faults.append("client %d: %r" % (number, e))

    def run(self):
        threads = [threading.Thread(target=self.client, args=(i,))
                   for i in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()


def main():
    path, what = sys.argv[1:3]
    if what == "dump":
        result, error = Client(path, TIMEOUT).call("get")
        json.dump(result["records"], sys.stdout)
    elif what == "load":
        error = Client(path, TIMEOUT).call(
            "replace", records=json.load(sys.stdin))[1]
    elif what == "base":
        error = Client(path, TIMEOUT).call(
            "replace",
            records=base() + groups(random.Random(int(sys.argv[3]))))[1]
    else:
        seed = int(sys.argv[3])
        crowd = Crowd(path, time.monotonic() + float(what), seed)
        crowd.run()
        print("seed %d: %s" % (seed, crowd.n))
        if not crowd.n.get("done"):
            crowd.faults.append("nothing was done")
        error = crowd.faults[:5]
    if error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
