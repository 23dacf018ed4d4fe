/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-parties.h"

#include <netinet/icmp6.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-kind.h"
#include "dpctl-pcap.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "util.h"

/* The port from which a connection of nobody in particular comes. */
#define CLIENT_PORT 49152

struct dpctl_parties {
    struct json *records;
};

struct dpctl_parties *
dpctl_parties_create(struct json *records)
{
    struct dpctl_parties *p = xmalloc(sizeof *p);

    p->records = records;
    return p;
}

void
dpctl_parties_destroy(struct dpctl_parties *p)
{
    if (p) {
        json_destroy(p->records);
        free(p);
    }
}

/* Records. */

/* The first record of 'kind', or that with 'name', if it isn't NULL. */
static const struct json *
find_record(const struct dpctl_parties *p, const char *kind, const char *name)
{
    const struct json_array *records = json_array(p->records);

    for (size_t i = 0; i < records->n; i++) {
        const struct json *r = records->elems[i];

        if (nullable_string_is_equal(dpctl_json_str(r, "kind"), kind)
            && (!name
                || nullable_string_is_equal(dpctl_json_str(r, "name"),
                                            name))) {
            return r;
        }
    }
    return NULL;
}

/* The local Pod whose member "mac" is 'mac', or which has address 'ip'; the
 * other one is NULL. */
static const struct json *
find_pod(const struct dpctl_parties *p, const struct eth_addr *mac,
         const struct in6_addr *ip)
{
    const struct json_array *records = json_array(p->records);

    for (size_t i = 0; i < records->n; i++) {
        const struct json *r = records->elems[i];
        const struct json_array *ips = dpctl_json_array(r, "ips");
        const char *text = dpctl_json_str(r, "mac");
        struct in6_addr its_ip;
        struct eth_addr its_mac;

        if (!nullable_string_is_equal(dpctl_json_str(r, "kind"), "Pod")) {
            continue;
        }
        if (mac && text && eth_addr_from_string(text, &its_mac)
            && eth_addr_equals(its_mac, *mac)) {
            return r;
        }
        for (size_t j = 0; ip && j < ips->n; j++) {
            if (ips->elems[j]->type == JSON_STRING
                && dpctl_address_parse(json_string(ips->elems[j]), &its_ip)
                && ipv6_addr_equals(&its_ip, ip)) {
                return r;
            }
        }
    }
    return NULL;
}

/* What an address of each family is, or NULL; borrowed. */
struct addresses {
    const char *of[DPCTL_N_FAMILIES];
};

static void
add_address(struct addresses *a, const char *ip)
{
    if (ip && *ip) {
        const char **slot = &a->of[dpctl_family_of(ip)];

        *slot = *slot ? *slot : ip;
    }
}

/* The strings of 'value', which may be one. */
static void
add_addresses(struct addresses *a, const struct json *value)
{
    if (value && value->type == JSON_STRING) {
        add_address(a, json_string(value));
    } else if (value && value->type == JSON_ARRAY) {
        for (size_t i = 0; i < value->array.n; i++) {
            add_addresses(a, value->array.elems[i]);
        }
    }
}

/* Of a Pod's object. */
static void
add_pod_ips(struct addresses *a, const struct json *manifest)
{
    const struct json_array *ips
        = dpctl_json_array(manifest, "object.status.podIPs");

    for (size_t i = 0; i < ips->n; i++) {
        add_address(a, dpctl_json_str(ips->elems[i], "ip"));
    }
    add_address(a, dpctl_json_str(manifest, "object.status.podIP"));
}

/* The MAC address to which a Pod sends what is for 'ip': a neighbour's, or the
 * gateway's.  NULL if there is no gateway. */
static const char *
next_hop(const struct dpctl_parties *p, const struct in6_addr *ip)
{
    const struct json *pod = ip ? find_pod(p, NULL, ip) : NULL;

    return (pod ? dpctl_json_str(pod, "mac")
            : dpctl_json_str(find_record(p, "NodeConfig", NULL),
                             "gateway.mac"));
}

