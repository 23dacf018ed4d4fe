/* SPDX-License-Identifier: Apache-2.0 */

/* What DNS answers told, with a bridge's state, and a pipeline that knows names:
 * it stays in force when a change is refused, by the engine or the bridge, and
 * keeps nobody else out. */

#include <config.h>
#undef NDEBUG

#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "adp-fqdns.h"
#include "adp-held.h"
#include "adp-turn.h"
#include "dp-packet.h"
#include "flow.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "packets.h"
#include "pipeline-builtin.h"
#include "pipeline-world.h"
#include "quoted-json.h"
#include "state-world.h"
#include "test-run.h"
#include "timeval.h"
#include "util.h"

/* The answer that is held, or NULL. */
static struct adp_held *held;
static bool passed;

struct adp_held *
adp_held_take(struct adp_bridge *b OVS_UNUSED)
{
    struct adp_held *h = held;

    held = NULL;
    return h;
}

void
adp_held_release(struct adp_bridge *b OVS_UNUSED, struct adp_held *h,
                 bool pass)
{
    passed = pass;
    dp_packet_delete(h->packet);
    free(h);
}

void
adp_held_wait(struct adp_bridge *b OVS_UNUSED)
{
}

static struct adp_fqdns *fqdns;

static void
setup(void)
{
    static const struct pw_port ports[] = {
        { "gw0", 11 }, { "tun0", 12 }, { "a", 13 }, { "b", 14 },
    };

    state_world_setup();
    for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
        set_port(ports[i].name, ports[i].number);
    }
    fqdns = adp_fqdns_create(&bridge);
    held = NULL;
    passed = false;
}

static void
teardown(void)
{
    adp_fqdns_destroy(fqdns);
    state_world_teardown();
}

static void
run(void)
{
    do {
        adp_state_run(state);
    } while (adp_state_is_busy(state));
    adp_fqdns_run(fqdns, state);
}

/* Returns the error's code, or NULL. */
static const char *
apply(bool clear, const char *quoted)
{
    struct json *records = json_array_from_quoted(quoted);
    char *text = json_to_string(records, 0);
    const char *code = transact__(clear, text, NULL, NULL, NULL);

    free(text);
    json_destroy(records);
    return code;
}

/* A client is told that a.bad.com has 10.0.9.'host'. */
static void
answer(uint8_t host)
{
    const uint8_t msg[] = {
        0, 1, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0,
        1, 'a', 3, 'b', 'a', 'd', 3, 'c', 'o', 'm', 0, 0, 1, 0, 1,
        0xc0, 12, 0, 1, 0, 1, 0, 0, 0x0e, 0x10, 0, 4, 10, 0, 9, host,
    };

    held = xzalloc(sizeof *held);
    held->packet = dp_packet_new(0);
    held->flow.dl_type = htons(ETH_TYPE_IP);
    held->flow.nw_proto = IPPROTO_UDP;
    held->flow.nw_ttl = 64;
    held->flow.tp_src = htons(53);
    held->since = time_msec();
    flow_compose(held->packet, &held->flow, msg, sizeof msg);
}

/* The FQDN records that are in force, and the flows with their addresses. */
static char *
in_force(void)
{
    struct json *records = adp_model_get(adp_state_model(state), "FQDN", NULL);
    const struct shash_node **nodes = shash_sort(&bridge.flows);
    char *text = json_to_quoted(records);
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "%s\n", text);
    for (size_t i = 0; i < shash_count(&bridge.flows); i++) {
        if (strstr(nodes[i]->name, "nw_dst=10.0.9.9")) {
            ds_put_format(&s, "%s %s\n", nodes[i]->name,
                          (char *) nodes[i]->data);
        }
    }
    free(nodes);
    free(text);
    json_destroy(records);
    return ds_steal_cstr(&s);
}

#define POLICY(MORE) "{'kind':'NetworkPolicy'," \
    "'name':'AntreaClusterNetworkPolicy:p'," \
    "'type':'AntreaClusterNetworkPolicy','tierPriority':250," \
    "'priority':5,'appliedToGroups':['a'],'rules':[" \
    "{'direction':'Out','action':'Drop','to':{'fqdns':['*.bad.com']}}" \
    MORE "]}"
#define NO_NAMES "{'kind':'AddressGroup','name':'z','addresses':[]}"

/* This one needs the option multicast. */
#define IGMP_POLICY POLICY(",{'direction':'Out','action':'Drop'," \
                           "'services':[{'protocol':'IGMP'}]}")

