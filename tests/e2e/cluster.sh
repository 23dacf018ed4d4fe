# SPDX-License-Identifier: Apache-2.0
#
# The two-node cluster of the demo and of most end-to-end tests.
#
#   ext ─ 192.0.2.0/24 ────── n1 (k8s-node-control-plane)   n2 ─ 198.51.100/24
#                             │  br-int: antrea-gw0          (k8s-node-worker-1)
#    web    10.10.0.24 ───────┤          antrea-tun0         ├── web2 10.10.1.6
#    client 10.10.0.26 ───────┤            ║ Geneve          ├── client2 10.10.1.7
#    db     10.10.0.25 ───────┤  br-phy ═ 192.168.77.0/24 ═ br-phy
#    other  10.10.0.27 ───────┘  .102                  .103
#
# Addresses, MACs and port names of node 1 are those of the v1.15 pipeline
# document.  `ext` is the external network: it reaches NodePorts and load
# balancer addresses through the nodes' own IP stacks, set up as the Antrea
# agent does with proxyAll.

CLUSTER_MANIFESTS=$E2E_TOP/tests/demo/manifests
GW1_MAC=ba:5e:d1:55:aa:c0
GW2_MAC=ba:5e:d1:55:aa:c1
GLOBAL_MAC=aa:bb:cc:dd:ee:ff
NODE1_IP=192.168.77.102
NODE2_IP=192.168.77.103
EXT_IP=192.0.2.10
WEB_MAC=fa:b7:53:74:21:a6
CLIENT_MAC=5e:b5:e3:a6:90:b7
WEB2_MAC=0a:58:0a:0a:01:06

# The addresses that only exist in the pipeline's Service tables.
CLUSTER_VIPS="192.168.77.150 192.168.77.151 192.168.77.200"
CLUSTER_SERVICE_CIDR=10.96.0.0/12

node_name() {
    case $1 in
    n1) echo k8s-node-control-plane ;;
    n2) echo k8s-node-worker-1 ;;
    *) echo "$1" ;;
    esac
}

# cluster_start: nodes, underlay, bridges, host routes, Pods, servers; no
# Kubernetes state yet.
cluster_start() {
    node_start n1
    node_start n2
    cluster_underlay
    node_bridge n1 $GW1_MAC 10.10.0.1/24
    node_bridge n2 $GW2_MAC 10.10.1.1/24
    cluster_pods
    node_commit n1
    node_commit n2
    cluster_external
    cluster_host n1 10.10.0 10.10.1 $NODE1_IP
    cluster_host n2 10.10.1 10.10.0 $NODE2_IP
    cluster_servers
    cluster_underlay_ready
}

# A veth between the nodes; each end is a port of br-phy, whose LOCAL port
# holds the transport address.
cluster_underlay() {
    cluster_cable n1 n2
    cluster_phy n1 under1 02:00:c0:a8:4d:66 $NODE1_IP
    cluster_phy n2 under2 02:00:c0:a8:4d:67 $NODE2_IP
}

# cluster_cable NODE NODE: the veth, under1 to under2.
cluster_cable() {
    ip link add under1 netns "$(ns "$1")" type veth \
        peer name under2 netns "$(ns "$2")" || fail "can't make the underlay"
}

cluster_phy() {
    local node=$1 veth=$2 mac=$3 ip=$4
    in_ns "$node" ip link set "$veth" arp off up
    E2E_PORT_SEQ=$((E2E_PORT_SEQ + 1))
    # A MAC of its own: packets for it must not look addressed to the veth,
    # or the kernel would take them from there as well.
    vsctl "$node" add-br br-phy -- set Bridge br-phy datapath_type=netdev \
        other_config:hwaddr=$mac \
        -- add-port br-phy "$veth" -- set Interface "$veth" type=dpdk \
        options:dpdk-devargs="net_af_packet$E2E_PORT_SEQ,iface=$veth" \
        || fail "$node: can't make br-phy"
    must_wait_for 10 "$node: br-phy" in_ns "$node" ip link show br-phy
    in_ns "$node" ip addr add "$ip/24" dev br-phy
    in_ns "$node" ip link set br-phy up
}

# OVS needs to know the underlay's neighbours before it can encapsulate, and
# learns them from ARP replies that pass: ask from both sides.
cluster_underlay_ready() {
    cluster_tunnel_ready n1 $NODE1_IP n2 $NODE2_IP
}

# cluster_tunnel_ready NODE IP NODE IP
cluster_tunnel_ready() {
    must_wait_for 20 "ping over the underlay" \
        in_ns "$1" ping -c 1 -W 1 "$4"
    must_wait_for 10 "$1's tunnel neighbour" tunnel_neighbour "$1" "$4"
    must_wait_for 10 "$3's tunnel neighbour" tunnel_neighbour "$3" "$2"
}

tunnel_neighbour() {
    appctl "$1" tnl/neigh/show | grep -q "^$2 " \
        || { in_ns "$1" ip neigh flush dev br-phy
             in_ns "$1" ping -c 1 -W 1 "$2"
             false; }
}

# The Pods of the pipeline document, with its port numbers.
cluster_sample_pods() {
    pod_add n1 web default/web-7975 web-7975-274540 $WEB_MAC \
        10.10.0.24 dpdk 37
    pod_add n1 client default/client-6 client-6-3353ef $CLIENT_MAC \
        10.10.0.26 dpdk 36
    # Polled by the main thread: the other way into the pipeline.
    pod_add n1 db default/db-755c6 db-755c6-5080e3 36:48:21:a2:9d:b4 \
        10.10.0.25 system 38
}

