/* SPDX-License-Identifier: Apache-2.0 */

/* Typed state and the disk: what was answered is there after a restart, what
 * was refused, by the bridge or the disk, isn't. */

#include <config.h>
#undef NDEBUG

#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adp-disk-file.h"
#include "adp-disk.h"
#include "adp-state-disk.h"
#include "adp-state-private.h"
#include "adp-state.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "random.h"
#include "state-world.h"
#include "test-run.h"
#include "timeval.h"
#include "util.h"
#include "uuid.h"

static char dir[] = "/tmp/test-state-disk-XXXXXX";
static char *folder;

/* What the disk says, by what a file is asked for. */
static atomic_bool disk_is_full;
static atomic_bool disk_is_stuck;
static ATOMIC(const char *) failing; /* What alone is refused, or NULL. */

static int
fault(const char *what, const char *name OVS_UNUSED)
{
    const char *fails;
    bool full, stuck;

    do {
        atomic_read(&disk_is_stuck, &stuck);
    } while (stuck && !usleep(100));
    atomic_read(&disk_is_full, &full);
    atomic_read(&failing, &fails);
    return ((full && strcmp(what, "truncate"))
            || nullable_string_is_equal(what, fails) ? ENOSPC : 0);
}

static void
run(const char *format)
{
    char *command = xasprintf(format, dir);

    ck_assert_int_eq(system(command), 0);
    free(command);
}

static void
open_disk(void)
{
    adp_state_set_disk(state, adp_state_disk_create_in(folder));
}

static void
setup(void)
{
    ck_assert_ptr_nonnull(mkdtemp(dir));
    folder = xasprintf("%s/states/bridge", dir);
    time_msec();
    atomic_store(&disk_is_full, false);
    atomic_store(&disk_is_stuck, false);
    atomic_store(&failing, NULL);
    adp_disk_fault = fault;
    state_world_setup();
    open_disk();
}

static void
teardown(void)
{
    state_world_teardown();
    run("rm -rf %s");
    free(folder);
}

static void
settle(void)
{
    do {
        adp_state_run(state);
    } while (adp_state_is_busy(state));
}

/* The process ends, and another one begins. */
static void
restart(void)
{
    state_world_teardown();
    state_world_setup();
    open_disk();
}

static char *
all_records(void)
{
    struct json *json = adp_model_get(adp_state_model(state), NULL, NULL);
    char *s = json_to_string(json, JSSF_SORT);

    json_destroy(json);
    return s;
}

static char *
all_flows(void)
{
    const struct shash_node **nodes = shash_sort(&bridge.flows);
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < shash_count(&bridge.flows); i++) {
        ds_put_format(&s, "%s %s\n", nodes[i]->name, (char *) nodes[i]->data);
    }
    free(nodes);
    return ds_steal_cstr(&s);
}

static void
expect_survival(void)
{
    char *records = all_records();
    char *flows = all_flows();
    uint64_t generation = adp_state_generation(state);

    restart();
    ck_assert_int_eq(adp_state_is_closed(state), !access(folder, F_OK));
    settle();
    ck_assert(!adp_state_is_closed(state));
    ck_assert_ptr_null(adp_state_restore_error(state));
    ck_assert_uint_eq(adp_state_generation(state), generation);
    char *now = all_records();
    ck_assert_str_eq(now, records);
    free(now);
    now = all_flows();
    ck_assert_str_eq(now, flows);
    free(now);
    free(flows);
    free(records);
}

/* Patches group 9. */
static void
patch(const char *add)
{
    char *text = xasprintf("[{\"kind\":\"AddressGroup\",\"name\":\"9\","
                           "\"add\":[\"%s\"]}]", add);
    struct json *json = json_from_string(text);
    struct json *apply = json_from_string("[" POD2 "]");
    struct adp_state_call *call
        = adp_state_transact(state, &(struct adp_state_change) {
            .patch = json, .apply = apply });

    settle();
    ck_assert(call->done);
    ck_assert_ptr_null(call->error);
    adp_state_call_unref(call);
    json_destroy(apply);
    json_destroy(json);
    free(text);
}

