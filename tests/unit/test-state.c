/* SPDX-License-Identifier: Apache-2.0 */

/* Transactions on the typed state of a bridge, with a bridge of our own that
 * shows which flow mods reach it, and a small pipeline: each Pod has a flow,
 * each AddressGroup a group and a flow to it. */

#include <config.h>

#include <check.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-state-order.h"
#include "adp-state.h"
#include "classifier-model.h"
#include "openvswitch/json.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/vlog.h"
#include "pipeline-gen.h"
#include "random.h"
#include "simap.h"
#include "svec.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

/* The bridge. */

struct adp_bridge {
    const struct adp_pipeline *pipeline;
    uint64_t options;
    struct simap ports;
    uint64_t ports_seq;
    uint16_t round;
    char *refusal;              /* What the next commit returns, if nonnull. */

    /* What is in it: "table=T,priority=P,MATCH" to "COOKIE ACTIONS", and
     * group id to number of buckets. */
    struct shash flows;
    struct shash groups;
    struct classifier_model classifier;

    struct svec log;            /* Mods of commits. */
    size_t n_commits;
};

static struct adp_bridge bridge;
static struct adp_state *state;
static struct ofputil_table_map table_map;

static const struct adp_pipeline test_pipeline;

const char *
adp_bridge_name(const struct adp_bridge *b OVS_UNUSED)
{
    return "br-test";
}

const struct adp_pipeline *
adp_bridge_pipeline(const struct adp_bridge *b)
{
    return b->pipeline;
}

uint64_t
adp_bridge_pipeline_options(const struct adp_bridge *b)
{
    return b->options;
}

uint16_t
adp_bridge_round(const struct adp_bridge *b)
{
    return b->round;
}

uint64_t
adp_bridge_ports_seq(const struct adp_bridge *b)
{
    return b->ports_seq;
}

bool
adp_bridge_port_number(const struct adp_bridge *b, const char *name,
                       ofp_port_t *port)
{
    const struct simap_node *node = simap_find(&b->ports, name);

    if (node) {
        *port = u16_to_ofp(node->data);
    }
    return node != NULL;
}

const struct ofputil_port_map *
adp_bridge_port_map(struct adp_bridge *b OVS_UNUSED)
{
    return NULL;
}

const struct ofputil_table_map *
adp_bridge_table_map(struct adp_bridge *b OVS_UNUSED)
{
    return &table_map;
}

static char *
format_key(const struct ofputil_flow_mod *fm)
{
    struct match match;

    minimatch_expand(&fm->match, &match);
    char *s = match_to_string(&match, NULL, fm->priority);
    char *key = xasprintf("table=%d,%s", fm->table_id, s);
    free(s);
    return key;
}

static void
fake_flow_mod(struct adp_bridge *b, const struct ofputil_flow_mod *fm)
{
    char *key = format_key(fm);

    classifier_model_mod(&b->classifier, fm);
    if (fm->command == OFPFC_DELETE_STRICT) {
        const char *value = shash_find_data(&b->flows, key);

        if (value && !((htonll(strtoull(value, NULL, 0)) ^ fm->cookie)
                       & fm->cookie_mask)) {
            free(shash_find_and_delete(&b->flows, key));
        }
        svec_add_nocopy(&b->log, xasprintf("delete %s", key));
    } else {
        struct ds s = DS_EMPTY_INITIALIZER;
        struct ofpact_format_params fp = { .s = &s };

        ds_put_format(&s, "%#"PRIx64" ", ntohll(fm->new_cookie));
        ofpacts_format(fm->ofpacts, fm->ofpacts_len, &fp);
        free(shash_replace(&b->flows, key, ds_steal_cstr(&s)));
        svec_add_nocopy(&b->log,
                        xasprintf("%s %s", fm->command == OFPFC_ADD
                                  ? "add" : "modify", key));
    }
    free(key);
}

static void
fake_group_mod(struct adp_bridge *b, const struct ofputil_group_mod *gm)
{
    char *id = xasprintf("%"PRIu32, gm->group_id);

    if (gm->command == OFPGC11_DELETE) {
        free(shash_find_and_delete(&b->groups, id));
        svec_add_nocopy(&b->log, xasprintf("delete group %s", id));
    } else {
        ck_assert_int_eq(gm->command, OFPGC11_ADD_OR_MOD);
        char *n = xasprintf("%"PRIuSIZE, ovs_list_size(&gm->buckets));
        free(shash_replace(&b->groups, id, n));
        svec_add_nocopy(&b->log, xasprintf("put group %s", id));
    }
    free(id);
}

