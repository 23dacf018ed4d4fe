/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-rcu.h"

#include <string.h>

#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "util.h"

/* Callbacks between two quiescent states: some 50 us. */
#define STEP 128

struct breath {
    enum { UNKNOWN, RCU, OTHER } thread;
    unsigned int n;
};

DEFINE_STATIC_PER_THREAD_DATA(struct breath, breath, { UNKNOWN, 0 });

void
adp_rcu_breathe(void)
{
    struct breath *b = breath_get();

    if (OVS_UNLIKELY(b->thread == UNKNOWN)) {
        /* As upstream calls it, and a number. */
        b->thread = strncmp(get_subprogram_name(), "urcu", 4) ? OTHER : RCU;
    }
    if (b->thread == RCU && ++b->n % STEP == 0) {
        ovsrcu_quiesce();
    }
}
