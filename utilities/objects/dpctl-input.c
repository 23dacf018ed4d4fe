/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-input.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "dpctl-left-out.h"
#include "dpctl-load.h"
#include "dpctl-resolve.h"
#include "util.h"

void
dpctl_input_init(struct dpctl_input *input)
{
    input->for_delete = false;
    input->keep_going = input->can_keep_going = false;
    input->watched = false;
    shash_init(&input->manifests);
    sset_init(&input->gone);
    shash_init(&input->records);
    shash_init(&input->origins);
    shash_init(&input->left_out);
    input->n_ignored = 0;
    input->n_ignored_policies = 0;
}

void
dpctl_input_destroy(struct dpctl_input *input)
{
    dpctl_records_destroy(&input->manifests);
    sset_destroy(&input->gone);
    dpctl_records_destroy(&input->records);
    shash_destroy_free_data(&input->origins);
    dpctl_left_out_destroy(&input->left_out);
}

bool
dpctl_input_is_empty(const struct dpctl_input *input)
{
    return (shash_is_empty(&input->manifests) && sset_is_empty(&input->gone)
            && shash_is_empty(&input->records));
}

struct dpctl_left_out *
dpctl_input_leave_out(struct dpctl_input *input, const char *key,
                      const char *reason)
{
    const struct dpctl_kind *kind = dpctl_manifest_kind(key);
    struct json *json = shash_find_and_delete(&input->manifests, key);

    if (!json) {
        kind = NULL;
        json = shash_find_and_delete(&input->records, key);
    }
    if (!json) {
        return NULL;
    }
    json_destroy(json);

    const char *origin = shash_find_data(&input->origins, key);
    bool has_origin = !origin || !strncmp(reason, origin, strlen(origin));
    struct dpctl_left_out *entry = dpctl_left_out_add(
        &input->left_out, key,
        has_origin ? xstrdup(reason) : xasprintf("%s: %s", origin, reason));
    entry->kind = kind;
    entry->named = true;
    return entry;
}

/* What all objects of one call have in common. */
struct reader {
    struct dpctl_input *input;
    const char *default_namespace;
    bool ignore_unknown;

    /* About the object that is being read. */
    char *key;                  /* What it will be known by, or NULL. */
    const struct dpctl_kind *kind;
    bool foreign;               /* Of a kind that we don't know. */
};

/* Takes 'json'. */
static char *
input_put(struct reader *reader, struct shash *to, const char *key,
          const char *title, const char *origin, struct json *json)
{
    const char *other = shash_find_data(&reader->input->origins, key);
    if (other) {
        char *error = xasprintf("%s: %s: given twice, also in %s", origin,
                                title, other);
        json_destroy(json);
        if (reader->input->keep_going) {
            /* Which one is meant nobody knows. */
            dpctl_input_leave_out(reader->input, key, error);
        }
        return error;
    }
    shash_add(&reader->input->origins, key, xstrdup(origin));
    shash_add(to, key, json);
    return NULL;
}

/* Remembers what the object is, as far as it says so. */
static void
note_manifest(struct reader *reader, const struct dpctl_kind *kind,
              const struct json *object)
{
    char *error = dpctl_kind_check_identity(kind, object);

    reader->kind = kind;
    if (!error) {
        const char *namespace_ = dpctl_json_str(object, "metadata.namespace");

        free(reader->key);
        reader->key = dpctl_manifest_name(
            kind, namespace_ ? namespace_ : reader->default_namespace,
            dpctl_json_str(object, "metadata.name"));
    }
    free(error);
}

