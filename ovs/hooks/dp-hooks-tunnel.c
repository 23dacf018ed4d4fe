/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of dpif-netdev.c: outer headers, which a tunnel takes
 * off, at the cost of a comparison.
 *
 * Where tunnels end, packets of the same peer hit the same megaflow, whose
 * only action is tnl_pop.  The exact match cache doesn't find it: outer source
 * ports differ from connection to connection.  So each packet thread keeps
 * such megaflows as templates: bits that the first bytes of a packet must
 * have.  Packets that fit are packets that the megaflow matches, and megaflows
 * don't overlap.  They are credited to it, and its action is executed, as if
 * it had been found in the classifier; with those of other peers, as the
 * action is the same.
 *
 * A template holds no reference: it is good as long as nobody has removed the
 * megaflow or changed its actions, which its stamp tells.
 *
 * With many peers nothing of all this is in a near cache.  So what a packet
 * needs is one line of its template, for IPv6 a part of another one, and one
 * of the megaflow, and all are fetched for the whole batch.
 *
 * Only ports are looked at from which packets lately went into tunnels whose
 * packets dp_hooks->decapsulated() took, and only those tunnels' megaflows
 * become templates: the rest of the datapath is as it was.
 *
 * No packet goes ahead of one from the same peer into the same tunnel: once
 * one goes the stock way, those behind it in the batch do, too.
 *
 * Options of IPv4, extension headers of IPv6, fragments and VLANs go the stock
 * way. */

#include "coverage.h"
#include "hash.h"
#include "openvswitch/types.h"
#include "ovs-thread.h"
#include "packets.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

COVERAGE_DEFINE(datapath_tunnel_template_hit);
COVERAGE_DEFINE(datapath_tunnel_template_new);
COVERAGE_DEFINE(datapath_tunnel_template_idle);
COVERAGE_DEFINE(datapath_tunnel_template_evicted);
COVERAGE_DEFINE(datapath_tunnel_template_refused);

/* From the Ethernet header to UDP's destination port, in whole words.  Those
 * over IPv6 take in a part of the tunnel's header, which doesn't matter. */
#define OUTER_WORDS 5
#define OUTER6_WORDS 8
#define OUTER_LEN (ETH_HEADER_LEN + IP_HEADER_LEN + UDP_HEADER_LEN)
#define OUTER6_LEN (ETH_HEADER_LEN + IPV6_HEADER_LEN + UDP_HEADER_LEN)
BUILD_ASSERT_DECL(OUTER_WORDS * 8 <= OUTER_LEN);
BUILD_ASSERT_DECL(OUTER_WORDS * 8 >= OUTER_LEN - 4);
BUILD_ASSERT_DECL(OUTER6_WORDS * 8 >= OUTER6_LEN - 4);

#define OUTER_SEARCH_INTERVAL 10u       /* Ticks, of a set. */
#define OUTER_NOTE_AGE 1000000          /* Microseconds. */
#define OUTER_IDLE 60000                /* Ticks without a packet. */
#define OUTER_SWEEP_INTERVAL 4u         /* Ticks, from set to set. */

/* What bounds the templates of a thread: in a full set another one takes the
 * place of the one that was longest without a packet.  One without packets
 * leaves after a minute, as long as there are packets at all. */
enum {
    OUTER_WAYS = 8,
    OUTER_SETS = 512,                   /* A power of 2. */
    OUTER_SHAPES = 32,
};
BUILD_ASSERT_DECL(OUTER_WAYS <= 8);     /* Bits of 'ways'. */

/* What many templates have in common, however many peers there are. */
struct outer_shape {
    uint64_t bits[OUTER6_WORDS];
    bool ipv6;
    const struct dp_netdev_pmd_thread *pmd;
    odp_port_t port;                    /* That packets come from. */
    uint32_t n;                         /* Templates.  0: free. */
};

struct outer {
    uint64_t want[OUTER_WORDS];         /* The first ones. */
    struct dp_netdev_flow *flow;        /* Not to be touched before the stamp
                                         * was compared. */
    odp_port_t pop_port;                /* Of its only action. */
    uint32_t stamp, used;
    uint16_t stamp_index;
    uint8_t shape;
} OVS_ALIGNED_VAR(CACHE_LINE_SIZE);
BUILD_ASSERT_DECL(sizeof(struct outer) == CACHE_LINE_SIZE);

