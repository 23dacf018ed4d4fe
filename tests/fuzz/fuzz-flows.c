/* SPDX-License-Identifier: Apache-2.0 */

/* Flows and groups, from their text to decisions.
 *
 * Input: a program.  Its steps add and remove flows and groups, which are put
 * together of pieces or are text of the input's, read by upstream's parser;
 * say what a table's misses do, how conntrack answers and which ports have a
 * link; compile what has changed; and pass packets.
 *
 * Must hold: a program that came of many small changes decides as one that was
 * compiled at once and whose tables are looked up by the linear matcher; each
 * other matcher answers as that one does. */

#include <config.h>
#undef NDEBUG
#include "fuzz.h"

#include <ctype.h>
#include <netinet/in.h>
#include "adp-match-direct.h"
#include "adp-match-hash.h"
#include "adp-program.h"
#include "flow.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "tests/unit/engine.h"

const long int fuzz_runs = 750;

enum { MAX_STEPS = 120, MAX_RULES = 128, N_GROUPS = 6, N_TABLES = 6 };

static struct adp_rule *rules[MAX_RULES];
static size_t n_rules;
static struct adp_group *groups[N_GROUPS];
static enum ofputil_table_miss misses[N_TABLES];

static struct engine *engine;
static struct adp_delta *delta; /* Of what isn't compiled yet. */
static struct adp_match_scratch scratch, other_scratch;
static bool tells;

/* Text of flows, of pieces in which % is a small number. */

static const char *const protocols[] = {
    "", "ip", "tcp", "udp", "icmp", "ipv6", "tcp6", "udp6", "icmp6", "arp",
    "sctp", "ip",
};

static const char *const fields[] = {
    "in_port=%", "reg0=%", "reg1=%/3", "reg4=%/0xf", "metadata=%",
    "metadata=%/6", "ct_state=+trk+est", "ct_state=+new+trk",
    "ct_state=-trk", "ct_state=+rpl+trk", "ct_mark=%", "ct_mark=%/1",
    "ct_label=%", "ct_zone=%", "nw_src=10.0.0.%", "nw_src=10.0.0.%/30",
    "nw_src=10.0.%.0/24", "nw_dst=10.0.0.%", "nw_dst=10.0.0.0/31",
    "nw_dst=10.0.%.0/24", "tp_dst=%", "tp_dst=%/0xfffc", "tp_src=%",
    "tp_src=%/0xfffe", "dl_src=00:00:00:00:00:0%", "dl_dst=00:00:00:00:00:0%",
    "dl_dst=01:00:00:00:00:00/01:00:00:00:00:00", "dl_vlan=%", "vlan_tci=0",
    "ipv6_src=fd00::%", "ipv6_dst=fd00::%/126", "nw_tos=0x2%", "nw_ttl=6%",
    "tun_id=%", "tun_src=1.1.1.%", "ct_nw_src=10.0.0.%", "ct_tp_dst=%",
    "pkt_mark=%", "xreg0=%", "xxreg0=%", "ip_frag=no", "ip_frag=later",
    "tcp_flags=+syn-ack", "arp_spa=10.0.0.%", "arp_op=%", "icmp_type=%",
    "nd_target=fd00::%", "reg2=0x%0000/0xf0000", "eth_type=0x0800",
    "conj_id=%", "tun_metadata0=%", "actset_output=%",
};

/* What packets often have. */
static const char *const common_fields[] = {
    "in_port=%", "nw_src=10.0.0.%", "nw_src=10.0.0.%/30", "nw_dst=10.0.0.%",
    "nw_dst=10.0.0.%/31", "tp_dst=%", "tp_dst=%/0xfffe", "tp_src=%/0xfffc",
    "dl_src=00:00:00:00:00:0%", "dl_dst=00:00:00:00:00:0%", "nw_ttl=6%",
    "reg0=0", "vlan_tci=0", "tp_src=%", "in_port=%",
};

