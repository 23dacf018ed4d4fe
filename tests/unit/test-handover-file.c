/* SPDX-License-Identifier: Apache-2.0 */

/* The file by which a daemon hands over to the next one: what is read is what
 * was written, or nothing. */

#include <config.h>
#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "adp-handover-file.h"
#include "openvswitch/ofpbuf.h"
#include "test-run.h"
#include "util.h"

/* What CLOCK_BOOTTIME tells, in milliseconds, unless it is LLONG_MAX. */
static long long int boottime_ms = LLONG_MAX;

int __real_clock_gettime(clockid_t, struct timespec *);
int __wrap_clock_gettime(clockid_t, struct timespec *);
int
__wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
    if (id != CLOCK_BOOTTIME || boottime_ms == LLONG_MAX) {
        return __real_clock_gettime(id, ts);
    }
    ts->tv_sec = boottime_ms / 1000;
    ts->tv_nsec = boottime_ms % 1000 * 1000000;
    return 0;
}

static char folder[] = "/tmp/adp-handover-XXXXXX";
static char *path;

static void
setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    path = xasprintf("%s/file", folder);
}

static void
teardown(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);     /* Nothing else is there. */
    free(path);
}

/* Two parts, of 'n' bytes and none. */
static char *
write_file(size_t n, uint64_t max_len, long long int max_ms)
{
    struct adp_handover_out *out;
    uint64_t len;

    ck_assert_ptr_null(adp_handover_out_create(path, max_len, max_ms, &out));
    adp_handover_out_begin(out, 1, 10);
    for (size_t i = 0; i < n; i++) {
        uint8_t byte = i * 7;

        adp_handover_out_write(out, &byte, 1);
    }
    adp_handover_out_begin(out, 2, 20);
    return adp_handover_out_commit(out, &len);
}

static void
write_ok(size_t n)
{
    ck_assert_ptr_null(write_file(n, 1 << 24, 60 * 1000));
}

static bool
exists(void)
{
    return !access(path, F_OK);
}

START_TEST(test_parts)
{
    static const size_t sizes[] = { 0, 1, 7, 8, 9, 262143, 262144, 300001 };

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct adp_handover_in *in;
        size_t len;

        write_ok(sizes[i]);
        ck_assert_ptr_null(adp_handover_in_open(path, &in));
        ck_assert_ptr_nonnull(in);
        ck_assert(!exists());
        const uint8_t *p = adp_handover_in_part(in, 1, 10, &len);
        ck_assert_uint_eq(len, sizes[i]);
        for (size_t j = 0; j < len; j++) {
            ck_assert(p[j] == (uint8_t) (j * 7));
        }
        ck_assert_ptr_nonnull(adp_handover_in_part(in, 2, 20, &len));
        ck_assert_uint_eq(len, 0);
        ck_assert_ptr_null(adp_handover_in_part(in, 1, 11, &len));
        ck_assert_ptr_null(adp_handover_in_part(in, 3, 10, &len));
        ck_assert_int_ge(adp_handover_in_age_ms(in), 0);
        adp_handover_in_close(in);
    }
}
END_TEST

START_TEST(test_none)
{
    struct adp_handover_in *in;

    ck_assert_ptr_null(adp_handover_in_open(path, &in));
    ck_assert_ptr_null(in);
}
END_TEST

static void
read_file(struct ofpbuf *bytes)
{
    int fd = open(path, O_RDONLY);
    struct stat s;

    ck_assert_int_eq(fstat(fd, &s), 0);
    ofpbuf_init(bytes, s.st_size);
    ck_assert_int_eq(read(fd, ofpbuf_put_uninit(bytes, s.st_size), s.st_size),
                     s.st_size);
    close(fd);
}

