# SPDX-License-Identifier: Apache-2.0
#
# The two nodes of the walk, on the pipeline that it shows (needs cluster.sh).
#
#   frontend 10.222.1.48 ─┐  worker1               worker2  ┌─ backend2 10.222.2.34
#   backend1 10.222.1.47 ─┤  10.79.1.201       10.79.1.202  │
#   coredns1 10.222.1.2  ─┤  br-int ═════ Geneve ═══ br-int ┴─ coredns2 10.222.2.2
#   octant   10.222.1.3  ─┘
#
# Addresses, MACs, names and numbers of ports are the walk's, and so are the
# policies in walk-policies.yaml.  A third node, "master", is only known as a
# peer.

WALK_W1_IP=10.79.1.201
WALK_W2_IP=10.79.1.202
WALK_GW1_MAC=4e:99:08:c1:53:be
WALK_GW2_MAC=02:d8:4e:3f:92:1d
WALK_FRONTEND_MAC=be:2c:bf:e4:ec:c5
WALK_BACKEND2_MAC=c6:f4:b5:76:10:38
WALK_PIPELINE=(other_config:antrea-dp-pipeline=early
               other_config:antrea-dp-pipeline-options=walk)

walk_start() {
    node_start worker1
    node_start worker2
    cluster_cable worker1 worker2
    cluster_phy worker1 under1 00:50:56:8f:4e:82 $WALK_W1_IP
    cluster_phy worker2 under2 00:50:56:8f:1c:f6 $WALK_W2_IP
    node_bridge worker1 $WALK_GW1_MAC 10.222.1.1/24 "${WALK_PIPELINE[@]}"
    node_bridge worker2 $WALK_GW2_MAC 10.222.2.1/24 "${WALK_PIPELINE[@]}"
    walk_pods
    node_commit worker1
    node_commit worker2
    walk_servers
    cluster_tunnel_ready worker1 $WALK_W1_IP worker2 $WALK_W2_IP
}

walk_pods() {
    local pod
    pod_add worker1 coredns1 kube-system/coredns-1 coredns--3e3abf \
        f2:82:cc:96:da:bd 10.222.1.2 system 3
    pod_add worker1 octant kube-system/antrea-octant antrea-o-830766 \
        6e:9e:5a:3e:3f:e8 10.222.1.3 system 4
    pod_add worker1 backend1 default/backend1 backend1-bab86f \
        f2:32:d8:07:e2:a6 10.222.1.47 dpdk 48
    pod_add worker1 frontend default/frontend frontend-a3ba2f \
        $WALK_FRONTEND_MAC 10.222.1.48 dpdk 49
    pod_add worker2 coredns2 kube-system/coredns-2 coredns--d8f62c \
        52:9d:f4:63:06:bc 10.222.2.2 system 3
    pod_add worker2 backend2 default/backend2 backend2-202ff6 \
        $WALK_BACKEND2_MAC 10.222.2.34 dpdk 35
    # The window of a SYN, as the walk prints it, follows from this.
    for pod in frontend backend2; do
        in_ns "$pod" sysctl -qw 'net.ipv4.tcp_rmem=4096 131072 6291456'
    done
}

walk_servers() {
    pod_serve frontend frontend 80 8080
    pod_serve backend1 backend1 80 8080
    pod_serve backend2 backend2 80 8080
    pod_serve coredns1 coredns1 80 udp:53 udp:54
    pod_serve coredns2 coredns2 80 udp:53 udp:54
}

# walk_flows NODE: in the form of the walk.
walk_flows() {
    OVS_RUNDIR=$E2E_DIR/$1 ovs-ofctl --names --no-stats dump-flows br-int \
        | grep actions=
}

# walk_load: Nodes, Pods and both policies, on both nodes.
walk_load() {
    local node
    for node in worker1 worker2; do
        node_load $node apply "$E2E_SRC/walk-cluster.yaml" \
            "$E2E_SRC/walk-policies.yaml" || fail "can't load"
    done
}

# --- what the documents show -------------------------------------------------

WALK_CONFORMANCE=$E2E_TOP/tests/conformance

