/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-plan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "dpctl-kind.h"
#include "dpctl-left-out.h"
#include "dpctl-node.h"
#include "dpctl-surprise.h"
#include "dpctl-tier.h"
#include "svec.h"
#include "util.h"

/* While a plan is made. */
struct planner {
    enum dpctl_verb verb;
    const struct dpctl_input *input;
    struct dpctl_env *env;
    struct shash stored;        /* Record key to JSON: all that there is. */
    struct shash old_manifests; /* As stored. */
    struct shash new_manifests; /* As they'll be. */
    struct shash new_records;   /* Record key to JSON: given and derived. */
    const char *node_in_force;  /* See dpctl-node.h. */
    struct dpctl_plan *plan;
};

static void
index_state(struct planner *p, const struct json *state)
{
    p->env->node_config = NULL;
    for (size_t i = 0; i < json_array(state)->n; i++) {
        const struct json *record = json_array(state)->elems[i];
        const char *kind = dpctl_json_str(record, "kind");
        const char *name = dpctl_json_str(record, "name");

        shash_add_nocopy(&p->stored, dpctl_record_key_of(record), record);
        if (kind && name && !strcmp(kind, "Manifest")) {
            shash_add(&p->old_manifests, name,
                      dpctl_json_member(record, "object"));
        } else if (kind && !strcmp(kind, "NodeConfig")) {
            p->env->node_config = record;
        }
    }
    p->node_in_force = dpctl_node_in_force(&p->stored, &p->old_manifests);
}

/* "pod/web created", as kubectl writes it. */
static void
report_manifest(struct dpctl_plan *plan, const char *manifest_name,
                const char *what)
{
    size_t len = strcspn(manifest_name, "/");
    const char *name = strrchr(manifest_name, '/') + 1;
    char *kind = xmemdup0(manifest_name, len);

    for (char *c = kind; *c; c++) {
        *c = tolower((unsigned char) *c);
    }
    char *version = strstr(kind, ".v1");
    if (version && !version[3]) {
        *version = '\0';
    }
    svec_add_nocopy(plan->messages, xasprintf("%s/%s %s", kind, name, what));
    free(kind);
}

static void
report_record(struct planner *p, const char *key, const char *what)
{
    svec_add_nocopy(p->plan->messages, xasprintf("%s %s", key, what));
}

void
dpctl_plan_delete(struct dpctl_plan *plan, const char *kind, const char *name)
{
    struct json *json = json_object_create();

    json_object_put_string(json, "kind", kind);
    json_object_put_string(json, "name", name);
    json_array_add(plan->delete, json);
}

static struct json *
manifest_record(const char *name, const struct json *object)
{
    struct json *record = json_object_create();

    json_object_put_string(record, "kind", "Manifest");
    json_object_put_string(record, "name", name);
    json_object_put(record, "object", json_clone(object));

    const struct dpctl_kind *kind = dpctl_manifest_kind(name);
    if (kind) {
        json_object_put(record, "keys", dpctl_keys_of(kind, object));
    }
    return record;
}

char *
dpctl_plan_manifest(struct dpctl_plan *plan, enum dpctl_verb verb,
                    const char *name, const struct json *old,
                    const struct json *new, bool ignore_missing)
{
    if (verb != DPCTL_DELETE) {
        bool same = old && json_equal(old, new);
        if (!same || verb == DPCTL_REPLACE) {
            json_array_add(plan->apply, manifest_record(name, new));
        }
        report_manifest(plan, name, (!old ? "created" : same ? "unchanged"
                                     : "configured"));
    } else if (dpctl_manifest_kind(name) == &dpctl_kinds[DPCTL_TIER]
               && dpctl_tier_is_builtin(strchr(name, '/') + 1)) {
        return xasprintf("Tier %s: is built in, and can't be deleted",
                         strchr(name, '/') + 1);
    } else if (old) {
        dpctl_plan_delete(plan, "Manifest", name);
        report_manifest(plan, name, "deleted");
    } else if (!ignore_missing) {
        return xasprintf("%s: there is none", name);
    }
    return NULL;
}

