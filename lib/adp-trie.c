/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-trie.h"
#include "adp-cow.h"

/* A bucket is a line with the header that adp-cow.h puts before it. */
BUILD_ASSERT_DECL(sizeof(struct adp_trie_bucket) == ADP_COW_LINE);

/* The directory grows when it is too small for a bucket to be split, and there
 * are at least so many items per bucket in it.  Otherwise the bucket is
 * chained. */
#define MIN_ITEMS 2

/* Two halves with up to so many items are merged. */
#define MERGE_ITEMS 3

#define LAST (ADP_TRIE_BUCKET_ITEMS - 1)
#define DEPTH_SHIFT 48

static uint64_t
hash_of(const void *item)
{
    return *(const uint64_t *) item;
}

static void
discard(void *node, struct adp_cow *cow)
{
    if (cow) {
        adp_cow_discard(cow, node);
    } else {
        adp_cow_free(node);
    }
}

/* Buckets. */

static uint32_t
bucket_depth(const struct adp_trie_bucket *b)
{
    return b->meta >> DEPTH_SHIFT & 0xff;
}

static struct adp_trie_bucket *
bucket_create(struct adp_cow *cow, uint32_t depth)
{
    struct adp_trie_bucket *b = adp_cow_alloc(cow, sizeof *b);

    b->meta = (uint64_t) depth << DEPTH_SHIFT;
    return b;
}

static struct adp_trie_bucket *
bucket_next(const struct adp_trie_bucket *b)
{
    return CONST_CAST(struct adp_trie_bucket *, adp_trie_next_bucket(b));
}

static bool
has_item(const struct adp_trie_bucket *b, size_t i)
{
    return b->meta >> 8 * i & 0xff;
}

static void
set_item(struct adp_trie_bucket *b, size_t i, const void *item)
{
    uint64_t address = (uintptr_t) item;
    uint64_t hash = hash_of(item);

    ovs_assert(!(address >> 48));
    b->meta = ((b->meta & ~(UINT64_C(0xff) << 8 * i))
               | adp_trie_tag(hash) << 8 * i);
    b->items[i] = address | (hash >> 8 & 0xffff) << 48;
}

static void
clear_item(struct adp_trie_bucket *b, size_t i)
{
    b->meta &= ~(UINT64_C(0xff) << 8 * i);
    b->items[i] = 0;
}

/* How many places for items a bucket has. */
static size_t
bucket_size(const struct adp_trie_bucket *b)
{
    return ADP_TRIE_BUCKET_ITEMS - !!(b->meta & ADP_TRIE_MORE);
}

static size_t
count_items(const struct adp_trie_bucket *b)
{
    size_t n = 0;

    for (size_t i = 0; i < bucket_size(b); i++) {
        n += has_item(b, i);
    }
    return n;
}

/* Puts 'item' into 'b', which is new, if there is room. */
static bool
put_item(struct adp_trie_bucket *b, const void *item)
{
    for (size_t i = 0; i < bucket_size(b); i++) {
        if (!has_item(b, i)) {
            set_item(b, i, item);
            return true;
        }
    }
    return false;
}

/* Makes sure that the bucket after 'b', which is new, may be changed. */
static struct adp_trie_bucket *
own_next(struct adp_cow *cow, struct adp_trie_bucket *b)
{
    struct adp_trie_bucket *next = adp_cow_own(cow, bucket_next(b));

    b->items[LAST] = (uintptr_t) next;
    return next;
}

/* Puts 'item' into a chain of buckets that starts with 'b', which is new. */
static void
chain_item(struct adp_cow *cow, struct adp_trie_bucket *b, const void *item)
{
    while (!put_item(b, item)) {
        if (!(b->meta & ADP_TRIE_MORE)) {
            struct adp_trie_bucket *next;

            next = bucket_create(cow, bucket_depth(b));
            set_item(next, 0, adp_trie_ptr(b->items[LAST]));
            clear_item(b, LAST);
            b->items[LAST] = (uintptr_t) next;
            b->meta |= ADP_TRIE_MORE;
        }
        b = own_next(cow, b);
    }
}

