/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-cow.h"

#include <string.h>

#include "adp-rcu.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "util.h"

/* Before each node.  Sizes are in units of 8 bytes. */
struct header {
    uint64_t stamp : 40;
    uint64_t size : 24;
};
BUILD_ASSERT_DECL(sizeof(struct header) == 8);

#define MAX_STAMP ((UINT64_C(1) << 40) - 1)

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

/* Nodes that nobody needs, for who asks next: the latest first.  A change asks
 * for what the one before gave back.  Of malloc() it would get what was freed
 * longest ago, on a page of its own for each node, and pages that nobody has
 * touched for a while take longest to come. */

struct spare {
    struct spare *next;
};

struct spares {
    struct spare *first;
    unsigned int n;
};

static struct ovs_mutex spares_mutex = OVS_MUTEX_INITIALIZER;
static struct spares all_spares[ADP_COW_SPARE_UNITS + 1]
    OVS_GUARDED_BY(spares_mutex);   /* By units. */

/* None with AddressSanitizer, so that it sees what is used after it was
 * freed. */
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
static const unsigned int max_spares = 0;
#else
static const unsigned int max_spares = ADP_COW_MAX_SPARES;
#endif

/* NULL if there is none. */
static struct header *
take_spare(size_t units)
{
    struct spare *spare = NULL;

    if (units <= ADP_COW_SPARE_UNITS && !ovs_mutex_trylock(&spares_mutex)) {
        struct spares *spares = &all_spares[units];

        spare = spares->first;
        if (spare) {
            spares->first = spare->next;
            spares->n--;
        }
        ovs_mutex_unlock(&spares_mutex);
    }
    return (struct header *) spare;
}

/* Returns false if there are enough. */
static bool
keep_spare(struct header *h)
{
    size_t units = h->size;
    bool kept = false;

    if (units && units <= ADP_COW_SPARE_UNITS
        && !ovs_mutex_trylock(&spares_mutex)) {
        struct spares *spares = &all_spares[units];

        if (spares->n < max_spares) {
            struct spare *spare = (struct spare *) h;

            spare->next = spares->first;
            spares->first = spare;
            spares->n++;
            kept = true;
        }
        ovs_mutex_unlock(&spares_mutex);
    }
    return kept;
}

void
adp_garbage_free(struct adp_garbage *garbage)
{
    for (size_t i = 0; i < garbage->n; i++) {
        garbage->items[i].free_cb(garbage->items[i].p);
        adp_rcu_breathe();
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
    struct header *h = take_spare(units);

    ovs_assert(units < 1u << 24);
    if (h) {
        memset(h, 0, sizeof *h + units * 8);
    } else {
        h = xzalloc(sizeof *h + units * 8);
    }
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
    if (node && !keep_spare(header_of(node))) {
        free(header_of(node));
    }
}

void
adp_cow_release(struct adp_cow *cow, void *node)
{
    if (cow) {
        adp_cow_discard(cow, node);
    } else {
        adp_cow_free(node);
    }
}
