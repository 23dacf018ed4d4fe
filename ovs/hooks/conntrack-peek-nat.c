/* SPDX-License-Identifier: Apache-2.0 */

/* Included by conntrack-peek.c: what NAT does to a packet, and what tuple it
 * chooses for a new connection. */

/* Applies the NAT of 'pc' to the packet's tuple and state. */
static void
peek_nat(struct conntrack_peek *p, struct conntrack_peek_conn *pc, bool reply,
         struct conntrack_peek_tuple *tuple)
{
    const struct conn *conn = pc->up;
    const struct conn_key *key = reply ? &conn->key : &conn->rev_key;
    uint16_t action = reply ? nat_action_reverse(conn->nat_action)
                            : conn->nat_action;

    /* Each at most once, in the order of 'conns'. */
    if (pc->natted || (p->last_natted && pc < p->last_natted)) {
        p->ordinary = false;
    }
    pc->natted = true;
    p->last_natted = pc;

    if (action & NAT_ACTION_SRC) {
        p->ct_state |= CS_SRC_NAT;
        tuple->src = key->dst.addr;
    } else if (action & NAT_ACTION_DST) {
        p->ct_state |= CS_DST_NAT;
        tuple->dst = key->src.addr;
    }
    if (action & (NAT_ACTION_SRC | NAT_ACTION_DST) && key_has_ports(key)) {
        tuple->tp_src = key->dst.port;
        tuple->tp_dst = key->src.port;
    }
}

static void
peek_handle_nat(struct conntrack_peek *p, struct conntrack_peek_conn *pc,
                uint16_t zone, bool reply, struct conntrack_peek_tuple *tuple)
{
    const uint8_t natted = CS_SRC_NAT | CS_DST_NAT;

    if (pc->up->nat_action
        && (!(p->ct_state & natted) || zone != p->ct_zone)) {
        p->ct_state &= ~natted;
        peek_nat(p, pc, reply, tuple);
    }
}

/* True if 'pc' has an un-NAT twin and the same tuples before and after NAT.
 * Both have one hash then, and which of them a look-up finds depends on their
 * order in the table. */
static bool
peek_has_same_twin(const struct conntrack_peek_conn *pc)
{
    struct conn_key reversed = pc->up->key;

    conn_key_reverse(&reversed);
    return ((pc->has_un_nat || pc->up->nat_conn)
            && !conn_key_cmp(&pc->up->rev_key, &reversed));
}

/* True if 'addr' can be one of the family of 'key': behind an IPv4 address
 * there is nothing. */
static bool
key_may_have_address(const struct conn_key *key, const union ct_addr *addr)
{
    union ct_addr ipv4 = { .ipv6 = in6addr_any };

    ipv4.ipv4 = addr->ipv4;
    return (key->dl_type != htons(ETH_TYPE_IP)
            || !memcmp(addr, &ipv4, sizeof ipv4));
}

/* True if 'nat' leaves no choice: one address and one port for those that the
 * packet of 'key' came to. */
static bool
nat_has_one_target(const struct nat_action_info_t *nat,
                   const struct conn_key *key)
{
    const union ct_addr none = { .ipv6 = in6addr_any };

    return (nat->nat_action == (NAT_ACTION_DST | NAT_ACTION_DST_PORT)
            && nat->min_port == nat->max_port
            && !memcmp(&nat->min_addr, &nat->max_addr, sizeof nat->min_addr)
            && memcmp(&nat->min_addr, &none, sizeof none)
            && key_may_have_address(key, &nat->min_addr)
            && key_has_ports(key));
}

static bool
keys_have_same_addresses(const struct conn_key *a, const struct conn_key *b)
{
    return (!memcmp(&a->src.addr, &b->src.addr, sizeof a->src.addr)
            && !memcmp(&a->dst.addr, &b->dst.addr, sizeof a->dst.addr));
}

/* True if a tuple with the addresses of 'key' may be free only because the
 * packet has ended the connection that had it. */
static bool
peek_may_have_freed(const struct conntrack_peek *p, const struct conn_key *key)
{
    struct conn_key reversed = *key;

    conn_key_reverse(&reversed);
    for (size_t i = 0; i < p->n_conns; i++) {
        const struct conntrack_peek_conn *pc = &p->conns[i];

        if (pc->expired && pc->real && pc->up->key.zone == key->zone
            && (keys_have_same_addresses(&pc->up->key, key)
                || keys_have_same_addresses(&pc->up->key, &reversed))) {
            return true;
        }
    }
    return false;
}

/* Of the ports that it may choose from upstream looks at so many in their
 * order, and at some more at random. */
#define NAT_TRIED_IN_ORDER 128

/* True if the search from 'first' has found 'port' at random. */
static bool
is_random_port(ovs_be16 port, uint16_t first, uint16_t min, uint16_t max)
{
    /* Those in the range follow, also if 'first' is before it. */
    int n_tried = ntohs(port) - MAX(first, min - 1);

    if (n_tried < 0) {
        n_tried += max - min + 1;
    }
    return ntohs(port) != first && n_tried >= NAT_TRIED_IN_ORDER;
}

