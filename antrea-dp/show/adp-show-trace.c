/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-show-trace.h"
#include "adp-bridge-shared.h"

#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-match.h"
#include "adp-show-meaning.h"
#include "odp-util.h"
#include "openvswitch/json.h"
#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "packets.h"
#include "pipeline-guide.h"
#include "pipeline-text.h"
#include "pipeline.h"
#include "util.h"

void
adp_show_trace_init(struct adp_show_trace *t, struct adp_bridge *b,
                    const struct flow *flow)
{
    memset(t, 0, sizeof *t);
    t->bridge = b;
    t->flow = flow;
    t->program = ovsrcu_get(struct adp_program *, &b->program);
    t->tables = json_array_create_empty();
    t->outputs = json_array_create_empty();
    sset_init(&t->mentioned);
}

void
adp_show_trace_uninit(struct adp_show_trace *t)
{
    json_destroy(t->tables);
    json_destroy(t->outputs);
    free(t->visits);
    sset_destroy(&t->mentioned);
}

/* Small helpers. */

/* Puts the text in 's', which is emptied. */
static void
put_ds(struct json *o, const char *name, struct ds *s)
{
    json_object_put_string(o, name, ds_cstr(s));
    ds_clear(s);
}

static void
put_table(const struct adp_show_trace *t, struct json *o, uint8_t table_id)
{
    const char *name = adp_bridge_pipeline_table_name(table_id, t->bridge);

    json_object_put(o, "id", json_integer_create(table_id));
    if (name) {
        json_object_put_string(o, "table", name);
    }
}

static void
put_port(struct adp_show_trace *t, struct json *o, const char *name,
         ofp_port_t port)
{
    adp_show_put_port(t->bridge, o, name, port, &t->mentioned);
}

/* Headers. */

struct json *
adp_show_trace_headers(struct adp_show_trace *t, const struct flow *flow)
{
    static const enum mf_field_id ids[] = {
        MFF_TUN_SRC, MFF_TUN_DST, MFF_TUN_ID,
        MFF_ETH_SRC, MFF_ETH_DST, MFF_VLAN_TCI,
        MFF_ARP_OP, MFF_ARP_SPA, MFF_ARP_TPA, MFF_ARP_SHA, MFF_ARP_THA,
        MFF_IPV4_SRC, MFF_IPV4_DST, MFF_IPV6_SRC, MFF_IPV6_DST,
        MFF_IP_PROTO, MFF_IP_TTL,
        MFF_TCP_SRC, MFF_TCP_DST, MFF_TCP_FLAGS, MFF_UDP_SRC, MFF_UDP_DST,
        MFF_SCTP_SRC, MFF_SCTP_DST, MFF_ICMPV4_TYPE, MFF_ICMPV4_CODE,
        MFF_ICMPV6_TYPE, MFF_ICMPV6_CODE,
    };
    struct json *headers = json_object_create();
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        const struct mf_field *mf = mf_from_id(ids[i]);
        bool is_tunnel = ids[i] <= MFF_TUN_DST;
        union mf_value value;

        mf_get_value(mf, flow, &value);
        if (mf_are_prereqs_ok(mf, flow, NULL)
            && !((is_tunnel || ids[i] == MFF_VLAN_TCI)
                 && is_all_zeros(&value, mf->n_bytes))) {
            mf_format(mf, &value, NULL, NULL, &s);
            sset_add(&t->mentioned, ds_cstr(&s));
            put_ds(headers, mf->name, &s);
        }
    }
    ds_destroy(&s);
    return headers;
}

/* What values mean. */

/* Adds to the latest step's "means" what 'value' and 'mask' mean. */
static void
put_meanings(struct adp_show_trace *t, const char *storage, ovs_u128 value,
             ovs_u128 mask)
{
    struct adp_guide_meaning meanings[ADP_GUIDE_MAX_MEANINGS];
    size_t n = adp_guide_decode(adp_bridge_pipeline(t->bridge), storage,
                                value, mask, t->stage, meanings);
    struct json *means = shash_find_data(json_object(t->step), "means");

    if (n && !means) {
        means = json_array_create_empty();
        json_object_put(t->step, "means", means);
    }
    for (size_t i = 0; i < n; i++) {
        json_array_add(means, adp_show_meaning(t->bridge, &meanings[i],
                                               &t->mentioned));
    }
}

/* Look-ups. */

