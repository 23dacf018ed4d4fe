/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-left-out.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-kind.h"
#include "openvswitch/shash.h"
#include "util.h"

struct dpctl_left_out *
dpctl_left_out_add(struct shash *left_out, const char *key, char *reason)
{
    struct dpctl_left_out *entry = shash_find_data(left_out, key);

    if (entry) {
        free(reason);
        return entry;
    }
    entry = xzalloc(sizeof *entry);
    entry->reason = reason;
    shash_add(left_out, key, entry);
    return entry;
}

void
dpctl_left_out_destroy(struct shash *left_out)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, left_out) {
        struct dpctl_left_out *entry = node->data;
        free(entry->reason);
    }
    shash_destroy_free_data(left_out);
}

const struct dpctl_left_out *
dpctl_left_out_nameless(const struct shash *left_out)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, left_out) {
        const struct dpctl_left_out *entry = node->data;
        if (!entry->named && !entry->foreign) {
            return entry;
        }
    }
    return NULL;
}

/* What kinds' absence means, where it may let something through. */
static const struct {
    enum dpctl_kind_id kind;
    const char *text;
} openings[] = {
#define POLICY "MAY OPEN: what it denies is not denied"
    { DPCTL_K8S_NP, POLICY }, { DPCTL_ACNP, POLICY }, { DPCTL_ANNP, POLICY },
    { DPCTL_ADMIN_NP, POLICY }, { DPCTL_BASELINE_ADMIN_NP, POLICY },
    { DPCTL_CP_NP, POLICY },
#undef POLICY
#define PEER "MAY OPEN: policies that deny by it don't find it"
    { DPCTL_NODE, PEER }, { DPCTL_NAMESPACE, PEER }, { DPCTL_POD, PEER },
    { DPCTL_CLUSTER_GROUP, PEER }, { DPCTL_GROUP, PEER },
    { DPCTL_CP_ADDRESS_GROUP, PEER }, { DPCTL_CP_APPLIED_TO_GROUP, PEER },
#undef PEER
    { DPCTL_EGRESS, "MAY OPEN: packets leave with another address" },
    { DPCTL_TRAFFIC_CONTROL, "MAY OPEN: packets go their way without it" },
};

static bool
is_harmless_record(const char *key)
{
    return !strncmp(key, "Service ", 8) || !strncmp(key, "PeerNode ", 9);
}

const char *
dpctl_left_out_effect(const struct dpctl_left_out *entry, const char *key,
                      bool before, bool *opens)
{
    *opens = false;
    if (before) {
        return "as it was before it stays in force";
    } else if (entry->foreign) {
        return "nothing here is about such objects";
    } else if (entry->here) {
        return "no packet reaches it";
    }
    for (size_t i = 0; i < ARRAY_SIZE(openings); i++) {
        if (entry->kind && entry->kind->id == openings[i].kind) {
            *opens = true;
            return openings[i].text;
        }
    }
    if (!entry->kind && !is_harmless_record(key)) {
        *opens = true;
        return "MAY OPEN: what it is about is not known";
    }
    return "nothing is open for want of it";
}
