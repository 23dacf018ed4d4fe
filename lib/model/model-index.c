/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model-index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-secret-hash.h"
#include "hmapx.h"
#include "model-pause.h"
#include "model-records.h"
#include "model-sort.h"
#include "openvswitch/hmap.h"
#include "svec.h"
#include "util.h"

/* A record that bears keys. */
struct entry {
    struct hmap_node node;      /* In adp_index's 'entries'. */
    enum adp_kind kind;
    char *name;
    bool unkeyed;               /* A Manifest without "keys". */
    struct slot *slots;
    size_t n_slots;
};

/* One of its keys, and where the entry stands among those that bear it. */
struct slot {
    struct posting *posting;
    size_t idx;
};

/* A key. */
struct posting {
    struct hmap_node node;      /* In adp_index's 'postings'. */
    char *key;
    struct member *members;
    size_t n, allocated;
};

struct member {
    struct entry *entry;
    size_t slot;                /* Which of the entry's. */
};

struct adp_index {
    struct hmap entries;        /* By kind and name. */
    struct hmap postings;       /* By key. */
    size_t n_unkeyed;
};

struct adp_index *
adp_index_create(void)
{
    struct adp_index *index = xzalloc(sizeof *index);

    hmap_init(&index->entries);
    hmap_init(&index->postings);
    return index;
}

/* Postings. */

/* Keys are labels, which anybody may give his Pods. */
static uint32_t
key_hash(const char *key)
{
    return adp_secret_hash_string(key, 0);
}

static struct posting *
posting_find(const struct adp_index *index, const char *key)
{
    struct posting *posting;

    HMAP_FOR_EACH_WITH_HASH (posting, node, key_hash(key),
                             &index->postings) {
        if (!strcmp(posting->key, key)) {
            return posting;
        }
    }
    return NULL;
}

static void
posting_add(struct adp_index *index, const char *key, struct entry *entry,
            size_t slot)
{
    struct posting *posting = posting_find(index, key);

    if (!posting) {
        posting = xzalloc(sizeof *posting);
        posting->key = xstrdup(key);
        hmap_insert(&index->postings, &posting->node, key_hash(key));
    }
    if (posting->n >= posting->allocated) {
        posting->members = x2nrealloc(posting->members, &posting->allocated,
                                      sizeof *posting->members);
    }
    entry->slots[slot] = (struct slot) { posting, posting->n };
    posting->members[posting->n++] = (struct member) { entry, slot };
}

/* The last member takes the place of the one that goes. */
static void
posting_remove(struct adp_index *index, const struct slot *slot)
{
    struct posting *posting = slot->posting;
    struct member *last = &posting->members[--posting->n];

    last->entry->slots[last->slot].idx = slot->idx;
    posting->members[slot->idx] = *last;
    if (!posting->n) {
        hmap_remove(&index->postings, &posting->node);
        free(posting->members);
        free(posting->key);
        free(posting);
    }
}

/* Entries. */

static uint32_t
entry_hash(enum adp_kind kind, const char *name)
{
    return adp_secret_hash_string(name, kind);
}

static struct entry *
entry_find(const struct adp_index *index, enum adp_kind kind,
           const char *name)
{
    struct entry *entry;

    HMAP_FOR_EACH_WITH_HASH (entry, node, entry_hash(kind, name),
                             &index->entries) {
        if (entry->kind == kind && !strcmp(entry->name, name)) {
            return entry;
        }
    }
    return NULL;
}

static void
entry_destroy(struct adp_index *index, struct entry *entry)
{
    for (size_t i = 0; i < entry->n_slots; i++) {
        posting_remove(index, &entry->slots[i]);
    }
    index->n_unkeyed -= entry->unkeyed;
    hmap_remove(&index->entries, &entry->node);
    free(entry->slots);
    free(entry->name);
    free(entry);
}

static void
add_group_keys(struct svec *keys, const char *kind,
               const struct adp_names *groups)
{
    for (size_t i = 0; i < groups->n; i++) {
        svec_add_nocopy(keys, xasprintf("%s %s", kind, groups->names[i]));
    }
}

/* The keys of a record.  Returns false if it ought to have some, and doesn't
 * say which. */
static bool
record_keys(const struct adp_record *record, struct svec *keys)
{
    if (record->kind == ADP_KIND_MANIFEST) {
        const struct json *list = shash_find_data(record->json->object,
                                                  "keys");
        for (size_t i = 0; list && i < list->array.n; i++) {
            svec_add(keys, json_string(list->array.elems[i]));
        }
        return list != NULL;
    } else if (record->kind == ADP_KIND_NODE_CONFIG) {
        svec_add(keys, "NodeConfig");
        return true;
    }

    const struct adp_names *applied_to = adp_record_applied_to(record);
    if (applied_to) {
        add_group_keys(keys, "AppliedToGroup", applied_to);
        return true;
    }

    const struct adp_network_policy *policy
        = CONTAINER_OF(record, struct adp_network_policy, up);
    add_group_keys(keys, "AppliedToGroup", &policy->applied_to);
    for (size_t i = 0; i < policy->n_rules; i++) {
        add_group_keys(keys, "AppliedToGroup", &policy->rules[i].applied_to);
        add_group_keys(keys, "AddressGroup",
                       &policy->rules[i].peer.address_groups);
    }
    return true;
}

