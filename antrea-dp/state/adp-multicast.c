/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-multicast.h"

#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "adp-bridge.h"
#include "adp-igmp-queue.h"
#include "adp-igmp-reports.h"
#include "adp-igmp.h"
#include "adp-members.h"
#include "adp-multicast-send.h"
#include "adp-own-call.h"
#include "adp-peers.h"
#include "adp-ports.h"
#include "adp-state.h"
#include "adp-turn.h"
#include "hash.h"
#include "model-records.h"
#include "openvswitch/hmap.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/shash.h"
#include "packets.h"
#include "timeval.h"
#include "util.h"

/* One that went well isn't followed by the next one sooner than this.  So
 * nobody who comes and goes all the time, in groups enough, keeps the main
 * thread and those of the other Nodes, which are told, from anything else. */
#define PACE_MS 100

/* In tenths of a second: a query is to be answered within, and before the next
 * one. */
#define MAX_RESPONSE 100
#define MAX_RESPONSE_AT_ONCE 10

/* Who came is asked, and told, so much later, with all that come meanwhile. */
#define SETTLE_MS 1000

/* For how many intervals who says nothing is a member. */
#define LIFETIME 3

/* A port of a Pod. */
struct pod_port {
    struct hmap_node node;              /* In 'ports', by 'number'. */
    ofp_port_t number;
    char *name;
    char *pod;                          /* "default/web". */
    uint64_t birth;                     /* The Pod's record's. */
    uint64_t ports_lost;                /* Before it was known: a message from
                                         * before may be another port's that
                                         * had its number. */
};

/* What a rule about IGMP decided. */
struct rule_count {
    struct hmap_node node;              /* In 'rules', by 'conj_id'. */
    uint32_t conj_id;
    uint64_t n_packets, n_bytes;
};

struct adp_multicast {
    struct adp_bridge *bridge;
    struct adp_members *members;
    struct adp_igmp_reports *reports;
    unsigned int interval;              /* s. */
    bool active;                        /* In the last run. */
    bool was_busy;                      /* The state, the same. */
    bool reads;                         /* It took messages, if there were. */

    /* Who there is, of the state's generation and the ports of 'ports_seq'. */
    bool known;
    uint64_t generation, ports_seq;
    struct hmap ports;                  /* Contains "struct pod_port"s. */
    struct shash by_name;               /* The same, not owned. */
    struct adp_peers peers;             /* Addresses of PeerNodes. */

    struct adp_igmp_message *msg;       /* That is being read, or NULL. */
    struct adp_igmp_reader reader;      /* What is left of it. */

    struct hmap rules;                  /* Contains "struct rule_count"s. */

    struct adp_own_call call;
    bool wants_call;                    /* There is something to change. */
    bool in_doubt;                      /* Records may be others than members
                                         * say, since one failed. */
    long long int next_query, next_report;
    bool tells_more;                    /* Another turn has more to tell. */

    struct {
        uint64_t n_read, n_other, n_malformed, n_strange, n_denied;
        uint64_t n_joined, n_left, n_expired, n_failed;
        uint64_t n_port_full, n_node_full, n_full;
        uint64_t n_queries, n_reports;
    } stats;
};

static const struct adp_own_call_class call_class;

struct adp_multicast *
adp_multicast_create(struct adp_bridge *bridge)
{
    struct adp_multicast *m = xzalloc(sizeof *m);

    m->bridge = bridge;
    adp_own_call_init(&m->call, &call_class, adp_bridge_name(bridge), m);
    m->members = adp_members_create();
    m->reports = adp_igmp_reports_create();
    m->interval = ADP_MULTICAST_DEFAULT_INTERVAL;
    hmap_init(&m->ports);
    shash_init(&m->by_name);
    hmap_init(&m->rules);
    m->next_query = m->next_report = LLONG_MAX;
    return m;
}

