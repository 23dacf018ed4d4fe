/* SPDX-License-Identifier: Apache-2.0 */

/* Single changes of an engine's records: in how many steps and pauses they
 * come, and how far IDs go. */

#include <config.h>
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>

#include "flow.h"
#include "model-pause.h"
#include "model-records.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-table.h"
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline-desired.h"
#include "pipeline-engine.h"
#include "pipeline-state.h"
#include "pipeline-world.h"
#include "quoted-json.h"
#include "svec.h"
#include "test-run.h"
#include "util.h"

static struct adp_model *model;
static struct adp_engine *engine;

static void
setup(void)
{
    pw_init(adp_pipeline_find("v1.15"));
    model = adp_model_create();
    engine = adp_engine_create();
}

static void
setup_early(void)
{
    setup();
    pw_uninit();
    pw_init(adp_pipeline_find("early"));
}

static void
teardown(void)
{
    adp_engine_destroy(engine);
    adp_model_destroy(model);
    pw_uninit();
}

/* Transactions. */

static void
begin_records(const char *records_s, const char *keys_s)
{
    struct json *records = json_array_from_quoted(records_s);
    struct json *keys = json_array_from_quoted(keys_s);

    adp_model_begin(model);
    struct adp_error *error = adp_model_delete(model, keys, false, NULL);
    ck_assert(!error);
    error = adp_model_apply(model, records, NULL);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    error = adp_model_check_changes(model, &pw.env);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    json_destroy(records);
    json_destroy(keys);
}

/* Returns the error of a run, which is then to be reverted. */
static struct adp_error *
begin(const char *records, const char *keys)
{
    begin_records(records, keys);
    return adp_engine_run(engine, pw.pipeline, model, &pw.env, false);
}

static void
end(bool accept)
{
    if (accept) {
        adp_engine_accept(engine);
        adp_model_commit(model);
    } else {
        adp_engine_revert(engine);
        adp_model_rollback(model);
    }
}

static void
apply(const char *records)
{
    struct adp_error *error = begin(records, "");

    ck_assert_msg(!error, "%s", error ? error->message : "");
    end(true);
}

static struct adp_desired_usage
usage(void)
{
    struct adp_desired_usage now;

    adp_desired_get_usage(adp_engine_desired(engine), &now);
    return now;
}

/* Addresses. */

enum { N_RULES = 5 };

static void
put_group(struct ds *s, int net, int n)
{
    ds_put_cstr(s, "{'kind':'AddressGroup','name':'many','addresses':[");
    for (int i = 0; i < n; i++) {
        ds_put_format(s, "%s'%d.%d.%d.1'", i ? "," : "", net, i / 256,
                      i % 256);
    }
    ds_put_cstr(s, "]}");
}

static void
apply_group(int net, int n)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    put_group(&s, net, n);
    apply(ds_cstr(&s));
    ds_destroy(&s);
}

/* A policy of 'n' rules that all have the group as their peer. */
static void
put_rules(struct ds *s, const char *name, const char *applied_to,
          bool ingress, int n)
{
    ds_put_format(s, "{'kind':'NetworkPolicy','name':'%s',"
                  "'type':'K8sNetworkPolicy','appliedToGroups':['%s'],"
                  "'rules':[", name, applied_to);
    for (int i = 0; i < n; i++) {
        ds_put_format(s, "%s{'direction':'%s',"
                      "'%s':{'addressGroups':['many']},"
                      "'services':[{'protocol':'TCP','port':%d}]}",
                      i ? "," : "", ingress ? "In" : "Out",
                      ingress ? "from" : "to", i + 1);
    }
    ds_put_cstr(s, "]}");
}

static void
put_policy(struct ds *s, const char *name, const char *applied_to,
           bool ingress)
{
    put_rules(s, name, applied_to, ingress, N_RULES);
}

static void
apply_rules(int n)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, BASE ",");
    put_group(&s, 20, n);
    ds_put_char(&s, ',');
    put_policy(&s, "p", "a", true);
    apply(ds_cstr(&s));
    ds_destroy(&s);
}

struct watched {
    size_t n_pauses;
    uint64_t last;              /* Steps until the latest pause, */
    uint64_t longest;           /* and the most between two. */
};

