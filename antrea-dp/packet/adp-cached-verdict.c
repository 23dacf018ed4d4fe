/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-cached-verdict.h"

#include "adp-bridge-shared.h"
#include "adp-credit.h"
#include "adp-prefetch.h"
#include "adp-tunnel.h"
#include "bitmap.h"
#include "hash.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"

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

/* Coming. */

static bool
bytes_equal(const void *a, const void *b, size_t n)
{
    return !n || !memcmp(a, b, n);
}

static bool
lookups_equal(const struct adp_metadata_lookup *a,
              const struct adp_metadata_lookup *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i].hit != b[i].hit
            || !adp_metadata_equal(&a[i].metadata, &b[i].metadata)) {
            return false;
        }
    }
    return true;
}

static struct adp_cached_verdict *
cached_find(const struct adp_store *store,
            const struct adp_cached_verdict_source *source,
            const struct adp_cached_verdict_content *c, uint32_t hash)
{
    struct adp_stored *up = NULL;

    while ((up = adp_store_next_with_hash(store, hash, up)) != NULL) {
        struct adp_cached_verdict *v = adp_cached_verdict_cast(up);
        void *owner;

        atomic_read_relaxed(&up->owner, &owner);
        if (owner == source->bridge
            && v->hits_hash == source->hits_hash
            && !memcmp(&v->content, c, sizeof *c)
            && bytes_equal(v->hits, source->hits, c->n_hits * sizeof *v->hits)
            && v->n_lookups == source->n_lookups
            && lookups_equal(v->lookups, source->lookups, v->n_lookups)
            && bytes_equal(v->actions, source->actions, c->actions_len)
            && v->n_ports == source->n_consulted
            && bytes_equal(v->ports, source->consulted,
                           v->n_ports * sizeof *v->ports)) {
            return v;
        }
    }
    return NULL;
}

static struct adp_cached_verdict *
cached_create(struct adp_store *store,
              const struct adp_cached_verdict_source *source,
              const struct adp_cached_verdict_content *c, uint32_t hash,
              long long int now)
{
    struct adp_hit *hits = hits_clone(source->hits, c->n_hits);
    struct adp_stored *up;

    if (!hits) {
        return NULL;
    }
    if (c->tunnel && !adp_tunnel_try_ref(c->tunnel)) {
        goto no_tunnel;
    }
    /* If one has to leave, what 'source' points to stays within the grace
     * period. */
    up = adp_store_add(store, hash, source->bridge, now);
    if (!up) {
        goto no_room;
    }

    struct adp_cached_verdict *v = adp_cached_verdict_cast(up);
    memcpy(&v->content, c, sizeof *c);
    up->aux = c->tunnel;
    atomic_store_relaxed(&v->n_cycles, 0);
    v->credited_cycles = 0;
    v->hits = hits;
    v->hits_hash = source->hits_hash;
    v->actions = (c->actions_len ? xmemdup(source->actions, c->actions_len)
                  : NULL);
    v->n_lookups = source->n_lookups;
    v->lookups = (v->n_lookups
                  ? xmemdup(source->lookups,
                            v->n_lookups * sizeof *v->lookups) : NULL);
    v->lookups_hold = source->program->generation;
    v->n_ports = source->n_consulted;
    memcpy(v->ports, source->consulted, v->n_ports * sizeof *v->ports);
    /* Not the present one: a port may have left since it was asked for. */
    up->ports_serial = source->ports_serial;
    return v;

no_room:
    adp_tunnel_unref(c->tunnel);
no_tunnel:
    hits_unref(hits, c->n_hits);
    free(hits);
    return NULL;
}

