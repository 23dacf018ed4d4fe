/* SPDX-License-Identifier: Apache-2.0 */

/* A state on the disk: what was written is there again, after cuts, flipped
 * bytes, a full disk and power that goes at any step; or there is an error. */

#include <config.h>
#undef NDEBUG

#include <glob.h>

#include "disk-world.h"

/* What is written is read. */

START_TEST(nothing)
{
    check_state(path, 0, 0);

    struct adp_disk_folder *f = open_folder(path);
    ck_assert(!adp_disk_folder_wants_snapshot(f));
    adp_disk_folder_destroy(f);
    ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(round_trip)
{
    for (uint64_t g = 1; g < 40; g++) {
        make_folder(0, g);
        check_state(path, g, g);
    }
}
END_TEST

START_TEST(only_the_owner_reads)
{
    make_folder(2, 4);

    char *log = file_name(path, "log", 2);
    char *snap = file_name(path, "snapshot", 2);
    const char *names[] = { path, log, snap };
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct stat s;

        ck_assert_int_eq(stat(names[i], &s), 0);
        ck_assert_int_eq(s.st_mode & 0777, i ? 0600 : 0700);
    }
    free(snap);
    free(log);
}
END_TEST

START_TEST(snapshots)
{
    for (uint64_t g = 5; g < 40; g += 5) {
        make_folder(g, g + 3);
        check_state(path, g + 3, g + 3);

        /* What was there before has gone. */
        for (uint64_t old = 0; old < g; old++) {
            char *name = file_name(path, "log", old);
            ck_assert_int_eq(access(name, F_OK), -1);
            free(name);
            name = file_name(path, "snapshot", old);
            ck_assert_int_eq(access(name, F_OK), -1);
            free(name);
        }
    }
}
END_TEST

START_TEST(a_snapshot_of_what_has_one)
{
    make_folder(4, 4);
    make_folder(4, 4);
    check_state(path, 4, 4);
    make_folder(4, 6);
    check_state(path, 6, 6);
}
END_TEST

START_TEST(large)
{
    value_len = 200 * 1024;
    struct adp_disk_folder *f = open_folder(path);
    for (uint64_t g = 1; g <= MAX_GENERATION; g++) {
        append_up_to(f, g);
        if (adp_disk_folder_wants_snapshot(f)) {
            char *error = snapshot(f, g + 2);
            ck_assert_msg(!error, "%s", error);
        }
        /* Eight values are the state. */
        ck_assert_uint_le(adp_disk_folder_bytes(f), 3 * 9 * value_len);
    }
    uint64_t g = adp_disk_folder_generation(f);
    ck_assert_uint_ge(adp_disk_folder_written(f), 2 * g * value_len);
    adp_disk_folder_destroy(f);
    check_state(path, g, g);
}
END_TEST

START_TEST(taken_back)
{
    struct adp_disk_folder *f = open_folder(path);
    append_up_to(f, 5);
    char *error = adp_disk_folder_take_back(f);
    ck_assert_msg(!error, "%s", error);
    check_state(path, 4, 4);
    ck_assert_uint_eq(adp_disk_folder_generation(f), 4);

    error = adp_disk_folder_take_back(f);
    ck_assert_msg(error && strstr(error, "nothing"), "%s", error);
    free(error);
    append_up_to(f, 7);
    check_state(path, 7, 7);

    error = snapshot(f, 0);
    ck_assert_msg(!error, "%s", error);
    error = adp_disk_folder_take_back(f);
    ck_assert_ptr_nonnull(error);
    free(error);
    adp_disk_folder_destroy(f);
    check_state(path, 7, 7);
}
END_TEST

