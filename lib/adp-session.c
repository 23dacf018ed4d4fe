/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-session.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "openvswitch/vlog.h"
#include "random.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_session);

#define LINE_SLOTS 8
#define MIN_LINES 16
#define MIN_CAPACITY 4096

/* The index is split when it holds more sessions for two lines than this. */
#define FILL_OF_TWO 7

struct line {
    uint32_t hashes[LINE_SLOTS];
    uint32_t positions[LINE_SLOTS];     /* In 'sessions', plus 1.  0: empty. */
} OVS_ALIGNED_VAR(CACHE_LINE_SIZE);
BUILD_ASSERT_DECL(sizeof(struct line) == CACHE_LINE_SIZE);

struct adp_sessions {
    struct adp_session_seeds seeds;

    /* 'n_lines' lines: 'mask' + 1 is the largest power of two not above
     * that.  Lines from 'mask' + 1 on have taken over a part of the line that
     * many below. */
    struct line *lines;
    bool *overflowed;           /* Lines that sessions had no room in. */
    uint32_t n_lines, mask, max_lines;

    struct adp_session *sessions;
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
    release(t->lines, t->max_lines * sizeof *t->lines);
    release(t->sessions, t->capacity * sizeof *t->sessions);
}

static bool
reserve_all(struct adp_sessions *t)
{
    t->lines = reserve(t->max_lines * sizeof *t->lines);
    t->sessions = reserve(t->capacity * sizeof *t->sessions);
    if (t->lines && t->sessions) {
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
    t->n_lines = MIN_LINES;
    t->mask = MIN_LINES - 1;
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
        void *verdict = adp_session_body(&t->sessions[i])->verdict;

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

static inline struct line *
line_of(const struct adp_sessions *t, uint32_t hash)
{
    uint32_t i = hash & (2 * t->mask + 1);

    return &t->lines[i < t->n_lines ? i : hash & t->mask];
}

/* Returns the slot of the session at 'position', or a free slot if that is 0,
 * or -1. */
static int
slot_in_line(const struct line *line, uint32_t position)
{
    for (int i = 0; i < LINE_SLOTS; i++) {
        if (line->positions[i] == position) {
            return i;
        }
    }
    return -1;
}

/* The slots of sessions with 'hash', a bit each.  Which slot it is can't be
 * foreseen, so a loop that ends there would be mispredicted most of the time. */
static inline unsigned int
slots_with_hash(const struct line *line, uint32_t hash)
{
#ifdef __SSE2__
    const __m128i *v = (const __m128i *) line;
    __m128i wanted = _mm_set1_epi32(hash), zero = _mm_setzero_si128();
    __m128i low = _mm_andnot_si128(_mm_cmpeq_epi32(v[2], zero),
                                   _mm_cmpeq_epi32(v[0], wanted));
    __m128i high = _mm_andnot_si128(_mm_cmpeq_epi32(v[3], zero),
                                    _mm_cmpeq_epi32(v[1], wanted));

    return _mm_movemask_epi8(_mm_packs_epi16(_mm_packs_epi32(low, high),
                                             zero));
#else
    unsigned int slots = 0;

    for (int i = 0; i < LINE_SLOTS; i++) {
        slots |= (unsigned int) (line->hashes[i] == hash
                                 && line->positions[i]) << i;
    }
    return slots;
#endif
}

/* Gives the line after the last its part of another. */
static void
split_line(struct adp_sessions *t)
{
    if (t->n_lines > 2 * t->mask + 1) {
        t->mask = 2 * t->mask + 1;
    }

    struct line *old = &t->lines[t->n_lines & t->mask];
    struct line *new = &t->lines[t->n_lines];
    int n_new = 0;

    t->overflowed[t->n_lines] = t->overflowed[t->n_lines & t->mask];
    t->n_lines++;
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

void
adp_sessions_prefetch(const struct adp_sessions *t, uint32_t hash)
{
    OVS_PREFETCH(line_of(t, hash));
}

static inline struct adp_session *
session_in_slot(const struct adp_sessions *t, const struct line *line, int i)
{
    return &t->sessions[line->positions[i] - 1];
}

static inline bool
has_overflowed(const struct adp_sessions *t, const struct line *line)
{
    return t->overflowed[line - t->lines];
}

static inline struct adp_session *
candidate_in_line(const struct adp_sessions *t, const struct line *line,
                  uint32_t hash)
{
    unsigned int slots = slots_with_hash(line, hash);

    if (!slots) {
        return NULL;
    }

    struct adp_session *s = session_in_slot(t, line, raw_ctz(slots));
    OVS_PREFETCH(s);
    return s;
}

struct adp_session *
adp_sessions_candidate(const struct adp_sessions *t, uint32_t hash)
{
    const struct line *line = line_of(t, hash);
    struct adp_session *s = candidate_in_line(t, line, hash);

    if (OVS_UNLIKELY(!s) && has_overflowed(t, line)) {
        OVS_PREFETCH(line_of(t, other_hash(hash)));
    }
    return s;
}

struct adp_session *
adp_sessions_other_candidate(const struct adp_sessions *t, uint32_t hash)
{
    return (has_overflowed(t, line_of(t, hash))
            ? candidate_in_line(t, line_of(t, other_hash(hash)), hash)
            : NULL);
}

static inline struct adp_session *
find4_in_line(const struct adp_sessions *t, const struct line *line,
              uint32_t hash, const struct adp_session_key4 *key)
{
    unsigned int slots = slots_with_hash(line, hash);

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
    const struct line *line = line_of(t, hash);
    struct adp_session *s = find4_in_line(t, line, hash, key);

    return (s || !has_overflowed(t, line) ? s
            : find4_in_line(t, line_of(t, other_hash(hash)), hash, key));
}

static inline struct adp_session *
find6_in_line(const struct adp_sessions *t, const struct line *line,
              uint32_t hash, const struct adp_session_key6 *key)
{
    unsigned int slots = slots_with_hash(line, hash);

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
    const struct line *line = line_of(t, hash);
    struct adp_session *s = find6_in_line(t, line, hash, key);

    return (s || !has_overflowed(t, line) ? s
            : find6_in_line(t, line_of(t, other_hash(hash)), hash, key));
}

/* Coming and going. */

/* Takes 's' out of the index. */
static void
unindex(struct adp_sessions *t, const struct adp_session *s)
{
    uint32_t position = s - t->sessions + 1;
    struct line *line = line_of(t, s->hash);
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
    t->free_head = s - t->sessions + 1;
    t->n--;
    t->serial++;
}

/* Takes a session to be filled; one has to leave if there is none left. */
static struct adp_session *
take_session(struct adp_sessions *t)
{
    struct adp_session *s;

    if (!t->free_head && t->n_used < t->capacity) {
        return &t->sessions[t->n_used++];
    }
    while (!t->free_head) {
        s = &t->sessions[t->hand];
        t->hand = t->hand + 1 < t->n_used ? t->hand + 1 : 0;
        adp_sessions_remove(t, s);
    }
    s = &t->sessions[t->free_head - 1];
    t->free_head = s->hash;
    return s;
}

static struct adp_session *
insert(struct adp_sessions *t, uint32_t hash)
{
    if (t->n * 2 >= (size_t) t->n_lines * FILL_OF_TWO
        && t->n_lines < t->max_lines) {
        split_line(t);
    }

    struct adp_session *s = take_session(t);
    struct line *line = line_of(t, hash);
    int slot = slot_in_line(line, 0);

    if (slot < 0) {
        t->overflowed[line - t->lines] = true;
        line = line_of(t, other_hash(hash));
        slot = slot_in_line(line, 0);
    }
    if (slot < 0) {
        slot = random_range(LINE_SLOTS);
        adp_sessions_remove(t, session_in_slot(t, line, slot));
    }
    line->hashes[slot] = hash;
    line->positions[slot] = s - t->sessions + 1;
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
    return (t->n_used * sizeof *t->sessions
            + t->n_lines * (sizeof *t->lines + sizeof *t->overflowed)
            + sizeof *t);
}
