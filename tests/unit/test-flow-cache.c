/* SPDX-License-Identifier: Apache-2.0 */

/* What becomes of a packet thread's cache when the thread ends: connections
 * that were foreseen and never made go back to the pool, and what was counted
 * stays counted.  And how often one that has nothing to do looks after it, and
 * what it doesn't keep. */

#include <config.h>
#include <check.h>
#include <netinet/in.h>

#include "adp-cached-verdict.h"
#include "adp-flow-cache.h"
#include "adp-ports.h"
#include "adp-rewrite.h"
#include "adp-sample.h"
#include "adp-session.h"
#include "adp-store.h"
#include "adp-summary.h"
#include "adp-walk-cache.h"
#include "adp-walk.h"
#include "conntrack-foresee.h"
#include "conntrack-pool.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "talk.h"
#include "test-run.h"
#include "timeval.h"
#include "turn-slices.h"
#include "util.h"

enum { ZONE = 5 };

static struct conntrack *ct;
static long long int now;

/* Without the bridge's world. */

uint64_t
adp_ports_map_serial(void)
{
    return 1;
}

void
adp_walk_init(struct adp_walk *w)
{
    memset(w, 0, sizeof *w);
    adp_verdict_init(&w->verdict);
}

void
adp_walk_uninit(struct adp_walk *w)
{
    adp_verdict_uninit(&w->verdict);
    conntrack_peek_uninit(&w->ct.peek);
}

/* Verdicts: there are none. */

static struct adp_collector *collector;

static bool something_is_awaited;

static bool
is_awaited(void)
{
    return something_is_awaited;
}

static void
credit(struct adp_stored *v OVS_UNUSED, uint64_t n_packets OVS_UNUSED,
       uint64_t n_bytes OVS_UNUSED)
{
}

static void
release(struct adp_stored *v OVS_UNUSED)
{
}

void
adp_cached_verdict_init(void)
{
    static const struct adp_store_class class = {
        .size = sizeof(struct adp_cached_verdict),
        .credit = credit,
        .release = release,
        .is_awaited = is_awaited,
    };

    collector = adp_collector_create(&class);
}

struct adp_collector *
adp_cached_verdict_collector(void)
{
    return collector;
}

struct adp_cached_verdict *
adp_cached_verdict_take(
    struct adp_store *store OVS_UNUSED,
    const struct adp_cached_verdict_source *source OVS_UNUSED,
    const struct adp_cached_verdict_content *content OVS_UNUSED,
    long long int t OVS_UNUSED)
{
    return NULL;
}

void
adp_cached_verdict_token_init(struct adp_token *token OVS_UNUSED,
                              const struct adp_store *store OVS_UNUSED,
                              const struct adp_cached_verdict *v OVS_UNUSED,
                              const struct adp_program *program OVS_UNUSED,
                              uint32_t learn_serial OVS_UNUSED)
{
}

bool
adp_summary_conns(struct adp_cached_verdict_content *c OVS_UNUSED,
                  const struct conntrack_peek *peek OVS_UNUSED,
                  struct conntrack_ref
                      refs[ADP_CACHED_VERDICT_MAX_CONNS] OVS_UNUSED)
{
    return false;
}

void
adp_rewrite_session_init(
    struct adp_session *s OVS_UNUSED,
    const struct conntrack_peek_tuple *tuple OVS_UNUSED,
    const struct adp_cached_verdict_content *c OVS_UNUSED)
{
}

/* Walks that are kept. */

static int a_walk_cache;

enum { N_WALKS = 3, N_WALKS_EVICTED = 5 };

struct adp_walk_cache *
adp_walk_cache_create(struct adp_store *store OVS_UNUSED)
{
    return (struct adp_walk_cache *) (void *) &a_walk_cache;
}

void
adp_walk_cache_destroy(struct adp_walk_cache *c OVS_UNUSED)
{
}

void
adp_walk_cache_age(struct adp_walk_cache *c OVS_UNUSED,
                   long long int t OVS_UNUSED, size_t *left OVS_UNUSED)
{
}

size_t
adp_walk_cache_count(const struct adp_walk_cache *c OVS_UNUSED)
{
    return N_WALKS;
}

uint64_t
adp_walk_cache_evicted(const struct adp_walk_cache *c OVS_UNUSED)
{
    return N_WALKS_EVICTED;
}

/* Packet threads. */

static void
setup(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    now = time_msec();
    ct = conntrack_init();
    conntrack_pool_run(ct);
    adp_flow_cache_init();
}

static void
teardown(void)
{
    conntrack_destroy(ct);
    ovsrcu_barrier();
}

/* The connection that was foreseen last. */
static const struct conn *foreseen_conn;

