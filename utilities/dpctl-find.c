/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-find.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-cli.h"
#include "dpctl-json.h"
#include "dpctl-ovsdb.h"
#include "dpctl-kind.h"
#include "dpctl-similar.h"
#include "openvswitch/dynamic-string.h"
#include "svec.h"
#include "util.h"

struct json *
dpctl_get_kind(struct dpctl_rpc *rpc, const struct dpctl_options *o,
               const char *kind)
{
    struct json *param = json_object_create();

    json_object_put_string(param, "kind", kind);
    return dpctl_call(rpc, o, "get", param);
}

/* The record of this kind and name among those of the answer 'state', or
 * NULL; borrowed. */
static const struct json *
find_in(const struct json *state, const char *kind, const char *name)
{
    const struct json_array *records = dpctl_json_array(state, "records");

    for (size_t i = 0; i < records->n; i++) {
        const struct json *r = records->elems[i];

        if (nullable_string_is_equal(dpctl_json_str(r, "kind"), kind)
            && nullable_string_is_equal(dpctl_json_str(r, "name"), name)) {
            return r;
        }
    }
    return NULL;
}

/* The names of all records of 'kind'. */
static void
list_names(struct dpctl_rpc *rpc, const struct dpctl_options *o,
           const char *kind, struct svec *names)
{
    struct json *state = dpctl_get_kind(rpc, o, kind);
    const struct json_array *records = dpctl_json_array(state, "records");

    for (size_t i = 0; i < records->n; i++) {
        const char *name = dpctl_json_str(records->elems[i], "name");

        if (name && nullable_string_is_equal(
                        dpctl_json_str(records->elems[i], "kind"), kind)) {
            svec_add(names, name);
        }
    }
    json_destroy(state);
}

/* The one of 'names' that may be meant by 'name', NAMESPACE/NAME: of that name
 * in another namespace, or of one like it.  NULL if there is none. */
static const char *
guess_name(const struct svec *names, const char *name)
{
    const char *base = strchr(name, '/');

    for (size_t i = 0; i < names->n && base; i++) {
        const char *slash = strchr(names->names[i], '/');

        if (slash && !strcmp(slash, base)) {
            return names->names[i];
        }
    }
    return dpctl_similar(name, (const char *const *) names->names, names->n);
}

OVS_NO_RETURN static void
fail_missing(struct dpctl_rpc *rpc, const struct dpctl_options *o,
             const char *kind, const char *option, const char *name)
{
    struct svec names = SVEC_EMPTY_INITIALIZER;

    list_names(rpc, o, kind, &names);
    const char *meant = guess_name(&names, name);
    dpctl_fail(DPCTL_EXIT_ERROR, "%s%sthere is no %s %s%s%s%s%s",
               option ? option : "", option ? ": " : "", kind, name,
               !strcmp(kind, "Pod") ? " on this Node" : "",
               meant ? "; did you mean " : "", meant ? meant : "",
               meant ? "?" : "");
}

/* NAMESPACE/NAME. */
static char *
full_name(const struct dpctl_options *o, const char *word)
{
    return (strchr(word, '/') ? xstrdup(word)
            : xasprintf("%s/%s", o->namespace_ ? o->namespace_ : "default",
                        word));
}

/* The Pod may be there, but elsewhere. */
static void
check_elsewhere(const struct json *state, const char *option,
                const char *name)
{
    char *manifest = xasprintf("Pod.v1/%s", name);

    if (find_in(state, "Manifest", manifest)) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s%sPod %s has no port on this Node; "
                   "ask on its own", option ? option : "",
                   option ? ": " : "", name);
    }
    free(manifest);
}

struct json *
dpctl_find_record(struct dpctl_rpc *rpc, const struct dpctl_options *o,
                  const char *kind, const char *option, const char *word)
{
    char *name = full_name(o, word);
    struct json *names = json_array_create_empty();
    struct json *param = json_object_create();
    bool is_pod = !strcmp(kind, "Pod");

    json_array_add(names, json_string_create_nocopy(
                       dpctl_record_key(kind, name)));
    if (is_pod) {
        json_array_add(names, json_string_create_nocopy(
                           xasprintf("Manifest Pod.v1/%s", name)));
    }
    json_object_put(param, "names", names);

    struct json *state = dpctl_call(rpc, o, "get", param);
    const struct json *found = find_in(state, kind, name);
    if (!found) {
        if (is_pod) {
            check_elsewhere(state, option, name);
        }
        fail_missing(rpc, o, kind, option, name);
    }
    struct json *record = json_clone(found);
    json_destroy(state);
    free(name);
    return record;
}