/* Names. */

/* "pod/default/web:80", in parts. */
struct party {
    const char *kind;           /* "Pod", "Service", or NULL: either. */
    char *name;                 /* With its namespace; NULL: 'address'. */
    char *address;
    char *port;                 /* Or NULL. */
};

static void
party_destroy(struct party *party)
{
    free(party->name);
    free(party->address);
    free(party->port);
}

/* The kind that a user means by 'word', if it is one that has packets. */
static const char *
kind_of_word(const char *word)
{
    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        const struct dpctl_kind *k = &dpctl_kinds[i];

        if (dpctl_kind_is_called(k, word)
            && (!strcmp(k->kind, "Pod") || !strcmp(k->kind, "Service"))) {
            return k->kind;
        }
    }
    return NULL;
}

/* Takes ":PORT" off 's', which is the caller's to free. */
static char *
split_port(const char *s, char **port)
{
    const char *end = *s == '[' ? strchr(s, ']') : NULL;
    const char *colon = strrchr(s, ':');
    struct in6_addr ip;

    *port = NULL;
    if (end && (!end[1] || end[1] == ':')) {
        *port = end[1] ? xstrdup(end + 2) : NULL;
        return xmemdup0(s + 1, end - s - 1);
    } else if (!colon || dpctl_address_parse(s, &ip)) {
        return xstrdup(s);
    }
    *port = xstrdup(colon + 1);
    return xmemdup0(s, colon - s);
}

static struct party
parse_party(const char *s, const char *namespace_)
{
    struct party party = { .kind = NULL };
    char *name = split_port(s, &party.port);
    const char *rest = name;
    const char *slash = strchr(name, '/');
    struct in6_addr ip;

    if (dpctl_address_parse(name, &ip)) {
        party.address = name;
        return party;
    }
    if (slash) {
        char *word = xmemdup0(name, slash - name);

        party.kind = kind_of_word(word);
        rest = party.kind ? slash + 1 : name;
        free(word);
    }
    party.name = (strchr(rest, '/') ? xstrdup(rest)
                  : xasprintf("%s/%s", namespace_ ? namespace_ : "default",
                              rest));
    free(name);
    return party;
}

static void
put_names(struct json *names, const char *s, const char *namespace_)
{
    /* All Pods of the Node are known anyway. */
    static const char *const prefixes[] = { "Service ", "Manifest Pod.v1/" };
    struct party party = parse_party(s, namespace_);

    for (size_t i = 0; i < ARRAY_SIZE(prefixes) && party.name; i++) {
        json_array_add(names, json_string_create_nocopy(
                           xasprintf("%s%s", prefixes[i], party.name)));
    }
    party_destroy(&party);
}

struct json *
dpctl_parties_names(const struct dpctl_talk *talk)
{
    struct json *names = json_array_create_empty();

    if (talk->from) {
        put_names(names, talk->from, talk->namespace_);
    }
    if (talk->to) {
        put_names(names, talk->to, talk->namespace_);
    }
    return names;
}

/* Talks. */

/* What is known of the flow so far.  Strings are borrowed, but for 'port'. */
struct talk_draft {
    const struct dpctl_parties *parties;
    const struct dpctl_talk *talk;
    const struct json *client;  /* A Pod's record; NULL: of another Node. */
    struct party to;
    struct addresses client_ips, server_ips;
    const char *protocol;       /* In lower case, or NULL. */
    long long int port;         /* 0: none. */
    enum dpctl_family family;
    bool is_match;              /* Of packets: parts may be left open. */
};

