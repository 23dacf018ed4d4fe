/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_HOLD_H
#define ADP_CONTROL_HOLD_H 1

/* Who asks for records, makes something of them and changes others needs that
 * nobody changes the state meanwhile ("if_generation").  Beside a client that
 * changes something a thousand times a second that would never come true: so a
 * client may hold a bridge's state while it thinks.  The changes of others
 * wait.
 *
 * A hold ends with the holder's next change, and when it leaves.  Otherwise it
 * lasts, from when the holder has read what it asked for, ADP_CONTROL_HOLD_MS
 * and a millisecond more for each ADP_CONTROL_HOLD_RECORDS records that there
 * are to think about; but whatever the holder asks, and however slowly it
 * reads, ADP_CONTROL_HOLD_MAX_MS from its beginning.  The next one, whoever
 * wants it, begins at the earliest after as much time as the last one took: so
 * others' changes get half of the time at the least.  There is one hold at a
 * time, for all bridges.
 *
 * Thread-safety: a plain value, main thread.
 */

#include <stdbool.h>
#include <stddef.h>

#define ADP_CONTROL_HOLD_MS 2000
#define ADP_CONTROL_HOLD_RECORDS 5
#define ADP_CONTROL_HOLD_MAX_MS 10000

struct adp_control_hold {
    const void *holder;         /* NULL: nobody. */
    const void *state;          /* What is held; an address to compare. */
    long long int since, until;
    long long int patience;     /* From when the holder has read the reply. */
    bool unread;                /* It has yet to. */
    long long int next;         /* When another may begin. */
};

/* 'holder' wants 'state', of that many records.  Returns false if that has to
 * wait. */
bool adp_control_hold_take(struct adp_control_hold *, const void *holder,
                           const void *state, size_t n_records,
                           long long int now_ms);
/* 'client', if it is the holder, gets the answer now, which took a while. */
void adp_control_hold_answer(struct adp_control_hold *, const void *client,
                             long long int now_ms);
/* 'client', if it is the holder, has read all replies. */
void adp_control_hold_read(struct adp_control_hold *, const void *client,
                           long long int now_ms);
/* The hold of 'holder', if it is its, is over. */
void adp_control_hold_end(struct adp_control_hold *, const void *holder,
                          long long int now_ms);
/* Must a change of 'state' by 'client' wait? */
bool adp_control_hold_stops(struct adp_control_hold *, const void *client,
                            const void *state, long long int now_ms);
/* Wakes the poll loop when who waits may go on. */
void adp_control_hold_wait(const struct adp_control_hold *);

#endif /* adp-control-hold.h */
