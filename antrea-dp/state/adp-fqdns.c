/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-fqdns.h"

#include <limits.h>
#include <netinet/in.h>

#include "adp-bridge-shared.h"
#include "adp-bridge.h"
#include "adp-dns.h"
#include "adp-held.h"
#include "adp-names.h"
#include "adp-own-call.h"
#include "adp-state.h"
#include "adp-turn.h"
#include "dp-packet.h"
#include "model.h"
#include "openvswitch/json.h"
#include "openvswitch/list.h"
#include "openvswitch/poll-loop.h"
#include "packets.h"
#include "sset.h"
#include "timeval.h"
#include "util.h"

struct adp_fqdns {
    struct adp_bridge *bridge;
    struct adp_names_store *names;
    uint64_t seq;                       /* Of the state's names in use, */
    bool has_seq;                       /* if they were ever read. */

    struct adp_own_call call;
    struct ovs_list in_call;            /* Packets that wait for it, */
    struct ovs_list before_call;        /* and those for the next one: contain
                                         * "struct adp_held"s. */

    struct {
        uint64_t n_read;                /* Packets. */
        uint64_t n_new;                 /* Brought addresses. */
        uint64_t n_malformed;
        uint64_t n_full;                /* Dropped for want of room, */
        uint64_t n_late;                /* for waiting too long, */
        uint64_t n_failed;              /* for a transaction that failed. */
    } stats;
};

static const struct adp_own_call_class call_class;

struct adp_fqdns *
adp_fqdns_create(struct adp_bridge *bridge)
{
    struct adp_fqdns *f = xzalloc(sizeof *f);

    f->bridge = bridge;
    adp_own_call_init(&f->call, &call_class, adp_bridge_name(bridge), f);
    f->names = adp_names_store_create();
    ovs_list_init(&f->in_call);
    ovs_list_init(&f->before_call);
    return f;
}

static void
release_all(struct adp_fqdns *f, struct ovs_list *list, bool pass)
{
    struct adp_held *held;

    LIST_FOR_EACH_POP (held, list_node, list) {
        adp_held_release(f->bridge, held, pass);
    }
}

void
adp_fqdns_destroy(struct adp_fqdns *f)
{
    release_all(f, &f->in_call, false);
    release_all(f, &f->before_call, false);
    adp_own_call_uninit(&f->call);
    adp_names_store_destroy(f->names);
    free(f);
}

void
adp_fqdns_set_min_ttl(struct adp_fqdns *f, unsigned int ttl)
{
    adp_names_store_set_min_ttl(f->names, ttl);
}

/* Transactions. */

static struct json *
key_create(const char *pattern)
{
    struct json *key = json_object_create();

    json_object_put_string(key, "kind", "FQDN");
    json_object_put_string(key, "name", pattern);
    return key;
}

static void
say_change(const char *pattern, const struct in6_addr *ips, size_t n, void *f_)
{
    struct json *key = key_create(pattern);
    struct adp_fqdns *f = f_;

    if (!n) {
        adp_own_call_delete(&f->call, key);
        return;
    }

    struct json *addresses = json_array_create_empty();
    for (size_t i = 0; i < n; i++) {
        struct ds s = DS_EMPTY_INITIALIZER;

        ipv6_format_mapped(&ips[i], &s);
        json_array_add(addresses,
                       json_string_create_nocopy(ds_steal_cstr(&s)));
    }
    json_object_put(key, "addresses", addresses);
    adp_own_call_apply(&f->call, key);
}

static void
begin_saying(void *f_, const struct adp_state *state OVS_UNUSED)
{
    struct adp_fqdns *f = f_;

    ovs_list_push_back_all(&f->in_call, &f->before_call);
}

static bool
has_more_to_say(void *f_)
{
    const struct adp_fqdns *f = f_;

    return adp_names_store_has_changes(f->names);
}

static void
say_next(void *f_)
{
    struct adp_fqdns *f = f_;

    adp_names_store_take_change(f->names, say_change, f);
}

static void
end_call(void *f_, const struct adp_error *error)
{
    struct adp_fqdns *f = f_;

    if (error) {
        f->stats.n_failed += ovs_list_size(&f->in_call);
    }
    adp_names_store_end_changes(f->names, !error);
    release_all(f, &f->in_call, !error);
}

static const struct adp_own_call_class call_class = {
    .source = ADP_STATE_NAMES,
    .what = "the addresses of names",
    .begin = begin_saying,
    .has_more = has_more_to_say,
    .say_next = say_next,
    .end = end_call,
};

static bool
has_expired(const struct adp_fqdns *f)
{
    return adp_names_store_next_expiry(f->names) <= time_msec();
}

