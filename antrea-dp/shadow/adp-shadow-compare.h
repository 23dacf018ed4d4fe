/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHADOW_COMPARE_H
#define ADP_SHADOW_COMPARE_H 1

/* A sampled packet's verdict, what was done with it, and upstream's
 * translation, compared.
 *
 * What differs by design (docs/architecture.md) doesn't count: what the
 * datapath does itself no controller hears of.
 *
 * Thread-safety: none needed, there is no state.
 */

#include "adp-sample.h"
#include "adp-shadow-execute.h"
#include "svec.h"

struct adp_shadow_translation;

/* What may differ from upstream's translation. */
#define ADP_SHADOW_PARTS                                                    \
    X(DECIDED, "decided", "what the tables' verdict does")                  \
    X(DECIDED_FLOWS, "decided_flows", "the flows and buckets that it "      \
      "counts for")                                                         \
    X(LEARNED, "learned", "how many flows it learns")                       \
    X(DONE, "done", "what was done")                                        \
    X(DONE_FLOWS, "done_flows", "the flows and buckets that were counted")  \
    X(CONNECTIONS, "connections", "what was done to connections")

enum adp_shadow_part {
#define X(SYMBOL, NAME, TEXT) ADP_SHADOW_PART_##SYMBOL,
    ADP_SHADOW_PARTS
#undef X
    ADP_SHADOW_N_PARTS
};

const char *adp_shadow_part_name(enum adp_shadow_part);
const char *adp_shadow_unfit_name(enum adp_shadow_unfit);

struct adp_shadow_comparison {
    struct svec decided, done;  /* Effects. */
    bool differs[ADP_SHADOW_N_PARTS];
    bool any_differs;
};

/* Why the sample can't be compared, whatever upstream says, or
 * ADP_SHADOW_FIT. */
enum adp_shadow_unfit adp_shadow_sample_unfit(const struct adp_sample *);

/* Compares a sample that is fit.  Returns ADP_SHADOW_FIT, or why it isn't. */
enum adp_shadow_unfit adp_shadow_compare(const struct adp_sample *,
                                         const struct adp_shadow_translation *,
                                         struct adp_shadow_comparison *);
void adp_shadow_comparison_uninit(struct adp_shadow_comparison *);

#endif /* adp-shadow-compare.h */