START_TEST(groups)
{
    struct adp_disk_folder *f = open_folder(path);

    for (size_t n = 1; n <= MAX_GROUP; n++) {
        uint64_t g = adp_disk_folder_generation(f);

        ck_assert_ptr_null(append_group(f, n));
        ck_assert_uint_eq(adp_disk_folder_generation(f), g + n);
        check_state(path, g + n, g + n);

        ck_assert_ptr_null(adp_disk_folder_take_back(f));
        ck_assert_uint_eq(adp_disk_folder_generation(f), g);
        check_state(path, g, g);
        char *error = adp_disk_folder_take_back(f);
        ck_assert_msg(error && strstr(error, "nothing"), "%s", error);
        free(error);

        ck_assert_ptr_null(append_group(f, n));
        check_state(path, g + n, g + n);
    }
    adp_disk_folder_destroy(f);
}
END_TEST

/* A log that has just begun has none. */
START_TEST(nothing_is_taken_back)
{
    struct adp_disk_folder *f = open_folder(path);
    char *error = snapshot(f, 0);

    ck_assert_msg(!error, "%s", error);
    error = adp_disk_folder_take_back(f);
    ck_assert_msg(error && strstr(error, "nothing"), "%s", error);
    free(error);
    ck_assert_uint_eq(adp_disk_folder_generation(f), 0);
    append_up_to(f, 1);
    adp_disk_folder_destroy(f);
    check_state(path, 1, 1);
}
END_TEST

START_TEST(generations_follow)
{
    struct adp_disk_folder *f = open_folder(path);
    const struct adp_disk_change change = { .clear = true };

    append_up_to(f, 2);
    char *error = adp_disk_folder_append(f, 4, &change, 1);
    ck_assert_msg(error && strstr(error, "can't follow"), "%s", error);
    free(error);
    adp_disk_folder_destroy(f);
    check_state(path, 2, 2);
}
END_TEST