static const char *const actions[] = {
    "output:%", "resubmit(,%)", "resubmit(%,%)", "output:%",
    "load:%->NXM_NX_REG0[0..3]", "set_field:%->reg1",
    "set_field:%/3->reg4", "move:NXM_NX_REG0[]->NXM_NX_REG1[]",
    "ct(table=%,zone=%)", "ct(table=%,zone=1)", "ct(commit,zone=%)",
    "ct(commit,zone=%,exec(set_field:%->ct_mark))",
    "ct(commit,table=%,zone=1,nat(dst=10.0.0.%:80))",
    "ct(commit,table=%,zone=1,nat(src=10.0.0.%))", "ct(nat,table=%,zone=%)",
    "ct(table=%,zone=NXM_NX_REG0[0..15])", "ct_clear", "dec_ttl",
    "mod_nw_dst:10.0.0.%", "mod_nw_src:10.0.0.%", "mod_tp_dst:%",
    "mod_dl_src:00:00:00:00:00:0%", "push_vlan:0x8100", "strip_vlan",
    "mod_vlan_vid:%", "group:%", "controller(max_len=128,userdata=0%)",
    "controller:%", "note:0%", "set_field:%->tun_id", "in_port",
    "normal", "flood", "local", "all", "set_queue:%", "pop_queue",
    "push_mpls:0x8847", "pop_mpls:0x0800", "exit", "clone(output:%)",
    "clone(ct(table=%,zone=%))",
    "output:NXM_NX_REG1[0..15]", "output(port=%,max_len=64)",
    "enqueue:%:1", "fin_timeout(idle_timeout=1)", "dec_ttl(1,2)",
    "multipath(symmetric_l4,0,modulo_n,4,0,NXM_NX_REG1[0..3])",
    "bundle(symmetric_l4,0,hrw,ofport,slaves:1,2)",
    "learn(table=%,priority=%,eth_type=0x800,NXM_OF_IP_SRC[]=NXM_OF_IP_DST[],"
    "load:%->NXM_NX_REG0[])", "push:NXM_NX_REG0[]",
    "pop:NXM_NX_REG1[]", "set_field:10.0.0.%->ip_dst",
    "set_field:fd00::%->ipv6_dst", "set_field:%->tcp_dst",
    "set_field:%->pkt_mark", "check_pkt_larger(100)->NXM_NX_REG0[0]",
    "set_field:1.1.1.%->tun_dst", "set_field:%->ct_mark", "decap()",
    "sample(probability=%)", "debug_recirc", "debug_slow", "delete_field:reg0",
};

/* What may only come at the end. */
static const char *const instructions[] = {
    "goto_table:%", "write_actions(output:%)", "clear_actions,goto_table:%",
    "write_actions(group:%),goto_table:%", "write_metadata:%,goto_table:%",
    "write_actions(output:%),write_metadata:%/3,goto_table:%",
};

/* Appends 'piece'. */
static void
put_piece(struct ds *s, const char *piece, struct fuzz_input *in)
{
    for (; *piece; piece++) {
        if (*piece == '%') {
            ds_put_format(s, "%u", fuzz_range(in, 6));
        } else {
            ds_put_char(s, *piece);
        }
    }
}

static void
put_actions(struct ds *s, struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in);
    unsigned int n = how & 3;

    if (how & 0x40) {
        put_piece(s, "meter:%,", in);
    }
    for (unsigned int i = 0; i < n; i++) {
        ds_put_cstr(s, i ? "," : "");
        put_piece(s, actions[fuzz_range(in, ARRAY_SIZE(actions))], in);
    }
    if (!n || how & 4) {
        ds_put_cstr(s, n ? "," : "");
        put_piece(s, instructions[fuzz_range(in, ARRAY_SIZE(instructions))],
                  in);
    }
}

/* What the flow does, or which clause it stands for: one conjunction for each
 * priority, as it is arbitrary which of two that are met comes first. */
static void
put_meaning(struct ds *s, struct fuzz_input *in, uint8_t how,
            unsigned int priority)
{
    if ((how & 0xe0) == 0xe0) {
        unsigned int clauses = 2 + (how >> 2 & 1);

        ds_put_format(s, " actions=conjunction(%u,%u/%u)", priority,
                      1 + fuzz_range(in, clauses), clauses);
        return;
    }
    if ((how & 0xe0) == 0xc0) {
        ds_put_format(s, ",conj_id=%u", 100 + (how >> 2 & 7));
    }
    ds_put_cstr(s, " actions=");
    put_actions(s, in);
}

