/* SPDX-License-Identifier: Apache-2.0 */

/* Policies at random, from the objects that a user writes to the packets that
 * arrive: resolved, changed, made into flows, decided on.
 *
 * What must come of it is told by a reading of Kubernetes' and Antrea's rules
 * that knows neither records nor flows: it asks, for each packet, each policy
 * as it was written. */

#include <config.h>
#include <check.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "engine.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-table.h"
#include "packets.h"
#include "pipeline-builtin.h"
#include "pipeline.h"
#include "random.h"
#include "rounds.h"
#include "test-run.h"
#include "test-seed.h"
#include "util.h"
#include "dpctl-plan.h"

enum { N_LOCAL = 4, N_PODS = 9, MAX_POLICIES = 4, MAX_RULES = 3, MAX_PEERS = 2,
       MAX_PORTS = 3, N_ROUNDS = ROUNDS(250), N_PACKETS = 200 };
enum { ANY = -1, OWN = -2 };
enum { GATEWAY_PORT = 2, FIRST_POD_PORT = 3, TUNNEL_PORT = 10 };

static const char *const namespaces[] = { "x", "y" };
static const char *const apps[] = { "a", "b" };
static const char *const accounts[] = { "default", "robot" };
static const char *const port_names[] = { "web", "dns", "alt" };
static const char *const protocols[] = { "TCP", "UDP", "SCTP", "ICMP" };
enum { ICMP = 3 };
static const char *const addresses[] = {    /* Behind the gateway. */
    "198.51.100.1", "198.51.100.200", "203.0.113.1",
};
static const ovs_be32 gateway_ip = CONSTANT_HTONL(0x0a000001);

/* A cluster. */

struct pod_port {
    int name;
    int protocol;
    int number;
};

enum pod_kind { LOCAL, REMOTE, HOST, ENDED };

struct pod {
    enum pod_kind kind;
    int namespace_, app, account;
    ovs_be32 ip;
    struct pod_port ports[2 * ARRAY_SIZE(port_names)];
    size_t n_ports;
};

struct peer {
    bool is_block;
    bool is_self;               /* Of whom the policy applies to. */
    bool is_account;            /* 'app' is a ServiceAccount. */
    int namespace_, app;        /* ANY; OWN namespace. */
    ovs_be32 ip, except;
    unsigned int plen, except_plen; /* 0: no exception. */
};

struct rule_port {
    int protocol;
    int name;                   /* ANY: by number, */
    int number, end;            /* ANY: all of the protocol. */
    int src, src_end;           /* Likewise of the sender. */
};

/* The first two are those of Kubernetes' policies, too. */
enum action { ALLOW, DROP, REJECT, PASS, N_ACTIONS };
static const char *const actions[] = { "Allow", "Drop", "Reject", "Pass" };

struct rule {
    enum action action;
    struct peer peers[MAX_PEERS];
    size_t n_peers;
    struct rule_port ports[MAX_PORTS];
    size_t n_ports;
};

struct direction {
    bool on;                    /* Is it among the policy's types? */
    struct rule rules[MAX_RULES];
    size_t n_rules;
};

struct policy {
    bool antrea;
    int namespace_, app;        /* Whom it selects. */
    bool has_types;             /* Is there a list, with at least one? */
    struct direction directions[2]; /* Egress, ingress. */
};

static struct pod pods[N_PODS];
static struct policy policies[MAX_POLICIES];
static size_t n_policies;

static int
one_of(int n)
{
    return random_range(n);
}

static int
any_or(int n)
{
    return random_range(2) ? ANY : one_of(n);
}

/* Where a Pod lives is for good. */
static void
random_pod(size_t i, int namespace_)
{
    static const enum pod_kind kinds[N_PODS] = {
        [N_LOCAL] = REMOTE, REMOTE, REMOTE, HOST, ENDED,
    };
    struct pod *pod = &pods[i];

    *pod = (struct pod) {
        .kind = kinds[i],
        .namespace_ = namespace_,
        .app = one_of(ARRAY_SIZE(apps)),
        .account = one_of(ARRAY_SIZE(accounts)),
        .ip = htonl(0x0a000002 + i + (kinds[i] == REMOTE ? 0x100 : 0)),
    };
    if (pod->kind == HOST) {
        ip_parse("192.0.2.1", &pod->ip);
    } else if (pod->kind == ENDED) {
        pod->ip = pods[one_of(N_LOCAL)].ip; /* Somebody else's by now. */
    }
    for (size_t name = 0; name < ARRAY_SIZE(port_names); name++) {
        int protocol = one_of(ICMP);

        /* A name may stand for a port of each protocol. */
        for (int n = one_of(3); n > 0; n--) {
            pod->ports[pod->n_ports++] = (struct pod_port) {
                name, protocol, 80 + one_of(3)
            };
            protocol = (protocol + 1) % ICMP;
        }
    }
}

