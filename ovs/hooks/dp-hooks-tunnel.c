/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of dpif-netdev.c: outer headers, which a tunnel takes
 * off, at the cost of a comparison.
 *
 * Where tunnels end, packets of the same peer hit the same megaflow, whose only
 * action is tnl_pop.  The exact match cache doesn't find it: outer source
 * ports differ from connection to connection.  So each packet thread keeps
 * such megaflows as templates: bits that the first bytes of a packet must have.
 * Packets that fit are packets that the megaflow matches, and megaflows don't
 * overlap.  They are credited to it, and its action is executed, as if it had
 * been found in the classifier; with those of other peers, as the action is the
 * same.
 *
 * The megaflow is looked up again for each batch, by its UFID, so that it needs
 * no reference: the template is good while match and action are the same.
 *
 * Only ports are looked at from which packets lately went into tunnels whose
 * packets dp_hooks->decapsulated() took, and only those tunnels' megaflows
 * become templates: the rest of the datapath is as it was.
 *
 * No packet goes ahead of one from the same peer into the same tunnel: once one
 * goes the stock way, those behind it in the batch do, too.
 *
 * Outer IPv6, options and fragments of IPv4, and VLANs go the stock way. */

#include "coverage.h"
#include "hash.h"
#include "openvswitch/types.h"
#include "ovs-thread.h"
#include "packets.h"

COVERAGE_DEFINE(datapath_tunnel_template_hit);

/* From the Ethernet header to UDP's destination port, in whole words. */
#define OUTER_WORDS 5
#define OUTER_LEN (ETH_HEADER_LEN + IP_HEADER_LEN + UDP_HEADER_LEN)
BUILD_ASSERT_DECL(OUTER_WORDS * 8 <= OUTER_LEN);
BUILD_ASSERT_DECL(OUTER_WORDS * 8 >= OUTER_LEN - 4);

#define OUTER_SEARCH_INTERVAL 10000     /* Microseconds. */
#define OUTER_NOTE_AGE 1000000          /* Microseconds. */

struct outer {
    bool valid;
    odp_port_t port;                    /* That packets come from. */
    long long int next_search;          /* Microseconds. */
    uint64_t want[OUTER_WORDS], bits[OUTER_WORDS];

    ovs_u128 ufid;
    struct netdev_flow_key flow, mask;  /* The megaflow's match. */

    /* For one batch. */
    uint64_t batch;
    struct dp_netdev_flow *current;     /* NULL: has changed. */
    uint64_t left_batch;                /* A packet went the stock way. */
};

/* That a port was met, not longer than OUTER_NOTE_AGE ago. */
struct outer_note {
    odp_port_t port;
    long long int until;                /* Microseconds. */
};
enum { OUTER_NOTES = 32 };              /* A power of 2. */

struct outers {
    uint64_t batch;                     /* Counts them. */
    /* By port.  A later port takes another's place: that one does without
     * templates until it is met again. */
    struct outer_note from[OUTER_NOTES];    /* Received on... */
    struct outer_note into[OUTER_NOTES];    /* ...for this tunnel. */
    struct outer slots[64];             /* By port, source and kind. */
};
DEFINE_STATIC_PER_THREAD_DATA(struct outers, outers, { 0 });

static inline struct outer_note *
outer_note(struct outer_note notes[OUTER_NOTES], odp_port_t port)
{
    return &notes[odp_to_u32(port) % OUTER_NOTES];
}

static inline bool
outer_is_noted(struct outer_note notes[OUTER_NOTES], odp_port_t port,
               long long int now)
{
    const struct outer_note *note = outer_note(notes, port);

    return note->port == port && now < note->until;
}

static void
outer_take_note(struct outer_note notes[OUTER_NOTES], odp_port_t port,
                long long int now)
{
    *outer_note(notes, port)
        = (struct outer_note) { port, now + OUTER_NOTE_AGE };
}

/* Packets of the batch that 'pmd' received came out of the tunnel 'port', and
 * dp_hooks->decapsulated() took them. */
