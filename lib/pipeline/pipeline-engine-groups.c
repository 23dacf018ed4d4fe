/* SPDX-License-Identifier: Apache-2.0 */

/* Pods, the groups that name them, and groups of addresses.
 *
 * A member that joins a group or leaves it makes a clause come or go for each
 * rule that uses the group, and leaves all others alone. */

#include <config.h>
#include "pipeline-engine-private.h"

#include <stdlib.h>
#include <string.h>

#include "hmapx.h"
#include "model-pause.h"
#include "model-sort.h"
#include "openvswitch/match.h"
#include "pipeline-rule-match.h"
#include "util.h"

/* Groups. */

struct engine_group *
adp_engine_use_group(struct adp_engine *e, enum adp_kind kind,
                     const char *name)
{
    struct engine_group *group = shash_find_data(&e->groups[kind], name);

    if (!group) {
        group = xzalloc(sizeof *group);
        group->kind = kind;
        group->name = xstrdup(name);
        adp_engine_set_init(&group->users[0]);
        adp_engine_set_init(&group->users[1]);
        adp_engine_set_init(&group->applied);
        shash_add(&e->groups[kind], name, group);
    }
    return group;
}

static void
free_group(struct adp_engine *e, struct engine_group *group)
{
    for (size_t i = 0; i < ARRAY_SIZE(group->isolation); i++) {
        if (group->isolation[i]) {
            adp_engine_source_kill(e, group->isolation[i]);
        }
    }
    adp_engine_unmark(&e->dirty_groups, &group->dirty);
    adp_engine_set_destroy(&group->users[0]);
    adp_engine_set_destroy(&group->users[1]);
    adp_engine_set_destroy(&group->applied);
    adp_record_unref(CONST_CAST(struct adp_record *, group->record));
    free(group->pods);
    free(group->name);
    free(group);
}

void
adp_engine_check_group(struct adp_engine *e, struct engine_group *group)
{
    if (!group->record && adp_engine_set_is_empty(&group->users[0])
        && adp_engine_set_is_empty(&group->users[1])
        && adp_engine_set_is_empty(&group->applied)
        && !group->n_isolating[0] && !group->n_isolating[1]) {
        ovs_assert(!group->n_pods);
        shash_find_and_delete(&e->groups[group->kind], group->name);
        free_group(e, group);
    }
}

/* Pods. */

static struct engine_pod *
use_pod(struct adp_engine *e, const char *name)
{
    struct engine_pod *pod = shash_find_data(&e->pods, name);

    if (!pod) {
        pod = xzalloc(sizeof *pod);
        adp_engine_source_init(e, &pod->source);
        pod->name = xstrdup(name);
        adp_engine_set_init(&pod->groups);
        shash_add(&e->pods, name, pod);
    }
    return pod;
}

static void
free_pod(struct adp_engine *e, struct engine_pod *pod)
{
    adp_engine_unmark(&e->dirty_pods, &pod->dirty);
    adp_engine_set_destroy(&pod->groups);
    if (pod->pod) {
        adp_record_unref(CONST_CAST(struct adp_record *, &pod->pod->up));
    }
    free(pod->name);
    adp_engine_source_kill(e, &pod->source);
}

static void
check_pod(struct adp_engine *e, struct engine_pod *pod)
{
    if (!pod->pod && adp_engine_set_is_empty(&pod->groups)) {
        shash_find_and_delete(&e->pods, pod->name);
        free_pod(e, pod);
    }
}

/* What of a Pod changes for the rules that apply to it. */
struct target_change {
    bool presence;              /* Is it there? */
    bool targets[2];            /* Its port (ingress), its IPs (egress); and
                                 * its port, if it has answers read. */
};

static const struct target_change whole_target = {
    .presence = true, .targets = { true, true }
};

static void
begin_amending(struct adp_engine *e, struct engine_rule *rule)
{
    adp_desired_amend(e->desired, &rule->source.contributor);
}

static void
end_amending(struct adp_engine *e, struct engine_rule *rule)
{
    adp_desired_end(e->desired, &rule->source.contributor);
}

/* Tells the rules of one direction that use 'group' that 'pod', as it is now,
 * is one of it or isn't any more. */
static void
change_target_of_rules(struct adp_engine *e, struct engine_group *group,
                       const struct engine_pod *pod, bool ingress, bool add)
{
    const struct engine_member *user;

    ENGINE_SET_FOR_EACH (user, &group->users[ingress]) {
        struct engine_rule *rule = user->data;

        if (adp_engine_rule_is_current(e, rule)) {
            begin_amending(e, rule);
            adp_engine_rule_change_target(e, rule, pod, add);
            end_amending(e, rule);
        }
        adp_pause();
    }
}