static void
random_peer(struct peer *peer)
{
    static const struct {
        uint32_t ip;
        unsigned int plen;
    } blocks[] = {
        { 0, 0 }, { 0x0a000000, 24 }, { 0x0a000100, 24 }, { 0xc6336400, 24 },
    };

    *peer = (struct peer) {
        .is_block = !one_of(3),
        .namespace_ = one_of(2) ? OWN : any_or(ARRAY_SIZE(namespaces)),
        .app = any_or(ARRAY_SIZE(apps)),
    };
    if (peer->is_block) {
        int i = one_of(ARRAY_SIZE(blocks));

        peer->ip = htonl(blocks[i].ip);
        peer->plen = blocks[i].plen;
        if (one_of(2)) {
            peer->except_plen = 30;
            peer->except = peer->plen ? peer->ip : htonl(0x0a000004);
        }
    }
}

static void
random_rule_port(struct rule_port *port)
{
    *port = (struct rule_port) {
        .protocol = one_of(ICMP),
        .name = one_of(3) ? one_of(ARRAY_SIZE(port_names)) : ANY,
        .number = one_of(4) ? 80 + one_of(3) : ANY,
    };
    port->end = port->number == ANY ? ANY : port->number + one_of(2);
    port->src = port->src_end = ANY;
}

/* What only Antrea's policies can say. */
static void
make_peer_antreas(struct peer *peer)
{
    if (peer->namespace_ == OWN) {
        peer->namespace_ = ANY;
    }
    if (!peer->is_block && !one_of(3)) {
        peer->is_account = true;
        peer->namespace_ = one_of(ARRAY_SIZE(namespaces));
        peer->app = one_of(ARRAY_SIZE(accounts));
    } else if (!peer->is_block && !one_of(3)) {
        peer->is_self = true;
    }
}

static void
make_port_antreas(struct rule_port *port)
{
    if (!one_of(3)) {
        port->src = 1000 + one_of(3);
        port->src_end = port->src + one_of(2);
    }
}

static void
random_policy(struct policy *policy, bool antrea, int namespace_)
{
    *policy = (struct policy) {
        .antrea = antrea,
        .namespace_ = antrea ? any_or(ARRAY_SIZE(namespaces)) : namespace_,
        .app = any_or(ARRAY_SIZE(apps)),
    };
    for (int in = 0; in < 2; in++) {
        struct direction *d = &policy->directions[in];

        d->on = one_of(2);
        d->n_rules = one_of(2) ? one_of(MAX_RULES + 1) : 0;
        for (size_t i = 0; i < d->n_rules; i++) {
            struct rule *rule = &d->rules[i];

            rule->action = policy->antrea ? one_of(N_ACTIONS) : ALLOW;
            rule->n_peers = one_of(MAX_PEERS + 1);
            for (size_t j = 0; j < rule->n_peers; j++) {
                random_peer(&rule->peers[j]);
                if (policy->antrea) {
                    make_peer_antreas(&rule->peers[j]);
                }
            }
            rule->n_ports = one_of(MAX_PORTS + 1);
            for (size_t j = 0; j < rule->n_ports; j++) {
                random_rule_port(&rule->ports[j]);
                if (policy->antrea) {
                    make_port_antreas(&rule->ports[j]);
                }
            }
        }
    }
    policy->has_types = policy->directions[0].on || policy->directions[1].on;
    if (!policy->has_types) {
        policy->directions[true].on = true;
        policy->directions[false].on = policy->directions[false].n_rules > 0;
    }
}

/* The same as objects. */

