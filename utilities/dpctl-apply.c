/* SPDX-License-Identifier: Apache-2.0 */

/* apply, replace, delete, resync, resolve: what changes the state. */

#include <config.h>
#include "dpctl-cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-batch.h"
#include "dpctl-delta.h"
#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "dpctl-left-out.h"
#include "dpctl-ovsdb.h"
#include "dpctl-pieces.h"
#include "dpctl-rpc.h"
#include "dpctl-targets.h"
#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

/* How often a change is planned anew because the state has changed meanwhile,
 * and how long to wait before at the most, so that commands that came at the
 * same time don't meet again. */
enum { MAX_ATTEMPTS = 10, MAX_WAIT_MS = 64 };

/* How many times the daemon may refuse something that is then left out. */
enum { MAX_REFUSALS = 100 };

/* After so many attempts others have to wait. */
enum { PATIENCE = 2 };

/* Fails with 'error', if there is one; takes it. */
static void
check(char *error)
{
    if (error) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s", error);
    }
}

/* What the files hold may be nothing, but it has to be said so: an empty list,
 * or objects that are none of our business. */
void
dpctl_read_files(const struct dpctl_options *o, struct dpctl_input *input)
{
    struct dpctl_docs docs = DPCTL_DOCS_INITIALIZER;

    for (size_t i = 0; i < o->files.n; i++) {
        check(dpctl_load_path(&docs, o->files.names[i]));
    }
    check(dpctl_input_add(input, &docs,
                          o->namespace_ ? o->namespace_ : "default",
                          o->ignore_unknown));
    if (!docs.n) {
        dpctl_fail(DPCTL_EXIT_ERROR, "no objects given");
    }
    dpctl_docs_destroy(&docs);
}

static void
print_outcome(const struct dpctl_options *o, const struct dpctl_plan *plan,
              const struct json *result)
{
    for (size_t i = 0; i < plan->messages->n; i++) {
        const char *message = plan->messages->names[i];

        if (!o->only_changes || strcmp(strrchr(message, ' '), " unchanged")) {
            puts(message);
        }
    }
    if (result) {
        const char *warning = dpctl_json_str(result, "warning");

        if (warning) {
            dpctl_warn("%s", warning);
        }
        printf("generation %lld: %"PRIuSIZE" records applied, %"PRIuSIZE
               " deleted\n",
               dpctl_json_int(result, "generation", 0),
               json_array(plan->apply)->n + json_array(plan->patch)->n,
               json_array(plan->delete)->n);
    }
}

static void
put_patch(struct json *param, const struct dpctl_plan *plan)
{
    if (json_array(plan->patch)->n) {
        json_object_put(param, "patch", json_clone(plan->patch));
    }
}

/* The parameter of the call that carries the plan out. */
static struct json *
plan_to_param(enum dpctl_verb verb, const struct dpctl_plan *plan)
{
    struct json *param = json_object_create();

    if (verb == DPCTL_REPLACE) {
        json_object_put(param, "records", json_clone(plan->apply));
    } else {
        json_object_put(param, "apply", json_clone(plan->apply));
        json_object_put(param, "delete", json_clone(plan->delete));
        put_patch(param, plan);
    }
    if (plan->generation) {
        json_object_put(param, "if_generation",
                        json_clone(plan->generation));
    }
    return param;
}

/* Carries the plan out: in one call, or, where that would be too large a
 * message, in pieces of which the last call makes one transaction. */
static struct dpctl_rpc_error *
send_plan(struct dpctl_rpc *rpc, const struct dpctl_options *o,
          enum dpctl_verb verb, const struct dpctl_plan *plan,
          struct json **result)
{
    const char *method = verb == DPCTL_REPLACE ? "replace" : "transact";
    static const struct json none = { .type = JSON_ARRAY };
    struct dpctl_pieces pieces;

    dpctl_pieces_init(&pieces, plan->apply,
                      verb == DPCTL_REPLACE ? &none : plan->delete,
                      DPCTL_PIECE_LEN);
    if (dpctl_pieces_fit(&pieces)) {
        return dpctl_try_call(rpc, o, method,
                              plan_to_param(verb, plan), result);
    }