/* What can't be carried out again, from the disk, isn't at all. */
START_TEST(test_deleted_and_patched)
{
    struct json *delete = json_from_string(
        "[" KEY("Pod", "a/1") "," KEY("AddressGroup", "9") "]");
    struct json *patch = json_from_string(
        "[{\"kind\":\"AddressGroup\",\"name\":\"8\"},"
        "{\"kind\":\"AddressGroup\",\"name\":\"9\","
        "\"add\":[\"10.0.0.7\"]}]");

    transact("[" POD1 "," GROUP("8", "") "," GROUP("9", "\"10.0.0.1\"") "]",
             NULL);
    for (int i = 0; i < 2; i++) {
        struct adp_state_call *call
            = adp_state_transact(state, &(struct adp_state_change) {
                .delete = delete, .patch = patch, .ignore_missing = i });

        settle();
        ck_assert(call->done);
        ck_assert_ptr_nonnull(call->error);
        ck_assert_str_eq(call->error->code, "invalid");
        ck_assert_str_eq(call->error->object, "AddressGroup 9");
        adp_state_call_unref(call);
        expect_survival();
        ck_assert_uint_eq(adp_state_generation(state), 1);
    }
    json_destroy(delete);
    json_destroy(patch);
}
END_TEST

START_TEST(test_nothing)
{
    ck_assert(!adp_state_is_closed(state));
    expect_survival();
    ck_assert_int_eq(access(folder, F_OK), -1);
}
END_TEST

START_TEST(test_all_parts_of_a_transaction)
{
    transact("[" POD1 "," GROUP("9", "\"10.0.0.1\"") "]", NULL);
    expect_survival();
    patch("10.0.0.7");
    expect_survival();
    ck_assert_str_eq(shash_find_data(&bridge.groups, "9"), "2");
    transact("[" GROUP("7", "") "]", "[" KEY("Pod", "a/1") "]");
    expect_survival();
    ck_assert_ptr_null(transact__(true, "[" POD1_MAC "]", NULL, NULL, NULL));
    expect_survival();
    ck_assert_ptr_null(transact__(true, "[]", NULL, NULL, NULL));
    expect_survival();
    ck_assert_uint_eq(adp_state_generation(state), 5);
    transact("[" POD2 "]", NULL);
    expect_survival();
}
END_TEST

START_TEST(test_large)
{
    char *all = many_groups(1, 3000);
    struct ds keys = DS_EMPTY_INITIALIZER;

    for (int i = 1000; i < 2000; i++) {
        ds_put_format(&keys, "%s{\"kind\":\"AddressGroup\",\"name\":\"%d\"}",
                      keys.length ? "," : "[", i);
    }
    ds_put_char(&keys, ']');
    transact(all, NULL);
    expect_survival();
    transact(NULL, ds_cstr(&keys));
    expect_survival();
    ds_destroy(&keys);
    free(all);
}
END_TEST

START_TEST(test_snapshots)
{
    struct adp_disk *disk;
    struct adp_disk_stats stats;
    char *all = many_groups(1, 3000);

    for (int i = 0; i < 12; i++) {
        transact(all, NULL);
    }
    do {
        settle();
        disk = adp_state_disk_get(adp_state_get_disk(state));
        adp_disk_get_stats(disk, &stats);
        ck_assert_ptr_null(stats.error);
    } while (!stats.n_snapshots);
    ck_assert_uint_eq(stats.generation, 12);
    expect_survival();
    transact("[" POD1 "]", NULL);
    expect_survival();
    free(all);
}
END_TEST

START_TEST(test_refused_by_the_bridge)
{
    transact("[" POD1 "]", NULL);
    bridge.refusal = "no";
    expect_failure("[" POD2 "]", NULL, "internal", "no");
    bridge.refusal = NULL;
    expect_survival();
    transact("[" GROUP("9", "") "]", NULL);
    expect_survival();
}
END_TEST

START_TEST(test_refused_by_the_disk)
{
    transact("[" POD1 "]", NULL);
    svec_clear(&bridge.log);
    atomic_store(&disk_is_full, true);
    for (int i = 0; i < 3; i++) {
        expect_failure("[" POD2 "]", NULL, "disk",
                       "can't be stored, and stays as it is");
    }
    expect_mods("");
    atomic_store(&disk_is_full, false);
    expect_survival();
    transact("[" POD2 "]", NULL);
    expect_survival();
}
END_TEST

/* What happens while the disk takes its time. */