static void
outer_note_ours(struct dp_netdev_pmd_thread *pmd, odp_port_t port)
{
    const struct dp_netdev_rxq *rxq = pmd->ctx.last_rxq;

    if (rxq) {
        struct outers *outers = outers_get();

        outer_take_note(outers->from, rxq->port->port_no, pmd->ctx.now);
        outer_take_note(outers->into, port, pmd->ctx.now);
    }
}

static inline struct outer *
outer_slot(struct outers *outers, odp_port_t port, const uint8_t *data)
{
    uint32_t mac, ip;
    uint16_t udp_dst;

    memcpy(&mac, data + ETH_ADDR_LEN + 2, sizeof mac);
    memcpy(&ip, data + ETH_HEADER_LEN + offsetof(struct ip_header, ip_src),
           sizeof ip);
    memcpy(&udp_dst, data + ETH_HEADER_LEN + IP_HEADER_LEN
                     + offsetof(struct udp_header, udp_dst), sizeof udp_dst);
    return &outers->slots[hash_3words(mac, ip, (uint32_t) udp_dst << 16
                                               ^ odp_to_u32(port))
                          % ARRAY_SIZE(outers->slots)];
}

static bool
outer_key_equal(const struct netdev_flow_key *a,
                const struct netdev_flow_key *b)
{
    return a->len == b->len && !memcmp(&a->mf, &b->mf, a->len);
}

static odp_port_t
outer_pop_port(const struct dp_netdev_flow *flow)
{
    return nl_attr_get_odp_port(dp_netdev_flow_get_actions(flow)->actions);
}

/* True if 'flow' does nothing but take off a tunnel's headers. */
static bool
outer_only_pops(const struct dp_netdev_flow *flow)
{
    const struct dp_netdev_actions *actions = dp_netdev_flow_get_actions(flow);
    const struct nlattr *a = actions->actions;

    return (actions->size >= NLA_HDRLEN
            && nl_attr_type(a) == OVS_ACTION_ATTR_TUNNEL_POP
            && NLA_ALIGN(a->nla_len) == actions->size);
}

/* Wants 'n' bytes of a header, at offset 'ofs', to be as 'value' where 'mask'
 * has ones. */
static void
outer_want(struct outer *o, size_t ofs, const void *value_, const void *mask_,
           size_t n)
{
    const uint8_t *value = value_, *mask = mask_;
    uint8_t *want = (uint8_t *) o->want, *bits = (uint8_t *) o->bits;

    for (size_t i = 0; i < n; i++) {
        want[ofs + i] = value[i] & mask[i];
        bits[ofs + i] = mask[i];
    }
}

/* Moves a field of 'value', in the caller, to offset 'OFS' of the template. */
#define OUTER_FIELD(O, OFS, FIELD)                                      \
    (outer_want(O, OFS, &value.FIELD, &mask.FIELD, sizeof value.FIELD), \
     memset(&value.FIELD, 0, sizeof value.FIELD))

