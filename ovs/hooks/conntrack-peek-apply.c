/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack-peek.c: conntrack_peek_apply(). */

/* As conn_not_found() does it: the table's and the zone's limit. */
static bool
apply_has_room(struct conntrack_peek *p, unsigned int n_new)
{
    unsigned int limit;

    atomic_read_relaxed(&p->ct->n_conn_limit, &limit);
    return atomic_count_get(&p->ct->n_conn) + n_new <= limit;
}

/* True if nobody has taken the tuples of 'pc' meanwhile. */
static bool
apply_is_free(struct conntrack_peek *p, const struct conntrack_peek_conn *pc)
    OVS_REQUIRES(p->ct->ct_lock)
{
    if (peek_known(p, &pc->up->key)->missed
        && p->n_created == conntrack_n_created(p->ct)) {
        return true;            /* peek_choose_tuple() found the other. */
    }
    return (!conn_key_lookup(p->ct, &pc->up->key, peek_hash(p, &pc->up->key),
                             p->now, NULL, NULL)
            && (!pc->has_un_nat
                || !conn_key_lookup(p->ct, &pc->un_nat_key,
                                    peek_hash(p, &pc->un_nat_key), p->now,
                                    NULL, NULL)));
}

/* True if nothing in the table has a key of 'pc', so that it hides no
 * connection. */
static bool
apply_is_alone(struct conntrack_peek *p, const struct conntrack_peek_conn *pc)
    OVS_REQUIRES(p->ct->ct_lock)
{
    return (p->n_created == conntrack_n_created(p->ct)
            && peek_known(p, &pc->up->key)->alone
            && (!pc->has_un_nat || peek_known(p, &pc->un_nat_key)->alone));
}

static bool
apply_may_create(struct conntrack_peek *p, unsigned int n_new)
    OVS_REQUIRES(p->ct->ct_lock)
{
    bool limited = !cmap_is_empty(&p->ct->zone_limits);

    if (!apply_has_room(p, n_new)
        || (n_new > 1 && limited)) {
        return false;
    }
    for (size_t i = 0; i < p->n_conns; i++) {
        const struct conntrack_peek_conn *pc = &p->conns[i];

        if (!pc->real
            && ((limited && !peek_has_room(p, pc->up->key.zone))
                || !apply_is_free(p, pc))) {
            return false;
        }
    }
    return true;
}

/* Makes '*twin', which is the pool's, a copy of '*conn', but for what anybody
 * may look at at any time. */
static void
copy_to_twin(struct conn *twin, const struct conn *conn)
{
    const size_t parts[] = {
        0, offsetof(struct conn, half_open),
        offsetof(struct conn, half_open) + sizeof conn->half_open,
        offsetof(struct conn, version),
        offsetof(struct conn, version) + sizeof conn->version, sizeof *conn,
    };

    for (size_t i = 0; i < ARRAY_SIZE(parts); i += 2) {
        memcpy((char *) twin + parts[i], (const char *) conn + parts[i],
               parts[i + 1] - parts[i]);
    }
}

static struct conn *
apply_create_un_nat(struct conntrack *ct, const struct conn *conn,
                    uint32_t hash)
    OVS_REQUIRES(ct->ct_lock)
{
    struct conn *twin = conntrack_pool_alloc(sizeof *twin);

    copy_to_twin(twin, conn);
    twin->key = conn->rev_key;
    twin->rev_key = conn->key;
    twin->conn_type = CT_CONN_TYPE_UN_NAT;
    twin->nat_action = 0;
    twin->alg = NULL;
    twin->nat_conn = NULL;
    cmap_insert(&ct->conns, &twin->cm_node, hash);
    return twin;
}

