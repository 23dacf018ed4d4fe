/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "model-reader.h"
#include "model-records.h"
#include "sset.h"
#include "util.h"

struct adp_model {
    struct shash records[ADP_N_KINDS]; /* Contain struct adp_records. */
};

/* Errors. */

struct adp_error *
adp_error_create(const char *code, char *object, char *field,
                 const char *format, ...)
{
    struct adp_error *error = xmalloc(sizeof *error);
    va_list args;

    va_start(args, format);
    char *text = xvasprintf(format, args);
    va_end(args);

    error->code = code;
    error->object = object;
    error->field = field;
    error->message = xasprintf("%s%s%s%s%s",
                               object ? object : "", object ? ": " : "",
                               field ? field : "", field ? ": " : "", text);
    free(text);
    return error;
}

void
adp_error_destroy(struct adp_error *error)
{
    if (error) {
        free(error->object);
        free(error->field);
        free(error->message);
        free(error);
    }
}

struct json *
adp_error_to_json(const struct adp_error *error)
{
    struct json *json = json_object_create();

    json_object_put_string(json, "code", error->code);
    if (error->object) {
        json_object_put_string(json, "object", error->object);
    }
    if (error->field) {
        json_object_put_string(json, "field", error->field);
    }
    json_object_put_string(json, "message", error->message);
    return json;
}

/* Models. */

struct adp_model *
adp_model_create(void)
{
    struct adp_model *model = xmalloc(sizeof *model);

    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        shash_init(&model->records[kind]);
    }
    return model;
}

struct adp_model *
adp_model_clone(const struct adp_model *origin)
{
    struct adp_model *model = adp_model_create();

    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        const struct shash_node *node;

        SHASH_FOR_EACH (node, &origin->records[kind]) {
            shash_add(&model->records[kind], node->name,
                      adp_record_ref(node->data));
        }
    }
    return model;
}

void
adp_model_clear(struct adp_model *model)
{
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        struct shash_node *node;

        SHASH_FOR_EACH (node, &model->records[kind]) {
            adp_record_unref(node->data);
        }
        shash_clear(&model->records[kind]);
    }
}

void
adp_model_destroy(struct adp_model *model)
{
    if (model) {
        adp_model_clear(model);
        for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
            shash_destroy(&model->records[kind]);
        }
        free(model);
    }
}

static size_t
model_n_records(const struct adp_model *model)
{
    size_t n = 0;

    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        n += shash_count(&model->records[kind]);
    }
    return n;
}

/* Changes. */

static struct adp_error *
check_is_array(const struct json *json)
{
    return (json->type == JSON_ARRAY ? NULL
            : adp_error_create("invalid", NULL, xstrdup("records"),
                               "must be array, not %s",
                               json_type_to_string(json->type)));
}

/* Takes 'record'.  'seen' holds the records that the call named so far. */
static struct adp_error *
model_put(struct adp_model *model, struct adp_record *record,
          struct sset *seen)
{
    char *object = adp_record_describe(record);

    if (!sset_add(seen, object)) {
        adp_record_unref(record);
        return adp_error_create("invalid", object, NULL,
                                "is given twice in one call");
    }

    struct adp_record *old = shash_replace(&model->records[record->kind],
                                           record->name, record);
    adp_record_unref(old);
    if (!old && model_n_records(model) > ADP_MODEL_MAX_RECORDS) {
        return adp_error_create("limit", object, NULL,
                                "more than %d records",
                                ADP_MODEL_MAX_RECORDS);
    }
    free(object);
    return NULL;
}

struct adp_error *
adp_model_apply(struct adp_model *model, const struct json *records,
                size_t *n)
{
    struct sset seen = SSET_INITIALIZER(&seen);
    struct adp_error *error = check_is_array(records);
    size_t n_records = error ? 0 : records->array.n;

    for (size_t i = 0; i < n_records && !error; i++) {
        struct adp_record *record;

        error = adp_record_parse(records->array.elems[i], i, &record);
        if (!error) {
            error = model_put(model, record, &seen);
        }
    }
    sset_destroy(&seen);
    if (n) {
        *n = error ? 0 : n_records;
    }
    return error;
}

struct json *
adp_model_compact(const struct json *records)
{
    struct json *compact = json_array_create_empty();

    for (size_t i = 0; i < records->array.n; i++) {
        json_array_add(compact, adp_record_compact(records->array.elems[i]));
    }
    return compact;
}

