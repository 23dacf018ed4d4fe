/* SPDX-License-Identifier: Apache-2.0 */

/* Where the execution of a verdict pauses: packets to controllers, and meters
 * that stand before a pass or an answer.
 *
 * Stock's userspace action names a frozen state, from which the upcall takes
 * what the controller is told.  Here the verdict has it, so that a packet-in
 * takes neither a state nor an upcall, and nothing at all if its meter drops
 * it.
 *
 * A packet that a meter drops counts for the flows of the pass that the meter
 * is in, and for none of later ones.  So there execution finds out whether the
 * packet is still there. */

#include <config.h>
#include "adp-decide-private.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openflow/openflow-common.h"
#include "openvswitch/ofp-actions.h"
#include "unaligned.h"
#include "util.h"

/* Begins a break at the end of the actions.  Returns NULL after a punt. */
static struct adp_break *
add_break(struct adp_decide_walk *w, enum adp_punt why,
          const struct ofpact *a)
{
    struct adp_verdict *v = w->verdict;
    struct adp_break *b;

    if (w->n_clones || v->n_breaks >= ARRAY_SIZE(v->breaks)) {
        adp_decide_punt(w, why, a);
        return NULL;
    }
    b = &v->breaks[v->n_breaks++];
    *b = (struct adp_break) {
        .start = v->actions.size,
        .end = v->actions.size,
        .packet_in = SIZE_MAX,
    };
    return b;
}

/* True if the next pass, like the first one, would begin by marking the packet
 * as having met congestion, or by dropping it, because its tunnel's header
 * says so: as for the first one, that is upstream's to do. */
static bool
would_mark_congestion(const struct flow *flow)
{
    return (flow_tnl_dst_is_set(&flow->tunnel) && is_ip_any(flow)
            && IP_ECN_is_ce(flow->tunnel.ip_tos)
            && !IP_ECN_is_ce(flow->nw_tos));
}

bool
adp_decide_break_pass(struct adp_decide_walk *w, bool fork,
                      const struct ofpact *a)
{
    struct adp_verdict *v = w->verdict;
    struct adp_break *b;

    if (would_mark_congestion(w->flow)) {
        adp_decide_punt(w, ADP_PUNT_ACTION, a);
        return false;
    }
    if (!w->metered) {
        return true;
    }
    if (fork || w->sent_into_tunnel) {
        /* Not all that counts from now on is behind the break. */
        adp_decide_punt(w, ADP_PUNT_METER, a);
        return false;
    }
    b = add_break(w, ADP_PUNT_METER, a);
    if (!b) {
        return false;
    }
    b->n_hits = v->n_hits;
    b->n_learned = v->n_learned;
    b->n_idle_passes = v->n_idle_passes;
    w->metered = false;
    return true;
}

static bool
is_table_miss(const struct adp_rule *rule)
{
    return (rule && !rule->priority
            && minimask_is_catchall(rule->match->mask));
}

static void
packet_in_init(struct adp_packet_in *pin, const struct adp_decide_walk *w,
               const struct adp_op *op,
               const struct ofpact_controller *controller)
{
    const struct adp_env_class *class = w->env->class;
    const struct adp_rule *rule = w->place.rule;

    memset(pin, 0, offsetof(struct adp_packet_in, flow));
    pin->controller_id = op->controller_id;
    pin->max_len = op->max_len;
    pin->reason = (op->reason == OFPR_ACTION && is_table_miss(rule)
                   ? OFPR_EXPLICIT_MISS : op->reason);
    pin->table_id = w->place.table_id;
    /* Upstream has a flow of its own for misses, with cookie 0. */
    pin->cookie = (op->reason == OFPR_IMPLICIT_MISS ? 0
                   : rule ? rule->cookie : OVS_BE64_MAX);
    pin->meter_id = controller ? controller->provider_meter_id : UINT32_MAX;
    if (pin->meter_id == UINT32_MAX && class->controller_meter) {
        pin->meter_id = class->controller_meter(w->env);
    }
    if (controller) {
        pin->userdata = controller->userdata;
        pin->userdata_len = controller->userdata_len;
    }
    pin->flow = *w->flow;
    if (!w->conntracked) {
        flow_clear_conntrack(&pin->flow);
    }
}

