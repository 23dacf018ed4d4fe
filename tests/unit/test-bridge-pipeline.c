/* SPDX-License-Identifier: Apache-2.0 */

/* How a bridge goes from one pipeline to another, without a daemon: the state
 * takes pipelines, or refuses them, as a test tells it. */

#include <config.h>

#include "call-notes.h"
#include <stdlib.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge-shared.h"
#include "adp-fqdns.h"
#include "adp-journal.h"
#include "adp-multicast.h"
#include "adp-state-disk.h"
#include "adp-state.h"
#include "adp-turn.h"
#include "ofproto/dp-hooks-ofproto.h"
#include "openvswitch/vlog.h"
#include "pipeline.h"
#include "smap.h"
#include "test-run.h"
#include "util.h"
#include "uuid.h"

/* The calls that are noted: "c" records are checked, "f" what is under way
 * ends, "i" flows are installed, "o" options begin to change, "n" the bridge
 * is emptied, "u" upstream may put its own flow there, "a" what is stored is
 * set aside. */

static struct adp_bridge *b;
static bool is_system;
static struct oftable tables[2];
static struct smap config;

static struct {
    uint64_t generation;
    const char *wrong_records;  /* Why they can't be had, or NULL. */
    const char *refusal;        /* OpenFlow's, or NULL. */
    const char *options_error;  /* The same, of options that changed. */
    bool busy, large, changes_options;
} state;

/* Has somebody put flows into the empty bridge? */
static bool filled;

/* Are states kept on the disk? */
static bool is_kept;

/* What packets see. */
static struct {
    size_t n_answers;           /* In force, */
    size_t next;                /* and from the next version on. */
} program;

/* The state. */

struct adp_state *
adp_state_create(struct adp_bridge *bridge OVS_UNUSED)
{
    return (struct adp_state *) &state;
}

void
adp_state_destroy(struct adp_state *s OVS_UNUSED)
{
}

void
adp_state_set_disk(struct adp_state *s OVS_UNUSED,
                   struct adp_state_disk *disk OVS_UNUSED)
{
}

bool
adp_state_is_closed(const struct adp_state *s OVS_UNUSED)
{
    return false;
}

bool
adp_state_move_disk(struct adp_state *s OVS_UNUSED,
                    const struct uuid *old OVS_UNUSED,
                    const struct uuid *uuid OVS_UNUSED,
                    char **error OVS_UNUSED)
{
    return true;
}

void
adp_state_sync(struct adp_state *s OVS_UNUSED, bool reinstall OVS_UNUSED)
{
}

bool
adp_state_is_synced(const struct adp_state *s OVS_UNUSED)
{
    return true;
}

void
adp_state_run(struct adp_state *s OVS_UNUSED)
{
}

void
adp_state_wait(const struct adp_state *s OVS_UNUSED)
{
}

bool
adp_state_is_busy(const struct adp_state *s OVS_UNUSED)
{
    return state.busy;
}

bool
adp_state_is_large(const struct adp_state *s OVS_UNUSED)
{
    return state.large;
}

void
adp_state_end_reading(struct adp_state *s OVS_UNUSED)
{
}

void
adp_state_finish(struct adp_state *s OVS_UNUSED)
{
    if (state.busy) {
        note('f');
    }
    state.busy = false;
}

/* A version, unless it is refused. */
static void
publish(void)
{
    if (!state.refusal) {
        ck_assert_uint_ne(program.n_answers, program.next);
        program.n_answers = program.next;
    }
}

static struct adp_error *
an_error(const char *message)
{
    return (message ? adp_error_create("invalid", NULL, NULL, "%s", message)
            : NULL);
}

struct adp_error *
adp_state_check_pipeline(const struct adp_state *s OVS_UNUSED,
                         const struct adp_pipeline *pipeline OVS_UNUSED,
                         uint64_t options OVS_UNUSED)
{
    note('c');
    return an_error(state.wrong_records);
}

struct adp_error *
adp_state_install(struct adp_state *s OVS_UNUSED, bool replace OVS_UNUSED)
{
    ck_assert(!state.busy);
    note('i');
    publish();
    return an_error(state.refusal);
}

void
adp_state_change_options(struct adp_state *s OVS_UNUSED, uint64_t options)
{
    ck_assert(!state.busy);
    note('o');
    ck_assert_uint_ne(options, adp_bridge_pipeline_options(b));
    state.busy = state.changes_options = true;
}

bool
adp_state_changes_options(const struct adp_state *s OVS_UNUSED)
{
    return state.changes_options;
}

