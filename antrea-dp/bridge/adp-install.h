/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_INSTALL_H
#define ADP_INSTALL_H 1

/* Learned flows on their way from packet threads to OpenFlow. */

#include <stdint.h>

struct adp_bridge;
struct adp_learned;

/* Packet threads: takes what a walk in the program of 'generation' learned. */
void adp_install_learned(struct adp_bridge *, const struct adp_learned *,
                         uint64_t generation);
/* Main thread: one slice of what waits. */
void adp_install_run(struct adp_bridge *);
void adp_install_wait(struct adp_bridge *);

#endif /* adp-install.h */