/* Foresees that 'w' makes a connection, from the pool. */
static void
foresee(struct adp_walk *w)
{
    const struct conntrack_peek_request req = { .zone = ZONE, .commit = true };
    struct tuple t = { .nw_proto = IPPROTO_UDP, .tp_src = 1024, .tp_dst = 80 };
    struct conntrack_peek *peek = &w->ct.peek;

    in6_addr_set_mapped_ipv4(&t.src, htonl(0x0a000001));
    in6_addr_set_mapped_ipv4(&t.dst, htonl(0x0a000002));
    struct dp_packet *p = talk_compose(&t, NULL, 0);
    foresee_ct(peek, ct, p, &t, &req, now);
    ck_assert_uint_eq(peek->n_conns, 1);
    foreseen_conn = peek->conns[0].up;
    ck_assert(conntrack_pool_owns(foreseen_conn));
    dp_packet_delete(p);
}

static void *
walk_in_vain(void *unused OVS_UNUSED)
{
    struct adp_flow_cache *cache = adp_flow_cache_begin_batch();

    foresee(adp_flow_cache_begin_walk(cache));
    adp_flow_cache_end_walk(cache);
    adp_flow_cache_end_batch(cache);
    return NULL;
}

static void *
sample_in_vain(void *unused OVS_UNUSED)
{
    struct adp_flow_cache *cache = adp_flow_cache_begin_batch();

    cache->sampler = adp_sampler_create();
    foresee(adp_sampler_walk(cache->sampler));
    adp_flow_cache_end_batch(cache);
    return NULL;
}

static void *
replay_two(void *unused OVS_UNUSED)
{
    struct adp_flow_cache *cache = adp_flow_cache_begin_batch();

    adp_flow_cache_count_replay(cache);
    adp_flow_cache_count_replay(cache);
    adp_flow_cache_count_uncacheable(cache);

    /* Out of tunnels, without options and with some. */
    struct flow_tnl tnl;
    memset(&tnl, 0, sizeof tnl);
    adp_flow_cache_add_kind(cache, &tnl, NULL, 1, 1, now);
    tnl.metadata.present.map = 1;
    adp_flow_cache_add_kind(cache, &tnl, NULL, 1, 1, now);
    adp_flow_cache_end_batch(cache);
    adp_flow_cache_age(now);
    return NULL;
}

static void
run_thread(void *(*main_)(void *))
{
    xpthread_join(ovs_thread_create("packets", main_, NULL), NULL);
}

/* The last thing that the thread foresaw, for a packet or a sample, didn't
 * come about.  The next thread gets the same memory for what it foresees. */
START_TEST(foreseen)
{
    void *(*main_)(void *) = _i ? sample_in_vain : walk_in_vain;
    struct adp_flow_cache_thread *threads;

    run_thread(main_);
    const struct conn *first = foreseen_conn;
    for (int i = 0; i < 10; i++) {
        run_thread(main_);
        ck_assert_ptr_eq(foreseen_conn, first);
    }
    ck_assert_uint_eq(adp_flow_cache_threads_get(&threads), 0);
    free(threads);
}
END_TEST

/* Two threads that end one after the other: what each had goes, what each
 * counted doesn't. */
START_TEST(counted)
{
    struct adp_flow_cache_stats stats;

    for (int i = 1; i <= 2; i++) {
        run_thread(replay_two);
        adp_flow_cache_stats_get(&stats);
        ck_assert_uint_eq(stats.n_replayed, 2 * i);
        ck_assert_uint_eq(stats.n_uncacheable, 2 * i);
        ck_assert_uint_eq(stats.n_walks_evicted, N_WALKS_EVICTED * i);
        ck_assert_uint_eq(stats.n_walks, 0);
        ck_assert_uint_eq(stats.capacity, 0);
        ck_assert_uint_eq(stats.n_bytes, 0);
        ck_assert_uint_eq(stats.verdicts.n_bytes, 0);
    }

    /* The main thread's. */
    replay_two(NULL);
    adp_flow_cache_stats_get(&stats);
    ck_assert_uint_eq(stats.n_replayed, 6);
    ck_assert_uint_eq(stats.n_walks_evicted, 3 * N_WALKS_EVICTED);
    ck_assert_uint_eq(stats.n_walks, N_WALKS);
    ck_assert_uint_ne(stats.capacity, 0);
}
END_TEST

/* Sessions that no packet uses from now on. */
static void
add_sessions(struct adp_flow_cache *cache, uint32_t n)
{
    struct adp_sessions *t = cache->sessions;

    for (uint32_t i = 0; i < n; i++) {
        struct adp_session_key4 key;

        memset(&key, 0, sizeof key);
        key.words[0] = i + 1;
        uint32_t hash = adp_session_hash4(adp_sessions_seeds(t), &key);
        struct adp_session_body *body
            = adp_session_body(adp_sessions_insert4(t, hash, &key));
        body->token.life = 1;
        body->used = adp_session_age(now);
    }
}

