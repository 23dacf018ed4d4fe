/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "adp-secret-hash.h"
#include "model-change.h"
#include "model-claims.h"
#include "model-pause.h"
#include "model-reader.h"
#include "model-records.h"
#include "model-sort.h"
#include "openvswitch/hmap.h"
#include "sset.h"
#include "util.h"

/* What a transaction did to one record. */
struct change {
    struct hmap_node node;      /* In struct adp_model's 'changes'. */
    struct adp_model_change up; /* With a name and references of its own. */
    uint64_t step;              /* The latest one that changed it, */
    size_t idx;                 /* and its place there. */
};

/* The records that the latest step of a transaction has changed. */
struct model_step {
    uint64_t number;
    size_t n_changes;           /* When it began, of the transaction, */
    bool cleared;               /* and whether that had cleared the model. */
    bool clears;                /* It does itself. */
    const struct adp_model_change **changes; /* Its own. */
    struct adp_record **before; /* What each was when it began; references. */
    size_t n, allocated, allocated_before;
};

struct adp_model {
    struct shash records[ADP_N_KINDS]; /* Contain struct adp_record. */
    size_t n_listed;            /* By them: see adp_model_size(). */
    struct adp_model_claims *claims; /* NULL before the first transaction. */

    /* The transaction under way.  Bounded by what it names and, if it clears
     * the model, by ADP_MODEL_MAX_RECORDS; freed at its end. */
    bool in_transaction;
    bool cleared;
    struct hmap changes;        /* Contains "struct change"s. */
    const struct adp_model_change **order; /* The same ones as they came. */
    size_t allocated_order;
    struct model_step step;
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
    struct adp_model *model = xzalloc(sizeof *model);

    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        shash_init(&model->records[kind]);
    }
    hmap_init(&model->changes);
    return model;
}

void
adp_model_destroy(struct adp_model *model)
{
    if (!model) {
        return;
    }

    adp_model_commit(model);
    adp_model_claims_destroy(model->claims);
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        struct shash_node *node;

        SHASH_FOR_EACH (node, &model->records[kind]) {
            adp_record_unref(node->data);
        }
        shash_destroy(&model->records[kind]);
    }
    hmap_destroy(&model->changes);
    free(model);
}

/* Transactions. */

static uint32_t
change_hash(enum adp_kind kind, const char *name)
{
    return adp_secret_hash_string(name, kind);
}

static struct change *
find_change(const struct adp_model *model, enum adp_kind kind,
            const char *name)
{
    struct change *change;

    HMAP_FOR_EACH_WITH_HASH (change, node, change_hash(kind, name),
                             &model->changes) {
        if (change->up.kind == kind && !strcmp(change->up.name, name)) {
            return change;
        }
    }
    return NULL;
}

static struct change *
add_change(struct adp_model *model, enum adp_kind kind, const char *name,
           const struct adp_record *old)
{
    size_t n = hmap_count(&model->changes);
    struct change *change = xmalloc(sizeof *change);

    *change = (struct change) {
        .up = { .kind = kind, .name = xstrdup(name),
                .old = old ? adp_record_ref(old) : NULL },
    };
    hmap_insert(&model->changes, &change->node, change_hash(kind, name));
    if (n >= model->allocated_order) {
        model->order = x2nrealloc(model->order, &model->allocated_order,
                                  sizeof *model->order);
    }
    model->order[n] = &change->up;
    return change;
}

static struct change *
change_of(const struct adp_model_change *up)
{
    return CONTAINER_OF(CONST_CAST(struct adp_model_change *, up),
                        struct change, up);
}

static void
free_change(struct adp_model *model, struct change *change)
{
    hmap_remove(&model->changes, &change->node);
    adp_record_unref(CONST_CAST(struct adp_record *, change->up.old));
    adp_record_unref(CONST_CAST(struct adp_record *, change->up.new));
    free(CONST_CAST(char *, change->up.name));
    free(change);
}

