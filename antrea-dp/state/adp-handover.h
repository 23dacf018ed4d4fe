/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_HANDOVER_H
#define ADP_HANDOVER_H 1

/* What a daemon that is stopped leaves to the one that is started after it.
 *
 * With other_config:antrea-dp-handover of the Open_vSwitch table a daemon that
 * is told to end, by "ovs-appctl exit" or SIGTERM, closes its bridges, waits
 * until the packets under way are through, and writes the connections
 * (conntrack-handover.h) into a file of OVS's run directory
 * (adp-handover-file.h).  The next one takes them over when it has configured
 * the daemon and makes its first bridge, before any packet passes that.  A
 * daemon that dies, or is told to clean up, leaves nothing.
 *
 * What is of no use, be it old, torn, of another version or from before the
 * machine's start, is ignored, and the log and "stats" say why: then
 * connections begin anew.
 *
 * For the main thread. */

#include <stdbool.h>
#include <stdint.h>

struct adp_bridge;

/* Does the daemon take part in it?  One that was told to end does so anyway,
 * and leaves nothing if the answer is no by then. */
void adp_handover_configure(bool enabled);

/* Before 'bridge' handles its first packet, and when limits of connections and
 * timeout policies are known: takes over what was left, if that hasn't
 * happened yet. */
void adp_handover_take(struct adp_bridge *bridge);

/* Before the daemon ends: leaves what there is.  Returns true if another one
 * may use it; bridges are closed then. */
bool adp_handover_leave(void);

/* Was the daemon told to end, by SIGTERM?  It is, unless somebody waits for
 * the answer, killed by it. */
bool adp_handover_must_end(void);
/* Has poll_block() wake up then. */
void adp_handover_wait(void);

struct adp_handover_stats {
    uint64_t n_conns;           /* Taken over. */
    uint64_t n_expired, n_known, n_refused;
    long long int age_ms;       /* Since the old daemon closed its bridges. */
    long long int took_ms;
    const char *error;          /* Why nothing was, or NULL. */
};
/* What became of what was left to this daemon.  False: there was nothing. */
bool adp_handover_get_stats(struct adp_handover_stats *);

#endif /* adp-handover.h */
