/* SPDX-License-Identifier: Apache-2.0 */

/* What pipeline v1.15 makes of records, beyond what the conformance
 * test shows with the document's samples. */

#include <config.h>
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include "flow-diff.h"
#include "flow.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "pipeline-builtin.h"
#include "pipeline-clause.h"
#include "pipeline-world.h"
#include "pipeline.h"
#include "quoted-json.h"
#include "random.h"
#include "test-run.h"
#include "util.h"

static void
setup(void)
{
    pw_init(adp_pipeline_find("v1.15"));
}

START_TEST(static_flows_need_no_record)
{
    check_static();
    for (size_t i = 0; i < pw.pipeline->n_tables; i++) {
        ck_assert_uint_eq(pw.pipeline->tables[i].id, i);
    }
}
END_TEST

START_TEST(meters_parse)
{
    for (size_t i = 0; i < pw.pipeline->n_meters; i++) {
        enum ofputil_protocol usable;
        struct ofputil_meter_mod mm;
        char *error = parse_ofp_meter_mod_str(&mm, pw.pipeline->meters[i],
                                              OFPMC13_ADD, &usable);

        ck_assert_msg(!error, "%s", error);
        ck_assert_uint_eq(mm.meter.meter_id, i ? 258 : 256);
        free(mm.meter.bands);
    }
    ck_assert_uint_eq(pw.pipeline->n_meters, 2);
    ck_assert(!adp_pipeline_find("v0"));
    ck_assert_str_eq(adp_pipeline_names(), "v1.15, early");
}
END_TEST

/* A port that is gone takes its flows along, and comes back as another. */
START_TEST(ports_come_and_go)
{
    generate(BASE);
    check_set();
    ck_assert_uint_eq(count_flows("in_port=10"), 3);

    pw.ports[PW_A].number = 0;
    generate(BASE);
    check_set();
    ck_assert_uint_eq(count_flows("in_port=10"), 0);
    ck_assert_uint_eq(count_flows("dl_dst=00:00:00:00:00:0a "), 0);
    ck_assert_uint_eq(count_flows("nw_dst=10.0.0.10 "), 1);

    pw.ports[PW_A].number = 77;
    generate(BASE);
    ck_assert_uint_eq(count_flows("in_port=77"), 3);
}
END_TEST

START_TEST(without_tunnel_the_host_routes)
{
    generate(NODE_WITH("") "," PEER);
    check_set();
    ck_assert_uint_eq(count_flows("tun_dst"), 0);
    ck_assert_uint_eq(count_flows("arp_tpa"), 0);
    ck_assert_uint_eq(count_flows("aa:bb:cc:dd:ee:ff"), 0);
    ck_assert_uint_eq(count_flows("nw_dst=192.168.0.2/32"), 1);
}
END_TEST

#define SVC(X) "{'kind':'Service','name':'d/s'," X "}"
#define EP_LOCAL "{'ip':'10.0.0.10','port':8080,'local':true,'weight':7}"
#define EP_REMOTE "{'ip':'10.0.1.10','port':8080}"
#define EP_HOST "{'ip':'192.168.0.2','port':8080}"
#define EPS "'endpoints':[" EP_LOCAL "," EP_REMOTE "," EP_HOST "]"

START_TEST(service_group_and_dnat)
{
    generate(BASE "," SVC("'clusterIP':'10.96.0.1','ports':[{'port':53,"
                          "'protocol':'UDP'," EPS "}]"));
    check_set();
    ck_assert_str_eq(
        find_group(1),
        "group_id=1,type=select,"
        "bucket=bucket_id:0,weight:7,actions=set_field:0xa00000a->reg3,"
        "set_field:0x1f90/0xffff->reg4,resubmit(,EndpointDNAT),"
        "bucket=bucket_id:1,weight:100,"
        "actions=set_field:0x4000000/0x4000000->reg4,"
        "set_field:0xa00010a->reg3,set_field:0x1f90/0xffff->reg4,"
        "resubmit(,EndpointDNAT),"
        "bucket=bucket_id:2,weight:100,actions=set_field:0xc0a80002->reg3,"
        "set_field:0x1f90/0xffff->reg4,resubmit(,EndpointDNAT)");
    expect_flow("table=ServiceLB, priority=200,udp,reg4=0x10000/0x70000,"
                "nw_dst=10.96.0.1,tp_dst=53 actions=set_field:0x200/0x200->"
                "reg0,set_field:0x20000/0x70000->reg4,set_field:0x1->reg7,"
                "group:1");
    ck_assert(find_flow("table=EndpointDNAT, priority=200,udp,"
                        "reg3=0xa00010a,reg4=0x21f90/0x7ffff"));
    ck_assert_uint_eq(count_flows("table=SNATMark, priority=190"), 1);

    char *text = adp_pipeline_describe_group(pw.state, 1);
    ck_assert_str_eq(text, "Service d/s, port 53/udp");
    free(text);
}
END_TEST

START_TEST(services_share_endpoints)
{
    generate(BASE "," SVC("'clusterIP':'10.96.0.1','ports':[{'port':80,"
                          EPS "},{'port':81," EPS "}]"));
    check_set();
    ck_assert_uint_eq(count_flows("table=EndpointDNAT, priority=200,tcp"), 3);
    ck_assert_uint_eq(shash_count(&pw.set.groups), 2);
}
END_TEST

/* Outsiders get local endpoints only, those on this Node all; the ClusterIP
 * follows the other policy. */
