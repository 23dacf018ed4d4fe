/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-conj.h"
#include "adp-cow.h"

/* Spaces. */

/* Of blocks, to begin with; then they double. */
#define MIN_BLOCK_CONJS 8

struct adp_conj_space *
adp_conj_space_create(struct adp_cow *cow, uint32_t n_clauses)
{
    struct adp_conj_space *space = adp_cow_alloc(cow, sizeof *space);

    space->n_clauses = n_clauses;
    space->max = INT_MIN;
    return space;
}

void
adp_conj_space_destroy(struct adp_conj_space *space, struct adp_cow *cow)
{
    for (size_t i = 0; i < space->n_pages; i++) {
        struct adp_conj_page *page = space->pages[i].page;

        for (size_t j = 0; j < ADP_CONJ_PAGE_BLOCKS; j++) {
            adp_cow_release(cow, page->blocks[j]);
        }
        adp_cow_release(cow, page);
    }
    adp_cow_release(cow, space);
}

static uint16_t
class_of(int priority)
{
    return MAX(0, MIN(priority, UINT16_MAX)) / ADP_CONJ_CLASS_SIZE;
}

static bool
block_has_room(const struct adp_conj_space *space, size_t b, uint16_t class)
{
    const struct adp_conj_page *page;

    page = space->pages[b / ADP_CONJ_PAGE_BLOCKS].page;
    b %= ADP_CONJ_PAGE_BLOCKS;
    return (!page->n_used[b]
            || (page->class[b] == class
                && page->n_used[b] < ADP_CONJ_BLOCK_BITS));
}

/* Returns the number of a block with room, possibly just beyond the last. */
static size_t
find_block(const struct adp_conj_space *space, uint16_t class)
{
    size_t n = space->n_pages * ADP_CONJ_PAGE_BLOCKS;
    size_t empty = n;

    if (space->hint < n && block_has_room(space, space->hint, class)) {
        return space->hint;
    }
    for (size_t b = 0; b < n; b++) {
        if (block_has_room(space, b, class)) {
            const struct adp_conj_page *page;

            page = space->pages[b / ADP_CONJ_PAGE_BLOCKS].page;
            if (page->n_used[b % ADP_CONJ_PAGE_BLOCKS]) {
                return b;
            }
            empty = MIN(empty, b);
        }
    }
    return empty;
}

static void
add_page(struct adp_cow *cow, struct adp_conj_space **space)
{
    size_t n = (*space)->n_pages;
    struct adp_conj_page *page = adp_cow_alloc(cow, sizeof *page);

    for (size_t i = 0; i < ADP_CONJ_PAGE_BLOCKS; i++) {
        page->max[i] = page->later_max[i] = INT_MIN;
    }
    *space = adp_cow_resize(cow, *space,
                            offsetof(struct adp_conj_space, pages)
                            + (n + 1) * sizeof (*space)->pages[0]);
    (*space)->pages[n].max = INT_MIN;
    (*space)->pages[n].page = page;
    (*space)->n_pages++;
}

/* Makes sure that the page of block number 'b' may be changed. */
static struct adp_conj_page *
own_page(struct adp_cow *cow, struct adp_conj_space **space, size_t b)
{
    size_t i = b / ADP_CONJ_PAGE_BLOCKS;

    *space = adp_cow_own(cow, *space);
    (*space)->pages[i].page = adp_cow_own(cow, (*space)->pages[i].page);
    return (*space)->pages[i].page;
}

static void
set_block_max(struct adp_conj_page *page, size_t b, int max)
{
    page->max[b] = max;
    for (; b > 0; b--) {
        page->later_max[b - 1] = MAX(page->later_max[b], page->max[b]);
    }
}

static size_t
block_capacity(const struct adp_conj_block *block)
{
    return ((adp_cow_size(block) - offsetof(struct adp_conj_block, conjs))
            / sizeof block->conjs[0]);
}

