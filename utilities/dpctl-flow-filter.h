/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_FLOW_FILTER_H
#define DPCTL_FLOW_FILTER_H 1

/* Which flows are about a Pod, a policy or a Service.
 *
 * A flow is about
 *
 *   - a Pod if it matches on its port, its MAC address or one of its
 *     addresses, be it as sender, receiver, peer of a policy or endpoint;
 *   - a policy if it is part of one of its rules: a clause, the flow that
 *     acts where all clauses are met, or one that counts; or if it drops what
 *     a Pod that the policy isolates may not send or get;
 *   - a Service if it sends packets to one of its groups, or to one of the
 *     endpoints in these, or is learned from the choice of one.
 *
 * What is looked for of several kinds must all be met.  Pure functions. */

#include <stdbool.h>
#include <stdint.h>
#include "openflow/openflow.h"

struct dpctl_flow_filter;
struct json;
struct ofputil_flow_stats;

enum dpctl_direction {
    DPCTL_EGRESS = 1 << 0,      /* What the Pod sends. */
    DPCTL_INGRESS = 1 << 1,
};

struct dpctl_flow_filter *dpctl_flow_filter_create(void);
void dpctl_flow_filter_destroy(struct dpctl_flow_filter *);

/* About this Pod, a record whose port has number 'port' (OFPP_NONE: there is
 * none). */
void dpctl_flow_filter_pod(struct dpctl_flow_filter *, const struct json *pod,
                           ofp_port_t port);

/* About a policy, of which the other functions add parts: rules by the IDs of
 * their conjunctions, and Pods that it isolates. */
void dpctl_flow_filter_policy(struct dpctl_flow_filter *);
void dpctl_flow_filter_rule(struct dpctl_flow_filter *, uint32_t conj_id);
void dpctl_flow_filter_isolated(struct dpctl_flow_filter *,
                                const struct json *pod, ofp_port_t port,
                                enum dpctl_direction);

/* About this Service, a record, to which belong the groups that are added. */
void dpctl_flow_filter_service(struct dpctl_flow_filter *,
                               const struct json *service);
void dpctl_flow_filter_group(struct dpctl_flow_filter *, uint32_t group_id);

/* 'table' is the name of its table. */
bool dpctl_flow_filter_fits(const struct dpctl_flow_filter *,
                            const struct ofputil_flow_stats *,
                            const char *table);

/* Does the flow drop what an isolated Pod may not send or get, and nothing
 * else? */
bool dpctl_flow_isolates(const struct ofputil_flow_stats *, const char *table,
                         enum dpctl_direction);

/* Cookies (docs/names.md): the category, and what in it is meant, 0 if nothing
 * in particular. */
enum { DPCTL_COOKIE_POLICY = 2, DPCTL_COOKIE_SERVICE = 3 };
unsigned int dpctl_cookie_category(uint64_t cookie);
uint32_t dpctl_cookie_object(uint64_t cookie);
/* All cookies of a category, for a request. */
void dpctl_cookie_of_category(unsigned int category, uint64_t *cookie,
                              uint64_t *mask);

#endif /* dpctl-flow-filter.h */
