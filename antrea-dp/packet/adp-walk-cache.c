/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-walk-cache.h"

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-key.h"
#include "adp-prefetch.h"
#include "adp-session-parse.h"
#include "adp-summary.h"
#include "adp-tuple.h"
#include "hash.h"

#define N_WALKS 16384
#define N_SIGHTINGS 4096
#define N_SIGHTING_WAYS 4

/* What a key's l4.tagged has in this table beside whether there is a VLAN
 * tag. */
enum { KEY_TAGGED = 1, KEY_PACKET = 2, KEY_BUCKET = 4, KEY_SYN = 8,
       KEY_TP_SRC = 16, KEY_REPLY = 32 };

struct adp_cached_walk {
    uint32_t epoch;                     /* The walk's. */
    bool is_reply;
    const struct adp_group *group;      /* That chooses next, or NULL. */
    struct adp_cached_verdict_at *at;   /* Or NULL.  Owned. */
    ovs_u128 answers;                   /* Of conntrack before the choice. */
    size_t n_steps;
    struct adp_ct_step steps[];         /* Before that, or after it. */
};

/* So many steps are fetched ahead.  Few walks have more. */
#define FETCHED_STEPS 2
#define WALK_SIZE (sizeof(struct adp_cached_walk) \
                   + FETCHED_STEPS * sizeof(struct adp_ct_step))
#define WALK_LINES (DIV_ROUND_UP(WALK_SIZE, CACHE_LINE_SIZE) + 1)

/* The token in the body of a walk's session is of its verdict, whose hits have
 * a reference to the walk's group. */
struct adp_walk_cache {
    struct adp_sessions *table;         /* 'conn0' is the adp_cached_walk. */
    struct adp_store *verdicts;
    /* Keys met before, by hash, the latest of each hash first. */
    uint16_t sightings[N_SIGHTINGS][N_SIGHTING_WAYS];
};

static void
walk_free(struct adp_session_body *body, void *aux)
{
    struct adp_cached_walk *cached = body->conn0;

    free(cached->at);
    free(cached);
}

struct adp_walk_cache *
adp_walk_cache_create(struct adp_store *verdicts)
{
    struct adp_walk_cache *cache = xzalloc(sizeof *cache);

    cache->table = adp_sessions_create(N_WALKS, walk_free, NULL);
    cache->verdicts = verdicts;
    return cache;
}

void
adp_walk_cache_destroy(struct adp_walk_cache *cache)
{
    adp_sessions_destroy(cache->table);
    free(cache);
}

size_t
adp_walk_cache_count(const struct adp_walk_cache *cache)
{
    return adp_sessions_count(cache->table);
}

uint64_t
adp_walk_cache_evicted(const struct adp_walk_cache *cache)
{
    return adp_sessions_evicted(cache->table);
}

void
adp_walk_cache_age(struct adp_walk_cache *cache, long long int now,
                   size_t *left)
{
    adp_sessions_age(cache->table, now, left);
}

/* Keys. */

static struct adp_session_l4 *
key_l4(struct adp_session_packet *key)
{
    return key->is_ipv6 ? &key->key6.l4 : &key->key4.l4;
}

static const struct adp_session_l4 *
const_key_l4(const struct adp_session_packet *key)
{
    return key_l4(CONST_CAST(struct adp_session_packet *, key));
}

static void
key_rehash(const struct adp_walk_cache *cache,
           struct adp_session_packet *key)
{
    const struct adp_session_seeds *seeds = adp_sessions_seeds(cache->table);

    key->hash = (key->is_ipv6 ? adp_session_hash6(seeds, &key->key6)
                 : adp_session_hash4(seeds, &key->key4));
}