static struct adp_state_call *
begin_to_store(const char *records)
{
    struct json *json = json_from_string(records);

    atomic_store(&disk_is_stuck, true);
    struct adp_state_call *call
        = adp_state_transact(state, &(struct adp_state_change) {
            .apply = json });
    for (int i = 0; i < 3; i++) {
        adp_state_run(state);
        ck_assert(!call->done);
        ck_assert(adp_state_is_busy(state));
    }
    json_destroy(json);
    return call;
}

static void
end_storing(struct adp_state_call *call)
{
    atomic_store(&disk_is_stuck, false);
    settle();
    ck_assert(call->done);
    ck_assert_ptr_null(call->error);
    adp_state_call_unref(call);
}

START_TEST(test_no_flow_before_the_disk)
{
    struct adp_state_call *call = begin_to_store("[" POD1 "]");

    expect_mods("");
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), 0);
    ck_assert_uint_eq(adp_state_generation(state), 0);
    end_storing(call);
    expect_mods("add " FLOW1);
    expect_survival();
}
END_TEST

static void
expect_pod(const char *mac)
{
    size_t n;
    const struct adp_record **records = adp_state_sorted(state, ADP_KIND_POD,
                                                         &n);

    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(records[0]->name, "a/1");
    ck_assert_str_eq(json_string(shash_find_data(
                                     json_object(records[0]->json), "mac")),
                     mac);
    free(records);
}

/* Those of one kind are known meanwhile without a copy of all. */
START_TEST(test_records_while_it_is_stored)
{
    transact("[" POD1 "," GROUP("7", "") "]", NULL);
    struct adp_state_call *call = begin_to_store("[" POD1_MAC "," POD2 "]");

    expect_pod("00:00:00:00:00:01");
    ck_assert_ptr_null(state->before);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"), 1);
    ck_assert_ptr_nonnull(state->before);
    expect_pod("00:00:00:00:00:01");
    end_storing(call);
    transact(NULL, "[" KEY("Pod", "a/2") "]");
    expect_pod("00:00:00:00:00:ff");
}
END_TEST

static struct adp_state_call *
submit(const char *records)
{
    struct json *json = json_from_string(records);
    struct adp_state_call *call
        = adp_state_submit(state, &(struct adp_state_change) {
            .apply = json });

    json_destroy(json);
    return call;
}

/* Until all are answered. */
static void
serve(void)
{
    do {
        adp_state_serve(state);
        adp_state_run(state);
    } while (adp_state_is_busy(state) || adp_state_has_calls(state));
}

/* What comes while the disk is busy shares one synchronization. */
START_TEST(test_group)
{
    struct adp_state_call *first = begin_to_store("[" POD1 "]");
    struct adp_state_call *calls[] = {
        submit("[" POD2 "]"), submit("[" POD1_MAC "]"),
        submit("[{\"kind\":\"Pod\"}]"), submit("[" GROUP("9", "") "]"),
    };
    struct adp_disk_stats stats;

    for (int i = 0; i < 3; i++) {
        adp_state_serve(state);
        adp_state_run(state);
    }
    expect_mods("");
    ck_assert(!first->done);
    atomic_store(&disk_is_stuck, false);
    do {
        adp_state_serve(state);
    } while (!first->done);
    ck_assert_ptr_null(first->error);
    adp_state_call_unref(first);

    /* Others have their turn before the next. */
    ck_assert(!adp_state_is_busy(state));
    ck_assert(adp_state_has_calls(state));
    adp_state_run(state);
    expect_mods("add " FLOW1);

    serve();
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        ck_assert(calls[i]->done);
        ck_assert(!calls[i]->error == (i != 2));
        adp_state_call_unref(calls[i]);
    }
    adp_disk_get_stats(adp_state_disk_get(adp_state_get_disk(state)), &stats);
    ck_assert_uint_eq(stats.n_transactions, 4);
    ck_assert_uint_eq(stats.n_groups, 2);
    ck_assert_uint_eq(stats.generation, 4);
    expect_survival();
}
END_TEST

START_TEST(test_group_refused_by_the_disk)
{
    transact("[" POD1 "]", NULL);
    svec_clear(&bridge.log);
    atomic_store(&disk_is_full, true);

    struct adp_state_call *calls[] = {
        submit("[" POD2 "]"), submit("[" GROUP("9", "") "]"),
    };
    serve();
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        ck_assert(calls[i]->done);
        ck_assert_str_eq(calls[i]->error->code, "disk");
        adp_state_call_unref(calls[i]);
    }
    expect_mods("");
    atomic_store(&disk_is_full, false);
    ck_assert_uint_eq(adp_state_generation(state), 1);
    expect_survival();
}
END_TEST

