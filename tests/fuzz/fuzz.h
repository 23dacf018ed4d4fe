/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H 1

/* What the fuzzers have in common.
 *
 * Each is a function of libFuzzer's form, LLVMFuzzerTestOneInput().  A build
 * with --enable-fuzzers links them with libFuzzer, any other with driver.c,
 * which runs what is in the tree's corpus and a number of changed copies of
 * that.
 *
 * Most read their input as a program: bytes choose what is done next, so that
 * a change of one byte is a change of one step, and every input is a valid
 * one. */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fatal-signal.h"
#include "util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many changed inputs the driver runs with each of its two seeds: a second's
 * worth or less. */
extern const long int fuzz_runs;

/* Called once, before anything else. */
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* A finding. */
#define fuzz_require(CONDITION)                                         \
    do {                                                                \
        if (!(CONDITION)) {                                             \
            fuzz_found(__FILE__, __LINE__, #CONDITION);                 \
        }                                                               \
    } while (0)

OVS_NO_RETURN static inline void
fuzz_found(const char *file, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

/* OVS's library would take these, libFuzzer needs some.  For those whose code
 * begins threads or opens sockets. */
static inline void
fuzz_leave_signals(void)
{
    fatal_signal_init();
    signal(SIGALRM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

/* Input that is read from its beginning.  Behind its end everything is 0. */
struct fuzz_input {
    const uint8_t *p;
    size_t n;
};

static inline uint8_t
fuzz_u8(struct fuzz_input *in)
{
    if (!in->n) {
        return 0;
    }
    in->n--;
    return *in->p++;
}

static inline uint16_t
fuzz_u16(struct fuzz_input *in)
{
    uint16_t high = fuzz_u8(in);

    return high << 8 | fuzz_u8(in);
}

static inline uint32_t
fuzz_u32(struct fuzz_input *in)
{
    uint32_t high = fuzz_u16(in);

    return high << 16 | fuzz_u16(in);
}

/* One of 0 to n - 1, where n is at most 256. */
static inline unsigned int
fuzz_range(struct fuzz_input *in, unsigned int n)
{
    return fuzz_u8(in) % n;
}

/* Up to 'n' bytes, and how many there were. */
static inline const uint8_t *
fuzz_bytes(struct fuzz_input *in, size_t *n)
{
    const uint8_t *p = in->p;

    *n = MIN(*n, in->n);
    in->p += *n;
    in->n -= *n;
    return p;
}

#endif /* fuzz.h */
