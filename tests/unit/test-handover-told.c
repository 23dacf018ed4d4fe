/* SPDX-License-Identifier: Apache-2.0 */

/* A daemon that hands over is told to end by SIGTERM, and then it does,
 * whatever becomes of the setting: see adp-handover.h. */

#include <config.h>
#include <check.h>
#include <signal.h>

#include "adp-bridge-shared.h"
#include "adp-handover.h"
#include "test-run.h"
#include "util.h"

struct ovs_list adp_bridges = OVS_LIST_INITIALIZER(&adp_bridges);

void
adp_bridge_set_mode(struct adp_bridge *b OVS_UNUSED, bool closed OVS_UNUSED)
{
    OVS_NOT_REACHED();
}

/* Each test is a process of its own, but with CK_FORK=no; so there is one. */

static bool
dies_of_sigterm(void)
{
    struct sigaction action;

    ck_assert_int_eq(sigaction(SIGTERM, NULL, &action), 0);
    return action.sa_handler == SIG_DFL;
}

START_TEST(told_once_is_told)
{
    signal(SIGTERM, SIG_DFL);           /* libcheck has a handler. */
    ck_assert(!adp_handover_must_end());
    adp_handover_configure(false);
    ck_assert(dies_of_sigterm());

    adp_handover_configure(true);
    ck_assert(!dies_of_sigterm());
    adp_handover_configure(false);
    ck_assert(dies_of_sigterm());
    ck_assert(!adp_handover_must_end());

    /* The second one would kill it. */
    adp_handover_configure(true);
    ck_assert_int_eq(raise(SIGTERM), 0);
    ck_assert(adp_handover_must_end());
    ck_assert(dies_of_sigterm());

    /* As if the setting went in the same turn. */
    adp_handover_configure(false);
    ck_assert(adp_handover_must_end());
    ck_assert(dies_of_sigterm());

    /* But then nothing is left, though there is a bridge. */
    static struct adp_bridge bridge;
    ovs_list_push_back(&adp_bridges, &bridge.list_node);
    ck_assert(!adp_handover_leave());
    ovs_list_remove(&bridge.list_node);
}
END_TEST

static Suite *
make_suite(void)
{
    Suite *suite = suite_create("handover-told");
    TCase *tc = tcase_create("told");

    tcase_add_test(tc, told_once_is_told);
    suite_add_tcase(suite, tc);
    return suite;
}

int
main(void)
{
    return test_run(make_suite());
}
