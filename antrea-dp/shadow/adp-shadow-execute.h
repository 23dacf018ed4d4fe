/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHADOW_EXECUTE_H
#define ADP_SHADOW_EXECUTE_H 1

/* Datapath actions carried out on a copy of a sampled packet, and on nothing
 * else.
 *
 * What becomes of the packet is a list of effects as text: what is sent where,
 * with all its bytes, what conntrack, a meter or a controller is asked or
 * told.  Two ways to handle a packet are the same if their effects are,
 * however their actions say it.
 *
 * Conntrack isn't asked: to the first ct() it says what it said to the first
 * one of decide()'s walk, and so on.
 *
 * What is behind a tunnel's header is told as actions, since the header isn't
 * pushed.
 *
 * Thread-safety: none needed, there is no state.  Cost: that of the actions,
 * and of text; bounded by ADP_SHADOW_MAX_EFFECTS and the nesting of clones.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "svec.h"

struct adp_sample;
struct adp_sample_bytes;
struct dp_packet;
struct nlattr;

#define ADP_SHADOW_MAX_EFFECTS 64
#define ADP_SHADOW_MAX_DEPTH 16

/* Why a packet can't be compared. */
#define ADP_SHADOW_UNFIT_REASONS                                            \
    X(STOCK, "stock", "upstream handles it anyway")                         \
    X(HELD, "held", "it waits until the daemon read it")                    \
    X(LEARNED, "learned", "it hit a flow that isn't in OpenFlow's tables "  \
      "yet")                                                                \
    X(TUNNEL, "tunnel", "no way into its tunnel, or one of before a "       \
      "change")                                                             \
    X(BUCKET, "bucket", "upstream can't be led to the bucket that was "     \
      "chosen")                                                             \
    X(AMBIGUOUS, "ambiguous", "two flows of one priority fit, of which "    \
      "either may be hit")                                                  \
    X(LONG, "long", "too much to keep")                                     \
    X(ACTION, "action", "an action that can't be followed")

enum adp_shadow_unfit {
    ADP_SHADOW_FIT,
#define X(SYMBOL, NAME, TEXT) ADP_SHADOW_##SYMBOL,
    ADP_SHADOW_UNFIT_REASONS
#undef X
    ADP_SHADOW_N_UNFIT
};

struct adp_shadow_run {
    const struct adp_sample *sample;
    struct svec *effects;
    enum adp_shadow_unfit unfit;
    size_t n_answers;           /* Of conntrack's that were given. */
    bool is_astray;             /* More were asked for than there are. */
    unsigned int depth;

    /* Another pass, by which the packet goes; NULL: there are none.  And what
     * it finds as the datapath's hash. */
    void (*recirculate)(struct adp_shadow_run *, struct dp_packet *,
                        uint32_t recirc_id);
    uint32_t (*hash)(struct adp_shadow_run *);
};

/* Makes effects; 'packet' is changed.  Once the run is unfit they mean
 * nothing. */
void adp_shadow_execute(struct adp_shadow_run *, struct dp_packet *packet,
                        const struct nlattr *actions, size_t actions_len);

/* The packet whose beginning 'bytes' are, of the sample, made shorter if the
 * rest is missing: with lengths that fit.  The caller frees it. */
struct dp_packet *adp_shadow_packet(const struct adp_sample *,
                                    const struct adp_sample_bytes *bytes);

/* Is the effect on conntrack?  Is it a controller, ...  a meter? */
bool adp_shadow_effect_is_ct(const char *effect);
bool adp_shadow_effect_is_controller(const char *effect);
bool adp_shadow_effect_is_meter(const char *effect);

#endif /* adp-shadow-execute.h */
