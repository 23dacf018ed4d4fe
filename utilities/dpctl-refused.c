/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-refused.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-kind.h"
#include "openvswitch/json.h"
#include "util.h"

void
dpctl_refused_init(struct dpctl_refused *r)
{
    *r = (struct dpctl_refused) {
        .refusals = SHASH_INITIALIZER(&r->refusals),
    };
}

static void
refusal_destroy(struct dpctl_refusal *refusal)
{
    json_destroy(refusal->object);
    free(refusal->reason);
    free(refusal);
}

void
dpctl_refused_destroy(struct dpctl_refused *r)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &r->refusals) {
        refusal_destroy(node->data);
    }
    shash_destroy(&r->refusals);
}

static size_t
text_len(const struct json *json)
{
    char *text = json_to_string(json, 0);
    size_t len = strlen(text);

    free(text);
    return len;
}

enum dpctl_refused_news
dpctl_refused_add(struct dpctl_refused *r, const char *name,
                  const struct json *object, bool gone, const char *reason)
{
    const struct dpctl_refusal *old = shash_find_data(&r->refusals, name);
    bool known = old && !strcmp(old->reason, reason);
    size_t n_bytes = text_len(object);

    dpctl_refused_forget(r, name);
    if (shash_count(&r->refusals) >= DPCTL_REFUSED_MAX
        || r->n_bytes + n_bytes > DPCTL_REFUSED_MAX_BYTES) {
        r->n_forgotten++;
        return DPCTL_REFUSED_TOO_MUCH;
    }

    struct dpctl_refusal *refusal = xmalloc(sizeof *refusal);
    *refusal = (struct dpctl_refusal) {
        .object = json_clone(object), .gone = gone,
        .reason = xstrdup(reason), .n_bytes = n_bytes,
    };
    shash_add(&r->refusals, name, refusal);
    r->n_bytes += n_bytes;
    return known ? DPCTL_REFUSED_KNOWN : DPCTL_REFUSED_NEW;
}

bool
dpctl_refused_may_need(const char *manifest, bool gone)
{
    static const unsigned int kinds
        = (1u << DPCTL_NODE | 1u << DPCTL_NAMESPACE | 1u << DPCTL_TIER
           | 1u << DPCTL_CLUSTER_GROUP | 1u << DPCTL_GROUP
           | 1u << DPCTL_CP_ADDRESS_GROUP | 1u << DPCTL_CP_APPLIED_TO_GROUP);

    return gone || kinds & 1u << dpctl_manifest_kind(manifest)->id;
}

void
dpctl_refused_forget(struct dpctl_refused *r, const char *name)
{
    struct dpctl_refusal *refusal = shash_find_and_delete(&r->refusals, name);

    if (refusal) {
        r->n_bytes -= refusal->n_bytes;
        refusal_destroy(refusal);
    }
}
