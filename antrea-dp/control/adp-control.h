/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_H
#define ADP_CONTROL_H 1

/* The control socket: docs/control-socket.md.
 *
 * Runs in the main thread of ovs-vswitchd and never blocks it: messages are
 * read and answered in bounded portions per turn of the main loop.
 */

void adp_control_init(void);    /* Opens the socket in the run directory. */
void adp_control_run(void);
void adp_control_wait(void);
void adp_control_exit(void);    /* Closes clients, unlinks the socket. */

#endif /* adp-control.h */