static char *
find_client(struct talk_draft *d)
{
    struct party from = parse_party(d->talk->from, d->talk->namespace_);
    char *error = NULL;

    if (!from.name || from.port
        || (from.kind && strcmp(from.kind, "Pod"))) {
        error = xasprintf("--from %s: give a Pod", d->talk->from);
    } else {
        char *manifest = xasprintf("Pod.v1/%s", from.name);

        const struct json *object = find_record(d->parties, "Manifest",
                                                manifest);

        d->client = find_record(d->parties, "Pod", from.name);
        if (!d->client && object && d->is_match) {
            add_pod_ips(&d->client_ips, object);
        } else if (!d->client) {
            error = (object
                     ? xasprintf("--from %s: the Pod isn't on this Node; ask "
                                 "on its own", d->talk->from)
                     : xasprintf("--from %s: there is no Pod %s",
                                 d->talk->from, from.name));
        }
        free(manifest);
    }
    if (d->client) {
        add_addresses(&d->client_ips, dpctl_json_member(d->client, "ips"));
    }
    party_destroy(&from);
    return error;
}

/* In lower case, as flows have it.  NULL if there is no such protocol. */
static const char *
find_protocol(const char *word)
{
    static const char *const protocols[] = { "tcp", "udp", "sctp", "icmp" };

    for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
        if (!strcasecmp(word, protocols[i])) {
            return protocols[i];
        }
    }
    return NULL;
}

/* The protocol of a Service's port. */
static const char *
protocol_of(const struct json *port)
{
    const char *protocol = dpctl_json_str(port, "protocol");

    return protocol ? protocol : "TCP";
}

/* The protocol that is asked for, or that goes without saying. */
static char *
choose_protocol(struct talk_draft *d)
{
    const char *wanted = d->talk->protocol;

    wanted = (wanted ? wanted : d->to.port ? "tcp"
              : d->is_match ? NULL : "icmp");
    d->protocol = wanted ? find_protocol(wanted) : NULL;
    return (wanted && !d->protocol
            ? xasprintf("--protocol %s: give tcp, udp, sctp or icmp", wanted)
            : NULL);
}

/* The port of 'service' that is meant: by number or name, or the only one. */
static char *
choose_service_port(struct talk_draft *d, const struct json *service)
{
    const struct json_array *ports = dpctl_json_array(service, "ports");
    const struct json *chosen = NULL;
    size_t n = 0;

    for (size_t i = 0; i < ports->n; i++) {
        const struct json *port = ports->elems[i];
        const char *name = dpctl_json_str(port, "name");
        char *number = xasprintf("%lld", dpctl_json_int(port, "port", 0));

        if ((!d->to.port || !strcmp(d->to.port, number)
             || nullable_string_is_equal(d->to.port, name))
            && (!d->talk->protocol
                || !strcasecmp(d->talk->protocol, protocol_of(port)))) {
            chosen = port;
            n++;
        }
        free(number);
    }
    if (n > 1 && d->is_match && !d->to.port) {
        return choose_protocol(d);      /* Any of them. */
    } else if (n != 1) {
        return xasprintf("--to %s: Service %s has %s port%s%s", d->talk->to,
                         d->to.name, n ? "several" : "no such",
                         n ? "s" : "",
                         n ? "; give one, and --protocol" : "");
    }

    d->port = dpctl_json_int(chosen, "port", 0);
    d->protocol = find_protocol(protocol_of(chosen));
    return NULL;
}

static char *
use_service(struct talk_draft *d, const struct json *service)
{
    add_addresses(&d->server_ips, dpctl_json_member(service, "clusterIP"));
    if (!d->server_ips.of[DPCTL_IPV4] && !d->server_ips.of[DPCTL_IPV6]) {
        return xasprintf("--to %s: Service %s has no cluster IP",
                         d->talk->to, d->to.name);
    }
    return choose_service_port(d, service);
}

/* A packet to a Pod, or an address. */
static char *
choose_port(struct talk_draft *d)
{
    char *error = choose_protocol(d);

    if (error) {
        return error;
    }

    bool has_ports = d->protocol && strcmp(d->protocol, "icmp");
    if (d->is_match && !d->to.port) {
        return NULL;
    } else if (has_ports != (d->to.port != NULL)) {
        return (has_ports
                ? xasprintf("--to %s: give a port, %s:PORT", d->talk->to,
                            d->talk->to)
                : xasprintf("--to %s: ICMP has no ports", d->talk->to));
    }
    if (has_ports) {
        int port;

        if (!str_to_int(d->to.port, 10, &port) || port < 1 || port > 65535) {
            return xasprintf("--to %s: port %s is none", d->talk->to,
                             d->to.port);
        }
        d->port = port;
    }
    return NULL;
}

