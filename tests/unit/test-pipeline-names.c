/* SPDX-License-Identifier: Apache-2.0 */

/* v1.15: the flows of rules about names. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline-state.h"
#include "pipeline-world.h"
#include "pipeline.h"
#include "test-run.h"

static void
setup(void)
{
    pw_init(adp_pipeline_find("v1.15"));
}

/* DNS answers to Pods with names in their rules wait until they were read. */
START_TEST(names)
{
    generate(BASE ",{'kind':'NetworkPolicy',"
             "'name':'AntreaClusterNetworkPolicy:p',"
             "'type':'AntreaClusterNetworkPolicy','tierPriority':250,"
             "'priority':5,'appliedToGroups':['a'],'rules':["
             "{'direction':'Out','to':{'fqdns':['a.x','*.y']}},"
             "{'direction':'Out','action':'Drop','to':{'fqdns':['b.y']}}]}");
    check_set();
    expect_flow("table=AntreaPolicyIngressRule, priority=64991,"
                "ct_state=+rpl+trk,udp,tp_src=53 "
                "actions=conjunction(4294967295,1/2)");
    expect_flow("table=AntreaPolicyIngressRule, priority=64991,"
                "ct_state=+rpl+trk,tcp,tp_src=53 "
                "actions=conjunction(4294967295,1/2)");
    expect_flow("table=AntreaPolicyIngressRule, priority=64991,reg1=0xa "
                "actions=conjunction(4294967295,2/2)");
    expect_flow("table=AntreaPolicyIngressRule, priority=64991,"
                "conj_id=4294967295 actions=meter:258,"
                "controller(reason=no_match,id=62373,userdata=02,pause),"
                "goto_table:IngressMetric");
    /* Without an address they are for nobody. */
    ck_assert_uint_eq(count_flows("conjunction(1,2/2)"), 0);
    char *text = adp_pipeline_describe_conj(pw.state, ADP_NAMES_CONJ_ID);
    ck_assert_str_eq(text, "DNS answers to Pods whose rules have names");
    free(text);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("pipeline-names");
    TCase *tc = tcase_create("v1.15");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    tcase_add_checked_fixture(tc, setup, pw_uninit);
    tcase_add_test(tc, names);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