static void
put_pod(struct ds *s, size_t i)
{
    const struct pod *pod = &pods[i];

    ds_put_format(s, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%"
                  PRIuSIZE", namespace: %s, labels: {app: %s}, annotations: "
                  "{antrea-dp.io/port: p%"PRIuSIZE", antrea-dp.io/mac: "
                  "'00:00:00:00:01:%02"PRIxSIZE"'}}\n"
                  "spec: {serviceAccountName: %s, nodeName: %s, "
                  "hostNetwork: %s, containers: [",
                  i, namespaces[pod->namespace_], apps[pod->app], i, i,
                  accounts[pod->account], pod->kind == REMOTE ? "n2" : "n1",
                  pod->kind == HOST ? "true" : "false");
    for (size_t j = 0; j < pod->n_ports; j++) {
        const struct pod_port *port = &pod->ports[j];

        ds_put_format(s, "{name: c%"PRIuSIZE", ports: [{name: %s, "
                      "protocol: %s, containerPort: %d}]}, ", j,
                      port_names[port->name], protocols[port->protocol],
                      port->number);
    }
    ds_put_format(s, "]}\nstatus: {phase: %s, podIP: "IP_FMT"}\n",
                  pod->kind == ENDED ? "Failed" : "Running",
                  IP_ARGS(pod->ip));
}

static void
put_selectors(struct ds *s, int namespace_, int app)
{
    if (namespace_ == ANY) {
        ds_put_cstr(s, "namespaceSelector: {}, ");
    } else if (namespace_ != OWN) {
        ds_put_format(s, "namespaceSelector: {matchLabels: "
                      "{kubernetes.io/metadata.name: %s}}, ",
                      namespaces[namespace_]);
    }
    ds_put_cstr(s, "podSelector: {");
    if (app != ANY) {
        ds_put_format(s, "matchLabels: {app: %s}", apps[app]);
    }
    ds_put_char(s, '}');
}

static void
put_peer(struct ds *s, const struct peer *peer)
{
    ds_put_char(s, '{');
    if (peer->is_block) {
        ds_put_format(s, "ipBlock: {cidr: "IP_FMT"/%u", IP_ARGS(peer->ip),
                      peer->plen);
        if (peer->except_plen) {
            ds_put_format(s, ", except: ["IP_FMT"/%u]",
                          IP_ARGS(peer->except), peer->except_plen);
        }
        ds_put_char(s, '}');
    } else if (peer->is_account) {
        ds_put_format(s, "serviceAccount: {name: %s, namespace: %s}",
                      accounts[peer->app], namespaces[peer->namespace_]);
    } else if (peer->is_self) {
        ds_put_cstr(s, "namespaces: {match: Self}, ");
        put_selectors(s, OWN, peer->app);
    } else {
        put_selectors(s, peer->namespace_, peer->app);
    }
    ds_put_cstr(s, "}, ");
}

static void
put_rule_port(struct ds *s, const struct rule_port *port)
{
    ds_put_format(s, "{protocol: %s", protocols[port->protocol]);
    if (port->name != ANY) {
        ds_put_format(s, ", port: %s", port_names[port->name]);
    } else if (port->number != ANY) {
        ds_put_format(s, ", port: %d, endPort: %d", port->number, port->end);
    }
    if (port->src != ANY) {
        ds_put_format(s, ", sourcePort: %d, sourceEndPort: %d", port->src,
                      port->src_end);
    }
    ds_put_cstr(s, "}, ");
}

static void
put_rules(struct ds *s, const struct policy *policy, bool in)
{
    const struct direction *d = &policy->directions[in];

    ds_put_format(s, ", %s: [", in ? "ingress" : "egress");
    for (size_t i = 0; i < d->n_rules; i++) {
        const struct rule *rule = &d->rules[i];

        ds_put_char(s, '{');
        if (policy->antrea) {
            ds_put_format(s, "action: %s, ", actions[rule->action]);
        }
        ds_put_format(s, "%s: [", in ? "from" : "to");
        for (size_t j = 0; j < rule->n_peers; j++) {
            put_peer(s, &rule->peers[j]);
        }
        ds_put_cstr(s, "], ports: [");
        for (size_t j = 0; j < rule->n_ports; j++) {
            put_rule_port(s, &rule->ports[j]);
        }
        ds_put_cstr(s, "]}, ");
    }
    ds_put_char(s, ']');
}

