/* SPDX-License-Identifier: Apache-2.0 */

/* What a program says of what changed and of what it reads. */

#include <config.h>
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include "engine.h"
#include "ovs-rcu.h"
#include "random.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"

static struct adp_program *p;

static void
setup(void)
{
    p = adp_program_create();
}

static void
teardown(void)
{
    adp_program_unref(p);
    ovsrcu_barrier();
}

static void
commit(struct adp_delta *delta)
{
    struct adp_program *old = p;

    p = adp_compile(old, delta);
    adp_delta_destroy(delta);
    adp_program_unref(old);
}

/* Takes 'old' out, if any, and puts a rule for 'text' in, if any. */
static struct adp_rule *
replace(struct adp_rule *old, const char *text)
{
    struct adp_delta *delta = adp_delta_create();
    struct adp_rule *new = text ? engine_parse_flow(text) : NULL;

    if (old) {
        adp_delta_remove_rule(delta, old);
        adp_rule_unref(old);
    }
    if (new) {
        adp_delta_add_rule(delta, new);
    }
    commit(delta);
    return new;
}

START_TEST(test_changed)
{
    struct adp_rule *a, *b;

    ck_assert_uint_eq(adp_program_changed(p, 5, INT_MIN), 0);
    a = replace(NULL, "table=5,priority=200,ip actions=drop");
    b = replace(NULL, "table=5,priority=100,arp actions=drop");
    ck_assert_uint_eq(adp_program_changed(p, 5, INT_MIN), 3);
    ck_assert_uint_eq(adp_program_changed(p, 5, 100), 3);
    ck_assert_uint_eq(adp_program_changed(p, 5, 101), 2);
    ck_assert_uint_eq(adp_program_changed(p, 5, 200), 2);
    ck_assert_uint_eq(adp_program_changed(p, 5, 201), 0);
    ck_assert_uint_eq(adp_program_changed(p, 4, INT_MIN), 0);
    ck_assert_uint_eq(adp_program_changed(p, 255, INT_MIN), 0);

    /* A removal counts, even that of the last rule. */
    replace(a, NULL);
    ck_assert_uint_eq(adp_program_changed(p, 5, 150), 4);
    replace(b, NULL);
    ck_assert_uint_eq(adp_program_changed(p, 5, 150), 4);
    ck_assert_uint_eq(adp_program_changed(p, 5, 100), 5);
}
END_TEST

static void
set_miss(enum ofputil_table_miss miss)
{
    struct adp_delta *delta = adp_delta_create();

    ck_assert(adp_delta_is_empty(delta));
    adp_delta_set_miss(delta, 5, miss);
    ck_assert(!adp_delta_is_empty(delta));
    commit(delta);
}

/* What a miss does concerns nobody who had a hit. */
START_TEST(test_changed_miss)
{
    struct adp_rule *a;

    set_miss(OFPUTIL_TABLE_MISS_CONTINUE);
    ck_assert_uint_eq(adp_program_changed(p, 5, INT_MIN), 2);
    ck_assert_uint_eq(adp_program_changed(p, 5, 0), 0);
    ck_assert_uint_eq(adp_program_changed(p, 4, INT_MIN), 0);
    a = replace(NULL, "table=5,priority=0 actions=drop");
    set_miss(OFPUTIL_TABLE_MISS_DROP);
    ck_assert_uint_eq(adp_program_changed(p, 5, INT_MIN), 4);
    ck_assert_uint_eq(adp_program_changed(p, 5, 0), 3);
    /* Nothing new. */
    set_miss(OFPUTIL_TABLE_MISS_DROP);
    ck_assert_uint_eq(adp_program_changed(p, 5, INT_MIN), 4);
    replace(a, NULL);
}
END_TEST

