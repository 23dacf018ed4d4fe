# SPDX-License-Identifier: Apache-2.0
#
# Two nodes over an IPv6 underlay, with Pods that speak IPv6 and flows for them
# as Antrea makes them, in tables of their own: what is tested is the datapath,
# whatever pipeline the bridges have beside (read after cluster.sh).
#
#    web    fd10:10::24 ──┐  br-int: antrea-tun0     ┌── web2    fd10:10:0:1::6
#    client fd10:10::26 ──┤            ║ Geneve      └── client2 fd10:10:0:1::7
#    other  fd10:10::27 ──┘  br-phy ═ fd77::/64 ═ br-phy
#
# Service fd10:96::80 has the endpoints web and web2, fd10:96::77 none.

IP6_WEB=fd10:10::24 IP6_CLIENT=fd10:10::26 IP6_OTHER=fd10:10::27
IP6_WEB2=fd10:10:0:1::6 IP6_CLIENT2=fd10:10:0:1::7
IP6_NET1=fd10:10::/64 IP6_NET2=fd10:10:0:1::/64
GW1_IP6=fd10:10::1 GW2_IP6=fd10:10:0:1::1
EXT_IP6=2001:db8:1::10
IP6_SERVICE=fd10:96::80 IP6_NOBODY=fd10:96::77
NODE1_IP6=fd77::102 NODE2_IP6=fd77::103
CLIENT2_MAC=0a:58:0a:0a:01:07
OTHER_MAC=0a:58:0a:0a:00:1b
IP6_ZONE=65510

# ipv6_cluster [SETTING...]: all of it; SETTING goes to `set Bridge br-int`.
ipv6_cluster() {
    node_start n1
    node_start n2
    cluster_underlay
    ipv6_underlay n1 $NODE1_IP6
    ipv6_underlay n2 $NODE2_IP6
    node_bridge n1 $GW1_MAC 10.10.0.1/24 "$@"
    node_bridge n2 $GW2_MAC 10.10.1.1/24 "$@"
    cluster_pods
    node_commit n1
    node_commit n2
    # First, or somebody's router solicitation finds no flow.
    ipv6_flows n1 $GW1_MAC $NODE2_IP6 $IP6_NET2 <<END
client-6-3353ef $CLIENT_MAC $IP6_CLIENT
web-7975-274540 $WEB_MAC $IP6_WEB
other-1-b1c2d3 $OTHER_MAC $IP6_OTHER
END
    ipv6_flows n2 $GW2_MAC $NODE1_IP6 $IP6_NET1 <<END
client-9-77aa01 $CLIENT2_MAC $IP6_CLIENT2
web-8210-9f3e11 $WEB2_MAC $IP6_WEB2
END
    ipv6_pod client $IP6_CLIENT fd10:10::1 $GW1_MAC \
        "$IP6_WEB $WEB_MAC" "$IP6_OTHER $OTHER_MAC"
    ipv6_pod web $IP6_WEB fd10:10::1 $GW1_MAC \
        "$IP6_CLIENT $CLIENT_MAC" "$IP6_OTHER $OTHER_MAC"
    ipv6_pod other $IP6_OTHER fd10:10::1 $GW1_MAC \
        "$IP6_CLIENT $CLIENT_MAC" "$IP6_WEB $WEB_MAC"
    ipv6_pod web2 $IP6_WEB2 fd10:10:0:1::1 $GW2_MAC "$IP6_CLIENT2 $CLIENT2_MAC"
    ipv6_pod client2 $IP6_CLIENT2 fd10:10:0:1::1 $GW2_MAC "$IP6_WEB2 $WEB2_MAC"
    ipv6_serve web web-7975 $IP6_WEB
    ipv6_serve web2 web-8210 $IP6_WEB2
    ipv6_serve client client-6 $IP6_CLIENT
    ipv6_underlay_ready
}

# ipv6_on NS IFACE: namespaces begin without.
ipv6_on() {
    in_ns "$1" sh -c "echo 0 > /proc/sys/net/ipv6/conf/$2/disable_ipv6"
}

# ipv6_underlay NODE ADDRESS
ipv6_underlay() {
    ipv6_on "$1" br-phy
    in_ns "$1" ip addr add "$2/64" dev br-phy nodad
}