/* Deletes what the 'idx'th key says. */
static struct adp_error *
model_delete_one(struct adp_model *model, const struct json *key, size_t idx,
                 bool ignore_missing, struct sset *seen, size_t *n)
{
    struct adp_reader r;
    struct adp_object o;
    enum adp_kind kind = ADP_N_KINDS;

    adp_reader_init(&r, xasprintf("records[%"PRIuSIZE"]", idx));
    adp_object_open(&o, &r, key);
    const char *kind_name = adp_object_string(&o, "kind", ADP_REQUIRED);
    const char *name = adp_object_string(&o, "name", ADP_REQUIRED);
    if (kind_name && !adp_kind_from_string(kind_name, &kind)) {
        adp_reader_error_at(&r, "kind", "\"%s\" is not a known kind",
                            kind_name);
    }
    adp_object_close(&o);

    struct adp_error *error = adp_reader_uninit(&r);
    if (error) {
        return error;
    }

    char *object = xasprintf("%s %s", kind_name, name);
    if (!sset_add(seen, object)) {
        return adp_error_create("invalid", object, NULL,
                                "is given twice in one call");
    }

    struct adp_record *record
        = shash_find_and_delete(&model->records[kind], name);
    if (record) {
        adp_record_unref(record);
        ++*n;
    } else if (!ignore_missing) {
        return adp_error_create("missing", object, NULL, "doesn't exist");
    }
    free(object);
    return NULL;
}

struct adp_error *
adp_model_delete(struct adp_model *model, const struct json *keys,
                 bool ignore_missing, size_t *np)
{
    struct sset seen = SSET_INITIALIZER(&seen);
    struct adp_error *error = check_is_array(keys);
    size_t n_keys = error ? 0 : keys->array.n;
    size_t n = 0;

    for (size_t i = 0; i < n_keys && !error; i++) {
        error = model_delete_one(model, keys->array.elems[i], i,
                                 ignore_missing, &seen, &n);
    }
    sset_destroy(&seen);
    if (np) {
        *np = n;
    }
    return error;
}

/* Queries. */

const struct adp_record *
adp_model_find(const struct adp_model *model, enum adp_kind kind,
               const char *name)
{
    return shash_find_data(&model->records[kind], name);
}

static int
compare_records(const void *a_, const void *b_)
{
    const struct adp_record *const *a = a_;
    const struct adp_record *const *b = b_;

    return strcmp((*a)->name, (*b)->name);
}

const struct adp_record **
adp_model_sorted(const struct adp_model *model, enum adp_kind kind, size_t *n)
{
    const struct shash *records = &model->records[kind];
    const struct adp_record **array
        = xmalloc((shash_count(records) + 1) * sizeof *array);
    const struct shash_node *node;
    size_t i = 0;

    SHASH_FOR_EACH (node, records) {
        array[i++] = node->data;
    }
    qsort(array, i, sizeof *array, compare_records);
    *n = i;
    return array;
}

const struct adp_node_config *
adp_model_node_config(const struct adp_model *model)
{
    const struct adp_record *first = NULL;
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &model->records[ADP_KIND_NODE_CONFIG]) {
        const struct adp_record *record = node->data;

        if (!first || strcmp(record->name, first->name) < 0) {
            first = record;
        }
    }
    return first ? CONTAINER_OF(first, struct adp_node_config, up) : NULL;
}

struct json *
adp_model_get(const struct adp_model *model, const char *kind_name,
              const char *name)
{
    struct json *json = json_array_create_empty();

    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        if (kind_name && strcmp(kind_name, adp_kind_to_string(kind))) {
            continue;
        }
        if (name) {
            const struct adp_record *record = adp_model_find(model, kind,
                                                             name);
            if (record) {
                json_array_add(json, json_clone(record->json));
            }
            continue;
        }

        size_t n;
        const struct adp_record **records = adp_model_sorted(model, kind, &n);
        for (size_t i = 0; i < n; i++) {
            json_array_add(json, json_clone(records[i]->json));
        }
        free(records);
    }
    return json;
}

size_t
adp_model_count(const struct adp_model *model, const char *kind_name)
{
    enum adp_kind kind;

    return (!kind_name ? model_n_records(model)
            : adp_kind_from_string(kind_name, &kind)
            ? shash_count(&model->records[kind]) : 0);
}

bool
adp_model_is_kind(const char *kind_name)
{
    enum adp_kind kind;

    return adp_kind_from_string(kind_name, &kind);
}
