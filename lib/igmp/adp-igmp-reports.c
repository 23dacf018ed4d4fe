/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-igmp-reports.h"

#include <stdint.h>
#include <stdlib.h>

#include "adp-igmp.h"
#include "adp-peers.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "util.h"

struct told_group {
    struct hmap_node node;      /* In 'groups', by 'ip'. */
    struct ovs_list queued;     /* In 'waiting' or 'round', or alone. */
    ovs_be32 ip;
    bool in_round;              /* In that list. */
    bool has_members;           /* Now. */
    bool told;                  /* That it has, or the round will. */
};

struct adp_igmp_reports {
    struct hmap groups;         /* Contains "struct told_group"s. */
    struct ovs_list waiting;    /* For the next round. */
    struct ovs_list round;      /* To be told in this one. */

    /* The message that is under way. */
    struct adp_igmp_report report;
    size_t len;                 /* 0: none is. */
    uint64_t at;                /* Of adp_peers_next(). */
};

struct adp_igmp_reports *
adp_igmp_reports_create(void)
{
    struct adp_igmp_reports *r = xzalloc(sizeof *r);

    hmap_init(&r->groups);
    ovs_list_init(&r->waiting);
    ovs_list_init(&r->round);
    return r;
}

void
adp_igmp_reports_clear(struct adp_igmp_reports *r)
{
    struct told_group *group;

    HMAP_FOR_EACH_POP (group, node, &r->groups) {
        free(group);
    }
    ovs_list_init(&r->waiting);
    ovs_list_init(&r->round);
    r->len = 0;
}

void
adp_igmp_reports_destroy(struct adp_igmp_reports *r)
{
    adp_igmp_reports_clear(r);
    hmap_destroy(&r->groups);
    free(r);
}

/* Groups. */

static struct told_group *
find_group(const struct adp_igmp_reports *r, ovs_be32 ip)
{
    struct told_group *group;

    HMAP_FOR_EACH_WITH_HASH (group, node, hash_int((OVS_FORCE uint32_t) ip, 0),
                             &r->groups) {
        if (group->ip == ip) {
            return group;
        }
    }
    return NULL;
}

static struct told_group *
add_group(struct adp_igmp_reports *r, ovs_be32 ip)
{
    struct told_group *group = xzalloc(sizeof *group);

    group->ip = ip;
    ovs_list_init(&group->queued);
    hmap_insert(&r->groups, &group->node,
                hash_int((OVS_FORCE uint32_t) ip, 0));
    return group;
}

static void
free_group(struct adp_igmp_reports *r, struct told_group *group)
{
    ovs_list_remove(&group->queued);
    hmap_remove(&r->groups, &group->node);
    free(group);
}

static void
let_wait(struct adp_igmp_reports *r, struct told_group *group)
{
    if (ovs_list_is_empty(&group->queued)) {
        ovs_list_push_back(&r->waiting, &group->queued);
    }
}

/* It isn't in a round (any more). */
static void
settle(struct adp_igmp_reports *r, struct told_group *group)
{
    if (group->has_members != group->told) {
        let_wait(r, group);
    } else if (!group->told) {
        free_group(r, group);
    }
}

void
adp_igmp_reports_set(struct adp_igmp_reports *r, ovs_be32 ip, bool has_members)
{
    struct told_group *group = find_group(r, ip);

    if (!group) {
        if (!has_members) {
            return;
        }
        group = add_group(r, ip);
    }
    group->has_members = has_members;
    if (!group->in_round) {
        settle(r, group);
    }
}

void
adp_igmp_reports_repeat(struct adp_igmp_reports *r)
{
    struct told_group *group;

    HMAP_FOR_EACH (group, node, &r->groups) {
        if (group->has_members) {
            let_wait(r, group);
        }
    }
}

/* Messages. */

static void
begin_round(struct adp_igmp_reports *r)
{
    struct told_group *group;

    ovs_list_push_back_all(&r->round, &r->waiting);
    LIST_FOR_EACH (group, queued, &r->round) {
        group->in_round = true;
        group->told = group->has_members;
    }
}

static void
compose(struct adp_igmp_reports *r)
{
    adp_igmp_report_init(&r->report);
    while (r->report.n_records < ADP_IGMP_REPORT_MAX_RECORDS
           && !ovs_list_is_empty(&r->round)) {
        struct told_group *group = CONTAINER_OF(ovs_list_pop_front(&r->round),
                                                struct told_group, queued);

        adp_igmp_report_add(&r->report, group->ip, group->told);
        ovs_list_init(&group->queued);
        group->in_round = false;
        settle(r, group);
    }
    r->len = adp_igmp_report_finish(&r->report);
    r->at = 0;
}

const void *
adp_igmp_reports_next(struct adp_igmp_reports *r,
                      const struct adp_peers *peers, size_t *len,
                      ovs_be32 *peer)
{
    while (adp_igmp_reports_has_more(r)) {
        if (!r->len) {
            if (ovs_list_is_empty(&r->round)) {
                begin_round(r);
            }
            compose(r);
        }
        if (adp_peers_next(peers, &r->at, peer)) {
            *len = r->len;
            return r->report.msg;
        }
        r->len = 0;
    }
    return NULL;
}

bool
adp_igmp_reports_has_more(const struct adp_igmp_reports *r)
{
    return (r->len || !ovs_list_is_empty(&r->round)
            || !ovs_list_is_empty(&r->waiting));
}

size_t
adp_igmp_reports_count(const struct adp_igmp_reports *r)
{
    return hmap_count(&r->groups);
}
