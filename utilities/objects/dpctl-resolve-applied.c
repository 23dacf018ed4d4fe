/* SPDX-License-Identifier: Apache-2.0 */

/* Antrea's Egress and TrafficControl. */

#include <config.h>
#include "dpctl-resolve-private.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-json.h"
#include "dpctl-quantity.h"
#include "util.h"

const char *
dpctl_policy_record_kind(const struct dpctl_kind *kind)
{
    return (kind->id == DPCTL_EGRESS || kind->id == DPCTL_TRAFFIC_CONTROL
            ? kind->kind : "NetworkPolicy");
}

char *
dpctl_policy_record_key(const struct dpctl_kind *kind,
                        const struct json *object)
{
    char *name = dpctl_policy_record_name(kind, object);
    char *key = dpctl_record_key(dpctl_policy_record_kind(kind), name);

    free(name);
    return key;
}

/* Whom the object applies to, in the form in which policies list it. */
static struct json *
peers_of(const struct json *object)
{
    const struct json *applied_to = dpctl_json_get(object, "spec.appliedTo");
    const struct json_array *groups = dpctl_json_array(applied_to, "groups");
    struct json *peers = json_array_create_empty();

    if (dpctl_json_member(applied_to, "podSelector")
        || dpctl_json_member(applied_to, "namespaceSelector")) {
        struct json *peer = json_clone(applied_to);

        shash_find_and_delete(peer->object, "groups");
        json_array_add(peers, peer);
    }
    for (size_t i = 0; i < groups->n; i++) {
        struct json *peer = json_object_create();

        json_object_put_string(peer, "group", json_string(groups->elems[i]));
        json_array_add(peers, peer);
    }
    return peers;
}

/* The name of the port that a "targetPort" or "returnPort" names. */
static const char *
port_name(const struct json *object, const char *path)
{
    const struct json *port = dpctl_json_get(object, path);
    const char *name = dpctl_json_str(port, "ovsInternal.name");

    return name ? name : dpctl_json_str(port, "device.name");
}

static void
put_traffic_control(const struct json *object, struct json *record)
{
    static const char *const copied[] = { "direction", "action" };
    const char *return_port = port_name(object, "spec.returnPort");
    const struct json *spec = dpctl_json_member(object, "spec");

    for (size_t i = 0; i < ARRAY_SIZE(copied); i++) {
        json_object_put_string(record, copied[i],
                               dpctl_json_str(spec, copied[i]));
    }
    json_object_put_string(record, "targetPort",
                           port_name(object, "spec.targetPort"));
    if (return_port) {
        json_object_put_string(record, "returnPort", return_port);
    }
}

static void
put_kilobits(const struct json *bandwidth, const char *from,
             struct json *record, const char *to)
{
    double bits = 0;

    dpctl_quantity(dpctl_json_str(bandwidth, from), &bits); /* Was checked. */
    json_object_put(record, to, json_integer_create(bits / 1000));
}

static void
put_egress(const struct json *object, struct json *record)
{
    const char *node = dpctl_json_str(object, "status.egressNode");
    const struct json *bandwidth = dpctl_json_get(object, "spec.bandwidth");

    json_object_put(record, "egressIP", json_string_create_nocopy(
                        dpctl_address_text(dpctl_json_str(object,
                                                          "spec.egressIP"))));
    if (node && node[0]) {
        json_object_put_string(record, "egressNode", node);
    }
    if (bandwidth) {
        struct json *limit = json_object_create();

        put_kilobits(bandwidth, "rate", limit, "rateKbps");
        put_kilobits(bandwidth, "burst", limit, "burstKbits");
        json_object_put(record, "bandwidth", limit);
    }
}

static char *
resolve_object(struct resolver *r, const struct dpctl_kind *kind,
               const struct json *object)
{
    if (kind->id == DPCTL_EGRESS && !dpctl_json_str(object, "spec.egressIP")) {
        return NULL;            /* It has no address (yet) that we know of. */
    }

    char *title = dpctl_kind_title(kind, object, "");
    struct json *peers = peers_of(object);
    struct json *groups;
    char *error = resolver_applied_to(r, title, "spec.appliedTo",
                                      json_array(peers), &groups);

    if (!error) {
        struct json *record = resolver_record(
            kind->kind, dpctl_json_str(object, "metadata.name"));

        json_object_put(record, "appliedToGroups", groups);
        if (kind->id == DPCTL_EGRESS) {
            put_egress(object, record);
        } else {
            put_traffic_control(object, record);
        }
        resolver_put(r, record);
    }
    json_destroy(peers);
    free(title);
    return error;
}

char *
resolve_applied(struct resolver *r)
{
    static const enum dpctl_kind_id kinds[] = {
        DPCTL_EGRESS, DPCTL_TRAFFIC_CONTROL,
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        size_t n;
        const struct shash_node **nodes = resolver_sorted(r, kinds[i], &n);
        char *error = NULL;

        for (size_t j = 0; j < n && !error; j++) {
            error = resolver_refuse(r, nodes[j]->name,
                                    resolve_object(r, &dpctl_kinds[kinds[i]],
                                                   nodes[j]->data));
            if (error && (r->env->keys_only || r->env->everywhere)) {
                free(error);
                error = NULL;
            }
        }
        free(nodes);
        if (error) {
            return error;
        }
    }
    return NULL;
}
