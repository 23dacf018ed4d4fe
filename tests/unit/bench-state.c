/* SPDX-License-Identifier: Apache-2.0 */

/* What a large state costs on its way from contributors to programs, without
 * OpenFlow's tables: bytes for each flow, the first load in slices, and one
 * address more.
 *
 *     bench-state [RULES]
 *
 * Rules are like those of policies: a quarter of each direction and kind, K8s
 * rules with one priority for 3,000 of them, Antrea's with one for each few. */

#include <config.h>

#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "adp-program.h"
#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "ovs-rcu.h"
#include "pipeline-desired.h"
#include "random.h"
#include "timeval.h"
#include "util.h"

enum {
    N_PODS = 16, N_ADDRESSES = 20000, SLICE = 256, N_CHANGES = 200,
    K8S_PART = 3000
};

struct rule {
    struct adp_contributor contributor;
    uint8_t table_id;
    uint16_t priority;
    uint32_t conj_id;
};

static struct adp_desired *desired;
static struct adp_program *program;
static struct hmap compiled = HMAP_INITIALIZER(&compiled);

struct entry {
    struct hmap_node node;
    struct adp_rule *rule;
};

static double
ms_since(long long int start)
{
    return (time_usec() - start) / 1000.0;
}

/* Rules. */

static struct adp_flow_key
clause_key(const struct rule *rule, struct match *match)
{
    match_init_catchall(match);
    match_set_dl_type(match, htons(0x0800));
    return (struct adp_flow_key) {
        .table_id = rule->table_id,
        .priority = rule->priority,
        .cookie = UINT64_C(0x7020000000000),
        .match = match,
    };
}

static void
add_address(struct rule *rule, uint32_t address)
{
    struct match match;
    struct adp_flow_key key = clause_key(rule, &match);

    match_set_nw_src(&match, htonl(0x0a000000 + address));
    adp_desired_add_clause(desired, &rule->contributor, &key, rule->conj_id,
                           1, 3);
}

static void
add_verdict(struct rule *rule, uint8_t table_id, uint16_t priority,
            uint32_t metadata)
{
    struct ofpbuf ofpacts;
    struct match match;
    struct adp_flow_key key = {
        .table_id = table_id,
        .priority = priority,
        .cookie = UINT64_C(0x7020000000000) | rule->conj_id,
        .match = &match,
    };

    match_init_catchall(&match);
    match_set_dl_type(&match, htons(0x0800));
    if (metadata) {
        match_set_reg(&match, metadata, rule->conj_id);
    } else {
        match_set_conj_id(&match, rule->conj_id);
    }
    ofpbuf_init(&ofpacts, 0);
    if (!metadata) {
        ovs_be32 value = htonl(rule->conj_id);

        ofpact_put_set_field(&ofpacts, mf_from_id(MFF_REG6), &value, NULL);
    }
    ofpact_put_GOTO_TABLE(&ofpacts)->table_id = 29;
    adp_desired_add_flow(desired, &rule->contributor, &key, ofpacts.data,
                         ofpacts.size);
    ofpbuf_uninit(&ofpacts);
}

static void
say_rule(struct rule *rule)
{
    struct match match;
    struct adp_flow_key key;

    adp_desired_begin(desired, &rule->contributor);
    for (int i = 2 + random_range(7); i > 0; i--) {
        add_address(rule, random_range(N_ADDRESSES));
    }
    key = clause_key(rule, &match);
    match_set_reg(&match, 1, 1 + random_range(N_PODS));
    adp_desired_add_clause(desired, &rule->contributor, &key, rule->conj_id,
                           2, 3);
    for (int i = 1 + random_range(3); i > 0; i--) {
        key = clause_key(rule, &match);
        match_set_nw_proto(&match, 6);
        match_set_tp_dst(&match, htons(random_range(3) ? random_range(40) + 80
                                       : 20000 + random_range(40000)));
        adp_desired_add_clause(desired, &rule->contributor, &key,
                               rule->conj_id, 3, 3);
    }
    add_verdict(rule, rule->table_id, rule->priority, 0);
    add_verdict(rule, 28, 200, 2);
    add_verdict(rule, 28, 200, 3);
    adp_desired_end(desired, &rule->contributor);
}

