/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "state-world.h"

#include <check.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "openvswitch/json.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/vlog.h"
#include "pipeline-gen.h"
#include "test-run.h"
#include "util.h"

/* The bridge. */

struct adp_bridge bridge;
struct adp_state *state;
static struct ofputil_table_map table_map;

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

void
adp_bridge_pipeline_set_options(struct adp_bridge *b, uint64_t options)
{
    b->options = options;
}

char *
adp_bridge_pipeline_ensure(struct adp_bridge *b)
{
    if (b->missing) {
        return xstrdup(b->missing);
    }
    b->has_needs = true;
    return NULL;
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
        ovs_assert(gm->command == OFPGC11_ADD_OR_MOD);
        char *n = xasprintf("%"PRIuSIZE, ovs_list_size(&gm->buckets));
        free(shash_replace(&b->groups, id, n));
        svec_add_nocopy(&b->log, xasprintf("put group %s", id));
    }
    free(id);
}

/* As OpenFlow has it, a flow may not refer to a group that isn't there. */
static bool
lacks_group(const struct adp_bridge *b, const struct ofputil_flow_mod *fm)
{
    const struct ofpact *a;
    bool lacks = false;

    OFPACT_FOR_EACH (a, fm->ofpacts, fm->ofpacts_len) {
        if (a->type == OFPACT_GROUP) {
            char *id = xasprintf("%"PRIu32, ofpact_get_GROUP(a)->group_id);

            lacks = lacks || !shash_find(&b->groups, id);
            free(id);
        }
    }
    return lacks;
}

char *
adp_bridge_commit(struct adp_bridge *b, const struct ofputil_flow_mod *fms,
                  size_t n_fms, const struct ofputil_group_mod *gms,
                  size_t n_gms, bool replace)
{
    b->n_commits++;
    if (b->refusal) {
        return nullable_xstrdup(b->refusal);
    } else if (!b->has_needs && n_fms) {
        return xstrdup("OFPMMFC_INVALID_METER");
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
        /* Tests have no flow that comes before such a one in a version. */
        if (lacks_group(b, &fms[i])) {
            return xstrdup("OFPBAC_BAD_OUT_GROUP");
        }
        fake_flow_mod(b, &fms[i]);
    }
    classifier_model_settle(&b->classifier);
    return NULL;
}

char *
adp_bridge_set_meter(struct adp_bridge *b, uint32_t meter_id, uint32_t rate,
                     uint32_t burst)
{
    if (b->refused_meter && meter_id == b->refused_meter) {
        return xstrdup("OFPMMFC_OUT_OF_METERS");
    }
    svec_add_nocopy(&b->log, xasprintf("meter %"PRIu32" %"PRIu32"/%"PRIu32,
                                       meter_id, rate, burst));
    return NULL;
}

void
adp_bridge_delete_meter(struct adp_bridge *b, uint32_t meter_id)
{
    svec_add_nocopy(&b->log, xasprintf("delete meter %"PRIu32, meter_id));
}

/* The pipeline. */

static const char *
field(const struct json *record, const char *name)
{
    return json_string(shash_find_data(json_object(record), name));
}

/* Its name is the number of its meter, and the priority of the flow that uses
 * it. */
static void
generate_egress(struct adp_generator *g, const struct adp_record *record)
{
    int id = atoi(record->name);

    g->meters->limits[id] = CONTAINER_OF(record, struct adp_egress,
                                         up)->bandwidth;
    adp_gen_flow_text(g, "cookie=%#x, table=In, priority=%d "
                      "actions=meter:%d,goto_table:Out", g->env->round, id,
                      id);
}