char *
adp_bridge_commit(struct adp_bridge *b, const struct ofputil_flow_mod *fms,
                  size_t n_fms, const struct ofputil_group_mod *gms,
                  size_t n_gms, bool replace)
{
    b->n_commits++;
    if (b->refusal) {
        return nullable_xstrdup(b->refusal);
    }
    if (replace) {
        shash_clear_free_data(&b->flows);
        shash_clear_free_data(&b->groups);
        svec_add(&b->log, "clear");
    }
    for (size_t i = 0; i < n_gms; i++) {
        fake_group_mod(b, &gms[i]);
    }
    for (size_t i = 0; i < n_fms; i++) {
        fake_flow_mod(b, &fms[i]);
    }
    classifier_model_settle(&b->classifier);
    return NULL;
}

/* The pipeline. */

static const char *
field(const struct json *record, const char *name)
{
    return json_string(shash_find_data(json_object(record), name));
}

static void
test_generate(struct adp_generator *g)
{
    const struct adp_model_env *env = g->env;
    struct adp_flow_set *set = g->set;
    struct json *pods = adp_model_get(g->model, "Pod", NULL);
    struct json *groups = adp_model_get(g->model, "AddressGroup", NULL);

    adp_flow_set_add(set, "cookie=%#x, table=Out, priority=0 actions=drop",
                     env->round);
    if (adp_gen_option(g, 0)) {
        adp_flow_set_add(set, "cookie=%#x, table=Out, priority=1 actions=drop",
                         env->round);
    }
    for (size_t i = 0; i < pods->array.n; i++) {
        const struct json *pod = pods->array.elems[i];
        const struct json *ips = shash_find_data(json_object(pod), "ips");
        ofp_port_t port;

        if (env->port_number(field(pod, "port"), &port, env->aux)) {
            adp_flow_set_add(set, "cookie=%#x, table=In, priority=200,ip,"
                             "in_port=%d,nw_src=%s actions="
                             "set_field:%s->eth_dst,goto_table:Out",
                             env->round, ofp_to_u16(port),
                             json_string(ips->array.elems[0]),
                             field(pod, "mac"));
        }
    }
    for (size_t i = 0; i < groups->array.n; i++) {
        const struct json *group = groups->array.elems[i];
        const struct json *addresses = shash_find_data(json_object(group),
                                                       "addresses");
        struct ds s = DS_EMPTY_INITIALIZER;

        /* The name of the group is its id and the flow's priority; with a "!"
         * the flow is broken, with a "*" it has the match of another. */
        int id = atoi(field(group, "name"));
        ds_put_format(&s, "group_id=%d,type=select", id);
        for (size_t j = 0; j < addresses->array.n; j++) {
            ds_put_format(&s, ",bucket=bucket_id:%"PRIuSIZE",actions=output:1",
                          j);
        }
        adp_flow_set_add_group_nocopy(set, ds_steal_cstr(&s));
        adp_flow_set_add(set, "cookie=%#x, table=Out, priority=%d actions=%s",
                         env->round,
                         strchr(field(group, "name"), '*') ? 0 : id,
                         strchr(field(group, "name"), '!') ? "frobnicate"
                         : "group:9");
    }
    json_destroy(pods);
    json_destroy(groups);
}

static const struct adp_pipeline_option test_options[] = {
    { "extra", "there is another flow", NULL },
};

static const struct adp_pipeline test_pipeline = {
    .name = "test",
    .options = test_options,
    .n_options = ARRAY_SIZE(test_options),
    .policy_types = UINT_MAX,
    .generate = test_generate,
};

/* Another one, which knows no policies and whose flows have the same keys
 * where they are at all alike. */
static void
other_generate(struct adp_generator *g)
{
    adp_flow_set_add(g->set, "cookie=%#x, table=Out, priority=0 "
                     "actions=output:7", g->env->round);
    adp_flow_set_add(g->set, "cookie=%#x, table=In, priority=1 "
                     "actions=output:%"PRIuSIZE, g->env->round,
                     1 + adp_model_count(g->model, "Pod"));
}

