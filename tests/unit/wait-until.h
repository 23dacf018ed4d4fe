/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_WAIT_UNTIL_H
#define TESTS_WAIT_UNTIL_H 1

/* Waiting for another thread, in loops that end if it never does what is
 * waited for. */

#include <check.h>
#include <sched.h>
#include "ovs-rcu.h"
#include "timeval.h"

/* However slow the machine is: nobody waits for so long in vain. */
#define WAIT_MAX_MS (60 * 1000)

#define wait_until(CONDITION)                                               \
    do {                                                                    \
        long long int wait_end = time_msec() + WAIT_MAX_MS;                 \
                                                                            \
        while (!(CONDITION)) {                                              \
            ck_assert_msg(time_msec() < wait_end, "in vain: " #CONDITION);  \
            ovsrcu_quiesce();                                               \
            sched_yield();                                                  \
        }                                                                   \
    } while (0)

#endif /* wait-until.h */