static void
note_pause(void *w_)
{
    struct watched *w = w_;
    uint64_t now = usage().n_steps;

    w->n_pauses++;
    w->longest = MAX(w->longest, now - w->last);
    w->last = now;
}

/* Changes all addresses of a group of 'n'.  Returns how many steps that
 * takes. */
static uint64_t
change_all_addresses(int n)
{
    struct watched w = { .n_pauses = 0 };

    apply_rules(n);
    size_t n_flows = usage().n_flows;
    uint64_t before = w.last = usage().n_steps;

    adp_pause_set(note_pause, &w);
    apply_group(30, n);
    adp_pause_set(NULL, NULL);
    ck_assert_uint_eq(usage().n_flows, n_flows);
    ck_assert_uint_ge(w.n_pauses, 2 * N_RULES * n);
    ck_assert_uint_gt(w.longest, 0);
    ck_assert_uint_le(w.longest, 16 * 17);
    return usage().n_steps - before;
}

/* The cost is of the addresses, not of their square, and there are pauses
 * amid it. */
START_TEST(all_addresses_change)
{
    uint64_t few = change_all_addresses(1000);
    uint64_t many = change_all_addresses(4000);

    ck_assert_uint_gt(few, 0);
    ck_assert_uint_lt(many, 6 * few);
}
END_TEST

/* One address costs a look at each. */
START_TEST(one_address_goes)
{
    apply_rules(1000);
    uint64_t before = usage().n_steps;
    apply_group(20, 999);
    ck_assert_uint_gt(usage().n_steps, before);
    ck_assert_uint_le(usage().n_steps - before, N_RULES * 1010);
}
END_TEST

/* Pods. */

enum { N_PODS = 50 };

static bool (*port_of_world)(const char *name, ofp_port_t *, void *aux);

/* Besides the world's own there are ports "pod0", "pod1", and so on. */
static bool
port_number(const char *name, ofp_port_t *port, void *aux)
{
    int i;

    if (ovs_scan(name, "pod%d", &i)) {
        *port = u16_to_ofp(1000 + i);
        return true;
    }
    return port_of_world(name, port, aux);
}

static void
put_pods(struct ds *s, int n)
{
    ds_put_cstr(s, "{'kind':'AppliedToGroup','name':'pods','pods':[");
    for (int i = 0; i < n; i++) {
        ds_put_format(s, "%s'pods/%d'", i ? "," : "", i);
    }
    ds_put_cstr(s, "]}");
}

/* Rules that apply to all Pods, and have many addresses besides. */
static void
apply_pods(void)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    port_of_world = pw.env.port_number;
    pw.env.port_number = port_number;
    apply_rules(1000);
    for (int i = 0; i < N_PODS; i++) {
        ds_put_format(&s, "{'kind':'Pod','name':'pods/%d','port':'pod%d',"
                      "'mac':'00:00:00:00:01:%02x','ips':['10.0.0.%d']},",
                      i, i, i, 100 + i);
    }
    put_pods(&s, N_PODS);
    ds_put_char(&s, ',');
    put_policy(&s, "q", "pods", false);
    apply(ds_cstr(&s));
    ds_destroy(&s);
}

/* How many steps it takes that but 'n' Pods leave the group. */
static uint64_t
leave_pods(int n)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    uint64_t before = usage().n_steps;

    put_pods(&s, n);
    apply(ds_cstr(&s));
    ds_destroy(&s);
    return usage().n_steps - before;
}

/* Many that leave cost a look at what each rule asks for, with a search among
 * them, not so many looks. */
START_TEST(pods_leave)
{
    apply_pods();
    uint64_t one = leave_pods(N_PODS - 1);
    uint64_t many = leave_pods(1);

    printf("%"PRIu64" steps, %"PRIu64"\n", one, many);
    ck_assert_uint_gt(one, 0);
    ck_assert_uint_lt(many, 10 * one);
}
END_TEST

static void
put_pod(struct ds *s, const char *port)
{
    ds_put_format(s, "{'kind':'Pod','name':'pods/0','port':'%s',"
                  "'mac':'00:00:00:00:01:00','ips':['10.0.0.100']}", port);
}

/* A Pod that 'n' rules apply to gets another port.  Returns how many steps
 * that takes. */