    struct json *piece;
    while ((piece = dpctl_pieces_next(&pieces)) != NULL) {
        struct dpctl_rpc_error *error = dpctl_try_call(rpc, o, "stage", piece,
                                                       result);
        if (error) {
            return error;
        }
        json_destroy(*result);
        *result = NULL;
    }
    struct json *param = json_object_create();
    json_object_put(param, "staged", json_boolean_create(true));
    put_patch(param, plan);
    if (plan->generation) {
        json_object_put(param, "if_generation",
                        json_clone(plan->generation));
    }
    return dpctl_try_call(rpc, o, method, param, result);
}

/* The daemon began anew after objects were applied? */
static bool
state_is_lost(const struct dpctl_mark *mark, const struct json *generation)
{
    /* Generation 0 is the one that no call has made. */
    return (mark->since && generation && generation->type == JSON_INTEGER
            && !generation->integer);
}

/* Sees to it that the mark tells whether there is a state. */
static void
update_mark(const struct dpctl_options *o, const struct dpctl_mark *mark,
            const struct dpctl_plan *plan, const struct json *generation)
{
    bool has_records = plan->n_records > 0;

    if (has_records != (mark->since != NULL)
        || (has_records && state_is_lost(mark, generation))) {
        char *now = xastrftime_msec("%Y-%m-%dT%H:%M:%SZ", time_wall_msec(),
                                    true);
        dpctl_ovsdb_write_mark(o->db, o->timeout_s, mark,
                               has_records ? now : NULL);
        free(now);
    }
}

static void
print_warnings(const struct dpctl_plan *plan)
{
    for (size_t i = 0; i < plan->warnings->n; i++) {
        dpctl_warn("%s", plan->warnings->names[i]);
    }
}

/* One command, over all attempts. */
struct run {
    struct dpctl_rpc *rpc;
    const struct dpctl_options *o;
    enum dpctl_verb verb;
    struct dpctl_input *input;
    bool ignore_missing;
    struct dpctl_outcome *outcome;  /* NULL: nobody asks. */
    struct dpctl_ports ports;
    struct dpctl_mark mark;
    struct shash kept;          /* Pods' records that stay as they are, though
                                 * their objects make others: why. */
    int refusals;               /* Of the daemon, each of them overcome. */
    int attempts;               /* Before this one. */
    bool again;                 /* Another one, without some objects. */
    bool warned;
};

/* Takes 'param'.  Who replaces a state that can't be restored begins anew, as
 * if nothing were there, but with nothing only if that is meant. */
static struct json *
get(void *run_, struct json *param)
{
    const struct run *run = run_;
    struct json *state;

    if (run->attempts >= PATIENCE && !run->o->dry_run) {
        json_object_put(param, "hold", json_boolean_create(true));
    }

    struct dpctl_rpc_error *error = dpctl_try_call(run->rpc, run->o, "get",
                                                   param, &state);
    if (error) {
        if (run->verb != DPCTL_REPLACE || !error->code
            || strcmp(error->code, "disk")) {
            dpctl_fail(DPCTL_EXIT_ERROR, "%s", error->message);
        } else if (dpctl_input_is_empty(run->input)) {
            dpctl_fail(DPCTL_EXIT_ERROR, "no objects given, and %s; to begin "
                       "with nothing, move what is stored away",
                       error->message);
        }
        dpctl_rpc_error_destroy(error);
        state = json_from_string("{\"generation\": 0, \"records\": []}");
    }
    return state;
}

/* Makes the plan from the objects that the change concerns. */
static enum dpctl_delta_result
plan_some(struct run *run, struct dpctl_plan *plan, char **error)
{
    struct dpctl_source source = { get, run };
    struct dpctl_env env = run->o->env;

    env.ports = &run->ports;
    return dpctl_delta_create(run->verb, run->input, &source, &env,
                              run->ignore_missing, plan, error);
}

