/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-decide.h"
#include "adp-decide-private.h"
#include "adp-match.h"
#include "bitmap.h"
#include "learn.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/ofp-actions.h"
#include "packets.h"
#include "util.h"

/* Stock's limits: on look-ups that don't lead to a higher table, on all
 * look-ups between two conntrack passes. */
#define MAX_DEPTH 64
#define MAX_RESUBMITS (MAX_DEPTH * MAX_DEPTH)

/* Calls within calls, for the sake of the C stack. */
#define MAX_LEVEL 128

/* Verdicts. */

void
adp_verdict_init(struct adp_verdict *v)
{
    memset(v, 0, sizeof *v);
    ofpbuf_init(&v->actions, 512);
}

void
adp_verdict_forget_learned(struct adp_verdict *v)
{
    while (v->n_learned) {
        adp_learned_uninit(&v->learned[--v->n_learned]);
    }
}

void
adp_verdict_clear(struct adp_verdict *v)
{
    v->punt = ADP_PUNT_NONE;
    v->punt_rule = NULL;
    ofpbuf_clear(&v->actions);
    v->dropped = false;
    v->drop_table = 0;
    v->drop_rule = NULL;
    v->n_breaks = v->n_packet_ins = 0;
    v->n_idle_passes = 0;
    v->answer = ADP_ANSWER_NONE;
    v->answers_late = false;
    v->held = v->read = false;
    v->n_logs = 0;
    v->n_hits = 0;
    v->hits_hash = 0;
    v->swapped = v->hit_learned = v->missed = false;
    v->n_learn_lookups = 0;
    v->n_metadata_lookups = 0;
    v->n_selects = v->n_cts = 0;
    adp_verdict_forget_learned(v);
}

void
adp_verdict_uninit(struct adp_verdict *v)
{
    adp_verdict_clear(v);
    ofpbuf_uninit(&v->actions);
    free(v->hits);
    free(v->learned);
    free(v->packet_ins);
    adp_match_scratch_uninit(&v->scratch);
}

/* Tools of the walk. */

void
adp_decide_trace(const struct adp_decide_walk *w,
                 struct adp_trace_event *event)
{
    event->level = w->level;
    event->table_id = w->place.table_id;
    w->env->class->trace(w->env, event);
}

void
adp_decide_punt(struct adp_decide_walk *w, enum adp_punt punt,
                const struct ofpact *a)
{
    if (w->verdict->punt) {
        return;
    }
    w->verdict->punt = punt;
    w->verdict->punt_rule = w->place.rule;
    w->stop = true;
    if (adp_decide_traces(w)) {
        adp_decide_trace(w, &(struct adp_trace_event) {
            .type = ADP_TRACE_PUNT,
            .action = a,
            .punt = punt,
        });
    }
}

/* What of 'base' conntrack knows a packet by. */
struct walk_tuple {
    struct in6_addr ipv6_src, ipv6_dst;
    ovs_be32 nw_src, nw_dst;
    ovs_be16 tp_src, tp_dst;
};

static struct walk_tuple
tuple_of(const struct flow *base)
{
    return (struct walk_tuple) {
        .ipv6_src = base->ipv6_src,
        .ipv6_dst = base->ipv6_dst,
        .nw_src = base->nw_src,
        .nw_dst = base->nw_dst,
        .tp_src = base->tp_src,
        .tp_dst = base->tp_dst,
    };
}

static void ADP_OUT_OF_LINE
commit(struct adp_decide_walk *w)
{
    const struct walk_tuple before = tuple_of(&w->base);

    commit_odp_actions(w->flow, &w->base, &w->verdict->actions, &w->wc,
                       true, false, false, NULL);
    w->dirty = false;

    const struct walk_tuple after = tuple_of(&w->base);
    if (memcmp(&before, &after, sizeof after)) {
        w->rewritten = true;
        w->retyped |= (is_icmpv4(&w->base, NULL) || is_icmpv6(&w->base, NULL))
                      && (before.tp_src != after.tp_src
                          || before.tp_dst != after.tp_dst);
    }
}

