/* SPDX-License-Identifier: Apache-2.0 */

/* What packet threads know of ports, from when a port leaves its bridge until
 * the ports are published anew: by then the number that it had in the datapath
 * may be another port's.  And what it takes to make them anew. */

#include <config.h>
#include <check.h>

#include "adp-bridge-shared.h"
#include "adp-ports.h"
#include "adp-turn.h"
#include "dpif.h"
#include "dummy.h"
#include "netdev.h"
#include "ofproto/ofproto-dpif-xlate.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "test-run.h"
#include "util.h"

enum { N_BRIDGES = 2 };

struct ofproto_class adp_ofproto_class;
struct ovs_list adp_bridges = OVS_LIST_INITIALIZER(&adp_bridges);

static struct dpif *dpif;
static struct dpif_backer backer;
static struct adp_bridge *bridges[N_BRIDGES];

int
xlate_lookup(const struct dpif_backer *b OVS_UNUSED,
             const struct flow *flow OVS_UNUSED,
             struct ofproto_dpif **ofprotop OVS_UNUSED,
             struct dpif_ipfix **ipfix OVS_UNUSED,
             struct dpif_sflow **sflow OVS_UNUSED,
             struct netflow **netflow OVS_UNUSED,
             ofp_port_t *ofp_in_port OVS_UNUSED,
             char **errorp OVS_UNUSED)
{
    return ENODEV;
}

enum adp_turn_section
adp_turn_enter(enum adp_turn_section section)
{
    return section;
}

void
adp_turn_leave(enum adp_turn_section outer OVS_UNUSED)
{
}

/* A port, as upstream knows it. */
struct bridge_port {
    struct ofport up;
    odp_port_t odp_port;
};

static struct bridge_port *
port_cast(const struct ofport *ofport)
{
    return CONTAINER_OF(ofport, struct bridge_port, up);
}

struct ofport_dpif *
odp_port_to_ofport(const struct dpif_backer *b, odp_port_t odp_port)
{
    ck_assert_ptr_eq(b, &backer);
    for (int i = 0; i < N_BRIDGES; i++) {
        const struct ofport *ofport;

        HMAP_FOR_EACH (ofport, hmap_node, &bridges[i]->dpif.up.ports) {
            if (port_cast(ofport)->odp_port == odp_port) {
                return (struct ofport_dpif *) ofport;
            }
        }
    }
    return NULL;
}

struct ofport_dpif *
ofp_port_to_ofport(const struct ofproto_dpif *ofproto, ofp_port_t ofp_port)
{
    const struct ofport *ofport;

    HMAP_FOR_EACH (ofport, hmap_node, &ofproto->up.ports) {
        if (ofport->ofp_port == ofp_port) {
            return (struct ofport_dpif *) ofport;
        }
    }
    return NULL;
}

/* What the linker calls instead of upstream's library. */
__typeof__(dpif_port_query_by_name) __real_dpif_port_query_by_name;
__typeof__(dpif_port_query_by_name) __wrap_dpif_port_query_by_name;

static int n_queries;

int
__wrap_dpif_port_query_by_name(const struct dpif *d, const char *name,
                               struct dpif_port *port)
{
    n_queries++;
    return __real_dpif_port_query_by_name(d, name, port);
}

/* Publishes the ports of bridge 'i' as they are. */
static void
rebuild(int i)
{
    adp_ports_rebuild(bridges[i]);
    adp_ports_publish_changes();
}

static void
setup(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    dummy_enable("");
    ck_assert_int_eq(dpif_create("ports", "dummy", &dpif), 0);
    backer.dpif = dpif;
    for (int i = 0; i < N_BRIDGES; i++) {
        struct adp_bridge *b = bridges[i] = xzalloc(sizeof *b);

        b->dpif.up.ofproto_class = &adp_ofproto_class;
        b->dpif.backer = &backer;
        hmap_init(&b->dpif.up.ports);
        ovsrcu_init(&b->ports, NULL);
        adp_ports_rebuild(b);
        ovs_list_push_back(&adp_bridges, &b->list_node);
    }
    n_queries = 0;
}

