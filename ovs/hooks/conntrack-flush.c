/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack-half-open.c, see conntrack-flush.h. */

#include "conntrack-flush.h"

#include "openvswitch/list.h"
#include "openvswitch/ofp-ct.h"

/* So many connections are looked at before grace periods may end. */
#define FLUSH_STEP 64

struct conntrack_flush {
    struct ovs_refcount ref_cnt;
    atomic_bool done;
    struct ovs_list node;       /* In the flusher's 'jobs', until done. */

    bool has_zone;
    uint16_t zone;
    bool has_match;
    struct ofp_ct_match match;
};

/* What flushes one connection tracker. */
struct flusher {
    struct ovs_list node;       /* In 'flushers'. */
    struct conntrack *ct;
    struct ovs_list jobs;       /* The first one is under way.  Under
                                 * 'flush_mutex'. */
    pthread_t thread;
    struct latch exit;
    struct seq *seq;            /* Changes when there is a job more. */
};

static struct ovs_mutex flush_mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list flushers OVS_GUARDED_BY(flush_mutex)
    = OVS_LIST_INITIALIZER(&flushers);

struct seq *
conntrack_flush_seq(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;
    static struct seq *seq;

    if (ovsthread_once_start(&once)) {
        seq = seq_create();
        ovsthread_once_done(&once);
    }
    return seq;
}

/* Which connections. */

uint8_t
conntrack_flush_reply_type(const struct ct_dpif_tuple *tuple)
{
    const uint8_t type = tuple->icmp_type;

    if (tuple->ip_proto == IPPROTO_ICMPV6) {
        return (type == ICMP6_ECHO_REQUEST || type == ICMP6_ECHO_REPLY
                ? reverse_icmp6_type(type) : type);
    }
    switch (type) {
    case ICMP4_ECHO_REQUEST:
    case ICMP4_ECHO_REPLY:
    case ICMP4_TIMESTAMP:
    case ICMP4_TIMESTAMPREPLY:
    case ICMP4_INFOREQUEST:
    case ICMP4_INFOREPLY:
        return reverse_icmp_type(type);
    default:
        return type;
    }
}

static bool
address_fits(const union ct_dpif_inet_addr *addr,
             const struct in6_addr *wanted, uint16_t family)
{
    return (ipv6_is_zero(wanted)
            || (family == AF_INET
                ? addr->ip == in6_addr_get_mapped_ipv4(wanted)
                : family != AF_INET6
                  || ipv6_addr_equals(&addr->in6, wanted)));
}

static bool
port_fits(ovs_be16 port, ovs_be16 wanted)
{
    return !wanted || port == wanted;
}

static bool
tuple_fits(const struct conn_key *key, const struct ofp_ct_tuple *wanted,
           const struct ofp_ct_match *match)
{
    struct ct_dpif_tuple tuple;

    memset(&tuple, 0, sizeof tuple);
    conn_key_to_tuple(key, &tuple);
    if (!address_fits(&tuple.src, &wanted->src, match->l3_type)
        || !address_fits(&tuple.dst, &wanted->dst, match->l3_type)) {
        return false;
    }
    if (match->ip_proto == IPPROTO_ICMP
        || match->ip_proto == IPPROTO_ICMPV6) {
        return (tuple.icmp_id == wanted->icmp_id
                && tuple.icmp_type == wanted->icmp_type
                && tuple.icmp_code == wanted->icmp_code);
    }
    return (port_fits(tuple.src_port, wanted->src_port)
            && port_fits(tuple.dst_port, wanted->dst_port));
}

static bool
conn_fits(const struct conn *conn, const struct ofp_ct_match *match)
{
    uint16_t family = (conn->key.dl_type == htons(ETH_TYPE_IP) ? AF_INET
                       : AF_INET6);

    return ((!match->l3_type || match->l3_type == family)
            && (!match->ip_proto || match->ip_proto == conn->key.nw_proto)
            && tuple_fits(&conn->key, &match->tuple_orig, match)
            && tuple_fits(&conn->rev_key, &match->tuple_reply, match));
}

static bool
flush_is_about(const struct conntrack_flush *job, const struct conn *conn)
{
    return ((!job->has_zone || conn->key.zone == job->zone)
            && (!job->has_match || conn_fits(conn, &job->match)));
}

/* Taking them out. */

struct flush_walk {
    struct conntrack *ct;
    const struct conntrack_flush *job;
    const struct rculist *list;
    struct conn *at;            /* In the list, claimed; NULL: before it. */
    struct eviction leaving;
};

/* 'conn' is claimed. */
static void
flush_conn(struct flush_walk *w, struct conn *conn)
{
    uint32_t basis = w->ct->hash_basis;
    struct half_open_entry e = {
        .conn = conn,
        .hash = conn_key_hash(&conn->key, basis),
        .un_nat_hash = (conn->nat_conn
                        ? conn_key_hash(&conn->nat_conn->key, basis) : 0),
    };

    evict_add(w->ct, &w->leaving, &e);
}

