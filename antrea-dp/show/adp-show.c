/* SPDX-License-Identifier: Apache-2.0 */

/* What a bridge tells of itself: program and trace.  Its counters are in
 * adp-show-stats.c. */

#include <config.h>
#include "adp-show.h"

#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge-shared.h"
#include "adp-catch.h"
#include "adp-show-meaning.h"
#include "adp-show-trace.h"
#include "adp-trace.h"
#include "adp-walk.h"
#include "conntrack-sctp.h"
#include "dp-hooks.h"
#include "dp-packet.h"
#include "odp-util.h"
#include "openvswitch/json.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-parse.h"
#include "pipeline-guide.h"
#include "pipeline.h"
#include "timeval.h"

void
adp_show_program(struct adp_bridge *b, struct ds *s)
{
    const struct adp_pipeline *pipeline = adp_bridge_pipeline(b);

    ds_put_format(s, "bridge %s, pipeline %s\n", b->dpif.up.name,
                  pipeline ? pipeline->name : "none");
    adp_program_format(ovsrcu_get(struct adp_program *, &b->program), s,
                       adp_bridge_pipeline_table_name, b);
}

/* Trace. */

/* Lets an SCTP packet that was composed from 'flow', which leaves it without
 * chunks, begin an association: conntrack looks at more than headers. */
static void
put_sctp_init(struct dp_packet *packet, const struct flow *flow)
{
    static const uint8_t init[20] = {
        1, 0, 0, sizeof init,       /* INIT. */
        0, 0, 0, 1,                 /* Initiate tag. */
        0, 1, 0, 0,                 /* Receiver window. */
        0, 1, 0, 1,                 /* Streams, out and in. */
        0, 0, 0, 1,                 /* TSN. */
    };

    if (flow->nw_proto != IPPROTO_SCTP || !is_ip_any(flow)
        || dp_packet_l4_size(packet) != SCTP_HEADER_LEN) {
        return;
    }
    packet_expand(packet, flow, dp_packet_size(packet) + sizeof init);

    struct sctp_header *sh = dp_packet_l4(packet);
    memcpy(sh + 1, init, sizeof init);
    put_16aligned_be32(&sh->sctp_csum,
                       conntrack_sctp_csum(sh, sizeof *sh + sizeof init));
}

/* In bytes.  A dp_packet counts its memory, headroom and what it grows by
 * included, with 16 bits. */
enum { MAX_TRACE_PACKET = 65000 };

/* Makes the packet that 'in_port' and either 'text' or 'hex' describe.
 * Returns NULL or an error text. */
static char *
trace_packet(struct adp_bridge *b, const char *text, const char *hex,
             struct dp_packet **packetp)
{
    struct dp_packet *packet = dp_packet_new(128);

    *packetp = packet;
    if (hex) {
        if (strlen(hex) > 2 * MAX_TRACE_PACKET) {
            return xasprintf("packet: must be of at most %d bytes, not %"
                             PRIuSIZE, MAX_TRACE_PACKET, strlen(hex) / 2);
        }
        const char *rest = dp_packet_put_hex(packet, hex, NULL);

        if (*rest) {
            return xasprintf("packet: \"%.20s\" is not hexadecimal", rest);
        }
        return NULL;
    }

    struct flow flow;
    char *error = parse_ofp_exact_flow(&flow, NULL, NULL, text,
                                       adp_bridge_port_map(b));
    if (error) {
        char *message = xasprintf("flow: %s", error);

        free(error);
        return message;
    }
    flow_compose(packet, &flow, NULL, 64);
    put_sctp_init(packet, &flow);
    return NULL;
}

struct trace {
    struct adp_show_trace show;
    struct adp_trace_log log;
    struct flow original, flow;
    bool refused;               /* There is no walk. */
    bool caught;                /* The packet came in. */
};

static void
trace_init(struct trace *t, struct adp_bridge *b)
{
    memset(t, 0, sizeof *t);
    adp_show_trace_init(&t->show, b, &t->flow);
    adp_trace_log_init(&t->log);
}

static void
trace_uninit(struct trace *t)
{
    adp_trace_log_uninit(&t->log);
    adp_show_trace_uninit(&t->show);
}

static void
trace_event(const struct adp_trace_event *event, void *t_)
{
    struct trace *t = t_;

    adp_trace_log_append(&t->log, event);
    adp_show_trace_event(&t->show, event);
}

/* What became of the packet. */
static const char *
trace_outcome(const struct adp_walk *w, const struct adp_show_trace *show)
{
    const struct adp_verdict *v = &w->verdict;

    return (v->punt ? "punted"
            : v->dropped && v->answer ? "rejected"
            : json_array(show->outputs)->n > w->n_lost ? "forwarded"
            : v->n_packet_ins ? "to controller" : "dropped");
}

