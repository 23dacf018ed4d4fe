/* SPDX-License-Identifier: Apache-2.0 */

/* Transactions on a model in place: what they tell to have changed, how they
 * are undone, step by step too, and that checking what changed finds what
 * checking all does. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "model-change.h"
#include "model-records.h"
#include "openvswitch/vlog.h"
#include "quoted-json.h"
#include "random-records.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

#define N_STEPS 4000

static struct adp_model *model;
static unsigned int missing_ports; /* Bits: "p0" and so on. */

static bool
port_number(const char *name, ofp_port_t *port, void *aux OVS_UNUSED)
{
    *port = u16_to_ofp(1);
    return name[0] != 'p' || !(missing_ports & 1u << atoi(name + 1));
}

static const struct adp_model_env env = { .port_number = port_number };

static void
setup(void)
{
    model = adp_model_create();
    missing_ports = 1u << 8;
}

static void
teardown(void)
{
    adp_model_destroy(model);
}

static char *
model_text(void)
{
    struct json *json = adp_model_get(model, NULL, NULL);
    char *s = json_to_string(json, JSSF_SORT);

    json_destroy(json);
    return s;
}

static struct adp_error *
apply(const char *quoted)
{
    struct json *json = json_array_from_quoted(quoted);
    struct adp_error *error = adp_model_apply(model, json, NULL);

    json_destroy(json);
    return error;
}

#define GROUP(NAME, ADDRESSES) \
    "{'kind':'AddressGroup','name':'" NAME "','addresses':[" ADDRESSES "]}"

START_TEST(tells_what_changed)
{
    size_t n;

    ck_assert(!apply(GROUP("a", "") "," GROUP("b", "")));
    adp_model_begin(model);
    adp_model_changes(model, &n);
    ck_assert_uint_eq(n, 0);

    ck_assert(!apply(GROUP("b", "'10.0.0.1'") "," GROUP("c", "")));
    ck_assert(!apply(GROUP("b", "'10.0.0.2'")));
    struct json *keys = json_array_from_quoted(
        "{'kind':'AddressGroup','name':'a'},"
        "{'kind':'AddressGroup','name':'c'}");
    ck_assert(!adp_model_delete(model, keys, false, NULL));
    json_destroy(keys);

    const struct adp_model_change *const *changes = adp_model_changes(model,
                                                                      &n);
    ck_assert_uint_eq(n, 3);
    ck_assert_str_eq(changes[0]->name, "b");
    ck_assert(changes[0]->old && changes[0]->old != changes[0]->new);
    ck_assert(changes[0]->new == adp_model_find(model, ADP_KIND_ADDRESS_GROUP,
                                                "b"));
    ck_assert_str_eq(changes[1]->name, "c");
    ck_assert(!changes[1]->old && !changes[1]->new);
    ck_assert(changes[2] == adp_model_find_change(
                  model, ADP_KIND_ADDRESS_GROUP, "a"));
    ck_assert(changes[2]->old && !changes[2]->new);
    ck_assert(!adp_model_find_change(model, ADP_KIND_POD, "a"));
    ck_assert(!adp_model_was_cleared(model));
    adp_model_commit(model);

    adp_model_changes(model, &n);
    ck_assert_uint_eq(n, 0);
    ck_assert_uint_eq(adp_model_count(model, NULL), 1);
}
END_TEST

START_TEST(undoes_clearing)
{
    ck_assert(!apply(GROUP("a", "'10.0.0.1'") "," GROUP("b", "")));
    char *before = model_text();

    adp_model_begin(model);
    adp_model_clear(model);
    ck_assert(adp_model_was_cleared(model));
    ck_assert(!apply(GROUP("c", "") "," GROUP("a", "")));
    ck_assert_uint_eq(adp_model_count(model, NULL), 2);
    adp_model_rollback(model);

    char *after = model_text();
    ck_assert_str_eq(after, before);
    ck_assert(!adp_model_was_cleared(model));
    free(after);
    free(before);
}
END_TEST

static void
expect_same_error(const struct adp_error *a, const struct adp_error *b)
{
    ck_assert_str_eq(a ? a->message : "none", b ? b->message : "none");
    ck_assert(!a == !b);
    ck_assert(!a || !strcmp(a->code, b->code));
}

