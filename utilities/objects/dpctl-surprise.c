/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-surprise.h"

#include <stdlib.h>
#include <string.h>

#include "dpctl-address.h"
#include "dpctl-admin.h"
#include "dpctl-json.h"
#include "dpctl-keys.h"
#include "dpctl-kind.h"
#include "dpctl-outside.h"
#include "dpctl-resolve.h"
#include "dpctl-tier.h"
#include "openvswitch/dynamic-string.h"
#include "sset.h"
#include "svec.h"
#include "util.h"

/* Lines of one sort. */
struct lines {
    struct svec *to;
    size_t n;
};

/* Takes 'line'. */
static void
lines_add(struct lines *lines, char *line)
{
    enum { MAX_LINES = 8 };

    if (lines->n++ < MAX_LINES) {
        svec_add_nocopy(lines->to, line);
    } else {
        /* The last line tells how many there are. */
        if (lines->n > MAX_LINES + 1) {
            svec_pop_back(lines->to);
        }
        svec_add_nocopy(lines->to, xasprintf("and %"PRIuSIZE" more of this "
                                             "sort", lines->n - MAX_LINES));
        free(line);
    }
}

/* "a, b and 7 more": no more than a few of the names. */
static char *
names_text(const struct svec *names)
{
    enum { MAX_NAMES = 4 };
    struct ds ds = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < names->n && i < MAX_NAMES; i++) {
        ds_put_format(&ds, "%s%s", i ? ", " : "", names->names[i]);
    }
    if (names->n > MAX_NAMES) {
        ds_put_format(&ds, " and %"PRIuSIZE" more", names->n - MAX_NAMES);
    }
    return ds_steal_cstr(&ds);
}

/* Names by what they have in common, in the order of the latter. */

static void
sort_into(struct shash *heaps, const char *key, char *name)
{
    struct svec *names = shash_find_data(heaps, key);

    if (!names) {
        names = xmalloc(sizeof *names);
        svec_init(names);
        shash_add(heaps, key, names);
    }
    svec_add_nocopy(names, name);
}

static void
heaps_destroy(struct shash *heaps)
{
    struct shash_node *node;

    SHASH_FOR_EACH (node, heaps) {
        svec_destroy(node->data);
    }
    shash_destroy_free_data(heaps);
}

/* Pods. */

static bool
has_record(const struct dpctl_surprise *s, const char *kind, const char *name)
{
    char *key = dpctl_record_key(kind, name);
    bool found = false;

    for (size_t i = 0; i < ARRAY_SIZE(s->records); i++) {
        found |= s->records[i] && shash_find(s->records[i], key);
    }
    free(key);
    return found;
}

static const struct json *
find_object(const struct dpctl_surprise *s, enum dpctl_kind_id id,
            const char *name)
{
    char *manifest = dpctl_manifest_name(&dpctl_kinds[id], NULL, name);
    const struct json *object = shash_find_data(s->manifests, manifest);

    free(manifest);
    return object;
}

/* Does the Pod have an address to itself? */
static bool
has_address(const struct json *pod)
{
    return (!dpctl_json_bool(pod, "spec.hostNetwork", false)
            && (dpctl_json_str(pod, "status.podIP")
                || dpctl_json_array(pod, "status.podIPs")->n));
}

/* Pods by what is wrong with where they are. */
struct misplaced {
    struct shash namespaces;    /* Unknown ones. */
    struct shash nodes;         /* Unknown ones. */
    struct shash no_peers;      /* Nodes to which no packet finds the way. */
};

static void
check_pod(const struct dpctl_surprise *s, const struct json *pod,
          struct misplaced *misplaced)
{
    const struct dpctl_kind *kind = &dpctl_kinds[DPCTL_POD];
    const char *namespace_ = dpctl_json_str(pod, "metadata.namespace");
    const char *name = dpctl_json_str(pod, "spec.nodeName");

