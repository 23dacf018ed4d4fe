/* SPDX-License-Identifier: Apache-2.0 */

/* Who is to blame when two records want the same address.  JSON is written
 * with single quotes here. */

#include <config.h>
#include <check.h>
#include <stdlib.h>

#include "flow.h"
#include "model.h"
#include "model-transact.h"
#include "test-run.h"
#include "util.h"

static struct adp_model *model;

static bool
port_number(const char *name OVS_UNUSED, ofp_port_t *port,
            void *aux OVS_UNUSED)
{
    *port = u16_to_ofp(1);
    return true;
}

static const struct adp_model_env env = { .port_number = port_number };

static void
setup(void)
{
    model = adp_model_create();
}

static void
teardown(void)
{
    adp_model_destroy(model);
}

/* NULL, or the error. */
static struct adp_error *
apply(const char *records)
{
    return model_transact(model, records, NULL, &env);
}

static void
expect_blame(const char *records, const char *object, const char *field)
{
    struct adp_error *error = apply(records);

    ck_assert_ptr_nonnull(error);
    ck_assert_str_eq(error->code, "invalid");
    ck_assert_str_eq(error->object, object);
    ck_assert_pstr_eq(error->field, field);
    adp_error_destroy(error);
}

/* Names that come before and behind the other's. */
#define DNS "{'kind':'Service','name':'kube-system/dns'," \
    "'clusterIP':['10.96.0.10','fd96::a'],'externalIPs':['192.0.2.1']," \
    "'ports':[{'port':53}]}"
#define EVIL(NAMESPACE, LIST, IP) \
    "{'kind':'Service','name':'" NAMESPACE "/evil'," \
    "'clusterIP':'10.96.0.11','" LIST "':['192.0.2.1','" IP "']," \
    "'ports':[{'port':80},{'port':53}]}"

/* Who makes a Service may write down any address for outsiders: that keeps
 * nobody out. */
START_TEST(addresses_for_outsiders)
{
    static const char *const evils[] = {
        EVIL("a", "externalIPs", "10.96.0.10"),
        EVIL("z", "externalIPs", "fd96::a"),
        EVIL("a", "loadBalancerIPs", "fd96::a"),
        EVIL("a", "externalIPs", "10.96.0.11"),
    };

    for (size_t i = 0; i < ARRAY_SIZE(evils); i++) {
        char *both = xasprintf("%s,%s", evils[i], DNS);
        const char *const orders[][2] = {
            { both, DNS }, { DNS, evils[i] }, { evils[i], DNS },
        };

        for (size_t j = 0; j < ARRAY_SIZE(orders); j++) {
            teardown();
            setup();
            ck_assert_ptr_null(apply(orders[j][0]));
            ck_assert_ptr_null(apply(orders[j][1]));
        }
        free(both);
    }
}
END_TEST

START_TEST(cluster_ips)
{
    expect_blame(EVIL("a", "externalIPs", "10.96.0.10") ","
                 EVIL("b", "externalIPs", "10.96.0.12"),
                 "Service b/evil", "clusterIP");
    ck_assert_ptr_null(apply(DNS));
    expect_blame("{'kind':'Service','name':'b/c','clusterIP':'10.96.0.10',"
                 "'ports':[{'port':53}]}", "Service b/c", "clusterIP");
    /* Other ports of it are free. */
    ck_assert_ptr_null(apply("{'kind':'Service','name':'b/c','clusterIP':"
                             "'10.96.0.10','ports':[{'port':54}]}"));
    ck_assert_ptr_null(apply(DNS));
}
END_TEST

/* Who comes is to blame, in whatever order the kinds are looked at. */
START_TEST(egress_and_nodes)
{
    ck_assert_ptr_null(apply(
        "{'kind':'AppliedToGroup','name':'g','pods':[]},"
        "{'kind':'Egress','name':'e','appliedToGroups':['g'],"
        "'egressIP':'192.0.2.7','egressNode':'n'}"));
    expect_blame("{'kind':'PeerNode','name':'p','podCIDR':'10.0.1.0/24',"
                 "'gatewayIP':'10.0.1.1','transportIP':'192.0.2.7'}",
                 "PeerNode p", "transportIP");
    expect_blame("{'kind':'NodeConfig','name':'n','gateway':{'port':'gw0',"
                 "'mac':'00:00:00:00:00:01','ip':'10.0.0.1'},"
                 "'podCIDR':'10.0.0.0/24','transportIP':'192.0.2.7'}",
                 "NodeConfig n", "transportIP");
    expect_blame("{'kind':'PeerNode','name':'p','podCIDR':'192.0.2.0/24',"
                 "'gatewayIP':'192.0.2.7','transportIP':'192.0.2.8'}",
                 "PeerNode p", "gatewayIP");
    expect_blame("{'kind':'Pod','name':'d/p','port':'p','mac':"
                 "'00:00:00:00:00:0a','ips':['10.0.0.9','192.0.2.7']}",
                 "Pod d/p", "ips[1]");
    ck_assert_ptr_null(apply(
        "{'kind':'PeerNode','name':'p','podCIDR':'10.0.1.0/24',"
        "'gatewayIP':'10.0.1.1','transportIP':'192.0.2.8'}"));
    expect_blame("{'kind':'Egress','name':'e','appliedToGroups':['g'],"
                 "'egressIP':'192.0.2.8','egressNode':'n'}",
                 "Egress e", "egressIP");
}
END_TEST

/* A second one is to blame, whichever name comes first. */
START_TEST(node_configs)
{
#define NODE(NAME) "{'kind':'NodeConfig','name':'" NAME "','gateway':" \
        "{'port':'gw0','mac':'00:00:00:00:00:01','ip':'10.0.0.1'}," \
        "'podCIDR':'10.0.0.0/24','transportIP':'192.0.2.7'}"
    ck_assert_ptr_null(apply(NODE("n")));
    expect_blame(NODE("a"), "NodeConfig a", NULL);
    expect_blame(NODE("z"), "NodeConfig z", NULL);
    ck_assert_ptr_null(apply(NODE("n")));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("model-blame");
    TCase *tc = tcase_create("model-blame");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, node_configs);
    tcase_add_test(tc, egress_and_nodes);
    tcase_add_test(tc, addresses_for_outsiders);
    tcase_add_test(tc, cluster_ips);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
