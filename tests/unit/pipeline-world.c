/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-world.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-metadata.h"
#include "flow.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-table.h"
#include "packets.h"
#include "pipeline-guide.h"
#include "quoted-json.h"
#include "sset.h"
#include "util.h"

struct pipeline_world pw;

static const struct pw_port default_ports[] = {
    { "gw0", 2 }, { "tun0", 1 }, { "antrea-l7-tap0", 0 },
    { "antrea-l7-tap1", 0 }, { "a", 10 }, { "b", 11 },
};

static bool
port_number(const char *name, ofp_port_t *port, void *aux OVS_UNUSED)
{
    for (size_t i = 0; i < PW_N_PORTS; i++) {
        if (!strcmp(pw.ports[i].name, name) && pw.ports[i].number) {
            *port = u16_to_ofp(pw.ports[i].number);
            return true;
        }
    }
    return false;
}

void
pw_init(const struct adp_pipeline *pipeline)
{
    ck_assert(pipeline);
    pw.pipeline = pipeline;
    pw.env = (struct adp_model_env) {
        .port_number = port_number,
        .round = 5,
    };
    BUILD_ASSERT(sizeof default_ports == sizeof pw.ports);
    memcpy(pw.ports, default_ports, sizeof pw.ports);
    pw.state = adp_pipeline_state_create();
    adp_flow_set_init(&pw.set);
}

void
pw_uninit(void)
{
    adp_pipeline_state_destroy(pw.state);
    adp_flow_set_uninit(&pw.set);
}

void
pw_set_options(const char *list)
{
    char *error = adp_pipeline_parse_options(pw.pipeline, list,
                                             &pw.env.options);

    ck_assert_msg(!error, "%s", error);
}

/* Flows of tables that are said to match on so much and no more don't. */
static void
check_filled(const struct adp_pipeline_filled *filled)
{
    struct ofputil_table_map tables;
    const struct shash_node *node;
    struct minimatch declared;

    adp_pipeline_init_table_map(pw.pipeline, &tables);
    adp_pipeline_filled_match(pw.pipeline, filled, &declared);
    uint32_t words = adp_metadata_of_match(&declared);
    ck_assert(words && words < ADP_METADATA_BEYOND);
    SHASH_FOR_EACH (node, &pw.set.flows) {
        enum ofputil_protocol usable;
        struct ofputil_flow_mod fm;
        char *error = parse_ofp_flow_mod_str(&fm, node->name, NULL, &tables,
                                             OFPFC_ADD, &usable);

        ck_assert_msg(!error, "%s", error);
        ck_assert_msg(fm.table_id != filled->table_id
                      || !(adp_metadata_of_match(&fm.match) & ~words),
                      "%s", node->name);
        minimatch_destroy(&fm.match);
        free(fm.ofpacts);
    }
    minimatch_destroy(&declared);
    ofputil_table_map_destroy(&tables);
}

struct adp_error *
generate_json(struct json *json)
{
    struct adp_model *model = adp_model_create();
    struct adp_error *error = adp_model_apply(model, json, NULL);

    ck_assert_msg(!error, "%s", error ? error->message : NULL);
    adp_flow_set_uninit(&pw.set);
    adp_flow_set_init(&pw.set);
    error = adp_pipeline_generate(pw.pipeline, model, pw.state, &pw.env,
                                  &pw.set);
    for (size_t i = 0; !error && i < pw.pipeline->n_filled_tables; i++) {
        check_filled(&pw.pipeline->filled_tables[i]);
    }
    adp_model_destroy(model);
    json_destroy(json);
    return error;
}

struct adp_error *
try_generate(const char *quoted)
{
    return generate_json(json_array_from_quoted(quoted));
}

void
generate(const char *quoted)
{
    struct adp_error *error = try_generate(quoted);

    ck_assert_msg(!error, "%s", error ? error->message : NULL);
}

const char *
find_flow(const char *part)
{
    const struct shash_node *node;
    const char *found = NULL;

    SHASH_FOR_EACH (node, &pw.set.flows) {
        if (strstr(node->name, part)) {
            ck_assert_msg(!found, "two flows with %s", part);
            found = strstr(node->name, "table=");
        }
    }
    return found;
}

const char *
find_group(uint32_t id)
{
    char *start = xasprintf("group_id=%"PRIu32",", id);
    const struct shash_node *node;
    const char *found = NULL;

    SHASH_FOR_EACH (node, &pw.set.groups) {
        if (!strncmp(node->name, start, strlen(start))) {
            found = node->name;
        }
    }
    free(start);
    ck_assert(found);
    return found;
}