static void
forget_ports(struct adp_multicast *m)
{
    struct pod_port *p;

    shash_clear(&m->by_name);
    HMAP_FOR_EACH_POP (p, node, &m->ports) {
        free(p->name);
        free(p->pod);
        free(p);
    }
    adp_peers_uninit(&m->peers);
    m->peers = (struct adp_peers) ADP_PEERS_INITIALIZER;
    m->known = false;
}

void
adp_multicast_destroy(struct adp_multicast *m)
{
    struct rule_count *count;

    forget_ports(m);
    hmap_destroy(&m->ports);
    shash_destroy(&m->by_name);
    HMAP_FOR_EACH_POP (count, node, &m->rules) {
        free(count);
    }
    hmap_destroy(&m->rules);
    free(m->msg);
    adp_own_call_uninit(&m->call);
    adp_igmp_reports_destroy(m->reports);
    adp_members_destroy(m->members);
    free(m);
}

void
adp_multicast_set_interval(struct adp_multicast *m, unsigned int seconds)
{
    if (seconds != m->interval) {
        m->interval = seconds;
        if (m->active) {
            m->next_query = m->next_report = time_msec();
        }
    }
}

/* Who there is. */

static const struct pod_port *
find_port(const struct adp_multicast *m, ofp_port_t number)
{
    const struct pod_port *p;

    HMAP_FOR_EACH_WITH_HASH (p, node, hash_ofp_port(number), &m->ports) {
        if (p->number == number) {
            return p;
        }
    }
    return NULL;
}

static void
add_pod(struct adp_multicast *m, const struct adp_pod *pod)
{
    ofp_port_t number;

    if (adp_bridge_port_number(m->bridge, pod->port, &number)) {
        struct pod_port *p = xmalloc(sizeof *p);

        p->number = number;
        p->name = xstrdup(pod->port);
        p->pod = xstrdup(pod->up.name);
        p->birth = pod->up.birth;
        hmap_insert(&m->ports, &p->node, hash_ofp_port(number));
        shash_add(&m->by_name, p->name, p);
    }
}

static void
find_all(struct adp_multicast *m, const struct adp_model *model)
{
    size_t n;
    const struct adp_record **records = adp_model_sorted(model, ADP_KIND_POD,
                                                         &n);

    for (size_t i = 0; i < n; i++) {
        add_pod(m, CONTAINER_OF(records[i], struct adp_pod, up));
    }
    free(records);

    records = adp_model_sorted(model, ADP_KIND_PEER_NODE, &n);
    for (size_t i = 0; i < n; i++) {
        const struct in6_addr *ip = &CONTAINER_OF(
            records[i], struct adp_peer_node, up)->transport_ip;

        if (IN6_IS_ADDR_V4MAPPED(ip)) {
            adp_peers_add(&m->peers, in6_addr_get_mapped_ipv4(ip));
        }
    }
    adp_peers_sort(&m->peers);
    free(records);
}

/* Who there was before a change. */
struct presence {
    const struct adp_multicast *m;
    struct shash ports;                 /* "struct past_port"s by name. */
    struct adp_peers peers;
};

struct past_port {                      /* As in struct pod_port. */
    ofp_port_t number;
    uint64_t birth, ports_lost;
};

/* Takes 'm''s peers. */
static void
presence_init(struct presence *before, struct adp_multicast *m)
{
    const struct shash_node *node;

    before->m = m;
    shash_init(&before->ports);
    before->peers = m->peers;
    m->peers = (struct adp_peers) ADP_PEERS_INITIALIZER;
    SHASH_FOR_EACH (node, &m->by_name) {
        const struct pod_port *p = node->data;
        struct past_port *past = xmalloc(sizeof *past);

        past->number = p->number;
        past->birth = p->birth;
        past->ports_lost = p->ports_lost;
        shash_add(&before->ports, node->name, past);
    }
}

static void
presence_uninit(struct presence *before)
{
    shash_destroy_free_data(&before->ports);
    adp_peers_uninit(&before->peers);
}

/* A Pod that has gone and come back is another one. */
static bool
was_there(const struct presence *before, const struct pod_port *p)
{
    const struct past_port *past = shash_find_data(&before->ports, p->name);

    return past && past->birth == p->birth;
}

