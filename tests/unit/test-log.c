/* SPDX-License-Identifier: Apache-2.0 */

/* What policies log: rings, limits, lines, equal lines, the latest ones, the
 * file. */

#include <config.h>
#undef NDEBUG

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adp-log-dedup.h"
#include "adp-log-file.h"
#include "adp-log-history.h"
#include "adp-log-item.h"
#include "adp-log-line.h"
#include "adp-log-ring.h"
#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "test-run.h"
#include "util.h"

enum { NOW = 1000000 };

/* Items. */

static const struct adp_log_layout layout = {
    .table = { 2, 0, 8 },
    .disposition = { 0, 11, 2 },
    .denied = { 0, 10, 1 },
    .denied_rule = 3,
    .rule = { 5, 6 },
    .first_ingress_table = 25,
};

START_TEST(items)
{
    static const struct {
        uint32_t reg0, reg2;
        uint32_t rule;
        uint8_t table_id, disposition;
        bool ingress, denies;
    } cases[] = {
        { 0, 0xff0d, 50, 13, ADP_LOG_ALLOW, false, false },
        { 0, 25, 60, 25, ADP_LOG_ALLOW, true, false },
        { 3u << 11, 24, 50, 24, ADP_LOG_PASS, false, false },
        { 1u << 11 | 1u << 10, 13, 30, 13, ADP_LOG_DROP, false, true },
        { 2u << 11 | 1u << 10, 27, 30, 27, ADP_LOG_REJECT, true, true },
        /* Isolation. */
        { 1u << 11, 27, 0, 27, ADP_LOG_DROP, true, true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct flow flow = { .regs = { cases[i].reg0, 0, cases[i].reg2, 30,
                                       0, 50, 60 } };
        struct adp_log_item item;

        adp_log_item_init(&item, &layout, &flow);
        ck_assert_int_eq(item.rule, cases[i].rule);
        ck_assert_int_eq(item.table_id, cases[i].table_id);
        ck_assert_int_eq(item.disposition, cases[i].disposition);
        ck_assert_int_eq(item.ingress, cases[i].ingress);
        ck_assert_int_eq(adp_log_item_denies(&item), cases[i].denies);
    }
    ck_assert_str_eq(adp_log_disposition_to_string(ADP_LOG_ALLOW), "Allow");
    ck_assert_str_eq(adp_log_disposition_to_string(ADP_LOG_DROP), "Drop");
    ck_assert_str_eq(adp_log_disposition_to_string(ADP_LOG_REJECT), "Reject");
    ck_assert_str_eq(adp_log_disposition_to_string(ADP_LOG_PASS), "Pass");
}
END_TEST

/* Rings. */

static uint64_t seen[2 * ADP_LOG_RING_SIZE];
static size_t n_seen;

static void
see(const struct adp_log_record *r, void *aux)
{
    ck_assert_ptr_eq(aux, seen);
    ck_assert_int_lt(n_seen, ARRAY_SIZE(seen));
    seen[n_seen++] = r->time_us;
}

static bool
put(struct adp_log_ring *ring, uint64_t time_us)
{
    return adp_log_ring_put(ring, &(struct adp_log_record) {
        .time_us = time_us,
    });
}

static size_t
drain(size_t max)
{
    n_seen = 0;
    size_t n = adp_log_rings_drain(see, seen, max);
    ck_assert_int_eq(n, n_seen);
    return n;
}

START_TEST(ring)
{
    struct adp_log_ring *r = adp_log_ring_create();

    ck_assert_int_eq(drain(10), 0);
    for (size_t i = 0; i < ADP_LOG_RING_SIZE; i++) {
        ck_assert(put(r, i));
    }
    ck_assert_msg(!put(r, 99), "a full ring takes one more");
    ck_assert_int_eq(drain(10), 10);
    for (size_t i = 0; i < 10; i++) {
        ck_assert_int_eq(seen[i], i);
        ck_assert(put(r, ADP_LOG_RING_SIZE + i));
    }
    ck_assert(!put(r, 99));
    ck_assert_int_eq(drain(SIZE_MAX), ADP_LOG_RING_SIZE);
    ck_assert_int_eq(seen[0], 10);
    ck_assert_int_eq(seen[ADP_LOG_RING_SIZE - 1], ADP_LOG_RING_SIZE + 9);
    adp_log_ring_close(r);
    ck_assert_int_eq(drain(1), 0);
}
END_TEST

/* A thread that ends leaves what it has put. */
START_TEST(closed_ring)
{
    struct adp_log_ring *r = adp_log_ring_create();

    ck_assert(put(r, 1));
    ck_assert(put(r, 2));
    adp_log_ring_close(r);
    ck_assert_int_eq(drain(1), 1);
    ck_assert_int_eq(drain(10), 1);
    ck_assert_int_eq(seen[0], 2);
    ck_assert_int_eq(drain(10), 0);
}
END_TEST

/* One ring doesn't keep another from its turn. */
START_TEST(several_rings)
{
    struct adp_log_ring *a = adp_log_ring_create();
    struct adp_log_ring *b = adp_log_ring_create();
    bool has_b = false;

    for (size_t i = 0; i < 100; i++) {
        ck_assert(put(a, 1));
    }
    ck_assert(put(b, 2));
    for (int i = 0; i < 3; i++) {
        drain(2);
        has_b |= seen[0] == 2 || seen[1] == 2;
    }
    ck_assert(has_b);
    adp_log_ring_close(a);
    adp_log_ring_close(b);
    drain(SIZE_MAX);
}
END_TEST

/* Two threads: all that was taken comes out, once and in its order. */

enum { N_PUT = 200000 };
static size_t n_refused;
static atomic_bool is_done;

static void *
producer(void *ring)
{
    for (uint64_t i = 1; i <= N_PUT; i++) {
        struct adp_log_record r = { .time_us = i, .tp_src = i,
                                    .length = i % 1000 };

        n_refused += !adp_log_ring_put(ring, &r);
    }
    adp_log_ring_close(ring);
    atomic_store(&is_done, true);
    return NULL;
}

struct consumer {
    uint64_t last;
    size_t n;
};

static void
consume(const struct adp_log_record *r, void *c_)
{
    struct consumer *c = c_;

    ck_assert(r->time_us > c->last);
    ck_assert_int_eq(r->tp_src, (uint16_t) r->time_us);
    ck_assert_int_eq(r->length, r->time_us % 1000);
    c->last = r->time_us;
    c->n++;
}

START_TEST(two_threads)
{
    struct adp_log_ring *r = adp_log_ring_create();
    struct consumer c = { .n = 0 };

    n_refused = 0;
    pthread_t thread = ovs_thread_create("producer", producer, r);
    for (bool done = false; !done; atomic_read(&is_done, &done)) {
        adp_log_rings_drain(consume, &c, 100);
    }
    xpthread_join(thread, NULL);
    while (adp_log_rings_drain(consume, &c, 1000)) {
        continue;
    }
    ck_assert_int_eq(c.n + n_refused, N_PUT);
}
END_TEST

static size_t
n_allowed(struct adp_log_ring *r, uint32_t rule, bool ingress, size_t n,
          long long int now)
{
    const struct adp_log_item item = { .rule = rule, .ingress = ingress };
    size_t allowed = 0;

    for (size_t i = 0; i < n; i++) {
        allowed += adp_log_ring_may_put(r, &item, now);
    }
    return allowed;
}

START_TEST(limits)
{
    struct adp_log_ring *r = adp_log_ring_create();

    adp_log_ring_set_rate(50);
    ck_assert_int_eq(n_allowed(r, 5, false, 1000, NOW), 100);
    ck_assert_int_eq(n_allowed(r, 5, false, 1000, NOW + 19), 0);
    ck_assert_int_eq(n_allowed(r, 5, false, 1000, NOW + 20), 1);
    ck_assert_int_eq(n_allowed(r, 5, false, 1000, NOW + 1020), 50);
    ck_assert_int_eq(n_allowed(r, 5, false, 1000, NOW + 100000), 100);
    /* Another rule's, isolation's, and that of the other direction. */
    ck_assert_int_eq(n_allowed(r, 6, false, 1000, NOW), 100);
    ck_assert_int_eq(n_allowed(r, 0, false, 1000, NOW), 100);
    ck_assert_int_eq(n_allowed(r, 0, true, 1000, NOW), 100);
    ck_assert_int_eq(n_allowed(r, ADP_LOG_N_BUCKETS, true, 1000, NOW), 100);
    ck_assert_int_eq(n_allowed(r, 6 + ADP_LOG_N_BUCKETS, true, 1000, NOW), 0);
    adp_log_ring_set_rate(0);
    ck_assert_int_eq(n_allowed(r, 7, false, 10, NOW), 0);
    adp_log_ring_set_rate(UINT32_MAX);
    ck_assert_int_eq(n_allowed(r, 8, false, 3 * ADP_LOG_MAX_RATE, NOW),
                     2 * ADP_LOG_MAX_RATE);
    adp_log_ring_set_rate(ADP_LOG_DEFAULT_RATE);
    adp_log_ring_close(r);
    drain(1);
}
END_TEST

/* Lines. */

static char *
line_text(const char *policy, const char *rule, const char *label)
{
    const char *fields[ADP_N_LOG_FIELDS] = {
        [ADP_LOG_TABLE] = "IngressRule",
        [ADP_LOG_POLICY] = policy,
        [ADP_LOG_RULE] = rule,
        [ADP_LOG_SRC_PORT] = "",
        [ADP_LOG_LABEL] = label,
    };

    return adp_log_line_text(fields);
}

START_TEST(lines)
{
    char *text = line_text("a\nb c\x7f", NULL, "label");

    ck_assert_str_eq(text,
                     "IngressRule a_b_c_ <nil> <nil> <nil> <nil> <nil> <nil> "
                     "<nil> <nil> <nil> <nil> <nil> label");

    struct json *o = json_object_create();
    adp_log_line_to_json(text, o);
    char *s = json_to_string(o, JSSF_SORT);
    ck_assert_str_eq(s, "{\"label\":\"label\",\"policy\":\"a_b_c_\","
                     "\"table\":\"IngressRule\"}");
    free(s);
    json_destroy(o);
    free(text);
}
END_TEST

START_TEST(durations)
{
    static const struct {
        uint64_t us;
        const char *text;
    } cases[] = {
        { 1000855, "1.000855s" }, { 1011000, "1.011s" }, { 2000000, "2s" },
        { 61000000, "61s" }, { 1500, "1.5ms" }, { 20000, "20ms" },
        { 999999, "999.999ms" }, { 999, "999\302\265s" },
        { 0, "0\302\265s" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ds s = DS_EMPTY_INITIALIZER;

        adp_log_format_duration(cases[i].us, &s);
        ck_assert_str_eq(ds_cstr(&s), cases[i].text);
        ds_destroy(&s);
    }
}
END_TEST

START_TEST(whole_lines)
{
    struct adp_log_line line = { .text = "A B" };
    struct ds s = DS_EMPTY_INITIALIZER;

    setenv("TZ", "UTC", 1);
    tzset();
    adp_log_format(&line, UINT64_C(1688474721804416), 1, 5, &s);
    ck_assert_str_eq(ds_cstr(&s), "2023/07/04 12:45:21.804416 A B");
    ds_clear(&s);
    adp_log_format(&line, UINT64_C(1688474721000416), 2, 1000855, &s);
    ck_assert_str_eq(ds_cstr(&s), "2023/07/04 12:45:21.000416 A B "
                     "[2 packets in 1.000855s]");
    ds_destroy(&s);
}
END_TEST

/* Equal lines. */

static struct ds passed = DS_EMPTY_INITIALIZER;

static void
pass(const struct adp_log_line *line, uint64_t time_us, uint64_t n_packets,
     uint64_t duration_us, void *aux OVS_UNUSED)
{
    ds_put_format(&passed, "%s at %"PRIu64": %"PRIu64" in %"PRIu64"\n",
                  line->text, time_us, n_packets, duration_us);
}

static void
add(struct adp_log_dedup *d, const char *text, uint64_t time_us)
{
    struct adp_log_line line = { .text = xstrdup(text) };

    adp_log_dedup_add(d, &line, time_us);
}

static void
expect_passed(const char *text)
{
    ck_assert_str_eq(ds_cstr(&passed), text);
    ds_clear(&passed);
}

START_TEST(equal_lines)
{
    struct adp_log_dedup *d = adp_log_dedup_create(pass, NULL);

    ck_assert(adp_log_dedup_next_us(d) == UINT64_MAX);
    add(d, "a", 100);
    add(d, "b", 200);
    add(d, "a", 300);
    ck_assert_int_eq(adp_log_dedup_count(d), 2);
    ck_assert(adp_log_dedup_next_us(d) == 100 + ADP_LOG_DEDUP_US);
    adp_log_dedup_run(d, 99 + ADP_LOG_DEDUP_US);
    expect_passed("");
    adp_log_dedup_run(d, 100 + ADP_LOG_DEDUP_US);
    expect_passed("a at 1000100: 2 in 1000000\n");
    add(d, "a", 400);
    adp_log_dedup_run(d, 500 + ADP_LOG_DEDUP_US);
    expect_passed("b at 1000500: 1 in 1000300\na at 1000500: 1 in 1000100\n");
    add(d, "c", 600);
    adp_log_dedup_destroy(d, 700);
    expect_passed("c at 700: 1 in 100\n");
    ds_destroy(&passed);
}
END_TEST

/* However far the clock is set back, nothing waits for it to come there
 * again. */
START_TEST(clock_set_back)
{
    struct adp_log_dedup *d = adp_log_dedup_create(pass, NULL);

    add(d, "a", 3600 * UINT64_C(1000000));
    add(d, "b", 100);
    adp_log_dedup_run(d, 200);
    expect_passed("a at 200: 1 in 0\n");
    adp_log_dedup_run(d, 300);
    expect_passed("");
    adp_log_dedup_run(d, 100 + ADP_LOG_DEDUP_US);
    expect_passed("b at 1000100: 1 in 1000000\n");
    ck_assert_int_eq(adp_log_dedup_count(d), 0);
    adp_log_dedup_destroy(d, 0);
    ds_destroy(&passed);
}
END_TEST

START_TEST(too_many_lines)
{
    struct adp_log_dedup *d = adp_log_dedup_create(pass, NULL);
    char text[16];

    for (int i = 0; i < ADP_LOG_DEDUP_MAX; i++) {
        snprintf(text, sizeof text, "%d", i);
        add(d, text, 1);
    }
    expect_passed("");
    add(d, "more", 2);
    expect_passed("more at 2: 1 in 0\n");
    add(d, "7", 2);
    expect_passed("");
    ck_assert_int_eq(adp_log_dedup_count(d), ADP_LOG_DEDUP_MAX);
    adp_log_dedup_destroy(d, 3);
    ds_destroy(&passed);
}
END_TEST

/* The latest lines. */

START_TEST(history)
{
    struct adp_log_history *h = adp_log_history_create();
    struct adp_log_line line = { .text = "x" };
    const struct adp_log_entry *e;

    ck_assert_int_eq(adp_log_history_last(h), 0);
    ck_assert_ptr_null(adp_log_history_next(h, 0));
    for (uint64_t i = 1; i <= ADP_LOG_HISTORY_SIZE; i++) {
        adp_log_history_add(h, &line, i, 1, 0);
    }
    ck_assert_int_eq(adp_log_history_next(h, 0)->number, 1);
    adp_log_history_add(h, &line, 77, 3, 5);
    e = adp_log_history_next(h, 0);
    ck_assert_int_eq(e->number, 2);
    e = adp_log_history_next(h, ADP_LOG_HISTORY_SIZE);
    ck_assert_int_eq(e->number, ADP_LOG_HISTORY_SIZE + 1);
    ck_assert_int_eq(e->time_us, 77);
    ck_assert_int_eq(e->n_packets, 3);
    ck_assert_int_eq(e->duration_us, 5);
    ck_assert_ptr_null(adp_log_history_next(h, ADP_LOG_HISTORY_SIZE + 1));
    ck_assert_ptr_null(adp_log_history_next(h, UINT64_MAX));
    adp_log_history_destroy(h);
}
END_TEST

/* The file. */

static char folder[] = "/tmp/test-log.XXXXXX";
static char *name;
static struct adp_log_file *file;

static void
file_setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(folder));
    name = xasprintf("%s/sub/np.log", folder);
    file = adp_log_file_create();
    adp_log_file_configure(file, name, 1000, 2);
}

