/* SPDX-License-Identifier: Apache-2.0 */

/* Which pipeline a bridge runs.
 *
 * A bridge goes from one pipeline to another, or to none, in one table
 * version: a packet meets the old tables or the new ones.  From one set of
 * options to another it goes as it does from one state to the next: in slices
 * if that is large.  A pipeline owns its bridge: what was in the tables before
 * leaves with that version, whoever put it there.  The typed state stays.
 *
 * When a change is refused the bridge keeps the pipeline that it has, and the
 * same isn't tried again until records or limits of tables are others.  A
 * bridge that begins has nothing to keep, and lets nothing pass then. */

#include <config.h>
#include "adp-bridge-pipeline.h"

#include "adp-bridge-shared.h"
#include "adp-fqdns.h"
#include "adp-multicast.h"
#include "adp-journal.h"
#include "adp-metadata.h"
#include "adp-state-disk.h"
#include "adp-state.h"
#include "adp-turn.h"
#include "hash.h"
#include "model.h"
#include "ofproto/dp-hooks-ofproto.h"
#include "openvswitch/ofp-match.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline.h"
#include "smap.h"
#include "timeval.h"
#include "uuid.h"

VLOG_DEFINE_THIS_MODULE(adp_bridge_pipeline);

#define DEFAULT_PIPELINE "v1.15"

/* How often a pipeline that OpenFlow refused is tried again. */
#define REINSTALL_INTERVAL_MS 5000

/* How often files that couldn't be moved are tried again. */
#define MOVE_INTERVAL_MS 5000

struct choice {
    const struct adp_pipeline *pipeline; /* NULL: none. */
    uint64_t options;
    bool ignores_options;               /* Some are set, for none. */
};

struct adp_bridge_pipeline {
    struct uuid uuid;                   /* Of the bridge's row, */
    struct uuid new_uuid;               /* and of the one that it has now. */
    long long int next_move;            /* If those differ; 0: at once. */
    struct choice choice;               /* That is in force. */
    char *error;                        /* NULL, or why it is not the one that
                                         * is configured. */
    bool misconfigured;                 /* Nothing that there is is. */
    bool has_begun;                     /* What was configured was in force
                                         * once. */
    struct choice wanted;               /* By the configuration, while ... */
    bool wants;                         /* ... that isn't in force yet. */
    struct choice tried;                /* What was 'wanted' when the last
                                         * attempt began. */
    bool refused;                       /* 'wanted' was, and nobody asked for
                                         * another one since: */
    uint64_t refused_generation;        /* with the records of then, */
    uint32_t refused_limits;            /* and with these limits of tables. */
    struct adp_state *state;            /* Once there was a pipeline; not in
                                         * the tables while there is none. */
    struct adp_fqdns *fqdns;            /* From the beginning. */
    struct adp_multicast *multicast;    /* The same. */
    bool bereft;                        /* The pipeline was flushed, and isn't
                                         * back yet. */
    long long int next_reinstall;       /* Of the pipeline, while 'bereft'. */
};

void
adp_bridge_pipeline_init(struct adp_bridge *b)
{
    b->pipeline = xzalloc(sizeof *b->pipeline);
    b->pipeline->fqdns = adp_fqdns_create(b);
    b->pipeline->multicast = adp_multicast_create(b);
}

/* Tries to take what is on the disk along to the row that the bridge has
 * now. */
static void
follow_row(struct adp_bridge *b)
{
    struct adp_bridge_pipeline *bp = b->pipeline;
    char *error = NULL;

    if (!bp->state) {
        error = adp_state_disk_move(NULL, adp_bridge_name(b), &bp->uuid,
                                    &bp->new_uuid);
    } else if (!adp_state_move_disk(bp->state, &bp->uuid, &bp->new_uuid,
                                    &error)) {
        bp->next_move = 0;      /* With the state's next turn. */
        return;
    }
    if (error) {
        VLOG_ERR("bridge %s: its state on the disk doesn't follow its row, "
                 "and would be missing after a restart: %s",
                 adp_bridge_name(b), error);
        free(error);
        bp->next_move = time_msec() + MOVE_INTERVAL_MS;
    } else {
        bp->uuid = bp->new_uuid;
    }
}

