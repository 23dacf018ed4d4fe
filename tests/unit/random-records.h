/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_RANDOM_RECORDS_H
#define TESTS_RANDOM_RECORDS_H 1

/* Random records of a small world, in which they often meet: few names, few
 * addresses, references to what isn't there, claims that contradict each
 * other.  With random_range(), so that a seed says it all.
 */

#include "model-records.h"
#include "openvswitch/json.h"

/* The bridge has "gw0", "tun0" and "p0" to "p7"; Pods also ask for "p8". */
#define RANDOM_N_PORTS 10

/* Types of policies that come: bits 1 << enum adp_policy_type. */
extern unsigned int random_policy_types;

struct json *random_record(enum adp_kind);
/* A transaction: '*apply' and '*delete' become arrays. */
void random_transaction(struct json **apply, struct json **delete);

#endif /* random-records.h */