static void
entry_create(struct adp_index *index, const struct adp_record *record)
{
    struct svec keys = SVEC_EMPTY_INITIALIZER;
    bool keyed = record_keys(record, &keys);
    svec_sort_unique(&keys);

    struct entry *entry = xmalloc(sizeof *entry);
    *entry = (struct entry) {
        .kind = record->kind,
        .name = xstrdup(record->name),
        .unkeyed = !keyed,
        .slots = keys.n ? xmalloc(keys.n * sizeof *entry->slots) : NULL,
        .n_slots = keys.n,
    };
    for (size_t i = 0; i < keys.n; i++) {
        posting_add(index, keys.names[i], entry, i);
    }
    index->n_unkeyed += entry->unkeyed;
    hmap_insert(&index->entries, &entry->node,
                entry_hash(entry->kind, entry->name));
    svec_destroy(&keys);
}

/* The index. */

static void
index_clear(struct adp_index *index)
{
    struct entry *entry;

    HMAP_FOR_EACH_SAFE (entry, node, &index->entries) {
        entry_destroy(index, entry);
        adp_pause();
    }
}

void
adp_index_destroy(struct adp_index *index)
{
    if (index) {
        index_clear(index);
        hmap_destroy(&index->entries);
        hmap_destroy(&index->postings);
        free(index);
    }
}

static bool
bears_keys(enum adp_kind kind)
{
    return (kind == ADP_KIND_MANIFEST || kind == ADP_KIND_NETWORK_POLICY
            || kind == ADP_KIND_NODE_CONFIG || kind == ADP_KIND_EGRESS
            || kind == ADP_KIND_TRAFFIC_CONTROL);
}

static void
index_record(struct adp_index *index, const struct adp_model *model,
             enum adp_kind kind, const char *name)
{
    struct entry *old = entry_find(index, kind, name);
    if (old) {
        entry_destroy(index, old);
    }

    const struct adp_record *record = adp_model_find(model, kind, name);
    if (record) {
        entry_create(index, record);
    }
}

void
adp_index_update(struct adp_index *index, const struct adp_model *model,
                 const struct json *records)
{
    for (size_t i = 0; records && i < records->array.n; i++) {
        const struct shash *members = json_object(records->array.elems[i]);
        const char *kind_name = json_string(shash_find_data(members, "kind"));
        const char *name = json_string(shash_find_data(members, "name"));
        enum adp_kind kind;

        if (adp_kind_from_string(kind_name, &kind) && bears_keys(kind)) {
            index_record(index, model, kind, name);
        }
        adp_pause();
    }
}

void
adp_index_rebuild(struct adp_index *index, const struct adp_model *model)
{
    index_clear(index);
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        if (!bears_keys(kind)) {
            continue;
        }
        size_t n;
        const struct adp_record **records = adp_model_sorted(model, kind, &n);
        for (size_t i = 0; i < n; i++) {
            entry_create(index, records[i]);
            adp_pause();
        }
        free(records);
    }
}

size_t
adp_index_n_unkeyed(const struct adp_index *index)
{
    return index->n_unkeyed;
}

/* Queries. */

struct query_run {
    const struct adp_index *index;
    const struct adp_model *model;
    bool any_kind;              /* Or only this one: */
    enum adp_kind kind;
    struct hmapx found;         /* Contains const struct adp_record *. */
    struct hmapx whole;         /* Contains const struct posting *: all their
                                 * records were found. */
};

static void
found_add(struct query_run *run, enum adp_kind kind, const char *name)
{
    const struct adp_record *record = adp_model_find(run->model, kind, name);

    if (record) {
        hmapx_add(&run->found, CONST_CAST(struct adp_record *, record));
    }
}

static struct adp_error *
query_error(const char *field, size_t i, const char *what)
{
    return adp_error_create("invalid", NULL,
                            xasprintf("%s[%"PRIuSIZE"]", field, i), "%s",
                            what);
}

