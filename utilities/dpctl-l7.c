/* SPDX-License-Identifier: Apache-2.0 */

/* get l7rules: what an engine behind the ports for L7 rules is to enforce. */

#include <config.h>
#include "dpctl-cli.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dpctl-json.h"
#include "dpctl-print.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

bool
dpctl_is_l7_rules(const char *word)
{
    return word && (!strcasecmp(word, "l7rules") || !strcasecmp(word, "l7rule")
                    || !strcasecmp(word, "l7"));
}

static void
put_pattern(struct ds *s, const struct json *patterns, const char *name)
{
    const char *pattern = dpctl_json_str(patterns, name);

    if (pattern) {
        ds_put_format(s, " %s=%s", name, pattern);
    }
}

/* "http method=GET path=/api/\*, tls sni=foo.com". */
static char *
protocols_cell(const struct json *rule)
{
    const struct json_array *protocols = dpctl_json_array(rule, "protocols");
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < protocols->n; i++) {
        const struct json *http = dpctl_json_member(protocols->elems[i],
                                                    "http");
        const struct json *tls = dpctl_json_member(protocols->elems[i], "tls");

        ds_put_format(&s, "%s%s", i ? ", " : "", http ? "http" : "tls");
        put_pattern(&s, http, "method");
        put_pattern(&s, http, "host");
        put_pattern(&s, http, "path");
        put_pattern(&s, tls, "sni");
    }
    return ds_steal_cstr(&s);
}

static void
print_rules(const struct json_array *rules)
{
    static const char *const headings[] = {
        "VLAN", "POLICY", "DIRECTION", "NUMBER", "RULE", "PROTOCOLS"
    };
    struct dpctl_table t;

    dpctl_table_init(&t, headings, ARRAY_SIZE(headings));
    t.numbers = 1 | 1 << 3;
    for (size_t i = 0; i < rules->n; i++) {
        const struct json *rule = rules->elems[i];

        dpctl_table_add(&t, xasprintf("%lld", dpctl_json_int(rule, "vlan",
                                                             0)));
        dpctl_table_add(&t, nullable_xstrdup(dpctl_json_str(rule, "policy")));
        dpctl_table_add(&t, nullable_xstrdup(dpctl_json_str(rule,
                                                            "direction")));
        dpctl_table_add(&t, xasprintf("%lld", dpctl_json_int(rule, "number",
                                                             0)));
        dpctl_table_add(&t, nullable_xstrdup(dpctl_json_str(rule, "rule")));
        dpctl_table_add(&t, protocols_cell(rule));
    }
    dpctl_table_print(&t);
    dpctl_table_destroy(&t);
}

static void
print_names(const struct json_array *rules)
{
    for (size_t i = 0; i < rules->n; i++) {
        printf("%lld\n", dpctl_json_int(rules->elems[i], "vlan", 0));
    }
}

void
dpctl_get_l7_rules(const struct dpctl_options *o)
{
    struct json *result = dpctl_call_once(o, "l7_rules",
                                          json_object_create());
    const struct json_array *rules = dpctl_json_array(result, "rules");
    const struct json_array *missing = dpctl_json_array(result, "missing");

    if (o->output == DPCTL_OUTPUT_TABLE) {
        print_rules(rules);
    } else if (o->output == DPCTL_OUTPUT_NAME) {
        print_names(rules);
    } else {
        dpctl_print_json(o, result);
    }
    for (size_t i = 0; i < missing->n && rules->n; i++) {
        dpctl_warn("the bridge has no port \"%s\": what L7 rules allow is "
                   "dropped", json_string(missing->elems[i]));
    }
    json_destroy(result);
}
