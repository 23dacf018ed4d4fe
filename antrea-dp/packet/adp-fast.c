/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-fast.h"

#include "adp-bridge-shared.h"
#include "adp-cached-verdict.h"
#include "adp-flow-cache.h"
#include "adp-offload.h"
#include "adp-refuse.h"
#include "adp-rewrite.h"
#include "adp-sample.h"
#include "adp-tunnel.h"
#include "dp-hooks.h"
#include "packets.h"

/* What so many sessions need the core has in its own caches. */
#define N_CACHED 32768

void
adp_fast_init(struct adp_fast *f, struct dp_netdev_pmd_thread *pmd,
              struct adp_flow_cache *cache, odp_port_t in_port)
{
    f->pmd = pmd;
    f->in_port = in_port;
    f->cache = cache;
    f->tracker = dp_pmd_conntrack(pmd);
    f->now = dp_pmd_now_ms(pmd);
    conntrack_clock_init(&f->clock, f->now);
    f->serial = adp_sessions_serial(cache->sessions);
    memset(&f->tx, 0, sizeof f->tx);
    dp_packet_batch_init(&f->waiting);
    f->tnl_actions = NULL;
    f->age = adp_session_age(f->now);
    f->moment = adp_session_moment(f->now);
    f->last_hash = 0;
    f->n_alike = 0;
    f->is_paced = adp_sessions_count(f->cache->sessions) > N_CACHED;
    f->n_paced = 0;
    f->n_sessions = f->n_conns = f->n_more = f->n_actions = 0;
    f->has_more = false;
    f->n_missing = f->n_unknown = 0;
    adp_punted_init(&f->punted);
    f->sample = NULL;
}

/* Stages.
 *
 * What a packet needs of memory is asked for in stages, of which each needs
 * what the one before has fetched: the line of the index, the session, the
 * connection and the verdict, what some need beyond that.  It takes some 500
 * cycles to come, and a core asks for no more than some 16 lines at a time:
 * who asks for those of a whole batch at once waits for nearly all of them.
 * So, where it isn't in the core's own caches anyway, it is done at an even
 * pace, while others are parsed or taken.  For the heads of trains, of which a
 * batch has fewer, it is done at once. */
enum {
    /* So many packets behind it are parsed before it is a packet's turn. */
    SESSION_LAG = 14,
    CONNS_LAG = 20,
    /* So many before it are yet to be taken when it is, at the latest. */
    SESSIONS_AHEAD = 18,
    CONNS_AHEAD = 12,
    MORE_AHEAD = 8,
    ACTIONS_AHEAD = 4
};

static inline void
fetch_session(struct adp_fast *f, size_t i)
{
    struct adp_fast_packet *fp = &f->packets[i];

    fp->candidate = NULL;
    if (!fp->is_parsed) {
        return;
    }
    fp->candidate = adp_sessions_candidate(f->cache->sessions,
                                           fp->parsed.hash);
    if (OVS_UNLIKELY(!fp->candidate)) {
        f->n_missing++;
    } else if (fp->parsed.is_ipv6) {
        adp_session_fetch_more(fp->candidate);
    }
}

static void __attribute__((__noinline__))
fetch_nat(const struct adp_session_body *body)
{
    struct conn *const conns[] = { body->conn0, body->conn1, body->conn2 };

    for (int i = 0; i < body->n_conns; i++) {
        conntrack_track_prefetch_nat(conns[i]);
    }
}

/* Of the connection, or of its version where that is enough. */
static inline void
fetch_conn(const struct adp_fast *f, const struct adp_session_body *body,
           const struct conn *conn)
{
    if (adp_session_is_settled(body, f->age, f->moment)) {
        conntrack_ref_prefetch(conn);
    } else {
        conntrack_track_prefetch(conn);
    }
}

