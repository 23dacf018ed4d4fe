#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for kubectl and its API server: kubectl get --raw PATH[?QUERY].

The cluster is the directory FAKE_CLUSTER.  Its file "log" has an event a line,
{"path", "type", "object"}; the number of a line is its resourceVersion, and
that of its object.  "paths" has the resources that there are, a line each.
While there is a file "down" nothing is served.  "compacted" has the oldest
version from which a watch may begin, and when the content of "epoch" changes,
watches end; one of the path in the first line of "cut" prints the second one,
then.  The first request for the path in the first line of "broken" fails with
what the second one says.  "padding" is how many bytes more the status of an object has in a list.
What was asked for is written to the file "asked".
"""

import json
import os
import sys
import time
import urllib.parse

CLUSTER = os.environ["FAKE_CLUSTER"]


def content(name):
    try:
        with open(os.path.join(CLUSTER, name), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def is_down():
    return os.path.exists(os.path.join(CLUSTER, "down"))


def events(path):
    """(version, type, object) of whole lines."""
    lines = content("log").split("\n")[:-1]
    for version, line in enumerate(lines, 1):
        event = json.loads(line)
        if event["path"] == path:
            item = event["object"]
            item["metadata"]["resourceVersion"] = str(version)
            yield version, event["type"], item


def fail(text):
    sys.exit("Error from server %s" % text)


def serve_list(path, query):
    items = {}
    for _, kind, item in events(path):
        name = (item["metadata"].get("namespace"), item["metadata"]["name"])
        if kind == "DELETED":
            items.pop(name, None)
        else:
            items[name] = item
    items = [items[name] for name in sorted(items, key=str)]
    # A page holds what of it is still there: nobody changes it meanwhile.
    version = str(content("log").count("\n"))
    begin = 0
    if "continue" in query:
        begin, version = query["continue"].split("-")
    end = int(begin) + int(query.get("limit", 10 ** 9))
    meta = {"resourceVersion": version}
    if end < len(items):
        meta["continue"] = "%d-%s" % (end, version)
    page = items[int(begin):end]
    padding = int(content("padding") or 0)
    for item in page:
        if padding and "status" in item:
            item["status"]["padding"] = "x" * padding
    crd = "crd." in path
    kind = {"pods": "PodList", "tiers": "TierList",
            "namespaces": "NamespaceList", "nodes": "NodeList",
            "networkpolicies": "NetworkPolicyList",
            "clusternetworkpolicies": "ClusterNetworkPolicyList",
            "services": "ServiceList",
            "endpointslices": "EndpointSliceList",
            }[path.rsplit("/", 1)[1]]
    version = path.split("/")
    version = version[2] if path.startswith("/api/") else "/".join(
        version[2:4])
    # As an API server writes it: of its own kinds and of others.
    text = {"apiVersion": version, "items": page, "kind": kind,
            "metadata": meta} if crd else {
                "kind": kind, "apiVersion": version, "metadata": meta,
                "items": page}
    print(json.dumps(text, separators=(",", ":")), flush=True)


def watch(path, query):
    after = int(query.get("resourceVersion", 0))
    epoch = content("epoch")

    def tell(kind, item):
        print(json.dumps({"type": kind, "object": item},
                         separators=(",", ":")), flush=True)

    if after < int(content("compacted") or 0):
        tell("ERROR", {"kind": "Status", "apiVersion": "v1", "metadata": {},
                       "status": "Failure", "reason": "Expired", "code": 410,
                       "message": "too old resource version: %d" % after})
        return
    while content("epoch") == epoch and not is_down():
        cut, _, text = content("cut").partition("\n")
        if cut == path:
            print(text.strip(), end="", flush=True)
            os.remove(os.path.join(CLUSTER, "cut"))
            return
        for version, kind, item in events(path):
            if version > after:
                tell(kind, item)
                after = version
        time.sleep(0.05)


def serve_discovery(path):
    """What kinds there are; False if 'path' asks for something else."""
    parts = [p.split("/")[2:] for p in content("paths").split()
             if p.startswith("/apis/")]
    versions = {"/".join(p[:2]) for p in parts}
    asked = path.split("/")[2:]
    if path == "/apis":
        reply = {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
            {"name": group, "versions": [
                {"groupVersion": v, "version": v.split("/")[1]}
                for v in sorted(versions) if v.split("/")[0] == group]}
            for group in sorted({p[0] for p in parts})]}
    elif "/".join(asked) in versions:
        reply = {"kind": "APIResourceList", "apiVersion": "v1",
                 "groupVersion": "/".join(asked), "resources": [
                     {"name": p[2], "singularName": ""} for p in parts
                     if p[:2] == asked]}
    else:
        return False
    print(json.dumps(reply, separators=(",", ":")), flush=True)
    return True


def main():
    path, _, query = sys.argv[3].partition("?")
    with open(os.path.join(CLUSTER, "asked"), "a", encoding="utf-8") as file:
        file.write(sys.argv[3] + "\n")
    if is_down():
        sys.exit("The connection to the server was refused")
    broken, _, text = content("broken").partition("\n")
    if broken == path:
        os.remove(os.path.join(CLUSTER, "broken"))
        sys.exit(text.strip())
    if serve_discovery(path):
        return
    if path not in content("paths").split():
        fail("(NotFound): the server could not find the requested resource")
    query = dict(urllib.parse.parse_qsl(query))
    if "watch" in query:
        watch(path, query)
    else:
        serve_list(path, query)


if __name__ == "__main__":
    main()
