/* SPDX-License-Identifier: Apache-2.0 */

/* The way of a large transaction into the bridge: what a packet meets after
 * each slice, and what is left when the bridge refuses one.
 *
 * The bridge is ours.  It has two tables of policy rules, 2 and 3, that lead to
 * table 4, and table 1 with flows to groups.  Packets have a source and a port
 * and meet the rules as OpenFlow has it. */

#include <config.h>

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-bridge.h"
#include "adp-commit.h"
#include "adp-turn.h"
#include "classifier-model.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/shash.h"
#include "openvswitch/vlog.h"
#include "pipeline-desired.h"
#include "pipeline.h"
#include "random.h"
#include "test-seed.h"
#include "test-run.h"
#include "util.h"

enum { N_SOURCES = 4, N_PORTS = 3 };

/* The bridge. */

enum { MAX_FLOWS = 8192, MAX_CLAUSES = 32, N_GROUPS = 64 };

struct flow_entry {
    char *key, *content;
    uint8_t table_id;
    int priority;
    uint8_t source, port;       /* 0: any. */
    uint32_t conj_id;           /* That it matches; 0: any. */
    uint32_t group;             /* That it names; 0: none. */
    int verdict;                /* Of rules: which table it goes to. */
    size_t n_clauses;
    struct ofpact_conjunction clauses[MAX_CLAUSES];
};

struct adp_bridge {
    struct flow_entry flows[MAX_FLOWS];
    size_t n_flows;
    bool groups[N_GROUPS];
    size_t n_commits;
    size_t largest;             /* Mods of one. */
    size_t refuse_at;           /* The number of the commit that fails. */
    size_t refuse_more;         /* And of those after it. */
    void (*after)(void);        /* Each. */
    struct classifier_model *classifier; /* Gets the flow mods instead. */
};

static struct adp_bridge bridge;
static struct adp_desired *desired;

static const uint8_t rule_tables[] = { 2, 3 };
static const uint8_t verdict_tables[] = { 4 };
static const struct adp_pipeline pipeline = {
    .name = "test",
    .rule_tables = rule_tables,
    .n_rule_tables = ARRAY_SIZE(rule_tables),
    .verdict_tables = verdict_tables,
    .n_verdict_tables = ARRAY_SIZE(verdict_tables),
};

const char *
adp_bridge_name(const struct adp_bridge *b OVS_UNUSED)
{
    return "br-test";
}

const struct ofputil_table_map *
adp_bridge_table_map(struct adp_bridge *b OVS_UNUSED)
{
    return NULL;
}

static struct flow_entry *
find_entry(const char *key)
{
    for (size_t i = 0; i < bridge.n_flows; i++) {
        if (!strcmp(bridge.flows[i].key, key)) {
            return &bridge.flows[i];
        }
    }
    return NULL;
}

static void
entry_free(struct flow_entry *entry)
{
    free(entry->key);
    free(entry->content);
}

static void
entry_set(struct flow_entry *entry, const struct ofputil_flow_mod *fm)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    struct ofpact_format_params fp = { .s = &s };
    const struct ofpact *a;
    struct match match;

    minimatch_expand(&fm->match, &match);
    entry->table_id = fm->table_id;
    entry->priority = fm->priority;
    entry->source = ntohl(match.flow.nw_src) & 0xff;
    entry->port = ntohs(match.flow.tp_dst);
    entry->conj_id = match.flow.conj_id;
    entry->n_clauses = 0;
    entry->group = 0;
    entry->verdict = 0;
    OFPACT_FOR_EACH (a, fm->ofpacts, fm->ofpacts_len) {
        if (a->type == OFPACT_CONJUNCTION) {
            ck_assert_uint_lt(entry->n_clauses, MAX_CLAUSES);
            entry->clauses[entry->n_clauses++] = *ofpact_get_CONJUNCTION(a);
        } else if (a->type == OFPACT_GROUP) {
            entry->group = ofpact_get_GROUP(a)->group_id;
            ck_assert_msg(bridge.groups[entry->group], "group %"PRIu32" "
                          "isn't there", entry->group);
        } else if (a->type == OFPACT_GOTO_TABLE) {
            entry->verdict = ofpact_get_GOTO_TABLE(a)->table_id;
        }
    }
    ds_put_format(&s, "%#"PRIx64" ", ntohll(fm->new_cookie));
    ofpacts_format(fm->ofpacts, fm->ofpacts_len, &fp);
    free(entry->content);
    entry->content = ds_steal_cstr(&s);
}

