/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model-patch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model-pause.h"
#include "model-reader.h"
#include "model-records.h"
#include "util.h"

/* A member of a group as it stands in JSON, and what it is compared by. */
struct part {
    const struct json *json;
    const char *name;           /* Of a Pod, or... */
    struct adp_cidr cidr;       /* ...an address, if that is NULL. */
};

struct patch_parts {
    struct part *parts;
    size_t n;
};

static int
compare_parts(const void *a_, const void *b_)
{
    const struct part *a = a_;
    const struct part *b = b_;

    return (a->name ? strcmp(a->name, b->name)
            : adp_cidr_compare(&a->cidr, &b->cidr));
}

/* Reads the list 'name' of 'o', in which nothing may stand twice, sorted. */
static void
read_parts(struct adp_object *o, const char *name, enum adp_kind kind,
           struct patch_parts *parts)
{
    struct adp_reader *r = o->reader;
    size_t n;
    struct json **elems = adp_object_array(o, name, ADP_OPTIONAL, &n);

    parts->parts = xcalloc(n + 1, sizeof *parts->parts);
    parts->n = 0;
    size_t outer = adp_reader_enter(r, name);
    for (size_t i = 0; i < n && !r->error; i++) {
        struct part *part = &parts->parts[parts->n++];
        size_t mark = adp_reader_enter_index(r, i);

        part->json = elems[i];
        if (kind == ADP_KIND_ADDRESS_GROUP) {
            adp_value_ip_or_cidr(r, elems[i], &part->cidr);
        } else {
            part->name = adp_value_string(r, elems[i]);
        }
        adp_reader_leave(r, mark);
    }
    if (!r->error) {
        qsort(parts->parts, parts->n, sizeof *parts->parts, compare_parts);
        for (size_t i = 1; i < parts->n && !r->error; i++) {
            if (!compare_parts(&parts->parts[i - 1], &parts->parts[i])) {
                adp_reader_error(r, "\"%s\" is listed twice",
                                 json_string(parts->parts[i].json));
            }
        }
    }
    adp_reader_leave(r, outer);
}

static bool
parts_contain(const struct patch_parts *parts, const struct part *part)
{
    return bsearch(part, parts->parts, parts->n, sizeof *parts->parts,
                   compare_parts) != NULL;
}

static size_t
n_members(const struct adp_record *record)
{
    return (record->kind == ADP_KIND_ADDRESS_GROUP
            ? CONTAINER_OF(record, struct adp_address_group, up)->n_addresses
            : CONTAINER_OF(record, struct adp_applied_to_group, up)->pods.n);
}

/* The 'i'th member of the group, whose list in JSON is 'list'. */
static struct part
member(const struct adp_record *record, const struct json *list, size_t i)
{
    struct part part = { .json = list->array.elems[i] };

    if (record->kind == ADP_KIND_ADDRESS_GROUP) {
        part.cidr = CONTAINER_OF(record, struct adp_address_group,
                                 up)->addresses[i];
    } else {
        part.name = CONTAINER_OF(record, struct adp_applied_to_group,
                                 up)->pods.names[i];
    }
    return part;
}

/* The list as it will be: members that stay and those that join, merged. */
static struct json *
merge(const struct adp_record *record, const struct json *list,
      const struct patch_parts *add, const struct patch_parts *remove)
{
    struct json *merged = json_array_create_empty();
    size_t n = n_members(record);
    size_t j = 0;

    for (size_t i = 0; i < n; i++) {
        struct part part = member(record, list, i);

        if (parts_contain(remove, &part) || parts_contain(add, &part)) {
            continue;
        }
        for (; j < add->n && compare_parts(&add->parts[j], &part) < 0; j++) {
            json_array_add(merged, json_clone(add->parts[j].json));
        }
        json_array_add(merged, json_clone(part.json));
    }
    for (; j < add->n; j++) {
        json_array_add(merged, json_clone(add->parts[j].json));
    }
    return merged;
}

