/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-names.h"

#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "adp-dns.h"
#include "adp-secret-hash.h"
#include "heap.h"
#include "hmapx.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "openvswitch/shash.h"
#include "openvswitch/util.h"
#include "sset.h"
#include "util.h"

/* Expiries are rounded up to multiples of this, so that those of one second
 * are one change. */
#define EXPIRY_STEP_MS 1000

struct pattern {
    char *text;
    bool has_wildcard;
    struct hmapx names;         /* Contains "struct name"s. */
    size_t n_addresses;         /* Of 'names'. */
    bool in_use;                /* Else it has no names, and goes when that has
                                 * come into force. */
    struct ovs_list changed;    /* In the store's 'changed', or in no list. */
    struct ovs_list taken;      /* In its 'taken', or in no list. */
};

struct known_address {
    struct hmap_node node;      /* In struct name's 'addresses'. */
    struct heap_node by_expiry;
    struct name *name;
    struct in6_addr ip;
    long long int expires;
};

struct name {
    char *text;
    struct hmapx patterns;      /* Contains "struct pattern"s; at least one. */
    struct hmap addresses;      /* Contains "struct known_address"es. */
};

struct adp_names_store {
    struct shash patterns;      /* Contains "struct pattern"s. */
    struct shash names;         /* Contains "struct name"s. */
    size_t n_in_use;            /* Patterns. */
    struct ovs_list changed;    /* Patterns that are to be taken, */
    struct ovs_list taken;      /* and that were, until that has ended. */
    struct heap expiries;       /* The next address to expire on top. */
    long long int min_ttl_ms;
};