static bool
has_another_row(const struct adp_bridge_pipeline *bp)
{
    return !uuid_equals(&bp->uuid, &bp->new_uuid);
}

void
adp_bridge_pipeline_identify(struct adp_bridge *b, const struct uuid *uuid)
{
    struct adp_bridge_pipeline *bp = b->pipeline;

    if (uuid_is_zero(&bp->uuid)) {
        bp->uuid = *uuid;
        if (adp_bridge_is_system(b) || !adp_state_disk_is_kept()) {
            adp_state_disk_leave(adp_bridge_name(b), uuid);
        }
    }
    if (!uuid_equals(&bp->new_uuid, uuid)) {
        bp->new_uuid = *uuid;
        if (has_another_row(bp)) {
            follow_row(b);
        }
    }
}

void
adp_bridge_pipeline_uninit(struct adp_bridge *b, bool deleted)
{
    /* First, since who reads it now reads the others, too. */
    adp_state_destroy(b->pipeline->state);
    if (deleted) {
        adp_state_disk_delete(adp_bridge_name(b), &b->pipeline->uuid);
    }
    adp_fqdns_destroy(b->pipeline->fqdns);
    adp_multicast_destroy(b->pipeline->multicast);
    free(b->pipeline->error);
    free(b->pipeline);
    b->pipeline = NULL;
}

const struct adp_pipeline *
adp_bridge_pipeline(const struct adp_bridge *b)
{
    return b->pipeline->choice.pipeline;
}

uint64_t
adp_bridge_pipeline_options(const struct adp_bridge *b)
{
    return b->pipeline->choice.options;
}

const char *
adp_bridge_pipeline_error(const struct adp_bridge *b)
{
    return b->pipeline->error;
}

bool
adp_bridge_awaits_pipeline(const struct adp_bridge *b)
{
    const struct adp_bridge_pipeline *bp = b->pipeline;

    return bp->error && !bp->has_begun && !adp_bridge_is_system(b);
}

struct adp_state *
adp_bridge_state(const struct adp_bridge *b)
{
    return adp_bridge_pipeline(b) ? b->pipeline->state : NULL;
}

struct adp_fqdns *
adp_bridge_fqdns(const struct adp_bridge *b)
{
    return b->pipeline->fqdns;
}

struct adp_multicast *
adp_bridge_multicast(const struct adp_bridge *b)
{
    return b->pipeline->multicast;
}

static bool
has_multicast(const struct choice *choice)
{
    const struct adp_pipeline *p = choice->pipeline;

    return (p && p->igmp.userdata_len
            && choice->options & p->options_for_igmp);
}

/* What OpenFlow or the database calls a table. */
static const char *
given_name(const struct adp_bridge *b, uint8_t id)
{
    const struct ofproto *ofproto = &b->dpif.up;

    return id < ofproto->n_tables ? ofproto->tables[id].name : NULL;
}

const char *
adp_bridge_pipeline_table_name(uint8_t id, void *b)
{
    const struct adp_pipeline *p = adp_bridge_pipeline(b);

    for (size_t i = 0; p && i < p->n_tables; i++) {
        if (p->tables[i].id == id) {
            return p->tables[i].name;
        }
    }
    return given_name(b, id);
}

/* Appends "early (service-mac, tunnel-mark)". */
static void
choice_format(const struct choice *choice, struct ds *s)
{
    ds_put_cstr(s, choice->pipeline ? choice->pipeline->name : "none");
    if (choice->options) {
        ds_put_cstr(s, " (");
        adp_pipeline_format_options(choice->pipeline, choice->options, s);
        ds_put_char(s, ')');
    }
}

/* What the bridge's configuration asks for.  Returns NULL or an error text.
 *
 * Who makes a bridge of type "system" doesn't know that there are pipelines:
 * it is his, and must have nothing in it. */
