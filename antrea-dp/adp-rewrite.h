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

struct adp_cached_content;
struct adp_draft;
struct adp_session;
struct dp_packet;

/* For a packet of session 's', whose verdict has content 'c'. */
void adp_rewrite_by_session(struct dp_packet *, const struct adp_session *s,
                            const struct adp_cached_content *c);

/* For the packet that the draft was made for. */
void adp_rewrite_by_draft(struct dp_packet *, const struct adp_draft *);

#endif /* adp-rewrite.h */
