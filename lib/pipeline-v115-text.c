/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-v115-text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

/* A named run of bits, with a value if it is a mark. */
static const struct bits {
    const char *name;
    const char *storage;
    uint8_t first, last;
    bool is_mark;
    uint32_t value;
} all_bits[] = {
#define ADP_FIELD(NAME, STORAGE, FIRST, LAST) \
    { #NAME, STORAGE, FIRST, LAST, false, 0 },
#define ADP_MARK(NAME, STORAGE, FIRST, LAST, VALUE) \
    { #NAME, STORAGE, FIRST, LAST, true, VALUE },
#include "pipeline-v115.def"
};

static const struct constant {
    const char *name;
    const char *text;
} constants[] = {
#define ADP_CONST(NAME, TEXT) { #NAME, TEXT },
#include "pipeline-v115.def"
};

/* Is 's' of length 'len' the string 'name'? */
static bool
name_equals(const char *name, const char *s, size_t len)
{
    return !strncmp(name, s, len) && !name[len];
}

static const struct bits *
find_bits(const char *s, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(all_bits); i++) {
        if (name_equals(all_bits[i].name, s, len)) {
            return &all_bits[i];
        }
    }
    return NULL;
}

static const char *
find_const(const char *s, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(constants); i++) {
        if (name_equals(constants[i].name, s, len)) {
            return constants[i].text;
        }
    }
    return NULL;
}

const char *
adp_v115_const(const char *name)
{
    return find_const(name, strlen(name));
}

static unsigned int
storage_width(const char *storage)
{
    return strcmp(storage, "ct_label") ? 32 : 128;
}

/* "NXM_NX_REG0[0..3]". */
static void
put_subfield(struct ds *s, const struct bits *bits)
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
};

static void
add_term(struct value *v, const struct bits *bits, uint64_t value)
{
    uint64_t mask = UINT64_MAX >> (63 - (bits->last - bits->first));

    ovs_assert(bits->last < 64 && !(value & ~mask));
    ovs_assert(!v->storage || !strcmp(v->storage, bits->storage));
    ovs_assert(!(v->mask & (mask << bits->first)));
    v->storage = bits->storage;
    v->value |= value << bits->first;
    v->mask |= mask << bits->first;
}

static void
put_value(struct ds *s, const struct value *v, bool actions)
{
    bool exact = storage_width(v->storage) == 32 && v->mask == UINT32_MAX;

    if (actions) {
        ds_put_cstr(s, "set_field:");
    } else {
        ds_put_format(s, "%s=", v->storage);
    }
    ds_put_format(s, "0x%"PRIx64, v->value);
    if (!exact) {
        ds_put_format(s, "/0x%"PRIx64, v->mask);
    }
    if (actions) {
        ds_put_format(s, "->%s", v->storage);
    }
}

/* Appends what the 'len' bytes at 'expr', the inside of braces, stand for. */
static void
expand_one(struct ds *s, const char *expr, size_t len, bool actions)
{
    const char *constant = find_const(expr, len);
    const char *end = expr + len;

    if (constant) {
        ds_put_cstr(s, constant);
        return;
    }

    struct value v = { .storage = NULL };
    while (expr < end) {
        size_t name_len = strcspn(expr, "+=[}");
        const struct bits *bits = find_bits(expr, name_len);

        if (!bits) {
            ovs_abort(0, "unknown name in flow template at \"%s\"", expr);
        }
        expr += name_len;
        if (*expr == '[') {
            put_subfield(s, bits);
            return;
        } else if (*expr == '=') {
            char *tail;

            add_term(&v, bits, strtoull(expr + 1, &tail, 0));
            expr = tail;
        } else {
            ovs_assert(bits->is_mark);
            add_term(&v, bits, bits->value);
        }
        expr += *expr == '+';
    }
    put_value(s, &v, actions);
}

void
adp_v115_expand(struct ds *s, const char *template, bool actions)
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
        expand_one(s, p, len, match_end && p > match_end);
        p += len + 1;
    }
}
