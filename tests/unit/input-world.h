/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_INPUT_WORLD_H
#define TESTS_INPUT_WORLD_H 1

/* The world of test-input and its siblings: a bridge, a packet thread, a batch
 * for it, and the ways that a packet may go, as functions that say what the test
 * wants them to, and note that they were called. */

#include <check.h>
#include <netinet/in.h>

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-catch.h"
#include "adp-credit.h"
#include "adp-fast.h"
#include "adp-flow-cache.h"
#include "adp-held.h"
#include "adp-igmp-queue.h"
#include "adp-truncate.h"
#include "adp-input.h"
#include "adp-install.h"
#include "adp-offload.h"
#include "adp-packet-in.h"
#include "adp-refuse.h"
#include "adp-rewrite.h"
#include "adp-sample.h"
#include "adp-summary.h"
#include "adp-tunnel.h"
#include "adp-walk-cache.h"
#include "call-notes.h"
#include "dpif-netdev-private.h"
#include "ofproto/tunnel.h"
#include "packets.h"
#include "talk.h"
#include "util.h"

enum { PORT = 3, N = 4, NATTED = 77 };

/* What the linker calls instead of upstream's library. */
__typeof__(conntrack_peek_apply) __wrap_conntrack_peek_apply;
__typeof__(dp_pmd_count_compiled) __wrap_dp_pmd_count_compiled;
__typeof__(dp_pmd_count_lost) __wrap_dp_pmd_count_lost;
__typeof__(dp_pmd_execute_and_keep) __wrap_dp_pmd_execute_and_keep;
__typeof__(dp_pmd_meter) __wrap_dp_pmd_meter;

static struct adp_bridge *b;
static struct adp_program program;
static struct dp_netdev_pmd_thread *pmd;
static struct adp_flow_cache cache;
static struct adp_walk walk;
static struct adp_cached_verdict verdict;
static struct tuple tuple;

/* What the ways say. */
static struct {
    bool has_session, is_train, is_parsed, has_cached_walk, has_room;
    size_t n_taken;             /* Of a train, at the most; 0: all. */
    int dropped_by_meter;       /* In this piece of actions, from 1. */
    int natted;                 /* The same: to NATTED. */
    bool sums_up, may_be_kept, exceeds_cache, is_applied, is_wanted;
    bool is_from_tunnel;        /* Packets are. */
    bool has_no_bridges;        /* There aren't any. */
    bool truncates;             /* Fragments are of DNS answers. */
    enum adp_punt punt;
    enum adp_fast_known known;
    bool refuses_next;          /* All but the first, which is punted. */
    bool drops_next;            /* The same. */
    bool holds_next, reads_next;
    size_t n_logs;              /* Of these. */
    uint32_t new_reads;         /* What the program reads from the walk on,
                                 * besides. */
    uint16_t frag;
    const struct adp_tunnel_actions *tnl_actions;
    int caught;                 /* The packet that somebody waits for, from
                                 * 1; 0: none is. */
    size_t sampled;             /* The one that is sampled, the same. */
    bool no_room_for_sample, sample_is_busy;
} says;

/* Counters of the datapath. */
static uint64_t n_compiled, n_lost;

void
__wrap_dp_pmd_count_compiled(struct dp_netdev_pmd_thread *t OVS_UNUSED,
                             bool received, uint64_t n)
{
    ck_assert(received);
    n_compiled += n;
}

void
__wrap_dp_pmd_count_lost(struct dp_netdev_pmd_thread *t OVS_UNUSED,
                         bool received, uint64_t n)
{
    ck_assert(received);
    n_lost += n;
}

/* Pieces of actions that were executed, and where the last one began and ended. */
static size_t n_pieces, piece_start, piece_len;