/* Goes on through the list.  Returns false at its end. */
static bool
flush_step(struct flush_walk *w)
{
    const struct rculist *p = rculist_next(w->at ? &w->at->node : w->list);
    size_t n_seen = 0;

    if (w->at) {
        flush_conn(w, w->at);
        w->at = NULL;
    }
    for (; p != w->list && !w->at; p = rculist_next(p)) {
        struct conn *conn = CONTAINER_OF(p, struct conn, node);

        n_seen++;
        if (flush_is_about(w->job, conn)
            && !atomic_flag_test_and_set(&conn->reclaimed)) {
            if (n_seen >= FLUSH_STEP) {
                w->at = conn;
            } else {
                flush_conn(w, conn);
            }
        }
    }
    evict_all(w->ct, &w->leaving);
    return w->at != NULL;
}

/* Does the job, or what of it there is time for until the thread is to
 * exit. */
static void
flush_all(struct flusher *f, const struct conntrack_flush *job)
{
    for (size_t i = 0; i < N_EXP_LISTS; i++) {
        struct flush_walk w = {
            .ct = f->ct, .job = job, .list = &f->ct->exp_lists[i],
        };

        /* What is claimed leaves in any case. */
        while (flush_step(&w)) {
            ovsrcu_quiesce();
        }
        ovsrcu_quiesce();
        if (latch_is_set(&f->exit)) {
            return;
        }
    }
}

static struct conntrack_flush *
flusher_next(struct flusher *f)
    OVS_EXCLUDED(flush_mutex)
{
    struct conntrack_flush *job = NULL;

    ovs_mutex_lock(&flush_mutex);
    if (!ovs_list_is_empty(&f->jobs)) {
        job = CONTAINER_OF(ovs_list_front(&f->jobs), struct conntrack_flush,
                           node);
    }
    ovs_mutex_unlock(&flush_mutex);
    return job;
}

static void
flusher_finish(struct conntrack_flush *job)
    OVS_EXCLUDED(flush_mutex)
{
    ovs_mutex_lock(&flush_mutex);
    ovs_list_remove(&job->node);
    ovs_mutex_unlock(&flush_mutex);
    atomic_store_explicit(&job->done, true, memory_order_release);
    conntrack_flush_unref(job);
    seq_change(conntrack_flush_seq());
}

static void *
flusher_main(void *f_)
{
    struct flusher *f = f_;

    while (!latch_is_set(&f->exit)) {
        uint64_t seqno = seq_read(f->seq);
        struct conntrack_flush *job = flusher_next(f);

        if (job) {
            flush_all(f, job);
            flusher_finish(job);
        } else {
            seq_wait(f->seq, seqno);
            latch_wait(&f->exit);
            poll_block();
        }
    }
    return NULL;
}

/* Beginning and end. */

static struct flusher *
flusher_find(const struct conntrack *ct)
    OVS_REQUIRES(flush_mutex)
{
    struct flusher *f;

    LIST_FOR_EACH (f, node, &flushers) {
        if (f->ct == ct) {
            return f;
        }
    }
    return NULL;
}

static struct flusher *
flusher_create(struct conntrack *ct)
    OVS_REQUIRES(flush_mutex)
{
    struct flusher *f = xzalloc(sizeof *f);

    f->ct = ct;
    ovs_list_init(&f->jobs);
    latch_init(&f->exit);
    f->seq = seq_create();
    ovs_list_push_back(&flushers, &f->node);
    f->thread = ovs_thread_create("ct_flush", flusher_main, f);
    return f;
}

/* Before 'ct' goes. */
static void
flusher_stop(struct conntrack *ct)
    OVS_EXCLUDED(flush_mutex)
{
    struct conntrack_flush *job;
    struct flusher *f;

    ovs_mutex_lock(&flush_mutex);
    f = flusher_find(ct);
    if (f) {
        ovs_list_remove(&f->node);
    }
    ovs_mutex_unlock(&flush_mutex);
    if (!f) {
        return;
    }

    latch_set(&f->exit);
    xpthread_join(f->thread, NULL);
    while ((job = flusher_next(f))) {
        flusher_finish(job);
    }
    latch_destroy(&f->exit);
    seq_destroy(f->seq);
    free(f);
}

struct conntrack_flush *
conntrack_flush_begin(struct conntrack *ct, const uint16_t *zone,
                      const struct ofp_ct_match *match)
{
    struct conntrack_flush *job = xzalloc(sizeof *job);
    struct flusher *f;

    ovs_refcount_init(&job->ref_cnt);
    ovs_refcount_ref(&job->ref_cnt);            /* The flusher's. */
    atomic_init(&job->done, false);
    job->has_zone = zone;
    job->zone = zone ? *zone : 0;
    job->has_match = match;
    if (match) {
        job->match = *match;
    }

    ovs_mutex_lock(&flush_mutex);
    f = flusher_find(ct);
    if (!f) {
        f = flusher_create(ct);
    }
    ovs_list_push_back(&f->jobs, &job->node);
    seq_change(f->seq);
    ovs_mutex_unlock(&flush_mutex);
    return job;
}

bool
conntrack_flush_is_done(const struct conntrack_flush *job)
{
    bool done;

    atomic_read_explicit(&job->done, &done, memory_order_acquire);
    return done;
}

void
conntrack_flush_unref(struct conntrack_flush *job)
{
    if (ovs_refcount_unref(&job->ref_cnt) == 1) {
        free(job);
    }
}