# OVS has to know where the other end is: it learns that from advertisements.
ipv6_underlay_ready() {
    must_wait_for 20 "ping over the underlay" \
        in_ns n1 ping -c 1 -W 1 $NODE2_IP6
    must_wait_for 10 "n1's tunnel neighbour" ipv6_neighbour n1 $NODE2_IP6
    must_wait_for 10 "n2's tunnel neighbour" ipv6_neighbour n2 $NODE1_IP6
}

ipv6_neighbour() {
    appctl "$1" tnl/neigh/show | grep -q "^$2 " \
        || { in_ns "$1" ip -6 neigh flush dev br-phy
             in_ns "$1" ping -c 1 -W 1 "$2"
             false; } >/dev/null 2>&1
}

# ipv6_pod POD ADDRESS GATEWAY MAC "NEIGHBOUR MAC"...
ipv6_pod() {
    local pod=$1 address=$2 gw=$3 mac=$4 neighbour
    shift 4
    ipv6_on "$pod" eth0
    in_ns "$pod" ip addr add "$address/64" dev eth0 nodad
    in_ns "$pod" ip neigh replace "$gw" lladdr "$mac" dev eth0 nud permanent
    in_ns "$pod" ip route add default via "$gw" dev eth0 src "$address"
    for neighbour; do
        in_ns "$pod" ip neigh replace "${neighbour% *}" \
            lladdr "${neighbour#* }" dev eth0 nud permanent
    done
}

# ipv6_serve POD NAME ADDRESS [PORT...]: HTTP on port 80, datagrams on 5353.
ipv6_serve() {
    local pod=$1 name=$2 address=$3
    shift 3
    spawn "$pod.server6" ip netns exec "$(ns "$pod")" \
        "$E2E_PYTHON" "$E2E_SRC/pod-server.py" --name "$name" \
        --bind "$address" "${@:-80}" udp:5353
    must_wait_for 10 "server $name, port ${1:-80}" \
        ipv6_listens "$pod" "$address" "${1:-80}"
}

ipv6_listens() {
    in_ns "$1" ss -Hltn "src [$2]:$3" | grep -q .
}

hex6() {
    "$E2E_PYTHON" -c 'import ipaddress, sys
print("%#x" % int(ipaddress.ip_address(sys.argv[1])))' "$1"
}

# ipv6_endpoint ADDRESS: its flows with NAT.
ipv6_endpoint() {
    local value proto port
    value=$(hex6 "$1")
    while read -r proto port; do
        printf 'table=104,priority=200,%s,xxreg3=%s,reg4=%d/0xffff,actions=' \
            "$proto" "$value" "$port"
        printf 'ct(commit,table=105,zone=%d,nat(dst=[%s]:%d),%s)\n' \
            $IP6_ZONE "$1" "$port" 'exec(set_field:0x10/0x10->ct_mark)'
    done <<END
tcp6 80
udp6 5353
END
}

# ipv6_group PORT: the buckets of both endpoints.
ipv6_group() {
    local address
    for address in $IP6_WEB $IP6_WEB2; do
        printf ',bucket=weight:100,actions=set_field:%s->xxreg3' \
            "$(hex6 $address)"
        printf ',set_field:%d/0xffff->reg4,resubmit(,104)' "$1"
    done
}

