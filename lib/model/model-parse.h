/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MODEL_PARSE_H
#define ADP_MODEL_PARSE_H 1

/* How the records of each kind are parsed and freed.
 *
 * A parser returns its record also after an error (which is in the reader), as
 * far as it came: the destructor must cope with that.  The caller fills in the
 * struct adp_record itself, reads "kind" and "name", and closes the object.
 */

#include "model-reader.h"

#define KIND(ENUM, NAME, FUNC)                                      \
    struct adp_record *adp_parse_##FUNC(struct adp_object *);       \
    void adp_free_##FUNC(struct adp_record *);
ADP_KINDS
#undef KIND

/* Of a NodeConfig, whose other ports are known, and of a rule, which is known
 * as far as its other members go: model-parse-l7.c. */
void adp_parse_l7_ports(struct adp_object *, struct adp_node_config *);
void adp_parse_l7_protocols(struct adp_object *,
                            const struct adp_network_policy *,
                            struct adp_network_policy_rule *);

/* The protocols that Services and policy rules may name. */
#define ADP_L4_PROTOCOLS "TCP", "UDP", "SCTP"

#endif /* model-parse.h */
