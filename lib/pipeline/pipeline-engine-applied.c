/* SPDX-License-Identifier: Apache-2.0 */

/* Egresses and TrafficControls.
 *
 * What one of them asks for a Pod is part of what the Pod contributes: a Pod
 * whose groups, or what applies to them, change contributes anew. */

#include <config.h>
#include "pipeline-engine-private.h"

#include <stdlib.h>
#include <string.h>

#include "model-pause.h"
#include "model-sort.h"
#include "util.h"

static void
mark_pods(struct adp_engine *e, const struct engine_group *group)
{
    for (size_t i = 0; i < group->n_pods; i++) {
        adp_engine_mark(&e->dirty_pods, &group->pods[i]->dirty);
    }
}

static void
mark_all_pods(struct adp_engine *e, const struct engine_applied *applied)
{
    for (size_t i = 0; i < applied->n_groups; i++) {
        mark_pods(e, applied->groups[i]);
    }
}

static void
mark_applied(struct adp_engine *e, struct engine_applied *applied)
{
    adp_engine_mark(&e->dirty_applied, &applied->dirty);
    mark_all_pods(e, applied);
}

/* IDs.  That of an egress IP is released with the last Egress that has it, its
 * mark and its meter with the last one by which it is on this Node.  What an
 * ID stands for is the last of them by name, and what the meter lets pass is
 * up to the first, whoever came last: when one comes or goes, all ask
 * again. */

struct egress_ip {
    struct engine_set users;    /* Contains "struct engine_applied"s. */
    size_t n_local;             /* How many of these say so. */
    uint32_t id, mark;
};

static void
mark_users_of_ip(struct adp_engine *e, const struct egress_ip *ip)
{
    const struct engine_member *user;

    e->meters.limits[ip->mark] = (struct adp_bandwidth) { .rate = 0 };

    ENGINE_SET_FOR_EACH (user, &ip->users) {
        struct engine_applied *applied = user->data;

        adp_engine_mark(&e->dirty_applied, &applied->dirty);
    }
}

static struct shash_node *
find_ip(const struct adp_engine *e, const struct engine_applied *applied,
        char *key, size_t size)
{
    const struct adp_egress *egress = CONTAINER_OF(applied->up.record,
                                                   struct adp_egress, up);

    ovs_strlcpy(key, adp_ip_text(&egress->ip).s, size);
    return shash_find(&e->egress_ips, key);
}

static void
use_ip(struct adp_engine *e, struct engine_applied *applied)
{
    char key[INET6_ADDRSTRLEN];
    struct shash_node *node = find_ip(e, applied, key, sizeof key);
    struct egress_ip *ip = node ? node->data : xzalloc(sizeof *ip);

    if (!node) {
        adp_engine_set_init(&ip->users);
        shash_add(&e->egress_ips, key, ip);
    }
    adp_engine_set_add(&ip->users, applied);
    ip->n_local += applied->is_local;
    mark_users_of_ip(e, ip);
}

static void
drop_ip(struct adp_engine *e, const struct engine_applied *applied)
{
    char key[INET6_ADDRSTRLEN];
    struct shash_node *node = find_ip(e, applied, key, sizeof key);
    struct egress_ip *ip = node->data;

    ip->n_local -= applied->is_local;
    adp_engine_set_remove(&ip->users, applied);
    mark_users_of_ip(e, ip);
    if (!ip->n_local) {
        adp_ids_release(&e->ids->marks, ip->mark);
        ip->mark = 0;
    }
    if (adp_engine_set_is_empty(&ip->users)) {
        adp_ids_release(&e->ids->applied, ip->id);
        shash_find_and_delete(&e->egress_ips, key);
        adp_engine_set_destroy(&ip->users);
        free(ip);
    }
}

