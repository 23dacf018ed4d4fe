/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STATE_PRIVATE_H
#define ADP_STATE_PRIVATE_H 1

/* What a state (adp-state.h) consists of, for its own files. */

#include <stdbool.h>
#include <stdint.h>
#include "adp-commit.h"
#include "adp-state.h"
#include "model.h"
#include "openvswitch/list.h"
#include "pipeline-gen.h"
#include "sset.h"

struct adp_disk_change;
struct adp_engine;
struct adp_job;
struct state_part;
struct adp_state_disk;

/* Records, and what these list, above which it is left to a job. */
#define ADP_STATE_LARGE 100

/* What is under way, step by step. */
enum state_phase {
    PHASE_IDLE,
    PHASE_PREPARE,              /* The model changes, is checked, flows are
                                 * made.  Nobody else sees anything of it. */
    PHASE_STORE,                /* It goes to the disk. */
    PHASE_COMMIT,               /* Flows go into the bridge. */
    PHASE_AGAIN,                /* Somebody flushed it meanwhile: all flows
                                 * are to go into it. */
    PHASE_CLEAN,                /* All is in force: what was before goes. */
    PHASE_UNDO,                 /* It failed: all becomes what it was. */
};

/* What becomes the state when its flows are in the bridge. */
struct next_state {
    enum adp_commit_how how;
    /* The bridge may get another one, or none, while it is prepared. */
    const struct adp_pipeline *pipeline;
    struct adp_model_env env;
    uint64_t ports_seq;
    size_t n_records_before;    /* In the model. */
    bool large;                 /* Preparing, cleaning and undoing are jobs. */
    bool brings_back;           /* What was lost before there was a commit. */
    bool made_flows;            /* The engine has run, */
    struct adp_error *error;    /* or why not. */
    bool has_meters;            /* The bridge has those of the engine. */

    /* Of a change of options, which 'env' has as they become. */
    bool sets_options;
    bool has_options;           /* The bridge has them. */
    uint64_t old_options;

    /* Calls (adp-state-group.h); none if ports, round or pipeline asked for
     * it. */
    struct state_part **parts;
    size_t n_parts, allocated_parts;
    size_t weight;              /* Of all of them. */
    size_t n_changes;           /* How many of them change the generation. */
    bool own;                   /* The records are the daemon's own. */
    bool clear;

    /* On the disk. */
    bool restores;              /* All is to become what is there, */
    uint64_t restored;          /* which is of this generation. */
    struct adp_disk_change *changes;    /* What the disk is given, or NULL. */
    bool is_storing, is_stored;
    bool is_taken_back;         /* That is under way. */
};

struct adp_state {
    struct adp_bridge *bridge;
    uint64_t generation;

    /* What was asked for; in the course of a transaction what it makes of
     * it. */
    struct adp_model *model;
    struct adp_model *before;   /* The model as it was before the transaction
                                 * under way, if somebody asked; else NULL. */
    struct adp_index *index;    /* Of 'model' while nothing is under way. */

    /* What is in the bridge because of it. */
    struct adp_engine *engine;
    struct adp_meters meters;
    struct sset fqdns;          /* Names that its rules ask for, each once, */
    uint64_t fqdns_seq;         /* as the engine had them then. */
    uint64_t ports_seq;         /* Ports that its flows were made for, or
                                 * UINT64_MAX before the first time. */
    uint16_t round;             /* In the cookies of its flows. */
    bool synced;                /* False until there are flows, and after the
                                 * bridge refused a change: what is really
                                 * there is in doubt then, and the next change
                                 * installs everything. */

    struct ovs_list queue;      /* Calls that wait: "struct state_part"s. */

    /* What is under way: at most one transaction, and one job of it. */
    enum state_phase phase;
    struct next_state next;
    struct adp_job *job;        /* NULL: none. */
    struct adp_commit *commit;  /* While committing. */
    struct state_reading {
        struct adp_job *job;    /* NULL: nobody reads in slices. */
        void (*end)(void *aux);
        void *aux;
        bool rests;             /* One has ended: others have their turn. */
    } reading;
    char *options_error;        /* Of the last change of options, or NULL. */
    bool has_news;              /* For a call that has ended. */
    bool lacks_l7_port;         /* L7 rules let nothing pass, which is said in
                                 * the log. */
    bool leaves_out;            /* As adp_state_warning() says, which was
                                 * logged. */
    bool lost_flows;            /* To be installed by 'commit' or, if there is
                                 * one already, once more at its end. */
    uint64_t tried_ports_seq;   /* What the transaction under way, or the */
    uint16_t tried_round;       /* last one, was made for. */
    enum adp_state_source last; /* Whose it was.  ADP_STATE_CALLS also when
                                 * others had their turn since. */

    /* On the disk. */
    struct adp_state_disk *disk; /* NULL: the state isn't there. */
    bool is_closed;             /* What is there isn't restored yet. */
    char *restore_error;        /* Why it couldn't be, or NULL. */
    long long int next_restore; /* Tried again then. */
    struct json *gathered;      /* Records for a snapshot. */
    struct json *used;          /* To be freed in slices. */
};

/* Busy, but for what is still to begin. */
bool adp_state_is_at_work(const struct adp_state *);
/* Is the disk all that it waits for? */
bool adp_state_waits_for_disk(const struct adp_state *);

#endif /* adp-state-private.h */
