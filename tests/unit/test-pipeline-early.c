/* SPDX-License-Identifier: Apache-2.0 */

/* What pipeline early makes of records, beyond what the conformance tests show
 * with the documents' listings: its options one by one, what it refuses, and
 * what it leaves alone. */

#include <config.h>
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include "engine.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-table.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "pipeline-builtin.h"
#include "pipeline-world.h"
#include "svec.h"
#include "test-run.h"
#include "util.h"

#define SERVICE_NODE NODE_WITH("'tunnel':{'port':'tun0'}," \
                               "'serviceCIDR':'10.96.0.0/12',")
#define WORLD SERVICE_NODE "," PODS "," PEER "," GROUPS
#define K8S(NAME, APPLIED_TO, RULES) "{'kind':'NetworkPolicy','name':'" NAME \
    "','type':'K8sNetworkPolicy','appliedToGroups':['" APPLIED_TO "']," \
    "'rules':[" RULES "]}"
#define IN_FROM_X "{'direction':'In','from':{'addressGroups':['x']}," \
    "'services':[{'protocol':'TCP','port':80}]}"
#define OUT_TO_X "{'direction':'Out','to':{'addressGroups':['x']}," \
    "'services':[{'protocol':'TCP','port':80}]}"

static void
setup(void)
{
    pw_init(adp_pipeline_find("early"));
}

/* Flow texts in a set, sorted. */
static void
get_flows(struct svec *flows)
{
    const struct shash_node *node;

    svec_init(flows);
    SHASH_FOR_EACH (node, &pw.set.flows) {
        svec_add(flows, strstr(node->name, "table="));
    }
    svec_sort(flows);
}

/* With the one option 'name', exactly the flows 'gone' become 'come' (each one
 * a line). */
static void
expect_option(const char *name, const char *records, const char *gone,
              const char *come)
{
    struct svec before, after, only_before, only_after;

    pw_set_options("");
    generate(records);
    get_flows(&before);
    pw_set_options(name);
    generate(records);
    check_set();
    get_flows(&after);

    svec_diff(&before, &after, &only_before, NULL, &only_after);
    char *b = svec_join(&only_before, "\n", "");
    char *a = svec_join(&only_after, "\n", "");
    ck_assert_msg(!strcmp(b, gone), "%s: gone: %s", name, b);
    ck_assert_msg(!strcmp(a, come), "%s: come: %s", name, a);
    free(a);
    free(b);
    svec_destroy(&only_after);
    svec_destroy(&only_before);
    svec_destroy(&after);
    svec_destroy(&before);
}

START_TEST(static_flows_need_no_record)
{
    check_static();
    ck_assert(!find_flow("table=Conntrack, priority=0"));
    pw_set_options("walk");
    check_static();
}
END_TEST

START_TEST(option_by_option)
{
    expect_option("tunnel-metadata", WORLD,
        "table=Classifier, priority=200,in_port=1 "
        "actions=load:0->NXM_NX_REG0[0..15],resubmit(,Conntrack)",
        "table=Classifier, priority=200,in_port=1 "
        "actions=move:NXM_NX_TUN_METADATA0[28..31]->NXM_NX_REG9[28..31],"
        "load:0->NXM_NX_REG0[0..15],resubmit(,Conntrack)");
    expect_option("tunnel-mark", WORLD,
        "table=Classifier, priority=200,in_port=1 "
        "actions=load:0->NXM_NX_REG0[0..15],resubmit(,Conntrack)",
        "table=Classifier, priority=200,in_port=1 "
        "actions=load:0->NXM_NX_REG0[0..15],load:0x1->NXM_NX_REG0[19],"
        "resubmit(,Conntrack)");
    expect_option("invalid-last", WORLD,
        "table=ConntrackState, priority=200,ct_state=+inv+trk,ip actions=drop",
        "table=ConntrackState, priority=190,ct_state=+inv+trk,ip "
        "actions=drop");
    expect_option("service-mac", WORLD,
        "table=DNAT, priority=200,ip,nw_dst=10.96.0.0/12 "
        "actions=load:0x2->NXM_NX_REG1[],load:0x1->NXM_NX_REG0[16],"
        "resubmit(,ConntrackCommit)",
        "table=DNAT, priority=200,ip,nw_dst=10.96.0.0/12 "
        "actions=mod_dl_dst:00:00:00:00:00:01,load:0x2->NXM_NX_REG1[],"
        "load:0x1->NXM_NX_REG0[16],resubmit(,ConntrackCommit)");
    expect_option("rule-registers",
        WORLD "," K8S("p", "a", IN_FROM_X "," OUT_TO_X),
        "table=EgressRule, priority=190,conj_id=2,ip "
        "actions=resubmit(,L3Forwarding)\n"
        "table=IngressRule, priority=190,conj_id=1,ip "
        "actions=resubmit(,ConntrackCommit)",
        "table=EgressRule, priority=190,conj_id=2,ip "
        "actions=load:0x2->NXM_NX_REG5[],resubmit(,L3Forwarding)\n"
        "table=IngressRule, priority=190,conj_id=1,ip "
        "actions=load:0x1->NXM_NX_REG6[],resubmit(,ConntrackCommit)");
    expect_option("no-tunnel-mac", WORLD,
        "table=L2ForwardingCalc, priority=200,dl_dst=aa:bb:cc:dd:ee:ff "
        "actions=load:0x1->NXM_NX_REG1[],load:0x1->NXM_NX_REG0[16],"
        "resubmit(,IngressRule)", "");
}
END_TEST