START_TEST(set_aside_and_deleted)
{
    char *to;

    ck_assert_ptr_null(adp_disk_folder_set_aside(path, &to));
    ck_assert_ptr_null(to);
    ck_assert_ptr_null(adp_disk_folder_delete(path));

    for (int i = 1; i < 4; i++) {
        make_folder(0, i);
        ck_assert_ptr_null(adp_disk_folder_set_aside(path, &to));
        char *name = xasprintf("%s.old-%d", path, i);
        ck_assert_str_eq(to, name);
        check_state(name, i, i);
        check_state(path, 0, 0);
        free(name);
        free(to);
    }

    make_folder(2, 4);
    ck_assert_ptr_null(adp_disk_folder_delete(path));
    ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/* Is the state that of generation 3 or 5?  Not if 'folder' is empty. */
static uint64_t
check_place(const char *folder)
{
    char *error = adp_disk_folder_recover(folder);

    ck_assert_msg(!error, "%s", error);
    uint64_t g = check_state(folder, 3, 5);
    ck_assert_uint_ne(g, 4);
    return g;
}

static char *new_path;
static char *crashed_new;
static int n_places;

static int
look_at_place(const char *what OVS_UNUSED, const char *name OVS_UNUSED)
{
    int (*fault)(const char *, const char *) = adp_disk_fault;

    copy_folder(path, crashed);
    copy_folder(new_path, crashed_new);
    adp_disk_fault = NULL;
    check_place(crashed);
    ck_assert_int_eq(access(crashed_new, F_OK), -1);
    adp_disk_fault = fault;
    return n_places-- ? 0 : ENOSPC;
}

/* Another state in its place, and back again, of which the 'n'th step fails.
 * Returns true if there are more steps. */
static bool
change_places(int n)
{
    char *to;

    remove_all();
    char *states = dir_name(path);
    ck_assert_int_eq(mkdir(states, 0700), 0);
    free(states);
    make_folder(0, 5);
    ck_assert_int_eq(rename(path, new_path), 0);
    make_folder(0, 3);
    n_places = n;
    adp_disk_fault = look_at_place;
    char *error = adp_disk_folder_take_place(path, &to);
    ck_assert_int_eq(check_place(path), error ? 3 : 5);
    if (!error) {
        check_state(to, 3, 3);
        error = adp_disk_folder_bring_back(path, to);
        free(to);
    }
    adp_disk_fault = NULL;
    check_place(path);
    free(error);
    return n_places < 0;
}

START_TEST(another_takes_its_place)
{
    int n = 0;

    new_path = adp_disk_folder_new_name(path);
    crashed_new = adp_disk_folder_new_name(crashed);
    while (change_places(n)) {
        n++;
    }
    ck_assert_int_ge(n, 6);
    check_state(path, 3, 3);
    free(crashed_new);
    free(new_path);
}
END_TEST

/* Damage. */

START_TEST(log_cut_at_each_byte)
{
    const uint64_t n = 12, base = _i;
    char *name = file_name(path, "log", base);
    size_t ends[MAX_GENERATION];
    size_t len;

    make_folder(base, base);
    ends[base] = ADP_DISK_HEADER_LEN;
    for (uint64_t g = base + 1; g <= n; g++) {
        make_folder(0, g);
        free(read_file(name, &ends[g]));
    }
    char *data = read_file(name, &len);
    ck_assert_uint_eq(len, ends[n]);
    for (size_t cut = 0; cut < len; cut++) {
        uint64_t g = base;

        write_file(name, data, cut);
        if (cut < ADP_DISK_HEADER_LEN) {
            check_error(path, name);
            continue;
        }
        while (g < n && ends[g + 1] <= cut) {
            g++;
        }
        check_state(path, g, g);

        /* It goes on from there. */
        make_folder(0, g + 2);
        check_state(path, g + 2, g + 2);
    }
    free(data);
    free(name);
}
END_TEST

/* Of a group there is all, or nothing. */
START_TEST(group_cut_at_each_byte)
{
    const size_t sizes[] = { 3, 1, 4, 2 };
    char *name = file_name(path, "log", 0);
    size_t ends[ARRAY_SIZE(sizes)];
    size_t len;

    for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
        struct adp_disk_folder *f = open_folder(path);

        ck_assert_ptr_null(append_group(f, sizes[i]));
        adp_disk_folder_destroy(f);
        free(read_file(name, &ends[i]));
    }
    char *data = read_file(name, &len);
    for (size_t cut = ADP_DISK_HEADER_LEN; cut < len; cut++) {
        uint64_t g = 0;

        write_file(name, data, cut);
        for (size_t i = 0; i < ARRAY_SIZE(sizes) && ends[i] <= cut; i++) {
            g += sizes[i];
        }
        check_state(path, g, g);

        /* It goes on from there. */
        make_folder(0, g + 2);
        check_state(path, g + 2, g + 2);
    }
    free(data);
    free(name);
}
END_TEST

/* Only the last log may end in the midst of a group. */
START_TEST(group_cut_before_another_log)
{
    char *name = file_name(path, "log", 0);
    struct adp_disk_folder *f = open_folder(path);
    struct json *records = records_at(3);
    size_t before, len;

    append_up_to(f, 1);
    free(read_file(name, &before));
    ck_assert_ptr_null(append_group(f, 2));
    /* The next log begins, and its snapshot never ends. */
    ck_assert_ptr_null(adp_disk_folder_begin_snapshot(f, records));
    adp_disk_folder_destroy(f);
    json_destroy(records);
    check_state(path, 3, 3);

    char *data = read_file(name, &len);
    for (size_t cut = before; cut < len; cut++) {
        write_file(name, data, cut);
        check_error(path, path);
    }
    free(data);
    free(name);
}
END_TEST

enum { SECTOR_LEN = 512 };

/* Is it as if the bytes from 'from' on, behind 'whole', were never written? */
static bool
looks_unwritten(size_t from, size_t whole, size_t len)
{
    return from <= whole || ROUND_UP(from, SECTOR_LEN) < len;
}

/* Power goes: the file has got its length, but not the bytes, of the last
 * group, or of one that was to follow. */
