/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG
#include "engine.h"
#include <stdio.h>
#include <stdlib.h>
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-match.h"
#include "ovs-rcu.h"
#include "pipeline.h"
#include "util.h"

/* Stops with 'error', which is about 'text', if there is one. */
static void
check_error(char *error, const char *text)
{
    if (error) {
        fprintf(stderr, "%s: %s\n", text, error);
        exit(EXIT_FAILURE);
    }
}

/* The environment. */

static struct engine *
env_engine(const struct adp_env *env)
{
    return env->aux;
}

static struct engine_ct *
find_zone(struct engine *e, uint16_t zone)
{
    for (size_t i = 0; i < ENGINE_N_ZONES; i++) {
        if (e->zones[i].set && e->zones[i].zone == zone) {
            return &e->zones[i];
        }
    }
    return NULL;
}

/* Gives 'flow' the first address of what 'req' asks for. */
static void
translate(const struct adp_ct_request *req, struct flow *flow)
{
    const struct ofpact_nat *nat = req->nat_spec;

    if (nat && nat->range_af == AF_INET) {
        bool src = nat->flags & NX_NAT_F_SRC;

        *(src ? &flow->nw_src : &flow->nw_dst) = nat->range.addr.ipv4.min;
        if (nat->range.proto.min) {
            *(src ? &flow->tp_src : &flow->tp_dst)
                = htons(nat->range.proto.min);
        }
        flow->ct_state |= src ? CS_SRC_NAT : CS_DST_NAT;
    }
}

static enum adp_punt
env_ct(const struct adp_env *env, const struct adp_ct_request *req,
       struct flow *flow)
{
    struct engine *e = env_engine(env);
    const struct engine_ct *ct = find_zone(e, req->zone);
    bool goes_on = e->commits && !ct && flow->ct_zone == req->zone;

    if (e->n_requests >= ARRAY_SIZE(e->requests)) {
        return ADP_PUNT_DEPTH;
    }
    e->states_seen[e->n_requests] = flow->ct_state;
    e->requests[e->n_requests++] = *req;

    flow->ct_zone = req->zone;
    if (!goes_on) {
        flow->ct_state = ct ? ct->ct_state : CS_TRACKED | CS_NEW;
        flow->ct_mark = ct ? ct->ct_mark : 0;
        flow->ct_label = ct ? ct->ct_label : OVS_U128_ZERO;
    }
    flow->ct_nw_proto = flow->nw_proto;
    flow->ct_nw_src = flow->nw_src;
    flow->ct_nw_dst = flow->nw_dst;
    flow->ct_tp_src = flow->tp_src;
    flow->ct_tp_dst = flow->tp_dst;
    if (req->commit) {
        flow->ct_mark = (flow->ct_mark & ~req->mark_mask) | req->mark;
        flow->ct_label.u64.lo = ((flow->ct_label.u64.lo
                                  & ~req->label_mask.u64.lo)
                                 | req->label.u64.lo);
        flow->ct_label.u64.hi = ((flow->ct_label.u64.hi
                                  & ~req->label_mask.u64.hi)
                                 | req->label.u64.hi);
    }
    if (e->commits && !ct) {
        translate(req, flow);
    } else if (ct && req->nat) {
        flow->nw_src = ct->nat_src ? ct->nat_src : flow->nw_src;
        flow->nw_dst = ct->nat_dst ? ct->nat_dst : flow->nw_dst;
        flow->tp_dst = ct->nat_tp_dst ? ct->nat_tp_dst : flow->tp_dst;
    }
    return ct ? ct->punt : ADP_PUNT_NONE;
}

static const char *
env_ct_timeout(const struct adp_env *env OVS_UNUSED, uint16_t zone,
               const struct flow *flow OVS_UNUSED)
{
    return zone == 77 ? "tp77" : NULL;
}

