/* SPDX-License-Identifier: Apache-2.0 */

/* The page of a trace: what is escaped, and what is marked. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "quoted-json.h"
#include "test-run.h"
#include "util.h"
#include "dpctl-html.h"

static void
expect_escaped(const char *text, const char *expected)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_html_escape(text, &s);
    ck_assert_str_eq(ds_cstr(&s), expected);
    ds_destroy(&s);
}

#define BAD "\xef\xbf\xbd"

START_TEST(escapes)
{
    expect_escaped("", "");
    expect_escaped("a <b> & \"c\" 'd'",
                   "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
    expect_escaped("&amp;", "&amp;amp;");
    expect_escaped("tab\tline\nreturn\r", "tab\tline\nreturn\r");
    expect_escaped("\x01\x1f\x0b\x7f", BAD BAD BAD "\x7f");
    /* The first and the last characters of each length. */
    expect_escaped("\xc2\x80\xdf\xbf", "\xc2\x80\xdf\xbf");
    expect_escaped("\xe0\xa0\x80\xef\xbf\xbd", "\xe0\xa0\x80\xef\xbf\xbd");
    expect_escaped("\xf0\x90\x80\x80\xf4\x8f\xbf\xbd",
                   "\xf0\x90\x80\x80\xf4\x8f\xbf\xbd");
    /* Too long, too large, surrogates, no characters. */
    expect_escaped("\xc1\xbf", BAD BAD);
    expect_escaped("\xe0\x9f\xbf", BAD BAD BAD);
    expect_escaped("\xf0\x8f\xbf\xbf", BAD BAD BAD BAD);
    expect_escaped("\xf4\x90\x80\x80", BAD BAD BAD BAD);
    expect_escaped("\xed\xa0\x80", BAD BAD BAD);
    expect_escaped("\xef\xbf\xbe", BAD BAD BAD);
    expect_escaped("\xef\xbf\xbf", BAD BAD BAD);
    /* Torn, at the end and in the middle. */
    expect_escaped("\xe2\x82", BAD BAD);
    expect_escaped("\xf0", BAD);
    expect_escaped("\xe2<b", BAD "&lt;b");
    expect_escaped("\x80z", BAD "z");
}
END_TEST

/* 'text' has ' in place of ".  Returns the page. */
static char *
page_of(const char *text)
{
    struct json *trace = json_from_quoted(text);
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_html_walk(trace, &s);
    json_destroy(trace);
    return ds_steal_cstr(&s);
}

static void
expect_in(const char *page, const char *part)
{
    ck_assert_msg(strstr(page, part), "no %s in %s", part, page);
}

static size_t
count(const char *page, const char *part)
{
    size_t n = 0;

    for (const char *p = page; (p = strstr(p, part)); p += strlen(part)) {
        n++;
    }
    return n;
}

#define TABLES "'pipeline_tables':[" \
    "{'id':0,'table':'Root','stage':'Entry','about':'begins'}," \
    "{'id':10,'table':'Guard','stage':'Entry'}," \
    "{'id':20,'table':'Out','stage':'End'}]"

/* Every text comes from somebody who names ports, tables and Pods. */
START_TEST(hostile)
{
    static const char evil[] = "</style><script>alert(1)</script>\\u0007&";
    char *text = xasprintf(
        "{'bridge':'%s','pipeline':'%s','in_port':'%s','flow':'%s,a',"
        "'outcome':'%s','reason':'%s','at_present':'%s','verdict':'%s','actions':'%s',"
        "'names':{'1.2.3.4':'%s'},"
        "'headers':{'ip_src':'1.2.3.4','ip_dst':'%s'},"
        "'outputs':[{'port':'%s','headers':{'ip_src':'%s'}}],"
        "'pipeline_tables':[{'id':0,'table':'%s','stage':'%s','about':'%s'}],"
        "'tables':[{'id':0,'table':'%s','flow':'%s','object':'%s','steps':["
        "{'do':'action','action':'%s'},"
        "{'do':'output','port':'%s','result':'%s'}]}]}",
        evil, evil, evil, evil, evil, evil, evil, evil, evil, evil, evil,
        evil, evil, evil, evil, evil, evil, evil, evil, evil, evil, evil);
    char *page = page_of(text);

    ck_assert_uint_eq(count(page, "<script"), 0);
    ck_assert_uint_eq(count(page, "</style>"), 1);
    ck_assert_uint_eq(count(page, "\x07"), 0);
    ck_assert_uint_eq(count(page, "&lt;script&gt;"), count(page, BAD "&amp;"));
    ck_assert_uint_ge(count(page, "&lt;script&gt;"), 21);
    free(page);
    free(text);
}
END_TEST