# walk_name_flows NODE [--trace FILE]: see tests/conformance/name-flows.
walk_name_flows() {
    local node=$1
    shift
    OVS_RUNDIR=$E2E_DIR/$node ovs-ofctl --names dump-flows br-int \
        > "$E2E_DIR/$node/counted"
    "$WALK_CONFORMANCE/name-flows" walk "$node" "$E2E_DIR/$node/counted" \
        --normalizer "$WALK_NORMALIZER" "$@"
}

# walk_path SECTION: the flows that the walk's packet meets, by name.
walk_path() {
    awk -F '\t' -v section="$1" '
        $1 == section {
            n = split($3, steps, " ")
            for (i = 1; i <= n; i++) {
                split(steps[i], step, ":")
                print $2 " table " step[1] " " step[2]
            } }' "$WALK_CONFORMANCE/walk-paths.txt"
}

# walk_growth NODE: the names of the flows that have counted a packet since
# walk_mark NODE, once for each packet, sorted.
walk_mark() {
    walk_name_flows "$1" > "$E2E_DIR/$1/mark"
}

walk_growth() {
    walk_name_flows "$1" > "$E2E_DIR/$1/now" || return 1
    awk '{ n = $1; sub(/^[0-9]+ /, "") }
         FNR == NR { before[$0] += n; next }
         { after[$0] += n }
         END { for (flow in after)
                   for (n = before[flow]; n < after[flow]; n++)
                       print flow }' \
        "$E2E_DIR/$1/mark" "$E2E_DIR/$1/now" | sort
}

# walk_grew NODE SECTION...: since walk_mark, one packet has taken the path of
# each section, and no other packet has been there.
walk_grew() {
    local node=$1 section seen want
    shift
    want=$(for section; do walk_path "$section"; done | sort)
    seen=$(walk_growth "$node") || return 1
    [ "$want" = "$seen" ] || {
        diff <(printf '%s\n' "$want") <(printf '%s\n' "$seen")
        return 1
    }
}

# walk_trace NODE PORT FLOW: the flows that a trace of the packet meets, then
# where and how it leaves: port, MACs, TTL.
walk_trace() {
    dpctl "$1" -o json trace --in-port "$2" "$3" > "$E2E_DIR/$1/trace.json" \
        && walk_name_flows "$1" --trace "$E2E_DIR/$1/trace.json" \
        && json_get outputs.0.port outputs.0.headers.eth_src \
            outputs.0.headers.eth_dst outputs.0.headers.nw_ttl \
            < "$E2E_DIR/$1/trace.json" | paste -sd ' '
}

# walk_send NS FLOW: a packet of a Pod, as it is.
walk_send() {
    ovs-ofctl compose-packet "$2" | in_ns "$1" "$E2E_PYTHON" -c 'if True:
        import re, socket, sys
        dump = "".join(line[10:57] for line in sys.stdin)
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sock.bind(("eth0", 0))
        sock.send(bytes.fromhex(re.sub("[^0-9a-f]", "", dump)))'
}

# What is another number each time: ports of clients and of tunnels, sequence
# numbers, time stamps.
walk_blur() {
    sed -E 's/^[0-9:.]+ +//
            s/(10\.222\.1\.48)\.[0-9]+/\1.PORT/
            s/(10\.79\.1\.20[12])\.[0-9]+ > /\1.PORT > /
            s/\b(seq|ack|val) [0-9]+/\1 N/g
            s/\becr [1-9][0-9]*/ecr N/'
}

# walk_packet NAME: a line of the walk's tcpdump.
walk_packet() {
    awk -F '\t' -v name="$1" '$1 == name { print $2 }' \
        "$WALK_CONFORMANCE/walk-packets.txt" | walk_blur
}

# walk_caught CAPTURE: the same of a capture of ours.
walk_caught() {
    tcpdump -r "$E2E_DIR/$1.pcap" -en 2>/dev/null | walk_blur
}

walk_has_caught() {     # CAPTURE LINE
    walk_caught "$1" | grep -qxF -- "$2"
}
