/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-service-check.h"

#include <netinet/in.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-json.h"
#include "dpctl-selector.h"
#include "util.h"

static bool
is_address(const char *s)
{
    struct in6_addr ip;

    return dpctl_address_parse(s, &ip);
}

/* One that is to be given yet is "". */
static bool
is_cluster_ip(const char *s)
{
    return !s[0] || !strcmp(s, "None") || is_address(s);
}

static bool
is_family(const char *s)
{
    return !strcmp(s, "IPv4") || !strcmp(s, "IPv6");
}

static char *
check_list(const struct json *object, const char *path,
           bool (*is_good)(const char *), const char *expected)
{
    const struct json_array *array = dpctl_json_array(object, path);

    for (size_t i = 0; i < array->n; i++) {
        const char *s = json_string(array->elems[i]);

        if (!is_good(s)) {
            return xasprintf("%s[%"PRIuSIZE"]: must be %s, not \"%s\"", path,
                             i, expected, s);
        }
    }
    return NULL;
}

static char *
check_service(const struct json *service)
{
    static const char cluster_ip[] = "an IP address or None";
    const char *ip = dpctl_json_str(service, "spec.clusterIP");

    if (ip && !is_cluster_ip(ip)) {
        return xasprintf("spec.clusterIP: must be %s, not \"%s\"", cluster_ip,
                         ip);
    }
    char *error = check_list(service, "spec.clusterIPs", is_cluster_ip,
                             cluster_ip);
    if (!error) {
        error = check_list(service, "spec.ipFamilies", is_family,
                           "IPv4 or IPv6");
    }
    return error ? error : dpctl_labels_check(service, "spec.selector");
}

static char *
check_slice(const struct json *slice)
{
    const struct json_array *endpoints = dpctl_json_array(slice, "endpoints");
    const char *type = dpctl_json_str(slice, "addressType");
    enum dpctl_family family = strcmp(type, "IPv4") ? DPCTL_IPV6 : DPCTL_IPV4;

    for (size_t i = 0; i < endpoints->n && is_family(type); i++) {
        const struct json_array *addresses
            = dpctl_json_array(endpoints->elems[i], "addresses");

        for (size_t j = 0; j < addresses->n; j++) {
            const char *s = json_string(addresses->elems[j]);

            if (!is_address(s) || dpctl_family_of(s) != family) {
                return xasprintf("endpoints[%"PRIuSIZE"].addresses"
                                 "[%"PRIuSIZE"]: must be an address of type "
                                 "%s, not \"%s\"", i, j, type, s);
            }
        }
    }
    return NULL;
}

char *
dpctl_service_check(enum dpctl_kind_id id, const struct json *object)
{
    return (id == DPCTL_SERVICE ? check_service(object)
            : id == DPCTL_ENDPOINT_SLICE ? check_slice(object) : NULL);
}
