/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model-pause.h"

#include <stddef.h>

static __thread struct {
    void (*cb)(void *aux);
    void *aux;
} pause_;

void
adp_pause_set(void (*cb)(void *aux), void *aux)
{
    pause_.cb = cb;
    pause_.aux = aux;
}

void
adp_pause(void)
{
    if (pause_.cb) {
        pause_.cb(pause_.aux);
    }
}