START_TEST(traffic_policies)
{
    generate(BASE "," SVC("'clusterIP':'10.96.0.1','externalIPs':['1.1.1.1'],"
                          "'externalTrafficPolicy':'Local',"
                          "'ports':[{'port':80,'nodePort':30000," EPS "}]"));
    check_set();
    ck_assert_uint_eq(shash_count(&pw.set.groups), 2);
    ck_assert(strstr(find_flow("priority=200,tcp,reg4=0x10000/0x70000,"
                               "nw_dst=10.96.0.1,"), "group:1"));
    ck_assert(strstr(find_flow("priority=210,tcp,reg4=0x10010000/0x10070000,"
                               "nw_dst=1.1.1.1,"), "group:1"));
    ck_assert(strstr(find_flow("priority=200,tcp,reg4=0x10000/0x70000,"
                               "nw_dst=1.1.1.1,"), "group:2"));
    ck_assert(strstr(find_flow("priority=210,tcp,reg4=0x10090000/0x100f0000,"
                               "tp_dst=30000"), "group:1"));
    ck_assert(strstr(find_flow("priority=200,tcp,reg4=0x90000/0xf0000,"
                               "tp_dst=30000"), "group:2"));
    ck_assert_uint_eq(strstr(find_group(2), "bucket_id:1") != NULL, 0);

    generate(BASE "," SVC("'clusterIP':'10.96.0.1','externalIPs':['1.1.1.1'],"
                          "'internalTrafficPolicy':'Local',"
                          "'ports':[{'port':80," "'endpoints':[" EP_REMOTE "]"
                          "}]"));
    check_set();
    const char *internal = find_flow("nw_dst=10.96.0.1,");
    ck_assert(strstr(find_group(atoi(strstr(internal, "group:") + 6)),
                     "set_field:0x4000/0x4000->reg0"));
    const char *external = find_flow("nw_dst=1.1.1.1,");
    ck_assert(strstr(find_group(atoi(strstr(external, "group:") + 6)),
                     "0xa00010a"));
}
END_TEST

/* The group to which the flow that begins so leads. */
static const char *
group_of(const char *flow)
{
    return find_group(atoi(strstr(find_flow(flow), "group:") + 6));
}

/* Endpoints that end are selected where no other is, on this Node and in all;
 * those for traffic policy Local only by that. */
START_TEST(terminating_and_local_only_endpoints)
{
#define EP(IP, MORE) "{'ip':'" IP "','port':80" MORE "}"
#define OUTSIDE "priority=200,tcp,reg4=0x10000/0x70000,nw_dst=1.1.1.1,"
#define ENDING ",'local':true,'terminating':true"
    generate(BASE "," SVC("'clusterIP':'10.96.0.1','externalIPs':['1.1.1.1'],"
                          "'externalTrafficPolicy':'Local',"
                          "'ports':[{'port':80,'endpoints':["
                          EP("10.0.0.10", ENDING) "," EP("10.0.1.10", "")
                          "," EP("10.0.1.11", ",'terminating':true") "]}]"));
    check_set();
    ck_assert(!strstr(group_of("nw_dst=10.96.0.1,"), "0xa00000a->"));
    ck_assert(strstr(group_of("nw_dst=10.96.0.1,"), "0xa00010a->"));
    ck_assert(!strstr(group_of("nw_dst=10.96.0.1,"), "0xa00010b->"));
    ck_assert(strstr(group_of(OUTSIDE), "0xa00000a->"));
    ck_assert_uint_eq(count_flows("table=EndpointDNAT, priority=200,tcp"), 2);

    /* The same without an address for which the policy is Local. */
    generate(BASE "," SVC("'clusterIP':'10.96.0.1',"
                          "'ports':[{'port':80,'endpoints':["
                          EP("10.0.0.10", ENDING) "," EP("10.0.1.10", "")
                          "]}]"));
    check_set();
    ck_assert_uint_eq(count_flows("table=EndpointDNAT, priority=200,tcp"), 1);

    generate(BASE "," SVC("'clusterIP':'10.96.0.1','externalIPs':['1.1.1.1'],"
                          "'externalTrafficPolicy':'Local',"
                          "'ports':[{'port':80,'endpoints':["
                          EP("10.0.0.10", ENDING) ","
                          EP("10.0.1.11", ",'terminating':true") "]}]"));
    check_set();
    ck_assert(strstr(group_of("nw_dst=10.96.0.1,"), "0xa00000a->"));
    ck_assert(strstr(group_of("nw_dst=10.96.0.1,"), "0xa00010b->"));
    ck_assert(strstr(group_of(OUTSIDE), "0xa00000a->"));
    ck_assert(!strstr(group_of(OUTSIDE), "0xa00010b->"));

    generate(BASE "," SVC("'clusterIP':'10.96.0.1','externalIPs':['1.1.1.1'],"
                          "'externalTrafficPolicy':'Local',"
                          "'ports':[{'port':80,'endpoints':["
                          EP("10.0.0.10", ",'local':true,'localOnly':true")
                          "," EP("10.0.1.10", "") "]}]"));
    check_set();
    ck_assert(!strstr(group_of("nw_dst=10.96.0.1,"), "0xa00000a->"));
    ck_assert(strstr(group_of("nw_dst=10.96.0.1,"), "0xa00010a->"));
    ck_assert(strstr(group_of(OUTSIDE), "0xa00000a->"));
}
END_TEST

/* Clients outside are dropped, also those that session affinity remembers; the
 * Node itself and other kinds of addresses aren't concerned. */
