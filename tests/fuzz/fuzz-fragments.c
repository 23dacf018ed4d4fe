/* SPDX-License-Identifier: Apache-2.0 */

/* Fragments that conntrack puts together.
 *
 * Input: a program.  Datagrams of a few hosts, of both families and up to more
 * than there may be, come in fragments that are long or short, in this order
 * or that, some of them not, twice, or with other lengths, several at a time,
 * to zones, from ports; between the halves of a call another thread has one;
 * time goes on.
 *
 * Must hold: what becomes whole is one datagram, with all of its bytes; no
 * fragment leaves twice or in a call that brought none like it, and all that
 * conntrack has changed is in those that leave; as many wait as are counted,
 * none when all their time is over. */

#include <config.h>
#undef NDEBUG
#include "fuzz.h"

/* In the place of the library's: calls have halves. */
#include "ipf.c"

#include "tests/unit/ip-fragment.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"

const long int fuzz_runs = 400;

enum {
    N_HOSTS = 3, N_IDS = 4, N_ZONES = 2, N_PORTS = 3,
    MAX_STEPS = 24,
    TRANSLATED = 200,           /* The host that senders become. */
    TIME_OVER = 26 * 1000,
};

static struct ipf *ipf;
/* Later than the time of the thread that looks for what is over. */
static long long int now = 1000LL * 1000 * 1000 * 1000 * 1000;

/* A call, of packets of one family. */
struct call {
    struct dp_packet_batch batch;
    bool v6;
    uint16_t zone;
    uint32_t in_port;
    uint32_t hosts;             /* Bits: whose fragments came with it. */
    struct ipf_call noted;      /* By its thread. */
};

static bool
get_host(const struct dp_packet *p, uint8_t *host)
{
    const struct eth_header *eth = dp_packet_eth(p);

    if (eth->eth_type == htons(ETH_TYPE_IPV6)) {
        const struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(p);

        *host = ntohl(get_16aligned_be32(&ip6->ip6_src.be32[3]));
        return true;
    } else {
        const struct ip_header *ip = dp_packet_l3(p);

        *host = ntohl(get_16aligned_be32(&ip->ip_src));
        return false;
    }
}

static void
set_host(struct dp_packet *p, uint8_t host)
{
    uint8_t old;

    if (get_host(p, &old)) {
        struct ovs_16aligned_ip6_hdr *ip6 = dp_packet_l3(p);

        put_16aligned_be32(&ip6->ip6_src.be32[3], htonl(host));
    } else {
        struct ip_header *ip = dp_packet_l3(p);
        ovs_be32 src = get_16aligned_be32(&ip->ip_src);
        ovs_be32 new = htonl((ntohl(src) & 0xffffff00) | host);

        ip->ip_csum = recalc_csum32(ip->ip_csum, src, new);
        put_16aligned_be32(&ip->ip_src, new);
    }
}

/* Where conntrack would be: packets that are whole get another sender and
 * another first byte, and say in their mark what they were. */
static void
track(struct call *c)
{
    struct dp_packet *p;

    DP_PACKET_BATCH_FOR_EACH (i, p, &c->batch) {
        uint8_t *data = dp_packet_l4(p);
        size_t size = dp_packet_l4_size(p);
        uint8_t host;

        p->md.ct_orig_tuple_ipv6 = false;
        if (ip_fragment_is(p) || !data) {
            p->md.ct_state |= CS_INVALID;
            continue;
        }
        fuzz_require(get_host(p, &host) == c->v6);
        fuzz_require(host < N_HOSTS);
        fuzz_require(size > 0 && size <= 65535);
        /* Datagrams are told from each other by their first byte. */
        uint32_t id = data[0];
        fuzz_require(id < N_IDS);
        for (size_t at = 0; at < size; at++) {
            fuzz_require(data[at] == ip_datum(id, at));
        }
        p->md.ct_state = CS_TRACKED | CS_NEW;
        p->md.ct_mark = 1 + host;
        data[0] = ~data[0];
        set_host(p, TRANSLATED);
    }
}

/* What left with a call. */
static void
check_left(struct call *c)
{
    struct dp_packet *p;

    DP_PACKET_BATCH_FOR_EACH (i, p, &c->batch) {
        uint8_t host;

        fuzz_require(ip_fragment_is(p) || !dp_packet_l4(p));
        if (!(p->md.ct_state & CS_INVALID)) {
            fuzz_require(get_host(p, &host) == c->v6);
            fuzz_require(host == TRANSLATED);
            fuzz_require(c->hosts & 1u << (p->md.ct_mark - 1));
            if (!c->v6) {
                const struct ip_header *ip = dp_packet_l3(p);

                fuzz_require(!csum(ip, sizeof *ip));
            }
        }
        dp_packet_delete(p);
    }
}

static void
begin_call(struct call *c)
{
    ovs_be16 dl_type = htons(c->v6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);

    /* The first half of ipf_preprocess_conntrack(). */
    ipf_call_begin();
    ipf_extract_frags_from_batch(ipf, &c->batch, dl_type, c->zone, now, 0);
    c->noted = *ipf_call_get();
}

static void
go_on_with_call(struct call *c)
{
    *ipf_call_get() = c->noted;
    ipf_execute_reass_pkts(ipf, &c->batch);
    track(c);
}

static void
end_call(struct call *c)
{
    *ipf_call_get() = c->noted;
    ipf_postprocess_conntrack(ipf, &c->batch, now,
                              htons(c->v6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP));
    check_left(c);
}

/* The call of this thread, and one of another's that it may overtake. */
static struct call call, other;
static int halves;              /* How far 'other' is; 0: there is none. */

