/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MODEL_CLAIMS_H
#define ADP_MODEL_CLAIMS_H 1

/* Who has what, and who uses whom, among a model's records.
 *
 * Claims tell, for a record, the others that claim what only one record may
 * have (an IP, a MAC, a port, a Service's address), and, for a group, the
 * policies, and what else applies to Pods, that name it.  With them the checks
 * across records look at what a transaction touched, and at nothing else.
 *
 * Memory: refers to the records, which must be taken out before they go; about
 * 50 bytes a claim, of which a Pod has three, and a pointer for each pair of
 * group and policy.
 *
 * Thread-safety: as the model.
 * Cost: a hash look-up for each claim of the record; two that claim one thing
 * are an error, so that there are rarely more than two.
 */

#include "model-records.h"

struct adp_model_claims;

struct adp_model_claims *adp_model_claims_create(void);
void adp_model_claims_destroy(struct adp_model_claims *);
void adp_model_claims_add(struct adp_model_claims *,
                          const struct adp_record *);
void adp_model_claims_remove(struct adp_model_claims *,
                             const struct adp_record *);

typedef void adp_model_claims_cb(const struct adp_record *, void *aux);

/* Calls 'cb' for each record that claims what 'record' does. */
void adp_model_claims_rivals(const struct adp_model_claims *,
                             const struct adp_record *record,
                             adp_model_claims_cb *cb, void *aux);
/* Calls 'cb' for each record that names the group. */
void adp_model_claims_users(const struct adp_model_claims *, enum adp_kind,
                            const char *name, adp_model_claims_cb *cb,
                            void *aux);

#endif /* model-claims.h */