/* One "KIND NAME". */
static struct adp_error *
find_name(struct query_run *run, const struct json *json, size_t i)
{
    const char *space = (json->type == JSON_STRING
                         ? strchr(json_string(json), ' ') : NULL);
    enum adp_kind kind = ADP_N_KINDS;

    if (space) {
        char *kind_name = xmemdup0(json_string(json),
                                   space - json_string(json));
        if (!adp_kind_from_string(kind_name, &kind)) {
            space = NULL;
        }
        free(kind_name);
    }
    if (!space) {
        return query_error("names", i, "must be a kind of record and a name, "
                           "as in \"Pod default/web\"");
    }
    found_add(run, kind, space + 1);
    return NULL;
}

static bool
entry_bears(const struct entry *entry, const struct posting *posting)
{
    for (size_t i = 0; i < entry->n_slots; i++) {
        if (entry->slots[i].posting == posting) {
            return true;
        }
    }
    return false;
}

/* Adds the records that bear all of the postings. */
static void
intersect(struct query_run *run, struct posting **postings, size_t n)
{
    const struct posting *rarest = postings[0];

    for (size_t i = 0; i < n; i++) {
        if (hmapx_contains(&run->whole, postings[i])) {
            return;
        } else if (postings[i]->n < rarest->n) {
            rarest = postings[i];
        }
    }
    if (n == 1) {
        hmapx_add(&run->whole, postings[0]);
    }
    for (size_t i = 0; i < rarest->n; i++) {
        const struct entry *entry = rarest->members[i].entry;
        bool all = run->any_kind || entry->kind == run->kind;

        for (size_t j = 0; j < n && all; j++) {
            all = entry_bears(entry, postings[j]);
        }
        if (all) {
            found_add(run, entry->kind, entry->name);
        }
        adp_pause();
    }
}

/* One list of keys. */
static struct adp_error *
find_keys(struct query_run *run, const struct json *list, size_t i)
{
    struct adp_error *error = NULL;

    if (list->type != JSON_ARRAY || !list->array.n) {
        return query_error("keys", i, "must be a list of keys, and not an "
                           "empty one");
    }

    size_t n = list->array.n;
    struct posting **postings = xcalloc(n, sizeof *postings);
    bool all = true;
    for (size_t j = 0; j < n && !error; j++) {
        const struct json *key = list->array.elems[j];
        if (key->type != JSON_STRING) {
            error = query_error("keys", i, "must hold strings");
        } else {
            postings[j] = posting_find(run->index, json_string(key));
            all &= postings[j] != NULL;
        }
    }
    if (all && !error) {
        intersect(run, postings, n);
    }
    free(postings);
    return error;
}

static int
compare_found(const void *a_, const void *b_)
{
    const struct adp_record *a = *(const struct adp_record *const *) a_;
    const struct adp_record *b = *(const struct adp_record *const *) b_;

    return (a->kind != b->kind ? (a->kind < b->kind ? -1 : 1)
            : strcmp(a->name, b->name));
}

static struct json *
brief_record(const struct adp_record *record)
{
    struct json *json = json_object_create();

    json_object_put_string(json, "kind", adp_kind_to_string(record->kind));
    json_object_put_string(json, "name", record->name);
    return json;
}

static struct json *
found_to_json(const struct hmapx *found, bool brief)
{
    size_t n = hmapx_count(found);
    const struct adp_record **records = xmalloc((n + 1) * sizeof *records);
    struct json *json = json_array_create_empty();
    const struct hmapx_node *node;
    size_t i = 0;

    HMAPX_FOR_EACH (node, found) {
        records[i++] = node->data;
        adp_pause();
    }
    adp_sort_pointers(records, n, compare_found);
    for (i = 0; i < n; i++) {
        json_array_add(json, (brief ? brief_record(records[i])
                              : json_clone(records[i]->json)));
        adp_pause();
    }
    free(records);
    return json;
}

struct adp_error *
adp_index_query(const struct adp_index *index, const struct adp_model *model,
                const struct adp_query *query, struct json **records)
{
    struct query_run run = {
        .index = index, .model = model, .any_kind = !query->kind,
        .found = HMAPX_INITIALIZER(&run.found),
        .whole = HMAPX_INITIALIZER(&run.whole),
    };
    struct adp_error *error = NULL;

    if (query->kind && !adp_kind_from_string(query->kind, &run.kind)) {
        error = adp_error_create("invalid", NULL, xstrdup("kind"),
                                 "\"%s\" is not a known kind", query->kind);
    }
    for (size_t i = 0; query->names && i < query->names->array.n && !error;
         i++) {
        error = find_name(&run, query->names->array.elems[i], i);
        adp_pause();
    }
    for (size_t i = 0; query->keys && i < query->keys->array.n && !error;
         i++) {
        error = find_keys(&run, query->keys->array.elems[i], i);
    }
    *records = error ? NULL : found_to_json(&run.found, query->brief);
    hmapx_destroy(&run.found);
    hmapx_destroy(&run.whole);
    return error;
}