/* Makes the plan from all there is. */
static char *
plan_once(struct run *run, struct shash *refused, struct dpctl_plan *plan)
{
    if (run->outcome) {
        run->outcome->n_full++;
    }
    struct json *state = get(run, json_object_create());
    const struct json *records = dpctl_json_member(state, "records");
    if (!records || records->type != JSON_ARRAY) {
        dpctl_fail(DPCTL_EXIT_ERROR, "the daemon's answer has no records");
    }

    struct dpctl_env env = run->o->env;
    const struct json *generation = dpctl_json_member(state, "generation");
    env.ports = &run->ports;
    env.refused = refused;
    env.kept = &run->kept;
    if (!run->warned && run->verb != DPCTL_REPLACE
        && state_is_lost(&run->mark, generation)) {
        dpctl_warn("the daemon has lost its state: it began anew after "
                   "objects were applied (at %s); apply all objects again",
                   run->mark.since);
    }
    char *error = dpctl_plan_create(run->verb, run->input, records, &env,
                                    run->ignore_missing, plan);
    if (!error) {
        plan->generation = json_nullable_clone(generation);
    }
    json_destroy(state);
    return error;
}

/* Does without a new record under 'key', if that is the one of a Pod that
 * nobody gave: its port may have gone, or be blocked.  Returns false if that
 * is no way out. */
static bool
keep_pod(struct run *run, const char *key, const char *reason)
{
    if (strncmp(key, "Pod ", 4) || shash_find(&run->kept, key)) {
        return false;
    }
    shash_add(&run->kept, key, xstrdup(reason));
    return true;
}

/* Is 'name' that of a Pod that nobody gave now? */
static bool
is_other_pod(const struct run *run, const char *name)
{
    return (!strncmp(name, "Pod.v1/", 7)
            && !shash_find(&run->input->manifests, name));
}

/* Leaves out what was given of what is 'refused', where that is asked for, and
 * does without Pods that nobody gave.  Returns false if that is nothing. */
static bool
leave_out(struct run *run, const struct shash *refused)
{
    const struct shash_node *node;
    bool any = false;

    SHASH_FOR_EACH (node, refused) {
        struct dpctl_left_out *entry
            = (run->input->keep_going
               ? dpctl_input_leave_out(run->input, node->name, node->data)
               : NULL);
        if (entry) {
            /* Other Nodes' Pods can always be resolved. */
            entry->here = entry->kind && entry->kind->id == DPCTL_POD;
            any = true;
        } else if (is_other_pod(run, node->name)) {
            char *key = dpctl_record_key("Pod", node->name + 7);

            any |= keep_pod(run, key, node->data);
            free(key);
        }
    }
    return any;
}

static char *
nothing_left(const struct dpctl_input *input)
{
    return (dpctl_input_is_empty(input) && !shash_is_empty(&input->left_out)
            ? xstrdup("none of the objects can be taken: nothing changes")
            : NULL);
}

/* Makes the plan from all there is, but for what is left out. */
static char *
plan_all(struct run *run, struct dpctl_plan *plan)
{
    struct shash refused = SHASH_INITIALIZER(&refused);
    bool goes_on = run->input->keep_going || run->input->watched;
    char *error = plan_once(run, goes_on ? &refused : NULL, plan);

    while (error && leave_out(run, &refused)) {
        free(error);
        shash_clear_free_data(&refused);
        error = nothing_left(run->input);
        error = error ? error : plan_once(run, &refused, plan);
    }
    shash_destroy_free_data(&refused);
    return error;
}

/* Is there a way out that wasn't taken, if others' Pods are what is wrong? */
static bool
can_advise(const struct run *run)
{
    return !run->input->keep_going && run->input->can_keep_going;
}

/* Adds that way out to 'error'. */
static char *
with_advice(char *error)
{
    char *advised = xasprintf("%s; with --keep-going it stays as it is, and "
                              "the rest is done", error);
    free(error);
    return advised;
}

/* Did the daemon refuse the record of a Pod that nobody gave now? */
static bool
refuses_other_pod(const struct run *run, const struct dpctl_rpc_error *error)
{
    if (!error->object || strncmp(error->object, "Pod ", 4)) {
        return false;
    }
    char *name = xasprintf("Pod.v1/%s", error->object + 4);
    bool other = is_other_pod(run, name);

    free(name);
    return other;
}