void
__wrap_dp_pmd_execute_and_keep(struct dp_netdev_pmd_thread *t,
                               struct dp_packet_batch *packets,
                               const struct flow *flow OVS_UNUSED,
                               const struct nlattr *actions,
                               size_t actions_len)
{
    ck_assert_ptr_eq(t, pmd);
    ck_assert_uint_eq(dp_packet_batch_size(packets), 1);
    note('k');
    piece_start = (const char *) actions
                  - (const char *) walk.verdict.actions.data;
    piece_len = actions_len;
    if (++n_pieces == says.dropped_by_meter) {
        dp_packet_delete_batch(packets, true);
        dp_packet_batch_init(packets);
    } else if (n_pieces == says.natted) {
        struct dp_packet *p = packets->packets[0];
        struct in6_addr src = in6addr_any;

        src.s6_addr[15] = NATTED;
        if (tuple.ipv6) {
            struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(p);

            memcpy(&ip6->ip6_src, &src, sizeof src);
        } else {
            struct ip_header *ip = dp_packet_l3(p);

            put_16aligned_be32(&ip->ip_src, htonl(NATTED));
        }
    }
}

bool
__wrap_dp_pmd_meter(struct dp_netdev_pmd_thread *t, struct dp_packet *p,
                    uint32_t meter_id)
{
    ck_assert_ptr_eq(t, pmd);
    ck_assert_uint_eq(meter_id, verdict.content.meter_id);
    note('m');
    if (says.dropped_by_meter) {
        dp_packet_delete(p);
    }
    return !says.dropped_by_meter;
}

static const struct adp_packet_in *sent_in;

void
adp_packet_in_send(struct adp_bridge *bridge, struct dp_netdev_pmd_thread *t,
                   const struct adp_packet_in *pin,
                   const struct dp_packet *p OVS_UNUSED, bool last)
{
    ck_assert_ptr_eq(bridge, b);
    ck_assert_ptr_eq(t, pmd);
    sent_in = pin;
    note(last ? 'C' : 'c');
}

bool
__wrap_conntrack_peek_apply(struct conntrack_peek *peek)
{
    ck_assert_ptr_eq(peek, &walk.ct.peek);
    note('a');
    return says.is_applied;
}

/* The rooms around. */

struct adp_bridge *
adp_ports_input(odp_port_t odp_port, ofp_port_t *ofp_port)
{
    *ofp_port = u16_to_ofp(PORT);
    return odp_to_u32(odp_port) == PORT ? b : NULL;
}

bool
adp_ports_any_bridge(void)
{
    return !says.has_no_bridges;
}

/* The map of ports, and the one that a kind was noted with. */
static uint64_t map_serial = 1, kind_serial;

uint64_t
adp_ports_map_serial(void)
{
    return map_serial;
}

struct adp_bridge *
adp_ports_input_tunnel(const struct flow *flow OVS_UNUSED,
                       ofp_port_t *ofp_port)
{
    *ofp_port = u16_to_ofp(PORT);
    map_serial++;               /* Published meanwhile. */
    return says.is_from_tunnel ? b : NULL;
}

struct adp_flow_cache *
adp_flow_cache_begin_batch(void)
{
    note('(');
    return &cache;
}

void
adp_flow_cache_end_batch(struct adp_flow_cache *c OVS_UNUSED)
{
    note(')');
}

struct adp_walk *
adp_flow_cache_begin_walk(struct adp_flow_cache *c OVS_UNUSED)
{
    return says.has_room ? &walk : NULL;
}

void
adp_flow_cache_end_walk(struct adp_flow_cache *c OVS_UNUSED)
{
}

uint32_t
adp_flow_cache_ingress(const struct adp_bridge *bridge OVS_UNUSED,
                       ofp_port_t ofp_port OVS_UNUSED)
{
    return 1;
}

uint32_t
adp_flow_cache_ingress_of_kind(const struct adp_ingress *kind OVS_UNUSED)
{
    return 1;
}

void
adp_flow_cache_fetch_kinds(const struct adp_flow_cache *c OVS_UNUSED,
                           const struct dp_packet_batch *batch OVS_UNUSED,
                           uint32_t hashes[])
{
    memset(hashes, 0, NETDEV_MAX_BURST * sizeof *hashes);
}

