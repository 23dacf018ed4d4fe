/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_METRICS_H
#define ADP_PIPELINE_METRICS_H 1

/* Counters of policy rules, Services and what applies to Pods, out of those of
 * flows and groups.
 *
 * Whoever has the flows feeds them in with what they count according to their
 * pipeline (adp_pipeline's 'flow_metric'); here they are summed up by what the
 * pipeline's IDs stand for.
 *
 * As in Antrea's statistics, a rule that drops or rejects has as many
 * sessions as packets, because no connection comes of them.  So has one that
 * passes: the packets that it passes on are the first of their connections.
 *
 * Thread-safety: as the model.
 *
 * Memory: refers to the pipeline's state and the records in it; to be
 * destroyed before they change.
 *
 * Cost: a hash look-up for each flow and group; the results are sorted.  What
 * is linear in rules or groups calls adp_pause() (model-pause.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/json.h"
#include "pipeline.h"

struct adp_metrics;

struct adp_metrics *adp_metrics_create(const struct adp_pipeline_state *);
void adp_metrics_destroy(struct adp_metrics *);

/* Adds the counters of a flow that is 'metric' of 'id'.  What nothing is known
 * of is left out. */
void adp_metrics_add_flow(struct adp_metrics *, enum adp_flow_metric metric,
                          uint32_t id, uint64_t n_packets, uint64_t n_bytes);

/* The multicast that a port's Pod sent, and [1] got; NULL: nothing is
 * known. */
struct adp_metrics_multicast {
    uint32_t port;
    uint64_t n_packets[2], n_bytes[2];
};
const struct adp_metrics_multicast *adp_metrics_multicast(
    const struct adp_metrics *, uint32_t port);

/* Does a rule pass packets on? */
bool adp_metrics_has_passes(const struct adp_metrics *);

/* Calls 'cb' for each group whose counters are to be added. */
void adp_metrics_for_each_group(const struct adp_metrics *,
                                void (*cb)(uint32_t group_id, void *aux),
                                void *aux);

/* Adds the counters of a group: how many packets each of its 'n' buckets was
 * chosen for. */
void adp_metrics_add_group(struct adp_metrics *, uint32_t group_id,
                           const uint64_t *n_packets, size_t n);

/* What came to a meter, and what of it was dropped. */
struct adp_meter_count {
    uint64_t n_packets, n_bytes;
    uint64_t n_dropped_packets, n_dropped_bytes;
};

/* Adds what the meter of an egress IP, 'meter_id', has counted, and to what it
 * limits. */
void adp_metrics_add_meter(struct adp_metrics *, uint32_t meter_id,
                           const struct adp_bandwidth *,
                           const struct adp_meter_count *);

/* Arrays of objects, ordered by name: see docs/control-socket.md, "stats".
 * The objects are serialized ones, which take a tenth of the memory.  Without
 * 'endpoints' Services don't list theirs. */
struct json *adp_metrics_rules(const struct adp_metrics *);
struct json *adp_metrics_services(const struct adp_metrics *, bool endpoints);
struct json *adp_metrics_egresses(const struct adp_metrics *);
struct json *adp_metrics_traffic_controls(const struct adp_metrics *);
/* An object, of all L7 rules together. */
struct json *adp_metrics_l7(const struct adp_metrics *);

#endif /* pipeline-metrics.h */
