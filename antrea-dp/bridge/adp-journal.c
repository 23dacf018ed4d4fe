/* SPDX-License-Identifier: Apache-2.0 */

/* What happens to the OpenFlow tables, on its way into the next program.
 *
 * Upstream tells of every rule that enters or leaves the tables before it
 * publishes the version that they belong to.  They are collected in a delta;
 * when the version is closed, the delta is compiled and the new program
 * published, while ofproto_mutex is still held: whoever changed the tables
 * gets its reply only afterwards.  A transaction that fails gives the inverse
 * calls and closes nothing; the delta is then empty again, and what it removed
 * is back as it was: what else the end of a flow brings about waits until the
 * version is closed, too.
 *
 * Groups are read when the version closes, because upstream completes a
 * changed group only after it was constructed.
 *
 * What upstream tells of may be of several versions: those of a bundle that
 * has port mods between its mods.  The first that it publishes closes all of
 * them. */

#include <config.h>
#include "adp-journal.h"

#include "adp-bridge-private.h"
#include "adp-turn.h"
#include "hash.h"
#include "ofproto/ofproto-provider.h"

struct learned_rule {
    struct hmap_node node;              /* By address of 'rule'. */
    const struct rule *rule;
    struct adp_learner *learner;        /* That it was learned from. */
};

/* A flow that leaves with the version that is open. */
struct removed_rule {
    struct hmap_node node;              /* By address of 'rule->owner'. */
    struct adp_rule *rule;              /* Owned reference. */
    struct learned_rule *learned;       /* NULL: it wasn't. */
};

struct dirty_group {
    struct hmap_node node;              /* By 'id'. */
    uint32_t id;
};

void
adp_journal_init(struct adp_bridge *b)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    hmap_init(&b->own->learned);
    hmap_init(&b->own->removed);
    hmap_init(&b->own->dirty_groups);
    b->own->journal = adp_delta_create();
    b->own->empty = true;
    b->own->emptied = false;
    ovsrcu_init(&b->program, adp_program_create());
}

void
adp_journal_uninit(struct adp_bridge *b)
{
    struct learned_rule *lr;
    struct removed_rule *rr;
    struct dirty_group *dg;

    for (size_t i = 0; i < ARRAY_SIZE(b->own->rules); i++) {
        struct adp_rule *rule;

        ADP_RULE_SET_FOR_EACH (rule, place, &b->own->rules[i]) {
            adp_rule_unref(rule);
        }
        adp_rule_set_uninit(&b->own->rules[i]);
    }
    HMAP_FOR_EACH_POP (lr, node, &b->own->learned) {
        free(lr);
    }
    hmap_destroy(&b->own->learned);
    HMAP_FOR_EACH_POP (rr, node, &b->own->removed) {
        adp_rule_unref(rr->rule);
        free(rr->learned);
        free(rr);
    }
    hmap_destroy(&b->own->removed);
    HMAP_FOR_EACH_POP (dg, node, &b->own->dirty_groups) {
        free(dg);
    }
    hmap_destroy(&b->own->dirty_groups);
    adp_delta_destroy(b->own->journal);
    adp_program_unref(ovsrcu_get_protected(struct adp_program *,
                                           &b->program));
}

static void
release_rule(void *rule)
{
    ofproto_rule_unref(rule);
}

static void
release_group(void *group)
{
    ofproto_group_unref(group);
}

/* The set of rules that 'rule' is part of, or belongs to. */
static struct adp_rule_set *
set_of(const struct adp_bridge *b, const struct rule *rule)
    OVS_REQUIRES(ofproto_mutex)
{
    BUILD_ASSERT(ADP_JOURNAL_TABLES == 1 << 6);
    return &b->own->rules[adp_rule_set_choose(rule, 6)];
}

static void
note_learned(struct adp_bridge *b, const struct rule *rule,
             struct adp_learner *learner)
    OVS_REQUIRES(ofproto_mutex)
{
    struct learned_rule *lr = xmalloc(sizeof *lr);

    lr->rule = rule;
    lr->learner = learner;
    hmap_insert(&b->own->learned, &lr->node, hash_pointer(rule, 0));
}

/* Takes what note_learned() noted of 'rule' out.  Returns NULL if that wasn't
 * learned. */
static struct learned_rule *
take_learned(struct adp_bridge *b, const struct rule *rule)
    OVS_REQUIRES(ofproto_mutex)
{
    struct learned_rule *lr;

    HMAP_FOR_EACH_WITH_HASH (lr, node, hash_pointer(rule, 0),
                             &b->own->learned) {
        if (lr->rule == rule) {
            hmap_remove(&b->own->learned, &lr->node);
            return lr;
        }
    }
    return NULL;
}

