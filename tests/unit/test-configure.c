/* SPDX-License-Identifier: Apache-2.0 */

/* What settings that are numbers, or true or false, do when they are neither:
 * what others are told to do, and what the log says. */

#include <config.h>
#include <check.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge-shared.h"
#include "adp-configure.h"
#include "adp-flow-cache.h"
#include "adp-fqdns.h"
#include "adp-multicast.h"
#include "adp-refusal.h"
#include "adp-sample.h"
#include "adp-show-log.h"
#include "conntrack-half-open.h"
#include "openvswitch/vlog.h"
#include "smap.h"
#include "svec.h"
#include "test-run.h"
#include "util.h"

__typeof__(conntrack_half_open_set_limit) __wrap_conntrack_half_open_set_limit,
    __wrap_conntrack_unanswered_set_limit;

/* What is in force. */
static struct {
    uint64_t max_sessions, log_size;
    unsigned int min_ttl, query_interval;
    uint32_t max_half_open, max_unanswered, reject_rate, shadow;
    unsigned int log_backups;
} now;

static struct adp_bridge *b;
static struct smap config;
struct ovs_list adp_bridges = OVS_LIST_INITIALIZER(&adp_bridges);

void
adp_flow_cache_set_capacity(uint64_t capacity)
{
    now.max_sessions = capacity;
}

struct adp_fqdns *
adp_bridge_fqdns(const struct adp_bridge *bridge OVS_UNUSED)
{
    return NULL;
}

void
adp_fqdns_set_min_ttl(struct adp_fqdns *fqdns OVS_UNUSED, unsigned int ttl)
{
    now.min_ttl = ttl;
}

struct adp_multicast *
adp_bridge_multicast(const struct adp_bridge *bridge OVS_UNUSED)
{
    return NULL;
}

void
adp_multicast_set_interval(struct adp_multicast *m OVS_UNUSED,
                           unsigned int interval)
{
    now.query_interval = interval;
}

void
adp_bridge_set_round(struct adp_bridge *bridge OVS_UNUSED,
                     uint16_t round OVS_UNUSED)
{
}

void
adp_bridge_pipeline_configure(struct adp_bridge *bridge OVS_UNUSED,
                              const struct smap *other_config OVS_UNUSED)
{
}

void
__wrap_conntrack_half_open_set_limit(uint32_t limit)
{
    now.max_half_open = limit;
}

void
__wrap_conntrack_unanswered_set_limit(uint32_t limit)
{
    now.max_unanswered = limit;
}

void
adp_refusal_set_rate(uint32_t rate)
{
    now.reject_rate = rate;
}

void
adp_samples_set_rate(uint32_t rate)
{
    now.shadow = rate;
}

void
adp_show_log_configure(const char *file OVS_UNUSED, uint64_t max_size,
                       unsigned int n_backups)
{
    now.log_size = max_size;
    now.log_backups = n_backups;
}

/* The log. */
static struct svec lines;

__typeof__(vlog) __wrap_vlog;

void
__wrap_vlog(const struct vlog_module *module OVS_UNUSED,
            enum vlog_level level OVS_UNUSED, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    svec_add_nocopy(&lines, xvasprintf(format, args));
    va_end(args);
}

/* It says this, once, since the last time. */
static void
expect_word(const char *line)
{
    ck_assert_uint_eq(lines.n, 1);
    ck_assert_str_eq(lines.names[0], line);
    svec_clear(&lines);
}

static void
setup(void)
{
    svec_init(&lines);
    memset(&now, 0, sizeof now);
    b = xzalloc(sizeof *b);
    b->dpif.up.name = CONST_CAST(char *, "br-int");
    b->learn = adp_learn_table_create();
    ovs_list_push_back(&adp_bridges, &b->list_node);
    smap_init(&config);
}

static void
teardown(void)
{
    adp_configure_forget(b);
    ovs_list_remove(&b->list_node);
    adp_learn_table_destroy(b->learn);
    free(b);
    smap_destroy(&config);
    svec_destroy(&lines);
}

/* The database changes: 'key' is 'value' in it, or not there if NULL. */
static void
set(const char *key, const char *value)
{
    static const struct smap no_ids = SMAP_INITIALIZER(&no_ids);

    if (value) {
        smap_replace(&config, key, value);
    } else {
        smap_remove(&config, key);
    }
    adp_configure(b, &config, &no_ids);
    adp_configure_daemon(&config);
}