const struct adp_ingress *
adp_flow_cache_find_kind(struct adp_flow_cache *c OVS_UNUSED,
                         const struct flow_tnl *tnl OVS_UNUSED,
                         uint32_t hash OVS_UNUSED,
                         long long int now OVS_UNUSED)
{
    return NULL;
}

void
adp_flow_cache_add_kind(struct adp_flow_cache *c OVS_UNUSED,
                        const struct flow_tnl *tnl OVS_UNUSED,
                        struct adp_bridge *bridge OVS_UNUSED,
                        ofp_port_t ofp_port OVS_UNUSED, uint64_t serial,
                        long long int now OVS_UNUSED)
{
    kind_serial = serial;
}

void
adp_flow_cache_remember(struct adp_flow_cache *c OVS_UNUSED,
                        const struct adp_session_packet *p OVS_UNUSED,
                        const struct adp_walk *w,
                        const struct conntrack_peek_tuple *t OVS_UNUSED,
                        const struct adp_cached_verdict_source *s OVS_UNUSED,
                        const struct adp_cached_verdict_content *content
                        OVS_UNUSED, long long int now OVS_UNUSED)
{
    ck_assert_ptr_eq(w, &walk);
    note('S');
}

void
adp_flow_cache_count_uncacheable(struct adp_flow_cache *c OVS_UNUSED)
{
    note('u');
}

void
adp_flow_cache_count_replay(struct adp_flow_cache *c OVS_UNUSED)
{
    note('r');
}

/* The fast path. */

void
adp_fast_init(struct adp_fast *f, struct dp_netdev_pmd_thread *t,
              struct adp_flow_cache *c, odp_port_t in_port)
{
    memset(f, 0, sizeof *f);
    f->pmd = t;
    f->cache = c;
    f->in_port = in_port;
}

/* Packets were parsed with flow labels. */
static bool parsed_labels;

void
adp_fast_parse(struct adp_fast *f, size_t i, struct dp_packet *p,
               uint32_t ingress, bool labels)
{
    struct adp_fast_packet *fp = &f->packets[i];

    fp->is_parsed = (says.is_parsed
                     && adp_session_parse(p, false, ingress, labels,
                                          adp_sessions_seeds(cache.sessions),
                                          &fp->parsed));
    parsed_labels = labels;
    f->n_alike += says.is_train && i;
}

void
adp_fast_fetch(struct adp_fast *f, size_t n, bool alone)
{
    f->n_alike = alone ? 0 : f->n_alike;
    if (f->n_alike) {
        note('=');
        for (size_t i = 0; i < n; i++) {
            f->packets[i].follows = i > 0;
        }
        f->n_heads = 1;
    }
}

enum adp_fast_known
adp_fast_known(const struct adp_fast *f OVS_UNUSED,
               const struct adp_fast_packet *fp OVS_UNUSED,
               struct adp_bridge *bridge OVS_UNUSED)
{
    return says.known;
}

enum adp_fast_known
adp_fast_known_ordinary(const struct adp_fast *f OVS_UNUSED,
                        const struct adp_fast_packet *fp OVS_UNUSED,
                        struct dp_packet *p, struct adp_bridge *bridge)
{
    ck_assert_ptr_nonnull(dp_packet_l4(p));
    ck_assert_ptr_eq(bridge, b);
    return says.known;
}

bool
adp_fast_take(struct adp_fast *f, size_t i, struct dp_packet *p,
              struct adp_bridge *bridge)
{
    bool taken = says.has_session && f->packets[i].is_parsed;

    ck_assert_ptr_eq(bridge, b);
    note('f');
    if (taken) {
        /* What is sent may tell the kernel, or a queue. */
        ck_assert_uint_eq(p->md.pkt_mark, 0);
        ck_assert_uint_eq(p->md.skb_priority, 0);
        dp_packet_delete(p);
    }
    return taken;
}

size_t
adp_fast_take_train(struct adp_fast *f OVS_UNUSED, size_t i OVS_UNUSED,
                    struct dp_packet *const packets[], size_t n,
                    struct adp_bridge *bridge)
{
    size_t n_taken = (!says.has_session ? 0
                      : says.n_taken ? MIN(says.n_taken, n) : n);

