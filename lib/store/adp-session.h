/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SESSION_H
#define ADP_SESSION_H 1

/* Sessions: what is known about the packets of one direction of a connection.
 *
 * A session's key holds everything in a TCP or UDP packet that a program may
 * look at, but for what the caller leaves out on its own responsibility
 * (IPv6's flow label where no flow reads it, payload, TCP's numbers and flags,
 * the IP identification); so packets with equal keys and equal connection
 * state get the same verdict.  The verdict itself and whether the session may
 * still be believed is the caller's: a session is a hint, never a truth.
 *
 * struct adp_sessions is a hash table of them for one thread, in the shape
 * that hides memory latency: adp_sessions_prefetch(), some packets later
 * adp_sessions_candidate(), which fetches the session, some packets later
 * adp_sessions_find4() or adp_sessions_find6().
 *
 * Its index is an array of cache lines with room for eight sessions each; it
 * grows one line at a time (linear hashing: Litwin, "Linear Hashing: A New
 * Tool for File and Table Addressing", VLDB 1980), so no packet ever waits for
 * a table to be rebuilt.  Memory is reserved for the capacity and taken from
 * the system as it is used, in huge pages where the system has them.
 *
 * Capacity is fixed.  When it is reached, or when a line is full, a new
 * session takes the place of an old one, which is as if the old one had never
 * been met.  A session that no packet used for some half a minute leaves
 * (adp_sessions_age()), and when few are left the table gives its memory back,
 * a piece at a time: the last session moves to where one is missing, the last
 * line of the index joins the one that it was split from.
 *
 * Thread-safety: a table belongs to one thread.  adp_sessions_count() may be
 * called from any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include "adp-token.h"
#include "hash-product.h"
#include "openvswitch/types.h"
#include "packets.h"
#include "util.h"

#define ADP_SESSION_MAX_CONNS 3

/* Keys.  They have no padding. */
struct adp_session_l4 {
    ovs_be16 tp_src, tp_dst;
    uint32_t ingress;           /* Where it came in, and with which VLAN tag if
                                 * 'tagged', as the caller says. */
    struct eth_addr dl_dst, dl_src;
    uint8_t nw_proto;
    uint8_t nw_tos;
    uint8_t nw_ttl;
    uint8_t tagged;             /* 1: it has a VLAN tag. */
};

struct adp_session_key4 {
    union {
        struct {
            ovs_be32 nw_src, nw_dst;
            struct adp_session_l4 l4;
        };
        uint64_t words[4];
    };
};
BUILD_ASSERT_DECL(sizeof(struct adp_session_key4) == 32);

struct adp_session_key6 {
    union {
        struct {
            struct in6_addr ipv6_src, ipv6_dst;
            struct adp_session_l4 l4;
            ovs_be32 ipv6_label;
            ovs_be32 zero;
        };
        uint64_t words[8];
    };
};
BUILD_ASSERT_DECL(sizeof(struct adp_session_key6) == 64);

/* A session without its key.  The caller's to fill. */
struct adp_session_body {
    struct adp_token token;     /* 'life' 0: not in the table. */
    void *conn0;
    uint32_t version0;
    uint8_t n_conns : 2;
    uint8_t more : 6;           /* ADP_SESSION_MORE_*. */
    uint8_t used;               /* See adp_session_use(). */
    uint8_t settled;            /* See adp_session_is_settled(). */
    uint8_t zero;

    union {
        struct {
            void *conn1, *conn2;
            uint32_t version1, version2;
        };
        /* Of IPv6, if NAT is that of 'conn0' and there is no other: the
         * address that it sets, and the ports. */
        struct {
            struct in6_addr nat_addr;
            ovs_be16 nat_tp_src, nat_tp_dst;
        };
    };
};
BUILD_ASSERT_DECL(sizeof(struct adp_session_body) == 56);
BUILD_ASSERT_DECL(ADP_SESSION_MAX_CONNS < 1 << 2);

