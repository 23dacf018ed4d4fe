/* SPDX-License-Identifier: Apache-2.0 */

/* What stands between upstream's functions and who calls them. */

#include <config.h>
#include <check.h>
#include <stdlib.h>

#include "csum.h"
#include "dp-packet.h"
#include "id-pool.h"
#include "mcast-snooping.h"
#include "netdev-native-tnl.h"
#include "openvswitch/list.h"
#include "ofproto/ofproto-provider.h"
#include "ovs-lldp.h"
#include "packets.h"
#include "test-run.h"
#include "util.h"

struct ovs_mutex ofproto_mutex = OVS_MUTEX_INITIALIZER;

/* fin_timeout() of flows that have gone. */

void __real_ofproto_rule_reduce_timeouts__(struct rule *, uint16_t, uint16_t);
void __wrap_ofproto_rule_reduce_timeouts__(struct rule *, uint16_t, uint16_t);
void __wrap_ofproto_rule_reduce_timeouts(struct rule *, uint16_t, uint16_t);

static int n_reduced;

void
__real_ofproto_rule_reduce_timeouts__(struct rule *rule, uint16_t idle,
                                      uint16_t hard)
{
    ck_assert_int_eq(rule->state, RULE_INSERTED);
    ck_assert_uint_eq(idle, 3);
    ck_assert_uint_eq(hard, 7);
    ck_assert_int_ne(ovs_mutex_trylock(&ofproto_mutex), 0);
    n_reduced++;
}

START_TEST(timeouts_of_what_is_there)
{
    struct rule rule = { .state = RULE_INSERTED };

    n_reduced = 0;
    __wrap_ofproto_rule_reduce_timeouts(&rule, 3, 7);
    ck_assert_int_eq(n_reduced, 1);
    __wrap_ofproto_rule_reduce_timeouts(&rule, 0, 0);
    ck_assert_int_eq(n_reduced, 1);
    ovs_mutex_lock(&ofproto_mutex);
    __wrap_ofproto_rule_reduce_timeouts__(&rule, 3, 7);
    ovs_mutex_unlock(&ofproto_mutex);
    ck_assert_int_eq(n_reduced, 2);
}
END_TEST

START_TEST(timeouts_of_what_has_gone)
{
    static const enum rule_state states[] = { RULE_INITIALIZED, RULE_REMOVED };
    struct rule rule;

    n_reduced = 0;
    rule.state = states[_i];
    __wrap_ofproto_rule_reduce_timeouts(&rule, 3, 7);
    ovs_mutex_lock(&ofproto_mutex);
    __wrap_ofproto_rule_reduce_timeouts__(&rule, 3, 7);
    ovs_mutex_unlock(&ofproto_mutex);
    ck_assert_int_eq(n_reduced, 0);
}
END_TEST

/* Timeouts that have passed. */

void __real_ofproto_rule_expire(struct rule *, uint8_t reason);
void __wrap_ofproto_rule_expire(struct rule *, uint8_t reason);

static int n_expired;

void
__real_ofproto_rule_expire(struct rule *rule, uint8_t reason)
{
    ck_assert_int_eq(rule->state, RULE_INSERTED);
    ck_assert_uint_eq(reason, OFPRR_HARD_TIMEOUT);
    n_expired++;
}

START_TEST(only_what_is_there_expires)
{
    struct rule there = { .state = RULE_INSERTED };
    struct rule gone = { .state = RULE_REMOVED };

    n_expired = 0;
    ovs_mutex_lock(&ofproto_mutex);
    __wrap_ofproto_rule_expire(&gone, OFPRR_HARD_TIMEOUT);
    ck_assert_int_eq(n_expired, 0);
    __wrap_ofproto_rule_expire(&there, OFPRR_HARD_TIMEOUT);
    ovs_mutex_unlock(&ofproto_mutex);
    ck_assert_int_eq(n_expired, 1);
}
END_TEST

/* Labels to pop. */

bool __real_flow_pop_mpls(struct flow *, int n, ovs_be16 eth_type,
                          struct flow_wildcards *);
bool __wrap_flow_pop_mpls(struct flow *, int n, ovs_be16 eth_type,
                          struct flow_wildcards *);

bool
__real_flow_pop_mpls(struct flow *flow, int n, ovs_be16 eth_type,
                     struct flow_wildcards *wc)
{
    return flow_pop_mpls(flow, n, eth_type, wc);
}

