/* SPDX-License-Identifier: Apache-2.0 */

/* v1.15: where packets go with the flows that records make, those above all
 * that senders make up to get where they shouldn't, and those that meet flows
 * of several kinds of records. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "openvswitch/ofp-table.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "pipeline-builtin.h"
#include "pipeline-world.h"
#include "pipeline.h"
#include "test-run.h"
#include "util.h"

/* The engine's port N is the datapath's N + 100, and its tunnel is 500. */
#define TO_GATEWAY ",102"
#define TO_A ",103"
#define TO_B ",104"
#define TO_CONTROLLER ",userspace(pid=0,controller("
#define TO_L7_ENGINE ",push_vlan(vid=1,pcp=0),105"

#define GATEWAY_MAC "00:00:00:00:00:01"
#define A_MAC "00:00:00:00:00:0a"
#define B_MAC "00:00:00:00:00:0b"
#define VIRTUAL_MAC "aa:bb:cc:dd:ee:ff"

#define DUAL_NODE "{'kind':'NodeConfig','name':'n','gateway':{'port':'gw0'," \
    "'mac':'" GATEWAY_MAC "','ip':['10.0.0.1','fd00::1']}," \
    "'podCIDR':['10.0.0.0/24','fd00::/64'],'transportIP':'192.168.0.1'}"
#define DUAL_PODS "{'kind':'Pod','name':'d/a','port':'a'," \
    "'mac':'" A_MAC "','ips':['10.0.0.10','fd00::a']}," \
    "{'kind':'Pod','name':'d/b','port':'b'," \
    "'mac':'" B_MAC "','ips':['10.0.0.11','fd00::b']}"

#define SERVICE(NAME, MORE, ENDPOINTS) ",{'kind':'Service'," \
    "'name':'" NAME "'," MORE "'ports':[{'port':80,'nodePort':30001," \
    "'endpoints':[" ENDPOINTS "]}]}"
#define POLICY(MORE, RULE) ",{'kind':'NetworkPolicy'," \
    "'name':'AntreaClusterNetworkPolicy:p'," \
    "'type':'AntreaClusterNetworkPolicy','tierPriority':250,'priority':5," \
    MORE "'rules':[" RULE "]}"
#define ISOLATED(GROUP, RULES) ",{'kind':'NetworkPolicy','name':'k'," \
    "'type':'K8sNetworkPolicy','appliedToGroups':['" GROUP "']," \
    "'rules':[{'direction':'In'" RULES "}]}"
#define EGRESS(NODE_NAME) ",{'kind':'Egress','name':'e'," \
    "'appliedToGroups':['a'],'egressIP':'9.9.9.9'," \
    "'egressNode':'" NODE_NAME "'}"

#define A_TO(MAC, IP) "tcp,in_port=3,dl_src=" A_MAC ",dl_dst=" MAC \
    ",nw_src=10.0.0.10,nw_dst=" IP ",nw_ttl=64,tp_src=1000,tp_dst=80"
#define A_RETURNED(MAC, IP) "tcp,in_port=6,dl_vlan=1,dl_src=" A_MAC \
    ",dl_dst=" MAC ",nw_src=10.0.0.10,nw_dst=" IP ",nw_ttl=64,tp_src=1000," \
    "tp_dst=80"

static struct engine *e;

static void
setup(void)
{
    pw_init(adp_pipeline_find("v1.15"));
    pw.ports[PW_TUNNEL].number = 10;
    pw.ports[PW_L7_TARGET].number = 5;
    pw.ports[PW_L7_RETURN].number = 6;
    pw.ports[PW_A].number = 3;
    pw.ports[PW_B].number = 4;
    e = NULL;
}

static void
teardown(void)
{
    if (e) {
        engine_destroy(e);
    }
    pw_uninit();
}

/* Loads the flows of 'records' into a new engine. */
static void
load(const char *records)
{
    struct ofputil_table_map tables;

    if (e) {
        engine_destroy(e);
    }
    e = engine_create();
    e->commits = true;
    generate(records);
    check_set();

    put_table_names(&tables);
    engine_add_flow_set(e, &pw.set, &tables);
    ofputil_table_map_destroy(&tables);
}

