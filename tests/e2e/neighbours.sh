# SPDX-License-Identifier: Apache-2.0
#
# A node without DPDK whose Pods are real: veths that packet threads poll.  Pod
# "good" has connections to Pod "peer", by its address and by a Service's, that
# must outlast what a test does beside them.  Read after lib.sh and claims.sh.
#
#     neighbours_start n1 [other]   # other Pods are 10.10.0.10, .11, ...
#     lasting_start
#     ...
#     lasting_holds "what was done"  # also: they went on meanwhile
#     lasting_stop "what was done"

NEIGHBOUR_GW=0a:00:00:00:00:01 NEIGHBOUR_SERVICE=10.96.0.10
NEIGHBOUR_PORT=7000
NEIGHBOUR_OTHERS=()

neighbour_number() {    # POD
    local i
    case $1 in
    good) echo 3 ;;
    peer) echo 4 ;;
    *)
        for i in "${!NEIGHBOUR_OTHERS[@]}"; do
            [ "${NEIGHBOUR_OTHERS[i]}" != "$1" ] || echo $((10 + i))
        done
        ;;
    esac
}
neighbour_ip() {        # POD
    echo "10.10.0.$(neighbour_number "$1")"
}
neighbour_mac() {       # POD
    printf '0a:00:00:00:00:%02x\n' "$(neighbour_number "$1")"
}

# neighbour_plug NODE POD: its veth, also when it had one before; not the port.
neighbour_plug() {
    local pod=$2 other
    ip link add "$pod" netns "$(ns "$1")" type veth peer name eth0 \
        netns "$(ns "$pod")" address "$(neighbour_mac "$pod")" \
        || fail "can't make the veth of Pod $pod"
    in_ns "$1" ip link set "$pod" arp off up
    in_ns "$pod" ip addr add "$(neighbour_ip "$pod")/24" dev eth0
    in_ns "$pod" ip link set eth0 up
    in_ns "$pod" ip route add default via 10.10.0.1
    in_ns "$pod" ip neigh replace 10.10.0.1 lladdr $NEIGHBOUR_GW dev eth0 \
        nud permanent
    for other in good peer "${NEIGHBOUR_OTHERS[@]}"; do
        [ "$other" = "$pod" ] || in_ns "$pod" ip neigh replace \
            "$(neighbour_ip "$other")" lladdr "$(neighbour_mac "$other")" \
            dev eth0 nud permanent
    done
}

neighbour_records() {   # POD...
    local pod
    printf '[{"kind": "NodeConfig", "name": "n1", "podCIDR": "10.10.0.0/24",
 "gateway": {"port": "gw0", "mac": "%s", "ip": "10.10.0.1"},
 "transportIP": "192.0.2.1"},
{"kind": "Service", "name": "d/peer", "clusterIP": "%s", "ports": [' \
        $NEIGHBOUR_GW $NEIGHBOUR_SERVICE
    printf '{"port": 80, "protocol": "%s",
 "endpoints": [{"ip": "%s", "port": %s}]}%s\n' \
        TCP "$(neighbour_ip peer)" $NEIGHBOUR_PORT , \
        UDP "$(neighbour_ip peer)" $NEIGHBOUR_PORT ']}'
    for pod in "$@"; do
        printf ', {"kind": "Pod", "name": "d/%s", "port": "%s", "mac": "%s",
 "ips": ["%s"]}\n' \
            "$pod" "$pod" "$(neighbour_mac "$pod")" "$(neighbour_ip "$pod")"
    done
    # Nobody else may talk to Pod peer.
    printf ', {"kind": "AppliedToGroup", "name": "peer", "pods": ["d/peer"]},
{"kind": "NetworkPolicy", "name": "K8sNetworkPolicy:d/peer",
 "type": "K8sNetworkPolicy", "appliedToGroups": ["peer"], "rules": [
 {"direction": "In", "from": {"ipBlocks": [{"cidr": "%s/32"}]}}]}]\n' \
        "$(neighbour_ip good)"
}

