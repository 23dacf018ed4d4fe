# SPDX-License-Identifier: Apache-2.0
#
# Nodes and Pods for the end-to-end tests (read by lib.sh).
#
# A node is a network namespace with its own ovsdb-server and ovs-vswitchd
# (DPDK, one sleepy PMD thread) and the bridge br-int.  A Pod is a namespace
# with one veth; its other end lies in the node's namespace and is a port of
# br-int, either polled by the PMD thread (net_af_packet) or a system port,
# which ovs-vswitchd's main thread polls.
#
#     node_start n1
#     pod_add n1 web default/web web-7975-274540 fa:b7:53:74:21:a6 10.10.0.24
#     node_commit n1            # pods become ports in one OVSDB transaction
#     in_ns web curl ...

declare -A NODE_PORTS=() NODE_GW=() POD_NAME=()
E2E_PORT_SEQ=0

# Path of a file of node NODE.
node_dir() {
    printf '%s\n' "$E2E_DIR/$1"
}

# The clients of OVS, aimed at one node.  OVS_RUNDIR also tells antrea-dpctl
# where antrea-dp.sock lies; $E2E_BRIDGE is for nodes with several bridges.
vsctl() {
    local d=$E2E_DIR/$1
    shift
    OVS_RUNDIR=$d ovs-vsctl --timeout=$((30 * ADP_E2E_SLOW)) \
        --db="unix:$d/db.sock" "$@"
}

ofctl() {
    local d=$E2E_DIR/$1
    shift
    OVS_RUNDIR=$d ovs-ofctl --timeout=$((30 * ADP_E2E_SLOW)) \
        -O OpenFlow15 "$@"
}

appctl() {
    local d=$E2E_DIR/$1
    shift
    OVS_RUNDIR=$d ovs-appctl --timeout=$((30 * ADP_E2E_SLOW)) \
        -t "$d/ovs-vswitchd.ctl" "$@"
}

dpctl() {
    local d=$E2E_DIR/$1
    shift
    OVS_RUNDIR=$d timeout $((30 * ADP_E2E_SLOW)) \
        antrea-dpctl ${E2E_BRIDGE:+-b "$E2E_BRIDGE"} "$@"
}

# EAL options for this machine: hugepages where they can be had.
node_dpdk_extra() {
    if [ -z "${E2E_EAL:-}" ]; then
        if hugepages_take $((E2E_HUGE_MB / 2 * E2E_MAX_NODES)); then
            E2E_EAL="--in-memory --no-pci --no-telemetry"
            E2E_EAL+=" --socket-limit $E2E_HUGE_MB"
        else
            E2E_EAL="--no-huge --legacy-mem -m $((E2E_HUGE_MB * 2))"
            E2E_EAL+=" --no-pci --no-telemetry"
        fi
    fi
}

: "${E2E_HUGE_MB:=128}"
: "${E2E_MAX_NODES:=2}"

# sandboxed DAEMON: prints what to put before it so that it has the rights that
# its unit leaves it, a line each; nothing for sanitizers, which need more.  To be
# run in a mount namespace of its own.
sandboxed() {
    [ "$ADP_PREFIX" != "${ADP_PREFIX_ASAN:-}" ] || return 0
    printf '%s\n' "$E2E_PYTHON" "$E2E_SRC/sandbox.py" \
        "$ADP_PREFIX/lib/systemd/system/antrea-dp-$1.service"
}

# node_database NODE: the node's namespace, and a database server.
node_database() {
    local node=$1 d=$E2E_DIR/$1 sandbox
    mkdir -p "$d"
    netns_add "$node" || fail "can't make the namespace of $node"
    ovsdb-tool create "$d/conf.db" \
        "$ADP_PREFIX/share/openvswitch/vswitch.ovsschema" \
        || fail "can't create the database of $node"
    mapfile -t sandbox < <(sandboxed ovsdb)
    spawn "$node.ovsdb-server" unshare --mount env OVS_RUNDIR="$d" \
        "${sandbox[@]}" ovsdb-server --remote="punix:$d/db.sock" \
        --unixctl="$d/ovsdb-server.ctl" --log-file="$d/ovsdb-server.log" \
        -vconsole:off "$d/conf.db"
    must_wait_for 10 "$node: ovsdb-server" test -S "$d/db.sock"
}

