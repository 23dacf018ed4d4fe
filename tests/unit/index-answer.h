/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_INDEX_ANSWER_H
#define TESTS_INDEX_ANSWER_H 1

/* The daemon's part in tests of who asks it: what it answers to "get". */

#include <stdlib.h>
#include "dpctl-json.h"
#include "model-index.h"
#include "model.h"
#include "openvswitch/json.h"

/* What goes through a socket is text.  Takes 'json'. */
static inline struct json *
index_through_socket(struct json *json)
{
    char *text = json_to_string(json, 0);
    struct json *copy = json_from_string(text);

    free(text);
    json_destroy(json);
    return copy;
}

/* The answer to 'param', which it takes; or NULL, and '*error' says why. */
static inline struct json *
index_answer(struct adp_index *index, const struct adp_model *model,
             long long int generation, struct json *param,
             struct adp_error **error)
{
    struct adp_query query = {
        .names = dpctl_json_member(param, "names"),
        .keys = dpctl_json_member(param, "keys"),
        .brief = dpctl_json_bool(param, "brief", false),
    };
    struct json *reply = json_object_create();
    struct json *records;

    *error = adp_index_query(index, model, &query, &records);
    json_destroy(param);
    if (*error) {
        json_destroy(reply);
        return NULL;
    }
    json_object_put(reply, "generation", json_integer_create(generation));
    json_object_put(reply, "records", records);
    json_object_put(reply, "total",
                    json_integer_create(adp_model_count(model, NULL)));
    json_object_put(reply, "unkeyed",
                    json_integer_create(adp_index_n_unkeyed(index)));
    return index_through_socket(reply);
}

#endif /* index-answer.h */
