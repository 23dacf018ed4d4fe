/* SPDX-License-Identifier: Apache-2.0 */

/* Counters of policy rules and Services, out of those of the flows that the
 * built-in pipeline makes for them.  JSON is written with single quotes
 * here. */

#include <config.h>
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-table.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "pipeline-builtin.h"
#include "pipeline-l7.h"
#include "pipeline-metrics.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"

static const struct adp_pipeline *pipeline;
static struct adp_pipeline_state *state;
static struct adp_flow_set set;
static struct adp_metrics *metrics;
static struct ofputil_table_map tables;

static bool has_l7_ports;

static bool
port_number(const char *name, ofp_port_t *port, void *aux OVS_UNUSED)
{
    *port = u16_to_ofp(name[0]);
    return !strstr(name, "l7") || has_l7_ports;
}

static const struct adp_model_env env = {
    .port_number = port_number,
    .round = 5,
};

#define BASE \
    "{'kind':'NodeConfig','name':'n','gateway':" \
    "{'port':'g','mac':'00:00:00:00:00:01','ip':'10.0.0.1'}," \
    "'podCIDR':'10.0.0.0/24','transportIP':'192.168.0.1'}," \
    "{'kind':'Pod','name':'d/a','port':'a'," \
    "'mac':'00:00:00:00:00:0a','ips':['10.0.0.10']}," \
    "{'kind':'AppliedToGroup','name':'a','pods':['d/a']}," \
    "{'kind':'AppliedToGroup','name':'gone','pods':['d/gone']}," \
    "{'kind':'AddressGroup','name':'x','addresses':['10.0.2.2']}"
#define RULE(REST) "{'direction':'In','from':{'addressGroups':['x']}" REST "}"
#define K8S(NAME, GROUP, RULES) "{'kind':'NetworkPolicy','name':'" NAME "'," \
    "'type':'K8sNetworkPolicy','appliedToGroups':['" GROUP "']," \
    "'rules':[" RULES "]}"
#define ACNP(NAME, RULES) "{'kind':'NetworkPolicy','name':'" NAME "'," \
    "'type':'AntreaClusterNetworkPolicy','tierPriority':100," \
    "'priority':1,'appliedToGroups':['a'],'rules':[" RULES "]}"
#define SERVICE(REST) "{'kind':'Service','name':'d/s'," REST "}"

static void
setup(void)
{
    pipeline = adp_pipeline_find("v1.15");
    state = adp_pipeline_state_create();
    adp_flow_set_init(&set);
    metrics = NULL;
    adp_pipeline_init_table_map(pipeline, &tables);
}

static void
teardown(void)
{
    adp_metrics_destroy(metrics);
    adp_flow_set_uninit(&set);
    adp_pipeline_state_destroy(state);
    ofputil_table_map_destroy(&tables);
}

/* Makes the flows for the records, which nothing has been counted for. */
static void
load(const char *quoted)
{
    struct adp_model *model = adp_model_create();
    struct json *json = json_array_from_quoted(quoted);
    struct adp_error *error = adp_model_apply(model, json, NULL);

    ck_assert_msg(!error, "%s", error ? error->message : "");
    adp_flow_set_uninit(&set);
    adp_flow_set_init(&set);
    ck_assert(!adp_pipeline_generate(pipeline, model, state, &env, &set));
    /* What the IDs stand for lives on without the model. */
    adp_model_destroy(model);
    json_destroy(json);

    adp_metrics_destroy(metrics);
    metrics = adp_metrics_create(state);
}

/* What a flow counts. */
static enum adp_flow_metric
flow_metric(const char *flow, uint32_t *id)
{
    enum ofputil_protocol usable;
    struct ofputil_flow_mod fm;
    char *error = parse_ofp_flow_mod_str(&fm, flow, NULL, &tables, OFPFC_ADD,
                                         &usable);

    ck_assert_msg(!error, "%s: %s", flow, error);
    enum adp_flow_metric metric
        = pipeline->flow_metric(fm.table_id, ntohll(fm.new_cookie), &fm.match,
                                id);
    bool listed = (metric == ADP_METRIC_RULE_PASS
                   ? memchr(pipeline->pass_tables, fm.table_id,
                            pipeline->n_pass_tables)
                   : memchr(pipeline->metric_tables, fm.table_id,
                            pipeline->n_metric_tables));
    ck_assert_msg(!metric || listed, "%s", flow);
    minimatch_destroy(&fm.match);
    free(fm.ofpacts);
    return metric;
}

/* Packets go through flow 'flow', which is one of the set. */
static void
count(const char *flow, uint64_t n_packets)
{
    uint32_t id;
    enum adp_flow_metric metric = flow_metric(flow, &id);

    ck_assert_msg(metric, "%s", flow);
    adp_metrics_add_flow(metrics, metric, id, n_packets, n_packets * 100);
}