static uint64_t
change_port_of_pod(int n)
{
    struct watched w = { .n_pauses = 0 };
    struct ds s = DS_EMPTY_INITIALIZER;

    apply_rules(1);
    put_pods(&s, 1);
    ds_put_char(&s, ',');
    put_pod(&s, "pod1");
    ds_put_char(&s, ',');
    put_rules(&s, "q", "pods", true, n);
    apply(ds_cstr(&s));
    ds_clear(&s);

    size_t n_flows = usage().n_flows, n_claims = usage().n_claims;
    uint64_t before = w.last = usage().n_steps;
    adp_pause_set(note_pause, &w);
    put_pod(&s, "pod2");
    apply(ds_cstr(&s));
    adp_pause_set(NULL, NULL);
    ds_destroy(&s);

    ck_assert_uint_eq(usage().n_flows, n_flows);
    ck_assert_uint_eq(usage().n_claims, n_claims);
    ck_assert_uint_ge(w.n_pauses, 4 * n);
    return usage().n_steps - before;
}

/* All these rules have clauses in the flow of the port. */
START_TEST(pod_of_many_rules)
{
    port_of_world = pw.env.port_number;
    pw.env.port_number = port_number;
    uint64_t few = change_port_of_pod(500);
    uint64_t many = change_port_of_pod(2000);

    printf("%"PRIu64" steps, %"PRIu64"\n", few, many);
    ck_assert_uint_gt(few, 500);
    ck_assert_uint_lt(many, 6 * few);
}
END_TEST

/* Ports. */

static void
take_ports(void *aux OVS_UNUSED)
{
    pw.ports[PW_GATEWAY].number = pw.ports[PW_TUNNEL].number = 0;
}

/* The gateway's and the tunnel's port go and come back while all flows are
 * made: that one can't see afterwards. */
START_TEST(ports_that_flap)
{
    const struct pw_port gateway = pw.ports[PW_GATEWAY];
    const struct pw_port tunnel = pw.ports[PW_TUNNEL];

    apply(BASE);
    size_t n_flows = usage().n_flows;
    for (int i = 0; i < 2; i++) {
        pw.env.round++;
        begin_records(PODS, "");
        adp_pause_set(take_ports, NULL);
        ck_assert_ptr_null(adp_engine_run(engine, pw.pipeline, model, &pw.env,
                                          false));
        adp_pause_set(NULL, NULL);
        end(true);
        ck_assert_uint_eq(usage().n_flows, n_flows);
        ck_assert(!adp_engine_can_follow(engine, pw.pipeline, &pw.env));
        pw.ports[PW_GATEWAY] = gateway;
        ck_assert(!adp_engine_can_follow(engine, pw.pipeline, &pw.env));
        pw.ports[PW_TUNNEL] = tunnel;
        ck_assert(adp_engine_can_follow(engine, pw.pipeline, &pw.env));
    }
}
END_TEST

/* A PeerNode for which the pipeline has no flows is refused as it comes, too,
 * and when it changes. */
START_TEST(peer_of_ipv6)
{
#define PEER6 "{'kind':'PeerNode','name':'p','podCIDR':'10.0.1.0/24'," \
    "'gatewayIP':'10.0.1.1','transportIP':'fd00::2'}"
    static const char *const before[] = { NODE, NODE "," PEER };

    for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
        apply(before[i]);
        size_t n_flows = usage().n_flows;
        struct adp_error *error = begin(PEER6, "");

        ck_assert_ptr_nonnull(error);
        ck_assert_str_eq(error->object, "PeerNode p");
        ck_assert_str_eq(error->field, "transportIP");
        adp_error_destroy(error);
        end(false);
        apply(before[i]);
        ck_assert_uint_eq(usage().n_flows, n_flows);
    }
}
END_TEST

/* Services. */

enum { N_NESTED = 5 };

/* A Service whose endpoints are one of a Pod and the ClusterIPs of others. */
static char *
outer_service(const char *name, const char *cluster_ip)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "{'kind':'Service','name':'%s','clusterIP':'%s',"
                  "'ports':[{'port':80,'protocol':'TCP','endpoints':["
                  "{'ip':'10.0.0.10','port':80}", name, cluster_ip);
    for (int i = 1; i <= N_NESTED; i++) {
        ds_put_format(&s, ",{'ip':'10.96.1.%d','port':80}", i);
    }
    ds_put_cstr(&s, "]}]}");
    return ds_steal_cstr(&s);
}

