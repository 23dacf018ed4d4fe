/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SYSTEM_H
#define ADP_SYSTEM_H 1

/* The datapath type "system" as another name of ours.
 *
 * Antrea's agent accepts no other type, and writes it into its bridge.  With
 * other_config:antrea-dp-system of the Open_vSwitch table a bridge of that
 * type is one of the class "antrea" without a built-in pipeline, and
 * "ovs-system" names the datapath that such bridges live on: to ovs-appctl's
 * dpctl commands the kernel's datapaths aren't there then.  Without it the
 * type is upstream's.
 *
 * A type means one thing to all of its bridges, so the setting takes effect
 * while there is none, which is so when the daemon starts.
 *
 * For the main thread. */

#include <stdbool.h>

#define ADP_SYSTEM_KEY "antrea-dp-system"

/* 'base_type' is the datapath type that our bridges live on; it is
 * borrowed. */
void adp_system_init(const char *base_type);

/* 'wanted' is what other_config of the Open_vSwitch table says; at each turn,
 * before bridges are made.  What is refused is told once. */
void adp_system_configure(bool wanted);

bool adp_system_is_ours(void);

/* What an argument of a command means: upstream's name of the datapath, if it
 * names that, or itself.  The caller frees it. */
char *adp_system_real_name(const char *arg);

#endif /* adp-system.h */
