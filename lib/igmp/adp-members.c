/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-members.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "heap.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "util.h"

struct group {
    struct hmap_node node;      /* In 'groups', by 'ip'. */
    struct ovs_list changed;    /* In 'changed', or alone. */
    ovs_be32 ip;
    bool told;                  /* Somebody may have heard of it. */
    struct ovs_list members;    /* Contains "struct membership"s. */
    size_t n[ADP_N_MEMBER_KINDS];
};

/* Who is a member of something. */
struct holder {
    struct hmap_node node;      /* In 'holders', by 'kind' and 'name'. */
    enum adp_member_kind kind;
    char *name;
    struct ovs_list members;    /* Contains "struct membership"s, */
    size_t n_groups;            /* so many. */
};

struct membership {
    struct hmap_node node;      /* In 'members', by 'group' and 'holder'. */
    struct ovs_list in_group, of_holder;
    struct heap_node by_expiry;
    struct group *group;
    struct holder *holder;
    long long int since, expires;
    bool told;                  /* As one of its group's. */
};

struct adp_members {
    struct hmap groups;
    struct hmap holders;
    struct hmap members;
    struct heap expiries;       /* The first one to expire on top. */
    struct ovs_list changed;    /* Contains "struct group"s. */
    size_t n[ADP_N_MEMBER_KINDS];
    size_t n_groups;            /* With members. */
};

struct adp_members *
adp_members_create(void)
{
    struct adp_members *s = xzalloc(sizeof *s);

    hmap_init(&s->groups);
    hmap_init(&s->holders);
    hmap_init(&s->members);
    heap_init(&s->expiries);
    ovs_list_init(&s->changed);
    return s;
}

/* Groups. */

static struct group *
find_group(const struct adp_members *s, ovs_be32 ip)
{
    struct group *group;

    HMAP_FOR_EACH_WITH_HASH (group, node, hash_int((OVS_FORCE uint32_t) ip, 0),
                             &s->groups) {
        if (group->ip == ip) {
            return group;
        }
    }
    return NULL;
}

static bool
is_empty(const struct group *group)
{
    return ovs_list_is_empty(&group->members);
}

static void
change_group(struct adp_members *s, struct group *group)
{
    if (ovs_list_is_empty(&group->changed)) {
        ovs_list_push_back(&s->changed, &group->changed);
    }
}

static struct group *
use_group(struct adp_members *s, ovs_be32 ip)
{
    struct group *group = find_group(s, ip);

    if (!group) {
        group = xzalloc(sizeof *group);
        group->ip = ip;
        ovs_list_init(&group->changed);
        ovs_list_init(&group->members);
        hmap_insert(&s->groups, &group->node,
                    hash_int((OVS_FORCE uint32_t) ip, 0));
    }
    return group;
}

static void
free_group(struct adp_members *s, struct group *group)
{
    hmap_remove(&s->groups, &group->node);
    free(group);
}

/* Holders. */

static uint32_t
holder_hash(enum adp_member_kind kind, const char *name)
{
    return hash_string(name, kind);
}

static struct holder *
find_holder(const struct adp_members *s, enum adp_member_kind kind,
            const char *name)
{
    struct holder *holder;

    HMAP_FOR_EACH_WITH_HASH (holder, node, holder_hash(kind, name),
                             &s->holders) {
        if (holder->kind == kind && !strcmp(holder->name, name)) {
            return holder;
        }
    }
    return NULL;
}

static struct holder *
use_holder(struct adp_members *s, enum adp_member_kind kind, const char *name)
{
    struct holder *holder = find_holder(s, kind, name);

    if (!holder) {
        holder = xzalloc(sizeof *holder);
        holder->kind = kind;
        holder->name = xstrdup(name);
        ovs_list_init(&holder->members);
        hmap_insert(&s->holders, &holder->node, holder_hash(kind, name));
    }
    return holder;
}

/* Members. */

static uint32_t
member_hash(const struct group *group, const struct holder *holder)
{
    return hash_2words((OVS_FORCE uint32_t) group->ip, holder->node.hash);
}