static void
set_new(struct change *change, const struct adp_record *new)
{
    struct adp_record *before = CONST_CAST(struct adp_record *,
                                           change->up.new);

    change->up.new = new ? adp_record_ref(new) : NULL;
    adp_record_unref(before);
}

/* Takes 'before'. */
static void
step_add(struct model_step *step, struct change *change,
         struct adp_record *before)
{
    change->step = step->number;
    change->idx = step->n;
    if (step->n >= step->allocated) {
        step->changes = x2nrealloc(step->changes, &step->allocated,
                                   sizeof *step->changes);
    }
    if (step->n >= step->allocated_before) {
        step->before = x2nrealloc(step->before, &step->allocated_before,
                                  sizeof *step->before);
    }
    step->changes[step->n] = &change->up;
    step->before[step->n++] = before;
}

/* Notes that 'new' takes the place of 'old'; either may be NULL.  Takes the
 * model's reference to 'old'. */
static void
note_change(struct adp_model *model, enum adp_kind kind, const char *name,
            struct adp_record *old, const struct adp_record *new)
{
    struct change *change = find_change(model, kind, name);

    if (!change) {
        change = add_change(model, kind, name, old);
    }
    if (change->step != model->step.number) {
        step_add(&model->step, change, old);
    } else {
        adp_record_unref(old);  /* Came within the step. */
    }
    set_new(change, new);
}

/* Forgets the step under way. */
static void
end_step(struct model_step *step)
{
    for (size_t i = 0; i < step->n; i++) {
        adp_record_unref(step->before[i]);
        adp_pause();
    }
    step->n = 0;
}

static void
forget_changes(struct adp_model *model)
{
    struct change *change, *next;

    end_step(&model->step);
    free(model->step.changes);
    free(model->step.before);
    model->step = (struct model_step) { .number = model->step.number };
    HMAP_FOR_EACH_SAFE (change, next, node, &model->changes) {
        free_change(model, change);
        adp_pause();
    }
    hmap_shrink(&model->changes);
    free(model->order);
    model->order = NULL;
    model->allocated_order = 0;
    model->in_transaction = model->cleared = false;
}

/* How many others, or addresses, it lists. */
static size_t
count_listed_by(const struct adp_record *record)
{
    switch ((int) record->kind) {
    case ADP_KIND_ADDRESS_GROUP:
    case ADP_KIND_FQDN:
        return CONTAINER_OF(record, struct adp_address_group,
                            up)->n_addresses;
    case ADP_KIND_APPLIED_TO_GROUP:
        return CONTAINER_OF(record, struct adp_applied_to_group, up)->pods.n;
    case ADP_KIND_NETWORK_POLICY:
        return CONTAINER_OF(record, struct adp_network_policy, up)->n_rules;
    default:
        return 0;
    }
}

/* Makes 'new' the record of 'kind' and 'name', or, if it's NULL, makes that
 * vanish.  Takes 'new'.  Returns true if there was one before. */
static bool
model_set(struct adp_model *model, enum adp_kind kind, const char *name,
          struct adp_record *new)
{
    struct shash *records = &model->records[kind];
    struct adp_record *old = (new ? shash_replace(records, name, new)
                              : shash_find_and_delete(records, name));
    bool existed = old != NULL;

    model->n_listed += new ? count_listed_by(new) : 0;
    model->n_listed -= old ? count_listed_by(old) : 0;
    if (model->claims) {
        if (old) {
            adp_model_claims_remove(model->claims, old);
        }
        if (new) {
            adp_model_claims_add(model->claims, new);
        }
    }
    if (model->in_transaction && (old || new)) {
        note_change(model, kind, name, old, new);
    } else {
        adp_record_unref(old);
    }
    return existed;
}