/* Makes a template of 'flow'.  Returns false if that can't be. */
static bool
outer_compose(struct outer *o, const struct dp_netdev_flow *flow)
{
    const ovs_be16 fragment_bits = htons(IP_MORE_FRAGMENTS
                                         | IP_FRAG_OFF_MASK);
    const ovs_be16 no_fragment = 0;
    const uint8_t ip_ihl_ver = IP_IHL_VER(5, 4);
    const uint8_t ones = UINT8_MAX;
    const size_t eth = 0, ip = ETH_HEADER_LEN, udp = ip + IP_HEADER_LEN;
    struct flow value, mask;

    miniflow_expand(&flow->cr.flow.mf, &value);
    miniflow_expand(&flow->cr.mask->mf, &mask);
    if (flow->flow.in_port.odp_port != o->port
        || value.dl_type != htons(ETH_TYPE_IP)
        || mask.dl_type != OVS_BE16_MAX
        || value.nw_proto != IPPROTO_UDP || mask.nw_proto != UINT8_MAX) {
        return false;
    }

    memset(o->want, 0, sizeof o->want);
    memset(o->bits, 0, sizeof o->bits);
    outer_want(o, ip + offsetof(struct ip_header, ip_ihl_ver),
               &ip_ihl_ver, &ones, 1);
    outer_want(o, ip + offsetof(struct ip_header, ip_frag_off),
               &no_fragment, &fragment_bits, sizeof fragment_bits);

    OUTER_FIELD(o, eth + offsetof(struct eth_header, eth_dst), dl_dst);
    OUTER_FIELD(o, eth + offsetof(struct eth_header, eth_src), dl_src);
    OUTER_FIELD(o, eth + offsetof(struct eth_header, eth_type), dl_type);
    OUTER_FIELD(o, ip + offsetof(struct ip_header, ip_tos), nw_tos);
    OUTER_FIELD(o, ip + offsetof(struct ip_header, ip_ttl), nw_ttl);
    OUTER_FIELD(o, ip + offsetof(struct ip_header, ip_proto), nw_proto);
    OUTER_FIELD(o, ip + offsetof(struct ip_header, ip_src), nw_src);
    OUTER_FIELD(o, ip + offsetof(struct ip_header, ip_dst), nw_dst);
    OUTER_FIELD(o, udp + offsetof(struct udp_header, udp_src), tp_src);
    OUTER_FIELD(o, udp + offsetof(struct udp_header, udp_dst), tp_dst);

    /* A classifier holds the megaflows of one port.  All else is zero in a
     * packet that was just received and looks like this. */
    value.in_port.odp_port = 0;
    return is_all_zeros(&value, sizeof value);
}

/* Looks for a template for packets like 'packet' from 'port', to replace
 * '*o'. */
static void
outer_search(struct outer *o, struct dp_netdev_pmd_thread *pmd,
             odp_port_t port, struct dp_packet *packet)
{
    struct netdev_flow_key key;
    struct dp_netdev_flow *flow;

    o->next_search = pmd->ctx.now + OUTER_SEARCH_INTERVAL;
    pkt_metadata_init(&packet->md, port);
    miniflow_extract(packet, &key.mf);
    flow = dp_netdev_pmd_lookup_flow(pmd, &key, NULL);
    if (flow && outer_only_pops(flow)) {
        o->port = port;
        o->ufid = flow->ufid;
        netdev_flow_key_clone(&o->flow, &flow->cr.flow);
        netdev_flow_key_clone(&o->mask, flow->cr.mask);
        o->valid = outer_compose(o, flow);
    }
}

/* The template's megaflow, or NULL if that is not what it was, or its tunnel
 * not one of ours any more. */
static struct dp_netdev_flow *
outer_flow(struct outers *outers, const struct outer *o,
           const struct dp_netdev_pmd_thread *pmd)
{
    struct dp_netdev_flow *flow = dp_netdev_pmd_find_flow(pmd, &o->ufid,
                                                          NULL, 0);

    return (flow
            && outer_key_equal(&o->flow, &flow->cr.flow)
            && outer_key_equal(&o->mask, flow->cr.mask)
            && outer_only_pops(flow)
            && outer_is_noted(outers->into, outer_pop_port(flow),
                              pmd->ctx.now)
            ? flow : NULL);
}

static inline bool
outer_fits(const struct outer *o, odp_port_t port, const uint8_t *data,
           size_t size)
{
    const struct ip_header *ip;
    uint64_t differs = 0;

    if (!o->valid || o->port != port) {
        return false;
    }
    for (size_t i = 0; i < OUTER_WORDS; i++) {
        uint64_t word;

        memcpy(&word, data + i * sizeof word, sizeof word);
        differs |= (word & o->bits[i]) ^ o->want[i];
    }
    ip = ALIGNED_CAST(const struct ip_header *, data + ETH_HEADER_LEN);
    return (!differs
            && ntohs(ip->ip_tot_len) >= OUTER_LEN - ETH_HEADER_LEN
            && ntohs(ip->ip_tot_len) <= size - ETH_HEADER_LEN);
}

