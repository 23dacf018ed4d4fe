/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_DISK_WORLD_H
#define TESTS_DISK_WORLD_H 1

/* What states on the disk are tested with: a plain state, transactions that
 * follow from the generation that they make, and a folder of each test's
 * own. */

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adp-disk.h"
#include "crc32c.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "smap.h"
#include "test-run.h"
#include "timeval.h"
#include "util.h"

static char dir[] = "/tmp/test-disk-XXXXXX";
static char *path;              /* The folder of the state. */
static char *crashed;           /* A copy of it. */

/* A plain state: names and values, and what transactions make of them. */

#define MAX_GENERATION 64

static inline struct json *
object(const char *name, const char *value)
{
    struct json *o = json_object_create();

    json_object_put_string(o, "name", name);
    if (value) {
        json_object_put_string(o, "value", value);
    }
    return o;
}

static inline const char *
member(const struct json *o, const char *name)
{
    return json_string(shash_find_data(json_object(o), name));
}

static inline char *
carry_out(enum adp_disk_op op, const struct json *array, void *state_)
{
    struct smap *state = state_;

    if (op == ADP_DISK_CLEAR) {
        ck_assert_ptr_null(array);
        smap_clear(state);
        return NULL;
    }
    for (size_t i = 0; i < array->array.n; i++) {
        const struct json *o = array->array.elems[i];
        const char *name = member(o, "name");

        if (op == ADP_DISK_DELETE) {
            smap_remove(state, name);
        } else if (op == ADP_DISK_PATCH) {
            smap_replace_nocopy(state, name,
                                xasprintf("%s+%s",
                                          smap_get_def(state, name, ""),
                                          member(o, "value")));
        } else {
            smap_replace(state, name, member(o, "value"));
        }
    }
    return NULL;
}

static inline char *
format(const struct smap *state)
{
    const struct smap_node **nodes = smap_sort(state);
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < smap_count(state); i++) {
        ds_put_format(&s, "%s=%s ", nodes[i]->key, nodes[i]->value);
    }
    free(nodes);
    return ds_steal_cstr(&s);
}

/* The transaction that makes generation 'g'. */
struct transaction {
    struct json *delete, *patch, *apply;
    struct adp_disk_change change;
};

/* How long values are, about. */
static int value_len = 3;

static inline void
transaction_init(struct transaction *t, uint64_t g)
{
    char *name = xasprintf("n%"PRIu64, g % 7);
    char *old = xasprintf("n%"PRIu64, (g + 3) % 7);
    char *value = xasprintf("%"PRIu64"%0*d", g, value_len, 0);

    *t = (struct transaction) { .apply = json_array_create_empty() };
    json_array_add(t->apply, object(name, value));
    json_array_add(t->apply, object("latest", value));
    if (g % 3 == 0) {
        t->delete = json_array_create_1(object(old, NULL));
    } else if (g % 3 == 1) {
        t->patch = json_array_create_1(object(old, "p"));
    }
    t->change = (struct adp_disk_change) {
        .clear = g % 10 == 9, .delete = t->delete, .patch = t->patch,
        .apply = t->apply,
    };
    free(value);
    free(old);
    free(name);
}

static inline void
transaction_uninit(struct transaction *t)
{
    json_destroy(t->delete);
    json_destroy(t->patch);
    json_destroy(t->apply);
}

static inline void
carry_out_all(struct smap *state, const struct transaction *t)
{
    if (t->change.clear) {
        carry_out(ADP_DISK_CLEAR, NULL, state);
    }
    if (t->delete) {
        carry_out(ADP_DISK_DELETE, t->delete, state);
    }
    if (t->patch) {
        carry_out(ADP_DISK_PATCH, t->patch, state);
    }
    carry_out(ADP_DISK_APPLY, t->apply, state);
}

static inline void
state_at(struct smap *state, uint64_t generation)
{
    smap_init(state);
    for (uint64_t g = 1; g <= generation; g++) {
        struct transaction t;

        transaction_init(&t, g);
        carry_out_all(state, &t);
        transaction_uninit(&t);
    }
}

static inline char *
expected(uint64_t generation)
{
    struct smap state;

    state_at(&state, generation);
    char *s = format(&state);
    smap_destroy(&state);
    return s;
}

static inline struct json *
records_at(uint64_t generation)
{
    struct json *records = json_array_create_empty();
    const struct smap_node *node;
    struct smap state;

    state_at(&state, generation);
    SMAP_FOR_EACH (node, &state) {
        json_array_add(records, object(node->key, node->value));
    }
    smap_destroy(&state);
    return records;
}

/* The folder. */

static inline void
run(const char *command)
{
    ck_assert_int_eq(system(command), 0);
}

static inline void
remove_all(void)
{
    char *command = xasprintf("rm -rf %s/*", dir);

    run(command);
    free(command);
}

static inline void
copy_folder(const char *from, const char *to)
{
    char *command = xasprintf("rm -rf %s && { [ ! -e %s ] || cp -a %s %s; }",
                              to, from, from, to);

    run(command);
    free(command);
}

