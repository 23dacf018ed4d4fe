/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "desired-world.h"

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "byte-order.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "util.h"

struct adp_desired *desired;
struct adp_contributor a, b, c;

struct shash flows, groups;
struct svec mods_log;

void
desired_setup(void)
{
    desired = adp_desired_create();
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    memset(&c, 0, sizeof c);
    shash_init(&flows);
    shash_init(&groups);
    svec_init(&mods_log);
}

void
desired_teardown(void)
{
    struct adp_desired_usage usage;

    /* All that was given is given back. */
    adp_desired_remove(desired, &a);
    adp_desired_remove(desired, &b);
    adp_desired_remove(desired, &c);
    adp_desired_accept(desired);
    adp_desired_get_usage(desired, &usage);
    ck_assert_uint_eq(usage.n_flows, 0);
    ck_assert_uint_eq(usage.n_groups, 0);
    ck_assert_uint_eq(usage.n_masks, 0);
    ck_assert_uint_eq(usage.n_actions, 0);
    ck_assert_uint_eq(usage.n_claims, 0);
    adp_desired_destroy(desired);
    shash_destroy_free_data(&flows);
    shash_destroy_free_data(&groups);
    svec_destroy(&mods_log);
}

/* The table. */

static char *
format_key(const struct ofputil_flow_mod *fm)
{
    char *s = minimatch_to_string(&fm->match, NULL, fm->priority);
    char *key = xasprintf("table=%d,%s", fm->table_id, s);

    free(s);
    return key;
}

static void
take_flow_mod(const struct ofputil_flow_mod *fm)
{
    char *key = format_key(fm);
    char *old = shash_find_data(&flows, key);

    if (fm->command == OFPFC_DELETE_STRICT) {
        ck_assert_msg(old, "%s isn't there", key);
        ck_assert_uint_eq(strtoull(old, NULL, 0), ntohll(fm->cookie));
        ck_assert(fm->cookie_mask == OVS_BE64_MAX);
        free(shash_find_and_delete(&flows, key));
        svec_add_nocopy(&mods_log, xasprintf("delete %s", key));
    } else {
        struct ds s = DS_EMPTY_INITIALIZER;
        struct ofpact_format_params fp = { .s = &s };

        ck_assert(old || fm->command == OFPFC_ADD);
        ds_put_format(&s, "%#"PRIx64" ", ntohll(fm->new_cookie));
        if (fm->idle_timeout) {
            ds_put_format(&s, "idle=%d ", fm->idle_timeout);
        }
        ofpacts_format(fm->ofpacts, fm->ofpacts_len, &fp);
        free(shash_replace(&flows, key, ds_steal_cstr(&s)));
        svec_add_nocopy(&mods_log, xasprintf("%s %s", fm->command == OFPFC_ADD
                                        ? "add" : "modify", key));
    }
    free(key);
}

static void
take_group_mod(const struct ofputil_group_mod *gm)
{
    char *id = xasprintf("%"PRIu32, gm->group_id);

    if (gm->command == OFPGC11_DELETE) {
        ck_assert(shash_find(&groups, id));
        free(shash_find_and_delete(&groups, id));
        svec_add_nocopy(&mods_log, xasprintf("delete group %s", id));
    } else {
        ck_assert_int_eq(gm->command, OFPGC11_ADD_OR_MOD);
        free(shash_replace(&groups, id,
                           xasprintf("%"PRIuSIZE,
                                     ovs_list_size(&gm->buckets))));
        svec_add_nocopy(&mods_log, xasprintf("put group %s", id));
    }
    free(id);
}

void
take_changes(const struct adp_changes *changes, enum adp_goal goal)
{
    for (size_t i = 0; i < changes->n_groups; i++) {
        struct ofputil_group_mod gm;

        adp_change_to_group_mod(desired, &changes->groups[i], goal, &gm);
        take_group_mod(&gm);
        ofputil_uninit_group_mod(&gm);
    }
    for (size_t i = 0; i < changes->n_flows; i++) {
        struct ofputil_flow_mod fm;

        adp_change_to_flow_mod(desired, &changes->flows[i], goal, &fm);
        take_flow_mod(&fm);
        adp_flow_mod_uninit(&fm);
    }
}

