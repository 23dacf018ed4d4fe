/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-op.h"
#include "flow.h"
#include "openflow/openflow-common.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofpbuf.h"
#include "util.h"

static void
op_punt(struct adp_op *op, enum adp_punt punt)
{
    op->code = ADP_OP_PUNT;
    op->punt = punt;
}

static void
op_table(struct adp_op *op, uint8_t table_id, ofp_port_t in_port,
         bool with_ct_orig)
{
    if (table_id > ADP_LAST_TABLE && table_id != ADP_OP_TABLE_SAME) {
        op_punt(op, ADP_PUNT_ACTION);
        return;
    }
    op->code = ADP_OP_TABLE;
    op->table_id = table_id;
    op->in_port = in_port;
    op->with_ct_orig = with_ct_orig;
}

static void
op_controller(struct adp_op *op, const struct ofpact_controller *controller)
{
    if (controller->pause) {
        op_punt(op, ADP_PUNT_CONTROLLER);
    } else {
        op->code = ADP_OP_CONTROLLER;
        op->controller_id = controller->controller_id;
        op->max_len = controller->max_len;
        op->reason = controller->reason;
    }
}

/* A meter that OpenFlow could not find one of the datapath for lets all
 * pass. */
static bool
op_meter(struct adp_op *op, const struct ofpact_meter *meter)
{
    op->code = ADP_OP_METER;
    op->meter_id = meter->provider_meter_id;
    return op->meter_id != UINT32_MAX;
}

bool
adp_op_init_output(struct adp_op *op, ofp_port_t port, uint16_t max_len)
{
    switch (port) {
    case OFPP_IN_PORT:
        op->code = ADP_OP_OUTPUT_IN_PORT;
        return true;
    case OFPP_NORMAL:
    case OFPP_FLOOD:
    case OFPP_ALL:
        op_punt(op, ADP_PUNT_NORMAL);
        return true;
    case OFPP_CONTROLLER:
        op->code = ADP_OP_CONTROLLER;
        op->controller_id = 0;
        op->max_len = max_len;
        op->reason = OFPR_ACTION;
        return true;
    case OFPP_TABLE:
        op_punt(op, ADP_PUNT_ACTION);
        return true;
    case OFPP_NONE:
        return false;
    default:
        op->code = ADP_OP_OUTPUT;
        op->port = port;
        return true;
    }
}

static void
op_ct(struct adp_op *op, const struct ofpact_conntrack *ct)
{
    const struct ofpact *a;

    op->code = ADP_OP_CT;
    if (ct->recirc_table != NX_CT_RECIRC_NONE
        && ct->recirc_table > ADP_LAST_TABLE) {
        op_punt(op, ADP_PUNT_ACTION);
        return;
    }
    OFPACT_FOR_EACH (a, ct->actions, ofpact_ct_get_action_len(ct)) {
        if (a->type != OFPACT_SET_FIELD && a->type != OFPACT_REG_MOVE
            && a->type != OFPACT_NAT) {
            op_punt(op, ADP_PUNT_ACTION);
            return;
        }
    }
}

static void
op_learn(struct adp_op *op, const struct ofpact_learn *learn)
{
    /* Whether a flow still fits under a limit is known only where the flow
     * tables are changed. */
    if (learn->limit || learn->flags & NX_LEARN_F_WRITE_RESULT
        || learn->table_id > ADP_LAST_TABLE) {
        op_punt(op, ADP_PUNT_ACTION);
    } else {
        op->code = ADP_OP_LEARN;
    }
}

static bool
has_fin_timeout(const struct ofpact_nest *nest)
{
    return ofpact_find_type_flattened(
        nest->actions, OFPACT_FIN_TIMEOUT,
        ofpact_end(nest->actions, ofpact_nest_get_action_len(nest))) != NULL;
}

static void
op_clone(struct adp_op *op, const struct ofpact_nest *nest)
{
    if (has_fin_timeout(nest)) {
        op_punt(op, ADP_PUNT_ACTION);
        return;
    }
    op->code = ADP_OP_CLONE;
    op->nested = xmalloc(sizeof *op->nested);
    adp_op_list_init(op->nested, nest->actions,
                     ofpact_nest_get_action_len(nest));
}

