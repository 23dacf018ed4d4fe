/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-flow-filter.h"

#include <stdlib.h>
#include <string.h>

#include "byte-order.h"
#include "dpctl-address.h"
#include "dpctl-json.h"
#include "flow.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "packets.h"
#include "util.h"

/* IDs of rules or groups, in no order. */
struct ids {
    uint32_t *ids;
    size_t n, allocated;
};

/* What a Pod's flows match on. */
struct pod {
    ofp_port_t port;            /* OFPP_NONE: none. */
    struct eth_addr mac;        /* All zeros: none. */
    struct in6_addr *ips;       /* IPv4 mapped. */
    size_t n_ips;
};

struct isolated {
    struct pod pod;
    enum dpctl_direction direction;
};

struct flow_endpoint {
    struct in6_addr ip;
    uint16_t port;
};

struct dpctl_flow_filter {
    bool wants_pod, wants_policy, wants_service;
    struct pod pod;
    struct ids rules;
    struct isolated *isolated;
    size_t n_isolated, allocated_isolated;
    struct ids groups;
    struct flow_endpoint *endpoints;
    size_t n_endpoints, allocated_endpoints;
};

static void
ids_add(struct ids *ids, uint32_t id)
{
    if (ids->n >= ids->allocated) {
        ids->ids = x2nrealloc(ids->ids, &ids->allocated, sizeof *ids->ids);
    }
    ids->ids[ids->n++] = id;
}

static bool
ids_have(const struct ids *ids, uint32_t id)
{
    for (size_t i = 0; i < ids->n; i++) {
        if (ids->ids[i] == id) {
            return true;
        }
    }
    return false;
}

static void
pod_init(struct pod *pod, const struct json *record, ofp_port_t port)
{
    const struct json_array *ips = dpctl_json_array(record, "ips");
    const char *mac = dpctl_json_str(record, "mac");

    *pod = (struct pod) { .port = port };
    if (!mac || !eth_addr_from_string(mac, &pod->mac)) {
        pod->mac = eth_addr_zero;
    }
    pod->ips = xcalloc(ips->n, sizeof *pod->ips);
    for (size_t i = 0; i < ips->n; i++) {
        if (ips->elems[i]->type == JSON_STRING
            && dpctl_address_parse(json_string(ips->elems[i]),
                                   &pod->ips[pod->n_ips])) {
            pod->n_ips++;
        }
    }
}

struct dpctl_flow_filter *
dpctl_flow_filter_create(void)
{
    return xzalloc(sizeof(struct dpctl_flow_filter));
}

void
dpctl_flow_filter_destroy(struct dpctl_flow_filter *f)
{
    if (f) {
        for (size_t i = 0; i < f->n_isolated; i++) {
            free(f->isolated[i].pod.ips);
        }
        free(f->pod.ips);
        free(f->rules.ids);
        free(f->isolated);
        free(f->groups.ids);
        free(f->endpoints);
        free(f);
    }
}

void
dpctl_flow_filter_pod(struct dpctl_flow_filter *f, const struct json *pod,
                      ofp_port_t port)
{
    f->wants_pod = true;
    free(f->pod.ips);
    pod_init(&f->pod, pod, port);
}

void
dpctl_flow_filter_policy(struct dpctl_flow_filter *f)
{
    f->wants_policy = true;
}

void
dpctl_flow_filter_rule(struct dpctl_flow_filter *f, uint32_t conj_id)
{
    ids_add(&f->rules, conj_id);
}

void
dpctl_flow_filter_isolated(struct dpctl_flow_filter *f,
                           const struct json *pod, ofp_port_t port,
                           enum dpctl_direction direction)
{
    if (f->n_isolated >= f->allocated_isolated) {
        f->isolated = x2nrealloc(f->isolated, &f->allocated_isolated,
                                 sizeof *f->isolated);
    }
    struct isolated *i = &f->isolated[f->n_isolated++];
    pod_init(&i->pod, pod, port);
    i->direction = direction;
}

