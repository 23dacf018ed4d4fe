/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-world.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "openvswitch/json.h"
#include "sset.h"
#include "util.h"

void
dpctl_world_init(struct dpctl_world *w, const struct dpctl_source *source)
{
    *w = (struct dpctl_world) {
        .source = source,
        .records = SHASH_INITIALIZER(&w->records),
        .names = json_array_create_empty(),
        .keys = json_array_create_empty(),
        .complete = true,
    };
}

void
dpctl_world_destroy(struct dpctl_world *w)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, &w->records) {
        json_destroy(node->data);
    }
    shash_destroy(&w->records);
    json_destroy(w->names);
    json_destroy(w->keys);
    json_destroy(w->any);
    json_destroy(w->reply);
    json_destroy(w->generation);
}

void
dpctl_world_want(struct dpctl_world *w, const char *kind, const char *name)
{
    char *key = dpctl_record_key(kind, name);

    /* Till it is found, it isn't there. */
    if (shash_add_once(&w->records, key, NULL)) {
        json_array_add(w->names, json_string_create(key));
    }
    free(key);
}

struct json *
dpctl_world_want_keys(struct dpctl_world *w)
{
    return w->keys;
}

/* Asks; takes 'param'.  Returns NULL if the world is stale. */
static struct json *
ask(struct dpctl_world *w, struct json *param)
{
    struct json *reply = w->source->get(w->source->aux, param);
    const struct json *generation = dpctl_json_member(reply, "generation");

    w->complete = dpctl_json_int(reply, "unkeyed", 1) == 0;
    w->total = dpctl_json_int(reply, "total", 0);
    if (!w->generation) {
        w->generation = json_nullable_clone(generation);
    }
    if (!generation || !json_equal(generation, w->generation)) {
        w->stale = true;
    }
    if (w->stale) {
        json_destroy(reply);
        return NULL;
    }
    return reply;
}

/* Many Pods, say, are in one Namespace, and may be selected by the same
 * labels: takes 'lists' and returns it with each list once. */
static struct json *
each_once(struct json *lists)
{
    struct json *once = json_array_create_empty();
    struct sset seen = SSET_INITIALIZER(&seen);

    for (size_t i = 0; i < json_array(lists)->n; i++) {
        const struct json *list = json_array(lists)->elems[i];
        char *text = json_to_string(list, 0);

        if (sset_add(&seen, text)) {
            json_array_add(once, json_clone(list));
        }
        free(text);
    }
    sset_destroy(&seen);
    json_destroy(lists);
    return once;
}

/* May a Manifest bear one of the keys that are asked for? */
static bool
asks_for_manifests(const struct json *lists)
{
    for (size_t i = 0; i < json_array(lists)->n; i++) {
        const struct json *list = json_array(lists)->elems[i];

        if (strcmp(json_string(json_array(list)->elems[0]),
                   DPCTL_KEY_NODE_CONFIG)) {
            return true;
        }
    }
    return false;
}

static bool
bears_any_key(const struct json *record)
{
    const struct json_array *keys = dpctl_json_array(record, "keys");

    return (keys->n == 1 && keys->elems[0]->type == JSON_STRING
            && !strcmp(json_string(keys->elems[0]), DPCTL_KEY_ANY));
}

/* Those with DPCTL_KEY_ANY are noted from the first answer that has them, and
 * added to others. */
static void
complete_with_any(struct dpctl_world *w, struct json *records)
{
    if (w->any) {
        for (size_t i = 0; i < json_array(w->any)->n; i++) {
            json_array_add(records, json_clone(json_array(w->any)->elems[i]));
        }
        return;
    }
    w->any = json_array_create_empty();
    for (size_t i = 0; i < json_array(records)->n; i++) {
        struct json *record = json_array(records)->elems[i];

        if (bears_any_key(record)) {
            json_array_add(w->any, json_clone(record));
        }
    }
}

const struct json *
dpctl_world_fetch(struct dpctl_world *w)
{
    static const struct json nothing = { .type = JSON_ARRAY };
    struct json *param = json_object_create();

    if (!json_array(w->names)->n && !json_array(w->keys)->n) {
        json_destroy(param);
        return w->stale ? NULL : &nothing;
    }
    bool keyed = asks_for_manifests(w->keys);
    if (keyed && !w->any) {
        dpctl_keys_add(w->keys, DPCTL_KEY_ANY);
    }
    json_object_put(param, "names", w->names);
    json_object_put(param, "keys", each_once(w->keys));
    w->names = json_array_create_empty();
    w->keys = json_array_create_empty();

    struct json *reply = ask(w, param);
    if (!reply) {
        return NULL;
    }
    const struct json_array *records = dpctl_json_array(reply, "records");
    for (size_t i = 0; i < records->n; i++) {
        char *key = dpctl_record_key_of(records->elems[i]);
        /* What is known stays where it is: others point to it. */
        if (!shash_find_data(&w->records, key)) {
            shash_replace(&w->records, key, json_clone(records->elems[i]));
        }
        free(key);
    }
    struct json *found = shash_find_data(json_object(reply), "records");
    if (keyed && found && found->type == JSON_ARRAY) {
        complete_with_any(w, found);
    }
    json_destroy(w->reply);
    w->reply = reply;
    return found;
}

/* Asks for names alone; takes 'list', which is 'what' to look for. */
static void
ask_which(struct dpctl_world *w, const char *what, struct json *list,
          struct sset *found)
{
    struct json *param = json_object_create();

    json_object_put(param, what, list);
    json_object_put(param, "brief", json_boolean_create(true));

    struct json *reply = ask(w, param);
    const struct json_array *records = dpctl_json_array(reply, "records");
    for (size_t i = 0; i < records->n; i++) {
        char *key = dpctl_record_key_of(records->elems[i]);
        sset_add_and_free(found, key);
    }
    json_destroy(reply);
}

void
dpctl_world_which(struct dpctl_world *w, const struct sset *names,
                  struct sset *found)
{
    if (sset_is_empty(names) || w->stale) {
        return;
    }

    struct json *list = json_array_create_empty();
    const char *name;
    SSET_FOR_EACH (name, names) {
        json_array_add(list, json_string_create(name));
    }
    ask_which(w, "names", list, found);
}

void
dpctl_world_which_bear(struct dpctl_world *w, struct json *keys,
                       struct sset *found)
{
    if (!json_array(keys)->n || w->stale) {
        json_destroy(keys);
        return;
    }
    ask_which(w, "keys", each_once(keys), found);
}

const struct json *
dpctl_world_record(const struct dpctl_world *w, const char *kind,
                   const char *name)
{
    char *key = dpctl_record_key(kind, name);
    const struct json *record = shash_find_data(&w->records, key);

    free(key);
    return record;
}

const struct json *
dpctl_world_object(const struct dpctl_world *w, const char *manifest_name)
{
    return dpctl_json_member(dpctl_world_record(w, "Manifest", manifest_name),
                             "object");
}