/* Returns an index in 'block', which has room, for use. */
static size_t
take_from_block(struct adp_cow *cow, struct adp_conj_block **block)
{
    size_t n = *block ? (*block)->n : 0;

    for (size_t i = 0; i < n; i++) {
        if (!(*block)->conjs[i].n_refs) {
            *block = adp_cow_own(cow, *block);
            return i;
        }
    }
    if (!*block || n >= block_capacity(*block)) {
        size_t size = (offsetof(struct adp_conj_block, conjs)
                       + (n ? MIN(2 * n, ADP_CONJ_BLOCK_BITS)
                          : MIN_BLOCK_CONJS) * sizeof (*block)->conjs[0]);

        *block = (*block ? adp_cow_resize(cow, *block, size)
                  : adp_cow_alloc(cow, size));
    } else {
        *block = adp_cow_own(cow, *block);
    }
    return (*block)->n++;
}

uint32_t
adp_conj_space_alloc(struct adp_cow *cow, struct adp_conj_space **space,
                     int priority, uint32_t id)
{
    uint16_t class = class_of(priority);
    size_t number = find_block(*space, class);
    size_t b = number % ADP_CONJ_PAGE_BLOCKS;
    struct adp_conj_page *page;
    size_t i;

    if (number >= (*space)->n_pages * ADP_CONJ_PAGE_BLOCKS) {
        add_page(cow, space);
    }
    page = own_page(cow, space, number);
    i = take_from_block(cow, &page->blocks[b]);
    page->blocks[b]->conjs[i] = (struct adp_conj) {
        .priority = priority,
        .id = id,
    };
    page->class[b] = class;
    page->n_used[b]++;

    if (priority > page->max[b]) {
        set_block_max(page, b, priority);
    }
    (*space)->pages[number / ADP_CONJ_PAGE_BLOCKS].max
        = MAX((*space)->pages[number / ADP_CONJ_PAGE_BLOCKS].max, priority);
    (*space)->max = MAX((*space)->max, priority);
    (*space)->hint = number;
    return number * ADP_CONJ_BLOCK_BITS + i;
}

uint32_t *
adp_conj_space_refs(const struct adp_conj_space *space, uint32_t index)
{
    const struct adp_conj *conj = adp_conj_space_get(space, index);

    return CONST_CAST(uint32_t *, &conj->n_refs);
}

struct adp_conj *
adp_conj_space_own(struct adp_cow *cow, struct adp_conj_space **space,
                   uint32_t index)
{
    struct adp_conj_page *page = own_page(cow, space,
                                          index / ADP_CONJ_BLOCK_BITS);
    size_t b = adp_conj_block_of(index);

    page->blocks[b] = adp_cow_own(cow, page->blocks[b]);
    return &page->blocks[b]->conjs[index % ADP_CONJ_BLOCK_BITS];
}

/* Finds the top priorities anew, from block 'b' of page 'p' upward. */
static void
update_max(struct adp_conj_space *space, size_t p, size_t b)
{
    struct adp_conj_page *page = space->pages[p].page;
    const struct adp_conj_block *block = page->blocks[b];
    int max = INT_MIN;

    for (size_t i = 0; i < block->n; i++) {
        if (block->conjs[i].n_refs) {
            max = MAX(max, block->conjs[i].priority);
        }
    }
    set_block_max(page, b, max);
    space->pages[p].max = MAX(page->max[0], page->later_max[0]);

    max = INT_MIN;
    for (size_t i = 0; i < space->n_pages; i++) {
        max = MAX(max, space->pages[i].max);
    }
    space->max = max;
}

void
adp_conj_space_release(struct adp_cow *cow, struct adp_conj_space **space,
                       uint32_t index)
{
    struct adp_conj *conj = adp_conj_space_own(cow, space, index);
    size_t p = adp_conj_page_of(index);
    size_t b = adp_conj_block_of(index);
    struct adp_conj_page *page = (*space)->pages[p].page;
    int priority = conj->priority;

    *conj = (struct adp_conj) { .n_refs = 0 };
    if (!--page->n_used[b]) {
        adp_cow_discard(cow, page->blocks[b]);
        page->blocks[b] = adp_cow_alloc(cow, sizeof *page->blocks[b]);
    }
    if (priority == page->max[b]) {
        update_max(*space, p, b);
    }
}

/* Sets. */

