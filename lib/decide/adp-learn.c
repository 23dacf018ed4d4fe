/* SPDX-License-Identifier: Apache-2.0 */

/* Each OpenFlow table that has entries has a classifier of its own, with the
 * generations of programs as versions. */

#include <config.h>
#include "adp-learn.h"
#include "adp-program.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/thread.h"
#include "ovs-rcu.h"
#include "util.h"

struct adp_learner {
    struct hmap_node hmap_node; /* In 'learners'. */
    struct adp_rule *rule;      /* Of its place and actions, and nobody's, so
                                 * that OpenFlow's flow can end.  NULL: of
                                 * flows that came by no entry. */
    size_t n;                   /* Its flows, waiting or in OpenFlow; never 0
                                 * between two calls. */
};

struct adp_learn_table {
    struct ovs_refcount ref_cnt;        /* Batches of retired entries. */
    struct ovs_mutex mutex;             /* Serializes changes. */
    atomic_uint32_t serial;
    OVSRCU_TYPE(struct classifier *) tables[ADP_N_TABLES]; /* NULL if unused.
                                                            * Once made, they
                                                            * stay. */

    struct ovs_list waiting OVS_GUARDED;
    struct hmap learners OVS_GUARDED; /* Those with flows. */
    struct adp_learn_counts counts OVS_GUARDED;
    struct adp_learn_limits limits OVS_GUARDED;
    uint64_t fence OVS_GUARDED;
};

/* Entries that are not in force any more, on their way out. */
struct retired {
    struct adp_learn_table *table;      /* Owned reference. */
    struct ovs_list entries;
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
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct adp_learn_table *table = xzalloc(sizeof *table);

    ovs_refcount_init(&table->ref_cnt);
    ovs_mutex_init(&table->mutex);
    atomic_init(&table->serial, 0);
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        ovsrcu_init(&table->tables[i], NULL);
    }
    ovs_list_init(&table->waiting);
    hmap_init(&table->learners);
    table->limits.per_learner = table->limits.total = SIZE_MAX;
    return table;
}

static void
entry_free(struct adp_learn_entry *entry)
{
    cls_rule_destroy(&entry->cr);
    adp_rule_unref(entry->rule);
    free(entry);
}

static struct adp_learn_entry *
entry_cast(const struct cls_rule *cr)
{
    return cr ? CONTAINER_OF(cr, struct adp_learn_entry, cr) : NULL;
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
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct adp_learner *learner;

    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        struct classifier *cls = get_classifier(table, i);
        struct adp_learn_entry *entry;

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
    HMAP_FOR_EACH_POP (learner, hmap_node, &table->learners) {
        adp_rule_unref(learner->rule);
        free(learner);
    }
    hmap_destroy(&table->learners);
    ovs_mutex_destroy(&table->mutex);
    free(table);
}

static void
table_unref(struct adp_learn_table *table)
{
    if (ovs_refcount_unref(&table->ref_cnt) == 1) {
        table_free(table);
    }
}

void
adp_learn_table_destroy(struct adp_learn_table *table)
{
    if (table) {
        ovsrcu_postpone(table_unref, table);
    }
}

void
adp_learn_table_set_limits(struct adp_learn_table *table,
                           const struct adp_learn_limits *limits)
{
    ovs_mutex_lock(&table->mutex);
    table->limits = *limits;
    ovs_mutex_unlock(&table->mutex);
}

void
adp_learn_table_get_counts(struct adp_learn_table *table,
                           struct adp_learn_counts *counts)
{
    ovs_mutex_lock(&table->mutex);
    *counts = table->counts;
    ovs_mutex_unlock(&table->mutex);
}

bool
adp_learn_table_has(const struct adp_learn_table *table, uint8_t table_id)
{
    const struct classifier *cls = get_classifier(table, table_id);

    return cls && !classifier_is_empty(cls);
}

/* Learners. */

static uint32_t
hash_learner(const struct adp_rule *rule)
{
    return (rule
            ? hash_2words(rule->match_hash,
                          (rule->priority << 8) ^ rule->table_id)
            : 0);
}

static bool
is_learner(const struct adp_learner *learner, const struct adp_rule *rule)
{
    return (learner->rule && rule
            ? (adp_rule_same_place(learner->rule, rule)
               && adp_rule_same_actions(learner->rule, rule))
            : !learner->rule && !rule);
}

/* Counts one more flow of the learner that 'rule' is or took the place of, or
 * of the one without a rule.
 * Returns NULL if there may be no more. */
static struct adp_learner *
learner_count(struct adp_learn_table *table, struct adp_rule *rule)
    OVS_REQUIRES(table->mutex)
{
    uint32_t hash = hash_learner(rule);
    struct adp_learner *learner;

    if (table->counts.total >= table->limits.total) {
        return NULL;
    }
    HMAP_FOR_EACH_WITH_HASH (learner, hmap_node, hash, &table->learners) {
        if (is_learner(learner, rule)) {
            break;
        }
    }
    if (!learner) {
        if (!table->limits.per_learner) {
            return NULL;
        }
        learner = xmalloc(sizeof *learner);
        learner->rule = rule ? adp_rule_clone(rule) : NULL;
        learner->n = 0;
        hmap_insert(&table->learners, &learner->hmap_node, hash);
    } else if (learner->n >= table->limits.per_learner) {
        return NULL;
    }
    learner->n++;
    table->counts.total++;
    return learner;
}

