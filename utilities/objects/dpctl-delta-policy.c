/* SPDX-License-Identifier: Apache-2.0 */

/* Groups' members that come and go, and policies that are resolved anew. */

#include <config.h>
#include "dpctl-delta-private.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "dpctl-tier.h"
#include "svec.h"
#include "util.h"

enum {
    SELECTING = (1u << DPCTL_NAMESPACE | 1u << DPCTL_CLUSTER_GROUP
                 | 1u << DPCTL_GROUP | 1u << DPCTL_SERVICE),
};

/* Memberships. */

/* The Pods that matter, and what they contribute to the groups of the
 * policies that may select them. */
static char *
contribute(const struct delta *d, bool new, struct shash *records)
{
    struct shash manifests = SHASH_INITIALIZER(&manifests);
    struct dpctl_ports ports;
    struct dpctl_env env = *d->env;
    const char *policy;

    delta_collect(d, new, SELECTING, &manifests);
    delta_collect_named(d, new, &d->pods, &manifests);
    SSET_FOR_EACH (policy, &d->candidates) {
        if (!sset_contains(&d->dirty, policy)) {
            const struct json *object = delta_old(d, policy);
            if (object) {
                shash_add(&manifests, policy, object);
            }
        }
    }

    delta_ports_init(d, new, &manifests, &ports);
    env.node = dpctl_json_str(d->node_config, "name");
    env.ports = &ports;
    env.parts = DPCTL_PARTS_PODS | DPCTL_PARTS_POLICIES;
    env.everywhere = true;
    env.keys_only = !new;
    char *error = dpctl_resolve(&manifests, &env, records);
    dpctl_ports_destroy(&ports);
    shash_destroy(&manifests);
    return error;
}

/* The list of a group's members; NULL if 'key' isn't that of a group. */
static const char *
member_list(const char *key)
{
    return (!strncmp(key, "AddressGroup ", 13) ? "addresses"
            : !strncmp(key, "AppliedToGroup ", 15) ? "pods" : NULL);
}

static void
add_members(const struct shash *records, const char *key, struct sset *members)
{
    const struct json_array *array
        = dpctl_json_array(shash_find_data(records, key), member_list(key));

    for (size_t i = 0; i < array->n; i++) {
        sset_add(members, json_string(array->elems[i]));
    }
}

/* Adds the difference for one group, if there is any. */
static void
compare_group(struct delta *d, const char *key, const struct shash *before,
              const struct shash *after)
{
    struct sset old = SSET_INITIALIZER(&old);
    struct sset new = SSET_INITIALIZER(&new);
    const char *name;

    add_members(before, key, &old);
    add_members(after, key, &new);
    if (!shash_find(&d->patches, key) && !sset_equals(&old, &new)) {
        struct delta_patch *patch = xmalloc(sizeof *patch);

        sset_init(&patch->add);
        sset_init(&patch->remove);
        SSET_FOR_EACH (name, &new) {
            if (!sset_contains(&old, name)) {
                sset_add(&patch->add, name);
            }
        }
        SSET_FOR_EACH (name, &old) {
            if (!sset_contains(&new, name)) {
                sset_add(&patch->remove, name);
            }
        }
        shash_add(&d->patches, key, patch);
    }
    sset_destroy(&old);
    sset_destroy(&new);
}

static void
compare_groups(struct delta *d, const struct shash *before,
               const struct shash *after)
{
    const struct shash *const all[] = { before, after };

    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        const struct shash_node *node;
        SHASH_FOR_EACH (node, all[i]) {
            if (member_list(node->name)) {
                compare_group(d, node->name, before, after);
            }
        }
    }
}

/* Groups without which there is no rule. */

static void
want_record(struct delta *d, const char *key)
{
    char *kind = xmemdup0(key, strcspn(key, " "));

    dpctl_world_want(&d->world, kind, strchr(key, ' ') + 1);
    free(kind);
}

/* Does the patch make a group have members that had none, or the other way
 * round?  In an AppliedToGroup that means Pods of this node.  Of one that no
 * record refers to, as nothing came of the rules, that isn't known. */