/* Takes all items out of 'b', which is new, and of those chained to it.  The
 * caller must free the array. */
static void **
take_items(struct adp_cow *cow, struct adp_trie_bucket *b, size_t *n)
{
    struct adp_trie_bucket *next = b;
    size_t n_max = 0;
    void **items;

    for (; next; next = bucket_next(next)) {
        n_max += ADP_TRIE_BUCKET_ITEMS;
    }
    items = xmalloc(n_max * sizeof *items);
    *n = 0;
    for (struct adp_trie_bucket *p = b; p; p = next) {
        next = bucket_next(p);
        for (size_t i = 0; i < bucket_size(p); i++) {
            if (has_item(p, i)) {
                items[(*n)++] = adp_trie_ptr(p->items[i]);
            }
        }
        if (p != b) {
            adp_cow_discard(cow, p);
        }
    }
    b->meta &= ~(ADP_TRIE_TAGS | ADP_TRIE_MORE);
    memset(b->items, 0, sizeof b->items);
    return items;
}

/* The directory. */

static size_t
n_pages(uint32_t depth)
{
    return (depth <= ADP_TRIE_PAGE_BITS ? 1
            : (size_t) 1 << (depth - ADP_TRIE_PAGE_BITS));
}

static size_t
page_size(uint32_t depth)
{
    return (size_t) 1 << MIN(depth, ADP_TRIE_PAGE_BITS);
}

static struct adp_trie_root *
root_create(struct adp_cow *cow, uint32_t depth)
{
    struct adp_trie_root *root;

    root = adp_cow_alloc(cow, sizeof *root
                         + n_pages(depth) * sizeof root->pages[0]);
    root->depth = depth;
    for (size_t i = 0; i < n_pages(depth); i++) {
        root->pages[i] = adp_cow_alloc(cow, (page_size(depth)
                                             * sizeof root->pages[i][0]));
    }
    return root;
}

static void
root_destroy(struct adp_trie_root *root, struct adp_cow *cow)
{
    for (size_t i = 0; i < n_pages(root->depth); i++) {
        discard(root->pages[i], cow);
    }
    discard(root, cow);
}

static struct adp_trie_bucket *
get_bucket(const struct adp_trie_root *root, size_t i)
{
    return root->pages[i >> ADP_TRIE_PAGE_BITS][i % ADP_TRIE_PAGE_SIZE];
}

/* Has 'b' as the bucket for 'n' values from 'i' on. */
static void
set_buckets(struct adp_cow *cow, struct adp_trie_root *root, size_t i,
            size_t n, struct adp_trie_bucket *b)
{
    for (; n; i++, n--) {
        struct adp_trie_bucket ***page;

        page = &root->pages[i >> ADP_TRIE_PAGE_BITS];
        *page = adp_cow_own(cow, *page);
        (*page)[i % ADP_TRIE_PAGE_SIZE] = b;
    }
}

/* The first value that a bucket of 'depth' is for, of those with 'hash'. */
static size_t
first_value(const struct adp_trie_root *root, uint64_t hash, uint32_t depth)
{
    return (hash >> 1 >> (63 - depth)) << (root->depth - depth);
}

/* Makes sure that the bucket for 'hash' may be changed. */
static struct adp_trie_bucket *
own_bucket(struct adp_cow *cow, struct adp_trie_root *root, uint64_t hash)
{
    struct adp_trie_bucket *old, *b;

    old = CONST_CAST(struct adp_trie_bucket *,
                     adp_trie_find_bucket(root, hash));
    b = adp_cow_own(cow, old);
    if (b != old) {
        uint32_t depth = bucket_depth(b);

        set_buckets(cow, root, first_value(root, hash, depth),
                    (size_t) 1 << (root->depth - depth), b);
    }
    return b;
}

