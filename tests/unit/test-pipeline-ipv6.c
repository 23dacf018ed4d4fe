/* SPDX-License-Identifier: Apache-2.0 */

/* Over IPv6 pipeline v1.15 is what it is over IPv4: the same records, once with
 * addresses of the one and once of the other family, give the same flows and
 * groups, in the words of the family.  All but ARP and neighbour discovery, of
 * which it is checked who may send what. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline-world.h"
#include "sset.h"
#include "test-run.h"
#include "util.h"

#define EPS "'endpoints':[{'ip':'10.0.0.10','port':80,'local':true}," \
    "{'ip':'10.0.1.5','port':80},{'ip':'10.96.0.2','port':80}]"
#define DSR_SERVICE ",{'kind':'Service','name':'d/u'," \
    "'clusterIP':'10.96.0.1','loadBalancerMode':'DSR'," \
    "'externalIPs':['172.17.0.1'],'ports':[{'port':83,'nodePort':30001," \
    EPS "}]}"
#define SERVICES \
    "{'kind':'Service','name':'d/s','clusterIP':'10.96.0.1'," \
    "'loadBalancerIPs':['172.16.0.1'],'externalIPs':['172.17.0.1']," \
    "'loadBalancerSourceRanges':['192.0.2.0/24']," \
    "'externalTrafficPolicy':'Local'," \
    "'ports':[{'port':80,'nodePort':30000," EPS "}," \
    "{'port':81,'protocol':'UDP'," EPS "}]}," \
    "{'kind':'Service','name':'d/t','clusterIP':'10.96.0.2'," \
    "'sessionAffinity':{'timeoutSeconds':60}," \
    "'ports':[{'port':80," EPS "},{'port':82,'protocol':'SCTP'}]}" DSR_SERVICE
#define POLICIES \
    "{'kind':'AppliedToGroup','name':'ab','pods':['d/a','d/b']}," \
    "{'kind':'AddressGroup','name':'x','addresses':['10.0.1.5'," \
    "'10.0.3.0/24']}," \
    "{'kind':'NetworkPolicy','name':'k','type':'K8sNetworkPolicy'," \
    "'appliedToGroups':['ab'],'rules':[" \
    "{'direction':'In','from':{'addressGroups':['x']},'services':[" \
    "{'protocol':'TCP','port':80},{'protocol':'UDP','port':5,'endPort':9}]}," \
    "{'direction':'Out','to':{'addressGroups':['x']}}]}," \
    "{'kind':'NetworkPolicy','name':'c','type':'AntreaClusterNetworkPolicy'," \
    "'tierPriority':250,'priority':5,'appliedToGroups':['ab'],'rules':[" \
    "{'direction':'In','action':'Drop','services':[{'protocol':'ICMP'," \
    "'icmpType':128},{'protocol':'SCTP'}]}," \
    "{'direction':'Out','action':'Allow','to':{'ipBlocks':[" \
    "{'cidr':'10.0.3.0/24'}],'toServices':['d/s']}}," \
    "{'direction':'Out','action':'Reject'}]}," \
    "{'kind':'Egress','name':'e','appliedToGroups':['ab']," \
    "'egressIP':'172.18.0.1','egressNode':'n'}"
#define WORLD NODE_WITH("'tunnel':{'port':'tun0'}," \
                        "'serviceCIDR':'10.96.0.0/16',") \
    "," PODS "," PEER "," SERVICES "," POLICIES

/* What stands for what in records, ... */
static const char *const addresses[][2] = {
    { "10.0.0.10", "fd00::10" }, { "10.0.0.11", "fd00::11" },
    { "10.0.0.1", "fd00::1" }, { "10.0.0.0/24", "fd00::/64" },
    { "10.0.1.1", "fd01::1" }, { "10.0.1.5", "fd01::5" },
    { "10.0.1.0/24", "fd01::/64" }, { "10.0.3.0/24", "fd03::/64" },
    { "10.96.0.1", "fd96::1" }, { "10.96.0.2", "fd96::2" },
    { "10.96.0.0/16", "fd96::/112" }, { "172.16.0.1", "fd16::1" },
    { "172.17.0.1", "fd17::1" }, { "172.18.0.1", "fd18::1" },
    { "192.0.2.0/24", "fd92::/64" }, { "192.168.0.1", "fdc0::1" },
    { "192.168.0.2", "fdc0::2" },
};

