/* SPDX-License-Identifier: Apache-2.0 */

/* An engine keeps the flows that a generator makes of the whole model: after
 * each of many random changes of records, ports, options and rounds both are
 * compared, IDs and priorities included. */

#include <config.h>
#include <check.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "model-records.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-table.h"
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline-desired.h"
#include "pipeline-engine.h"
#include "pipeline-state.h"
#include "quoted-json.h"
#include "random-records.h"
#include "random.h"
#include "rounds.h"
#include "sset.h"
#include "svec.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

#define N_STEPS ROUNDS(1500)

static const struct adp_pipeline *pipeline;
static struct ofputil_table_map tables;
static struct adp_model *model;
static struct adp_engine *engine;
static struct adp_engine *twin; /* Is told the same, and lies elsewhere. */
static struct adp_pipeline_state *ids; /* The oracle's. */

/* Numbers of "p0" and so on, of "gw0", "tun0", "l7a" and "l7b"; 0: the bridge
 * lacks it. */
enum { GATEWAY = RANDOM_N_PORTS, TUNNEL, L7_TARGET, L7_RETURN, N_PORTS };
static uint16_t ports[N_PORTS];

static bool
port_number(const char *name, ofp_port_t *port, void *aux OVS_UNUSED)
{
    int i = (name[0] == 'p' ? atoi(name + 1)
             : !strcmp(name, "gw0") ? GATEWAY
             : !strcmp(name, "tun0") ? TUNNEL
             : !strcmp(name, "l7a") ? L7_TARGET
             : !strcmp(name, "l7b") ? L7_RETURN : N_PORTS);

    if (i == N_PORTS) {
        return false;
    }
    *port = u16_to_ofp(ports[i]);
    return ports[i] != 0;
}

static void
set_ports(void)
{
    for (int i = 0; i < N_PORTS; i++) {
        ports[i] = i == 8 ? 0 : i + 1;
    }
}

static struct adp_model_env env;
static size_t n_igmp_denied;

static void
setup_with(const char *pipeline_name)
{
    pipeline = adp_pipeline_find(pipeline_name);
    adp_pipeline_init_table_map(pipeline, &tables);
    model = adp_model_create();
    engine = adp_engine_create();
    twin = adp_engine_create();
    ids = adp_pipeline_state_create();
    set_ports();
    env = (struct adp_model_env) { .port_number = port_number, .round = 1 };
    random_policy_types = pipeline->policy_types;
    random_kinds = UINT_MAX;
    random_multicast = false;
    n_igmp_denied = 0;
    random_ipv6 = pipeline->vocabulary6 != NULL;
    if (!(pipeline->kinds & 1u << ADP_KIND_EGRESS)) {
        random_kinds &= ~(1u << ADP_KIND_EGRESS
                          | 1u << ADP_KIND_TRAFFIC_CONTROL);
    }
}

static void
setup_v115(void)
{
    setup_with("v1.15");
}

static void
setup_early(void)
{
    setup_with("early");
}

static void
teardown(void)
{
    ofputil_table_map_destroy(&tables);
    adp_engine_destroy(engine);
    adp_engine_destroy(twin);
    adp_model_destroy(model);
    adp_pipeline_state_destroy(ids);
}

/* Flows and groups in one form: a key to the rest. */

static void
put_actions(struct ds *s, const struct ofpact *ofpacts, size_t len)
{
    struct ds text = DS_EMPTY_INITIALIZER;
    struct ofpact_format_params fp = { .s = &text, .table_map = &tables };

    ofpacts_format(ofpacts, len, &fp);
    if (!strncmp(ds_cstr(&text), "conjunction(", 12)) {
        struct svec clauses = SVEC_EMPTY_INITIALIZER;

        svec_parse_words(&clauses, "");
        char *save_ptr = NULL;
        for (char *p = strtok_r(ds_cstr(&text), ")", &save_ptr); p;
             p = strtok_r(NULL, ")", &save_ptr)) {
            svec_add(&clauses, p + (*p == ','));
        }
        svec_sort(&clauses);
        ck_assert_msg(svec_is_unique(&clauses), "a clause twice");
        for (size_t i = 0; i < clauses.n; i++) {
            ds_put_format(s, "%s)", clauses.names[i]);
        }
        svec_destroy(&clauses);
    } else {
        ds_put_cstr(s, ds_cstr(&text));
    }
    ds_destroy(&text);
}

