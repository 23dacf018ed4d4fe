/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_PIECES_H
#define DPCTL_PIECES_H 1

/* A change in messages that the control socket takes: the parameters of its
 * method "stage", one after the other, none much larger than asked for.  A
 * record is never divided.
 */

#include <stdbool.h>
#include <stddef.h>

struct json;

enum {
    /* Of text.  Far below what the daemon takes, so that its other work goes
     * on between two pieces. */
    DPCTL_PIECE_LEN = 1024 * 1024,
};

struct dpctl_pieces {
    const struct json *apply;   /* Arrays. */
    const struct json *delete;
    size_t n_apply, n_delete;   /* How much of them was taken. */
    size_t max_len;
};

void dpctl_pieces_init(struct dpctl_pieces *, const struct json *apply,
                       const struct json *delete, size_t max_len);

/* Would one message be enough? */
bool dpctl_pieces_fit(const struct dpctl_pieces *);

/* The next parameter, which is the caller's; NULL when there is no more. */
struct json *dpctl_pieces_next(struct dpctl_pieces *);

#endif /* dpctl-pieces.h */