/* Appends the actions that make the packet's headers those of the flow. */
void
adp_decide_commit(struct adp_decide_walk *w)
{
    if (w->dirty) {
        commit(w);
    }
}

void
adp_decide_begin_pass(struct adp_decide_walk *w)
{
    w->pass_start = w->verdict->actions.size;
    w->verdict->last_pass = w->verdict->n_breaks;
}

void
adp_decide_end_pass(struct adp_decide_walk *w)
{
    w->verdict->n_idle_passes += w->verdict->actions.size == w->pass_start;
}

size_t
adp_decide_begin_clone(struct adp_decide_walk *w)
{
    w->n_clones++;
    return nl_msg_start_nested(&w->verdict->actions, OVS_ACTION_ATTR_CLONE);
}

void
adp_decide_end_clone(struct adp_decide_walk *w, size_t offset)
{
    struct ofpbuf *actions = &w->verdict->actions;

    w->n_clones--;
    if (w->verdict->punt) {
        return;
    }
    if (actions->size - offset > UINT16_MAX) {
        /* An attribute can't be that long. */
        adp_decide_punt(w, ADP_PUNT_DEPTH, NULL);
    } else {
        nl_msg_end_non_empty_nested(actions, offset);
    }
}

void
adp_decide_add_hit(struct adp_decide_walk *w, const struct adp_hit *hit)
{
    struct adp_verdict *v = w->verdict;

    if (v->n_hits >= v->allocated_hits) {
        v->hits = x2nrealloc(v->hits, &v->allocated_hits, sizeof *v->hits);
    }
    v->hits[v->n_hits++] = *hit;

    uint64_t word = (uintptr_t) hit->rule ^ (uint64_t) hit->bucket << 40
                    ^ (uint64_t) hit->priority << 8 ^ hit->table_id;
    v->hits_hash = (v->hits_hash ^ word) * 0x9e3779b97f4a7c15ULL;
    v->hits_hash ^= v->hits_hash >> 29;
}

bool
adp_decide_may_go_on(struct adp_decide_walk *w)
{
    if (w->place.depth >= MAX_DEPTH || w->resubmits >= MAX_RESUBMITS
        || w->level >= MAX_LEVEL || w->verdict->actions.size > UINT16_MAX) {
        adp_decide_punt(w, ADP_PUNT_DEPTH, NULL);
        return false;
    }
    return true;
}

/* Tables. */

struct adp_rule *
adp_decide_lookup(const struct adp_program *program,
                  const struct adp_learn_table *learn, uint8_t table_id,
                  struct flow *flow, struct adp_match_scratch *scratch,
                  bool *learned)
{
    const struct adp_table *table = program->tables[table_id];
    struct adp_rule *rule = NULL;

    *learned = false;
    scratch->priority = ADP_PRIORITY_NONE;
    if (table) {
        rule = adp_match_lookup(table->match, flow, scratch);
    }
    if (learn) {
        struct adp_rule *other = adp_learn_table_lookup(
            learn, table_id, flow, program->generation);

        if (other && (!rule || other->priority >= rule->priority)) {
            rule = other;
            *learned = true;
        }
    }
    return rule;
}

static void
note_learn_lookup(struct adp_decide_walk *w, uint8_t table_id)
{
    struct adp_verdict *v = w->verdict;
    size_t i = v->n_learn_lookups++;

    if (i < ARRAY_SIZE(v->learn_lookups)) {
        v->learn_lookups[i].table_id = table_id;
        v->learn_lookups[i].flow = *w->flow;
    }
}

bool
adp_metadata_lookup_holds(const struct adp_metadata_lookup *at,
                          const struct adp_hit *hit,
                          const struct adp_program *program)
{
    uint32_t words = (bitmap_is_set(program->learn_tables, hit->table_id) ? 0
                      : adp_program_metadata(program, hit->table_id));
    struct adp_match_scratch scratch = { .words = NULL };
    const struct adp_rule *rule;
    int priority;
    struct flow flow;
    bool learned;

    /* More may count now than was noted. */
    if (!words || words & ~at->metadata.words) {
        return false;
    }
    adp_metadata_to_flow(&at->metadata, &flow);
    rule = adp_decide_lookup(program, NULL, hit->table_id, &flow, &scratch,
                             &learned);
    priority = scratch.priority;
    adp_match_scratch_uninit(&scratch);
    return (rule == (hit->kind == ADP_HIT_MISS ? NULL : hit->rule)
            && priority == hit->priority);
}

