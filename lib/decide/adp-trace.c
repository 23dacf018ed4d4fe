/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-trace.h"
#include "adp-rules.h"
#include "ct-dpif.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/ofp-table.h"
#include "packets.h"
#include "util.h"

struct trace_names {
    const struct ofputil_port_map *ports;
    const struct ofputil_table_map *tables;
};

static void
format_ofpacts(const struct ofpact *ofpacts, size_t len,
               const struct trace_names *names, struct ds *s)
{
    struct ofpact_format_params fp = {
        .port_map = names->ports,
        .table_map = names->tables,
        .s = s,
    };

    ofpacts_format(ofpacts, len, &fp);
}

static void
format_action(const struct ofpact *a, const struct trace_names *names,
              struct ds *s)
{
    format_ofpacts(a, OFPACT_ALIGN(a->len), names, s);
}

void
adp_trace_format_action(const struct ofpact *a,
                        const struct ofputil_port_map *ports,
                        const struct ofputil_table_map *tables, struct ds *s)
{
    struct trace_names names = { .ports = ports, .tables = tables };

    format_action(a, &names, s);
}

static void
format_table(const struct adp_trace_event *event,
             const struct trace_names *names, struct ds *s)
{
    const struct adp_rule *rule = event->table.rule;

    ds_put_format(s, "%2"PRIu8".", event->table_id);
    if (names->tables) {
        ds_put_char(s, ' ');
        ofputil_format_table(event->table_id, names->tables, s);
        ds_put_char(s, ':');
    }
    ds_put_char(s, ' ');
    if (!rule) {
        ds_put_cstr(s, "no match");
        return;
    }
    adp_rule_format_match(rule, names->ports, s);
    if (rule->cookie) {
        ds_put_format(s, ", cookie %#"PRIx64, ntohll(rule->cookie));
    }
    if (event->table.learned) {
        ds_put_cstr(s, ", just learned");
    }
}

static void
format_ct_request(const struct adp_ct_request *req, struct ds *s)
{
    ds_put_format(s, "conntrack is asked: zone %"PRIu16, req->zone);
    if (req->commit) {
        ds_put_cstr(s, req->force ? ", commit by force" : ", commit");
    }
    if (req->nat) {
        ds_put_cstr(s, (req->nat_action & NX_NAT_F_SRC ? ", SNAT"
                        : req->nat_action & NX_NAT_F_DST ? ", DNAT"
                        : ", NAT as the connection has it"));
    }
    if (req->mark_mask) {
        ds_put_format(s, ", ct_mark=%#"PRIx32"/%#"PRIx32,
                      req->mark, req->mark_mask);
    }
    if (!ovs_u128_is_zero(req->label_mask)) {
        ovs_be128 label = hton128(req->label);
        ovs_be128 mask = hton128(req->label_mask);

        ds_put_cstr(s, ", ct_label=");
        ds_put_hex(s, &label, sizeof label);
        ds_put_char(s, '/');
        ds_put_hex(s, &mask, sizeof mask);
    }
}

static void
format_endpoint(const struct in6_addr *address, ovs_be16 port, struct ds *s)
{
    ovs_be32 ipv4 = in6_addr_get_mapped_ipv4(address);

    if (ipv4) {
        ds_put_format(s, IP_FMT":%"PRIu16, IP_ARGS(ipv4), ntohs(port));
    } else {
        ds_put_char(s, '[');
        ipv6_format_addr(address, s);
        ds_put_format(s, "]:%"PRIu16, ntohs(port));
    }
}