char *
adp_show_trace_object(const struct adp_bridge *b, const struct adp_rule *rule)
{
    const struct adp_pipeline *p = adp_bridge_pipeline(b);
    uint32_t id = MINIFLOW_GET_U32(rule->match->flow, conj_id);
    enum adp_flow_metric metric = ADP_METRIC_NONE;

    if (id) {
        return adp_show_rule(b, id);
    }
    if (p && p->flow_metric) {
        metric = p->flow_metric(rule->table_id, ntohll(rule->cookie),
                                rule->match, &id);
    }
    switch (metric) {
    case ADP_METRIC_RULE_FIRST:
    case ADP_METRIC_RULE_LATER:
    case ADP_METRIC_RULE_PASS:
        return adp_show_rule(b, id);
    case ADP_METRIC_SERVICE:
    case ADP_METRIC_AFFINITY:
    case ADP_METRIC_REFUSED:
        return adp_show_group(b, id);
    case ADP_METRIC_APPLIED_FIRST:
    case ADP_METRIC_APPLIED:
        return adp_show_applied(b, id);
    case ADP_METRIC_NONE:
    default:
        return NULL;
    }
}

/* The flows by which a packet met a conjunction: one for each clause. */
struct clauses {
    const struct flow *flow;
    uint32_t conj_id;
    const struct adp_rule *rules[UINT8_MAX];
    size_t n;
};

static void
find_clause(struct adp_rule *rule, void *clauses_)
{
    struct clauses *c = clauses_;

    for (size_t i = 0; i < rule->n_conjs; i++) {
        const struct adp_conj_clause *conj = &adp_rule_conjs(rule)[i];

        if (conj->id == c->conj_id && conj->clause < ARRAY_SIZE(c->rules)
            && minimatch_matches_flow(rule->match, c->flow)) {
            c->n = MAX(c->n, conj->n_clauses);
            if (!c->rules[conj->clause]) {
                c->rules[conj->clause] = rule;
            }
        }
    }
}

static void
put_clauses(struct adp_show_trace *t, uint8_t table_id, uint32_t conj_id,
            struct json *o)
{
    const struct adp_program *program = t->program;
    struct clauses c = { .flow = t->flow, .conj_id = conj_id };
    struct json *clauses = json_array_create_empty();
    struct ds s = DS_EMPTY_INITIALIZER;

    if (program && program->tables[table_id]) {
        adp_match_for_each(program->tables[table_id]->match, find_clause, &c);
    }
    for (size_t i = 0; i < MIN(c.n, ARRAY_SIZE(c.rules)); i++) {
        if (c.rules[i]) {
            struct json *clause = json_object_create();

            adp_rule_format_match(c.rules[i],
                                  adp_bridge_port_map(t->bridge), &s);
            json_object_put(clause, "clause", json_integer_create(i + 1));
            json_object_put(clause, "of", json_integer_create(c.n));
            put_ds(clause, "flow", &s);
            json_array_add(clauses, clause);
        }
    }
    json_object_put(o, "conj_id", json_integer_create(conj_id));
    json_object_put(o, "clauses", clauses);
    ds_destroy(&s);
}

static void
put_flow(struct adp_show_trace *t, const struct adp_trace_event *event,
         struct json *o)
{
    const struct adp_rule *rule = event->table.rule;
    uint32_t conj_id = MINIFLOW_GET_U32(rule->match->flow, conj_id);
    struct ds s = DS_EMPTY_INITIALIZER;

    adp_rule_format_match(rule, adp_bridge_port_map(t->bridge), &s);
    put_ds(o, "flow", &s);
    json_object_put_format(o, "cookie", "%#"PRIx64, ntohll(rule->cookie));
    adp_show_put_text(o, "object",
                      adp_show_trace_object(t->bridge, rule));
    if (conj_id) {
        put_clauses(t, event->table_id, conj_id, o);
    }
    if (event->table.learned) {
        json_object_put(o, "learned", json_boolean_create(true));
    }
    ds_destroy(&s);
}

/* The latest step led to the look-up 'o' that comes now. */
static void
lead_to(struct adp_show_trace *t, struct json *o)
{
    if (t->step) {
        const struct adp_show_visit *from = &t->visits[t->n_visits - 1];
        size_t visit = json_array(t->tables)->n;

        json_object_put(t->step, "visit", json_integer_create(visit));
        json_object_put(o, "from", json_integer_create(from->index));
    }
}

static void
leave_deeper_than(struct adp_show_trace *t, unsigned int level)
{
    while (t->n_visits && t->visits[t->n_visits - 1].level > level) {
        t->n_visits--;
    }
}

