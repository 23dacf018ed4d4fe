/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model-ip.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "util.h"

struct adp_cidr
adp_cidr_any(enum adp_family family)
{
    return (family == ADP_IPV4
            ? (struct adp_cidr) { in6_addr_mapped_ipv4(0), 96 }
            : (struct adp_cidr) { .plen = 0 });
}

bool
adp_cidr_contains(const struct adp_cidr *a, const struct adp_cidr *b)
{
    if (a->plen > b->plen || adp_cidr_is_v4(a) != adp_cidr_is_v4(b)) {
        return false;
    }

    struct in6_addr mask = ipv6_create_mask(a->plen);
    struct in6_addr start = ipv6_addr_bitand(&b->ip, &mask);
    return ipv6_addr_equals(&a->ip, &start);
}

bool
adp_cidr_overlaps(const struct adp_cidr *a, const struct adp_cidr *b)
{
    return adp_cidr_contains(a, b) || adp_cidr_contains(b, a);
}

int
adp_cidr_compare(const void *a_, const void *b_)
{
    const struct adp_cidr *a = a_;
    const struct adp_cidr *b = b_;
    int cmp = memcmp(&a->ip, &b->ip, sizeof a->ip);

    return cmp ? cmp : a->plen - b->plen;
}

void
adp_ip_set_bit(struct in6_addr *ip, unsigned int plen)
{
    ip->s6_addr[plen / 8] |= 0x80 >> plen % 8;
}

struct adp_ip_text
adp_ip_text(const struct in6_addr *ip)
{
    struct adp_ip_text text;

    /* Not ipv6_string_mapped(), to which 0.0.0.0 is no IPv4 address. */
    if (adp_ip_is_v4(ip)) {
        ovs_be32 in4 = in6_addr_get_mapped_ipv4(ip);

        inet_ntop(AF_INET, &in4, text.s, sizeof text.s);
    } else {
        inet_ntop(AF_INET6, ip, text.s, sizeof text.s);
    }
    return text;
}

struct adp_ip_text
adp_cidr_text(const struct adp_cidr *cidr)
{
    struct adp_ip_text text = adp_ip_text(&cidr->ip);
    size_t n = strlen(text.s);

    snprintf(text.s + n, sizeof text.s - n, "/%"PRIu8, adp_cidr_plen(cidr));
    return text;
}

struct adp_ip_text
adp_ip_host_text(const struct in6_addr *ip)
{
    struct adp_ip_text text = adp_ip_text(ip);

    if (!adp_ip_is_v4(ip)) {
        size_t n = strlen(text.s);

        memmove(text.s + 1, text.s, n);
        text.s[0] = '[';
        ovs_strlcpy(text.s + 1 + n, "]", sizeof text.s - 1 - n);
    }
    return text;
}
