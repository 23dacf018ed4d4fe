/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-flow-cache.h"

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-log-ring.h"
#include "adp-rewrite.h"
#include "adp-sample.h"
#include "adp-session-parse.h"
#include "adp-summary.h"
#include "adp-turn.h"
#include "adp-walk-cache.h"
#include "dp-packet.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"

#define MAX_NESTING 8

/* Kinds of packets out of tunnels, VLAN tags of each ingress, verdicts. */
#define MAX_KINDS 65536
#define MAX_VLANS 16384
#define MAX_VERDICTS 65536

/* Ingress numbers of packets out of tunnels have this bit. */
#define INGRESS_TUNNEL (UINT32_C(1) << 31)

/* Things that a call of adp_flow_cache_age() looks at, and a step of the main
 * thread. */
#define MAX_LOOKS 65536
#define STEP_LOOKS 256

/* Between calls: as a rule, while somebody waits for the end of what a
 * verdict may refer to, and while there is more to look at. */
#define AGE_INTERVAL_MS 1000
#define AGE_HURRY_MS 10
#define AGE_BEHIND_MS 2

struct thread_cache {
    struct adp_flow_cache up;
    struct ovs_list list_node;          /* In 'caches'. */
    char name[sizeof ((struct adp_flow_cache_thread *) NULL)->name];

    int n_batches;                      /* That are being processed. */
    int depth;                          /* Of 'walks'. */
    struct adp_walk walks[MAX_NESTING];

    struct adp_ingress_table *kinds, *vlans;

    bool is_behind;                     /* There is more to look at. */

    uint64_t capacity;                  /* That was asked for. */
    atomic_uint64_t n_inserted, n_replayed, n_uncacheable, n_idle;
    uint64_t n_evicted_before;          /* From earlier tables. */
    /* For adp_flow_cache_stats_get(). */
    atomic_uint64_t n_sessions, n_bytes, real_capacity, n_evicted;
    atomic_uint64_t n_walks, n_walks_evicted;
};

static struct ovs_mutex caches_mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list caches OVS_GUARDED_BY(caches_mutex)
    = OVS_LIST_INITIALIZER(&caches);

/* What threads that have ended counted, but for what they had. */
static struct adp_flow_cache_stats ended OVS_GUARDED_BY(caches_mutex);

static atomic_uint64_t wanted_capacity = ADP_FLOW_CACHE_DEFAULT_CAPACITY;

static struct thread_cache *
thread_cache_cast(const struct adp_flow_cache *cache)
{
    return CONTAINER_OF(cache, struct thread_cache, up);
}

static void
publish_stats(struct thread_cache *tc)
{
    const struct adp_sessions *sessions = tc->up.sessions;

    atomic_store_relaxed(&tc->n_sessions, adp_sessions_count(sessions));
    atomic_store_relaxed(&tc->n_bytes, adp_sessions_size(sessions));
    atomic_store_relaxed(&tc->real_capacity,
                         adp_sessions_capacity(sessions));
    atomic_store_relaxed(&tc->n_evicted,
                         tc->n_evicted_before
                         + adp_sessions_evicted(sessions));
    atomic_store_relaxed(&tc->n_walks,
                         adp_walk_cache_count(tc->up.walk_cache));
    atomic_store_relaxed(&tc->n_walks_evicted,
                         adp_walk_cache_evicted(tc->up.walk_cache));
}

/* Sessions hold nothing: what is left of a table is its memory, and giving
 * that back is not for a thread that has packets to handle. */
static void
create_sessions(struct thread_cache *tc)
{
    struct adp_sessions *old = tc->up.sessions;

    atomic_read_relaxed(&wanted_capacity, &tc->capacity);
    tc->up.sessions = adp_sessions_create(tc->capacity, NULL, NULL);
    if (old) {
        void *garbage = old;

        tc->n_evicted_before += adp_sessions_evicted(old);
        ovsrcu_postpone(adp_sessions_destroy, garbage);
    }
    publish_stats(tc);
}

