#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The demo: two Nodes on one machine, Pods with real HTTP servers, the sample
# objects of the v1.15 pipeline document, and a table of what holds.
#
#     tests/demo/demo.sh            run, print the table, clean up
#     tests/demo/demo.sh --keep     leave everything running afterwards
#     tests/demo/demo.sh --stop DIR end what --keep has left
#
# Exit status 0 only if every line of the table holds.
#
# ADP_DEMO_BREAK=policy loads a policy that denies what the table expects to
# be allowed: the demo must then fail and name the line.

. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"
. "$E2E_SRC/cluster.sh"
. "$E2E_SRC/claims.sh"
. "$E2E_SRC/headers.sh"
. "$E2E_TOP/tests/demo/claims.sh"

usage() {
    sed -n '/^# The demo/,/^$/{ s/^# \{0,1\}//; p }' "$0"
}

refuse() {
    echo "demo: $*" >&2
    echo "usage: tests/demo/demo.sh [--keep | --stop DIR]" >&2
    exit 2
}

# --only-parse comes first: only checks what follows it.
ONLY_PARSE=
[ "${1:-}" != --only-parse ] || { ONLY_PARSE=1; shift; }
case ${1:-} in
'' | --keep | -h | --help)
    [ $# -le 1 ] || refuse "too much: ${*:2}"
    ;;
--stop)
    [ $# = 2 ] && [ -f "$2/netns" ] ||
        refuse "--stop needs the folder that --keep told: ${*:2}"
    ;;
*) refuse "does not take: $*" ;;
esac
[ ! "$ONLY_PARSE" ] || exit 0

KEEP=
case ${1:-} in
--keep) KEEP=1 ;;
--stop)
    e2e_cleanup "${2%/}"
    say "stopped; $2 is gone"
    exit 0
    ;;
-h | --help) usage; exit 0 ;;
esac

# --- the table --------------------------------------------------------------

CLAIMS=() RESULTS=() SEEN=()
N_FAILED=0

# claim TEXT CMD...: CMD prints what was seen (its last line counts) and says
# by its status whether the claim holds.
claim() {
    local text=$1 seen result=ok
    shift
    seen=$("$@" 2>&1) || { result=FAIL; N_FAILED=$((N_FAILED + 1)); }
    CLAIMS+=("$text")
    RESULTS+=("$result")
    SEEN+=("$(printf '%s' "$seen" | tail -n 1)")
    printf '  %-4s %s\n' "$result" "$text"
    if [ "$result" != ok ]; then
        printf '%s\n' "$seen" | sed 's/^/         /'
    fi
}

step() {
    printf '\n[%2d s] %s\n' "$SECONDS" "$*"
}

print_table() {
    local i
    printf '\n%-62s %-4s %s\n' CLAIM "" SEEN
    printf '%s\n' "------------------------------------------------------------------ ----"
    for i in "${!CLAIMS[@]}"; do
        printf '%-62s %-4s %s\n' "${CLAIMS[$i]}" "${RESULTS[$i]}" "${SEEN[$i]}"
    done
    printf '\n'
}

# How to look at a cluster that is left running.
print_how_to_look() {
    local node
    say "It keeps running. To look at it:"
    for node in n1 n2; do
        say ""
        say "  # node $(node_name "$node")"
        say "  export PATH=$ADP_PREFIX/bin:$ADP_PREFIX/sbin:\$PATH" \
            "OVS_RUNDIR=$E2E_DIR/$node"
        say "  antrea-dpctl stats"
        say "  ovs-ofctl -O OpenFlow15 --names dump-flows br-int"
        say "  ovs-vsctl --db=unix:$E2E_DIR/$node/db.sock show"
        say "  ovs-appctl -t $E2E_DIR/$node/ovs-vswitchd.ctl" \
            "dpif-netdev/pmd-stats-show"
    done
    say ""
    say "  # Namespaces: $(sed 's/.*-//' "$E2E_DIR/netns" | tr '\n' ' ')"
    say "  ip netns exec $(ns client) curl http://10.105.31.235/"
    say ""
    say "To stop it:"
    say "  $E2E_TOP/tests/demo/demo.sh --stop $E2E_DIR"
}

# --- the run ----------------------------------------------------------------

E2E_NAME=demo
e2e_begin
[ -n "${ADP_E2E_LOAD:-}" ] || command -v antrea-dpctl >/dev/null \
    || fail "no antrea-dpctl in $ADP_PREFIX/bin: run ./boot.sh build"

step "Starting two Nodes, six Pods and an external network"
cluster_start

step "Loading Nodes, Pods and Services"
cluster_load
claims_services

step "Loading a Kubernetes NetworkPolicy while connections are open"
claims_network_policy

step "Loading an Antrea ClusterNetworkPolicy"
claims_cluster_network_policy

step "Deleting the policies"
claims_policy_gone

step "Looking at packets and counters"
claims_counters

print_table
status=0
if [ "$N_FAILED" != 0 ]; then
    status=1
    say "$N_FAILED of ${#CLAIMS[@]} lines don't hold:"
    for i in "${!CLAIMS[@]}"; do
        [ "${RESULTS[$i]}" = ok ] || say "  ${CLAIMS[$i]}"
    done
else
    say "All ${#CLAIMS[@]} lines hold ($SECONDS s)."
fi
if [ -n "$KEEP" ]; then
    print_how_to_look
    E2E_KEEP=1
    E2E_DONE=1
    exit $status
fi
[ $status = 0 ] || exit $status
e2e_end
