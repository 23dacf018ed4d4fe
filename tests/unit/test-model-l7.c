/* SPDX-License-Identifier: Apache-2.0 */

/* L7 rules and the ports of their engine, as records. */

#include <config.h>

#include <check.h>
#include <string.h>

#include "model-records.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"

/* Returns the error of the record, or NULL. */
static struct adp_error *
parse(const char *text, struct adp_record **record)
{
    struct json *array = json_array_from_quoted(text);
    struct adp_error *error = adp_record_parse(array->array.elems[0], 0,
                                               record);

    json_destroy(array);
    return error;
}

#define POLICY(TYPE, HEAD, RULE)                                        \
    "{'kind':'NetworkPolicy','name':'np','type':'" TYPE "'," HEAD       \
    "'rules':[{'direction':'Out'," RULE "}]}"
#define ACNP(RULE) \
    POLICY("AntreaClusterNetworkPolicy", "'tierPriority':1,'priority':1,", RULE)
#define L7(PROTOCOLS) "'l7Protocols':[" PROTOCOLS "]"

struct bad_case {
    const char *record;
    const char *field;
    const char *text;           /* In the message. */
};

static void
expect_errors(const struct bad_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct adp_record *record;
        struct adp_error *error = parse(cases[i].record, &record);

        ck_assert_msg(error, "%s is taken", cases[i].record);
        ck_assert_str_eq(error->code, "invalid");
        ck_assert_str_eq(error->field, cases[i].field);
        ck_assert_msg(strstr(error->message, cases[i].text), "%s: %s",
                      cases[i].record, error->message);
        adp_error_destroy(error);
    }
}

START_TEST(refuses_bad_rules)
{
    static const struct bad_case cases[] = {
        { ACNP(L7("{}")), "rules[0].l7Protocols[0]",
          "must hold one of \"http\" and \"tls\"" },
        { ACNP(L7("{'http':{},'tls':{}}")), "rules[0].l7Protocols[0]",
          "must hold one of" },
        { ACNP(L7("{'http':{}},{'http':{'paths':'/'}}")),
          "rules[0].l7Protocols[1].http.paths", "" },
        { ACNP(L7("{'http':{'path':''}}")),
          "rules[0].l7Protocols[0].http.path", "must not be empty" },
        { ACNP(L7("{'http':{'host':1}}")),
          "rules[0].l7Protocols[0].http.host", "" },
        { ACNP(L7("{'http':{'method':'get'}}")),
          "rules[0].l7Protocols[0].http.method", "" },
        { ACNP(L7("{'tls':{'sni':''}}")),
          "rules[0].l7Protocols[0].tls.sni", "must not be empty" },
        { ACNP(L7("{'tls':{'host':'a'}}")),
          "rules[0].l7Protocols[0].tls.host", "" },
        { ACNP("'l7Protocols':{}"), "rules[0].l7Protocols", "" },
        { ACNP("'action':'Drop'," L7("{'http':{}}")),
          "rules[0].l7Protocols", "goes with the action Allow only" },
        { ACNP("'action':'Pass'," L7("{'tls':{}}")),
          "rules[0].l7Protocols", "goes with the action Allow only" },
        { ACNP("'to':{'toServices':['a/b']}," L7("{'tls':{}}")),
          "rules[0].l7Protocols", "doesn't go with toServices" },
        { ACNP("'services':[{'protocol':'TCP'},{'protocol':'UDP'}],"
               L7("{'tls':{}},{'http':{}}")),
          "rules[0].l7Protocols", "http goes with services of TCP only" },
        { POLICY("K8sNetworkPolicy", "", L7("{'http':{}}")),
          "rules[0].l7Protocols",
          "is not for a policy of type K8sNetworkPolicy" },
        { POLICY("AdminNetworkPolicy", "'tierPriority':1,'priority':1,",
                 L7("{'http':{}}")),
          "rules[0].l7Protocols",
          "is not for a policy of type AdminNetworkPolicy" },
    };

    expect_errors(cases, ARRAY_SIZE(cases));
}
END_TEST

