#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the daemon's control socket and for OVSDB.

usage: fake-server.py CONTROL-SOCKET DB-SOCKET [MODE...]

Keeps records as the control socket's document says, without checking them,
and has a few ports in its OVSDB.  MODE is "conflicts=N" (refuse N times what
would change something), "silent" (never answer), "refuse" (an error),
"refuse=KIND NAME,..." (changes that have one of these records), "count" (tell
when all records are asked for),
"limit" (refuse messages of more than 64 KiB in the middle of them),
"closed" (a stored state can't be restored, until it is replaced),
"lost" (began anew after objects were applied),
"restart" (counters begin anew at the third time that they are asked for),
"trace=FILE" (the answer to `trace`),
"pause=FILE" (tell which Manifests called bad... are asked for, and answer once
there is no such FILE),
"portless=FILE" (as long as there is such a FILE no Pod has a port), or
"unwell" (limits met, and a database that the daemon is behind).
Prints "ready", then each changing call as a line of JSON.
"""

import json
import os
import socket
import sys
import threading
import time

LOCK = threading.Lock()
STATE = {"generation": 1, "records": {}, "conflicts": 0, "n_stats": 0,
         "ids": []}
WATCHERS = []
FILTERS = {"names", "keys", "kind", "name"}
MODES = {}                      # What is behind "=", or "", of each.


class Refused(Exception):
    pass


def refuse(code, message, name=None):
    raise Refused({"code": code, "object": name, "field": None,
                   "message": message})


def key(record):
    return (record["kind"], record["name"])


def stage(param, staged):
    for name in ("apply", "delete"):
        staged.setdefault(name, []).extend(param.get(name, []))
    return {"staged": sum(map(len, staged.values()))}


def unstage(method, param, staged):
    """The parameter with what was staged, which is gone then."""
    whole = dict(param)
    name = "records" if method == "replace" else "apply"
    whole[name] = staged.pop("apply", []) + param.get(name, [])
    whole["delete"] = staged.pop("delete", []) + param.get("delete", [])
    return whole


def notify(client):
    message = {"id": None, "method": "update", "params": [
        {"bridge": "br-int", "generation": STATE["generation"]}]}
    try:
        client.sendall(json.dumps(message).encode())
    except OSError:
        pass                    # It has gone.


def check_open():
    if "closed" in MODES:
        refuse("disk", "the state can't be restored: damaged")


def change(method, param):
    if method != "replace":
        check_open()
    if MODES.get("refuse") == "":
        refuse("invalid", "Pod default/web: port: no such port")
    if STATE["conflicts"] > 0:
        STATE["conflicts"] -= 1
        STATE["generation"] += 1
        refuse("conflict", "the state has changed")
    if param.get("if_generation", STATE["generation"]) != STATE["generation"]:
        refuse("conflict", "the state has changed")

    records = {} if method == "replace" else dict(STATE["records"])
    for record in param.get("delete", []):
        if key(record) not in records:
            refuse("missing", "%s %s: there is none" % key(record))
        del records[key(record)]
    for record in param.get("apply", []) + param.get("records", []):
        name = " ".join(key(record))
        if name in MODES.get("refuse", "").split(","):
            refuse("invalid", name + ": port: is taken", name)
        records[key(record)] = record
    STATE["records"] = records
    MODES.pop("closed", None)
    STATE["generation"] += 1
    print(json.dumps({"method": method, "param": param}), flush=True)
    for client in WATCHERS:
        notify(client)
    return {"generation": STATE["generation"]}


def stats(with_endpoints):
    """Counters of a busy bridge: they grow with each call, by as much as if
    a second passed."""
    with LOCK:
        n = STATE["n_stats"] = STATE["n_stats"] + 1
        if "restart" in MODES and n > 2:
            n -= 2
    unwell = "unwell" in MODES
    service = {"service": "default/web", "port": 80, "protocol": "TCP",
               "sessions": 10 * n, "affinity_sessions": 5}
    if with_endpoints:
        service["endpoints"] = [
            {"ip": "10.1.0.7", "port": 8080, "sessions": 10 * n}]
    thread = {"thread": "pmd", "core": 1, "numa": 0, "packets": 1000 * n,
              "busy_cycles": 250000 * n, "idle_cycles": 750000 * n,
              "cycles_per_packet": 250}
    cache = {"sessions": 40, "session_capacity": 4096, "session_bytes": 5120,
             "session_verdicts": 3, "sessions_inserted": 20 * n}
    return {
        "bridge": "br-int", "pipeline": "v1.15", "time_ms": 1000 * n,
        "program_generation": 4, "program_bytes": 77777,
        "state_generation": 0 if "lost" in MODES else STATE["generation"],
        "memory": {"records": len(STATE["records"]), "compiled_flows": 5},
        "connections": {"all": 99 if unwell else 9, "limit": 100,
                        "half_open_evicted": 7 if unwell else 0},
        "packets": {"handled": 900 * n, "bytes": 54000 * n, "hits": 750 * n,
                    "decides": 150 * n, "decide_cycles": 300000 * n,
                    "cycles_per_decide": 2000, "learned": 1,
                    "unlearned": 0},
        "punts": {"normal": 60 * n, "controller": 40 * n, "meter": 0,
                  "total": 100 * n, "ip": 40 * n},
        "drops": {"flow": 30 * n, "miss": 0, "tunnel": 0},
        "tables": {"Classifier": {"flows": 5, "matched": 900 * n,
                                  "missed": 0}},
        "cache": cache, "threads": [{**thread, **cache}], "pmds": thread,
        "turns": {"count": 70 * n,
                  "longer_than_ms": {"1": 9 * n, "10": 4, "50": 3, "250": 0,
                                     "1000": 0},
                  "section_us": {"openflow": 90000 * n},
                  "longest": {"us": 61234, "cpu_us": 60100, "ago_ms": 4200,
                              "section_us": {
                                  "openflow": 50000, "compile": 11200,
                                  "other": 4, "lock": 30}},
                  "recent": {"us": 2049, "cpu_us": 1900, "ago_ms": 150,
                             "since_ms": 1000,
                             "section_us": {"counters": 2049}}},
        "rules": [
            {"id": 7, "policy": "K8sNetworkPolicy:default/web",
             "direction": "In", "number": 1, "action": "Allow",
             "sessions": 3 * n, "packets": 300 * n, "bytes": 18000 * n},
            {"id": 8, "policy": "AntreaClusterNetworkPolicy:x",
             "direction": "Out", "number": 2, "rule": "NoSsh",
             "action": "Drop", "sessions": 30 * n, "packets": 30 * n,
             "bytes": 1800 * n},
            {"id": 9, "policy": "K8sNetworkPolicy:default/idle",
             "direction": "In", "number": 1, "action": "Allow",
             "sessions": 2, "packets": 9, "bytes": 540}],
        "services": [service]}


def bears(record, keys):
    """Does a record bear one of these lists of keys?"""
    if record["kind"] == "Manifest":
        own = record.get("keys", [])
    else:
        own = ["AppliedToGroup " + g
               for part in [record] + record.get("rules", [])
               for g in part.get("appliedToGroups", [])]
    return any(set(some) <= set(own) for some in keys)


def find(param):
    """The records that a `get` asks for."""
    records = [STATE["records"][k] for k in sorted(STATE["records"])]
    if "kind" in param:
        records = [r for r in records if r["kind"] == param["kind"]]
    if "name" in param:
        records = [r for r in records if r["name"] == param["name"]]
    if "names" in param or "keys" in param:
        records = [r for r in records
                   if " ".join(key(r)) in param.get("names", [])
                   or bears(r, param.get("keys", []))]
    return records


def note_bad(param):
    names = [name for name in param.get("names", []) if "/bad" in name]
    if names:
        print(json.dumps({"asked": names}), flush=True)
        while os.path.exists(MODES["pause"]):
            print("paused", flush=True)
            time.sleep(0.05)


def control(method, params, staged):
    param = params[0]
    if "pause" in MODES and method == "get":
        note_bad(param)
    if "count" in MODES and method == "get" and not param.keys() & FILTERS:
        print(json.dumps({"asked": "all"}), flush=True)
    if param.get("bridge", "br-int") != "br-int":
        refuse("bridge", "there is no bridge %s" % param["bridge"])
    with LOCK:
        if method == "get":
            check_open()
            return {"generation": STATE["generation"], "records": find(param)}
        if method == "watch":
            return {"generation": STATE["generation"]}
        if method == "stage":
            return stage(param, staged)
        if method in ("transact", "replace"):
            if param.get("staged"):
                param = unstage(method, param, staged)
            return change(method, param)
    if method == "trace" and "trace" in MODES:
        with open(MODES["trace"], encoding="utf-8") as file:
            return json.load(file)
    if method == "trace":
        return {"text": "trace of " + json.dumps(param, sort_keys=True)}
    if method == "catch":
        time.sleep(min(param.get("wait_ms", 0), 200) / 1000)
        return {"waiting": True}
    if method == "program":
        return {"text": "table 0: 3 flows\n"}
    if method == "stats":
        return stats("brief" not in param)
    if method == "version":
        version = os.environ.get("ADP_FAKE_VERSION", "0")
        return {"version": version, "ovs": "3.1.0", "pipeline": ["v1.15"]}
    return refuse("method", "there is no method " + method)


def uuid(number):
    return ["uuid", "00000000-0000-0000-0000-%012d" % number]


def mutate(mutations):
    """Of br-int's external_ids."""
    for _column, mutator, (_type, values) in mutations:
        if mutator == "delete":
            STATE["ids"] = [p for p in STATE["ids"] if p[0] not in values]
        else:
            STATE["ids"] += values
    print(json.dumps({"ids": [k for k, _ in STATE["ids"]]}), flush=True)


def ovsdb(_method, params, _staged):
    if params[1]["op"] == "mutate":
        mutate(params[1]["mutations"])
        return [{"count": 1}]
    return [{"rows": [{column: row[column] for column in op["columns"]
                       if column in row}
                      for row in ovsdb_rows()[op["table"]]]}
            for op in params[1:]]


def ovsdb_rows():
    ids = ["map", [["pod-name", "by-ovsdb"], ["pod-namespace", "default"],
                   ["attached-mac", "0a:00:00:00:00:07"],
                   ["ip-address", "10.1.0.7"]]]
    none = ["map", []]
    if os.path.exists(MODES.get("portless", "")):
        ids = none
    interface = {"external_ids": none, "type": "dpdk", "ofport": 1,
                 "error": ["set", []], "link_state": "up",
                 "mac_in_use": ["set", []]}
    return {
        "Open_vSwitch": [
            {"cur_cfg": 3, "next_cfg": 4 if "unwell" in MODES else 3,
             "other_config": ["map", [["dpdk-init", "true"]]],
             "dpdk_initialized": True, "dpdk_version": "DPDK 0"}],
        "Bridge": [
            {"name": "br-int", "ports": ["set", [uuid(1), uuid(2)]],
             "datapath_type": "antrea",
             "external_ids": ["map", STATE["ids"]],
             "other_config": ["map", [["antrea-dp-annotated-ports",
                                       "true"]]]},
            {"name": "br-ex", "ports": uuid(5), "datapath_type": "netdev",
             "external_ids": none}],
        "Port": [               # A second interface of the Pod on br-ex.
            {"_uuid": uuid(5), "name": "p7-ex", "external_ids": ids,
             "interfaces": uuid(6)},
            {"_uuid": uuid(1), "name": "p7", "external_ids": ids,
             "interfaces": uuid(3)},
            {"_uuid": uuid(2), "name": "antrea-gw0", "external_ids": none,
             "interfaces": uuid(4)}],
        "Interface": [
            {**interface, "_uuid": uuid(6), "name": "p7-ex"},
            {**interface, "_uuid": uuid(3), "name": "p7"},
            {**interface, "_uuid": uuid(4), "name": "antrea-gw0",
             "type": "internal", "mac_in_use": "0a:00:00:00:00:99"}],
    }


def refuse_early(client):
    """What a daemon does with a message that is too much: it says so without
    knowing the message's ID, and takes no more."""
    client.sendall(json.dumps({"id": None, "result": None, "error": {
        "code": "limit", "message": "message holds more than 7 values"}})
                   .encode())
    client.shutdown(socket.SHUT_RDWR)


def serve_client(client, handler):
    decoder = json.JSONDecoder()
    text = ""
    staged = {}
    while True:
        data = client.recv(65536)
        if not data:
            return
        text += data.decode()
        while text:
            try:
                message, end = decoder.raw_decode(text)
            except ValueError:
                if "limit" in MODES and len(text) > 65536:
                    refuse_early(client)
                    return
                break
            text = text[end:].lstrip()
            reply = {"id": message["id"], "result": None, "error": None}
            if "silent" in MODES:
                continue
            try:
                reply["result"] = handler(message["method"],
                                          message["params"], staged)
            except Refused as refused:
                reply["error"] = refused.args[0]
            if message["method"] == "watch" and not reply["error"]:
                WATCHERS.append(client)
            with LOCK:
                client.sendall(json.dumps(reply).encode())


def serve(path, handler):
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen()

    def run():
        while True:
            client, _ = server.accept()
            threading.Thread(target=serve_client, args=(client, handler),
                             daemon=True).start()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def main():
    for mode in sys.argv[3:]:
        name, _, MODES[name] = mode.partition("=")
    STATE["conflicts"] = int(MODES.get("conflicts", 0))
    if "lost" in MODES or "closed" in MODES:
        STATE["generation"] = 0
        STATE["ids"] = [["antrea-dp-applied", "2026-01-02T03:04:05Z"]]
    threads = [serve(sys.argv[1], control), serve(sys.argv[2], ovsdb)]
    print("ready", flush=True)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
