/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model-claims.h"

#include <stdlib.h>
#include <string.h>

#include "adp-secret-hash.h"
#include "hash.h"
#include "hmapx.h"
#include "openvswitch/hmap.h"
#include "packets.h"
#include "util.h"

/* What only one record may have. */
enum thing {
    THING_PORT,
    THING_MAC,
    THING_IP,
    THING_TRANSPORT_IP,
    THING_VIP,                  /* ClusterIP, port and protocol. */
    THING_NODE_PORT
};

struct claim {
    struct hmap_node node;      /* In 'by_thing'. */
    const struct adp_record *record;
    const char *name;           /* In the record; NULL if it's a number. */
    uint64_t number;
    struct in6_addr ip;
    enum thing thing;
};

struct adp_model_claims {
    struct hmap by_thing;       /* Contains "struct claim"s. */
    struct shash users[ADP_N_KINDS]; /* By a group's name: struct hmapx with
                                      * records.  Empty ones go. */
};

struct adp_model_claims *
adp_model_claims_create(void)
{
    struct adp_model_claims *claims = xmalloc(sizeof *claims);

    hmap_init(&claims->by_thing);
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        shash_init(&claims->users[kind]);
    }
    return claims;
}

void
adp_model_claims_destroy(struct adp_model_claims *claims)
{
    if (!claims) {
        return;
    }

    struct claim *claim;
    HMAP_FOR_EACH_POP (claim, node, &claims->by_thing) {
        free(claim);
    }
    hmap_destroy(&claims->by_thing);
    for (enum adp_kind kind = 0; kind < ADP_N_KINDS; kind++) {
        struct shash_node *node;

        SHASH_FOR_EACH (node, &claims->users[kind]) {
            hmapx_destroy(node->data);
        }
        shash_destroy_free_data(&claims->users[kind]);
    }
    free(claims);
}

/* What a record claims. */

typedef void claim_cb(const struct claim *, void *aux);

struct claims {
    const struct adp_record *record;
    claim_cb *cb;
    void *aux;
};

static void
claim_name(const struct claims *c, enum thing thing, const char *name)
{
    const struct claim claim = {
        .node = { .hash = adp_secret_hash_string(name, thing) },
        .record = c->record, .thing = thing, .name = name,
    };

    c->cb(&claim, c->aux);
}

static void
claim_number(const struct claims *c, enum thing thing, uint64_t number)
{
    const struct claim claim = {
        .node = { .hash = hash_uint64_basis(number, thing) },
        .record = c->record, .thing = thing, .number = number,
    };

    c->cb(&claim, c->aux);
}

static void
claim_ip(const struct claims *c, enum thing thing, const struct in6_addr *ip,
         uint64_t number)
{
    const struct claim claim = {
        .node = { .hash = adp_secret_hash_bytes(
                      ip, sizeof *ip, hash_uint64_basis(number, thing)) },
        .record = c->record, .thing = thing, .number = number, .ip = *ip,
    };

    c->cb(&claim, c->aux);
}

static void
claim_nets(const struct claims *c,
           const struct adp_node_net nets[ADP_N_FAMILIES])
{
    ADP_FOR_EACH_FAMILY (family) {
        if (adp_node_net_is_set(&nets[family])) {
            claim_ip(c, THING_IP, &nets[family].gateway_ip, 0);
        }
    }
}

static void
claim_service(const struct claims *c, const struct adp_service *svc)
{
    for (size_t i = 0; i < svc->n_ports; i++) {
        const struct adp_service_port *port = &svc->ports[i];

        ADP_FOR_EACH_FAMILY (family) {
            if (ipv6_addr_is_set(&svc->cluster_ip[family])) {
                claim_ip(c, THING_VIP, &svc->cluster_ip[family],
                         port->port << 8 | port->protocol);
            }
        }
        if (port->node_port) {
            claim_number(c, THING_NODE_PORT,
                         port->node_port << 8 | port->protocol);
        }
    }
}

static void
for_each_claim(const struct adp_record *record, claim_cb *cb, void *aux)
{
    const struct claims c = { record, cb, aux };

    switch (record->kind) {
    case ADP_KIND_NODE_CONFIG: {
        const struct adp_node_config *node
            = CONTAINER_OF(record, struct adp_node_config, up);

        claim_name(&c, THING_PORT, node->gateway_port);
        if (node->tunnel_port) {
            claim_name(&c, THING_PORT, node->tunnel_port);
        }
        claim_name(&c, THING_PORT, node->l7_target_port);
        claim_name(&c, THING_PORT, node->l7_return_port);
        claim_number(&c, THING_MAC, eth_addr_to_uint64(node->gateway_mac));
        claim_nets(&c, node->net);
        claim_ip(&c, THING_TRANSPORT_IP, &node->transport_ip, 0);
        break;
    }
    case ADP_KIND_POD: {
        const struct adp_pod *pod = CONTAINER_OF(record, struct adp_pod, up);

        claim_name(&c, THING_PORT, pod->port);
        claim_number(&c, THING_MAC, eth_addr_to_uint64(pod->mac));
        for (size_t i = 0; i < pod->ips.n; i++) {
            claim_ip(&c, THING_IP, &pod->ips.ips[i], 0);
        }
        break;
    }
    case ADP_KIND_PEER_NODE: {
        const struct adp_peer_node *peer
            = CONTAINER_OF(record, struct adp_peer_node, up);

        claim_nets(&c, peer->net);
        claim_ip(&c, THING_TRANSPORT_IP, &peer->transport_ip, 0);
        break;
    }
    case ADP_KIND_SERVICE:
        claim_service(&c, CONTAINER_OF(record, struct adp_service, up));
        break;
    case ADP_KIND_EGRESS: {
        const struct adp_egress *egress
            = CONTAINER_OF(record, struct adp_egress, up);

        claim_ip(&c, THING_IP, &egress->ip, 0);
        claim_ip(&c, THING_TRANSPORT_IP, &egress->ip, 0);
        break;
    }
    case ADP_KIND_TRAFFIC_CONTROL: {
        const char *ports[ADP_RECORD_MAX_PORTS];
        size_t n = adp_record_ports(record, ports);

        for (size_t i = 0; i < n; i++) {
            claim_name(&c, THING_PORT, ports[i]);
        }
        break;
    }
    case ADP_KIND_ADDRESS_GROUP:
    case ADP_KIND_APPLIED_TO_GROUP:
    case ADP_KIND_FQDN:
    case ADP_KIND_MANIFEST:
    case ADP_KIND_MULTICAST_GROUP:
    case ADP_KIND_NETWORK_POLICY:
    case ADP_N_KINDS:
    default:
        break;
    }
}

