/* SPDX-License-Identifier: Apache-2.0 */

/* A change in pieces: nothing is lost, doubled or out of order, and no piece
 * is much larger than asked for. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/json.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"
#include "dpctl-json.h"
#include "dpctl-pieces.h"

/* Appends the elements of the array 'member' of 'piece' to 'all'. */
static size_t
append(struct json *all, const struct json *piece, const char *member)
{
    const struct json_array *array = dpctl_json_array(piece, member);

    for (size_t i = 0; i < array->n; i++) {
        json_array_add(all, json_clone(array->elems[i]));
    }
    return array->n;
}

/* Cuts the change up; returns the number of pieces. */
static size_t
check_pieces(const struct json *apply, const struct json *delete, size_t max)
{
    struct json *all_apply = json_array_create_empty();
    struct json *all_delete = json_array_create_empty();
    struct dpctl_pieces pieces;
    struct json *piece;
    size_t n = 0;

    dpctl_pieces_init(&pieces, apply, delete, max);
    bool fits = dpctl_pieces_fit(&pieces);
    while ((piece = dpctl_pieces_next(&pieces)) != NULL) {
        char *text = json_to_string(piece, 0);
        size_t n_records = (append(all_delete, piece, "delete")
                            + append(all_apply, piece, "apply"));

        /* A piece that is too large is a record that is. */
        ck_assert_uint_gt(n_records, 0);
        ck_assert_msg(strlen(text) <= 2 * max + 100 || n_records == 1,
                      "%"PRIuSIZE" bytes, limit %"PRIuSIZE, strlen(text),
                      max);
        free(text);
        json_destroy(piece);
        n++;
    }
    ck_assert(json_equal(apply, all_apply));
    ck_assert(json_equal(delete, all_delete));
    ck_assert(!fits || n <= 1);
    json_destroy(all_apply);
    json_destroy(all_delete);
    return n;
}

static struct json *
random_records(void)
{
    struct json *array = json_array_create_empty();
    size_t n = random_range(30);

    for (size_t i = 0; i < n; i++) {
        struct json *record = json_object_create();
        struct json *list = json_array_create_empty();
        size_t n_words = random_range(random_range(10) ? 8 : 200);

        for (size_t j = 0; j < n_words; j++) {
            json_array_add(list, (random_range(2)
                                  ? json_string_create("some words of text")
                                  : json_integer_create(random_uint32())));
        }
        json_object_put_format(record, "name", "record %"PRIuSIZE, i);
        json_object_put(record, "list", list);
        json_array_add(array, record);
    }
    return array;
}

START_TEST(pieces_make_the_whole)
{
    for (int i = 0; i < 500; i++) {
        struct json *apply = random_records();
        struct json *delete = random_records();

        check_pieces(apply, delete, 1 + random_range(2000));
        json_destroy(apply);
        json_destroy(delete);
    }
}
END_TEST

START_TEST(pieces_of_known_sizes)
{
    struct json *none = json_array_create_empty();
    struct json *ten = json_from_string("[\"0123456789\",\"0123456789\","
                                        "\"0123456789\",\"0123456789\"]");

    ck_assert_uint_eq(check_pieces(none, none, 100), 0);
    ck_assert_uint_eq(check_pieces(ten, none, 1000), 1);
    ck_assert_uint_eq(check_pieces(ten, none, 30), 2);
    ck_assert_uint_eq(check_pieces(none, ten, 30), 2);
    ck_assert_uint_eq(check_pieces(ten, ten, 1), 8);
    json_destroy(none);
    json_destroy(ten);
}
END_TEST

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);
    test_seed_random();

    Suite *s = suite_create("dpctl-pieces");
    TCase *tc = tcase_create("dpctl-pieces");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, pieces_make_the_whole);
    tcase_add_test(tc, pieces_of_known_sizes);
    suite_add_tcase(s, tc);

    return test_run(s);
}
