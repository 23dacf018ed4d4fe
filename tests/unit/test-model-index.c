/* SPDX-License-Identifier: Apache-2.0 */

/* Finding records by keys, and groups whose members come and go: random
 * changes, compared with a look at everything. */

#include <config.h>
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "count-pauses.h"
#include "equal-hash.h"
#include "model-index.h"
#include "model-pause.h"
#include "model-patch.h"
#include "model-records.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "quoted-json.h"
#include "random.h"
#include "sset.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

static struct adp_model *model;
static struct adp_index *adp_index;

static void
setup(void)
{
    model = adp_model_create();
    adp_index = adp_index_create();
}

static void
teardown(void)
{
    adp_index_destroy(adp_index);
    adp_model_destroy(model);
}

/* What a transaction does with model and index. */
static void
apply_json(const struct json *records)
{
    struct adp_error *error = adp_model_apply(model, records, NULL);

    ck_assert_msg(!error, "%s", error ? error->message : "");
    adp_index_update(adp_index, model, records);
}

static void
apply(const char *quoted)
{
    struct json *records = json_array_from_quoted(quoted);

    apply_json(records);
    json_destroy(records);
}

static void
delete(const char *quoted)
{
    struct json *keys = json_array_from_quoted(quoted);

    ck_assert(!adp_model_delete(model, keys, true, NULL));
    adp_index_update(adp_index, model, keys);
    json_destroy(keys);
}

/* The names of what the query finds, or its error.  'names' and 'keys' are
 * quoted elements of lists, or NULL. */
static char *
query(const char *kind, const char *names, const char *keys)
{
    struct json *name_list = names ? json_array_from_quoted(names) : NULL;
    struct json *key_list = keys ? json_array_from_quoted(keys) : NULL;
    struct adp_query q = { kind, name_list, key_list, true };
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct json *records;

    struct adp_error *error = adp_index_query(adp_index, model, &q, &records);
    for (size_t i = 0; !error && i < json_array(records)->n; i++) {
        const struct shash *o = json_object(json_array(records)->elems[i]);
        ck_assert_int_eq(shash_count(o), 2);
        ds_put_format(&ds, "%s%s %s", i ? ", " : "",
                      json_string(shash_find_data(o, "kind")),
                      json_string(shash_find_data(o, "name")));
    }
    if (error) {
        ds_put_cstr(&ds, error->message);
        ck_assert(!records);
    }
    adp_error_destroy(error);
    json_destroy(records);
    json_destroy(name_list);
    json_destroy(key_list);
    return ds_steal_cstr(&ds);
}

/* How often the index looks for a record. */
static size_t n_looks;

__typeof__(adp_model_find) __real_adp_model_find, __wrap_adp_model_find;

const struct adp_record *
__wrap_adp_model_find(const struct adp_model *m, enum adp_kind kind,
                      const char *name)
{
    n_looks++;
    return __real_adp_model_find(m, kind, name);
}

#define FINDS(KIND, NAMES, KEYS, EXPECTED) do {                         \
        char *found_ = query(KIND, NAMES, KEYS);                        \
        ck_assert_str_eq(found_, EXPECTED);                             \
        free(found_);                                                   \
    } while (0)

#define POLICY(GROUP) "{'kind':'NetworkPolicy','name':'np'," \
    "'type':'K8sNetworkPolicy','appliedToGroups':['at']," \
    "'rules':[{'direction':'In','from':{'addressGroups':['" GROUP "']}}]}"

START_TEST(test_query)
{
    apply("{'kind':'Manifest','name':'a','keys':['x','y'],'object':{}},"
          "{'kind':'Manifest','name':'b','keys':['y','y'],'object':{}},"
          "{'kind':'Manifest','name':'c','object':{}}," POLICY("ad"));
    FINDS(NULL, NULL, "['y']", "Manifest a, Manifest b");
    FINDS(NULL, NULL, "['y','x']", "Manifest a");
    FINDS(NULL, NULL, "['x'],['AddressGroup ad']",
          "Manifest a, NetworkPolicy np");
    FINDS("NetworkPolicy", NULL, "['x'],['AppliedToGroup at']",
          "NetworkPolicy np");
    FINDS(NULL, NULL, "['y','z'],['z']", "");
    FINDS(NULL, "'Manifest c','Manifest d','NetworkPolicy np'", "['x']",
          "Manifest a, Manifest c, NetworkPolicy np");
    ck_assert_int_eq(adp_index_n_unkeyed(adp_index), 1);

    /* A record that is replaced bears its new keys, and only these. */
    apply("{'kind':'Manifest','name':'a','keys':['z'],'object':{}},"
          "{'kind':'Manifest','name':'c','keys':[],'object':{}},"
          POLICY("other"));
    FINDS(NULL, NULL, "['x'],['z'],['AddressGroup ad']", "Manifest a");
    FINDS(NULL, NULL, "['AddressGroup other']", "NetworkPolicy np");
    ck_assert_int_eq(adp_index_n_unkeyed(adp_index), 0);

    delete("{'kind':'Manifest','name':'a'},{'kind':'Manifest','name':'e'}");
    FINDS(NULL, NULL, "['z']", "");
}
END_TEST