static void
add_stats(const struct thread_cache *tc, struct adp_flow_cache_stats *stats)
{
    stats->n_sessions += adp_counted(&tc->n_sessions);
    stats->capacity += adp_counted(&tc->real_capacity);
    stats->n_bytes += adp_counted(&tc->n_bytes);
    stats->n_inserted += adp_counted(&tc->n_inserted);
    stats->n_evicted += adp_counted(&tc->n_evicted);
    stats->n_idle += adp_counted(&tc->n_idle);
    stats->n_walks += adp_counted(&tc->n_walks);
    stats->n_walks_evicted += adp_counted(&tc->n_walks_evicted);
    stats->n_replayed += adp_counted(&tc->n_replayed);
    stats->n_uncacheable += adp_counted(&tc->n_uncacheable);
    adp_store_add_counts(tc->up.verdicts, &stats->verdicts);
    adp_ingress_add_counts(tc->kinds, &stats->kinds);
    adp_ingress_add_counts(tc->vlans, &stats->vlans);
}

/* Adds what the thread counted to 'ended', but for what it has. */
static void
keep_stats(const struct thread_cache *tc)
    OVS_REQUIRES(caches_mutex)
{
    add_stats(tc, &ended);
    ended.n_sessions = ended.capacity = ended.n_bytes = ended.n_walks = 0;
    ended.verdicts.n_verdicts = ended.verdicts.n_leaving = 0;
    ended.verdicts.n_bytes = 0;
    ended.kinds.n = ended.vlans.n = 0;
}

static void
thread_cache_destroy(void *tc_)
{
    struct thread_cache *tc = tc_;

    ovs_mutex_lock(&caches_mutex);
    ovs_list_remove(&tc->list_node);
    keep_stats(tc);
    ovs_mutex_unlock(&caches_mutex);

    adp_log_ring_close(tc->up.log);
    adp_sampler_destroy(tc->up.sampler);
    adp_walk_cache_destroy(tc->up.walk_cache);
    adp_sessions_destroy(tc->up.sessions);
    adp_store_destroy(tc->up.verdicts);
    adp_ingress_table_destroy(tc->kinds);
    adp_ingress_table_destroy(tc->vlans);
    for (int i = 0; i < MAX_NESTING; i++) {
        adp_walk_uninit(&tc->walks[i]);
    }
    free(tc);
}

static struct thread_cache *
thread_cache_create(void)
{
    struct thread_cache *tc = xzalloc(sizeof *tc);

    ovs_strlcpy(tc->name, get_subprogram_name(), sizeof tc->name);
    for (int i = 0; i < MAX_NESTING; i++) {
        adp_walk_init(&tc->walks[i]);
    }
    tc->kinds = adp_ingress_table_create(MAX_KINDS);
    tc->vlans = adp_ingress_table_create(MAX_VLANS);
    tc->up.verdicts = adp_store_create(adp_cached_verdict_collector(),
                                       MAX_VERDICTS);
    tc->up.walk_cache = adp_walk_cache_create(tc->up.verdicts);
    tc->up.log = adp_log_ring_create();
    create_sessions(tc);

    ovs_mutex_lock(&caches_mutex);
    ovs_list_push_back(&caches, &tc->list_node);
    ovs_mutex_unlock(&caches_mutex);
    return tc;
}

/* Not an ovsthread_key_t: the destructors of those must not use any such key,
 * and conntrack_pool_put(), for connections that walks have foreseen, does. */
static pthread_key_t thread_cache_key;

void
adp_flow_cache_init(void)
{
    xpthread_key_create(&thread_cache_key, thread_cache_destroy);
    adp_cached_verdict_init();
    adp_log_rings_init();
    adp_samples_init();
}

struct adp_flow_cache *
adp_flow_cache_begin_batch(void)
{
    struct thread_cache *tc = pthread_getspecific(thread_cache_key);
    uint64_t wanted;

    if (!tc) {
        tc = thread_cache_create();
        xpthread_setspecific(thread_cache_key, tc);
    }
    atomic_read_relaxed(&wanted_capacity, &wanted);
    if (OVS_UNLIKELY(wanted != tc->capacity) && !tc->n_batches) {
        create_sessions(tc);
    }
    if (!tc->n_batches++) {
        adp_store_begin(tc->up.verdicts);
    }
    return &tc->up;
}

void
adp_flow_cache_end_batch(struct adp_flow_cache *cache)
{
    if (!--thread_cache_cast(cache)->n_batches) {
        adp_store_end(cache->verdicts);
    }
}

static void
age(struct thread_cache *tc, long long int now, size_t max)
{
    size_t left = max;

    adp_store_age(tc->up.verdicts, now, &left);
    adp_walk_cache_age(tc->up.walk_cache, now, &left);
    adp_ingress_age(tc->kinds, now, &left);
    adp_ingress_age(tc->vlans, now, &left);
    adp_count_mine(&tc->n_idle,
                   adp_sessions_age(tc->up.sessions, now, &left));
    tc->is_behind = !left;
}