/* Of a group that the bridge refuses nothing is on the disk but what it takes
 * alone. */
START_TEST(test_group_refused_by_the_bridge)
{
    struct adp_state_call *a = submit("[" POD1 "]");
    struct adp_state_call *b
        = submit("[{\"kind\":\"Egress\",\"name\":\"7\","
                 "\"appliedToGroups\":[],\"egressIP\":\"192.0.2.7\","
                 "\"bandwidth\":{\"rateKbps\":1,\"burstKbits\":2}}]");
    struct adp_state_call *c = submit("[" POD2 "]");

    bridge.refused_meter = 7;
    serve();
    bridge.refused_meter = 0;
    ck_assert(a->done && !a->error && a->generation == 1);
    ck_assert(b->done && b->error);
    ck_assert(c->done && !c->error && c->generation == 2);
    adp_state_call_unref(a);
    adp_state_call_unref(b);
    adp_state_call_unref(c);
    expect_survival();
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), 2);
}
END_TEST

START_TEST(test_flushed_while_it_is_stored)
{
    transact("[" GROUP("9", "\"10.0.0.1\"") "]", NULL);
    struct adp_state_call *call
        = begin_to_store("[" GROUP("8", "") "," POD1 "]");

    shash_clear_free_data(&bridge.flows);
    shash_clear_free_data(&bridge.groups);
    adp_state_sync(state, true);
    end_storing(call);
    ck_assert(adp_state_is_synced(state));
    ck_assert_uint_eq(shash_count(&bridge.flows), 4);
    expect_survival();
}
END_TEST

START_TEST(test_ports_change_while_it_is_stored)
{
    struct adp_state_call *call = begin_to_store("[" POD1 "]");

    set_port("p1", 0);
    end_storing(call);
    ck_assert_ptr_null(shash_find(&bridge.flows, FLOW1));
    set_port("p1", 1);
    settle();
    expect_survival();
}
END_TEST

static void *
unstick(void *aux OVS_UNUSED)
{
    usleep(20000);
    atomic_store(&disk_is_stuck, false);
    return NULL;
}

START_TEST(test_another_pipeline_while_it_is_stored)
{
    struct adp_state_call *call = begin_to_store("[" POD1 "]");
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, unstick, NULL), 0);
    use_pipeline(&other_pipeline, 0, true);
    pthread_join(thread, NULL);
    ck_assert(call->done);
    ck_assert_ptr_null(call->error);
    adp_state_call_unref(call);
    use_pipeline(&test_pipeline, 0, true);
    ck_assert_ptr_nonnull(shash_find(&bridge.flows, FLOW1));
    expect_survival();
}
END_TEST

START_TEST(test_pipeline_taken_away_while_it_is_stored)
{
    transact("[" POD2 "]", NULL);
    struct adp_state_call *call = begin_to_store("[" POD1 "]");
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, unstick, NULL), 0);
    adp_state_forget_flows(state);
    pthread_join(thread, NULL);
    ck_assert(call->done);
    ck_assert_ptr_nonnull(call->error);
    adp_state_call_unref(call);
    ck_assert_uint_eq(adp_state_generation(state), 1);
    adp_state_sync(state, true);
    settle();
    expect_survival();
}
END_TEST

START_TEST(test_destroyed_while_it_is_stored)
{
    transact("[" POD2 "]", NULL);
    struct adp_state_call *call = begin_to_store("[" POD1 "]");
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, unstick, NULL), 0);
    restart();
    pthread_join(thread, NULL);
    ck_assert(call->done);
    ck_assert_ptr_nonnull(call->error);
    adp_state_call_unref(call);
    settle();
    ck_assert_uint_eq(adp_state_generation(state), 1);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"), 1);
}
END_TEST

/* Restoring. */

