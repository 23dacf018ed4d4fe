/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-heap.h"
#include <malloc.h>
#include <stdlib.h>
#include "adp-turn.h"
#include "timeval.h"
#include "util.h"

/* More than what threads keep for themselves, and less than what free() would
 * take as a reason to give memory back to the system. */
#define PROBE_SIZE 16384

/* What takes longer has sorted many. */
#define LONG_US 100

void
adp_heap_init(void)
{
#ifdef M_MXFAST
    mallopt(M_MXFAST, 0);
#endif
}

bool
adp_heap_run(void)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_HEAP);
    long long int began = time_usec();
    void *volatile probe = xmalloc(PROBE_SIZE);

    free(probe);
    adp_turn_leave(outer);
    return time_usec() - began > LONG_US;
}
