/* SPDX-License-Identifier: Apache-2.0 */

/* The words for a pipeline: complete, and found for what is written. */

#include <config.h>
#include "pipeline-guide.h"

#include <check.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline-builtin.h"
#include "pipeline-text.h"
#include "pipeline.h"
#include "test-run.h"
#include "util.h"

/* Pipelines whose guides are tested, all that have one. */
static const char *const pipelines[] = { "v1.15", "early" };

/* Words can go into a sentence. */
static void
expect_words(const char *words)
{
    ck_assert(words && *words);
    ck_assert_int_ne(words[strlen(words) - 1], '.');
    ck_assert(islower((unsigned char) words[0])
              || isupper((unsigned char) words[1]));   /* "TTL ...". */
}

START_TEST(all_tables_have_words)
{
    const struct adp_pipeline *p = adp_pipeline_find(pipelines[_i]);

    ck_assert_uint_eq(p->guide->n_tables, p->n_tables);
    for (size_t i = 0; i < p->n_tables; i++) {
        const struct adp_guide_table *t
            = adp_guide_table_find(p, p->tables[i].id);

        ck_assert_msg(t, "%s", p->tables[i].name);
        ck_assert(t->stage && *t->stage);
        expect_words(t->about);
        if (t->drop) {
            expect_words(t->drop);
        }

        /* antrea-dpctl prints it on one line. */
        char *line = xasprintf("Table %"PRIu8" %s: %s", t->id,
                               p->tables[i].name, t->about);
        ck_assert_msg(strlen(line) <= 79, "%s", line);
        free(line);
    }
}
END_TEST

START_TEST(all_marks_have_words)
{
    const struct adp_pipeline *p = adp_pipeline_find(pipelines[_i]);
    const struct adp_vocabulary *v = p->vocabulary;

    for (size_t i = 0; i < v->n_bits; i++) {
        ck_assert_msg(!v->bits[i].is_mark
                      || adp_guide_words_find(p, v->bits[i].name),
                      "%s", v->bits[i].name);
    }
    for (size_t i = 0; i < v->n_consts; i++) {
        ck_assert_msg(adp_guide_words_find(p, v->consts[i].name),
                      "%s", v->consts[i].name);
    }
    for (size_t i = 0; i < p->guide->n_words; i++) {
        bool known = false;

        expect_words(p->guide->words[i].about);
        for (size_t j = 0; j < v->n_bits; j++) {
            known |= !strcmp(p->guide->words[i].name, v->bits[j].name);
        }
        known |= adp_text_const(v, p->guide->words[i].name) != NULL;
        ck_assert_msg(known, "%s", p->guide->words[i].name);
    }
}
END_TEST

/* "=5". */
static void
put_number(struct ds *s, ovs_u128 value)
{
    if (value.u64.hi) {
        ds_put_format(s, "=0x%"PRIx64"%016"PRIx64, value.u64.hi,
                      value.u64.lo);
    } else {
        ds_put_format(s, "=%"PRIu64, value.u64.lo);
    }
}

/* Expects that writing 'value' to 'mask' means 'names', comma-separated. */
static void
expect_meaning128(const char *storage, ovs_u128 value, ovs_u128 mask,
                  const char *stage, const char *names)
{
    struct adp_guide_meaning meanings[ADP_GUIDE_MAX_MEANINGS];
    size_t n = adp_guide_decode(adp_pipeline_find("v1.15"), storage, value,
                                mask, stage, meanings);
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < n; i++) {
        ds_put_format(&s, "%s%s", i ? "," : "", meanings[i].bits->name);
        if (!meanings[i].bits->is_mark) {
            put_number(&s, meanings[i].value);
        }
    }
    ck_assert_str_eq(ds_cstr(&s), names);
    ds_destroy(&s);
}

static void
expect_meaning(const char *storage, unsigned int shift, uint64_t value,
               uint64_t mask, const char *stage, const char *names)
{
    expect_meaning128(storage,
                      (ovs_u128) { .u64.lo = shift ? 0 : value,
                                   .u64.hi = shift ? value : 0 },
                      (ovs_u128) { .u64.lo = shift ? 0 : mask,
                                   .u64.hi = shift ? mask : 0 },
                      stage, names);
}

