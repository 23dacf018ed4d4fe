/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-session.h"

#include <errno.h>
#include <string.h>
#include "adp-pace.h"
#include "adp-reserve.h"
#include "openvswitch/vlog.h"
#include "random.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_session);

#define LINE_SLOTS ADP_SESSION_LINE_SLOTS
#define MIN_LINES 16
#define MIN_CAPACITY 4096

/* The index is split when it holds more sessions for four lines than this.
 * Lines that are yet to be split hold up to twice as many as the others.  Of
 * 100,000 sessions 0.7 % then find their line full and are in their other one,
 * which costs packets two misses that nothing hides; with 3.5 for a line that
 * would be 5.7 %, and 0.4 % would find no room at all. */
#define FILL_OF_FOUR 9

/* Sessions and lines that are given back at once, at least. */
#define SHRINK_MIN 64

struct adp_sessions {
    struct adp_session_index index;
    struct adp_session_seeds seeds;
    bool *overflowed;           /* Lines that sessions had no room in. */
    uint32_t max_lines;
    uint32_t capacity;
    uint32_t n_used;            /* Of 'sessions', from the beginning. */
    uint32_t free_head;         /* Position of a free one, or 0: a chain
                                 * (struct free_link). */
    uint32_t hand;              /* Next to be looked at for eviction. */
    uint32_t age_hand;          /* The same for aging. */
    struct adp_pace pace;       /* Of that. */
    /* What is beyond has no memory. */
    uint32_t touched_sessions, touched_lines;

    size_t n;
    uint64_t n_evicted;
    void (*evict)(struct adp_session_body *, void *aux);
    void *aux;
};

/* Memory. */

static void
release_all(struct adp_sessions *t)
{
    adp_unreserve(t->index.lines, t->max_lines * sizeof *t->index.lines);
    adp_unreserve(t->index.sessions,
                  t->capacity * sizeof *t->index.sessions);
}

/* Fails only if there could be fewer of them. */
static bool
reserve_all(struct adp_sessions *t)
{
    void *(*reserve)(size_t) = (t->capacity > MIN_CAPACITY ? adp_reserve
                                : adp_reserve_small);

    t->index.lines = reserve(t->max_lines * sizeof *t->index.lines);
    t->index.sessions = reserve(t->capacity * sizeof *t->index.sessions);
    if (t->index.lines && t->index.sessions) {
        return true;
    }
    release_all(t);
    return false;
}

struct adp_sessions *
adp_sessions_create(size_t capacity,
                    void (*evict)(struct adp_session_body *, void *aux),
                    void *aux)
{
    struct adp_sessions *t = xzalloc(sizeof *t);
    size_t wanted = MIN(MAX(capacity, MIN_CAPACITY), UINT32_MAX / 4);
    int error = 0;

    for (size_t i = 0; i < ARRAY_SIZE(t->seeds.s); i++) {
        t->seeds.s[i] = random_uint64();
    }
    t->capacity = wanted;
    for (;;) {
        t->max_lines = MAX(MIN_LINES,
                           (uint64_t) t->capacity * 4 / FILL_OF_FOUR);
        if (reserve_all(t)) {
            break;
        }
        error = errno;
        t->capacity = MAX(t->capacity / 2, MIN_CAPACITY);
    }
    if (t->capacity < wanted) {
        VLOG_WARN("memory for %"PRIu32" sessions instead of %"PRIuSIZE" (%s)",
                  t->capacity, wanted, ovs_strerror(error));
    }
    t->overflowed = xcalloc(t->max_lines, sizeof *t->overflowed);
    t->index.n_lines = MIN_LINES;
    t->index.mask = MIN_LINES - 1;
    t->evict = evict;
    t->aux = aux;
    return t;
}

void
adp_sessions_destroy(struct adp_sessions *t)
{
    if (!t) {
        return;
    }
    for (uint32_t i = 0; t->evict && i < t->n_used; i++) {
        struct adp_session_body *body
            = adp_session_body(&t->index.sessions[i]);

        if (body->token.life) {
            t->evict(body, t->aux);
        }
    }
    release_all(t);
    free(t->overflowed);
    free(t);
}

const struct adp_session_seeds *
adp_sessions_seeds(const struct adp_sessions *t)
{
    return &t->seeds;
}

/* The index.
 *
 * A session is in the line of its hash or, if that was full, in its other
 * line.  A look-up goes on to the other line only if the first one, or the one
 * that it was split from, has overflowed so. */

static inline uint32_t
other_hash(uint32_t hash)
{
    return (hash >> 16 | hash << 16) * 0x9e3779b1;
}