static void
expect(const char *packet, const char *verdict)
{
    ck_assert_str_eq(engine_run(e, packet), verdict);
}

/* 'end' is the last thing that is done to the packet. */
static void
expect_end(const char *packet, const char *end)
{
    const char *verdict = engine_run(e, packet);

    ck_assert_msg(strlen(verdict) >= strlen(end)
                  && !strcmp(verdict + strlen(verdict) - strlen(end), end),
                  "%s: %s doesn't end in %s", packet, verdict, end);
}

static void
expect_part(const char *packet, const char *part)
{
    const char *verdict = engine_run(e, packet);

    ck_assert_msg(strstr(verdict, part), "%s: no %s in %s", packet, part,
                  verdict);
}

static void
expect_no_part(const char *packet, const char *part)
{
    const char *verdict = engine_run(e, packet);

    ck_assert_msg(!strstr(verdict, part), "%s: %s in %s", packet, part,
                  verdict);
}

static void
expect_tunnel(const char *packet, uint32_t remote)
{
    expect_end(packet, ",500");
    ck_assert_uint_eq(ntohl(e->flow.tunnel.ip_dst), remote);
}

/* A client outside whose packet the host sends to the bridge. */
#define TO_NODE_PORT "tcp,in_port=2,dl_src=" GATEWAY_MAC ",dl_dst=" \
    VIRTUAL_MAC ",nw_src=192.0.2.9,nw_dst=169.254.0.252,nw_ttl=64," \
    "tp_src=1000,tp_dst=30001"

/* What is to go back by the gateway is denied there as elsewhere. */
START_TEST(denied_on_the_way_back)
{
#define HOST_SERVICE SERVICE("d/s", "", "{'ip':'192.168.0.1','port':8081}")
#define DOORS(RULE) POLICY("'appliedToServices':['d/s'],", \
                           "{'direction':'In'," RULE "}")
    load(BASE HOST_SERVICE);
    expect_part(TO_NODE_PORT, "nat(src=169.254.0.253)");
    expect_end(TO_NODE_PORT, TO_GATEWAY);

    load(BASE HOST_SERVICE DOORS("'action':'Reject'"));
    expect_part(TO_NODE_PORT, TO_CONTROLLER);
    expect_no_part(TO_NODE_PORT, TO_GATEWAY);
    load(BASE HOST_SERVICE DOORS("'action':'Drop','enableLogging':true"));
    expect_part(TO_NODE_PORT, TO_CONTROLLER);
    expect_no_part(TO_NODE_PORT, TO_GATEWAY);
    load(BASE HOST_SERVICE DOORS("'action':'Drop'"));
    expect_no_part(TO_NODE_PORT, TO_GATEWAY);
}
END_TEST

/* A Pod that sends to its neighbour's MAC what routes lead elsewhere. */
START_TEST(isolation_is_by_port)
{
#define A_SENDS(MAC, IP) "udp,in_port=3,dl_src=" A_MAC ",dl_dst=" MAC \
    ",nw_src=10.0.0.10,nw_dst=" IP ",nw_ttl=64,udp_src=1000,udp_dst=53"
#define A_SENDS6(MAC, IP) "udp6,in_port=3,dl_src=" A_MAC ",dl_dst=" MAC \
    ",ipv6_src=fd00::a,ipv6_dst=" IP ",nw_ttl=64,udp_src=1000,udp_dst=53"
    static const char *const packets[] = {
        A_SENDS(B_MAC, "255.255.255.255"), A_SENDS(B_MAC, "224.0.0.1"),
        A_SENDS(B_MAC, "192.0.2.1"), A_SENDS6(B_MAC, "ff02::1"),
        A_SENDS6(B_MAC, "fe80::200:ff:fe00:b"),
    };

    load(DUAL_NODE "," DUAL_PODS "," GROUPS ISOLATED("b", ""));
    for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
        expect_no_part(packets[i], TO_B);
    }
    expect_end(A_SENDS(GATEWAY_MAC, "192.0.2.1"), TO_GATEWAY);
    expect_end(A_SENDS6(GATEWAY_MAC, "2001:db8::1"), TO_GATEWAY);

    load(DUAL_NODE "," DUAL_PODS);
    expect_end(A_SENDS(B_MAC, "10.0.0.11"), TO_B);
}
END_TEST

