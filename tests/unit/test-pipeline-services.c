/* SPDX-License-Identifier: Apache-2.0 */

/* v1.15: the flows of rules that are applied to Services, and which records can't
 * ask for such. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "model-records.h"
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline-world.h"
#include "pipeline.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"

static void
setup(void)
{
    pw_init(adp_pipeline_find("v1.15"));
}

#define POLICY(HEAD, RULES) ",{'kind':'NetworkPolicy','name':" \
    "'AntreaClusterNetworkPolicy:p','type':'AntreaClusterNetworkPolicy'," \
    "'tierPriority':250,'priority':5," HEAD "'rules':[" RULES "]}"
#define TO_S "'appliedToServices':['d/s','d/none'],"
#define RULE(MORE) "{'direction':'In','action':'Drop'" MORE "}"
#define FROM "'from':{'ipBlocks':[{'cidr':'1.1.0.0/16'},{'cidr':'0.0.0.0/0'}]}"
#define SERVICE(PORT) ",{'kind':'Service','name':'d/s'," \
    "'clusterIP':'10.96.0.1','externalTrafficPolicy':'Local','ports':[{" \
    "'port':80" PORT ",'endpoints':[{'ip':'10.0.0.7','port':80}]}]}"
#define NODE_PORT SERVICE(",'nodePort':30001")
#define INGRESS "table=AntreaPolicyIngressRule, priority="

START_TEST(clauses)
{
    generate(BASE NODE_PORT POLICY(TO_S, RULE("," FROM ",'services':["
                                              "{'protocol':'TCP'}]")));
    check_set();
    expect_flow(INGRESS "14500,ct_state=+new+trk,ip,ct_nw_src=1.1.0.0/16 "
                "actions=conjunction(1,1/3)");
    expect_flow(INGRESS "14500,ct_state=+new+trk,ip "
                "actions=conjunction(1,1/3)");
    /* Of its two groups, that of local endpoints has the second ID. */
    expect_flow(INGRESS "14500,reg7=0x1 actions=conjunction(1,2/3)");
    expect_flow(INGRESS "14500,reg7=0x2 actions=conjunction(1,2/3)");
    expect_flow(INGRESS "14500,tcp actions=conjunction(1,3/3)");
    ck_assert_uint_eq(count_flows("conjunction(1,"), 5);
}
END_TEST

START_TEST(clients_of_both_families)
{
    generate("{'kind':'NodeConfig','name':'n','gateway':{'port':'gw0',"
             "'mac':'00:00:00:00:00:01','ip':['10.0.0.1','fd00::1']},"
             "'podCIDR':['10.0.0.0/24','fd00::/64'],"
             "'transportIP':'192.168.0.1'},{'kind':'Service','name':'d/s',"
             "'clusterIP':['10.96.0.1','fd96::1'],'ports':[{'port':80,"
             "'nodePort':30001}]}"
             POLICY(TO_S, RULE(",'from':{'ipBlocks':[{'cidr':'fd01::/16'}]}")
                    "," RULE("")));
    check_set();
    expect_flow(INGRESS "14500,ct_state=+new+trk,ipv6,ct_ipv6_src=fd01::/16 "
                "actions=conjunction(1,1/2)");
    expect_flow(INGRESS "14500,reg7=0x1 actions=conjunction(1,2/2)");
    expect_flow(INGRESS "14500,reg7=0x2 actions=conjunction(1,2/2)");
    expect_flow(INGRESS "14499,ct_state=+new+trk,ip "
                "actions=conjunction(2,1/2)");
    expect_flow(INGRESS "14499,ct_state=+new+trk,ipv6 "
                "actions=conjunction(2,1/2)");
}
END_TEST

/* What SNAT has changed isn't committed with its new addresses. */
START_TEST(allow)
{
    generate(BASE NODE_PORT POLICY(TO_S, "{'direction':'In'}"));
    check_set();
    expect_flow(INGRESS "14500,conj_id=1,ct_state=-snat+trk,ip "
                "actions=set_field:0x1->reg6,ct(commit,table=IngressMetric,"
                "zone=65520,exec(set_field:0x1/0xffffffff->ct_label))");
    expect_flow(INGRESS "14500,conj_id=1,ct_state=+snat+trk,ip "
                "actions=set_field:0x1->reg6,goto_table:IngressMetric");
    expect_flow("table=IngressMetric, priority=200,ct_state=+new+snat+trk,"
                "reg6=0x1,ip actions=goto_table:ConntrackCommit");
    ck_assert_uint_eq(count_flows("table=IngressMetric, priority=200,"
                                  "ct_state="), 3);
}
END_TEST