struct adp_model *
adp_model_clone(const struct adp_model *origin)
{
    struct adp_model *model = adp_model_create();

    model->n_listed = origin->n_listed;
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        const struct shash_node *node;

        SHASH_FOR_EACH (node, &origin->records[kind]) {
            shash_add(&model->records[kind], node->name,
                      adp_record_ref(node->data));
        }
    }

    const struct change *change;
    HMAP_FOR_EACH (change, node, &origin->changes) {
        const struct adp_record *old = change->up.old;

        model_set(model, change->up.kind, change->up.name,
                  old ? adp_record_ref(old) : NULL);
    }
    return model;
}

static void
build_claims(struct adp_model *model)
{
    model->claims = adp_model_claims_create();
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        const struct shash_node *node;

        SHASH_FOR_EACH (node, &model->records[kind]) {
            adp_model_claims_add(model->claims, node->data);
        }
    }
}

void
adp_model_begin(struct adp_model *model)
{
    ovs_assert(!model->in_transaction);
    if (!model->claims) {
        build_claims(model);
    }
    model->in_transaction = true;
    adp_model_begin_step(model);
}

void
adp_model_begin_step(struct adp_model *model)
{
    struct model_step *step = &model->step;

    ovs_assert(model->in_transaction);
    end_step(step);
    step->number++;
    step->n_changes = hmap_count(&model->changes);
    step->cleared = model->cleared;
    step->clears = false;
}

void
adp_model_undo_step(struct adp_model *model)
{
    struct model_step *step = &model->step;

    model->in_transaction = false;      /* Nobody notes what comes. */
    for (size_t i = 0; i < step->n; i++) {
        const struct adp_model_change *up = step->changes[i];
        struct adp_record *before = step->before[i];

        model_set(model, up->kind, up->name,
                  before ? adp_record_ref(before) : NULL);
        set_new(change_of(up), before);
        adp_pause();
    }
    model->in_transaction = true;
    model->cleared = step->cleared;

    /* Records that it was the first to change are the latest of all. */
    for (size_t n = hmap_count(&model->changes); n > step->n_changes; n--) {
        free_change(model, change_of(model->order[n - 1]));
    }
    adp_model_begin_step(model);
}

void
adp_model_commit(struct adp_model *model)
{
    forget_changes(model);
}

void
adp_model_rollback(struct adp_model *model)
{
    const struct change *change;

    model->in_transaction = false;
    HMAP_FOR_EACH (change, node, &model->changes) {
        const struct adp_record *old = change->up.old;

        model_set(model, change->up.kind, change->up.name,
                  old ? adp_record_ref(old) : NULL);
        adp_pause();
    }
    forget_changes(model);
}

const struct adp_model_change *const *
adp_model_changes(const struct adp_model *model, size_t *n)
{
    *n = hmap_count(&model->changes);
    return model->order;
}

const struct adp_model_change *const *
adp_model_step_changes(const struct adp_model *model, size_t *n)
{
    *n = model->step.n;
    return model->step.changes;
}

const struct adp_model_change *
adp_model_find_change(const struct adp_model *model, enum adp_kind kind,
                      const char *name)
{
    const struct change *change = find_change(model, kind, name);

    return change ? &change->up : NULL;
}

bool
adp_model_step_changed(const struct adp_model *model, enum adp_kind kind,
                       const char *name, const struct adp_record **before)
{
    const struct change *change = find_change(model, kind, name);

    if (!change || change->step != model->step.number) {
        return false;
    }
    *before = model->step.before[change->idx];
    return true;
}

bool
adp_model_was_cleared(const struct adp_model *model)
{
    return model->cleared;
}

bool
adp_model_step_cleared(const struct adp_model *model)
{
    return model->step.clears;
}

const struct adp_model_claims *
adp_model_get_claims(const struct adp_model *model)
{
    return model->in_transaction ? model->claims : NULL;
}

void
adp_model_clear(struct adp_model *model)
{
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        struct shash_node *node, *next;

        if (adp_kind_is_own(kind)) {
            continue;
        }
        SHASH_FOR_EACH_SAFE (node, next, &model->records[kind]) {
            char *name = xstrdup(node->name);

            model_set(model, kind, name, NULL);
            free(name);
            adp_pause();
        }
    }
    model->cleared = model->step.clears = model->in_transaction;
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