bool
adp_names_match(const char *pattern, const char *name)
{
    const char *star = NULL, *retry = NULL;

    while (*name) {
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (*pattern == *name) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return !*pattern;
}

struct adp_names_store *
adp_names_store_create(void)
{
    struct adp_names_store *s = xzalloc(sizeof *s);

    shash_init(&s->patterns);
    shash_init(&s->names);
    ovs_list_init(&s->changed);
    ovs_list_init(&s->taken);
    heap_init(&s->expiries);
    adp_names_store_set_min_ttl(s, ADP_NAMES_DEFAULT_MIN_TTL);
    return s;
}

void
adp_names_store_set_min_ttl(struct adp_names_store *s, unsigned int ttl)
{
    s->min_ttl_ms = MIN(ttl, ADP_NAMES_MAX_TTL) * 1000LL;
}

/* Names and patterns. */

static void
enter_list(struct ovs_list *list, struct ovs_list *node)
{
    if (ovs_list_is_empty(node)) {
        ovs_list_push_back(list, node);
    }
}

static void
leave_list(struct ovs_list *node)
{
    ovs_list_remove(node);
    ovs_list_init(node);
}

static void
change_pattern(struct adp_names_store *s, struct pattern *pattern)
{
    enter_list(&s->changed, &pattern->changed);
}

static void
link_pattern(struct name *name, struct pattern *pattern)
{
    hmapx_add(&name->patterns, pattern);
    hmapx_add(&pattern->names, name);
    pattern->n_addresses += hmap_count(&name->addresses);
}

/* The heap has the greatest on top. */
static uint64_t
heap_priority(long long int expires)
{
    return UINT64_MAX - expires;
}

/* 'name' has 'delta' addresses more. */
static void
count_addresses(struct adp_names_store *s, const struct name *name, int delta)
{
    const struct hmapx_node *node;

    HMAPX_FOR_EACH (node, &name->patterns) {
        struct pattern *pattern = node->data;

        pattern->n_addresses += delta;
        change_pattern(s, pattern);
    }
}

static void
add_address(struct adp_names_store *s, struct name *name,
            const struct in6_addr *ip, uint32_t hash, long long int expires)
{
    struct known_address *address = xmalloc(sizeof *address);

    address->name = name;
    address->ip = *ip;
    address->expires = expires;
    hmap_insert(&name->addresses, &address->node, hash);
    heap_insert(&s->expiries, &address->by_expiry, heap_priority(expires));
    count_addresses(s, name, 1);
}

static void
remove_address(struct adp_names_store *s, struct known_address *address)
{
    hmap_remove(&address->name->addresses, &address->node);
    heap_remove(&s->expiries, &address->by_expiry);
    count_addresses(s, address->name, -1);
    free(address);
}

static void
remove_name(struct adp_names_store *s, struct name *name)
{
    struct known_address *address;
    const struct hmapx_node *node;

    HMAP_FOR_EACH_SAFE (address, node, &name->addresses) {
        remove_address(s, address);
    }
    HMAPX_FOR_EACH (node, &name->patterns) {
        struct pattern *pattern = node->data;

        hmapx_find_and_delete(&pattern->names, name);
    }
    shash_find_and_delete(&s->names, name->text);
    hmapx_destroy(&name->patterns);
    hmap_destroy(&name->addresses);
    free(name->text);
    free(name);
}

static struct pattern *
pattern_create(struct adp_names_store *s, const char *text)
{
    struct pattern *pattern = xzalloc(sizeof *pattern);

    pattern->text = xstrdup(text);
    pattern->has_wildcard = strchr(text, '*') != NULL;
    hmapx_init(&pattern->names);
    ovs_list_init(&pattern->changed);
    ovs_list_init(&pattern->taken);
    shash_add(&s->patterns, text, pattern);
    return pattern;
}

static void
pattern_destroy(struct adp_names_store *s, struct pattern *pattern)
{
    shash_find_and_delete(&s->patterns, pattern->text);
    hmapx_destroy(&pattern->names);
    free(pattern->text);
    free(pattern);
}

static void
add_pattern(struct adp_names_store *s, const char *text)
{
    struct pattern *pattern = shash_find_data(&s->patterns, text);
    const struct shash_node *node;

    if (!pattern) {
        pattern = pattern_create(s, text);
    } else if (pattern->in_use) {
        return;
    }
    SHASH_FOR_EACH (node, &s->names) {
        if (adp_names_match(text, node->name)) {
            link_pattern(node->data, pattern);
        }
    }
    pattern->in_use = true;
    s->n_in_use++;
    if (pattern->n_addresses) {
        change_pattern(s, pattern);
    }
}

static void
remove_pattern(struct adp_names_store *s, struct pattern *pattern)
{
    const struct hmapx_node *node;

    HMAPX_FOR_EACH (node, &pattern->names) {
        struct name *name = node->data;

        hmapx_find_and_delete(&name->patterns, pattern);
        if (hmapx_is_empty(&name->patterns)) {
            remove_name(s, name);
        }
    }
    hmapx_clear(&pattern->names);
    pattern->n_addresses = 0;
    pattern->in_use = false;
    s->n_in_use--;
    change_pattern(s, pattern);
}

void
adp_names_store_use(struct adp_names_store *s, const struct sset *patterns)
{
    const struct shash_node *node;
    const char *text;

    /* In this order: names that have another pattern stay. */
    SSET_FOR_EACH (text, patterns) {
        add_pattern(s, text);
    }
    SHASH_FOR_EACH (node, &s->patterns) {
        struct pattern *pattern = node->data;

        if (pattern->in_use && !sset_contains(patterns, node->name)) {
            remove_pattern(s, pattern);
        }
    }
}

void
adp_names_store_destroy(struct adp_names_store *s)
{
    if (s) {
        struct sset none = SSET_INITIALIZER(&none);
        struct shash_node *node, *next;

        adp_names_store_use(s, &none);
        SHASH_FOR_EACH_SAFE (node, next, &s->patterns) {
            pattern_destroy(s, node->data);
        }
        shash_destroy(&s->patterns);
        shash_destroy(&s->names);
        heap_destroy(&s->expiries);
        free(s);
    }
}

/* Answers. */

/* Does some pattern fit 'text'?  Links all that do to 'name', unless that is
 * NULL. */
static bool
fit_patterns(const struct adp_names_store *s, const char *text,
             struct name *name)
{
    struct pattern *exact = shash_find_data(&s->patterns, text);
    const struct shash_node *node;
    bool fits = exact && exact->in_use && !exact->has_wildcard;

    if (fits && name) {
        link_pattern(name, exact);
    }
    SHASH_FOR_EACH (node, &s->patterns) {
        struct pattern *pattern = node->data;

        if (fits && !name) {
            break;
        }
        if (pattern->in_use && pattern->has_wildcard
            && adp_names_match(pattern->text, text)) {
            fits = true;
            if (name) {
                link_pattern(name, pattern);
            }
        }
    }
    return fits;
}

bool
adp_names_store_wants(const struct adp_names_store *s, const char *name)
{
    return shash_find(&s->names, name) || fit_patterns(s, name, NULL);
}

/* The name, which is made if a pattern fits it; NULL otherwise. */
static struct name *
use_name(struct adp_names_store *s, const char *text)
{
    struct name *name = shash_find_data(&s->names, text);

    if (name) {
        return name;
    }
    name = xzalloc(sizeof *name);
    hmapx_init(&name->patterns);
    hmap_init(&name->addresses);

    if (!fit_patterns(s, text, name)) {
        hmapx_destroy(&name->patterns);
        hmap_destroy(&name->addresses);
        free(name);
        return NULL;
    }
    name->text = xstrdup(text);
    shash_add(&s->names, text, name);
    return name;
}

static bool
is_full(const struct name *name)
{
    const struct hmapx_node *node;

    HMAPX_FOR_EACH (node, &name->patterns) {
        const struct pattern *pattern = node->data;

        if (pattern->n_addresses >= ADP_NAMES_MAX_ADDRESSES) {
            return true;
        }
    }
    return false;
}

static void
prolong(struct adp_names_store *s, struct known_address *address,
        long long int expires)
{
    if (expires > address->expires) {
        address->expires = expires;
        heap_change(&s->expiries, &address->by_expiry,
                    heap_priority(expires));
    }
}

static enum adp_names_learned
learn_address(struct adp_names_store *s, struct name *name,
              const struct in6_addr *ip, long long int expires)
{
    uint32_t hash = adp_secret_hash_bytes(ip, sizeof *ip, 0);
    struct known_address *address;

    HMAP_FOR_EACH_WITH_HASH (address, node, hash, &name->addresses) {
        if (!memcmp(&address->ip, ip, sizeof *ip)) {
            prolong(s, address, expires);
            return ADP_NAMES_KNOWN;
        }
    }
    if (is_full(name)) {
        return ADP_NAMES_FULL;
    }
    add_address(s, name, ip, hash, expires);
    return ADP_NAMES_NEW;
}

/* Nothing new: but what was, is that said of all its patterns? */
static enum adp_names_learned
nothing_new(const struct name *name)
{
    enum adp_names_learned learned = ADP_NAMES_KNOWN;
    const struct hmapx_node *node;

    HMAPX_FOR_EACH (node, &name->patterns) {
        const struct pattern *pattern = node->data;
        enum adp_names_learned one
            = (!ovs_list_is_empty(&pattern->changed) ? ADP_NAMES_CHANGED
               : !ovs_list_is_empty(&pattern->taken) ? ADP_NAMES_TAKEN
               : ADP_NAMES_KNOWN);

        learned = MAX(learned, one);
    }
    return learned;
}

enum adp_names_learned
adp_names_store_learn(struct adp_names_store *s,
                      const struct adp_dns_answer *answer, long long int now)
{
    enum adp_names_learned learned = ADP_NAMES_KNOWN;
    struct name *name;

    if (!answer->n_addresses) {
        return ADP_NAMES_NONE;
    }
    name = use_name(s, answer->name);
    if (!name) {
        return ADP_NAMES_NONE;
    }
    for (size_t i = 0; i < answer->n_addresses; i++) {
        const struct adp_dns_address *a = &answer->addresses[i];
        long long int ttl_ms = MIN(a->ttl, ADP_NAMES_MAX_TTL) * 1000LL;
        long long int expires = ROUND_UP(now + MAX(ttl_ms, s->min_ttl_ms),
                                         EXPIRY_STEP_MS);

        enum adp_names_learned one = learn_address(s, name, &a->ip, expires);

        learned = MAX(learned, one);
    }
    if (learned == ADP_NAMES_KNOWN) {
        learned = nothing_new(name);
    }
    if (hmap_is_empty(&name->addresses)) {
        remove_name(s, name);
    }
    return learned;
}

long long int
adp_names_store_next_expiry(const struct adp_names_store *s)
{
    return (heap_is_empty(&s->expiries) ? LLONG_MAX
            : CONTAINER_OF(heap_max(&s->expiries), struct known_address,
                           by_expiry)->expires);
}

void
adp_names_store_expire_next(struct adp_names_store *s)
{
    struct known_address *address = CONTAINER_OF(heap_max(&s->expiries),
                                                 struct known_address,
                                                 by_expiry);
    struct name *name = address->name;

    remove_address(s, address);
    if (hmap_is_empty(&name->addresses)) {
        remove_name(s, name);
    }
}

/* Changes. */

bool
adp_names_store_has_changes(const struct adp_names_store *s)
{
    return !ovs_list_is_empty(&s->changed);
}

static int
compare_ips(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct in6_addr));
}

