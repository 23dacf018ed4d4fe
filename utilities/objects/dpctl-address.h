/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_ADDRESS_H
#define DPCTL_ADDRESS_H 1

/* Addresses and networks of both families in objects.
 *
 * An IPv6 address can be written in many ways.  Keys and sets know only one:
 * what dpctl_address_text() makes of it.  An IPv4 address that is mapped into
 * IPv6 is an IPv4 address.
 */

#include <netinet/in.h>
#include <stdbool.h>

struct json;
struct svec;

enum dpctl_family {
    DPCTL_IPV4,
    DPCTL_IPV6,
    DPCTL_N_FAMILIES
};

/* IPv4 addresses and networks are mapped into IPv6.  False if 's' is none, or
 * NULL. */
bool dpctl_address_parse(const char *s, struct in6_addr *);
/* What comes behind 'plen' is zero. */
bool dpctl_network_parse(const char *s, struct in6_addr *, unsigned int *plen);

/* As records and keys have it, or NULL if 's' is none; the caller frees it. */
char *dpctl_address_text(const char *s);
char *dpctl_address_format(const struct in6_addr *);
char *dpctl_network_text(const char *s);
char *dpctl_network_format(const struct in6_addr *, unsigned int plen);
/* The first address of a network ("10.10.0.0/24" -> "10.10.0.1"). */
char *dpctl_network_first(const char *s);

/* Of what is an address or network. */
enum dpctl_family dpctl_family_of(const char *);

/* Adds the addresses of a list like "10.10.0.2,fd00::2", each once.  It may be
 * NULL. */
void dpctl_address_words(const char *words, struct svec *);

/* One value, or the list of those that aren't NULL.  NULL if all are. */
struct json *dpctl_families_to_json(char *const values[DPCTL_N_FAMILIES]);
/* Frees the values. */
void dpctl_families_uninit(char *values[DPCTL_N_FAMILIES]);
/* The same of "10.96.0.0/12,fd00:96::/112", as a user gives it. */
struct json *dpctl_service_cidr(const char *words);

#endif /* dpctl-address.h */
