/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_L7_H
#define ADP_PIPELINE_L7_H 1

/* The L7 rules in force, and the VLANs in which an engine gets what each of
 * them allows.
 *
 * Thread-safety: as the model.
 */

#include <stddef.h>
#include "openvswitch/json.h"
#include "pipeline.h"

/* An array of objects, by VLAN, as of the last commit: see
 * docs/control-socket.md, "l7_rules". */
struct json *adp_l7_rules(const struct adp_pipeline_state *);

/* How many there are, between two transactions. */
size_t adp_l7_n_rules(const struct adp_pipeline_state *);

#endif /* pipeline-l7.h */
