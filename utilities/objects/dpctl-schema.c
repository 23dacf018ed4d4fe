/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-schema.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-similar.h"
#include "openvswitch/dynamic-string.h"
#include "packets.h"
#include "util.h"

struct checker {
    struct ds path;
    char *error;
};

static void check_object(struct checker *, const struct json *,
                         const struct dpctl_field *, bool open);

static void OVS_PRINTF_FORMAT(2, 3)
check_error(struct checker *c, const char *format, ...)
{
    if (!c->error) {
        va_list args;
        va_start(args, format);
        char *text = xvasprintf(format, args);
        va_end(args);
        c->error = xasprintf("%s%s%s", ds_cstr(&c->path),
                             c->path.length ? ": " : "", text);
        free(text);
    }
}

/* A value as it may stand in a message: JSON, shortened. */
static char *
value_text(const struct json *json)
{
    char *text = json_to_string(json, JSSF_SORT);

    if (strlen(text) > 60) {
        strcpy(text + 57, "...");
    }
    return text;
}

static void
check_expected(struct checker *c, const struct json *value,
               const char *expected)
{
    char *text = value_text(value);
    check_error(c, "must be %s, not %s", expected, text);
    free(text);
}

static bool
is_ip(const char *s)
{
    struct in6_addr in6;
    ovs_be32 ip;

    return ip_parse(s, &ip) || inet_pton(AF_INET6, s, &in6) == 1;
}

static bool
is_cidr(const char *s)
{
    char address[INET6_ADDRSTRLEN];
    size_t len = strcspn(s, "/");

    if (!s[len] || len >= sizeof address) {
        return false;
    }
    ovs_strlcpy(address, s, len + 1);

    /* No more digits than make sense: what reads them later wraps. */
    const char *plen = s + len + 1;
    size_t n = strspn(plen, "0123456789");
    return (is_ip(address) && n > 0 && n <= 3 && !plen[n]
            && atoi(plen) <= (strchr(address, ':') ? 128 : 32));
}

/* As an API server has it: "80" is none, so that it isn't taken for 80. */
static bool
is_port_name(const char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    size_t len = strlen(s);

    return (len > 0 && len <= 15 && s[strcspn(s, letters)]
            && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == len
            && s[0] != '-' && s[len - 1] != '-' && !strstr(s, "--"));
}

static bool
is_in_list(const char *list, const char *word)
{
    size_t len = strlen(word);

    while (list && *list) {
        size_t n = strcspn(list, ",");
        if (n == len && !memcmp(list, word, n)) {
            return true;
        }
        list += n + (list[n] == ',');
    }
    return false;
}

static void
check_string(struct checker *c, const struct json *value,
             enum dpctl_type type)
{
    struct eth_addr mac;
    const char *s = value->type == JSON_STRING ? value->string : NULL;

    if (type == DPCTL_STR && !s) {
        check_expected(c, value, "a string");
    } else if (type == DPCTL_IP && (!s || !is_ip(s))) {
        check_expected(c, value, "an IP address");
    } else if (type == DPCTL_CIDR && (!s || !is_cidr(s))) {
        check_expected(c, value, "a CIDR (ADDRESS/LENGTH)");
    } else if (type == DPCTL_MAC && (!s || !eth_addr_from_string(s, &mac))) {
        check_expected(c, value, "a MAC address");
    }
}

static void
check_enum(struct checker *c, const struct json *value,
           const struct dpctl_field *field)
{
    const char *s = value->type == JSON_STRING ? value->string : "";

    if (is_in_list(field->unsupported, s)) {
        check_error(c, "%s is not supported by this version", s);
    } else if (!is_in_list(field->values, s)) {
        char *expected = xasprintf("one of %s%s%s", field->values,
                                   field->unsupported ? "," : "",
                                   field->unsupported
                                   ? field->unsupported : "");
        check_expected(c, value, expected);
        free(expected);
    }
}

static void
check_integer(struct checker *c, const struct json *value,
              const struct dpctl_field *field)
{
    if (value->type != JSON_INTEGER || value->integer < field->min
        || value->integer > field->max) {
        char *expected = xasprintf("an integer from %lld to %lld",
                                   field->min, field->max);
        check_expected(c, value, expected);
        free(expected);
    }
}

