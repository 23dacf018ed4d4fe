/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack.c, see conntrack-pool.h. */

#include "conntrack-pool.h"

#include <malloc.h>
#include <sys/mman.h>
#include "cmap-ahead.h"
#include "ovs-thread.h"
#include "seq.h"

/* Room for a connection of any protocol. */
#define POOL_SLOT (5 * CACHE_LINE_SIZE)
BUILD_ASSERT_DECL(sizeof(struct conn) <= POOL_SLOT);

/* Slots lie in regions of address space, whose memory is taken step by step.
 * A region has room for more connections than conntrack's default limit. */
#define POOL_REGION_SIZE ((size_t) 1 << 30)
#define POOL_MAX_REGIONS 64
#define POOL_STEP ((size_t) 2 << 20)

/* How much lies ready. */
#define POOL_READY (4 * POOL_STEP)

/* The table has room from the start for all connections that conntrack will
 * track, up to this many, with two nodes each as those with NAT have. */
#define POOL_TABLE_MAX_CONNS 4000000

/* A slot is fetched when so many more will be given out before it. */
#define POOL_AHEAD 4

/* Slots change hands between threads by the crate: one slot that lists itself
 * and others. */
#define POOL_CRATE_SLOTS 36
struct pool_crate {
    struct pool_crate *next;
    void *slots[POOL_CRATE_SLOTS];
};
BUILD_ASSERT_DECL(sizeof(struct pool_crate) <= POOL_SLOT);

/* Free slots of one thread. */
struct pool_cache {
    size_t n;
    void *slots[2 * POOL_CRATE_SLOTS];
};

static struct ovs_mutex pool_mutex = OVS_MUTEX_INITIALIZER;

/* The regions only grow in number.  A slot in the latest may be given out up to
 * 'pool_ready'. */
static char *pool_regions[POOL_MAX_REGIONS];
static atomic_uint32_t n_pool_regions = 0;
static char *pool_next OVS_GUARDED_BY(pool_mutex);
static char *pool_ready OVS_GUARDED_BY(pool_mutex);
static struct pool_crate *pool_crates OVS_GUARDED_BY(pool_mutex);

static struct seq *pool_seq;            /* Changes when little is ready. */

#ifdef __SANITIZE_ADDRESS__
/* Leaves it to the sanitizer to watch over connections. */
static const bool pool_enabled = false;
#else
static const bool pool_enabled = true;
#endif

/* Threads' caches. */

static void
pool_give_crate(struct pool_cache *cache)
    OVS_REQUIRES(pool_mutex)
{
    size_t n = MIN(cache->n, POOL_CRATE_SLOTS);
    struct pool_crate *crate = cache->slots[cache->n - n];

    memset(crate->slots, 0, sizeof crate->slots);
    memcpy(crate->slots, &cache->slots[cache->n - n],
           n * sizeof *crate->slots);
    cache->n -= n;
    crate->next = pool_crates;
    pool_crates = crate;
}

static void
pool_take_crate(struct pool_cache *cache)
    OVS_REQUIRES(pool_mutex)
{
    struct pool_crate *crate = pool_crates;

    pool_crates = crate->next;
    for (size_t i = 0; i < POOL_CRATE_SLOTS && crate->slots[i]; i++) {
        cache->slots[cache->n++] = crate->slots[i];
    }
}

static void
pool_take_new(struct pool_cache *cache)
    OVS_REQUIRES(pool_mutex)
{
    size_t left = pool_ready - pool_next;

    for (size_t i = 0; i < POOL_CRATE_SLOTS && left >= POOL_SLOT; i++) {
        cache->slots[cache->n++] = pool_next;
        pool_next += POOL_SLOT;
        left -= POOL_SLOT;
    }
    if (left < POOL_READY / 2) {
        seq_change(pool_seq);
    }
}

static void
pool_prefetch(const char *slot)
{
    for (size_t i = 0; i < POOL_SLOT; i += CACHE_LINE_SIZE) {
        OVS_PREFETCH_WRITE(slot + i);
    }
}

static void
pool_cache_destroy(void *cache_)
{
    struct pool_cache *cache = cache_;

    ovs_mutex_lock(&pool_mutex);
    while (cache->n) {
        pool_give_crate(cache);
    }
    ovs_mutex_unlock(&pool_mutex);
    free(cache);
}

static struct pool_cache *
pool_cache_get(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;
    static ovsthread_key_t key;

    if (ovsthread_once_start(&once)) {
        ovsthread_key_create(&key, pool_cache_destroy);
        ovsthread_once_done(&once);
    }
    struct pool_cache *cache = ovsthread_getspecific(key);
    if (!cache) {
        cache = xzalloc(sizeof *cache);
        ovsthread_setspecific(key, cache);
    }
    return cache;
}

static bool
pool_owns(const void *p)
{
    uint32_t n;

    atomic_read_explicit(&n_pool_regions, &n, memory_order_acquire);
    for (uint32_t i = 0; i < n; i++) {
        if ((uintptr_t) p - (uintptr_t) pool_regions[i] < POOL_REGION_SIZE) {
            return true;
        }
    }
    return false;
}

/* Fills an empty 'cache' as far as it goes. */
static void
pool_refill(struct pool_cache *cache)
{
    ovs_mutex_lock(&pool_mutex);
    if (pool_crates) {
        pool_take_crate(cache);
    } else {
        pool_take_new(cache);
    }
    ovs_mutex_unlock(&pool_mutex);
    for (size_t i = 1; i < POOL_AHEAD && i <= cache->n; i++) {
        pool_prefetch(cache->slots[cache->n - i]);
    }
}