    if (!find_object(s, DPCTL_NAMESPACE, namespace_)) {
        sort_into(&misplaced->namespaces, namespace_,
                  dpctl_kind_title(kind, pod, ""));
    }
    if (name && name[0] && !(s->node && !strcmp(name, s->node))
        && !has_record(s, "PeerNode", name)) {
        const struct json *node = find_object(s, DPCTL_NODE, name);

        if (!node) {
            sort_into(&misplaced->nodes, name,
                      dpctl_kind_title(kind, pod, ""));
        } else if (has_address(pod) && !dpctl_node_is_peer(node)) {
            sort_into(&misplaced->no_peers, name,
                      dpctl_kind_title(kind, pod, ""));
        }
    }
}

static void
warn_of_pods(struct shash *heaps, const char *what, struct svec *warnings)
{
    const struct shash_node **nodes = shash_sort(heaps);
    struct lines lines = { .to = warnings };

    for (size_t i = 0; i < shash_count(heaps); i++) {
        char *pods = names_text(nodes[i]->data);
        lines_add(&lines, xasprintf("%s: %s %s", pods, what, nodes[i]->name));
        free(pods);
    }
    free(nodes);
    heaps_destroy(heaps);
}

/* Services. */

static void
check_affinity(const struct json *service, struct lines *lines)
{
    const char *path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
    long long int timeout = dpctl_json_int(service, path, 0);
    const char *affinity = dpctl_json_str(service, "spec.sessionAffinity");

    if (timeout > DPCTL_MAX_AFFINITY_S && affinity
        && !strcmp(affinity, "ClientIP")) {
        char *title = dpctl_kind_title(&dpctl_kinds[DPCTL_SERVICE], service,
                                       "");
        lines_add(lines, xasprintf("%s: %s: %lld becomes %d: timeouts of "
                                   "OpenFlow go no further", title, path,
                                   timeout, DPCTL_MAX_AFFINITY_S));
        free(title);
    }
}

/* Direct server return would let the endpoint's Node answer the client. */
static void
check_dsr(const struct json *service, struct lines *lines)
{
    static const char name[] = "service.antrea.io/load-balancer-mode";
    const struct json *mode
        = shash_find_data(dpctl_json_object(service, "metadata.annotations"),
                          name);

    if (mode && !strcasecmp(json_string(mode), "dsr")) {
        char *title = dpctl_kind_title(&dpctl_kinds[DPCTL_SERVICE], service,
                                       "");
        lines_add(lines, xasprintf("%s: metadata.annotations: %s: without "
                                   "the pipeline's option dsr endpoints on "
                                   "other Nodes answer through this one, as "
                                   "with nat", title, name));
        free(title);
    }
}

/* What kube-proxy and Antrea's agent serve is no flow. */
static void
check_health_port(const struct json *service, struct lines *lines)
{
    const char *path = "spec.healthCheckNodePort";
    long long int port = dpctl_json_int(service, path, 0);

    if (port) {
        char *title = dpctl_kind_title(&dpctl_kinds[DPCTL_SERVICE], service,
                                       "");
        lines_add(lines, xasprintf("%s: %s: nobody answers at port %lld: a "
                                   "load balancer that asks there takes this "
                                   "Node for one without endpoints", title,
                                   path, port));
        free(title);
    }
}

/* Of each family the first of a load balancer's source ranges, or NULL. */
static void
get_ranges(const struct json *service, const char *ranges[DPCTL_N_FAMILIES])
{
    const struct json_array *array
        = dpctl_json_array(service, "spec.loadBalancerSourceRanges");

    for (size_t i = 0; i < array->n; i++) {
        const char *range = json_string(array->elems[i]);
        enum dpctl_family family = dpctl_family_of(range);

        ranges[family] = ranges[family] ? ranges[family] : range;
    }
}

/* Has it an address of that family that clients outside use? */
static bool
has_ingress(const struct json *service, enum dpctl_family family)
{
    const struct json_array *ingress
        = dpctl_json_array(service, "status.loadBalancer.ingress");

    for (size_t i = 0; i < ingress->n; i++) {
        const char *ip = dpctl_json_str(ingress->elems[i], "ip");

        if (ip && dpctl_family_of(ip) == family) {
            return true;
        }
    }
    return false;
}