void
adp_flow_cache_age(long long int now)
{
    struct thread_cache *tc = pthread_getspecific(thread_cache_key);

    if (tc && !tc->n_batches) {
        age(tc, now, MAX_LOOKS);
        publish_stats(tc);
    }
}

void
adp_flow_cache_age_slice(long long int now)
{
    struct thread_cache *tc = pthread_getspecific(thread_cache_key);

    if (tc && !tc->n_batches) {
        struct adp_turn_slice slice;

        adp_turn_slice_init(&slice);
        tc->is_behind = true;
        while (tc->is_behind && adp_turn_slice_goes_on(&slice)) {
            age(tc, now, STEP_LOOKS);
        }
        publish_stats(tc);
    }
}

int
adp_flow_cache_age_interval(void)
{
    const struct thread_cache *tc = pthread_getspecific(thread_cache_key);

    return (tc && tc->is_behind ? AGE_BEHIND_MS
            : tc && adp_store_hurries(tc->up.verdicts) ? AGE_HURRY_MS
            : AGE_INTERVAL_MS);
}

struct adp_walk *
adp_flow_cache_begin_walk(struct adp_flow_cache *cache)
{
    struct thread_cache *tc = thread_cache_cast(cache);

    return tc->depth < MAX_NESTING ? &tc->walks[tc->depth++] : NULL;
}

void
adp_flow_cache_end_walk(struct adp_flow_cache *cache)
{
    struct thread_cache *tc = thread_cache_cast(cache);

    /* The thread's next walk may be far away. */
    adp_verdict_forget_learned(&tc->walks[--tc->depth].verdict);
}

/* Ingress. */

uint32_t
adp_flow_cache_ingress(const struct adp_bridge *b, ofp_port_t ofp_port)
{
    return (b->serial << 16 | ofp_to_u16(ofp_port)) & ~INGRESS_TUNNEL;
}

uint32_t
adp_flow_cache_ingress_of_kind(const struct adp_ingress *kind)
{
    return kind->number | INGRESS_TUNNEL;
}

uint32_t
adp_flow_cache_ingress_of_vlan(struct adp_flow_cache *cache, uint32_t ingress,
                               ovs_be16 tci, long long int now)
{
    struct thread_cache *tc = thread_cache_cast(cache);
    struct flow_tnl key;

    adp_ingress_vlan_key(&key, ingress, tci);
    return adp_ingress_set(tc->vlans, &key, tc, 0, 0, now)->number;
}

void
adp_flow_cache_fetch_kinds(const struct adp_flow_cache *cache,
                           const struct dp_packet_batch *batch,
                           uint32_t hashes[])
{
    const struct adp_ingress_table *kinds = thread_cache_cast(cache)->kinds;
    struct dp_packet *packet;

    for (int stage = 0; stage < ADP_INGRESS_STAGES; stage++) {
        DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
            adp_ingress_fetch(kinds, &packet->md.tunnel, stage, &hashes[i]);
        }
    }
}

const struct adp_ingress *
adp_flow_cache_find_kind(struct adp_flow_cache *cache,
                         const struct flow_tnl *tnl, uint32_t hash,
                         long long int now)
{
    struct adp_ingress_table *kinds = thread_cache_cast(cache)->kinds;
    const struct adp_ingress *kind = adp_ingress_find(kinds, tnl, hash, now);

    return kind && kind->serial == adp_ports_map_serial() ? kind : NULL;
}

void
adp_flow_cache_add_kind(struct adp_flow_cache *cache,
                        const struct flow_tnl *tnl,
                        struct adp_bridge *b, ofp_port_t ofp_port,
                        uint64_t map_serial, long long int now)
{
    if (!adp_ingress_set(thread_cache_cast(cache)->kinds, tnl, b, ofp_port,
                         map_serial, now)) {
        adp_flow_cache_count_uncacheable(cache);
    }
}

/* Sessions. */

struct adp_session *
adp_flow_cache_find(const struct adp_flow_cache *cache,
                    const struct adp_session_packet *p)
{
    return (p->is_ipv6
            ? adp_sessions_find6(cache->sessions, p->hash, &p->key6)
            : adp_sessions_find4(cache->sessions, p->hash, &p->key4));
}

