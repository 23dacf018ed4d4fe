/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SAMPLE_H
#define ADP_SAMPLE_H 1

/* Samples of packets that were decided on, for who compares these decisions
 * with upstream's (antrea-dp/shadow).
 *
 * A sample is a packet as it came in, what the tables say of it, and what was
 * done with it.  The first is decide()'s verdict, walked for with a copy of
 * the packet right before that goes its way, as for adp-catch.h: with the
 * answers that conntrack gave, without which nobody could translate the packet
 * later.  The second is told by whoever carried it out: a session, a replayed
 * walk, or a walk.  Flows are noted as values, so nothing is referred to.
 *
 * One of N packets is sampled, at random intervals, so that a pattern in the
 * traffic hides nothing.  A sampled packet goes alone, not in a train, and has
 * its session looked up as any other.
 *
 * Each packet thread has a ring of its own, with ADP_SAMPLE_RING_SIZE places,
 * made when it samples for the first time; it goes with the thread.  When it
 * is full the sample is lost, and the bridge counts it.
 *
 * Cost: nothing is sampled: one look at a number for each batch.  Otherwise a
 * sampled packet costs another walk and some copying; memory is some 3 MB a
 * thread.
 *
 * Thread-safety: adp_samples_*() are for the main thread, the rest for the
 * thread that the sampler belongs to.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "adp-ct.h"
#include "adp-punt.h"
#include "flow.h"
#include "ovs-atomic.h"

struct adp_cached_verdict;
struct adp_cached_verdict_content;
struct adp_hit;
struct adp_session;
struct adp_tunnel_actions;
struct adp_walk;
struct dp_packet;
struct nlattr;

#define ADP_SAMPLE_RING_SIZE 256
#define ADP_SAMPLE_MAX_RATE 1000000000

/* What is longer than this can't be compared. */
#define ADP_SAMPLE_MAX_BYTES 512        /* Of a packet, from its beginning. */
#define ADP_SAMPLE_MAX_ACTIONS 2048
#define ADP_SAMPLE_MAX_HITS 96
#define ADP_SAMPLE_MAX_ANSWERS ADP_CT_MAX_STEPS

/* How the packet was handled. */
#define ADP_SAMPLE_WAYS                         \
    X(STOCK, "stock")                           \
    X(SESSION, "session")                       \
    X(REPLAY, "replay")                         \
    X(WALK, "walk")

enum adp_sample_way {
#define X(SYMBOL, NAME) ADP_SAMPLE_##SYMBOL,
    ADP_SAMPLE_WAYS
#undef X
    ADP_SAMPLE_N_WAYS
};

/* The beginning of a packet. */
struct adp_sample_bytes {
    uint16_t size;
    uint8_t data[ADP_SAMPLE_MAX_BYTES];
};

/* What conntrack said to a ct(), and what the packet looked like then. */
struct adp_sample_answer {
    uint8_t ct_state;
    bool has_orig_tuple;
    uint16_t ct_zone;
    uint32_t ct_mark;
    ovs_u128 ct_label;
    bool orig_is_ipv6;
    union {
        struct ovs_key_ct_tuple_ipv4 ipv4;
        struct ovs_key_ct_tuple_ipv6 ipv6;
    } orig;
    struct in6_addr src, dst;           /* IPv4 as mapped addresses. */
    ovs_be16 tp_src, tp_dst;
};

/* A flow that was hit, or the bucket of a group that was taken.  What is said
 * is the same of equal flows. */
struct adp_sample_hit {
    ovs_be64 cookie;                    /* Flow. */
    uint32_t id;                        /* Hash of its match; or the group. */
    uint32_t bucket;                    /* UINT32_MAX: all of them. */
    int32_t priority;                   /* Flow. */
    uint8_t table_id;                   /* Flow. */
    bool is_bucket;
    uint16_t zero;
};

struct adp_sample_hits {
    size_t n;                           /* More than there is room for: the
                                         * rest isn't noted. */
    struct adp_sample_hit hits[ADP_SAMPLE_MAX_HITS];
};

/* Datapath actions. */
struct adp_sample_actions {
    size_t size;                        /* The same. */
    uint64_t data[ADP_SAMPLE_MAX_ACTIONS / sizeof(uint64_t)];
};

struct adp_sample {
    /* The packet, and what it met. */
    uint32_t bridge;                    /* Serial number. */
    long long int time_ms;              /* Since the epoch. */
    uint64_t generation;                /* Of the program. */
    uint64_t ports_serial;
    struct flow flow;                   /* Without 'tunnel.metadata.tab'. */
    size_t length;
    uint16_t l2_5_ofs, l3_ofs, l4_ofs;  /* Of its headers. */
    struct adp_sample_bytes packet;

