/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_ROUNDS_H
#define TESTS_ROUNDS_H 1

/* How often a test does what it draws anew each time: N times, and under the
 * sanitizers, where each takes several times as long and the plain build's test
 * has done all of them, an eighth of that. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUNDS(N) ((N) / 8)
#else
#define ROUNDS(N) (N)
#endif

#endif /* rounds.h */
