/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_WASTE_H
#define ADP_WASTE_H 1

/* JSON that nobody needs any more, freed in slices of the main thread's time:
 * what a client has sent ahead, and goes without asking for it, may be
 * hundreds of thousands of records.
 *
 * It can't grow without end: to free something takes a fraction of the time
 * that it took to be read, and both are slices of the same turns.
 *
 * Thread-safety: the main thread.
 */

#include <stdbool.h>

struct json;

/* Takes it; NULL is fine. */
void adp_waste_put(struct json *);
bool adp_waste_is_empty(void);

void adp_waste_run(void);
void adp_waste_wait(void);

#endif /* adp-waste.h */