/* To be called before the hit is added. */
static void
note_metadata_lookup(struct adp_decide_walk *w, uint8_t table_id)
{
    struct adp_verdict *v = w->verdict;
    uint32_t words = adp_program_metadata(w->program, table_id);

    if (!words) {
        return;
    }

    size_t i = v->n_metadata_lookups++;
    if (i < ARRAY_SIZE(v->metadata_lookups)) {
        v->metadata_lookups[i].hit = v->n_hits;
        adp_metadata_from_flow(&v->metadata_lookups[i].metadata, words,
                               w->flow);
    }
}

/* Looks up in one table, as if the packet came from 'in_port'.  Returns the op
 * list of the rule that was found, or NULL. */
static const struct adp_op_list *
enter(struct adp_decide_walk *w, uint8_t table_id, ofp_port_t in_port)
{
    ofp_port_t saved_in_port = w->flow->in_port.ofp_port;
    struct adp_rule *rule;
    bool learned;

    w->flow->in_port.ofp_port = in_port;
    if (bitmap_is_set(w->program->learn_tables, table_id)) {
        note_learn_lookup(w, table_id);
    } else {
        note_metadata_lookup(w, table_id);
    }
    rule = adp_decide_lookup(w->program, w->learn, table_id, w->flow,
                             &w->verdict->scratch, &learned);
    w->verdict->hit_learned |= learned;
    w->flow->in_port.ofp_port = saved_in_port;

    w->place.table_id = w->last_table_id = table_id;
    w->last_rule = rule;
    adp_decide_add_hit(w, &(struct adp_hit) {
        .kind = rule ? ADP_HIT_RULE : ADP_HIT_MISS,
        .table_id = table_id,
        .priority = w->verdict->scratch.priority,
        .rule = rule,
    });
    if (adp_decide_traces(w)) {
        adp_decide_trace(w, &(struct adp_trace_event) {
            .type = ADP_TRACE_TABLE,
            .table = { .rule = rule, .learned = learned },
        });
    }
    if (!rule) {
        return NULL;
    }
    w->place.rule = rule;
    return adp_rule_ops(rule);
}

/* Enters 'table_id' and, as long as a miss continues there, those that
 * follow. */
static const struct adp_op_list *
enter_heeding_miss(struct adp_decide_walk *w, uint8_t table_id,
                   ofp_port_t in_port)
{
    const struct adp_op_list *ops = enter(w, table_id, in_port);

    while (!ops && w->program->misses[table_id] == OFPUTIL_TABLE_MISS_CONTINUE
           && table_id < ADP_LAST_TABLE) {
        ops = enter(w, ++table_id, in_port);
    }
    if (!ops) {
        adp_decide_heed_miss(w);
    }
    return ops;
}

const struct adp_op_list *
adp_decide_enter(struct adp_decide_walk *w, uint8_t table_id)
{
    return enter_heeding_miss(w, table_id, w->flow->in_port.ofp_port);
}

#define SWAP_FIELDS(A, B)                       \
    do {                                        \
        __typeof__(A) swap__ = (A);             \
        (A) = (B);                              \
        (B) = swap__;                           \
    } while (0)

/* Exchanges the packet's tuple with the original one of its connection. */
static void
swap_ct_tuple(struct flow *flow)
{
    SWAP_FIELDS(flow->nw_proto, flow->ct_nw_proto);
    SWAP_FIELDS(flow->tp_src, flow->ct_tp_src);
    SWAP_FIELDS(flow->tp_dst, flow->ct_tp_dst);
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        SWAP_FIELDS(flow->nw_src, flow->ct_nw_src);
        SWAP_FIELDS(flow->nw_dst, flow->ct_nw_dst);
    } else {
        SWAP_FIELDS(flow->ipv6_src, flow->ct_ipv6_src);
        SWAP_FIELDS(flow->ipv6_dst, flow->ct_ipv6_dst);
    }
}