static void
put_flow(struct ds *s, struct fuzz_input *in)
{
    uint8_t place = fuzz_u8(in), how = fuzz_u8(in);
    unsigned int priority = 100 + (place >> 4);
    unsigned int n_fields = how & 3;

    ds_put_format(s, "table=%d,priority=%u", place % N_TABLES, priority);
    ds_put_format(s, ",%s", protocols[fuzz_range(in, ARRAY_SIZE(protocols))]);
    for (unsigned int i = 0; i < n_fields; i++) {
        ds_put_char(s, ',');
        put_piece(s, fields[fuzz_range(in, ARRAY_SIZE(fields))], in);
    }
    put_meaning(s, in, how, priority);
}

/* One of many in a table, which packets may hit. */
static void
put_common_flow(struct ds *s, struct fuzz_input *in, unsigned int table_id,
                unsigned int n_priorities)
{
    static const char *const protos[] = { "ip", "tcp", "udp", "tcp" };
    uint8_t how = fuzz_u8(in);
    unsigned int priority = 100 + fuzz_u8(in) % n_priorities;
    unsigned int proto = fuzz_u8(in) & 3, n_fields = 1 + (how & 1);

    ds_put_format(s, "table=%u,priority=%u,%s", table_id, priority,
                  protos[proto]);
    for (unsigned int i = 0; i < n_fields; i++) {
        ds_put_char(s, ',');
        put_piece(s, common_fields[fuzz_range(in, ARRAY_SIZE(common_fields))],
                  in);
    }
    if (how & 0x10) {
        put_meaning(s, in, how, priority);
    } else {
        ds_put_format(s, " actions=output:%d", 1 + (how >> 5));
    }
}

/* Text of the input's, as a line. */
static void
put_text(struct ds *s, struct fuzz_input *in)
{
    size_t n = fuzz_u8(in);
    const uint8_t *p = fuzz_bytes(in, &n);

    for (size_t i = 0; i < n; i++) {
        ds_put_char(s, isprint(p[i]) ? p[i] : ' ');
    }
}

/* Rules. */

static bool
is_overlapping(const struct adp_rule *a, const struct adp_rule *b)
{
    struct match x, y;

    minimatch_expand(a->match, &x);
    minimatch_expand(b->match, &y);
    for (size_t i = 0; i < FLOW_U64S; i++) {
        if ((flow_u64_value(&x.flow, i) ^ flow_u64_value(&y.flow, i))
            & flow_u64_value(&x.wc.masks, i)
            & flow_u64_value(&y.wc.masks, i)) {
            return false;
        }
    }
    return true;
}

/* False if it were arbitrary whether a packet gets this rule or one that is
 * there. */
static bool
is_clear(const struct adp_rule *rule)
{
    const struct adp_conj_clause *conjs = (rule->n_conjs ? adp_rule_conjs(rule)
                                           : NULL);

    for (size_t i = 0; i < rule->n_conjs; i++) {
        if (conjs[i].id != rule->priority) {
            return false;
        }
    }
    for (size_t i = 0; i < n_rules; i++) {
        if (rules[i]->table_id == rule->table_id
            && rules[i]->priority == rule->priority
            && !rules[i]->n_conjs && !rule->n_conjs
            && !adp_rule_same_place(rules[i], rule)
            && is_overlapping(rules[i], rule)) {
            return false;
        }
    }
    return true;
}

static void
remove_rule(size_t i)
{
    adp_delta_remove_rule(delta, rules[i]);
    adp_rule_unref(rules[i]);
    rules[i] = rules[--n_rules];
}

