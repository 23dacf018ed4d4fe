/* SPDX-License-Identifier: Apache-2.0 */

/* The words of a trace, from made-up answers of the daemon. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"
#include "dpctl-walk.h"

#define NAMES "'names':{'10.0.0.7':'Pod default/web','p7':'Pod default/web'}"

/* An answer with one visit, of which 'visit' are the members. */
static struct json *
parse_visit(const char *visit)
{
    char *text = xasprintf("{'outcome':'dropped','reason':'just so'," NAMES ","
                           "'tables':[{'id':4,'table':'T',%s}]}", visit);
    struct json *trace = json_from_quoted(text);

    free(text);
    return trace;
}

static void
expect_words(const struct json *trace, size_t i, const char *expected)
{
    struct svec sentences = SVEC_EMPTY_INITIALIZER;

    dpctl_walk_words(trace, i, &sentences);
    char *words = svec_join(&sentences, " ", "");
    ck_assert_str_eq(words, expected);
    free(words);
    svec_destroy(&sentences);
}

/* The words for one step; the visit has no others. */
static void
expect_step(const char *step, const char *expected)
{
    char *visit = xasprintf("'flow':'priority=1','steps':[%s,"
                            "{'do':'goto','visit':1}]", step);
    char *text = xasprintf("{'outcome':'forwarded'," NAMES ",'tables':["
                           "{'id':4,'table':'T',%s},"
                           "{'id':5,'table':'U','flow':'priority=0',"
                           "'steps':[]}]}", visit);
    struct json *trace = json_from_quoted(text);

    expect_words(trace, 0, expected);
    json_destroy(trace);
    free(text);
    free(visit);
}

START_TEST(sets)
{
    expect_step("{'do':'set','field':'reg0','value':'0x203',"
                "'part':'reg0[0..3]','part_value':'0x3','means':["
                "{'name':'FromPod','about':'the packet comes from a Pod'}]}",
                "Notes that the packet comes from a Pod "
                "(FromPod, reg0[0..3]=0x3).");
    expect_step("{'do':'set','field':'reg1','value':'0x7','means':["
                "{'name':'OutPort','about':'the output port',"
                "'value':'p7'}]}",
                "Notes the output port (OutPort, reg1=0x7): "
                "p7 (Pod default/web).");
    expect_step("{'do':'set','field':'reg7','value':'0x1','means':["
                "{'name':'Group','about':'the group','value':'1',"
                "'object':'Service default/s'}]}",
                "Notes the group (Group, reg7=0x1): 1, Service default/s.");
    expect_step("{'do':'set','field':'reg9','value':'0x3',"
                "'part':'reg9[0]','part_value':'0x1'}",
                "Sets reg9[0] to 0x1.");
    expect_step("{'do':'set','field':'ip_dst','value':'10.0.0.7'}",
                "Sets the destination address to 10.0.0.7 "
                "(Pod default/web).");
    expect_step("{'do':'set','field':'tcp_dst','absent':true}",
                "Leaves the destination port alone: the packet has none.");
    expect_step("{'do':'dec_ttl','ttl':63}", "Counts the TTL down to 63.");
}
END_TEST

START_TEST(conntrack)
{
    expect_step("{'do':'ct','zone':7,'commit':false,'nat':'known',"
                "'answer':{'state':'est|rpl|trk','mark':'0x2'}}",
                "Asks conntrack, zone 7, and translates as the connection "
                "does: the packet is a reply in an established connection "
                "(ct_state=est|rpl|trk, ct_mark=0x2).");
    expect_step("{'do':'ct','zone':7,'commit':true,'nat':'dst',"
                "'set_mark':'0x10/0x10','means':["
                "{'name':'S','about':'it is one to a Service'}],"
                "'answer':{'state':'new|trk|dnat','src':'10.0.0.9:1',"
                "'dst':'10.0.0.7:80'}}",
                "Commits the connection to conntrack, zone 7, with another "
                "destination (DNAT): the connection is new "
                "(ct_state=new|trk|dnat). The packet now goes from "
                "10.0.0.9:1 to 10.0.0.7:80 (Pod default/web). Leaves "
                "ct_mark=0x10/0x10 in the connection: that it is one to a "
                "Service (S).");
    expect_step("{'do':'ct','zone':7,'commit':false,"
                "'answer':{'state':'inv|trk'}}",
                "Asks conntrack, zone 7: it finds the packet invalid "
                "(ct_state=inv|trk).");
    expect_step("{'do':'ct','zone':7,'commit':false,"
                "'answer':{'unknown':'IP fragment'},'punt':'fragment'}",
                "Asks conntrack, zone 7: it can't tell (IP fragment). The "
                "compiled pipeline ends here, stock translation takes the "
                "packet: fragment.");
}
END_TEST