static char *
inner_service(int last, const char *endpoint)
{
    return xasprintf("{'kind':'Service','name':'d/inner%d',"
                     "'clusterIP':'10.96.1.%d','ports':[{'port':80,"
                     "'protocol':'TCP','endpoints':["
                     "{'ip':'%s','port':80}]}]}", last, last, endpoint);
}

static void
apply_service(char *service)
{
    apply(service);
    free(service);
}

/* A look at the record's endpoints fails from now on, until they are given
 * back. */
static struct adp_endpoint *
take_endpoints(const char *name)
{
    const struct adp_record *record = adp_model_find(model, ADP_KIND_SERVICE,
                                                     name);
    struct adp_service *service = CONTAINER_OF(
        CONST_CAST(struct adp_record *, record), struct adp_service, up);
    struct adp_endpoint *endpoints = service->ports[0].endpoints;

    ck_assert_uint_eq(service->ports[0].n_endpoints, 1 + N_NESTED);
    service->ports[0].endpoints = NULL;
    return endpoints;
}

static void
give_endpoints(const char *name, struct adp_endpoint *endpoints)
{
    const struct adp_record *record = adp_model_find(model, ADP_KIND_SERVICE,
                                                     name);

    CONTAINER_OF(CONST_CAST(struct adp_record *, record),
                 struct adp_service, up)->ports[0].endpoints = endpoints;
}

/* A Service's change is told to those that have it among their endpoints, and
 * looks at no endpoints of others. */
START_TEST(nested_service_changes)
{
    apply_service(xasprintf("%s,%s", NODE_WITH("'serviceCIDR':'10.96.0.0/16',"),
                            PODS));
    apply_service(outer_service("d/outer", "10.96.0.1"));
    apply_service(outer_service("d/other", "10.96.0.2"));
    size_t n_flows = usage().n_flows;

    apply_service(inner_service(1, "10.0.0.10"));
    size_t n_inner = usage().n_flows - n_flows;
    struct adp_endpoint *outer = take_endpoints("d/outer");
    struct adp_endpoint *other = take_endpoints("d/other");
    apply_service(inner_service(N_NESTED + 1, "10.0.0.10"));
    apply_service(inner_service(N_NESTED + 1, "10.0.0.11"));
    apply_service(inner_service(N_NESTED + 1, "10.0.0.10"));
    give_endpoints("d/outer", outer);
    give_endpoints("d/other", other);

    /* Those that were told have a flow for the endpoint. */
    size_t n_told_nobody = usage().n_flows - n_flows - n_inner;
    ck_assert_uint_gt(n_told_nobody, 0);
    ck_assert_uint_eq(n_inner, n_told_nobody + 1);

    /* Who has an endpoint no more isn't told of it any more. */
    apply("{'kind':'Service','name':'d/outer','clusterIP':'10.96.0.1',"
          "'ports':[{'port':80,'protocol':'TCP','endpoints':["
          "{'ip':'10.0.0.10','port':80},{'ip':'10.96.1.2','port':80}]}]}");
    apply("{'kind':'Service','name':'d/other','clusterIP':'10.96.0.2',"
          "'ports':[{'port':80,'protocol':'TCP','endpoints':["
          "{'ip':'10.0.0.10','port':80}]}]}");
    n_flows = usage().n_flows;
    apply_service(inner_service(2, "10.0.0.10"));
    ck_assert_uint_eq(usage().n_flows - n_flows, n_inner);
    n_flows = usage().n_flows;
    apply_service(inner_service(3, "10.0.0.10"));
    ck_assert_uint_eq(usage().n_flows - n_flows, n_told_nobody);
}
END_TEST

/* A Service with 'n' endpoints of each family. */
static char *
wide_service(int n)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_cstr(&s, "{'kind':'Service','name':'d/wide',"
                "'clusterIP':['10.96.0.1','fd00:96::1'],"
                "'ports':[{'port':80,'protocol':'TCP','endpoints':[");
    for (int i = 0; i < n; i++) {
        ds_put_format(&s, "%s{'ip':'10.%d.%d.1','port':80}"
                      ",{'ip':'fd00:0:0:1::%x:1','port':80,'weight':%d}",
                      i ? "," : "", 20 + i / 256, i % 256, i, i % 100 + 1);
    }
    ds_put_cstr(&s, "]}]}");
    return ds_steal_cstr(&s);
}