START_TEST(test_changed_meaning)
{
    struct adp_rule *a;

    a = replace(NULL, "table=5,priority=200,ip actions=output:1");
    /* Other rules of the same meaning. */
    a = replace(a, "table=5,priority=200,ip actions=output:1");
    a = replace(a, "table=5,priority=200,ip,cookie=7 actions=output:1");
    ck_assert_uint_eq(p->generation, 4);
    ck_assert_uint_eq(adp_program_changed(p, 5, INT_MIN), 2);

    a = replace(a, "table=5,priority=200,ip actions=output:2");
    ck_assert_uint_eq(adp_program_changed(p, 5, 200), 5);
    a = replace(a, "table=5,priority=200,ipv6 actions=output:2");
    ck_assert_uint_eq(adp_program_changed(p, 5, 200), 6);

    /* Of both places the higher one counts. */
    a = replace(a, "table=5,priority=300,ipv6 actions=output:2");
    ck_assert_uint_eq(adp_program_changed(p, 5, 300), 7);
    a = replace(a, "table=5,priority=200,ipv6 actions=output:2");
    ck_assert_uint_eq(adp_program_changed(p, 5, 300), 8);

    a = replace(a, "table=5,priority=200,ip "
                "actions=conjunction(1,1/2),conjunction(2,2/2)");
    ck_assert_uint_eq(adp_program_changed(p, 5, 200), 9);
    /* The order of clauses has no meaning, what they say has. */
    a = replace(a, "table=5,priority=200,ip "
                "actions=conjunction(2,2/2),conjunction(1,1/2)");
    ck_assert_uint_eq(adp_program_changed(p, 5, 200), 9);
    a = replace(a, "table=5,priority=200,ip "
                "actions=conjunction(2,1/2),conjunction(1,1/2)");
    ck_assert_uint_eq(adp_program_changed(p, 5, 200), 11);
    a = replace(a, "table=5,priority=200,ip actions=conjunction(2,1/2)");
    ck_assert_uint_eq(adp_program_changed(p, 5, 200), 12);
    replace(a, NULL);
}
END_TEST

/* What adp_program_changed() is about, the long way. */
START_TEST(test_changed_random)
{
    enum { N_PRIORITIES = 40, N_STEPS = 300 };
    uint64_t changed[N_PRIORITIES] = { 0 };
    struct adp_change_log log = { .n = 0 };

    test_seed_random();
    for (uint64_t generation = 1; generation <= N_STEPS; generation++) {
        int priority = random_range(N_PRIORITIES);
        uint64_t latest = 0;

        adp_change_log_add(&log, priority, generation);
        changed[priority] = generation;
        for (priority = N_PRIORITIES - 1; priority >= 0; priority--) {
            latest = MAX(latest, changed[priority]);
            ck_assert_uint_eq(adp_change_log_latest(&log, priority), latest);
        }
    }
}
END_TEST

/* A log that is full is late rather than early, and never about the latest
 * changes. */
START_TEST(test_changed_full_log)
{
    enum { N = 3 * ADP_CHANGE_LOG_MAX };
    struct adp_change_log log = { .n = 0 };

    for (int i = 0; i < N; i++) {
        adp_change_log_add(&log, 1000 - i, i + 1);
    }
    for (int i = 0; i < N; i++) {
        uint64_t latest = adp_change_log_latest(&log, 1000 - i);

        if (i >= N - ADP_CHANGE_LOG_MAX + 1) {
            ck_assert_uint_eq(latest, i + 1);
        } else {
            ck_assert_uint_ge(latest, i + 1);
            ck_assert_uint_le(latest, N - ADP_CHANGE_LOG_MAX + 1);
        }
    }
    ck_assert_uint_eq(adp_change_log_latest(&log, 1001), 0);
}
END_TEST

static void
set_group(const char *text)
{
    struct adp_delta *delta = adp_delta_create();
    struct adp_group *group = engine_parse_group(text);

    adp_delta_set_group(delta, group);
    adp_group_unref(group);
    commit(delta);
}

START_TEST(test_group_changed)
{
    struct adp_delta *delta;

    ck_assert_uint_eq(adp_program_group_changed(p, 1), 0);
    set_group("group_id=1,type=select,bucket=output:1");
    ck_assert_uint_eq(adp_program_group_changed(p, 1), 2);
    ck_assert_uint_eq(adp_program_group_changed(p, 2), 0);
    set_group("group_id=1,type=select,bucket=output:1");
    ck_assert_uint_eq(adp_program_group_changed(p, 1), 2);
    set_group("group_id=1,type=select,bucket=output:2");
    ck_assert_uint_eq(adp_program_group_changed(p, 1), 4);
    set_group("group_id=1,type=select,bucket=weight:2,output:2");
    ck_assert_uint_eq(adp_program_group_changed(p, 1), 5);
    set_group("group_id=1,type=all,bucket=output:2");
    ck_assert_uint_eq(adp_program_group_changed(p, 1), 6);
    set_group("group_id=1,type=all,bucket=output:2,bucket=output:2");
    ck_assert_uint_eq(adp_program_group_changed(p, 1), 7);
    set_group("group_id=9,type=all");
    ck_assert_uint_eq(adp_program_group_changed(p, 1), 7);

    delta = adp_delta_create();
    adp_delta_remove_group(delta, 1);
    commit(delta);
    ck_assert_ptr_null(adp_program_get_group(p, 1));
    ck_assert_uint_eq(adp_program_group_changed(p, 1), 9);
    /* It isn't there: removing it again changes nothing. */
    delta = adp_delta_create();
    adp_delta_remove_group(delta, 1);
    commit(delta);
    ck_assert_uint_eq(adp_program_group_changed(p, 1), 9);
}
END_TEST

