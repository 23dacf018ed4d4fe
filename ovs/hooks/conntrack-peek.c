/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack.c: prediction of ct(), see
 * conntrack-peek.h.
 *
 * The steps mirror those of conntrack_execute() and process_one(); where
 * those change a connection, these change a copy. */

#include "cmap-ahead.h"
#include "conntrack-track-private.h"
#include "ovs-thread.h"

BUILD_ASSERT_DECL(sizeof(struct conn) + 64 <= CT_PEEK_CONN_SIZE);

DEFINE_STATIC_PER_THREAD_DATA(bool, fragments_bypassed, false);

/* How many connections the table has got so far.  While it stays the same and
 * the table's lock is held, no tuple that was free has been taken.  Defined in
 * conntrack-track.c, as is note_created(). */
static uint64_t conntrack_n_created(const struct conntrack *);
static void note_created(struct conntrack *, struct conn *, uint32_t hash,
                         uint32_t un_nat_hash, bool alone);

/* True once any table has had an expectation. */
static atomic_bool expected_anything = false;

COVERAGE_DEFINE(conntrack_expectation_displaced);

/* Of expectations with one hash the table tells the first, and then the others
 * from the newest on. */
void
conntrack_note_expectation(struct conntrack *ct,
                           const struct alg_exp_node *newest)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct alg_exp_node *node, *last = NULL;
    size_t n = 0;

    atomic_store_relaxed(&expected_anything, true);
    HINDEX_FOR_EACH_WITH_HASH (node, node_ref,
                               conn_key_hash(&newest->parent_key,
                                             ct->hash_basis),
                               &ct->alg_expectation_refs) {
        if (!conn_key_cmp(&node->parent_key, &newest->parent_key)) {
            n++;
            last = node;
        }
    }
    if (n > CONNTRACK_MAX_EXPECTATIONS) {
        COVERAGE_INC(conntrack_expectation_displaced);
        hmap_remove(&ct->alg_expectations, &last->node);
        hindex_remove(&ct->alg_expectation_refs, &last->node_ref);
        free(last);
    }
}

bool
conntrack_bypasses_fragments(void)
{
    return *fragments_bypassed_get();
}

bool
conntrack_bypass_fragments(bool bypass)
{
    bool *bypassed = fragments_bypassed_get();
    bool old = *bypassed;

    *bypassed = bypass;
    return old;
}

struct conn *
conntrack_parent(struct conntrack *ct, struct conn *found,
                 const struct conn_key *key, uint32_t hash, long long int now,
                 bool *reply)
{
    struct conn *conn;

    if (!found || found->conn_type == CT_CONN_TYPE_DEFAULT) {
        return found;
    }
    CMAP_FOR_EACH_WITH_HASH (conn, cm_node, hash, &ct->conns) {
        *reply = conn_key_cmp(&conn->key, key) != 0;
        if (conn->conn_type == CT_CONN_TYPE_DEFAULT
            && (!*reply || !conn_key_cmp(&conn->rev_key, key))
            && !conn_expired(conn, now)) {
            return conn;
        }
    }
    return NULL;
}

struct conn *
conntrack_original(struct conntrack *ct, struct conn *found,
                   const struct conn_key *key, long long int now)
{
    bool reply;

    return conntrack_parent(ct, found, key,
                            conn_key_hash(key, ct->hash_basis), now, &reply);
}

void
conntrack_peek_init(struct conntrack_peek *p, struct conntrack *ct,
                    struct dp_packet *packet, long long int now)
{
    p->ct = ct;
    p->packet = packet;
    p->now = now;
    p->n_created = conntrack_n_created(ct);
    p->extracted = false;
    p->rewritten = false;
    p->ct_state = 0;
    p->ct_zone = 0;
    p->has_orig_tuple = false;
    p->md_conn = NULL;
    p->md_reply = false;
    conntrack_peek_uninit(p);
    p->ordinary = true;
    p->applicable = true;
    p->last_natted = NULL;
    p->n_steps = 0;
    p->n_hashes = 0;
    p->knows_expectations = false;
}