/* Besides isolating, the rule has an ID, whose second dimension is empty. */
START_TEST(isolation_rules)
{
    const char *records = WORLD "," K8S("p", "a", "{'direction':'In'},"
                                        "{'direction':'Out'}");

    expect_option("isolation-rules", records, "",
        "table=EgressRule, priority=190,conj_id=2,ip "
        "actions=resubmit(,L3Forwarding)\n"
        "table=EgressRule, priority=200,ip,nw_src=10.0.0.10 "
        "actions=conjunction(2,1/2)\n"
        "table=IngressRule, priority=190,conj_id=1,ip "
        "actions=resubmit(,ConntrackCommit)\n"
        "table=IngressRule, priority=200,ip,reg1=0xa "
        "actions=conjunction(1,2/2)");
    expect_flow("table=EgressDefault, priority=200,ip,nw_src=10.0.0.10 "
                "actions=drop");
    expect_flow("table=IngressDefault, priority=200,ip,reg1=0xa "
                "actions=drop");
}
END_TEST

START_TEST(option_lists)
{
    const struct adp_pipeline *v115 = adp_pipeline_find("v1.15");
    uint64_t options, walk;
    struct ds s = DS_EMPTY_INITIALIZER;

    ck_assert(!adp_pipeline_parse_options(pw.pipeline, "walk", &walk));
    ck_assert_uint_eq(walk, (UINT64_C(1) << pw.pipeline->n_options) - 1);

    /* Order, blanks and repetitions don't matter. */
    ck_assert(!adp_pipeline_parse_options(
                  pw.pipeline, ", service-mac,tunnel-mark service-mac,",
                  &options));
    adp_pipeline_format_options(pw.pipeline, options, &s);
    ck_assert_str_eq(ds_cstr(&s), "tunnel-mark, service-mac");
    uint64_t again;
    ck_assert(!adp_pipeline_parse_options(pw.pipeline, ds_cstr(&s), &again));
    ck_assert_uint_eq(again, options);
    ds_destroy(&s);

    ck_assert(!adp_pipeline_parse_options(pw.pipeline, "", &options));
    ck_assert_uint_eq(options, 0);

    char *error = adp_pipeline_parse_options(pw.pipeline, "walk,wlak",
                                             &options);
    ck_assert_str_eq(error, "pipeline early has no option \"wlak\" (there "
                     "are: tunnel-metadata, tunnel-mark, invalid-last, "
                     "service-mac, rule-registers, isolation-rules, "
                     "no-tunnel-mac, walk)");
    free(error);
    error = adp_pipeline_parse_options(v115, "walk", &options);
    ck_assert_str_eq(error, "pipeline v1.15 has no option \"walk\" (there are: "
                     "probe-mark, packet-in, egress-snat, dsr, multicast)");
    free(error);

    struct adp_pipeline bare = *v115;
    bare.n_options = 0;
    error = adp_pipeline_parse_options(&bare, "walk", &options);
    ck_assert_str_eq(error, "pipeline v1.15 has no option \"walk\" (there are "
                     "none)");
    free(error);
}
END_TEST