static void
change_depth(struct adp_trie_root *root, struct adp_trie_bucket *b, int delta)
{
    root->n_deepest -= bucket_depth(b) == root->depth;
    b->meta += (uint64_t) delta * (UINT64_C(1) << DEPTH_SHIFT);
    root->n_deepest += bucket_depth(b) == root->depth;
}

/* Divides 'b', which is new and for 'hash', in two. */
static void
split_bucket(struct adp_cow *cow, struct adp_trie_root *root,
             struct adp_trie_bucket *b, uint64_t hash)
{
    uint32_t depth = bucket_depth(b);
    size_t n_values = (size_t) 1 << (root->depth - depth);
    struct adp_trie_bucket *upper = bucket_create(cow, depth);
    size_t n;
    void **items = take_items(cow, b, &n);

    set_buckets(cow, root, first_value(root, hash, depth) + n_values / 2,
                n_values / 2, upper);
    root->n_deepest += depth == root->depth;
    change_depth(root, b, 1);
    change_depth(root, upper, 1);
    for (size_t i = 0; i < n; i++) {
        chain_item(cow, hash_of(items[i]) >> (63 - depth) & 1 ? upper : b,
                   items[i]);
    }
    free(items);
}

/* Makes the directory anew, for one bit more or fewer. */
static void
resize(struct adp_cow *cow, struct adp_trie_root **rootp, int delta)
{
    struct adp_trie_root *old = *rootp;
    struct adp_trie_root *root = root_create(cow, old->depth + delta);

    root->n = old->n;
    for (size_t i = 0; i < (size_t) 1 << root->depth; i++) {
        struct adp_trie_bucket *b = get_bucket(old, (delta > 0 ? i >> 1
                                                     : i << 1));

        set_buckets(cow, root, i, 1, b);
        root->n_deepest += bucket_depth(b) == root->depth;
    }
    root_destroy(old, cow);
    *rootp = root;
}

/* Merges the bucket for 'hash' with its other half as long as that makes
 * sense. */
static void
merge(struct adp_cow *cow, struct adp_trie_root **root, uint64_t hash)
{
    for (;;) {
        struct adp_trie_bucket *b, *other;
        uint32_t depth;

        b = CONST_CAST(struct adp_trie_bucket *,
                       adp_trie_find_bucket(*root, hash));
        depth = bucket_depth(b);
        if (!depth) {
            break;
        }
        other = CONST_CAST(struct adp_trie_bucket *, adp_trie_find_bucket(
                               *root, hash ^ UINT64_C(1) << (64 - depth)));
        if (bucket_depth(other) != depth
            || (b->meta | other->meta) & ADP_TRIE_MORE
            || count_items(b) + count_items(other) > MERGE_ITEMS) {
            break;
        }

        b = own_bucket(cow, *root, hash);
        for (size_t i = 0; i < ADP_TRIE_BUCKET_ITEMS; i++) {
            if (has_item(other, i)) {
                put_item(b, adp_trie_ptr(other->items[i]));
            }
        }
        (*root)->n_deepest -= depth == (*root)->depth;
        adp_cow_discard(cow, other);
        change_depth(*root, b, -1);
        set_buckets(cow, *root, first_value(*root, hash, depth - 1),
                    (size_t) 1 << ((*root)->depth - (depth - 1)), b);
    }
    if ((*root)->depth && !(*root)->n_deepest) {
        resize(cow, root, -1);
    }
}

/* Removes 'item' from the bucket 'b', which is new, or those chained to it. */
static void
remove_item(struct adp_cow *cow, struct adp_trie_bucket *b, const void *item)
{
    if (b->meta & ADP_TRIE_MORE) {
        size_t n;
        void **items = take_items(cow, b, &n);

        for (size_t i = 0; i < n; i++) {
            if (items[i] != item) {
                chain_item(cow, b, items[i]);
            }
        }
        free(items);
    } else {
        size_t i = 0;

        while (!has_item(b, i) || adp_trie_ptr(b->items[i]) != item) {
            i++;
            ovs_assert(i < ADP_TRIE_BUCKET_ITEMS);
        }
        clear_item(b, i);
    }
}