/* Which messages are the ports' own. */
static void
note_ports_lost(struct adp_multicast *m, const struct presence *before)
{
    struct pod_port *p;

    HMAP_FOR_EACH (p, node, &m->ports) {
        const struct past_port *past = shash_find_data(&before->ports,
                                                       p->name);

        p->ports_lost = (was_there(before, p) && past->number == p->number
                         ? past->ports_lost : adp_ports_n_lost());
    }
}

static bool
stays(enum adp_member_kind kind, const char *name, void *before_)
{
    const struct presence *before = before_;
    const struct pod_port *p;
    ovs_be32 ip;

    if (kind == ADP_MEMBER_NODE) {
        return (ip_parse(name, &ip)
                && adp_peers_contains(&before->m->peers, ip));
    }
    p = shash_find_data(&before->m->by_name, name);
    return p && was_there(before, p);
}

/* Is there anybody who wasn't 'before'? */
static bool
has_others(const struct presence *before)
{
    const struct shash_node *node;
    uint64_t at = 0;
    ovs_be32 ip;

    SHASH_FOR_EACH (node, &before->m->by_name) {
        if (!was_there(before, node->data)) {
            return true;
        }
    }
    while (adp_peers_next(&before->m->peers, &at, &ip)) {
        if (!adp_peers_contains(&before->peers, ip)) {
            return true;
        }
    }
    return false;
}

static bool
rule_is_gone(const struct adp_state *state, uint32_t conj_id)
{
    const struct adp_network_policy_rule *rule;
    const struct adp_network_policy *policy;

    return (!adp_state_find_rule(state, conj_id, &policy, &rule)
            || !adp_network_policy_rule_is_igmp(rule));
}

/* After a change of records or ports. */
static void
learn_who_is_there(struct adp_multicast *m, const struct adp_state *state)
{
    uint64_t generation = adp_state_generation(state);
    uint64_t ports_seq = adp_bridge_ports_seq(m->bridge);
    struct rule_count *count;

    if (m->known && m->generation == generation
        && m->ports_seq == ports_seq) {
        return;
    }

    struct presence before;
    presence_init(&before, m);
    forget_ports(m);
    find_all(m, adp_state_model(state));
    note_ports_lost(m, &before);
    if (has_others(&before) || m->next_query == LLONG_MAX) {
        m->next_query = MIN(m->next_query, time_msec() + SETTLE_MS);
        m->next_report = MIN(m->next_report, time_msec() + SETTLE_MS);
    }
    m->known = true;
    m->generation = generation;
    m->ports_seq = ports_seq;
    adp_members_retain(m->members, stays, &before);
    presence_uninit(&before);
    HMAP_FOR_EACH_SAFE (count, node, &m->rules) {
        if (rule_is_gone(state, count->conj_id)) {
            hmap_remove(&m->rules, &count->node);
            free(count);
        }
    }
}

/* Messages. */

static struct rule_count *
find_rule(const struct adp_multicast *m, uint32_t conj_id)
{
    struct rule_count *count;

    HMAP_FOR_EACH_WITH_HASH (count, node, hash_int(conj_id, 0), &m->rules) {
        if (count->conj_id == conj_id) {
            return count;
        }
    }
    return NULL;
}

static void
count_rule(struct adp_multicast *m, uint32_t conj_id, size_t len)
{
    struct rule_count *count = find_rule(m, conj_id);

    if (!count) {
        count = xzalloc(sizeof *count);
        count->conj_id = conj_id;
        hmap_insert(&m->rules, &count->node, hash_int(conj_id, 0));
    }
    count->n_packets++;
    count->n_bytes += len;
}

struct reading {
    struct adp_multicast *m;
    const struct adp_state *state;
    const struct adp_igmp_message *msg;
    const struct pod_port *pod;         /* Or */
    const char *peer;
};

