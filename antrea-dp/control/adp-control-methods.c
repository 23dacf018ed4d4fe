/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-methods.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-control-bridge.h"
#include "adp-control-catch.h"
#include "adp-control-get.h"
#include "adp-control-hold.h"
#include "adp-control-reading.h"
#include "adp-control-stage.h"
#include "adp-control-stats.h"
#include "adp-control-transaction.h"
#include "adp-fqdns.h"
#include "adp-multicast.h"
#include "adp-shadow.h"
#include "adp-show-log.h"
#include "adp-show-meaning.h"
#include "adp-show.h"
#include "adp-state.h"
#include "model-index.h"
#include "model-reader.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/poll-loop.h"
#include "pipeline-builtin.h"
#include "pipeline.h"
#include "timeval.h"
#include "util.h"

/* Strings in a call of "explain". */
#define MAX_EXPLAINED 1000

/* Calls and their parameters. */

struct adp_control_call {
    struct adp_control_session *session;
    struct adp_control_transaction *transaction; /* Its own, or NULL. */
    struct adp_reader reader;   /* Of the parameters, with the first error. */
    struct adp_object params;
    uint64_t cost;              /* Of the parameters. */
};

/* An error of parameter 'field' or, if that is NULL, of the whole. */
static void OVS_PRINTF_FORMAT(4, 5)
call_error(struct adp_control_call *call, const char *code, const char *field,
           const char *format, ...)
{
    if (!call->reader.error) {
        va_list args;

        va_start(args, format);
        char *text = xvasprintf(format, args);
        va_end(args);
        call->reader.error = adp_error_create(code, NULL,
                                              nullable_xstrdup(field),
                                              "%s", text);
        free(text);
    }
}

static bool
call_has(const struct adp_control_call *call, const char *name)
{
    return shash_find(call->params.members, name) != NULL;
}

/* Returns parameter 'name', which must be of 'type', or NULL if it isn't
 * there. */
static const struct json *
call_param(struct adp_control_call *call, const char *name,
           enum json_type type)
{
    return adp_object_typed(&call->params, name, type, ADP_OPTIONAL);
}

static const struct json *
call_required(struct adp_control_call *call, const char *name,
              enum json_type type)
{
    return adp_object_typed(&call->params, name, type, ADP_REQUIRED);
}

/* Of any length, unlike a record's strings. */
static const char *
call_string(struct adp_control_call *call, const char *name)
{
    const struct json *json = call_param(call, name, JSON_STRING);

    return json ? json_string(json) : NULL;
}

static bool
call_bool(struct adp_control_call *call, const char *name)
{
    return adp_object_bool(&call->params, name, false);
}

static struct adp_bridge *
call_bridge(struct adp_control_call *call, bool need_state)
{
    const char *name = call_string(call, "bridge");

    return (call->reader.error
            ? NULL
            : adp_control_find_bridge(name, need_state, &call->reader.error));
}

/* The same for what follows from a state's records, if these are known. */
static struct adp_bridge *
call_known_bridge(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_bridge(call, true);

    if (bridge) {
        call->reader.error = adp_state_refuses_get(adp_bridge_state(bridge));
    }
    return bridge;
}

/* Who holds a state. */
static struct adp_control_hold hold;

void
adp_control_methods_wait(void)
{
    adp_control_hold_wait(&hold);
    adp_control_readings_wait();
}

/* Clients, and what they watch. */

/* What a client was last told about a bridge. */
struct told_generation {
    bool exists;
    uint64_t generation;
};

struct adp_control_session {
    struct shash watches;       /* Bridge name to the latter. */
    struct adp_control_stage stage;
    size_t n_transactions;              /* That the client waits for. */

    struct adp_control_reading *reading;    /* That it waits for, or NULL. */
    bool reading_holds;                     /* With it a hold began. */
    long long int logs_deadline;      /* Of "logs" that waits; 0: none does. */
    struct adp_control_catch catch;     /* A packet that it waits for. */
};

struct adp_control_session *
adp_control_session_create(struct adp_control_stage_pool *pool)
{
    struct adp_control_session *session = xzalloc(sizeof *session);

    shash_init(&session->watches);
    adp_control_stage_init(&session->stage, pool);
    return session;
}

void
adp_control_session_destroy(struct adp_control_session *session)
{
    if (session) {
        adp_control_hold_end(&hold, session, time_msec());
        shash_destroy_free_data(&session->watches);
        adp_control_reading_leave(session->reading);
        adp_control_catch_end(&session->catch);
        adp_control_stage_clear(&session->stage);
        free(session);
    }
}