/* Readies 'packet' for actions, as miniflow_extract() would. */
static inline void
outer_prepare(struct dp_packet *packet, odp_port_t port)
{
    const struct ip_header *ip;

    pkt_metadata_init(&packet->md, port);
    dp_packet_reset_offsets(packet);
    packet->l3_ofs = ETH_HEADER_LEN;
    packet->l4_ofs = ETH_HEADER_LEN + IP_HEADER_LEN;
    ip = dp_packet_l3(packet);
    dp_packet_set_l2_pad_size(packet, dp_packet_size(packet) - ETH_HEADER_LEN
                                      - ntohs(ip->ip_tot_len));
}

/* The megaflow that 'packet' from 'port' hits, if there is a template of
 * it, and no packet of 'o' was left to the stock way in this batch. */
static inline struct dp_netdev_flow *
outer_find(struct dp_netdev_pmd_thread *pmd, struct outers *outers,
           struct outer *o, odp_port_t port, struct dp_packet *packet)
{
    if (OVS_UNLIKELY(o->left_batch == outers->batch)) {
        return NULL;
    }
    if (OVS_UNLIKELY(!outer_fits(o, port, dp_packet_data(packet),
                                 dp_packet_size(packet)))) {
        if (pmd->ctx.now >= o->next_search) {
            outer_search(o, pmd, port, packet);
        }
        return NULL;
    }
    if (o->batch != outers->batch) {
        o->batch = outers->batch;
        o->current = outer_flow(outers, o, pmd);
        o->valid = o->current != NULL;
    }
    return o->current;
}

/* Moves packets from 'batch' to 'taken' for whose headers there is a template,
 * all of one action, and credits their megaflows.  Returns the first one's. */
static const struct dp_netdev_flow *
outer_sort(struct dp_netdev_pmd_thread *pmd, struct outers *outers,
           struct dp_packet_batch *batch, odp_port_t port,
           struct dp_packet_batch *taken)
{
    const size_t n = dp_packet_batch_size(batch);
    const struct dp_netdev_flow *first = NULL;
    struct dp_packet *packet;
    size_t i;

    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n, packet, batch) {
        struct dp_netdev_flow *flow;
        struct outer *o;

        if (OVS_UNLIKELY(dp_packet_size(packet) < OUTER_LEN)) {
            dp_packet_batch_refill(batch, packet, i);
            continue;
        }
        o = outer_slot(outers, port, dp_packet_data(packet));
        flow = outer_find(pmd, outers, o, port, packet);
        first = first ? first : flow;
        if (flow && (flow == first
                     || outer_pop_port(flow) == outer_pop_port(first))) {
            outer_prepare(packet, port);
            dp_netdev_flow_used(flow, 1, dp_packet_size(packet), 0,
                                pmd->ctx.now / 1000);
            dp_packet_batch_add(taken, packet);
        } else {
            o->left_batch = outers->batch;
            dp_packet_batch_refill(batch, packet, i);
        }
    }
    return first;
}

/* Takes packets out of the batch for whose headers there is a template, and
 * handles them. */
static void
outer_take(struct dp_netdev_pmd_thread *pmd, struct dp_packet_batch *batch,
           odp_port_t port)
{
    struct outers *outers = outers_get();
    const struct dp_netdev_flow *first;
    struct dp_packet_batch taken;
    struct dp_packet *packet;

    if (!outer_is_noted(outers->from, port, pmd->ctx.now)) {
        return;
    }
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        OVS_PREFETCH(dp_packet_data(packet));
    }
    outers->batch++;
    dp_packet_batch_init(&taken);
    first = outer_sort(pmd, outers, batch, port, &taken);

    const size_t n_taken = dp_packet_batch_size(&taken);
    if (n_taken) {
        struct pmd_perf_stats *perf = &pmd->perf_stats;
        const struct dp_netdev_actions *actions
            = dp_netdev_flow_get_actions(first);

        pmd_perf_update_counter(perf, PMD_STAT_RECV, n_taken);
        pmd_perf_update_counter(perf, PMD_STAT_MASKED_HIT, n_taken);
        pmd_perf_update_counter(perf, PMD_STAT_MASKED_LOOKUP, n_taken);
        COVERAGE_ADD(datapath_tunnel_template_hit, n_taken);
        dp_netdev_execute_actions(pmd, &taken, true, &first->flow,
                                  actions->actions, actions->size);
    }
}