static const char *
refused_policy(void)
{
    return apply(false, IGMP_POLICY);
}

static const char *
refused_replacement(void)
{
    bridge.refusal = "no";
    const char *code = apply(true, BASE "," NO_NAMES);
    bridge.refusal = NULL;
    return code;
}

static const char *
refused_options(void)
{
    adp_state_change_options(state, 0);
    do {
        adp_state_run(state);
    } while (adp_state_is_busy(state));
    char *error = adp_state_take_options_error(state);
    const char *code = error ? "invalid" : NULL;
    free(error);
    return code;
}

static const struct refusal {
    const char *options;        /* Before. */
    const char *policy;
    const char *(*make)(void);
    const char *code;
} refusals[] = {
    { "", POLICY(""), refused_policy, "invalid" },
    { "", POLICY(""), refused_replacement, "internal" },
    { "multicast", IGMP_POLICY, refused_options, "invalid" },
};

START_TEST(refused)
{
    const struct refusal *refusal = &refusals[_i];
    const struct adp_pipeline *pipeline = adp_pipeline_find("v1.15");
    uint64_t options;

    ck_assert_ptr_null(adp_pipeline_parse_options(pipeline, refusal->options,
                                                  &options));
    use_pipeline(pipeline, options, true);
    ck_assert_ptr_null(apply(false, BASE));
    ck_assert_ptr_null(apply(false, refusal->policy));
    run();
    answer(9);
    run();
    ck_assert(passed);
    char *before = in_force();
    ck_assert_msg(strstr(before, "'addresses':['10.0.9.9']")
                  && strstr(before, "table=") , "%s", before);

    ck_assert_str_eq(refusal->make(), refusal->code);
    ck_assert(!adp_state_knows_rules(state));
    for (int i = 0; i < 3; i++) {
        run();
        char *now = in_force();
        ck_assert_str_eq(now, before);
        free(now);
    }

    /* The next one goes well, with the same names. */
    ck_assert_ptr_null(apply(false, NO_NAMES));
    ck_assert(adp_state_knows_rules(state));
    for (int i = 0; i < 3; i++) {
        run();
        char *now = in_force();
        ck_assert_str_eq(now, before);
        free(now);
    }
    free(before);

    /* Without the policy nobody asks for them. */
    ck_assert_ptr_null(apply(true, BASE));
    run();
    char *now = in_force();
    ck_assert_str_eq(now, "[]\n");
    free(now);
}
END_TEST

static long long int slow_clock;

/* Each slice is a step. */
static long long int
look_at_slow_clock(void)
{
    return slow_clock += 1000 * 1000;
}

/* Each turn brings a new answer, and each change of a large state takes many.
 * All the same calls come into force, and there are turns in which a message
 * of IGMP would be read, behind names, or a client's "get" carried out. */
START_TEST(answers_without_end)
{
    enum { MAX_TURNS = 200 };
    struct json *group = json_array_from_quoted(NO_NAMES);
    char *many = many_groups(1, 200);
    struct adp_state_call *call;
    int n_behind = 0, n_turns = 0;

    use_pipeline(adp_pipeline_find("v1.15"), 0, true);
    ck_assert_ptr_null(apply(false, BASE "," POLICY("")));
    transact(many, NULL);
    ck_assert(adp_state_is_large(state));
    run();
    adp_turn_set_clock(look_at_slow_clock);
    answer(0);
    adp_fqdns_run(fqdns, state);
    ck_assert(adp_state_is_busy(state));

    call = adp_state_submit(state, &(struct adp_state_change) {
        .apply = group });
    while (!call->done) {
        ck_assert_int_lt(++n_turns, MAX_TURNS);
        adp_state_serve(state);
        adp_state_run(state);
        if (!held) {
            answer(n_turns);
        }
        adp_fqdns_run(fqdns, state);
        n_behind += !adp_state_is_busy(state);
    }
    ck_assert_ptr_null(call->error);
    ck_assert_int_gt(n_behind, 0);
    if (held) {
        adp_held_release(&bridge, held, false);
    }
    adp_state_call_unref(call);
    json_destroy(group);
    free(many);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("state-fqdns");
    TCase *tc = tcase_create("state-fqdns");

    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, refused, 0, ARRAY_SIZE(refusals));
    tcase_add_test(tc, answers_without_end);
    suite_add_tcase(suite, tc);
    return test_run(suite);
}