/* Some groups nobody joins: those to which all belong. */
static bool
is_group(ovs_be32 ip)
{
    return ip_is_multicast(ip) && ip != htonl(INADDR_ALLHOSTS_GROUP);
}

static bool
is_allowed(const struct reading *r, uint8_t type, ovs_be32 group)
{
    uint32_t conj_id;
    bool allowed = adp_state_allows_igmp(r->state, r->pod->pod, type, group,
                                         &conj_id);

    if (conj_id) {
        count_rule(r->m, conj_id, r->msg->len);
    }
    r->m->stats.n_denied += !allowed;
    return allowed;
}

static void
join(const struct reading *r, ovs_be32 group, enum adp_member_kind kind,
     const char *name)
{
    long long int now = time_msec();
    struct adp_multicast *m = r->m;

    switch (adp_members_join(m->members, group, kind, name, now,
                             now + 1000LL * LIFETIME * m->interval)) {
    case ADP_MEMBERS_NEW:
        m->stats.n_joined++;
        break;
    case ADP_MEMBERS_PORT_FULL:
        m->stats.n_port_full++;
        break;
    case ADP_MEMBERS_NODE_FULL:
        m->stats.n_node_full++;
        break;
    case ADP_MEMBERS_FULL:
        m->stats.n_full++;
        break;
    case ADP_MEMBERS_KNOWN:
    default:
        break;
    }
}

/* Who may not join is none: also who did before there was the rule.  Who may
 * not leave stays, until nothing was heard of it for long. */
static void
handle_record(uint8_t type, ovs_be32 group, bool joins, void *r_)
{
    const struct reading *r = r_;
    enum adp_member_kind kind = r->pod ? ADP_MEMBER_PORT : ADP_MEMBER_NODE;
    const char *name = r->pod ? r->pod->name : r->peer;
    bool allowed = !r->pod || is_allowed(r, type, group);

    if (!is_group(group)) {
        r->m->stats.n_other++;
    } else if (joins && allowed) {
        join(r, group, kind, name);
    } else if (joins || allowed) {
        r->m->stats.n_left += adp_members_leave(r->m->members, group, kind,
                                                name, time_msec());
    }
}

static const struct pod_port *
find_sender(const struct adp_multicast *m, const struct adp_igmp_message *msg)
{
    const struct pod_port *p
        = msg->tunnel_src ? NULL : find_port(m, msg->in_port);

    return p && msg->ports_lost >= p->ports_lost ? p : NULL;
}

/* Is the message from nobody who is known?  Counts it then. */
static bool
is_strange(struct adp_multicast *m)
{
    ovs_be32 peer = m->msg->tunnel_src;
    bool strange = !(peer ? adp_peers_contains(&m->peers, peer)
                     : find_sender(m, m->msg) != NULL);

    m->stats.n_strange += strange;
    return strange;
}

/* Returns true if there is something in it to be read. */
static bool
begin_message(struct adp_multicast *m)
{
    enum adp_igmp_result result;

    m->stats.n_read++;
    if (is_strange(m)) {
        return false;
    }
    result = adp_igmp_reader_init(&m->reader, m->msg->data, m->msg->len);
    m->stats.n_malformed += result == ADP_IGMP_MALFORMED;
    m->stats.n_other += result == ADP_IGMP_OTHER;
    return m->reader.n_left > 0;
}

/* Reads one record more; returns true if there are others.  Who has sent them
 * may have gone since the last one was read. */
static bool
read_on(struct adp_multicast *m, const struct adp_state *state)
{
    struct in6_addr src = in6_addr_mapped_ipv4(m->msg->tunnel_src);
    struct adp_ip_text peer = adp_ip_text(&src);
    struct reading r = {
        .m = m, .state = state, .msg = m->msg,
        .pod = find_sender(m, m->msg),
        .peer = peer.s,
    };

    if (is_strange(m)) {
        return false;
    }
    adp_igmp_reader_next(&m->reader, handle_record, &r);
    return m->reader.n_left > 0;
}

/* Record by record, for each of them asks the rules.  Without 'state' they are
 * lost. */
