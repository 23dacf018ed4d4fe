# SPDX-License-Identifier: Apache-2.0
#
# Services and slices that a test makes up (read after cluster.sh).

ENDING='"ready": false, "serving": true, "terminating": true'

# slice SERVICE PORT ENDPOINT...: an ENDPOINT is ADDRESS/NODE, or that with
# "/CONDITIONS" and "/ZONE".
slice() {
    local name=$1 port=$2 family=IPv4
    local spec ip node conditions zone separator=
    shift 2
    [[ ${1%%/*} != *:* ]] || family=IPv6
    printf '{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": "%s", "namespace": "default", "labels":
            {"kubernetes.io/service-name": "%s"}}, "addressType": "%s",
        "ports": [{"port": %s}], "endpoints": [' "$name" "$name" $family "$port"
    for spec in "$@"; do
        IFS=/ read -r ip node conditions zone <<< "$spec"
        printf '%s{"addresses": ["%s"], "conditions": {%s}' \
            "$separator" "$ip" "$conditions"
        [ -z "$node" ] || printf ', "nodeName": "%s"' "$node"
        [ -z "$zone" ] \
            || printf ', "hints": {"forZones": [{"name": "%s"}]}' "$zone"
        printf '}'
        separator=,
    done
    printf ']}\n'
}

# service NAME SPEC [LOAD-BALANCER-IP [NODE-PORT]]
service() {
    printf '{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "%s"},
        "spec": {%s, "ports": [{"port": 80, "nodePort": %s}]},
        "status": {"loadBalancer": {"ingress": [' "$1" "$2" "${4:-0}"
    [ -z "${3:-}" ] || printf '{"ip": "%s"}' "$3"
    printf ']}}}\n'
}

# load WRITER...: applies on node 1 what the command writes.
load() {
    "$@" > "$E2E_DIR/object.json"
    node_load n1 apply "$E2E_DIR/object.json" || fail "can't apply $*"
}

# from NS URL N: who answered, "NAME CLIENT" counts on one line.
from() {
    fetch_many "$@" | paste -sd ';'
}
