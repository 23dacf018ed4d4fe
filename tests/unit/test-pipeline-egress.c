/* SPDX-License-Identifier: Apache-2.0 */

/* What pipeline v1.15 makes of Egresses and TrafficControls, beyond what the
 * conformance test shows with the document's samples. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline-world.h"
#include "pipeline.h"
#include "test-run.h"
#include "util.h"

static void
setup(void)
{
    pw_init(adp_pipeline_find("v1.15"));
}

START_TEST(snat_by_the_datapath)
{
    static const char *const flows[] = {
        "table=ARPResponder, priority=200,arp,in_port=2,arp_tpa=9.9.9.9,"
        "arp_op=1 ",
        "table=UnSNAT, priority=200,ip,reg0=0x2/0xf,nw_dst=9.9.9.9 "
        "actions=set_field:0x200/0x200->reg0,"
        "ct(table=ConntrackZone,zone=65521,nat)",
        "table=ConntrackZone, priority=210,ip,reg0=0x2/0xf,nw_dst=9.9.9.9 "
        "actions=drop",
        "table=EgressMark, priority=200,ct_state=+new+trk,ip,in_port=10 "
        "actions=set_field:0x10000/0xff0000->reg8,"
        "set_field:0x20/0xf0->reg0,goto_table:SNATMark",
        "table=EgressMark, priority=200,ct_state=-new+trk,"
        "ct_mark=0x20/0x20,ip,in_port=10 "
        "actions=set_field:0x10000/0xff0000->reg8,"
        "set_field:0x20/0xf0->reg0,goto_table:SNAT",
        "table=EgressMark, priority=200,ct_state=+new+trk,ip,tun_dst=9.9.9.9 ",
        "table=EgressMark, priority=200,ct_state=-new+trk,"
        "ct_mark=0x20/0x20,ip,tun_dst=9.9.9.9 ",
        "table=SNATMark, priority=200,ct_state=+new+trk,ip,"
        "reg8=0x10000/0xff0000 ",
        "table=SNAT, priority=200,ct_state=+new+trk,ip,reg8=0x10000/0xff0000 "
        "actions=ct(commit,table=L2ForwardingCalc,zone=65521,"
        "nat(src=9.9.9.9))",
        "table=L2ForwardingCalc, priority=220,ip,reg8=0x10000/0xff0000,"
        "nw_src=9.9.9.9 actions=meter:1,",
        "table=L2ForwardingCalc, priority=210,ip,reg8=0x10000/0xff0000 "
        "actions=drop",
        "table=EgressMark, priority=195,ct_state=-new+trk,ip,in_port=10 "
        "actions=meter:1,",
    };
    static const char records[] = BASE ",{'kind':'Egress','name':'e',"
        "'appliedToGroups':['a'],'egressIP':'9.9.9.9','egressNode':'n',"
        "'bandwidth':{'rateKbps':7,'burstKbits':12}}";

    pw_set_options("egress-snat");
    generate(records);
    check_set();
    for (size_t i = 0; i < ARRAY_SIZE(flows); i++) {
        ck_assert_msg(count_flows(flows[i]) == 1, "no flow %s", flows[i]);
    }
    ck_assert_uint_eq(pw.set.meters.limits[1].rate, 7);
    char *text = adp_pipeline_describe_mark(pw.state, 1);
    ck_assert_str_eq(text, "Egress with 9.9.9.9");
    free(text);
    ck_assert_ptr_null(adp_pipeline_describe_mark(pw.state, 2));

    pw_set_options("");
    generate(records);
    check_set();
    ck_assert_uint_eq(count_flows("reg8="), 0);
    ck_assert_uint_eq(count_flows(
        "table=EgressMark, priority=200,ct_state=+new+trk,ip,in_port=10 "
        "actions=meter:1,set_field:0x1/0xff->pkt_mark,"), 1);
}
END_TEST

#define EG(NAME, IP, RATE) ",{'kind':'Egress','name':'" NAME "'," \
    "'appliedToGroups':['" NAME "'],'egressIP':'" IP "','egressNode':'n'" \
    RATE "}"
#define RATE(N) ",'bandwidth':{'rateKbps':" #N ",'burstKbits':12}"

/* One meter for an address, whoever of its Egresses has a bandwidth. */
START_TEST(bandwidth_is_the_address_s)
{
    generate(BASE EG("a", "9.9.9.9", "") EG("b", "9.9.9.9", RATE(3))
             EG("gone", "9.9.9.9", RATE(4)));
    check_set();
    ck_assert_uint_eq(count_flows("actions=meter:1,set_field:0x1/0xff->"
                                  "pkt_mark,"), 3);
    ck_assert_uint_eq(count_flows("ct_state=-new+trk,ip,in_port=10 "
                                  "actions=meter:1,"), 1);
    ck_assert_uint_eq(pw.set.meters.limits[1].rate, 3);

    generate(BASE EG("a", "9.9.9.9", "") EG("gone", "9.9.9.9", RATE(4)));
    ck_assert_uint_eq(pw.set.meters.limits[1].rate, 4);

    generate(BASE EG("a", "9.9.9.9", "") EG("b", "9.9.9.8", RATE(3)));
    ck_assert_uint_eq(count_flows("in_port=10 actions=set_field:0x1/0xff->"
                                  "pkt_mark,"), 1);
    ck_assert_uint_eq(count_flows("meter:1,"), 0);
    ck_assert_uint_eq(count_flows("actions=meter:2,"), 4);
    ck_assert_uint_eq(pw.set.meters.limits[1].rate, 0);
    ck_assert_uint_eq(pw.set.meters.limits[2].rate, 3);
}
END_TEST

