/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_HANDOVER_WORLD_H
#define TESTS_HANDOVER_WORLD_H 1

/* Connections that are handed over by bytes in memory, and packets that go
 * through one connection tracker or through two, which must agree. */

#include <check.h>
#include "conntrack.h"
#include "conntrack-handover.h"
#include "conntrack-private.h"
#include "conntrack-tp.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "talk.h"
#include "util.h"

enum { ZONE = 7 };

static long long int now;

/* Saving to memory. */

static inline bool
append(const void *data, size_t len, void *bytes)
{
    ofpbuf_put(bytes, data, len);
    return true;
}

static inline struct conntrack_handover_counts
save(struct conntrack *ct, struct ofpbuf *bytes)
{
    struct conntrack_handover_counts counts;

    ofpbuf_init(bytes, 0);
    ck_assert(conntrack_handover_save(ct, now, append, bytes, &counts));
    return counts;
}

static inline struct conntrack_handover_counts
restore(struct conntrack *ct, const struct ofpbuf *bytes, int age_ms)
{
    struct conntrack_handover_counts counts;

    ck_assert_ptr_null(conntrack_handover_restore(ct, bytes->data,
                                                  bytes->size, now, age_ms,
                                                  &counts));
    return counts;
}

static inline uint32_t
n_conns(struct conntrack *ct)
{
    uint32_t n;

    conntrack_get_nconns(ct, &n);
    return n;
}

/* The connection from 'port', or NULL. */
static inline struct conn *
find_conn(struct conntrack *ct, uint16_t port)
{
    struct conn *conn;

    for (size_t i = 0; i < N_EXP_LISTS; i++) {
        RCULIST_FOR_EACH (conn, node, &ct->exp_lists[i]) {
            if (conn->key.src.port == htons(port)) {
                return conn;
            }
        }
    }
    return NULL;
}

/* ct(). */

struct request {
    bool commit, force;
    bool set_mark, set_label;
    uint32_t mark[2];
    struct ovs_key_ct_labels label[2];
    uint16_t zone;
    const char *helper;
    struct nat_action_info_t *nat;
    uint32_t tp_id;
};

static inline void
execute(struct conntrack *ct, bool ipv6, const struct request *r,
        struct dp_packet *p)
{
    struct dp_packet_batch batch;

    dp_packet_batch_init_packet(&batch, p);
    conntrack_execute(ct, &batch, htons(ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP),
                      r->force, r->commit, r->zone,
                      r->set_mark ? r->mark : NULL,
                      r->set_label ? r->label : NULL, 0, 0, r->helper, r->nat,
                      now, r->tp_id);
}

/* The same packet through both, if there are two. */
static inline uint8_t
pass(struct conntrack *a, struct conntrack *b, bool ipv6,
     const struct request *r, struct dp_packet *p)
{
    struct dp_packet *q = dp_packet_clone(p);
    uint8_t state;

    execute(a, ipv6, r, p);
    state = p->md.ct_state;
    if (b) {
        execute(b, ipv6, r, q);
        ck_assert(q->md.ct_state == state);
        ck_assert(q->md.ct_zone == p->md.ct_zone);
        ck_assert(q->md.ct_mark == p->md.ct_mark);
        ck_assert(ovs_u128_equals(q->md.ct_label, p->md.ct_label));
        ck_assert(!memcmp(&q->md.ct_orig_tuple, &p->md.ct_orig_tuple,
                          sizeof q->md.ct_orig_tuple));
        ck_assert(dp_packet_size(q) == dp_packet_size(p));
        ck_assert(!memcmp(dp_packet_data(q), dp_packet_data(p),
                          dp_packet_size(p)));
    }
    dp_packet_delete(p);
    dp_packet_delete(q);
    return state;
}

/* Packets between two hosts. */

static inline struct tuple
make_tuple(bool ipv6, uint8_t nw_proto, bool reply)
{
    struct tuple t = { .ipv6 = ipv6, .nw_proto = nw_proto };

    ipv6_parse(ipv6 ? "fd00::1" : "::ffff:10.0.0.1", &t.src);
    ipv6_parse(ipv6 ? "fd00::2" : "::ffff:10.0.0.2", &t.dst);
    t.tp_src = 1000;
    t.tp_dst = 2000;
    if (reply) {
        struct in6_addr addr = t.src;

        t.src = t.dst;
        t.dst = addr;
        t.tp_src = 2000;
        t.tp_dst = 1000;
    }
    return t;
}

static inline struct dp_packet *
udp(uint16_t tp_src, bool reply)
{
    struct tuple t = make_tuple(false, IPPROTO_UDP, reply);

    *(reply ? &t.tp_dst : &t.tp_src) = tp_src;
    return talk_compose(&t, NULL, 10);
}

/* Timeout policies. */

static inline void
set_policy(struct conntrack *ct, uint32_t id, enum ct_dpif_tp_attr attr,
           uint32_t seconds)
{
    struct timeout_policy tp = { .policy = { .id = id } };

    tp.policy.present = 1 << attr;
    tp.policy.attrs[attr] = seconds;
    ck_assert_int_eq(timeout_policy_update(ct, &tp), 0);
}

#endif /* handover-world.h */