static void
note_ip(struct adp_engine *e, const struct engine_applied *applied)
{
    char key[INET6_ADDRSTRLEN];
    struct egress_ip *ip = find_ip(e, applied, key, sizeof key)->data;

    ip->id = applied->up.id;
    if (applied->is_local) {
        ip->mark = applied->up.mark;
    }
}

/* Nodes. */

static struct engine_applied *
add_applied(struct adp_engine *e, const struct adp_record *record)
{
    const struct adp_names *names = adp_record_applied_to(record);
    struct engine_applied *applied = xzalloc(sizeof *applied);

    adp_engine_source_init(e, &applied->source);
    applied->up.record = adp_record_ref(record);
    applied->n_groups = names->n;
    applied->groups = xmalloc((names->n + 1) * sizeof *applied->groups);
    for (size_t i = 0; i < names->n; i++) {
        applied->groups[i] = adp_engine_use_group(
            e, ADP_KIND_APPLIED_TO_GROUP, names->names[i]);
        adp_engine_set_add(&applied->groups[i]->applied, applied);
    }
    if (record->kind == ADP_KIND_EGRESS) {
        applied->is_local = adp_egress_is_local(
            &e->g, CONTAINER_OF(record, struct adp_egress, up));
        use_ip(e, applied);
    }
    mark_applied(e, applied);
    return applied;
}

static void
remove_applied(struct adp_engine *e, struct engine_applied *applied)
{
    for (size_t i = 0; i < applied->n_groups; i++) {
        mark_pods(e, applied->groups[i]);
        adp_engine_set_remove(&applied->groups[i]->applied, applied);
        adp_engine_check_group(e, applied->groups[i]);
    }
    if (applied->up.record->kind == ADP_KIND_EGRESS) {
        drop_ip(e, applied);
    } else {
        adp_ids_release(&e->ids->applied, applied->up.id);
    }
    adp_engine_unmark(&e->dirty_applied, &applied->dirty);
    adp_record_unref(CONST_CAST(struct adp_record *, applied->up.record));
    free(applied->groups);
    adp_engine_source_kill(e, &applied->source);
}

void
adp_engine_set_applied(struct adp_engine *e, enum adp_kind kind,
                       const char *name, const struct adp_record *new)
{
    struct shash *all = &e->applied[kind];
    struct engine_applied *old = shash_find_and_delete(all, name);

    /* In this order: what both use stays. */
    if (new && !e->g.error) {
        shash_add(all, name, add_applied(e, new));
    }
    if (old) {
        remove_applied(e, old);
    }
}

void
adp_engine_check_applied_ports(struct adp_engine *e)
{
    const struct shash *all = &e->applied[ADP_KIND_TRAFFIC_CONTROL];
    const struct shash_node *node;

    SHASH_FOR_EACH (node, all) {
        struct engine_applied *applied = node->data;
        const char *names[ADP_RECORD_MAX_PORTS];
        size_t n = adp_record_ports(applied->up.record, names);

        for (size_t i = 0; i < n; i++) {
            if (adp_engine_port_or_none(e, names[i]) != applied->ports[i]) {
                mark_applied(e, applied);
            }
        }
    }
}

/* What they contribute. */

static int
compare_applied(const void *a_, const void *b_)
{
    const struct adp_record *a
        = (*(const struct engine_applied *const *) a_)->up.record;
    const struct adp_record *b
        = (*(const struct engine_applied *const *) b_)->up.record;

    return (a->kind != b->kind ? (a->kind < b->kind ? -1 : 1)
            : strcmp(a->name, b->name));
}

static void
assign_applied(struct adp_engine *e, struct engine_applied *applied)
{
    const char *names[ADP_RECORD_MAX_PORTS];
    size_t n = adp_record_ports(applied->up.record, names);

    for (size_t i = 0; i < n; i++) {
        applied->ports[i] = adp_engine_port_or_none(e, names[i]);
    }
    adp_applied_assign(&e->g, &applied->up);
    if (applied->up.record->kind == ADP_KIND_EGRESS) {
        note_ip(e, applied);
    }
}

