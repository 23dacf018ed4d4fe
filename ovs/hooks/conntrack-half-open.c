/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack.c, see conntrack-half-open.h. */

#include "conntrack-half-open.h"

#include "cmap-ahead.h"
#include "conntrack-flush.h"
#include "conntrack-hash.h"
#include "conntrack-sources.h"
#include "conntrack-table.h"
#include "conntrack-track-private.h"
#include "latch.h"
#include "ovs-thread.h"
#include "seq.h"

COVERAGE_DEFINE(conntrack_half_open_evicted);
COVERAGE_DEFINE(conntrack_half_open_unwatched);
COVERAGE_DEFINE(conntrack_nat_displaced);
COVERAGE_DEFINE(conntrack_unanswered_evicted);
COVERAGE_DEFINE(conntrack_unanswered_unwatched);

/* A connection that began.  The entry is void if 'tag' isn't the connection's
 * any more: it has been answered, or the slot has another connection, or none.
 * Slots of the pool can always be asked. */
struct half_open_entry {
    struct conn *conn;
    uint32_t tag;
    /* Of its key and, if it has one, its un-NAT twin's, and its source: what
     * the thread needn't read doesn't leave the packet threads' caches. */
    uint32_t hash, un_nat_hash;
    uint32_t source;
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

/* At most so many enter before somebody looks whether the thread sleeps though
 * there are too many, and leave before the thread looks again how many these
 * are. */
#define MAX_UNCHECKED 32
/* While there is no limit. */
#define UNLIMITED_UNCHECKED 65536

/* Connections are fetched when so many more entries will be looked at
 * first. */
#define SWEEP_AHEAD 8

/* Entries are fetched so many bytes ahead, maybe beyond the chunk's end: they
 * have been another thread's. */
#define ENTRIES_AHEAD (4 * CACHE_LINE_SIZE)

/* Connections that have a limit together.  What packet threads write and what
 * the thread does lie in cache lines of their own. */
struct watch {
    struct conntrack *ct;

    /* Who creates a connection leaves these alone. */
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) atomic_uint64_t n_evicted;
    atomic_uint32_t n_left;     /* Connections that were watched. */

    /* Under ct_lock.  Who creates a connection appends to 'last', and looks
     * again whether there are too many at 'check_at'.  Others may read
     * 'n_entered': those of 'n_left' are among them. */
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) atomic_uint32_t n_entered;
    uint32_t check_at;
    uint32_t checked_limit;
    struct half_open_chunk *last;
    struct half_open_chunk *spares;
    unsigned int n_spares;
    atomic_uint64_t n_unwatched;

    /* The thread's.  It owns all chunks but the last, and takes entries from
     * 'first', at 'pos'. */
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) struct half_open_chunk *first;
    uint32_t pos;
    size_t n_chunks;

    struct sources sources;
};

enum { HALF_OPEN, UNANSWERED, N_WATCHES };

struct conntrack_half_open {
    struct conntrack *ct;
    struct cmap_impl *room;     /* Under ct_lock.  See conntrack-table.c. */
    pthread_t thread;
    struct latch exit;
    struct seq *seq;            /* Changes when the thread is wanted. */
    atomic_bool asleep;

    /* Under ct_lock; who creates a connection changes it. */
    OVS_ALIGNED_VAR(CACHE_LINE_SIZE) uint32_t last_tag;

    struct watch watches[N_WATCHES];
};

static atomic_uint32_t limits[N_WATCHES] = {
    [HALF_OPEN] = CONNTRACK_MAX_HALF_OPEN,
    [UNANSWERED] = CONNTRACK_MAX_UNANSWERED,
};

static struct watch *
watch_of(struct conntrack_half_open *h, const struct conn *conn)
{
    return &h->watches[conn->key.nw_proto == IPPROTO_TCP ? HALF_OPEN
                       : UNANSWERED];
}

