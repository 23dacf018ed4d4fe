/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-show-meaning.h"
#include "adp-bridge-shared.h"

#include <stdlib.h>
#include <string.h>

#include "adp-bridge-pipeline.h"
#include "adp-state.h"
#include "openvswitch/json.h"
#include "openvswitch/meta-flow.h"
#include "packets.h"
#include "pipeline-guide.h"
#include "pipeline-text.h"
#include "pipeline.h"
#include "sset.h"
#include "util.h"

char *
adp_show_rule(const struct adp_bridge *b, uint32_t conj_id)
{
    const struct adp_state *state = adp_bridge_state(b);

    return state ? adp_state_describe_conj(state, conj_id) : NULL;
}

char *
adp_show_group(const struct adp_bridge *b, uint32_t group_id)
{
    const struct adp_state *state = adp_bridge_state(b);

    return state ? adp_state_describe_group(state, group_id) : NULL;
}

char *
adp_show_applied(const struct adp_bridge *b, uint32_t id)
{
    const struct adp_state *state = adp_bridge_state(b);

    return state ? adp_state_describe_applied(state, id) : NULL;
}

/* The egress IP of a mark. */
static char *
describe_mark(const struct adp_bridge *b, uint32_t mark)
{
    const struct adp_state *state = adp_bridge_state(b);

    return state ? adp_state_describe_mark(state, mark) : NULL;
}

/* The L7 rule of a VLAN. */
static char *
describe_l7_rule(const struct adp_bridge *b, uint32_t vlan)
{
    const struct adp_state *state = adp_bridge_state(b);

    return state ? adp_state_describe_vlan(state, vlan) : NULL;
}

void
adp_show_put_text(struct json *o, const char *name, char *text)
{
    if (text) {
        json_object_put_string(o, name, text);
        free(text);
    }
}

void
adp_show_put_port(struct adp_bridge *b, struct json *o, const char *name,
                  ofp_port_t port, struct sset *mentioned)
{
    const char *port_name
        = ofputil_port_map_get_name(adp_bridge_port_map(b), port);
    struct ds s = DS_EMPTY_INITIALIZER;

    if (port_name) {
        ds_put_cstr(&s, port_name);
        if (mentioned) {
            sset_add(mentioned, port_name);
        }
    } else {
        ofputil_format_port(port, NULL, &s);
    }
    json_object_put_string(o, name, ds_cstr(&s));
    ds_destroy(&s);
}

static char *
address_text(enum adp_guide_kind kind, ovs_u128 value)
{
    ovs_be128 be = hton128(value);
    struct ds s = DS_EMPTY_INITIALIZER;

    if (kind == ADP_GUIDE_IPV4) {
        ds_put_format(&s, IP_FMT, IP_ARGS(htonl(value.u64.lo)));
    } else {
        struct in6_addr address;

        memcpy(&address, &be, sizeof address);
        ipv6_format_addr(&address, &s);
    }
    return ds_steal_cstr(&s);
}

/* Puts the value of a field into 'o', as its guide says. */
static void
put_value(struct adp_bridge *b, enum adp_guide_kind kind, ovs_u128 value128,
          struct json *o, struct sset *mentioned)
{
    uint64_t value = value128.u64.lo;

    if (kind == ADP_GUIDE_IPV4 || kind == ADP_GUIDE_IPV6) {
        char *ip = address_text(kind, value128);

        if (mentioned) {
            sset_add(mentioned, ip);
        }
        adp_show_put_text(o, "value", ip);
    } else if (kind == ADP_GUIDE_OFPORT) {
        adp_show_put_port(b, o, "value", u16_to_ofp(value), mentioned);
    } else {
        adp_show_put_text(o, "object",
                 (kind == ADP_GUIDE_RULE ? adp_show_rule(b, value)
                  : kind == ADP_GUIDE_GROUP ? adp_show_group(b, value)
                  : kind == ADP_GUIDE_L7_RULE ? describe_l7_rule(b, value)
                  : kind == ADP_GUIDE_APPLIED ? adp_show_applied(b, value)
                  : kind == ADP_GUIDE_EGRESS_MARK ? describe_mark(b, value)
                  : NULL));
        json_object_put_format(o, "value", "%"PRIu64, value);
    }
}

