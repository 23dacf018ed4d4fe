/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MEMBERS_H
#define ADP_MEMBERS_H 1

/* Who receives what is sent to which multicast group, as messages of IGMP
 * told.
 *
 * A member is a port of this Node or another Node, by name.  It is one until
 * it leaves, or hasn't said for a while that it still is.  Who leaves right
 * after it joined is a member for ADP_MEMBERS_MIN_MS all the same, so that
 * whoever comes and goes all the time changes little; unless nobody has heard
 * of it yet, by adp_members_take_change().
 *
 * Bounds: ADP_MEMBERS_MAX_GROUPS groups; of one port ADP_MEMBERS_MAX_OF_PORT,
 * of one Node ADP_MEMBERS_MAX_OF_NODE, so that one that joins all it can
 * leaves others theirs; of one group ADP_MEMBERS_MAX_OF_GROUP members.  Who
 * finds no room is none.
 *
 * Thread-safety: one thread at a time.
 * Cost: a member costs a look-up in a hash table and a place in a heap; a
 * change costs all members of its group, which are sorted, and who stays a
 * call for each port and Node.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/types.h"

struct adp_members;

#define ADP_MEMBERS_MAX_GROUPS 8192
#define ADP_MEMBERS_MAX_OF_PORT 128
#define ADP_MEMBERS_MAX_OF_NODE 2048
#define ADP_MEMBERS_MAX_OF_GROUP 1024
#define ADP_MEMBERS_MIN_MS 1000

enum adp_member_kind { ADP_MEMBER_PORT, ADP_MEMBER_NODE, ADP_N_MEMBER_KINDS };

struct adp_members *adp_members_create(void);
void adp_members_destroy(struct adp_members *);

enum adp_members_joined {
    ADP_MEMBERS_NEW,
    ADP_MEMBERS_KNOWN,
    ADP_MEMBERS_PORT_FULL,      /* The port is in too many groups, */
    ADP_MEMBERS_NODE_FULL,      /* the Node is, */
    ADP_MEMBERS_FULL,           /* there are too many, or it has too many. */
};
/* 'now' and 'expires' are in ms. */
enum adp_members_joined adp_members_join(struct adp_members *, ovs_be32 group,
                                         enum adp_member_kind,
                                         const char *name, long long int now,
                                         long long int expires);
/* Returns false if it wasn't a member. */
bool adp_members_leave(struct adp_members *, ovs_be32 group,
                       enum adp_member_kind, const char *name,
                       long long int now);
/* Takes all out of which 'stays' says false. */
void adp_members_retain(struct adp_members *,
                        bool (*stays)(enum adp_member_kind, const char *name,
                                      void *aux),
                        void *aux);
/* When the next member is over, LLONG_MAX: there is none. */
long long int adp_members_next_expiry(const struct adp_members *);
/* Takes out that one. */
void adp_members_expire_next(struct adp_members *);

/* Groups whose members are others than when they were last taken:
 * 'names[KIND]', 'n[KIND]' of each kind in order.  None at all if the group is
 * over. */
typedef void adp_members_change_cb(
    ovs_be32 group, const char *const *const names[ADP_N_MEMBER_KINDS],
    const size_t n[ADP_N_MEMBER_KINDS], void *aux);
bool adp_members_has_changes(const struct adp_members *);
/* Takes one that there is.  A group that changes afterwards is to be taken
 * again. */
void adp_members_take_change(struct adp_members *, adp_members_change_cb *,
                             void *aux);
/* All groups count as changed; this one does, with members or without. */
void adp_members_change_all(struct adp_members *);
void adp_members_change(struct adp_members *, ovs_be32 group);

struct adp_members_usage {
    size_t n_groups, n_members[ADP_N_MEMBER_KINDS];
};
struct adp_members_usage adp_members_usage(const struct adp_members *);

#endif /* adp-members.h */
