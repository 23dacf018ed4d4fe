/* SPDX-License-Identifier: Apache-2.0 */

/* Included by conntrack-half-open.c: connections that nobody has answered and
 * that give their tuple to others. */

uint32_t
conntrack_unanswered_of_source(const struct conntrack *ct,
                               const struct conn *conn)
{
    return (ct->half_open
            ? sources_count(&watch_of(ct->half_open, conn)->sources,
                            source_of(ct, conn))
            : 0);
}

uint32_t
conntrack_find_displaced(struct conntrack *ct, const struct conn_key *key,
                         long long int now, struct conntrack_displaced *d)
{
    uint32_t hash = conn_key_hash(key, ct->hash_basis);
    const struct conn *twin;
    struct conn *conn;
    bool reply;

    d->tag = 0;
    CMAP_FOR_EACH_WITH_HASH (twin, cm_node, hash, &ct->conns) {
        if (twin->conn_type == CT_CONN_TYPE_UN_NAT
            && !conn_key_cmp(&twin->key, key)) {
            break;
        }
    }
    if (!twin) {
        return 0;
    }
    d->un_nat_hash = hash;
    d->hash = conn_key_hash(&twin->rev_key, ct->hash_basis);
    CMAP_FOR_EACH_WITH_HASH (conn, cm_node, d->hash, &ct->conns) {
        reply = conn_key_cmp(&conn->key, &twin->rev_key) != 0;
        if (!reply && conn->nat_conn == twin && !conn_expired(conn, now)) {
            d->conn = conn;
            atomic_read_explicit(&conn->half_open, &d->tag,
                                 memory_order_acquire);
            return d->tag ? conntrack_unanswered_of_source(ct, conn) : 0;
        }
    }
    return 0;
}

bool
conntrack_displace(struct conntrack *ct, const struct conntrack_displaced *d,
                   long long int now)
{
    const struct half_open_entry e = {
        .conn = d->conn, .tag = d->tag,
        .hash = d->hash, .un_nat_hash = d->un_nat_hash,
    };
    struct eviction x = { .n = 0 };

    if (!ct->half_open
        || !evict(watch_of(ct->half_open, e.conn), &e, now, &x)) {
        return false;
    }
    evict_all(ct, &x);
    COVERAGE_INC(conntrack_nat_displaced);
    return true;
}