START_TEST(test_ports_that_are_gone)
{
    transact("[" POD1 "," POD2 "]", NULL);
    state_world_teardown();
    state_world_setup();
    set_port("p1", 0);
    open_disk();
    settle();
    ck_assert(!adp_state_is_closed(state));
    ck_assert_ptr_null(shash_find(&bridge.flows, FLOW1));
    ck_assert_ptr_nonnull(shash_find(&bridge.flows, FLOW2));
    set_port("p1", 1);
    settle();
    ck_assert_ptr_nonnull(shash_find(&bridge.flows, FLOW1));
}
END_TEST

START_TEST(test_closed_until_flows_are_there)
{
    char *all = many_groups(1, 3000);

    transact(all, NULL);
    restart();
    while (adp_state_is_closed(state)) {
        adp_state_run(state);
    }
    ck_assert_uint_eq(shash_count(&bridge.flows), 3001);
    settle();
    free(all);
}
END_TEST

/* Who comes before the state on the disk was looked at waits for that. */
START_TEST(test_calls_before_it_is_read)
{
    const bool clear = _i;
    struct json *json = json_from_string("[" POD2 "]");

    transact("[" POD1 "]", NULL);
    restart();
    ck_assert(adp_state_is_busy(state));
    struct adp_state_call *call
        = adp_state_submit(state, &(struct adp_state_change) {
            .clear = clear, .apply = json });
    adp_state_serve(state);
    ck_assert(!call->done);
    ck_assert(adp_state_has_calls(state));

    serve();
    ck_assert(call->done);
    ck_assert_ptr_null(call->error);
    ck_assert_uint_eq(call->generation, 2);
    adp_state_call_unref(call);
    json_destroy(json);
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"),
                      clear ? 1 : 2);
    run("test \"$(ls %s/states)\" = bridge");
    expect_survival();
}
END_TEST

static void
expect_closed(const char *why)
{
    ck_assert(adp_state_is_closed(state));
    ck_assert_ptr_nonnull(adp_state_restore_error(state));
    ck_assert(!adp_state_is_busy(state));
    ck_assert_msg(strstr(adp_state_restore_error(state), why), "\"%s\"",
                  adp_state_restore_error(state));
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), NULL), 0);
    expect_failure("[" POD1 "]", NULL, "disk", why);

    /* Its records aren't none: nobody knows them. */
    struct adp_error *error = adp_state_refuses_get(state);
    ck_assert_str_eq(error->code, "disk");
    ck_assert_ptr_nonnull(strstr(error->message, why));
    adp_error_destroy(error);
}

START_TEST(test_refused_flows_keep_it_closed)
{
    transact("[" POD1 "]", NULL);
    state_world_teardown();
    state_world_setup();
    bridge.refusal = "no";
    open_disk();
    settle();
    expect_closed("no");

    /* It is tried again. */
    bridge.refusal = NULL;
    for (int i = 0; adp_state_is_closed(state); i++) {
        ck_assert_int_lt(i, 600);
        usleep(20000);
        time_msec();
        settle();
    }
    ck_assert_ptr_nonnull(shash_find(&bridge.flows, FLOW1));
    ck_assert_uint_eq(adp_state_generation(state), 1);
    transact("[" POD2 "]", NULL);
    expect_survival();
}
END_TEST

static void
damage(void)
{
    transact("[" GROUP("9", "") "]", NULL);
    run("printf x > %s/x && dd if=%1$s/x of=%1$s/states/bridge/"
        "log-0000000000000000 bs=1 seek=80 conv=notrunc 2> /dev/null");
    restart();
    settle();
    expect_closed("damaged");
}

START_TEST(test_damage_keeps_it_closed)
{
    damage();

    /* What is wrong begins nothing anew, nor does what can't be stored. */
    ck_assert_str_eq(transact__(true, "[" KEY("Pod", "x") "]", NULL, NULL,
                                NULL), "invalid");
    expect_closed("damaged");
    ck_assert_ptr_null(transact__(true, "[" POD2 "]", NULL, NULL, NULL));
    ck_assert(!adp_state_is_closed(state));
    ck_assert_ptr_null(adp_state_refuses_get(state));
    run("test -e %s/states/bridge.old-1/log-0000000000000000");
    expect_survival();
    transact("[" POD1 "]", NULL);
    expect_survival();
}
END_TEST

/* Tries until then to restore the state once more. */
static void
wait_for_retry(void)
{
    usleep(5100000);
    time_msec();
    settle();
}

