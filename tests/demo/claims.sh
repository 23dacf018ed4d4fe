# SPDX-License-Identifier: Apache-2.0
#
# The lines of the demo's table, in order (read by demo.sh).

claims_services() {
    claim "Pod to Pod on the other Node, over Geneve" c_pod_to_pod_remote
    claim "ClusterIP from Pods: both endpoints, balanced" c_clusterip
    claim "ClusterIP from a Node's own process" c_clusterip_from_node
    claim "NodePort from outside, through Node 1" c_nodeport_outside
    claim "NodePort from outside, through Node 2" c_nodeport_second_node
    claim "NodePort from a Pod" c_nodeport_pod
    claim "LoadBalancer IP from outside, across Nodes" c_loadbalancer
    claim "External IP from outside, across Nodes" c_externalip
    claim "externalTrafficPolicy Local: this Node's endpoint only" \
        c_local_outside
    claim "externalTrafficPolicy Local: a Pod reaches all endpoints" \
        c_local_pod
    claim "UDP Service from a Pod" c_udp
    claim "Session affinity: one client, one endpoint" c_affinity
    claim "A Pod reaches itself through the Service (hairpin)" c_hairpin_pod
    claim "Endpoint in the host network (hairpin at the gateway)" \
        c_hairpin_gateway
}

claims_network_policy() {
    # A connection that the policy would deny, opened before it exists.
    hold_open other http://10.10.0.24/
    claim "Connection opened before the policy works" c_held
    load_policy networkpolicy.yaml
    claim "K8s NetworkPolicy: the next connection is denied" \
        c_reach denied 'other>10.10.0.24/'
    claim "K8s NetworkPolicy: the established connection lives on" c_held
    claim "K8s NetworkPolicy: what it allows" c_policy_allows
    claim "K8s NetworkPolicy: what it denies at the server" \
        c_policy_denies_ingress
    claim "K8s NetworkPolicy: what it denies at the client" \
        c_policy_denies_egress
    claim "Trace of a denied packet says why" \
        c_trace_denied 'dropped in table IngressDefaultRule.*NetworkPolicy'
}

claims_cluster_network_policy() {
    load_policy clusternetworkpolicy.yaml
    claim "ClusterNetworkPolicy: the established connection lives on" c_held
    claim "ClusterNetworkPolicy: what it allows" c_policy_allows
    claim "ClusterNetworkPolicy: client to the Service, both endpoints" \
        c_policy_allows_service
    claim "ClusterNetworkPolicy: what it denies at the server" \
        c_policy_denies_ingress
    claim "ClusterNetworkPolicy: what it denies at the client" \
        c_policy_denies_egress
    claim "Trace of a denied packet names the rule (Drop)" c_trace_denied \
        'denied by ClusterNetworkPolicy web-app-db-network-policy.*Drop'
    claim "Its walk shows the rule's flows, table by table" c_walk_end
    show_walk_end
    claim "Policy metrics count sessions, packets and denied ones" c_metrics
}

claims_policy_gone() {
    cluster_delete "$CLUSTER_MANIFESTS/networkpolicy.yaml" \
        "$CLUSTER_MANIFESTS/clusternetworkpolicy.yaml"
    claim "Without policies everybody reaches everybody again" \
        c_reach allowed 'other>10.10.0.24/' 'other>10.10.1.6/' \
        'client>10.10.0.24:8080/' "ext>$SVC_LB/" 'web>10.10.0.26/'
    claim "The connection from the beginning still lives" c_held
    hold_close
}

claims_counters() {
    claim "tcpdump: DNAT, MACs, TTL, Geneve, SNAT as documented" c_headers
    claim "dump-flows counts every packet that passed" c_flow_counters
    claim "Node 1: no IP packet took the stock path" c_no_ip_punt n1
    claim "Node 2: no IP packet took the stock path" c_no_ip_punt n2
    claim "Node 1: no megaflow for Pod traffic" c_no_megaflow n1
    claim "Node 2: no megaflow for Pod traffic" c_no_megaflow n2
    claim "pmd-stats-show counts the packets of the compiled pipeline" \
        c_pmd_stats n1
    # Last, since it is a packet-in by nature and counts as such.
    claim "A Service without endpoints refuses at once" c_no_endpoint
}

# walk_end: what the walk of a denied packet says from the policies' tables on.
walk_end() {
    trace_tcp n1 other-1-b1c2d3 0a:58:0a:0a:00:1b 10.10.0.27 \
        $WEB_MAC 10.10.0.24 80 2>&1 \
        | sed -n '/^ *Table [0-9]* AntreaPolicyIngressRule/,$p'
}

# Where the rule's flow was hit and where its packets are counted and dropped, in that
# order.
c_walk_end() {
    local text tables
    text=$(walk_end)
    say "$text"
    tables=$(printf '%s\n' "$text" \
        | sed -n 's/^ *Table [0-9]* \([A-Za-z]*\).*/\1/p' | xargs)
    printf '%s\n' "$text" | grep -q 'conj_id=' || return 1
    say "$tables"
    [ "$tables" = "AntreaPolicyIngressRule IngressMetric" ]
}

show_walk_end() {
    printf '\n    $ antrea-dpctl trace --in-port other-1-b1c2d3 tcp,...,%s\n' \
        "nw_src=10.10.0.27,nw_dst=10.10.0.24,tp_dst=80"
    walk_end | sed 's/^/    /'
    printf '\n'
}

# The file that holds the policy, or a wrong one where the user wants to see
# the demo fail.
load_policy() {
    local file=$CLUSTER_MANIFESTS/$1
    if [ "${ADP_DEMO_BREAK:-}" = policy ]; then
        sed 's/app: client/app: nobody/' "$file" > "$E2E_DIR/$1"
        file=$E2E_DIR/$1
    fi
    cluster_apply "$file"
}

# The held connection still reaches the same server.
c_held() {
    local answer
    answer=$(hold_ask)
    say "$answer"
    case $answer in
    "web-7975 10.10.0.27 "*) return 0 ;;
    esac
    return 1
}
