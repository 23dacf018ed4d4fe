/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-cached.h"

#include "adp-bridge-shared.h"
#include "adp-credit.h"
#include "adp-tunnel.h"
#include "bitmap.h"
#include "hash.h"

/* More verdicts than this are not kept, so that nobody can fill the memory
 * with them. */
#define MAX_CACHED 65536

/* How long a verdict that counts decided packets stays after the last. */
#define DECIDED_IDLE_MS 5000

struct adp_cached_set {
    struct hmap all;                    /* struct adp_cached. */
    struct ovs_list decided;            /* Of these, the oldest look first. */
};

/* New verdicts on their way to the main thread, and those that it knows. */
static struct mpsc_queue newborn = MPSC_QUEUE_INITIALIZER(&newborn);
static struct ovs_list known = OVS_LIST_INITIALIZER(&known);

/* Hits hold references. */

static bool
hit_try_ref(const struct adp_hit *hit)
{
    return (hit->kind == ADP_HIT_RULE ? adp_rule_try_ref(hit->rule)
            : hit->kind == ADP_HIT_BUCKET ? adp_group_try_ref(hit->group)
            : true);
}

static void
hits_unref(const struct adp_hit *hits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (hits[i].kind == ADP_HIT_RULE) {
            adp_rule_unref(hits[i].rule);
        } else if (hits[i].kind == ADP_HIT_BUCKET) {
            adp_group_unref(hits[i].group);
        }
    }
}

static struct adp_hit *
hits_clone(const struct adp_hit *hits, size_t n)
{
    struct adp_hit *copy = xmemdup(hits, n * sizeof *hits);

    for (size_t i = 0; i < n; i++) {
        if (!hit_try_ref(&copy[i])) {
            hits_unref(copy, i);
            free(copy);
            return NULL;
        }
    }
    return copy;
}

/* Life and death. */

/* Gives back what belongs to the bridge. */
static void
cached_strip(struct adp_cached *v)
{
    hits_unref(v->hits, v->content.n_hits);
    v->content.n_hits = 0;
    adp_tunnel_unref(v->content.tunnel);
    v->content.tunnel = NULL;
}

static void
cached_free(struct adp_cached *v)
{
    cached_strip(v);
    free(CONST_CAST(struct adp_hit *, v->hits));
    free(CONST_CAST(struct nlattr *, v->actions));
    free_cacheline(v);
}

static bool
bytes_equal(const void *a, const void *b, size_t n)
{
    return !n || !memcmp(a, b, n);
}

static struct adp_cached *
cached_find(const struct adp_cached_set *set,
            const struct adp_cached_source *source,
            const struct adp_cached_content *c, uint32_t hash)
{
    struct adp_cached *v;

    HMAP_FOR_EACH_WITH_HASH (v, hmap_node, hash, &set->all) {
        if (!v->overtaken && v->bridge == source->bridge
            && v->hits_hash == source->hits_hash
            && !memcmp(&v->content, c, sizeof *c)
            && bytes_equal(v->hits, source->hits, c->n_hits * sizeof *v->hits)
            && bytes_equal(v->actions, source->actions, c->actions_len)
            && v->n_ports == source->n_consulted
            && bytes_equal(v->ports, source->consulted,
                           v->n_ports * sizeof *v->ports)) {
            return v;
        }
    }
    return NULL;
}

static struct adp_cached *
cached_create(struct adp_cached_set *set,
              const struct adp_cached_source *source,
              const struct adp_cached_content *c, uint32_t hash)
{
    struct adp_hit *hits;

    if (hmap_count(&set->all) >= MAX_CACHED) {
        return NULL;
    }
    hits = hits_clone(source->hits, c->n_hits);
    if (!hits) {
        return NULL;
    }
    if (c->tunnel && !adp_tunnel_try_ref(c->tunnel)) {
        hits_unref(hits, c->n_hits);
        free(hits);
        return NULL;
    }

    struct adp_cached *v = xzalloc_cacheline(sizeof *v);
    v->bridge = source->bridge;
    memcpy(&v->content, c, sizeof *c);
    v->hits = hits;
    v->hits_hash = source->hits_hash;
    if (c->actions_len) {
        v->actions = xmemdup(source->actions, c->actions_len);
    }
    v->n_ports = source->n_consulted;
    memcpy(v->ports, source->consulted, v->n_ports * sizeof *v->ports);
    v->ports_serial = source->ports->serial;
    hmap_insert(&set->all, &v->hmap_node, hash);
    mpsc_queue_insert(&newborn, &v->queue_node);
    return v;
}