static void
check_labels(struct checker *c, const struct json *value)
{
    if (value->type != JSON_OBJECT) {
        check_expected(c, value, "an object");
        return;
    }
    const struct shash_node *node;
    SHASH_FOR_EACH (node, value->object) {
        const struct json *label = node->data;
        if (label->type != JSON_STRING) {
            size_t length = c->path.length;
            ds_put_format(&c->path, ".%s", node->name);
            check_expected(c, label, "a string (quote it)");
            ds_truncate(&c->path, length);
        }
    }
}

/* A string without the blanks around it; anything else as it is. */
static struct json *
trim(const struct json *value)
{
    static const char blanks[] = " \t\n\v\f\r";

    if (value->type != JSON_STRING) {
        return json_clone(value);
    }
    const char *s = json_string(value) + strspn(json_string(value), blanks);
    size_t len = strlen(s);
    while (len && strchr(blanks, s[len - 1])) {
        len--;
    }
    return json_string_create_nocopy(xmemdup0(s, len));
}

static void
check_array(struct checker *c, const struct json *value,
            const struct dpctl_field *field)
{
    if (value->type != JSON_ARRAY) {
        check_expected(c, value, "a list");
        return;
    }
    for (size_t i = 0; i < value->array.n && !c->error; i++) {
        const struct json *element = value->array.elems[i];
        size_t length = c->path.length;

        ds_put_format(&c->path, "[%"PRIuSIZE"]", i);
        if (field->type == DPCTL_OBJS) {
            check_object(c, element, field->sub, field->flags & DPCTL_OPEN);
        } else if (field->flags & DPCTL_PADDED) {
            struct json *trimmed = trim(element);

            check_string(c, trimmed, DPCTL_CIDR);
            json_destroy(trimmed);
        } else {
            check_string(c, element,
                         (field->type == DPCTL_IPS ? DPCTL_IP
                          : field->type == DPCTL_CIDRS ? DPCTL_CIDR
                          : DPCTL_STR));
        }
        ds_truncate(&c->path, length);
    }
}

static bool
asks_for_something(const struct json *value)
{
    switch (value->type) {
    case JSON_NULL:
    case JSON_FALSE:
        return false;
    case JSON_STRING:
        return value->string[0] != '\0';
    case JSON_ARRAY:
        return value->array.n > 0;
    case JSON_TRUE:
    case JSON_OBJECT:
    case JSON_INTEGER:
    case JSON_REAL:
    case JSON_SERIALIZED_OBJECT:
    case JSON_N_TYPES:
    default:
        return true;
    }
}

static void
check_value(struct checker *c, const struct json *value,
            const struct dpctl_field *field)
{
    if (field->flags & DPCTL_UNSUPPORTED) {
        if (asks_for_something(value)) {
            check_error(c, "is not supported by this version");
        }
        return;
    }

    switch (field->type) {
    case DPCTL_ANY:
        break;
    case DPCTL_STR:
    case DPCTL_IP:
    case DPCTL_CIDR:
    case DPCTL_MAC:
        check_string(c, value, field->type);
        break;
    case DPCTL_ENUM:
        check_enum(c, value, field);
        break;
    case DPCTL_BOOL:
        if (value->type != JSON_TRUE && value->type != JSON_FALSE) {
            check_expected(c, value, "true or false");
        }
        break;
    case DPCTL_INT:
        check_integer(c, value, field);
        break;
    case DPCTL_NUM:
        if (value->type != JSON_INTEGER && value->type != JSON_REAL) {
            check_expected(c, value, "a number");
        }
        break;
    case DPCTL_INT_OR_STR:
        if (value->type != JSON_STRING) {
            check_integer(c, value, field);
        } else if (!is_port_name(value->string)) {
            check_expected(c, value, "a number, or a name of at most 15 a-z, "
                           "0-9 and single '-' within, one of them a letter");
        }
        break;
    case DPCTL_STRS:
    case DPCTL_IPS:
    case DPCTL_CIDRS:
    case DPCTL_OBJS:
        check_array(c, value, field);
        break;
    case DPCTL_LABELS:
        check_labels(c, value);
        break;
    case DPCTL_OBJ:
        check_object(c, value, field->sub, field->flags & DPCTL_OPEN);
        break;
    default:
        OVS_NOT_REACHED();
    }
}

/* The one of 'fields' that 'name' may be meant for, or NULL. */
static const char *
similar_field(const char *name, const struct dpctl_field *fields)
{
    const char **names = NULL;
    size_t n = 0, allocated = 0;

    for (const struct dpctl_field *f = fields; f->name; f++) {
        if (n >= allocated) {
            names = x2nrealloc(names, &allocated, sizeof *names);
        }
        names[n++] = f->name;
    }
    const char *similar = dpctl_similar(name, names, n);
    free(names);
    return similar;
}

