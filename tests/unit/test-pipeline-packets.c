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
#define TO_CONTROLLER ",userspace(pid=0,controller("

#define GATEWAY_MAC "00:00:00:00:00:01"
#define VIRTUAL_MAC "aa:bb:cc:dd:ee:ff"

#define SERVICE(NAME, MORE, ENDPOINTS) ",{'kind':'Service'," \
    "'name':'" NAME "'," MORE "'ports':[{'port':80,'nodePort':30001," \
    "'endpoints':[" ENDPOINTS "]}]}"
#define POLICY(MORE, RULE) ",{'kind':'NetworkPolicy'," \
    "'name':'AntreaClusterNetworkPolicy:p'," \
    "'type':'AntreaClusterNetworkPolicy','tierPriority':250,'priority':5," \
    MORE "'rules':[" RULE "]}"

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

int
main(void)
{
    Suite *suite = suite_create("pipeline-packets");
    TCase *tc = tcase_create("v1.15");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, denied_on_the_way_back);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