/* Carries out ADP_OP_TABLE up to the rule: returns its op list, or NULL. */
static const struct adp_op_list *
op_enter_table(struct adp_decide_walk *w, const struct adp_op *op)
{
    uint8_t table_id = (op->table_id == ADP_OP_TABLE_SAME
                        ? w->place.table_id : op->table_id);
    ofp_port_t in_port = (op->in_port == OFPP_IN_PORT
                          ? w->flow->in_port.ofp_port : op->in_port);
    bool deepens = table_id <= w->place.table_id;
    const struct adp_op_list *ops;

    if (!adp_decide_may_go_on(w)) {
        return NULL;
    }
    if (op->heeds_miss) {
        ops = enter_heeding_miss(w, table_id, in_port);
    } else if (!op->with_ct_orig) {
        ops = enter(w, table_id, in_port);
    } else if (w->flow->ct_nw_proto && is_ip_any(w->flow)) {
        w->verdict->swapped = true;
        swap_ct_tuple(w->flow);
        ops = enter(w, table_id, in_port);
        swap_ct_tuple(w->flow);
    } else {
        /* There is no original tuple. */
        ops = NULL;
    }
    if (ops) {
        w->resubmits++;
        w->place.depth += deepens;
    }
    return ops;
}

/* Carries out ADP_OP_TABLE and comes back. */
static void
op_table(struct adp_decide_walk *w, const struct adp_op *op)
{
    struct adp_decide_place place = w->place;
    const struct adp_op_list *ops;

    w->level++;
    ops = op_enter_table(w, op);
    if (ops) {
        adp_decide_ops(w, ops, false);
    }
    w->level--;
    w->place = place;
}

/* Fields. */

/* The field that the flow's L4 port is. */
static enum mf_field_id
port_field(const struct flow *flow, bool dst)
{
    return (flow->nw_proto == IPPROTO_UDP ? (dst ? MFF_UDP_DST : MFF_UDP_SRC)
            : flow->nw_proto == IPPROTO_SCTP
            ? (dst ? MFF_SCTP_DST : MFF_SCTP_SRC)
            : dst ? MFF_TCP_DST : MFF_TCP_SRC);
}

static const struct mf_field *
written_field(const struct ofpact *a, const struct flow *flow)
{
    switch (a->type) {
    case OFPACT_SET_FIELD:
        return ofpact_get_SET_FIELD(a)->field;
    case OFPACT_REG_MOVE:
        return ofpact_get_REG_MOVE(a)->dst.field;
    case OFPACT_SET_ETH_SRC:
        return mf_from_id(MFF_ETH_SRC);
    case OFPACT_SET_ETH_DST:
        return mf_from_id(MFF_ETH_DST);
    case OFPACT_SET_IPV4_SRC:
        return mf_from_id(MFF_IPV4_SRC);
    case OFPACT_SET_IPV4_DST:
        return mf_from_id(MFF_IPV4_DST);
    case OFPACT_SET_IP_DSCP:
        return mf_from_id(MFF_IP_DSCP);
    case OFPACT_SET_IP_ECN:
        return mf_from_id(MFF_IP_ECN);
    case OFPACT_SET_IP_TTL:
        return mf_from_id(MFF_IP_TTL);
    case OFPACT_SET_L4_SRC_PORT:
        return mf_from_id(port_field(flow, false));
    case OFPACT_SET_L4_DST_PORT:
        return mf_from_id(port_field(flow, true));
    case OFPACT_SET_TUNNEL:
        return mf_from_id(MFF_TUN_ID);
    case OFPACT_WRITE_METADATA:
        return mf_from_id(MFF_METADATA);
    default:
        return NULL;
    }
}

