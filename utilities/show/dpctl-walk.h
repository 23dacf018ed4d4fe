/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_WALK_H
#define DPCTL_WALK_H 1

/* A traced packet's walk through the tables, in words.
 *
 * Pure functions on the answer to `trace` (docs/control-socket.md), which is
 * 'trace' everywhere below.  Members that a daemon leaves out are passed over.
 *
 * A *visit* is one look-up in a table, an element of the answer's "tables";
 * visits are counted from 0.
 *
 * What is returned is the caller's to free, but for "const char *", which is
 * the document's.
 */

#include <stdbool.h>
#include <stddef.h>
#include "openvswitch/json.h"
#include "svec.h"

struct ds;

/* Does the answer tell of steps?  If not, it has nothing but its "text". */
bool dpctl_walk_is_told(const struct json *trace);

/* The whole walk as text: the packet, a paragraph for each visit, what has
 * become of the headers, the verdict. */
void dpctl_walk_format(const struct json *trace, struct ds *);

/* " out of port p7 (Pod default/web), p8", for what was forwarded. */
void dpctl_walk_put_outputs(const struct json *trace, struct ds *);
/* "Verdict: " and all that. */
void dpctl_walk_put_verdict(const struct json *trace, struct ds *);

/* The parts of it. */
size_t dpctl_walk_n_visits(const struct json *trace);
const struct json *dpctl_walk_visit(const struct json *trace, size_t i);
/* The entry of "pipeline_tables" for the visit's table; may be NULL. */
const struct json *dpctl_walk_table(const struct json *trace, size_t i);
/* "table 4 SpoofGuard". */
char *dpctl_walk_title(const struct json *trace, size_t i);
/* Which flow was hit or which clauses met, and what was done: sentences. */
void dpctl_walk_words(const struct json *trace, size_t i,
                      struct svec *sentences);

/* Where the packet goes after visit 'i'.  'visit' is the one that follows or,
 * if 'back', the one that the walk comes back to, or SIZE_MAX: the end. */
struct dpctl_walk_next {
    size_t visit;
    bool back;
};
struct dpctl_walk_next dpctl_walk_next(const struct json *trace, size_t i);

/* Is the outcome 'word': "forwarded", "dropped", ...? */
bool dpctl_walk_is_outcome(const struct json *trace, const char *word);

/* "10.10.0.26 (Pod default/client)", or only the first if it has no name. */
char *dpctl_walk_named(const struct json *trace, const char *text);

/* The packet in a few words: "tcp 10.10.0.26:40000 to 10.10.0.24:80". */
char *dpctl_walk_summary(const struct json *trace);

/* Whose the address is that the packet goes to: "Service default/web"; NULL if
 * nobody's that is known. */
const char *dpctl_walk_destination(const struct json *trace);

/* The visit that decided what became of the packet: the last one, or, where
 * that only carries out what a policy's rule or a Service has decided, the
 * first of its flows that was hit.  SIZE_MAX: there were no visits. */
size_t dpctl_walk_decided(const struct json *trace);

/* A header before and after; either is NULL where there is none. */
struct dpctl_walk_header {
    const char *name;
    const char *before;
    const char *after;
};
/* All headers, in the order of a packet, before the walk and as they are at
 * output 'i' of the answer's "outputs". */
struct dpctl_walk_header *dpctl_walk_headers(const struct json *trace,
                                             size_t i, size_t *n);
size_t dpctl_walk_n_outputs(const struct json *trace);
const char *dpctl_walk_output_port(const struct json *trace, size_t i);

#endif /* dpctl-walk.h */