/* The order of the policies is that of their priorities. */
static void
put_policy(struct ds *s, size_t i)
{
    const struct policy *policy = &policies[i];

    if (policy->antrea) {
        ds_put_format(s, "---\napiVersion: crd.antrea.io/v1beta1\n"
                      "kind: ClusterNetworkPolicy\nmetadata: {name: "
                      "np%"PRIuSIZE"}\nspec: {priority: %"PRIuSIZE", "
                      "appliedTo: [{", i, i + 1);
        put_selectors(s, policy->namespace_, policy->app);
        ds_put_cstr(s, "}]");
    } else {
        ds_put_format(s, "---\napiVersion: networking.k8s.io/v1\n"
                      "kind: NetworkPolicy\nmetadata: {name: np%"PRIuSIZE", "
                      "namespace: %s}\nspec: {", i,
                      namespaces[policy->namespace_]);
        if (policy->has_types) {
            ds_put_format(s, "policyTypes: [%s%s], ",
                          policy->directions[true].on ? "Ingress, " : "",
                          policy->directions[false].on ? "Egress" : "");
        }
        put_selectors(s, OWN, policy->app);
    }
    put_rules(s, policy, true);
    put_rules(s, policy, false);
    ds_put_cstr(s, "}\n");
}

static char *
cluster_text(void)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (int i = 1; i <= 2; i++) {
        ds_put_format(&s, "---\napiVersion: v1\nkind: Node\nmetadata: "
                      "{name: n%d, annotations: {node.antrea.io/mac-address: "
                      "'00:00:00:00:00:01'}}\nspec: {podCIDR: 10.0.%d.0/24}\n"
                      "status: {addresses: [{type: InternalIP, address: "
                      "192.0.2.%d}]}\n", i, i - 1, i);
    }
    for (size_t i = 0; i < N_PODS; i++) {
        put_pod(&s, i);
    }
    for (size_t i = 0; i < n_policies; i++) {
        put_policy(&s, i);
    }
    return ds_steal_cstr(&s);
}

/* What must come of a packet. */

struct packet {
    const struct pod *src_pod, *dst_pod;    /* NULL: none. */
    bool by_tunnel;             /* Or, if not of our Pods, by the gateway. */
    ovs_be32 src, dst;
    int protocol;
    int port, src_port;
};

static bool
in_network(ovs_be32 ip, ovs_be32 network, unsigned int plen)
{
    return !((ip ^ network) & be32_prefix_mask(plen));
}

static bool
is_selected(const struct pod *pod, int namespace_, int app)
{
    return (pod && (namespace_ == ANY || namespace_ == pod->namespace_)
            && (app == ANY || app == pod->app));
}

/* 'own' is whom the policy applies to. */
static bool
peer_fits(const struct policy *policy, const struct peer *peer,
          const struct pod *own, const struct pod *pod, ovs_be32 ip)
{
    if (peer->is_account) {
        return (pod && pod->namespace_ == peer->namespace_
                && pod->account == peer->app);
    } else if (peer->is_self) {
        return is_selected(pod, own->namespace_, peer->app);
    }
    if (peer->is_block) {
        return (in_network(ip, peer->ip, peer->plen)
                && !(peer->except_plen
                     && in_network(ip, peer->except, peer->except_plen)));
    }
    return is_selected(pod, (peer->namespace_ == OWN ? policy->namespace_
                             : peer->namespace_), peer->app);
}

static bool
port_fits(const struct rule_port *port, const struct packet *packet)
{
    if (port->protocol != packet->protocol
        || (port->src != ANY && (packet->src_port < port->src
                                 || packet->src_port > port->src_end))) {
        return false;
    } else if (port->name == ANY) {
        return (port->number == ANY || (packet->port >= port->number
                                        && packet->port <= port->end));
    }
    for (size_t i = 0; packet->dst_pod && i < packet->dst_pod->n_ports; i++) {
        const struct pod_port *p = &packet->dst_pod->ports[i];

        if (p->name == port->name && p->protocol == port->protocol) {
            return p->number == packet->port;
        }
    }
    return false;
}

/* 'peer' is NULL where the rule names none. */
static bool
peer_and_port_fit(const struct policy *policy, const struct rule *rule,
                  bool in, const struct peer *peer,
                  const struct packet *packet)
{
    if (peer && !peer_fits(policy, peer,
                           in ? packet->dst_pod : packet->src_pod,
                           in ? packet->src_pod : packet->dst_pod,
                           in ? packet->src : packet->dst)) {
        return false;
    }
    for (size_t i = 0; i < rule->n_ports; i++) {
        const struct rule_port *port = &rule->ports[i];
        /* Addresses have no names for their ports. */
        bool nameless = !in && peer && peer->is_block;

        if (port_fits(port, packet) && !(nameless && port->name != ANY)) {
            return true;
        }
    }
    return !rule->n_ports;
}