START_TEST(test_query_errors)
{
    FINDS("Junk", NULL, "['x']", "kind: \"Junk\" is not a known kind");
    FINDS(NULL, "'Pod a','Pod'", NULL, "names[1]: must be a kind of record "
          "and a name, as in \"Pod default/web\"");
    FINDS(NULL, "1", NULL, "names[0]: must be a kind of record "
          "and a name, as in \"Pod default/web\"");
    FINDS(NULL, "'Junk a'", NULL, "names[0]: must be a kind of record "
          "and a name, as in \"Pod default/web\"");
    FINDS(NULL, NULL, "['x'],[]", "keys[1]: must be a list of keys, and not "
          "an empty one");
    FINDS(NULL, NULL, "'x'", "keys[0]: must be a list of keys, and not an "
          "empty one");
    FINDS(NULL, NULL, "['x',1]", "keys[0]: must hold strings");
}
END_TEST

enum { N_EQUAL = 1000 };

/* Who has the same key in many lists is told of its records at the cost of
 * one. */
START_TEST(test_query_equal_keys)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    apply("{'kind':'Manifest','name':'a','keys':['x','y'],'object':{}},"
          "{'kind':'Manifest','name':'b','keys':['x'],'object':{}},"
          "{'kind':'Manifest','name':'c','keys':['y'],'object':{}}");
    for (int i = 0; i < N_EQUAL; i++) {
        ds_put_format(&ds, "%s['x'],['x','y']", i ? "," : "");
    }
    n_looks = 0;
    FINDS(NULL, NULL, ds_cstr(&ds), "Manifest a, Manifest b");
    ck_assert_uint_eq(n_looks, 2);
    ds_put_cstr(&ds, ",['y']");
    FINDS(NULL, NULL, ds_cstr(&ds), "Manifest a, Manifest b, Manifest c");
    ck_assert_uint_eq(n_looks, 2 + 4);
    ds_destroy(&ds);
}
END_TEST

/* However many records a client asks for, looking for them, sorting them and
 * putting them into the answer pauses in between. */
START_TEST(test_pauses)
{
    enum { N = 160 };
    static const char *const keys[] = { "['x']", "['x','y']" };
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < N; i++) {
        ds_put_format(&ds, "%s{'kind':'Manifest','name':'m%d',"
                      "'keys':['x','y'],'object':{}}", i ? "," : "", i);
    }
    apply(ds_cstr(&ds));
    ds_destroy(&ds);

    size_t n_sorting = 0, n = 0, n_records;
    adp_pause_set(count_pause, &n_sorting);
    free(adp_model_sorted(model, ADP_KIND_MANIFEST, &n_records));
    ck_assert_uint_eq(n_records, N);
    ck_assert_uint_gt(n_sorting, N / 16);
    adp_pause_set(count_pause, &n);
    json_destroy(adp_model_get(model, "Manifest", NULL));
    ck_assert_uint_ge(n, n_sorting + N / 16);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
        n = 0;
        free(query(NULL, NULL, keys[i]));
        ck_assert_uint_ge(n, 3 * N);
    }
    adp_pause_set(NULL, NULL);
}
END_TEST

/* How often strings are compared. */
static size_t n_compared;

__typeof__(strcmp) __real_strcmp, __wrap_strcmp;

int
__wrap_strcmp(const char *a, const char *b)
{
    n_compared++;
    return __real_strcmp(a, b);
}

/* Comparisons for a Manifest with these keys to be indexed, and then
 * changed. */
static size_t
count_compared(char *keys[], size_t n)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&ds, "{'kind':'Manifest','name':'a','object':{},'keys':[");
    for (size_t i = 0; i < n; i++) {
        ds_put_format(&ds, "%s'%s'", i ? "," : "", keys[i]);
    }
    ds_put_cstr(&ds, "]}");
    n_compared = 0;
    apply(ds_cstr(&ds));
    apply(ds_cstr(&ds));
    ds_destroy(&ds);
    return n_compared;
}

/* Keys that somebody chose so that upstream's hash takes them for one cost
 * what others do: each is compared with few. */
