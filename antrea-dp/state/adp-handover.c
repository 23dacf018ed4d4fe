/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-handover.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "adp-bridge-shared.h"
#include "adp-handover-file.h"
#include "conntrack-handover.h"
#include "conntrack-pool.h"
#include "dirs.h"
#include "dp-hooks.h"
#include "latch.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_handover);

/* So much is left at most: memory, mostly, as the run directory is. */
#define MAX_BYTES (UINT64_C(4) << 30)
/* Who stops daemons (ovs-ctl) kills those that take longer than some seven
 * seconds, and packets are lost meanwhile. */
#define MAX_MS 5000

enum { PART_CONNECTIONS = 1 };

static bool enabled;
static bool taken;              /* What was left, or it was too late. */
static bool was_any;
static struct adp_handover_stats stats;

static char *
file_name(void)
{
    return xasprintf("%s/antrea-dp-handover", ovs_rundir());
}

/* All bridges share it. */
static struct conntrack *
conntrack_of(const struct adp_bridge *b)
{
    return dp_dpif_conntrack(b->dpif.backer->dpif);
}

/* Being told to end. */

/* Once it is set it stays so, whatever becomes of the setting. */
static struct latch told;
static bool can_be_told;        /* 'told' is initialized. */
static bool handles_signal;
static struct sigaction old_action;

/* The first signal is a request.  The second one is from somebody who has lost
 * patience. */
static void
handle_signal(int signal)
{
    int saved_errno = errno;

    latch_set(&told);
    sigaction(signal, &old_action, NULL);
    errno = saved_errno;
}

static void
set_handler(bool handle)
{
    if (handle == handles_signal) {
        return;
    }
    if (!can_be_told) {
        latch_init(&told);
        can_be_told = true;
    }
    if (handle) {
        struct sigaction action = { .sa_handler = handle_signal };

        sigemptyset(&action.sa_mask);
        sigaction(SIGTERM, &action, &old_action);
    } else {
        sigaction(SIGTERM, &old_action, NULL);
    }
    handles_signal = handle;
}

bool
adp_handover_must_end(void)
{
    return can_be_told && latch_is_set(&told);
}

void
adp_handover_wait(void)
{
    if (can_be_told) {
        latch_wait(&told);
    }
}

void
adp_handover_configure(bool enabled_)
{
    enabled = enabled_;
    set_handler(enabled);
}

/* Leaving. */

static bool
write_part(const void *data, size_t len, void *out)
{
    return adp_handover_out_write(out, data, len);
}

/* No packet that comes after this is decided on or tracked. */
static void
close_bridges(void)
{
    struct adp_bridge *b;

    LIST_FOR_EACH (b, list_node, &adp_bridges) {
        adp_bridge_set_mode(b, true);
    }
    ovsrcu_synchronize();
}

static char *
leave(struct conntrack *ct, const char *path,
      struct conntrack_handover_counts *counts, uint64_t *len)
{
    struct adp_handover_out *out;
    char *error = adp_handover_out_create(path, MAX_BYTES, MAX_MS, &out);

    if (!error) {
        adp_handover_out_begin(out, PART_CONNECTIONS,
                               CONNTRACK_HANDOVER_VERSION);
        conntrack_handover_save(ct, time_msec(), write_part, out, counts);
        error = adp_handover_out_commit(out, len);
    }
    return error;
}

bool
adp_handover_leave(void)
{
    struct conntrack_handover_counts counts;
    bool ok = false;
    uint64_t len;

    if (!enabled || ovs_list_is_empty(&adp_bridges)) {
        return false;
    }

    long long int begin = time_msec();
    char *path = file_name();
    struct conntrack *ct = conntrack_of(
        CONTAINER_OF(ovs_list_front(&adp_bridges), struct adp_bridge,
                     list_node));

    close_bridges();
    char *error = leave(ct, path, &counts, &len);
    if (error) {
        VLOG_ERR("connections aren't handed over: %s", error);
        free(error);
    } else {
        VLOG_INFO("%"PRIu64" connections are left to the next daemon, in %s "
                  "(%"PRIu64" bytes, %lld ms)", counts.n, path, len,
                  time_msec() - begin);
        ok = true;
    }
    free(path);
    return ok;
}

/* Taking over. */

static char *
take(struct conntrack *ct, const struct adp_handover_in *in)
{
    struct conntrack_handover_counts counts;
    const char *error;
    const void *data;
    size_t len;

    data = adp_handover_in_part(in, PART_CONNECTIONS,
                                CONNTRACK_HANDOVER_VERSION, &len);
    if (!data) {
        return xstrdup("connections are in another version's format");
    }
    /* They come from the pool, or sessions couldn't refer to them. */
    conntrack_pool_run(ct);
    error = conntrack_handover_restore(ct, data, len, time_msec(),
                                       adp_handover_in_age_ms(in), &counts);
    if (error) {
        return xstrdup(error);
    }
    stats.n_conns = counts.n;
    stats.n_expired = counts.n_expired;
    stats.n_known = counts.n_known;
    stats.n_refused = counts.n_refused;
    return NULL;
}

/* Says what has become of it. */
static void
conclude(char *error)
{
    was_any = true;
    stats.error = error;
    if (error) {
        VLOG_WARN("nothing is taken over from the daemon before: %s", error);
        return;
    }
    VLOG_INFO("%"PRIu64" connections are taken over from the daemon that "
              "ended %lld ms ago (%lld ms); %"PRIu64" had expired, %"PRIu64
              " were known, %"PRIu64" exceed the limit", stats.n_conns,
              stats.age_ms, stats.took_ms, stats.n_expired, stats.n_known,
              stats.n_refused);
}

void
adp_handover_take(struct adp_bridge *b)
{
    struct adp_handover_in *in;

    if (taken) {
        return;
    }
    taken = true;

    long long int begin = time_msec();
    char *path = file_name();
    char *error = adp_handover_in_open(path, &in);
    if (in) {
        stats.age_ms = adp_handover_in_age_ms(in);
        error = (enabled ? take(conntrack_of(b), in)
                 : xstrdup("other_config:antrea-dp-handover isn't true"));
        stats.took_ms = time_msec() - begin;
    }
    if (in || error) {
        conclude(error);
    }
    adp_handover_in_close(in);
    free(path);
}

bool
adp_handover_get_stats(struct adp_handover_stats *s)
{
    *s = stats;
    return was_any;
}
