/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_OUTSIDE_H
#define DPCTL_OUTSIDE_H 1

/* Addresses for outsiders (a load balancer's, externalIPs), which who makes a
 * Service writes down, and which another Service may have as well, or as its
 * ClusterIP.  One Service serves each, on a port: which one is for the daemon
 * to decide (lib/pipeline/pipeline-vips.h).  Here is told which one that is.
 */

struct json;
struct shash;
struct svec;

/* Adds all addresses of a Service, ClusterIPs among them, in
 * dpctl_address_text()'s spelling. */
void dpctl_outside_addresses(const struct json *service, struct svec *);

/* Adds a sentence for each address of the Services among 'manifests' that
 * another one of them serves, if one of the two is 'given'.  Both map
 * Manifests' names to objects. */
void dpctl_outside_shared(const struct shash *manifests,
                          const struct shash *given, struct svec *sentences);

#endif /* dpctl-outside.h */