/* What was left out isn't replaced: it stays as it is. */
static void
keep_manifests(struct planner *p)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &p->input->left_out) {
        const struct json *old = shash_find_data(&p->old_manifests,
                                                 node->name);
        if (old) {
            shash_add(&p->new_manifests, node->name, old);
            json_array_add(p->plan->apply, manifest_record(node->name, old));
        }
    }
}

/* The same of records that were given as such. */
static void
keep_records(struct planner *p)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &p->input->left_out) {
        const struct json *old = shash_find_data(&p->stored, node->name);
        if (old && p->verb == DPCTL_REPLACE
            && !shash_find(&p->new_records, node->name)) {
            shash_add(&p->new_records, node->name, json_clone(old));
        }
    }
}

/* Pods that nobody gave, and that can't be resolved as things are, have what
 * they had.  Their ports may have gone, which a whole new state must not
 * have. */
static void
keep_pods(struct planner *p)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, p->env->kept) {
        const struct json *old = shash_find_data(&p->stored, node->name);

        if (old && p->verb != DPCTL_REPLACE) {
            json_destroy(shash_replace(&p->new_records, node->name,
                                       json_clone(old)));
        }
    }
}

/* What goes as others come. */
static char *
plan_gone(struct planner *p)
{
    const char **names = sset_sort(&p->input->gone);
    char *error = NULL;

    for (size_t i = 0; i < sset_count(&p->input->gone) && !error; i++) {
        error = dpctl_plan_manifest(p->plan, DPCTL_DELETE, names[i],
                                    shash_find_data(&p->old_manifests,
                                                    names[i]), NULL, true);
        shash_find_and_delete(&p->new_manifests, names[i]);
    }
    free(names);
    return error;
}

/* The set of manifests that there will be, and what changes in it. */
static char *
plan_manifests(struct planner *p, bool ignore_missing)
{
    const struct shash_node **nodes = shash_sort(&p->input->manifests);
    size_t n = shash_count(&p->input->manifests);
    const struct shash_node *node;
    char *error = NULL;

    if (p->verb != DPCTL_REPLACE) {
        SHASH_FOR_EACH (node, &p->old_manifests) {
            shash_add(&p->new_manifests, node->name, node->data);
        }
    } else {
        keep_manifests(p);
    }
    for (size_t i = 0; i < n && !error; i++) {
        const char *name = nodes[i]->name;
        const struct json *object = nodes[i]->data;

        error = dpctl_plan_manifest(p->plan, p->verb, name,
                                    shash_find_data(&p->old_manifests, name),
                                    object, ignore_missing);
        if (p->verb == DPCTL_DELETE) {
            shash_find_and_delete(&p->new_manifests, name);
        } else {
            shash_replace(&p->new_manifests, name, object);
        }
    }
    free(nodes);
    return error ? error : plan_gone(p);
}

/* Notes that the object 'node' makes the record of a policy.  Returns NULL, or
 * an error if another one of 'makers' does. */
static char *
add_maker(struct shash *makers, const struct shash_node *node)
{
    const struct dpctl_kind *kind = dpctl_manifest_kind(node->name);

    if (!kind || !(kind->id == DPCTL_CP_NP || dpctl_kind_policy_type(kind))) {
        return NULL;
    }
    char *key = dpctl_policy_record_key(kind, node->data);
    const char *other = shash_find_data(makers, key);
    if (!other) {
        shash_add_nocopy(makers, key, node->name);
        return NULL;
    }

    char *title = dpctl_kind_title(kind, node->data, "");
    char *error = xasprintf("%s: %s: %s makes the record %s, too", title,
                            kind->id == DPCTL_CP_NP ? "sourceRef"
                            : "metadata.name", other, key);
    free(title);
    free(key);
    return error;
}

/* A policy of the controlplane API is about another object, whose record may
 * follow from that, or from another such policy: one would take the place of
 * the other.  What is there already isn't objected to. */
