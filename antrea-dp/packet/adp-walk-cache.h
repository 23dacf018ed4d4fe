/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_WALK_CACHE_H
#define ADP_WALK_CACHE_H 1

/* Walks that are kept for other connections whose packets fare the same.
 *
 * decide() depends on the packet's headers, on what conntrack answers, and on
 * the buckets that groups choose.  A cached walk is the walk of one packet
 * written down as that: which ct()s were asked, with what answers, which
 * bucket was chosen, and the verdict.  For a packet that differs only in its
 * source port, which matters to conntrack and to the choice of buckets alone,
 * the walk is replayed, as upstream's xlate cache replays what a translation
 * does beside its actions: the ct()s are asked again for this packet, and
 * where all the answers and the choice are the same, so is the verdict.  Where
 * one differs nothing has happened, and the packet walks the tables.
 *
 * A cached walk is for one choice of bucket: what comes before the choice is
 * kept under the packet's key, what comes after under key and bucket.  The
 * latter holds where conntrack has answered the same before the choice, too:
 * the first packet of a connection to a Service and the same one sent again
 * may choose the same bucket, and have come there by different flows.
 *
 * While a flow reads source ports, the key has the packet's: a walk is then
 * for later packets of the same kind of one connection, which helps where none
 * is ever committed (direct server return), and has no choice of bucket.
 *
 * Packets that answer differ in their destination port instead, and in what
 * conntrack knows as the original tuple.  Matches read destination ports all
 * the time, so here it is the walk that must not have: none of the flows that
 * had a part in its look-ups, and no action.  Antrea's flows for connections
 * that are established come before those of its policies.
 *
 * A walk is cached when its key is met for the second time, so that packets to
 * random destinations leave none.  None is with learn(), with two choices, or
 * with timeout policies.  The validity is that of sessions
 * (adp-cached-verdict.h).
 *
 * Thread-safety: belongs to one thread.
 */

#include "adp-session-parse.h"

struct adp_bridge;
struct adp_cached_verdict;
struct adp_cached_verdict_content;
struct adp_summary;
struct adp_cached_walk;
struct adp_walk_cache;
struct adp_store;
struct adp_walk;
struct conntrack;
struct conntrack_peek_tuple;

struct adp_walk_cache *adp_walk_cache_create(struct adp_store *);
void adp_walk_cache_destroy(struct adp_walk_cache *);
size_t adp_walk_cache_count(const struct adp_walk_cache *);
/* How many had to make room for others. */
uint64_t adp_walk_cache_evicted(const struct adp_walk_cache *);
/* As adp_sessions_age(). */
void adp_walk_cache_age(struct adp_walk_cache *, long long int now_ms,
                        size_t *left);

/* A packet's cached walks being fetched, in stages that a batch goes through
 * one after the other, so that waiting for memory overlaps. */
struct adp_walk_fetch {
    struct adp_session_packet key;      /* Of the walk to look at next. */
    struct adp_session *candidate;
    const struct adp_cached_walk *cached;
    const struct adp_token *token;      /* Of its verdict. */
    bool goes_on;                       /* There is a next one. */
};
#define ADP_WALK_FETCH_STAGES 8
/* Stage 0 sets 'fetch' up.  'reads' is what the program does. */
void adp_walk_cache_fetch(const struct adp_walk_cache *,
                          const struct conntrack *, int stage, uint32_t reads,
                          const struct adp_session_packet *,
                          struct adp_walk_fetch *fetch);

/* Looks for a walk that can be replayed for the packet.  'w' is prepared by
 * adp_walk_prepare(); afterwards its peek is that of a whole walk.  Returns
 * the verdict, and sets '*tuple' to the packet's addresses and ports after NAT
 * and '*nat' to whether these are others than before; or returns NULL. */
struct adp_cached_verdict *adp_walk_cache_replay(
    struct adp_walk_cache *, const struct adp_session_packet *,
    struct adp_walk *w, struct conntrack_peek_tuple *tuple, bool *nat);

/* Writes the walk down, if it is worth it. */
void adp_walk_cache_add(struct adp_walk_cache *,
                        const struct adp_session_packet *,
                        const struct adp_summary *);

#endif /* adp-walk-cache.h */