void
conntrack_peek_clear(struct conntrack_peek *p)
{
    p->ct_state = 0;
    p->md_conn = NULL;
    p->md_reply = false;
}

void
conntrack_peek_forget(struct conntrack_peek *p)
{
    p->md_conn = NULL;
    p->rewritten = true;
    p->ordinary = false;
}

/* Copies what a connection is and how it stands, but not what makes it part of
 * a table: that is guarded by the table's lock. */
static void
conn_copy(struct conn *to, const struct conn *from)
    OVS_REQUIRES(from->lock)
{
    long long int expiration;

    to->key = from->key;
    to->rev_key = from->rev_key;
    to->parent_key = from->parent_key;
    to->nat_action = from->nat_action;
    to->alg = from->alg;
    to->nat_conn = from->nat_conn;
    to->label = from->label;
    atomic_read_relaxed(&from->expiration, &expiration);
    atomic_init(&to->expiration, expiration);
    atomic_init(&to->mark, from->mark);
    to->seq_skew = from->seq_skew;
    to->admit_zone = from->admit_zone;
    to->zone_limit_seq = from->zone_limit_seq;
    to->seq_skew_dir = from->seq_skew_dir;
    to->alg_related = from->alg_related;
    to->conn_type = from->conn_type;
    to->tp_id = from->tp_id;
    if (from->key.nw_proto == IPPROTO_TCP) {
        conntrack_tcp_copy(to, from);
    } else {
        /* Some protocol's new_conn() allocated it: struct conn is only its
         * beginning. */
        memcpy(to + 1, from + 1, (MIN(conntrack_pool_size(from),
                                      CT_PEEK_CONN_SIZE) - sizeof *from));
    }
}

static struct conntrack_peek_conn *
peek_add(struct conntrack_peek *p)
{
    if (p->n_conns >= CT_PEEK_MAX_CONNS) {
        return NULL;
    }

    struct conntrack_peek_conn *pc = &p->conns[p->n_conns++];
    memset(pc, 0, offsetof(struct conntrack_peek_conn, bytes));
    return pc;
}

/* The copy of 'real' if the packet belongs to it somewhere, or NULL. */
static struct conntrack_peek_conn *
peek_find_copy(const struct conntrack_peek *p, const struct conn *real)
{
    for (size_t i = 0; i < p->n_conns; i++) {
        if (p->conns[i].real == real) {
            return CONST_CAST(struct conntrack_peek_conn *, &p->conns[i]);
        }
    }
    return NULL;
}

/* Returns the copy of 'real', made at the first call. */
static struct conntrack_peek_conn *
peek_copy(struct conntrack_peek *p, struct conn *real)
{
    struct conntrack_peek_conn *pc = peek_find_copy(p, real);

    if (pc) {
        return pc;
    }
    pc = peek_add(p);
    if (pc) {
        pc->up = ALIGNED_CAST(struct conn *, pc->bytes);
        pc->real = real;
        if (!conntrack_ref_init(&pc->ref, real)) {
            p->ordinary = false;
        }
        ovs_mutex_lock(&real->lock);
        conn_copy(pc->up, real);
        ovs_mutex_unlock(&real->lock);
    }
    return pc;
}

/* What a look-up finds: a connection (a copy of a real one, or one that this
 * packet creates), or the un-NAT twin of one. */
struct peek_found {
    struct conntrack_peek_conn *pc;
    bool reply;
    bool un_nat;
    bool orphan;                /* Twin whose connection has expired. */
    bool full;                  /* Found, but it can't be followed. */
};

static void
peek_lookup_created(struct conntrack_peek *p, const struct conn_key *key,
                    struct peek_found *f)
{
    for (size_t i = 0; i < p->n_conns && !f->pc; i++) {
        struct conntrack_peek_conn *pc = &p->conns[i];

        if (pc->real || pc->expired) {
            continue;
        }
        if (!conn_key_cmp(&pc->up->key, key)) {
            f->pc = pc;
        } else if (pc->has_un_nat && !conn_key_cmp(&pc->un_nat_key, key)) {
            f->pc = pc;
            f->un_nat = true;
            f->reply = true;
        } else if (!pc->has_un_nat && !conn_key_cmp(&pc->up->rev_key, key)) {
            f->pc = pc;
            f->reply = true;
        }
    }
}

