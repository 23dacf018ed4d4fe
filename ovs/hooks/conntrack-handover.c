/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack-track.c, see conntrack-handover.h. */

#include "conntrack-handover.h"
#include "conntrack-handover-policies.c"

/* So many bytes are written at a time. */
#define HANDOVER_BUFFER (256 * 1024)
/* No record is longer. */
#define HANDOVER_MAX_RECORD 256
/* So many connections are inserted under one hold of the lock. */
#define HANDOVER_BATCH 32

/* The longest timeout that a policy can set. */
#define HANDOVER_MAX_MS (UINT32_MAX * 1000LL)

/* What the bytes begin with, before the zones' limits and the timeout
 * policies. */
struct handover_begin {
    uint32_t n_limits;
    uint32_t n_policies;
    uint32_t max_conns;
    uint32_t tcp_seq_chk;
};

struct handover_limit {
    int32_t zone;
    uint32_t limit;
};

/* A timeout policy is written as it is. */
BUILD_ASSERT_DECL(sizeof(struct ct_dpif_timeout_policy)
                  == 8 + 4 * CT_DPIF_TP_ATTR_MAX);
BUILD_ASSERT_DECL(sizeof(struct ct_dpif_timeout_policy)
                  <= HANDOVER_MAX_RECORD);

enum handover_kind {
    HANDOVER_CONN = 1,
    HANDOVER_END,               /* The last one, with the number of others. */
};

enum handover_flag {
    HANDOVER_IPV6 = 1 << 0,
    HANDOVER_TWIN = 1 << 1,     /* Has an un-NAT twin: 'rev_key' follows. */
    HANDOVER_LABEL = 1 << 2,    /* It follows. */
    HANDOVER_RELATED = 1 << 3,  /* 'parent_key' follows. */
    HANDOVER_SKEW_DIR = 1 << 4,
    HANDOVER_UNANSWERED = 1 << 5, /* See conntrack-half-open.h. */
    HANDOVER_FLAGS = (1 << 6) - 1
};

enum handover_alg {
    HANDOVER_ALG_NONE,
    HANDOVER_ALG_FTP,
    HANDOVER_ALG_TFTP,
    HANDOVER_N_ALGS
};

/* The fixed part of a record.  Keys, label and the protocol's state come
 * behind it, in this order. */
struct handover_head {
    uint8_t kind;
    uint8_t flags;
    uint8_t nw_proto;
    uint8_t alg;
    uint16_t zone;
    uint16_t nat_action;
    int64_t left_ms;
    uint32_t mark;
    uint32_t tp_id;
    int32_t admit_zone;
    int32_t seq_skew;
};
BUILD_ASSERT_DECL(sizeof(struct handover_head) == 32);

/* A key, but for zone, family and protocol. */
struct handover_key4 {
    ovs_be32 src, dst;
    uint32_t src_l4, dst_l4;    /* Ports, or ICMP's fields. */
};
struct handover_key6 {
    struct in6_addr src, dst;
    uint32_t src_l4, dst_l4;
};

/* The rest of the parent's key, which comes behind it. */
struct handover_parent {
    uint16_t zone;
    uint8_t nw_proto;
    uint8_t ipv6;
};

struct handover_sctp {
    uint8_t state, replied, inits, echoed, other_dir;
    uint8_t zeros[3];
    ovs_be32 offered[2], other, tag[2];
};

struct handover_end {
    uint8_t kind;
    uint8_t zeros[7];
    uint64_t n;
};

/* A connection between record and table. */
struct handover_conn {
    struct handover_head head;
    struct conn_key key, rev_key, parent_key;
    ovs_u128 label;
    union {
        struct conntrack_tcp_end tcp[2];
        struct handover_sctp sctp;
        uint8_t other[4];       /* The state, and zeros. */
    };
};

static const char *const handover_algs[HANDOVER_N_ALGS] = {
    [HANDOVER_ALG_FTP] = "ftp", [HANDOVER_ALG_TFTP] = "tftp",
};

/* ICMP's and the other protocols' part of a connection is one byte, behind the
 * common part: conntrack-icmp.c and conntrack-other.c have it so. */
#define HANDOVER_OTHER_SIZE (sizeof(struct conn) + 8)
enum { HANDOVER_ICMP_MAX = 1, HANDOVER_OTHER_MAX = 2 };