START_TEST(log_with_zeros_at_its_end)
{
    const size_t more = _i * 4096;
    char *name = file_name(path, "log", 0);
    size_t whole, len;

    value_len = 300;
    make_folder(0, 4);
    free(read_file(name, &whole));
    struct adp_disk_folder *f = open_folder(path);
    ck_assert_ptr_null(append_group(f, 2));
    adp_disk_folder_destroy(f);
    char *data = read_file(name, &len);
    ck_assert_uint_gt(len - whole, 2 * SECTOR_LEN);

    data = xrealloc(data, len + more);
    memset(data + len, 0, more);
    for (size_t from = len; from >= whole; from--) {
        uint64_t g = from == len ? 6 : 4;

        memset(data + from, 0, len - from);
        write_file(name, data, len + more);
        if (from == len || looks_unwritten(from, whole, len + more)) {
            check_state(path, g, g);

            if (from % 16 == 0) { /* It goes on from there. */
                make_folder(0, g + 2);
                check_state(path, g + 2, g + 2);
            }
        } else {
            struct adp_disk_position position;
            char *error;

            /* Damage, unless a frame or all of it is zero. */
            free(read_state(path, &position, &error));
            ck_assert(error || position.generation == 4);
            free(error);
        }
    }
    free(data);
    free(name);
}
END_TEST

/* Only to the end of the last log. */
START_TEST(zeros_elsewhere)
{
    char *name = file_name(path, "log", 0);
    size_t ends[5], len;

    value_len = 2 * SECTOR_LEN;
    for (uint64_t g = 1; g < ARRAY_SIZE(ends); g++) {
        make_folder(0, g);
        free(read_file(name, &ends[g]));
    }
    char *data = read_file(name, &len);
    char *broken = xzalloc(len + SECTOR_LEN);

    /* With something behind them, which was written later. */
    for (size_t g = 1; g < 4; g++) {
        memcpy(broken, data, len);
        memset(broken + ends[g], 0, ends[g + 1] - ends[g]);
        broken[len - 1] = 1;
        write_file(name, broken, len);
        check_error(path, name);
    }

    /* Behind a frame that isn't whole for another reason. */
    memcpy(broken, data, len);
    broken[ends[3] - 1]++;
    write_file(name, broken, len + SECTOR_LEN);
    check_error(path, name);

    /* In a log that another one follows. */
    write_file(name, data, len);
    struct adp_disk_folder *f = open_folder(path);
    struct json *records = records_at(4);
    ck_assert_ptr_null(adp_disk_folder_begin_snapshot(f, records));
    adp_disk_folder_destroy(f);
    json_destroy(records);
    check_state(path, 4, 4);
    memcpy(broken, data, len);
    memset(broken + ends[3], 0, len - ends[3]);
    write_file(name, broken, len);
    check_error(path, path);
    free(broken);
    free(data);
    free(name);
}
END_TEST

static void
flip_each_byte(const char *name)
{
    size_t len;
    char *data = read_file(name, &len);

    for (size_t i = 0; i < len; i++) {
        const uint8_t old = data[i];
        const uint8_t wrong[] = { old ^ 1, old ^ 0x80, 0, 0xff, old + 1 };

        for (size_t j = 0; j < ARRAY_SIZE(wrong); j++) {
            if (wrong[j] != old) {
                data[i] = wrong[j];
                write_file(name, data, len);
                check_error(path, name);
            }
        }
        data[i] = old;
    }
    write_file(name, data, len);
    free(data);
}

START_TEST(log_with_each_byte_flipped)
{
    char *name = file_name(path, "log", 0);

    struct adp_disk_folder *f = open_folder(path);
    append_up_to(f, 3);
    ck_assert_ptr_null(append_group(f, 2));
    adp_disk_folder_destroy(f);
    flip_each_byte(name);
    check_state(path, 5, 5);
    free(name);
}
END_TEST

