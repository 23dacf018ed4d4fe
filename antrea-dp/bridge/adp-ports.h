/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PORTS_H
#define ADP_PORTS_H 1

/* Ports, as packet threads need them.
 *
 * A struct adp_ports holds the ports of one bridge, by OpenFlow port number; a
 * global map leads from a datapath port to its bridge.  Both are made by the
 * main thread whenever a port changed, the map once a turn; they are published
 * with OVSRCU, and immutable but for what adp_ports_remove() does.  Until the
 * map has a new port, its packets go stock's way.
 *
 * All tunnel ports of one kind share a datapath port; adp_ports_input_tunnel()
 * finds the OpenFlow port of a decapsulated packet as upstream does.
 */

#include "adp-decide.h"
#include "openvswitch/hmap.h"
#include "ovs-atomic.h"

struct adp_bridge;
struct netdev;

struct adp_port {
    struct hmap_node node;              /* In adp_ports, by 'ofp_port'. */
    ofp_port_t ofp_port;
    struct adp_port_info info;
    atomic_bool removed;                /* Since it was published. */
    bool live;
    bool has_ip;                        /* May end a tunnel. */
    bool no_packet_in;                  /* Controllers don't hear of misses. */
    bool tos_inherit, ttl_inherit;      /* A tunnel's outer header takes these
                                         * from the packet. */
    bool layer3;                        /* A tunnel without inner Ethernet
                                         * headers. */
    /* Owned reference, of tunnel ports alone: a device would stay open
     * until the grace period is over. */
    struct netdev *netdev;
};

struct adp_ports {
    atomic_uint64_t serial;             /* Of no other struct adp_ports, nor
                                         * of this one before it lost a
                                         * port. */
    struct hmap ports;
    bool special;                       /* A port has NO_RECV, NO_FWD, ... */
    bool controlled;                    /* A controller is connected: as a
                                         * port that buckets watch it lives. */
};

/* Makes the bridge's ports anew.  Linear in these. */
void adp_ports_rebuild(struct adp_bridge *);
void adp_ports_destroy(struct adp_ports *);
/* NULL if there is no such port. */
const struct adp_port *adp_ports_find(const struct adp_ports *, ofp_port_t);

/* Who looks at the ports after this misses all that it had lost by then. */
static inline uint64_t
adp_ports_serial(const struct adp_ports *ports)
{
    uint64_t serial;

    atomic_read_explicit(&CONST_CAST(struct adp_ports *, ports)->serial,
                         &serial, memory_order_acquire);
    return serial;
}

/* The bridge has lost the port.  Takes it out of what is published: before
 * that is made anew, the datapath port's number may be another port's. */
void adp_ports_remove(struct adp_bridge *, ofp_port_t);

/* How many ports bridges have lost.  What was decided on after this was read
 * goes, as long as it stays, to no port that has another's number. */
uint64_t adp_ports_n_lost(void);

/* Makes the global map anew from the bridges' ports: now, or at a turn's end
 * if a bridge's were made anew. */
void adp_ports_publish(void);
void adp_ports_publish_changes(void);

/* Changes whenever the map is published. */
uint64_t adp_ports_map_serial(void);

/* Any RCU reader.  Without any bridge no packet is for one. */
bool adp_ports_any_bridge(void);
struct adp_bridge *adp_ports_input(odp_port_t, ofp_port_t *);
struct adp_bridge *adp_ports_input_tunnel(const struct flow *, ofp_port_t *);

#endif /* adp-ports.h */
