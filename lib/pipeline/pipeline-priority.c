/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-priority.h"

#include <limits.h>
#include <stdlib.h>

#include "util.h"

/* Of a rank that is still to get one. */
#define NONE INT_MIN

/* At most so many new ranks get priorities side by side; if they are more,
 * each gets SPREAD priorities, as far as there is room. */
#define MAX_CLOSE 32
#define SPREAD 4

int
adp_rank_compare(const struct adp_rank *a, const struct adp_rank *b)
{
    return (a->tier != b->tier ? (a->tier < b->tier ? -1 : 1)
            : a->priority != b->priority ? (a->priority < b->priority ? -1 : 1)
            : a->index != b->index ? (a->index < b->index ? -1 : 1)
            : a->part != b->part ? (a->part > b->part ? -1 : 1)
            : 0);
}

void
adp_priorities_init(struct adp_priorities *p)
{
    *p = (struct adp_priorities) { .ranks = NULL };
}

void
adp_priorities_uninit(struct adp_priorities *p)
{
    free(p->ranks);
}

void
adp_priorities_clear(struct adp_priorities *p)
{
    adp_priorities_uninit(p);
    adp_priorities_init(p);
}

void
adp_priorities_clone(struct adp_priorities *dst,
                     const struct adp_priorities *src)
{
    dst->n = src->n;
    dst->ranks = (src->n ? xmemdup(src->ranks, src->n * sizeof *src->ranks)
                  : NULL);
}

/* One assignment under way: 'ranks' by descending precedence.  All but those
 * with NONE have descending priorities from 'max' to 'min'. */
struct assignment {
    struct adp_ranked *ranks;
    size_t n;
    int min, max;
};

/* Gives ranks the priorities of the generation before. */
static void
keep_priorities(struct assignment *a, const struct adp_priorities *before)
{
    size_t i = 0;

    for (size_t j = 0; j < a->n; j++) {
        int cmp = 1;

        while (i < before->n
               && (cmp = adp_rank_compare(&before->ranks[i].rank,
                                          &a->ranks[j].rank)) < 0) {
            i++;
        }
        a->ranks[j].priority = (i < before->n && !cmp
                                ? before->ranks[i].priority : NONE);
    }
}

/* New ranks side by side that share 'width' priorities from 'top' down. */
struct block {
    size_t first, n;
    int top, width;
};

static int
block_bottom(const struct block *b)
{
    return b->top - b->width + 1;
}

/* Adds 'b', which is next to 'a', to it.  Both are between priorities 'low'
 * and 'high'. */
static void
merge_blocks(struct block *a, const struct block *b, int low, int high)
{
    a->n += b->n;
    a->width = MIN(a->n > MAX_CLOSE ? SPREAD * a->n : a->n, high - low + 1);
    a->top = MIN(high, MAX(a->top, low + a->width - 1));
}

/* Gives new ranks 'first' to 'end' priorities between 'low' and 'high', which
 * are enough. */
static void
place_new(struct assignment *a, size_t first, size_t end, int low, int high)
{
    struct block *blocks = xmalloc((end - first) * sizeof *blocks);
    size_t n = 0;

    for (size_t i = first; i < end; i++) {
        blocks[n++] = (struct block) {
            .first = i,
            .n = 1,
            .top = MAX(low, MIN(high, a->ranks[i].guess)),
            .width = 1,
        };
        while (n > 1
               && blocks[n - 1].top + 1 >= block_bottom(&blocks[n - 2])) {
            merge_blocks(&blocks[n - 2], &blocks[n - 1], low, high);
            n--;
        }
    }
    for (size_t i = 0; i < n; i++) {
        const struct block *b = &blocks[i];

        for (size_t j = 0; j < b->n; j++) {
            a->ranks[b->first + j].priority
                = b->top - (int) (j * b->width / b->n);
        }
    }
    free(blocks);
}

/* How many ranks should be in a window of 'size' priorities at the most: as
 * many as there is room for in the smallest, and in that with all priorities
 * halfway between that and how many there are. */
static size_t
window_limit(const struct assignment *a, int64_t size)
{
    int64_t all = a->max - a->min + 1;
    int64_t level = log_2_ceil(size);
    int64_t top_level = log_2_ceil(all);

    return (level >= top_level ? size
            : size - size * level * (all - (int64_t) a->n)
                     / (2 * top_level * all));
}

/* A range of priorities and the ranks that are to share it. */
struct window {
    int64_t low, size;
    size_t first, end;
};

/* Finds the smallest window around priority 'center' with room for what is in
 * it and the new ranks from 'new' to 'end'. */
static struct window
find_window(const struct assignment *a, size_t new, size_t end, int center)
{
    struct window w = { .size = 4, .first = new, .end = end };
    int64_t all = a->max - a->min + 1;

    do {
        w.size = MIN(2 * w.size, all);
        w.low = MAX(a->min, MIN(center - w.size / 2, a->max - w.size + 1));
        while (w.first > 0
               && a->ranks[w.first - 1].priority < w.low + w.size) {
            w.first--;
        }
        while (w.end < a->n && (a->ranks[w.end].priority == NONE
                                || a->ranks[w.end].priority >= w.low)) {
            w.end++;
        }
    } while (w.end - w.first > window_limit(a, w.size));
    return w;
}

/* Spreads all ranks in a window around 'center', new or not, over the window.
 * Half of the room goes to both sides of the new ones from 'new' to 'end': the
 * next ones often come to the same place. */
static void
spread_window(struct assignment *a, size_t new, size_t end, int center)
{
    struct window w = find_window(a, new, end, center);
    int64_t n = w.end - w.first;
    int64_t gap = (w.size - n) / 2;

    for (size_t i = w.first; i < w.end; i++) {
        int64_t slot = (i - w.first
                        + (i >= end ? gap : i >= new ? gap / 2 : 0));

        a->ranks[i].priority = (w.low + w.size - 1
                                - (2 * slot + 1) * w.size / (2 * (n + gap)));
    }
}

static void
assign_new(struct assignment *a)
{
    for (size_t i = 0, end; i < a->n; i = end) {
        end = i + 1;
        if (a->ranks[i].priority != NONE) {
            continue;
        }
        while (end < a->n && a->ranks[end].priority == NONE) {
            end++;
        }

        int high = i ? a->ranks[i - 1].priority - 1 : a->max;
        int low = end < a->n ? a->ranks[end].priority + 1 : a->min;
        if ((int) (end - i) <= high - low + 1) {
            place_new(a, i, end, low, high);
        } else {
            spread_window(a, i, end, low);
        }
    }
}

bool
adp_priorities_assign(struct adp_priorities *p, struct adp_ranked *ranks,
                      size_t n, int min, int max)
{
    struct assignment a = { .ranks = ranks, .n = n, .min = min, .max = max };

    keep_priorities(&a, p);
    if (n > max - min + 1) {
        return false;
    }
    assign_new(&a);

    free(p->ranks);
    p->n = n;
    p->ranks = n ? xmemdup(ranks, n * sizeof *ranks) : NULL;
    return true;
}
