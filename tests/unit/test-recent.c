/* SPDX-License-Identifier: Apache-2.0 */

/* Changes that packets of a flow can't match: which they are, and that such packets
 * get the same answer after them, compared with walking anew. */

#include <config.h>
#include <check.h>
#include "adp-program.h"
#include "random.h"
#include "test-run.h"
#include "util.h"

enum { N_FLOWS = 24, N_ROUNDS = 4000 };

#include "engine-places.h"

/* Adds 'n' flows of one table at once, each with an address of its own. */
static void
add_addresses(int n, int priority)
{
    struct adp_delta *delta = adp_delta_create();

    for (int i = 0; i < n; i++) {
        char *text = xasprintf("priority=%d,ip,nw_src=10.1.%d.%d,actions=drop",
                               priority, i / 256, i % 256);
        struct adp_rule *rule = engine_parse_flow(text);

        adp_delta_add_rule(delta, rule);
        adp_rule_unref(rule);
        free(text);
    }
    commit(delta);
}

/* Does something after 'since' matter to packets that got flow 'i'? */
static bool
touched(size_t i, uint64_t since)
{
    return adp_program_changed_for(e->program, rules[i]->table_id,
                                   rules[i]->priority, rules[i], since) != 0;
}

static const struct {
    const char *had, *changed;
    bool touches;
} pairs[] = {
    /* Pods. */
    { "priority=200,ip,in_port=1,dl_src=00:00:00:00:00:01,nw_src=10.0.0.1",
      "priority=200,ip,in_port=2,dl_src=00:00:00:00:00:02,nw_src=10.0.0.2",
      false },
    { "priority=200,dl_dst=00:00:00:00:00:01",
      "priority=200,dl_dst=00:00:00:00:00:02", false },
    { "priority=200,ip,nw_dst=10.0.0.0/24", "priority=200,ip,nw_dst=10.0.1.7",
      false },
    { "priority=200,ip,nw_dst=10.0.0.0/24", "priority=200,ip,nw_dst=10.0.0.7",
      true },
    { "priority=200,ip,nw_dst=10.0.0.7", "priority=200,ip,nw_dst=10.0.0.0/24",
      true },
    { "priority=200,ipv6,ipv6_dst=fd00::1", "priority=200,ipv6,ipv6_dst=fd00::2",
      false },
    { "priority=200,ipv6,ipv6_dst=fd00::1", "priority=200,ipv6,ipv6_dst=fd00::/64",
      true },
    { "priority=200,ip", "priority=200,ipv6", false },
    /* By priority. */
    { "priority=200,ip", "priority=199,ip,nw_dst=10.0.0.7", false },
    { "priority=200,ip", "priority=201,ip,nw_dst=10.0.0.7", true },
    /* Of other fields. */
    { "priority=200,ip,nw_src=10.0.0.1", "priority=200,ip,nw_dst=10.0.0.7",
      true },
    { "priority=200,metadata=1", "priority=200,metadata=2", false },
    { "priority=200,reg0=0x1/0xf", "priority=200,reg0=0x2/0xf", false },
    { "priority=200,reg0=0x1/0xf", "priority=200,reg0=0x20/0xf0", true },
    { "priority=0", "priority=200,ip,nw_dst=10.0.0.7", true },
    { "priority=200,ip,nw_dst=10.0.0.7", "priority=300", true },
    /* A packet may belong to several conjunctions. */
    { "priority=200,conj_id=1,ip", "priority=200,conj_id=2,ip", true },
    { "priority=200,conj_id=1,ip", "priority=200,conj_id=2,ipv6", false },
    { "priority=200,conj_id=1,reg12=1", "priority=200,conj_id=2,reg12=2",
      false },
    /* Tunnels' options aren't looked at. */
    { "priority=200,tun_metadata0=1", "priority=200,tun_metadata0=2", true },
    { "priority=200,tun_id=1,reg1=1", "priority=200,tun_id=2,reg1=1", true },
};

