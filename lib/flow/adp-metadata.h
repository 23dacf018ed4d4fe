/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_METADATA_H
#define ADP_METADATA_H 1

/* What flows match on that comes with a packet and isn't in it: registers,
 * conntrack's state, zone, mark and label, where it came in; and its type,
 * which nearly every match asks for.
 *
 * Packets of very many connections are equal in that.  So a table whose flows
 * match on nothing else can be asked again on behalf of all of them, with what
 * one of them had there: what else changes in the table, and that may be a
 * lot, means nothing to them.
 *
 * Thread-safety: plain values; all functions may be called from any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADP_N_METADATA_WORDS 16

/* A bit for each word of metadata, and one for anything beyond them. */
#define ADP_METADATA_BEYOND (1u << ADP_N_METADATA_WORDS)

struct flow;
struct minimatch;

uint32_t adp_metadata_of_match(const struct minimatch *);

/* The words of a set, one after the other, and nothing beyond them. */
struct adp_metadata {
    uint32_t words;
    uint64_t values[ADP_N_METADATA_WORDS];      /* Zeros behind the last. */
};

void adp_metadata_from_flow(struct adp_metadata *, uint32_t words,
                            const struct flow *);
/* A flow with nothing but the metadata. */
void adp_metadata_to_flow(const struct adp_metadata *, struct flow *);
bool adp_metadata_equal(const struct adp_metadata *,
                        const struct adp_metadata *);
uint32_t adp_metadata_hash(const struct adp_metadata *, uint32_t basis);

#endif /* adp-metadata.h */