static void
file_teardown(void)
{
    char *command = xasprintf("rm -rf %s", folder);

    if (file) {
        adp_log_file_destroy(file);
    }
    ck_assert_int_eq(system(command), 0);
    free(command);
    free(name);
}

static void
put_line(const char *line)
{
    adp_log_file_put(file, line, strlen(line));
    adp_log_file_flush(file);
}

static void
expect_file(const char *suffix, const char *content)
{
    char *path = xasprintf("%s%s", name, suffix);
    char buffer[2000];
    int fd = open(path, O_RDONLY);

    ck_assert_msg((fd < 0) == !content, "%s", path);
    if (content) {
        ssize_t n = read(fd, buffer, sizeof buffer - 1);

        ck_assert_int_ge(n, 0);
        buffer[n] = '\0';
        ck_assert_str_eq(buffer, content);
        close(fd);
    }
    free(path);
}

static void
expect_counts(uint64_t written, uint64_t lost, uint64_t rotated, bool error)
{
    struct adp_log_file_stats stats;

    adp_log_file_stats_get(file, &stats);
    ck_assert_int_eq(stats.n_written, written);
    ck_assert_int_eq(stats.n_lost, lost);
    ck_assert_int_eq(stats.n_rotated, rotated);
    ck_assert_msg(!stats.error == !error, "%s", stats.error);
    free(stats.name);
    free(stats.error);
}

