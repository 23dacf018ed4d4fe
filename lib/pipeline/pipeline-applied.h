/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_APPLIED_H
#define ADP_PIPELINE_APPLIED_H 1

/* What applies to Pods and is no policy: Egresses and TrafficControls.
 *
 * Each has flows of its own, and flows for each of the Pods of this Node that
 * it applies to.  Of several of one kind that apply to a Pod the first by name
 * has the Pod; of Egresses the first of each family.
 *
 * A TrafficControl has an ID, and an egress IP one, which is that of all
 * Egresses with this address.  An egress IP of this Node has a mark as well,
 * of which there are ADP_MAX_EGRESS_MARKS.
 *
 * Thread-safety: as the model.
 */

#include "pipeline-gen.h"

struct adp_pipeline_parts;

struct adp_applied {
    const struct adp_record *record;
    uint32_t id;                /* The object of its flows' cookies. */
    uint32_t mark;              /* Of an Egress; 0: not of this Node. */
    bool limited;               /* The meter 'mark' limits what leaves with its
                                 * address. */
};

/* The kinds, in the order in which their records get IDs. */
#define ADP_APPLIED_KINDS { ADP_KIND_EGRESS, ADP_KIND_TRAFFIC_CONTROL }
#define ADP_N_APPLIED_KINDS 2
extern const enum adp_kind adp_applied_kinds[ADP_N_APPLIED_KINDS];

/* Sets the ID and the mark.  Without one left notes an error.
 *
 * An egress IP's meter is as the first by name of its Egresses says that has a
 * bandwidth: records are to be assigned in order, and after all those of one
 * address adp_applied_find_limit() tells of each whether it is limited.  Those
 * whose address has a mark already come before all others if they are to keep
 * it where nearly all are in use. */
bool adp_applied_has_mark(const struct adp_generator *,
                          const struct adp_applied *);
void adp_applied_assign(struct adp_generator *, struct adp_applied *);
void adp_applied_find_limit(const struct adp_generator *,
                            struct adp_applied *);

/* Adds the flows of all of them. */
void adp_applied_generate(struct adp_generator *,
                          const struct adp_pipeline_parts *);

/* Records of one kind rival for a Pod only in one family: an Egress in that of
 * its address, a TrafficControl, which has both, always in the same. */
enum adp_family adp_applied_family(const struct adp_record *);

/* Is the address on this Node? */
bool adp_egress_is_local(const struct adp_generator *,
                         const struct adp_egress *);

#endif /* pipeline-applied.h */
