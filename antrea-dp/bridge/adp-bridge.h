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
struct adp_state;               /* Typed state of the bridge: adp-state.h. */
struct adp_pipeline;

struct adp_bridge *adp_bridge_lookup(const char *name);
/* The bridge if there is exactly one, else NULL. */
struct adp_bridge *adp_bridge_only(void);
struct adp_bridge *adp_bridge_next(const struct adp_bridge *); /* NULL: first. */
const char *adp_bridge_name(const struct adp_bridge *);

/* NULL if pipeline is "none". */
const struct adp_pipeline *adp_bridge_pipeline(const struct adp_bridge *);
uint64_t adp_bridge_pipeline_options(const struct adp_bridge *);
/* Why the bridge doesn't run the pipeline that its configuration asks for.
 * NULL if it does. */
const char *adp_bridge_pipeline_error(const struct adp_bridge *);
/* NULL if pipeline is "none". */
struct adp_state *adp_bridge_state(const struct adp_bridge *);

/* Upper 16 bits of the cookies: external_ids:roundNum of the bridge. */
uint16_t adp_bridge_round(const struct adp_bridge *);

/* Changes whenever a port comes, goes or is renumbered. */
uint64_t adp_bridge_ports_seq(const struct adp_bridge *);
bool adp_bridge_port_number(const struct adp_bridge *, const char *name,
                            ofp_port_t *);

/* Name maps for parsing flows.  Borrowed until the main loop's next turn. */
const struct ofputil_port_map *adp_bridge_port_map(struct adp_bridge *);
const struct ofputil_table_map *adp_bridge_table_map(struct adp_bridge *);

/* Applies all of it in one table version, or nothing: first the group mods
 * that add or modify, then the flow mods, then the group deletions.  With
 * 'replace' all flows and groups that were there go before, whoever put them
 * there.  Returns NULL or a malloc()ed text.  The mods stay the caller's. */
char *adp_bridge_commit(struct adp_bridge *, const struct ofputil_flow_mod *,
                        size_t n_flow_mods, const struct ofputil_group_mod *,
                        size_t n_group_mods, bool replace);

/* Counters, for the "stats" method; 'endpoints': also those of each endpoint
 * of each Service. */
struct json *adp_bridge_stats(struct adp_bridge *, bool endpoints);
/* The compiled program in words (program-show). */
void adp_bridge_format_program(struct adp_bridge *, struct ds *);
/* Walks 'packet' (hex) or 'flow' (ovs-ofctl syntax; exactly one is given) that comes
 * in on port 'in_port'.  Returns NULL or an error text. */
char *adp_bridge_trace(struct adp_bridge *, const char *in_port,
                       const char *flow, const char *packet_hex,
                       struct json **resultp);

#endif /* adp-bridge.h */
