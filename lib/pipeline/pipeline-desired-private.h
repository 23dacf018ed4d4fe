/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_DESIRED_PRIVATE_H
#define ADP_PIPELINE_DESIRED_PRIVATE_H 1

/* Desired flows and groups, from the inside: for pipeline-desired*.c.
 *
 * A flow is known by all that it is, except that one with clauses is known by
 * its key and has any number of them.  So the flow that takes the place of
 * another with the same table, priority and match is a different object, and
 * both are there until the transaction ends.
 *
 * Outside a transaction every flow is desired, and installed unless 'bare'.
 * Within one, what was changed has an image of what it was before, and what
 * was asked for before is what is installed.
 */

#include "flow.h"
#include "model-pause.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "pipeline-desired.h"

/* The mask of a match, shared by all flows that have it. */
struct desired_mask {
    struct hmap_node node;      /* In 'masks', by map and values. */
    struct tun_metadata_allocation *tun_md; /* NULL mostly. */
    size_t n_refs;
    unsigned int n_values;
    struct miniflow masks;      /* Last: its values follow. */
};

/* Timeouts and flags: what a modification in place can't change. */
struct desired_terms {
    uint16_t idle_timeout;
    uint16_t hard_timeout;
    uint16_t importance;
    enum ofputil_flow_mod_flags flags;
};

/* Actions, shared by all flows that have them. */
struct desired_actions {
    struct hmap_node node;      /* In 'actions', by all of the below. */
    size_t n_refs;
    uint64_t tlv_bitmap;        /* As in struct ofputil_flow_mod. */
    struct desired_terms terms;
    uint32_t len;
    struct ofpact ofpacts[];    /* 'len' bytes. */
};

struct desired_clause {
    uint32_t conj_id;
    uint32_t n_refs;
    uint8_t number, n;
};

/* The clauses of one flow, in order.  One that nobody asks for any more may
 * stay in its place. */
struct desired_clauses {
    uint32_t n, allocated;
    uint32_t n_unused;          /* Of the 'n'. */
    struct desired_clause clauses[];
};

struct desired_flow {
    struct hmap_node node;      /* In 'flows', by table, priority, match. */
    struct desired_mask *mask;
    union {
        struct desired_actions *actions;
        struct desired_clauses *clauses; /* NULL if there are none. */
    };
    uint64_t cookie;
    uint32_t n_refs;            /* How often it is asked for. */
    uint32_t image;             /* Index of that in 'flow_images' plus 1, 0 if
                                 * it hasn't changed. */
    uint16_t priority;
    uint8_t table_id;
    bool has_clauses;
    bool is_contested;          /* There may be another with its key. */
    uint64_t values[];          /* Of the match, one for each of the mask. */
};

struct desired_group {
    struct hmap_node node;      /* In 'groups', by ID. */
    struct ovs_list buckets;    /* Contains "struct ofputil_bucket"s. */
    struct ofputil_group_props props;
    uint32_t group_id;
    uint32_t n_refs;
    uint32_t image;             /* As in struct desired_flow. */
    uint8_t type;
};

/* Something that one contributor asks for. */
struct desired_claim {
    void *thing;                /* Flow or group. */
    uint32_t conj_id;           /* Of a clause, 0 if it is none. */
    uint8_t clause, n_clauses;  /* The same. */
    bool is_group;
};

/* What amendments of a contributor take back, so often. */
struct desired_withdrawal {
    struct adp_contributor *contributor;
    struct desired_claim claim;
    uint32_t n;
};

/* What was before the transaction. */
struct flow_image {
    struct desired_flow *flow;
    struct desired_clauses *clauses;    /* A copy. */
    uint32_t n_refs;
};

struct group_image {
    struct desired_group *group;
    uint32_t n_refs;
};

struct contributor_image {
    struct adp_contributor *contributor;
    struct desired_claim *claims;
    uint32_t n_claims, allocated_claims;
    bool in_place;              /* They are the contributor's first ones; no
                                 * 'claims'. */
};

/* Tables of flows.  Each grows on its own, not all flows' at once: that would
 * take long where there are many. */
#define DESIRED_N_TABLES 64

/* A flow that was parsed, by what it was made of. */
#define DESIRED_N_TEXTS 1024
struct desired_text {
    const void *scope;          /* Compared, and given to who expands. */
    char *source;               /* NULL: none. */
    struct ofputil_flow_mod fm;
};

struct adp_desired {
    struct hmap flows[DESIRED_N_TABLES]; /* By the hash's upper bits. */
    struct hmap groups;
    struct hmap masks;
    struct hmap actions;
    bool bare;                  /* None of it is in the bridge. */
    struct desired_text *texts; /* DESIRED_N_TEXTS of them, or NULL; */
    size_t n_texts;             /* so many are known. */

    /* The transaction.  Not more than what it changes. */
    struct flow_image *flow_images;
    size_t n_flow_images, allocated_flow_images;
    struct group_image *group_images;
    size_t n_group_images, allocated_group_images;
    struct contributor_image *contributor_images;
    size_t n_contributor_images, allocated_contributor_images;
    struct adp_error *error;    /* The first one. */

    struct adp_contributor *amended; /* By the amendment under way, or NULL. */