/* True if the packet has ended 'real'. */
static bool
peek_has_ended(const struct conntrack_peek *p, const struct conn *real)
{
    const struct conntrack_peek_conn *pc = peek_find_copy(p, real);

    return pc && pc->expired;
}

/* What is known of 'key', until the next call.  A packet has few different
 * keys, and each is asked for several times. */
static struct conntrack_peek_hash *
peek_known(struct conntrack_peek *p, const struct conn_key *key)
{
    size_t n = p->n_hashes;

    for (size_t i = 0; i < MIN(n, CT_PEEK_MAX_HASHES); i++) {
        if (!memcmp(&p->hashes[i].key, key, sizeof *key)) {
            return &p->hashes[i];
        }
    }

    struct conntrack_peek_hash *h = &p->hashes[n % CT_PEEK_MAX_HASHES];
    h->key = *key;
    h->hash = conn_key_hash(key, p->ct->hash_basis);
    h->missed = h->alone = false;
    p->n_hashes = n + 1;
    return h;
}

/* As conn_key_hash(). */
static uint32_t
peek_hash(struct conntrack_peek *p, const struct conn_key *key)
{
    return peek_known(p, key)->hash;
}

/* True if 'conn' has 'key' in any direction. */
static bool
conn_has_key(const struct conn *conn, const struct conn_key *key)
{
    struct conn_key reversed = *key;

    conn_key_reverse(&reversed);
    return (!conn_key_cmp(&conn->key, key)
            || !conn_key_cmp(&conn->rev_key, key)
            || !conn_key_cmp(&conn->key, &reversed)
            || !conn_key_cmp(&conn->rev_key, &reversed));
}

/* As conn_key_lookup(), but without the connections that the packet has
 * ended.  If there is nothing at all with 'key' in any direction, not even
 * what has expired, '*alone' becomes true. */
static struct conn *
peek_lookup_real(const struct conntrack_peek *p, const struct conn_key *key,
                 uint32_t hash, bool *reply, bool *alone)
{
    struct conn *conn;

    *alone = true;
    CMAP_FOR_EACH_WITH_HASH (conn, cm_node, hash, &p->ct->conns) {
        *alone = *alone && !conn_has_key(conn, key);
        *reply = conn_key_cmp(&conn->key, key) != 0;
        if ((!*reply || !conn_key_cmp(&conn->rev_key, key))
            && !conn_expired(conn, p->now) && !peek_has_ended(p, conn)) {
            return conn;
        }
    }
    return NULL;
}

/* True if there is no connection for the key of 'known', other than those that
 * the packet creates. */
static bool
peek_misses(const struct conntrack_peek *p, struct conntrack_peek_hash *known)
{
    bool reply;

    if (!known->missed) {
        known->missed = !peek_lookup_real(p, &known->key, known->hash, &reply,
                                          &known->alone);
    }
    return known->missed;
}

static void
peek_lookup(struct conntrack_peek *p, const struct conn_key *key,
            struct peek_found *f)
{
    struct conn *conn;
    bool reply = false, alone;

    memset(f, 0, sizeof *f);
    peek_lookup_created(p, key, f);
    if (f->pc) {
        return;
    }

    struct conntrack_peek_hash *known = peek_known(p, key);
    if (known->missed) {
        return;
    }
    uint64_t n_created = conntrack_n_created(p->ct);
    conn = peek_lookup_real(p, key, known->hash, &reply, &known->alone);
    if (!conn) {
        known->missed = true;
        return;
    }