/* Ports that are gone take their flows along, but nothing else. */
START_TEST(ports_come_and_go)
{
    pw_set_options("walk");
    generate(WORLD "," K8S("p", "a", IN_FROM_X));
    check_set();
    ck_assert(find_flow("in_port=10 "));
    ck_assert(find_flow("nw_dst=10.0.1.0/24"));

    pw.ports[PW_A].number = 0;
    pw.ports[PW_TUNNEL].number = 0;
    generate(WORLD "," K8S("p", "a", IN_FROM_X));
    check_set();
    ck_assert_uint_eq(count_flows("in_port=10"), 0);
    ck_assert_uint_eq(count_flows("reg1=0xa"), 0);
    ck_assert_uint_eq(count_flows("in_port=1 "), 0);
    /* Nothing can be sent to a peer, but it is answered for. */
    ck_assert_uint_eq(count_flows("nw_dst=10.0.1.0/24"), 0);
    ck_assert(find_flow("table=ARPResponder, priority=200"));
    /* The Pod's address stays routed. */
    ck_assert(find_flow("nw_dst=10.0.0.10 "));

    pw.ports[PW_GATEWAY].number = 0;
    generate(WORLD);
    check_set();
    ck_assert_uint_eq(count_flows("table=DNAT, "), 1);
    ck_assert_uint_eq(count_flows("in_port=2"), 0);
}
END_TEST

START_TEST(without_tunnel_the_host_routes)
{
    generate(NODE_WITH("") "," PODS "," PEER);
    check_set();
    ck_assert_uint_eq(count_flows("table=ARPResponder, "), 2);
    ck_assert_uint_eq(count_flows("10.0.1."), 0);
    ck_assert_uint_eq(count_flows("table=L2ForwardingCalc, priority=200"), 3);
}
END_TEST

START_TEST(services_are_left_alone)
{
    generate(WORLD);
    size_t n = shash_count(&pw.set.flows);
    generate(WORLD ",{'kind':'Service','name':'d/s','clusterIP':'10.96.0.1',"
             "'ports':[{'port':80,'nodePort':30000,"
             "'endpoints':[{'ip':'10.0.0.10','port':80}]}]}");
    ck_assert_uint_eq(shash_count(&pw.set.flows), n);
    ck_assert_uint_eq(shash_count(&pw.set.groups), 0);
}
END_TEST

#define FAMILIES(IP, CIDR, TRANSPORT) "{'kind':'NodeConfig','name':'n'," \
    "'gateway':{'port':'gw0','mac':'00:00:00:00:00:01','ip':" IP "}," \
    "'tunnel':{'port':'tun0'},'podCIDR':" CIDR ",'transportIP':'" TRANSPORT \
    "'}"
#define BOTH FAMILIES("['fd00::1','10.0.0.1']", "['fd00::/64','10.0.0.0/24']", \
                      "192.168.0.1")
#define PEER_WITH(TRANSPORT) "{'kind':'PeerNode','name':'p'," \
    "'podCIDR':['10.0.1.0/24','fd01::/64']," \
    "'gatewayIP':['10.0.1.1','fd01::1'],'transportIP':'" TRANSPORT "'}"

/* Of both families the IPv4 part: the flows of a Node that has only that. */
START_TEST(ipv6_is_left_out)
{
    struct svec only, both;

    generate(NODE "," PODS "," PEER);
    get_flows(&only);
    generate(BOTH "," PEER_WITH("192.168.0.2")
             ",{'kind':'Pod','name':'d/a','port':'a','mac':"
             "'00:00:00:00:00:0a','ips':['fd00::10','10.0.0.10']},"
             "{'kind':'Pod','name':'d/b','port':'b','mac':"
             "'00:00:00:00:00:0b','ips':['10.0.0.11','fd00::11']}");
    get_flows(&both);
    ck_assert(svec_equal(&only, &both));
    ck_assert_uint_eq(count_flows("v6"), 0);
    svec_destroy(&only);
    svec_destroy(&both);
}
END_TEST

