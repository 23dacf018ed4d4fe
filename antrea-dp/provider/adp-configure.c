/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-configure.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <strings.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge-shared.h"
#include "adp-flow-cache.h"
#include "adp-fqdns.h"
#include "adp-multicast.h"
#include "adp-log-file.h"
#include "adp-log-ring.h"
#include "adp-names.h"
#include "adp-refusal.h"
#include "adp-sample.h"
#include "adp-show-log.h"
#include "conntrack-half-open.h"
#include "openvswitch/vlog.h"
#include "smap.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_configure);

/* Sessions are the packet threads', who serve all bridges: the bridge that
 * wants the most decides. */
static void
set_max_sessions(void)
{
    const struct adp_bridge *b;
    uint64_t max = 0;

    LIST_FOR_EACH (b, list_node, &adp_bridges) {
        max = MAX(max, b->max_sessions);
    }
    adp_flow_cache_set_capacity(max ? max : ADP_FLOW_CACHE_DEFAULT_CAPACITY);
}

static void
configure_max_sessions(struct adp_bridge *b, const struct smap *other_config)
{
    const char *s = smap_get(other_config, "antrea-dp-max-sessions");
    unsigned long long int n = 0;

    if (s && (!str_to_ullong(s, 10, &n) || n < ADP_FLOW_CACHE_MIN_CAPACITY
              || n > ADP_FLOW_CACHE_MAX_CAPACITY)) {
        VLOG_ERR("bridge %s: other_config:antrea-dp-max-sessions: must be a "
                 "number from %"PRIu64" to %"PRIu64", not \"%s\"",
                 b->dpif.up.name, ADP_FLOW_CACHE_MIN_CAPACITY,
                 ADP_FLOW_CACHE_MAX_CAPACITY, s);
        n = 0;
    }
    b->max_sessions = n;
    set_max_sessions();
}

/* The number that other_config:'key' gives, or 'def' if it is not one. */
static size_t
configured_number(const struct adp_bridge *b, const struct smap *other_config,
                  const char *key, size_t def)
{
    const char *s = smap_get(other_config, key);
    unsigned int n;

    if (!s) {
        return def;
    }
    if (!str_to_uint(s, 10, &n)) {
        VLOG_ERR("bridge %s: other_config:%s: must be a number from 0 to %u, "
                 "not \"%s\"", b->dpif.up.name, key, UINT_MAX, s);
        return def;
    }
    return n;
}

static void
configure_max_learned(struct adp_bridge *b, const struct smap *other_config)
{
    const struct adp_learn_limits limits = {
        .per_learner = configured_number(b, other_config,
                                         "antrea-dp-max-learned-per-flow",
                                         ADP_MAX_LEARNED_PER_FLOW),
        .total = configured_number(b, other_config, "antrea-dp-max-learned",
                                   ADP_MAX_LEARNED),
    };

    adp_learn_table_set_limits(b->learn, &limits);
}

static void
configure_names(struct adp_bridge *b, const struct smap *other_config)
{
    adp_fqdns_set_min_ttl(adp_bridge_fqdns(b),
                          configured_number(b, other_config,
                                            "antrea-dp-fqdn-min-ttl",
                                            ADP_NAMES_DEFAULT_MIN_TTL));
}

static void
configure_multicast(struct adp_bridge *b, const struct smap *other_config)
{
    unsigned int interval
        = configured_number(b, other_config, "antrea-dp-igmp-query-interval",
                            ADP_MULTICAST_DEFAULT_INTERVAL);

    adp_multicast_set_interval(adp_bridge_multicast(b), MAX(interval, 1));
}

void
adp_configure(struct adp_bridge *b, const struct smap *other_config,
              const struct smap *external_ids)
{
    adp_bridge_set_round(b, smap_get_uint(external_ids, "roundNum", 1));
    adp_decide_set_vlan_limit(flow_vlan_limit);
    configure_max_sessions(b, other_config);
    configure_max_learned(b, other_config);
    configure_names(b, other_config);
    configure_multicast(b, other_config);
    adp_bridge_pipeline_configure(b, other_config);
}

