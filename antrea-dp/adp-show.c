/* SPDX-License-Identifier: Apache-2.0 */

/* What a bridge tells of itself: program and trace.  Its counters are in
 * adp-show-stats.c. */

#include <config.h>
#include "adp-bridge-private.h"

#include "adp-state.h"
#include "adp-trace.h"
#include "adp-walk.h"
#include "dp-hooks.h"
#include "dp-packet.h"
#include "odp-util.h"
#include "openvswitch/json.h"
#include "openvswitch/ofp-parse.h"
#include "pipeline.h"
#include "timeval.h"

const char *
adp_bridge_table_name(uint8_t id, void *b_)
{
    const struct adp_bridge *b = b_;

    for (size_t i = 0; b->pipeline && i < b->pipeline->n_tables; i++) {
        if (b->pipeline->tables[i].id == id) {
            return b->pipeline->tables[i].name;
        }
    }
    return NULL;
}

void
adp_bridge_format_program(struct adp_bridge *b, struct ds *s)
{
    ds_put_format(s, "bridge %s, pipeline %s\n", b->dpif.up.name,
                  b->pipeline ? b->pipeline->name : "none");
    adp_program_format(ovsrcu_get(struct adp_program *, &b->program), s,
                       adp_bridge_table_name, b);
}

/* Trace. */

/* Makes the packet that 'in_port' and either 'text' or 'hex' describe.
 * Returns NULL or an error text. */
static char *
trace_packet(struct adp_bridge *b, const char *text, const char *hex,
             struct dp_packet **packetp)
{
    struct dp_packet *packet = dp_packet_new(128);

    *packetp = packet;
    if (hex) {
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
    return NULL;
}

struct trace_tables {
    struct adp_bridge *b;
    struct adp_trace_log log;
    struct json *tables;
};

static void
trace_event(const struct adp_trace_event *event, void *t_)
{
    struct trace_tables *t = t_;

    adp_trace_log_append(&t->log, event);
    if (event->type == ADP_TRACE_TABLE) {
        const char *name = adp_bridge_table_name(event->table_id, t->b);
        struct ds flow = DS_EMPTY_INITIALIZER;
        struct json *o = json_object_create();

        json_object_put(o, "id", json_integer_create(event->table_id));
        if (name) {
            json_object_put_string(o, "table", name);
        }
        if (event->table.rule) {
            struct match match;

            minimatch_expand(&event->table.rule->match, &match);
            match_format(&match, adp_bridge_port_map(t->b), &flow,
                         event->table.rule->priority);
            json_object_put_string(o, "flow", ds_cstr(&flow));
            json_object_put_format(
                o, "cookie", "%#"PRIx64, ntohll(event->table.rule->cookie));
        }
        json_array_add(t->tables, o);
        ds_destroy(&flow);
    }
}

/* The verdict in words. */
static void
trace_verdict(struct adp_bridge *b, const struct adp_walk *w,
              const struct flow *flow, struct ds *s)
{
    const struct adp_verdict *v = &w->verdict;
    const char *table = adp_bridge_table_name(v->drop_table, b);

    if (v->punt) {
        ds_put_format(s, "taken by stock translation: %s",
                      adp_punt_text(v->punt));
        return;
    }
    if (w->tunnel_lost && !w->n_tunnels) {
        ds_put_cstr(s, "dropped: no neighbour or route for the tunnel");
        return;
    }
    if (!v->dropped) {
        ds_put_cstr(s, "forwarded");
        return;
    }

    ds_put_cstr(s, "dropped in table ");
    if (table) {
        ds_put_cstr(s, table);
    } else {
        ds_put_format(s, "%d", v->drop_table);
    }
    if (!v->drop_rule) {
        ds_put_cstr(s, ": no flow matches");
    } else if (b->state && flow->regs[0] & (1u << 10)) {
        char *who = adp_state_describe_conj(b->state, flow->regs[3]);

        if (who) {
            ds_put_format(s, ": denied by %s", who);
            free(who);
        }
    } else if (table && strstr(table, "DefaultRule")) {
        ds_put_cstr(s, ": the Pod is isolated by a Kubernetes NetworkPolicy "
                    "and no rule allows this");
    }
}

static void
trace_result(struct trace_tables *t, const struct adp_walk *w,
             const struct flow *original, const struct flow *flow,
             struct json *result)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct ds actions = DS_EMPTY_INITIALIZER;
    struct ds verdict = DS_EMPTY_INITIALIZER;

    format_odp_actions(&actions, w->verdict.actions.data,
                       w->verdict.actions.size, NULL);
    trace_verdict(t->b, w, flow, &verdict);

    ds_put_cstr(&s, "Flow: ");
    flow_format(&s, original, adp_bridge_port_map(t->b));
    ds_put_format(&s, "\n\nbridge(\"%s\")\n", t->b->dpif.up.name);
    adp_trace_log_format(&t->log, adp_bridge_port_map(t->b),
                         adp_bridge_table_map(t->b), &s);
    ds_put_format(&s, "\nDatapath actions: %s\nVerdict: %s\n",
                  w->verdict.punt ? "(stock)" : ds_cstr(&actions),
                  ds_cstr(&verdict));

    json_object_put_string(result, "actions", ds_cstr(&actions));
    json_object_put_string(result, "verdict", ds_cstr(&verdict));
    json_object_put_string(result, "text", ds_cstr(&s));
    ds_destroy(&s);
    ds_destroy(&actions);
    ds_destroy(&verdict);
}

char *
adp_bridge_trace(struct adp_bridge *b, const char *in_port, const char *text,
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
        struct trace_tables t = { .b = b, .tables = json_array_create_empty() };
        struct flow flow, original;
        struct adp_walk w;

        adp_trace_log_init(&t.log);
        adp_walk_init(&w);
        w.trace = trace_event;
        w.trace_aux = &t;

        pkt_metadata_init(&packet->md, ODPP_NONE);
        flow_extract(packet, &flow);
        flow.in_port.ofp_port = ofp_port;
        flow.tunnel.metadata.tab = ofproto_get_tun_tab(&b->dpif.up);
        original = flow;
        adp_walk(&w, b, dp_dpif_conntrack(b->dpif.backer->dpif), packet,
                 &flow, time_msec());

        *resultp = json_object_create();
        trace_result(&t, &w, &original, &flow, *resultp);
        json_object_put(*resultp, "tables", t.tables);
        adp_trace_log_uninit(&t.log);
        adp_walk_uninit(&w);
    }
    dp_packet_delete(packet);
    return error;
}
