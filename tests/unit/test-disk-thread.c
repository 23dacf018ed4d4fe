/* SPDX-License-Identifier: Apache-2.0 */

/* The thread that writes a state's folder. */

#include <config.h>
#undef NDEBUG

#include "disk-world.h"

static char *
wait_until_done(struct adp_disk *d)
{
    char *error;

    while (!adp_disk_is_done(d, &error)) {
        ck_assert(adp_disk_is_busy(d));
        adp_disk_wait(d);
        poll_block();
    }
    ck_assert(!adp_disk_is_busy(d));
    return error;
}

static char *
hand_over(struct adp_disk *d, uint64_t g)
{
    struct transaction t;

    transaction_init(&t, g);
    adp_disk_append(d, g, &t.change, 1);
    char *error = wait_until_done(d);
    transaction_uninit(&t);
    return error;
}

/* Until a snapshot that was begun has ended. */
static void
wait_for_snapshot(struct adp_disk *d)
{
    struct json *records;

    while (!(records = adp_disk_take_records(d))) {
        adp_disk_wait(d);
        poll_block();
    }
    json_destroy(records);
}

START_TEST(thread)
{
    const struct adp_disk_position position = { .generation = 0 };
    struct adp_disk *d = adp_disk_create(path, &position);
    struct adp_disk_stats stats;
    int n_snapshots = 0;
    uint64_t g;

    value_len = 100 * 1024;
    for (g = 1; g <= MAX_GENERATION; g++) {
        char *error = hand_over(d, g);

        ck_assert_msg(!error, "%s", error);
        json_destroy(adp_disk_take_records(d));
        if (adp_disk_wants_snapshot(d, g * 100000)) {
            adp_disk_snapshot(d, records_at(g), g * 100000);
            n_snapshots++;
        }
    }
    ck_assert_int_ge(n_snapshots, 1);
    for (;;) {
        struct json *records = adp_disk_take_records(d);

        adp_disk_get_stats(d, &stats);
        json_destroy(records);
        if (stats.n_snapshots == n_snapshots) {
            break;
        }
        adp_disk_wait(d);
        poll_block();
    }
    ck_assert_uint_eq(stats.generation, MAX_GENERATION);
    ck_assert_uint_eq(stats.n_transactions, MAX_GENERATION);
    ck_assert_uint_eq(stats.n_failed, 0);
    ck_assert_ptr_null(stats.error);
    ck_assert_int_gt(stats.last_write, 0);
    ck_assert_uint_gt(stats.written, stats.bytes);

    adp_disk_take_back(d);
    char *error = wait_until_done(d);
    ck_assert_msg(!error || strstr(error, "nothing"), "%s", error);
    g = MAX_GENERATION - !error;
    free(error);
    adp_disk_destroy(d);
    check_state(path, g, g);
}
END_TEST

START_TEST(thread_tells_of_failures)
{
    const struct adp_disk_position position = { .generation = 0 };
    struct adp_disk *d = adp_disk_create(path, &position);
    struct adp_disk_stats stats;

    write_file(path, "", 0);
    for (int i = 1; i <= 2; i++) {
        char *error = hand_over(d, 1);

        ck_assert_ptr_nonnull(error);
        adp_disk_get_stats(d, &stats);
        ck_assert_str_eq(stats.error, error);
        ck_assert_uint_eq(stats.n_failed, i);
        ck_assert_uint_eq(stats.generation, 0);
        free(stats.error);
        free(error);
    }
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_ptr_null(hand_over(d, 1));
    adp_disk_get_stats(d, &stats);
    ck_assert_ptr_null(stats.error);
    ck_assert_uint_eq(stats.n_transactions, 1);

    struct transaction t;
    transaction_init(&t, 2);
    adp_disk_append(d, 2, &t.change, 1);
    adp_disk_finish(d);
    transaction_uninit(&t);
    adp_disk_destroy(d);
    check_state(path, 2, 2);
}
END_TEST

START_TEST(thread_waits_after_a_failed_snapshot)
{
    const struct adp_disk_position position = { .generation = 0 };
    struct adp_disk *d = adp_disk_create(path, &position);

    value_len = 700 * 1024;
    ck_assert_ptr_null(hand_over(d, 1));
    ck_assert(adp_disk_wants_snapshot(d, 1000));

    /* Where the snapshot is to be written there is a folder. */
    char *name = file_name(path, "snapshot", 1);
    char *new_name = xasprintf("%s.new", name);
    ck_assert_int_eq(mkdir(new_name, 0700), 0);
    adp_disk_snapshot(d, records_at(1), 1000);

    wait_for_snapshot(d);
    ck_assert(!adp_disk_wants_snapshot(d, 1001));
    ck_assert(adp_disk_wants_snapshot(d, 100000));
    ck_assert_int_eq(rmdir(new_name), 0);
    ck_assert_ptr_null(hand_over(d, 2));
    adp_disk_destroy(d);
    check_state(path, 2, 2);
    free(new_name);
    free(name);
}
END_TEST

