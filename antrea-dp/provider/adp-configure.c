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

/* A number of other_config. */
struct number {
    const char *key;
    uint64_t min, max;
    uint64_t normal;            /* Without the key. */
    bool may_be_unlimited;      /* Which is 0 then. */
};

/* What is in force of it. */
struct setting {
    bool is_set;
    uint64_t value;
    char *wrong;                /* What it is instead of a right one. */
};

enum bridge_number {
    MAX_SESSIONS,
    MAX_LEARNED_PER_FLOW,
    MAX_LEARNED,
    FQDN_MIN_TTL,
    IGMP_QUERY_INTERVAL,
    N_BRIDGE_NUMBERS
};

static const struct number bridge_numbers[N_BRIDGE_NUMBERS] = {
    [MAX_SESSIONS] = {
        .key = "antrea-dp-max-sessions",
        .min = ADP_FLOW_CACHE_MIN_CAPACITY,
        .max = ADP_FLOW_CACHE_MAX_CAPACITY,
    },
    [MAX_LEARNED_PER_FLOW] = {
        .key = "antrea-dp-max-learned-per-flow",
        .max = UINT_MAX,
        .normal = ADP_MAX_LEARNED_PER_FLOW,
    },
    [MAX_LEARNED] = {
        .key = "antrea-dp-max-learned",
        .max = UINT_MAX,
        .normal = ADP_MAX_LEARNED,
    },
    [FQDN_MIN_TTL] = {
        .key = "antrea-dp-fqdn-min-ttl",
        .max = UINT_MAX,
        .normal = ADP_NAMES_DEFAULT_MIN_TTL,
    },
    [IGMP_QUERY_INTERVAL] = {
        .key = "antrea-dp-igmp-query-interval",
        .min = 1,
        .max = UINT_MAX,
        .normal = ADP_MULTICAST_DEFAULT_INTERVAL,
    },
};

struct adp_settings {
    struct setting numbers[N_BRIDGE_NUMBERS];
};

enum daemon_number {
    MAX_HALF_OPEN,
    MAX_UNANSWERED,
    REJECT_RATE,
    SHADOW,
    LOG_RATE,
    LOG_SIZE,
    LOG_BACKUPS,
    N_DAEMON_NUMBERS
};

#define MIB (1024 * 1024)

static const struct number daemon_numbers[N_DAEMON_NUMBERS] = {
    [MAX_HALF_OPEN] = {
        .key = "antrea-dp-max-half-open",
        .min = 1,
        .max = UINT_MAX,
        .normal = CONNTRACK_MAX_HALF_OPEN,
        .may_be_unlimited = true,
    },
    [MAX_UNANSWERED] = {
        .key = "antrea-dp-max-unanswered",
        .min = 1,
        .max = UINT_MAX,
        .normal = CONNTRACK_MAX_UNANSWERED,
        .may_be_unlimited = true,
    },
    [REJECT_RATE] = {
        .key = "antrea-dp-reject-rate",
        .max = ADP_REFUSAL_MAX_RATE,
        .normal = ADP_REFUSAL_DEFAULT_RATE,
    },
    [SHADOW] = {
        .key = "antrea-dp-shadow",
        .max = ADP_SAMPLE_MAX_RATE,
    },
    [LOG_RATE] = {
        .key = "antrea-dp-log-rate",
        .max = ADP_LOG_MAX_RATE,
        .normal = ADP_LOG_DEFAULT_RATE,
    },
    [LOG_SIZE] = {
        .key = "antrea-dp-log-size",
        .min = 1,
        .max = 1024 * 1024,
        .normal = ADP_LOG_FILE_DEFAULT_SIZE / MIB,
    },
    [LOG_BACKUPS] = {
        .key = "antrea-dp-log-backups",
        .max = ADP_LOG_FILE_MAX_BACKUPS,
        .normal = ADP_LOG_FILE_DEFAULT_BACKUPS,
    },
};

BUILD_ASSERT_DECL(CONNTRACK_HALF_OPEN_UNLIMITED == 0);

/* 's' is what a setting is instead of a right one; NULL: it is right.  Is that
 * new? */
static bool
note_wrong(char **wrong, const char *s)
{
    bool is_new = s && !nullable_string_is_equal(s, *wrong);

    free(*wrong);
    *wrong = nullable_xstrdup(s);
    return is_new;
}

