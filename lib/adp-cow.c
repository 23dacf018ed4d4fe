/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-cow.h"
#include "openvswitch/list.h"
#include "openvswitch/thread.h"
#include "ovs-atomic.h"
#include "util.h"

/* Before each node.  Sizes are in units of 8 bytes. */
struct header {
    uint64_t stamp : 40;
    uint64_t size : 24;
};
BUILD_ASSERT_DECL(sizeof(struct header) == 8);

#define MAX_STAMP ((UINT64_C(1) << 40) - 1)

/* Nodes of ADP_COW_LINE bytes: with their headers they are cache lines, which
 * come from *slabs*.  Line 0 of a slab is its head. */

#define LINE_SIZE (sizeof(struct header) + ADP_COW_LINE)
#define SLAB_SIZE (64 * 1024)
#define SLAB_LINES (SLAB_SIZE / LINE_SIZE)
BUILD_ASSERT_DECL(LINE_SIZE == CACHE_LINE_SIZE);

struct line {
    struct line *next;          /* While it is free. */
};

/* Lets AddressSanitizer know which lines are free. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(P) ASAN_POISON_MEMORY_REGION(P, LINE_SIZE)
#define UNPOISON(P) ASAN_UNPOISON_MEMORY_REGION(P, LINE_SIZE)
#else
#define POISON(P) ((void) (P))
#define UNPOISON(P) ((void) (P))
#endif

struct slab {
    struct ovs_list node;       /* In 'slabs', if it has a free line. */
    struct line *free;
    uint32_t n_fresh;           /* That were never in use, at the end. */
    uint32_t n_used;
};
BUILD_ASSERT_DECL(sizeof(struct slab) <= LINE_SIZE);

static struct ovs_mutex slabs_mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list slabs OVS_GUARDED_BY(slabs_mutex)
    = OVS_LIST_INITIALIZER(&slabs);

static struct slab *
slab_create(void)
    OVS_REQUIRES(slabs_mutex)
{
    struct slab *slab = xmalloc_size_align(SLAB_SIZE, SLAB_SIZE);

    slab->free = NULL;
    slab->n_fresh = SLAB_LINES - 1;
    slab->n_used = 0;
    ovs_list_push_front(&slabs, &slab->node);
    return slab;
}

static bool
slab_is_full(const struct slab *slab)
{
    return slab->n_used == SLAB_LINES - 1;
}

static void *
line_alloc(void)
{
    struct line *line;
    struct slab *slab;

    ovs_mutex_lock(&slabs_mutex);
    slab = (ovs_list_is_empty(&slabs) ? slab_create()
            : CONTAINER_OF(ovs_list_front(&slabs), struct slab, node));
    line = slab->free;
    if (line) {
        UNPOISON(line);
        slab->free = line->next;
    } else {
        line = (struct line *) ((char *) slab
                                + (SLAB_LINES - slab->n_fresh--) * LINE_SIZE);
    }
    slab->n_used++;
    if (slab_is_full(slab)) {
        ovs_list_remove(&slab->node);
    }
    ovs_mutex_unlock(&slabs_mutex);
    return memset(line, 0, LINE_SIZE);
}

static void
line_free(void *p)
{
    struct slab *slab = (struct slab *) ((uintptr_t) p
                                         & ~(uintptr_t) (SLAB_SIZE - 1));
    struct line *line = p;

    ovs_mutex_lock(&slabs_mutex);
    if (slab_is_full(slab)) {
        ovs_list_push_back(&slabs, &slab->node);
    }
    line->next = slab->free;
    slab->free = line;
    POISON(line);
    if (!--slab->n_used) {
        ovs_list_remove(&slab->node);
        for (size_t i = 1; i < SLAB_LINES; i++) {
            UNPOISON((char *) slab + i * LINE_SIZE);
        }
        free_size_align(slab);
    }
    ovs_mutex_unlock(&slabs_mutex);
}

struct adp_garbage_item {
    void (*free_cb)(void *);
    void *p;
};

static atomic_uint64_t last_stamp = ATOMIC_VAR_INIT(0);

static struct header *
header_of(const void *node)
{
    return CONST_CAST(struct header *, (const struct header *) node - 1);
}

void
adp_garbage_free(struct adp_garbage *garbage)
{
    for (size_t i = 0; i < garbage->n; i++) {
        garbage->items[i].free_cb(garbage->items[i].p);
    }
    free(garbage->items);
    *garbage = (struct adp_garbage) { .items = NULL };
}

void
adp_cow_begin(struct adp_cow *cow)
{
    uint64_t stamp;

    atomic_add_relaxed(&last_stamp, 1, &stamp);
    *cow = (struct adp_cow) { .stamp = (stamp + 1) & MAX_STAMP };
}

struct adp_garbage
adp_cow_end(struct adp_cow *cow)
{
    struct adp_garbage garbage = cow->garbage;

    cow->garbage = (struct adp_garbage) { .items = NULL };
    return garbage;
}

void *
adp_cow_alloc(struct adp_cow *cow, size_t size)
{
    size_t units = DIV_ROUND_UP(size, 8);
    struct header *h = (units * 8 == ADP_COW_LINE ? line_alloc()
                        : xzalloc(sizeof *h + units * 8));

    ovs_assert(units < 1u << 24);
    h->stamp = cow->stamp;
    h->size = units;
    cow->n_bytes += sizeof *h + units * 8;
    return h + 1;
}

size_t
adp_cow_size(const void *node)
{
    return header_of(node)->size * 8;
}

void *
adp_cow_resize(struct adp_cow *cow, void *node, size_t size)
{
    void *new = adp_cow_alloc(cow, size);

    memcpy(new, node, MIN(adp_cow_size(node), size));
    adp_cow_discard(cow, node);
    return new;
}

void *
adp_cow_own(struct adp_cow *cow, void *node)
{
    return (header_of(node)->stamp == cow->stamp
            ? node
            : adp_cow_resize(cow, node, adp_cow_size(node)));
}

void
adp_cow_discard(struct adp_cow *cow, void *node)
{
    if (!node) {
        return;
    }
    cow->n_bytes -= sizeof(struct header) + adp_cow_size(node);
    if (header_of(node)->stamp == cow->stamp) {
        adp_cow_free(node);
    } else {
        adp_cow_postpone(cow, adp_cow_free, node);
    }
}

void
adp_cow_postpone(struct adp_cow *cow, void (*free_cb)(void *), void *p)
{
    struct adp_garbage *garbage = &cow->garbage;

    if (garbage->n >= garbage->allocated) {
        garbage->items = x2nrealloc(garbage->items, &garbage->allocated,
                                    sizeof *garbage->items);
    }
    garbage->items[garbage->n++] = (struct adp_garbage_item) {
        .free_cb = free_cb,
        .p = p,
    };
}

void
adp_cow_free(void *node)
{
    if (!node) {
        return;
    }
    if (adp_cow_size(node) == ADP_COW_LINE) {
        line_free(header_of(node));
    } else {
        free(header_of(node));
    }
}