static const struct adp_pipeline other_pipeline = {
    .name = "other",
    .generate = other_generate,
};

/* Helpers. */

static void
setup(void)
{
    bridge.pipeline = &test_pipeline;
    bridge.options = 0;
    simap_init(&bridge.ports);
    simap_put(&bridge.ports, "p1", 1);
    simap_put(&bridge.ports, "p2", 2);
    bridge.ports_seq = 1;
    bridge.round = 1;
    bridge.refusal = NULL;
    bridge.n_commits = 0;
    shash_init(&bridge.flows);
    shash_init(&bridge.groups);
    svec_init(&bridge.log);
    classifier_model_init(&bridge.classifier);

    ofputil_table_map_init(&table_map);
    ofputil_table_map_put(&table_map, 1, "In");
    ofputil_table_map_put(&table_map, 2, "Out");

    state = adp_state_create(&bridge);
    adp_state_sync(state, false);
    svec_clear(&bridge.log);
    bridge.n_commits = 0;
}

static void
teardown(void)
{
    adp_state_destroy(state);
    simap_destroy(&bridge.ports);
    shash_destroy_free_data(&bridge.flows);
    shash_destroy_free_data(&bridge.groups);
    svec_destroy(&bridge.log);
    classifier_model_uninit(&bridge.classifier);
    ofputil_table_map_destroy(&table_map);
}

#define POD1 "{\"kind\":\"Pod\",\"name\":\"a/1\",\"port\":\"p1\"," \
    "\"mac\":\"00:00:00:00:00:01\",\"ips\":[\"10.0.0.1\"]}"
#define POD1_MAC "{\"kind\":\"Pod\",\"name\":\"a/1\",\"port\":\"p1\"," \
    "\"mac\":\"00:00:00:00:00:ff\",\"ips\":[\"10.0.0.1\"]}"
#define POD2 "{\"kind\":\"Pod\",\"name\":\"a/2\",\"port\":\"p2\"," \
    "\"mac\":\"00:00:00:00:00:02\",\"ips\":[\"10.0.0.2\"]}"
#define GROUP(NAME, ADDRESSES) "{\"kind\":\"AddressGroup\",\"name\":\"" \
    NAME "\",\"addresses\":[" ADDRESSES "]}"
#define KEY(KIND, NAME) "{\"kind\":\"" KIND "\",\"name\":\"" NAME "\"}"

#define FLOW0 "table=2,priority=0"
#define FLOW1 "table=1,priority=200,ip,in_port=1,nw_src=10.0.0.1"
#define FLOW2 "table=1,priority=200,ip,in_port=2,nw_src=10.0.0.2"

/* Applies and deletes what isn't NULL.  Returns the error's code, or NULL. */
static const char *
transact__(bool clear, const char *apply, const char *delete,
           const uint64_t *if_generation, const char *message)
{
    struct json *a = apply ? json_from_string(apply) : NULL;
    struct json *d = delete ? json_from_string(delete) : NULL;
    struct adp_state_change change = {
        .clear = clear, .apply = a, .delete = d,
        .if_generation = if_generation,
    };
    size_t n_applied, n_deleted;
    const char *code = NULL;

    struct adp_error *error = adp_state_transact(state, &change, &n_applied,
                                                 &n_deleted);
    if (error) {
        code = error->code;
        ck_assert_msg(!message || strstr(error->message, message),
                      "\"%s\" lacks \"%s\"", error->message, message);
        ck_assert_uint_eq(n_applied, 0);
        ck_assert_uint_eq(n_deleted, 0);
        adp_error_destroy(error);
    } else {
        ck_assert_uint_eq(n_applied, a ? a->array.n : 0);
        ck_assert_uint_eq(n_deleted, d ? d->array.n : 0);
    }
    json_destroy(a);
    json_destroy(d);
    return code;
}

static void
transact(const char *apply, const char *delete)
{
    const char *code = transact__(false, apply, delete, NULL, NULL);

    ck_assert_msg(!code, "error \"%s\"", code);
}

