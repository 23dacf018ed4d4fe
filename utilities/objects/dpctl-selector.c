/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-selector.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "svec.h"
#include "util.h"

char *
dpctl_selector_check(const struct json *selector)
{
    const struct json_array *expressions
        = dpctl_json_array(selector, "matchExpressions");

    for (size_t i = 0; i < expressions->n; i++) {
        const struct json *e = expressions->elems[i];
        const char *op = dpctl_json_str(e, "operator");
        size_t n_values = dpctl_json_array(e, "values")->n;
        bool wants_values = !strcmp(op, "In") || !strcmp(op, "NotIn");

        if (wants_values != (n_values > 0)) {
            return xasprintf("matchExpressions[%"PRIuSIZE"].values: operator "
                             "%s needs %s", i, op,
                             wants_values ? "values" : "no values");
        }
    }
    return NULL;
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
        text = xasprintf("%s=%s", key, values.names[0]);
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
        svec_add_nocopy(&terms, xasprintf("%s=%s", node->name,
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
