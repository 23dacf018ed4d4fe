/* SPDX-License-Identifier: Apache-2.0 */

/* Output into tunnels: what makes a translation of its own, how long one is
 * used, when it is made anew, and who leaves. */

#include <config.h>
#include <check.h>

#include "adp-pace.h"
#include "connectivity.h"
#include "test-run.h"
#include "openvswitch/poll-loop.h"
#include "tunnel-world.h"

/* Keys. */

START_TEST(kept)
{
    struct adp_tunnel *t = find();

    ck_assert_uint_eq(translated.n, 1);
    ck_assert_int_eq(leads_to(t), 1);
    ck_assert_ptr_eq(find(), t);
    ck_assert_uint_eq(translated.n, 1);
    ck_assert_uint_eq(counts().n, 1);
    ck_assert_uint_eq(counts().n_translated, 1);
}
END_TEST

/* The packet is to upstream a plain one with the headers that matter, and
 * actions set the tunnel's metadata. */
START_TEST(request)
{
    flow.tunnel.tun_id = htonll(5);
    flow.tunnel.ip_src = htonl(0x0a000002);
    flow.tunnel.ip_ttl = 9;
    flow.tunnel.flags = FLOW_TNL_F_KEY;
    flow.pkt_mark = 3;
    flow.skb_priority = 4;
    find();
    ck_assert_str_eq(translated.actions,
                     "set_field:0x5->tun_id,set_field:10.0.0.2->tun_src,"
                     "set_field:10.0.0.1->tun_dst,set_field:9->tun_ttl,"
                     "output:7");
    ck_assert_uint_eq(translated.flow.in_port.ofp_port, OFPP_NONE);
    ck_assert_uint_eq(translated.flow.packet_type, htonl(PT_ETH));
    ck_assert_uint_eq(translated.flow.dl_type, htons(ETH_TYPE_IP));
    ck_assert_uint_eq(translated.flow.pkt_mark, 3);
    ck_assert_uint_eq(translated.flow.skb_priority, 4);
    ck_assert(is_all_zeros(&translated.flow.tunnel,
                           sizeof translated.flow.tunnel));
}
END_TEST

START_TEST(request_ipv6)
{
    flow.tunnel.ip_dst = 0;
    flow.tunnel.ipv6_src.s6_addr[15] = 1;
    flow.tunnel.ipv6_dst.s6_addr[15] = 2;
    flow.tunnel.ip_tos = 4;
    find();
    ck_assert_str_eq(translated.actions,
                     "set_field:::1->tun_ipv6_src,set_field:::2->tun_ipv6_dst,"
                     "set_field:4->tun_tos,output:7");
}
END_TEST

/* Fields of which each value has a translation of its own. */
static const size_t fields[] = {
    offsetof(struct flow, tunnel.ipv6_src),
    offsetof(struct flow, tunnel.ipv6_dst),
    offsetof(struct flow, tunnel.tun_id),
    offsetof(struct flow, tunnel.ip_src),
    offsetof(struct flow, tunnel.ip_dst),
    offsetof(struct flow, tunnel.flags),
    offsetof(struct flow, tunnel.ip_tos),
    offsetof(struct flow, tunnel.ip_ttl),
    offsetof(struct flow, pkt_mark),
    offsetof(struct flow, skb_priority),
};

START_TEST(own_translation)
{
    struct adp_tunnel *t = find();
    uint8_t *byte = (uint8_t *) &flow + fields[_i];

    *byte ^= 1;
    ck_assert_ptr_ne(find(), t);
    ck_assert_uint_eq(counts().n, 2);
    *byte ^= 1;
    ck_assert_ptr_eq(find(), t);
}
END_TEST

