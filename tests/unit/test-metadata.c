/* SPDX-License-Identifier: Apache-2.0 */

/* Look-ups that depend on metadata alone: which they are, and whether they still
 * hold after changes, compared with walking anew. */

#include <config.h>
#include <check.h>
#include "adp-metadata.h"
#include "adp-program.h"
#include "random.h"
#include "test-run.h"
#include "util.h"

enum { N_FLOWS = 20, N_ROUNDS = 3000 };

#include "engine-places.h"

static void
set_flowf(size_t i, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *text = xvasprintf(format, args);
    va_end(args);
    set_flow(i, text);
    free(text);
}

/* More than are tried one after the other; flow 0 takes all packets. */
static void
add_many(void)
{
    set_flow(0, "priority=1,actions=output:1");
    for (size_t i = 1; i < N_FLOWS; i++) {
        set_flowf(i, "priority=50,ip,reg1=%"PRIuSIZE",actions=output:2", i);
    }
}

static int
n_words(void)
{
    return count_1bits(adp_program_metadata(e->program, 0));
}

#define PACKET "in_port=1,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1,tp_dst=2"

START_TEST(tables)
{
    ck_assert_int_eq(n_words(), 0);
    set_flow(0, "priority=1,reg1=5,actions=output:1");
    ck_assert_int_eq(n_words(), 0);             /* Few flows. */
    add_many();
    ck_assert_int_eq(n_words(), 3);     /* Register, type, Ethernet type. */
    set_flow(2, "priority=50,ct_mark=7,actions=drop");
    ck_assert_int_eq(n_words(), 3);     /* The packet type is beside it. */
    set_flow(2, "priority=50,metadata=7,actions=drop");
    ck_assert_int_eq(n_words(), 4);
    set_flow(2, NULL);
    ck_assert_int_eq(n_words(), 3);
    ck_assert_int_eq(adp_program_metadata(e->program, 1), 0);
}
END_TEST

/* What isn't metadata, or not alone. */
static const char *const beyond[] = {
    "ip,nw_src=10.0.0.1,actions=drop",
    "tcp,tp_dst=80,actions=drop",
    "tcp,actions=drop",
    "dl_src=00:00:00:00:00:01,actions=drop",    /* Beside its type. */
    "dl_vlan=5,actions=drop",
    "conj_id=5,actions=drop",
    "ip,ct_state=+trk,ct_nw_dst=10.0.0.1,actions=drop",
    "tun_id=5,actions=drop",
    "tun_metadata0=5,actions=drop",
    "reg1=5,actions=conjunction(1,1/2)",
};

START_TEST(tables_with_more)
{
    add_many();
    set_flowf(3, "priority=9,%s", beyond[_i]);
    ck_assert_msg(!n_words(), "%s", beyond[_i]);
    engine_run(e, PACKET);
    ck_assert_uint_eq(e->verdict.n_metadata_lookups, 0);
    set_flow(3, NULL);
    ck_assert_int_eq(n_words(), 3);
    engine_run(e, PACKET);
    ck_assert_uint_eq(e->verdict.n_metadata_lookups, 1);
}
END_TEST

/* Where learn() writes, flows come that the program doesn't know. */
START_TEST(learn_tables)
{
    struct adp_metadata_lookup at;
    struct adp_hit hit;

    add_many();
    engine_run(e, PACKET);
    ck_assert_uint_eq(e->verdict.n_metadata_lookups, 1);
    at = e->verdict.metadata_lookups[0];
    hit = e->verdict.hits[0];
    ck_assert(adp_metadata_lookup_holds(&at, &hit, e->program));
    engine_add_flows(e, "table=1,actions=learn(table=0,priority=7,"
                     "NXM_NX_REG1[]=NXM_NX_REG2[])\n");
    ck_assert(!adp_metadata_lookup_holds(&at, &hit, e->program));
    engine_run(e, PACKET);
    ck_assert_uint_eq(e->verdict.n_metadata_lookups, 0);
}
END_TEST

