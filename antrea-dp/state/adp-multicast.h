/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MULTICAST_H
#define ADP_MULTICAST_H 1

/* From messages of IGMP to the receivers of multicast.
 *
 * Reads what Pods of this Node and other Nodes send (adp-igmp-queue.h), asks
 * the rules about IGMP, keeps who is a member of what (adp-members.h), and
 * makes MulticastGroup records of it: a transaction of the bridge's state, as
 * any other, but for the generation.  What is known when one begins makes one
 * transaction, and the next one begins when that has ended.  Its records are
 * made in slices, while messages stay in the queue.
 *
 * A Node asks its Pods at an interval, and at once when others have come; a
 * member that hasn't answered for three intervals is none any more.  It tells
 * the other Nodes which groups its Pods are members of, when that changes and
 * at the same interval, for as many turns as it takes (adp-igmp-reports.h),
 * and believes nobody but PeerNodes.
 *
 * For the main thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct adp_bridge;
struct adp_model;
struct adp_multicast;
struct adp_state;
struct hmap_node;
struct json;

/* Of queries, in seconds. */
#define ADP_MULTICAST_DEFAULT_INTERVAL 125

struct adp_multicast *adp_multicast_create(struct adp_bridge *);
void adp_multicast_destroy(struct adp_multicast *);
void adp_multicast_set_interval(struct adp_multicast *, unsigned int seconds);

/* One slice; 'state' is NULL while the bridge has no pipeline, and 'active'
 * false while its pipeline has no multicast. */
void adp_multicast_run(struct adp_multicast *, struct adp_state *state,
                       bool active);
void adp_multicast_wait(struct adp_multicast *, const struct adp_state *state);

/* The groups of 'model' and their members, as the control socket tells them:
 * what is in force, and not yet who has come or gone since. */
struct json *adp_multicast_get(const struct adp_multicast *,
                               const struct adp_model *model);
/* Counters. */
struct json *adp_multicast_stats(const struct adp_multicast *);

/* How many messages of Pods, and bytes, each rule about IGMP decided on;
 * nothing must change meanwhile. */
struct adp_multicast_counts {
    uint32_t conj_id;
    uint64_t n_packets, n_bytes;

    const struct adp_multicast *of;     /* Private. */
    const struct hmap_node *node;
};
void adp_multicast_counts_init(struct adp_multicast_counts *,
                               const struct adp_multicast *);
/* Goes on to the next one; false: there is none. */
bool adp_multicast_counts_next(struct adp_multicast_counts *);

#endif /* adp-multicast.h */
