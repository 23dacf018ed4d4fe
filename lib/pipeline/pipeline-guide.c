/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-guide.h"

#include <string.h>

#include "pipeline-text.h"
#include "pipeline.h"
#include "util.h"

const struct adp_guide_table *
adp_guide_table_find(const struct adp_pipeline *pipeline, uint8_t table_id)
{
    const struct adp_pipeline_guide *guide = pipeline ? pipeline->guide : NULL;

    for (size_t i = 0; guide && i < guide->n_tables; i++) {
        if (guide->tables[i].id == table_id) {
            return &guide->tables[i];
        }
    }
    return NULL;
}

const struct adp_guide_words *
adp_guide_words_find(const struct adp_pipeline *pipeline, const char *name)
{
    const struct adp_pipeline_guide *guide = pipeline ? pipeline->guide : NULL;

    for (size_t i = 0; guide && i < guide->n_words; i++) {
        if (!strcmp(guide->words[i].name, name)) {
            return &guide->words[i];
        }
    }
    return NULL;
}

const struct adp_guide_cookie *
adp_guide_cookie_find(const struct adp_pipeline *pipeline, uint8_t category)
{
    const struct adp_pipeline_guide *guide = pipeline ? pipeline->guide : NULL;

    for (size_t i = 0; guide && i < guide->n_cookies; i++) {
        if (guide->cookies[i].category == category) {
            return &guide->cookies[i];
        }
    }
    return NULL;
}

/* One write, as far as it isn't explained yet. */
struct decoding {
    const struct adp_pipeline *pipeline;
    const char *storage;
    ovs_u128 value, mask;
    const char *stage;
    struct adp_guide_meaning *meanings;
    size_t n;
};

/* The bits of 'bits' within their storage. */
static ovs_u128
storage_mask(const struct adp_text_bits *bits)
{
    ovs_u128 mask = OVS_U128_ZERO;

    for (unsigned int i = bits->first; i <= bits->last; i++) {
        if (i < 64) {
            mask.u64.lo |= UINT64_C(1) << i;
        } else {
            mask.u64.hi |= UINT64_C(1) << (i - 64);
        }
    }
    return mask;
}

/* 'value' of 'bits', which are all of their storage, or in one half of it. */
static ovs_u128
storage_value(const struct adp_text_bits *bits, ovs_u128 value)
{
    ovs_u128 own = ovs_u128_and(value, storage_mask(bits));

    return (bits->first >= 64
            ? (ovs_u128) { .u64.lo = own.u64.hi >> (bits->first - 64) }
            : (ovs_u128) { .u64.hi = own.u64.hi,
                           .u64.lo = own.u64.lo >> bits->first });
}

/* A mark's, which is of 32 bits. */
static bool
is_value_of(const struct adp_text_bits *mark, ovs_u128 value)
{
    return !value.u64.hi && value.u64.lo == mark->value;
}

static ovs_u128
without(ovs_u128 value, ovs_u128 mask)
{
    return (ovs_u128) { .u64.hi = value.u64.hi & ~mask.u64.hi,
                        .u64.lo = value.u64.lo & ~mask.u64.lo };
}

static bool
contains(ovs_u128 all, ovs_u128 mask)
{
    return ovs_u128_is_zero(without(mask, all));
}

/* Can 'bits', of which there are 'mask', be what is written? */
static bool
is_meant(const struct decoding *d, const struct adp_text_bits *bits,
         const struct adp_guide_words *words, ovs_u128 mask, ovs_u128 value)
{
    if (bits->is_mark) {
        /* In a write of more bits, a zero is rather the absence of a mark. */
        return (is_value_of(bits, value)
                && (bits->value || ovs_u128_equals(mask, d->mask)));
    }
    return (!words->stage
            || (d->stage && !strcmp(words->stage, d->stage)));
}

/* Looks for marks, or for a field, that are all that is left, or for marks
 * that are part of it. */
