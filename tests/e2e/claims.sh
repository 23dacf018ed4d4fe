# SPDX-License-Identifier: Apache-2.0
#
# What the cluster of cluster.sh must show, claim by claim.  Every function
# c_* prints what it saw, the summary as its last line, and returns 0 only if
# the claim holds.  The demo makes a table of them, the tests assert them.

# Addresses of the sample Services.
SVC_CLUSTERIP=10.105.31.235
SVC_NO_ENDPOINT=10.101.255.29
SVC_AFFINITY=10.96.76.15
SVC_UDP=10.96.0.53
SVC_HOST=10.96.77.102
SVC_LB=192.168.77.150
SVC_LB_LOCAL=192.168.77.151
SVC_EXTERNALIP=192.168.77.200
NODEPORT=30004

# claim_holds TEXT CMD...: for tests.
claim_holds() {
    local text=$1 seen
    shift
    seen=$("$@" 2>&1) || fail "$text: $seen"
    say "ok - $text: $(printf '%s' "$seen" | tail -n 1)"
}

# --- Services ---------------------------------------------------------------

# summary COUNTS: "COUNT NAME CLIENT" lines on one line.
summary() {
    printf '%s\n' "$1" | awk '{ printf "%s%s x%d (from %s)", sep, $2, $1, $3
                                sep = ", " } END { print "" }'
}

# Both web Pods answered, each a fair share, and nothing failed.  With 40
# requests a fair coin gives one side less than 4 once in 50 million runs.
c_balanced() {          # NS URL
    local counts
    counts=$(fetch_many "$1" "$2" 40)
    summary "$counts"
    printf '%s\n' "$counts" | awk '
        { n[$2] += $1; all += $1 }
        END { exit !(all == 40 && n["web-7975"] + n["web-8210"] == 40 \
                     && n["web-7975"] >= 4 && n["web-8210"] >= 4) }'
}

# Both answered; the local one sees the client, the remote one node 1's
# gateway (SNAT, so that the answer comes back the same way).
c_from_outside() {      # URL
    local counts
    counts=$(fetch_many ext "$1" 40)
    summary "$counts"
    printf '%s\n' "$counts" | awk -v ext="$EXT_IP" '
        { n[$2 " " $3] += $1 }
        END { local = n["web-7975 " ext]; remote = n["web-8210 10.10.0.1"]
              exit !(local + remote == 40 && local >= 4 && remote >= 4) }'
}

c_pod_to_pod_remote() {
    local answer
    answer=$(get client http://10.10.1.6/)
    say "$answer"
    case $answer in
    "web-8210 10.10.0.26 "*) return 0 ;;
    esac
    return 1
}

c_clusterip() {
    c_balanced client "http://$SVC_CLUSTERIP/" || return 1
    c_balanced client2 "http://$SVC_CLUSTERIP/"
}

c_clusterip_from_node() {
    c_balanced n1 "http://$SVC_CLUSTERIP/"
}

c_nodeport_outside() {
    c_from_outside "http://$NODE1_IP:$NODEPORT/"
}

c_nodeport_second_node() {
    local counts
    counts=$(fetch_many ext "http://$NODE2_IP:$NODEPORT/" 40)
    summary "$counts"
    printf '%s\n' "$counts" | awk '
        { n[$2 " " $3] += $1 }
        END { local = n["web-8210 198.51.100.10"]
              remote = n["web-7975 10.10.1.1"]
              exit !(local + remote == 40 && local >= 4 && remote >= 4) }'
}

c_nodeport_pod() {
    c_balanced client "http://$NODE1_IP:$NODEPORT/"
}

c_loadbalancer() {
    c_from_outside "http://$SVC_LB/"
}

c_externalip() {
    c_from_outside "http://$SVC_EXTERNALIP/"
}

# externalTrafficPolicy Local: from outside only the endpoint of this node,
# with the client's own address.
c_local_outside() {
    local counts
    counts=$(fetch_many ext "http://$SVC_LB_LOCAL/" 20)
    summary "$counts"
    [ "$counts" = "20 web-7975 $EXT_IP" ]
}

c_local_pod() {
    c_balanced client "http://$SVC_LB_LOCAL/"
}

