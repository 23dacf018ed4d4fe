/* SPDX-License-Identifier: Apache-2.0 */

/* Output into tunnels whose underlay recirculates: the IDs that actions name
 * stand for something as long as packets go by the actions. */

#include <config.h>
#include <check.h>

#include "test-run.h"
#include "tunnel-world.h"

/* Translations take IDs 1 to 'n'. */
static struct adp_tunnel *
find_with_recircs(unsigned n)
{
    says.actions = "pr";
    says.n_recircs = n;
    return find();
}

static void
ck_recircs_held(unsigned n)
{
    for (uint32_t id = 1; id <= MAX_RECIRCS; id++) {
        ck_assert_int_eq(recirc_refs[id], id <= n);
    }
}

static void
renew(void)
{
    seq_change(tnl_conf_seq);
    adp_tunnels_run(b);
    ck_assert_uint_eq(translated.n, 2);
}

START_TEST(held)
{
    find_with_recircs(_i);
    ck_recircs_held(_i);
    now += 10 * GRACE_MS;
    adp_tunnels_run(b);
    ck_recircs_held(_i);
}
END_TEST

START_TEST(same_actions)
{
    find_with_recircs(_i);
    renew();
    wait_for_grace();
    ck_recircs_held(_i);
}
END_TEST

/* Who goes by the old actions may do so till it quiesces. */
START_TEST(other_actions)
{
    find_with_recircs(_i);
    says.actions = NULL;
    says.n_recircs = 0;
    renew();
    ck_recircs_held(_i);
    wait_for_grace();
    ck_recircs_held(0);
}
END_TEST

START_TEST(not_kept)
{
    says.avoid_caching = true;
    ck_assert_ptr_null(find_with_recircs(_i));
    ck_recircs_held(0);
}
END_TEST

/* Who still refers to a tunnel that has left holds what it leads to. */
START_TEST(idle)
{
    struct adp_tunnel *t = find_with_recircs(_i);

    ck_assert(adp_tunnel_try_ref(t));
    for (long long int end = now + 2 * IDLE_MS; now < end; now += 100) {
        adp_tunnels_run(b);
    }
    ck_assert_uint_eq(counts().n, 0);
    wait_for_grace();
    ck_recircs_held(_i);
    adp_tunnel_unref(t);
    wait_for_grace();
    ck_recircs_held(0);
}
END_TEST

/* Before a bridge goes that they lead through. */
START_TEST(released)
{
    struct adp_tunnel *plain = find();

    flow.tunnel.ip_dst = htonl(PEER + 1);
    struct adp_tunnel *t = find_with_recircs(_i);
    adp_tunnels_release_recircs(b);
    ck_recircs_held(0);
    ck_assert_int_eq(leads_to(plain), 1);
    ck_assert_int_eq(leads_to(t), -1);

    ck_assert_ptr_eq(find_with_recircs(_i), t);
    ck_assert_uint_eq(translated.n, 3);
    wait_for_grace();
    ck_recircs_held(_i);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("tunnel-recirc");
    TCase *tc = tcase_create("tunnel-recirc");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, held, 1, MAX_RECIRCS + 1);
    tcase_add_loop_test(tc, same_actions, 1, MAX_RECIRCS + 1);
    tcase_add_loop_test(tc, other_actions, 1, MAX_RECIRCS + 1);
    tcase_add_loop_test(tc, not_kept, 1, MAX_RECIRCS + 1);
    tcase_add_loop_test(tc, idle, 1, MAX_RECIRCS + 1);
    tcase_add_loop_test(tc, released, 1, MAX_RECIRCS + 1);
    suite_add_tcase(s, tc);
    return test_run(s);
}
