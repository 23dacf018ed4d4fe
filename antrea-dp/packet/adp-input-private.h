/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_INPUT_PRIVATE_H
#define ADP_INPUT_PRIVATE_H 1

/* What adp-input.c and adp-input-*.c share: how a packet is looked at before
 * it is decided on, why stock may have to take it, and how one goes that has
 * no session.
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

/* Why the packet can't be decided on at all.  It stays as it is. */
enum adp_punt adp_input_punt_early(const struct adp_fast *,
                                   const struct adp_fast_packet *,
                                   struct adp_bridge *, struct dp_packet *,
                                   const struct flow *);
/* Why what the walk decided on isn't to be done. */
enum adp_punt adp_input_punt_late(const struct adp_fast *,
                                  const struct adp_walk *,
                                  const struct flow *original);

/* Accounts for a packet that stays in its batch. */
void adp_input_leave(struct adp_fast *, struct adp_bridge *, enum adp_punt,
                     const struct flow *);

/* For a packet without a session.  Both return true if it was handled, and is
 * gone.  By an earlier walk that is cached: false, and nothing was done, if
 * there is none that fits. */
bool adp_input_replay(struct adp_fast *, const struct adp_fast_packet *,
                      struct adp_bridge *, struct dp_packet *);
/* By one of its own, which upstream may have to do. */
bool adp_input_walk(struct adp_fast *, const struct adp_fast_packet *,
                    struct adp_bridge *, struct dp_packet *,
                    const struct flow *);

/* For who waits for a packet (adp-catch.h), and for samples (adp-sample.h),
 * before anything happens to packet 'i' of the batch, which stays as it is:
 * one that was received, ... */
void adp_input_watch(struct adp_fast *, size_t i, const struct dp_packet *,
                     struct adp_bridge *, odp_port_t, ofp_port_t,
                     bool has_marks, bool sampled);
/* ... one that came out of a tunnel, ... */
void adp_input_watch_decapsulated(struct adp_fast *, size_t i,
                                  const struct dp_packet *, bool sampled);
/* ... and, for who waits, those that were received for a closed bridge. */
void adp_input_catch_refused(struct adp_bridge *,
                             const struct dp_packet_batch *, odp_port_t,
                             ofp_port_t);

/* Which of the batch's 'n' packets is to be sampled: 'n' if none.  The second
 * is for when packet 'i', which was, is done with. */
size_t adp_input_first_sample(struct adp_fast *, size_t n);
size_t adp_input_next_sample(struct adp_fast *, size_t i, size_t n);

#endif /* adp-input-private.h */