/* The same for the only flow that contains 'part'. */
static void
count_by(const char *part, uint64_t n_packets)
{
    const struct shash_node *node;
    const char *found = NULL;

    SHASH_FOR_EACH (node, &set.flows) {
        if (strstr(node->name, part)) {
            ck_assert_msg(!found, "two flows with %s", part);
            found = node->name;
        }
    }
    ck_assert_msg(found, "no flow with %s", part);
    count(found, n_packets);
}

/* How many flows count something, for rules that don't pass and have no L7
 * protocols. */
static size_t
n_counting(void)
{
    const struct shash_node *node;
    size_t n = 0;

    SHASH_FOR_EACH (node, &set.flows) {
        uint32_t id;

        enum adp_flow_metric metric = flow_metric(node->name, &id);
        n += (metric != ADP_METRIC_NONE && metric != ADP_METRIC_RULE_PASS
              && metric != ADP_METRIC_L7_DROPPED);
    }
    return n;
}

/* Takes 'json'. */
static void
expect_json(struct json *json, const char *quoted)
{
    struct json *expected = json_from_quoted(quoted);
    char *compact = json_to_string(json, 0);
    struct json *seen = json_from_string(compact);
    char *seen_s = json_to_string(seen, JSSF_SORT);
    char *expected_s = json_to_string(expected, JSSF_SORT);
    ck_assert_str_eq(seen_s, expected_s);
    free(expected_s);
    free(seen_s);
    json_destroy(seen);
    free(compact);
    json_destroy(expected);
    json_destroy(json);
}

START_TEST(nothing_counts_without_records)
{
    load(BASE);
    ck_assert_uint_eq(n_counting(), 0);
    expect_json(adp_metrics_rules(metrics), "[]");
    expect_json(adp_metrics_services(metrics, true), "[]");
}
END_TEST

/* IDs in the order of the rules' priorities: 1 is z's, 2 and 3 are k's. */
START_TEST(rules)
{
    load(BASE "," K8S("k", "a", RULE("") "," RULE(",'services':"
                                 "[{'protocol':'TCP','port':80}]"))
         "," ACNP("z", RULE(",'name':'NoX','action':'Drop'")));
    ck_assert_uint_eq(n_counting(), 5);

    count_by("ct_state=+new,ct_label=0x2/0xffffffff,ip ", 3);
    count_by("ct_state=-new,ct_label=0x2/0xffffffff,ip ", 7);
    count_by("table=IngressMetric, priority=210,reg0=0x400/0x400,reg3=0x1 ",
             5);
    expect_json(
        adp_metrics_rules(metrics),
        "[{'id':2,'policy':'k','direction':'In','number':1,'index':0,"
        "'action':'Allow',"
        "'sessions':3,'packets':10,'bytes':1000},"
        "{'id':3,'policy':'k','direction':'In','number':2,'index':1,"
        "'action':'Allow',"
        "'sessions':0,'packets':0,'bytes':0},"
        "{'id':1,'policy':'z','direction':'In','number':1,'index':0,"
        "'rule':'NoX',"
        "'action':'Drop','sessions':5,'packets':5,'bytes':500}]");
    expect_json(adp_metrics_services(metrics, true), "[]");
}
END_TEST

/* What a rule passes on its own flow counts, among those that others have, too:
 * those of Allow have counters elsewhere. */
START_TEST(passes)
{
    load(BASE "," ACNP("z", RULE("")));
    ck_assert(!adp_metrics_has_passes(metrics));

    load(BASE "," ACNP("y", RULE(",'action':'Pass'") ","
                       RULE(",'action':'Reject'")
                       "," RULE(",'services':[{'protocol':'UDP'}]")));
    ck_assert(adp_metrics_has_passes(metrics));
    count_by("table=AntreaPolicyIngressRule, priority=44980,conj_id=2 ", 4);
    count_by("table=IngressMetric, priority=210,reg0=0x400/0x400,reg3=0x3 ",
             5);
    count_by("table=AntreaPolicyIngressRule, priority=44978,conj_id=4,ip ",
             6);
    expect_json(
        adp_metrics_rules(metrics),
        "[{'id':2,'policy':'y','direction':'In','number':1,'index':0,"
        "'action':'Pass',"
        "'sessions':4,'packets':4,'bytes':400},"
        "{'id':3,'policy':'y','direction':'In','number':2,'index':1,"
        "'action':'Reject',"
        "'sessions':5,'packets':5,'bytes':500},"
        "{'id':4,'policy':'y','direction':'In','number':3,'index':2,"
        "'action':'Allow',"
        "'sessions':0,'packets':0,'bytes':0}]");
}
END_TEST