static bool
same_thing(const struct claim *a, const struct claim *b)
{
    return (a->thing == b->thing && a->number == b->number
            && ipv6_addr_equals(&a->ip, &b->ip)
            && nullable_string_is_equal(a->name, b->name));
}

static void
add_claim(const struct claim *claim, void *claims_)
{
    struct hmap *claims = claims_;
    struct claim *copy = xmemdup(claim, sizeof *claim);

    hmap_insert(claims, &copy->node, claim->node.hash);
}

static void
remove_claim(const struct claim *claim, void *claims_)
{
    struct hmap *claims = claims_;
    struct claim *found;

    HMAP_FOR_EACH_WITH_HASH (found, node, claim->node.hash, claims) {
        if (found->record == claim->record && same_thing(found, claim)) {
            hmap_remove(claims, &found->node);
            free(found);
            return;
        }
    }
    OVS_NOT_REACHED();
}

struct rivals {
    const struct hmap *claims;
    adp_model_claims_cb *cb;
    void *aux;
};

/* TrafficControls may have ports in common, Egresses addresses, PeerNodes the
 * address of a Node and its successor. */
static bool
may_share(const struct claim *a, const struct claim *b)
{
    return (a->record->kind == b->record->kind
            && (adp_record_applied_to(a->record)
                || (a->record->kind == ADP_KIND_PEER_NODE
                    && a->thing == THING_TRANSPORT_IP)));
}

static void
find_rivals(const struct claim *claim, void *rivals_)
{
    const struct rivals *rivals = rivals_;
    const struct claim *other;

    HMAP_FOR_EACH_WITH_HASH (other, node, claim->node.hash, rivals->claims) {
        if (other->record != claim->record && same_thing(other, claim)
            && !may_share(other, claim)) {
            rivals->cb(other->record, rivals->aux);
        }
    }
}

void
adp_model_claims_rivals(const struct adp_model_claims *claims,
                        const struct adp_record *record,
                        adp_model_claims_cb *cb, void *aux)
{
    struct rivals rivals = { &claims->by_thing, cb, aux };

    for_each_claim(record, find_rivals, &rivals);
}

/* Whom a policy, or what else applies to Pods, uses. */

static void
change_users(struct shash *users, const struct adp_names *groups,
             const struct adp_record *user, bool add)
{
    for (size_t i = 0; i < groups->n; i++) {
        const char *name = groups->names[i];
        struct shash_node *node = shash_find(users, name);

        if (add) {
            if (!node) {
                struct hmapx *records = xmalloc(sizeof *records);

                hmapx_init(records);
                node = shash_add(users, name, records);
            }
            hmapx_add(node->data, CONST_CAST(struct adp_record *, user));
        } else if (node) {
            hmapx_find_and_delete(node->data, user);
            if (hmapx_is_empty(node->data)) {
                hmapx_destroy(node->data);
                free(node->data);
                shash_delete(users, node);
            }
        }
    }
}

static void
change_user(struct adp_model_claims *claims, const struct adp_record *record,
            bool add)
{
    struct shash *applied_to = &claims->users[ADP_KIND_APPLIED_TO_GROUP];
    struct shash *addresses = &claims->users[ADP_KIND_ADDRESS_GROUP];
    const struct adp_names *groups = adp_record_applied_to(record);

    if (groups) {
        change_users(applied_to, groups, record, add);
    }
    if (record->kind != ADP_KIND_NETWORK_POLICY) {
        return;
    }

    const struct adp_network_policy *policy
        = CONTAINER_OF(record, struct adp_network_policy, up);
    change_users(applied_to, &policy->applied_to, record, add);
    for (size_t i = 0; i < policy->n_rules; i++) {
        const struct adp_network_policy_rule *rule = &policy->rules[i];

        change_users(applied_to, &rule->applied_to, record, add);
        change_users(addresses, &rule->peer.address_groups, record, add);
    }
}

void
adp_model_claims_users(const struct adp_model_claims *claims,
                       enum adp_kind kind, const char *name,
                       adp_model_claims_cb *cb, void *aux)
{
    const struct hmapx *users = shash_find_data(&claims->users[kind], name);

    if (users) {
        const struct hmapx_node *node;

        HMAPX_FOR_EACH (node, users) {
            cb(node->data, aux);
        }
    }
}

void
adp_model_claims_add(struct adp_model_claims *claims,
                     const struct adp_record *record)
{
    for_each_claim(record, add_claim, &claims->by_thing);
    change_user(claims, record, true);
}

void
adp_model_claims_remove(struct adp_model_claims *claims,
                        const struct adp_record *record)
{
    for_each_claim(record, remove_claim, &claims->by_thing);
    change_user(claims, record, false);
}