void
adp_control_session_forget(struct adp_control_session *session,
                           struct adp_control_transaction *t)
{
    if (t) {
        session->n_transactions--;
        adp_control_transaction_destroy(t);
    }
}

uint64_t
adp_control_session_staged_cost(const struct adp_control_session *session)
{
    return session->stage.cost;
}

static struct told_generation
watch_now(const char *bridge_name)
{
    const struct adp_bridge *bridge = adp_bridge_lookup(bridge_name);
    const struct adp_state *state = bridge ? adp_bridge_state(bridge) : NULL;

    return (struct told_generation) {
        .exists = state != NULL,
        .generation = state ? adp_state_generation(state) : 0,
    };
}

struct json *
adp_control_session_run(struct adp_control_session *session)
{
    struct json *updates = NULL;
    const struct shash_node *node;

    adp_control_catch_run(&session->catch);
    adp_control_hold_read(&hold, session, time_msec());
    SHASH_FOR_EACH (node, &session->watches) {
        struct told_generation now = watch_now(node->name);
        struct told_generation *told = node->data;

        if (now.exists != told->exists
            || now.generation != told->generation) {
            struct json *update = json_object_create();

            *told = now;
            json_object_put_string(update, "bridge", node->name);
            json_object_put(update, "generation",
                            now.exists ? json_integer_create(now.generation)
                            : json_null_create());
            updates = updates ? updates : json_array_create_empty();
            json_array_add(updates, update);
        }
    }
    return updates;
}

/* Methods. */

static void
stop_reading(struct adp_control_session *session)
{
    adp_control_reading_leave(session->reading);
    session->reading = NULL;
}

/* NULL as long as it is under way, or if there is an error. */
static struct json *
reading_result(struct adp_control_call *call)
{
    struct json *result = NULL;

    if (adp_control_reading_run(call->session->reading, &result,
                                &call->reader.error)) {
        stop_reading(call->session);
        if (call->session->reading_holds) {
            adp_control_hold_answer(&hold, call->session, time_msec());
        }
    }
    return result;
}

static struct json *
read_result(struct adp_control_call *call, struct adp_control_reading *reading,
            bool holds)
{
    call->session->reading = reading;
    call->session->reading_holds = holds;
    return reading_result(call);
}

static struct json *
generation_result(const struct adp_state *state)
{
    struct json *result = json_object_create();

    json_object_put(result, "generation",
                    json_integer_create(adp_state_generation(state)));
    return result;
}

/* Has a transaction begin, of the parameters that are named here (NULL: the
 * method doesn't have it, or it isn't given). */
static struct json *
transact(struct adp_control_call *call, bool clear,
         const struct json *apply, const struct json *delete,
         const struct json *patch)
{
    struct adp_bridge *bridge = call_bridge(call, true);
    const struct json *if_generation = call_param(call, "if_generation",
                                                  JSON_INTEGER);
    uint64_t generation = if_generation ? json_integer(if_generation) : 0;
    bool ignore_missing = call_bool(call, "ignore_missing");
    struct adp_control_session *session = call->session;

    if (call->reader.error) {
        return NULL;
    }

    struct adp_state_change change = {
        .clear = clear,
        .apply = apply,
        .delete = delete,
        .patch = patch,
        .ignore_missing = ignore_missing,
        .if_generation = if_generation ? &generation : NULL,
    };
    adp_control_hold_end(&hold, session, time_msec());
    call->transaction
        = adp_control_transaction_begin(adp_bridge_state(bridge), &change);
    session->n_transactions++;
    return NULL;
}

/* The same, with what is on the client's stage in front, if the parameter
 * "staged" says so.  The stage is empty afterwards, whatever comes of it. */
static struct json *
call_transact(struct adp_control_call *call, bool clear,
              const struct json *apply, const struct json *delete,
              const struct json *patch)
{
    if (!call_bool(call, "staged") || call->reader.error) {
        return transact(call, clear, apply, delete, patch);
    }

    struct json *all_apply, *all_delete;
    adp_control_stage_take(&call->session->stage, apply, delete, &all_apply,
                           &all_delete);
    if (clear && all_delete) {
        call_error(call, "invalid", "staged", "a replacement deletes nothing "
                   "by its name");
    }
    struct json *result = transact(call, clear, all_apply, all_delete, patch);
    json_destroy(all_apply);
    json_destroy(all_delete);
    return result;
}