START_TEST(snapshot_with_each_byte_flipped)
{
    char *name = file_name(path, "snapshot", 6);

    make_folder(6, 8);
    flip_each_byte(name);
    check_state(path, 8, 8);
    free(name);
}
END_TEST

START_TEST(snapshot_cut_at_each_byte)
{
    char *name = file_name(path, "snapshot", 6);
    size_t len;

    make_folder(6, 8);
    char *data = read_file(name, &len);
    for (size_t cut = 0; cut < len; cut++) {
        write_file(name, data, cut);
        check_error(path, name);
    }
    free(data);
    free(name);
}
END_TEST

START_TEST(something_behind_a_snapshot)
{
    char *name = file_name(path, "snapshot", 6);
    size_t len;

    make_folder(6, 8);
    char *data = read_file(name, &len);
    data = xrealloc(data, 2 * len);
    memcpy(data + len, data + ADP_DISK_HEADER_LEN, len - ADP_DISK_HEADER_LEN);
    write_file(name, data, 2 * len - ADP_DISK_HEADER_LEN);
    check_error(path, name);
    free(data);
    free(name);
}
END_TEST

/* Any byte may come behind the last transaction, but what was never written
 * whole doesn't get a frame with the right checksum. */
START_TEST(something_behind_a_log)
{
    char *name = file_name(path, "log", 0);
    size_t len;

    make_folder(0, 5);
    char *data = read_file(name, &len);
    data = xrealloc(data, 2 * len);
    memset(data + len, 0, len);
    data[2 * len - 1] = 1;
    write_file(name, data, 2 * len);
    check_error(path, name);

    /* All transactions again. */
    memcpy(data + len, data + ADP_DISK_HEADER_LEN, len - ADP_DISK_HEADER_LEN);
    write_file(name, data, 2 * len - ADP_DISK_HEADER_LEN);
    check_error(path, name);
    free(data);
    free(name);
}
END_TEST

START_TEST(newer_version)
{
    char *names[] = { file_name(path, "snapshot", 3),
                      file_name(path, "log", 3) };

    make_folder(3, 5);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        size_t len;
        char *data = read_file(names[i], &len);

        data[11]++;
        ovs_be32 csum = crc32c((uint8_t *) data, ADP_DISK_HEADER_LEN - 4);
        memcpy(data + ADP_DISK_HEADER_LEN - 4, &csum, sizeof csum);
        write_file(names[i], data, len);
        check_error(path, names[i]);
        check_error(path, "has format 2, of which this version knows nothing");
        data[11]--;
        csum = crc32c((uint8_t *) data, ADP_DISK_HEADER_LEN - 4);
        memcpy(data + ADP_DISK_HEADER_LEN - 4, &csum, sizeof csum);
        write_file(names[i], data, len);
        check_state(path, 5, 5);
        free(data);
        free(names[i]);
    }
}
END_TEST

START_TEST(file_under_another_name)
{
    char *log = file_name(path, "log", 4);
    char *snap = file_name(path, "snapshot", 4);
    char *other = file_name(path, "snapshot", 5);

    make_folder(4, 6);
    ck_assert_int_eq(rename(snap, other), 0);
    check_error(path, "another file than its name says");
    ck_assert_int_eq(rename(other, snap), 0);
    check_state(path, 6, 6);

    size_t len;
    char *data = read_file(log, &len);
    write_file(snap, data, len);
    check_error(path, "another file than its name says");
    free(data);
    free(other);
    free(snap);
    free(log);
}
END_TEST

START_TEST(missing_file)
{
    char *log = file_name(path, "log", 4);
    char *snap = file_name(path, "snapshot", 4);
    char *aside = xasprintf("%s/aside", dir);

    make_folder(4, 6);
    ck_assert_int_eq(rename(log, aside), 0);
    check_error(path, "log-0000000000000004: the file is missing");
    ck_assert_int_eq(rename(aside, log), 0);
    ck_assert_int_eq(rename(snap, aside), 0);
    check_error(path, "log-0000000000000000: the file is missing");
    free(aside);
    free(snap);
    free(log);
}
END_TEST

