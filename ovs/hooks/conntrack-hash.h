/* SPDX-License-Identifier: Apache-2.0 */

#ifndef CONNTRACK_HASH_H
#define CONNTRACK_HASH_H 1

/* The hash of connections' keys in the place of upstream's, which is a CRC
 * where the CPU has one, or MurmurHash: who knows that makes keys that have
 * one hash, whatever basis it begins with.
 *
 * Thread-safety: any thread. */

#include <stdint.h>

struct conn_key;
union ct_addr;

/* The same for 'key' and its reverse. */
uint32_t conntrack_hash_key(const struct conn_key *key, uint32_t basis);

/* Of an address alone, of which IPv4 leaves the rest zero. */
uint32_t conntrack_hash_address(const union ct_addr *, uint32_t basis);

#endif /* conntrack-hash.h */
