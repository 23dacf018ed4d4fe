/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DESIRED_WORLD_H
#define DESIRED_WORLD_H 1

/* Contributors, what they say, and a bridge that takes what follows from it
 * and must hold just that. */

#include "openvswitch/shash.h"
#include "pipeline-desired.h"
#include "svec.h"

extern struct adp_desired *desired;
extern struct adp_contributor a, b, c;

/* What is in the bridge: "table=T,priority=P,MATCH" to "COOKIE ACTIONS", and
 * group ID to number of buckets. */
extern struct shash flows, groups;
extern struct svec mods_log;

/* A fixture.  In the end all that was given must be given back. */
void desired_setup(void);
void desired_teardown(void);

/* Has the bridge take them. */
void take_changes(const struct adp_changes *changes, enum adp_goal goal);
/* Settles, has the bridge take the changes, accepts. */
void commit(enum adp_scope scope);
/* The changes are refused with this, and reverted. */
void expect_error(const char *code, const char *message);
/* Sorted, by lines; the caller frees it. */
char *joined(struct svec *svec);
/* Commits, which must take just these mods, in any order. */
void expect(const char *mods);
/* What is in the bridge. */
void expect_flow(const char *key, const char *content);

/* A flow of 10.0.0.'host', or of all IP packets if that is 0. */
void add_goto(struct adp_contributor *contributor, uint64_t cookie,
              uint8_t host, uint8_t table);
void drop_goto(struct adp_contributor *contributor, uint64_t cookie,
               uint8_t host, uint8_t table);
/* Clause 1 of 2 in another table, the same way. */
void add_clause(struct adp_contributor *contributor, uint8_t host,
                uint32_t conj_id);
void drop_clause(struct adp_contributor *contributor, uint8_t host,
                 uint32_t conj_id);
void add_text(struct adp_contributor *contributor, const char *text);
/* Returns what adp_desired_settle() does. */
bool end_amending(struct adp_contributor *contributor);

#define FLOW(HOST) "table=1,priority=100,ip,nw_src=10.0.0." #HOST
#define CLAUSES(HOST) "table=2,priority=200,ip,nw_src=10.0.0." #HOST

#endif /* desired-world.h */