# node_start NODE: namespace, database, daemon; no bridge yet.
node_start() {
    local node=$1
    node_database "$node"
    in_ns "$node" sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
    node_dpdk_extra
    vsctl "$node" --no-wait init -- set Open_vSwitch . \
        other_config:dpdk-init=true \
        other_config:dpdk-extra="$E2E_EAL" \
        other_config:dpdk-lcore-mask=0x1 \
        other_config:pmd-cpu-mask="$(node_pmd_mask)" \
        other_config:pmd-maxsleep=1000 \
        other_config:antrea-dp-shadow="$ADP_SHADOW" \
        external_ids:hostname="$(ns "$node")" \
        || fail "$node: can't configure the database"
    node_run_vswitchd "$node"
}

# Core 1, or the only one that there is.
node_pmd_mask() {
    if [ "$(nproc)" -gt 1 ]; then echo 0x2; else echo 0x1; fi
}

# node_spawn_vswitchd NODE OPTION...
node_spawn_vswitchd() {
    local node=$1 d=$E2E_DIR/$1 sandbox
    shift
    mapfile -t sandbox < <(sandboxed vswitchd)
    spawn "$node.ovs-vswitchd" ip netns exec "$(ns "$node")" env \
        OVS_RUNDIR="$d" OVS_LOGDIR="$d" OVS_DBDIR="$d" RUNTIME_DIRECTORY="$d" \
        ASAN_OPTIONS="detect_leaks=0:log_path=$d/sanitizer:${ASAN_OPTIONS:-}" \
        UBSAN_OPTIONS="print_stacktrace=1:log_path=$d/sanitizer:${UBSAN_OPTIONS:-}" \
        "${sandbox[@]}" ovs-vswitchd "unix:$d/db.sock" \
        --unixctl="$d/ovs-vswitchd.ctl" --log-file="$d/ovs-vswitchd.log" -vconsole:off \
        --pidfile="$d/ovs-vswitchd.pid" "$@"
    printf '%s\n' "$SPAWNED" > "$d/vswitchd-pid"
}

node_run_vswitchd() {
    local node=$1
    node_spawn_vswitchd "$node"
    must_wait_for 20 "$node: ovs-vswitchd" \
        vsctl "$node" --timeout=1 get Open_vSwitch . dpdk_version
    must_wait_for 20 "$node: DPDK" node_dpdk_up "$node"
}

# node_stop_vswitchd NODE: the database stays.
node_stop_vswitchd() {
    local pid start
    pid=$(node_pid "$1")
    start=$(pid_start_time "$pid")
    appctl "$1" exit
    must_wait_for 10 "the end of ovs-vswitchd" pid_gone "$pid" "$start"
}

node_dpdk_up() {
    [ "$(vsctl "$1" get Open_vSwitch . dpdk_initialized)" = true ]
}

node_pid() {
    cat "$E2E_DIR/$1/vswitchd-pid"
}

# node_bridge NODE MAC IP/LEN [SETTING...]: br-int with gateway and tunnel port,
# as the Antrea agent makes them.  SETTING goes to `set Bridge`.
node_bridge() {
    local node=$1 mac=$2 ip=$3
    shift 3
    NODE_GW[$node]=$mac
    vsctl "$node" add-br br-int -- set Bridge br-int \
        datapath_type="$ADP_DP_TYPE" fail_mode=secure \
        protocols='[OpenFlow10,OpenFlow15]' "$@" \
        -- add-port br-int antrea-tun0 -- set Interface antrea-tun0 \
        type=geneve ofport_request=1 options:remote_ip=flow \
        options:key=flow options:csum=true \
        -- set Port antrea-tun0 external_ids:antrea-type=tunnel \
        -- add-port br-int antrea-gw0 -- set Interface antrea-gw0 \
        type=internal ofport_request=2 mtu_request=1450 \
        mac="\"$mac\"" \
        -- set Port antrea-gw0 external_ids:antrea-type=gateway \
        || fail "$node: can't make br-int"
    must_wait_for 10 "$node: antrea-gw0" in_ns "$node" ip link show antrea-gw0
    in_ns "$node" ip addr add "$ip" dev antrea-gw0
    in_ns "$node" ip link set antrea-gw0 up
}