    if (conn->conn_type == CT_CONN_TYPE_UN_NAT) {
        f->un_nat = true;
        uint32_t hash = peek_hash(p, &conn->rev_key);
        conn = conntrack_parent(p->ct, peek_lookup_real(p, key, hash, &reply,
                                                        &alone),
                                key, hash, p->now, &reply);
        if (!conn || peek_has_ended(p, conn)) {
            f->orphan = true;
            return;
        }
    }
    f->reply = reply;
    f->pc = peek_copy(p, conn);
    f->full = !f->pc;
    if (n_created != conntrack_n_created(p->ct)) {
        /* Perhaps one that hides this one, and came too early for the
         * reference to it to become invalid. */
        p->ordinary = false;
    }
}

/* True if there is a connection for 'key': none is created then. */
static bool
peek_is_taken(struct conntrack_peek *p, const struct conn_key *key)
{
    struct peek_found f;
    bool reply, alone;

    memset(&f, 0, sizeof f);
    peek_lookup_created(p, key, &f);
    return f.pc || peek_lookup_real(p, key, peek_hash(p, key), &reply, &alone);
}

static bool
key_has_ports(const struct conn_key *key)
{
    return (key->nw_proto == IPPROTO_TCP || key->nw_proto == IPPROTO_UDP
            || key->nw_proto == IPPROTO_SCTP);
}

static bool
key_is_icmp(const struct conn_key *key)
{
    return (key->nw_proto == IPPROTO_ICMP || key->nw_proto == IPPROTO_ICMPV6);
}

#include "conntrack-hash.c"
#include "conntrack-peek-nat.c"

static void
peek_write_md(struct conntrack_peek *p, uint16_t zone,
              const struct conntrack_peek_conn *pc,
              const struct conn_key *key)
{
    p->ct_state |= CS_TRACKED;
    p->ct_zone = zone;
    if (pc) {
        p->ct_mark = pc->up->mark;
        p->ct_label = pc->up->label;
        key = pc->up->alg_related ? &pc->up->parent_key : &pc->up->key;
    } else {
        p->ct_mark = 0;
        p->ct_label = OVS_U128_ZERO;
    }
    p->has_orig_tuple = key != NULL;
    if (key) {
        p->orig_tuple = *key;
    }
}

static void
peek_set_metadata(struct conntrack_peek *p, struct conntrack_peek_conn *pc,
                  const struct conntrack_peek_request *req)
{
    if (pc->up->alg_related) {
        return;
    }
    if (req->mark_mask) {
        p->ct_mark = req->mark | (p->ct_mark & ~req->mark_mask);
        atomic_store_relaxed(&pc->up->mark, p->ct_mark);
        pc->changes_mark = true;
    }
    if (req->label_mask.u64.lo || req->label_mask.u64.hi) {
        uint64_t lo = req->label.u64.lo
            | (p->ct_label.u64.lo & ~req->label_mask.u64.lo);
        uint64_t hi = req->label.u64.hi
            | (p->ct_label.u64.hi & ~req->label_mask.u64.hi);

        /* Not from one to the other as a whole: see peek_not_found(). */
        p->ct_label.u64.lo = pc->up->label.u64.lo = lo;
        p->ct_label.u64.hi = pc->up->label.u64.hi = hi;
        pc->changes_label = true;
    }
}

/* Notes with what answer the packet was tracked in 'pc'. */
static void
peek_note(struct conntrack_peek *p, struct conntrack_peek_conn *pc,
          bool is_new)
{
    if (pc->tracked && pc->is_new != is_new) {
        p->ordinary = false;
    }
    pc->tracked = true;
    pc->is_new = is_new;
}

/* A connection that isn't open after the packet isn't worth remembering: it
 * may be one of a flood, and the packets that open it are no ordinary ones. */
static void
peek_note_half_open(struct conntrack_peek *p,
                    const struct conntrack_peek_conn *pc)
{
    if (pc->up->key.nw_proto == IPPROTO_TCP
        && !conntrack_tcp_is_open(pc->up)) {
        p->ordinary = false;
    }
}

/* As conn_update_state().  Returns true if a new connection takes its
 * place. */
