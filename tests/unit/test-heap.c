/* SPDX-License-Identifier: Apache-2.0 */

/* What was freed is sorted in portions, before somebody asks for memory. */

#include <config.h>
#include <check.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "adp-heap.h"
#include "adp-job.h"
#include "adp-turn.h"
#include "test-run.h"
#include "util.h"

enum { N = 100000, SIZE = 200 };

/* The sanitizers' malloc() is another one, of which nothing is asked here but
 * that it works. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { GLIBC_MALLOC = 0 };
#else
enum { GLIBC_MALLOC = 1 };
#endif

static char *pieces[2 * N];
static size_t n_left;

/* How many pieces in all arenas wait to be sorted. */
static size_t
count_unsorted(void)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    size_t n = 0;

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(malloc_info(0, f), 0);
    fclose(f);
    for (char *at = strstr(text, "<unsorted"); at;
         at = strstr(at, "<unsorted")) {
        at = strstr(at, "count=\"");
        ck_assert_ptr_nonnull(at);
        n += strtoul(at + strlen("count=\""), NULL, 10);
    }
    free(text);
    return n;
}

/* Frees N pieces of which no two are neighbours. */
static void
free_scattered(void *unused OVS_UNUSED)
{
    for (int i = 0; i < 2 * N; i++) {
        pieces[i] = xmalloc(SIZE);
    }
    for (int i = 0; i < 2 * N; i += 2) {
        free(pieces[i]);
    }
    /* Counting allocates, too, which sorts some. */
    n_left = count_unsorted();
    ck_assert(!GLIBC_MALLOC || n_left > 1000);
}

static void
free_others(void)
{
    for (int i = 1; i < 2 * N; i += 2) {
        free(pieces[i]);
    }
}

START_TEST(freed_pieces_are_sorted)
{
    free_scattered(NULL);
    for (int i = 0; i < 2 * N / 10000; i++) {
        adp_heap_run();
    }
    ck_assert(!GLIBC_MALLOC || count_unsorted() < 100);
    free_others();
}
END_TEST

/* Jobs have an arena of their own, and leave none behind. */
START_TEST(what_jobs_free_is_sorted)
{
    struct adp_job *job = adp_job_create(free_scattered, NULL);
    struct adp_turn_slice slice;

    adp_turn_slice_init_whole(&slice);
    ck_assert(adp_job_run(job, &slice));
    adp_job_destroy(job);
    /* Once at the least, and more often while that takes long. */
    ck_assert(!GLIBC_MALLOC || count_unsorted() + 10000 <= n_left);
    free_others();
}
END_TEST

/* Small pieces are put together at once: nobody finds them apart. */
START_TEST(small_pieces_are_not_kept_apart)
{
    for (int i = 0; i < N; i++) {
        pieces[i] = xmalloc(40);
    }
    for (int i = 0; i < N; i++) {
        free(pieces[i]);
    }
    ck_assert(!GLIBC_MALLOC || mallinfo2().smblks == 0);
    ck_assert(!GLIBC_MALLOC || mallinfo2().ordblks < N / 100);
}
END_TEST

int
main(void)
{
    TCase *tc = tcase_create("heap");

    adp_heap_init();
    tcase_add_test(tc, freed_pieces_are_sorted);
    tcase_add_test(tc, what_jobs_free_is_sorted);
    tcase_add_test(tc, small_pieces_are_not_kept_apart);

    Suite *suite = suite_create("heap");
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
