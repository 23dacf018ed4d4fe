/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of ofproto.c: hooks and access to its statics. */

#include "dp-hooks-ofproto.h"

#include "fail-open.h"
#include "vswitch-idl.h"

void
dp_hook_rule_inserted(struct ofproto *ofproto, struct rule *rule)
{
    if (dp_hooks && dp_hooks->rule_inserted) {
        dp_hooks->rule_inserted(ofproto, rule);
    }
}

void
dp_hook_rule_removed(struct ofproto *ofproto, struct rule *rule)
{
    if (dp_hooks && dp_hooks->rule_removed) {
        dp_hooks->rule_removed(ofproto, rule);
    }
}

void
dp_hook_group_removed(struct ofproto *ofproto, uint32_t group_id)
{
    if (dp_hooks && dp_hooks->group_removed) {
        dp_hooks->group_removed(ofproto, group_id);
    }
}

/* Upstream frees the criteria of a flow mod that learned, and learns by it
 * once more when the flow has gone, if megaflows haven't been looked at in
 * between: it gets them again. */
static void
renew_criteria(struct ofproto_flow_mod *ofm)
{
    const struct rule *rule = ofm->temp_rule;

    if (ofm->criteria.version == OVS_VERSION_NOT_REMOVED) {
        rule_criteria_init(&ofm->criteria, rule->table_id, &rule->cr.match,
                           rule->cr.priority, OVS_VERSION_MAX, 0, 0, OFPP_ANY,
                           OFPG_ANY);
        rule_criteria_require_rw(&ofm->criteria, false);
    }
}

bool
dp_hook_may_learn(struct ofproto_flow_mod *ofm)
{
    const struct rule *rule = ofm->temp_rule;

    if (dp_hooks && dp_hooks->may_learn
        && !dp_hooks->may_learn(rule->ofproto, rule)) {
        return false;
    }
    renew_criteria(ofm);
    return true;
}

/* Constructs the group of an 'ogm' that inserts or removes buckets once more,
 * now that it has all of them.  Upstream chooses how a group selects, by a map
 * of buckets perhaps, when it is constructed: it had those then that are to be
 * inserted, or none.  Nobody else can see it yet. */
void
dp_hook_buckets_copied(struct ofproto_group_mod *ogm)
    OVS_REQUIRES(ofproto_mutex)
{
    struct ofgroup *group = ogm->new_group;
    const struct ofproto_class *class = group->ofproto->ofproto_class;
    struct bucket_counter *counters;
    struct ofputil_bucket *bucket;
    size_t n = 0;

    if (ogm->gm.command != OFPGC15_INSERT_BUCKET
        && ogm->gm.command != OFPGC15_REMOVE_BUCKET) {
        return;
    }
    /* What copied buckets have counted stays.  No group of dpif's fails to be
     * constructed. */
    counters = xmalloc(group->n_buckets * sizeof *counters);
    LIST_FOR_EACH (bucket, list_node, &group->buckets) {
        counters[n++] = bucket->stats;
    }
    class->group_destruct(group);
    class->group_construct(group);
    n = 0;
    LIST_FOR_EACH (bucket, list_node, &group->buckets) {
        bucket->stats = counters[n++];
    }
    free(counters);
}

/* Brings back the groups that a group mod deleted, and the flows that went
 * with them.  What upstream does instead aborts: it inserts each flow while
 * its group can't be found yet, and into the very list that it goes
 * through. */
void
dp_hook_group_mod_reverts(struct ofproto *ofproto,
                          struct ofproto_group_mod *ogm)
    OVS_REQUIRES(ofproto_mutex)
{
    struct rule_collection rules;
    struct ofgroup *group;
    struct rule *rule;

    if (ogm->new_group) {
        return;
    }
    rule_collection_init(&rules);
    GROUP_COLLECTION_FOR_EACH (group, &ogm->old_groups) {
        ofproto->n_groups[group->type]++;
        group->being_deleted = false;
        versions_set_remove_version(&group->versions,
                                    OVS_VERSION_NOT_REMOVED);
        RULE_COLLECTION_FOR_EACH (rule, &group->rules) {
            rule_collection_add(&rules, rule);
        }
        rule_collection_destroy(&group->rules);
    }
    delete_flows_revert__(ofproto, &rules);
    rule_collection_destroy(&rules);
    /* Nothing is left to upstream. */
    group_collection_destroy(&ogm->old_groups);
}

