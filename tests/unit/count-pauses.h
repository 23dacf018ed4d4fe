/* SPDX-License-Identifier: Apache-2.0 */

#ifndef COUNT_PAUSES_H
#define COUNT_PAUSES_H 1

/* For adp_pause_set(): counts pauses in a size_t. */

#include <stddef.h>

static inline void
count_pause(void *n_)
{
    size_t *n = n_;

    ++*n;
}

#endif /* count-pauses.h */