# port_add NODE NS PORT MAC [KIND]: a veth from namespace NS (there: eth0) to
# the node, queued as port PORT of br-int, or of $E2E_BRIDGE.  KIND: dpdk
# (polled by the PMD thread, default) or system.  Further arguments go to `set
# Port PORT`.
port_add() {
    local node=$1 pod=$2 port=$3 mac=$4 kind=$5
    shift 5
    ip link add "$port" netns "$(ns "$node")" mtu 1450 type veth \
        peer name eth0 netns "$(ns "$pod")" address "$mac" mtu 1450 \
        || fail "can't make veth $port"
    # The switch reads the veth with a packet socket; the kernel's own stack
    # must not answer ARP there as well.
    in_ns "$node" ip link set "$port" arp off up
    # Packet sockets see half-made checksums if the Pod offloads them.
    in_ns "$pod" ethtool -K eth0 tx off >/dev/null
    in_ns "$pod" ip link set eth0 up
    NODE_PORTS[$node]+=" -- --may-exist add-port ${E2E_BRIDGE:-br-int} $port"
    if [ "$kind" = dpdk ]; then
        E2E_PORT_SEQ=$((E2E_PORT_SEQ + 1))
        NODE_PORTS[$node]+=" -- set Interface $port type=dpdk"
        NODE_PORTS[$node]+=" options:dpdk-devargs=net_af_packet$E2E_PORT_SEQ"
        NODE_PORTS[$node]+=",iface=$port mtu_request=1450"
    fi
    if [ $# -gt 0 ]; then
        NODE_PORTS[$node]+=" -- set Port $port $*"
    fi
}

# pod_add NODE NS NAMESPACE/NAME PORT MAC IP [KIND [OFPORT]]: a Pod's
# namespace NS with eth0, and its port with the external_ids that the CNI
# writes.
pod_add() {
    local node=$1 pod=$2 name=$3 port=$4 mac=$5 ip=$6
    local kind=${7:-dpdk} ofport=${8:-} gw=${6%.*}.1
    netns_add "$pod" || fail "can't make the namespace of Pod $name"
    POD_NAME[$pod]=$name
    # shellcheck disable=SC2046
    port_add "$node" "$pod" "$port" "$mac" "$kind" \
        $(pod_external_ids "$name" "$mac" "$ip")
    if [ -n "$ofport" ]; then
        NODE_PORTS[$node]+=" -- set Interface $port ofport_request=$ofport"
    fi
    in_ns "$pod" ip addr add "$ip/24" dev eth0
    in_ns "$pod" ip route add default via "$gw"
}

# pod_external_ids NAMESPACE/NAME MAC IP: what the CNI writes, for `set Port`.
# The container's id is made up, but stable.
pod_external_ids() {
    printf 'external_ids:%s ' \
        "pod-namespace=${1%%/*}" "pod-name=${1#*/}" \
        "attached-mac=\"$2\"" "ip-address=$3" "antrea-type=container" \
        "container-id=$(printf '%s' "$1" | sha256sum | cut -d ' ' -f 1)"
}

# tap_add NODE NS PORT IFACE OFPORT: a veth as port_add makes it, for what isn't
# a Pod: in namespace NS it is IFACE, and nobody but a raw socket uses it.
tap_add() {
    local node=$1 box=$2 port=$3 iface=$4 ofport=$5
    ip link add "$port" netns "$(ns "$node")" mtu 1500 type veth \
        peer name "$iface" netns "$(ns "$box")" mtu 1500 \
        || fail "can't make veth $port"
    in_ns "$node" ip link set "$port" arp off up
    in_ns "$box" sh -c "echo 1 > /proc/sys/net/ipv6/conf/$iface/disable_ipv6"
    in_ns "$box" ip link set "$iface" arp off promisc on up
    NODE_PORTS[$node]+=" -- --may-exist add-port ${E2E_BRIDGE:-br-int} $port"
    NODE_PORTS[$node]+=" -- set Interface $port ofport_request=$ofport"
}

# node_commit NODE: creates the queued ports and waits until they are open.
node_commit() {
    local node=$1
    [ -n "${NODE_PORTS[$node]:-}" ] || return 0
    # Word splitting is meant: no value has blanks.
    # shellcheck disable=SC2086
    vsctl "$node" ${NODE_PORTS[$node]# -- } \
        || fail "$node: can't add its ports"
    NODE_PORTS[$node]=
    must_wait_for 20 "$node: all ports open" node_ports_open "$node"
}

node_ports_open() {
    local all
    all=$(vsctl "$1" --format=csv --no-headings --columns=ofport \
          list Interface) || return 1
    ! printf '%s\n' "$all" | grep -qvE '^[0-9]+$'
}

# pod_del NODE NS PORT
pod_del() {
    vsctl "$1" --if-exists del-port br-int "$3"
    netns_del "$2"
}

# --- servers and clients ----------------------------------------------------

# pod_serve NS NAME PORT...: an HTTP server in a Pod that answers every
# request with its NAME and the client's address.
pod_serve() {
    local pod=$1 name=$2 port
    shift 2
    spawn "$pod.server" ip netns exec "$(ns "$pod")" \
        "$E2E_PYTHON" "$E2E_SRC/pod-server.py" --name "$name" "$@"
    for port in "$@"; do
        case $port in
        udp:*) continue ;;
        esac
        must_wait_for 10 "server $name, port $port" pod_listens "$pod" "$port"
    done
}

pod_listens() {
    in_ns "$1" ss -Hltn "sport = :$2" | grep -q .
}

# next_ports N: the first of N source ports that nobody in this test has used.
# A Pod that reaches one endpoint by two addresses (its own and a Service's)
# must not do so from one port while conntrack remembers the first connection:
# the answers would be taken for that one's.  Kernels don't know of this.
next_ports() {
    (
        flock 9
        local port
        port=$(cat "$E2E_DIR/next-port" 2>/dev/null || echo 10000)
        [ $((port + $1)) -le 32768 ] || port=10000
        echo $((port + $1)) > "$E2E_DIR/next-port"
        echo "$port"
    ) 9>> "$E2E_DIR/next-port.lock"
}

# get NS URL: one HTTP request on a new connection; prints the answer.
get() {
    local pod=$1 url=$2
    shift 2
    in_ns "$pod" curl -sS --noproxy '*' --local-port "$(next_ports 1)" \
        --connect-timeout 3 --max-time $((5 * ADP_E2E_SLOW)) "$@" "$url"
}

# cannot_get NS URL: succeeds if no answer comes.
cannot_get() {
    ! in_ns "$1" curl -s --noproxy '*' --local-port "$(next_ports 1)" \
        --connect-timeout 1 --max-time 2 -o /dev/null "$2"
}

# fetch_many NS URL N: N requests, each on its own connection; prints
# "COUNT SERVER-NAME CLIENT-IP" lines, most frequent first.
fetch_many() {
    in_ns "$1" timeout $((60 * ADP_E2E_SLOW)) \
        "$E2E_PYTHON" "$E2E_SRC/fetch.py" --count "$3" \
        --source-port "$(next_ports "$3")" "$2" \
        | sort | uniq -c | sort -rn | awk '{ $1 = $1; print }'
}

# hold_open NS URL: opens a connection that stays; hold_ask then sends a
# request over it and prints the answer.  One at a time per NS.
hold_open() {
    local pod=$1 url=$2
    HOLD=$E2E_DIR/hold.$pod
    rm -f "$HOLD.in" "$HOLD.out"
    mkfifo "$HOLD.in" "$HOLD.out"
    spawn "$pod.hold" ip netns exec "$(ns "$pod")" "$E2E_PYTHON" \
        "$E2E_SRC/hold.py" "$url" "$HOLD.in" "$HOLD.out"
    HOLD_PID=$SPAWNED
    exec 7<> "$HOLD.in" 8<> "$HOLD.out"
}

hold_ask() {
    local answer
    echo ask >&7
    IFS= read -r -t $((10 * ADP_E2E_SLOW)) answer <&8 || answer="no answer"
    printf '%s\n' "$answer"
}

hold_close() {
    stop_pid "$HOLD_PID"
    exec 7>&- 8>&-
}

# --- captures ---------------------------------------------------------------

# capture_start NAME NS IFACE [FILTER...]: tcpdump until capture_stop.
capture_start() {
    local name=$1 where=$2 iface=$3
    shift 3
    rm -f "$E2E_DIR/$name.pcap" "$E2E_DIR/capture.$name.out"
    spawn "capture.$name" ip netns exec "$(ns "$where")" tcpdump -i "$iface" \
        -n -U --immediate-mode -s 0 -Z root -w "$E2E_DIR/$name.pcap" "$@"
    printf '%s\n' "$SPAWNED" > "$E2E_DIR/capture.$name.pid"
    must_wait_for 10 "tcpdump on $iface" \
        grep -q 'listening on' "$E2E_DIR/capture.$name.out"
}

# capture_show NAME [FILTER...]: what was caught so far, one packet a line,
# with link-level headers and TTL.
capture_show() {
    local name=$1
    shift
    tcpdump -r "$E2E_DIR/$name.pcap" -n -e -v -t "$@" 2>/dev/null \
        | awk '/^[^ \t]/ { if (line) print line; line = $0; next }
               { sub(/^[ \t]+/, " "); line = line $0 }
               END { if (line) print line }'
}

capture_has() {         # NAME REGEX [FILTER...]
    local name=$1 regex=$2
    shift 2
    capture_show "$name" "$@" | grep -qE -- "$regex"
}

capture_stop() {
    stop_pid "$(cat "$E2E_DIR/capture.$1.pid")"
}

# --- logs -------------------------------------------------------------------

# log_of NODE: what ovs-vswitchd has said so far, wholly.  The log is written by a thread
# of its own, in order: behind a line that was asked for stands nothing of before.
log_of() {
    local log=$E2E_DIR/$1/ovs-vswitchd.log n
    n=$(log_marks "$log")
    if appctl "$1" vlog/set unixctl:file:dbg > /dev/null 2>&1; then
        appctl "$1" vlog/set unixctl:file:info > /dev/null
        must_wait_for 10 "what the log is still to say" \
            log_has_marks "$((n + 1))" "$log"
    fi                  # What has ended says no more.
    cat "$log"
}

log_marks() {
    grep -cF 'received request vlog/set["unixctl:file:info"]' "$1"
}

log_has_marks() {
    [ "$(log_marks "$2")" -ge "$1" ]
}

# log_forget NODE: what ovs-vswitchd has complained about so far is known.
log_forget() {
    log_of "$1" | wc -l > "$E2E_DIR/$1/log-seen"
}

# log_complaints NODE: warnings and errors of ovs-vswitchd since then, but for those
# about how long something took, and what DPDK and its devices can't do: these are the
# machine's.
log_complaints() {
    log_of "$1" | tail -n "+$(($(cat "$E2E_DIR/$1/log-seen") + 1))" | grep -E '\|(WARN|ERR|EMER)\|' \
        | grep -vE '\|(timeval|ovs_rcu|dpdk|netdev_dpdk)[|(]' | sed 's/^[^|]*|[^|]*|//'
}

# --- the end ----------------------------------------------------------------

# All daemons that were started and not stopped on purpose still run.
e2e_check_daemons() {
    local f pid start
    for f in "$E2E_DIR"/*/vswitchd-pid; do
        [ -f "$f" ] || continue
        pid=$(cat "$f")
        start=$(awk -v p="$pid" '$1 == p { print $2 }' "$E2E_DIR/pids" \
                | tail -n 1)
        pid_is "$pid" "$start" || {
            say "not ok - ovs-vswitchd of $(basename "$(dirname "$f")") died" >&2
            return 1
        }
    done
}

# Ends the daemons in order, so that a crash on the way out shows too.
e2e_stop_daemons() {
    local d
    for d in "$E2E_DIR"/*/; do
        [ -S "$d/ovs-vswitchd.ctl" ] || continue
        OVS_RUNDIR=$d timeout 20 ovs-appctl -t "$d/ovs-vswitchd.ctl" exit \
            >/dev/null 2>&1
        stop_pid "$(cat "$d/vswitchd-pid")"
    done
}

# No daemon met a failed assertion or a sanitizer's report.
e2e_check_logs() {
    local bad
    bad=$(cat "$E2E_DIR"/*/sanitizer.* 2>/dev/null | head -n 40)
    bad+=$(grep -hE '\|EMER\||assertion .* failed|terminated by signal' \
           "$E2E_DIR"/*/*.log 2>/dev/null)
    bad+=$(grep -hE 'runtime error|AddressSanitizer' \
           "$E2E_DIR"/*ovs-vswitchd.out 2>/dev/null)
    [ -z "$bad" ] || {
        say "not ok - a daemon complained:" "$bad" >&2
        return 1
    }
}