/* 'rule', which is being inserted, was added to the group already?  A flow may
 * name a group twice, and upstream aborts when it deletes one of that group
 * twice. */
bool
dp_hook_group_has_newest(struct ofgroup *group, const struct rule *rule)
{
    size_t n = rule_collection_n(&group->rules);

    return n && rule_collection_rules(&group->rules)[n - 1] == rule;
}

void
dp_hook_daemon_configured(const struct smap *other_config)
{
    if (dp_hooks && dp_hooks->daemon_configured) {
        dp_hooks->daemon_configured(other_config);
    }
}

void
dp_hook_bridge_configured(struct ofproto *ofproto,
                          const struct ovsrec_bridge *row)
{
    if (dp_hooks && dp_hooks->bridge_configured) {
        dp_hooks->bridge_configured(ofproto, &row->header_.uuid,
                                    &row->other_config, &row->external_ids);
    }
}

/* One step of a commit. */
struct commit_step {
    bool is_group;
    size_t index;               /* In the caller's numbering. */
    union {
        struct ofproto_flow_mod ofm;
        struct ofproto_group_mod ogm;
    };
};

/* So many are on the stack. */
#define FEW_STEPS 36

static bool
group_mod_deletes(const struct ofputil_group_mod *gm)
{
    return gm->command == OFPGC11_DELETE;
}

/* Fills 'step' for a group mod.  'gm' stays the caller's: the step gets copies
 * of what ofproto takes over. */
static void
commit_step_init_group(struct commit_step *step,
                       const struct ofputil_group_mod *gm, size_t index)
{
    memset(step, 0, sizeof *step);
    step->is_group = true;
    step->index = index;
    step->ogm.gm = *gm;
    ovs_list_init(&step->ogm.gm.buckets);
    ofputil_bucket_clone_list(&step->ogm.gm.buckets, &gm->buckets, NULL);
    ofputil_group_properties_copy(&step->ogm.gm.props, &gm->props);
}

static enum ofperr
commit_step_init_flow(struct ofproto *ofproto, struct commit_step *step,
                      const struct ofputil_flow_mod *fm, size_t index)
{
    memset(step, 0, sizeof *step);
    step->index = index;
    return ofproto_flow_mod_init(ofproto, &step->ofm, fm, NULL);
}

/* Fills 'step' to delete flows whatever they match, or with 'strict' the one
 * of 'priority' that matches everything. */
static enum ofperr
commit_step_init_deletion(struct ofproto *ofproto, struct commit_step *step,
                          uint8_t table_id, bool strict, int priority,
                          size_t index)
{
    struct ofputil_flow_mod fm = {
        .command = strict ? OFPFC_DELETE_STRICT : OFPFC_DELETE,
        .table_id = table_id,
        .priority = priority,
        .buffer_id = UINT32_MAX,
        .out_port = OFPP_ANY,
        .out_group = OFPG_ANY,
    };

    minimatch_init_catchall(&fm.match);
    enum ofperr error = commit_step_init_flow(ofproto, step, &fm, index);
    minimatch_destroy(&fm.match);
    return error;
}

/* Fills 'step' to delete all flows that OpenFlow shows. */
static enum ofperr
commit_step_init_no_flows(struct ofproto *ofproto, struct commit_step *step,
                          size_t index)
{
    return commit_step_init_deletion(ofproto, step, OFPTT_ALL, false, 0,
                                     index);
}

/* Fills 'step' to delete the hidden flow by which a bridge fails open.  It
 * comes back when the bridge is flushed, if it is to. */
static enum ofperr
commit_step_init_no_fail_open(struct ofproto *ofproto,
                              struct commit_step *step, size_t index)
{
    return commit_step_init_deletion(ofproto, step, 0, true,
                                     FAIL_OPEN_PRIORITY, index);
}