START_TEST(labels_that_are_popped)
{
    const ovs_be32 bottom = htonl(MPLS_BOS_MASK);
    const ovs_be16 ip = htons(ETH_TYPE_IP);
    struct flow_wildcards wc;

    flow_wildcards_init_catchall(&wc);
    for (int n = 0; n <= FLOW_MAX_MPLS_LABELS; n++) {
        struct flow flow = { .dl_type = htons(ETH_TYPE_MPLS) };

        for (int i = 0; i < n; i++) {
            flow.mpls_lse[i] = htonl((i + 1) << MPLS_LABEL_SHIFT);
        }
        struct flow known = flow;
        struct flow asked = flow;

        /* What upstream can do it does; to a flow it may also fail. */
        ck_assert_int_eq(__wrap_flow_pop_mpls(&asked, n, ip, &wc),
                         n && n < FLOW_MAX_MPLS_LABELS);
        ck_assert_int_eq(__wrap_flow_pop_mpls(&flow, n, ip, NULL), n > 0);
        if (!n) {
            continue;
        }
        ck_assert_uint_eq(flow.dl_type, ip);
        for (int i = 0; i < FLOW_MAX_MPLS_LABELS; i++) {
            ck_assert_uint_eq(ntohl(flow.mpls_lse[i]),
                              i < n - 1 ? (i + 2) << MPLS_LABEL_SHIFT : 0);
        }

        /* With a lowest label there is nothing to be unsure of. */
        known.mpls_lse[n - 1] |= bottom;
        ck_assert(__wrap_flow_pop_mpls(&known, n, ip, NULL));
        ck_assert_uint_eq(known.mpls_lse[n > 1 ? n - 2 : 0],
                          n > 1 ? flow.mpls_lse[n - 2] | bottom : 0);
    }
}
END_TEST

/* Headers behind two tags. */

void __real_flow_extract(struct dp_packet *, struct flow *);
void __wrap_flow_extract(struct dp_packet *, struct flow *);

void
__real_flow_extract(struct dp_packet *packet, struct flow *flow)
{
    flow_extract(packet, flow);
}

/* With so many tags, which the flow has no room for or may not have. */
static void
check_headers(int n_tags, int limit)
{
    struct flow flow = { .dl_type = htons(ETH_TYPE_IP), .nw_proto = IPPROTO_UDP,
                         .nw_ttl = 64 };
    struct dp_packet *p = dp_packet_new(0);

    flow_limit_vlans(limit);
    flow_compose(p, &flow, NULL, 8);
    __wrap_flow_extract(p, &flow);
    ck_assert_uint_eq(p->l3_ofs, ETH_HEADER_LEN);
    for (int i = 0; i < n_tags; i++) {
        eth_push_vlan(p, htons(ETH_TYPE_VLAN), htons(i + 1));
    }

    __wrap_flow_extract(p, &flow);
    ck_assert_uint_eq(p->l3_ofs, ETH_HEADER_LEN + n_tags * VLAN_HEADER_LEN);
    ck_assert_uint_eq(p->l4_ofs, p->l3_ofs + IP_HEADER_LEN);
    ck_assert_uint_eq(p->l2_5_ofs, UINT16_MAX);
    ck_assert_uint_eq(p->l2_pad_size, 0);
    ck_assert_uint_eq(flow.dl_type, htons(n_tags > limit ? ETH_TYPE_VLAN
                                          : ETH_TYPE_IP));

    /* What wasn't known before is what was found now. */
    dp_packet_reset_offsets(p);
    __wrap_flow_extract(p, &flow);
    ck_assert_uint_eq(p->l3_ofs, ETH_HEADER_LEN
                      + MIN(n_tags, limit) * VLAN_HEADER_LEN);
    dp_packet_delete(p);
}

START_TEST(headers_behind_tags)
{
    for (int n_tags = 0; n_tags <= 2; n_tags++) {
        check_headers(n_tags, 1);
        check_headers(n_tags, 2);
    }
}
END_TEST

/* What hashes read. */

void __real_flow_mask_hash_fields(const struct flow *,
                                  struct flow_wildcards *,
                                  enum nx_hash_fields);
void __wrap_flow_mask_hash_fields(const struct flow *,
                                  struct flow_wildcards *,
                                  enum nx_hash_fields);

void
__real_flow_mask_hash_fields(const struct flow *flow,
                             struct flow_wildcards *wc,
                             enum nx_hash_fields fields)
{
    flow_mask_hash_fields(flow, wc, fields);
}

