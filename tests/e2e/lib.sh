# SPDX-License-Identifier: Apache-2.0
#
# What every end-to-end test needs: a private run directory, network
# namespaces and processes that go away with the test (also when it fails or
# is interrupted), waiting for a condition, and assertions.
#
#     . "$(dirname "$0")/lib.sh"
#     e2e_begin            # run directory, traps; skips (77) where not root
#     ...
#     e2e_end              # daemons still alive, no sanitizer report: exit 0
#
# Nothing here touches a process or a namespace that the test didn't make:
# processes are remembered as "pid start-time", namespaces by a name that
# carries the pid of the test.
#
# Environment:
#   ADP_PREFIX      install tree under test (default: _install of the source)
#   ADP_PREFIX_ASAN install tree of a sanitizer build; tests that want one
#                   use it instead of ADP_PREFIX when it is set
#   ADP_DP_TYPE     datapath_type of br-int (default: antrea)
#   ADP_E2E_LOGS    where to keep the logs of a failed test
#   ADP_SHADOW      one in so many packets is compared with upstream's translation
#                   (antrea-dp-shadow; default: none): a difference fails the test
#   ADP_E2E_SLOW    factor on all time limits (sanitizers, loaded machines)
#   ADP_E2E_AWAY    seconds that a database or controller stays away, beside
#                   what it takes to see that it is

set -u
# The shell forks often; job control messages of killed servers are noise.
set +m
shopt -s lastpipe 2>/dev/null || true

E2E_SRC=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
E2E_TOP=$(cd "$E2E_SRC/../.." && pwd)
: "${ADP_PREFIX:=$E2E_TOP/_install}"
: "${ADP_DP_TYPE:=antrea}"
: "${ADP_E2E_SLOW:=1}"
: "${ADP_E2E_AWAY:=0}"
: "${ADP_SHADOW:=0}"
PATH=$ADP_PREFIX/bin:$ADP_PREFIX/sbin:$PATH:/usr/sbin:/sbin
if [ -x /usr/bin/python3 ]; then
    E2E_PYTHON=/usr/bin/python3
else
    E2E_PYTHON=python3
fi

# Use the sanitizer build, where there is one, instead of the plain one.
e2e_prefer_sanitizers() {
    if [ -n "${ADP_PREFIX_ASAN:-}" ]; then
        ADP_PREFIX=$ADP_PREFIX_ASAN
        PATH=$ADP_PREFIX/bin:$ADP_PREFIX/sbin:$PATH
        ADP_E2E_SLOW=$((ADP_E2E_SLOW * 4))
    fi
}

say() {
    printf '%s\n' "$*"
}

# Ends the test as failed.
fail() {
    say "not ok - $*" >&2
    exit 1
}

skip() {
    say "SKIP: $*" >&2
    exit 77
}

# --- life of a test ---------------------------------------------------------

# e2e_begin: makes the run directory and arms the clean-up.
e2e_begin() {
    local tool
    [ "$(id -u)" = 0 ] || skip "needs root for network namespaces"
    for tool in ip tcpdump ethtool nft curl "$E2E_PYTHON"; do
        command -v "$tool" >/dev/null || skip "$tool isn't installed"
    done
    # Of sandbox.py.
    "$E2E_PYTHON" -c 'import seccomp' 2>/dev/null \
        && command -v systemd-analyze >/dev/null \
        || skip "python3-seccomp and systemd aren't installed"
    [ -x "$ADP_PREFIX/sbin/ovs-vswitchd" ] \
        || fail "no ovs-vswitchd in $ADP_PREFIX/sbin: run ./boot.sh build"

    E2E_DIR=$(mktemp -d \
        "${TMPDIR:-/tmp}/adp-${E2E_NAME:-e2e}.XXXXXX") || exit 1
    E2E_ID=$$
    E2E_KEEP=
    E2E_DONE=
    : > "$E2E_DIR/pids"
    : > "$E2E_DIR/netns"
    trap 'e2e_at_exit $?' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
    # A namespace of our own first: where that is refused nothing will work.
    netns_add probe 2>/dev/null || skip "can't make network namespaces"
}

