/* SPDX-License-Identifier: Apache-2.0 */

/* Counters and rates as antrea-dpctl shows them.  JSON is written with single
 * quotes here. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"
#include "dpctl-stats.h"

static struct json *
parse(const char *quoted)
{
    struct json *json = json_from_quoted(quoted);

    ck_assert_msg(json->type == JSON_OBJECT, "%s", quoted);
    return json;
}

static bool
rates_known(const char *before_s, const char *now_s)
{
    struct json *before = parse(before_s);
    struct json *now = parse(now_s);
    bool known = dpctl_rates_known(before, now);

    json_destroy(before);
    json_destroy(now);
    return known;
}

static void
expect_rates(const char *before_s, const char *now_s, size_t max_rows,
             const char *expected)
{
    struct json *before = parse(before_s);
    struct json *now = parse(now_s);
    struct ds s = DS_EMPTY_INITIALIZER;

    ck_assert(dpctl_rates_known(before, now));
    dpctl_rates_format(before, now, max_rows, 0, &s);
    ck_assert_str_eq(ds_cstr(&s), expected);
    ds_destroy(&s);
    json_destroy(before);
    json_destroy(now);
}

#define HEADINGS \
    "PACKETS/s   HITS/s   HIT-%   DECIDES/s   PUNTS/s   DROPS/s   " \
    "NEW-SESSIONS/s   SESSIONS   CYCLES/PACKET\n"

/* Half a second: rates are twice the growth.  They are rounded. */
START_TEST(packet_rates)
{
    expect_rates(
        "{'time_ms':1000,'packets':{'handled':100,'hits':50,'decides':50},"
        "'punts':{'total':10},'drops':{'flow':1,'miss':2},"
        "'cache':{'sessions':5,'sessions_inserted':5},"
        "'pmds':{'packets':110,'busy_cycles':1000}}",
        "{'time_ms':1500,'packets':{'handled':1000,'hits':850,'decides':150},"
        "'punts':{'total':110},'drops':{'flow':3,'miss':3},"
        "'cache':{'sessions':4,'sessions_inserted':9},"
        "'pmds':{'packets':1110,'busy_cycles':251000}}",
        9,
        HEADINGS
        "     2000     1600    80.0         200       200         6"
        "                8          4             250\n");
    expect_rates(
        "{'time_ms':1,'packets':{'handled':0,'hits':0,'decides':0}}",
        "{'time_ms':3001,'packets':{'handled':2,'hits':1,'decides':1}}",
        9,
        HEADINGS
        "        1        0    50.0           0         -         0"
        "                -          -               -\n");
}
END_TEST

/* Nothing happened: no share, no cycles per packet. */
START_TEST(idle)
{
    static const char hits[] = "'packets':{'handled':7,'hits':7,'decides':0},"
        "'punts':{'total':1},'cache':{'sessions':1,'sessions_inserted':1},"
        "'pmds':{'packets':7,'busy_cycles':7}}";
    char *before = xasprintf("{'time_ms':1,%s", hits);
    char *now = xasprintf("{'time_ms':2,%s", hits);

    expect_rates(before, now, 9,
                 HEADINGS
                 "        0        0       -           0         0         0"
                 "                0          1               -\n");
    free(before);
    free(now);
}
END_TEST

#define RULE(ID, POLICY, N) "{'id':" #ID ",'policy':'" POLICY "'," \
    "'direction':'In','number':1,'action':'Allow','sessions':1,'packets':" \
    #N ",'bytes':" #N "0}"
#define SERVICE(NAME, PORT, N) "{'service':'" NAME "','port':" #PORT "," \
    "'protocol':'UDP','sessions':" #N ",'affinity_sessions':1}"

/* The busiest first.  Idle ones aren't shown, nor is what is new: nobody
 * knows since when it counts.  Rules are known by their IDs. */
START_TEST(busiest)
{
    expect_rates(
        "{'time_ms':0,'rules':[" RULE(1, "a", 5) "," RULE(2, "b", 5) ","
        RULE(3, "c", 5) "," RULE(4, "d", 5) "],"
        "'services':[" SERVICE("s", 1, 0) "," SERVICE("s", 2, 0) "]}",
        "{'time_ms':1000,'rules':[" RULE(2, "b", 6) "," RULE(1, "a", 5) ","
        RULE(5, "new", 99) "," RULE(3, "moved", 9) "," RULE(4, "d", 7) "],"
        "'services':[" SERVICE("s", 1, 4) "," SERVICE("s", 2, 5) ","
        SERVICE("new", 1, 99) "]}",
        2,
        HEADINGS
        "        0        -       -           -         -         0"
        "                -          -               -\n"
        "\n"
        "POLICY   DIRECTION   RULE   ACTION   SESSIONS/s   PACKETS/s   "
        "BYTES/s\n"
        "moved    In          #1     Allow             0           4        "
        "40\n"
        "d        In          #1     Allow             0           2        "
        "20\n"
        "\n"
        "SERVICE   PORT    SESSIONS/s\n"
        "s         2/UDP            5\n"
        "s         1/UDP            4\n");
}
END_TEST