START_TEST(file_written)
{
    expect_file("", NULL);
    put_line("one\n");
    put_line("two\n");
    expect_file("", "one\ntwo\n");
    expect_counts(2, 0, 0, false);

    /* Another daemon, the same file; what was put last is written. */
    adp_log_file_put(file, "three\n", 6);
    adp_log_file_destroy(file);
    file = NULL;
    expect_file("", "one\ntwo\nthree\n");
}
END_TEST

START_TEST(file_rotated)
{
    adp_log_file_configure(file, name, 8, 2);
    put_line("one\n");
    put_line("two\n");
    put_line("three\n");
    expect_file(".1", "one\ntwo\n");
    expect_file("", "three\n");
    adp_log_file_put(file, "four\n", 5);
    adp_log_file_put(file, "five\n", 5);
    adp_log_file_put(file, "six\n", 4);
    put_line("seven\n");
    expect_file("", "seven\n");
    expect_file(".1", "six\n");
    expect_file(".2", "five\n");
    expect_file(".3", NULL);
    expect_counts(7, 0, 5, false);

    adp_log_file_configure(file, name, 4, 0);
    put_line("a\n");
    expect_file("", "a\n");
    expect_file(".2", "five\n");
}
END_TEST

START_TEST(file_taken_away)
{
    put_line("one\n");
    char *other = xasprintf("%s/other.log", folder);
    adp_log_file_configure(file, other, 1000, 2);
    put_line("two\n");
    expect_file("", "one\n");
    adp_log_file_configure(file, name, 1000, 2);
    put_line("three\n");
    expect_file("", "one\nthree\n");

    /* It is looked at once a second. */
    ck_assert_int_eq(unlink(name), 0);
    for (int i = 0; i < 100 && access(name, F_OK); i++) {
        xnanosleep(50 * 1000 * 1000);
        put_line("x\n");
    }
    ck_assert_int_eq(access(name, F_OK), 0);
    free(other);
}
END_TEST