static void
contribute_applied(struct adp_engine *e, struct engine_applied *applied)
{
    bool was_limited = applied->up.limited;

    adp_applied_find_limit(&e->g, &applied->up);
    if (applied->up.limited != was_limited) {
        mark_all_pods(e, applied);
    }
    adp_engine_begin(e, &applied->source);
    if (!e->g.error && e->parts->applied) {
        e->parts->applied(&e->g, &applied->up);
    }
    adp_engine_end(e);
}

/* Those that have marks first: others may get what these don't take again. */
static void
assign_all(struct adp_engine *e, struct engine_applied *const all[], size_t n)
{
    bool *has_mark = xmalloc((n + 1) * sizeof *has_mark);

    for (size_t i = 0; i < n; i++) {
        has_mark[i] = adp_applied_has_mark(&e->g, &all[i]->up);
        adp_pause();
    }
    for (int first = 1; first >= 0; first--) {
        for (size_t i = 0; i < n; i++) {
            if (has_mark[i] == first) {
                assign_applied(e, all[i]);
                adp_pause();
            }
        }
    }
    free(has_mark);
}

/* In the order in which they get IDs. */
void
adp_engine_finish_applied(struct adp_engine *e)
{
    struct engine_applied **dirty
        = xmalloc((e->dirty_applied.n + 1) * sizeof *dirty);
    struct engine_applied *applied;
    size_t n = 0;

    ENGINE_MARKS_FOR_EACH (applied, dirty, &e->dirty_applied) {
        dirty[n++] = applied;
    }
    adp_sort_pointers(dirty, n, compare_applied);
    assign_all(e, dirty, n);
    for (size_t i = 0; i < n; i++) {
        contribute_applied(e, dirty[i]);
        adp_pause();
    }
    adp_engine_marks_clear(&e->dirty_applied);
    free(dirty);
}

/* The first by name of those of 'kind' for 'family' that apply to the Pod, or
 * NULL. */
static const struct engine_applied *
find_for_pod(const struct engine_pod *pod, enum adp_kind kind,
             enum adp_family family)
{
    const struct engine_member *group_member, *member;
    const struct engine_applied *first = NULL;

    ENGINE_SET_FOR_EACH (group_member, &pod->groups) {
        const struct engine_group *group = group_member->data;

        ENGINE_SET_FOR_EACH (member, &group->applied) {
            const struct engine_applied *applied = member->data;
            const struct adp_record *record = applied->up.record;

            if (record->kind == kind
                && adp_applied_family(record) == family
                && (!first
                    || strcmp(record->name, first->up.record->name) < 0)) {
                first = applied;
            }
        }
    }
    return first;
}

static void
contribute_kind_to_pod(struct adp_engine *e, const struct engine_pod *pod,
                       enum adp_kind kind)
{
    ADP_FOR_EACH_FAMILY (family) {
        const struct engine_applied *applied = find_for_pod(pod, kind,
                                                            family);

        if (applied && !e->g.error) {
            e->parts->applied_to_pod(&e->g, &applied->up, pod->pod);
        }
    }
}

void
adp_engine_contribute_to_pod(struct adp_engine *e,
                             const struct engine_pod *pod)
{
    for (size_t i = 0; e->parts->applied_to_pod && i < ADP_N_APPLIED_KINDS;
         i++) {
        contribute_kind_to_pod(e, pod, adp_applied_kinds[i]);
    }
}

void
adp_engine_clear_applied(struct adp_engine *e)
{
    for (size_t i = 0; i < ADP_N_APPLIED_KINDS; i++) {
        struct shash *all = &e->applied[adp_applied_kinds[i]];
        struct shash_node *node;

        SHASH_FOR_EACH (node, all) {
            remove_applied(e, node->data);
            adp_pause();
        }
        shash_clear(all);
    }
    memset(&e->meters, 0, sizeof e->meters);
}
