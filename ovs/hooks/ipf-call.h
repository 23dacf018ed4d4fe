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
 * A packet of more fragments than fit into a batch leaves by several.  What
 * remains of it may be the most that there is room for, so a call doesn't look
 * at each: once whole, a packet is found in 'frag_lists' by what it has in
 * common with those that it leaves with.  Another one with its ID is another
 * packet then. */

#include "conntrack-hash.h"
#include "conntrack-private.h"
#include "ovs-thread.h"

struct ipf_comer {
    struct ipf_list_key key;    /* Without 'ip_id' and 'nw_proto'. */
    uint32_t hash;              /* Of 'key'. */
    odp_port_t in_port;
};

/* The call that this thread is in: the fragments that came with it, one of
 * each kind. */
struct ipf_call {
    struct ipf_comer comers[NETDEV_MAX_BURST];
    size_t n;
};

DEFINE_STATIC_PER_THREAD_DATA(struct ipf_call, ipf_call, { .n = 0 });

static bool ipf_list_key_eq(const struct ipf_list_key *,
                            const struct ipf_list_key *);

static inline struct ipf_list_key
ipf_call_key(const struct ipf_list_key *key)
{
    struct ipf_list_key k = *key;

    k.ip_id = 0;
    k.nw_proto = 0;
    return k;
}

static inline uint32_t
ipf_call_address_hash(const union ipf_addr *addr, uint32_t basis)
{
    union ct_addr a;

    BUILD_ASSERT(sizeof a == sizeof *addr);
    memcpy(&a, addr, sizeof a);
    return conntrack_hash_address(&a, basis);
}

static inline uint32_t
ipf_call_hash(const struct ipf_list_key *key)
{
    uint32_t basis = key->recirc_id ^ (uint32_t) key->zone << 16;

    return ipf_call_address_hash(
        &key->src_addr, ipf_call_address_hash(&key->dst_addr, basis));
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
    struct ipf_comer new = {
        .key = ipf_call_key(key),
        .hash = ipf_call_hash(key),
        .in_port = fragment->md.in_port.odp_port,
    };

    for (size_t i = 0; i < call->n; i++) {
        const struct ipf_comer *c = &call->comers[i];

        if (c->hash == new.hash && c->in_port == new.in_port
            && ipf_list_key_eq(&c->key, &new.key)) {
            return;
        }
    }
    ovs_assert(call->n < ARRAY_SIZE(call->comers));
    call->comers[call->n++] = new;
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

static inline bool
ipf_comer_is_for(const struct ipf_comer *comer, const struct ipf_list *list)
{
    struct ipf_list_key key = ipf_call_key(&list->key);

    return (ipf_list_key_eq(&key, &comer->key)
            && ipf_list_has_port(list, comer->in_port));
}

/* True if a packet of 'list' could have come with this call. */
static inline bool
ipf_call_is_for(const struct ipf_list *list)
{
    const struct ipf_call *call = ipf_call_get();

    for (size_t i = 0; i < call->n; i++) {
        if (ipf_comer_is_for(&call->comers[i], list)) {
            return true;
        }
    }
    return false;
}

/* 'list', whole and tracked, is in 'complete' of its ipf from now on. */
static inline void
ipf_call_await(struct ovs_list *complete, struct ipf_list *list)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct ipf *ipf = CONTAINER_OF(complete, struct ipf, frag_complete_list);

    list->key = ipf_call_key(&list->key);
    hmap_remove(&ipf->frag_lists, &list->node);
    hmap_insert(&ipf->frag_lists, &list->node, ipf_call_hash(&list->key));
}

/* Moves the lists that this call is for to the front of 'complete'. */
static inline void
ipf_call_sort(struct ipf *ipf)
    OVS_REQUIRES(ipf->ipf_lock)
{
    const struct ipf_call *call = ipf_call_get();

    for (size_t i = 0; i < call->n; i++) {
        const struct ipf_comer *comer = &call->comers[i];
        struct ipf_list *list;

        HMAP_FOR_EACH_WITH_HASH (list, node, comer->hash, &ipf->frag_lists) {
            if (list->state == IPF_LIST_STATE_COMPLETED
                && ipf_comer_is_for(comer, list)) {
                ovs_list_remove(&list->list_node);
                ovs_list_push_front(&ipf->frag_complete_list,
                                    &list->list_node);
            }
        }
    }
}

#endif /* ipf-call.h */
