/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack-icmp.c, see conntrack-track.h. */

#include "conntrack-track-private.h"

bool
conntrack_icmp_is_answered(const struct conn *conn)
{
    return conn_icmp_cast(conn)->state == ICMPS_REPLY;
}
