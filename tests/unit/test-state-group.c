/* SPDX-License-Identifier: Apache-2.0 */

/* Transactions that are carried out together: each gets the answer that it
 * would get alone, one after the other, and all that is in force is there. */

#include <config.h>
#undef NDEBUG

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-state.h"
#include "adp-turn.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "quoted-json.h"
#include "random.h"
#include "state-world.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

#define EGRESS(NAME) "{\"kind\":\"Egress\",\"name\":\"" NAME \
    "\",\"appliedToGroups\":[],\"egressIP\":\"192.0.2." NAME "\"," \
    "\"bandwidth\":{\"rateKbps\":100,\"burstKbits\":200}}"

static struct adp_state_call *
submit(const char *apply, const char *delete, const char *patch,
       int64_t if_generation)
{
    struct json *a = apply ? json_from_string(apply) : NULL;
    struct json *d = delete ? json_from_string(delete) : NULL;
    struct json *p = patch ? json_from_string(patch) : NULL;
    uint64_t generation = if_generation;
    struct adp_state_call *call = adp_state_submit(
        state, &(struct adp_state_change) {
            .apply = a, .delete = d, .patch = p,
            .if_generation = if_generation >= 0 ? &generation : NULL,
        });

    json_destroy(a);
    json_destroy(d);
    json_destroy(p);
    ck_assert(!call->done);
    ck_assert(adp_state_has_calls(state));
    return call;
}

static struct adp_state_call *
apply(const char *records)
{
    return submit(records, NULL, NULL, -1);
}

static void
expect_good(struct adp_state_call *call, uint64_t generation)
{
    ck_assert(call->done);
    ck_assert_msg(!call->error, "%s", call->error ? call->error->message
                  : NULL);
    ck_assert_uint_eq(call->generation, generation);
    adp_state_call_unref(call);
}

static void
expect_bad(struct adp_state_call *call, const char *code, const char *part)
{
    ck_assert(call->done);
    ck_assert_ptr_nonnull(call->error);
    ck_assert_str_eq(call->error->code, code);
    ck_assert_msg(strstr(call->error->message, part), "\"%s\" lacks \"%s\"",
                  call->error->message, part);
    ck_assert_uint_eq(call->n_applied, 0);
    ck_assert_uint_eq(call->n_deleted, 0);
    adp_state_call_unref(call);
}

/* Until all are answered. */
static void
serve(void)
{
    do {
        adp_state_serve(state);
        adp_state_run(state);
    } while (adp_state_is_busy(state) || adp_state_has_calls(state));
}

static char *
all_records(void)
{
    struct json *json = adp_model_get(adp_state_model(state), NULL, NULL);
    char *s = json_to_string(json, JSSF_SORT);

    json_destroy(json);
    return s;
}

/* What is in the bridge is what a new one would get. */
static void
expect_flows(void)
{
    struct shash before = SHASH_INITIALIZER(&before);
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &bridge.flows) {
        shash_add(&before, node->name, xstrdup(node->data));
    }
    adp_state_sync(state, true);
    while (adp_state_is_busy(state)) {
        adp_state_run(state);
    }
    ck_assert_uint_eq(shash_count(&before), shash_count(&bridge.flows));
    SHASH_FOR_EACH (node, &before) {
        ck_assert_str_eq(node->data, shash_find_data(&bridge.flows,
                                                     node->name));
    }
    shash_destroy_free_data(&before);
}

START_TEST(one_version_for_all)
{
    struct adp_state_call *a = apply("[" POD1 "]");
    struct adp_state_call *b = apply("[" POD2 "]");
    struct adp_state_call *c = apply("[" GROUP("7", "\"10.0.0.1\"") "]");

    ck_assert_int_eq(bridge.n_commits, 0);
    ck_assert(!adp_state_is_busy(state));
    adp_state_serve(state);
    ck_assert_int_eq(bridge.n_commits, 1);
    expect_mods("add " FLOW1 "\nadd " FLOW2 "\nadd table=2,priority=7\n"
                "put group 7");
    expect_good(a, 1);
    expect_good(b, 2);
    expect_good(c, 3);
    ck_assert_uint_eq(adp_state_generation(state), 3);
    ck_assert(!adp_state_has_calls(state));
}
END_TEST

