/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_HANDOVER_H
#define CONNTRACK_HANDOVER_H 1

/* Connections for the process that comes after this one.
 *
 * A connection is what tracking and translating its packets needs: its tuples
 * and zone, NAT, mark, label, the state of its protocol with TCP's windows and
 * SCTP's tags, the time that is left to it, its timeout policy, the helper of
 * its control connection, and the zone whose limit it counts for.  What isn't
 * answered goes in the order in which it began, so that the first to leave are
 * the oldest (conntrack-half-open.h).
 *
 * With them go what decides on them as a whole and nobody else keeps: the
 * limits of all connections and of zones, and whether TCP's numbers are
 * checked.  What isn't handed over: expectations of helpers (the data
 * connections of FTP and TFTP that haven't begun), fragments that are held,
 * and the table's secret, which each process draws for itself.
 *
 * The bytes are for the same machine: numbers are in its order.  They are read
 * as if anybody had written them: either all of them make sense, or nothing of
 * them is taken over.
 *
 * Size: 80 bytes for a TCP connection over IPv4, 96 with NAT, 16 more with a
 * label; over IPv6 104 and 144.
 *
 * Thread-safety: any thread.  Who saves sees to it that no packet is tracked
 * any more that must not be missed. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct conntrack;

/* Of the bytes: another one is another format. */
#define CONNTRACK_HANDOVER_VERSION 2

/* Takes the next bytes.  Returns false if there is no use in more. */
typedef bool conntrack_handover_write(const void *, size_t, void *aux);

struct conntrack_handover_counts {
    uint64_t n;                 /* Handed over. */
    uint64_t n_expired;         /* Their time was over meanwhile. */
    uint64_t n_known;           /* There was one with that tuple already. */
    uint64_t n_refused;         /* conntrack's limit was reached. */
};

/* Writes the connections of 'ct' that haven't expired at 'now', in
 * milliseconds.  Returns false if 'write' did. */
bool conntrack_handover_save(struct conntrack *ct, long long int now,
                             conntrack_handover_write *write, void *aux,
                             struct conntrack_handover_counts *);

/* Adds the connections in the 'len' bytes at 'data', which were saved 'age_ms'
 * before 'now', to 'ct'.  Returns NULL, or what is wrong with them: then 'ct'
 * is as it was. */
const char *conntrack_handover_restore(struct conntrack *ct, const void *data,
                                       size_t len, long long int now,
                                       long long int age_ms,
                                       struct conntrack_handover_counts *);

#endif /* conntrack-handover.h */