static void
expect_failure(const char *apply, const char *delete, const char *code,
               const char *message)
{
    struct json *old = adp_model_get(adp_state_model(state), NULL, NULL);
    uint64_t old_generation = adp_state_generation(state);
    const char *actual = transact__(false, apply, delete, NULL, message);
    struct json *new = adp_model_get(adp_state_model(state), NULL, NULL);

    ck_assert_pstr_eq(actual, code);
    ck_assert(json_equal(old, new));
    ck_assert_uint_eq(adp_state_generation(state), old_generation);
    json_destroy(old);
    json_destroy(new);
}

/* The bridge got exactly these mods (in any order) since the last time. */
static void
expect_mods(const char *mods)
{
    struct svec expected = SVEC_EMPTY_INITIALIZER;

    char *copy = xstrdup(mods);
    char *save_ptr = NULL;
    for (char *mod = strtok_r(copy, "\n", &save_ptr); mod;
         mod = strtok_r(NULL, "\n", &save_ptr)) {
        svec_add(&expected, mod);
    }
    free(copy);
    svec_sort(&expected);
    svec_sort(&bridge.log);

    char *e = svec_join(&expected, "\n", "\n");
    char *a = svec_join(&bridge.log, "\n", "\n");
    ck_assert_str_eq(a, e);
    free(e);
    free(a);
    svec_destroy(&expected);
    svec_clear(&bridge.log);
}

static void
set_port(const char *name, unsigned int number)
{
    if (number) {
        simap_put(&bridge.ports, name, number);
    } else {
        simap_find_and_delete(&bridge.ports, name);
    }
    bridge.ports_seq++;
}

/* Tests. */

START_TEST(test_static_flows_are_there_at_once)
{
    ck_assert_uint_eq(shash_count(&bridge.flows), 1);
    ck_assert_str_eq(shash_find_data(&bridge.flows, FLOW0), "0x1 drop");
    ck_assert_uint_eq(adp_state_generation(state), 0);
}
END_TEST

START_TEST(test_transaction_changes_only_what_differs)
{
    transact("[" POD1 "," POD2 "]", NULL);
    expect_mods("add " FLOW1 "\nadd " FLOW2);
    ck_assert_uint_eq(bridge.n_commits, 1);
    ck_assert_uint_eq(adp_state_generation(state), 1);

    /* The same again touches nothing. */
    transact("[" POD1 "]", NULL);
    expect_mods("");
    ck_assert_uint_eq(bridge.n_commits, 1);

    /* Another action keeps the flow's counters. */
    transact("[" POD1_MAC "]", NULL);
    expect_mods("modify " FLOW1);
    ck_assert_str_eq(shash_find_data(&bridge.flows, FLOW1),
                     "0x1 set_field:00:00:00:00:00:ff->eth_dst,goto_table:2");

    transact(NULL, "[" KEY("Pod", "a/2") "]");
    expect_mods("delete " FLOW2);
    ck_assert_uint_eq(shash_count(&bridge.flows), 2);
}
END_TEST

START_TEST(test_one_call_applies_and_deletes)
{
    transact("[" POD1 "]", NULL);
    expect_mods("add " FLOW1);
    transact("[" POD2 "]", "[" KEY("Pod", "a/1") "]");
    expect_mods("add " FLOW2 "\ndelete " FLOW1);
    ck_assert_uint_eq(bridge.n_commits, 2);
    ck_assert_uint_eq(adp_state_generation(state), 2);
}
END_TEST

START_TEST(test_groups_follow)
{
    transact("[" GROUP("9", "\"10.0.0.1\"") "]", NULL);
    expect_mods("put group 9\nadd table=2,priority=9");
    ck_assert_str_eq(shash_find_data(&bridge.groups, "9"), "1");

    transact("[" GROUP("9", "\"10.0.0.1\",\"10.0.0.2\"") "]", NULL);
    expect_mods("put group 9");
    ck_assert_str_eq(shash_find_data(&bridge.groups, "9"), "2");

    transact(NULL, "[" KEY("AddressGroup", "9") "]");
    expect_mods("delete group 9\ndelete table=2,priority=9");
    ck_assert(shash_is_empty(&bridge.groups));
}
END_TEST

