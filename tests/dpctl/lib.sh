# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the tests of antrea-dpctl share: a stand-in for the daemon and OVSDB,
# and judging what a run has printed.

here=$ADP_TOP/tests/dpctl
dpctl=${ADP_DPCTL:-$ADP_BUILD/utilities/antrea-dpctl}
scratch=$(mktemp -d)
server=
failed=0

cleanup() {
    stop_server
    rm -rf "$scratch"
}

stop_server() {
    if [ -n "$server" ]; then
        kill "$server" 2>/dev/null || :
        wait "$server" 2>/dev/null || :
        server=
    fi
    rm -f "$scratch"/antrea-dp.sock "$scratch"/db.sock
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

# start_server [MODE]
start_server() {
    stop_server
    : >"$scratch/calls"
    python3 "$here/fake-server.py" "$scratch/antrea-dp.sock" \
        "$scratch/db.sock" "$@" >"$scratch/calls" &
    server=$!
    for ((i = 0; i < 200; i++)); do
        ! grep -q ready "$scratch/calls" || return 0
        sleep 0.05
    done
    echo 'FAILED: the stand-in does not start'
    exit 1
}

# run ARG...: leaves out, err and status.
run() {
    status=0
    OVS_RUNDIR=$scratch timeout 60 "$dpctl" "$@" \
        >"$scratch/out" 2>"$scratch/err" || status=$?
}

# check NAME STATUS [out|err PATTERN]...: judges the last run.
check() {
    local name=$1 want=$2 ok=1
    shift 2
    [ "$status" = "$want" ] || ok=0
    while [ $# -gt 0 ]; do
        grep -qE -e "$2" "$scratch/$1" || ok=0
        shift 2
    done
    if [ "$ok" = 1 ]; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        echo "status $status, should be $want"
        sed 's/^/out: /' "$scratch/out"
        sed 's/^/err: /' "$scratch/err"
        failed=1
    fi
}

n_calls() {
    grep -c '"method"' "$scratch/calls" || :
}

# check_calls NAME N: how many calls have changed something.
check_calls() {
    if [ "$(n_calls)" = "$2" ]; then
        echo "ok - $1"
    else
        echo "not ok - $1: $(n_calls) calls, should be $2"
        failed=1
    fi
}
