/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#undef NDEBUG
#include "policy-world.h"
#include <check.h>
#include <stdlib.h>
#include "flow.h"
#include "hash.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "random.h"
#include "util.h"

/* Where a rule is or was. */
struct place {
    struct hmap_node hmap_node; /* In world's 'places'. */
    struct match match;
    int priority;
    bool plain;                 /* Acts by itself. */
    struct adp_conj_clause *clauses;
    size_t n, allocated;
    struct adp_rule *rule;      /* Owned reference, or NULL. */
    bool changed;
};

struct conj {
    uint32_t id;
    uint8_t n_clauses;
    struct place **places;      /* Of its clauses. */
    uint8_t *clauses;           /* Which, for each of 'places'. */
    size_t n, allocated;
    struct place *by_id;        /* May be NULL. */
};

struct world *
world_create(const struct world_shape *shape)
{
    struct world *w = xzalloc(sizeof *w);

    w->shape = shape;
    hmap_init(&w->places);
    w->next_id = 1;
    return w;
}

static void
conj_destroy(struct conj *conj)
{
    free(conj->places);
    free(conj->clauses);
    free(conj);
}

void
world_destroy(struct world *w)
{
    struct place *place;

    HMAP_FOR_EACH_POP (place, hmap_node, &w->places) {
        adp_rule_unref(place->rule);
        free(place->clauses);
        free(place);
    }
    hmap_destroy(&w->places);
    for (size_t i = 0; i < w->n_conjs; i++) {
        conj_destroy(w->conjs[i]);
    }
    free(w->conjs);
    free(w->plains);
    free(w);
}

static bool
percent(int p)
{
    return random_range(100) < p;
}

/* Matches. */

static ovs_be32
random_ip(const struct world *w)
{
    return htonl(0x0a000000 + random_range(w->shape->n_values) * 0x01010101u);
}

static void
set_ip(const struct world *w, struct match *match, bool src)
{
    static const int lengths[] = { 8, 12, 16, 20, 24, 28, 32, 32, 32, 32 };
    ovs_be32 mask = be32_prefix_mask(
        lengths[random_range(ARRAY_SIZE(lengths))]);
    ovs_be32 ip = random_ip(w) & mask;

    match_set_dl_type(match, htons(ETH_TYPE_IP));
    if (src) {
        match_set_nw_src_masked(match, ip, mask);
    } else {
        match_set_nw_dst_masked(match, ip, mask);
    }
}

static void
set_port(const struct world *w, struct match *match)
{
    static const uint16_t masks[] = {
        0xffff, 0xffff, 0xffff, 0xfff0, 0xfffe, 0xff00
    };
    uint16_t mask = masks[random_range(ARRAY_SIZE(masks))];
    uint16_t port = 80 + random_range(w->shape->n_values) * 5;

    match_set_dl_type(match, htons(ETH_TYPE_IP));
    match_set_nw_proto(match, random_range(4) ? IPPROTO_TCP : IPPROTO_UDP);
    match_set_tp_dst_masked(match, htons(port & mask), htons(mask));
}

static void
set_ipv6(const struct world *w, struct match *match)
{
    static const int lengths[] = { 8, 64, 120, 128 };
    struct in6_addr mask = ipv6_create_mask(
        lengths[random_range(ARRAY_SIZE(lengths))]);
    struct in6_addr ip = in6addr_any;

    ip.s6_addr[0] = 0xfd;
    ip.s6_addr[9] = random_range(w->shape->n_values);
    ip.s6_addr[15] = random_range(w->shape->n_values);
    ip = ipv6_addr_bitand(&ip, &mask);
    match_set_dl_type(match, htons(ETH_TYPE_IPV6));
    match_set_ipv6_src_masked(match, &ip, &mask);
}

static void
random_match(const struct world *w, struct match *match)
{
    int n_values = w->shape->n_values;

    match_init_catchall(match);
    if (percent(w->shape->any_percent)) {
        if (random_range(2)) {
            match_set_dl_type(match, htons(ETH_TYPE_IP));
        }
        return;
    }
    switch (random_range(8)) {
    case 0:
    case 1:
        set_ip(w, match, true);
        break;
    case 2:
        set_ip(w, match, false);
        break;
    case 3:
        match_set_reg(match, 1, random_range(n_values));
        break;
    case 4:
        match_set_in_port(match, u16_to_ofp(random_range(n_values)));
        break;
    case 5:
        set_port(w, match);
        break;
    case 6:
        set_ipv6(w, match);
        break;
    case 7:
        set_ip(w, match, true);
        set_port(w, match);
        match_set_reg(match, 1, random_range(n_values));
        match_set_ct_state_masked(match, CS_TRACKED, CS_TRACKED);
        break;
    }
}

/* Places. */