    /* What adp_desired_settle() has to do.  Not more than what is taken
     * back. */
    struct desired_withdrawal *withdrawals;
    size_t n_withdrawals, allocated_withdrawals;
    uint32_t n_withdrawing;     /* Contributors, of the number in each. */
    bool lacks_withdrawn;       /* What was to be taken back isn't there. */

    /* For people. */
    size_t n_claims;
    size_t n_bytes;             /* Of flows with their masks, actions and
                                 * clauses, and claims. */
    uint64_t n_steps;
};

static inline const struct hmap *
adp_desired_flow_table(const struct adp_desired *desired, uint32_t hash)
{
    BUILD_ASSERT(DESIRED_N_TABLES == 1 << 6);
    return &desired->flows[hash >> 26];
}

/* pipeline-desired.c */

void adp_desired_claim_drop(struct adp_desired *,
                            const struct desired_claim *);
/* Claims of 'contributor' are about to leave or to move: has the image keep
 * those it is of. */
void adp_desired_keep_claims(struct adp_desired *, struct adp_contributor *);

/* A contributor mostly has few claims, and may have many: behind each 16th of
 * them, 'i' of which is the latest, there is a pause. */
static inline void
adp_desired_pause_amid(uint32_t i)
{
    if (i % 16 == 15) {
        adp_pause();
    }
}

/* pipeline-desired-settle.c */

/* In the amendment under way, which must be that of 'contributor'. */
void adp_desired_withdraw(struct adp_desired *, struct adp_contributor *,
                          const struct desired_claim *);
void adp_desired_forget_withdrawals(struct adp_desired *);

/* pipeline-desired-flow.c */

/* Returns the flow with 'key' and with 'actions', which it takes, or with
 * clauses if that is NULL; makes one that nobody asks for if there is none
 * and 'make' is true. */
struct desired_flow *adp_desired_flow_get(struct adp_desired *,
                                      const struct adp_flow_key *key,
                                      struct desired_actions *actions,
                                      bool make);
void adp_desired_flow_free(struct adp_desired *, struct desired_flow *);
/* Another flow with the same table, priority and match that is desired or, if
 * not 'desired', that is installed; or NULL. */
struct desired_flow *adp_desired_flow_twin(const struct adp_desired *,
                                       const struct desired_flow *,
                                       bool desired);
/* Initializes '*match' as the one of 'flow'. */
void adp_desired_flow_match(const struct desired_flow *flow,
                        struct minimatch *match);
/* Equal for equal matches, whatever the table and the priority. */
uint32_t adp_desired_flow_match_hash(const struct desired_flow *);
/* The conjunction ID that 'flow' matches, 0 if it matches none. */
uint32_t adp_desired_flow_conj_id(const struct desired_flow *);
/* "cookie=..., table=..., MATCH actions=..."; the caller frees it. */
char *adp_desired_flow_to_string(const struct desired_flow *,
                             const struct ofputil_table_map *);

bool adp_desired_terms_equal(const struct desired_terms *,
                             const struct desired_terms *);
struct desired_actions *adp_desired_actions_get(struct adp_desired *,
                                            const struct ofpact *, size_t len,
                                            uint64_t tlv_bitmap,
                                            const struct desired_terms *);
void adp_desired_actions_unref(struct adp_desired *, struct desired_actions *);

/* Counts a clause of 'flow' once more, or once less.  It must be there for
 * the latter. */
void adp_desired_clause_ref(struct adp_desired *, struct desired_flow *,
                        const struct desired_claim *);
void adp_desired_clause_unref(struct adp_desired *, struct desired_flow *,
                              const struct desired_claim *);
struct desired_clauses *adp_desired_clauses_clone(struct adp_desired *,
                                              const struct desired_clauses *);
void adp_desired_clauses_free(struct adp_desired *, struct desired_clauses *);
/* Has each the same conjunctions? */
bool adp_desired_clauses_equal(const struct desired_clauses *,
                           const struct desired_clauses *);
/* Has 'b' all conjunctions that 'a' has? */
bool adp_desired_clauses_within(const struct desired_clauses *a,
                            const struct desired_clauses *b);
/* Appends conjunction() actions for the clauses of both; either may be
 * NULL. */
void adp_desired_clauses_put(const struct desired_clauses *,
                         const struct desired_clauses *,
                         struct ofpbuf *ofpacts);

/* Was it asked for before the transaction? */
static inline bool
adp_desired_flow_was(const struct adp_desired *desired,
                 const struct desired_flow *flow)
{
    return (flow->image ? desired->flow_images[flow->image - 1].n_refs
            : flow->n_refs) > 0;
}

static inline bool
adp_desired_group_was(const struct adp_desired *desired,
                  const struct desired_group *group)
{
    return (group->image ? desired->group_images[group->image - 1].n_refs
            : group->n_refs) > 0;
}

/* What 'flow' with clauses had before the transaction. */
static inline const struct desired_clauses *
adp_desired_clauses_before(const struct adp_desired *desired,
                       const struct desired_flow *flow)
{
    return (flow->image ? desired->flow_images[flow->image - 1].clauses
            : flow->clauses);
}

#endif /* pipeline-desired-private.h */