/* What packets need beside the session's first line. */
enum {
    ADP_SESSION_MORE_LINE = 1 << 0,     /* Its second line, if of IPv4. */
    ADP_SESSION_MORE_TUNNEL = 1 << 1,   /* The tunnel that they go into. */
    ADP_SESSION_MORE_NAT = 1 << 2,      /* The connections' addresses. */
};

/* The parts that most packets need lie in one cache line with an IPv4 key, in
 * two with an IPv6 key.  'is_ipv6' takes a byte that is zero in either
 * form. */
struct adp_session {
    union {
        struct {
            struct adp_session_key4 key;
            struct adp_session_body body;
            /* Addresses and ports after NAT. */
            ovs_be32 nat_src, nat_dst;
            ovs_be16 nat_tp_src, nat_tp_dst;
            /* By how much the rewriting changes the checksums: see csum.h. */
            uint16_t l3_delta, l4_delta;
        } v4;
        struct {
            struct adp_session_key6 key;
            struct adp_session_body body;
            /* What NAT makes of addresses and ports, if there is more than
             * one connection, is the connections'. */
        } v6;
        struct {
            uint8_t first_line[CACHE_LINE_SIZE - 1];
            bool is_ipv6;
        };
    };
    uint32_t hash;
    uint16_t v6_l4_delta;       /* As v4.l4_delta. */
} OVS_ALIGNED_VAR(128);
BUILD_ASSERT_DECL(sizeof(struct adp_session) == 128);
BUILD_ASSERT_DECL(offsetof(struct adp_session, v4.body.conn1) == 64);
BUILD_ASSERT_DECL(offsetof(struct adp_session, v4.body.zero) == 63);
BUILD_ASSERT_DECL(offsetof(struct adp_session, v6.key.zero) == 60);

static inline struct adp_session_body *
adp_session_body(struct adp_session *s)
{
    return s->is_ipv6 ? &s->v6.body : &s->v4.body;
}

static inline bool
adp_session_is4(const struct adp_session *s,
                const struct adp_session_key4 *key)
{
    const uint64_t *a = s->v4.key.words, *b = key->words;

    return (!s->is_ipv6
            && !((a[0] ^ b[0]) | (a[1] ^ b[1])
                 | (a[2] ^ b[2]) | (a[3] ^ b[3])));
}

static inline bool
adp_session_is6(const struct adp_session *s,
                const struct adp_session_key6 *key)
{
    const uint64_t *a = s->v6.key.words, *b = key->words;

    /* The key in the session differs in the byte that is 'is_ipv6'. */
    return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2])
             | (a[3] ^ b[3]) | (a[4] ^ b[4]) | (a[5] ^ b[5])
             | (a[6] ^ b[6])
             | (a[7] ^ b[7] ^ (OVS_FORCE uint64_t) CONSTANT_HTONLL(1)));
}

struct adp_sessions;

/* For at least 'capacity' sessions.  'evict', unless it is NULL, is told of
 * each session that leaves, before it does; a call must not change the table.
 * Where memory can't be reserved there is room for fewer, at least
 * some thousands. */
struct adp_sessions *adp_sessions_create(
    size_t capacity, void (*evict)(struct adp_session_body *, void *aux),
    void *aux);
/* Evicts all.  Costs as much as there are, if somebody wants to be told;
 * otherwise what unmapping the memory costs. */
void adp_sessions_destroy(struct adp_sessions *);

/* The clock by which sessions age counts in steps of some seconds.  It begins
 * anew every 35 minutes, in which each session is looked at often. */
#define ADP_SESSION_AGE_SHIFT 13        /* 2**13 ms. */
#define ADP_SESSION_MAX_AGE 4           /* Steps without a packet. */

static inline uint8_t
adp_session_age(long long int now_ms)
{
    return now_ms >> ADP_SESSION_AGE_SHIFT;
}