static char *
check_makers(const struct planner *p)
{
    struct shash makers = SHASH_INITIALIZER(&makers);
    const struct shash_node **nodes = shash_sort(&p->input->manifests);
    size_t n = p->verb == DPCTL_DELETE ? 0 : shash_count(&p->input->manifests);
    const struct shash_node *node;
    char *error = NULL;

    SHASH_FOR_EACH (node, &p->new_manifests) {
        if (!shash_find(&p->input->manifests, node->name)) {
            free(add_maker(&makers, node));
        }
    }
    for (size_t i = 0; i < n && !error; i++) {
        error = add_maker(&makers, nodes[i]);
        if (error && p->env->refused) {
            shash_add_assert(p->env->refused, nodes[i]->name, error);
            error = NULL;
        }
    }
    free(nodes);
    shash_destroy(&makers);
    return error;
}

/* The records that users give as such. */
static char *
plan_given_records(struct planner *p, bool ignore_missing)
{
    const struct shash_node **nodes = shash_sort(&p->input->records);
    size_t n = shash_count(&p->input->records);
    char *error = NULL;

    for (size_t i = 0; i < n && !error; i++) {
        const char *key = nodes[i]->name;
        struct json *record = nodes[i]->data;
        const struct json *old = shash_find_data(&p->stored, key);
        const struct json *derived = shash_find_data(&p->new_records, key);

        if (p->verb == DPCTL_DELETE) {
            if (derived) {
                error = xasprintf("%s: it follows from the Kubernetes "
                                  "objects; delete or change those (get "
                                  "manifests)", key);
            } else if (old) {
                dpctl_plan_delete(p->plan, dpctl_json_str(record, "kind"),
                            dpctl_json_str(record, "name"));
                report_record(p, key, "deleted");
            } else if (!ignore_missing) {
                error = xasprintf("%s: there is none", key);
            }
            continue;
        }
        if (derived && !json_equal(derived, record)
            && !(p->verb == DPCTL_REPLACE
                 && !strncmp(key, "NodeConfig ", 11))) {
            error = xasprintf("%s: %s: another one follows from the "
                              "Kubernetes objects",
                              (char *) shash_find_data(&p->input->origins,
                                                       key), key);
            if (p->env->refused) {
                shash_add_assert(p->env->refused, key, error);
                error = NULL;
            }
            continue;
        }
        if (!derived) {
            shash_add(&p->new_records, key, json_clone(record));
        }
        report_record(p, key, (!old ? "created"
                               : json_equal(old, record) ? "unchanged"
                               : "configured"));
    }
    free(nodes);
    return error;
}

/* Applies what is new or different. */
static void
plan_apply_records(struct planner *p)
{
    const struct shash_node **nodes = shash_sort(&p->new_records);

    for (size_t i = 0; i < shash_count(&p->new_records); i++) {
        const struct json *old = shash_find_data(&p->stored, nodes[i]->name);
        if (p->verb == DPCTL_REPLACE || !old
            || !json_equal(old, nodes[i]->data)) {
            json_array_add(p->plan->apply, json_clone(nodes[i]->data));
        }
    }
    free(nodes);
}

/* The ports that Pods had when the records were made that there are.  They may
 * have others by now, or none, and what follows from that may have gone with
 * it. */
static void
old_ports(const struct planner *p, struct dpctl_ports *ports)
{
    const struct shash_node *node;

    dpctl_ports_init(ports);
    SHASH_FOR_EACH (node, &p->stored) {
        if (!strncmp(node->name, "Pod ", 4)) {
            dpctl_ports_add_record(ports, node->data);
        }
    }
}

/* How many of the Pods, as they will be, have what a record told? */
static size_t
count_kept_ports(const struct planner *p)
{
    const struct shash_node *node;
    size_t n = 0;

    SHASH_FOR_EACH (node, &p->new_manifests) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(node->name);

        if (kind && kind->id == DPCTL_POD) {
            char *key = dpctl_record_key("Pod", strchr(node->name, '/') + 1);

            n += (shash_find(&p->stored, key)
                  && shash_find(&p->new_records, key));
            free(key);
        }
    }
    return n;
}

