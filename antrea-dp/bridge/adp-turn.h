/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_TURN_H
#define ADP_TURN_H 1

/* Turns of the main loop: how long they are, what takes them, and how long
 * work may go on that can also be done in the next.
 *
 * A turn begins when the loop wakes up and ends when it goes to sleep.  At any
 * moment of it one section of work is under way, at first that without a
 * name; a section that is entered within another takes time from it, so that
 * the sections' times add up to the turn's.
 *
 *     enum adp_turn_section outer = adp_turn_enter(ADP_TURN_EXPIRY);
 *     ...
 *     adp_turn_leave(outer);
 *
 * Work that grows with traffic or with the cluster comes in slices:
 *
 *     struct adp_turn_slice slice;
 *
 *     adp_turn_slice_init(&slice);
 *     while (there is something to do && adp_turn_slice_goes_on(&slice)) {
 *         ...one item...
 *     }
 *     b->more = there is something to do;     (wait: poll_immediate_wake())
 *
 * A slice goes on until the turn is ADP_TURN_BUDGET_US old, but at least for
 * ADP_TURN_SLICE_MIN_US, so that a job gets on however long those before it
 * took; its first item is always done.  What one item costs must be bounded.
 *
 * Of bridges one has the least slices of its jobs in each turn, or many would
 * make it long.  Others have their first items beyond the budget; those who
 * had more to do have their least slices in the next turns, one after the
 * other.
 *
 * Thread-safety: the main loop's thread.  Others may enter and leave sections,
 * which does nothing: code that runs in any thread need not ask where it is.
 *
 * Cost: entering, leaving and asking read the clock, some 30 ns each; a turn's
 * begin and end ask the kernel how long the thread has run, some 200 ns.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define ADP_TURN_BUDGET_US 3000
#define ADP_TURN_SLICE_MIN_US 500

#define ADP_TURN_SECTIONS                                               \
    X(OTHER, "other", "upstream's work without a name here: "           \
      "configuration, statistics for OVSDB, bridges' own timers")       \
    X(OVSDB, "ovsdb", "what OVSDB sent")                                \
    X(DATAPATH, "datapath", "upstream's datapath types, and packets "   \
      "of ports that the main thread polls")                            \
    X(OPENFLOW, "openflow", "OpenFlow requests, without compiling")     \
    X(COMMANDS, "commands", "commands of ovs-appctl")                   \
    X(LOCK, "lock", "waiting for the lock of OpenFlow's tables")        \
    X(COMPILE, "compile", "changes of flows and groups on their way "   \
      "into programs")                                                  \
    X(COUNTERS, "counters", "collecting packet threads' counters")      \
    X(LEARNED, "learned", "installing learned flows")                   \
    X(EXPIRY, "expiry", "removing flows whose timeout has passed")      \
    X(AGING, "aging", "looking for what no packet that the main "       \
      "thread handles uses")                                            \
    X(TUNNELS, "tunnels", "ways of packets into tunnels")               \
    X(PORTS, "ports", "ports that came or went")                        \
    X(CONNECTIONS, "connections", "room and memory for connections")    \
    X(STATE, "state", "calls that change typed state")                  \
    X(COMMIT, "commit", "their flows and groups on the way into "       \
      "OpenFlow's tables, without compiling")                           \
    X(NAMES, "names", "DNS answers for the names of policy rules")      \
    X(MULTICAST, "multicast", "messages of IGMP")                       \
    X(LOG, "log", "what policies log")                                  \
    X(SHADOW, "shadow", "comparing samples with upstream's translation") \
    X(HEAP, "heap", "sorting what was freed")                           \
    X(SOCKET, "socket", "the control socket's other work")

enum adp_turn_section {
#define X(SYMBOL, NAME, TEXT) ADP_TURN_##SYMBOL,
    ADP_TURN_SECTIONS
#undef X
    ADP_TURN_N_SECTIONS
};

const char *adp_turn_section_name(enum adp_turn_section);

/* Turns are counted by length: longer than each of these. */
#define ADP_TURN_BOUNDS_MS { 1, 10, 50, 250, 1000 }
#define ADP_TURN_N_BOUNDS 5
extern const int adp_turn_bounds_ms[ADP_TURN_N_BOUNDS];

