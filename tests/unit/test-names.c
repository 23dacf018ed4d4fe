/* SPDX-License-Identifier: Apache-2.0 */

/* The addresses of names: which are kept, for which patterns, for how long. */

#include <config.h>
#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "adp-dns.h"
#include "adp-names.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "packets.h"
#include "random.h"
#include "sset.h"
#include "svec.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

static struct adp_names_store *store;

static void
use(const char *list)
{
    struct sset patterns = SSET_INITIALIZER(&patterns);

    sset_from_delimited_string(&patterns, list, " ");
    adp_names_store_use(store, &patterns);
    sset_destroy(&patterns);
}

static struct in6_addr
address(uint32_t number)
{
    struct in6_addr ip;

    in6_addr_set_mapped_ipv4(&ip, htonl(0x0a000000 + number));
    return ip;
}

static enum adp_names_learned
learn(const char *name, uint32_t first, size_t n, uint32_t ttl,
      long long int now)
{
    struct adp_dns_answer answer;

    adp_dns_answer_init(&answer);
    ovs_strlcpy(answer.name, name, sizeof answer.name);
    answer.addresses = xmalloc((n + 1) * sizeof *answer.addresses);
    for (size_t i = 0; i < n; i++) {
        answer.addresses[answer.n_addresses++] = (struct adp_dns_address) {
            address(first + i), ttl
        };
    }
    enum adp_names_learned learned = adp_names_store_learn(store, &answer,
                                                           now);
    adp_dns_answer_uninit(&answer);
    return learned;
}

static void
expire(long long int now)
{
    while (adp_names_store_next_expiry(store) <= now) {
        adp_names_store_expire_next(store);
    }
}

static void
take_changes(adp_names_change_cb *cb, void *aux)
{
    while (adp_names_store_has_changes(store)) {
        adp_names_store_take_change(store, cb, aux);
    }
}

static void
add_change(const char *pattern, const struct in6_addr *ips, size_t n,
           void *changes_)
{
    struct svec *changes = changes_;
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "%s:", pattern);
    for (size_t i = 0; i < n; i++) {
        ds_put_format(&s, " %d", ips[i].s6_addr[15]);
    }
    svec_add_nocopy(changes, ds_steal_cstr(&s));
}

/* "PATTERN: last byte of each address; ..."  They come into force, or not. */
static void
expect_changes__(const char *expected, bool in_force)
{
    struct svec changes = SVEC_EMPTY_INITIALIZER;

    ck_assert_int_eq(adp_names_store_has_changes(store), *expected != '\0');
    take_changes(add_change, &changes);
    adp_names_store_end_changes(store, in_force);
    svec_sort(&changes);
    char *text = svec_join(&changes, "; ", "");
    ck_assert_str_eq(text, expected);
    free(text);
    svec_destroy(&changes);
}

static void
expect_changes(const char *expected)
{
    expect_changes__(expected, true);
}

static void
expect_usage(size_t n_patterns, size_t n_names, size_t n_addresses)
{
    struct adp_names_usage usage = adp_names_store_usage(store);

    ck_assert_uint_eq(usage.n_patterns, n_patterns);
    ck_assert_uint_eq(usage.n_names, n_names);
    ck_assert_uint_eq(usage.n_addresses, n_addresses);
}

START_TEST(match)
{
    ck_assert(adp_names_match("a.b", "a.b"));
    ck_assert(!adp_names_match("a.b", "aab"));
    ck_assert(!adp_names_match("a.b", "a.bc"));
    ck_assert(!adp_names_match("a.b", "xa.b"));
    ck_assert(adp_names_match("*.b", "a.b"));
    ck_assert(adp_names_match("*.b", "x.a.b"));
    ck_assert(adp_names_match("*.b", ".b"));
    ck_assert(!adp_names_match("*.b", "b"));
    ck_assert(!adp_names_match("*.b", "a.b.c"));
    ck_assert(adp_names_match("*b", "b"));
    ck_assert(adp_names_match("a*c*e", "abcde"));
    ck_assert(adp_names_match("a*c*e", "acce"));
    ck_assert(!adp_names_match("a*c*e", "acd"));
    ck_assert(adp_names_match("a*", "a"));
    ck_assert(adp_names_match("*", ""));
    ck_assert(adp_names_match("**", "ab"));
    ck_assert(!adp_names_match("a", ""));
}
END_TEST