/* The other words of a template over IPv6. */
struct outer_more {
    uint64_t want[OUTER6_WORDS - OUTER_WORDS];
    uint64_t zero;
};
BUILD_ASSERT_DECL(CACHE_LINE_SIZE % sizeof(struct outer_more) == 0);

/* Templates by port, source and kind: that hash names a set and a tag in
 * it. */
struct outer_table {
    struct outer places[OUTER_SETS][OUTER_WAYS];
    struct outer_more more[OUTER_SETS][OUTER_WAYS];
    uint16_t tags[OUTER_SETS][OUTER_WAYS];  /* 0: the place is free. */
    uint32_t last_search[OUTER_SETS];   /* Ticks. */
    struct outer_shape shapes[OUTER_SHAPES];
    uint32_t last_sweep;                /* Ticks. */
    uint32_t hand;                      /* The next set to be swept. */
};

/* That a port was met, not longer than OUTER_NOTE_AGE ago. */
struct outer_note {
    odp_port_t port;
    long long int until;                /* Microseconds. */
};
enum { OUTER_NOTES = 32 };              /* A power of 2. */

struct outers {
    /* By port.  A later port takes another's place: that one does without
     * templates until it is met again. */
    struct outer_note from[OUTER_NOTES];    /* Received on... */
    struct outer_note into[OUTER_NOTES];    /* ...for this tunnel. */
    struct outer_table *table;          /* Once there is a note. */
};
static ovsthread_key_t outers_key;

/* Stamps of megaflows, by UFID.  Each moves on when a megaflow that has it was
 * removed or got other actions, and before its memory is free for another
 * one. */
enum { OUTER_STAMPS = 1024 };           /* A power of 2. */
static atomic_uint32_t outer_stamps[OUTER_STAMPS];

static inline uint16_t
outer_stamp_index(const ovs_u128 *ufid)
{
    return ufid->u32[1] % OUTER_STAMPS;
}

static inline uint32_t
outer_stamp(uint16_t index)
{
    uint32_t stamp;

    atomic_read_explicit(&outer_stamps[index], &stamp, memory_order_acquire);
    return stamp;
}

void
dp_hook_flow_changed(const ovs_u128 *ufid)
{
    uint32_t orig;

    atomic_add_explicit(&outer_stamps[outer_stamp_index(ufid)], 1, &orig,
                        memory_order_release);
}

/* Of a millisecond.  They begin anew after 50 days, and times of the table may
 * be long past, or 0: what is compared is how many ticks ago they were. */
static inline uint32_t
outer_ticks(const struct dp_netdev_pmd_thread *pmd)
{
    return pmd->ctx.now >> 10;
}

static void
outers_destroy(void *outers_)
{
    struct outers *outers = outers_;

    free_cacheline(outers->table);
    free(outers);
}

/* Those of the thread, or NULL if it has had nothing to note. */
static inline struct outers *
outers_get(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    if (ovsthread_once_start(&once)) {
        ovsthread_key_create(&outers_key, outers_destroy);
        ovsthread_once_done(&once);
    }
    return ovsthread_getspecific(outers_key);
}

static struct outers *
outers_make(void)
{
    struct outers *outers = outers_get();

    if (!outers) {
        outers = xzalloc(sizeof *outers);
        outers->table = xzalloc_cacheline(sizeof *outers->table);
        ovsthread_setspecific(outers_key, outers);
    }
    return outers;
}

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
        struct outers *outers = outers_make();

        outer_take_note(outers->from, rxq->port->port_no, pmd->ctx.now);
        outer_take_note(outers->into, port, pmd->ctx.now);
    }
}

static inline bool
outer_is_ipv6(const uint8_t *data)
{
    ovs_be16 eth_type;

    memcpy(&eth_type, data + offsetof(struct eth_header, eth_type),
           sizeof eth_type);
    return eth_type == htons(ETH_TYPE_IPV6);
}

/* True if a packet of so many bytes may have a template. */
static inline bool
outer_is_long_enough(const uint8_t *data, size_t size)
{
    return (size >= OUTER_LEN
            && (!outer_is_ipv6(data) || size >= OUTER6_WORDS * 8));
}

