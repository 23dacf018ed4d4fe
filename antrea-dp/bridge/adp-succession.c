/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-succession.h"

#include "ofproto/ofproto-dpif.h"
#include "ofproto/ofproto-provider.h"

/* One step.  Returns the flow that was left out, with its reference, or
 * NULL. */
static struct rule_dpif *
leave_out_next(struct rule_dpif *rule)
{
    struct rule_dpif *left_out = NULL;

    ovs_mutex_lock(&rule->stats_mutex);
    struct rule_dpif *next = rule->new_rule;
    if (next) {
        ovs_mutex_lock(&next->stats_mutex);
        if (next->new_rule) {
            ofproto_rule_ref(&next->new_rule->up);
            rule->new_rule = next->new_rule;
            rule->forward_counts = (rule->forward_counts
                                    && next->forward_counts);
            left_out = next;
        }
        ovs_mutex_unlock(&next->stats_mutex);
    }
    ovs_mutex_unlock(&rule->stats_mutex);
    return left_out;
}

void
adp_succession_shorten(struct rule_dpif *rule)
{
    struct rule_dpif *left_out;

    while ((left_out = leave_out_next(rule)) != NULL) {
        ofproto_rule_unref(&left_out->up);
    }
}
