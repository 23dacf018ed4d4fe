/* SPDX-License-Identifier: Apache-2.0 */

/* The ports that Pods have: those of Pods that are given as OVSDB has them,
 * the others' as they are in force.
 *
 * When a Pod is given again, its record tells what it contributed to groups
 * that now goes.  So what is made anew in between keeps to the port that the
 * record has, whether OVSDB still knows it or not, and makes nothing of one
 * that the record doesn't have. */

#include <config.h>
#include "dpctl-delta-private.h"

#include <stdlib.h>

#include "dpctl-json.h"
#include "util.h"

void
delta_fetch_ports(struct delta *d)
{
    struct shash pods = SHASH_INITIALIZER(&pods);
    const struct shash_node *node;

    delta_collect(d, true, 1u << DPCTL_POD, &pods);
    SHASH_FOR_EACH (node, &pods) {
        if (dpctl_pod_needs_port(node->data)) {
            dpctl_world_want(&d->world, "Pod", delta_name_part(node->name));
        }
    }
    dpctl_world_fetch(&d->world);
    shash_destroy(&pods);
}

void
delta_ports_init(const struct delta *d, bool new,
                 const struct shash *manifests, struct dpctl_ports *ports)
{
    const struct dpctl_ports *now = d->env->ports;
    const struct shash_node *node;

    dpctl_ports_init(ports);
    ports->available = now->available;
    ports->why = nullable_xstrdup(now->why);
    ports->annotated = now->annotated;
    ports->all = now;
    SHASH_FOR_EACH (node, manifests) {
        if (dpctl_manifest_kind(node->name)->id != DPCTL_POD) {
            continue;
        }

        const char *pod = delta_name_part(node->name);
        const struct json *record = dpctl_world_record(&d->world, "Pod", pod);
        const struct dpctl_port *port = shash_find_data(&now->by_pod, pod);

        if (new && now->available && delta_is_given(d, node->name)) {
            if (port) {
                dpctl_ports_add(ports, pod, port);
            }
        } else if (record) {
            dpctl_ports_add_record(ports, record);
        }
    }
}

void
delta_tell_kept_ports(struct delta *d)
{
    struct shash pods = SHASH_INITIALIZER(&pods);
    const struct shash_node *node;
    size_t n = 0;

    if (d->env->ports->available) {
        return;
    }
    delta_collect(d, true, 1u << DPCTL_POD, &pods);
    SHASH_FOR_EACH (node, &pods) {
        const char *pod = delta_name_part(node->name);
        char *key = dpctl_record_key("Pod", pod);
        bool made = shash_find(&d->outcome, key) != NULL;

        n += (dpctl_world_record(&d->world, "Pod", pod)
              && (made || dpctl_pod_needs_port(node->data)));
        free(key);
    }
    dpctl_plan_tell_kept_ports(d->plan, d->env->ports, n);
    shash_destroy(&pods);
}
