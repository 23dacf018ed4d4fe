/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/meta-flow.h"
#include "openvswitch/ofp-actions.h"
#include "util.h"

/* Is 's' of length 'len' the string 'name'? */
static bool
name_equals(const char *name, const char *s, size_t len)
{
    return !strncmp(name, s, len) && !name[len];
}

static const struct adp_text_bits *
find_bits(const struct adp_vocabulary *voc, const char *s, size_t len)
{
    for (size_t i = 0; i < voc->n_bits; i++) {
        if (name_equals(voc->bits[i].name, s, len)) {
            return &voc->bits[i];
        }
    }
    return NULL;
}

static const char *
find_const(const struct adp_vocabulary *voc, const char *s, size_t len)
{
    for (size_t i = 0; i < voc->n_words; i++) {
        if (name_equals(voc->words[i].name, s, len)) {
            return voc->words[i].text;
        }
    }
    for (size_t i = 0; i < voc->n_consts; i++) {
        if (name_equals(voc->consts[i].name, s, len)) {
            return voc->consts[i].text;
        }
    }
    return NULL;
}

const char *
adp_text_const(const struct adp_vocabulary *voc, const char *name)
{
    return find_const(voc, name, strlen(name));
}

static unsigned int
storage_width(const char *storage)
{
    return strcmp(storage, "ct_label") && storage[0] != 'x' ? 32 : 128;
}

/* "NXM_NX_REG0[0..3]". */
static void
put_subfield(struct ds *s, const struct adp_text_bits *bits)
{
    ds_put_cstr(s, "NXM_NX_");
    for (const char *p = bits->storage; *p; p++) {
        ds_put_char(s, toupper((unsigned char) *p));
    }
    if (!bits->first && bits->last == storage_width(bits->storage) - 1) {
        ds_put_cstr(s, "[]");
    } else if (bits->first == bits->last) {
        ds_put_format(s, "[%"PRIu8"]", bits->first);
    } else {
        ds_put_format(s, "[%"PRIu8"..%"PRIu8"]", bits->first, bits->last);
    }
}

/* A sum of marks and fields with values, all in one place. */
struct value {
    const char *storage;
    uint64_t value, mask;
    bool high;                  /* Of bits 64 to 127. */
};

static void
add_term(struct value *v, const struct adp_text_bits *bits, uint64_t value)
{
    uint64_t mask = UINT64_MAX >> (63 - (bits->last - bits->first));
    bool high = bits->first >= 64;
    unsigned int shift = bits->first % 64;

    ovs_assert(bits->last / 64 == high && !(value & ~mask));
    ovs_assert(!v->storage || (!strcmp(v->storage, bits->storage)
                               && v->high == high));
    ovs_assert(!(v->mask & (mask << shift)));
    v->storage = bits->storage;
    v->high = high;
    v->value |= value << shift;
    v->mask |= mask << shift;
}

/* "0x3/0xf", or without the mask if that is all of it. */
static void
put_masked(struct ds *s, const struct value *v)
{
    const char *low = v->high ? "0000000000000000" : "";

    ds_put_format(s, "0x%"PRIx64"%s", v->value, v->value ? low : "");
    if (storage_width(v->storage) != 32 || v->mask != UINT32_MAX) {
        ds_put_format(s, "/0x%"PRIx64"%s", v->mask, low);
    }
}

static void
put_load(struct ds *s, const struct adp_text_bits *bits, uint64_t value)
{
    ds_put_format(s, "load:%#"PRIx64"->", value);
    put_subfield(s, bits);
}

/* Appends the sum of marks and values from 'expr' to 'end'. */
static void
expand_sum(struct ds *s, const struct adp_vocabulary *voc,
           const char *expr, const char *end, bool actions)
{
    bool loads = actions && voc->loads;
    struct value v = { .storage = NULL };

    while (expr < end) {
        size_t name_len = strcspn(expr, "+=[}");
        const struct adp_text_bits *bits = find_bits(voc, expr, name_len);
        uint64_t value;

        if (!bits) {
            ovs_abort(0, "unknown name in flow template at \"%s\"", expr);
        }
        expr += name_len;
        if (*expr == '[') {
            put_subfield(s, bits);
            return;
        } else if (*expr == '=') {
            char *tail;

            value = strtoull(expr + 1, &tail, 0);
            expr = tail;
        } else {
            ovs_assert(bits->is_mark);
            value = bits->value;
        }
        if (loads) {
            ds_put_cstr(s, v.storage ? "," : "");
            put_load(s, bits, value);
        }
        add_term(&v, bits, value);
        expr += *expr == '+';
    }

    if (actions && !loads) {
        ds_put_cstr(s, "set_field:");
        put_masked(s, &v);
        ds_put_format(s, "->%s", v.storage);
    } else if (!actions) {
        ds_put_format(s, "%s=", v.storage);
        put_masked(s, &v);
    }
}

void
adp_text_expand(struct ds *s, const struct adp_vocabulary *voc,
                const char *template, bool actions)
{
    const char *match_end = actions ? template : strstr(template, "actions=");

    for (const char *p = template;;) {
        size_t literal = strcspn(p, "{");

        ds_put_buffer(s, p, literal);
        p += literal;
        if (!*p) {
            return;
        }

        size_t len = strcspn(++p, "}");
        ovs_assert(p[len]);

        const char *constant = find_const(voc, p, len);
        if (constant) {
            ds_put_cstr(s, constant);
        } else {
            expand_sum(s, voc, p, p + len, match_end && p > match_end);
        }
        p += len + 1;
    }
}

static void
put_set_field(struct ofpbuf *actions, const struct adp_vocabulary *voc,
              const struct adp_text_bits *bits, uint32_t value)
{
    struct value v = { .storage = NULL };

    ovs_assert(!voc->loads && storage_width(bits->storage) == 32);
    add_term(&v, bits, value);

    struct ofpact_set_field *sf = ofpact_put_set_field(
        actions, mf_from_name(bits->storage), NULL, NULL);
    sf->value->be32 = htonl(v.value);
    ofpact_set_field_mask(sf)->be32 = htonl(v.mask);
}

void
adp_text_put_mark(struct ofpbuf *actions, const struct adp_vocabulary *voc,
                  const char *name)
{
    const struct adp_text_bits *bits = find_bits(voc, name, strlen(name));

    ovs_assert(bits && bits->is_mark);
    put_set_field(actions, voc, bits, bits->value);
}

void
adp_text_put_field(struct ofpbuf *actions, const struct adp_vocabulary *voc,
                   const char *name, uint32_t value)
{
    const struct adp_text_bits *bits = find_bits(voc, name, strlen(name));

    ovs_assert(bits && !bits->is_mark);
    put_set_field(actions, voc, bits, value);
}