/* Unknown fields in the order of their names, so that the message doesn't
 * depend on a hash. */
static void
check_unknown(struct checker *c, const struct json *object,
              const struct dpctl_field *fields)
{
    const struct shash_node **nodes = shash_sort(object->object);

    for (size_t i = 0; i < shash_count(object->object); i++) {
        const struct dpctl_field *f = fields;
        while (f->name && strcmp(f->name, nodes[i]->name)) {
            f++;
        }
        if (!f->name) {
            const char *meant = similar_field(nodes[i]->name, fields);
            size_t length = c->path.length;

            ds_put_format(&c->path, "%s%s", length ? "." : "",
                          nodes[i]->name);
            check_error(c, "unknown field%s%s%s",
                        meant ? "; did you mean " : "", meant ? meant : "",
                        meant ? "?" : "");
            ds_truncate(&c->path, length);
            break;
        }
    }
    free(nodes);
}

static void
check_object(struct checker *c, const struct json *object,
             const struct dpctl_field *fields, bool open)
{
    if (object->type != JSON_OBJECT) {
        check_expected(c, object, "an object");
        return;
    }
    if (!open) {
        check_unknown(c, object, fields);
    }
    for (const struct dpctl_field *f = fields; f->name && !c->error; f++) {
        const struct json *value = dpctl_json_member(object, f->name);
        size_t length = c->path.length;

        ds_put_format(&c->path, "%s%s", length ? "." : "", f->name);
        if (value) {
            check_value(c, value, f);
        } else if (f->flags & DPCTL_REQUIRED) {
            check_error(c, "is missing");
        }
        ds_truncate(&c->path, length);
    }
}

char *
dpctl_schema_check(const struct json *object,
                   const struct dpctl_field *fields, bool open)
{
    struct checker c = { .path = DS_EMPTY_INITIALIZER };

    check_object(&c, object, fields, open);
    ds_destroy(&c.path);
    return c.error;
}

/* "node.antrea.io/mac-address", "antrea-dp.io/port". */
static bool
is_antreas(const char *name)
{
    static const char *const domains[] = { "antrea.io", "antrea-dp.io" };
    size_t len = strcspn(name, "/");

    for (size_t i = 0; i < ARRAY_SIZE(domains); i++) {
        size_t n = strlen(domains[i]);

        if (len >= n && !strncmp(name + len - n, domains[i], n)
            && (len == n || name[len - n - 1] == '.')) {
            return true;
        }
    }
    return false;
}

static struct json *
prune_labels(const struct json *labels)
{
    struct json *kept = json_object_create();
    const struct shash_node *node;

    SHASH_FOR_EACH (node, json_object(labels)) {
        if (is_antreas(node->name)) {
            json_object_put(kept, node->name, json_clone(node->data));
        }
    }
    return kept;
}

static struct json *
prune_value(const struct json *value, const struct dpctl_field *field)
{
    if (field->type == DPCTL_OBJ) {
        return dpctl_schema_prune(value, field->sub);
    } else if (field->type == DPCTL_OBJS) {
        struct json *array = json_array_create_empty();

        for (size_t i = 0; i < value->array.n; i++) {
            json_array_add(array, dpctl_schema_prune(value->array.elems[i],
                                                     field->sub));
        }
        return array;
    } else if (field->flags & DPCTL_PADDED) {
        struct json *array = json_array_create_empty();

        for (size_t i = 0; i < value->array.n; i++) {
            json_array_add(array, trim(value->array.elems[i]));
        }
        return array;
    }
    return (field->flags & DPCTL_ANTREAS ? prune_labels(value)
            : json_clone(value));
}

struct json *
dpctl_schema_prune(const struct json *object,
                   const struct dpctl_field *fields)
{
    struct json *kept = json_object_create();

    for (const struct dpctl_field *f = fields; f->name; f++) {
        const struct json *value = dpctl_json_member(object, f->name);

        if (!value || f->type == DPCTL_ANY) {
            continue;
        }
        struct json *pruned = prune_value(value, f);
        if (f->flags & DPCTL_ANTREAS && shash_is_empty(json_object(pruned))) {
            json_destroy(pruned);
        } else {
            json_object_put(kept, f->name, pruned);
        }
    }
    return kept;
}
