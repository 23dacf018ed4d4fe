/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_CONNTRACK_COUNTS_H
#define TESTS_CONNTRACK_COUNTS_H 1

/* How much the includer's connection tracker 'ct' has. */

#include "cmap.h"
#include "conntrack.h"
#include "conntrack-private.h"

static uint32_t
count_conns(void)
{
    uint32_t n;

    conntrack_get_nconns(ct, &n);
    return n;
}

/* In its table: a connection with a NAT has two. */
static size_t
count_nodes(void)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    return cmap_count(&ct->conns);
}

#endif /* conntrack-counts.h */