/* Is a file with these bytes refused, and deleted? */
static void
check_refused(const void *bytes, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    struct adp_handover_in *in;
    char *error;

    ck_assert_int_eq(write(fd, bytes, n), n);
    close(fd);
    error = adp_handover_in_open(path, &in);
    ck_assert_ptr_nonnull(error);
    ck_assert_ptr_null(in);
    ck_assert(!exists());
    free(error);
}

START_TEST(test_torn)
{
    struct ofpbuf bytes;

    write_ok(100);
    read_file(&bytes);
    for (size_t n = 0; n < bytes.size; n++) {
        check_refused(bytes.data, n);
    }
    ofpbuf_put_zeros(&bytes, 1);
    check_refused(bytes.data, bytes.size);
    ofpbuf_uninit(&bytes);
}
END_TEST

START_TEST(test_changed)
{
    struct ofpbuf bytes;

    write_ok(100);
    read_file(&bytes);
    for (size_t bit = 0; bit < bytes.size * 8; bit++) {
        uint8_t *byte = (uint8_t *) bytes.data + bit / 8;

        *byte ^= 1 << bit % 8;
        check_refused(bytes.data, bytes.size);
        *byte ^= 1 << bit % 8;
    }
    ofpbuf_uninit(&bytes);
}
END_TEST

/* Is a file of 'written' read at 'now'? */
static bool
is_read(long long int written, long long int now)
{
    struct adp_handover_in *in;
    char *error;

    boottime_ms = written;
    write_ok(10);
    boottime_ms = now;
    error = adp_handover_in_open(path, &in);
    ck_assert(!error == !!in);
    ck_assert(!exists());
    if (in) {
        ck_assert_int_eq(adp_handover_in_age_ms(in), now - written);
        adp_handover_in_close(in);
    }
    free(error);
    return in;
}

START_TEST(test_age)
{
    const long long int max = ADP_HANDOVER_MAX_AGE_MS;

    ck_assert(is_read(5000, 5000));
    ck_assert(!is_read(5001, 5000));
    ck_assert(is_read(5000, 5000 + max));
    ck_assert(!is_read(5000, 5001 + max));
    ck_assert(is_read(0, 10));
    ck_assert(!is_read(-1000, 10));
    /* The difference is none that a number of 64 bits can hold. */
    ck_assert(!is_read(LLONG_MIN / 1000 * 1000, 5000));
}
END_TEST

START_TEST(test_limits)
{
    char *error = write_file(100000, 50000, 60 * 1000);

    ck_assert_ptr_nonnull(error);
    ck_assert(!exists());
    free(error);

    error = write_file(10, 50000, -1);
    ck_assert_ptr_nonnull(error);
    ck_assert(!exists());
    free(error);
}
END_TEST

START_TEST(test_trust)
{
    struct adp_handover_in *in;
    char *target = xasprintf("%s/target", folder);
    char *error;

    write_ok(10);
    ck_assert_int_eq(chmod(path, 0640), 0);
    error = adp_handover_in_open(path, &in);
    ck_assert_ptr_nonnull(error);
    ck_assert(!exists());
    free(error);

    write_ok(10);
    ck_assert_int_eq(rename(path, target), 0);
    ck_assert_int_eq(symlink(target, path), 0);
    error = adp_handover_in_open(path, &in);
    ck_assert_ptr_nonnull(error);
    ck_assert(!exists());
    free(error);
    unlink(target);
    free(target);

    ck_assert_int_eq(mkfifo(path, 0600), 0);
    error = adp_handover_in_open(path, &in);
    ck_assert_ptr_nonnull(error);
    ck_assert(!exists());
    free(error);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("handover-file");
    TCase *tc = tcase_create("handover-file");

    suite_add_tcase(s, tc);
    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_parts);
    tcase_add_test(tc, test_none);
    tcase_add_test(tc, test_torn);
    tcase_add_test(tc, test_changed);
    tcase_add_test(tc, test_age);
    tcase_add_test(tc, test_limits);
    tcase_add_test(tc, test_trust);
    return test_run(s);
}