void
dpctl_plan_tell_kept_ports(struct dpctl_plan *plan,
                           const struct dpctl_ports *ports, size_t n)
{
    if (n) {
        svec_add_nocopy(plan->warnings,
                        xasprintf("OVSDB can't be read: %s; %"PRIuSIZE" %s "
                                  "and addresses",
                                  ports->why ? ports->why : "not asked", n,
                                  (n == 1 ? "Pod keeps its port"
                                   : "Pods keep their ports")));
    }
}

/* Is it the key of the PeerNode that an old manifest may become? */
static bool
is_peer_of_manifest(const struct planner *p, const char *key)
{
    if (strncmp(key, "PeerNode ", 9)) {
        return false;
    }
    char *manifest = dpctl_manifest_name(&dpctl_kinds[DPCTL_NODE], NULL,
                                         key + 9);
    bool is_there = shash_find(&p->old_manifests, manifest);

    free(manifest);
    return is_there;
}

/* As long as this Node's name was a wrong one, under which nothing came in
 * force, it was another one's peer. */
static void
add_own_peer(const struct planner *p, const char *node, struct shash *records)
{
    char *key = dpctl_record_key("PeerNode", node);
    struct json *peer = shash_find_data(&p->stored, key);

    if (peer && is_peer_of_manifest(p, key) && !shash_find(records, key)) {
        shash_add(records, key, json_clone(peer));
    }
    free(key);
}

/* Adds the records that follow from the old manifests, of which no more than
 * their keys matters.  'node' is this one's name, or NULL. */
static void
resolve_old(const struct planner *p, const char *node, struct shash *records)
{
    struct dpctl_env env = *p->env;
    struct dpctl_ports ports;

    env.keys_only = true;
    env.node = p->node_in_force ? p->node_in_force : env.node;
    old_ports(p, &ports);
    env.ports = &ports;
    free(dpctl_resolve(&p->old_manifests, &env, records));
    dpctl_ports_destroy(&ports);
    if (!p->node_in_force && node) {
        add_own_peer(p, node, records);
    }
}

/* Deletes what only the old manifests derive.  'node' is this one's name. */
static void
plan_delete_derived(struct planner *p, const char *node)
{
    struct shash old_records = SHASH_INITIALIZER(&old_records);

    resolve_old(p, node, &old_records);

    const struct shash_node **nodes = shash_sort(&old_records);
    for (size_t i = 0; i < shash_count(&old_records); i++) {
        const char *key = nodes[i]->name;
        if (!shash_find(&p->new_records, key) && shash_find(&p->stored, key)
            && !(p->verb == DPCTL_DELETE
                 && shash_find(&p->input->records, key))) {
            dpctl_plan_delete(p->plan, dpctl_json_str(nodes[i]->data, "kind"),
                        dpctl_json_str(nodes[i]->data, "name"));
        }
    }
    free(nodes);
    dpctl_records_destroy(&old_records);
}

/* Tells what DPCTL_REPLACE does without. */
static void
plan_replaced(struct planner *p, const char *node)
{
    struct shash old_records = SHASH_INITIALIZER(&old_records);
    const struct shash_node **nodes = shash_sort(&p->stored);

    resolve_old(p, node, &old_records);
    for (size_t i = 0; i < shash_count(&p->stored); i++) {
        const char *key = nodes[i]->name;
        const char *manifest = dpctl_manifest_of_key(key);

        if (manifest ? shash_find(&p->new_manifests, manifest)
            : shash_find(&p->new_records, key)) {
            continue;
        }
        dpctl_plan_delete(p->plan, dpctl_json_str(nodes[i]->data, "kind"),
                          dpctl_json_str(nodes[i]->data, "name"));
        if (manifest) {
            report_manifest(p->plan, manifest, "deleted");
        } else if (!shash_find(&old_records, key)) {
            report_record(p, key, "deleted");
        }
    }
    free(nodes);
    dpctl_records_destroy(&old_records);
}

static const struct json *
given_node_config(const struct dpctl_input *input)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &input->records) {
        if (!strncmp(node->name, "NodeConfig ", 11)) {
            return node->data;
        }
    }
    return NULL;
}

/* Finds out which node this is and sets 'env->node' to its name, if that is
 * known. */
