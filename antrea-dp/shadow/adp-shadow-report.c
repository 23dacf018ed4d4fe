/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-shadow-report.h"

#include "adp-bridge-shared.h"
#include "adp-shadow-compare.h"
#include "adp-shadow-translate.h"
#include "netdev.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "packets.h"
#include "util.h"

char *
adp_shadow_parts(const struct adp_shadow_comparison *cmp)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = 0; i < ADP_SHADOW_N_PARTS; i++) {
        if (cmp->differs[i]) {
            ds_put_format(&s, "%s%s", s.length ? ", " : "",
                          adp_shadow_part_name(i));
        }
    }
    return ds_steal_cstr(&s);
}

char *
adp_shadow_port_name(const struct adp_bridge *b, const struct adp_sample *s)
{
    const struct ofport *port = ofproto_get_port(&b->dpif.up,
                                                 s->flow.in_port.ofp_port);

    return (port ? xstrdup(netdev_get_name(port->netdev))
            : xasprintf("%"PRIu32, s->flow.in_port.ofp_port));
}

static void
put_string(struct json *o, const char *name, char *s)
{
    json_object_put(o, name, json_string_create_nocopy(s));
}

static struct json *
list(const struct svec *texts)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < texts->n; i++) {
        json_array_add(array, json_string_create(texts->names[i]));
    }
    return array;
}

static struct json *
list_hits(const struct adp_sample_hits *hits)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < MIN(hits->n, ADP_SAMPLE_MAX_HITS); i++) {
        const struct adp_sample_hit *hit = &hits->hits[i];

        json_array_add(
            array, json_string_create_nocopy(
                !hit->is_bucket
                ? xasprintf("table=%"PRIu8",priority=%"PRId32",cookie=%#"
                            PRIx64, hit->table_id, hit->priority,
                            ntohll(hit->cookie))
                : hit->bucket == UINT32_MAX
                ? xasprintf("group=%"PRIu32, hit->id)
                : xasprintf("group=%"PRIu32",bucket=%"PRIu32, hit->id,
                            hit->bucket)));
    }
    return array;
}

static void
put_ct_state(struct ds *s, const struct adp_sample_answer *a)
{
    format_flags(s, ct_state_to_string, a->ct_state, ',');
}

static struct json *
list_answers(const struct adp_sample *sample)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < MIN(sample->n_answers, ADP_SAMPLE_MAX_ANSWERS);
         i++) {
        const struct adp_sample_answer *a = &sample->answers[i];
        struct ds s = DS_EMPTY_INITIALIZER;

        ds_put_format(&s, "zone=%"PRIu16",state=", a->ct_zone);
        put_ct_state(&s, a);
        ds_put_format(&s, ",mark=%#"PRIx32",label=0x%016"PRIx64"%016"PRIx64
                      ",src=", a->ct_mark, a->ct_label.u64.hi,
                      a->ct_label.u64.lo);
        ipv6_format_mapped(&a->src, &s);
        ds_put_cstr(&s, ",dst=");
        ipv6_format_mapped(&a->dst, &s);
        ds_put_format(&s, ",tp_src=%"PRIu16",tp_dst=%"PRIu16,
                      ntohs(a->tp_src), ntohs(a->tp_dst));
        json_array_add(array,
                       json_string_create_nocopy(ds_steal_cstr(&s)));
    }
    return array;
}

/* The flow as upstream's command takes it: to that the ports that it prints
 * are TCP's. */
static void
put_flow(struct ds *s, const struct flow *flow)
{
    const char *proto = (flow->nw_proto == IPPROTO_UDP ? "udp"
                         : flow->nw_proto == IPPROTO_SCTP ? "sctp" : "tcp");
    struct ds text = DS_EMPTY_INITIALIZER;
    char *save_ptr = NULL;

    flow_format(&text, flow, NULL);
    for (char *field = strtok_r(ds_cstr(&text), ",", &save_ptr); field;
         field = strtok_r(NULL, ",", &save_ptr)) {
        bool is_port = !strncmp(field, "tp_", 3);

        ds_put_format(s, "%s%s,", is_port ? proto : "",
                      is_port ? field + 2 : field);
    }
    ds_chomp(s, ',');
    ds_destroy(&text);
}

/* What has upstream translate such a packet again, by its own command. */
static char *
trace_command(const struct adp_bridge *b, const struct adp_sample *sample)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct flow flow = sample->flow;

    flow.tunnel.metadata.tab = ofproto_get_tun_tab(&b->dpif.up);
    ds_put_format(&s, "ovs-appctl ofproto/trace %s '", b->dpif.up.name);
    put_flow(&s, &flow);
    ds_put_char(&s, '\'');
    for (size_t i = 0; i < MIN(sample->n_answers, ADP_SAMPLE_MAX_ANSWERS);
         i++) {
        ds_put_cstr(&s, " --ct-next '");
        put_ct_state(&s, &sample->answers[i]);
        ds_put_char(&s, '\'');
    }
    return ds_steal_cstr(&s);
}

static char *
hex(const struct adp_sample_bytes *bytes)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < bytes->size; i++) {
        ds_put_format(&s, "%02x", bytes->data[i]);
    }
    return ds_steal_cstr(&s);
}

struct json *
adp_shadow_report(const struct adp_bridge *b, const struct adp_sample *s,
                  const struct adp_shadow_translation *upstream,
                  const struct adp_shadow_comparison *cmp)
{
    struct json *o = json_object_create();

    json_object_put_string(o, "bridge", b->dpif.up.name);
    json_object_put(o, "time_ms", json_integer_create(s->time_ms));
    json_object_put(o, "program_generation",
                    json_integer_create(s->generation));
    put_string(o, "differs", adp_shadow_parts(cmp));
    json_object_put_string(o, "way", adp_sample_way_name(s->way));
    put_string(o, "in_port", adp_shadow_port_name(b, s));
    put_string(o, "packet", hex(&s->packet));
    json_object_put(o, "packet_length", json_integer_create(s->length));
    json_object_put(o, "conntrack", list_answers(s));
    json_object_put(o, "decided", list(&cmp->decided));
    json_object_put(o, "decided_flows", list_hits(&s->hits));
    json_object_put(o, "done", list(&cmp->done));
    json_object_put(o, "done_flows", list_hits(&s->done.hits));
    json_object_put(o, "stock", list(&upstream->effects));
    json_object_put(o, "stock_flows", list_hits(&upstream->hits));
    json_object_put(o, "stock_passes", list(&upstream->passes));
    put_string(o, "trace", trace_command(b, s));
    return o;
}
