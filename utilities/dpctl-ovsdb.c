/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-ovsdb.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-rpc.h"
#include "sset.h"
#include "util.h"

/* The key in external_ids of the Bridge. */
#define MARK "antrea-dp-applied"

static struct json *
select_operation(const char *table, const char *const *columns, size_t n)
{
    struct json *op = json_object_create();
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < n; i++) {
        json_array_add(array, json_string_create(columns[i]));
    }
    json_object_put_string(op, "op", "select");
    json_object_put_string(op, "table", table);
    json_object_put(op, "where", json_array_create_empty());
    json_object_put(op, "columns", array);
    return op;
}

static struct json *
read_request(void)
{
    static const char *const bridge[] = {
        "name", "ports", "datapath_type", "external_ids", "other_config"
    };
    static const char *const port[] = {
        "_uuid", "name", "external_ids", "interfaces"
    };
    static const char *const interface[] = {
        "_uuid", "name", "mac_in_use", "external_ids"
    };
    struct json *params = json_array_create_empty();

    json_array_add(params, json_string_create("Open_vSwitch"));
    json_array_add(params, select_operation("Bridge", bridge,
                                            ARRAY_SIZE(bridge)));
    json_array_add(params, select_operation("Port", port, ARRAY_SIZE(port)));
    json_array_add(params, select_operation("Interface", interface,
                                            ARRAY_SIZE(interface)));
    return params;
}

/* The value of 'key' in an OVSDB map, ["map", [[KEY, VALUE]...]]. */
static const char *
map_get(const struct json *map, const char *key)
{
    if (!map || map->type != JSON_ARRAY || map->array.n != 2
        || map->array.elems[1]->type != JSON_ARRAY) {
        return NULL;
    }
    const struct json_array *pairs = json_array(map->array.elems[1]);
    for (size_t i = 0; i < pairs->n; i++) {
        const struct json *pair = pairs->elems[i];
        if (pair->type == JSON_ARRAY && pair->array.n == 2
            && pair->array.elems[0]->type == JSON_STRING
            && pair->array.elems[1]->type == JSON_STRING
            && !strcmp(pair->array.elems[0]->string, key)) {
            return pair->array.elems[1]->string;
        }
    }
    return NULL;
}

/* Adds the UUIDs of an OVSDB set: ["uuid", U] or ["set", [["uuid", U]...]]. */
static void
add_uuids(const struct json *set, struct sset *uuids)
{
    if (!set || set->type != JSON_ARRAY || set->array.n != 2
        || set->array.elems[0]->type != JSON_STRING) {
        return;
    }
    const struct json *value = set->array.elems[1];
    if (value->type == JSON_STRING) {
        sset_add(uuids, value->string);
    } else if (value->type == JSON_ARRAY) {
        for (size_t i = 0; i < value->array.n; i++) {
            add_uuids(value->array.elems[i], uuids);
        }
    }
}

static bool
is_in(const struct json *row, const struct sset *uuids)
{
    struct sset own = SSET_INITIALIZER(&own);
    bool found = false;
    const char *uuid;

    add_uuids(dpctl_json_member(row, "_uuid"), &own);
    SSET_FOR_EACH (uuid, &own) {
        found |= sset_contains(uuids, uuid);
    }
    sset_destroy(&own);
    return found;
}

static void
add_port(const struct json *row, struct dpctl_ports *ports)
{
    const struct json *ids = dpctl_json_member(row, "external_ids");
    const char *pod = map_get(ids, "pod-name");
    const char *namespace_ = map_get(ids, "pod-namespace");
    const char *name = dpctl_json_str(row, "name");

    if (!pod || !namespace_ || !name) {
        return;
    }
    char *key = xasprintf("%s/%s", namespace_, pod);
    if (!shash_find(&ports->by_pod, key)) {
        struct dpctl_port *port = xmalloc(sizeof *port);
        port->name = xstrdup(name);
        port->mac = nullable_xstrdup(map_get(ids, "attached-mac"));
        port->ips = nullable_xstrdup(map_get(ids, "ip-address"));
        shash_add(&ports->by_pod, key, port);
    }
    free(key);
}

/* The rows of the operation 'i' of the reply; never NULL. */
static const struct json_array *
reply_rows(const struct json *reply, size_t i)
{
    const struct json *operation
        = (reply->type == JSON_ARRAY && i < reply->array.n
           ? reply->array.elems[i] : NULL);
    return dpctl_json_array(operation, "rows");
}

static bool
is_called(const struct json *bridge, const char *wanted)
{
    const char *name = dpctl_json_str(bridge, "name");

    return name && !strcmp(name, wanted);
}