# Stock OVS leaves UDP ports out of the hash that chooses an endpoint, so that
# balance isn't a promise here: every datagram is answered by a web Pod.
c_udp() {
    local counts
    counts=$(fetch_many client "udp://$SVC_UDP:53" 20
             fetch_many client2 "udp://$SVC_UDP:53" 20)
    summary "$counts"
    printf '%s\n' "$counts" | awk '
        $2 ~ /^web-(7975|8210)$/ { n += $1 }
        END { exit n != 40 }'
}

# All connections of one client go to one endpoint, and the flow that was
# learned for it says so.
c_affinity() {
    local counts learned
    # Stock OVS goes on by its cache until that is revalidated.
    [ "$ADP_DP_TYPE" = antrea ] || stock_warm_affinity
    counts=$(fetch_many client "http://$SVC_AFFINITY/" 20)
    wait_for 5 "the learned flow" learned_flow n1 10.10.0.26 || return 1
    learned=$(ofctl n1 --names --no-stats dump-flows br-int \
              "table=SessionAffinity" | grep -c 'nw_src=10.10.0.26,')
    say "$(summary "$counts"), $learned learned flow"
    [ "$learned" = 1 ] && printf '%s\n' "$counts" | awk '
        END { exit !(NR == 1 && $1 == 20 && $2 ~ /^web-/) }'
}

learned_flow() {
    ofctl "$1" --names --no-stats dump-flows br-int table=SessionAffinity \
        | grep -q "nw_src=$2,nw_dst=$SVC_AFFINITY"
}

stock_warm_affinity() {
    get client "http://$SVC_AFFINITY/" >/dev/null
    wait_for 5 "the learned flow" learned_flow n1 10.10.0.26
    appctl n1 revalidator/wait
}

# A Pod that reaches itself through the Service sees the gateway's IP.
c_hairpin_pod() {
    local counts
    counts=$(fetch_many web "http://$SVC_CLUSTERIP/" 40)
    summary "$counts"
    printf '%s\n' "$counts" | awk '
        { n[$2 " " $3] += $1 }
        END { self = n["web-7975 10.10.0.1"]; other = n["web-8210 10.10.0.24"]
              exit !(self + other == 40 && self >= 4 && other >= 4) }'
}

# An endpoint in the host's network, asked from outside the bridge, sees the
# virtual Service IP.
c_hairpin_gateway() {
    local answer
    answer=$(get n1 "http://$SVC_HOST/")
    say "$answer"
    case $answer in
    "host-n1 169.254.0.253 "*) return 0 ;;
    esac
    return 1
}

c_no_endpoint() {
    local answer
    answer=$(in_ns client "$E2E_PYTHON" "$E2E_SRC/refused.py" tcp \
             $SVC_NO_ENDPOINT 80 2>&1)
    say "$answer"
    [ "$answer" = "ECONNREFUSED: TCP RST|ACK, ttl 128" ]
}

# --- policies ---------------------------------------------------------------

