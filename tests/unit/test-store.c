/* SPDX-License-Identifier: Apache-2.0 */

/* Verdicts, sessions and kinds of tunnel packets as a packet thread keeps them:
 * nothing is credited twice or forgotten, tokens never lead to another verdict,
 * and what nobody uses leaves within a minute, by a clock that the tests
 * move. */

#include <config.h>
#include <check.h>
#include <malloc.h>
#include <stdlib.h>

#include "adp-ingress.h"
#include "adp-pace.h"
#include "adp-reserve.h"
#include "adp-session.h"
#include "adp-store.h"
#include "collect-all.h"
#include "little-memory.h"
#include "openvswitch/packets.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "packets.h"
#include "random.h"
#include "rounds.h"
#include "test-seed.h"
#include "tunnel-kinds.h"
#include "util.h"

/* A life, as the test knows it. */
struct life {
    struct adp_token token;
    uint32_t hash;
    uint64_t n_packets, n_bytes;        /* Counted. */
    uint64_t credited_packets, credited_bytes;
    bool released;
};

struct verdict {
    struct adp_stored up;
    struct life *life OVS_ALIGNED_VAR(CACHE_LINE_SIZE);
};

static int owner;                       /* Its address. */
static size_t n_released;

static struct life *
life_of(struct adp_stored *v)
{
    return ((struct verdict *) (void *) v)->life;
}

static void
credit(struct adp_stored *v, uint64_t n_packets, uint64_t n_bytes)
{
    struct life *life = life_of(v);

    ck_assert(!life->released);
    life->credited_packets += n_packets;
    life->credited_bytes += n_bytes;
}

static void
release(struct adp_stored *v)
{
    ck_assert(!life_of(v)->released);
    life_of(v)->released = true;
    n_released++;
}

static const struct adp_store_class class = {
    .size = sizeof(struct verdict),
    .credit = credit,
    .release = release,
};

static struct adp_collector *collector;

static void
setup(void)
{
    test_seed_random();
    n_released = 0;
    collector = adp_collector_create(&class);
}

static void
wait_for_grace(void)
{
    ovsrcu_quiesce();
    ovsrcu_barrier();
}

static void
teardown(void)
{
    wait_for_grace();
    adp_collector_destroy(collector);
}

static struct adp_store_counts
counts_of(const struct adp_store *store)
{
    struct adp_store_counts counts = { .n_verdicts = 0 };

    adp_store_add_counts(store, &counts);
    return counts;
}

static struct adp_stored *
add(struct adp_store *store, struct life *life, uint32_t hash,
    long long int now)
{
    struct adp_stored *v = adp_store_add(store, hash, &owner, now);

    memset(life, 0, sizeof *life);
    if (v) {
        ((struct verdict *) (void *) v)->life = life;
        life->hash = hash;
        life->token.slot = adp_store_slot(store, v);
        life->token.life = v->life;
    }
    return v;
}

static struct adp_stored *
get(const struct adp_store *store, const struct life *life)
{
    struct adp_stored *v = adp_store_get(store, &life->token);

    ck_assert(!v || life_of(v) == life);
    return v;
}

/* The same, where it has to be there. */
static struct adp_stored *
living(const struct adp_store *store, const struct life *life)
{
    struct adp_stored *v = get(store, life);

    if (!v) {
        ck_abort_msg("the verdict has left");
        abort();
    }
    return v;
}

static bool
is_found(const struct adp_store *store, const struct life *life)
{
    struct adp_stored *v = NULL;

    while ((v = adp_store_next_with_hash(store, life->hash, v)) != NULL) {
        if (life_of(v) == life) {
            return true;
        }
    }
    return false;
}

static void
count_train(struct adp_store *store, struct life *life, uint64_t n,
            uint64_t n_bytes, long long int now)
{
    adp_store_count(store, living(store, life), n, n_bytes, 0, now);
    life->n_packets += n;
    life->n_bytes += n_bytes;
}

static void
count(struct adp_store *store, struct life *life, uint64_t n_bytes,
      long long int now)
{
    count_train(store, life, 1, n_bytes, now);
}

