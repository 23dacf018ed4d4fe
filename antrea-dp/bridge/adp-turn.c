/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-turn.h"

#include <limits.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/util.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_turn);

/* As long as upstream finds unreasonable, too. */
#define LOGGED_US 1000000

/* Sections that took less of it aren't worth a word in the log. */
#define WORTH_NAMING_US 10000

const int adp_turn_bounds_ms[ADP_TURN_N_BOUNDS] = ADP_TURN_BOUNDS_MS;

const char *
adp_turn_section_name(enum adp_turn_section section)
{
    static const char *const names[ADP_TURN_N_SECTIONS] = {
#define X(SYMBOL, NAME, TEXT) [ADP_TURN_##SYMBOL] = NAME,
        ADP_TURN_SECTIONS
#undef X
    };

    return names[section];
}

/* The meter. */

void
adp_turn_meter_begin(struct adp_turn_meter *m, long long int now,
                     long long int cpu)
{
    if (!m->counts.n_turns) {
        m->counts.recent_since = now;
    }
    memset(&m->turn, 0, sizeof m->turn);
    memset(&m->taken, 0, sizeof m->taken);
    m->turn.began = m->entered = now;
    m->cpu = cpu;
    m->section = ADP_TURN_OTHER;
    m->turning = true;
}

enum adp_turn_section
adp_turn_meter_enter(struct adp_turn_meter *m, enum adp_turn_section section,
                     long long int now)
{
    enum adp_turn_section outer = m->section;

    if (m->turning) {
        m->turn.section_us[outer] += now - m->entered;
        m->entered = now;
        m->section = section;
    }
    return outer;
}

static void
keep_longest(struct adp_turn *longest, const struct adp_turn *turn)
{
    if (turn->us >= longest->us) {
        *longest = *turn;
    }
}

/* What of the present turn 'recent' hasn't been told. */
static struct adp_turn
untold_part(const struct adp_turn_meter *m)
{
    struct adp_turn part = m->turn;

    part.began += m->taken.us;
    part.us -= m->taken.us;
    part.cpu_us -= m->taken.cpu_us;
    for (int i = 0; i < ADP_TURN_N_SECTIONS; i++) {
        part.section_us[i] -= m->taken.section_us[i];
    }
    return part;
}

/* Brings the present turn up to 'now' and into 'c', where it isn't counted as
 * one yet. */
static void
note_turn(struct adp_turn_meter *m, struct adp_turn_counts *c,
          long long int now, long long int cpu)
{
    adp_turn_meter_enter(m, m->section, now);
    m->turn.us = now - m->turn.began;
    m->turn.cpu_us = cpu - m->cpu;

    const struct adp_turn part = untold_part(m);
    keep_longest(&c->longest, &m->turn);
    keep_longest(&c->recent, &part);
    for (int i = 0; i < ADP_TURN_N_SECTIONS; i++) {
        c->section_us[i] += m->turn.section_us[i];
    }
}

const struct adp_turn *
adp_turn_meter_end(struct adp_turn_meter *m, long long int now,
                   long long int cpu)
{
    struct adp_turn_counts *c = &m->counts;

    if (!m->turning) {
        return NULL;
    }
    note_turn(m, c, now, cpu);
    m->turning = false;
    m->section = ADP_TURN_OTHER;

    c->n_turns++;
    for (int i = 0; i < ADP_TURN_N_BOUNDS; i++) {
        c->n_longer[i] += m->turn.us > adp_turn_bounds_ms[i] * 1000ULL;
    }
    return &m->turn;
}

void
adp_turn_meter_get(struct adp_turn_meter *m, struct adp_turn_counts *counts,
                   bool take, long long int now, long long int cpu)
{
    *counts = m->counts;
    if (m->turning) {
        note_turn(m, counts, now, cpu);
    }
    if (take) {
        memset(&m->counts.recent, 0, sizeof m->counts.recent);
        m->counts.recent_since = now;
        m->taken = m->turn;
    }
}

/* The main loop's. */

static struct adp_turn_meter main_meter;

DEFINE_STATIC_PER_THREAD_DATA(bool, is_main, false);

