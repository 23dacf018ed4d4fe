/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-ports.h"

#include "adp-bridge-private.h"
#include "adp-turn.h"
#include "dpif.h"
#include "netdev-vport.h"
#include "netdev.h"
#include "ofproto/ofproto-dpif-xlate.h"
#include "ovs-rcu.h"
#include "util.h"

/* From datapath port to bridge. */
struct input_map {
    uint64_t serial;
    size_t n;
    struct {
        ATOMIC(struct adp_bridge *) bridge; /* NULL: none of ours. */
        ofp_port_t ofp_port;
    } ports[];
};

static OVSRCU_TYPE(struct input_map *) input_map = OVSRCU_INITIALIZER(NULL);

/* Any bridge's backer: all bridges share it. */
static OVSRCU_TYPE(const struct dpif_backer *) backer
    = OVSRCU_INITIALIZER(NULL);

/* Flags of a port that stock translation looks at and decide() doesn't. */
static const uint32_t special_config
    = OFPUTIL_PC_NO_RECV | OFPUTIL_PC_NO_RECV_STP | OFPUTIL_PC_NO_FWD;

static const struct adp_ports *
bridge_ports(const struct adp_bridge *b)
{
    return ovsrcu_get(struct adp_ports *, &b->ports);
}

/* The datapath port of 'ofport' as it was when the bridge's ports were last
 * made, if by what upstream knows it still is, else ODPP_NONE. */
static odp_port_t
known_odp_port(const struct adp_bridge *b, const struct ofport *ofport)
{
    const struct adp_port *port = adp_ports_find(bridge_ports(b),
                                                 ofport->ofp_port);

    return (port && odp_port_to_ofport(b->dpif.backer, port->info.odp_port)
                    == ofp_port_to_ofport(&b->dpif, ofport->ofp_port)
            ? port->info.odp_port : ODPP_NONE);
}

/* Asks the datapath, which looks at each of its ports. */
static odp_port_t
query_odp_port(const struct adp_bridge *b, const struct netdev *netdev)
{
    char namebuf[NETDEV_VPORT_NAME_BUFSIZE];
    struct dpif_port dpif_port;

    const char *name = netdev_vport_get_dpif_port(netdev, namebuf,
                                                  sizeof namebuf);
    if (dpif_port_query_by_name(b->dpif.backer->dpif, name, &dpif_port)) {
        return ODPP_NONE;
    }
    dpif_port_destroy(&dpif_port);
    return dpif_port.port_no;
}

static void
port_init_plain(struct adp_port *port, const struct adp_bridge *b,
                const struct ofport *ofport)
{
    odp_port_t odp_port = known_odp_port(b, ofport);

    if (odp_port == ODPP_NONE) {
        odp_port = query_odp_port(b, ofport->netdev);
    }
    port->info.odp_port = odp_port;
    port->info.kind = (odp_port == ODPP_NONE ? ADP_PORT_ABSENT
                       : ADP_PORT_PLAIN);
}

static bool
netdev_has_ip(const struct netdev *netdev)
{
    struct in6_addr *addrs, *masks;
    int n = 0;

    if (netdev_get_addr_list(netdev, &addrs, &masks, &n)) {
        return false;
    }
    free(addrs);
    free(masks);
    return n > 0;
}