START_TEST(groups)
{
    expect_step("{'do':'group','group':3,'object':'Service d/s'}",
                "Hands the packet to group 3, Service d/s.");
    expect_step("{'do':'group','group':3,'result':'no live bucket'}",
                "Hands the packet to group 3: no live bucket.");
    expect_step("{'do':'bucket','type':'select','bucket':1,'buckets':2}",
                "The packet's hash selects bucket 1, one of 2.");
    expect_step("{'do':'bucket','type':'all','bucket':0,'buckets':3}",
                "Bucket 0, one of 3, gets a copy.");
    expect_step("{'do':'bucket','type':'fast_failover','bucket':0,"
                "'buckets':3}",
                "Bucket 0, one of 3, is the first that is alive.");
    expect_step("{'do':'learn','flow':'table=1,priority=2 actions=drop'}",
                "Learns a flow for the packets to come: "
                "table=1,priority=2 actions=drop.");
}
END_TEST

START_TEST(outputs)
{
    expect_step("{'do':'output','port':'p7','result':'sent'}",
                "Sends the packet out of port p7 (Pod default/web).");
    expect_step("{'do':'output','port':'p8','result':'is the input port'}",
                "Would send the packet out of port p8, but that is the input "
                "port.");
    expect_step("{'do':'output','action':'NORMAL','punt':'normal'}",
                "Does NORMAL. The compiled pipeline ends here, stock "
                "translation takes the packet: normal.");
    expect_step("{'do':'output','action':'output:NXM_NX_REG1[]'}",
                "Does output:NXM_NX_REG1[], to no effect.");
    expect_step("{'do':'action','action':'set_queue:1'}",
                "Does set_queue:1.");
    /* What a later daemon may do. */
    expect_step("{'do':'news'}", "");
}
END_TEST

START_TEST(hits)
{
    struct json *trace = parse_visit("'steps':[]");
    expect_words(trace, 0, "No flow matches.");
    json_destroy(trace);

    trace = parse_visit("'flow':'priority=0','steps':[{'do':'drop'}]");
    expect_words(trace, 0, "No other flow matches. Drops the packet: just "
                 "so.");
    json_destroy(trace);

    /* It is the walk's end, though no step says so. */
    trace = parse_visit("'flow':'priority=1','object':'Service d/s',"
                        "'learned':true,'steps':[{'do':'dec_ttl','ttl':1}]");
    expect_words(trace, 0, "The flow belongs to Service d/s. It was learned "
                 "just now. Counts the TTL down to 1. There it is dropped: "
                 "just so.");
    json_destroy(trace);

    trace = parse_visit("'flow':'conj_id=4','conj_id':4,"
                        "'object':'NetworkPolicy d/p, rule 1 (Allow)',"
                        "'clauses':[{'clause':1,'of':2,'flow':'nw_src=1'},"
                        "{'clause':2,'of':2,'flow':'tp_dst=2'}],'steps':["
                        "{'do':'set','field':'reg6','value':'0x4','means':["
                        "{'name':'R','about':'the rule','value':'4',"
                        "'object':'NetworkPolicy d/p, rule 1 (Allow)'}]},"
                        "{'do':'output','port':'x','result':'sent'}]");
    expect_words(trace, 0, "All clauses of conjunction 4 are met: 1/2 by "
                 "nw_src=1, 2/2 by tp_dst=2. That is NetworkPolicy d/p, rule "
                 "1 (Allow). Notes the rule (R, reg6=0x4): 4. Sends the "
                 "packet out of port x. There it is dropped: just so.");
    json_destroy(trace);
}
END_TEST

/* Table 8 sends the packet to 9, which goes on to 10 and comes back, then to
 * 10 again, then to 11, for good. */
static const char detours[] =
    "{'outcome':'forwarded','tables':["
    "{'id':8,'table':'A','flow':'priority=1','steps':["
    "{'do':'goto','visit':1,'returns':true},"
    "{'do':'goto','visit':3,'returns':true},{'do':'goto','visit':4}]},"
    "{'id':9,'table':'B','from':0,'flow':'priority=1','steps':["
    "{'do':'goto','visit':2}]},"
    "{'id':10,'table':'C','from':1,'flow':'priority=1','steps':["
    "{'do':'dec_ttl','ttl':1}]},"
    "{'id':10,'table':'C','from':0,'steps':[]},"
    "{'id':11,'from':0,'flow':'priority=1','steps':[{'do':'output','port':'x',"
    "'result':'sent'}]}]}";

static void
expect_next(const struct json *trace, size_t i, size_t visit, bool back)
{
    struct dpctl_walk_next next = dpctl_walk_next(trace, i);

    ck_assert_uint_eq(next.visit, visit);
    if (visit != SIZE_MAX) {
        ck_assert_int_eq(next.back, back);
    }
}