/* As upstream's translation does it, but for the frozen state. */
static void
put_userspace(struct ofpbuf *actions, const struct adp_packet_in *pin)
{
    struct user_action_cookie cookie;
    size_t sample = 0, nested = 0;

    memset(&cookie, 0, sizeof cookie);
    cookie.type = USER_ACTION_COOKIE_CONTROLLER;
    cookie.ofp_in_port = OFPP_NONE;
    cookie.controller.reason = pin->reason;
    put_32aligned_be64(&cookie.controller.rule_cookie, pin->cookie);
    cookie.controller.controller_id = pin->controller_id;
    cookie.controller.max_len = pin->max_len;

    if (pin->meter_id != UINT32_MAX) {
        sample = nl_msg_start_nested(actions, OVS_ACTION_ATTR_SAMPLE);
        nl_msg_put_u32(actions, OVS_SAMPLE_ATTR_PROBABILITY, UINT32_MAX);
        nested = nl_msg_start_nested(actions, OVS_SAMPLE_ATTR_ACTIONS);
        nl_msg_put_u32(actions, OVS_ACTION_ATTR_METER, pin->meter_id);
    }
    odp_put_userspace_action(0, &cookie, sizeof cookie, ODPP_NONE, false,
                             actions, NULL);
    if (pin->meter_id != UINT32_MAX) {
        nl_msg_end_nested(actions, nested);
        nl_msg_end_nested(actions, sample);
    }
}

void ADP_OUT_OF_LINE
adp_decide_controller(struct adp_decide_walk *w, const struct adp_op *op,
                      const struct ofpact_controller *controller)
{
    struct adp_verdict *v = w->verdict;
    struct adp_break *b;

    adp_decide_commit(w);
    b = add_break(w, ADP_PUNT_CONTROLLER, op->ofpact);
    if (!b) {
        return;
    }
    if (v->n_packet_ins >= v->allocated_packet_ins) {
        v->packet_ins = x2nrealloc(v->packet_ins, &v->allocated_packet_ins,
                                   sizeof *v->packet_ins);
    }
    b->packet_in = v->n_packet_ins++;
    packet_in_init(&v->packet_ins[b->packet_in], w, op, controller);
    put_userspace(&v->actions, &v->packet_ins[b->packet_in]);
    b->end = v->actions.size;
    w->output = true;
}

void ADP_OUT_OF_LINE
adp_decide_heed_miss(struct adp_decide_walk *w)
{
    const struct adp_env_class *class = w->env->class;
    bool by_default = false;

    switch ((enum ofputil_table_miss) w->program->misses[w->place.table_id]) {
    case OFPUTIL_TABLE_MISS_DEFAULT:
        w->verdict->missed = by_default = true;
        break;
    case OFPUTIL_TABLE_MISS_CONTINUE:           /* There is no next table. */
    case OFPUTIL_TABLE_MISS_CONTROLLER:
        break;
    case OFPUTIL_TABLE_MISS_DROP:
        return;
    }
    if (class->tells_miss
        ? class->tells_miss(w->env, w->flow->in_port.ofp_port, by_default)
        : !by_default) {
        adp_decide_controller(w, &(struct adp_op) {
            .code = ADP_OP_CONTROLLER,
            .max_len = UINT16_MAX,
            .reason = OFPR_IMPLICIT_MISS,
        }, NULL);
    }
}

/* The priority of the flow that the packet has hit last in the table. */
static uint16_t
hit_priority(const struct adp_verdict *v, uint8_t table_id)
{
    for (size_t i = v->n_hits; i-- > 0; ) {
        const struct adp_hit *hit = &v->hits[i];

        if (hit->kind == ADP_HIT_RULE && hit->table_id == table_id) {
            return hit->rule->priority;
        }
    }
    return 0;
}

static void
add_log_item(struct adp_decide_walk *w)
{
    struct adp_verdict *v = w->verdict;

    if (v->n_logs < ARRAY_SIZE(v->logs)) {
        struct adp_log_item *item = &v->logs[v->n_logs++];

        adp_log_item_init(item, &w->program->answers.log_layout, w->flow);
        item->priority = hit_priority(v, item->table_id);
        item->n_cts = v->n_cts;
        if (adp_decide_traces(w)) {
            adp_decide_trace(w, &(struct adp_trace_event) {
                .type = ADP_TRACE_LOG,
                .log = adp_log_disposition_to_string(item->disposition),
            });
        }
    }
}