void
commit(enum adp_scope scope)
{
    struct adp_changes changes;

    ck_assert(adp_desired_settle(desired));
    struct adp_error *error = adp_desired_get_changes(desired, scope, NULL,
                                                      &changes);

    ck_assert_msg(!error, "%s", error ? error->message : NULL);
    take_changes(&changes, ADP_GOAL_NEW);
    adp_changes_uninit(&changes);
    adp_desired_accept(desired);
}

void
expect_error(const char *code, const char *message)
{
    struct adp_changes changes;
    struct adp_error *error = adp_desired_get_changes(
        desired, ADP_CHANGES_ONLY, NULL, &changes);

    ck_assert(error);
    ck_assert_str_eq(error->code, code);
    ck_assert_msg(strstr(error->message, message), "\"%s\" lacks \"%s\"",
                  error->message, message);
    adp_error_destroy(error);
    adp_changes_uninit(&changes);
    adp_desired_revert(desired);
}

char *
joined(struct svec *svec)
{
    svec_sort(svec);
    return svec_join(svec, "\n", "\n");
}

/* Commits, which must take just these mods, in any order. */
void
expect(const char *mods)
{
    struct svec expected = SVEC_EMPTY_INITIALIZER;

    commit(ADP_CHANGES_ONLY);
    svec_parse_words(&expected, "");
    for (const char *p = mods; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        svec_add_nocopy(&expected, xmemdup0(p, strcspn(p, "\n")));
    }
    char *e = joined(&expected);
    char *is = joined(&mods_log);
    ck_assert_str_eq(is, e);
    free(e);
    free(is);
    svec_destroy(&expected);
    svec_clear(&mods_log);
}

void
expect_flow(const char *key, const char *content)
{
    ck_assert_pstr_eq(shash_find_data(&flows, key), content);
}

/* Saying. */

/* A match on nw_src 10.0.0.'host', or on all IP packets if 'host' is 0. */
static struct adp_flow_key
flow_key(struct match *match, uint8_t table_id, uint16_t priority,
         uint64_t cookie, uint8_t host)
{
    match_init_catchall(match);
    match_set_dl_type(match, htons(0x0800));
    if (host) {
        match_set_nw_src(match, htonl(0x0a000000 + host));
    }
    return (struct adp_flow_key) { table_id, priority, cookie, match };
}

/* Says or takes back a flow that leads to 'table'. */
static void
change_goto(__typeof__(adp_desired_add_flow) *change,
            struct adp_contributor *contributor, uint64_t cookie, uint8_t host,
            uint8_t table)
{
    uint64_t stub[8];
    struct ofpbuf ofpacts = OFPBUF_STUB_INITIALIZER(stub);
    struct match match;
    struct adp_flow_key key = flow_key(&match, 1, 100, cookie, host);

    ofpact_put_GOTO_TABLE(&ofpacts)->table_id = table;
    change(desired, contributor, &key, ofpacts.data, ofpacts.size);
}

void
add_goto(struct adp_contributor *contributor, uint64_t cookie, uint8_t host,
         uint8_t table)
{
    change_goto(adp_desired_add_flow, contributor, cookie, host, table);
}

void
drop_goto(struct adp_contributor *contributor, uint64_t cookie, uint8_t host,
          uint8_t table)
{
    change_goto(adp_desired_drop_flow, contributor, cookie, host, table);
}

void
add_clause(struct adp_contributor *contributor, uint8_t host, uint32_t conj_id)
{
    struct match match;
    struct adp_flow_key key = flow_key(&match, 2, 200, 7, host);

    adp_desired_add_clause(desired, contributor, &key, conj_id, 1, 2);
}

void
drop_clause(struct adp_contributor *contributor, uint8_t host,
            uint32_t conj_id)
{
    struct match match;
    struct adp_flow_key key = flow_key(&match, 2, 200, 7, host);

    adp_desired_drop_clause(desired, contributor, &key, conj_id, 1, 2);
}

void
add_text(struct adp_contributor *contributor, const char *text)
{
    adp_desired_add_text(desired, contributor, text, NULL, NULL);
}

bool
end_amending(struct adp_contributor *contributor)
{
    adp_desired_end(desired, contributor);
    return adp_desired_settle(desired);
}