START_TEST(test_replace)
{
    transact("[" POD1 "]", NULL);
    expect_mods("add " FLOW1);
    ck_assert_ptr_null(transact__(true, "[" POD2 "]", NULL, NULL, NULL));
    expect_mods("add " FLOW2 "\ndelete " FLOW1);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"), 1);

    ck_assert_ptr_null(transact__(true, "[]", NULL, NULL, NULL));
    expect_mods("delete " FLOW2);
    ck_assert_uint_eq(adp_state_generation(state), 3);
}
END_TEST

START_TEST(test_generation_guards)
{
    uint64_t generation = 0;

    ck_assert_ptr_null(transact__(false, "[" POD1 "]", NULL, &generation,
                                  NULL));
    expect_mods("add " FLOW1);
    ck_assert_str_eq(transact__(false, "[" POD2 "]", NULL, &generation,
                                "generation 1, not 0"), "conflict");
    expect_mods("");
    ck_assert_uint_eq(adp_state_generation(state), 1);
    generation = 1;
    ck_assert_ptr_null(transact__(false, "[" POD2 "]", NULL, &generation,
                                  NULL));
}
END_TEST

START_TEST(test_empty_call_is_no_change)
{
    transact("[]", "[]");
    transact(NULL, NULL);
    ck_assert_uint_eq(adp_state_generation(state), 0);
    ck_assert_uint_eq(bridge.n_commits, 0);
}
END_TEST

START_TEST(test_bad_record_changes_nothing)
{
    transact("[" POD1 "]", NULL);
    expect_mods("add " FLOW1);
    expect_failure("[" POD2 ",{\"kind\":\"Frob\",\"name\":\"x\"}]",
                   "[" KEY("Pod", "a/1") "]", "invalid", "Frob");
    expect_failure("[" POD2 "]", "[" KEY("Pod", "no/no") "]", "missing",
                   "no/no");
    set_port("p2", 0);
    expect_failure("[" POD2 "]", NULL, "missing", "p2");
    expect_mods("");
}
END_TEST

START_TEST(test_refusal_of_the_bridge_changes_nothing)
{
    transact("[" POD1 "]", NULL);
    expect_mods("add " FLOW1);

    bridge.refusal = "table is full";
    expect_failure("[" POD2 "]", NULL, "internal",
                   "bridge br-test refused the flows: table is full");
    expect_mods("");

    /* What is in the bridge was in doubt: now everything is installed. */
    bridge.refusal = NULL;
    transact("[" POD2 "]", NULL);
    expect_mods("add " FLOW0 "\nadd " FLOW1 "\nadd " FLOW2);
    transact("[" POD1_MAC "]", NULL);
    expect_mods("modify " FLOW1);
}
END_TEST

START_TEST(test_broken_flow_is_reported)
{
    expect_failure("[" GROUP("9!", "") "]", NULL, "internal", "frobnicate");
    expect_failure("[" GROUP("9*", "") "]", NULL, "invalid",
                   "with the same match");
    expect_failure("[" GROUP("9", "") "," GROUP("9 ", "\"10.0.0.1\"") "]",
                   NULL, "internal", "same ID");
    expect_mods("");
    transact("[" GROUP("9", "") "]", NULL);
    expect_mods("put group 9\nadd table=2,priority=9");
}
END_TEST

START_TEST(test_flows_follow_the_ports)
{
    transact("[" POD1 "," POD2 "]", NULL);
    expect_mods("add " FLOW1 "\nadd " FLOW2);

    /* Gone. */
    set_port("p1", 0);
    adp_state_sync(state, false);
    expect_mods("delete " FLOW1);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"), 2);
    ck_assert_uint_eq(adp_state_generation(state), 1);

    /* Other records can change meanwhile. */
    transact(NULL, "[" KEY("Pod", "a/2") "]");
    expect_mods("delete " FLOW2);

    /* Back, with another number. */
    set_port("p1", 7);
    adp_state_sync(state, false);
    expect_mods("add table=1,priority=200,ip,in_port=7,nw_src=10.0.0.1");

    /* Nothing to do. */
    set_port("p3", 3);
    adp_state_sync(state, false);
    adp_state_sync(state, false);
    expect_mods("");
}
END_TEST