/* Endpoints that session affinity forgets take their counters along: that is
 * not a negative rate. */
START_TEST(forgotten_affinity)
{
    expect_rates(
        "{'time_ms':0,'rules':[],'services':[{'service':'s','port':1,"
        "'protocol':'TCP','sessions':5,'affinity_sessions':90}]}",
        "{'time_ms':1000,'rules':[],'services':[{'service':'s','port':1,"
        "'protocol':'TCP','sessions':7,'affinity_sessions':3}]}",
        2,
        HEADINGS
        "        0        -       -           -         -         0"
        "                -          -               -\n"
        "\n"
        "POLICY   DIRECTION   RULE   ACTION   SESSIONS/s   PACKETS/s   "
        "BYTES/s\n"
        "\n"
        "SERVICE   PORT    SESSIONS/s\n"
        "s         1/TCP            2\n");
}
END_TEST

START_TEST(counters_that_began_anew)
{
    static const char base[] = "{'time_ms':100,'packets':{'handled':100,"
        "'decides':5},'punts':{'total':7},"
        "'pmds':{'packets':99,'busy_cycles':999}}";

    ck_assert(!rates_known(base, base));
    ck_assert(!rates_known(base, "{'time_ms':20}"));
    ck_assert(rates_known(base, "{'time_ms':200,'packets':{'handled':100,"
                          "'decides':6},'punts':{'total':7},"
                          "'pmds':{'packets':99,'busy_cycles':999}}"));
    /* dpif-netdev/pmd-stats-clear. */
    ck_assert(!rates_known(base, "{'time_ms':200,'packets':{'handled':100,"
                           "'decides':6},'punts':{'total':7},"
                           "'pmds':{'packets':0,'busy_cycles':0}}"));
    /* Another daemon, of a machine that runs for longer. */
    ck_assert(!rates_known(base, "{'time_ms':200,'packets':{'handled':10,"
                           "'decides':6},'punts':{'total':7},"
                           "'pmds':{'packets':99,'busy_cycles':999}}"));
}
END_TEST

/* On a narrow terminal long names lose their middle, and no number is out of
 * sight. */