/* Drops those that wait for too long; they are in order. */
static void
drop_late(struct adp_fqdns *f, struct ovs_list *list)
{
    long long int limit = time_msec() - ADP_FQDNS_PATIENCE_MS;
    struct adp_held *held;

    LIST_FOR_EACH_SAFE (held, list_node, list) {
        if (held->since > limit) {
            break;
        }
        ovs_list_remove(&held->list_node);
        adp_held_release(f->bridge, held, false);
        f->stats.n_late++;
    }
}

/* Packets. */

/* Reads the records only of what some rule is about. */
static enum adp_dns_result
parse_message(struct adp_fqdns *f, const void *msg, size_t len, bool partial,
              struct adp_dns_answer *answer)
{
    enum adp_dns_result result = adp_dns_parse_name(msg, len, answer->name);

    if (result != ADP_DNS_ANSWER) {
        return result;
    }
    return (adp_names_store_wants(f->names, answer->name)
            ? adp_dns_parse(msg, len, partial, answer) : ADP_DNS_OTHER);
}

/* Learns from one message. */
static enum adp_names_learned
read_message(struct adp_fqdns *f, const void *msg, size_t len, bool partial)
{
    enum adp_names_learned learned = ADP_NAMES_NONE;
    struct adp_dns_answer answer;

    adp_dns_answer_init(&answer);
    switch (parse_message(f, msg, len, partial, &answer)) {
    case ADP_DNS_ANSWER:
        learned = adp_names_store_learn(f->names, &answer, time_msec());
        break;
    case ADP_DNS_MALFORMED:
        f->stats.n_malformed++;
        break;
    case ADP_DNS_OTHER:
        break;
    }
    adp_dns_answer_uninit(&answer);
    return learned;
}

/* A TCP segment that doesn't begin with a message, the middle of a long one,
 * is in all likelihood none that can be read. */
static enum adp_names_learned
read_segment(struct adp_fqdns *f, const void *segment, size_t len)
{
    enum adp_names_learned learned = ADP_NAMES_NONE;
    size_t offset = 0, msg_len;
    const void *msg;
    bool partial;

    while ((msg = adp_dns_next_of_segment(segment, len, &offset, &msg_len,
                                          &partial)) != NULL) {
        enum adp_names_learned one = read_message(f, msg, msg_len, partial);

        learned = MAX(learned, one);
    }
    return learned;
}

static enum adp_names_learned
read_packet(struct adp_fqdns *f, const struct adp_held *held)
{
    const uint8_t *l4 = dp_packet_l4(held->packet);
    size_t l4_len = dp_packet_l4_size(held->packet);

    if (held->flow.nw_proto == IPPROTO_UDP) {
        return read_message(f, l4 + UDP_HEADER_LEN, l4_len - UDP_HEADER_LEN,
                            false);
    }

    const struct tcp_header *tcp = dp_packet_l4(held->packet);
    size_t header_len = TCP_OFFSET(tcp->tcp_ctl) * 4;
    return read_segment(f, l4 + header_len, l4_len - header_len);
}

static void
handle_packet(struct adp_fqdns *f, struct adp_held *held)
{
    enum adp_names_learned learned = read_packet(f, held);

    f->stats.n_read++;
    f->stats.n_new += learned == ADP_NAMES_NEW;
    switch (learned) {
    case ADP_NAMES_FULL:
        f->stats.n_full++;
        adp_held_release(f->bridge, held, false);
        break;
    case ADP_NAMES_NEW:
    case ADP_NAMES_CHANGED:
        ovs_list_push_back(&f->before_call, &held->list_node);
        break;
    case ADP_NAMES_TAKEN:
        ovs_list_push_back(&f->in_call, &held->list_node);
        break;
    case ADP_NAMES_KNOWN:
    case ADP_NAMES_NONE:
    default:
        adp_held_release(f->bridge, held, true);
        break;
    }
}

static void
take_packets(struct adp_fqdns *f)
{
    struct adp_turn_slice slice;
    struct adp_held *held;

    adp_turn_slice_init(&slice);
    while (adp_turn_slice_goes_on(&slice)
           && (held = adp_held_take(f->bridge)) != NULL) {
        handle_packet(f, held);
    }
}

/* Names in use, also while the state is busy with the next thing. */
static void
read_patterns(struct adp_fqdns *f, const struct adp_state *state)
{
    uint64_t seq = adp_state_fqdns_seq(state);

    if (!f->has_seq || seq != f->seq) {
        struct sset patterns;

        adp_state_get_fqdns(state, &patterns);
        adp_names_store_use(f->names, &patterns);
        sset_destroy(&patterns);
        f->seq = seq;
        f->has_seq = true;
    }
}