static inline void
fetch_conns(struct adp_fast *f, size_t i)
{
    struct adp_fast_packet *fp = &f->packets[i];
    struct adp_session *s = fp->candidate;

    if (!fp->is_parsed) {
        return;
    }
    if (OVS_UNLIKELY(!s)) {
        fp->candidate = adp_sessions_other_candidate(f->cache->sessions,
                                                     fp->parsed.hash);
        f->n_unknown += !fp->candidate;
        return;
    }

    const struct adp_session_body *body = adp_session_body(s);
    adp_cached_verdict_prefetch(f->cache->verdicts, &body->token);
    if (body->n_conns) {
        fetch_conn(f, body, body->conn0);
    }
    if (body->more) {
        if (body->more & ADP_SESSION_MORE_LINE) {
            adp_session_fetch_more(s);
        }
        f->has_more = (f->has_more || body->n_conns > 1
                       || body->more & ADP_SESSION_MORE_TUNNEL);
        if (body->more & ADP_SESSION_MORE_NAT) {
            fetch_nat(body);
        }
    }
}

/* These two stages for the packets before number 'end', as far as they aren't
 * done. */

static inline ALWAYS_INLINE void
sessions_until(struct adp_fast *f, size_t end)
{
    for (; f->n_sessions < end; f->n_sessions++) {
        fetch_session(f, f->n_sessions);
    }
}

static inline ALWAYS_INLINE void
conns_until(struct adp_fast *f, size_t end)
{
    for (; f->n_conns < end; f->n_conns++) {
        fetch_conns(f, f->n_conns);
    }
}

/* The second connection, and the tunnel that the session leads into. */
static inline void
fetch_more(struct adp_fast *f, size_t i)
{
    struct adp_fast_packet *fp = &f->packets[i];

    fp->tunnel = NULL;
    if (!fp->is_parsed || !fp->candidate) {
        return;
    }

    const struct adp_session_body *body = adp_session_body(fp->candidate);
    if (body->n_conns > 1) {
        fetch_conn(f, body, body->conn1);
    }
    if (body->more & ADP_SESSION_MORE_TUNNEL) {
        struct adp_stored *v = adp_store_get(f->cache->verdicts, &body->token);

        fp->tunnel = v ? adp_cached_verdict_tunnel(v) : NULL;
        if (fp->tunnel) {
            OVS_PREFETCH(fp->tunnel);
        }
    }
}

static inline void
fetch_actions(struct adp_fast *f, size_t i)
{
    const struct adp_tunnel *t = f->packets[i].tunnel;

    if (t) {
        adp_tunnel_prefetch_actions(t);
    }
}

void
adp_fast_parse(struct adp_fast *f, size_t i, struct dp_packet *packet,
               uint32_t ingress, bool labels)
{
    struct adp_fast_packet *fp = &f->packets[i];
    ovs_be16 tci;
    bool tagged = adp_session_tag(packet, &tci);

    if (OVS_UNLIKELY(tagged)) {
        ingress = adp_flow_cache_ingress_of_vlan(f->cache, ingress, tci,
                                                 f->now);
    }
    fp->is_parsed = adp_session_parse(
        packet, tagged, ingress, labels,
        adp_sessions_seeds(f->cache->sessions), &fp->parsed);
    fp->candidate = NULL;
    if (fp->is_parsed) {
        adp_sessions_prefetch(f->cache->sessions, fp->parsed.hash);
        f->n_alike += fp->parsed.hash == f->last_hash;
        f->last_hash = fp->parsed.hash;
    }
    if (f->is_paced && OVS_LIKELY(!f->n_alike)) {
        sessions_until(f, i + 1 - MIN(i + 1, SESSION_LAG));
        conns_until(f, i + 1 - MIN(i + 1, CONNS_LAG));
    }
}

/* Finds out which of 'n' packets follow others. */
static void
couple(struct adp_fast *f, size_t n)
{
    f->n_heads = 0;
    for (size_t i = 0; i < n; i++) {
        struct adp_fast_packet *fp = &f->packets[i];

        fp->follows = (i && fp->is_parsed && fp[-1].is_parsed
                       && adp_session_packets_alike(&fp->parsed,
                                                    &fp[-1].parsed));
        if (fp->is_parsed && !fp->follows) {
            f->heads[f->n_heads++] = i;
        }
    }
}