/* Returns false if 'flows' has another one with the same key. */
static bool
put_flow(struct shash *flows, const struct ofputil_flow_mod *fm)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct match match;

    minimatch_expand(&fm->match, &match);
    char *match_s = match_to_string(&match, NULL, OFP_DEFAULT_PRIORITY);
    char *key = xasprintf("table=%d priority=%d %s", fm->table_id,
                          fm->priority, match_s);
    ds_put_format(&s, "cookie=%#"PRIx64" ", ntohll(fm->new_cookie));
    put_actions(&s, fm->ofpacts, fm->ofpacts_len);

    const char *other = shash_find_data(flows, key);
    bool ok = !other || !strcmp(other, ds_cstr(&s));
    if (other) {
        ds_destroy(&s);
    } else {
        shash_add(flows, key, ds_steal_cstr(&s));
    }
    free(match_s);
    free(key);
    return ok;
}

static void
put_group(struct shash *groups, const struct ofputil_group_mod *gm)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    const struct ofputil_bucket *bucket;

    ds_put_format(&s, "type %d", gm->type);
    LIST_FOR_EACH (bucket, list_node, &gm->buckets) {
        ds_put_format(&s, ", %"PRIu32" weight %"PRIu16" ", bucket->bucket_id,
                      bucket->weight);
        put_actions(&s, bucket->ofpacts, bucket->ofpacts_len);
    }
    char *key = xasprintf("group %"PRIu32, gm->group_id);
    free(shash_replace(groups, key, ds_steal_cstr(&s)));
    free(key);
}

/* What 'set' says.  Returns false if it contradicts itself. */
static bool
read_set(const struct adp_flow_set *set, struct shash *things)
{
    enum ofputil_protocol usable;
    const struct shash_node *node;
    bool ok = true;

    SHASH_FOR_EACH (node, &set->flows) {
        struct ofputil_flow_mod fm;
        char *error = parse_ofp_flow_mod_str(&fm, node->name, NULL, &tables,
                                             OFPFC_ADD, &usable);
        ck_assert_msg(!error, "%s: %s", node->name, error);
        ok &= put_flow(things, &fm);
        minimatch_destroy(&fm.match);
        free(fm.ofpacts);
    }
    SHASH_FOR_EACH (node, &set->groups) {
        struct ofputil_group_mod gm;
        char *error = parse_ofp_group_mod_str(&gm, OFPGC11_ADD, node->name,
                                              NULL, &tables, &usable);
        ck_assert_msg(!error, "%s: %s", node->name, error);
        put_group(things, &gm);
        ofputil_uninit_group_mod(&gm);
    }
    return ok;
}

/* What the engine desires. */
static struct adp_error *
read_desired(struct shash *things)
{
    struct adp_desired *desired = adp_engine_desired(engine);
    struct adp_changes changes;
    struct adp_error *error = adp_desired_get_changes(
        desired, ADP_CHANGES_AFRESH, &tables, &changes);

    for (size_t i = 0; i < changes.n_flows && !error; i++) {
        struct ofputil_flow_mod fm;

        ck_assert_int_ne(changes.flows[i].kind, ADP_CHANGE_DELETE);
        adp_change_to_flow_mod(desired, &changes.flows[i], ADP_GOAL_NEW, &fm);
        ck_assert(put_flow(things, &fm));
        adp_flow_mod_uninit(&fm);
    }
    for (size_t i = 0; i < changes.n_groups && !error; i++) {
        struct ofputil_group_mod gm;

        adp_change_to_group_mod(desired, &changes.groups[i], ADP_GOAL_NEW,
                                &gm);
        put_group(things, &gm);
        ofputil_uninit_group_mod(&gm);
    }
    adp_changes_uninit(&changes);
    return error;
}