/* Of what templates are found by.  The size of the packet has been checked. */
static inline uint32_t
outer_hash(odp_port_t port, const uint8_t *data)
{
    const bool ipv6 = outer_is_ipv6(data);
    const uint8_t *l3 = data + ETH_HEADER_LEN;
    uint64_t words[2];
    uint32_t mac, ip;
    uint16_t udp_dst;

    memcpy(&mac, data + ETH_ADDR_LEN + 2, sizeof mac);
    if (ipv6) {
        memcpy(words, l3 + offsetof(struct ovs_16aligned_ip6_hdr, ip6_src),
               sizeof words);
        ip = hash_add64(hash_add64(0, words[0]), words[1]);
    } else {
        memcpy(&ip, l3 + offsetof(struct ip_header, ip_src), sizeof ip);
    }
    memcpy(&udp_dst, l3 + (ipv6 ? IPV6_HEADER_LEN : IP_HEADER_LEN)
                     + offsetof(struct udp_header, udp_dst), sizeof udp_dst);
    return hash_3words(mac, ip, (uint32_t) udp_dst << 16 ^ odp_to_u32(port));
}

static inline uint32_t
outer_set(uint32_t hash)
{
    return hash % OUTER_SETS;
}

static inline uint16_t
outer_tag(uint32_t hash)
{
    return hash >> 16 | 1;
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
outer_want(uint64_t want_[OUTER6_WORDS], struct outer_shape *shape, size_t ofs,
           const void *value_, const void *mask_, size_t n)
{
    const uint8_t *value = value_, *mask = mask_;
    uint8_t *want = (uint8_t *) want_, *bits = (uint8_t *) shape->bits;

    for (size_t i = 0; i < n; i++) {
        want[ofs + i] = value[i] & mask[i];
        bits[ofs + i] = mask[i];
    }
}

/* Moves a field of '*value', in the caller, to offset 'OFS' of the
 * template. */
#define OUTER_FIELD(OFS, FIELD)                                         \
    (outer_want(want, shape, OFS, &value->FIELD, &mask->FIELD,          \
                sizeof value->FIELD),                                   \
     memset(&value->FIELD, 0, sizeof value->FIELD))

static void
outer_compose_ipv4(uint64_t want[OUTER6_WORDS], struct outer_shape *shape,
                   struct flow *value, const struct flow *mask)
{
    const ovs_be16 fragment_bits = htons(IP_MORE_FRAGMENTS
                                         | IP_FRAG_OFF_MASK);
    const ovs_be16 no_fragment = 0;
    const uint8_t ip_ihl_ver = IP_IHL_VER(5, 4);
    const uint8_t ones = UINT8_MAX;
    const size_t ip = ETH_HEADER_LEN;

    outer_want(want, shape, ip + offsetof(struct ip_header, ip_ihl_ver),
               &ip_ihl_ver, &ones, 1);
    outer_want(want, shape, ip + offsetof(struct ip_header, ip_frag_off),
               &no_fragment, &fragment_bits, sizeof fragment_bits);
    OUTER_FIELD(ip + offsetof(struct ip_header, ip_tos), nw_tos);
    OUTER_FIELD(ip + offsetof(struct ip_header, ip_ttl), nw_ttl);
    OUTER_FIELD(ip + offsetof(struct ip_header, ip_proto), nw_proto);
    OUTER_FIELD(ip + offsetof(struct ip_header, ip_src), nw_src);
    OUTER_FIELD(ip + offsetof(struct ip_header, ip_dst), nw_dst);
}

static ovs_be32
outer_ip6_word(uint8_t version, const struct flow *flow)
{
    return (htonl((uint32_t) version << 28 | (uint32_t) flow->nw_tos << 20)
            | flow->ipv6_label);
}

/* The next header has to be UDP's, so packets with extension headers,
 * fragments among them, don't fit. */
static void
outer_compose_ipv6(uint64_t want[OUTER6_WORDS], struct outer_shape *shape,
                   struct flow *value, const struct flow *mask)
{
    const ovs_be32 first = outer_ip6_word(6, value);
    const ovs_be32 first_bits = outer_ip6_word(0xf, mask);
    const size_t ip = ETH_HEADER_LEN;

    outer_want(want, shape,
               ip + offsetof(struct ovs_16aligned_ip6_hdr, ip6_flow),
               &first, &first_bits, sizeof first);
    value->nw_tos = 0;
    value->ipv6_label = 0;
    OUTER_FIELD(ip + offsetof(struct ovs_16aligned_ip6_hdr, ip6_hlim), nw_ttl);
    OUTER_FIELD(ip + offsetof(struct ovs_16aligned_ip6_hdr, ip6_nxt),
                nw_proto);
    OUTER_FIELD(ip + offsetof(struct ovs_16aligned_ip6_hdr, ip6_src),
                ipv6_src);
    OUTER_FIELD(ip + offsetof(struct ovs_16aligned_ip6_hdr, ip6_dst),
                ipv6_dst);
}

/* Sums up what 'flow' says about packets that it matches as the words 'want'
 * of their headers, and those of '*shape', which of their bits matter.
 * Returns false if that can't be. */
static bool
outer_compose(uint64_t want[OUTER6_WORDS], struct outer_shape *shape,
              const struct dp_netdev_flow *flow)
{
    struct flow flow_value, flow_mask;
    struct flow *value = &flow_value, *mask = &flow_mask;

    miniflow_expand(&flow->cr.flow.mf, value);
    miniflow_expand(&flow->cr.mask->mf, mask);
    if (flow->flow.in_port.odp_port != shape->port
        || !is_ip_any(value) || mask->dl_type != OVS_BE16_MAX
        || value->nw_proto != IPPROTO_UDP || mask->nw_proto != UINT8_MAX) {
        return false;
    }

    const bool ipv6 = value->dl_type == htons(ETH_TYPE_IPV6);
    const size_t udp = (ETH_HEADER_LEN
                        + (ipv6 ? IPV6_HEADER_LEN : IP_HEADER_LEN));
    memset(want, 0, OUTER6_WORDS * sizeof *want);
    memset(shape->bits, 0, sizeof shape->bits);
    shape->ipv6 = ipv6;
    if (ipv6) {
        outer_compose_ipv6(want, shape, value, mask);
    } else {
        outer_compose_ipv4(want, shape, value, mask);
    }
    OUTER_FIELD(offsetof(struct eth_header, eth_dst), dl_dst);
    OUTER_FIELD(offsetof(struct eth_header, eth_src), dl_src);
    OUTER_FIELD(offsetof(struct eth_header, eth_type), dl_type);
    OUTER_FIELD(udp + offsetof(struct udp_header, udp_src), tp_src);
    OUTER_FIELD(udp + offsetof(struct udp_header, udp_dst), tp_dst);

    /* A classifier holds the megaflows of one port.  All else is zero in a
     * packet that was just received and looks like this. */
    value->in_port.odp_port = 0;
    return is_all_zeros(value, sizeof *value);
}

/* Has the table hold 'shape', too.  Returns its place, or -1 if there is no
 * room. */
static int
outer_shape_place(struct outer_table *t, const struct outer_shape *shape)
{
    int place = -1;

    for (int i = 0; i < OUTER_SHAPES; i++) {
        const struct outer_shape *other = &t->shapes[i];

        if (!other->n) {
            place = place < 0 ? i : place;
        } else if (other->pmd == shape->pmd && other->port == shape->port
                   && !memcmp(other->bits, shape->bits, sizeof shape->bits)) {
            return i;
        }
    }
    if (place >= 0) {
        t->shapes[place] = *shape;
        t->shapes[place].n = 0;
    }
    return place;
}

static void
outer_leave(struct outer_table *t, uint32_t set, int way)
{
    t->tags[set][way] = 0;
    t->shapes[t->places[set][way].shape].n--;
}

/* A free place of the set, which may be that of the one longest unused. */
static int
outer_make_room(struct outer_table *t, uint32_t set, uint32_t ticks)
{
    const struct outer *places = t->places[set];
    int oldest = 0;

    for (int way = 0; way < OUTER_WAYS; way++) {
        if (!t->tags[set][way]) {
            return way;
        }
        if (ticks - places[way].used > ticks - places[oldest].used) {
            oldest = way;
        }
    }
    outer_leave(t, set, oldest);
    COVERAGE_INC(datapath_tunnel_template_evicted);
    return oldest;
}

/* True if 'flow' is what the thread's table of megaflows has and does nothing
 * but to take off a tunnel's headers. */
static bool
outer_is_present(const struct dp_netdev_pmd_thread *pmd,
                 const struct dp_netdev_flow *flow)
{
    return (dp_netdev_pmd_find_flow(pmd, &flow->ufid, NULL, 0) == flow
            && outer_only_pops(flow));
}

/* Looks for a template for packets like 'packet' from 'port', with 'hash'. */
static void
outer_search(struct outer_table *t, struct dp_netdev_pmd_thread *pmd,
             odp_port_t port, struct dp_packet *packet, uint32_t hash)
{
    struct outer_shape shape = { .pmd = pmd, .port = port };
    const uint32_t ticks = outer_ticks(pmd), set = outer_set(hash);
    uint64_t want[OUTER6_WORDS];
    struct netdev_flow_key key;
    struct outer o;
    int place, way;

    t->last_search[set] = ticks;
    pkt_metadata_init(&packet->md, port);
    miniflow_extract(packet, &key.mf);
    o.flow = dp_netdev_pmd_lookup_flow(pmd, &key, NULL);
    if (!o.flow) {
        return;
    }
    /* The stamp first: what changes from here on has a later one. */
    o.stamp_index = outer_stamp_index(&o.flow->ufid);
    o.stamp = outer_stamp(o.stamp_index);
    if (!outer_is_present(pmd, o.flow)
        || !outer_compose(want, &shape, o.flow)) {
        return;
    }
    place = outer_shape_place(t, &shape);
    if (place < 0) {
        COVERAGE_INC(datapath_tunnel_template_refused);
        return;
    }
    way = outer_make_room(t, set, ticks);
    memcpy(o.want, want, sizeof o.want);
    o.pop_port = outer_pop_port(o.flow);
    o.used = ticks;
    o.shape = place;
    t->places[set][way] = o;
    memcpy(t->more[set][way].want, &want[OUTER_WORDS],
           sizeof t->more[set][way].want);
    t->tags[set][way] = outer_tag(hash);
    t->shapes[place].n++;
    COVERAGE_INC(datapath_tunnel_template_new);
}

/* Now and then looks whether the templates of another set are out of use. */
static void
outer_sweep(struct outer_table *t, uint32_t ticks)
{
    const uint32_t set = t->hand;

    if (OVS_LIKELY(ticks - t->last_sweep < OUTER_SWEEP_INTERVAL)) {
        return;
    }
    t->last_sweep = ticks;
    t->hand = (set + 1) % OUTER_SETS;
    for (int way = 0; way < OUTER_WAYS; way++) {
        if (t->tags[set][way]
            && ticks - t->places[set][way].used >= OUTER_IDLE) {
            outer_leave(t, set, way);
            COVERAGE_INC(datapath_tunnel_template_idle);
        }
    }
}

/* The bits among those that matter in which 'n' words of a packet are others
 * than a template wants. */
static inline uint64_t
outer_difference(const uint8_t *data, const uint64_t *bits,
                 const uint64_t *want, size_t n)
{
    uint64_t differs = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t word;

        memcpy(&word, data + i * sizeof word, sizeof word);
        differs |= (word & bits[i]) ^ want[i];
    }
    return differs;
}