/* ... and beside them in flows. */
static const char *const words[][2] = {
    { "xxreg3=0xfd000000000000000000000000000010", "reg3=0xa00000a" },
    { "xxreg3=0xfd010000000000000000000000000005", "reg3=0xa000105" },
    { "xxreg3=0xfd960000000000000000000000000002", "reg3=0xa600002" },
    { "xxreg3=0xfd010000000000000000000000000000/"
      "0xffffffffffffffff0000000000000000", "reg3=0xa000100/0xffffff00" },
    { "0xfd000000000000000000000000000010->xxreg3", "0xa00000a->reg3" },
    { "0xfd010000000000000000000000000005->xxreg3", "0xa000105->reg3" },
    { "0xfd960000000000000000000000000002->xxreg3", "0xa600002->reg3" },
    { "NXM_NX_XXREG3[]", "NXM_NX_REG3[]" },
    { "NXM_NX_IPV6_SRC[]", "NXM_OF_IP_SRC[]" },
    { "NXM_NX_IPV6_DST[]", "NXM_OF_IP_DST[]" },
    { "eth_type=0x86dd", "eth_type=0x800" },
    { "fd00::10/128", "10.0.0.10/32" },
    { "[10.0.0.10]", "10.0.0.10" }, { "[10.0.1.5]", "10.0.1.5" },
    { "[10.96.0.2]", "10.96.0.2" },
    { "/128", "/32" },
    { "fc01::aabb:ccdd:eeff", "169.254.0.253" },
    { "fc01::aabb:ccdd:eefe", "169.254.0.252" },
    { "zone=65510", "zone=65520" }, { "zone=65511", "zone=65521" },
    { "tun_ipv6_dst", "tun_dst" }, { "ipv6_src", "nw_src" },
    { "ipv6_dst", "nw_dst" }, { "ipv6", "ip" }, { "tcp6", "tcp" },
    { "udp6", "udp" }, { "sctp6", "sctp" }, { "icmp6", "icmp" },
};

/* 's' with 'from' replaced by 'to'; frees 's'. */
static char *
replace_all(char *s, const char *from, const char *to)
{
    struct ds out = DS_EMPTY_INITIALIZER;
    const char *p = s, *next;

    while ((next = strstr(p, from)) != NULL) {
        ds_put_buffer(&out, p, next - p);
        ds_put_cstr(&out, to);
        p = next + strlen(from);
    }
    ds_put_cstr(&out, p);
    free(s);
    return ds_steal_cstr(&out);
}

static char *
in_ipv6(const char *records)
{
    char *s = xstrdup(records);

    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        s = replace_all(s, addresses[i][0], addresses[i][1]);
    }
    return s;
}

static char *
in_ipv4(const char *flow)
{
    char *s = xstrdup(flow);

    for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
        s = replace_all(s, addresses[i][1], addresses[i][0]);
    }
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        s = replace_all(s, words[i][0], words[i][1]);
    }
    return s;
}

static bool
is_about_neighbours(const char *flow)
{
    return (strstr(flow, "arp") || strstr(flow, "ARP")
            || strstr(flow, "table=IPv6") || strstr(flow, ":IPv6")
            || strstr(flow, "NDResponder"));
}

/* The texts of 'flows', all of them in the words of IPv4. */
static void
get_texts(const struct shash *flows, struct sset *texts)
{
    const struct shash_node *node;

    sset_init(texts);
    SHASH_FOR_EACH (node, flows) {
        if (!is_about_neighbours(node->name)) {
            char *text = in_ipv4(node->name);

            sset_add(texts, text);
            free(text);
        }
    }
}

static void
expect_same(const struct sset *a, const struct sset *b)
{
    const char *text;

    ck_assert_uint_gt(sset_count(a), 0);
    SSET_FOR_EACH (text, a) {
        ck_assert_msg(sset_contains(b, text), "in one family only: %s", text);
    }
    SSET_FOR_EACH (text, b) {
        ck_assert_msg(sset_contains(a, text), "in one family only: %s", text);
    }
}

/* Makes the flows of WORLD with each family; all of one form. */
static void
compare_families(const char *options)
{
    struct sset flows[2], groups[2];
    char *ipv6 = in_ipv6(WORLD);

    for (int i = 0; i < 2; i++) {
        pw_uninit();
        pw_init(adp_pipeline_find("v1.15"));
        pw_set_options(options);
        generate(i ? ipv6 : WORLD);
        check_set();
        get_texts(&pw.set.flows, &flows[i]);
        get_texts(&pw.set.groups, &groups[i]);
    }
    expect_same(&flows[0], &flows[1]);
    expect_same(&groups[0], &groups[1]);
    for (int i = 0; i < 2; i++) {
        sset_destroy(&flows[i]);
        sset_destroy(&groups[i]);
    }
    free(ipv6);
}

START_TEST(flows_have_the_shape_of_those_of_ipv4)
{
    compare_families("");
    compare_families("probe-mark");
    compare_families("egress-snat");
    compare_families("dsr");
}
END_TEST