static inline struct adp_session_line *
line_of(const struct adp_sessions *t, uint32_t hash)
{
    return adp_session_index_line(&t->index, hash);
}

/* Returns the slot of the session at 'position', or a free slot if that is 0,
 * or -1. */
static int
slot_in_line(const struct adp_session_line *line, uint32_t position)
{
    for (int i = 0; i < LINE_SLOTS; i++) {
        if (line->positions[i] == position) {
            return i;
        }
    }
    return -1;
}

/* Gives the line after the last its part of another. */
static void
split_line(struct adp_sessions *t)
{
    struct adp_session_index *x = &t->index;

    if (x->n_lines > 2 * x->mask + 1) {
        x->mask = 2 * x->mask + 1;
    }

    struct adp_session_line *old = &x->lines[x->n_lines & x->mask];
    struct adp_session_line *new = &x->lines[x->n_lines];
    int n_new = 0;

    t->overflowed[x->n_lines] = t->overflowed[x->n_lines & x->mask];
    x->n_lines++;
    t->touched_lines = MAX(t->touched_lines, x->n_lines);
    for (int i = 0; i < LINE_SLOTS; i++) {
        uint32_t hash = old->hashes[i];

        if (old->positions[i] && line_of(t, hash) != old
            && line_of(t, other_hash(hash)) != old) {
            new->hashes[n_new] = hash;
            new->positions[n_new++] = old->positions[i];
            old->positions[i] = 0;
        }
    }
}

static inline struct adp_session *
session_in_slot(const struct adp_sessions *t,
                const struct adp_session_line *line, int i)
{
    return &t->index.sessions[line->positions[i] - 1];
}

static inline bool
has_overflowed(const struct adp_sessions *t,
               const struct adp_session_line *line)
{
    return t->overflowed[line - t->index.lines];
}

void
adp_sessions_prefetch_other(const struct adp_sessions *t, uint32_t hash)
{
    if (has_overflowed(t, line_of(t, hash))) {
        OVS_PREFETCH(line_of(t, other_hash(hash)));
    }
}

struct adp_session *
adp_sessions_other_candidate(const struct adp_sessions *t, uint32_t hash)
{
    return (has_overflowed(t, line_of(t, hash))
            ? adp_session_index_candidate(&t->index,
                                          line_of(t, other_hash(hash)), hash)
            : NULL);
}

static inline struct adp_session *
find4_in_line(const struct adp_sessions *t,
              const struct adp_session_line *line, uint32_t hash,
              const struct adp_session_key4 *key)
{
    unsigned int slots = adp_session_line_slots(line, hash);

    for (; slots; slots = zero_rightmost_1bit(slots)) {
        struct adp_session *s = session_in_slot(t, line, raw_ctz(slots));

        if (adp_session_is4(s, key)) {
            return s;
        }
    }
    return NULL;
}

struct adp_session *
adp_sessions_find4(const struct adp_sessions *t, uint32_t hash,
                   const struct adp_session_key4 *key)
{
    const struct adp_session_line *line = line_of(t, hash);
    struct adp_session *s = find4_in_line(t, line, hash, key);

    return (s || !has_overflowed(t, line) ? s
            : find4_in_line(t, line_of(t, other_hash(hash)), hash, key));
}

static inline struct adp_session *
find6_in_line(const struct adp_sessions *t,
              const struct adp_session_line *line, uint32_t hash,
              const struct adp_session_key6 *key)
{
    unsigned int slots = adp_session_line_slots(line, hash);

    for (; slots; slots = zero_rightmost_1bit(slots)) {
        struct adp_session *s = session_in_slot(t, line, raw_ctz(slots));

        if (adp_session_is6(s, key)) {
            return s;
        }
    }
    return NULL;
}

struct adp_session *
adp_sessions_find6(const struct adp_sessions *t, uint32_t hash,
                   const struct adp_session_key6 *key)
{
    const struct adp_session_line *line = line_of(t, hash);
    struct adp_session *s = find6_in_line(t, line, hash, key);

    return (s || !has_overflowed(t, line) ? s
            : find6_in_line(t, line_of(t, other_hash(hash)), hash, key));
}

/* Coming and going. */

/* Slot and, in '*linep', line of the session at 'position'. */
static int
find_slot(const struct adp_sessions *t, uint32_t hash, uint32_t position,
          struct adp_session_line **linep)
{
    int slot;

    *linep = line_of(t, hash);
    slot = slot_in_line(*linep, position);
    if (slot < 0) {
        *linep = line_of(t, other_hash(hash));
        slot = slot_in_line(*linep, position);
    }
    return slot;
}

