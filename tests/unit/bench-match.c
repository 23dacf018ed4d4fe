/* SPDX-License-Identifier: Apache-2.0 */

/* How long look-ups and changes take, for tables with conjunctions.
 *
 *     bench-match [-r] FLOWS...
 *
 * Each file has one flow per line, as ovs-ofctl takes them.  It prints, per
 * file, how long the bulk took, per table what it needs and cycles per look-up
 * (median).  For tables with conjunctions that is for several kinds of
 * packets, with hot caches, in turn, and with cold caches, and then the mean
 * over a million packets, one after the other; and there are the microseconds
 * (median and maximum) for a conjunction that comes and goes.  "-r" leaves
 * only the million packets.
 *
 * Nothing here is checked: it is no test. */

#include <config.h>
#undef NDEBUG
#include <stdio.h>
#include <stdlib.h>
#include "adp-match.h"
#include "adp-program.h"
#include "bench-match-keys.h"
#include "bench-match-time.h"
#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofpbuf.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "random.h"
#include "timeval.h"
#include "util.h"

enum {
    N_PACKETS = 256,
    N_COLD = 100,
    N_CHANGES = 200,
    N_KEYS = 1 << 20,
    EVICT_BYTES = 64 * 1024 * 1024,
};

static double
seconds(void)
{
    struct timespec ts;

    xclock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec + ts.tv_nsec / 1e9;
}

static int
compare_doubles(const void *a_, const void *b_)
{
    const double *a = a_;
    const double *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static double
median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_doubles);
    return values[n / 2];
}

/* Only packets for random rules? */
static bool only_random;

/* Rules. */

struct rules {
    struct adp_rule **rules;
    size_t n, allocated;
};

static void
rules_add(struct rules *rules, struct adp_rule *rule)
{
    if (rules->n >= rules->allocated) {
        rules->rules = x2nrealloc(rules->rules, &rules->allocated,
                                  sizeof *rules->rules);
    }
    rules->rules[rules->n++] = rule;
}

static void
collect(struct adp_rule *rule, void *rules)
{
    rules_add(rules, rule);
}

static bool
load(const char *name, struct rules *rules)
{
    FILE *file = fopen(name, "r");
    struct ds line = DS_EMPTY_INITIALIZER;

    if (!file) {
        perror(name);
        return false;
    }
    while (!ds_get_line(&line, file)) {
        enum ofputil_protocol usable;
        struct ofputil_flow_mod fm;
        char *error;

        error = parse_ofp_flow_mod_str(&fm, ds_cstr(&line), NULL, NULL,
                                       OFPFC_ADD, &usable);
        if (error) {
            ovs_fatal(0, "%s: %s: %s", name, ds_cstr(&line), error);
        }
        rules_add(rules, adp_rule_create(fm.table_id, fm.priority, &fm.match,
                                         fm.new_cookie, fm.ofpacts,
                                         fm.ofpacts_len, NULL, NULL));
        minimatch_destroy(&fm.match);
        free(CONST_CAST(struct ofpact *, fm.ofpacts));
    }
    ds_destroy(&line);
    fclose(file);
    return true;
}

static size_t
rule_size(const struct adp_rule *rule)
{
    size_t size = 2 * (sizeof(struct miniflow)
                       + MINIFLOW_VALUES_SIZE(
                           miniflow_n_values(rule->match->flow)));

    if (rule->n_conjs) {
        return (size + sizeof(struct adp_clause_rule)
                + rule->n_conjs * sizeof(struct adp_conj_clause));
    }

    const struct adp_op_list *ops = adp_rule_ops(rule);

    return (size + sizeof(struct adp_acting_rule) + ops->ofpacts_len
            + ops->n_ops * sizeof *ops->ops);
}

/* Packets. */

/* Makes 'flow' one that 'match' matches. */
static void
force_match(struct flow *flow, const struct minimatch *minimatch)
{
    struct match match;

    minimatch_expand(minimatch, &match);
    for (size_t i = 0; i < FLOW_U64S; i++) {
        uint64_t mask = flow_u64_value(&match.wc.masks, i);

        *flow_u64_lvalue(flow, i)
            = ((flow_u64_value(flow, i) & ~mask)
               | flow_u64_value(&match.flow, i));
    }
}

