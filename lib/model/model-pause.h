/* SPDX-License-Identifier: Apache-2.0 */

#ifndef MODEL_PAUSE_H
#define MODEL_PAUSE_H 1

/* Where long work may pause.
 *
 * Work on a large state (parsing, checking, making flows of records) takes
 * long, and is easiest to follow in one piece.  So its loops call adp_pause()
 * once for each item, and who does such work in turns with something else says
 * with adp_pause_set() what that is to do (antrea-dp/state/adp-job.h).
 *
 * What is under way stays as it is in a pause: nobody else may look into, or
 * change, what the loop works on.
 *
 * Thread-safety: each thread has a function of its own.
 * Cost: a look at a variable of the thread, if there is no function.
 */

#include <stddef.h>

/* Has adp_pause() call 'cb' with 'aux' in this thread.  NULL: it does
 * nothing. */
void adp_pause_set(void (*cb)(void *aux), void *aux);

void adp_pause(void);

/* For item number 'i' of a loop, where an item takes less time than a pause:
 * pauses now and then. */
static inline void
adp_pause_amid(size_t i)
{
    if (!(i % 16)) {
        adp_pause();
    }
}

#endif /* model-pause.h */