static char *
plan_node(struct planner *p, struct dpctl_env *env)
{
    const struct json *given = given_node_config(p->input);
    const char *what = "--node";

    if (!env->node && given && p->verb != DPCTL_DELETE) {
        /* One that is given along tells, too. */
        env->node = dpctl_json_str(given, "name");
        what = "NodeConfig";
    }

    char *title = xasprintf("%s %s", what, env->node ? env->node : "");
    struct dpctl_node_question question = {
        .given = env->node,
        .what = title,
        .in_force = p->node_in_force,
        .change = env->change_node,
        .must_exist = p->verb == DPCTL_REPLACE,
        .may_come = p->input->watched,
        .manifests = {
            p->verb == DPCTL_REPLACE ? NULL : &p->old_manifests,
            &p->new_manifests,
        },
        .node_config = (given ? given
                        : p->verb == DPCTL_REPLACE ? NULL : env->node_config),
    };
    char *error = dpctl_node_check(&question);
    free(title);
    if (!env->node) {
        env->node = p->node_in_force;
    }
    return error;
}

static bool
is_about_packets(const char *key)
{
    static const char *const kinds[] = {
        "Pod ", "Service ", "NetworkPolicy ", "PeerNode ", "Egress ",
        "TrafficControl ",
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (!strncmp(key, kinds[i], strlen(kinds[i]))) {
            return true;
        }
    }
    return false;
}

/* The plan takes the NodeConfig away? */
static bool
deletes_node_config(const struct planner *p)
{
    const struct json_array *delete = json_array(p->plan->delete);

    for (size_t i = 0; i < delete->n; i++) {
        if (!strcmp(dpctl_json_str(delete->elems[i], "kind"), "NodeConfig")) {
            return true;
        }
    }
    return false;
}

/* Without a NodeConfig the daemon makes no flows of the other records. */
static void
warn_without_node_config(struct planner *p, const char *name)
{
    const struct shash_node *node;
    bool any = false;

    SHASH_FOR_EACH (node, &p->new_records) {
        if (!strncmp(node->name, "NodeConfig ", 11)) {
            return;
        }
        any |= is_about_packets(node->name);
    }

    bool without = (p->verb == DPCTL_REPLACE
                    || (p->verb == DPCTL_APPLY && !p->env->node_config)
                    || deletes_node_config(p));
    if (any && without) {
        svec_add_nocopy(p->plan->warnings,
                        xasprintf("nothing of %s is in force before the "
                                  "Node %s is applied",
                                  (p->verb == DPCTL_DELETE ? "what is left"
                                   : "this"),
                                  name ? name : "of this machine"));
    }
}

/* Resolves what there will be with the ports in force, as long as OVSDB tells
 * nothing newer. */
static char *
resolve_with_kept_ports(struct planner *p, const struct dpctl_env *env_)
{
    struct dpctl_env env = *env_;
    struct dpctl_ports ports;

    old_ports(p, &ports);
    ports.why = nullable_xstrdup(env.ports->why);
    ports.annotated = env.ports->annotated;
    env.ports = &ports;
    char *error = dpctl_resolve(&p->new_manifests, &env, &p->new_records);
    dpctl_plan_tell_kept_ports(p->plan, &ports, count_kept_ports(p));
    dpctl_ports_destroy(&ports);
    return error;
}

/* The object that the NodeConfig in force follows from, or NULL. */
static const struct json *
old_node(const struct planner *p)
{
    const char *name = dpctl_json_str(p->env->node_config, "name");
    char *manifest = dpctl_manifest_name(&dpctl_kinds[DPCTL_NODE], NULL,
                                         name ? name : "");
    const struct json *node = shash_find_data(&p->old_manifests, manifest);

    free(manifest);
    return node;
}