# ipv6_flows NODE GATEWAY-MAC PEER PEER-NET: with a line "PORT MAC ADDRESS" for
# each local Pod on stdin.
ipv6_flows() {
    local node=$1 gw=$2 peer=$3 net=$4 port mac address number
    ofctl "$node" add-groups br-int - <<END || fail "$node: can't add groups"
group_id=1,type=select$(ipv6_group 80)
group_id=2,type=select$(ipv6_group 5353)
END
    {
        cat <<END
table=0,priority=60000,ipv6,actions=goto_table:100
table=100,priority=210,ipv6,ipv6_dst=ff00::/8,actions=drop
table=100,priority=200,icmp6,icmp_type=135,actions=drop
table=100,priority=200,icmp6,icmp_type=136,actions=drop
table=100,priority=190,ipv6,in_port=antrea-tun0,actions=set_field:0x201/0x20f->reg0,goto_table:101
table=101,priority=200,ipv6,actions=ct(table=102,zone=$IP6_ZONE,nat)
table=102,priority=200,ct_state=+inv+trk,ipv6,actions=drop
table=102,priority=190,ct_state=-new+trk,ct_mark=0x10/0x10,ipv6,actions=set_field:0x200/0x200->reg0,goto_table:106
table=102,priority=190,ct_state=-new+trk,ct_mark=0/0x10,ipv6,actions=goto_table:106
table=102,priority=0,actions=goto_table:103
table=103,priority=200,tcp6,ipv6_dst=$IP6_SERVICE,tp_dst=80,actions=set_field:0x200/0x200->reg0,group:1
table=103,priority=200,udp6,ipv6_dst=$IP6_SERVICE,tp_dst=5353,actions=set_field:0x200/0x200->reg0,group:2
table=103,priority=200,ipv6,ipv6_dst=$IP6_NOBODY,actions=controller(userdata=04)
table=103,priority=0,actions=goto_table:105
table=105,priority=0,actions=goto_table:106
table=106,priority=200,ipv6,ipv6_dst=$net,actions=dec_ttl,set_field:$gw->eth_src,set_field:$GLOBAL_MAC->eth_dst,set_field:$peer->tun_ipv6_dst,set_field:1->reg1,goto_table:107
table=107,priority=200,ct_state=+new+trk,ct_mark=0/0x10,ipv6,actions=ct(commit,table=108,zone=$IP6_ZONE,exec(move:NXM_NX_REG0[0..3]->NXM_NX_CT_MARK[0..3]))
table=107,priority=0,actions=goto_table:108
table=108,priority=0,actions=output:NXM_NX_REG1[0..15]
END
        ipv6_endpoint $IP6_WEB
        ipv6_endpoint $IP6_WEB2
        while read -r port mac address; do
            number=$(vsctl "$node" get Interface "$port" ofport)
            cat <<END
table=100,priority=190,ipv6,in_port=$port,dl_src=$mac,ipv6_src=$address,actions=set_field:0x3/0xf->reg0,goto_table:101
table=106,priority=210,ipv6,reg0=0x200/0x200,ipv6_dst=$address,actions=dec_ttl,set_field:$gw->eth_src,set_field:$mac->eth_dst,set_field:$number->reg1,goto_table:107
table=106,priority=200,ipv6,ipv6_dst=$address,actions=set_field:$number->reg1,goto_table:107
END
        done
    } > "$E2E_DIR/$node.flows6"
    ofctl "$node" --names add-flows br-int "$E2E_DIR/$node.flows6" \
        || fail "$node: can't add flows"
}

# ipv6_address NS IFACE ADDRESS [GATEWAY]: without any neighbour.
ipv6_address() {
    ipv6_on "$1" "$2"
    in_ns "$1" ip addr add "$3/64" dev "$2" nodad
    [ -z "${4:-}" ] || in_ns "$1" ip -6 route add default via "$4" dev "$2"
}

# ipv6_dual_stack: addresses of IPv6 for the Pods and gateways of cluster_start,
# whose bridges have their flows.
ipv6_dual_stack() {
    local pod name ip gw node
    for pod in "web $IP6_WEB $GW1_IP6" "client $IP6_CLIENT $GW1_IP6" \
               "other $IP6_OTHER $GW1_IP6" "web2 $IP6_WEB2 $GW2_IP6" \
               "client2 $IP6_CLIENT2 $GW2_IP6"; do
        read -r name ip gw <<<"$pod"
        ipv6_address "$name" eth0 "$ip" "$gw"
    done
    ipv6_address n1 antrea-gw0 $GW1_IP6
    ipv6_address n2 antrea-gw0 $GW2_IP6
    for node in n1 n2; do
        in_ns $node sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/forwarding'
    done
    in_ns n1 ip -6 route add $IP6_NET2 via $GW2_IP6 dev antrea-gw0 onlink
    in_ns n2 ip -6 route add $IP6_NET1 via $GW1_IP6 dev antrea-gw0 onlink
    ipv6_serve web web-7975 $IP6_WEB
    ipv6_serve web2 web-8210 $IP6_WEB2
    ipv6_serve client client-6 $IP6_CLIENT
    # What gateways say about themselves while they come up is over.
    must_wait_for 10 "the gateway over IPv6" \
        in_ns client ping -c 1 -W 1 $GW1_IP6
}

