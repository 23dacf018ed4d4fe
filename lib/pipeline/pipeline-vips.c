/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-vips.h"

#include <stdlib.h>
#include <string.h>

#include "adp-secret-hash.h"
#include "model-reader.h"
#include "packets.h"
#include "util.h"

struct vip {
    struct hmap_node node;
    const struct adp_service *service;
    const struct adp_service_port *port;
    enum adp_family family;
};

/* An address for outsiders, with port and protocol. */
struct outside {
    struct hmap_node node;
    struct in6_addr ip;
    uint16_t port;
    uint8_t protocol;
    const struct adp_service **services; /* Whose it is to be, who serves it
                                          * first.  At least one. */
    size_t n, allocated;
};

void
adp_vips_init(struct adp_vips *vips)
{
    hmap_init(&vips->hmap);
    hmap_init(&vips->outside);
}

void
adp_vips_clear(struct adp_vips *vips)
{
    struct vip *vip;

    HMAP_FOR_EACH_POP (vip, node, &vips->hmap) {
        free(vip);
    }

    struct outside *outside;
    HMAP_FOR_EACH_POP (outside, node, &vips->outside) {
        free(outside->services);
        free(outside);
    }
}

void
adp_vips_uninit(struct adp_vips *vips)
{
    adp_vips_clear(vips);
    hmap_destroy(&vips->hmap);
    hmap_destroy(&vips->outside);
}

static uint32_t
hash_vip(const struct in6_addr *ip, uint16_t port, uint8_t protocol)
{
    return adp_secret_hash_bytes(ip, sizeof *ip, port << 8 | protocol);
}

static uint32_t
hash_port(const struct adp_service *service,
          const struct adp_service_port *port, enum adp_family family)
{
    return hash_vip(&service->cluster_ip[family], port->port, port->protocol);
}

static size_t
n_vips(const struct adp_service *service, enum adp_family family)
{
    return (ipv6_addr_is_set(&service->cluster_ip[family])
            ? service->n_ports : 0);
}

static void
add_vips(struct adp_vips *vips, const struct adp_service *service,
         enum adp_family family)
{
    for (size_t i = 0; i < n_vips(service, family); i++) {
        struct vip *vip = xmalloc(sizeof *vip);

        vip->service = service;
        vip->port = &service->ports[i];
        vip->family = family;
        hmap_insert(&vips->hmap, &vip->node,
                    hash_port(service, vip->port, family));
    }
}

/* Addresses for outsiders. */

/* Who serves 'ip' first? */
static int
compare(const struct adp_service *a, const struct adp_service *b,
        const struct in6_addr *ip)
{
    bool a_balances = adp_ips_contain(&a->load_balancer_ips, ip);
    bool b_balances = adp_ips_contain(&b->load_balancer_ips, ip);

    if (a_balances != b_balances) {
        return a_balances ? -1 : 1;
    } else if (!a->created != !b->created) {
        return a->created ? -1 : 1;
    }
    int order = a->created ? strcmp(a->created, b->created) : 0;
    return order ? order : strcmp(a->up.name, b->up.name);
}

