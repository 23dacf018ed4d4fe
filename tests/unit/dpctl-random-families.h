/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_RANDOM_FAMILIES_H
#define DPCTL_RANDOM_FAMILIES_H 1

/* Random objects of both families, of such of IPv4. */

struct ds;

/* A Node called node1. */
extern const char dpctl_random_node[];

/* Gives some of the objects in 'text' IPv6 addresses, in one spelling or the
 * other, in place of those of IPv4 or beside them. */
void dpctl_random_families(struct ds *text);
/* Addresses as the CNI writes them; the caller frees them. */
char *dpctl_random_ips(void);

/* The peers of an egress rule that names domain names, alone or among others. */
void dpctl_random_fqdns(struct ds *);

#endif /* dpctl-random-families.h */