START_TEST(unreadable)
{
    /* A file where the folder is to be, a folder where a file is to be. */
    write_file(path, "", 0);
    check_error(path, path);
    ck_assert_int_eq(unlink(path), 0);

    make_folder(2, 4);
    char *log = file_name(path, "log", 2);
    ck_assert_int_eq(unlink(log), 0);
    ck_assert_int_eq(mkdir(log, 0700), 0);
    check_error(path, log);
    free(log);
}
END_TEST

START_TEST(others_files_are_left_alone)
{
    make_folder(2, 4);

    char *name = xasprintf("%s/log-1", path);
    write_file(name, "mine", 4);
    make_folder(6, 8);
    check_state(path, 8, 8);
    ck_assert_int_eq(access(name, F_OK), 0);
    free(name);
}
END_TEST

/* Power that goes. */

/* What the disk has in the order in which it was asked to. */
static int n_steps, fail_from, fail_to;
static uint64_t answered;

/* What is there is what was answered, or a group more. */
static uint64_t
check_answered(const char *folder, bool may_be_more)
{
    uint64_t g = check_state(folder, answered, answered + group_size);

    ck_assert(g == answered || (may_be_more && g == answered + group_size));
    return g;
}

static void
begin_steps(int from, int to)
{
    n_steps = 0;
    fail_from = from;
    fail_to = to;
}

static int
look_at_step(const char *what OVS_UNUSED, const char *name OVS_UNUSED)
{
    n_steps++;
    copy_folder(path, crashed);
    check_answered(crashed, true);

    int (*fault)(const char *, const char *) = adp_disk_fault;
    adp_disk_fault = NULL;
    struct adp_disk_folder *f = open_folder(crashed);
    uint64_t g = adp_disk_folder_generation(f) + 2;
    append_up_to(f, g);
    adp_disk_folder_destroy(f);
    check_state(crashed, g, g);
    adp_disk_fault = fault;
    return 0;
}

static void
life(bool in_between)
{
    struct adp_disk_folder *f = open_folder(path);

    answered = adp_disk_folder_generation(f);
    for (int i = 0; i < 3; i++) {
        free(append_group(f, group_size));
        answered = adp_disk_folder_generation(f);
    }
    free(snapshot(f, answered + in_between));
    answered = adp_disk_folder_generation(f);
    free(append_group(f, group_size));
    answered = adp_disk_folder_generation(f);
    adp_disk_folder_destroy(f);
}

START_TEST(power_goes_at_each_step)
{
    group_size = _i;
    begin_steps(0, 0);
    adp_disk_fault = look_at_step;
    life(false);
    life(false);
    adp_disk_fault = NULL;
    ck_assert_int_ge(n_steps, 60);
    check_state(path, answered, answered);
}
END_TEST

/* Calls that fail. */

static int
fail_steps(const char *what OVS_UNUSED, const char *name OVS_UNUSED)
{
    int step = n_steps++;

    return step >= fail_from && step < fail_to ? ENOSPC : 0;
}

static bool
has_unfinished(void)
{
    char *pattern = xasprintf("%s/snapshot-*.new", path);
    glob_t found;
    int result = glob(pattern, 0, NULL, &found);

    globfree(&found);
    free(pattern);
    return result != GLOB_NOMATCH;
}

START_TEST(each_step_fails)
{
    const int n_times = _i;

    group_size = 1 + n_times % 3;
    for (int from = 0; ; from++) {
        remove_all();
        begin_steps(from, from + n_times);
        adp_disk_fault = fail_steps;
        life(true);
        adp_disk_fault = NULL;

        /* What can't be taken away may be there. */
        uint64_t g = check_answered(path, n_times > 1);
        ck_assert(n_times > 1 || !has_unfinished());
        if (n_steps <= from) {
            break;
        }

        /* When the disk is well again all goes on. */
        make_folder(0, g + 1);
        check_state(path, g + 1, g + 1);
        make_folder(g + 2, g + 3);
        check_state(path, g + 3, g + 3);
    }
}
END_TEST