/* Whether 'record' is another than before: what took its name before this
 * step decides. */
static uint64_t
find_birth(const struct adp_model *model, const struct adp_record *record)
{
    static uint64_t n_births = 0;
    const struct adp_record *before;

    if (!adp_model_step_changed(model, record->kind, record->name, &before)) {
        before = shash_find_data(&model->records[record->kind], record->name);
    }

    return before ? before->birth : ++n_births;
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

    record->birth = find_birth(model, record);
    bool existed = model_set(model, record->kind, record->name, record);
    if (!existed && model_n_records(model) > ADP_MODEL_MAX_RECORDS) {
        return adp_error_create("limit", object, NULL,
                                "more than %d records",
                                ADP_MODEL_MAX_RECORDS);
    }
    free(object);
    return NULL;
}

/* Complains of a record that isn't for whom 'own' says. */
static struct adp_error *
check_owner(enum adp_kind kind, const char *name, bool own)
{
    return (adp_kind_is_own(kind) == own ? NULL
            : adp_error_create("invalid",
                               xasprintf("%s %s", adp_kind_to_string(kind),
                                         name),
                               xstrdup("kind"),
                               "records of this kind are the datapath's own"));
}

static struct adp_error *
model_apply(struct adp_model *model, const struct json *records, bool own,
            size_t *n)
{
    struct sset seen = SSET_INITIALIZER(&seen);
    struct adp_error *error = check_is_array(records);
    size_t n_records = error ? 0 : records->array.n;

    for (size_t i = 0; i < n_records && !error; i++) {
        struct adp_record *record;

        error = adp_record_parse(records->array.elems[i], i, &record);
        if (!error) {
            error = check_owner(record->kind, record->name, own);
            if (error) {
                adp_record_unref(record);
            } else {
                error = model_put(model, record, &seen);
            }
        }
        adp_pause();
    }
    sset_destroy(&seen);
    if (n) {
        *n = error ? 0 : n_records;
    }
    return error;
}

struct adp_error *
adp_model_apply(struct adp_model *model, const struct json *records,
                size_t *n)
{
    return model_apply(model, records, false, n);
}

struct adp_error *
adp_model_apply_own(struct adp_model *model, const struct json *records)
{
    return model_apply(model, records, true, NULL);
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
                 bool own, bool ignore_missing, struct sset *seen, size_t *n)
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
    if (!error) {
        error = check_owner(kind, name, own);
    }
    if (error) {
        return error;
    }

    char *object = xasprintf("%s %s", kind_name, name);
    if (!sset_add(seen, object)) {
        return adp_error_create("invalid", object, NULL,
                                "is given twice in one call");
    }

    if (model_set(model, kind, name, NULL)) {
        ++*n;
    } else if (!ignore_missing) {
        return adp_error_create("missing", object, NULL, "doesn't exist");
    }
    free(object);
    return NULL;
}

static struct adp_error *
model_delete(struct adp_model *model, const struct json *keys, bool own,
             bool ignore_missing, size_t *np)
{
    struct sset seen = SSET_INITIALIZER(&seen);
    struct adp_error *error = check_is_array(keys);
    size_t n_keys = error ? 0 : keys->array.n;
    size_t n = 0;

    for (size_t i = 0; i < n_keys && !error; i++) {
        error = model_delete_one(model, keys->array.elems[i], i, own,
                                 ignore_missing, &seen, &n);
        adp_pause();
    }
    sset_destroy(&seen);
    if (np) {
        *np = n;
    }
    return error;
}

struct adp_error *
adp_model_delete(struct adp_model *model, const struct json *keys,
                 bool ignore_missing, size_t *n)
{
    return model_delete(model, keys, false, ignore_missing, n);
}