static void
key_for_packet(const struct adp_walk_cache *cache, uint32_t reads,
               const struct adp_session_packet *p,
               struct adp_session_packet *key)
{
    *key = *p;
    /* Conntrack says different things of the first packet and of others. */
    key_l4(key)->tagged |= KEY_PACKET;
    if (reads & ADP_READS_TP_SRC) {
        key_l4(key)->tagged |= KEY_TP_SRC;
    } else {
        key_l4(key)->tp_src = 0;
    }
    if ((p->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN) {
        key_l4(key)->tagged |= KEY_SYN;
    }
    key_rehash(cache, key);
}

/* The key for the packet if it is an answer.  False if it can't be one. */
static bool
key_for_reply(const struct adp_walk_cache *cache,
              const struct adp_session_packet *p,
              struct adp_session_packet *key)
{
    *key = *p;
    switch (key_l4(key)->nw_proto) {
    case IPPROTO_TCP:
        if ((p->tcp_flags & (TCP_SYN | TCP_ACK)) == TCP_SYN) {
            return false;
        }
        break;
    case IPPROTO_UDP:
        break;
    default:
        return false;
    }
    key_l4(key)->tagged |= KEY_REPLY;
    key_l4(key)->tp_dst = 0;
    key_rehash(cache, key);
    return true;
}

static bool
key_is_reply(const struct adp_session_packet *key)
{
    return const_key_l4(key)->tagged & KEY_REPLY;
}

/* From the packet's key to the one that 'bucket' goes with.  False if there is
 * none. */
static bool
key_for_bucket(const struct adp_walk_cache *cache,
               struct adp_session_packet *key, uint32_t bucket)
{
    if (bucket > UINT16_MAX) {
        return false;
    }
    key_l4(key)->tp_src = htons(bucket);
    key_l4(key)->tagged = (key_l4(key)->tagged & KEY_TAGGED) | KEY_BUCKET;
    key_rehash(cache, key);
    return true;
}

static struct adp_session *
find(const struct adp_walk_cache *cache,
     const struct adp_session_packet *key)
{
    return (key->is_ipv6
            ? adp_sessions_find6(cache->table, key->hash, &key->key6)
            : adp_sessions_find4(cache->table, key->hash, &key->key4));
}

/* Replaying. */

/* The cached walk, and its verdict in '*verdictp', if they still hold. */
static const struct adp_cached_walk *
find_current(struct adp_walk_cache *cache,
             const struct adp_session_packet *key,
             struct adp_walk *w, struct adp_cached_verdict **verdictp)
{
    struct adp_session *s = find(cache, key);

    if (!s) {
        return NULL;
    }

    struct adp_session_body *body = adp_session_body(s);
    const struct adp_cached_walk *cached = body->conn0;
    struct adp_cached_verdict *v
        = adp_cached_verdict_get_current(cache->verdicts, &body->token,
                                         w->bridge, w->program, w->ports,
                                         w->learn_serial);
    if (OVS_UNLIKELY(!v) && cached->at) {
        v = adp_cached_verdict_renew(cache->verdicts, &body->token, w->bridge,
                                     w->program, w->learn_serial, cached->at,
                                     &w->verdict.scratch);
    }
    if (OVS_UNLIKELY(!v || cached->epoch != adp_walk_epoch())) {
        adp_sessions_remove(cache->table, s);
        return NULL;
    }
    adp_session_use(body, adp_session_age(w->ct.peek.now));
    *verdictp = v;
    return cached;
}

static bool
repeat_steps(const struct adp_cached_walk *cached, struct adp_walk *w,
             struct conntrack_peek_tuple *tuple)
{
    /* A port that nobody reads may differ, also after NAT. */
    bool same_tp_src = (cached->is_reply
                        || w->program->reads & ADP_READS_TP_SRC);
    bool same_tp_dst = !cached->is_reply;

