/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack.c, see conntrack-half-open.h. */

#include "conntrack-half-open.h"

#include "cmap-ahead.h"
#include "conntrack-flush.h"
#include "conntrack-table.h"
#include "conntrack-track-private.h"
#include "latch.h"
#include "ovs-thread.h"
#include "seq.h"

COVERAGE_DEFINE(conntrack_half_open_evicted);
COVERAGE_DEFINE(conntrack_half_open_unwatched);

/* A connection that began.  The entry is void if 'tag' isn't the connection's
 * any more: it has left the half-open ones, or the slot has another
 * connection, or none.  Slots of the pool can always be asked. */
struct half_open_entry {
    struct conn *conn;
    uint32_t tag;
    /* Of its key and, if it has one, its un-NAT twin's: what the thread
     * needn't read doesn't leave the packet threads' caches. */
    uint32_t hash, un_nat_hash;
};

/* The list is one of chunks, oldest first. */
#define CHUNK_ENTRIES 2728
struct half_open_chunk {
    ATOMIC(struct half_open_chunk *) next;
    atomic_uint32_t n;
    struct half_open_entry entries[CHUNK_ENTRIES];
};

/* Chunks that lie ready: at 2.5 million connections a second enough for 25
 * milliseconds. */
#define N_SPARES 24

/* So many chunks, and twice as many as are needed, may be there before void
 * entries are swept out. */
#define SWEEP_CHUNKS 4

/* How many connections leave under one hold of the lock. */
#define EVICT_BATCH 8

/* At most so many enter before somebody looks whether the thread sleeps though
 * there are too many. */
#define MAX_UNCHECKED 32

/* Connections are fetched when so many more entries will be looked at
 * first. */
#define SWEEP_AHEAD 8

struct conntrack_half_open {
    struct conntrack *ct;
    atomic_uint64_t n_evicted;
    atomic_uint64_t n_unwatched;
    atomic_uint32_t n_left;     /* Connections that were half-open. */

    /* Under ct_lock.  Who creates a connection appends to 'last', and looks
     * again whether there are too many at 'check_at'.  Others may read
     * 'n_entered': those of 'n_left' among them. */
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) atomic_uint32_t n_entered;
    uint32_t check_at;
    uint32_t checked_limit;
    struct half_open_chunk *last;
    struct half_open_chunk *spares;
    unsigned int n_spares;
    uint32_t last_tag;
    struct cmap_impl *room;     /* See conntrack-table.c. */

    /* The thread's.  It owns all chunks but the last, and takes entries from
     * 'first', at 'pos'. */
    struct half_open_chunk *first;
    uint32_t pos;
    size_t n_chunks;

    pthread_t thread;
    struct latch exit;
    struct seq *seq;            /* Changes when the thread is wanted. */
    atomic_bool asleep;
};

static atomic_uint32_t half_open_limit = CONNTRACK_MAX_HALF_OPEN;

static uint32_t
get_limit(void)
{
    uint32_t limit;

    atomic_read_relaxed(&half_open_limit, &limit);
    return limit;
}

void
conntrack_half_open_set_limit(uint32_t limit)
{
    atomic_store_relaxed(&half_open_limit, limit);
}

/* How many are half-open. */
static uint32_t
count(const struct conntrack_half_open *h)
{
    uint32_t n_left, n_entered;

    /* In this order: who leaves has entered. */
    atomic_read_explicit(&h->n_left, &n_left, memory_order_acquire);
    atomic_read_relaxed(&h->n_entered, &n_entered);
    return n_entered - n_left;
}

/* True if there are too many, not counting 'n_leaving'. */
static bool
has_too_many(const struct conntrack_half_open *h, uint32_t n_leaving)
{
    uint32_t limit = get_limit();

    return (limit != CONNTRACK_HALF_OPEN_UNLIMITED
            && count(h) - n_leaving > limit);
}

/* Coming and going, in the threads that track packets. */

/* To be called after what the thread is to see has been stored.  Packet
 * threads do so without a fence: they ask again with the next packets. */