#define DUAL_NODE "{'kind':'NodeConfig','name':'n','gateway':{'port':'gw0'," \
    "'mac':'00:00:00:00:00:01','ip':['10.0.0.1','fd00::1']}," \
    "'tunnel':{'port':'tun0'},'podCIDR':['10.0.0.0/24','fd00::/64']," \
    "'transportIP':'192.168.0.1'}"
#define MARKED(IP, MARK) "table=EgressMark, priority=200,ct_state=+new+trk," \
    IP ",in_port=10 actions=set_field:0x" #MARK "/0xff->pkt_mark,"

/* A Pod has one of each family, the first by name; in any order. */
START_TEST(one_for_each_family)
{
    static const char *const orders[] = {
        EG("a", "9.9.9.9", "") EG("ab", "fd99::9", ""),
        EG("ab", "9.9.9.9", "") EG("a", "fd99::9", ""),
        EG("a", "9.9.9.9", "") EG("ab", "9.9.9.8", "")
        ",{'kind':'Egress','name':'b','appliedToGroups':['a'],"
        "'egressIP':'fd99::9','egressNode':'n'}"
        ",{'kind':'Egress','name':'c','appliedToGroups':['a'],"
        "'egressIP':'fd99::8','egressNode':'n'}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
        char *records = xasprintf(DUAL_NODE "," PODS "," GROUPS "%s",
                                  orders[i]);

        generate(records);
        check_set();
        ck_assert_uint_eq(count_flows("ct_state=+new+trk,ip,in_port=10 "), 1);
        ck_assert_uint_eq(count_flows("ct_state=+new+trk,ipv6,in_port=10 "),
                          1);
        free(records);
    }
    ck_assert_uint_eq(count_flows(MARKED("ip", 1)), 1);
    ck_assert_uint_eq(count_flows(MARKED("ipv6", 2)), 1);
}
END_TEST

START_TEST(cookies_name_their_objects)
{
    generate(BASE EG("a", "9.9.9.9", "")
             ",{'kind':'TrafficControl','name':'t','appliedToGroups':['a'],"
             "'direction':'Both','action':'Mirror','targetPort':'b'}");
    check_set();
    ck_assert_uint_eq(count_flows("table=TrafficControl, priority=200,"), 2);
    ck_assert_uint_eq(count_flows("cookie=0x5010000000002, "
                                  "table=TrafficControl,"), 2);
    ck_assert_uint_eq(count_flows("cookie=0x5040000000001, "
                                  "table=EgressMark,"), 2);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("egress");
    TCase *tc = tcase_create("v1.15");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    tcase_add_checked_fixture(tc, setup, pw_uninit);
    tcase_add_test(tc, snat_by_the_datapath);
    tcase_add_test(tc, bandwidth_is_the_address_s);
    tcase_add_test(tc, one_for_each_family);
    tcase_add_test(tc, cookies_name_their_objects);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