    for (size_t i = 0; i < cached->n_steps; i++) {
        const struct adp_ct_step *step = &cached->steps[i];

        if (!adp_ct_repeat(&w->ct, step, tuple)
            || (same_tp_src && tuple->tp_src != step->tuple.tp_src)
            || (same_tp_dst && tuple->tp_dst != step->tuple.tp_dst)) {
            return false;
        }
    }
    return true;
}

/* What of a flow a group's choice depends on. */
static void
flow_from_tuple(struct flow *flow, const struct conntrack_peek_tuple *tuple,
                uint8_t nw_proto)
{
    flow->packet_type = htonl(PT_ETH);
    flow->dl_type = tuple->dl_type;
    flow->nw_frag = 0;
    flow->nw_proto = nw_proto;
    adp_tuple_to_flow(tuple, flow);
}

/* The bucket that the group chooses for a packet with this tuple. */
static uint32_t
choose_bucket(const struct adp_group *group,
              const struct conntrack_peek_tuple *tuple, uint8_t nw_proto)
{
    struct flow flow;
    bool watched;

    flow_from_tuple(&flow, tuple, nw_proto);
    uint32_t bucket = adp_group_select(group, &flow, &watched);
    return watched ? UINT32_MAX : bucket;
}

/* Fetching. */

static void
fetch_walk(const struct adp_walk_cache *cache,
           struct adp_walk_fetch *fetch)
{
    const struct adp_session_packet *key = &fetch->key;