static void
take_flow_mod(const struct ofputil_flow_mod *fm)
{
    char *s = minimatch_to_string(&fm->match, NULL, fm->priority);
    char *key = xasprintf("table=%d,%s", fm->table_id, s);
    struct flow_entry *entry = find_entry(key);

    free(s);
    if (fm->command == OFPFC_DELETE_STRICT) {
        ck_assert_msg(entry, "%s isn't there", key);
        entry_free(entry);
        *entry = bridge.flows[--bridge.n_flows];
        free(key);
        return;
    }
    ck_assert(entry || fm->command == OFPFC_ADD);
    if (!entry) {
        ck_assert_uint_lt(bridge.n_flows, MAX_FLOWS);
        entry = &bridge.flows[bridge.n_flows++];
        memset(entry, 0, sizeof *entry);
        entry->key = key;
    } else {
        free(key);
    }
    entry_set(entry, fm);
}

static void
take_group_mods(const struct ofputil_group_mod *gms, size_t n, bool deletes)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t id = gms[i].group_id;

        if ((gms[i].command == OFPGC11_DELETE) != deletes) {
            continue;
        }
        ck_assert_uint_lt(id, N_GROUPS);
        bridge.groups[id] = !deletes;
        for (size_t j = 0; deletes && j < bridge.n_flows; j++) {
            ck_assert_msg(bridge.flows[j].group != id, "flow \"%s\" still "
                          "names group %"PRIu32, bridge.flows[j].key, id);
        }
    }
}

char *
adp_bridge_commit(struct adp_bridge *b, const struct ofputil_flow_mod *fms,
                  size_t n_fms, const struct ofputil_group_mod *gms,
                  size_t n_gms, bool replace)
{
    ck_assert(!replace);
    b->n_commits++;
    b->largest = MAX(b->largest, n_fms + n_gms);
    if (b->refuse_at && b->n_commits >= b->refuse_at
        && b->n_commits <= b->refuse_at + b->refuse_more) {
        return xstrdup("no room");
    }
    if (b->classifier) {
        for (size_t i = 0; i < n_fms; i++) {
            classifier_model_mod(b->classifier, &fms[i]);
        }
        classifier_model_settle(b->classifier);
        return NULL;
    }
    take_group_mods(gms, n_gms, false);
    for (size_t i = 0; i < n_fms; i++) {
        take_flow_mod(&fms[i]);
    }
    take_group_mods(gms, n_gms, true);
    if (b->after) {
        b->after();
    }
    return NULL;
}

/* Packets. */

static bool
entry_matches(const struct flow_entry *entry, uint8_t table_id, int source,
              int port)
{
    return (entry->table_id == table_id
            && (!entry->source || entry->source == source)
            && (!entry->port || entry->port == port));
}

/* Are all clauses of 'conj_id' of 'priority' there for the packet? */
static bool
conj_is_complete(uint8_t table_id, int source, int port, uint32_t conj_id,
                 int priority)
{
    unsigned int have = 0, want = 0;

    for (size_t i = 0; i < bridge.n_flows; i++) {
        const struct flow_entry *entry = &bridge.flows[i];

        for (size_t j = 0; j < entry->n_clauses; j++) {
            if (entry->clauses[j].id == conj_id && entry->priority == priority
                && entry_matches(entry, table_id, source, port)) {
                have |= 1u << entry->clauses[j].clause;
                want = (1u << entry->clauses[j].n_clauses) - 1;
            }
        }
    }
    return want && have == want;
}

