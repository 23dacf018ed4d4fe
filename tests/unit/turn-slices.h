/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_TURN_SLICES_H
#define TESTS_TURN_SLICES_H 1

/* Slices of a turn that end after so many steps each, instead of adp-turn.c. */

#include "adp-turn.h"

static size_t slice_size;

void
adp_turn_slice_init(struct adp_turn_slice *slice)
{
    slice->ends = slice_size;
}

bool
adp_turn_slice_goes_on(struct adp_turn_slice *slice)
{
    return slice->ends-- > 0;
}

#endif /* turn-slices.h */
