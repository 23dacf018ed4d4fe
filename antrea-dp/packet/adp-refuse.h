/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_REFUSE_H
#define ADP_REFUSE_H 1

/* Sends a refusal (adp-refusal.h) back to where a packet came from.
 *
 * Bounded: one for a packet, and by the thread's limit.
 *
 * Thread-safety: of the thread that the batch belongs to.
 */

#include "adp-answer.h"
#include "openvswitch/types.h"

struct adp_bridge;
struct adp_fast;
struct dp_packet;

/* Answers 'packet', which is as it came in, and stays the caller's: from port
 * 'f->in_port', or, if that is ODPP_NONE, out of the tunnel of 'b' whose port
 * is 'tunnel_port'. */
void adp_refuse(struct adp_fast *f, struct adp_bridge *b,
                const struct dp_packet *packet, enum adp_answer,
                ofp_port_t tunnel_port);

#endif /* adp-refuse.h */