static void
trace_change(struct adp_decide_walk *w, const struct ofpact *a)
{
    const struct mf_field *mf = written_field(a, w->flow);
    struct adp_trace_event event = { .type = ADP_TRACE_CHANGE };

    if (!mf) {
        return;
    }
    event.change.field = mf;
    if (mf_are_prereqs_ok(mf, w->flow, NULL)) {
        mf_get_value(mf, w->flow, &event.change.value);
    } else {
        event.type = ADP_TRACE_UNMET;
    }
    adp_decide_trace(w, &event);
}

static void
op_set_word(struct adp_decide_walk *w, const struct adp_op *op)
{
    uint32_t *word = (uint32_t *) w->flow + op->word;

    *word = (*word & ~op->mask) | op->value;
    if (adp_decide_traces(w)) {
        trace_change(w, op->ofpact);
    }
}

static void
op_modify(struct adp_decide_walk *w, const struct adp_op *op)
{
    w->dirty = true;
    adp_op_modify(op->ofpact, w->flow, &w->wc);
    if (adp_decide_traces(w)) {
        trace_change(w, op->ofpact);
    }
}

/* Returns false if the packet's time is up, of which controllers hear. */
static bool
op_dec_ttl(struct adp_decide_walk *w, const struct adp_op *op)
{
    const struct ofpact_cnt_ids *ids = ofpact_get_DEC_TTL(op->ofpact);

    if (!is_ip_any(w->flow)) {
        return true;
    }
    if (w->flow->nw_ttl > 1) {
        w->flow->nw_ttl--;
        w->dirty = true;
        return true;
    }
    for (size_t i = 0; i < ids->n_controllers; i++) {
        adp_decide_controller(w, &(struct adp_op) {
            .code = ADP_OP_CONTROLLER,
            .controller_id = ids->cnt_ids[i],
            .max_len = UINT16_MAX,
            .reason = OFPR_INVALID_TTL,
            .ofpact = op->ofpact,
        }, NULL);
    }
    return false;
}

static void
op_meter(struct adp_decide_walk *w, const struct adp_op *op)
{
    nl_msg_put_u32(&w->verdict->actions, OVS_ACTION_ATTR_METER, op->meter_id);
    w->metered = w->was_metered = true;
}

static void
op_controller(struct adp_decide_walk *w, const struct adp_op *op)
{
    if (!adp_decide_answer(w, op)) {
        adp_decide_controller(w, op, (op->ofpact->type == OFPACT_CONTROLLER
                                      ? ofpact_get_CONTROLLER(op->ofpact)
                                      : NULL));
    }
}

/* A meter right before a packet-in protects the controller: who answers
 * instead has a limit of his own. */
static bool
is_meter_of_answer(const struct adp_decide_walk *w, const struct adp_op *op,
                   bool at_end)
{
    return (op->code == ADP_OP_METER && !at_end
            && adp_answers_find(&w->program->answers, op[1].ofpact));
}

/* Output. */

static void
trace_output(struct adp_decide_walk *w, ofp_port_t port,
             enum adp_trace_output what)
{
    if (adp_decide_traces(w)) {
        adp_decide_trace(w, &(struct adp_trace_event) {
            .type = ADP_TRACE_OUTPUT,
            .output = { .port = port, .what = what },
        });
    }
}

static void
output_tunnel(struct adp_decide_walk *w, ofp_port_t port, bool last)
{
    const struct adp_env_class *class = w->env->class;
    struct ofpbuf *actions = &w->verdict->actions;
    enum adp_punt punt;

    w->sent_into_tunnel = true;
    if (last) {
        punt = class->output_tunnel(w->env, port, w->flow, actions);
    } else {
        size_t offset = adp_decide_begin_clone(w);

        punt = class->output_tunnel(w->env, port, w->flow, actions);
        adp_decide_end_clone(w, offset);
    }
    if (punt) {
        adp_decide_punt(w, punt, NULL);
    }
}

