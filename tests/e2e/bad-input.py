#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that a control socket must refuse or bound.

    bad_input.py SOCKET DAEMON-PID

Talks to antrea-dp.sock of a daemon that has the demo's state.  After each
group of cases the state must be what it was.  Prints "ok - ..." or
"not ok - ..." for each case; status 1 if one failed.
"""

import json
import socket
import sys
import time

PATH, PID = sys.argv[1], int(sys.argv[2])
TIMEOUT = 60
failures = 0


def report(good, what, seen=""):
    global failures
    failures += not good
    print("%s - %s%s" % ("ok" if good else "not ok", what,
                         ": " + str(seen)[:160] if seen != "" else ""),
          flush=True)


class Client:
    """A JSON-RPC client that can also send nonsense."""

    def __init__(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(PATH)         # Waits where the backlog is full.
        self.sock.settimeout(TIMEOUT)
        self.text = ""

    def send(self, data):
        self.sock.sendall(data if isinstance(data, bytes) else data.encode())

    def read(self):
        """One message, or None when the connection ended."""
        decoder = json.JSONDecoder()
        while True:
            self.text = self.text.lstrip()
            try:
                message, end = decoder.raw_decode(self.text)
                self.text = self.text[end:]
                return message
            except ValueError:
                pass
            try:
                more = self.sock.recv(1 << 20)
            except ConnectionError:
                return None
            if not more:
                return None
            self.text += more.decode()

    def call(self, method, *params):
        self.send(json.dumps({"id": 1, "method": method, "params": params}))
        reply = self.read()
        return reply or {"error": {"code": "closed", "message": "closed"}}

    def close(self):
        self.sock.close()


def call(method, *params):
    client = Client()
    try:
        return client.call(method, *params)
    finally:
        client.close()


def state():
    return json.dumps(call("get", {})["result"], sort_keys=True)


def rss_mb():
    with open("/proc/%d/status" % PID) as f:
        for line in f:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) // 1024
    return 0


def refused(what, records, obj, field, code="invalid", method="apply"):
    """'records' are refused with an error that names object and field."""
    reply = call(method, {"records": records})
    error = reply.get("error") or {}
    if not isinstance(error, dict):
        error = {"message": str(error)}
    message = error.get("message", "")
    good = (error.get("code") == code
            and (obj is None or obj == error.get("object") and obj in message)
            and (field is None
                 or field == error.get("field") and field in message))
    report(good, what, message if good else reply)


POD = {"kind": "Pod", "name": "default/x", "port": "web-7975-274540",
       "mac": "0a:00:00:00:00:99", "ips": ["10.10.0.99"]}
SERVICE = {"kind": "Service", "name": "default/x", "clusterIP": "10.96.9.9",
           "ports": [{"port": 80}]}
POLICY = {"kind": "NetworkPolicy", "name": "x", "type": "K8sNetworkPolicy",
          "rules": []}


def changed(record, **members):
    return dict(record, **members)


def ports(**members):
    return changed(SERVICE, ports=[dict({"port": 80}, **members)])


def test_records():
    refused("unknown kind", [{"kind": "Gateway", "name": "x"}],
            "records[0]", "kind")
    refused("no kind", [{"name": "x"}], None, "kind")
    refused("no name", [{"kind": "Pod"}], None, "name")
    refused("unknown field", [changed(POD, colour="red")],
            "Pod default/x", "colour")
    refused("unknown field inside", [ports(nodeport=30001)],
            "Service default/x", "ports[0].nodeport")
    refused("a text for a number", [ports(port="80")],
            "Service default/x", "ports[0].port")
    refused("a number out of range", [ports(port=65536)],
            "Service default/x", "ports[0].port")
    refused("a fraction for an integer", [ports(port=80.5)],
            "Service default/x", "ports[0].port")
    refused("a number for a list", [changed(POD, ips=5)],
            "Pod default/x", "ips")
    refused("a number for a text", [changed(POD, mac=5)],
            "Pod default/x", "mac")
    refused("a text for an object", [changed(SERVICE, ports=["http"])],
            "Service default/x", "ports[0]")
    refused("null", [changed(POD, port=None)], "Pod default/x", "port")
    refused("no MAC", [changed(POD, mac="0a:00:00:00:99")],
            "Pod default/x", "mac")
    refused("no address", [changed(POD, ips=["10.10.0.300"])],
            "Pod default/x", "ips[0]")
    refused("no IPv6 address", [changed(POD, ips=["fd00::1::2"])],
            "Pod default/x", "ips[0]")
    refused("no address at all", [changed(POD, ips=[])],
            "Pod default/x", "ips")
    refused("an endpoint without an address",
            [ports(endpoints=[{"port": 80}])],
            "Service default/x", "ports[0].endpoints[0].ip")
    refused("an endpoint without a port",
            [ports(endpoints=[{"ip": "10.10.0.24"}])],
            "Service default/x", "ports[0].endpoints[0].port")
    refused("an unknown protocol", [ports(protocol="QUIC")],
            "Service default/x", "ports[0].protocol")
    refused("an unknown choice",
            [changed(SERVICE, externalTrafficPolicy="Remote")],
            "Service default/x", "externalTrafficPolicy")
    refused("a port that doesn't exist", [changed(POD, port="nosuch")],
            "Pod default/x", "port", code="missing")
    refused("two Pods with one IP",
            [changed(POD, name="default/db-755c6", port="db-755c6-5080e3",
                     ips=["10.10.0.24"])],
            "Pod default/db-755c6", "ips[0]")
    refused("two Pods at one port", [POD], "Pod default/x", "port")
    refused("a record twice in one call", [POD, POD], "Pod default/x", None)
    refused("a policy of no known type", [changed(POLICY, type="Cilium")],
            "NetworkPolicy x", "type")
    refused("a policy whose group doesn't exist",
            [changed(POLICY, appliedToGroups=["nosuch"])],
            "NetworkPolicy x", "appliedToGroups[0]", code="missing")
    refused("a bad CIDR", [changed(POLICY, rules=[
        {"direction": "In", "from": {"ipBlocks": [{"cidr": "10.0.0.0/33"}]}}])],
            "NetworkPolicy x", "rules[0].from.ipBlocks[0].cidr")
    refused("an unknown action", [changed(
        POLICY, type="AntreaClusterNetworkPolicy", tierPriority=250, priority=5,
        rules=[{"direction": "In", "action": "Bounce"}])],
            "NetworkPolicy x", "rules[0].action")
    refused("one bad record among good ones: nothing of it",
            [SERVICE, changed(POD, mac="x"), changed(SERVICE, name="a/b")],
            "Pod default/x", "mac")
    refused("the same by replace", [SERVICE, changed(POD, mac="x")],
            "Pod default/x", "mac", method="replace")
    refused("deleting what isn't there", [{"kind": "Pod", "name": "a/b"}],
            "Pod a/b", None, code="missing", method="delete")
    refused("deleting a group in use",
            [{"kind": "AppliedToGroup", "name": "default/app=web"}],
            "AppliedToGroup default/app=web", None, method="delete")


def error_code(reply):
    error = reply.get("error")
    return error.get("code") if isinstance(error, dict) else error


def test_calls():
    for what, code, method, params in (
            ("an unknown method", "method", "explode", [{}]),
            ("no parameter", "invalid", "apply", []),
            ("two parameters", "invalid", "apply", [{}, {}]),
            ("a parameter that is no object", "invalid", "apply", [5]),
            ("an unknown parameter", "invalid", "apply",
             [{"records": [], "force": True}]),
            ("records that are no list", "invalid", "apply",
             [{"records": {"kind": "Pod"}}]),
            ("a record that is no object", "invalid", "apply",
             [{"records": [5]}]),
            ("an unknown bridge", "bridge", "get", [{"bridge": "br-nosuch"}]),
            ("a bridge of another type", "bridge", "get",
             [{"bridge": "br-phy"}]),
            ("another generation", "conflict", "apply",
             [{"records": [SERVICE], "if_generation": 123456}]),
            ("a packet that is none", "invalid", "trace",
             [{"in_port": "antrea-gw0", "packet": "no"}]),
            ("a packet beyond the limit", "invalid", "trace",
             [{"in_port": "antrea-gw0", "packet": "45" * 65001}]),
            ("a packet at the limit", None, "trace",
             [{"in_port": "antrea-gw0", "packet": "45" * 65000}])):
        reply = call(method, *params)
        report(error_code(reply) == code, what,
               (reply.get("error") or {}).get("message", "")
               if error_code(reply) == code else reply)


def staged_now(client):
    """How many records are staged, with one more; takes them away."""
    reply = client.call("stage", {"delete": [{"kind": "Pod", "name": "a/d"}]})
    client.call("transact", {"staged": True})
    return (reply.get("result") or {}).get("staged")


def test_staged():
    """What is sent ahead is nothing before the call that takes it, and is
    gone after that, whatever came of it."""
    client = Client()
    client.call("stage", {"apply": [changed(SERVICE, name="a/b")]})
    reply = client.call("stage", {"apply": [SERVICE],
                                  "delete": [{"kind": "Pod", "name": "a/b"}]})
    report(reply.get("result") == {"staged": 3}, "three records sent ahead",
           reply.get("result"))
    for what, code, method, params in (
            ("one of them is bad", "missing", "transact", {"staged": True}),
            ("none is left", "invalid", "transact",
             {"staged": True, "apply": [changed(POD, mac="x")]}),
            ("no list", "invalid", "stage", {"apply": {"kind": "Pod"}}),
            ("no boolean", "invalid", "transact", {"staged": 1}),
            ("deletions in a replacement", "invalid", "replace",
             {"staged": True})):
        if method == "replace":
            client.call("stage", {"delete": [{"kind": "Pod", "name": "x"}]})
        reply = client.call(method, params)
        report(error_code(reply) == code, "sent ahead: " + what,
               (reply.get("error") or {}).get("message", reply))
    for what, method, params in (
            ("an unknown parameter", "transact", {"staged": True, "x": 1}),
            ("a list that is none", "transact",
             {"staged": True, "apply": SERVICE}),
            ("a boolean that is none", "replace", {"staged": "yes"}),
            ("no such bridge", "replace", {"staged": True, "bridge": "x"})):
        client.call("stage", {"apply": [changed(SERVICE, name="a/c")]})
        reply = client.call(method, params)
        report("error" in reply and staged_now(client) == 1,
               "gone after a call with " + what, reply.get("error"))
    client.call("stage", {"apply": [changed(SERVICE, name="a/c")]})
    client.send('{"id": 1, "method": "transact", "params": '
                '[{"staged": true, "ignore_missing": true, "staged": true}]}')
    reply = client.read()
    report(error_code(reply) == "invalid" and staged_now(client) == 1,
           "gone after a call with a member that is given twice",
           reply.get("error"))
    client.call("stage", {"apply": [changed(SERVICE, name="a/c")]})
    reply = client.call("transact", {"x": 1})
    report(error_code(reply) == "invalid" and staged_now(client) == 2,
           "still there after a call that wasn't to take it",
           reply.get("error"))
    client.close()



def test_syntax():
    for what, text in (
            ("no JSON", "hello\n"),
            ("an HTTP request", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
            ("no JSON-RPC", "[1, 2, 3]"),
            ("broken JSON", '{"id": 1, "method": "get", "params": [{}}'),
            ("binary", bytes(range(256)) * 16),
            ("a hundred thousand brackets", "[" * 100000),
            ("broken UTF-8", b'{"id":1,"method":"\xff\xfe","params":[{}]}')):
        client = Client()
        try:
            client.send(text)
            client.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        reply = client.read()
        code = error_code(reply) if isinstance(reply, dict) else reply
        closed = client.read() is None
        report(code in ("syntax", "limit", None) and closed,
               what + ": said so and hung up", code)
        client.close()

    client = Client()
    client.send('{"id": 1, "method": "apply", "params": [{"records": [')
    client.close()
    report(error_code(call("version", {})) is None, "a message cut off")


def test_100_mb():
    before = rss_mb()
    client = Client()
    sent = 0
    started = time.time()
    try:
        client.send('{"id": 1, "method": "apply", "params": [{"records": ["')
        chunk = b"x" * (1 << 20)
        for _ in range(100):
            client.send(chunk)
            sent += 1
        client.send('"]}]}')
    except OSError:
        pass
    reply = client.read() if sent else None
    code = error_code(reply) if reply else "closed"
    client.close()
    report(code in ("limit", "syntax", "closed"),
           "a message of 100 MB is refused", "%s after %d MB" % (code, sent))
    grown = rss_mb() - before
    report(grown < 400, "without taking much memory", "%d MB more" % grown)
    report(time.time() - started < TIMEOUT, "and in time")


def test_never_reads():
    """Asks for more and more, and never reads: is cut off, others aren't."""
    before = rss_mb()
    deaf = Client()
    deaf.sock.settimeout(1)
    request = json.dumps({"id": 1, "method": "get", "params": [{}]}).encode()
    cut_off = False
    served = 0
    for i in range(20000):
        try:
            deaf.send(request * 20)
        except (BrokenPipeError, ConnectionError):
            cut_off = True
            break
        except TimeoutError:
            # The daemon doesn't read on while it can't answer: bounded too.
            cut_off = True
            break
        if i % 100 == 0:
            served += error_code(call("version", {})) is None
    served += error_code(call("version", {})) is None
    deaf.close()
    report(cut_off, "a client that never reads is cut off or not read on")
    report(served > 0, "others are served meanwhile", served)
    grown = rss_mb() - before
    report(grown < 400, "and memory is bounded", "%d MB more" % grown)