/* Many groups come, change and go. */
START_TEST(test_many_groups)
{
    enum { N_GROUPS = 300, N_STEPS = 8000 };
    uint64_t changed[N_GROUPS] = { 0 };
    bool there[N_GROUPS] = { false };

    test_seed_random();
    for (int i = 0; i < N_STEPS; i++) {
        uint32_t id = i % 3 ? random_range(N_GROUPS) : N_GROUPS + i;
        struct adp_delta *delta = adp_delta_create();

        if (id < N_GROUPS ? !there[id] : i % 2) {
            char *text = xasprintf("group_id=%"PRIu32",type=all", id);
            struct adp_group *group = engine_parse_group(text);

            adp_delta_set_group(delta, group);
            adp_group_unref(group);
            free(text);
        } else {
            adp_delta_remove_group(delta, id);
        }
        commit(delta);
        if (id < N_GROUPS) {
            there[id] = !there[id];
            changed[id] = p->generation;
        } else if (i % 2) {
            /* Goes at once. */
            delta = adp_delta_create();
            adp_delta_remove_group(delta, id);
            commit(delta);
        }
        ovsrcu_quiesce();
    }
    for (uint32_t id = 0; id < N_GROUPS; id++) {
        ck_assert_int_eq(adp_program_get_group(p, id) != NULL, there[id]);
        if (there[id]) {
            ck_assert_uint_eq(adp_program_group_changed(p, id), changed[id]);
        } else {
            ck_assert_uint_ge(adp_program_group_changed(p, id), changed[id]);
        }
    }
}
END_TEST

static const struct {
    const char *flow;
    uint32_t reads;
} reads[] = {
    { "actions=drop", 0 },
    { "in_port=1,dl_src=0:0:0:0:0:1,tcp,nw_src=10.0.0.1,tp_dst=80,nw_tos=4,"
      "nw_ttl=3 actions=drop", 0 },
    { "reg0=1,xreg3=2,metadata=4,pkt_mark=7,conj_id=3 actions=drop", 0 },
    { "ip,ct_state=+trk,ct_zone=1,ct_mark=1,ct_label=7 actions=drop", 0 },
    { "tun_src=1.1.1.1,tun_id=4 "
      "actions=set_field:3->reg1", 0 },
    { "icmp6,icmp_type=3,ipv6_src=::1 actions=drop", 0 },
    { "tcp,dl_vlan=4 actions=drop", 0 },
    { "tcp,tcp_flags=+syn actions=drop", ADP_READS_TCP_FLAGS },
    { "ipv6,ipv6_label=7 actions=drop", ADP_READS_IPV6_LABEL },
    { "tun_metadata0=7 actions=drop", ADP_READS_TUN_METADATA },
    { "arp,arp_spa=10.0.0.1 actions=drop", ADP_READS_ARP_ND },
    { "arp,arp_op=1 actions=drop", ADP_READS_ARP_ND },
    { "arp actions=drop", 0 },
    { "icmp6,icmp_type=135,icmp_code=0,nd_target=::1 actions=drop",
      ADP_READS_ARP_ND },
    { "ip,ip_frag=first actions=drop", 0 },
    { "mpls,mpls_label=3 actions=drop", ADP_READS_OTHER },
    { "ip actions=set_field:1->nw_ttl,move:ip_src->reg3", 0 },
    { "ip,tcp actions=move:tcp_flags[0..11]->reg3[0..11]", ADP_READS_TCP_FLAGS },
    { "actions=move:tun_metadata0[0..15]->reg3[0..15]",
      ADP_READS_TUN_METADATA },
    { "actions=set_field:7->tun_metadata0", 0 },
    { "arp actions=move:arp_sha->arp_tha", ADP_READS_ARP_ND },
    { "actions=output:reg3[]", 0 },
    { "ipv6 actions=push:ipv6_label[]", ADP_READS_IPV6_LABEL },
    { "ipv6 actions=ct(commit,zone=ipv6_label[0..15])",
      ADP_READS_IPV6_LABEL },
    { "ipv6 actions=ct(commit,exec(move:ipv6_label[0..19]->ct_mark[0..19]))",
      ADP_READS_IPV6_LABEL },
    { "ipv6 actions=clone(move:ipv6_label[0..19]->reg0[0..19])",
      ADP_READS_IPV6_LABEL },
    { "ipv6 actions=learn(table=3,load:ipv6_label[0..19]->reg0[0..19])",
      ADP_READS_IPV6_LABEL },
    { "ipv6 actions=learn(table=3,eth_type=0x86dd,ipv6_label[0..19]=reg0[0..19])",
      ADP_READS_IPV6_LABEL },
    { "ipv6 actions=set_field:7->ipv6_label", ADP_READS_IPV6_LABEL },
    { "ipv6 actions=move:reg0[0..19]->ipv6_label[0..19]",
      ADP_READS_IPV6_LABEL },
    { "ipv6 actions=learn(table=3,eth_type=0x86dd,load:reg0[0..19]->ipv6_label[0..19])",
      ADP_READS_IPV6_LABEL },
    { "tcp actions=move:tcp_dst->reg3[0..15]", ADP_READS_MOVED },
    { "udp actions=push:udp_dst[]", ADP_READS_MOVED },
    { "ip,ct_state=+trk-inv actions=move:ct_nw_src->reg3", ADP_READS_MOVED },
    { "ipv6,ct_state=+trk-inv actions=move:ct_ipv6_dst->xxreg1",
      ADP_READS_MOVED },
    { "tcp actions=learn(table=3,eth_type=0x800,nw_proto=6,tcp_dst,"
      "load:tcp_dst->reg0[0..15])", 0 },
    { "tcp actions=fin_timeout(idle_timeout=1)", 0 },
    { "ip actions=check_pkt_larger(1500)->reg0[0]", ADP_READS_OTHER },
};