/* Are there to be no more full runs for what was given? */
static bool
is_enough(const struct run *run)
{
    return run->outcome && run->outcome->n_full >= DPCTL_BATCH_FULL_RUNS;
}

/* Does without what the daemon refused.  Returns false if that is no way
 * out, or none for now. */
static bool
do_without(struct run *run, const struct dpctl_rpc_error *error)
{
    if (!error->object) {
        return false;
    }
    if (run->input->keep_going
        && !(run->outcome
             && dpctl_plan_count_makers(run->input, error->object) > 1)
        && dpctl_plan_leave_out(run->input, error->object, error->message)) {
        return !is_enough(run);
    }
    return ((run->input->keep_going
             || (run->input->watched && refuses_other_pod(run, error)))
            && keep_pod(run, error->object, error->message));
}

/* The daemon refused the plan: is there an object to do without?  Then
 * '*again' is set. */
static char *
judge_refusal(struct run *run, const struct dpctl_rpc_error *error,
              bool *again)
{
    if (run->refusals < MAX_REFUSALS && do_without(run, error)) {
        run->refusals++;
        *again = true;
        return nothing_left(run->input);
    }
    char *message = xstrdup(error->message);

    return (can_advise(run) && refuses_other_pod(run, error)
            ? with_advice(message) : message);
}

/* Carries the plan out.  Sets '*conflict' if the state has changed
 * meanwhile. */
static char *
carry_out(struct run *run, const struct dpctl_plan *plan, bool *conflict)
{
    const struct dpctl_options *o = run->o;
    struct json *result = NULL;
    char *message = NULL;

    if (o->dry_run) {
        struct json *param = plan_to_param(run->verb, plan);
        dpctl_print_json(o, param);
        json_destroy(param);
    } else if (run->verb != DPCTL_REPLACE && dpctl_plan_is_empty(plan)) {
        print_outcome(o, plan, NULL);
    } else {
        struct dpctl_rpc_error *error = send_plan(run->rpc, o, run->verb,
                                                  plan, &result);
        *conflict = error && error->code && !strcmp(error->code, "conflict");
        if (error && !*conflict) {
            message = judge_refusal(run, error, &run->again);
        } else if (!error) {
            print_outcome(o, plan, result);
            if (run->outcome) {
                dpctl_outcome_note(run->outcome, plan);
            }
            update_mark(o, &run->mark, plan, plan->generation);
        }
        dpctl_rpc_error_destroy(error);
    }
    json_destroy(result);
    return message;
}

/* Is what is wrong with the whole nothing but Pods that nobody gave now? */
static bool
is_about_others(struct run *run)
{
    struct shash refused = SHASH_INITIALIZER(&refused);
    const struct shash_node *node;
    struct dpctl_plan plan;
    char *error = plan_once(run, &refused, &plan);
    bool others = error && !shash_is_empty(&refused);

    SHASH_FOR_EACH (node, &refused) {
        others = others && is_other_pod(run, node->name);
    }
    if (!error) {
        dpctl_plan_destroy(&plan);
    }
    free(error);
    shash_destroy_free_data(&refused);
    return others;
}

/* Makes one attempt.  Sets '*conflict' if the state has changed meanwhile. */
static char *
try_verb(struct run *run, bool *conflict)
{
    struct dpctl_plan plan;
    char *error;
    enum dpctl_delta_result result = plan_some(run, &plan, &error);

    *conflict = result == DPCTL_DELTA_STALE;
    if (result == DPCTL_DELTA_FULL
        || (error && run->input->keep_going && !run->input->watched)
        || (!*conflict && !shash_is_empty(&run->kept))) {
        /* The full run knows which object it is that is wrong, or has gone. */
        if (!error && result == DPCTL_DELTA_DONE) {
            dpctl_plan_destroy(&plan);
        }
        free(error);
        error = plan_all(run, &plan);
    }
    if (error) {
        return (can_advise(run) && is_about_others(run)
                ? with_advice(error) : error);
    }
    if (*conflict) {
        return NULL;
    }
    if (!run->warned) {
        print_warnings(&plan);
        run->warned = true;
    }
    error = carry_out(run, &plan, conflict);
    dpctl_plan_destroy(&plan);
    return error;
}