static void
output(struct adp_decide_walk *w, ofp_port_t port, bool last)
{
    struct adp_port_info info = { .kind = ADP_PORT_ABSENT };

    w->env->class->port(w->env, port, w->flow, &info);
    switch (info.kind) {
    case ADP_PORT_ABSENT:
        trace_output(w, port, ADP_TRACE_OUTPUT_ABSENT);
        return;
    case ADP_PORT_PLAIN:
        adp_decide_commit(w);
        nl_msg_put_odp_port(&w->verdict->actions, OVS_ACTION_ATTR_OUTPUT,
                            info.odp_port);
        break;
    case ADP_PORT_TUNNEL:
        if (info.remote_by_flow && !flow_tnl_dst_is_set(&w->flow->tunnel)) {
            /* Stock gives up before it looks at what was rewritten. */
            trace_output(w, port, ADP_TRACE_OUTPUT_NO_REMOTE);
            return;
        }
        adp_decide_commit(w);
        output_tunnel(w, port, last);
        break;
    case ADP_PORT_PUNT:
        adp_decide_punt(w, info.punt, NULL);
        return;
    }
    w->output = true;
    trace_output(w, port, ADP_TRACE_OUTPUT_DONE);
}

static void
op_output(struct adp_decide_walk *w, const struct adp_op *op, bool last)
{
    if (op->port == w->flow->in_port.ofp_port) {
        trace_output(w, op->port, ADP_TRACE_OUTPUT_IN_PORT);
    } else {
        output(w, op->port, last);
    }
}

static void
op_output_reg(struct adp_decide_walk *w, const struct adp_op *op_, bool last)
{
    const struct ofpact_output_reg *reg = ofpact_get_OUTPUT_REG(op_->ofpact);
    uint64_t port = mf_get_subfield(&reg->src, w->flow);
    struct adp_op op = { .ofpact = op_->ofpact };

    if (port > UINT16_MAX
        || !adp_op_init_output(&op, u16_to_ofp(port), reg->max_len)) {
        return;
    }
    if (op.code == ADP_OP_CONTROLLER) {
        op_controller(w, &op);
    } else if (op.code == ADP_OP_OUTPUT) {
        op_output(w, &op, last);
    } else if (op.code == ADP_OP_OUTPUT_IN_PORT) {
        output(w, w->flow->in_port.ofp_port, last);
    } else {
        adp_decide_punt(w, op.punt, op.ofpact);
    }
}

/* clone(). */

/* A meter can't stand in a clone, only in tables that it leads to: there
 * stock's drops the packet itself. */
static bool
has_ct(const struct adp_op_list *ops)
{
    for (size_t i = 0; i < ops->n_ops; i++) {
        if (ops->ops[i].code == ADP_OP_CT) {
            return true;
        }
    }
    return false;
}

/* On a copy of the packet, since conntrack changes it for good. */
static void
clone_packet(struct adp_decide_walk *w, const struct adp_op_list *ops)
{
    struct adp_ct_md saved_md = w->md;
    bool conntracked = w->conntracked;
    bool nat_unseen = w->nat_unseen;
    size_t n_cts = w->verdict->n_cts;
    size_t pass_start = w->pass_start;
    int n_passes = w->n_passes;
    int resubmits = w->resubmits;
    bool hashed = w->hashed;
    bool metered = w->metered;
    bool was_metered = w->was_metered;
    struct flow saved_base;
    bool rewritten, retyped;
    size_t offset;

    adp_decide_commit(w);
    rewritten = w->rewritten;
    retyped = w->retyped;
    saved_base = w->base;
    offset = adp_decide_begin_clone(w);
    adp_decide_ops(w, ops, true);
    if (w->n_passes != n_passes) {
        /* The clone has gone on from a ct(table), and "exit" behind that ends
         * the clone alone. */
        adp_decide_end_pass(w);
        w->stop = w->verdict->punt != ADP_PUNT_NONE;
        w->resubmits = resubmits;
    }
    adp_decide_end_clone(w, offset);
    w->pass_start = pass_start;
    w->hashed = hashed;
    w->metered = metered;
    w->was_metered = was_metered;
    w->base = saved_base;
    w->md = saved_md;
    w->conntracked = conntracked;
    w->nat_unseen = nat_unseen;
    w->rewritten = rewritten;
    w->retyped = retyped;
    w->clone_tracked |= w->verdict->n_cts > n_cts;
    w->n_passes = n_passes;
}