struct adp_cached_verdict *
adp_cached_verdict_take(struct adp_store *store,
                        const struct adp_cached_verdict_source *source,
                        const struct adp_cached_verdict_content *c,
                        long long int now)
{
    struct adp_cached_verdict *v;

    uint32_t hash = hash_bytes(c, sizeof *c, source->hits_hash);
    if (c->actions_len) {
        hash = hash_bytes(source->actions, c->actions_len, hash);
    }
    for (size_t i = 0; i < source->n_lookups; i++) {
        hash = adp_metadata_hash(&source->lookups[i].metadata, hash);
    }
    v = cached_find(store, source, c, hash);
    if (!v) {
        v = cached_create(store, source, c, hash, now);
    }
    if (v) {
        adp_cached_verdict_revalidate(v, source->program, source->ports);
        adp_store_touch(&v->up, now);
    }
    return v;
}

void
adp_cached_verdict_token_init(struct adp_token *token,
                              const struct adp_store *store,
                              const struct adp_cached_verdict *v,
                              const struct adp_program *program,
                              uint32_t learn_serial)
{
    *token = (struct adp_token) {
        .slot = adp_store_slot(store, &v->up),
        .life = v->up.life,
        .generation = program->generation,
        .learn_seq = learn_serial,
    };
}

static struct adp_bridge *
owner_of(const struct adp_cached_verdict *v)
{
    void *owner;

    atomic_read_relaxed(&CONST_CAST(struct adp_cached_verdict *, v)->up.owner,
                        &owner);
    return owner;
}

void
adp_cached_verdict_source_init(struct adp_cached_verdict_source *source,
                               const struct adp_cached_verdict *v,
                               const struct adp_walk *w)
{
    *source = (struct adp_cached_verdict_source) {
        .bridge = owner_of(v),
        .program = w->program,
        .ports = w->ports,
        .ports_serial = w->ports_serial,
        .hits = v->hits,
        .hits_hash = v->hits_hash,
        .lookups = v->lookups,
        .n_lookups = v->n_lookups,
        .actions = v->actions,
        .consulted = v->ports,
        .n_consulted = v->n_ports,
    };
}

struct adp_cached_verdict *
adp_cached_verdict_for_decided(
    struct adp_store *store, const struct adp_cached_verdict_source *source_,
    const struct adp_cached_verdict_content *content, long long int now)
{
    struct adp_cached_verdict_source source = *source_;
    struct adp_cached_verdict_content c;

    /* What is rewritten, which ports were asked for and what packets had in
     * common doesn't matter. */
    source.n_consulted = 0;
    source.n_lookups = 0;
    memset(&c, 0, sizeof c);
    c.decided = true;
    c.dropped = content->dropped;
    c.n_idle_passes = content->n_idle_passes;
    c.ends_in_miss = content->ends_in_miss;
    c.answer = content->answer;
    c.tunnel = content->tunnel;
    c.ingress_tunnel = content->ingress_tunnel;
    c.n_hits = content->n_hits;

    uint32_t hash = source.hits_hash ^ c.ingress_tunnel;
    struct adp_cached_verdict *v = cached_find(store, &source, &c, hash);
    return v ? v : cached_create(store, &source, &c, hash, now);
}

/* Validity. */

/* When something last changed that may matter to 'hit', which was right in
 * generation 'since'; if nothing has since then, anything up to 'since'. */