cluster_pods() {
    cluster_sample_pods
    pod_add n1 other default/other-1 other-1-b1c2d3 0a:58:0a:0a:00:1b \
        10.10.0.27 dpdk 39
    pod_add n2 web2 default/web-8210 web-8210-9f3e11 $WEB2_MAC 10.10.1.6
    pod_add n2 client2 default/client-9 client-9-77aa01 0a:58:0a:0a:01:07 \
        10.10.1.7
}

# The external network: one client, a cable to each node, routes for what the
# nodes announce.
cluster_external() {
    local vip
    netns_add ext || fail "can't make the external network"
    ip link add ext1 netns "$(ns ext)" type veth \
        peer name uplink0 netns "$(ns n1)"
    ip link add ext2 netns "$(ns ext)" type veth \
        peer name uplink0 netns "$(ns n2)"
    in_ns n1 ip addr add 192.0.2.1/24 dev uplink0
    in_ns n2 ip addr add 198.51.100.1/24 dev uplink0
    in_ns n1 ip link set uplink0 up
    in_ns n2 ip link set uplink0 up
    in_ns ext ip addr add $EXT_IP/24 dev ext1
    in_ns ext ip addr add 198.51.100.10/24 dev ext2
    in_ns ext ip link set ext1 up
    in_ns ext ip link set ext2 up
    for vip in $NODE1_IP $CLUSTER_VIPS; do
        in_ns ext ip route add "$vip" via 192.0.2.1 src $EXT_IP
    done
    in_ns ext ip route add $NODE2_IP via 198.51.100.1 src 198.51.100.10
}

# cluster_host_routes NODE PEER: they go with antrea-gw0.
cluster_host_routes() {
    local node=$1 peer=$2 vip
    in_ns "$node" sh -c '
        echo 2 > /proc/sys/net/ipv4/conf/antrea-gw0/rp_filter'
    in_ns "$node" ip route add "$peer.0/24" via "$peer.1" \
        dev antrea-gw0 onlink
    in_ns "$node" ip neigh replace 169.254.0.253 lladdr $GLOBAL_MAC \
        dev antrea-gw0 nud permanent
    in_ns "$node" ip route add 169.254.0.253 dev antrea-gw0 scope link
    for vip in 169.254.0.252 10.96.0.0/12 $CLUSTER_VIPS; do
        in_ns "$node" ip route add "$vip" via 169.254.0.253 \
            dev antrea-gw0 onlink
    done
}

# What the Antrea agent does to the IP stack of a node with proxyAll: routes
# to peers and to Services through the gateway port, a NodePort becomes the
# virtual NodePort DNAT IP, masquerade towards the outside.
cluster_host() {
    local node=$1 own=$2 peer=$3 ip=$4
    cluster_host_routes "$node" "$peer"
    in_ns "$node" nft -f - <<END
table ip antrea {
    set nodeports {
        type ipv4_addr . inet_proto . inet_service
        elements = { $ip . tcp . 30004 }
    }
    chain prerouting {
        type nat hook prerouting priority dstnat
        ip daddr . meta l4proto . th dport @nodeports dnat to 169.254.0.252
    }
    chain output {
        type nat hook output priority -100
        ip daddr . meta l4proto . th dport @nodeports dnat to 169.254.0.252
    }
    chain postrouting {
        type nat hook postrouting priority srcnat
        ip saddr $own.0/24 oifname != "antrea-gw0" ip daddr != $peer.0/24 masquerade
        ip saddr 169.254.0.253 masquerade
        oifname "antrea-gw0" ip saddr != $own.1 fib saddr type local masquerade
    }
}
END
    [ $? = 0 ] || fail "$node: can't set up NAT"
}

cluster_servers() {
    pod_serve web web-7975 80 8080 udp:5353
    pod_serve web2 web-8210 80 8080 udp:5353
    pod_serve db db-755c6 3306
    pod_serve client client-6 80
    pod_serve client2 client-9 80
    pod_serve other other-1 80
    # A Pod of the host's network: an endpoint beyond the gateway port.
    spawn n1.server ip netns exec "$(ns n1)" "$E2E_PYTHON" \
        "$E2E_SRC/pod-server.py" --name host-n1 8081
    must_wait_for 10 "the server on node 1" pod_listens n1 8081
}

# cluster_apply FILE...: loads manifests on both nodes.
cluster_apply() {
    node_load n1 apply "$@" && node_load n2 apply "$@" \
        || fail "can't apply $*"
}

# cluster_delete FILE...: the opposite.
cluster_delete() {
    node_load n1 delete "$@" && node_load n2 delete "$@" \
        || fail "can't delete $*"
}

# node_load NODE apply|delete FILE...  ADP_E2E_LOAD names a program to be used
# instead of antrea-dpctl: PROGRAM NODE RUNDIR apply|delete FILE...  (To put
# the same flows into a stock bridge, say.)
node_load() {
    local node=$1 verb=$2 file out args=()
    shift 2
    if [ -n "${ADP_E2E_LOAD:-}" ]; then
        "$ADP_E2E_LOAD" "$node" "$E2E_DIR/$node" "$verb" "$@"
        return
    fi
    for file in "$@"; do
        args+=(-f "$file")
    done
    out=$(dpctl "$node" "$verb" --node "$(node_name "$node")" \
          --service-cidr $CLUSTER_SERVICE_CIDR "${args[@]}" 2>&1) || {
        say "$out" >&2
        return 1
    }
    say "  $node: $(printf '%s' "$out" | tail -n 1)"
}

# What the demo loads before any policy.
cluster_load() {
    cluster_apply "$CLUSTER_MANIFESTS/cluster.yaml" \
        "$CLUSTER_MANIFESTS/cluster-more.yaml" \
        "$CLUSTER_MANIFESTS/services.yaml" \
        "$CLUSTER_MANIFESTS/services-more.yaml"
}