/* Behind other tables, and more of them than are noted. */
START_TEST(several)
{
    for (int table = 0; table < 6; table++) {
        struct ds flows = DS_EMPTY_INITIALIZER;

        for (int i = 0; i < N_FLOWS; i++) {
            ds_put_format(&flows, "table=%d,priority=50,reg1=%d,actions=drop\n",
                          2 * table + 1, i);
        }
        ds_put_format(&flows, "table=%d,actions=load:%d->NXM_NX_REG1[],"
                      "resubmit(,%d),resubmit(,%d)\n", 2 * table, table + 3,
                      2 * table + 1, 2 * table + 2);
        engine_add_flows(e, ds_cstr(&flows));
        ds_destroy(&flows);
    }
    engine_run(e, PACKET);
    ck_assert_uint_eq(e->verdict.n_metadata_lookups, 6);
    for (size_t i = 0; i < ADP_MAX_METADATA_LOOKUPS; i++) {
        const struct adp_metadata_lookup *at = &e->verdict.metadata_lookups[i];

        ck_assert_uint_eq(at->hit, 2 * i + 1);
        ck_assert_uint_eq(e->verdict.hits[at->hit].table_id, 2 * i + 1);
        ck_assert_int_eq(e->verdict.hits[at->hit].rule->priority, 50);
        ck_assert(adp_metadata_lookup_holds(at, &e->verdict.hits[at->hit],
                                            e->program));
    }
}
END_TEST

static void
declare(uint8_t table_id, uint32_t words)
{
    struct adp_delta *delta = adp_delta_create();
    uint32_t declared[ADP_N_TABLES];

    memcpy(declared, e->program->declared, sizeof declared);
    declared[table_id] = words;
    adp_delta_declare_metadata(delta, declared);
    ck_assert(!adp_delta_is_empty(delta));
    commit(delta);
}

static uint32_t
words_of(const char *flow)
{
    struct adp_rule *rule = engine_parse_flow(flow);
    uint32_t words = rule->metadata;

    adp_rule_unref(rule);
    return words;
}

/* What is known beforehand of a table that has no flows yet. */
START_TEST(declared_tables)
{
    uint32_t words = words_of("ip,reg1=1,ct_mark=1,actions=drop");
    struct adp_metadata_lookup at;
    struct adp_hit hit;

    declare(0, words);
    declare(1, 1);                      /* Beside what is declared already. */
    ck_assert_uint_eq(adp_program_metadata(e->program, 0), words);
    ck_assert_uint_eq(adp_program_metadata(e->program, 1), 1);
    engine_run(e, PACKET",reg1=77");
    ck_assert_uint_eq(e->verdict.n_metadata_lookups, 1);
    at = e->verdict.metadata_lookups[0];
    hit = e->verdict.hits[0];
    ck_assert_int_eq(hit.kind, ADP_HIT_MISS);
    ck_assert_uint_eq(at.metadata.words, words);

    /* Few flows, then many, and the one that counts. */
    set_flow(1, "priority=50,ip,reg1=1,actions=output:2");
    ck_assert_uint_eq(adp_program_metadata(e->program, 0), words);
    ck_assert(adp_metadata_lookup_holds(&at, &hit, e->program));
    for (size_t i = 2; i < N_FLOWS; i++) {
        set_flowf(i, "priority=50,ip,reg1=%"PRIuSIZE",actions=output:2", i);
    }
    ck_assert_uint_eq(adp_program_metadata(e->program, 0), words);
    ck_assert(adp_metadata_lookup_holds(&at, &hit, e->program));
    set_flow(0, "priority=50,ip,reg1=77,actions=output:2");
    ck_assert(!adp_metadata_lookup_holds(&at, &hit, e->program));
    set_flow(0, NULL);
    ck_assert(adp_metadata_lookup_holds(&at, &hit, e->program));

    /* What wasn't declared counts, too. */
    set_flow(0, "priority=50,metadata=7,actions=drop");
    ck_assert_uint_eq(adp_program_metadata(e->program, 0),
                      words | words_of("metadata=7,actions=drop"));
    ck_assert(!adp_metadata_lookup_holds(&at, &hit, e->program));
    set_flow(0, "ip,nw_src=10.0.0.1,actions=drop");
    ck_assert_uint_eq(adp_program_metadata(e->program, 0), 0);
    set_flow(0, NULL);

    declare(0, 0);
    ck_assert_uint_ne(adp_program_metadata(e->program, 0), 0);
    for (size_t i = 0; i < N_FLOWS; i++) {
        set_flow(i, NULL);
    }
    ck_assert_uint_eq(adp_program_metadata(e->program, 0), 0);
    ck_assert_uint_eq(adp_program_metadata(e->program, 1), 1);
}
END_TEST

