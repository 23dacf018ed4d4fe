/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_CONNTRACK_FORESEE_H
#define TESTS_CONNTRACK_FORESEE_H 1

/* Foreseen ct(), for tests of conntrack. */

#include <check.h>
#include "conntrack-peek.h"
#include "packets.h"
#include "talk.h"

/* Foresees 'req' in 'peek', if that can be done, for a packet of IPv4 with
 * tuple 't'. */
static inline enum conntrack_peek_result
try_to_foresee_ct(struct conntrack_peek *peek, struct conntrack *ct,
                  struct dp_packet *packet, const struct tuple *t,
                  const struct conntrack_peek_request *req, long long int now)
{
    struct conntrack_peek_tuple tuple = {
        .dl_type = htons(ETH_TYPE_IP),
        .tp_src = htons(t->tp_src), .tp_dst = htons(t->tp_dst),
        .src.ipv4 = in6_addr_get_mapped_ipv4(&t->src),
        .dst.ipv4 = in6_addr_get_mapped_ipv4(&t->dst),
    };

    conntrack_peek_init(peek, ct, packet, now);
    return conntrack_peek_ct(peek, req, &tuple);
}

static inline void
foresee_ct(struct conntrack_peek *peek, struct conntrack *ct,
           struct dp_packet *packet, const struct tuple *t,
           const struct conntrack_peek_request *req, long long int now)
{
    ck_assert_int_eq(try_to_foresee_ct(peek, ct, packet, t, req, now),
                     CT_PEEK_OK);
}

#endif /* conntrack-foresee.h */