static void
format_ct_answer(const struct adp_trace_event *event, struct ds *s)
{
    if (event->punt) {
        ds_put_format(s, "conntrack gives no answer: %s",
                      adp_punt_text(event->punt));
        return;
    }
    ds_put_cstr(s, "conntrack answers: ct_state=");
    format_flags(s, ct_state_to_string, event->answer.ct_state, '|');
    if (event->answer.ct_mark) {
        ds_put_format(s, ", ct_mark=%#"PRIx32, event->answer.ct_mark);
    }
    if (!ovs_u128_is_zero(event->answer.ct_label)) {
        ovs_be128 label = hton128(event->answer.ct_label);

        ds_put_cstr(s, ", ct_label=");
        ds_put_hex(s, &label, sizeof label);
    }
    if (event->answer.nat) {
        ds_put_cstr(s, "; the packet is now ");
        format_endpoint(&event->answer.src, event->answer.tp_src, s);
        ds_put_cstr(s, " to ");
        format_endpoint(&event->answer.dst, event->answer.tp_dst, s);
    }
}

static void
format_resume(const struct adp_trace_event *event,
              const struct trace_names *names, struct ds *s)
{
    ds_put_cstr(s, event->type == ADP_TRACE_CT_FORK
                ? "a clone of the packet goes on in table "
                : "the packet goes on in table ");
    ofputil_format_table(event->table_id, names->tables, s);
}

static void
format_output(const struct adp_trace_event *event,
              const struct trace_names *names, struct ds *s)
{
    ds_put_cstr(s, event->output.what == ADP_TRACE_OUTPUT_DONE
                ? "output to port " : "no output to port ");
    ofputil_format_port(event->output.port, names->ports, s);
    if (event->output.what == ADP_TRACE_OUTPUT_IN_PORT) {
        ds_put_cstr(s, ": it is the input port");
    } else if (event->output.what == ADP_TRACE_OUTPUT_ABSENT) {
        ds_put_cstr(s, ": it doesn't exist or is down");
    } else if (event->output.what == ADP_TRACE_OUTPUT_NO_REMOTE) {
        ds_put_cstr(s, ": nothing says where the tunnel ends");
    }
}

static void
format_group(const struct adp_trace_event *event, struct ds *s)
{
    const struct adp_group *group = event->group.group;

    if (event->type == ADP_TRACE_BUCKET) {
        ds_put_format(s, "bucket %"PRIu32,
                      group->buckets[event->group.bucket].bucket_id);
    } else {
        ds_put_format(s, "group %"PRIu32" %s", event->group.group_id,
                      event->group.exists ? "has no live bucket"
                      : "doesn't exist");
    }
}

static void
format_learned(const struct adp_learned *learned,
               const struct trace_names *names, struct ds *s)
{
    const struct ofputil_flow_mod *fm = &learned->fm;

    ds_put_cstr(s, "table=");
    ofputil_format_table(fm->table_id, names->tables, s);
    ds_put_format(s, ",priority=%d,", fm->priority);
    minimatch_format(&fm->match, NULL, names->ports, s, fm->priority);
    ds_chomp(s, ',');
    ds_put_cstr(s, " actions=");
    format_ofpacts(fm->ofpacts, fm->ofpacts_len, names, s);
}

void
adp_trace_format_learned(const struct adp_learned *learned,
                         const struct ofputil_port_map *ports,
                         const struct ofputil_table_map *tables,
                         struct ds *s)
{
    struct trace_names names = { .ports = ports, .tables = tables };

    format_learned(learned, &names, s);
}

static void
format_learn(const struct adp_trace_event *event,
             const struct trace_names *names, struct ds *s)
{
    ds_put_cstr(s, "learns a flow");
    if (event->learned) {
        ds_put_cstr(s, ": ");
        format_learned(event->learned, names, s);
    }
}