# Each request is NS>URL:  c_reach allowed|denied REQUEST...
c_reach() {
    local want=$1 request where url seen=
    shift
    for request in "$@"; do
        where=${request%%>*}
        url=${request#*>}
        if [ "$want" = allowed ]; then
            get "$where" "http://$url" >/dev/null || {
                say "$where to $url: no answer"
                return 1
            }
        else
            cannot_get "$where" "http://$url" || {
                say "$where to $url: answered"
                return 1
            }
        fi
        seen+="${seen:+, }$where to $url"
    done
    say "$seen"
}

c_policy_allows() {
    c_reach allowed 'client>10.10.0.24/' 'client2>10.10.0.24/' \
        'client>10.10.1.6/' 'web>10.10.0.25:3306/' 'other>10.10.0.25:3306/'
}

c_policy_allows_service() {
    c_balanced client "http://$SVC_CLUSTERIP/"
}

c_policy_denies_ingress() {
    c_reach denied 'other>10.10.0.24/' 'other>10.10.1.6/' \
        'client>10.10.0.24:8080/' "ext>$SVC_LB/"
}

c_policy_denies_egress() {
    c_reach denied 'web>10.10.0.26/' 'web2>10.10.0.27/'
}

# expect_line NAME REGEX: a line of the file $LOG, without its time, that is there
# by and by.
expect_line() {
    must_wait_for 10 "$1" grep -qE "^[0-9/]{10} [0-9:]{8}\.[0-9]{6} $2\$" "$LOG"
    say "ok - $1"
}

# A packet from PORT: TCP to IP:DPORT, as `trace` wants it.
trace_tcp() {           # NODE PORT SRC-MAC SRC DST-MAC DST DPORT
    dpctl "$1" trace --in-port "$2" "tcp,dl_src=$3,dl_dst=$5,nw_src=$4,nw_dst=$6,tp_src=40000,tp_dst=$7,nw_ttl=64,tcp_flags=syn"
}

# The trace of a packet from Pod other to Pod web ends in a drop and names the
# policy.
c_trace_denied() {      # REGEX
    local text
    text=$(trace_tcp n1 other-1-b1c2d3 0a:58:0a:0a:00:1b 10.10.0.27 \
           $WEB_MAC 10.10.0.24 80) || { say "$text"; return 1; }
    say "$text"
    printf '%s\n' "$text" | grep -iE "$1" | tail -n 1 | sed 's/^ *//' \
        | grep .
}

# --- counters ---------------------------------------------------------------

# flow_packets NODE TABLE REGEX: sum of n_packets of the flows of TABLE that
# look like REGEX.
flow_packets() {
    ofctl "$1" --names dump-flows br-int "table=$2" \
        | grep -E -- "$3" \
        | sed -n 's/.*n_packets=\([0-9]*\).*/\1/p' \
        | awk '{ n += $1 } END { print n + 0 }'
}

# flow_count_is NODE TABLE REGEX N: for wait_for, since counters are pushed
# into OpenFlow's once a second.
flow_count_is() {
    [ "$(flow_packets "$1" "$2" "$3")" = "$4" ]
}

# What passed before has been counted: for longer than it takes to push
# counters, those of a table stay as they are.
table_is_still() {      # NODE TABLE
    local was
    was=$(flow_packets "$1" "$2" .)
    sleep 1.5
    [ "$(flow_packets "$1" "$2" .)" = "$was" ]
}

# Ten pings from one Pod to another: ten packets more in the flow of either.
c_flow_counters() {
    local client web
    wait_for 30 "a quiet moment" table_is_still n1 Classifier || return 1
    client=$(flow_packets n1 Classifier 'in_port="client-6')
    web=$(flow_packets n1 Classifier 'in_port="web-7975')
    in_ns client ping -q -c 10 -i 0.02 -W 2 10.10.0.24 >/dev/null || return 1
    wait_for 5 "10 requests" flow_count_is n1 Classifier 'in_port="client-6' \
        $((client + 10)) || return 1
    wait_for 5 "10 answers" flow_count_is n1 Classifier 'in_port="web-7975' \
        $((web + 10)) || return 1
    say "10 pings: 10 packets in the client's flow, 10 in the server's"
}

# With the policies in force: every allowed connection counts once as a
# session, its other packets as packets; denied ones count as dropped.
c_metrics() {
    local new0 rest0 drop0
    wait_for 30 "a quiet moment" table_is_still n1 IngressMetric || return 1
    new0=$(flow_packets n1 IngressMetric 'ct_state=\+new')
    rest0=$(flow_packets n1 IngressMetric 'ct_state=-new')
    drop0=$(flow_packets n1 IngressMetric 'actions=drop')
    fetch_many client http://10.10.0.24/ 10 >/dev/null
    # One SYN and no second try.
    in_ns other curl -s --noproxy '*' --local-port "$(next_ports 1)" \
        --connect-timeout 0.5 -o /dev/null http://10.10.0.24/ && return 1
    wait_for 5 "10 more sessions" flow_count_is n1 IngressMetric \
        'ct_state=\+new' $((new0 + 10)) || return 1
    wait_for 5 "1 more denied packet" flow_count_is n1 IngressMetric \
        'actions=drop' $((drop0 + 1)) || return 1
    rest0=$(($(flow_packets n1 IngressMetric 'ct_state=-new') - rest0))
    say "10 sessions, $rest0 packets after the first, 1 denied"
    [ "$rest0" -gt 10 ]
}

# json_get PATH...: members of the JSON text on stdin.
json_get() {
    "$E2E_PYTHON" "$E2E_SRC/json-get.py" "$@"
}

# stat_of NODE PATH: one of the counters of `antrea-dpctl stats`.
stat_of() {
    dpctl "$1" stats -o json | json_get "$2"
}

# walks_of NODE: packets that walked the tables, which replays are counted among.
walks_of() {
    dpctl "$1" stats -o json | "$E2E_PYTHON" -c '
import json, sys
stats = json.load(sys.stdin)
print(stats["packets"]["decides"] - stats["cache"]["replays"])'
}

# c_no_ip_punt NODE: nothing of IP left the compiled pipeline, and a lot of it
# passed there.
c_no_ip_punt() {
    local punts handled
    punts=$(stat_of "$1" punts.ip) && handled=$(stat_of "$1" packets.handled) \
        || { say "no counters: $punts $handled"; return 1; }
    say "$handled packets handled, $punts punts of IP packets"
    [ "$punts" = 0 ] && [ "$handled" -gt 100 ]
}

# assert_no_punts NODE [REASON...]: nothing of IP left the compiled pipeline but ICMP
# errors, what must stay behind them, what waits for a tunnel's neighbour, and what
# was punted for REASON.
assert_no_punts() {
    local out
    out=$(dpctl "$1" stats -o json | "$E2E_PYTHON" -c '
import json, sys
punts = json.load(sys.stdin)["punts"]
others = {"icmp-error", "behind", "tunnel", *sys.argv[1:]}
# These may be ARP.
known = others | {"normal", "ip", "total"}
wrong = {name: n for name, n in punts.items() if n and name not in known}
total = sum(n for name, n in punts.items() if name in others)
print(*("%s %d" % item for item in wrong.items()), end="")
if punts["ip"] > total + sum(wrong.values()):
    print("%d of IP, not all of them for a reason that is known" % punts["ip"])
' "${@:2}") || fail "$1: no counters"
    assert_eq "$1: nothing of IP was punted" "" "$out"
}

# pmd_stat NODE REGEX: a counter of pmd-stats-show, over all threads.
pmd_stat() {
    appctl "$1" dpif-netdev/pmd-stats-show \
        | sed -n "s/^  $2: *\([0-9]*\).*/\1/p" \
        | awk '{ n += $1 } END { print n + 0 }'
}

# c_pmd_stats NODE: the PMD's own counters know of the compiled pipeline, and
# every pass of a packet is counted in exactly one line of them.
c_pmd_stats() {
    local all name rx recirc compiled sum=0
    # One snapshot: traffic that nobody asked for may pass in between.
    all=$(appctl "$1" dpif-netdev/pmd-stats-show)
    pmd_sum() {
        printf '%s\n' "$all" | sed -n "s/^  $1: *\([0-9]*\).*/\1/p" \
            | awk '{ n += $1 } END { print n + 0 }'
    }
    rx=$(pmd_sum 'packets received')
    recirc=$(pmd_sum 'packet recirculations')
    compiled=$(pmd_sum 'compiled pipeline hits')
    for name in 'phwol hits' 'simple match hits' 'emc hits' \
        'smc hits' 'megaflow hits' 'compiled pipeline hits' \
        'miss with success upcall' 'miss with failed upcall'; do
        sum=$((sum + $(pmd_sum "$name")))
    done
    say "$rx received, $recirc again, $compiled in the compiled pipeline"
    [ "$compiled" -gt 100 ] && [ "$sum" = $((rx + recirc)) ]
}

# c_no_megaflow NODE: the stock cache holds nothing for Pod traffic: no flow
# of IP that came in on a port of br-int or out of a tunnel.
c_no_megaflow() {
    local flows ports bad
    ports=$(appctl "$1" dpif/show | awk '
        /^ *br-/ { br = $1 }
        br == "br-int:" && /^ +[^ ]+ [0-9]+\/[0-9]+:/ {
            split($2, n, "/"); sub(":", "", n[2]); print n[2] }' | sort -u \
        | paste -sd '|')
    flows=$(appctl "$1" dpctl/dump-flows -m 2>/dev/null) || return 1
    bad=$(printf '%s\n' "$flows" | grep -E 'eth_type\(0x0800' \
          | grep -E "in_port\(($ports)\)|tunnel\(|in_port\((antrea|client|web|db|other)")
    if [ -n "$bad" ]; then
        say "$bad"
        say "$(printf '%s\n' "$bad" | wc -l) megaflows for Pod traffic"
        return 1
    fi
    say "none among $(printf '%s\n' "$flows" | grep -c recirc_id) megaflows"
}