START_TEST(marks)
{
    expect_meaning("reg0", 0, 0x3, 0xf, NULL, "FromPodRegMark");
    expect_meaning("reg0", 0, 0x30, 0xf0, NULL, "ToLocalRegMark");
    /* All of the field rather than a mark that is part of it. */
    expect_meaning("reg0", 0, 0x400000, 0x600000, NULL,
                   "OutputToControllerRegMark");
    /* Zero means something if nothing else is written, */
    expect_meaning("reg0", 0, 0, 0x200, NULL, "NotRewriteMACRegMark");
    /* but else is just no mark. */
    expect_meaning("reg4", 0, 0x10000000, 0x12000000, NULL,
                   "FromLocalRegMark");
    /* The marks of another register aren't this one's. */
    expect_meaning("reg9", 0, 0x3, 0xf, NULL, "");
}
END_TEST

START_TEST(fields)
{
    expect_meaning("reg1", 0, 37, UINT32_MAX, NULL, "TargetOFPortField=37");
    expect_meaning("reg4", 0, 80, 0xffff, NULL, "EndpointPortField=80");
    /* A source that has no mark. */
    expect_meaning("ct_mark", 0, 0x13, 0x1f, NULL,
                   "ServiceCTMark,ConnSourceCTMarkField=3");
    /* One register, used for one thing first and for another later. */
    expect_meaning("reg3", 0, 7, UINT32_MAX, "Pre-routing",
                   "EndpointIPField=7");
    expect_meaning("reg3", 0, 7, UINT32_MAX, "Ingress security",
                   "APConjIDField=7");
    expect_meaning("reg3", 0, 7, UINT32_MAX, NULL, "APConjIDField=7");
    /* Part of a field is nothing that has a name. */
    expect_meaning("reg1", 0, 1, 0x1, NULL, "");
}
END_TEST

START_TEST(labels)
{
    expect_meaning("ct_label", 0, 5, UINT32_MAX, NULL,
                   "IngressRuleCTLabel=5");
    expect_meaning("ct_label", 0, UINT64_C(6) << 32,
                   UINT64_C(0xffffffff) << 32, NULL, "EgressRuleCTLabel=6");
    expect_meaning("ct_label", 64, 9, 0xfff, NULL, "L7NPRuleVlanIDCTLabel=9");
    expect_meaning("ct_label", 64, 9, UINT32_MAX, NULL, "");
}
END_TEST

START_TEST(addresses)
{
    const ovs_u128 ip = { .u64 = { .hi = UINT64_C(0xfd00) << 48, .lo = 5 } };

    expect_meaning128("xxreg3", ip, OVS_U128_MAX, "Pre-routing",
                      "EndpointIP6Field=0xfd000000000000000000000000000005");
    /* One half of it is no address. */
    expect_meaning128("xxreg3", ip, (ovs_u128) { .u64.lo = UINT64_MAX },
                      "Pre-routing", "");
}
END_TEST

/* Each category of cookies is the one that flows bear. */
START_TEST(cookies)
{
    const struct adp_pipeline *p = adp_pipeline_find(pipelines[_i]);
    size_t n = 0;

    for (unsigned int category = 0; category <= UINT8_MAX; category++) {
        const struct adp_guide_cookie *c = adp_guide_cookie_find(p, category);

        if (c) {
            ck_assert_uint_eq(c->category, category);
            ck_assert(isupper((unsigned char) c->name[0]));
            ck_assert(*c->about);
            n++;
        }
    }
    ck_assert_uint_eq(n, p->guide->n_cookies);
    ck_assert_uint_ge(n, 5);
    ck_assert_ptr_null(adp_guide_cookie_find(NULL, 0));
}
END_TEST

/* Expects that 'storage' with 'hi' and 'lo' in it means 'names', and that
 * 'rest' of the lower half has none. */