static char *
plan_all(struct planner *p, bool ignore_missing)
{
    char *error = plan_manifests(p, ignore_missing);
    if (!error) {
        error = check_makers(p);
    }
    if (error) {
        return error;
    }

    struct dpctl_env env = *p->env;
    env.keys_only = false;
    error = plan_node(p, &env);
    if (error) {
        return error;
    }
    const struct json *given = given_node_config(p->input);
    if (given && p->verb != DPCTL_DELETE) {
        /* It has what the Node's object doesn't say. */
        env.node_config = given;
    } else if (p->verb == DPCTL_REPLACE) {
        /* Nothing is kept, but the node is still the same. */
        env.node_config = NULL;
    } else {
        env.old_node = old_node(p);
    }
    error = (env.ports->available || p->verb == DPCTL_REPLACE
             ? dpctl_resolve(&p->new_manifests, &env, &p->new_records)
             : resolve_with_kept_ports(p, &env));
    if (!error) {
        error = plan_given_records(p, ignore_missing);
    }
    if (!error && env.refused && !shash_is_empty(env.refused)) {
        error = xstrdup(shash_first(env.refused)->data);
    }
    if (!error) {
        keep_records(p);
        if (p->env->kept) {
            keep_pods(p);
        }
        plan_apply_records(p);
        if (p->verb != DPCTL_DELETE) {
            struct dpctl_surprise surprise = {
                .given = &p->input->manifests,
                .manifests = &p->new_manifests,
                .records = {
                    p->verb == DPCTL_REPLACE ? NULL : &p->stored,
                    &p->new_records
                },
                .node = env.node,
            };
            dpctl_surprises(&surprise, p->plan->warnings);
        }
        if (p->verb != DPCTL_REPLACE) {
            plan_delete_derived(p, env.node);
        } else {
            plan_replaced(p, env.node);
        }
        warn_without_node_config(p, env.node);
    }
    return error;
}

/* How many records there will be. */
static size_t
count_records(const struct planner *p)
{
    const struct json_array *apply = json_array(p->plan->apply);
    size_t n = apply->n;

    if (p->verb != DPCTL_REPLACE) {
        n = shash_count(&p->stored) - json_array(p->plan->delete)->n;
        for (size_t i = 0; i < apply->n; i++) {
            char *key = dpctl_record_key_of(apply->elems[i]);
            n += !shash_find(&p->stored, key);
            free(key);
        }
    }
    return n;
}

void
dpctl_plan_init(struct dpctl_plan *plan)
{
    *plan = (struct dpctl_plan) {
        .apply = json_array_create_empty(),
        .delete = json_array_create_empty(),
        .patch = json_array_create_empty(),
        .messages = xmalloc(sizeof *plan->messages),
        .warnings = xmalloc(sizeof *plan->warnings),
    };
    svec_init(plan->messages);
    svec_init(plan->warnings);
}

static void
planner_init(struct planner *p, const struct json *state)
{
    shash_init(&p->stored);
    shash_init(&p->old_manifests);
    shash_init(&p->new_manifests);
    shash_init(&p->new_records);
    index_state(p, state);
}

static void
planner_uninit(struct planner *p)
{
    shash_destroy(&p->stored);
    shash_destroy(&p->old_manifests);
    shash_destroy(&p->new_manifests);
    dpctl_records_destroy(&p->new_records);
}

char *
dpctl_plan_create(enum dpctl_verb verb, const struct dpctl_input *input,
                  const struct json *state, struct dpctl_env *env,
                  bool ignore_missing, struct dpctl_plan *plan)
{
    struct planner p = {
        .verb = verb, .input = input, .env = env, .plan = plan,
    };

    dpctl_plan_init(plan);
    planner_init(&p, state);
    char *error = plan_all(&p, ignore_missing);
    plan->n_records = count_records(&p);
    planner_uninit(&p);
    if (error) {
        dpctl_plan_destroy(plan);
    }
    return error;
}

struct json *
dpctl_plan_given(const struct json *state, const struct dpctl_env *env_)
{
    struct dpctl_env env = *env_;
    struct planner p = { .env = &env };
    struct json *given = json_array_create_empty();

    planner_init(&p, state);
    resolve_old(&p, NULL, &p.new_records);

    const struct shash_node **nodes = shash_sort(&p.stored);
    for (size_t i = 0; i < shash_count(&p.stored); i++) {
        const char *key = nodes[i]->name;

        if (!dpctl_manifest_of_key(key) && !shash_find(&p.new_records, key)
            && !is_peer_of_manifest(&p, key)) {
            json_array_add(given, json_clone(nodes[i]->data));
        }
    }
    free(nodes);
    planner_uninit(&p);
    return given;
}

