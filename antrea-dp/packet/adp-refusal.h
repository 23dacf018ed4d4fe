/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_REFUSAL_H
#define ADP_REFUSAL_H 1

/* Refusals: packets that tell who sent another one that it is refused.
 *
 * A refusal is made from the packet as it came in, before anything was done to
 * it, and goes back the way that it came: all of its addresses are the other
 * packet's, the contrary way.  So NAT needn't be undone, whatever was done or
 * would have been done: who talked to a Service gets the answer from there.
 *
 * TCP gets a reset (RFC 9293, 3.10.7.1), everything else an ICMP or ICMPv6
 * error (RFC 792, RFC 4443) that quotes the IP header and 8 bytes of what
 * follows.
 *
 * What gets none (RFC 1122, 3.2.2; RFC 4443, 2.4): resets, ICMP errors,
 * neighbour discovery, fragments beyond the first, what isn't from one host to
 * one host, and packets that are cut short.
 *
 * Thread-safety: a struct adp_rate_limit belongs to one thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include "adp-answer.h"
#include "adp-rate-limit.h"

struct dp_packet;

/* Refusals a second that each packet thread may send; those of two seconds at
 * once. */
#define ADP_REFUSAL_DEFAULT_RATE 100
#define ADP_REFUSAL_MAX_RATE 1000000
/* Any thread; in force with the next refusal. */
void adp_refusal_set_rate(uint32_t);

/* Returns the refusal of 'packet', which was parsed, so that its layers'
 * offsets are right; the caller owns it.  NULL: it gets none, '*limited' says
 * whether for the limit. */
struct dp_packet *adp_refusal_make(const struct dp_packet *packet,
                                   enum adp_answer,
                                   struct adp_rate_limit *,
                                   long long int now_ms, bool *limited);

#endif /* adp-refusal.h */