static void
expect_explanation(const char *storage, uint64_t hi, uint64_t lo,
                   const ovs_u128 *maskp, const char *names, uint64_t rest_lo)
{
    const struct adp_pipeline *p = adp_pipeline_find("v1.15");
    ovs_u128 value = { .u64 = { .hi = hi, .lo = lo } };
    struct adp_guide_meaning meanings[16];
    ovs_u128 rest;
    size_t n = adp_guide_explain(p, storage, value, maskp, meanings,
                                 ARRAY_SIZE(meanings), &rest);
    struct ds s = DS_EMPTY_INITIALIZER;

    ck_assert_uint_le(n, ARRAY_SIZE(meanings));
    for (size_t i = 0; i < n; i++) {
        ds_put_format(&s, "%s%s", i ? "," : "", meanings[i].bits->name);
        if (!meanings[i].bits->is_mark) {
            put_number(&s, meanings[i].value);
        }
        ck_assert_ptr_eq(meanings[i].words,
                         adp_guide_words_find(p, meanings[i].bits->name));
    }
    ck_assert_str_eq(ds_cstr(&s), names);
    ck_assert_uint_eq(rest.u64.hi, 0);
    ck_assert_uint_eq(rest.u64.lo, rest_lo);
    ds_destroy(&s);

    /* There is room for fewer. */
    struct adp_guide_meaning one[2] = {
        { .value = { .u64.lo = 1 } }, { .value = { .u64.lo = 4711 } },
    };
    ck_assert_uint_eq(adp_guide_explain(p, storage, value, maskp, one, 1,
                                        &rest), n);
    ck_assert_uint_eq(one[1].value.u64.lo, 4711);
}

START_TEST(explained_registers)
{
    ovs_u128 mask = { .u64 = { .lo = 0x200 } };

    /* Marks from the lowest to the highest; no field that they fill. */
    expect_explanation("reg0", 0, 0x200622, NULL,
                       "FromGatewayRegMark,ToGatewayRegMark,RewriteMACRegMark,"
                       "APDenyRegMark,OutputToOFPortRegMark", 0);
    /* A value that no mark has is the field's; a bit without a name. */
    expect_explanation("reg0", 0, 0x1000f, NULL, "PktSourceField=15",
                       0x10000);
    /* What nobody asks for; a zero that somebody asks for. */
    expect_explanation("reg0", 0, 0, NULL, "", 0);
    expect_explanation("reg0", 0, 0, &mask, "NotRewriteMACRegMark", 0);
    /* Several uses of the same bits. */
    expect_explanation("reg3", 0, 7, NULL,
                       "EndpointIPField=7,APConjIDField=7", 0);
    /* The union of two fields is of interest to no one who sees them. */
    expect_explanation("reg4", 0, 0x10050, NULL,
                       "EpToSelectRegMark,EndpointPortField=80", 0);
    /* Fields without words. */
    expect_explanation("reg8", 0, 0x2000, NULL,
                       "CtZoneTypeField=2,CtZoneField=8192", 0);
}
END_TEST

START_TEST(explained_labels)
{
    expect_explanation("ct_label", 9, UINT64_C(5) << 32 | 4, NULL,
                       "IngressRuleCTLabel=4,EgressRuleCTLabel=5,"
                       "L7NPRuleVlanIDCTLabel=9", 0);
    expect_explanation("xxreg3", UINT64_C(0xfd00) << 48, 0, NULL,
                       "EndpointIP6Field=0xfd000000000000000000000000000000",
                       0);
    expect_explanation("ct_mark", 0, 0x113, NULL,
                       "ServiceCTMark,ConnSourceCTMarkField=3", 0x100);
    expect_explanation("reg15", 0, 0x3, NULL, "", 0x3);
}
END_TEST

START_TEST(no_guide)
{
    struct adp_guide_meaning meanings[ADP_GUIDE_MAX_MEANINGS];

    ck_assert_ptr_null(adp_guide_table_find(NULL, 0));
    ck_assert_uint_eq(adp_guide_decode(NULL, "reg0", OVS_U128_ZERO,
                                       OVS_U128_MAX, NULL, meanings), 0);
    ck_assert_ptr_null(adp_guide_table_find(adp_pipeline_find("v1.15"), 200));
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("guide");
    TCase *tc = tcase_create("guide");

    tcase_add_loop_test(tc, all_tables_have_words, 0, ARRAY_SIZE(pipelines));
    tcase_add_loop_test(tc, all_marks_have_words, 0, ARRAY_SIZE(pipelines));
    tcase_add_test(tc, marks);
    tcase_add_test(tc, fields);
    tcase_add_test(tc, labels);
    tcase_add_test(tc, addresses);
    tcase_add_loop_test(tc, cookies, 0, ARRAY_SIZE(pipelines));
    tcase_add_test(tc, explained_registers);
    tcase_add_test(tc, explained_labels);
    tcase_add_test(tc, no_guide);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
