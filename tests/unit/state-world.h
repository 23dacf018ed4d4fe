/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_STATE_WORLD_H
#define TESTS_STATE_WORLD_H 1

/* What transactions on the typed state are tested with: a bridge of our own that
 * shows which flow mods reach it, and a small pipeline: each Pod has a flow, each
 * AddressGroup a group and a flow to it, each Egress a meter and one that uses
 * it. */

#include <stdbool.h>
#include "adp-state.h"
#include "classifier-model.h"
#include "openvswitch/shash.h"
#include "pipeline.h"
#include "simap.h"
#include "svec.h"

struct adp_bridge {
    const struct adp_pipeline *pipeline;
    uint64_t options;
    struct simap ports;
    uint64_t ports_seq;
    uint16_t round;
    char *refusal;              /* What the next commit returns, if nonnull. */
    uint32_t refused_meter;     /* 0: none. */
    bool has_needs;             /* Of the pipeline; else no flow is taken. */
    const char *missing;        /* Why it can't get them, or NULL. */

    /* What is in it: "table=T,priority=P,MATCH" to "COOKIE ACTIONS", and
     * group id to number of buckets. */
    struct shash flows;
    struct shash groups;
    struct classifier_model classifier;

    struct svec log;            /* Mods of commits. */
    size_t n_commits;
};

extern struct adp_bridge bridge;
extern struct adp_state *state;

extern const struct adp_pipeline test_pipeline;
/* Another one, which knows no policies. */
extern const struct adp_pipeline other_pipeline;

void state_world_setup(void);
void state_world_teardown(void);

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
const char *transact__(bool clear, const char *apply, const char *delete,
                       const uint64_t *if_generation, const char *message);
void transact(const char *apply, const char *delete);
void expect_failure(const char *apply, const char *delete, const char *code,
                    const char *message);
/* The bridge got exactly these mods (in any order) since the last time. */
void expect_mods(const char *mods);

void set_port(const char *name, unsigned int number);
void use_pipeline(const struct adp_pipeline *, uint64_t options,
                  bool replace);
/* Groups, each with a flow of the priority that is its name. */
char *many_groups(int first, int last);

#endif /* state-world.h */
