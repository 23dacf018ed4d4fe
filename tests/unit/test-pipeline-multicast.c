/* SPDX-License-Identifier: Apache-2.0 */

/* v1.15 with the option multicast: tables, rules about multicast and IGMP, and
 * which can't be had. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline-world.h"
#include "pipeline.h"
#include "test-run.h"

#define POLICY(RULES) BASE ",{'kind':'NetworkPolicy'," \
    "'name':'AntreaClusterNetworkPolicy:p'," \
    "'type':'AntreaClusterNetworkPolicy','tierPriority':250,'priority':5," \
    "'appliedToGroups':['ab'],'rules':[" RULES "]}"
#define TO(BLOCKS) "'direction':'Out','to':{'ipBlocks':[" BLOCKS "]}"
#define MULTICAST "{'cidr':'239.1.0.0/16'}"

static void
setup(void)
{
    pw_init(adp_pipeline_find("v1.15"));
    pw_set_options("multicast");
}

START_TEST(tables)
{
    generate(BASE);
    check_set();
    expect_flow("table=UnSNAT, priority=210,ip,nw_dst=224.0.0.0/4 "
                "actions=goto_table:MulticastEgressRule");
    expect_flow("table=MulticastEgressRule, priority=0 "
                "actions=goto_table:MulticastEgressMetric");
    expect_flow("table=MulticastEgressRule, priority=64990,"
                "ip,nw_proto=2,reg0=0x3/0xf "
                "actions=goto_table:MulticastRouting");
    expect_flow("table=MulticastEgressPodMetric, priority=210,ip,nw_proto=2 "
                "actions=goto_table:MulticastRouting");
    expect_flow("table=MulticastEgressPodMetric, priority=200,"
                "ip,nw_src=10.0.0.10 actions=goto_table:MulticastRouting");
    expect_flow("table=MulticastRouting, priority=210,"
                "ip,nw_proto=2,reg0=0x3/0xf actions="
                "controller(reason=no_match,id=62373,userdata=03)");
    expect_flow("table=MulticastRouting, priority=210,"
                "ip,nw_proto=2,reg0=0x1/0xf actions="
                "controller(reason=no_match,id=62373,userdata=03)");
    expect_flow("table=MulticastRouting, priority=200,"
                "ip,nw_proto=2,nw_dst=224.0.0.1 actions=group:1");
    expect_flow("table=MulticastRouting, priority=190,ip "
                "actions=set_field:0x200000/0x600000->reg0,"
                "set_field:0x2->reg1,goto_table:MulticastOutput");
    expect_flow("table=MulticastIngressPodMetric, priority=200,ip,reg1=0xa "
                "actions=goto_table:MulticastOutput");
    expect_flow("table=MulticastOutput, priority=210,"
                "reg0=0x200001/0x60000f,reg1=0x2 actions=drop");
    expect_flow("table=MulticastOutput, priority=210,"
                "reg0=0x200002/0x60000f,reg1=0x1 actions=drop");
    expect_flow("table=MulticastOutput, priority=200,reg0=0x200000/0x600000 "
                "actions=output:NXM_NX_REG1[]");
    expect_flow("table=MulticastOutput, priority=0 actions=drop");
    ck_assert(shash_find(
        &pw.set.groups, "group_id=1,type=all,"
        "bucket=bucket_id:0,actions=set_field:0x200000/0x600000->reg0,"
        "set_field:0xa->reg1,resubmit(,MulticastIngressRule),"
        "bucket=bucket_id:1,actions=set_field:0x200000/0x600000->reg0,"
        "set_field:0xb->reg1,resubmit(,MulticastIngressRule)"));

    pw_set_options("");
    generate(BASE);
    ck_assert_uint_eq(count_flows("Multicast"), 0);
    ck_assert(shash_is_empty(&pw.set.groups));
}
END_TEST

START_TEST(rules_about_multicast)
{
    generate(POLICY("{'action':'Drop'," TO(MULTICAST) "},"
                    "{'action':'Allow'," TO("{'cidr':'224.0.0.0/4'}")
                    ",'services':[{'protocol':'UDP','port':5000}]},"
                    "{'action':'Drop'," TO("{'cidr':'10.0.0.0/8'}") "}"));
    check_set();
    expect_flow("table=MulticastEgressRule, priority=14500,ip,"
                "nw_dst=239.1.0.0/16 actions=conjunction(2,2/2)");
    expect_flow("table=MulticastEgressRule, priority=14500,ip,"
                "nw_src=10.0.0.10 actions=conjunction(2,1/2)");
    expect_flow("table=MulticastEgressRule, priority=14500,conj_id=2 "
                "actions=set_field:0x2->reg3,set_field:0x400/0x400->reg0,"
                "goto_table:MulticastEgressMetric");
    expect_flow("table=MulticastEgressMetric, priority=210,"
                "reg0=0x400/0x400,reg3=0x2 actions=drop");
    expect_flow("table=MulticastEgressRule, priority=14499,udp,tp_dst=5000 "
                "actions=conjunction(3,3/3)");
    expect_flow("table=MulticastEgressRule, priority=14499,conj_id=3,ip "
                "actions=set_field:0x3->reg3,"
                "goto_table:MulticastEgressMetric");
    expect_flow("table=MulticastEgressMetric, priority=200,reg3=0x3 "
                "actions=goto_table:MulticastEgressPodMetric");
    /* The third one is an ordinary one, and these come first. */
    expect_flow("table=AntreaPolicyEgressRule, priority=14498,ip,"
                "nw_dst=10.0.0.0/8 actions=conjunction(1,2/2)");
}
END_TEST

