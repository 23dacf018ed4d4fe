/* SPDX-License-Identifier: Apache-2.0 */

/* Included by conntrack-half-open.c: connections that leave together, a few
 * under one hold of the table's lock. */

/* How many connections leave under one hold of the lock. */
#define EVICT_BATCH 8

/* The thread looks so often whether the lock is free, and between that pauses,
 * for 10 microseconds or so, before it waits as others do. */
#define LOCK_TRIES 64
#define LOCK_PAUSES 8

static inline void
relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile ("yield");
#endif
}

/* Connections on their way out. */
struct eviction {
    size_t n;
    uint32_t n_ended;           /* To be taken off the count. */
    struct half_open_entry entries[EVICT_BATCH];
    bool ended[EVICT_BATCH];    /* Those. */
};

/* As conn_clean(), which does it all for one connection: what needs no
 * lock. */
static void
evict_free(struct conntrack *ct, struct conn *conn)
{
    struct zone_limit *zl = zone_limit_lookup(ct, conn->admit_zone);

    if (zl && zl->czl.zone_limit_seq == conn->zone_limit_seq) {
        atomic_count_dec(&zl->czl.count);
    }
    ovsrcu_postpone(delete_conn, conn);
}

/* Takes the table's lock.  Packet threads hold it for some hundred cycles at a
 * time: who looks all the while takes its cache line from them. */
static void
evict_lock(struct conntrack *ct)
    OVS_ACQUIRES(ct->ct_lock)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (!ovs_mutex_trylock(&ct->ct_lock)) {
            return;
        }
        for (int j = 0; j < LOCK_PAUSES; j++) {
            relax_cpu();
        }
    }
    ovs_mutex_lock(&ct->ct_lock);
}

/* Takes the connections of 'x' out of the table. */
static void
evict_all(struct conntrack *ct, struct eviction *x)
{
    unsigned int orig;

    if (!x->n) {
        return;
    }
    for (size_t i = 0; i < x->n; i++) {
        conntrack_note_leaves(x->entries[i].conn);
    }
    evict_lock(ct);
    for (size_t i = 0; i < x->n; i++) {
        OVS_PREFETCH_WRITE(x->entries[i].conn->node.prev);
        OVS_PREFETCH_WRITE(rculist_next(&x->entries[i].conn->node));
    }
    for (size_t i = 0; i < x->n; i++) {
        const struct half_open_entry *e = &x->entries[i];
        struct conn *conn = e->conn;

        if (conn->alg) {
            expectation_clean(ct, &conn->key);
        }
        cmap_remove(&ct->conns, &conn->cm_node, e->hash);
        if (conn->nat_conn) {
            cmap_remove(&ct->conns, &conn->nat_conn->cm_node,
                        e->un_nat_hash);
        }
        rculist_remove(&conn->node);
        conntrack_note_left(ct, conn);
    }
    ovs_mutex_unlock(&ct->ct_lock);
    /* What packet threads count too is changed once for all. */
    atomic_sub_relaxed(&ct->n_conn.count, x->n, &orig);
    for (size_t i = 0; i < x->n; i++) {
        if (x->ended[i]) {
            count_left(ct, x->entries[i].conn);
        }
        evict_free(ct, x->entries[i].conn);
    }
    x->n = x->n_ended = 0;
}

/* Adds the connection of 'e', which the calling thread has claimed. */
static void
evict_add(struct conntrack *ct, struct eviction *x,
          const struct half_open_entry *e)
{
    struct conn *conn = e->conn;

    x->ended[x->n] = half_open_end(conn);
    x->n_ended += x->ended[x->n];
    x->entries[x->n] = *e;
    cmap_prefetch(&ct->conns, e->hash);
    if (conn->nat_conn) {
        cmap_prefetch(&ct->conns, e->un_nat_hash);
        OVS_PREFETCH(&conn->nat_conn->cm_node);
    }
    if (++x->n == EVICT_BATCH) {
        evict_all(ct, x);
    }
}
