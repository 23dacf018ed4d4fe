/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_OVSDB_H
#define DPCTL_OVSDB_H 1

/* Which port is whose: external_ids and MACs from OVSDB.
 *
 * Antrea's agent and its CNI write pod-name, pod-namespace, attached-mac and
 * ip-address into external_ids of a Pod's Port. */

#include "dpctl-resolve.h"

/* Fills 'ports' (initialized).  If OVSDB can't be read, 'ports->why' says so:
 * that is an error only for who needs a port.  Only ports of 'bridge', if that
 * isn't NULL. */
void dpctl_ovsdb_read(const char *db, const char *bridge, int timeout_s,
                      struct dpctl_ports *);

#endif /* dpctl-ovsdb.h */