/* How many are watched. */
static uint32_t
count(const struct watch *w)
{
    return count_between(&w->n_entered, &w->n_left);
}

static unsigned int
max_conns(const struct conntrack *ct)
{
    unsigned int max;

    atomic_read_relaxed(&CONST_CAST(struct conntrack *, ct)->n_conn_limit,
                        &max);
    return max;
}

/* How many connections there may be that aren't answered, all together. */
static uint32_t
get_room(const struct conntrack *ct)
{
    struct conntrack *ct_ = CONST_CAST(struct conntrack *, ct);
    uint32_t n = atomic_count_get(&ct_->n_conn), n_watched = 0;
    uint32_t max = max_conns(ct);

    for (size_t i = 0; ct->half_open && i < N_WATCHES; i++) {
        n_watched += count(&ct->half_open->watches[i]);
    }
    n = n > n_watched ? n - n_watched : 0;
    return max > n ? max - n : 0;
}

static uint32_t
limit_set(size_t i)
{
    uint32_t limit;

    atomic_read_relaxed(&limits[i], &limit);
    return limit;
}

/* The limit that holds now. */
static uint32_t
limit_now(const struct conntrack *ct, size_t i)
{
    uint32_t limit = limit_set(i);

    if (limit != CONNTRACK_HALF_OPEN_UNLIMITED
        && max_conns(ct) >= CONNTRACK_SHARE_MIN) {
        uint32_t share = get_room(ct) / (i == HALF_OPEN ? 4 : 2);

        limit = MIN(limit, MAX(share, 1));
    }
    return limit;
}

static size_t
watch_index(const struct watch *w)
{
    return w - w->ct->half_open->watches;
}

static uint32_t
get_limit(const struct watch *w)
{
    return limit_now(w->ct, watch_index(w));
}

void
conntrack_half_open_set_limit(uint32_t limit)
{
    atomic_store_relaxed(&limits[HALF_OPEN], limit);
}

void
conntrack_unanswered_set_limit(uint32_t limit)
{
    atomic_store_relaxed(&limits[UNANSWERED], limit);
}

static bool
is_beyond(const struct watch *w, uint32_t limit)
{
    return limit != CONNTRACK_HALF_OPEN_UNLIMITED && count(w) > limit;
}

static bool
has_too_many(const struct watch *w)
{
    return is_beyond(w, get_limit(w));
}

static bool
any_has_too_many(const struct conntrack_half_open *h)
{
    for (size_t i = 0; i < N_WATCHES; i++) {
        if (has_too_many(&h->watches[i])) {
            return true;
        }
    }
    return false;
}

/* Whether 'conn' has been answered, or, where a forged address gets an answer,
 * too, the answer has been confirmed. */
