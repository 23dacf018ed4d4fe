/* SPDX-License-Identifier: Apache-2.0 */

/* What somebody may have meant. */

#include <config.h>
#include "dpctl-similar.h"

#include <check.h>

#include "test-run.h"
#include "util.h"

static void
expect_similar(const char *word, const char *expected)
{
    static const char *const words[] = {
        "apply", "delete", "resync", "resolve", "get", "top", "stats",
        "networkpolicies", "applied",
        "a-word-that-is-longer-than-any-that-is-compared-with-others",
    };
    const char *found = dpctl_similar(word, words, ARRAY_SIZE(words));

    ck_assert_msg(expected ? found && !strcmp(found, expected) : !found,
                  "%s: %s, not %s", word, found ? found : "-",
                  expected ? expected : "-");
}

START_TEST(one_letter)
{
    expect_similar("aply", "apply");
    expect_similar("applly", "apply");
    expect_similar("apqly", "apply");
    expect_similar("aplpy", "apply");
    expect_similar("paply", "apply");
    expect_similar("APLY", "apply");
    expect_similar("ge", "get");
    expect_similar("et", "get");
    expect_similar("gett", "get");
    expect_similar("get", "get");
}
END_TEST

START_TEST(two_letters)
{
    /* Of a short word that would be another one. */
    expect_similar("appxx", NULL);
    expect_similar("gxx", NULL);
    expect_similar("rsovle", "resolve");
    expect_similar("netwrokpolicis", "networkpolicies");
    expect_similar("networkpolicy", NULL);
    /* The nearest of two. */
    expect_similar("appliedx", "applied");
}
END_TEST

START_TEST(lengths)
{
    expect_similar("", NULL);
    expect_similar("a-word-that-is-longer-than-any-that-is-compared-with-other",
                   NULL);
    expect_similar("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", NULL);
    /* What isn't ASCII is bytes. */
    expect_similar("\xc3\xa4pply", "apply");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl-similar");
    TCase *tc = tcase_create("similar");

    tcase_add_test(tc, one_letter);
    tcase_add_test(tc, two_letters);
    tcase_add_test(tc, lengths);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
