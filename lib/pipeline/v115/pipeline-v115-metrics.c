/* SPDX-License-Identifier: Apache-2.0 */

/* Which flows count what. */

#include <config.h>
#include "pipeline-v115.h"

#include "flow.h"
#include "openvswitch/match.h"
#include "packets.h"

/* Where the marks are, and their values. */
enum {
#define ADP_MARK(NAME, STORAGE, FIRST, LAST, VALUE) \
    NAME##_FIRST = FIRST, NAME##_LAST = LAST, NAME##_VALUE = VALUE,
#include "pipeline-v115.def"
};

const uint8_t adp_v115_metric_tables[ADP_V115_N_METRIC_TABLES] = {
    ADP_V115_SessionAffinity, ADP_V115_ServiceLB,
    ADP_V115_EgressMetric, ADP_V115_IngressMetric,
    ADP_V115_EgressMark, ADP_V115_TrafficControl,
    ADP_V115_Classifier, ADP_V115_Output,
    ADP_V115_MulticastEgressMetric, ADP_V115_MulticastIngressMetric,
    ADP_V115_MulticastEgressPodMetric, ADP_V115_MulticastIngressPodMetric,
};

const uint8_t adp_v115_pass_tables[ADP_V115_N_PASS_TABLES] = {
    ADP_V115_AntreaPolicyEgressRule, ADP_V115_AntreaPolicyIngressRule,
};

const struct adp_pipeline_filled
adp_v115_filled_tables[ADP_V115_N_FILLED_TABLES] = {
    { ADP_V115_EgressMetric,
      "ct_state=+new,{EgressRuleCTLabel=0x1},{TFEgressConjIDField=0x1},"
      "{APConjIDField=0x1},{APDenyRegMark},ip" },
    { ADP_V115_IngressMetric,
      "ct_state=+new,{IngressRuleCTLabel=0x1},{TFIngressConjIDField=0x1},"
      "{APConjIDField=0x1},{APDenyRegMark},ip" },
    { ADP_V115_MulticastEgressMetric,
      "{APConjIDField=0x1},{APDenyRegMark}" },
    { ADP_V115_MulticastIngressMetric,
      "{APConjIDField=0x1},{APDenyRegMark}" },
};

/* Is this the metric of packets after the first ones of a connection? */
static bool
is_for_old_connections(const struct minimatch *match)
{
    uint8_t mask = MINIFLOW_GET_U8(&match->mask->masks, ct_state);
    uint8_t state = MINIFLOW_GET_U8(match->flow, ct_state);

    return mask & CS_NEW && !(state & CS_NEW);
}

/* What packets of ServiceLB's flow are: for some an endpoint is selected,
 * others remember it, and those whatever the state of the selection drop. */
static enum adp_flow_metric
service_metric(const struct minimatch *match)
{
    uint32_t bits = (UINT32_MAX >> (31 - EpToSelectRegMark_LAST)
                     & UINT32_MAX << EpToSelectRegMark_FIRST);
    uint32_t value = MINIFLOW_GET_U32(match->flow, regs[4]);
    uint32_t mask = MINIFLOW_GET_U32(&match->mask->masks, regs[4]);

    return (!(mask & bits) ? ADP_METRIC_REFUSED
            : ((value & bits) >> EpToSelectRegMark_FIRST
               == EpToSelectRegMark_VALUE) ? ADP_METRIC_SERVICE
            : ADP_METRIC_NONE);
}

/* What the flows of L7 rules together count; they are no object's.  The one
 * that drops is for all packets of a marked connection, whatever is to be done
 * with them. */
static enum adp_flow_metric
l7_metric(uint8_t table_id, const struct minimatch *match)
{
    return (table_id == ADP_V115_Classifier ? ADP_METRIC_L7_RETURNED
            : table_id != ADP_V115_Output ? ADP_METRIC_NONE
            : MINIFLOW_GET_U32(&match->mask->masks, regs[0])
            ? ADP_METRIC_L7_REDIRECTED : ADP_METRIC_L7_DROPPED);
}

enum adp_flow_metric
adp_v115_flow_metric(uint8_t table_id, uint64_t cookie,
                     const struct minimatch *match, uint32_t *id)
{
    uint8_t category = cookie >> 40;

    *id = cookie;
    if (!*id) {
        return (category == ADP_V115_COOKIE_NETWORK_POLICY
                ? l7_metric(table_id, match) : ADP_METRIC_NONE);
    }
    switch (table_id) {
    case ADP_V115_AntreaPolicyEgressRule:
    case ADP_V115_AntreaPolicyIngressRule:
        return (category == ADP_V115_COOKIE_NETWORK_POLICY
                && MINIFLOW_GET_U32(match->flow, conj_id) == *id
                ? ADP_METRIC_RULE_PASS : ADP_METRIC_NONE);
    case ADP_V115_MulticastEgressMetric:
    case ADP_V115_MulticastIngressMetric:
        return (category == ADP_V115_COOKIE_NETWORK_POLICY
                ? ADP_METRIC_RULE_LATER : ADP_METRIC_NONE);
    case ADP_V115_MulticastEgressPodMetric:
        return ADP_METRIC_MULTICAST_OUT;
    case ADP_V115_MulticastIngressPodMetric:
        return ADP_METRIC_MULTICAST_IN;
    case ADP_V115_EgressMetric:
    case ADP_V115_IngressMetric:
        return (category != ADP_V115_COOKIE_NETWORK_POLICY ? ADP_METRIC_NONE
                : is_for_old_connections(match) ? ADP_METRIC_RULE_LATER
                : ADP_METRIC_RULE_FIRST);
    case ADP_V115_ServiceLB:
        return (category == ADP_V115_COOKIE_SERVICE ? service_metric(match)
                : ADP_METRIC_NONE);
    case ADP_V115_SessionAffinity:
        return (category == ADP_V115_COOKIE_SERVICE ? ADP_METRIC_AFFINITY
                : ADP_METRIC_NONE);
    case ADP_V115_EgressMark:
        return (category != ADP_V115_COOKIE_EGRESS ? ADP_METRIC_NONE
                : MINIFLOW_GET_U8(match->flow, ct_state) & CS_NEW
                ? ADP_METRIC_APPLIED_FIRST : ADP_METRIC_APPLIED);
    case ADP_V115_TrafficControl:
        return (category == ADP_V115_COOKIE_POD ? ADP_METRIC_APPLIED
                : ADP_METRIC_NONE);
    default:
        return ADP_METRIC_NONE;
    }
}
