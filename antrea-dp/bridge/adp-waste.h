/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_WASTE_H
#define ADP_WASTE_H 1

/* JSON that nobody needs any more, freed in slices of the main thread's time,
 * the oldest first: what a client has sent ahead, and goes without asking for
 * it, may be hundreds of thousands of records.
 *
 * To free something takes less than half of the time that it took to be read,
 * so what comes can't pile up if the time for it is half of that for reading.
 *
 * Thread-safety: the main thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct json;

/* Takes 'json'; NULL is fine.  When it is gone, 'cost' is taken from
 * '*account', which may be NULL and otherwise must stay. */
void adp_waste_put(struct json *json, uint64_t cost, uint64_t *account);
bool adp_waste_is_empty(void);

/* Frees for a slice, and for 'least_us' if that is more. */
void adp_waste_run(long long int least_us);
void adp_waste_wait(void);

#endif /* adp-waste.h */
