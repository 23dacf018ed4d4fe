/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_JOURNAL_H
#define ADP_JOURNAL_H 1

/* What upstream tells of changes to a bridge's tables, on its way into the
 * next program.
 *
 * Thread-safety: as annotated; without an annotation for the main thread.
 * Cost: of a version, what changed with it.
 */

#include <stdbool.h>
#include <stdint.h>
#include "ofproto/ofproto-provider.h"

struct adp_answers;
struct adp_bridge;

void adp_journal_rule_inserted(struct adp_bridge *, struct rule *)
    OVS_REQUIRES(ofproto_mutex);
void adp_journal_rule_removed(struct adp_bridge *, struct rule *)
    OVS_REQUIRES(ofproto_mutex);
/* Counts a flow that upstream learns in the translation of a packet, about to
 * be inserted.  Returns false if there may be no more. */
bool adp_journal_may_learn(struct adp_bridge *, const struct rule *)
    OVS_REQUIRES(ofproto_mutex);
void adp_journal_group_changed(struct adp_bridge *, uint32_t group_id)
    OVS_REQUIRES(ofproto_mutex);
void adp_journal_close_version(struct adp_bridge *)
    OVS_REQUIRES(ofproto_mutex);

/* Uncounts a learned flow that OpenFlow refused. */
void adp_journal_run(struct adp_bridge *);
/* Takes over what table-mods said of misses, if anything is new. */
void adp_journal_read_misses(struct adp_bridge *);

/* Calls 'cb' for each flow that OpenFlow has and that is in part 'part' of
 * ADP_JOURNAL_PARTS, which are of about the same size; a flow stays in its
 * part. */
#define ADP_JOURNAL_PARTS 64
void adp_journal_for_each(const struct adp_bridge *, size_t part,
                          void (*cb)(const struct rule *, void *aux),
                          void *aux);

/* From the next version on these packet-ins are answered, not sent. */
void adp_journal_set_answers(struct adp_bridge *, const struct adp_answers *);
/* The same for each of ADP_N_TABLES: adp_delta_declare_metadata(). */
void adp_journal_declare_metadata(struct adp_bridge *,
                                  const uint32_t *words);
/* What of these two no version has brought comes into force now. */
void adp_journal_publish_settings(struct adp_bridge *);

/* Has somebody who puts all flows back when they were flushed?  Then the
 * version that has none closes the bridge. */
void adp_journal_keep_pipeline(struct adp_bridge *, bool keeps);
/* What was since the last call. */
struct adp_journal_flush {
    bool emptied;               /* There was such a version. */
    bool filled;                /* A version put something into a bridge that
                                 * had no flow. */
};
void adp_journal_take_flush(struct adp_bridge *, struct adp_journal_flush *);
/* Would one of the two be true? */
bool adp_journal_was_flushed(struct adp_bridge *);

#endif /* adp-journal.h */
