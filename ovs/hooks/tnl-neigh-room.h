/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TNL_NEIGH_ROOM_H
#define TNL_NEIGH_ROOM_H 1

/* Included by tnl-neigh-cache.c: what bounds the neighbours of tunnels.
 *
 * Whoever can send to a bridge with an IP address makes entries, with forged
 * ARP replies, neighbour advertisements or packets of a tunnel.  So there are
 * no more than TNL_NEIGH_MAX, and what nobody has asked for leaves first, of
 * some the one that leaves soonest anyway.  Nor does such an entry have tunnel
 * output translated anew when it comes or goes: no translation knows of it.
 *
 * Which addresses were asked for, in vain or not, a set of bits remembers.
 * They stay: who asks is tunnel output, to addresses that flows and routes
 * give.  Two addresses that share a bit are treated alike.
 *
 * Thread-safety: asking in any thread; the rest under the cache's mutex.
 */

#include "coverage.h"
#include "random.h"
#include "tnl-neigh-max.h"

COVERAGE_DEFINE(tnl_neigh_evicted);

#define TNL_NEIGH_BITS 65536
#define TNL_NEIGH_LOOKS 8       /* For one that is to leave. */

static atomic_uint64_t asked[TNL_NEIGH_BITS / 64];

static atomic_uint64_t *
asked_word(const struct in6_addr *ip, uint64_t *bit)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;
    static uint32_t basis;      /* So that nobody can choose the bit. */

    if (ovsthread_once_start(&once)) {
        basis = random_uint32();
        ovsthread_once_done(&once);
    }

    uint32_t hash = hash_bytes(ip->s6_addr, sizeof ip->s6_addr, basis);
    *bit = UINT64_C(1) << hash % 64;
    return &asked[hash / 64 % ARRAY_SIZE(asked)];
}

/* To be called before the look-up: either that finds what is being inserted,
 * or who inserts it finds that it was asked for. */
static void
tnl_neigh_ask(const struct in6_addr *ip)
{
    uint64_t bit, word;
    atomic_uint64_t *words = asked_word(ip, &bit);

    atomic_read_relaxed(words, &word);
    if (!(word & bit)) {
        atomic_or(words, bit, &word);
    }
    atomic_thread_fence(memory_order_seq_cst);
}

static bool
tnl_neigh_is_asked(const struct in6_addr *ip)
{
    uint64_t bit, word;
    atomic_uint64_t *words = asked_word(ip, &bit);

    atomic_read_relaxed(words, &word);
    return word & bit;
}

/* An entry for 'ip' has come or changed. */
static void
tnl_neigh_tell(const struct in6_addr *ip)
{
    atomic_thread_fence(memory_order_seq_cst);
    if (tnl_neigh_is_asked(ip)) {
        seq_change(tnl_conf_seq);
    }
}

static bool
leaves_before(struct tnl_neigh_entry *a, struct tnl_neigh_entry *b)
{
    bool a_asked = tnl_neigh_is_asked(&a->ip);
    long long int a_expires, b_expires;

    if (a_asked != tnl_neigh_is_asked(&b->ip)) {
        return !a_asked;
    }
    atomic_read_relaxed(&a->expires, &a_expires);
    atomic_read_relaxed(&b->expires, &b_expires);
    return a_expires < b_expires;
}

static uint32_t tnl_neigh_get_aging(void);
static void tnl_neigh_delete(struct tnl_neigh_entry *);

/* Before one is inserted. */
static void
tnl_neigh_make_room(void)
{
    static struct cmap_position hand;
    struct tnl_neigh_entry *victim = NULL;

    if (cmap_count(&table) < TNL_NEIGH_MAX) {
        return;
    }
    for (int i = 0; i < TNL_NEIGH_LOOKS; ) {
        struct cmap_node *node = cmap_next_position(&table, &hand);

        if (!node) {
            hand = (struct cmap_position) { 0, 0, 0 };
            continue;           /* There are others. */
        }

        struct tnl_neigh_entry *e
            = CONTAINER_OF(node, struct tnl_neigh_entry, cmap_node);
        if (!victim || leaves_before(e, victim)) {
            victim = e;
        }
        i++;
    }
    if (tnl_neigh_is_asked(&victim->ip)) {
        seq_change(tnl_conf_seq);
    }
    tnl_neigh_delete(victim);
    COVERAGE_INC(tnl_neigh_evicted);
}

/* The main thread asks at each turn.  True if some may have expired; until
 * then it needs no look at them all. */
static bool
tnl_neigh_sweep_is_due(void)
{
    static long long int soonest;       /* Before that none expires, as long */
    static uint32_t aging;              /* as this is the setting. */
    struct tnl_neigh_entry *e;
    long long int now = time_msec();

    if (now < soonest && aging == tnl_neigh_get_aging()) {
        return false;
    }
    aging = tnl_neigh_get_aging();
    soonest = now + aging;              /* Of those that come from now on. */
    CMAP_FOR_EACH (e, cmap_node, &table) {
        long long int expires;

        atomic_read_relaxed(&e->expires, &expires);
        if (expires > now) {
            soonest = MIN(soonest, expires);
        }
    }
    return true;
}

#endif /* tnl-neigh-room.h */