static bool
peek_update_state(struct conntrack_peek *p, struct conntrack_peek_conn *pc,
                  bool reply)
{
    if (pc->up->alg_related) {
        p->ct_state |= CS_RELATED;
    }

    if (pc->n_updates && pc->reply != reply) {
        p->ordinary = p->applicable = false;
    }
    if (pc->n_updates && pc->up->key.nw_proto == IPPROTO_TCP) {
        p->ordinary = false;            /* Windows move with each time. */
    }
    pc->reply = reply;
    pc->n_updates++;
    switch (l4_protos[pc->up->key.nw_proto]->conn_update(p->ct, pc->up,
                                                        p->packet, reply,
                                                        p->now)) {
    case CT_UPDATE_VALID:
        p->ct_state |= CS_ESTABLISHED;
        p->ct_state &= ~CS_NEW;
        if (reply) {
            p->ct_state |= CS_REPLY_DIR;
        }
        peek_note(p, pc, false);
        peek_note_half_open(p, pc);
        return false;
    case CT_UPDATE_INVALID:
        p->ct_state = CS_INVALID;
        p->ordinary = false;
        return false;
    case CT_UPDATE_NEW:
        p->applicable = false;
        pc->expired = true;
        return true;
    case CT_UPDATE_VALID_NEW:
        p->ct_state |= CS_NEW;
        peek_note(p, pc, true);
        peek_note_half_open(p, pc);
        return false;
    }
    OVS_NOT_REACHED();
}

static bool
zone_has_room(const struct conntrack *ct, uint16_t zone)
{
    struct zone_limit *zl
        = zone_limit_lookup_or_default(CONST_CAST(struct conntrack *, ct),
                                       zone);

    return !zl || atomic_count_get(&zl->czl.count) < zl->czl.limit;
}

static bool
peek_has_room(struct conntrack_peek *p, uint16_t zone)
{
    unsigned int limit;

    if (!zone_has_room(p->ct, zone)) {
        return false;
    }
    atomic_read_relaxed(&p->ct->n_conn_limit, &limit);
    return atomic_count_get(&p->ct->n_conn) < limit;
}

/* True if that can't be known: the packet has created connections, and there
 * are limits that these may have reached. */
static bool
peek_may_fill_up(const struct conntrack_peek *p)
{
    unsigned int n_new = 0, limit;

    for (size_t i = 0; i < p->n_conns; i++) {
        n_new += !p->conns[i].real;
    }
    atomic_read_relaxed(&p->ct->n_conn_limit, &limit);
    return (n_new && (!cmap_is_empty(&p->ct->zone_limits)
                      || atomic_count_get(&p->ct->n_conn) + n_new >= limit));
}

/* As conn_not_found(): a packet without a connection.  Sets '*pcp' to the
 * connection that it creates, if it does. */
static enum conntrack_peek_result
peek_not_found(struct conntrack_peek *p, const struct conn_key *key,
               const struct conntrack_peek_request *req,
               struct conntrack_peek_tuple *tuple,
               struct conntrack_peek_conn **pcp)
{
    *pcp = NULL;
    if (OVS_UNLIKELY(!l4_protos[key->nw_proto]->valid_new(p->packet))) {
        p->applicable = false;
        p->ct_state = CS_INVALID;
        return CT_PEEK_OK;
    }
    p->ct_state = CS_NEW;
    if (!req->commit) {
        return CT_PEEK_OK;
    }
    if (OVS_UNLIKELY(!peek_has_room(p, key->zone))) {
        p->applicable = false;
        return CT_PEEK_OK;
    }
    if (OVS_UNLIKELY(peek_may_fill_up(p))) {
        return CT_PEEK_UNFORESEEN;
    }

    struct conntrack_peek_conn *pc = peek_add(p);
    if (OVS_UNLIKELY(!pc)) {
        return CT_PEEK_TOO_MANY;
    }

    /* Before there is a new connection, and not in its place: what is read
     * right after it was written in other pieces waits until all that was
     * written before has reached the cache, where the connection isn't. */
    struct conn_key reverse = *key;
    conn_key_reverse(&reverse);

    pc->up = l4_protos[key->nw_proto]->new_conn(p->ct, p->packet, p->now,
                                                req->tp_id);
    pc->has_un_nat = req->nat != NULL;
    pc->up->key = *key;
    pc->up->rev_key = reverse;