static char *
add_manifest(struct reader *reader, const struct dpctl_kind *kind,
             const char *origin, const char *api_version,
             const struct json *object)
{
    bool for_delete = reader->input->for_delete;
    char *title = dpctl_kind_title(kind, object, reader->default_namespace);
    char *error = (for_delete ? dpctl_kind_check_identity(kind, object)
                   : dpctl_kind_check(kind, object,
                                      reader->default_namespace));

    note_manifest(reader, kind, object);
    if (error) {
        char *text = xasprintf("%s: %s: %s", origin, title, error);
        free(error);
        free(title);
        return text;
    }

    /* An API server's objects are mostly about other things than ours. */
    struct json *copy = (for_delete ? dpctl_kind_identity(object)
                         : dpctl_schema_prune(object, kind->schema));
    /* Those in a PodList don't say what they are. */
    json_object_put_string(copy, "apiVersion", api_version);
    json_object_put_string(copy, "kind", kind->kind);
    if (kind->namespaced && !dpctl_json_str(copy, "metadata.namespace")) {
        json_object_put_string(shash_find_data(json_object(copy),
                                               "metadata"),
                               "namespace", reader->default_namespace);
    }
    char *name = dpctl_manifest_name_of(kind, copy);
    error = input_put(reader, &reader->input->manifests, name, title, origin,
                      copy);
    free(name);
    free(title);
    return error;
}

static char *
unknown_object(const char *origin, const char *api_version,
               const char *kind_name, bool known_kind, const char *meant,
               const struct json *object)
{
    const char *name = dpctl_json_str(object, "metadata.name");
    char *versions = dpctl_kind_versions(kind_name);
    char *hint = (meant ? xasprintf("; did you mean %s?", meant)
                  : versions ? xasprintf(" in %s; there is one in %s",
                                         api_version, versions)
                  : xstrdup(""));
    char *error = (known_kind
                   ? xasprintf("%s: %s %s: apiVersion %s is not known",
                               origin, kind_name, name ? name : "?",
                               api_version)
                   : xasprintf("%s: %s %s: kind %s is not known%s", origin,
                               kind_name, name ? name : "?", kind_name,
                               hint));

    free(versions);
    free(hint);
    return error;
}

static char *
add_object(struct reader *reader, const char *origin, const char *api_version,
           const char *kind_name, const struct json *object)
{
    bool known_kind;
    const struct dpctl_kind *kind = dpctl_kind_find(api_version, kind_name,
                                                    &known_kind);
    if (kind) {
        return add_manifest(reader, kind, origin, api_version, object);
    }

    bool is_policy = string_ends_with(kind_name, "NetworkPolicy");
    const char *meant = dpctl_kind_meant(api_version, kind_name);
    if (reader->ignore_unknown && !known_kind && !meant) {
        reader->input->n_ignored++;
        reader->input->n_ignored_policies += is_policy;
        return NULL;
    }
    /* Somebody else's policy is still one that isn't in force. */
    reader->foreign = !known_kind && !meant && !is_policy;
    return unknown_object(origin, api_version, kind_name, known_kind, meant,
                          object);
}

/* A record of the control socket; a Manifest among them is the object in
 * it. */
static char *
add_record(struct reader *reader, const char *origin, const char *kind,
           const struct json *record)
{
    const char *name = dpctl_json_str(record, "name");

    if (!name || !name[0]) {
        return (dpctl_json_member(record, "metadata")
                ? xasprintf("%s: %s: apiVersion: is missing", origin, kind)
                : xasprintf("%s: %s: name: is missing", origin, kind));
    }
    if (!strcmp(kind, "Manifest")) {
        const struct json *object = dpctl_json_member(record, "object");
        const char *api_version = dpctl_json_str(object, "apiVersion");
        const char *object_kind = dpctl_json_str(object, "kind");
        if (!api_version || !object_kind) {
            return xasprintf("%s: Manifest %s: object: has no apiVersion and "
                             "kind", origin, name);
        }
        return add_object(reader, origin, api_version, object_kind, object);
    }
    free(reader->key);
    reader->key = dpctl_record_key(kind, name);
    return input_put(reader, &reader->input->records, reader->key,
                     reader->key, origin, json_clone(record));
}

static char *add_value(struct reader *, const char *origin,
                       const struct json *, const char *api_version,
                       const char *kind);