static bool
is_icmp(uint8_t nw_proto)
{
    return nw_proto == IPPROTO_ICMP || nw_proto == IPPROTO_ICMPV6;
}

/* The size of what a protocol has for itself, in a record. */
static size_t
handover_state_size(uint8_t nw_proto)
{
    const struct handover_conn *c = NULL;

    return (nw_proto == IPPROTO_TCP ? sizeof c->tcp
            : nw_proto == IPPROTO_SCTP ? sizeof c->sctp : sizeof c->other);
}

/* Saving. */

struct handover_out {
    conntrack_handover_write *write;
    void *aux;
    bool ok;
    size_t n;
    char *bytes;                /* HANDOVER_BUFFER. */
};

static void
out_flush(struct handover_out *out)
{
    out->ok = out->ok && out->write(out->bytes, out->n, out->aux);
    out->n = 0;
}

/* There is room for a record. */
static void
out_put(struct handover_out *out, const void *data, size_t size)
{
    memcpy(out->bytes + out->n, data, size);
    out->n += size;
}

static void
out_make_room(struct handover_out *out)
{
    if (HANDOVER_BUFFER - out->n < HANDOVER_MAX_RECORD) {
        out_flush(out);
    }
}

static bool
key_is_ipv6(const struct conn_key *key)
{
    return key->dl_type == htons(ETH_TYPE_IPV6);
}

static void
out_key(struct handover_out *out, const struct conn_key *key)
{
    uint32_t src_l4, dst_l4;

    memcpy(&src_l4, &key->src.port, sizeof src_l4);
    memcpy(&dst_l4, &key->dst.port, sizeof dst_l4);
    if (key_is_ipv6(key)) {
        const struct handover_key6 k = {
            key->src.addr.ipv6, key->dst.addr.ipv6, src_l4, dst_l4,
        };
        out_put(out, &k, sizeof k);
    } else {
        const struct handover_key4 k = {
            key->src.addr.ipv4, key->dst.addr.ipv4, src_l4, dst_l4,
        };
        out_put(out, &k, sizeof k);
    }
}

static void
out_parent(struct handover_out *out, const struct conn_key *key)
{
    const struct handover_parent p = {
        .zone = key->zone, .nw_proto = key->nw_proto,
        .ipv6 = key_is_ipv6(key),
    };

    out_put(out, &p, sizeof p);
    out_key(out, key);
}

static void
out_conn(struct handover_out *out, const struct handover_conn *c)
{
    out_make_room(out);
    out_put(out, &c->head, sizeof c->head);
    out_key(out, &c->key);
    if (c->head.flags & HANDOVER_TWIN) {
        out_key(out, &c->rev_key);
    }
    if (c->head.flags & HANDOVER_RELATED) {
        out_parent(out, &c->parent_key);
    }
    if (c->head.flags & HANDOVER_LABEL) {
        out_put(out, &c->label, sizeof c->label);
    }
    out_put(out, c->tcp, handover_state_size(c->head.nw_proto));
}

static void
sctp_save(const struct sctp_assoc *a, struct handover_sctp *s)
{
    memset(s, 0, sizeof *s);
    s->state = a->state;
    s->replied = a->replied;
    s->inits = a->inits;
    s->echoed = a->echoed;
    s->other_dir = a->other_dir;
    s->other = a->other;
    memcpy(s->offered, a->offered, sizeof s->offered);
    memcpy(s->tag, a->tag, sizeof s->tag);
}

static enum handover_alg
handover_alg(const char *alg)
{
    for (int i = HANDOVER_ALG_NONE + 1; alg && i < HANDOVER_N_ALGS; i++) {
        if (!strcmp(alg, handover_algs[i])) {
            return i;
        }
    }
    return HANDOVER_ALG_NONE;
}

/* Not 0: it is watched, see conntrack-half-open.c. */
static uint32_t
conn_tag(const struct conn *conn)
{
    uint32_t tag;

    atomic_read_relaxed(&CONST_CAST(struct conn *, conn)->half_open, &tag);
    return tag;
}

static void
conn_save_state(const struct conn *conn, struct handover_conn *c)
{
    if (conn->key.nw_proto == IPPROTO_TCP) {
        conntrack_tcp_save(conn, c->tcp);
    } else if (conn->key.nw_proto == IPPROTO_SCTP) {
        sctp_save(&conn_sctp_cast(conn)->assoc, &c->sctp);
    } else {
        memset(c->other, 0, sizeof c->other);
        memcpy(c->other, conn + 1, 1);
    }
}