START_TEST(allow_and_log)
{
    generate(BASE NODE_PORT POLICY(TO_S, "{'direction':'In',"
                                   "'enableLogging':true}"));
    check_set();
    ck_assert_uint_eq(count_flows("controller(reason=no_match,id=62373,"
                                  "userdata=01.01,meter_id=256),"
                                  "goto_table:IngressMetric"), 1);
}
END_TEST

/* Only while it has a NodePort, and where there are flows for one; a rule's own
 * list goes before its policy's. */
START_TEST(which_services)
{
    static const struct {
        const char *records;
        size_t n;
    } cases[] = {
        { BASE NODE_PORT POLICY(TO_S, RULE("")), 2 },
        { BASE SERVICE("") POLICY(TO_S, RULE("")), 0 },
        { BASE POLICY(TO_S, RULE("")), 0 },
        { NODE_WITH("'proxyAll':false,") NODE_PORT POLICY(TO_S, RULE("")), 0 },
        { BASE NODE_PORT POLICY("", RULE(",'appliedToServices':['d/s']")), 2 },
        { BASE NODE_PORT POLICY(TO_S, RULE(",'appliedToGroups':['a']")), 0 },
        { BASE NODE_PORT POLICY("'appliedToGroups':['a'],",
                                RULE(",'appliedToServices':['d/s']")), 2 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        generate(cases[i].records);
        check_set();
        ck_assert_msg(count_flows(INGRESS "14500,reg7=") == cases[i].n,
                      "case %"PRIuSIZE, i);
    }
}
END_TEST

START_TEST(refused)
{
    static const struct {
        const char *records;
        const char *field;
        const char *text;
    } cases[] = {
        { POLICY(TO_S "'appliedToGroups':['a'],", RULE("")),
          "appliedToServices", "excludes appliedToGroups" },
        { POLICY("", RULE(",'appliedToGroups':['a'],"
                          "'appliedToServices':['d/s']")),
          "rules[0].appliedToServices", "excludes appliedToGroups" },
        { POLICY(TO_S, RULE("") ",{'direction':'Out'}"),
          "rules[1].direction", "must be one of In" },
        { POLICY(TO_S, RULE(",'from':{'addressGroups':['x']}")),
          "rules[0].from.addressGroups", "can only have ipBlocks" },
        { POLICY(TO_S, "{'direction':'In','l7Protocols':[{'tls':{}}]}"),
          "rules[0].l7Protocols", "has no place for these" },
        { POLICY("'appliedToServices':'d/s',", ""), "appliedToServices", "" },
        { ",{'kind':'NetworkPolicy','name':'p','type':'AntreaNetworkPolicy',"
          "'tierPriority':1,'priority':1," TO_S "'rules':[]}",
          "appliedToServices", "is for an AntreaClusterNetworkPolicy only" },
        { ",{'kind':'NetworkPolicy','name':'p','type':'K8sNetworkPolicy',"
          "'rules':[{'direction':'In','appliedToServices':['d/s']}]}",
          "rules[0].appliedToServices",
          "is for an AntreaClusterNetworkPolicy only" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct json *array = json_array_from_quoted(cases[i].records + 1);
        struct adp_record *record;
        struct adp_error *error = adp_record_parse(json_array(array)->elems[0],
                                                   0, &record);

        ck_assert_msg(error, "%s is taken", cases[i].records);
        ck_assert_str_eq(error->code, "invalid");
        ck_assert_str_eq(error->field, cases[i].field);
        ck_assert_msg(strstr(error->message, cases[i].text), "%s",
                      error->message);
        adp_error_destroy(error);
        json_destroy(array);
    }
}
END_TEST

/* Addresses for outsiders that several Services have: 'a' and 'b', known by
 * their endpoints. */
#define SHARER(NAME, CLUSTER_IP, MORE, PORT) \
    ",{'kind':'Service','name':'d/" NAME "','clusterIP':'" CLUSTER_IP "'," \
    MORE ",'ports':[{'port':" PORT "},{'port':443,'endpoints':[{'ip':" \
    "'10.0.0." PORT "','port':1}]}]}"
#define A(MORE) SHARER("a", "10.96.0.1", MORE, "80")
#define B(MORE) SHARER("b", "10.96.0.2", MORE, "81")
#define EXTERNAL "'externalIPs':['1.1.1.1']"
#define BALANCED "'loadBalancerIPs':['1.1.1.1']"

/* To that endpoint leads the only flow with that match. */
static void
expect_endpoint(const char *match, const char *endpoint)
{
    ck_assert_uint_eq(count_flows(match), 1);
    const char *group = find_group(atoi(strstr(find_flow(match), "group:")
                                        + 6));
    ck_assert_msg(strstr(group, endpoint), "%s: %s", match, group);
}

START_TEST(address_of_several)
{
    static const struct {
        const char *records;
        const char *served;     /* By whom, at the port that both have. */
    } cases[] = {
        { A(EXTERNAL) B(EXTERNAL), "0xa000050" },
        { A(EXTERNAL ",'created':'2026-01-02T00:00:00Z'")
          B(EXTERNAL ",'created':'2026-01-01T00:00:00Z'"), "0xa000051" },
        { A(EXTERNAL) B(EXTERNAL ",'created':'2026-01-01T00:00:00Z'"),
          "0xa000051" },
        { A(EXTERNAL ",'created':'2026-01-01T00:00:00Z'") B(BALANCED),
          "0xa000051" },
        { A(EXTERNAL "," BALANCED) B(BALANCED), "0xa000050" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *records = xasprintf(BASE "%s", cases[i].records);

        generate(records);
        check_set();
        /* Their other ports and their ClusterIPs are theirs. */
        ck_assert(find_flow("nw_dst=1.1.1.1,tp_dst=80 "));
        ck_assert(find_flow("nw_dst=1.1.1.1,tp_dst=81 "));
        ck_assert(find_flow("nw_dst=10.96.0.1,tp_dst=443 "));
        ck_assert(find_flow("nw_dst=10.96.0.2,tp_dst=443 "));
        expect_endpoint("nw_dst=1.1.1.1,tp_dst=443 ", cases[i].served);
        free(records);
    }
}
END_TEST

/* One in both lists is a load balancer's, for the clients that the Service
 * names. */
START_TEST(clients_of_address_in_both_lists)
{
    char *records = xasprintf(BASE "%s", A(EXTERNAL "," BALANCED ","
                              "'loadBalancerSourceRanges':['192.0.2.0/24']"));

    generate(records);
    check_set();
    /* Without it there are four: one for whomever. */
    ck_assert_uint_eq(count_flows("nw_dst=1.1.1.1,tp_dst=443 "), 3);
    ck_assert(find_flow("nw_dst=1.1.1.1,tp_dst=443 actions=drop"));
    free(records);
}
END_TEST

/* A ClusterIP is nobody's address for outsiders, not even its own Service's. */
START_TEST(cluster_ip_of_another)
{
    static const char *const cases[] = {
        A("'externalIPs':['10.96.0.2']") B(EXTERNAL),
        A("'loadBalancerIPs':['10.96.0.2']") B(EXTERNAL),
        A(EXTERNAL) B("'externalIPs':['10.96.0.2']"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *records = xasprintf(BASE "%s", cases[i]);

        generate(records);
        check_set();
        expect_endpoint("nw_dst=10.96.0.2,tp_dst=443 ", "0xa000051");
        free(records);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("pipeline-services");
    TCase *tc = tcase_create("v1.15");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    tcase_add_checked_fixture(tc, setup, pw_uninit);
    tcase_add_test(tc, clauses);
    tcase_add_test(tc, clients_of_both_families);
    tcase_add_test(tc, allow);
    tcase_add_test(tc, allow_and_log);
    tcase_add_test(tc, which_services);
    tcase_add_test(tc, refused);
    tcase_add_test(tc, address_of_several);
    tcase_add_test(tc, clients_of_address_in_both_lists);
    tcase_add_test(tc, cluster_ip_of_another);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