static struct json *
patched_record(const struct adp_record *record, const struct patch_parts *add,
               const struct patch_parts *remove)
{
    const char *list_name = (record->kind == ADP_KIND_ADDRESS_GROUP
                             ? "addresses" : "pods");
    struct json *json = json_object_create();
    const struct shash_node *node;

    SHASH_FOR_EACH (node, json_object(record->json)) {
        json_object_put(json, node->name,
                        (strcmp(node->name, list_name)
                         ? json_clone(node->data)
                         : merge(record, node->data, add, remove)));
    }
    return json;
}

/* What to call the 'idx'th patch in errors. */
static char *
patch_title(const struct json *json, size_t idx)
{
    const struct shash *members = (json->type == JSON_OBJECT
                                   ? json_object(json) : NULL);
    const struct json *kind = (members ? shash_find_data(members, "kind")
                               : NULL);
    const struct json *name = (members ? shash_find_data(members, "name")
                               : NULL);

    return (kind && kind->type == JSON_STRING
            && name && name->type == JSON_STRING
            ? xasprintf("%s %.1024s", json_string(kind), json_string(name))
            : xasprintf("patch[%"PRIuSIZE"]", idx));
}

/* Sets '*patched' to the record, if there is no error. */
static struct adp_error *
patch_one(const struct adp_model *model, const struct json *json, size_t idx,
          struct json **patched)
{
    struct patch_parts add = { .n = 0 }, remove = { .n = 0 };
    const struct adp_record *record = NULL;
    enum adp_kind kind = ADP_N_KINDS;
    struct adp_reader r;
    struct adp_object o;

    adp_reader_init(&r, patch_title(json, idx));
    adp_object_open(&o, &r, json);
    const char *kind_name = adp_object_string(&o, "kind", ADP_REQUIRED);
    const char *name = adp_object_string(&o, "name", ADP_REQUIRED);
    if (kind_name && (!adp_kind_from_string(kind_name, &kind)
                      || (kind != ADP_KIND_ADDRESS_GROUP
                          && kind != ADP_KIND_APPLIED_TO_GROUP))) {
        adp_reader_error_at(&r, "kind", "\"%s\" has no members to patch",
                            kind_name);
    }
    if (!r.error) {
        read_parts(&o, "add", kind, &add);
        read_parts(&o, "remove", kind, &remove);
        record = adp_model_find(model, kind, name);
    }
    for (size_t i = 0; i < add.n && !r.error; i++) {
        if (parts_contain(&remove, &add.parts[i])) {
            adp_reader_error_at(&r, "add", "\"%s\" is in \"remove\", too",
                                json_string(add.parts[i].json));
        }
    }
    adp_object_close(&o);

    struct adp_error *error = adp_reader_uninit(&r);
    if (!error && !record) {
        error = adp_error_create("missing", xasprintf("%s %s", kind_name,
                                                      name),
                                 NULL, "doesn't exist");
    } else if (!error) {
        *patched = patched_record(record, &add, &remove);
    }
    free(add.parts);
    free(remove.parts);
    return error;
}

struct adp_error *
adp_model_patch(const struct adp_model *model, const struct json *patches,
                struct json **records)
{
    struct adp_error *error = NULL;

    *records = json_array_create_empty();
    for (size_t i = 0; i < patches->array.n && !error; i++) {
        struct json *patched = NULL;

        error = patch_one(model, patches->array.elems[i], i, &patched);
        if (!error) {
            json_array_add(*records, patched);
        }
    }
    if (error) {
        json_destroy(*records);
        *records = NULL;
    }
    return error;
}

/* The group that 'json' is to patch, or NULL. */
static const struct adp_record *
find_group(const struct adp_model *model, const struct json *json)
{
    const struct adp_record *record = adp_model_find_named(model, json);

    return (record && (record->kind == ADP_KIND_ADDRESS_GROUP
                       || record->kind == ADP_KIND_APPLIED_TO_GROUP)
            ? record : NULL);
}

struct adp_error *
adp_model_check_patched(const struct adp_model *model,
                        const struct json *patches)
{
    for (size_t i = 0; i < patches->array.n; i++) {
        const struct json *patch = patches->array.elems[i];

        if (!find_group(model, patch)) {
            return adp_error_create("invalid", patch_title(patch, i), NULL,
                                    "is both deleted and patched in one call");
        }
        adp_pause();
    }
    return NULL;
}
