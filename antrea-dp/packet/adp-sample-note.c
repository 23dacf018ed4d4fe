/* SPDX-License-Identifier: Apache-2.0 */

/* What is noted of a sampled packet. */

#include <config.h>
#include "adp-sample.h"

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-rewrite.h"
#include "adp-trace.h"
#include "adp-tunnel.h"
#include "adp-walk.h"
#include "dp-packet.h"
#include "timeval.h"
#include "util.h"

void
adp_sample_set_bytes(struct adp_sample_bytes *bytes, const void *data,
                     size_t size)
{
    bytes->size = MIN(size, sizeof bytes->data);
    memcpy(bytes->data, data, bytes->size);
}

void
adp_sample_set_actions(struct adp_sample_actions *actions, const void *data,
                       size_t size)
{
    actions->size = size;
    if (size && size <= sizeof actions->data) {
        memcpy(actions->data, data, size);
    }
}

static void
hit_of_rule(struct adp_sample_hit *hit, const struct adp_rule *rule)
{
    hit->cookie = rule->cookie;
    hit->id = rule->match_hash;
    hit->priority = rule->priority;
    hit->table_id = rule->table_id;
}

static void
hit_of_bucket(struct adp_sample_hit *hit, const struct adp_hit *from)
{
    hit->is_bucket = true;
    hit->id = from->group->group_id;
    hit->bucket = (from->bucket == ADP_BUCKET_ALL ? UINT32_MAX
                   : from->group->buckets[from->bucket].bucket_id);
}

void
adp_sample_set_hits(struct adp_sample_hits *hits, const struct adp_hit *from,
                    size_t n)
{
    hits->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (from[i].kind != ADP_HIT_RULE && from[i].kind != ADP_HIT_BUCKET) {
            continue;
        }
        if (hits->n < ADP_SAMPLE_MAX_HITS) {
            struct adp_sample_hit *hit = &hits->hits[hits->n];

            memset(hit, 0, sizeof *hit);
            if (from[i].kind == ADP_HIT_RULE) {
                hit_of_rule(hit, from[i].rule);
            } else {
                hit_of_bucket(hit, &from[i]);
            }
        }
        hits->n++;
    }
}

/* decide()'s verdict. */

static void
note_orig_tuple(struct adp_sample_answer *a, const struct conn_key *key)
{
    bool icmp = (key->nw_proto == IPPROTO_ICMP
                 || key->nw_proto == IPPROTO_ICMPV6);
    ovs_be16 tp_src = icmp ? htons(key->src.icmp_type) : key->src.port;
    ovs_be16 tp_dst = icmp ? htons(key->src.icmp_code) : key->dst.port;

    a->orig_is_ipv6 = key->dl_type == htons(ETH_TYPE_IPV6);
    if (a->orig_is_ipv6) {
        a->orig.ipv6 = (struct ovs_key_ct_tuple_ipv6) {
            key->src.addr.ipv6, key->dst.addr.ipv6, tp_src, tp_dst,
            key->nw_proto
        };
    } else {
        a->orig.ipv4 = (struct ovs_key_ct_tuple_ipv4) {
            key->src.addr.ipv4, key->dst.addr.ipv4, tp_src, tp_dst,
            key->nw_proto
        };
    }
}

static void
note_answer(const struct adp_trace_event *event, void *sample_)
{
    struct adp_sample *sample = sample_;

    if (event->type != ADP_TRACE_CT_ANSWER || event->punt) {
        return;
    }
    if (sample->n_answers < ADP_SAMPLE_MAX_ANSWERS) {
        struct adp_sample_answer *a = &sample->answers[sample->n_answers];

        memset(a, 0, sizeof *a);
        a->ct_state = event->answer.ct_state;
        a->ct_zone = event->answer.ct_zone;
        a->ct_mark = event->answer.ct_mark;
        a->ct_label = event->answer.ct_label;
        a->src = event->answer.src;
        a->dst = event->answer.dst;
        a->tp_src = event->answer.tp_src;
        a->tp_dst = event->answer.tp_dst;

        const struct conntrack_peek *peek = sample->peek;
        a->has_orig_tuple = peek->has_orig_tuple;
        if (peek->has_orig_tuple) {
            note_orig_tuple(a, &peek->orig_tuple);
        }
    }
    sample->n_answers++;
}

void
adp_sample_prepare(struct adp_sample *sample, const struct dp_packet *packet,
                   const struct flow *flow, struct adp_walk *w)
{
    sample->time_ms = time_wall_msec();
    sample->flow = *flow;
    sample->flow.tunnel.metadata.tab = NULL;
    sample->length = dp_packet_size(packet);
    adp_sample_set_bytes(&sample->packet, dp_packet_data(packet),
                         sample->length);
    sample->l2_5_ofs = packet->l2_5_ofs;
    sample->l3_ofs = packet->l3_ofs;
    sample->l4_ofs = packet->l4_ofs;
    sample->way = ADP_SAMPLE_STOCK;
    sample->n_answers = 0;
    sample->done.rewritten = false;
    sample->done.metered = false;
    sample->done.ct_known = false;
    sample->done.ct_differs = false;
    sample->is_suspect = false;
    sample->peek = &w->ct.peek;
    w->trace = note_answer;
    w->trace_aux = sample;
}

static void
note_tunnels(struct adp_sample *sample, const struct adp_walk *w)
{
    uint64_t serial = adp_tunnels_serial(w->bridge->tunnels);

    sample->tunnel_lost = w->tunnel_lost;
    sample->tunnel_is_old = false;
    sample->tunnel_serial = w->n_tunnels ? serial : 0;
    for (size_t i = 0; i < w->n_tunnels; i++) {
        if (adp_tunnel_serial(w->tunnels[i]) != serial) {
            sample->tunnel_is_old = true;
        }
    }
}