/* The rules that use 'group' come into force, or cease to be. */
static void
mark_users(struct adp_engine *e, const struct engine_group *group)
{
    const struct engine_member *user;

    for (size_t i = 0; i < ARRAY_SIZE(group->users); i++) {
        ENGINE_SET_FOR_EACH (user, &group->users[i]) {
            struct engine_rule *rule = user->data;

            adp_engine_mark(&e->dirty_rules, &rule->dirty);
            adp_pause();
        }
    }
}

/* Tells who uses 'group' that 'pod', as it is now, is one of it or isn't any
 * more, as far as 'what' goes. */
static void
change_target(struct adp_engine *e, struct engine_group *group,
              const struct engine_pod *pod, const struct target_change *what,
              bool add)
{
    if (!pod->pod) {
        return;
    }
    for (int ingress = 0; ingress < 2; ingress++) {
        if (what->targets[ingress]) {
            change_target_of_rules(e, group, pod, ingress, add);
            if (group->n_isolating[ingress]) {
                adp_engine_mark(&e->dirty_groups, &group->dirty);
            }
        }
    }

    /* A rule is in force if it applies to a Pod of this Node. */
    if (what->presence) {
        size_t before = group->n_here;

        group->n_here += add ? 1 : -1;
        if (!before || !group->n_here) {
            mark_users(e, group);
        }
    }
}

static void
change_targets(struct adp_engine *e, const struct engine_pod *pod,
               const struct target_change *what, bool add)
{
    const struct engine_member *named_by;

    if (what->targets[0] || what->targets[1]) {
        ENGINE_SET_FOR_EACH (named_by, &pod->groups) {
            change_target(e, named_by->data, pod, what, add);
        }
    }
}

/* The Pod joins 'group', or leaves it: it asks for what applies to the
 * group. */
static void
change_applied(struct adp_engine *e, const struct engine_group *group,
               struct engine_pod *pod)
{
    if (!adp_engine_set_is_empty(&group->applied)) {
        adp_engine_mark(&e->dirty_pods, &pod->dirty);
    }
}

static bool
same_ips(const struct adp_ips *a, const struct adp_ips *b)
{
    return a->n == b->n && !memcmp(a->ips, b->ips, a->n * sizeof *a->ips);
}

/* The difference between 'node' and what it is to be. */
static struct target_change
compare_target(const struct adp_engine *e, const struct engine_pod *node,
               const struct adp_pod *pod, bool has_port, ofp_port_t port)
{
    if (!node->pod || !pod) {
        return whole_target;
    }

    bool port_differs = (node->has_port != has_port
                         || (has_port && node->port != port));
    return (struct target_change) {
        .targets = {
            [false] = (!same_ips(&node->pod->ips, &pod->ips)
                       || (port_differs
                           && !shash_is_empty(&e->groups[ADP_KIND_FQDN]))),
            [true] = port_differs,
        },
    };
}

void
adp_engine_set_pod(struct adp_engine *e, const char *name,
                   const struct adp_pod *new)
{
    struct engine_pod *pod = new ? use_pod(e, name) : shash_find_data(&e->pods,
                                                                     name);
    ofp_port_t port = OFPP_NONE;
    bool has_port = new && adp_gen_port(&e->g, new->port, &port);

    if (!pod) {
        return;
    }

    struct target_change what = compare_target(e, pod, new, has_port,
                                                 port);
    const struct adp_pod *old = pod->pod;
    change_targets(e, pod, &what, false);
    pod->pod = new;
    pod->has_port = has_port;
    pod->port = port;
    change_targets(e, pod, &what, true);
    if (new) {
        adp_record_ref(&new->up);
    }
    if (old) {
        adp_record_unref(CONST_CAST(struct adp_record *, &old->up));
    }
    adp_engine_mark(&e->dirty_pods, &pod->dirty);
    check_pod(e, pod);
}

void
adp_engine_check_ports(struct adp_engine *e)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &e->pods) {
        struct engine_pod *pod = node->data;

        if (pod->pod) {
            ofp_port_t port;
            bool has_port = adp_gen_port(&e->g, pod->pod->port, &port);

            if (has_port != pod->has_port
                || (has_port && port != pod->port)) {
                adp_engine_set_pod(e, pod->name, pod->pod);
            }
        }
    }
}

/* Members of groups of Pods. */

