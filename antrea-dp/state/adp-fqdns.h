/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_FQDNS_H
#define ADP_FQDNS_H 1

/* From DNS answers to the addresses of policy rules with names.
 *
 * Reads the packets of a bridge that are held (adp-held.h), keeps what they
 * tell of names that rules are about (adp-names.h), and makes FQDN records of
 * it: a transaction of the bridge's state, as any other, but for the
 * generation.  A packet goes on when what it told is in force, at once if it
 * tells nothing new.  If it can't be in force within ADP_FQDNS_PATIENCE_MS, or
 * there is no room, the packet is dropped, and whoever asked will ask again.
 *
 * What is known when one begins makes one transaction, and the next one begins
 * when that has ended: a flood of answers makes them larger, not more.  Its
 * records are made in slices, while packets stay in the queue.
 *
 * For the main thread.
 */

#include <stddef.h>
#include <stdint.h>

struct adp_bridge;
struct adp_fqdns;
struct adp_state;
struct json;

#define ADP_FQDNS_PATIENCE_MS 2000

struct adp_fqdns *adp_fqdns_create(struct adp_bridge *);
void adp_fqdns_destroy(struct adp_fqdns *);
void adp_fqdns_set_min_ttl(struct adp_fqdns *, unsigned int ttl);

/* One slice; 'state' is NULL while the bridge has no pipeline. */
void adp_fqdns_run(struct adp_fqdns *, struct adp_state *state);
void adp_fqdns_wait(struct adp_fqdns *, const struct adp_state *state);

/* What is known of names, as the control socket tells it, and counters. */
struct json *adp_fqdns_get(const struct adp_fqdns *);
struct json *adp_fqdns_stats(const struct adp_fqdns *);

#endif /* adp-fqdns.h */
