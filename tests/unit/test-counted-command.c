/* SPDX-License-Identifier: Apache-2.0 */

/* When commands that tell counters run, with which words, and that each runs
 * once. */

#include <config.h>
#include <check.h>

#include "adp-bridge.h"
#include "adp-counted-command.h"
#include "adp-push-stats.h"
#include "test-run.h"
#include "util.h"

static struct unixctl_conn *const conn = (void *) &conn;

/* Bridges. */

static struct adp_bridge *const bridges[] = {
    (void *) &bridges[0], (void *) &bridges[1],
};
static const char *const names[] = { "br0", "br1" };
static size_t n_bridges;
static uint64_t has[2];         /* What each bridge's counters tell. */
static uint64_t asked;

struct adp_bridge *
adp_bridge_lookup(const char *name)
{
    for (size_t i = 0; i < n_bridges; i++) {
        if (!strcmp(name, names[i])) {
            return bridges[i];
        }
    }
    return NULL;
}

struct adp_bridge *
adp_bridge_only(void)
{
    return n_bridges == 1 ? bridges[0] : NULL;
}

uint64_t
adp_push_stats_ask(void)
{
    return asked;
}

bool
adp_push_stats_has(const struct adp_bridge *b, uint64_t n)
{
    ck_assert(b == bridges[0] || b == bridges[1]);
    return has[b == bridges[1]] >= n;
}

/* Commands. */

static size_t n_run;
static char ran[100];           /* The words of the last one. */

static void
command(struct unixctl_conn *conn_, int argc, const char *argv[], void *aux)
{
    ck_assert_ptr_eq(conn_, conn);
    ck_assert_ptr_eq(aux, &n_run);
    ck_assert_ptr_null(argv[argc]);
    n_run++;
    ran[0] = '\0';
    for (int i = 0; i < argc; i++) {
        strcat(strcat(ran, i ? " " : ""), argv[i]);
    }
}

/* Its words are gone afterwards, as a client's. */
static void
say(const char *word, const char *bridge)
{
    char *words[] = { xstrdup("show"), nullable_xstrdup(word),
                      nullable_xstrdup(bridge), NULL };

    adp_counted_command(conn, 1 + !!word + !!bridge, (const char **) words,
                        command, &n_run);
    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        free(words[i]);
    }
}

static void
expect(const char *words)
{
    adp_counted_commands_run();
    ck_assert_str_eq(ran, words);
    ck_assert_uint_eq(n_run, words[0] != '\0');
    adp_counted_commands_run();
    ck_assert_uint_eq(n_run, words[0] != '\0');
}

static void
setup(void)
{
    n_bridges = 2;
    asked = 5;
    has[0] = has[1] = 4;
}

START_TEST(waits)
{
    say("br0", NULL);
    asked = 6;                  /* Later ones have to wait for more. */
    has[1] = 5;
    expect("");
    has[0] = 5;
    expect("show br0");
}
END_TEST

/* The bridge may be any of its words. */
START_TEST(option_first)
{
    say("--all", "br1");
    has[0] = 5;
    expect("");
    has[1] = 5;
    expect("show --all br1");
}
END_TEST

START_TEST(only_bridge)
{
    n_bridges = 1;
    say(NULL, NULL);
    expect("");
    has[0] = 5;
    expect("show");
}
END_TEST

/* Which says so itself, at once. */
START_TEST(no_such_bridge)
{
    say("br2", NULL);
    ck_assert_uint_eq(n_run, 1);
    expect("show br2");
}
END_TEST

START_TEST(several_bridges)
{
    say(NULL, NULL);
    ck_assert_uint_eq(n_run, 1);
    expect("show");
}
END_TEST

START_TEST(bridge_gone)
{
    say("br1", NULL);
    expect("");
    n_bridges = 1;
    expect("show br1");
}
END_TEST

/* Some wait longer than others. */
START_TEST(many)
{
    say("br0", NULL);
    say("br1", NULL);
    asked = 6;
    say("br0", NULL);
    has[0] = 5;
    adp_counted_commands_run();
    ck_assert_uint_eq(n_run, 1);
    ck_assert_str_eq(ran, "show br0");
    has[1] = 5;
    adp_counted_commands_run();
    ck_assert_uint_eq(n_run, 2);
    ck_assert_str_eq(ran, "show br1");
    has[0] = 6;
    adp_counted_commands_run();
    ck_assert_uint_eq(n_run, 3);
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("counted-command");
    TCase *tc = tcase_create("counted-command");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, waits);
    tcase_add_test(tc, option_first);
    tcase_add_test(tc, only_bridge);
    tcase_add_test(tc, no_such_bridge);
    tcase_add_test(tc, several_bridges);
    tcase_add_test(tc, bridge_gone);
    tcase_add_test(tc, many);
    suite_add_tcase(s, tc);
    return test_run(s);
}