START_TEST(test_flows_follow_the_round)
{
    transact("[" POD1 "]", NULL);
    expect_mods("add " FLOW1);
    bridge.round = 2;
    adp_state_sync(state, false);
    expect_mods("modify " FLOW0 "\nmodify " FLOW1);
    ck_assert_str_eq(shash_find_data(&bridge.flows, FLOW0), "0x2 drop");
}
END_TEST

START_TEST(test_reinstall_restores_everything)
{
    transact("[" POD1 "," GROUP("9", "") "]", NULL);
    svec_clear(&bridge.log);
    shash_clear_free_data(&bridge.flows);
    shash_clear_free_data(&bridge.groups);

    /* Without being asked we don't meddle with what others did. */
    adp_state_sync(state, false);
    expect_mods("");
    adp_state_sync(state, true);
    expect_mods("put group 9\nadd " FLOW0 "\nadd " FLOW1
                "\nadd table=2,priority=9");

    /* A port that went in the meantime takes its flow along. */
    set_port("p1", 0);
    adp_state_sync(state, true);
    expect_mods("put group 9\nadd " FLOW0 "\nadd table=2,priority=9"
                "\ndelete " FLOW1);
}
END_TEST

START_TEST(test_flow_of_another_controller_stays)
{
    transact("[" POD1 "]", NULL);
    free(shash_replace(&bridge.flows, FLOW1, xstrdup("0xbeef drop")));
    transact(NULL, "[" KEY("Pod", "a/1") "]");
    ck_assert_str_eq(shash_find_data(&bridge.flows, FLOW1), "0xbeef drop");
}
END_TEST

START_TEST(test_failed_sync_is_repeated_with_the_next_change)
{
    transact("[" POD1 "]", NULL);
    svec_clear(&bridge.log);
    bridge.refusal = "no";
    set_port("p1", 0);
    adp_state_sync(state, false);
    size_t n_commits = bridge.n_commits;
    adp_state_sync(state, false);
    ck_assert_uint_eq(bridge.n_commits, n_commits);

    bridge.refusal = NULL;
    set_port("p3", 3);
    adp_state_sync(state, false);
    expect_mods("add " FLOW0 "\ndelete " FLOW1);
}
END_TEST

/* Changes of the pipeline. */

static void
use_pipeline(const struct adp_pipeline *pipeline, uint64_t options,
             bool replace)
{
    bridge.pipeline = pipeline;
    bridge.options = options;

    struct adp_error *error = adp_state_install(state, replace);
    ck_assert_msg(!error, "%s", error ? error->message : NULL);
}

START_TEST(test_options_change_only_what_differs)
{
    transact("[" POD1 "]", NULL);
    svec_clear(&bridge.log);
    use_pipeline(&test_pipeline, 1, false);
    expect_mods("add table=2,priority=1\n");
    use_pipeline(&test_pipeline, 1, false);
    expect_mods("");
    transact("[" POD2 "]", NULL);
    expect_mods("add " FLOW2 "\n");
    use_pipeline(&test_pipeline, 0, false);
    expect_mods("delete table=2,priority=1\n");
}
END_TEST

START_TEST(test_another_pipeline_takes_the_bridge)
{
    transact("[" POD1 "," POD2 "," GROUP("9", "\"10.0.0.1\"") "]", NULL);
    uint64_t generation = adp_state_generation(state);
    shash_add(&bridge.flows, "table=9,priority=9", xstrdup("0x99 drop"));
    svec_clear(&bridge.log);

    /* One commit, after which nothing of before is left, whoever made it. */
    bridge.n_commits = 0;
    use_pipeline(&other_pipeline, 0, true);
    expect_mods("clear\nadd table=2,priority=0\nadd table=1,priority=1\n");
    ck_assert_uint_eq(bridge.n_commits, 1);
    ck_assert_uint_eq(shash_count(&bridge.flows), 2);
    ck_assert_uint_eq(shash_count(&bridge.groups), 0);

    /* The records are still there. */
    ck_assert_uint_eq(adp_state_generation(state), generation);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"), 2);
    ck_assert_str_eq(shash_find_data(&bridge.flows, "table=1,priority=1"),
                     "0x1 output:3");

    /* And the next change knows what is in the bridge. */
    transact(NULL, "[" KEY("Pod", "a/2") "]");
    expect_mods("modify table=1,priority=1\n");

    use_pipeline(&test_pipeline, 0, true);
    expect_mods("clear\nput group 9\nadd " FLOW0 "\nadd " FLOW1 "\n"
                "add table=2,priority=9\n");
    transact(NULL, "[" KEY("AddressGroup", "9") "]");
    expect_mods("delete group 9\ndelete table=2,priority=9\n");
}
END_TEST