/* Changes to fields that aren't said to be read don't change the hash. */
static void
check_hash(enum nx_hash_fields fields, ovs_be16 dl_type)
{
    struct flow flow, other;
    struct flow_wildcards wc;

    flow_random_hash_fields(&flow);
    flow.dl_type = dl_type;
    flow.packet_type = htonl(PT_ETH);
    flow_wildcards_init_catchall(&wc);
    __wrap_flow_mask_hash_fields(&flow, &wc, fields);
    for (int i = 0; i < 100; i++) {
        uint64_t *bits = (uint64_t *) &other;
        const uint64_t *kept = (const uint64_t *) &flow;
        const uint64_t *mask = (const uint64_t *) &wc.masks;

        flow_random_hash_fields(&other);
        for (size_t j = 0; j < FLOW_U64S; j++) {
            bits[j] = (bits[j] & ~mask[j]) | (kept[j] & mask[j]);
        }
        /* Megaflows always depend on these. */
        other.dl_type = flow.dl_type;
        other.packet_type = flow.packet_type;
        other.nw_frag = flow.nw_frag;
        ck_assert_uint_eq(flow_hash_fields(&other, fields, 7),
                          flow_hash_fields(&flow, fields, 7));
    }
}

uint32_t __real_flow_hash_symmetric_l3l4(const struct flow *, uint32_t basis,
                                         bool inc_udp_ports);
uint32_t __wrap_flow_hash_symmetric_l3l4(const struct flow *, uint32_t basis,
                                         bool inc_udp_ports);

uint32_t
__real_flow_hash_symmetric_l3l4(const struct flow *flow, uint32_t basis,
                                bool inc_udp_ports)
{
    return flow_hash_symmetric_l3l4(flow, basis, inc_udp_ports);
}

/* A select group takes 0 for a hash that nobody computed. */
START_TEST(hash_of_nothing)
{
    struct flow flow = { .dl_type = htons(ETH_TYPE_IPV6) };

    ck_assert_uint_eq(flow_hash_symmetric_l3l4(&flow, 0, false), 0);
    ck_assert_uint_ne(__wrap_flow_hash_symmetric_l3l4(&flow, 0, false), 0);
    flow.nw_proto = IPPROTO_TCP;
    ck_assert_uint_eq(__wrap_flow_hash_symmetric_l3l4(&flow, 0, false),
                      flow_hash_symmetric_l3l4(&flow, 0, false));
}
END_TEST

START_TEST(what_hashes_read)
{
    static const enum nx_hash_fields all[] = {
        NX_HASH_FIELDS_ETH_SRC, NX_HASH_FIELDS_SYMMETRIC_L4,
        NX_HASH_FIELDS_SYMMETRIC_L3L4, NX_HASH_FIELDS_SYMMETRIC_L3L4_UDP,
        NX_HASH_FIELDS_NW_SRC, NX_HASH_FIELDS_NW_DST,
        NX_HASH_FIELDS_SYMMETRIC_L3,
    };
    static const uint16_t types[] = { ETH_TYPE_IP, ETH_TYPE_IPV6,
                                      ETH_TYPE_VLAN, ETH_TYPE_MPLS, 0x88cc };

    flow_limit_vlans(FLOW_MAX_VLAN_HEADERS);
    for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
        for (size_t j = 0; j < ARRAY_SIZE(types); j++) {
            check_hash(all[i], htons(types[j]));
        }
    }
}
END_TEST

/* Ports of a packet that is cut. */

void __real_packet_set_tcp_port(struct dp_packet *, ovs_be16, ovs_be16);
void __wrap_packet_set_tcp_port(struct dp_packet *, ovs_be16, ovs_be16);
void __real_packet_set_sctp_port(struct dp_packet *, ovs_be16, ovs_be16);
void __wrap_packet_set_sctp_port(struct dp_packet *, ovs_be16, ovs_be16);

static int n_whole;

void
__real_packet_set_tcp_port(struct dp_packet *p, ovs_be16 src OVS_UNUSED,
                           ovs_be16 dst OVS_UNUSED)
{
    ck_assert_uint_ge(dp_packet_l4_size(p), TCP_HEADER_LEN);
    n_whole++;
}

void
__real_packet_set_sctp_port(struct dp_packet *p, ovs_be16 src OVS_UNUSED,
                            ovs_be16 dst OVS_UNUSED)
{
    ck_assert_uint_ge(dp_packet_l4_size(p), SCTP_HEADER_LEN);
    n_whole++;
}

