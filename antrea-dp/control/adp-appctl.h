/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_APPCTL_H
#define ADP_APPCTL_H 1

/* The ovs-appctl verbs antrea-dp/program-show, stats-show and trace.
 *
 * For the main thread. */

void adp_appctl_init(void);

#endif /* adp-appctl.h */