/* Why the last step of the walk sent the packet nowhere: an output that was
 * refused, a group without buckets.  NULL if it isn't one. */
static char *
failed_step(const struct json *step)
{
    const struct json *result = step ? shash_find_data(json_object(step),
                                                       "result") : NULL;
    const struct json *port = step ? shash_find_data(json_object(step),
                                                     "port") : NULL;

    if (!result) {
        return NULL;
    } else if (port) {
        return xasprintf("output port %s %s", json_string(port),
                         json_string(result));
    }
    return xasprintf("%s %s", json_string(shash_find_data(json_object(step),
                                                          "action")),
                     json_string(result));
}

/* Who denied the packet and had that logged, or NULL: its flow says nothing,
 * for the last one that the packet hit is that of all packet-ins.  The caller
 * frees it. */
static char *
logged_denial(struct adp_bridge *b, const struct adp_verdict *v)
{
    for (size_t i = v->n_logs; i-- > 0; ) {
        const struct adp_log_item *item = &v->logs[i];
        const struct adp_guide_table *guide
            = adp_guide_table_find(adp_bridge_pipeline(b), item->table_id);

        if (!adp_log_item_denies(item)) {
            continue;
        }

        char *object = item->rule ? adp_show_rule(b, item->rule) : NULL;
        if (!object) {
            return nullable_xstrdup(guide ? guide->drop : NULL);
        }
        char *reason = xasprintf("denied by %s", object);
        free(object);
        return reason;
    }
    return NULL;
}

/* Why the packet is dropped, in words; NULL if there is no telling.  The
 * caller frees it. */
static char *
drop_reason(struct adp_bridge *b, const struct adp_walk *w,
            const struct adp_show_trace *show)
{
    const struct adp_verdict *v = &w->verdict;
    char *reason = failed_step(show->step);
    char *object;

    if (!v->dropped) {
        free(reason);
        return xstrdup("no neighbour or route for the tunnel");
    } else if (!v->drop_rule) {
        free(reason);
        return xstrdup("no flow matches");
    } else if (reason) {
        return reason;
    }

    reason = logged_denial(b, v);
    if (reason) {
        return reason;
    }
    object = (adp_rule_ops(v->drop_rule)->n_ops ? NULL
              : adp_show_trace_object(b, v->drop_rule));
    if (object) {
        reason = xasprintf("denied by %s", object);
        free(object);
        return reason;
    }

    const struct adp_guide_table *guide = adp_guide_table_find(
        adp_bridge_pipeline(b), v->drop_table);
    return nullable_xstrdup(guide ? guide->drop : NULL);
}

/* Why the packet is rejected: what the last flow that belongs to something
 * belongs to.  The caller frees it. */
static char *
reject_reason(const struct adp_bridge *b, const struct adp_verdict *v)
{
    char *object = NULL;

    for (size_t i = v->n_hits; i-- > 0 && !object; ) {
        if (v->hits[i].kind == ADP_HIT_RULE) {
            object = adp_show_trace_object(b, v->hits[i].rule);
        }
    }
    if (!object) {
        return xstrdup("a flow says so");
    }

    char *reason = (v->answer == ADP_ANSWER_UNREACHABLE
                    ? xasprintf("no endpoint for %s", object)
                    : xasprintf("by %s", object));
    free(object);
    return reason;
}

static const char closed[] = "no packet passes the bridge until its flows are "
    "restored, or its pipeline is";

/* The bridge let no packet in. */
static void
put_refusal(struct json *result)
{
    json_object_put_string(result, "outcome", "dropped");
    json_object_put_string(result, "reason", closed);
    json_object_put_format(result, "verdict", "dropped: %s", closed);
}

/* What happens to packets of the bridge at present, whatever a walk says. */
static void
put_present(const struct adp_bridge *b, struct json *result)
{
    const char *punted_for = adp_bridge_punted_for(b);

    if (adp_bridge_mode(b) == ADP_MODE_CLOSED) {
        json_object_put_string(result, "at_present", closed);
    } else if (punted_for) {
        json_object_put_format(result, "at_present", "stock translation takes "
                               "all packets of the bridge, for %s",
                               punted_for);
    }
}

