/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TEST_SEED_H
#define TEST_SEED_H 1

/* Random numbers of a test that can be had again. */

/* Seeds random.h with ADP_TEST_SEED from the environment or, without, with a
 * seed of its own, and prints it. */
void test_seed_random(void);

#endif /* test-seed.h */
