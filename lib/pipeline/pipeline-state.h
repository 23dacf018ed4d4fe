/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_STATE_H
#define ADP_PIPELINE_STATE_H 1

/* IDs of conjunctions and groups, by what they stand for, and the priorities
 * of policy rules.
 *
 * An ID belongs to a key, a text that identifies the object, for as long as
 * each generation asks for it.  IDs that a generation didn't ask for are free
 * again, but not given out before all higher ones were: connections in flight
 * may still carry them in their labels.
 *
 * Who makes no generations, but changes, asks for IDs and gives them back with
 * adp_ids_release() until adp_pipeline_state_commit(); up to then an ID that
 * was given back stays its key's, unless all others are in use: then another
 * key gets it, so that what there will be is what counts for the limit.  (Who
 * would have their key's ID stay asks for it before others ask for new ones.)
 * adp_pipeline_state_rollback() undoes all, the priorities too.  Who asks what
 * IDs stand for is told what they stood for at the last commit.
 *
 * Thread-safety: as the model.
 * Cost: a request is one look-up in a hash table; a clone copies everything.
 */

#include "model-ip.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "openvswitch/shash.h"
#include "pipeline-priority.h"
#include "pipeline.h"

struct adp_record;

/* What an ID stands for. */
struct adp_id_part {
    const struct adp_record *record; /* A NetworkPolicy or a Service, or what
                                      * applies to Pods, */
    size_t index;                    /* and which of its rules or ports. */
    enum adp_family family;          /* Group: of its endpoints, */
    bool local;                      /* and local ones only? */
};

struct adp_ids {
    struct shash by_key;        /* Contains struct adp_ids. */
    struct hmap by_id;
    uint32_t next;              /* Where to look for a free ID. */
    uint32_t max;

    /* Since the last commit or rollback. */
    struct ovs_list touched;    /* IDs that are new, were given back, or stand
                                 * for something else. */
    size_t n_released;          /* Of all: given back, and not taken again. */
    uint32_t old_next;
};

/* Egress IPs of a Node: their marks have eight bits, and number meters. */
#define ADP_MAX_EGRESS_MARKS (ADP_N_METERS - 1)

/* L7 rules in force on a Node: the VLANs that there are. */
#define ADP_MAX_L7_VLANS 4094

/* The conjunction of DNS answers that are read for the names of rules: no rule
 * gets this ID. */
#define ADP_NAMES_CONJ_ID UINT32_MAX

/* As many tables of a pipeline may have rules with priorities of their own. */
#define ADP_MAX_RANKED_TABLES 10

struct adp_pipeline_state {
    struct adp_ids conjs;
    struct adp_ids groups;
    struct adp_ids applied;     /* Of TrafficControls and egress IPs. */
    struct adp_ids marks;       /* Of egress IPs of this Node, in packets'
                                 * marks. */
    struct adp_ids vlans;       /* Of L7 rules. */

    /* Which table has which is up to the pipeline. */
    struct adp_priorities priorities[ADP_MAX_RANKED_TABLES];
    const struct adp_pipeline *pipeline;

    /* As they were at the last commit or rollback; only those in 'saved',
     * which has bits 1 << table. */
    struct adp_priorities old_priorities[ADP_MAX_RANKED_TABLES];
    const struct adp_pipeline *old_pipeline;
    unsigned int saved;
};

/* Starts and ends a generation; only the IDs that adp_ids_get() asks for in
 * between stay, and the priorities only if it is for the same pipeline as the
 * one before. */
void adp_pipeline_state_begin(struct adp_pipeline_state *,
                              const struct adp_pipeline *);
void adp_pipeline_state_end(struct adp_pipeline_state *);

/* Changes.  The priorities are to be saved, table by table, before they
 * change; those of another pipeline are forgotten. */
void adp_pipeline_state_use(struct adp_pipeline_state *,
                            const struct adp_pipeline *);
struct adp_priorities *adp_pipeline_state_save(struct adp_pipeline_state *,
                                               size_t table);
/* Gives all IDs back. */
void adp_pipeline_state_release_all(struct adp_pipeline_state *);
void adp_pipeline_state_commit(struct adp_pipeline_state *);
void adp_pipeline_state_rollback(struct adp_pipeline_state *);

/* Returns the ID of 'key', 0 if there are no more.  'description' is taken,
 * 'part' is copied with a reference to the record. */
uint32_t adp_ids_get(struct adp_ids *, const char *key,
                     const struct adp_id_part *part, char *description);
/* Has 'key' an ID, perhaps one that was given back? */
bool adp_ids_has(const struct adp_ids *, const char *key);
/* Gives an ID back. */
void adp_ids_release(struct adp_ids *, uint32_t id);
/* A number that goes with an ID, from when it was given out; at first 0. */
unsigned int adp_ids_get_note(const struct adp_ids *, uint32_t id);
void adp_ids_set_note(struct adp_ids *, uint32_t id, unsigned int note);

/* What the ID stood for at the last commit, as long as 'ids' is unchanged, or
 * NULL. */
const struct adp_id_part *adp_ids_find(const struct adp_ids *, uint32_t id);

/* Calls 'cb' for each ID with what it stood for at the last commit; the parts
 * live as long as 'ids' is unchanged. */
void adp_ids_for_each(const struct adp_ids *,
                      void (*cb)(uint32_t id, const struct adp_id_part *,
                                 void *aux),
                      void *aux);

#endif /* pipeline-state.h */