/* Adds what became of the packet to 'result': in parts, and as a text. */
static void
put_verdict(struct adp_bridge *b, const struct adp_walk *w,
            const struct adp_show_trace *show, struct json *result)
{
    const struct adp_verdict *v = &w->verdict;
    const char *outcome = trace_outcome(w, show);
    struct ds s = DS_EMPTY_INITIALIZER;
    char *reason = NULL;

    json_object_put_string(result, "outcome", outcome);
    if (v->punt) {
        reason = xstrdup(adp_punt_text(v->punt));
        ds_put_cstr(&s, "taken by stock translation");
    } else if (!strcmp(outcome, "rejected")) {
        reason = reject_reason(b, v);
        ds_put_cstr(&s, outcome);
    } else if (!strcmp(outcome, "dropped")) {
        const char *table = adp_bridge_pipeline_table_name(v->drop_table, b);

        reason = drop_reason(b, w, show);
        ds_put_cstr(&s, "dropped");
        if (v->dropped && table) {
            ds_put_format(&s, " in table %s", table);
        } else if (v->dropped) {
            ds_put_format(&s, " in table %d", v->drop_table);
        }
    } else {
        ds_put_cstr(&s, outcome);
    }
    if (reason) {
        ds_put_format(&s, ": %s", reason);
        json_object_put_string(result, "reason", reason);
    }
    json_object_put_string(result, "verdict", ds_cstr(&s));
    ds_destroy(&s);
    free(reason);
}

/* The walk in the style of ofproto/trace. */
static void
put_text(struct adp_bridge *b, const struct trace *t,
         const struct adp_walk *w, struct json *result)
{
    const struct json *present = shash_find_data(json_object(result),
                                                 "at_present");
    struct ds actions = DS_EMPTY_INITIALIZER;
    struct ds s = DS_EMPTY_INITIALIZER;

    format_odp_actions(&actions, w->verdict.actions.data,
                       w->verdict.actions.size, NULL);
    ds_put_cstr(&s, "Flow: ");
    flow_format(&s, &t->original, adp_bridge_port_map(b));
    json_object_put_string(result, "flow", ds_cstr(&s) + strlen("Flow: "));
    ds_put_format(&s, "\n\nbridge(\"%s\")\n", b->dpif.up.name);
    adp_trace_log_format(&t->log, adp_bridge_port_map(b),
                         adp_bridge_table_map(b), &s);
    ds_put_format(&s, "\nDatapath actions: %s\n",
                  w->verdict.punt ? "(stock)" : ds_cstr(&actions));
    if (present) {
        ds_put_format(&s, "At present: %s\n", json_string(present));
    }
    ds_put_format(&s, "Verdict: %s\n",
                  json_string(shash_find_data(json_object(result),
                                              "verdict")));
    json_object_put_string(result, "actions", ds_cstr(&actions));
    json_object_put_string(result, "text", ds_cstr(&s));
    ds_destroy(&s);
    ds_destroy(&actions);
}

/* All tables in the order of the pipeline; without one, those that hold flows
 * or that the packet came to. */
static void
put_pipeline(struct adp_bridge *b, const struct adp_show_trace *show,
             struct json *result)
{
    const struct adp_program *program
        = ovsrcu_get(struct adp_program *, &b->program);
    const struct adp_pipeline *p = adp_bridge_pipeline(b);
    struct json *tables = json_array_create_empty();
    bool shown[ADP_N_TABLES] = { false };

    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        shown[i] = program->tables[i] != NULL;
    }
    for (size_t i = 0; i < json_array(show->tables)->n; i++) {
        const struct json *visit = json_array(show->tables)->elems[i];

        shown[json_integer(shash_find_data(json_object(visit), "id"))] = true;
    }
    for (size_t i = 0; p && i < p->n_tables; i++) {
        uint8_t id = p->tables[i].id;

        json_array_add(tables, adp_show_table(id, p->tables[i].name,
                                              adp_guide_table_find(p, id)));
        shown[id] = false;
    }
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        if (shown[i]) {
            json_array_add(tables, adp_show_table(i, NULL, NULL));
        }
    }
    json_object_put_string(result, "pipeline", p ? p->name : "none");
    json_object_put(result, "pipeline_tables", tables);
}

static struct json *
trace_result(struct adp_bridge *b, struct trace *t, const struct adp_walk *w)
{
    struct json *result = json_object_create();
    struct adp_show_trace *show = &t->show;

    json_object_put_string(result, "bridge", b->dpif.up.name);
    adp_show_put_port(b, result, "in_port", t->original.in_port.ofp_port,
                      &show->mentioned);
    put_pipeline(b, show, result);
    if (t->refused) {
        put_refusal(result);
    } else {
        put_verdict(b, w, show, result);
    }
    if (!t->caught) {
        put_present(b, result);
    }
    put_text(b, t, w, result);
    json_object_put(result, "headers",
                    adp_show_trace_headers(show, &t->original));
    json_object_put(result, "tables", json_clone(show->tables));
    /* Nothing of what led to a punt is done. */
    json_object_put(result, "outputs", w->verdict.punt
                    ? json_array_create_empty() : json_clone(show->outputs));
    json_object_put(result, "names", adp_show_trace_names(show));
    return result;
}

