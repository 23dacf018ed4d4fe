/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-clause.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

/* Emits 'cidr' without the 'n' 'excepts', which are sorted and all within
 * 'cidr'. */
static void
subtract(struct adp_cidr cidr, const struct adp_cidr *excepts, size_t n,
         adp_cidr_cb *cb, void *aux)
{
    if (!n) {
        cb(&cidr, aux);
        return;
    }
    if (excepts[0].plen <= cidr.plen) {
        return;                 /* The first is the shortest: all is gone. */
    }

    /* Each exception is longer than 'cidr', so that it is within one half. */
    struct adp_cidr lower = { cidr.ip, cidr.plen + 1 };
    struct adp_cidr upper = lower;
    adp_ip_set_bit(&upper.ip, cidr.plen);

    size_t n_lower = 0;
    while (n_lower < n && memcmp(&excepts[n_lower].ip, &upper.ip,
                                 sizeof upper.ip) < 0) {
        n_lower++;
    }
    subtract(lower, excepts, n_lower, cb, aux);
    subtract(upper, excepts + n_lower, n - n_lower, cb, aux);
}

void
adp_ip_block_to_cidrs(const struct adp_ip_block *block,
                      adp_cidr_cb *cb, void *aux)
{
    if (!block->n_excepts) {
        cb(&block->cidr, aux);
        return;
    }

    struct adp_cidr *excepts = xmemdup(block->excepts,
                                       block->n_excepts * sizeof *excepts);

    qsort(excepts, block->n_excepts, sizeof *excepts, adp_cidr_compare);
    subtract(block->cidr, excepts, block->n_excepts, cb, aux);
    free(excepts);
}

void
adp_port_range_to_masks(uint16_t first, uint16_t last,
                        adp_masked_port_cb *cb, void *aux)
{
    uint32_t port = first;

    while (port <= last) {
        uint32_t size = 1;

        /* The largest aligned block that starts here and fits. */
        while (!(port & size) && size <= UINT16_MAX
               && port + 2 * size - 1 <= last) {
            size *= 2;
        }
        cb(port, ~(size - 1), aux);
        port += size;
    }
}

struct masked_ports {
    const struct adp_network_policy_service *service;
    struct adp_masked_port src;
    adp_masked_ports_cb *cb;
    void *aux;
};

static void
mask_destination(uint16_t port, uint16_t mask, void *mp_)
{
    const struct masked_ports *mp = mp_;

    mp->cb(&mp->src, &(struct adp_masked_port) { port, mask }, mp->aux);
}

static void
mask_source(uint16_t port, uint16_t mask, void *mp_)
{
    struct masked_ports *mp = mp_;

    mp->src = (struct adp_masked_port) { port, mask };
    if (mp->service->port) {
        adp_port_range_to_masks(mp->service->port, mp->service->end_port,
                                mask_destination, mp);
    } else {
        mask_destination(0, 0, mp);
    }
}

void
adp_policy_service_to_masks(const struct adp_network_policy_service *service,
                            adp_masked_ports_cb *cb, void *aux)
{
    struct masked_ports mp = { .service = service, .cb = cb, .aux = aux };

    if (service->src_port) {
        adp_port_range_to_masks(service->src_port, service->src_end_port,
                                mask_source, &mp);
    } else {
        mask_source(0, 0, &mp);
    }
}