static void
miss_flow(struct flow *flow)
{
    memset(flow, 0, sizeof *flow);
    flow->dl_type = htons(ETH_TYPE_IP);
    flow->nw_proto = IPPROTO_TCP;
    flow->nw_src = htonl(0xcb007100 + random_range(256));
    flow->nw_dst = htonl(0xcb007200 + random_range(256));
    flow->tp_src = htons(random_range(65536));
    flow->tp_dst = htons(9);
    flow->regs[1] = 0xfffff;
    flow->ct_state = CS_TRACKED | CS_NEW;
}

/* A rule of the table for a match, among the first 'n'. */
static const struct adp_rule *
random_rule(const struct rules *rules, size_t n,
            bool (*suits)(const struct adp_rule *))
{
    for (int i = 0; i < 100000; i++) {
        const struct adp_rule *rule = rules->rules[random_range(n)];

        if (rule->n_conjs && suits(rule)) {
            return rule;
        }
    }
    return NULL;
}

static bool
is_any(const struct adp_rule *rule OVS_UNUSED)
{
    return true;
}

static bool
is_address(const struct adp_rule *rule)
{
    return (MINIFLOW_GET_BE32(&rule->match->mask->masks, nw_src)
            || MINIFLOW_GET_BE32(&rule->match->mask->masks, nw_dst)
            || MINIFLOW_GET_U32(&rule->match->mask->masks, regs[1]));
}

static bool
is_shared_address(const struct adp_rule *rule)
{
    return rule->n_conjs > 1 && is_address(rule);
}

static bool
is_port(const struct adp_rule *rule)
{
    return MINIFLOW_GET_BE16(&rule->match->mask->masks, tp_dst) != 0;
}

static bool
is_shared_port(const struct adp_rule *rule)
{
    return rule->n_conjs > 1 && is_port(rule);
}

/* Meets all clauses of a conjunction among the first 'n' rules. */
static void
hit_flow(const struct rules *rules, size_t n, struct flow *flow)
{
    const struct adp_rule *rule = random_rule(rules, n, is_any);
    const struct adp_conj_clause *c = &adp_rule_conjs(rule)[
        random_range(rule->n_conjs)];
    uint64_t seen = 0;

    miss_flow(flow);
    for (size_t i = 0; i < rules->n; i++) {
        const struct adp_rule *r = rules->rules[i];

        if (r->priority != rule->priority) {
            continue;
        }
        for (size_t j = 0; j < r->n_conjs; j++) {
            const struct adp_conj_clause *rc = &adp_rule_conjs(r)[j];

            if (rc->id == c->id && !(seen >> rc->clause & 1)) {
                seen |= UINT64_C(1) << rc->clause;
                force_match(flow, r->match);
            }
        }
    }
}

enum kind { EARLY, HIT, PODS, PEER, PORT, MISS, N_KINDS };
static const char *const kind_names[N_KINDS] = {
    "early", "hit", "pods", "peer", "port", "miss",
};

static void
force_random(struct flow *flow, const struct rules *rules,
             bool (*suits)(const struct adp_rule *))
{
    const struct adp_rule *rule = random_rule(rules, rules->n, suits);

    if (rule) {
        force_match(flow, rule->match);
    }
}

static void
make_flow(const struct rules *rules, enum kind kind, struct flow *flow)
{
    miss_flow(flow);
    switch (kind) {
    case EARLY:             /* One of the top rules. */
        hit_flow(rules, MAX(rules->n / 100, 10), flow);
        break;
    case HIT:               /* Any rule. */
        hit_flow(rules, rules->n, flow);
        break;
    case PODS:              /* Between much used addresses, to a shared port. */
        for (int i = 0; i < 4; i++) {
            force_random(flow, rules, is_shared_address);
        }
        force_random(flow, rules, is_shared_port);
        break;
    case PEER:              /* Some address, some port. */
        force_random(flow, rules, is_address);
        force_random(flow, rules, is_port);
        break;
    case PORT:              /* Only the port is known. */
        force_random(flow, rules, is_shared_port);
        break;
    case MISS:
    case N_KINDS:
        break;
    }
    flow->conj_id = 0;
}

/* Look-ups. */

static volatile uintptr_t sink;

static void
evict(void)
{
    static char *memory;

    if (!memory) {
        memory = xzalloc(EVICT_BYTES);
    }
    for (size_t i = 0; i < EVICT_BYTES; i += 64) {
        memory[i]++;
    }
}

static double
time_hot(const struct adp_match *match, struct flow *flow,
         struct adp_match_scratch *scratch)
{
    enum { N = 64 };
    double best = 1e9;