static char *
choice_parse(const struct adp_bridge *b, struct choice *choice,
             const struct smap *other_config)
{
    bool system = adp_bridge_is_system(b);
    const char *name = smap_get_def(other_config, "antrea-dp-pipeline",
                                    system ? "none" : DEFAULT_PIPELINE);
    const char *options = smap_get_def(other_config,
                                       "antrea-dp-pipeline-options", "");
    char *error = NULL;

    choice->pipeline = adp_pipeline_find(name);
    choice->options = 0;
    choice->ignores_options = false;
    if (choice->pipeline && system) {
        return xasprintf("other_config:antrea-dp-pipeline: a bridge of type "
                         ADP_SYSTEM_TYPE" is its controller's, and can't have "
                         "\"%s\"", name);
    } else if (choice->pipeline) {
        error = adp_pipeline_parse_options(choice->pipeline, options,
                                           &choice->options);
    } else if (strcmp(name, "none")) {
        return xasprintf("other_config:antrea-dp-pipeline: no pipeline \"%s\" "
                         "(there are: none, %s)", name, adp_pipeline_names());
    } else {
        choice->ignores_options = options[strspn(options, ", ")];
    }
    if (error) {
        char *text = xasprintf("other_config:antrea-dp-pipeline-options: %s",
                               error);

        free(error);
        return text;
    }
    return NULL;
}

/* What flows need to be there before them. */

static char *
ensure_meter(struct adp_bridge *b, const char *meter)
{
    struct ofputil_meter_mod mm;
    enum ofputil_protocol usable;
    char *error = parse_ofp_meter_mod_str(&mm, meter, OFPMC13_ADD, &usable);

    if (!error) {
        enum ofperr ofperr = ofproto_ensure_meter(&b->dpif.up, &mm);

        if (ofperr) {
            error = xasprintf("meter \"%s\": %s", meter,
                              ofperr_to_string(ofperr));
        }
        free(mm.meter.bands);
    }
    return error;
}

static char *
ensure_tlv_map(struct adp_bridge *b, const char *tlv_map)
{
    struct ofputil_tlv_table_mod ttm;
    enum ofputil_protocol usable;
    char *error = parse_ofp_tlv_table_mod_str(&ttm, NXTTMC_ADD, tlv_map,
                                              &usable);
    if (!error) {
        enum ofperr ofperr = ofproto_ensure_tlv_map(&b->dpif.up, &ttm);

        if (ofperr) {
            error = xasprintf("TLV map \"%s\": %s", tlv_map,
                              ofperr_to_string(ofperr));
        }
        ofputil_uninit_tlv_table(&ttm.mappings);
    }
    return error;
}

static char *
ensure_needs(struct adp_bridge *b, const struct choice *choice)
{
    const struct adp_pipeline *p = choice->pipeline;
    char *error = NULL;

    for (size_t i = 0; p && i < p->n_meters && !error; i++) {
        error = ensure_meter(b, p->meters[i]);
    }
    for (size_t i = 0; p && i < p->n_options && !error; i++) {
        if (choice->options & UINT64_C(1) << i && p->options[i].tlv_map) {
            error = ensure_tlv_map(b, p->options[i].tlv_map);
        }
    }
    return error;
}

char *
adp_bridge_pipeline_ensure(struct adp_bridge *b)
{
    return ensure_needs(b, &b->pipeline->choice);
}

static void pursue(struct adp_bridge *);

/* When it was flushed. */

static bool
lacks_pipeline(const struct adp_bridge *b)
{
    return (adp_bridge_pipeline(b)
            && !adp_state_is_synced(b->pipeline->state));
}

/* What upstream puts into a bridge that it has flushed would be good for
 * packets that come from other bridges. */
static void
keep_empty(struct adp_bridge *b)
{
    struct adp_journal_flush known;

    free(adp_bridge_commit(b, NULL, 0, NULL, 0, true));
    adp_journal_take_flush(b, &known);
}

static void
try_pipeline(struct adp_bridge *b)
{
    adp_state_sync(b->pipeline->state, true);
    if (lacks_pipeline(b)) {
        /* It doesn't come, or comes in slices. */
        keep_empty(b);
    }
    b->pipeline->next_reinstall = time_msec() + REINSTALL_INTERVAL_MS;
}

