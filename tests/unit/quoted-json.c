/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "quoted-json.h"

#include <check.h>
#include <stdlib.h>

#include "openvswitch/json.h"
#include "util.h"

struct json *
json_from_quoted(const char *quoted)
{
    char *s = xstrdup(quoted);

    for (char *p = s; *p; p++) {
        *p = *p == '\'' ? '"' : *p;
    }

    struct json *json = json_from_string(s);
    ck_assert_msg(json->type != JSON_STRING, "%s: %s", json_string(json), s);
    free(s);
    return json;
}

struct json *
json_array_from_quoted(const char *elements)
{
    char *quoted = xasprintf("[%s]", elements);
    struct json *json = json_from_quoted(quoted);

    free(quoted);
    ck_assert_int_eq(json->type, JSON_ARRAY);
    return json;
}

char *
json_to_quoted(const struct json *json)
{
    char *s = json_to_string(json, JSSF_SORT);

    for (char *p = s; *p; p++) {
        *p = *p == '"' ? '\'' : *p;
    }
    return s;
}