/* The length of the IP packet in a packet whose first words fit. */
static inline size_t
outer_ip_len(const uint8_t *l3, bool ipv6)
{
    const struct ovs_16aligned_ip6_hdr *ip6
        = ALIGNED_CAST(const struct ovs_16aligned_ip6_hdr *, l3);
    const struct ip_header *ip = ALIGNED_CAST(const struct ip_header *, l3);

    return (ipv6 ? IPV6_HEADER_LEN + ntohs(ip6->ip6_plen)
            : ntohs(ip->ip_tot_len));
}

/* Of a packet of so many bytes, which outer_is_long_enough() took. */
static inline bool
outer_fits(const struct outer *o, const struct outer_more *more,
           const struct outer_shape *shape,
           const struct dp_netdev_pmd_thread *pmd, odp_port_t port,
           const uint8_t *data, size_t size)
{
    const bool ipv6 = shape->ipv6;
    size_t len;

    /* The type of the packet is among the first words. */
    if (shape->port != port || shape->pmd != pmd
        || outer_difference(data, shape->bits, o->want, OUTER_WORDS)
        || (ipv6 && outer_difference(data + OUTER_WORDS * 8,
                                     &shape->bits[OUTER_WORDS], more->want,
                                     OUTER6_WORDS - OUTER_WORDS))) {
        return false;
    }
    len = outer_ip_len(data + ETH_HEADER_LEN, ipv6);
    return (len >= (ipv6 ? OUTER6_LEN : OUTER_LEN) - ETH_HEADER_LEN
            && len <= size - ETH_HEADER_LEN);
}

