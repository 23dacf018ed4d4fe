/* SPDX-License-Identifier: Apache-2.0 */

/* Calls of the control socket's on the records of a bridge with a built-in
 * pipeline.
 *
 * Input: a program.  Each step is a transaction of random records (a byte pair
 * is the seed), in which some values are replaced by others, the text of
 * one, or a port that comes or goes.
 *
 * Must hold: after each one the engine's flows and groups are what
 * adp_pipeline_generate() makes of all records; one that is refused changes
 * nothing, and has a reason. */

#include <config.h>
#undef NDEBUG
#include "fuzz.h"

#include <limits.h>
#include "flow.h"
#include "model-records.h"
#include "openvswitch/json.h"
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
#include "pipeline.h"
#include "tests/unit/random-records.h"
#include "random.h"
#include "svec.h"

const long int fuzz_runs = 150;

enum { MAX_STEPS = 12, N_PORTS = 16 };

static const struct adp_pipeline *pipeline;
static struct ofputil_table_map tables;
static struct adp_model *model;
static struct adp_engine *engine;
static struct adp_pipeline_state *ids;  /* The generator's. */
static uint16_t ports[N_PORTS];

static bool
port_number(const char *name, ofp_port_t *port, void *aux OVS_UNUSED)
{
    int i = (name[0] == 'p' ? atoi(name + 1)
             : !strcmp(name, "gw0") ? 12 : !strcmp(name, "tun0") ? 13
             : !strcmp(name, "l7a") ? 14 : !strcmp(name, "l7b") ? 15 : -1);

    if (i < 0 || i >= N_PORTS || !ports[i]) {
        return false;
    }
    *port = u16_to_ofp(ports[i]);
    return true;
}

static const struct adp_model_env env = {
    .port_number = port_number, .round = 1
};

/* Flows and groups, each as a line. */

static void
put_actions(struct ds *s, const struct ofpact *ofpacts, size_t len)
{
    struct ds text = DS_EMPTY_INITIALIZER;
    struct ofpact_format_params fp = { .s = &text, .table_map = &tables };

    ofpacts_format(ofpacts, len, &fp);
    if (!strncmp(ds_cstr(&text), "conjunction(", 12)) {
        /* In any order. */
        struct svec clauses = SVEC_EMPTY_INITIALIZER;
        char *save_ptr = NULL;

        for (char *p = strtok_r(ds_cstr(&text), ")", &save_ptr); p;
             p = strtok_r(NULL, ")", &save_ptr)) {
            svec_add(&clauses, p + (*p == ','));
        }
        svec_sort(&clauses);
        for (size_t i = 0; i < clauses.n; i++) {
            ds_put_format(s, "%s)", clauses.names[i]);
        }
        svec_destroy(&clauses);
    } else {
        ds_put_cstr(s, ds_cstr(&text));
    }
    ds_destroy(&text);
}

static void
put_flow(struct svec *lines, const struct ofputil_flow_mod *fm)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct match match;

    minimatch_expand(&fm->match, &match);
    ds_put_format(&s, "table %d ", fm->table_id);
    match_format(&match, NULL, &s, fm->priority);
    ds_put_format(&s, " cookie %#"PRIx64" ", ntohll(fm->new_cookie));
    put_actions(&s, fm->ofpacts, fm->ofpacts_len);
    svec_add_nocopy(lines, ds_steal_cstr(&s));
}

static void
put_group(struct svec *lines, const struct ofputil_group_mod *gm)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    const struct ofputil_bucket *bucket;

    ds_put_format(&s, "group %"PRIu32" type %d", gm->group_id, gm->type);
    LIST_FOR_EACH (bucket, list_node, &gm->buckets) {
        ds_put_format(&s, ", %"PRIu32" weight %"PRIu16" ", bucket->bucket_id,
                      bucket->weight);
        put_actions(&s, bucket->ofpacts, bucket->ofpacts_len);
    }
    svec_add_nocopy(lines, ds_steal_cstr(&s));
}

/* What a flow set says; flows that are in it twice, once. */
static char *
text_of_set(const struct adp_flow_set *set)
{
    struct svec lines = SVEC_EMPTY_INITIALIZER;
    enum ofputil_protocol usable;
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &set->flows) {
        struct ofputil_flow_mod fm;

        fuzz_require(!parse_ofp_flow_mod_str(&fm, node->name, NULL, &tables,
                                             OFPFC_ADD, &usable));
        put_flow(&lines, &fm);
        minimatch_destroy(&fm.match);
        free(fm.ofpacts);
    }
    SHASH_FOR_EACH (node, &set->groups) {
        struct ofputil_group_mod gm;

        fuzz_require(!parse_ofp_group_mod_str(&gm, OFPGC11_ADD, node->name,
                                              NULL, &tables, &usable));
        put_group(&lines, &gm);
        ofputil_uninit_group_mod(&gm);
    }
    svec_sort_unique(&lines);
    char *text = svec_join(&lines, "\n", "\n");
    svec_destroy(&lines);
    return text;
}