/* Notes that the session is in use.  Writes once in a step. */
static inline void
adp_session_use(struct adp_session_body *body, uint8_t age)
{
    if (OVS_UNLIKELY(body->used != age)) {
        body->used = age;
        body->settled = 0;
    }
}

/* A session whose connections are settled for the next moment is noted as such
 * until the moment is over.  Moments are parts of a step, and have numbers in
 * it. */
#define ADP_SESSION_MOMENT_SHIFT 8      /* 2**8 ms. */

static inline uint8_t
adp_session_moment(long long int now_ms)
{
    BUILD_ASSERT(ADP_SESSION_AGE_SHIFT - ADP_SESSION_MOMENT_SHIFT <= 7);
    return 0x80 | (now_ms >> ADP_SESSION_MOMENT_SHIFT & 0x7f);
}

/* 'age' and 'moment' are those of now. */
static inline bool
adp_session_is_settled(const struct adp_session_body *body, uint8_t age,
                       uint8_t moment)
{
    return body->settled == moment && body->used == age;
}

/* Looks for sessions that nobody uses, at a pace that gets round in
 * ADP_PACE_ROUND_MS (adp-pace.h); call it often, for a session leaves within
 * that and ADP_SESSION_MAX_AGE steps only then.  Returns the number of those
 * that left.  Cost: in proportion to the time since the last call and the
 * number of sessions, at most '*left' looks, which are taken from it.  If
 * nothing is left, call it again soon: there may be more to look at. */
size_t adp_sessions_age(struct adp_sessions *, long long int now_ms,
                        size_t *left);

/* Secret numbers of a table, so that nobody can choose keys that meet in one
 * line of its index.  Immutable. */
struct adp_session_seeds {
    uint64_t s[4];
};
const struct adp_session_seeds *adp_sessions_seeds(
    const struct adp_sessions *);

static inline uint32_t
adp_session_hash4(const struct adp_session_seeds *seeds,
                  const struct adp_session_key4 *key)
{
    const uint64_t *w = key->words, *s = seeds->s;
    uint64_t hash = (hash_product(w[0] ^ s[0], w[1] ^ s[1])
                     ^ hash_product(w[2] ^ s[2], w[3] ^ s[3]));

    return hash_products_finish(hash);
}

static inline uint32_t
adp_session_hash6(const struct adp_session_seeds *seeds,
                  const struct adp_session_key6 *key)
{
    const uint64_t *w = key->words, *s = seeds->s;
    uint64_t hash = (hash_product(w[0] ^ s[0], w[1] ^ s[1])
                     ^ hash_product(w[2] ^ s[2], w[3] ^ s[3])
                     ^ hash_product(w[4] ^ s[1], w[5] ^ s[2])
                     ^ hash_product(w[6] ^ s[3], w[7] ^ s[0]));

    return hash_products_finish(hash);
}

/* The index, here for the functions that every packet needs. */

#define ADP_SESSION_LINE_SLOTS 8

struct adp_session_line {
    uint32_t hashes[ADP_SESSION_LINE_SLOTS];
    /* In 'sessions', plus 1.  0: empty. */
    uint32_t positions[ADP_SESSION_LINE_SLOTS];
} OVS_ALIGNED_VAR(CACHE_LINE_SIZE);
BUILD_ASSERT_DECL(sizeof(struct adp_session_line) == CACHE_LINE_SIZE);

/* 'n_lines' lines: 'mask' + 1 is the largest power of two not above that.
 * Lines from 'mask' + 1 on have taken over a part of the line that many
 * below. */
struct adp_session_index {
    struct adp_session_line *lines;
    struct adp_session *sessions;
    uint32_t n_lines, mask;
    uint64_t serial;
};

/* Every table begins with its index. */
static inline const struct adp_session_index *
adp_sessions_index(const struct adp_sessions *t)
{
    return (const struct adp_session_index *) t;
}