/* True if NAT has found 'key', the reverse key of 'conn', at random. */
static bool
peek_is_random(const struct conntrack_peek *p, const struct conn *conn,
               const struct nat_action_info_t *nat, const struct conn_key *key)
{
    uint32_t hash = nat_range_hash(conn, p->ct->hash_basis, nat);
    uint16_t first, min, max;

    if (!key_has_ports(key)) {
        return false;
    }
    set_sport_range(nat, &conn->key, hash, &first, &min, &max);
    if (is_random_port(key->dst.port, first, min, max)) {
        return true;
    }
    set_dport_range(nat, &conn->key, hash, &first, &min, &max);
    return is_random_port(key->src.port, first, min, max);
}

/* Where fewer ports may be chosen from, what upstream finds is all there is:
 * it looks at some 240.  Ports below 1,024 get one of 424 at least. */
#define DISPLACE_MIN_PORTS 256
/* So many are looked at besides. */
#define DISPLACE_ATTEMPTS 16

/* Nobody has found a tuple for 'conn' with the addresses of 'key', its reverse
 * key: has one displaced that nobody has answered, of the source that has most
 * of these.  Returns false if there is none, or the sender himself has more.
 * Otherwise 'key' has the port. */
static bool
peek_displace(struct conntrack_peek *p, const struct conn *conn,
              const struct nat_action_info_t *nat, struct conn_key *key,
              struct conntrack_displaced *displaced)
{
    uint32_t hash = nat_range_hash(conn, p->ct->hash_basis, nat);
    uint32_t most = 0;
    uint16_t curr, min, max;

    displaced->tag = 0;
    set_sport_range(nat, &conn->key, hash, &curr, &min, &max);
    if (!key_has_ports(key) || max - min < DISPLACE_MIN_PORTS) {
        return false;
    }

    struct conn_key tried = *key;
    for (int i = 0; i < DISPLACE_ATTEMPTS; i++) {
        struct conntrack_displaced d;

        tried.dst.port = htons(min + random_range(max - min + 1));
        uint32_t n = conntrack_find_displaced(p->ct, &tried, p->now, &d);
        if (n > most && !peek_find_copy(p, d.conn)) {
            most = n;
            *displaced = d;
            *key = tried;
        }
    }
    if (most < conntrack_unanswered_of_source(p->ct, conn)) {
        displaced->tag = 0;
    }
    return displaced->tag != 0;
}

/* Sets the reverse key of 'pc' to one that nobody has, or whose connection it
 * displaces, and '*found' to whether there is one. */
static enum conntrack_peek_result
peek_choose_tuple(struct conntrack_peek *p, struct conntrack_peek_conn *pc,
                  const struct nat_action_info_t *nat, bool *found)
{
    struct conn *conn = pc->up;
    struct conn nat_conn;

    *found = true;
    if (nat_has_one_target(nat, &conn->key)) {
        /* The first that nat_get_unique_tuple() would try. */
        struct conn_key key = conn->rev_key;

        key.src.addr = nat->min_addr;
        key.src.port = htons(nat->min_port);

        struct conntrack_peek_hash *known = peek_known(p, &key);

        if (peek_misses(p, known) && known->alone) {
            conn->rev_key = key;
            return CT_PEEK_OK;
        }
    }

    memcpy(&nat_conn, conn, sizeof nat_conn);
    *found = nat_get_unique_tuple(p->ct, conn, &nat_conn, nat);
    if (peek_may_have_freed(p, &nat_conn.rev_key)) {
        /* It took those that the packet has ended for taken.  All that it
         * tries have the same addresses. */
        return CT_PEEK_UNFORESEEN;
    }
    if (*found) {
        pc->by_chance = peek_is_random(p, conn, nat, &nat_conn.rev_key);
    } else {
        *found = pc->by_chance = peek_displace(p, conn, nat, &nat_conn.rev_key,
                                               &pc->displaced);
    }
    if (*found) {
        conn->rev_key = nat_conn.rev_key;
    }
    return CT_PEEK_OK;
}

/* True if a connection that the packet has created before 'pc', the latest,
 * has the tuple that NAT chose for that one: execution would choose another,
 * and the table doesn't know. */
static bool
peek_has_taken_tuple(struct conntrack_peek *p,
                     const struct conntrack_peek_conn *pc)
{
    struct peek_found f;

    memset(&f, 0, sizeof f);
    p->n_conns--;
    peek_lookup_created(p, &pc->up->rev_key, &f);
    p->n_conns++;
    return f.pc != NULL;
}

bool
conntrack_peek_creates_nat(const struct conntrack_peek *p)
{
    for (size_t i = 0; i < p->n_conns; i++) {
        if (!p->conns[i].real && p->conns[i].up->nat_action) {
            return true;
        }
    }
    return false;
}

bool
conntrack_peek_nat_by_chance(const struct conntrack_peek *p)
{
    for (size_t i = 0; i < p->n_conns; i++) {
        if (!p->conns[i].real && p->conns[i].by_chance) {
            return true;
        }
    }
    return false;
}
