/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model-records.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

#include "model-parse.h"
#include "packets.h"
#include "util.h"

const char *const adp_actions[] = {
    [ADP_ACTION_ALLOW] = "Allow",
    [ADP_ACTION_DROP] = "Drop",
    [ADP_ACTION_REJECT] = "Reject",
    [ADP_ACTION_PASS] = "Pass",
    NULL
};

const char *const adp_policy_types[] = {
    [ADP_POLICY_K8S] = "K8sNetworkPolicy",
    [ADP_POLICY_ACNP] = "AntreaClusterNetworkPolicy",
    [ADP_POLICY_ANP] = "AntreaNetworkPolicy",
    [ADP_POLICY_ADMIN] = "AdminNetworkPolicy",
    [ADP_POLICY_BASELINE_ADMIN] = "BaselineAdminNetworkPolicy",
    NULL
};

static const struct adp_kind_class {
    const char *name;
    struct adp_record *(*parse)(struct adp_object *);
    void (*destroy)(struct adp_record *);
} kinds[ADP_N_KINDS] = {
#define KIND(ENUM, NAME, FUNC) \
    [ADP_KIND_##ENUM] = { NAME, adp_parse_##FUNC, adp_free_##FUNC },
    ADP_KINDS
#undef KIND
};

const char *
adp_kind_to_string(enum adp_kind kind)
{
    return kinds[kind].name;
}

const char *
adp_protocol_to_string(uint8_t protocol)
{
    return (protocol == IPPROTO_TCP ? "TCP"
            : protocol == IPPROTO_UDP ? "UDP" : "SCTP");
}

const char *
adp_policy_type_to_string(enum adp_policy_type type)
{
    return adp_policy_types[type];
}

bool
adp_kind_is_own(enum adp_kind kind)
{
    return kind == ADP_KIND_FQDN || kind == ADP_KIND_MULTICAST_GROUP;
}

bool
adp_kind_from_string(const char *s, enum adp_kind *kind)
{
    for (enum adp_kind i = 0; i < ADP_N_KINDS; i++) {
        if (!strcmp(s, kinds[i].name)) {
            *kind = i;
            return true;
        }
    }
    return false;
}

/* Reads the member 'name' of 'json' if it is a nonempty string. */
static const char *
peek_string(const struct json *json, const char *name)
{
    const struct json *member = (json->type == JSON_OBJECT
                                 ? shash_find_data(json->object, name) : NULL);

    return (member && member->type == JSON_STRING && member->string[0]
            ? member->string : NULL);
}

/* What to call the record in errors, before it is known to be well-formed. */
static char *
provisional_name(const struct json *json, size_t idx)
{
    const char *kind = peek_string(json, "kind");
    const char *name = peek_string(json, "name");
    enum adp_kind dummy;

    return (kind && name && adp_kind_from_string(kind, &dummy)
            ? xasprintf("%s %.1024s", kind, name)
            : xasprintf("records[%"PRIuSIZE"]", idx));
}

struct json *
adp_record_compact(const struct json *json)
{
    const char *kind = peek_string(json, "kind");
    const struct json *object = (kind && !strcmp(kind, "Manifest")
                                 ? shash_find_data(json->object, "object")
                                 : NULL);
    if (!object || object->type != JSON_OBJECT) {
        return json_clone(json);
    }

    struct json *compact = json_object_create();
    const struct shash_node *node;
    SHASH_FOR_EACH (node, json->object) {
        const struct json *value = node->data;
        json_object_put(compact, node->name,
                        (value == object
                         ? json_serialized_object_create(value)
                         : json_clone(value)));
    }
    return compact;
}

/* The record as a model keeps it.  Policies, of which nobody looks into the
 * JSON, take a tenth of the memory as text. */
static struct json *
keep_json(enum adp_kind kind, const struct json *json)
{
    return (kind == ADP_KIND_NETWORK_POLICY
            ? json_serialized_object_create(json)
            : adp_record_compact(json));
}

static struct adp_error *
parse_record(const struct json *json, size_t idx, struct adp_record **recordp)
{
    struct adp_reader r;
    struct adp_object o;
    enum adp_kind kind = ADP_N_KINDS;
    struct adp_record *record = NULL;

    adp_reader_init(&r, provisional_name(json, idx));
    adp_object_open(&o, &r, json);
    const char *kind_name = adp_object_string(&o, "kind", ADP_REQUIRED);
    const char *name = adp_object_string(&o, "name", ADP_REQUIRED);
    if (kind_name && !adp_kind_from_string(kind_name, &kind)) {
        adp_reader_error_at(&r, "kind", "\"%s\" is not a known kind",
                            kind_name);
    }
    if (!r.error) {
        record = kinds[kind].parse(&o);
        record->kind = kind;
        record->name = xstrdup(name);
        record->json = keep_json(kind, json);
        record->n_refs = 1;
    }
    adp_object_close(&o);

    struct adp_error *error = adp_reader_uninit(&r);
    if (error && record) {
        adp_record_unref(record);
        record = NULL;
    }
    *recordp = record;
    return error;
}

struct adp_error *
adp_record_parse(const struct json *json, size_t idx,
                 struct adp_record **recordp)
{
    if (json->type != JSON_SERIALIZED_OBJECT) {
        return parse_record(json, idx, recordp);
    }

    /* One that a model kept. */
    struct json *whole = json_from_string(json_serialized_object(json));
    struct adp_error *error = parse_record(whole, idx, recordp);
    json_destroy(whole);
    return error;
}

struct adp_record *
adp_record_ref(const struct adp_record *record_)
{
    struct adp_record *record = CONST_CAST(struct adp_record *, record_);

    record->n_refs++;
    return record;
}

void
adp_record_unref(struct adp_record *record)
{
    if (record && !--record->n_refs) {
        json_destroy(record->json);
        free(record->name);
        kinds[record->kind].destroy(record);
    }
}

char *
adp_record_describe(const struct adp_record *record)
{
    return xasprintf("%s %s", adp_kind_to_string(record->kind), record->name);
}

const struct adp_names *
adp_network_policy_applied_to(const struct adp_network_policy *policy,
                              const struct adp_network_policy_rule *rule)
{
    return (rule->applied_to.n || rule->applied_to_services.n
            ? &rule->applied_to : &policy->applied_to);
}

const struct adp_names *
adp_network_policy_applied_to_services(
    const struct adp_network_policy *policy,
    const struct adp_network_policy_rule *rule)
{
    return (rule->applied_to.n || rule->applied_to_services.n
            ? &rule->applied_to_services : &policy->applied_to_services);
}

bool
adp_network_policy_logs_isolation(const struct adp_network_policy *policy,
                                  bool ingress)
{
    for (size_t i = 0; i < policy->n_rules; i++) {
        if (policy->rules[i].ingress == ingress && policy->rules[i].logs) {
            return true;
        }
    }
    return false;
}

bool
adp_network_policy_rule_is_igmp(const struct adp_network_policy_rule *rule)
{
    return rule->n_services && rule->services[0].protocol == IPPROTO_IGMP;
}

bool
adp_network_policy_rule_is_multicast(
    const struct adp_network_policy_rule *rule,
    const struct adp_ip_block **other)
{
    bool multicast = false;

    *other = NULL;
    for (size_t i = 0; !rule->ingress && i < rule->peer.n_ip_blocks; i++) {
        const struct adp_ip_block *block = &rule->peer.ip_blocks[i];

        if (adp_cidr_family(&block->cidr) == ADP_IPV4
            && ip_is_multicast(in6_addr_get_mapped_ipv4(&block->cidr.ip))) {
            multicast = true;
        } else {
            *other = block;
        }
    }
    return multicast;
}

const struct adp_names *
adp_record_applied_to(const struct adp_record *record)
{
    return (record->kind == ADP_KIND_EGRESS
            ? &CONTAINER_OF(record, struct adp_egress, up)->applied_to
            : record->kind == ADP_KIND_TRAFFIC_CONTROL
            ? &CONTAINER_OF(record, struct adp_traffic_control,
                            up)->applied_to
            : NULL);
}

size_t
adp_record_ports(const struct adp_record *record,
                 const char *ports[ADP_RECORD_MAX_PORTS])
{
    if (record->kind != ADP_KIND_TRAFFIC_CONTROL) {
        return 0;
    }

    const struct adp_traffic_control *tc
        = CONTAINER_OF(record, struct adp_traffic_control, up);
    ports[0] = tc->target_port;
    ports[1] = tc->return_port;
    return tc->return_port ? 2 : 1;
}
