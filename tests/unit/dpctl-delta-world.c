/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-delta-world.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-given.h"
#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "dpctl-random-families.h"
#include "flow.h"
#include "index-answer.h"
#include "model-index.h"
#include "model-patch.h"
#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "sset.h"
#include "svec.h"
#include "util.h"

struct delta_world dw;

/* The daemon. */

/* Each list has the daemon look at all who bear its keys. */
static void
check_lists_differ(const struct json *lists)
{
    struct sset seen = SSET_INITIALIZER(&seen);

    for (size_t i = 0; lists && i < json_array(lists)->n; i++) {
        char *list = json_to_string(json_array(lists)->elems[i], 0);

        ck_assert_msg(sset_add(&seen, list), "%s: twice in one question",
                      list);
        free(list);
    }
    sset_destroy(&seen);
}

static int
count_bearers(const struct json *records, const char *key)
{
    int n = 0;

    for (size_t i = 0; i < json_array(records)->n; i++) {
        const struct json_array *keys
            = dpctl_json_array(json_array(records)->elems[i], "keys");
        for (size_t j = 0; j < keys->n; j++) {
            n += !strcmp(json_string(keys->elems[j]), key);
        }
    }
    return n;
}

static int
count_policies(const struct json *records)
{
    int n = 0;

    for (size_t i = 0; i < json_array(records)->n; i++) {
        const struct json *record = json_array(records)->elems[i];

        n += (dpctl_json_member(record, "object")
              && !strncmp(dpctl_json_str(record, "name"), "NetworkPolicy.",
                          14));
    }
    return n;
}