long long int
adp_turn_read_clock(clockid_t id)
{
    struct timespec now;

    xclock_gettime(id, &now);
    return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

/* Not time_usec(), which upstream's tests set forward ("time/warp"). */
static long long int
monotonic_us(void)
{
    return adp_turn_read_clock(CLOCK_MONOTONIC);
}

static long long int
thread_us(void)
{
    return adp_turn_read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static long long int (*now_us)(void) = monotonic_us;
static long long int (*own_cpu_us)(void) = thread_us;

/* Of threads that ran in the main thread's place. */
static long long int others_cpu_us;

static long long int
cpu_us(void)
{
    return own_cpu_us() + others_cpu_us;
}

static void
log_turn(const struct adp_turn *turn)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct ds s = DS_EMPTY_INITIALIZER;

    if (VLOG_DROP_INFO(&rl)) {
        return;
    }
    for (int i = 0; i < ADP_TURN_N_SECTIONS; i++) {
        if (turn->section_us[i] >= WORTH_NAMING_US) {
            ds_put_format(&s, "%s %s %"PRIu64" ms", s.length ? "," : ":",
                          adp_turn_section_name(i),
                          turn->section_us[i] / 1000);
        }
    }
    /* That it took so long upstream says, as a warning. */
    VLOG_INFO("the main thread was away for %"PRIu64" ms, of which it ran for "
              "%"PRIu64"%s", turn->us / 1000, turn->cpu_us / 1000,
              ds_cstr(&s));
    ds_destroy(&s);
}

/* Serials of bridges. */
static struct {
    uint32_t bridge;                    /* Whose slices these are, or 0. */
    uint32_t favoured;                  /* Has least slices in this turn. */
    uint32_t next;                      /* In the next turn; 0: the same. */
} shares;

/* Next is who follows the favoured one, in the ring of all serials. */
static void
note_denied(uint32_t bridge)
{
    if (!shares.next
        || bridge - shares.favoured < shares.next - shares.favoured) {
        shares.next = bridge;
    }
}

void
adp_turn_set_bridge(uint32_t serial)
{
    shares.bridge = serial;
}

void
adp_turn_begin(void)
{
    *is_main_get() = true;
    if (shares.next) {
        shares.favoured = shares.next;
        shares.next = 0;
    }
    adp_turn_meter_begin(&main_meter, now_us(), cpu_us());
}

void
adp_turn_end(void)
{
    const struct adp_turn *turn = adp_turn_meter_end(&main_meter, now_us(),
                                                     cpu_us());

    if (turn && turn->us >= LOGGED_US) {
        log_turn(turn);
    }
}

enum adp_turn_section
adp_turn_enter(enum adp_turn_section section)
{
    return (*is_main_get()
            ? adp_turn_meter_enter(&main_meter, section, now_us())
            : ADP_TURN_OTHER);
}

bool
adp_turn_is_mine(void)
{
    return *is_main_get();
}

void
adp_turn_leave(enum adp_turn_section outer)
{
    adp_turn_enter(outer);
}

void
adp_turn_add_cpu(long long int us)
{
    others_cpu_us += us;
}

void
adp_turn_get_counts(struct adp_turn_counts *counts, bool take)
{
    adp_turn_meter_get(&main_meter, counts, take, now_us(), cpu_us());
}

/* Slices. */

/* One that goes on for 'min_us' and while there is budget left. */
static void
slice_init(struct adp_turn_slice *slice, int min_us)
{
    slice->begun = false;
    slice->denied = 0;
    slice->ends = now_us() + min_us;
    if (main_meter.turning) {
        slice->ends = MAX(slice->ends,
                          main_meter.turn.began + ADP_TURN_BUDGET_US);
    }
}

void
adp_turn_slice_init(struct adp_turn_slice *slice)
{
    if (shares.bridge != shares.favoured && shares.bridge) {
        slice_init(slice, 0);
        slice->denied = shares.bridge;
    } else {
        slice_init(slice, ADP_TURN_SLICE_MIN_US);
    }
}

void
adp_turn_slice_init_rest(struct adp_turn_slice *slice)
{
    slice_init(slice, 0);
    slice->begun = true;
}

void
adp_turn_slice_init_whole(struct adp_turn_slice *slice)
{
    slice->begun = false;
    slice->denied = 0;
    slice->ends = LLONG_MAX;
}

bool
adp_turn_slice_is_whole(const struct adp_turn_slice *slice)
{
    return slice->ends == LLONG_MAX;
}

bool
adp_turn_slice_goes_on(struct adp_turn_slice *slice)
{
    bool first = !slice->begun;

    slice->begun = true;
    if (first || slice->ends == LLONG_MAX || now_us() < slice->ends) {
        return true;
    }
    if (slice->denied) {
        note_denied(slice->denied);
    }
    return false;
}

long long int
adp_turn_now(void)
{
    return now_us();
}

void
adp_turn_set_clock(long long int (*clock)(void))
{
    now_us = own_cpu_us = clock;
}