void *
conntrack_pool_alloc(size_t size)
{
    uint32_t n_regions;

    atomic_read_relaxed(&n_pool_regions, &n_regions);
    if (!n_regions || size > POOL_SLOT) {
        return xmalloc(size);
    }

    struct pool_cache *cache = pool_cache_get();
    if (!cache->n) {
        pool_refill(cache);
        if (!cache->n) {
            return xmalloc(size);
        }
    }
    if (cache->n >= POOL_AHEAD) {
        pool_prefetch(cache->slots[cache->n - POOL_AHEAD]);
    }
    return cache->slots[--cache->n];
}

void *
conntrack_pool_zalloc(size_t size)
{
    return memset(conntrack_pool_alloc(size), 0, size);
}

bool
conntrack_pool_put(void *p)
{
    if (!p || !pool_owns(p)) {
        return false;
    }

    struct pool_cache *cache = pool_cache_get();
    if (cache->n >= ARRAY_SIZE(cache->slots)) {
        ovs_mutex_lock(&pool_mutex);
        pool_give_crate(cache);
        ovs_mutex_unlock(&pool_mutex);
    }
    cache->slots[cache->n++] = p;
    return true;
}

void
conntrack_pool_free(void *p)
{
    if (!conntrack_pool_put(p)) {
        free(p);
    }
}

size_t
conntrack_pool_size(const void *p)
{
    return (pool_owns(p) ? POOL_SLOT
            : malloc_usable_size(CONST_CAST(void *, p)));
}

/* Preparing, in a thread of its own: the kernel may take long to find a large
 * page. */

static bool
pool_add_region(void)
{
    uint32_t n;

    atomic_read_relaxed(&n_pool_regions, &n);
    if (n >= POOL_MAX_REGIONS) {
        return false;
    }

    /* Aligned, for large pages. */
    size_t reserved = POOL_REGION_SIZE + POOL_STEP;
    char *p = mmap(NULL, reserved, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        VLOG_WARN_ONCE("no address space for connections (%s), which come "
                       "from malloc() then", ovs_strerror(errno));
        return false;
    }
    char *region = ALIGNED_CAST(char *, ROUND_UP((uintptr_t) p, POOL_STEP));
    if (region > p) {
        munmap(p, region - p);
    }
    munmap(region + POOL_REGION_SIZE, p + POOL_STEP - region);

    ovs_mutex_lock(&pool_mutex);
    pool_next = pool_ready = region;
    ovs_mutex_unlock(&pool_mutex);
    pool_regions[n] = region;
    atomic_store_explicit(&n_pool_regions, n + 1, memory_order_release);
    return true;
}

/* Makes one more step of the latest region ready. */
static bool
pool_prepare_step(char *step)
{
    size_t page_size = get_page_size();

    if (mprotect(step, POOL_STEP, PROT_READ | PROT_WRITE)) {
        VLOG_WARN_ONCE("no memory for connections (%s), which come from "
                       "malloc() then", ovs_strerror(errno));
        return false;
    }
    madvise(step, POOL_STEP, MADV_HUGEPAGE);
    for (size_t i = 0; i < POOL_STEP; i += page_size) {
        *(volatile char *) (step + i) = 0;
    }

    ovs_mutex_lock(&pool_mutex);
    pool_ready = step + POOL_STEP;
    ovs_mutex_unlock(&pool_mutex);
    return true;
}

/* True if all of the latest region, whose memory is ready up to 'ready', is. */
static bool
pool_region_is_ready(const char *ready)
{
    uint32_t n;

    atomic_read_relaxed(&n_pool_regions, &n);
    return !n || ready == pool_regions[n - 1] + POOL_REGION_SIZE;
}

/* Prepares one step if there is not enough.  Returns true if there may still
 * be too little. */
static bool
pool_prepare(void)
{
    ovs_mutex_lock(&pool_mutex);
    char *ready = pool_ready;
    size_t left = pool_ready - pool_next;
    ovs_mutex_unlock(&pool_mutex);

    if (pool_region_is_ready(ready)) {
        return left < POOL_SLOT && pool_add_region();
    }
    return left < POOL_READY && pool_prepare_step(ready);
}

static void *
pool_main(void *aux OVS_UNUSED)
{
    for (;;) {
        uint64_t seqno = seq_read(pool_seq);

        /* Nobody should wait for this thread's grace. */
        ovsrcu_quiesce_start();
        while (pool_prepare()) {
            continue;
        }
        ovsrcu_quiesce_end();
        seq_wait(pool_seq, seqno);
        poll_block();
    }
    return NULL;
}

static void
pool_prepare_table(struct conntrack *ct)
{
    unsigned int limit;

    atomic_read_relaxed(&ct->n_conn_limit, &limit);
    size_t n_nodes = 2 * (size_t) MIN(limit, POOL_TABLE_MAX_CONNS);
    if (!cmap_has_room(&ct->conns, n_nodes)) {
        ovs_mutex_lock(&ct->ct_lock);
        cmap_reserve(&ct->conns, n_nodes);
        ovs_mutex_unlock(&ct->ct_lock);
    }
}

void
conntrack_pool_run(struct conntrack *ct)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    pool_prepare_table(ct);
    if (pool_enabled && ovsthread_once_start(&once)) {
        pool_seq = seq_create();
        ovs_thread_create("ct_pool", pool_main, NULL);
        ovsthread_once_done(&once);
    }
}