/* Without an address of the gateway nothing else of IPv6 leads to flows. */
START_TEST(without_ipv6_there_is_none)
{
    generate(NODE "," PEER ",{'kind':'Pod','name':'d/a','port':'a',"
             "'mac':'00:00:00:00:00:0a','ips':['10.0.0.10','fd00::10']},"
             "{'kind':'Service','name':'d/s','clusterIP':['10.96.0.1',"
             "'fd96::1'],'ports':[{'port':80,'nodePort':30000,"
             "'endpoints':[{'ip':'fd00::10','port':80}]}]},"
             "{'kind':'AppliedToGroup','name':'ab','pods':['d/a']},"
             "{'kind':'NetworkPolicy','name':'k','type':'K8sNetworkPolicy',"
             "'appliedToGroups':['ab'],'rules':[{'direction':'In','from':"
             "{'ipBlocks':[{'cidr':'::/0'}]},'services':["
             "{'protocol':'TCP','port':80}]},{'direction':'Out'}]}");
    check_set();
    ck_assert_uint_eq(count_flows("ipv6"), 0);
    ck_assert_uint_eq(count_flows("IPv6"), 0);
    ck_assert_uint_eq(count_flows("icmp6"), 0);
    ck_assert_uint_eq(count_flows("tcp6"), 0);
    ck_assert_uint_eq(count_flows("fd"), 0);
    ck_assert_uint_eq(count_flows("65510"), 0);
}
END_TEST

START_TEST(neighbours)
{
    char *ipv6 = in_ipv6(WORLD);

    generate(ipv6);
    /* For each of two Pods, for address and link-local address, two forms of
     * both messages and the look for duplicates; the same for the gateway. */
    ck_assert_uint_eq(count_flows("table=IPv6, priority=200"), 3 * 2 * 5);
    expect_flow("table=IPv6, priority=200,icmp6,icmp_type=136,icmp_code=0,"
                "in_port=10,dl_src=00:00:00:00:00:0a,ipv6_src=fd00::10,"
                "nd_target=fd00::10,nd_tll=00:00:00:00:00:0a "
                "actions=goto_table:NDResponder");
    expect_flow("table=IPv6, priority=200,icmp6,icmp_type=135,icmp_code=0,"
                "in_port=10,dl_src=00:00:00:00:00:0a,"
                "ipv6_src=fe80::200:ff:fe00:a,nd_sll=00:00:00:00:00:00 "
                "actions=goto_table:NDResponder");
    expect_flow("table=IPv6, priority=200,icmp6,icmp_type=135,icmp_code=0,"
                "in_port=2,dl_src=00:00:00:00:00:01,ipv6_src=::,"
                "nd_target=fe80::/10,nd_sll=00:00:00:00:00:00 "
                "actions=goto_table:NDResponder");
    expect_flow("table=IPv6, priority=0 actions=drop");
    ck_assert_uint_eq(count_flows("table=IPv6"), 3 * 2 * 5 + 1);
    /* The peer's gateway is answered for. */
    ck_assert_uint_eq(count_flows("nd_target=fd01::1 "), 2);
    free(ipv6);
}
END_TEST

/* No Egress takes what goes to Nodes, at addresses of whichever family. */
START_TEST(nodes_of_both_families)
{
    static const char bypass[] = "actions=set_field:0x20/0xf0->reg0,"
                                 "goto_table:L2ForwardingCalc";
    static const char *const ips[] = {
        "ip,nw_dst=192.168.0.1/32", "ipv6,ipv6_dst=fdc0::1/128",
        "ip,nw_dst=192.168.0.2/32", "ipv6,ipv6_dst=fdc0::2/128",
    };

    generate("{'kind':'NodeConfig','name':'n','gateway':{'port':'gw0',"
             "'mac':'00:00:00:00:00:01','ip':['10.0.0.1','fd00::1']},"
             "'tunnel':{'port':'tun0'},'podCIDR':['10.0.0.0/24','fd00::/64'],"
             "'transportIP':'192.168.0.1',"
             "'nodePortAddresses':['192.168.0.1','fdc0::1']},"
             "{'kind':'PeerNode','name':'p',"
             "'podCIDR':['10.0.1.0/24','fd01::/64'],"
             "'gatewayIP':['10.0.1.1','fd01::1'],"
             "'transportIP':'192.168.0.2',"
             "'nodeIPs':['192.168.0.2','fdc0::2']}");
    check_set();
    for (size_t i = 0; i < ARRAY_SIZE(ips); i++) {
        char *flow = xasprintf("table=EgressMark, priority=210,%s %s", ips[i],
                               bypass);

        expect_flow(flow);
        free(flow);
    }
    ck_assert_uint_eq(count_flows("table=EgressMark, priority=210"),
                      ARRAY_SIZE(ips));
}
END_TEST

static void
setup(void)
{
    pw_init(adp_pipeline_find("v1.15"));
}

int
main(void)
{
    Suite *suite = suite_create("pipeline-ipv6");
    TCase *tc = tcase_create("v1.15");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_WARN);
    tcase_add_checked_fixture(tc, setup, pw_uninit);
    tcase_set_timeout(tc, 60);  /* For slow machines. */
    tcase_add_test(tc, flows_have_the_shape_of_those_of_ipv4);
    tcase_add_test(tc, without_ipv6_there_is_none);
    tcase_add_test(tc, neighbours);
    tcase_add_test(tc, nodes_of_both_families);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