START_TEST(source_ranges)
{
    generate(BASE "," SVC("'clusterIP':'10.96.0.1',"
                          "'loadBalancerIPs':['1.1.1.2'],"
                          "'externalIPs':['1.1.1.1'],"
                          "'loadBalancerSourceRanges':['192.0.2.0/24',"
                          "'198.51.100.7/32'],"
                          "'externalTrafficPolicy':'Local',"
                          "'ports':[{'port':80,'nodePort':30000," EPS "}]"));
    check_set();
#define LB(STATE) "tcp,reg4=" STATE ",nw_dst=1.1.1.2,tp_dst=80"
    ck_assert(strstr(find_flow("priority=200," LB("0x10000/0x70000")
                               ",nw_src=192.0.2.0/24 "), "group:2"));
    ck_assert(strstr(find_flow("priority=200," LB("0x10000/0x70000")
                               ",nw_src=198.51.100.7/32 "), "group:2"));
    ck_assert(strstr(find_flow("priority=210," LB("0x10010000/0x10070000")
                               ",nw_src=192.0.2.0/24 "), "group:1"));
    ck_assert(strstr(find_flow("priority=220,tcp,reg4=0x10010000/0x10070000,"
                               "reg0=0x2/0xf,nw_dst=1.1.1.2,tp_dst=80 "),
                     "group:1"));
    ck_assert(strstr(find_flow("priority=200," LB("0x20000/0x70000")
                               ",nw_src=192.0.2.0/24 "),
                     "actions=goto_table:EndpointDNAT"));
    ck_assert(strstr(find_flow("table=ServiceLB, priority=180,tcp,"
                               "nw_dst=1.1.1.2,tp_dst=80 "), "actions=drop"));
    ck_assert_uint_eq(count_flows("table=ServiceLB, priority=180"), 1);
    ck_assert_uint_eq(count_flows("nw_dst=1.1.1.2"), 9);
    ck_assert_uint_eq(count_flows("nw_dst=1.1.1.1"), 2);

    /* None of the address's family: only the Node itself gets in. */
    generate(BASE "," SVC("'loadBalancerIPs':['1.1.1.2'],"
                          "'loadBalancerSourceRanges':['fd00::/8'],"
                          "'ports':[{'port':80," EPS "}]"));
    check_set();
    ck_assert_uint_eq(count_flows("nw_dst=1.1.1.2"), 3);
    ck_assert_uint_eq(count_flows("table=ServiceLB, priority=220"), 2);
    ck_assert(strstr(find_flow("table=ServiceLB, priority=180,tcp,"
                               "nw_dst=1.1.1.2,tp_dst=80 "), "actions=drop"));
}
END_TEST

/* An endpoint that is a ClusterIP leads to the group of that, but only one step
 * far. */
START_TEST(nested_services)
{
#define INNER(MORE) \
    "{'kind':'Service','name':'d/inner','clusterIP':'10.96.0.2'," MORE \
    "'ports':[{'port':80," EPS "}]}"
#define OUTER(MORE, IPS) SVC("'clusterIP':'10.96.0.1'," MORE \
                             "'ports':[{'port':80,'endpoints':[" IPS "]}]")
#define SERVICES NODE_WITH("'serviceCIDR':'10.96.0.0/16',")
#define NESTED "table=EndpointDNAT, priority=210,tcp,reg3=0xa600002,"
    generate(SERVICES "," INNER("") "," OUTER("", EP("10.96.0.2", "") ","
                                              EP("10.0.1.10", "")));
    check_set();
    /* d/inner has group 1. */
    ck_assert_str_eq(find_flow(NESTED),
                     NESTED "reg4=0x1020050/0x107ffff actions=group:1");
    ck_assert_uint_eq(count_flows("table=EndpointDNAT, priority=210"), 1);
    ck_assert(strstr(find_flow("nw_dst=10.96.0.1,"),
                     "set_field:0x1000000/0x1000000->reg4"));
    ck_assert(!strstr(find_flow("nw_dst=10.96.0.2,"), "0x1000000->reg4"));

    /* Session affinity remembers it. */
    generate(SERVICES "," INNER("") ","
             OUTER("'sessionAffinity':{'timeoutSeconds':9},",
                   EP("10.96.0.2", "")));
    check_set();
    ck_assert(strstr(find_flow("table=ServiceLB, priority=190"),
                     "load:0x1->NXM_NX_REG4[24]"));

    /* The traffic policy of the inner one counts. */
    generate(SERVICES "," INNER("'internalTrafficPolicy':'Local',") ","
             OUTER("", EP("10.96.0.2", "")));
    check_set();
    ck_assert_uint_eq(count_flows("table=EndpointDNAT, priority=210"), 1);
    ck_assert(!strstr(group_of("nw_dst=10.96.0.2,"), "0xa00010a->"));

    /* Nobody is there, a port that isn't, nobody knows which addresses are
     * ClusterIPs, and two that are each other's endpoints. */
    generate(SERVICES "," OUTER("", EP("10.96.0.2", "")));
    check_set();
    ck_assert_uint_eq(count_flows("table=EndpointDNAT, priority=210"), 0);
    generate(SERVICES "," INNER("") ","
             OUTER("", "{'ip':'10.96.0.2','port':81}"));
    check_set();
    ck_assert_uint_eq(count_flows("table=EndpointDNAT, priority=210"), 0);
    generate(BASE "," INNER("") "," OUTER("", EP("10.96.0.2", "")));
    check_set();
    ck_assert_uint_eq(count_flows("table=EndpointDNAT, priority=210"), 0);
    generate(SERVICES ",{'kind':'Service','name':'d/inner',"
             "'clusterIP':'10.96.0.2','ports':[{'port':80,'endpoints':["
             EP("10.96.0.1", "") "]}]}," OUTER("", EP("10.96.0.2", "")));
    check_set();
    ck_assert_uint_eq(count_flows("table=EndpointDNAT, priority=210"), 0);
}
END_TEST

START_TEST(without_proxy_all_only_cluster_ips)
{
    generate(NODE_WITH("'proxyAll':false,") ","
             SVC("'clusterIP':'10.96.0.1','externalIPs':['1.1.1.1'],"
                 "'loadBalancerIPs':['1.1.1.2'],"
                 "'ports':[{'port':80,'nodePort':30000," EPS "}]"));
    check_set();
    ck_assert_uint_eq(count_flows("table=ServiceLB, priority=2"), 1);
    ck_assert_uint_eq(count_flows("table=NodePortMark, priority=2"), 0);
}
END_TEST