static struct place *
get_place(struct world *w, const struct match *match, int priority)
{
    uint32_t hash = match_hash(match, priority);
    struct place *place;

    HMAP_FOR_EACH_WITH_HASH (place, hmap_node, hash, &w->places) {
        if (place->priority == priority
            && match_equal(&place->match, match)) {
            return place;
        }
    }
    place = xzalloc(sizeof *place);
    place->match = *match;
    place->priority = priority;
    hmap_insert(&w->places, &place->hmap_node, hash);
    return place;
}

static void
conj_add_clause(struct conj *conj, struct place *place, uint8_t clause)
{
    if (place->plain) {
        return;
    }
    if (place->n >= place->allocated) {
        place->clauses = x2nrealloc(place->clauses, &place->allocated,
                                    sizeof *place->clauses);
    }
    place->clauses[place->n++] = (struct adp_conj_clause) {
        .id = conj->id,
        .clause = clause,
        .n_clauses = conj->n_clauses,
    };
    place->changed = true;

    if (conj->n >= conj->allocated) {
        conj->places = x2nrealloc(conj->places, &conj->allocated,
                                  sizeof *conj->places);
        conj->clauses = xrealloc(conj->clauses, conj->allocated);
    }
    conj->places[conj->n] = place;
    conj->clauses[conj->n++] = clause;
}

static void
add_by_id(struct world *w, struct conj *conj, int priority)
{
    struct match match;

    match_init_catchall(&match);
    match_set_conj_id(&match, conj->id);
    if (random_range(2)) {
        match_set_dl_type(&match, htons(ETH_TYPE_IP));
    }
    /* Above it now and then. */
    conj->by_id = get_place(w, &match, priority + random_range(3) * 10 - 10);
    conj->by_id->plain = true;
    conj->by_id->changed = true;
}

void
world_add_conj(struct world *w)
{
    const struct world_shape *shape = w->shape;
    struct conj *conj = xzalloc(sizeof *conj);
    int priority = (shape->n_priorities
                    ? 200 + 100 * random_range(shape->n_priorities)
                    : 100 + random_range(60000));

    conj->id = w->next_id++;
    conj->n_clauses = 2 + random_range(shape->max_clauses - 1);
    for (uint8_t clause = 0; clause < conj->n_clauses; clause++) {
        int n = 1 + random_range(shape->max_matches);

        while (n-- > 0) {
            struct match match;
            struct place *place;

            random_match(w, &match);
            place = get_place(w, &match, priority);
            conj_add_clause(conj, place, clause);
            if (percent(shape->double_percent)) {
                conj_add_clause(conj, place,
                                (clause + 1) % conj->n_clauses);
            }
        }
    }
    if (!percent(shape->no_id_percent)) {
        add_by_id(w, conj, priority);
    }
    if (w->n_conjs >= w->allocated_conjs) {
        w->conjs = x2nrealloc(w->conjs, &w->allocated_conjs,
                              sizeof *w->conjs);
    }
    w->conjs[w->n_conjs++] = conj;
}

void
world_remove_conj(struct world *w)
{
    struct conj *conj;
    size_t i;

    if (!w->n_conjs) {
        return;
    }
    i = random_range(w->n_conjs);
    conj = w->conjs[i];
    w->conjs[i] = w->conjs[--w->n_conjs];
    for (i = 0; i < conj->n; i++) {
        struct place *place = conj->places[i];
        size_t n = 0;

        for (size_t j = 0; j < place->n; j++) {
            if (place->clauses[j].id != conj->id) {
                place->clauses[n++] = place->clauses[j];
            }
        }
        place->n = n;
        place->changed = true;
    }
    if (conj->by_id) {
        conj->by_id->plain = false;
        conj->by_id->changed = true;
    }
    conj_destroy(conj);
}

static void
add_plain(struct world *w)
{
    struct match match;
    struct place *place;

    random_match(w, &match);
    if (!random_range(20)) {
        match_set_conj_id(&match, 0);
    }
    place = get_place(w, &match, random_range(4) ? random_range(60000)
                      : 100 * random_range(8));
    if (!place->n && !place->plain) {
        place->plain = true;
        place->changed = true;
        w->plains = xrealloc(w->plains, (w->n_plains + 1)
                             * sizeof *w->plains);
        w->plains[w->n_plains++] = place;
    }
}

void
world_toggle_plain(struct world *w)
{
    if (w->shape->default_rule) {
        struct match match;
        struct place *place;

        match_init_catchall(&match);
        place = get_place(w, &match, 0);
        if (!place->plain) {
            place->plain = true;
            place->changed = true;
        }
    }
    if (w->n_plains < w->shape->n_plain) {
        add_plain(w);
    } else if (w->n_plains) {
        size_t i = random_range(w->n_plains);
        struct place *place = w->plains[i];

        w->plains[i] = w->plains[--w->n_plains];
        place->plain = false;
        place->changed = true;
    }
}

