/* SPDX-License-Identifier: Apache-2.0 */

/* The addresses of the host's devices, by name.
 *
 * Upstream walks a list of all of the host's addresses whenever it asks for a
 * device's, and translation does so for each port that a packet is output to.
 * So the linker puts these between (--wrap, in automake.mk): the list becomes
 * a table, which goes when upstream would forget the list, and is made anew by
 * who asks next.  It holds what the host has, nothing of who asks.
 *
 * Thread-safety: any thread asks and forgets. */

#include <config.h>

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "coverage.h"
#include "netdev.h"
#include "openvswitch/shash.h"
#include "openvswitch/thread.h"
#include "socket-util.h"
#include "util.h"

COVERAGE_DEFINE(netdev_addrs_asked);

int __wrap_netdev_get_addrs(const char dev[], struct in6_addr **paddr,
                            struct in6_addr **pmask, int *n_in);
void __wrap_netdev_get_addrs_list_flush(void);

/* Of a device, at least one. */
struct device_addresses {
    size_t n, allocated;
    struct {
        struct in6_addr addr, mask;
    } *each;
};

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;

/* "struct device_addresses"s by device name, if 'known'. */
static struct shash devices OVS_GUARDED_BY(mutex)
    = SHASH_INITIALIZER(&devices);
static bool known OVS_GUARDED_BY(mutex);

static void
add(const struct ifaddrs *ifa)
    OVS_REQUIRES(mutex)
{
    struct device_addresses *of = shash_find_data(&devices, ifa->ifa_name);

    if (!of) {
        of = xzalloc(sizeof *of);
        shash_add(&devices, ifa->ifa_name, of);
    }
    if (of->n == of->allocated) {
        of->each = x2nrealloc(of->each, &of->allocated, sizeof *of->each);
    }
    of->each[of->n].addr = sa_get_address(ifa->ifa_addr);
    of->each[of->n].mask = sa_get_address(ifa->ifa_netmask);
    of->n++;
}

static int
find_all(void)
    OVS_REQUIRES(mutex)
{
    struct ifaddrs *list;

    if (getifaddrs(&list)) {
        return errno;
    }
    for (const struct ifaddrs *ifa = list; ifa; ifa = ifa->ifa_next) {
        if (ifa->ifa_name && ifa->ifa_addr && ifa->ifa_netmask
            && sa_is_ip(ifa->ifa_addr)) {
            add(ifa);
        }
    }
    freeifaddrs(list);
    known = true;
    return 0;
}

static void
copy(const struct device_addresses *of, struct in6_addr **addrs,
     struct in6_addr **masks, int *n)
{
    *addrs = xmalloc(of->n * sizeof **addrs);
    *masks = xmalloc(of->n * sizeof **masks);
    *n = of->n;
    for (size_t i = 0; i < of->n; i++) {
        (*addrs)[i] = of->each[i].addr;
        (*masks)[i] = of->each[i].mask;
    }
}

int
__wrap_netdev_get_addrs(const char dev[], struct in6_addr **paddr,
                        struct in6_addr **pmask, int *n_in)
{
    COVERAGE_INC(netdev_addrs_asked);
    ovs_mutex_lock(&mutex);
    int error = known ? 0 : find_all();

    if (!error) {
        const struct device_addresses *of = shash_find_data(&devices, dev);

        if (!of) {
            error = EADDRNOTAVAIL;
        } else if (paddr) {
            copy(of, paddr, pmask, n_in);
        }
    }
    ovs_mutex_unlock(&mutex);
    return error;
}

void
__wrap_netdev_get_addrs_list_flush(void)
{
    struct shash_node *node;

    ovs_mutex_lock(&mutex);
    SHASH_FOR_EACH_SAFE (node, &devices) {
        struct device_addresses *of = node->data;

        shash_delete(&devices, node);
        free(of->each);
        free(of);
    }
    known = false;
    ovs_mutex_unlock(&mutex);
}