static bool
is_of_our_type(const struct json *bridge)
{
    const char *type = dpctl_json_str(bridge, "datapath_type");

    return type && !strcmp(type, "antrea");
}

/* Without a name the bridge is the only one of our type. */
static void
parse_mark(const struct json_array *bridges, const char *bridge,
           struct dpctl_mark *mark)
{
    const struct json *found = NULL;
    size_t n = 0;

    for (size_t i = 0; i < bridges->n; i++) {
        const struct json *row = bridges->elems[i];

        if (dpctl_json_str(row, "name") && is_of_our_type(row)
            && (!bridge || is_called(row, bridge))) {
            found = row;
            n++;
        }
    }
    if (n == 1) {
        const struct json *ids = dpctl_json_member(found, "external_ids");

        mark->bridge = xstrdup(dpctl_json_str(found, "name"));
        mark->since = nullable_xstrdup(map_get(ids, MARK));
    }
}

static void
parse_reply(const struct json *reply, const char *bridge,
            struct dpctl_ports *ports)
{
    struct sset port_uuids = SSET_INITIALIZER(&port_uuids);
    struct sset interface_uuids = SSET_INITIALIZER(&interface_uuids);
    const struct json_array *rows = reply_rows(reply, 0);

    for (size_t i = 0; i < rows->n; i++) {
        const struct json *row = rows->elems[i];

        /* On another bridge a Pod may have a second interface. */
        if (bridge ? is_called(row, bridge) : is_of_our_type(row)) {
            const char *annotated
                = map_get(dpctl_json_member(row, "other_config"),
                          "antrea-dp-annotated-ports");

            add_uuids(dpctl_json_member(row, "ports"), &port_uuids);
            ports->annotated |= annotated && !strcmp(annotated, "true");
        }
    }

    rows = reply_rows(reply, 1);
    for (size_t i = 0; i < rows->n; i++) {
        if (is_in(rows->elems[i], &port_uuids)) {
            add_uuids(dpctl_json_member(rows->elems[i], "interfaces"),
                      &interface_uuids);
            add_port(rows->elems[i], ports);
        }
    }

    /* Some CNIs write the same keys on the Interface. */
    rows = reply_rows(reply, 2);
    for (size_t i = 0; i < rows->n; i++) {
        const char *name = dpctl_json_str(rows->elems[i], "name");
        if (name && is_in(rows->elems[i], &interface_uuids)) {
            add_port(rows->elems[i], ports);
            shash_replace(&ports->interface_macs, name,
                          nullable_xstrdup(dpctl_json_str(rows->elems[i],
                                                          "mac_in_use")));
        }
    }
    sset_destroy(&port_uuids);
    sset_destroy(&interface_uuids);
}

void
dpctl_mark_destroy(struct dpctl_mark *mark)
{
    free(mark->bridge);
    free(mark->since);
}

void
dpctl_ovsdb_read(const char *db, const char *bridge, int timeout_s,
                 struct dpctl_ports *ports, struct dpctl_mark *mark)
{
    struct dpctl_rpc *rpc;
    struct json *reply = NULL;

    *mark = (struct dpctl_mark) { .bridge = NULL };
    struct dpctl_rpc_error *error = dpctl_rpc_open(db, timeout_s, &rpc);
    if (!error) {
        error = dpctl_rpc_call(rpc, "transact", read_request(), &reply);
    }
    if (error) {
        ports->why = xstrdup(error->message);
        dpctl_rpc_error_destroy(error);
    } else {
        ports->available = true;
        parse_reply(reply, bridge, ports);
        parse_mark(reply_rows(reply, 0), bridge, mark);
    }
    json_destroy(reply);
    dpctl_rpc_close(rpc);
}

static bool
is_tagged(const struct json *value, const char *tag)
{
    return (value->type == JSON_ARRAY && value->array.n == 2
            && value->array.elems[0]->type == JSON_STRING
            && !strcmp(json_string(value->array.elems[0]), tag));
}

struct json *
dpctl_ovsdb_plain(const struct json *value)
{
    const struct json *inner = (value->type == JSON_ARRAY
                                && value->array.n == 2
                                ? value->array.elems[1] : NULL);

    if (is_tagged(value, "uuid") && inner->type == JSON_STRING) {
        return json_clone(inner);
    } else if (is_tagged(value, "set") && inner->type == JSON_ARRAY) {
        struct json *array = json_array_create_empty();

        for (size_t i = 0; i < inner->array.n; i++) {
            json_array_add(array, dpctl_ovsdb_plain(inner->array.elems[i]));
        }
        return array;
    } else if (is_tagged(value, "map") && inner->type == JSON_ARRAY) {
        struct json *object = json_object_create();

        for (size_t i = 0; i < inner->array.n; i++) {
            const struct json *pair = inner->array.elems[i];

            if (pair->type == JSON_ARRAY && pair->array.n == 2
                && pair->array.elems[0]->type == JSON_STRING) {
                json_object_put(object, json_string(pair->array.elems[0]),
                                dpctl_ovsdb_plain(pair->array.elems[1]));
            }
        }
        return object;
    }
    return json_clone(value);
}

