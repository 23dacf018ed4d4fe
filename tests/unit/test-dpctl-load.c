/* SPDX-License-Identifier: Apache-2.0 */

/* How antrea-dpctl reads documents and label selectors. */

#include <config.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"
#include "dpctl-load.h"
#include "dpctl-print.h"
#include "dpctl-selector.h"

/* Documents. */

/* The documents of 'text' as one line of JSON, or the error. */
static char *
load(const char *text)
{
    struct dpctl_docs docs = DPCTL_DOCS_INITIALIZER;
    char *error = dpctl_load_text(&docs, "f", text, strlen(text));
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < docs.n && !error; i++) {
        ds_put_cstr(&ds, i ? " | " : "");
        json_to_ds(docs.docs[i].json, JSSF_SORT, &ds);
    }
    dpctl_docs_destroy(&docs);
    if (error) {
        ds_destroy(&ds);
        return error;
    }
    return ds_steal_cstr(&ds);
}

static void
expect_load(const char *text, const char *expected)
{
    char *got = load(text);

    ck_assert_str_eq(got, expected);
    free(got);
}

/* The error must begin with 'where' and contain 'what'. */
static void
expect_load_error(const char *text, const char *where, const char *what)
{
    char *got = load(text);

    ck_assert_msg(!strncmp(got, where, strlen(where)) && strstr(got, what),
                  "\"%s\" should begin with \"%s\" and have \"%s\"", got,
                  where, what);
    free(got);
}

START_TEST(yaml_scalars)
{
    expect_load("a: 1\nb: -2\nc: 0x10\nd: 010\ne: 1.5\nf: 5.0\ng: 1e3\n",
                "{\"a\":1,\"b\":-2,\"c\":16,\"d\":8,\"e\":1.5,\"f\":5,"
                "\"g\":1000}");
    expect_load("- true\n- False\n- yes\n- NO\n- on\n- off\n",
                "[true,false,true,false,true,false]");
}
END_TEST

START_TEST(yaml_strings)
{
    expect_load("- true story\n- 'true'\n- \"1\"\n- 10.0.0.1\n- 1:2\n- tRUE\n"
                "- !!str 5\n- 1.2.3\n- fa:b7:53:74:21:a6\n- .\n- '-'\n",
                "[\"true story\",\"true\",\"1\",\"10.0.0.1\",\"1:2\","
                "\"tRUE\",\"5\",\"1.2.3\",\"fa:b7:53:74:21:a6\",\".\","
                "\"-\"]");
    expect_load("a:\nb: ~\nc: null\nd: ''\n",
                "{\"a\":null,\"b\":null,\"c\":null,\"d\":\"\"}");
}
END_TEST

START_TEST(yaml_documents)
{
    expect_load("# only a comment\n", "");
    expect_load("", "");
    expect_load("---\na: 1\n---\n---\nb: 2\n...\n", "{\"a\":1} | {\"b\":2}");
}
END_TEST

START_TEST(yaml_anchors)
{
    expect_load("base: &b {x: 1, y: 2}\nuse: *b\n"
                "more: {<<: *b, y: 3}\n",
                "{\"base\":{\"x\":1,\"y\":2},\"more\":{\"x\":1,\"y\":3},"
                "\"use\":{\"x\":1,\"y\":2}}");
    expect_load_error("a: *nobody\n", "f:1:4: ", "unknown alias *nobody");
    expect_load_error("a: &a [*a]\n", "f:1:", "unknown alias *a");
    /* An anchor is known in its own document only. */
    expect_load_error("a: &a 1\n---\nb: *a\n", "f:3:4: ", "unknown alias");
}
END_TEST

START_TEST(yaml_alias_bomb)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&ds, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 12; i++) {
        ds_put_format(&ds, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++) {
            ds_put_format(&ds, "%s*a%d", j ? "," : "", i - 1);
        }
        ds_put_cstr(&ds, "]\n");
    }
    expect_load_error(ds_cstr(&ds), "f:", "aliases stand for more than");
    ds_destroy(&ds);
}
END_TEST

START_TEST(yaml_errors)
{
    expect_load_error("a: 1\na: 2\n", "f:2:1: ", "given twice");
    expect_load_error("a: 1\n b: 2\n", "f:2:", "mapping values");
    expect_load_error("a: [1, 2\n", "f:2:", "");
    expect_load_error("? [a]\n: 1\n", "f:1:", "must be a scalar");
    expect_load_error("a: \"x\\0y\"\n", "f:1:", "zero byte");
    expect_load_error("a: !bad 1\n", "f:1:4: ", "unknown tag");
    expect_load_error("a: \xff\n", "f: byte 3", "");
}
END_TEST

START_TEST(yaml_too_deep)
{
    char text[1001];

    memset(text, '[', 1000);
    text[1000] = '\0';
    text[0] = '-';
    text[1] = ' ';
    expect_load_error(text, "f:1:", "nested deeper");
}
END_TEST

