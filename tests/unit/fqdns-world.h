/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_FQDNS_WORLD_H
#define TESTS_FQDNS_WORLD_H 1

/* For tests of DNS answers that are held: a bridge with a queue of them, those
 * that come, what goes on, and the main thread's turns (own-records.h).
 *
 * For programs linked with --wrap of dpif_execute and what own-records.h says.
 */

#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "adp-fqdns.h"
#include "adp-held.h"
#include "adp-ports.h"
#include "conntrack-peek.h"
#include "dp-packet.h"
#include "dpif.h"
#include "flow.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "own-records.h"
#include "packets.h"
#include "sset.h"
#include "util.h"

__typeof__(dpif_execute) __wrap_dpif_execute;

static struct adp_bridge *b;
static struct dpif_backer backer;
static struct adp_fqdns *fqdns;

/* What went on: the actions of the packets, in their order. */
static unsigned int passed[4096];
static size_t n_passed;

int
__wrap_dpif_execute(struct dpif *dpif OVS_UNUSED, struct dpif_execute *e)
{
    ck_assert_uint_eq(e->actions_len, sizeof(unsigned int));
    ck_assert(conntrack_bypasses_fragments());
    memcpy(&passed[n_passed++], e->actions, sizeof(unsigned int));
    return 0;
}

/* Ports that bridges have lost. */
static uint64_t ports_lost;

uint64_t
adp_ports_n_lost(void)
{
    return ports_lost;
}

/* The names in use, NULL: none. */
static uint64_t fqdns_seq;
static const char *fqdn;

uint64_t
adp_state_fqdns_seq(const struct adp_state *s OVS_UNUSED)
{
    return fqdns_seq;
}

void
adp_state_get_fqdns(const struct adp_state *s OVS_UNUSED, struct sset *names)
{
    sset_init(names);
    if (fqdn) {
        sset_from_delimited_string(names, fqdn, " ");
    }
}

static ovs_be32 client;             /* Whom packets go to. */

static void
setup(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_ERR);
    calls_init();
    calls.later = true;
    n_passed = 0;
    client = 0;
    fqdns_seq = 0;
    fqdn = "*.example.com";
    b = xzalloc(sizeof *b);
    b->dpif.backer = &backer;
    b->held = adp_held_queue_create();
    fqdns = adp_fqdns_create(b);
    adp_fqdns_set_min_ttl(fqdns, 1);
}

static void
teardown(void)
{
    adp_fqdns_destroy(fqdns);
    adp_held_queue_destroy(b->held);
    calls_uninit();
    free(b);
}

/* An answer: 'name', of one label of one letter under example.com or .net, has
 * 10.0.0.'host' for 'ttl' seconds. */
enum { MSG_LEN = 47 };

static void
put_answer(uint8_t msg[MSG_LEN], char name, const char *zone, uint8_t host,
           uint8_t ttl)
{
    const uint8_t bytes[] = {
        0, 1, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0,
        1, name, 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e',
        3, zone[0], zone[1], zone[2], 0, 0, 1, 0, 1,
        0xc0, 12, 0, 1, 0, 1, 0, 0, 0, ttl, 0, 4, 10, 0, 0, host,
    };

    BUILD_ASSERT_DECL(sizeof bytes == MSG_LEN);
    memcpy(msg, bytes, MSG_LEN);
}

static struct dp_packet *
compose(uint8_t nw_proto, const void *payload, size_t len, struct flow *flow)
{
    struct dp_packet *p = dp_packet_new(0);

    memset(flow, 0, sizeof *flow);
    flow->dl_type = htons(ETH_TYPE_IP);
    flow->nw_proto = nw_proto;
    flow->nw_ttl = 64;
    flow->nw_dst = client;
    flow->tp_src = htons(53);
    flow_compose(p, flow, payload, len);
    return p;
}

/* A packet comes; 'number' are its actions. */
static void
come_packet(unsigned int number, uint8_t nw_proto, const void *payload,
            size_t len)
{
    struct ofpbuf actions;
    struct flow flow;
    struct dp_packet *p = compose(nw_proto, payload, len, &flow);

    ofpbuf_use_const(&actions, &number, sizeof number);
    ck_assert(adp_held_wants(p, &flow));
    adp_held_add(b, p, &flow, &actions, ports_lost);
}

/* A datagram with an answer. */
static void
come(unsigned int number, char name, const char *zone, uint8_t host,
     uint8_t ttl)
{
    uint8_t msg[MSG_LEN];

    put_answer(msg, name, zone, host, ttl);
    come_packet(number, IPPROTO_UDP, msg, MSG_LEN);
}

static struct adp_state *run_with; /* In the last turn. */

static void
run(void)
{
    run_with = a_state;
    adp_fqdns_run(fqdns, a_state);
}

static void
run_without_state(void)
{
    run_with = NULL;
    adp_fqdns_run(fqdns, NULL);
}

static long long int
stat_of(const char *name)
{
    return take_count(adp_fqdns_stats(fqdns), name);
}

static long long int
next_wake(void)
{
    wakes = LLONG_MAX;
    adp_fqdns_wait(fqdns, run_with);
    return wakes;
}

static size_t
n_of(const struct json *list)
{
    return json_array(list)->n;
}

#endif /* fqdns-world.h */