/* A snapshot of what there was, and a transaction right behind it. */
START_TEST(thread_begins_snapshots_in_order)
{
    const struct adp_disk_position position = { .generation = 0 };
    struct adp_disk *d = adp_disk_create(path, &position);
    struct transaction t;

    ck_assert_ptr_null(hand_over(d, 1));
    adp_disk_snapshot(d, records_at(1), 1000);
    transaction_init(&t, 2);
    adp_disk_append(d, 2, &t.change, 1);
    char *error = wait_until_done(d);
    ck_assert_msg(!error, "%s", error);
    transaction_uninit(&t);
    wait_for_snapshot(d);
    adp_disk_destroy(d);
    check_state(path, 2, 2);
}
END_TEST

/* A group counts as its transactions, and as one group. */
START_TEST(thread_writes_groups)
{
    const struct adp_disk_position position = { .generation = 0 };
    struct adp_disk *d = adp_disk_create(path, &position);
    struct adp_disk_change changes[3];
    struct adp_disk_stats stats;
    struct transaction t[3];

    for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
        transaction_init(&t[i], 1 + i);
        changes[i] = t[i].change;
    }
    adp_disk_append(d, 1, changes, ARRAY_SIZE(t));
    char *error = wait_until_done(d);
    ck_assert_msg(!error, "%s", error);
    check_state(path, 3, 3);
    adp_disk_take_back(d);
    ck_assert_ptr_null(wait_until_done(d));
    check_state(path, 0, 0);
    adp_disk_append(d, 1, changes, ARRAY_SIZE(t));
    ck_assert_ptr_null(wait_until_done(d));
    adp_disk_get_stats(d, &stats);
    ck_assert_uint_eq(stats.generation, 3);
    ck_assert_uint_eq(stats.n_transactions, 6);
    ck_assert_uint_eq(stats.n_groups, 2);
    for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
        transaction_uninit(&t[i]);
    }
    adp_disk_destroy(d);
}
END_TEST

static bool
exists(const char *name)
{
    struct stat s;

    return !lstat(name, &s);
}

/* It gets another name before there is anything, between a group and its
 * taking back, and while a snapshot is written; all that ever was goes
 * along. */
START_TEST(thread_moves)
{
    const struct adp_disk_position position = { .generation = 0 };
    struct adp_disk *d = adp_disk_create(path, &position);
    char *names[3];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        names[i] = xasprintf("%s-moved-%"PRIuSIZE, path, i);
    }

    ck_assert_ptr_null(adp_disk_move(d, names[0]));
    ck_assert(!exists(names[0]));
    value_len = 700 * 1024;
    ck_assert_ptr_null(hand_over(d, 1));
    ck_assert_ptr_null(hand_over(d, 2));
    ck_assert(!exists(path));
    check_state(names[0], 2, 2);

    ck_assert_ptr_null(adp_disk_move(d, names[1]));
    ck_assert(!exists(names[0]));
    adp_disk_take_back(d);
    ck_assert_ptr_null(wait_until_done(d));
    check_state(names[1], 1, 1);

    struct transaction t;
    adp_disk_snapshot(d, records_at(1), 1000);
    transaction_init(&t, 2);
    adp_disk_append(d, 2, &t.change, 1);
    ck_assert_ptr_null(adp_disk_move(d, names[2]));
    ck_assert(!exists(names[1]));
    char *error = wait_until_done(d);
    ck_assert_msg(!error, "%s", error);
    transaction_uninit(&t);
    wait_for_snapshot(d);
    ck_assert_ptr_null(hand_over(d, 3));

    struct adp_disk_stats stats;
    adp_disk_get_stats(d, &stats);
    ck_assert_uint_eq(stats.n_snapshots, 1);
    ck_assert_uint_eq(stats.n_failed, 0);
    ck_assert_ptr_null(stats.error);
    adp_disk_destroy(d);
    check_state(names[2], 3, 3);

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        free(names[i]);
    }
}
END_TEST

/* Where it can't go there is something else: it stays, and goes on. */
START_TEST(thread_stays_where_it_is)
{
    const struct adp_disk_position position = { .generation = 0 };
    struct adp_disk *d = adp_disk_create(path, &position);
    char *file = xasprintf("%s-file", path);

    ck_assert_ptr_null(hand_over(d, 1));
    write_file(file, "x", 1);
    char *error = adp_disk_move(d, file);
    ck_assert_ptr_nonnull(error);
    ck_assert_ptr_nonnull(strstr(error, path));
    free(error);
    ck_assert_ptr_null(hand_over(d, 2));
    adp_disk_destroy(d);
    check_state(path, 2, 2);
    free(file);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("disk-thread");
    TCase *tc = add_case(suite, "thread");

    tcase_add_test(tc, thread);
    tcase_add_test(tc, thread_tells_of_failures);
    tcase_add_test(tc, thread_waits_after_a_failed_snapshot);
    tcase_add_test(tc, thread_begins_snapshots_in_order);
    tcase_add_test(tc, thread_writes_groups);
    tcase_add_test(tc, thread_moves);
    tcase_add_test(tc, thread_stays_where_it_is);
    return test_run(suite);
}