/* Of the packet just what the outer header takes over. */
START_TEST(inheritance)
{
    struct adp_tunnel *t = find();

    ck_assert_uint_eq(translated.flow.nw_tos, 0);
    ck_assert_uint_eq(translated.flow.nw_ttl, 0);
    flow.nw_tos = 0x40;
    flow.nw_ttl = 63;
    flow.nw_src = htonl(2);
    ck_assert_ptr_eq(find(), t);
    flow.nw_tos = 0x41;                 /* A congestion bit. */
    ck_assert_ptr_ne(find(), t);
    ck_assert_uint_eq(translated.flow.nw_tos, 1);

    port.tos_inherit = true;
    find();
    ck_assert_uint_eq(translated.flow.nw_tos, 0x41);
    port.ttl_inherit = true;
    find();
    ck_assert_uint_eq(translated.flow.nw_ttl, 63);
    ck_assert_uint_eq(counts().n, 4);

    flow.dl_type = htons(ETH_TYPE_IPV6);
    find();
    ck_assert_uint_eq(counts().n, 5);
    ck_assert_uint_eq(translated.flow.dl_type, htons(ETH_TYPE_IPV6));

    /* ARP's operation is no ToS. */
    flow.dl_type = htons(ETH_TYPE_ARP);
    t = find();
    ck_assert_uint_eq(translated.flow.nw_tos, 0);
    ck_assert_uint_eq(translated.flow.nw_ttl, 0);
    ck_assert_uint_eq(translated.flow.dl_type, 0);
    flow.nw_tos = 2;
    flow.nw_ttl = 1;
    ck_assert_ptr_eq(find(), t);
}
END_TEST

/* What only stock translation knows. */

START_TEST(more_metadata)
{
    struct flow_tnl *tnl = &flow.tunnel;

    switch (_i) {
    case 0: tnl->metadata.present.map = 1; break;
    case 1: tnl->gbp_id = htons(1); break;
    case 2: tnl->gbp_flags = 1; break;
    case 3: tnl->erspan_ver = 1; break;
    case 4: tnl->gtpu_flags = 1; break;
    case 5: tnl->gtpu_msgtype = 1; break;
    }
    ck_assert_ptr_null(find());
    ck_assert_uint_eq(translated.n, 0);
}
END_TEST

/* Where the inner Ethernet header stays behind, the outer one says of what type
 * the packet is. */
START_TEST(layer3)
{
    port.layer3 = true;
    flow.dl_type = htons(ETH_TYPE_ARP);
    ck_assert_ptr_null(find());
    flow.dl_type = htons(ETH_TYPE_MPLS);
    ck_assert_ptr_null(find());
    ck_assert_uint_eq(translated.n, 0);

    flow.dl_type = htons(ETH_TYPE_IP);
    ck_assert_ptr_nonnull(find());
    flow.dl_type = htons(ETH_TYPE_IPV6);
    ck_assert_ptr_nonnull(find());
    ck_assert_uint_eq(translated.flow.dl_type, htons(ETH_TYPE_IPV6));
    ck_assert_uint_eq(counts().n, 2);
}
END_TEST

START_TEST(no_port)
{
    ck_assert_ptr_null(adp_tunnel_find(b, u16_to_ofp(8), &flow));
    ck_assert_uint_eq(translated.n, 0);
}
END_TEST

START_TEST(not_cacheable)
{
    switch (_i) {
    case 0: says.error = XLATE_RECURSION_TOO_DEEP; break;
    case 1: says.slow = SLOW_CFM; break;
    case 2: says.avoid_caching = true; break;
    }
    ck_assert_ptr_null(find());
    ck_assert_uint_eq(translated.n, 1);
    ck_assert_uint_eq(counts().n, 0);
}
END_TEST

/* Nowhere. */

START_TEST(no_route)
{
    says.drops = true;
    struct adp_tunnel *t = find();

    ck_assert_int_eq(leads_to(t), 0);
    now += GRACE_MS - 1;
    ck_assert_ptr_eq(find(), t);
    ck_assert_uint_eq(translated.n, 1);

    /* Asks again. */
    now++;
    says.drops = false;
    ck_assert_ptr_eq(find(), t);
    ck_assert_uint_eq(translated.n, 2);
    ck_assert_int_eq(leads_to(t), 1);
}
END_TEST

