/* SPDX-License-Identifier: Apache-2.0 */

/* How an idle packet thread rests.  It is told the time, and the only thing
 * that it waits for is there already. */

#include <config.h>

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "adp-poller.h"
#include "openvswitch/poll-loop.h"
#include "ovs-thread.h"
#include "test-run.h"
#include "util.h"

static int pipes[2][2];
static struct adp_poller *owners[2];

static void
setup(void)
{
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(pipe(pipes[i]), 0);
        owners[i] = NULL;
    }
}

static void
teardown(void)
{
    for (int i = 0; i < 2; i++) {
        adp_poller_leave(&owners[i], pipes[i][0]);
        ck_assert_ptr_null(owners[i]);
        close(pipes[i][0]);
        close(pipes[i][1]);
    }
}

/* An iteration at the given time: does the thread rest after it? */
static bool
rests(long long int now_us, unsigned int n_packets)
{
    int ms = -1;

    adp_poller_note(n_packets);
    bool rest = adp_poller_wants_rest(now_us, &ms);

    ck_assert_int_eq(ms, rest ? ADP_POLLER_MAX_REST_MS : -1);
    if (rest) {
        poll_immediate_wake();
        poll_block();
    }
    return rest;
}

/* Without news the test would wait for ever. */
static void
wait_for_news(void)
{
    int ms;

    ck_assert(adp_poller_wants_rest(1000000, &ms));
    poll_block();
}

START_TEST(spins_before)
{
    const int us = ADP_POLLER_SPIN_US;
    int ms;

    /* A thread that has nothing to poll isn't one of ours. */
    ck_assert(!adp_poller_is_mine(owners[0]));
    ck_assert(!adp_poller_wants_rest(1000, &ms));
    adp_poller_note_other();
    adp_poller_adopt(&owners[0], pipes[0][0]);
    ck_assert(adp_poller_is_mine(owners[0]));

    ck_assert(!rests(1000, 1));
    ck_assert(!rests(2000, 0));         /* Idle from here. */
    ck_assert(!rests(2000 + us - 1, 0));
    ck_assert(rests(2000 + us, 0));
    ck_assert(rests(2000 + us + 1, 0));
    ck_assert(!rests(5000, 1));         /* Busy again. */
    ck_assert(!rests(6000, 0));
    ck_assert(!rests(6000 + us - 1, 0));
    ck_assert(rests(6000 + us, 0));

    /* Something else is polled besides. */
    adp_poller_note_other();
    ck_assert(!rests(7000, 0));
    adp_poller_note_other();
    ck_assert(!rests(9000, 0));
    ck_assert(!rests(10000, 0));
    ck_assert(rests(10000 + us, 0));
}
END_TEST

START_TEST(wakes_up)
{
    for (int i = 0; i < 2; i++) {
        adp_poller_adopt(&owners[i], pipes[i][0]);
    }
    ck_assert(!rests(1000, 0));
    for (int i = 0; i < 2; i++) {
        char c = 0;

        ck_assert_int_eq(write(pipes[i][1], &c, 1), 1);
        wait_for_news();
        ck_assert_int_eq(read(pipes[i][0], &c, 1), 1);
    }
}
END_TEST

static bool
has_error(int fd)
{
    struct pollfd p = { .fd = fd };

    ck_assert_int_ge(poll(&p, 1, 0), 0);
    return p.revents & POLLERR;
}

/* An error that a device left in its socket wakes up once, or twice. */
START_TEST(errors)
{
    struct adp_poller *owner = NULL;
    int ends[2];
    char c = 0;

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    adp_poller_adopt(&owner, ends[0]);
    ck_assert(!rests(1000, 0));
    /* Closed with something unread. */
    ck_assert_int_eq(write(ends[0], &c, 1), 1);
    close(ends[1]);
    ck_assert(has_error(ends[0]));
    wait_for_news();
    wait_for_news();
    ck_assert(!has_error(ends[0]));
    adp_poller_leave(&owner, ends[0]);
    close(ends[0]);
}
END_TEST

static void *
takes_over(void *unused OVS_UNUSED)
{
    int ms;

    ck_assert(!adp_poller_is_mine(owners[0]));
    ck_assert(!adp_poller_wants_rest(1000, &ms));
    adp_poller_adopt(&owners[0], pipes[0][0]);
    ck_assert(adp_poller_is_mine(owners[0]));
    ck_assert(!rests(1000, 0));
    char c = 0;

    ck_assert_int_eq(write(pipes[0][1], &c, 1), 1);
    wait_for_news();
    return NULL;
}

START_TEST(other_thread)
{
    adp_poller_adopt(&owners[0], pipes[0][0]);
    adp_poller_adopt(&owners[1], pipes[1][0]);
    pthread_t thread = ovs_thread_create("other", takes_over, NULL);

    xpthread_join(thread, NULL);
    /* That one is gone, the queue still knows it. */
    ck_assert_ptr_nonnull(owners[0]);
    ck_assert(!adp_poller_is_mine(owners[0]));
    ck_assert(adp_poller_is_mine(owners[1]));
    adp_poller_adopt(&owners[0], pipes[0][0]);
    ck_assert(adp_poller_is_mine(owners[0]));
    ck_assert(!rests(1000, 0));
    wait_for_news();
}
END_TEST

/* What can't be waited for is polled. */
START_TEST(sleepless)
{
    int fd = open("/proc/self/stat", O_RDONLY);
    struct adp_poller *owner = NULL;

    ck_assert_int_ge(fd, 0);
    adp_poller_adopt(&owner, fd);
    ck_assert(!rests(1000, 0));
    ck_assert(!rests(900000, 0));
    adp_poller_leave(&owner, fd);
    close(fd);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("poller");
    TCase *tc = tcase_create("poller");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, spins_before);
    tcase_add_test(tc, wakes_up);
    tcase_add_test(tc, errors);
    tcase_add_test(tc, other_thread);
    tcase_add_test(tc, sleepless);
    suite_add_tcase(s, tc);
    return test_run(s);
}