static struct membership *
find_member(const struct adp_members *s, ovs_be32 ip,
            enum adp_member_kind kind, const char *name)
{
    const struct group *group = find_group(s, ip);
    const struct holder *holder = group ? find_holder(s, kind, name) : NULL;
    struct membership *member;

    if (holder) {
        HMAP_FOR_EACH_WITH_HASH (member, node, member_hash(group, holder),
                                 &s->members) {
            if (member->group == group && member->holder == holder) {
                return member;
            }
        }
    }
    return NULL;
}

static uint64_t
heap_priority(long long int expires)
{
    return UINT64_MAX - expires;
}

static void
set_expiry(struct adp_members *s, struct membership *member,
           long long int expires)
{
    member->expires = expires;
    heap_change(&s->expiries, &member->by_expiry, heap_priority(expires));
}

static void
add_member(struct adp_members *s, struct group *group, struct holder *holder,
           long long int now, long long int expires)
{
    struct membership *member = xmalloc(sizeof *member);

    *member = (struct membership) {
        .group = group, .holder = holder, .since = now, .expires = expires
    };
    hmap_insert(&s->members, &member->node, member_hash(group, holder));
    heap_insert(&s->expiries, &member->by_expiry, heap_priority(expires));
    s->n_groups += is_empty(group);
    ovs_list_push_back(&group->members, &member->in_group);
    group->n[holder->kind]++;
    ovs_list_push_back(&holder->members, &member->of_holder);
    holder->n_groups++;
    s->n[holder->kind]++;
    change_group(s, group);
}

static void
remove_member(struct adp_members *s, struct membership *member)
{
    struct group *group = member->group;
    struct holder *holder = member->holder;

    hmap_remove(&s->members, &member->node);
    heap_remove(&s->expiries, &member->by_expiry);
    ovs_list_remove(&member->in_group);
    ovs_list_remove(&member->of_holder);
    group->n[holder->kind]--;
    s->n[holder->kind]--;
    s->n_groups -= is_empty(group);
    if (is_empty(group) && !group->told) {
        ovs_list_remove(&group->changed);
        free_group(s, group);
    } else {
        change_group(s, group);
    }
    if (!--holder->n_groups) {
        hmap_remove(&s->holders, &holder->node);
        free(holder->name);
        free(holder);
    }
    free(member);
}

/* Takes 'holder' out of all groups, and frees it. */
static void
remove_holder(struct adp_members *s, struct holder *holder)
{
    for (size_t n = holder->n_groups; n > 0; n--) {
        remove_member(s, CONTAINER_OF(ovs_list_front(&holder->members),
                                      struct membership, of_holder));
    }
}

static bool
is_full(const struct holder *holder)
{
    return holder->n_groups >= (holder->kind == ADP_MEMBER_PORT
                                ? ADP_MEMBERS_MAX_OF_PORT
                                : ADP_MEMBERS_MAX_OF_NODE);
}

enum adp_members_joined
adp_members_join(struct adp_members *s, ovs_be32 ip, enum adp_member_kind kind,
                 const char *name, long long int now, long long int expires)
{
    struct membership *member = find_member(s, ip, kind, name);

    if (member) {
        set_expiry(s, member, expires);
        return ADP_MEMBERS_KNOWN;
    }

    const struct holder *holder = find_holder(s, kind, name);
    const struct group *group = find_group(s, ip);
    if (holder && is_full(holder)) {
        return (kind == ADP_MEMBER_PORT ? ADP_MEMBERS_PORT_FULL
                : ADP_MEMBERS_NODE_FULL);
    } else if (!group || is_empty(group)
               ? s->n_groups >= ADP_MEMBERS_MAX_GROUPS
               : (group->n[ADP_MEMBER_PORT] + group->n[ADP_MEMBER_NODE]
                  >= ADP_MEMBERS_MAX_OF_GROUP)) {
        return ADP_MEMBERS_FULL;
    }
    add_member(s, use_group(s, ip), use_holder(s, kind, name), now, expires);
    return ADP_MEMBERS_NEW;
}