/* The best flow without clauses for a packet with 'conj_id', 0: none. */
static const struct flow_entry *
find_plain(uint8_t table_id, int source, int port, uint32_t conj_id)
{
    const struct flow_entry *best = NULL;

    for (size_t i = 0; i < bridge.n_flows; i++) {
        const struct flow_entry *entry = &bridge.flows[i];

        if (entry_matches(entry, table_id, source, port) && !entry->n_clauses
            && (!entry->conj_id || entry->conj_id == conj_id)
            && (!best || entry->priority > best->priority)) {
            best = entry;
        }
    }
    return best;
}

/* The conjunction of the highest priority that is complete, if that is above
 * 'priority'; else 0. */
static uint32_t
find_conj(uint8_t table_id, int source, int port, int priority)
{
    uint32_t conj_id = 0;

    for (size_t i = 0; i < bridge.n_flows; i++) {
        const struct flow_entry *entry = &bridge.flows[i];

        if (entry->priority <= priority
            || !entry_matches(entry, table_id, source, port)) {
            continue;
        }
        for (size_t j = 0; j < entry->n_clauses; j++) {
            if (conj_is_complete(table_id, source, port, entry->clauses[j].id,
                                 entry->priority)) {
                conj_id = entry->clauses[j].id;
                priority = entry->priority;
            }
        }
    }
    return conj_id;
}

/* What a packet meets in the rules: the verdict of the first table that has
 * one for it.  As in a classifier, who has met a conjunction meets the best
 * flow for its conj_id, of whatever priority, be it one that asks for none. */
static int
packet_verdict(int source, int port)
{
    for (size_t t = 0; t < ARRAY_SIZE(rule_tables); t++) {
        uint8_t table_id = rule_tables[t];
        const struct flow_entry *best = find_plain(table_id, source, port, 0);
        uint32_t conj_id = find_conj(table_id, source, port,
                                     best ? best->priority : -1);

        best = conj_id ? find_plain(table_id, source, port, conj_id) : best;
        if (best && best->verdict) {
            return best->verdict;
        }
    }
    return 0;
}

typedef int verdicts[N_SOURCES + 1][N_PORTS + 1];

static void
get_verdicts(verdicts v)
{
    memset(v, 0, sizeof(verdicts));
    for (int source = 1; source <= N_SOURCES; source++) {
        for (int port = 1; port <= N_PORTS; port++) {
            v[source][port] = packet_verdict(source, port);
        }
    }
}

/* Rules, random ones. */

enum { MAX_RULES = 12, N_VERDICTS = 5 };

struct rule {
    bool exists;
    struct adp_contributor contributor;
    uint8_t table_id;
    int priority;               /* Of no other rule of its table. */
    uint32_t conj_id;
    int verdict;
    unsigned int sources, ports; /* Bit maps, of 1 and up. */
};

static uint32_t last_conj_id;

static void
init_match(struct match *match, int source, int port)
{
    match_init_catchall(match);
    match_set_dl_type(match, htons(0x0800));
    match_set_nw_proto(match, 6);
    if (source) {
        match_set_nw_src(match, htonl(0x0a000000 | source));
    }
    if (port) {
        match_set_tp_dst(match, htons(port));
    }
}

static void
say_rule(struct rule *rule)
{
    struct ofpbuf ofpacts;
    struct match match;
    struct adp_flow_key key = {
        .table_id = rule->table_id,
        .priority = rule->priority,
        .cookie = 1,
        .match = &match,
    };

    adp_desired_begin(desired, &rule->contributor);
    for (int i = 1; i <= N_SOURCES; i++) {
        if (rule->sources & 1u << i) {
            init_match(&match, i, 0);
            adp_desired_add_clause(desired, &rule->contributor, &key,
                                   rule->conj_id, 1, 2);
        }
    }
    for (int i = 1; i <= N_PORTS; i++) {
        if (rule->ports & 1u << i) {
            init_match(&match, 0, i);
            adp_desired_add_clause(desired, &rule->contributor, &key,
                                   rule->conj_id, 2, 2);
        }
    }
    match_init_catchall(&match);
    match_set_conj_id(&match, rule->conj_id);
    ofpbuf_init(&ofpacts, 64);
    ofpact_put_GOTO_TABLE(&ofpacts)->table_id = rule->verdict;
    adp_desired_add_flow(desired, &rule->contributor, &key, ofpacts.data,
                         ofpacts.size);
    ofpbuf_uninit(&ofpacts);
    adp_desired_end(desired, &rule->contributor);
}

