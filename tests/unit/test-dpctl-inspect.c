/* SPDX-License-Identifier: Apache-2.0 */

/* Which rules are decided in which order for a Pod, which flows are about
 * what, and what is well, of made-up records, flows and answers. */

#include <config.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "byte-order.h"
#include "dpctl-flow-filter.h"
#include "dpctl-health.h"
#include "dpctl-json.h"
#include "dpctl-ovsdb.h"
#include "dpctl-pod-view.h"
#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-port.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"

/* A Pod. */

#define POD "{'kind':'Pod','name':'d/web','port':'p','mac':" \
            "'0a:00:00:00:00:01','ips':['10.0.0.1','fd00::1']}"
#define GROUPS "{'kind':'AppliedToGroup','name':'g','pods':['d/web','d/x']}," \
               "{'kind':'AppliedToGroup','name':'other','pods':['d/x']}"
#define POLICY(TYPE, NAME, TIER, PRIORITY, GROUP, RULES)                  \
    "{'kind':'NetworkPolicy','name':'" TYPE ":" NAME "','type':'" TYPE    \
    "','tierPriority':" TIER ",'priority':" PRIORITY                      \
    ",'appliedToGroups':['" GROUP "'],'rules':[" RULES "]}"
#define K8S(NAME, GROUP, RULES)                                           \
    "{'kind':'NetworkPolicy','name':'K8sNetworkPolicy:" NAME              \
    "','type':'K8sNetworkPolicy','appliedToGroups':['" GROUP              \
    "'],'rules':[" RULES "]}"
#define ANTREA(NAME, TIER, PRIORITY, RULES) \
    POLICY("AntreaNetworkPolicy", NAME, TIER, PRIORITY, "g", RULES)
#define IN(NAME) "{'name':'" NAME "','direction':'In'}"
#define IN_FROM(NAME) "{'name':'" NAME "','direction':'In','from':" \
                      "{'addressGroups':['a']}}"

static struct json *
view(const char *records, const char *stats)
{
    char *text = xasprintf("[%s]", records);
    struct json *pod = json_from_quoted(POD);
    struct json *array = json_from_quoted(text);
    struct json *counters = stats ? json_from_quoted(stats) : NULL;
    struct json *result = dpctl_pod_view(&(struct dpctl_pod_facts) {
        .pod = pod, .records = json_array(array), .stats = counters,
    });

    json_destroy(pod);
    json_destroy(array);
    json_destroy(counters);
    free(text);
    return result;
}

/* The rules of one direction by their names, and who isolates the Pod. */
static void
expect_rules(const char *records, const char *way, const char *expected)
{
    struct json *v = view(records, NULL);
    const struct json *w = dpctl_json_member(v, way);
    const struct json_array *rules = dpctl_json_array(w, "rules");
    const struct json_array *by = dpctl_json_array(w, "isolated_by");
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < rules->n; i++) {
        ds_put_format(&s, "%s%s%s", i ? " " : "",
                      dpctl_json_str(rules->elems[i], "rule"),
                      dpctl_json_bool(rules->elems[i], "asked", true)
                      ? "" : "-");
    }
    for (size_t i = 0; i < by->n; i++) {
        ds_put_format(&s, " | %s", json_string(by->elems[i]));
    }
    ck_assert_str_eq(ds_cstr(&s), expected);
    ds_destroy(&s);
    json_destroy(v);
}

START_TEST(order_of_rules)
{
    expect_rules(GROUPS ","
                 ANTREA("base", "253", "1", IN("base")) ","
                 K8S("d/k", "g", IN_FROM("kube")) ","
                 ANTREA("b", "250", "5", IN("b1") "," IN("b2")) ","
                 ANTREA("a", "250", "5", IN("a1") "," IN("a2")) ","
                 ANTREA("half", "250", "4.5", IN("half")) ","
                 ANTREA("early", "50", "9", IN("early")),
                 "ingress",
                 "early half a1 b1 a2 b2 kube base- | K8sNetworkPolicy:d/k");
}
END_TEST

