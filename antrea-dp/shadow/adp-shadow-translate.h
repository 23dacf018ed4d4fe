/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHADOW_TRANSLATE_H
#define ADP_SHADOW_TRANSLATE_H 1

/* Upstream's own translation of a sampled packet, pass by pass.
 *
 * Each pass is upstream's, of the packet as the one before has left it; at a
 * ct() that begins another conntrack says what it said to decide().  Where
 * upstream would have the datapath hash the packet for a group, it finds a
 * hash that leads it to the bucket that decide() has chosen, since the choice
 * differs by design.
 *
 * Nothing is learned, counted, sent or logged: there is no packet as far as
 * upstream knows, and what it would do for one that it let pass (its "xlate
 * cache") is read and thrown away.
 *
 * Thread-safety: for the main thread.  Cost: that of some upcalls.
 */

#include "adp-sample.h"
#include "adp-shadow-execute.h"
#include "ofproto/ofproto-dpif.h"
#include "svec.h"

struct adp_bridge;

struct adp_shadow_translation {
    struct svec effects;
    struct svec passes;         /* Datapath actions of each, as text. */
    struct adp_sample_hits hits;
    size_t n_learned;
};

/* Translates with the tables of 'version'.  Returns why that can't be compared
 * with the sample, or ADP_SHADOW_FIT. */
enum adp_shadow_unfit adp_shadow_translate(struct adp_bridge *,
                                           const struct adp_sample *,
                                           ovs_version_t version,
                                           struct adp_shadow_translation *);
void adp_shadow_translation_uninit(struct adp_shadow_translation *);

#endif /* adp-shadow-translate.h */