    if (req->nat) {
        enum conntrack_peek_result result;
        bool found;

        pc->up->nat_action = req->nat->nat_action;
        result = peek_choose_tuple(p, pc, req->nat, &found);
        if (OVS_UNLIKELY(result)) {
            return result;
        }
        if (OVS_UNLIKELY(!found)) {
            conntrack_pool_free(pc->up);
            p->n_conns--;
            p->applicable = false;
            return CT_PEEK_OK;
        }
        if (OVS_UNLIKELY(peek_has_taken_tuple(p, pc))) {
            return CT_PEEK_UNFORESEEN;
        }
        pc->un_nat_key = pc->up->rev_key;
        peek_nat(p, pc, false, tuple);
    }
    *pcp = pc;
    return CT_PEEK_OK;
}

/* True if actions changed the packet's tuple since the latest ct(). */
static bool
peek_was_rewritten(const struct conntrack_peek *p,
                   const struct conntrack_peek_tuple *tuple)
{
    const struct conntrack_peek_tuple *last = &p->steps[p->n_steps - 1];

    return (p->n_steps
            && (memcmp(&tuple->src, &last->src, sizeof tuple->src)
                || memcmp(&tuple->dst, &last->dst, sizeof tuple->dst)
                || tuple->tp_src != last->tp_src
                || tuple->tp_dst != last->tp_dst));
}

/* The packet's key in 'zone' with its present tuple. */
static void
peek_key(const struct conntrack_peek *p, uint16_t zone,
         const struct conntrack_peek_tuple *tuple, struct conn_key *key)
{
    *key = p->pkt_key;
    key->zone = zone;
    key->src.addr = tuple->src;
    key->dst.addr = tuple->dst;
    if (key_has_ports(key)) {
        key->src.port = tuple->tp_src;
        key->dst.port = tuple->tp_dst;
    }
}

/* Connection of an original direction tuple that is kept in the packet's
 * metadata, as check_orig_tuple().  Returns false if that can't be known. */
static bool
peek_check_orig_tuple(struct conntrack_peek *p, const struct conn_key *key,
                      const struct conntrack_peek_request *req,
                      struct conntrack_peek_conn **pcp)
{
    struct peek_found f;

    *pcp = NULL;
    if (!(p->ct_state & (CS_SRC_NAT | CS_DST_NAT)) || !p->has_orig_tuple
        || !p->orig_tuple.nw_proto || req->nat) {
        return true;
    }

    struct conn_key orig = p->orig_tuple;
    orig.dl_type = key->dl_type;
    orig.zone = p->ct_zone;
    peek_lookup(p, &orig, &f);
    *pcp = f.pc;
    return !f.un_nat && !f.full;
}

static bool
peek_has_expectations(struct conntrack_peek *p)
{
    if (!p->knows_expectations) {
        atomic_read_relaxed(&expected_anything, &p->has_expectations);
        if (p->has_expectations) {
            ovs_rwlock_rdlock(&p->ct->resources_lock);
            p->has_expectations = !hmap_is_empty(&p->ct->alg_expectations);
            ovs_rwlock_unlock(&p->ct->resources_lock);
        }
        p->knows_expectations = true;
    }
    return p->has_expectations;
}

/* 'alg': the packet has the ports of an application-layer gateway.  That is
 * nothing to a packet that no connection knows, as long as nobody expects one:
 * a flood of those is foreseen as any other. */
static enum conntrack_peek_result
peek_process_one(struct conntrack_peek *p, struct conn_key *key, bool alg,
                 const struct conntrack_peek_request *req,
                 struct conntrack_peek_tuple *tuple)
{
    enum conntrack_peek_result result = CT_PEEK_OK;
    struct conntrack_peek_conn *pc;
    bool create = false;
    struct peek_found f;

    if (p->ct_state && p->ct_zone != req->zone) {
        p->ct_state = 0;
    }

