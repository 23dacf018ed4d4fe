# SPDX-License-Identifier: Apache-2.0
#
# Antrea's agent, as OVS sees it: its transactions with the database in their
# order, and bundles of flows.  The flows are those that a bridge with the built-in
# pipeline has for the same objects.  Read after lib.sh and cluster.sh.
#
#     agent_record n1               # br-int with the built-in pipeline
#     agent_start_ovs n1            # or agent_bridge n1 in a running daemon
#     agent_load n1
#
# A bridge of the agent's has datapath type "system", and so is one of ours with
# other_config:antrea-dp-system.

# agent_record NODE: what is in br-int, into NODE/agent.bundle and agent.meters,
# and what of it punts into agent.punts.
agent_record() {
    local node=$1 d=$E2E_DIR/$1
    agent_bundle "$node" > "$d/agent.bundle"
    agent_meters "$node" > "$d/agent.meters"
    agent_punts "$node" > "$d/agent.punts"
    [ -s "$d/agent.bundle" ] && [ -s "$d/agent.meters" ] \
        || fail "$node: nothing to record"
}

# agent_bundle NODE: groups and flows of br-int, for ovs-ofctl's bundle.  Learned
# flows are packets' work.
agent_bundle() {
    ofctl "$1" dump-groups br-int | sed -n 's/^ *group_id=/group add &/p' | sort
    ofctl "$1" --no-names --no-stats dump-flows br-int | grep actions= \
        | grep -v '_timeout=.*actions=' | sed 's/^ */flow add /' | sort
}

# agent_meters NODE: each on a line, for ovs-ofctl's add-meter.
agent_meters() {
    ofctl "$1" dump-meters br-int | awk '
        /^meter=/ { if (line) print line; gsub(/ /, ","); line = $0; next }
        /^type=/ { gsub(/ /, ","); line = line $0 }
        END { if (line) print line }'
}

# agent_punts NODE: the flows of br-int that punt.
agent_punts() {
    appctl "$1" antrea-dp/program-show br-int | grep -E '^ +punt' | sort
}

# agent_contents NODE: how many flows, groups and meters br-int has.
agent_contents() {
    printf '%s %s %s\n' "$(ofctl "$1" dump-flows br-int | grep -c actions=)" \
        "$(ofctl "$1" dump-groups br-int | grep -c group_id=)" \
        "$(ofctl "$1" dump-meters br-int | grep -c meter=)"
}

# agent_prepare_ovs NODE: what the container tells the daemon before it starts.
agent_prepare_ovs() {
    vsctl "$1" --no-wait set Open_vSwitch . \
        other_config:flow-restore-wait=true || fail "$1: flow-restore-wait"
    vsctl "$1" --no-wait set Open_vSwitch . other_config:hw-offload=false
    vsctl "$1" --no-wait set Open_vSwitch . other_config:max-revalidator=200
    vsctl "$1" --no-wait set Open_vSwitch . other_config:antrea-dp-system=true
}

# agent_flows_restored NODE: the agent has its flows there.
agent_flows_restored() {
    vsctl "$1" remove Open_vSwitch . other_config flow-restore-wait \
        || fail "$1: can't end flow-restore-wait"
}

# agent_bridge NODE: makes br-int, without a port, or has the one that there is be
# the agent's.
agent_bridge() {
    local protocols='[OpenFlow10,OpenFlow15]'
    if vsctl "$1" br-exists br-int; then
        vsctl "$1" set Bridge br-int protocols=$protocols datapath_type=system
    else
        vsctl "$1" -- --id=@br create Bridge name=br-int \
            protocols=$protocols datapath_type=system \
            -- add Open_vSwitch . bridges @br > /dev/null
        vsctl "$1" set Bridge br-int \
            other_config:datapath-id="$(printf '%016x' $((E2E_ID + 1)))"
    fi || fail "$1: can't make br-int"
}

# agent_port NODE PORT IFACE-SETTING...: one port in one transaction, then asks for
# its number until there is one.
agent_port() {
    local node=$1 port=$2
    shift 2
    vsctl "$node" add-port br-int "$port" -- set Interface "$port" "$@" \
        || fail "$node: can't add $port"
    must_wait_for 10 "$node: the number of $port" \
        vsctl "$node" get Interface "$port" ofport
}

# agent_node_ports NODE MAC: tunnel and gateway.
agent_node_ports() {
    agent_port "$1" antrea-tun0 type=geneve ofport_request=1 \
        options:remote_ip=flow options:key=flow options:csum=true \
        -- set Port antrea-tun0 external_ids:antrea-type=tunnel
    agent_port "$1" antrea-gw0 type=internal ofport_request=2 "mac=\"$2\"" \
        -- set Port antrea-gw0 external_ids:antrea-type=gateway
    vsctl "$1" set Interface antrea-gw0 mtu_request=1450
}

# agent_gateway NODE IP/LEN PEER: the gateway's address and the routes by it, which
# went with the port.
agent_gateway() {
    must_wait_for 10 "$1: antrea-gw0" in_ns "$1" ip link show antrea-gw0
    in_ns "$1" ip addr replace "$2" dev antrea-gw0
    in_ns "$1" ip link set antrea-gw0 up
    cluster_host_routes "$1" "$3"
}

# agent_load NODE: meters, then groups and flows in one transaction.
agent_load() {
    local node=$1 d=$E2E_DIR/$1 meter
    while read -r meter; do
        ofctl "$node" add-meter br-int "$meter" || fail "$node: $meter"
    done < "$d/agent.meters"
    ofctl "$node" bundle br-int "$d/agent.bundle" \
        || fail "$node: the bundle was refused"
}