    /* decide()'s verdict. */
    enum adp_punt punt;
    bool answers_itself;                /* Told nobody what a controller would
                                         * have been told: answered, logged,
                                         * read. */
    bool held;
    bool hit_learned;
    bool tunnel_lost;
    bool tunnel_is_old;                 /* On its way to be renewed. */
    uint64_t tunnel_serial;             /* 0: into no tunnel. */
    size_t n_learned;
    size_t n_answers;
    struct adp_sample_answer answers[ADP_SAMPLE_MAX_ANSWERS];
    struct adp_sample_actions actions;
    struct adp_sample_hits hits;

    const struct conntrack_peek *peek;  /* The packet thread's. */

    /* What was done.  STOCK: nothing of that. */
    enum adp_sample_way way;
    struct {
        bool rewritten;                 /* The packet was, to 'packet', before
                                         * 'actions', in which there is no
                                         * ct(). */
        bool metered;
        uint32_t meter_id;
        struct adp_sample_bytes packet;
        struct adp_sample_actions actions;
        struct adp_sample_hits hits;
        bool ct_known;                  /* Also what became of connections: as
                                         * decide() foresaw? */
        bool ct_differs;
    } done;

    bool is_suspect;                    /* The main thread's: it differed. */
};

/* The thread's. */

extern atomic_uint32_t adp_sample_rate;         /* 0: nothing is sampled. */

static inline bool
adp_sample_is_on(void)
{
    uint32_t rate;

    atomic_read_relaxed(&adp_sample_rate, &rate);
    return rate != 0;
}

struct adp_sampler;

struct adp_sampler *adp_sampler_create(void);
void adp_sampler_destroy(struct adp_sampler *);         /* NULL is fine. */

/* Which packet to sample next of a batch of 'n' those from number 'from' on
 * are left: 'n' if none of them.  To be asked once for the batch's beginning,
 * with 0, and then behind each that is sampled. */
size_t adp_sampler_next(struct adp_sampler *, size_t from, size_t n);

/* The sampler's walk, for the verdict. */
struct adp_walk *adp_sampler_walk(struct adp_sampler *);

/* A place for a sample, with nothing in it, or NULL if there is none.  In
 * between no other can be opened: '*busy' tells that this is the reason. */
struct adp_sample *adp_sampler_open(struct adp_sampler *, bool *busy);
/* The sample is complete. */
void adp_sampler_close(struct adp_sampler *);

/* What is noted. */

void adp_sample_set_bytes(struct adp_sample_bytes *, const void *, size_t);
void adp_sample_set_actions(struct adp_sample_actions *, const void *,
                            size_t);
void adp_sample_set_hits(struct adp_sample_hits *, const struct adp_hit *,
                         size_t n);

/* The packet as it is, 'flow', and decide()'s verdict on it: 'w' is to be
 * walked with as adp_sample_prepare() leaves it, and given to
 * adp_sample_note_verdict() then. */
void adp_sample_prepare(struct adp_sample *, const struct dp_packet *,
                        const struct flow *, struct adp_walk *w);
void adp_sample_note_verdict(struct adp_sample *, const struct adp_walk *w,
                             enum adp_punt);

/* The packet goes by a session. */
void adp_sample_note_session(struct adp_sample *, const struct adp_session *,
                             const struct adp_cached_verdict *,
                             const struct adp_tunnel_actions *);
/* It goes by a walk that was summed up as 'content', or by such a walk that is
 * replayed.  'w' has its way through conntrack, which is still to be gone. */
void adp_sample_note_content(struct adp_sample *, enum adp_sample_way,
                             const struct adp_cached_verdict_content *content,
                             const struct nlattr *actions,
                             const struct adp_tunnel_actions *,
                             const struct adp_hit *,
                             const struct adp_walk *w,
                             const struct conntrack_peek_tuple *,
                             uint8_t nw_proto);
/* It goes by the actions of a verdict. */
void adp_sample_note_walk(struct adp_sample *, const struct adp_walk *);

/* The main thread's. */

/* Before there is another thread. */
void adp_samples_init(void);
/* One in 'rate' packets, 0: none. */
void adp_samples_set_rate(uint32_t rate);
uint32_t adp_samples_rate(void);
/* Calls 'cb' for samples, those of a thread in their order, as long as
 * 'goes_on' returns true before each.  'cb' returns false to be called with
 * the sample again, the next time. */
void adp_samples_drain(bool (*goes_on)(void *aux),
                       bool (*cb)(struct adp_sample *, void *aux),
                       void *aux);
/* Wakes the main loop when there is something to take out. */
void adp_samples_wait(void);

const char *adp_sample_way_name(enum adp_sample_way);

#endif /* adp-sample.h */