static void
expect_same(const struct shash *got, const struct shash *expected,
            const char *what)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, expected) {
        const char *text = shash_find_data(got, node->name);

        ck_assert_msg(text && !strcmp(text, node->data),
                      "%s: %s\n  got      %s\n  expected %s", what, node->name,
                      text ? text : "nothing", (const char *) node->data);
    }
    SHASH_FOR_EACH (node, got) {
        ck_assert_msg(shash_find(expected, node->name), "%s: %s is too much",
                      what, node->name);
    }
}

/* What 'e' would do to the bridge, in that order. */
static char *
steps_of(struct adp_engine *e)
{
    struct adp_desired *desired = adp_engine_desired(e);
    struct ds s = DS_EMPTY_INITIALIZER;
    struct adp_changes changes;
    struct adp_error *error = adp_desired_get_changes(
        desired, ADP_CHANGES_ONLY, &tables, &changes);

    for (size_t i = 0; i < changes.n_flows; i++) {
        struct ofputil_flow_mod fm;
        struct match match;

        adp_change_to_flow_mod(desired, &changes.flows[i], ADP_GOAL_NEW, &fm);
        minimatch_expand(&fm.match, &match);
        ds_put_format(&s, "command %d table=%d ", fm.command, fm.table_id);
        match_format(&match, NULL, &s, fm.priority);
        ds_put_char(&s, ' ');
        put_actions(&s, fm.ofpacts, fm.ofpacts_len);
        ds_put_char(&s, '\n');
        adp_flow_mod_uninit(&fm);
    }
    for (size_t i = 0; i < changes.n_groups; i++) {
        struct ofputil_group_mod gm;

        adp_change_to_group_mod(desired, &changes.groups[i], ADP_GOAL_NEW,
                                &gm);
        ds_put_format(&s, "command %d group %"PRIu32"\n", gm.command,
                      gm.group_id);
        ofputil_uninit_group_mod(&gm);
    }
    adp_changes_uninit(&changes);
    adp_error_destroy(error);
    return ds_steal_cstr(&s);
}

/* What comes of a seed doesn't depend on where malloc() puts things. */
static void
expect_same_steps(void)
{
    char *steps = steps_of(engine);
    char *others = steps_of(twin);

    ck_assert_str_eq(steps, others);
    free(steps);
    free(others);
}

/* Who asks what IDs stand for. */

static void
put_id(uint32_t id, const struct adp_id_part *part, void *lines)
{
    svec_add_nocopy(lines, xasprintf("%"PRIu32" is %s %p, %"PRIuSIZE, id,
                                     part->record->name,
                                     (const void *) part->record,
                                     part->index));
}

static char *
what_ids_mean(void)
{
    const struct adp_pipeline_state *state = adp_engine_ids(engine);
    struct svec conjs = SVEC_EMPTY_INITIALIZER;
    struct svec groups = SVEC_EMPTY_INITIALIZER;

    adp_ids_for_each(&state->conjs, put_id, &conjs);
    adp_ids_for_each(&state->groups, put_id, &groups);
    adp_ids_for_each(&state->applied, put_id, &groups);
    adp_ids_for_each(&state->marks, put_id, &groups);
    adp_ids_for_each(&state->vlans, put_id, &groups);
    for (size_t i = 0; i < conjs.n; i++) {
        char *text = adp_pipeline_describe_conj(state, atoi(conjs.names[i]));

        ck_assert(text);
        svec_add_nocopy(&groups, text);
    }
    svec_sort(&conjs);
    svec_sort(&groups);
    char *ids_s = svec_join(&conjs, "\n", "\n");
    char *rest = svec_join(&groups, "\n", "\n");
    char *all = xasprintf("%s%s", ids_s, rest);
    free(ids_s);
    free(rest);
    svec_destroy(&conjs);
    svec_destroy(&groups);
    return all;
}

/* Steps. */

static struct shash accepted;   /* What was there after the last step. */

/* Has engine and oracle run, and compares them.  The engine's run isn't
 * accepted if 'refuse', or if there is an error.  Returns true if it is. */