/* Nothing says that a Pod's address is one of the Node's Pods. */
START_TEST(isolation_beyond_the_pod_cidr)
{
#define FROM_HOST(SRC) "udp,in_port=2,dl_src=" GATEWAY_MAC ",dl_dst=" B_MAC \
    ",nw_src=" SRC ",nw_dst=10.9.0.11,nw_ttl=64,udp_src=1000,udp_dst=53"
#define POD_BEYOND ",{'kind':'Pod','name':'d/b','port':'b'," \
    "'mac':'" B_MAC "','ips':['10.9.0.11']}"
    load(NODE "," GROUPS POD_BEYOND);
    expect_end(FROM_HOST("192.0.2.9"), TO_B);

    load(NODE "," GROUPS POD_BEYOND ISOLATED("b", ""));
    expect_no_part(FROM_HOST("192.0.2.9"), TO_B);
    expect_end(FROM_HOST("10.0.0.1"), TO_B);
}
END_TEST

/* A Pod that meets itself is its own, whatever says who may come. */
START_TEST(itself_by_node_port)
{
#define OWN_SERVICE SERVICE("d/s", "", \
    "{'ip':'10.0.0.10','port':80,'local':true}")
#define TO_ITSELF "tcp,in_port=3,dl_src=" A_MAC ",dl_dst=" GATEWAY_MAC \
    ",nw_src=10.0.0.10,nw_dst=192.168.0.1,nw_ttl=64,tp_src=1000,tp_dst=30001"
    static const char *const rules[] = {
        BASE OWN_SERVICE, BASE OWN_SERVICE ISOLATED("a", ""),
        BASE OWN_SERVICE ISOLATED("a", ",'from':{'ipBlocks':"
                                  "[{'cidr':'0.0.0.0/0'}]}"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
        load(rules[i]);
        expect_part(TO_ITSELF, "nat(src=10.0.0.1)");
        expect_end(TO_ITSELF, TO_A);
    }
    /* Others aren't. */
    load(BASE OWN_SERVICE ISOLATED("a", ""));
    expect_no_part("tcp,in_port=4,dl_src=" B_MAC ",dl_dst=" GATEWAY_MAC
                   ",nw_src=10.0.0.11,nw_dst=192.168.0.1,nw_ttl=64,"
                   "tp_src=1000,tp_dst=30001", TO_A);
}
END_TEST

#define CONTROL(NAME, GROUP, DIRECTION, ACTION) ",{'kind':'TrafficControl'," \
    "'name':'" NAME "','appliedToGroups':['" GROUP "']," \
    "'direction':'" DIRECTION "'," ACTION "}"
#define MIRROR "'action':'Mirror','targetPort':'antrea-l7-tap0'"

/* A Pod that meets itself is mirrored as well. */
START_TEST(itself_and_mirrored)
{
    struct engine_ct *ct;

    load(BASE OWN_SERVICE CONTROL("t", "a", "Both", MIRROR));
    expect_end(TO_ITSELF, TO_A ",105");

    /* The answer, to the gateway's address, which conntrack takes back. */
    ct = engine_set_ct(e, 65521, CS_ESTABLISHED | CS_REPLY_DIR);
    ct->nat_dst = htonl(0x0a00000a);
    ct = engine_set_ct(e, 65520, CS_ESTABLISHED | CS_REPLY_DIR);
    ct->ct_mark = 0x53;
    expect_end(A_TO(GATEWAY_MAC, "10.0.0.1"), TO_A ",105");
    /* An L7 rule has marked it. */
    ct->ct_mark = 0xd3;
    expect_end(A_TO(GATEWAY_MAC, "10.0.0.1"), TO_A ",105");
}
END_TEST