START_TEST(neighbour_came)
{
    says.drops = true;
    struct adp_tunnel *t = find();

    seq_change(tnl_conf_seq);
    says.drops = false;
    ck_assert_ptr_eq(find(), t);
    ck_assert_int_eq(leads_to(t), 1);
}
END_TEST

/* Changes. */

/* Upstream's run() for datapaths of 'type', which forgets why. */
static void
upstream_runs(const char *type)
{
    bool changes = adp_tunnels_expect_change(b, type);

    if (!strcmp(type, backer.type)) {
        backer.need_revalidate = 0;
    }
    if (changes) {
        adp_tunnels_note_change(b);
    }
}

/* Something changes, '_i', of which the underlay may depend. */
static void
change(int i)
{
    switch (i) {
    case 0: seq_change(tnl_conf_seq); break;
    case 1: seq_change(connectivity_seq_get()); break;
    case 2: versions[1]++; break;
    case 3:
        backer.need_revalidate = REV_RECONFIGURE;
        upstream_runs("netdev");
        break;
    }
}

enum { N_CHANGES = 4 };

START_TEST(renewed)
{
    struct adp_tunnel *t = find();

    change(_i);
    says.output = 2;
    adp_tunnels_run(b);
    ck_assert_uint_eq(translated.n, 2);
    ck_assert_int_eq(leads_to(t), 2);
    now += 10 * GRACE_MS;
    ck_assert_int_eq(leads_to(t), 2);
    ck_assert_ptr_eq(find(), t);
    adp_tunnels_run(b);
    ck_assert_uint_eq(translated.n, 2);
}
END_TEST

/* Not before upstream has taken it over: what is translated until then is as
 * old. */
START_TEST(renewed_when_taken_over)
{
    struct adp_tunnel *t = find();

    backer.need_revalidate = REV_BOND;
    adp_tunnels_run(b);
    adp_tunnels_wait(b);
    upstream_runs("system");
    flow.tunnel.ip_dst = htonl(PEER + 1);
    struct adp_tunnel *late = find();
    ck_assert_uint_eq(translated.n, 2);

    upstream_runs("netdev");
    says.output = 2;
    adp_tunnels_run(b);
    ck_assert_uint_eq(translated.n, 4);
    ck_assert_int_eq(leads_to(t), 2);
    ck_assert_int_eq(leads_to(late), 2);
}
END_TEST

/* A packet thread may be about to add the first one. */
START_TEST(first_one)
{
    uint64_t serial = adp_tunnels_serial(b->tunnels);

    change(_i);
    adp_tunnels_run(b);
    ck_assert_uint_ne(adp_tunnels_serial(b->tunnels), serial);
}
END_TEST

START_TEST(other_changes)
{
    find();
    versions[0]++;              /* The tables of 'b' itself. */
    backer.need_revalidate = REV_FLOW_TABLE;
    upstream_runs("netdev");
    adp_tunnels_run(b);
    adp_tunnels_wait(b);
    adp_tunnels_run(b);
    ck_assert_uint_eq(translated.n, 1);
}
END_TEST

START_TEST(own_tables)
{
    says.reads_own = true;
    find();
    adp_tunnels_run(b);
    size_t n = translated.n;
    versions[0]++;
    adp_tunnels_run(b);
    ck_assert_uint_eq(translated.n, n + 1);
}
END_TEST

/* While the main thread has no time. */
START_TEST(grace)
{
    struct adp_tunnel *t = find();

    slice_size = 0;
    change(0);
    adp_tunnels_run(b);
    says.output = 2;
    now += GRACE_MS - 1;
    ck_assert_int_eq(leads_to(t), 1);
    ck_assert_ptr_eq(find(), t);
    ck_assert_uint_eq(translated.n, 1);
    now++;
    ck_assert_int_eq(leads_to(t), -1);

    /* The packet's thread does it itself. */
    ck_assert_ptr_eq(find(), t);
    ck_assert_uint_eq(translated.n, 2);
    ck_assert_int_eq(leads_to(t), 2);
}
END_TEST

static size_t
n_that_lead_to(struct adp_tunnel *const tunnels[], size_t n, int output)
{
    size_t n_found = 0;

    for (size_t i = 0; i < n; i++) {
        n_found += leads_to(tunnels[i]) == output;
    }
    return n_found;
}

