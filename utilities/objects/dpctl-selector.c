/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-selector.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "openvswitch/dynamic-string.h"
#include "svec.h"
#include "util.h"

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define ALNUM LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS
#define DOMAIN LOWER DIGITS "-."

/* Up to 63 letters, digits, "-", "_" and ".", the first and the last of which
 * are letters or digits. */
static bool
is_label_word(const char *s, size_t n)
{
    static const char inner[] = ALNUM "-_.";

    return (n > 0 && n <= 63 && strspn(s, inner) >= n
            && strchr(ALNUM, s[0]) && strchr(ALNUM, s[n - 1]));
}

/* A word, before which a domain may stand: "example.com/tier". */
static bool
is_label_key(const char *s)
{
    const char *slash = strchr(s, '/');
    const char *name = slash ? slash + 1 : s;
    size_t n_domain = slash ? slash - s : 0;

    return (is_label_word(name, strlen(name))
            && (!slash
                || (n_domain > 0 && n_domain <= 253
                    && strspn(s, DOMAIN) == n_domain)));
}

static bool
is_label_value(const char *s)
{
    return !s[0] || is_label_word(s, strlen(s));
}

char *
dpctl_labels_check(const struct json *object, const char *path)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, dpctl_json_object(object, path)) {
        const char *value = json_string(node->data);

        if (!is_label_key(node->name)) {
            return xasprintf("%s: \"%s\" is no label's key", path,
                             node->name);
        } else if (!is_label_value(value)) {
            return xasprintf("%s.%s: \"%s\" is no label's value", path,
                             node->name, value);
        }
    }
    return NULL;
}

static char *
check_expression(const struct json *e)
{
    const char *op = dpctl_json_str(e, "operator");
    const char *key = dpctl_json_str(e, "key");
    const struct json_array *values = dpctl_json_array(e, "values");
    bool wants_values = !strcmp(op, "In") || !strcmp(op, "NotIn");

    if (!is_label_key(key)) {
        return xasprintf("key: \"%s\" is no label's key", key);
    } else if (wants_values != (values->n > 0)) {
        return xasprintf("values: operator %s needs %s", op,
                         wants_values ? "values" : "no values");
    }
    for (size_t i = 0; i < values->n; i++) {
        const char *value = json_string(values->elems[i]);

        if (!is_label_value(value)) {
            return xasprintf("values[%"PRIuSIZE"]: \"%s\" is no label's value",
                             i, value);
        }
    }
    return NULL;
}

char *
dpctl_selector_check(const struct json *selector)
{
    const struct json_array *expressions
        = dpctl_json_array(selector, "matchExpressions");
    char *error = dpctl_labels_check(selector, "matchLabels");

    for (size_t i = 0; i < expressions->n && !error; i++) {
        char *reason = check_expression(expressions->elems[i]);

        if (reason) {
            error = xasprintf("matchExpressions[%"PRIuSIZE"].%s", i, reason);
            free(reason);
        }
    }
    return error;
}

static bool
expression_matches(const struct json *e, const struct shash *labels)
{
    const char *op = dpctl_json_str(e, "operator");
    const struct json *label = shash_find_data(labels,
                                               dpctl_json_str(e, "key"));
    bool listed = false;

    if (!strcmp(op, "Exists")) {
        return label != NULL;
    } else if (!strcmp(op, "DoesNotExist")) {
        return !label;
    }

    const struct json_array *values = dpctl_json_array(e, "values");
    for (size_t i = 0; i < values->n && label && !listed; i++) {
        listed = !strcmp(values->elems[i]->string, json_string(label));
    }
    /* NotIn holds for what doesn't have the label at all. */
    return listed == !strcmp(op, "In");
}

bool
dpctl_selector_matches(const struct json *selector,
                       const struct shash *labels)
{
    const struct shash_node *node;
    SHASH_FOR_EACH (node, dpctl_json_object(selector, "matchLabels")) {
        const struct json *label = shash_find_data(labels, node->name);
        if (!label || strcmp(json_string(label), json_string(node->data))) {
            return false;
        }
    }

    const struct json_array *expressions
        = dpctl_json_array(selector, "matchExpressions");
    for (size_t i = 0; i < expressions->n; i++) {
        if (!expression_matches(expressions->elems[i], labels)) {
            return false;
        }
    }
    return true;
}

/* A value that no label may have is quoted: in a Namespace's labels nobody has
 * looked for such. */
static char *
term_text(const char *key, const char *value)
{
    if (is_label_value(value)) {
        return xasprintf("%s=%s", key, value);
    }

    struct ds ds = DS_EMPTY_INITIALIZER;
    ds_put_format(&ds, "%s=", key);
    json_string_escape(value, &ds);
    return ds_steal_cstr(&ds);
}

static char *
expression_text(const struct json *e)
{
    const char *op = dpctl_json_str(e, "operator");
    const char *key = dpctl_json_str(e, "key");

    if (!strcmp(op, "Exists")) {
        return xstrdup(key);
    } else if (!strcmp(op, "DoesNotExist")) {
        return xasprintf("!%s", key);
    }

    struct svec values = SVEC_EMPTY_INITIALIZER;
    const struct json_array *array = dpctl_json_array(e, "values");
    for (size_t i = 0; i < array->n; i++) {
        svec_add(&values, array->elems[i]->string);
    }
    svec_sort_unique(&values);

    char *text;
    if (values.n == 1 && !strcmp(op, "In")) {
        text = term_text(key, values.names[0]);
    } else {
        char *list = svec_join(&values, ",", "");
        text = xasprintf("%s %s (%s)", key,
                         strcmp(op, "In") ? "notin" : "in", list);
        free(list);
    }
    svec_destroy(&values);
    return text;
}

char *
dpctl_selector_text(const struct json *selector)
{
    struct svec terms = SVEC_EMPTY_INITIALIZER;

    const struct shash_node *node;
    SHASH_FOR_EACH (node, dpctl_json_object(selector, "matchLabels")) {
        svec_add_nocopy(&terms, term_text(node->name,
                                          json_string(node->data)));
    }
    const struct json_array *expressions
        = dpctl_json_array(selector, "matchExpressions");
    for (size_t i = 0; i < expressions->n; i++) {
        svec_add_nocopy(&terms, expression_text(expressions->elems[i]));
    }
    svec_sort_unique(&terms);

    char *text = terms.n ? svec_join(&terms, ",", "") : xstrdup("*");
    svec_destroy(&terms);
    return text;
}

const char *
dpctl_service_account(const struct json *pod)
{
    const char *name = dpctl_json_str(pod, "spec.serviceAccountName");

    return name && name[0] ? name : "default";
}