/* Random flows, of which one changes at a time.  An answer holds if a walk would
 * get it again, unless flows match on something new. */

static const char *
random_match(void)
{
    static char text[128];
    int n = random_range(3);

    switch (random_range(7)) {
    case 0: return "reg1=0/0xc";
    case 1: snprintf(text, sizeof text, "ct_mark=%d", n); break;
    case 2: snprintf(text, sizeof text, "ct_label=0x%d00000000", n); break;
    case 3: return "ct_state=-trk";
    case 4: snprintf(text, sizeof text, "in_port=%d", n); break;
    case 5: snprintf(text, sizeof text, "metadata=%d,ip", n); break;
    default: snprintf(text, sizeof text, "reg1=%d", n); break;
    }
    return text;
}

static void
change_something(void)
{
    size_t i = random_range(N_FLOWS);

    if (rules[i] && i > N_FLOWS / 2 && random_range(2)) {
        set_flow(i, NULL);
    } else {
        const char *match = random_match();

        set_flowf(i, "priority=%d,%s,actions=output:%d", random_range(8),
                  match, 1 + random_range(3));
    }
}

START_TEST(random_changes)
{
    size_t n_held = 0, n_fell = 0;

    for (int i = 0; i < N_FLOWS; i++) {
        change_something();
    }
    for (int round = 0; round < N_ROUNDS; round++) {
        char *packet = xasprintf("%s,metadata=%d,reg1=%d,ct_mark=%d",
                                 PACKET, random_range(3), random_range(3),
                                 random_range(3));
        struct adp_metadata_lookup at;
        struct adp_hit hit;

        engine_run(e, packet);
        if (!e->verdict.n_metadata_lookups) {
            change_something();         /* Few flows. */
            free(packet);
            continue;
        }
        at = e->verdict.metadata_lookups[0];
        hit = e->verdict.hits[0];
        if (hit.kind == ADP_HIT_RULE) {
            adp_rule_ref(hit.rule);     /* Another may not get its address. */
        }

        change_something();
        uint32_t words = adp_program_metadata(e->program, 0);
        engine_run(e, packet);
        bool same = (e->verdict.hits[0].rule == hit.rule
                     && e->verdict.hits[0].priority == hit.priority);
        ck_assert_int_eq(adp_metadata_lookup_holds(&at, &hit, e->program),
                         same && words && !(words & ~at.metadata.words));
        n_held += same;
        n_fell += !same;
        if (hit.kind == ADP_HIT_RULE) {
            adp_rule_unref(hit.rule);
        }
        free(packet);
        ovsrcu_quiesce();
    }
    ck_assert_uint_gt(n_held, N_ROUNDS / 10);
    ck_assert_uint_gt(n_fell, N_ROUNDS / 100);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("metadata");
    TCase *tc = tcase_create("metadata");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, tables);
    tcase_add_loop_test(tc, tables_with_more, 0, ARRAY_SIZE(beyond));
    tcase_add_test(tc, learn_tables);
    tcase_add_test(tc, several);
    tcase_add_test(tc, declared_tables);
    tcase_add_test(tc, random_changes);
    return test_run(s);
}
