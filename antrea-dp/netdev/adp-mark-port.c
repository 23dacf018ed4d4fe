/* SPDX-License-Identifier: Apache-2.0 */

/* The linker puts functions of ours between some of upstream's and who calls
 * them (--wrap, in automake.mk): __wrap_F() is called for F(), __real_F() is
 * upstream's. */

#include <config.h>
#include "adp-mark-port.h"

#include <errno.h>
#include <string.h>

#include "adp-kernel-port.h"
#include "adp-veth-pair.h"
#include "netdev-provider.h"
#include "openvswitch/vlog.h"
#include "smap.h"
#include "sset.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_mark_port);

#define KEY "antrea-dp-mark-ports"

int __real_netdev_open(const char *name, const char *type, struct netdev **);
int __wrap_netdev_open(const char *name, const char *type, struct netdev **);
const char *__real_netdev_get_type(const struct netdev *);
const char *__wrap_netdev_get_type(const struct netdev *);
int __real_netdev_set_config(struct netdev *, const struct smap *args,
                             char **errp);
int __wrap_netdev_set_config(struct netdev *, const struct smap *args,
                             char **errp);

static char *configured;                /* What the database says, or NULL. */
static struct sset wanted = SSET_INITIALIZER(&wanted);
/* Of those, what can't be such a port, and why. */
static struct smap refused = SMAP_INITIALIZER(&refused);

void
adp_mark_port_configure(const struct smap *other_config)
{
    const char *s = smap_get(other_config, KEY);

    if (!nullable_string_is_equal(s, configured)) {
        free(configured);
        configured = nullable_xstrdup(s);
        sset_destroy(&wanted);
        sset_from_delimited_string(&wanted, s ? s : "", ", ");
        smap_clear(&refused);
    }
}

void
adp_mark_port_describe(struct smap *ports)
{
    const char *name;

    SSET_FOR_EACH (name, &wanted) {
        const char *why = smap_get(&refused, name);
        struct netdev *netdev = netdev_from_name(name);

        smap_add(ports, name, why ? why
                 : netdev && adp_kernel_port_is_pair(netdev) ? "marks cross"
                 : "no such internal port");
        netdev_close(netdev);
    }
}

static bool
is_wanted(const char *name)
{
    return sset_contains(&wanted, name) && !smap_get(&refused, name);
}

/* The class to open the internal port 'name' by: that which it is open by, if
 * it is. */
static const char *
class_of(const char *name)
{
    struct netdev *netdev = netdev_from_name(name);
    const char *type = (!netdev ? NULL
                        : adp_kernel_port_is_pair(netdev) ? ADP_PAIR_PORT_TYPE
                        : netdev_get_class(netdev) == &netdev_tap_class
                        ? ADP_MARK_PORT_SHOWN_TYPE : NULL);

    netdev_close(netdev);
    return (type ? type
            : is_wanted(name) ? ADP_PAIR_PORT_TYPE : ADP_MARK_PORT_SHOWN_TYPE);
}

static void
refuse(const char *name, int error)
{
    char *why = xasprintf("%s: the port is a tap, which no mark crosses",
                          ovs_strerror(error));

    VLOG_WARN("%s: Open_vSwitch: other_config:"KEY": %s", name, why);
    smap_add_nocopy(&refused, xstrdup(name), why);
}

int
__wrap_netdev_open(const char *name, const char *type, struct netdev **netdevp)
{
    if (!type || strcmp(type, ADP_MARK_PORT_SHOWN_TYPE)) {
        return __real_netdev_open(name, type, netdevp);
    }
    if (!strcmp(class_of(name), ADP_PAIR_PORT_TYPE)) {
        int error = __real_netdev_open(name, ADP_PAIR_PORT_TYPE, netdevp);

        if (!error) {
            return 0;
        }
        refuse(name, error);
    }
    adp_veth_pair_remove_left_over(name);
    return __real_netdev_open(name, type, netdevp);
}

const char *
__wrap_netdev_get_type(const struct netdev *netdev)
{
    return (adp_kernel_port_is_pair(netdev) ? ADP_MARK_PORT_SHOWN_TYPE
            : __real_netdev_get_type(netdev));
}

/* The bridge makes a port anew that can't be configured as it is. */
int
__wrap_netdev_set_config(struct netdev *netdev, const struct smap *args,
                         char **errp)
{
    const bool pair = adp_kernel_port_is_pair(netdev);
    const char *name = netdev_get_name(netdev);

    if (pair != is_wanted(name)
        && (pair || netdev_get_class(netdev) == &netdev_tap_class)) {
        VLOG_INFO("%s: is made anew, %s marks", name,
                  pair ? "without" : "with");
        return EAGAIN;
    }
    return __real_netdev_set_config(netdev, args, errp);
}