START_TEST(test_keys_chosen)
{
    char *keys[ADP_MANIFEST_MAX_KEYS];
    char *equal[EQUAL_HASH_N];

    equal_hash_strings(equal);
    for (int i = 0; i < ADP_MANIFEST_MAX_KEYS; i++) {
        keys[i] = xasprintf("l:%088d", i);
    }
    size_t n_usual = count_compared(keys, ADP_MANIFEST_MAX_KEYS);
    size_t n_chosen = count_compared(equal, ADP_MANIFEST_MAX_KEYS);

    ck_assert_uint_gt(n_usual, ADP_MANIFEST_MAX_KEYS);   /* They are counted. */
    ck_assert_uint_lt(n_chosen, n_usual + 16 * ADP_MANIFEST_MAX_KEYS);
    for (int i = 0; i < ADP_MANIFEST_MAX_KEYS; i++) {
        free(keys[i]);
    }
    for (int i = 0; i < EQUAL_HASH_N; i++) {
        free(equal[i]);
    }
}
END_TEST

enum { N_NAMES = 30, N_KEYS = 8 };

/* Each name's keys as a bitmap; -1: there is no such Manifest. */
static void
check_against(const int keys_of[N_NAMES], int a, int b)
{
    struct ds expected = DS_EMPTY_INITIALIZER;
    char *keys = xasprintf("['k%d','k%d']", a, b);

    for (int i = 0; i < N_NAMES; i++) {
        if (keys_of[i] >= 0 && keys_of[i] & 1 << a && keys_of[i] & 1 << b) {
            ds_put_format(&expected, "%sManifest m%02d",
                          expected.length ? ", " : "", i);
        }
    }
    FINDS(NULL, NULL, keys, ds_cstr(&expected));
    ds_destroy(&expected);
    free(keys);
}

START_TEST(test_query_random)
{
    int keys_of[N_NAMES];

    test_seed_random();
    for (int i = 0; i < N_NAMES; i++) {
        keys_of[i] = -1;
    }
    for (int round = 0; round < 2000; round++) {
        int i = random_range(N_NAMES);
        if (random_range(4)) {
            struct ds ds = DS_EMPTY_INITIALIZER;
            keys_of[i] = random_range(1 << N_KEYS);
            ds_put_format(&ds, "{'kind':'Manifest','name':'m%02d',"
                          "'object':{},'keys':[", i);
            for (int k = 0; k < N_KEYS; k++) {
                if (keys_of[i] & 1 << k) {
                    ds_put_format(&ds, "%s'k%d'",
                                  ds_last(&ds) == '[' ? "" : ",", k);
                }
            }
            ds_put_cstr(&ds, "]}");
            apply(ds_cstr(&ds));
            ds_destroy(&ds);
        } else {
            char *name = xasprintf("{'kind':'Manifest','name':'m%02d'}", i);
            delete(name);
            keys_of[i] = -1;
            free(name);
        }
        if (!random_range(100)) {
            adp_index_rebuild(adp_index, model);
        }
        check_against(keys_of, random_range(N_KEYS), random_range(N_KEYS));
    }
}
END_TEST

/* Patches. */

/* Applies a patch; returns the group's members, or the error. */
static char *
patch(const char *quoted, const char *kind, const char *name,
      const char *list)
{
    struct json *patches = json_array_from_quoted(quoted);
    struct json *records;
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct adp_error *error = adp_model_patch(model, patches, &records);

    if (error) {
        ck_assert(!records);
        ds_put_format(&ds, "%s: %s", error->code, error->message);
    } else {
        apply_json(records);
        struct json *got = adp_model_get(model, kind, name);
        ck_assert_int_eq(json_array(got)->n, 1);
        const struct json *members
            = shash_find_data(json_object(json_array(got)->elems[0]), list);
        for (size_t i = 0; i < json_array(members)->n; i++) {
            ds_put_format(&ds, "%s%s", i ? " " : "",
                          json_string(json_array(members)->elems[i]));
        }
        json_destroy(got);
    }
    adp_error_destroy(error);
    json_destroy(records);
    json_destroy(patches);
    return ds_steal_cstr(&ds);
}

#define PATCHED(QUOTED, KIND, NAME, LIST, EXPECTED) do {                \
        char *got_ = patch(QUOTED, KIND, NAME, LIST);                   \
        ck_assert_str_eq(got_, EXPECTED);                               \
        free(got_);                                                     \
    } while (0)
#define AD(MEMBERS) "{'kind':'AddressGroup','name':'ad'," MEMBERS "}"
#define PATCHED_AD(MEMBERS, EXPECTED) \
    PATCHED(AD(MEMBERS), "AddressGroup", "ad", "addresses", EXPECTED)
