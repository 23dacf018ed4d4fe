/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "quoted-json.h"

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
    if (json->type == JSON_STRING) {
        ovs_abort(0, "%s: %s", json_string(json), s);
    }
    free(s);
    return json;
}

struct json *
json_array_from_quoted(const char *elements)
{
    char *quoted = xasprintf("[%s]", elements);
    struct json *json = json_from_quoted(quoted);

    free(quoted);
    ovs_assert(json->type == JSON_ARRAY);
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
