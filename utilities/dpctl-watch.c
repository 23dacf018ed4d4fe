/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-cli.h"
#include "dpctl-columns.h"
#include "dpctl-json.h"
#include "dpctl-print.h"
#include "dpctl-rpc.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "timeval.h"
#include "util.h"

/* How often a reader that has gone away is noticed, if nothing changes. */
enum { CHECK_READER_MS = 1000 };

/* What is printed, one change after the other. */
struct output {
    const struct dpctl_watch *watch;
    struct dpctl_table table;   /* Of the changes that came together. */
    int widths[DPCTL_MAX_COLUMNS + 1];  /* Columns don't get narrower. */
    bool begun;                 /* The headings are printed. */
};

static bool
prints_tables(const struct dpctl_options *o)
{
    return (o->output == DPCTL_OUTPUT_TABLE
            || o->output == DPCTL_OUTPUT_WIDE);
}

static bool
is_wide(const struct dpctl_options *o)
{
    return o->output == DPCTL_OUTPUT_WIDE;
}

static char *
key_of(const struct json *json)
{
    const char *name = dpctl_json_str(json, "name");
    const char *kind = dpctl_json_str(json, "kind");
    const char *api = dpctl_json_str(json, "apiVersion");
    const char *namespace_ = dpctl_json_str(json, "metadata.namespace");

    if (name) {
        return dpctl_record_key_of(json);
    }
    name = dpctl_json_str(json, "metadata.name");
    return xasprintf("%s %s %s/%s", api ? api : "", kind ? kind : "",
                     namespace_ ? namespace_ : "", name ? name : "");
}

static void
print_event(const struct dpctl_options *o, const char *type,
            const struct json *json)
{
    struct json *event = json_object_create();

    json_object_put_string(event, "type", type);
    json_object_put(event, "object", json_clone(json));
    if (o->output == DPCTL_OUTPUT_JSON) {
        char *text = json_to_string(event, JSSF_SORT);

        puts(text);
        free(text);
    } else {
        fputs("---\n", stdout);
        dpctl_print_json(o, event);
    }
    json_destroy(event);
}

static void
put_change(struct output *out, const char *type, const struct json *json)
{
    const struct dpctl_options *o = out->watch->options;

    if (prints_tables(o)) {
        dpctl_table_add(&out->table, xstrdup(type));
        dpctl_layout_add(out->watch->layout, is_wide(o), json, &out->table);
    } else if (o->output == DPCTL_OUTPUT_NAME) {
        char *name = dpctl_full_name_of(json);

        puts(name);
        free(name);
    } else {
        print_event(o, type, json);
    }
}

/* Tells how 'now' differs from 'before', a map by key, and makes this the map
 * of 'now'. */
static void
show_changes(struct output *out, struct shash *before, const struct json *now)
{
    const struct dpctl_options *o = out->watch->options;
    struct shash after = SHASH_INITIALIZER(&after);

    dpctl_layout_start(out->watch->layout, is_wide(o), "EVENT", &out->table);
    out->table.kept_widths = out->widths;
    out->table.headless = out->begun;
    for (size_t i = 0; i < json_array(now)->n; i++) {
        const struct json *json = json_array(now)->elems[i];
        char *key = key_of(json);
        struct json *old = shash_find_and_delete(before, key);

        if (!old) {
            put_change(out, "ADDED", json);
        } else if (!json_equal(old, json)) {
            put_change(out, "MODIFIED", json);
        }
        json_destroy(old);
        shash_add_nocopy(&after, key, json_clone(json));
    }

    const struct shash_node **gone = shash_sort(before);
    for (size_t i = 0; i < shash_count(before); i++) {
        put_change(out, "DELETED", gone[i]->data);
        json_destroy(gone[i]->data);
    }
    free(gone);
    shash_destroy(before);
    shash_init(before);
    shash_swap(before, &after);
    shash_destroy(&after);
    if (prints_tables(o)) {
        dpctl_table_print(&out->table);
        out->begun = true;
    }
    dpctl_table_destroy(&out->table);
    dpctl_flush();
}

/* Waits until the daemon has told of a change, and not less than until
 * 'not_before'. */
static void
wait_for_change(struct dpctl_rpc *rpc, long long int not_before)
{
    for (;;) {
        char *error = dpctl_rpc_check(rpc);

        if (error) {
            dpctl_fail(DPCTL_EXIT_UNREACHABLE, "%s", error);
        }
        dpctl_check_reader();
        bool early = time_msec() < not_before;
        if (!early && dpctl_rpc_take_notification(rpc)) {
            return;
        }
        dpctl_rpc_wait(rpc);
        poll_timer_wait_until(early ? not_before
                              : time_msec() + CHECK_READER_MS);
        poll_block();
    }
}

static struct json *
ask(const struct dpctl_watch *w, struct dpctl_rpc *rpc)
{
    struct json *param = json_object_create();

    if (w->kind) {
        json_object_put_string(param, "kind", w->kind);
    }
    struct json *state = dpctl_call(rpc, w->options, "get", param);
    struct json *found = w->select(w->aux,
                                   dpctl_json_array(state, "records"));
    json_destroy(state);
    return found;
}

void
dpctl_watch_run(const struct dpctl_watch *w)
{
    struct dpctl_rpc *rpc = dpctl_connect(w->options);
    struct output out = { .watch = w };
    struct shash before = SHASH_INITIALIZER(&before);

    json_destroy(dpctl_call(rpc, w->options, "watch", json_object_create()));
    for (;;) {
        long long int start = time_msec();
        struct json *now = ask(w, rpc);
        long long int took_ms = time_msec() - start;

        if (w->missing && !out.begun && !json_array(now)->n) {
            dpctl_fail(DPCTL_EXIT_ERROR, "%s", w->missing);
        }
        show_changes(&out, &before, now);
        out.begun = true;
        json_destroy(now);
        wait_for_change(rpc, time_msec() + MAX(WATCH_MIN_MS, 4 * took_ms));
    }
}
