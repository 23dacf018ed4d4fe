/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack.c, see conntrack-pool.h. */

#include "conntrack-pool.h"

#include <malloc.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#include <sys/mman.h>
#include "conntrack-half-open.h"
#include "conntrack-table.h"
#include "conntrack-track.h"
#include "ovs-thread.h"
#include "seq.h"

COVERAGE_DEFINE(conntrack_pool_short);

#define POOL_SLOT CONNTRACK_POOL_SLOT
BUILD_ASSERT_DECL(sizeof(struct conn) <= POOL_SLOT);

/* Slots lie in one range of address space, whose memory is taken step by
 * step.  What isn't taken costs nothing.  Where there is little address space,
 * the range is shorter. */
#define POOL_RANGE ((size_t) 64 << 30)
#define POOL_MIN_RANGE ((size_t) 1 << 30)
#define POOL_STEP ((size_t) 2 << 20)

/* How much lies ready. */
#define POOL_READY (4 * POOL_STEP)

/* A slot is fetched when so many more will be given out before it. */
#define POOL_AHEAD 4

/* What anybody may look at at any time, also in a free slot: 'half_open',
 * which is 0 there, and 'version', which stays as it is. */
#define POOL_HALF_OPEN offsetof(struct conn, half_open)
#define POOL_VERSION offsetof(struct conn, version)
#define POOL_PUBLIC sizeof(uint32_t)
BUILD_ASSERT_DECL(MEMBER_SIZEOF(struct conn, half_open) == POOL_PUBLIC
                  && MEMBER_SIZEOF(struct conn, version) == POOL_PUBLIC
                  && POOL_HALF_OPEN < POOL_VERSION);

/* Slots change hands between threads by the crate: one slot that lists others,
 * by their place in the range. */
#define POOL_CRATE_SLOTS 36
struct pool_crate {
    struct pool_crate *next;
    uint32_t n;
    uint32_t slots[POOL_CRATE_SLOTS - 1];
};
BUILD_ASSERT_DECL(sizeof(struct pool_crate) <= POOL_HALF_OPEN);
BUILD_ASSERT_DECL(POOL_RANGE / POOL_SLOT < UINT32_MAX);

/* Free slots of one thread. */
struct pool_cache {
    size_t n;
    void *slots[2 * POOL_CRATE_SLOTS];
};

static struct ovs_mutex pool_mutex = OVS_MUTEX_INITIALIZER;

/* The range.  Immutable once 'pool_end' isn't NULL. */
static char *pool_begin;
static ATOMIC(char *) pool_end = NULL;

struct conntrack_versions conntrack_versions;

/* Of struct pool_cache.  There once 'pool_end' isn't NULL. */
static ovsthread_key_t pool_cache_key;

/* Slots from 'pool_next' to 'pool_open' may be given out; beyond there is only
 * address space. */
static char *pool_next OVS_GUARDED_BY(pool_mutex);
static char *pool_open OVS_GUARDED_BY(pool_mutex);
static struct pool_crate *pool_crates OVS_GUARDED_BY(pool_mutex);

static struct seq *pool_seq;            /* Changes when little is ready. */

/* For AddressSanitizer: most of a free slot isn't to be looked at. */
#ifdef __SANITIZE_ADDRESS__
static void
pool_poison(char *slot)
{
    size_t begin = ROUND_UP(sizeof(struct pool_crate), 8);
    size_t half_open = ROUND_DOWN(POOL_HALF_OPEN, 8);
    size_t version = ROUND_DOWN(POOL_VERSION, 8);

    if (begin < half_open) {
        ASAN_POISON_MEMORY_REGION(slot + begin, half_open - begin);
    }
    ASAN_POISON_MEMORY_REGION(slot + half_open + 8, version - half_open - 8);
    ASAN_POISON_MEMORY_REGION(slot + version + 8, POOL_SLOT - version - 8);
}

static void
pool_unpoison(char *slot)
{
    ASAN_UNPOISON_MEMORY_REGION(slot, POOL_SLOT);
}
#else
static void
pool_poison(char *slot OVS_UNUSED)
{
}

static void
pool_unpoison(char *slot OVS_UNUSED)
{
}
#endif

/* Threads' caches. */