static bool
run_and_compare(bool ports_changed, bool refuse)
{
    struct adp_pipeline_state *new_ids = adp_pipeline_state_clone(ids);
    struct shash got = SHASH_INITIALIZER(&got);
    struct shash expected = SHASH_INITIALIZER(&expected);
    struct adp_flow_set set;

    adp_flow_set_init(&set);
    char *meant = what_ids_mean();
    struct adp_error *error = adp_engine_run(engine, pipeline, model, &env,
                                             ports_changed);
    adp_error_destroy(adp_engine_run(twin, pipeline, model, &env,
                                     ports_changed));
    struct adp_error *oracle_error = adp_pipeline_generate(
        pipeline, model, new_ids, &env, &set);
    ck_assert_str_eq(error ? error->message : "none",
                     oracle_error ? oracle_error->message : "none");
    if (!error) {
        bool consistent = read_set(&set, &expected);

        ck_assert_mem_eq(adp_engine_meters(engine), &set.meters,
                         sizeof set.meters);

        expect_same_steps();
        error = read_desired(&got);
        ck_assert_msg(consistent == !error, "%s",
                      error ? error->message : "a contradiction isn't seen");
    }

    char *mean = what_ids_mean();
    ck_assert_str_eq(meant, mean);
    free(mean);

    bool ok = !error && !refuse;
    if (!error) {
        expect_same(&got, &expected, "run");
    }
    if (ok) {
        adp_engine_accept(engine);
        adp_engine_accept(twin);
        adp_pipeline_state_destroy(ids);
        ids = new_ids;
        shash_swap(&accepted, &got);
    } else {
        struct shash after = SHASH_INITIALIZER(&after);

        adp_engine_revert(engine);
        adp_engine_revert(twin);
        adp_pipeline_state_destroy(new_ids);
        ck_assert(!read_desired(&after));
        mean = what_ids_mean();
        ck_assert_str_eq(meant, mean);
        free(mean);
        expect_same(&after, &accepted, "revert");
        shash_destroy_free_data(&after);
    }
    shash_destroy_free_data(&got);
    shash_destroy_free_data(&expected);
    free(meant);
    adp_flow_set_uninit(&set);
    adp_error_destroy(error);
    adp_error_destroy(oracle_error);
    return ok;
}

static struct adp_error *
change_records(const struct json *records, const struct json *keys)
{
    struct adp_error *error = adp_model_delete(model, keys, true, NULL);

    return error ? error : adp_model_apply(model, records, NULL);
}

static struct adp_error *
change_own_records(const struct json *records, const struct json *keys)
{
    struct adp_error *error = adp_model_delete_own(model, keys);

    return error ? error : adp_model_apply_own(model, records);
}

/* Returns true if the transaction is accepted. */
static bool
transact_with(struct adp_error *(*change)(const struct json *records,
                                          const struct json *keys),
              const struct json *records, const struct json *keys, bool clear,
              bool refuse)
{
    adp_model_begin(model);
    if (clear) {
        adp_model_clear(model);
    }
    struct adp_error *error = change(records, keys);
    if (!error) {
        error = adp_model_check_changes(model, &env);
    }

    bool ok = !error && run_and_compare(false, refuse);
    if (ok) {
        adp_model_commit(model);
    } else {
        adp_model_rollback(model);
    }
    adp_error_destroy(error);
    return ok;
}

static bool
transact(const struct json *records, const struct json *keys, bool clear,
         bool refuse)
{
    return transact_with(change_records, records, keys, clear, refuse);
}

/* What the engine says of names is what the rules of the model say; it says when
 * they are others than before. */
