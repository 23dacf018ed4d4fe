/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-pieces.h"

#include <string.h>

#include "openvswitch/json.h"
#include "util.h"

/* About as many bytes as the text of 'json' has; stops counting when it is
 * beyond 'max'. */
static size_t
text_len(const struct json *json, size_t max)
{
    enum { MIN_LEN = 4 };       /* A number, or what is around a string. */
    size_t len = MIN_LEN;

    if (json->type == JSON_STRING) {
        len += strlen(json_string(json));
    } else if (json->type == JSON_ARRAY) {
        for (size_t i = 0; i < json->array.n && len <= max; i++) {
            len += text_len(json->array.elems[i], max - len);
        }
    } else if (json->type == JSON_OBJECT) {
        const struct shash_node *node;

        SHASH_FOR_EACH (node, json_object(json)) {
            if (len > max) {
                break;
            }
            len += MIN_LEN + strlen(node->name);
            len += text_len(node->data, len > max ? 0 : max - len);
        }
    }
    return len;
}

void
dpctl_pieces_init(struct dpctl_pieces *p, const struct json *apply,
                  const struct json *delete, size_t max_len)
{
    *p = (struct dpctl_pieces) {
        .apply = apply, .delete = delete, .max_len = max_len,
    };
}

bool
dpctl_pieces_fit(const struct dpctl_pieces *p)
{
    size_t len = text_len(p->apply, p->max_len);

    return (len <= p->max_len
            && len + text_len(p->delete, p->max_len - len) <= p->max_len);
}

/* Takes elements of 'array' from '*n' on as long as they fit into '*len', but
 * at least one if 'must' says so.  Returns them, or NULL if that is none. */
static struct json *
take(const struct json *array, size_t *n, size_t *len, bool must)
{
    struct json *taken = NULL;

    for (; *n < array->array.n; ++*n) {
        struct json *element = array->array.elems[*n];
        size_t need = text_len(element, *len);
        if (need > *len && !must) {
            break;
        }
        taken = taken ? taken : json_array_create_empty();
        json_array_add(taken, json_clone(element));
        *len -= MIN(need, *len);
        must = false;
    }
    return taken;
}

struct json *
dpctl_pieces_next(struct dpctl_pieces *p)
{
    size_t len = p->max_len;
    struct json *delete = take(p->delete, &p->n_delete, &len, true);
    struct json *apply = take(p->apply, &p->n_apply, &len, !delete);

    if (!delete && !apply) {
        return NULL;
    }
    struct json *param = json_object_create();
    if (delete) {
        json_object_put(param, "delete", delete);
    }
    if (apply) {
        json_object_put(param, "apply", apply);
    }
    return param;
}