char *
adp_state_take_options_error(struct adp_state *s OVS_UNUSED)
{
    char *error = nullable_xstrdup(state.options_error);

    state.options_error = NULL;
    return error;
}

void
adp_state_forget_flows(struct adp_state *s OVS_UNUSED)
{
}

uint64_t
adp_state_generation(const struct adp_state *s OVS_UNUSED)
{
    return state.generation;
}

/* What is on the disk. */

struct adp_state_disk *
adp_state_disk_create(const char *name OVS_UNUSED,
                      const struct uuid *uuid OVS_UNUSED)
{
    return NULL;
}

bool
adp_state_disk_is_kept(void)
{
    return is_kept;
}

void
adp_state_disk_leave(const char *name OVS_UNUSED,
                     const struct uuid *uuid OVS_UNUSED)
{
    note('a');
}

char *
adp_state_disk_move(struct adp_state_disk *sd OVS_UNUSED,
                    const char *name OVS_UNUSED,
                    const struct uuid *old OVS_UNUSED,
                    const struct uuid *uuid OVS_UNUSED)
{
    return NULL;
}

void
adp_state_disk_delete(const char *name OVS_UNUSED,
                      const struct uuid *uuid OVS_UNUSED)
{
}

/* The bridge. */

const char *
adp_bridge_name(const struct adp_bridge *bridge OVS_UNUSED)
{
    return "br-int";
}

bool
adp_bridge_is_system(const struct adp_bridge *bridge OVS_UNUSED)
{
    return is_system;
}

void
adp_bridge_name_table(struct adp_bridge *bridge OVS_UNUSED,
                      uint8_t id OVS_UNUSED, const char *name OVS_UNUSED)
{
}

void
adp_bridge_unname_tables(struct adp_bridge *bridge OVS_UNUSED)
{
}

bool
adp_bridge_rebuild_ports(struct adp_bridge *bridge OVS_UNUSED)
{
    return false;
}

void
adp_bridge_set_mode(struct adp_bridge *bridge OVS_UNUSED,
                    bool closed OVS_UNUSED)
{
}

char *
adp_bridge_commit(struct adp_bridge *bridge OVS_UNUSED,
                  const struct ofputil_flow_mod *fms OVS_UNUSED,
                  size_t n_fms OVS_UNUSED,
                  const struct ofputil_group_mod *gms OVS_UNUSED,
                  size_t n_gms OVS_UNUSED, bool replace OVS_UNUSED)
{
    note('n');
    if (program.n_answers != program.next) {
        publish();
    }
    return nullable_xstrdup(state.refusal);
}

void
adp_journal_set_answers(struct adp_bridge *bridge OVS_UNUSED,
                        const struct adp_answers *answers)
{
    program.next = answers->n;
}

void
adp_journal_publish_settings(struct adp_bridge *bridge OVS_UNUSED)
{
    ck_assert_uint_eq(program.n_answers, program.next);
}

void
adp_journal_declare_metadata(struct adp_bridge *bridge OVS_UNUSED,
                             const uint32_t *words OVS_UNUSED)
{
}

void
adp_journal_keep_pipeline(struct adp_bridge *bridge OVS_UNUSED,
                          bool keeps OVS_UNUSED)
{
}

void
adp_journal_take_flush(struct adp_bridge *bridge OVS_UNUSED,
                       struct adp_journal_flush *flush)
{
    memset(flush, 0, sizeof *flush);
    flush->filled = filled;
    filled = false;
}

bool
adp_journal_was_flushed(struct adp_bridge *bridge OVS_UNUSED)
{
    return filled;
}

/* Others. */

struct adp_fqdns *
adp_fqdns_create(struct adp_bridge *bridge OVS_UNUSED)
{
    return NULL;
}

void
adp_fqdns_destroy(struct adp_fqdns *fqdns OVS_UNUSED)
{
}

void
adp_fqdns_run(struct adp_fqdns *fqdns OVS_UNUSED,
              struct adp_state *s OVS_UNUSED)
{
}

void
adp_fqdns_wait(struct adp_fqdns *fqdns OVS_UNUSED,
               const struct adp_state *s OVS_UNUSED)
{
}

struct adp_multicast *
adp_multicast_create(struct adp_bridge *bridge OVS_UNUSED)
{
    return NULL;
}

void
adp_multicast_destroy(struct adp_multicast *m OVS_UNUSED)
{
}

void
adp_multicast_run(struct adp_multicast *m OVS_UNUSED,
                  struct adp_state *s OVS_UNUSED, bool active OVS_UNUSED)
{
}

void
adp_multicast_wait(struct adp_multicast *m OVS_UNUSED,
                   const struct adp_state *s OVS_UNUSED)
{
}