START_TEST(ways)
{
    struct json *trace = json_from_quoted(detours);

    expect_words(trace, 0, "Goes to table 9 B, and comes back. Goes to table "
                 "10 C, and comes back.");
    expect_next(trace, 0, 4, false);
    expect_next(trace, 1, 2, false);
    expect_next(trace, 2, 0, true);
    expect_next(trace, 3, 0, true);
    expect_next(trace, 4, SIZE_MAX, false);
    json_destroy(trace);

    /* A detour after which only an output is left to do. */
    trace = json_from_quoted(
        "{'tables':[{'id':0,'flow':'x','steps':["
        "{'do':'goto','visit':1,'returns':true},"
        "{'do':'output','port':'y','result':'sent'}]},"
        "{'id':1,'from':0,'flow':'x','steps':[]}]}");
    expect_next(trace, 0, SIZE_MAX, false);
    expect_next(trace, 1, 0, true);
    json_destroy(trace);

    /* Two buckets, each with a walk of its own. */
    trace = json_from_quoted(
        "{'tables':[{'id':0,'flow':'x','steps':["
        "{'do':'group','group':1},"
        "{'do':'bucket','type':'all','bucket':0,'buckets':2},"
        "{'do':'goto','visit':1,'returns':true},"
        "{'do':'bucket','type':'all','bucket':1,'buckets':2},"
        "{'do':'goto','visit':3}]},"
        "{'id':1,'from':0,'flow':'x','steps':["
        "{'do':'goto','visit':2}]},"
        "{'id':2,'from':1,'flow':'x','steps':[]},"
        "{'id':1,'from':0,'flow':'x','steps':["
        "{'do':'goto','visit':4}]},"
        "{'id':2,'from':3,'flow':'x','steps':[]}]}");
    expect_words(trace, 0, "Hands the packet to group 1. Bucket 0, one of 2, "
                 "gets a copy. Goes to table 1, and comes back. Bucket 1, one "
                 "of 2, gets a copy.");
    expect_next(trace, 0, 3, false);
    expect_next(trace, 2, 0, true);
    expect_next(trace, 4, SIZE_MAX, false);
    json_destroy(trace);
}
END_TEST

START_TEST(names)
{
    static const char *const cases[][2] = {
        { "10.0.0.7", "10.0.0.7 (Pod default/web)" },
        { "10.0.0.7:80", "10.0.0.7:80 (Pod default/web)" },
        { "10.0.0.8:80", "10.0.0.8:80" },
        { "p7", "p7 (Pod default/web)" },
        { "[fd00::1]:80", "[fd00::1]:80 (Pod default/six)" },
        { "fd00::1", "fd00::1 (Pod default/six)" },
        { "[", "[" }, { "", "" },
    };
    struct json *trace = json_from_quoted(
        "{'names':{'10.0.0.7':'Pod default/web','p7':'Pod default/web',"
        "'fd00::1':'Pod default/six'}}");

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *named = dpctl_walk_named(trace, cases[i][0]);

        ck_assert_str_eq(named, cases[i][1]);
        free(named);
    }
    json_destroy(trace);
}
END_TEST

static void
expect_summary(const char *text, const char *expected)
{
    struct json *trace = json_from_quoted(text);
    char *summary = dpctl_walk_summary(trace);

    ck_assert_str_eq(summary, expected);
    free(summary);
    json_destroy(trace);
}

START_TEST(summaries)
{
    expect_summary("{'flow':'tcp,in_port=1,x=y','headers':{"
                   "'eth_src':'a','eth_dst':'b','ip_src':'1.2.3.4',"
                   "'ip_dst':'5.6.7.8','tcp_src':'9','tcp_dst':'10'}}",
                   "tcp 1.2.3.4:9 to 5.6.7.8:10");
    expect_summary("{'flow':'arp,x','headers':{'eth_src':'a','eth_dst':'b',"
                   "'arp_spa':'1.2.3.4','arp_tpa':'5.6.7.8'}}",
                   "arp 1.2.3.4 to 5.6.7.8");
    expect_summary("{'flow':'in_port=1','headers':{'eth_src':'a',"
                   "'eth_dst':'b'}}", "a to b");
    expect_summary("{}", "? to ?");
}
END_TEST

static void
expect_verdict(const char *quoted, const char *expected)
{
    struct json *trace = json_from_quoted(quoted);
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_walk_put_verdict(trace, &s);
    ck_assert_str_eq(ds_cstr(&s), expected);
    ds_destroy(&s);
    json_destroy(trace);
}

START_TEST(verdicts)
{
    expect_verdict("{'outcome':'forwarded','verdict':'forwarded'," NAMES ","
                   "'outputs':[{'port':'p7'},{'port':'p8'}]}",
                   "Verdict: forwarded out of port p7 (Pod default/web), p8");
    expect_verdict("{'outcome':'dropped','verdict':'dropped in table A',"
                   "'outputs':[{'port':'p7'}]}",
                   "Verdict: dropped in table A");
    expect_verdict("{'outcome':'dropped','verdict':'dropped',"
                   "'at_present':'nothing passes'}",
                   "At present: nothing passes\nVerdict: dropped");
}
END_TEST