/* There is room for another one now, if there was one. */
static void
forget_learned(struct adp_bridge *b, struct learned_rule *lr)
{
    if (lr) {
        adp_learner_release(b->learn, lr->learner);
        free(lr);
    }
}

/* Takes over the reference. */
static void
note_removed(struct adp_bridge *b, struct adp_rule *rule,
             struct learned_rule *learned)
    OVS_REQUIRES(ofproto_mutex)
{
    struct removed_rule *rr = xmalloc(sizeof *rr);

    rr->rule = rule;
    rr->learned = learned;
    hmap_insert(&b->own->removed, &rr->node, hash_pointer(rule->owner, 0));
}

/* Returns what was compiled from 'rule', with its reference, if that left with
 * the version that is open, and takes that back; otherwise NULL. */
static struct adp_rule *
take_back(struct adp_bridge *b, const struct rule *rule)
    OVS_REQUIRES(ofproto_mutex)
{
    uint32_t hash = hash_pointer(rule, 0);
    struct removed_rule *rr;

    HMAP_FOR_EACH_WITH_HASH (rr, node, hash, &b->own->removed) {
        if (rr->rule->owner == rule) {
            struct adp_rule *compiled = rr->rule;

            if (rr->learned) {
                hmap_insert(&b->own->learned, &rr->learned->node, hash);
            }
            hmap_remove(&b->own->removed, &rr->node);
            free(rr);
            return compiled;
        }
    }
    return NULL;
}

/* What upstream does when nobody refers to a flow any more, and somebody waits
 * for: it tells of its end, or gives back the tunnel options that it names, so
 * that these can be defined anew. */
static bool
is_end_awaited(const struct rule *rule)
    OVS_REQUIRES(ofproto_mutex)
{
    return (rule->flags & OFPUTIL_FF_SEND_FLOW_REM
            || rule->match_tlv_bitmap || rule->ofpacts_tlv_bitmap);
}

/* The version is closed that they leave with. */
static void
forget_removed(struct adp_bridge *b)
    OVS_REQUIRES(ofproto_mutex)
{
    struct removed_rule *rr;

    HMAP_FOR_EACH_POP (rr, node, &b->own->removed) {
        const struct rule *rule = rr->rule->owner;

        forget_learned(b, rr->learned);
        if (is_end_awaited(rule) && !rr->rule->n_conjs) {
            adp_rule_await_end(rr->rule);
        }
        adp_rule_unref(rr->rule);
        free(rr);
    }
    hmap_shrink(&b->own->removed);
}

void
adp_journal_for_each(const struct adp_bridge *b, size_t part,
                     void (*cb)(const struct rule *, void *aux), void *aux)
{
    const struct adp_rule *rule;

    adp_bridge_lock_tables();
    ADP_RULE_SET_FOR_EACH (rule, place, &b->own->rules[part]) {
        cb(rule->owner, aux);
    }
    ovs_mutex_unlock(&ofproto_mutex);
}

static uint32_t
hash_place(const struct rule *rule)
{
    return minimatch_hash(&rule->cr.match,
                          hash_2words(rule->table_id, rule->cr.priority));
}

bool
adp_journal_may_learn(struct adp_bridge *b, const struct rule *rule)
{
    if (!b->own->stock_learning.learner) {
        b->own->stock_learning.learner
            = adp_learn_table_count_foreign(b->learn);
    }
    b->own->stock_learning.hash = hash_place(rule);
    if (!b->own->stock_learning.learner) {
        adp_count(&b->counters.unlearned, 1);
    }
    return b->own->stock_learning.learner != NULL;
}

/* Whose flow 'rule' is, or NULL. */
static struct adp_learner *
find_learner(struct adp_bridge *b, const struct rule *rule)
    OVS_REQUIRES(ofproto_mutex)
{
    struct adp_learner *learner = NULL;

    if (b->own->installing) {
        learner = adp_learn_entry_hand_over(b->own->installing);
    } else if (b->own->stock_learning.learner
               && b->own->stock_learning.hash == hash_place(rule)) {
        learner = b->own->stock_learning.learner;
        b->own->stock_learning.learner = NULL;
    }
    return learner;
}