static void
learner_uncount(struct adp_learn_table *table, struct adp_learner *learner)
    OVS_REQUIRES(table->mutex)
{
    table->counts.total--;
    if (!--learner->n) {
        hmap_remove(&table->learners, &learner->hmap_node);
        adp_rule_unref(learner->rule);
        free(learner);
    }
}

void
adp_learner_release(struct adp_learn_table *table,
                    struct adp_learner *learner)
{
    ovs_mutex_lock(&table->mutex);
    learner_uncount(table, learner);
    ovs_mutex_unlock(&table->mutex);
}

struct adp_learner *
adp_learn_table_count_foreign(struct adp_learn_table *table)
{
    ovs_mutex_lock(&table->mutex);
    struct adp_learner *learner = learner_count(table, NULL);
    ovs_mutex_unlock(&table->mutex);

    return learner;
}

/* Coming. */

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

static struct adp_learn_entry *
entry_create(const struct ofputil_flow_mod *fm)
{
    struct adp_learn_entry *entry = xzalloc(sizeof *entry);

    entry->rule = adp_rule_create(fm->table_id, fm->priority, &fm->match,
                                  fm->new_cookie, fm->ofpacts,
                                  fm->ofpacts_len, NULL, NULL);
    cls_rule_init_from_minimatch(&entry->cr, &fm->match, fm->priority);
    entry->fm = *fm;
    entry->fm.match = *entry->rule->match;
    entry->fm.ofpacts = adp_rule_ops(entry->rule)->ofpacts;
    return entry;
}

/* The entry with this match and priority that is not retired. */
static struct adp_learn_entry *
find_entry(const struct classifier *cls, const struct minimatch *match,
           int priority)
{
    return entry_cast(classifier_find_minimatch_exactly(cls, match, priority,
                                                        OVS_VERSION_MAX));
}

static bool
is_same(const struct adp_learn_entry *entry, const struct ofputil_flow_mod *fm)
{
    return ofpacts_equal(entry->fm.ofpacts, entry->fm.ofpacts_len,
                         fm->ofpacts, fm->ofpacts_len);
}

static void
stop_waiting(struct adp_learn_table *table, struct adp_learn_entry *entry)
    OVS_REQUIRES(table->mutex)
{
    ovs_list_remove(&entry->list_node);
    table->counts.waiting--;
}

/* 'successor' has taken the place of 'entry' in the classifier.  Who took it
 * to install it will free it. */
static void
displace(struct adp_learn_table *table, struct adp_learn_entry *entry,
         struct adp_learn_entry *successor)
    OVS_REQUIRES(table->mutex)
{
    entry->displaced = true;
    if (!entry->taken) {
        successor->early = entry->early;
        stop_waiting(table, entry);
        learner_uncount(table, entry->learner);
        ovsrcu_postpone(entry_free, entry);
    }
}

static enum adp_learn_result
insert(struct adp_learn_table *table, struct classifier *cls,
       const struct adp_learned *learned)
    OVS_REQUIRES(table->mutex)
{
    struct adp_learn_entry *old = find_entry(cls, &learned->fm.match,
                                             learned->fm.priority);

    if (old && is_same(old, &learned->fm)) {
        return ADP_LEARN_KNOWN;
    }

    struct adp_learner *learner = learner_count(table, learned->rule);
    if (!learner) {
        return ADP_LEARN_FULL;
    }

    bool first = ovs_list_is_empty(&table->waiting);
    struct adp_learn_entry *entry = entry_create(&learned->fm);
    uint32_t orig;

    entry->learner = learner;
    ovs_list_push_back(&table->waiting, &entry->list_node);
    table->counts.waiting++;
    classifier_replace(cls, &entry->cr, OVS_VERSION_MIN, NULL, 0);
    if (old) {
        displace(table, old, entry);
    }
    atomic_add_explicit(&table->serial, 1, &orig, memory_order_release);
    return first ? ADP_LEARN_ADDED_FIRST : ADP_LEARN_ADDED;
}

enum adp_learn_result
adp_learn_table_insert(struct adp_learn_table *table,
                       const struct adp_learned *learned, uint64_t generation)
{
    enum adp_learn_result result;

    if (learned->fm.table_id >= ADP_N_TABLES) {
        return ADP_LEARN_FULL;
    }

    ovs_mutex_lock(&table->mutex);
    if (generation < table->fence) {
        result = ADP_LEARN_LATE;
    } else {
        result = insert(table, get_or_create_classifier(table,
                                                        learned->fm.table_id),
                        learned);
    }
    ovs_mutex_unlock(&table->mutex);
    return result;
}

uint32_t
adp_learn_table_serial(const struct adp_learn_table *table)
{
    uint32_t serial;

    atomic_read_explicit(&CONST_CAST(struct adp_learn_table *, table)->serial,
                         &serial, memory_order_acquire);
    return serial;
}