static void
expect_fqdns(void)
{
    static struct sset last = SSET_INITIALIZER(&last);
    static uint64_t last_seq = UINT64_MAX;
    struct sset expected = SSET_INITIALIZER(&expected);
    struct sset got = SSET_INITIALIZER(&got);
    size_t n;
    const struct adp_record **records
        = adp_model_sorted(model, ADP_KIND_NETWORK_POLICY, &n);

    for (size_t i = 0; i < n; i++) {
        const struct adp_network_policy *policy
            = CONTAINER_OF(records[i], struct adp_network_policy, up);

        for (size_t j = 0; j < policy->n_rules; j++) {
            const struct adp_names *fqdns = &policy->rules[j].peer.fqdns;

            for (size_t k = 0; k < fqdns->n; k++) {
                sset_add(&expected, fqdns->names[k]);
            }
        }
    }
    free(records);
    adp_engine_get_fqdns(engine, &got);
    ck_assert(sset_equals(&expected, &got));
    if (last_seq == adp_engine_fqdns_seq(engine)) {
        ck_assert(sset_equals(&last, &got));
    }
    last_seq = adp_engine_fqdns_seq(engine);
    sset_swap(&last, &got);
    sset_destroy(&expected);
    sset_destroy(&got);
}

/* The engine says of messages of IGMP what a plain reading of the rules says: the
 * first one by tier, priority and place, and of equal ones one that drops. */

struct igmp_reading {
    bool found, drops;
    int tier;
    double priority;
    unsigned int index;
};

static bool
applies_to(const struct adp_names *groups, const char *pod)
{
    for (size_t i = 0; i < groups->n; i++) {
        const struct adp_applied_to_group *group = CONTAINER_OF(
            adp_model_find(model, ADP_KIND_APPLIED_TO_GROUP, groups->names[i]),
            struct adp_applied_to_group, up);

        for (size_t j = 0; j < group->pods.n; j++) {
            if (!strcmp(group->pods.names[j], pod)) {
                return true;
            }
        }
    }
    return false;
}

static void
read_igmp_rule(const struct adp_network_policy *policy,
               const struct adp_network_policy_rule *rule, uint8_t type,
               ovs_be32 group, struct igmp_reading *r)
{
    bool drops = rule->action == ADP_ACTION_DROP, matches = false;

    for (size_t i = 0; i < rule->n_services; i++) {
        const struct adp_network_policy_service *s = &rule->services[i];

        matches |= (s->protocol == IPPROTO_IGMP
                    && (s->igmp_type < 0 || s->igmp_type == type)
                    && (!s->group_address || s->group_address == group));
    }
    if (!matches) {
        return;
    }

    int cmp = (!r->found ? -1
               : policy->tier_priority != r->tier
               ? (policy->tier_priority < r->tier ? -1 : 1)
               : policy->priority < r->priority ? -1
               : policy->priority > r->priority ? 1
               : rule->index < r->index ? -1 : rule->index > r->index);
    if (cmp < 0 || (!cmp && drops)) {
        *r = (struct igmp_reading) {
            true, drops, policy->tier_priority, policy->priority, rule->index
        };
    }
}

static void
expect_igmp(void)
{
    static const uint8_t types[] = { 22, 34 };
    size_t n, n_pods;
    const struct adp_record **policies
        = adp_model_sorted(model, ADP_KIND_NETWORK_POLICY, &n);
    const struct adp_record **pods
        = adp_model_sorted(model, ADP_KIND_POD, &n_pods);
    uint8_t type = types[random_range(2)];
    ovs_be32 group = htonl(0xef000001 + random_range(3));

    for (size_t i = 0; i < n_pods; i++) {
        struct igmp_reading r = { .found = false };
        uint32_t conj_id;

        for (size_t j = 0; j < n; j++) {
            const struct adp_network_policy *policy
                = CONTAINER_OF(policies[j], struct adp_network_policy, up);

            for (size_t k = 0; k < policy->n_rules; k++) {
                const struct adp_network_policy_rule *rule
                    = &policy->rules[k];

                if (!rule->ingress
                    && applies_to(adp_network_policy_applied_to(policy, rule),
                                  pods[i]->name)) {
                    read_igmp_rule(policy, rule, type, group, &r);
                }
            }
        }
        ck_assert_int_eq(adp_engine_allows_igmp(engine, pods[i]->name, type,
                                                group, &conj_id), !r.drops);
        ck_assert_int_eq(conj_id != 0, r.found);
        n_igmp_denied += r.drops;
    }
    free(policies);
    free(pods);
}

