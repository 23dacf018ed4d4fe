/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_APPCTL_H
#define ADP_CONTROL_APPCTL_H 1

/* The control socket and the typed state, for people who live in ovs-appctl:
 *
 *   antrea-dp/get [BRIDGE] [KIND [NAME]]   records, as JSON
 *   antrea-dp/reinstall [BRIDGE]           restores flows that were changed
 *                                          from outside
 *   antrea-dp/control-show                 clients and limits
 */

struct ds;

/* Registers the commands.  'format' tells about clients and limits, nothing if
 * the control socket isn't open. */
void adp_control_appctl_init(void (*format)(struct ds *));

#endif /* adp-control-appctl.h */
