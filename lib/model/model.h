/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MODEL_H
#define ADP_MODEL_H 1

/* The typed state: records of Nodes, Pods, Services, policies.
 *
 * A model is the set of records of one bridge, keyed by kind and name.
 * docs/control-socket.md has the schema.  Records are parsed and checked one
 * by one as they are applied; what concerns several of them (two Pods with one
 * IP, a group that doesn't exist, a port that doesn't exist) is checked by
 * adp_model_check() when a transaction has applied everything.
 *
 * A transaction changes the model in place, between adp_model_begin() and
 * adp_model_commit(), or adp_model_rollback() where something went wrong.
 * What it has changed model-change.h tells.  It may consist of steps, the
 * latest of which can be undone alone.
 *
 * Thread-safety: one thread at a time, origin and clones together.
 *
 * Cost: apply and delete are linear in the records given; so are begin (but
 * for a model's first, which is linear in all records), commit, rollback, the
 * undoing of a step and adp_model_check_changes(), except that a PeerNode or
 * the NodeConfig has the Pod CIDRs of all PeerNodes compared.
 * adp_model_check() is linear in all records (with a sort).  A clone takes one
 * hash node per record.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/compiler.h"
#include "openvswitch/json.h"
#include "openvswitch/types.h"

struct adp_model;

/* An error as the control socket reports it.  All strings malloc()ed; 'object'
 * and 'field' may be NULL. */
struct adp_error {
    const char *code;           /* "invalid", "missing", "limit": static. */
    char *object;               /* "Pod default/web". */
    char *field;                /* "ips[0]". */
    char *message;              /* "Pod default/web: ips[0]: ...". */
};

/* Takes 'object' and 'field', each of which may be NULL.  The message becomes
 * what 'format' yields, with those that are given in front. */
struct adp_error *adp_error_create(const char *code, char *object, char *field,
                                   const char *format, ...)
    OVS_PRINTF_FORMAT(4, 5);
void adp_error_destroy(struct adp_error *);

/* An object with "code" and "message", and "object" and "field" if known. */
struct json *adp_error_to_json(const struct adp_error *);

/* What the model must know of the bridge. */
struct adp_model_env {
    /* Sets '*port' and returns true if the bridge has port 'name'. */
    bool (*port_number)(const char *name, ofp_port_t *port, void *aux);
    uint16_t round;             /* Upper 16 bits of flow cookies. */
    uint64_t options;           /* Of the bridge's pipeline. */
    void *aux;
};

#define ADP_MODEL_MAX_RECORDS 1000000

struct adp_model *adp_model_create(void);
/* The records of before the transaction, if one is under way. */
struct adp_model *adp_model_clone(const struct adp_model *);
void adp_model_destroy(struct adp_model *);

/* A transaction: what comes in between can be undone.  At most one at a
 * time. */
void adp_model_begin(struct adp_model *);
void adp_model_commit(struct adp_model *);
void adp_model_rollback(struct adp_model *);

/* A step of the transaction ends, another begins.  (Its beginning begins the
 * first.) */
void adp_model_begin_step(struct adp_model *);
/* The records become what they were when the step began, and another
 * begins. */
void adp_model_undo_step(struct adp_model *);

/* 'records' is a JSON array.  On error returns it, and the model must be
 * rolled back or thrown away.  '*n', if 'n' is nonnull, becomes the number of
 * records applied. */
struct adp_error *adp_model_apply(struct adp_model *,
                                  const struct json *records, size_t *n);
/* 'keys' is a JSON array of objects with "kind" and "name".  '*n' becomes the
 * number of records that are gone. */
struct adp_error *adp_model_delete(struct adp_model *,
                                   const struct json *keys,
                                   bool ignore_missing, size_t *n);
/* The same for records that are the daemon's own (adp_kind_is_own()), which
 * the two above refuse, and which needn't be there to be deleted. */
struct adp_error *adp_model_apply_own(struct adp_model *,
                                      const struct json *records);
struct adp_error *adp_model_delete_own(struct adp_model *,
                                       const struct json *keys);
/* Deletes all but the daemon's own. */
void adp_model_clear(struct adp_model *);

/* Checks what the latest step of the transaction under way has changed.  The
 * records were checked before it; ports of those that it left alone may have
 * vanished since. */
struct adp_error *adp_model_check_changes(const struct adp_model *,
                                          const struct adp_model_env *);

/* Checks all records, except that the ports of those that a transaction under
 * way left alone may have vanished. */
struct adp_error *adp_model_check(const struct adp_model *,
                                  const struct adp_model_env *);

/* The records of a JSON array in the form in which a model keeps them, which
 * may take far less memory: objects of Manifests, which nobody here looks
 * into, as text.  Records that can't be read are left as they are. */
struct json *adp_model_compact(const struct json *records);

/* A JSON array of the records of 'kind' and 'name' (each may be NULL: all,
 * 'kind' all but the daemon's own), in the form they were given, ordered by
 * kind and name. */
struct json *adp_model_get(const struct adp_model *, const char *kind,
                           const char *name);
size_t adp_model_count(const struct adp_model *, const char *kind);
/* How many records there are, and addresses, Pods and rules in groups and
 * policies. */
size_t adp_model_size(const struct adp_model *);

/* Is 'kind' one of the kinds of records? */
bool adp_model_is_kind(const char *kind);

/* The record whose kind and name are members of 'json', whatever that is, or
 * NULL. */
const struct adp_record *adp_model_find_named(const struct adp_model *,
                                              const struct json *json);

/* How many records 'records' names, and how much these list at whatever depth
 * (rules, addresses, endpoints of ports), or did so far, whichever is more;
 * not more than 'max'. */
size_t adp_model_weigh(const struct adp_model *, const struct json *records,
                       size_t max);

#endif /* model.h */