    for (int round = 0; round < 5; round++) {
        uint64_t start = bench_cycles();

        for (int i = 0; i < N; i++) {
            sink += (uintptr_t) adp_match_lookup(match, flow, scratch);
        }
        best = MIN(best, (bench_cycles() - start) / (double) N);
    }
    return best;
}

static double
time_cold(const struct adp_match *match, struct flow *flow,
          struct adp_match_scratch *scratch)
{
    uint64_t start;

    evict();
    start = bench_cycles();
    sink += (uintptr_t) adp_match_lookup(match, flow, scratch);
    return bench_cycles() - start;
}

static void
bench_lookups(const struct adp_table *table, const struct rules *rules)
{
    struct adp_match_scratch scratch = { .words = NULL };

    printf("    cycles per look-up, hot/mixed/cold:");
    for (enum kind kind = 0; kind < N_KINDS; kind++) {
        static struct flow flows[N_PACKETS];
        double hot[N_PACKETS], cold[N_COLD];
        int n_found = 0;
        uint64_t start;
        double mixed;

        for (int i = 0; i < N_PACKETS; i++) {
            struct adp_rule *rule;

            make_flow(rules, kind, &flows[i]);
            hot[i] = time_hot(table->match, &flows[i], &scratch);
            rule = adp_match_lookup(table->match, &flows[i], &scratch);
            n_found += (rule
                        && MINIFLOW_GET_U32(rule->match->flow, conj_id) != 0);
        }
        start = bench_cycles();
        for (int j = 0; j < 20; j++) {
            for (int i = 0; i < N_PACKETS; i++) {
                sink += (uintptr_t) adp_match_lookup(table->match, &flows[i],
                                                     &scratch);
            }
        }
        mixed = (bench_cycles() - start) / (20.0 * N_PACKETS);
        for (int i = 0; i < N_COLD; i++) {
            cold[i] = time_cold(table->match, &flows[i % N_PACKETS],
                                &scratch);
        }
        printf(" %s(%d%%) %.0f/%.0f/%.0f", kind_names[kind],
               n_found * 100 / N_PACKETS, median(hot, N_PACKETS), mixed,
               median(cold, N_COLD));
        fflush(stdout);
    }
    printf("\n");
    adp_match_scratch_uninit(&scratch);
}

/* A million packets for random rules, none twice: the caches hold what they
 * can.  'keys' get the packets that hit. */
static void
bench_random_lookups(const struct adp_table *table, const struct rules *rules,
                     struct packet_key *keys)
{
    const struct adp_match *matches[] = { table->match };
    struct clause_rules clauses;

    clause_rules_init(&clauses, rules->rules, rules->n);
    printf("    cycles per look-up, %d packets:", N_KEYS);
    for (int kind = PACKET_N_KINDS - 1; kind >= 0; kind--) {
        double time, hits;

        for (size_t i = 0; i < N_KEYS; i++) {
            packet_key_random(&keys[i], &clauses, kind);
        }
        time = packet_keys_time(keys, N_KEYS, matches, 1, &hits);
        printf(" %s(%.0f%%) %.0f", packet_kind_names[kind], hits, time);
        fflush(stdout);
    }
    printf("\n");
    clause_rules_uninit(&clauses);
}

/* Packets that hit in any of the tables with conjunctions, each looked up in
 * all of them, as in a walk. */
static void
bench_walks(const struct adp_program *program,
            struct packet_key *const keys[])
{
    struct packet_key *all = xmalloc(N_KEYS * sizeof *all);
    const struct packet_key *used[ADP_N_TABLES];
    const struct adp_match *matches[ADP_N_TABLES];
    size_t n = 0;
    double hits;

    for (int i = 0; i < ADP_N_TABLES; i++) {
        if (keys[i]) {
            used[n] = keys[i];
            matches[n++] = program->tables[i]->match;
        }
    }
    if (n) {
        for (size_t i = 0; i < N_KEYS; i++) {
            all[i] = used[i % n][i];
        }
        printf("  cycles per look-up, %d packets for each of these tables in "
               "turn: %.0f\n", N_KEYS,
               packet_keys_time(all, N_KEYS, matches, n, &hits));
    }
    free(all);
}