/* What is missing, though nobody gave it now. */
static void
tell_kept(const struct run *run)
{
    const struct shash_node **nodes = shash_sort(&run->kept);

    for (size_t i = 0; i < shash_count(&run->kept); i++) {
        dpctl_warn("%s (%s: no packet reaches a Pod without its port)",
                   (const char *) nodes[i]->data,
                   run->verb == DPCTL_REPLACE ? "its object stays"
                   : "it stays as it is");
    }
    free(nodes);
}

char *
dpctl_run_change(struct dpctl_rpc *rpc, const struct dpctl_options *o,
                 enum dpctl_verb verb, struct dpctl_input *input,
                 bool ignore_missing, struct dpctl_outcome *outcome)
{
    struct run run = {
        .rpc = rpc, .o = o, .verb = verb, .input = input,
        .ignore_missing = ignore_missing, .outcome = outcome,
        .kept = SHASH_INITIALIZER(&run.kept),
    };
    bool conflict;

    dpctl_ports_init(&run.ports);
    dpctl_ovsdb_read(o->db, o->bridge, o->timeout_s, &run.ports, &run.mark);
    char *error = try_verb(&run, &conflict);
    while ((conflict || run.again) && !error) {
        if (run.again) {
            run.again = false;
            error = try_verb(&run, &conflict);
        } else if (++run.attempts >= MAX_ATTEMPTS) {
            error = xasprintf("the state was changed by others all the time: "
                              "gave up after %d attempts", run.attempts);
        } else {
            xnanosleep(random_range(MIN(1 << run.attempts, MAX_WAIT_MS))
                       * 1000000ULL);
            error = try_verb(&run, &conflict);
        }
    }
    if (!error) {
        tell_kept(&run);
    }
    shash_destroy_free_data(&run.kept);
    dpctl_ports_destroy(&run.ports);
    dpctl_mark_destroy(&run.mark);
    return error;
}

/* Adds the names of those of the objects that are there. */
static void
find_present(struct dpctl_rpc *rpc, const struct dpctl_options *o,
             const struct shash *left_out, struct sset *present)
{
    struct json *names = json_array_create_empty();
    struct json *param = json_object_create();
    const struct shash_node *node;

    SHASH_FOR_EACH (node, left_out) {
        const struct dpctl_left_out *entry = node->data;
        if (entry->named) {
            json_array_add(names, json_string_create_nocopy(
                               dpctl_manifest_kind(node->name)
                               ? dpctl_record_key("Manifest", node->name)
                               : xstrdup(node->name)));
        }
    }
    json_object_put(param, "names", names);
    json_object_put(param, "brief", json_boolean_create(true));

    struct json *reply = dpctl_call(rpc, o, "get", param);
    const struct json_array *records = dpctl_json_array(reply, "records");
    for (size_t i = 0; i < records->n; i++) {
        char *key = dpctl_record_key_of(records->elems[i]);
        const char *manifest = dpctl_manifest_of_key(key);
        sset_add(present, manifest ? manifest : key);
        free(key);
    }
    json_destroy(reply);
}

size_t
dpctl_tell_left_out(struct dpctl_rpc *rpc, const struct dpctl_options *o,
                    const struct shash *left_out)
{
    struct sset present = SSET_INITIALIZER(&present);
    const struct shash_node **nodes = shash_sort(left_out);
    size_t n_opening = 0;

    if (!shash_is_empty(left_out)) {
        find_present(rpc, o, left_out, &present);
    }
    for (size_t i = 0; i < shash_count(left_out); i++) {
        const struct dpctl_left_out *entry = nodes[i]->data;
        bool opens;
        const char *effect = dpctl_left_out_effect(
            entry, nodes[i]->name, sset_contains(&present, nodes[i]->name),
            &opens);

        n_opening += opens;
        dpctl_warn("left out: %s (%s)", entry->reason, effect);
    }
    free(nodes);
    sset_destroy(&present);
    return n_opening;
}

