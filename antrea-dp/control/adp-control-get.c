/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-get.h"

#include <stdlib.h>

#include "adp-bridge-pipeline.h"
#include "adp-control-reading.h"
#include "adp-state.h"
#include "model-index.h"
#include "model.h"
#include "openvswitch/json.h"
#include "util.h"

/* Has copies of what the client said, which may be gone. */
struct control_get {
    bool some;
    char *kind;
    char *name;                 /* Of all. */
    struct json *names, *keys;  /* Of some. */
    bool brief;

    struct json *result;
    struct adp_error *error;
};

/* While a change is under way what is in force is no whole. */
static bool
get_may_begin(const struct adp_bridge *b, const void *get OVS_UNUSED)
{
    return !adp_state_is_busy(adp_bridge_state(b));
}

static void
read_some(struct control_get *get, const struct adp_state *state)
{
    const struct adp_model *model = adp_state_model(state);
    const struct adp_index *index = adp_state_index(state);
    struct adp_query query = {
        .kind = get->kind,
        .names = get->names,
        .keys = get->keys,
        .brief = get->brief,
    };
    struct json *records;

    get->error = adp_index_query(index, model, &query, &records);
    if (!get->error) {
        json_object_put(get->result, "records", records);
        json_object_put(get->result, "total",
                        json_integer_create(adp_model_count(model, NULL)));
        json_object_put(get->result, "unkeyed",
                        json_integer_create(adp_index_n_unkeyed(index)));
    }
}

static void
get_read(struct adp_bridge *b, void *get_)
{
    const struct adp_state *state = adp_bridge_state(b);
    struct control_get *get = get_;

    get->result = json_object_create();
    json_object_put(get->result, "generation",
                    json_integer_create(adp_state_generation(state)));
    if (get->some) {
        read_some(get, state);
    } else {
        json_object_put(get->result, "records",
                        adp_model_get(adp_state_model(state), get->kind,
                                      get->name));
    }
}

static struct json *
get_take(void *get_, struct adp_error **errorp)
{
    struct control_get *get = get_;
    struct json *result = get->result;

    if (get->error) {
        *errorp = get->error;
        get->error = NULL;
        return NULL;
    }
    get->result = NULL;
    return result;
}

static void
get_destroy(void *get_)
{
    struct control_get *get = get_;

    free(get->kind);
    free(get->name);
    json_destroy(get->names);
    json_destroy(get->keys);
    json_destroy(get->result);
    adp_error_destroy(get->error);
    free(get);
}

static struct adp_control_reading *
create(const struct adp_bridge *b, const struct control_get *get)
{
    static const struct adp_control_reading_class class = {
        .may_begin = get_may_begin,
        .read = get_read,
        .take = get_take,
        .destroy = get_destroy,
        .needs_state = true,
    };

    return adp_control_reading_create(&class, b, xmemdup(get, sizeof *get));
}

struct adp_control_reading *
adp_control_get_all(const struct adp_bridge *b, const char *kind,
                    const char *name)
{
    struct control_get get = {
        .kind = nullable_xstrdup(kind),
        .name = nullable_xstrdup(name),
    };

    return create(b, &get);
}

struct adp_control_reading *
adp_control_get_some(const struct adp_bridge *b, const struct adp_query *query)
{
    struct control_get get = {
        .some = true,
        .kind = nullable_xstrdup(query->kind),
        .names = query->names ? json_clone(query->names) : NULL,
        .keys = query->keys ? json_clone(query->keys) : NULL,
        .brief = query->brief,
    };

    return create(b, &get);
}