void
dpctl_flow_filter_service(struct dpctl_flow_filter *f,
                          const struct json *service)
{
    const struct json_array *ports = dpctl_json_array(service, "ports");

    f->wants_service = true;
    for (size_t i = 0; i < ports->n; i++) {
        const struct json_array *endpoints
            = dpctl_json_array(ports->elems[i], "endpoints");

        for (size_t j = 0; j < endpoints->n; j++) {
            const char *ip = dpctl_json_str(endpoints->elems[j], "ip");
            struct flow_endpoint e = {
                .port = dpctl_json_int(endpoints->elems[j], "port", 0),
            };

            if (!ip || !dpctl_address_parse(ip, &e.ip)) {
                continue;
            }
            if (f->n_endpoints >= f->allocated_endpoints) {
                f->endpoints = x2nrealloc(f->endpoints,
                                          &f->allocated_endpoints,
                                          sizeof *f->endpoints);
            }
            f->endpoints[f->n_endpoints++] = e;
        }
    }
}

void
dpctl_flow_filter_group(struct dpctl_flow_filter *f, uint32_t group_id)
{
    ids_add(&f->groups, group_id);
}

/* Cookies. */

unsigned int
dpctl_cookie_category(uint64_t cookie)
{
    return cookie >> 40 & 0xff;
}

uint32_t
dpctl_cookie_object(uint64_t cookie)
{
    return cookie;
}

void
dpctl_cookie_of_category(unsigned int category, uint64_t *cookie,
                         uint64_t *mask)
{
    *cookie = (uint64_t) category << 40;
    *mask = (uint64_t) 0xff << 40;
}

/* Matches. */

static bool
is_exact_mac(const struct eth_addr value, const struct eth_addr mask,
             const struct eth_addr mac)
{
    return eth_addr_equals(mask, eth_addr_exact)
           && eth_addr_equals(value, mac);
}

static bool
is_exact_ip6(const struct in6_addr *value, const struct in6_addr *mask,
             const struct in6_addr *ip)
{
    return ipv6_addr_equals(mask, &in6addr_exact)
           && ipv6_addr_equals(value, ip);
}

static bool
is_exact_reg(const struct match *m, int reg, uint32_t value)
{
    return m->wc.masks.regs[reg] == UINT32_MAX && m->flow.regs[reg] == value;
}

/* Is the endpoint's address, in reg3 or xxreg3, this one? */
static bool
matches_endpoint_ip(const struct match *m, const struct in6_addr *ip)
{
    ovs_be32 ip4 = in6_addr_get_mapped_ipv4(ip);

    if (IN6_IS_ADDR_V4MAPPED(ip)) {
        return is_exact_reg(m, 3, ntohl(ip4));
    }
    for (int i = 0; i < 4; i++) {
        ovs_be32 part;

        memcpy(&part, &ip->s6_addr[4 * i], sizeof part);
        if (!is_exact_reg(m, 12 + i, ntohl(part))) {
            return false;
        }
    }
    return true;
}

static bool
matches_ip(const struct match *m, const struct in6_addr *ip)
{
    const struct flow *flow = &m->flow, *mask = &m->wc.masks;

    if (IN6_IS_ADDR_V4MAPPED(ip)) {
        ovs_be32 ip4 = in6_addr_get_mapped_ipv4(ip);

        /* ARP's addresses are in the same members. */
        return ((mask->nw_src == OVS_BE32_MAX && flow->nw_src == ip4)
                || (mask->nw_dst == OVS_BE32_MAX && flow->nw_dst == ip4));
    }
    return (is_exact_ip6(&flow->ipv6_src, &mask->ipv6_src, ip)
            || is_exact_ip6(&flow->ipv6_dst, &mask->ipv6_dst, ip)
            || is_exact_ip6(&flow->nd_target, &mask->nd_target, ip));
}

static bool
matches_port(const struct match *m, ofp_port_t port)
{
    return (port != OFPP_NONE
            && ((m->wc.masks.in_port.ofp_port == u16_to_ofp(UINT16_MAX)
                 && m->flow.in_port.ofp_port == port)
                || is_exact_reg(m, 1, ofp_to_u16(port))));
}

