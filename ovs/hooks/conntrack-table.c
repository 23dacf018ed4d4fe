/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack-half-open.c, see conntrack-table.h. */

static atomic_uint64_t table_n_steps = 0;

uint64_t
conntrack_table_n_steps(void)
{
    uint64_t n;

    atomic_read_relaxed(&table_n_steps, &n);
    return n;
}

static size_t
table_nodes(const struct conntrack *ct)
{
    unsigned int limit;

    atomic_read_relaxed(&ct->n_conn_limit, &limit);
    return 2 * (size_t) MIN(limit, CONNTRACK_TABLE_MAX_CONNS);
}

bool
conntrack_table_is_ready(const struct conntrack *ct)
{
    return cmap_has_room(&ct->conns, table_nodes(ct));
}

/* While the table grows 'room' of 'ct->half_open' is what it grows into.  NULL
 * again if that has found no place for a node, and has to begin anew. */

static void
table_follow(struct conntrack *ct, uint32_t hash)
    OVS_REQUIRES(ct->ct_lock)
{
    struct conntrack_half_open *h = ct->half_open;

    if (h->room && !cmap_room_follow(&ct->conns, h->room, hash)) {
        h->room = NULL;
    }
}

void
conntrack_table_note(struct conntrack *ct, const struct conn *conn)
    OVS_REQUIRES(ct->ct_lock)
{
    if (OVS_LIKELY(!ct->half_open || !ct->half_open->room)) {
        return;
    }
    table_follow(ct, conn_key_hash(&conn->key, ct->hash_basis));
    if (conn->nat_conn) {
        table_follow(ct, conn_key_hash(&conn->nat_conn->key,
                                       ct->hash_basis));
    }
}

static void
table_set_room(struct conntrack *ct, struct cmap_impl *room)
{
    ovs_mutex_lock(&ct->ct_lock);
    ct->half_open->room = room;
    ovs_mutex_unlock(&ct->ct_lock);
}

/* Hashes that the room isn't told of yet. */
struct table_step {
    struct conntrack *ct;
    struct cmap_impl *room;
    size_t n;
    uint32_t hashes[CONNTRACK_TABLE_STEP];
};

/* Returns false if the room is of no use. */
static bool
table_step_take(struct table_step *step)
{
    struct conntrack *ct = step->ct;
    uint64_t orig;
    bool ok;

    atomic_add_relaxed(&table_n_steps, 1, &orig);
    ovs_mutex_lock(&ct->ct_lock);
    for (size_t i = 0; i < step->n; i++) {
        table_follow(ct, step->hashes[i]);
    }
    ok = ct->half_open->room;
    ovs_mutex_unlock(&ct->ct_lock);
    step->n = 0;
    return ok;
}

static bool
table_step_add(struct table_step *step, const struct conn_key *key)
{
    uint32_t hash = conn_key_hash(key, step->ct->hash_basis);

    cmap_prefetch(&step->ct->conns, hash);
    cmap_room_prefetch(step->room, hash);
    step->hashes[step->n++] = hash;
    return (step->n < ARRAY_SIZE(step->hashes)
            || table_step_take(step));
}

/* Who comes into 'list' meanwhile, or leaves it, is noted as he does. */
static bool
table_add_list(struct table_step *step, const struct rculist *list)
{
    const struct conn *conn;

    RCULIST_FOR_EACH (conn, node, list) {
        if (!table_step_add(step, &conn->key)
            || (conn->nat_conn
                && !table_step_add(step, &conn->nat_conn->key))) {
            return false;
        }
    }
    return table_step_take(step);
}

/* Tells 'room' of all connections.  Returns false if it is of no use, or the
 * thread is to exit. */
static bool
table_fill(struct conntrack *ct, struct cmap_impl *room)
{
    struct table_step step = { .ct = ct, .room = room };

    for (size_t i = 0; i < N_EXP_LISTS; i++) {
        if (latch_is_set(&ct->half_open->exit)
            || !table_add_list(&step, &ct->exp_lists[i])) {
            return false;
        }
        ovsrcu_quiesce();
    }
    return true;
}

/* True if 'room' has become the table. */
static bool
table_take(struct conntrack *ct, struct cmap_impl *room)
{
    bool ok;

    ovs_mutex_lock(&ct->ct_lock);
    ok = ct->half_open->room;
    if (ok) {
        cmap_room_take(&ct->conns, room);
        ct->half_open->room = NULL;
    }
    ovs_mutex_unlock(&ct->ct_lock);
    return ok;
}

void
conntrack_table_prepare(struct conntrack *ct)
{
    struct cmap_impl *room = cmap_room_create(&ct->conns, table_nodes(ct));

    while (room) {
        table_set_room(ct, room);
        if (table_fill(ct, room) && table_take(ct, room)) {
            return;
        }
        table_set_room(ct, NULL);
        if (latch_is_set(&ct->half_open->exit)) {
            cmap_room_destroy(room);
            return;
        }
        cmap_room_clear(room);
    }
}