START_TEST(whom_rules_are_about)
{
    /* Another group's, and a rule that has Pods of its own. */
    expect_rules(GROUPS ","
                 POLICY("AntreaNetworkPolicy", "x", "250", "1", "other",
                        IN("no") ",{'name':'own','direction':'In',"
                        "'appliedToGroups':['g']}") ","
                 ANTREA("y", "250", "2", "{'name':'elsewhere','direction':"
                        "'In','appliedToGroups':['other']}," IN("mine")),
                 "ingress", "own mine");
    expect_rules(GROUPS "," ANTREA("y", "250", "2", IN("in")), "egress", "");
}
END_TEST

START_TEST(isolation)
{
    /* Without a peer it allows nobody. */
    expect_rules(GROUPS "," K8S("d/k", "g", IN("deny")), "ingress",
                 " | K8sNetworkPolicy:d/k");
    expect_rules(GROUPS "," K8S("d/k", "g", IN("deny")), "egress", "");
    /* All Pods of the policy, and those of its rules. */
    expect_rules(GROUPS "," K8S("d/k", "g", "{'name':'n','direction':'In',"
                                "'from':{},'appliedToGroups':['other']}"),
                 "ingress", " | K8sNetworkPolicy:d/k");
    expect_rules(GROUPS "," K8S("d/k", "other", "{'name':'n','direction':"
                                "'In','from':{},'appliedToGroups':['g']}"),
                 "ingress", "n | K8sNetworkPolicy:d/k");
    expect_rules(GROUPS "," K8S("d/k", "other", IN_FROM("n")), "ingress", "");
}
END_TEST

/* 'text' with one blank where there are several. */
static void
put_squeezed(const char *text, struct ds *s)
{
    for (const char *c = text; *c; c++) {
        if (*c != ' ' || c[1] != ' ') {
            ds_put_char(s, *c);
        }
    }
}

static void
expect_lines(const struct json *v, const char *const lines[], size_t n)
{
    struct ds text = DS_EMPTY_INITIALIZER;
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_pod_view_format(v, &text);
    put_squeezed(ds_cstr(&text), &s);
    ds_destroy(&text);
    for (size_t i = 0; i < n; i++) {
        ck_assert_msg(strstr(ds_cstr(&s), lines[i]) != NULL,
                      "\"%s\" isn't in:\n%s", lines[i], ds_cstr(&s));
    }
    ds_destroy(&s);
}

START_TEST(pod_in_words)
{
    static const char *const lines[] = {
        "Pod d/web\n", "port p, number 7, up\n",
        "sent 3 packets, 180 bytes\n", "received 1 packets\n",
        "addresses 10.0.0.1,fd00::1\n", "egresses e\n",
        "flows 4 (get flows --pod d/web)\n",
        "250 application 1 y one Drop any any 2 30\n",
        "\nd/s 80/TCP 10.9.0.1 10.0.0.1:8080 6\n",
        "\nd/s 80/TCP 10.9.0.1 [fd00:0::1]:8080 -\n",
        "What none of them decides is allowed.\n", "Anything is allowed.\n",
    };
    struct json *v = view(
        GROUPS "," ANTREA("y", "250", "1", "{'name':'one','direction':'In',"
                          "'action':'Drop'}")
        ",{'kind':'Egress','name':'e','appliedToGroups':['g']},"
        "{'kind':'Egress','name':'f','appliedToGroups':['other']},"
        "{'kind':'Service','name':'d/s','clusterIP':'10.9.0.1','ports':["
        "{'port':80,'protocol':'TCP','endpoints':["
        "{'ip':'10.0.0.1','port':8080},{'ip':'10.0.0.2','port':8080},"
        "{'ip':'fd00:0::1','port':8080}]}]}",
        "{'rules':[{'policy':'AntreaNetworkPolicy:y','direction':'Out',"
        "'number':1,'index':1,'sessions':99},{'policy':"
        "'AntreaNetworkPolicy:y','direction':'In','number':1,'index':0,"
        "'sessions':2,'packets':30}],"
        "'services':[{'service':'d/s','port':80,'protocol':'UDP',"
        "'endpoints':[{'ip':'10.0.0.1','port':8080,'sessions':5}]},"
        "{'service':'d/s','port':80,'protocol':'TCP','endpoints':["
        "{'ip':'10.0.0.1','port':8080,'sessions':6}]}]}");

    json_object_put(v, "port", json_from_quoted(
                        "{'number':7,'state':'up','sent_packets':3,"
                        "'sent_bytes':180,'received_packets':1}"));
    json_object_put(v, "flows", json_integer_create(4));
    expect_lines(v, lines, ARRAY_SIZE(lines));
    ck_assert_uint_eq(json_array(dpctl_json_member(v, "services"))->n, 2);
    json_destroy(v);
}
END_TEST