enum { N_TUNNELS = 10 };

static void
find_all(struct adp_tunnel *tunnels[N_TUNNELS])
{
    for (size_t i = 0; i < N_TUNNELS; i++) {
        flow.tunnel.ip_dst = htonl(PEER + i);
        tunnels[i] = find();
    }
}

START_TEST(in_slices)
{
    struct adp_tunnel *tunnels[N_TUNNELS];

    find_all(tunnels);
    slice_size = 4;
    change(0);
    says.output = 2;
    adp_tunnels_run(b);
    ck_assert_uint_eq(n_that_lead_to(tunnels, N_TUNNELS, 2), 4);
    adp_tunnels_run(b);
    ck_assert_uint_eq(n_that_lead_to(tunnels, N_TUNNELS, 2), 8);

    /* A change amid the pass: it goes on, and another one follows. */
    change(0);
    says.output = 3;
    adp_tunnels_run(b);
    ck_assert_uint_eq(n_that_lead_to(tunnels, N_TUNNELS, 1), 0);
    ck_assert_uint_gt(n_that_lead_to(tunnels, N_TUNNELS, 2), 0);
    for (int i = 0; i < 4; i++) {
        adp_tunnels_run(b);
    }
    ck_assert_uint_eq(n_that_lead_to(tunnels, N_TUNNELS, 3), N_TUNNELS);
    size_t n = translated.n;
    adp_tunnels_run(b);
    adp_tunnels_run(b);
    ck_assert_uint_eq(translated.n, n);
}
END_TEST

/* What nobody uses, and what leads nowhere, isn't renewed. */
START_TEST(not_renewed)
{
    find();
    says.drops = true;
    flow.tunnel.ip_dst = htonl(PEER + 1);
    find();
    ck_assert_uint_eq(translated.n, 2);
    change(0);
    adp_tunnels_run(b);
    ck_assert_uint_eq(translated.n, 3);
    says.drops = false;
    now += IDLE_MS;
    change(0);
    adp_tunnels_run(b);
    ck_assert_uint_eq(translated.n, 3);
}
END_TEST

/* What isn't renewed (one that leads nowhere, an unused one, one that only
 * stock translation knows from now on) holds nothing of what it led through,
 * and nobody goes by it. */
START_TEST(lets_go)
{
    says.drops = _i == 0;
    struct adp_tunnel *t = find();

    ck_assert_int_eq(n_xc_entries, 1);
    if (_i == 1) {              /* Aging has just looked at it. */
        now += ADP_PACE_ROUND_MS;
        adp_tunnels_run(b);
        now += IDLE_MS - ADP_PACE_ROUND_MS;
    } else {
        adp_tunnel_credit(t, 1, 100);
    }
    says.slow = _i == 2 ? SLOW_BFD : 0;
    change(0);
    adp_tunnels_run(b);
    wait_for_grace();
    ck_assert_uint_eq(counts().n, 1);
    ck_assert_int_eq(n_xc_entries, 0);
    ck_assert_uint_eq(pushed.n, _i != 1);
    ck_assert_int_eq(leads_to(t), -1);
    ck_assert(!find() == (_i == 2));
}
END_TEST

/* What is credited while it leads through nothing is so much of what it leads
 * through next, packets and bytes. */
START_TEST(credited_in_between)
{
    says.drops = true;
    struct adp_tunnel *t = find();

    change(0);
    adp_tunnels_run(b);
    adp_tunnel_credit(t, 3, 300);
    adp_tunnels_run(b);
    ck_assert_uint_eq(pushed.n, 0);

    says.drops = false;
    ck_assert_ptr_eq(find(), t);
    adp_tunnel_credit(t, 1, 100);
    adp_tunnels_run(b);
    ck_assert_uint_eq(pushed.n, 1);
    ck_assert_uint_eq(pushed.stats.n_packets, 4);
    ck_assert_uint_eq(pushed.stats.n_bytes, 400);
}
END_TEST