/* Readies 'packet' for actions, as miniflow_extract() would. */
static inline void
outer_prepare(struct dp_packet *packet, odp_port_t port)
{
    const bool ipv6 = outer_is_ipv6(dp_packet_data(packet));

    pkt_metadata_init(&packet->md, port);
    dp_packet_reset_offsets(packet);
    packet->l3_ofs = ETH_HEADER_LEN;
    packet->l4_ofs = (ETH_HEADER_LEN
                      + (ipv6 ? IPV6_HEADER_LEN : IP_HEADER_LEN));
    dp_packet_set_l2_pad_size(packet, dp_packet_size(packet) - ETH_HEADER_LEN
                                      - outer_ip_len(dp_packet_l3(packet),
                                                     ipv6));
}

/* A batch, stage by stage. */
struct outer_batch {
    struct dp_netdev_pmd_thread *pmd;
    struct outer_table *table;
    odp_port_t port;
    /* Of each packet: */
    uint32_t hashes[NETDEV_MAX_BURST];
    uint8_t ways[NETDEV_MAX_BURST];     /* See outer_ways(). */
    struct outer *found[NETDEV_MAX_BURST];
    /* Of packets that went the stock way. */
    uint32_t left[NETDEV_MAX_BURST];
    size_t n_left;
};