/* The number that other_config:'key' of the daemon gives, or 'def'. */
static unsigned int
daemon_number(const struct smap *other_config, const char *key,
              unsigned int min, unsigned int max, unsigned int def)
{
    const char *s = smap_get(other_config, key);
    unsigned int n;

    if (!s) {
        return def;
    }
    if (!str_to_uint(s, 10, &n) || n < min || n > max) {
        VLOG_ERR("Open_vSwitch: other_config:%s: must be a number from %u to "
                 "%u, not \"%s\"", key, min, max, s);
        return def;
    }
    return n;
}

static void
configure_log(const struct smap *other_config)
{
    const unsigned int mib = 1024 * 1024;

    adp_log_ring_set_rate(daemon_number(other_config, "antrea-dp-log-rate", 0,
                                        ADP_LOG_MAX_RATE,
                                        ADP_LOG_DEFAULT_RATE));
    adp_show_log_configure(
        smap_get(other_config, "antrea-dp-log-file"),
        (uint64_t) daemon_number(other_config, "antrea-dp-log-size", 1,
                                 1024 * 1024,
                                 ADP_LOG_FILE_DEFAULT_SIZE / mib) * mib,
        daemon_number(other_config, "antrea-dp-log-backups", 0,
                      ADP_LOG_FILE_MAX_BACKUPS,
                      ADP_LOG_FILE_DEFAULT_BACKUPS));
}

/* A limit of connections that aren't answered. */
static uint32_t
connection_limit(const struct smap *other_config, const char *name,
                 uint32_t normal)
{
    const char *s = smap_get(other_config, name);
    unsigned int n;

    if (!s) {
        return normal;
    } else if (!strcmp(s, "unlimited")) {
        return CONNTRACK_HALF_OPEN_UNLIMITED;
    } else if (!str_to_uint(s, 10, &n) || !n) {
        VLOG_ERR("Open_vSwitch: other_config:%s: must be a number from 1 to "
                 "%u, or \"unlimited\", not \"%s\"", name, UINT_MAX, s);
        return normal;
    }
    return n;
}

void
adp_configure_daemon(const struct smap *other_config)
{
    conntrack_half_open_set_limit(connection_limit(
        other_config, "antrea-dp-max-half-open", CONNTRACK_MAX_HALF_OPEN));
    conntrack_unanswered_set_limit(connection_limit(
        other_config, "antrea-dp-max-unanswered", CONNTRACK_MAX_UNANSWERED));
    adp_refusal_set_rate(daemon_number(other_config, "antrea-dp-reject-rate",
                                       0, ADP_REFUSAL_MAX_RATE,
                                       ADP_REFUSAL_DEFAULT_RATE));
    adp_samples_set_rate(daemon_number(other_config, "antrea-dp-shadow", 0,
                                       ADP_SAMPLE_MAX_RATE, 0));
    configure_log(other_config);
}

void
adp_switch_configure(struct adp_switch *sw, const struct smap *other_config)
{
    const char *s = smap_get(other_config, sw->key);
    bool is_true = s && !strcasecmp(s, "true");
    bool is_wrong = s && !is_true && strcasecmp(s, "false");

    if (!is_wrong) {
        sw->value = s ? is_true : sw->normal;
        sw->is_known = true;
    } else if (!sw->is_known) {
        sw->value = sw->normal;
    }
    if (is_wrong && !nullable_string_is_equal(s, sw->wrong)) {
        VLOG_ERR("Open_vSwitch: other_config:%s: must be true or false, not "
                 "\"%s\"", sw->key, s);
    }
    free(sw->wrong);
    sw->wrong = is_wrong ? xstrdup(s) : NULL;
}