/* What nobody has used for long, yet has not left, isn't renewed either: nobody
 * goes by what it was. */
START_TEST(idle_and_changed)
{
    struct adp_tunnel *t = find();

    now += IDLE_MS;
    change(0);
    says.output = 2;
    slice_size = 1;
    adp_tunnels_run(b);
    ck_assert_int_eq(leads_to(t), -1);
    ck_assert_int_eq(leads_to(find()), 2);
    ck_assert_uint_eq(translated.n, 2);
}
END_TEST

/* The same actions stay where they are, for who waits to go there; their
 * counters may be others'. */
START_TEST(same_actions)
{
    struct adp_tunnel *t = find();
    const struct adp_tunnel_actions *actions = adp_tunnel_actions(t, now);

    adp_tunnel_credit(t, 1, 100);
    adp_tunnels_run(b);
    const struct xlate_cache *xcache = pushed.xcache;
    change(0);
    adp_tunnels_run(b);
    ck_assert_uint_eq(translated.n, 2);
    now += GRACE_MS;
    ck_assert_ptr_eq(adp_tunnel_actions(t, now), actions);
    adp_tunnel_credit(t, 1, 100);
    adp_tunnels_run(b);
    ck_assert_ptr_ne(pushed.xcache, xcache);
}
END_TEST

/* What needs no executor: a header and a port, and nothing else. */

START_TEST(pushes)
{
    static const char *const letters[] = { "po", "(po)", "((po))" };

    says.actions = letters[_i];
    says.output = 9;
    const struct adp_tunnel_actions *actions = adp_tunnel_actions(find(), now);

    ck_assert_ptr_nonnull(actions->push);
    ck_assert_int_eq(nl_attr_type(actions->push), OVS_ACTION_ATTR_TUNNEL_PUSH);
    const struct ovs_action_push_tnl *push = nl_attr_get(actions->push);
    ck_assert_uint_eq(push->tnl_port, 5);
    ck_assert_uint_eq(push->header_len, 50);
    ck_assert_uint_eq(actions->odp_port, 9);
    ck_assert((const char *) actions->push >= (const char *) actions->data
              && ((const char *) actions->push
                  < (const char *) actions->data + actions->size));

    /* By another port. */
    says.output = 10;
    change(0);
    adp_tunnels_run(b);
    actions = adp_tunnel_actions(find(), now);
    ck_assert_ptr_nonnull(actions->push);
    ck_assert_uint_eq(actions->odp_port, 10);

    /* And no longer. */
    says.actions = "o";
    change(0);
    adp_tunnels_run(b);
    actions = adp_tunnel_actions(find(), now);
    ck_assert_ptr_null(actions->push);
}
END_TEST

static const char *const more_than_push[] = {
    "o", "p", "op", "oo", "poo", "ppo", "tpo", "pto", "pot", "opo", "por",
    "pr", "pe", "rpo", "()", "(p)", "(p)o", "p(o)", "()po", "(po)o", "o(po)",
    "(po)(po)", "(poo)", "(tpo)", "(pe)", "((po)o)", "(()po)", "t(po)",
    "(po)t",
};

START_TEST(does_more_than_push)
{
    says.actions = more_than_push[_i];
    const struct adp_tunnel_actions *actions = adp_tunnel_actions(find(), now);

    ck_assert_uint_gt(actions->size, 0);
    ck_assert_msg(!actions->push, "%s", says.actions);
    ck_assert_uint_eq(actions->odp_port, ODPP_NONE);
}
END_TEST

START_TEST(pushes_nothing)
{
    says.drops = true;
    const struct adp_tunnel_actions *actions = adp_tunnel_actions(find(), now);

    ck_assert_uint_eq(actions->size, 0);
    ck_assert_ptr_null(actions->push);
    ck_assert_uint_eq(actions->odp_port, ODPP_NONE);
}
END_TEST

/* Counters. */