/* The places of the set that 'packet's template may have, a bit each. */
static inline unsigned int
outer_ways(const struct outer_table *t, uint32_t hash)
{
    const uint16_t *tags = t->tags[outer_set(hash)];
    const uint16_t tag = outer_tag(hash);

    /* No branch that can't be foreseen. */
#ifdef __SSE2__
    BUILD_ASSERT(OUTER_WAYS * sizeof *tags == sizeof(__m128i));
    __m128i equal = _mm_cmpeq_epi16(_mm_loadu_si128((const void *) tags),
                                    _mm_set1_epi16(tag));

    return _mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128()));
#else
    unsigned int ways = 0;

    for (int way = 0; way < OUTER_WAYS; way++) {
        ways |= (unsigned int) (tags[way] == tag) << way;
    }
    return ways;
#endif
}

/* Starts to fetch the templates that 'packet' may fit. */
static inline void
outer_fetch(struct outer_batch *ob, size_t i, struct dp_packet *packet)
{
    const uint8_t *data = dp_packet_data(packet);
    uint32_t hash;

    if (OVS_UNLIKELY(!outer_is_long_enough(data, dp_packet_size(packet)))) {
        ob->ways[i] = 0;
        return;
    }
    hash = outer_hash(ob->port, data);
    ob->hashes[i] = hash;
    ob->ways[i] = outer_ways(ob->table, hash);
    for (unsigned int ways = ob->ways[i]; ways;
         ways = zero_rightmost_1bit(ways)) {
        const uint32_t set = outer_set(hash);
        const int way = raw_ctz(ways);

        OVS_PREFETCH(&ob->table->places[set][way]);
        if (outer_is_ipv6(data)) {
            OVS_PREFETCH(&ob->table->more[set][way]);
        }
    }
}

/* Finds the template that 'packet' fits, and starts to fetch what it counts
 * for. */
static inline void
outer_find(struct outer_batch *ob, size_t i, struct dp_packet *packet)
{
    struct outer_table *t = ob->table;

    ob->found[i] = NULL;
    for (unsigned int ways = ob->ways[i]; ways;
         ways = zero_rightmost_1bit(ways)) {
        const uint32_t set = outer_set(ob->hashes[i]);
        const int way = raw_ctz(ways);
        struct outer *o = &t->places[set][way];

        if (!t->tags[set][way]          /* Has left just now. */
            || !outer_fits(o, &t->more[set][way], &t->shapes[o->shape],
                           ob->pmd, ob->port, dp_packet_data(packet),
                           dp_packet_size(packet))) {
            continue;
        }
        if (OVS_UNLIKELY(o->stamp != outer_stamp(o->stamp_index))) {
            outer_leave(t, set, way);
            t->last_search[set] = (outer_ticks(ob->pmd)
                                   - OUTER_SEARCH_INTERVAL);
            continue;
        }
        OVS_PREFETCH_WRITE(&o->flow->stats.used);
        OVS_PREFETCH_WRITE(&o->flow->stats.tcp_flags);
        ob->found[i] = o;
        return;
    }
}