START_TEST(patterns)
{
    use("a.x *.x");
    expect_changes("");
    ck_assert(adp_names_store_wants(store, "a.x"));
    ck_assert(adp_names_store_wants(store, "b.x"));
    ck_assert(!adp_names_store_wants(store, "a.y"));
    ck_assert_int_eq(learn("b.y", 1, 1, 60, 0), ADP_NAMES_NONE);
    ck_assert_int_eq(learn("a.x", 1, 0, 60, 0), ADP_NAMES_NONE);
    expect_usage(2, 0, 0);
    ck_assert_int_eq(learn("a.x", 1, 2, 60, 0), ADP_NAMES_NEW);
    ck_assert_int_eq(learn("a.x", 2, 1, 60, 0), ADP_NAMES_CHANGED);
    expect_changes("*.x: 1 2; a.x: 1 2");
    ck_assert_int_eq(learn("b.x", 2, 2, 60, 0), ADP_NAMES_NEW);
    expect_changes("*.x: 1 2 3");       /* Each once. */
    expect_usage(2, 2, 4);

    /* Another pattern knows at once what is known; one that goes takes with it
     * what nobody else needs. */
    use("a.x b.*");
    expect_changes("*.x:; b.*: 2 3");
    expect_usage(2, 2, 4);
    use("b.*");
    expect_changes("a.x:");
    expect_usage(1, 1, 2);
    use("*.x");
    expect_changes("*.x: 2 3; b.*:");
    use("");
    expect_changes("*.x:");
    expect_usage(0, 0, 0);

    /* One that goes and comes again knows nothing any more. */
    use("*.x");
    learn("b.x", 1, 1, 60, 0);
    expect_changes("*.x: 1");
    use("");
    use("*.x");
    expect_changes("*.x:");
}
END_TEST

/* What doesn't come into force is to be taken again, also that a pattern is
 * gone. */
START_TEST(in_vain)
{
    use("*.x *.y");
    learn("a.x", 1, 1, 60, 0);
    expect_changes__("*.x: 1", false);
    learn("a.y", 2, 1, 60, 0);
    expect_changes__("*.x: 1; *.y: 2", true);
    use("*.y");
    expect_changes__("*.x:", false);
    expect_changes__("*.x:", false);
    learn("b.y", 3, 1, 60, 0);
    expect_changes__("*.x:; *.y: 2 3", true);
    expect_changes("");
}
END_TEST

static void
ignore_change(const char *pattern OVS_UNUSED,
              const struct in6_addr *ips OVS_UNUSED, size_t n OVS_UNUSED,
              void *aux OVS_UNUSED)
{
}

/* What happens while it isn't known whether it came into force. */
START_TEST(meanwhile)
{
    for (int in_force = 0; in_force < 2; in_force++) {
        use("*.x *.y *.z");
        learn("a.x", 1, 1, 60, 0);
        learn("a.y", 1, 1, 60, 0);
        ck_assert_int_eq(learn("a.x", 1, 1, 60, 0), ADP_NAMES_CHANGED);
        take_changes(ignore_change, NULL);
        ck_assert_int_eq(learn("a.x", 1, 1, 60, 0), ADP_NAMES_TAKEN);
        learn("b.x", 2, 1, 60, 0);
        ck_assert_int_eq(learn("a.x", 1, 1, 60, 0), ADP_NAMES_CHANGED);
        ck_assert_int_eq(learn("a.y", 1, 1, 60, 0), ADP_NAMES_TAKEN);
        learn("a.z", 3, 1, 60, 0);
        adp_names_store_end_changes(store, in_force);
        ck_assert_int_eq(learn("a.y", 1, 1, 60, 0),
                         in_force ? ADP_NAMES_KNOWN : ADP_NAMES_CHANGED);
        expect_changes(in_force ? "*.x: 1 2; *.z: 3"
                       : "*.x: 1 2; *.y: 1; *.z: 3");
        ck_assert_int_eq(learn("a.x", 1, 1, 60, 0), ADP_NAMES_KNOWN);

        /* Patterns that go, and come again. */
        use("*.y");
        take_changes(ignore_change, NULL);
        use("*.x");
        adp_names_store_end_changes(store, in_force);
        expect_changes(in_force ? "*.y:" : "*.x:; *.y:; *.z:");
        use("");
        expect_changes("*.x:");
    }
}
END_TEST

/* Each is taken by itself, and is of all its addresses then. */
START_TEST(one_by_one)
{
    struct svec changes = SVEC_EMPTY_INITIALIZER;

    use("a.x b.x c.x");
    learn("a.x", 1, 1, 60, 0);
    learn("b.x", 2, 1, 60, 0);
    learn("a.x", 3, 1, 60, 0);
    use("a.x b.x");
    adp_names_store_take_change(store, add_change, &changes);
    ck_assert_str_eq(changes.names[0], "a.x: 1 3");
    ck_assert(adp_names_store_has_changes(store));
    ck_assert_int_eq(learn("a.x", 1, 1, 60, 0), ADP_NAMES_TAKEN);
    ck_assert_int_eq(learn("b.x", 2, 1, 60, 0), ADP_NAMES_CHANGED);
    expect_changes("b.x: 2; c.x:");
    ck_assert_int_eq(learn("a.x", 1, 1, 60, 0), ADP_NAMES_KNOWN);
    svec_destroy(&changes);
}
END_TEST