struct json *
adp_show_meaning(struct adp_bridge *b, const struct adp_guide_meaning *m,
                 struct sset *mentioned)
{
    struct json *o = json_object_create();

    json_object_put_string(o, "name", m->bits->name);
    if (m->words) {
        json_object_put_string(o, "about", m->words->about);
    }
    if (!m->bits->is_mark) {
        put_value(b, m->words ? m->words->kind : ADP_GUIDE_NUMBER, m->value,
                  o, mentioned);
    }
    return o;
}

/* Everything that has a name. */

struct json *
adp_show_table(uint8_t id, const char *name,
               const struct adp_guide_table *guide)
{
    struct json *o = json_object_create();

    json_object_put(o, "id", json_integer_create(id));
    if (name) {
        json_object_put_string(o, "table", name);
    }
    if (guide) {
        json_object_put_string(o, "stage", guide->stage);
        json_object_put_string(o, "about", guide->about);
    }
    return o;
}

static struct json *
table_json(const struct adp_pipeline *p,
           const struct adp_pipeline_table *table)
{
    return adp_show_table(table->id, table->name,
                          adp_guide_table_find(p, table->id));
}

static void
put_about(const struct adp_pipeline *p, const char *name, struct json *o)
{
    const struct adp_guide_words *words = adp_guide_words_find(p, name);

    json_object_put_string(o, "name", name);
    if (words) {
        json_object_put_string(o, "about", words->about);
        if (words->stage) {
            json_object_put_string(o, "stage", words->stage);
        }
    }
}

/* Where 'bits' are: "reg0[0..3]". */
static char *
bits_part(const struct adp_text_bits *bits)
{
    return (bits->first == bits->last
            ? xasprintf("%s[%"PRIu8"]", bits->storage, bits->first)
            : xasprintf("%s[%"PRIu8"..%"PRIu8"]", bits->storage, bits->first,
                        bits->last));
}

static struct json *
bits_json(const struct adp_pipeline *p, const struct adp_text_bits *bits)
{
    struct json *o = json_object_create();

    put_about(p, bits->name, o);
    adp_show_put_text(o, "part", bits_part(bits));
    if (bits->is_mark) {
        json_object_put_format(o, "value", "0x%"PRIx32, bits->value);
    }
    return o;
}

static struct json *
const_json(const struct adp_pipeline *p, const struct adp_text_const *c)
{
    struct json *o = json_object_create();

    put_about(p, c->name, o);
    json_object_put_string(o, "value", c->text);
    return o;
}

static struct json *
cookie_json(const struct adp_guide_cookie *cookie)
{
    struct json *o = json_object_create();

    json_object_put(o, "category", json_integer_create(cookie->category));
    json_object_put_string(o, "name", cookie->name);
    json_object_put_string(o, "about", cookie->about);
    return o;
}

struct json *
adp_show_vocabulary(struct adp_bridge *b)
{
    const struct adp_pipeline *p = adp_bridge_pipeline(b);
    struct json *result = json_object_create();

    if (!p) {
        json_destroy(result);
        return NULL;
    }

    struct json *tables = json_array_create_empty();
    for (size_t i = 0; i < p->n_tables; i++) {
        json_array_add(tables, table_json(p, &p->tables[i]));
    }
    struct json *bits = json_array_create_empty();
    for (size_t i = 0; i < p->vocabulary->n_bits; i++) {
        json_array_add(bits, bits_json(p, &p->vocabulary->bits[i]));
    }
    struct json *consts = json_array_create_empty();
    for (size_t i = 0; i < p->vocabulary->n_consts; i++) {
        json_array_add(consts, const_json(p, &p->vocabulary->consts[i]));
    }
    struct json *cookies = json_array_create_empty();
    for (size_t i = 0; p->guide && i < p->guide->n_cookies; i++) {
        json_array_add(cookies, cookie_json(&p->guide->cookies[i]));
    }
    json_object_put(result, "tables", tables);
    json_object_put(result, "bits", bits);
    json_object_put(result, "constants", consts);
    json_object_put(result, "cookies", cookies);
    return result;
}

/* What one thing means. */