static inline struct adp_session_line *
adp_session_index_line(const struct adp_session_index *x, uint32_t hash)
{
    uint32_t i = hash & (2 * x->mask + 1);

    return &x->lines[i < x->n_lines ? i : hash & x->mask];
}

/* The slots of sessions with 'hash', a bit each.  Which slot it is can't be
 * foreseen, so a loop that ends there would be mispredicted most times. */
static inline unsigned int
adp_session_line_slots(const struct adp_session_line *line, uint32_t hash)
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

    for (int i = 0; i < ADP_SESSION_LINE_SLOTS; i++) {
        slots |= (unsigned int) (line->hashes[i] == hash
                                 && line->positions[i]) << i;
    }
    return slots;
#endif
}

/* The first session in 'line' with 'hash', which is being fetched (its first
 * line), or NULL. */
static inline struct adp_session *
adp_session_index_candidate(const struct adp_session_index *x,
                            const struct adp_session_line *line,
                            uint32_t hash)
{
    unsigned int slots = adp_session_line_slots(line, hash);

    if (!slots) {
        return NULL;
    }

    struct adp_session *s
        = &x->sessions[line->positions[raw_ctz(slots)] - 1];
    OVS_PREFETCH(s);
    return s;
}

/* Starts to fetch what adp_sessions_other_candidate() reads, if anything. */
void adp_sessions_prefetch_other(const struct adp_sessions *, uint32_t hash);

/* Starts to fetch what adp_sessions_candidate() reads. */
static inline void
adp_sessions_prefetch(const struct adp_sessions *t, uint32_t hash)
{
    OVS_PREFETCH(adp_session_index_line(adp_sessions_index(t), hash));
}

/* A session that may have this hash, or NULL.  Not read, but its first line is
 * being fetched. */
static inline struct adp_session *
adp_sessions_candidate(const struct adp_sessions *t, uint32_t hash)
{
    const struct adp_session_index *x = adp_sessions_index(t);
    struct adp_session *s
        = adp_session_index_candidate(x, adp_session_index_line(x, hash),
                                      hash);

    if (OVS_UNLIKELY(!s)) {
        adp_sessions_prefetch_other(t, hash);
    }
    return s;
}

/* The same at the second place where it may be, if there was none at the
 * first. */
struct adp_session *adp_sessions_other_candidate(const struct adp_sessions *,
                                                 uint32_t hash);

/* Starts to fetch the rest of a session. */
static inline void
adp_session_fetch_more(const struct adp_session *s)
{
    OVS_PREFETCH((const char *) s + CACHE_LINE_SIZE);
}

struct adp_session *adp_sessions_find4(const struct adp_sessions *,
                                       uint32_t hash,
                                       const struct adp_session_key4 *);
struct adp_session *adp_sessions_find6(const struct adp_sessions *,
                                       uint32_t hash,
                                       const struct adp_session_key6 *);

/* Makes a session with this key and an empty body, for the caller to fill.
 * The key must not be in the table. */
struct adp_session *adp_sessions_insert4(struct adp_sessions *, uint32_t hash,
                                         const struct adp_session_key4 *);
struct adp_session *adp_sessions_insert6(struct adp_sessions *, uint32_t hash,
                                         const struct adp_session_key6 *);

void adp_sessions_remove(struct adp_sessions *, struct adp_session *);

/* Changes whenever a session left the table, or moved. */
static inline uint64_t
adp_sessions_serial(const struct adp_sessions *t)
{
    return adp_sessions_index(t)->serial;
}

size_t adp_sessions_count(const struct adp_sessions *);
size_t adp_sessions_capacity(const struct adp_sessions *);
/* How many had to make room for others. */
uint64_t adp_sessions_evicted(const struct adp_sessions *);
/* Bytes in use: of the sessions, with those that were in use at once not long
 * ago, and of the index for them. */
size_t adp_sessions_size(const struct adp_sessions *);

#endif /* adp-session.h */
