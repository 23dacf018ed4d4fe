/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-show-memory.h"

#include <stdio.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge-shared.h"
#include "adp-flow-cache.h"
#include "adp-learn.h"
#include "adp-program.h"
#include "adp-show.h"
#include "adp-state.h"
#include "adp-tunnel.h"
#include "conntrack-pool.h"
#include "conntrack.h"
#include "dp-hooks.h"
#include "openvswitch/json.h"
#include "simap.h"
#include "util.h"

/* X(MEMBER, UNIT, FULL_NAME, NAME): what is FULL_NAME in "stats", and NAME, in
 * units of UNIT, in memory/show. */
#define MEMORY_OF_BRIDGE                                                \
    X(compiled_flows, 1, "compiled_flows", "compiled-flows")            \
    X(program_bytes, 1024, "program_bytes", "program-kB")               \
    X(records, 1, "records", "records")                                 \
    X(learned_flows, 1, "learned_flows", "learned-flows")               \
    X(tunnel_ways, 1, "tunnel_ways", "tunnel-ways")

#define MEMORY_OF_DAEMON                                                \
    X(connections, 1, "connections", "connections")                     \
    X(connection_bytes, 1024, "connection_bytes", "connection-kB")      \
    X(sessions, 1, "sessions", "sessions")                              \
    X(session_bytes, 1024, "session_bytes", "session-kB")               \
    X(verdicts, 1, "verdicts", "verdicts")                              \
    X(verdict_bytes, 1024, "verdict_bytes", "verdict-kB")               \
    X(cached_walks, 1, "cached_walks", "cached-walks")

struct bridge_memory {
#define X(MEMBER, UNIT, FULL_NAME, NAME) uint64_t MEMBER;
    MEMORY_OF_BRIDGE
#undef X
};

struct daemon_memory {
#define X(MEMBER, UNIT, FULL_NAME, NAME) uint64_t MEMBER;
    MEMORY_OF_DAEMON
#undef X
};

static struct bridge_memory
memory_of_bridge(const struct adp_bridge *b)
{
    const struct adp_program *program = ovsrcu_get(struct adp_program *,
                                                   &b->program);
    const struct adp_state *state = adp_bridge_state(b);
    struct adp_learn_counts learned;
    struct adp_tunnels_counts tunnels;

    adp_learn_table_get_counts(b->learn, &learned);
    adp_tunnels_get_counts(b->tunnels, &tunnels);
    return (struct bridge_memory) {
        .compiled_flows = adp_show_n_flows(b),
        .program_bytes = adp_program_size(program),
        .records = state ? adp_state_n_records(state) : 0,
        .learned_flows = learned.total,
        .tunnel_ways = tunnels.n,
    };
}

static struct daemon_memory
memory_of_daemon(struct conntrack *ct)
{
    struct adp_flow_cache_stats cache;
    uint32_t n_conns;

    conntrack_get_nconns(ct, &n_conns);
    adp_flow_cache_stats_get(&cache);
    return (struct daemon_memory) {
        .connections = n_conns,
        .connection_bytes = conntrack_pool_bytes(),
        .sessions = cache.n_sessions,
        .session_bytes = cache.n_bytes,
        .verdicts = cache.verdicts.n_verdicts,
        .verdict_bytes = cache.verdicts.n_bytes,
        .cached_walks = cache.n_walks,
    };
}

/* Memory that the daemon has now, 0 if that isn't known. */
static uint64_t
resident_bytes(void)
{
    FILE *stream = fopen("/proc/self/statm", "r");
    unsigned long long int pages = 0;

    if (stream) {
        if (fscanf(stream, "%*u %llu", &pages) != 1) {
            pages = 0;
        }
        fclose(stream);
    }
    return pages * get_page_size();
}

static void
put(struct json *o, const char *name, uint64_t value)
{
    json_object_put(o, name, json_integer_create(value));
}

struct json *
adp_show_memory(const struct adp_bridge *b)
{
    struct daemon_memory shared
        = memory_of_daemon(dp_dpif_conntrack(b->dpif.backer->dpif));
    struct bridge_memory own = memory_of_bridge(b);
    struct json *o = json_object_create();

    put(o, "resident_bytes", resident_bytes());
#define X(MEMBER, UNIT, FULL_NAME, NAME) put(o, FULL_NAME, shared.MEMBER);
    MEMORY_OF_DAEMON
#undef X
#define X(MEMBER, UNIT, FULL_NAME, NAME) put(o, FULL_NAME, own.MEMBER);
    MEMORY_OF_BRIDGE
#undef X
    return o;
}

static void
add(struct simap *usage, const char *name, uint64_t value)
{
    simap_increase(usage, name, MIN(value, UINT32_MAX));
}

void
adp_show_memory_of_bridge(const struct adp_bridge *b, struct simap *usage)
{
    struct bridge_memory memory = memory_of_bridge(b);

#define X(MEMBER, UNIT, FULL_NAME, NAME)                                \
    add(usage, NAME, memory.MEMBER / UNIT);
    MEMORY_OF_BRIDGE
#undef X
}

void
adp_show_memory_of_daemon(struct conntrack *ct, struct simap *usage)
{
    struct daemon_memory memory = memory_of_daemon(ct);

#define X(MEMBER, UNIT, FULL_NAME, NAME)                                \
    add(usage, NAME, memory.MEMBER / UNIT);
    MEMORY_OF_DAEMON
#undef X
}