/* A thread that was away, and finds more that is out of use than it looks at
 * at a time, soon comes again until all has left. */
START_TEST(behind)
{
    enum { N = 300000, AWAY_MS = 40000, SOON_MS = 500 };
    const int calm = adp_flow_cache_age_interval();
    struct adp_flow_cache *cache = adp_flow_cache_begin_batch();

    adp_flow_cache_end_batch(cache);
    adp_flow_cache_age(now);
    add_sessions(cache, N);
    now += AWAY_MS;
    const long long int end = now + SOON_MS;
    adp_flow_cache_age(now);
    ck_assert_uint_gt(adp_sessions_count(cache->sessions), N / 2);
    while ((now += adp_flow_cache_age_interval()) < end) {
        adp_flow_cache_age(now);
    }
    ck_assert_uint_eq(adp_sessions_count(cache->sessions), 0);
    ck_assert_int_eq(adp_flow_cache_age_interval(), calm);
}
END_TEST

/* The main thread looks at a few things in each step of a slice of its turn,
 * and goes on in the next turns. */
START_TEST(in_slices)
{
    enum { N = 20000, AWAY_MS = 40000, N_STEPS = 3, MAX_A_STEP = 1000 };
    struct adp_flow_cache *cache = adp_flow_cache_begin_batch();
    size_t n = N;

    adp_flow_cache_end_batch(cache);
    slice_size = N_STEPS;
    adp_flow_cache_age_slice(now);
    const int calm = adp_flow_cache_age_interval();
    add_sessions(cache, N);
    now += AWAY_MS;
    while (n > 0) {
        adp_flow_cache_age_slice(now);
        size_t n_now = adp_sessions_count(cache->sessions);
        ck_assert_uint_lt(n_now, n);
        ck_assert_uint_le(n - n_now, N_STEPS * MAX_A_STEP);
        ck_assert(!n_now || adp_flow_cache_age_interval() < calm);
        n = n_now;
    }
    /* Places that are given back are looked at as well. */
    while (adp_flow_cache_age_interval() < calm) {
        adp_flow_cache_age_slice(now);
    }

    /* A slice that has time for all. */
    add_sessions(cache, N);
    now += AWAY_MS;
    slice_size = N;
    adp_flow_cache_age_slice(now);
    ck_assert_uint_eq(adp_sessions_count(cache->sessions), 0);
}
END_TEST

/* A thread that has verdicts comes sooner while somebody waits for the end of
 * what these may refer to. */
START_TEST(interval)
{
    something_is_awaited = true;
    int calm = adp_flow_cache_age_interval();
    struct adp_flow_cache *cache = adp_flow_cache_begin_batch();
    ck_assert_int_eq(adp_flow_cache_age_interval(), calm);
    ck_assert_ptr_nonnull(adp_store_add(cache->verdicts, 1, &collector, now));
    ck_assert_int_eq(adp_flow_cache_age_interval(), 10);
    something_is_awaited = false;
    ck_assert_int_eq(adp_flow_cache_age_interval(), calm);
    ck_assert_int_gt(calm, 10);
    adp_flow_cache_end_batch(cache);
}
END_TEST

static bool is_freed;

static void
note_freed(void *owner OVS_UNUSED)
{
    is_freed = true;
}

/* A thread that has had its last walk keeps no flow that taught in it. */
START_TEST(what_taught)
{
    struct adp_flow_cache *cache = adp_flow_cache_begin_batch();
    struct adp_walk *w = adp_flow_cache_begin_walk(cache);
    struct adp_verdict *v = &w->verdict;
    struct minimatch match;

    minimatch_init_catchall(&match);
    v->learned = xzalloc(sizeof *v->learned);
    v->allocated_learned = v->n_learned = 1;
    v->learned->rule = adp_rule_create(0, 1, &match, 0, NULL, 0, &match,
                                       note_freed);
    minimatch_init_catchall(&v->learned->fm.match);
    ofpbuf_init(&v->learned->ofpacts, 0);
    is_freed = false;
    adp_flow_cache_end_walk(cache);
    adp_flow_cache_end_batch(cache);
    ovsrcu_barrier();
    ck_assert(is_freed);
    minimatch_destroy(&match);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("flow-cache");
    TCase *tc = tcase_create("flow-cache");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, foreseen, 0, 2);
    tcase_add_test(tc, counted);
    tcase_add_test(tc, interval);
    tcase_add_test(tc, behind);
    tcase_add_test(tc, in_slices);
    tcase_add_test(tc, what_taught);
    suite_add_tcase(s, tc);
    return test_run(s);
}