START_TEST(narrow)
{
    struct json *before = parse(
        "{'time_ms':1000,'rules':["
        RULE(1, "default/a-policy-with-a-very-long-name-1", 1) "," RULE(2, "b", 1) "],'services':["
        SERVICE("default/s-with-a-very-long-name-of-its-own", 80, 0) "]}");
    struct json *now = parse(
        "{'time_ms':2000,'rules':["
        RULE(1, "default/a-policy-with-a-very-long-name-1", 10) "," RULE(2, "b", 9) "],'services':["
        SERVICE("default/s-with-a-very-long-name-of-its-own", 80, 7) "]}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_rates_format(before, now, 9, 80, &s);
    ck_assert_msg(
        strstr(ds_cstr(&s),
               "POLICY              DIRECTION   RULE   ACTION   SESSIONS/s   "
               "PACKETS/s   BYTES/s\n"
               "default...-name-1   In          #1     Allow             0   "
               "        9        90\n"), "%s", ds_cstr(&s));
    ds_destroy(&s);
    json_destroy(before);
    json_destroy(now);
}
END_TEST

START_TEST(tables_in_order)
{
    struct json *stats = parse(
        "{'tables':{'B':{'id':0,'flows':1,'matched':2,'missed':3},"
        "'A':{'id':10,'flows':1,'matched':2,'missed':3},"
        "'C':{'id':9,'flows':1,'matched':2,'missed':3}}}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_stats_format(stats, &s);
    ck_assert_msg(strstr(ds_cstr(&s), "ID   TABLE   FLOWS   MATCHED   MISSED\n"
                         " 0   B           1         2        3\n"
                         " 9   C           1         2        3\n"
                         "10   A           1         2        3\n"),
                  "%s", ds_cstr(&s));
    ds_destroy(&s);
    json_destroy(stats);
}
END_TEST

/* A daemon that knows nothing of what we ask for. */
START_TEST(stats_of_another_version)
{
    struct json *stats = parse("{'bridge':'br0','news':[1,{}]}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_stats_format(stats, &s);
    ck_assert(strstr(ds_cstr(&s),
                     "BRIDGE   PIPELINE   PROGRAM   PROGRAM-BYTES   STATE\n"
                     "br0      -                -               -       -\n"));
    ck_assert(!strstr(ds_cstr(&s), "POLICY"));
    ds_destroy(&s);
    json_destroy(stats);
}
END_TEST

START_TEST(stats_tables)
{
    struct json *stats = parse(
        "{'bridge':'br0','pipeline':'v1.15','program_generation':4,"
        "'threads':[{'thread':'main','packets':3,'busy_cycles':0,"
        "'idle_cycles':0,'cycles_per_packet':0}],"
        "'punts':{'normal':3,'meter':0,'total':3,'ip':1},"
        "'drops':{'flow':2,'miss':0},'rules':[],'services':["
        "{'service':'d/s','port':80,'protocol':'TCP','sessions':3,"
        "'affinity_sessions':0,'endpoints':["
        "{'ip':'10.0.1.1','port':8080,'sessions':3}]}]}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_stats_format(stats, &s);
    ck_assert(strstr(ds_cstr(&s),
                     "\n\nPUNT     PACKETS\nnormal         3\n"
                     "\nDROP   PACKETS\nflow         2\n"));
    ck_assert(strstr(ds_cstr(&s),
                     "\n\nSERVICE   PORT     SESSIONS   BY-AFFINITY\n"
                     "d/s       80/TCP          3             0\n"
                     "\nSERVICE   PORT     ENDPOINT        SESSIONS\n"
                     "d/s       80/TCP   10.0.1.1:8080          3\n"));
    /* The main thread counts no cycles. */
    ck_assert(strstr(ds_cstr(&s), "main                           3"
                     "               -        -"));
    ds_destroy(&s);
    json_destroy(stats);
}
END_TEST

START_TEST(stats_of_the_pipeline)
{
    struct json *stats = parse("{'bridge':'br0','pipeline':'early',"
                               "'pipeline_options':'service-mac',"
                               "'pipeline_error':'no pipeline x',"
                               "'stock':'mirrors',"
                               "'pipeline_warning':'no flows of y'}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_stats_format(stats, &s);
    ck_assert(strstr(ds_cstr(&s), "br0      early "));
    ck_assert(strstr(ds_cstr(&s), "\nOptions: service-mac\n"
                     "Not as configured: no pipeline x\n"
                     "All packets punted for: mirrors\n"
                     "Left out: no flows of y\n"));
    ds_destroy(&s);
    json_destroy(stats);
}
END_TEST

START_TEST(memory)
{
    struct json *stats = parse(
        "{'memory':{'resident_bytes':5368709120,'connection_bytes':8388608,"
        "'session_bytes':2047,'verdict_bytes':1024,'program_bytes':0}}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_stats_format(stats, &s);
    ck_assert_msg(
        strstr(ds_cstr(&s),
               "\n\nRESIDENT-KB   CONNECTIONS-KB   SESSIONS-KB   "
               "VERDICTS-KB   PROGRAM-KB\n"
               "    5242880             8192             1             1"
               "            0\n"), "%s", ds_cstr(&s));
    ds_destroy(&s);
    json_destroy(stats);
}
END_TEST

START_TEST(connections)
{
    struct json *stats = parse(
        "{'connections':{'all':70000,'limit':3000000,'half_open':65536,"
        "'half_open_limit':65536,'half_open_evicted':12,"
        "'half_open_unwatched':3,'unanswered':50,'unanswered_limit':1465,"
        "'unanswered_evicted':6,'unanswered_unwatched':7}}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_stats_format(stats, &s);
    ck_assert_msg(
        strstr(ds_cstr(&s),
               "\n\nCONNECTIONS     LIMIT   HALF-OPEN   LIMIT   EVICTED   "
               "UNWATCHED   UNANSWERED   LIMIT   EVICTED   UNWATCHED\n"
               "      70000   3000000       65536   65536        12   "
               "        3           50    1465         6           7\n"), "%s", ds_cstr(&s));
    json_destroy(stats);

    ds_clear(&s);
    stats = parse("{'connections':{'all':1,'limit':2,'half_open':0}}");
    dpctl_stats_format(stats, &s);
    ck_assert(strstr(ds_cstr(&s), "unlimited"));
    ds_destroy(&s);
    json_destroy(stats);
}
END_TEST

/* What was compared with upstream, if anything. */
START_TEST(shadowed)
{
    struct json *stats = parse(
        "{'shadow':{'rate':0,'sampled':100,'compared':80,'different':2,"
        "'stale':5,'lost':3,'uncompared':{'stock':8,'held':7}}}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_stats_format(stats, &s);
    ck_assert_msg(
        strstr(ds_cstr(&s),
               "\n\nSHADOWED   COMPARED   DIFFERENT   STALE   UNCOMPARED   "
               "LOST\n"
               "     100         80           2       5           15   "
               "   3\n"), "%s", ds_cstr(&s));
    json_destroy(stats);

    ds_clear(&s);
    stats = parse("{'shadow':{'rate':0,'sampled':0}}");
    dpctl_stats_format(stats, &s);
    ck_assert(!strstr(ds_cstr(&s), "SHADOWED"));
    ds_destroy(&s);
    json_destroy(stats);
}
END_TEST

/* Names of rules are any text: none is obeyed by a terminal, nor makes a row
 * of its own. */
START_TEST(hostile_names)
{
    struct json *stats = parse(
        "{'rules':[{'id':1,'policy':'p','direction':'In','number':1,"
        "'rule':'a\\u001b[2Kb\\nc\\u009b2J\\u007f\\u00e9','action':'Drop',"
        "'sessions':1,'packets':2,'bytes':3}]}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_stats_format(stats, &s);
    ck_assert_msg(strstr(ds_cstr(&s), "\np        In          "
                         "a\\x1b[2Kb\\x0ac\\x9b2J\\x7f\xc3\xa9   Drop "),
                  "%s", ds_cstr(&s));
    ds_destroy(&s);
    json_destroy(stats);
}
END_TEST

/* What policies have logged, and that the file can't be written. */
START_TEST(logged)
{
    struct json *stats = parse(
        "{'packets':{'logged':7,'log_limited':20,'log_lost':1},'log':"
        "{'lines':5,'written':4,'unwritten':1,'file':'/v/np.log','error':"
        "'/v: No space left'}}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_stats_format(stats, &s);
    ck_assert_msg(
        strstr(ds_cstr(&s),
               "\n\nLOGGED   LIMITED   LOST   LINES   WRITTEN   UNWRITTEN   "
               "FILE\n"
               "     7        20      1       5         4           1   "
               "/v/np.log\n"
               "The log isn't written: /v: No space left\n"), "%s",
        ds_cstr(&s));
    json_destroy(stats);

    ds_clear(&s);
    stats = parse("{'packets':{'logged':0},'log':{'lines':0}}");
    dpctl_stats_format(stats, &s);
    ck_assert(!strstr(ds_cstr(&s), "LOGGED"));
    ds_destroy(&s);
    json_destroy(stats);
}
END_TEST

/* Of a turn the three largest parts are named, equal ones by name. */
START_TEST(turns)
{
    struct json *stats = parse(
        "{'turns':{'count':7,'longer_than_ms':{'1':5,'10':4,'50':3,'250':2,"
        "'1000':1},'section_us':{'x':9},"
        "'longest':{'us':1500000,'cpu_us':987654,'ago_ms':12345,"
        "'section_us':{'state':300000,"
        "'compile':300000,'openflow':899960,'lock':50}},"
        "'recent':{'us':0,'cpu_us':0,'since_ms':20,'section_us':{}}}}");
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_stats_format(stats, &s);
    ck_assert_msg(
        strstr(ds_cstr(&s),
               "\n\nLONGEST-TURN          MS   CPU-MS   SECONDS-AGO   "
               "LARGEST-PARTS-MS\n"
               "last 0.0 s           0.0      0.0             -   -\n"
               "since the start   1500.0    987.7          12.3   "
               "openflow 900.0, compile 300.0, state 300.0\n"
               "\nTURNS   >1ms   >10ms   >50ms   >250ms   >1000ms\n"
               "    7      5       4       3        2         1\n"),
        "%s", ds_cstr(&s));
    ds_destroy(&s);
    json_destroy(stats);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl-stats");
    TCase *tc = tcase_create("dpctl-stats");

    tcase_add_test(tc, shadowed);
    tcase_add_test(tc, hostile_names);
    tcase_add_test(tc, logged);
    tcase_add_test(tc, narrow);
    tcase_add_test(tc, tables_in_order);
    tcase_add_test(tc, packet_rates);
    tcase_add_test(tc, idle);
    tcase_add_test(tc, busiest);
    tcase_add_test(tc, forgotten_affinity);
    tcase_add_test(tc, counters_that_began_anew);
    tcase_add_test(tc, stats_of_another_version);
    tcase_add_test(tc, memory);
    tcase_add_test(tc, connections);
    tcase_add_test(tc, stats_tables);
    tcase_add_test(tc, stats_of_the_pipeline);
    tcase_add_test(tc, turns);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
