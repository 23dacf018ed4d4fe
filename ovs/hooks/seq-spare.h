/* SPDX-License-Identifier: Apache-2.0 */

#ifndef SEQ_SPARE_H
#define SEQ_SPARE_H 1

/* Included by seq.c: what becomes of a 'struct seq_waiter' that has waited.
 *
 * Who changes a seq takes away what waits for it, and upstream frees that in
 * his thread, though another one has allocated it.  Then a PMD thread that
 * quiesces waits for the lock of that thread's malloc() arena, for as long as
 * somebody is in there: with the main thread busy, milliseconds.  Here they
 * are kept, for whoever waits next: as many as once waited at the same time.
 *
 * Thread-safety: under seq_mutex.
 */

static struct ovs_list spare_waiters OVS_GUARDED_BY(seq_mutex)
    = OVS_LIST_INITIALIZER(&spare_waiters);

static struct seq_waiter *
spare_waiter_take(void)
    OVS_REQUIRES(seq_mutex)
{
    struct seq_waiter *waiter;

    if (ovs_list_is_empty(&spare_waiters)) {
        return xmalloc(sizeof *waiter);
    }
    return CONTAINER_OF(ovs_list_pop_front(&spare_waiters),
                        struct seq_waiter, list_node);
}

static void
spare_waiter_put(struct seq_waiter *waiter)
    OVS_REQUIRES(seq_mutex)
{
    ovs_list_push_front(&spare_waiters, &waiter->list_node);
}

#endif /* seq-spare.h */
