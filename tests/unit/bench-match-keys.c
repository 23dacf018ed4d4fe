/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG
#include "bench-match-keys.h"
#include <stdlib.h>
#include "adp-match-key.h"
#include "adp-match.h"
#include "adp-rules.h"
#include "bench-match-time.h"
#include "flow.h"
#include "packets.h"
#include "random.h"
#include "util.h"

const char *const packet_kind_names[PACKET_N_KINDS] = {
    "hit", "near", "miss",
};

struct clause_rule {
    const struct adp_rule *rule;
    uint32_t id;
    uint8_t clause;
};

static int
compare_conjs(const struct clause_rule *a, const struct clause_rule *b)
{
    if (a->rule->priority != b->rule->priority) {
        return a->rule->priority < b->rule->priority ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

static int
compare_clauses(const void *a_, const void *b_)
{
    const struct clause_rule *a = a_;
    const struct clause_rule *b = b_;
    int conjs = compare_conjs(a, b);

    return conjs ? conjs : (int) a->clause - b->clause;
}

/* Which clause is about Pods: that with ports of the bridge, if there is one.
 * Otherwise it is the first. */
static int
find_pod_clause(const struct clause_rules *cr)
{
    for (size_t i = 0; i < cr->n; i++) {
        const struct adp_rule *rule = cr->array[i].rule;

        if (MINIFLOW_GET_U32(&rule->match->mask->masks, regs[1])) {
            return cr->array[i].clause;
        }
    }
    return 0;
}

void
clause_rules_init(struct clause_rules *cr, struct adp_rule *const *rules,
                  size_t n)
{
    size_t allocated = 0;

    cr->array = NULL;
    cr->n = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < rules[i]->n_conjs; j++) {
            if (cr->n >= allocated) {
                cr->array = x2nrealloc(cr->array, &allocated,
                                       sizeof *cr->array);
            }
            cr->array[cr->n++] = (struct clause_rule) {
                .rule = rules[i],
                .id = adp_rule_conjs(rules[i])[j].id,
                .clause = adp_rule_conjs(rules[i])[j].clause,
            };
        }
    }
    qsort(cr->array, cr->n, sizeof *cr->array, compare_clauses);
    cr->pod_clause = find_pod_clause(cr);
}

void
clause_rules_uninit(struct clause_rules *cr)
{
    free(cr->array);
}

/* Makes 'flow' one that 'match' matches. */
static void
force_match(struct flow *flow, const struct minimatch *match)
{
    adp_flow_word *words = (adp_flow_word *) flow;
    size_t i;

    FLOWMAP_FOR_EACH_INDEX (i, match->mask->masks.map) {
        words[i] = ((words[i] & ~miniflow_get(&match->mask->masks, i))
                    | miniflow_get(match->flow, i));
    }
}

/* Makes 'flow' meet the clauses of the conjunction at 'i', or only the one
 * clause. */
static void
meet_clauses(struct flow *flow, const struct clause_rules *cr, size_t i,
             int only_clause)
{
    const struct clause_rule *any = &cr->array[i];
    size_t end;

    while (i > 0 && !compare_conjs(&cr->array[i - 1], any)) {
        i--;
    }
    for (; i < cr->n && !compare_conjs(&cr->array[i], any); i = end) {
        int clause = cr->array[i].clause;

        for (end = i; end < cr->n && cr->array[end].clause == clause
             && !compare_conjs(&cr->array[end], any); end++) {
            continue;
        }
        if (only_clause < 0 || only_clause == clause) {
            force_match(flow, cr->array[i + random_range(end - i)]
                        .rule->match);
        }
    }
}

void
packet_key_to_flow(const struct packet_key *key, struct flow *flow)
{
    flow->dl_type = htons(ETH_TYPE_IP);
    flow->nw_src = key->nw_src;
    flow->nw_dst = key->nw_dst;
    flow->tp_src = key->tp_src;
    flow->tp_dst = key->tp_dst;
    flow->nw_proto = key->nw_proto;
    flow->regs[1] = key->reg1;
    flow->ct_state = key->ct_state;
}

void
packet_key_random(struct packet_key *key, const struct clause_rules *cr,
                  enum packet_kind kind)
{
    struct flow flow;

    memset(&flow, 0, sizeof flow);
    flow.nw_proto = IPPROTO_TCP;
    flow.nw_src = htonl(0xcb000000 + random_range(1 << 24));
    flow.nw_dst = htonl(0xcb000000 + random_range(1 << 24));
    flow.tp_src = htons(random_range(65536));
    flow.tp_dst = htons(random_range(65536));
    flow.regs[1] = 0xfffff;
    flow.ct_state = CS_TRACKED | CS_NEW;
    switch (kind) {
    case PACKET_HIT:
        meet_clauses(&flow, cr, random_range(cr->n), -1);
        break;
    case PACKET_NEAR:
        for (int clause = 0; clause < 3; clause++) {
            meet_clauses(&flow, cr, random_range(cr->n), clause);
        }
        break;
    case PACKET_MISS:
        meet_clauses(&flow, cr, random_range(cr->n), cr->pod_clause);
        break;
    case PACKET_N_KINDS:
        OVS_NOT_REACHED();
    }
    *key = (struct packet_key) {
        .nw_src = flow.nw_src,
        .nw_dst = flow.nw_dst,
        .tp_src = flow.tp_src,
        .tp_dst = flow.tp_dst,
        .reg1 = flow.regs[1],
        .ct_state = flow.ct_state,
        .nw_proto = flow.nw_proto,
    };
}

double
packet_keys_time(const struct packet_key *keys, size_t n_keys,
                 const struct adp_match *const *matches, size_t n_matches,
                 double *hits)
{
    struct adp_match_scratch scratch = { .words = NULL };
    double overhead = bench_cycles_overhead();
    double sum = 0;
    size_t n_hits = 0, n = 0;
    struct flow flow;

    memset(&flow, 0, sizeof flow);
    for (size_t i = 0; i < n_keys; i++) {
        packet_key_to_flow(&keys[i], &flow);
        for (size_t j = 0; j < n_matches; j++) {
            const struct adp_rule *rule;
            uint64_t start, took;

            start = bench_cycles_start();
            rule = adp_match_lookup(matches[j], &flow, &scratch);
            took = bench_cycles_end() - start;
            if (took < 50000) {         /* Otherwise interrupted. */
                sum += took - overhead;
                n++;
            }
            n_hits += (rule
                       && MINIFLOW_GET_U32(rule->match->flow, conj_id) != 0);
        }
    }
    adp_match_scratch_uninit(&scratch);
    *hits = 100.0 * n_hits / (n_keys * n_matches);
    return sum / n;
}