static bool
rule_fits(const struct policy *policy, const struct rule *rule, bool in,
          const struct packet *packet)
{
    for (size_t i = 0; i < rule->n_peers; i++) {
        if (peer_and_port_fit(policy, rule, in, &rule->peers[i], packet)) {
            return true;
        }
    }
    return (!rule->n_peers
            && peer_and_port_fit(policy, rule, in, NULL, packet));
}

/* Does 'direction' of the policies for 'pod' let the packet through? */
static bool
is_let_through(const struct pod *pod, bool in, const struct packet *packet)
{
    bool isolated = false, allowed = false, passed = false;

    /* Antrea's: the first rule decides, or leaves it to Kubernetes'. */
    for (size_t i = 0; i < n_policies && !passed; i++) {
        const struct policy *policy = &policies[i];
        const struct direction *d = &policy->directions[in];

        if (!is_selected(pod, policy->namespace_, policy->app)) {
            continue;
        }
        for (size_t j = 0; (policy->antrea && !passed
                            && j < d->n_rules); j++) {
            if (rule_fits(policy, &d->rules[j], in, packet)) {
                passed = d->rules[j].action == PASS;
                if (!passed) {
                    return d->rules[j].action == ALLOW;
                }
            }
        }
    }
    /* Kubernetes': who is selected gets what one of them allows. */
    for (size_t i = 0; i < n_policies; i++) {
        const struct policy *policy = &policies[i];
        const struct direction *d = &policy->directions[in];

        if (policy->antrea || !d->on
            || !is_selected(pod, policy->namespace_, policy->app)) {
            continue;
        }
        isolated = true;
        for (size_t j = 0; j < d->n_rules; j++) {
            allowed |= rule_fits(policy, &d->rules[j], in, packet);
        }
    }
    return !isolated || allowed;
}

static bool
is_ours(const struct pod *pod)
{
    return pod && pod->kind == LOCAL;
}

/* What the node itself sends always does: the kubelet probes Pods. */
static bool
arrives(const struct packet *packet)
{
    if (packet->src == gateway_ip && !packet->by_tunnel) {
        return true;
    }
    return ((!is_ours(packet->src_pod)
             || is_let_through(packet->src_pod, false, packet))
            && (!is_ours(packet->dst_pod)
                || is_let_through(packet->dst_pod, true, packet)));
}

/* What comes of it here. */

static bool
port_number(const char *name, ofp_port_t *port, void *aux OVS_UNUSED)
{
    int number = (!strcmp(name, "antrea-gw0") ? GATEWAY_PORT
                  : !strcmp(name, "antrea-tun0") ? TUNNEL_PORT
                  : FIRST_POD_PORT + atoi(name + 1));

    *port = u16_to_ofp(number);
    return true;
}

/* The state, as a client of the socket gets it. */
static struct json *
get_state(const struct adp_model *model)
{
    struct json *state = adp_model_get(model, NULL, NULL);
    char *text = json_to_string(state, 0);
    struct json *received = json_from_string(text);

    free(text);
    json_destroy(state);
    return received;
}

/* Applies, or deletes, the objects in 'text'. */
static void
change(struct adp_model *model, enum dpctl_verb verb, const char *text)
{
    const struct adp_model_env model_env = { .port_number = port_number };
    struct dpctl_docs docs = DPCTL_DOCS_INITIALIZER;
    struct json *state = get_state(model);
    struct dpctl_input input;
    struct dpctl_ports ports;
    struct dpctl_env env = { .node = "n1", .ports = &ports };
    struct dpctl_plan plan;

    dpctl_ports_init(&ports);
    ports.annotated = true;
    dpctl_input_init(&input);
    char *error = dpctl_load_text(&docs, "f", text, strlen(text));
    if (!error) {
        error = dpctl_input_add(&input, &docs, "default", false);
    }
    if (!error) {
        error = dpctl_plan_create(verb, &input, state, &env, false, &plan);
    }
    ck_assert_msg(!error, "%s", error);

    struct adp_error *refused
        = adp_model_delete(model, plan.delete, false, NULL);
    if (!refused) {
        refused = adp_model_apply(model, plan.apply, NULL);
    }
    if (!refused) {
        refused = adp_model_check(model, &model_env);
    }
    ck_assert_msg(!refused, "%s", refused ? refused->message : NULL);
    dpctl_plan_destroy(&plan);
    dpctl_input_destroy(&input);
    dpctl_ports_destroy(&ports);
    dpctl_docs_destroy(&docs);
    json_destroy(state);
}