    fetch->cached = NULL;
    if (fetch->candidate
        && (key->is_ipv6 ? adp_session_is6(fetch->candidate, &key->key6)
            : adp_session_is4(fetch->candidate, &key->key4))) {
        const struct adp_session_body *body
            = adp_session_body(fetch->candidate);

        /* What all packets of a batch need must fit into the first level of
         * the cache. */
        fetch->cached = body->conn0;
        fetch->token = &body->token;
        adp_prefetch_lines(fetch->cached, WALK_LINES);
        adp_prefetch_lines(adp_store_at(cache->verdicts, body->token.slot),
                           ADP_CACHED_VERDICT_LINES);
    }
}

/* What conntrack looks at in the steps of a walk, if it leaves the port that
 * differs alone. */
static void
fetch_steps(const struct conntrack *tracker,
            const struct adp_session_packet *p,
            const struct adp_walk_fetch *fetch)
{
    const struct adp_cached_walk *cached = fetch->cached;
    struct conntrack_peek_tuple tuple;
    int last_zone = -1;

    if (!cached) {
        return;
    }
    adp_tuple_from_packet(&tuple, p);
    for (size_t i = 0; i < cached->n_steps; i++) {
        const struct adp_ct_step *step = &cached->steps[i];
        struct conntrack_peek_tuple after = step->tuple;

        if (step->req.zone != last_zone) {
            conntrack_peek_prefetch(tracker, step->req.zone, &tuple,
                                    p->nw_proto);
            last_zone = step->req.zone;
        }
        if (cached->is_reply) {
            after.tp_dst = tuple.tp_dst;
        } else {
            after.tp_src = tuple.tp_src;
        }
        if (memcmp(&after, &tuple, sizeof tuple)) {
            tuple = after;
            conntrack_peek_prefetch(tracker, step->req.zone, &tuple,
                                    p->nw_proto);
        }
    }
}

/* On to what comes after the choice of a bucket.  It is the right one if
 * conntrack leaves the packet as it is, as it does with new connections. */

/* The walk's group, or NULL.  It may have gone with the verdict. */
static const struct adp_group *
group_of(const struct adp_walk_cache *cache,
         const struct adp_walk_fetch *fetch)
{
    return (fetch->cached && fetch->cached->group
            && adp_store_get(cache->verdicts, fetch->token)
            ? fetch->cached->group : NULL);
}

static void
fetch_choice(const struct adp_walk_cache *cache,
             const struct adp_session_packet *p,
             const struct adp_walk_fetch *fetch)
{
    const struct adp_group *group = group_of(cache, fetch);
    struct conntrack_peek_tuple tuple;
    struct flow flow;

    if (group) {
        adp_tuple_from_packet(&tuple, p);
        flow_from_tuple(&flow, &tuple, p->nw_proto);
        adp_group_prefetch(group, &flow);
    }
}

static void
fetch_next(const struct adp_walk_cache *cache,
           const struct adp_session_packet *p, struct adp_walk_fetch *fetch)
{
    const struct adp_group *group = group_of(cache, fetch);
    struct conntrack_peek_tuple tuple;

    fetch->goes_on = false;
    if (group) {
        adp_tuple_from_packet(&tuple, p);
        fetch->goes_on = key_for_bucket(cache, &fetch->key,
                                        choose_bucket(group, &tuple,
                                                      p->nw_proto));
        if (fetch->goes_on) {
            adp_sessions_prefetch(cache->table, fetch->key.hash);
        }
    }
}

static void
fetch_candidate(const struct adp_walk_cache *cache,
                struct adp_walk_fetch *fetch)
{
    fetch->candidate = (fetch->goes_on
                        ? adp_sessions_candidate(cache->table,
                                                 fetch->key.hash)
                        : NULL);
    if (fetch->candidate && fetch->key.is_ipv6) {
        adp_session_fetch_more(fetch->candidate);
    }
}

static void
fetch_first(const struct adp_walk_cache *cache, uint32_t reads,
            const struct adp_session_packet *p, struct adp_walk_fetch *fetch)
{
    struct adp_session_packet reply;

    key_for_packet(cache, reads, p, &fetch->key);
    adp_sessions_prefetch(cache->table, fetch->key.hash);
    if (key_for_reply(cache, p, &reply)) {
        adp_sessions_prefetch(cache->table, reply.hash);
    }
    fetch->goes_on = true;
}

static void
fetch_first_candidate(const struct adp_walk_cache *cache,
                      const struct adp_session_packet *p,
                      struct adp_walk_fetch *fetch)
{
    fetch_candidate(cache, fetch);
    if (!fetch->candidate && key_for_reply(cache, p, &fetch->key)) {
        fetch_candidate(cache, fetch);
    }
}

void
adp_walk_cache_fetch(const struct adp_walk_cache *cache,
                     const struct conntrack *tracker, int stage,
                     uint32_t reads, const struct adp_session_packet *p,
                     struct adp_walk_fetch *fetch)
{
    switch (stage) {
    case 0:
        fetch_first(cache, reads, p, fetch);
        break;
    case 1:
        fetch_first_candidate(cache, p, fetch);
        break;
    case 5:
        fetch_candidate(cache, fetch);
        break;
    case 2:
    case 6:
        fetch_walk(cache, fetch);
        break;
    case 3:
        fetch_steps(tracker, p, fetch);
        fetch_choice(cache, p, fetch);
        break;
    case 4:
        fetch_next(cache, p, fetch);
        break;
    case 7:
        if (fetch->goes_on) {
            fetch_steps(tracker, p, fetch);
        }
        break;
    default:
        OVS_NOT_REACHED();
    }
}

struct adp_cached_verdict *
adp_walk_cache_replay(struct adp_walk_cache *cache,
                      const struct adp_session_packet *p,
                      struct adp_walk *w, struct conntrack_peek_tuple *tuple,
                      bool *nat)
{
    struct adp_session_packet key;
    const struct adp_cached_walk *cached;
    struct adp_cached_verdict *v;

    if (!adp_sessions_count(cache->table)) {
        return NULL;
    }
    key_for_packet(cache, w->program->reads, p, &key);
    cached = find_current(cache, &key, w, &v);
    if (!cached && key_for_reply(cache, p, &key)) {
        cached = find_current(cache, &key, w, &v);
    }
    if (!cached) {
        return NULL;
    }

    adp_tuple_from_packet(tuple, p);
    if (!repeat_steps(cached, w, tuple)) {
        return NULL;
    }
    if (cached->group) {
        uint32_t bucket = choose_bucket(cached->group, tuple, p->nw_proto);

        /* Packets are counted for what comes after the choice alone. */
        adp_store_touch(&v->up, w->ct.peek.now);

        if (!key_for_bucket(cache, &key, bucket)) {
            return NULL;
        }
        const ovs_u128 answers = cached->answers;

        cached = find_current(cache, &key, w, &v);
        if (!cached || !ovs_u128_equals(cached->answers, answers)
            || !repeat_steps(cached, w, tuple)) {
            return NULL;
        }
    }
    *nat = !adp_tuple_is_packets(tuple, p);
    return v;
}

/* Writing down. */

/* True if the key was met before; it has been now. */
static bool
was_sighted(struct adp_walk_cache *cache, uint32_t hash)
{
    uint16_t *ways = cache->sightings[hash % N_SIGHTINGS];
    uint16_t tag = hash >> 16 | 1;

    for (int i = 0; i < N_SIGHTING_WAYS; i++) {
        if (ways[i] == tag) {
            return true;
        }
    }
    memmove(&ways[1], &ways[0], (N_SIGHTING_WAYS - 1) * sizeof *ways);
    ways[0] = tag;
    return false;
}

/* True if the group chose by what conntrack had left of the packet. */
static bool
chose_by_tuple(const struct adp_summary *sum,
               const struct adp_session_packet *p)
{
    const struct adp_walk *w = sum->w;
    const struct adp_verdict *v = &w->verdict;
    struct conntrack_peek_tuple tuple;
    struct flow flow;

    if (v->select.n_cts) {
        tuple = w->ct.peek.steps[v->select.n_cts - 1];
    } else {
        adp_tuple_from_packet(&tuple, p);
    }
    flow_from_tuple(&flow, &tuple, p->nw_proto);
    return adp_key_hash(&flow, 0) == v->select.key_hash;
}

/* How many of the steps were about packets that answer.  To these the original
 * tuple is not that of the key. */
static size_t
n_reply_steps(const struct adp_walk *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->ct.n_steps; i++) {
        n += (w->ct.steps[i].ct_state & CS_REPLY_DIR) != 0;
    }
    return n;
}

