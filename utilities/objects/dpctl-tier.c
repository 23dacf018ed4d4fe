/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-tier.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "util.h"

#define DEFAULT_TIER "application"

static const struct builtin_tier {
    const char *name;           /* NULL: reserved for Antrea's own use. */
    int priority;
} builtin_tiers[] = {
    { "emergency", 50 }, { "securityops", 100 }, { "networkops", 150 },
    { "platform", 200 }, { DEFAULT_TIER, 250 }, { "baseline", 253 },
    { NULL, 251 }, { NULL, 252 }, { NULL, 254 }, { NULL, 255 },
};

static const struct builtin_tier *
find_builtin(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(builtin_tiers); i++) {
        const struct builtin_tier *t = &builtin_tiers[i];
        if (t->name && !strcasecmp(name, t->name)) {
            return t;
        }
    }
    return NULL;
}

bool
dpctl_tier_is_builtin(const char *name)
{
    return find_builtin(name) != NULL;
}

const char *
dpctl_tier_builtin_name(long long int priority)
{
    for (size_t i = 0; i < ARRAY_SIZE(builtin_tiers); i++) {
        if (builtin_tiers[i].priority == priority) {
            return builtin_tiers[i].name;
        }
    }
    return NULL;
}

char *
dpctl_tier_check(const struct json *object)
{
    const char *name = dpctl_json_str(object, "metadata.name");
    long long int priority = dpctl_json_int(object, "spec.priority", 0);
    const struct builtin_tier *own = find_builtin(name);

    if (own && priority != own->priority) {
        return xasprintf("spec.priority: must be %d, not %lld: Tier %s is "
                         "built in", own->priority, priority, own->name);
    }
    for (size_t i = 0; i < ARRAY_SIZE(builtin_tiers) && !own; i++) {
        const struct builtin_tier *t = &builtin_tiers[i];
        if (priority == t->priority) {
            return (t->name
                    ? xasprintf("spec.priority: %lld is that of the built-in "
                                "Tier %s", priority, t->name)
                    : xasprintf("spec.priority: %lld is reserved", priority));
        }
    }
    return NULL;
}

/* Takes 'error'. */
static void
add_refused(struct shash *refused, const char *manifest, char *error)
{
    if (!shash_add_once(refused, manifest, error)) {
        free(error);
    }
}

char *
dpctl_tier_check_all(const struct shash *manifests, struct shash *refused)
{
    enum { N_PRIORITIES = 256 };
    const struct shash_node **nodes = shash_sort(manifests);
    const struct shash_node *owners[N_PRIORITIES] = { NULL };
    char *error = NULL;

    for (size_t i = 0; i < shash_count(manifests) && !error; i++) {
        if (dpctl_manifest_kind(nodes[i]->name) != &dpctl_kinds[DPCTL_TIER]) {
            continue;
        }
        const char *name = dpctl_json_str(nodes[i]->data, "metadata.name");
        long long int p = dpctl_json_int(nodes[i]->data, "spec.priority", 0);
        if (p >= 0 && p < N_PRIORITIES && owners[p]) {
            error = xasprintf("Tier %s: spec.priority: %lld is that of Tier "
                              "%s", name, p,
                              dpctl_json_str(owners[p]->data,
                                             "metadata.name"));
            if (refused) {
                /* Which of both is the one too many, the caller knows. */
                add_refused(refused, owners[p]->name, xstrdup(error));
                add_refused(refused, nodes[i]->name, error);
                error = NULL;
            }
        } else if (p >= 0 && p < N_PRIORITIES) {
            owners[p] = nodes[i];
        }
    }
    free(nodes);
    return error;
}

const char *
dpctl_tier_name(const char *name)
{
    const struct builtin_tier *builtin = name ? find_builtin(name) : NULL;

    return (builtin ? builtin->name
            : name && name[0] ? name : DEFAULT_TIER);
}

bool
dpctl_tier_priority(const struct shash *manifests, const char *name,
                    long long int *priority)
{
    const char *tier = dpctl_tier_name(name);
    const struct builtin_tier *builtin = find_builtin(tier);
    if (builtin) {
        *priority = builtin->priority;
        return true;
    }

    char *manifest = dpctl_manifest_name(&dpctl_kinds[DPCTL_TIER], NULL, tier);
    const struct json *object = shash_find_data(manifests, manifest);
    free(manifest);
    if (object) {
        *priority = dpctl_json_int(object, "spec.priority", 0);
    }
    return object != NULL;
}