static bool
is_turn(const struct delta *d, const char *key, const struct delta_patch *p)
{
    const struct json *group = shash_find_data(&d->world.records, key);
    const struct json_array *members = dpctl_json_array(group,
                                                        member_list(key));
    bool any = !group || !sset_is_empty(&p->add);

    for (size_t i = 0; i < members->n && !any; i++) {
        any = !sset_contains(&p->remove, json_string(members->elems[i]));
    }
    return any != (members->n > 0);
}

/* Adds the AddressGroups of Pods by whose ports' names there are rules. */
static void
add_groups_of_ports(const struct shash *records, struct sset *groups)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, records) {
        const struct json_array *rules = dpctl_json_array(node->data, "rules");
        for (size_t i = 0; i < rules->n; i++) {
            const struct json *rule = rules->elems[i];
            const struct json_array *names
                = dpctl_json_array(rule, "to.addressGroups");
            if (!dpctl_json_bool(rule, "hasNamedPorts", false)) {
                continue;
            }
            for (size_t j = 0; j < names->n; j++) {
                sset_add_and_free(groups, dpctl_record_key(
                                      "AddressGroup",
                                      json_string(names->elems[j])));
            }
        }
    }
}

/* Adds the groups with which policies or rules come or go.  Named ports of
 * ingress rules are those of the Pods in an AppliedToGroup, which is of Pods
 * with the same numbers; those of egress rules, in such an AddressGroup. */
static void
find_turns(struct delta *d, const struct shash *before,
           const struct shash *after, struct sset *turns)
{
    struct sset groups = SSET_INITIALIZER(&groups);
    const struct shash_node *node;
    const char *key;

    add_groups_of_ports(before, &groups);
    add_groups_of_ports(after, &groups);
    SHASH_FOR_EACH (node, &d->patches) {
        if (!strncmp(node->name, "AppliedToGroup ", 15)) {
            sset_add(&groups, node->name);
        }
    }
    SSET_FOR_EACH (key, &groups) {
        if (shash_find(&d->patches, key)) {
            want_record(d, key);
        }
    }
    dpctl_world_fetch(&d->world);
    SSET_FOR_EACH (key, &groups) {
        const struct delta_patch *patch = shash_find_data(&d->patches, key);

        if (patch && is_turn(d, key, patch)) {
            sset_add(turns, key);
        }
    }
    sset_destroy(&groups);
}

/* One policy among those that may select a Pod that matters. */
struct question {
    const struct shash *before, *after;
    const struct sset *turns;
    bool contributes;           /* Does a Pod contribute to its groups? */
    bool applied_to_turns;      /* Is one of its groups in 'turns'? */
    bool addresses_turn;
};

static void
ask_group(const char *kind, const char *group, void *q_)
{
    struct question *q = q_;
    char *key = dpctl_record_key(kind, group);
    const char *list = member_list(key);
    bool turns = sset_contains(q->turns, key);

    q->contributes
        |= (dpctl_json_array(shash_find_data(q->before, key), list)->n
            || dpctl_json_array(shash_find_data(q->after, key), list)->n);
    if (!strcmp(kind, "AppliedToGroup")) {
        q->applied_to_turns |= turns;
    } else {
        q->addresses_turn |= turns;
    }
    free(key);
}

/* Adds those of the policies (record's key to Manifest's name) that have a
 * record on this node to 'added'. */
static void
add_present(struct delta *d, const struct shash *policies, struct sset *added)
{
    struct sset keys = SSET_INITIALIZER(&keys);
    struct sset present = SSET_INITIALIZER(&present);
    const struct shash_node *node;

    SHASH_FOR_EACH (node, policies) {
        sset_add(&keys, node->name);
    }
    dpctl_world_which(&d->world, &keys, &present);
    SHASH_FOR_EACH (node, policies) {
        if (sset_contains(&present, node->name)) {
            sset_add(added, node->data);
        }
    }
    sset_destroy(&keys);
    sset_destroy(&present);
}