/* One that is watched, or would be if it had found room in the list, or if
 * there were a limit.  A TCP connection that isn't watched, though both ends
 * are past the handshake and it isn't open, was open and has been closed. */
static bool
is_unanswered(const struct conn *conn, const struct handover_conn *c)
    OVS_REQUIRES(conn->lock)
{
    return (conn_tag(conn)
            || (!is_answered(conn)
                && (conn->key.nw_proto != IPPROTO_TCP
                    || c->tcp[0].state < CT_DPIF_TCPS_ESTABLISHED
                    || c->tcp[1].state < CT_DPIF_TCPS_ESTABLISHED)));
}

static void
conn_save(struct conn *conn, long long int left_ms, struct handover_conn *c)
{
    uint32_t mark;

    ovs_mutex_lock(&conn->lock);
    atomic_read_relaxed(&conn->mark, &mark);
    c->key = conn->key;
    c->rev_key = conn->rev_key;
    c->parent_key = conn->parent_key;
    c->label = conn->label;
    conn_save_state(conn, c);
    c->head = (struct handover_head) {
        .kind = HANDOVER_CONN,
        .flags = ((key_is_ipv6(&conn->key) ? HANDOVER_IPV6 : 0)
                  | (conn->nat_conn ? HANDOVER_TWIN : 0)
                  | (ovs_u128_is_zero(conn->label) ? 0 : HANDOVER_LABEL)
                  | (conn->alg_related ? HANDOVER_RELATED : 0)
                  | (conn->seq_skew_dir ? HANDOVER_SKEW_DIR : 0)
                  | (is_unanswered(conn, c) ? HANDOVER_UNANSWERED : 0)),
        .nw_proto = conn->key.nw_proto,
        .alg = handover_alg(conn->alg),
        .zone = conn->key.zone,
        .nat_action = conn->nat_action,
        .left_ms = MIN(left_ms, HANDOVER_MAX_MS),
        .mark = mark,
        .tp_id = conn->tp_id,
        .admit_zone = conn->admit_zone,
        .seq_skew = conn->seq_skew,
    };
    ovs_mutex_unlock(&conn->lock);
}

static struct handover_limit *
copy_limits(struct conntrack *ct, uint32_t *n)
    OVS_REQUIRES(ct->ct_lock)
{
    struct handover_limit *limits = NULL;
    const struct zone_limit *zl;
    size_t allocated = 0;

    *n = 0;
    CMAP_FOR_EACH (zl, node, &ct->zone_limits) {
        if (*n >= allocated) {
            limits = x2nrealloc(limits, &allocated, sizeof *limits);
        }
        limits[(*n)++] = (struct handover_limit) {
            zl->czl.zone, zl->czl.limit,
        };
    }
    return limits;
}

static void
save_begin(struct conntrack *ct, struct handover_out *out)
{
    struct ct_dpif_timeout_policy *policies;
    struct handover_limit *limits;
    struct handover_begin begin;
    bool tcp_seq_chk;

    ovs_mutex_lock(&ct->ct_lock);
    limits = copy_limits(ct, &begin.n_limits);
    policies = copy_policies(ct, &begin.n_policies);
    ovs_mutex_unlock(&ct->ct_lock);
    atomic_read_relaxed(&ct->n_conn_limit, &begin.max_conns);
    atomic_read_relaxed(&ct->tcp_seq_chk, &tcp_seq_chk);
    begin.tcp_seq_chk = tcp_seq_chk;

    out_put(out, &begin, sizeof begin);
    for (size_t i = 0; i < begin.n_limits; i++) {
        out_make_room(out);
        out_put(out, &limits[i], sizeof limits[i]);
    }
    for (size_t i = 0; i < begin.n_policies; i++) {
        out_make_room(out);
        out_put(out, &policies[i], sizeof policies[i]);
    }
    free(limits);
    free(policies);
}

/* Connections that are watched: they are written when all others are, in the
 * order in which they began, which is the one in which they have to leave.
 * (Lists of conntrack have the newest first, and there are some.) */
struct watched_conn {
    struct conn *conn;
    uint32_t tag;
    uint32_t age;               /* How many have begun since. */
};

struct watched {
    size_t n, allocated;
    struct watched_conn *conns;
};