struct adp_error *
adp_model_delete_own(struct adp_model *model, const struct json *keys)
{
    return model_delete(model, keys, true, true, NULL);
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
        adp_pause_amid(i);
    }
    adp_sort_pointers(array, i, compare_records);
    *n = i;
    return array;
}

const struct adp_record **
adp_model_sorted_before(const struct adp_model *model, enum adp_kind kind,
                        size_t *n)
{
    const struct shash *records = &model->records[kind];
    const struct adp_record **array
        = xmalloc((shash_count(records) + hmap_count(&model->changes) + 1)
                  * sizeof *array);
    const struct shash_node *node;
    const struct change *change;
    size_t i = 0;

    SHASH_FOR_EACH (node, records) {
        if (!find_change(model, kind, node->name)) {
            array[i++] = node->data;
        }
    }
    HMAP_FOR_EACH (change, node, &model->changes) {
        if (change->up.kind == kind && change->up.old) {
            array[i++] = change->up.old;
        }
    }
    adp_sort_pointers(array, i, compare_records);
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
        if (kind_name ? strcmp(kind_name, adp_kind_to_string(kind)) != 0
            : adp_kind_is_own(kind)) {
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
            adp_pause_amid(i);
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

size_t
adp_model_size(const struct adp_model *model)
{
    return model_n_records(model) + model->n_listed;
}

bool
adp_model_is_kind(const char *kind_name)
{
    enum adp_kind kind;

    return adp_kind_from_string(kind_name, &kind);
}

/* Elements of lists, at whatever depth; not many more than 'max'. */
static size_t
count_listed(const struct json *json, size_t max)
{
    const struct shash_node *node;
    size_t n = 0;

    if (json->type == JSON_ARRAY) {
        n = json->array.n;
        for (size_t i = 0; i < json->array.n && n < max; i++) {
            n += count_listed(json->array.elems[i], max - n);
        }
    } else if (json->type == JSON_OBJECT) {
        SHASH_FOR_EACH (node, json->object) {
            n += n < max ? count_listed(node->data, max - n) : 0;
        }
    }
    return n;
}

static const char *
string_member(const struct json *json, const char *name)
{
    const struct json *member = (json->type == JSON_OBJECT
                                 ? shash_find_data(json->object, name) : NULL);

    return (member && member->type == JSON_STRING ? json_string(member)
            : NULL);
}

bool
adp_kind_from_json(const struct json *json, enum adp_kind *kind)
{
    const char *name = string_member(json, "kind");

    return name && adp_kind_from_string(name, kind);
}

const struct adp_record *
adp_model_find_named(const struct adp_model *model, const struct json *json)
{
    const char *name = string_member(json, "name");
    enum adp_kind kind;

    return (name && adp_kind_from_json(json, &kind)
            ? adp_model_find(model, kind, name) : NULL);
}

static size_t
weigh_record(const struct adp_record *record, size_t max)
{
    return (record->kind == ADP_KIND_NETWORK_POLICY
            ? CONTAINER_OF(record, struct adp_network_policy, up)->n_rules
            : count_listed(record->json, max));
}

/* A Manifest is kept, and nothing else is done with it. */
static bool
means_nothing(const struct json *json)
{
    enum adp_kind kind;

    return adp_kind_from_json(json, &kind) && kind == ADP_KIND_MANIFEST;
}

size_t
adp_model_weigh(const struct adp_model *model, const struct json *records,
                size_t max)
{
    size_t weight = 0;

    if (!records || records->type != JSON_ARRAY) {
        return 0;
    }
    for (size_t i = 0; i < records->array.n && weight < max; i++) {
        const struct json *json = records->array.elems[i];
        const struct adp_record *record = adp_model_find_named(model, json);
        size_t before = record ? weigh_record(record, max) : 0;

        weight += 1 + (means_nothing(json) ? 0
                       : MAX(before, count_listed(json, max)));
    }
    return MIN(weight, max);
}