    ck_assert_ptr_eq(bridge, b);
    ck_assert_uint_gt(n, 1);
    note('F');
    for (size_t j = 0; j < n_taken; j++) {
        dp_packet_delete(packets[j]);
    }
    return n_taken;
}

void
adp_fast_init_metadata(const struct adp_fast *f OVS_UNUSED,
                       struct dp_packet *p OVS_UNUSED, bool ipv6 OVS_UNUSED)
{
}

void
adp_rewrite_to(struct dp_packet *p OVS_UNUSED,
               const struct adp_cached_verdict_content *c OVS_UNUSED,
               const struct conntrack_peek_tuple *t OVS_UNUSED,
               uint8_t nw_proto)
{
    ck_assert_uint_eq(nw_proto, tuple.nw_proto);
    note('t');
}

void
adp_fast_leave(struct adp_fast *f OVS_UNUSED, struct dp_packet *p,
               const struct adp_cached_verdict_content *c OVS_UNUSED,
               const struct nlattr *actions OVS_UNUSED,
               const struct adp_tunnel_actions *tnl_actions)
{
    ck_assert_ptr_eq(tnl_actions, says.tnl_actions);
    note('o');
    dp_packet_delete(p);
}

void
adp_refuse(struct adp_fast *f OVS_UNUSED, struct adp_bridge *bridge,
           const struct dp_packet *p OVS_UNUSED, enum adp_answer answer,
           ofp_port_t tunnel_port OVS_UNUSED)
{
    ck_assert_ptr_eq(bridge, b);
    ck_assert_int_eq(answer, ADP_ANSWER_PROHIBITED);
    note('j');
}

struct dp_packet *
adp_truncated_answer(const struct dp_packet *p,
                     const struct flow *flow OVS_UNUSED)
{
    return says.truncates ? dp_packet_clone(p) : NULL;
}

bool
adp_held_wants(const struct dp_packet *p OVS_UNUSED,
               const struct flow *flow OVS_UNUSED)
{
    return says.is_wanted;
}

/* A port goes with each walk. */
static uint64_t ports_lost;

uint64_t
adp_ports_n_lost(void)
{
    return ports_lost;
}

void
adp_held_add(struct adp_bridge *bridge, struct dp_packet *p,
             const struct flow *flow OVS_UNUSED, const struct ofpbuf *actions,
             uint64_t lost_before)
{
    ck_assert_ptr_eq(bridge, b);
    ck_assert_uint_eq(lost_before, ports_lost - 1);
    ck_assert_ptr_eq(actions, &walk.verdict.actions);
    note('H');
    dp_packet_delete(p);
}

void
adp_igmp_queue_add(struct adp_bridge *bridge,
                   const struct dp_packet *p OVS_UNUSED,
                   const struct flow *flow OVS_UNUSED, uint64_t lost_before)
{
    ck_assert_ptr_eq(bridge, b);
    ck_assert_uint_eq(lost_before, ports_lost - 1);
    note('i');
}

void
adp_fast_execute(struct adp_fast *f OVS_UNUSED, struct dp_packet *p,
                 const struct flow *flow OVS_UNUSED,
                 const struct nlattr *actions OVS_UNUSED,
                 size_t actions_len OVS_UNUSED)
{
    note('x');
    dp_packet_delete(p);
}

void
adp_fast_flush(struct adp_fast *f OVS_UNUSED)
{
    note('.');
}

/* Replays. */

size_t
adp_walk_cache_count(const struct adp_walk_cache *c OVS_UNUSED)
{
    return 0;
}

void
adp_walk_cache_fetch(const struct adp_walk_cache *c OVS_UNUSED,
                     const struct conntrack *ct OVS_UNUSED,
                     int stage OVS_UNUSED, uint32_t reads OVS_UNUSED,
                     const struct adp_session_packet *p OVS_UNUSED,
                     struct adp_walk_fetch *fetch OVS_UNUSED)
{
}