/* All stages, one after the other, for 'n' packets: 'heads', or the first of
 * the batch. */
static inline ALWAYS_INLINE void
fetch_all(struct adp_fast *f, const uint8_t *heads, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        fetch_session(f, heads ? heads[k] : k);
    }
    for (size_t k = 0; k < n; k++) {
        fetch_conns(f, heads ? heads[k] : k);
    }
    if (f->has_more) {
        for (size_t k = 0; k < n; k++) {
            fetch_more(f, heads ? heads[k] : k);
        }
        for (size_t k = 0; k < n; k++) {
            fetch_actions(f, heads ? heads[k] : k);
        }
    }
}

/* What is due, if anything, when packet 'i' is about to be taken.  Where
 * sessions have left or moved since they were looked for, a candidate may be
 * none by now, or another: then something else is fetched. */
static inline ALWAYS_INLINE void
fetch_ahead(struct adp_fast *f, size_t i)
{
    const size_t n = f->n_paced;

    if (!n) {
        return;
    }
    sessions_until(f, MIN(n, i + SESSIONS_AHEAD));
    conns_until(f, MIN(n, i + CONNS_AHEAD));
    if (f->has_more) {
        for (; f->n_more < n && f->n_more < i + MORE_AHEAD; f->n_more++) {
            fetch_more(f, f->n_more);
        }
        for (; f->n_actions < n && f->n_actions < i + ACTIONS_AHEAD;
             f->n_actions++) {
            fetch_actions(f, f->n_actions);
        }
    }
}

void
adp_fast_fetch(struct adp_fast *f, size_t n, bool alone)
{
    if (OVS_UNLIKELY(alone)) {
        f->n_alike = 0;
    }
    if (adp_fast_has_trains(f)) {
        f->n_unknown = 0;
        couple(f, n);
        fetch_all(f, f->heads, f->n_heads);
        return;
    }
    if (!f->is_paced) {
        fetch_all(f, NULL, n);
        return;
    }

    f->n_paced = n;
    sessions_until(f, MIN(n, SESSIONS_AHEAD));
    if (OVS_UNLIKELY(f->n_missing)) {
        /* Who looks for walks wants to know of all. */
        sessions_until(f, n);
        if (f->n_missing > 1) {
            conns_until(f, n);
        }
    }
    fetch_ahead(f, 0);
}

/* Validity. */

/* The verdict that 'body' remembers if it is what a walk would find out now,
 * as far as flows, groups and ports are concerned, or NULL. */
static struct adp_cached_verdict *
current_verdict(const struct adp_fast *f, struct adp_session_body *body,
                struct adp_bridge *b)
{
    return adp_cached_verdict_get_current(
        f->cache->verdicts, &body->token, b,
        ovsrcu_get(struct adp_program *, &b->program),
        ovsrcu_get(struct adp_ports *, &b->ports),
        adp_learn_table_serial(b->learn));
}

/* The connections of a session in an array. */
static void
conns_of(const struct adp_session_body *body,
         struct conntrack_ref refs[ADP_CACHED_VERDICT_MAX_CONNS])
{
    refs[0].conn = body->conn0;
    refs[0].version = body->version0;
    refs[1].conn = body->conn1;
    refs[1].version = body->version1;
    refs[2].conn = body->conn2;
    refs[2].version = body->version2;
}

/* Passes a packet that is not an ordinary one through its connections, if
 * they take it as they take ordinary ones: all of them, or none. */