/* A name may be spelled like a pattern. */
START_TEST(star_in_name)
{
    use("*.x");
    learn("*.x", 1, 1, 60, 0);
    expect_changes("*.x: 1");
    expire(60000);
    expect_changes("*.x:");
    expect_usage(1, 0, 0);
}
END_TEST

START_TEST(expiry)
{
    use("a.x *.x");
    ck_assert_int_eq(adp_names_store_next_expiry(store), LLONG_MAX);
    learn("a.x", 1, 1, 60, 500);
    learn("b.x", 2, 1, 0, 500);         /* As long as the least TTL. */
    learn("a.x", 3, 1, 1000000, 500);   /* As long as the greatest. */
    expect_changes("*.x: 1 2 3; a.x: 1 3");
    ck_assert_int_eq(adp_names_store_next_expiry(store),
                     (ADP_NAMES_DEFAULT_MIN_TTL + 1) * 1000);
    expire(ADP_NAMES_DEFAULT_MIN_TTL * 1000 + 999);
    expect_changes("");
    expire(ADP_NAMES_DEFAULT_MIN_TTL * 1000 + 1000);
    expect_changes("*.x: 1 3");
    expect_usage(2, 1, 2);

    /* Told once more it lives on, and never less long than before. */
    learn("a.x", 1, 1, 60, 30000);
    learn("a.x", 1, 1, 10, 31000);
    expire(89999);
    expect_changes("");
    expire(90000);
    expect_changes("*.x: 3; a.x: 3");
    expire(ADP_NAMES_MAX_TTL * 1000LL + 999);
    expect_changes("");
    expire(ADP_NAMES_MAX_TTL * 1000LL + 1000);
    expect_changes("*.x:; a.x:");
    expect_usage(2, 0, 0);
    ck_assert_int_eq(adp_names_store_next_expiry(store), LLONG_MAX);

    adp_names_store_set_min_ttl(store, 100);
    learn("a.x", 1, 1, 60, 0);
    ck_assert_int_eq(adp_names_store_next_expiry(store), 100000);
    adp_names_store_set_min_ttl(store, UINT_MAX);
    learn("b.x", 1, 1, 60, 0);
    expire(100000);
    ck_assert_int_eq(adp_names_store_next_expiry(store),
                     ADP_NAMES_MAX_TTL * 1000LL);
}
END_TEST

/* The next one first, and one alone, though others end at the same time. */
START_TEST(expiry_one_by_one)
{
    use("*.x");
    learn("a.x", 1, 3, 60, 0);
    learn("b.x", 4, 1, 50, 0);
    learn("c.x", 5, 1, 40, 0);
    learn("c.x", 5, 1, 70, 0);
    for (int i = 5; i-- > 0; ) {
        ck_assert_int_eq(adp_names_store_next_expiry(store),
                         i == 4 ? 50000 : i ? 60000 : 70000);
        adp_names_store_expire_next(store);
        expect_usage(1, i > 3 ? 2 : i > 1 ? 2 : i ? 1 : 0, i);
    }
    ck_assert_int_eq(adp_names_store_next_expiry(store), LLONG_MAX);
}
END_TEST

/* Who makes up names in one domain leaves the others theirs. */
START_TEST(full)
{
    use("*.bad a.good");
    ck_assert_int_eq(learn("1.bad", 0, ADP_NAMES_MAX_ADDRESSES - 1, 60, 0),
                     ADP_NAMES_NEW);
    ck_assert_int_eq(learn("2.bad", 0, 2, 60, 0), ADP_NAMES_FULL);
    ck_assert_int_eq(learn("3.bad", 0, 1, 60, 0), ADP_NAMES_FULL);
    expect_usage(2, 2, ADP_NAMES_MAX_ADDRESSES);
    ck_assert_int_eq(learn("1.bad", 7, 1, 90, 0), ADP_NAMES_CHANGED);
    ck_assert_int_eq(learn("a.good", 0, 1, 60, 0), ADP_NAMES_NEW);
    expire(60000);
    expect_usage(2, 1, 1);
    ck_assert_int_eq(learn("3.bad", 0, 1, 60, 60000), ADP_NAMES_NEW);
}
END_TEST

/* Against a list of all that was ever said. */

