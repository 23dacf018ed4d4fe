/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-names.h"

#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "adp-dns.h"
#include "adp-secret-hash.h"
#include "hmapx.h"
#include "openvswitch/hmap.h"
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
    bool changed;
    bool taken;                 /* A change of it was, and hasn't ended. */
};

struct known_address {
    struct hmap_node node;      /* In struct name's 'addresses'. */
    struct in6_addr ip;
    long long int expires;
};

struct name {
    char *text;
    struct hmapx patterns;      /* Contains "struct pattern"s; at least one. */
    struct hmap addresses;      /* Contains "struct known_address"es. */
    long long int next_expiry;  /* Of these, or earlier. */
};

struct adp_names_store {
    struct shash patterns;      /* Contains "struct pattern"s. */
    struct shash names;         /* Contains "struct name"s. */
    struct sset gone;           /* Patterns that nobody uses any more, until
                                 * that was taken, */
    struct sset taken_gone;     /* and until that has ended. */
    size_t n_addresses;
    long long int min_ttl_ms;
    long long int next_expiry;  /* Of 'names', or earlier. */
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
    sset_init(&s->gone);
    sset_init(&s->taken_gone);
    s->next_expiry = LLONG_MAX;
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
change_patterns_of(const struct name *name)
{
    const struct hmapx_node *node;

    HMAPX_FOR_EACH (node, &name->patterns) {
        struct pattern *pattern = node->data;

        pattern->changed = true;
    }
}

static void
link_pattern(struct name *name, struct pattern *pattern)
{
    hmapx_add(&name->patterns, pattern);
    hmapx_add(&pattern->names, name);
    pattern->n_addresses += hmap_count(&name->addresses);
    pattern->changed |= !hmap_is_empty(&name->addresses);
}

static void
remove_address(struct adp_names_store *s, struct name *name,
               struct known_address *address)
{
    const struct hmapx_node *node;