/* Has the bridge to be without flows, as its pipeline isn't there? */
static bool
must_be_empty(const struct adp_bridge *b)
{
    const struct adp_bridge_pipeline *bp = b->pipeline;

    return (bp->choice.pipeline
            ? (bp->bereft && lacks_pipeline(b)
               && !adp_state_is_busy(bp->state))
            : adp_bridge_awaits_pipeline(b));
}

/* Is the pipeline that is asked for, or its state, not in force? */
static bool
is_closed(const struct adp_bridge *b)
{
    const struct adp_bridge_pipeline *bp = b->pipeline;

    return (bp->choice.pipeline ? adp_state_is_closed(bp->state)
            : adp_bridge_awaits_pipeline(b));
}

/* Whoever flushes the tables (set-controller does) gets the built-in pipeline
 * back: the bridge never forwards without it, and while OpenFlow refuses it no
 * packet passes. */
bool
adp_bridge_pipeline_run(struct adp_bridge *b)
{
    struct adp_bridge_pipeline *bp = b->pipeline;
    struct adp_journal_flush flush;

    adp_journal_take_flush(b, &flush);
    if (flush.emptied && bp->choice.pipeline) {
        VLOG_INFO("bridge %s: flows were flushed, installing pipeline %s "
                  "again", adp_bridge_name(b), bp->choice.pipeline->name);
        bp->bereft = true;
        try_pipeline(b);
    } else if (bp->bereft && lacks_pipeline(b)
               && !adp_state_is_busy(bp->state)
               && time_msec() >= bp->next_reinstall) {
        try_pipeline(b);
    } else if (flush.filled && must_be_empty(b)) {
        keep_empty(b);
    }
    if (bp->choice.pipeline) {
        enum adp_turn_section outer = adp_turn_enter(ADP_TURN_STATE);

        adp_state_run(bp->state);
        adp_turn_leave(outer);
    }
    if (has_another_row(bp) && time_msec() >= bp->next_move) {
        follow_row(b);
    }
    pursue(b);
    adp_fqdns_run(bp->fqdns, adp_bridge_state(b));
    adp_multicast_run(bp->multicast, adp_bridge_state(b),
                      has_multicast(&bp->choice));
    bp->bereft = bp->bereft && lacks_pipeline(b);
    return !bp->bereft && !is_closed(b);
}

void
adp_bridge_pipeline_wait(struct adp_bridge *b)
{
    if ((b->pipeline->choice.pipeline || adp_bridge_awaits_pipeline(b))
        && adp_journal_was_flushed(b)) {
        poll_immediate_wake();
    } else if (b->pipeline->bereft) {
        poll_timer_wait_until(b->pipeline->next_reinstall);
    }
    if (has_another_row(b->pipeline) && b->pipeline->next_move) {
        poll_timer_wait_until(b->pipeline->next_move);
    }
    if (b->pipeline->choice.pipeline) {
        adp_state_wait(b->pipeline->state);
    }
    adp_fqdns_wait(b->pipeline->fqdns, adp_bridge_state(b));
    adp_multicast_wait(b->pipeline->multicast, adp_bridge_state(b));
}

/* Changing. */

static struct adp_log_bits
log_bits(const struct adp_pipeline_bits *bits)
{
    return (struct adp_log_bits) {
        .reg = bits->reg,
        .first = bits->first,
        .n = bits->last - bits->first + 1,
    };
}

static void
set_log_layout(struct adp_log_layout *layout,
               const struct adp_pipeline_log *log)
{
    layout->table = log_bits(&log->table);
    layout->disposition = log_bits(&log->disposition);
    layout->denied = log_bits(&log->denied);
    layout->denied_rule = log->denied_rule;
    layout->rule[0] = log->rule[0];
    layout->rule[1] = log->rule[1];
    layout->first_ingress_table = log->first_ingress_table;
}