    bool natted = (p->ct_state & (CS_SRC_NAT | CS_DST_NAT)) != 0;
    if (OVS_UNLIKELY(natted && peek_was_rewritten(p, tuple))) {
        return CT_PEEK_UNFORESEEN;
    }
    if (OVS_UNLIKELY(natted && req->force)) {
        /* Upstream ends the un-NAT twin, not the connection, or none. */
        return CT_PEEK_UNFORESEEN;
    }
    if (natted) {
        conn_key_reverse(key);
    }
    peek_lookup(p, key, &f);
    if (OVS_UNLIKELY(f.full)) {
        return CT_PEEK_TOO_MANY;
    }
    if (OVS_UNLIKELY(alg) && (natted || f.pc || f.orphan)) {
        return CT_PEEK_ALG;
    }
    if (OVS_UNLIKELY(req->force)
        && (f.orphan || (f.pc && peek_has_same_twin(f.pc)))) {
        return CT_PEEK_UNFORESEEN;      /* As above. */
    }
    if (natted) {
        if (f.pc) {
            f.reply = !f.reply;
            *key = f.reply ? f.pc->up->rev_key : f.pc->up->key;
        } else {
            conn_key_reverse(key);
        }
    }

    if (OVS_UNLIKELY(f.orphan)) {
        p->ordinary = p->applicable = false;
        p->ct_state |= CS_INVALID;
        peek_write_md(p, req->zone, NULL, NULL);
        return CT_PEEK_OK;
    }
    pc = f.pc;
    if (OVS_UNLIKELY(req->force && f.reply && !f.un_nat && pc)) {
        pc->expired = true;
        pc = NULL;
        p->ordinary = p->applicable = false;
    }

    if (pc) {
        create = peek_update_state(p, pc, f.reply);
        if (req->nat && !create) {
            peek_handle_nat(p, pc, req->zone, f.reply, tuple);
        }
    } else if (OVS_UNLIKELY(!peek_check_orig_tuple(p, key, req, &pc))) {
        return CT_PEEK_UNFORESEEN;
    } else if (OVS_UNLIKELY(pc && alg)) {
        return CT_PEEK_ALG;
    } else if (OVS_UNLIKELY(pc != NULL)) {
        p->ordinary = p->applicable = false;
        create = peek_update_state(p, pc, f.reply);
    } else {
        create = true;
    }

    if (f.pc && f.pc->expired && !f.pc->real && f.pc->has_un_nat) {
        return CT_PEEK_UNFORESEEN;      /* Its un-NAT twin would stay. */
    }
    /* Most packets for which nobody knows what comes of them are the first of
     * their connections. */
    if (OVS_LIKELY(create)) {
        p->ordinary = false;
        if (OVS_UNLIKELY(peek_has_expectations(p))) {
            return CT_PEEK_ALG;
        }
        /* Behind a connection that the packet ended there may be another, or
         * its un-NAT twin, which never expires. */
        if (OVS_LIKELY(!f.pc) || !peek_is_taken(p, key)) {
            result = peek_not_found(p, key, req, tuple, &pc);
        }
    }
    peek_write_md(p, req->zone, pc, key);
    if (pc) {
        peek_set_metadata(p, pc, req);
    }

    p->md_conn = req->nat ? NULL : pc;
    p->md_reply = f.reply;
    return result;
}

/* True if the packet has an application-layer gateway's ports: it came with
 * them, or NAT has given it them. */
static bool
peek_has_alg_ports(const struct conntrack_peek *p,
                   const struct conntrack_peek_tuple *tuple)
{
    enum { FTP = 21, TFTP = 69 };
    uint8_t proto = p->pkt_key.nw_proto;

    return ((proto == IPPROTO_TCP && (tuple->tp_src == htons(FTP)
                                      || tuple->tp_dst == htons(FTP)))
            || (proto == IPPROTO_UDP && tuple->tp_dst == htons(TFTP))
            || get_alg_ctl_type(p->packet, tuple->tp_src, tuple->tp_dst,
                                NULL) != CT_ALG_CTL_NONE);
}