static struct json *
method_stage(struct adp_control_call *call)
{
    const struct json *apply = call_param(call, "apply", JSON_ARRAY);
    const struct json *delete = call_param(call, "delete", JSON_ARRAY);
    struct adp_control_stage *stage = &call->session->stage;

    call_bridge(call, true);
    if (call->reader.error) {
        return NULL;
    }
    struct json *compact = apply ? adp_model_compact(apply) : NULL;
    bool added = adp_control_stage_add(stage, compact, delete, call->cost);
    json_destroy(compact);
    if (!added) {
        adp_control_stage_clear(stage);
        call_error(call, "limit", NULL, "staged transactions of all clients "
                   "take more than %"PRIu64" bytes of memory",
                   stage->pool->max_cost);
        return NULL;
    }

    struct json *result = json_object_create();
    json_object_put(result, "staged",
                    json_integer_create(adp_control_stage_n(stage)));
    return result;
}

static struct json *
method_apply(struct adp_control_call *call)
{
    return call_transact(call, false,
                         call_required(call, "records", JSON_ARRAY), NULL,
                         NULL);
}

static struct json *
method_delete(struct adp_control_call *call)
{
    return call_transact(call, false, NULL,
                         call_required(call, "records", JSON_ARRAY), NULL);
}

static struct json *
method_transact(struct adp_control_call *call)
{
    const struct json *apply = call_param(call, "apply", JSON_ARRAY);
    const struct json *delete = call_param(call, "delete", JSON_ARRAY);
    const struct json *patch = call_param(call, "patch", JSON_ARRAY);

    return call_transact(call, false, apply, delete, patch);
}

static struct json *
method_replace(struct adp_control_call *call)
{
    bool staged = call_bool(call, "staged");
    const struct json *records
        = (staged ? call_param(call, "records", JSON_ARRAY)
           : call_required(call, "records", JSON_ARRAY));

    return call_transact(call, true, records, NULL, NULL);
}

/* May the records be told?  If the client wants to hold the state, that
 * begins.  False if there is an error, or if the client has to wait for that:
 * for who holds it, and for changes that came before. */
static bool
begin_get(struct adp_control_call *call, const struct adp_bridge *bridge)
{
    bool holds = call_bool(call, "hold");

    if (call->reader.error) {
        return false;
    }

    const struct adp_state *state = adp_bridge_state(bridge);
    size_t n = adp_model_count(adp_state_model(state), NULL);

    call->reader.error = adp_state_refuses_get(state);
    return (!call->reader.error
            && (!holds
                || (adp_control_hold_take(&hold, call->session, state, n,
                                          time_msec())
                    && !adp_state_has_calls(state))));
}

static struct json *
get_all(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_bridge(call, true);
    const char *kind = call_string(call, "kind");
    const char *name = call_string(call, "name");

    if (kind && !adp_model_is_kind(kind)) {
        call_error(call, "invalid", "kind", "\"%s\" is not a known kind",
                   kind);
    }
    return (begin_get(call, bridge)
            ? read_result(call, adp_control_get_all(bridge, kind, name),
                          call_bool(call, "hold"))
            : NULL);
}

static struct json *
get_some(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_bridge(call, true);
    struct adp_query query = {
        .kind = call_string(call, "kind"),
        .names = call_param(call, "names", JSON_ARRAY),
        .keys = call_param(call, "keys", JSON_ARRAY),
        .brief = call_bool(call, "brief"),
    };

    if (call_has(call, "name")) {
        call_error(call, "invalid", "name", "must not be given beside "
                   "\"names\" and \"keys\"");
    }
    return (begin_get(call, bridge)
            ? read_result(call, adp_control_get_some(bridge, &query),
                          call_bool(call, "hold"))
            : NULL);
}

static struct json *
method_get(struct adp_control_call *call)
{
    if (call_has(call, "names") || call_has(call, "keys")) {
        return get_some(call);
    } else if (call_has(call, "brief")) {
        call_error(call, "invalid", "brief", "goes with \"names\" or "
                   "\"keys\"");
        return NULL;
    }
    return get_all(call);
}

static struct json *
method_watch(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_bridge(call, true);

    if (call->reader.error) {
        return NULL;
    }

    const char *name = adp_bridge_name(bridge);
    struct told_generation *watch
        = shash_find_data(&call->session->watches, name);
    if (!watch) {
        watch = xmalloc(sizeof *watch);
        shash_add(&call->session->watches, name, watch);
    }
    *watch = watch_now(name);
    return generation_result(adp_bridge_state(bridge));
}