/* A number as one writes it in flows, and its mask: "5", "0x5/0xf". */
static bool
parse_number(const char *text, ovs_u128 *value, ovs_u128 *mask, bool *masked)
{
    union {
        ovs_be128 be;
        uint8_t bytes[sizeof(ovs_be128)];
    } number;
    char *tail;

    if (parse_int_string(text, number.bytes, sizeof number.bytes, &tail)) {
        return false;
    }
    *value = ntoh128(number.be);
    *masked = *tail == '/';
    if (*masked) {
        if (parse_int_string(tail + 1, number.bytes, sizeof number.bytes,
                             &tail)) {
            return false;
        }
        *mask = ntoh128(number.be);
    }
    return !*tail;
}

/* One thing that somebody asks about: "NAME=VALUE/MASK". */
struct inquiry {
    struct adp_bridge *b;
    const struct adp_pipeline *p;
    char *name;                 /* All of it if there is no "=". */
    const char *text;           /* Behind "="; NULL: nothing is. */
    ovs_u128 value, mask;
    bool masked;
    struct json *o;             /* The answer. */
};

static bool
is_small(const struct inquiry *q, uint64_t max)
{
    return !q->masked && !q->value.u64.hi && q->value.u64.lo <= max;
}

static bool
is_storage(const struct adp_pipeline *p, const char *name)
{
    for (size_t i = 0; p && i < p->vocabulary->n_bits; i++) {
        if (!strcmp(p->vocabulary->bits[i].storage, name)) {
            return true;
        }
    }
    return false;
}

static char *
explain_bits(struct inquiry *q)
{
    unsigned int width = mf_from_name(q->name)->n_bits;
    struct json *bits = json_array_create_empty();
    struct adp_guide_meaning *meanings;
    ovs_u128 rest;

    if (width == 32 && (q->value.u64.hi || q->value.u64.lo > UINT32_MAX)) {
        json_destroy(bits);
        return xasprintf("%s has 32 bits", q->name);
    }
    if (q->masked) {
        q->value = ovs_u128_and(q->value, q->mask);
    }
    meanings = xmalloc(q->p->vocabulary->n_bits * sizeof *meanings);
    size_t n = adp_guide_explain(q->p, q->name, q->value,
                                 q->masked ? &q->mask : NULL, meanings,
                                 q->p->vocabulary->n_bits, &rest);
    for (size_t i = 0; i < n; i++) {
        struct json *o = adp_show_meaning(q->b, &meanings[i], NULL);

        adp_show_put_text(o, "part", bits_part(meanings[i].bits));
        if (meanings[i].words && meanings[i].words->stage) {
            json_object_put_string(o, "stage", meanings[i].words->stage);
        }
        json_array_add(bits, o);
    }
    free(meanings);
    json_object_put(q->o, "bits", bits);
    if (rest.u64.hi) {
        json_object_put_format(q->o, "rest", "0x%"PRIx64"%016"PRIx64,
                               rest.u64.hi, rest.u64.lo);
    } else if (rest.u64.lo) {
        json_object_put_format(q->o, "rest", "0x%"PRIx64, rest.u64.lo);
    }
    return NULL;
}

/* An ID, which is some object's. */
static char *
explain_id(struct inquiry *q, enum adp_guide_kind kind)
{
    if (!is_small(q, UINT32_MAX)) {
        return xasprintf("%s must be a number of 32 bits", q->name);
    }
    put_value(q->b, kind, q->value, q->o, NULL);
    return NULL;
}

static char *
explain_cookie(struct inquiry *q)
{
    if (!is_small(q, UINT64_MAX)) {
        return xstrdup("a cookie has 64 bits, and no mask here");
    }

    uint64_t cookie = q->value.u64.lo;
    const struct adp_guide_cookie *guide
        = adp_guide_cookie_find(q->p, cookie >> 40);
    json_object_put(q->o, "round", json_integer_create(cookie >> 48));
    json_object_put(q->o, "category", json_integer_create(cookie >> 40
                                                          & UINT8_MAX));
    if (guide) {
        json_object_put_string(q->o, "name", guide->name);
        json_object_put_string(q->o, "about", guide->about);
    }
    if ((uint32_t) cookie) {
        put_value(q->b, guide ? guide->object : ADP_GUIDE_NUMBER,
                  (ovs_u128) { .u64.lo = (uint32_t) cookie }, q->o, NULL);
    }
    return NULL;
}