neighbours_start() {    # NODE [POD...]
    local node=$1 pod args=()
    shift
    NEIGHBOUR_OTHERS=("$@")
    node_database "$node"
    vsctl "$node" --no-wait init -- set Open_vSwitch . \
        other_config:pmd-cpu-mask="$(node_pmd_mask)" \
        || fail "can't configure the database"
    neighbours_run "$node"
    vsctl "$node" add-br br-int -- set Bridge br-int \
        datapath_type="$ADP_DP_TYPE" fail_mode=secure \
        -- add-port br-int gw0 -- set Interface gw0 type=internal \
        ofport_request=2 mac="\"$NEIGHBOUR_GW\"" \
        || fail "can't make the bridge"
    in_ns "$node" ip addr add 10.10.0.1/24 dev gw0
    in_ns "$node" ip link set gw0 up
    for pod in good peer "$@"; do
        netns_add "$pod" || fail "can't make the namespace of Pod $pod"
        neighbour_plug "$node" "$pod"
        in_ns "$node" ip neigh replace "$(neighbour_ip "$pod")" \
            lladdr "$(neighbour_mac "$pod")" dev gw0 nud permanent
        args+=(-- add-port br-int "$pod")
    done
    vsctl "$node" "${args[@]}" || fail "can't add the ports"
    neighbour_records good peer "$@" > "$E2E_DIR/neighbours.json"
    dpctl "$node" apply -f "$E2E_DIR/neighbours.json" \
        || fail "can't load the records"
    spawn peer.server ip netns exec "$(ns peer)" "$E2E_PYTHON" \
        "$E2E_SRC/lasting.py" server $NEIGHBOUR_PORT
    must_wait_for 10 "Pod peer's server" pod_listens peer $NEIGHBOUR_PORT
}
neighbours_run() {      # NODE
    LD_PRELOAD=${NEIGHBOURS_PRELOAD:-} ADP_FAULTS=$E2E_DIR/faults \
        node_spawn_vswitchd "$1"
    must_wait_for 20 "$1: ovs-vswitchd" appctl "$1" version
    must_wait_for 20 "$1: the control socket" \
        test -S "$E2E_DIR/$1/antrea-dp.sock"
}

# faults_prepare: before neighbours_start, where a test turns on what faults.c can.
faults_prepare() {
    command -v cc > /dev/null || skip "cc isn't installed"
    mkdir -p "$E2E_DIR/faults"
    cc -O1 -shared -fPIC -o "$E2E_DIR/faults/faults.so" "$E2E_SRC/faults.c" \
        || fail "can't compile faults.c"
    clock_wrong_by 0
    NEIGHBOURS_PRELOAD=$E2E_DIR/faults/faults.so
}
clock_wrong_by() {      # SECONDS
    "$E2E_PYTHON" - "$E2E_DIR/faults/clock" "$1" <<'PY'
import os, struct, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.pwrite(fd, struct.pack('=q', int(sys.argv[2])), 0)
PY
}

# lasting_word: what the connections say.
lasting_word() {        # NUMBER-OF-WORD
    awk -v n="$1" '{ print $n }' "$E2E_DIR/lasting.status"
}
lasting_beyond() {      # ROUNDS
    [ -s "$E2E_DIR/lasting.status" ] && [ "$(lasting_word 1)" -ge "$1" ]
}
lasting_start() {
    rm -f "$E2E_DIR/lasting.status" "$E2E_DIR/lasting.stop"
    spawn lasting ip netns exec "$(ns good)" env \
        ADP_E2E_SLOW="$ADP_E2E_SLOW" "$E2E_PYTHON" "$E2E_SRC/lasting.py" \
        client "$E2E_DIR/lasting.status" "$E2E_DIR/lasting.stop" \
        "$(neighbour_ip peer):$NEIGHBOUR_PORT" "$NEIGHBOUR_SERVICE:80"
    must_wait_for 20 "the neighbours' connections" lasting_beyond 5
}
lasting_holds() {       # WHAT
    must_wait_for 30 "$1: the neighbours' traffic" \
        lasting_beyond $(($(lasting_word 1) + 5))
    assert_eq "$1: of the neighbours' traffic nothing is lost or broken" \
        "0 0" "$(lasting_word 2) $(lasting_word 3)"
}

# away WHAT COMMAND...: whatever is away stays so for ADP_E2E_AWAY seconds, in
# which COMMAND succeeds each time that it is asked.
away() {
    local what=$1 end=$((SECONDS + ADP_E2E_AWAY))
    shift
    while [ $SECONDS -lt "$end" ]; do
        "$@" || fail "$what"
        lasting_holds "$what"
        sleep 5
    done
}

lasting_stopped() {
    [ "$(lasting_word 4)" = stopped ]
}
lasting_stop() {        # WHAT
    lasting_holds "$1"
    : > "$E2E_DIR/lasting.stop"
    must_wait_for 30 "the last round" lasting_stopped
    assert_eq "$1: nor was anything until the end" "0 0" \
        "$(lasting_word 2) $(lasting_word 3)"
    say "# $(lasting_word 1) rounds"
}

# What the daemon holds.
resident_kb() {         # NODE
    awk '/^VmRSS/ { print $2 }' "/proc/$(node_pid "$1")/status"
}
open_files() {          # NODE
    find "/proc/$(node_pid "$1")/fd" -mindepth 1 | wc -l
}