static struct json *
method_stats(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_bridge(call, false);
    bool brief = call_bool(call, "brief");

    if (call->reader.error) {
        return NULL;
    }
    return read_result(call, adp_control_stats_create(bridge, !brief), false);
}

/* Nothing is there yet: has the call waited long enough? */
static bool
logs_time_is_up(struct adp_control_session *session, unsigned int wait_ms)
{
    long long int now = time_msec();

    if (!session->logs_deadline) {
        session->logs_deadline = now + wait_ms;
    }
    if (now < session->logs_deadline) {
        poll_timer_wait_until(session->logs_deadline);
        return false;
    }
    return true;
}

static struct json *
method_logs(struct adp_control_call *call)
{
    long long int after = adp_object_integer(&call->params, "after", 0,
                                             INT64_MAX, ADP_OPTIONAL, 0);
    long long int max = adp_object_integer(&call->params, "max", 1, 1000,
                                           ADP_OPTIONAL, 100);
    long long int wait_ms = adp_object_integer(&call->params, "wait_ms", 0,
                                               30000, ADP_OPTIONAL, 0);
    const struct adp_bridge *bridge = (call_has(call, "bridge")
                                       ? call_bridge(call, false) : NULL);

    if (call->reader.error) {
        return NULL;
    }

    struct adp_control_session *session = call->session;
    struct json *result = adp_show_log_lines(
        bridge ? adp_bridge_name(bridge) : NULL, after, max);
    if (json_integer(shash_find_data(json_object(result), "last")) == after
        && !logs_time_is_up(session, wait_ms)) {
        json_destroy(result);
        return NULL;
    }
    session->logs_deadline = 0;
    return result;
}

static struct json *
method_l7_rules(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_known_bridge(call);

    if (call->reader.error) {
        return NULL;
    }

    struct json *result = generation_result(adp_bridge_state(bridge));
    adp_show_l7_rules(bridge, result);
    return result;
}

static struct json *
method_trace(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_bridge(call, false);
    const struct json *in_port = call_required(call, "in_port", JSON_STRING);
    const char *flow = call_string(call, "flow");
    const char *packet = call_string(call, "packet");
    struct json *result = NULL;

    if (!flow == !packet) {
        call_error(call, "invalid", flow ? "packet" : "flow",
                   flow ? "must not be given beside \"flow\""
                   : "is missing, as is \"packet\"");
    }
    if (call->reader.error) {
        return NULL;
    }

    char *reason = adp_show_packet(bridge, json_string(in_port), flow, packet,
                                    &result);
    if (reason) {
        call_error(call, "invalid", NULL, "%s", reason);
        free(reason);
        return NULL;
    }
    return result;
}

static struct json *
method_catch(struct adp_control_call *call)
{
    const char *in_port = call_string(call, "in_port");
    const char *flow = call_string(call, "flow");
    long long int wait_ms = adp_object_integer(&call->params, "wait_ms", 0,
                                               30000, ADP_OPTIONAL, 0);
    struct adp_bridge *bridge = call_bridge(call, false);

    struct adp_control_catch *catch = &call->session->catch;

    if (!call->reader.error) {
        const char *code;
        char *reason = adp_control_catch_begin(catch, bridge, in_port, flow,
                                               &code);

        if (reason) {
            call_error(call, code, NULL, "%s", reason);
            free(reason);
        }
    }
    if (call->reader.error) {
        adp_control_catch_end(catch);
        return NULL;
    }
    return adp_control_catch_result(catch, wait_ms);
}

/* What each of the strings 'what' means. */
static struct json *
explain_all(struct adp_control_call *call, struct adp_bridge *bridge,
            const struct json_array *what)
{
    struct json *answers = json_array_create_empty();

    if (what->n > MAX_EXPLAINED) {
        call_error(call, "limit", "what", "must hold at most %d strings",
                   MAX_EXPLAINED);
    }
    for (size_t i = 0; i < what->n && !call->reader.error; i++) {
        char *field = xasprintf("what[%"PRIuSIZE"]", i);
        struct json *answer;
        char *reason = NULL;

        if (what->elems[i]->type != JSON_STRING) {
            call_error(call, "invalid", field, "must be a string");
        } else {
            reason = adp_show_explain(bridge, json_string(what->elems[i]),
                                      &answer);
            if (reason) {
                call_error(call, "invalid", field, "%s", reason);
            } else {
                json_array_add(answers, answer);
            }
        }
        free(reason);
        free(field);
    }
    return answers;
}