void
adp_journal_run(struct adp_bridge *b)
{
    adp_bridge_lock_tables();
    if (b->own->stock_learning.learner) {
        adp_learner_release(b->learn, b->own->stock_learning.learner);
        b->own->stock_learning.learner = NULL;
    }
    ovs_mutex_unlock(&ofproto_mutex);
}

static struct adp_rule *
compile_rule(struct adp_bridge *b, struct rule *rule)
    OVS_REQUIRES(ofproto_mutex)
{
    const struct rule_actions *actions = rule_get_actions(rule);
    struct adp_learner *learner = find_learner(b, rule);

    if (learner) {
        note_learned(b, rule, learner);
    }
    ofproto_rule_ref(rule);
    return adp_rule_create(rule->table_id, rule->cr.priority, &rule->cr.match,
                           rule->flow_cookie, actions->ofpacts,
                           actions->ofpacts_len, rule, release_rule);
}

/* Is 'rule' a flow that OpenFlow shows?  Upstream has hidden ones, above all
 * others, for in-band control and where a bridge fails open. */
static bool
is_visible(const struct rule *rule)
{
    return rule->cr.priority <= UINT16_MAX;
}

void
adp_journal_rule_inserted(struct adp_bridge *b, struct rule *rule)
{
    if (rule->table_id >= ADP_N_TABLES - 1) {
        return;                         /* Upstream's internal table. */
    }

    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_COMPILE);
    struct adp_rule *compiled = take_back(b, rule);

    if (!compiled) {
        compiled = compile_rule(b, rule);
    }
    adp_rule_set_add(set_of(b, rule), compiled);
    b->own->n_rules += is_visible(rule);
    adp_delta_add_rule(b->own->journal, compiled);
    adp_turn_leave(outer);
}

void
adp_journal_rule_removed(struct adp_bridge *b, struct rule *rule)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_COMPILE);
    struct adp_rule_set *set = set_of(b, rule);
    struct adp_rule *compiled = adp_rule_set_find(set, rule);

    if (compiled) {
        struct learned_rule *learned = take_learned(b, rule);

        adp_rule_set_remove(set, compiled);
        b->own->n_rules -= is_visible(rule);
        if (adp_delta_remove_rule(b->own->journal, compiled)) {
            note_removed(b, compiled, learned);
        } else {
            /* It came with this very version. */
            forget_learned(b, learned);
            adp_rule_unref(compiled);
        }
    }
    adp_turn_leave(outer);
}

void
adp_journal_group_changed(struct adp_bridge *b, uint32_t group_id)
{
    struct dirty_group *dg;

    HMAP_FOR_EACH_WITH_HASH (dg, node, hash_int(group_id, 0),
                             &b->own->dirty_groups) {
        if (dg->id == group_id) {
            return;
        }
    }
    dg = xmalloc(sizeof *dg);
    dg->id = group_id;
    hmap_insert(&b->own->dirty_groups, &dg->node, hash_int(group_id, 0));
}

static void
journal_read_group(struct adp_bridge *b, uint32_t group_id)
    OVS_REQUIRES(ofproto_mutex)
{
    struct ofgroup *group = ofproto_group_lookup(&b->dpif.up, group_id,
                                                 OVS_VERSION_MAX, true);
    if (group) {
        const struct adp_program *program
            = ovsrcu_get_protected(struct adp_program *, &b->program);
        struct adp_group *compiled = adp_group_create(
            group_id, group->type, &group->buckets, &group->props,
            adp_program_get_group(program, group_id), group, release_group);
        adp_delta_set_group(b->own->journal, compiled);
        adp_group_unref(compiled);
    } else {
        adp_delta_remove_group(b->own->journal, group_id);
    }
}

/* True if there is no flow any more that learns as 'learner' did. */
static bool
is_gone(const struct adp_rule *learner, const void *b)
{
    struct rule *rule = adp_bridge_find_rule(b, learner->table_id,
                                             learner->match,
                                             learner->priority);
    if (!rule) {
        return true;
    }

    const struct rule_actions *actions = rule_get_actions(rule);
    return !ofpacts_equal(actions->ofpacts, actions->ofpacts_len,
                          adp_rule_ops(learner)->ofpacts,
                          adp_rule_ops(learner)->ofpacts_len);
}

/* Flows with learn() that are gone from the program of 'generation' on teach
 * nothing any more. */
static void
fence_learning(struct adp_bridge *b, uint64_t generation)
    OVS_REQUIRES(ofproto_mutex)
{
    const struct removed_rule *rr;

    HMAP_FOR_EACH (rr, node, &b->own->removed) {
        if (adp_rule_learns(rr->rule) && is_gone(rr->rule, b)) {
            adp_learn_table_fence(b->learn, generation, is_gone, b);
            return;
        }
    }
}

