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
    struct conn *twin;
    bool reply;

    d->tag = 0;
    if (!conn_key_lookup(ct, key, hash, now, &twin, NULL)
        || twin->conn_type != CT_CONN_TYPE_UN_NAT) {
        return 0;
    }
    d->un_nat_hash = hash;
    d->hash = conn_key_hash(&twin->rev_key, ct->hash_basis);
    d->conn = conntrack_parent(ct, twin, key, d->hash, now, &reply);
    if (!d->conn) {
        return 0;
    }
    atomic_read_explicit(&d->conn->half_open, &d->tag, memory_order_acquire);
    return d->tag ? conntrack_unanswered_of_source(ct, d->conn) : 0;
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
