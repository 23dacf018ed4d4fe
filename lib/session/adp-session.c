/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-session.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "openvswitch/vlog.h"
#include "random.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_session);

#define LINE_SLOTS ADP_SESSION_LINE_SLOTS
#define MIN_LINES 16
#define MIN_CAPACITY 4096

/* The index is split when it holds more sessions for two lines than this. */
#define FILL_OF_TWO 7

struct adp_sessions {
    struct adp_session_index index;
    struct adp_session_seeds seeds;
    bool *overflowed;           /* Lines that sessions had no room in. */
    uint32_t max_lines;
    uint32_t capacity;
    uint32_t n_used;            /* Of 'sessions', from the beginning. */
    uint32_t free_head;         /* A chain through 'hash', plus 1. */
    uint32_t hand;              /* Next to be looked at for eviction. */

    size_t n;
    uint64_t serial;
    void (*evict)(void *verdict, void *aux);
    void *aux;
};

/* Memory. */

static void *
reserve(size_t size)
{
    void *p = mmap(NULL, size, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED) {
        return NULL;
    }
    /* After mlockall() the whole would be taken at once otherwise. */
    munlock(p, size);
    if (mprotect(p, size, PROT_READ | PROT_WRITE)) {
        munmap(p, size);
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

static void
release(void *p, size_t size)
{
    if (p) {
        munmap(p, size);
    }
}

static void
release_all(struct adp_sessions *t)
{
    release(t->index.lines, t->max_lines * sizeof *t->index.lines);
    release(t->index.sessions, t->capacity * sizeof *t->index.sessions);
}

static bool
reserve_all(struct adp_sessions *t)
{
    t->index.lines = reserve(t->max_lines * sizeof *t->index.lines);
    t->index.sessions = reserve(t->capacity * sizeof *t->index.sessions);
    if (t->index.lines && t->index.sessions) {
        return true;
    }
    release_all(t);
    return false;
}

struct adp_sessions *
adp_sessions_create(size_t capacity, void (*evict)(void *verdict, void *aux),
                    void *aux)
{
    struct adp_sessions *t = xzalloc(sizeof *t);
    size_t wanted = MIN(MAX(capacity, MIN_CAPACITY), UINT32_MAX / 4);

    for (size_t i = 0; i < ARRAY_SIZE(t->seeds.s); i++) {
        t->seeds.s[i] = random_uint64();
    }
    t->capacity = wanted;
    for (;;) {
        t->max_lines = MAX(MIN_LINES,
                           (uint64_t) t->capacity * 2 / FILL_OF_TWO);
        if (reserve_all(t)) {
            break;
        }
        if (t->capacity <= MIN_CAPACITY) {
            VLOG_FATAL("no memory for sessions (%s)", ovs_strerror(errno));
        }
        t->capacity /= 2;
    }
    if (t->capacity < wanted) {
        VLOG_WARN("memory for %"PRIu32" sessions instead of %"PRIuSIZE,
                  t->capacity, wanted);
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
    for (uint32_t i = 0; i < t->n_used; i++) {
        void *verdict = adp_session_body(&t->index.sessions[i])->verdict;

        if (verdict) {
            t->evict(verdict, t->aux);
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

/* Takes 's' out of the index. */
static void
unindex(struct adp_sessions *t, const struct adp_session *s)
{
    uint32_t position = s - t->index.sessions + 1;
    struct adp_session_line *line = line_of(t, s->hash);
    int slot = slot_in_line(line, position);

    if (slot < 0) {
        line = line_of(t, other_hash(s->hash));
        slot = slot_in_line(line, position);
    }
    line->positions[slot] = 0;
}

void
adp_sessions_remove(struct adp_sessions *t, struct adp_session *s)
{
    struct adp_session_body *body = adp_session_body(s);

    t->evict(body->verdict, t->aux);
    body->verdict = NULL;
    unindex(t, s);
    s->hash = t->free_head;
    t->free_head = s - t->index.sessions + 1;
    t->n--;
    t->serial++;
}

/* Takes a session to be filled; one has to leave if there is none left. */
static struct adp_session *
take_session(struct adp_sessions *t)
{
    struct adp_session *s;

    if (!t->free_head && t->n_used < t->capacity) {
        return &t->index.sessions[t->n_used++];
    }
    while (!t->free_head) {
        s = &t->index.sessions[t->hand];
        t->hand = t->hand + 1 < t->n_used ? t->hand + 1 : 0;
        adp_sessions_remove(t, s);
    }
    s = &t->index.sessions[t->free_head - 1];
    t->free_head = s->hash;
    return s;
}

static struct adp_session *
insert(struct adp_sessions *t, uint32_t hash)
{
    if (t->n * 2 >= (size_t) t->index.n_lines * FILL_OF_TWO
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

uint64_t
adp_sessions_serial(const struct adp_sessions *t)
{
    return t->serial;
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
