/* SPDX-License-Identifier: Apache-2.0 */

/* Jobs: work in one piece that is done in slices, never beside the thread that
 * runs it. */

#include <config.h>
#include <check.h>

#include "adp-job.h"
#include "model-pause.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "test-run.h"
#include "turn-clock.h"
#include "util.h"

/* Work of 'n' items, of which each takes a tenth of a slice. */
struct work {
    int n, n_done;
    bool is_its_turn;
};

static void
do_work(void *work_)
{
    struct work *work = work_;

    for (; work->n_done < work->n; work->n_done++) {
        ck_assert(work->is_its_turn);
        now += ADP_TURN_SLICE_MIN_US / 10;
        adp_pause();
        ck_assert(work->is_its_turn);
    }
}

static bool
run_slice(struct adp_job *job, struct work *work, bool whole)
{
    struct adp_turn_slice slice;

    if (whole) {
        adp_turn_slice_init_whole(&slice);
    } else {
        adp_turn_slice_init(&slice);
    }
    work->is_its_turn = true;
    bool ended = adp_job_run(job, &slice);
    work->is_its_turn = false;
    return ended;
}

START_TEST(work_stands_still_between_slices)
{
    struct work work = { .n = 100 };
    struct adp_job *job = adp_job_create(do_work, &work);
    int n_slices = 0;

    ck_assert_int_eq(work.n_done, 0);
    while (!run_slice(job, &work, false)) {
        int n_done = work.n_done;

        ck_assert_int_gt(n_done, n_slices);
        n_slices++;
        ck_assert_int_le(n_done, n_slices * 20);
    }
    ck_assert_int_eq(work.n_done, 100);
    ck_assert_int_ge(n_slices, 5);
    adp_job_destroy(job);
}
END_TEST

START_TEST(whole_slice_goes_to_the_end)
{
    struct work work = { .n = 1000 };
    struct adp_job *job = adp_job_create(do_work, &work);

    ck_assert(!run_slice(job, &work, false));
    ck_assert(run_slice(job, &work, true));
    ck_assert_int_eq(work.n_done, 1000);
    adp_job_destroy(job);
    adp_job_destroy(NULL);
}
END_TEST

START_TEST(two_jobs_take_turns)
{
    struct work works[2] = { { .n = 50 }, { .n = 80 } };
    struct adp_job *jobs[2];
    bool ended[2] = { false, false };

    for (int i = 0; i < 2; i++) {
        jobs[i] = adp_job_create(do_work, &works[i]);
    }
    while (!ended[0] || !ended[1]) {
        for (int i = 0; i < 2; i++) {
            ended[i] = ended[i] || run_slice(jobs[i], &works[i], false);
        }
    }
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(works[i].n_done, works[i].n);
        adp_job_destroy(jobs[i]);
    }
}
END_TEST

/* Nobody's grace period waits for work that stands still. */
START_TEST(pause_holds_nobody_up)
{
    struct work work = { .n = 100 };
    struct adp_job *job = adp_job_create(do_work, &work);

    ovsrcu_synchronize();
    ck_assert(!run_slice(job, &work, false));
    ovsrcu_synchronize();
    ck_assert(run_slice(job, &work, true));
    adp_job_destroy(job);
}
END_TEST

static pthread_t worker;

static void
note_worker(void *aux OVS_UNUSED)
{
    worker = pthread_self();
}

/* Returns the thread of such work. */
static pthread_t
run_noting(struct adp_job *job)
{
    struct work work = { .n = 0 };

    ck_assert(run_slice(job, &work, true));
    return worker;
}

/* A thread stays for the next job, and no more than one. */
START_TEST(one_thread_stays)
{
    struct adp_job *a = adp_job_create(note_worker, NULL);
    pthread_t first = run_noting(a);

    ck_assert(!pthread_equal(first, pthread_self()));
    adp_job_destroy(a);
    for (int i = 0; i < 100; i++) {
        struct work work = { .n = 20 };

        a = adp_job_create(do_work, &work);
        while (!run_slice(a, &work, false)) {
            ck_assert_int_lt(work.n_done, 20);
        }
        ck_assert_int_eq(work.n_done, 20);
        adp_job_destroy(a);
    }
    a = adp_job_create(note_worker, NULL);
    struct adp_job *b = adp_job_create(note_worker, NULL);
    ck_assert(pthread_equal(run_noting(a), first));
    pthread_t second = run_noting(b);
    ck_assert(!pthread_equal(second, first));
    adp_job_destroy(b);
    adp_job_destroy(a);         /* Its thread ends. */

    /* Nobody's grace period waits for the one that stays. */
    ovsrcu_synchronize();
    a = adp_job_create(note_worker, NULL);
    ck_assert(pthread_equal(run_noting(a), second));
    adp_job_destroy(a);
}
END_TEST

enum { RUN_US = 3000 };

static long long int
own_cpu_us(void)
{
    return adp_turn_read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static void
run_for_a_while(void *aux OVS_UNUSED)
{
    long long int began = own_cpu_us();

    while (own_cpu_us() < began + RUN_US) {
        continue;
    }
}

/* The main thread only waits, but its core is at work. */
START_TEST(work_counts_as_the_turn_s)
{
    struct adp_job *job = adp_job_create(run_for_a_while, NULL);
    struct work work = { .n = 0 };
    struct adp_turn_counts c;

    adp_turn_begin();
    now += 10;
    ck_assert(run_slice(job, &work, true));
    adp_turn_end();
    adp_turn_get_counts(&c, true);
    ck_assert_uint_eq(c.recent.us, 10);
    ck_assert_uint_ge(c.recent.cpu_us, 10 + RUN_US);

    adp_turn_begin();
    now += 10;
    adp_turn_end();
    adp_turn_get_counts(&c, true);
    ck_assert_uint_eq(c.recent.cpu_us, 10);
    adp_job_destroy(job);
}
END_TEST

START_TEST(pauses_elsewhere_do_nothing)
{
    struct work work = { .n = 3, .is_its_turn = true };

    do_work(&work);
    ck_assert_int_eq(work.n_done, 3);
}
END_TEST

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);

    TCase *tc = tcase_create("job");
    tcase_add_checked_fixture(tc, start_clock, NULL);
    tcase_add_test(tc, work_stands_still_between_slices);
    tcase_add_test(tc, whole_slice_goes_to_the_end);
    tcase_add_test(tc, two_jobs_take_turns);
    tcase_add_test(tc, pause_holds_nobody_up);
    tcase_add_test(tc, one_thread_stays);
    tcase_add_test(tc, work_counts_as_the_turn_s);
    tcase_add_test(tc, pauses_elsewhere_do_nothing);

    Suite *suite = suite_create("job");
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