START_TEST(file_unwritable)
{
    char *bad = xasprintf("%s/no/such/folder", folder);

    adp_log_file_configure(file, bad, 1000, 2);
    put_line("one\n");
    expect_counts(0, 1, 0, true);
    put_line("two\n");
    expect_counts(0, 2, 0, true);
    adp_log_file_configure(file, "/dev/full", 1000, 2);
    for (int i = 0; i < 100; i++) {
        struct adp_log_file_stats stats;

        put_line("three\n");
        adp_log_file_stats_get(file, &stats);
        bool full = strstr(stats.error, "/dev/full: No space left") != NULL;
        free(stats.name);
        free(stats.error);
        if (full) {
            i = 100;
        } else {
            ck_assert_int_lt(i, 99);
            xnanosleep(50 * 1000 * 1000);
        }
    }
    /* Until it can be written again. */
    adp_log_file_configure(file, name, 1000, 2);
    for (int i = 0; i < 100 && access(name, F_OK); i++) {
        put_line("four\n");
        xnanosleep(50 * 1000 * 1000);
    }
    expect_file("", "four\n");
    free(bad);
}
END_TEST

START_TEST(file_none)
{
    adp_log_file_configure(file, NULL, 1000, 2);
    put_line("one\n");
    expect_counts(0, 0, 0, false);
}
END_TEST