/* Time passes: aging is called every 100 ms. */
static void
pass(struct adp_store *store, long long int *now, long long int ms)
{
    for (long long int end = *now + ms; *now < end; *now += 100) {
        size_t left = SIZE_MAX;

        adp_store_age(store, *now, &left);
    }
}

static void
collect(void)
{
    wait_for_grace();
    collect_all(collector);
}

START_TEST(test_idle_leave)
{
    struct adp_store *store = adp_store_create(collector, 100);
    static struct life idle, busy, next;
    long long int now = 1000;

    adp_store_begin(store);
    add(store, &idle, 1, now);
    add(store, &busy, 1, now);
    count(store, &idle, 100, now);
    adp_store_end(store);
    ck_assert(is_found(store, &idle) && is_found(store, &busy));

    for (int i = 0; i < 60; i++) {
        adp_store_begin(store);
        count(store, &busy, 10, now);
        adp_store_end(store);
        pass(store, &now, 1000);
        ck_assert(now >= ADP_STORE_IDLE_MS || get(store, &idle));
    }
    ck_assert(!get(store, &idle) && !is_found(store, &idle));
    ck_assert(get(store, &busy) && is_found(store, &busy));
    ck_assert_uint_eq(counts_of(store).n_idle, 1);
    ck_assert_uint_eq(counts_of(store).n_leaving, 1);

    collect();
    ck_assert(idle.released && idle.credited_packets == 1
              && idle.credited_bytes == 100);
    ck_assert(!busy.released && busy.credited_packets == 60);
    ck_assert_uint_eq(counts_of(store).n_leaving, 0);

    /* Another life in the slot has other tokens. */
    add(store, &next, 1, now);
    ck_assert_uint_eq(next.token.slot, idle.token.slot);
    ck_assert(!get(store, &idle) && get(store, &next));
    adp_store_destroy(store);
}
END_TEST

/* A verdict that no change has touched is believed however many changes there
 * have been, and one that some has isn't. */
START_TEST(test_generations)
{
    const uint64_t first[] = { 1, UINT32_C(1) << 30, UINT32_C(1) << 31,
                               UINT32_MAX - 5, UINT64_C(1) << 33 };

    for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
        for (uint64_t g = first[i]; g < first[i] + 20; g++) {
            struct adp_token token = { .generation = g };
            struct adp_stored v;

            adp_stored_set_changed(&v, g + 9, 0);
            ck_assert(adp_stored_is_unchanged(&v, &token));
            adp_stored_set_changed(&v, g + 9, g);
            ck_assert(adp_stored_is_unchanged(&v, &token));
            adp_stored_set_changed(&v, g + 9, g + 1);
            ck_assert(!adp_stored_is_unchanged(&v, &token));
            ck_assert_uint_eq(v.generation, (uint32_t) (g + 9));
        }
    }
}
END_TEST

START_TEST(test_overtaken_leave)
{
    struct adp_store *store = adp_store_create(collector, 100);
    static struct life life;
    long long int now = 1000;

    add(store, &life, 7, now)->overtaken = true;
    ck_assert(!is_found(store, &life));
    pass(store, &now, ADP_PACE_ROUND_MS + 1000);
    ck_assert(!get(store, &life));
    adp_store_destroy(store);
}
END_TEST

/* A full store lets those go that were longest without a packet. */
START_TEST(test_full)
{
    enum { MAX = 1000, N_BUSY = 100, N = 20000 };
    struct adp_store *store = adp_store_create(collector, MAX);
    struct life *lives = xcalloc(N, sizeof *lives);
    long long int now = 1000;
    int n_lost = 0;

    for (int i = 0; i < N; i++, now++) {
        adp_store_begin(store);
        ck_assert(add(store, &lives[i], random_uint32(), now));
        for (int j = 0; j < N_BUSY && j < i; j++) {
            if (get(store, &lives[j])) {
                count(store, &lives[j], 1, now);
            }
        }
        adp_store_end(store);
        if (i % 64 == 0) {
            collect();
        }
    }
    for (int j = 0; j < N_BUSY; j++) {
        n_lost += !get(store, &lives[j]);
    }
    ck_assert_int_eq(n_lost, 0);
    ck_assert_uint_eq(counts_of(store).n_verdicts, MAX);
    ck_assert_uint_eq(counts_of(store).n_evicted, N - MAX);
    ck_assert_uint_eq(counts_of(store).n_refused, 0);

    adp_store_destroy(store);
    collect();
    ck_assert_uint_eq(n_released, N);
    for (int j = 0; j < N; j++) {
        ck_assert(lives[j].credited_packets == lives[j].n_packets);
    }
    free(lives);
}
END_TEST