/* Fills 'step' to delete all groups. */
static void
commit_step_init_no_groups(struct commit_step *step, size_t index)
{
    struct ofputil_group_mod gm = {
        .command = OFPGC11_DELETE,
        .group_id = OFPG_ALL,
        .command_bucket_id = OFPG15_BUCKET_ALL,
    };

    ovs_list_init(&gm.buckets);
    commit_step_init_group(step, &gm, index);
}

/* Starts a strict deletion in one table by its match, whatever the cookie
 * mask: if that is all ones, upstream looks through all rules with the
 * cookie. */
static enum ofperr
commit_step_start_deletion(struct ofproto *ofproto, struct commit_step *step)
    OVS_REQUIRES(ofproto_mutex)
{
    struct ofproto_flow_mod *ofm = &step->ofm;
    const struct rule_criteria *c = &ofm->criteria;
    enum ofperr error = 0;
    size_t n_readonly = 0;

    rule_collection_init(&ofm->old_rules);
    rule_collection_init(&ofm->new_rules);
    if (c->table_id >= ofproto->n_tables) {
        error = OFPERR_OFPBRC_BAD_TABLE_ID;
    } else {
        struct rule *rule = rule_from_cls_rule(classifier_find_rule_exactly(
            &ofproto->tables[c->table_id].cls, &c->cr, c->version));

        if (rule) {
            collect_rule(rule, c, &ofm->old_rules, &n_readonly);
        }
        if (n_readonly) {
            error = OFPERR_OFPBRC_EPERM;
        } else {
            delete_flows_start__(ofproto, ofm->version, &ofm->old_rules);
        }
    }
    ofproto_flow_mod_uninit(ofm);
    return error;
}

static enum ofperr
commit_step_start(struct ofproto *ofproto, struct commit_step *step,
                  ovs_version_t version)
    OVS_REQUIRES(ofproto_mutex)
{
    if (step->is_group) {
        step->ogm.version = version;
        return ofproto_group_mod_start(ofproto, &step->ogm);
    }
    step->ofm.version = version;
    ofproto_table_classifier_defer(ofproto, &step->ofm);
    return (step->ofm.command == OFPFC_DELETE_STRICT
            ? commit_step_start_deletion(ofproto, step)
            : ofproto_flow_mod_start(ofproto, &step->ofm));
}

static void
commit_step_revert(struct ofproto *ofproto, struct commit_step *step)
    OVS_REQUIRES(ofproto_mutex)
{
    if (step->is_group) {
        ofproto_group_mod_revert(ofproto, &step->ogm);
    } else {
        ofproto_table_classifier_defer(ofproto, &step->ofm);
        ofproto_flow_mod_revert(ofproto, &step->ofm);
    }
}

static enum ofperr
commit_step_finish(struct ofproto *ofproto, struct commit_step *step)
    OVS_REQUIRES(ofproto_mutex)
{
    if (step->is_group) {
        ofproto_group_mod_finish(ofproto, &step->ogm, NULL);
        return 0;
    }
    return ofproto_flow_mod_finish(ofproto, &step->ofm, NULL);
}

/* Starts all steps; on an error takes back those that were started. */
static enum ofperr
commit_start(struct ofproto *ofproto, struct commit_step *steps, size_t n,
             ovs_version_t version, size_t *culprit)
    OVS_REQUIRES(ofproto_mutex)
{
    enum ofperr error = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        error = commit_step_start(ofproto, &steps[i], version);
        if (error) {
            *culprit = steps[i].index;
            break;
        }
    }
    ofproto_publish_classifiers(ofproto);
    if (error) {
        while (i-- > 0) {
            commit_step_revert(ofproto, &steps[i]);
        }
        ofproto_publish_classifiers(ofproto);
    }
    return error;
}