static bool __attribute__((__noinline__))
track_unusual(struct adp_fast *f, const struct adp_session_body *body,
              const struct adp_cached_verdict *v, struct dp_packet *packet)
{
    const struct conntrack_expect *expect = v->content.conns;
    struct conntrack_ref refs[ADP_CACHED_VERDICT_MAX_CONNS];
    int i, n = body->n_conns;

    conns_of(body, refs);
    for (i = 0; i < n; i++) {
        if (!conntrack_ref_is_valid(refs[i].conn, refs[i].version)
            || !conntrack_track_predict(f->tracker, refs[i].conn, &expect[i],
                                        packet, f->now)) {
            return false;
        }
    }
    for (i = 0; i < n; i++) {
        conntrack_track_update(f->tracker, refs[i].conn, expect[i].reply,
                               packet, f->now);
    }
    return true;
}

static inline bool
check_conn(const struct adp_fast *f, const struct adp_session_packet *p,
           const struct conntrack_expect *expect, struct conn *conn,
           uint32_t version, struct dp_packet *packet,
           struct conntrack_step *step)
{
    return (conntrack_ref_is_valid(conn, version)
            && conntrack_track_check(f->tracker, conn, expect, packet,
                                     p->nw_proto, f->now, step));
}

/* True if a packet with right checksums is an ordinary one of its connections:
 * of all of them. */
static inline ALWAYS_INLINE bool
is_ordinary(const struct adp_fast *f, const struct adp_session_packet *p,
            const struct adp_session_body *body,
            const struct adp_cached_verdict *v, struct dp_packet *packet,
            struct conntrack_step steps[ADP_CACHED_VERDICT_MAX_CONNS])
{
    const struct conntrack_expect *expect = v->content.conns;
    int n = body->n_conns;

    return (check_conn(f, p, &expect[0], body->conn0, body->version0, packet,
                       &steps[0])
            && (n <= 1 || check_conn(f, p, &expect[1], body->conn1,
                                     body->version1, packet, &steps[1]))
            && (n <= 2 || check_conn(f, p, &expect[2], body->conn2,
                                     body->version2, packet, &steps[2])));
}

/* Passes such a packet through its connections. */
static inline ALWAYS_INLINE bool
track_ordinary(struct adp_fast *f, const struct adp_session_packet *p,
               struct adp_session_body *body,
               const struct adp_cached_verdict *v, struct dp_packet *packet)
{
    struct conntrack_step steps[ADP_CACHED_VERDICT_MAX_CONNS];
    int n = body->n_conns;
    bool settled = true;

    if (!is_ordinary(f, p, body, v, packet, steps)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        settled &= conntrack_track_commit(f->tracker, &steps[i], &f->clock);
    }
    if (settled) {
        body->settled = f->moment;
    }
    return true;
}

BUILD_ASSERT_DECL(1 << ADP_SESSION_MOMENT_SHIFT <= CONNTRACK_SETTLED_MS);

/* True if nothing is to be done for a packet with right checksums: one before
 * it in this moment found the connections settled. */
static inline bool
is_settled(const struct adp_fast *f, const struct adp_session_body *body)
{
    int n = body->n_conns;

    return (adp_session_is_settled(body, f->age, f->moment)
            && conntrack_ref_is_unmoved(body->conn0, body->version0)
            && (n <= 1 || conntrack_ref_is_unmoved(body->conn1,
                                                   body->version1))
            && (n <= 2 || conntrack_ref_is_unmoved(body->conn2,
                                                   body->version2)));
}

/* Passes the packet through its connections: all of them, or none. */
static inline ALWAYS_INLINE bool
track(struct adp_fast *f, const struct adp_session_packet *p,
      struct adp_session_body *body, const struct adp_cached_verdict *v,
      struct dp_packet *packet)
{
    if (!body->n_conns) {
        return true;
    }
    return (conntrack_checksums_are_valid(packet, p->is_ipv6, p->nw_proto)
            && (is_settled(f, body)
                || track_ordinary(f, p, body, v, packet)
                || track_unusual(f, body, v, packet)));
}

/* The number of packets from the first of a train on with right checksums. */
static inline size_t
n_valid(const struct adp_session_packet *p, struct dp_packet *const packets[],
        size_t n)
{
    size_t i = 0;

    while (i < n && conntrack_checksums_are_valid(packets[i], p->is_ipv6,
                                                  p->nw_proto)) {
        i++;
    }
    return i;
}