static void
env_port(const struct adp_env *env OVS_UNUSED, ofp_port_t port_,
         const struct flow *flow OVS_UNUSED, struct adp_port_info *info)
{
    uint16_t port = ofp_to_u16(port_);

    if (port >= 1 && port <= 9) {
        info->kind = ADP_PORT_PLAIN;
        info->odp_port = u32_to_odp(port + 100);
    } else if (port_ == OFPP_LOCAL) {
        info->kind = ADP_PORT_PLAIN;
        info->odp_port = u32_to_odp(99);
    } else if (port == 10) {
        info->kind = ADP_PORT_TUNNEL;
    } else if (port == 12) {
        info->kind = ADP_PORT_TUNNEL;
        info->remote_by_flow = true;
    } else if (port == 11) {
        info->kind = ADP_PORT_PUNT;
        info->punt = ADP_PUNT_PATCH;
    } else {
        info->kind = ADP_PORT_ABSENT;
    }
}

static enum adp_punt
env_output_tunnel(const struct adp_env *env OVS_UNUSED,
                  ofp_port_t port OVS_UNUSED, const struct flow *flow,
                  struct ofpbuf *actions)
{
    if (!flow->tunnel.ip_dst) {
        return ADP_PUNT_TUNNEL;
    }
    nl_msg_put_odp_port(actions, OVS_ACTION_ATTR_OUTPUT, u32_to_odp(500));
    return ADP_PUNT_NONE;
}

static bool
env_port_is_live(const struct adp_env *env, ofp_port_t port)
{
    struct engine *e = env_engine(env);

    e->n_port_looks++;
    return !(e->dead_ports & (1u << (ofp_to_u16(port) & 31)));
}

static enum adp_punt
env_choose(const struct adp_env *env, const struct adp_group *group OVS_UNUSED,
           const struct flow *flow OVS_UNUSED, uint32_t *bucket)
{
    const struct engine *e = env->aux;

    if (e->chosen) {
        *bucket = *e->chosen;
    }
    return e->not_chosen;
}

static void
env_trace(const struct adp_env *env, const struct adp_trace_event *event)
{
    struct engine *e = env_engine(env);

    adp_trace_log_append(&e->trace, event);
}

static uint32_t
env_controller_meter(const struct adp_env *env)
{
    const struct engine *e = env->aux;

    return e->controller_meter ? e->controller_meter : UINT32_MAX;
}

static bool
env_tells_miss(const struct adp_env *env, ofp_port_t port, bool by_default)
{
    const struct engine *e = env->aux;

    return (by_default ? e->sends_misses
            : !(e->no_packet_in_ports & (1u << (ofp_to_u16(port) & 31))));
}

static const struct adp_env_class env_class = {
    .ct = env_ct,
    .ct_timeout = env_ct_timeout,
    .port = env_port,
    .output_tunnel = env_output_tunnel,
    .port_is_live = env_port_is_live,
    .choose = env_choose,
    .tells_miss = env_tells_miss,
    .controller_meter = env_controller_meter,
};

static const struct adp_env_class tracing_env_class = {
    .ct = env_ct,
    .ct_timeout = env_ct_timeout,
    .port = env_port,
    .output_tunnel = env_output_tunnel,
    .port_is_live = env_port_is_live,
    .tells_miss = env_tells_miss,
    .trace = env_trace,
};

/* The bridge. */

struct engine *
engine_create(void)
{
    struct engine *e = xzalloc(sizeof *e);

    e->env.class = &env_class;
    e->env.aux = e;
    e->program = adp_program_create();
    e->learn = adp_learn_table_create();
    adp_verdict_init(&e->verdict);
    adp_trace_log_init(&e->trace);
    ds_init(&e->text);
    return e;
}

void
engine_destroy(struct engine *e)
{
    adp_verdict_uninit(&e->verdict);
    adp_trace_log_uninit(&e->trace);
    adp_program_unref(e->program);
    adp_learn_table_destroy(e->learn);
    ds_destroy(&e->text);
    free(e);
    /* Runs what was postponed, so that leaks show. */
    ovsrcu_barrier();
}