static void
add_rule(const char *text)
{
    enum ofputil_protocol usable;
    struct ofputil_flow_mod fm;
    char *error = parse_ofp_flow_mod_str(&fm, text, NULL, NULL, OFPFC_ADD,
                                         &usable);

    if (tells) {
        fprintf(stderr, "flow %s: %s\n", text, error ? error : "ok");
    }
    if (error) {
        fuzz_require(*error);
        free(error);
        return;
    }

    uint8_t table_id = fm.table_id == 0xff ? 0 : fm.table_id;
    struct adp_rule *rule
        = adp_rule_create(table_id, fm.priority, &fm.match, fm.new_cookie,
                          fm.ofpacts, fm.ofpacts_len, NULL, NULL);
    minimatch_destroy(&fm.match);
    free(CONST_CAST(struct ofpact *, fm.ofpacts));

    if (table_id < ADP_N_TABLES && is_clear(rule)) {
        for (size_t i = 0; i < n_rules; i++) {
            if (adp_rule_same_place(rules[i], rule)) {
                remove_rule(i);
                break;
            }
        }
        if (n_rules < MAX_RULES) {
            adp_delta_add_rule(delta, rule);
            rules[n_rules++] = adp_rule_ref(rule);
        }
    }
    adp_rule_unref(rule);
}

/* Groups. */

static void
set_group(struct fuzz_input *in)
{
    static const char *const types[] = { "all", "select", "indirect",
                                         "fast_failover" };
    uint8_t how = fuzz_u8(in);
    unsigned int id = how % N_GROUPS, n = how >> 5;
    const char *type = types[how >> 3 & 3];
    enum ofputil_protocol usable;
    struct ds s = DS_EMPTY_INITIALIZER;
    struct ofputil_group_mod gm;

    n = type == types[2] ? 1 : n;
    ds_put_format(&s, "group_id=%u,type=%s", id, type);
    for (unsigned int i = 0; i < n; i++) {
        uint8_t b = fuzz_u8(in);

        ds_put_format(&s, ",bucket=bucket_id:%u,", i);
        if (type == types[1]) {
            ds_put_format(&s, "weight:%d,", b & 7);
        } else if (type == types[3]) {
            ds_put_format(&s, "watch_port:%d,", 1 + (b & 7));
        }
        ds_put_cstr(&s, "actions=");
        put_actions(&s, in);
    }

    char *error = parse_ofp_group_mod_str(&gm, OFPGC15_ADD, ds_cstr(&s), NULL,
                                          NULL, &usable);
    if (tells) {
        fprintf(stderr, "group %s: %s\n", ds_cstr(&s), error ? error : "ok");
    }
    if (error) {
        free(error);
    } else {
        struct adp_group *group
            = adp_group_create(gm.group_id, gm.type, &gm.buckets, &gm.props,
                               groups[id], NULL, NULL);

        adp_delta_set_group(delta, group);
        adp_group_unref(groups[id]);
        groups[id] = group;
        ofputil_uninit_group_mod(&gm);
    }
    ds_destroy(&s);
}

static void
remove_group(unsigned int id)
{
    if (groups[id]) {
        adp_delta_remove_group(delta, id);
        adp_group_unref(groups[id]);
        groups[id] = NULL;
    }
}

/* Programs. */

static struct adp_program *
compile(struct adp_program *old, struct adp_delta *changes)
{
    struct adp_program *program = adp_compile(old, changes);

    adp_program_unref(old);
    adp_delta_destroy(changes);
    return program;
}

/* The other program and its linear matchers, until something changes. */
static struct adp_program *other;
static struct adp_match *linear[ADP_N_TABLES];

static void
forget_other(void)
{
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        adp_match_destroy(linear[i]);
        linear[i] = NULL;
    }
    adp_verdict_clear(&engine->verdict);
    adp_program_unref(other);
    other = NULL;
}

static void
compile_changes(void)
{
    forget_other();
    engine->program = compile(engine->program, delta);
    delta = adp_delta_create();
}

static struct adp_match *
linear_of(uint8_t table_id)
{
    struct adp_rule *of_table[MAX_RULES];
    size_t n = 0;

    for (size_t i = 0; i < n_rules; i++) {
        if (rules[i]->table_id == table_id) {
            of_table[n++] = rules[i];
        }
    }
    adp_rules_sort(of_table, n);
    return n ? adp_match_linear_class.create(of_table, n) : NULL;
}

