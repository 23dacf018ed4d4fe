/* SPDX-License-Identifier: Apache-2.0 */

/* Objects of Kubernetes' and Antrea's, as YAML or JSON, on their way to
 * records.
 *
 * Input: texts with lines "===" between them; the first is applied to a Node
 * and a few Pods, each that follows is applied to, or with a line "=== -"
 * deleted from, what came of those before.
 *
 * Must hold: what antrea-dpctl plans the daemon's model takes, or refuses with
 * a reason; the plan from the objects that a change concerns comes to the same
 * state as the plan from all. */

#include <config.h>
#undef NDEBUG
#include "fuzz.h"

#include "dpctl-delta.h"
#include "dpctl-input.h"
#include "dpctl-json.h"
#include "dpctl-load.h"
#include "flow.h"
#include "model-index.h"
#include "model-patch.h"
#include "model.h"
#include "openvswitch/json.h"
#include "tests/unit/index-answer.h"

const long int fuzz_runs = 1000;

enum { MAX_TEXTS = 6 };

/* The daemon. */
static struct adp_model *model;
static struct adp_index *records_index;
static long long int generation;

static const char node[] =
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":"
    "\"node1\",\"annotations\":{\"node.antrea.io/mac-address\":"
    "\"0a:00:00:00:00:01\"}},\"spec\":{\"podCIDR\":\"10.1.0.0/24\"},"
    "\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":"
    "\"192.0.2.1\"}]}}\n"
    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
    "\"default\",\"labels\":{\"env\":\"a\"}}}\n"
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web\","
    "\"labels\":{\"app\":\"web\"},\"annotations\":{\"antrea-dp.io/port\":"
    "\"p-web\",\"antrea-dp.io/mac\":\"0a:00:00:00:00:02\"}},\"spec\":"
    "{\"nodeName\":\"node1\"},\"status\":{\"phase\":\"Running\",\"podIP\":"
    "\"10.1.0.2\"}}\n";

static struct json *
get(void *aux OVS_UNUSED, struct json *param)
{
    struct adp_error *error;
    struct json *reply = index_answer(records_index, model, generation, param,
                                      &error);

    fuzz_require(!error);
    return reply;
}

static bool
port_number(const char *name OVS_UNUSED, ofp_port_t *port,
            void *aux OVS_UNUSED)
{
    *port = u16_to_ofp(1);
    return true;
}

/* The model after 'plan', or NULL if it is refused. */
static struct adp_model *
after(const struct dpctl_plan *plan)
{
    const struct adp_model_env env = { .port_number = port_number };
    struct adp_model *next = adp_model_clone(model);
    struct json *patched = NULL;
    struct adp_error *error;

    adp_model_begin(next);
    error = (plan->patch ? adp_model_patch(model, plan->patch, &patched)
             : NULL);
    if (!error) {
        error = adp_model_delete(next, plan->delete, false, NULL);
    }
    if (!error) {
        error = adp_model_apply(next, plan->apply, NULL);
    }
    if (!error && patched) {
        error = adp_model_apply(next, patched, NULL);
    }
    if (!error) {
        error = adp_model_check_changes(next, &env);
    }
    adp_model_commit(next);
    json_destroy(patched);
    if (error) {
        fuzz_require(error->message[0]);
        adp_error_destroy(error);
        adp_model_destroy(next);
        return NULL;
    }
    return next;
}

static bool
same_records(const struct adp_model *a_, const struct adp_model *b_)
{
    struct json *a = adp_model_get(a_, NULL, NULL);
    struct json *b = adp_model_get(b_, NULL, NULL);
    char *x = json_to_string(a, JSSF_SORT), *y = json_to_string(b, JSSF_SORT);
    bool same = !strcmp(x, y);

    if (!same) {
        fprintf(stderr, "from some: %s\nfrom all:  %s\n", x, y);
    }
    free(x);
    free(y);
    json_destroy(a);
    json_destroy(b);
    return same;
}

static void
take(struct adp_model *next)
{
    adp_model_destroy(model);
    model = next;
    adp_index_rebuild(records_index, model);
    generation++;
}

static void
plan_both(enum dpctl_verb verb, const struct dpctl_input *input,
          struct dpctl_ports *ports)
{
    const struct dpctl_source source = { get, NULL };
    struct dpctl_env env = { .node = "node1", .ports = ports };
    struct dpctl_plan some, all;
    char *some_error = NULL, *all_error;
    struct json *state
        = index_through_socket(adp_model_get(model, NULL, NULL));

    enum dpctl_delta_result result
        = dpctl_delta_create(verb, input, &source, &env, true, &some,
                             &some_error);
    env = (struct dpctl_env) { .node = "node1", .ports = ports };
    all_error = dpctl_plan_create(verb, input, state, &env, true, &all);
    fuzz_require(result != DPCTL_DELTA_STALE);
    fuzz_require(!all_error || *all_error);
    if (result == DPCTL_DELTA_DONE) {
        fuzz_require(!some_error == !all_error);
    }
    if (!all_error) {
        struct adp_model *next = after(&all);

        if (result == DPCTL_DELTA_DONE) {
            struct adp_model *other = after(&some);

            fuzz_require(!other == !next);
            fuzz_require(!other || same_records(other, next));
            adp_model_destroy(other);
        }
        if (next) {
            take(next);
        }
        dpctl_plan_destroy(&all);
    }
    if (result == DPCTL_DELTA_DONE && !some_error) {
        dpctl_plan_destroy(&some);
    }
    free(some_error);
    free(all_error);
    json_destroy(state);
}

static void
change(enum dpctl_verb verb, const char *text, size_t len)
{
    struct dpctl_docs docs = DPCTL_DOCS_INITIALIZER;
    struct dpctl_input input;
    struct dpctl_ports ports;
    char *error;

    dpctl_ports_init(&ports);
    ports.available = true;
    ports.annotated = true;
    dpctl_input_init(&input);
    input.for_delete = verb == DPCTL_DELETE;
    error = dpctl_load_text(&docs, "f", text, len);
    if (!error) {
        error = dpctl_input_add(&input, &docs, "default", false);
    }
    if (error) {
        /* "FILE:LINE...", or what it is about. */
        fuzz_require(*error);
        free(error);
    } else {
        plan_both(verb, &input, &ports);
    }
    dpctl_docs_destroy(&docs);
    dpctl_input_destroy(&input);
    dpctl_ports_destroy(&ports);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum dpctl_verb verb = DPCTL_APPLY;
    char *text = xmemdup0((const char *) data, size), *p = text;
    char *end = text + size;

    model = adp_model_create();
    records_index = adp_index_create();
    generation = 0;
    change(DPCTL_APPLY, node, strlen(node));
    fuzz_require(generation);
    for (int i = 0; i < MAX_TEXTS && p <= end; i++) {
        char *next = memmem(p, end - p, "\n===", 4);
        size_t len = (next ? next + 1 : end) - p;

        change(verb, p, len);
        if (!next) {
            break;
        }
        verb = next[4] == ' ' && next[5] == '-' ? DPCTL_DELETE : DPCTL_APPLY;
        p = strchrnul(next + 1, '\n') + 1;
    }
    adp_index_destroy(records_index);
    adp_model_destroy(model);
    free(text);
    return 0;
}