static struct json *
method_explain(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_bridge(call, false);
    const struct json *what = call_param(call, "what", JSON_ARRAY);

    if (call->reader.error) {
        return NULL;
    }

    const struct adp_pipeline *pipeline = adp_bridge_pipeline(bridge);
    struct json *result = what ? json_object_create()
                          : adp_show_vocabulary(bridge);
    if (!result) {
        call_error(call, "bridge", "bridge", "bridge \"%s\" has no built-in "
                   "pipeline", adp_bridge_name(bridge));
        return NULL;
    }
    json_object_put_string(result, "pipeline",
                           pipeline ? pipeline->name : "none");
    if (what) {
        json_object_put(result, "explained",
                        explain_all(call, bridge, json_array(what)));
    }
    if (call->reader.error) {
        json_destroy(result);
        return NULL;
    }
    return result;
}

static struct json *
method_program(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_bridge(call, false);

    if (call->reader.error) {
        return NULL;
    }

    struct ds s = DS_EMPTY_INITIALIZER;
    struct json *result = json_object_create();
    adp_show_program(bridge, &s);
    json_object_put(result, "text",
                    json_string_create_nocopy(ds_steal_cstr(&s)));
    return result;
}

static struct json *
method_fqdns(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_known_bridge(call);

    if (call->reader.error) {
        return NULL;
    }

    struct json *result = json_object_create();
    json_object_put(result, "names", adp_fqdns_get(adp_bridge_fqdns(bridge)));
    return result;
}

static struct json *
method_multicast_groups(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_known_bridge(call);

    if (call->reader.error) {
        return NULL;
    }

    struct json *result = json_object_create();
    json_object_put(result, "groups",
                    adp_multicast_get(adp_bridge_multicast(bridge),
                                      adp_state_model(
                                          adp_bridge_state(bridge))));
    return result;
}

static struct json *
method_shadow(struct adp_control_call *call)
{
    struct adp_bridge *bridge = call_bridge(call, false);

    if (call->reader.error) {
        return NULL;
    }

    struct json *result = json_object_create();
    json_object_put(result, "differences", adp_shadow_differences(bridge));
    return result;
}

static struct json *
method_version(struct adp_control_call *call OVS_UNUSED)
{
    struct json *result = json_object_create();
    struct json *pipelines = json_array_create_empty();
    char *list = xstrdup(adp_pipeline_names());
    char *save_ptr = NULL;
    for (char *name = strtok_r(list, ", ", &save_ptr); name;
         name = strtok_r(NULL, ", ", &save_ptr)) {
        json_array_add(pipelines, json_string_create(name));
    }
    free(list);

    json_object_put_string(result, "version", ADP_VERSION);
    json_object_put_string(result, "ovs", VERSION);
    json_object_put(result, "pipeline", pipelines);
    return result;
}

/* Dispatch. */

#define MAX_PARAMS 7

static const struct method {
    const char *name;
    const char *params[MAX_PARAMS]; /* All that it knows. */
    struct json *(*cb)(struct adp_control_call *);
    bool waits;                 /* For a transaction that is under way. */
    bool changes;               /* It is one. */
} methods[] = {
    { "apply", { "bridge", "records", "if_generation" },
      method_apply, false, true },
    { "delete", { "bridge", "records", "if_generation", "ignore_missing" },
      method_delete, false, true },
    { "stage", { "bridge", "apply", "delete" }, method_stage, false, false },
    { "transact", { "bridge", "apply", "delete", "patch", "if_generation",
                    "ignore_missing", "staged" },
      method_transact, false, true },
    { "replace", { "bridge", "records", "if_generation", "staged" },
      method_replace, false, true },
    { "get", { "bridge", "kind", "name", "names", "keys", "brief", "hold" },
      method_get, true, false },
    { "watch", { "bridge" }, method_watch, false, false },
    { "stats", { "bridge", "brief" }, method_stats, false, false },
    { "l7_rules", { "bridge" }, method_l7_rules, true, false },
    { "logs", { "bridge", "after", "max", "wait_ms" },
      method_logs, false, false },
    { "trace", { "bridge", "in_port", "flow", "packet" },
      method_trace, false, false },
    { "catch", { "bridge", "in_port", "flow", "wait_ms" },
      method_catch, false, false },
    { "explain", { "bridge", "what" }, method_explain, false, false },
    { "program", { "bridge" }, method_program, false, false },
    { "fqdns", { "bridge" }, method_fqdns, false, false },
    { "multicast_groups", { "bridge" },
      method_multicast_groups, true, false },
    { "shadow", { "bridge" }, method_shadow, false, false },
    { "version", { NULL }, method_version, false, false },
};