static size_t
bits_size(size_t n_pages)
{
    return (offsetof(struct adp_conj_bits, pages)
            + n_pages * sizeof ((struct adp_conj_bits *) NULL)->pages[0]);
}

#define BLOCK_BYTES (ADP_CONJ_BLOCK_WORDS * sizeof(uint64_t))

/* Makes room for block 'b' in page 'p'. */
static void
bits_add_block(struct adp_cow *cow, struct adp_conj_bits *bits, size_t p,
               size_t b)
{
    uint64_t bit = UINT64_C(1) << b;
    uint64_t present = bits->pages[p].present;
    size_t n = count_1bits(present);
    size_t rank = count_1bits(present & (bit - 1));
    uint64_t *words = bits->pages[p].words;
    uint64_t *block;

    words = (words ? adp_cow_resize(cow, words, (n + 1) * BLOCK_BYTES)
             : adp_cow_alloc(cow, BLOCK_BYTES));
    block = &words[rank * ADP_CONJ_BLOCK_WORDS];
    memmove(block + ADP_CONJ_BLOCK_WORDS, block, (n - rank) * BLOCK_BYTES);
    memset(block, 0, BLOCK_BYTES);
    bits->pages[p].words = words;
    bits->pages[p].present |= bit;
}

static void
bits_remove_block(struct adp_cow *cow, struct adp_conj_bits *bits, size_t p,
                  size_t b)
{
    uint64_t bit = UINT64_C(1) << b;
    uint64_t present = bits->pages[p].present;
    size_t n = count_1bits(present);
    size_t rank = count_1bits(present & (bit - 1));
    uint64_t *words = bits->pages[p].words;
    uint64_t *block = &words[rank * ADP_CONJ_BLOCK_WORDS];

    bits->pages[p].present &= ~bit;
    if (n == 1) {
        adp_cow_discard(cow, words);
        bits->pages[p].words = NULL;
        return;
    }
    memmove(block, block + ADP_CONJ_BLOCK_WORDS, (n - rank - 1) * BLOCK_BYTES);
    bits->pages[p].words = adp_cow_resize(cow, words, (n - 1) * BLOCK_BYTES);
}

/* Returns the word for 'index' in the block, which is present, to change. */
static uint64_t *
own_word(struct adp_cow *cow, struct adp_conj_bits *bits, uint32_t index)
{
    size_t p = adp_conj_page_of(index);
    size_t b = adp_conj_block_of(index);

    bits->pages[p].words = adp_cow_own(cow, bits->pages[p].words);
    return CONST_CAST(uint64_t *, adp_conj_bits_block(bits, p, b)
                      + index / 64 % ADP_CONJ_BLOCK_WORDS);
}

static void
set_bit(struct adp_cow *cow, struct adp_conj_set *set, uint32_t index)
{
    size_t p = adp_conj_page_of(index);
    size_t b = adp_conj_block_of(index);

    if (p >= set->bits->n_pages) {
        set->bits = adp_cow_resize(cow, set->bits, bits_size(p + 1));
        set->bits->n_pages = p + 1;
    } else {
        set->bits = adp_cow_own(cow, set->bits);
    }
    if (!(set->bits->pages[p].present >> b & 1)) {
        bits_add_block(cow, set->bits, p, b);
    }
    *own_word(cow, set->bits, index) |= UINT64_C(1) << index % 64;
}

static void
clear_bit(struct adp_cow *cow, struct adp_conj_set *set, uint32_t index)
{
    size_t p = adp_conj_page_of(index);
    size_t b = adp_conj_block_of(index);
    const uint64_t *words;
    uint64_t any = 0;

    set->bits = adp_cow_own(cow, set->bits);
    *own_word(cow, set->bits, index) &= ~(UINT64_C(1) << index % 64);

    words = adp_conj_bits_block(set->bits, p, b);
    for (size_t i = 0; i < ADP_CONJ_BLOCK_WORDS; i++) {
        any |= words[i];
    }
    if (!any) {
        bits_remove_block(cow, set->bits, p, b);
    }
}

static void
destroy_bits(struct adp_conj_bits *bits, struct adp_cow *cow)
{
    for (size_t i = 0; i < bits->n_pages; i++) {
        adp_cow_release(cow, bits->pages[i].words);
    }
    adp_cow_release(cow, bits);
}

