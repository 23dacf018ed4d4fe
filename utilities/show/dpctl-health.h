/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_HEALTH_H
#define DPCTL_HEALTH_H 1

/* Is everything well?  What "status" prints, judged from what the daemon and
 * its database say.  Pure functions. */

#include <stdbool.h>
#include "openvswitch/json.h"

struct ds;

/* What was found out; all is borrowed, and NULL where it couldn't be. */
struct dpctl_health_facts {
    const char *daemon_error;       /* Why the daemon doesn't answer. */
    const char *client_version;
    const struct json *version;     /* Answers of the control socket. */
    const char *stats_error;        /* Why there are no 'stats'. */
    const struct json *stats;
    const struct json_array *records;   /* Pods and the NodeConfig. */
    const char *db_error;           /* Why there is no 'db'. */
    const struct json *db;          /* Rows by table: "Open_vSwitch", "Bridge",
                                     * "Port", "Interface". */
};

/* {"status", "checks": [{"check", "status", "text"}...]}.  The status of a
 * check is "ok", "warning" or "failed", the whole's that of the worst. */
struct json *dpctl_health_judge(const struct dpctl_health_facts *);

void dpctl_health_format(const struct json *health, struct ds *);
bool dpctl_health_is_failed(const struct json *health);

#endif /* dpctl-health.h */
