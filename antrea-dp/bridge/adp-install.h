/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_INSTALL_H
#define ADP_INSTALL_H 1

/* Learned flows on their way from packet threads to OpenFlow. */

#include <stdbool.h>
#include <stdint.h>

struct adp_bridge;
struct adp_learned;

/* Packet threads: takes what a walk in the program of 'generation' learned. */
void adp_install_learned(struct adp_bridge *, const struct adp_learned *,
                         uint64_t generation);
/* Main thread: one slice of what waits. */
void adp_install_run(struct adp_bridge *);
void adp_install_wait(struct adp_bridge *);

/* Main thread: stands for all that waits now, for the tables too if one of it
 * is for 'table_id' (OFPTT_ALL: any).  0: none is. */
uint64_t adp_install_mark(const struct adp_bridge *, uint8_t table_id);
/* True if all of that is in OpenFlow's tables, or was refused or dropped. */
bool adp_install_is_past(const struct adp_bridge *, uint64_t mark);

#endif /* adp-install.h */