static struct json *
plain_rows(const struct json_array *rows)
{
    struct json *plain = json_array_create_empty();

    for (size_t i = 0; i < rows->n; i++) {
        const struct shash_node *node;
        struct json *row = json_object_create();

        SHASH_FOR_EACH (node, dpctl_json_object(rows->elems[i], "")) {
            json_object_put(row, node->name, dpctl_ovsdb_plain(node->data));
        }
        json_array_add(plain, row);
    }
    return plain;
}

struct json *
dpctl_ovsdb_tables(const char *db, int timeout_s, char **errorp)
{
    static const struct {
        const char *table;
        const char *columns[8];
    } tables[] = {
        { "Open_vSwitch", { "cur_cfg", "next_cfg", "other_config",
                            "external_ids", "dpdk_initialized",
                            "dpdk_version", "ovs_version" } },
        { "Bridge", { "name", "ports", "datapath_type", "other_config",
                      "external_ids", "fail_mode" } },
        { "Port", { "_uuid", "name", "external_ids", "interfaces" } },
        { "Interface", { "_uuid", "name", "type", "ofport", "error",
                         "link_state", "external_ids", "statistics" } },
    };
    struct json *params = json_array_create_1(
        json_string_create("Open_vSwitch"));
    struct json *reply = NULL, *result = NULL;
    struct dpctl_rpc *rpc;

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        size_t n = 0;

        while (n < ARRAY_SIZE(tables[i].columns) && tables[i].columns[n]) {
            n++;
        }
        json_array_add(params, select_operation(tables[i].table,
                                                tables[i].columns, n));
    }
    *errorp = NULL;
    struct dpctl_rpc_error *error = dpctl_rpc_open(db, timeout_s, &rpc);
    if (!error) {
        error = dpctl_rpc_call(rpc, "transact", params, &reply);
    } else {
        json_destroy(params);
    }
    if (error) {
        *errorp = xstrdup(error->message);
        dpctl_rpc_error_destroy(error);
    } else {
        result = json_object_create();
        for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
            json_object_put(result, tables[i].table,
                            plain_rows(reply_rows(reply, i)));
        }
    }
    json_destroy(reply);
    dpctl_rpc_close(rpc);
    return result;
}

static struct json *
triple(const char *a, const char *b, struct json *c)
{
    return json_array_create_3(json_string_create(a), json_string_create(b),
                               c);
}

/* The request that makes the mark 'since', or takes it away. */
static struct json *
mark_request(const char *bridge, const char *since)
{
    struct json *op = json_object_create();
    struct json *key = json_array_create_1(json_string_create(MARK));
    struct json *mutations = json_array_create_1(
        triple("external_ids", "delete",
               json_array_create_2(json_string_create("set"), key)));

    if (since) {
        struct json *pair = json_array_create_2(json_string_create(MARK),
                                                json_string_create(since));
        json_array_add(mutations,
                       triple("external_ids", "insert",
                              json_array_create_2(json_string_create("map"),
                                                  json_array_create_1(pair))));
    }
    json_object_put_string(op, "op", "mutate");
    json_object_put_string(op, "table", "Bridge");
    json_object_put(op, "where",
                    json_array_create_1(triple("name", "==",
                                               json_string_create(bridge))));
    json_object_put(op, "mutations", mutations);
    return json_array_create_2(json_string_create("Open_vSwitch"), op);
}

void
dpctl_ovsdb_write_mark(const char *db, int timeout_s,
                       const struct dpctl_mark *mark, const char *since)
{
    struct dpctl_rpc *rpc = NULL;
    struct json *reply = NULL;

    if (!mark->bridge) {
        return;
    }
    struct dpctl_rpc_error *error = dpctl_rpc_open(db, timeout_s, &rpc);
    if (!error) {
        error = dpctl_rpc_call(rpc, "transact",
                               mark_request(mark->bridge, since), &reply);
    }
    dpctl_rpc_error_destroy(error);
    json_destroy(reply);
    dpctl_rpc_close(rpc);
}