static bool
random_step(void)
{
    bool own = !random_range(6);
    struct json *records, *keys;
    bool ok;

    if (own) {
        random_own_transaction(&records, &keys);
        ok = transact_with(change_own_records, records, keys, false,
                           !random_range(30));
    } else {
        random_transaction(&records, &keys);
        ok = transact(records, keys, !random_range(200), !random_range(30));
    }
    if (ok && adp_model_node_config(model)) {
        expect_fqdns();
        if (pipeline->igmp.userdata_len) {
            expect_igmp();
        }
    }
    json_destroy(records);
    json_destroy(keys);
    return ok;
}

/* Without the option multicast there may be rules that can't be had: then, as a
 * daemon does, all stays as it was. */
static void
random_options(void)
{
    uint64_t old = env.options;

    env.options = random_uint32() & ((1u << pipeline->n_options) - 1);
    if (random_range(4)) {
        env.options |= pipeline->options_for_igmp;
    }
    if (!run_and_compare(true, false)) {
        env.options = old;
        run_and_compare(true, false);
    }
    random_multicast = env.options & pipeline->options_for_igmp;
}

/* Ports, options and the round change behind the records' backs. */
static void
random_surroundings(void)
{
    switch (random_range(16)) {
    case 0:
        ports[GATEWAY] = random_range(4) ? 50 + random_range(2) : 0;
        break;
    case 1:
        ports[TUNNEL] = random_range(4) ? 60 + random_range(2) : 0;
        break;
    case 2:
        ports[L7_TARGET] = random_range(3) ? 70 + random_range(2) : 0;
        break;
    case 3:
        ports[L7_RETURN] = random_range(3) ? 80 + random_range(2) : 0;
        break;
    case 4:
        random_options();
        return;
    case 5:
        env.round++;
        break;
    default:
        for (int i = random_range(3); i >= 0; i--) {
            ports[random_range(RANDOM_N_PORTS)]
                = random_range(4) ? 100 + random_range(900) : 0;
        }
        break;
    }
    run_and_compare(true, false);
}

/* A change to another pipeline is refused: all stays, priorities too. */
static void
refused_pipeline(void)
{
    const struct adp_pipeline *other = adp_pipeline_find(
        strcmp(pipeline->name, "early") ? "early" : "v1.15");
    struct shash after = SHASH_INITIALIZER(&after);

    adp_error_destroy(adp_engine_run(engine, other, model, &env, false));
    adp_engine_revert(engine);
    adp_error_destroy(adp_engine_run(twin, other, model, &env, false));
    adp_engine_revert(twin);
    ck_assert(!read_desired(&after));
    expect_same(&after, &accepted, "refused pipeline");
    shash_destroy_free_data(&after);
}

/* What an engine doesn't see it is told of. */
static void
unseen_transaction(void)
{
    struct json *records = json_array_create_1(
        random_record(ADP_KIND_ADDRESS_GROUP));
    struct adp_error *error = adp_model_apply(model, records, NULL);

    ck_assert(!error);
    adp_engine_invalidate(engine);
    adp_engine_invalidate(twin);
    json_destroy(records);
}

/* Returns true if 'record', which is taken, is accepted. */
static bool
apply_one(struct json *record)
{
    struct json *records = json_array_create_1(record);
    struct json *keys = json_array_create_empty();
    bool ok = transact(records, keys, false, false);

    json_destroy(records);
    json_destroy(keys);
    return ok;
}

/* Without a NodeConfig there is nothing. */
static void
apply_node(void)
{
    apply_one(random_record(ADP_KIND_NODE_CONFIG));
}

static struct json *
random_policy_about_igmp(void)
{
    for (;;) {
        struct json *policy = random_record(ADP_KIND_NETWORK_POLICY);
        char *text = json_to_string(policy, 0);
        bool about_igmp = strstr(text, "IGMP") && strstr(text, "Drop");

        free(text);
        if (about_igmp) {
            return policy;
        }
        json_destroy(policy);
    }
}