/* Passes packets of a train through their connections, and returns how
 * many. */
static size_t
track_train(struct adp_fast *f, const struct adp_session_packet *p,
            struct adp_session_body *body, const struct adp_cached_verdict *v,
            struct dp_packet *const packets[], size_t n)
{
    if (!body->n_conns) {
        return n;
    }
    n = n_valid(p, packets, n);
    if (is_settled(f, body)) {
        return n;
    }
    for (size_t i = 0; i < n; i++) {
        if (!track_ordinary(f, p, body, v, packets[i])) {
            return i ? i : track_unusual(f, body, v, packets[i]);
        }
        if (p->nw_proto == IPPROTO_UDP) {
            break;      /* For conntrack the next one, now, is the same. */
        }
    }
    return n;
}

/* Leaving. */

void
adp_fast_init_metadata(const struct adp_fast *f, struct dp_packet *packet,
                       bool ipv6)
{
    if (f->in_port != ODPP_NONE) {
        pkt_metadata_init(&packet->md, f->in_port);
    }
    /* Tunnels take the outer source port from the hash. */
    if (!dp_packet_rss_valid(packet)) {
        if (ipv6) {
            dp_packet_update_rss_hash_ipv6_tcp_udp(packet);
        } else {
            dp_packet_update_rss_hash_ipv4_tcp_udp(packet);
        }
    }
}

static const struct flow no_flow;

void
adp_fast_execute(struct adp_fast *f, struct dp_packet *packet,
                 const struct flow *flow, const struct nlattr *actions,
                 size_t actions_len)
{
    struct dp_packet_batch batch;

    adp_fast_flush(f);
    if (actions_len) {
        dp_packet_batch_init_packet(&batch, packet);
        dp_pmd_execute(f->pmd, &batch, flow, actions, actions_len);
    } else {
        dp_packet_delete(packet);
    }
}

void
adp_fast_flush(struct adp_fast *f)
{
    if (f->tnl_actions) {
        const struct adp_tunnel_actions *tnl_actions = f->tnl_actions;

        f->tnl_actions = NULL;
        dp_pmd_execute(f->pmd, &f->waiting, &no_flow, tnl_actions->data,
                       tnl_actions->size);
        dp_packet_batch_init(&f->waiting);
    }
}

/* What goes into a tunnel has the length that is sent. */
static void
send_segments(struct adp_fast *f, struct dp_packet *packet,
              const struct adp_tunnel_actions *tnl_actions)
{
    struct adp_segments segments;
    struct dp_packet *segment;

    adp_segments_init(&segments, packet, 0, ETH_PAYLOAD_MAX);
    while ((segment = adp_segments_next(&segments))) {
        dp_pmd_send_into_tunnel(f->pmd, &f->tx, segment, tnl_actions->push,
                                tnl_actions->odp_port);
    }
    dp_packet_delete(packet);
}

/* Sends the packet into a tunnel, or lets it wait for others that go there
 * too. */
static void
execute_tunnel(struct adp_fast *f, struct dp_packet *packet,
               const struct adp_tunnel_actions *tnl_actions)
{
    if (f->tnl_actions != tnl_actions) {
        adp_fast_flush(f);
    }
    if (OVS_UNLIKELY(tnl_actions->push && dp_packet_hwol_is_tso(packet))) {
        send_segments(f, packet, tnl_actions);
    } else if (OVS_LIKELY(tnl_actions->push)) {
        dp_pmd_send_into_tunnel(f->pmd, &f->tx, packet, tnl_actions->push,
                                tnl_actions->odp_port);
    } else {
        f->tnl_actions = tnl_actions;
        dp_packet_batch_add(&f->waiting, packet);
    }
}

