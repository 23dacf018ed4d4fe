/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline.h"

#include <stdarg.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-table.h"
#include "pipeline-text.h"
#include "util.h"

/* Options. */

/* Sets '*options' to what 'name' stands for. */
static bool
find_options(const struct adp_pipeline *p, const char *name,
             uint64_t *options)
{
    for (size_t i = 0; i < p->n_options; i++) {
        if (!strcmp(p->options[i].name, name)) {
            *options = UINT64_C(1) << i;
            return true;
        }
    }
    for (size_t i = 0; i < p->n_option_sets; i++) {
        if (!strcmp(p->option_sets[i].name, name)) {
            *options = p->option_sets[i].options;
            return true;
        }
    }
    return false;
}

/* For a name that 'p' doesn't know. */
static char *
unknown_option(const struct adp_pipeline *p, const char *name)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "pipeline %s has no option \"%s\" (there are", p->name,
                  name);
    if (!p->n_options) {
        ds_put_cstr(&s, " none");
    } else {
        ds_put_cstr(&s, ": ");
        adp_pipeline_format_options(p, UINT64_MAX, &s);
        for (size_t i = 0; i < p->n_option_sets; i++) {
            ds_put_format(&s, ", %s", p->option_sets[i].name);
        }
    }
    ds_put_char(&s, ')');
    return ds_steal_cstr(&s);
}

void
adp_pipeline_init_table_map(const struct adp_pipeline *p,
                            struct ofputil_table_map *map)
{
    ofputil_table_map_init(map);
    for (size_t i = 0; i < p->n_tables; i++) {
        ofputil_table_map_put(map, p->tables[i].id, p->tables[i].name);
    }
}

void
adp_pipeline_filled_match(const struct adp_pipeline *p,
                          const struct adp_pipeline_filled *filled,
                          struct minimatch *match)
{
    struct ds text = DS_EMPTY_INITIALIZER;
    enum ofputil_protocol usable;
    struct ofputil_flow_mod fm;
    char *error;

    adp_text_expand(&text, p->vocabulary, filled->match, false);
    ds_put_cstr(&text, " actions=drop");
    error = parse_ofp_flow_mod_str(&fm, ds_cstr(&text), NULL, NULL, OFPFC_ADD,
                                   &usable);
    ovs_assert(!error);
    ds_destroy(&text);
    *match = fm.match;
    free(fm.ofpacts);
}

char *
adp_pipeline_parse_options(const struct adp_pipeline *p, const char *list,
                           uint64_t *options)
{
    char *copy = xstrdup(list);
    char *save_ptr = NULL;
    char *error = NULL;

    *options = 0;
    for (char *name = strtok_r(copy, ", ", &save_ptr); name && !error;
         name = strtok_r(NULL, ", ", &save_ptr)) {
        uint64_t named;

        if (find_options(p, name, &named)) {
            *options |= named;
        } else {
            error = unknown_option(p, name);
        }
    }
    free(copy);
    return error;
}

void
adp_pipeline_format_options(const struct adp_pipeline *p, uint64_t options,
                            struct ds *s)
{
    const char *separator = "";

    for (size_t i = 0; i < p->n_options; i++) {
        if (options & UINT64_C(1) << i) {
            ds_put_format(s, "%s%s", separator, p->options[i].name);
            separator = ", ";
        }
    }
}

/* Flow sets. */

void
adp_flow_set_init(struct adp_flow_set *set)
{
    shash_init(&set->flows);
    shash_init(&set->groups);
    memset(&set->meters, 0, sizeof set->meters);
}

void
adp_flow_set_uninit(struct adp_flow_set *set)
{
    shash_destroy(&set->flows);
    shash_destroy(&set->groups);
}

void
adp_flow_set_swap(struct adp_flow_set *a, struct adp_flow_set *b)
{
    shash_swap(&a->flows, &b->flows);
    shash_swap(&a->groups, &b->groups);

    struct adp_meters meters = a->meters;
    a->meters = b->meters;
    b->meters = meters;
}

static void
add_nocopy(struct shash *shash, char *text)
{
    if (shash_find(shash, text)) {
        free(text);
    } else {
        shash_add_nocopy(shash, text, NULL);
    }
}

void
adp_flow_set_add_nocopy(struct adp_flow_set *set, char *flow)
{
    add_nocopy(&set->flows, flow);
}

void
adp_flow_set_add_group_nocopy(struct adp_flow_set *set, char *group)
{
    add_nocopy(&set->groups, group);
}

void
adp_flow_set_add(struct adp_flow_set *set, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    adp_flow_set_add_nocopy(set, xvasprintf(format, args));
    va_end(args);
}
