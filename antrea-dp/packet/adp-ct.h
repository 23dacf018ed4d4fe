/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CT_H
#define ADP_CT_H 1

/* Conntrack as decide() sees it.
 *
 * The only code that knows the connection tracker behind it.  Answers what
 * ct() would do to a packet, without doing it (conntrack-peek.h); the
 * verdict's actions do it.
 *
 * Thread-safety: a struct adp_ct belongs to one thread and to one packet at a
 * time.
 */

#include "adp-decide.h"
#include "conntrack-peek.h"

/* A ct() as it was asked for and answered. */
struct adp_ct_step {
    struct conntrack_peek_request req;
    struct nat_action_info_t nat;       /* req.nat points here, or is NULL. */
    bool clear, forget;                 /* ct_clear, setting addresses or
                                         * ports came before. */
    uint8_t ct_state;
    uint32_t ct_mark;
    ovs_u128 ct_label;
    struct conntrack_peek_tuple tuple;  /* The packet's after it. */
};

#define ADP_CT_MAX_STEPS CT_PEEK_MAX_STEPS

struct adp_ct {
    struct conntrack_peek peek;
    struct adp_ct_step steps[ADP_CT_MAX_STEPS];
    size_t n_steps;             /* Beyond ADP_CT_MAX_STEPS not noted. */
};

/* 'packet' has its layer offsets set. */
void adp_ct_init(struct adp_ct *, struct conntrack *, struct dp_packet *,
                 long long int now_ms);
/* Asks once more what 'step' asked, for the packet with 'tuple', which takes
 * what NAT makes of it.  True if the answer is the same, and the packet as
 * flows see it after that, but for its ports. */
bool adp_ct_repeat(struct adp_ct *, const struct adp_ct_step *,
                   struct conntrack_peek_tuple *tuple);
enum adp_punt adp_ct_ask(struct adp_ct *, const struct adp_ct_request *,
                         struct flow *);

#endif /* adp-ct.h */
