/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-peers.h"

#include <arpa/inet.h>
#include <stdlib.h>

#include "util.h"

void
adp_peers_uninit(struct adp_peers *peers)
{
    free(peers->ips);
}

void
adp_peers_add(struct adp_peers *peers, ovs_be32 ip)
{
    if (peers->n >= peers->allocated) {
        peers->ips = x2nrealloc(peers->ips, &peers->allocated,
                                sizeof *peers->ips);
    }
    peers->ips[peers->n++] = ntohl(ip);
}

static int
compare_ips(const void *a_, const void *b_)
{
    const uint32_t *a = a_;
    const uint32_t *b = b_;

    return *a < *b ? -1 : *a > *b;
}

void
adp_peers_sort(struct adp_peers *peers)
{
    if (peers->n) {
        qsort(peers->ips, peers->n, sizeof *peers->ips, compare_ips);
    }
}

/* The place of the first one that isn't before 'at'. */
static size_t
find_place(const struct adp_peers *peers, uint64_t at)
{
    size_t low = 0;
    size_t high = peers->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (peers->ips[middle] < at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool
adp_peers_contains(const struct adp_peers *peers, ovs_be32 ip)
{
    size_t i = find_place(peers, ntohl(ip));

    return i < peers->n && peers->ips[i] == ntohl(ip);
}

bool
adp_peers_next(const struct adp_peers *peers, uint64_t *at, ovs_be32 *ip)
{
    size_t i = find_place(peers, *at);

    if (i >= peers->n) {
        return false;
    }
    *at = peers->ips[i] + UINT64_C(1);
    *ip = htonl(peers->ips[i]);
    return true;
}
