/* SPDX-License-Identifier: Apache-2.0 */

/* JSON values, one after the other, by a pipe that is read as it comes. */

#include <config.h>
#include "dpctl-feed.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "openvswitch/json.h"
#include "test-run.h"
#include "util.h"

/* A feed, and what writes into it. */
struct ends {
    struct dpctl_feed *feed;
    int writer;
};

static struct ends
begin(void)
{
    struct ends ends = { .feed = xmalloc(sizeof *ends.feed) };
    char folder[] = "/tmp/test-dpctl-feed.XXXXXX";

    ck_assert_ptr_nonnull(mkdtemp(folder));
    char *path = xasprintf("%s/fifo", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    /* Nobody has the other end yet. */
    ck_assert_ptr_null(dpctl_feed_open(ends.feed, path));
    ends.writer = open(path, O_WRONLY);
    ck_assert_int_ge(ends.writer, 0);
    unlink(path);
    rmdir(folder);
    free(path);
    return ends;
}

static void
end(struct ends *ends)
{
    if (ends->writer >= 0) {
        close(ends->writer);
    }
    dpctl_feed_close(ends->feed);
    free(ends->feed);
}

static void
tell(const struct ends *ends, const char *text)
{
    size_t len = strlen(text);

    ck_assert_int_eq(write(ends->writer, text, len), len);
    ck_assert_ptr_null(dpctl_feed_wait(ends->feed));
}

static void
hang_up(struct ends *ends)
{
    close(ends->writer);
    ends->writer = -1;
    ck_assert_ptr_null(dpctl_feed_wait(ends->feed));
}

/* 'value': NULL for none. */
static void
expect(struct ends *ends, const char *value)
{
    char *error;
    struct json *json = dpctl_feed_next(ends->feed, &error);
    char *seen = json ? json_to_string(json, JSSF_SORT) : NULL;

    ck_assert_ptr_null(error);
    ck_assert_pstr_eq(seen, value);
    free(seen);
    json_destroy(json);
}

static void
expect_error(struct ends *ends, const char *text)
{
    char *error;

    ck_assert_ptr_null(dpctl_feed_next(ends->feed, &error));
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(strstr(error, text) != NULL, "%s", error);
    ck_assert(ends->feed->ended);
    free(error);
    /* It is told once. */
    expect(ends, NULL);
}

START_TEST(values)
{
    struct ends ends = begin();

    expect(&ends, NULL);
    tell(&ends, "{\"a\":1}{\"b\":2}\r\n\t {\"c\":[]}\n");
    expect(&ends, "{\"a\":1}");
    expect(&ends, "{\"b\":2}");
    ck_assert_uint_eq(ends.feed->index, 2);
    expect(&ends, "{\"c\":[]}");
    expect(&ends, NULL);
    expect(&ends, NULL);
    ck_assert_uint_eq(ends.feed->index, 3);
    ck_assert(!ends.feed->ended);
    hang_up(&ends);
    expect(&ends, NULL);
    ck_assert(ends.feed->ended);
    end(&ends);
}
END_TEST

START_TEST(value_in_parts)
{
    const char *text = "{\"a\":{\"b\":\"\\u0041}{\"}}";
    struct ends ends = begin();

    for (const char *c = text; *c; c++) {
        char part[] = { *c, '\0' };

        tell(&ends, part);
        expect(&ends, c[1] ? NULL : "{\"a\":{\"b\":\"A}{\"}}");
    }
    ck_assert_uint_eq(ends.feed->index, 1);
    end(&ends);
}
END_TEST

/* OVS's parser takes no strings with zero bytes. */
START_TEST(zero_bytes)
{
#define U_FFFD "\xef\xbf\xbd"
    static const char text[] = "{\"\\u0000a\":"
        "\"\\\\u0000\\\\\\u0000\\u00001\\u0001\"}";
    static const char value[] = "{\"" U_FFFD "a\":"
        "\"\\\\u0000\\\\" U_FFFD U_FFFD "1\\u0001\"}";
    struct ends ends = begin();

    tell(&ends, text);
    expect(&ends, value);
    /* In two parts, wherever that is. */
    for (size_t i = 1; i < strlen(text); i++) {
        char *part = xmemdup0(text, i);

        tell(&ends, part);
        expect(&ends, NULL);
        tell(&ends, text + i);
        expect(&ends, value);
        free(part);
        tell(&ends, "{}");
        expect(&ends, "{}");
    }
    /* And byte by byte. */
    for (size_t i = 0; i < strlen(text); i++) {
        char part[] = { text[i], '\0' };

        tell(&ends, part);
        expect(&ends, text[i + 1] ? NULL : value);
    }
    tell(&ends, " {}");
    expect(&ends, "{}");
    /* What is held back isn't lost at the end. */
    tell(&ends, "\"\\u00");
    expect(&ends, NULL);
    hang_up(&ends);
    expect_error(&ends, "the feed ends in the middle of it");
    end(&ends);
}
END_TEST

/* Nobody waits for one who doesn't read any more. */
static void
expect_hang_up(struct ends *ends)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

    ck_assert_int_lt(ends->feed->fd, 0);
    sigaction(SIGPIPE, &ignore, &before);
    ck_assert_int_eq(write(ends->writer, "x", 1), -1);
    ck_assert_int_eq(errno, EPIPE);
    sigaction(SIGPIPE, &before, NULL);
}