START_TEST(test_pipeline_that_cannot_is_refused)
{
    transact("[" POD1 ",{\"kind\":\"AppliedToGroup\",\"name\":\"g\","
             "\"pods\":[]},{\"kind\":\"NetworkPolicy\",\"name\":\"p\","
             "\"type\":\"K8sNetworkPolicy\",\"appliedToGroups\":[\"g\"],"
             "\"rules\":[{\"direction\":\"In\"}]}]", NULL);
    svec_clear(&bridge.log);

    bridge.pipeline = &other_pipeline;
    struct adp_error *error = adp_state_install(state, true);
    ck_assert(error);
    ck_assert_str_eq(error->message, "NetworkPolicy p: type: pipeline other "
                     "has no tables for policies of type K8sNetworkPolicy");
    adp_error_destroy(error);
    expect_mods("");

    /* Nor can the bridge, perhaps. */
    transact(NULL, "[" KEY("NetworkPolicy", "p") "]");
    bridge.refusal = "no";
    error = adp_state_install(state, true);
    ck_assert(error);
    ck_assert_str_eq(error->code, "internal");
    adp_error_destroy(error);
    bridge.refusal = NULL;

    /* Back with the old one, all is as it was. */
    bridge.pipeline = &test_pipeline;
    transact("[" POD2 "]", NULL);
    ck_assert_uint_eq(shash_count(&bridge.flows), 3);
    ck_assert(shash_find(&bridge.flows, FLOW2));
}
END_TEST

/* A bridge that was without a pipeline for a while gets everything. */
START_TEST(test_pipeline_after_none)
{
    transact("[" POD1 "]", NULL);
    shash_clear_free_data(&bridge.flows);
    adp_state_forget_flows(state);
    svec_clear(&bridge.log);

    use_pipeline(&test_pipeline, 0, true);
    expect_mods("clear\nadd " FLOW0 "\nadd " FLOW1 "\n");
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"), 1);
}
END_TEST

START_TEST(test_many_records)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_char(&s, '[');
    for (int i = 1; i <= 1000; i++) {
        ds_put_format(&s, "%s" GROUP("%d", "\"10.0.0.1\",\"10.0.0.2\""),
                      i > 1 ? "," : "", i);
    }
    ds_put_char(&s, ']');
    transact(ds_cstr(&s), NULL);
    ds_destroy(&s);
    ck_assert_uint_eq(shash_count(&bridge.flows), 1001);
    ck_assert_uint_eq(shash_count(&bridge.groups), 1000);

    svec_clear(&bridge.log);
    transact(NULL, "[" KEY("AddressGroup", "500") "]");
    expect_mods("delete group 500\ndelete table=2,priority=500");
    ck_assert_ptr_null(transact__(true, NULL, NULL, NULL, NULL));
    ck_assert_uint_eq(shash_count(&bridge.flows), 1);
    ck_assert_uint_eq(shash_count(&bridge.groups), 0);
}
END_TEST

/* Groups, each with a flow of the priority that is its name. */
static char *
many_groups(int first, int last)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_char(&s, '[');
    for (int i = first; i <= last; i++) {
        ds_put_format(&s, "%s" GROUP("%d", ""), i > first ? "," : "", i);
    }
    ds_put_char(&s, ']');
    return ds_steal_cstr(&s);
}

/* Flows of one match and thousands of priorities come, change and go with a
 * few steps each. */