START_TEST(session_affinity)
{
    generate(BASE "," SVC("'externalIPs':['1.1.1.1'],"
                          "'sessionAffinity':{'timeoutSeconds':10800},"
                          "'ports':[{'port':80,'protocol':'SCTP',"
                          "'nodePort':30000," EPS "}]"));
    check_set();
    const char *learn = find_flow("table=ServiceLB, priority=190,sctp,"
                                  "reg4=0xb0000/0xf0000,tp_dst=30000 ");
    ck_assert(strstr(learn, "hard_timeout=10800,"));
    ck_assert(strstr(learn, "nw_proto=132,OXM_OF_SCTP_DST[]"));
    ck_assert(strstr(learn, "cookie=0x5030000000001,"));
    ck_assert(strstr(learn, "load:0x1->NXM_NX_REG4[21],"
                     "load:0x1->NXM_NX_REG7[])"));
    ck_assert(find_flow("priority=190,sctp,reg4=0x30000/0x70000,"
                        "nw_dst=1.1.1.1,tp_dst=80 "));
    ck_assert(strstr(find_group(1), "resubmit(,ServiceLB)"));
    ck_assert(!strstr(find_group(1), "resubmit(,EndpointDNAT)"));
}
END_TEST

/* By the gateway's address or by mark. */
START_TEST(node_passes_policies)
{
#define NODE_FLOW "table=IngressSecurityClassifier, priority=210,"
    generate(BASE);
    check_set();
    ck_assert_str_eq(find_flow(NODE_FLOW),
                     NODE_FLOW "ct_state=-rpl+trk,ct_mark=0x0/0x10,ip,"
                     "reg0=0x2/0xf,nw_src=10.0.0.1 "
                     "actions=goto_table:ConntrackCommit");
    pw_set_options("probe-mark");
    generate(BASE);
    check_set();
    ck_assert_str_eq(find_flow(NODE_FLOW),
                     NODE_FLOW "pkt_mark=0x80000000/0x80000000,"
                     "ct_state=-rpl+trk,ip "
                     "actions=goto_table:ConntrackCommit");
#undef NODE_FLOW
}
END_TEST

/* Policies. */

#define K8S(NAME, RULES) "{'kind':'NetworkPolicy','name':'" NAME "'," \
    "'type':'K8sNetworkPolicy','appliedToGroups':['a'],'rules':[" RULES "]}"
#define ACNP(NAME, TIER, PRIORITY, RULES) "{'kind':'NetworkPolicy'," \
    "'name':'AntreaClusterNetworkPolicy:" NAME "'," \
    "'type':'AntreaClusterNetworkPolicy','tierPriority':" #TIER "," \
    "'priority':" #PRIORITY ",'appliedToGroups':['a'],'rules':[" RULES "]}"
#define FROM_X "'from':{'addressGroups':['x']}"
#define FROM_XY "'from':{'addressGroups':['x','y']}"

START_TEST(equal_clauses_are_shared)
{
    generate(BASE "," K8S("p", "{'direction':'In'," FROM_X "}")
             "," K8S("q", "{'direction':'In'," FROM_XY "}"));
    check_set();
    expect_flow("table=IngressRule, priority=200,ip,nw_src=10.0.2.2 "
                "actions=conjunction(1,1/2),conjunction(2,1/2)");
    expect_flow("table=IngressRule, priority=200,ip,nw_src=10.0.3.0/24 "
                "actions=conjunction(2,1/2)");
    expect_flow("table=IngressRule, priority=200,reg1=0xa "
                "actions=conjunction(1,2/2),conjunction(2,2/2)");
    ck_assert(find_flow("table=IngressRule, priority=190,conj_id=1,ip "));
    expect_flow("table=IngressDefaultRule, priority=200,reg1=0xa "
                "actions=drop");
}
END_TEST

START_TEST(k8s_rule_without_peer_only_isolates)
{
    generate(BASE "," K8S("p", "{'direction':'Out'}"));
    check_set();
    ck_assert_uint_eq(count_flows("conj"), 0);
    expect_flow("table=EgressDefaultRule, priority=200,ip,nw_src=10.0.0.10 "
                "actions=drop");
    ck_assert_uint_eq(count_flows("table=IngressDefaultRule, priority=200"),
                      0);
}
END_TEST

/* Whatever its rules apply to, and in both directions. */
START_TEST(k8s_policy_isolates_all_its_pods)
{
    const char *const drops[] = {
        "table=IngressDefaultRule, priority=200,reg1=0xa actions=drop",
        "table=IngressDefaultRule, priority=200,reg1=0xb actions=drop",
        "table=EgressDefaultRule, priority=200,ip,nw_src=10.0.0.10 "
        "actions=drop",
        "table=EgressDefaultRule, priority=200,ip,nw_src=10.0.0.11 "
        "actions=drop",
    };

    /* The policy's is Pod a. */
    generate(BASE "," K8S("p", "{'direction':'In','appliedToGroups':['gone'],"
                          FROM_X "},{'direction':'Out',"
                          "'appliedToGroups':['gone']}"));
    check_set();
    expect_flow(drops[0]);
    ck_assert(!has_flow(drops[1]));
    expect_flow(drops[2]);
    ck_assert(!has_flow(drops[3]));

    generate(BASE "," K8S("p", "{'direction':'In'," FROM_X "},"
                          "{'direction':'In','appliedToGroups':['b']," FROM_X
                          "}"));
    check_set();
    expect_flow(drops[0]);
    expect_flow(drops[1]);
    ck_assert(!has_flow(drops[2]));
    ck_assert(!has_flow(drops[3]));
}
END_TEST