/* Where there is little memory, or none but malloc()'s, there is room for
 * fewer. */
START_TEST(test_little_memory)
{
    enum { MAX = 65536, N = 20000 };
    static const size_t amounts[] = { 1 << 20, 64 << 10, 0 };

    for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
        struct life *lives = xcalloc(N, sizeof *lives);
        struct adp_store *store;

        most_memory = amounts[i];
        store = adp_store_create(collector, MAX);
        n_released = 0;
        for (int j = 0; j < N; j++) {
            adp_store_begin(store);
            ck_assert(add(store, &lives[j], random_uint32(), 1000 + j));
            adp_store_end(store);
            if (j % 64 == 0) {
                collect();
            }
        }
        ck_assert_uint_ge(counts_of(store).n_verdicts, 1024);
        ck_assert_uint_lt(counts_of(store).n_verdicts, 8192);
        ck_assert_uint_eq(counts_of(store).n_evicted,
                          N - counts_of(store).n_verdicts);
        ck_assert_uint_eq(counts_of(store).n_refused, 0);
        for (long long int now = 30000; now < 100000; now += 500) {
            size_t left = SIZE_MAX;

            adp_store_age(store, now, &left);
            collect();
        }
        ck_assert_uint_eq(counts_of(store).n_verdicts, 0);
        adp_store_destroy(store);
        collect();
        ck_assert_uint_eq(n_released, N);
        free(lives);
    }
    most_memory = SIZE_MAX;
}
END_TEST

/* If nobody collects, verdicts are refused, and come again afterwards. */
START_TEST(test_refused)
{
    enum { MAX = 100, N = 300 };
    struct adp_store *store = adp_store_create(collector, MAX);
    static struct life lives[N], last;
    int n_refused = 0;

    for (int i = 0; i < N; i++) {
        n_refused += !add(store, &lives[i], i, 1000 + i);
    }
    ck_assert_int_gt(n_refused, N / 2);
    ck_assert_uint_eq(counts_of(store).n_refused, n_refused);
    collect();
    ck_assert(add(store, &last, 1, 2000));
    ck_assert_uint_eq(counts_of(store).n_refused, n_refused);
    adp_store_destroy(store);
}
END_TEST

/* A bridge goes: what it owned is released at once, and leaves. */
START_TEST(test_owner_goes)
{
    struct adp_store *store = adp_store_create(collector, 100);
    long long int now = 1000;
    static struct life mine, others;
    static int other_owner;

    adp_store_begin(store);
    add(store, &mine, 1, now);
    atomic_store_relaxed(&add(store, &others, 2, now)->owner, &other_owner);
    count(store, &mine, 5, now);
    count(store, &others, 6, now);
    adp_store_end(store);

    adp_collector_forget(collector, &owner);
    ck_assert(mine.released && mine.credited_bytes == 5);
    ck_assert(!others.released);
    /* Nobody may look at what it refers to, and nobody counts for it. */
    ck_assert(!get(store, &mine) && get(store, &others));
    pass(store, &now, ADP_PACE_ROUND_MS + 1000);
    ck_assert(!get(store, &mine) && get(store, &others));
    collect();
    ck_assert(!others.released && others.credited_bytes == 6);
    adp_store_destroy(store);
}
END_TEST

/* Slots lose their memory, and get some again: nothing of an earlier life is
 * credited to a later one, in slots at the edges of pieces either. */