/* The op of 'rule' for a packet-in that the program takes care of, if it does
 * nothing else but to meter it, or NULL. */
static const struct adp_op *
only_answer(const struct adp_decide_walk *w, const struct adp_rule *rule)
{
    const struct adp_op_list *list = rule ? adp_rule_ops(rule) : NULL;
    size_t i = list && list->n_ops && list->ops[0].code == ADP_OP_METER;

    return (list && list->n_ops == i + 1
            && list->ops[i].code == ADP_OP_CONTROLLER
            && adp_answers_find(&w->program->answers, list->ops[i].ofpact)
            ? &list->ops[i] : NULL);
}

/* A copy of the packet for the agent beside one that goes on behind ct() needs
 * no clone where nobody sends it. */
static bool ADP_OUT_OF_LINE
answer_ahead(struct adp_decide_walk *w, const struct adp_op_list *list,
             size_t first)
{
    const struct adp_op *to = &list->ops[list->n_ops - 1];
    struct adp_decide_place place = w->place;
    struct flow saved_flow = *w->flow;
    const struct adp_op *answer;
    bool learned;

    flow_clear_conntrack(w->flow);
    for (size_t i = first; &list->ops[i] < to; i++) {
        uint32_t *word = (uint32_t *) w->flow + list->ops[i].word;

        *word = (*word & ~list->ops[i].mask) | list->ops[i].value;
    }
    answer = only_answer(w, adp_decide_lookup(w->program, w->learn,
                                              to->table_id, w->flow,
                                              &w->verdict->scratch, &learned));
    if (answer) {
        w->level++;
        adp_decide_enter(w, to->table_id);
        if (adp_decide_traces(w)) {
            adp_decide_trace(w, &(struct adp_trace_event) {
                .type = ADP_TRACE_ACTION,
                .action = answer->ofpact,
            });
        }
        adp_decide_answer(w, answer);
        w->level--;
    }
    *w->flow = saved_flow;
    w->place = place;
    return answer != NULL;
}

bool
adp_decide_answers_ahead(struct adp_decide_walk *w,
                         const struct adp_op_list *list, size_t first)
{
    const struct ofpact_conntrack *ct
        = ofpact_get_CT(list->ops[first - 1].ofpact);
    const struct adp_op *last = &list->ops[list->n_ops - 1];

    if (!w->program->answers.n || first >= list->n_ops
        || ct->recirc_table == NX_CT_RECIRC_NONE
        || last->code != ADP_OP_TABLE || last->table_id == ADP_OP_TABLE_SAME
        || last->with_ct_orig || last->in_port != OFPP_IN_PORT) {
        return false;
    }
    for (size_t i = first; &list->ops[i] < last; i++) {
        if (list->ops[i].code != ADP_OP_SET_WORD) {
            return false;
        }
    }
    return answer_ahead(w, list, first);
}

bool ADP_OUT_OF_LINE
adp_decide_answer(struct adp_decide_walk *w, const struct adp_op *op)
{
    const struct adp_answer_rule *rule
        = adp_answers_find(&w->program->answers, op->ofpact);

    if (!rule) {
        return false;
    }
    /* To stock a packet-in is an action. */
    w->pass_start = SIZE_MAX;
    if (rule->log) {
        add_log_item(w);
    }
    if (rule->answer == ADP_ANSWER_HOLD) {
        w->verdict->held = true;
    } else if (rule->answer == ADP_ANSWER_READ) {
        w->verdict->read = true;
    } else if (!rule->answer || w->verdict->answer) {
        return true;            /* The sender has been told, or needn't be. */
    } else {
        w->verdict->answer = rule->answer;
        if (w->was_metered) {
            struct adp_break *b = add_break(w, ADP_PUNT_METER, op->ofpact);

            if (b) {
                b->answers = w->verdict->answers_late = true;
            }
        }
    }
    if (adp_decide_traces(w)) {
        adp_decide_trace(w, &(struct adp_trace_event) {
            .type = (rule->answer == ADP_ANSWER_HOLD
                     || rule->answer == ADP_ANSWER_READ ? ADP_TRACE_HOLD
                     : ADP_TRACE_ANSWER),
            .reply = adp_answer_text(rule->answer, w->flow),
        });
    }
    return true;
}