struct adp_cached *
adp_cached_take(struct adp_cached_set *set,
                const struct adp_cached_source *source,
                const struct adp_cached_content *c)
{
    struct adp_cached *v;

    uint32_t hash = hash_bytes(c, sizeof *c, source->hits_hash);
    if (c->actions_len) {
        hash = hash_bytes(source->actions, c->actions_len, hash);
    }
    v = cached_find(set, source, c, hash);
    if (!v) {
        v = cached_create(set, source, c, hash);
    }
    if (v) {
        adp_cached_revalidate(v, source->program, source->ports);
        v->n_sessions++;
    }
    return v;
}

void
adp_cached_source_init(struct adp_cached_source *source,
                       const struct adp_cached *v,
                       const struct adp_program *program,
                       const struct adp_ports *ports)
{
    *source = (struct adp_cached_source) {
        .bridge = v->bridge,
        .program = program,
        .ports = ports,
        .hits = v->hits,
        .hits_hash = v->hits_hash,
        .actions = v->actions,
        .consulted = v->ports,
        .n_consulted = v->n_ports,
    };
}

void
adp_cached_release(struct adp_cached_set *set, struct adp_cached *v)
{
    if (!--v->n_sessions) {
        hmap_remove(&set->all, &v->hmap_node);
        atomic_store_explicit(&v->dead, true, memory_order_release);
    }
}

static void
decided_release(struct adp_cached_set *set, struct adp_cached *v)
{
    ovs_list_remove(&v->decided_node);
    adp_cached_release(set, v);
}

/* Looks whether the first is still in use. */
static void
decided_expire(struct adp_cached_set *set, long long int now)
{
    struct adp_cached *v = CONTAINER_OF(ovs_list_front(&set->decided),
                                        struct adp_cached, decided_node);
    long long int used;

    atomic_read_relaxed(&v->used, &used);
    if (now >= used + DECIDED_IDLE_MS) {
        decided_release(set, v);
    } else {
        ovs_list_remove(&v->decided_node);
        ovs_list_push_back(&set->decided, &v->decided_node);
    }
}

struct adp_cached *
adp_cached_for_decided(struct adp_cached_set *set,
                       const struct adp_cached_source *source_,
                       const struct adp_cached_content *content,
                       long long int now)
{
    struct adp_cached_source source = *source_;
    struct adp_cached_content c;

    /* What is rewritten and which ports were asked for doesn't matter. */
    source.n_consulted = 0;
    memset(&c, 0, sizeof c);
    c.decided = true;
    c.dropped = content->dropped;
    c.n_idle_passes = content->n_idle_passes;
    c.ends_in_miss = content->ends_in_miss;
    c.tunnel = content->tunnel;
    c.ingress_tunnel = content->ingress_tunnel;
    c.n_hits = content->n_hits;

    uint32_t hash = source.hits_hash ^ c.ingress_tunnel;
    struct adp_cached *v = cached_find(set, &source, &c, hash);
    if (!v) {
        v = cached_create(set, &source, &c, hash);
        if (v) {
            v->n_sessions++;
            atomic_store_relaxed(&v->used, now);
            ovs_list_push_back(&set->decided, &v->decided_node);
            decided_expire(set, now);
            decided_expire(set, now);
        }
    }
    return v;
}

struct adp_cached_set *
adp_cached_set_create(void)
{
    struct adp_cached_set *set = xmalloc(sizeof *set);

    hmap_init(&set->all);
    ovs_list_init(&set->decided);
    return set;
}

void
adp_cached_set_destroy(struct adp_cached_set *set)
{
    while (!ovs_list_is_empty(&set->decided)) {
        decided_release(set, CONTAINER_OF(ovs_list_front(&set->decided),
                                          struct adp_cached, decided_node));
    }
    ovs_assert(hmap_is_empty(&set->all));
    hmap_destroy(&set->all);
    free(set);
}

size_t
adp_cached_set_count(const struct adp_cached_set *set)
{
    return hmap_count(&set->all);
}

/* Validity. */

static uint64_t
hit_changed(const struct adp_hit *hit, const struct adp_program *program)
{
    switch (hit->kind) {
    case ADP_HIT_RULE:
    case ADP_HIT_MISS:
        return adp_program_changed(program, hit->table_id, hit->priority);
    case ADP_HIT_BUCKET:
        return adp_program_group_changed(program, hit->group->group_id);
    case ADP_HIT_GROUP:
        return adp_program_group_changed(program, hit->bucket);
    }
    OVS_NOT_REACHED();
}