/* Tells packet threads which packet-ins are theirs to take care of. */
static void
set_answers(struct adp_bridge *b, const struct choice *choice)
{
    const struct adp_pipeline *p = choice->pipeline;
    struct adp_answers answers;

    memset(&answers, 0, sizeof answers);
    for (size_t i = 0; (p && !(choice->options & p->options_for_packet_ins)
                        && i < p->n_packet_ins); i++) {
        const struct adp_pipeline_packet_in *pin = &p->packet_ins[i];

        adp_answers_add(&answers, pin->userdata, pin->userdata_len,
                        pin->unreachable ? ADP_ANSWER_UNREACHABLE
                        : pin->reject ? ADP_ANSWER_PROHIBITED
                        : ADP_ANSWER_NONE, pin->log);
    }
    if (answers.n && p->log) {
        set_log_layout(&answers.log_layout, p->log);
    }
    if (p && p->names.userdata_len) {
        adp_answers_add(&answers, p->names.userdata, p->names.userdata_len,
                        ADP_ANSWER_HOLD, false);
    }
    if (has_multicast(choice)) {
        adp_answers_add(&answers, p->igmp.userdata, p->igmp.userdata_len,
                        ADP_ANSWER_READ, false);
    }
    adp_journal_set_answers(b, &answers);
}

static uint32_t
filled_words(const struct adp_pipeline *p,
             const struct adp_pipeline_filled *filled)
{
    struct minimatch match;
    uint32_t words;

    adp_pipeline_filled_match(p, filled, &match);
    words = adp_metadata_of_match(&match);
    minimatch_destroy(&match);
    return words;
}

/* Tells the bridge what flows will match on where there is none yet. */
static void
declare_metadata(struct adp_bridge *b, const struct adp_pipeline *p)
{
    uint32_t words[ADP_N_TABLES];

    memset(words, 0, sizeof words);
    for (size_t i = 0; p && i < p->n_filled_tables; i++) {
        words[p->filled_tables[i].table_id]
            = filled_words(p, &p->filled_tables[i]);
    }
    adp_journal_declare_metadata(b, words);
}

/* Packets see it with the version that comes next. */
static void
set_choice(struct adp_bridge *b, const struct choice *choice)
{
    const struct adp_pipeline *p = choice->pipeline;

    adp_bridge_unname_tables(b);
    b->pipeline->choice = *choice;
    for (size_t i = 0; p && i < p->n_tables; i++) {
        adp_bridge_name_table(b, p->tables[i].id, p->tables[i].name);
    }
    adp_journal_keep_pipeline(b, p != NULL);
    set_answers(b, choice);
    declare_metadata(b, p);
}

/* Empties the bridge, for a controller or, if there is none, for what upstream
 * does then. */
static char *
install_none(struct adp_bridge *b)
{
    char *error = adp_bridge_commit(b, NULL, 0, NULL, 0, true);

    if (!error) {
        ofproto_flush_flows(&b->dpif.up);
        if (b->pipeline->state) {
            adp_state_forget_flows(b->pipeline->state);
        }
    }
    return error;
}

/* What is on the disk comes into force in slices; until then nothing may
 * pass. */
static void
make_state(struct adp_bridge *b)
{
    struct adp_bridge_pipeline *bp = b->pipeline;

    bp->state = adp_state_create(b);
    adp_state_set_disk(bp->state, adp_state_disk_create(adp_bridge_name(b),
                                                        &bp->uuid));
    if (adp_state_is_closed(bp->state)) {
        adp_bridge_set_mode(b, true);
    }
}

/* Takes 'error', which may be NULL. */
static char *
text_of(struct adp_error *error)
{
    char *text = error ? xstrdup(error->message) : NULL;

    adp_error_destroy(error);
    return text;
}

static char *
install_pipeline(struct adp_bridge *b, bool replace)
{
    if (!b->pipeline->state) {
        make_state(b);
    }
    adp_bridge_rebuild_ports(b);
    return text_of(adp_state_install(b->pipeline->state, replace));
}

