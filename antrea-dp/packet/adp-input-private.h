/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_INPUT_PRIVATE_H
#define ADP_INPUT_PRIVATE_H 1

/* What adp-input.c and adp-input-catch.c share: how a packet is looked at
 * before it is decided on, and why stock may have to take it.
 *
 * For packet threads. */

#include <stdbool.h>
#include <stddef.h>
#include "adp-punt.h"
#include "openvswitch/types.h"

struct adp_bridge;
struct adp_fast;
struct adp_fast_packet;
struct adp_walk;
struct dp_packet;
struct dp_packet_batch;
struct flow;

/* The packet has metadata. */
void adp_input_parse(struct dp_packet *, struct flow *);
/* Completes the flow of a packet that came out of a tunnel to the port.
 * Returns false if upstream has to see it: '*known' tells whether the flow is
 * what upstream will see. */
bool adp_input_complete_tunnel_flow(struct adp_bridge *, ofp_port_t,
                                    struct flow *, bool *known);

/* Why the packet can't be decided on at all. */
enum adp_punt adp_input_punt_early(const struct adp_fast *,
                                   const struct adp_fast_packet *,
                                   struct adp_bridge *, const struct flow *);
/* Why what the walk decided on isn't to be done; 'flow' is the packet as it is
 * then. */
enum adp_punt adp_input_punt_late(const struct adp_fast *,
                                  const struct adp_walk *,
                                  const struct flow *original,
                                  struct flow *);

/* For who waits for a packet (adp-catch.h), before anything happens to packet
 * 'i' of the batch, which stays as it is: one that was received, ... */
void adp_input_catch(struct adp_fast *, size_t i, const struct dp_packet *,
                     struct adp_bridge *, odp_port_t, ofp_port_t,
                     bool has_marks);
/* ... one that came out of a tunnel, ... */
void adp_input_catch_decapsulated(struct adp_fast *, size_t i,
                                  const struct dp_packet *);
/* ... and those that were received for a closed bridge. */
void adp_input_catch_refused(struct adp_bridge *,
                             const struct dp_packet_batch *, odp_port_t,
                             ofp_port_t);

#endif /* adp-input-private.h */