START_TEST(test_pairs)
{
    char *had = xasprintf("%s actions=output:1", pairs[_i].had);
    char *changed = xasprintf("%s actions=output:2", pairs[_i].changed);
    char *other = xasprintf("%s actions=output:3", pairs[_i].changed);

    set_flow(0, had);
    uint64_t before = e->program->generation;
    ck_assert(!touched(0, before));
    ck_assert(touched(0, before - 1));          /* That it came. */
    set_flow(1, changed);
    ck_assert_msg(touched(0, before) == pairs[_i].touches, "%s: %s", had,
                  changed);
    before = e->program->generation;
    set_flow(1, changed);                       /* The same again. */
    ck_assert(!touched(0, before));
    set_flow(1, other);
    ck_assert(touched(0, before) == pairs[_i].touches);
    before = e->program->generation;
    set_flow(1, NULL);
    ck_assert(touched(0, before) == pairs[_i].touches);
    free(had);
    free(changed);
    free(other);
}
END_TEST

/* Of old changes it isn't known any more what they were. */
START_TEST(test_forgotten)
{
    uint64_t first, second;

    set_flow(0, "priority=200,ip,nw_src=10.0.0.1 actions=output:1");
    first = e->program->generation;
    add_addresses(1, 200);
    second = e->program->generation;
    for (int i = 1; i < ADP_RECENT_MAX; i++) {
        ck_assert(!touched(0, first));
        add_addresses(1, 300 + i);
    }
    ck_assert(!touched(0, first));
    ck_assert(touched(0, first - 1));
    add_addresses(1, 200 + 2 * ADP_RECENT_MAX);
    ck_assert(touched(0, first));
    ck_assert(!touched(0, second));
    /* Those below still mean nothing. */
    ck_assert(!adp_program_changed_for(e->program, rules[0]->table_id, 1000,
                                       rules[0], first));
    add_addresses(1, 1);
    ck_assert(!touched(0, e->program->generation - 1));
}
END_TEST

/* The oldest one that isn't forgotten counts. */
START_TEST(test_oldest)
{
    uint64_t before;

    set_flow(0, "priority=200,ip,nw_src=10.0.0.1 actions=output:1");
    before = e->program->generation;
    set_flow(1, "priority=300,ip actions=output:2");
    for (int i = 1; i < ADP_RECENT_MAX; i++) {
        add_addresses(1, 300 + i);
    }
    ck_assert(touched(0, before));
    ck_assert(!touched(0, before + 1));
}
END_TEST

/* Very many at once are too many to tell them apart. */
START_TEST(test_many_at_once)
{
    uint64_t before;

    set_flow(0, "priority=200,ip,nw_src=10.0.0.1 actions=output:1");
    set_flow(1, "priority=150,ip,nw_src=10.1.0.5 actions=output:1");
    before = e->program->generation;
    add_addresses(ADP_RECENT_MAX, 200);
    ck_assert(!touched(0, before) && touched(1, before));
    before = e->program->generation;
    add_addresses(ADP_RECENT_MAX + 1, 201);
    ck_assert(touched(0, before));
    for (int i = 0; i < ADP_RECENT_MAX; i++) {
        ck_assert(!touched(0, e->program->generation));
        add_addresses(1, 202 + i);
        ck_assert(touched(0, before));
    }
    ck_assert(!touched(0, before + 1));
}
END_TEST

/* What a miss does is no matter for those who had a hit, what controllers get may
 * be one for all. */
START_TEST(test_for_all)
{
    uint64_t before;

    set_flow(0, "priority=200,ip,nw_src=10.0.0.1 actions=output:1");
    before = e->program->generation;
    engine_set_miss(e, 0, OFPUTIL_TABLE_MISS_DROP);
    ck_assert_uint_gt(e->program->generation, before);
    ck_assert(!touched(0, before));
    engine_set_answer(e, 7, ADP_ANSWER_PROHIBITED);
    ck_assert(touched(0, before));
}
END_TEST

/* Random flows, of which one or a few change at a time.  Who had a flow which isn't
 * touched gets it again. */

static const char *
random_match(void)
{
    static char text[128];
    int n = random_range(3);

    switch (random_range(7)) {
    case 0: return "ip";
    case 1: snprintf(text, sizeof text, "ip,nw_src=10.0.0.%d", n); break;
    case 2: snprintf(text, sizeof text, "ip,nw_dst=10.0.%d.0/24", n); break;
    case 3: snprintf(text, sizeof text, "tcp,tp_dst=%d", n); break;
    case 4: snprintf(text, sizeof text, "in_port=%d", n); break;
    case 5:
        snprintf(text, sizeof text, "ip,nw_src=10.0.0.%d,nw_dst=10.0.%d.7", n,
                 (int) random_range(3));
        break;
    default: snprintf(text, sizeof text, "ip,conj_id=%d", n); break;
    }
    return text;
}