/* Each sees what those before it do. */
START_TEST(they_follow_each_other)
{
    struct adp_state_call *calls[] = {
        submit("[" GROUP("7", "") "]", NULL, NULL, 0),
        submit("[" POD1 "]", NULL, NULL, 0),
        submit(NULL, NULL, "[{\"kind\":\"AddressGroup\",\"name\":\"7\","
               "\"add\":[\"10.0.0.9\"]}]", 1),
        submit(NULL, NULL, "[{\"kind\":\"AddressGroup\",\"name\":\"7\","
               "\"add\":[\"10.0.0.8\"]}]", -1),
        submit(NULL, "[" KEY("AddressGroup", "8") "]", NULL, -1),
        submit("[" GROUP("8", "") "]", NULL, NULL, 3),
        submit(NULL, "[" KEY("AddressGroup", "8") "]", NULL, 4),
        submit(NULL, NULL, "[{\"kind\":\"AddressGroup\",\"name\":\"8\","
               "\"add\":[\"10.0.0.8\"]}]", -1),
    };

    adp_state_serve(state);
    expect_good(calls[0], 1);
    expect_bad(calls[1], "conflict", "is of generation 1, not 0");
    expect_good(calls[2], 2);
    expect_good(calls[3], 3);
    expect_bad(calls[4], "missing", "doesn't exist");
    expect_good(calls[5], 4);
    expect_good(calls[6], 5);
    expect_bad(calls[7], "missing", "doesn't exist");
    ck_assert_uint_eq(adp_state_generation(state), 5);
    ck_assert_int_eq(bridge.n_commits, 1);
    expect_mods("add table=2,priority=7\nput group 7");
    ck_assert_str_eq(shash_find_data(&bridge.groups, "7"), "2");
    expect_flows();
}
END_TEST

START_TEST(wrong_ones_change_nothing)
{
    static const char same_ip[] = "[{\"kind\":\"Pod\",\"name\":\"a/3\","
        "\"port\":\"p2\",\"mac\":\"00:00:00:00:00:03\","
        "\"ips\":[\"10.0.0.1\"]}," GROUP("5", "") "]";
    struct adp_state_call *a = apply("[" POD1 "]");
    struct adp_state_call *b = apply(same_ip);
    struct adp_state_call *c = apply("[{\"kind\":\"Pod\"}]");
    struct adp_state_call *d = apply("[" POD2 "]");

    adp_state_serve(state);
    expect_good(a, 1);
    expect_bad(b, "invalid", "10.0.0.1");
    expect_bad(c, "invalid", "name");
    expect_good(d, 2);
    expect_mods("add " FLOW1 "\nadd " FLOW2);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), 2);

    /* All are. */
    b = apply(same_ip);
    c = apply(same_ip);
    adp_state_serve(state);
    expect_bad(b, "invalid", "Pod a/3");
    expect_bad(c, "invalid", "Pod a/3");
    ck_assert_uint_eq(adp_state_generation(state), 2);
    expect_mods("");
    expect_flows();
}
END_TEST

/* If one can't be made flows of, that isn't the others' fault. */
/* What those before them lead to is what was there before: an error names what
 * the call itself changes. */
START_TEST(errors_as_alone)
{
    static const char egress[]
        = "[{\"kind\":\"Egress\",\"name\":\"7\","
          "\"appliedToGroups\":[\"g\"],\"egressIP\":\"192.0.2.7\"}]";
    static const char group[]
        = "[{\"kind\":\"AppliedToGroup\",\"name\":\"g\",\"pods\":[]}]";
    static const char other_pod[]
        = "[{\"kind\":\"Pod\",\"name\":\"a/0\",\"port\":\"p2\","
          "\"mac\":\"00:00:00:00:00:02\",\"ips\":[\"10.0.0.1\"]}]";

    struct adp_state_call *a = apply("[" POD1 "]");
    struct adp_state_call *b = apply(other_pod);
    struct adp_state_call *c = apply(group);
    struct adp_state_call *d = apply(egress);
    struct adp_state_call *e = submit(
        NULL, "[" KEY("AppliedToGroup", "g") "]", NULL, -1);
    /* Changes nothing that is there. */
    struct adp_state_call *f = apply(group);

    serve();
    expect_good(a, 1);
    ck_assert_str_eq(b->error->object, "Pod a/0");
    expect_bad(b, "invalid", "is already that of Pod a/1");
    expect_good(c, 2);
    expect_good(d, 3);
    ck_assert_str_eq(e->error->object, "AppliedToGroup g");
    expect_bad(e, "invalid", "can't be deleted: Egress 7 uses it");
    expect_good(f, 4);
}
END_TEST