static void
watched_add(struct watched *w, struct conn *conn, uint32_t tag)
{
    if (w->n >= w->allocated) {
        w->conns = x2nrealloc(w->conns, &w->allocated, sizeof *w->conns);
    }
    w->conns[w->n++] = (struct watched_conn) { .conn = conn, .tag = tag };
}

static int
compare_ages(const void *a_, const void *b_)
{
    const struct watched_conn *a = a_, *b = b_;

    return a->age > b->age ? -1 : a->age < b->age;
}

/* The oldest first. */
static void
watched_sort(struct conntrack *ct, struct watched *w)
{
    uint32_t last_tag;

    if (!w->n) {
        return;
    }
    ovs_mutex_lock(&ct->ct_lock);
    last_tag = ct->half_open->last_tag;
    ovs_mutex_unlock(&ct->ct_lock);
    for (size_t i = 0; i < w->n; i++) {
        w->conns[i].age = last_tag - w->conns[i].tag;
    }
    qsort(w->conns, w->n, sizeof *w->conns, compare_ages);
}

static void
save_conn(struct conn *conn, long long int now, struct handover_out *out,
          struct conntrack_handover_counts *counts)
{
    long long int left_ms = conn_expiration(conn) - now;
    struct handover_conn c;

    if (left_ms > 0) {
        conn_save(conn, left_ms, &c);
        out_conn(out, &c);
        counts->n++;
    } else {
        counts->n_expired++;
    }
}

/* Writes those that aren't watched, and adds the others to 'watched'. */
static void
save_list(const struct rculist *list, long long int now,
          struct handover_out *out, struct watched *watched,
          struct conntrack_handover_counts *counts)
{
    struct conn *conn;

    RCULIST_FOR_EACH (conn, node, list) {
        uint32_t tag = conn_tag(conn);

        if (tag) {
            watched_add(watched, conn, tag);
        } else {
            save_conn(conn, now, out, counts);
        }
        if (!out->ok) {
            break;
        }
    }
}

static void
save_conns(struct conntrack *ct, long long int now, struct handover_out *out,
           struct conntrack_handover_counts *counts)
{
    struct watched watched = { .n = 0 };

    for (size_t i = 0; i < N_EXP_LISTS && out->ok; i++) {
        save_list(&ct->exp_lists[i], now, out, &watched, counts);
    }
    watched_sort(ct, &watched);
    for (size_t i = 0; i < watched.n && out->ok; i++) {
        save_conn(watched.conns[i].conn, now, out, counts);
    }
    free(watched.conns);
}

bool
conntrack_handover_save(struct conntrack *ct, long long int now,
                        conntrack_handover_write *write, void *aux,
                        struct conntrack_handover_counts *counts)
{
    struct handover_out out = {
        .write = write, .aux = aux, .ok = true,
        .bytes = xmalloc(HANDOVER_BUFFER),
    };

    memset(counts, 0, sizeof *counts);
    save_begin(ct, &out);
    save_conns(ct, now, &out, counts);

    const struct handover_end end = {
        .kind = HANDOVER_END, .n = counts->n,
    };
    out_make_room(&out);
    out_put(&out, &end, sizeof end);
    out_flush(&out);
    free(out.bytes);
    return out.ok;
}

/* Reading. */

struct handover_in {
    const char *p;
    size_t left;
};

static bool
in_get(struct handover_in *in, void *to, size_t size)
{
    if (size > in->left) {
        return false;
    }
    memcpy(to, in->p, size);
    in->p += size;
    in->left -= size;
    return true;
}

static bool
in_key(struct handover_in *in, bool ipv6, uint8_t nw_proto, uint16_t zone,
       struct conn_key *key)
{
    struct handover_key4 k4;
    struct handover_key6 k6;

    memset(key, 0, sizeof *key);
    key->dl_type = htons(ipv6 ? ETH_TYPE_IPV6 : ETH_TYPE_IP);
    key->zone = zone;
    key->nw_proto = nw_proto;
    if (ipv6) {
        if (!in_get(in, &k6, sizeof k6)) {
            return false;
        }
        key->src.addr.ipv6 = k6.src;
        key->dst.addr.ipv6 = k6.dst;
        memcpy(&key->src.port, &k6.src_l4, sizeof k6.src_l4);
        memcpy(&key->dst.port, &k6.dst_l4, sizeof k6.dst_l4);
    } else {
        if (!in_get(in, &k4, sizeof k4)) {
            return false;
        }
        key->src.addr.ipv4 = k4.src;
        key->dst.addr.ipv4 = k4.dst;
        memcpy(&key->src.port, &k4.src_l4, sizeof k4.src_l4);
        memcpy(&key->dst.port, &k4.dst_l4, sizeof k4.dst_l4);
    }
    return true;
}

