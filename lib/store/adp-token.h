/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_TOKEN_H
#define ADP_TOKEN_H 1

/* What sessions and cached walks hold of a verdict in the store (adp-store.h):
 * which one it is, and when it was found right.
 *
 * A token keeps nothing alive.  When its verdict has left, another may have
 * come into the slot, but that has another life. */

#include <stdint.h>

struct adp_token {
    uint32_t slot;
    uint32_t life;              /* Never 0. */
    uint32_t generation;        /* Of the program. */
    uint32_t learn_seq;         /* Of learned flows. */
};

#endif /* adp-token.h */
