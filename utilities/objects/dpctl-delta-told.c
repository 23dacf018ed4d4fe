/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-delta-private.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "util.h"

/* How many are asked for at a time, lest the daemon be busy for long. */
enum { MAX_ASKED = 500 };

const char *
delta_name_part(const char *manifest)
{
    return strchr(manifest, '/') + 1;
}

static const struct json *
find_node_config(const struct json *records)
{
    const struct json_array *array = records ? json_array(records) : NULL;

    for (size_t i = 0; array && i < array->n; i++) {
        if (!strcmp(dpctl_json_str(array->elems[i], "kind"), "NodeConfig")) {
            return array->elems[i];
        }
    }
    return NULL;
}

void
delta_fetch_with_node_config(struct delta *d)
{
    dpctl_keys_add(dpctl_world_want_keys(&d->world), DPCTL_KEY_NODE_CONFIG);

    const struct json *config = find_node_config(dpctl_world_fetch(&d->world));
    if (config) {
        /* Borrowed from the world, which keeps it. */
        d->node_config = dpctl_world_record(&d->world, "NodeConfig",
                                            dpctl_json_str(config, "name"));
    }
}

/* Ports of this Node's Pods may have changed, of which no object tells. */
static bool
may_be_own_pod(const struct delta *d, const char *manifest,
               const struct json *object)
{
    const struct dpctl_kind *kind = dpctl_manifest_kind(manifest);

    return (kind->id == DPCTL_POD
            && (!d->node_config
                || nullable_string_is_equal(
                       dpctl_json_str(object, "spec.nodeName"),
                       dpctl_json_str(d->node_config, "name"))
                || shash_find(&d->env->ports->by_pod,
                              delta_name_part(manifest))));
}

static bool
gives_own_node(const struct delta *d)
{
    const char *name = dpctl_json_str(d->node_config, "name");
    bool given = false;

    if (name) {
        char *manifest = dpctl_manifest_name(&dpctl_kinds[DPCTL_NODE], NULL,
                                             name);

        given = shash_find(&d->input->manifests, manifest) != NULL;
        free(manifest);
    }
    return given;
}

void
delta_drop_unchanged(struct delta *d)
{
    struct shash_node *node;

    SHASH_FOR_EACH_SAFE (node, &d->given) {
        const struct json *old = delta_old(d, node->name);

        if (!d->world.stale && old && json_equal(old, node->data)
            && !may_be_own_pod(d, node->name, node->data)) {
            shash_delete(&d->given, node);
        }
    }
}

void
delta_fetch_told(struct delta *d)
{
    const struct shash_node *node;
    size_t n = 0;

    SHASH_FOR_EACH (node, &d->given) {
        dpctl_world_want(&d->world, "Manifest", node->name);
        if (!(++n % MAX_ASKED)) {
            dpctl_world_fetch(&d->world);
        }
    }
    delta_fetch_with_node_config(d);
    d->full = gives_own_node(d);
}