START_TEST(numbers_of_a_bridge)
{
    set("antrea-dp-max-sessions", "many");
    ck_assert_uint_eq(now.max_sessions, ADP_FLOW_CACHE_DEFAULT_CAPACITY);
    set("antrea-dp-max-sessions", "16777216");
    set("antrea-dp-max-sessions", "16M");
    ck_assert_uint_eq(now.max_sessions, 16777216);
    set("antrea-dp-max-sessions", "4095");
    ck_assert_uint_eq(now.max_sessions, 16777216);
    set("antrea-dp-max-sessions", NULL);
    ck_assert_uint_eq(now.max_sessions, ADP_FLOW_CACHE_DEFAULT_CAPACITY);

    set("antrea-dp-fqdn-min-ttl", "30");
    set("antrea-dp-fqdn-min-ttl", "30s");
    ck_assert_uint_eq(now.min_ttl, 30);
    set("antrea-dp-igmp-query-interval", "20");
    set("antrea-dp-igmp-query-interval", "0");
    ck_assert_uint_eq(now.query_interval, 20);
    set("antrea-dp-igmp-query-interval", NULL);
    ck_assert_uint_eq(now.query_interval, ADP_MULTICAST_DEFAULT_INTERVAL);
}
END_TEST

START_TEST(numbers_of_the_daemon)
{
    set("antrea-dp-max-half-open", "1e6");
    ck_assert_uint_eq(now.max_half_open, CONNTRACK_MAX_HALF_OPEN);
    set("antrea-dp-max-half-open", "1000000");
    set("antrea-dp-max-half-open", "2e6");
    ck_assert_uint_eq(now.max_half_open, 1000000);
    set("antrea-dp-max-half-open", "unlimited");
    set("antrea-dp-max-half-open", "0");
    ck_assert_uint_eq(now.max_half_open, CONNTRACK_HALF_OPEN_UNLIMITED);
    ck_assert_uint_eq(now.max_unanswered, CONNTRACK_MAX_UNANSWERED);

    set("antrea-dp-reject-rate", "0");
    set("antrea-dp-reject-rate", "unlimited");
    ck_assert_uint_eq(now.reject_rate, 0);
    set("antrea-dp-shadow", "1000");
    set("antrea-dp-shadow", "-1");
    ck_assert_uint_eq(now.shadow, 1000);
    set("antrea-dp-log-size", "2");
    set("antrea-dp-log-size", "0");
    ck_assert_uint_eq(now.log_size, 2 * 1024 * 1024);
    set("antrea-dp-log-backups", "20");
    set("antrea-dp-log-backups", "2O");
    ck_assert_uint_eq(now.log_backups, 20);
    set("antrea-dp-log-backups", NULL);
    ck_assert_uint_eq(now.log_backups, 3);
}
END_TEST

START_TEST(told_once)
{
    set("antrea-dp-max-learned", "x");
    set("something", "else");
    expect_word("bridge br-int: other_config:antrea-dp-max-learned: must be a "
                "number from 0 to 4294967295, not \"x\"");
    set("antrea-dp-max-learned", "y");
    expect_word("bridge br-int: other_config:antrea-dp-max-learned: must be a "
                "number from 0 to 4294967295, not \"y\"");
    set("antrea-dp-max-learned", "1");
    ck_assert_uint_eq(lines.n, 0);
    set("antrea-dp-max-learned", "y");
    expect_word("bridge br-int: other_config:antrea-dp-max-learned: must be a "
                "number from 0 to 4294967295, not \"y\"");

    set("antrea-dp-max-unanswered", "no");
    set("something", "again");
    expect_word("Open_vSwitch: other_config:antrea-dp-max-unanswered: must be "
                "a number from 1 to 4294967295, or \"unlimited\", not "
                "\"no\"");
}
END_TEST

START_TEST(switches)
{
    struct adp_switch sw = { .key = "antrea-dp-test", .normal = true };

    smap_replace(&config, "antrea-dp-test", "maybe");
    adp_switch_configure(&sw, &config);
    ck_assert(sw.value && !sw.is_known);
    smap_replace(&config, "antrea-dp-test", "False");
    adp_switch_configure(&sw, &config);
    ck_assert(!sw.value && sw.is_known);
    smap_replace(&config, "antrea-dp-test", "maybe");
    adp_switch_configure(&sw, &config);
    adp_switch_configure(&sw, &config);
    ck_assert(!sw.value);
    ck_assert_uint_eq(lines.n, 2);
    free(sw.wrong);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("configure");
    TCase *tc = tcase_create("settings");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, numbers_of_a_bridge);
    tcase_add_test(tc, numbers_of_the_daemon);
    tcase_add_test(tc, told_once);
    tcase_add_test(tc, switches);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
