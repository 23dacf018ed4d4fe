/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of odp-execute.c: its counter of dropped packets. */

#include "dp-hooks.h"

void
dp_count_drops(unsigned int n)
{
    dp_update_drop_action_counter(XLATE_OK, n);
}
