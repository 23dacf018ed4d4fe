/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-stats.h"

#include <stdlib.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-push-stats.h"
#include "adp-show.h"
#include "adp-state.h"
#include "openvswitch/json.h"
#include "util.h"

struct adp_control_stats {
    unsigned int n_refs;        /* The client's and the reading's. */
    char *bridge_name;          /* It may be gone before the reading begins. */
    struct adp_bridge *bridge;  /* While there is one. */
    uint64_t asked;             /* See adp_push_stats_ask(). */
    struct json *json;          /* Once that is there. */
    bool all;
    bool begun, ended;
};

/* Reading. */

static void
read_metrics(void *stats_)
{
    struct adp_control_stats *stats = stats_;

    adp_show_metrics(stats->bridge, stats->all, stats->json);
}

static void
end_reading(void *stats_)
{
    struct adp_control_stats *stats = stats_;

    stats->ended = true;
    adp_control_stats_unref(stats);
}

/* Begins to read, if the state permits, or does all of it. */
static void
begin(struct adp_control_stats *stats)
{
    struct adp_bridge *b = adp_bridge_lookup(stats->bridge_name);
    struct adp_state *state = b ? adp_bridge_state(b) : NULL;

    stats->bridge = b;
    if (!state) {
        stats->begun = stats->ended = true;     /* There are none. */
    } else if (!adp_state_is_large(state)) {
        read_metrics(stats);
        stats->begun = stats->ended = true;
    } else if (adp_state_read(state, read_metrics, end_reading, stats)) {
        stats->n_refs++;
        stats->begun = true;
    }
}

struct adp_control_stats *
adp_control_stats_create(struct adp_bridge *b, bool all)
{
    struct adp_control_stats *stats = xzalloc(sizeof *stats);

    stats->n_refs = 1;
    stats->bridge_name = xstrdup(adp_bridge_name(b));
    stats->asked = adp_push_stats_ask();
    stats->all = all;
    return stats;
}

void
adp_control_stats_unref(struct adp_control_stats *stats)
{
    if (stats && !--stats->n_refs) {
        json_destroy(stats->json);
        free(stats->bridge_name);
        free(stats);
    }
}

bool
adp_control_stats_is_lost(const struct adp_control_stats *stats)
{
    return !stats->json && !adp_bridge_lookup(stats->bridge_name);
}

struct json *
adp_control_stats_get(struct adp_control_stats *stats)
{
    struct adp_bridge *b = adp_bridge_lookup(stats->bridge_name);
    struct json *json = NULL;

    if (!stats->json && b && adp_push_stats_has(b, stats->asked)) {
        stats->json = adp_show_stats(b, stats->all);
    }
    if (stats->json && !stats->begun) {
        begin(stats);
    }
    if (stats->ended) {
        json = stats->json;
        stats->json = NULL;
    }
    return json;
}