/* What doesn't take the place of a damaged state leaves it where it is. */
START_TEST(test_refused_replacement_keeps_it_closed)
{
    static const char *const steps[] = {
        "mkdir", "create", "write", "fsync", "rename", NULL,
    };
    const char *step = steps[_i];

    damage();
    atomic_store(&failing, step);
    bridge.refusal = step ? NULL : "no";
    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(transact__(true, "[" POD2 "]", NULL, NULL,
                                    step ? "can't be stored" : "no"),
                         step ? "disk" : "internal");
        expect_closed("damaged");
    }
    run("test \"$(ls %s/states)\" = bridge");
    atomic_store(&failing, NULL);
    bridge.refusal = NULL;

    wait_for_retry();
    expect_closed("damaged");
    restart();
    settle();
    expect_closed("damaged");
    ck_assert_ptr_null(transact__(true, "[" POD2 "]", NULL, NULL, NULL));
    run("test -e %s/states/bridge.old-1/log-0000000000000000");
    transact("[" POD1 "]", NULL);
    expect_survival();
    transact("[" GROUP("9", "") "]", NULL);
    expect_survival();
}
END_TEST

/* All ends while one state takes the place of the other. */
START_TEST(test_between_two_states)
{
    damage();
    ck_assert_ptr_null(transact__(true, "[" POD2 "]", NULL, NULL, NULL));
    run("mv %s/states/bridge %1$s/states/bridge.new");
    restart();
    ck_assert(adp_state_is_closed(state));
    settle();
    ck_assert(!adp_state_is_closed(state));
    ck_assert_uint_eq(adp_model_count(adp_state_model(state), "Pod"), 1);
    expect_survival();
}
END_TEST

/* Another row for the bridge. */

static const struct uuid rows[] = {
    { { 0x11111111, 0, 0, 1 } }, { { 0x22222222, 0, 0, 2 } },
};

static char *
folder_of_row(int i)
{
    return xasprintf("%s/antrea-dp/br-test-"UUID_FMT, dir,
                     UUID_ARGS(&rows[i]));
}

/* Begins with a folder where those of bridges are. */
static void
begin_with_row(void)
{
    ck_assert_int_eq(setenv("OVS_DBDIR", dir, 1), 0);
    state_world_teardown();
    state_world_setup();
    free(folder);
    folder = folder_of_row(0);
    open_disk();
}

/* The bridge has row 'i' now instead of the other one.  Returns an error. */
static char *
follow_row(int i)
{
    char *error;

    ck_assert(adp_state_move_disk(state, &rows[!i], &rows[i], &error));
    if (!error) {
        free(folder);
        folder = folder_of_row(i);
        ck_assert_str_eq(adp_state_disk_folder(adp_state_get_disk(state)),
                         folder);
    }
    return error;
}

START_TEST(test_another_row)
{
    begin_with_row();
    ck_assert_ptr_null(follow_row(1)); /* There is nothing yet. */
    transact("[" POD1 "]", NULL);
    expect_survival();
    ck_assert_ptr_null(follow_row(0));
    run("test \"$(ls %s/antrea-dp | wc -l)\" = 1");
    transact("[" POD2 "]", NULL);
    expect_survival();

    /* While a group is on its way, which goes along. */
    struct adp_state_call *call = begin_to_store("[" GROUP("9", "") "]");
    atomic_store(&disk_is_stuck, false);
    ck_assert_ptr_null(follow_row(1));
    end_storing(call);
    expect_survival();
}
END_TEST

START_TEST(test_another_row_with_files)
{
    begin_with_row();
    transact("[" POD1 "]", NULL);
    run("mkdir %s/antrea-dp/br-test-22222222-0000-0000-0000-000000000002");
    ck_assert_ptr_null(follow_row(1));
    run("test -d %s/antrea-dp/"
        "br-test-22222222-0000-0000-0000-000000000002.old-1");
    expect_survival();
}
END_TEST

/* What can't be moved stays, and goes on. */
START_TEST(test_another_row_on_a_bad_disk)
{
    begin_with_row();
    transact("[" POD1 "]", NULL);
    atomic_store(&failing, "rename");
    char *error = follow_row(1);
    ck_assert_ptr_nonnull(error);
    ck_assert_ptr_nonnull(strstr(error, folder));
    free(error);
    atomic_store(&failing, NULL);
    transact("[" POD2 "]", NULL);
    expect_survival();
    ck_assert_ptr_null(follow_row(1));
    expect_survival();
}
END_TEST