/* What isn't for any rule of a table goes on with the next one. */
static void
say_misses(struct adp_contributor *contributor)
{
    adp_desired_begin(desired, contributor);
    for (size_t i = 0; i < ARRAY_SIZE(rule_tables); i++) {
        char *flow = xasprintf("table=%d,priority=0 actions=drop",
                               rule_tables[i]);

        adp_desired_add_text(desired, contributor, flow, NULL, NULL);
        free(flow);
    }
    adp_desired_end(desired, contributor);
}

/* Gives 'rule' a priority. */
static void
place_rule(struct rule *rules, struct rule *rule)
{
    bool taken;

    do {
        rule->priority = 100 + random_range(40);
        taken = false;
        for (int i = 0; i < MAX_RULES; i++) {
            taken = taken || (&rules[i] != rule && rules[i].exists
                              && rules[i].table_id == rule->table_id
                              && rules[i].priority == rule->priority);
        }
    } while (taken);
}

static void
new_rule(struct rule *rules, struct rule *rule)
{
    rule->exists = true;
    rule->conj_id = ++last_conj_id;
    rule->table_id = rule_tables[random_range(ARRAY_SIZE(rule_tables))];
    rule->verdict = 10 + random_range(N_VERDICTS);
    rule->sources = random_range(1u << N_SOURCES) << 1;
    rule->ports = random_range(1u << N_PORTS) << 1;
    place_rule(rules, rule);
    say_rule(rule);
}

/* Changes some rules: others come, go, move, or get or lose sources. */
static void
change_rules(struct rule *rules)
{
    for (int i = 0; i < MAX_RULES; i++) {
        struct rule *rule = &rules[i];
        unsigned int some = random_range(1u << N_SOURCES) << 1;

        switch (rule->exists ? random_range(7) : random_range(3)) {
        case 0:
            new_rule(rules, rule);
            break;
        case 1:
            if (rule->exists) {
                adp_desired_remove(desired, &rule->contributor);
                rule->exists = false;
            }
            break;
        case 3:
            rule->sources |= some;
            say_rule(rule);
            break;
        case 4:
            rule->sources &= some;
            say_rule(rule);
            break;
        case 5:
            rule->verdict = 10 + random_range(N_VERDICTS);
            say_rule(rule);
            break;
        case 6:
            place_rule(rules, rule);
            say_rule(rule);
            break;
        default:
            break;
        }
    }
}

/* Committing. */

static enum adp_commit_how how;

static struct adp_commit *
begin(size_t slice)
{
    struct adp_error *error;
    struct adp_commit *commit = adp_commit_create(&bridge, &pipeline, desired,
                                                  how, &error);

    ck_assert_msg(commit, "%s", error ? error->message : "");
    if (slice) {
        adp_commit_slice(commit, slice);
    }
    return commit;
}

/* Returns true if all went well. */
static bool
run(struct adp_commit *commit)
{
    struct adp_turn_slice slice;

    adp_turn_slice_init_whole(&slice);
    ck_assert(adp_commit_run(commit, &slice));

    struct adp_error *error = adp_commit_take_error(commit);
    bool ok = !error;
    if (error) {
        ck_assert_str_eq(error->code, "internal");
        ck_assert_str_eq(error->message,
                         "bridge br-test refused the flows: no room");
        adp_error_destroy(error);
    }
    if (ok) {
        adp_desired_accept(desired);
    } else {
        adp_desired_revert(desired);
    }
    return ok;
}

