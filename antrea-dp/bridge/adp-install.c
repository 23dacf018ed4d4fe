/* SPDX-License-Identifier: Apache-2.0 */

/* Learned flows on their way from packet threads to OpenFlow.
 *
 * A packet thread that met learn() refreshes the flow if OpenFlow has it.  If
 * not, it puts it into the bridge's adp_learn_table, where it is in force at
 * once, and the main thread makes an OpenFlow flow of it: at each turn so many
 * as fit into a slice, in one table version, so that OpenFlow requests,
 * commands and packets of ports that it polls get their turn however many
 * wait.  A request of OpenFlow's that is about flows waits for those that
 * waited when it came (antrea-dp/provider/adp-request-order.h). */

#include <config.h>
#include "adp-install.h"

#include "adp-bridge-private.h"
#include "adp-credit.h"
#include "adp-turn.h"
#include "coverage.h"
#include "ofproto/connmgr.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"

COVERAGE_DEFINE(adp_learned);
COVERAGE_DEFINE(adp_learn_refused);
COVERAGE_DEFINE(adp_learn_version);

/* What one turn installs at most: preparing them must end with the slice of
 * time, installing them costs about as much again. */
#define SLICE 128

/* For so long after a slice the main thread isn't woken up for more: packets
 * of many new clients wake it up some 200 times a second, not once each. */
#define PAUSE_MS 5

/* Packet threads. */

/* True if 'rule' is what 'fm' would make of it: a flow that is learned again
 * keeps its timeouts, importance and flags. */
static bool
is_as_learned(const struct rule *rule, const struct ofputil_flow_mod *fm)
    OVS_REQUIRES(rule->mutex)
{
    const struct rule_actions *actions = rule_get_actions(rule);

    return ((!fm->modify_cookie || rule->flow_cookie == fm->new_cookie)
            && ofpacts_equal(actions->ofpacts, actions->ofpacts_len,
                             fm->ofpacts, fm->ofpacts_len));
}

/* If OpenFlow has the flow, lets its hard timeout begin again. */
static bool
refresh(struct adp_bridge *b, const struct ofputil_flow_mod *fm)
{
    struct rule *rule = adp_bridge_find_rule(b, fm->table_id, &fm->match,
                                             fm->priority);
    bool found = false;

    if (rule) {
        ovs_mutex_lock(&rule->mutex);
        found = is_as_learned(rule, fm);
        if (found) {
            rule->modified = time_msec();
        }
        ovs_mutex_unlock(&rule->mutex);
    }
    return found;
}

void
adp_install_learned(struct adp_bridge *b, const struct adp_learned *learned,
                    uint64_t generation)
{
    if (refresh(b, &learned->fm)) {
        return;
    }
    switch (adp_learn_table_insert(b->learn, learned, generation)) {
    case ADP_LEARN_ADDED_FIRST:
        seq_change(b->own->learn_seq);
        /* Fall through. */
    case ADP_LEARN_ADDED:
        adp_count(&b->counters.learned, 1);
        break;
    case ADP_LEARN_FULL:
        adp_count(&b->counters.unlearned, 1);
        break;
    case ADP_LEARN_LATE:
        adp_count(&b->counters.learned_late, 1);
        break;
    case ADP_LEARN_KNOWN:
        break;
    }
}

/* Main thread. */

/* A clock that goes on when the daemon's is stopped for a test. */
static long long int
real_msec(void)
{
    struct timespec ts;

    xclock_gettime(CLOCK_MONOTONIC, &ts);
    return timespec_to_msec(&ts);
}

/* Makes 'ofm' of 'entry'.  Returns true if it is to be started, false if that
 * is all or it is refused. */
static bool
prepare(struct adp_bridge *b, const struct adp_learn_entry *entry,
        struct ofproto_flow_mod *ofm)
{
    enum ofperr error = ofproto_dpif_flow_mod_init_for_learn(&b->dpif,
                                                             &entry->fm, ofm);
    if (!error) {
        error = ofproto_flow_mod_learn_refresh(ofm);
        if (!error && ofm->temp_rule->state == RULE_INITIALIZED) {
            return true;
        }
        ofproto_flow_mod_uninit(ofm);
    }
    if (error) {
        COVERAGE_INC(adp_learn_refused);
    }
    return false;
}

