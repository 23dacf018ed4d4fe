# SPDX-License-Identifier: Apache-2.0
#
# Hosts whose bridges give egress IPs: the commands of docs/pipelines.md, "Egress
# IPs" (read after cluster.sh).

# egress_host NODE
egress_host() {
    in_ns "$1" sysctl -qw net.ipv4.ip_forward=1 \
        net.ipv4.conf.antrea-gw0.rp_filter=1
}

# host_has NODE IP UPLINK: answers for the address and sends it to the bridge.
host_has() {
    in_ns "$1" ip route replace "$2/32" dev antrea-gw0
    in_ns "$1" sh -c "echo 0 > /proc/sys/net/ipv4/neigh/$3/proxy_delay"
    in_ns "$1" ip neigh replace proxy "$2" dev "$3"
}

# tunnel_ends_at NODE IP: that other Nodes' packets come to it.
tunnel_ends_at() {
    in_ns "$1" ip addr add "$2/32" dev br-phy
    in_ns "$1" ip route del local "$2" dev br-phy table local
}

host_loses() {          # NODE IP UPLINK
    in_ns "$1" ip neigh del proxy "$2" dev "$3"
    in_ns "$1" ip route del "$2/32" dev antrea-gw0
    in_ns "$1" ip addr del "$2/32" dev br-phy
}