static bool
commit_in_slices(size_t n)
{
    struct adp_commit *commit = begin(n);
    bool ok = run(commit);

    adp_commit_destroy(commit);
    return ok;
}

static void
setup(void)
{
    memset(&bridge, 0, sizeof bridge);
    desired = adp_desired_create();
    last_conj_id = 0;
    how = ADP_COMMIT_DIFFERENCE;
}

static void
teardown(void)
{
    for (size_t i = 0; i < bridge.n_flows; i++) {
        entry_free(&bridge.flows[i]);
    }
    adp_desired_destroy(desired);
}

static void
forget_rules(struct rule *rules)
{
    for (int i = 0; i < MAX_RULES; i++) {
        adp_contributor_uninit(&rules[i].contributor);
    }
}

static char *
bridge_to_string(void)
{
    struct shash shash = SHASH_INITIALIZER(&shash);
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < bridge.n_flows; i++) {
        shash_add(&shash, bridge.flows[i].key, bridge.flows[i].content);
    }
    const struct shash_node **nodes = shash_sort(&shash);
    for (size_t i = 0; i < shash_count(&shash); i++) {
        ds_put_format(&s, "%s %s\n", nodes[i]->name,
                      (const char *) nodes[i]->data);
    }
    for (size_t i = 0; i < N_GROUPS; i++) {
        if (bridge.groups[i]) {
            ds_put_format(&s, "group %"PRIuSIZE"\n", i);
        }
    }
    free(nodes);
    shash_destroy(&shash);
    return ds_steal_cstr(&s);
}

/* Tests. */

static verdicts before_all, after_all;
static size_t n_checked, n_different;

static void
gather_after(void)
{
    verdicts now;

    get_verdicts(now);
    for (int source = 1; source <= N_SOURCES; source++) {
        for (int port = 1; port <= N_PORTS; port++) {
            int v = now[source][port];

            ck_assert_msg(v == before_all[source][port]
                          || v == after_all[source][port],
                          "source %d, port %d: verdict %d is neither that of "
                          "before (%d) nor that of after (%d)", source, port,
                          v, before_all[source][port],
                          after_all[source][port]);
            n_checked++;
            n_different += before_all[source][port] != after_all[source][port];
        }
    }
}

/* Also if the commit says what was there before. */
START_TEST(test_packets_meet_before_or_after)
{
    struct adp_contributor misses = { .n_claims = 0 };
    struct rule rules[MAX_RULES];

    test_seed_random();
    how = _i ? ADP_COMMIT_ALL : ADP_COMMIT_DIFFERENCE;
    memset(rules, 0, sizeof rules);
    say_misses(&misses);
    ck_assert(commit_in_slices(0));
    for (int round = 0; round < 400; round++) {
        struct rule old[MAX_RULES];

        /* There, all at once, to see what comes of it, and back. */
        bridge.after = NULL;
        get_verdicts(before_all);
        memcpy(old, rules, sizeof old);
        change_rules(rules);
        struct adp_commit *commit = begin(SIZE_MAX);
        struct adp_turn_slice slice;
        adp_turn_slice_init_whole(&slice);
        ck_assert(adp_commit_run(commit, &slice));
        get_verdicts(after_all);
        adp_commit_destroy(commit);

        /* The way from there to here is the contrary one. */
        verdicts tmp;
        memcpy(tmp, before_all, sizeof tmp);
        adp_desired_accept(desired);
        for (int i = 0; i < MAX_RULES; i++) {
            struct adp_contributor kept = rules[i].contributor;

            rules[i] = old[i];
            rules[i].contributor = kept;
            if (rules[i].exists) {
                say_rule(&rules[i]);
            } else {
                adp_desired_remove(desired, &rules[i].contributor);
            }
        }
        memcpy(before_all, after_all, sizeof before_all);
        memcpy(after_all, tmp, sizeof after_all);
        bridge.after = gather_after;
        ck_assert(commit_in_slices(1 + random_range(2)));
        verdicts now;
        get_verdicts(now);
        ck_assert(!memcmp(now, after_all, sizeof now));

        /* Go on from somewhere else. */
        bridge.after = NULL;
        change_rules(rules);
        ck_assert(commit_in_slices(3));
    }
    printf("%"PRIuSIZE" verdicts, %"PRIuSIZE" of packets for which something "
           "changed\n", n_checked, n_different);
    ck_assert_uint_gt(n_different, 1000);
    bridge.after = NULL;
    forget_rules(rules);
    adp_contributor_uninit(&misses);
}
END_TEST