START_TEST(peers_and_services)
{
    generate(BASE "," K8S("p",
        "{'direction':'Out','to':{'ipBlocks':[{'cidr':'10.0.0.0/8',"
        "'except':['10.128.0.0/9']},{'cidr':'0.0.0.0/0'}]},"
        "'services':[{'protocol':'TCP','port':80,'endPort':95},"
        "{'protocol':'UDP'},{'protocol':'ICMP','icmpType':8,'icmpCode':0},"
        "{'protocol':'ICMP','icmpType':3},{'protocol':'SCTP','port':7}]}"));
    check_set();
#define E(X) expect_flow("table=EgressRule, priority=200," X)
    E("ip,nw_src=10.0.0.10 actions=conjunction(1,1/3)");
    E("ip,nw_dst=10.0.0.0/9 actions=conjunction(1,2/3)");
    E("ip actions=conjunction(1,2/3)");
    E("tcp,tp_dst=0x50/0xfff0 actions=conjunction(1,3/3)");
    E("udp actions=conjunction(1,3/3)");
    E("icmp,icmp_type=8,icmp_code=0 actions=conjunction(1,3/3)");
    E("icmp,icmp_type=3 actions=conjunction(1,3/3)");
    E("sctp,tp_dst=7 actions=conjunction(1,3/3)");
    ck_assert_uint_eq(count_flows("table=EgressRule, priority=200"), 8);
#undef E
}
END_TEST

/* A rule needs two dimensions: where it has but its Pods, "any peer" is the
 * other. */
START_TEST(any_peer)
{
    generate(BASE "," ACNP("p", 100, 1,
        "{'direction':'In','action':'Drop'},"
        "{'direction':'In','services':[{'protocol':'TCP','port':1}]}"));
    check_set();
    expect_flow("table=AntreaPolicyIngressRule, priority=44980,ip "
                "actions=conjunction(1,1/2)");
    expect_flow("table=AntreaPolicyIngressRule, priority=44980,reg1=0xa "
                "actions=conjunction(1,2/2)");
    expect_flow("table=AntreaPolicyIngressRule, priority=44979,reg1=0xa "
                "actions=conjunction(2,1/2)");
    expect_flow("table=AntreaPolicyIngressRule, priority=44979,tcp,tp_dst=1 "
                "actions=conjunction(2,2/2)");
    expect_flow("table=IngressMetric, priority=210,reg0=0x400/0x400,reg3=0x1 "
                "actions=drop");

    char *text = adp_pipeline_describe_conj(pw.state, 1);
    ck_assert_str_eq(text, "ClusterNetworkPolicy p, rule 1 (Drop)");
    free(text);
    ck_assert(!adp_pipeline_describe_conj(pw.state, 99));
}
END_TEST

/* As Drop, plus a packet-in that says what is to be done, and where that was
 * decided. */
START_TEST(reject)
{
    generate(BASE "," ACNP("p", 100, 1,
        "{'direction':'In','action':'Reject'},"
        "{'direction':'Out','action':'Reject'}")
             "," ACNP("q", 253, 1, "{'direction':'In','action':'Reject'}"));
    check_set();
    expect_flow("table=AntreaPolicyEgressRule, priority=44980,conj_id=1 "
                "actions=set_field:0x1->reg3,set_field:0x400/0x400->reg0,"
                "set_field:0x1000/0x1800->reg0,"
                "set_field:0x400000/0x600000->reg0,"
                "set_field:0x4000000/0xfe000000->reg0,"
                "set_field:0xd/0xff->reg2,goto_table:EgressMetric");
    expect_flow("table=EgressMetric, priority=210,reg0=0x400/0x400,reg3=0x1 "
                "actions=goto_table:Output");
    ck_assert(find_flow("table=AntreaPolicyIngressRule, priority=44980,"
                        "conj_id=2 actions=set_field:0x2->reg3,"));
    expect_flow("table=IngressMetric, priority=210,reg0=0x400/0x400,reg3=0x2 "
                "actions=goto_table:Output");
    expect_flow("table=IngressDefaultRule, priority=170,conj_id=3 "
                "actions=set_field:0x3->reg3,set_field:0x400/0x400->reg0,"
                "set_field:0x1000/0x1800->reg0,"
                "set_field:0x400000/0x600000->reg0,"
                "set_field:0x4000000/0xfe000000->reg0,"
                "set_field:0x1b/0xff->reg2,goto_table:IngressMetric");
}
END_TEST

START_TEST(pass)
{
    generate(BASE "," ACNP("p", 100, 1,
        "{'direction':'In','action':'Pass'},"
        "{'direction':'Out','action':'Pass'}"));
    check_set();
    expect_flow("table=AntreaPolicyEgressRule, priority=44980,conj_id=1 "
                "actions=set_field:0x1->reg5,goto_table:EgressRule");
    expect_flow("table=AntreaPolicyIngressRule, priority=44980,conj_id=2 "
                "actions=set_field:0x2->reg6,goto_table:IngressRule");
    ck_assert_uint_eq(count_flows("table=IngressMetric, priority=200"), 0);
}
END_TEST

START_TEST(rules_for_pods_elsewhere_make_no_flows)
{
    generate(BASE);
    size_t n = shash_count(&pw.set.flows);
    generate(BASE ",{'kind':'NetworkPolicy','name':'p',"
             "'type':'AntreaNetworkPolicy','tierPriority':1,'priority':1,"
             "'appliedToGroups':['gone'],"
             "'rules':[{'direction':'In'},{'direction':'Out'}]}");
    ck_assert_uint_eq(shash_count(&pw.set.flows), n);

    /* A rule's own groups replace the policy's. */
    generate(BASE "," ACNP("p", 1, 1, "{'direction':'In',"
                           "'appliedToGroups':['b']}"));
    check_set();
    ck_assert_uint_eq(count_flows("reg1=0xb actions=conj"), 1);
    ck_assert_uint_eq(count_flows("reg1=0xa actions=conj"), 0);
}
END_TEST