static void ADP_OUT_OF_LINE
op_clone(struct adp_decide_walk *w, const struct adp_op *op, bool last)
{
    struct adp_decide_place place = w->place;
    struct flow saved_flow = *w->flow;

    if (!adp_decide_may_go_on(w)) {
        return;
    }
    w->level++;
    if (last || !has_ct(op->nested)) {
        /* What the nested actions do to the packet can be undone. */
        adp_decide_ops(w, op->nested, last);
    } else {
        clone_packet(w, op->nested);
    }
    w->level--;
    *w->flow = saved_flow;
    w->dirty = true;
    w->place = place;
}

/* learn(). */

static void ADP_OUT_OF_LINE
op_learn(struct adp_decide_walk *w, const struct adp_op *op)
{
    struct adp_verdict *v = w->verdict;
    struct adp_learned *learned;

    if (v->n_learned >= v->allocated_learned) {
        v->learned = x2nrealloc(v->learned, &v->allocated_learned,
                                sizeof *v->learned);
    }
    learned = &v->learned[v->n_learned++];
    memset(learned, 0, sizeof *learned);
    learned->rule = adp_rule_ref(w->place.rule);
    learned->learn = ofpact_get_LEARN(op->ofpact);
    ofpbuf_init(&learned->ofpacts, 64);
    learn_execute(learned->learn, w->flow, &learned->fm, &learned->ofpacts);
    if (adp_decide_traces(w)) {
        adp_decide_trace(w, &(struct adp_trace_event) {
            .type = ADP_TRACE_LEARN,
            .learned = learned,
        });
    }
}

/* The walk. */

static void
trace_ops(const struct adp_decide_walk *w, const struct adp_op_list *ops)
{
    if (adp_decide_traces(w) && !ops->n_ops) {
        adp_decide_trace(w, &(struct adp_trace_event) {
            .type = ADP_TRACE_NO_ACTIONS,
        });
    }
}

static void
trace_op(const struct adp_decide_walk *w, const struct adp_op *op)
{
    if (adp_decide_traces(w)) {
        adp_decide_trace(w, &(struct adp_trace_event) {
            .type = ADP_TRACE_ACTION,
            .action = op->ofpact,
        });
    }
}

/* Carries out an op that doesn't lead to another list for good.  Returns false
 * if it ends the list that it is in. */
static bool
walk_op(struct adp_decide_walk *w, const struct adp_op *op, bool last)
{
    switch (op->code) {
    case ADP_OP_SET_WORD:
        op_set_word(w, op);
        break;
    case ADP_OP_MODIFY:
        op_modify(w, op);
        break;
    case ADP_OP_DEC_TTL:
        return op_dec_ttl(w, op);
    case ADP_OP_OUTPUT:
        op_output(w, op, last);
        break;
    case ADP_OP_OUTPUT_IN_PORT:
        output(w, w->flow->in_port.ofp_port, last);
        break;
    case ADP_OP_OUTPUT_REG:
        op_output_reg(w, op, last);
        break;
    case ADP_OP_GROUP:
        return adp_decide_group(w, op, last);
    case ADP_OP_TABLE:
        op_table(w, op);
        break;
    case ADP_OP_CT_CLEAR:
        adp_decide_ct_clear(w);
        break;
    case ADP_OP_CLONE:
        op_clone(w, op, last);
        break;
    case ADP_OP_LEARN:
        op_learn(w, op);
        break;
    case ADP_OP_METER:
        op_meter(w, op);
        break;
    case ADP_OP_CONTROLLER:
        op_controller(w, op);
        break;
    case ADP_OP_EXIT:
        w->stop = true;
        break;
    case ADP_OP_PUNT:
        if (op->ofpact->type != OFPACT_CONTROLLER
            || !adp_decide_answer(w, op)) {
            adp_decide_punt(w, op->punt, op->ofpact);
        }
        break;
    case ADP_OP_CT:
    default:
        OVS_NOT_REACHED();
    }
    return true;
}