static void
pool_give_crate(struct pool_cache *cache)
    OVS_REQUIRES(pool_mutex)
{
    struct pool_crate *crate = cache->slots[--cache->n];

    crate->n = MIN(cache->n, ARRAY_SIZE(crate->slots));
    for (uint32_t i = 0; i < crate->n; i++) {
        char *slot = cache->slots[--cache->n];

        crate->slots[i] = (slot - pool_begin) / POOL_SLOT;
    }
    crate->next = pool_crates;
    pool_crates = crate;
}

static void
pool_take_crate(struct pool_cache *cache)
    OVS_REQUIRES(pool_mutex)
{
    struct pool_crate *crate = pool_crates;

    pool_crates = crate->next;
    for (uint32_t i = 0; i < crate->n; i++) {
        cache->slots[cache->n++] = (pool_begin
                                    + (size_t) crate->slots[i] * POOL_SLOT);
    }
    cache->slots[cache->n++] = crate;
}

/* The versions of all slots in a range of so many bytes. */
static size_t
pool_versions_size(size_t range)
{
    return ROUND_UP(range / POOL_SLOT * sizeof *conntrack_versions.versions,
                    get_page_size());
}

/* Pages with the versions of slots that end in a step: '*n' bytes. */
static char *
pool_versions_of(const char *step, size_t *n)
{
    size_t page_size = get_page_size();
    size_t from = (step - pool_begin) / POOL_SLOT;
    size_t to = (step + POOL_STEP - pool_begin) / POOL_SLOT;

    from = ROUND_DOWN(from * sizeof *conntrack_versions.versions, page_size);
    to = ROUND_UP(to * sizeof *conntrack_versions.versions, page_size);
    *n = to - from;
    return (char *) conntrack_versions.versions + from;
}

static bool
pool_open_versions(char *step)
{
    size_t n;
    char *versions = pool_versions_of(step, &n);

    return !mprotect(versions, n, PROT_READ | PROT_WRITE);
}

/* Opens a step of memory, whose address the caller has from 'pool_open'.  Any
 * thread, and two at once. */
static bool
pool_open_step(char *step)
{
    if (!pool_open_versions(step)
        || mprotect(step, POOL_STEP, PROT_READ | PROT_WRITE)) {
        VLOG_WARN_ONCE("no memory for connections (%s), which come from "
                       "malloc() then", ovs_strerror(errno));
        return false;
    }
    madvise(step, POOL_STEP, MADV_HUGEPAGE);
    return true;
}

static char *
pool_get_end(void)
{
    char *end;

    atomic_read_explicit(&pool_end, &end, memory_order_acquire);
    return end;
}

