/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MODEL_IP_H
#define ADP_MODEL_IP_H 1

/* Addresses and prefixes of records.
 *
 * An address is a struct in6_addr, an IPv4 address one that is mapped into
 * IPv6, as elsewhere in Open vSwitch (packets.h).  An address of all zeros is
 * none.
 *
 * Thread-safety: no state.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include "openvswitch/types.h"
#include "packets.h"

/* Bits of 'ip' below 'plen' are zero. */
struct adp_cidr {
    struct in6_addr ip;
    uint8_t plen;               /* Of 'ip', so 96..128 if it is IPv4. */
};

struct adp_ips {
    struct in6_addr *ips;
    size_t n;
};

enum adp_family {
    ADP_IPV4,
    ADP_IPV6,
    ADP_N_FAMILIES
};

#define ADP_FOR_EACH_FAMILY(FAMILY) \
    for (enum adp_family FAMILY = 0; FAMILY < ADP_N_FAMILIES; FAMILY++)

static inline bool
adp_ip_is_v4(const struct in6_addr *ip)
{
    return IN6_IS_ADDR_V4MAPPED(ip);
}

static inline bool
adp_cidr_is_v4(const struct adp_cidr *cidr)
{
    return adp_ip_is_v4(&cidr->ip) && cidr->plen >= 96;
}

static inline enum adp_family
adp_ip_family(const struct in6_addr *ip)
{
    return adp_ip_is_v4(ip) ? ADP_IPV4 : ADP_IPV6;
}

static inline enum adp_family
adp_cidr_family(const struct adp_cidr *cidr)
{
    return adp_cidr_is_v4(cidr) ? ADP_IPV4 : ADP_IPV6;
}

/* The prefix length as it is written in the prefix's own family. */
static inline uint8_t
adp_cidr_plen(const struct adp_cidr *cidr)
{
    return adp_cidr_is_v4(cidr) ? cidr->plen - 96 : cidr->plen;
}

/* The prefix of 'ip' alone. */
static inline struct adp_cidr
adp_cidr_host(const struct in6_addr *ip)
{
    return (struct adp_cidr) { *ip, 128 };
}

/* The prefix of all of a family. */
struct adp_cidr adp_cidr_any(enum adp_family);

/* Have 'a' and 'b' an address in common? */
bool adp_cidr_overlaps(const struct adp_cidr *a, const struct adp_cidr *b);
/* Is all of 'b' in 'a'?  No prefix of IPv6 contains one of IPv4. */
bool adp_cidr_contains(const struct adp_cidr *a, const struct adp_cidr *b);
/* By address, the shorter prefix first: for qsort(). */
int adp_cidr_compare(const void *, const void *);
/* Sets the bit of 'ip' behind the first 'plen' ones. */
void adp_ip_set_bit(struct in6_addr *ip, unsigned int plen);

/* "10.10.0.1", "fd00::1"; "10.10.0.0/24", "fd00::/64"; "10.10.0.1",
 * "[fd00::1]", for a port to follow.  By value, for use in the expression that
 * asks for it. */
struct adp_ip_text {
    char s[64];
};

struct adp_ip_text adp_ip_text(const struct in6_addr *);
struct adp_ip_text adp_cidr_text(const struct adp_cidr *);
struct adp_ip_text adp_ip_host_text(const struct in6_addr *);

#endif /* model-ip.h */