static void
take_messages(struct adp_multicast *m, const struct adp_state *state)
{
    struct adp_turn_slice slice;

    adp_turn_slice_init(&slice);
    while (adp_turn_slice_goes_on(&slice)) {
        bool begun = m->msg != NULL;

        if (!begun) {
            m->msg = adp_igmp_queue_take(m->bridge);
            if (!m->msg) {
                break;
            }
        }
        if (!state || !(begun || begin_message(m)) || !read_on(m, state)) {
            free(m->msg);
            m->msg = NULL;
        }
    }
}

/* Asking Pods, and telling other Nodes. */

static void
ask_and_repeat(struct adp_multicast *m, const struct adp_node_config *node)
{
    long long int now = time_msec();

    if (!node) {                /* Until other records come. */
        m->next_query = m->next_report = LLONG_MAX;
        return;
    }
    if (now >= m->next_query) {
        unsigned int max = (m->stats.n_queries ? MAX_RESPONSE
                            : MAX_RESPONSE_AT_ONCE);

        bool sent = adp_multicast_send_query(
            m->bridge, node, MIN(max, MIN(m->interval, max) * 5), m->interval);

        m->stats.n_queries += sent;
        m->next_query = now + (sent ? m->interval * 1000LL : SETTLE_MS);
    }
    if (now >= m->next_report) {
        adp_igmp_reports_repeat(m->reports);
        m->next_report = now + m->interval * 1000LL;
    }
}

/* Without 'node' what there is to tell waits. */
static void
tell_others(struct adp_multicast *m, const struct adp_node_config *node)
{
    struct adp_turn_slice slice;
    const void *msg;
    ovs_be32 peer;
    size_t len;

    adp_turn_slice_init(&slice);
    while (node && adp_turn_slice_goes_on(&slice)
           && (msg = adp_igmp_reports_next(m->reports, &m->peers, &len,
                                           &peer)) != NULL) {
        m->stats.n_reports += adp_multicast_send_report(m->bridge, node, msg,
                                                        len, peer);
    }
    m->tells_more = node && adp_igmp_reports_has_more(m->reports);
}

/* Transactions. */

static struct json *
names_to_json(const char *const *names, size_t n)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < n; i++) {
        json_array_add(array, json_string_create(names[i]));
    }
    return array;
}

static void
say_change(ovs_be32 group, const char *const *const names[ADP_N_MEMBER_KINDS],
           const size_t n[ADP_N_MEMBER_KINDS], void *m_)
{
    struct adp_multicast *m = m_;
    struct json *record = json_object_create();

    json_object_put_string(record, "kind", "MulticastGroup");
    json_object_put_format(record, "name", IP_FMT, IP_ARGS(group));
    if (n[ADP_MEMBER_PORT] || n[ADP_MEMBER_NODE]) {
        json_object_put(record, "ports",
                        names_to_json(names[ADP_MEMBER_PORT],
                                      n[ADP_MEMBER_PORT]));
        if (n[ADP_MEMBER_NODE]) {
            json_object_put(record, "nodes",
                            names_to_json(names[ADP_MEMBER_NODE],
                                          n[ADP_MEMBER_NODE]));
        }
        adp_own_call_apply(&m->call, record);
    } else {
        adp_own_call_delete(&m->call, record);
    }
    if (m->active) {
        adp_igmp_reports_set(m->reports, group, n[ADP_MEMBER_PORT] > 0);
    }
}

/* Also groups that are over, whose records may be there still. */
static void
change_all(struct adp_multicast *m, const struct adp_model *model)
{
    size_t n;
    const struct adp_record **records
        = adp_model_sorted(model, ADP_KIND_MULTICAST_GROUP, &n);

    for (size_t i = 0; i < n; i++) {
        adp_members_change(m->members,
                           CONTAINER_OF(records[i], struct adp_multicast_group,
                                        up)->ip);
    }
    free(records);
    adp_members_change_all(m->members);
}