void
adp_sample_note_verdict(struct adp_sample *sample, const struct adp_walk *w,
                        enum adp_punt punt)
{
    const struct adp_verdict *v = &w->verdict;

    sample->bridge = w->bridge->serial;
    sample->generation = w->program->generation;
    sample->ports_serial = w->ports_serial;
    sample->punt = punt ? punt : v->punt;
    sample->answers_itself = v->answer || v->n_logs || v->read;
    sample->held = v->held;
    sample->hit_learned = v->hit_learned;
    sample->n_learned = v->n_learned;
    note_tunnels(sample, w);
    adp_sample_set_actions(&sample->actions, v->actions.data,
                           v->actions.size);
    adp_sample_set_hits(&sample->hits, v->hits, v->n_hits);
}

/* What was done. */

/* A packet as the sampled one came in, to be rewritten in 'bytes'. */
static void
packet_as_it_came(struct dp_packet *packet, struct adp_sample_bytes *bytes,
                  const struct adp_sample *sample)
{
    *bytes = sample->packet;
    dp_packet_use_stub(packet, bytes->data, sizeof bytes->data);
    dp_packet_set_size(packet, bytes->size);
    packet->l2_5_ofs = sample->l2_5_ofs;
    packet->l3_ofs = sample->l3_ofs;
    packet->l4_ofs = sample->l4_ofs;
}

static void
note_leaving(struct adp_sample *sample,
             const struct adp_cached_verdict_content *c,
             const struct nlattr *actions,
             const struct adp_tunnel_actions *tnl_actions)
{
    sample->done.rewritten = true;
    sample->done.metered = c->metered;
    sample->done.meter_id = c->meter_id;
    if (c->odp_port != ODPP_NONE) {
        struct {
            struct nlattr attr;
            odp_port_t port;
        } output = {
            .attr.nla_len = sizeof output,
            .attr.nla_type = OVS_ACTION_ATTR_OUTPUT,
            .port = c->odp_port,
        };

        adp_sample_set_actions(&sample->done.actions, &output, sizeof output);
    } else if (tnl_actions) {
        adp_sample_set_actions(&sample->done.actions, tnl_actions->data,
                               tnl_actions->size);
    } else {
        adp_sample_set_actions(&sample->done.actions, actions,
                               c->actions_len);
    }
}

/* True if all headers that may be rewritten are in what is kept. */
static bool
has_headers(const struct adp_sample *sample)
{
    return (sample->packet.size == sample->length
            || sample->l4_ofs == UINT16_MAX
            || sample->l4_ofs + TCP_HEADER_LEN <= sample->packet.size);
}

void
adp_sample_note_session(struct adp_sample *sample,
                        const struct adp_session *s,
                        const struct adp_cached_verdict *v,
                        const struct adp_tunnel_actions *tnl_actions)
{
    struct dp_packet packet;

    sample->way = ADP_SAMPLE_SESSION;
    adp_sample_set_hits(&sample->done.hits, v->hits, v->content.n_hits);
    note_leaving(sample, &v->content, v->actions, tnl_actions);
    packet_as_it_came(&packet, &sample->done.packet, sample);
    if (has_headers(sample)) {
        adp_rewrite_by_session(&packet, s, &v->content);
    }
}

/* True if 'w' found out the same about connections as the walk for the sample
 * did. */
static bool
foresees_the_same(const struct conntrack_peek *a,
                  const struct conntrack_peek *b)
{
    if (a->n_conns != b->n_conns || a->n_steps != b->n_steps) {
        return false;
    }
    for (size_t i = 0; i < a->n_conns; i++) {
        const struct conntrack_peek_conn *x = &a->conns[i];
        const struct conntrack_peek_conn *y = &b->conns[i];

        if (x->real != y->real || x->n_updates != y->n_updates
            || x->up->mark != y->up->mark
            || !ovs_u128_equals(x->up->label, y->up->label)
            || x->up->key.zone != y->up->key.zone) {
            return false;
        }
    }
    return true;
}

void
adp_sample_note_content(struct adp_sample *sample, enum adp_sample_way way,
                        const struct adp_cached_verdict_content *c,
                        const struct nlattr *actions,
                        const struct adp_tunnel_actions *tnl_actions,
                        const struct adp_hit *hits, const struct adp_walk *w,
                        const struct conntrack_peek_tuple *tuple,
                        uint8_t nw_proto)
{
    struct dp_packet packet;

    sample->way = way;
    sample->done.ct_known = true;
    sample->done.ct_differs = !foresees_the_same(sample->peek, &w->ct.peek);
    adp_sample_set_hits(&sample->done.hits, hits, c->n_hits);
    note_leaving(sample, c, actions, tnl_actions);
    packet_as_it_came(&packet, &sample->done.packet, sample);
    if (has_headers(sample)) {
        adp_rewrite_to(&packet, c, tuple, nw_proto);
    }
}

void
adp_sample_note_walk(struct adp_sample *sample, const struct adp_walk *w)
{
    const struct adp_verdict *v = &w->verdict;

    sample->way = ADP_SAMPLE_WALK;
    sample->done.rewritten = false;
    adp_sample_set_hits(&sample->done.hits, v->hits, v->n_hits);
    adp_sample_set_actions(&sample->done.actions, v->actions.data,
                           v->actions.size);
}
