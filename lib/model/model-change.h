/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MODEL_CHANGE_H
#define ADP_MODEL_CHANGE_H 1

/* What a transaction has changed in a model, to be looked at or undone.
 *
 * For the checks across records, and for who derives something from the model
 * and wants to do no more than the change asks for.
 *
 * Thread-safety: as the model.
 */

#include "model-records.h"

/* A record that is another one than before the transaction. */
struct adp_model_change {
    enum adp_kind kind;
    const char *name;
    const struct adp_record *old; /* NULL: there was none. */
    const struct adp_record *new; /* NULL: there is none any more. */
};

/* The changes of the transaction under way, in the order in which their
 * records were first named; a record that came and went again is among them,
 * with two NULLs.  Good until the next change. */
const struct adp_model_change *const *adp_model_changes(
    const struct adp_model *, size_t *n);

/* The same of its latest step, with what was before the transaction. */
const struct adp_model_change *const *adp_model_step_changes(
    const struct adp_model *, size_t *n);

/* Has that changed the record?  Sets '*before' to what it was when the step
 * began, NULL if there was none. */
bool adp_model_step_changed(const struct adp_model *, enum adp_kind,
                            const char *name,
                            const struct adp_record **before);

/* Was the model emptied, so that all is new?  By the latest step? */
bool adp_model_was_cleared(const struct adp_model *);
bool adp_model_step_cleared(const struct adp_model *);

/* The change of the record, NULL if it is as before. */
const struct adp_model_change *adp_model_find_change(const struct adp_model *,
                                                     enum adp_kind,
                                                     const char *name);

/* As adp_model_sorted(), but the records of before the transaction.  Linear in
 * those of 'kind', with a sort, and in all that it has changed. */
const struct adp_record **adp_model_sorted_before(const struct adp_model *,
                                                  enum adp_kind, size_t *n);

/* For the checks: who knows who has what (model-claims.h).  NULL outside of
 * transactions. */
struct adp_model_claims;
const struct adp_model_claims *adp_model_get_claims(const struct adp_model *);

#endif /* model-change.h */