bool
adp_members_leave(struct adp_members *s, ovs_be32 ip,
                  enum adp_member_kind kind, const char *name,
                  long long int now)
{
    struct membership *member = find_member(s, ip, kind, name);

    if (!member) {
        return false;
    } else if (member->told && now - member->since < ADP_MEMBERS_MIN_MS) {
        set_expiry(s, member, member->since + ADP_MEMBERS_MIN_MS);
    } else {
        remove_member(s, member);
    }
    return true;
}

void
adp_members_retain(struct adp_members *s,
                   bool (*stays)(enum adp_member_kind, const char *name,
                                 void *aux),
                   void *aux)
{
    struct holder *holder;

    HMAP_FOR_EACH_SAFE (holder, node, &s->holders) {
        if (!stays(holder->kind, holder->name, aux)) {
            remove_holder(s, holder);
        }
    }
}

long long int
adp_members_next_expiry(const struct adp_members *s)
{
    return (heap_is_empty(&s->expiries) ? LLONG_MAX
            : CONTAINER_OF(heap_max(&s->expiries), struct membership,
                           by_expiry)->expires);
}

void
adp_members_expire_next(struct adp_members *s)
{
    remove_member(s, CONTAINER_OF(heap_max(&s->expiries), struct membership,
                                  by_expiry));
}

/* Changes. */

bool
adp_members_has_changes(const struct adp_members *s)
{
    return !ovs_list_is_empty(&s->changed);
}

static int
compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static void
tell(const struct group *group, adp_members_change_cb *cb, void *aux)
{
    const char **names[ADP_N_MEMBER_KINDS];
    size_t n[ADP_N_MEMBER_KINDS] = { 0 };
    const struct membership *member;

    for (int kind = 0; kind < ADP_N_MEMBER_KINDS; kind++) {
        names[kind] = xmalloc((group->n[kind] + 1) * sizeof *names[kind]);
    }
    LIST_FOR_EACH (member, in_group, &group->members) {
        enum adp_member_kind kind = member->holder->kind;

        names[kind][n[kind]++] = member->holder->name;
    }
    for (int kind = 0; kind < ADP_N_MEMBER_KINDS; kind++) {
        qsort(names[kind], n[kind], sizeof *names[kind], compare_names);
    }
    cb(group->ip, (const char *const *const *) names, n, aux);
    for (int kind = 0; kind < ADP_N_MEMBER_KINDS; kind++) {
        free(names[kind]);
    }
}

void
adp_members_take_change(struct adp_members *s, adp_members_change_cb *cb,
                        void *aux)
{
    struct group *group = CONTAINER_OF(ovs_list_pop_front(&s->changed),
                                       struct group, changed);
    struct membership *member;

    ovs_list_init(&group->changed);
    LIST_FOR_EACH (member, in_group, &group->members) {
        member->told = true;
    }
    group->told = true;
    tell(group, cb, aux);
    if (is_empty(group)) {
        free_group(s, group);
    }
}

void
adp_members_change_all(struct adp_members *s)
{
    struct group *group;

    HMAP_FOR_EACH (group, node, &s->groups) {
        change_group(s, group);
    }
}

void
adp_members_change(struct adp_members *s, ovs_be32 ip)
{
    struct group *group = use_group(s, ip);

    group->told = true;
    change_group(s, group);
}

struct adp_members_usage
adp_members_usage(const struct adp_members *s)
{
    struct adp_members_usage usage = { .n_groups = s->n_groups };

    memcpy(usage.n_members, s->n, sizeof usage.n_members);
    return usage;
}

void
adp_members_destroy(struct adp_members *s)
{
    struct membership *member;
    struct group *group;

    HMAP_FOR_EACH_SAFE (member, node, &s->members) {
        remove_member(s, member);
    }
    HMAP_FOR_EACH_SAFE (group, node, &s->groups) {
        free_group(s, group);
    }
    hmap_destroy(&s->groups);
    hmap_destroy(&s->holders);
    hmap_destroy(&s->members);
    heap_destroy(&s->expiries);
    free(s);
}