static void
check_ranges(const struct json *service, struct lines *closed,
             struct lines *useless)
{
    static const char *const names[] = { "IPv4", "IPv6" };
    const char *path = "spec.loadBalancerSourceRanges";
    const char *type = dpctl_json_str(service, "spec.type");
    const char *ranges[DPCTL_N_FAMILIES] = { NULL };
    bool families[DPCTL_N_FAMILIES];
    char *title = dpctl_kind_title(&dpctl_kinds[DPCTL_SERVICE], service, "");

    dpctl_service_families(service, families);
    get_ranges(service, ranges);
    for (enum dpctl_family i = 0; i < DPCTL_N_FAMILIES; i++) {
        if (!type || strcmp(type, "LoadBalancer")) {
            continue;
        } else if (ranges[i] && !families[i]) {
            lines_add(useless, xasprintf("%s: %s: %s: the Service has no %s: "
                                         "nobody gets in by it", title, path,
                                         ranges[i], names[i]));
        } else if (!ranges[i] && ranges[!i] && families[i]
                   && has_ingress(service, i)) {
            lines_add(closed, xasprintf("%s: %s: none is %s: of those who "
                                        "send to %s addresses of the load "
                                        "balancer only the Node itself gets "
                                        "in", title, path, names[i],
                                        names[i]));
        }
    }
    free(title);
}

/* Addresses for outsiders that another Service serves. */
static void
check_outside(const struct dpctl_surprise *s, struct svec *warnings)
{
    struct svec sentences = SVEC_EMPTY_INITIALIZER;
    struct lines lines = { .to = warnings };
    const char *sentence;
    size_t i;

    dpctl_outside_shared(s->manifests, s->given, &sentences);
    SVEC_FOR_EACH (i, sentence, &sentences) {
        lines_add(&lines, xstrdup(sentence));
    }
    svec_destroy(&sentences);
}

static void
check_slice(const struct json *slice, struct lines *lines)
{
    if (!strcmp(dpctl_json_str(slice, "addressType"), "FQDN")) {
        char *title = dpctl_kind_title(&dpctl_kinds[DPCTL_ENDPOINT_SLICE],
                                       slice, "");
        lines_add(lines, xasprintf("%s: addressType: FQDN: its endpoints are "
                                   "left out: a name is no destination",
                                   title));
        free(title);
    }
}

/* Policies. */

/* A rule about IGMP does what it says without being logged. */
static void
check_logging(const struct dpctl_kind *kind, const struct json *policy,
              struct lines *lines)
{
    static const char *const lists[] = { "spec.ingress", "spec.egress" };

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct json_array *rules = dpctl_json_array(policy, lists[i]);

        for (size_t j = 0; j < rules->n; j++) {
            const struct json_array *protocols
                = dpctl_json_array(rules->elems[j], "protocols");

            if (dpctl_json_bool(rules->elems[j], "enableLogging", false)
                && protocols->n
                && dpctl_json_member(protocols->elems[0], "igmp")) {
                char *title = dpctl_kind_title(kind, policy, "");
                lines_add(lines, xasprintf("%s: %s[%"PRIuSIZE"].enableLogging"
                                           ": is left out: IGMP isn't logged",
                                           title, lists[i], j));
                free(title);
            }
        }
    }
}

/* Groups in 'list', which the policy is applied to: blocks are nobody. */
static void
check_applied_blocks(const struct dpctl_surprise *s,
                     const struct dpctl_kind *kind, const struct json *policy,
                     const struct json_array *list, struct lines *lines)
{
    const char *namespace_ = dpctl_json_str(policy, "metadata.namespace");
    const struct dpctl_kind *group_kind
        = &dpctl_kinds[namespace_ ? DPCTL_GROUP : DPCTL_CLUSTER_GROUP];

    for (size_t i = 0; i < list->n; i++) {
        const char *name = dpctl_json_str(list->elems[i], "group");
        char *manifest = (name ? dpctl_manifest_name(group_kind, namespace_,
                                                     name)
                          : NULL);
        const struct json *group = (manifest
                                    ? shash_find_data(s->manifests, manifest)
                                    : NULL);

        if (dpctl_json_get(group, "spec.ipBlock")
            || dpctl_json_array(group, "spec.ipBlocks")->n) {
            char *title = dpctl_kind_title(kind, policy, "");

            lines_add(lines, xasprintf("%s: appliedTo: %s %s is left out: "
                                       "ipBlocks are no Pods", title,
                                       group_kind->kind, name));
            free(title);
        }
        free(manifest);
    }
}

