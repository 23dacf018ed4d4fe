/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_BRIDGE_H
#define ADP_BRIDGE_H 1

/* A bridge of type "antrea": what the control plane may do with it.
 *
 * Everything here is for the main thread of ovs-vswitchd.
 */

#include "ofproto/ofproto.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/ofp-table.h"

struct adp_bridge;

struct adp_bridge *adp_bridge_lookup(const char *name);
/* The bridge if there is exactly one, else NULL. */
struct adp_bridge *adp_bridge_only(void);
/* NULL: the first one. */
struct adp_bridge *adp_bridge_next(const struct adp_bridge *);
const char *adp_bridge_name(const struct adp_bridge *);

/* Upstream's default datapath type, which can be another name of ours. */
#define ADP_SYSTEM_TYPE "system"

/* Was the bridge made under that name? */
bool adp_bridge_is_system(const struct adp_bridge *);

/* Upper 16 bits of the cookies: external_ids:roundNum of the bridge. */
uint16_t adp_bridge_round(const struct adp_bridge *);

/* Changes whenever a port comes, goes or is renumbered. */
uint64_t adp_bridge_ports_seq(const struct adp_bridge *);
/* Of no other bridge, also later. */
uint32_t adp_bridge_serial(const struct adp_bridge *);
bool adp_bridge_port_number(const struct adp_bridge *, const char *name,
                            ofp_port_t *);

/* Name maps for parsing flows.  Borrowed until the main loop's next turn. */
const struct ofputil_port_map *adp_bridge_port_map(struct adp_bridge *);
const struct ofputil_table_map *adp_bridge_table_map(struct adp_bridge *);

/* Names table 'id' for people and for adp_bridge_table_map(). */
void adp_bridge_name_table(struct adp_bridge *, uint8_t id, const char *name);
/* Takes the names of all tables so named away. */
void adp_bridge_unname_tables(struct adp_bridge *);

/* Looks at all ports anew, which adp_bridge_run() does when something changed.
 * Returns true if flows that name ports may be out of date. */
bool adp_bridge_rebuild_ports(struct adp_bridge *);

/* Applies all of it in one table version, or nothing: first the group mods
 * that add or modify, then the flow mods, then the group deletions.  With
 * 'replace' all flows and groups that were there go before, whoever put them
 * there.  Returns NULL or a malloc()ed text.  The mods stay the caller's. */
char *adp_bridge_commit(struct adp_bridge *, const struct ofputil_flow_mod *,
                        size_t n_flow_mods, const struct ofputil_group_mod *,
                        size_t n_group_mods, bool replace);

/* Has meter 'meter_id' drop what exceeds 'rate' kilobits a second and, after a
 * pause, 'burst' kilobits at once; it begins anew if there is one.  Returns
 * NULL or a malloc()ed text. */
char *adp_bridge_set_meter(struct adp_bridge *, uint32_t meter_id,
                           uint32_t rate, uint32_t burst);
/* Deletes a meter that no flow needs, if there is one. */
void adp_bridge_delete_meter(struct adp_bridge *, uint32_t meter_id);

#endif /* adp-bridge.h */