/* Tables. */

void
adp_trie_insert(struct adp_cow *cow, adp_trie *trie, void *item)
{
    uint64_t hash = hash_of(item);

    if (*trie) {
        *trie = adp_cow_own(cow, *trie);
    } else {
        *trie = root_create(cow, 0);
        (*trie)->pages[0][0] = bucket_create(cow, 0);
        (*trie)->n_deepest = 1;
    }
    for (;;) {
        struct adp_trie_bucket *b = own_bucket(cow, *trie, hash);

        if (put_item(b, item)) {
            break;
        } else if (bucket_depth(b) < (*trie)->depth) {
            split_bucket(cow, *trie, b, hash);
        } else if ((*trie)->n >> (*trie)->depth >= MIN_ITEMS) {
            resize(cow, trie, 1);
        } else {
            chain_item(cow, b, item);
            break;
        }
    }
    (*trie)->n++;
}

void
adp_trie_remove(struct adp_cow *cow, adp_trie *trie, void *item)
{
    uint64_t hash = hash_of(item);

    if ((*trie)->n == 1) {
        adp_trie_destroy(*trie, cow);
        *trie = NULL;
        return;
    }
    *trie = adp_cow_own(cow, *trie);
    (*trie)->n--;
    remove_item(cow, own_bucket(cow, *trie, hash), item);
    merge(cow, trie, hash);
}

void
adp_trie_replace(struct adp_cow *cow, adp_trie *trie, void *old, void *new)
{
    struct adp_trie_bucket *b;

    if (old == new) {
        return;
    }
    *trie = adp_cow_own(cow, *trie);
    for (b = own_bucket(cow, *trie, hash_of(new)); ; b = own_next(cow, b)) {
        for (size_t i = 0; i < bucket_size(b); i++) {
            if (has_item(b, i) && adp_trie_ptr(b->items[i]) == old) {
                set_item(b, i, new);
                return;
            }
        }
        ovs_assert(b->meta & ADP_TRIE_MORE);
    }
}

/* Calls 'cb' for each first bucket of a chain. */
static void
for_each_bucket(const struct adp_trie_root *root,
                void (*cb)(struct adp_trie_bucket *, void *aux), void *aux)
{
    size_t next;

    for (size_t i = 0; i < (size_t) 1 << root->depth; i = next) {
        struct adp_trie_bucket *b = get_bucket(root, i);

        next = i + ((size_t) 1 << (root->depth - bucket_depth(b)));
        cb(b, aux);
    }
}

struct for_each_aux {
    void (*cb)(void *item, void *aux);
    void *aux;
};

static void
for_each_in_bucket(struct adp_trie_bucket *b, void *aux_)
{
    const struct for_each_aux *aux = aux_;

    for (; b; b = bucket_next(b)) {
        for (size_t i = 0; i < bucket_size(b); i++) {
            if (has_item(b, i)) {
                aux->cb(adp_trie_ptr(b->items[i]), aux->aux);
            }
        }
    }
}

void
adp_trie_for_each(adp_trie trie, void (*cb)(void *item, void *aux), void *aux)
{
    if (trie) {
        for_each_bucket(trie, for_each_in_bucket,
                        &(struct for_each_aux) { .cb = cb, .aux = aux });
    }
}

static void
destroy_bucket(struct adp_trie_bucket *b, void *cow)
{
    struct adp_trie_bucket *next;

    for (; b; b = next) {
        next = bucket_next(b);
        discard(b, cow);
    }
}

void
adp_trie_destroy(adp_trie trie, struct adp_cow *cow)
{
    if (trie) {
        for_each_bucket(trie, destroy_bucket, cow);
        root_destroy(trie, cow);
    }
}