static bool
has_commit(const struct adp_walk *w)
{
    for (size_t i = 0; i < w->ct.n_steps; i++) {
        if (w->ct.steps[i].req.commit) {
            return true;
        }
    }
    return false;
}

static bool
may_be_noted(const struct adp_summary *sum)
{
    const struct adp_walk *w = sum->w;

    return (adp_summary_may_be_kept(sum)
            && adp_walk_may_apply(w)
            && w->ct.n_steps && w->ct.n_steps <= ADP_CT_MAX_STEPS
            && w->ct.n_steps == w->verdict.n_cts);
}

static bool
may_be_noted_as_original(const struct adp_summary *sum,
                         const struct adp_session_packet *p)
{
    const struct adp_walk *w = sum->w;
    const struct adp_verdict *v = &w->verdict;

    return (!n_reply_steps(w)
            && (!v->n_selects || (v->n_selects == 1
                                  && v->select.bucket != UINT32_MAX
                                  && !(w->program->reads & ADP_READS_TP_SRC)
                                  && chose_by_tuple(sum, p))));
}

static bool
may_be_noted_as_reply(const struct adp_walk *w)
{
    const struct adp_verdict *v = &w->verdict;

    return (n_reply_steps(w) == w->ct.n_steps
            && !has_commit(w)
            && !v->n_selects && !v->n_learn_lookups && !v->swapped
            && !w->to_ip_port   /* It may be a tunnel's, by its port. */
            && !(w->program->reads & ADP_READS_MOVED));
}

/* True if the walk may depend on what differs between a server's answers. */
static bool
reads_of_client(const struct adp_walk *w)
{
    const struct adp_verdict *v = &w->verdict;
    struct flow mask;

    adp_reads_of_client(&mask);
    for (size_t i = 0; i < v->n_hits; i++) {
        const struct adp_hit *hit = &v->hits[i];

        if ((hit->kind == ADP_HIT_RULE || hit->kind == ADP_HIT_MISS)
            && adp_program_reads(w->program, hit->table_id, &mask,
                                 hit->priority)) {
            return true;
        }
    }
    return false;
}

/* Where 'w' has met tables that learn()s fill, or NULL. */
static struct adp_cached_verdict_at *
at_learn_table(const struct adp_walk *w)
{
    const struct adp_verdict *v = &w->verdict;
    struct adp_cached_verdict_at *at;

    size_t n = v->n_learn_lookups;
    size_t size = n * sizeof *at->lookups;

    if (!n || n > ARRAY_SIZE(v->learn_lookups)
        || flow_tnl_dst_is_set(&v->learn_lookups[0].flow.tunnel)) {
        return NULL;
    }
    at = xmalloc(sizeof *at + size);
    at->reads = w->program->reads;
    at->n = n;
    memcpy(at->lookups, v->learn_lookups, size);
    for (size_t i = 0; i < n; i++) {
        /* It may go, and matching has no need of it. */
        at->lookups[i].flow.tunnel.metadata.tab = NULL;
    }
    return at;
}