static void
check_applied_to(const struct dpctl_surprise *s,
                 const struct dpctl_kind *kind, const struct json *policy,
                 struct lines *lines)
{
    static const char *const lists[] = { "spec.ingress", "spec.egress" };

    check_applied_blocks(s, kind, policy,
                         dpctl_json_array(policy, "spec.appliedTo"), lines);
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        const struct json_array *rules = dpctl_json_array(policy, lists[i]);

        for (size_t j = 0; j < rules->n; j++) {
            check_applied_blocks(s, kind, policy,
                                 dpctl_json_array(rules->elems[j],
                                                  "appliedTo"), lines);
        }
    }
}

/* Adds the groups that are missing among those that 'object', or a group that
 * it names, names; 'seen' has what was looked at. */
static void
find_missing(const struct dpctl_surprise *s, const struct dpctl_kind *kind,
             const struct json *object, struct sset *seen,
             struct svec *missing)
{
    struct svec refs = SVEC_EMPTY_INITIALIZER;
    const char *ref;
    size_t i;

    dpctl_group_refs(kind, object, &refs);
    SVEC_FOR_EACH (i, ref, &refs) {
        const struct dpctl_kind *ref_kind = dpctl_manifest_kind(ref);
        const struct json *group = shash_find_data(s->manifests, ref);

        if (ref_kind->id == DPCTL_SERVICE || !sset_add(seen, ref)) {
            continue;
        } else if (group) {
            find_missing(s, ref_kind, group, seen, missing);
        } else {
            svec_add_nocopy(missing, xasprintf("%s %s", ref_kind->kind,
                                               strrchr(ref, '/') + 1));
        }
    }
    svec_destroy(&refs);
}

/* Whom the object is to be for, or whom it names, isn't known. */
static void
check_missing_groups(const struct dpctl_surprise *s,
                     const struct dpctl_kind *kind, const struct json *object,
                     struct lines *lines)
{
    struct svec missing = SVEC_EMPTY_INITIALIZER;
    struct sset seen = SSET_INITIALIZER(&seen);

    find_missing(s, kind, object, &seen, &missing);
    if (missing.n) {
        svec_sort(&missing);
        char *title = dpctl_kind_title(kind, object, "");
        char *names = names_text(&missing);

        lines_add(lines, xasprintf("%s: there is no %s: nobody is meant by it",
                                   title, names));
        free(names);
        free(title);
    }
    svec_destroy(&missing);
    sset_destroy(&seen);
}

char *
dpctl_policy_rank(const struct dpctl_kind *kind, const struct json *object)
{
    const struct json *priority = NULL;
    char *tier = NULL;

    if (kind->id == DPCTL_ACNP || kind->id == DPCTL_ANNP) {
        const char *name = dpctl_json_str(object, "spec.tier");
        priority = dpctl_json_get(object, "spec.priority");
        tier = xstrdup(dpctl_tier_name(name));
    } else if (kind->id == DPCTL_ADMIN_NP) {
        priority = dpctl_json_get(object, "spec.priority");
        tier = xasprintf("%d", DPCTL_ADMIN_TIER);
    } else if (kind->id == DPCTL_CP_NP) {
        priority = dpctl_json_get(object, "priority");
        tier = xasprintf("%lld", dpctl_json_int(object, "tierPriority", -1));
    }
    char *rank = (!priority ? NULL
                  : xasprintf("%g in Tier %s",
                              (priority->type == JSON_INTEGER
                               ? (double) priority->integer : priority->real),
                              tier));
    free(tier);
    return rank;
}

