/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_TEXT_H
#define ADP_CONTROL_TEXT_H 1

/* A JSON value as text, a portion at a time.
 *
 * A reply may hold all records of a large cluster, tens of megabytes.  Made
 * into text at once it would take the main thread's time and, until the client
 * has read it, as much memory.  So the text of its outer levels is made piece
 * by piece, as the client takes it; what lies LEVELS deep (a record, a
 * Service's counters) comes whole.  What has been written is freed at once,
 * except what others hold as well.
 *
 * The text is that of json_to_ds() without flags.
 *
 * Thread-safety: none.
 * Memory: the value, which others must not change meanwhile.
 * Cost of a portion: its length, and one piece.
 */

#include <stdbool.h>
#include <stddef.h>

struct ds;
struct json;

struct adp_control_text;

/* Takes 'json'. */
struct adp_control_text *adp_control_text_create(struct json *json);
/* NULL does nothing. */
void adp_control_text_destroy(struct adp_control_text *);

/* Appends pieces to 's' until 'len' bytes or more have been added, or nothing
 * is left.  Returns true in the latter case, and not to be called again
 * then. */
bool adp_control_text_put(struct adp_control_text *, struct ds *s, size_t len);
/* An estimate of how many bytes are left, from those that there were. */
size_t adp_control_text_left(const struct adp_control_text *);

#endif /* adp-control-text.h */