/* Gives meters the datapath's numbers, as OpenFlow does when a flow comes. */
static void
find_meters(struct ofpact *ofpacts, size_t ofpacts_len)
{
    struct ofpact *a;

    OFPACT_FOR_EACH_FLATTENED (a, ofpacts, ofpacts_len) {
        if (a->type == OFPACT_METER) {
            struct ofpact_meter *meter = ofpact_get_METER(a);

            meter->provider_meter_id = (meter->meter_id == ENGINE_NO_METER
                                        ? UINT32_MAX : meter->meter_id + 200);
        } else if (a->type == OFPACT_CONTROLLER) {
            struct ofpact_controller *c = ofpact_get_CONTROLLER(a);

            c->provider_meter_id = (c->meter_id == NX_CTLR_NO_METER
                                    ? UINT32_MAX : c->meter_id + 200);
        }
    }
}

static struct adp_rule *
parse_flow(const char *text, const struct ofputil_table_map *tables)
{
    enum ofputil_protocol usable_protocols;
    struct ofputil_flow_mod fm;
    struct adp_rule *rule;

    check_error(parse_ofp_flow_mod_str(&fm, text, NULL, tables, OFPFC_ADD,
                                       &usable_protocols), text);
    find_meters(CONST_CAST(struct ofpact *, fm.ofpacts), fm.ofpacts_len);
    rule = adp_rule_create(fm.table_id == 0xff ? 0 : fm.table_id, fm.priority,
                           &fm.match, fm.new_cookie, fm.ofpacts,
                           fm.ofpacts_len, NULL, NULL);
    minimatch_destroy(&fm.match);
    free(CONST_CAST(struct ofpact *, fm.ofpacts));
    return rule;
}

struct adp_rule *
engine_parse_flow(const char *text)
{
    return parse_flow(text, NULL);
}

static void
commit(struct engine *e, struct adp_delta *delta)
{
    struct adp_program *program = adp_compile(e->program, delta);

    adp_program_unref(e->program);
    e->program = program;
    adp_delta_destroy(delta);
}

void
engine_add_flows(struct engine *e, const char *text_)
{
    struct adp_delta *delta = adp_delta_create();
    char *text = xstrdup(text_);
    char *save_ptr = NULL;
    char *line;

    for (line = strtok_r(text, "\n", &save_ptr); line;
         line = strtok_r(NULL, "\n", &save_ptr)) {
        struct adp_rule *rule = engine_parse_flow(line);

        adp_delta_add_rule(delta, rule);
        adp_rule_unref(rule);
    }
    free(text);
    commit(e, delta);
}

static struct adp_group *
parse_group(const char *text, const struct adp_program *program,
            const struct ofputil_table_map *tables)
{
    enum ofputil_protocol usable_protocols;
    struct ofputil_group_mod gm;
    struct adp_group *group;

    check_error(parse_ofp_group_mod_str(&gm, OFPGC15_ADD, text, NULL, tables,
                                        &usable_protocols), text);
    group = adp_group_create(gm.group_id, gm.type, &gm.buckets, &gm.props,
                             (program
                              ? adp_program_get_group(program, gm.group_id)
                              : NULL), NULL, NULL);
    ofputil_uninit_group_mod(&gm);
    return group;
}

struct adp_group *
engine_parse_group(const char *text)
{
    return parse_group(text, NULL, NULL);
}

void
engine_add_flow_set(struct engine *e, const struct adp_flow_set *set,
                    const struct ofputil_table_map *tables)
{
    struct adp_delta *delta = adp_delta_create();
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &set->groups) {
        struct adp_group *group = parse_group(node->name, e->program, tables);

        adp_delta_set_group(delta, group);
        adp_group_unref(group);
    }
    SHASH_FOR_EACH (node, &set->flows) {
        struct adp_rule *rule = parse_flow(node->name, tables);

        adp_delta_add_rule(delta, rule);
        adp_rule_unref(rule);
    }
    commit(e, delta);
}

void
engine_add_group(struct engine *e, const char *text)
{
    struct adp_delta *delta = adp_delta_create();
    struct adp_group *group = parse_group(text, e->program, NULL);

    adp_delta_set_group(delta, group);
    adp_group_unref(group);
    commit(e, delta);
}