/* Those about what Pods send have no flows: the datapath applies them. */
START_TEST(rules_about_igmp)
{
    generate(POLICY("{'direction':'Out','action':'Drop','services':"
                    "[{'protocol':'IGMP','igmpType':22}]},"
                    "{'direction':'In','action':'Drop','services':"
                    "[{'protocol':'IGMP','groupAddress':'224.0.0.1'}]},"
                    "{'direction':'In','action':'Allow','services':"
                    "[{'protocol':'IGMP','igmpType':17}]}"));
    check_set();
    ck_assert_uint_eq(count_flows("table=MulticastEgressRule"), 2);
    expect_flow("table=MulticastIngressRule, priority=14500,"
                "ip,nw_proto=2,nw_dst=224.0.0.1 "
                "actions=conjunction(2,2/2)");
    expect_flow("table=MulticastIngressRule, priority=14500,reg1=0xa "
                "actions=conjunction(2,1/2)");
    expect_flow("table=MulticastIngressMetric, priority=210,"
                "reg0=0x400/0x400,reg3=0x2 actions=drop");
    expect_flow("table=MulticastIngressRule, priority=14499,ip,nw_proto=2 "
                "actions=conjunction(3,2/2)");
    expect_flow("table=MulticastIngressMetric, priority=200,reg3=0x3 "
                "actions=goto_table:MulticastIngressPodMetric");
}
END_TEST

static void
expect_refused(const char *records, const char *field, const char *why)
{
    struct adp_error *error = try_generate(records);

    ck_assert_msg(error, "%s", records);
    ck_assert_str_eq(error->object,
                     "NetworkPolicy AntreaClusterNetworkPolicy:p");
    ck_assert_str_eq(error->field, field);
    ck_assert_msg(strstr(error->message, why), "%s", error->message);
    adp_error_destroy(error);
}

START_TEST(refused)
{
    static const char igmp[] = POLICY(
        "{'direction':'In'},{'direction':'Out','services':"
        "[{'protocol':'IGMP'}]}");

    generate(igmp);
    pw_set_options("probe-mark");
    expect_refused(igmp, "rules[1].services", "option multicast");
    /* An address as any other. */
    generate(POLICY("{'action':'Reject'," TO(MULTICAST) "}"));
    ck_assert_uint_eq(count_flows("table=AntreaPolicyEgressRule, priority=14500"),
                      4);

    pw_set_options("multicast");
    expect_refused(POLICY("{" TO(MULTICAST ",{'cidr':'10.0.0.0/8'}") "}"),
                   "rules[0].to", "one rule");
    expect_refused(POLICY("{" TO(MULTICAST ",{'cidr':'ff00::/8'}") "}"),
                   "rules[0].to", "one rule");
    expect_refused(POLICY("{'direction':'Out','to':{'addressGroups':['x'],"
                          "'ipBlocks':[" MULTICAST "]}}"),
                   "rules[0].to", "one rule");
    expect_refused(POLICY("{'direction':'Out','to':{'fqdns':['x'],"
                          "'ipBlocks':[" MULTICAST "]}}"),
                   "rules[0].to", "one rule");
    expect_refused(POLICY("{'action':'Reject'," TO(MULTICAST) "}"),
                   "rules[0].action", "only allow");
    expect_refused(POLICY("{'action':'Pass'," TO(MULTICAST) "}"),
                   "rules[0].action", "only allow");
    expect_refused(POLICY("{'enableLogging':true," TO(MULTICAST) "}"),
                   "rules[0].enableLogging", "multicast");
    expect_refused(POLICY("{'l7Protocols':[{'tls':{}}]," TO(MULTICAST) "}"),
                   "rules[0].l7Protocols", "multicast");
    /* Where it comes from is nothing that a rule of ingress could mean. */
    generate(POLICY("{'direction':'In','from':{'ipBlocks':[" MULTICAST ","
                    "{'cidr':'10.0.0.0/8'}]}}"));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("pipeline-multicast");
    TCase *tc = tcase_create("v1.15");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    tcase_add_checked_fixture(tc, setup, pw_uninit);
    tcase_add_test(tc, tables);
    tcase_add_test(tc, rules_about_multicast);
    tcase_add_test(tc, rules_about_igmp);
    tcase_add_test(tc, refused);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