static void
begin_table(struct adp_show_trace *t, const struct adp_trace_event *event)
{
    const struct adp_guide_table *words
        = adp_guide_table_find(adp_bridge_pipeline(t->bridge),
                               event->table_id);
    struct json *steps = json_array_create_empty();
    struct json *o = json_object_create();

    lead_to(t, o);
    put_table(t, o, event->table_id);
    json_object_put(o, "level", json_integer_create(event->level));
    if (event->table.rule) {
        put_flow(t, event, o);
    }
    json_object_put(o, "steps", steps);
    json_array_add(t->tables, o);

    leave_deeper_than(t, event->level);
    if (t->n_visits && t->visits[t->n_visits - 1].level == event->level) {
        t->n_visits--;
    }
    if (t->n_visits >= t->allocated_visits) {
        t->visits = x2nrealloc(t->visits, &t->allocated_visits,
                               sizeof *t->visits);
    }
    t->visits[t->n_visits++] = (struct adp_show_visit) {
        .level = event->level,
        .index = json_array(t->tables)->n - 1,
        .steps = steps,
    };
    t->stage = words ? words->stage : NULL;
    t->step = NULL;
}

/* Steps. */

/* The walk does something more in a table, so it has come back there if it had
 * left. */
static void
come_back(struct json *steps)
{
    const struct json_array *array = json_array(steps);
    struct json *last = array->n ? array->elems[array->n - 1] : NULL;

    if (last && shash_find(json_object(last), "visit")) {
        json_object_put(last, "returns", json_boolean_create(true));
    }
}

static void
begin_step(struct adp_show_trace *t, const struct adp_trace_event *event,
           const char *what)
{
    leave_deeper_than(t, event->level);
    t->action = NULL;
    t->step = NULL;
    if (t->n_visits) {
        struct json *steps = t->visits[t->n_visits - 1].steps;

        come_back(steps);
        t->step = json_object_create();
        json_object_put_string(t->step, "do", what);
        json_array_add(steps, t->step);
    }
}

static const char *
name_of_action(const struct ofpact *a)
{
    switch (a->type) {
    case OFPACT_RESUBMIT:
    case OFPACT_GOTO_TABLE:
        return "goto";
    case OFPACT_CT:
        return "ct";
    case OFPACT_GROUP:
        return "group";
    case OFPACT_DEC_TTL:
        return "dec_ttl";
    case OFPACT_LEARN:
        return "learn";
    case OFPACT_OUTPUT:
    case OFPACT_OUTPUT_REG:
        return "output";
    default:
        return "action";
    }
}

static void
begin_action(struct adp_show_trace *t, const struct adp_trace_event *event)
{
    const struct ofpact *a = event->action;
    struct ds s = DS_EMPTY_INITIALIZER;

    begin_step(t, event, name_of_action(a));
    t->action = a;
    adp_trace_format_action(a, adp_bridge_port_map(t->bridge),
                            adp_bridge_table_map(t->bridge), &s);
    put_ds(t->step, "action", &s);
    ds_destroy(&s);

    if (a->type == OFPACT_GROUP) {
        uint32_t id = ofpact_get_GROUP(a)->group_id;

        json_object_put(t->step, "group", json_integer_create(id));
        adp_show_put_text(t->step, "object",
                          adp_show_group(t->bridge, id));
    } else if (a->type == OFPACT_DEC_TTL) {
        /* The event comes before the deed. */
        json_object_put(t->step, "ttl",
                        json_integer_create(MAX(t->flow->nw_ttl, 1) - 1));
    }
}

/* The value of a register of 32 or 128 bits. */
static ovs_u128
register_value(const struct mf_field *mf, const union mf_value *value)
{
    return (mf->n_bytes == sizeof value->be128 ? ntoh128(value->be128)
            : (ovs_u128) { .u64.lo = ntohl(value->be32) });
}

/* The bits of such a register that an action has written. */
static ovs_u128
written_bits(const struct mf_field *mf, const struct ofpact *a)
{
    union mf_value mask;

    memset(&mask, 0xff, sizeof mask);
    if (a->type == OFPACT_SET_FIELD) {
        const struct ofpact_set_field *sf = ofpact_get_SET_FIELD(a);

        /* An action has no more of the union than its field takes. */
        memcpy(&mask, ofpact_set_field_mask(sf), sf->field->n_bytes);
    } else if (a->type == OFPACT_REG_MOVE) {
        const struct ofpact_reg_move *move = ofpact_get_REG_MOVE(a);

        memset(&mask, 0, sizeof mask);
        bitwise_one(&mask, mf->n_bytes, move->dst.ofs, move->dst.n_bits);
    }
    return register_value(mf, &mask);
}