static void
journal_publish(struct adp_bridge *b)
    OVS_REQUIRES(ofproto_mutex)
{
    struct adp_program *old = ovsrcu_get_protected(struct adp_program *,
                                                   &b->program);
    struct adp_program *program = adp_compile(old, b->own->journal);

    fence_learning(b, program->generation);
    ovsrcu_set(&b->program, program);
    adp_program_unref(old);
    adp_delta_destroy(b->own->journal);
    b->own->journal = adp_delta_create();
}

/* Notes that a version leaves the bridge without a flow.  A built-in pipeline
 * comes back then: until it has, nothing passes, not even by what upstream
 * puts into an empty bridge. */
static void
note_emptiness(struct adp_bridge *b)
    OVS_REQUIRES(ofproto_mutex)
{
    bool empty = !b->own->n_rules;

    if (empty && !b->own->empty && b->own->keeps_pipeline) {
        b->own->emptied = true;
        atomic_store_relaxed(&b->mode, ADP_MODE_CLOSED);
    }
    b->own->filled |= !empty && b->own->empty;
    b->own->empty = empty;
}

void
adp_journal_close_version(struct adp_bridge *b)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_COMPILE);
    struct dirty_group *dg;

    note_emptiness(b);
    HMAP_FOR_EACH_POP (dg, node, &b->own->dirty_groups) {
        journal_read_group(b, dg->id);
        free(dg);
    }
    hmap_shrink(&b->own->dirty_groups);
    if (!adp_delta_is_empty(b->own->journal)) {
        journal_publish(b);
    }
    forget_removed(b);
    adp_turn_leave(outer);
}

void
adp_journal_read_misses(struct adp_bridge *b)
{
    const struct adp_program *program
        = ovsrcu_get(struct adp_program *, &b->program);
    bool changed = false;

    for (uint8_t id = 0; id <= ADP_LAST_TABLE; id++) {
        changed |= (ofproto_table_get_miss_config(&b->dpif.up, id)
                    != program->misses[id]);
    }
    if (OVS_LIKELY(!changed)) {
        return;
    }

    adp_bridge_lock_tables();
    for (uint8_t id = 0; id <= ADP_LAST_TABLE; id++) {
        adp_delta_set_miss(b->own->journal, id,
                           ofproto_table_get_miss_config(&b->dpif.up, id));
    }
    journal_publish(b);
    ovs_mutex_unlock(&ofproto_mutex);
}

void
adp_journal_set_answers(struct adp_bridge *b,
                        const struct adp_answers *answers)
{
    const struct adp_program *program
        = ovsrcu_get(struct adp_program *, &b->program);
    bool same = !memcmp(&program->answers, answers, sizeof *answers);

    adp_bridge_lock_tables();
    adp_delta_set_answers(b->own->journal, same ? NULL : answers);
    ovs_mutex_unlock(&ofproto_mutex);
}

void
adp_journal_declare_metadata(struct adp_bridge *b, const uint32_t *words)
{
    const struct adp_program *program
        = ovsrcu_get(struct adp_program *, &b->program);
    bool same = !memcmp(program->declared, words, sizeof program->declared);

    adp_bridge_lock_tables();
    adp_delta_declare_metadata(b->own->journal, same ? NULL : words);
    ovs_mutex_unlock(&ofproto_mutex);
}

void
adp_journal_publish_settings(struct adp_bridge *b)
{
    adp_bridge_lock_tables();
    if (!adp_delta_is_empty(b->own->journal)) {
        journal_publish(b);
    }
    ovs_mutex_unlock(&ofproto_mutex);
}

void
adp_journal_keep_pipeline(struct adp_bridge *b, bool keeps)
{
    adp_bridge_lock_tables();
    b->own->keeps_pipeline = keeps;
    ovs_mutex_unlock(&ofproto_mutex);
}

void
adp_journal_take_flush(struct adp_bridge *b, struct adp_journal_flush *flush)
{
    adp_bridge_lock_tables();
    flush->emptied = b->own->emptied;
    flush->filled = b->own->filled;
    b->own->emptied = b->own->filled = false;
    ovs_mutex_unlock(&ofproto_mutex);
}

bool
adp_journal_was_flushed(struct adp_bridge *b)
{
    adp_bridge_lock_tables();
    bool flushed = b->own->emptied || b->own->filled;
    ovs_mutex_unlock(&ofproto_mutex);

    return flushed;
}