#define REDIRECT "'action':'Redirect','targetPort':'antrea-l7-tap0'," \
    "'returnPort':'antrea-l7-tap1'"

/* One of both ends' TrafficControls redirects: a copy doesn't replace that, nor
 * may it if both flows had one priority. */
START_TEST(mirrored_and_redirected)
{
    load(BASE CONTROL("t", "a", "Egress", MIRROR)
         CONTROL("u", "b", "Ingress", REDIRECT));
    ck_assert_uint_eq(count_flows("table=TrafficControl, priority=205,"), 1);
    ck_assert_uint_eq(count_flows("table=TrafficControl, priority=200,"), 1);
    expect_end(A_TO(B_MAC, "10.0.0.11"), ",105");
    expect_no_part(A_TO(B_MAC, "10.0.0.11"), TO_B);
    load(BASE CONTROL("t", "a", "Egress", REDIRECT)
         CONTROL("u", "b", "Ingress", MIRROR));
    expect_end(A_TO(B_MAC, "10.0.0.11"), ",105");
    expect_no_part(A_TO(B_MAC, "10.0.0.11"), TO_B);
}
END_TEST

/* The sender hears that nobody is there, also at the second step. */
START_TEST(nested_service_without_endpoints)
{
    load(NODE_WITH("'serviceCIDR':'10.96.0.0/16',") "," PODS
         SERVICE("d/outer", "'clusterIP':'10.96.0.1',",
                 "{'ip':'10.96.0.2','port':80}")
         ",{'kind':'Service','name':'d/inner','clusterIP':'10.96.0.2',"
         "'ports':[{'port':80}]}");
    expect_part(A_TO(GATEWAY_MAC, "10.96.0.1"), TO_CONTROLLER);
}
END_TEST

/* NORMAL learns Ethernet's source. */
START_TEST(arp_from_own_mac)
{
#define ARP(PORT, DL_SRC, SPA, SHA) "arp,in_port=" PORT ",dl_src=" DL_SRC \
    ",dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_spa=" SPA ",arp_tpa=10.0.0.77," \
    "arp_sha=" SHA ",arp_tha=00:00:00:00:00:00"
    load(BASE);
    expect(ARP("3", A_MAC, "10.0.0.10", A_MAC), "punt(normal)");
    expect(ARP("3", B_MAC, "10.0.0.10", A_MAC), "drop");
    expect(ARP("3", GATEWAY_MAC, "10.0.0.10", A_MAC), "drop");
    expect(ARP("3", A_MAC, "10.0.0.10", B_MAC), "drop");
    expect(ARP("2", GATEWAY_MAC, "10.0.0.1", GATEWAY_MAC), "punt(normal)");
    expect(ARP("2", A_MAC, "10.0.0.1", GATEWAY_MAC), "drop");
}
END_TEST

/* Without a tunnel the host routes to other Nodes' Pods, which are within the
 * cluster all the same. */
START_TEST(no_egress_to_peers)
{
    static const char *const options[] = { "", "egress-snat" };

    for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
        pw_set_options(options[i]);
        load(NODE_WITH("") "," PODS "," PEER "," GROUPS EGRESS("n"));
        expect_end(A_TO(GATEWAY_MAC, "10.0.1.6"), TO_GATEWAY);
        expect_no_part(A_TO(GATEWAY_MAC, "10.0.1.6"), "skb_mark");
        expect_no_part(A_TO(GATEWAY_MAC, "10.0.1.6"), "zone=65521");
        expect_part(A_TO(GATEWAY_MAC, "192.0.2.1"),
                    i ? "nat(src=9.9.9.9)" : "skb_mark");
    }
}
END_TEST

#define L7_EGRESS POLICY("'appliedToGroups':['a'],", "{'direction':'Out'," \
                         "'l7Protocols':[{'http':{'path':'/'}}]}")

/* What an L7 rule of its Pod allows is examined before it gets the egress
 * IP. */
