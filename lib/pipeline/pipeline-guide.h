/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_GUIDE_H
#define ADP_PIPELINE_GUIDE_H 1

/* A pipeline in words: what its tables are for, and what the bits of its
 * vocabulary (pipeline-text.h) mean in registers and connection marks.
 *
 * Nothing in the engine depends on it: the guide of a pipeline is what `trace`
 * tells people.  A pipeline without one is traced all the same, by its tables'
 * names and the registers' values.
 *
 * Words are parts of sentences, without a capital letter or a full stop.
 *
 * Thread-safety: immutable data.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/types.h"

struct adp_pipeline;
struct adp_text_bits;

/* A table.  Tables of one stage stand together in the pipeline. */
struct adp_guide_table {
    uint8_t id;
    const char *stage;          /* "Egress security". */
    const char *about;          /* What it does to packets: "finds ...". */
    const char *drop;           /* Why it drops packets; NULL: no reason that
                                 * holds for all of them. */
};

/* What the value of a field is. */
enum adp_guide_kind {
    ADP_GUIDE_NUMBER,
    ADP_GUIDE_IPV4,
    ADP_GUIDE_IPV6,
    ADP_GUIDE_OFPORT,
    ADP_GUIDE_RULE,             /* Conjunction ID. */
    ADP_GUIDE_GROUP,            /* ID of a Service's group. */
    ADP_GUIDE_L7_RULE,          /* VLAN of an L7 rule. */
    ADP_GUIDE_APPLIED,          /* ID of a TrafficControl or an egress IP. */
    ADP_GUIDE_EGRESS_MARK,      /* Mark of an egress IP of this Node's. */
};

/* The words for a field, "the port to leave by", for a mark, "the packet
 * comes from a local Pod", or for a constant, "the zone of all
 * connections". */
struct adp_guide_words {
    const char *name;
    const char *about;
    enum adp_guide_kind kind;
    const char *stage;          /* Field: in tables of this stage only, as
                                 * others use the bits for something else.
                                 * NULL: anywhere. */
};

/* A category of cookies, what flows bear it, "local Pods", and what the object
 * is that their low bits may name. */
struct adp_guide_cookie {
    uint8_t category;
    const char *name;           /* "NETWORK_POLICY". */
    const char *about;
    enum adp_guide_kind object; /* ADP_GUIDE_NUMBER: none. */
};

struct adp_pipeline_guide {
    const struct adp_guide_table *tables;
    size_t n_tables;
    const struct adp_guide_words *words;
    size_t n_words;
    const struct adp_guide_cookie *cookies;
    size_t n_cookies;
};

/* The pipeline may be NULL everywhere, for a bridge without one. */

/* NULL if there is no guide, or if it doesn't know the table. */
const struct adp_guide_table *adp_guide_table_find(const struct adp_pipeline *,
                                                   uint8_t table_id);
/* NULL if there are none for 'name'. */
const struct adp_guide_words *adp_guide_words_find(const struct adp_pipeline *,
                                                   const char *name);

/* NULL if the guide doesn't know the category. */
const struct adp_guide_cookie *adp_guide_cookie_find(
    const struct adp_pipeline *, uint8_t category);

/* What writing 'value' to the bits 'mask' of 'storage' means: first the marks
 * that it sets, then what is left of it as a field.  'stage' is the one of the
 * table where it happens, which may be NULL.  Returns how many meanings there
 * are. */
struct adp_guide_meaning {
    const struct adp_text_bits *bits;
    const struct adp_guide_words *words;    /* Never NULL. */
    ovs_u128 value;
};
#define ADP_GUIDE_MAX_MEANINGS 8
size_t adp_guide_decode(const struct adp_pipeline *, const char *storage,
                        ovs_u128 value, ovs_u128 mask, const char *stage,
                        struct adp_guide_meaning[ADP_GUIDE_MAX_MEANINGS]);

/* What a packet, or a connection, has in 'storage' when 'value' is there: all
 * marks, then fields with a value.  Fields that share bits are alternatives,
 * each for its stage of the pipeline.  If 'maskp' is nonnull only its bits are
 * asked about, and a zero may be a mark; else it is rather the absence of one.
 *
 * Returns how many there are, of which the first 'max' are put into
 * 'meanings', with 'words' NULL where the guide has none.  Sets '*rest' to
 * those bits of 'value' that nothing tells of. */
size_t adp_guide_explain(const struct adp_pipeline *, const char *storage,
                         ovs_u128 value, const ovs_u128 *maskp,
                         struct adp_guide_meaning meanings[], size_t max,
                         ovs_u128 *rest);

/* The guides. */
extern const struct adp_pipeline_guide adp_early_guide;
extern const struct adp_pipeline_guide adp_v115_guide;

#endif /* pipeline-guide.h */