/* "reg0[0..3]", if it isn't all of the field nor scattered. */
static void
put_part(struct adp_show_trace *t, const char *field, uint32_t value,
         uint32_t mask)
{
    int first = mask ? raw_ctz(mask) : 0;
    int last = mask ? 31 - clz32(mask) : 0;

    if (!mask || mask == UINT32_MAX
        || mask >> first != UINT32_MAX >> (31 - (last - first))) {
        return;
    }
    if (first == last) {
        json_object_put_format(t->step, "part", "%s[%d]", field, first);
    } else {
        json_object_put_format(t->step, "part", "%s[%d..%d]", field, first,
                               last);
    }
    json_object_put_format(t->step, "part_value", "%#"PRIx32,
                           (value & mask) >> first);
}

static void
add_change(struct adp_show_trace *t, const struct adp_trace_event *event)
{
    const struct mf_field *mf = event->change.field;
    struct ds s = DS_EMPTY_INITIALIZER;

    json_object_put_string(t->step, "do", "set");
    json_object_put_string(t->step, "field", mf->name);
    if (event->type == ADP_TRACE_UNMET) {
        json_object_put(t->step, "absent", json_boolean_create(true));
        return;
    }
    mf_format(mf, &event->change.value, NULL,
              adp_bridge_port_map(t->bridge), &s);
    put_ds(t->step, "value", &s);
    ds_destroy(&s);
    if (mf_is_register(mf->id) && mf->n_bytes != 8 && t->action) {
        ovs_u128 value = register_value(mf, &event->change.value);
        ovs_u128 mask = written_bits(mf, t->action);

        if (mf->n_bytes == 4) {
            put_part(t, mf->name, value.u64.lo, mask.u64.lo);
        }
        put_meanings(t, mf->name, value, mask);
    }
}

/* Conntrack. */

static void
put_label(struct json *o, const char *name, ovs_u128 label)
{
    if (!ovs_u128_is_zero(label)) {
        ovs_be128 be = hton128(label);
        struct ds s = DS_EMPTY_INITIALIZER;

        ds_put_hex(&s, &be, sizeof be);
        put_ds(o, name, &s);
        ds_destroy(&s);
    }
}

static void
add_ct(struct adp_show_trace *t, const struct adp_trace_event *event)
{
    const struct adp_ct_request *req = &event->ct;

    json_object_put(t->step, "zone", json_integer_create(req->zone));
    json_object_put(t->step, "commit", json_boolean_create(req->commit));
    if (req->nat) {
        json_object_put_string(t->step, "nat",
                               req->nat_action & NX_NAT_F_SRC ? "src"
                               : req->nat_action & NX_NAT_F_DST ? "dst"
                               : "known");
    }
    if (req->mark_mask) {
        json_object_put_format(t->step, "set_mark", "%#"PRIx32"/%#"PRIx32,
                               req->mark, req->mark_mask);
        put_meanings(t, "ct_mark", (ovs_u128) { .u64.lo = req->mark },
                     (ovs_u128) { .u64.lo = req->mark_mask });
    }
    put_label(t->step, "set_label", req->label);
    put_label(t->step, "set_label_mask", req->label_mask);
    put_meanings(t, "ct_label", req->label,
                 (ovs_u128) { .u64.lo = req->label_mask.u64.lo });
    put_meanings(t, "ct_label", req->label,
                 (ovs_u128) { .u64.hi = req->label_mask.u64.hi });
}

static void
put_endpoint(struct adp_show_trace *t, struct json *o, const char *name,
             const struct in6_addr *address, ovs_be16 port)
{
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(address);
    struct ds s = DS_EMPTY_INITIALIZER;

    ipv6_format_mapped(address, &s);
    sset_add(&t->mentioned, ds_cstr(&s));
    json_object_put_format(o, name, is_v4 ? "%s:%"PRIu16 : "[%s]:%"PRIu16,
                           ds_cstr(&s), ntohs(port));
    ds_destroy(&s);
}

static void
add_ct_answer(struct adp_show_trace *t, const struct adp_trace_event *event)
{
    struct json *o = json_object_create();
    struct ds s = DS_EMPTY_INITIALIZER;

    json_object_put(t->step, "answer", o);
    if (event->punt) {
        json_object_put_string(o, "unknown", adp_punt_text(event->punt));
        return;
    }
    format_flags(&s, ct_state_to_string, event->answer.ct_state, '|');
    put_ds(o, "state", &s);
    ds_destroy(&s);
    if (event->answer.ct_mark) {
        json_object_put_format(o, "mark", "%#"PRIx32, event->answer.ct_mark);
    }
    put_label(o, "label", event->answer.ct_label);
    if (event->answer.nat) {
        put_endpoint(t, o, "src", &event->answer.src, event->answer.tp_src);
        put_endpoint(t, o, "dst", &event->answer.dst, event->answer.tp_dst);
    }
}