START_TEST(counters)
{
    struct adp_tunnel *t = find();

    adp_tunnels_run(b);
    ck_assert_uint_eq(pushed.n, 0);
    now += 5;
    adp_tunnel_credit(t, 2, 300);
    adp_tunnel_credit(t, 1, 50);
    ck_assert_uint_eq(pushed.n, 0);
    adp_tunnels_run(b);
    ck_assert_uint_eq(pushed.n, 1);
    ck_assert_uint_eq(pushed.stats.n_packets, 3);
    ck_assert_uint_eq(pushed.stats.n_bytes, 350);
    ck_assert_int_eq(pushed.stats.used, now);
    adp_tunnels_run(b);
    ck_assert_uint_eq(pushed.n, 1);
    adp_tunnel_credit(t, 1, 60);
    adp_tunnels_run(b);
    ck_assert_uint_eq(pushed.n, 2);
    ck_assert_uint_eq(pushed.stats.n_packets, 1);
    ck_assert_uint_eq(pushed.stats.n_bytes, 60);
}
END_TEST

START_TEST(counters_in_slices)
{
    struct adp_tunnel *tunnels[N_TUNNELS];

    find_all(tunnels);
    for (size_t i = 0; i < N_TUNNELS; i++) {
        adp_tunnel_credit(tunnels[i], 1, 1);
    }
    slice_size = 4;
    adp_tunnels_run(b);
    ck_assert_uint_eq(pushed.n, 4);
    adp_tunnels_run(b);
    adp_tunnels_run(b);
    ck_assert_uint_eq(pushed.n, N_TUNNELS);
}
END_TEST

/* Nothing that was counted gets lost with its tunnel. */
START_TEST(counters_at_the_end)
{
    struct adp_tunnel *t = find();

    adp_tunnel_credit(t, 4, 400);
    adp_tunnels_destroy(b->tunnels);
    wait_for_grace();
    ck_assert_uint_eq(pushed.n, 1);
    ck_assert_uint_eq(pushed.stats.n_packets, 4);
    b->tunnels = adp_tunnels_create();
}
END_TEST

/* Who leaves. */

static void
run_for(long long int ms)
{
    for (long long int end = now + ms; now < end; now += 100) {
        adp_tunnels_run(b);
    }
}

START_TEST(idle)
{
    struct adp_tunnel *used = find();

    flow.tunnel.ip_dst = htonl(PEER + 1);
    struct adp_tunnel *unused = find();
    ck_assert(adp_tunnel_try_ref(unused));
    for (int i = 0; i < 19; i++) {
        run_for(1000);
        adp_tunnel_credit(used, 1, 1);
    }
    ck_assert_uint_eq(counts().n, 2);
    for (int i = 0; i < 30; i++) {
        run_for(1000);
        adp_tunnel_credit(used, 1, 1);
    }
    ck_assert_uint_eq(counts().n, 1);
    ck_assert_uint_eq(counts().n_idle, 1);
    ck_assert_uint_eq(counts().n_evicted, 0);
    ck_assert_int_eq(leads_to(used), 1);

    /* Who still refers to it has to find it again, and holds nothing else. */
    wait_for_grace();
    ck_assert_int_eq(n_xc_entries, 1);
    ck_assert_int_eq(leads_to(unused), -1);
    ck_assert_ptr_ne(find(), unused);
    adp_tunnel_unref(unused);
    adp_tunnel_unref(NULL);
}
END_TEST

__typeof__(poll_immediate_wake_at) __wrap_poll_immediate_wake_at;

static bool wakes_at_once;

void
__wrap_poll_immediate_wake_at(const char *where OVS_UNUSED)
{
    wakes_at_once = true;
}

/* Is there more to do? */
static bool
has_more(void)
{
    wakes_at_once = false;
    adp_tunnels_wait(b);
    return wakes_at_once;
}

/* Many leave in several turns. */
START_TEST(idle_in_slices)
{
    enum { SLICE = 4 };
    struct adp_tunnel *tunnels[N_TUNNELS];

    find_all(tunnels);
    adp_tunnels_run(b);
    now += 2 * IDLE_MS;
    slice_size = SLICE;
    for (size_t n = 0; n < N_TUNNELS; n = counts().n_idle) {
        adp_tunnels_run(b);
        ck_assert_uint_gt(counts().n_idle, n);
        ck_assert_uint_le(counts().n_idle, n + SLICE);
        ck_assert(has_more() || !counts().n);
    }
    adp_tunnels_run(b);
    ck_assert(!has_more());
    ck_assert_uint_eq(counts().n, 0);
}
END_TEST