enum adp_turn_section
adp_turn_enter(enum adp_turn_section section)
{
    return section;
}

void
adp_turn_leave(enum adp_turn_section outer OVS_UNUSED)
{
}

enum ofperr
ofproto_ensure_meter(struct ofproto *ofproto OVS_UNUSED,
                     const struct ofputil_meter_mod *mm OVS_UNUSED)
{
    return 0;
}

enum ofperr
ofproto_ensure_tlv_map(struct ofproto *ofproto OVS_UNUSED,
                       struct ofputil_tlv_table_mod *ttm OVS_UNUSED)
{
    return 0;
}

void
ofproto_flush_flows(struct ofproto *ofproto OVS_UNUSED)
{
    note('u');
}

/* What tests say. */

static void
setup(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    memset(&state, 0, sizeof state);
    memset(&program, 0, sizeof program);
    is_system = filled = false;
    is_kept = true;
    b = xzalloc(sizeof *b);
    b->dpif.up.tables = tables;
    b->dpif.up.n_tables = ARRAY_SIZE(tables);
    tables[1].max_flows = UINT_MAX;
    smap_init(&config);
    adp_bridge_pipeline_init(b);
}

static void
setup_running(void)
{
    setup();
    adp_bridge_pipeline_configure(b, &config);
    expect("i");
}

static void
teardown(void)
{
    adp_bridge_pipeline_uninit(b, true);
    smap_destroy(&config);
    free(b);
}

/* The database changes, perhaps in something else. */
static void
configure(const char *pipeline)
{
    smap_replace(&config, "antrea-dp-pipeline", pipeline);
    adp_bridge_pipeline_configure(b, &config);
}

static void
runs(const char *pipeline)
{
    const struct adp_pipeline *p = adp_bridge_pipeline(b);

    ck_assert_str_eq(p ? p->name : "none", pipeline);
}

static void
configure_options(const char *options)
{
    smap_replace(&config, "antrea-dp-pipeline-options", options);
    adp_bridge_pipeline_configure(b, &config);
}

/* The change of options that is under way ends, in vain. */
static void
options_fail(void)
{
    state.options_error = "table full";
    state.busy = state.changes_options = false;
    adp_bridge_pipeline_run(b);
}

/* Why not what is asked for; NULL: it does. */
static void
refused(const char *error)
{
    ck_assert_pstr_eq(adp_bridge_pipeline_error(b), error);
}

START_TEST(what_openflow_refuses)
{
    state.refusal = "table full";
    configure("early");
    expect("ci");
    runs("v1.15");
    refused("table full");

    /* Nothing changed that matters. */
    configure("early");
    adp_bridge_pipeline_run(b);
    configure("early");
    expect("");
    refused("table full");

    /* Records did, a limit, or what is asked for. */
    state.generation++;
    configure("early");
    configure("early");
    expect("ci");
    tables[1].max_flows = 1000;
    configure("early");
    configure("early");
    expect("ci");
    configure("no-such");
    configure("early");
    expect("ci");
    refused("table full");
    configure("v1.15");
    refused(NULL);
    configure("early");
    configure("early");
    expect("ci");
    configure("none");
    configure("early");
    expect("nci");

    state.refusal = NULL;
    configure("early");
    expect("");
    tables[1].max_flows = UINT_MAX;
    configure("early");
    expect("ci");
    runs("early");
    refused(NULL);
}
END_TEST

START_TEST(what_records_forbid)
{
    state.wrong_records = "no tables";
    configure("early");
    configure("early");
    expect("c");
    runs("v1.15");
    refused("no tables");

    state.wrong_records = NULL;
    state.generation++;
    configure("early");
    expect("ci");
    runs("early");
    refused(NULL);
}
END_TEST

/* Of an attempt that is repeated nothing ends before its time. */
START_TEST(what_is_under_way)
{
    state.busy = true;
    state.wrong_records = "no tables";
    configure("early");
    expect("fc");

    state.busy = true;
    state.generation++;
    configure("early");
    adp_bridge_pipeline_run(b);
    expect("");
    refused("no tables");
    state.busy = false;
    state.wrong_records = NULL;
    adp_bridge_pipeline_run(b);
    expect("ci");
    runs("early");
}
END_TEST

START_TEST(options_of_many_records)
{
    state.large = true;
    state.wrong_records = "no tables";
    configure_options("packet-in");
    configure("v1.15");
    expect("c");
    refused("no tables");

    state.wrong_records = NULL;
    state.generation++;
    configure("v1.15");
    expect("co");
    configure("v1.15");
    options_fail();
    configure("v1.15");
    expect("");
    refused("table full");
}
END_TEST

