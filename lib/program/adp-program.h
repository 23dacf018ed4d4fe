/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PROGRAM_H
#define ADP_PROGRAM_H 1

/* A program: all tables and groups of a bridge in one version, compiled.
 *
 * A program is immutable.  adp_compile() makes the next one from the present
 * one and a delta; what the delta leaves alone is shared between the two by
 * reference.  The caller publishes programs with an OVSRCU pointer; readers
 * that got one keep it, whole, until they quiesce.
 *
 * The delta may hold an addition and a removal of the same rule in either
 * order: they cancel out.
 *
 * adp_compile() never fails: an action that has no op becomes a punt op, a
 * group that doesn't exist drops as in OpenFlow.
 *
 * Programs form a line: adp_compile() may be called once on each.
 *
 * Cost: a compile costs what the delta costs, however large the tables.
 * adp_program_unref() leaves the work to the thread that runs RCU callbacks.
 */

#include "adp-answer.h"
#include "adp-change-log.h"
#include "adp-cow.h"
#include "adp-metadata.h"
#include "adp-reads.h"
#include "adp-recent.h"
#include "adp-rules.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/hmap.h"
#include "openvswitch/ofp-table.h"

#define ADP_N_TABLES 255        /* Table 254 is internal, 255 means "all". */

struct adp_match;               /* A matcher, see adp-match.h. */

struct adp_table {
    struct adp_match *match;
    size_t n_rules;

    /* How many rules match on each word of metadata, and on more than that. */
    uint32_t n_metadata[ADP_N_METADATA_WORDS];
    uint32_t n_beyond;
    uint32_t n_punts;           /* Rules whose actions punt. */
};

/* What happened to a table. */
struct adp_table_log {
    struct adp_change_log changes;
    struct adp_recent recent;
};

struct adp_program {
    struct ovs_refcount ref_cnt;
    uint64_t generation;        /* 1, 2, 3, ... */
    struct adp_table *tables[ADP_N_TABLES]; /* NULL if empty. */
    uint8_t misses[ADP_N_TABLES];   /* enum ofputil_table_miss. */
    uint32_t declared[ADP_N_TABLES]; /* adp_delta_declare_metadata(). */
    struct adp_answers answers; /* Packet-ins that are answered here. */
    uint64_t settings_changed;  /* Generation of 'misses' and 'answers': what
                                 * the same flows mean. */
    struct adp_group_map *groups;

    uint32_t reads;             /* ADP_READS_* of all rules and groups. */
    unsigned long learn_tables[ADP_TABLE_SET_LONGS]; /* That learn()s fill. */

    struct adp_table_log *logs[ADP_N_TABLES]; /* NULL if never changed. */
    struct adp_program_counts *counts;

    /* Freed, together with 'garbage', when neither readers nor the program
     * before have use for it. */
    struct ovs_refcount life_cnt;
    struct adp_program *successor;  /* Owned 'life_cnt'. */
    struct adp_garbage garbage;     /* What the successor lacks. */
};

struct adp_delta;

struct adp_delta *adp_delta_create(void);
void adp_delta_destroy(struct adp_delta *);
bool adp_delta_is_empty(const struct adp_delta *);
/* Each takes a reference of its own.  Rules are told apart by address. */
void adp_delta_add_rule(struct adp_delta *, struct adp_rule *);
/* Returns false if it had been added to this delta: that has nothing of it
 * then. */
bool adp_delta_remove_rule(struct adp_delta *, struct adp_rule *);
void adp_delta_set_group(struct adp_delta *, struct adp_group *);
void adp_delta_remove_group(struct adp_delta *, uint32_t group_id);
/* What becomes of packets that no rule of the table matches. */
void adp_delta_set_miss(struct adp_delta *, uint8_t table_id,
                        enum ofputil_table_miss);
/* Which packet-ins are answered in place of controllers.  NULL: as before. */
void adp_delta_set_answers(struct adp_delta *, const struct adp_answers *);
/* For each table: it will have many rules, whatever it has now, which match on
 * these words of metadata and on nothing else: for adp_program_metadata().  0:
 * nothing is known.  It may prove wrong.  NULL: as before. */
void adp_delta_declare_metadata(struct adp_delta *,
                                const uint32_t words[ADP_N_TABLES]);

struct adp_program *adp_program_create(void);   /* Empty, generation 1. */
struct adp_program *adp_compile(const struct adp_program *,
                                const struct adp_delta *);
struct adp_program *adp_program_ref(const struct adp_program *); /* Tests. */
void adp_program_unref(struct adp_program *);   /* RCU-postponed free. */

const struct adp_group *adp_program_get_group(const struct adp_program *,
                                              uint32_t group_id);

/* Bytes of all that was compiled: matchers and ops.  The matches and actions
 * as they were given don't count.  Cheap, whatever the number of rules. */
size_t adp_program_size(const struct adp_program *);

/* The latest generation in which the table changed at 'priority' or above, 0
 * if never.  A rule that takes the place of one with the same match, clauses
 * and actions is no change.  What a miss means is below all priorities.
 *
 * An answer of the table holds as long as this is not later than the program
 * that gave it, for the priority that adp_match_lookup() leaves in the
 * scratch: that of the rule is not always low enough. */
uint64_t adp_program_changed(const struct adp_program *, uint8_t table_id,
                             int priority);
/* The same for packets that got 'rule' at 'priority' and had the right answer
 * in generation 'since': 0 if, as far as is known, nothing has changed after
 * it that such packets may match.  Doesn't look at the rule where the table
 * hasn't changed. */
uint64_t adp_program_changed_for(const struct adp_program *, uint8_t table_id,
                                 int priority, const struct adp_rule *rule,
                                 uint64_t since);
/* If the table has many rules, or is declared to have them later, and what it
 * answers depends on nothing but metadata of packets (adp-metadata.h): the
 * words of them, with those that are declared, at least one.  0 otherwise. */
uint32_t adp_program_metadata(const struct adp_program *, uint8_t table_id);

/* True if a rule of the table, of 'priority' or above, matches on any bit of
 * 'mask'. */
bool adp_program_reads(const struct adp_program *, uint8_t table_id,
                       const struct flow *mask, int priority);
/* The latest generation in which the group came, changed or went, 0 if never.
 * What is said of a group that isn't there may be too late, not too early. */
uint64_t adp_program_group_changed(const struct adp_program *,
                                   uint32_t group_id);

/* Per table: number of flows, the matcher and its size, what a miss does
 * unless that is the default; then each flow that became a punt, with the
 * reason.  'table_name' may return NULL. */
void adp_program_format(const struct adp_program *, struct ds *,
                        const char *(*table_name)(uint8_t id, void *aux),
                        void *aux);

#endif /* adp-program.h */