static void
begin_saying(void *m_, const struct adp_state *state)
{
    struct adp_multicast *m = m_;

    if (m->in_doubt) {
        change_all(m, adp_state_model(state));
        m->in_doubt = false;
    }
    m->wants_call = false;
}

static bool
has_more_to_say(void *m_)
{
    const struct adp_multicast *m = m_;

    return adp_members_has_changes(m->members);
}

static void
say_next(void *m_)
{
    struct adp_multicast *m = m_;

    adp_members_take_change(m->members, say_change, m);
}

static void
end_call(void *m_, const struct adp_error *error)
{
    struct adp_multicast *m = m_;

    if (error) {
        m->stats.n_failed++;
        m->wants_call = m->in_doubt = true;
    }
}

static const struct adp_own_call_class call_class = {
    .source = ADP_STATE_MEMBERS,
    .ignore_missing = true,
    .what = "the members of multicast groups",
    .pace_ms = PACE_MS,
    .begin = begin_saying,
    .has_more = has_more_to_say,
    .say_next = say_next,
    .end = end_call,
};

static bool
nobody_stays(enum adp_member_kind kind OVS_UNUSED,
             const char *name OVS_UNUSED, void *aux OVS_UNUSED)
{
    return false;
}

static void
set_active(struct adp_multicast *m, bool active)
{
    if (m->active && !active) {
        adp_members_retain(m->members, nobody_stays, NULL);
        adp_igmp_reports_clear(m->reports);
        forget_ports(m);
        m->next_query = m->next_report = LLONG_MAX;
        m->stats.n_queries = 0;
    }
    m->active = active;
}

static bool
has_expired(const struct adp_multicast *m)
{
    return adp_members_next_expiry(m->members) <= time_msec();
}

/* Takes out members of which nothing was heard. */
static void
expire(struct adp_multicast *m)
{
    struct adp_turn_slice slice;

    adp_turn_slice_init(&slice);
    while (has_expired(m) && adp_turn_slice_goes_on(&slice)) {
        adp_members_expire_next(m->members);
        m->stats.n_expired++;
    }
}

static void
run(struct adp_multicast *m, struct adp_state *state, bool active)
{
    bool idle = state && !adp_state_is_busy(state);

    adp_own_call_run_end(&m->call);

    /* Rules that nobody knows, after a change that failed, are known again
     * after any other; messages wait for that. */
    bool knows = idle && adp_state_knows_rules(state);
    m->was_busy = state && !idle;
    if ((!state || (m->active && !active)) && adp_own_call_drop(&m->call)) {
        m->in_doubt = true;
    }
    set_active(m, state && active);
    m->reads = !m->active || knows;
    if (m->active && knows && !adp_own_call_is_saying(&m->call)) {
        learn_who_is_there(m, state);
        take_messages(m, state);
        ask_and_repeat(m, adp_model_node_config(adp_state_model(state)));
    } else if (!m->active) {
        take_messages(m, NULL);
    }
    if (!adp_own_call_is_saying(&m->call)) {
        expire(m);
    }
    m->wants_call = (adp_members_has_changes(m->members) || m->in_doubt
                     || (m->active && idle && !knows));
    if (state) {
        adp_own_call_run(&m->call, state, m->wants_call && !has_expired(m));
    }
    m->tells_more = false;
    if (m->active && !adp_own_call_is_saying(&m->call)
        && !adp_state_is_busy(state)) {
        tell_others(m, adp_model_node_config(adp_state_model(state)));
    }
}

void
adp_multicast_run(struct adp_multicast *m, struct adp_state *state,
                  bool active)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_MULTICAST);

    run(m, state, active);
    adp_turn_leave(outer);
}

void
adp_multicast_wait(struct adp_multicast *m, const struct adp_state *state)
{
    long long int next = adp_members_next_expiry(m->members);
    bool idle = state && !adp_state_is_busy(state);

    /* Until then who changes the state wakes us up. */
    if (m->reads) {
        next = MIN(next, MIN(m->next_query, m->next_report));
        adp_igmp_queue_wait(m->bridge);
        if (m->msg) {
            poll_immediate_wake();
        }
    }
    if (next != LLONG_MAX) {
        poll_timer_wait_until(next);
    }
    if ((m->was_busy || m->tells_more) && idle) {
        poll_immediate_wake();
    } else {
        adp_own_call_wait(&m->call, state, m->wants_call);
    }
}

