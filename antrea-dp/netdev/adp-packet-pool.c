/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-packet-pool.h"

#include <pthread.h>

#include "dp-packet.h"
#include "ovs-thread.h"
#include "util.h"

struct stack {
    struct dp_packet **packets;
    size_t n, max;
    size_t room;                /* For data, of each. */
};

struct pool {
    struct stack by_len[2];     /* The shorter ones first. */
};

static pthread_key_t pool_key;
static __thread struct pool *mine;

static void
pool_free(void *pool_)
{
    struct pool *pool = pool_;

    mine = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(pool->by_len); i++) {
        struct stack *s = &pool->by_len[i];

        while (s->n) {
            dp_packet_delete(s->packets[--s->n]);
        }
        free(s->packets);
    }
    free(pool);
}

static void
stack_init(struct stack *s, size_t room, size_t max)
{
#ifdef __SANITIZE_ADDRESS__
    max = 0;                    /* To see who uses what is gone. */
#endif
    s->room = room;
    s->max = max;
    s->packets = xmalloc(max * sizeof *s->packets);
}

static struct pool *
pool_get(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    if (OVS_LIKELY(mine)) {
        return mine;
    }
    if (ovsthread_once_start(&once)) {
        xpthread_key_create(&pool_key, pool_free);
        ovsthread_once_done(&once);
    }
    mine = xzalloc(sizeof *mine);
    stack_init(&mine->by_len[0], ADP_PACKET_POOL_SHORT,
               ADP_PACKET_POOL_N_SHORT);
    stack_init(&mine->by_len[1], ADP_PACKET_POOL_LONG,
               ADP_PACKET_POOL_N_LONG);
    xpthread_setspecific(pool_key, mine);
    return mine;
}

struct dp_packet *
adp_packet_pool_get(size_t size)
{
    struct pool *pool = pool_get();
    struct stack *s = &pool->by_len[size > ADP_PACKET_POOL_SHORT];

    if (!s->n) {
        return dp_packet_new_with_headroom(s->room, ADP_PACKET_POOL_HEADROOM);
    }
    struct dp_packet *packet = s->packets[--s->n];

    dp_packet_use(packet, dp_packet_base(packet),
                  dp_packet_get_allocated(packet));
    dp_packet_reserve(packet, ADP_PACKET_POOL_HEADROOM);
    return packet;
}

void
adp_packet_pool_put(struct dp_packet *packet)
{
    if (OVS_LIKELY(packet->source == DPBUF_MALLOC)) {
        struct pool *pool = pool_get();

        for (size_t i = 0; i < ARRAY_SIZE(pool->by_len); i++) {
            struct stack *s = &pool->by_len[i];

            if (dp_packet_get_allocated(packet)
                == s->room + ADP_PACKET_POOL_HEADROOM && s->n < s->max) {
                s->packets[s->n++] = packet;
                return;
            }
        }
    }
    dp_packet_delete(packet);
}

void
adp_packet_pool_put_batch(struct dp_packet_batch *batch)
{
    struct dp_packet *packet;

    DP_PACKET_BATCH_FOR_EACH (i, packet, batch) {
        adp_packet_pool_put(packet);
    }
    dp_packet_batch_init(batch);
}