    hmap_remove(&name->addresses, &address->node);
    free(address);
    s->n_addresses--;
    HMAPX_FOR_EACH (node, &name->patterns) {
        struct pattern *pattern = node->data;

        pattern->n_addresses--;
        pattern->changed = true;
    }
}

static void
remove_name(struct adp_names_store *s, struct name *name)
{
    struct known_address *address;
    const struct hmapx_node *node;

    HMAP_FOR_EACH_SAFE (address, node, &name->addresses) {
        remove_address(s, name, address);
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

static void
add_pattern(struct adp_names_store *s, const char *text)
{
    struct pattern *pattern = xzalloc(sizeof *pattern);
    const struct shash_node *node;

    pattern->text = xstrdup(text);
    pattern->has_wildcard = strchr(text, '*') != NULL;
    hmapx_init(&pattern->names);
    pattern->changed = sset_find_and_delete(&s->gone, text);
    shash_add(&s->patterns, text, pattern);
    SHASH_FOR_EACH (node, &s->names) {
        if (adp_names_match(text, node->name)) {
            link_pattern(node->data, pattern);
        }
    }
}

static void
remove_pattern(struct adp_names_store *s, struct pattern *pattern)
{
    const struct hmapx_node *node, *next;

    HMAPX_FOR_EACH_SAFE (node, next, &pattern->names) {
        struct name *name = node->data;

        hmapx_find_and_delete(&name->patterns, pattern);
        if (hmapx_is_empty(&name->patterns)) {
            hmapx_find_and_delete(&pattern->names, name);
            remove_name(s, name);
        }
    }
    hmapx_destroy(&pattern->names);
    sset_add(&s->gone, pattern->text);
    shash_find_and_delete(&s->patterns, pattern->text);
    free(pattern->text);
    free(pattern);
}

void
adp_names_store_use(struct adp_names_store *s, const struct sset *patterns)
{
    struct shash_node *node, *next;
    const char *text;

    /* In this order: names that have another pattern stay. */
    SSET_FOR_EACH (text, patterns) {
        if (!shash_find(&s->patterns, text)) {
            add_pattern(s, text);
        }
    }
    SHASH_FOR_EACH_SAFE (node, next, &s->patterns) {
        if (!sset_contains(patterns, node->name)) {
            remove_pattern(s, node->data);
        }
    }
}

void
adp_names_store_destroy(struct adp_names_store *s)
{
    if (s) {
        struct sset none = SSET_INITIALIZER(&none);

        adp_names_store_use(s, &none);
        shash_destroy(&s->patterns);
        shash_destroy(&s->names);
        sset_destroy(&s->gone);
        sset_destroy(&s->taken_gone);
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
    bool fits = exact && !exact->has_wildcard;

    if (fits && name) {
        link_pattern(name, exact);
    }
    SHASH_FOR_EACH (node, &s->patterns) {
        struct pattern *pattern = node->data;

        if (fits && !name) {
            break;
        }
        if (pattern->has_wildcard && adp_names_match(pattern->text, text)) {
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
    name->next_expiry = LLONG_MAX;

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

static enum adp_names_learned
learn_address(struct adp_names_store *s, struct name *name,
              const struct in6_addr *ip, long long int expires)
{
    uint32_t hash = adp_secret_hash_bytes(ip, sizeof *ip, 0);
    struct known_address *address;

    HMAP_FOR_EACH_WITH_HASH (address, node, hash, &name->addresses) {
        if (!memcmp(&address->ip, ip, sizeof *ip)) {
            address->expires = MAX(address->expires, expires);
            return ADP_NAMES_KNOWN;
        }
    }
    if (is_full(name)) {
        return ADP_NAMES_FULL;
    }
    address = xmalloc(sizeof *address);
    address->ip = *ip;
    address->expires = expires;
    hmap_insert(&name->addresses, &address->node, hash);
    s->n_addresses++;
    name->next_expiry = MIN(name->next_expiry, expires);
    s->next_expiry = MIN(s->next_expiry, expires);

    const struct hmapx_node *node;
    HMAPX_FOR_EACH (node, &name->patterns) {
        struct pattern *pattern = node->data;

        pattern->n_addresses++;
    }
    change_patterns_of(name);
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
        enum adp_names_learned one = (pattern->changed ? ADP_NAMES_CHANGED
                                      : pattern->taken ? ADP_NAMES_TAKEN
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

static void
expire_addresses(struct adp_names_store *s, struct name *name,
                 long long int now)
{
    struct known_address *address;

    name->next_expiry = LLONG_MAX;
    HMAP_FOR_EACH_SAFE (address, node, &name->addresses) {
        if (address->expires <= now) {
            remove_address(s, name, address);
        } else {
            name->next_expiry = MIN(name->next_expiry, address->expires);
        }
    }
}

void
adp_names_store_expire(struct adp_names_store *s, long long int now)
{
    struct shash_node *node, *next;

    if (now < s->next_expiry) {
        return;
    }
    s->next_expiry = LLONG_MAX;
    SHASH_FOR_EACH_SAFE (node, next, &s->names) {
        struct name *name = node->data;

        if (name->next_expiry <= now) {
            expire_addresses(s, name, now);
        }
        if (hmap_is_empty(&name->addresses)) {
            remove_name(s, name);
        } else {
            s->next_expiry = MIN(s->next_expiry, name->next_expiry);
        }
    }
}

long long int
adp_names_store_next_expiry(const struct adp_names_store *s)
{
    return s->next_expiry;
}

/* Changes. */

bool
adp_names_store_has_changes(const struct adp_names_store *s)
{
    const struct shash_node *node;

    if (!sset_is_empty(&s->gone)) {
        return true;
    }
    SHASH_FOR_EACH (node, &s->patterns) {
        const struct pattern *pattern = node->data;

        if (pattern->changed) {
            return true;
        }
    }
    return false;
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
adp_names_store_take_changes(struct adp_names_store *s,
                             adp_names_change_cb *cb, void *aux)
{
    const struct shash_node *node;
    const char *text;

    SSET_FOR_EACH (text, &s->gone) {
        cb(text, NULL, 0, aux);
        sset_add(&s->taken_gone, text);
    }
    sset_clear(&s->gone);
    SHASH_FOR_EACH (node, &s->patterns) {
        struct pattern *pattern = node->data;

        if (pattern->changed) {
            struct in6_addr *ips;
            size_t n = addresses_of(pattern, &ips);

            pattern->changed = false;
            pattern->taken = true;
            cb(pattern->text, ips, n, aux);
            free(ips);
        }
    }
}

/* That nobody uses 'text' any more has not come into force.  Perhaps somebody
 * does again. */
static void
take_gone_again(struct adp_names_store *s, const char *text)
{
    struct pattern *pattern = shash_find_data(&s->patterns, text);

    if (pattern) {
        pattern->changed = true;
    } else {
        sset_add(&s->gone, text);
    }
}

void
adp_names_store_end_changes(struct adp_names_store *s, bool in_force)
{
    const struct shash_node *node;
    const char *text;

    SHASH_FOR_EACH (node, &s->patterns) {
        struct pattern *pattern = node->data;

        pattern->changed |= pattern->taken && !in_force;
        pattern->taken = false;
    }
    if (!in_force) {
        SSET_FOR_EACH (text, &s->taken_gone) {
            take_gone_again(s, text);
        }
    }
    sset_clear(&s->taken_gone);
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
        .n_patterns = shash_count(&s->patterns),
        .n_names = shash_count(&s->names),
        .n_addresses = s->n_addresses,
    };
}