/* Forgets addresses whose TTL is over. */
static void
expire(struct adp_fqdns *f)
{
    struct adp_turn_slice slice;

    adp_turn_slice_init(&slice);
    while (has_expired(f) && adp_turn_slice_goes_on(&slice)) {
        adp_names_store_expire_next(f->names);
    }
}

static void
run(struct adp_fqdns *f, struct adp_state *state)
{
    adp_own_call_run_end(&f->call);
    if (!state) {
        if (adp_own_call_drop(&f->call)) {
            adp_names_store_end_changes(f->names, false);
        }
        release_all(f, &f->before_call, false);
        release_all(f, &f->in_call, false);
    }
    if (!adp_own_call_is_saying(&f->call)) {
        if (state) {
            read_patterns(f, state);
        }
        expire(f);
        take_packets(f);
    }
    if (state) {
        adp_own_call_run(&f->call, state,
                         (!has_expired(f)
                          && adp_names_store_has_changes(f->names)));
    }
    drop_late(f, &f->in_call);
    drop_late(f, &f->before_call);
}

void
adp_fqdns_run(struct adp_fqdns *f, struct adp_state *state)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_NAMES);

    run(f, state);
    adp_turn_leave(outer);
}

static void
wait_for_late(const struct ovs_list *list)
{
    if (!ovs_list_is_empty(list)) {
        poll_timer_wait_until(CONTAINER_OF(ovs_list_front(list),
                                           struct adp_held, list_node)->since
                              + ADP_FQDNS_PATIENCE_MS);
    }
}

void
adp_fqdns_wait(struct adp_fqdns *f, const struct adp_state *state)
{
    long long int next = adp_names_store_next_expiry(f->names);

    if (next != LLONG_MAX) {
        poll_timer_wait_until(next);
    }
    adp_own_call_wait(&f->call, state, adp_names_store_has_changes(f->names));
    wait_for_late(&f->in_call);
    wait_for_late(&f->before_call);
    adp_held_wait(f->bridge);
}

/* Showing. */

struct listing {
    struct json *names;
    struct json *patterns, *addresses;  /* Of the last one. */
    long long int now;
};

static void
list_name(const char *name, void *l_)
{
    struct listing *l = l_;
    struct json *o = json_object_create();

    l->patterns = json_array_create_empty();
    l->addresses = json_array_create_empty();
    json_object_put_string(o, "name", name);
    json_object_put(o, "fqdns", l->patterns);
    json_object_put(o, "addresses", l->addresses);
    json_array_add(l->names, o);
}

static void
list_pattern(const char *pattern, void *l_)
{
    struct listing *l = l_;

    json_array_add(l->patterns, json_string_create(pattern));
}

static void
list_address(const struct in6_addr *ip, long long int expires, void *l_)
{
    struct listing *l = l_;
    struct json *o = json_object_create();
    struct ds s = DS_EMPTY_INITIALIZER;

    ipv6_format_mapped(ip, &s);
    json_object_put(o, "ip", json_string_create_nocopy(ds_steal_cstr(&s)));
    json_object_put(o, "ttl", json_integer_create(
                        DIV_ROUND_UP(MAX(expires - l->now, 0), 1000)));
    json_array_add(l->addresses, o);
}

struct json *
adp_fqdns_get(const struct adp_fqdns *f)
{
    struct listing l = {
        .names = json_array_create_empty(),
        .now = time_msec(),
    };
    const struct adp_names_visitor visitor = {
        .name = list_name,
        .pattern = list_pattern,
        .address = list_address,
        .aux = &l,
    };

    adp_names_store_visit(f->names, &visitor);
    return l.names;
}

static void
put_count(struct json *o, const char *name, uint64_t n)
{
    json_object_put(o, name, json_integer_create(n));
}

struct json *
adp_fqdns_stats(const struct adp_fqdns *f)
{
    const struct adp_bridge_counters *c = &f->bridge->counters;
    struct adp_names_usage usage = adp_names_store_usage(f->names);
    struct json *o = json_object_create();

    put_count(o, "fqdns", usage.n_patterns);
    put_count(o, "names", usage.n_names);
    put_count(o, "addresses", usage.n_addresses);
    put_count(o, "held", adp_counted(&c->held));
    put_count(o, "read", f->stats.n_read);
    put_count(o, "new", f->stats.n_new);
    put_count(o, "malformed", f->stats.n_malformed);
    put_count(o, "truncated", adp_counted(&c->dns_truncated));
    put_count(o, "lost", adp_counted(&c->held_lost));
    put_count(o, "stale", adp_counted(&c->held_stale));
    put_count(o, "full", f->stats.n_full);
    put_count(o, "late", f->stats.n_late);
    put_count(o, "failed", f->stats.n_failed);
    return o;
}