/* The Service that an object has endpoints of; caller frees. */
static char *
service_of(const struct dpctl_kind *kind, const struct json *object)
{
    const struct shash *labels = dpctl_json_object(object, "metadata.labels");
    const struct json *label = shash_find_data(labels,
                                               "kubernetes.io/service-name");
    const char *name = (kind->id == DPCTL_ENDPOINTS
                        ? dpctl_json_str(object, "metadata.name")
                        : label ? json_string(label) : "");

    return xasprintf("%s/%s", dpctl_json_str(object, "metadata.namespace"),
                     name);
}

/* Is the record under 'key' made of the object? */
static bool
makes_record(const char *manifest, const struct json *object, const char *key)
{
    const struct dpctl_kind *kind = dpctl_manifest_kind(manifest);
    const char *name = strchr(manifest, '/') + 1;
    char *made;

    switch (kind->id) {
    case DPCTL_NODE:
        made = dpctl_record_key(!strncmp(key, "NodeConfig ", 11)
                                ? "NodeConfig" : "PeerNode", name);
        break;
    case DPCTL_POD:
    case DPCTL_SERVICE:
        made = dpctl_record_key(kind->kind, name);
        break;
    case DPCTL_ENDPOINTS:
    case DPCTL_ENDPOINT_SLICE: {
        char *service = service_of(kind, object);
        made = dpctl_record_key("Service", service);
        free(service);
        break;
    }
    case DPCTL_K8S_NP:
    case DPCTL_ACNP:
    case DPCTL_ANNP:
    case DPCTL_ADMIN_NP:
    case DPCTL_BASELINE_ADMIN_NP:
    case DPCTL_CP_NP:
    case DPCTL_EGRESS:
    case DPCTL_TRAFFIC_CONTROL:
        made = dpctl_policy_record_key(kind, object);
        break;
    case DPCTL_CP_ADDRESS_GROUP:
    case DPCTL_CP_APPLIED_TO_GROUP:
        made = dpctl_record_key(kind->kind, name);
        break;
    case DPCTL_NAMESPACE:
    case DPCTL_TIER:
    case DPCTL_CLUSTER_GROUP:
    case DPCTL_GROUP:
    case DPCTL_N_KINDS:
    default:
        return false;
    }

    bool same = !strcmp(made, key);
    free(made);
    return same;
}

size_t
dpctl_plan_count_makers(const struct dpctl_input *input, const char *key)
{
    const struct shash_node *node;
    size_t n = 0;

    SHASH_FOR_EACH (node, &input->manifests) {
        n += makes_record(node->name, node->data, key);
    }
    return n;
}

bool
dpctl_plan_leave_out(struct dpctl_input *input, const char *key,
                     const char *reason)
{
    bool any = dpctl_input_leave_out(input, key, reason);
    struct shash_node *node;

    SHASH_FOR_EACH_SAFE (node, &input->manifests) {
        if (makes_record(node->name, node->data, key)) {
            char *name = xstrdup(node->name);
            struct dpctl_left_out *entry
                = dpctl_input_leave_out(input, name, reason);
            entry->here = entry->kind->id == DPCTL_POD;
            free(name);
            any = true;
        }
    }
    return any;
}

bool
dpctl_plan_is_empty(const struct dpctl_plan *plan)
{
    return (!json_array(plan->apply)->n && !json_array(plan->delete)->n
            && !json_array(plan->patch)->n);
}

void
dpctl_plan_destroy(struct dpctl_plan *plan)
{
    json_destroy(plan->apply);
    json_destroy(plan->delete);
    json_destroy(plan->patch);
    json_destroy(plan->generation);
    svec_destroy(plan->messages);
    free(plan->messages);
    svec_destroy(plan->warnings);
    free(plan->warnings);
    *plan = (struct dpctl_plan) { .apply = NULL };
}
