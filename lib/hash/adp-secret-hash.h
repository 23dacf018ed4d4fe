/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SECRET_HASH_H
#define ADP_SECRET_HASH_H 1

/* Hashes of bytes, with secrets of this process.
 *
 * Upstream's hash_bytes() and hash_string() are known to everybody, and a
 * basis doesn't help: bytes that it takes for one with one basis it often
 * takes for one with all.  So tables that are found by what strangers choose
 * use these.  They are another in each process: nothing may be kept, sent or
 * ordered by them.
 *
 * Thread-safety: any thread.  The secrets are drawn before main() begins.
 * Cost: a multiplication for 16 bytes, and one more.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

uint32_t adp_secret_hash_bytes(const void *, size_t n, uint32_t basis);

static inline uint32_t
adp_secret_hash_string(const char *s, uint32_t basis)
{
    return adp_secret_hash_bytes(s, strlen(s), basis);
}

#endif /* adp-secret-hash.h */
