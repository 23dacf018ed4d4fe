/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_PIPELINE_WORLD_H
#define TESTS_PIPELINE_WORLD_H 1

/* A Node with two Pods for tests of pipelines: records in, flows out.
 *
 * JSON is written with single quotes here.  Flows are told by text, as the
 * pipeline writes them; "the text" of a flow starts behind its cookie.
 */

#include "model.h"
#include "openvswitch/json.h"
#include "pipeline.h"

struct ofputil_table_map;

struct pw_port {
    const char *name;
    uint16_t number;            /* 0 if the bridge has lost it. */
};

/* Those of the L7 engine aren't there at first.  The Pods' ports are the last
 * ones. */
enum { PW_GATEWAY, PW_TUNNEL, PW_L7_TARGET, PW_L7_RETURN, PW_A, PW_B,
       PW_N_PORTS };

struct pipeline_world {
    const struct adp_pipeline *pipeline;
    struct adp_model_env env;
    struct pw_port ports[PW_N_PORTS];
    struct adp_pipeline_state *state;
    struct adp_flow_set set;    /* What was generated last. */
};
extern struct pipeline_world pw;

#define NODE_WITH(X) "{'kind':'NodeConfig','name':'n','gateway':" \
    "{'port':'gw0','mac':'00:00:00:00:00:01','ip':'10.0.0.1'}," X \
    "'podCIDR':'10.0.0.0/24','transportIP':'192.168.0.1'}"
#define NODE NODE_WITH("'tunnel':{'port':'tun0'},")
#define PODS "{'kind':'Pod','name':'d/a','port':'a'," \
    "'mac':'00:00:00:00:00:0a','ips':['10.0.0.10']}," \
    "{'kind':'Pod','name':'d/b','port':'b'," \
    "'mac':'00:00:00:00:00:0b','ips':['10.0.0.11']}"
#define PEER "{'kind':'PeerNode','name':'p','podCIDR':'10.0.1.0/24'," \
    "'gatewayIP':'10.0.1.1','transportIP':'192.168.0.2'}"
#define GROUPS "{'kind':'AppliedToGroup','name':'a','pods':['d/a']}," \
    "{'kind':'AppliedToGroup','name':'b','pods':['d/b']}," \
    "{'kind':'AppliedToGroup','name':'ab','pods':['d/a','d/b','d/gone']}," \
    "{'kind':'AppliedToGroup','name':'gone','pods':['d/gone']}," \
    "{'kind':'AddressGroup','name':'x','addresses':['10.0.2.2']}," \
    "{'kind':'AddressGroup','name':'y'," \
    "'addresses':['10.0.3.0/24','10.0.2.2']}," \
    "{'kind':'AddressGroup','name':'none','addresses':[]}"
#define BASE NODE "," PODS "," PEER "," GROUPS

void pw_init(const struct adp_pipeline *);
void pw_uninit(void);
void pw_set_options(const char *list);

/* Makes flows of records.  generate() fails the test on an error. */
void generate(const char *quoted);
struct adp_error *try_generate(const char *quoted);
struct adp_error *generate_json(struct json *records);

/* The text of the only flow that contains 'part', or NULL. */
const char *find_flow(const char *part);
size_t count_flows(const char *part);
/* The text of the group, which there must be. */
const char *find_group(uint32_t id);
bool has_flow(const char *text);
void expect_flow(const char *text);

/* Fills '*tables', which needs no init, with the names of the tables. */
void put_table_names(struct ofputil_table_map *tables);

/* All flows and groups parse, no two have the same table, priority and match,
 * and the pipeline has words for what their cookies name. */
void check_set(void);
/* A new bridge has a miss flow in each table that is to have one, and records
 * other than NodeConfig alone change nothing. */
void check_static(void);

#endif /* pipeline-world.h */