/* True if 'op' can't keep a packet from what follows it. */
static bool
is_passed(const struct adp_op *op)
{
    return op->code == ADP_OP_SET_WORD || op->code == ADP_OP_MODIFY;
}

static bool
are_passed(const struct adp_op ops[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_passed(&ops[i])) {
            return false;
        }
    }
    return true;
}

/* Translates 'a' into 'op'.  Returns false if 'a' does nothing. */
static bool
op_init(struct adp_op *op, const struct ofpact *a)
{
    *op = (struct adp_op) { .ofpact = a };

    if (adp_op_init_set_word(op, a)) {
        return true;
    }
    switch (a->type) {
    case OFPACT_SET_FIELD:
    case OFPACT_REG_MOVE:
    case OFPACT_SET_VLAN_VID:
    case OFPACT_SET_VLAN_PCP:
    case OFPACT_STRIP_VLAN:
    case OFPACT_PUSH_VLAN:
    case OFPACT_SET_ETH_SRC:
    case OFPACT_SET_ETH_DST:
    case OFPACT_SET_IPV4_SRC:
    case OFPACT_SET_IPV4_DST:
    case OFPACT_SET_IP_DSCP:
    case OFPACT_SET_IP_ECN:
    case OFPACT_SET_IP_TTL:
    case OFPACT_SET_L4_SRC_PORT:
    case OFPACT_SET_L4_DST_PORT:
    case OFPACT_SET_TUNNEL:
    case OFPACT_WRITE_METADATA:
        op->code = ADP_OP_MODIFY;
        return true;

    case OFPACT_DEC_TTL:
        op->code = ADP_OP_DEC_TTL;
        return true;

    case OFPACT_OUTPUT:
        return adp_op_init_output(op, ofpact_get_OUTPUT(a)->port,
                                  ofpact_get_OUTPUT(a)->max_len);

    case OFPACT_OUTPUT_REG:
        op->code = ADP_OP_OUTPUT_REG;
        return true;

    case OFPACT_GROUP:
        op->code = ADP_OP_GROUP;
        return true;

    case OFPACT_GOTO_TABLE:
        op_table(op, ofpact_get_GOTO_TABLE(a)->table_id, OFPP_IN_PORT, false);
        op->heeds_miss = op->code == ADP_OP_TABLE;
        return true;

    case OFPACT_RESUBMIT: {
        const struct ofpact_resubmit *resubmit = ofpact_get_RESUBMIT(a);

        op_table(op, resubmit->table_id, resubmit->in_port,
                 resubmit->with_ct_orig);
        return true;
    }

    case OFPACT_CT:
        op_ct(op, ofpact_get_CT(a));
        return true;

    case OFPACT_CT_CLEAR:
        op->code = ADP_OP_CT_CLEAR;
        return true;

    case OFPACT_CLONE:
        op_clone(op, ofpact_get_CLONE(a));
        return true;

    case OFPACT_LEARN:
        op_learn(op, ofpact_get_LEARN(a));
        return true;

    case OFPACT_EXIT:
        op->code = ADP_OP_EXIT;
        return true;

    case OFPACT_NOTE:
        return false;

    case OFPACT_CONTROLLER:
        op_controller(op, ofpact_get_CONTROLLER(a));
        return true;

    case OFPACT_METER:
        return op_meter(op, ofpact_get_METER(a));

    case OFPACT_ENQUEUE:
    case OFPACT_BUNDLE:
    case OFPACT_STACK_PUSH:
    case OFPACT_STACK_POP:
    case OFPACT_SET_MPLS_LABEL:
    case OFPACT_SET_MPLS_TC:
    case OFPACT_SET_MPLS_TTL:
    case OFPACT_DEC_MPLS_TTL:
    case OFPACT_PUSH_MPLS:
    case OFPACT_POP_MPLS:
    case OFPACT_DEC_NSH_TTL:
    case OFPACT_DELETE_FIELD:
    case OFPACT_ENCAP:
    case OFPACT_DECAP:
    case OFPACT_SET_QUEUE:
    case OFPACT_POP_QUEUE:
    case OFPACT_FIN_TIMEOUT:
    case OFPACT_CONJUNCTION:
    case OFPACT_MULTIPATH:
    case OFPACT_SAMPLE:
    case OFPACT_UNROLL_XLATE:
    case OFPACT_NAT:
    case OFPACT_OUTPUT_TRUNC:
    case OFPACT_CHECK_PKT_LARGER:
    case OFPACT_DEBUG_RECIRC:
    case OFPACT_DEBUG_SLOW:
    case OFPACT_CLEAR_ACTIONS:
    case OFPACT_WRITE_ACTIONS:
    default:
        op_punt(op, ADP_PUNT_ACTION);
        return true;
    }
}