START_TEST(egress_rules)
{
    load(BASE "," K8S("k", "a", "{'direction':'Out','to':"
                      "{'addressGroups':['x']}}"));
    ck_assert_uint_eq(n_counting(), 2);
    count_by("ct_state=+new,ct_label=0x100000000/0xffffffff00000000,ip ", 2);
    count_by("ct_state=-new,ct_label=0x100000000/0xffffffff00000000,ip ", 1);
    expect_json(
        adp_metrics_rules(metrics),
        "[{'id':1,'policy':'k','direction':'Out','number':1,'index':0,"
        "'action':'Allow',"
        "'sessions':2,'packets':3,'bytes':300}]");
}
END_TEST

/* Only isolates, or is for Pods elsewhere. */
START_TEST(rules_without_flows)
{
    load(BASE "," K8S("isolates", "a", "{'direction':'In'}")
         "," K8S("elsewhere", "gone", RULE("")));
    ck_assert_uint_eq(n_counting(), 0);
    expect_json(adp_metrics_rules(metrics), "[]");
}
END_TEST

/* A rule that moves within its policy keeps its ID and so its flows. */
START_TEST(rules_move)
{
    load(BASE "," K8S("k", "a", RULE("")));
    load(BASE "," K8S("k", "a", RULE(",'name':'new'") "," RULE("")));
    count_by("ct_state=+new,ct_label=0x1/0xffffffff,ip ", 3);
    expect_json(
        adp_metrics_rules(metrics),
        "[{'id':2,'policy':'k','direction':'In','number':1,'index':0,"
        "'rule':'new',"
        "'action':'Allow','sessions':0,'packets':0,'bytes':0},"
        "{'id':1,'policy':'k','direction':'In','number':2,'index':1,"
        "'action':'Allow',"
        "'sessions':3,'packets':3,'bytes':300}]");
}
END_TEST

/* One Service, reached at four addresses, with two groups: connections from
 * outside stay on the Node. */
START_TEST(service)
{
    static const uint64_t all[] = { 20, 3 };
    static const uint64_t local[] = { 4 };

    load(BASE "," SERVICE(
             "'clusterIP':'10.96.0.1','externalIPs':['1.1.1.1'],"
             "'externalTrafficPolicy':'Local',"
             "'ports':[{'port':80,'nodePort':30000,'endpoints':["
             "{'ip':'10.0.1.1','port':8080},"
             "{'ip':'10.0.0.10','port':8081,'local':true}]},"
             "{'port':53,'protocol':'UDP'}]"));
    ck_assert_uint_eq(n_counting(), 8);

    count_by("priority=200,tcp,reg4=0x10000/0x70000,nw_dst=10.96.0.1,", 20);
    count_by("priority=210,tcp,reg4=0x10010000/0x10070000,nw_dst=1.1.1.1,", 3);
    count_by("priority=200,tcp,reg4=0x90000/0xf0000,tp_dst=30000 ", 4);
    adp_metrics_add_group(metrics, 1, all, 2);
    adp_metrics_add_group(metrics, 2, local, 1);
    expect_json(
        adp_metrics_services(metrics, true),
        "[{'service':'d/s','port':80,'protocol':'TCP','sessions':27,"
        "'affinity_sessions':0,'endpoints':["
        "{'ip':'10.0.1.1','port':8080,'sessions':20},"
        "{'ip':'10.0.0.10','port':8081,'sessions':7}]},"
        "{'service':'d/s','port':53,'protocol':'UDP','sessions':0,"
        "'affinity_sessions':0,'endpoints':[]}]");
    expect_json(
        adp_metrics_services(metrics, false),
        "[{'service':'d/s','port':80,'protocol':'TCP','sessions':27,"
        "'affinity_sessions':0},"
        "{'service':'d/s','port':53,'protocol':'UDP','sessions':0,"
        "'affinity_sessions':0}]");
    expect_json(adp_metrics_rules(metrics), "[]");
}
END_TEST

/* The flow that remembers the endpoint doesn't count a connection again; the
 * one that was learned counts those that know their endpoint. */
START_TEST(service_with_affinity)
{
    load(BASE "," SERVICE(
             "'clusterIP':'10.96.0.1','sessionAffinity':{'timeoutSeconds':9},"
             "'ports':[{'port':80,'endpoints':["
             "{'ip':'10.0.1.1','port':8080}]}]"));
    ck_assert_uint_eq(n_counting(), 1);
    count_by("priority=200,tcp,reg4=0x10000/0x70000,nw_dst=10.96.0.1,", 2);
    count("cookie=0x5030000000001, table=SessionAffinity, priority=200,tcp,"
          "nw_dst=10.96.0.1,nw_src=10.0.0.9,tp_dst=80 actions=drop", 30);
    expect_json(
        adp_metrics_services(metrics, false),
        "[{'service':'d/s','port':80,'protocol':'TCP','sessions':2,"
        "'affinity_sessions':30}]");
}
END_TEST

