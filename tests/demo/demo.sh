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

# A cluster that is left running has policies in force, and for each Node a file that
# lets a shell's commands find that Node's daemons, as README's commands expect.
keep() {
    local node d
    cluster_apply "$CLUSTER_MANIFESTS/networkpolicy.yaml" \
        "$CLUSTER_MANIFESTS/clusternetworkpolicy.yaml"
    for node in n1 n2; do
        d=$E2E_DIR/$node
        # Where ovs-appctl looks.
        ln -s ovs-vswitchd.ctl \
            "$d/ovs-vswitchd.$(cat "$d/ovs-vswitchd.pid").ctl"
        cat > "$d/env" <<END
# The shell's commands are about $(node_name "$node"): ovs-vsctl, ovs-ofctl,
# ovs-appctl, antrea-dpctl.
export PATH=$ADP_PREFIX/bin:$ADP_PREFIX/sbin:\$PATH
export OVS_RUNDIR=$d OVS_DBDIR=$d OVS_LOGDIR=$d
END
    done
}

# How to look at a cluster that is left running.
print_how_to_look() {
    local node pod
    say "It keeps running, with a NetworkPolicy and a ClusterNetworkPolicy in" \
        "force. To look at it:"
    for node in n1 n2; do
        say ""
        say "  . $E2E_DIR/$node/env    # $(node_name "$node")"
        say "  antrea-dpctl get networkpolicies"
        say "  antrea-dpctl stats"
        say "  ovs-ofctl -O OpenFlow15 --names dump-flows br-int"
        say "  ovs-vsctl show"
        say "  ovs-appctl dpif-netdev/pmd-stats-show"
    done
    say ""
    say "  # Pods and their network namespaces"
    for pod in "${!POD_NAME[@]}"; do
        printf '  %-20s %s\n' "${POD_NAME[$pod]}" "$(ns "$pod")"
    done | sort
    say "  ip netns exec $(ns client) curl http://10.105.31.235/"
    say "  # Denied, as \`antrea-dpctl stats\` counts:"
    say "  ip netns exec $(ns other) curl --max-time 3 http://10.105.31.235/"
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
    keep
    print_how_to_look
    E2E_KEEP=1
    E2E_DONE=1
    exit $status
fi
[ $status = 0 ] || exit $status
e2e_end