static const struct adp_network_policy_rule *
first_rule(const struct adp_record *record)
{
    return CONTAINER_OF(record, struct adp_network_policy, up)->rules;
}

START_TEST(keeps_protocols)
{
    struct adp_record *record;

    ck_assert(!parse(ACNP("'services':[{'protocol':'TCP','port':80}],"
                          L7("{'http':{'host':'*.foo.com','method':'GET',"
                             "'path':'/api/*'}},{'http':{}},"
                             "{'tls':{'sni':'foo.com'}}")), &record));
    char *text = json_to_string(first_rule(record)->l7_protocols, JSSF_SORT);
    ck_assert_str_eq(text,
                     "[{\"http\":{\"host\":\"*.foo.com\",\"method\":\"GET\","
                     "\"path\":\"/api/*\"}},{\"http\":{}},"
                     "{\"tls\":{\"sni\":\"foo.com\"}}]");
    free(text);
    adp_record_unref(record);

    /* TLS may be anything's. */
    ck_assert(!parse(ACNP("'services':[{'protocol':'UDP'}],"
                          L7("{'tls':{}}")), &record));
    ck_assert(first_rule(record)->l7_protocols);
    adp_record_unref(record);

    /* None at all is as if there were no such member. */
    ck_assert(!parse(ACNP("'action':'Drop','l7Protocols':[]"), &record));
    ck_assert(!first_rule(record)->l7_protocols);
    adp_record_unref(record);
}
END_TEST

#define NODE(REST)                                                      \
    "{'kind':'NodeConfig','name':'n','gateway':{'port':'gw0',"          \
    "'mac':'00:00:00:00:01:00','ip':'10.0.0.1'},"                       \
    "'tunnel':{'port':'tun0'},'podCIDR':'10.0.0.0/24',"                 \
    "'transportIP':'192.168.0.1'" REST "}"

static void
expect_ports(const char *text, const char *target, const char *back)
{
    struct adp_record *record;

    ck_assert(!parse(text, &record));
    const struct adp_node_config *node
        = CONTAINER_OF(record, struct adp_node_config, up);
    ck_assert_str_eq(node->l7_target_port, target);
    ck_assert_str_eq(node->l7_return_port, back);
    adp_record_unref(record);
}

START_TEST(ports_of_the_engine)
{
    static const struct bad_case cases[] = {
        { NODE(",'l7':{'targetPort':'x','returnPort':'x'}"), "l7.returnPort",
          "\"x\" is the target port" },
        { NODE(",'l7':{'targetPort':'antrea-l7-tap1'}"), "l7.returnPort",
          "\"antrea-l7-tap1\" is the target port" },
        { NODE(",'l7':{'targetPort':'gw0'}"), "l7.targetPort",
          "\"gw0\" is the gateway port" },
        { NODE(",'l7':{'returnPort':'tun0'}"), "l7.returnPort",
          "\"tun0\" is the tunnel port" },
        { NODE(",'l7':{'returnPort':''}"), "l7.returnPort",
          "must not be empty" },
        { NODE(",'l7':{'port':'x'}"), "l7.port", "" },
        { NODE(",'l7':1"), "l7", "" },
    };

    expect_errors(cases, ARRAY_SIZE(cases));
    expect_ports(NODE(""), "antrea-l7-tap0", "antrea-l7-tap1");
    expect_ports(NODE(",'l7':{}"), "antrea-l7-tap0", "antrea-l7-tap1");
    expect_ports(NODE(",'l7':{'targetPort':'x','returnPort':'y'}"), "x", "y");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("model-l7");
    TCase *tc = tcase_create("model-l7");

    tcase_add_test(tc, refuses_bad_rules);
    tcase_add_test(tc, keeps_protocols);
    tcase_add_test(tc, ports_of_the_engine);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
