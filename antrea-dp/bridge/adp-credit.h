/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CREDIT_H
#define ADP_CREDIT_H 1

/* Counters on their way to OpenFlow's. */

#include <stdbool.h>
#include <stdint.h>
#include "openvswitch/types.h"

struct adp_bridge;
struct adp_hit;
struct adp_learn_entry;

/* Any thread: credits a hit, and its table, with packets. */
void adp_credit_hit(struct adp_bridge *, const struct adp_hit *,
                    uint64_t n_packets, uint64_t n_bytes, long long int used,
                    uint16_t tcp_flags);
/* Any thread: credits the tunnel port that packets came from. */
void adp_credit_tunnel_port(const struct adp_bridge *, ofp_port_t,
                            uint64_t n_packets, uint64_t n_bytes);

/* Main thread: gives OpenFlow what was credited, as far as a slice of the turn
 * goes; or all of it.  Whatever was counted before 'collected_until' has been
 * credited by now.  Returns true if that is all. */
bool adp_credit_run(struct adp_bridge *, long long int collected_until);
void adp_credit_finish(struct adp_bridge *, long long int collected_until);
/* Before the bridge goes. */
void adp_credit_stop(struct adp_bridge *);
/* Has adp_credit_run() left something? */
bool adp_credit_is_amid(const struct adp_bridge *);
/* OpenFlow knows of all packets that were counted before then. */
long long int adp_credit_known_until(const struct adp_bridge *);
/* Main thread: credits the flow that was made of 'entry' with the packets that
 * met that. */
void adp_credit_early(struct adp_bridge *, const struct adp_learn_entry *);

#endif /* adp-credit.h */