START_TEST(test_refusal_leaves_what_was)
{
    struct rule rules[MAX_RULES];
    size_t n_refused = 0;

    test_seed_random();
    memset(rules, 0, sizeof rules);
    for (int round = 0; round < 300; round++) {
        struct rule old[MAX_RULES];
        char *was = bridge_to_string();

        memcpy(old, rules, sizeof old);
        change_rules(rules);
        bridge.n_commits = 0;
        bridge.refuse_at = random_range(2) ? 1 + random_range(20) : 0;
        bool ok = commit_in_slices(1 + random_range(4));
        char *is = bridge_to_string();
        if (!ok) {
            n_refused++;
            ck_assert_str_eq(is, was);
            for (int i = 0; i < MAX_RULES; i++) {
                struct adp_contributor kept = rules[i].contributor;

                rules[i] = old[i];
                rules[i].contributor = kept;
            }
        }
        free(is);
        free(was);
    }
    printf("%"PRIuSIZE" refused\n", n_refused);
    ck_assert_uint_gt(n_refused, 20);
    forget_rules(rules);
}
END_TEST

START_TEST(test_refusal_of_the_way_back)
{
    struct rule rules[MAX_RULES];

    test_seed_random();
    memset(rules, 0, sizeof rules);
    for (int i = 0; i < 4; i++) {
        new_rule(rules, &rules[i]);
    }
    bridge.refuse_at = 4;
    bridge.refuse_more = 1;
    struct adp_commit *commit = begin(1);
    ck_assert(!run(commit));
    adp_commit_destroy(commit);
    forget_rules(rules);
}
END_TEST

/* Flows of table 1 that name groups, with what they lead to in table 5. */
static void
say_services(struct adp_contributor *contributor, int first, int last,
             int bucket)
{
    adp_desired_begin(desired, contributor);
    for (int i = first; i <= last; i++) {
        char *group = xasprintf("group_id=%d,type=select,bucket=bucket_id:0,"
                                "actions=output:%d", i, bucket);
        char *flow = xasprintf("table=1,priority=%d actions=group:%d", i, i);
        char *end = xasprintf("table=5,priority=%d actions=drop", i);

        adp_desired_add_text(desired, contributor, flow, NULL, NULL);
        adp_desired_add_group_text(desired, contributor, group, NULL, NULL);
        adp_desired_add_text(desired, contributor, end, NULL, NULL);
        free(end);
        free(flow);
        free(group);
    }
    adp_desired_end(desired, contributor);
}

/* A flow of table 1 has what it leads to. */
static void
check_services(void)
{
    for (size_t i = 0; i < bridge.n_flows; i++) {
        const struct flow_entry *entry = &bridge.flows[i];

        if (entry->table_id == 1) {
            char *key = xasprintf("table=5,priority=%d", entry->priority);

            ck_assert_msg(find_entry(key), "%s isn't there", key);
            ck_assert(bridge.groups[entry->group]);
            free(key);
        }
    }
}

START_TEST(test_what_leads_somewhere_comes_later)
{
    struct adp_contributor services = { .n_claims = 0 };

    bridge.after = check_services;
    say_services(&services, 1, 20, 1);
    ck_assert(commit_in_slices(1));
    ck_assert_uint_eq(bridge.n_flows, 40);
    say_services(&services, 10, 40, 2);
    ck_assert(commit_in_slices(1));
    ck_assert_uint_eq(bridge.n_flows, 62);

    /* And back. */
    char *was = bridge_to_string();
    say_services(&services, 1, 20, 3);
    bridge.refuse_at = bridge.n_commits + 60;
    ck_assert(!commit_in_slices(1));
    char *is = bridge_to_string();
    ck_assert_str_eq(is, was);
    free(is);
    free(was);
    adp_desired_remove(desired, &services);
    bridge.refuse_at = 0;
    ck_assert(commit_in_slices(1));
    ck_assert_uint_eq(bridge.n_flows, 0);
}
END_TEST