START_TEST(test_memory_returns)
{
    enum { N = 25000, N_BUSY = 10 };
    struct adp_store *store = adp_store_create(collector, N);
    struct life *lives = xcalloc(N, sizeof *lives);
    struct life *again = xcalloc(N, sizeof *again);
    long long int now = 1000;

    adp_store_begin(store);
    for (int i = 0; i < N; i++) {
        add(store, &lives[i], i, now);
        count(store, &lives[i], 100, now);
    }
    adp_store_end(store);
    uint64_t most = counts_of(store).n_bytes;

    for (int i = 0; i < 100; i++) {
        adp_store_begin(store);
        for (int j = 0; j < N_BUSY; j++) {
            count(store, &lives[j], 100, now);
        }
        adp_store_end(store);
        pass(store, &now, 1000);
        collect();
    }
    ck_assert_uint_eq(counts_of(store).n_verdicts, N_BUSY);
    ck_assert_uint_eq(n_released, N - N_BUSY);
    ck_assert_uint_le(counts_of(store).n_bytes, ADP_RESERVE_PIECE + 4096);
    ck_assert_uint_gt(most, 2 * ADP_RESERVE_PIECE);

    adp_store_begin(store);
    for (int i = N_BUSY; i < N; i++) {
        add(store, &again[i], i, now);
        count(store, &again[i], 100, now);
    }
    adp_store_end(store);
    collect();
    for (int i = 0; i < N; i++) {
        const struct life *life = i < N_BUSY ? &lives[i] : &again[i];

        ck_assert_uint_eq(life->credited_packets, life->n_packets);
        ck_assert_uint_eq(life->credited_bytes, life->n_bytes);
    }
    adp_store_destroy(store);
    collect();
    free(lives);
    free(again);
}
END_TEST

/* Random steps, and collections in slices: at the end of each that was begun
 * afterwards all is credited that was counted before. */
START_TEST(test_random)
{
    enum { MAX = 200, N_LIVES = 20000, N = ROUNDS(200000) };
    struct adp_store *store = adp_store_create(collector, MAX);
    struct life *lives = xcalloc(N_LIVES, sizeof *lives);
    size_t n_lives = 0, n_checks = 0;
    long long int now = 1000;
    bool in_batch = false;

    for (int i = 0; i < N; i++) {
        struct life *life
            = n_lives ? &lives[n_lives - 1 - random_range(MIN(n_lives, 300))]
              : NULL;

        switch (random_range(16)) {
        case 0:
        case 1:
            if (in_batch) {
                adp_store_end(store);
                pass(store, &now, random_range(500));
            } else {
                adp_store_begin(store);
            }
            in_batch = !in_batch;
            break;
        case 2:
            if (in_batch && n_lives < N_LIVES
                && add(store, &lives[n_lives], random_range(50), now)) {
                n_lives++;
            }
            break;
        case 3:
            adp_collector_run(collector, random_range(20));
            break;
        case 4:
            if (i % 16 == 0) {
                wait_for_grace();
            }
            break;
        case 5:
            if (i % 8 == 0) {
                collect_all(collector);
                for (size_t j = 0; j < n_lives; j++) {
                    ck_assert(lives[j].credited_packets == lives[j].n_packets);
                    ck_assert(lives[j].credited_bytes == lives[j].n_bytes);
                }
                n_checks++;
            }
            break;
        default:
            if (in_batch && life && get(store, life)) {
                count_train(store, life, 1 + random_range(3),
                            random_range(1500), now);
            }
        }
    }
    ck_assert_uint_gt(n_checks, ROUNDS(800));
    ck_assert_uint_gt(n_lives, ROUNDS(4000));
    adp_store_destroy(store);
    collect();
    ck_assert_uint_eq(n_released, n_lives);
    free(lives);
}
END_TEST

/* What a packet thread says that it has counted is there in a collection that
 * begins afterwards. */

struct counting_thread {
    struct life lives[64];
    atomic_uint64_t n_said;
    atomic_bool stop;
};