/* Where a session is not in use, the chain of such. */
struct free_link {
    uint32_t next, prev;        /* Positions, or 0. */
};

static struct adp_session *
session_at(const struct adp_sessions *t, uint32_t position)
{
    return &t->index.sessions[position - 1];
}

static uint32_t
position_of(const struct adp_sessions *t, const struct adp_session *s)
{
    return s - t->index.sessions + 1;
}

static struct free_link *
free_link(const struct adp_sessions *t, uint32_t position)
{
    /* Its key isn't needed any more. */
    return (struct free_link *) (void *) session_at(t, position);
}

static bool
is_free(struct adp_session *s)
{
    return !adp_session_body(s)->token.life;
}

static void
chain_push(struct adp_sessions *t, uint32_t position)
{
    struct free_link *link = free_link(t, position);

    link->next = t->free_head;
    link->prev = 0;
    if (t->free_head) {
        free_link(t, t->free_head)->prev = position;
    }
    t->free_head = position;
}

static void
chain_remove(struct adp_sessions *t, uint32_t position)
{
    struct free_link *link = free_link(t, position);

    if (link->prev) {
        free_link(t, link->prev)->next = link->next;
    } else {
        t->free_head = link->next;
    }
    if (link->next) {
        free_link(t, link->next)->prev = link->prev;
    }
}

void
adp_sessions_remove(struct adp_sessions *t, struct adp_session *s)
{
    struct adp_session_body *body = adp_session_body(s);
    uint32_t position = position_of(t, s);
    struct adp_session_line *line;

    if (t->evict) {
        t->evict(body, t->aux);
    }
    int slot = find_slot(t, s->hash, position, &line);
    line->positions[slot] = 0;
    /* As a reader that holds an old candidate may see it: none with any key,
     * of either form. */
    memset(s, 0, sizeof *s);
    chain_push(t, position);
    t->n--;
    t->index.serial++;
}

/* Takes a session to be filled; one has to leave if there is none left. */
static struct adp_session *
take_session(struct adp_sessions *t)
{
    uint32_t position;

    if (!t->free_head && t->n_used < t->capacity) {
        t->n_used++;
        t->touched_sessions = MAX(t->touched_sessions, t->n_used);
        return session_at(t, t->n_used);
    }
    while (!t->free_head) {
        struct adp_session *s = &t->index.sessions[t->hand];

        t->hand = t->hand + 1 < t->n_used ? t->hand + 1 : 0;
        adp_sessions_remove(t, s);
        t->n_evicted++;
    }
    position = t->free_head;
    chain_remove(t, position);
    return session_at(t, position);
}

static struct adp_session *
insert(struct adp_sessions *t, uint32_t hash)
{
    if (t->n * 4 >= (size_t) t->index.n_lines * FILL_OF_FOUR
        && t->index.n_lines < t->max_lines) {
        split_line(t);
    }

    struct adp_session *s = take_session(t);
    struct adp_session_line *line = line_of(t, hash);
    int slot = slot_in_line(line, 0);

    if (slot < 0) {
        t->overflowed[line - t->index.lines] = true;
        line = line_of(t, other_hash(hash));
        slot = slot_in_line(line, 0);
    }
    if (slot < 0) {
        slot = random_range(LINE_SLOTS);
        adp_sessions_remove(t, session_in_slot(t, line, slot));
        t->n_evicted++;
    }
    line->hashes[slot] = hash;
    line->positions[slot] = s - t->index.sessions + 1;
    memset(s, 0, sizeof *s);
    s->hash = hash;
    t->n++;
    return s;
}

struct adp_session *
adp_sessions_insert4(struct adp_sessions *t, uint32_t hash,
                     const struct adp_session_key4 *key)
{
    struct adp_session *s = insert(t, hash);

    s->v4.key = *key;
    return s;
}

struct adp_session *
adp_sessions_insert6(struct adp_sessions *t, uint32_t hash,
                     const struct adp_session_key6 *key)
{
    struct adp_session *s = insert(t, hash);

    s->v6.key = *key;
    s->is_ipv6 = true;
    return s;
}

/* Leaving unused, and giving memory back. */

/* The last line gives its sessions to the one that it was split from.  What
 * finds no room there leaves. */