/* Groups, learned flows, ends. */

static void
add_bucket(struct adp_show_trace *t, const struct adp_trace_event *event)
{
    const struct adp_group *group = event->group.group;

    if (event->type == ADP_TRACE_GROUP) {
        json_object_put_string(t->step, "result", event->group.exists
                               ? "no live bucket" : "no such group");
        return;
    }
    begin_step(t, event, "bucket");
    json_object_put(t->step, "group",
                    json_integer_create(event->group.group_id));
    json_object_put(t->step, "bucket",
                    json_integer_create(group->buckets[event->group.bucket]
                                        .bucket_id));
    json_object_put(t->step, "buckets", json_integer_create(group->n_buckets));
    json_object_put_string(t->step, "type",
                           group->type == OFPGT11_SELECT ? "select"
                           : group->type == OFPGT11_ALL ? "all"
                           : group->type == OFPGT11_FF ? "fast_failover"
                           : "indirect");
}

static void
add_learned(struct adp_show_trace *t, const struct adp_trace_event *event)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    if (!event->learned) {
        return;
    }
    adp_trace_format_learned(event->learned, adp_bridge_port_map(t->bridge),
                             adp_bridge_table_map(t->bridge), &s);
    put_ds(t->step, "flow", &s);
    ds_destroy(&s);
}

static void
add_output(struct adp_show_trace *t, const struct adp_trace_event *event)
{
    enum adp_trace_output what = event->output.what;

    if (!t->step || shash_find(json_object(t->step), "port")) {
        begin_step(t, event, "output");
    }
    put_port(t, t->step, "port", event->output.port);
    json_object_put_string(t->step, "result",
                           what == ADP_TRACE_OUTPUT_DONE ? "sent"
                           : what == ADP_TRACE_OUTPUT_IN_PORT
                           ? "is the input port"
                           : what == ADP_TRACE_OUTPUT_NO_REMOTE
                           ? "no remote end" : "absent or down");
    if (what == ADP_TRACE_OUTPUT_DONE) {
        struct json *o = json_object_create();

        put_port(t, o, "port", event->output.port);
        json_object_put(o, "headers", adp_show_trace_headers(t, t->flow));
        json_array_add(t->outputs, o);
    }
}

static void
add_punt(struct adp_show_trace *t, const struct adp_trace_event *event)
{
    if (!t->step) {
        begin_step(t, event, "punt");
    }
    if (t->step) {              /* Not so before the first table. */
        json_object_put_string(t->step, "punt", adp_punt_name(event->punt));
    }
}

void
adp_show_trace_event(struct adp_show_trace *t,
                     const struct adp_trace_event *event)
{
    switch (event->type) {
    case ADP_TRACE_TABLE:
        begin_table(t, event);
        break;
    case ADP_TRACE_ACTION:
        begin_action(t, event);
        break;
    case ADP_TRACE_NO_ACTIONS:
        begin_step(t, event, "drop");
        break;
    case ADP_TRACE_CHANGE:
    case ADP_TRACE_UNMET:
        add_change(t, event);
        break;
    case ADP_TRACE_CT:
        add_ct(t, event);
        break;
    case ADP_TRACE_CT_ANSWER:
        add_ct_answer(t, event);
        break;
    case ADP_TRACE_GROUP:
    case ADP_TRACE_BUCKET:
        add_bucket(t, event);
        break;
    case ADP_TRACE_LEARN:
        add_learned(t, event);
        break;
    case ADP_TRACE_OUTPUT:
        add_output(t, event);
        break;
    case ADP_TRACE_ANSWER:
        json_object_put_string(t->step, "reply", event->reply);
        break;
    case ADP_TRACE_HOLD:
        json_object_put_string(t->step, "held", event->reply);
        break;
    case ADP_TRACE_LOG:
        json_object_put_string(t->step, "log", event->log);
        break;
    case ADP_TRACE_PUNT:
        add_punt(t, event);
        break;
    case ADP_TRACE_CT_RESUME:
    case ADP_TRACE_CT_FORK:
    case ADP_TRACE_DROP:
        break;                  /* The table that follows, the verdict. */
    }
}