#define NODE_DUAL "{'kind':'NodeConfig','name':'n','gateway':" \
    "{'port':'gw0','mac':'00:00:00:00:00:01','ip':['10.0.0.1','fd00::1']}," \
    "'podCIDR':['10.0.0.0/24','fd00::/64'],'transportIP':'192.168.0.1'}"

#define PEER_DUAL "{'kind':'PeerNode','name':'p'," \
    "'podCIDR':['10.0.1.0/24','fd01::/64']," \
    "'gatewayIP':['10.0.1.1','fd01::1'],'transportIP':'192.168.0.2'}"

static void
note_claims(void *w_)
{
    struct watched *w = w_;
    uint64_t now = usage().n_claims;

    w->n_pauses++;
    w->longest = MAX(w->longest, now - w->last);
    w->last = now;
}

/* There are pauses amid the endpoints, flows and buckets of one record. */
START_TEST(wide_service_pauses)
{
    enum { N = 300 };
    struct watched w = { .n_pauses = 0 };

    apply(NODE_DUAL);
    char *service = wide_service(N);
    uint64_t before = w.last = usage().n_claims;
    adp_pause_set(note_claims, &w);
    begin_records(service, "");
    ck_assert_uint_ge(w.n_pauses, 2 * N);
    w.n_pauses = 0;
    struct adp_error *error = adp_engine_run(engine, pw.pipeline, model,
                                             &pw.env, false);
    adp_pause_set(NULL, NULL);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    end(true);
    free(service);

    size_t n_claims = usage().n_claims - before;
    printf("%"PRIuSIZE" pauses, %"PRIuSIZE" flows, at most %"PRIu64
           " between two\n", w.n_pauses, n_claims, w.longest);
    ck_assert_uint_ge(n_claims, 2 * N);
    ck_assert_uint_ge(w.n_pauses, n_claims + 2 * N);
    ck_assert_uint_le(w.longest, 2); /* A group and a flow. */
}
END_TEST

#define MANY_KINDS \
    "{'kind':'Service','name':'d/s','clusterIP':['10.96.0.1','fd00:96::1']," \
    "'internalTrafficPolicy':'Local'," \
    "'ports':[{'port':80,'protocol':'TCP','endpoints':[" \
    "{'ip':'10.0.0.10','port':80,'local':true,'weight':7}," \
    "{'ip':'10.0.1.10','port':8080},{'ip':'192.0.2.1','port':65535}," \
    "{'ip':'fd00::10','port':80,'local':true},{'ip':'fd01::10','port':1}," \
    "{'ip':'fd02::','port':80,'terminating':true}]}," \
    "{'port':53,'protocol':'UDP'}]}," \
    "{'kind':'Service','name':'d/t','clusterIP':'10.96.0.2'," \
    "'sessionAffinity':{'timeoutSeconds':60}," \
    "'ports':[{'port':80,'protocol':'SCTP','endpoints':[" \
    "{'ip':'223.255.255.255','port':1},{'ip':'10.0.1.10','port':2}]}]}"

/* The groups' buckets are those of the text that the full run makes, bit by
 * bit. */
START_TEST(buckets_are_those_of_text)
{
    const struct shash_node *node;
    struct ofputil_table_map tables;
    struct adp_contributor again = { .n_claims = 0 };
    struct adp_desired *desired = adp_engine_desired(engine);

    apply(NODE_DUAL "," PEER_DUAL "," MANY_KINDS);
    generate(NODE_DUAL "," PEER_DUAL "," MANY_KINDS);
    size_t n_groups = usage().n_groups;
    ck_assert_uint_eq(shash_count(&pw.set.groups), n_groups);

    put_table_names(&tables);
    adp_desired_begin(desired, &again);
    SHASH_FOR_EACH (node, &pw.set.groups) {
        adp_desired_add_group_text(desired, &again, node->name, NULL,
                                   &tables);
    }
    adp_desired_end(desired, &again);
    ck_assert_uint_eq(usage().n_groups, n_groups);
    adp_desired_revert(desired);
    adp_contributor_uninit(&again);
    ofputil_table_map_destroy(&tables);
    printf("%"PRIuSIZE" groups\n", n_groups);
}
END_TEST