static char *
change_choice(struct adp_bridge *b, const struct choice *choice)
{
    const struct choice old = b->pipeline->choice;
    bool replace = choice->pipeline != old.pipeline;

    if (b->pipeline->state) {
        adp_state_end_reading(b->pipeline->state);
    }
    set_choice(b, choice);
    char *error = (choice->pipeline ? install_pipeline(b, replace)
                   : install_none(b));
    if (error) {
        set_choice(b, &old);
    }
    adp_journal_publish_settings(b);
    return error;
}

static void
log_refusal(const struct adp_bridge *b)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    if (adp_bridge_awaits_pipeline(b)) {
        ds_put_cstr(&s, "no packet passes");
    } else {
        ds_put_cstr(&s, "keeping pipeline ");
        choice_format(&b->pipeline->choice, &s);
    }
    VLOG_ERR("bridge %s: %s; %s", b->dpif.up.name, b->pipeline->error,
             ds_cstr(&s));
    ds_destroy(&s);
}

/* Takes 'error'; NULL if all is well. */
static void
note_error(struct adp_bridge *b, char *error)
{
    struct adp_bridge_pipeline *bp = b->pipeline;
    bool is_new = error && !nullable_string_is_equal(error, bp->error);

    free(bp->error);
    bp->error = error;
    bp->has_begun |= !error;
    if (is_new) {
        log_refusal(b);
    }
}

static bool
choice_equal(const struct choice *a, const struct choice *b)
{
    return a->pipeline == b->pipeline && a->options == b->options;
}

void
adp_bridge_pipeline_set_options(struct adp_bridge *b, uint64_t options)
{
    struct choice choice = b->pipeline->choice;

    choice.options = options;
    set_choice(b, &choice);
    adp_journal_publish_settings(b);
}

static void
log_choice(const struct adp_bridge *b)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    choice_format(&b->pipeline->choice, &s);
    VLOG_INFO("bridge %s: pipeline %s", b->dpif.up.name, ds_cstr(&s));
    ds_destroy(&s);
}

/* Only the options change, of a state that makes many flows. */
static bool
changes_slowly(const struct adp_bridge *b)
{
    const struct adp_bridge_pipeline *bp = b->pipeline;

    return (bp->choice.pipeline && bp->wanted.pipeline == bp->choice.pipeline
            && adp_state_is_large(bp->state));
}

static void
end_pursuit(struct adp_bridge *b, char *error)
{
    b->pipeline->wants = false;
    if (!error) {
        log_choice(b);
    }
    if (b->pipeline->misconfigured) {
        free(error);            /* The configuration's own stays. */
    } else {
        note_error(b, error);
    }
}

/* By which OpenFlow may refuse flows. */
static uint32_t
hash_limits(const struct adp_bridge *b)
{
    const struct ofproto *ofproto = &b->dpif.up;
    uint32_t hash = 0;

    for (int i = 0; i < ofproto->n_tables; i++) {
        hash = hash_add(hash, ofproto->tables[i].max_flows);
        hash = hash_add(hash, ofproto->tables[i].eviction);
    }
    return hash_finish(hash, ofproto->n_tables);
}

static uint64_t
generation(const struct adp_bridge_pipeline *bp)
{
    return bp->state ? adp_state_generation(bp->state) : 0;
}

/* Would it be refused again? */
static bool
stays_refused(const struct adp_bridge *b)
{
    const struct adp_bridge_pipeline *bp = b->pipeline;

    return (bp->refused && bp->refused_generation == generation(bp)
            && bp->refused_limits == hash_limits(b));
}

/* Ends an attempt.  One that has failed isn't repeated for nothing. */
static void
end_attempt(struct adp_bridge *b, char *error)
{
    struct adp_bridge_pipeline *bp = b->pipeline;

    bp->refused = error && !bp->misconfigured;
    bp->refused_generation = generation(bp);
    bp->refused_limits = hash_limits(b);
    end_pursuit(b, error);
}

/* A change has what is under way end at once, but for one in slices, and one
 * that is tried again. */
static bool
must_wait(const struct adp_bridge *b)
{
    const struct adp_bridge_pipeline *bp = b->pipeline;

    return (bp->choice.pipeline && (bp->refused || changes_slowly(b))
            && adp_state_is_busy(bp->state));
}