size_t
count_flows(const char *part)
{
    const struct shash_node *node;
    size_t n = 0;

    SHASH_FOR_EACH (node, &pw.set.flows) {
        n += strstr(node->name, part) != NULL;
    }
    return n;
}

bool
has_flow(const char *flow)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &pw.set.flows) {
        if (!strcmp(strstr(node->name, "table="), flow)) {
            return true;
        }
    }
    return false;
}

void
expect_flow(const char *flow)
{
    ck_assert_msg(has_flow(flow), "no flow %s", flow);
}

void
put_table_names(struct ofputil_table_map *tables)
{
    adp_pipeline_init_table_map(pw.pipeline, tables);
}

/* What a cookie names can be told in words. */
static void
check_cookie(uint64_t cookie)
{
    const struct adp_guide_cookie *guide
        = adp_guide_cookie_find(pw.pipeline, cookie >> 40);
    uint32_t object = cookie;
    char *text = NULL;

    if (!pw.pipeline->guide) {
        return;
    }
    ck_assert_msg(guide, "no words for cookie 0x%"PRIx64, cookie);
    if (!object) {
        return;
    }
    switch (guide->object) {
    case ADP_GUIDE_RULE:
        text = adp_pipeline_describe_conj(pw.state, object);
        break;
    case ADP_GUIDE_GROUP:
        text = adp_pipeline_describe_group(pw.state, object);
        break;
    case ADP_GUIDE_APPLIED:
        text = adp_pipeline_describe_applied(pw.state, object);
        break;
    case ADP_GUIDE_OFPORT:
        for (size_t i = 0; i < PW_N_PORTS && !text; i++) {
            text = (pw.ports[i].number == object ? xstrdup(pw.ports[i].name)
                    : NULL);
        }
        break;
    case ADP_GUIDE_NUMBER:
    case ADP_GUIDE_IPV4:
    case ADP_GUIDE_IPV6:
    case ADP_GUIDE_L7_RULE:
    case ADP_GUIDE_EGRESS_MARK:
    default:
        break;
    }
    ck_assert_msg(text, "no object for cookie 0x%"PRIx64, cookie);
    free(text);
}

void
check_set(void)
{
    struct ofputil_table_map tables;
    struct sset keys = SSET_INITIALIZER(&keys);
    enum ofputil_protocol usable;
    const struct shash_node *node;

    put_table_names(&tables);
    SHASH_FOR_EACH (node, &pw.set.flows) {
        struct ofputil_flow_mod fm;
        char *error = parse_ofp_flow_mod_str(&fm, node->name, NULL, &tables,
                                             OFPFC_ADD, &usable);

        ck_assert_msg(!error, "%s: %s", node->name, error);
        ck_assert_msg(usable & OFPUTIL_P_OF15_OXM, "%s", node->name);
        ck_assert_uint_eq(ntohll(fm.new_cookie) >> 48, pw.env.round);
        check_cookie(ntohll(fm.new_cookie));

        struct match match;
        minimatch_expand(&fm.match, &match);
        char *match_s = match_to_string(&match, NULL, fm.priority);
        char *key = xasprintf("%"PRIu8" %d %s", fm.table_id, fm.priority,
                              match_s);
        ck_assert_msg(sset_add(&keys, key), "two flows %s", node->name);
        free(key);
        free(match_s);
        minimatch_destroy(&fm.match);
        free(fm.ofpacts);
    }
    SHASH_FOR_EACH (node, &pw.set.groups) {
        struct ofputil_group_mod gm;
        char *error = parse_ofp_group_mod_str(&gm, OFPGC11_ADD, node->name,
                                              NULL, &tables, &usable);

        ck_assert_msg(!error, "%s: %s", node->name, error);
        ofputil_uninit_group_mod(&gm);
    }
    sset_destroy(&keys);
    ofputil_table_map_destroy(&tables);
}

void
check_static(void)
{
    generate("");
    check_set();
    ck_assert_uint_eq(shash_count(&pw.set.groups), 0);
    for (size_t i = 0; i < pw.pipeline->n_tables; i++) {
        const struct adp_pipeline_table *t = &pw.pipeline->tables[i];
        char *miss = xasprintf("table=%s, priority=0 ", t->name);

        ck_assert_msg(!find_flow(miss) == !t->miss, "%s", miss);
        free(miss);
    }

    /* Nothing else comes without a NodeConfig. */
    size_t n = shash_count(&pw.set.flows);
    generate(PODS "," PEER "," GROUPS);
    ck_assert_uint_eq(shash_count(&pw.set.flows), n);
}
