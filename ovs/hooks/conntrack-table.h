/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_TABLE_H
#define CONNTRACK_TABLE_H 1

/* Room for connections, before they come.
 *
 * Upstream's table of connections doubles when it is full, in the thread that
 * handles a packet, while all others that make or remove a connection wait.
 * Here it has room from the start for all connections that conntrack will
 * track, up to 16 million, with two nodes each, as those with NAT have.  Where
 * more are allowed while there are some, these get known to the larger table a
 * few under each hold of the lock, and it takes the other's place when it
 * knows all (cmap-ahead.h).
 *
 * Memory: 64 bytes for every four nodes; of both tables until then.
 *
 * Thread-safety: any thread, but as said. */

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct conntrack;

#define CONNTRACK_TABLE_MAX_CONNS 16000000

/* How many hashes one hold of the lock is about, and how many holds there
 * were, for all tables. */
#define CONNTRACK_TABLE_STEP 32
uint64_t conntrack_table_n_steps(void);

bool conntrack_table_is_ready(const struct conntrack *);

/* Sees to it.  For the thread of conntrack-half-open.h, which alone grows the
 * table, and has the time that taking the memory and going through all
 * connections need. */
void conntrack_table_prepare(struct conntrack *);

/* To be called, with the lock of 'ct' held, when 'conn' and its un-NAT twin
 * have come into the table or left it. */
void conntrack_table_note(struct conntrack *ct, const struct conn *conn);

#endif /* conntrack-table.h */
