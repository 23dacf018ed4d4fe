/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-log-packet.h"

#include <netinet/ip6.h>
#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-fast.h"
#include "adp-flow-cache.h"
#include "adp-log-ring.h"
#include "dp-packet.h"
#include "packets.h"
#include "timeval.h"
#include "unaligned.h"

bool
adp_log_packet_is_first(const struct adp_walk *w)
{
    const struct conntrack_peek *peek = &w->ct.peek;

    for (size_t i = 0; i < peek->n_conns; i++) {
        if (!peek->conns[i].real) {
            return true;
        }
    }
    return !peek->n_conns;
}

bool
adp_log_allows_session(const struct adp_cached_verdict_content *c)
{
    for (size_t i = 0; i < c->n_logs; i++) {
        if (adp_log_item_denies(&c->logs[i])) {
            return false;
        }
    }
    return true;
}

/* What the packet looked like when the item was met. */
static const struct conntrack_peek_tuple *
tuple_at(const struct adp_log_packet *p, const struct adp_log_item *item)
{
    const struct conntrack_peek *peek = &p->w->ct.peek;

    return (item->n_cts && item->n_cts <= peek->n_steps
            ? &peek->steps[item->n_cts - 1] : p->original);
}

/* Sets what is the packet's, whoever decided.  False: it is no IP packet. */
static bool
record_packet(struct adp_log_record *r, const struct adp_log_packet *p)
{
    const void *l3 = dp_packet_l3(p->packet);

    if (p->original->dl_type == htons(ETH_TYPE_IP) && l3) {
        const struct ip_header *ip = l3;

        r->length = ntohs(ip->ip_tot_len);
    } else if (p->original->dl_type == htons(ETH_TYPE_IPV6) && l3) {
        const struct ovs_16aligned_ip6_hdr *ip6 = l3;

        r->is_ipv6 = true;
        r->length = MIN(ntohs(ip6->ip6_plen) + sizeof *ip6, UINT16_MAX);
    } else {
        return false;
    }
    r->nw_proto = p->nw_proto;
    r->out_port = (p->content && p->content->odp_port != ODPP_NONE
                   && !p->content->dropped ? p->content->odp_port : ODPP_NONE);
    return true;
}

static void
record_tuple(struct adp_log_record *r, const struct conntrack_peek_tuple *t)
{
    if (r->is_ipv6) {
        r->src = t->src.ipv6;
        r->dst = t->dst.ipv6;
    } else {
        in6_addr_set_mapped_ipv4(&r->src, t->src.ipv4);
        in6_addr_set_mapped_ipv4(&r->dst, t->dst.ipv4);
    }
    r->tp_src = ntohs(t->tp_src);
    r->tp_dst = ntohs(t->tp_dst);
}

void
adp_log_packet(struct adp_fast *f, struct adp_bridge *b,
               const struct adp_log_packet *p, const struct adp_log_item *logs,
               size_t n_logs)
{
    struct adp_log_record r = { .bridge = b->serial, .in_port = p->in_port };

    if (!record_packet(&r, p)) {
        return;
    }
    for (size_t i = 0; i < n_logs; i++) {
        const struct adp_log_item *item = &logs[i];

        if (!p->is_first && !adp_log_item_denies(item)) {
            continue;
        }
        if (!adp_log_ring_may_put(f->cache->log, item, f->now)) {
            adp_count(&b->counters.log_limited, 1);
            continue;
        }
        r.time_us = time_wall_usec();
        r.item = *item;
        record_tuple(&r, tuple_at(p, item));
        adp_count(adp_log_ring_put(f->cache->log, &r) ? &b->counters.logged
                  : &b->counters.log_lost, 1);
    }
}