START_TEST(isolation_in_words)
{
    static const char *const isolated[] = {
        "isolated by d/k (1 packet).\n",
        "So those of the baseline's tiers are never asked.\n",
        "80-90/TCP,UDP,ICMP 8 + 1 more",
        "a,10.0.0.0/8 without 1,d/s + 1 more",
    };
    struct json *v = view(
        GROUPS "," K8S("d/k", "g", IN("deny")) ","
        ANTREA("y", "253", "1", "{'direction':'In','from':{'addressGroups':"
               "['a'],'ipBlocks':[{'cidr':'10.0.0.0/8','except':["
               "'10.1.0.0/16']}],'toServices':['d/s'],'fqdns':['a.b']},"
               "'services':[{'protocol':'TCP','port':80,'endPort':90},"
               "{'protocol':'UDP'},{'protocol':'ICMP','icmpType':8},"
               "{'protocol':'TCP','port':1}]}"), NULL);

    json_object_put(v, "isolation_drops", json_from_quoted("{'ingress':1}"));
    expect_lines(v, isolated, ARRAY_SIZE(isolated));

    struct json *names = dpctl_pod_view_policies(v);
    ck_assert_uint_eq(json_array(names)->n, 2);
    ck_assert_str_eq(json_string(json_array(names)->elems[0]),
                     "AntreaNetworkPolicy:y");
    json_destroy(names);
    json_destroy(v);
}
END_TEST

/* Flows. */

static struct dpctl_flow_filter *
pod_filter(void)
{
    struct dpctl_flow_filter *f = dpctl_flow_filter_create();
    struct json *pod = json_from_quoted(POD);

    dpctl_flow_filter_pod(f, pod, u16_to_ofp(37));
    json_destroy(pod);
    return f;
}

/* Does 'flow', in the syntax of ovs-ofctl, fit?  'table' is its name. */
static bool
fits(const struct dpctl_flow_filter *f, const char *table, const char *flow)
{
    enum ofputil_protocol usable;
    struct ofputil_flow_mod fm;
    char *error = parse_ofp_flow_mod_str(&fm, flow, NULL, NULL,
                                         OFPFC_ADD, &usable);

    ck_assert_msg(!error, "%s: %s", flow, error);
    struct ofputil_flow_stats fs = {
        .cookie = fm.new_cookie, .ofpacts = fm.ofpacts,
        .ofpacts_len = fm.ofpacts_len,
    };
    minimatch_expand(&fm.match, &fs.match);
    bool result = dpctl_flow_filter_fits(f, &fs, table);
    minimatch_destroy(&fm.match);
    free(fm.ofpacts);
    return result;
}