static inline bool
outer_has_left(const struct outer_batch *ob, uint32_t hash)
{
    for (size_t i = 0; i < ob->n_left; i++) {
        if (ob->left[i] == hash) {
            return true;
        }
    }
    return false;
}

/* Moves packets from 'batch' to 'taken' for whose headers there is a template,
 * all for one tunnel, '*pop_port', and credits their megaflows.  Returns the
 * first one's. */
static const struct dp_netdev_flow *
outer_sort(struct outer_batch *ob, struct outers *outers,
           struct dp_packet_batch *batch, struct dp_packet_batch *taken,
           odp_port_t *pop_port)
{
    struct dp_netdev_pmd_thread *pmd = ob->pmd;
    const size_t n = dp_packet_batch_size(batch);
    const uint32_t ticks = outer_ticks(pmd);
    const struct dp_netdev_flow *first = NULL;
    struct dp_packet *unknown = NULL;
    struct dp_packet *packet;
    uint32_t unknown_hash = 0;
    size_t i;

    DP_PACKET_BATCH_REFILL_FOR_EACH (i, n, packet, batch) {
        const uint32_t hash = ob->hashes[i];
        struct outer *o = ob->found[i];

        if (OVS_UNLIKELY(!outer_is_long_enough(dp_packet_data(packet),
                                               dp_packet_size(packet)))) {
            dp_packet_batch_refill(batch, packet, i);
            continue;
        }
        if (OVS_LIKELY(o)
            && OVS_LIKELY(!outer_has_left(ob, hash))
            && OVS_LIKELY(first ? o->pop_port == *pop_port
                          : outer_is_noted(outers->into, o->pop_port,
                                           pmd->ctx.now))) {
            first = first ? first : o->flow;
            *pop_port = o->pop_port;
            o->used = ticks;
            outer_prepare(packet, ob->port);
            dp_netdev_flow_used(o->flow, 1, dp_packet_size(packet), 0,
                                pmd->ctx.now / 1000);
            dp_packet_batch_add(taken, packet);
        } else {
            if (!o && !unknown
                && ticks - ob->table->last_search[outer_set(hash)]
                   >= OUTER_SEARCH_INTERVAL) {
                unknown = packet;
                unknown_hash = hash;
            }
            ob->left[ob->n_left++] = hash;
            dp_packet_batch_refill(batch, packet, i);
        }
    }
    if (OVS_UNLIKELY(unknown)) {
        outer_search(ob->table, pmd, ob->port, unknown, unknown_hash);
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
    struct outer_batch ob;
    odp_port_t pop_port;

    if (!outers || !outer_is_noted(outers->from, port, pmd->ctx.now)) {
        return;
    }
    ob.pmd = pmd;
    ob.table = outers->table;
    ob.port = port;
    ob.n_left = 0;
    outer_sweep(ob.table, outer_ticks(pmd));
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        OVS_PREFETCH(dp_packet_data(packet));
    }
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        outer_fetch(&ob, i, packet);
    }
    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        outer_find(&ob, i, packet);
    }
    dp_packet_batch_init(&taken);
    first = outer_sort(&ob, outers, batch, &taken, &pop_port);

    const size_t n_taken = dp_packet_batch_size(&taken);
    if (n_taken) {
        struct pmd_perf_stats *perf = &pmd->perf_stats;
        /* The megaflow's may be others by now, and aren't those of all. */
        const struct {
            struct nlattr nla;
            odp_port_t port;
        } pop = { { sizeof pop, OVS_ACTION_ATTR_TUNNEL_POP }, pop_port };
        BUILD_ASSERT_DECL(sizeof pop == NLA_HDRLEN + sizeof(odp_port_t));

        pmd_perf_update_counter(perf, PMD_STAT_RECV, n_taken);
        pmd_perf_update_counter(perf, PMD_STAT_MASKED_HIT, n_taken);
        pmd_perf_update_counter(perf, PMD_STAT_MASKED_LOOKUP, n_taken);
        COVERAGE_ADD(datapath_tunnel_template_hit, n_taken);
        dp_netdev_execute_actions(pmd, &taken, true, &first->flow,
                                  &pop.nla, sizeof pop);
    }
}