static void
set_members(struct adp_engine *e, struct engine_group *group,
            const struct adp_names *names)
{
    struct engine_pod **old = group->pods;
    size_t n_old = group->n_pods;
    struct hmapx stay = HMAPX_INITIALIZER(&stay);

    group->n_pods = names ? names->n : 0;
    group->pods = xmalloc((group->n_pods + 1) * sizeof *group->pods);
    for (size_t i = 0; i < group->n_pods; i++) {
        struct engine_pod *pod = use_pod(e, names->names[i]);

        group->pods[i] = pod;
        hmapx_add(&stay, pod);
        if (adp_engine_set_add(&pod->groups, group)) {
            change_applied(e, group, pod);
            change_target(e, group, pod, &whole_target, true);
        }
        adp_pause();
    }
    for (size_t i = 0; i < n_old; i++) {
        if (!hmapx_contains(&stay, old[i])) {
            adp_engine_set_remove(&old[i]->groups, group);
            change_applied(e, group, old[i]);
            change_target(e, group, old[i], &whole_target, false);
            check_pod(e, old[i]);
        }
        adp_pause();
    }
    hmapx_destroy(&stay);
    free(old);
}

/* Members of groups of addresses. */

struct cidrs {
    struct adp_cidr *cidrs;
    size_t n;
};

static void
change_peers_of_rule(struct adp_engine *e, struct engine_rule *rule,
                     const struct cidrs *cidrs, bool add)
{
    for (size_t i = 0; i < cidrs->n; i++) {
        adp_engine_rule_change_peer(e, rule, &cidrs->cidrs[i], add);
        adp_pause();
    }
}

/* Tells those who use 'group' which addresses have gone and come. */
static void
change_peers(struct adp_engine *e, const struct engine_group *group,
             const struct cidrs *gone, const struct cidrs *come)
{
    const struct engine_member *user;

    if (!gone->n && !come->n) {
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(group->users); i++) {
        ENGINE_SET_FOR_EACH (user, &group->users[i]) {
            struct engine_rule *rule = user->data;

            if (adp_engine_rule_is_current(e, rule)) {
                begin_amending(e, rule);
                change_peers_of_rule(e, rule, gone, false);
                change_peers_of_rule(e, rule, come, true);
                end_amending(e, rule);
            }
            adp_pause();
        }
    }
}

/* A sorted copy of addresses 'first' to 'end' of the group. */
static struct cidrs
sorted_addresses(const struct adp_address_group *group, size_t first,
                 size_t end)
{
    size_t n = end - first;

    return (struct cidrs) {
        .cidrs = adp_sorted_cidrs(n ? &group->addresses[first] : NULL, n),
        .n = n,
    };
}

static bool
same_cidr(const struct adp_cidr *a, const struct adp_cidr *b)
{
    return !adp_cidr_compare(a, b);
}

/* Leaves out what both have. */
static void
subtract_each_other(struct cidrs *a, struct cidrs *b)
{
    size_t i = 0, j = 0, n_a = 0, n_b = 0;

    while (i < a->n || j < b->n) {
        int cmp = (i >= a->n ? 1 : j >= b->n ? -1
                   : adp_cidr_compare(&a->cidrs[i], &b->cidrs[j]));

        if (cmp < 0) {
            a->cidrs[n_a++] = a->cidrs[i++];
        } else if (cmp > 0) {
            b->cidrs[n_b++] = b->cidrs[j++];
        } else {
            i++;
            j++;
        }
    }
    a->n = n_a;
    b->n = n_b;
}

/* What differs between two lists, which mostly is little: the ends that they
 * have in common are left out. */
static void
change_addresses(struct adp_engine *e, const struct engine_group *group,
                 const struct adp_address_group *old,
                 const struct adp_address_group *new)
{
    static const struct adp_address_group none;
    const struct adp_address_group *a = old ? old : &none;
    const struct adp_address_group *b = new ? new : &none;
    size_t first = 0, a_end = a->n_addresses, b_end = b->n_addresses;

    while (first < MIN(a_end, b_end)
           && same_cidr(&a->addresses[first], &b->addresses[first])) {
        first++;
    }
    while (MIN(a_end, b_end) > first
           && same_cidr(&a->addresses[a_end - 1], &b->addresses[b_end - 1])) {
        a_end--;
        b_end--;
    }

    struct cidrs gone = sorted_addresses(a, first, a_end);
    struct cidrs come = sorted_addresses(b, first, b_end);
    subtract_each_other(&gone, &come);
    change_peers(e, group, &gone, &come);
    free(gone.cidrs);
    free(come.cidrs);
}