struct adp_cached_verdict *
adp_walk_cache_replay(struct adp_walk_cache *c OVS_UNUSED,
                      const struct adp_session_packet *p OVS_UNUSED,
                      struct adp_walk *w OVS_UNUSED,
                      struct conntrack_peek_tuple *t OVS_UNUSED, bool *nat)
{
    note('R');
    *nat = false;
    return says.has_cached_walk ? &verdict : NULL;
}

void
adp_walk_cache_add(struct adp_walk_cache *c OVS_UNUSED,
                   const struct adp_session_packet *p OVS_UNUSED,
                   const struct adp_summary *sum OVS_UNUSED)
{
    note('W');
}

/* Who waits for packets. */

atomic_count adp_catch_n_armed;
static struct adp_walk catch_walk;
static struct flow catch_flow;
static int a_catch;

struct adp_catch *
adp_catch_begin(struct adp_bridge *bridge, const struct flow *flow)
{
    ck_assert_ptr_eq(bridge, b);
    ck_assert_uint_eq(flow->in_port.ofp_port, u16_to_ofp(PORT));
    ck_assert_uint_eq(flow->nw_proto, tuple.nw_proto);
    note('?');
    if (!says.caught || --says.caught) {
        return NULL;
    }
    catch_flow = *flow;
    return (struct adp_catch *) (void *) &a_catch;
}

struct adp_walk *
adp_catch_walk(struct adp_catch *c, struct flow **flow)
{
    ck_assert_ptr_eq(c, &a_catch);
    *flow = &catch_flow;
    return &catch_walk;
}

void
adp_catch_refused(struct adp_catch *c)
{
    ck_assert_ptr_eq(c, &a_catch);
    note('0');
}

void
adp_catch_end(struct adp_catch *c)
{
    ck_assert_ptr_eq(c, &a_catch);
    note('!');
}

/* Samples. */

atomic_uint32_t adp_sample_rate;
static struct adp_walk sample_walk;
static struct adp_sample sample;
static int a_sampler;

struct adp_sampler *
adp_sampler_create(void)
{
    return (struct adp_sampler *) (void *) &a_sampler;
}

size_t
adp_sampler_next(struct adp_sampler *s, size_t from, size_t n)
{
    ck_assert_ptr_eq(s, &a_sampler);
    return (says.sampled > from && says.sampled <= n ? says.sampled - 1
            : n);
}

struct adp_sample *
adp_sampler_open(struct adp_sampler *s, bool *busy)
{
    ck_assert_ptr_eq(s, &a_sampler);
    *busy = says.sample_is_busy;
    note('[');
    return says.no_room_for_sample || *busy ? NULL : &sample;
}

void
adp_sampler_close(struct adp_sampler *s)
{
    ck_assert_ptr_eq(s, &a_sampler);
    note(']');
}

struct adp_walk *
adp_sampler_walk(struct adp_sampler *s OVS_UNUSED)
{
    return &sample_walk;
}

void
adp_sample_prepare(struct adp_sample *s, const struct dp_packet *p,
                   const struct flow *flow, struct adp_walk *w)
{
    ck_assert_ptr_eq(s, &sample);
    ck_assert_ptr_eq(w, &sample_walk);
    ck_assert_ptr_nonnull(dp_packet_l4(p));
    s->flow = *flow;
}

void
adp_sample_note_verdict(struct adp_sample *s, const struct adp_walk *w,
                        enum adp_punt punt)
{
    ck_assert_ptr_eq(s, &sample);
    ck_assert_ptr_eq(w, &sample_walk);
    s->punt = punt;
}

void
adp_sample_note_content(struct adp_sample *s, enum adp_sample_way way,
                        const struct adp_cached_verdict_content *content
                        OVS_UNUSED, const struct nlattr *actions OVS_UNUSED,
                        const struct adp_tunnel_actions *tnl_actions,
                        const struct adp_hit *hits OVS_UNUSED,
                        const struct adp_walk *w,
                        const struct conntrack_peek_tuple *t OVS_UNUSED,
                        uint8_t nw_proto)
{
    ck_assert_ptr_eq(s, &sample);
    ck_assert_ptr_eq(w, &walk);
    ck_assert_ptr_eq(tnl_actions, says.tnl_actions);
    ck_assert_uint_eq(nw_proto, tuple.nw_proto);
    note(way == ADP_SAMPLE_REPLAY ? 'N' : 'n');
}