START_TEST(no_flows_of_one)
{
    struct adp_state_call *a = apply("[" POD1 "]");
    struct adp_state_call *b = apply("[" GROUP("5!", "") "]");
    struct adp_state_call *c = apply("[" POD2 "]");

    serve();
    expect_good(a, 1);
    expect_bad(b, "internal", "frobnicate");
    expect_good(c, 2);
    expect_mods("add " FLOW1 "\nadd " FLOW2);
    expect_flows();
}
END_TEST

/* Nor if the bridge refuses one; and what was wrong only because of that one
 * is right. */
START_TEST(the_bridge_refuses_one)
{
    struct adp_state_call *a, *b, *c;

    bridge.refused_meter = 9;
    a = apply("[" GROUP("7", "") "]");
    b = apply("[" EGRESS("9") "," POD1 "]");
    c = apply("[{\"kind\":\"Pod\",\"name\":\"a/3\",\"port\":\"p1\","
              "\"mac\":\"00:00:00:00:00:03\",\"ips\":[\"10.0.0.1\"]}]");
    serve();
    expect_good(a, 1);
    expect_bad(b, "internal", "refused meter 9");
    expect_good(c, 2);
    ck_assert_uint_eq(adp_state_generation(state), 2);
    ck_assert_ptr_nonnull(shash_find(&bridge.flows, FLOW1));
    expect_flows();
}
END_TEST

START_TEST(the_bridge_refuses_all)
{
    struct adp_state_call *a = apply("[" POD1 "]");
    struct adp_state_call *b = apply("[" POD2 "]");

    bridge.refusal = "no";
    serve();
    bridge.refusal = NULL;
    expect_bad(a, "internal", "no");
    expect_bad(b, "internal", "no");
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), 0);
    a = apply("[" POD1 "]");
    serve();
    expect_good(a, 1);
    expect_flows();
}
END_TEST

/* Large ones, and replacements, are alone, and nobody overtakes them. */
START_TEST(large_ones_are_alone)
{
    char *many = many_groups(1000, 1300);
    struct json *pod1 = json_from_string("[" POD1 "]");
    struct adp_state_call *calls[] = {
        submit("[" GROUP("7", "") "]", NULL, NULL, 0),
        submit("[" GROUP("8", "") "]", NULL, NULL, 1),
        submit(many, NULL, NULL, 2),
        submit("[" POD2 "]", NULL, NULL, 3),
        adp_state_submit(state, &(struct adp_state_change) {
            .clear = true, .apply = pod1 }),
        submit("[" GROUP("9", "") "]", NULL, NULL, 5),
    };
    size_t n_done = 0;

    do {
        adp_state_serve(state);
        adp_state_run(state);
        while (n_done < ARRAY_SIZE(calls) && calls[n_done]->done) {
            n_done++;
        }
        for (size_t i = n_done; i < ARRAY_SIZE(calls); i++) {
            ck_assert(!calls[i]->done);
        }
    } while (adp_state_is_busy(state) || adp_state_has_calls(state));
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        expect_good(calls[i], 1 + i);
    }
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), 2);
    expect_flows();
    json_destroy(pod1);
    free(many);
}
END_TEST

/* A patch weighs what its group has. */
START_TEST(patches_of_large_groups_are_alone)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < 200; i++) {
        ds_put_format(&s, "%s\"10.1.0.%d\"", i ? "," : "", i);
    }
    char *big = xasprintf("[" GROUP("9", "%s") "]", ds_cstr(&s));
    struct adp_state_call *calls[] = {
        apply(big),
        apply("[" POD1 "]"),
        submit(NULL, NULL, "[{\"kind\":\"AddressGroup\",\"name\":\"9\","
               "\"add\":[\"10.0.0.9\"]}]", -1),
        apply("[" POD2 "]"),
    };
    serve();
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        expect_good(calls[i], 1 + i);
    }
    ck_assert_int_eq(bridge.n_commits, 4);
    ck_assert_str_eq(shash_find_data(&bridge.groups, "9"), "201");
    expect_flows();
    free(big);
    ds_destroy(&s);
}
END_TEST