static bool
in_parent(struct handover_in *in, struct conn_key *key)
{
    struct handover_parent p;

    return (in_get(in, &p, sizeof p) && p.ipv6 <= 1
            && in_key(in, p.ipv6, p.nw_proto, p.zone, key));
}

static bool
sctp_is_sound(const struct handover_sctp *s)
{
    return (s->state < ARRAY_SIZE(sctp_states) && s->replied <= 1
            && s->inits <= 3 && s->echoed <= 3 && s->other_dir <= 1);
}

static bool
state_is_sound(const struct handover_conn *c)
{
    uint8_t nw_proto = c->head.nw_proto;

    return (nw_proto == IPPROTO_TCP
            ? (conntrack_tcp_end_is_sound(&c->tcp[0])
               && conntrack_tcp_end_is_sound(&c->tcp[1]))
            : nw_proto == IPPROTO_SCTP ? sctp_is_sound(&c->sctp)
            : c->other[0] <= (is_icmp(nw_proto) ? HANDOVER_ICMP_MAX
                              : HANDOVER_OTHER_MAX));
}

static bool
head_is_sound(const struct handover_head *head)
{
    const uint16_t nat = NAT_ACTION_SNAT_ALL | NAT_ACTION_DNAT_ALL;

    return (!(head->flags & ~HANDOVER_FLAGS)
            && head->alg < HANDOVER_N_ALGS
            && !(head->nat_action & ~nat)
            && (!head->nat_action || head->flags & HANDOVER_TWIN)
            && head->left_ms > 0 && head->left_ms <= HANDOVER_MAX_MS);
}

/* What follows the head's first byte, which was read. */
static bool
in_conn(struct handover_in *in, struct handover_conn *c)
{
    struct handover_head *head = &c->head;

    if (!in_get(in, (char *) head + 1, sizeof *head - 1)
        || !head_is_sound(head)) {
        return false;
    }

    bool ipv6 = head->flags & HANDOVER_IPV6;
    if (!in_key(in, ipv6, head->nw_proto, head->zone, &c->key)) {
        return false;
    }
    c->rev_key = c->key;
    conn_key_reverse(&c->rev_key);
    c->label = OVS_U128_ZERO;
    return ((!(head->flags & HANDOVER_TWIN)
             || in_key(in, ipv6, head->nw_proto, head->zone, &c->rev_key))
            && (!(head->flags & HANDOVER_RELATED)
                || in_parent(in, &c->parent_key))
            && (!(head->flags & HANDOVER_LABEL)
                || in_get(in, &c->label, sizeof c->label))
            && in_get(in, c->tcp, handover_state_size(head->nw_proto))
            && state_is_sound(c));
}

/* Reads the next connection.  Returns false at the end and where there is
 * something wrong; then '*error' says which. */
static bool
in_next(struct handover_in *in, uint64_t n_read, struct handover_conn *c,
        const char **error)
{
    struct handover_end end;

    *error = NULL;
    if (!in_get(in, &c->head.kind, 1)) {
        *error = "connections end in the midst";
    } else if (c->head.kind == HANDOVER_END) {
        if (!in_get(in, (char *) &end + 1, sizeof end - 1)
            || end.n != n_read || in->left) {
            *error = "not as many connections as there were";
        }
    } else if (c->head.kind != HANDOVER_CONN || !in_conn(in, c)) {
        *error = "a connection makes no sense";
    }
    return !*error && c->head.kind == HANDOVER_CONN;
}

static bool
in_limit(struct handover_in *in, struct handover_limit *limit)
{
    return (in_get(in, limit, sizeof *limit)
            && limit->zone >= DEFAULT_ZONE && limit->zone <= MAX_ZONE);
}

static bool
in_policy(struct handover_in *in, struct ct_dpif_timeout_policy *policy)
{
    return in_get(in, policy, sizeof *policy) && policy_is_sound(policy);
}

