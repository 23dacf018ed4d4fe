/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STATE_H
#define ADP_STATE_H 1

/* The typed state of one bridge, and its transactions.
 *
 * Holds the model and an engine with the pipeline's IDs and the flows and
 * groups that follow from it.  Model and IDs outlive a change of the pipeline.
 * A transaction changes the model in place and checks what it changed, has the
 * engine make those flows anew that it concerns (pipeline-engine.h), and puts
 * what differs into the bridge (adp-commit.h).  On any error all of it is
 * undone, and nothing has changed.
 *
 * Small transactions that wait for their turn are carried out together, each
 * checked against what those before it make of the state, and answered when
 * all is in force.
 *
 * A large transaction, or one on a large state, of which a small record may
 * change much, takes as many turns of the main loop as it needs, perhaps only
 * the one in which it came.  Meanwhile the state is busy: it is read as it was
 * before, and takes no other transaction.  Who has one must wait for his turn;
 * ports and rounds that change are taken into account at the end.  When
 * somebody flushes the bridge while flows go into it, that begins anew, with
 * all of them.
 *
 * For the main thread.
 */

#include "model-records.h"

/* Whom transactions come from, in the order of their turns: who had one lets
 * those behind him have theirs before the next. */
enum adp_state_source {
    ADP_STATE_CALLS,            /* Of clients. */
    ADP_STATE_PORTS,            /* That changed, or the cookie round. */
    ADP_STATE_NAMES,            /* What DNS answers told. */
    ADP_STATE_MEMBERS,          /* Of multicast groups. */
};

struct adp_bridge;
struct adp_index;
struct adp_network_policy;
struct adp_network_policy_rule;
struct adp_pipeline;
struct adp_state;
struct adp_state_disk;
struct sset;
struct state_part;
struct uuid;

struct adp_state *adp_state_create(struct adp_bridge *);
/* Has the state kept on the disk (adp-state-disk.h).  If there is one already,
 * the state is closed until that is in force: see adp-state-store.h.  Takes
 * 'disk', which may be NULL, before the state is used. */
void adp_state_set_disk(struct adp_state *, struct adp_state_disk *disk);
/* Are packets to be kept out, since a state on the disk isn't in force? */
bool adp_state_is_closed(const struct adp_state *);
/* NULL, or why it couldn't be read. */
const char *adp_state_restore_error(const struct adp_state *);
/* Why its records can't be told, or NULL: while the one on the disk isn't in
 * force, that there are none says nothing. */
struct adp_error *adp_state_refuses_get(const struct adp_state *);
/* The bridge has another row (adp_state_disk_move()).  Returns false, without
 * having done anything, while the state comes from the disk, or one is to take
 * its place there. */
bool adp_state_move_disk(struct adp_state *, const struct uuid *old,
                         const struct uuid *uuid, char **error);
/* NULL: it isn't kept. */
const struct adp_state_disk *adp_state_get_disk(const struct adp_state *);
void adp_state_destroy(struct adp_state *);

/* Brings the bridge's flows in line with the state: after the bridge came up,
 * a flush, or a change of its ports or cookie round.  With 'reinstall'
 * installs everything, otherwise only what differs, and nothing if neither
 * ports nor round changed: cheap enough for every turn of the main loop. */
void adp_state_sync(struct adp_state *, bool reinstall);
/* False if the bridge refused the flows, and may lack any of them, or hasn't
 * got all of them yet. */
bool adp_state_is_synced(const struct adp_state *);

/* One slice of what is under way; each turn. */
void adp_state_run(struct adp_state *);
void adp_state_wait(const struct adp_state *);
/* Something is under way, or the state on the disk is still to be read for the
 * first time, which adp_state_run() begins. */
bool adp_state_is_busy(const struct adp_state *);
/* May 'source', names or members, begin a transaction?  Not while the state is
 * busy, nor before others had their turn.  For who asks in each turn, in the
 * order of sources, after adp_state_run(). */
bool adp_state_has_turn(const struct adp_state *, enum adp_state_source);
/* More than a hundred records, and addresses, Pods and rules in these. */
bool adp_state_is_large(const struct adp_state *);

/* Has 'read' run with 'aux', as a job (adp-job.h), a slice in each turn.  In
 * its pauses the state stands still: it is busy, and what would change it
 * waits, but flows that are on their way into the bridge go on.  In the end
 * calls 'end', whatever becomes of the state.
 *
 * One at a time, and none while a change is prepared (adp_state_may_be_read()
 * says so), or in the turn after another: returns false, to be tried again in
 * the next turn. */
bool adp_state_may_be_read(const struct adp_state *);
bool adp_state_read(struct adp_state *, void (*read)(void *aux),
                    void (*end)(void *aux), void *aux)
    OVS_WARN_UNUSED_RESULT;
/* Brings that to its end, all at once: what it reads is about to change. */
void adp_state_end_reading(struct adp_state *);

/* What is under way never arrives, because of 'why': "it was deleted".  What
 * is in the bridge is in doubt. */
void adp_state_abort(struct adp_state *, const char *why);

/* Makes the bridge's flows those of its pipeline with its options, which may
 * be others than the last time.  With 'replace' nothing else stays in the
 * bridge.  On an error nothing has changed.
 *
 * Brings what is under way to its end before, and this too: an operator who
 * changes the pipeline of a bridge with a large state makes a long turn. */
struct adp_error *adp_state_install(struct adp_state *, bool replace)
    OVS_WARN_UNUSED_RESULT;
