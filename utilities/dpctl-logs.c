/* SPDX-License-Identifier: Apache-2.0 */

/* antrea-dpctl logs: the latest lines that policies have logged, and those
 * that come. */

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-cli.h"
#include "dpctl-json.h"
#include "dpctl-print.h"
#include "dpctl-rpc.h"
#include "timeval.h"
#include "util.h"

/* Lines that are asked for at once. */
#define MAX_LINES 500
/* How long the daemon lets a call wait for a line: between two, a reader that
 * went away is noticed. */
#define WAIT_MS 2000

struct logs {
    const struct dpctl_options *options;
    struct json *shown;         /* Lines, for a document; NULL: at once. */
    long long int since_ms;     /* The daemon's lines of before don't count. */
};

/* Is the part of 'name' ("K8sNetworkPolicy:default/web", "default/web-1")
 * before its "/" the namespace? */
static bool
is_in_namespace(const char *name, const char *namespace_)
{
    const char *colon = name ? strchr(name, ':') : NULL;
    size_t len = strlen(namespace_);

    name = colon ? colon + 1 : name;
    return name && !strncmp(name, namespace_, len) && name[len] == '/';
}

/* Is 'policy' ("K8sNetworkPolicy:default/web") what the user calls 'name'? */
static bool
is_policy(const char *policy, const char *name)
{
    const char *colon = policy ? strchr(policy, ':') : NULL;
    const char *slash = policy ? strchr(policy, '/') : NULL;

    return (policy && (!strcmp(policy, name)
                       || (colon && !strcmp(colon + 1, name))
                       || (slash && !strcmp(slash + 1, name))));
}

static bool
is_wanted(const struct logs *logs, const struct json *line)
{
    const struct dpctl_options *o = logs->options;
    const char *policy = dpctl_json_str(line, "policy");

    return (dpctl_json_int(line, "time_ms", 0) >= logs->since_ms
            && (!o->namespace_
                || is_in_namespace(policy, o->namespace_)
                || is_in_namespace(dpctl_json_str(line, "appliedTo"),
                                   o->namespace_))
            && (!o->policy || is_policy(policy, o->policy)));
}

static void
print_compact(const struct json *json)
{
    char *text = json_to_string(json, JSSF_SORT);

    puts(text);
    free(text);
}

static void
show_line(struct logs *logs, const struct json *line)
{
    const char *text = dpctl_json_str(line, "line");

    if (logs->shown) {
        json_array_add(logs->shown, json_clone(line));
    } else if (logs->options->output == DPCTL_OUTPUT_JSON) {
        print_compact(line);
    } else {
        char *tame = dpctl_print_tame(text ? text : "?");

        puts(tame);
        free(tame);
    }
}

static void
show_loss(const struct logs *logs, long long int n)
{
    if (logs->options->output == DPCTL_OUTPUT_JSON) {
        struct json *o = json_object_create();

        json_object_put(o, "lost", json_integer_create(n));
        print_compact(o);
        json_destroy(o);
    } else {
        printf("# %lld lines came too fast and are missing here\n", n);
    }
}

/* Asks for what comes behind '*after' and shows it.  Returns how many lines
 * there were. */
static size_t
show_next(struct logs *logs, struct dpctl_rpc *rpc, long long int *after,
          int wait_ms)
{
    struct json *param = json_object_create();

    json_object_put(param, "after", json_integer_create(*after));
    json_object_put(param, "max", json_integer_create(MAX_LINES));
    json_object_put(param, "wait_ms", json_integer_create(wait_ms));
    struct json *result = dpctl_call(rpc, logs->options, "logs", param);
    const struct json_array *lines = dpctl_json_array(result, "lines");
    long long int lost = dpctl_json_int(result, "lost", 0);
    size_t n = lines->n;

    if (lost && *after && !logs->shown) {
        show_loss(logs, lost);
    }
    for (size_t i = 0; i < n; i++) {
        if (is_wanted(logs, lines->elems[i])) {
            show_line(logs, lines->elems[i]);
        }
    }
    *after = dpctl_json_int(result, "last", *after);
    json_destroy(result);
    return n;
}

void
dpctl_cmd_logs(const struct dpctl_command *c)
{
    const struct dpctl_options *o = c->options;
    struct logs logs = { .options = o };
    long long int after = 0;

    if (o->follow && o->output == DPCTL_OUTPUT_YAML) {
        dpctl_fail(DPCTL_EXIT_USAGE, "logs --follow prints lines or json, not "
                   "-o yaml");
    }
    if (o->since_s >= 0) {
        logs.since_ms = time_wall_msec() - o->since_s * 1000LL;
    }
    if (!o->follow && o->output != DPCTL_OUTPUT_TABLE) {
        logs.shown = json_array_create_empty();
    }

    struct dpctl_rpc *rpc = dpctl_connect(o);
    while (show_next(&logs, rpc, &after, 0)) {
        dpctl_flush();
    }
    while (o->follow) {
        int timeout_ms = MIN(o->timeout_s, WAIT_MS / 500) * 500;

        show_next(&logs, rpc, &after, o->timeout_s ? timeout_ms : WAIT_MS);
        dpctl_flush();
        dpctl_check_reader();
    }
    dpctl_rpc_close(rpc);
    if (logs.shown) {
        dpctl_print_json(o, logs.shown);
        json_destroy(logs.shown);
    }
}