static void *
count_in_thread(void *t_)
{
    struct counting_thread *t = t_;
    struct adp_store *store = adp_store_create(collector, 1000);
    uint64_t n = 0;
    bool stop;

    adp_store_begin(store);
    for (size_t i = 0; i < ARRAY_SIZE(t->lives); i++) {
        add(store, &t->lives[i], i, 1000);
    }
    adp_store_end(store);
    do {
        adp_store_begin(store);
        for (int i = 0; i < 32; i++) {
            struct life *life = &t->lives[n % 61];

            adp_store_count(store, living(store, life), 1, 1, 0, 1000);
            atomic_store_explicit(&t->n_said, ++n, memory_order_release);
        }
        adp_store_end(store);
        if (!(n % 4096)) {
            ovsrcu_quiesce();
        }
        atomic_read_relaxed(&t->stop, &stop);
    } while (!stop);
    adp_store_destroy(store);
    return NULL;
}

static uint64_t
n_credited(const struct counting_thread *t)
{
    uint64_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(t->lives); i++) {
        n += t->lives[i].credited_packets;
    }
    return n;
}

START_TEST(test_threads)
{
    static struct counting_thread threads[2];
    pthread_t pthreads[2];
    uint64_t said[2];

    for (int i = 0; i < 2; i++) {
        pthreads[i] = ovs_thread_create("counting", count_in_thread,
                                        &threads[i]);
    }
    do {
        for (int i = 0; i < 2; i++) {
            atomic_read_explicit(&threads[i].n_said, &said[i],
                                 memory_order_acquire);
        }
        collect_all(collector);
        for (int i = 0; i < 2; i++) {
            ck_assert(n_credited(&threads[i]) >= said[i]);
        }
        ovsrcu_quiesce();
    } while (MIN(said[0], said[1]) < 200000);

    for (int i = 0; i < 2; i++) {
        atomic_store_relaxed(&threads[i].stop, true);
        xpthread_join(pthreads[i], NULL);
    }
    collect();
    for (int i = 0; i < 2; i++) {
        atomic_read_relaxed(&threads[i].n_said, &said[i]);
        ck_assert_uint_eq(n_credited(&threads[i]), said[i]);
    }
    ck_assert_uint_eq(n_released, 2 * ARRAY_SIZE(threads[0].lives));
}
END_TEST

/* A month of Pods that come, talk and go; some days under the sanitizers. */

enum {
    SECOND = 1000,
    MINUTE = 60 * SECOND,
    DAY = 24 * 60 * MINUTE,
    N_PODS = 40,                /* At a time. */
    PEERS = 5,                  /* That each talks to. */
    HEAP_SLACK = 64 * 1024,     /* RCU's, a thread's. */
};

struct node {
    struct adp_store *store;
    struct adp_sessions *sessions;
    struct adp_ingress_table *kinds;
    struct life *lives;
    size_t n_lives, allocated;
};

static void
fill_session(struct adp_session *s, const struct life *life,
             long long int now)
{
    struct adp_session_body *body = adp_session_body(s);

    body->token = life->token;
    body->used = adp_session_age(now);
}

/* Pod number 'pod' says something to its peers. */
static void
talk(struct node *n, uint32_t pod, long long int now)
{
    adp_store_begin(n->store);
    for (uint32_t peer = 0; peer < PEERS; peer++) {
        struct adp_session_key4 key = {
            .nw_src = htonl(pod),
            .nw_dst = htonl(peer),
            .l4.nw_proto = IPPROTO_UDP,
        };
        uint32_t hash = adp_session_hash4(adp_sessions_seeds(n->sessions),
                                          &key);
        struct flow_tnl tnl = tunnel_packet(pod * PEERS + peer, 0, 64);
        struct adp_session *s = adp_sessions_find4(n->sessions, hash, &key);
        struct adp_stored *v
            = s ? adp_store_get(n->store, &adp_session_body(s)->token) : NULL;

        if (!find_kind(n->kinds, &tnl, now)) {
            adp_ingress_set(n->kinds, &tnl, &owner, 1, 1, now);
        }
        if (s && !v) {
            adp_sessions_remove(n->sessions, s);
        }
        if (!v) {
            struct life *life = &n->lives[n->n_lives++ % n->allocated];

            ck_assert(life->released || !life->token.life);
            add(n->store, life, hash, now);
            v = living(n->store, life);
            s = adp_sessions_insert4(n->sessions, hash, &key);
            fill_session(s, life, now);
        }
        adp_session_use(adp_session_body(s), adp_session_age(now));
        adp_store_count(n->store, v, 1, 100, 0, now);
    }
    adp_store_end(n->store);
}