static void
explain(struct decoding *d, bool marks, bool all)
{
    const struct adp_vocabulary *vocabulary = d->pipeline->vocabulary;

    for (size_t i = 0; i < vocabulary->n_bits; i++) {
        const struct adp_text_bits *bits = &vocabulary->bits[i];
        ovs_u128 mask = storage_mask(bits);

        if (bits->is_mark != marks || strcmp(bits->storage, d->storage)
            || d->n >= ADP_GUIDE_MAX_MEANINGS
            || (all ? !ovs_u128_equals(mask, d->mask)
                : !contains(d->mask, mask))) {
            continue;
        }

        const struct adp_guide_words *words
            = adp_guide_words_find(d->pipeline, bits->name);
        ovs_u128 value = storage_value(bits, d->value);

        if (words && is_meant(d, bits, words, mask, value)) {
            d->meanings[d->n++] = (struct adp_guide_meaning) {
                .bits = bits, .words = words, .value = value,
            };
            d->mask = without(d->mask, mask);
        }
    }
}

size_t
adp_guide_decode(const struct adp_pipeline *pipeline, const char *storage,
                 ovs_u128 value, ovs_u128 mask, const char *stage,
                 struct adp_guide_meaning meanings[ADP_GUIDE_MAX_MEANINGS])
{
    struct decoding d = {
        .pipeline = pipeline, .storage = storage, .value = value,
        .mask = mask, .stage = stage, .meanings = meanings,
    };

    if (pipeline && pipeline->guide) {
        explain(&d, true, true);
        explain(&d, true, false);
        explain(&d, false, true);
    }
    return d.n;
}

/* What somebody asks about, and what is told. */
struct explanation {
    const struct adp_pipeline *pipeline;
    const char *storage;
    ovs_u128 value;
    const ovs_u128 *maskp;
    struct adp_guide_meaning *meanings;
    size_t n, max;
    ovs_u128 rest;
};

/* Is 'bits' part of the answer? */
static bool
is_told(const struct explanation *e, const struct adp_text_bits *bits,
        const struct adp_guide_words *words)
{
    ovs_u128 mask = storage_mask(bits);
    ovs_u128 value = storage_value(bits, e->value);

    if (strcmp(bits->storage, e->storage)
        || (e->maskp && !contains(*e->maskp, mask))) {
        return false;
    } else if (bits->is_mark) {
        return is_value_of(bits, value) && (bits->value || e->maskp);
    }
    /* A field of marks, or one that nobody has words for, is worth telling as
     * far as these don't. */
    return (!ovs_u128_is_zero(value)
            && ((words && words->kind != ADP_GUIDE_NUMBER)
                || !ovs_u128_is_zero(ovs_u128_and(e->rest, mask))));
}

static void
tell(struct explanation *e, bool marks, bool with_words)
{
    const struct adp_vocabulary *vocabulary = e->pipeline->vocabulary;
    ovs_u128 rest = e->rest;

    for (size_t i = 0; i < vocabulary->n_bits; i++) {
        const struct adp_text_bits *bits = &vocabulary->bits[i];
        const struct adp_guide_words *words
            = adp_guide_words_find(e->pipeline, bits->name);

        if (bits->is_mark != marks || !words == with_words
            || !is_told(e, bits, words)) {
            continue;
        }
        if (e->n < e->max) {
            e->meanings[e->n] = (struct adp_guide_meaning) {
                .bits = bits, .words = words,
                .value = storage_value(bits, e->value),
            };
        }
        e->n++;

        rest = without(rest, storage_mask(bits));
    }
    e->rest = rest;
}

size_t
adp_guide_explain(const struct adp_pipeline *pipeline, const char *storage,
                  ovs_u128 value, const ovs_u128 *maskp,
                  struct adp_guide_meaning meanings[], size_t max,
                  ovs_u128 *rest)
{
    struct explanation e = {
        .pipeline = pipeline, .storage = storage, .value = value,
        .maskp = maskp, .meanings = meanings, .max = max, .rest = value,
    };

    if (pipeline) {
        tell(&e, true, true);
        tell(&e, false, true);
        tell(&e, true, false);
        tell(&e, false, false);
    }
    *rest = e.rest;
    return e.n;
}