/* That options failed says nothing of others, which are asked for by then. */
START_TEST(options_that_nobody_wants_any_more)
{
    state.large = true;
    configure_options("packet-in");
    expect("co");
    configure_options("multicast");
    expect("");
    options_fail();
    expect("co");
    refused(NULL);
    configure("v1.15");
    expect("");
    options_fail();
    expect("");
    refused("table full");

    /* Nor of those that are in force. */
    configure_options("packet-in");
    expect("co");
    configure_options("");
    options_fail();
    configure("v1.15");
    expect("");
    refused(NULL);

    /* Nor do they come if it can't be told what is asked for. */
    configure_options("packet-in");
    expect("co");
    configure_options("multicast");
    configure_options("no-such");
    options_fail();
    expect("");
}
END_TEST

/* Until it had what was asked for, be it none, a bridge has nothing that it
 * could keep. */
START_TEST(nothing_to_keep)
{
    filled = true;
    configure("no-such");
    expect("n");
    ck_assert(!adp_bridge_pipeline_run(b));
    ck_assert_ptr_nonnull(adp_bridge_pipeline_error(b));
    filled = true;
    ck_assert(!adp_bridge_pipeline_run(b));
    expect("n");
    ck_assert(!adp_bridge_pipeline_run(b));
    expect("");

    configure("none");
    expect("nu");
    ck_assert(adp_bridge_pipeline_run(b));
    refused(NULL);
    filled = true;
    configure("no-such");
    ck_assert(adp_bridge_pipeline_run(b));
    ck_assert_ptr_nonnull(adp_bridge_pipeline_error(b));
    expect("");
}
END_TEST

START_TEST(none_at_first)
{
    filled = true;
    configure("none");
    ck_assert(adp_bridge_pipeline_run(b));
    expect("");
}
END_TEST

START_TEST(options_that_are_wrong_at_first)
{
    configure_options("no-such");
    ck_assert(!adp_bridge_pipeline_run(b));
    configure_options("");
    ck_assert(adp_bridge_pipeline_run(b));
    expect("i");
    configure_options("no-such");
    ck_assert(adp_bridge_pipeline_run(b));
}
END_TEST

START_TEST(refused_at_first)
{
    state.refusal = "table full";
    filled = true;
    configure("v1.15");
    expect("in");
    refused("table full");
    ck_assert(!adp_bridge_pipeline_run(b));
    configure("v1.15");
    expect("");
    ck_assert(!adp_bridge_pipeline_run(b));

    state.refusal = NULL;
    tables[1].max_flows = 1000;
    configure("v1.15");
    expect("ci");
    ck_assert(adp_bridge_pipeline_run(b));
}
END_TEST

START_TEST(a_bridge_that_can_have_none)
{
    is_system = filled = true;
    configure("v1.15");
    expect("");
    ck_assert_ptr_nonnull(adp_bridge_pipeline_error(b));
    ck_assert(adp_bridge_pipeline_run(b));
}
END_TEST

/* What is stored, and isn't to be read now, never is. */
START_TEST(what_is_stored)
{
    const struct uuid row = { .parts = { 1 } };
    const struct uuid other_row = { .parts = { 2 } };

    adp_bridge_pipeline_identify(b, &row);
    configure("none");
    expect("");
    adp_bridge_pipeline_uninit(b, false);

    adp_bridge_pipeline_init(b);
    is_kept = false;
    adp_bridge_pipeline_identify(b, &row);
    configure("none");
    expect("a");
    adp_bridge_pipeline_identify(b, &row);
    adp_bridge_pipeline_identify(b, &other_row);
    expect("");
    adp_bridge_pipeline_uninit(b, false);

    adp_bridge_pipeline_init(b);
    is_system = is_kept = true;
    adp_bridge_pipeline_identify(b, &row);
    expect("a");
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("bridge-pipeline");
    TCase *tc = tcase_create("refusals");

    tcase_add_checked_fixture(tc, setup_running, teardown);
    tcase_add_test(tc, what_openflow_refuses);
    tcase_add_test(tc, what_records_forbid);
    tcase_add_test(tc, what_is_under_way);
    tcase_add_test(tc, options_of_many_records);
    tcase_add_test(tc, options_that_nobody_wants_any_more);
    suite_add_tcase(suite, tc);
    tc = tcase_create("beginnings");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, nothing_to_keep);
    tcase_add_test(tc, none_at_first);
    tcase_add_test(tc, options_that_are_wrong_at_first);
    tcase_add_test(tc, refused_at_first);
    tcase_add_test(tc, a_bridge_that_can_have_none);
    tcase_add_test(tc, what_is_stored);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