enum ofperr
ofproto_commit_mods(struct ofproto *ofproto,
                    const struct ofputil_flow_mod *fms, size_t n_fms,
                    const struct ofputil_group_mod *gms, size_t n_gms,
                    bool replace, size_t *culprit)
    OVS_EXCLUDED(ofproto_mutex)
{
    struct commit_step few[FEW_STEPS];
    size_t max = 3 + n_fms + n_gms;
    struct commit_step *steps = (max <= FEW_STEPS ? few
                                 : xmalloc(max * sizeof *steps));
    enum ofperr error = 0;
    size_t n = 0;

    if (replace) {
        *culprit = n_fms + n_gms;
        error = commit_step_init_no_flows(ofproto, &steps[0], *culprit);
        if (error) {
            goto out;
        }
        commit_step_init_no_groups(&steps[1], *culprit);
        n = 2;
        error = commit_step_init_no_fail_open(ofproto, &steps[n], *culprit);
        n += !error;
    }
    for (size_t i = 0; i < n_gms && !error; i++) {
        if (!group_mod_deletes(&gms[i])) {
            commit_step_init_group(&steps[n++], &gms[i], n_fms + i);
        }
    }
    for (size_t i = 0; i < n_fms && !error; i++) {
        error = commit_step_init_flow(ofproto, &steps[n], &fms[i], i);
        if (error) {
            *culprit = i;
        } else {
            n++;
        }
    }
    for (size_t i = 0; i < n_gms && !error; i++) {
        if (group_mod_deletes(&gms[i])) {
            commit_step_init_group(&steps[n++], &gms[i], n_fms + i);
        }
    }

    if (error) {
        for (size_t i = 0; i < n; i++) {
            if (!steps[i].is_group) {
                ofproto_flow_mod_uninit(&steps[i].ofm);
            }
        }
    } else {
        ovs_mutex_lock(&ofproto_mutex);
        ovs_version_t version = ofproto->tables_version + 1;

        error = commit_start(ofproto, steps, n, version, culprit);
        if (!error && n) {
            ofproto->tables_version = version;
            ofproto->ofproto_class->set_tables_version(ofproto, version);
            for (size_t i = 0; i < n; i++) {
                /* Finishing fails only for a buffered packet, of which there
                 * is none. */
                commit_step_finish(ofproto, &steps[i]);
            }
        }
        ofmonitor_flush(ofproto->connmgr);
        ovs_mutex_unlock(&ofproto_mutex);

        if (error) {
            /* Those after the culprit were never started. */
            for (size_t i = 0; i < n; i++) {
                if (!steps[i].is_group) {
                    ofproto_flow_mod_uninit(&steps[i].ofm);
                }
            }
        }
    }

    for (size_t i = 0; i < n; i++) {
        if (steps[i].is_group) {
            ofputil_uninit_group_mod(&steps[i].ogm.gm);
        }
    }
out:
    if (steps != few) {
        free(steps);
    }
    return error;
}

void
ofproto_expire_rules(struct ofproto *ofproto, struct rule_collection *hard,
                     struct rule_collection *idle)
    OVS_REQUIRES(ofproto_mutex)
{
    ovs_version_t version = ofproto->tables_version + 1;

    delete_flows_start__(ofproto, version, hard);
    delete_flows_start__(ofproto, version, idle);
    ofproto_bump_tables_version(ofproto);
    delete_flows_finish__(ofproto, hard, OFPRR_HARD_TIMEOUT, NULL);
    delete_flows_finish__(ofproto, idle, OFPRR_IDLE_TIMEOUT, NULL);
    ofmonitor_flush(ofproto->connmgr);
}

void
ofproto_postpone_removals(struct ofproto *ofproto)
{
    remove_rules_postponed(ofproto->to_remove);
}

enum ofperr
ofproto_ensure_meter(struct ofproto *ofproto,
                     const struct ofputil_meter_mod *mm)
    OVS_EXCLUDED(ofproto_mutex)
{
    struct ofputil_meter_mod copy = *mm;
    enum ofperr error = 0;

    if (!ofproto_get_meter(ofproto, mm->meter.meter_id)) {
        error = handle_add_meter(ofproto, &copy);
    }
    return error;
}

enum ofperr
ofproto_set_meter(struct ofproto *ofproto, const struct ofputil_meter_mod *mm)
    OVS_EXCLUDED(ofproto_mutex)
{
    struct ofputil_meter_mod copy = *mm;

    return (ofproto_get_meter(ofproto, mm->meter.meter_id)
            ? handle_modify_meter(ofproto, &copy)
            : handle_add_meter(ofproto, &copy));
}