/* For tables without conjunctions: packets for a rule each. */
static void
bench_plain_lookups(const struct adp_table *table, const struct rules *rules)
{
    struct adp_match_scratch scratch = { .words = NULL };
    double hot[N_PACKETS];

    for (int i = 0; i < N_PACKETS; i++) {
        struct flow flow;

        miss_flow(&flow);
        force_match(&flow, rules->rules[random_range(rules->n)]->match);
        hot[i] = time_hot(table->match, &flow, &scratch);
    }
    printf("    cycles per look-up, hot: %.0f\n", median(hot, N_PACKETS));
    adp_match_scratch_uninit(&scratch);
}

/* Changes. */

static void
put_clause(struct ofpbuf *ofpacts, const struct adp_conj_clause *c)
{
    struct ofpact_conjunction *conj = ofpact_put_CONJUNCTION(ofpacts);

    conj->id = c->id;
    conj->clause = c->clause;
    conj->n_clauses = c->n_clauses;
}

static struct adp_rule *
with_clause(const struct adp_rule *rule, uint32_t id, int clause, bool add)
{
    struct adp_conj_clause added = {
        .id = id, .clause = clause, .n_clauses = 3,
    };
    struct ofpbuf ofpacts;
    struct adp_rule *new;

    ofpbuf_init(&ofpacts, 1024);
    for (size_t i = 0; i < rule->n_conjs; i++) {
        const struct adp_conj_clause *c = &adp_rule_conjs(rule)[i];

        if (c->id != id) {
            put_clause(&ofpacts, c);
        }
    }
    if (add) {
        put_clause(&ofpacts, &added);
    }
    new = adp_rule_create(rule->table_id, rule->priority, rule->match, 0,
                          ofpacts.data, ofpacts.size, NULL, NULL);
    ofpbuf_uninit(&ofpacts);
    return new;
}

static struct adp_rule *
fresh_rule(const struct adp_rule *like, uint32_t address, uint32_t conj_id)
{
    struct minimatch minimatch;
    struct ofpbuf ofpacts;
    struct match match;
    struct adp_rule *rule;

    match_init_catchall(&match);
    match_set_dl_type(&match, htons(ETH_TYPE_IP));
    if (conj_id) {
        match_set_conj_id(&match, conj_id);
    } else {
        match_set_nw_src(&match, htonl(address));
    }
    minimatch_init(&minimatch, &match);
    ofpbuf_init(&ofpacts, 0);
    rule = adp_rule_create(like->table_id, like->priority - (conj_id != 0),
                           &minimatch, 0, ofpacts.data, 0, NULL, NULL);
    minimatch_destroy(&minimatch);
    ofpbuf_uninit(&ofpacts);
    return rule;
}

/* Compiles a delta and publishes the result, so to speak.  Returns
 * microseconds. */
static double
commit(struct adp_program **program, struct adp_delta *delta)
{
    double start = seconds();
    struct adp_program *new = adp_compile(*program, delta);
    double us = (seconds() - start) * 1e6;

    adp_program_unref(*program);
    adp_delta_destroy(delta);
    *program = new;
    return us;
}

/* A conjunction with two shared clauses, three matches of its own and its
 * conj_id rule comes and goes. */
static void
bench_changes(struct adp_program **program, const struct rules *rules)
{
    double come[N_CHANGES], go[N_CHANGES];

    for (int i = 0; i < N_CHANGES; i++) {
        uint32_t id = 0x40000000 + i;
        const struct adp_rule *like[2];
        struct rules old = { .n = 0 }, new = { .n = 0 };
        struct adp_delta *delta;

        like[0] = random_rule(rules, rules->n, is_address);
        do {
            like[1] = random_rule(rules, rules->n, is_any);
        } while (like[1] == like[0]);
        for (int j = 0; j < 2; j++) {
            rules_add(&old, CONST_CAST(struct adp_rule *, like[j]));
            rules_add(&new, with_clause(like[j], id, j, true));
        }
        for (int j = 0; j < 3; j++) {
            struct adp_rule *rule = fresh_rule(like[0],
                                               0xcb000000 + 4 * i + j, 0);

            rules_add(&new, with_clause(rule, id, 2, true));
            adp_rule_unref(rule);
        }
        rules_add(&new, fresh_rule(like[0], 0, id));

        delta = adp_delta_create();
        for (size_t j = 0; j < new.n; j++) {
            adp_delta_add_rule(delta, new.rules[j]);
        }
        for (size_t j = 0; j < old.n; j++) {
            adp_delta_remove_rule(delta, old.rules[j]);
        }
        come[i] = commit(program, delta);

        delta = adp_delta_create();
        for (size_t j = 0; j < new.n; j++) {
            adp_delta_remove_rule(delta, new.rules[j]);
        }
        for (size_t j = 0; j < old.n; j++) {
            adp_delta_add_rule(delta, old.rules[j]);
        }
        go[i] = commit(program, delta);
        for (size_t j = 0; j < new.n; j++) {
            adp_rule_unref(new.rules[j]);
        }
        free(new.rules);
        free(old.rules);
        ovsrcu_quiesce();
    }
    printf("    change, us: comes %.1f", median(come, N_CHANGES));
    printf(" (max %.1f), goes %.1f", come[N_CHANGES - 1],
           median(go, N_CHANGES));
    printf(" (max %.1f)\n", go[N_CHANGES - 1]);
}