void
delta_want_policies_by_peers(struct delta *d, struct json *keys)
{
    struct shash policies = SHASH_INITIALIZER(&policies);
    struct sset found = SSET_INITIALIZER(&found);
    struct sset present = SSET_INITIALIZER(&present);
    const char *name;

    dpctl_world_which_bear(&d->world, keys, &found);
    SSET_FOR_EACH (name, &found) {
        const char *manifest = dpctl_manifest_of_key(name);
        const struct dpctl_kind *kind
            = manifest ? dpctl_manifest_kind(manifest) : NULL;
        const char *type = kind ? dpctl_kind_policy_type(kind) : NULL;

        if (type && !sset_contains(&d->candidates, manifest)) {
            char *record = xasprintf("NetworkPolicy %s:%s", type,
                                     delta_name_part(manifest));
            shash_add_once(&policies, record, manifest);
            free(record);
        }
    }
    add_present(d, &policies, &present);
    SSET_FOR_EACH (name, &present) {
        sset_add(&d->candidates, name);
        dpctl_world_want(&d->world, "Manifest", name);
    }
    shash_destroy(&policies);
    sset_destroy(&found);
    sset_destroy(&present);
}

/* Finds the candidates for which it isn't enough that members come and go. */
static void
find_dirty(struct delta *d, const struct shash *before,
           const struct shash *after, const struct sset *turns)
{
    struct shash if_present = SHASH_INITIALIZER(&if_present);
    const char *manifest;

    SSET_FOR_EACH (manifest, &d->candidates) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(manifest);
        const struct json *object = delta_old(d, manifest);
        if (!object || sset_contains(&d->dirty, manifest)) {
            continue;
        }

        struct question q = {
            .before = before, .after = after, .turns = turns,
        };
        char *key = dpctl_policy_record_key(kind, object);
        const struct json *records[] = {
            shash_find_data(before, key), shash_find_data(after, key)
        };
        for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
            delta_each_group(records[i], ask_group, &q);
        }
        /* One that can't be resolved may not have to be, on this node. */
        if (!records[0] || !records[1] || q.applied_to_turns
            || (q.contributes && d->relabels
                && dpctl_has_same_labels(object))) {
            sset_add(&d->dirty, manifest);
        } else if (q.addresses_turn) {
            shash_add_once(&if_present, key, manifest);
        }
        free(key);
    }
    add_present(d, &if_present, &d->dirty);
    shash_destroy(&if_present);
}

/* The records of Pods that are given. */
static void
take_pod_records(struct delta *d, const struct shash *before,
                 struct shash *after)
{
    const char *manifest;

    SSET_FOR_EACH (manifest, &d->pods) {
        if (delta_is_given(d, manifest)) {
            char *key = dpctl_record_key("Pod", strchr(manifest, '/') + 1);
            struct json *record = shash_find_and_delete(after, key);

            if (record) {
                shash_add_assert(&d->outcome, key, record);
            } else if (shash_find(before, key)) {
                sset_add(&d->gone, key);
            }
            free(key);
        }
    }
}

char *
delta_memberships(struct delta *d)
{
    struct shash before = SHASH_INITIALIZER(&before);
    struct shash after = SHASH_INITIALIZER(&after);
    struct sset turns = SSET_INITIALIZER(&turns);
    char *error = NULL;

    delta_fetch_groups(d, &d->candidates);
    if (!delta_ended(d)) {
        free(contribute(d, false, &before));
        error = contribute(d, true, &after);
    }
    if (!error && !delta_ended(d)) {
        compare_groups(d, &before, &after);
        find_turns(d, &before, &after, &turns);
        find_dirty(d, &before, &after, &turns);
        take_pod_records(d, &before, &after);
    }
    dpctl_records_destroy(&before);
    dpctl_records_destroy(&after);
    sset_destroy(&turns);
    return error;
}

/* Policies that are resolved anew. */

static void
want_tier(struct delta *d, const struct json *policy)
{
    const char *tier = dpctl_tier_name(dpctl_json_str(policy, "spec.tier"));
    char *manifest = dpctl_manifest_name(&dpctl_kinds[DPCTL_TIER], NULL,
                                         tier);

    dpctl_world_want(&d->world, "Manifest", manifest);
    free(manifest);
}