/* Of a header with so many bytes. */
static void
check_ports(size_t size, void (*set)(struct dp_packet *, ovs_be16, ovs_be16),
            size_t whole)
{
    struct dp_packet *p = dp_packet_new(0);
    const uint8_t expected[] = { 0, 7, 0, 9 };

    dp_packet_put_zeros(p, ETH_HEADER_LEN + size);
    dp_packet_set_l3(p, dp_packet_data(p));
    dp_packet_set_l4(p, (char *) dp_packet_data(p) + ETH_HEADER_LEN);
    n_whole = 0;
    set(p, htons(7), htons(9));
    ck_assert_int_eq(n_whole, size >= whole);
    if (size < whole && size >= sizeof expected) {
        ck_assert_mem_eq(dp_packet_l4(p), expected, sizeof expected);
    }
    dp_packet_delete(p);
}

START_TEST(ports_of_cut_packets)
{
    for (size_t size = 0; size <= 24; size++) {
        check_ports(size, __wrap_packet_set_tcp_port, TCP_HEADER_LEN);
        check_ports(size, __wrap_packet_set_sctp_port, SCTP_HEADER_LEN);
    }
}
END_TEST

/* Reports of groups. */

__typeof__(mcast_snooping_add_mld) __real_mcast_snooping_add_mld;
__typeof__(mcast_snooping_add_mld) __wrap_mcast_snooping_add_mld;
__typeof__(mcast_snooping_add_report) __real_mcast_snooping_add_report;
__typeof__(mcast_snooping_add_report) __wrap_mcast_snooping_add_report;

int
__real_mcast_snooping_add_mld(struct mcast_snooping *ms,
                              const struct dp_packet *p, uint16_t vlan,
                              void *port)
{
    return mcast_snooping_add_mld(ms, p, vlan, port);
}

/* Upstream passes as many records as the report says that it has. */
int
__real_mcast_snooping_add_report(struct mcast_snooping *ms,
                                 const struct dp_packet *p, uint16_t vlan,
                                 void *port)
{
    const struct igmpv3_header *header = dp_packet_l4(p);

    ck_assert_uint_le(ntohs(header->ngrp) * IGMPV3_RECORD_LEN,
                      dp_packet_l4_size(p) - IGMPV3_HEADER_LEN);
    return mcast_snooping_add_report(ms, p, vlan, port);
}

/* How many groups are learned from, or left by, a message of so many bytes,
 * behind which are so many of padding. */
static int
groups_of(__typeof__(mcast_snooping_add_mld) *add, const void *message,
          size_t size, size_t n_padding)
{
    struct mcast_snooping *ms = mcast_snooping_create();
    struct dp_packet *p = dp_packet_new(size + n_padding);
    int port;

    dp_packet_put(p, message, size);
    dp_packet_put_zeros(p, n_padding);
    dp_packet_set_l2_pad_size(p, n_padding);
    dp_packet_set_l3(p, dp_packet_data(p));
    dp_packet_set_l4(p, dp_packet_data(p));
    ovs_rwlock_wrlock(&ms->rwlock);
    int n = add(ms, p, 0, &port);
    ovs_rwlock_unlock(&ms->rwlock);
    dp_packet_delete(p);
    mcast_snooping_unref(ms);
    return n;
}

START_TEST(groups_of_cut_mld)
{
    static const uint8_t types[] = { MLD_REPORT, MLD_DONE };
    const size_t whole = MLD_HEADER_LEN + sizeof(struct in6_addr);
    const uint8_t message[] = { types[_i], [8] = 0xff, 2, [23] = 9 };

    ck_assert_uint_eq(sizeof message, whole);
    for (size_t size = 0; size <= whole; size++) {
        const bool learned = size == whole && types[_i] == MLD_REPORT;

        ck_assert_int_eq(groups_of(__wrap_mcast_snooping_add_mld, message,
                                   size, 0), learned);
        ck_assert_int_eq(groups_of(__wrap_mcast_snooping_add_mld, message,
                                   size, 32), learned);
    }
}
END_TEST