/* The Pod's port, as OVSDB has it. */
static struct json *
find_port(const struct dpctl_options *o, const char *bridge,
          const char *option, const char *name)
{
    struct json *record = json_object_create();
    struct json *ips = json_array_create_empty();
    struct dpctl_ports ports;
    struct dpctl_mark mark;

    dpctl_ports_init(&ports);
    dpctl_ovsdb_read(o->db, bridge, o->timeout_s, &ports, &mark);
    const struct dpctl_port *port = shash_find_data(&ports.by_pod, name);
    if (!port) {
        dpctl_fail(DPCTL_EXIT_ERROR, "%s%sbridge %s has no port of a Pod %s "
                   "by its external_ids%s%s", option ? option : "",
                   option ? ": " : "", bridge, name, ports.why ? ": " : "",
                   ports.why ? ports.why : "");
    }

    char *list = xstrdup(port->ips ? port->ips : "");
    char *save_ptr = NULL;
    for (char *ip = strtok_r(list, ", ", &save_ptr); ip;
         ip = strtok_r(NULL, ", ", &save_ptr)) {
        json_array_add(ips, json_string_create(ip));
    }
    free(list);
    json_object_put_string(record, "kind", "Pod");
    json_object_put_string(record, "name", name);
    json_object_put_string(record, "port", port->name);
    if (port->mac) {
        json_object_put_string(record, "mac", port->mac);
    }
    json_object_put(record, "ips", ips);
    dpctl_ports_destroy(&ports);
    dpctl_mark_destroy(&mark);
    return record;
}

struct json *
dpctl_find_pod(struct dpctl_rpc *rpc, const struct dpctl_options *o,
               const char *option, const char *word, char **unknown)
{
    struct json *param = json_object_create();
    struct json *record;

    json_object_put(param, "brief", json_boolean_create(true));
    struct json *stats = dpctl_call(rpc, o, "stats", param);
    const char *pipeline = dpctl_json_str(stats, "pipeline");
    const char *bridge = dpctl_json_str(stats, "bridge");

    if (bridge && pipeline && !strcmp(pipeline, "none")) {
        char *name = full_name(o, word);

        record = find_port(o, bridge, option, name);
        *unknown = xasprintf("bridge %s has no built-in pipeline: its flows "
                             "are somebody else's, who alone knows which "
                             "policies and Services they are of", bridge);
        free(name);
    } else {
        record = dpctl_find_record(rpc, o, "Pod", option, word);
        *unknown = NULL;
    }
    json_destroy(stats);
    return record;
}

/* Policies. */

/* "K8sNetworkPolicy:default/web" -> "default/web". */
static const char *
skip_type(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon ? colon + 1 : name;
}

bool
dpctl_is_policy_called(const char *record_name, const char *word,
                       const char *namespace_)
{
    const char *name = skip_type(record_name);
    const char *slash = strchr(name, '/');
    size_t ns_len = slash ? slash - name : 0;

    if (!strcmp(record_name, word) || !strcmp(name, word)) {
        return true;
    }
    return (slash && !strcmp(slash + 1, word)
            && (!namespace_ || (strlen(namespace_) == ns_len
                                && !strncmp(namespace_, name, ns_len))));
}

struct json *
dpctl_find_policy(struct dpctl_rpc *rpc, const struct dpctl_options *o,
                  const char *word)
{
    struct json *state = dpctl_get_kind(rpc, o, "NetworkPolicy");
    const struct json_array *records = dpctl_json_array(state, "records");
    struct svec names = SVEC_EMPTY_INITIALIZER;
    struct ds several = DS_EMPTY_INITIALIZER;
    const struct json *found = NULL;
    size_t n = 0;

    for (size_t i = 0; i < records->n; i++) {
        const char *name = dpctl_json_str(records->elems[i], "name");

        if (!name || !nullable_string_is_equal(
                dpctl_json_str(records->elems[i], "kind"), "NetworkPolicy")) {
            continue;
        }
        svec_add(&names, skip_type(name));
        if (dpctl_is_policy_called(name, word, o->namespace_)) {
            ds_put_format(&several, "%s%s", n ? ", " : "", name);
            found = records->elems[i];
            n++;
        }
    }
    if (n > 1) {
        dpctl_fail(DPCTL_EXIT_ERROR, "--policy: %s may be one of several; "
                   "give one of %s", word, ds_cstr(&several));
    } else if (!n) {
        const char *meant = dpctl_similar(word,
                                          (const char *const *) names.names,
                                          names.n);

        dpctl_fail(DPCTL_EXIT_ERROR, "--policy: no policy %s is in force on "
                   "this Node%s%s%s", word, meant ? "; did you mean " : "",
                   meant ? meant : "", meant ? "?" : "");
    }
    struct json *record = json_clone(found);
    json_destroy(state);
    svec_destroy(&names);
    ds_destroy(&several);
    return record;
}

/* Tables. */

uint8_t
dpctl_find_table(const struct json *stats, const char *word)
{
    const struct shash *tables = dpctl_json_object(stats, "tables");
    struct svec names = SVEC_EMPTY_INITIALIZER;
    const struct shash_node *node;
    int number;

    const char *pipeline = dpctl_json_str(stats, "pipeline");
    bool numbered = str_to_int(word, 10, &number);
    bool known = pipeline && strcmp(pipeline, "none");

    /* Of somebody else's tables only those with flows are known. */
    if (numbered && !known && number >= 0 && number < 255) {
        return number;
    }
    SHASH_FOR_EACH (node, tables) {
        if (numbered ? dpctl_json_int(node->data, "id", 0) == number
            : !strcasecmp(node->name, word)) {
            svec_destroy(&names);
            return dpctl_json_int(node->data, "id", 0);
        }
        svec_add(&names, node->name);
    }
    const char *meant = dpctl_similar(word, (const char *const *) names.names,
                                      names.n);
    dpctl_fail(DPCTL_EXIT_ERROR, "--table: there is no table %s%s%s%s", word,
               meant ? "; did you mean " : "", meant ? meant : "",
               meant ? "?" : "");
}