/* A bridge with the flows that follow from the records. */
static struct engine *
load(const struct adp_pipeline *pipeline, const struct adp_model *model)
{
    const struct adp_model_env env = { .port_number = port_number };
    struct adp_pipeline_state *state = adp_pipeline_state_create();
    struct engine *e = engine_create();
    struct ofputil_table_map tables;
    struct adp_flow_set set;

    adp_flow_set_init(&set);
    struct adp_error *error = adp_pipeline_generate(pipeline, model, state,
                                                    &env, &set);
    ck_assert_msg(!error, "%s", error ? error->message : NULL);
    adp_pipeline_init_table_map(pipeline, &tables);
    engine_add_flow_set(e, &set, &tables);
    ofputil_table_map_destroy(&tables);
    adp_flow_set_uninit(&set);
    adp_pipeline_state_destroy(state);
    return e;
}

/* The packet in the syntax of ovs-ofctl. */
static char *
packet_text(const struct packet *packet)
{
    static const char *const names[] = { "tcp", "udp", "sctp", "icmp" };
    struct ds s = DS_EMPTY_INITIALIZER;
    size_t src = packet->src_pod - pods, dst = packet->dst_pod - pods;

    ds_put_format(&s, "%s,nw_src="IP_FMT",nw_dst="IP_FMT",nw_ttl=64",
                  names[packet->protocol], IP_ARGS(packet->src),
                  IP_ARGS(packet->dst));
    if (packet->protocol == ICMP) {
        ds_put_cstr(&s, ",icmp_type=8,icmp_code=0");
    } else {
        ds_put_format(&s, ",%s_src=%d,%s_dst=%d", names[packet->protocol],
                      packet->src_port, names[packet->protocol],
                      packet->port);
    }
    if (is_ours(packet->src_pod)) {
        ds_put_format(&s, ",in_port=%"PRIuSIZE",dl_src=00:00:00:00:01:%02"
                      PRIxSIZE, FIRST_POD_PORT + src, src);
    } else if (packet->by_tunnel) {
        ds_put_format(&s, ",in_port=%d,tun_src=192.0.2.2,tun_dst=192.0.2.1,"
                      "dl_src=00:00:00:00:00:02", TUNNEL_PORT);
    } else {
        ds_put_format(&s, ",in_port=%d,dl_src=00:00:00:00:00:01",
                      GATEWAY_PORT);
    }
    if (is_ours(packet->dst_pod)) {
        ds_put_format(&s, ",dl_dst=00:00:00:00:01:%02"PRIxSIZE, dst);
    } else {
        ds_put_cstr(&s, ",dl_dst=00:00:00:00:00:01");
    }
    return ds_steal_cstr(&s);
}

static void
random_packet(struct packet *packet, bool with_spoofed)
{
    int src = one_of(N_LOCAL + 4), dst = one_of(N_LOCAL);

    /* Seen from one of our Pods, in or out. */
    while (src == dst) {
        src = one_of(N_LOCAL + 4);
    }
    if (one_of(2)) {
        int swap = src;
        src = dst;
        dst = swap;
    }
    *packet = (struct packet) {
        .src_pod = src < N_LOCAL + 3 ? &pods[src] : NULL,
        .dst_pod = dst < N_LOCAL + 3 ? &pods[dst] : NULL,
        .protocol = one_of(ARRAY_SIZE(protocols)),
        .port = 79 + one_of(5),
        .src_port = 999 + one_of(5),
    };
    ip_parse(addresses[one_of(ARRAY_SIZE(addresses))], &packet->src);
    packet->dst = packet->src;
    if (packet->src_pod) {
        packet->src = packet->src_pod->ip;
        packet->by_tunnel = !is_ours(packet->src_pod);
    }
    if (!one_of(4) && (!packet->src_pod || (with_spoofed
                                            && packet->by_tunnel))) {
        packet->src = gateway_ip;
        packet->src_pod = NULL;
    }
    if (packet->dst_pod) {
        packet->dst = packet->dst_pod->ip;
    }
}

