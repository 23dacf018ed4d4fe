/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-stats.h"

#include <stdlib.h>

#include "adp-bridge-pipeline.h"
#include "adp-control-reading.h"
#include "adp-push-stats.h"
#include "adp-show.h"
#include "openvswitch/json.h"
#include "util.h"

struct control_stats {
    bool all;
    uint64_t asked;             /* See adp_push_stats_ask(). */
    struct json *json;          /* NULL until that is there. */
};

static bool
stats_may_begin(const struct adp_bridge *b, const void *stats_)
{
    const struct control_stats *stats = stats_;

    return adp_push_stats_has(b, stats->asked);
}

static void
stats_begin(struct adp_bridge *b, void *stats_)
{
    struct control_stats *stats = stats_;

    stats->json = adp_show_stats(b, stats->all);
}

static void
stats_read(struct adp_bridge *b, void *stats_)
{
    struct control_stats *stats = stats_;

    if (adp_bridge_state(b)) {
        adp_show_metrics(b, stats->all, stats->json);
    }
}

static struct json *
stats_take(void *stats_, struct adp_error **errorp OVS_UNUSED)
{
    struct control_stats *stats = stats_;
    struct json *json = stats->json;

    stats->json = NULL;
    return json;
}

static void
stats_destroy(void *stats_)
{
    struct control_stats *stats = stats_;

    json_destroy(stats->json);
    free(stats);
}

struct adp_control_reading *
adp_control_stats_create(const struct adp_bridge *b, bool all)
{
    static const struct adp_control_reading_class class = {
        .may_begin = stats_may_begin,
        .begin = stats_begin,
        .read = stats_read,
        .take = stats_take,
        .destroy = stats_destroy,
    };
    struct control_stats *stats = xmalloc(sizeof *stats);

    *stats = (struct control_stats) {
        .all = all,
        .asked = adp_push_stats_ask(),
    };
    return adp_control_reading_create(&class, b, stats);
}
