/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CT_H
#define ADP_CT_H 1

/* Conntrack as decide() sees it.
 *
 * The only code that knows the connection tracker behind it.  Answers what
 * ct() would do to a packet, without doing it (conntrack-peek.h); the verdict's
 * actions do it.
 *
 * Thread-safety: a struct adp_ct belongs to one thread and to one packet at a
 * time.
 */

#include "adp-decide.h"
#include "conntrack-peek.h"

struct adp_ct {
    struct conntrack_peek peek;
};

/* 'packet' has its layer offsets set. */
void adp_ct_init(struct adp_ct *, struct conntrack *, struct dp_packet *,
                 long long int now_ms);
enum adp_punt adp_ct_ask(struct adp_ct *, const struct adp_ct_request *,
                         struct flow *);

#endif /* adp-ct.h */