/* All at once. */
static void
compile_other(void)
{
    struct adp_delta *all = adp_delta_create();

    for (size_t i = 0; i < n_rules; i++) {
        adp_delta_add_rule(all, rules[i]);
    }
    for (size_t i = 0; i < N_GROUPS; i++) {
        if (groups[i]) {
            adp_delta_set_group(all, groups[i]);
        }
    }
    for (size_t i = 0; i < N_TABLES; i++) {
        adp_delta_set_miss(all, i, misses[i]);
    }
    other = compile(adp_program_create(), all);
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        linear[i] = linear_of(i);
        fuzz_require(!linear[i] == !other->tables[i]);
    }
}

/* Matchers. */

static void
compare_class(const struct adp_match *match, const struct adp_match *linear,
              const struct adp_match_class *class, const struct flow *flow_)
{
    struct flow flow = *flow_;
    struct adp_rule *expected = linear->class->lookup(linear, &flow, &scratch);
    struct adp_rule *rule = class->lookup(match, &flow, &other_scratch);

    fuzz_require(!memcmp(&flow, flow_, sizeof flow));
    fuzz_require(rule == expected);
    fuzz_require(scratch.priority == other_scratch.priority);
}

static void
compare_table(const struct adp_match *match, const struct adp_match *linear,
              const struct flow *flow)
{
    compare_class(match, linear, match->class, flow);
    if (match->class == &adp_match_hash_class
        || match->class == &adp_match_conj_class
        || match->class == &adp_match_conj_avx2_class) {
        if (!strcmp(match->class->name, "conjunction")) {
            compare_class(match, linear, &adp_match_conj_class, flow);
            if (adp_match_conj_has_avx2()) {
                compare_class(match, linear, &adp_match_conj_avx2_class, flow);
            }
        }
    }
}

/* Decisions. */

/* What a program decides.  The caller frees it. */
static char *
decide_by(struct adp_program *program, const struct flow *flow)
{
    struct adp_program *own = engine->program;

    engine->program = program;
    char *verdict = xstrdup(engine_run_flow(engine, flow));
    engine->program = own;
    return verdict;
}

static void
decide(const struct flow *flow)
{
    struct adp_match *own[ADP_N_TABLES];
    const struct adp_verdict *v = &engine->verdict;

    if (!other) {
        compile_other();
    }
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        struct adp_table *table = engine->program->tables[i];

        fuzz_require(!linear[i] == !table);
        if (table) {
            compare_table(table->match, linear[i], flow);
            compare_table(other->tables[i]->match, linear[i], flow);
        }
    }
    fuzz_require(engine->program->reads == other->reads);

    char *verdict = decide_by(engine->program, flow);
    size_t n_hits = v->n_hits;
    char *hits = xmemdup0((char *) v->hits, n_hits * sizeof *v->hits);
    if (tells) {
        fprintf(stderr, "%s: %s\n", verdict, engine_hits(engine));
    }

    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        if (other->tables[i]) {
            own[i] = other->tables[i]->match;
            other->tables[i]->match = linear[i];
        }
    }
    char *expected = decide_by(other, flow);
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        if (other->tables[i]) {
            other->tables[i]->match = own[i];
        }
    }
    if (strcmp(verdict, expected)) {
        fprintf(stderr, "%s\nbut expected: %s\n", verdict, expected);
        fuzz_require(!strcmp(verdict, expected));
    }
    fuzz_require(n_hits == v->n_hits);
    fuzz_require(!memcmp(hits, v->hits, n_hits * sizeof *v->hits));
    free(expected);
    free(hits);
    free(verdict);
}

/* Packets. */

static void
choose_l3(struct flow *flow, struct fuzz_input *in, uint8_t kind)
{
    uint8_t a = fuzz_u8(in), b = fuzz_u8(in);

    if (kind & 4) {
        flow->dl_type = htons(ETH_TYPE_IPV6);
        flow->ipv6_src.s6_addr[0] = flow->ipv6_dst.s6_addr[0] = 0xfd;
        flow->ipv6_src.s6_addr[15] = a & 7;
        flow->ipv6_dst.s6_addr[15] = a >> 4 & 7;
    } else {
        flow->dl_type = htons(ETH_TYPE_IP);
        flow->nw_src = htonl(0x0a000000 + (b & 0x70) * 16 + (a & 7));
        flow->nw_dst = htonl(0x0a000000 + (b & 7) * 256 + (a >> 4 & 7));
    }
    flow->nw_ttl = 60 + (b & 7);
    flow->nw_tos = b & 0x80 ? 0x20 : 0;
}

