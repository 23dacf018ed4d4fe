# SPDX-License-Identifier: Apache-2.0
#
# What tcpdump must see in the Pods and on the underlay (needs cluster.sh and
# claims.sh).  Packets that a node sends leave it by a packet socket that
# bypasses its own captures: the underlay is watched at the receiving end,
# under2 for node 1's packets, under1 for node 2's.

# expect_packet CAPTURE WHAT REGEX: WHAT was caught (within a few seconds).
# REGEX matches one line of capture_show.
expect_packet() {
    wait_for 5 "$2" capture_has "$1" "$3" || {
        say "not in the capture '$1': $2 (/$3/). It has:"
        capture_show "$1" | head -n 8
        return 1
    }
}

headers_watch() {
    capture_start client client eth0 tcp
    capture_start web web eth0 tcp
    capture_start web2 web2 eth0 tcp
    capture_start under1 n1 under1 udp port 6081
    capture_start under2 n2 under2 udp port 6081
}

headers_unwatch() {
    local name
    for name in client web web2 under1 under2; do
        capture_stop "$name"
    done
}

eth() {         # SRC DST: the link-level part of a line
    printf '%s > %s, ethertype IPv4' "$1" "$2"
}

GENEVE_1_2='192\.168\.77\.102\.[0-9]+ > 192\.168\.77\.103\.6081: Geneve.* '
GENEVE_2_1='192\.168\.77\.103\.[0-9]+ > 192\.168\.77\.102\.6081: Geneve.* '

# Pod client on node 1 asks Pod web on node 2 directly: at every hop MACs, TTL
# and tunnel as in the document.
h_remote_pod() {
    local mine='10\.10\.0\.26\.[0-9]+' peer='10\.10\.1\.6\.80'
    get client http://10.10.1.6/ >/dev/null || return 1
    expect_packet client "the request as the Pod sends it" \
        "$(eth $CLIENT_MAC $GW1_MAC).*ttl 64,.* $mine > $peer: Flags \[S\]" &&
    expect_packet under2 "the request in Geneve to the peer's transport IP" \
        "$GENEVE_1_2$(eth $GW1_MAC $GLOBAL_MAC).*ttl 63,.* $mine > $peer: Flags \[S\]" &&
    expect_packet web2 "the request as the remote Pod gets it" \
        "$(eth $GW2_MAC $WEB2_MAC).*ttl 62,.* $mine > $peer: Flags \[S\]" &&
    expect_packet under1 "the answer in Geneve" \
        "$GENEVE_2_1$(eth $GW2_MAC $GLOBAL_MAC).*ttl 63,.* $peer > $mine: Flags \[S\.\]" &&
    expect_packet client "the answer as the Pod gets it" \
        "$(eth $GW1_MAC $CLIENT_MAC).*ttl 62,.* $peer > $mine: Flags \[S\.\]" &&
    say "TTL 64, 63 in Geneve .102 > .103 to $GLOBAL_MAC, 62 at the Pod"
}

# Between Pods of one node nothing is rewritten.
h_local_pod() {
    local mine='10\.10\.0\.26\.[0-9]+' peer='10\.10\.0\.24\.80'
    get client http://10.10.0.24/ >/dev/null || return 1
    expect_packet web "the request, untouched" \
        "$(eth $CLIENT_MAC $WEB_MAC).*ttl 64,.* $mine > $peer: Flags \[S\]" &&
    expect_packet client "the answer, untouched" \
        "$(eth $WEB_MAC $CLIENT_MAC).*ttl 64,.* $peer > $mine: Flags \[S\.\]"
}

