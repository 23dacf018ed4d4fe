/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-vips.h"

#include <stdlib.h>

#include "adp-secret-hash.h"
#include "util.h"

struct vip {
    struct hmap_node node;
    const struct adp_service *service;
    const struct adp_service_port *port;
    enum adp_family family;
};

void
adp_vips_init(struct adp_vips *vips)
{
    hmap_init(&vips->hmap);
}

void
adp_vips_clear(struct adp_vips *vips)
{
    struct vip *vip;

    HMAP_FOR_EACH_POP (vip, node, &vips->hmap) {
        free(vip);
    }
}

void
adp_vips_uninit(struct adp_vips *vips)
{
    adp_vips_clear(vips);
    hmap_destroy(&vips->hmap);
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

void
adp_vips_add(struct adp_vips *vips, const struct adp_record *record)
{
    ADP_FOR_EACH_FAMILY (family) {
        add_vips(vips, CONTAINER_OF(record, struct adp_service, up), family);
    }
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
    ADP_FOR_EACH_FAMILY (family) {
        remove_vips(vips, CONTAINER_OF(record, struct adp_service, up),
                    family);
    }
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