static char *
random_flow(void)
{
    const char *match = random_match();
    int priority = random_range(4), n = random_range(3);

    if (random_range(3) || strstr(match, "conj_id")) {
        return xasprintf("priority=%d,%s actions=output:%d", priority, match,
                         n);
    }
    return xasprintf("priority=%d,%s actions=conjunction(%d,%d/2)", priority,
                     match, n, 1 + (int) random_range(2));
}

/* A flow, or NULL, for place 'i': of two flows with the same priority and match
 * a table has but one. */
static char *
random_new_flow(size_t i)
{
    char *text = random_range(3) ? random_flow() : NULL;
    struct adp_rule *rule = text ? engine_parse_flow(text) : NULL;

    for (size_t j = 0; rule && j < N_FLOWS; j++) {
        if (j != i && rules[j] && adp_rule_same_place(rules[j], rule)) {
            free(text);
            text = NULL;
            break;
        }
    }
    adp_rule_unref(rule);
    return text;
}

struct had {
    char *packet;
    struct adp_hit hit;                 /* Of a rule: with a reference. */
    uint64_t generation;
};

static void
had_uninit(struct had *had)
{
    if (had->packet && had->hit.kind == ADP_HIT_RULE) {
        adp_rule_unref(had->hit.rule);
    }
    free(had->packet);
}

static void
walk(struct had *had)
{
    had_uninit(had);
    had->packet = xasprintf("in_port=%d,tcp,nw_src=10.0.0.%d,"
                            "nw_dst=10.0.%d.7,tp_dst=%d",
                            (int) random_range(3), (int) random_range(3),
                            (int) random_range(3), (int) random_range(3));
    engine_run(e, had->packet);
    had->hit = e->verdict.hits[0];
    had->generation = e->program->generation;
    if (had->hit.kind == ADP_HIT_RULE) {
        adp_rule_ref(had->hit.rule);
    }
}

static bool
is_there(const struct adp_rule *rule)
{
    for (size_t i = 0; i < N_FLOWS; i++) {
        if (rules[i] && adp_rule_same_place(rules[i], rule)
            && adp_rule_same_actions(rules[i], rule)) {
            return true;
        }
    }
    return false;
}

/* Of two flows of the same priority that a packet matches either is right. */
static void
check_again(const struct had *had)
{
    const struct adp_hit *hit = &e->verdict.hits[0];

    engine_run(e, had->packet);
    ck_assert_int_eq(hit->kind, ADP_HIT_RULE);
    ck_assert_msg(is_there(had->hit.rule)
                  && hit->rule->priority == had->hit.rule->priority
                  && hit->priority == had->hit.priority,
                  "%s: %s", had->packet, engine_hits(e));
}

START_TEST(test_random)
{
    struct had all[8];
    size_t n_spared = 0, n_touched = 0;

    memset(all, 0, sizeof all);
    for (int round = 0; round < N_ROUNDS; round++) {
        struct adp_delta *delta = adp_delta_create();

        for (int n = random_range(8) ? 1 : 5; n; n--) {
            size_t place = random_range(N_FLOWS);
            char *flow = random_new_flow(place);

            change_flow(delta, place, flow);
            free(flow);
        }
        commit(delta);
        for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
            struct had *had = &all[i];

            if (had->packet && had->hit.kind == ADP_HIT_RULE) {
                uint64_t changed = adp_program_changed(e->program, 0,
                                                       had->hit.priority);

                if (!adp_program_changed_for(e->program, had->hit.table_id,
                                             had->hit.priority, had->hit.rule,
                                             had->generation)) {
                    check_again(had);
                    n_spared += changed > had->generation;
                    continue;
                }
                n_touched++;
                ck_assert_uint_gt(changed, had->generation);
            }
            walk(had);
        }
    }
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        had_uninit(&all[i]);
    }
    ck_assert_uint_gt(n_spared, N_ROUNDS / 10);
    ck_assert_uint_gt(n_touched, N_ROUNDS / 10);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("recent");
    TCase *tc = tcase_create("recent");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_pairs, 0, ARRAY_SIZE(pairs));
    tcase_add_test(tc, test_forgotten);
    tcase_add_test(tc, test_oldest);
    tcase_add_test(tc, test_many_at_once);
    tcase_add_test(tc, test_for_all);
    tcase_add_test(tc, test_random);
    return test_run_nofork(s);
}