#define PATCHED_AT(MEMBERS, EXPECTED) \
    PATCHED("{'kind':'AppliedToGroup','name':'at'," MEMBERS "}", \
            "AppliedToGroup", "at", "pods", EXPECTED)

START_TEST(test_patch)
{
    apply(AD("'addresses':['10.0.0.2','10.0.0.10']")
          ",{'kind':'AppliedToGroup','name':'at','pods':['b/x','d/x']}");
    PATCHED_AD("'add':['10.0.0.9']", "10.0.0.2 10.0.0.9 10.0.0.10");
    PATCHED_AD("'add':['10.0.0.9/32','10.0.0.1'],'remove':['10.0.0.2/32']",
               "10.0.0.1 10.0.0.9/32 10.0.0.10");
    PATCHED_AD("'add':['10.0.0.255'],'remove':['9.9.9.9']",
               "10.0.0.1 10.0.0.9/32 10.0.0.10 10.0.0.255");
    PATCHED_AD("'remove':['10.0.0.1','10.0.0.9','10.0.0.10','10.0.0.255']",
               "");
    PATCHED_AT("'add':['c/x','e/x','a/x','d/x'],'remove':['z/z']",
               "a/x b/x c/x d/x e/x");
    PATCHED_AT("'remove':['e/x','a/x']", "b/x c/x d/x");
}
END_TEST

START_TEST(test_patch_errors)
{
    apply(AD("'addresses':['10.0.0.2']"));
    PATCHED_AD("'add':['1.2.3.4','junk']", "invalid: AddressGroup ad: add[1]: "
               "\"junk\" is not an IP address or CIDR");
    PATCHED_AD("'add':['1.2.3.4','1.2.3.4/32']", "invalid: AddressGroup ad: "
               "add: \"1.2.3.4/32\" is listed twice");
    PATCHED_AD("'add':['1.2.3.4'],'remove':['1.2.3.4']",
               "invalid: AddressGroup ad: add: \"1.2.3.4\" is in \"remove\", "
               "too");
    PATCHED_AD("'addresses':[]", "invalid: AddressGroup ad: addresses: "
               "unknown field");
    PATCHED("{'kind':'Pod','name':'p'}", "", "", "",
            "invalid: Pod p: kind: \"Pod\" has no members to patch");
    PATCHED("{'kind':'AddressGroup'}", "", "", "",
            "invalid: patch[0]: name: missing");
    PATCHED(AD("'add':[]") ",{'kind':'AddressGroup','name':'x'}", "", "", "",
            "missing: AddressGroup x: doesn't exist");
    PATCHED("1", "", "", "", "invalid: patch[0]: must be object, not "
            "number");
}
END_TEST

START_TEST(test_patch_random)
{
    struct sset members = SSET_INITIALIZER(&members);

    test_seed_random();
    apply("{'kind':'AppliedToGroup','name':'at','pods':[]}");
    for (int round = 0; round < 1000; round++) {
        struct sset lists[2] = { SSET_INITIALIZER(&lists[0]),
                                 SSET_INITIALIZER(&lists[1]) };
        struct ds ds = DS_EMPTY_INITIALIZER;

        for (int i = random_range(8); i > 0; i--) {
            char *pod = xasprintf("ns/%d", random_range(40));
            bool remove = random_range(2);
            if (!sset_contains(&lists[!remove], pod)) {
                sset_add(&lists[remove], pod);
                if (remove) {
                    sset_find_and_delete(&members, pod);
                } else {
                    sset_add(&members, pod);
                }
            }
            free(pod);
        }
        for (int i = 0; i < 2; i++) {
            const char *name;
            ds_put_format(&ds, "%s'%s':[", i ? "," : "{'kind':"
                          "'AppliedToGroup','name':'at',",
                          i ? "remove" : "add");
            SSET_FOR_EACH (name, &lists[i]) {
                ds_put_format(&ds, "%s'%s'", ds_last(&ds) == '[' ? "" : ",",
                              name);
            }
            ds_put_char(&ds, ']');
        }
        ds_put_char(&ds, '}');

        char *expected = sset_join(&members, " ", "");
        PATCHED(ds_cstr(&ds), "AppliedToGroup", "at", "pods", expected);
        free(expected);
        ds_destroy(&ds);
        sset_destroy(&lists[0]);
        sset_destroy(&lists[1]);
    }
    sset_destroy(&members);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("model-index");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_query);
    tcase_add_test(tc, test_query_errors);
    tcase_add_test(tc, test_query_equal_keys);
    tcase_add_test(tc, test_pauses);
    tcase_add_test(tc, test_keys_chosen);
    tcase_add_test(tc, test_query_random);
    tcase_add_test(tc, test_patch);
    tcase_add_test(tc, test_patch_errors);
    tcase_add_test(tc, test_patch_random);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