/* IDs. */

static void
put_mark(uint32_t id, const struct adp_id_part *part, void *lines)
{
    const struct adp_egress *egress = CONTAINER_OF(part->record,
                                                   struct adp_egress, up);

    svec_add_nocopy(lines, xasprintf("%"PRIu32" is %s\n", id,
                                     adp_ip_text(&egress->ip).s));
}

static void
put_vlan(uint32_t id, const struct adp_id_part *part, void *lines)
{
    const struct adp_network_policy *policy
        = CONTAINER_OF(part->record, struct adp_network_policy, up);

    svec_add_nocopy(lines, xasprintf("%"PRIu32" is %s, %s\n", id,
                                     policy->up.name,
                                     policy->rules[part->index].identity));
}

/* What marks and VLANs stand for.  The caller destroys it. */
static struct svec
what_ids_mean(void)
{
    const struct adp_pipeline_state *ids = adp_engine_ids(engine);
    struct svec lines = SVEC_EMPTY_INITIALIZER;

    adp_ids_for_each(&ids->marks, put_mark, &lines);
    adp_ids_for_each(&ids->vlans, put_vlan, &lines);
    svec_sort(&lines);
    return lines;
}

/* As many as 'n_gone' of the 'before' have come to mean something else. */
static void
expect_ids(const struct svec *before, size_t n_gone)
{
    struct svec now = what_ids_mean();
    struct svec gone, both, come;

    svec_diff(before, &now, &gone, &both, &come);
    ck_assert_uint_eq(gone.n, n_gone);
    ck_assert_uint_eq(come.n, n_gone);
    svec_destroy(&gone);
    svec_destroy(&both);
    svec_destroy(&come);
    svec_destroy(&now);
}

/* 'records' come and 'keys' go, after that was undone once.  With 'full'
 * everything runs anew. */
static void
expect_change(const char *records, const char *keys, bool full,
              size_t n_changed)
{
    struct svec before = what_ids_mean();

    for (int accept = 0; accept < 2; accept++) {
        pw.env.round += full;
        struct adp_error *error = begin(records, keys);
        ck_assert_msg(!error, "%s", error ? error->message : "");
        expect_ids(&before, 0); /* Not yet. */
        end(accept);
        expect_ids(&before, accept ? n_changed : 0);
    }
    svec_destroy(&before);
}

static void
expect_limit(const char *records)
{
    struct svec before = what_ids_mean();
    struct adp_error *error = begin(records, "");

    ck_assert(error);
    ck_assert_str_eq(error->code, "limit");
    adp_error_destroy(error);
    end(false);
    expect_ids(&before, 0);
    svec_destroy(&before);
}

/* Egresses 'first' to 'last', each with an address in network 'net'.  The
 * caller frees the text. */
static char *
egresses(int first, int last, int net)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = first; i <= last; i++) {
        ds_put_format(&s, "%s{'kind':'Egress','name':'e%03d',"
                      "'appliedToGroups':['a'],'egressIP':'9.%d.%d.%d',"
                      "'egressNode':'n','bandwidth':{'rateKbps':%d,"
                      "'burstKbits':12}}", i > first ? "," : "", i, net,
                      i / 256, i % 256, i + 1);
    }
    return ds_steal_cstr(&s);
}

static void
expect_egresses(int first, int last, int net, const char *keys, bool full,
                size_t n_changed)
{
    char *records = egresses(first, last, net);

    expect_change(records, keys, full, n_changed);
    free(records);
}

/* The addresses that there will be count, not those that go; what stays keeps
 * its mark. */
