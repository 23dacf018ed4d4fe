/* SPDX-License-Identifier: Apache-2.0 */

/* What a state of many policy rules takes of the heap: records, nodes and the
 * flows that they ask for, without what is compiled of them. */

#include <config.h>
#include <check.h>

#include "many-rules.h"
#include "openvswitch/json.h"
#include "ovs-rcu.h"
#include "test-run.h"

enum { N_RULES = 10000, MAX_BYTES_A_FLOW = 600 };

/* The sanitizers' malloc() doesn't say what it has given. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MALLOC_TELLS = 0 };
#else
enum { MALLOC_TELLS = 1 };
#endif

START_TEST(bytes_a_flow)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    random_set_seed(N_RULES);
    size_t before = used_bytes();
    record_flows_init();
    put_state(&s, N_RULES);
    struct json *records = json_from_string(ds_cstr(&s));
    ds_destroy(&s);
    change_records(records, false);
    change_nodes();
    change_flows();
    json_destroy(records);
    ovsrcu_barrier();

    struct adp_desired_usage usage = get_usage();
    size_t bytes = used_bytes() - before;
    ck_assert_uint_gt(usage.n_flows, 5 * N_RULES);
    if (MALLOC_TELLS) {
        ck_assert_uint_gt(bytes, usage.n_bytes);
        ck_assert_uint_le(bytes / usage.n_flows, MAX_BYTES_A_FLOW);
    }
    record_flows_uninit();
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("state-size");
    TCase *tc = tcase_create("state-size");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, bytes_a_flow);
    suite_add_tcase(s, tc);
    return test_run(s);
}