/* What the engine wants, or NULL if that contradicts itself. */
static char *
text_of_engine(void)
{
    struct adp_desired *desired = adp_engine_desired(engine);
    struct svec lines = SVEC_EMPTY_INITIALIZER;
    struct adp_changes changes;
    struct adp_error *error = adp_desired_get_changes(
        desired, ADP_CHANGES_AFRESH, &tables, &changes);
    char *text = NULL;

    for (size_t i = 0; i < changes.n_flows && !error; i++) {
        struct ofputil_flow_mod fm;

        adp_change_to_flow_mod(desired, &changes.flows[i], ADP_GOAL_NEW, &fm);
        put_flow(&lines, &fm);
        adp_flow_mod_uninit(&fm);
    }
    for (size_t i = 0; i < changes.n_groups && !error; i++) {
        struct ofputil_group_mod gm;

        adp_change_to_group_mod(desired, &changes.groups[i], ADP_GOAL_NEW,
                                &gm);
        put_group(&lines, &gm);
        ofputil_uninit_group_mod(&gm);
    }
    adp_changes_uninit(&changes);
    if (!error) {
        svec_sort(&lines);
        fuzz_require(svec_is_unique(&lines));
        text = svec_join(&lines, "\n", "\n");
    }
    adp_error_destroy(error);
    svec_destroy(&lines);
    return text;
}

static void
require_same_text(const char *a, const char *b)
{
    if (strcmp(a, b)) {
        fprintf(stderr, "engine:\n%s\ngenerator:\n%s\n", a, b);
        fuzz_require(!strcmp(a, b));
    }
}

/* Transactions. */

/* Has the engine follow the model.  Returns false, and has undone it, if it
 * can't. */
static bool
run_engine(bool ports_changed)
{
    struct adp_pipeline_state *new_ids = adp_pipeline_state_clone(ids);
    char *before = text_of_engine(), *got = NULL;
    struct adp_flow_set set;

    adp_flow_set_init(&set);
    fuzz_require(before);
    struct adp_error *error = adp_engine_run(engine, pipeline, model, &env,
                                             ports_changed);
    struct adp_error *other = adp_pipeline_generate(pipeline, model, new_ids,
                                                    &env, &set);
    fuzz_require(!error == !other);
    fuzz_require(!error || !strcmp(error->message, other->message));
    if (!error) {
        got = text_of_engine();
    }
    if (got) {
        char *expected = text_of_set(&set);

        require_same_text(got, expected);
        free(expected);
        fuzz_require(!memcmp(adp_engine_meters(engine), &set.meters,
                             sizeof set.meters));
        adp_engine_accept(engine);
        adp_pipeline_state_destroy(ids);
        ids = new_ids;
    } else {
        adp_engine_revert(engine);
        adp_pipeline_state_destroy(new_ids);

        char *after = text_of_engine();
        fuzz_require(after);
        require_same_text(after, before);
        free(after);
    }
    bool ok = got != NULL;
    free(before);
    free(got);
    adp_flow_set_uninit(&set);
    adp_error_destroy(error);
    adp_error_destroy(other);
    return ok;
}

static char *
text_of_model(void)
{
    struct json *records = adp_model_get(model, NULL, NULL);
    char *text = json_to_string(records, JSSF_SORT);

    json_destroy(records);
    return text;
}

static void
transact(const struct json *apply, const struct json *delete, bool clear)
{
    char *before = text_of_model();
    struct adp_error *error = NULL;

    adp_model_begin(model);
    if (clear) {
        adp_model_clear(model);
    }
    if (delete) {
        error = adp_model_delete(model, delete, true, NULL);
    }
    if (!error && apply) {
        error = adp_model_apply(model, apply, NULL);
    }
    if (!error) {
        error = adp_model_check_changes(model, &env);
    }
    if (!error && run_engine(false)) {
        adp_model_commit(model);
    } else {
        adp_model_rollback(model);

        char *after = text_of_model();
        fuzz_require(!strcmp(before, after));
        free(after);
    }
    fuzz_require(!error || (error->code && error->message[0]));
    adp_error_destroy(error);
    free(before);
}

/* Records. */

static const char *const words[] = {
    "", "d/n0", "d/n1", "n0", "n1", "n9", "p0", "p1", "p8", "gw0", "tun0",
    "10.0.0.1", "10.0.0.10", "10.0.0.0/24", "0.0.0.0/0", "::/0", "fd00::1",
    "fd00::/64", "::ffff:10.0.0.1", "224.0.0.1", "255.255.255.255", "TCP",
    "UDP", "SCTP", "ICMP", "IGMP", "In", "Out", "Allow", "Drop", "Reject",
    "Pass", "Local", "Cluster", "00:00:00:00:00:01", "ff:ff:ff:ff:ff:ff",
    "*.example.com", "K8sNetworkPolicy", "AntreaClusterNetworkPolicy",
    "10.0.0.1/33", "1.2.3", "\302\240", "a b", "Both", "Redirect", "Mirror",
};