static void
format_text(const struct adp_trace_event *event,
            const struct trace_names *names, struct ds *s)
{
    switch (event->type) {
    case ADP_TRACE_TABLE:
        format_table(event, names, s);
        break;
    case ADP_TRACE_ACTION:
        format_action(event->action, names, s);
        break;
    case ADP_TRACE_NO_ACTIONS:
        ds_put_cstr(s, "drop");
        break;
    case ADP_TRACE_CHANGE:
        ds_put_format(s, "%s is now ", event->change.field->name);
        mf_format(event->change.field, &event->change.value, NULL,
                  names->ports, s);
        break;
    case ADP_TRACE_UNMET:
        ds_put_format(s, "the packet has no %s: not set",
                      event->change.field->name);
        break;
    case ADP_TRACE_CT:
        format_ct_request(&event->ct, s);
        break;
    case ADP_TRACE_CT_ANSWER:
        format_ct_answer(event, s);
        break;
    case ADP_TRACE_CT_RESUME:
    case ADP_TRACE_CT_FORK:
        format_resume(event, names, s);
        break;
    case ADP_TRACE_GROUP:
    case ADP_TRACE_BUCKET:
        format_group(event, s);
        break;
    case ADP_TRACE_LEARN:
        format_learn(event, names, s);
        break;
    case ADP_TRACE_OUTPUT:
        format_output(event, names, s);
        break;
    case ADP_TRACE_ANSWER:
        ds_put_format(s, "answered with %s", event->reply);
        break;
    case ADP_TRACE_HOLD:
        ds_put_cstr(s, event->reply);
        break;
    case ADP_TRACE_LOG:
        ds_put_format(s, "logged as %s", event->log);
        break;
    case ADP_TRACE_DROP:
        ds_put_cstr(s, "Dropped: no output.");
        break;
    case ADP_TRACE_PUNT:
        ds_put_format(s, "Left to the stock path: %s",
                      adp_punt_text(event->punt));
        break;
    }
}

/* Tables stand at the left, actions under them, what comes of an action under
 * that. */
static unsigned int
indentation(enum adp_trace_type type)
{
    switch (type) {
    case ADP_TRACE_TABLE:
    case ADP_TRACE_DROP:
    case ADP_TRACE_PUNT:
        return 0;
    case ADP_TRACE_ACTION:
    case ADP_TRACE_NO_ACTIONS:
        return 4;
    case ADP_TRACE_CHANGE:
    case ADP_TRACE_UNMET:
    case ADP_TRACE_CT:
    case ADP_TRACE_CT_ANSWER:
    case ADP_TRACE_CT_RESUME:
    case ADP_TRACE_CT_FORK:
    case ADP_TRACE_GROUP:
    case ADP_TRACE_BUCKET:
    case ADP_TRACE_LEARN:
    case ADP_TRACE_OUTPUT:
    case ADP_TRACE_ANSWER:
    case ADP_TRACE_HOLD:
    case ADP_TRACE_LOG:
    default:
        return 5;
    }
}

void
adp_trace_format(const struct adp_trace_event *event,
                 const struct ofputil_port_map *ports,
                 const struct ofputil_table_map *tables, struct ds *s)
{
    struct trace_names names = { .ports = ports, .tables = tables };
    unsigned int indent = indentation(event->type);

    if (indent) {
        ds_put_char_multiple(s, ' ', indent + 4 * event->level);
        if (indent > 4) {
            ds_put_cstr(s, "-> ");
        }
    } else if (event->type == ADP_TRACE_TABLE) {
        ds_put_char_multiple(s, ' ', 4 * event->level);
    }
    format_text(event, &names, s);
    ds_put_char(s, '\n');
}

/* Logs. */

void
adp_trace_log_init(struct adp_trace_log *log)
{
    *log = (struct adp_trace_log) { .events = NULL };
}

void
adp_trace_log_uninit(struct adp_trace_log *log)
{
    free(log->events);
}

void
adp_trace_log_append(struct adp_trace_log *log,
                     const struct adp_trace_event *event)
{
    if (log->n >= log->allocated) {
        log->events = x2nrealloc(log->events, &log->allocated,
                                 sizeof *log->events);
    }
    log->events[log->n] = *event;
    if (event->type == ADP_TRACE_LEARN) {
        log->events[log->n].learned = NULL;
    }
    log->n++;
}

void
adp_trace_log_format(const struct adp_trace_log *log,
                     const struct ofputil_port_map *ports,
                     const struct ofputil_table_map *tables, struct ds *s)
{
    for (size_t i = 0; i < log->n; i++) {
        adp_trace_format(&log->events[i], ports, tables, s);
    }
}
