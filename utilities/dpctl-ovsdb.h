/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_OVSDB_H
#define DPCTL_OVSDB_H 1

/* Which port is whose: external_ids and MACs from OVSDB.  Beside that, whether
 * the daemon ought to have a state.
 *
 * Antrea's agent and its CNI write pod-name, pod-namespace, attached-mac and
 * ip-address into external_ids of a Pod's Port. */

#include "dpctl-resolve.h"

/* Objects were applied to a bridge: the daemon forgets them when it ends, its
 * database doesn't.  Kept as external_ids:antrea-dp-applied of the Bridge. */
struct dpctl_mark {
    char *bridge;               /* NULL: OVSDB couldn't be read, or it isn't
                                 * clear which bridge is meant. */
    char *since;                /* When, in ISO 8601; NULL: never. */
};

void dpctl_mark_destroy(struct dpctl_mark *);

/* Fills 'ports' (initialized) and 'mark'.  If OVSDB can't be read,
 * 'ports->why' says so: that is an error only for who needs a port.  Only
 * ports of 'bridge', or if that is NULL of the bridges of our type. */
void dpctl_ovsdb_read(const char *db, const char *bridge, int timeout_s,
                      struct dpctl_ports *, struct dpctl_mark *);

/* What tells whether the bridges are as the database wants them: rows of
 * Open_vSwitch, Bridge, Port and Interface by table, with a few columns each,
 * in which a map is an object, a set an array (or one value), and a UUID a
 * string.  Returns NULL and an error that the caller frees where OVSDB can't
 * be read. */
struct json *dpctl_ovsdb_tables(const char *db, int timeout_s, char **errorp);
/* The same for a value. */
struct json *dpctl_ovsdb_plain(const struct json *);

/* Writes 'since', which may be NULL, for the bridge of 'mark', if there is
 * one.  Without OVSDB nothing is done. */
void dpctl_ovsdb_write_mark(const char *db, int timeout_s,
                            const struct dpctl_mark *, const char *since);

#endif /* dpctl-ovsdb.h */