# e2e_end: the common last lines of every test.
e2e_end() {
    e2e_check_daemons || exit 1
    e2e_check_shadow || exit 1
    e2e_stop_daemons
    e2e_check_logs || exit 1
    E2E_DONE=1
    exit 0
}

# Were all packets of bridges of type antrea what they are in upstream's
# translation?
e2e_check_shadow() {
    local socket node bridge seen rc=0
    [ "$ADP_SHADOW" != 0 ] && [ "$ADP_DP_TYPE" = antrea ] || return 0
    for socket in "$E2E_DIR"/*/antrea-dp.sock; do
        [ -S "$socket" ] || continue
        node=$(basename "$(dirname "$socket")")
        for bridge in $(vsctl "$node" --columns=name --bare find Bridge \
                            datapath_type=antrea); do
            seen=$(dpctl "$node" --bridge "$bridge" stats -o json \
                       | "$E2E_PYTHON" "$E2E_SRC/json-get.py" shadow \
                             turns.section_us.shadow) || continue
            say "$node, $bridge: shadow, and what it took in us:" $seen
            seen=$(appctl "$node" antrea-dp/shadow-show "$bridge")
            if [ "$seen" != "[]" ]; then
                printf '%s\n' "$seen" >&2
                rc=1
            fi
        done
    done
    return $rc
}

e2e_at_exit() {
    local rc=$1
    trap '' INT TERM HUP
    trap - EXIT
    if [ "$rc" = 0 ] && [ -z "$E2E_DONE" ]; then
        say "not ok - the test ended before its end" >&2
        rc=1
    fi
    if [ -n "$E2E_KEEP" ]; then
        exit "$rc"
    fi
    if [ "$rc" != 0 ] && [ "$rc" != 77 ]; then
        e2e_check_daemons
        e2e_save_logs
    fi
    e2e_end_jobs
    e2e_cleanup "$E2E_DIR"
    exit "$rc"
}

# Loops that the test has in the background write into its folder.
e2e_end_jobs() {
    local pids
    mapfile -t pids < <(jobs -p)
    [ ${#pids[@]} -gt 0 ] || return 0
    kill -TERM "${pids[@]}" 2>/dev/null
    # Those and no others: what was disowned is ended by who has its number.
    wait "${pids[@]}"
}

# The last words of processes that ended before the test did.
e2e_show_dead() {
    local pid start name
    while read -r pid start name; do
        if ! pid_is "$pid" "$start" && [ -s "$E2E_DIR/$name.out" ]; then
            say "--- $name has ended, it said last:" >&2
            tail -n 5 "$E2E_DIR/$name.out" >&2
        fi
    done < "$E2E_DIR/pids"
}

# Shows why, and keeps the logs where asked.
e2e_save_logs() {
    local log
    e2e_show_dead
    for log in "$E2E_DIR"/*/*.log "$E2E_DIR"/*/sanitizer.*; do
        [ -s "$log" ] || continue
        grep -qE '\|(WARN|ERR|EMER)\||runtime error|Sanitizer' "$log" \
            || continue
        say "--- ${log#"$E2E_DIR"/} (last warnings)" >&2
        grep -E '\|(WARN|ERR|EMER)\||runtime error|Sanitizer|^ +#' "$log" \
            | tail -n 15 >&2
    done
    if [ -n "${ADP_E2E_LOGS:-}" ]; then
        mkdir -p "$ADP_E2E_LOGS"
        cp -r "$E2E_DIR" "$ADP_E2E_LOGS/$(basename "$0").$E2E_ID" 2>/dev/null
        say "--- logs kept in $ADP_E2E_LOGS" >&2
    fi
}

# e2e_cleanup DIR: ends what the test that ran in DIR has left: its processes,
# namespaces, hugepages, files.  Needs no variable of that test.
e2e_cleanup() {
    local dir=$1 ns pid kept
    # A demo that was kept running by a test of the demo.
    for kept in "$dir"/*/adp-demo.*; do
        [ ! -d "$kept" ] || e2e_cleanup "$kept"
    done
    e2e_stop_pids "$dir"
    if [ -f "$dir/netns" ]; then
        while read -r ns; do
            # Processes in a namespace of ours were started by us.
            for pid in $(ip netns pids "$ns" 2>/dev/null); do
                kill -KILL "$pid" 2>/dev/null
            done
            ip netns del "$ns" 2>/dev/null
        done < "$dir/netns"
    fi
    hugepages_give_back "$dir"
    case $dir in
    */adp-e2e.* | */adp-demo.*) rm -rf "$dir" ;;
    esac
}

