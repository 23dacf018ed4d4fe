/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_RANDOM_RECORDS_H
#define TESTS_RANDOM_RECORDS_H 1

/* Random records of a small world, in which they often meet: few names, few
 * addresses, references to what isn't there, claims that contradict each
 * other.  With random_range(), so that a seed says it all.
 */

#include "model-records.h"
#include "openvswitch/json.h"

/* The bridge has "gw0", "tun0" and "p0" to "p11" without "p8".  Pods ask for
 * those up to "p8", TrafficControls for those behind it and now and then for
 * one of a Pod. */
#define RANDOM_N_PORTS 12
#define RANDOM_N_POD_PORTS 9

/* Types of policies that come: bits 1 << enum adp_policy_type. */
extern unsigned int random_policy_types;
/* Kinds that come: bits 1 << enum adp_kind. */
extern unsigned int random_kinds;

/* Has the Node IPv6 now and then?  All else has, with it and without. */
extern bool random_ipv6;

/* Have policies rules about IGMP and multicast now and then? */
extern bool random_multicast;

struct json *random_record(enum adp_kind);
/* A transaction: '*apply' and '*delete' become arrays.  One of those that are the
 * daemon's own has only records of these. */
void random_own_transaction(struct json **apply, struct json **delete);
void random_transaction(struct json **apply, struct json **delete);

#endif /* random-records.h */