/* Policies of equal rank, at least one of them given. */
static void
check_ranks(const struct dpctl_surprise *s, struct svec *warnings)
{
    const struct shash_node **nodes = shash_sort(s->manifests);
    struct shash ranks = SHASH_INITIALIZER(&ranks);
    struct shash given = SHASH_INITIALIZER(&given);
    struct lines lines = { .to = warnings };

    for (size_t i = 0; i < shash_count(s->manifests); i++) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(nodes[i]->name);
        char *rank = kind ? dpctl_policy_rank(kind, nodes[i]->data) : NULL;

        if (rank) {
            sort_into(&ranks, rank, dpctl_kind_title(kind, nodes[i]->data,
                                                     ""));
            if (shash_find(s->given, nodes[i]->name)) {
                shash_add_once(&given, rank, NULL);
            }
        }
        free(rank);
    }
    free(nodes);

    nodes = shash_sort(&given);
    for (size_t i = 0; i < shash_count(&given); i++) {
        const struct svec *policies = shash_find_data(&ranks, nodes[i]->name);
        if (policies->n > 1) {
            char *names = names_text(policies);
            lines_add(&lines, xasprintf("%s: all have priority %s: which of "
                                        "their rules goes first isn't defined",
                                        names, nodes[i]->name));
            free(names);
        }
    }
    free(nodes);
    shash_destroy(&given);
    heaps_destroy(&ranks);
}

void
dpctl_surprises(const struct dpctl_surprise *s, struct svec *warnings)
{
    const struct shash_node **nodes = shash_sort(s->given);
    struct misplaced misplaced = {
        SHASH_INITIALIZER(&misplaced.namespaces),
        SHASH_INITIALIZER(&misplaced.nodes),
        SHASH_INITIALIZER(&misplaced.no_peers),
    };
    struct lines affinity = { .to = warnings };
    struct lines dsr = { .to = warnings };
    struct lines health = { .to = warnings };
    struct lines closed = { .to = warnings };
    struct lines useless = { .to = warnings };
    struct lines fqdn = { .to = warnings };
    struct lines igmp = { .to = warnings };
    struct lines blocks = { .to = warnings };
    struct lines missing = { .to = warnings };

    for (size_t i = 0; i < shash_count(s->given); i++) {
        const struct dpctl_kind *kind = dpctl_manifest_kind(nodes[i]->name);

        if (kind->id == DPCTL_POD) {
            check_pod(s, nodes[i]->data, &misplaced);
        } else if (kind->id == DPCTL_SERVICE) {
            check_affinity(nodes[i]->data, &affinity);
            check_dsr(nodes[i]->data, &dsr);
            check_health_port(nodes[i]->data, &health);
            check_ranges(nodes[i]->data, &closed, &useless);
        } else if (kind->id == DPCTL_ENDPOINT_SLICE) {
            check_slice(nodes[i]->data, &fqdn);
        } else if (kind->id == DPCTL_ACNP || kind->id == DPCTL_ANNP) {
            check_logging(kind, nodes[i]->data, &igmp);
            check_applied_to(s, kind, nodes[i]->data, &blocks);
            check_missing_groups(s, kind, nodes[i]->data, &missing);
        } else if (kind->id == DPCTL_EGRESS
                   || kind->id == DPCTL_TRAFFIC_CONTROL) {
            check_missing_groups(s, kind, nodes[i]->data, &missing);
        }
    }
    free(nodes);
    warn_of_pods(&misplaced.namespaces,
                 "metadata.namespace: there is no Namespace", warnings);
    warn_of_pods(&misplaced.nodes, "spec.nodeName: there is no Node",
                 warnings);
    warn_of_pods(&misplaced.no_peers, "spec.nodeName: no way leads there: no "
                 "Pod CIDR, or no address, of Node", warnings);
    check_outside(s, warnings);
    check_ranks(s, warnings);
}