/* What clients outside the source ranges send is counted. */
START_TEST(service_with_ranges)
{
    load(BASE "," SERVICE(
             "'loadBalancerIPs':['1.1.1.1'],"
             "'loadBalancerSourceRanges':['192.0.2.0/24'],"
             "'ports':[{'port':80,'endpoints':["
             "{'ip':'10.0.1.1','port':8080,'terminating':true},"
             "{'ip':'10.0.1.2','port':8080}]}]"));
    static const uint64_t chosen[] = { 5 };

    count_by("table=ServiceLB, priority=180,tcp,nw_dst=1.1.1.1,", 7);
    count_by("priority=200,tcp,reg4=0x10000/0x70000,nw_dst=1.1.1.1,", 5);
    adp_metrics_add_group(metrics, 1, chosen, 1);
    expect_json(
        adp_metrics_services(metrics, true),
        "[{'service':'d/s','port':80,'protocol':'TCP','sessions':5,"
        "'affinity_sessions':0,'refused':7,'endpoints':["
        "{'ip':'10.0.1.1','port':8080,'sessions':0},"
        "{'ip':'10.0.1.2','port':8080,'sessions':5}]}]");
}
END_TEST

/* VLANs in the order of the rules' priorities. */
START_TEST(l7_rules)
{
    static const char records[] = BASE "," ACNP(
        "z", RULE(",'action':'Drop'") "," RULE(
            ",'name':'Ask','services':[{'protocol':'TCP','port':80}],"
            "'l7Protocols':[{'http':{'path':'/a*'}},{'tls':{}}]") ","
        "{'direction':'Out','l7Protocols':[{'tls':{'sni':'x'}}]}");

    load(records);
    expect_json(
        adp_l7_rules(state),
        "[{'vlan':1,'policy':'z','direction':'Out','number':1,"
        "'protocols':[{'tls':{'sni':'x'}}]},"
        "{'vlan':2,'policy':'z','direction':'In','number':2,'rule':'Ask',"
        "'protocols':[{'http':{'path':'/a*'}},{'tls':{}}]}]");
    ck_assert_uint_eq(adp_l7_n_rules(state), 2);
    char *text = adp_pipeline_describe_vlan(state, 2);
    ck_assert_str_eq(text, "ClusterNetworkPolicy z, rule 2 Ask (Allow)");
    free(text);
    ck_assert(!adp_pipeline_describe_vlan(state, 3));

    count_by("table=Output, priority=213,", 7);
    expect_json(adp_metrics_l7(metrics),
                "{'redirected':0,'returned':0,'dropped':7}");

    has_l7_ports = true;
    load(records);
    count_by("table=Output, priority=212,", 5);
    count_by("vlan_tci=0x1000/0x1000", 3);
    expect_json(adp_metrics_l7(metrics),
                "{'redirected':5,'returned':3,'dropped':0}");
    has_l7_ports = false;

    load(BASE);
    expect_json(adp_l7_rules(state), "[]");
    ck_assert_uint_eq(adp_l7_n_rules(state), 0);
}
END_TEST

/* More buckets than endpoints, and what nobody knows: left out. */
START_TEST(strange_groups_and_flows)
{
    static const uint64_t packets[] = { 1, 2, 3 };

    load(BASE "," SERVICE(
             "'clusterIP':'10.96.0.1','ports':[{'port':80,'endpoints':["
             "{'ip':'10.0.1.1','port':8080}]}]"));
    adp_metrics_add_group(metrics, 1, packets, 3);
    adp_metrics_add_group(metrics, 77, packets, 3);
    adp_metrics_add_flow(metrics, ADP_METRIC_SERVICE, 77, 1, 1);
    adp_metrics_add_flow(metrics, ADP_METRIC_RULE_FIRST, 1, 1, 1);
    expect_json(
        adp_metrics_services(metrics, true),
        "[{'service':'d/s','port':80,'protocol':'TCP','sessions':0,"
        "'affinity_sessions':0,'endpoints':["
        "{'ip':'10.0.1.1','port':8080,'sessions':1}]}]");
    expect_json(adp_metrics_rules(metrics), "[]");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tc = tcase_create("v1.15");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, nothing_counts_without_records);
    tcase_add_test(tc, rules);
    tcase_add_test(tc, passes);
    tcase_add_test(tc, egress_rules);
    tcase_add_test(tc, rules_without_flows);
    tcase_add_test(tc, rules_move);
    tcase_add_test(tc, service);
    tcase_add_test(tc, service_with_affinity);
    tcase_add_test(tc, service_with_ranges);
    tcase_add_test(tc, l7_rules);
    tcase_add_test(tc, strange_groups_and_flows);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