/* Returns false if OpenFlow refuses it: the table may be full, for one. */
static bool
start(struct adp_bridge *b, struct adp_learn_entry *entry,
      struct ofproto_flow_mod *ofm)
    OVS_REQUIRES(ofproto_mutex)
{
    enum ofperr error;

    ofm->version = b->dpif.up.tables_version + 1;
    b->own->installing = entry;
    error = ofproto_flow_mod_learn_start(ofm);
    b->own->installing = NULL;
    if (error) {
        COVERAGE_INC(adp_learn_refused);
        ofproto_rule_unref(ofm->temp_rule);
    }
    return !error;
}

static void
finish(struct adp_bridge *b, struct ofproto_flow_mod *ofm)
    OVS_REQUIRES(ofproto_mutex)
{
    struct rule *rule = ofm->temp_rule;

    ofproto_flow_mod_learn_finish(ofm, &b->dpif.up);
    ofproto_rule_unref(rule);
    COVERAGE_INC(adp_learned);
}

/* Installs the 'n' flows of 'ofms' in one table version. */
static void
install(struct adp_bridge *b, struct adp_learn_entry *entries[],
        struct ofproto_flow_mod *ofms, size_t n)
    OVS_EXCLUDED(ofproto_mutex)
{
    struct ofproto *ofproto = &b->dpif.up;
    struct ofproto_flow_mod *started[SLICE];
    size_t n_started = 0;

    adp_bridge_lock_tables();
    for (size_t i = 0; i < n; i++) {
        if (start(b, entries[i], &ofms[i])) {
            started[n_started++] = &ofms[i];
        }
    }
    if (n_started) {
        COVERAGE_INC(adp_learn_version);
        ofproto->tables_version++;
        ofproto->ofproto_class->set_tables_version(ofproto,
                                                   ofproto->tables_version);
        for (size_t i = 0; i < n_started; i++) {
            finish(b, started[i]);
        }
    }
    ofmonitor_flush(ofproto->connmgr);
    ovs_mutex_unlock(&ofproto_mutex);
}

void
adp_install_run(struct adp_bridge *b)
{
    struct adp_learn_entry *entries[SLICE], *wanted[SLICE];
    size_t n = 0, n_wanted = 0;

    b->own->learn_seqno = seq_read(b->own->learn_seq);
    b->own->learn_more = false;
    if (!adp_learn_table_take(b->learn, entries, 1)) {
        return;
    }

    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_LEARNED);
    struct ofproto_flow_mod *ofms = xmalloc(SLICE * sizeof *ofms);
    struct adp_turn_slice slice;

    adp_turn_slice_init(&slice);
    do {
        if (prepare(b, entries[n], &ofms[n_wanted])) {
            wanted[n_wanted++] = entries[n];
        }
        n++;
        b->own->learn_more = n == SLICE || !adp_turn_slice_goes_on(&slice);
    } while (!b->own->learn_more
             && adp_learn_table_take(b->learn, &entries[n], 1));
    if (n_wanted) {
        install(b, wanted, ofms, n_wanted);
    }
    free(ofms);
    b->own->learn_taken += n;
    for (size_t i = 0; i < n; i++) {
        adp_credit_early(b, entries[i]);
    }

    /* In force through the program now, or not at all. */
    const struct adp_program *program
        = ovsrcu_get(struct adp_program *, &b->program);
    adp_learn_table_retire(b->learn, entries, n, program->generation);
    b->own->learn_pause_ends = real_msec() + PAUSE_MS;
    adp_turn_leave(outer);
}

/* Those that wait are taken in their order: they are gone when as many were
 * taken.  Some may leave without. */
uint64_t
adp_install_mark(const struct adp_bridge *b, uint8_t table_id)
{
    struct adp_learn_counts counts;

    adp_learn_table_get_counts(b->learn, &counts);
    return (counts.waiting
            && (table_id == OFPTT_ALL
                || adp_learn_table_has(b->learn, table_id))
            ? b->own->learn_taken + counts.waiting : 0);
}

bool
adp_install_is_past(const struct adp_bridge *b, uint64_t mark)
{
    struct adp_learn_counts counts;

    adp_learn_table_get_counts(b->learn, &counts);
    return !counts.waiting || b->own->learn_taken >= mark;
}

void
adp_install_wait(struct adp_bridge *b)
{
    long long int pause = b->own->learn_pause_ends - real_msec();

    if (b->own->learn_more) {
        poll_immediate_wake();
    } else if (pause > 0) {
        poll_timer_wait(pause);
    } else {
        seq_wait(b->own->learn_seq, b->own->learn_seqno);
    }
}
