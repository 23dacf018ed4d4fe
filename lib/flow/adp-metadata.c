/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-metadata.h"

#include "flow.h"
#include "hash.h"
#include "openvswitch/match.h"
#include "ovs-thread.h"
#include "util.h"

/* Where the words are in a struct flow, and which bits of them are
 * metadata. */
static struct metadata_word {
    size_t index;
    uint64_t mask;
} places[ADP_N_METADATA_WORDS];

#define FILL(MASK, MEMBER) memset(&(MASK)->MEMBER, 0xff, sizeof (MASK)->MEMBER)

static void
places_init(void)
{
    struct flow mask;
    size_t n = 0;

    memset(&mask, 0, sizeof mask);
    FILL(&mask, metadata);
    FILL(&mask, regs);
    FILL(&mask, pkt_mark);
    FILL(&mask, in_port);
    FILL(&mask, ct_state);
    FILL(&mask, ct_zone);
    FILL(&mask, ct_mark);
    FILL(&mask, packet_type);
    FILL(&mask, ct_label);
    FILL(&mask, dl_type);
    for (size_t i = 0; i < FLOW_U64S; i++) {
        uint64_t word = flow_u64_value(&mask, i);

        if (word) {
            ovs_assert(n < ADP_N_METADATA_WORDS);
            places[n++] = (struct metadata_word) { .index = i, .mask = word };
        }
    }
    ovs_assert(n == ADP_N_METADATA_WORDS);
}

static void
init_once(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    if (ovsthread_once_start(&once)) {
        places_init();
        ovsthread_once_done(&once);
    }
}

static uint32_t
set_of_word(size_t index, uint64_t mask)
{
    for (size_t i = 0; i < ADP_N_METADATA_WORDS; i++) {
        if (places[i].index == index) {
            return 1u << i | (mask & ~places[i].mask ? ADP_METADATA_BEYOND
                              : 0);
        }
    }
    return ADP_METADATA_BEYOND;
}

uint32_t
adp_metadata_of_match(const struct minimatch *match)
{
    const struct minimask *mask = match->mask;
    uint32_t set = 0;
    size_t index;

    init_once();
    FLOWMAP_FOR_EACH_INDEX (index, mask->masks.map) {
        set |= set_of_word(index, miniflow_get(&mask->masks, index));
    }
    return set;
}

void
adp_metadata_from_flow(struct adp_metadata *m, uint32_t words,
                       const struct flow *flow)
{
    size_t n = 0;

    memset(m, 0, sizeof *m);
    m->words = words;
    for (; words; words = zero_rightmost_1bit(words)) {
        const struct metadata_word *place = &places[raw_ctz(words)];

        m->values[n++] = flow_u64_value(flow, place->index) & place->mask;
    }
}

void
adp_metadata_to_flow(const struct adp_metadata *m, struct flow *flow)
{
    uint32_t words = m->words;
    size_t n = 0;

    memset(flow, 0, sizeof *flow);
    for (; words; words = zero_rightmost_1bit(words)) {
        *flow_u64_lvalue(flow, places[raw_ctz(words)].index) = m->values[n++];
    }
}

bool
adp_metadata_equal(const struct adp_metadata *a, const struct adp_metadata *b)
{
    return (a->words == b->words
            && !memcmp(a->values, b->values,
                       count_1bits(a->words) * sizeof *a->values));
}

uint32_t
adp_metadata_hash(const struct adp_metadata *m, uint32_t basis)
{
    return hash_words64(m->values, count_1bits(m->words),
                        hash_int(m->words, basis));
}