/* Reads 'folder'.  Returns the state, or NULL and an error. */
static inline char *
read_state(const char *folder, struct adp_disk_position *position,
           char **error)
{
    struct smap state = SMAP_INITIALIZER(&state);
    const struct adp_disk_ops ops = { .carry_out = carry_out, .aux = &state };

    *error = adp_disk_folder_read(folder, &ops, position);
    char *s = *error ? NULL : format(&state);
    smap_destroy(&state);
    return s;
}

static inline uint64_t
check_state(const char *folder, uint64_t min, uint64_t max)
{
    struct adp_disk_position position;
    char *error;
    char *s = read_state(folder, &position, &error);

    ck_assert_msg(!error, "%s", error);
    ck_assert_uint_ge(position.generation, min);
    ck_assert_uint_le(position.generation, max);
    char *e = expected(position.generation);
    ck_assert_str_eq(s, e);
    free(e);
    free(s);
    return position.generation;
}

static inline void
check_error(const char *folder, const char *part)
{
    struct adp_disk_position position;
    char *error;
    char *s = read_state(folder, &position, &error);

    ck_assert_msg(!s, "%s was taken for a state: %s", folder, s);
    ck_assert_msg(strstr(error, part), "\"%s\" doesn't say \"%s\"", error,
                  part);
    free(error);
}

static inline struct adp_disk_folder *
open_folder(const char *folder)
{
    struct adp_disk_position position;
    char *error;

    free(read_state(folder, &position, &error));
    ck_assert_msg(!error, "%s", error);
    return adp_disk_folder_create(folder, &position);
}

#define MAX_GROUP 8

/* 'n' transactions at once. */
static inline char *
append_group(struct adp_disk_folder *f, size_t n)
{
    uint64_t g = adp_disk_folder_generation(f) + 1;
    struct adp_disk_change changes[MAX_GROUP];
    struct transaction t[MAX_GROUP];

    for (size_t i = 0; i < n; i++) {
        transaction_init(&t[i], g + i);
        changes[i] = t[i].change;
    }
    char *error = adp_disk_folder_append(f, g, changes, n);
    for (size_t i = 0; i < n; i++) {
        transaction_uninit(&t[i]);
    }
    return error;
}

/* How many are a group where a test says nothing else. */
static size_t group_size = 1;

static inline char *
append(struct adp_disk_folder *f)
{
    return append_group(f, 1);
}

static inline void
append_up_to(struct adp_disk_folder *f, uint64_t generation)
{
    while (adp_disk_folder_generation(f) < generation) {
        char *error = append(f);

        ck_assert_msg(!error, "%s", error);
    }
}

/* A snapshot, with transactions in between up to 'generation'. */
static inline char *
snapshot(struct adp_disk_folder *f, uint64_t generation)
{
    struct json *records = records_at(adp_disk_folder_generation(f));
    char *error = adp_disk_folder_begin_snapshot(f, records);
    bool done = error != NULL;

    while (!done) {
        if (adp_disk_folder_generation(f) < generation) {
            free(append_group(f, group_size));
        }
        error = adp_disk_folder_go_on(f, &done);
    }
    json_destroy(records);
    return error;
}

static inline void
make_folder(uint64_t snapshot_generation, uint64_t generation)
{
    struct adp_disk_folder *f = open_folder(path);

    if (snapshot_generation) {
        append_up_to(f, snapshot_generation);
        char *error = snapshot(f, 0);
        ck_assert_msg(!error, "%s", error);
    }
    append_up_to(f, generation);
    adp_disk_folder_destroy(f);
}

static inline char *
file_name(const char *folder, const char *what, uint64_t generation)
{
    return xasprintf("%s/%s-%016"PRIx64, folder, what, generation);
}

static inline char *
read_file(const char *name, size_t *len)
{
    int fd = open(name, O_RDONLY);
    struct stat s;

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(fstat(fd, &s), 0);
    char *data = xmalloc(s.st_size + 1);
    ck_assert_int_eq(read(fd, data, s.st_size), s.st_size);
    close(fd);
    *len = s.st_size;
    return data;
}

static inline void
write_file(const char *name, const char *data, size_t len)
{
    int fd = open(name, O_WRONLY | O_TRUNC | O_CREAT, 0600);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, data, len), len);
    close(fd);
}

static inline void
setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    path = xasprintf("%s/states/bridge", dir);
    crashed = xasprintf("%s/crashed", dir);
    value_len = 3;
    char *states = xasprintf("%s/states", dir);
    ck_assert_int_eq(mkdir(states, 0700), 0);
    free(states);
}

static inline void
teardown(void)
{
    char *command = xasprintf("rm -rf %s", dir);

    run(command);
    free(command);
    free(crashed);
    free(path);
    strcpy(dir, "/tmp/test-disk-XXXXXX");
}

static inline TCase *
add_case(Suite *suite, const char *name)
{
    TCase *tc = tcase_create(name);

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 300);
    suite_add_tcase(suite, tc);
    return tc;
}

#endif /* disk-world.h */
