/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_BRIDGE_H
#define ADP_CONTROL_BRIDGE_H 1

/* The bridge that a call or a command is about.  For the main thread. */

#include <stdbool.h>

struct adp_bridge;
struct adp_error;

/* The bridge named 'name', or, if that is NULL, the only one there is.  With
 * 'need_state' it must have a built-in pipeline.  On error returns NULL and
 * sets '*errorp'. */
struct adp_bridge *adp_control_find_bridge(const char *name, bool need_state,
                                           struct adp_error **errorp);

#endif /* adp-control-bridge.h */