START_TEST(ipv6_alone_is_refused)
{
    static const char *const cases[][2] = {
        { FAMILIES("'fd00::1'", "'fd00::/64'", "192.168.0.1"),
          "NodeConfig n: gateway.ip: pipeline early has no flows for IPv6" },
        { FAMILIES("'10.0.0.1'", "'10.0.0.0/24'", "fdc0::1"),
          "NodeConfig n: transportIP: pipeline early has no flows for IPv6" },
        { BOTH "," PEER_WITH("fdc0::2"),
          "PeerNode p: transportIP: pipeline early has no flows for IPv6" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct adp_error *error = try_generate(cases[i][0]);

        ck_assert(error);
        ck_assert_str_eq(error->message, cases[i][1]);
        adp_error_destroy(error);
    }
}
END_TEST

START_TEST(policies_of_antrea_are_refused)
{
    static const struct {
        const char *type;
        const char *message;
    } cases[] = {
        { "AntreaClusterNetworkPolicy",
          "NetworkPolicy p: type: pipeline early "
          "has no tables for policies of type AntreaClusterNetworkPolicy" },
        { "AntreaNetworkPolicy",
          "NetworkPolicy p: type: pipeline early "
          "has no tables for policies of type AntreaNetworkPolicy" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *records = xasprintf(
            WORLD ",{'kind':'NetworkPolicy','name':'p','type':'%s',"
            "'tierPriority':250,'priority':5,'appliedToGroups':['a'],"
            "'rules':[{'direction':'In','action':'Drop'}]},"
            K8S("q", "a", IN_FROM_X), cases[i].type);
        struct adp_error *error = try_generate(records);

        ck_assert(error);
        ck_assert_str_eq(error->code, "invalid");
        ck_assert_str_eq(error->object, "NetworkPolicy p");
        ck_assert_str_eq(error->field, "type");
        ck_assert_str_eq(error->message, cases[i].message);
        adp_error_destroy(error);
        free(records);
    }
}
END_TEST

/* Rules of all policies have one priority, and share flows. */
START_TEST(equal_clauses_are_shared)
{
    generate(WORLD "," K8S("p", "a", IN_FROM_X) "," K8S("q", "a", IN_FROM_X));
    check_set();
    expect_flow("table=IngressRule, priority=200,ip,nw_src=10.0.2.2 "
                "actions=conjunction(1,1/3),conjunction(2,1/3)");
    expect_flow("table=IngressRule, priority=200,ip,reg1=0xa "
                "actions=conjunction(1,2/3),conjunction(2,2/3)");
    expect_flow("table=IngressRule, priority=200,tcp,tp_dst=80 "
                "actions=conjunction(1,3/3),conjunction(2,3/3)");
}
END_TEST

/* 'n' policies of the same Pod. */
static struct adp_error *
generate_policies(int n)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, WORLD);
    for (int i = 0; i < n; i++) {
        ds_put_format(&s, ",{'kind':'NetworkPolicy','name':'p%d',"
                      "'type':'K8sNetworkPolicy','appliedToGroups':['a'],"
                      "'rules':[" IN_FROM_X "]}", i);
    }
    struct adp_error *error = try_generate(ds_cstr(&s));
    ds_destroy(&s);
    return error;
}

/* A flow with all conjunctions of one priority must fit a message; rules
 * beyond that have the next priority, below established connections. */
START_TEST(many_rules)
{
    ck_assert(!generate_policies(3000));
    ck_assert_uint_eq(count_flows("tcp,tp_dst=80 "), 1);
    ck_assert(!generate_policies(30000));
    check_set();
    ck_assert_uint_eq(count_flows("tcp,tp_dst=80 "), 10);
    ck_assert(find_flow("table=IngressRule, priority=209,tcp,tp_dst=80 "));

    struct adp_error *error = generate_policies(30001);
    ck_assert(error);
    ck_assert_str_eq(error->code, "limit");
    ck_assert(strstr(error->message, "table IngressRule has too many rules"));
    adp_error_destroy(error);
}
END_TEST

/* What a rule is counted by: the flow that its first packets hit. */
START_TEST(rules_are_counted)
{
    struct ofputil_table_map tables;
    const struct shash_node *node;
    size_t n_rules = 0;

    generate(WORLD "," K8S("p", "a", IN_FROM_X "," OUT_TO_X));
    put_table_names(&tables);
    SHASH_FOR_EACH (node, &pw.set.flows) {
        enum ofputil_protocol usable;
        struct ofputil_flow_mod fm;
        uint32_t id;

        char *error = parse_ofp_flow_mod_str(&fm, node->name, NULL, &tables,
                                             OFPFC_ADD, &usable);
        ck_assert_msg(!error, "%s", error);
        for (size_t i = 0; i < pw.pipeline->n_metric_tables; i++) {
            if (fm.table_id == pw.pipeline->metric_tables[i]
                && pw.pipeline->flow_metric(fm.table_id,
                                            ntohll(fm.new_cookie),
                                            &fm.match, &id)) {
                char *text = adp_pipeline_describe_conj(pw.state, id);

                ck_assert_msg(strstr(node->name, "conj_id="), "%s",
                              node->name);
                ck_assert_str_eq(text, "K8s NetworkPolicy p, rule 1 (Allow)");
                free(text);
                n_rules++;
            }
        }
        minimatch_destroy(&fm.match);
        free(fm.ofpacts);
    }
    ofputil_table_map_destroy(&tables);
    ck_assert_uint_eq(n_rules, 2);
}
END_TEST

/* Packets. */

#define FROM_A "tcp,in_port=3,dl_src=00:00:00:00:00:0a," \
    "nw_src=10.0.0.10,nw_ttl=64,tp_src=1000,"