static void
wake(struct conntrack_half_open *h)
{
    bool asleep;

    atomic_read_relaxed(&h->asleep, &asleep);
    if (asleep) {
        atomic_store_relaxed(&h->asleep, false);
        seq_change(h->seq);
    }
}

/* A chunk with room for an entry, or NULL. */
static struct half_open_chunk *
chunk_to_append(struct conntrack_half_open *h)
    OVS_REQUIRES(h->ct->ct_lock)
{
    struct half_open_chunk *chunk = h->last;
    uint32_t n;

    atomic_read_relaxed(&chunk->n, &n);
    if (OVS_UNLIKELY(n >= CHUNK_ENTRIES)) {
        struct half_open_chunk *spare = h->spares;

        if (h->n_spares <= N_SPARES / 2) {
            wake(h);
        }
        if (!spare) {
            return NULL;
        }
        atomic_read_relaxed(&spare->next, &h->spares);
        h->n_spares--;
        atomic_store_relaxed(&spare->next, NULL);
        atomic_store_explicit(&chunk->next, spare, memory_order_release);
        h->last = chunk = spare;
    }
    return chunk;
}

/* One more has entered, the 'n_entered'th.  Wakes the thread if there are too
 * many.  Who leaves does so in other threads, whose cache line it is: it is
 * read as soon as there may be too many, and then for each of some (1.5 % of
 * the limit). */
static void
check_limit(struct conntrack_half_open *h, uint32_t n_entered)
    OVS_REQUIRES(h->ct->ct_lock)
{
    uint32_t limit = get_limit(), n;

    if (limit == h->checked_limit && (int32_t) (n_entered - h->check_at) < 0) {
        return;
    }
    n = count(h);
    if (n > limit) {
        wake(h);
        h->check_at = n_entered + MIN(1 + limit / 64, MAX_UNCHECKED);
    } else {
        h->check_at = n_entered + (limit - n) + 1;
    }
    h->checked_limit = limit;
}

/* 'conn' has begun.  The hashes are those of its key and its un-NAT twin's. */
static void
half_open_enter(struct conntrack *ct, struct conn *conn, uint32_t hash,
                uint32_t un_nat_hash)
    OVS_REQUIRES(ct->ct_lock)
{
    struct conntrack_half_open *h = ct->half_open;
    struct half_open_chunk *chunk;
    uint32_t n, n_entered;
    uint64_t orig;

    if (!h || conn->key.nw_proto != IPPROTO_TCP
        || get_limit() == CONNTRACK_HALF_OPEN_UNLIMITED) {
        return;
    }
    chunk = conntrack_pool_owns(conn) ? chunk_to_append(h) : NULL;
    if (OVS_UNLIKELY(!chunk)) {
        COVERAGE_INC(conntrack_half_open_unwatched);
        atomic_add_relaxed(&h->n_unwatched, 1, &orig);
        return;
    }

    h->last_tag += h->last_tag == UINT32_MAX ? 2 : 1;
    /* In this order: who sees the tag may take the connection off the
     * count. */
    atomic_read_relaxed(&h->n_entered, &n_entered);
    atomic_store_relaxed(&h->n_entered, ++n_entered);
    atomic_store_explicit(&conn->half_open, h->last_tag, memory_order_release);
    atomic_read_relaxed(&chunk->n, &n);
    chunk->entries[n] = (struct half_open_entry) {
        .conn = conn, .tag = h->last_tag,
        .hash = hash, .un_nat_hash = un_nat_hash,
    };
    atomic_store_explicit(&chunk->n, n + 1, memory_order_release);
    check_limit(h, n_entered);
}

/* Makes 'conn''s entry void.  Returns true if it was none before: the caller
 * takes it off the count. */
static bool
half_open_end(struct conn *conn)
{
    uint32_t tag;

    atomic_read_explicit(&conn->half_open, &tag, memory_order_acquire);
    return tag && atomic_exchange_explicit(&conn->half_open, 0,
                                           memory_order_acq_rel);
}