START_TEST(baseline_comes_after_isolation)
{
    generate(BASE "," ACNP("p", 253, 2, "{'direction':'Out'},"
                           "{'direction':'Out','action':'Drop'}"));
    check_set();
    ck_assert(find_flow("table=EgressDefaultRule, priority=160,conj_id=1,ip "
                        "actions=set_field:0x1->reg5,ct(commit,"
                        "table=EgressMetric,"));
    ck_assert(find_flow("table=EgressDefaultRule, priority=159,conj_id=2 "
                        "actions=set_field:0x2->reg3,"));
}
END_TEST

/* Groups tell which Service a packet was for; one that isn't there has none. */
START_TEST(to_services)
{
#define TO_SERVICES BASE "," ACNP("p", 250, 5, \
        "{'direction':'Out','action':'Drop','to':{'addressGroups':['g']," \
        "'toServices':['d/s','d/none']}}") \
        ",{'kind':'AddressGroup','name':'g','addresses':['10.9.9.9']}"

    generate(TO_SERVICES);
    check_set();
    ck_assert_uint_eq(count_flows("reg7=0x1 actions=conj"), 0);

    generate(TO_SERVICES ",{'kind':'Service','name':'d/s',"
             "'clusterIP':'10.96.0.1','externalIPs':['172.16.0.1'],"
             "'externalTrafficPolicy':'Local','ports':["
             "{'port':80,'endpoints':[{'ip':'10.0.0.7','port':80}]}]},"
             "{'kind':'Service','name':'d/t','clusterIP':'10.96.0.2',"
             "'ports':[{'port':80}]}");
    check_set();
    expect_flow("table=AntreaPolicyEgressRule, priority=14500,ip,"
                "nw_dst=10.9.9.9 actions=conjunction(1,2/2)");
    expect_flow("table=AntreaPolicyEgressRule, priority=14500,reg7=0x1 "
                "actions=conjunction(1,2/2)");
    expect_flow("table=AntreaPolicyEgressRule, priority=14500,reg7=0x2 "
                "actions=conjunction(1,2/2)");
    ck_assert_uint_eq(count_flows("reg7=0x3 actions=conj"), 0);
}
END_TEST

START_TEST(source_ports)
{
    generate(BASE "," ACNP("p", 250, 5,
        "{'direction':'In','services':[{'protocol':'UDP','srcPort':67,"
        "'srcEndPort':69,'port':68},{'protocol':'TCP','srcPort':9}]}"));
    check_set();
    expect_flow("table=AntreaPolicyIngressRule, priority=14500,udp,tp_src=67,"
                "tp_dst=68 actions=conjunction(1,2/2)");
    expect_flow("table=AntreaPolicyIngressRule, priority=14500,udp,"
                "tp_src=0x44/0xfffe,tp_dst=68 actions=conjunction(1,2/2)");
    expect_flow("table=AntreaPolicyIngressRule, priority=14500,tcp,tp_src=9 "
                "actions=conjunction(1,2/2)");
}
END_TEST

/* An AdminNetworkPolicy goes before Kubernetes', its baseline after it. */
START_TEST(admin_policies)
{
    generate(BASE ",{'kind':'NetworkPolicy','name':'AdminNetworkPolicy:a',"
             "'type':'AdminNetworkPolicy','tierPriority':251,'priority':0,"
             "'appliedToGroups':['a'],'rules':[{'direction':'In'}]},"
             "{'kind':'NetworkPolicy','name':'x','type':"
             "'BaselineAdminNetworkPolicy','tierPriority':254,'priority':1,"
             "'appliedToGroups':['a'],'rules':[{'direction':'In'}]}");
    check_set();
    ck_assert(find_flow("table=AntreaPolicyIngressRule, priority=14800,"
                        "conj_id=1,ip "));
    ck_assert(find_flow("table=IngressDefaultRule, priority=170,"
                        "conj_id=2,ip "));

    char *text = adp_pipeline_describe_conj(pw.state, 1);
    ck_assert_str_eq(text, "AdminNetworkPolicy a, rule 1 (Allow)");
    free(text);
}
END_TEST

/* The priority of the rule that the only flow with 'conj_id=ID' enforces. */
static int
rule_priority(uint32_t id)
{
    char *part = xasprintf("conj_id=%"PRIu32, id);
    struct ds with_end = DS_EMPTY_INITIALIZER;
    const char *flow;

    ds_put_format(&with_end, ",%s,ip ", part);
    flow = find_flow(ds_cstr(&with_end));
    ck_assert(flow);
    ds_destroy(&with_end);
    free(part);
    return atoi(strstr(flow, "priority=") + 9);
}

/* Whatever priorities collide, tier before priority before place holds. */
START_TEST(priorities_keep_their_order)
{
    struct json *json = NULL;
    struct ds s = DS_EMPTY_INITIALIZER;
    int n = 0;

    /* In descending order of precedence; IDs are given in that order. */
    static const struct { int tier; double priority; int n_rules; } policies[]
        = { { 0, 1, 30 }, { 0, 1.01, 30 }, { 0, 1.02, 1 }, { 249, 10000, 3 },
            { 250, 1, 50 }, { 250, 1.001, 5 }, { 250, 10000, 200 },
            { 251, 9999, 2 }, { 252, 1, 3 } };

    ds_put_cstr(&s, "[" BASE);
    for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
        ds_put_format(&s, ",{'kind':'NetworkPolicy','name':'%c','type':"
                      "'AntreaNetworkPolicy','tierPriority':%d,"
                      "'priority':%g,'appliedToGroups':['a'],'rules':[",
                      (int) ('z' - i), policies[i].tier,
                      policies[i].priority);
        for (int j = 0; j < policies[i].n_rules; j++, n++) {
            ds_put_format(&s, "%s{'direction':'In'}", j ? "," : "");
        }
        ds_put_cstr(&s, "]}");
    }
    ds_put_char(&s, ']');
    json = json_from_quoted(ds_cstr(&s));
    ds_destroy(&s);
    ck_assert(!generate_json(json));

    check_set();
    int last = 64990;
    for (int id = 1; id <= n; id++) {
        int priority = rule_priority(id);

        ck_assert_msg(priority < last && priority >= 100,
                      "%d: %d after %d", id, priority, last);
        last = priority;
    }
}
END_TEST