static void
pool_take_new(struct pool_cache *cache)
    OVS_REQUIRES(pool_mutex)
{
    /* If nothing is ready, memory that nobody has touched, rather than
     * none. */
    if (pool_open - pool_next < POOL_SLOT && pool_open < pool_get_end()
        && pool_open_step(pool_open)) {
        pool_open += POOL_STEP;
    }

    size_t left = pool_open - pool_next;

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

/* The calling thread's.  Not in a destructor of an ovsthread_key_t, which runs
 * with the lock that all of these share; in one of a plain pthread key it may
 * be made once more, and goes with the next round of destructors. */
static struct pool_cache *
pool_cache_get(void)
{
    struct pool_cache *cache = ovsthread_getspecific(pool_cache_key);

    if (!cache) {
        cache = xzalloc(sizeof *cache);
        ovsthread_setspecific(pool_cache_key, cache);
    }
    return cache;
}

bool
conntrack_pool_owns(const void *p)
{
    const char *end = pool_get_end();

    return end && (const char *) p >= pool_begin && (const char *) p < end;
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

static void *
pool_alloc_elsewhere(size_t size)
{
    COVERAGE_INC(conntrack_pool_short);
    return xmalloc(size);
}

void *
conntrack_pool_alloc(size_t size)
{
    if (!pool_get_end() || size > POOL_SLOT) {
        return pool_alloc_elsewhere(size);
    }

    struct pool_cache *cache = pool_cache_get();
    if (!cache->n) {
        pool_refill(cache);
        if (!cache->n) {
            return pool_alloc_elsewhere(size);
        }
    }
    if (cache->n >= POOL_AHEAD) {
        pool_prefetch(cache->slots[cache->n - POOL_AHEAD]);
    }

    void *slot = cache->slots[--cache->n];
    pool_unpoison(slot);
    return slot;
}

void *
conntrack_pool_zalloc(size_t size)
{
    char *p = conntrack_pool_alloc(size);

    if (!conntrack_pool_owns(p)) {
        return memset(p, 0, size);
    }
    /* The whole slot: that takes less time than to look how much. */
    memset(p, 0, POOL_HALF_OPEN);
    memset(p + POOL_HALF_OPEN + POOL_PUBLIC, 0,
           POOL_VERSION - POOL_HALF_OPEN - POOL_PUBLIC);
    memset(p + POOL_VERSION + POOL_PUBLIC, 0,
           POOL_SLOT - POOL_VERSION - POOL_PUBLIC);
    return p;
}

bool
conntrack_pool_put(void *p)
{
    if (!p || !conntrack_pool_owns(p)) {
        return false;
    }
    pool_poison(p);

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
    return (conntrack_pool_owns(p) ? POOL_SLOT
            : malloc_usable_size(CONST_CAST(void *, p)));
}

size_t
conntrack_pool_bytes(void)
{
    size_t n;

    ovs_mutex_lock(&pool_mutex);
    n = pool_open - pool_begin;
    n += n / POOL_SLOT * sizeof *conntrack_versions.versions;
    ovs_mutex_unlock(&pool_mutex);
    return n;
}

/* Preparing, in a thread of its own: the kernel may take long to find a large
 * page. */

static void
pool_reserve(void)
{
    for (size_t size = POOL_RANGE; size >= POOL_MIN_RANGE; size /= 2) {
        /* Aligned, for large pages. */
        char *p = mmap(NULL, size + POOL_STEP, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) {
            continue;
        }
        char *begin = ALIGNED_CAST(char *,
                                   ROUND_UP((uintptr_t) p, POOL_STEP));
        if (begin > p) {
            munmap(p, begin - p);
        }
        munmap(begin + size, p + POOL_STEP - begin);

        void *versions = mmap(NULL, pool_versions_size(size), PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                              -1, 0);
        if (versions == MAP_FAILED) {
            munmap(begin, size);
            continue;
        }
        conntrack_versions.begin = begin;
        conntrack_versions.versions = versions;

        ovs_mutex_lock(&pool_mutex);
        pool_begin = pool_next = pool_open = begin;
        ovs_mutex_unlock(&pool_mutex);
        atomic_store_explicit(&pool_end, begin + size, memory_order_release);
        return;
    }
    VLOG_WARN("no address space for connections (%s), which come from "
              "malloc() then", ovs_strerror(errno));
}

/* Has the system give memory that may be in use. */
static void
pool_touch(char *begin, size_t n)
{
    size_t page_size = get_page_size();
    uint8_t orig;

    for (size_t i = 0; i < n; i += page_size) {
        atomic_or_explicit((atomic_uint8_t *) (begin + i), 0, &orig,
                           memory_order_relaxed);
    }
}

/* Prepares one step if there is not enough.  Returns true if there may still
 * be too little. */
static bool
pool_prepare(void)
{
    ovs_mutex_lock(&pool_mutex);
    char *step = pool_open;
    size_t left = pool_open - pool_next;
    ovs_mutex_unlock(&pool_mutex);

    if (left >= POOL_READY || step >= pool_get_end()
        || !pool_open_step(step)) {
        return false;
    }
    pool_touch(step, POOL_STEP);
    size_t n;
    char *versions = pool_versions_of(step, &n);
    pool_touch(versions, n);

    ovs_mutex_lock(&pool_mutex);
    if (pool_open == step) {
        pool_open += POOL_STEP;
    }
    ovs_mutex_unlock(&pool_mutex);
    return true;
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

void
conntrack_pool_run(struct conntrack *ct)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    conntrack_half_open_start(ct);
    conntrack_half_open_run(ct);
    if (!conntrack_table_is_ready(ct)) {
        conntrack_half_open_wake(ct);
    }
    if (ovsthread_once_start(&once)) {
        pool_seq = seq_create();
        ovsthread_key_create(&pool_cache_key, pool_cache_destroy);
        pool_reserve();
        ovs_thread_create("ct_pool", pool_main, NULL);
        ovsthread_once_done(&once);
    }
}
