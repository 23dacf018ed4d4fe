/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline.h"

#include <stdarg.h>
#include <string.h>

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

void
adp_flow_set_add_group(struct adp_flow_set *set, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    adp_flow_set_add_group_nocopy(set, xvasprintf(format, args));
    va_end(args);
}

/* Differences. */

/* The part of a flow that makes it unique: table, priority and match. */
static char *
flow_key(const char *flow)
{
    const char *start = strstr(flow, "table=");
    const char *end = strstr(flow, " actions=");

    ovs_assert(start && end > start);
    return xmemdup0(start, end - start);
}

/* "group_id=9" of "group_id=9,type=...". */
static char *
group_key(const char *group)
{
    return xmemdup0(group, strcspn(group, ","));
}

/* Puts into 'added' what is only in 'new', and the keys of what is only in
 * 'old' into 'gone'. */
static void
diff_texts(const struct shash *old, const struct shash *new,
           char *(*key)(const char *), struct svec *added, struct svec *gone)
{
    const struct shash_node *node;

    if (new) {
        SHASH_FOR_EACH (node, new) {
            if (!old || !shash_find(old, node->name)) {
                svec_add(added, node->name);
            }
        }
    }
    if (old) {
        SHASH_FOR_EACH (node, old) {
            if (!new || !shash_find(new, node->name)) {
                svec_add_nocopy(gone, key(node->name));
            }
        }
    }
    svec_sort(added);
    svec_sort(gone);
}

/* Drops from 'gone' what has its key in 'added' as well, and moves the latter
 * to 'replaced' if that isn't NULL. */
static void
drop_replaced(struct svec *added, struct svec *gone, struct svec *replaced,
              char *(*key)(const char *))
{
    struct svec new_keys = SVEC_EMPTY_INITIALIZER;
    struct svec old_keys = *gone;
    struct svec still_added = SVEC_EMPTY_INITIALIZER;

    for (size_t i = 0; i < added->n; i++) {
        char *k = key(added->names[i]);

        if (replaced) {
            svec_add(svec_contains(&old_keys, k) ? replaced : &still_added,
                     added->names[i]);
        }
        svec_add_nocopy(&new_keys, k);
    }
    svec_sort(&new_keys);

    svec_init(gone);
    for (size_t i = 0; i < old_keys.n; i++) {
        if (!svec_contains(&new_keys, old_keys.names[i])) {
            svec_add(gone, old_keys.names[i]);
        }
    }

    if (replaced) {
        svec_destroy(added);
        *added = still_added;
    }
    svec_destroy(&new_keys);
    svec_destroy(&old_keys);
}

void
adp_flow_set_diff(const struct adp_flow_set *old,
                  const struct adp_flow_set *new, struct adp_flow_diff *diff)
{
    svec_init(&diff->add_flows);
    svec_init(&diff->delete_flows);
    svec_init(&diff->add_groups);
    svec_init(&diff->modify_groups);
    svec_init(&diff->delete_groups);

    diff_texts(old ? &old->flows : NULL, &new->flows, flow_key,
               &diff->add_flows, &diff->delete_flows);
    drop_replaced(&diff->add_flows, &diff->delete_flows, NULL, flow_key);

    diff_texts(old ? &old->groups : NULL, &new->groups, group_key,
               &diff->add_groups, &diff->delete_groups);
    drop_replaced(&diff->add_groups, &diff->delete_groups,
                  &diff->modify_groups, group_key);
}

void
adp_flow_diff_uninit(struct adp_flow_diff *diff)
{
    svec_destroy(&diff->add_flows);
    svec_destroy(&diff->delete_flows);
    svec_destroy(&diff->add_groups);
    svec_destroy(&diff->modify_groups);
    svec_destroy(&diff->delete_groups);
}

bool
adp_flow_diff_is_empty(const struct adp_flow_diff *diff)
{
    return (!diff->add_flows.n && !diff->delete_flows.n
            && !diff->add_groups.n && !diff->modify_groups.n
            && !diff->delete_groups.n);
}