static void
run_verb(const struct dpctl_options *o, enum dpctl_verb verb,
         struct dpctl_input *input)
{
    struct dpctl_rpc *rpc = dpctl_connect(o);
    char *error = nothing_left(input);

    error = error ? error : dpctl_run_change(rpc, o, verb, input,
                                             o->ignore_missing, NULL);
    size_t n_left_out = shash_count(&input->left_out);
    size_t n_opening = dpctl_tell_left_out(rpc, o, &input->left_out);
    check(error);
    dpctl_rpc_close(rpc);
    if (n_left_out) {
        size_t n = (shash_count(&input->manifests)
                    + shash_count(&input->records) + n_left_out);
        char *opening = (n_opening
                         ? xasprintf(", %"PRIuSIZE" of which may leave open "
                                     "what they deny", n_opening)
                         : xstrdup(""));
        dpctl_fail(DPCTL_EXIT_PARTLY, "%"PRIuSIZE" of %"PRIuSIZE" objects "
                   "left out%s", n_left_out, n, opening);
    }
}

/* What isn't among the objects goes: of one that is left out it must be known
 * which one it is. */
static void
check_replaceable(enum dpctl_verb verb, const struct dpctl_input *input)
{
    const struct dpctl_left_out *nameless
        = dpctl_left_out_nameless(&input->left_out);

    if (nameless && verb == DPCTL_REPLACE) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s; replace can't leave out what has "
                   "no name", nameless->reason);
    }
}

static void
run_files(const struct dpctl_command *c, enum dpctl_verb verb)
{
    struct dpctl_input input;

    if (!c->options->files.n) {
        dpctl_fail(DPCTL_EXIT_USAGE, "which files?  Name them with -f");
    }
    dpctl_input_init(&input);
    input.for_delete = verb == DPCTL_DELETE;
    input.keep_going = c->options->keep_going;
    input.can_keep_going = verb != DPCTL_DELETE;
    dpctl_read_files(c->options, &input);
    check_replaceable(verb, &input);
    if (input.n_ignored_policies && verb != DPCTL_DELETE) {
        dpctl_warn("%"PRIuSIZE" policies of kinds that aren't known are left "
                   "out: what they deny isn't denied here",
                   input.n_ignored_policies);
    }

    /* "Nothing" can be all that there is to be, but not by mistake. */
    bool nothing = (dpctl_input_is_empty(&input)
                    && shash_is_empty(&input.left_out));
    if (nothing && (verb != DPCTL_REPLACE || input.n_ignored)) {
        puts("no objects: nothing changes");
    } else {
        if (nothing) {
            dpctl_warn("no objects: nothing is in force from now on");
        }
        run_verb(c->options, verb, &input);
    }
    dpctl_input_destroy(&input);
}

void
dpctl_cmd_apply(const struct dpctl_command *c)
{
    if (c->options->stream) {
        if (c->options->keep_going) {
            dpctl_fail(DPCTL_EXIT_USAGE, "apply: --stream keeps going "
                       "without --keep-going");
        }
        dpctl_run_stream(c->options);
        return;
    }
    run_files(c, DPCTL_APPLY);
}

void
dpctl_cmd_replace(const struct dpctl_command *c)
{
    run_files(c, DPCTL_REPLACE);
}

/* Nothing new: what is there is resolved anew. */
void
dpctl_cmd_resync(const struct dpctl_command *c)
{
    struct dpctl_input input;

    dpctl_input_init(&input);
    input.keep_going = c->options->keep_going;
    input.can_keep_going = true;
    run_verb(c->options, DPCTL_APPLY, &input);
    dpctl_input_destroy(&input);
}

/* delete KIND NAME. */

/* Is 'type', of 'len' bytes, what policies of kind 'k' have before their
 * names? */
static bool
is_policy_type(const struct dpctl_kind *k, const char *type, size_t len)
{
    const char *own = dpctl_kind_policy_type(k);

    return own && strlen(own) == len && !strncmp(own, type, len);
}