static char *
find_server(struct talk_draft *d)
{
    const struct json *pod = NULL, *manifest = NULL, *service = NULL;

    d->to = parse_party(d->talk->to, d->talk->namespace_);
    if (d->to.address) {
        add_address(&d->server_ips, d->to.address);
        return choose_port(d);
    }
    if (!d->to.kind || !strcmp(d->to.kind, "Pod")) {
        char *name = xasprintf("Pod.v1/%s", d->to.name);

        pod = find_record(d->parties, "Pod", d->to.name);
        manifest = find_record(d->parties, "Manifest", name);
        free(name);
    }
    if (!d->to.kind || !strcmp(d->to.kind, "Service")) {
        service = find_record(d->parties, "Service", d->to.name);
    }

    if ((pod || manifest) && service) {
        return xasprintf("--to %s: there are a Pod and a Service %s; write "
                         "pod/%s or svc/%s", d->talk->to, d->to.name,
                         d->to.name, d->to.name);
    } else if (service) {
        return use_service(d, service);
    } else if (pod) {
        add_addresses(&d->server_ips, dpctl_json_member(pod, "ips"));
    } else if (manifest) {
        add_pod_ips(&d->server_ips, manifest);
        if (!d->server_ips.of[DPCTL_IPV4] && !d->server_ips.of[DPCTL_IPV6]) {
            return xasprintf("--to %s: Pod %s has no address yet",
                             d->talk->to, d->to.name);
        }
    } else {
        return xasprintf("--to %s: there is no %s %s", d->talk->to,
                         d->to.kind ? d->to.kind : "Pod or Service",
                         d->to.name);
    }
    return choose_port(d);
}

static char *
choose_family(struct talk_draft *d)
{
    static const char *const names[] = { "ipv4", "ipv6" };
    bool known = !d->talk->family;

    for (int i = DPCTL_N_FAMILIES - 1; i >= 0; i--) {
        bool wanted = (!d->talk->family
                       || !strcasecmp(d->talk->family, names[i]));

        known |= wanted;
        if (wanted && d->client_ips.of[i] && d->server_ips.of[i]) {
            d->family = i;
        } else if (wanted && d->talk->family) {
            return xasprintf("--family %s: %s has no such address",
                             d->talk->family,
                             d->client_ips.of[i] ? d->talk->to
                             : d->talk->from);
        }
    }
    if (!known) {
        return xasprintf("--family %s: give ipv4 or ipv6", d->talk->family);
    }
    if (!d->client_ips.of[d->family] || !d->server_ips.of[d->family]) {
        return xasprintf("%s and %s have no addresses of the same family",
                         d->talk->from, d->talk->to);
    }
    return NULL;
}

static char *
write_flow(const struct talk_draft *d, char **flow, char **in_port)
{
    bool v6 = d->family == DPCTL_IPV6;
    const char *field = v6 ? "ipv6" : "nw";
    const char *server = d->server_ips.of[d->family];
    const char *src = dpctl_json_str(d->client, "mac");
    const char *port = dpctl_json_str(d->client, "port");
    struct ds s = DS_EMPTY_INITIALIZER;
    struct in6_addr ip;

    const char *dst = (dpctl_address_parse(server, &ip)
                       ? next_hop(d->parties, &ip) : NULL);
    if (!src || !port || !dst) {
        return xstrdup("the Node has no NodeConfig, or the Pod no port");
    }
    ds_put_format(&s, "%s%s,dl_src=%s,dl_dst=%s,%s_src=%s,%s_dst=%s,"
                  "nw_ttl=64", d->protocol, v6 ? "6" : "", src, dst, field,
                  d->client_ips.of[d->family], field, server);
    if (d->port) {
        ds_put_format(&s, ",tp_src=%d,tp_dst=%lld", CLIENT_PORT, d->port);
        if (!strcmp(d->protocol, "tcp")) {
            ds_put_cstr(&s, ",tcp_flags=syn");
        }
    } else {
        ds_put_format(&s, ",icmp_type=%d,icmp_code=0",
                      v6 ? ICMP6_ECHO_REQUEST : ICMP4_ECHO_REQUEST);
    }
    *flow = ds_steal_cstr(&s);
    *in_port = xstrdup(port);
    return NULL;
}