/* Bridge 'i' gets a port.  Returns its number in the datapath. */
static odp_port_t
add_port(int i, const char *name, uint16_t ofp_port)
{
    struct bridge_port *port = xzalloc(sizeof *port);

    port->odp_port = ODPP_NONE;
    ck_assert_int_eq(netdev_open(name, "dummy", &port->up.netdev), 0);
    ck_assert_int_eq(dpif_port_add(dpif, port->up.netdev, &port->odp_port),
                     0);
    port->up.ofp_port = u16_to_ofp(ofp_port);
    hmap_insert(&bridges[i]->dpif.up.ports, &port->up.hmap_node,
                hash_ofp_port(port->up.ofp_port));
    return port->odp_port;
}

static struct ofport *
bridge_port(int i, uint16_t ofp_port)
{
    struct ofport *ofport;

    HMAP_FOR_EACH (ofport, hmap_node, &bridges[i]->dpif.up.ports) {
        if (ofport->ofp_port == u16_to_ofp(ofp_port)) {
            return ofport;
        }
    }
    ck_abort_msg("bridge %d has no port %"PRIu16, i, ofp_port);
    return NULL;
}

/* It loses one. */
static void
remove_port(int i, uint16_t ofp_port, odp_port_t odp_port)
{
    struct ofport *ofport = bridge_port(i, ofp_port);

    ck_assert_int_eq(dpif_port_del(dpif, odp_port, false), 0);
    hmap_remove(&bridges[i]->dpif.up.ports, &ofport->hmap_node);
    netdev_close(ofport->netdev);
    adp_ports_remove(bridges[i], ofport->ofp_port);
    free(port_cast(ofport));
}

static void
teardown(void)
{
    for (int i = 0; i < N_BRIDGES; i++) {
        struct ofport *ofport;

        HMAP_FOR_EACH_POP (ofport, hmap_node, &bridges[i]->dpif.up.ports) {
            netdev_close(ofport->netdev);
            free(port_cast(ofport));
        }
        hmap_destroy(&bridges[i]->dpif.up.ports);
        adp_ports_destroy(ovsrcu_get_protected(struct adp_ports *,
                                               &bridges[i]->ports));
        free(bridges[i]);
    }
    ovs_list_init(&adp_bridges);
    dpif_delete(dpif);
    dpif_close(dpif);
    ovsrcu_barrier();
}

static const struct adp_ports *
ports_of(int i)
{
    return ovsrcu_get(struct adp_ports *, &bridges[i]->ports);
}

static const struct adp_port *
find(int i, uint16_t ofp_port)
{
    return adp_ports_find(ports_of(i), u16_to_ofp(ofp_port));
}

/* Packets from 'odp_port' are for bridge 'i', as if from 'ofp_port'. */
static void
check_input(odp_port_t odp_port, int i, uint16_t ofp_port)
{
    ofp_port_t in_port;

    ck_assert_ptr_eq(adp_ports_input(odp_port, &in_port), bridges[i]);
    ck_assert_uint_eq(ofp_to_u16(in_port), ofp_port);
}

/* They are for none. */
static void
check_no_input(odp_port_t odp_port)
{
    ofp_port_t in_port;

    ck_assert_ptr_null(adp_ports_input(odp_port, &in_port));
}

/* A port leaves bridge 0, and its number is at once that of a new one of
 * bridge '_i'.  Then one of the two bridges is looked at, and the other. */
START_TEST(number_again)
{
    odp_port_t stays = add_port(0, "stays", 1);
    odp_port_t leaves = add_port(0, "leaves", 2);

    rebuild(0);
    check_input(stays, 0, 1);
    check_input(leaves, 0, 2);
    uint64_t serial = adp_ports_serial(ports_of(0));
    uint64_t lost = adp_ports_n_lost();

    remove_port(0, 2, leaves);
    ck_assert_uint_eq(adp_ports_n_lost(), lost + 1);
    odp_port_t comes = add_port(_i, "comes", 3);
    ck_assert_uint_eq(odp_to_u32(comes), odp_to_u32(leaves));

    check_no_input(comes);
    check_input(stays, 0, 1);
    ck_assert_ptr_null(find(0, 2));
    ck_assert_ptr_nonnull(find(0, 1));
    /* Whoever has decided on the port that left decides anew. */
    ck_assert_uint_ne(adp_ports_serial(ports_of(0)), serial);

    rebuild(1);
    if (_i == 1) {
        check_input(comes, 1, 3);
    } else {
        check_no_input(comes);
    }
    ck_assert_ptr_null(find(0, 2));
    rebuild(0);
    check_input(comes, _i, 3);
    check_input(stays, 0, 1);
    ck_assert_uint_eq(adp_ports_n_lost(), lost + 1);
}
END_TEST