START_TEST(flows_of_a_pod)
{
    static const char *const about[] = {
        "in_port=37,actions=drop", "reg1=0x25,actions=drop",
        "dl_dst=0a:00:00:00:00:01,actions=drop",
        "dl_src=0a:00:00:00:00:01,actions=drop",
        "arp,arp_sha=0a:00:00:00:00:01,actions=drop",
        "arp,arp_tha=0a:00:00:00:00:01,actions=drop",
        "arp,arp_spa=10.0.0.1,actions=drop",
        "arp,arp_tpa=10.0.0.1,actions=drop",
        "ip,nw_src=10.0.0.1,actions=drop", "ip,nw_dst=10.0.0.1,actions=drop",
        "ipv6,ipv6_src=fd00::1,actions=drop",
        "ipv6,ipv6_dst=fd00::1,actions=drop",
        "icmp6,icmp_type=135,nd_target=fd00::1,actions=drop",
        "tcp,reg3=0x0a000001,reg4=0x20050/0x7ffff,actions=drop",
        "tcp6,xxreg3=0xfd000000000000000000000000000001,actions=drop",
    };
    static const char *const others[] = {
        "actions=output:37", "in_port=38,actions=drop",
        "reg1=0x25/0xff,actions=drop", "reg1=0x26,actions=drop",
        "ip,nw_src=10.0.0.0/24,actions=drop",
        "ip,nw_src=10.0.0.2,actions=drop",
        "ipv6,ipv6_src=fd00::/64,actions=drop",
        "dl_dst=0a:00:00:00:00:02,actions=drop",
        "tcp,reg3=0x0a000002,actions=drop",
        "tcp6,xxreg3=0xfd000000000000000000000000000002,actions=drop",
        "tcp6,xxreg3=0xfd010000000000000000000000000001,actions=drop",
    };
    struct dpctl_flow_filter *f = pod_filter();

    for (size_t i = 0; i < ARRAY_SIZE(about); i++) {
        ck_assert_msg(fits(f, "T", about[i]), "%s", about[i]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        ck_assert_msg(!fits(f, "T", others[i]), "%s", others[i]);
    }
    dpctl_flow_filter_destroy(f);
}
END_TEST

START_TEST(pod_without_a_port)
{
    struct dpctl_flow_filter *f = dpctl_flow_filter_create();
    struct json *pod = json_from_quoted("{'name':'d/x'}");

    dpctl_flow_filter_pod(f, pod, OFPP_NONE);
    ck_assert(!fits(f, "T", "reg1=0xffff,actions=drop"));
    ck_assert(!fits(f, "T", "dl_src=00:00:00:00:00:00,actions=drop"));
    json_destroy(pod);
    dpctl_flow_filter_destroy(f);
}
END_TEST

START_TEST(flows_of_a_policy)
{
    struct dpctl_flow_filter *f = dpctl_flow_filter_create();
    struct json *pod = json_from_quoted(POD);

    dpctl_flow_filter_policy(f);
    dpctl_flow_filter_rule(f, 7);
    dpctl_flow_filter_rule(f, 9);
    dpctl_flow_filter_isolated(f, pod, u16_to_ofp(37), DPCTL_INGRESS);
    ck_assert(fits(f, "T", "reg1=1,actions=conjunction(9,1/2)"));
    ck_assert(fits(f, "T", "reg1=1,actions=conjunction(1,1/2),"
                   "conjunction(7,1/2)"));
    ck_assert(!fits(f, "T", "reg1=1,actions=conjunction(8,1/2)"));
    ck_assert(fits(f, "T", "conj_id=7,actions=drop"));
    ck_assert(!fits(f, "T", "conj_id=8,actions=drop"));
    ck_assert(fits(f, "T", "cookie=0x1020000000009,actions=drop"));
    ck_assert(!fits(f, "T", "cookie=0x1030000000009,actions=drop"));
    ck_assert(!fits(f, "T", "cookie=0x1020000000008,actions=drop"));

#define ISOLATES "cookie=0x1020000000000,"
    ck_assert(fits(f, "IngressDefaultRule", ISOLATES "reg1=37,actions=drop"));
    ck_assert(fits(f, "IngressDefault", ISOLATES "reg1=37,actions=drop"));
    ck_assert(!fits(f, "IngressDefault", ISOLATES "reg1=38,actions=drop"));
    ck_assert(!fits(f, "EgressDefault", ISOLATES
                    "ip,nw_src=10.0.0.1,actions=drop"));
    ck_assert(!fits(f, "IngressRule", ISOLATES "reg1=37,actions=drop"));
    ck_assert(!fits(f, NULL, ISOLATES "reg1=37,actions=drop"));
    /* What the baseline's rules have in that table is theirs. */
    ck_assert(!fits(f, "IngressDefault", ISOLATES
                    "reg1=37,actions=conjunction(8,1/2)"));
    ck_assert(!fits(f, "IngressDefault", "reg1=37,actions=drop"));
    json_destroy(pod);
    dpctl_flow_filter_destroy(f);
}
END_TEST

START_TEST(flows_of_a_service)
{
    struct dpctl_flow_filter *f = dpctl_flow_filter_create();
    struct json *service = json_from_quoted(
        "{'name':'d/s','ports':[{'port':80,'endpoints':["
        "{'ip':'10.0.0.1','port':8080},{'ip':'fd00::1','port':8081}]}]}");

    dpctl_flow_filter_service(f, service);
    dpctl_flow_filter_group(f, 5);
    ck_assert(fits(f, "T", "cookie=0x1030000000005,actions=drop"));
    ck_assert(!fits(f, "T", "cookie=0x1020000000005,actions=drop"));
    ck_assert(!fits(f, "T", "cookie=0x1030000000006,actions=drop"));
    ck_assert(fits(f, "T", "actions=group:5"));
    ck_assert(!fits(f, "T", "actions=group:6"));
    ck_assert(fits(f, "T", "reg3=0x0a000001,reg4=0x21f90/0x7ffff,"
                   "actions=drop"));
    ck_assert(!fits(f, "T", "reg3=0x0a000001,reg4=0x21f91/0x7ffff,"
                    "actions=drop"));
    ck_assert(!fits(f, "T", "reg3=0x0a000001,actions=drop"));
    ck_assert(fits(f, "T", "xxreg3=0xfd000000000000000000000000000001,"
                   "reg4=0x1f91/0xffff,actions=drop"));
    json_destroy(service);
    dpctl_flow_filter_destroy(f);
}
END_TEST

START_TEST(flows_of_several)
{
    struct dpctl_flow_filter *f = pod_filter();

    dpctl_flow_filter_policy(f);
    dpctl_flow_filter_rule(f, 7);
    ck_assert(fits(f, "T", "reg1=37,actions=conjunction(7,1/2)"));
    ck_assert(!fits(f, "T", "reg1=38,actions=conjunction(7,1/2)"));
    ck_assert(!fits(f, "T", "reg1=37,actions=conjunction(8,1/2)"));
    dpctl_flow_filter_destroy(f);
    f = dpctl_flow_filter_create();
    ck_assert(fits(f, "T", "actions=drop"));
    dpctl_flow_filter_destroy(f);
}
END_TEST

/* Health. */

#define STATS "'bridge':'br','pipeline':'v1.15','state_generation':3," \
              "'punts':{'total':9,'ip':0,'normal':9}"
#define ROOT "'Open_vSwitch':[{'cur_cfg':1,'next_cfg':1}]"
#define BRIDGE "'Bridge':[{'name':'br','ports':['u1','u2']," \
               "'external_ids':{'antrea-dp-applied':'T'}}]"
#define PORTS "'Port':[{'_uuid':'u1','name':'p','interfaces':'i1'," \
              "'external_ids':{'pod-name':'web','pod-namespace':'d'}}," \
              "{'_uuid':'u2','name':'gw','interfaces':'i2'}]"
#define INTERFACE(UUID, NAME, REST) \
    "{'_uuid':'" UUID "','name':'" NAME "'" REST "}"
#define INTERFACES "'Interface':[" \
    INTERFACE("i1", "p", ",'ofport':1,'link_state':'up'") "," \
    INTERFACE("i2", "gw", ",'ofport':2") "]"
#define DB ROOT "," BRIDGE "," PORTS "," INTERFACES
#define NODE "{'kind':'NodeConfig','name':'n','gateway':{'port':'gw'}}"

struct patient {
    const char *stats;          /* Members. */
    const char *db;
    const char *records;
};

static char *
health_of(struct patient p, bool *failed)
{
    char *stats = xasprintf("{%s}", p.stats ? p.stats : STATS);
    char *db = xasprintf("{%s}", p.db ? p.db : DB);
    char *records = xasprintf("[%s]", p.records ? p.records : POD "," NODE);
    struct json *version = json_from_quoted("{'version':'1','ovs':'3'}");
    struct json *stats_json = json_from_quoted(stats);
    struct json *db_json = json_from_quoted(db);
    struct json *array = json_from_quoted(records);
    struct json *health = dpctl_health_judge(&(struct dpctl_health_facts) {
        .client_version = "1", .version = version, .stats = stats_json,
        .records = json_array(array), .db = db_json,
    });
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_health_format(health, &s);
    *failed = dpctl_health_is_failed(health);
    json_destroy(health);
    json_destroy(version);
    json_destroy(stats_json);
    json_destroy(db_json);
    json_destroy(array);
    free(stats);
    free(db);
    free(records);
    return ds_steal_cstr(&s);
}

/* The table has 'line', whose columns are a blank apart, and none else of that
 * check; what 'failed' says is so. */
static void
expect_health(struct patient p, const char *line, bool failed)
{
    bool has_failed, found = false;
    char *text = health_of(p, &has_failed);
    size_t check_len = strcspn(line, " ");

    ck_assert_msg(has_failed == failed, "%s", text);
    for (char *save = NULL, *l = strtok_r(text, "\n", &save); l;
         l = strtok_r(NULL, "\n", &save)) {
        struct ds s = DS_EMPTY_INITIALIZER;

        put_squeezed(l, &s);
        if (!strncmp(l, line, check_len) && l[check_len] == ' ') {
            ck_assert_str_eq(ds_cstr(&s), line);
            found = true;
        }
        ds_destroy(&s);
    }
    ck_assert_msg(found, "no line %s", line);
    free(text);
}

START_TEST(healthy)
{
    struct patient p = { .stats = NULL };

    expect_health(p, "daemon ok antrea-dp 1, Open vSwitch 3", false);
    expect_health(p, "bridge ok br, pipeline v1.15, 0 flows", false);
    expect_health(p, "database ok in step", false);
    expect_health(p, "state ok generation 3, 0 records", false);
    expect_health(p, "ports ok 2, 1 of them of Pods", false);
    expect_health(p, "threads ok no PMD, and no port for one", false);
    expect_health(p, "punts ok 0.0 % of IP packets took the stock path",
                  false);
    expect_health(p, "limits ok none met; 0 connections of at most 0",
                  false);
}
END_TEST

START_TEST(sick_daemon)
{
    struct json *health = dpctl_health_judge(&(struct dpctl_health_facts) {
        .client_version = "1", .daemon_error = "gone", .db_error = "gone too",
    });
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_health_format(health, &s);
    ck_assert_str_eq(ds_cstr(&s),
                     "CHECK      STATUS   WHAT\n"
                     "daemon     failed   gone\n"
                     "database   failed   gone too\n");
    ck_assert(dpctl_health_is_failed(health));
    ds_destroy(&s);
    json_destroy(health);

    expect_health((struct patient) { .stats = STATS ",'pipeline_error':'no'" },
                  "bridge failed br: no", true);
    expect_health((struct patient) { .stats = STATS ",'closed':'why'" },
                  "bridge failed br lets no packet pass: why", true);
    expect_health((struct patient) {
                      .stats = STATS ",'closed':'why','pipeline_error':'no'" },
                  "bridge failed br lets no packet pass: why; no", true);
    expect_health((struct patient) {
                      .stats = STATS ",'pipeline_warning':'v6'" },
                  "bridge warning br: v6", false);
}
END_TEST

START_TEST(sick_database)
{
    expect_health((struct patient) {
                      .db = "'Open_vSwitch':[{'cur_cfg':1,'next_cfg':2}]" },
                  "database failed the daemon has not taken up the latest "
                  "configuration (cur_cfg 1, next_cfg 2)", true);
    expect_health((struct patient) {
                      .db = "'Open_vSwitch':[{'other_config':"
                            "{'flow-restore-wait':'true'}}]" },
                  "database failed other_config:flow-restore-wait is set: "
                  "bridges that began with it let no packet pass", true);
    expect_health((struct patient) {
                      .db = "'Open_vSwitch':[{'other_config':"
                            "{'dpdk-init':'true'},"
                            "'dpdk_initialized':false}]" },
                  "database failed DPDK is wanted and not initialized; "
                  "ovs-vswitchd.log says why", true);
    expect_health((struct patient) {
                      .db = "'Open_vSwitch':[{'other_config':"
                            "{'dpdk-init':'true'},'dpdk_version':'D',"
                            "'dpdk_initialized':true}]" },
                  "database ok in step, D", false);
}
END_TEST

START_TEST(sick_state)
{
    const char *lost = "'bridge':'br','pipeline':'v1.15','state_generation':0";

    expect_health((struct patient) { .stats = lost },
                  "state failed lost: objects were applied at T, before the "
                  "daemon began anew; apply all of them again", true);
    expect_health((struct patient) {
                      .stats = lost, .db = "'Bridge':[{'name':'br'}]",
                      .records = "" },
                  "state warning no objects were applied yet", false);

    /* Is it kept?  Only by a bridge that was made with the setting. */
#define UNKEPT "'bridge':'br','pipeline':'v1.15','state_generation':1," \
    "'store':{}"
    expect_health((struct patient) { .stats = UNKEPT },
                  "store ok none: the state is lost when the daemon ends, "
                  "unless other_config:antrea-dp-persist is true", false);
    expect_health((struct patient) {
                      .stats = UNKEPT,
                      .db = "'Open_vSwitch':[{'other_config':"
                            "{'antrea-dp-persist':'true'}}]" },
                  "store warning none, though other_config:antrea-dp-persist "
                  "is true, as the bridge was made without it: restart the "
                  "daemon, and apply all objects again", false);

    bool failed;
    char *text = health_of((struct patient) {
                               .stats = "'bridge':'br','pipeline':'none',"
                                        "'state_generation':0" }, &failed);
    ck_assert_msg(!strstr(text, "\nstate"), "%s", text);
    ck_assert_msg(!failed, "%s", text);
    free(text);
}
END_TEST

START_TEST(sick_ports)
{
#define WITH(FIRST) ROOT "," BRIDGE "," PORTS ",'Interface':[" FIRST \
    "," INTERFACE("i2", "gw", ",'ofport':2") "]"
    expect_health((struct patient) {
                      .db = WITH(INTERFACE("i1", "p", ",'ofport':-1,"
                                           "'error':'no device'")) },
                  "ports failed p: no device", true);
    expect_health((struct patient) { .db = WITH(INTERFACE("i1", "p", "")) },
                  "ports failed p: the bridge has not taken it up", true);
    expect_health((struct patient) {
                      .db = WITH(INTERFACE("i1", "p", ",'ofport':1,"
                                           "'link_state':'down'")) },
                  "ports warning p, of Pod d/web: no link", false);
    expect_health((struct patient) {
                      .records = "{'kind':'Pod','name':'d/web','port':'q'}" },
                  "ports failed Pod d/web: the bridge has no port q", true);
    expect_health((struct patient) {
                      .records = POD ",{'kind':'NodeConfig','name':'n',"
                                 "'gateway':{'port':'gw'},'tunnel':"
                                 "{'port':'tun'}}" },
                  "ports failed NodeConfig n: the bridge has no port tun",
                  true);
    expect_health((struct patient) { .records = NODE },
                  "ports warning p is of Pod d/web, of which no object "
                  "tells: it gets no packets", false);
    /* Nobody has told of any Pod yet, or ever will. */
    expect_health((struct patient) {
                      .records = NODE,
                      .stats = "'bridge':'br','pipeline':'v1.15',"
                               "'state_generation':0" },
                  "ports ok 2, 1 of them of Pods", true);
    expect_health((struct patient) {
                      .records = NODE,
                      .stats = "'bridge':'br','pipeline':'none',"
                               "'state_generation':7" },
                  "ports ok 2, 1 of them of Pods", false);
    expect_health((struct patient) {
                      .db = WITH(INTERFACE("i1", "p", ",'type':'dpdkvhostuser"
                                           "client','ofport':1")) },
                  "threads failed there are ports of DPDK and no PMD thread "
                  "that polls them", true);
}
END_TEST

START_TEST(sick_threads)
{
    expect_health((struct patient) {
                      .stats = STATS ",'threads':[{'thread':'pmd','core':3,"
                               "'busy_cycles':1,'idle_cycles':3},"
                               "{'thread':'main'},{'thread':'pmd','core':4}]"
                  },
                  "threads ok PMD on core 3 (busy 25 %), core 4 (busy 0 %)",
                  false);
    expect_health((struct patient) {
                      .stats = STATS ",'turns':{'recent':{'us':2500000,"
                               "'ago_ms':60000}}" },
                  "threads ok no PMD, and no port for one", false);
    expect_health((struct patient) {
                      .stats = STATS ",'turns':{'recent':{'us':2500000,"
                               "'cpu_us':12345,'ago_ms':59999}}" },
                  "threads warning a turn of the main thread took 2500 ms, "
                  "of which it ran for 12",
                  false);
}
END_TEST

START_TEST(sick_packets)
{
#define PUNTS(HANDLED, IP)                                              \
    "'bridge':'br','pipeline':'none','packets':{'handled':" HANDLED "}," \
    "'punts':{'total':999999,'ip':" IP ",'meter':5,'alg':60,'behind':6}"
    expect_health((struct patient) { .stats = PUNTS("930", "70") },
                  "punts warning 7.0 % of IP packets took the stock path, "
                  "most for alg", false);
    expect_health((struct patient) { .stats = PUNTS("950", "50") },
                  "punts ok 5.0 % of IP packets took the stock path, most "
                  "for alg", false);
    expect_health((struct patient) { .stats = PUNTS("900", "99") },
                  "punts ok 9.9 % of IP packets took the stock path, most "
                  "for alg", false);
    expect_health((struct patient) { .stats = STATS ",'stock':'STP; bad'" },
                  "punts warning all packets take the stock path, for STP; "
                  "bad", false);
}
END_TEST

START_TEST(met_limits)
{
    expect_health((struct patient) {
                      .stats = STATS ",'packets':{'unlearned':4}" },
                  "limits warning 4 packets of clients that session affinity "
                  "has no room for (packets.unlearned)", false);
    expect_health((struct patient) {
                      .stats = STATS ",'log':{'error':'disk full'}" },
                  "limits warning the log of policies: disk full", false);
    expect_health((struct patient) {
                      .stats = STATS ",'connections':{'all':90,'limit':100}" },
                  "limits warning 90 connections of at most 100", false);
    expect_health((struct patient) {
                      .stats = STATS ",'connections':{'all':89,'limit':100}" },
                  "limits ok none met; 89 connections of at most 100", false);
    expect_health((struct patient) {
                      .stats = STATS ",'cache':{'sessions_evicted':1000,"
                               "'sessions_inserted':5000}" },
                  "limits warning 20 % of sessions left for newer ones: see "
                  "other_config:antrea-dp-max-sessions", false);
    expect_health((struct patient) {
                      .stats = STATS ",'cache':{'sessions_evicted':999,"
                               "'sessions_inserted':5000}" },
                  "limits ok none met; 0 connections of at most 0", false);
    expect_health((struct patient) {
                      .stats = STATS ",'cache':{'sessions_evicted':1000,"
                               "'sessions_inserted':10000}" },
                  "limits ok none met; 0 connections of at most 0", false);
}
END_TEST

START_TEST(plain_values)
{
    struct json *value = json_from_quoted(
        "['map',[['a',['uuid','u']],['b',['set',['x',['uuid','v']]]],"
        "['c','set'],['d',['set',[]]],['e',3]]]");
    struct json *plain = dpctl_ovsdb_plain(value);
    char *text = json_to_string(plain, JSSF_SORT);

    ck_assert_str_eq(text, "{\"a\":\"u\",\"b\":[\"x\",\"v\"],\"c\":\"set\","
                     "\"d\":[],\"e\":3}");
    free(text);
    json_destroy(plain);
    json_destroy(value);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("dpctl-inspect");
    TCase *pod = tcase_create("pod");
    TCase *flows = tcase_create("flows");
    TCase *health = tcase_create("health");

    tcase_add_test(pod, order_of_rules);
    tcase_add_test(pod, whom_rules_are_about);
    tcase_add_test(pod, isolation);
    tcase_add_test(pod, pod_in_words);
    tcase_add_test(pod, isolation_in_words);
    suite_add_tcase(s, pod);
    tcase_add_test(flows, flows_of_a_pod);
    tcase_add_test(flows, pod_without_a_port);
    tcase_add_test(flows, flows_of_a_policy);
    tcase_add_test(flows, flows_of_a_service);
    tcase_add_test(flows, flows_of_several);
    suite_add_tcase(s, flows);
    tcase_add_test(health, healthy);
    tcase_add_test(health, sick_daemon);
    tcase_add_test(health, sick_database);
    tcase_add_test(health, sick_state);
    tcase_add_test(health, sick_ports);
    tcase_add_test(health, sick_threads);
    tcase_add_test(health, sick_packets);
    tcase_add_test(health, met_limits);
    tcase_add_test(health, plain_values);
    suite_add_tcase(s, health);
    return s;
}

int
main(void)
{
    return test_run(suite());
}