/* What conntrack answered in the walk's first 'n' steps, but for source ports.
 * For a packet that answered otherwise other flows chose, and even where the
 * same comes after the choice, it may fare differently there. */
static ovs_u128
first_answers(const struct adp_walk *w, size_t n)
{
    struct {
        ovs_u128 label;
        union ct_addr src, dst;
        uint32_t mark;
        ovs_be16 tp_dst;
        uint8_t state;
    } answers[ADP_CT_MAX_STEPS];

    memset(answers, 0, sizeof answers);
    for (size_t i = 0; i < n; i++) {
        const struct adp_ct_step *step = &w->ct.steps[i];

        answers[i].label = step->ct_label;
        answers[i].src = step->tuple.src;
        answers[i].dst = step->tuple.dst;
        answers[i].mark = step->ct_mark;
        answers[i].tp_dst = step->tuple.tp_dst;
        answers[i].state = step->ct_state;
    }

    ovs_u128 hash;
    hash_bytes128(answers, n * sizeof answers[0], n, &hash);
    return hash;
}

/* Puts the steps from 'from' to 'to': those before the choice that 'group'
 * makes, or, if it is NULL, those after one, or all where there is none. */
static void
put(struct adp_walk_cache *cache, const struct adp_session_packet *key,
    const struct adp_summary *sum, size_t from, size_t to,
    const struct adp_group *group)
{
    const struct adp_walk *w = sum->w;
    struct adp_cached_verdict_content content;
    struct adp_cached_verdict_source source;
    struct adp_session *s = find(cache, key);

    memcpy(&content, &sum->content, sizeof content);
    if (s) {
        adp_sessions_remove(cache->table, s);
    }

    content.decided = true;
    adp_summary_source(sum, &source);
    struct adp_cached_verdict *v = adp_cached_verdict_take(cache->verdicts,
                                                           &source, &content,
                                                           w->ct.peek.now);
    if (!v) {
        return;
    }

    size_t n = to - from;
    struct adp_cached_walk *cached
        = xmalloc(sizeof *cached + n * sizeof *cached->steps);
    cached->epoch = w->epoch;
    /* The verdict's hits have a reference to it. */
    cached->group = group;
    cached->at = at_learn_table(w);
    cached->is_reply = key_is_reply(key);
    cached->answers = first_answers(w, group ? to : from);
    cached->n_steps = n;
    memcpy(cached->steps, &w->ct.steps[from], n * sizeof *cached->steps);

    s = (key->is_ipv6
         ? adp_sessions_insert6(cache->table, key->hash, &key->key6)
         : adp_sessions_insert4(cache->table, key->hash, &key->key4));
    struct adp_session_body *body = adp_session_body(s);
    body->conn0 = cached;
    body->used = adp_session_age(w->ct.peek.now);
    adp_cached_verdict_token_init(&body->token, cache->verdicts, v, w->program,
                                  w->learn_serial);
}

void
adp_walk_cache_add(struct adp_walk_cache *cache,
                   const struct adp_session_packet *p,
                   const struct adp_summary *sum)
{
    const struct adp_walk *w = sum->w;
    const struct adp_verdict *v = &w->verdict;
    struct adp_session_packet key;

    if (!may_be_noted(sum)) {
        return;
    }
    if (may_be_noted_as_original(sum, p)) {
        key_for_packet(cache, w->program->reads, p, &key);
    } else if (!may_be_noted_as_reply(w) || !key_for_reply(cache, p, &key)) {
        return;
    }
    if (!was_sighted(cache, key.hash)
        || (key_is_reply(&key) && reads_of_client(w))) {
        return;
    }

    if (v->n_selects) {
        size_t n = v->select.n_cts;

        put(cache, &key, sum, 0, n, v->select.group);
        if (key_for_bucket(cache, &key, v->select.bucket)) {
            put(cache, &key, sum, n, w->ct.n_steps, NULL);
        }
    } else {
        put(cache, &key, sum, 0, w->ct.n_steps, NULL);
    }
}