START_TEST(full)
{
    struct adp_tunnel *first = find();

    now++;
    for (size_t i = 1; i < N_MAX; i++) {
        flow.tunnel.ip_dst = htonl(PEER + i);
        find();
    }
    ck_assert_uint_eq(counts().n, N_MAX);
    ck_assert_uint_eq(counts().n_evicted, 0);
    adp_tunnel_credit(first, 1, 1);
    for (size_t i = 0; i < 100; i++) {
        flow.tunnel.ip_dst = htonl(PEER + N_MAX + i);
        find();
        ck_assert_uint_eq(counts().n, N_MAX);
        ck_assert_uint_eq(counts().n_evicted, i + 1);
    }
}
END_TEST

/* The one that leaves is the oldest of those that are looked at: old ones are
 * every second, so that each look sees some. */
START_TEST(full_of_old_and_new)
{
    static struct adp_tunnel *tunnels[N_MAX];
    size_t n_gone = 0;

    for (size_t i = 0; i < N_MAX; i++) {
        flow.tunnel.ip_dst = htonl(PEER + i);
        tunnels[i] = find();
        ck_assert(adp_tunnel_try_ref(tunnels[i]));
    }
    now += 100;
    for (size_t i = 0; i < N_MAX; i += 2) {
        adp_tunnel_credit(tunnels[i], 1, 1);
    }
    for (size_t i = 0; i < 1000; i++) {
        flow.tunnel.ip_dst = htonl(PEER + N_MAX + i);
        find();
    }
    for (size_t i = 0; i < N_MAX; i++) {
        if (leads_to(tunnels[i]) < 0) {
            n_gone += !(i & 1);
        }
        adp_tunnel_unref(tunnels[i]);
    }
    /* One in 512, if places in the table are random. */
    ck_assert_uint_lt(n_gone, 50);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("tunnel");
    TCase *tc = tcase_create("tunnel");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, kept);
    tcase_add_test(tc, request);
    tcase_add_test(tc, request_ipv6);
    tcase_add_loop_test(tc, own_translation, 0, ARRAY_SIZE(fields));
    tcase_add_test(tc, inheritance);
    tcase_add_loop_test(tc, more_metadata, 0, 6);
    tcase_add_test(tc, layer3);
    tcase_add_test(tc, no_port);
    tcase_add_loop_test(tc, not_cacheable, 0, 3);
    tcase_add_test(tc, no_route);
    tcase_add_test(tc, neighbour_came);
    tcase_add_loop_test(tc, renewed, 0, N_CHANGES);
    tcase_add_test(tc, renewed_when_taken_over);
    tcase_add_loop_test(tc, first_one, 0, N_CHANGES);
    tcase_add_test(tc, other_changes);
    tcase_add_test(tc, own_tables);
    tcase_add_test(tc, grace);
    tcase_add_test(tc, in_slices);
    tcase_add_test(tc, not_renewed);
    tcase_add_loop_test(tc, lets_go, 0, 3);
    tcase_add_test(tc, credited_in_between);
    tcase_add_test(tc, idle_and_changed);
    tcase_add_test(tc, same_actions);
    tcase_add_loop_test(tc, pushes, 0, 3);
    tcase_add_loop_test(tc, does_more_than_push, 0,
                        ARRAY_SIZE(more_than_push));
    tcase_add_test(tc, pushes_nothing);
    tcase_add_test(tc, counters);
    tcase_add_test(tc, counters_in_slices);
    tcase_add_test(tc, counters_at_the_end);
    tcase_add_test(tc, idle);
    tcase_add_test(tc, idle_in_slices);
    tcase_add_test(tc, full);
    tcase_add_test(tc, full_of_old_and_new);
    suite_add_tcase(s, tc);
    return test_run(s);
}