# ipv6_node NODE [ZONE]: its object, with both families.
ipv6_node() {
    local n=${1#n} mac=GW${1#n}_MAC ip=NODE${1#n}_IP ip6=NODE${1#n}_IP6
    local net6=IP6_NET${1#n}
    cat <<END
---
apiVersion: v1
kind: Node
metadata:
  name: $(node_name "$1")
  annotations: {node.antrea.io/mac-address: '${!mac}'}
  labels: {topology.kubernetes.io/zone: '${2:-}'}
spec:
  podCIDR: 10.10.$((n - 1)).0/24
  podCIDRs: [10.10.$((n - 1)).0/24, '${!net6}']
status: {addresses: [{type: InternalIP, address: ${!ip}}, {type: InternalIP, address: '${!ip6}'}]}
END
}

# ipv6_pod_object NAME APP NODE IP IP6
ipv6_pod_object() {
    cat <<END
---
apiVersion: v1
kind: Pod
metadata: {name: $1, namespace: default, labels: {app: $2}}
spec: {nodeName: $(node_name "$3")}
status: {podIP: $4, podIPs: [{ip: $4}, {ip: '$5'}]}
END
}

# ipv6_objects: Nodes and Pods of cluster_start, with both families.
ipv6_objects() {
    CLUSTER_SERVICE_CIDR=10.96.0.0/12,fd10:96::/112
    { ipv6_node n1
      ipv6_node n2
      ipv6_pod_object web-7975 web n1 10.10.0.24 $IP6_WEB
      ipv6_pod_object client-6 client n1 10.10.0.26 $IP6_CLIENT
      ipv6_pod_object other-1 other n1 10.10.0.27 $IP6_OTHER
      ipv6_pod_object web-8210 web n2 10.10.1.6 $IP6_WEB2
      ipv6_pod_object client-9 other n2 10.10.1.7 $IP6_CLIENT2
    } > "$E2E_DIR/cluster.yaml"
    cluster_apply "$E2E_DIR/cluster.yaml"
}

# ipv6_outside [VIP...]: what cluster_external and cluster_host do, for IPv6.  VIPs
# are announced by node 1.
ipv6_outside() {
    local n own vip
    ipv6_address ext ext1 $EXT_IP6
    ipv6_address ext ext2 2001:db8:2::10
    for n in 1 2; do
        own=NODE${n}_IP6
        ipv6_underlay n$n ${!own}
        ipv6_on n$n lo
        ipv6_address n$n uplink0 2001:db8:$n::1
        in_ns n$n ip neigh replace fc01::aabb:ccdd:eeff lladdr $GLOBAL_MAC \
            dev antrea-gw0 nud permanent
        in_ns n$n ip -6 route add fc01::aabb:ccdd:eeff dev antrea-gw0
        for vip in fc01::aabb:ccdd:eefe fd10:96::/112 "$@"; do
            in_ns n$n ip -6 route add "$vip" via fc01::aabb:ccdd:eeff \
                dev antrea-gw0 onlink
        done
        in_ns n$n nft -f - <<END || fail "n$n: can't set up NAT"
table ip6 antrea {
    chain prerouting {
        type nat hook prerouting priority dstnat
        ip6 daddr ${!own} tcp dport 30000-30010 dnat to fc01::aabb:ccdd:eefe
    }
    chain output {
        type nat hook output priority -100
        ip6 daddr ${!own} tcp dport 30000-30010 dnat to fc01::aabb:ccdd:eefe
    }
    chain postrouting {
        type nat hook postrouting priority srcnat
        ip6 saddr fd10:10::/32 oifname != "antrea-gw0" masquerade
        ip6 saddr fc01::aabb:ccdd:eeff masquerade
        oifname "antrea-gw0" ip6 saddr != fd10:10::/32 fib saddr type local masquerade
    }
}
END
    done
    for vip in $NODE1_IP6 "$@"; do
        in_ns ext ip -6 route add "$vip" via 2001:db8:1::1 src $EXT_IP6
    done
    in_ns ext ip -6 route add $NODE2_IP6 via 2001:db8:2::1 src 2001:db8:2::10
}