# A Service: the client only ever sees its address, the endpoints only theirs.
h_service() {
    local mine='10\.10\.0\.26\.[0-9]+' svc='10\.105\.31\.235\.80'
    fetch_many client "http://$SVC_CLUSTERIP/" 20 >/dev/null
    expect_packet client "the request to the ClusterIP" \
        "$(eth $CLIENT_MAC $GW1_MAC).* $mine > $svc: Flags \[S\]" &&
    expect_packet web "DNAT to the local endpoint" \
        "$(eth $GW1_MAC $WEB_MAC).*ttl 63,.* $mine > 10\.10\.0\.24\.80: Flags \[S\]" &&
    expect_packet client "the local endpoint's answer from the ClusterIP" \
        "$(eth $GW1_MAC $CLIENT_MAC).*ttl 63,.* $svc > $mine: Flags \[S\.\]" &&
    expect_packet under2 "DNAT to the remote endpoint, in Geneve" \
        "$GENEVE_1_2$(eth $GW1_MAC $GLOBAL_MAC).*ttl 63,.* $mine > 10\.10\.1\.6\.80: Flags \[S\]" &&
    expect_packet client "the remote endpoint's answer from the ClusterIP" \
        "$(eth $GW1_MAC $CLIENT_MAC).*ttl 62,.* $svc > $mine: Flags \[S\.\]" &&
    ! capture_has web2 ' 10\.105\.31\.235\.' &&
    say "ClusterIP becomes 10.10.0.24 or 10.10.1.6 and back"
}

# A client from outside whose endpoint is on the other node: node 1's gateway
# IP is the source on the way there.
h_snat() {
    fetch_many ext "http://$SVC_LB/" 20 >/dev/null
    expect_packet under2 "SNAT to the gateway's IP, in Geneve" \
        "$GENEVE_1_2$(eth $GW1_MAC $GLOBAL_MAC).* 10\.10\.0\.1\.[0-9]+ > 10\.10\.1\.6\.80: Flags \[S\]" &&
    expect_packet web "no SNAT to the local endpoint" \
        "$(eth $GW1_MAC $WEB_MAC).* 192\.0\.2\.10\.[0-9]+ > 10\.10\.0\.24\.80: Flags \[S\]" &&
    say "10.10.0.1 to the remote endpoint, 192.0.2.10 to the local one"
}

# A Pod that is its own endpoint sends to the Service and gets it back from
# the gateway's IP, on the same port.
h_hairpin_pod() {
    local svc='10\.105\.31\.235\.80' self='10\.10\.0\.24'
    fetch_many web "http://$SVC_CLUSTERIP/" 20 >/dev/null
    expect_packet web "the request to the Service" \
        "$(eth $WEB_MAC $GW1_MAC).* $self\.[0-9]+ > $svc: Flags \[S\]" &&
    expect_packet web "the same, back with the gateway's IP as source" \
        "$(eth $GW1_MAC $WEB_MAC).* 10\.10\.0\.1\.[0-9]+ > $self\.80: Flags \[S\]" &&
    expect_packet web "the server's answer to the gateway's IP" \
        "$(eth $WEB_MAC $GW1_MAC).* $self\.80 > 10\.10\.0\.1\.[0-9]+: Flags \[S\.\]" &&
    expect_packet web "which comes back from the Service" \
        "$(eth $GW1_MAC $WEB_MAC).* $svc > $self\.[0-9]+: Flags \[S\.\]" &&
    say "source 10.10.0.1"
}

# An endpoint beyond the gateway: in and out of antrea-gw0, with the virtual
# Service IP as source.
h_hairpin_gateway() {
    local svc='10\.96\.77\.102\.80' host='192\.168\.77\.102\.8081'
    capture_start gw n1 antrea-gw0 tcp
    get n1 "http://$SVC_HOST/" >/dev/null || return 1
    expect_packet gw "the request to the Service" \
        "> $GLOBAL_MAC.* 10\.10\.0\.1\.[0-9]+ > $svc: Flags \[S\]" &&
    expect_packet gw "the same, back from the virtual Service IP" \
        "> $GW1_MAC.* 169\.254\.0\.253\.[0-9]+ > $host: Flags \[S\]" &&
    expect_packet gw "the answer to the virtual Service IP" \
        "> $GLOBAL_MAC.* $host > 169\.254\.0\.253\.[0-9]+: Flags \[S\.\]" &&
    expect_packet gw "which comes back from the Service" \
        "> $GW1_MAC.* $svc > 10\.10\.0\.1\.[0-9]+: Flags \[S\.\]" &&
    say "source 169.254.0.253"
}

# All of it in one line of the demo.
c_headers() {
    headers_watch
    h_service && h_hairpin_pod && h_hairpin_gateway && h_remote_pod
}
