/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_REWRITE_H
#define ADP_REWRITE_H 1

/* Rewriting a packet's headers as a verdict says, NAT included.
 *
 * The bytes are those that upstream's executor leaves, checksums too.  Layer
 * offsets are set, lengths are right.
 *
 * Thread-safety: the packet is the caller's.
 */

#include <stdint.h>

struct adp_cached_verdict_content;
struct adp_session;
struct conntrack_peek_tuple;
struct dp_packet;

/* Notes in session 's', whose key and connections are set, that its packets
 * are to have addresses and ports 'tuple': what that and the rest of the
 * rewriting do to checksums. */
void adp_rewrite_session_init(struct adp_session *s,
                              const struct conntrack_peek_tuple *tuple,
                              const struct adp_cached_verdict_content *c);

/* For a packet of session 's', whose verdict has content 'c'. */
void adp_rewrite_by_session(struct dp_packet *, const struct adp_session *s,
                            const struct adp_cached_verdict_content *c);

/* For a packet that is to have addresses and ports 'tuple'. */
void adp_rewrite_to(struct dp_packet *,
                    const struct adp_cached_verdict_content *c,
                    const struct conntrack_peek_tuple *tuple,
                    uint8_t nw_proto);

#endif /* adp-rewrite.h */