START_TEST(egress_ips_change)
{
    enum { LAST = ADP_MAX_EGRESS_MARKS - 1 };

    apply(BASE);
    char *all = egresses(0, LAST, 1);
    apply(all);
    free(all);
    for (int full = 0; full < 2; full++) {
        int net = 10 * (full + 1);

        expect_egresses(0, 0, net, "", full, 1);
        expect_egresses(100, 100, net, "", full, 1);
        expect_egresses(50, 249, net + 1, "", full, 200);
        expect_egresses(0, LAST, net + 2, "", full, LAST + 1);
        /* One goes, and another comes, which asks first. */
        expect_change("{'kind':'Egress','name':'a','appliedToGroups':['a'],"
                      "'egressIP':'8.8.8.8','egressNode':'n'}",
                      "{'kind':'Egress','name':'e007'}", full, 1);
        expect_egresses(7, 7, net, "{'kind':'Egress','name':'a'}", full, 1);
        /* Two change places. */
        expect_change(
            "{'kind':'Egress','name':'e000','appliedToGroups':['a'],"
            "'egressIP':'8.8.8.8','egressNode':'n'},"
            "{'kind':'Egress','name':'e001','appliedToGroups':['a'],"
            "'egressIP':'8.8.8.9','egressNode':'n'}", "", full, 2);
        expect_change(
            "{'kind':'Egress','name':'e000','appliedToGroups':['a'],"
            "'egressIP':'8.8.8.9','egressNode':'n'},"
            "{'kind':'Egress','name':'e001','appliedToGroups':['a'],"
            "'egressIP':'8.8.8.8','egressNode':'n'}", "", full, 0);
        expect_egresses(0, 1, net + 3, "", full, 2);
    }

    char *one_more = egresses(LAST + 1, LAST + 1, 1);
    expect_limit(one_more);
    free(one_more);

    /* Each meter lets pass what its address's Egress says. */
    const struct adp_pipeline_state *ids = adp_engine_ids(engine);
    for (uint32_t id = 1; id <= ADP_MAX_EGRESS_MARKS; id++) {
        const struct adp_record *record = adp_ids_find(&ids->marks,
                                                       id)->record;
        ck_assert_uint_eq(adp_engine_meters(engine)->limits[id].rate,
                          atoi(&record->name[1]) + 1);
    }
}
END_TEST

/* A policy with 'n' L7 rules.  The caller frees the text. */
static char *
l7_policy(int number, int n, const char *host)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    ds_put_format(&s, "{'kind':'NetworkPolicy','name':'p%d',"
                  "'type':'AntreaClusterNetworkPolicy','tierPriority':250,"
                  "'priority':5,'appliedToGroups':['a'],'rules':[", number);
    for (int i = 0; i < n; i++) {
        ds_put_format(&s, "%s{'direction':'In','action':'Allow',"
                      "'from':{'addressGroups':['x']},'services':["
                      "{'protocol':'TCP','port':%d}],"
                      "'l7Protocols':[{'http':{'host':'%s'}}]}",
                      i ? "," : "", i + 1, host);
    }
    ds_put_cstr(&s, "]}");
    return ds_steal_cstr(&s);
}

/* The same of L7 rules and VLANs. */
START_TEST(l7_rules_change)
{
    enum { N = 94, N_OTHERS = ADP_MAX_L7_VLANS - N };

    char *many = l7_policy(2, N_OTHERS, "a");
    char *few = l7_policy(1, N, "a");
    char *records = xasprintf("%s,%s,%s", BASE, many, few);
    apply(records);
    free(many);
    free(few);
    free(records);
    for (int full = 0; full < 2; full++) {
        few = l7_policy(1, N, "b");
        expect_change(few, "", full, N);
        free(few);
        few = l7_policy(3, N, "b");
        expect_change(few, "{'kind':'NetworkPolicy','name':'p1'}", full, N);
        free(few);
        few = l7_policy(1, N, "a");
        expect_change(few, "{'kind':'NetworkPolicy','name':'p3'}", full, N);
        free(few);
    }

    char *one_more = l7_policy(3, 1, "a");
    expect_limit(one_more);
    free(one_more);
}
END_TEST

int
main(void)
{
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);

    Suite *suite = suite_create("engine-changes");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 600); /* For slow machines. */
    tcase_add_test(tc, all_addresses_change);
    tcase_add_test(tc, one_address_goes);
    tcase_add_test(tc, pods_leave);
    tcase_add_test(tc, pod_of_many_rules);
    tcase_add_test(tc, ports_that_flap);
    tcase_add_test(tc, nested_service_changes);
    tcase_add_test(tc, wide_service_pauses);
    tcase_add_test(tc, buckets_are_those_of_text);
    tcase_add_test(tc, egress_ips_change);
    tcase_add_test(tc, l7_rules_change);
    suite_add_tcase(suite, tc);

    tc = tcase_create("early");
    tcase_add_checked_fixture(tc, setup_early, teardown);
    tcase_add_test(tc, peer_of_ipv6);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
