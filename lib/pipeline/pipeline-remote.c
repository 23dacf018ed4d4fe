/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-remote.h"

#include <stdlib.h>

#include "model-records.h"
#include "model.h"
#include "util.h"

void
adp_remote_cidrs_init(struct adp_remote_cidrs *remote,
                      const struct adp_model *model)
{
    size_t n;
    const struct adp_record **records
        = adp_model_sorted(model, ADP_KIND_PEER_NODE, &n);

    adp_remote_cidrs_set(remote, records, n);
    free(records);
}

void
adp_remote_cidrs_set(struct adp_remote_cidrs *remote,
                     const struct adp_record *const *peers, size_t n)
{
    remote->n = 0;
    remote->cidrs = xmalloc((n + 1) * ADP_N_FAMILIES * sizeof *remote->cidrs);
    for (size_t i = 0; i < n; i++) {
        const struct adp_peer_node *peer
            = CONTAINER_OF(peers[i], struct adp_peer_node, up);

        ADP_FOR_EACH_FAMILY (family) {
            if (adp_node_net_is_set(&peer->net[family])) {
                remote->cidrs[remote->n++] = peer->net[family].pod_cidr;
            }
        }
    }
    qsort(remote->cidrs, remote->n, sizeof *remote->cidrs, adp_cidr_compare);
}

/* Adds 'cidr', which comes behind all that are there, unless one of them holds
 * it: that is the last one. */
static void
add_next(struct adp_remote_cidrs *remote, const struct adp_cidr *cidr)
{
    if (!remote->n || !adp_cidr_contains(&remote->cidrs[remote->n - 1],
                                         cidr)) {
        remote->cidrs[remote->n++] = *cidr;
    }
}

void
adp_remote_cidrs_difference(struct adp_remote_cidrs *remote,
                            const struct adp_remote_cidrs *a,
                            const struct adp_remote_cidrs *b)
{
    size_t i = 0, j = 0;

    remote->n = 0;
    remote->cidrs = xmalloc((a->n + b->n + 1) * sizeof *remote->cidrs);
    while (i < a->n || j < b->n) {
        int order = (i >= a->n ? 1 : j >= b->n ? -1
                     : adp_cidr_compare(&a->cidrs[i], &b->cidrs[j]));

        if (order) {
            add_next(remote, order < 0 ? &a->cidrs[i] : &b->cidrs[j]);
        }
        i += order <= 0;
        j += order >= 0;
    }
}

void
adp_remote_cidrs_uninit(struct adp_remote_cidrs *remote)
{
    free(remote->cidrs);
}

/* Only the last one that starts at or before 'ip' can hold it. */
bool
adp_remote_cidrs_contain(const struct adp_remote_cidrs *remote,
                         const struct in6_addr *ip)
{
    struct adp_cidr host = adp_cidr_host(ip);
    size_t lo = 0, hi = remote->n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (adp_cidr_compare(&remote->cidrs[mid], &host) <= 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo && adp_cidr_contains(&remote->cidrs[lo - 1], &host);
}
