/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-shadow-compare.h"

#include <stdlib.h>
#include <string.h>

#include "adp-shadow-translate.h"
#include "dp-packet.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "util.h"

const char *
adp_shadow_part_name(enum adp_shadow_part part)
{
    static const char *names[ADP_SHADOW_N_PARTS] = {
#define X(SYMBOL, NAME, TEXT) [ADP_SHADOW_PART_##SYMBOL] = NAME,
        ADP_SHADOW_PARTS
#undef X
    };

    return names[part];
}

const char *
adp_shadow_unfit_name(enum adp_shadow_unfit unfit)
{
    static const char *names[ADP_SHADOW_N_UNFIT] = {
#define X(SYMBOL, NAME, TEXT) [ADP_SHADOW_##SYMBOL] = NAME,
        ADP_SHADOW_UNFIT_REASONS
#undef X
    };

    return names[unfit];
}

static bool
is_cut(const struct adp_sample_actions *actions,
       const struct adp_sample_hits *hits)
{
    return (actions->size > sizeof actions->data
            || hits->n > ADP_SAMPLE_MAX_HITS);
}

enum adp_shadow_unfit
adp_shadow_sample_unfit(const struct adp_sample *s)
{
    if (s->held) {
        return ADP_SHADOW_HELD;
    } else if (s->punt || s->way == ADP_SAMPLE_STOCK) {
        return ADP_SHADOW_STOCK;
    } else if (s->hit_learned) {
        return ADP_SHADOW_LEARNED;
    } else if (s->tunnel_lost || s->tunnel_is_old) {
        return ADP_SHADOW_TUNNEL;
    } else if (is_cut(&s->actions, &s->hits)
               || is_cut(&s->done.actions, &s->done.hits)
               || s->n_answers > ADP_SAMPLE_MAX_ANSWERS) {
        return ADP_SHADOW_LONG;
    }
    return ADP_SHADOW_FIT;
}

/* Effects. */

/* 'effects' of upstream's, but for those on conntrack if 'no_ct', and those on
 * controllers, with meters right before them if 'no_meters'. */
static void
take_over(struct svec *dst, const struct svec *effects, bool no_ct,
          bool no_controllers, bool no_meters)
{
    svec_init(dst);
    for (size_t i = 0; i < effects->n; i++) {
        const char *name = effects->names[i];

        if (no_ct && adp_shadow_effect_is_ct(name)) {
            continue;
        }
        if (no_controllers && adp_shadow_effect_is_controller(name)) {
            if (no_meters && dst->n
                && adp_shadow_effect_is_meter(svec_back(dst))) {
                svec_pop_back(dst);
            }
            continue;
        }
        svec_add(dst, name);
    }
}

static bool
are_equal(const struct svec *effects, const struct svec *upstreams,
          bool no_ct, bool no_controllers, bool no_meters)
{
    struct svec expected;

    take_over(&expected, upstreams, no_ct, no_controllers, no_meters);
    bool equal = svec_equal(effects, &expected);
    svec_destroy(&expected);
    return equal;
}

/* A meter before what a controller would be told limits that alone, and isn't
 * asked where nobody is told; one that limits more is. */
static bool
effects_differ(const struct adp_sample *s, const struct svec *effects,
               const struct svec *upstreams, bool no_ct)
{
    return !(are_equal(effects, upstreams, no_ct, s->answers_itself, false)
             || (s->answers_itself
                 && are_equal(effects, upstreams, no_ct, true, true)));
}

static enum adp_shadow_unfit
execute(const struct adp_sample *s, const struct adp_sample_bytes *bytes,
        const struct adp_sample_actions *actions, struct svec *effects)
{
    struct adp_shadow_run run = { .sample = s, .effects = effects };
    struct dp_packet *packet = adp_shadow_packet(s, bytes);

    adp_shadow_execute(&run, packet, (const struct nlattr *) actions->data,
                       actions->size);
    dp_packet_delete(packet);
    return run.unfit;
}

static enum adp_shadow_unfit
execute_done(const struct adp_sample *s, struct svec *effects)
{
    if (!s->done.rewritten) {
        return execute(s, &s->packet, &s->done.actions, effects);
    }
    if (s->done.metered) {
        svec_add_nocopy(effects, xasprintf("meter(%"PRIu32")",
                                           s->done.meter_id));
    }
    return execute(s, &s->done.packet, &s->done.actions, effects);
}

/* Flows. */

static int
compare_hits(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct adp_sample_hit));
}

/* In what order they are told doesn't matter, nor do cookies: a flow that took
 * the place of its equal may have another. */
