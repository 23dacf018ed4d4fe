/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_IGMP_REPORTS_H
#define ADP_IGMP_REPORTS_H 1

/* What a Node tells the others: of which multicast groups its Pods are
 * members, when that changes and whenever all of it is to be repeated.
 *
 * One message to one Node is a step, of which a turn takes as many as it has
 * time for.  They come in rounds: what was to be told when a round began, in
 * messages of up to ADP_IGMP_REPORT_MAX_RECORDS groups, each of which goes to
 * all Nodes before the next one.  What changes meanwhile waits for the next
 * round, once a group; nobody hears of one that nothing was told of and that
 * is over.  A Node that comes meanwhile may miss messages, until all is
 * repeated.
 *
 * Bounds: the groups with members now, those when the last round began, and
 * those whose end the round tells: three times as many as there may be with
 * members at once.
 *
 * Thread-safety: one thread at a time.
 * Cost: a change costs a look-up in a hash table, repeating and the beginning
 * of a round are linear in the groups, a step in one message's.
 */

#include <stdbool.h>
#include <stddef.h>
#include "openvswitch/types.h"

struct adp_igmp_reports;
struct adp_peers;

struct adp_igmp_reports *adp_igmp_reports_create(void);
void adp_igmp_reports_destroy(struct adp_igmp_reports *);
/* Nothing was told, and nothing is to be. */
void adp_igmp_reports_clear(struct adp_igmp_reports *);

/* Does the group have members among this Node's Pods? */
void adp_igmp_reports_set(struct adp_igmp_reports *, ovs_be32 group,
                          bool has_members);
/* All groups with members are told once more. */
void adp_igmp_reports_repeat(struct adp_igmp_reports *);

/* A step: returns the message of '*len' bytes that goes to '*peer', good until
 * the next call; NULL: all is told. */
const void *adp_igmp_reports_next(struct adp_igmp_reports *,
                                  const struct adp_peers *, size_t *len,
                                  ovs_be32 *peer);
/* May there be another step? */
bool adp_igmp_reports_has_more(const struct adp_igmp_reports *);
/* Groups that it knows of. */
size_t adp_igmp_reports_count(const struct adp_igmp_reports *);

#endif /* adp-igmp-reports.h */