/* Going. */

size_t
adp_learn_table_take(struct adp_learn_table *table,
                     struct adp_learn_entry *entries[], size_t max)
{
    size_t n = 0;

    ovs_mutex_lock(&table->mutex);
    while (n < max && !ovs_list_is_empty(&table->waiting)) {
        struct adp_learn_entry *entry
            = CONTAINER_OF(ovs_list_front(&table->waiting),
                           struct adp_learn_entry, list_node);

        stop_waiting(table, entry);
        entry->taken = true;
        entries[n++] = entry;
    }
    ovs_mutex_unlock(&table->mutex);
    return n;
}

void
adp_learn_table_credit(struct adp_learn_table *table,
                       const struct adp_rule *rule,
                       const struct adp_stats_delta *delta)
{
    const struct classifier *cls = get_classifier(table, rule->table_id);

    if (!cls) {
        return;
    }
    ovs_mutex_lock(&table->mutex);
    struct adp_learn_entry *entry = find_entry(cls, rule->match,
                                               rule->priority);
    if (entry && !entry->taken) {
        entry->early.n_packets += delta->n_packets;
        entry->early.n_bytes += delta->n_bytes;
        entry->early.used = MAX(entry->early.used, delta->used);
        entry->early.tcp_flags |= delta->tcp_flags;
    }
    ovs_mutex_unlock(&table->mutex);
}

struct adp_learner *
adp_learn_entry_hand_over(struct adp_learn_entry *entry)
{
    struct adp_learner *learner = entry->learner;

    entry->learner = NULL;
    return learner;
}

/* Called when no walk is left that could find the entries.  The lock is held
 * for one at a time: packet threads wait for it. */
static void
retired_free(struct retired *r)
{
    struct adp_learn_table *table = r->table;
    struct adp_learn_entry *entry;

    LIST_FOR_EACH_POP (entry, list_node, &r->entries) {
        if (!entry->displaced) {
            struct classifier *cls = get_classifier(table, entry->fm.table_id);

            ovs_mutex_lock(&table->mutex);
            classifier_remove_assert(cls, &entry->cr);
            ovs_mutex_unlock(&table->mutex);
        }
        ovsrcu_postpone(entry_free, entry);
    }
    table_unref(table);
    free(r);
}

static struct retired *
retired_create(struct adp_learn_table *table)
{
    struct retired *r = xmalloc(sizeof *r);

    ovs_refcount_ref(&table->ref_cnt);
    r->table = table;
    ovs_list_init(&r->entries);
    return r;
}

static void
retire(struct adp_learn_table *table, struct adp_learn_entry *entry,
       uint64_t generation, struct retired *r)
    OVS_REQUIRES(table->mutex)
{
    if (!entry->displaced) {
        cls_rule_make_invisible_in_version(&entry->cr, generation);
    }
    if (entry->learner) {
        learner_uncount(table, entry->learner);
        entry->learner = NULL;
    }
    ovs_list_push_back(&r->entries, &entry->list_node);
}

void
adp_learn_table_retire(struct adp_learn_table *table,
                       struct adp_learn_entry *entries[], size_t n,
                       uint64_t generation)
{
    struct retired *r = retired_create(table);

    for (size_t i = 0; i < n; i++) {
        ovs_mutex_lock(&table->mutex);
        retire(table, entries[i], generation, r);
        ovs_mutex_unlock(&table->mutex);
    }
    ovsrcu_postpone(retired_free, r);
}

void
adp_learn_table_fence(struct adp_learn_table *table, uint64_t generation,
                      bool (*is_gone)(const struct adp_rule *, const void *),
                      const void *aux)
{
    const struct adp_learner *checked = NULL;
    struct retired *r = retired_create(table);
    struct adp_learn_entry *entry;
    bool gone = false;

    ovs_mutex_lock(&table->mutex);
    table->fence = generation;
    LIST_FOR_EACH_SAFE (entry, list_node, &table->waiting) {
        /* Those of one learner often wait side by side. */
        if (entry->learner != checked) {
            checked = entry->learner;
            gone = is_gone(checked->rule, aux);
        }
        if (gone) {
            stop_waiting(table, entry);
            retire(table, entry, generation, r);
            checked = NULL;     /* May be freed. */
        }
    }
    ovs_mutex_unlock(&table->mutex);
    ovsrcu_postpone(retired_free, r);
}

/* Looking up. */

struct adp_rule *
adp_learn_table_lookup(const struct adp_learn_table *table, uint8_t table_id,
                       const struct flow *flow, uint64_t generation)
{
    const struct classifier *cls = get_classifier(table, table_id);
    const struct adp_learn_entry *entry;

    if (!cls || classifier_is_empty(cls)) {
        return NULL;
    }
    /* The classifier writes to a flow only for conjunctions, which can't be
     * learned. */
    entry = entry_cast(classifier_lookup(cls, generation,
                                         CONST_CAST(struct flow *, flow),
                                         NULL));
    return entry ? entry->rule : NULL;
}
