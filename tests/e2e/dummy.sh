# SPDX-License-Identifier: Apache-2.0
#
# Nodes whose ports are of upstream's types dummy and dummy-pmd: no DPDK, no
# veth, no traffic but what a test injects.  Bridges of type antrea live on the
# datapath type dummy then, and share it with stock bridges of that type; local
# ports have no device.  Read after lib.sh; vsctl, ofctl, appctl and dpctl work
# on them as on those of node.sh.
#
#     dummy_start n1
#     vsctl n1 add-br br-int -- ... -- add-port br-int p1 ...
#     inject n1 p1 "$(packet 'tcp,nw_src=10.0.0.1,...')"
#     assert_eq "what left" 1 "$(sent n1 br-int p2)"

# dummy_start NODE: database and daemon, in a namespace of their own.
dummy_start() {
    node_database "$1"
    vsctl "$1" --no-wait init -- set Open_vSwitch . \
        other_config:pmd-maxsleep=1000 \
        other_config:antrea-dp-shadow="$ADP_SHADOW" \
        || fail "$1: can't configure the database"
    dummy_run_vswitchd "$1"
}

dummy_run_vswitchd() {
    node_spawn_vswitchd "$1" --enable-dummy --disable-system
    must_wait_for 20 "$1: ovs-vswitchd" appctl "$1" version
    must_wait_for 20 "$1: the control socket" \
        test -S "$E2E_DIR/$1/antrea-dp.sock"
}

# dummy_port NAME NUMBER: arguments for vsctl, which add the port to br-int.
dummy_port() {
    printf -- '-- add-port br-int %s -- set Interface %s type=dummy ofport_request=%s ' \
        "$1" "$1" "$2"
}

# dummy_capture NODE FOLDER PORT...: from now on FOLDER, which is new, has what each
# port sends as PORT.pcap.
dummy_capture() {
    local node=$1 folder=$2 port
    shift 2
    mkdir -p "$folder"
    for port in "$@"; do
        vsctl "$node" set Interface "$port" options:tx_pcap="$folder/$port.pcap"
    done
}

# packet FLOW [PAYLOAD]: a packet with the flow's headers, in hexadecimal.
packet() {
    ovs-ofctl compose-packet "$@" | sed 's/^[0-9a-f]* //' | tr -d ' \n-'
}

# inject NODE PORT PACKET...: returns when they were received; what the main
# thread polls has been handled by then.
inject() {
    local node=$1 port=$2
    shift 2
    appctl "$node" netdev-dummy/receive "$port" "$@" \
        || fail "can't inject into $port"
    appctl "$node" version > /dev/null
}

# sent NODE BRIDGE PORT: how many packets left through the port.
sent() {
    ofctl "$1" dump-ports "$2" "$3" \
        | sed -n 's/^ *tx pkts=\([0-9]*\),.*/\1/p'
}

# coverage NODE COUNTER: an event counter of the daemon.
coverage() {
    appctl "$1" coverage/read-counter "$2"
}
