/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_NAMES_H
#define ADP_NAMES_H 1

/* Which addresses the names have that rules are about, as DNS answers told.
 *
 * A pattern is what stands in rules: a name in lower case, in which "*" stands
 * for any text, dots included and none at all.  Only names that fit a pattern
 * in use are kept, each with its addresses, and each of these until its TTL is
 * over.  Who keeps rules in line with it asks which patterns have other
 * addresses than before.
 *
 * Bounds: addresses of a pattern, those of all its names taken together, so
 * that whoever makes up names in one domain fills up that one.  An address
 * that finds no room isn't kept.
 *
 * Thread-safety: one thread at a time.
 *
 * Cost: an answer about a known name costs what it lists; about another one, a
 * look at all patterns with "*".  A pattern that comes costs a look at all
 * names.  A change costs all addresses of its pattern, which are sorted.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct adp_dns_answer;
struct adp_names_store;
struct in6_addr;
struct sset;

#define ADP_NAMES_MAX_ADDRESSES 4096

/* In seconds: what TTLs are taken for that are longer, and, unless it is set
 * otherwise, shorter.  Who was told an address needs some time to use it. */
#define ADP_NAMES_MAX_TTL 86400
#define ADP_NAMES_DEFAULT_MIN_TTL 5

struct adp_names_store *adp_names_store_create(void);
void adp_names_store_destroy(struct adp_names_store *);
void adp_names_store_set_min_ttl(struct adp_names_store *, unsigned int ttl);

/* From now on these patterns are in use, and no others. */
void adp_names_store_use(struct adp_names_store *,
                         const struct sset *patterns);

/* Does some pattern fit 'name'?  Answers about others needn't be read. */
bool adp_names_store_wants(const struct adp_names_store *, const char *name);

enum adp_names_learned {
    ADP_NAMES_NONE,             /* The name matters to nobody. */
    ADP_NAMES_KNOWN,            /* Nothing new, */
    ADP_NAMES_TAKEN,            /* but changes of its patterns were taken, */
    ADP_NAMES_CHANGED,          /* or are still to be taken. */
    ADP_NAMES_NEW,              /* Patterns got addresses. */
    ADP_NAMES_FULL,             /* Some addresses have found no room. */
};
/* 'now' is in ms. */
enum adp_names_learned adp_names_store_learn(struct adp_names_store *,
                                             const struct adp_dns_answer *,
                                             long long int now);
/* When the next address is over, LLONG_MAX: there is none. */
long long int adp_names_store_next_expiry(const struct adp_names_store *);
/* Drops that one. */
void adp_names_store_expire_next(struct adp_names_store *);

/* Patterns whose addresses are others than when they were last taken.
 * 'addresses' are in order, each once; none for a pattern that isn't in use
 * any more, too. */
typedef void adp_names_change_cb(const char *pattern,
                                 const struct in6_addr *addresses, size_t n,
                                 void *aux);
bool adp_names_store_has_changes(const struct adp_names_store *);
/* Takes one that there is.  A pattern that changes afterwards is to be taken
 * again. */
void adp_names_store_take_change(struct adp_names_store *,
                                 adp_names_change_cb *, void *aux);
/* What was taken has come into force, or it hasn't and is to be taken
 * again. */
void adp_names_store_end_changes(struct adp_names_store *, bool in_force);

/* All that is known, in the order of names and addresses.  'expires' is in
 * ms. */
struct adp_names_visitor {
    void (*name)(const char *name, void *aux);
    void (*pattern)(const char *pattern, void *aux);    /* Of the name. */
    void (*address)(const struct in6_addr *, long long int expires, void *aux);
    void *aux;
};
void adp_names_store_visit(const struct adp_names_store *,
                           const struct adp_names_visitor *);

struct adp_names_usage {
    size_t n_patterns, n_names, n_addresses;
};
struct adp_names_usage adp_names_store_usage(const struct adp_names_store *);

/* Does 'name' fit 'pattern'? */
bool adp_names_match(const char *pattern, const char *name);

#endif /* adp-names.h */
