/* SPDX-License-Identifier: Apache-2.0 */

/* Whose addresses and ports those in a trace are. */

#include <config.h>
#include "adp-show-trace.h"
#include "adp-bridge-shared.h"

#include <stdlib.h>

#include "adp-bridge-pipeline.h"
#include "adp-state.h"
#include "model-records.h"
#include "openvswitch/json.h"
#include "util.h"

struct name_taker {
    const struct sset *mentioned;
    struct json *names;
};

/* Says that 'key' belongs to 'record', if it came up.  The first to have it
 * keeps it: that is what the order of the kinds is for. */
static void
put_name(struct name_taker *n, const struct json *key, const char *what,
         const struct json *record)
{
    if (!key || key->type != JSON_STRING
        || !sset_contains(n->mentioned, json_string(key))
        || shash_find(json_object(n->names), json_string(key))) {
        return;
    }
    json_object_put_format(n->names, json_string(key), "%s %s", what,
                           json_string(shash_find_data(json_object(record),
                                                       "name")));
}

/* The same for a member of 'object', all of its members, or all of its
 * elements. */
static void
put_names(struct name_taker *n, const struct json *object, const char *member,
          const char *what, const struct json *record)
{
    const struct json *value = shash_find_data(json_object(object), member);
    const struct shash_node *node;

    if (value && value->type == JSON_ARRAY) {
        for (size_t i = 0; i < json_array(value)->n; i++) {
            put_name(n, json_array(value)->elems[i], what, record);
        }
    } else if (value && value->type == JSON_OBJECT) {
        SHASH_FOR_EACH (node, json_object(value)) {
            put_name(n, node->data, what, record);
        }
    } else {
        put_name(n, value, what, record);
    }
}

static const struct {
    enum adp_kind kind;
    const char *member;
    const char *what;
} members[] = {
    { ADP_KIND_POD, "port", "Pod" },
    { ADP_KIND_POD, "mac", "Pod" },
    { ADP_KIND_POD, "ips", "Pod" },
    { ADP_KIND_NODE_CONFIG, "gateway", "gateway of Node" },
    { ADP_KIND_NODE_CONFIG, "tunnel", "tunnel of Node" },
    { ADP_KIND_NODE_CONFIG, "transportIP", "Node" },
    { ADP_KIND_PEER_NODE, "gatewayIP", "gateway of Node" },
    { ADP_KIND_PEER_NODE, "transportIP", "Node" },
    { ADP_KIND_SERVICE, "clusterIP", "Service" },
    { ADP_KIND_SERVICE, "loadBalancerIPs", "Service" },
    { ADP_KIND_SERVICE, "externalIPs", "Service" },
};

struct json *
adp_show_trace_names(const struct adp_show_trace *t)
{
    const struct adp_state *state = adp_bridge_state(t->bridge);
    struct name_taker n = { &t->mentioned, json_object_create() };

    for (size_t i = 0; state && i < ARRAY_SIZE(members); i++) {
        size_t n_records;
        const struct adp_record **records = adp_state_sorted(
            state, members[i].kind, &n_records);

        for (size_t j = 0; j < n_records; j++) {
            const struct json *record = records[j]->json;

            put_names(&n, record, members[i].member, members[i].what, record);
        }
        free(records);
    }
    return n.names;
}