/* Sets '*valid' to whether conntrack takes the packet with its present ports,
 * none of which may be 0, and addresses, which those that an ICMP error quotes
 * have to fit.  Returns false if that can't be known. */
static bool
peek_is_valid(const struct conntrack_peek *p,
              const struct conntrack_peek_tuple *tuple, bool *valid)
{
    *valid = p->valid;
    if (p->rewritten && key_has_ports(&p->pkt_key)) {
        *valid = tuple->tp_src && tuple->tp_dst;
        return p->valid || !*valid;
    }
    return !p->rewritten || p->valid || !key_is_icmp(&p->pkt_key);
}

static enum conntrack_peek_result
peek_ct(struct conntrack_peek *p, const struct conntrack_peek_request *req,
        struct conntrack_peek_tuple *tuple)
{
    bool valid;

    if (!p->extracted) {
        struct conn_lookup_ctx ctx;

        p->valid = conn_key_extract(p->ct, p->packet, tuple->dl_type, &ctx, 0);
        p->pkt_key = ctx.key;
        p->icmp_related = p->valid && ctx.icmp_related;
        p->extracted = true;
    }
    if (OVS_UNLIKELY(p->icmp_related)) {
        return CT_PEEK_ICMP_ERROR;
    }
    if (OVS_UNLIKELY(!peek_is_valid(p, tuple, &valid))) {
        return CT_PEEK_UNFORESEEN;
    }

    bool alg = valid && peek_has_alg_ports(p, tuple);
    if (OVS_UNLIKELY(valid && (req->helper || (alg && p->md_conn)))) {
        return CT_PEEK_ALG;
    }

    if (OVS_UNLIKELY(p->ct_state == CS_INVALID)) {
        p->ordinary = p->applicable = false;
        peek_write_md(p, req->zone, NULL, NULL);
    } else if (p->md_conn && p->md_conn->up->key.zone == req->zone
               && !req->force) {
        struct conntrack_peek_conn *pc = p->md_conn;

        if (req->nat) {
            peek_handle_nat(p, pc, req->zone, p->md_reply, tuple);
            p->md_conn = NULL;
        }
        p->ct_zone = req->zone;
        p->ct_mark = pc->up->mark;
        p->ct_label = pc->up->label;
        peek_set_metadata(p, pc, req);
    } else if (OVS_UNLIKELY(!valid)) {
        p->ordinary = p->applicable = false;
        p->ct_state = CS_INVALID;
        peek_write_md(p, req->zone, NULL, NULL);
    } else {
        struct conn_key key;

        peek_key(p, req->zone, tuple, &key);
        return peek_process_one(p, &key, alg, req, tuple);
    }
    return CT_PEEK_OK;
}

void
conntrack_peek_prefetch(const struct conntrack *ct, uint16_t zone,
                        const struct conntrack_peek_tuple *tuple,
                        uint8_t nw_proto)
{
    struct conn_key key;

    memset(&key, 0, sizeof key);
    key.dl_type = tuple->dl_type;
    key.nw_proto = nw_proto;
    key.zone = zone;
    key.src.addr = tuple->src;
    key.dst.addr = tuple->dst;
    key.src.port = tuple->tp_src;
    key.dst.port = tuple->tp_dst;
    cmap_prefetch(&ct->conns, conn_key_hash(&key, ct->hash_basis));
}

enum conntrack_peek_result
conntrack_peek_ct(struct conntrack_peek *p,
                  const struct conntrack_peek_request *req,
                  struct conntrack_peek_tuple *tuple)
{
    enum conntrack_peek_result result = peek_ct(p, req, tuple);

    if (p->n_steps < CT_PEEK_MAX_STEPS) {
        p->steps[p->n_steps++] = *tuple;
    } else {
        p->ordinary = false;
    }
    return result;
}

void
conntrack_peek_uninit(struct conntrack_peek *p)
{
    for (size_t i = 0; i < p->n_conns; i++) {
        if (!p->conns[i].real) {
            conntrack_pool_free(p->conns[i].up);
        }
    }
    p->n_conns = 0;
}

#include "conntrack-peek-apply.c"