/* Adds one value; if it can't be taken, it may be left out. */
static char *
add_or_leave_out(struct reader *reader, const char *origin,
                 const struct json *json, const char *list_version,
                 const char *list_kind)
{
    reader->key = NULL;
    reader->kind = NULL;
    reader->foreign = false;

    char *error = add_value(reader, origin, json, list_version, list_kind);
    if (error && reader->input->keep_going) {
        struct dpctl_left_out *entry = dpctl_left_out_add(
            &reader->input->left_out, reader->key ? reader->key : origin,
            error);
        entry->kind = reader->kind;
        entry->named = reader->key != NULL;
        entry->foreign = reader->foreign;
        error = NULL;
    }
    free(reader->key);
    reader->key = NULL;
    return error;
}

/* 'kind' may be NULL: then each item names its own. */
static char *
add_items(struct reader *reader, const char *origin, const char *what,
          const struct json_array *items, const char *api_version,
          const char *kind)
{
    for (size_t i = 0; i < items->n; i++) {
        char *item_origin = xasprintf("%s, %s[%"PRIuSIZE"]", origin, what, i);
        char *error = add_or_leave_out(reader, item_origin, items->elems[i],
                                       api_version, kind);
        free(item_origin);
        if (error) {
            return error;
        }
    }
    return NULL;
}

/* The last two parameters are what the list around it says, or NULL. */
static char *
add_value(struct reader *reader, const char *origin, const struct json *json,
          const char *list_version, const char *list_kind)
{
    if (json->type == JSON_ARRAY) {
        return add_items(reader, origin, "element", json_array(json), NULL,
                         NULL);
    } else if (json->type != JSON_OBJECT) {
        return xasprintf("%s: must be an object, not a %s", origin,
                         json_type_to_string(json->type));
    }

    const char *kind = dpctl_json_str(json, "kind");
    const char *api_version = dpctl_json_str(json, "apiVersion");
    kind = kind ? kind : list_kind;
    api_version = api_version ? api_version : list_version;
    if (!kind) {
        return xasprintf("%s: kind: is missing", origin);
    } else if (!api_version) {
        return (dpctl_is_record_kind(kind)
                ? add_record(reader, origin, kind, json)
                : xasprintf("%s: %s: %s", origin, kind,
                            (dpctl_json_member(json, "metadata")
                             ? "apiVersion: is missing"
                             : "is no kind of record")));
    }

    size_t len = strlen(kind);
    const struct json_array *items = dpctl_json_items(json);
    if (len >= 4 && !strcmp(kind + len - 4, "List")
        /* What has a name is one object, of a kind such as "AllowList". */
        && (items || !dpctl_json_str(json, "metadata.name"))) {
        if (!items) {
            return xasprintf("%s: %s: items: %s", origin, kind,
                             (dpctl_json_member(json, "items")
                              ? "must be a list" : "is missing"));
        }
        /* "List" is anything's, "PodList" has Pods that don't say so. */
        char *item_kind = len > 4 ? xmemdup0(kind, len - 4) : NULL;
        char *error = add_items(reader, origin, "items", items,
                                item_kind ? api_version : NULL, item_kind);
        free(item_kind);
        return error;
    }
    return add_object(reader, origin, api_version, kind, json);
}

char *
dpctl_input_add(struct dpctl_input *input, const struct dpctl_docs *docs,
                const char *default_namespace, bool ignore_unknown)
{
    struct reader reader = {
        .input = input, .default_namespace = default_namespace,
        .ignore_unknown = ignore_unknown,
    };

    for (size_t i = 0; i < docs->n; i++) {
        const struct dpctl_doc *doc = &docs->docs[i];
        char *origin = xasprintf("%s, document %"PRIuSIZE" (line %d)",
                                 doc->file, doc->index, doc->line);
        char *error = add_or_leave_out(&reader, origin, doc->json, NULL,
                                       NULL);
        free(origin);
        if (error) {
            return error;
        }
    }
    return NULL;
}