START_TEST(test_equal_matches_take_few_steps)
{
    enum { N = 3000 };
    size_t *n_steps = &bridge.classifier.n_steps;
    char *all = many_groups(1, N);
    char *one = many_groups(N / 2, N / 2);

    transact(all, NULL);
    ck_assert_uint_eq(shash_count(&bridge.flows), N + 1);
    printf("%"PRIuSIZE" steps to add %d flows\n", *n_steps, N);
    ck_assert_uint_le(*n_steps, 4 * N);

    *n_steps = 0;
    transact(NULL, "[" KEY("AddressGroup", "1500") "]");
    printf("%"PRIuSIZE" steps to delete one of them\n", *n_steps);
    ck_assert_uint_le(*n_steps, 2 * N);
    transact(one, NULL);

    *n_steps = 0;
    ck_assert_ptr_null(transact__(true, NULL, NULL, NULL, NULL));
    ck_assert_uint_eq(shash_count(&bridge.flows), 1);
    printf("%"PRIuSIZE" steps to delete all\n", *n_steps);
    ck_assert_uint_le(*n_steps, 4 * N);
    free(one);
    free(all);
}
END_TEST

/* Flow mods for all of 'n_ports' matches at 'n_priorities' priorities each,
 * shuffled. */
static struct ofputil_flow_mod *
shuffled_flow_mods(uint16_t command, int n_ports, int n_priorities)
{
    size_t n = n_ports * n_priorities;
    struct ofputil_flow_mod *fms = xcalloc(n, sizeof *fms);

    for (size_t i = 0; i < n; i++) {
        size_t j = random_range(i + 1);
        struct match match;

        match_init_catchall(&match);
        match_set_in_port(&match, u16_to_ofp(i % n_ports));
        fms[i] = fms[j];
        fms[j] = (struct ofputil_flow_mod) {
            .command = command,
            .priority = i,          /* All different. */
        };
        minimatch_init(&fms[j].match, &match);
    }
    return fms;
}

/* The lists of a mask, each with a share of the priorities, come, come anew and
 * go with a few steps for each flow. */
START_TEST(test_order_of_flow_mods)
{
    enum { N_PORTS = 40, N_PRIORITIES = 50, N = N_PORTS * N_PRIORITIES };
    static const uint16_t commands[] = {
        OFPFC_ADD, OFPFC_MODIFY_STRICT, OFPFC_DELETE_STRICT
    };

    test_seed_random();
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        struct ofputil_flow_mod *fms = shuffled_flow_mods(commands[i], N_PORTS,
                                                          N_PRIORITIES);

        bridge.classifier.n_steps = 0;
        adp_order_flow_mods(fms, N);
        for (size_t j = 0; j < N; j++) {
            classifier_model_mod(&bridge.classifier, &fms[j]);
            minimatch_destroy(&fms[j].match);
        }
        classifier_model_settle(&bridge.classifier);
        printf("%"PRIuSIZE" steps for %d flow mods\n",
               bridge.classifier.n_steps, N);
        ck_assert_uint_le(bridge.classifier.n_steps, 5 * N);
        free(fms);
    }
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("state");
    TCase *tc = tcase_create("state");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_static_flows_are_there_at_once);
    tcase_add_test(tc, test_transaction_changes_only_what_differs);
    tcase_add_test(tc, test_one_call_applies_and_deletes);
    tcase_add_test(tc, test_groups_follow);
    tcase_add_test(tc, test_replace);
    tcase_add_test(tc, test_generation_guards);
    tcase_add_test(tc, test_empty_call_is_no_change);
    tcase_add_test(tc, test_bad_record_changes_nothing);
    tcase_add_test(tc, test_refusal_of_the_bridge_changes_nothing);
    tcase_add_test(tc, test_broken_flow_is_reported);
    tcase_add_test(tc, test_flows_follow_the_ports);
    tcase_add_test(tc, test_flows_follow_the_round);
    tcase_add_test(tc, test_reinstall_restores_everything);
    tcase_add_test(tc, test_flow_of_another_controller_stays);
    tcase_add_test(tc, test_failed_sync_is_repeated_with_the_next_change);
    tcase_add_test(tc, test_options_change_only_what_differs);
    tcase_add_test(tc, test_another_pipeline_takes_the_bridge);
    tcase_add_test(tc, test_pipeline_that_cannot_is_refused);
    tcase_add_test(tc, test_pipeline_after_none);
    tcase_add_test(tc, test_many_records);
    tcase_add_test(tc, test_equal_matches_take_few_steps);
    tcase_add_test(tc, test_order_of_flow_mods);
    suite_add_tcase(s, tc);
    return s;
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);

    return test_run(suite());
}
