/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_DPCTL_DELTA_WORLD_H
#define TESTS_DPCTL_DELTA_WORLD_H 1

/* A daemon's state, what OVSDB says of ports, and changes that are planned
 * twice: from the objects that they concern ("some"), and from all there
 * are. */

#include <stdbool.h>

#include "dpctl-delta.h"
#include "dpctl-resolve.h"
#include "model.h"

struct adp_index;
struct svec;

struct delta_world {
    struct adp_model *model;
    struct adp_index *index;
    long long int generation;
    struct dpctl_ports ports;
    const char *change;         /* The one under way. */
    enum dpctl_verb change_verb;
    bool watched;               /* Did a watch tell it? */
    int n_asked_by_label;       /* Requests for what has a label. */
    int n_asked_namespaces;     /* Requests for all Namespaces. */
    int n_told_of_any_key;      /* Objects with too many keys, each time. */
    int n_told_policies;        /* Objects of K8s NetworkPolicies, likewise. */
};
extern struct delta_world dw;
extern const struct dpctl_source dw_source;

void dw_setup(void);
void dw_teardown(void);

/* All records; the caller destroys them. */
struct json *dw_state(void);
/* The state after the plan; '*error' becomes why it is refused, or NULL. */
struct adp_model *dw_after(const struct dpctl_plan *,
                           struct adp_error **error);
/* Goes on with 'next', and takes it. */
void dw_take(struct adp_model *next);

/* Of that kind of records, or NULL: of all. */
void dw_check_same_state(const struct adp_model *some,
                         const struct adp_model *all, const char *kind);
/* As one text; the caller frees it. */
char *dw_join(const struct svec *lines);

struct dw_tally {
    int some, full, errors, refused, patches, deleted;
};

/* Plans the change twice, has both come to the same, and goes on with that.
 * Returns false if nothing has changed. */
bool dw_step(enum dpctl_verb, const char *text, struct dw_tally *);
/* What a change that is told as 'text' takes. */
void dw_expect_step(enum dpctl_verb, const char *text, bool some);

/* What OVSDB says of a Pod's port, at random. */
struct dpctl_port *dw_random_port(void);

#define SPACE(LABEL) \
    "apiVersion: v1\nkind: Namespace\n" \
    "metadata: {name: ns0, labels: {env: " LABEL "}}\n"

#define SPACE_POD(NAME, LABEL) \
    "apiVersion: v1\nkind: Pod\n" \
    "metadata: {name: " NAME ", namespace: ns0, labels: {l: " LABEL "}}\n" \
    "spec: {nodeName: other}\nstatus: {podIP: 10.1.9.9}\n"

#define LOCAL_POD \
    "apiVersion: v1\nkind: Pod\n" \
    "metadata: {name: mine, namespace: ns0, labels: {l: mine}, " \
    "annotations: {antrea-dp.io/port: port1, " \
    "antrea-dp.io/mac: '0a:00:00:00:01:01'}}\n" \
    "spec: {nodeName: node1}\nstatus: {podIP: 10.1.0.9}\n"

#endif /* dpctl-delta-world.h */