static bool
matches_mac(const struct match *m, const struct eth_addr mac)
{
    const struct flow *flow = &m->flow, *mask = &m->wc.masks;

    return (!eth_addr_is_zero(mac)
            && (is_exact_mac(flow->dl_src, mask->dl_src, mac)
                || is_exact_mac(flow->dl_dst, mask->dl_dst, mac)
                || is_exact_mac(flow->arp_sha, mask->arp_sha, mac)
                || is_exact_mac(flow->arp_tha, mask->arp_tha, mac)));
}

static bool
matches_pod(const struct match *m, const struct pod *pod)
{
    bool found = matches_port(m, pod->port) || matches_mac(m, pod->mac);

    for (size_t i = 0; i < pod->n_ips && !found; i++) {
        found = (matches_ip(m, &pod->ips[i])
                 || matches_endpoint_ip(m, &pod->ips[i]));
    }
    return found;
}

/* Policies. */

/* Is the flow a clause of a conjunction in 'ids', or of any, if that is
 * NULL? */
static bool
is_clause(const struct ofputil_flow_stats *fs, const struct ids *ids)
{
    const struct ofpact *a;

    OFPACT_FOR_EACH (a, fs->ofpacts, fs->ofpacts_len) {
        if (a->type == OFPACT_CONJUNCTION
            && (!ids || ids_have(ids, ofpact_get_CONJUNCTION(a)->id))) {
            return true;
        }
    }
    return false;
}

bool
dpctl_flow_isolates(const struct ofputil_flow_stats *fs, const char *table,
                    enum dpctl_direction direction)
{
    const char *prefix = (direction == DPCTL_INGRESS ? "IngressDefault"
                          : "EgressDefault");
    uint64_t cookie = ntohll(fs->cookie);

    return (table && !strncmp(table, prefix, strlen(prefix))
            && dpctl_cookie_category(cookie) == DPCTL_COOKIE_POLICY
            && !dpctl_cookie_object(cookie)
            && !fs->match.wc.masks.conj_id && !is_clause(fs, NULL));
}

static bool
is_of_policy(const struct dpctl_flow_filter *f,
             const struct ofputil_flow_stats *fs, const char *table)
{
    const struct match *m = &fs->match;
    uint64_t cookie = ntohll(fs->cookie);

    if (is_clause(fs, &f->rules)
        || (m->wc.masks.conj_id == UINT32_MAX
            && ids_have(&f->rules, m->flow.conj_id))
        || (dpctl_cookie_category(cookie) == DPCTL_COOKIE_POLICY
            && ids_have(&f->rules, dpctl_cookie_object(cookie)))) {
        return true;
    }
    for (size_t i = 0; i < f->n_isolated; i++) {
        if (dpctl_flow_isolates(fs, table, f->isolated[i].direction)
            && matches_pod(m, &f->isolated[i].pod)) {
            return true;
        }
    }
    return false;
}

/* Services. */

static bool
is_of_service(const struct dpctl_flow_filter *f,
              const struct ofputil_flow_stats *fs)
{
    const struct match *m = &fs->match;
    uint64_t cookie = ntohll(fs->cookie);
    const struct ofpact *a;

    if (dpctl_cookie_category(cookie) == DPCTL_COOKIE_SERVICE
        && ids_have(&f->groups, dpctl_cookie_object(cookie))) {
        return true;
    }
    OFPACT_FOR_EACH (a, fs->ofpacts, fs->ofpacts_len) {
        if (a->type == OFPACT_GROUP
            && ids_have(&f->groups, ofpact_get_GROUP(a)->group_id)) {
            return true;
        }
    }
    for (size_t i = 0; i < f->n_endpoints; i++) {
        const struct flow_endpoint *e = &f->endpoints[i];

        /* The port is the lower half of reg4. */
        if ((m->wc.masks.regs[4] & UINT16_MAX) == UINT16_MAX
            && (m->flow.regs[4] & UINT16_MAX) == e->port
            && matches_endpoint_ip(m, &e->ip)) {
            return true;
        }
    }
    return false;
}

bool
dpctl_flow_filter_fits(const struct dpctl_flow_filter *f,
                       const struct ofputil_flow_stats *fs, const char *table)
{
    return ((!f->wants_pod || matches_pod(&fs->match, &f->pod))
            && (!f->wants_policy || is_of_policy(f, fs, table))
            && (!f->wants_service || is_of_service(f, fs)));
}
