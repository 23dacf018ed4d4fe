/* SPDX-License-Identifier: Apache-2.0 */

/* What `explain` prints of made-up answers of the daemon. */

#include <config.h>
#include "dpctl-explain.h"

#include <check.h>
#include <stdlib.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "quoted-json.h"
#include "test-run.h"

static void
expect_text(const char *answer, const char *expected)
{
    struct json *json = json_from_quoted(answer);
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_explain_format(json, &s);
    ck_assert_str_eq(ds_cstr(&s), expected);
    ds_destroy(&s);
    json_destroy(json);
}

START_TEST(bits)
{
    expect_text("{'explained':[{'what':'reg3=0x7','bits':["
                "{'part':'reg3[0..31]','name':'A','value':'0.0.0.7',"
                "'stage':'S','about':'an address'},"
                "{'part':'reg3[0..31]','name':'B','value':'7',"
                "'about':'a rule','object':'Policy p'}],'rest':'0x10'},"
                "{'what':'reg9=0','bits':[]}]}",
                "reg3=0x7\n"
                "BITS          NAME   VALUE     STAGE   MEANING\n"
                "reg3[0..31]   A      0.0.0.7   S       an address\n"
                "reg3[0..31]   B      7         -       a rule: Policy p\n"
                "without a name: 0x10\n"
                "\nreg9=0\nnothing\n");
}
END_TEST

START_TEST(others)
{
    expect_text("{'explained':[{'what':'group=9','value':'9',"
                "'object':'Service a/b'},"
                "{'what':'T','table':'T','id':4,'about':'does it'},"
                "{'what':'conj_id=1','value':'1'}]}",
                "group=9\nvalue     9\nmeaning   Service a/b\n"
                "\nT\ntable     T\nid        4\nmeaning   does it\n"
                "\nconj_id=1\nvalue     1\nmeaning   unknown\n");
}
END_TEST

START_TEST(vocabulary)
{
    expect_text("{'tables':[{'id':0,'table':'T','stage':'S',"
                "'about':'does it'}],"
                "'bits':[{'part':'reg0[0]','name':'M','value':'0x1',"
                "'about':'a mark'}],"
                "'constants':[{'name':'C','value':'1','about':'one'}],"
                "'cookies':[{'category':2,'name':'P','about':'Pods'}]}",
                "ID   TABLE   STAGE   MEANING\n0    T       S       does it\n"
                "\nBITS      NAME   VALUE   MEANING\n"
                "reg0[0]   M      0x1     a mark\n"
                "\nNAME   VALUE   MEANING\nC      1       one\n"
                "\nCATEGORY   COOKIE   FLOWS OF\n2          P        Pods\n");
}
END_TEST

/* Another version's answers. */
START_TEST(odd_answers)
{
    expect_text("{'explained':[]}", "");
    expect_text("{'explained':[{}]}", "?\nmeaning   unknown\n");
    expect_text("{'explained':[{'what':'x','bits':[{}]}]}",
                "x\nBITS   NAME   VALUE   STAGE   MEANING\n"
                "-      -      -       -       -\n");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("dpctl-explain");
    TCase *tc = tcase_create("explain");

    tcase_add_test(tc, bits);
    tcase_add_test(tc, others);
    tcase_add_test(tc, vocabulary);
    tcase_add_test(tc, odd_answers);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
