/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-random-families.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "util.h"

const char dpctl_random_node[] =
"{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"node1\","
"\"labels\":{\"app\":\"a\",\"env\":\"b\","
"\"topology.kubernetes.io/zone\":\"zone-a\"},"
"\"annotations\":{\"node.antrea.io/mac-address\":\"0a:00:00:00:00:01\"}},"
"\"spec\":{\"podCIDRs\":[\"10.1.0.0/24\",\"fd00:1::/64\"]},"
"\"status\":{\"addresses\":[{\"type\":\"InternalIP\","
"\"address\":\"192.0.2.1\"}]}}\n";

static bool
starts_with(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

/* An address of IPv6 as it should be written, or not. */
static void
put_spelling(struct ds *ds, const char *net, const char *host)
{
    static const char *const forms[] = { "fd00:%s::%s", "FD00:%s:0::0:%s" };

    ds_put_format(ds, forms[random_range(ARRAY_SIZE(forms))], net, host);
}

/* Puts what stands for the string at 's', which has 'len' bytes between its
 * quotes. */
static void
put_other(struct ds *ds, const char *s, size_t len)
{
    static const char pod[] = "10.1.0.", service[] = "10.96.";
    static const char block[] = "10.9.0.0/16";
    char *text = xmemdup0(s, len);

    if (starts_with(text, pod)) {
        put_spelling(ds, "1", text + strlen(pod));
    } else if (starts_with(text, service)) {
        put_spelling(ds, "96", strrchr(text, '.') + 1);
    } else if (!strcmp(text, block)) {
        ds_put_cstr(ds, "fd00:9::/32");
    } else if (!strcmp(text, "IPv4")) {
        ds_put_cstr(ds, "IPv6");
    } else {
        ds_put_cstr(ds, text);
    }
    free(text);
}

void
dpctl_random_families(struct ds *text)
{
    static const char object[] = "\"apiVersion\":";
    static const char type[] = "\"addressType\":";
    static const char cluster_ip[] = "\"clusterIP\":";
    struct ds out = DS_EMPTY_INITIALIZER;
    const char *s = ds_cstr(text);
    bool is_slice = false, is_other = false;

    while (*s) {
        size_t len = strcspn(s, "\"");
        size_t value = s[len] ? strcspn(s + len + 1, "\"") : 0;

        ds_put_buffer(&out, s, len);
        s += len;
        if (!*s) {
            break;
        }
        if (starts_with(s, cluster_ip) && !random_range(3)) {
            ds_put_format(&out, "\"ipFamilies\":[\"IPv4\",\"IPv6\"],"
                          "\"clusterIPs\":[\"fd00:96::%d\"],",
                          random_range(9));
        }
        if (starts_with(s, object)) {
            is_slice = false;
        } else if (starts_with(s, type)) {
            /* All addresses of an EndpointSlice are of its type. */
            is_slice = true;
            is_other = random_range(2);
        }
        ds_put_char(&out, '"');
        if (is_slice ? is_other : random_range(2)) {
            put_other(&out, s + 1, value);
        } else {
            ds_put_buffer(&out, s + 1, value);
        }
        ds_put_char(&out, '"');
        s += value + 2;
    }
    ds_swap(text, &out);
    ds_destroy(&out);
}

char *
dpctl_random_ips(void)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_format(&ds, "10.1.0.%d", 1 + random_range(20));
    if (random_range(2)) {
        if (random_range(2)) {
            ds_put_char(&ds, ',');
        } else {
            ds_clear(&ds);
        }
        put_spelling(&ds, "1", "7");
    }
    return ds_steal_cstr(&ds);
}

void
dpctl_random_fqdns(struct ds *ds)
{
    static const char *const fqdns[] = {
        "{\"fqdn\":\"a.example.com\"}", "{\"fqdn\":\"*.Example.com\"}",
        "{\"fqdn\":\"a.example.com\"},{\"fqdn\":\"b.example.com\"}",
        "{\"fqdn\":\"b.example.com\"},{\"podSelector\":{}}",
        "{\"ipBlock\":{\"cidr\":\"10.2.0.0/16\"}},"
        "{\"fqdn\":\"*.example.net\"}",
    };

    ds_put_format(ds, ",\"to\":[%s]", fqdns[random_range(ARRAY_SIZE(fqdns))]);
}