START_TEST(nothing_to_read)
{
    struct ends ends = begin();

    ck_assert_ptr_null(dpctl_feed_read(ends.feed));
    expect(&ends, NULL);
    ck_assert(!ends.feed->ended);
    tell(&ends, "{}");
    expect(&ends, "{}");
    end(&ends);
}
END_TEST

START_TEST(end_in_the_middle)
{
    struct ends ends = begin();

    tell(&ends, "{} {\"a\":");
    expect(&ends, "{}");
    expect(&ends, NULL);
    hang_up(&ends);
    expect_error(&ends, "document 2: the feed ends in the middle of it");
    end(&ends);
}
END_TEST

/* A separator ends what isn't complete. */
START_TEST(cut_off)
{
    static const char *const halves[] = {
        "{", "{\"a", "{\"a\\", "{\"a\":", "{\"a\":tru", "{\"a\":-",
        "{\"a\":1", "{\"a\":1,", "[\"\\u00",
    };
    struct ends ends = begin();

    tell(&ends, "\x1e{}\x1e\x1e\n{}\n");
    expect(&ends, "{}");
    expect(&ends, "{}");
    for (size_t i = 0; i < ARRAY_SIZE(halves); i++) {
        char *text = xasprintf("%s\x1e\x1e\n{\"b\":1}", halves[i]);
        char *error;

        tell(&ends, text);
        ck_assert_ptr_null(dpctl_feed_next(ends.feed, &error));
        ck_assert_msg(error && strstr(error, "it ends in the middle"), "%s",
                      text);
        ck_assert(!ends.feed->ended);
        expect(&ends, "{\"b\":1}");
        free(error);
        free(text);
    }
    end(&ends);
}
END_TEST

START_TEST(no_json)
{
    struct ends ends = begin();

    tell(&ends, "{} error: no {\"a\":1}");
    expect(&ends, "{}");
    /* What comes behind may be in the middle of a value. */
    expect_error(&ends, "document 2: ");
    expect_hang_up(&ends);
    end(&ends);
}
END_TEST

START_TEST(too_long)
{
    static char text[32768];
    struct ends ends = begin();
    size_t n = 1;

    memset(text, 'x', sizeof text - 1);
    tell(&ends, "\"");
    while (n + sizeof text - 1 <= DPCTL_FEED_MAX_BYTES) {
        expect(&ends, NULL);
        tell(&ends, text);
        n += sizeof text - 1;
    }
    expect(&ends, NULL);
    tell(&ends, text);
    expect_error(&ends, "document 1: larger than 64 MiB");
    expect_hang_up(&ends);
    end(&ends);
}
END_TEST

START_TEST(no_file)
{
    struct dpctl_feed *feed = xmalloc(sizeof *feed);
    char *error = dpctl_feed_open(feed, "/nonexistent/feed");

    ck_assert_str_eq(error, "/nonexistent/feed: No such file or directory");
    free(error);
    free(feed->name);

    error = dpctl_feed_open(feed, "/");
    ck_assert_ptr_null(error);
    error = dpctl_feed_read(feed);
    ck_assert_str_eq(error, "/: Is a directory");
    ck_assert(feed->ended);
    free(error);
    dpctl_feed_close(feed);
    free(feed);
}
END_TEST

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);

    Suite *s = suite_create("dpctl-feed");
    TCase *tc = tcase_create("dpctl-feed");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, values);
    tcase_add_test(tc, value_in_parts);
    tcase_add_test(tc, zero_bytes);
    tcase_add_test(tc, nothing_to_read);
    tcase_add_test(tc, end_in_the_middle);
    tcase_add_test(tc, cut_off);
    tcase_add_test(tc, no_json);
    tcase_add_test(tc, too_long);
    tcase_add_test(tc, no_file);
    suite_add_tcase(s, tc);

    return test_run(s);
}