/* Refuses before anything has changed what the records don't permit. */
static char *
check_records(struct adp_bridge *b, const struct choice *choice)
{
    struct adp_state *state = b->pipeline->state;

    if (!state || !choice->pipeline) {
        return NULL;
    }
    adp_state_finish(state);
    return text_of(adp_state_check_pipeline(state, choice->pipeline,
                                            choice->options));
}

static void
attempt(struct adp_bridge *b)
{
    struct adp_bridge_pipeline *bp = b->pipeline;
    char *error = ensure_needs(b, &bp->wanted);

    bp->tried = bp->wanted;
    if (error) {
        end_pursuit(b, error);  /* To try again costs nothing. */
        return;
    }
    error = check_records(b, &bp->wanted);
    if (!error && changes_slowly(b)) {
        adp_state_change_options(bp->state, bp->wanted.options);
    } else {
        end_attempt(b, error ? error : change_choice(b, &bp->wanted));
    }
}

/* A bridge that awaits one is empty, even if none is what it is to have now:
 * upstream would have its own flow there. */
static bool
is_in_force(const struct adp_bridge *b, const struct choice *choice)
{
    return (choice_equal(choice, &b->pipeline->choice)
            && !adp_bridge_awaits_pipeline(b));
}

/* Goes on with what the configuration asks for. */
static void
pursue(struct adp_bridge *b)
{
    struct adp_bridge_pipeline *bp = b->pipeline;
    char *error;

    if (!bp->wants || (bp->state && adp_state_changes_options(bp->state))) {
        return;
    }

    error = bp->state ? adp_state_take_options_error(bp->state) : NULL;
    if (error && !choice_equal(&bp->wanted, &bp->tried)) {
        VLOG_WARN("bridge %s: %s; other options are asked for by now",
                  b->dpif.up.name, error);
        free(error);
        error = NULL;
    }
    if (error || is_in_force(b, &bp->wanted)) {
        end_attempt(b, error);
    } else if (!must_wait(b)) {
        attempt(b);
    }
}

/* What is wanted from now on.  A change of options that is under way ends
 * before. */
static void
want(struct adp_bridge *b, const struct choice *choice)
{
    struct adp_bridge_pipeline *bp = b->pipeline;
    bool under_way = bp->state && adp_state_changes_options(bp->state);

    bp->refused = bp->refused && choice_equal(choice, &bp->wanted);
    if (stays_refused(b)) {
        return;
    }
    if (under_way && choice->pipeline != bp->choice.pipeline) {
        adp_state_finish(bp->state);
        free(adp_state_take_options_error(bp->state));
        under_way = false;
    }
    bp->wanted = *choice;
    bp->wants = under_way || !is_in_force(b, choice);
    if (bp->wants) {
        pursue(b);
    } else {
        note_error(b, NULL);
    }
}

static void
configure(struct adp_bridge *b, const struct smap *other_config)
{
    struct adp_bridge_pipeline *bp = b->pipeline;
    bool ignored_options = bp->choice.ignores_options;
    struct choice choice;
    char *error = choice_parse(b, &choice, other_config);

    bp->misconfigured = error != NULL;
    if (error) {
        /* What hasn't begun isn't what anybody asks for any more. */
        bp->refused = false;
        bp->wanted = bp->tried;
        bp->wants &= bp->state && adp_state_changes_options(bp->state);
        note_error(b, error);
        return;
    }
    want(b, &choice);
    if (!bp->error) {
        if (choice.ignores_options && !ignored_options) {
            VLOG_WARN("bridge %s: other_config:antrea-dp-pipeline-options is "
                      "ignored while there is no pipeline",
                      adp_bridge_name(b));
        }
        bp->choice.ignores_options = choice.ignores_options;
    }
}

void
adp_bridge_pipeline_configure(struct adp_bridge *b,
                              const struct smap *other_config)
{
    configure(b, other_config);
    if (adp_bridge_awaits_pipeline(b) && adp_journal_was_flushed(b)) {
        keep_empty(b);          /* Before other bridges know of this one. */
    }
}