/* Many small ones aren't one large one. */
START_TEST(groups_are_bounded)
{
    enum { N = 250 };
    struct adp_state_call *calls[N];

    for (int i = 0; i < N; i++) {
        char *record = xasprintf("[" GROUP("%d", "") "]", 1000 + i);

        calls[i] = apply(record);
        free(record);
    }
    serve();
    for (int i = 0; i < N; i++) {
        expect_good(calls[i], 1 + i);
    }
    ck_assert_int_eq(bridge.n_commits, 3);
    expect_flows();
}
END_TEST

static long long int clock_us;

/* Each look at it takes 100 us. */
static long long int
slow_clock(void)
{
    return clock_us += 100;
}

/* A turn that is over goes on with the next group in the next. */
START_TEST(turns_end)
{
    enum { N = 2000 };
    struct adp_state_call *calls[N];
    int n_turns = 0;

    adp_turn_set_clock(slow_clock);
    for (int i = 0; i < N; i++) {
        char *record = xasprintf("[" GROUP("%d", "") "]", 1000 + i);

        calls[i] = apply(record);
        free(record);
    }
    do {
        if (adp_state_is_busy(state)) {
            adp_state_run(state);
        }
        adp_state_serve(state);
        n_turns++;
    } while (adp_state_is_busy(state) || adp_state_has_calls(state));
    ck_assert_int_gt(n_turns, 1);
    for (int i = 0; i < N; i++) {
        expect_good(calls[i], 1 + i);
    }
}
END_TEST

START_TEST(cancelled_ones_never_begin)
{
    struct adp_state_call *a = apply("[" POD1 "]");
    struct adp_state_call *b = apply("[" POD2 "]");

    adp_state_call_cancel(a);
    adp_state_call_unref(a);
    serve();
    expect_mods("add " FLOW2);
    /* What has ended stays. */
    adp_state_call_cancel(b);
    expect_good(b, 1);
}
END_TEST

START_TEST(what_goes_ahead)
{
    struct adp_state_call *a = submit("[" POD1 "]", NULL, NULL, 1);

    transact("[" POD2 "]", NULL);
    ck_assert(!a->done);
    serve();
    expect_good(a, 2);
}
END_TEST

/* Who takes the state away answers those that wait. */
START_TEST(taken_away)
{
    struct adp_state_call *a = apply("[" POD1 "]");

    adp_state_forget_flows(state);
    expect_bad(a, "bridge", "its pipeline was taken away");
    a = apply("[" POD1 "]");
    struct adp_state_call *b = apply("[" POD2 "]");
    adp_state_destroy(state);
    expect_bad(a, "bridge", "it was deleted");
    expect_bad(b, "bridge", "it was deleted");
    state = adp_state_create(&bridge);
}
END_TEST

/* Random ones, beside a model that carries them out one after the other. */

struct expected {
    struct adp_state_call *call;
    char *error;                /* NULL: none. */
    uint64_t generation;
};

static char *
random_record(void)
{
    int n = random_range(5);

    return (random_range(2)
            ? xasprintf("{'kind':'Pod','name':'a/%d','port':'p%d',"
                        "'mac':'00:00:00:00:00:0%d','ips':['10.0.0.%d']}",
                        n, 1 + random_range(3), random_range(9),
                        random_range(9))
            : xasprintf("{'kind':'AddressGroup','name':'%d%s','addresses':"
                        "['10.0.0.%d']}", 2 + n,
                        random_range(30) ? "" : "!", random_range(9)));
}

static struct json *
random_list(char *(*make)(void))
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = random_range(3); i >= 0; i--) {
        char *record = make();

        ds_put_format(&s, "%s%s", s.length ? "," : "", record);
        free(record);
    }
    struct json *json = json_array_from_quoted(ds_cstr(&s));
    ds_destroy(&s);
    return json;
}

static char *
random_key(void)
{
    int n = random_range(5);

    return (random_range(2)
            ? xasprintf("{'kind':'Pod','name':'a/%d'}", n)
            : xasprintf("{'kind':'AddressGroup','name':'%d'}", 2 + n));
}

static char *
random_patch(void)
{
    return xasprintf("{'kind':'AddressGroup','name':'%d','add':"
                     "['10.0.0.%d']}", 2 + random_range(5), random_range(9));
}

static char *
error_text(const struct adp_error *error)
{
    struct json *json = adp_error_to_json(error);
    char *s = json_to_string(json, JSSF_SORT);

    json_destroy(json);
    return s;
}