START_TEST(l7_before_snat)
{
    const char *request = A_TO(GATEWAY_MAC, "192.0.2.1");
    const char *returned = A_RETURNED(VIRTUAL_MAC, "192.0.2.1");
    struct engine_ct *ct;

    pw_set_options("egress-snat");
    load(BASE EGRESS("n") L7_EGRESS);
    expect_end(request, TO_L7_ENGINE);
    expect_part(request, "set(eth(dst=" VIRTUAL_MAC "))");
    expect_no_part(request, "zone=65521");
    expect_part(returned, "nat(src=9.9.9.9)");
    expect_part(returned, "set(eth(dst=" GATEWAY_MAC "))");
    expect_end(returned, TO_GATEWAY);

    /* Later packets of it; L7NPRedirectCTMark and ConnSNATCTMark. */
    ct = engine_set_ct(e, 65520, CS_ESTABLISHED);
    ct->ct_mark = 0xa3;
    ct->ct_label.u64.hi = 1;
    expect_end(request, TO_L7_ENGINE);
    expect_no_part(request, "zone=65521");
    ct = engine_set_ct(e, 65521, CS_ESTABLISHED | CS_SRC_NAT);
    ct->nat_src = htonl(0x09090909);
    expect_end(returned, TO_GATEWAY);
    /* The Egress has another address now. */
    ct->nat_src = htonl(0x09090908);
    expect_no_part(returned, TO_GATEWAY);
}
END_TEST

/* A connection that is older than the Egress goes on as it did. */
START_TEST(l7_without_snat)
{
    const char *request = A_TO(GATEWAY_MAC, "192.0.2.1");
    struct engine_ct *ct;

    pw_set_options("egress-snat");
    load(BASE EGRESS("n") L7_EGRESS);
    ct = engine_set_ct(e, 65520, CS_ESTABLISHED);
    ct->ct_mark = 0x83;
    ct->ct_label.u64.hi = 1;
    expect_end(request, TO_L7_ENGINE);
    expect_no_part(request, "eth(dst=");
    expect(A_RETURNED(GATEWAY_MAC, "192.0.2.1"), "pop_vlan,102");

    /* What stays in the cluster has no use for the Egress. */
    load(BASE EGRESS("n") L7_EGRESS);
    expect_end(A_TO(GATEWAY_MAC, "192.168.0.2"), TO_L7_ENGINE);
    expect_no_part(A_TO(GATEWAY_MAC, "192.168.0.2"), "eth(dst=");
    expect_end(A_TO(B_MAC, "10.0.0.11"), TO_L7_ENGINE);
    expect_end(A_RETURNED(B_MAC, "10.0.0.11"), TO_B);
    expect_tunnel(A_RETURNED(VIRTUAL_MAC, "10.0.1.6"), 0xc0a80002);
}
END_TEST

/* What comes back goes to the Node that has the address. */
START_TEST(l7_with_egress_elsewhere)
{
    const char *request = A_TO(GATEWAY_MAC, "192.0.2.1");
    const char *returned = A_RETURNED(VIRTUAL_MAC, "192.0.2.1");

    load(BASE EGRESS("other") L7_EGRESS);
    expect_end(request, TO_L7_ENGINE);
    expect_part(request, "dst=" VIRTUAL_MAC);
    expect_tunnel(returned, 0x09090909);
}
END_TEST

#define DSR_SERVICE(MORE, ENDPOINTS) SERVICE("d/s", MORE \
    "'sessionAffinity':{'timeoutSeconds':300}," \
    "'loadBalancerIPs':['198.51.100.1'],'loadBalancerMode':'DSR',", ENDPOINTS)
#define HERE "{'ip':'10.0.0.10','port':80,'local':true}"
#define THERE ",{'ip':'10.0.1.6','port':80}"
/* The client and the load balancer's address, from the port 'IN'. */
#define TO_LB(IN) "tcp,in_port=" IN ",dl_src=" GATEWAY_MAC ",dl_dst=" \
    VIRTUAL_MAC ",nw_src=192.0.2.9,nw_dst=198.51.100.1,nw_ttl=64," \
    "tp_src=1000,tp_dst=80"