static void
say_many(struct adp_contributor *contributor, int n)
{
    adp_desired_begin(desired, contributor);
    for (int i = 0; i < n; i++) {
        char *flow = xasprintf("table=7,priority=%d actions=drop", i);

        adp_desired_add_text(desired, contributor, flow, NULL, NULL);
        free(flow);
    }
    adp_desired_end(desired, contributor);
}

/* Says that there are so many flows of 3,000 clauses each, and groups of as
 * many buckets. */
static void
say_long_ones(struct adp_contributor *contributor, int n_flows, int n_groups)
{
    struct ds buckets = DS_EMPTY_INITIALIZER;
    struct match match;

    match_init_catchall(&match);
    for (int i = 0; i < 3000; i++) {
        ds_put_format(&buckets, ",bucket=bucket_id:%d,actions=output:1", i);
    }
    adp_desired_begin(desired, contributor);
    for (int i = 1; i <= n_flows; i++) {
        const struct adp_flow_key key = {
            .table_id = 7, .priority = i, .match = &match,
        };

        for (int j = 1; j <= 3000; j++) {
            adp_desired_add_clause(desired, contributor, &key, j, 1, 2);
        }
    }
    for (int i = 1; i <= n_groups; i++) {
        char *group = xasprintf("group_id=%d,type=select%s", i, buckets.string);

        adp_desired_add_group_text(desired, contributor, group, NULL, NULL);
        free(group);
    }
    adp_desired_end(desired, contributor);
    ds_destroy(&buckets);
}

/* One version has few of what takes long each. */
START_TEST(test_slices_of_long_ones)
{
    struct adp_contributor long_ones = { .n_claims = 0 };
    struct classifier_model classifier;

    classifier_model_init(&classifier);
    bridge.classifier = &classifier;
    say_long_ones(&long_ones, 10, 10);
    ck_assert(commit_in_slices(100));
    ck_assert_uint_eq(bridge.largest, 2);
    ck_assert_uint_eq(bridge.n_commits, 10);

    /* They go until the bridge refuses, and come back.  Groups without
     * buckets are nothing to mention. */
    bridge.n_commits = 0;
    bridge.refuse_at = 4;
    say_long_ones(&long_ones, 0, 0);
    ck_assert(!commit_in_slices(100));
    ck_assert_uint_eq(bridge.largest, 2);
    ck_assert_uint_eq(bridge.n_commits, 4 + 3);
    bridge.refuse_at = 0;
    bridge.largest = bridge.n_commits = 0;
    say_long_ones(&long_ones, 0, 0);
    ck_assert(commit_in_slices(100));
    ck_assert_uint_eq(bridge.largest, 10);
    ck_assert_uint_eq(bridge.n_commits, 6);
    classifier_model_uninit(&classifier);
}
END_TEST

/* Nor has the only one that few changes make, whatever has many parts. */
START_TEST(test_few_long_ones)
{
    struct adp_contributor long_ones = { .n_claims = 0 };
    struct classifier_model classifier;
    bool flows = _i != 1, groups = _i != 0;
    int n = 20 / (flows + groups);

    classifier_model_init(&classifier);
    bridge.classifier = &classifier;
    say_long_ones(&long_ones, flows * n, groups * n);
    ck_assert(commit_in_slices(0));
    ck_assert_uint_eq(bridge.n_commits, 1);
    say_long_ones(&long_ones, flows * (n + 30), groups * (n + 30));
    bridge.largest = bridge.n_commits = 0;
    ck_assert(commit_in_slices(0));
    ck_assert_uint_eq(bridge.largest, 2);
    ck_assert_uint_ge(bridge.n_commits, 15);
    adp_contributor_uninit(&long_ones);
    classifier_model_uninit(&classifier);
}
END_TEST