START_TEST(test_reads)
{
    struct adp_rule *a;

    ck_assert_uint_eq(p->reads, 0);
    a = replace(NULL, reads[_i].flow);
    ck_assert_msg(a->reads == reads[_i].reads, "%s: %#x", reads[_i].flow,
                  a->reads);
    ck_assert_uint_eq(p->reads, reads[_i].reads);
    a = replace(a, reads[_i].flow);
    ck_assert_uint_eq(p->reads, reads[_i].reads);
    replace(a, NULL);
    ck_assert_uint_eq(p->reads, 0);
}
END_TEST

/* The union goes with the last that has a bit, rule or group. */
START_TEST(test_reads_union)
{
    struct adp_rule *a, *b;
    struct adp_delta *delta;

    a = replace(NULL, "tcp,tcp_flags=+syn actions=drop");
    b = replace(NULL, "table=1,tcp,tcp_flags=+ack actions=drop");
    replace(a, NULL);
    ck_assert_uint_eq(p->reads, ADP_READS_TCP_FLAGS);
    set_group("group_id=1,type=all,"
              "bucket=output:3,bucket=move:tcp_flags[0..11]->reg3[0..11],output:1");
    replace(b, NULL);
    ck_assert_uint_eq(p->reads, ADP_READS_TCP_FLAGS);
    set_group("group_id=1,type=all,bucket=output:1");
    ck_assert_uint_eq(p->reads, 0);
    set_group("group_id=1,type=all,"
              "bucket=move:ipv6_label[0..19]->reg3[0..19],output:1");
    ck_assert_uint_eq(p->reads, ADP_READS_IPV6_LABEL);
    delta = adp_delta_create();
    adp_delta_remove_group(delta, 1);
    commit(delta);
    ck_assert_uint_eq(p->reads, 0);
}
END_TEST

static bool
learns(uint8_t table_id)
{
    return bitmap_is_set(p->learn_tables, table_id);
}

START_TEST(test_learn_tables)
{
    struct adp_rule *a, *b;

    a = replace(NULL, "actions=learn(table=3,reg0=1),learn(table=4,reg0=2)");
    b = replace(NULL, "table=1,actions=clone(learn(table=3,reg0=1))");
    ck_assert(learns(3) && learns(4) && !learns(5) && !learns(0));
    replace(a, NULL);
    ck_assert(learns(3) && !learns(4));
    replace(b, NULL);
    ck_assert(bitmap_is_all_zeros(p->learn_tables, 256));
}
END_TEST

int
main(void)
{
    Suite *s = suite_create("changes");
    TCase *tc = tcase_create("changes");

    suite_add_tcase(s, tc);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_changed);
    tcase_add_test(tc, test_changed_miss);
    tcase_add_test(tc, test_changed_meaning);
    tcase_add_test(tc, test_changed_random);
    tcase_add_test(tc, test_changed_full_log);
    tcase_add_test(tc, test_group_changed);
    tcase_add_test(tc, test_many_groups);
    tcase_add_loop_test(tc, test_reads, 0, ARRAY_SIZE(reads));
    tcase_add_test(tc, test_reads_union);
    tcase_add_test(tc, test_learn_tables);
    return test_run_nofork(s);
}
