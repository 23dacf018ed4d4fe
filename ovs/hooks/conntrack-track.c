/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack.c, see conntrack-track.h. */

#include "conntrack-half-open.h"
#include "conntrack-table.h"
#include "conntrack-track-private.h"

COVERAGE_DEFINE(conntrack_zone_full);

static void
bump_version(struct conn *conn)
{
    uint32_t orig;

    /* In this order: a copy that is still what the version was says that this
     * is so, also when two threads bump it at once. */
    if (conntrack_pool_owns(conn)) {
        atomic_add(conntrack_version_copy(conn), 1, &orig);
    }
    atomic_add(&conn->version, 1, &orig);
}

void
conntrack_note_leaves(struct conn *conn)
{
    bump_version(conn);
}

void
conntrack_note_left(struct conntrack *ct, struct conn *conn)
    OVS_REQUIRES(ct->ct_lock)
{
    conntrack_table_note(ct, conn);
    half_open_leave(ct, conn);
}

void
conntrack_note_removed(struct conntrack *ct, struct conn *conn)
    OVS_REQUIRES(ct->ct_lock)
{
    conntrack_note_leaves(conn);
    conntrack_note_left(ct, conn);
}

/* Bumps the version of the connection that 'twin' is the un-NAT twin of. */
static void
bump_parent(struct conntrack *ct, const struct conn *twin)
{
    uint32_t hash = conn_key_hash(&twin->rev_key, ct->hash_basis);
    struct conn *conn;

    CMAP_FOR_EACH_WITH_HASH (conn, cm_node, hash, &ct->conns) {
        if (conn->nat_conn == twin) {
            bump_version(conn);
        }
    }
}

/* Bumps the versions of connections other than 'conn' with 'key', whose hash
 * is 'hash', in either direction. */
static void
bump_hidden(struct conntrack *ct, const struct conn *conn,
            const struct conn_key *key, uint32_t hash)
{
    struct conn *other;

    CMAP_FOR_EACH_WITH_HASH (other, cm_node, hash, &ct->conns) {
        if (other == conn || other == conn->nat_conn
            || !conn_has_key(other, key)) {
            continue;
        }
        if (other->conn_type == CT_CONN_TYPE_UN_NAT) {
            bump_parent(ct, other);
        } else {
            bump_version(other);
        }
    }
}

static uint64_t
conntrack_n_created(const struct conntrack *ct)
{
    uint64_t n;

    atomic_read_explicit(&ct->n_created, &n, memory_order_acquire);
    return n;
}

/* As conntrack_note_created(), with the hashes of the key and, if there is an
 * un-NAT twin, of its key.  'alone' says that no other connection has them. */
static void
note_created(struct conntrack *ct, struct conn *conn,
             uint32_t hash, uint32_t un_nat_hash, bool alone)
    OVS_REQUIRES(ct->ct_lock)
{
    atomic_store_explicit(&ct->n_created, conntrack_n_created(ct) + 1,
                          memory_order_release);
    if (!alone) {
        bump_hidden(ct, conn, &conn->key, hash);
        if (conn->nat_conn) {
            bump_hidden(ct, conn, &conn->rev_key, un_nat_hash);
        }
    }
    conntrack_table_note(ct, conn);
    half_open_enter(ct, conn, hash, un_nat_hash);
}

void
conntrack_note_created(struct conntrack *ct, struct conn *conn)
    OVS_REQUIRES(ct->ct_lock)
{
    note_created(ct, conn, conn_key_hash(&conn->key, ct->hash_basis),
                 conn->nat_conn ? conn_key_hash(&conn->rev_key,
                                                ct->hash_basis) : 0, false);
}

void
conntrack_note_zone_full(void)
{
    COVERAGE_INC(conntrack_zone_full);
}

void
conntrack_note_label(struct conn *conn, ovs_u128 label)
{
    if (!ovs_u128_equals(conn->label, label)) {
        bump_version(conn);
    }
}

void
conntrack_note_mark(struct conn *conn, uint32_t mark)
{
    uint32_t now;

    atomic_read_relaxed(&conn->mark, &now);
    if (now != mark) {
        bump_version(conn);
    }
}

