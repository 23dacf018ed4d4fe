/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "model-transact.h"

#include "model.h"
#include "quoted-json.h"

struct adp_error *
model_transact(struct adp_model *model, const char *apply, const char *delete,
               const struct adp_model_env *env)
{
    struct json *keys = delete ? json_array_from_quoted(delete) : NULL;
    struct json *records = apply ? json_array_from_quoted(apply) : NULL;
    struct adp_error *error = NULL;

    adp_model_begin(model);
    if (keys) {
        error = adp_model_delete(model, keys, false, NULL);
    }
    if (!error && records) {
        error = adp_model_apply(model, records, NULL);
    }
    if (!error) {
        error = adp_model_check_changes(model, env);
    }
    if (error) {
        adp_model_rollback(model);
    } else {
        adp_model_commit(model);
    }
    json_destroy(keys);
    json_destroy(records);
    return error;
}