# --- processes --------------------------------------------------------------

# Start time of a process in clock ticks: with the pid it is unique.
pid_start_time() {
    local stat
    { read -r stat < "/proc/$1/stat"; } 2>/dev/null || return 1
    # The command may contain blanks and parentheses: count after the last ')'.
    set -- ${stat##*) }
    printf '%s\n' "${20}"
}

pid_is() {      # PID START-TIME
    [ "$(pid_start_time "$1")" = "$2" ]
}

# spawn NAME CMD...: starts a process in the background that ends with the
# test.  Its pid is in $SPAWNED, its output in $E2E_DIR/NAME.out.
spawn() {
    local name=$1
    shift
    "$@" < /dev/null >> "$E2E_DIR/$name.out" 2>&1 &
    SPAWNED=$!
    printf '%s %s %s\n' "$SPAWNED" "$(pid_start_time "$SPAWNED")" "$name" \
        >> "$E2E_DIR/pids"
    disown "$SPAWNED" 2>/dev/null
    return 0
}

pid_gone() {
    ! pid_is "$1" "$2"
}

# stop_pid PID: ends a process that spawn started, and waits for that.
stop_pid() {
    local pid=$1 start
    start=$(awk -v p="$pid" '$1 == p { print $2; exit }' "$E2E_DIR/pids")
    [ -n "$start" ] && pid_is "$pid" "$start" || return 0
    kill -TERM "$pid" 2>/dev/null
    wait_for 5 "end of process $pid" pid_gone "$pid" "$start" \
        || kill -KILL "$pid" 2>/dev/null
    return 0
}

e2e_stop_pids() {
    local dir=$1 pid start name n=0 left
    [ -f "$dir/pids" ] || return 0
    while read -r pid start name; do
        pid_is "$pid" "$start" && kill -TERM "$pid" 2>/dev/null
    done < "$dir/pids"
    while :; do
        left=0
        while read -r pid start name; do
            pid_is "$pid" "$start" && left=1
        done < "$dir/pids"
        [ "$left" = 1 ] && [ "$n" -lt 50 ] || break
        sleep 0.1
        n=$((n + 1))
    done
    while read -r pid start name; do
        pid_is "$pid" "$start" && kill -KILL "$pid" 2>/dev/null
    done < "$dir/pids"
    return 0
}

# --- waiting and asserting --------------------------------------------------

# wait_for SECONDS WHAT CMD...: until CMD succeeds; fails (status 1, with a
# line that says what never came) after SECONDS.
wait_for() {
    [ $# -ge 3 ] || fail "wait_for $*: for what?"
    local limit=$(($1 * ADP_E2E_SLOW)) what=$2 end out n=0 nap=0.05
    shift 2
    end=$((SECONDS + limit + 1))
    while :; do
        out=$("$@" 2>&1) && return 0
        [ "$SECONDS" -lt "$end" ] || break
        # What takes long isn't asked for so often: others test at the same time.
        sleep "$nap"
        n=$((n + 1))
        [ "$n" -lt 8 ] || nap=0.2
    done
    say "waited ${limit} s in vain for $what${out:+: $out}" >&2
    return 1
}

must_wait_for() {
    wait_for "$@" || fail "$2 never came"
}

# assert_eq WHAT EXPECTED SEEN
assert_eq() {
    [ "$2" = "$3" ] || fail "$1: expected '$2', saw '$3'"
    say "ok - $1: $(printf '%s' "$3" | head -n 1 | cut -c 1-120)"
}

# assert_match WHAT REGEX SEEN
assert_match() {
    local seen
    seen=$(printf '%s\n' "$3" | grep -m 1 -E -- "$2") \
        || fail "$1: expected /$2/, saw '$3'"
    say "ok - $1: $(printf '%s' "$seen" | sed 's/^ *//' | cut -c 1-120)"
}

assert_no_match() {
    local seen
    ! seen=$(printf '%s\n' "$3" | grep -E -- "$2") \
        || fail "$1: didn't expect /$2/, saw '$seen'"
    say "ok - $1"
}

# assert_ok WHAT CMD...
assert_ok() {
    local what=$1 out
    shift
    out=$("$@" 2>&1) || fail "$what: '$*' failed: $out"
    say "ok - $what"
}

# assert_fails WHAT CMD...
assert_fails() {
    local what=$1 out
    shift
    ! out=$("$@" 2>&1) || fail "$what: '$*' should have failed, said: $out"
    say "ok - $what"
}

# assert_le WHAT A B: A <= B, both integers.
assert_le() {
    [ "$2" -le "$3" ] || fail "$1: expected $2 <= $3"
    say "ok - $1: $2 <= $3"
}

# --- network namespaces -----------------------------------------------------

# ns NAME: the full name of a namespace of this test.
ns() {
    printf 'adp-%s-%s\n' "$E2E_ID" "$1"
}

# in_ns NAME CMD...
in_ns() {
    local name=$1
    shift
    ip netns exec "adp-$E2E_ID-$name" "$@"
}

# netns_add NAME: without IPv6 (its chatter would blur counters and dumps),
# with a loose reverse path filter.
netns_add() {
    local full
    full=$(ns "$1")
    ip netns add "$full" || return 1
    printf '%s\n' "$full" >> "$E2E_DIR/netns"
    ip netns exec "$full" sh -c '
        for scope in all default; do
            echo 1 > /proc/sys/net/ipv6/conf/$scope/disable_ipv6
            echo 2 > /proc/sys/net/ipv4/conf/$scope/rp_filter
            echo 0 > /proc/sys/net/ipv4/conf/$scope/send_redirects
            echo 0 > /proc/sys/net/ipv4/conf/$scope/accept_redirects
        done 2>/dev/null
        ip link set lo up'
}

netns_del() {
    local full pid
    full=$(ns "$1")
    for pid in $(ip netns pids "$full" 2>/dev/null); do
        kill -KILL "$pid" 2>/dev/null
    done
    ip netns del "$full"
    sed -i "/^$full\$/d" "$E2E_DIR/netns"
}

# --- hugepages --------------------------------------------------------------

E2E_HUGE=/proc/sys/vm/nr_hugepages

# hugepages_take N: N free 2 MB pages for this run, or status 1 with nothing
# changed.  What was added is noted for hugepages_give_back.
hugepages_take() {
    local want=$1 total
    [ -w "$E2E_HUGE" ] && [ -z "${ADP_E2E_NO_HUGE:-}" ] || return 1
    (
        flock 9
        total=$(cat "$E2E_HUGE")
        # Pages that are free now belong to somebody: always add our own.
        echo $((total + want)) > "$E2E_HUGE" 2>/dev/null
        if [ "$(cat "$E2E_HUGE")" -lt $((total + want)) ]; then
            echo "$total" > "$E2E_HUGE"
            exit 1
        fi
        echo "$want" > "$E2E_DIR/hugepages"
    ) 9< "$E2E_HUGE"
}

hugepages_give_back() {
    local dir=$1 had now
    [ -f "$dir/hugepages" ] || return 0
    (
        flock 9
        had=$(cat "$dir/hugepages")
        now=$(cat "$E2E_HUGE")
        [ "$now" -ge "$had" ] && echo $((now - had)) > "$E2E_HUGE"
        rm -f "$dir/hugepages"
    ) 9< "$E2E_HUGE"
}

. "$E2E_SRC/node.sh"