static void
count_left(struct conntrack_half_open *h, uint32_t n)
{
    uint32_t orig;

    atomic_add_explicit(&h->n_left, n, &orig, memory_order_release);
}

/* 'conn' is no longer half-open, or no longer there. */
static void
half_open_leave(struct conntrack *ct, struct conn *conn)
{
    if (half_open_end(conn) && ct->half_open) {
        count_left(ct->half_open, 1);
    }
}

void
conntrack_note_tracked(struct conntrack *ct, struct conn *conn)
{
    uint32_t tag;

    atomic_read_relaxed(&conn->half_open, &tag);
    if (OVS_UNLIKELY(tag) && conntrack_tcp_is_open(conn)) {
        half_open_leave(ct, conn);
    }
}

/* The thread. */

static bool
entry_is_void(const struct half_open_entry *e)
{
    uint32_t tag;

    atomic_read_explicit(&e->conn->half_open, &tag, memory_order_acquire);
    return tag != e->tag;
}

/* Connections on their way out. */
struct eviction {
    size_t n;
    uint32_t n_left;            /* To be taken off the count. */
    struct half_open_entry entries[EVICT_BATCH];
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

/* Takes the connections of 'x' out of the table. */
static void
evict_all(struct conntrack *ct, struct eviction *x)
{
    unsigned int orig;

    if (!x->n) {
        return;
    }
    ovs_mutex_lock(&ct->ct_lock);
    for (size_t i = 0; i < x->n; i++) {
        const struct rculist *node = &x->entries[i].conn->node;

        OVS_PREFETCH_WRITE(node->prev);
        OVS_PREFETCH_WRITE(rculist_next_protected(node));
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
        conntrack_note_removed(ct, conn);
    }
    ovs_mutex_unlock(&ct->ct_lock);

    for (size_t i = 0; i < x->n; i++) {
        evict_free(ct, x->entries[i].conn);
    }
    /* What packet threads count too is changed once for all. */
    atomic_sub_relaxed(&ct->n_conn.count, x->n, &orig);
    if (x->n_left && ct->half_open) {
        count_left(ct->half_open, x->n_left);
    }
    x->n = x->n_left = 0;
}

/* Adds the connection of 'e', which the calling thread has claimed. */
static void
evict_add(struct conntrack *ct, struct eviction *x,
          const struct half_open_entry *e)
{
    struct conn *conn = e->conn;

    x->n_left += half_open_end(conn);
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

/* True if 'conn' of 'e' has to leave, and is this thread's to take out. */
static bool
evict_claim(struct conntrack_half_open *h, const struct half_open_entry *e)
{
    if (entry_is_void(e)) {
        return false;
    }
    if (conntrack_tcp_is_open(e->conn)) {       /* It has entered late. */
        half_open_leave(h->ct, e->conn);
        return false;
    }
    return !atomic_flag_test_and_set(&e->conn->reclaimed);
}

static void
evict(struct conntrack_half_open *h, const struct half_open_entry *e,
      long long int now, struct eviction *x)
{
    uint64_t orig;

    if (!evict_claim(h, e)) {
        return;
    }
    if (!conn_expired(e->conn, now)) {
        COVERAGE_INC(conntrack_half_open_evicted);
        atomic_add_relaxed(&h->n_evicted, 1, &orig);
    }
    evict_add(h->ct, x, e);
}

static void
prefetch_conn(const struct half_open_entry *e)
{
    OVS_PREFETCH_WRITE(&e->conn->half_open);
    OVS_PREFETCH_WRITE(&e->conn->lock);
    OVS_PREFETCH_WRITE(&e->conn->version);
}

static void
chunk_free(struct conntrack_half_open *h, struct half_open_chunk *chunk)
{
    free(chunk);
    h->n_chunks--;
}

/* Oldest first, until there are not too many, or no more entries in the oldest
 * chunk.  Returns false if there is nothing more to do. */
static bool
evict_from_chunk(struct conntrack_half_open *h)
{
    struct half_open_chunk *chunk = h->first, *next;
    struct eviction x = { .n = 0, .n_left = 0 };
    long long int now = time_msec();
    uint32_t n;

    /* In this order: a chunk with a successor gets no more entries. */
    atomic_read_explicit(&chunk->next, &next, memory_order_acquire);
    atomic_read_explicit(&chunk->n, &n, memory_order_acquire);
    for (uint32_t i = h->pos; i < MIN(n, h->pos + SWEEP_AHEAD); i++) {
        prefetch_conn(&chunk->entries[i]);
    }
    while (h->pos < n && has_too_many(h, x.n_left)) {
        if (h->pos + SWEEP_AHEAD < n) {
            prefetch_conn(&chunk->entries[h->pos + SWEEP_AHEAD]);
        }
        evict(h, &chunk->entries[h->pos++], now, &x);
    }
    evict_all(h->ct, &x);

    if (h->pos >= n && next) {
        h->first = next;
        h->pos = 0;
        chunk_free(h, chunk);
        return true;
    }
    return false;
}

/* Takes void entries out of all chunks but the last. */
static void
sweep(struct conntrack_half_open *h)
{
    struct half_open_chunk *to = h->first, *from = to, *next;
    uint32_t pos = h->pos, n, n_to = 0;

    for (;;) {
        atomic_read_explicit(&from->next, &next, memory_order_acquire);
        if (!next) {
            break;
        }
        atomic_read_relaxed(&from->n, &n);
        for (; pos < n; pos++) {
            if (pos + SWEEP_AHEAD < n) {
                OVS_PREFETCH(&from->entries[pos + SWEEP_AHEAD]
                             .conn->half_open);
            }
            if (!entry_is_void(&from->entries[pos])) {
                if (n_to == CHUNK_ENTRIES) {
                    atomic_store_relaxed(&to->n, n_to);
                    atomic_read_relaxed(&to->next, &to);
                    n_to = 0;
                }
                to->entries[n_to++] = from->entries[pos];
            }
        }
        pos = 0;
        from = next;
        ovsrcu_quiesce();
    }
    if (to == from) {
        return;                 /* There is one chunk. */
    }

    /* 'to' is the latest chunk with entries; all between it and the last one
     * are empty. */
    atomic_store_relaxed(&to->n, n_to);
    atomic_read_relaxed(&to->next, &next);
    atomic_store_relaxed(&to->next, from);
    while (next != from) {
        struct half_open_chunk *gone = next;

        atomic_read_relaxed(&gone->next, &next);
        chunk_free(h, gone);
    }
    h->pos = 0;
}

/* True if a sweep would make the list half as long. */
static bool
is_mostly_void(const struct conntrack_half_open *h)
{
    size_t n = count(h);

    return h->n_chunks > N_SPARES + SWEEP_CHUNKS + 2 * n / CHUNK_ENTRIES;
}

static struct half_open_chunk *
chunk_create(void)
{
    struct half_open_chunk *chunk = xmalloc(sizeof *chunk);

    atomic_init(&chunk->next, NULL);
    atomic_init(&chunk->n, 0);
    return chunk;
}

/* Lays chunks ready, as long as there are not too many in all. */
static void
prepare_chunks(struct conntrack_half_open *h)
    OVS_EXCLUDED(h->ct->ct_lock)
{
    size_t max = (N_SPARES + 2 * SWEEP_CHUNKS
                  + 4 * ((size_t) get_limit() / CHUNK_ENTRIES + 1));
    unsigned int n_spares = 0;

    do {
        struct half_open_chunk *chunk = (h->n_chunks < max ? chunk_create()
                                         : NULL);

        if (!chunk) {
            return;
        }
        ovs_mutex_lock(&h->ct->ct_lock);
        n_spares = h->n_spares;
        if (n_spares < N_SPARES) {
            atomic_store_relaxed(&chunk->next, h->spares);
            h->spares = chunk;
            n_spares = ++h->n_spares;
            h->n_chunks++;
            chunk = NULL;
        }
        ovs_mutex_unlock(&h->ct->ct_lock);
        free(chunk);
    } while (n_spares < N_SPARES);
}

/* Waits until there is something to do: while there are nearly too many
 * half-open connections, for a millisecond. */
static void
half_open_sleep(struct conntrack_half_open *h, uint64_t seqno)
{
    uint32_t limit = get_limit();

    if (limit && count(h) > limit - limit / 8) {
        poll_timer_wait(1);
    } else {
        /* In this order: who has found nobody asleep stored before what is
         * looked at here. */
        atomic_store(&h->asleep, true);
        atomic_thread_fence(memory_order_seq_cst);
        if (has_too_many(h, 0) || !conntrack_table_is_ready(h->ct)) {
            poll_immediate_wake();
        }
    }
    seq_wait(h->seq, seqno);
    latch_wait(&h->exit);
    poll_block();
    atomic_store(&h->asleep, false);
}

static void *
half_open_main(void *h_)
{
    struct conntrack_half_open *h = h_;

    while (!latch_is_set(&h->exit)) {
        uint64_t seqno = seq_read(h->seq);

        conntrack_table_prepare(h->ct);
        while (evict_from_chunk(h)) {
            prepare_chunks(h);
            ovsrcu_quiesce();
        }
        prepare_chunks(h);
        if (is_mostly_void(h)) {
            sweep(h);
            prepare_chunks(h);
        }
        half_open_sleep(h, seqno);
    }
    return NULL;
}

/* Beginning and end. */

static void flusher_stop(struct conntrack *);

void
conntrack_half_open_start(struct conntrack *ct)
{
    if (ct->half_open) {
        return;
    }

    struct conntrack_half_open *h = xzalloc_cacheline(sizeof *h);
    h->ct = ct;
    atomic_init(&h->n_left, 0);
    atomic_init(&h->n_entered, 0);
    atomic_init(&h->n_evicted, 0);
    atomic_init(&h->n_unwatched, 0);
    atomic_init(&h->asleep, false);
    h->first = h->last = chunk_create();
    h->n_chunks = 1;
    prepare_chunks(h);
    latch_init(&h->exit);
    h->seq = seq_create();

    ovs_mutex_lock(&ct->ct_lock);
    ct->half_open = h;
    ovs_mutex_unlock(&ct->ct_lock);
    h->thread = ovs_thread_create("ct_evict", half_open_main, h);
}

void
conntrack_half_open_run(struct conntrack *ct)
{
    if (has_too_many(ct->half_open, 0)) {
        conntrack_half_open_wake(ct);
    }
}

void
conntrack_half_open_wake(struct conntrack *ct)
{
    atomic_thread_fence(memory_order_seq_cst);
    wake(ct->half_open);
}

static void
free_chunks(struct half_open_chunk *chunk)
{
    while (chunk) {
        struct half_open_chunk *gone = chunk;

        atomic_read_relaxed(&gone->next, &chunk);
        free(gone);
    }
}

void
conntrack_half_open_stop(struct conntrack *ct)
{
    struct conntrack_half_open *h = ct->half_open;

    flusher_stop(ct);
    if (h) {
        latch_set(&h->exit);
        xpthread_join(h->thread, NULL);
        ct->half_open = NULL;
        latch_destroy(&h->exit);
        seq_destroy(h->seq);
        free_chunks(h->first);
        free_chunks(h->spares);
        free_cacheline(h);
    }
}

void
conntrack_half_open_get_stats(const struct conntrack *ct,
                              struct conntrack_half_open_stats *stats)
{
    struct conntrack_half_open *h = ct->half_open;

    memset(stats, 0, sizeof *stats);
    stats->limit = get_limit();
    if (h) {
        stats->n = count(h);
        atomic_read_relaxed(&h->n_evicted, &stats->evicted);
        atomic_read_relaxed(&h->n_unwatched, &stats->unwatched);
    }
}

#include "conntrack-table.c"
#include "conntrack-flush.c"