static bool
parse_number(const struct number *number, const char *s, uint64_t *value)
{
    unsigned long long int n;

    if (number->may_be_unlimited && !strcmp(s, "unlimited")) {
        *value = 0;
        return true;
    }
    if (!str_to_ullong(s, 10, &n) || n < number->min || n > number->max) {
        return false;
    }
    *value = n;
    return true;
}

static void
set_number(struct setting *setting, const struct number *number,
           const struct smap *other_config, const char *whose)
{
    const char *s = smap_get(other_config, number->key);
    uint64_t value = number->normal;
    bool is_right = !s || parse_number(number, s, &value);

    if (is_right || !setting->is_set) {
        setting->value = value;
        setting->is_set = true;
    }
    if (note_wrong(&setting->wrong, is_right ? NULL : s)) {
        VLOG_ERR("%s: other_config:%s: must be a number from %"PRIu64" to "
                 "%"PRIu64"%s, not \"%s\"", whose, number->key, number->min,
                 number->max,
                 number->may_be_unlimited ? ", or \"unlimited\"" : "", s);
    }
}

/* Of a bridge. */

static uint64_t
number_of(const struct adp_bridge *b, enum bridge_number i)
{
    return b->settings ? b->settings->numbers[i].value : 0;
}

static void
read_settings(struct adp_bridge *b, const struct smap *other_config)
{
    char *whose = xasprintf("bridge %s", b->dpif.up.name);

    if (!b->settings) {
        b->settings = xzalloc(sizeof *b->settings);
    }
    for (size_t i = 0; i < N_BRIDGE_NUMBERS; i++) {
        set_number(&b->settings->numbers[i], &bridge_numbers[i], other_config,
                   whose);
    }
    free(whose);
}

/* Sessions are the packet threads', who serve all bridges: the bridge that
 * wants the most decides. */
static void
set_max_sessions(void)
{
    const struct adp_bridge *b;
    uint64_t max = 0;

    LIST_FOR_EACH (b, list_node, &adp_bridges) {
        max = MAX(max, number_of(b, MAX_SESSIONS));
    }
    adp_flow_cache_set_capacity(max ? max : ADP_FLOW_CACHE_DEFAULT_CAPACITY);
}

static void
set_max_learned(struct adp_bridge *b)
{
    const struct adp_learn_limits limits = {
        .per_learner = number_of(b, MAX_LEARNED_PER_FLOW),
        .total = number_of(b, MAX_LEARNED),
    };

    adp_learn_table_set_limits(b->learn, &limits);
}

void
adp_configure(struct adp_bridge *b, const struct smap *other_config,
              const struct smap *external_ids)
{
    read_settings(b, other_config);
    adp_bridge_set_round(b, smap_get_uint(external_ids, "roundNum", 1));
    adp_decide_set_vlan_limit(flow_vlan_limit);
    set_max_sessions();
    set_max_learned(b);
    adp_fqdns_set_min_ttl(adp_bridge_fqdns(b), number_of(b, FQDN_MIN_TTL));
    adp_multicast_set_interval(adp_bridge_multicast(b),
                               number_of(b, IGMP_QUERY_INTERVAL));
    adp_bridge_pipeline_configure(b, other_config);
}

void
adp_configure_forget(struct adp_bridge *b)
{
    for (size_t i = 0; b->settings && i < N_BRIDGE_NUMBERS; i++) {
        free(b->settings->numbers[i].wrong);
    }
    free(b->settings);
    b->settings = NULL;
}

/* Of the daemon. */

void
adp_configure_daemon(const struct smap *other_config)
{
    static struct setting of[N_DAEMON_NUMBERS];

    for (size_t i = 0; i < N_DAEMON_NUMBERS; i++) {
        set_number(&of[i], &daemon_numbers[i], other_config, "Open_vSwitch");
    }
    conntrack_half_open_set_limit(of[MAX_HALF_OPEN].value);
    conntrack_unanswered_set_limit(of[MAX_UNANSWERED].value);
    adp_refusal_set_rate(of[REJECT_RATE].value);
    adp_samples_set_rate(of[SHADOW].value);
    adp_log_ring_set_rate(of[LOG_RATE].value);
    adp_show_log_configure(smap_get(other_config, "antrea-dp-log-file"),
                           of[LOG_SIZE].value * MIB, of[LOG_BACKUPS].value);
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
    if (note_wrong(&sw->wrong, is_wrong ? s : NULL)) {
        VLOG_ERR("Open_vSwitch: other_config:%s: must be true or false, not "
                 "\"%s\"", sw->key, s);
    }
}
