/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHOW_H
#define ADP_SHOW_H 1

/* What there is to be seen of a bridge, as JSON and as text.  For the main
 * thread. */

#include <stdbool.h>
#include <stddef.h>

struct adp_bridge;
struct adp_caught;
struct ds;
struct json;
struct match;

/* Counters, for the "stats" method, but for those of rules and Services: what
 * packet threads counted, as far as it is collected (adp-push-stats.h).  With
 * 'all' takes the longest turn since the last such call. */
struct json *adp_show_stats(struct adp_bridge *, bool all);
/* Flows of the bridge, of all tables. */
size_t adp_show_n_flows(const struct adp_bridge *);
/* Puts those of rules, Services and what applies to Pods into them;
 * 'endpoints': also those of each endpoint of each Service.  The bridge has a
 * built-in pipeline.  Looks at each flow; with pauses (model-pause.h), in
 * which the state must not change. */
void adp_show_metrics(struct adp_bridge *, bool endpoints, struct json *);
/* Puts the L7 rules in force and the ports of their engine into an object, for
 * the "l7_rules" method.  The bridge has a built-in pipeline. */
void adp_show_l7_rules(const struct adp_bridge *, struct json *);
/* The compiled program in words (program-show). */
void adp_show_program(struct adp_bridge *, struct ds *);
/* Walks 'packet' (hex) or 'flow' (ovs-ofctl syntax; exactly one is given) that
 * comes in on port 'in_port'.  Returns NULL or an error text. */
char *adp_show_packet(struct adp_bridge *, const char *in_port,
                      const char *flow, const char *packet_hex,
                      struct json **resultp);
/* Makes a match of 'text' (ovs-ofctl syntax, "" or NULL: any packet) for
 * packets that come in on port 'in_port' (NULL: any).  Returns NULL or an
 * error text. */
char *adp_show_parse_match(struct adp_bridge *, const char *in_port,
                           const char *text, struct match *);
/* The walk of a packet that was caught. */
struct json *adp_show_caught(struct adp_bridge *, const struct adp_caught *);

#endif /* adp-show.h */
