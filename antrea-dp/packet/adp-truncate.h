/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_TRUNCATE_H
#define ADP_TRUNCATE_H 1

/* DNS answers that came in fragments.
 *
 * Nobody can read an answer of which each packet has a part, and nothing of it
 * may pass unread where rules have names (adp-held.h).  So who asked gets, in
 * place of the first fragment, what a server sends whose answer fits no
 * packet: the question, no records, and the flag that says so (TC, RFC 1035,
 * section 4.1.1).  It asks again by TCP, whose segments can be read.
 *
 * Thread-safety: no state.
 */

struct dp_packet;
struct flow;

/* A truncated answer in place of 'packet', the first fragment of a datagram
 * from the DNS port, or NULL if it is none, or no answer.  'flow' is that of
 * the packet, whose layer offsets are set; those of the new one aren't.
 * Caller frees. */
struct dp_packet *adp_truncated_answer(const struct dp_packet *packet,
                                       const struct flow *flow);

#endif /* adp-truncate.h */