static void
node_age(struct node *n, long long int now)
{
    size_t left = SIZE_MAX;

    adp_store_age(n->store, now, &left);
    adp_sessions_age(n->sessions, now, &left);
    adp_ingress_age(n->kinds, now, &left);
}

START_TEST(test_month)
{
    struct node n = {
        .store = adp_store_create(collector, 10000),
        .sessions = adp_sessions_create(100000, NULL, NULL),
        .kinds = adp_ingress_table_create(10000),
        .allocated = 20000,
    };
    const size_t size = adp_sessions_size(n.sessions);
    const uint64_t bytes = counts_of(n.store).n_bytes;
    long long int now = SECOND, end = now + (long long int) ROUNDS(32) * DAY;
    uint32_t pod = 0;

    n.lives = xcalloc(n.allocated, sizeof *n.lives);
    const size_t heap = mallinfo2().uordblks;
    for (; now < end; now += SECOND) {
        node_age(&n, now);
        if (now % (30 * SECOND) == 0) {
            /* A burst of jobs at night: hundreds come and go at once. */
            uint32_t n_pods = (now / MINUTE % (24 * 60) < 2 ? 8 * N_PODS
                               : N_PODS);

            pod += n_pods / 4;
            for (uint32_t i = 0; i < n_pods; i++) {
                talk(&n, pod + i, now);
            }
            /* What was used within a minute, and no more. */
            ck_assert(counts_of(n.store).n_verdicts
                      <= (8 * N_PODS + 2 * 8 * N_PODS / 4) * PEERS);
            ck_assert(adp_sessions_count(n.sessions)
                      <= (8 * N_PODS + 2 * 8 * N_PODS / 4) * PEERS);
        }
        if (now % (5 * MINUTE) == 0) {
            collect();
        }
    }
    ck_assert_uint_gt(n.n_lives, ROUNDS(1000000));
    ck_assert_uint_eq(counts_of(n.store).n_refused, 0);
    ck_assert_uint_eq(counts_of(n.store).n_evicted, 0);
    ck_assert_uint_gt(counts_of(n.store).n_verdicts, N_PODS * PEERS);

    /* They have all gone. */
    for (end = now + 2 * MINUTE; now < end; now += SECOND) {
        node_age(&n, now);
        adp_store_begin(n.store);
        adp_store_end(n.store);
        if (now < end - MINUTE) {
            collect();
        } else {
            ck_assert(!counts_of(n.store).n_verdicts);
            ck_assert(!adp_sessions_count(n.sessions));
            ck_assert(!kinds_of(n.kinds).n);
            collect();
        }
    }
    ck_assert_uint_eq(n_released, n.n_lives);
    ck_assert_uint_eq(adp_sessions_size(n.sessions), size);
    ck_assert_uint_eq(counts_of(n.store).n_bytes, bytes);
    ovsrcu_barrier();
    ck_assert_uint_le(mallinfo2().uordblks, heap + HEAP_SLACK);

    adp_store_destroy(n.store);
    adp_sessions_destroy(n.sessions);
    adp_ingress_table_destroy(n.kinds);
    free(n.lives);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("store");
    TCase *tc = tcase_create("store");
    SRunner *sr = srunner_create(s);
    int n_failed;

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, test_idle_leave);
    tcase_add_test(tc, test_generations);
    tcase_add_test(tc, test_overtaken_leave);
    tcase_add_test(tc, test_full);
    tcase_add_test(tc, test_little_memory);
    tcase_add_test(tc, test_refused);
    tcase_add_test(tc, test_owner_goes);
    tcase_add_test(tc, test_memory_returns);
    tcase_add_test(tc, test_random);
    tcase_add_test(tc, test_threads);
    tcase_add_test(tc, test_month);
    srunner_set_fork_status(sr, CK_NOFORK);
    srunner_run_all(sr, CK_NORMAL);
    n_failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