#define TO_SERVICE FROM_A "dl_dst=00:00:00:00:00:01,nw_dst=10.96.0.1,tp_dst=80"
#define TO_PEER FROM_A "dl_dst=00:00:00:00:00:01,nw_dst=10.0.1.5,tp_dst=80"
#define TO_B FROM_A "dl_dst=00:00:00:00:00:0b,nw_dst=10.0.0.11,tp_dst=80"

#define ARP_FROM(MAC) "arp,in_port=3,dl_src=" MAC ",arp_op=1," \
    "arp_spa=10.0.0.10,arp_tpa=10.0.0.77,arp_sha=00:00:00:00:00:0a"

/* The tables that 'packet' meets, in a bridge of 'records' where its ct_state
 * is 'ct_state' and its ct_mark is 'ct_mark'. */
static char *
hits(const char *records, const char *packet, uint32_t ct_state,
     uint32_t ct_mark)
{
    struct ofputil_table_map tables;
    struct engine *e = engine_create();

    pw.ports[PW_A].number = 3;  /* As the engine's ports. */
    pw.ports[PW_B].number = 4;
    pw.ports[PW_TUNNEL].number = 10;
    generate(records);
    put_table_names(&tables);
    engine_add_flow_set(e, &pw.set, &tables);
    ofputil_table_map_destroy(&tables);
    engine_set_ct(e, 65520, ct_state)->ct_mark = ct_mark;

    engine_run(e, packet);
    char *result = xstrdup(engine_hits(e));
    engine_destroy(e);
    return result;
}

static void
expect_hits(const char *records, const char *packet, uint32_t ct_state,
            uint32_t ct_mark, const char *expected)
{
    char *s = hits(records, packet, ct_state, ct_mark);

    ck_assert_str_eq(s, expected);
    free(s);
}

START_TEST(packets)
{
    const uint32_t new = CS_TRACKED | CS_NEW;
    const uint32_t old = CS_TRACKED | CS_ESTABLISHED;
    const char *deny = WORLD "," K8S("p", "a", "{'direction':'Out'}");

    /* To a Service: by the gateway, past the policies. */
    expect_hits(deny, TO_SERVICE, new, 0, "0:190 10:200 30:200 31:0 40:200 "
                "105:190 110:200");
    /* To a Pod elsewhere: past the tables for ingress. */
    expect_hits(WORLD, TO_PEER, new, 0, "0:190 10:200 30:200 31:0 40:0 50:0 "
                "60:0 70:200 105:190 110:200");
    expect_hits(deny, TO_PEER, new, 0, "0:190 10:200 30:200 31:0 40:0 50:0 "
                "60:200");
    expect_hits(deny, TO_PEER, old, 0, "0:190 10:200 30:200 31:0 40:0 50:210 "
                "70:200 105:0 110:200");
    /* A reply in a connection that came by the gateway goes back there. */
    expect_hits(WORLD, TO_B, old | CS_REPLY_DIR, 0x20, "0:190 10:200 30:200 "
                "31:200 40:0 50:210 70:0 80:200 90:210 105:0 110:200");
    expect_hits(WORLD, TO_B, CS_TRACKED | CS_INVALID, 0, "0:190 10:200 30:200 "
                "31:200");

    /* ARP in its own name, from its own MAC, is for NORMAL, which isn't
     * compiled. */
    expect_hits(WORLD, ARP_FROM("00:00:00:00:00:0a"), 0, 0, "");
    expect_hits(WORLD, ARP_FROM("00:00:00:00:00:0b"), 0, 0, "0:190 10:0");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("pipeline-early");
    TCase *tc = tcase_create("early");

    /* Upstream tells of a match that it normalizes; there must be none. */
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    tcase_add_checked_fixture(tc, setup, pw_uninit);
    tcase_set_timeout(tc, 60);  /* For slow machines. */
    tcase_add_test(tc, static_flows_need_no_record);
    tcase_add_test(tc, option_by_option);
    tcase_add_test(tc, isolation_rules);
    tcase_add_test(tc, option_lists);
    tcase_add_test(tc, ports_come_and_go);
    tcase_add_test(tc, without_tunnel_the_host_routes);
    tcase_add_test(tc, services_are_left_alone);
    tcase_add_test(tc, ipv6_is_left_out);
    tcase_add_test(tc, ipv6_alone_is_refused);
    tcase_add_test(tc, policies_of_antrea_are_refused);
    tcase_add_test(tc, equal_clauses_are_shared);
    tcase_add_test(tc, many_rules);
    tcase_add_test(tc, rules_are_counted);
    tcase_add_test(tc, packets);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