START_TEST(groups_of_mld2)
{
    const uint8_t message[] = {
        MLD2_REPORT, [7] = 1,
        [8] = IGMPV3_MODE_IS_EXCLUDE, [12] = 0xff, 2, [27] = 9,
    };

    for (size_t size = 0; size <= sizeof message; size++) {
        ck_assert_int_eq(groups_of(__wrap_mcast_snooping_add_mld, message,
                                   size, 0), size == sizeof message);
    }
}
END_TEST

START_TEST(groups_of_igmp)
{
    uint8_t message[] = {
        IGMPV3_HOST_MEMBERSHIP_REPORT, [7] = 2,
        [8] = IGMPV3_MODE_IS_EXCLUDE, [12] = 224, 1, 1, 1,
        [16] = IGMPV3_MODE_IS_EXCLUDE, [20] = 224, 1, 1, 2,
    };

    for (size_t size = 0; size <= sizeof message; size++) {
        ck_assert_int_eq(groups_of(__wrap_mcast_snooping_add_report, message,
                                   size, 0), size == sizeof message ? 2 : 0);
    }

    /* One of an unknown type, to begin with. */
    message[8] = 99;
    message[6] = message[7] = 0xff;
    ck_assert_int_eq(groups_of(__wrap_mcast_snooping_add_report, message,
                               sizeof message, 0), 0);
}
END_TEST

/* GTP-U headers. */

__typeof__(netdev_gtpu_pop_header) __real_netdev_gtpu_pop_header;
__typeof__(netdev_gtpu_pop_header) __wrap_netdev_gtpu_pop_header;

struct dp_packet *
__real_netdev_gtpu_pop_header(struct dp_packet *packet)
{
    return netdev_gtpu_pop_header(packet);
}

/* What remains, without its header, of a packet of IPv4 and UDP that has so
 * many bytes behind the IP header: -1 for none. */
static int64_t
popped_size(uint8_t flags, uint8_t type, size_t size)
{
    const uint8_t gtpu[] = { flags, type };
    const size_t l4_ofs = ETH_HEADER_LEN + IP_HEADER_LEN;
    struct dp_packet *p = dp_packet_new(l4_ofs + size);
    uint8_t *data = dp_packet_put_zeros(p, l4_ofs + size);
    struct ip_header *ip = (void *) (data + ETH_HEADER_LEN);

    ip->ip_ihl_ver = IP_IHL_VER(5, 4);
    ip->ip_tot_len = htons(IP_HEADER_LEN + size);
    ip->ip_proto = IPPROTO_UDP;
    ip->ip_csum = csum(ip, IP_HEADER_LEN);
    for (size_t i = UDP_HEADER_LEN; i < size; i++) {
        const size_t ofs = i - UDP_HEADER_LEN;

        data[l4_ofs + i] = (ofs < sizeof gtpu ? gtpu[ofs]
                            : IP_IHL_VER(5, 4));
    }
    dp_packet_set_l3(p, ip);
    dp_packet_set_l4(p, data + l4_ofs);
    p = __wrap_netdev_gtpu_pop_header(p);
    int64_t n = p ? (int64_t) dp_packet_size(p) : -1;
    dp_packet_delete(p);
    return n;
}

START_TEST(cut_gtpu)
{
    static const uint8_t flags[] = { GTPU_FLAGS_DEFAULT,
                                     GTPU_FLAGS_DEFAULT | GTPU_S_MASK };
    const size_t header_len = UDP_HEADER_LEN + sizeof(struct gtpuhdr);
    const int64_t whole_len = (header_len
                               + (_i ? sizeof(struct gtpuhdr_opt) : 0));

    for (int64_t size = 0; size < 64; size++) {
        const int64_t n = popped_size(flags[_i], GTPU_MSGTYPE_GPDU, size);

        ck_assert_int_le(n, MAX(size - whole_len, -1));
        if (size >= whole_len + IP_HEADER_LEN) {
            ck_assert_int_eq(n, size - whole_len);
        }

        /* Of other messages nothing is taken away. */
        ck_assert_int_eq(popped_size(flags[_i], GTPU_MSGTYPE_REQ, size),
                         size < (int64_t) header_len
                         ? -1 : ETH_HEADER_LEN + IP_HEADER_LEN + size);
    }
}
END_TEST

/* Neighbours of a port. */

__typeof__(lldp_process_packet) __real_lldp_process_packet;
__typeof__(lldp_process_packet) __wrap_lldp_process_packet;

void
__real_lldp_process_packet(struct lldp *lldp, const struct dp_packet *packet)
{
    lldp_process_packet(lldp, packet);
}