static char *
explain_zone(struct inquiry *q)
{
    char *zone = xasprintf("%"PRIu64, q->value.u64.lo);
    const struct adp_vocabulary *v = q->p ? q->p->vocabulary : NULL;
    bool ok = is_small(q, UINT16_MAX);

    for (size_t i = 0; v && ok && i < v->n_consts; i++) {
        if (strstr(v->consts[i].name, "CtZone")
            && !strcmp(v->consts[i].text, zone)) {
            put_about(q->p, v->consts[i].name, q->o);
        }
    }
    adp_show_put_text(q->o, "value", zone);
    return ok ? NULL : xstrdup("a zone is a number from 0 to 65535");
}

/* A table by name or number. */
static char *
explain_table(struct inquiry *q)
{
    const char *name = q->text ? q->text : q->name;
    unsigned int id;
    bool numeric = str_to_uint(name, 10, &id);

    for (size_t i = 0; q->p && i < q->p->n_tables; i++) {
        const struct adp_pipeline_table *table = &q->p->tables[i];

        if (numeric ? table->id == id : !strcasecmp(table->name, name)) {
            json_destroy(q->o);
            q->o = table_json(q->p, table);
            return NULL;
        }
    }
    return xasprintf("the pipeline has no table %s", name);
}

/* A name without a value. */
static char *
explain_name(struct inquiry *q)
{
    const struct adp_vocabulary *v = q->p ? q->p->vocabulary : NULL;

    for (size_t i = 0; v && i < v->n_bits; i++) {
        if (!strcasecmp(v->bits[i].name, q->name)) {
            json_destroy(q->o);
            q->o = bits_json(q->p, &v->bits[i]);
            return NULL;
        }
    }
    for (size_t i = 0; v && i < v->n_consts; i++) {
        if (!strcasecmp(v->consts[i].name, q->name)) {
            json_destroy(q->o);
            q->o = const_json(q->p, &v->consts[i]);
            return NULL;
        }
    }
    char *error = explain_table(q);
    if (error) {
        free(error);
        error = xasprintf("%s is no register with a value, and the pipeline "
                          "has no table, field, mark or constant of that "
                          "name", q->name);
    }
    return error;
}

static char *
explain(struct inquiry *q)
{
    static const struct {
        const char *name;
        enum adp_guide_kind kind;
    } ids[] = {
        { "conj_id", ADP_GUIDE_RULE }, { "conjunction", ADP_GUIDE_RULE },
        { "group", ADP_GUIDE_GROUP }, { "group_id", ADP_GUIDE_GROUP },
    };

    if (!q->text) {
        return explain_name(q);
    } else if (!strcmp(q->name, "table")) {
        return explain_table(q);
    } else if (!parse_number(q->text, &q->value, &q->mask, &q->masked)) {
        return xasprintf("\"%s\" is no number", q->text);
    } else if (!strcmp(q->name, "cookie")) {
        return explain_cookie(q);
    } else if (!strcmp(q->name, "zone") || !strcmp(q->name, "ct_zone")) {
        return explain_zone(q);
    } else if (is_storage(q->p, q->name)) {
        return explain_bits(q);
    }
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        if (!strcmp(q->name, ids[i].name)) {
            return explain_id(q, ids[i].kind);
        }
    }
    return xasprintf("the pipeline means nothing by %s", q->name);
}

char *
adp_show_explain(struct adp_bridge *b, const char *what,
                 struct json **resultp)
{
    const char *equals = strchr(what, '=');
    struct inquiry q = {
        .b = b, .p = adp_bridge_pipeline(b),
        .name = equals ? xmemdup0(what, equals - what) : xstrdup(what),
        .text = equals ? equals + 1 : NULL,
        .o = json_object_create(),
    };
    char *error = explain(&q);

    free(q.name);
    if (error) {
        json_destroy(q.o);
        *resultp = NULL;
        return error;
    }
    json_object_put_string(q.o, "what", what);
    *resultp = q.o;
    return NULL;
}