static void
finish_other(void)
{
    if (halves == 1) {
        go_on_with_call(&other);
    }
    if (halves) {
        end_call(&other);
    }
    halves = 0;
}

/* Carries 'call' out, or has it wait as the other thread's. */
static void
run_call(unsigned int how)
{
    if (how && !halves) {
        other = call;
        begin_call(&other);
        if (how > 1) {
            go_on_with_call(&other);
        }
        halves = how;
    } else {
        begin_call(&call);
        go_on_with_call(&call);
        end_call(&call);
        if (!how) {
            finish_other();
        }
    }
    dp_packet_batch_init(&call.batch);
    call.hosts = 0;
}

static void
add(const struct ip_fragment *f, uint16_t zone, size_t most, unsigned int how)
{
    if (!f->v6 && !f->offset && !f->more) {
        return;                 /* That is no fragment. */
    }
    if (!dp_packet_batch_is_empty(&call.batch)
        && (dp_packet_batch_size(&call.batch) >= most || call.v6 != f->v6
            || call.zone != zone || call.in_port != f->in_port)) {
        run_call(how);
    }
    call.v6 = f->v6;
    call.zone = zone;
    call.in_port = f->in_port;
    call.hosts |= 1u << f->host;
    dp_packet_batch_add(&call.batch, ip_fragment_compose(f));
}

static void
send_datagram(struct fuzz_input *in)
{
    static const uint16_t pieces[] = {
        1448, 1400, 1480, 1304, 4096, 8, 1264, 9000,
    };
    uint8_t which = fuzz_u8(in), how = fuzz_u8(in), odd = fuzz_u8(in);
    struct ip_fragment f = {
        .v6 = which & 1,
        .host = (which >> 1) % N_HOSTS,
        .id = (which >> 3) % N_IDS,
        .in_port = 1 + (which >> 5) % N_PORTS,
        .proto = odd == 7 ? IPPROTO_DSTOPTS : 0,
        .padding = odd % 5 == 4 ? odd % 7 : 0,
    };
    uint16_t zone = 1 + (how & 1);
    size_t piece = pieces[how >> 1 & 7];
    size_t size = fuzz_u16(in) + (odd & 0x80 ? 8 : 0);
    size_t n = MAX(1, MIN(DIV_ROUND_UP(size, piece), 60));
    uint8_t skip = fuzz_u8(in), step = 1 + 2 * (how >> 4 & 3);
    size_t most = 1 + fuzz_range(in, NETDEV_MAX_BURST);

    for (size_t k = 0; k < n; k++) {
        size_t i = n % step ? k * step % n : how & 0x40 ? n - 1 - k : k;

        f.offset = i * piece;
        f.size = MIN(piece, size > f.offset ? size - f.offset : 0);
        f.more = f.offset + piece < size;
        if (f.offset > 65528 || (skip && i % (1 + skip % 64) == 3)) {
            continue;
        }
        if (odd & 0x40 && i % 4 == odd % 4) {
            f.size = f.size / 2 & ~7;
        }
        add(&f, zone, most, odd >> 2 & 3);
    }
    if (!dp_packet_batch_is_empty(&call.batch)) {
        run_call(odd & 3);
    }
}

static void
send_fragment(struct fuzz_input *in)
{
    uint8_t which = fuzz_u8(in), how = fuzz_u8(in);
    struct ip_fragment f = {
        .v6 = which & 1,
        .host = (which >> 1) % N_HOSTS,
        .id = (which >> 3) % N_IDS,
        .in_port = 1 + (which >> 5) % N_PORTS,
        .offset = fuzz_u16(in) & 0xfff8,
        .size = fuzz_u16(in) % 1500,
        .more = how & 1,
    };

    add(&f, 1 + (how >> 1 & 1), 1 + (how >> 2) % NETDEV_MAX_BURST, 0);
}

/* What waits, by its lists. */
static size_t
count_waiting(void)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    const struct ipf_list *list;
    size_t n = 0;

    HMAP_FOR_EACH (list, node, &ipf->frag_lists) {
        fuzz_require(list->last_sent_idx <= list->last_inuse_idx);
        n += list->last_inuse_idx - list->last_sent_idx;
    }
    return n;
}

static void
check_count(void)
{
    fuzz_require(count_waiting() == atomic_count_get(&ipf->nfrag));
}

static void
pass_time(long long int ms)
{
    run_call(0);
    now += ms;
    run_call(0);                /* One without packets. */
}

/* Each call frees one list. */
static void
end_all_time(void)
{
    size_t n = hmap_count(&ipf->frag_lists);

    for (size_t i = 0; i <= n; i++) {
        pass_time(i ? 0 : TIME_OVER);
    }
    fuzz_require(hmap_is_empty(&ipf->frag_lists));
    fuzz_require(ovs_list_is_empty(&ipf->reassembled_pkt_list));
    fuzz_require(!atomic_count_get(&ipf->nfrag));
}

int
LLVMFuzzerInitialize(int *argc OVS_UNUSED, char ***argv OVS_UNUSED)
{
    fuzz_leave_signals();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    ipf = ipf_init();
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };

    dp_packet_batch_init(&call.batch);
    call.hosts = 0;
    for (int i = 0; i < MAX_STEPS && in.n; i++) {
        uint8_t step = fuzz_u8(&in);

        switch (step % 8) {
        case 0: case 1: case 2:
            send_datagram(&in);
            break;
        case 3: case 4: case 5:
            send_fragment(&in);
            break;
        case 6:
            run_call(0);
            break;
        default:
            pass_time(fuzz_u8(&in) * 100);
            break;
        }
        check_count();
    }
    run_call(0);
    finish_other();
    end_all_time();
    ovsrcu_quiesce();
    return 0;
}
