/* SPDX-License-Identifier: Apache-2.0 */

/* Timeouts of flows that have gone.
 *
 * Upstream's daemon aborts when it removes a flow once more.
 *
 * fin_timeout(): upstream reduces a flow's timeouts when it learns that a TCP
 * connection has ended, which may be after the flow was removed: other threads
 * translate packets, and those that a megaflow took are counted later.  A flow
 * that never had a timeout is put among those that may expire then, removed or
 * not, and when its time has come it is removed again.
 *
 * "delete_learned": when a flow expires, the flows that it has learned go with
 * it, of which some may have expired in the same round and be the next that
 * upstream removes.  (Bridges of type "antrea" expire flows by themselves.)
 *
 * So the linker puts these between (--wrap, in automake.mk). */

#include <config.h>

#include "ofproto/ofproto-provider.h"

void __real_ofproto_rule_reduce_timeouts__(struct rule *, uint16_t idle,
                                           uint16_t hard)
    OVS_REQUIRES(ofproto_mutex);
void __wrap_ofproto_rule_reduce_timeouts__(struct rule *, uint16_t idle,
                                           uint16_t hard)
    OVS_REQUIRES(ofproto_mutex);
void __wrap_ofproto_rule_reduce_timeouts(struct rule *, uint16_t idle,
                                         uint16_t hard)
    OVS_EXCLUDED(ofproto_mutex);

void __real_ofproto_rule_expire(struct rule *, uint8_t reason)
    OVS_REQUIRES(ofproto_mutex);
void __wrap_ofproto_rule_expire(struct rule *, uint8_t reason)
    OVS_REQUIRES(ofproto_mutex);

void
__wrap_ofproto_rule_reduce_timeouts__(struct rule *rule, uint16_t idle,
                                      uint16_t hard)
{
    if (rule->state == RULE_INSERTED) {
        __real_ofproto_rule_reduce_timeouts__(rule, idle, hard);
    }
}

void
__wrap_ofproto_rule_reduce_timeouts(struct rule *rule, uint16_t idle,
                                    uint16_t hard)
{
    if (!idle && !hard) {
        return;
    }
    ovs_mutex_lock(&ofproto_mutex);
    __wrap_ofproto_rule_reduce_timeouts__(rule, idle, hard);
    ovs_mutex_unlock(&ofproto_mutex);
}

void
__wrap_ofproto_rule_expire(struct rule *rule, uint8_t reason)
{
    if (rule->state == RULE_INSERTED) {
        __real_ofproto_rule_expire(rule, reason);
    }
}
