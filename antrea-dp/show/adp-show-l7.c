/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-show.h"

#include "adp-bridge-pipeline.h"
#include "adp-bridge-shared.h"
#include "adp-state.h"
#include "model-records.h"
#include "openvswitch/json.h"

static void
put_port(struct json *o, const struct adp_bridge *b, const char *member,
         const char *name, struct json *missing)
{
    ofp_port_t port;

    json_object_put_string(o, member, name);
    if (!adp_bridge_port_number(b, name, &port)) {
        json_array_add(missing, json_string_create(name));
    }
}

void
adp_show_l7_rules(const struct adp_bridge *b, struct json *o)
{
    const struct adp_state *state = adp_bridge_state(b);
    const struct adp_node_config *node
        = adp_model_node_config(adp_state_model(state));
    struct json *missing = json_array_create_empty();

    if (node) {
        put_port(o, b, "target_port", node->l7_target_port, missing);
        put_port(o, b, "return_port", node->l7_return_port, missing);
    }
    json_object_put(o, "missing", missing);
    json_object_put(o, "rules", adp_state_l7_rules(state));
}