#define N_NAMES 4
#define N_ADDRESSES 6
static const char *const all_names[N_NAMES] = { "a.x", "b.x", "a.y", "c.y" };
static const char *const all_patterns[] = { "a.x", "*.x", "a.*", "*", "c.y" };
static long long int told[N_NAMES][N_ADDRESSES]; /* When it ends; 0: isn't. */
static struct shash in_force = SHASH_INITIALIZER(&in_force);
static bool used[ARRAY_SIZE(all_patterns)];

static bool
matters(int name)
{
    for (size_t i = 0; i < ARRAY_SIZE(all_patterns); i++) {
        if (used[i] && adp_names_match(all_patterns[i], all_names[name])) {
            return true;
        }
    }
    return false;
}

static void
keep_change(const char *pattern, const struct in6_addr *ips, size_t n,
            void *aux OVS_UNUSED)
{
    uintptr_t bits = 0;

    for (size_t i = 0; i < n; i++) {
        bits |= (uintptr_t) 1 << ips[i].s6_addr[15];
    }
    shash_replace(&in_force, pattern, (void *) bits);
}

static void
compare(long long int now)
{
    if (!random_range(4)) {
        take_changes(ignore_change, NULL);
        adp_names_store_end_changes(store, false);
    }
    take_changes(keep_change, NULL);
    adp_names_store_end_changes(store, true);
    for (size_t i = 0; i < ARRAY_SIZE(all_patterns); i++) {
        uintptr_t bits = 0;

        for (int j = 0; j < N_NAMES; j++) {
            for (int k = 0; k < N_ADDRESSES; k++) {
                if (used[i] && told[j][k] > now
                    && adp_names_match(all_patterns[i], all_names[j])) {
                    bits |= (uintptr_t) 1 << k;
                }
            }
        }
        ck_assert_uint_eq((uintptr_t) shash_find_data(&in_force,
                                                      all_patterns[i]), bits);
    }
}

static void
random_use(void)
{
    struct sset patterns = SSET_INITIALIZER(&patterns);

    for (size_t i = 0; i < ARRAY_SIZE(all_patterns); i++) {
        used[i] = random_range(3);
        if (used[i]) {
            sset_add(&patterns, all_patterns[i]);
        }
    }
    adp_names_store_use(store, &patterns);
    sset_destroy(&patterns);
    for (int i = 0; i < N_NAMES; i++) {
        if (!matters(i)) {
            memset(told[i], 0, sizeof told[i]);
        }
    }
}

START_TEST(random_changes)
{
    long long int now = 1000;

    test_seed_random();
    random_use();
    for (int i = 0; i < 20000; i++) {
        int name = random_range(N_NAMES);
        int ip = random_range(N_ADDRESSES);
        int ttl = 5 + random_range(20);

        switch (random_range(8)) {
        case 0:
            random_use();
            break;
        case 1:
        case 2:
            now += random_range(20) * 1000;
            break;
        default:
            expire(now);
            learn(all_names[name], ip, 1, ttl, now);
            if (matters(name)) {
                told[name][ip] = MAX(told[name][ip], now + ttl * 1000);
            }
            break;
        }
        expire(now);
        compare(now);
    }
    shash_destroy(&in_force);
}
END_TEST


static void
list_name(const char *name, void *s)
{
    ds_put_format(s, "%s", name);
}

static void
list_pattern(const char *pattern, void *s)
{
    ds_put_format(s, " %s", pattern);
}

static void
list_address(const struct in6_addr *ip, long long int expires, void *s)
{
    ds_put_format(s, " %d@%lld", ip->s6_addr[15], expires);
}

START_TEST(visit)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    const struct adp_names_visitor visitor = {
        list_name, list_pattern, list_address, &s
    };

    use("a.x *.x *.y");
    learn("b.y", 7, 1, 60, 0);
    learn("a.x", 9, 1, 60, 0);
    learn("a.x", 3, 1, 70, 0);
    adp_names_store_visit(store, &visitor);
    ck_assert_str_eq(ds_cstr(&s), "a.x *.x a.x 3@70000 9@60000"
                     "b.y *.y 7@60000");
    ds_destroy(&s);
}
END_TEST

static void
setup(void)
{
    store = adp_names_store_create();
}

static void
teardown(void)
{
    adp_names_store_destroy(store);
}

int
main(void)
{
    Suite *suite = suite_create("names");
    TCase *tc = tcase_create("names");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, match);
    tcase_add_test(tc, patterns);
    tcase_add_test(tc, in_vain);
    tcase_add_test(tc, meanwhile);
    tcase_add_test(tc, one_by_one);
    tcase_add_test(tc, star_in_name);
    tcase_add_test(tc, expiry);
    tcase_add_test(tc, expiry_one_by_one);
    tcase_add_test(tc, full);
    tcase_add_test(tc, random_changes);
    tcase_add_test(tc, visit);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