static struct rule *
make_rules(size_t n)
{
    struct rule *rules = xcalloc(n, sizeof *rules);

    for (size_t i = 0; i < n; i++) {
        bool k8s = i % 2;

        rules[i].conj_id = 1 + i;
        rules[i].table_id = (k8s ? 26 : 24) + i / 2 % 2;
        rules[i].priority = k8s ? 200 + i / 4 / K8S_PART
                            : 100 + i / 4 % 60000;
        say_rule(&rules[i]);
    }
    return rules;
}

/* Programs. */

static uint32_t
entry_hash(const struct adp_rule *rule)
{
    return hash_2words(rule->match_hash,
                       rule->priority ^ rule->table_id << 16);
}

static struct entry *
find_entry(const struct adp_rule *rule)
{
    struct entry *entry;

    HMAP_FOR_EACH_WITH_HASH (entry, node, entry_hash(rule), &compiled) {
        if (entry->rule->table_id == rule->table_id
            && adp_rule_same_place(entry->rule, rule)) {
            return entry;
        }
    }
    return NULL;
}

/* Does what the journal does with 'n' changes. */
static void
compile(const struct adp_change *changes, size_t n)
{
    struct adp_delta *delta = adp_delta_create();

    for (size_t i = 0; i < n; i++) {
        struct ofputil_flow_mod fm;

        adp_change_to_flow_mod(desired, &changes[i], ADP_GOAL_NEW, &fm);
        struct adp_rule *rule = adp_rule_create(fm.table_id, fm.priority,
                                                &fm.match, fm.new_cookie,
                                                fm.ofpacts, fm.ofpacts_len,
                                                NULL, NULL);
        struct entry *entry = find_entry(rule);
        if (entry) {
            adp_delta_remove_rule(delta, entry->rule);
            adp_rule_unref(entry->rule);
        } else {
            entry = xmalloc(sizeof *entry);
            hmap_insert(&compiled, &entry->node, entry_hash(rule));
        }
        entry->rule = rule;
        adp_delta_add_rule(delta, rule);
        adp_flow_mod_uninit(&fm);
    }

    struct adp_program *old = program;
    program = adp_compile(old, delta);
    adp_program_unref(old);
    adp_delta_destroy(delta);
}

static void
load(void)
{
    struct adp_changes changes;
    long long int start = time_usec();
    double longest = 0;

    ovs_assert(!adp_desired_get_changes(desired, ADP_CHANGES_ONLY, NULL,
                                        &changes));
    printf("changes: %.1f ms for %"PRIuSIZE" flows\n", ms_since(start),
           changes.n_flows);
    start = time_usec();
    for (size_t i = 0; i < changes.n_flows; i += SLICE) {
        long long int began = time_usec();

        compile(&changes.flows[i], MIN(SLICE, changes.n_flows - i));
        longest = MAX(longest, ms_since(began));
        ovsrcu_quiesce();
    }
    printf("compiled in slices of %d: %.2f us a flow, longest slice %.2f ms\n",
           SLICE, ms_since(start) * 1000 / changes.n_flows, longest);
    start = time_usec();
    adp_changes_uninit(&changes);
    adp_desired_accept(desired);
    printf("accepted: %.1f ms\n", ms_since(start));
}