static void
apply_create(struct conntrack_peek *p, struct conntrack_peek_conn *pc)
    OVS_REQUIRES(p->ct->ct_lock)
{
    struct conntrack *ct = p->ct;
    struct conn *conn = pc->up;
    struct zone_limit *zl = (cmap_is_empty(&ct->zone_limits) ? NULL
                             : zone_limit_lookup_or_default(ct,
                                                            conn->key.zone));
    bool alone = apply_is_alone(p, pc);
    uint32_t hash = peek_hash(p, &conn->key);
    uint32_t un_nat_hash = (pc->has_un_nat ? peek_hash(p, &pc->un_nat_key)
                            : 0);

    /* Here, as an atomic operation waits until all that was written before has
     * reached the cache: the lock's has just done so. */
    atomic_count_inc(&ct->n_conn);
    conn->nat_conn = (pc->has_un_nat
                      ? apply_create_un_nat(ct, conn, un_nat_hash) : NULL);
    ovs_mutex_init_adaptive(&conn->lock);
    conn->conn_type = CT_CONN_TYPE_DEFAULT;
    atomic_flag_clear_explicit(&conn->reclaimed, memory_order_relaxed);
    if (zl) {
        conn->admit_zone = zl->czl.zone;
        conn->zone_limit_seq = zl->czl.zone_limit_seq;
        atomic_count_inc(&zl->czl.count);
    } else {
        conn->admit_zone = INVALID_ZONE;
    }
    cmap_insert(&ct->conns, &conn->cm_node, hash);
    note_created(ct, conn, hash, un_nat_hash, alone);
    conn_expire_push_front(ct, conn);
    pc->real = conn;
    pc->n_updates = 0;
    pc->changes_mark = pc->changes_label = false;
}

/* Returns false if one that was to leave doesn't. */
static bool
apply_displace(struct conntrack_peek *p)
{
    for (size_t i = 0; i < p->n_conns; i++) {
        const struct conntrack_peek_conn *pc = &p->conns[i];

        if (!pc->real && pc->displaced.tag
            && !conntrack_displace(p->ct, &pc->displaced, p->now)) {
            return false;
        }
    }
    return true;
}

static bool
apply_create_all(struct conntrack_peek *p, unsigned int n_new)
{
    bool ok;

    if (!apply_displace(p)) {
        return false;
    }
    ovs_mutex_lock(&p->ct->ct_lock);
    ok = apply_may_create(p, n_new);
    for (size_t i = 0; ok && i < p->n_conns; i++) {
        if (!p->conns[i].real) {
            apply_create(p, &p->conns[i]);
        }
    }
    ovs_mutex_unlock(&p->ct->ct_lock);
    return ok;
}

static void
apply_update(struct conntrack_peek *p, const struct conntrack_peek_conn *pc)
{
    struct conn *conn = pc->real;

    ovs_mutex_lock(&conn->lock);
    for (unsigned int i = 0; i < pc->n_updates; i++) {
        l4_protos[conn->key.nw_proto]->conn_update(p->ct, conn, p->packet,
                                                   pc->reply, p->now);
    }
    conntrack_note_tracked(p->ct, conn);
    /* Each by itself: the other may be another packet's by now. */
    if (pc->changes_mark) {
        uint32_t mark;

        atomic_read_relaxed(&pc->up->mark, &mark);
        conntrack_note_mark(conn, mark);
        atomic_store_relaxed(&conn->mark, mark);
    }
    if (pc->changes_label) {
        conntrack_note_label(conn, pc->up->label);
        conn->label = pc->up->label;
    }
    ovs_mutex_unlock(&conn->lock);
}

bool
conntrack_peek_apply(struct conntrack_peek *p)
{
    unsigned int n_new = 0;

    if (!p->applicable) {
        return false;
    }
    for (size_t i = 0; i < p->n_conns; i++) {
        n_new += !p->conns[i].real;
    }
    if (n_new && !apply_create_all(p, n_new)) {
        return false;
    }
    for (size_t i = 0; i < p->n_conns; i++) {
        const struct conntrack_peek_conn *pc = &p->conns[i];

        if (pc->n_updates || pc->changes_mark || pc->changes_label) {
            apply_update(p, pc);
        }
    }
    return true;
}