/* The name of the Manifest of kind 'k' that the user may mean by 'name', which
 * has its namespace, and a policy its type, as "get -o name" prints them, or
 * hasn't.  NULL if none. */
static char *
manifest_called(const struct dpctl_kind *k, const char *namespace_,
                const char *name)
{
    const char *colon = strchr(name, ':');

    if (colon && !is_policy_type(k, name, colon - name)) {
        return NULL;
    }
    name = colon ? colon + 1 : name;

    const char *slash = strchr(name, '/');
    if (!slash || !k->namespaced) {
        return slash ? NULL : dpctl_manifest_name(k, namespace_, name);
    }
    char *its_namespace = xmemdup0(name, slash - name);
    char *manifest = dpctl_manifest_name(k, its_namespace, slash + 1);
    free(its_namespace);
    return manifest;
}

/* Puts the manifests that the user may mean into 'input'; returns how
 * many. */
static size_t
find_manifests(const struct json_array *records, const char *kind,
               const char *namespace_, const char *name,
               struct dpctl_input *input)
{
    size_t n = 0;

    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        const struct dpctl_kind *k = &dpctl_kinds[i];
        char *manifest = (dpctl_kind_is_called(k, kind)
                          ? manifest_called(k, namespace_, name) : NULL);

        for (size_t j = 0; manifest && j < records->n; j++) {
            const struct json *record = records->elems[j];
            const char *record_kind = dpctl_json_str(record, "kind");
            const char *record_name = dpctl_json_str(record, "name");
            if (record_kind && record_name && !strcmp(record_kind, "Manifest")
                && !strcmp(record_name, manifest)) {
                json_destroy(shash_replace(
                    &input->manifests, manifest,
                    json_clone(dpctl_json_member(record, "object"))));
                n++;
            }
        }
        free(manifest);
    }
    return n;
}

/* The kind of record that the user may mean by 'kind'; NULL if none. */
static const char *
record_kind_of(const char *kind)
{
    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        if (dpctl_kind_is_called(&dpctl_kinds[i], kind)) {
            kind = dpctl_kinds[i].kind;
            break;
        }
    }
    return dpctl_record_kind(kind);
}

/* The same for a record given as such. */
static size_t
find_record(const struct json_array *records, const char *kind,
            const char *namespace_, const char *name,
            struct dpctl_input *input)
{
    kind = record_kind_of(kind);
    if (!kind) {
        return 0;
    }

    char *long_name = xasprintf("%s/%s", namespace_, name);
    size_t n = 0;
    for (size_t i = 0; i < records->n && !n; i++) {
        const struct json *record = records->elems[i];
        const char *record_kind = dpctl_json_str(record, "kind");
        const char *record_name = dpctl_json_str(record, "name");
        if (record_kind && record_name && !strcmp(record_kind, kind)
            && (!strcmp(record_name, name)
                || !strcmp(record_name, long_name))) {
            char *key = dpctl_record_key_of(record);

            json_destroy(shash_replace(&input->records, key,
                                       json_clone(record)));
            free(key);
            n++;
        }
    }
    free(long_name);
    return n;
}

/* The names of the records that the user may mean. */
static struct json *
possible_names(const char *kind, const char *namespace_, const char *name)
{
    struct json *names = json_array_create_empty();

    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        const struct dpctl_kind *k = &dpctl_kinds[i];
        char *manifest = (dpctl_kind_is_called(k, kind)
                          ? manifest_called(k, namespace_, name) : NULL);
        if (manifest) {
            json_array_add(names, json_string_create_nocopy(
                               dpctl_record_key("Manifest", manifest)));
        }
        free(manifest);
    }
    const char *record_kind = record_kind_of(kind);
    if (record_kind) {
        json_array_add(names, json_string_create_nocopy(
                           dpctl_record_key(record_kind, name)));
        json_array_add(names, json_string_create_nocopy(
                           xasprintf("%s %s/%s", record_kind, namespace_,
                                     name)));
    }
    return names;
}

