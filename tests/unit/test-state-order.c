/* SPDX-License-Identifier: Apache-2.0 */

/* The order of flow mods in one version, and what it costs the bridge. */

#include <config.h>

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "adp-state-order.h"
#include "classifier-model.h"
#include "flow.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-flow.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

/* Flow mods for all of 'n_ports' matches at 'n_priorities' priorities each,
 * shuffled. */
static struct ofputil_flow_mod *
shuffled_flow_mods(uint16_t command, int n_ports, int n_priorities)
{
    size_t n = n_ports * n_priorities;
    struct ofputil_flow_mod *fms = xcalloc(n, sizeof *fms);

    for (size_t i = 0; i < n; i++) {
        size_t j = random_range(i + 1);
        struct match match;

        match_init_catchall(&match);
        match_set_in_port(&match, u16_to_ofp(i % n_ports));
        fms[i] = fms[j];
        fms[j] = (struct ofputil_flow_mod) {
            .command = command,
            .priority = i,          /* All different. */
        };
        minimatch_init(&fms[j].match, &match);
    }
    return fms;
}

/* The lists of a mask, each with a share of the priorities, come, come anew and
 * go with a few steps for each flow. */
START_TEST(test_order_of_flow_mods)
{
    enum { N_PORTS = 40, N_PRIORITIES = 50, N = N_PORTS * N_PRIORITIES };
    static const uint16_t commands[] = {
        OFPFC_ADD, OFPFC_MODIFY_STRICT, OFPFC_DELETE_STRICT
    };

    struct classifier_model classifier;

    test_seed_random();
    classifier_model_init(&classifier);
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        struct ofputil_flow_mod *fms = shuffled_flow_mods(commands[i], N_PORTS,
                                                          N_PRIORITIES);

        classifier.n_steps = 0;
        adp_order_flow_mods(fms, N);
        for (size_t j = 0; j < N; j++) {
            classifier_model_mod(&classifier, &fms[j]);
            minimatch_destroy(&fms[j].match);
        }
        classifier_model_settle(&classifier);
        printf("%"PRIuSIZE" steps for %d flow mods\n",
               classifier.n_steps, N);
        ck_assert_uint_le(classifier.n_steps, 5 * N);
        free(fms);
    }
    classifier_model_uninit(&classifier);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("state-order");
    TCase *tc = tcase_create("state-order");

    tcase_add_test(tc, test_order_of_flow_mods);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