/* Returns packets for random rules, if the table has conjunctions. */
static struct packet_key *
bench_table(struct adp_program **program, uint8_t id)
{
    struct packet_key *keys = NULL;
    const struct adp_table *table = (*program)->tables[id];
    struct rules rules = { .n = 0 };
    size_t flow_bytes = 0, n_clauses = 0;

    adp_match_for_each(table->match, collect, &rules);
    adp_rules_sort(rules.rules, rules.n);
    for (size_t i = 0; i < rules.n; i++) {
        flow_bytes += rule_size(rules.rules[i]);
        n_clauses += rules.rules[i]->n_conjs;
    }
    printf("  table %d: %s, %"PRIuSIZE" flows, %"PRIuSIZE" clauses, "
           "%"PRIuSIZE" bytes (flows %"PRIuSIZE")\n",
           id, table->match->class->name, rules.n, n_clauses,
           table->match->class->size(table->match), flow_bytes);
    if (!strcmp(table->match->class->name, "conjunction")) {
        if (!only_random) {
            bench_lookups(table, &rules);
        }
        keys = xmalloc(N_KEYS * sizeof *keys);
        bench_random_lookups(table, &rules, keys);
        bench_changes(program, &rules);
    } else if (!only_random) {
        bench_plain_lookups(table, &rules);
    }
    free(rules.rules);
    return keys;
}

static struct adp_delta *
delta_of(const struct rules *rules, bool add)
{
    struct adp_delta *delta = adp_delta_create();

    for (size_t i = 0; i < rules->n; i++) {
        if (add) {
            adp_delta_add_rule(delta, rules->rules[i]);
        } else {
            adp_delta_remove_rule(delta, rules->rules[i]);
        }
    }
    return delta;
}

static void
bench(const char *name)
{
    struct rules rules = { .n = 0 }, again = { .n = 0 };
    struct adp_program *program = adp_program_create();
    struct packet_key *keys[ADP_N_TABLES] = { NULL };
    struct adp_delta *delta;
    double us;

    if (!load(name, &rules) || !load(name, &again)) {
        exit(EXIT_FAILURE);
    }
    us = commit(&program, delta_of(&rules, true));
    printf("%s: %"PRIuSIZE" flows, bulk %.0f ms", name, rules.n, us / 1000);
    delta = delta_of(&rules, false);
    for (size_t i = 0; i < again.n; i++) {
        adp_delta_add_rule(delta, again.rules[i]);
    }
    us = commit(&program, delta);
    printf(", replaced by the same %.0f ms", us / 1000);
    us = commit(&program, delta_of(&again, false));
    printf(", removed %.0f ms\n", us / 1000);
    commit(&program, delta_of(&again, true));

    for (int i = 0; i < ADP_N_TABLES; i++) {
        if (program->tables[i]) {
            keys[i] = bench_table(&program, i);
        }
    }
    bench_walks(program, keys);
    for (int i = 0; i < ADP_N_TABLES; i++) {
        free(keys[i]);
    }
    adp_program_unref(program);
    for (size_t i = 0; i < rules.n; i++) {
        adp_rule_unref(rules.rules[i]);
        adp_rule_unref(again.rules[i]);
    }
    free(rules.rules);
    free(again.rules);
    ovsrcu_barrier();
}

int
main(int argc, char *argv[])
{
    random_set_seed(1);
    only_random = argc > 1 && !strcmp(argv[1], "-r");
    if (argc < 2 + only_random) {
        ovs_fatal(0, "usage: %s [-r] FLOWS...", argv[0]);
    }
    for (int i = 1 + only_random; i < argc; i++) {
        bench(argv[i]);
    }
    return 0;
}