/* Nothing is loaded from anywhere, and nothing runs. */
START_TEST(self_contained)
{
    char *page = page_of("{'outcome':'forwarded'," TABLES ",'tables':["
                         "{'id':0,'flow':'x','steps':[]}]}");

    ck_assert_uint_eq(count(page, "src="), 0);
    ck_assert_uint_eq(count(page, "@import"), 0);
    ck_assert_uint_eq(count(page, "url("), count(page, "url(#arrow)"));
    ck_assert_uint_eq(count(page, "href="), count(page, "href=\"#"));
    /* Names of name spaces aren't fetched. */
    ck_assert_uint_eq(count(page, "://"), count(page, "xmlns=\"http://"));
    ck_assert_ptr_null(strchr(dpctl_html_style, '<'));
    ck_assert_ptr_null(strchr(dpctl_html_style, '&'));
    free(page);
}
END_TEST

START_TEST(path)
{
    char *page = page_of(
        "{'outcome':'forwarded','in_port':'a'," TABLES ",'outputs':["
        "{'port':'b'}],'tables':["
        "{'id':0,'table':'Root','flow':'x','steps':["
        "{'do':'goto','visit':1}]},"
        "{'id':20,'table':'Out','flow':'x','steps':[{'do':'output',"
        "'port':'b','result':'sent'}]}]}");

    ck_assert_uint_eq(count(page, "class=\"table on\""), 2);
    expect_in(page, "<g class=\"table on\" data-table=\"0\">");
    expect_in(page, "<g class=\"table\" data-table=\"10\">");
    expect_in(page, "<g class=\"table on\" data-table=\"20\">");
    expect_in(page, "class=\"edge\" data-from=\"0\" data-to=\"20\"");
    ck_assert_uint_eq(count(page, "data-from="), 1);
    ck_assert_uint_eq(count(page, "class=\"stage\""), 2);
    expect_in(page, "<article id=\"visit-1\" data-table=\"20\"");
    expect_in(page, "<a href=\"#visit-1\">table 20 Out</a>");
    expect_in(page, "Forwarded out of port b");
    free(page);
}
END_TEST

START_TEST(to_controller)
{
    char *page = page_of(
        "{'outcome':'to controller','in_port':'a'," TABLES ",'tables':["
        "{'id':0,'table':'Root','flow':'x','steps':[{'do':'action',"
        "'action':'CONTROLLER:65535'}]}]}");

    expect_in(page, "<strong>Sent to the controller in <a href=\"#visit-0\">"
              "table 0 Root<");
    expect_in(page, "out</tspan>&#160; controller</text>");
    ck_assert_uint_eq(count(page, "class=\"end "), 0);
    ck_assert_uint_eq(count(page, "class=\"edge\""), 2);
    ck_assert_uint_eq(count(page, "Forwarded"), 0);
    free(page);
}
END_TEST