static void
choose_l4(struct flow *flow, struct fuzz_input *in, uint8_t kind)
{
    static const uint8_t protos[] = { IPPROTO_TCP, IPPROTO_UDP, IPPROTO_SCTP,
                                      IPPROTO_ICMP };
    uint8_t ports = fuzz_u8(in);

    flow->nw_proto = protos[kind & 3];
    if (flow->nw_proto == IPPROTO_ICMP && kind & 4) {
        flow->nw_proto = IPPROTO_ICMPV6;
    }
    if (kind & 8) {
        flow->nw_frag = kind & 16 ? FLOW_NW_FRAG_ANY
                        : FLOW_NW_FRAG_ANY | FLOW_NW_FRAG_LATER;
    }
    if (!(flow->nw_frag & FLOW_NW_FRAG_LATER)) {
        flow->tp_src = htons(ports & 7);
        flow->tp_dst = htons(ports >> 4 & 7);
        if (flow->nw_proto == IPPROTO_TCP) {
            flow->tcp_flags = htons(ports & 8 ? TCP_SYN : TCP_ACK);
        }
    }
}

static void
pass(struct fuzz_input *in)
{
    uint8_t kind = fuzz_u8(in), meta = fuzz_u8(in), where = fuzz_u8(in);
    struct flow flow;

    memset(&flow, 0, sizeof flow);
    flow.packet_type = htonl(PT_ETH);
    flow.in_port.ofp_port = u16_to_ofp(where & 7);
    flow.dl_src.ea[5] = where >> 3 & 3;
    flow.dl_dst.ea[5] = where >> 5 & 3;
    flow.dl_dst.ea[0] = where >> 7;
    if (kind & 0x20) {
        flow.vlans[0].tpid = htons(ETH_TYPE_VLAN);
        flow.vlans[0].tci = htons(VLAN_CFI | (meta & 7));
    }
    if (kind & 0x40) {
        flow.tunnel.ip_src = htonl(0x01010100 + (meta & 7));
        flow.tunnel.ip_dst = htonl(0x01010109);
        flow.tunnel.tun_id = htonll(meta >> 3 & 7);
    }
    if ((kind & 0x9f) == 0x9f) {
        flow.dl_type = htons(ETH_TYPE_ARP);
        flow.nw_proto = 1 + (meta & 1);
        flow.nw_src = htonl(0x0a000000 + (meta >> 4 & 7));
    } else {
        choose_l3(&flow, in, kind);
        choose_l4(&flow, in, kind);
    }
    decide(&flow);
}

/* Many at once, of one seed. */

enum { SEED_LEN = 24 };

/* Input that follows from the seed alone. */
static struct fuzz_input
expand(uint8_t buf[SEED_LEN], uint32_t *seed)
{
    for (size_t i = 0; i < SEED_LEN; i++) {
        *seed = *seed * 1664525 + 1013904223;
        buf[i] = *seed >> 24;
    }
    return (struct fuzz_input) { buf, SEED_LEN };
}

static void
add_many(struct fuzz_input *in)
{
    uint8_t table_id = fuzz_range(in, N_TABLES), n = fuzz_u8(in) % 48;
    unsigned int n_priorities = 1 + (fuzz_u8(in) & 7);
    uint32_t seed = fuzz_u16(in);
    uint8_t buf[SEED_LEN];

    for (unsigned int i = 0; i < n; i++) {
        struct fuzz_input sub = expand(buf, &seed);
        struct ds s = DS_EMPTY_INITIALIZER;

        put_common_flow(&s, &sub, table_id, n_priorities);
        add_rule(ds_cstr(&s));
        ds_destroy(&s);
    }
}

static void
pass_many(struct fuzz_input *in)
{
    uint32_t seed = fuzz_u16(in);
    uint8_t buf[SEED_LEN];

    for (int i = 0; i < 8; i++) {
        struct fuzz_input sub = expand(buf, &seed);

        buf[0] &= 0x63;         /* IPv4, whole. */
        pass(&sub);
    }
}