/* All of it: lines aren't longer than a terminal's but for flows, and what the
 * walk made of the packet stands at the end. */
START_TEST(whole)
{
    struct json *trace = json_from_quoted(
        "{'bridge':'br0','pipeline':'none','in_port':'p7','flow':'tcp,x',"
        "'outcome':'forwarded','verdict':'forwarded','actions':'2'," NAMES ","
        "'headers':{'ip_dst':'10.0.0.1','nw_ttl':'64'},"
        "'outputs':[{'port':'p8','headers':{'ip_dst':'10.0.0.7',"
        "'nw_ttl':'64'}}],'pipeline_tables':[{'id':0,'table':'A',"
        "'about':'finds out things'},{'id':3}],'tables':["
        "{'id':0,'table':'A','level':0,'flow':'priority=9,ip','steps':["
        "{'do':'set','field':'ip_dst','value':'10.0.0.7'},"
        "{'do':'goto','visit':1}]},"
        "{'id':3,'level':0,'flow':'priority=0','steps':["
        "{'do':'output','port':'p8','result':'sent'}]}]}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_walk_format(trace, &s);
    ck_assert_str_eq(
        ds_cstr(&s),
        "Flow: tcp,x\n"
        "Comes in on port p7 (Pod default/web) of bridge br0, pipeline none\n"
        "\n"
        "Table 0 A: finds out things\n"
        "    Hit: priority=9,ip\n"
        "    Sets the destination address to 10.0.0.7 (Pod default/web). "
        "Next: table 3.\n"
        "\n"
        "Table 3\n"
        "    Hit: priority=0\n"
        "    No other flow matches. Sends the packet out of port p8.\n"
        "\n"
        "Sent out of port p8 with changed headers:\n"
        "HEADER   BEFORE     AFTER\n"
        "ip_dst   10.0.0.1   10.0.0.7\n"
        "\n"
        "Datapath actions: 2\n"
        "Verdict: forwarded out of port p8\n");
    ds_destroy(&s);
    json_destroy(trace);
}
END_TEST

START_TEST(wrapped)
{
    struct json *trace = json_from_quoted(detours);
    struct ds s = DS_EMPTY_INITIALIZER;
    char *line, *save = NULL;

    dpctl_walk_format(trace, &s);
    for (line = strtok_r(ds_cstr(&s), "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        ck_assert_msg(strlen(line) <= 79, "%s", line);
        ck_assert_int_ne(line[strlen(line) - 1], ' ');
    }
    ds_destroy(&s);
    json_destroy(trace);
}
END_TEST

/* Answers that aren't what they should be are told as far as they go. */
START_TEST(odd_answers)
{
    static const char *const odd[] = {
        "{}", "{'tables':7}", "{'tables':[7,{}]}",
        "{'tables':[{'id':0,'from':7,'steps':[{'do':'goto','visit':99},"
        "{'do':'goto','visit':-5,'returns':true},{'do':3},{},9]}]}",
        "{'tables':[{'id':0,'steps':[{'do':'ct'},{'do':'output'},"
        "{'do':'group'},{'do':'set'},{'do':'learn'},{'do':'bucket'},"
        "{'do':'set','field':'reg0','means':[{},3]}]}],'outputs':[3],"
        "'names':4,'headers':5}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
        struct json *trace = json_from_quoted(odd[i]);
        struct ds s = DS_EMPTY_INITIALIZER;

        dpctl_walk_format(trace, &s);
        ck_assert(strstr(ds_cstr(&s), "Verdict: ?"));
        ds_destroy(&s);
        json_destroy(trace);
    }

    struct json *old = json_from_quoted(
        "{'tables':[{'id':0,'flow':'x'}],'text':'t'}");
    ck_assert(!dpctl_walk_is_told(old));
    json_destroy(old);
    struct json *new = json_from_quoted(detours);
    ck_assert(dpctl_walk_is_told(new));
    json_destroy(new);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl-walk");
    TCase *tc = tcase_create("dpctl-walk");

    tcase_add_test(tc, sets);
    tcase_add_test(tc, conntrack);
    tcase_add_test(tc, groups);
    tcase_add_test(tc, outputs);
    tcase_add_test(tc, hits);
    tcase_add_test(tc, ways);
    tcase_add_test(tc, names);
    tcase_add_test(tc, summaries);
    tcase_add_test(tc, verdicts);
    tcase_add_test(tc, whole);
    tcase_add_test(tc, wrapped);
    tcase_add_test(tc, odd_answers);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