static void
sort_hits(struct adp_sample_hits *dst, const struct adp_sample_hits *src)
{
    *dst = *src;
    for (size_t i = 0; i < dst->n; i++) {
        dst->hits[i].cookie = 0;
    }
    qsort(dst->hits, dst->n, sizeof *dst->hits, compare_hits);
}

static bool
hits_differ(const struct adp_sample_hits *a_, const struct adp_sample_hits *b_)
{
    struct adp_sample_hits a, b;

    if (a_->n != b_->n) {
        return true;
    }
    sort_hits(&a, a_);
    sort_hits(&b, b_);
    return memcmp(a.hits, b.hits, a.n * sizeof *a.hits) != 0;
}

/* Number 'n' of the hits that is a flow's, or NULL. */
static const struct adp_sample_hit *
nth_flow(const struct adp_sample_hits *hits, size_t n)
{
    for (size_t i = 0; i < hits->n; i++) {
        if (!hits->hits[i].is_bucket && !n--) {
            return &hits->hits[i];
        }
    }
    return NULL;
}

/* True if both go apart where each hits another flow of one table and
 * priority: OpenFlow leaves open which of them it is. */
static bool
go_apart_at_equals(const struct adp_sample_hits *a,
                   const struct adp_sample_hits *b)
{
    for (size_t n = 0; ; n++) {
        const struct adp_sample_hit *x = nth_flow(a, n);
        const struct adp_sample_hit *y = nth_flow(b, n);

        if (!x || !y || x->table_id != y->table_id
            || x->priority != y->priority) {
            return false;
        } else if (x->id != y->id) {
            return true;
        }
    }
}

/* What was done, compared with what was decided, since upstream can't say. */
static void
compare_done(const struct adp_sample *s, struct adp_shadow_comparison *cmp)
{
    bool *differs = cmp->differs;

    differs[ADP_SHADOW_PART_DECIDED] = false;
    differs[ADP_SHADOW_PART_DECIDED_FLOWS] = false;
    differs[ADP_SHADOW_PART_LEARNED] = false;
    differs[ADP_SHADOW_PART_DONE]
        = !are_equal(&cmp->done, &cmp->decided, s->done.rewritten, false,
                     false);
    differs[ADP_SHADOW_PART_DONE_FLOWS] = hits_differ(&s->done.hits,
                                                      &s->hits);
}

static bool
any_differs(const struct adp_shadow_comparison *cmp)
{
    bool any = false;

    for (int i = 0; i < ADP_SHADOW_N_PARTS; i++) {
        any |= cmp->differs[i];
    }
    return any;
}

enum adp_shadow_unfit
adp_shadow_compare(const struct adp_sample *s,
                   const struct adp_shadow_translation *upstream,
                   struct adp_shadow_comparison *cmp)
{
    enum adp_shadow_unfit unfit;

    memset(cmp, 0, sizeof *cmp);
    svec_init(&cmp->decided);
    svec_init(&cmp->done);
    if (upstream->hits.n > ADP_SAMPLE_MAX_HITS) {
        return ADP_SHADOW_LONG;
    }
    unfit = execute(s, &s->packet, &s->actions, &cmp->decided);
    if (!unfit) {
        unfit = execute_done(s, &cmp->done);
    }
    if (unfit) {
        return unfit;
    }

    bool *differs = cmp->differs;
    differs[ADP_SHADOW_PART_DECIDED]
        = effects_differ(s, &cmp->decided, &upstream->effects, false);
    differs[ADP_SHADOW_PART_DECIDED_FLOWS]
        = hits_differ(&s->hits, &upstream->hits);
    differs[ADP_SHADOW_PART_LEARNED] = s->n_learned != upstream->n_learned;
    differs[ADP_SHADOW_PART_DONE]
        = effects_differ(s, &cmp->done, &upstream->effects,
                         s->done.rewritten);
    differs[ADP_SHADOW_PART_DONE_FLOWS]
        = hits_differ(&s->done.hits, &upstream->hits);
    differs[ADP_SHADOW_PART_CONNECTIONS]
        = s->done.ct_known && s->done.ct_differs;
    cmp->any_differs = any_differs(cmp);
    if (cmp->any_differs && go_apart_at_equals(&s->hits, &upstream->hits)) {
        compare_done(s, cmp);
        cmp->any_differs = any_differs(cmp);
        return cmp->any_differs ? ADP_SHADOW_FIT : ADP_SHADOW_AMBIGUOUS;
    }
    return ADP_SHADOW_FIT;
}

void
adp_shadow_comparison_uninit(struct adp_shadow_comparison *cmp)
{
    svec_destroy(&cmp->decided);
    svec_destroy(&cmp->done);
}