void
adp_decide_ops(struct adp_decide_walk *w, const struct adp_op_list *list,
               bool last)
{
    size_t i = 0;

    trace_ops(w, list);
    while (i < list->n_ops && !w->stop) {
        const struct adp_op *op = &list->ops[i++];
        bool at_end = (i == list->n_ops
                       || (last && op->code == ADP_OP_CT
                           && adp_decide_answers_ahead(w, list, i)));

        trace_op(w, op);
        if (op->code == ADP_OP_TABLE && at_end) {
            list = op_enter_table(w, op);
        } else if (op->code == ADP_OP_CT) {
            uint8_t table_id = ofpact_get_CT(op->ofpact)->recirc_table;

            if (!adp_decide_ct(w, op, last && at_end)) {
                continue;
            }
            list = adp_decide_enter(w, table_id);
        } else if (is_meter_of_answer(w, op, at_end)
                   || walk_op(w, op, last && at_end)) {
            continue;
        } else {
            return;
        }

        if (!list) {
            return;
        }
        i = 0;
        trace_ops(w, list);
    }
}

/* Packets that the walk can't take at all. */
static enum adp_punt
check_packet(const struct flow *flow)
{
    return (flow->nw_frag & FLOW_NW_FRAG_ANY ? ADP_PUNT_FRAGMENT
            : flow->packet_type != htonl(PT_ETH) ? ADP_PUNT_BRIDGE
            : ADP_PUNT_NONE);
}

static void
walk_init(struct adp_decide_walk *w)
{
    w->base = *w->flow;
    memset(&w->base.tunnel, 0, sizeof w->base.tunnel);
    memset(&w->wc, 0xff, sizeof w->wc);
    w->wc.masks.tunnel.metadata.tab = w->flow->tunnel.metadata.tab;
    w->place = (struct adp_decide_place) { .rule = NULL };
    w->resubmits = 0;
    w->n_passes = 0;
    adp_decide_begin_pass(w);
    w->hashed = false;
    w->level = 0;
    w->stop = false;
    w->metered = w->was_metered = false;
    w->n_clones = 0;
    w->sent_into_tunnel = false;
    w->dirty = false;
    w->output = false;
    w->last_table_id = 0;
    w->last_rule = NULL;
    adp_decide_ct_init(w);
}

static void
finish(struct adp_decide_walk *w)
{
    struct adp_verdict *v = w->verdict;

    if (v->punt) {
        enum adp_punt punt = v->punt;
        const struct adp_rule *punt_rule = v->punt_rule;

        adp_verdict_clear(v);
        v->punt = punt;
        v->punt_rule = punt_rule;
        return;
    }

    adp_decide_end_pass(w);
    if (!w->output) {
        v->dropped = true;
        v->drop_table = w->last_table_id;
        v->drop_rule = w->last_rule;
        if (adp_decide_traces(w)) {
            adp_decide_trace(w, &(struct adp_trace_event) {
                .type = ADP_TRACE_DROP,
            });
        }
    }
}

void
adp_decide(const struct adp_program *program,
           const struct adp_learn_table *learn, const struct adp_env *env,
           struct flow *flow, struct adp_verdict *verdict)
{
    const struct adp_op_list *ops;
    struct adp_decide_walk w;
    enum adp_punt punt;

    w.program = program;
    w.learn = learn;
    w.env = env;
    w.verdict = verdict;
    w.flow = flow;
    adp_verdict_clear(verdict);
    flow->actset_output = OFPP_UNSET;
    flow->conj_id = 0;
    walk_init(&w);

    punt = check_packet(flow);
    if (punt) {
        adp_decide_punt(&w, punt, NULL);
    } else {
        ops = adp_decide_enter(&w, 0);
        if (ops) {
            adp_decide_ops(&w, ops, true);
        }
    }
    finish(&w);
}