void
adp_engine_set_group(struct adp_engine *e, enum adp_kind kind,
                     const char *name, const struct adp_record *new)
{
    struct engine_group *group = (new ? adp_engine_use_group(e, kind, name)
                                  : shash_find_data(&e->groups[kind], name));
    if (!group) {
        return;
    }

    const struct adp_record *old = group->record;
    group->record = new ? adp_record_ref(new) : NULL;
    if (kind != ADP_KIND_APPLIED_TO_GROUP) {
        change_addresses(
            e, group,
            old ? CONTAINER_OF(old, struct adp_address_group, up) : NULL,
            new ? CONTAINER_OF(new, struct adp_address_group, up) : NULL);
    } else {
        set_members(e, group,
                    (new ? &CONTAINER_OF(new, struct adp_applied_to_group,
                                         up)->pods : NULL));
    }
    adp_record_unref(CONST_CAST(struct adp_record *, old));
    adp_engine_check_group(e, group);
}

/* FQDNs. */

void
adp_engine_get_fqdns(const struct adp_engine *e, struct sset *names)
{
    const struct shash_node *node;

    SHASH_FOR_EACH (node, &e->groups[ADP_KIND_FQDN]) {
        const struct engine_group *group = node->data;

        if (!adp_engine_set_is_empty(&group->users[false])) {
            sset_add(names, group->name);
        }
    }
}

uint64_t
adp_engine_fqdns_seq(const struct adp_engine *e)
{
    return e->fqdns_seq;
}

/* Isolation. */

static void
isolate(struct adp_engine *e, struct adp_contributor *c, bool ingress,
        const struct match *match)
{
    const struct adp_policy_style *style = e->parts->style;
    const struct adp_flow_key key = {
        .table_id = e->pipeline->tables[style->isolation_tables[ingress]].id,
        .priority = style->isolation_priority,
        .cookie = adp_gen_cookie(&e->g, style->isolation_cookie, 0),
        .match = match,
    };

    adp_desired_add_flow(e->desired, c, &key, NULL, 0);
}

static void
isolate_pod(struct adp_engine *e, struct adp_contributor *c, bool ingress,
            const struct engine_pod *pod)
{
    struct match match;

    if (!ingress) {
        for (size_t i = 0; i < pod->pod->ips.n; i++) {
            const struct adp_cidr host
                = adp_cidr_host(&pod->pod->ips.ips[i]);

            if (adp_gen_has_family(&e->g, adp_cidr_family(&host))) {
                adp_rule_match_source(&host, &match);
                isolate(e, c, ingress, &match);
            }
        }
    } else if (pod->has_port) {
        adp_rule_match_port(e->parts->style, pod->port, &match);
        isolate(e, c, ingress, &match);
    }
}

static void
contribute_isolation(struct adp_engine *e, struct engine_group *group,
                     bool ingress)
{
    if (!group->isolation[ingress]) {
        if (!group->n_isolating[ingress]) {
            return;
        }
        group->isolation[ingress] = xzalloc(sizeof *group->isolation[0]);
        adp_engine_source_init(e, group->isolation[ingress]);
    }

    struct adp_contributor *c = &group->isolation[ingress]->contributor;
    bool plain = group->n_isolating[ingress] > group->n_logging[ingress];
    bool logs = group->n_logging[ingress] > 0;
    adp_engine_begin(e, group->isolation[ingress]);
    for (size_t i = 0; (plain || logs) && i < group->n_pods; i++) {
        const struct engine_pod *pod = group->pods[i];

        if (pod->pod && plain) {
            isolate_pod(e, c, ingress, pod);
        }
        if (pod->pod && logs) {
            adp_policy_isolate_and_log(&e->g, e->parts->style, pod->pod,
                                       ingress);
        }
    }
    adp_engine_end(e);
}

void
adp_engine_finish_groups(struct adp_engine *e)
{
    struct engine_group *group;
    struct engine_pod *pod;

    ENGINE_MARKS_FOR_EACH (group, dirty, &e->dirty_groups) {
        contribute_isolation(e, group, false);
        contribute_isolation(e, group, true);
        adp_pause();
    }
    adp_engine_marks_clear(&e->dirty_groups);

    ENGINE_MARKS_FOR_EACH (pod, dirty, &e->dirty_pods) {
        adp_engine_begin(e, &pod->source);
        if (pod->pod && e->parts->pod) {
            e->parts->pod(&e->g, &pod->pod->up);
        }
        if (pod->pod) {
            adp_engine_contribute_to_pod(e, pod);
        }
        adp_engine_end(e);
        adp_pause();
    }
    adp_engine_marks_clear(&e->dirty_pods);
}

void
adp_engine_clear_groups(struct adp_engine *e)
{
    struct shash_node *node;

    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        SHASH_FOR_EACH (node, &e->groups[kind]) {
            free_group(e, node->data);
            adp_pause();
        }
        shash_clear(&e->groups[kind]);
    }
    SHASH_FOR_EACH (node, &e->pods) {
        free_pod(e, node->data);
    }
    shash_clear(&e->pods);
}