START_TEST(detour)
{
    char *page = page_of(
        "{'outcome':'dropped','reason':'so'," TABLES ",'tables':["
        "{'id':0,'flow':'x','steps':["
        "{'do':'goto','visit':1,'returns':true},{'do':'goto','visit':2}]},"
        "{'id':10,'from':0,'flow':'x','steps':[]},"
        "{'id':20,'from':0,'flow':'x','steps':[{'do':'drop'}]}]}");
    const char *there = strstr(page, "data-from=\"0\" data-to=\"10\"");
    const char *back = strstr(page, "class=\"edge back\" data-from=\"10\" "
                              "data-to=\"0\"");
    const char *on = strstr(page, "data-from=\"0\" data-to=\"20\"");

    ck_assert(there && back && on && there < back && back < on);
    ck_assert_uint_eq(count(page, "data-from="), 3);
    expect_in(page, "<g class=\"table on dropped\" data-table=\"20\">");
    expect_in(page, "<g class=\"end dropped\">");
    free(page);
}
END_TEST

/* Folded away is what only the flow for all others was hit in; the verdict
 * leads to where the rule was met. */
START_TEST(folds)
{
#define MISS(ID, NEXT) "{'id':" ID ",'flow':'priority=0','steps':[" \
    "{'do':'goto','visit':" NEXT "}]}"
    char *page = page_of(
        "{'outcome':'dropped','headers':{'ip_dst':'10.0.0.1'},"
        "'names':{'10.0.0.1':'Pod d/<web>'},"
        "'page':{'node':'n&1','time':'T','version':'9'},'tables':["
        MISS("0", "1") "," MISS("1", "2") ","
        "{'id':2,'from':1,'flow':'ip','object':'Rule r','steps':["
        "{'do':'goto','visit':3}]}," MISS("3", "4") ","
        "{'id':4,'from':3,'flow':'priority=0','object':'Rule r',"
        "'steps':[{'do':'drop'}]}]}");

    ck_assert_uint_eq(count(page, "<details>"), 2);
    expect_in(page, "<details><summary>2 tables with");
    expect_in(page, "<details><summary>1 table with");
    ck_assert_uint_eq(count(page, "<article"), 5);
    expect_in(page, "</article>\n</details>\n<article id=\"visit-2\"");
    expect_in(page, "</article>\n</details>\n<article id=\"visit-4\"");
    expect_in(page, "Dropped in <a href=\"#visit-4\">");
    expect_in(page, ", decided in <a href=\"#visit-2\">");
    expect_in(page, "(Pod d/&lt;web&gt;) on n&amp;1: dropped</title>");
    expect_in(page, "; on Node n&amp;1, T, antrea-dp 9</p>");
    free(page);

    page = page_of("{'outcome':'forwarded','tables':["
                   "{'id':7,'flow':'priority=0','steps':[{'do':'goto'}]}]}");
    ck_assert_uint_eq(count(page, "<details>"), 0);
    expect_in(page, ", decided in <a href=\"#visit-0\">");
    ck_assert_uint_eq(count(page, "on Node"), 0);
    free(page);
}
END_TEST

/* A table that nobody told of, a table that leads to itself, nothing at all:
 * there is a page. */
START_TEST(odd_answers)
{
    static const char *const odd[] = {
        "{}", "{'tables':[{'id':7,'steps':[]}]}",
        "{'outcome':'punted','tables':[{'id':0,'flow':'x','steps':["
        "{'do':'goto','visit':1}]},{'id':0,'steps':[]}]," TABLES "}",
        "{'pipeline_tables':[7,{}],'tables':[9],'outputs':[{}]}",
    };

    for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
        char *page = page_of(odd[i]);

        expect_in(page, "</html>");
        free(page);
    }
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl-html");
    TCase *tc = tcase_create("dpctl-html");

    tcase_add_test(tc, escapes);
    tcase_add_test(tc, hostile);
    tcase_add_test(tc, self_contained);
    tcase_add_test(tc, path);
    tcase_add_test(tc, to_controller);
    tcase_add_test(tc, detour);
    tcase_add_test(tc, folds);
    tcase_add_test(tc, odd_answers);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
