/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-node.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "openvswitch/dynamic-string.h"
#include "sset.h"
#include "util.h"

const char *
dpctl_node_in_force(const struct shash *records,
                    const struct shash *manifests)
{
    const struct shash_node *node;
    const char *name = NULL;

    SHASH_FOR_EACH (node, records) {
        const struct json *record = node->data;

        if (!strncmp(node->name, "NodeConfig ", 11)) {
            return dpctl_json_str(record, "name");
        } else if (!name && !strncmp(node->name, "Pod ", 4)) {
            char *manifest = xasprintf("Pod.v1/%s", node->name + 4);
            name = dpctl_json_str(shash_find_data(manifests, manifest),
                                  "spec.nodeName");
            free(manifest);
        }
    }
    return name;
}

/* Adds the names of the Nodes among the objects. */
static void
add_nodes(const struct shash *manifests, struct sset *names)
{
    const struct shash_node *node;

    if (manifests) {
        SHASH_FOR_EACH (node, manifests) {
            if (dpctl_manifest_kind(node->name)
                == &dpctl_kinds[DPCTL_NODE]) {
                sset_add(names, strchr(node->name, '/') + 1);
            }
        }
    }
}

static char *
names_text(const struct sset *names)
{
    enum { MAX_SHOWN = 8 };
    const char **sorted = sset_sort(names);
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < sset_count(names) && i < MAX_SHOWN; i++) {
        ds_put_format(&ds, "%s%s", i ? ", " : "", sorted[i]);
    }
    if (sset_count(names) > MAX_SHOWN) {
        ds_put_format(&ds, " and %"PRIuSIZE" more",
                      sset_count(names) - MAX_SHOWN);
    }
    free(sorted);
    return ds_steal_cstr(&ds);
}

static char *
check_exists(const struct dpctl_node_question *q, const char *name)
{
    const char *config = dpctl_json_str(q->node_config, "name");
    struct sset names = SSET_INITIALIZER(&names);
    char *error = NULL;

    for (size_t i = 0; i < ARRAY_SIZE(q->manifests); i++) {
        add_nodes(q->manifests[i], &names);
    }
    if (!sset_is_empty(&names) && !sset_contains(&names, name)
        && !(config && !strcmp(config, name))) {
        char *known = names_text(&names);
        error = xasprintf("%s%sthere is no Node %s; known are %s%s%s",
                          q->given ? q->what : "", q->given ? ": " : "",
                          name, known,
                          q->in_force ? "; this is " : "",
                          q->in_force ? q->in_force : "");
        free(known);
    }
    sset_destroy(&names);
    return error;
}

char *
dpctl_node_check(const struct dpctl_node_question *q)
{
    const char *name = q->given ? q->given : q->in_force;

    if (!name) {
        return NULL;
    }

    bool may_come = (q->may_come
                     && (!q->in_force || !strcmp(name, q->in_force)));
    if ((q->given || q->must_exist) && !may_come) {
        char *error = check_exists(q, name);
        if (error) {
            return error;
        }
    }
    if (q->in_force && strcmp(name, q->in_force) && !q->change) {
        return xasprintf("%s: this is Node %s; if it is to become Node %s, "
                         "say --change-node", q->what, q->in_force, name);
    }
    return NULL;
}