/* One address more for one rule. */
static void
change_some(struct rule *rules, size_t n, bool k8s)
{
    double say = 0, find = 0, make = 0, longest = 0;
    size_t n_flows = 0;

    for (int i = 0; i < N_CHANGES; i++) {
        struct rule *rule = &rules[random_range(n) / 2 * 2 + k8s];
        struct adp_changes changes;
        long long int start = time_usec();

        adp_desired_amend(desired, &rule->contributor);
        add_address(rule, random_range(N_ADDRESSES));
        adp_desired_end(desired, &rule->contributor);
        say += ms_since(start);

        long long int found = time_usec();
        ovs_assert(!adp_desired_get_changes(desired, ADP_CHANGES_ONLY, NULL,
                                            &changes));
        find += ms_since(found);
        n_flows += changes.n_flows;

        long long int made = time_usec();
        compile(changes.flows, changes.n_flows);
        make += ms_since(made);
        adp_changes_uninit(&changes);
        adp_desired_accept(desired);
        longest = MAX(longest, ms_since(start));
        ovsrcu_quiesce();
    }
    printf("one address more in %s: %.1f flows, %.1f us to say, %.1f us to "
           "find, %.1f us to compile, longest in all %.2f ms\n",
           k8s ? "a K8s rule" : "an Antrea rule",
           (double) n_flows / N_CHANGES, say * 1000 / N_CHANGES,
           find * 1000 / N_CHANGES, make * 1000 / N_CHANGES, longest);
}

/* What a "select" group of 1,000 endpoints takes each time that it changes. */
static void
make_groups(void)
{
    enum { N_BUCKETS = 1000, N = 20 };
    struct ovs_list buckets = OVS_LIST_INITIALIZER(&buckets);

    for (uint32_t i = 0; i < N_BUCKETS; i++) {
        struct ofputil_bucket *bucket = xzalloc(sizeof *bucket);
        ovs_be32 value = htonl(i);
        struct ofpbuf ofpacts;

        ofpbuf_init(&ofpacts, 0);
        ofpact_put_set_field(&ofpacts, mf_from_id(MFF_REG3), &value, NULL);
        *bucket = (struct ofputil_bucket) {
            .weight = 100,
            .watch_port = OFPP_ANY,
            .watch_group = OFPG_ANY,
            .bucket_id = i,
            .ofpacts_len = ofpacts.size,
            .ofpacts = ofpbuf_steal_data(&ofpacts),
        };
        ovs_list_push_back(&buckets, &bucket->list_node);
    }

    size_t before = mallinfo2().uordblks;
    long long int start = time_usec();
    struct adp_group *groups[N];
    for (int i = 0; i < N; i++) {
        groups[i] = adp_group_create(i, OFPGT11_SELECT, &buckets, NULL, NULL,
                                     NULL, NULL);
    }
    printf("a group of %d endpoints: %.0f us to make, %"PRIuSIZE" bytes\n",
           N_BUCKETS, ms_since(start) * 1000 / N,
           (mallinfo2().uordblks + mallinfo2().hblkhd - before) / N);
    for (int i = 0; i < N; i++) {
        adp_group_unref(groups[i]);
    }
    ofputil_bucket_list_destroy(&buckets);
}

int
main(int argc, char *argv[])
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
    struct adp_desired_usage usage;

    set_program_name(argv[0]);
    random_set_seed(1);
    desired = adp_desired_create();
    program = adp_program_create();

    size_t before = mallinfo2().uordblks;
    long long int start = time_usec();
    struct rule *rules = make_rules(n);
    double ms = ms_since(start);
    adp_desired_get_usage(desired, &usage);
    printf("%"PRIuSIZE" rules: %"PRIuSIZE" flows said in %.0f ms\n", n,
           usage.n_flows, ms);
    load();
    adp_desired_get_usage(desired, &usage);
    printf("%"PRIuSIZE" actions, %"PRIuSIZE" masks, %"PRIuSIZE" claims; %.0f "
           "bytes a flow\n", usage.n_actions, usage.n_masks, usage.n_claims,
           (double) usage.n_bytes / usage.n_flows);
    printf("with programs and malloc()'s own: %.0f bytes a flow\n",
           (double) (mallinfo2().uordblks - before) / usage.n_flows);
    change_some(rules, n, false);
    change_some(rules, n, true);
    make_groups();
    return 0;
}
