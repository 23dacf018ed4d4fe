/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHOW_MEANING_H
#define ADP_SHOW_MEANING_H 1

/* What numbers in flows stand for: bits of registers, IDs of rules and groups,
 * ports.  As the bridge's pipeline and records have it now.
 *
 * For the main thread. */

#include <stdint.h>
#include "openflow/openflow.h"

struct adp_bridge;
struct adp_guide_meaning;
struct adp_guide_table;
struct json;
struct sset;

/* Puts 'text', which may be NULL, into 'o', and frees it. */
void adp_show_put_text(struct json *o, const char *name, char *text);

/* A table of a pipeline: "id", "table", "stage" and "about", as far as they
 * are known.  'name' and 'guide' may be NULL. */
struct json *adp_show_table(uint8_t id, const char *name,
                            const struct adp_guide_table *guide);

/* The policy rule of a conjunction, the port of a Service of a group, or what
 * applies to Pods by its ID, in words; NULL if unknown.  The caller frees
 * it. */
char *adp_show_rule(const struct adp_bridge *, uint32_t conj_id);
char *adp_show_group(const struct adp_bridge *, uint32_t group_id);
char *adp_show_applied(const struct adp_bridge *, uint32_t id);

/* Puts the name of 'port', or its number, into 'o' as 'name'.  What is named
 * goes into 'mentioned', which may be NULL; below, too. */
void adp_show_put_port(struct adp_bridge *, struct json *o, const char *name,
                       ofp_port_t port, struct sset *mentioned);

/* One of "means", see docs/control-socket.md. */
struct json *adp_show_meaning(struct adp_bridge *,
                              const struct adp_guide_meaning *,
                              struct sset *mentioned);

/* The answer to "explain": what one thing means, "reg0=0x3", "conj_id=5",
 * "ServiceLB".  Returns NULL or an error text, which the caller frees. */
char *adp_show_explain(struct adp_bridge *, const char *what,
                       struct json **resultp);
/* Everything that has a name: tables, bits, constants, categories of cookies.
 * NULL if the bridge has no pipeline. */
struct json *adp_show_vocabulary(struct adp_bridge *);

#endif /* adp-show-meaning.h */
