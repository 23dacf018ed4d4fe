/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_RECORD_FLOWS_H
#define TESTS_RECORD_FLOWS_H 1

/* From records to the flows that change, in the steps of a transaction and
 * without a bridge: a model, and an engine for pipeline v1.15. */

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "model.h"
#include "openvswitch/json.h"
#include "openvswitch/ofp-table.h"
#include "pipeline-builtin.h"
#include "pipeline-desired.h"
#include "pipeline-engine.h"
#include "pipeline.h"
#include "util.h"

static const struct adp_pipeline *pipeline;
static struct ofputil_table_map tables;
static struct adp_model *model;
static struct adp_engine *engine;

#define NODE_RECORD "{\"kind\":\"NodeConfig\",\"name\":\"n\",\"gateway\":"  \
    "{\"port\":\"gw0\",\"mac\":\"00:00:00:00:01:01\",\"ip\":\"10.10.0.1\"}," \
    "\"tunnel\":{\"port\":\"tun0\"},\"podCIDR\":\"10.10.0.0/16\","          \
    "\"serviceCIDR\":\"10.96.0.0/12\",\"transportIP\":\"192.168.0.1\"}"

/* Those of Pods begin with a "p" and end with a number. */
static bool
port_number(const char *name, ofp_port_t *port, void *aux OVS_UNUSED)
{
    *port = u16_to_ofp(name[0] == 'p'
                       ? 10 + atoi(name + strcspn(name, "0123456789"))
                       : name[0] == 'g' ? 1 : 2);
    return true;
}

static const struct adp_model_env env = {
    .port_number = port_number, .round = 1
};

static void
record_flows_init(void)
{
    pipeline = adp_pipeline_find("v1.15");
    adp_pipeline_init_table_map(pipeline, &tables);
    model = adp_model_create();
    engine = adp_engine_create();
}

static void
record_flows_uninit(void)
{
    adp_engine_destroy(engine);
    adp_model_destroy(model);
    ofputil_table_map_destroy(&tables);
}

static void
must(struct adp_error *error)
{
    if (error) {
        ovs_fatal(0, "%s", error->message);
    }
}

/* The steps of a transaction, which takes 'records' over, or deletes those
 * that they name. */

static void
change_records(const struct json *records, bool delete)
{
    adp_model_begin(model);
    must(delete ? adp_model_delete(model, records, false, NULL)
         : adp_model_apply(model, records, NULL));
    must(adp_model_check_changes(model, &env));
}

static void
change_nodes(void)
{
    must(adp_engine_run(engine, pipeline, model, &env, false));
}

/* Returns how many flows and groups change. */
static size_t
change_flows(void)
{
    struct adp_changes changes;

    must(adp_desired_get_changes(adp_engine_desired(engine),
                                 ADP_CHANGES_ONLY, &tables, &changes));
    size_t n = changes.n_flows + changes.n_groups;
    adp_changes_uninit(&changes);
    adp_engine_accept(engine);
    adp_model_commit(model);
    return n;
}

/* What there is. */

static struct adp_desired_usage
get_usage(void)
{
    struct adp_desired_usage usage;

    adp_desired_get_usage(adp_engine_desired(engine), &usage);
    return usage;
}

/* Of the heap. */
static size_t
used_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

#endif /* record-flows.h */