static void
find_named(const struct dpctl_options *o, const char *kind, const char *name,
           struct dpctl_input *input)
{
    const char *namespace_ = o->namespace_ ? o->namespace_ : "default";
    struct json *param = json_object_create();
    json_object_put(param, "names", possible_names(kind, namespace_, name));
    struct json *state = dpctl_call_once(o, "get", param);
    const struct json_array *records = dpctl_json_array(state, "records");
    size_t n = find_manifests(records, kind, namespace_, name, input);

    if (n > 1) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s %s: there are several of them: say "
                   "which kind, as in networkpolicy.networking.k8s.io or "
                   "networkpolicy.crd.antrea.io", kind, name);
    }
    if (!n && !find_record(records, kind, namespace_, name, input)
        && !o->ignore_missing) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s %s: there is none", kind, name);
    }
    json_destroy(state);
}

static bool
is_known_kind(const char *word)
{
    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        if (dpctl_kind_is_called(&dpctl_kinds[i], word)) {
            return true;
        }
    }
    return dpctl_record_kind(word) != NULL;
}

/* Fails if the words that name what is to be deleted are wrong. */
static void
check_targets(const struct dpctl_targets *t, char *error)
{
    if (error) {
        dpctl_fail(DPCTL_EXIT_USAGE, "%s", error);
    }
    for (size_t i = 0; i < t->n; i++) {
        if (!is_known_kind(t->targets[i].kind)) {
            dpctl_fail_kind(t->targets[i].kind);
        }
    }
    if (!t->n || !t->targets[0].names.n) {
        dpctl_fail(DPCTL_EXIT_USAGE, "delete: give -f FILE, or KIND NAME");
    }
}

void
dpctl_cmd_delete(const struct dpctl_command *c)
{
    struct dpctl_targets targets;
    struct dpctl_input input;

    if (c->options->files.n) {
        if (c->argc) {
            dpctl_fail(DPCTL_EXIT_USAGE, "delete: -f and names exclude each "
                       "other");
        }
        run_files(c, DPCTL_DELETE);
        return;
    }

    char *error = dpctl_targets_parse(&targets, c->argc, c->argv);
    check_targets(&targets, error);
    dpctl_input_init(&input);
    for (size_t i = 0; i < targets.n; i++) {
        const struct dpctl_target *t = &targets.targets[i];

        for (size_t j = 0; j < t->names.n; j++) {
            find_named(c->options, t->kind, t->names.names[j], &input);
        }
    }
    if (!dpctl_input_is_empty(&input)) {
        run_verb(c->options, DPCTL_DELETE, &input);
    }
    dpctl_input_destroy(&input);
    dpctl_targets_destroy(&targets);
}

/* Resolves files without a daemon, and prints what would be applied. */
void
dpctl_cmd_resolve(const struct dpctl_command *c)
{
    struct dpctl_env env = c->options->env;
    struct json *state = json_array_create_empty();
    struct dpctl_input input;
    struct dpctl_ports ports;
    struct dpctl_mark mark;
    struct dpctl_plan plan;

    if (!c->options->files.n) {
        dpctl_fail(DPCTL_EXIT_USAGE, "which files?  Name them with -f");
    }
    dpctl_input_init(&input);
    dpctl_read_files(c->options, &input);
    dpctl_ports_init(&ports);
    dpctl_ovsdb_read(c->options->db, c->options->bridge,
                     c->options->timeout_s, &ports, &mark);
    env.ports = &ports;
    /* Without OVSDB nobody else says it, and nothing comes of it. */
    ports.annotated |= !ports.available;
    check(dpctl_plan_create(DPCTL_APPLY, &input, state, &env, false, &plan));
    print_warnings(&plan);

    struct json *records = json_array_create_empty();
    for (size_t i = 0; i < json_array(plan.apply)->n; i++) {
        const struct json *record = json_array(plan.apply)->elems[i];
        if (strcmp(dpctl_json_str(record, "kind"), "Manifest")) {
            json_array_add(records, json_clone(record));
        }
    }
    dpctl_print_json(c->options, records);
    json_destroy(records);
    json_destroy(state);
    dpctl_plan_destroy(&plan);
    dpctl_ports_destroy(&ports);
    dpctl_mark_destroy(&mark);
    dpctl_input_destroy(&input);
}