START_TEST(runs_out_of_baseline_priorities)
{
    for (int n = 171; n <= 172; n++) {
        struct ds s = DS_EMPTY_INITIALIZER;

        ds_put_cstr(&s, BASE ",{'kind':'NetworkPolicy','name':'p','type':"
                    "'AntreaNetworkPolicy','tierPriority':253,'priority':1,"
                    "'appliedToGroups':['a'],'rules':[");
        for (int i = 0; i < n; i++) {
            ds_put_format(&s, "%s{'direction':'In'}", i ? "," : "");
        }
        ds_put_cstr(&s, "]}");
        struct adp_error *error
            = generate_json(json_array_from_quoted(ds_cstr(&s)));

        ck_assert((error != NULL) == (n > 171));
        if (error) {
            ck_assert_str_eq(error->code, "limit");
            ck_assert_str_eq(error->object, "NetworkPolicy p");
            adp_error_destroy(error);
        } else {
            check_set();
        }
        ds_destroy(&s);
    }
}
END_TEST

/* An object keeps its ID while others come and go, and a free ID isn't given
 * out again at once. */
START_TEST(ids_are_stable)
{
#define RULE_A "{'direction':'In'," FROM_X "}"
#define RULE_B "{'direction':'In'," FROM_XY "}"
    generate(BASE "," K8S("p", RULE_B "," RULE_B));
    ck_assert(find_flow("table=IngressRule, priority=190,conj_id=1,ip "));
    ck_assert(find_flow("table=IngressRule, priority=190,conj_id=2,ip "));

    struct adp_pipeline_state *clone = adp_pipeline_state_clone(pw.state);
    generate(BASE "," K8S("p", RULE_A "," RULE_B "," RULE_B));
    expect_flow("table=IngressRule, priority=200,ip,nw_src=10.0.3.0/24 "
                "actions=conjunction(1,1/2),conjunction(2,1/2)");
    ck_assert(find_flow("table=IngressRule, priority=190,conj_id=3,ip "));

    /* A transaction that failed leaves no trace. */
    adp_pipeline_state_destroy(pw.state);
    pw.state = clone;
    ck_assert(!adp_pipeline_describe_conj(pw.state, 3));

    generate(BASE);
    ck_assert(!adp_pipeline_describe_conj(pw.state, 1));
    generate(BASE "," K8S("p", RULE_A));
    ck_assert(find_flow("table=IngressRule, priority=190,conj_id=3,ip "));
}
END_TEST

/* Generating twice gives the same, and differences are small. */
START_TEST(differences)
{
    struct adp_flow_set old;
    struct flow_diff diff;

#define WITH_EPS(EPS_) BASE "," K8S("p", RULE_B) "," \
    SVC("'clusterIP':'10.96.0.1','ports':[{'port':80,'endpoints':[" \
        EPS_ "]}]")
    generate(WITH_EPS(EP_LOCAL));
    adp_flow_set_init(&old);
    adp_flow_set_swap(&old, &pw.set);

    flow_set_diff(NULL, &old, &diff);
    ck_assert_uint_eq(diff.add_flows.n, shash_count(&old.flows));
    ck_assert_uint_eq(diff.add_groups.n, 1);
    ck_assert_uint_eq(diff.delete_flows.n, 0);
    flow_diff_uninit(&diff);

    generate(WITH_EPS(EP_LOCAL));
    flow_set_diff(&old, &pw.set, &diff);
    ck_assert(flow_diff_is_empty(&diff));
    flow_diff_uninit(&diff);

    /* A group changes, an endpoint's flow comes. */
    generate(WITH_EPS(EP_LOCAL "," EP_REMOTE));
    flow_set_diff(&old, &pw.set, &diff);
    ck_assert_uint_eq(diff.add_flows.n, 1);
    ck_assert_uint_eq(diff.delete_flows.n, 0);
    ck_assert_uint_eq(diff.add_groups.n, 0);
    ck_assert_uint_eq(diff.modify_groups.n, 1);
    ck_assert_str_eq(diff.modify_groups.names[0], find_group(1));
    ck_assert_uint_eq(diff.delete_groups.n, 0);
    flow_diff_uninit(&diff);

    /* A flow whose actions change is replaced, not deleted; what is deleted
     * goes by its match. */
    generate(BASE "," K8S("p", RULE_B) "," K8S("q", RULE_A));
    flow_set_diff(&old, &pw.set, &diff);
    ck_assert(svec_contains(
        &diff.add_flows,
        "cookie=0x5020000000000, table=IngressRule, priority=200,ip,"
        "nw_src=10.0.2.2 actions=conjunction(1,1/2),conjunction(2,1/2)"));
    ck_assert(!svec_contains(&diff.delete_flows, "table=IngressRule, "
                             "priority=200,ip,nw_src=10.0.2.2"));
    ck_assert(svec_contains(&diff.delete_flows,
                            "table=ServiceLB, priority=200,tcp,"
                            "reg4=0x10000/0x70000,nw_dst=10.96.0.1,"
                            "tp_dst=80"));
    ck_assert_uint_eq(diff.delete_groups.n, 1);
    ck_assert_str_eq(diff.delete_groups.names[0], "group_id=1");
    flow_diff_uninit(&diff);
    adp_flow_set_uninit(&old);
}
END_TEST

/* Sets of ports and addresses as masks, against counting. */

static void
count_port(uint16_t port, uint16_t mask, void *hits_)
{
    uint8_t *hits = hits_;

    ck_assert_uint_eq(port & ~mask, 0);
    for (uint32_t i = 0; i <= (uint16_t) ~mask; i++) {
        hits[port | i]++;
    }
}