/* The same in slices, for options alone: begins to make the bridge's flows
 * those of its pipeline with 'options'.  The bridge gets them
 * (adp_bridge_pipeline_set_options()) when the flows begin to go into it, and
 * the old ones again if it refuses these.  The state must not be busy. */
void adp_state_change_options(struct adp_state *, uint64_t options);
/* Is that under way? */
bool adp_state_changes_options(const struct adp_state *);
/* NULL, or why the last such change has failed.  The caller frees it. */
char *adp_state_take_options_error(struct adp_state *);
/* Brings what is under way to its end, all at once. */
void adp_state_finish(struct adp_state *);
/* Somebody else cleared the bridge; it has no pipeline any more. */
void adp_state_forget_flows(struct adp_state *);

uint64_t adp_state_generation(const struct adp_state *);
/* What of the records the pipeline leaves out, as a sentence, or NULL.  Caller
 * frees. */
char *adp_state_warning(const struct adp_state *);
/* Why 'pipeline' with 'options' can't have the records, or NULL.  Linear in
 * policies and what else a pipeline may refuse, which it sorts. */
struct adp_error *adp_state_check_pipeline(const struct adp_state *,
                                           const struct adp_pipeline *pipeline,
                                           uint64_t options)
    OVS_WARN_UNUSED_RESULT;
/* The records, as they are until all that is under way is in force.  While
 * something is under way this may copy the model. */
const struct adp_model *adp_state_model(const struct adp_state *);
/* Those of one kind, ordered by name, without a copy of the others; good until
 * the state goes on.  Caller frees the array. */
const struct adp_record **adp_state_sorted(const struct adp_state *,
                                           enum adp_kind, size_t *n);
/* How many these are, without a copy. */
size_t adp_state_n_records(const struct adp_state *);
/* While the state is busy, neither of before nor of after. */
const struct adp_index *adp_state_index(const struct adp_state *);
/* As adp_pipeline_find_rule(). */
bool adp_state_find_rule(const struct adp_state *, uint32_t conj_id,
                         const struct adp_network_policy **,
                         const struct adp_network_policy_rule **);
char *adp_state_describe_conj(const struct adp_state *, uint32_t conj_id);
char *adp_state_describe_group(const struct adp_state *, uint32_t group_id);
char *adp_state_describe_applied(const struct adp_state *, uint32_t id);
char *adp_state_describe_mark(const struct adp_state *, uint32_t mark);
/* The meters in force. */
const struct adp_meters *adp_state_meters(const struct adp_state *);
char *adp_state_describe_vlan(const struct adp_state *, uint32_t vlan);
/* The L7 rules in force (pipeline-l7.h). */
struct json *adp_state_l7_rules(const struct adp_state *);
/* For counters by policy rule and Service (pipeline-metrics.h); to be
 * destroyed before the state changes. */
struct adp_metrics *adp_state_metrics(const struct adp_state *);

/* The names that the rules in force ask for, into 'names', which this
 * initializes, and a number that changes when these may have.  The state may
 * be busy. */
void adp_state_get_fqdns(const struct adp_state *, struct sset *names);
uint64_t adp_state_fqdns_seq(const struct adp_state *);
/* As adp_engine_is_valid(), and adp_engine_allows_igmp().  The state must not
 * be busy. */
bool adp_state_knows_rules(const struct adp_state *);
bool adp_state_allows_igmp(const struct adp_state *, const char *pod,
                           uint8_t type, ovs_be32 group, uint32_t *conj_id);

/* Each may be NULL.  'clear' starts from an empty state (replace).  'patch'
 * (model-patch.h) is about the records that were there before.
 *
 * Unless 'source' is ADP_STATE_CALLS it is about records that are the daemon's
 * own (adp_kind_is_own()), 'apply' and 'delete' are given, and nothing else.
 * It makes no new generation. */
struct adp_state_change {
    enum adp_state_source source;
    bool clear;
    const struct json *apply;
    const struct json *delete;
    const struct json *patch;
    bool ignore_missing;
    const uint64_t *if_generation;
};
/* '*n_applied' counts patches, too. */

/* A transaction and what came of it, shared between who asked for it and the
 * state. */
struct adp_state_call {
    bool done;                  /* The rest is good only then. */
    struct adp_error *error;    /* NULL: all is in force. */
    size_t n_applied, n_deleted;
    uint64_t generation;        /* Of the state, afterwards. */
    char *warning;              /* As adp_state_warning() then. */

    unsigned int n_refs;        /* Private, as is... */
    struct state_part *waits;   /* ...its place in the queue, or NULL. */
};

/* Puts a transaction behind others that wait for their turn; the state may be
 * busy.  Who calls has adp_state_serve() called soon.  Not for records that
 * are the daemon's own. */
struct adp_state_call *adp_state_submit(struct adp_state *,
                                        const struct adp_state_change *)
    OVS_WARN_UNUSED_RESULT;
/* Goes on with those that wait, several at a time (adp-state-group.h), until
 * all have ended, one takes longer, or the turn is over. */
void adp_state_serve(struct adp_state *);
/* Does one wait for its turn? */
bool adp_state_has_calls(const struct adp_state *);

/* Begins a transaction, past those that wait, and ends it if it isn't large.
 * The state must not be busy. */
struct adp_state_call *adp_state_transact(struct adp_state *,
                                          const struct adp_state_change *)
    OVS_WARN_UNUSED_RESULT;
void adp_state_call_unref(struct adp_state_call *);
/* If its turn hasn't come yet, it never does: nobody waits for it any more. */
void adp_state_call_cancel(struct adp_state_call *);

#endif /* adp-state.h */