static struct adp_port *
port_create(const struct adp_bridge *b, const struct ofport *ofport)
{
    struct adp_port *port = xzalloc(sizeof *port);
    const struct netdev *netdev = ofport->netdev;

    port->ofp_port = ofport->ofp_port;
    atomic_init(&port->removed, false);
    port->live = ofport->may_enable
                 && !(ofport->pp.config & OFPUTIL_PC_PORT_DOWN)
                 && !(ofport->pp.state & OFPUTIL_PS_LINK_DOWN);
    port->no_packet_in = ofport->pp.config & OFPUTIL_PC_NO_PACKET_IN;
    port->info.odp_port = ODPP_NONE;
    if (netdev_vport_is_patch(netdev)) {
        port->info.kind = ADP_PORT_PUNT;
        port->info.punt = ADP_PUNT_PATCH;
    } else if (netdev_get_tunnel_config(netdev)) {
        const struct netdev_tunnel_config *cfg
            = netdev_get_tunnel_config(netdev);

        port->info.kind = ADP_PORT_TUNNEL;
        port->info.remote_by_flow = cfg->ip_dst_flow;
        port->tos_inherit = cfg->tos_inherit;
        port->ttl_inherit = cfg->ttl_inherit;
        port->layer3 = cfg->pt_mode == NETDEV_PT_LEGACY_L3;
        port->netdev = netdev_ref(netdev);
    } else if (netdev_get_pt_mode(netdev) != NETDEV_PT_LEGACY_L2) {
        port->info.kind = ADP_PORT_PUNT;
        port->info.punt = ADP_PUNT_PORT;
    } else {
        port_init_plain(port, b, ofport);
        port->has_ip = netdev_has_ip(netdev);
    }
    return port;
}

/* Main thread. */
static uint64_t last_serial;            /* Of any struct adp_ports. */
static bool map_is_old;                 /* A bridge's ports were made anew
                                         * since it was published. */

static atomic_uint64_t n_lost = ATOMIC_VAR_INIT(0);

static struct adp_ports *
ports_create(const struct adp_bridge *b)
{
    struct adp_ports *ports = xzalloc(sizeof *ports);
    const struct ofport *ofport;

    atomic_init(&ports->serial, ++last_serial);
    ports->controlled = b->dpif.is_controller_connected;
    hmap_init(&ports->ports);
    HMAP_FOR_EACH (ofport, hmap_node, &b->dpif.up.ports) {
        struct adp_port *port = port_create(b, ofport);

        hmap_insert(&ports->ports, &port->node, hash_ofp_port(port->ofp_port));
        if (ofport->pp.config & special_config) {
            ports->special = true;
        }
    }
    return ports;
}

void
adp_ports_rebuild(struct adp_bridge *b)
{
    struct adp_ports *old = ovsrcu_get_protected(struct adp_ports *,
                                                 &b->ports);

    ovsrcu_set(&b->ports, ports_create(b));
    if (old) {
        ovsrcu_postpone(adp_ports_destroy, old);
    }
    map_is_old = true;
}

void
adp_ports_destroy(struct adp_ports *ports)
{
    struct adp_port *port;

    if (ports) {
        HMAP_FOR_EACH_POP (port, node, &ports->ports) {
            netdev_close(port->netdev);
            free(port);
        }
        hmap_destroy(&ports->ports);
        free(ports);
    }
}

static bool
port_is_removed(const struct adp_port *port)
{
    bool removed;

    atomic_read_relaxed(&CONST_CAST(struct adp_port *, port)->removed,
                        &removed);
    return removed;
}

const struct adp_port *
adp_ports_find(const struct adp_ports *ports, ofp_port_t ofp_port)
{
    const struct adp_port *port;

    if (ports) {
        HMAP_FOR_EACH_IN_BUCKET (port, node, hash_ofp_port(ofp_port),
                                 &ports->ports) {
            if (port->ofp_port == ofp_port) {
                return port_is_removed(port) ? NULL : port;
            }
        }
    }
    return NULL;
}

static size_t
input_map_size(void)
{
    const struct adp_bridge *b;
    const struct adp_port *port;
    size_t n = 0;

    LIST_FOR_EACH (b, list_node, &adp_bridges) {
        HMAP_FOR_EACH (port, node, &bridge_ports(b)->ports) {
            if (port->info.kind == ADP_PORT_PLAIN) {
                n = MAX(n, odp_to_u32(port->info.odp_port) + 1);
            }
        }
    }
    return n;
}

