/* SPDX-License-Identifier: Apache-2.0 */

/* What the typed state takes and what it refuses.  JSON is written with single
 * quotes here. */

#include <config.h>
#include <check.h>
#include <stdlib.h>
#include "flow.h"
#include "model.h"
#include "model-transact.h"
#include "openvswitch/dynamic-string.h"
#include "quoted-json.h"
#include "sset.h"
#include "test-run.h"
#include "util.h"

/* The bridge's ports. */
static struct sset ports;

static bool
port_number(const char *name, ofp_port_t *port, void *aux OVS_UNUSED)
{
    *port = u16_to_ofp(1);
    return sset_contains(&ports, name);
}

static const struct adp_model_env env = { .port_number = port_number };

/* A state in which all kinds of records occur. */
#define GATEWAY "'gateway':{'port':'gw0','mac':'00:00:00:00:00:01'," \
    "'ip':'10.0.0.1'}"
#define NODE "{'kind':'NodeConfig','name':'n'," GATEWAY "," \
    "'tunnel':{'port':'tun0'},'podCIDR':'10.0.0.0/24'," \
    "'transportIP':'192.168.0.1'}"
#define POD "{'kind':'Pod','name':'default/a','port':'a'," \
    "'mac':'00:00:00:00:00:0a','ips':['10.0.0.10']}"
#define PEER "{'kind':'PeerNode','name':'p','podCIDR':'10.0.1.0/24'," \
    "'gatewayIP':'10.0.1.1','transportIP':'192.168.0.2'}"
#define SERVICE "{'kind':'Service','name':'default/s'," \
    "'clusterIP':'10.96.0.1','externalIPs':['1.2.3.4']," \
    "'loadBalancerIPs':['1.2.3.5'],'ports':[{'port':80,'nodePort':30000," \
    "'endpoints':[{'ip':'10.0.0.10','port':8080,'local':true}]}]}"
#define GROUPS "{'kind':'AppliedToGroup','name':'at','pods':['default/a']}," \
    "{'kind':'AddressGroup','name':'ad','addresses':['10.0.0.10'," \
    "'10.9.0.0/16']}"
#define POLICY "{'kind':'NetworkPolicy','name':'np'," \
    "'type':'K8sNetworkPolicy','appliedToGroups':['at']," \
    "'rules':[{'direction':'In','from':{'addressGroups':['ad']}}]}"
#define MANIFEST "{'kind':'Manifest','name':'m','object':{'x':[1,2.5]}}"
#define ALL NODE "," POD "," PEER "," SERVICE "," GROUPS "," POLICY "," \
    MANIFEST

static struct adp_model *model;
static struct json *junk;       /* To be freed. */

static struct json *
parse(const char *quoted)
{
    struct json *json = json_array_from_quoted(quoted);

    json_array_add(junk, json);
    return json;
}

static void
setup(void)
{
    static const char *const names[] = { "gw0", "tun0", "a", "b" };

    sset_init(&ports);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        sset_add(&ports, names[i]);
    }
    junk = json_array_create_empty();
    model = adp_model_create();
    ck_assert(!adp_model_apply(model, parse(ALL), NULL));
    ck_assert(!adp_model_check(model, &env));
}

static void
teardown(void)
{
    adp_model_destroy(model);
    json_destroy(junk);
    sset_destroy(&ports);
}

static struct adp_error *
transact(const char *apply, const char *delete)
{
    return model_transact(model, apply, delete, &env);
}

static void
expect_error(struct adp_error *error, const char *what, const char *code,
             const char *object, const char *field)
{
    ck_assert_msg(error, "accepted: %s", what);
    ck_assert_msg(!strcmp(error->code, code)
                  && nullable_string_is_equal(error->object, object)
                  && nullable_string_is_equal(error->field, field),
                  "%s:\n  got      %s|%s|%s (%s)\n  expected %s|%s|%s", what,
                  error->code, error->object, error->field, error->message,
                  code, object, field);
    ck_assert(!object || strstr(error->message, object));
    ck_assert(!field || strstr(error->message, field));

    struct json *json = adp_error_to_json(error);
    ck_assert_str_eq(json_string(shash_find_data(json->object, "message")),
                     error->message);
    ck_assert(!shash_find(json->object, "field") == !field);
    json_destroy(json);
    adp_error_destroy(error);
}

/* Each of 'cases' is refused, and leaves the state as it was. */
struct bad_case {
    const char *apply;
    const char *code, *object, *field;
};

static void
expect_errors(const struct bad_case *cases, size_t n)
{
    struct json *before = adp_model_get(model, NULL, NULL);

    for (size_t i = 0; i < n; i++) {
        expect_error(transact(cases[i].apply, NULL), cases[i].apply,
                     cases[i].code, cases[i].object, cases[i].field);
    }

    struct json *after = adp_model_get(model, NULL, NULL);
    ck_assert(json_equal(before, after));
    json_destroy(before);
    json_destroy(after);
}
#define EXPECT_ERRORS(CASES) expect_errors(CASES, ARRAY_SIZE(CASES))

START_TEST(refuses_what_is_no_record)
{
    static const struct bad_case cases[] = {
        { "1", "invalid", "records[0]", NULL },
        { MANIFEST ",null", "invalid", "records[1]", NULL },
        { "{}", "invalid", "records[0]", "kind" },
        { "{'kind':7,'name':'x'}", "invalid", "records[0]", "kind" },
        { "{'kind':'Pood','name':'x'}", "invalid", "records[0]", "kind" },
        { "{'kind':'pod','name':'x'}", "invalid", "records[0]", "kind" },
        { "{'kind':'Pod'}", "invalid", "records[0]", "name" },
        { "{'kind':'Pod','name':''}", "invalid", "records[0]", "name" },
        { "{'kind':'Pod','name':['x']}", "invalid", "records[0]", "name" },
        { MANIFEST "," MANIFEST, "invalid", "Manifest m", NULL },
        { "{'kind':'Manifest','name':'x','object':{},'z':1,'a':1}",
          "invalid", "Manifest x", "a" },
        { "{'kind':'Manifest','name':'x'}", "invalid", "Manifest x",
          "object" },
        { "{'kind':'Manifest','name':'x','object':[]}", "invalid",
          "Manifest x", "object" },
    };

    EXPECT_ERRORS(cases);

    const struct json *object = parse(MANIFEST)->array.elems[0];
    expect_error(adp_model_apply(model, object, NULL),
                 "no array", "invalid", NULL, "records");
}
END_TEST