/* Sends one packet.  Returns true if it arrived. */
static bool
check_packet(struct engine *e, const struct adp_pipeline *pipeline,
             const char *cluster)
{
    struct packet packet;

    /* Early pipelines take anybody's word for the gateway's address. */
    random_packet(&packet, strcmp(pipeline->name, "early"));
    char *text = packet_text(&packet);
    const char *actions = engine_run(e, text);
    bool arrived = isdigit((unsigned char) actions[strlen(actions) - 1]);
    char *output = xasprintf(
        ",%"PRIuSIZE,
        (is_ours(packet.dst_pod)
         ? 100 + FIRST_POD_PORT + (packet.dst_pod - pods)
         : packet.dst_pod ? 500 : 100 + GATEWAY_PORT));

    bool ok = (arrived == arrives(&packet)
               && (!arrived || string_ends_with(actions, output)));
    if (!ok) {
        printf("%s", cluster);  /* Too long for libcheck. */
        fflush(stdout);
    }
    ck_assert_msg(ok, "%s: %s\n%s, but must be %s, at %s",
                  pipeline->name, text,
                  actions, arrives(&packet) ? "allowed" : "denied",
                  output + 1);
    free(output);
    free(text);
    return arrived;
}

/* Returns how many packets arrived. */
static int
check_packets(const struct adp_pipeline *pipeline,
              const struct adp_model *model)
{
    struct engine *e = load(pipeline, model);
    char *text = cluster_text();
    int n_arrived = 0;

    for (int i = 0; i < N_PACKETS; i++) {
        n_arrived += check_packet(e, pipeline, text);
    }
    engine_destroy(e);
    free(text);
    return n_arrived;
}

static void
random_cluster(struct adp_model *model, bool antrea)
{
    for (size_t i = 0; i < N_PODS; i++) {
        random_pod(i, one_of(ARRAY_SIZE(namespaces)));
    }
    n_policies = 1 + one_of(MAX_POLICIES);
    for (size_t i = 0; i < n_policies; i++) {
        random_policy(&policies[i], antrea && !one_of(3),
                      one_of(ARRAY_SIZE(namespaces)));
    }

    char *text = cluster_text();
    change(model, DPCTL_APPLY, text);
    free(text);
}

/* Changes one object, or deletes one. */
static void
random_change(struct adp_model *model)
{
    struct ds s = DS_EMPTY_INITIALIZER;
    enum dpctl_verb verb = DPCTL_APPLY;
    int i = one_of(n_policies);

    switch (one_of(3)) {
    case 0:
        i = one_of(N_PODS);
        random_pod(i, pods[i].namespace_);
        put_pod(&s, i);
        break;
    case 1:
        random_policy(&policies[i], policies[i].antrea,
                      policies[i].namespace_);
        put_policy(&s, i);
        break;
    case 2:
        put_policy(&s, --n_policies);
        verb = DPCTL_DELETE;
        break;
    }
    change(model, verb, ds_cstr(&s));
    ds_destroy(&s);
}

static void
run(const char *name, bool antrea)
{
    const struct adp_pipeline *pipeline = adp_pipeline_find(name);
    int n_arrived = 0;

    test_seed_random();
    for (int round = 0; round < N_ROUNDS; round++) {
        struct adp_model *model = adp_model_create();

        random_cluster(model, antrea);
        n_arrived += check_packets(pipeline, model);
        random_change(model);
        n_arrived += check_packets(pipeline, model);
        adp_model_destroy(model);
    }
    /* Both happened. */
    ck_assert_int_gt(n_arrived, 0);
    ck_assert_int_lt(n_arrived, N_ROUNDS * N_PACKETS * 2);
}

START_TEST(v115)
{
    run("v1.15", true);
}
END_TEST

START_TEST(early)
{
    run("early", false);
}
END_TEST

int
main(void)
{
    Suite *suite = suite_create("policy");
    TCase *tc = tcase_create("random");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, v115);
    tcase_add_test(tc, early);
    suite_add_tcase(suite, tc);

    return test_run(suite);
}
