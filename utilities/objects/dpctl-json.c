/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-json.h"

#include <string.h>

#include "util.h"

const struct json *
dpctl_json_member(const struct json *json, const char *name)
{
    if (!json || json->type != JSON_OBJECT) {
        return NULL;
    }
    const struct json *member = shash_find_data(json->object, name);
    return member && member->type != JSON_NULL ? member : NULL;
}

const struct json *
dpctl_json_get(const struct json *json, const char *path)
{
    while (json && *path) {
        size_t len = strcspn(path, ".");
        const struct shash_node *node
            = (json->type == JSON_OBJECT
               ? shash_find_len(json->object, path, len) : NULL);

        json = node ? node->data : NULL;
        path += len;
        path += *path == '.';
    }
    return json && json->type != JSON_NULL ? json : NULL;
}

const char *
dpctl_json_str(const struct json *json, const char *path)
{
    json = dpctl_json_get(json, path);
    return json && json->type == JSON_STRING ? json->string : NULL;
}

long long int
dpctl_json_int(const struct json *json, const char *path,
               long long int default_)
{
    json = dpctl_json_get(json, path);
    return json && json->type == JSON_INTEGER ? json->integer : default_;
}

bool
dpctl_json_bool(const struct json *json, const char *path, bool default_)
{
    json = dpctl_json_get(json, path);
    return (json && json->type == JSON_TRUE ? true
            : json && json->type == JSON_FALSE ? false
            : default_);
}

const struct json_array *
dpctl_json_array(const struct json *json, const char *path)
{
    static const struct json_array empty;

    json = dpctl_json_get(json, path);
    return json && json->type == JSON_ARRAY ? &json->array : &empty;
}

const struct json_array *
dpctl_json_items(const struct json *list)
{
    const struct json *items = (list->type == JSON_OBJECT
                                ? shash_find_data(list->object, "items")
                                : NULL);

    return (items && (items->type == JSON_ARRAY || items->type == JSON_NULL)
            ? dpctl_json_array(list, "items") : NULL);
}

const struct shash *
dpctl_json_object(const struct json *json, const char *path)
{
    static const struct shash empty = SHASH_INITIALIZER(&empty);

    json = dpctl_json_get(json, path);
    return json && json->type == JSON_OBJECT ? json->object : &empty;
}

size_t
dpctl_json_replace_nulls(char *text, size_t len)
{
    static const char null[] = "\\u0000", replacement[] = "\\ufffd";
    const size_t n = strlen(null);
    char *end = text + len;

    while (text < end && (text = memchr(text, '\\', end - text)) != NULL) {
        size_t left = end - text;

        if (left < n && !memcmp(text, null, left)) {
            return left;
        } else if (left >= n && !memcmp(text, null, n)) {
            memcpy(text, replacement, n);
        }
        /* An escaped backslash begins no other escape. */
        text += 2;
    }
    return 0;
}

char *
dpctl_record_key(const char *kind, const char *name)
{
    return xasprintf("%s %s", kind, name);
}

char *
dpctl_record_key_of(const struct json *record)
{
    const char *kind = dpctl_json_str(record, "kind");
    const char *name = dpctl_json_str(record, "name");

    return dpctl_record_key(kind ? kind : "", name ? name : "");
}