void
adp_fast_leave(struct adp_fast *f, struct dp_packet *packet,
               const struct adp_cached_verdict_content *c,
               const struct nlattr *actions,
               const struct adp_tunnel_actions *tnl_actions)
{
    if (OVS_LIKELY(c->odp_port != ODPP_NONE)) {
        dp_pmd_send(f->pmd, &f->tx, packet, c->odp_port);
    } else if (tnl_actions) {
        execute_tunnel(f, packet, tnl_actions);
    } else if (c->actions_len) {
        adp_fast_execute(f, packet, &no_flow, actions, c->actions_len);
    } else {
        dp_packet_delete(packet);
    }
}

/* The packet's session.  The one that was fetched for it, unless sessions have
 * left the table since. */
static inline struct adp_session *
find_session(const struct adp_fast *f, const struct adp_fast_packet *fp)
{
    const struct adp_session_packet *p = &fp->parsed;
    struct adp_session *s = fp->candidate;

    if (OVS_LIKELY(s && f->serial == adp_sessions_serial(f->cache->sessions)
                   && (p->is_ipv6 ? adp_session_is6(s, &p->key6)
                       : adp_session_is4(s, &p->key4)))) {
        return s;
    }
    return adp_flow_cache_find(f->cache, p);
}

/* The verdict of the packet's session, '*session', if it is what a walk would
 * find out now, or NULL. */
static struct adp_cached_verdict *
known_verdict(const struct adp_fast *f, const struct adp_fast_packet *fp,
              struct adp_bridge *b, struct adp_session **session)
{
    *session = fp->is_parsed ? find_session(f, fp) : NULL;
    return (*session ? current_verdict(f, adp_session_body(*session), b)
            : NULL);
}

static enum adp_fast_known
is_refused(const struct adp_cached_verdict *v)
{
    return (!v ? ADP_FAST_UNKNOWN
            : v->content.answer ? ADP_FAST_REFUSED
            : ADP_FAST_NOT_REFUSED);
}

enum adp_fast_known
adp_fast_known(const struct adp_fast *f, const struct adp_fast_packet *fp,
               struct adp_bridge *b)
{
    struct adp_session *s;

    return is_refused(known_verdict(f, fp, b, &s));
}

enum adp_fast_known
adp_fast_known_ordinary(const struct adp_fast *f,
                        const struct adp_fast_packet *fp,
                        struct dp_packet *packet, struct adp_bridge *b)
{
    struct conntrack_step steps[ADP_CACHED_VERDICT_MAX_CONNS];
    struct adp_session *s;
    const struct adp_cached_verdict *v = known_verdict(f, fp, b, &s);

    if (v) {
        const struct adp_session_body *body = adp_session_body(s);

        if (body->n_conns
            && !is_ordinary(f, &fp->parsed, body, v, packet, steps)) {
            v = NULL;
        }
    }
    return is_refused(v);
}

/* The actions of a verdict, which lie apart from what ordinary packets need,
 * if they are what sends the packet on. */
static inline const struct nlattr *
actions_of(const struct adp_cached_verdict *v,
           const struct adp_tunnel_actions *tnl_actions)
{
    return (OVS_LIKELY(v->content.odp_port != ODPP_NONE || tnl_actions)
            ? NULL : v->actions);
}

/* What is known of a packet by its session. */
struct known {
    struct adp_session *session;
    struct adp_session_body *body;
    struct adp_cached_verdict *verdict;
    const struct adp_tunnel_actions *tnl_actions;
};

/* Returns false if packet 'i' of the batch can't go by a session. */
static inline ALWAYS_INLINE bool
get_known(struct adp_fast *f, size_t i, struct adp_bridge *b, struct known *k)
{
    const struct adp_session_packet *p = &f->packets[i].parsed;
    struct adp_session *s;

    if (!f->packets[i].is_parsed
        || !(s = find_session(f, &f->packets[i]))) {
        return false;
    }

    k->session = s;
    k->body = (p->is_ipv6 ? &s->v6.body : &s->v4.body);
    k->tnl_actions = NULL;
    struct adp_cached_verdict *v = current_verdict(f, k->body, b);
    if (!v) {
        return false;
    }
    k->verdict = v;
    adp_session_use(k->body, f->age);
    const struct adp_tunnel *tunnel = adp_cached_verdict_tunnel(&v->up);
    if (OVS_UNLIKELY(tunnel)) {
        k->tnl_actions = adp_tunnel_actions(tunnel, f->now);
        if (!k->tnl_actions || !k->tnl_actions->size) {
            return false;
        }
    }
    return OVS_LIKELY(!v->content.missed) || !adp_bridge_sends_misses(b);
}