START_TEST(json_documents)
{
    expect_load("{\"a\": [1, 2.5, \"x\"]}", "{\"a\":[1,2.5,\"x\"]}");
    expect_load(" [1]\n{\"b\": 2}\n---\n{\"c\": 3}\n",
                "[1] | {\"b\":2} | {\"c\":3}");
    /* Zero bytes are others. */
    expect_load("{\"\\u0000\": \"\\\\u0000\\u0000\"}\n",
                "{\"\xef\xbf\xbd\":\"\\\\u0000\xef\xbf\xbd\"}");
}
END_TEST

/* YAML may begin as JSON does. */
START_TEST(yaml_flow_style)
{
    expect_load("{kind: Pod, metadata: {name: a}}",
                "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}");
    expect_load("{\"a\": 1}\n---\nb: 2\n---\n[x, 'y']\n",
                "{\"a\":1} | {\"b\":2} | [\"x\",\"y\"]");
}
END_TEST

START_TEST(json_errors)
{
    expect_load_error("{\"a\": 1,\n\"b\": ", "f:2:", "end of input");
    expect_load_error("{\"a\": 1}\n{\"b\": x}\n", "f:2:", "invalid");
    expect_load_error("{\"a\" 1}", "f:1:", "");
}
END_TEST

/* Of two members of a name one would be lost. */
START_TEST(json_member_twice)
{
    expect_load_error("{\"a\": 1,\n \"b\": 2, \"a\": 3}", "f:2:10:",
                      "key \"a\" is given twice");
    expect_load_error("[{\"c\": {\"a\": [], \"a\": [{\"d\": {}}]}}]", "f:1:",
                      "key \"a\" is given twice");
    /* YAML wants a line between the two values, so it can't say which. */
    expect_load_error("[1]\n{\"a\": 1, \"a\": 1}", "f:2:",
                      "a member of an object is given twice");
    expect_load("{\"a:\": \"x:\\\":\", \"a\": {\"a\": [\":\\\\\", {}]}}",
                "{\"a\":{\"a\":[\":\\\\\",{}]},\"a:\":\"x:\\\":\"}");
}
END_TEST

START_TEST(too_large)
{
    struct dpctl_docs docs = DPCTL_DOCS_INITIALIZER;
    size_t len = 3 * 1024 * 1024;
    char *text = xmalloc(len + 1);

    docs.max_bytes = len;
    memset(text, ' ', len + 1);
    ck_assert_ptr_null(dpctl_load_text(&docs, "f", text, len));
    char *error = dpctl_load_text(&docs, "f", text, len + 1);
    ck_assert_str_eq(error, "f: larger than the limit of 3 MiB");
    free(error);

    /* What never ends isn't read to its end. */
    error = dpctl_load_path(&docs, "/dev/zero");
    ck_assert_str_eq(error, "/dev/zero: byte 0 is zero: this is neither YAML "
                     "nor JSON");
    free(error);
    free(text);
    dpctl_docs_destroy(&docs);
}
END_TEST

START_TEST(print_round_trip)
{
    const char *text = "{\"a\":[],\"b\":{},\"c\":[\"true\",\"1\",\"~\",\"\","
                       "\"a: b\",\"two\\nlines\\n\",\"*x\",\"- y\"],"
                       "\"d\":null,\"e\":true,\"f\":1.5,\"g\":\"0x1f\"}";
    struct json *json = json_from_string(text);
    char *yaml = dpctl_print_yaml(json);

    expect_load(yaml, text);
    free(yaml);
    json_destroy(json);
}
END_TEST

/* Strings that are hard on YAML: blanks and breaks at either end, indicators,
 * what looks like another type or document, long keys, all of Unicode. */
static char *
random_text(void)
{
    static const char *const parts[] = {
        " ", "\n", "\r", "\t", ":", ": ", " #", "#", "-", "- ", "---", "...",
        "?", "? ", "{", "}", "[", "]", ",", "&a", "*a", "!", "!!str", "|", ">",
        "|-", "'", "\"", "\\", "%", "@", "`", "~", "null", "yes", "0", "0x1",
        "1e3", ".5", "<<", "=", "a", "word", "\xc3\xa9", "\xe2\x80\xa8",
        "\xc2\x85", "\xc2\xa0", "\xef\xbb\xbf", "\xf0\x9f\x98\x80",
        "\xef\xbf\xbf", "\x01", "\x7f", "\x1b",
    };
    struct ds ds = DS_EMPTY_INITIALIZER;
    size_t n = random_range(8);

    if (!random_range(50)) {
        ds_put_char_multiple(&ds, 'k', 900 + random_range(400));
    }
    for (size_t i = 0; i < n; i++) {
        ds_put_cstr(&ds, parts[random_range(ARRAY_SIZE(parts))]);
    }
    return ds_steal_cstr(&ds);
}