/* A port that leaves before it was published, and one that the bridge hasn't:
 * nothing changes. */
START_TEST(unpublished)
{
    odp_port_t stays = add_port(0, "stays", 1);

    rebuild(0);
    uint64_t serial = adp_ports_serial(ports_of(0));
    uint64_t lost = adp_ports_n_lost();
    remove_port(0, 2, add_port(0, "brief", 2));
    adp_ports_remove(bridges[1], u16_to_ofp(1));
    ck_assert_uint_eq(adp_ports_serial(ports_of(0)), serial);
    ck_assert_uint_eq(adp_ports_n_lost(), lost);
    check_input(stays, 0, 1);
}
END_TEST

/* Only of ports that are new the datapath is asked, which looks for each of
 * them among all that it has. */
START_TEST(known_numbers)
{
    odp_port_t first = add_port(0, "first", 1);
    odp_port_t second = add_port(0, "second", 2);

    rebuild(0);
    ck_assert_int_eq(n_queries, 2);
    odp_port_t third = add_port(0, "third", 3);
    rebuild(0);
    ck_assert_int_eq(n_queries, 3);
    rebuild(0);
    ck_assert_int_eq(n_queries, 3);
    check_input(first, 0, 1);
    check_input(second, 0, 2);
    check_input(third, 0, 3);
}
END_TEST

/* The datapath has given a port another number, and upstream knows. */
START_TEST(another_number)
{
    odp_port_t stays = add_port(0, "stays", 1);
    odp_port_t old = add_port(0, "moves", 2);
    odp_port_t new = u32_to_odp(odp_to_u32(old) + 1);
    struct ofport *ofport = bridge_port(0, 2);

    rebuild(0);
    check_input(old, 0, 2);
    ck_assert_int_eq(dpif_port_del(dpif, old, false), 0);
    ck_assert_int_eq(dpif_port_add(dpif, ofport->netdev, &new), 0);
    ck_assert_uint_ne(odp_to_u32(new), odp_to_u32(old));
    port_cast(ofport)->odp_port = new;
    rebuild(0);
    check_no_input(old);
    check_input(new, 0, 2);
    check_input(stays, 0, 1);
    ck_assert_int_eq(n_queries, 3);
}
END_TEST

/* All that changes in a turn is published at its end, at once. */
START_TEST(published_once)
{
    odp_port_t first = add_port(0, "first", 1);
    odp_port_t second = add_port(1, "second", 1);

    rebuild(0);
    uint64_t serial = adp_ports_map_serial();
    adp_ports_rebuild(bridges[0]);
    adp_ports_rebuild(bridges[1]);
    ck_assert_uint_eq(adp_ports_map_serial(), serial);
    check_no_input(second);
    adp_ports_publish_changes();
    ck_assert_uint_eq(adp_ports_map_serial(), serial + 1);
    check_input(first, 0, 1);
    check_input(second, 1, 1);
    adp_ports_publish_changes();
    ck_assert_uint_eq(adp_ports_map_serial(), serial + 1);
}
END_TEST

/* The last bridge goes. */
START_TEST(no_bridges)
{
    ck_assert(!adp_ports_any_bridge());
    rebuild(0);
    ck_assert(adp_ports_any_bridge());
    ovs_list_init(&adp_bridges);
    adp_ports_publish();
    ck_assert(!adp_ports_any_bridge());
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("ports");
    TCase *tc = tcase_create("ports");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, number_again, 0, N_BRIDGES);
    tcase_add_test(tc, unpublished);
    tcase_add_test(tc, known_numbers);
    tcase_add_test(tc, another_number);
    tcase_add_test(tc, published_once);
    tcase_add_test(tc, no_bridges);
    suite_add_tcase(s, tc);
    return test_run(s);
}
