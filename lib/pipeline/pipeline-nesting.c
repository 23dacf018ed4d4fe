/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-nesting.h"

#include <stdlib.h>

#include "adp-secret-hash.h"
#include "packets.h"
#include "pipeline-vips.h"
#include "util.h"

struct nested_ip {
    struct hmap_node node;      /* In adp_nesting's 'ips'. */
    struct in6_addr ip;
    struct engine_set services; /* Of "struct adp_record"s; at least one. */
};

void
adp_nesting_init(struct adp_nesting *nesting)
{
    hmap_init(&nesting->ips);
}

void
adp_nesting_uninit(struct adp_nesting *nesting)
{
    ovs_assert(hmap_is_empty(&nesting->ips));
    hmap_destroy(&nesting->ips);
}

static struct nested_ip *
find_ip(const struct adp_nesting *nesting, const struct in6_addr *ip,
        uint32_t hash)
{
    struct nested_ip *nested;

    HMAP_FOR_EACH_WITH_HASH (nested, node, hash, &nesting->ips) {
        if (ipv6_addr_equals(&nested->ip, ip)) {
            return nested;
        }
    }
    return NULL;
}

static uint32_t
hash_ip(const struct in6_addr *ip)
{
    return adp_secret_hash_bytes(ip, sizeof *ip, 0);
}

static void
add_ip(struct adp_nesting *nesting, const struct in6_addr *ip,
       const struct adp_record *service)
{
    uint32_t hash = hash_ip(ip);
    struct nested_ip *nested = find_ip(nesting, ip, hash);

    if (!nested) {
        nested = xmalloc(sizeof *nested);
        nested->ip = *ip;
        adp_engine_set_init(&nested->services);
        hmap_insert(&nesting->ips, &nested->node, hash);
    }
    adp_engine_set_add(&nested->services,
                       CONST_CAST(struct adp_record *, service));
}

static void
remove_ip(struct adp_nesting *nesting, const struct in6_addr *ip,
          const struct adp_record *service)
{
    struct nested_ip *nested = find_ip(nesting, ip, hash_ip(ip));

    if (nested && adp_engine_set_remove(&nested->services, service)
        && adp_engine_set_is_empty(&nested->services)) {
        adp_engine_set_destroy(&nested->services);
        hmap_remove(&nesting->ips, &nested->node);
        free(nested);
    }
}

void
adp_nesting_add(struct adp_nesting *nesting,
                const struct adp_node_config *node,
                const struct adp_record *record)
{
    const struct adp_service *service = CONTAINER_OF(record,
                                                     struct adp_service, up);

    for (size_t i = 0; i < service->n_ports; i++) {
        const struct adp_service_port *port = &service->ports[i];

        for (size_t j = 0; j < port->n_endpoints; j++) {
            const struct adp_endpoint *ep = &port->endpoints[j];

            if (adp_endpoint_is_nested(node, ep)) {
                add_ip(nesting, &ep->ip, record);
            }
        }
    }
}

void
adp_nesting_remove(struct adp_nesting *nesting,
                   const struct adp_record *record)
{
    const struct adp_service *service = CONTAINER_OF(record,
                                                     struct adp_service, up);

    for (size_t i = 0; i < service->n_ports; i++) {
        const struct adp_service_port *port = &service->ports[i];

        for (size_t j = 0; (j < port->n_endpoints
                            && !hmap_is_empty(&nesting->ips)); j++) {
            remove_ip(nesting, &port->endpoints[j].ip, record);
        }
    }
}

const struct engine_set *
adp_nesting_find(const struct adp_nesting *nesting, const struct in6_addr *ip)
{
    const struct nested_ip *nested = find_ip(nesting, ip, hash_ip(ip));

    return nested ? &nested->services : NULL;
}
