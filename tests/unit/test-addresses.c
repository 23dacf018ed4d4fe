/* SPDX-License-Identifier: Apache-2.0 */

/* The addresses of the host's devices: each device has its own, and the host
 * is asked once as long as none change. */

#include <config.h>
#include <check.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "packets.h"
#include "test-run.h"
#include "util.h"

__typeof__(getifaddrs) __wrap_getifaddrs;
__typeof__(freeifaddrs) __wrap_freeifaddrs;
int __wrap_netdev_get_addrs(const char dev[], struct in6_addr **,
                            struct in6_addr **, int *n);
void __wrap_netdev_get_addrs_list_flush(void);

/* The host: device I, of the first 'n_devices', has 10.0.I.1/24, and device 0
 * 10.1.0.1/24 as well.  "bare" has a link-level address alone. */
#define MAX_DEVICES 100
static size_t n_devices;
static bool fails;
static size_t n_looks, n_lists;         /* Of the latter, not yet freed. */

static struct ifaddrs *
add_address(struct ifaddrs *next, char *name, sa_family_t family,
            ovs_be32 addr)
{
    struct sockaddr_in *sins = xzalloc(2 * sizeof *sins);
    struct ifaddrs *ifa = xzalloc(sizeof *ifa);

    sins[0].sin_family = sins[1].sin_family = family;
    sins[0].sin_addr.s_addr = addr;
    sins[1].sin_addr.s_addr = htonl(0xffffff00);
    ifa->ifa_next = next;
    ifa->ifa_name = name;
    ifa->ifa_addr = (struct sockaddr *) &sins[0];
    ifa->ifa_netmask = (struct sockaddr *) &sins[1];
    return ifa;
}

int
__wrap_getifaddrs(struct ifaddrs **list)
{
    n_looks++;
    if (fails) {
        errno = ENOBUFS;
        return -1;
    }
    *list = add_address(NULL, xstrdup("bare"), AF_PACKET, 0);
    for (size_t i = 0; i < n_devices; i++) {
        *list = add_address(*list, xasprintf("veth%"PRIuSIZE, i), AF_INET,
                            htonl(0x0a000001 + (i << 8)));
    }
    *list = add_address(*list, xstrdup("veth0"), AF_INET, htonl(0x0a010001));
    n_lists++;
    return 0;
}

void
__wrap_freeifaddrs(struct ifaddrs *list)
{
    while (list) {
        struct ifaddrs *next = list->ifa_next;

        free(list->ifa_name);
        free(list->ifa_addr);
        free(list);
        list = next;
    }
    n_lists--;
}

static void
setup(void)
{
    __wrap_netdev_get_addrs_list_flush();
    n_devices = MAX_DEVICES;
    fails = false;
    n_looks = n_lists = 0;
}

static void
teardown(void)
{
    __wrap_netdev_get_addrs_list_flush();
    ck_assert_uint_eq(n_lists, 0);
}

/* How many addresses 'dev' has; one of them is 'addr'/24. */
static int
count(const char *dev, uint32_t addr)
{
    struct in6_addr *addrs, *masks;
    bool found = false;
    int n;

    ck_assert_int_eq(__wrap_netdev_get_addrs(dev, &addrs, &masks, &n), 0);
    for (int i = 0; i < n; i++) {
        found |= in6_addr_get_mapped_ipv4(&addrs[i]) == htonl(addr);
        ck_assert_uint_eq(ntohl(in6_addr_get_mapped_ipv4(&masks[i])),
                          0xffffff00);
    }
    ck_assert(found);
    free(addrs);
    free(masks);
    return n;
}

static int
ask(const char *dev)
{
    return __wrap_netdev_get_addrs(dev, NULL, NULL, NULL);
}

START_TEST(each_its_own)
{
    for (uint32_t i = 1; i < MAX_DEVICES; i++) {
        char *dev = xasprintf("veth%"PRIu32, i);

        ck_assert_int_eq(count(dev, 0x0a000001 + (i << 8)), 1);
        free(dev);
    }
    ck_assert_int_eq(count("veth0", 0x0a000001), 2);
    ck_assert_int_eq(count("veth0", 0x0a010001), 2);
    ck_assert_int_eq(ask("veth1"), 0);
    ck_assert_int_eq(ask("bare"), EADDRNOTAVAIL);
    ck_assert_int_eq(ask("veth"), EADDRNOTAVAIL);
    ck_assert_uint_eq(n_looks, 1);
}
END_TEST

/* What changes is seen when upstream says that something changed. */
START_TEST(changes)
{
    n_devices = 1;
    ck_assert_int_eq(ask("veth1"), EADDRNOTAVAIL);
    n_devices = 2;
    ck_assert_int_eq(ask("veth1"), EADDRNOTAVAIL);
    __wrap_netdev_get_addrs_list_flush();
    ck_assert_int_eq(ask("veth1"), 0);
    n_devices = 1;
    __wrap_netdev_get_addrs_list_flush();
    ck_assert_int_eq(ask("veth1"), EADDRNOTAVAIL);
    ck_assert_uint_eq(n_looks, 3);
}
END_TEST

/* Who asks a host that doesn't say isn't told that there are none. */
START_TEST(no_answer)
{
    fails = true;
    ck_assert_int_eq(ask("veth1"), ENOBUFS);
    fails = false;
    ck_assert_int_eq(ask("veth1"), 0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("addresses");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, each_its_own);
    tcase_add_test(tc, changes);
    tcase_add_test(tc, no_answer);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