char *
dpctl_parties_flow(const struct dpctl_parties *p,
                   const struct dpctl_talk *talk, char **flow, char **in_port)
{
    struct talk_draft d = { .parties = p, .talk = talk };
    char *error = find_client(&d);

    error = error ? error : find_server(&d);
    error = error ? error : choose_family(&d);
    error = error ? error : write_flow(&d, flow, in_port);
    party_destroy(&d.to);
    return error;
}

/* The families that both ends have, where they are known. */
static char *
choose_match_family(struct talk_draft *d)
{
    if (d->talk->from && d->talk->to) {
        return choose_family(d);
    }

    /* The other end may be anybody: it has what is asked for. */
    const struct addresses any = { .of = { "any", "any" } };
    if (!d->talk->from) {
        d->client_ips = any;
    }
    if (!d->talk->to) {
        d->server_ips = any;
    }
    return choose_family(d);
}

static void
write_match(const struct talk_draft *d, char **match, char **in_port)
{
    const struct dpctl_talk *talk = d->talk;
    bool v6 = d->family == DPCTL_IPV6;
    const char *field = v6 ? "ipv6" : "nw";
    const char *port = dpctl_json_str(d->client, "port");
    bool any_family = !talk->to && !d->protocol && !talk->family;
    struct ds s = DS_EMPTY_INITIALIZER;

    *in_port = nullable_xstrdup(port);
    if (!port || !any_family) {
        ds_put_format(&s, "%s%s", d->protocol ? d->protocol : "ip",
                      !v6 ? "" : d->protocol ? "6" : "v6");
    }
    if (!port && talk->from) {
        ds_put_format(&s, ",%s_src=%s", field, d->client_ips.of[d->family]);
    }
    if (talk->to) {
        ds_put_format(&s, ",%s_dst=%s", field, d->server_ips.of[d->family]);
    }
    if (d->port) {
        ds_put_format(&s, ",tp_dst=%lld", d->port);
    }
    *match = ds_steal_cstr(&s);
}

char *
dpctl_parties_match(const struct dpctl_parties *p,
                    const struct dpctl_talk *talk, char **match,
                    char **in_port)
{
    struct talk_draft d = { .parties = p, .talk = talk, .is_match = true };
    char *error = talk->from ? find_client(&d) : NULL;

    if (!error) {
        error = talk->to ? find_server(&d) : choose_protocol(&d);
    }
    error = error ? error : choose_match_family(&d);
    if (!error) {
        write_match(&d, match, in_port);
    }
    party_destroy(&d.to);
    return error;
}

/* Frames. */

/* Addresses of the network layer, which point into a frame. */
struct network {
    bool is_arp_request;
    bool has_dst;
    struct in6_addr src, dst;
};

static void
read_ip(const struct ofpbuf *bytes, size_t ofs, ovs_be16 type,
        struct network *n)
{
    size_t left = bytes->size - ofs;
    const void *p = ofpbuf_at(bytes, ofs, left);