bool
conntrack_ref_init(struct conntrack_ref *ref, struct conn *conn)
{
    ref->conn = conn;
    /* In this order: the version changes after the flag was set.  (C11 can't
     * just look at a flag.) */
    atomic_read_explicit(&conn->version, &ref->version, memory_order_acquire);
    return (!__atomic_load_n((const bool *) &conn->reclaimed, __ATOMIC_ACQUIRE)
            && conntrack_pool_owns(conn));
}

/* All that is looked at for a packet lies in one cache line. */
BUILD_ASSERT_DECL(offsetof(struct conn, expiration) / CACHE_LINE_SIZE
                  == (POOL_SLOT - 1) / CACHE_LINE_SIZE);
BUILD_ASSERT_DECL(offsetof(struct conn, version)
                  > offsetof(struct conn, expiration));

void
conntrack_track_prefetch(const struct conn *conn)
{
    OVS_PREFETCH_WRITE(&conn->version);
}

void
conntrack_clock_init(struct conntrack_clock *clock, long long int now)
{
    clock->now = now;
    clock->n_known = 0;
}

/* What conn_update_expiration() would set.  It is asked, for an imaginary
 * connection, once for each kind of timeout: what it says holds for the
 * moment of 'clock'. */
static long long int
clock_expiration(struct conntrack *ct, uint32_t tp_id,
                 enum ct_timeout timeout, struct conntrack_clock *clock)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    unsigned int i;

    for (i = 0; i < clock->n_known; i++) {
        if (clock->known[i].tp_id == tp_id
            && clock->known[i].timeout == timeout) {
            return clock->known[i].expiration;
        }
    }

    struct conn conn = { .tp_id = tp_id };
    long long int expiration;

    conn_update_expiration(ct, &conn, timeout, clock->now);
    atomic_read_relaxed(&conn.expiration, &expiration);
    if (i < ARRAY_SIZE(clock->known)) {
        clock->known[i].tp_id = tp_id;
        clock->known[i].timeout = timeout;
        clock->known[i].expiration = expiration;
        clock->n_known++;
    }
    return expiration;
}

bool
conntrack_track_check(struct conntrack *ct, struct conn *conn,
                      const struct conntrack_expect *expect,
                      struct dp_packet *packet, uint8_t nw_proto,
                      long long int now, struct conntrack_step *step)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    atomic_read_explicit(&conn->expiration, &step->expiration,
                         memory_order_acquire);
    uint32_t mark;
    atomic_read_relaxed(&conn->mark, &mark);
    if (now >= step->expiration || mark != expect->mark) {
        return false;
    }
    step->conn = conn;
    step->is_final = nw_proto != IPPROTO_TCP && !expect->is_new;
    return (nw_proto == IPPROTO_TCP
            ? conntrack_tcp_check(ct, conn, packet, expect->reply,
                                  expect->is_new, step)
            : conntrack_other_check(conn, expect->reply, expect->is_new,
                                    step));
}

bool
conntrack_track_commit(struct conntrack *ct, const struct conntrack_step *step,
                       struct conntrack_clock *clock)
{
    struct conn *conn = step->conn;
    long long int old = step->expiration;
    long long int new = clock_expiration(ct, conn->tp_id, step->timeout,
                                         clock);

    if (step->timeout == CT_TM_TCP_ESTABLISHED) {
        conntrack_tcp_commit(step);
    }
    if (old != new
        && !atomic_compare_exchange_strong(&conn->expiration, &old, new)) {
        return false;
    }
    return (step->is_final
            && new - clock->now >= CONNTRACK_SETTLED_TIMEOUT_MS);
}

bool
conntrack_track_predict(struct conntrack *ct, struct conn *conn,
                        const struct conntrack_expect *expect,
                        struct dp_packet *packet, long long int now)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct conntrack_peek_conn copy;
    enum ct_update_res result;

    if (conn_expired(conn, now)) {
        return false;
    }
    copy.up = ALIGNED_CAST(struct conn *, copy.bytes);
    ovs_mutex_lock(&conn->lock);
    conn_copy(copy.up, conn);
    ovs_mutex_unlock(&conn->lock);
    if (copy.up->mark != expect->mark
        || !ovs_u128_equals(copy.up->label, expect->label)) {
        return false;
    }
    result = l4_protos[conn->key.nw_proto]->conn_update(ct, copy.up, packet,
                                                        expect->reply, now);
    return result == (expect->is_new ? CT_UPDATE_VALID_NEW
                      : CT_UPDATE_VALID);
}