/* The place that the Service has, or would have. */
static size_t
place_of(const struct outside *outside, const struct adp_service *service)
{
    size_t low = 0, high = outside->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(outside->services[middle], service, &outside->ip) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct outside *
find_outside(const struct adp_vips *vips, const struct in6_addr *ip,
             const struct adp_service_port *port)
{
    struct outside *outside;

    HMAP_FOR_EACH_WITH_HASH (outside, node,
                             hash_vip(ip, port->port, port->protocol),
                             &vips->outside) {
        if (ipv6_addr_equals(&outside->ip, ip) && outside->port == port->port
            && outside->protocol == port->protocol) {
            return outside;
        }
    }
    return NULL;
}

static void
add_outside(struct adp_vips *vips, const struct adp_service *service,
            const struct adp_service_port *port, const struct in6_addr *ip)
{
    struct outside *outside = find_outside(vips, ip, port);

    if (!outside) {
        outside = xzalloc(sizeof *outside);
        outside->ip = *ip;
        outside->port = port->port;
        outside->protocol = port->protocol;
        hmap_insert(&vips->outside, &outside->node,
                    hash_vip(ip, port->port, port->protocol));
    }
    if (outside->n >= outside->allocated) {
        outside->services = x2nrealloc(outside->services, &outside->allocated,
                                       sizeof *outside->services);
    }

    size_t place = place_of(outside, service);
    memmove(&outside->services[place + 1], &outside->services[place],
            (outside->n++ - place) * sizeof *outside->services);
    outside->services[place] = service;
}

static void
remove_outside(struct adp_vips *vips, const struct adp_service *service,
               const struct adp_service_port *port, const struct in6_addr *ip)
{
    struct outside *outside = find_outside(vips, ip, port);
    size_t place = place_of(outside, service);

    memmove(&outside->services[place], &outside->services[place + 1],
            (--outside->n - place) * sizeof *outside->services);
    if (!outside->n) {
        hmap_remove(&vips->outside, &outside->node);
        free(outside->services);
        free(outside);
    }
}

/* Each address once, whichever lists it is in. */
static void
change_outside(struct adp_vips *vips, const struct adp_service *service,
               void (*change)(struct adp_vips *, const struct adp_service *,
                              const struct adp_service_port *,
                              const struct in6_addr *))
{
    for (size_t i = 0; i < service->n_ports; i++) {
        const struct adp_service_port *port = &service->ports[i];

        for (size_t j = 0; j < service->load_balancer_ips.n; j++) {
            change(vips, service, port, &service->load_balancer_ips.ips[j]);
        }
        for (size_t j = 0; j < service->external_ips.n; j++) {
            const struct in6_addr *ip = &service->external_ips.ips[j];

            if (!adp_ips_contain(&service->load_balancer_ips, ip)) {
                change(vips, service, port, ip);
            }
        }
    }
}

bool
adp_vips_serves(const struct adp_vips *vips,
                const struct adp_service *service,
                const struct adp_service_port *port,
                const struct in6_addr *ip)
{
    const struct adp_service *other;

    return (!adp_vips_find(vips, ip, port->port, port->protocol, &other)
            && find_outside(vips, ip, port)->services[0] == service);
}

void
adp_vips_each_rival(const struct adp_vips *vips,
                    const struct adp_record *record,
                    void (*cb)(const struct adp_record *, void *aux),
                    void *aux)
{
    const struct adp_service *service = CONTAINER_OF(record,
                                                     struct adp_service, up);
    const struct adp_ips lists[] = {
        { CONST_CAST(struct in6_addr *, service->cluster_ip),
          ADP_N_FAMILIES },
        service->load_balancer_ips, service->external_ips,
    };

    for (size_t i = 0; i < service->n_ports; i++) {
        for (size_t j = 0; j < ARRAY_SIZE(lists); j++) {
            for (size_t k = 0; k < lists[j].n; k++) {
                const struct outside *outside
                    = find_outside(vips, &lists[j].ips[k],
                                   &service->ports[i]);

                /* Whom it makes way for, or who served it before. */
                for (size_t l = 0; outside && l < MIN(outside->n, 2); l++) {
                    cb(&outside->services[l]->up, aux);
                }
            }
        }
    }
}

void
adp_vips_add(struct adp_vips *vips, const struct adp_record *record)
{
    const struct adp_service *service = CONTAINER_OF(record,
                                                     struct adp_service, up);

    ADP_FOR_EACH_FAMILY (family) {
        add_vips(vips, service, family);
    }
    change_outside(vips, service, add_outside);
}

static void
remove_vips(struct adp_vips *vips, const struct adp_service *service,
            enum adp_family family)
{
    for (size_t i = 0; i < n_vips(service, family); i++) {
        const struct adp_service_port *port = &service->ports[i];
        struct vip *vip;

        HMAP_FOR_EACH_WITH_HASH (vip, node, hash_port(service, port, family),
                                 &vips->hmap) {
            if (vip->port == port && vip->family == family) {
                hmap_remove(&vips->hmap, &vip->node);
                free(vip);
                break;
            }
        }
    }
}

void
adp_vips_remove(struct adp_vips *vips, const struct adp_record *record)
{
    const struct adp_service *service = CONTAINER_OF(record,
                                                     struct adp_service, up);

    ADP_FOR_EACH_FAMILY (family) {
        remove_vips(vips, service, family);
    }
    change_outside(vips, service, remove_outside);
}

const struct adp_service_port *
adp_vips_find(const struct adp_vips *vips, const struct in6_addr *ip,
              uint16_t port, uint8_t protocol,
              const struct adp_service **service)
{
    const struct vip *vip;

    HMAP_FOR_EACH_WITH_HASH (vip, node, hash_vip(ip, port, protocol),
                             &vips->hmap) {
        if (ipv6_addr_equals(&vip->service->cluster_ip[vip->family], ip)
            && vip->port->port == port
            && vip->port->protocol == protocol) {
            *service = vip->service;
            return vip->port;
        }
    }
    return NULL;
}

bool
adp_endpoint_is_nested(const struct adp_node_config *node,
                       const struct adp_endpoint *ep)
{
    const struct adp_cidr host = adp_cidr_host(&ep->ip);

    enum adp_family family = adp_ip_family(&ep->ip);

    return (node->has_service_cidr[family]
            && adp_cidr_contains(&node->service_cidr[family], &host));
}

bool
adp_service_port_is_nested(const struct adp_node_config *node,
                           const struct adp_service_port *port)
{
    for (size_t i = 0; i < port->n_endpoints; i++) {
        if (adp_endpoint_is_nested(node, &port->endpoints[i])) {
            return true;
        }
    }
    return false;
}