struct adp_turn {
    long long int began;                /* As adp_turn_now(). */
    uint64_t us;
    uint64_t cpu_us;                    /* It, or who works in its place, ran;
                                         * else others had the core, or it
                                         * waited. */
    uint64_t section_us[ADP_TURN_N_SECTIONS];
};

/* What is known of turns.  Two that ask don't disturb each other if they take
 * the difference of what only grows: the counters since the start.  'recent'
 * is for people: all turns since somebody last asked, and since when that
 * is. */
struct adp_turn_counts {
    uint64_t n_turns;
    uint64_t n_longer[ADP_TURN_N_BOUNDS];
    uint64_t section_us[ADP_TURN_N_SECTIONS];   /* Of all turns. */
    struct adp_turn longest;
    long long int recent_since;         /* As adp_turn_now(). */
    struct adp_turn recent;             /* The longest of these. */
};

/* The meter, for tests.  'now' and 'cpu', the time that the thread has run
 * for, are in microseconds and never go back. */

struct adp_turn_meter {
    bool turning;                       /* Between begin() and end(). */
    enum adp_turn_section section;      /* That is under way ... */
    long long int entered;              /* ... since. */
    long long int cpu;                  /* When the turn began. */
    struct adp_turn turn;               /* That is under way, ... */
    struct adp_turn taken;              /* ... what 'recent' was told ... */
    struct adp_turn_counts counts;      /* ... and all before it. */
};

void adp_turn_meter_begin(struct adp_turn_meter *, long long int now,
                          long long int cpu);
enum adp_turn_section adp_turn_meter_enter(struct adp_turn_meter *,
                                           enum adp_turn_section,
                                           long long int now);
/* Returns the turn that has ended, NULL if none was under way. */
const struct adp_turn *adp_turn_meter_end(struct adp_turn_meter *,
                                          long long int now,
                                          long long int cpu);
/* Reports the counts.  The turn that is under way isn't counted as one yet,
 * but what it worked on until now is, and it may be the longest.  With 'take',
 * 'recent' begins anew, with the rest of that turn. */
void adp_turn_meter_get(struct adp_turn_meter *, struct adp_turn_counts *,
                        bool take, long long int now, long long int cpu);

/* The main loop's. */

/* The loop has woken up; the thread that says so is the loop's from now on. */
void adp_turn_begin(void);
/* It is about to sleep.  Says in the log what took a turn of more than a
 * second. */
void adp_turn_end(void);
/* Returns the section that was under way, for adp_turn_leave(). */
enum adp_turn_section adp_turn_enter(enum adp_turn_section);
void adp_turn_leave(enum adp_turn_section outer);
/* Another thread has run for so long while the loop's waited for it. */
void adp_turn_add_cpu(long long int us);
/* Is this the loop's thread? */
bool adp_turn_is_mine(void);
/* As adp_turn_meter_get(). */
void adp_turn_get_counts(struct adp_turn_counts *, bool take);

struct adp_turn_slice {
    long long int ends;                 /* As adp_turn_now(). */
    bool begun;                         /* It has had its first item. */
    uint32_t denied;                    /* The bridge that has no least slice
                                         * in this turn, or 0. */
};

void adp_turn_slice_init(struct adp_turn_slice *);
/* One of what is left of the budget, which may be nothing. */
void adp_turn_slice_init_rest(struct adp_turn_slice *);
/* One that goes on for ever: for who needs all of it now. */
void adp_turn_slice_init_whole(struct adp_turn_slice *);
bool adp_turn_slice_is_whole(const struct adp_turn_slice *);
/* True if there may be one item more. */
bool adp_turn_slice_goes_on(struct adp_turn_slice *);

/* Slices from now on are those of the bridge with this serial; 0: of none. */
void adp_turn_set_bridge(uint32_t serial);

/* Microseconds of a clock. */
long long int adp_turn_read_clock(clockid_t);
/* Microseconds of a clock that never stands still or jumps. */
long long int adp_turn_now(void);
/* Unit tests: takes the place of that clock, and of the time that the thread
 * has run for, for the main loop's meter and for slices. */
void adp_turn_set_clock(long long int (*clock)(void));

#endif /* adp-turn.h */