void
ofproto_delete_meter(struct ofproto *ofproto, uint32_t meter_id)
    OVS_EXCLUDED(ofproto_mutex)
{
    ovs_mutex_lock(&ofproto_mutex);
    meter_delete(ofproto, meter_id);
    ovs_mutex_unlock(&ofproto_mutex);
}

bool
ofproto_count_meter(const struct ofproto *ofproto, uint32_t meter_id,
                    struct ofproto_meter_count *count)
{
    const struct meter *meter = ofproto_get_meter(ofproto, meter_id);
    struct ofputil_meter_band_stats band = { .packet_count = 0 };
    struct ofputil_meter_stats stats = { .bands = &band };

    if (!meter || ofproto->ofproto_class->meter_get(
            ofproto, meter->provider_meter_id, &stats, 1)) {
        return false;
    }
    *count = (struct ofproto_meter_count) {
        .n_packets = stats.packet_in_count,
        .n_bytes = stats.byte_in_count,
        .n_dropped_packets = band.packet_count,
        .n_dropped_bytes = band.byte_count,
    };
    return true;
}

/* Does 'ofproto' map everything as 'ttm' wants it? */
static bool
has_tlv_maps(const struct ofproto *ofproto,
             const struct ofputil_tlv_table_mod *ttm)
{
    const struct ofputil_tlv_map *want, *have;
    struct ofputil_tlv_table_reply ttr;
    bool all = true;

    tun_metadata_table_request(ofproto_get_tun_tab(ofproto), &ttr);
    LIST_FOR_EACH (want, list_node, &ttm->mappings) {
        bool found = false;

        LIST_FOR_EACH (have, list_node, &ttr.mappings) {
            found |= (have->index == want->index
                      && have->option_class == want->option_class
                      && have->option_type == want->option_type
                      && have->option_len == want->option_len);
        }
        all &= found;
    }
    ofputil_uninit_tlv_table(&ttr.mappings);
    return all;
}

enum ofperr
ofproto_ensure_tlv_map(struct ofproto *ofproto,
                       struct ofputil_tlv_table_mod *ttm)
    OVS_EXCLUDED(ofproto_mutex)
{
    struct tun_table *old_tab, *new_tab;
    enum ofperr error;

    if (has_tlv_maps(ofproto, ttm)) {
        return 0;
    }

    old_tab = ovsrcu_get_protected(struct tun_table *, &ofproto->metadata_tab);
    error = tun_metadata_table_mod(ttm, old_tab, &new_tab);
    if (error) {
        return error;
    }

    ovs_mutex_lock(&ofproto->vl_mff_map.mutex);
    error = mf_vl_mff_map_mod_from_tun_metadata(&ofproto->vl_mff_map, ttm);
    ovs_mutex_unlock(&ofproto->vl_mff_map.mutex);
    if (error) {
        tun_metadata_free(new_tab);
        return error;
    }
    ovsrcu_set(&ofproto->metadata_tab, new_tab);
    tun_metadata_postpone_free(old_tab);
    return 0;
}

void
ofproto_name_table(struct ofproto *ofproto, uint8_t table_id, const char *name)
{
    oftable_set_name(&ofproto->tables[table_id], name, 0);
}

void
ofproto_for_each(void (*cb)(const struct ofproto *, void *aux), void *aux)
{
    const struct ofproto *ofproto;

    /* One that is destroyed leaves in another thread, and is freed by it. */
    ovs_mutex_lock(&ofproto_mutex);
    HMAP_FOR_EACH (ofproto, hmap_node, &all_ofprotos) {
        cb(ofproto, aux);
    }
    ovs_mutex_unlock(&ofproto_mutex);
}

void
ofproto_credit_table(struct ofproto *ofproto, uint8_t table_id,
                     unsigned long matched, unsigned long missed)
{
    struct oftable *table = &ofproto->tables[table_id];
    unsigned long orig;

    atomic_add_relaxed(&table->n_matched, matched, &orig);
    atomic_add_relaxed(&table->n_missed, missed, &orig);
}
