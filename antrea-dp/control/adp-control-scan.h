/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_SCAN_H
#define ADP_CONTROL_SCAN_H 1

/* Watches the text of one JSON message on its way into the parser, for what
 * the parser doesn't tell:
 *
 *   - how many values it holds and how deep they nest.  The parsed form of
 *     "[0,0,0,...]" takes fifty times the memory of its text, so that a limit
 *     on the text alone doesn't bound memory;
 *
 *   - whether an object has a member twice.  The parser silently keeps the
 *     last one;
 *
 *   - whether it is UTF-8, which the parser takes for granted.  What isn't
 *     would come back in replies, and break the client that reads them.
 *
 * It doesn't check syntax, which the parser does: on text that isn't JSON it
 * returns something meaningless, in bounded time and memory.
 *
 * Memory: one hash entry per member of the objects that are open.
 *
 * Cost: a few cycles per byte.
 *
 * Thread-safety: none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/dynamic-string.h"

struct adp_control_scan_level;

struct adp_control_scan {
    size_t n_values;            /* Values and member names so far. */
    size_t max_depth;           /* Deepest nesting so far. */
    bool bad_utf8;
    char *duplicate;            /* Path of the first member that an object has
                                 * twice, e.g. "params[0].records[3].ips". */

    /* Private. */
    struct adp_control_scan_level *levels; /* Open objects and arrays. */
    size_t depth, allocated_depth;
    bool in_string, in_escape, in_atom;
    bool string_is_name;
    uint8_t utf8_left;          /* Bytes that the UTF-8 sequence lacks... */
    uint8_t utf8_min, utf8_max; /* ...and what the next of them may be. */
    struct ds name;             /* The name that is being read, as written. */
};

void adp_control_scan_init(struct adp_control_scan *);
void adp_control_scan_uninit(struct adp_control_scan *);

/* The text is consumed in any portions, but no portion should be much larger
 * than what the limits on depth and values tolerate as excess. */
void adp_control_scan_feed(struct adp_control_scan *, const char *, size_t);

#endif /* adp-control-scan.h */
