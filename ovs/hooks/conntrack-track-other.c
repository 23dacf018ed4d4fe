/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack-other.c, see conntrack-track.h. */

#include "conntrack-track-private.h"

bool
conntrack_other_check(struct conn *conn_, bool reply, bool is_new,
                      struct conntrack_step *step)
{
    enum other_state state;

    atomic_read_relaxed(&conn_other_cast(conn_)->state, &state);
    step->timeout = other_timeouts[state];
    return (is_new ? state == OTHERS_MULTIPLE && !reply
            : state == OTHERS_BIDIR);
}

bool
conntrack_other_is_answered(const struct conn *conn)
{
    enum other_state state;

    atomic_read_relaxed(&conn_other_cast(conn)->state, &state);
    return state == OTHERS_BIDIR;
}