static void
join_line(struct adp_sessions *t)
{
    struct adp_session_index *x = &t->index;
    struct adp_session_line *last = &x->lines[x->n_lines - 1];
    uint32_t mask = x->mask;

    if (x->n_lines - 1 == x->mask) {
        mask >>= 1;
    }
    struct adp_session_line *first = &x->lines[(x->n_lines - 1) & mask];

    for (int i = 0; i < LINE_SLOTS; i++) {
        if (last->positions[i] && slot_in_line(first, 0) < 0) {
            adp_sessions_remove(t, session_in_slot(t, last, i));
        }
        if (last->positions[i]) {
            int slot = slot_in_line(first, 0);

            first->hashes[slot] = last->hashes[i];
            first->positions[slot] = last->positions[i];
            last->positions[i] = 0;
        }
    }
    t->overflowed[first - x->lines] |= t->overflowed[x->n_lines - 1];
    t->overflowed[x->n_lines - 1] = false;
    x->n_lines--;
    x->mask = mask;
}

static bool
is_unused(struct adp_session *s, uint8_t age)
{
    return ((uint8_t) (age - adp_session_body(s)->used)
            >= ADP_SESSION_MAX_AGE);
}

/* Takes the last place out of use, moving the session there to where there is
 * room, unless it is to leave: where it goes the hand may have been
 * already. */
static void
give_last_back(struct adp_sessions *t, uint8_t age)
{
    uint32_t position = t->n_used;
    struct adp_session *s = session_at(t, position);

    if (!is_free(s) && is_unused(s, age)) {
        adp_sessions_remove(t, s);
    }
    if (is_free(s)) {
        chain_remove(t, position);
    } else {
        uint32_t room = t->free_head;
        struct adp_session_line *line;
        int slot = find_slot(t, s->hash, position, &line);

        chain_remove(t, room);
        *session_at(t, room) = *s;
        line->positions[slot] = room;
        memset(s, 0, sizeof *s);
        t->index.serial++;
    }
    t->n_used--;
}

/* Gives the last piece of memory of an array back, unless the first 'n_used'
 * elements lie there.  Returns how many of 'n_touched' still have some. */
static uint32_t
drop_piece(void *array, size_t size, uint32_t n_used, uint32_t n_touched)
{
    size_t to = n_touched * size;
    size_t from = MAX(ROUND_UP(n_used * size, ADP_RESERVE_PIECE),
                      ROUND_DOWN(to - MIN(to, 1), ADP_RESERVE_PIECE));

    if (from >= to) {
        return n_touched;
    }
    adp_reserve_drop(array, from, to);
    return from / size;
}

/* Gives back up to 'n' sessions, and lines, if few are in use. */
static void
shrink(struct adp_sessions *t, size_t n, uint8_t age)
{
    struct adp_session_index *x = &t->index;

    for (size_t i = 0; i < n && t->n_used > 2 * t->n; i++) {
        give_last_back(t, age);
    }
    for (size_t i = 0; i < n && x->n_lines > MIN_LINES
         && (size_t) x->n_lines * FILL_OF_FOUR > 16 * t->n; i++) {
        join_line(t);
    }
    if (!t->n && x->n_lines == MIN_LINES) {
        memset(t->overflowed, 0, MIN_LINES * sizeof *t->overflowed);
    }
    t->hand = t->hand < t->n_used ? t->hand : 0;
    t->touched_sessions = drop_piece(x->sessions, sizeof *x->sessions,
                                     t->n_used, t->touched_sessions);
    t->touched_lines = drop_piece(x->lines, sizeof *x->lines, x->n_lines,
                                  t->touched_lines);
}

size_t
adp_sessions_age(struct adp_sessions *t, long long int now, size_t *left)
{
    size_t n = adp_pace(&t->pace, now, t->n_used, left);
    uint8_t age = adp_session_age(now);
    size_t n_before = t->n;

    for (size_t i = 0; i < n; i++) {
        t->age_hand = t->age_hand < t->n_used ? t->age_hand : 0;
        struct adp_session *s = &t->index.sessions[t->age_hand++];

        if (!is_free(s) && is_unused(s, age)) {
            adp_sessions_remove(t, s);
        }
    }
    shrink(t, n + SHRINK_MIN, age);
    return n_before - t->n;
}

uint64_t
adp_sessions_evicted(const struct adp_sessions *t)
{
    return t->n_evicted;
}

size_t
adp_sessions_count(const struct adp_sessions *t)
{
    return t->n;
}

size_t
adp_sessions_capacity(const struct adp_sessions *t)
{
    return t->capacity;
}

size_t
adp_sessions_size(const struct adp_sessions *t)
{
    return (t->n_used * sizeof *t->index.sessions
            + t->index.n_lines * (sizeof *t->index.lines
                                  + sizeof *t->overflowed)
            + sizeof *t);
}
