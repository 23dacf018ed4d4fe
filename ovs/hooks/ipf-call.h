/* SPDX-License-Identifier: Apache-2.0 */

#ifndef IPF_CALL_H
#define IPF_CALL_H 1

/* Included by ipf.c: by which call of conntrack's fragments leave that waited.
 *
 * Upstream lets them leave by whichever comes next, in its batch, which then
 * does with them what its own flow says.  Here those of a whole packet leave
 * by a call that brought a fragment from the same port, between the same
 * addresses, to the same zone at the same place in the pipeline.  For those
 * that no such call comes for, and those that never became whole, time runs
 * out.  What a call brought its own thread notes and reads.
 *
 * A packet of more fragments than fit into a batch leaves by several. */

#include "ovs-thread.h"

struct ipf_comer {
    struct ipf_list_key key;    /* Without 'ip_id' and 'nw_proto'. */
    odp_port_t in_port;
};

/* The call that this thread is in: the fragments that came with it. */
struct ipf_call {
    struct ipf_comer comers[NETDEV_MAX_BURST];
    size_t n;
};

DEFINE_STATIC_PER_THREAD_DATA(struct ipf_call, ipf_call, { .n = 0 });

static inline struct ipf_list_key
ipf_call_key(const struct ipf_list_key *key)
{
    struct ipf_list_key k = *key;

    k.ip_id = 0;
    k.nw_proto = 0;
    return k;
}

static inline void
ipf_call_begin(void)
{
    ipf_call_get()->n = 0;
}

static inline void
ipf_call_note(const struct ipf_list_key *key, const struct dp_packet *fragment)
{
    struct ipf_call *call = ipf_call_get();

    ovs_assert(call->n < ARRAY_SIZE(call->comers));
    call->comers[call->n++] = (struct ipf_comer) {
        .key = ipf_call_key(key),
        .in_port = fragment->md.in_port.odp_port,
    };
}

static inline bool
ipf_list_has_port(const struct ipf_list *list, odp_port_t in_port)
{
    for (int i = list->last_sent_idx + 1; i <= list->last_inuse_idx; i++) {
        if (list->frag_list[i].pkt->md.in_port.odp_port == in_port) {
            return true;
        }
    }
    return false;
}

/* True if a packet of 'list' could have come with this call. */
static inline bool
ipf_call_is_for(const struct ipf_list *list)
{
    const struct ipf_call *call = ipf_call_get();
    struct ipf_list_key key = ipf_call_key(&list->key);

    for (size_t i = 0; i < call->n; i++) {
        if (ipf_list_key_eq(&key, &call->comers[i].key)
            && ipf_list_has_port(list, call->comers[i].in_port)) {
            return true;
        }
    }
    return false;
}

#endif /* ipf-call.h */