static void
remove_many(struct fuzz_input *in)
{
    uint8_t n = fuzz_u8(in) & 31;
    uint32_t seed = fuzz_u16(in);
    uint8_t buf[SEED_LEN];

    for (unsigned int i = 0; i < n && n_rules; i++) {
        struct fuzz_input sub = expand(buf, &seed);

        remove_rule(fuzz_u8(&sub) % n_rules);
    }
}

/* Everything else. */

static void
set_something(struct fuzz_input *in)
{
    static const uint32_t states[] = {
        CS_TRACKED | CS_NEW, CS_TRACKED | CS_ESTABLISHED,
        CS_TRACKED | CS_ESTABLISHED | CS_REPLY_DIR, CS_TRACKED | CS_INVALID,
        CS_TRACKED | CS_ESTABLISHED | CS_DST_NAT, CS_TRACKED | CS_RELATED,
    };
    uint8_t how = fuzz_u8(in), what = fuzz_u8(in);

    if (how & 1) {
        struct engine_ct *ct
            = engine_set_ct(engine, how >> 1 & 7,
                            states[what % ARRAY_SIZE(states)]);

        ct->ct_mark = what >> 5;
        ct->nat_dst = how & 0x80 ? htonl(0x0a000003) : 0;
        ct->punt = how == 0xff ? ADP_PUNT_ALG : ADP_PUNT_NONE;
    } else if (how & 2) {
        engine->dead_ports = what;
    } else {
        static const enum ofputil_table_miss choices[] = {
            OFPUTIL_TABLE_MISS_DEFAULT, OFPUTIL_TABLE_MISS_CONTROLLER,
            OFPUTIL_TABLE_MISS_CONTINUE, OFPUTIL_TABLE_MISS_DROP,
        };
        uint8_t table_id = what % N_TABLES;

        misses[table_id] = choices[how >> 2 & 3];
        adp_delta_set_miss(delta, table_id, misses[table_id]);
        compile_changes();      /* Decisions are about all that is there. */
    }
}

static void
step(struct fuzz_input *in)
{
    uint8_t op = fuzz_u8(in);
    struct ds s = DS_EMPTY_INITIALIZER;

    switch (op & 15) {
    case 0: case 1: case 2:
        put_flow(&s, in);
        add_rule(ds_cstr(&s));
        break;
    case 3: case 4:
        add_many(in);
        break;
    case 5:
        remove_many(in);
        break;
    case 6:
        put_text(&s, in);
        add_rule(ds_cstr(&s));
        break;
    case 7:
        if (n_rules) {
            remove_rule(fuzz_u8(in) % n_rules);
        }
        break;
    case 8:
        set_group(in);
        break;
    case 9:
        remove_group(op >> 4 & 3);
        break;
    case 10:
        set_something(in);
        break;
    case 11:
        compile_changes();
        break;
    default:
        if (!adp_delta_is_empty(delta)) {
            compile_changes();
        }
        if (op & 0x10) {
            pass(in);
        } else {
            pass_many(in);
        }
        break;
    }
    ds_destroy(&s);
}

static void
finish(void)
{
    engine_destroy(engine);
}

int
LLVMFuzzerInitialize(int *argc OVS_UNUSED, char ***argv OVS_UNUSED)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    fuzz_leave_signals();
    engine = engine_create();
    atexit(finish);
    return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = { data, size };

    tells = getenv("FUZZ_TELL") != NULL;
    memset(engine->zones, 0, sizeof engine->zones);
    engine->dead_ports = 0;
    delta = adp_delta_create();
    memset(misses, 0, sizeof misses);
    for (int i = 0; i < MAX_STEPS && in.n; i++) {
        step(&in);
    }
    compile_changes();
    pass(&in);

    while (n_rules) {
        remove_rule(n_rules - 1);
    }
    for (size_t i = 0; i < N_GROUPS; i++) {
        remove_group(i);
    }
    for (size_t i = 0; i < N_TABLES; i++) {
        adp_delta_set_miss(delta, i, OFPUTIL_TABLE_MISS_DEFAULT);
    }
    compile_changes();
    for (size_t i = 0; i < ADP_N_TABLES; i++) {
        fuzz_require(!engine->program->tables[i]);
    }
    adp_delta_destroy(delta);
    ovsrcu_quiesce();
    return 0;
}