static const struct method *
find_method(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
        if (!strcmp(methods[i].name, name)) {
            return &methods[i];
        }
    }
    return NULL;
}

static bool
method_has_param(const struct method *method, const char *name)
{
    for (size_t i = 0; i < MAX_PARAMS && method->params[i]; i++) {
        if (!strcmp(method->params[i], name)) {
            return true;
        }
    }
    return false;
}

static void
check_params(struct adp_control_call *call, const struct method *method)
{
    const struct shash_node **nodes = shash_sort(call->params.members);
    size_t n = shash_count(call->params.members);

    for (size_t i = 0; i < n; i++) {
        if (!method_has_param(method, nodes[i]->name)) {
            call_error(call, "invalid", nodes[i]->name,
                       "method \"%s\" has no such parameter", method->name);
        }
    }
    free(nodes);
}

/* Must the call wait?  Changes wait for who holds the state of their bridge;
 * they don't wait for each other, as the state has them wait for their turn.
 * Others wait for the client's changes before them, and those about records
 * while the state is busy.  What is wrong with the bridge's name, the method
 * will say. */
static bool
must_wait(const struct adp_control_call *call, const struct method *method)
{
    const struct json *name = shash_find_data(call->params.members, "bridge");
    const struct adp_bridge *bridge
        = (!name ? adp_bridge_only()
           : name->type == JSON_STRING ? adp_bridge_lookup(json_string(name))
           : NULL);
    const struct adp_state *state = bridge ? adp_bridge_state(bridge) : NULL;

    return (method->changes
            ? state && adp_control_hold_stops(&hold, call->session, state,
                                              time_msec())
            : call->session->n_transactions
              || (state && method->waits && adp_state_is_busy(state)));
}

/* Was the call to take what is staged? */
static bool
wants_stage(const char *method_name, const struct json *params)
{
    const struct method *method = find_method(method_name);
    bool wants = false;

    for (size_t i = 0; method && method->changes && i < params->array.n; i++) {
        const struct json *object = params->array.elems[i];
        const struct json *staged
            = (object->type == JSON_OBJECT
               ? shash_find_data(json_object(object), "staged") : NULL);

        wants = wants || (staged && staged->type != JSON_FALSE);
    }
    return wants;
}

void
adp_control_session_refuse(struct adp_control_session *session,
                           const char *method, const struct json *params)
{
    if (wants_stage(method, params)) {
        adp_control_stage_clear(&session->stage);
    }
}

static struct json *
call_run(struct adp_control_call *call, const char *method_name,
         const struct json *params)
{
    const struct method *method = find_method(method_name);

    if (call->transaction) {
        return adp_control_transaction_result(call->transaction,
                                              &call->reader.error);
    }
    if (!method) {
        call_error(call, "method", NULL, "there is no method \"%s\"",
                   method_name);
        return NULL;
    }
    if (params->array.n != 1) {
        call_error(call, "invalid", "params", "must hold one object, not "
                   "%"PRIuSIZE" values", params->array.n);
        return NULL;
    }

    size_t mark = adp_reader_enter(&call->reader, "params");
    adp_object_open(&call->params, &call->reader, params->array.elems[0]);
    adp_reader_leave(&call->reader, mark);
    if (!call->reader.error) {
        check_params(call, method);
    }
    if (call->reader.error) {
        return NULL;
    }
    if (call->session->reading) {
        if (!adp_control_reading_is_lost(call->session->reading)) {
            return reading_result(call);
        }
        stop_reading(call->session);    /* The method says what is wrong. */
    }
    return must_wait(call, method) ? NULL : method->cb(call);
}

struct json *
adp_control_call_method(struct adp_control_session *session,
                        struct adp_control_transaction **transaction,
                        const char *method, const struct json *params,
                        uint64_t cost, struct json **errorp)
{
    struct adp_control_call call = {
        .session = session, .transaction = *transaction, .cost = cost,
    };

    adp_reader_init(&call.reader, NULL);
    struct json *result = call_run(&call, method, params);
    struct adp_error *error = adp_reader_uninit(&call.reader);

    *transaction = call.transaction;
    *errorp = NULL;
    if (error) {
        if (!call.transaction) {
            adp_control_session_refuse(session, method, params);
        }
        *errorp = adp_error_to_json(error);
        adp_error_destroy(error);
    }
    return result;
}