static struct adp_session *
insert(struct adp_flow_cache *cache, const struct adp_session_packet *p)
{
    return (p->is_ipv6
            ? adp_sessions_insert6(cache->sessions, p->hash, &p->key6)
            : adp_sessions_insert4(cache->sessions, p->hash, &p->key4));
}

static void
set_body(struct adp_session_body *body, bool is_ipv6,
         const struct adp_store *verdicts,
         const struct adp_cached_verdict *v, const struct conntrack_ref refs[],
         const struct adp_walk *w, long long int now)
{
    adp_cached_verdict_token_init(&body->token, verdicts, v, w->program,
                                  w->learn_serial);
    body->used = adp_session_age(now);
    body->n_conns = v->content.n_conns;
    if (!is_ipv6 && (v->content.n_conns > 1 || v->content.nat)) {
        body->more |= ADP_SESSION_MORE_LINE;
    }
    if (v->content.nat && is_ipv6 && v->content.n_conns > 1) {
        body->more |= ADP_SESSION_MORE_NAT;
    }
    if (v->content.tunnel) {
        body->more |= ADP_SESSION_MORE_TUNNEL;
    }
    body->conn0 = refs[0].conn;
    body->version0 = refs[0].version;
    body->conn1 = refs[1].conn;
    body->version1 = refs[1].version;
    body->conn2 = refs[2].conn;
    body->version2 = refs[2].version;
}

void
adp_flow_cache_remember(struct adp_flow_cache *cache,
                        const struct adp_session_packet *p,
                        const struct adp_walk *w,
                        const struct conntrack_peek_tuple *tuple,
                        const struct adp_cached_verdict_source *source,
                        const struct adp_cached_verdict_content *content,
                        long long int now)
{
    struct conntrack_ref refs[ADP_CACHED_VERDICT_MAX_CONNS];
    struct thread_cache *tc = thread_cache_cast(cache);
    struct adp_cached_verdict_content c;
    struct adp_cached_verdict *v = NULL;

    memcpy(&c, content, sizeof c);
    memset(refs, 0, sizeof refs);
    if (adp_summary_conns(&c, &w->ct.peek, refs)) {
        c.decided = false;
        v = adp_cached_verdict_take(cache->verdicts, source, &c, now);
    }

    struct adp_session *old = adp_flow_cache_find(cache, p);
    if (old) {
        adp_sessions_remove(cache->sessions, old);
    }
    if (v) {
        struct adp_session *s = insert(cache, p);

        set_body(adp_session_body(s), s->is_ipv6, cache->verdicts, v, refs, w,
                 now);
        adp_rewrite_session_init(s, tuple, &v->content);
        adp_count_mine(&tc->n_inserted, 1);
    }
    if (old || v) {
        publish_stats(tc);
    }
}

void
adp_flow_cache_count_replay(struct adp_flow_cache *cache)
{
    adp_count_mine(&thread_cache_cast(cache)->n_replayed, 1);
}

void
adp_flow_cache_count_uncacheable(struct adp_flow_cache *cache)
{
    adp_count_mine(&thread_cache_cast(cache)->n_uncacheable, 1);
}

/* Main thread. */

size_t
adp_flow_cache_threads_get(struct adp_flow_cache_thread **threadsp)
{
    const struct thread_cache *tc;
    size_t n = 0;

    ovs_mutex_lock(&caches_mutex);
    struct adp_flow_cache_thread *threads = xcalloc(ovs_list_size(&caches),
                                                    sizeof *threads);
    LIST_FOR_EACH (tc, list_node, &caches) {
        struct adp_flow_cache_thread *t = &threads[n++];

        ovs_strlcpy(t->name, tc->name, sizeof t->name);
        add_stats(tc, &t->stats);
    }
    ovs_mutex_unlock(&caches_mutex);
    *threadsp = threads;
    return n;
}

void
adp_flow_cache_stats_get(struct adp_flow_cache_stats *stats)
{
    const struct thread_cache *tc;

    ovs_mutex_lock(&caches_mutex);
    *stats = ended;
    LIST_FOR_EACH (tc, list_node, &caches) {
        add_stats(tc, stats);
    }
    ovs_mutex_unlock(&caches_mutex);
}

void
adp_flow_cache_set_capacity(uint64_t capacity)
{
    atomic_store_relaxed(&wanted_capacity, capacity);
}