/* Showing. */

static struct json *
pods_to_json(const struct adp_multicast *m, const struct adp_names *ports)
{
    struct json *pods = json_array_create_empty();

    for (size_t i = 0; i < ports->n; i++) {
        const struct pod_port *p = shash_find_data(&m->by_name,
                                                   ports->names[i]);

        json_array_add(pods,
                       json_string_create(p ? p->pod : ports->names[i]));
    }
    return pods;
}

static struct json *
nodes_to_json(const struct adp_ips *ips)
{
    struct json *nodes = json_array_create_empty();

    for (size_t i = 0; i < ips->n; i++) {
        json_array_add(nodes,
                       json_string_create(adp_ip_text(&ips->ips[i]).s));
    }
    return nodes;
}

struct json *
adp_multicast_get(const struct adp_multicast *m, const struct adp_model *model)
{
    struct json *groups = json_array_create_empty();
    size_t n;
    const struct adp_record **records
        = adp_model_sorted(model, ADP_KIND_MULTICAST_GROUP, &n);

    for (size_t i = 0; i < n; i++) {
        const struct adp_multicast_group *group = CONTAINER_OF(
            records[i], struct adp_multicast_group, up);
        struct json *o = json_object_create();

        json_object_put_string(o, "name", group->up.name);
        json_object_put(o, "pods", pods_to_json(m, &group->ports));
        json_object_put(o, "nodes", nodes_to_json(&group->nodes));
        json_array_add(groups, o);
    }
    free(records);
    return groups;
}

static void
put_count(struct json *o, const char *name, uint64_t n)
{
    json_object_put(o, name, json_integer_create(n));
}

struct json *
adp_multicast_stats(const struct adp_multicast *m)
{
    const struct adp_bridge_counters *c = &m->bridge->counters;
    struct adp_members_usage usage = adp_members_usage(m->members);
    struct json *o = json_object_create();

    put_count(o, "groups", usage.n_groups);
    put_count(o, "members", usage.n_members[ADP_MEMBER_PORT]);
    put_count(o, "nodes", usage.n_members[ADP_MEMBER_NODE]);
    put_count(o, "messages", adp_counted(&c->igmp));
    put_count(o, "lost", adp_counted(&c->igmp_lost));
    put_count(o, "read", m->stats.n_read);
    put_count(o, "malformed", m->stats.n_malformed);
    put_count(o, "strange", m->stats.n_strange);
    put_count(o, "other", m->stats.n_other);
    put_count(o, "denied", m->stats.n_denied);
    put_count(o, "joined", m->stats.n_joined);
    put_count(o, "left", m->stats.n_left);
    put_count(o, "expired", m->stats.n_expired);
    put_count(o, "port_full", m->stats.n_port_full);
    put_count(o, "node_full", m->stats.n_node_full);
    put_count(o, "full", m->stats.n_full);
    put_count(o, "failed", m->stats.n_failed);
    put_count(o, "queries", m->stats.n_queries);
    put_count(o, "reports", m->stats.n_reports);
    return o;
}

void
adp_multicast_counts_init(struct adp_multicast_counts *counts,
                          const struct adp_multicast *m)
{
    counts->of = m;
    counts->node = hmap_first(&m->rules);
}

bool
adp_multicast_counts_next(struct adp_multicast_counts *counts)
{
    const struct rule_count *count;

    if (!counts->node) {
        return false;
    }
    count = CONTAINER_OF(counts->node, struct rule_count, node);
    counts->conj_id = count->conj_id;
    counts->n_packets = count->n_packets;
    counts->n_bytes = count->n_bytes;
    counts->node = hmap_next(&counts->of->rules, counts->node);
    return true;
}