static bool
is_answered(const struct conn *conn)
    OVS_REQUIRES(conn->lock)
{
    switch (conn->key.nw_proto) {
    case IPPROTO_TCP:
        return conntrack_tcp_is_open(conn);
    case IPPROTO_SCTP:
        return conntrack_sctp_is_set_up(conn);
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        return conntrack_icmp_is_answered(conn);
    default:
        return conntrack_other_is_answered(conn);
    }
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
chunk_to_append(struct watch *w)
    OVS_REQUIRES(w->ct->ct_lock)
{
    struct half_open_chunk *chunk = w->last;
    uint32_t n;

    atomic_read_relaxed(&chunk->n, &n);
    if (OVS_UNLIKELY(n >= CHUNK_ENTRIES)) {
        struct half_open_chunk *spare = w->spares;

        if (w->n_spares <= N_SPARES / 2) {
            wake(w->ct->half_open);
        }
        if (!spare) {
            return NULL;
        }
        atomic_read_relaxed(&spare->next, &w->spares);
        w->n_spares--;
        atomic_store_relaxed(&spare->next, NULL);
        atomic_store_explicit(&chunk->next, spare, memory_order_release);
        w->last = chunk = spare;
    }
    return chunk;
}

/* One more has entered, the 'n_entered'th.  Wakes the thread if there are too
 * many.  Who leaves does so in other threads, whose cache lines these are:
 * they are read as soon as there may be too many, or the room much less, and
 * then for each of some (1.5 % of the limit). */
static void
check_limit(struct watch *w, uint32_t n_entered)
    OVS_REQUIRES(w->ct->ct_lock)
{
    uint32_t set = limit_set(watch_index(w)), limit, n;

    if (set == w->checked_limit && (int32_t) (n_entered - w->check_at) < 0) {
        return;
    }
    if (any_has_too_many(w->ct->half_open)) {
        wake(w->ct->half_open);
    }
    limit = get_limit(w);
    n = count(w);
    w->check_at = n_entered + 1 + (limit == CONNTRACK_HALF_OPEN_UNLIMITED
                                   ? UNLIMITED_UNCHECKED
                                   : n > limit
                                   ? MIN(limit / 64, MAX_UNCHECKED - 1)
                                   : MIN(limit - n, get_room(w->ct) / 16));
    w->checked_limit = set;
}

static void
count_unwatched(struct watch *w)
{
    uint64_t orig;

    if (watch_index(w) == HALF_OPEN) {
        COVERAGE_INC(conntrack_half_open_unwatched);
    } else {
        COVERAGE_INC(conntrack_unanswered_unwatched);
    }
    atomic_add_relaxed(&w->n_unwatched, 1, &orig);
}

/* Appends '*e' to 'chunk', which has room for it. */
static void
append(struct half_open_chunk *chunk, const struct half_open_entry *e)
{
    uint32_t n;

    atomic_read_relaxed(&chunk->n, &n);
    OVS_PREFETCH_WRITE((char *) &chunk->entries[n] + ENTRIES_AHEAD);
    chunk->entries[n] = *e;
    atomic_store_explicit(&chunk->n, n + 1, memory_order_release);
}

/* 'conn' has begun.  The hashes are those of its key and its un-NAT twin's. */
static void
half_open_enter(struct conntrack *ct, struct conn *conn, uint32_t hash,
                uint32_t un_nat_hash)
    OVS_REQUIRES(ct->ct_lock)
{
    struct conntrack_half_open *h = ct->half_open;
    struct half_open_chunk *chunk;
    uint32_t n_entered;
    struct watch *w;

    if (!h) {
        return;
    }
    w = watch_of(h, conn);
    /* Also without a limit: one may come. */
    chunk = conntrack_pool_owns(conn) ? chunk_to_append(w) : NULL;
    if (OVS_UNLIKELY(!chunk)) {
        count_unwatched(w);
        return;
    }

    struct half_open_entry e = {
        .conn = conn, .hash = hash, .un_nat_hash = un_nat_hash,
        .source = source_of(ct, conn),
    };
    h->last_tag += h->last_tag == UINT32_MAX ? 2 : 1;
    e.tag = h->last_tag;
    /* In this order: who sees the tag may take the connection off the
     * count. */
    atomic_read_relaxed(&w->n_entered, &n_entered);
    atomic_store_relaxed(&w->n_entered, ++n_entered);
    sources_enter(&w->sources, e.source);
    atomic_store_explicit(&conn->half_open, e.tag, memory_order_release);
    append(chunk, &e);
    check_limit(w, n_entered);
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

/* Takes 'conn', whose entry is void, off the count. */
static void
count_left(struct conntrack *ct, const struct conn *conn)
{
    uint32_t orig;

    if (ct->half_open) {
        struct watch *w = watch_of(ct->half_open, conn);

        sources_leave(&w->sources, source_of(ct, conn));
        atomic_add_explicit(&w->n_left, 1, &orig, memory_order_release);
    }
}

/* 'conn' has been answered, or is no longer there. */
static void
half_open_leave(struct conntrack *ct, struct conn *conn)
{
    if (half_open_end(conn)) {
        count_left(ct, conn);
    }
}

void
conntrack_note_tracked(struct conntrack *ct, struct conn *conn)
    OVS_REQUIRES(conn->lock)
{
    uint32_t tag;

    atomic_read_relaxed(&conn->half_open, &tag);
    if (OVS_UNLIKELY(tag) && is_answered(conn)) {
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

#include "conntrack-evict.c"

/* True if 'conn' of 'e' has to leave, and is this thread's to take out.
 * Whoever is watched was in the table a moment ago: it is there until the
 * thread quiesces. */
static bool
evict_claim(struct conntrack *ct, const struct half_open_entry *e)
{
    struct conn *conn = e->conn;
    bool claimed;

    if (entry_is_void(e)) {
        return false;
    }
    ovs_mutex_lock(&conn->lock);
    if (is_answered(conn)) {                    /* It has entered late. */
        half_open_leave(ct, conn);
        claimed = false;
    } else {
        claimed = !atomic_flag_test_and_set(&conn->reclaimed);
    }
    ovs_mutex_unlock(&conn->lock);
    return claimed;
}

/* Returns true if the connection leaves. */
static bool
evict(struct watch *w, const struct half_open_entry *e, long long int now,
      struct eviction *x)
{
    uint64_t orig;

    if (!evict_claim(w->ct, e)) {
        return false;
    }
    if (!conn_expired(e->conn, now)) {
        if (watch_index(w) == HALF_OPEN) {
            COVERAGE_INC(conntrack_half_open_evicted);
        } else {
            COVERAGE_INC(conntrack_unanswered_evicted);
        }
        atomic_add_relaxed(&w->n_evicted, 1, &orig);
    }
    evict_add(w->ct, x, e);
    return true;
}

#include "conntrack-displace.c"

/* Entries on their way to the end of the list. */
struct spared {
    size_t n;
    struct half_open_entry entries[EVICT_BATCH];
};

static void
enter_again(struct watch *w, struct spared *spared)
{
    if (!spared->n) {
        return;
    }
    ovs_mutex_lock(&w->ct->ct_lock);
    for (size_t i = 0; i < spared->n; i++) {
        const struct half_open_entry *e = &spared->entries[i];
        struct half_open_chunk *chunk = chunk_to_append(w);

        if (OVS_LIKELY(chunk)) {
            append(chunk, e);
        } else if (!entry_is_void(e)) {
            count_unwatched(w);
            half_open_leave(w->ct, e->conn);
        }
    }
    ovs_mutex_unlock(&w->ct->ct_lock);
    spared->n = 0;
}

static void
prefetch_conn(const struct half_open_entry *e)
{
    OVS_PREFETCH_WRITE(&e->conn->half_open);
    OVS_PREFETCH_WRITE(&e->conn->lock);
    OVS_PREFETCH_WRITE(&e->conn->version);
}

static void
chunk_free(struct watch *w, struct half_open_chunk *chunk)
{
    free(chunk);
    w->n_chunks--;
}

/* How many are to leave before somebody looks again. */
static uint32_t
eviction_quota(const struct watch *w, uint32_t limit, const struct eviction *x)
{
    uint32_t n = count(w) - x->n_ended;

    return n > limit ? MIN(n - limit, MAX_UNCHECKED) : 0;
}

/* Has entries of the oldest chunk up to 'n' leave, or spares them, until there
 * are no more than 'limit', which isn't CONNTRACK_HALF_OPEN_UNLIMITED. */
static void
evict_until(struct watch *w, uint32_t n, uint32_t limit)
{
    struct half_open_chunk *chunk = w->first;
    struct eviction x = { .n = 0, .n_ended = 0 };
    struct spared spared = { .n = 0 };
    long long int now = time_msec();
    uint32_t quota = 0;

    sources_look(&w->sources);
    for (uint32_t i = w->pos; i < MIN(n, w->pos + SWEEP_AHEAD); i++) {
        prefetch_conn(&chunk->entries[i]);
    }
    while (w->pos < n
           && (quota || (quota = eviction_quota(w, limit, &x)))) {
        const struct half_open_entry *e = &chunk->entries[w->pos++];

        if (w->pos - 1 + SWEEP_AHEAD < n) {
            prefetch_conn(e + SWEEP_AHEAD);
        }
        if (!source_is_spared(&w->sources, e->source)) {
            if (evict(w, e, now, &x)) {
                source_loses_one(&w->sources, e->source);
                quota--;
            }
        } else if (!entry_is_void(e)) {
            spared.entries[spared.n++] = *e;
            if (spared.n == EVICT_BATCH) {
                enter_again(w, &spared);
            }
        }
    }
    evict_all(w->ct, &x);
    enter_again(w, &spared);
}

/* Oldest first, until there are not too many, or no more entries in the oldest
 * chunk.  Returns false if there is nothing more to do. */
static bool
evict_from_chunk(struct watch *w)
{
    struct half_open_chunk *chunk = w->first, *next;
    uint32_t n, limit = get_limit(w);

    /* In this order: a chunk with a successor gets no more entries. */
    atomic_read_explicit(&chunk->next, &next, memory_order_acquire);
    atomic_read_explicit(&chunk->n, &n, memory_order_acquire);
    /* The main thread may change the limit meanwhile. */
    if (w->pos < n && is_beyond(w, limit)) {
        evict_until(w, n, limit);
    }
    if (w->pos >= n && next) {
        w->first = next;
        w->pos = 0;
        chunk_free(w, chunk);
        return true;
    }
    return false;
}

/* Takes void entries out of all chunks but the last. */
static void
sweep(struct watch *w)
{
    struct half_open_chunk *to = w->first, *from = to, *next;
    uint32_t pos = w->pos, n, n_to = 0;

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
        chunk_free(w, gone);
    }
    w->pos = 0;
}

/* True if a sweep would make the list half as long. */
static bool
is_mostly_void(const struct watch *w)
{
    size_t n = count(w);

    return w->n_chunks > N_SPARES + SWEEP_CHUNKS + 2 * n / CHUNK_ENTRIES;
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
prepare_chunks(struct watch *w)
    OVS_EXCLUDED(w->ct->ct_lock)
{
    uint32_t set = limit_set(watch_index(w));
    size_t limit = (set == CONNTRACK_HALF_OPEN_UNLIMITED ? max_conns(w->ct)
                    : MIN(set, max_conns(w->ct)));
    size_t max = N_SPARES + 2 * SWEEP_CHUNKS + 4 * (limit / CHUNK_ENTRIES + 1);
    unsigned int n_spares = 0;

    do {
        struct half_open_chunk *chunk = (w->n_chunks < max ? chunk_create()
                                         : NULL);

        if (!chunk) {
            return;
        }
        ovs_mutex_lock(&w->ct->ct_lock);
        n_spares = w->n_spares;
        if (n_spares < N_SPARES) {
            atomic_store_relaxed(&chunk->next, w->spares);
            w->spares = chunk;
            n_spares = ++w->n_spares;
            w->n_chunks++;
            chunk = NULL;
        }
        ovs_mutex_unlock(&w->ct->ct_lock);
        free(chunk);
    } while (n_spares < N_SPARES);
}

static bool
has_nearly_too_many(const struct conntrack_half_open *h)
{
    for (size_t i = 0; i < N_WATCHES; i++) {
        uint32_t limit = get_limit(&h->watches[i]);

        if (limit && count(&h->watches[i]) > limit - limit / 8) {
            return true;
        }
    }
    return false;
}

/* Waits until there is something to do: while there are nearly too many
 * connections, for a millisecond. */
static void
half_open_sleep(struct conntrack_half_open *h, uint64_t seqno)
{
    if (has_nearly_too_many(h)) {
        poll_timer_wait(1);
    } else {
        /* In this order: who has found nobody asleep stored before what is
         * looked at here. */
        atomic_store(&h->asleep, true);
        atomic_thread_fence(memory_order_seq_cst);
        if (any_has_too_many(h) || !conntrack_table_is_ready(h->ct)) {
            poll_immediate_wake();
        }
    }
    seq_wait(h->seq, seqno);
    latch_wait(&h->exit);
    poll_block();
    atomic_store(&h->asleep, false);
}

/* Does what there is to do. */
static void
watch_run(struct conntrack_half_open *h, struct watch *w)
{
    while (evict_from_chunk(w) && !latch_is_set(&h->exit)) {
        prepare_chunks(w);
        ovsrcu_quiesce();
    }
    prepare_chunks(w);
    if (is_mostly_void(w)) {
        sweep(w);
        prepare_chunks(w);
    }
}

static void *
half_open_main(void *h_)
{
    struct conntrack_half_open *h = h_;

    while (!latch_is_set(&h->exit)) {
        uint64_t seqno = seq_read(h->seq);

        conntrack_table_prepare(h->ct);
        for (size_t i = 0; i < N_WATCHES; i++) {
            watch_run(h, &h->watches[i]);
        }
        half_open_sleep(h, seqno);
    }
    return NULL;
}

/* Beginning and end. */

static void flusher_stop(struct conntrack *);

static void
watch_init(struct watch *w, struct conntrack *ct)
{
    w->ct = ct;
    atomic_init(&w->n_left, 0);
    atomic_init(&w->n_entered, 0);
    atomic_init(&w->n_evicted, 0);
    atomic_init(&w->n_unwatched, 0);
    sources_init(&w->sources);
    w->first = w->last = chunk_create();
    w->n_chunks = 1;
}

void
conntrack_half_open_start(struct conntrack *ct)
{
    if (ct->half_open) {
        return;
    }

    struct conntrack_half_open *h = xzalloc_cacheline(sizeof *h);
    h->ct = ct;
    for (size_t i = 0; i < N_WATCHES; i++) {
        watch_init(&h->watches[i], ct);
    }
    atomic_init(&h->asleep, false);
    latch_init(&h->exit);
    h->seq = seq_create();

    ovs_mutex_lock(&ct->ct_lock);
    ct->half_open = h;
    ovs_mutex_unlock(&ct->ct_lock);
    for (size_t i = 0; i < N_WATCHES; i++) {
        prepare_chunks(&h->watches[i]);
    }
    h->thread = ovs_thread_create("ct_evict", half_open_main, h);
}

void
conntrack_half_open_run(struct conntrack *ct)
{
    if (any_has_too_many(ct->half_open)) {
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
        for (size_t i = 0; i < N_WATCHES; i++) {
            free_chunks(h->watches[i].first);
            free_chunks(h->watches[i].spares);
        }
        free_cacheline(h);
    }
}

static void
get_stats(const struct conntrack *ct, size_t i,
          struct conntrack_half_open_stats *stats)
{
    memset(stats, 0, sizeof *stats);
    stats->limit = limit_now(ct, i);
    if (ct->half_open) {
        struct watch *w = &ct->half_open->watches[i];

        stats->n = count(w);
        atomic_read_relaxed(&w->n_evicted, &stats->evicted);
        atomic_read_relaxed(&w->n_unwatched, &stats->unwatched);
    }
}

void
conntrack_half_open_get_stats(const struct conntrack *ct,
                              struct conntrack_half_open_stats *stats)
{
    get_stats(ct, HALF_OPEN, stats);
}

void
conntrack_unanswered_get_stats(const struct conntrack *ct,
                               struct conntrack_half_open_stats *stats)
{
    get_stats(ct, UNANSWERED, stats);
}

#include "conntrack-table.c"
#include "conntrack-flush.c"
#include "conntrack-sctp.c"
