/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_WORLD_H
#define DPCTL_WORLD_H 1

/* The part of the daemon's state that one change concerns.
 *
 * Records are asked for as it turns out that they matter: dpctl_world_want()
 * and dpctl_world_want_keys() note what to ask for, dpctl_world_fetch() asks.
 * What was found stays, and what wasn't there isn't asked for again.  Who asks
 * by keys gets the Manifests with DPCTL_KEY_ANY, too, which may be large: the
 * daemon is asked for them once.
 *
 * All of it is of one generation.  Once the daemon has another one, the world
 * is stale: what it knows doesn't fit together, and the caller begins anew.
 *
 * Memory: what was fetched, until the world is destroyed.
 */

#include <stdbool.h>
#include <stddef.h>
#include "openvswitch/shash.h"

struct json;
struct sset;

/* Where records come from. */
struct dpctl_source {
    /* The result of the call "get" with 'param', which it takes.  The caller
     * destroys it. */
    struct json *(*get)(void *aux, struct json *param);
    void *aux;
};

struct dpctl_world {
    const struct dpctl_source *source;
    struct shash records;       /* dpctl_record_key() to struct json *, or to
                                 * NULL if there is no such record. */
    struct json *names;         /* To be asked for: arrays. */
    struct json *keys;

    struct json *any;           /* Those with DPCTL_KEY_ANY; NULL if nobody
                                 * has asked for them yet. */
    struct json *reply;         /* The latest. */
    struct json *generation;    /* NULL before the first fetch. */
    bool stale;
    bool complete;              /* Do keys find all Manifests? */
    size_t total;               /* Records that the daemon has. */
};

void dpctl_world_init(struct dpctl_world *, const struct dpctl_source *);
void dpctl_world_destroy(struct dpctl_world *);

void dpctl_world_want(struct dpctl_world *, const char *kind,
                      const char *name);
/* Borrows: dpctl_keys_*() fill it. */
struct json *dpctl_world_want_keys(struct dpctl_world *);

/* Returns the records that were found, borrowed until the next fetch, as an
 * array; NULL if the world is stale.  Asks nobody if nothing is wanted. */
const struct json *dpctl_world_fetch(struct dpctl_world *);

/* Adds to 'found' those of the records with these names ("KIND NAME") that
 * there are.  They are told, not kept. */
void dpctl_world_which(struct dpctl_world *, const struct sset *names,
                       struct sset *found);

/* Adds the names ("KIND NAME") of the records that bear such keys to 'found',
 * but for those with DPCTL_KEY_ANY.  Takes 'keys'. */
void dpctl_world_which_bear(struct dpctl_world *, struct json *keys,
                            struct sset *found);

/* NULL if there is no such record, or it was never asked for. */
const struct json *dpctl_world_record(const struct dpctl_world *,
                                      const char *kind, const char *name);
/* The object of a Manifest, likewise. */
const struct json *dpctl_world_object(const struct dpctl_world *,
                                      const char *manifest_name);

#endif /* dpctl-world.h */
