/* SPDX-License-Identifier: Apache-2.0 */

/* The names of Pods that the log keeps: how many there are, and that they go
 * with what they are of. */

#include <config.h>
#include <check.h>
#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge-shared.h"
#include "adp-bridge.h"
#include "adp-log-ring.h"
#include "adp-ports.h"
#include "adp-show-log.h"
#include "adp-state.h"
#include "model-records.h"
#include "openvswitch/json.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "test-run.h"
#include "turn-slices.h"
#include "util.h"

enum { N_BRIDGES = 2 };

/* Without the bridges' world.  Both have the same two Pods. */

static struct adp_bridge bridges[N_BRIDGES];
static bool is_there[N_BRIDGES];
static bool has_state[N_BRIDGES];
static uint64_t generation;
static int a_state;

struct adp_bridge *
adp_bridge_of_serial(uint32_t serial)
{
    return is_there[serial] ? &bridges[serial] : NULL;
}

const char *
adp_bridge_name(const struct adp_bridge *b OVS_UNUSED)
{
    return "br-int";
}

const struct ofputil_port_map *
adp_bridge_port_map(struct adp_bridge *b OVS_UNUSED)
{
    static const struct ofputil_port_map ports
        = OFPUTIL_PORT_MAP_INITIALIZER(&ports);

    return &ports;
}

struct adp_state *
adp_bridge_state(const struct adp_bridge *b)
{
    return (has_state[b->serial] ? (struct adp_state *) (void *) &a_state
            : NULL);
}

const char *
adp_bridge_pipeline_table_name(uint8_t id OVS_UNUSED, void *b OVS_UNUSED)
{
    return NULL;
}

struct adp_bridge *
adp_ports_input(odp_port_t odp_port OVS_UNUSED,
                ofp_port_t *ofp_port OVS_UNUSED)
{
    return NULL;
}

uint64_t
adp_state_generation(const struct adp_state *state OVS_UNUSED)
{
    return generation;
}

bool
adp_state_find_rule(const struct adp_state *state OVS_UNUSED,
                    uint32_t conj_id OVS_UNUSED,
                    const struct adp_network_policy **policy OVS_UNUSED,
                    const struct adp_network_policy_rule **rule OVS_UNUSED)
{
    return false;
}

const struct adp_record **
adp_state_sorted(const struct adp_state *state OVS_UNUSED, enum adp_kind kind,
                 size_t *n)
{
    static char names[][4] = { "d/a", "d/b" };
    static struct in6_addr ips[3];
    static const struct adp_pod pods[] = {
        { .up.name = names[0], .ips = { .ips = &ips[0], .n = 1 } },
        { .up.name = names[1], .ips = { .ips = &ips[1], .n = 2 } },
    };
    const struct adp_record **records = xmalloc(2 * sizeof *records);

    ck_assert_int_eq(kind, ADP_KIND_POD);
    for (int i = 0; i < ARRAY_SIZE(ips); i++) {
        in6_addr_set_mapped_ipv4(&ips[i], htonl(0x0a0a0001 + i));
    }
    records[0] = &pods[0].up;
    records[1] = &pods[1].up;
    *n = 2;
    return records;
}

/* Tests. */

static struct adp_log_ring *ring;

static void
setup(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    slice_size = 100;
    for (int i = 0; i < N_BRIDGES; i++) {
        bridges[i].serial = i;
        is_there[i] = has_state[i] = true;
    }
    adp_log_rings_init();
    adp_show_log_init();
    adp_show_log_configure("none", 1, 1);
    ring = adp_log_ring_create();
}

static void
teardown(void)
{
    adp_log_ring_close(ring);
    adp_show_log_run();
    adp_show_log_exit();
}

/* Logs a packet to the Pod 'd/b'. */
static void
log_packet(uint32_t bridge)
{
    struct adp_log_record r = {
        .time_us = 1,
        .bridge = bridge,
        .item = { .ingress = true, .disposition = ADP_LOG_ALLOW },
        .out_port = ODPP_NONE,
    };

    in6_addr_set_mapped_ipv4(&r.src, htonl(0x0a0a0009));
    in6_addr_set_mapped_ipv4(&r.dst, htonl(0x0a0a0003));
    ck_assert(adp_log_ring_put(ring, &r));
    adp_show_log_run();
}

static long long int
n_names(void)
{
    struct json *stats = adp_show_log_stats();
    long long int n = json_integer(shash_find_data(json_object(stats),
                                                   "pods"));

    json_destroy(stats);
    return n;
}

START_TEST(names_are_found)
{
    log_packet(0);

    struct json *answer = adp_show_log_lines(NULL, 0, 10);
    char *text = json_to_string(answer, 0);
    ck_assert_msg(strstr(text, "d/b") != NULL, "%s", text);
    free(text);
    json_destroy(answer);
}
END_TEST

/* One for each address of a Pod, of each bridge that logs, and of one state at
 * a time. */
START_TEST(names_are_counted)
{
    ck_assert_int_eq(n_names(), 0);
    log_packet(0);
    ck_assert_int_eq(n_names(), 3);
    generation++;
    log_packet(0);
    ck_assert_int_eq(n_names(), 3);
    log_packet(1);
    ck_assert_int_eq(n_names(), 6);
}
END_TEST

/* With the next turn, in which nobody logs anything. */
START_TEST(names_go)
{
    log_packet(0);
    log_packet(1);
    is_there[0] = false;
    adp_show_log_run();
    ck_assert_int_eq(n_names(), 3);
    has_state[1] = false;
    adp_show_log_run();
    ck_assert_int_eq(n_names(), 0);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("show-log");
    TCase *tc = tcase_create("show-log");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, names_are_found);
    tcase_add_test(tc, names_are_counted);
    tcase_add_test(tc, names_go);
    suite_add_tcase(s, tc);
    return test_run(s);
}
