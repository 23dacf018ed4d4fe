/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-explain.h"

#include <stdlib.h>

#include "dpctl-json.h"
#include "dpctl-print.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

/* The string or number at 'member', NULL if there is none; the caller frees
 * it. */
static char *
member_text(const struct json *o, const char *member)
{
    const struct json *value = dpctl_json_member(o, member);

    return (!value ? NULL
            : value->type == JSON_STRING ? xstrdup(json_string(value))
            : value->type == JSON_INTEGER ? json_to_string(value, 0) : NULL);
}

/* What it means in words: "the egress rule: K8sNetworkPolicy default/web, rule
 * 1 (Allow)". */
static char *
meaning(const struct json *o)
{
    const char *about = dpctl_json_str(o, "about");
    const char *object = dpctl_json_str(o, "object");

    return (about && object ? xasprintf("%s: %s", about, object)
            : about || object ? xstrdup(about ? about : object) : NULL);
}

/* The objects in 'array' as a table.  The column "meaning" is made of several
 * members, each other one of the member after which it is called. */
static void
put_table(const struct json_array *array, const char *const *headings,
          const char *const *members, size_t n, struct ds *s)
{
    struct dpctl_table table;

    dpctl_table_init(&table, headings, n);
    for (size_t i = 0; i < array->n; i++) {
        const struct json *o = array->elems[i];
        for (size_t j = 0; j < n; j++) {
            dpctl_table_add(&table, members[j] ? member_text(o, members[j])
                            : meaning(o));
        }
    }
    dpctl_table_format(&table, s);
    dpctl_table_destroy(&table);
}

static void
put_bits(const struct json *answer, struct ds *s)
{
    static const char *const headings[] = {
        "BITS", "NAME", "VALUE", "STAGE", "MEANING",
    };
    static const char *const members[] = {
        "part", "name", "value", "stage", NULL,
    };
    const struct json_array *bits = dpctl_json_array(answer, "bits");
    const char *rest = dpctl_json_str(answer, "rest");

    if (bits->n) {
        put_table(bits, headings, members, ARRAY_SIZE(headings), s);
    }
    if (rest) {
        ds_put_format(s, "without a name: %s\n", rest);
    } else if (!bits->n) {
        ds_put_cstr(s, "nothing\n");
    }
}

/* All that is not a table of bits: a line for each member. */
static void
put_members(const struct json *answer, struct ds *s)
{
    static const char *const members[] = {
        "name", "table", "id", "part", "value", "round", "category", "stage",
    };
    char *text = meaning(answer);

    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        char *value = member_text(answer, members[i]);
        if (value) {
            ds_put_format(s, "%-9s %s\n", members[i], value);
            free(value);
        }
    }
    ds_put_format(s, "%-9s %s\n", "meaning", text ? text : "unknown");
    free(text);
}

/* All names of a pipeline. */
static void
put_vocabulary(const struct json *answer, struct ds *s)
{
    static const struct {
        const char *member;
        const char *headings[4], *members[4];
    } tables[] = {
        { "tables", { "ID", "TABLE", "STAGE", "MEANING" },
          { "id", "table", "stage", NULL } },
        { "bits", { "BITS", "NAME", "VALUE", "MEANING" },
          { "part", "name", "value", NULL } },
        { "constants", { "NAME", "VALUE", "MEANING" },
          { "name", "value", NULL } },
        { "cookies", { "CATEGORY", "COOKIE", "FLOWS OF" },
          { "category", "name", NULL } },
    };

    for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
        const struct json_array *array
            = dpctl_json_array(answer, tables[i].member);
        size_t n = tables[i].headings[3] ? 4 : 3;

        ds_put_cstr(s, i ? "\n" : "");
        put_table(array, tables[i].headings, tables[i].members, n, s);
    }
}

void
dpctl_explain_format(const struct json *answer, struct ds *s)
{
    const struct json_array *all = dpctl_json_array(answer, "explained");

    if (!dpctl_json_member(answer, "explained")) {
        put_vocabulary(answer, s);
        return;
    }
    for (size_t i = 0; i < all->n; i++) {
        const struct json *o = all->elems[i];
        const char *what = dpctl_json_str(o, "what");

        ds_put_format(s, "%s%s\n", i ? "\n" : "", what ? what : "?");
        if (dpctl_json_member(o, "bits")) {
            put_bits(o, s);
        } else {
            put_members(o, s);
        }
    }
}