static void
list_to_bits(struct adp_cow *cow, struct adp_conj_set *set)
{
    uint32_t *list = set->list;

    set->bits = adp_cow_alloc(cow, bits_size(0));
    for (size_t i = 0; i < set->n; i++) {
        set_bit(cow, set, list[i]);
    }
    set->dense = true;
    adp_cow_discard(cow, list);
}

static void
bits_to_list(struct adp_cow *cow, struct adp_conj_set *set)
{
    struct adp_conj_bits *bits = set->bits;
    uint32_t *list = adp_cow_alloc(cow, ADP_CONJ_LIST_MAX * sizeof *list);
    size_t n = 0;

    for (size_t p = 0; p < bits->n_pages; p++) {
        const uint64_t *word = bits->pages[p].words;
        uint64_t present = bits->pages[p].present;

        for (; present; present = zero_rightmost_1bit(present)) {
            uint32_t first = ((p * ADP_CONJ_PAGE_BLOCKS + raw_ctz(present))
                              * ADP_CONJ_BLOCK_BITS);

            for (size_t i = 0; i < ADP_CONJ_BLOCK_WORDS; i++, first += 64) {
                uint64_t w = *word++;

                for (; w; w = zero_rightmost_1bit(w)) {
                    list[n++] = first + raw_ctz(w);
                }
            }
        }
    }
    ovs_assert(n == set->n);
    destroy_bits(bits, cow);
    set->list = list;
    set->dense = false;
}

static void
list_add(struct adp_cow *cow, struct adp_conj_set *set, uint32_t index)
{
    enum { N_FEW = ARRAY_SIZE(set->few) };

    if (set->n < N_FEW) {
        set->few[set->n] = index;
    } else if (set->n == N_FEW) {
        uint32_t *list = adp_cow_alloc(cow, 2 * N_FEW * sizeof *list);

        memcpy(list, set->few, sizeof set->few);
        list[N_FEW] = index;
        set->list = list;
    } else {
        size_t size = set->n * sizeof *set->list;

        set->list = (size >= adp_cow_size(set->list)
                     ? adp_cow_resize(cow, set->list, 2 * size)
                     : adp_cow_own(cow, set->list));
        set->list[set->n] = index;
    }
    set->n++;
}

void
adp_conj_set_add(struct adp_cow *cow, struct adp_conj_set *set,
                 uint32_t index)
{
    if (adp_conj_set_contains(set, index)) {
        return;
    }
    if (!set->dense && set->n == ADP_CONJ_LIST_MAX) {
        list_to_bits(cow, set);
    }
    if (set->dense) {
        set_bit(cow, set, index);
        set->n++;
    } else {
        list_add(cow, set, index);
    }
}

static void
list_remove(struct adp_cow *cow, struct adp_conj_set *set, uint32_t index)
{
    enum { N_FEW = ARRAY_SIZE(set->few) };
    uint32_t *list;
    size_t i = 0;

    if (set->n > N_FEW) {
        set->list = adp_cow_own(cow, set->list);
        list = set->list;
    } else {
        list = set->few;
    }
    while (list[i] != index) {
        i++;
    }
    list[i] = list[--set->n];
    if (set->n == N_FEW) {
        list = set->list;
        memcpy(set->few, list, sizeof set->few);
        adp_cow_discard(cow, list);
    }
}

void
adp_conj_set_remove(struct adp_cow *cow, struct adp_conj_set *set,
                    uint32_t index)
{
    if (!adp_conj_set_contains(set, index)) {
        return;
    }
    if (set->dense) {
        clear_bit(cow, set, index);
        if (--set->n == ADP_CONJ_LIST_MAX / 2) {
            bits_to_list(cow, set);
        }
    } else {
        list_remove(cow, set, index);
    }
}

void
adp_conj_set_destroy(struct adp_conj_set *set, struct adp_cow *cow)
{
    if (set->dense) {
        destroy_bits(set->bits, cow);
    } else if (set->n > ARRAY_SIZE(set->few)) {
        adp_cow_release(cow, set->list);
    }
}