/* Sets '*ips' to the addresses of all names of 'pattern', each once. */
static size_t
addresses_of(const struct pattern *pattern, struct in6_addr **ips)
{
    const struct hmapx_node *node;
    size_t n = 0, n_different = 0;

    *ips = xmalloc((pattern->n_addresses + 1) * sizeof **ips);
    HMAPX_FOR_EACH (node, &pattern->names) {
        const struct name *name = node->data;
        const struct known_address *address;

        HMAP_FOR_EACH (address, node, &name->addresses) {
            (*ips)[n++] = address->ip;
        }
    }
    ovs_assert(n == pattern->n_addresses);
    qsort(*ips, n, sizeof **ips, compare_ips);
    for (size_t i = 0; i < n; i++) {
        if (!n_different || compare_ips(&(*ips)[n_different - 1],
                                        &(*ips)[i])) {
            (*ips)[n_different++] = (*ips)[i];
        }
    }
    return n_different;
}

void
adp_names_store_take_change(struct adp_names_store *s,
                            adp_names_change_cb *cb, void *aux)
{
    struct pattern *pattern = CONTAINER_OF(ovs_list_front(&s->changed),
                                           struct pattern, changed);
    struct in6_addr *ips;
    size_t n = addresses_of(pattern, &ips);

    cb(pattern->text, ips, n, aux);
    free(ips);
    leave_list(&pattern->changed);
    enter_list(&s->taken, &pattern->taken);
}