static struct json *
daemon_get(void *aux OVS_UNUSED, struct json *param)
{
    char *asked = json_to_string(param, 0);
    struct adp_error *error;

    check_lists_differ(dpctl_json_member(param, "keys"));
    dw.n_asked_by_label += strstr(asked, "\"l:") != NULL;
    dw.n_asked_namespaces += strstr(asked, "\"kind:Namespace\"") != NULL;
    free(asked);

    struct json *reply = index_answer(dw.index, dw.model, dw.generation, param,
                                      &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");

    const struct json *records = dpctl_json_member(reply, "records");
    dw.n_told_policies += count_policies(records);
    dw.n_told_of_any_key += count_bearers(records, DPCTL_KEY_ANY);
    return reply;
}

const struct dpctl_source dw_source = { daemon_get, NULL };

struct json *
dw_state(void)
{
    return index_through_socket(adp_model_get(dw.model, NULL, NULL));
}

static bool
port_number(const char *name OVS_UNUSED, ofp_port_t *port,
            void *aux OVS_UNUSED)
{
    *port = u16_to_ofp(1);
    return true;
}

struct adp_model *
dw_after(const struct dpctl_plan *plan, struct adp_error **error)
{
    const struct adp_model_env env = { .port_number = port_number };
    struct adp_model *next = adp_model_clone(dw.model);
    struct json *patched;

    adp_model_begin(next);
    *error = adp_model_patch(dw.model, plan->patch, &patched);
    if (!*error) {
        *error = adp_model_delete(next, plan->delete, false, NULL);
    }
    if (!*error) {
        *error = adp_model_apply(next, plan->apply, NULL);
    }
    if (!*error) {
        *error = adp_model_apply(next, patched, NULL);
    }
    if (!*error) {
        *error = adp_model_check_changes(next, &env);
    }
    adp_model_commit(next);
    json_destroy(patched);
    return next;
}

void
dw_take(struct adp_model *next)
{
    adp_model_destroy(dw.model);
    dw.model = next;
    adp_index_rebuild(dw.index, dw.model);
    dw.generation++;
}

/* One change, planned twice. */

char *
dw_join(const struct svec *lines)
{
    return svec_join(lines, "\n", "\n");
}

static void
check_same_lines(const char *what, const struct svec *a, const struct svec *b)
{
    char *x = dw_join(a);
    char *y = dw_join(b);

    ck_assert_msg(!strcmp(x, y), "%s:\n%s\nand from all:\n%s", what, x, y);
    free(x);
    free(y);
}

/* Puts what 'a' has and 'b' hasn't into 'ds'. */
static void
put_difference(struct ds *ds, const char *title, const struct json *a,
               const struct json *b)
{
    for (size_t i = 0; i < json_array(a)->n; i++) {
        const struct json *record = json_array(a)->elems[i];
        bool found = false;

        for (size_t j = 0; j < json_array(b)->n && !found; j++) {
            found = json_equal(record, json_array(b)->elems[j]);
        }
        if (!found) {
            ds_put_format(ds, "%s: ", title);
            json_to_ds(record, JSSF_SORT, ds);
            ds_put_char(ds, '\n');
        }
    }
}

void
dw_check_same_state(const struct adp_model *some, const struct adp_model *all,
                    const char *kind)
{
    struct json *a = index_through_socket(adp_model_get(some, kind, NULL));
    struct json *b = index_through_socket(adp_model_get(all, kind, NULL));
    struct ds ds = DS_EMPTY_INITIALIZER;

    put_difference(&ds, "from some", a, b);
    put_difference(&ds, "from all", b, a);
    ck_assert_msg(!ds.length, "%s %s\n%s",
                  dw.change_verb == DPCTL_DELETE ? "delete" : "apply",
                  dw.change, ds_cstr(&ds));
    ds_destroy(&ds);
    json_destroy(a);
    json_destroy(b);
}

/* Compares the plans' states and goes on with them. */
static void
take_both(struct dpctl_plan *some, struct dpctl_plan *all, struct dw_tally *t)
{
    struct adp_error *some_error, *all_error;
    struct adp_model *a = dw_after(some, &some_error);
    struct adp_model *b = dw_after(all, &all_error);

    ck_assert_msg(!some_error == !all_error, "refused: %s; from all: %s",
                  some_error ? some_error->message : "no",
                  all_error ? all_error->message : "no");
    if (some_error) {
        t->refused++;
        adp_model_destroy(a);
    } else {
        dw_check_same_state(a, b, NULL);
        check_same_lines("messages", some->messages, all->messages);
        if (!dw.watched && dw.ports.available) {
            /* Of what is as it was one was warned before, and of Pods that
             * keep their ports one is told of those concerned. */
            check_same_lines("warnings", some->warnings, all->warnings);
        }
        ck_assert_int_eq(!some->n_records, !all->n_records);
        t->patches += json_array(some->patch)->n;
        t->deleted += json_array(some->delete)->n;
        dw_take(a);
    }
    adp_error_destroy(some_error);
    adp_error_destroy(all_error);
    adp_model_destroy(b);
}

/* All that there is follows from objects. */
static void
expect_none_given(const struct json *state)
{
    struct dpctl_env env = { .node = NULL };
    struct json *given = dpctl_plan_given(state, &env);

    ck_assert_uint_eq(json_array(given)->n, 0);
    json_destroy(given);
}

bool
dw_step(enum dpctl_verb verb, const char *text, struct dw_tally *t)
{
    struct dpctl_env env = { .ports = &dw.ports };
    struct dpctl_plan some, all;
    struct dpctl_input input;
    char *some_error;
    bool taken = false;

    dw.change = text;
    dw.change_verb = verb;
    dpctl_input_init(&input);
    input.for_delete = verb == DPCTL_DELETE;
    input.watched = dw.watched;
    char *error = dpctl_given_text(&input, text);
    if (error) {
        /* The same object twice: not of interest here. */
        ck_assert_msg(strstr(error, "given twice"), "%s: %s", error, text);
        free(error);
        dpctl_input_destroy(&input);
        return false;
    }

    struct json *state = dw_state();
    expect_none_given(state);
    long long int before = dw.generation;
    enum dpctl_delta_result result
        = dpctl_delta_create(verb, &input, &dw_source, &env, true, &some,
                             &some_error);
    char *all_error = dpctl_plan_create(verb, &input, state, &env, true,
                                        &all);
    ck_assert_int_ne(result, DPCTL_DELTA_STALE);
    if (result == DPCTL_DELTA_FULL) {
        t->full++;
        if (!all_error) {
            struct adp_error *refused;
            struct adp_model *next = dw_after(&all, &refused);
            if (refused) {
                adp_model_destroy(next);
            } else {
                dw_take(next);
            }
            adp_error_destroy(refused);
        }
    } else if (some_error || all_error) {
        ck_assert_msg(some_error && all_error, "error: %s; from all: %s",
                      some_error ? some_error : "none",
                      all_error ? all_error : "none");
        t->errors++;
    } else {
        t->some++;
        take_both(&some, &all, t);
    }
    taken = dw.generation != before;
    if (result == DPCTL_DELTA_DONE && !some_error) {
        dpctl_plan_destroy(&some);
    }
    if (!all_error) {
        dpctl_plan_destroy(&all);
    }
    free(some_error);
    free(all_error);
    json_destroy(state);
    dpctl_input_destroy(&input);
    return taken;
}

struct dpctl_port *
dw_random_port(void)
{
    struct dpctl_port *port = xmalloc(sizeof *port);

    *port = (struct dpctl_port) {
        .name = xasprintf("port%d", random_range(90)),
        .mac = xasprintf("0a:00:00:00:01:%02x", random_range(99)),
        .ips = random_range(2) ? dpctl_random_ips() : NULL,
    };
    return port;
}

void
dw_setup(void)
{
    dw.model = adp_model_create();
    dw.index = adp_index_create();
    dpctl_ports_init(&dw.ports);
    dw.ports.available = true;
    dw.ports.annotated = true;
}

void
dw_teardown(void)
{
    adp_index_destroy(dw.index);
    adp_model_destroy(dw.model);
    dpctl_ports_destroy(&dw.ports);
}

void
dw_expect_step(enum dpctl_verb verb, const char *text, bool some)
{
    struct dw_tally t = { 0 };

    dw_step(verb, text, &t);
    ck_assert_msg(t.some == some && t.full == !some, "%s", text);
}