/* Neighbour 'i' tells of itself. */
static void
tell_of_neighbor(struct lldp *lldp, uint8_t i)
{
    const uint8_t frame[] = {
        0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e, 2, 0, 0, 0, 0, i, 0x88, 0xcc,
        1 << 1, 7, LLDP_CHASSISID_SUBTYPE_LLADDR, 2, 0, 0, 0, 0, i,
        2 << 1, 3, LLDP_PORTID_SUBTYPE_IFNAME, 'p', '0',
        3 << 1, 2, 0, 120,
        0, 0,
    };
    struct dp_packet *p = dp_packet_clone_data(frame, sizeof frame);

    __wrap_lldp_process_packet(lldp, p);
    dp_packet_delete(p);
}

START_TEST(neighbors_of_a_port)
{
    enum { MAX_NEIGHBORS = 32 };
    struct lldp *lldp = lldp_create_dummy();
    struct lldpd *lldpd = lldp->lldpd;
    struct lldpd_hardware *hw = lldpd_first_hardware(lldpd);
    struct lldpd_chassis *chassis;

    for (int i = 0; i < 2 * MAX_NEIGHBORS; i++) {
        const size_t n = MIN(i + 1, MAX_NEIGHBORS);

        tell_of_neighbor(lldp, i);
        ck_assert_uint_eq(ovs_list_size(&hw->h_rports), n);
        ck_assert_uint_eq(ovs_list_size(&lldpd->g_chassis), n + 1);
    }

    lldpd_remote_cleanup(hw, NULL, true);
    LIST_FOR_EACH_SAFE (chassis, list, &lldpd->g_chassis) {
        if (chassis->c_index) {         /* Not our own. */
            ovs_list_remove(&chassis->list);
            lldpd_chassis_cleanup(chassis, true);
        }
    }
    lldp_destroy_dummy(lldp);
    __wrap_lldp_process_packet(NULL, NULL);
}
END_TEST

/* Numbers of meters: one thread at a time is in the pool. */

bool __real_id_pool_alloc_id(struct id_pool *, uint32_t *id);
bool __wrap_id_pool_alloc_id(struct id_pool *, uint32_t *id);
void __real_id_pool_free_id(struct id_pool *, uint32_t id);
void __wrap_id_pool_free_id(struct id_pool *, uint32_t id);

enum { N_ROUNDS = 100000 };
static uint64_t n_calls;        /* Loses some if two add to it at once. */

bool
__real_id_pool_alloc_id(struct id_pool *pool, uint32_t *id)
{
    ck_assert_ptr_null(pool);
    *(volatile uint64_t *) &n_calls += 1;
    *id = 9;
    return true;
}

void
__real_id_pool_free_id(struct id_pool *pool, uint32_t id)
{
    ck_assert_ptr_null(pool);
    ck_assert_uint_eq(id, 9);
    *(volatile uint64_t *) &n_calls += 1;
}

static void *
take_and_give(void *aux OVS_UNUSED)
{
    for (int i = 0; i < N_ROUNDS; i++) {
        uint32_t id;

        ck_assert(__wrap_id_pool_alloc_id(NULL, &id));
        __wrap_id_pool_free_id(NULL, id);
    }
    return NULL;
}

START_TEST(numbers_of_meters)
{
    pthread_t other = ovs_thread_create("other", take_and_give, NULL);

    take_and_give(NULL);
    xpthread_join(other, NULL);
    ck_assert_uint_eq(n_calls, 4 * N_ROUNDS);
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("wraps");

    tcase_add_test(tc, timeouts_of_what_is_there);
    tcase_add_loop_test(tc, timeouts_of_what_has_gone, 0, 2);
    tcase_add_test(tc, only_what_is_there_expires);
    tcase_add_test(tc, labels_that_are_popped);
    tcase_add_test(tc, headers_behind_tags);
    tcase_add_test(tc, what_hashes_read);
    tcase_add_test(tc, hash_of_nothing);
    tcase_add_test(tc, ports_of_cut_packets);
    tcase_add_loop_test(tc, groups_of_cut_mld, 0, 2);
    tcase_add_test(tc, groups_of_mld2);
    tcase_add_test(tc, groups_of_igmp);
    tcase_add_loop_test(tc, cut_gtpu, 0, 2);
    tcase_add_test(tc, neighbors_of_a_port);
    tcase_add_test(tc, numbers_of_meters);

    Suite *suite = suite_create("wraps");
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