static uint64_t
hit_changed(const struct adp_hit *hit, const struct adp_program *program,
            uint64_t since)
{
    switch (hit->kind) {
    case ADP_HIT_RULE:
        return adp_program_changed_for(program, hit->table_id, hit->priority,
                                       hit->rule, since);
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
is_learn_hit(const struct adp_hit *hit, const struct adp_program *program)
{
    return ((hit->kind == ADP_HIT_RULE || hit->kind == ADP_HIT_MISS)
            && bitmap_is_set(program->learn_tables, hit->table_id));
}

/* The newest generation after 'since' in which something changed that may
 * matter to hits of 'v', without those in tables that learn()s fill if
 * 'but_learned'.  If there is none, anything up to 'since'. */
static uint64_t
newest_change(struct adp_cached_verdict *v, const struct adp_program *program,
              uint64_t since, bool but_learned)
{
    uint64_t newest = 0;
    bool all_hold = true;
    size_t n = 0;

    for (size_t i = 0; i < v->content.n_hits; i++) {
        const struct adp_hit *hit = &v->hits[i];
        const struct adp_metadata_lookup *at = NULL;
        uint64_t changed;

        if (n < v->n_lookups && v->lookups[n].hit == i) {
            at = &v->lookups[n++];
        }
        if (but_learned && is_learn_hit(hit, program)) {
            continue;
        }
        changed = hit_changed(hit, program, at ? v->lookups_hold : since);
        if (at && (changed <= v->lookups_hold
                   || (program->settings_changed <= v->lookups_hold
                       && adp_metadata_lookup_holds(at, hit, program)))) {
            continue;
        }
        all_hold &= !at;
        newest = MAX(newest, changed);
    }
    if (all_hold) {
        v->lookups_hold = program->generation;
    }
    return newest;
}

static bool
ports_changed(const struct adp_cached_verdict *v,
              const struct adp_ports *ports)
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

/* A generation of which the low bits are kept: one that is less than four
 * billion before the present one. */
static uint64_t
in_full(const struct adp_program *program, uint32_t generation)
{
    return (program->generation
            - (uint32_t) (program->generation - generation));
}

void
adp_cached_verdict_revalidate(struct adp_cached_verdict *v,
                              const struct adp_program *program,
                              const struct adp_ports *ports)
{
    const uint32_t ports_serial = adp_ports_serial(ports);
    struct adp_stored *up = &v->up;

    if (up->generation != (uint32_t) program->generation) {
        uint64_t since = in_full(program, up->generation);

        for (size_t i = 0; i < v->content.n_hits; i++) {
            up->on_learn |= is_learn_hit(&v->hits[i], program);
        }
        adp_stored_set_changed(
            up, program->generation,
            MAX(in_full(program, up->changed),
                newest_change(v, program, since, false)));
    }
    if (up->ports_serial != ports_serial) {
        up->overtaken |= ports_changed(v, ports);
        up->ports_serial = ports_serial;
    }
}

/* True if the look-up gets what 'hit' says, which depended on flows of the
 * priority that it says and above. */
static bool
is_hit_again(const struct adp_hit *hit, const struct adp_program *program,
             const struct adp_learn_table *learn,
             struct adp_learn_lookup *at, struct adp_match_scratch *scratch)
{
    const struct adp_rule *rule;
    bool learned;

    if (hit->table_id != at->table_id) {
        return false;
    }
    rule = adp_decide_lookup(program, learn, at->table_id, &at->flow, scratch,
                             &learned);
    return (hit->kind == ADP_HIT_MISS ? !rule : rule == hit->rule)
           && scratch->priority == hit->priority;
}

struct adp_cached_verdict *
adp_cached_verdict_renew(const struct adp_store *store,
                         struct adp_token *token, const struct adp_bridge *b,
                         const struct adp_program *program,
                         uint32_t learn_serial,
                         struct adp_cached_verdict_at *at,
                         struct adp_match_scratch *scratch)
{
    struct adp_stored *up = adp_store_get(store, token);
    struct adp_cached_verdict *v = up ? adp_cached_verdict_cast(up) : NULL;
    uint64_t since = in_full(program, token->generation);
    size_t n_learn_hits = 0;

    if (!v || owner_of(v) != b || up->overtaken
        || program->reads & ~at->reads
        || program->settings_changed > since) {
        return NULL;
    }
    for (size_t i = 0; i < v->content.n_hits; i++) {
        const struct adp_hit *hit = &v->hits[i];

        if (is_learn_hit(hit, program)
            && (n_learn_hits >= at->n
                || !is_hit_again(hit, program, b->learn,
                                 &at->lookups[n_learn_hits++], scratch))) {
            return NULL;
        }
    }
    if (n_learn_hits != at->n) {
        return NULL;
    }
    if (newest_change(v, program, since, true) > since) {
        return NULL;
    }
    token->generation = program->generation;
    token->learn_seq = learn_serial;
    return v;
}

/* Collecting, in the main thread. */

static void
credit_bridge(struct adp_bridge *b, const struct adp_cached_verdict_content *c,
              uint64_t n_packets, uint64_t n_bytes)
{
    if (c->tunnel) {
        adp_tunnel_credit(c->tunnel, n_packets, n_bytes);
    }
    if (c->ingress_tunnel) {
        adp_credit_tunnel_port(b, c->ingress_tunnel, n_packets, n_bytes);
    }
    adp_count(&b->counters.handled, n_packets);
    adp_count(&b->counters.handled_bytes, n_bytes);
    adp_count(&b->counters.idle_passes, n_packets * c->n_idle_passes);
    adp_count(c->decided ? &b->counters.decides : &b->counters.hits,
              n_packets);
    if (c->dropped) {
        adp_count(&b->counters.drops[c->answer ? ADP_DROP_REJECT
                                     : c->ends_in_miss ? ADP_DROP_MISS
                                     : ADP_DROP_FLOW], n_packets);
    }
}

static void
cached_credit(struct adp_stored *up, uint64_t n_packets, uint64_t n_bytes)
{
    struct adp_cached_verdict *v = adp_cached_verdict_cast(up);
    struct adp_bridge *b = owner_of(v);
    uint64_t n_cycles = adp_counted(&v->n_cycles);
    long long int used;
    uint16_t tcp_flags;

    atomic_read_relaxed(&up->used, &used);
    atomic_read_relaxed(&up->tcp_flags, &tcp_flags);
    for (size_t i = 0; i < v->content.n_hits; i++) {
        adp_credit_hit(b, &v->hits[i], n_packets, n_bytes, used, tcp_flags);
    }
    credit_bridge(b, &v->content, n_packets, n_bytes);
    adp_count(&b->counters.decide_cycles, n_cycles - v->credited_cycles);
    v->credited_cycles = n_cycles;
}

static void
cached_prefetch(const struct adp_stored *up)
{
    const struct adp_cached_verdict *v
        = (const struct adp_cached_verdict *) (const void *) up;

    adp_prefetch_lines(v->hits,
                       DIV_ROUND_UP(v->content.n_hits * sizeof *v->hits,
                                    CACHE_LINE_SIZE));
}

static void
cached_release(struct adp_stored *up)
{
    struct adp_cached_verdict *v = adp_cached_verdict_cast(up);

    hits_unref(v->hits, v->content.n_hits);
    adp_tunnel_unref(v->content.tunnel);
    /* When its bridge goes the owner may still compare them. */
    ovsrcu_postpone(free, CONST_CAST(struct adp_hit *, v->hits));
    ovsrcu_postpone(free, CONST_CAST(struct adp_metadata_lookup *,
                                     v->lookups));
    if (v->actions) {
        ovsrcu_postpone(free, CONST_CAST(struct nlattr *, v->actions));
    }
}

static bool
is_awaited(void)
{
    return adp_rules_awaited() != 0;
}

static bool
has_awaited(const struct adp_stored *up)
{
    const struct adp_cached_verdict *v
        = (const struct adp_cached_verdict *) (const void *) up;

    for (size_t i = 0; i < v->content.n_hits; i++) {
        if (v->hits[i].kind == ADP_HIT_RULE
            && adp_rule_is_awaited(v->hits[i].rule)) {
            return true;
        }
    }
    return false;
}

/* From adp_cached_verdict_init() on. */
static struct adp_collector *collector;

void
adp_cached_verdict_init(void)
{
    static const struct adp_store_class class = {
        .size = sizeof(struct adp_cached_verdict),
        .credit = cached_credit,
        .prefetch = cached_prefetch,
        .release = cached_release,
        .is_awaited = is_awaited,
        .has_awaited = has_awaited,
    };

    collector = adp_collector_create(&class);
}

struct adp_collector *
adp_cached_verdict_collector(void)
{
    return collector;
}

void
adp_cached_verdict_forget(struct adp_bridge *b)
{
    adp_collector_forget(adp_cached_verdict_collector(), b);
}