static void
check_port_range(uint16_t first, uint16_t last)
{
    uint8_t *hits = xzalloc(65536);

    adp_port_range_to_masks(first, last, count_port, hits);
    for (uint32_t i = 0; i < 65536; i++) {
        if (hits[i] != (i >= first && i <= last)) {
            ck_abort_msg("port %"PRIu32" of %"PRIu16" to %"PRIu16, i, first,
                         last);
        }
    }
    free(hits);
}

START_TEST(port_ranges)
{
    uint32_t seed = getenv("ADP_SEED") ? atoi(getenv("ADP_SEED")) : 1;

    printf("seed %"PRIu32"\n", seed);
    random_set_seed(seed);
    check_port_range(0, 65535);
    check_port_range(1, 65535);
    check_port_range(1, 65534);
    check_port_range(65535, 65535);
    check_port_range(0, 0);
    for (int i = 0; i < 200; i++) {
        uint16_t a = random_uint16(), b = random_uint16();

        check_port_range(MIN(a, b), MAX(a, b));
    }
}
END_TEST

struct cidr_set {
    struct adp_cidr cidrs[256];
    size_t n;
};

static void
keep_cidr(const struct adp_cidr *cidr, void *set_)
{
    struct cidr_set *cs = set_;

    ck_assert_uint_lt(cs->n, ARRAY_SIZE(cs->cidrs));
    struct in6_addr mask = ipv6_create_mask(cidr->plen);
    struct in6_addr start = ipv6_addr_bitand(&cidr->ip, &mask);
    ck_assert(ipv6_addr_equals(&start, &cidr->ip));
    cs->cidrs[cs->n++] = *cidr;
}

static size_t
n_containing(const struct adp_cidr *cidrs, size_t n, uint32_t ip)
{
    struct adp_cidr host = { in6_addr_mapped_ipv4(htonl(ip)), 128 };
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        count += adp_cidr_contains(&cidrs[i], &host);
    }
    return count;
}

START_TEST(ip_blocks)
{
    uint32_t seed = getenv("ADP_SEED") ? atoi(getenv("ADP_SEED")) : 1;

    printf("seed %"PRIu32"\n", seed);
    random_set_seed(seed);
    for (int i = 0; i < 500; i++) {
        struct adp_cidr excepts[4];
        struct adp_ip_block block = {
            .cidr = { in6_addr_mapped_ipv4(htonl(0x0a000000)), 96 + 24 },
            .excepts = excepts,
            .n_excepts = random_range(5),
        };
        struct cidr_set cs = { .n = 0 };

        for (size_t j = 0; j < block.n_excepts; j++) {
            unsigned int plen = 24 + random_range(9);
            ovs_be32 ip = (htonl(0x0a000000 | random_range(256))
                           & be32_prefix_mask(plen));

            excepts[j] = (struct adp_cidr) { in6_addr_mapped_ipv4(ip),
                                             96 + plen };
        }
        adp_ip_block_to_cidrs(&block, keep_cidr, &cs);
        for (uint32_t ip = 0x09ffffff; ip <= 0x0a000100; ip++) {
            bool in = (n_containing(&block.cidr, 1, ip)
                       && !n_containing(excepts, block.n_excepts, ip));
            if (n_containing(cs.cidrs, cs.n, ip) != in) {
                ck_abort_msg("%08"PRIx32" in round %d", ip, i);
            }
        }
    }

    /* All of IPv4 but one address. */
    struct adp_cidr one = { in6_addr_mapped_ipv4(htonl(0xffffffff)), 128 };
    struct adp_ip_block all = { adp_cidr_any(ADP_IPV4), &one, 1 };
    struct cidr_set cs = { .n = 0 };
    adp_ip_block_to_cidrs(&all, keep_cidr, &cs);
    ck_assert_uint_eq(cs.n, 32);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("pipeline");
    TCase *tc = tcase_create("v1.15");

    /* Upstream tells of a match that it normalizes; there must be none. */
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    tcase_add_checked_fixture(tc, setup, pw_uninit);
    tcase_set_timeout(tc, 60);  /* For slow machines. */
    tcase_add_test(tc, static_flows_need_no_record);
    tcase_add_test(tc, meters_parse);
    tcase_add_test(tc, ports_come_and_go);
    tcase_add_test(tc, without_tunnel_the_host_routes);
    tcase_add_test(tc, service_group_and_dnat);
    tcase_add_test(tc, services_share_endpoints);
    tcase_add_test(tc, traffic_policies);
    tcase_add_test(tc, terminating_and_local_only_endpoints);
    tcase_add_test(tc, source_ranges);
    tcase_add_test(tc, nested_services);
    tcase_add_test(tc, without_proxy_all_only_cluster_ips);
    tcase_add_test(tc, session_affinity);
    tcase_add_test(tc, equal_clauses_are_shared);
    tcase_add_test(tc, node_passes_policies);
    tcase_add_test(tc, k8s_rule_without_peer_only_isolates);
    tcase_add_test(tc, k8s_policy_isolates_all_its_pods);
    tcase_add_test(tc, peers_and_services);
    tcase_add_test(tc, any_peer);
    tcase_add_test(tc, reject);
    tcase_add_test(tc, pass);
    tcase_add_test(tc, rules_for_pods_elsewhere_make_no_flows);
    tcase_add_test(tc, baseline_comes_after_isolation);
    tcase_add_test(tc, to_services);
    tcase_add_test(tc, source_ports);
    tcase_add_test(tc, admin_policies);
    tcase_add_test(tc, priorities_keep_their_order);
    tcase_add_test(tc, runs_out_of_baseline_priorities);
    tcase_add_test(tc, ids_are_stable);
    tcase_add_test(tc, differences);
    tcase_add_test(tc, port_ranges);
    tcase_add_test(tc, ip_blocks);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
