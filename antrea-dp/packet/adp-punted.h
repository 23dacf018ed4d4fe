/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PUNTED_H
#define ADP_PUNTED_H 1

/* The order of a connection's packets within a batch.
 *
 * A punted packet stays in its batch, and upstream handles what stayed after
 * all else is on its way.  So packets between the same addresses that come
 * behind it in the batch have to stay, too, or they would overtake it, and
 * conntrack would see them in the wrong order.  Ports don't count: a fragment
 * has none.
 *
 * Thread-safety: belongs to one thread and one batch, which bounds it.
 */

#include "adp-session-parse.h"
#include "dp-packet.h"
#include "flow.h"
#include "hash.h"

struct adp_punted {
    size_t n;
    uint32_t hashes[NETDEV_MAX_BURST];  /* Of addresses. */
};

static inline void
adp_punted_init(struct adp_punted *punted)
{
    punted->n = 0;
}

static inline uint32_t
adp_punted_hash4(ovs_be32 src, ovs_be32 dst)
{
    return hash_2words((OVS_FORCE uint32_t) src, (OVS_FORCE uint32_t) dst);
}

static inline uint32_t
adp_punted_hash6(const struct in6_addr *src, const struct in6_addr *dst)
{
    return hash_bytes(src, sizeof *src, hash_bytes(dst, sizeof *dst, 0));
}

/* False if the packet has no IP addresses. */
static inline bool
adp_punted_hash(const struct flow *flow, uint32_t *hashp)
{
    if (flow->dl_type == htons(ETH_TYPE_IP)) {
        *hashp = adp_punted_hash4(flow->nw_src, flow->nw_dst);
    } else if (flow->dl_type == htons(ETH_TYPE_IPV6)) {
        *hashp = adp_punted_hash6(&flow->ipv6_src, &flow->ipv6_dst);
    } else {
        return false;
    }
    return true;
}

static inline bool
adp_punted_has(const struct adp_punted *punted, uint32_t hash)
{
    for (size_t i = 0; i < punted->n; i++) {
        if (punted->hashes[i] == hash) {
            return true;
        }
    }
    return false;
}

/* The packet with 'flow' stays in the batch. */
static inline void
adp_punted_add(struct adp_punted *punted, const struct flow *flow)
{
    uint32_t hash;

    if (adp_punted_hash(flow, &hash) && !adp_punted_has(punted, hash)) {
        punted->hashes[punted->n++] = hash;
    }
}

/* True if a packet with such addresses stays. */
static inline bool
adp_punted_overtaken_by(const struct adp_punted *punted,
                        const struct flow *flow)
{
    uint32_t hash;

    return (punted->n && adp_punted_hash(flow, &hash)
            && adp_punted_has(punted, hash));
}

static inline bool
adp_punted_overtaken_by_parsed(const struct adp_punted *punted,
                               const struct adp_session_packet *p)
{
    return (OVS_UNLIKELY(punted->n)
            && adp_punted_has(punted,
                              p->is_ipv6
                              ? adp_punted_hash6(&p->key6.ipv6_src,
                                                 &p->key6.ipv6_dst)
                              : adp_punted_hash4(p->key4.nw_src,
                                                 p->key4.nw_dst)));
}

#endif /* adp-punted.h */
