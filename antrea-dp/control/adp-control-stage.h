/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_STAGE_H
#define ADP_CONTROL_STAGE_H 1

/* What a client sent ahead of the call that is to use it.
 *
 * One message is bounded in size.  A change that needs more comes in several:
 * each but the last only puts its records on the client's stage, and the last
 * one takes all of them into its transaction.  Nothing of a stage is in force,
 * nor checked beyond its form, before that.
 *
 * Memory: that of the parsed messages, which the records go on to share when
 * they are taken.  All stages of a pool together have a bound; the coverage
 * counter adp_control_stage_full tells how often it was met.  A stage is
 * emptied when it is taken, and when its client goes, falls silent, or takes
 * too long (adp-control-conn.h).
 *
 * Links with libopenvswitch alone.
 *
 * Thread-safety: none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

struct adp_control_stage_pool {
    uint64_t max_cost;          /* Bytes of heap, estimated... */
    uint64_t cost;              /* ...and how many are taken. */

    /* Takes what nobody asked for, or NULL, to free it some time and then to
     * take 'cost' from '*account', which is the one above.  NULL: it is freed
     * at once. */
    void (*discard)(struct json *, uint64_t cost, uint64_t *account);
};

struct adp_control_stage {
    struct adp_control_stage_pool *pool;
    struct json *apply;         /* Arrays, or NULL. */
    struct json *delete;
    uint64_t cost;              /* Of both. */
};

void adp_control_stage_init(struct adp_control_stage *,
                            struct adp_control_stage_pool *);
void adp_control_stage_clear(struct adp_control_stage *);
size_t adp_control_stage_n(const struct adp_control_stage *);

/* Adds what the arrays hold, each of which may be NULL.  'cost' estimates the
 * memory of both.  Returns false, and changes nothing, if the pool is full. */
bool adp_control_stage_add(struct adp_control_stage *,
                           const struct json *apply,
                           const struct json *delete, uint64_t cost);

/* Empties the stage.  Sets '*apply' and '*delete' to what was on it, followed
 * by what the arrays given hold; to NULL where there is neither.  The caller
 * destroys them. */
void adp_control_stage_take(struct adp_control_stage *,
                            const struct json *given_apply,
                            const struct json *given_delete,
                            struct json **apply, struct json **delete);

#endif /* adp-control-stage.h */