static void
test_generate(struct adp_generator *g)
{
    const struct adp_model_env *env = g->env;
    struct json *pods = adp_model_get(g->model, "Pod", NULL);
    struct json *groups = adp_model_get(g->model, "AddressGroup", NULL);

    adp_gen_flow_text(g, "cookie=%#x, table=Out, priority=0 actions=drop",
                     env->round);
    if (adp_gen_option(g, 0)) {
        adp_gen_flow_text(g, "cookie=%#x, table=Out, priority=1 actions=drop",
                         env->round);
    }
    for (size_t i = 0; i < pods->array.n; i++) {
        const struct json *pod = pods->array.elems[i];
        const struct json *ips = shash_find_data(json_object(pod), "ips");
        ofp_port_t port;

        if (env->port_number(field(pod, "port"), &port, env->aux)) {
            adp_gen_flow_text(g, "cookie=%#x, table=In, priority=200,ip,"
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
        adp_gen_group(g, ds_cstr(&s));
        ds_destroy(&s);
        adp_gen_flow_text(g, "cookie=%#x, table=Out, priority=%d actions=%s:%d",
                         env->round,
                         strchr(field(group, "name"), '*') ? 0 : id,
                         strchr(field(group, "name"), '!') ? "frobnicate"
                         : "group", id);
    }
    json_destroy(pods);
    json_destroy(groups);
    adp_gen_for_each(g, ADP_KIND_EGRESS, generate_egress);
}

static const struct adp_pipeline_option test_options[] = {
    { "extra", "there is another flow", NULL },
};

static const struct adp_pipeline_table test_tables[] = {
    { "In", 1, NULL },
    { "Out", 2, NULL },
};

const struct adp_pipeline test_pipeline = {
    .name = "test",
    .tables = test_tables,
    .n_tables = ARRAY_SIZE(test_tables),
    .options = test_options,
    .n_options = ARRAY_SIZE(test_options),
    .kinds = UINT_MAX,
    .policy_types = UINT_MAX,
    .generate = test_generate,
};

/* Another one, which knows no policies and whose flows have the same keys
 * where they are at all alike. */
static void
other_generate(struct adp_generator *g)
{
    adp_gen_flow_text(g, "cookie=%#x, table=Out, priority=0 "
                     "actions=output:7", g->env->round);
    adp_gen_flow_text(g, "cookie=%#x, table=In, priority=1 "
                     "actions=output:%"PRIuSIZE, g->env->round,
                     1 + adp_model_count(g->model, "Pod"));
}

const struct adp_pipeline other_pipeline = {
    .name = "other",
    .tables = test_tables,
    .n_tables = ARRAY_SIZE(test_tables),
    .kinds = UINT_MAX,
    .generate = other_generate,
};

/* Helpers. */

void
state_world_setup(void)
{
    bridge.pipeline = &test_pipeline;
    bridge.options = 0;
    simap_init(&bridge.ports);
    simap_put(&bridge.ports, "p1", 1);
    simap_put(&bridge.ports, "p2", 2);
    bridge.ports_seq = 1;
    bridge.round = 1;
    bridge.refusal = NULL;
    bridge.refused_meter = 0;
    bridge.has_needs = false;
    bridge.missing = NULL;
    bridge.n_commits = 0;
    shash_init(&bridge.flows);
    shash_init(&bridge.groups);
    svec_init(&bridge.log);
    classifier_model_init(&bridge.classifier);

    adp_pipeline_init_table_map(&test_pipeline, &table_map);

    state = adp_state_create(&bridge);
    adp_state_sync(state, false);
    svec_clear(&bridge.log);
    bridge.n_commits = 0;
}

void
state_world_teardown(void)
{
    adp_state_destroy(state);
    simap_destroy(&bridge.ports);
    shash_destroy_free_data(&bridge.flows);
    shash_destroy_free_data(&bridge.groups);
    svec_destroy(&bridge.log);
    classifier_model_uninit(&bridge.classifier);
    ofputil_table_map_destroy(&table_map);
}

/* Applies and deletes what isn't NULL.  Returns the error's code, or NULL. */
const char *
transact__(bool clear, const char *apply, const char *delete,
           const uint64_t *if_generation, const char *message)
{
    struct json *a = apply ? json_from_string(apply) : NULL;
    struct json *d = delete ? json_from_string(delete) : NULL;
    struct adp_state_change change = {
        .clear = clear, .apply = a, .delete = d,
        .if_generation = if_generation,
    };
    const char *code = NULL;

    struct adp_state_call *call = adp_state_transact(state, &change);
    while (!call->done) {
        ck_assert(adp_state_is_busy(state));
        adp_state_run(state);
    }
    while (adp_state_is_busy(state)) {
        adp_state_run(state);   /* What was before is freed. */
    }
    ck_assert_uint_eq(call->generation, adp_state_generation(state));
    if (call->error) {
        code = call->error->code;
        ck_assert_msg(!message || strstr(call->error->message, message),
                      "\"%s\" lacks \"%s\"", call->error->message, message);
        ck_assert_uint_eq(call->n_applied, 0);
        ck_assert_uint_eq(call->n_deleted, 0);
    } else {
        ck_assert_uint_eq(call->n_applied, a ? a->array.n : 0);
        ck_assert_uint_eq(call->n_deleted, d ? d->array.n : 0);
    }
    adp_state_call_unref(call);
    json_destroy(a);
    json_destroy(d);
    return code;
}

void
transact(const char *apply, const char *delete)
{
    const char *code = transact__(false, apply, delete, NULL, NULL);

    ck_assert_msg(!code, "error \"%s\"", code);
}

void
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
void
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

void
set_port(const char *name, unsigned int number)
{
    if (number) {
        simap_put(&bridge.ports, name, number);
    } else {
        simap_find_and_delete(&bridge.ports, name);
    }
    bridge.ports_seq++;
}

void
use_pipeline(const struct adp_pipeline *pipeline, uint64_t options,
             bool replace)
{
    bridge.pipeline = pipeline;
    bridge.options = options;
    ofputil_table_map_destroy(&table_map);
    adp_pipeline_init_table_map(pipeline, &table_map);

    struct adp_error *error = adp_state_install(state, replace);
    ck_assert_msg(!error, "%s", error ? error->message : NULL);
}

/* Groups, each with a flow of the priority that is its name. */
char *
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