void
adp_sample_note_walk(struct adp_sample *s, const struct adp_walk *w)
{
    ck_assert_ptr_eq(s, &sample);
    ck_assert_ptr_eq(w, &walk);
    note('d');
}

bool
adp_fast_take_sampled(struct adp_fast *f, size_t i, struct dp_packet *p,
                      struct adp_bridge *bridge)
{
    ck_assert_ptr_eq(f->sample, &sample);
    note('s');
    bool taken = says.has_session && f->packets[i].is_parsed;

    ck_assert_ptr_eq(bridge, b);
    if (taken) {
        dp_packet_delete(p);
    }
    return taken;
}

/* Walks. */

void
adp_walk_prepare(struct adp_walk *w OVS_UNUSED,
                 struct adp_bridge *bridge OVS_UNUSED,
                 struct conntrack *ct OVS_UNUSED,
                 struct dp_packet *p OVS_UNUSED, bool from_tunnel,
                 long long int now OVS_UNUSED)
{
    ck_assert(from_tunnel == says.is_from_tunnel);
}

void
adp_walk(struct adp_walk *w, struct adp_bridge *bridge,
         struct conntrack *ct OVS_UNUSED, struct dp_packet *p,
         struct flow *flow, long long int now OVS_UNUSED)
{
    ports_lost++;
    w->bridge = bridge;
    ck_assert_uint_eq(flow->in_port.ofp_port, u16_to_ofp(PORT));
    ck_assert_ptr_nonnull(dp_packet_l4(p));
    if (w == &catch_walk || w == &sample_walk) {
        note(w == &catch_walk ? 'v' : 'u');
        w->verdict.punt = says.punt;
        return;
    }
    note('w');
    program.reads |= says.new_reads;
    w->verdict.punt = says.punt;
    if (says.refuses_next || says.drops_next || says.holds_next
        || says.reads_next) {
        if (!says.punt && says.holds_next) {
            w->verdict.held = true;
        } else if (!says.punt && says.reads_next) {
            w->verdict.read = true;
        } else if (!says.punt && says.refuses_next) {
            w->verdict.answer = ADP_ANSWER_PROHIBITED;
        } else if (!says.punt) {
            w->verdict.dropped = true;
            w->verdict.n_logs = says.n_logs;
        }
        says.punt = ADP_PUNT_NONE;
    }
}

bool
adp_summary_init(struct adp_summary *sum, const struct adp_walk *w,
                 const struct flow *flow)
{
    memset(sum, 0, sizeof *sum);
    sum->w = w;
    sum->flow = flow;
    sum->content.tunnel = verdict.content.tunnel;
    sum->content.metered = verdict.content.metered;
    sum->content.meter_id = verdict.content.meter_id;
    return says.sums_up;
}

bool
adp_summary_may_be_kept(const struct adp_summary *sum OVS_UNUSED)
{
    return says.may_be_kept;
}

bool
adp_summary_exceeds_cache(const struct adp_walk *w OVS_UNUSED)
{
    return says.exceeds_cache;
}

void
adp_summary_source(const struct adp_summary *sum OVS_UNUSED,
                   struct adp_cached_verdict_source *source OVS_UNUSED)
{
}

void
adp_cached_verdict_source_init(struct adp_cached_verdict_source *s OVS_UNUSED,
                               const struct adp_cached_verdict *v OVS_UNUSED,
                               const struct adp_walk *w OVS_UNUSED)
{
}

struct adp_cached_verdict *
adp_cached_verdict_for_decided(
    struct adp_store *store OVS_UNUSED,
    const struct adp_cached_verdict_source *source OVS_UNUSED,
    const struct adp_cached_verdict_content *content OVS_UNUSED,
    long long int now OVS_UNUSED)
{
    return NULL;
}

const struct adp_tunnel_actions *
adp_tunnel_actions(const struct adp_tunnel *t OVS_UNUSED,
                   long long int now OVS_UNUSED)
{
    return says.tnl_actions;
}