void
adp_names_store_end_changes(struct adp_names_store *s, bool in_force)
{
    struct pattern *pattern;

    LIST_FOR_EACH_SAFE (pattern, taken, &s->taken) {
        leave_list(&pattern->taken);
        if (!in_force) {
            change_pattern(s, pattern);
        } else if (!pattern->in_use && ovs_list_is_empty(&pattern->changed)) {
            pattern_destroy(s, pattern);
        }
    }
}

/* Queries. */

static int
compare_addresses(const void *a_, const void *b_)
{
    const struct known_address *const *a = a_;
    const struct known_address *const *b = b_;

    return compare_ips(&(*a)->ip, &(*b)->ip);
}

static void
visit_name(const struct name *name, const struct adp_names_visitor *v)
{
    struct sset patterns = SSET_INITIALIZER(&patterns);
    const struct hmapx_node *node;

    v->name(name->text, v->aux);
    HMAPX_FOR_EACH (node, &name->patterns) {
        const struct pattern *pattern = node->data;

        sset_add(&patterns, pattern->text);
    }
    const char **texts = sset_sort(&patterns);
    for (size_t i = 0; i < sset_count(&patterns); i++) {
        v->pattern(texts[i], v->aux);
    }
    free(texts);
    sset_destroy(&patterns);

    size_t n = hmap_count(&name->addresses);
    const struct known_address **sorted = xmalloc((n + 1) * sizeof *sorted);
    const struct known_address *address;
    size_t i = 0;
    HMAP_FOR_EACH (address, node, &name->addresses) {
        sorted[i++] = address;
    }
    qsort(sorted, n, sizeof *sorted, compare_addresses);
    for (i = 0; i < n; i++) {
        v->address(&sorted[i]->ip, sorted[i]->expires, v->aux);
    }
    free(sorted);
}

void
adp_names_store_visit(const struct adp_names_store *s,
                      const struct adp_names_visitor *v)
{
    const struct shash_node **nodes = shash_sort(&s->names);
    size_t n = shash_count(&s->names);

    for (size_t i = 0; i < n; i++) {
        visit_name(nodes[i]->data, v);
    }
    free(nodes);
}

struct adp_names_usage
adp_names_store_usage(const struct adp_names_store *s)
{
    return (struct adp_names_usage) {
        .n_patterns = s->n_in_use,
        .n_names = shash_count(&s->names),
        .n_addresses = heap_count(&s->expiries),
    };
}