/* What the policies were and what they need, but for Pods. */
static void
fetch_policies(struct delta *d)
{
    const char *manifest;

    SSET_FOR_EACH (manifest, &d->dirty) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(manifest);
        const struct json *old = delta_old(d, manifest);
        const struct json *new = delta_new(d, manifest);
        if (!old && !new) {
            continue;
        }

        char *name = dpctl_policy_record_name(kind, new ? new : old);
        char *cp_key = xasprintf("cp:%s", name);
        dpctl_world_want(&d->world, dpctl_policy_record_kind(kind), name);
        dpctl_keys_add(dpctl_world_want_keys(&d->world), cp_key);
        free(cp_key);
        free(name);
        if (new && (kind->id == DPCTL_ACNP || kind->id == DPCTL_ANNP)) {
            want_tier(d, new);
        }
        if (new && dpctl_has_nodes(kind, new)) {
            dpctl_keys_add(dpctl_world_want_keys(&d->world), "kind:Node");
        }
        if (new && kind->id == DPCTL_K8S_NP) {
            /* It may have its policies logged. */
            delta_want_namespace(d, dpctl_json_str(new,
                                                   "metadata.namespace"));
        }
    }
    const struct json *found = dpctl_world_fetch(&d->world);
    for (size_t i = 0; found && i < json_array(found)->n; i++) {
        char *key = dpctl_record_key_of(json_array(found)->elems[i]);
        const char *name = dpctl_manifest_of_key(key);
        const struct dpctl_kind *kind = name ? dpctl_manifest_kind(name)
                                        : NULL;
        /* Two objects for one record: the full run sees to that. */
        d->full |= kind && kind->id == DPCTL_CP_NP;
        free(key);
    }
    delta_fetch_groups(d, &d->dirty);
}

/* Calls 'cb' for each selector of the policies, and of the groups that they
 * refer to. */
static void
each_selection(const struct delta *d,
               void (*cb)(const struct dpctl_selection *, void *aux),
               void *aux)
{
    struct sset done = SSET_INITIALIZER(&done);
    struct sset todo;

    sset_clone(&todo, &d->dirty);
    while (!sset_is_empty(&todo)) {
        char *manifest = sset_pop(&todo);
        const struct dpctl_kind *kind = dpctl_manifest_kind(manifest);
        const struct json *object = delta_new(d, manifest);

        if (sset_add(&done, manifest) && object) {
            struct svec refs = SVEC_EMPTY_INITIALIZER;
            const char *ref;
            size_t i;

            dpctl_each_selection(kind, object, cb, aux);
            dpctl_group_refs(kind, object, &refs);
            SVEC_FOR_EACH (i, ref, &refs) {
                if (!sset_contains(&done, ref)) {
                    sset_add(&todo, ref);
                }
            }
            svec_destroy(&refs);
        }
        free(manifest);
    }
    sset_destroy(&todo);
    sset_destroy(&done);
}

static void
ask_for_namespaces(const struct dpctl_selection *selection, void *needed)
{
    *(bool *) needed |= selection->namespaces != NULL;
}

/* The Namespaces, if it depends on their labels whom a policy selects. */
static void
fetch_namespaces(struct delta *d)
{
    const char *manifest;
    bool needed = false;

    each_selection(d, ask_for_namespaces, &needed);
    SSET_FOR_EACH (manifest, &d->dirty) {
        needed |= dpctl_has_same_labels(delta_new(d, manifest));
    }
    if (needed) {
        dpctl_keys_add(dpctl_world_want_keys(&d->world), "kind:Namespace");
        dpctl_world_fetch(&d->world);
    }
}

struct selecting {
    struct json *query;
    struct shash namespaces;
    bool all_pods;
};

static void
select_pods(const struct dpctl_selection *selection, void *s_)
{
    struct selecting *s = s_;

    s->all_pods |= !dpctl_keys_selected(s->query, selection, &s->namespaces);
}

/* The Pods that the policies select. */
static void
fetch_selected(struct delta *d)
{
    struct selecting s = {
        .query = dpctl_world_want_keys(&d->world),
        .namespaces = SHASH_INITIALIZER(&s.namespaces),
    };

    delta_collect(d, true, 1u << DPCTL_NAMESPACE, &s.namespaces);
    each_selection(d, select_pods, &s);
    d->full |= s.all_pods;
    if (!d->full) {
        dpctl_world_fetch(&d->world);
    }
    shash_destroy(&s.namespaces);
}

/* The objects that the policies are resolved from, but for Pods. */
static void
collect_policies(const struct delta *d, struct shash *manifests)
{
    delta_collect(d, true, SELECTING | 1u << DPCTL_TIER | 1u << DPCTL_NODE,
                  manifests);
    delta_collect_named(d, true, &d->dirty, manifests);
}

