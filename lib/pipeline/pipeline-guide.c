/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-guide.h"

#include <string.h>

#include "pipeline-text.h"
#include "pipeline.h"

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

/* One write, as far as it isn't explained yet. */
struct decoding {
    const struct adp_pipeline *pipeline;
    const char *storage;
    unsigned int shift;
    uint64_t value, mask;
    const char *stage;
    struct adp_guide_meaning *meanings;
    size_t n;
};

/* The bits of 'bits' in terms of the write's; 0 if they aren't among them. */
static uint64_t
mask_of(const struct decoding *d, const struct adp_text_bits *bits)
{
    if (strcmp(bits->storage, d->storage) || bits->first < d->shift
        || bits->last - d->shift > 63) {
        return 0;
    }
    return (UINT64_MAX >> (63 - (bits->last - bits->first))
            << (bits->first - d->shift));
}

/* Can 'bits', of which there are 'mask', be what is written? */
static bool
is_meant(const struct decoding *d, const struct adp_text_bits *bits,
         const struct adp_guide_words *words, uint64_t mask, uint64_t value)
{
    if (bits->is_mark) {
        /* In a write of more bits, a zero is rather the absence of a mark. */
        return value == bits->value && (value || mask == d->mask);
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
        uint64_t mask = mask_of(d, bits);

        if (bits->is_mark != marks || !mask || d->n >= ADP_GUIDE_MAX_MEANINGS
            || (all ? mask != d->mask : mask & ~d->mask)) {
            continue;
        }

        const struct adp_guide_words *words
            = adp_guide_words_find(d->pipeline, bits->name);
        uint64_t value = (d->value & mask) >> (bits->first - d->shift);

        if (words && is_meant(d, bits, words, mask, value)) {
            d->meanings[d->n++] = (struct adp_guide_meaning) {
                .bits = bits, .words = words, .value = value,
            };
            d->mask &= ~mask;
        }
    }
}

size_t
adp_guide_decode(const struct adp_pipeline *pipeline, const char *storage,
                 unsigned int shift, uint64_t value, uint64_t mask,
                 const char *stage,
                 struct adp_guide_meaning meanings[ADP_GUIDE_MAX_MEANINGS])
{
    struct decoding d = {
        .pipeline = pipeline, .storage = storage, .shift = shift,
        .value = value, .mask = mask, .stage = stage, .meanings = meanings,
    };

    if (pipeline && pipeline->guide) {
        explain(&d, true, true);
        explain(&d, true, false);
        explain(&d, false, true);
    }
    return d.n;
}