static struct adp_rule *
place_rule(const struct place *place)
{
    struct ofpbuf ofpacts;
    struct minimatch match;
    struct adp_rule *rule;

    if (!place->n && !place->plain) {
        return NULL;
    }
    ofpbuf_init(&ofpacts, 64);
    for (size_t i = 0; i < place->n; i++) {
        struct ofpact_conjunction *conj = ofpact_put_CONJUNCTION(&ofpacts);

        conj->id = place->clauses[i].id;
        conj->clause = place->clauses[i].clause;
        conj->n_clauses = place->clauses[i].n_clauses;
    }
    minimatch_init(&match, &place->match);
    rule = adp_rule_create(0, place->priority, &match, 0, ofpacts.data,
                           ofpacts.size, NULL, NULL);
    minimatch_destroy(&match);
    ofpbuf_uninit(&ofpacts);
    return rule;
}

static int
compare_changes(const void *a_, const void *b_)
{
    const struct adp_match_change *a = a_;
    const struct adp_match_change *b = b_;
    const struct adp_rule *ra = a->old ? a->old : a->new;
    const struct adp_rule *rb = b->old ? b->old : b->new;

    if (!a->new != !b->new) {
        return !a->new ? -1 : 1;
    }
    return ((ra->priority > rb->priority ? -1 : ra->priority < rb->priority)
            * (a->new ? 1 : -1));
}

struct adp_match_change *
world_commit(struct world *w, size_t *n)
{
    struct adp_match_change *changes = xmalloc(hmap_count(&w->places)
                                               * sizeof *changes);
    struct place *place;

    *n = 0;
    HMAP_FOR_EACH (place, hmap_node, &w->places) {
        if (place->changed) {
            struct adp_match_change *change = &changes[*n];

            change->old = place->rule;
            change->new = place->rule = place_rule(place);
            *n += change->old || change->new;
            place->changed = false;
        }
    }
    qsort(changes, *n, sizeof *changes, compare_changes);
    return changes;
}

struct adp_rule **
world_rules(const struct world *w, size_t *n)
{
    struct adp_rule **rules = xmalloc(hmap_count(&w->places) * sizeof *rules);
    const struct place *place;

    *n = 0;
    HMAP_FOR_EACH (place, hmap_node, &w->places) {
        if (place->rule) {
            rules[(*n)++] = place->rule;
        }
    }
    adp_rules_sort(rules, *n);
    return rules;
}

/* Packets. */

/* Makes 'flow' one that 'match' matches. */
static void
force_match(struct flow *flow, const struct match *match)
{
    for (size_t i = 0; i < FLOW_U64S; i++) {
        uint64_t mask = flow_u64_value(&match->wc.masks, i);

        *flow_u64_lvalue(flow, i)
            = ((flow_u64_value(flow, i) & ~mask)
               | (flow_u64_value(&match->flow, i) & mask));
    }
}

void
world_random_flow(const struct world *w, struct flow *flow)
{
    int n_values = w->shape->n_values;

    memset(flow, 0, sizeof *flow);
    flow->dl_type = htons(random_range(8) ? ETH_TYPE_IP : ETH_TYPE_IPV6);
    flow->nw_proto = random_range(4) ? IPPROTO_TCP : IPPROTO_UDP;
    flow->nw_src = random_ip(w);
    flow->nw_dst = random_ip(w);
    flow->tp_dst = htons(80 + random_range(n_values) * 5);
    flow->regs[1] = random_range(n_values);
    flow->in_port.ofp_port = u16_to_ofp(random_range(n_values));
    flow->ct_state = random_range(2) ? CS_TRACKED : 0;
    if (w->n_conjs && random_range(4)) {
        const struct conj *conj = w->conjs[random_range(w->n_conjs)];

        for (uint8_t clause = 0; clause < conj->n_clauses; clause++) {
            size_t i = random_range(conj->n + 1);

            /* One of the clause's matches, or none. */
            for (; i < conj->n; i++) {
                if (conj->clauses[i] == clause) {
                    force_match(flow, &conj->places[i]->match);
                    break;
                }
            }
        }
        if (!random_range(30)) {
            flow->conj_id = conj->id;
        }
    }
}

/* Answers. */

/* Is 'rule' out of sight in look-ups by conj_id? */
static bool
is_hidden(struct adp_rule *const *rules, size_t n,
          const struct adp_rule *rule)
{
    /* Is there a conjunction above all that act by themselves? */
    bool hidden = false;
    int top = INT_MIN;

    for (size_t i = 0; i < n; i++) {
        if (rules[i]->match_hash == rule->match_hash
            && minimatch_equal(rules[i]->match, rule->match)) {
            if (rules[i]->priority > top
                || (rules[i]->priority == top && !rules[i]->n_conjs)) {
                top = rules[i]->priority;
                hidden = rules[i]->n_conjs > 0;
            }
        }
    }
    return hidden;
}