static char *
resolve_policies_anew(struct delta *d)
{
    struct shash manifests = SHASH_INITIALIZER(&manifests);
    struct dpctl_env env = *d->env;
    struct dpctl_ports ports;

    collect_policies(d, &manifests);
    delta_collect(d, true, 1u << DPCTL_POD, &manifests);
    delta_ports_init(d, true, &manifests, &ports);
    env.ports = &ports;
    env.node = dpctl_json_str(d->node_config, "name");
    env.node_config = d->node_config;
    env.parts = DPCTL_PARTS_POLICIES;
    char *error = dpctl_resolve(&manifests, &env, &d->outcome);
    dpctl_ports_destroy(&ports);
    shash_destroy(&manifests);
    return error;
}

/* Groups that no policy refers to any more. */

static void
note_group(const char *kind, const char *group, void *groups)
{
    sset_add_and_free(groups, dpctl_record_key(kind, group));
}

static void
drop_group(const char *kind, const char *group, void *groups)
{
    char *key = dpctl_record_key(kind, group);

    sset_find_and_delete(groups, key);
    free(key);
}

/* The records of the policies as they are; adds their keys to 'keys' and the
 * groups that they refer to to 'groups'. */
static void
old_policies(const struct delta *d, struct sset *keys, struct sset *groups)
{
    const char *manifest;

    SSET_FOR_EACH (manifest, &d->dirty) {
        const struct json *object = delta_old(d, manifest);
        if (object) {
            char *key = dpctl_policy_record_key(dpctl_manifest_kind(manifest),
                                                object);
            const struct json *record = shash_find_data(&d->world.records,
                                                        key);
            if (record) {
                sset_add(keys, key);
                delta_each_group(record, note_group, groups);
            }
            free(key);
        }
    }
}

/* Is it the key of a record of such a kind? */
static bool
refers_to_groups(const char *key)
{
    static const char *const kinds[] = {
        "NetworkPolicy ", "Egress ", "TrafficControl ",
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (!strncmp(key, kinds[i], strlen(kinds[i]))) {
            return true;
        }
    }
    return false;
}

static void
find_gone(struct delta *d)
{
    struct sset policies = SSET_INITIALIZER(&policies);
    struct sset groups = SSET_INITIALIZER(&groups);
    const struct shash_node *node;
    const char *key;

    old_policies(d, &policies, &groups);
    SHASH_FOR_EACH (node, &d->outcome) {
        sset_find_and_delete(&groups, node->name);
    }
    SSET_FOR_EACH (key, &groups) {
        dpctl_keys_add(dpctl_world_want_keys(&d->world), key);
    }
    dpctl_world_fetch(&d->world);
    SHASH_FOR_EACH (node, &d->world.records) {
        if (refers_to_groups(node->name) && node->data
            && !sset_contains(&policies, node->name)) {
            delta_each_group(node->data, drop_group, &groups);
        }
    }
    SSET_FOR_EACH (key, &policies) {
        if (!shash_find(&d->outcome, key)) {
            sset_add(&d->gone, key);
        }
    }
    SSET_FOR_EACH (key, &groups) {
        sset_add(&d->gone, key);
    }
    sset_destroy(&policies);
    sset_destroy(&groups);
}

/* The records that there are of those that were made or are to go. */
static void
fetch_outcome(struct delta *d)
{
    const struct shash_node *node;
    const char *key;

    SHASH_FOR_EACH (node, &d->outcome) {
        want_record(d, node->name);
    }
    SSET_FOR_EACH (key, &d->gone) {
        want_record(d, key);
    }
    dpctl_world_fetch(&d->world);
}

char *
delta_policies(struct delta *d)
{
    char *error = NULL;

    if (sset_is_empty(&d->dirty)) {
        return NULL;
    }
    fetch_policies(d);
    if (!delta_ended(d)) {
        fetch_namespaces(d);
    }
    if (!delta_ended(d)) {
        fetch_selected(d);
    }
    if (!delta_ended(d)) {
        delta_fetch_ports(d);
    }
    if (!delta_ended(d)) {
        error = resolve_policies_anew(d);
    }
    if (!error && !delta_ended(d)) {
        find_gone(d);
    }
    if (!error && !delta_ended(d)) {
        fetch_outcome(d);
    }
    return error;
}
