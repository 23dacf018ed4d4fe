/* SPDX-License-Identifier: Apache-2.0 */

#ifndef MODEL_TRANSACT_H
#define MODEL_TRANSACT_H 1

struct adp_error;
struct adp_model;
struct adp_model_env;

/* One transaction: deletes what 'delete' names and applies 'apply' (elements
 * of JSON arrays as in quoted-json.h; each may be NULL).  Returns the error,
 * and the model is as before, or NULL. */
struct adp_error *model_transact(struct adp_model *, const char *apply,
                                 const char *delete,
                                 const struct adp_model_env *);

#endif /* model-transact.h */