/* Has both get a random one.  'ref' is a state of another bridge. */
static void
submit_random(struct expected *e, struct adp_state *ref)
{
    uint64_t generation = adp_state_generation(ref) + random_range(2);
    struct json *a = random_range(4) ? random_list(random_record) : NULL;
    struct json *d = random_range(3) ? NULL : random_list(random_key);
    struct json *p = random_range(4) ? NULL : random_list(random_patch);
    struct adp_state_change change = {
        .clear = !d && !p && !random_range(10),
        .apply = a, .delete = d, .patch = p,
        .ignore_missing = random_range(2),
        .if_generation = random_range(4) ? NULL : &generation,
    };

    e->call = adp_state_submit(state, &change);
    struct adp_state_call *call = adp_state_transact(ref, &change);
    while (adp_state_is_busy(ref)) {
        adp_state_run(ref);
    }
    ck_assert(call->done);
    e->error = call->error ? error_text(call->error) : NULL;
    e->generation = call->generation;
    adp_state_call_unref(call);
    json_destroy(a);
    json_destroy(d);
    json_destroy(p);
}

START_TEST(random_ones)
{
    enum { MAX = 12 };
    struct adp_bridge other = {
        .pipeline = bridge.pipeline,
        .ports_seq = bridge.ports_seq,
        .round = bridge.round,
    };
    int n_good = 0, n_bad = 0;

    simap_init(&other.ports);
    simap_put(&other.ports, "p1", 1);
    simap_put(&other.ports, "p2", 2);
    shash_init(&other.flows);
    shash_init(&other.groups);
    svec_init(&other.log);
    classifier_model_init(&other.classifier);
    struct adp_state *ref = adp_state_create(&other);
    adp_state_sync(ref, false);

    test_seed_random();
    for (int i = 0; i < 400; i++) {
        int n = 1 + random_range(MAX);
        struct expected e[MAX];

        for (int j = 0; j < n; j++) {
            submit_random(&e[j], ref);
        }
        serve();
        for (int j = 0; j < n; j++) {
            ck_assert(e[j].call->done);
            char *error = (e[j].call->error ? error_text(e[j].call->error)
                           : NULL);
            ck_assert_str_eq(error ? error : "none",
                             e[j].error ? e[j].error : "none");
            if (!error) {
                ck_assert_uint_eq(e[j].call->generation, e[j].generation);
            }
            n_good += !error;
            n_bad += error != NULL;
            free(error);
            free(e[j].error);
            adp_state_call_unref(e[j].call);
        }
        ck_assert_uint_eq(adp_state_generation(state),
                          adp_state_generation(ref));
        struct json *want = adp_model_get(adp_state_model(ref), NULL, NULL);
        char *expected = json_to_string(want, JSSF_SORT);
        char *records = all_records();
        ck_assert_str_eq(records, expected);
        free(expected);
        free(records);
        json_destroy(want);
        expect_flows();
    }
    ck_assert_int_gt(n_good, 400);
    ck_assert_int_gt(n_bad, 400);

    adp_state_destroy(ref);
    simap_destroy(&other.ports);
    shash_destroy_free_data(&other.flows);
    shash_destroy_free_data(&other.groups);
    svec_destroy(&other.log);
    classifier_model_uninit(&other.classifier);
}
END_TEST

int
main(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);

    Suite *suite = suite_create("state-group");
    TCase *tc = tcase_create("groups");

    tcase_add_checked_fixture(tc, state_world_setup, state_world_teardown);
    tcase_set_timeout(tc, 60);  /* For slow machines. */
    tcase_add_test(tc, one_version_for_all);
    tcase_add_test(tc, they_follow_each_other);
    tcase_add_test(tc, wrong_ones_change_nothing);
    tcase_add_test(tc, errors_as_alone);
    tcase_add_test(tc, no_flows_of_one);
    tcase_add_test(tc, the_bridge_refuses_one);
    tcase_add_test(tc, the_bridge_refuses_all);
    tcase_add_test(tc, large_ones_are_alone);
    tcase_add_test(tc, patches_of_large_groups_are_alone);
    tcase_add_test(tc, groups_are_bounded);
    tcase_add_test(tc, turns_end);
    tcase_add_test(tc, cancelled_ones_never_begin);
    tcase_add_test(tc, what_goes_ahead);
    tcase_add_test(tc, taken_away);
    tcase_add_test(tc, random_ones);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
