/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-waker.h"

void
adp_waker_init(struct adp_waker *waker)
{
    latch_init(&waker->latch);
    atomic_init(&waker->roused, false);
}

void
adp_waker_rouse(struct adp_waker *waker)
{
    bool was_roused;

    atomic_read(&waker->roused, &was_roused);
    if (!was_roused) {
        atomic_store(&waker->roused, true);
        latch_set(&waker->latch);
    }
}

void
adp_waker_begin(struct adp_waker *waker)
{
    latch_poll(&waker->latch);
    atomic_store(&waker->roused, false);
}

void
adp_waker_wait(struct adp_waker *waker)
{
    latch_wait(&waker->latch);
}
