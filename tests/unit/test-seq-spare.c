/* SPDX-License-Identifier: Apache-2.0 */

/* Who changes a seq doesn't free what another thread allocated to wait for
 * it. */

#include <config.h>

#include <check.h>

#include "openvswitch/poll-loop.h"
#include "ovs-thread.h"
#include "seq.h"
#include "test-run.h"
#include "util.h"

/* The test is linked so that calls of free() come here. */
void __real_free(void *);
void __wrap_free(void *);

static _Thread_local bool counts_frees;
static _Thread_local unsigned int n_frees;

void
__wrap_free(void *p)
{
    n_frees += counts_frees;
    __real_free(p);
}

enum { N_SEQS = 8, N_ROUNDS = 100 };

struct world {
    struct seq *seqs[N_SEQS];   /* Of which each round changes one. */
    struct seq *waits;          /* Changes when the other thread will wait. */
};

static void *
wait_often(void *world_)
{
    struct world *world = world_;

    for (size_t i = 0; i < N_ROUNDS; i++) {
        uint64_t seqnos[N_SEQS];

        for (size_t j = 0; j < N_SEQS; j++) {
            seqnos[j] = seq_read(world->seqs[j]);
            seq_wait(world->seqs[j], seqnos[j]);
        }
        seq_change(world->waits);
        poll_block();
        ck_assert_uint_ne(seq_read(world->seqs[i % N_SEQS]),
                          seqnos[i % N_SEQS]);
    }
    return NULL;
}

/* Each of the other thread's waits ends with a change of this one's; it waits
 * for others at the same time, which its waking up takes away. */
START_TEST(test_change_frees_nothing)
{
    struct world world = { .waits = seq_create() };
    uint64_t seqno = seq_read(world.waits);

    for (size_t i = 0; i < N_SEQS; i++) {
        world.seqs[i] = seq_create();
    }

    pthread_t thread = ovs_thread_create("waits", wait_often, &world);
    for (size_t i = 0; i < N_ROUNDS; i++) {
        seq_wait(world.waits, seqno);
        poll_block();
        seqno = seq_read(world.waits);

        counts_frees = true;
        seq_change(world.seqs[i % N_SEQS]);
        counts_frees = false;
        ck_assert_uint_eq(n_frees, 0);
    }
    xpthread_join(thread, NULL);

    for (size_t i = 0; i < N_SEQS; i++) {
        seq_destroy(world.seqs[i]);
    }
    counts_frees = true;
    seq_destroy(world.waits);
    ck_assert_uint_gt(n_frees, 0);      /* They are counted. */
    counts_frees = false;
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("seq-spare");
    TCase *tc = tcase_create("seq-spare");

    tcase_add_test(tc, test_change_frees_nothing);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
