/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-address.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/json.h"
#include "packets.h"
#include "svec.h"
#include "util.h"

enum { MAPPED_PLEN = 96 };      /* What comes before a mapped IPv4 address. */

bool
dpctl_address_parse(const char *s, struct in6_addr *ip)
{
    ovs_be32 ip4;

    if (s && ip_parse(s, &ip4)) {
        *ip = in6_addr_mapped_ipv4(ip4);
        return true;
    }
    return s && ipv6_parse(s, ip);
}

bool
dpctl_network_parse(const char *s, struct in6_addr *ip, unsigned int *plen)
{
    ovs_be32 ip4;
    char *error = ip_parse_cidr(s, &ip4, plen);

    if (!error) {
        *ip = in6_addr_mapped_ipv4(ip4);
        *plen += MAPPED_PLEN;
    } else {
        free(error);
        error = ipv6_parse_cidr(s, ip, plen);
    }
    if (error) {
        free(error);
        return false;
    }

    struct in6_addr mask = ipv6_create_mask(*plen);
    *ip = ipv6_addr_bitand(ip, &mask);
    return true;
}

static bool
is_mapped(const struct in6_addr *ip)
{
    return IN6_IS_ADDR_V4MAPPED(ip);
}

char *
dpctl_address_format(const struct in6_addr *ip)
{
    char text[INET6_ADDRSTRLEN];

    /* Not ipv6_string_mapped(), to which 0.0.0.0 is no IPv4 address. */
    return (is_mapped(ip)
            ? xasprintf(IP_FMT, IP_ARGS(in6_addr_get_mapped_ipv4(ip)))
            : xstrdup(inet_ntop(AF_INET6, ip, text, sizeof text)));
}

char *
dpctl_address_text(const char *s)
{
    struct in6_addr ip;

    return dpctl_address_parse(s, &ip) ? dpctl_address_format(&ip) : NULL;
}

char *
dpctl_network_format(const struct in6_addr *ip, unsigned int plen)
{
    char *address = dpctl_address_format(ip);
    char *network = xasprintf("%s/%u", address,
                              is_mapped(ip) ? plen - MAPPED_PLEN : plen);

    free(address);
    return network;
}

char *
dpctl_network_text(const char *s)
{
    struct in6_addr ip;
    unsigned int plen;

    return (dpctl_network_parse(s, &ip, &plen)
            ? dpctl_network_format(&ip, plen) : NULL);
}

char *
dpctl_network_first(const char *s)
{
    struct in6_addr ip;
    unsigned int plen;

    if (!dpctl_network_parse(s, &ip, &plen)) {
        return NULL;
    }
    for (int i = 15; i >= 12 && !++ip.s6_addr[i]; i--) {
        continue;
    }
    return dpctl_address_format(&ip);
}

enum dpctl_family
dpctl_family_of(const char *s)
{
    return strchr(s, ':') ? DPCTL_IPV6 : DPCTL_IPV4;
}

void
dpctl_address_words(const char *words, struct svec *addresses)
{
    char *copy = xstrdup(words ? words : "");
    char *save = NULL;

    for (char *word = strtok_r(copy, ", ", &save); word;
         word = strtok_r(NULL, ", ", &save)) {
        char *ip = dpctl_address_text(word);

        if (ip && !svec_contains_unsorted(addresses, ip)) {
            svec_add(addresses, ip);
        }
        free(ip);
    }
    free(copy);
}

struct json *
dpctl_families_to_json(char *const values[DPCTL_N_FAMILIES])
{
    struct json *list = json_array_create_empty();

    for (size_t i = 0; i < DPCTL_N_FAMILIES; i++) {
        if (values[i]) {
            json_array_add(list, json_string_create(values[i]));
        }
    }

    struct json *json = (list->array.n > 1 ? json_clone(list)
                         : list->array.n ? json_clone(list->array.elems[0])
                         : NULL);
    json_destroy(list);
    return json;
}

void
dpctl_families_uninit(char *values[DPCTL_N_FAMILIES])
{
    for (size_t i = 0; i < DPCTL_N_FAMILIES; i++) {
        free(values[i]);
        values[i] = NULL;
    }
}

struct json *
dpctl_service_cidr(const char *words)
{
    struct json *list = json_array_create_empty();
    char *copy = xstrdup(words);
    char *save = NULL;

    for (char *word = strtok_r(copy, ", ", &save); word;
         word = strtok_r(NULL, ", ", &save)) {
        json_array_add(list, json_string_create(word));
    }
    free(copy);
    if (list->array.n > 1) {
        return list;
    }
    json_destroy(list);
    return json_string_create(words);
}