/* Leaves 'in' before the first connection. */
static const char *
in_begin(struct handover_in *in)
{
    struct ct_dpif_timeout_policy policy;
    uint32_t last_id = DEFAULT_TP_ID;
    struct handover_begin begin;
    struct handover_limit limit;

    if (!in_get(in, &begin, sizeof begin) || begin.tcp_seq_chk > 1
        || begin.n_limits > MAX_ZONE + 2) {
        return "connections begin with nonsense";
    }
    for (size_t i = 0; i < begin.n_limits; i++) {
        if (!in_limit(in, &limit)) {
            return "a zone's limit makes no sense";
        }
    }
    for (size_t i = 0; i < begin.n_policies; i++) {
        if (!in_policy(in, &policy) || policy.id <= last_id) {
            return "a timeout policy makes no sense";
        }
        last_id = policy.id;
    }
    return NULL;
}

static const char *
handover_check(struct handover_in in)
{
    struct handover_conn c;
    const char *error = in_begin(&in);

    for (uint64_t n = 0; !error && in_next(&in, n, &c, &error); n++) {
        continue;
    }
    return error;
}

/* Restoring. */

static struct conn *
sctp_restore(const struct handover_sctp *s)
{
    struct conn_sctp *conn = conntrack_pool_zalloc(sizeof *conn);
    struct sctp_assoc *a = &conn->assoc;

    a->state = s->state;
    a->replied = s->replied;
    a->inits = s->inits;
    a->echoed = s->echoed;
    a->other_dir = s->other_dir;
    a->other = s->other;
    memcpy(a->offered, s->offered, sizeof a->offered);
    memcpy(a->tag, s->tag, sizeof a->tag);
    return &conn->up;
}

static struct conn *
conn_restore_state(const struct handover_conn *c)
{
    struct conn *conn;

    if (c->head.nw_proto == IPPROTO_TCP) {
        return conntrack_tcp_restore(c->tcp);
    } else if (c->head.nw_proto == IPPROTO_SCTP) {
        return sctp_restore(&c->sctp);
    }
    conn = conntrack_pool_zalloc(HANDOVER_OTHER_SIZE);
    memcpy(conn + 1, c->other, 1);
    return conn;
}

static struct conn *
twin_restore(const struct handover_conn *c)
{
    struct conn *twin = conntrack_pool_zalloc(sizeof *twin);

    twin->key = c->rev_key;
    twin->rev_key = c->key;
    twin->tp_id = c->head.tp_id;
    twin->conn_type = CT_CONN_TYPE_UN_NAT;
    return twin;
}

static struct conn *
conn_restore(const struct handover_conn *c, long long int expiration)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct conn *conn = conn_restore_state(c);

    conn->key = c->key;
    conn->rev_key = c->rev_key;
    if (c->head.flags & HANDOVER_RELATED) {
        conn->parent_key = c->parent_key;
        conn->alg_related = true;
    }
    conn->nat_action = c->head.nat_action;
    conn->seq_skew = c->head.seq_skew;
    conn->seq_skew_dir = c->head.flags & HANDOVER_SKEW_DIR;
    conn->alg = nullable_xstrdup(handover_algs[c->head.alg]);
    conn->label = c->label;
    conn->tp_id = c->head.tp_id;
    conn->conn_type = CT_CONN_TYPE_DEFAULT;
    conn->admit_zone = INVALID_ZONE;
    atomic_store_relaxed(&conn->mark, c->head.mark);
    atomic_store_relaxed(&conn->expiration, expiration);
    atomic_flag_clear(&conn->reclaimed);
    ovs_mutex_init_adaptive(&conn->lock);
    if (c->head.flags & HANDOVER_TWIN) {
        conn->nat_conn = twin_restore(c);
    }
    return conn;
}

/* The limit that it counted for may be another one by now. */
static void
conn_admit(struct conntrack *ct, struct conn *conn, int32_t zone)
    OVS_REQUIRES(ct->ct_lock)
{
    struct zone_limit *zl = zone_limit_lookup_protected(ct, zone);

    if (zl) {
        conn->admit_zone = zl->czl.zone;
        conn->zone_limit_seq = zl->czl.zone_limit_seq;
        atomic_count_inc(&zl->czl.count);
    }
}

/* Where it is among so many that nobody met yet, those that have been answered
 * enter no list of half-open ones only to leave it again. */