    if (type == htons(ETH_TYPE_IP) && left >= sizeof(struct ip_header)) {
        const struct ip_header *ip = p;

        in6_addr_set_mapped_ipv4(&n->src, get_16aligned_be32(&ip->ip_src));
        in6_addr_set_mapped_ipv4(&n->dst, get_16aligned_be32(&ip->ip_dst));
        n->has_dst = true;
    } else if (type == htons(ETH_TYPE_IPV6)
               && left >= sizeof(struct ovs_16aligned_ip6_hdr)) {
        const struct ovs_16aligned_ip6_hdr *ip = p;

        memcpy(&n->src, &ip->ip6_src, sizeof n->src);
        memcpy(&n->dst, &ip->ip6_dst, sizeof n->dst);
        n->has_dst = true;
    } else if (type == htons(ETH_TYPE_ARP)
               && left >= sizeof(struct arp_eth_header)) {
        const struct arp_eth_header *arp = p;

        n->is_arp_request = arp->ar_op == htons(ARP_OP_REQUEST);
        in6_addr_set_mapped_ipv4(&n->src, get_16aligned_be32(&arp->ar_spa));
        in6_addr_set_mapped_ipv4(&n->dst, get_16aligned_be32(&arp->ar_tpa));
        n->has_dst = true;
    }
}

static void
read_network(const struct ofpbuf *bytes, struct network *n)
{
    const struct eth_header *eth = bytes->data;
    ovs_be16 type = eth->eth_type;
    size_t ofs = sizeof *eth;

    *n = (struct network) { .has_dst = false };
    while (eth_type_vlan(type) && bytes->size >= ofs + VLAN_HEADER_LEN) {
        const struct vlan_header *vlan = ofpbuf_at(bytes, ofs,
                                                   VLAN_HEADER_LEN);

        type = vlan->vlan_next_type;
        ofs += VLAN_HEADER_LEN;
    }
    read_ip(bytes, ofs, type, n);
}

/* To whom a multicast group's packets go. */
static bool
set_multicast(const struct in6_addr *ip, struct eth_addr *mac)
{
    ovs_be32 ip4 = in6_addr_get_mapped_ipv4(ip);
    const uint8_t *b = ip->s6_addr;

    if (ip_is_multicast(ip4)) {
        *mac = (struct eth_addr) ETH_ADDR_C(01, 00, 5e, 00, 00, 00);
        mac->ea[3] = b[13] & 0x7f;
        memcpy(&mac->ea[4], &b[14], 2);
        return true;
    } else if (b[0] == 0xff) {
        *mac = (struct eth_addr) ETH_ADDR_C(33, 33, 00, 00, 00, 00);
        memcpy(&mac->ea[2], &b[12], 4);
        return true;
    }
    return false;
}

static bool
set_mac(struct eth_addr *mac, const char *text)
{
    return text && eth_addr_from_string(text, mac);
}

char *
dpctl_parties_complete(const struct dpctl_parties *p,
                       struct dpctl_frame *frame)
{
    struct eth_header *eth = frame->bytes->data;
    struct network n;

    if (!frame->is_cooked) {
        return NULL;
    }
    read_network(frame->bytes, &n);
    if (frame->is_broadcast || n.is_arp_request) {
        eth->eth_dst = eth_addr_broadcast;
    } else if (!(n.has_dst && set_multicast(&n.dst, &eth->eth_dst))
               && !set_mac(&eth->eth_dst,
                           next_hop(p, n.has_dst ? &n.dst : NULL))) {
        return xstrdup("cooked captures have no destination's MAC address, "
                       "and no NodeConfig tells the gateway's");
    }
    if (!frame->has_src) {
        const struct json *pod = (n.has_dst ? find_pod(p, NULL, &n.src)
                                  : NULL);

        if (!pod || !set_mac(&eth->eth_src, dpctl_json_str(pod, "mac"))) {
            return xstrdup("the packet has no sender's MAC address, and is "
                           "from no Pod of this Node");
        }
    }
    return NULL;
}

const char *
dpctl_parties_port(const struct dpctl_parties *p,
                   const struct dpctl_frame *frame)
{
    const struct eth_header *eth = frame->bytes->data;
    const struct json *pod = find_pod(p, &eth->eth_src, NULL);

    return pod ? dpctl_json_str(pod, "port") : NULL;
}
