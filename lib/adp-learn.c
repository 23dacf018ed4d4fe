/* SPDX-License-Identifier: Apache-2.0 */

/* Each OpenFlow table that has entries has a classifier of its own. */

#include <config.h>
#include "adp-learn.h"
#include "adp-program.h"
#include "classifier.h"
#include "openvswitch/thread.h"
#include "ovs-rcu.h"
#include "util.h"

struct entry {
    struct cls_rule cr;
    struct adp_rule *rule;      /* Owned reference. */
};

struct adp_learn_table {
    struct ovs_mutex mutex;     /* Serializes changes. */
    bool closed OVS_GUARDED_BY(mutex);  /* Refuses insertions. */
    atomic_uint32_t serial;
    atomic_size_t n_entries;
    OVSRCU_TYPE(struct classifier *) tables[ADP_N_TABLES]; /* NULL if unused.
                                                            * Once made, they
                                                            * stay. */
};

void
adp_learned_uninit(struct adp_learned *learned)
{
    adp_rule_unref(learned->rule);
    minimatch_destroy(&learned->fm.match);
    ofpbuf_uninit(&learned->ofpacts);
}

struct adp_learn_table *
adp_learn_table_create(void)
{
    struct adp_learn_table *table = xzalloc(sizeof *table);

    ovs_mutex_init(&table->mutex);
    atomic_init(&table->serial, 0);
    atomic_init(&table->n_entries, 0);
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        ovsrcu_init(&table->tables[i], NULL);
    }
    return table;
}

static void
entry_free(struct entry *entry)
{
    cls_rule_destroy(&entry->cr);
    adp_rule_unref(entry->rule);
    free(entry);
}

static struct entry *
entry_cast(const struct cls_rule *cr)
{
    return cr ? CONTAINER_OF(cr, struct entry, cr) : NULL;
}

static struct classifier *
get_classifier(const struct adp_learn_table *table, uint8_t table_id)
{
    return (table_id < ADP_N_TABLES
            ? ovsrcu_get(struct classifier *, &table->tables[table_id])
            : NULL);
}

static void
table_free(struct adp_learn_table *table)
{
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        struct classifier *cls = get_classifier(table, i);
        struct entry *entry;

        if (!cls) {
            continue;
        }
        CLS_FOR_EACH (entry, cr, cls) {
            classifier_remove_assert(cls, &entry->cr);
            ovsrcu_postpone(entry_free, entry);
        }
        classifier_destroy(cls);
        free(cls);
    }
    ovs_mutex_destroy(&table->mutex);
    free(table);
}

/* Readers may go on until they quiesce. */
void
adp_learn_table_destroy(struct adp_learn_table *table)
{
    if (table) {
        ovsrcu_postpone(table_free, table);
    }
}

static struct classifier *
get_or_create_classifier(struct adp_learn_table *table, uint8_t table_id)
    OVS_REQUIRES(table->mutex)
{
    struct classifier *cls = get_classifier(table, table_id);

    if (!cls) {
        cls = xmalloc(sizeof *cls);
        classifier_init(cls, NULL);
        ovsrcu_set(&table->tables[table_id], cls);
    }
    return cls;
}

static struct entry *
entry_create(const struct ofputil_flow_mod *fm)
{
    struct entry *entry = xmalloc(sizeof *entry);

    entry->rule = adp_rule_create(fm->table_id, fm->priority, &fm->match,
                                  fm->new_cookie, fm->ofpacts,
                                  fm->ofpacts_len, NULL, NULL);
    cls_rule_init_from_minimatch(&entry->cr, &fm->match, fm->priority);
    return entry;
}

static struct entry *
find_entry(const struct classifier *cls, const struct ofputil_flow_mod *fm)
{
    return entry_cast(classifier_find_minimatch_exactly(cls, &fm->match,
                                                        fm->priority,
                                                        OVS_VERSION_MIN));
}

static void
changed(struct adp_learn_table *table)
{
    uint32_t orig;

    atomic_add_explicit(&table->serial, 1, &orig, memory_order_release);
}

uint32_t
adp_learn_table_serial(const struct adp_learn_table *table)
{
    uint32_t serial;

    atomic_read_explicit(&CONST_CAST(struct adp_learn_table *, table)->serial,
                         &serial, memory_order_acquire);
    return serial;
}

bool
adp_learn_table_insert(struct adp_learn_table *table,
                       const struct ofputil_flow_mod *fm)
{
    struct classifier *cls;
    struct entry *old;
    size_t orig;
    bool added = false;

    if (fm->table_id >= ADP_N_TABLES) {
        return false;
    }

    ovs_mutex_lock(&table->mutex);
    if (table->closed) {
        ovs_mutex_unlock(&table->mutex);
        return false;
    }
    cls = get_or_create_classifier(table, fm->table_id);
    old = find_entry(cls, fm);
    if (!old || !ofpacts_equal(old->rule->ops.ofpacts,
                               old->rule->ops.ofpacts_len,
                               fm->ofpacts, fm->ofpacts_len)) {
        struct entry *entry = entry_create(fm);

        classifier_replace(cls, &entry->cr, OVS_VERSION_MIN, NULL, 0);
        if (old) {
            ovsrcu_postpone(entry_free, old);
        } else {
            atomic_add_relaxed(&table->n_entries, 1, &orig);
        }
        changed(table);
        added = true;
    }
    ovs_mutex_unlock(&table->mutex);
    return added;
}

static void
set_closed(struct adp_learn_table *table, bool closed)
{
    ovs_mutex_lock(&table->mutex);
    table->closed = closed;
    ovs_mutex_unlock(&table->mutex);
}

void
adp_learn_table_close(struct adp_learn_table *table)
{
    set_closed(table, true);
}

void
adp_learn_table_open(struct adp_learn_table *table)
{
    set_closed(table, false);
}

void
adp_learn_table_remove(struct adp_learn_table *table,
                       const struct ofputil_flow_mod *fm)
{
    struct classifier *cls;
    struct entry *entry;
    size_t orig;

    ovs_mutex_lock(&table->mutex);
    cls = get_classifier(table, fm->table_id);
    entry = cls ? find_entry(cls, fm) : NULL;
    if (entry) {
        classifier_remove_assert(cls, &entry->cr);
        ovsrcu_postpone(entry_free, entry);
        atomic_sub_relaxed(&table->n_entries, 1, &orig);
        changed(table);
    }
    ovs_mutex_unlock(&table->mutex);
}

size_t
adp_learn_table_count(const struct adp_learn_table *table)
{
    size_t n;

    atomic_read_relaxed(&CONST_CAST(struct adp_learn_table *,
                                    table)->n_entries, &n);
    return n;
}

struct adp_rule *
adp_learn_table_lookup(const struct adp_learn_table *table, uint8_t table_id,
                       const struct flow *flow)
{
    const struct classifier *cls = get_classifier(table, table_id);
    const struct entry *entry;

    if (!cls || classifier_is_empty(cls)) {
        return NULL;
    }
    /* The classifier writes to a flow only for conjunctions, which can't be
     * learned. */
    entry = entry_cast(classifier_lookup(cls, OVS_VERSION_MIN,
                                         CONST_CAST(struct flow *, flow),
                                         NULL));
    return entry ? entry->rule : NULL;
}