#define P "{'kind':'Pod','name':'default/b',"
#define OK_POD "'port':'b','mac':'00:00:00:00:00:0b','ips':['10.0.0.11']"

START_TEST(refuses_bad_pods)
{
    static const struct bad_case cases[] = {
        { P "'mac':'00:00:00:00:00:0b','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "port" },
        { P "'port':3,'mac':'00:00:00:00:00:0b','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "port" },
        { P "'port':'b','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "mac" },
        { P "'port':'b','mac':'0:0:0:0:0:b','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "mac" },
        { P "'port':'b','mac':'00:00:00:00:00:0g','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "mac" },
        { P "'port':'b','mac':'00:00:00:00:00:00','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "mac" },
        { P "'port':'b','mac':'01:00:00:00:00:00','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "mac" },
        { P "'port':'b','mac':'00:00:00:00:00:0b'}",
          "invalid", "Pod default/b", "ips" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':[]}",
          "invalid", "Pod default/b", "ips" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':'10.0.0.11'}",
          "invalid", "Pod default/b", "ips" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':['10.0.0.256']}",
          "invalid", "Pod default/b", "ips[0]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':['10.0.0']}",
          "invalid", "Pod default/b", "ips[0]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':['10.0.0.011']}",
          "invalid", "Pod default/b", "ips[0]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':['fd00::g']}",
          "invalid", "Pod default/b", "ips[0]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':['::']}",
          "invalid", "Pod default/b", "ips[0]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':['ff02::1']}",
          "invalid", "Pod default/b", "ips[0]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':['::ffff:10.0.0.9']}",
          "invalid", "Pod default/b", "ips[0]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b',"
          "'ips':['fd00::1','fd00:0::0:1']}",
          "invalid", "Pod default/b", "ips[1]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':['10.0.0.1/32']}",
          "invalid", "Pod default/b", "ips[0]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':['0.0.0.0']}",
          "invalid", "Pod default/b", "ips[0]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':['10.0.0.11',5]}",
          "invalid", "Pod default/b", "ips[1]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b',"
          "'ips':['10.0.0.11','10.0.0.11']}",
          "invalid", "Pod default/b", "ips[1]" },
        { P OK_POD ",'color':'red'}", "invalid", "Pod default/b", "color" },
        { "{'kind':'Pod','name':'b'," OK_POD "}",
          "invalid", "Pod b", "name" },
        { "{'kind':'Pod','name':'x/y/z'," OK_POD "}",
          "invalid", "Pod x/y/z", "name" },
        /* Against other records. */
        { P "'port':'nix','mac':'00:00:00:00:00:0b','ips':['10.0.0.11']}",
          "missing", "Pod default/b", "port" },
        { P "'port':'b','mac':'00:00:00:00:00:0b','ips':['10.0.0.10']}",
          "invalid", "Pod default/b", "ips[0]" },
        { P "'port':'b','mac':'00:00:00:00:00:0b',"
          "'ips':['10.0.0.11','10.0.0.1']}",
          "invalid", "Pod default/b", "ips[1]" },
        { P "'port':'b','mac':'00:00:00:00:00:0a','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "mac" },
        { P "'port':'b','mac':'00:00:00:00:00:01','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "mac" },
        { P "'port':'b','mac':'aa:bb:cc:dd:ee:ff','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "mac" },
        { P "'port':'a','mac':'00:00:00:00:00:0b','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "port" },
        { P "'port':'gw0','mac':'00:00:00:00:00:0b','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "port" },
        { P "'port':'tun0','mac':'00:00:00:00:00:0b','ips':['10.0.0.11']}",
          "invalid", "Pod default/b", "port" },
        /* The one that is new gets the blame, whatever the names. */
        { "{'kind':'Pod','name':'a/a','port':'b',"
          "'mac':'00:00:00:00:00:0b','ips':['10.0.0.10']}",
          "invalid", "Pod a/a", "ips[0]" },
    };

    EXPECT_ERRORS(cases);
    ck_assert(!transact(P OK_POD "}", NULL));
}
END_TEST

#define N "{'kind':'NodeConfig','name':'n',"
#define REST "'podCIDR':'10.0.0.0/24','transportIP':'192.168.0.1'}"

START_TEST(refuses_bad_nodes)
{
    static const struct bad_case cases[] = {
        { N REST, "invalid", "NodeConfig n", "gateway" },
        { N "'gateway':'gw0'," REST, "invalid", "NodeConfig n", "gateway" },
        { N "'gateway':{'port':'gw0','ip':'10.0.0.1'}," REST,
          "invalid", "NodeConfig n", "gateway.mac" },
        { N "'gateway':{'port':'gw0','ip':'10.0.0.1','vlan':1,"
          "'mac':'00:00:00:00:00:01'}," REST,
          "invalid", "NodeConfig n", "gateway.vlan" },
        { N GATEWAY ",'tunnel':{}," REST,
          "invalid", "NodeConfig n", "tunnel.port" },
        { N GATEWAY ",'tunnel':{'port':'gw0'}," REST,
          "invalid", "NodeConfig n", "tunnel.port" },
        { N GATEWAY ",'tunnel':{'port':'nix'}," REST,
          "missing", "NodeConfig n", "tunnel.port" },
        { N "'gateway':{'port':'nix','ip':'10.0.0.1',"
          "'mac':'00:00:00:00:00:01'}," REST,
          "missing", "NodeConfig n", "gateway.port" },
        { N GATEWAY ",'podCIDR':'10.0.0.0/24'}",
          "invalid", "NodeConfig n", "transportIP" },
        { N GATEWAY ",'podCIDR':'10.0.0.1/24','transportIP':'192.168.0.1'}",
          "invalid", "NodeConfig n", "podCIDR" },
        { N GATEWAY ",'podCIDR':'10.0.0.0/33','transportIP':'192.168.0.1'}",
          "invalid", "NodeConfig n", "podCIDR" },
        { N GATEWAY ",'podCIDR':'10.0.0.0','transportIP':'192.168.0.1'}",
          "invalid", "NodeConfig n", "podCIDR" },
        { N GATEWAY ",'serviceCIDR':'10.96.0.1/12'," REST,
          "invalid", "NodeConfig n", "serviceCIDR" },
        { N GATEWAY ",'podCIDR':['10.0.0.0/24','fd00::/64'],"
          "'transportIP':'192.168.0.1'}",
          "invalid", "NodeConfig n", "podCIDR" },
        { N GATEWAY ",'podCIDR':['10.0.0.0/24','10.0.9.0/24'],"
          "'transportIP':'192.168.0.1'}",
          "invalid", "NodeConfig n", "podCIDR[1]" },
        { N GATEWAY ",'podCIDR':[],'transportIP':'192.168.0.1'}",
          "invalid", "NodeConfig n", "podCIDR" },
        { N GATEWAY ",'serviceCIDR':['10.96.0.0/12','fd00::1/64']," REST,
          "invalid", "NodeConfig n", "serviceCIDR[1]" },
        { N GATEWAY ",'proxyAll':'yes'," REST,
          "invalid", "NodeConfig n", "proxyAll" },
        { N GATEWAY ",'nodePortAddresses':['x']," REST,
          "invalid", "NodeConfig n", "nodePortAddresses[0]" },
        { "{'kind':'NodeConfig','name':'other'," GATEWAY "," REST,
          "invalid", "NodeConfig other", NULL },
        { "{'kind':'PeerNode','name':'q','podCIDR':'10.0.0.128/25',"
          "'gatewayIP':'10.0.0.129','transportIP':'192.168.0.3'}",
          "invalid", "PeerNode q", "podCIDR" },
        { "{'kind':'PeerNode','name':'a','podCIDR':'10.0.0.0/16',"
          "'gatewayIP':'10.0.2.1','transportIP':'192.168.0.3'}",
          "invalid", "PeerNode a", "podCIDR" },
        { "{'kind':'PeerNode','name':'q','podCIDR':'10.0.2.0/24',"
          "'gatewayIP':'10.0.2.1','transportIP':'192.168.0.1'}",
          "invalid", "PeerNode q", "transportIP" },
        { "{'kind':'PeerNode','name':'q','podCIDR':'10.0.2.0/24',"
          "'gatewayIP':'10.0.1.1','transportIP':'192.168.0.3'}",
          "invalid", "PeerNode q", "gatewayIP" },
        { "{'kind':'PeerNode','name':'q','podCIDR':'fd00:2::/64',"
          "'gatewayIP':'10.0.2.1','transportIP':'192.168.0.3'}",
          "invalid", "PeerNode q", "podCIDR" },
        { "{'kind':'PeerNode','name':'q','podCIDR':'10.0.2.0/24',"
          "'transportIP':'192.168.0.3'}",
          "invalid", "PeerNode q", "gatewayIP" },
    };

    EXPECT_ERRORS(cases);
}
END_TEST

#define S "{'kind':'Service','name':'default/t',"
#define ONE_PORT(X) S "'ports':[" X "]}"
#define ONE_EP(X) ONE_PORT("{'port':80,'endpoints':[" X "]}")

START_TEST(refuses_bad_services)
{
    static const struct bad_case cases[] = {
        { S "'clusterIP':'10.96.0.2'}",
          "invalid", "Service default/t", "ports" },
        { S "'clusterIP':'None','ports':[]}",
          "invalid", "Service default/t", "clusterIP" },
        { S "'clusterIP':['10.96.0.2','10.96.0.3'],'ports':[]}",
          "invalid", "Service default/t", "clusterIP[1]" },
        { S "'clusterIP':['fd96::2','fd96::3'],'ports':[]}",
          "invalid", "Service default/t", "clusterIP[1]" },
        { ONE_PORT("80"), "invalid", "Service default/t", "ports[0]" },
        { ONE_PORT("{}"), "invalid", "Service default/t", "ports[0].port" },
        { ONE_PORT("{'port':0}"),
          "invalid", "Service default/t", "ports[0].port" },
        { ONE_PORT("{'port':65536}"),
          "invalid", "Service default/t", "ports[0].port" },
        { ONE_PORT("{'port':'80'}"),
          "invalid", "Service default/t", "ports[0].port" },
        { ONE_PORT("{'port':80.5}"),
          "invalid", "Service default/t", "ports[0].port" },
        { ONE_PORT("{'port':80,'protocol':'ICMP'}"),
          "invalid", "Service default/t", "ports[0].protocol" },
        { ONE_PORT("{'port':80,'nodePort':-1}"),
          "invalid", "Service default/t", "ports[0].nodePort" },
        { ONE_PORT("{'port':80,'targetPort':80}"),
          "invalid", "Service default/t", "ports[0].targetPort" },
        { ONE_PORT("{'port':80},{'port':80}"),
          "invalid", "Service default/t", "ports[1].port" },
        { ONE_PORT("{'port':80,'nodePort':3},{'port':81,'nodePort':3}"),
          "invalid", "Service default/t", "ports[1].nodePort" },
        { ONE_EP("{'port':80}"), "invalid", "Service default/t",
          "ports[0].endpoints[0].ip" },
        { ONE_EP("{'ip':'10.0.0.10'}"), "invalid", "Service default/t",
          "ports[0].endpoints[0].port" },
        { ONE_EP("{'ip':'10.0.0.10','port':1},{'ip':'web','port':1}"),
          "invalid", "Service default/t", "ports[0].endpoints[1].ip" },
        { ONE_EP("{'ip':'10.0.0.10','port':1},{'ip':'10.0.0.10','port':1}"),
          "invalid", "Service default/t", "ports[0].endpoints[1]" },
        { ONE_EP("{'ip':'10.0.0.10','port':1,'weight':0}"),
          "invalid", "Service default/t", "ports[0].endpoints[0].weight" },
        { ONE_EP("{'ip':'10.0.0.10','port':1,'local':1}"),
          "invalid", "Service default/t", "ports[0].endpoints[0].local" },
        { ONE_EP("{'ip':'10.0.0.10','port':1,'localOnly':true}"),
          "invalid", "Service default/t", "ports[0].endpoints[0].localOnly" },
        { ONE_EP("{'ip':'10.0.0.10','port':1,'terminating':'yes'}"),
          "invalid", "Service default/t",
          "ports[0].endpoints[0].terminating" },
        { S "'ports':[],'loadBalancerSourceRanges':['10.0.0.1/8']}",
          "invalid", "Service default/t", "loadBalancerSourceRanges[0]" },
        { S "'ports':[],'loadBalancerSourceRanges':['10.0.0.1']}",
          "invalid", "Service default/t", "loadBalancerSourceRanges[0]" },
        { S "'ports':[],'loadBalancerSourceRanges':['10.0.0.0/8',"
          "'10.0.0.0/8']}",
          "invalid", "Service default/t", "loadBalancerSourceRanges[1]" },
        { S "'ports':[],'loadBalancerSourceRanges':'10.0.0.0/8'}",
          "invalid", "Service default/t", "loadBalancerSourceRanges" },
        { ONE_EP("{'ip':'10.0.0.10','port':1,'node':'n'}"),
          "invalid", "Service default/t", "ports[0].endpoints[0].node" },
        { S "'ports':[],'sessionAffinity':{}}",
          "invalid", "Service default/t", "sessionAffinity.timeoutSeconds" },
        { S "'ports':[],'sessionAffinity':{'timeoutSeconds':65536}}",
          "invalid", "Service default/t", "sessionAffinity.timeoutSeconds" },
        { S "'ports':[],'sessionAffinity':'ClientIP'}",
          "invalid", "Service default/t", "sessionAffinity" },
        { S "'ports':[],'created':1}",
          "invalid", "Service default/t", "created" },
        { S "'ports':[],'loadBalancerMode':'dsr'}",
          "invalid", "Service default/t", "loadBalancerMode" },
        { S "'ports':[],'externalTrafficPolicy':'local'}",
          "invalid", "Service default/t", "externalTrafficPolicy" },
        { S "'ports':[],'internalTrafficPolicy':true}",
          "invalid", "Service default/t", "internalTrafficPolicy" },
        { "{'kind':'Service','name':'t','ports':[]}",
          "invalid", "Service t", "name" },
        /* Against other records. */
        { S "'clusterIP':'10.96.0.1','ports':[{'port':80}]}",
          "invalid", "Service default/t", "clusterIP" },
        { ONE_PORT("{'port':80,'nodePort':30000}"),
          "invalid", "Service default/t", "ports[0].nodePort" },
    };

    EXPECT_ERRORS(cases);

    /* In words that users know. */
    struct adp_error *error = transact(
        S "'clusterIP':'10.96.0.1','ports':[{'port':80}]}", NULL);
    ck_assert(error);
    ck_assert(strstr(error->message,
                     ": 10.96.0.1:80/TCP is already that of Service "));
    adp_error_destroy(error);

    /* Another protocol or port is another front end. */
    ck_assert(!transact(S "'clusterIP':'10.96.0.1','externalIPs':['1.2.3.4'],"
                        "'ports':[{'port':80,'protocol':'UDP',"
                        "'nodePort':30000},{'port':81}]}", NULL));
}
END_TEST

#define NP "{'kind':'NetworkPolicy','name':'x',"
#define K8S NP "'type':'K8sNetworkPolicy','appliedToGroups':['at'],'rules':["
#define ANP NP "'type':'AntreaNetworkPolicy','tierPriority':250," \
    "'priority':5,'appliedToGroups':['at'],'rules':["
#define X "NetworkPolicy x"
#define SVC(V) K8S "{'direction':'In','from':{},'services':[" V "]}]}"

START_TEST(refuses_bad_policies)
{
    static const struct bad_case cases[] = {
        { NP "'rules':[]}", "invalid", X, "type" },
        { NP "'type':'Ingress','rules':[]}", "invalid", X, "type" },
        { NP "'type':'K8sNetworkPolicy'}", "invalid", X, "rules" },
        { NP "'type':'K8sNetworkPolicy','rules':[{'direction':'In',"
          "'priority':-1}]}", "invalid", X, "rules[0].priority" },
        { NP "'type':'AntreaNetworkPolicy','tierPriority':1,'priority':1,"
          "'rules':[{'direction':'In'},{'direction':'Out'},{'direction':'In',"
          "'action':'Drop'},{'direction':'In','priority':0},{'direction':'In',"
          "'priority':1,'action':'Pass'}]}", "invalid", X,
          "rules[4].priority" },
        { NP "'type':'K8sNetworkPolicy','priority':1,'rules':[]}",
          "invalid", X, "priority" },
        { NP "'type':'K8sNetworkPolicy','tierPriority':1,'rules':[]}",
          "invalid", X, "tierPriority" },
        { NP "'type':'AntreaNetworkPolicy','priority':1,'rules':[]}",
          "invalid", X, "tierPriority" },
        { NP "'type':'AntreaNetworkPolicy','tierPriority':1,'rules':[]}",
          "invalid", X, "priority" },
        { NP "'type':'AntreaNetworkPolicy','tierPriority':256,"
          "'priority':1,'rules':[]}", "invalid", X, "tierPriority" },
        { NP "'type':'AntreaNetworkPolicy','tierPriority':2,"
          "'priority':0.5,'rules':[]}", "invalid", X, "priority" },
        { NP "'type':'AntreaNetworkPolicy','tierPriority':2,"
          "'priority':'1','rules':[]}", "invalid", X, "priority" },
        { K8S "{}]}", "invalid", X, "rules[0].direction" },
        { K8S "{'direction':'Ingress'}]}",
          "invalid", X, "rules[0].direction" },
        { K8S "{'direction':'In','action':'Drop'}]}",
          "invalid", X, "rules[0].action" },
        { ANP "{'direction':'In','action':'Refuse'}]}",
          "invalid", X, "rules[0].action" },
        { K8S "{'direction':'In','action':'Pass'}]}",
          "invalid", X, "rules[0].action" },
        { NP "'type':'AntreaNetworkPolicy','tierPriority':253,'priority':1,"
          "'rules':[{'direction':'In','action':'Pass'}]}",
          "invalid", X, "rules[0].action" },
        { K8S "{'direction':'In','to':{}}]}", "invalid", X, "rules[0].to" },
        { K8S "{'direction':'Out','from':{}}]}",
          "invalid", X, "rules[0].from" },
        { K8S "{'direction':'In','from':[]}]}",
          "invalid", X, "rules[0].from" },
        { K8S "{'direction':'In','from':{'pods':[]}}]}",
          "invalid", X, "rules[0].from.pods" },
        { K8S "{'direction':'In','from':{'ipBlocks':[{}]}}]}",
          "invalid", X, "rules[0].from.ipBlocks[0].cidr" },
        { K8S "{'direction':'In','from':{'ipBlocks':["
          "{'cidr':'10.0.0.1/8'}]}}]}",
          "invalid", X, "rules[0].from.ipBlocks[0].cidr" },
        { K8S "{'direction':'In','from':{'ipBlocks':["
          "{'cidr':'10.0.0.0/8','except':['11.0.0.0/8']}]}}]}",
          "invalid", X, "rules[0].from.ipBlocks[0].except[0]" },
        { K8S "{'direction':'In','l7':{}}]}", "invalid", X, "rules[0].l7" },
        { K8S "{'direction':'Out','to':{'toServices':['d/s']}}]}",
          "invalid", X, "rules[0].to.toServices" },
        { ANP "{'direction':'In','from':{'toServices':['d/s']}}]}",
          "invalid", X, "rules[0].from.toServices" },
        { K8S "{'direction':'Out','to':{'fqdns':['a.b']}}]}",
          "invalid", X, "rules[0].to.fqdns" },
        { ANP "{'direction':'In','from':{'fqdns':['a.b']}}]}",
          "invalid", X, "rules[0].from.fqdns" },
        { ANP "{'direction':'Out','to':{'fqdns':['*.b','A.b']}}]}",
          "invalid", X, "rules[0].to.fqdns[1]" },
        { ANP "{'direction':'Out','to':{'fqdns':['a_b']}}]}",
          "invalid", X, "rules[0].to.fqdns[0]" },
        { ANP "{'direction':'Out','to':{'fqdns':['a','b','a']}}]}",
          "invalid", X, "rules[0].to.fqdns[2]" },
        { NP "'type':'AdminNetworkPolicy','tierPriority':251,"
          "'priority':0,'rules':[{'direction':'Out','to':{'fqdns':['a']}}]}",
          "invalid", X, "rules[0].to.fqdns" },
        { "{'kind':'FQDN','name':'a.b','addresses':['10.0.0.1']}",
          "invalid", "FQDN a.b", "kind" },
        { ANP "{'direction':'In','logLabel':'a b'}]}",
          "invalid", X, "rules[0].logLabel" },
        { ANP "{'direction':'In','logLabel':''}]}",
          "invalid", X, "rules[0].logLabel" },
        { K8S "{'direction':'In','enableLogging':'true'}]}",
          "invalid", X, "rules[0].enableLogging" },
        { ANP "{'direction':'Out','to':{'toServices':[1]}}]}",
          "invalid", X, "rules[0].to.toServices[0]" },
        { NP "'type':'BaselineAdminNetworkPolicy','tierPriority':254,"
          "'priority':0,'rules':[]}", "invalid", X, "priority" },
        { SVC("{'protocol':'TCP','srcEndPort':1}"),
          "invalid", X, "rules[0].services[0].srcEndPort" },
        { SVC("{'protocol':'UDP','srcPort':5,'srcEndPort':4}"),
          "invalid", X, "rules[0].services[0].srcEndPort" },
        { SVC("{'protocol':'ICMP','srcPort':5}"),
          "invalid", X, "rules[0].services[0].srcPort" },
        { SVC("{}"), "invalid", X, "rules[0].services[0].protocol" },
        { SVC("{'protocol':'GRE'}"),
          "invalid", X, "rules[0].services[0].protocol" },
        { SVC("{'protocol':'TCP','port':0}"),
          "invalid", X, "rules[0].services[0].port" },
        { SVC("{'protocol':'TCP','endPort':80}"),
          "invalid", X, "rules[0].services[0].endPort" },
        { SVC("{'protocol':'TCP','port':80,'endPort':79}"),
          "invalid", X, "rules[0].services[0].endPort" },
        { SVC("{'protocol':'TCP','icmpType':8}"),
          "invalid", X, "rules[0].services[0].icmpType" },
        { SVC("{'protocol':'ICMP','port':8}"),
          "invalid", X, "rules[0].services[0].port" },
        { SVC("{'protocol':'ICMP','icmpCode':0}"),
          "invalid", X, "rules[0].services[0].icmpCode" },
        { SVC("{'protocol':'ICMP','icmpType':256}"),
          "invalid", X, "rules[0].services[0].icmpType" },
        { SVC("{'protocol':'TCP','igmpType':17}"),
          "invalid", X, "rules[0].services[0].igmpType" },
        { SVC("{'protocol':'ICMP','groupAddress':'239.1.1.1'}"),
          "invalid", X, "rules[0].services[0].groupAddress" },
        { SVC("{'protocol':'IGMP','port':8}"),
          "invalid", X, "rules[0].services[0].port" },
        { SVC("{'protocol':'IGMP','icmpType':8}"),
          "invalid", X, "rules[0].services[0].icmpType" },
        { SVC("{'protocol':'IGMP'}"), "invalid", X, "rules[0].services" },
        { ANP "{'direction':'Out','services':[{'protocol':'IGMP',"
          "'igmpType':256}]}]}",
          "invalid", X, "rules[0].services[0].igmpType" },
        { ANP "{'direction':'Out','services':[{'protocol':'IGMP',"
          "'groupAddress':'10.0.0.1'}]}]}",
          "invalid", X, "rules[0].services[0].groupAddress" },
        { ANP "{'direction':'Out','services':[{'protocol':'IGMP',"
          "'groupAddress':'ff02::1'}]}]}",
          "invalid", X, "rules[0].services[0].groupAddress" },
        { ANP "{'direction':'Out','services':[{'protocol':'IGMP'},"
          "{'protocol':'TCP'}]}]}", "invalid", X, "rules[0].services" },
        { ANP "{'direction':'Out','services':[{'protocol':'TCP'},"
          "{'protocol':'IGMP'}]}]}", "invalid", X, "rules[0].services" },
        { ANP "{'direction':'Out','action':'Reject','services':"
          "[{'protocol':'IGMP'}]}]}", "invalid", X, "rules[0].action" },
        { ANP "{'direction':'Out','to':{},'services':"
          "[{'protocol':'IGMP'}]}]}", "invalid", X, "rules[0].to" },
        { ANP "{'direction':'Out','l7Protocols':[{'tls':{}}],'services':"
          "[{'protocol':'IGMP'}]}]}", "invalid", X, "rules[0].l7Protocols" },
        { ANP "{'direction':'Out','enableLogging':true,'services':"
          "[{'protocol':'IGMP'}]}]}", "invalid", X, "rules[0].enableLogging" },
        { ANP "{'direction':'In','services':[{'protocol':'IGMP',"
          "'igmpType':22}]}]}", "invalid", X, "rules[0].services" },
        { "{'kind':'MulticastGroup','name':'239.1.1.1','ports':[]}",
          "invalid", "MulticastGroup 239.1.1.1", "kind" },
        { SVC("{'protocol':'UDP'},{'protocol':'UDP','prot':1}"),
          "invalid", X, "rules[0].services[1].prot" },
        /* Against other records. */
        { NP "'type':'K8sNetworkPolicy','appliedToGroups':['at','nix'],"
          "'rules':[]}", "missing", X, "appliedToGroups[1]" },
        { NP "'type':'K8sNetworkPolicy','appliedToGroups':['ad'],"
          "'rules':[]}", "missing", X, "appliedToGroups[0]" },
        { NP "'type':'K8sNetworkPolicy','appliedToGroups':['at','at'],"
          "'rules':[]}", "invalid", X, "appliedToGroups[1]" },
        { ANP "{'direction':'In','appliedToGroups':['nix']}]}",
          "missing", X, "rules[0].appliedToGroups[0]" },
        { K8S "{'direction':'Out'},{'direction':'Out',"
          "'to':{'addressGroups':['ad','nix']}}]}",
          "missing", X, "rules[1].to.addressGroups[1]" },
    };

    EXPECT_ERRORS(cases);
}
END_TEST

START_TEST(refuses_bad_groups)
{
    static const struct bad_case cases[] = {
        { "{'kind':'AddressGroup','name':'g'}",
          "invalid", "AddressGroup g", "addresses" },
        { "{'kind':'AddressGroup','name':'g','addresses':['10.0.0.1/8']}",
          "invalid", "AddressGroup g", "addresses[0]" },
        { "{'kind':'AddressGroup','name':'g','addresses':['10.0.0.0/']}",
          "invalid", "AddressGroup g", "addresses[0]" },
        { "{'kind':'AddressGroup','name':'g','addresses':['10.0.0.0/08']}",
          "invalid", "AddressGroup g", "addresses[0]" },
        { "{'kind':'AddressGroup','name':'g',"
          "'addresses':['10.0.0.2','10.0.0.1','10.0.0.2/32']}",
          "invalid", "AddressGroup g", "addresses[2]" },
        { "{'kind':'AppliedToGroup','name':'g','pods':[1]}",
          "invalid", "AppliedToGroup g", "pods[0]" },
        { "{'kind':'AppliedToGroup','name':'g','pods':['a/b','a/b']}",
          "invalid", "AppliedToGroup g", "pods[1]" },
        { "{'kind':'AppliedToGroup','name':'g','addresses':[]}",
          "invalid", "AppliedToGroup g", "pods" },
    };

    EXPECT_ERRORS(cases);
}
END_TEST

#define EG(NAME, REST) "{'kind':'Egress','name':'" NAME "'," REST "}"
#define EG_AT(REST) EG("e", "'appliedToGroups':['at']," REST)
#define TC(NAME, REST) "{'kind':'TrafficControl','name':'" NAME "'," REST "}"
#define TC_AT(REST) TC("t", "'appliedToGroups':['at']," REST)

START_TEST(refuses_bad_egresses)
{
    static const struct bad_case cases[] = {
        { EG("e", "'egressIP':'9.9.9.9'"),
          "invalid", "Egress e", "appliedToGroups" },
        { EG_AT("'egressNode':'n'"), "invalid", "Egress e", "egressIP" },
        { EG_AT("'egressIP':'9.9.9'"), "invalid", "Egress e", "egressIP" },
        { EG_AT("'egressIP':'224.0.0.1'"),
          "invalid", "Egress e", "egressIP" },
        { EG_AT("'egressIP':'9.9.9.9','egressNode':''"),
          "invalid", "Egress e", "egressNode" },
        { EG_AT("'egressIP':'9.9.9.9','bandwidth':1"),
          "invalid", "Egress e", "bandwidth" },
        { EG_AT("'egressIP':'9.9.9.9','bandwidth':{'rateKbps':1}"),
          "invalid", "Egress e", "bandwidth.burstKbits" },
        { EG_AT("'egressIP':'9.9.9.9','bandwidth':{'burstKbits':12}"),
          "invalid", "Egress e", "bandwidth.rateKbps" },
        { EG_AT("'egressIP':'9.9.9.9','bandwidth':{'rateKbps':0,"
                "'burstKbits':12}"),
          "invalid", "Egress e", "bandwidth.rateKbps" },
        { EG_AT("'egressIP':'9.9.9.9','bandwidth':{'rateKbps':4294967296,"
                "'burstKbits':12}"),
          "invalid", "Egress e", "bandwidth.rateKbps" },
        { EG_AT("'egressIP':'9.9.9.9','bandwidth':{'rateKbps':1,"
                "'burstKbits':11}"),
          "invalid", "Egress e", "bandwidth.burstKbits" },
        { EG_AT("'egressIP':'9.9.9.9','bandwidth':{'rateKbps':1,"
                "'burstKbits':12,'x':1}"),
          "invalid", "Egress e", "bandwidth.x" },
        { EG("e", "'appliedToGroups':['at','no'],'egressIP':'9.9.9.9'"),
          "missing", "Egress e", "appliedToGroups[1]" },
        /* That of a Pod, of the gateway, of both Nodes. */
        { EG_AT("'egressIP':'10.0.0.10'"), "invalid", "Egress e", "egressIP" },
        { EG_AT("'egressIP':'10.0.0.1'"), "invalid", "Egress e", "egressIP" },
        { EG_AT("'egressIP':'192.168.0.1'"),
          "invalid", "Egress e", "egressIP" },
        { EG_AT("'egressIP':'192.168.0.2'"),
          "invalid", "Egress e", "egressIP" },
    };

    EXPECT_ERRORS(cases);

    /* Several may have one address, which nobody else gets then. */
    ck_assert(!transact(EG_AT("'egressIP':'9.9.9.9'") ","
                        EG("f", "'appliedToGroups':[],'egressIP':'9.9.9.9'"),
                        NULL));
    struct adp_error *error = transact(
        "{'kind':'Pod','name':'default/b','port':'b',"
        "'mac':'00:00:00:00:00:0b','ips':['9.9.9.9']}", NULL);
    ck_assert(error);
    ck_assert_str_eq(error->message, "Pod default/b: ips[0]: IP 9.9.9.9 is "
                                     "already that of Egress e");
    adp_error_destroy(error);
}
END_TEST

START_TEST(refuses_bad_traffic_controls)
{
    static const struct bad_case cases[] = {
        { TC_AT("'direction':'In','action':'Mirror','targetPort':'b'"),
          "invalid", "TrafficControl t", "direction" },
        { TC_AT("'action':'Mirror','targetPort':'b'"),
          "invalid", "TrafficControl t", "direction" },
        { TC_AT("'direction':'Both','action':'Drop','targetPort':'b'"),
          "invalid", "TrafficControl t", "action" },
        { TC_AT("'direction':'Both','action':'Mirror'"),
          "invalid", "TrafficControl t", "targetPort" },
        { TC_AT("'direction':'Both','action':'Redirect','targetPort':'b'"),
          "invalid", "TrafficControl t", "returnPort" },
        { TC_AT("'direction':'Both','action':'Redirect','targetPort':'b',"
                "'returnPort':'b'"),
          "invalid", "TrafficControl t", "returnPort" },
        { TC_AT("'direction':'Both','action':'Mirror','targetPort':'b',"
                "'returnPort':'c'"),
          "invalid", "TrafficControl t", "returnPort" },
        { TC_AT("'direction':'Both','action':'Redirect','targetPort':'b',"
                "'returnPort':'no'"),
          "missing", "TrafficControl t", "returnPort" },
        { TC_AT("'direction':'Both','action':'Mirror','targetPort':'a'"),
          "invalid", "TrafficControl t", "targetPort" },
        { TC_AT("'direction':'Both','action':'Mirror','targetPort':'gw0'"),
          "invalid", "TrafficControl t", "targetPort" },
        { TC_AT("'direction':'Both','action':'Redirect','targetPort':'b',"
                "'returnPort':'tun0'"),
          "invalid", "TrafficControl t", "returnPort" },
        { TC("t", "'appliedToGroups':['no'],'direction':'Both',"
             "'action':'Mirror','targetPort':'b'"),
          "missing", "TrafficControl t", "appliedToGroups[0]" },
    };

    EXPECT_ERRORS(cases);

    /* Several may have one port, which no Pod gets then. */
    ck_assert(!transact(
        TC_AT("'direction':'Both','action':'Mirror','targetPort':'b'") ","
        TC("u", "'appliedToGroups':[],'direction':'Egress',"
           "'action':'Mirror','targetPort':'b'"), NULL));
    struct adp_error *error = transact(
        "{'kind':'Pod','name':'default/b','port':'b',"
        "'mac':'00:00:00:00:00:0b','ips':['10.0.0.11']}", NULL);
    ck_assert(error);
    ck_assert_str_eq(error->code, "invalid");
    adp_error_destroy(error);

    /* The group that they use stays. */
    error = transact(NULL, "{'kind':'NetworkPolicy','name':'np'},"
                     "{'kind':'AppliedToGroup','name':'at'}");
    ck_assert(error);
    ck_assert(strstr(error->message,
                     "can't be deleted: TrafficControl t uses it"));
    adp_error_destroy(error);
}
END_TEST

START_TEST(refuses_bad_deletions)
{
    expect_error(transact(NULL, "{'kind':'Pod','name':'default/x'}"),
                 "no such Pod", "missing", "Pod default/x", NULL);
    expect_error(transact(NULL, "{'kind':'Pod'}"),
                 "no name", "invalid", "records[0]", "name");
    expect_error(transact(NULL, "{'kind':'Poo','name':'x'}"),
                 "no such kind", "invalid", "records[0]", "kind");
    expect_error(transact(NULL, "{'kind':'Pod','name':'default/a','x':1}"),
                 "unknown field", "invalid", "records[0]", "x");
    expect_error(transact(NULL, "{'kind':'Pod','name':'default/a'},"
                                "{'kind':'Pod','name':'default/a'}"),
                 "twice", "invalid", "Pod default/a", NULL);
    expect_error(transact(NULL, "{'kind':'AddressGroup','name':'ad'}"),
                 "group in use", "invalid", "AddressGroup ad", NULL);
    expect_error(transact(NULL, "{'kind':'AppliedToGroup','name':'at'}"),
                 "group in use", "invalid", "AppliedToGroup at", NULL);

    /* With its policy a group may go. */
    ck_assert(!transact(NULL, "{'kind':'AddressGroup','name':'ad'},"
                              "{'kind':'NetworkPolicy','name':'np'}"));

    size_t n;
    ck_assert(!adp_model_delete(
        model, parse("{'kind':'Pod','name':'default/x'},"
                     "{'kind':'Pod','name':'default/a'}"), true, &n));
    ck_assert_uint_eq(n, 1);
}
END_TEST

static void
expect_same_text(const struct json *a, const struct json *b)
{
    char *a_text = json_to_string(a, JSSF_SORT);
    char *b_text = json_to_string(b, JSSF_SORT);

    ck_assert_str_eq(a_text, b_text);
    free(a_text);
    free(b_text);
}

/* Records come back as they were given, in order. */
START_TEST(gives_back_what_it_took)
{
    struct json *got = adp_model_get(model, NULL, NULL);
    struct json *expected = parse(
        "{'kind':'AddressGroup','name':'ad','addresses':['10.0.0.10',"
        "'10.9.0.0/16']},"
        "{'kind':'AppliedToGroup','name':'at','pods':['default/a']},"
        MANIFEST "," POLICY "," NODE "," PEER "," POD "," SERVICE);

    expect_same_text(got, expected);
    ck_assert_uint_eq(adp_model_count(model, NULL), 8);
    ck_assert_uint_eq(adp_model_count(model, "Pod"), 1);
    ck_assert_uint_eq(adp_model_count(model, "Nix"), 0);
    ck_assert(adp_model_is_kind("Service") && !adp_model_is_kind("Nix"));
    json_destroy(got);

    got = adp_model_get(model, "Pod", NULL);
    ck_assert(json_equal(got, parse(POD)));
    json_destroy(got);
    got = adp_model_get(model, "Pod", "default/nix");
    ck_assert_uint_eq(got->array.n, 0);
    json_destroy(got);
}
END_TEST

/* The form that takes less memory is as good, and what can't be read stays an
 * error. */
START_TEST(compact_records_are_the_same)
{
    struct json *before = adp_model_get(model, NULL, NULL);
    struct json *compact = adp_model_compact(before);
    struct json *again = adp_model_compact(compact);

    expect_same_text(compact, before);
    expect_same_text(again, before);
    adp_model_clear(model);
    ck_assert(!adp_model_apply(model, compact, NULL));
    struct json *after = adp_model_get(model, NULL, NULL);
    expect_same_text(after, before);
    json_destroy(after);
    json_destroy(again);
    json_destroy(compact);
    json_destroy(before);

    compact = adp_model_compact(parse("5,{'kind':'Manifest'},{'kind':5},"
                                      "{'kind':'Manifest','object':[]}"));
    ck_assert_uint_eq(compact->array.n, 4);
    json_destroy(compact);
}
END_TEST

/* A clone that goes wrong doesn't touch its origin, nor does one that goes
 * right. */
START_TEST(clones_are_independent)
{
    ck_assert(!adp_model_apply(
        model, parse("{'kind':'AddressGroup','name':'listed',"
                     "'addresses':['10.1.0.0/16','10.2.0.0/16']}"), NULL));
    struct json *before = adp_model_get(model, NULL, NULL);
    struct adp_model *clone = adp_model_clone(model);

    ck_assert_uint_eq(adp_model_size(clone), adp_model_size(model));
    ck_assert(!adp_model_delete(
        clone, parse("{'kind':'AddressGroup','name':'listed'}"), false,
        NULL));
    ck_assert_uint_eq(adp_model_size(clone), adp_model_size(model) - 3);
    ck_assert(!adp_model_apply(clone, parse(P OK_POD "}"), NULL));
    ck_assert(!adp_model_delete(
        clone, parse("{'kind':'Service','name':'default/s'}"), false, NULL));
    ck_assert_uint_eq(adp_model_count(clone, "Service"), 0);

    struct json *after = adp_model_get(model, NULL, NULL);
    ck_assert(json_equal(before, after));
    json_destroy(after);

    adp_model_destroy(model);
    model = clone;
    ck_assert_uint_eq(adp_model_count(model, "Pod"), 2);
    json_destroy(before);
}
END_TEST

/* A port that went after its record was applied is no error for others, but
 * for a record that is applied now. */
START_TEST(ports_may_vanish)
{
    sset_find_and_delete(&ports, "a");
    ck_assert(!transact(P OK_POD "}", NULL));
    expect_error(transact(POD, NULL), "applied again", "missing",
                 "Pod default/a", "port");
}
END_TEST

/* What a record gave up another may take in the same transaction. */
START_TEST(swaps_in_one_transaction)
{
    ck_assert(!transact(P OK_POD "}", NULL));
    ck_assert(!transact("{'kind':'Pod','name':'default/a','port':'b',"
                        "'mac':'00:00:00:00:00:0b','ips':['10.0.0.11']},"
                        P "'port':'a','mac':'00:00:00:00:00:0a',"
                        "'ips':['10.0.0.10']}", NULL));
    ck_assert(!transact("{'kind':'NodeConfig','name':'m'," GATEWAY "," REST,
                        "{'kind':'NodeConfig','name':'n'}"));
}
END_TEST

/* A Node is another one's successor, which is still there. */
START_TEST(successor_of_a_node)
{
    ck_assert(!transact(PEER ",{'kind':'PeerNode','name':'q','podCIDR':"
                        "'10.0.2.0/24','gatewayIP':'10.0.2.1',"
                        "'transportIP':'192.168.0.2'}", NULL));
    ck_assert(!transact(NULL, "{'kind':'PeerNode','name':'p'}"));
}
END_TEST

/* Rules that do the same may share a place. */
START_TEST(shared_priorities)
{
    ck_assert(!transact(
        "{'kind':'NetworkPolicy','name':'np','type':'AntreaNetworkPolicy',"
        "'tierPriority':1,'priority':1,'rules':[{'direction':'In',"
        "'priority':1,'action':'Drop'},{'direction':'In','action':'Drop'},"
        "{'direction':'Out','priority':1},{'direction':'In','priority':0}]}",
        NULL));
}
END_TEST

/* What lists are in counts, be it that they come, go or are there. */
START_TEST(weights)
{
    static const struct {
        const char *records;
        size_t weight;
    } cases[] = {
        { "", 0 },
        { "{'kind':'Pod','name':'default/z','port':'a',"
          "'mac':'00:00:00:00:00:0a','ips':['10.0.0.10']}", 2 },
        { SERVICE, 1 + 2 + 2 },
        { "{'kind':'Service','name':'default/s','ports':[{'endpoints':"
          "[1,2,3,4]},{'endpoints':[{'x':[1]},2]}]}", 1 + 2 + 6 + 1 },
        { "{'kind':'Service','name':'default/s'}", 1 + 2 + 2 },
        { "{'kind':'Service','name':'default/s'},"
          "{'kind':'NetworkPolicy','name':'np'},"
          "{'kind':'AddressGroup','name':'ad','add':['10.0.0.1']}",
          5 + 2 + 3 },
        { "{'kind':'Manifest','name':'m','object':{'x':[1,2,3]}}", 1 },
        { "{'kind':'Manifest','name':'m'}", 1 },
        { "{'kind':'No','name':'m','x':[1,2]},{'kind':1,'name':2},3,"
          "{'name':'default/s'},[4,5]", 3 + 1 + 1 + 1 + 3 },
    };

    ck_assert_ptr_null(transact(ALL, NULL));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        const struct json *records = parse(cases[i].records);

        ck_assert_uint_eq(adp_model_weigh(model, records, 100),
                          cases[i].weight);
        ck_assert_uint_eq(adp_model_weigh(model, records, 3),
                          MIN(cases[i].weight, 3));
    }
    ck_assert_uint_eq(adp_model_weigh(model, NULL, 100), 0);
    ck_assert_uint_eq(adp_model_weigh(model, parse(ALL)->array.elems[0], 100),
                      0);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("model");
    TCase *tc = tcase_create("records");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);  /* For slow machines. */
    tcase_add_test(tc, refuses_what_is_no_record);
    tcase_add_test(tc, refuses_bad_pods);
    tcase_add_test(tc, refuses_bad_nodes);
    tcase_add_test(tc, refuses_bad_services);
    tcase_add_test(tc, refuses_bad_policies);
    tcase_add_test(tc, refuses_bad_groups);
    tcase_add_test(tc, refuses_bad_egresses);
    tcase_add_test(tc, refuses_bad_traffic_controls);
    tcase_add_test(tc, refuses_bad_deletions);
    tcase_add_test(tc, gives_back_what_it_took);
    tcase_add_test(tc, compact_records_are_the_same);
    tcase_add_test(tc, clones_are_independent);
    tcase_add_test(tc, ports_may_vanish);
    tcase_add_test(tc, swaps_in_one_transaction);
    tcase_add_test(tc, successor_of_a_node);
    tcase_add_test(tc, shared_priorities);
    tcase_add_test(tc, weights);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