void
engine_set_miss(struct engine *e, uint8_t table_id,
                enum ofputil_table_miss miss)
{
    struct adp_delta *delta = adp_delta_create();

    adp_delta_set_miss(delta, table_id, miss);
    commit(e, delta);
}

static void
add_answer(struct engine *e, uint8_t userdata, enum adp_answer answer,
           const struct adp_log_layout *layout)
{
    struct adp_delta *delta = adp_delta_create();
    struct adp_answers answers = e->program->answers;

    adp_answers_add(&answers, &userdata, 1, answer, layout != NULL);
    if (layout) {
        answers.log_layout = *layout;
    }
    adp_delta_set_answers(delta, &answers);
    commit(e, delta);
}

void
engine_set_answer(struct engine *e, uint8_t userdata, enum adp_answer answer)
{
    add_answer(e, userdata, answer, NULL);
}

void
engine_set_log(struct engine *e, uint8_t userdata, enum adp_answer answer,
               const struct adp_log_layout *layout)
{
    add_answer(e, userdata, answer, layout);
}

struct engine_ct *
engine_set_ct(struct engine *e, uint16_t zone, uint32_t ct_state)
{
    struct engine_ct *ct = find_zone(e, zone);

    for (size_t i = 0; !ct; i++) {
        ovs_assert(i < ENGINE_N_ZONES);
        if (!e->zones[i].set) {
            ct = &e->zones[i];
        }
    }
    *ct = (struct engine_ct) {
        .set = true,
        .zone = zone,
        .ct_state = ct_state | CS_TRACKED,
    };
    return ct;
}

void
engine_parse_packet(const char *text, struct flow *flow)
{
    check_error(parse_ofp_exact_flow(flow, NULL, NULL, text, NULL), text);
}

static const char *
format_verdict(struct engine *e)
{
    const struct adp_verdict *v = &e->verdict;

    ds_clear(&e->text);
    if (v->punt) {
        ds_put_format(&e->text, "punt(%s)", adp_punt_name(v->punt));
    } else if (!v->actions.size) {
        ds_put_cstr(&e->text, "drop");
    } else {
        format_odp_actions(&e->text, v->actions.data, v->actions.size, NULL);
    }
    return ds_cstr(&e->text);
}

const char *
engine_run_flow(struct engine *e, const struct flow *flow)
{
    e->flow = *flow;
    e->n_requests = 0;
    e->trace.n = 0;
    e->env.class = e->tracing ? &tracing_env_class : &env_class;
    adp_decide(e->program, e->learn, &e->env, &e->flow, &e->verdict);
    return format_verdict(e);
}

const char *
engine_run(struct engine *e, const char *packet)
{
    struct flow flow;

    engine_parse_packet(packet, &flow);
    return engine_run_flow(e, &flow);
}

const char *
engine_hits(struct engine *e)
{
    const struct adp_verdict *v = &e->verdict;

    ds_clear(&e->text);
    for (size_t i = 0; i < v->n_hits; i++) {
        const struct adp_hit *hit = &v->hits[i];

        if (i) {
            ds_put_char(&e->text, ' ');
        }
        switch (hit->kind) {
        case ADP_HIT_RULE:
            ds_put_format(&e->text, "%d:%d", hit->table_id,
                          hit->rule->priority);
            break;
        case ADP_HIT_MISS:
            ds_put_format(&e->text, "%d:miss", hit->table_id);
            break;
        case ADP_HIT_BUCKET:
            ds_put_format(&e->text, "g%"PRIu32, hit->group->group_id);
            if (hit->bucket != ADP_BUCKET_ALL) {
                ds_put_format(&e->text, "/%"PRIu32, hit->bucket);
            }
            break;
        case ADP_HIT_GROUP:
            ds_put_format(&e->text, "?g%"PRIu32, hit->bucket);
            break;
        }
    }
    return ds_cstr(&e->text);
}

const char *
engine_trace(struct engine *e)
{
    ds_clear(&e->text);
    adp_trace_log_format(&e->trace, NULL, NULL, &e->text);
    return ds_cstr(&e->text);
}
