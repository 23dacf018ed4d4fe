/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SUMMARY_H
#define ADP_SUMMARY_H 1

/* A verdict summed up as what it does to the packet.
 *
 * Most verdicts are: ct() here and there, some headers set, one output.  The
 * summary of such a verdict says what the packet is like in the end and where
 * it goes, with conntrack left aside, so that it can be carried out without
 * upstream's executor, and be kept for the packets of a session
 * (adp-cached-verdict.h).  What isn't of that kind, and what stands behind it,
 * is left to the executor, if there is no ct() among that.  A mark of the
 * kernel's or a queue, which headers and ct()s don't depend on, is set then,
 * too.
 *
 * Thread-safety: a summary belongs to one thread, and lives as long as the
 * walk that it was made from stays as it is.
 */

#include "adp-cached-verdict.h"

/* A verdict with more in 'with_metadata' is left to the executor. */
#define ADP_SUMMARY_MAX_METADATA 256

struct adp_summary {
    const struct adp_walk *w;
    const struct flow *flow;            /* The packet as it came. */

    /* As the packet is in the end. */
    struct conntrack_peek_tuple tuple;
    struct eth_addr dl_dst, dl_src;
    uint8_t tos, ttl;

    struct adp_cached_verdict_content content;
    const struct nlattr *actions;       /* Of 'content'; in the verdict, or
                                         * 'with_metadata'. */
    size_t n_steps;

    /* The packet's mark and queue, as they are set between headers and ct()s,
     * and behind that what is left of the actions. */
    uint32_t with_metadata[ADP_SUMMARY_MAX_METADATA / sizeof(uint32_t)];
    size_t metadata_len;
};

/* Sums up what 'w' found out about the packet whose headers were those of
 * 'flow'.  Returns false if that needs the executor. */
bool adp_summary_init(struct adp_summary *, const struct adp_walk *w,
                      const struct flow *flow);

/* True if what the summary says may be kept at all. */
bool adp_summary_may_be_kept(const struct adp_summary *);

/* True if the walk met more than what is kept has room for, whether it can be
 * summed up or not: packets like this one walk again, those with more look-ups
 * once their tables have changed. */
bool adp_summary_exceeds_cache(const struct adp_walk *);

/* Completes the content for the packets that come after the one at hand on the
 * same connections, to which it makes references.  Returns false if these
 * packets may fare otherwise. */
bool adp_summary_conns(struct adp_cached_verdict_content *,
                       const struct conntrack_peek *,
                       struct conntrack_ref
                           refs[ADP_CACHED_VERDICT_MAX_CONNS]);

void adp_summary_source(const struct adp_summary *,
                        struct adp_cached_verdict_source *);

#endif /* adp-summary.h */