START_TEST(file_too_much)
{
    size_t len = ADP_LOG_FILE_MAX_PENDING;
    char *line = xmalloc(len + 1);

    memset(line, 'x', len);
    line[len] = '\n';
    adp_log_file_put(file, line, len + 1);
    adp_log_file_flush(file);
    expect_counts(0, 1, 0, false);
    free(line);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("log");
    TCase *tc = tcase_create("log");
    TCase *files = tcase_create("file");

    adp_log_rings_init();
    tcase_add_test(tc, items);
    tcase_add_test(tc, ring);
    tcase_add_test(tc, closed_ring);
    tcase_add_test(tc, several_rings);
    tcase_add_test(tc, two_threads);
    tcase_add_test(tc, limits);
    tcase_add_test(tc, lines);
    tcase_add_test(tc, durations);
    tcase_add_test(tc, whole_lines);
    tcase_add_test(tc, equal_lines);
    tcase_add_test(tc, clock_set_back);
    tcase_add_test(tc, too_many_lines);
    tcase_add_test(tc, history);
    suite_add_tcase(s, tc);

    tcase_add_checked_fixture(files, file_setup, file_teardown);
    tcase_add_test(files, file_written);
    tcase_add_test(files, file_rotated);
    tcase_add_test(files, file_taken_away);
    tcase_add_test(files, file_unwritable);
    tcase_add_test(files, file_none);
    tcase_add_test(files, file_too_much);
    suite_add_tcase(s, files);
    return test_run(s);
}
