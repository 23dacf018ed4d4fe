/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TNL_NEIGH_MAX_H
#define TNL_NEIGH_MAX_H 1

/* How many neighbours tunnels have at the most, see tnl-neigh-room.h. */
#define TNL_NEIGH_MAX 16384

#endif /* tnl-neigh-max.h */