/* Not while it is read; while it can't be read it goes along. */
START_TEST(test_another_row_while_it_is_closed)
{
    char *groups = many_groups(1, 2500);
    char *error;

    begin_with_row();
    transact(groups, NULL);
    restart();
    adp_state_run(state);
    ck_assert(adp_state_is_busy(state));
    ck_assert(!adp_state_move_disk(state, &rows[0], &rows[1], &error));
    settle();
    expect_survival();

    state_world_teardown();
    state_world_setup();
    bridge.refusal = "no";
    open_disk();
    settle();
    expect_closed("no");
    ck_assert_ptr_null(follow_row(1));
    bridge.refusal = NULL;
    wait_for_retry();
    ck_assert(!adp_state_is_closed(state));
    expect_survival();
    free(groups);
}
END_TEST

/* Random. */

static char *
random_change(void)
{
    static const char *const records[] = {
        POD1, POD1_MAC, POD2, GROUP("9", "\"10.0.0.1\""), GROUP("9", ""),
        GROUP("8", "\"10.0.0.2\",\"10.0.0.3\""), GROUP("7", ""),
    };
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_char(&s, '[');
    for (uint32_t n = 1 + random_range(3), i = 0; i < n; i++) {
        ds_put_format(&s, "%s%s", i ? "," : "",
                      records[random_range(ARRAY_SIZE(records))]);
    }
    ds_put_char(&s, ']');
    return ds_steal_cstr(&s);
}

START_TEST(test_random)
{
    random_set_seed(_i + 1);
    for (int i = 0; i < 60; i++) {
        char *apply = random_change();
        bool full = !random_range(6);

        bridge.refusal = random_range(6) ? NULL : "no";
        atomic_store(&disk_is_full, full);
        transact__(!random_range(8), apply, NULL, NULL, NULL);
        free(apply);
        atomic_store(&disk_is_full, false);
        bridge.refusal = NULL;
        if (!random_range(4)) {
            expect_survival();
        }
    }
    expect_survival();
}
END_TEST

static Suite *
suite(void)
{
    Suite *s = suite_create("state-disk");
    TCase *tc = tcase_create("state-disk");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, test_nothing);
    tcase_add_test(tc, test_all_parts_of_a_transaction);
    tcase_add_test(tc, test_deleted_and_patched);
    tcase_add_test(tc, test_large);
    tcase_add_test(tc, test_snapshots);
    tcase_add_test(tc, test_refused_by_the_bridge);
    tcase_add_test(tc, test_refused_by_the_disk);
    tcase_add_test(tc, test_no_flow_before_the_disk);
    tcase_add_test(tc, test_records_while_it_is_stored);
    tcase_add_test(tc, test_group);
    tcase_add_test(tc, test_group_refused_by_the_disk);
    tcase_add_test(tc, test_group_refused_by_the_bridge);
    tcase_add_test(tc, test_flushed_while_it_is_stored);
    tcase_add_test(tc, test_ports_change_while_it_is_stored);
    tcase_add_test(tc, test_another_pipeline_while_it_is_stored);
    tcase_add_test(tc, test_pipeline_taken_away_while_it_is_stored);
    tcase_add_test(tc, test_destroyed_while_it_is_stored);
    tcase_add_test(tc, test_ports_that_are_gone);
    tcase_add_test(tc, test_closed_until_flows_are_there);
    tcase_add_loop_test(tc, test_calls_before_it_is_read, 0, 2);
    tcase_add_test(tc, test_refused_flows_keep_it_closed);
    tcase_add_test(tc, test_damage_keeps_it_closed);
    tcase_add_loop_test(tc, test_refused_replacement_keeps_it_closed, 0, 6);
    tcase_add_test(tc, test_between_two_states);
    tcase_add_test(tc, test_another_row);
    tcase_add_test(tc, test_another_row_with_files);
    tcase_add_test(tc, test_another_row_on_a_bad_disk);
    tcase_add_test(tc, test_another_row_while_it_is_closed);
    tcase_add_loop_test(tc, test_random, 0, 8);
    suite_add_tcase(s, tc);
    return s;
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    set_program_name(argv[0]);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);

    return test_run(suite());
}