static void
limit_files(rlim_t n)
{
    struct rlimit r;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &r), 0);
    r.rlim_cur = n;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &r), 0);
}

START_TEST(full_disk)
{
    struct adp_disk_folder *f = open_folder(path);
    int n_refused = 0;

    signal(SIGXFSZ, SIG_IGN);
    append_up_to(f, 3);
    for (rlim_t n = adp_disk_folder_bytes(f); n_refused < 500; n++) {
        uint64_t before = adp_disk_folder_generation(f);

        limit_files(n);
        char *error = append_group(f, 1 + n % 3);
        limit_files(RLIM_INFINITY);
        if (error) {
            char *log = file_name(path, "log", 0);

            ck_assert_msg(strstr(error, log) && strstr(error, "too large"),
                          "%s", error);
            free(log);
            n_refused++;
            free(error);
        } else {
            before += 1 + n % 3;
        }
        ck_assert_uint_eq(adp_disk_folder_generation(f), before);
        check_state(path, before, before);
    }
    append_up_to(f, adp_disk_folder_generation(f) + 1);
    adp_disk_folder_destroy(f);
}
END_TEST

START_TEST(no_place)
{
    char *deep = xasprintf("%s/missing/a/b", dir);
    struct adp_disk_folder *f = open_folder(deep);
    char *error = append(f);

    ck_assert_msg(error && strstr(error, "missing/a"), "%s", error);
    free(error);

    char *command = xasprintf("mkdir %s/missing", dir);
    run(command);
    append_up_to(f, 2);
    adp_disk_folder_destroy(f);
    check_state(deep, 2, 2);
    free(command);
    free(deep);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("disk");
    TCase *tc = add_case(suite, "written and read");

    tcase_add_test(tc, nothing);
    tcase_add_test(tc, round_trip);
    tcase_add_test(tc, only_the_owner_reads);
    tcase_add_test(tc, snapshots);
    tcase_add_test(tc, a_snapshot_of_what_has_one);
    tcase_add_test(tc, large);
    tcase_add_test(tc, taken_back);
    tcase_add_test(tc, groups);
    tcase_add_test(tc, nothing_is_taken_back);
    tcase_add_test(tc, generations_follow);
    tcase_add_test(tc, set_aside_and_deleted);
    tcase_add_test(tc, another_takes_its_place);

    tc = add_case(suite, "damage");
    tcase_add_loop_test(tc, log_cut_at_each_byte, 0, 2);
    tcase_add_test(tc, group_cut_at_each_byte);
    tcase_add_test(tc, group_cut_before_another_log);
    tcase_add_loop_test(tc, log_with_zeros_at_its_end, 0, 2);
    tcase_add_test(tc, zeros_elsewhere);
    tcase_add_test(tc, log_with_each_byte_flipped);
    tcase_add_test(tc, snapshot_with_each_byte_flipped);
    tcase_add_test(tc, snapshot_cut_at_each_byte);
    tcase_add_test(tc, something_behind_a_snapshot);
    tcase_add_test(tc, something_behind_a_log);
    tcase_add_test(tc, newer_version);
    tcase_add_test(tc, file_under_another_name);
    tcase_add_test(tc, missing_file);
    tcase_add_test(tc, unreadable);
    tcase_add_test(tc, others_files_are_left_alone);

    tc = add_case(suite, "failures");
    tcase_add_loop_test(tc, power_goes_at_each_step, 1, 4);
    tcase_add_loop_test(tc, each_step_fails, 1, 5);
    tcase_add_test(tc, full_disk);
    tcase_add_test(tc, no_place);

    return test_run(suite);
}
