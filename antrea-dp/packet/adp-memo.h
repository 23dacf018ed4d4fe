/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MEMO_H
#define ADP_MEMO_H 1

/* Memos: how a walk went, for other connections that go the same way.
 *
 * decide() depends on the packet's headers, on what conntrack answers, and on
 * the buckets that groups choose.  A memo is the walk of one packet written
 * down as that: which ct()s were asked, with what answers, which bucket was
 * chosen, and the verdict.  A packet that differs only in its source port,
 * which matters to conntrack and to the choice of buckets alone, goes through
 * the memo: the ct()s are asked again for this packet, and where all
 * the answers and the choice are the same, so is the verdict.  Where one
 * differs nothing has happened, and the packet walks the tables.
 *
 * A memo is for one choice of bucket: what comes before the choice is kept
 * under the packet's key, what comes after under key and bucket.
 *
 * A memo is made of a walk when its key is met for the second time, so that packets to
 * random destinations leave none.  There are no memos while a flow reads
 * source ports, and none of walks with learn(), with two choices, or with
 * timeout policies.  The validity is that of sessions (adp-cached-verdict.h).
 *
 * Thread-safety: belongs to one thread.
 */

#include "adp-session-parse.h"

struct adp_bridge;
struct adp_cached_verdict;
struct adp_cached_verdict_content;
struct adp_draft;
struct adp_memo;
struct adp_memos;
struct adp_store;
struct adp_walk;
struct conntrack;
struct conntrack_peek_tuple;

struct adp_memos *adp_memos_create(struct adp_store *);
void adp_memos_destroy(struct adp_memos *);
size_t adp_memos_count(const struct adp_memos *);
/* How many had to make room for others. */
uint64_t adp_memos_evicted(const struct adp_memos *);
/* As adp_sessions_age(). */
void adp_memos_age(struct adp_memos *, long long int now_ms);

/* A packet's memos being fetched, in stages that a batch goes through one after
 * the other, so that waiting for memory overlaps. */
struct adp_memo_fetch {
    struct adp_session_packet key;      /* Of the memo to look at next. */
    struct adp_session *candidate;
    const struct adp_memo *memo;
    const struct adp_token *token;      /* Of its verdict. */
    bool goes_on;                       /* There is a next one. */
};
#define ADP_MEMO_STAGES 8
/* Stage 0 sets 'fetch' up. */
void adp_memos_fetch(const struct adp_memos *, const struct conntrack *,
                     int stage, const struct adp_session_packet *,
                     struct adp_memo_fetch *fetch);

/* Looks for a memo that the packet goes through.  'w' is prepared by
 * adp_walk_prepare(); afterwards its peek is that of a whole walk.  Returns
 * the verdict, and sets '*tuple' to the packet's addresses and ports after NAT
 * and '*nat' to whether these are others than before; or returns NULL. */
struct adp_cached_verdict *adp_memos_replay(struct adp_memos *,
                                            const struct adp_session_packet *,
                                            struct adp_walk *w,
                                            struct conntrack_peek_tuple *tuple,
                                            bool *nat);

/* Writes the walk down, if it is worth it. */
void adp_memos_note(struct adp_memos *, const struct adp_session_packet *,
                    const struct adp_draft *);

/* Any thread: forgets all memos.  For what a walk depends on and a memo can't
 * see. */
void adp_memos_invalidate(void);

#endif /* adp-memo.h */
