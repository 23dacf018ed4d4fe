/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast this core is at the moment: on a machine that is shared, clock
 * and caches change with what the neighbours do. */

#ifndef NET_GEN_PROBE_H
#define NET_GEN_PROBE_H 1

#include "control.h"

/* Takes about 5 ms, the first time 0.5 s; in the polling thread. */
void net_gen_probe(struct net_gen_control *);

#endif /* probe.h */
