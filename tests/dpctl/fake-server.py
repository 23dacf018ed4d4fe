#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the daemon's control socket and for OVSDB.

usage: fake-server.py CONTROL-SOCKET DB-SOCKET [MODE]

Keeps records as the control socket's document says, without checking them,
and has a few ports in its OVSDB.  MODE is "conflicts=N" (refuse N times what
would change something), "silent" (never answer), or "refuse" (an error).
Prints "ready", then each changing call as a line of JSON.
"""

import json
import socket
import sys
import threading

LOCK = threading.Lock()
STATE = {"generation": 1, "records": {}, "conflicts": 0}
MODE = ""


class Refused(Exception):
    pass


def refuse(code, message):
    raise Refused({"code": code, "object": None, "field": None,
                   "message": message})


def key(record):
    return (record["kind"], record["name"])


def change(method, param):
    if MODE == "refuse":
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
        records[key(record)] = record
    STATE["records"] = records
    STATE["generation"] += 1
    print(json.dumps({"method": method, "param": param}), flush=True)
    return {"generation": STATE["generation"]}


def control(method, params):
    param = params[0]
    if param.get("bridge", "br-int") != "br-int":
        refuse("bridge", "there is no bridge %s" % param["bridge"])
    with LOCK:
        if method == "get":
            records = [STATE["records"][k] for k in sorted(STATE["records"])]
            return {"generation": STATE["generation"], "records": records}
        if method in ("transact", "replace"):
            return change(method, param)
    if method == "trace":
        return {"text": "trace of " + json.dumps(param, sort_keys=True)}
    if method == "program":
        return {"text": "table 0: 3 flows\n"}
    if method == "stats":
        return {"bridges": [{"name": "br-int", "packets": 7}],
                "punts": {"no_program": 2}, "uptime_s": 5}
    if method == "version":
        return {"version": "0", "ovs": "3.1.0", "pipeline": ["v1.15"]}
    return refuse("method", "there is no method " + method)


def uuid(number):
    return ["uuid", "00000000-0000-0000-0000-%012d" % number]


def ovsdb(_method, _params):
    ids = ["map", [["pod-name", "by-ovsdb"], ["pod-namespace", "default"],
                   ["attached-mac", "0a:00:00:00:00:07"],
                   ["ip-address", "10.1.0.7"]]]
    none = ["map", []]
    return [
        {"rows": [{"name": "br-int", "ports": ["set", [uuid(1), uuid(2)]]},
                  {"name": "br-ex", "ports": uuid(5)}]},
        {"rows": [{"_uuid": uuid(1), "name": "p7", "external_ids": ids,
                   "interfaces": uuid(3)},
                  {"_uuid": uuid(2), "name": "antrea-gw0",
                   "external_ids": none, "interfaces": uuid(4)}]},
        {"rows": [{"_uuid": uuid(3), "name": "p7", "external_ids": none,
                   "mac_in_use": ["set", []]},
                  {"_uuid": uuid(4), "name": "antrea-gw0",
                   "external_ids": none,
                   "mac_in_use": "0a:00:00:00:00:99"}]},
    ]


def serve_client(client, handler):
    decoder = json.JSONDecoder()
    text = ""
    while True:
        data = client.recv(65536)
        if not data:
            return
        text += data.decode()
        while text:
            try:
                message, end = decoder.raw_decode(text)
            except ValueError:
                break
            text = text[end:].lstrip()
            reply = {"id": message["id"], "result": None, "error": None}
            if MODE == "silent":
                continue
            try:
                reply["result"] = handler(message["method"],
                                          message["params"])
            except Refused as refused:
                reply["error"] = refused.args[0]
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
    global MODE
    MODE = sys.argv[3] if len(sys.argv) > 3 else ""
    if MODE.startswith("conflicts="):
        STATE["conflicts"] = int(MODE.partition("=")[2])
    threads = [serve(sys.argv[1], control), serve(sys.argv[2], ovsdb)]
    print("ready", flush=True)
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