/* Takes packet 'i' of the batch, of which 'k' is known.  'sample' is NULL
 * unless it is sampled. */
static inline ALWAYS_INLINE bool
take_known(struct adp_fast *f, size_t i, struct dp_packet *packet,
           struct adp_bridge *b, const struct known *k,
           struct adp_sample *sample)
{
    const struct adp_session_packet *p = &f->packets[i].parsed;
    struct adp_cached_verdict *v = k->verdict;

    if (!track(f, p, k->body, v, packet)) {
        return false;
    }
    if (sample) {
        adp_sample_note_session(sample, k->session, v, k->tnl_actions);
    }

    adp_store_count(f->cache->verdicts, &v->up, 1, dp_packet_size(packet),
                    p->tcp_flags, f->now);
    if (OVS_UNLIKELY(v->content.odp_port == ODPP_NONE)) {
        adp_fast_init_metadata(f, packet, p->is_ipv6);
        if (v->content.answer) {
            adp_refuse(f, b, packet, v->content.answer,
                       v->content.ingress_tunnel);
        }
    }
    if (OVS_UNLIKELY(v->content.metered)
        && !dp_pmd_meter(f->pmd, packet, v->content.meter_id)) {
        return true;
    }
    adp_rewrite_by_session(packet, k->session, &v->content);
    adp_fast_leave(f, packet, &v->content, actions_of(v, k->tnl_actions),
                   k->tnl_actions);
    return true;
}

bool
adp_fast_take(struct adp_fast *f, size_t i, struct dp_packet *packet,
              struct adp_bridge *b)
{
    struct known k;

    fetch_ahead(f, i);
    return get_known(f, i, b, &k) && take_known(f, i, packet, b, &k, NULL);
}

bool
adp_fast_take_sampled(struct adp_fast *f, size_t i, struct dp_packet *packet,
                      struct adp_bridge *b)
{
    struct known k;

    fetch_ahead(f, i);
    return (get_known(f, i, b, &k)
            && take_known(f, i, packet, b, &k, f->sample));
}

/* Counts packets of a train that begins with packet 'i' of the batch. */
static void
count_train(struct adp_fast *f, size_t i, struct dp_packet *const packets[],
            size_t n, struct adp_cached_verdict *v)
{
    uint64_t n_bytes = 0;
    uint16_t tcp_flags = 0;

    for (size_t k = 0; k < n; k++) {
        n_bytes += dp_packet_size(packets[k]);
        tcp_flags |= f->packets[i + k].parsed.tcp_flags;
    }
    adp_store_count(f->cache->verdicts, &v->up, n, n_bytes, tcp_flags, f->now);
}

size_t
adp_fast_take_train(struct adp_fast *f, size_t i,
                    struct dp_packet *const packets[], size_t n,
                    struct adp_bridge *b)
{
    struct known k;

    if (!get_known(f, i, b, &k)) {
        return 0;
    }

    const struct adp_cached_verdict_content *c = &k.verdict->content;
    if (c->odp_port == ODPP_NONE || c->metered) {
        /* It may change anything for the next. */
        return take_known(f, i, packets[0], b, &k, NULL);
    }
    n = track_train(f, &f->packets[i].parsed, k.body, k.verdict, packets, n);
    if (n) {
        count_train(f, i, packets, n, k.verdict);
        for (size_t j = 0; j < n; j++) {
            adp_rewrite_by_session(packets[j], k.session, c);
        }
        dp_pmd_send_train(f->pmd, &f->tx, packets, n, c->odp_port);
    }
    return n;
}
