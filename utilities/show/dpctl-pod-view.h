/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_POD_VIEW_H
#define DPCTL_POD_VIEW_H 1

/* All that there is to tell of a Pod: what "describe pod" prints.
 *
 * Pure functions on records and on the answer to "stats". */

#include <stdbool.h>
#include "openvswitch/json.h"

struct ds;

/* What it is made of; all is borrowed. */
struct dpctl_pod_facts {
    const struct json *pod;         /* The record. */
    const struct json_array *records;   /* AppliedToGroups, NetworkPolicies,
                                         * Egresses, TrafficControls and
                                         * Services, those that matter at
                                         * least. */
    const struct json *stats;       /* Or NULL. */
};

/* The names of the AppliedToGroups among 'records' that have the Pod, as an
 * array. */
struct json *dpctl_pod_groups(const struct json_array *records,
                              const char *pod);

/* The Pod in parts:
 *
 *   pod         the record
 *   ingress, egress  each with
 *       rules       those that apply, in the order in which they are decided
 *                   (Kubernetes' are one step, whatever their order), with
 *                   "policy", "type", "stage", "tier", "priority", "rule",
 *                   "number", "action", "peer", "services", and the counters
 *                   of all Pods that a rule applies to; "asked" is false if
 *                   no packet gets as far
 *       isolated_by names of the policies that isolate it; absent if none
 *   services    ports of Services of which it is an endpoint
 *   egresses, traffic_controls   names of those that apply to it
 */
struct json *dpctl_pod_view(const struct dpctl_pod_facts *);

/* The same as text.  The caller may have put in:
 *
 *   port        "name", "number", "state", and counters, seen by the Pod:
 *               "sent_packets", "received_bytes"...
 *   flows       how many are about it
 *   isolation_drops   "ingress" and "egress": packets
 */
void dpctl_pod_view_format(const struct json *view, struct ds *);

/* Names of policies that apply to the Pod, each once, in the order in which
 * they come first; those that only isolate it last. */
struct json *dpctl_pod_view_policies(const struct json *view);

#endif /* dpctl-pod-view.h */
