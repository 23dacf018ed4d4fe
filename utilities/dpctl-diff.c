/* SPDX-License-Identifier: Apache-2.0 */

/* diff: what "apply" would change, without changing it: the objects, and the
 * records that follow from them. */

#include <config.h>
#include "dpctl-cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-line-diff.h"
#include "dpctl-ovsdb.h"
#include "dpctl-print.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "util.h"

/* Both borrowed; NULL: there is, or will be, none. */
struct difference {
    const struct json *before;
    const struct json *after;
};

/* What users know of a record: of a Manifest the object in it. */
static const struct json *
open_record(const struct json *record)
{
    const struct json *object = dpctl_json_member(record, "object");

    return (object && !strcmp(dpctl_json_str(record, "kind"), "Manifest")
            ? object : record);
}

/* "object Pod.v1/default/web", "record Pod default/web": by these the objects,
 * which are the cause, come first. */
static char *
title_of(const struct json *record)
{
    const char *kind = dpctl_json_str(record, "kind");
    const char *name = dpctl_json_str(record, "name");

    return (!strcmp(kind, "Manifest") ? xasprintf("object %s", name)
            : xasprintf("record %s %s", kind, name));
}

static struct difference *
find_or_add(struct shash *differences, const struct json *record)
{
    char *title = title_of(record);
    struct difference *d = shash_find_data(differences, title);

    if (!d) {
        d = xzalloc(sizeof *d);
        shash_add(differences, title, d);
    }
    free(title);
    return d;
}

/* The records that the plan names, as they are and as they'll be; those that
 * stay as they are leave again. */
static void
collect(const struct dpctl_plan *plan, const struct json_array *state,
        struct shash *differences)
{
    const struct json_array *apply = json_array(plan->apply);
    const struct json_array *delete = json_array(plan->delete);

    for (size_t i = 0; i < apply->n; i++) {
        find_or_add(differences, apply->elems[i])->after
            = open_record(apply->elems[i]);
    }
    for (size_t i = 0; i < delete->n; i++) {
        find_or_add(differences, delete->elems[i]);
    }
    for (size_t i = 0; i < state->n; i++) {
        char *title = title_of(state->elems[i]);
        struct difference *d = shash_find_data(differences, title);

        if (d) {
            d->before = open_record(state->elems[i]);
        }
        free(title);
    }

    struct shash_node *node;
    SHASH_FOR_EACH_SAFE (node, differences) {
        const struct difference *d = node->data;

        if (d->before == d->after
            || (d->before && d->after && json_equal(d->before, d->after))) {
            free(shash_steal(differences, node));
        }
    }
}

static const char *
word_of(const struct difference *d)
{
    return !d->before ? "added" : !d->after ? "deleted" : "changed";
}

static void
print_difference(const char *title, const struct difference *d)
{
    char *before = d->before ? dpctl_print_yaml(d->before) : xstrdup("");
    char *after = d->after ? dpctl_print_yaml(d->after) : xstrdup("");
    char *tame = dpctl_print_tame(title);
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_line_diff(before, after, &s);
    printf("%s%s: %s%s\n%s", dpctl_bold(), tame, word_of(d), dpctl_plain(),
           ds_cstr(&s));
    ds_destroy(&s);
    free(tame);
    free(before);
    free(after);
}

static struct json *
difference_to_json(const char *title, const struct difference *d)
{
    struct json *json = json_object_create();
    const char *blank = strchr(title, ' ');

    json_object_put(json, "what",
                    json_string_create_nocopy(xmemdup0(title,
                                                       blank - title)));
    json_object_put_string(json, "name", blank + 1);
    json_object_put_string(json, "change", word_of(d));
    if (d->before) {
        json_object_put(json, "before", json_clone(d->before));
    }
    if (d->after) {
        json_object_put(json, "after", json_clone(d->after));
    }
    return json;
}

static void
print_differences(const struct dpctl_options *o,
                  const struct shash *differences)
{
    const struct shash_node **nodes = shash_sort(differences);
    struct json *all = json_array_create_empty();

    for (size_t i = 0; i < shash_count(differences); i++) {
        if (o->output == DPCTL_OUTPUT_TABLE) {
            fputs(i ? "\n" : "", stdout);
            print_difference(nodes[i]->name, nodes[i]->data);
        } else {
            json_array_add(all, difference_to_json(nodes[i]->name,
                                                   nodes[i]->data));
        }
    }
    if (o->output != DPCTL_OUTPUT_TABLE) {
        dpctl_print_json(o, all);
    }
    json_destroy(all);
    free(nodes);
}

/* Returns whether there is a difference. */
static bool
diff(const struct dpctl_options *o, const struct dpctl_input *input)
{
    struct json *state = dpctl_call_once(o, "get", json_object_create());
    const struct json *records = dpctl_json_member(state, "records");
    struct shash differences = SHASH_INITIALIZER(&differences);
    struct dpctl_env env = o->env;
    struct dpctl_ports ports;
    struct dpctl_mark mark;
    struct dpctl_plan plan;

    if (!records || records->type != JSON_ARRAY) {
        dpctl_fail(DPCTL_EXIT_ERROR, "the daemon's answer has no records");
    }
    dpctl_ports_init(&ports);
    dpctl_ovsdb_read(o->db, o->bridge, o->timeout_s, &ports, &mark);
    env.ports = &ports;
    char *error = dpctl_plan_create(DPCTL_APPLY, input, records, &env, false,
                                    &plan);
    if (error) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s", error);
    }
    for (size_t i = 0; i < plan.warnings->n; i++) {
        dpctl_warn("%s", plan.warnings->names[i]);
    }
    collect(&plan, json_array(records), &differences);
    print_differences(o, &differences);

    bool any = !shash_is_empty(&differences);
    shash_destroy_free_data(&differences);
    dpctl_plan_destroy(&plan);
    dpctl_ports_destroy(&ports);
    dpctl_mark_destroy(&mark);
    json_destroy(state);
    return any;
}

void
dpctl_cmd_diff(const struct dpctl_command *c)
{
    struct dpctl_input input;

    /* Status 1 says that there are differences. */
    dpctl_set_error_status(DPCTL_EXIT_USAGE);
    if (!c->options->files.n) {
        dpctl_fail(DPCTL_EXIT_USAGE, "which files?  Name them with -f");
    }
    dpctl_input_init(&input);
    dpctl_read_files(c->options, &input);
    bool any = diff(c->options, &input);
    dpctl_input_destroy(&input);
    dpctl_flush();
    if (any) {
        exit(DPCTL_EXIT_ERROR);
    }
}