static struct adp_error *
change(const struct json *records, const struct json *keys, bool clear)
{
    if (clear) {
        adp_model_clear(model);
    }
    struct adp_error *error = adp_model_delete(model, keys, true, NULL);
    if (!error) {
        error = adp_model_apply(model, records, NULL);
    }
    if (!error) {
        struct adp_error *all = adp_model_check(model, &env);

        error = adp_model_check_changes(model, &env);
        expect_same_error(error, all);
        adp_error_destroy(all);
    }
    return error;
}

/* Returns true if the transaction was accepted. */
static bool
transact(const struct json *records, const struct json *keys, bool clear)
{
    char *before = model_text();

    adp_model_begin(model);
    struct adp_error *error = change(records, keys, clear);

    bool ok = !error;
    if (ok) {
        adp_model_commit(model);
    } else {
        adp_model_rollback(model);

        char *after = model_text();
        ck_assert_str_eq(after, before);
        free(after);
    }
    adp_error_destroy(error);
    free(before);
    return ok;
}

/* Now and then a record wants what is the Node's, or is another Node. */
static void
meet_node(const struct json *records)
{
    static const struct {
        const char *kind, *field, *value;
    } wants[] = {
        { "Pod", "port", "gw0" }, { "Pod", "port", "tun0" },
        { "Pod", "port", "l7a" }, { "Pod", "port", "l7b" },
        { "Pod", "mac", "00:00:00:00:01:00" },
        { "Pod", "mac", "aa:bb:cc:dd:ee:ff" },
        { "PeerNode", "transportIP", "192.168.0.1" },
        { "Egress", "egressIP", "192.168.0.1" },
        { "Egress", "egressIP", "10.0.0.1" },
        { "Egress", "egressIP", "192.168.0.10" },
        { "TrafficControl", "targetPort", "gw0" },
        { "NodeConfig", "name", "another" },
    };

    for (size_t i = 0; i < records->array.n; i++) {
        struct json *record = records->array.elems[i];
        size_t j = random_range(ARRAY_SIZE(wants));

        if (!strcmp(json_string(shash_find_data(json_object(record), "kind")),
                    wants[j].kind)) {
            json_object_put_string(record, wants[j].field, wants[j].value);
        }
    }
}

START_TEST(random_transactions)
{
    int n_accepted = 0;

    test_seed_random();
    for (int i = 0; i < N_STEPS; i++) {
        struct json *records, *keys;

        if (!random_range(20)) {
            missing_ports = 1u << 8 | 1u << random_range(10);
        }
        random_transaction(&records, &keys);
        meet_node(records);
        n_accepted += transact(records, keys, !random_range(100));
        json_destroy(records);
        json_destroy(keys);
    }
    /* Both ways are gone. */
    ck_assert_int_gt(n_accepted, N_STEPS / 10);
    ck_assert_int_lt(n_accepted, N_STEPS * 9 / 10);
}
END_TEST

/* The records of before the transaction are still known. */
static void
check_sorted_before(const struct adp_model *before)
{
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        size_t n, n_before;
        const struct adp_record **records = adp_model_sorted_before(model,
                                                                    kind, &n);
        const struct adp_record **expected = adp_model_sorted(before, kind,
                                                              &n_before);

        ck_assert_uint_eq(n, n_before);
        for (size_t i = 0; i < n; i++) {
            ck_assert_ptr_eq(records[i], expected[i]);
        }
        free(expected);
        free(records);
    }
}

/* What the transaction tells of is what differs from 'before'. */
static void
check_changes(const struct adp_model *before)
{
    size_t n;
    const struct adp_model_change *const *changes = adp_model_changes(model,
                                                                      &n);

    for (size_t i = 0; i < n; i++) {
        const struct adp_model_change *c = changes[i];

        ck_assert_ptr_eq(c->old, adp_model_find(before, c->kind, c->name));
        ck_assert_ptr_eq(c->new, adp_model_find(model, c->kind, c->name));
        ck_assert_ptr_eq(c, adp_model_find_change(model, c->kind, c->name));
    }
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        const struct adp_record **records = adp_model_sorted(model, kind, &n);

        for (size_t i = 0; i < n; i++) {
            ck_assert(adp_model_find(before, kind, records[i]->name)
                      == records[i]
                      || adp_model_find_change(model, kind,
                                               records[i]->name));
        }
        free(records);
    }
    check_sorted_before(before);
}