void
adp_ports_publish(void)
{
    size_t n = input_map_size();
    struct input_map *map = xzalloc(sizeof *map + n * sizeof map->ports[0]);
    struct input_map *old = ovsrcu_get_protected(struct input_map *,
                                                 &input_map);
    const struct dpif_backer *any = NULL;
    const struct adp_port *port;
    struct adp_bridge *b;

    map->serial = old ? old->serial + 1 : 1;
    map->n = n;
    LIST_FOR_EACH (b, list_node, &adp_bridges) {
        any = b->dpif.backer;
        HMAP_FOR_EACH (port, node, &bridge_ports(b)->ports) {
            /* What changed may be another bridge's. */
            if (port->info.kind == ADP_PORT_PLAIN && !port_is_removed(port)) {
                size_t i = odp_to_u32(port->info.odp_port);

                atomic_init(&map->ports[i].bridge, b);
                map->ports[i].ofp_port = port->ofp_port;
            }
        }
    }
    ovsrcu_set(&backer, any);
    ovsrcu_set(&input_map, map);
    if (old) {
        ovsrcu_postpone(free, old);
    }
    map_is_old = false;
}

void
adp_ports_publish_changes(void)
{
    if (map_is_old) {
        enum adp_turn_section outer = adp_turn_enter(ADP_TURN_PORTS);

        adp_ports_publish();
        adp_turn_leave(outer);
    }
}

uint64_t
adp_ports_n_lost(void)
{
    uint64_t n;

    atomic_read_explicit(&n_lost, &n, memory_order_acquire);
    return n;
}

static void
count_lost(void)
{
    atomic_store_explicit(&n_lost, adp_ports_n_lost() + 1,
                          memory_order_release);
}

void
adp_ports_remove(struct adp_bridge *b, ofp_port_t ofp_port)
{
    struct adp_ports *ports = ovsrcu_get_protected(struct adp_ports *,
                                                   &b->ports);
    struct input_map *map = ovsrcu_get_protected(struct input_map *,
                                                 &input_map);
    struct adp_port *port = CONST_CAST(struct adp_port *,
                                       adp_ports_find(ports, ofp_port));
    struct adp_bridge *owner;

    if (!port) {
        return;                         /* It wasn't published. */
    }
    atomic_store_relaxed(&port->removed, true);
    atomic_store_explicit(&ports->serial, ++last_serial,
                          memory_order_release);
    count_lost();

    uint32_t i = odp_to_u32(port->info.odp_port);
    if (port->info.kind == ADP_PORT_PLAIN && map && i < map->n) {
        atomic_read_relaxed(&map->ports[i].bridge, &owner);
        if (owner == b && map->ports[i].ofp_port == ofp_port) {
            atomic_store_relaxed(&map->ports[i].bridge, NULL);
        }
    }
}

uint64_t
adp_ports_map_serial(void)
{
    const struct input_map *map = ovsrcu_get(struct input_map *, &input_map);

    return map ? map->serial : 0;
}

bool
adp_ports_any_bridge(void)
{
    return ovsrcu_get(const struct dpif_backer *, &backer) != NULL;
}

struct adp_bridge *
adp_ports_input(odp_port_t odp_port, ofp_port_t *ofp_port)
{
    struct input_map *map = ovsrcu_get(struct input_map *, &input_map);
    uint32_t i = odp_to_u32(odp_port);
    struct adp_bridge *b;

    if (!map || i >= map->n) {
        return NULL;
    }
    atomic_read_relaxed(&map->ports[i].bridge, &b);
    if (b) {
        *ofp_port = map->ports[i].ofp_port;
    }
    return b;
}

struct adp_bridge *
adp_ports_input_tunnel(const struct flow *flow, ofp_port_t *ofp_port)
{
    const struct dpif_backer *any = ovsrcu_get(const struct dpif_backer *,
                                               &backer);
    struct ofproto_dpif *ofproto;

    if (!any || xlate_lookup(any, flow, &ofproto, NULL, NULL, NULL, ofp_port,
                             NULL)) {
        return NULL;
    }

    struct adp_bridge *b = adp_bridge_cast(&ofproto->up);
    bool stopped = false;
    if (b) {
        atomic_read_relaxed(&b->own->stopped, &stopped);
    }
    return stopped ? NULL : b;
}