static void
conn_note_restored(struct conntrack *ct, struct conn *conn, bool unanswered)
    OVS_REQUIRES(ct->ct_lock)
{
    if (unanswered) {
        conntrack_note_created(ct, conn);
    } else {
        atomic_store_explicit(&ct->n_created, conntrack_n_created(ct) + 1,
                              memory_order_release);
        conntrack_table_note(ct, conn);
    }
}

static void
conn_insert(struct conntrack *ct, const struct handover_conn *c,
            long long int now, long long int expiration,
            struct conntrack_handover_counts *counts)
    OVS_REQUIRES(ct->ct_lock)
{
    const uint32_t hash = conn_key_hash(&c->key, ct->hash_basis);
    unsigned int limit;

    atomic_read_relaxed(&ct->n_conn_limit, &limit);
    if (atomic_count_get(&ct->n_conn) >= limit) {
        counts->n_refused++;
        return;
    }
    if (conn_key_lookup(ct, &c->key, hash, now, NULL, NULL)) {
        counts->n_known++;
        return;
    }

    struct conn *conn = conn_restore(c, expiration);
    if (conn->nat_conn) {
        cmap_insert(&ct->conns, &conn->nat_conn->cm_node,
                    conn_key_hash(&c->rev_key, ct->hash_basis));
    }
    cmap_insert(&ct->conns, &conn->cm_node, hash);
    conn_admit(ct, conn, c->head.admit_zone);
    conn_note_restored(ct, conn, c->head.flags & HANDOVER_UNANSWERED);
    conn_expire_push_front(ct, conn);
    atomic_count_inc(&ct->n_conn);
    counts->n++;
}

static void
insert_batch(struct conntrack *ct, const struct handover_conn conns[],
             size_t n, long long int now, long long int age_ms,
             struct conntrack_handover_counts *counts)
{
    for (size_t i = 0; i < n; i++) {
        cmap_prefetch(&ct->conns, conn_key_hash(&conns[i].key,
                                                ct->hash_basis));
        if (conns[i].head.flags & HANDOVER_TWIN) {
            cmap_prefetch(&ct->conns, conn_key_hash(&conns[i].rev_key,
                                                    ct->hash_basis));
        }
    }
    ovs_mutex_lock(&ct->ct_lock);
    for (size_t i = 0; i < n; i++) {
        long long int left_ms = conns[i].head.left_ms - age_ms;

        if (left_ms > 0) {
            conn_insert(ct, &conns[i], now, now + left_ms, counts);
        } else {
            counts->n_expired++;
        }
    }
    ovs_mutex_unlock(&ct->ct_lock);
}

/* What handover_check() has found to be sound. */
static void
restore_begin(struct conntrack *ct, struct handover_in *in,
              struct policy_map *map)
{
    struct ct_dpif_timeout_policy policy;
    struct handover_begin begin;
    struct handover_limit limit;

    in_get(in, &begin, sizeof begin);
    atomic_store_relaxed(&ct->n_conn_limit, begin.max_conns);
    atomic_store_relaxed(&ct->tcp_seq_chk, begin.tcp_seq_chk);
    for (size_t i = 0; i < begin.n_limits; i++) {
        in_limit(in, &limit);
        zone_limit_update(ct, limit.zone, limit.limit);
    }
    policy_map_init(ct, map, begin.n_policies);
    for (size_t i = 0; i < begin.n_policies; i++) {
        in_policy(in, &policy);
        policy_map_add(map, &policy);
    }
}

const char *
conntrack_handover_restore(struct conntrack *ct, const void *data, size_t len,
                           long long int now, long long int age_ms,
                           struct conntrack_handover_counts *counts)
{
    struct handover_in in = { data, len };
    struct handover_conn *conns;
    const char *error = handover_check(in);
    struct policy_map map;
    size_t n = 0;

    memset(counts, 0, sizeof *counts);
    if (error) {
        return error;
    }

    conns = xmalloc(HANDOVER_BATCH * sizeof *conns);
    restore_begin(ct, &in, &map);
    for (uint64_t n_read = 0; in_next(&in, n_read, &conns[n], &error);
         n_read++) {
        conns[n].head.tp_id = policy_map_find(&map, conns[n].head.tp_id);
        if (++n == HANDOVER_BATCH) {
            insert_batch(ct, conns, n, now, age_ms, counts);
            n = 0;
        }
    }
    insert_batch(ct, conns, n, now, age_ms, counts);
    policy_map_uninit(&map);
    free(conns);
    return NULL;
}