/* Finds the priority of the best that acts by itself, or INT_MIN. */
static int
best_by_id(struct adp_rule *const *rules, size_t n, const struct flow *flow)
{
    for (size_t i = 0; i < n; i++) {
        if (!rules[i]->n_conjs && minimatch_matches_flow(rules[i]->match, flow)
            && !is_hidden(rules, n, rules[i])) {
            return rules[i]->priority;
        }
    }
    return INT_MIN;
}

struct met {
    uint32_t id;
    uint8_t n_clauses;
    uint64_t clauses;
};

/* Collects the conjunctions that have some clause met in rules[] from 'i' up
 * to 'end', of one priority.  Returns the number of rules that match. */
static unsigned int
collect_met(struct adp_rule *const *rules, size_t i, size_t end,
            const struct flow *flow, struct met **met, size_t *n_met)
{
    size_t allocated = 0;
    unsigned int n = 0;

    *met = NULL;
    *n_met = 0;
    for (; i < end; i++) {
        const struct adp_rule *rule = rules[i];

        if (!rule->n_conjs || !minimatch_matches_flow(rule->match, flow)) {
            continue;
        }
        n++;
        for (size_t j = 0; j < rule->n_conjs; j++) {
            const struct adp_conj_clause *c = &adp_rule_conjs(rule)[j];
            size_t k = 0;

            while (k < *n_met && ((*met)[k].id != c->id
                                  || (*met)[k].n_clauses != c->n_clauses)) {
                k++;
            }
            if (k == *n_met) {
                if (k >= allocated) {
                    *met = x2nrealloc(*met, &allocated, sizeof **met);
                }
                (*met)[(*n_met)++] = (struct met) {
                    .id = c->id,
                    .n_clauses = c->n_clauses,
                };
            }
            (*met)[k].clauses |= UINT64_C(1) << c->clause;
        }
    }
    return n;
}

/* May 'answer' be the one, for the sake of a conjunction among rules[] from
 * 'i' up to 'end'?  Sets '*decided' if there must be one, and '*led_nowhere' if
 * one is met that gives none. */
static bool
check_conjs(struct adp_rule *const *rules, size_t n, size_t i, size_t end,
            struct flow *flow, const struct adp_rule *answer, bool *decided,
            bool *led_nowhere)
{
    struct met *met;
    size_t n_met;
    unsigned int n_matched = collect_met(rules, i, end, flow, &met, &n_met);
    uint32_t saved_conj_id = flow->conj_id;
    bool ok = false;

    *decided = false;
    for (size_t k = 0; k < n_met && !ok; k++) {
        const struct met *m = &met[k];

        if (m->clauses == (UINT64_C(1) << m->n_clauses) - 1
            && n_matched >= m->n_clauses) {
            int best;

            flow->conj_id = m->id;
            best = best_by_id(rules, n, flow);
            *decided |= best != INT_MIN;
            *led_nowhere |= best == INT_MIN;
            ok = (best != INT_MIN && answer && answer->priority == best
                  && !answer->n_conjs
                  && minimatch_matches_flow(answer->match, flow)
                  && !is_hidden(rules, n, answer));
        }
    }
    flow->conj_id = saved_conj_id;
    free(met);
    return ok;
}

void
check_answer(struct adp_rule *const *rules, size_t n, struct flow *flow,
             const struct adp_rule *answer, int priority, const char *who)
{
    bool led_nowhere = false;

    for (size_t i = 0, end; i < n; i = end) {
        int level = rules[i]->priority;
        bool plain = false, decided;

        for (end = i; end < n && rules[end]->priority == level; end++) {
            if (!rules[end]->n_conjs
                && minimatch_matches_flow(rules[end]->match, flow)) {
                plain = true;
            }
        }
        if (plain) {
            ck_assert_msg(answer && answer->priority == level
                          && !answer->n_conjs
                          && minimatch_matches_flow(answer->match, flow),
                          "%s: not a rule of priority %d", who, level);
            ck_assert_msg(priority == (led_nowhere ? ADP_PRIORITY_NONE : level),
                          "%s: priority %d, not %d", who, priority, level);
            return;
        }
        if (check_conjs(rules, n, i, end, flow, answer, &decided,
                        &led_nowhere)) {
            ck_assert_msg(priority == MIN(level, answer->priority),
                          "%s: priority %d", who, priority);
            return;
        }
        ck_assert_msg(!decided, "%s: not by a conjunction at %d", who, level);
    }
    ck_assert_msg(!answer, "%s: a rule where there is none", who);
    ck_assert_int_eq(priority, ADP_PRIORITY_NONE);
}