size_t
adp_op_list_room(const struct ofpact *ofpacts, size_t ofpacts_len)
{
    const struct ofpact *a;
    size_t n = 0;

    OFPACT_FOR_EACH (a, ofpacts, ofpacts_len) {
        n++;
    }
    return n;
}

void
adp_op_list_init_in(struct adp_op_list *list, const struct ofpact *ofpacts,
                    size_t ofpacts_len, bool borrows, struct adp_op *room)
{
    const struct ofpact *a;

    *list = (struct adp_op_list) {
        .ofpacts = (!ofpacts_len ? NULL
                    : borrows ? CONST_CAST(struct ofpact *, ofpacts)
                    : xmemdup(ofpacts, ofpacts_len)),
        .ofpacts_len = ofpacts_len,
        .ops = room,
        .borrows = borrows,
        .lodges = true,
    };
    OFPACT_FOR_EACH (a, list->ofpacts, list->ofpacts_len) {
        struct adp_op *op = &list->ops[list->n_ops];

        /* Who credits the flow sees to its timeouts, so all packets that it
         * counts must be those that get here. */
        if (a->type == OFPACT_FIN_TIMEOUT
            && are_passed(list->ops, list->n_ops)) {
            continue;
        }
        if (op_init(op, a)) {
            enum adp_punt punt = (op->code == ADP_OP_PUNT ? op->punt
                                  : op->nested ? op->nested->punt
                                  : ADP_PUNT_NONE);
            if (!list->punt) {
                list->punt = punt;
            }
            list->n_ops++;
        }
    }
}

static void
op_uninit(struct adp_op *op)
{
    if (op->nested) {
        adp_op_list_uninit(op->nested);
        free(op->nested);
    }
}

const struct ofpact_fin_timeout *
adp_op_next_fin_timeout(const struct ofpact *ofpacts, size_t ofpacts_len,
                        const struct ofpact_fin_timeout *previous)
{
    const struct ofpact *a = (previous ? ofpact_next(&previous->ofpact)
                              : ofpacts);

    for (; a < ofpact_end(ofpacts, ofpacts_len); a = ofpact_next(a)) {
        struct adp_op op;

        if (a->type == OFPACT_FIN_TIMEOUT) {
            return ofpact_get_FIN_TIMEOUT(a);
        }
        if (op_init(&op, a)) {
            bool passed = is_passed(&op);

            op_uninit(&op);
            if (!passed) {
                break;
            }
        }
    }
    return NULL;
}

void
adp_op_list_init(struct adp_op_list *list, const struct ofpact *ofpacts,
                 size_t ofpacts_len)
{
    size_t n = adp_op_list_room(ofpacts, ofpacts_len);

    adp_op_list_init_in(list, ofpacts, ofpacts_len, false,
                        n ? xmalloc(n * sizeof *list->ops) : NULL);
    list->lodges = false;
}

void
adp_op_list_init_set(struct adp_op_list *list, const struct ofpact *ofpacts,
                     size_t ofpacts_len)
{
    struct ofpbuf set = ofpbuf_const_initializer(ofpacts, ofpacts_len);
    struct ofpbuf ordered;

    ofpbuf_init(&ordered, ofpacts_len);
    ofpacts_execute_action_set(&ordered, &set);
    adp_op_list_init(list, ordered.data, ordered.size);
    for (size_t i = 0; i < list->n_ops; i++) {
        struct adp_op *op = &list->ops[i];

        if (op->code == ADP_OP_CONTROLLER
            && op->ofpact->type == OFPACT_OUTPUT) {
            op->reason = OFPR_GROUP;
        }
    }
    ofpbuf_uninit(&ordered);
}

void
adp_op_list_uninit(struct adp_op_list *list)
{
    for (size_t i = 0; i < list->n_ops; i++) {
        op_uninit(&list->ops[i]);
    }
    if (!list->lodges) {
        free(list->ops);
    }
    if (!list->borrows) {
        free(list->ofpacts);
    }
}