static bool
ports_changed(const struct adp_cached *v, const struct adp_ports *ports)
{
    for (size_t i = 0; i < v->n_ports; i++) {
        struct adp_walk_port now;

        adp_walk_port_init(&now, ports, v->ports[i].ofp_port);
        if (memcmp(&now, &v->ports[i], sizeof now)) {
            return true;
        }
    }
    /* Which packets end a tunnel may have changed. */
    return v->content.to_ip_port;
}

void
adp_cached_revalidate(struct adp_cached *v, const struct adp_program *program,
                      const struct adp_ports *ports)
{
    if (v->generation != program->generation) {
        for (size_t i = 0; i < v->content.n_hits; i++) {
            const struct adp_hit *hit = &v->hits[i];

            v->changed = MAX(v->changed, hit_changed(hit, program));
            if ((hit->kind == ADP_HIT_RULE || hit->kind == ADP_HIT_MISS)
                && bitmap_is_set(program->learn_tables, hit->table_id)) {
                v->on_learn = true;
            }
        }
        v->generation = program->generation;
    }
    if (v->ports_serial != ports->serial) {
        v->overtaken |= ports_changed(v, ports);
        v->ports_serial = ports->serial;
    }
}

/* Folding, in the main thread. */

static void
credit(struct adp_bridge *b, const struct adp_cached *v, uint64_t n_packets,
       uint64_t n_bytes)
{
    long long int used;
    uint16_t tcp_flags;

    atomic_read_relaxed(&CONST_CAST(struct adp_cached *, v)->used, &used);
    atomic_read_relaxed(&CONST_CAST(struct adp_cached *, v)->tcp_flags,
                        &tcp_flags);
    for (size_t i = 0; i < v->content.n_hits; i++) {
        adp_credit_hit(b, &v->hits[i], n_packets, n_bytes, used,
                              tcp_flags);
    }
    if (v->content.tunnel) {
        adp_tunnel_credit(v->content.tunnel, n_packets, n_bytes);
    }
    if (v->content.ingress_tunnel) {
        adp_credit_tunnel_port(b, v->content.ingress_tunnel, n_packets,
                                      n_bytes);
    }
    adp_count(&b->counters.handled, n_packets);
    adp_count(&b->counters.handled_bytes, n_bytes);
    adp_count(&b->counters.idle_passes,
              n_packets * v->content.n_idle_passes);
    adp_count(v->content.decided ? &b->counters.decides : &b->counters.hits,
              n_packets);
    if (v->content.dropped) {
        adp_count(&b->counters.drops[v->content.ends_in_miss ? ADP_DROP_MISS
                                     : ADP_DROP_FLOW], n_packets);
    }
}

static void
cached_fold(struct adp_cached *v)
{
    uint64_t n_packets = adp_counted(&v->n_packets);
    uint64_t n_bytes = adp_counted(&v->n_bytes);
    uint64_t n_cycles = adp_counted(&v->n_cycles);

    if (n_packets != v->folded_packets) {
        credit(v->bridge, v, n_packets - v->folded_packets,
               n_bytes - v->folded_bytes);
        adp_count(&v->bridge->counters.decide_cycles,
                  n_cycles - v->folded_cycles);
        v->folded_cycles = n_cycles;
        v->folded_packets = n_packets;
        v->folded_bytes = n_bytes;
    }
}

static void
take_newborn(void)
{
    struct mpsc_queue_node *node;

    mpsc_queue_acquire(&newborn);
    MPSC_QUEUE_FOR_EACH_POP (node, &newborn) {
        struct adp_cached *v = CONTAINER_OF(node, struct adp_cached,
                                            queue_node);
        ovs_list_push_back(&known, &v->list_node);
    }
    mpsc_queue_release(&newborn);
}

void
adp_cached_fold(struct adp_bridge *b)
{
    struct adp_cached *v;

    take_newborn();
    LIST_FOR_EACH (v, list_node, &known) {
        if (v->bridge == b) {
            cached_fold(v);
        }
    }
}

void
adp_cached_reap(void)
{
    struct adp_cached *v;

    take_newborn();
    LIST_FOR_EACH_SAFE (v, list_node, &known) {
        bool dead;

        atomic_read_explicit(&v->dead, &dead, memory_order_acquire);
        if (dead) {
            if (v->bridge) {
                cached_fold(v);
            }
            ovs_list_remove(&v->list_node);
            ovsrcu_postpone(cached_free, v);
        }
    }
}

void
adp_cached_forget(struct adp_bridge *b)
{
    struct adp_cached *v;

    adp_cached_fold(b);
    LIST_FOR_EACH (v, list_node, &known) {
        if (v->bridge == b) {
            v->bridge = NULL;
            cached_strip(v);
        }
    }
}