static const char *const names[] = {
    "name", "port", "ips", "ip", "addresses", "rules", "services", "endPort",
    "direction", "action", "priority", "tierPriority", "from", "to", "pods",
    "cidr", "except", "log", "nodePort", "endpoints", "weight", "local",
    "protocol", "mac", "kind", "frob",
};

static struct json *
odd_value(struct fuzz_input *in)
{
    static const long long int integers[] = {
        0, 1, -1, 80, 255, 256, 32768, 65535, 65536, INT_MAX, LLONG_MAX,
        LLONG_MIN,
    };
    uint8_t choice = fuzz_u8(in);

    switch (choice >> 5) {
    case 0:
        return json_integer_create(integers[(choice & 31)
                                            % ARRAY_SIZE(integers)]);
    case 1:
        return json_real_create((choice & 31) / 3.);
    case 2:
        return (choice & 1 ? json_null_create()
                : json_boolean_create(choice & 2));
    case 3:
        return choice & 1 ? json_array_create_empty() : json_object_create();
    default:
        return json_string_create(words[(choice & 127) % ARRAY_SIZE(words)]);
    }
}

/* Returns 'json', which it takes, changed somewhere. */
static struct json *
edit(struct json *json, struct fuzz_input *in, int depth)
{
    uint8_t choice = fuzz_u8(in);

    if (json->type == JSON_ARRAY && json->array.n && depth) {
        size_t i = choice % json->array.n;

        if (choice >= 240) {
            json_array_add(json, json_clone(json->array.elems[i]));
        } else {
            struct json *old = json->array.elems[i];

            json->array.elems[i] = edit(json_deep_clone(old), in, depth - 1);
            json_destroy(old);
        }
        return json;
    } else if (json->type == JSON_OBJECT && depth) {
        const struct shash_node **nodes = shash_sort(json_object(json));
        size_t n = shash_count(json_object(json));

        if (!n || choice >= 248) {
            json_object_put(json, names[choice % ARRAY_SIZE(names)],
                            odd_value(in));
        } else {
            const struct shash_node *node = nodes[choice % n];
            char *name = xstrdup(node->name);

            if (choice >= 240) {
                json_destroy(shash_find_and_delete(json_object(json), name));
            } else {
                struct json *value = edit(json_deep_clone(node->data), in,
                                          depth - 1);
                json_object_put(json, name, value);
            }
            free(name);
        }
        free(nodes);
        return json;
    }
    json_destroy(json);
    return odd_value(in);
}

/* A transaction that is written out: the rest of the line. */
static void
transact_text(struct fuzz_input *in)
{
    const uint8_t *end = memchr(in->p, '\n', in->n);
    size_t len = end ? end + 1 - in->p : in->n;
    char *text = xmemdup0((const char *) fuzz_bytes(in, &len), len);
    struct json *json = json_from_string(text);

    if (json->type == JSON_OBJECT) {
        const struct json *apply = shash_find_data(json_object(json), "apply");
        const struct json *delete = shash_find_data(json_object(json),
                                                    "delete");

        if ((!apply || apply->type == JSON_ARRAY)
            && (!delete || delete->type == JSON_ARRAY)) {
            transact(apply, delete, shash_find(json_object(json), "clear"));
        }
    }
    json_destroy(json);
    free(text);
}

static void
step(struct fuzz_input *in)
{
    uint8_t op = fuzz_u8(in);

    if (op == 'T') {
        transact_text(in);
    } else if (op >= 0xf0) {
        int i = op & 15;

        ports[i] = fuzz_u8(in) & 31;
        if (!run_engine(true)) {
            /* As the daemon, which tries again with the next change. */
            adp_engine_invalidate(engine);
        }
    } else {
        int n_edits = op < 0x80 ? 0 : 1 + (op & 3);
        struct json *apply, *delete;

        random_set_seed(fuzz_u16(in) + 1);
        random_transaction(&apply, &delete);
        for (int i = 0; i < n_edits; i++) {
            apply = edit(apply, in, 8);
        }
        if (apply->type == JSON_ARRAY) {
            transact(apply, delete, op == 0x7f);
        }
        json_destroy(apply);
        json_destroy(delete);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };
    uint8_t how = fuzz_u8(&in);

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    pipeline = adp_pipeline_find(how & 1 ? "early" : "v1.15");
    adp_pipeline_init_table_map(pipeline, &tables);
    random_policy_types = pipeline->policy_types;
    random_kinds = pipeline->kinds;
    random_ipv6 = pipeline->vocabulary6 != NULL && !(how & 2);
    random_multicast = how & 4;
    for (int i = 0; i < N_PORTS; i++) {
        ports[i] = i == 8 ? 0 : i + 1;
    }
    model = adp_model_create();
    engine = adp_engine_create();
    ids = adp_pipeline_state_create();
    fuzz_require(run_engine(true));
    for (int i = 0; i < MAX_STEPS && in.n; i++) {
        step(&in);
    }
    adp_engine_destroy(engine);
    adp_model_destroy(model);
    adp_pipeline_state_destroy(ids);
    ofputil_table_map_destroy(&tables);
    return 0;
}