/* From there, out of the tunnel. */
#define FROM_LB(TO) "tcp,in_port=10,dl_src=" VIRTUAL_MAC ",dl_dst=" \
    VIRTUAL_MAC ",nw_src=198.51.100.1,nw_dst=" TO ",nw_ttl=64," \
    "tp_src=80,tp_dst=1000"
/* What session affinity has learned of the client in table SessionAffinity:
 * 10.0.1.6, as EpSelectedRegMark, RewriteMACRegMark, ToExternalAddressRegMark
 * and RemoteEndpointRegMark have it. */
#define LEARNED "table=10,priority=200,tcp,nw_src=192.0.2.9," \
    "nw_dst=198.51.100.1,tp_dst=80 actions=load:0x0a000106->NXM_NX_REG3[]," \
    "load:80->NXM_NX_REG4[0..15],load:2->NXM_NX_REG4[16..18]," \
    "load:1->NXM_NX_REG0[9],load:1->NXM_NX_REG4[21]," \
    "load:1->NXM_NX_REG4[26]"

/* An endpoint that another Node had doesn't keep its clients. */
START_TEST(dsr_endpoint_that_has_gone)
{
    pw_set_options("dsr");
    load(BASE DSR_SERVICE("", HERE THERE));
    engine_add_flows(e, LEARNED);
    expect_tunnel(TO_LB("2"), 0xc0a80002);
    expect_no_part(TO_LB("2"), "nat(");

    load(BASE DSR_SERVICE("", HERE));
    engine_add_flows(e, LEARNED);
    expect_part(TO_LB("2"), "nat(dst=10.0.0.10:80)");
    expect_end(TO_LB("2"), TO_A);
}
END_TEST

/* What another Node has balanced stays here, whatever this one remembers of
 * the client. */
START_TEST(dsr_remembered_elsewhere)
{
    static const char *const ranges[] = {
        "", "'loadBalancerSourceRanges':['192.0.2.0/24'],",
    };

    pw_set_options("dsr");
    for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
        char *records = xasprintf(BASE DSR_SERVICE("%s", HERE THERE),
                                  ranges[i]);

        load(records);
        expect_end(TO_LB("10"), TO_A);
        engine_add_flows(e, LEARNED);
        expect_part(TO_LB("10"), "nat(dst=10.0.0.10:80)");
        expect_end(TO_LB("10"), TO_A);
        expect_tunnel(TO_LB("2"), 0xc0a80002);
        free(records);
    }
}
END_TEST

/* As its source from the tunnel, the address is that of a refusal, unless the
 * packet is for a Pod: that is a Node's own that has the address. */
START_TEST(dsr_address_from_the_tunnel)
{
    pw_set_options("dsr");
    load(BASE DSR_SERVICE("", HERE THERE));
    expect_end(FROM_LB("192.0.2.9"), ",102");
    expect_end(FROM_LB("10.0.0.10"), TO_A);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("pipeline-packets");
    TCase *tc = tcase_create("v1.15");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, denied_on_the_way_back);
    tcase_add_test(tc, isolation_is_by_port);
    tcase_add_test(tc, isolation_beyond_the_pod_cidr);
    tcase_add_test(tc, itself_by_node_port);
    tcase_add_test(tc, itself_and_mirrored);
    tcase_add_test(tc, mirrored_and_redirected);
    tcase_add_test(tc, nested_service_without_endpoints);
    tcase_add_test(tc, arp_from_own_mac);
    tcase_add_test(tc, no_egress_to_peers);
    tcase_add_test(tc, l7_before_snat);
    tcase_add_test(tc, l7_without_snat);
    tcase_add_test(tc, l7_with_egress_elsewhere);
    tcase_add_test(tc, dsr_endpoint_that_has_gone);
    tcase_add_test(tc, dsr_remembered_elsewhere);
    tcase_add_test(tc, dsr_address_from_the_tunnel);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