void
conntrack_track_update(struct conntrack *ct, struct conn *conn, bool reply,
                       struct dp_packet *packet, long long int now)
{
    ovs_mutex_lock(&conn->lock);
    l4_protos[conn->key.nw_proto]->conn_update(ct, conn, packet, reply, now);
    conntrack_note_tracked(ct, conn);
    ovs_mutex_unlock(&conn->lock);
}

/* Sum of 'n' bytes as 16-bit words in memory order, not folded.  (The ones'
 * complement sum doesn't care for byte order: RFC 1071.) */
static inline uint64_t
sum_bytes(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t sum = 0, two_words;
    uint32_t word;
    uint16_t half = 0;

    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&two_words, p, sizeof two_words);
        sum += (two_words & UINT32_MAX) + (two_words >> 32);
    }
    if (n >= 4) {
        memcpy(&word, p, sizeof word);
        sum += word;
        n -= 4;
        p += 4;
    }
    if (n >= 2) {
        memcpy(&half, p, sizeof half);
        sum += half;
        n -= 2;
        p += 2;
    }
    if (n) {
        half = 0;
        memcpy(&half, p, 1);
        sum += half;
    }
    return sum;
}

/* True if the words that were summed up, a checksum among them, are right: if
 * the sum, folded to 16 bits, were the ones' complement's negative zero.  To
 * fold is to take the remainder modulo 2**16 - 1, which compilers do for a
 * comparison by one multiplication. */
static inline bool
sum_is_valid(uint64_t sum)
{
    return sum && !(sum % UINT16_MAX);
}

static bool
l3_checksum_is_valid(struct dp_packet *packet)
{
    const struct ip_header *ip = dp_packet_l3(packet);
    size_t size = IP_IHL(ip->ip_ihl_ver) * 4;

    return (!dp_packet_ip_checksum_bad(packet)
            && (dp_packet_ip_checksum_valid(packet)
                || dp_packet_hwol_is_ipv4(packet)
                || sum_is_valid(OVS_LIKELY(size == sizeof *ip)
                                ? sum_bytes(ip, sizeof *ip)
                                : sum_bytes(ip, size))));
}

/* Sum of the pseudoheader. */
static inline uint64_t
sum_pseudoheader(const void *l3, bool ipv6, uint8_t nw_proto, size_t l4_size)
{
    const struct ovs_16aligned_ip6_hdr *ip6 = l3;
    const struct ip_header *ip = l3;

    return (ipv6
            ? sum_bytes(&ip6->ip6_src, 2 * sizeof ip6->ip6_src)
            : sum_bytes(&ip->ip_src, 2 * sizeof ip->ip_src))
           + htons(nw_proto) + htons(l4_size);
}

static bool
l4_checksum_is_valid(struct dp_packet *packet, bool ipv6, uint8_t nw_proto)
{
    const void *l4 = dp_packet_l4(packet);
    size_t size = dp_packet_l4_size(packet);

    if (dp_packet_l4_checksum_bad(packet)) {
        return false;
    }
    return (dp_packet_l4_checksum_valid(packet)
            || dp_packet_hwol_tx_l4_checksum(packet)
            || (nw_proto == IPPROTO_UDP && !ipv6
                && !((const struct udp_header *) l4)->udp_csum)
            || sum_is_valid(sum_pseudoheader(dp_packet_l3(packet), ipv6,
                                             nw_proto, size)
                            + sum_bytes(l4, size)));
}

bool
conntrack_checksums_are_valid(struct dp_packet *packet, bool ipv6,
                              uint8_t nw_proto)
{
    return ((ipv6 || l3_checksum_is_valid(packet))
            && l4_checksum_is_valid(packet, ipv6, nw_proto));
}

enum conntrack_nat
conntrack_track_nat(const struct conn *conn, bool reply)
{
    uint16_t action = (reply ? nat_action_reverse(conn->nat_action)
                       : conn->nat_action);

    return (action & NAT_ACTION_SRC ? CONNTRACK_NAT_SRC
            : action & NAT_ACTION_DST ? CONNTRACK_NAT_DST
            : CONNTRACK_NAT_NONE);
}

#include "conntrack-handover.c"