START_TEST(test_size_of_slices)
{
    struct adp_contributor many = { .n_claims = 0 };
    size_t n_done;

    /* Few: one version. */
    say_many(&many, ADP_COMMIT_WHOLE);
    ck_assert(commit_in_slices(0));
    ck_assert_uint_eq(bridge.n_commits, 1);
    ck_assert_uint_eq(bridge.largest, ADP_COMMIT_WHOLE);
    say_many(&many, 0);
    ck_assert(commit_in_slices(0));

    /* Many: as many as it takes. */
    bridge.n_commits = bridge.largest = 0;
    say_many(&many, ADP_COMMIT_WHOLE + 1);
    struct adp_commit *commit = begin(0);
    ck_assert_uint_eq(adp_commit_count(commit, &n_done), ADP_COMMIT_WHOLE + 1);
    ck_assert_uint_eq(n_done, 0);
    ck_assert(run(commit));
    ck_assert_uint_eq(adp_commit_count(commit, &n_done), n_done);
    adp_commit_destroy(commit);
    ck_assert_uint_gt(bridge.n_commits, 4);
    ck_assert_uint_le(bridge.largest, 256);
    ck_assert_uint_eq(bridge.n_flows, ADP_COMMIT_WHOLE + 1);

    /* Nothing: no version. */
    bridge.n_commits = 0;
    say_many(&many, ADP_COMMIT_WHOLE + 1);
    ck_assert(commit_in_slices(0));
    ck_assert_uint_eq(bridge.n_commits, 0);
    adp_contributor_uninit(&many);
}
END_TEST

/* Rules with few different matches, each with a priority of its own, come and
 * go with a few steps for each flow, and in each version one way through the
 * list of each match: all have some 2 * N flows together. */
START_TEST(test_many_priorities_take_few_steps)
{
    enum { N = 3000 };
    struct rule *rules = xcalloc(N, sizeof *rules);
    struct classifier_model classifier;

    classifier_model_init(&classifier);
    bridge.classifier = &classifier;
    for (int i = 0; i < N; i++) {
        rules[i] = (struct rule) {
            .table_id = 2,
            .priority = 100 + i,
            .conj_id = 1 + i,
            .sources = 1u << 1,
            .ports = 1u << (1 + i % N_PORTS),
            .verdict = 4,
        };
        say_rule(&rules[i]);
    }
    ck_assert(commit_in_slices(0));
    printf("%"PRIuSIZE" steps to add %d flows\n", classifier.n_steps, 3 * N);
    ck_assert_uint_le(classifier.n_steps,
                      3 * 3 * N + bridge.n_commits * 2 * N);

    classifier.n_steps = bridge.n_commits = 0;
    for (int i = 0; i < N; i++) {
        adp_desired_remove(desired, &rules[i].contributor);
    }
    ck_assert(commit_in_slices(0));
    printf("%"PRIuSIZE" steps to delete them\n", classifier.n_steps);
    ck_assert_uint_le(classifier.n_steps,
                      4 * 3 * N + bridge.n_commits * 2 * N);
    bridge.classifier = NULL;
    classifier_model_uninit(&classifier);
    free(rules);
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("commit");
    TCase *tc = tcase_create("commit");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, test_packets_meet_before_or_after, 0, 2);
    tcase_add_test(tc, test_refusal_leaves_what_was);
    tcase_add_test(tc, test_refusal_of_the_way_back);
    tcase_add_test(tc, test_what_leads_somewhere_comes_later);
    tcase_add_test(tc, test_size_of_slices);
    tcase_add_test(tc, test_slices_of_long_ones);
    tcase_add_loop_test(tc, test_few_long_ones, 0, 3);
    tcase_add_test(tc, test_many_priorities_take_few_steps);
    suite_add_tcase(s, tc);
    return s;
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);

    SRunner *runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    int n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