/* Whether a random run gets as far as a message that is denied is chance.  Here
 * nothing is in the way of it, and this goes on until there was one. */
static void
until_igmp_denied(void)
{
    struct json *nothing = json_array_create_empty();

    ck_assert(transact(nothing, nothing, true, false));
    json_destroy(nothing);
    set_ports();
    env.options = pipeline->options_for_igmp;
    ck_assert(run_and_compare(true, false));
    random_multicast = true;
    n_igmp_denied = 0;
    while (!n_igmp_denied) {
        apply_node();
        apply_one(random_record(ADP_KIND_POD));
        apply_one(random_record(ADP_KIND_APPLIED_TO_GROUP));
        if (apply_one(random_policy_about_igmp())
            && adp_model_node_config(model)) {
            expect_igmp();
        }
    }
}

/* Did the engine do some of all that it can? */
static bool
has_done_all(int n_accepted)
{
    struct adp_engine_runs runs = adp_engine_get_runs(engine);

    return (n_accepted > N_STEPS / 10 && runs.n_incremental > N_STEPS / 10
            && runs.n_full > N_STEPS / 100 && runs.n_undone);
}

/* So many steps, and more where chance would have it that something has not
 * happened yet: what never does ends with the time limit. */
static void
test_random(void)
{
    int n_accepted = 0;

    test_seed_random();
    shash_init(&accepted);
    for (int i = 0; i < N_STEPS || !has_done_all(n_accepted); i++) {
        if (!adp_model_node_config(model) && random_range(4)) {
            apply_node();
        }
        n_accepted += random_step();
        if (!random_range(50)) {
            refused_pipeline();
        }
        if (!random_range(100)) {
            unseen_transaction();
        }
        if (!random_range(10)) {
            random_surroundings();
        }
    }
    if (pipeline->igmp.userdata_len) {
        until_igmp_denied();
    } else {
        ck_assert_uint_eq(n_igmp_denied, 0);
    }
    shash_destroy_free_data(&accepted);
}

START_TEST(random_changes)
{
    test_random();
}
END_TEST

static void
transact_quoted(const char *records_s, const char *keys_s)
{
    struct json *records = json_array_from_quoted(records_s);
    struct json *keys = json_array_from_quoted(keys_s);

    ck_assert(transact(records, keys, false, false));
    json_destroy(records);
    json_destroy(keys);
}

/* Rules apply to a Service with a NodePort also where it has no group, as one of
 * IPv6 on a Node without, and no longer when it has gone. */
START_TEST(service_without_groups_goes)
{
    shash_init(&accepted);
    set_ports();
    transact_quoted(
        "{'kind':'NodeConfig','name':'n','gateway':{'port':'gw0',"
        "'mac':'00:00:00:00:00:01','ip':'10.0.0.1'},"
        "'podCIDR':'10.0.0.0/24','transportIP':'192.168.0.1'},"
        "{'kind':'Service','name':'d/s','clusterIP':'fd96::1',"
        "'ports':[{'port':80,'nodePort':30001,'endpoints':[]}]},"
        "{'kind':'NetworkPolicy','name':'AntreaClusterNetworkPolicy:p',"
        "'type':'AntreaClusterNetworkPolicy','tierPriority':250,'priority':5,"
        "'appliedToServices':['d/s'],'rules':[{'direction':'In',"
        "'action':'Drop','from':{'ipBlocks':[{'cidr':'1.1.0.0/16'}]}}]}", "");
    transact_quoted("", "{'kind':'Service','name':'d/s'}");
    shash_destroy_free_data(&accepted);
}
END_TEST

static void
add_case(Suite *suite, const char *name, void (*setup)(void))
{
    TCase *tc = tcase_create(name);

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 600); /* For slow machines. */
    tcase_add_test(tc, random_changes);
    if (setup == setup_v115) {
        tcase_add_test(tc, service_without_groups_goes);
    }
    suite_add_tcase(suite, tc);
}

int
main(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);

    Suite *suite = suite_create("engine");
    add_case(suite, "v1.15", setup_v115);
    add_case(suite, "early", setup_early);

    return test_run(suite);
}