void
adp_tunnel_credit(struct adp_tunnel *t OVS_UNUSED, uint64_t n_packets
                  OVS_UNUSED, uint64_t n_bytes OVS_UNUSED)
{
}

void
adp_credit_hit(struct adp_bridge *bridge OVS_UNUSED,
               const struct adp_hit *hit OVS_UNUSED,
               uint64_t n_packets OVS_UNUSED, uint64_t n_bytes OVS_UNUSED,
               long long int used OVS_UNUSED, uint16_t tcp_flags OVS_UNUSED)
{
    note('h');
}

void
adp_credit_tunnel_port(const struct adp_bridge *bridge OVS_UNUSED,
                       ofp_port_t ofp_port OVS_UNUSED,
                       uint64_t n_packets OVS_UNUSED,
                       uint64_t n_bytes OVS_UNUSED)
{
}

void
adp_install_learned(struct adp_bridge *bridge OVS_UNUSED,
                    const struct adp_learned *learned OVS_UNUSED,
                    uint64_t generation OVS_UNUSED)
{
    note('l');
}

bool
tnl_process_ecn(struct flow *flow OVS_UNUSED)
{
    return true;
}

/* A batch. */

static struct dp_packet_batch batch;
static size_t long_data;                /* Of a packet that is to be cut. */

static void
set_mode(enum adp_mode mode)
{
    atomic_store_relaxed(&b->mode, mode);
}

static void
setup(void)
{
    memset(&says, 0, sizeof says);
    says.is_parsed = says.has_room = says.sums_up = true;
    says.may_be_kept = says.is_applied = true;
    b = xzalloc(sizeof *b);
    set_mode(ADP_MODE_COMPILED);
    pmd = xzalloc_cacheline(sizeof *pmd);
    cache.sessions = adp_sessions_create(4096, NULL, NULL);
    walk.program = &program;
    ovsrcu_init(&b->program, &program);
    walk.ct.peek.ordinary = true;
    atomic_count_init(&adp_catch_n_armed, 0);
    memset(&catch_walk, 0, sizeof catch_walk);
    tuple = (struct tuple) { .nw_proto = IPPROTO_UDP, .tp_src = 1,
                             .tp_dst = 2 };
    in6_addr_set_mapped_ipv4(&tuple.src, htonl(1));
    in6_addr_set_mapped_ipv4(&tuple.dst, htonl(2));
}

static void
add_packet(void)
{
    static const struct segment segment = { .flags = TCP_ACK, .wscale = -1 };
    struct dp_packet *p = talk_compose(&tuple, &segment, long_data);

    if (long_data) {
        dp_packet_hwol_set_csum_tcp(p);
        dp_packet_hwol_set_tx_ipv4(p);
        dp_packet_hwol_set_tcp_seg(p);
        adp_offload_set_segment_len(p, 1000);
    }
    if (says.frag) {
        struct ip_header *ip = dp_packet_l3(p);

        ip->ip_frag_off = htons(says.frag);
    }
    dp_packet_batch_add(&batch, p);
}

/* What packets are received with. */
static uint32_t pkt_mark;
static bool has_marks;

/* Receives 'n' packets, of which 'n_left' stay with stock. */
static void
receive(size_t n, odp_port_t port, size_t n_left)
{
    dp_packet_batch_init(&batch);
    for (size_t i = 0; i < n; i++) {
        add_packet();
        batch.packets[i]->md.pkt_mark = pkt_mark;
        batch.packets[i]->md.skb_priority = 5;  /* Of an earlier packet. */
    }
    n_compiled = n_lost = 0;
    adp_input_received(pmd, &batch, port, has_marks);
    ck_assert_uint_eq(dp_packet_batch_size(&batch), n_left);
    dp_packet_delete_batch(&batch, true);
}

static void
expect_punts(enum adp_punt punt, uint64_t n)
{
    ck_assert_uint_eq(adp_counted(&b->counters.punts[punt]), n);
}

#endif /* input-world.h */