/* Steps, of which those that are wrong are undone alone: the model becomes
 * what the others make of it. */
START_TEST(random_steps)
{
    int n_accepted = 0;

    test_seed_random();
    for (int i = 0; i < N_STEPS / 8; i++) {
        struct adp_model *before = adp_model_clone(model);
        char *first = model_text();

        adp_model_begin(model);
        for (int j = random_range(8); j >= 0; j--) {
            struct json *records, *keys;
            bool cleared = adp_model_was_cleared(model);
            char *text = model_text();

            random_transaction(&records, &keys);
            struct adp_error *error = change(records, keys,
                                             !random_range(100));
            if (error) {
                adp_model_undo_step(model);
                char *undone = model_text();
                ck_assert_str_eq(undone, text);
                ck_assert(adp_model_was_cleared(model) == cleared);
                free(undone);
            } else {
                adp_model_begin_step(model);
                n_accepted++;
            }
            check_changes(before);
            adp_error_destroy(error);
            json_destroy(records);
            json_destroy(keys);
            free(text);
        }
        if (random_range(4)) {
            adp_model_commit(model);
        } else {
            adp_model_rollback(model);
            char *undone = model_text();
            ck_assert_str_eq(undone, first);
            free(undone);
        }
        free(first);
        adp_model_destroy(before);
    }
    ck_assert_int_gt(n_accepted, N_STEPS / 20);
    ck_assert_int_lt(n_accepted, N_STEPS);
}
END_TEST

static void
delete_group(const char *name)
{
    char *key = xasprintf("{'kind':'AddressGroup','name':'%s'}", name);
    struct json *keys = json_array_from_quoted(key);

    ck_assert(!adp_model_delete(model, keys, false, NULL));
    json_destroy(keys);
    free(key);
}

static uint64_t
birth_of_a(void)
{
    return adp_model_find(model, ADP_KIND_ADDRESS_GROUP, "a")->birth;
}

/* A record that changes stays the same one; what comes after it has gone is
 * another. */
START_TEST(births)
{
    ck_assert(!apply(GROUP("a", "") "," GROUP("b", "")));
    uint64_t birth = birth_of_a();
    ck_assert_uint_ne(birth, adp_model_find(model, ADP_KIND_ADDRESS_GROUP,
                                            "b")->birth);

    adp_model_begin(model);
    ck_assert(!apply(GROUP("a", "'10.0.0.1'")));
    ck_assert(!apply(GROUP("a", "'10.0.0.2'")));
    adp_model_commit(model);
    ck_assert_uint_eq(birth_of_a(), birth);

    adp_model_begin(model);
    delete_group("a");
    ck_assert(!apply(GROUP("a", "")));
    adp_model_commit(model);
    ck_assert_uint_eq(birth_of_a(), birth);

    adp_model_begin(model);
    ck_assert(!apply(GROUP("a", "'10.0.0.1'")));
    adp_model_begin_step(model);
    delete_group("a");
    ck_assert(!apply(GROUP("a", "")));
    ck_assert_uint_eq(birth_of_a(), birth);
    delete_group("a");
    adp_model_begin_step(model);
    ck_assert(!apply(GROUP("a", "")));
    ck_assert_uint_ne(birth_of_a(), birth);
    adp_model_undo_step(model);
    adp_model_rollback(model);
    ck_assert_uint_eq(birth_of_a(), birth);

    adp_model_begin(model);
    delete_group("a");
    adp_model_rollback(model);
    ck_assert_uint_eq(birth_of_a(), birth);

    adp_model_begin(model);
    delete_group("a");
    adp_model_commit(model);
    ck_assert(!apply(GROUP("a", "")));
    ck_assert_uint_ne(birth_of_a(), birth);
}
END_TEST

int
main(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);

    Suite *suite = suite_create("model-changes");
    TCase *tc = tcase_create("transactions");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);  /* For slow machines. */
    tcase_add_test(tc, tells_what_changed);
    tcase_add_test(tc, undoes_clearing);
    tcase_add_test(tc, random_transactions);
    tcase_add_test(tc, random_steps);
    tcase_add_test(tc, births);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
