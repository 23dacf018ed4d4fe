/* SPDX-License-Identifier: Apache-2.0 */

/* Where tunnels end: not at ports of bridges with a built-in pipeline.
 *
 * Upstream takes the headers off whatever is sent to a port whose device has
 * the packet's address, and a route, on any bridge.  A Pod that sends a
 * tunnel's packet to its gateway would so have what is inside come out of the
 * tunnel, where nobody asks whether its sender is who he says.  Tunnels go
 * through an underlay's bridge; addresses of devices on these bridges are none
 * of theirs.  So upstream isn't told of them (--wrap, in automake.mk):
 * __wrap_F() is called for F(), __real_F() is upstream's.
 */

#include <config.h>
#include "adp-tunnel-ends.h"

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-bridge-shared.h"
#include "openvswitch/shash.h"
#include "tnl-ports.h"

void __real_tnl_port_map_insert_ipdev(const char *name);
void __wrap_tnl_port_map_insert_ipdev(const char *name);

static bool
is_inside(const char *name)
{
    const struct adp_bridge *b;

    LIST_FOR_EACH (b, list_node, &adp_bridges) {
        if (adp_bridge_pipeline(b)
            && shash_find(&b->dpif.up.port_by_name, name)) {
            return true;
        }
    }
    return false;
}

void
__wrap_tnl_port_map_insert_ipdev(const char *name)
{
    if (!is_inside(name)) {
        __real_tnl_port_map_insert_ipdev(name);
    }
}

void
adp_tunnel_ends_run(struct adp_bridge *b)
{
    bool inside = adp_bridge_pipeline(b) != NULL;
    bool was_inside = b->tunnel_ends & 1;
    uint64_t now = adp_bridge_ports_seq(b) << 1 | inside;
    const struct shash_node *node;

    if (now == b->tunnel_ends) {
        return;
    }
    b->tunnel_ends = now;
    SHASH_FOR_EACH (node, &b->dpif.up.port_by_name) {
        if (inside) {
            tnl_port_map_delete_ipdev(node->name);
        } else if (was_inside) {
            __real_tnl_port_map_insert_ipdev(node->name);
        }
    }
}
