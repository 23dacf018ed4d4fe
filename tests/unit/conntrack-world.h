/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_CONNTRACK_WORLD_H
#define TESTS_CONNTRACK_WORLD_H 1

/* The world of test-conntrack-track and test-conntrack-ref: two connection
 * trackers, talks whose packets pass through them, and what sessions would
 * have kept of these. */

#include <check.h>
#include "conntrack.h"
#include "conntrack-pool.h"
#include "conntrack-private.h"
#include "conntrack-table.h"
#include "conntrack-tp.h"
#include "conntrack-track.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "random.h"
#include "talk.h"
#include "test-seed.h"
#include "timeval.h"
#include "util.h"
#include "wait-until.h"

enum { N_TALKS = 24, N_KINDS = 8 };

/* What a session of one direction would have kept. */
struct memo {
    bool valid;
    long long int settled_until;
    struct conntrack_ref ref;
    struct conntrack_expect expect;
};

struct world {
    struct conntrack *stock, *ours;
    struct talk talks[N_TALKS];
    struct memo memos[N_TALKS][2];      /* Of 'ours', by direction. */
    long long int now;
    struct conntrack_clock clock;

    int n_est, n_fast, n_fast_new, n_settled, n_gone, n_refused[2], n_natted;
};

static struct memo *
memo_of(struct world *w, const struct talk *k, int dir)
{
    return &w->memos[k - w->talks][dir];
}

/* ct(). */

struct request {
    bool commit, force;
    bool set_mark, set_label;
    uint32_t mark[2];
    struct ovs_key_ct_labels label[2];
};

static void
execute(struct conntrack *ct, const struct talk *k, const struct request *r,
        struct dp_packet *p, long long int now)
{
    const struct tuple *t = &k->translated;
    struct nat_action_info_t nat;
    struct dp_packet_batch batch;

    memset(&nat, 0, sizeof nat);
    if (r->commit) {
        nat.nat_action = NAT_ACTION_DST | NAT_ACTION_DST_PORT;
        nat.min_port = nat.max_port = t->tp_dst;
        if (t->ipv6) {
            nat.min_addr.ipv6 = nat.max_addr.ipv6 = t->dst;
        } else {
            nat.min_addr.ipv4 = nat.max_addr.ipv4
                = in6_addr_get_mapped_ipv4(&t->dst);
        }
    }
    dp_packet_batch_init_packet(&batch, p);
    conntrack_execute(ct, &batch,
                      t->ipv6 ? htons(ETH_TYPE_IPV6) : htons(ETH_TYPE_IP),
                      r->force, r->commit, k->zone,
                      r->set_mark ? r->mark : NULL,
                      r->set_label ? r->label : NULL, 0, 0, NULL,
                      k->nat ? &nat : NULL, now, 0);
}

/* Connections. */

static bool
is_live(const struct conn *conn, long long int now)
{
    long long int expiration;

    atomic_read_relaxed(&CONST_CAST(struct conn *, conn)->expiration,
                        &expiration);
    return conn->conn_type == CT_CONN_TYPE_DEFAULT && now < expiration;
}

static void
key_init(struct conn_key *key, const struct tuple *t, uint16_t zone)
{
    memset(key, 0, sizeof *key);
    if (t->ipv6) {
        key->dl_type = htons(ETH_TYPE_IPV6);
        key->src.addr.ipv6 = t->src;
        key->dst.addr.ipv6 = t->dst;
    } else {
        key->dl_type = htons(ETH_TYPE_IP);
        key->src.addr.ipv4 = in6_addr_get_mapped_ipv4(&t->src);
        key->dst.addr.ipv4 = in6_addr_get_mapped_ipv4(&t->dst);
    }
    key->src.port = htons(t->tp_src);
    key->dst.port = htons(t->tp_dst);
    key->nw_proto = t->nw_proto;
    key->zone = zone;
}

static bool
keys_equal(const struct conn_key *a, const struct conn_key *b)
{
    return (!memcmp(&a->src, &b->src, sizeof a->src)
            && !memcmp(&a->dst, &b->dst, sizeof a->dst)
            && a->dl_type == b->dl_type && a->nw_proto == b->nw_proto
            && a->zone == b->zone);
}

/* All but un-NAT twins.  The table may have room for far more than there are;
 * these lists have none. */
#define FOR_EACH_CONN(CONN, CT)                                     \
    for (size_t LIST = 0; LIST < N_EXP_LISTS; LIST++)               \
        RCULIST_FOR_EACH (CONN, node, &(CT)->exp_lists[LIST])

/* The connection of packets with 'key', and their direction. */
static struct conn *
find_conn(struct conntrack *ct, const struct conn_key *key, long long int now,
          bool *reply)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct conn *conn;

    FOR_EACH_CONN (conn, ct) {
        if (is_live(conn, now)) {
            *reply = keys_equal(&conn->rev_key, key);
            if (*reply || keys_equal(&conn->key, key)) {
                return conn;
            }
        }
    }
    return NULL;
}

/* Remembers the connection that the packet was in. */
static void
remember(struct world *w, const struct talk *k, int dir,
         const struct dp_packet *p)
{
    struct memo *memo = memo_of(w, k, dir);
    uint8_t state = p->md.ct_state;
    struct conn_key key;
    struct conn *conn;
    bool reply;

    if (!(state & (CS_NEW | CS_ESTABLISHED))) {
        /* The next packet may find again what the one before found.  (A SYN to
         * a closed connection may get a state of mere CS_TRACKED.) */
        return;
    }
    key_init(&key, &k->tuples[dir], k->zone);
    conn = find_conn(w->ours, &key, w->now, &reply);
    ck_assert(conn || state & CS_NEW);
    memo->valid = conn && conntrack_ref_init(&memo->ref, conn);
    memo->settled_until = 0;
    if (memo->valid) {
        ck_assert(state & CS_NEW || reply == !!(state & CS_REPLY_DIR));
        memo->expect.mark = p->md.ct_mark;
        memo->expect.label = p->md.ct_label;
        memo->expect.reply = reply;
        memo->expect.is_new = state & CS_NEW;
        memo->expect.nat = conntrack_track_nat(conn, reply);
        ck_assert(k->nat || !memo->expect.nat);
    }
}

static inline void
setup(void)
{
    test_seed_random();
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
}

static void
world_init(struct world *w)
{
    memset(w, 0, sizeof *w);
    w->stock = conntrack_init();
    w->ours = conntrack_init();
    /* Connections outside of the pool can't be referred to. */
    conntrack_set_maxconns(w->ours, 1000000);
    conntrack_pool_run(w->ours);
    wait_until(conntrack_table_is_ready(w->ours));
    /* So far ahead that the threads that look for expired connections, which
     * go by the real clock, leave them alone. */
    w->now = time_msec() + 1000LL * 1000 * 1000;
    conntrack_clock_init(&w->clock, w->now);
    for (int i = 0; i < N_TALKS; i++) {
        talk_init(&w->talks[i], i, i / N_KINDS);
        talk_restart(&w->talks[i]);
    }
}

static void
world_uninit(struct world *w)
{
    conntrack_destroy(w->stock);
    conntrack_destroy(w->ours);
    ovsrcu_barrier();
}

#endif /* conntrack-world.h */
