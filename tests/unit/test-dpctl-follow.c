/* SPDX-License-Identifier: Apache-2.0 */

/* What follow is made of: events, lists, and what was refused. */

#include <config.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-event.h"
#include "dpctl-kind.h"
#include "dpctl-listing.h"
#include "dpctl-refused.h"
#include "openvswitch/json.h"
#include "test-run.h"
#include "util.h"

/* --- Events. */

#define POD \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a'," \
    "'resourceVersion':'7'}}"

static struct json *
parse(const char *text)
{
    char *quoted = xstrdup(text);

    for (char *c = quoted; *c; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    struct json *json = json_from_string(quoted);
    ck_assert_msg(json->type != JSON_STRING, "%s", quoted);
    free(quoted);
    return json;
}

static const char *
event_name(const struct dpctl_event *event)
{
    switch (event->type) {
    case DPCTL_EVENT_SET: return event->initial ? "set, initial" : "set";
    case DPCTL_EVENT_GONE: return "gone";
    case DPCTL_EVENT_LIST: return event->more ? "list, more" : "list";
    case DPCTL_EVENT_BOOKMARK: return event->initial ? "end" : "bookmark";
    case DPCTL_EVENT_ERROR: return "error";
    }
    return NULL;
}

/* Expects of 'text' what 'what' says: the event, its object's kind, its
 * version and its message. */
static void
expect_event(const char *text, const char *what)
{
    struct json *json = parse(text);
    struct dpctl_event event;

    dpctl_event_open(json, &event);
    char *seen = xasprintf("%s; %s; %s; %s", event_name(&event),
                           event.kind ? event.kind->kind : "-",
                           event.version ? event.version : "-",
                           event.message ? event.message : "-");
    ck_assert_str_eq(seen, what);
    free(seen);
    json_destroy(json);
}

START_TEST(watch_events)
{
    expect_event("{'type':'ADDED','object':" POD "}",
                 "set, initial; Pod; 7; -");
    expect_event("{'type':'MODIFIED','object':" POD "}", "set; Pod; 7; -");
    expect_event("{'object':" POD ",'type':'DELETED'}", "gone; Pod; 7; -");
    expect_event("{'type':'BOOKMARK','object':" POD "}",
                 "bookmark; Pod; 7; -");
    expect_event("{'type':'BOOKMARK','object':{'apiVersion':'v1',"
                 "'kind':'Pod','metadata':{'annotations':"
                 "{'k8s.io/initial-events-end':'true'}}}}", "end; Pod; -; -");
    expect_event("{'type':'BOOKMARK','object':{'apiVersion':'v1',"
                 "'kind':'Pod','metadata':{'annotations':"
                 "{'k8s.io/initial-events-end':true}}}}",
                 "bookmark; Pod; -; -");
    expect_event("{'type':'ADDED','object':{'apiVersion':'v9',"
                 "'kind':'Pod'}}", "set, initial; -; -; -");
}
END_TEST

START_TEST(error_events)
{
    expect_event("{'type':'ERROR','object':{'kind':'Status',"
                 "'message':'too old'}}", "error; -; -; too old");
    expect_event("{'type':'ERROR','object':{}}", "error; -; -; ERROR");
    expect_event("{'type':'RESTARTED','object':" POD "}",
                 "error; Pod; 7; RESTARTED");
    /* What kubectl gets instead of a list. */
    expect_event("{'kind':'Status','apiVersion':'v1','status':'Failure',"
                 "'message':'no'}", "error; -; -; no");
}
END_TEST

START_TEST(lists)
{
    expect_event("{'kind':'PodList','apiVersion':'v1','metadata':"
                 "{'resourceVersion':'9','continue':'x'},'items':[]}",
                 "list, more; Pod; 9; -");
    expect_event("{'kind':'PodList','apiVersion':'v1','metadata':"
                 "{'resourceVersion':'9','continue':''},'items':[]}",
                 "list; Pod; 9; -");
    expect_event("{'kind':'NetworkPolicyList',"
                 "'apiVersion':'networking.k8s.io/v1','items':[]}",
                 "list; NetworkPolicy; -; -");
    expect_event("{'kind':'PodList','apiVersion':'v1','metadata':"
                 "{'resourceVersion':'9'},'items':null}", "list; Pod; 9; -");
    /* A list of anything says nothing about what isn't in it, nor do these. */
    expect_event("{'kind':'List','apiVersion':'v1','items':[]}",
                 "set; -; -; -");
    expect_event("{'kind':'PodList','apiVersion':'v1'}", "set; -; -; -");
    expect_event("{'kind':'PodList','items':[]}", "set; -; -; -");
}
END_TEST

START_TEST(odd_values)
{
    expect_event(POD, "set; Pod; 7; -");
    expect_event("{}", "set; -; -; -");
    expect_event("[]", "set; -; -; -");
    expect_event("{'type':'ADDED'}", "set; -; -; -");
    expect_event("{'type':1,'object':" POD "}", "set; -; -; -");
    expect_event("{'type':'ADDED','object':[" POD "]}",
                 "set, initial; -; -; -");
}
END_TEST

/* --- Lists. */

static bool
is_listed(const struct dpctl_listing *l, const char *name)
{
    return sset_contains(&l->of[DPCTL_POD].names, name);
}

START_TEST(list_in_pages)
{
    struct dpctl_listing l;

    dpctl_listing_init(&l);
    /* Without a list nothing is noted. */
    dpctl_listing_see(&l, DPCTL_POD, "a");
    ck_assert(!is_listed(&l, "a"));
    ck_assert(!dpctl_listing_end(&l, DPCTL_POD));

    dpctl_listing_page(&l, DPCTL_POD, "5");
    dpctl_listing_see(&l, DPCTL_POD, "a");
    ck_assert(!l.of[DPCTL_POD].told);
    dpctl_listing_page(&l, DPCTL_POD, "5");
    dpctl_listing_see(&l, DPCTL_POD, "b");
    ck_assert(is_listed(&l, "a") && is_listed(&l, "b"));
    ck_assert(dpctl_listing_end(&l, DPCTL_POD));
    ck_assert(l.of[DPCTL_POD].told);
    ck_assert(!l.of[DPCTL_NODE].told);
    ck_assert(!dpctl_listing_end(&l, DPCTL_POD));

    /* Pages of another version are another list, and so are those behind
     * the last page. */
    dpctl_listing_page(&l, DPCTL_POD, "6");
    dpctl_listing_see(&l, DPCTL_POD, "c");
    dpctl_listing_page(&l, DPCTL_POD, "7");
    ck_assert(!is_listed(&l, "a") && !is_listed(&l, "c"));
    dpctl_listing_see(&l, DPCTL_POD, "d");
    ck_assert(dpctl_listing_end(&l, DPCTL_POD));
    dpctl_listing_page(&l, DPCTL_POD, "7");
    ck_assert(!is_listed(&l, "d"));
    dpctl_listing_destroy(&l);
}
END_TEST

START_TEST(initial_events)
{
    struct dpctl_listing l;

    dpctl_listing_init(&l);
    dpctl_listing_initial(&l, DPCTL_POD);
    dpctl_listing_see(&l, DPCTL_POD, "a");
    dpctl_listing_initial(&l, DPCTL_POD);
    dpctl_listing_see(&l, DPCTL_POD, "b");
    ck_assert(is_listed(&l, "a") && is_listed(&l, "b"));
    ck_assert(dpctl_listing_end(&l, DPCTL_POD));
    /* There is one beginning. */
    dpctl_listing_initial(&l, DPCTL_POD);
    ck_assert(!dpctl_listing_end(&l, DPCTL_POD));
    dpctl_listing_destroy(&l);

    /* Another event tells that the first ones were none either. */
    dpctl_listing_init(&l);
    dpctl_listing_initial(&l, DPCTL_POD);
    dpctl_listing_see(&l, DPCTL_POD, "a");
    dpctl_listing_begun(&l);
    ck_assert(!is_listed(&l, "a"));
    ck_assert(!dpctl_listing_end(&l, DPCTL_POD));
    dpctl_listing_destroy(&l);
}
END_TEST

START_TEST(older_events)
{
    struct dpctl_listing l;

    dpctl_listing_init(&l);
    ck_assert(!dpctl_listing_is_older(&l, DPCTL_POD, "1"));
    dpctl_listing_page(&l, DPCTL_POD, "100");
    ck_assert(!dpctl_listing_is_older(&l, DPCTL_POD, "99"));
    dpctl_listing_end(&l, DPCTL_POD);
    ck_assert(dpctl_listing_is_older(&l, DPCTL_POD, "99"));
    ck_assert(dpctl_listing_is_older(&l, DPCTL_POD, "100"));
    ck_assert(!dpctl_listing_is_older(&l, DPCTL_POD, "101"));
    ck_assert(!dpctl_listing_is_older(&l, DPCTL_POD, "1000"));
    ck_assert(!dpctl_listing_is_older(&l, DPCTL_NODE, "99"));
    /* Versions that aren't numbers can't be compared. */
    ck_assert(!dpctl_listing_is_older(&l, DPCTL_POD, NULL));
    ck_assert(!dpctl_listing_is_older(&l, DPCTL_POD, "x"));
    ck_assert(!dpctl_listing_is_older(&l, DPCTL_POD, ""));
    dpctl_listing_destroy(&l);
}
END_TEST

START_TEST(too_many_names)
{
    struct dpctl_listing l;

    dpctl_listing_init(&l);
    dpctl_listing_page(&l, DPCTL_POD, "1");
    for (int i = 0; i <= DPCTL_LISTING_MAX; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", i);
        dpctl_listing_see(&l, DPCTL_POD, name);
        ck_assert_uint_eq(sset_count(&l.of[DPCTL_POD].names),
                          i < DPCTL_LISTING_MAX ? i + 1 : 0);
    }
    dpctl_listing_see(&l, DPCTL_POD, "another");
    ck_assert(!is_listed(&l, "another"));
    /* Nothing may be deleted for not being in it. */
    ck_assert(!dpctl_listing_end(&l, DPCTL_POD));
    ck_assert(!l.of[DPCTL_POD].told);

    dpctl_listing_page(&l, DPCTL_POD, "2");
    ck_assert(dpctl_listing_end(&l, DPCTL_POD));
    dpctl_listing_destroy(&l);
}
END_TEST

/* --- What was refused. */

static enum dpctl_refused_news
add_refused(struct dpctl_refused *r, const char *name, const char *reason)
{
    struct json *object = parse("{'a':1}");
    enum dpctl_refused_news news = dpctl_refused_add(r, name, object, false,
                                                     reason);
    json_destroy(object);
    return news;
}

START_TEST(refused_once)
{
    struct dpctl_refused r;

    dpctl_refused_init(&r);
    ck_assert(dpctl_refused_is_empty(&r));
    ck_assert_int_eq(add_refused(&r, "x", "no"), DPCTL_REFUSED_NEW);
    ck_assert_int_eq(add_refused(&r, "x", "no"), DPCTL_REFUSED_KNOWN);
    ck_assert_int_eq(add_refused(&r, "x", "never"), DPCTL_REFUSED_NEW);
    ck_assert_int_eq(add_refused(&r, "y", "no"), DPCTL_REFUSED_NEW);
    ck_assert_uint_eq(shash_count(&r.refusals), 2);
    ck_assert_uint_eq(r.n_bytes, 2 * strlen("{\"a\":1}"));

    const struct dpctl_refusal *x = shash_find_data(&r.refusals, "x");
    ck_assert_str_eq(x->reason, "never");
    ck_assert(!x->gone);
    dpctl_refused_forget(&r, "x");
    dpctl_refused_forget(&r, "x");
    dpctl_refused_forget(&r, "y");
    ck_assert(dpctl_refused_is_empty(&r));
    ck_assert_uint_eq(r.n_bytes, 0);
    ck_assert_uint_eq(r.n_forgotten, 0);
    dpctl_refused_destroy(&r);
}
END_TEST

START_TEST(what_refused_need)
{
    ck_assert(dpctl_refused_may_need("Node.v1/n", false));
    ck_assert(dpctl_refused_may_need("Tier.crd.antrea.io/t", false));
    ck_assert(!dpctl_refused_may_need("Pod.v1/default/p", false));
    ck_assert(!dpctl_refused_may_need("Service.v1/default/s", false));
    /* Another one may need the address or the port that it had. */
    ck_assert(dpctl_refused_may_need("Pod.v1/default/p", true));
    ck_assert(dpctl_refused_may_need("Service.v1/default/s", true));
}
END_TEST

START_TEST(too_many_refused)
{
    struct dpctl_refused r;

    dpctl_refused_init(&r);
    for (int i = 0; i < DPCTL_REFUSED_MAX; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", i);
        ck_assert_int_eq(add_refused(&r, name, "no"), DPCTL_REFUSED_NEW);
    }
    ck_assert_int_eq(add_refused(&r, "x", "no"), DPCTL_REFUSED_TOO_MUCH);
    ck_assert_uint_eq(shash_count(&r.refusals), DPCTL_REFUSED_MAX);
    ck_assert_uint_eq(r.n_forgotten, 1);
    /* What is there is there, and has a place. */
    ck_assert_int_eq(add_refused(&r, "0", "no"), DPCTL_REFUSED_KNOWN);
    ck_assert_int_eq(add_refused(&r, "1", "never"), DPCTL_REFUSED_NEW);
    dpctl_refused_forget(&r, "2");
    ck_assert_int_eq(add_refused(&r, "x", "no"), DPCTL_REFUSED_NEW);
    ck_assert_uint_eq(r.n_forgotten, 1);
    dpctl_refused_destroy(&r);
}
END_TEST

START_TEST(too_large_refused)
{
    size_t len = DPCTL_REFUSED_MAX_BYTES / 4;
    char *text = xmalloc(len);
    struct dpctl_refused r;

    /* With its quotes it has 'len' bytes. */
    memset(text, 'x', len - 2);
    text[len - 2] = '\0';
    struct json *object = json_string_create_nocopy(text);
    dpctl_refused_init(&r);
    for (int i = 0; i < 4; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", i);
        ck_assert_int_eq(dpctl_refused_add(&r, name, object, true, "no"),
                         DPCTL_REFUSED_NEW);
    }
    ck_assert_uint_eq(r.n_bytes, DPCTL_REFUSED_MAX_BYTES);
    ck_assert_int_eq(add_refused(&r, "small", "no"), DPCTL_REFUSED_TOO_MUCH);
    ck_assert_int_eq(dpctl_refused_add(&r, "3", object, true, "no"),
                     DPCTL_REFUSED_KNOWN);
    dpctl_refused_forget(&r, "0");
    ck_assert_int_eq(add_refused(&r, "small", "no"), DPCTL_REFUSED_NEW);
    /* One that grows needs room, too. */
    ck_assert_int_eq(dpctl_refused_add(&r, "small", object, true, "no"),
                     DPCTL_REFUSED_KNOWN);
    ck_assert_int_eq(add_refused(&r, "x", "no"), DPCTL_REFUSED_TOO_MUCH);
    ck_assert_uint_eq(r.n_forgotten, 2);
    json_destroy(object);
    dpctl_refused_destroy(&r);
}
END_TEST

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);

    Suite *s = suite_create("dpctl-follow");
    TCase *tc = tcase_create("dpctl-follow");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, watch_events);
    tcase_add_test(tc, error_events);
    tcase_add_test(tc, lists);
    tcase_add_test(tc, odd_values);
    tcase_add_test(tc, list_in_pages);
    tcase_add_test(tc, initial_events);
    tcase_add_test(tc, older_events);
    tcase_add_test(tc, too_many_names);
    tcase_add_test(tc, refused_once);
    tcase_add_test(tc, what_refused_need);
    tcase_add_test(tc, too_many_refused);
    tcase_add_test(tc, too_large_refused);
    suite_add_tcase(s, tc);

    return test_run(s);
}
