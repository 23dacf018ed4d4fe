/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_EXPIRE_H
#define ADP_EXPIRE_H 1

/* Expiry of flows, in slices.  For the main thread. */

struct adp_bridge;
struct ovs_list;

/* One slice of a sweep.  Of later packets than 'known_until_ms' the flows may
 * not know yet. */
void adp_expire_run(struct adp_bridge *, long long int known_until_ms);
void adp_expire_wait(const struct adp_bridge *);
/* Between the two the base class finds no flow to expire. */
void adp_expire_hide(struct adp_bridge *, struct ovs_list *hidden);
void adp_expire_unhide(struct adp_bridge *, struct ovs_list *hidden);

#endif /* adp-expire.h */
