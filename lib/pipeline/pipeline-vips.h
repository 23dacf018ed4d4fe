/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_VIPS_H
#define ADP_PIPELINE_VIPS_H 1

/* Services by ClusterIP, port and protocol: for Services whose endpoints are
 * other Services' ClusterIPs.
 *
 * Such an endpoint is known by the NodeConfig's serviceCIDR, which it is in.
 *
 * And Services by their addresses for outsiders (loadBalancerIPs, externalIPs)
 * with port and protocol.  Who makes a Service may write down any, others'
 * among them.  One Service serves each: none if it is a ClusterIP, which goes
 * its own way, else one whose load balancer's it is, else the first that was
 * created (those of which that isn't known come last), else the first by name.
 * That follows from the Services that there are, in whatever order they came.
 *
 * Thread-safety: as the model.
 * Memory: borrows the records, which the caller removes before they go.
 * Bounded by the ports of the Services that there are, and their addresses.
 * Cost: a hash look-up for each address and port, and one by bisection among
 * the Services that have it.
 */

#include "model-records.h"
#include "openvswitch/hmap.h"

struct adp_vips {
    struct hmap hmap;
    struct hmap outside;        /* Contains "struct outside"s. */
};

void adp_vips_init(struct adp_vips *);
void adp_vips_uninit(struct adp_vips *);
void adp_vips_clear(struct adp_vips *);

void adp_vips_add(struct adp_vips *, const struct adp_record *service);
void adp_vips_remove(struct adp_vips *, const struct adp_record *service);

/* The port of the Service whose ClusterIP 'ip' is, or NULL; sets
 * '*service'. */
const struct adp_service_port *adp_vips_find(const struct adp_vips *,
                                             const struct in6_addr *ip,
                                             uint16_t port, uint8_t protocol,
                                             const struct adp_service **);

/* Is it this Service that serves 'ip', which is one of its addresses for
 * outsiders, on that port of its? */
bool adp_vips_serves(const struct adp_vips *, const struct adp_service *,
                     const struct adp_service_port *,
                     const struct in6_addr *ip);

/* Calls 'cb' for whoever may serve other addresses for outsiders than before
 * because 'service' came or went. */
void adp_vips_each_rival(const struct adp_vips *,
                         const struct adp_record *service,
                         void (*cb)(const struct adp_record *, void *aux),
                         void *aux);

/* Is the endpoint another Service's ClusterIP? */
bool adp_endpoint_is_nested(const struct adp_node_config *,
                            const struct adp_endpoint *);
/* Is one of the port's? */
bool adp_service_port_is_nested(const struct adp_node_config *,
                                const struct adp_service_port *);

#endif /* pipeline-vips.h */