def test_200_clients():
    clients = [Client() for _ in range(200)]
    for client in clients:
        client.send(json.dumps({"id": 1, "method": "version",
                                "params": [{}]}))
    answers = [client.read() for client in clients]
    good = sum(1 for a in answers if a and not a.get("error"))
    report(good == 200, "200 clients at once are all served", good)

    for client in clients:
        client.send(json.dumps({"id": 2, "method": "get",
                                "params": [{"kind": "Pod"}]}))
    answers = [client.read() for client in clients]
    good = sum(1 for a in answers if a and not a.get("error"))
    report(good == 200, "and again", good)

    more = []
    for _ in range(100):
        try:
            more.append(Client())
        except OSError:
            break
    refused_n = 0
    for client in more:
        try:
            client.send(json.dumps({"id": 1, "method": "version",
                                    "params": [{}]}))
            reply = client.read()
        except OSError:
            reply = None
        refused_n += reply is None or error_code(reply) == "limit"
    report(0 < refused_n <= 100, "of 300 some are told of the limit",
           refused_n)
    for client in clients + more:
        client.close()
    for _ in range(100):
        if error_code(call("version", {})) is None:
            break
        time.sleep(0.1)
    report(error_code(call("version", {})) is None,
           "when they have gone, there is room again")


def test_stalled():
    """Half a message, then silence, many times over."""
    stalled = [Client() for _ in range(50)]
    for client in stalled:
        client.send('{"id": 1, "method": "apply", "params": [{"rec')
    good = sum(error_code(call("version", {})) is None for _ in range(20))
    report(good == 20, "50 stalled clients hold up nobody", good)
    for client in stalled:
        client.close()


def main():
    for test in (test_records, test_calls, test_staged, test_syntax,
                 test_100_mb, test_never_reads, test_200_clients,
                 test_stalled):
        before = state()
        test()
        report(state() == before, "%s: the state is untouched" % test.__name__)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