static struct json *
random_value(int depth)
{
    int type = random_range(depth ? 6 : 4);

    if (type >= 4) {
        bool is_array = type == 4;
        struct json *json = (is_array ? json_array_create_empty()
                             : json_object_create());
        for (size_t n = random_range(4); n > 0; n--) {
            struct json *value = random_value(depth - 1);
            if (is_array) {
                json_array_add(json, value);
            } else {
                json_object_put_nocopy(json, random_text(), value);
            }
        }
        return json;
    }
    return (type == 3 ? json_integer_create((int) random_uint32())
            : json_string_create_nocopy(random_text()));
}

START_TEST(print_round_trip_random)
{
    test_seed_random();
    for (int i = 0; i < 3000; i++) {
        struct json *json = json_object_create();
        json_object_put(json, "value", random_value(3));
        char *text = json_to_string(json, JSSF_SORT);
        char *yaml = dpctl_print_yaml(json);
        char *got = load(yaml);

        ck_assert_msg(!strcmp(got, text), "%s\nbecame\n%s\nas\n%s", text, got,
                      yaml);
        free(got);
        free(yaml);
        free(text);
        json_destroy(json);
    }
}
END_TEST

/* Selectors. */

static struct json *
yaml(const char *text)
{
    struct dpctl_docs docs = DPCTL_DOCS_INITIALIZER;
    char *error = dpctl_load_text(&docs, "f", text, strlen(text));

    ck_assert_msg(!error, "%s", error);
    ck_assert_int_eq(docs.n, 1);
    struct json *json = json_clone(docs.docs[0].json);
    dpctl_docs_destroy(&docs);
    return json;
}

static void
expect_match(const char *selector_text, const char *labels_text, bool expected)
{
    struct json *selector = yaml(selector_text);
    struct json *labels = yaml(labels_text);

    ck_assert_msg(dpctl_selector_matches(selector, json_object(labels))
                  == expected, "%s on %s should be %d", selector_text,
                  labels_text, expected);
    json_destroy(selector);
    json_destroy(labels);
}

START_TEST(selector_matches)
{
    const char *in = "matchExpressions: [{key: t, operator: In, "
                     "values: [a, b]}]";
    const char *not_in = "matchExpressions: [{key: t, operator: NotIn, "
                         "values: [a, b]}]";
    const char *exists = "matchExpressions: [{key: t, operator: Exists}]";
    const char *absent = "matchExpressions: [{key: t, "
                         "operator: DoesNotExist}]";

    expect_match("matchLabels: {}", "a: b", true);
    expect_match("matchLabels: {}", "t: a", true);
    expect_match("matchLabels: {t: a}", "t: a\nu: b", true);
    expect_match("matchLabels: {t: a, u: c}", "t: a\nu: b", false);
    expect_match("matchLabels: {t: a}", "u: a", false);
    expect_match(in, "t: b", true);
    expect_match(in, "t: c", false);
    expect_match(in, "u: a", false);
    expect_match(not_in, "t: b", false);
    expect_match(not_in, "t: c", true);
    expect_match(not_in, "u: a", true);
    expect_match(exists, "t: ''", true);
    expect_match(exists, "u: x", false);
    expect_match(absent, "t: x", false);
    expect_match(absent, "u: x", true);
}
END_TEST

static void
expect_selector_text(const char *selector_text, const char *expected)
{
    struct json *selector = yaml(selector_text);
    char *text = dpctl_selector_text(selector);

    ck_assert_str_eq(text, expected);
    free(text);
    json_destroy(selector);
}

START_TEST(selector_text)
{
    expect_selector_text("matchLabels: {}", "*");
    expect_selector_text("matchLabels: {b: 'y', a: x}", "a=x,b=y");
    expect_selector_text("matchExpressions: [{key: t, operator: In, values: "
                         "[b, a, b]}, {key: s, operator: DoesNotExist}]",
                         "!s,t in (a,b)");
    /* Two ways to say the same. */
    expect_selector_text("matchExpressions: [{key: t, operator: In, values: "
                         "[a]}]", "t=a");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl-load");
    TCase *tc = tcase_create("load");
    tcase_add_test(tc, yaml_scalars);
    tcase_add_test(tc, yaml_strings);
    tcase_add_test(tc, yaml_documents);
    tcase_add_test(tc, yaml_anchors);
    tcase_add_test(tc, yaml_alias_bomb);
    tcase_add_test(tc, yaml_errors);
    tcase_add_test(tc, yaml_too_deep);
    tcase_add_test(tc, json_documents);
    tcase_add_test(tc, yaml_flow_style);
    tcase_add_test(tc, json_errors);
    tcase_add_test(tc, json_member_twice);
    tcase_add_test(tc, too_large);
    tcase_add_test(tc, print_round_trip);
    tcase_add_test(tc, print_round_trip_random);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);

    tc = tcase_create("selector");
    tcase_add_test(tc, selector_matches);
    tcase_add_test(tc, selector_text);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
