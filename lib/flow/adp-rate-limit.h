/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_RATE_LIMIT_H
#define ADP_RATE_LIMIT_H 1

/* A token bucket that holds the tokens of two seconds, and is full at first.
 *
 * It doesn't know its rate, so that one setting serves all buckets of all
 * threads from the next token on.  (Upstream's token-bucket.h keeps the rate
 * and looks at the clock itself.)
 *
 * Thread-safety: a bucket belongs to one thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include "util.h"

/* All zeros is a full one. */
struct adp_rate_limit {
    long long int filled_ms;
    uint64_t thousandths;               /* Of tokens. */
};

/* Takes a token; false if there is none. */
static inline bool
adp_rate_limit_take(struct adp_rate_limit *limit, uint32_t per_second,
                    long long int now_ms)
{
    const long long int full_ms = 2000;
    uint64_t elapsed_ms = MIN(MAX(now_ms - limit->filled_ms, 0), full_ms);

    limit->thousandths = MIN(limit->thousandths + elapsed_ms * per_second,
                             (uint64_t) full_ms * per_second);
    limit->filled_ms = now_ms;
    if (limit->thousandths < 1000) {
        return false;
    }
    limit->thousandths -= 1000;
    return true;
}

#endif /* adp-rate-limit.h */
