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

/* What has been credited: all that was counted before collection number 'n'
 * of packet threads' counters began, and when that was. */
struct adp_collected {
    uint64_t n;                         /* From 1 on. */
    long long int until_ms;
};

/* Main thread: gives OpenFlow what was credited, as far as a slice of the turn
 * goes. */
void adp_credit_run(struct adp_bridge *, struct adp_collected);
/* Has adp_credit_run() left something? */
bool adp_credit_is_amid(const struct adp_bridge *);
/* What OpenFlow knows of. */
struct adp_collected adp_credit_known(const struct adp_bridge *);
/* Main thread: credits the flow that was made of 'entry' with the packets that
 * met that. */
void adp_credit_early(struct adp_bridge *, const struct adp_learn_entry *);

#endif /* adp-credit.h */