char *
adp_show_packet(struct adp_bridge *b, const char *in_port, const char *text,
                const char *hex, struct json **resultp)
{
    struct dp_packet *packet = NULL;
    ofp_port_t ofp_port;
    char *error;

    *resultp = NULL;
    if (!adp_bridge_port_number(b, in_port, &ofp_port)) {
        return xasprintf("in_port: bridge %s has no port \"%s\"",
                         b->dpif.up.name, in_port);
    }
    error = trace_packet(b, text, hex, &packet);
    if (!error) {
        struct adp_walk w;
        struct trace t;

        trace_init(&t, b);
        adp_walk_init(&w);
        w.trace = trace_event;
        w.trace_aux = &t;

        pkt_metadata_init(&packet->md, ODPP_NONE);
        flow_extract(packet, &t.flow);
        t.flow.in_port.ofp_port = ofp_port;
        t.flow.tunnel.metadata.tab = ofproto_get_tun_tab(&b->dpif.up);
        t.original = t.flow;
        adp_walk(&w, b, dp_dpif_conntrack(b->dpif.backer->dpif), packet,
                 &t.flow, time_msec());

        *resultp = trace_result(b, &t, &w);
        trace_uninit(&t);
        adp_walk_uninit(&w);
    }
    dp_packet_delete(packet);
    return error;
}

/* Packets that packet threads caught. */

/* Which part of 'match' no packet has when it comes in, or NULL. */
static const char *
unknown_at_the_door(const struct match *match)
{
    const struct flow *mask = &match->wc.masks;

    return (mask->tunnel.metadata.present.map ? "named tunnel options"
            : mask->ct_state || mask->ct_zone || mask->ct_mark
            || !ovs_u128_is_zero(mask->ct_label) || mask->ct_nw_proto
            ? "connection tracking"
            : !is_all_zeros(mask->regs, sizeof mask->regs) || mask->metadata
            || mask->conj_id || mask->actset_output ? "metadata"
            : NULL);
}

char *
adp_show_parse_match(struct adp_bridge *b, const char *in_port,
                     const char *text, struct match *match)
{
    enum ofputil_protocol usable;
    struct ofputil_flow_mod fm;
    ofp_port_t ofp_port = OFPP_NONE;

    if (in_port && !adp_bridge_port_number(b, in_port, &ofp_port)) {
        return xasprintf("in_port: bridge %s has no port \"%s\"",
                         b->dpif.up.name, in_port);
    }

    char *error = parse_ofp_str(&fm, -1, text ? text : "",
                                adp_bridge_port_map(b),
                                adp_bridge_table_map(b), &usable);
    if (error) {
        char *message = xasprintf("flow: %s", error);

        free(error);
        return message;
    }
    minimatch_expand(&fm.match, match);
    minimatch_destroy(&fm.match);
    free(CONST_CAST(struct ofpact *, fm.ofpacts));

    const char *unknown = unknown_at_the_door(match);
    if (fm.table_id != OFPTT_ALL || fm.cookie_mask || fm.out_port != OFPP_ANY
        || fm.out_group != OFPG_ANY) {
        return xstrdup("flow: give a match alone, without table, cookie or "
                       "output");
    } else if (unknown) {
        return xasprintf("flow: a packet that comes in has no %s yet",
                         unknown);
    }
    if (in_port) {
        match_set_in_port(match, ofp_port);
    }
    return NULL;
}

struct json *
adp_show_caught(struct adp_bridge *b, const struct adp_caught *caught)
{
    const struct adp_program *program
        = ovsrcu_get(struct adp_program *, &b->program);
    struct trace t;

    trace_init(&t, b);
    t.caught = true;
    t.refused = caught->refused;
    t.original = caught->original;
    t.original.tunnel.metadata.tab = ofproto_get_tun_tab(&b->dpif.up);
    if (program->generation != caught->generation) {
        t.show.program = NULL;
    }
    for (size_t i = 0; i < caught->n_events; i++) {
        const struct adp_caught_event *event = &caught->events[i];

        t.flow = caught->flows[event->flow];
        t.flow.tunnel.metadata.tab = t.original.tunnel.metadata.tab;
        trace_event(&event->event, &t);
    }

    struct json *result = trace_result(b, &t, &caught->walk);
    if (caught->is_cut) {
        json_object_put(result, "cut", json_boolean_create(true));
    }
    trace_uninit(&t);
    return result;
}
