/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-text.h"

#include <stdlib.h>
#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "openvswitch/shash.h"
#include "util.h"

/* Of a reply these are the reply, its result, and an array in that. */
#define LEVELS 3

/* An array or object of which a part has been written. */
struct text_level {
    struct json *json;
    size_t n_written;           /* Elements or members. */
    const struct shash_node *next; /* Of an object. */
    bool is_ours;               /* Nobody else holds it. */
};

struct adp_control_text {
    struct json *json;
    struct text_level levels[LEVELS];
    size_t n_levels;            /* That are open. */
    size_t n_pieces, n_bytes;   /* Of the innermost level, so far. */
};

static size_t
level_n(const struct text_level *level)
{
    return (level->json->type == JSON_ARRAY
            ? json_array(level->json)->n
            : shash_count(json_object(level->json)));
}

static struct text_level *
innermost(struct adp_control_text *text)
{
    return &text->levels[text->n_levels - 1];
}

/* Begins to write 'json', whose holder is ours or not. */
static void
open_level(struct adp_control_text *text, struct json *json, bool is_ours,
           struct ds *s)
{
    struct text_level *level = &text->levels[text->n_levels++];

    *level = (struct text_level) {
        .json = json,
        .is_ours = is_ours && json->count == 1,
    };
    if (json->type == JSON_OBJECT) {
        const struct hmap_node *node = hmap_first(&json_object(json)->map);

        level->next = (node ? CONTAINER_OF(node, struct shash_node, node)
                       : NULL);
    }
    ds_put_char(s, json->type == JSON_ARRAY ? '[' : '{');
    text->n_pieces = text->n_bytes = 0;
}

/* Lets go of the elements of an array that have been written. */
static void
drop_written(struct text_level *level)
{
    if (level->is_ours && level->json->type == JSON_ARRAY
        && level->n_written) {
        struct json_array *array = &level->json->array;

        for (size_t i = 0; i < level->n_written; i++) {
            json_destroy(array->elems[i]);
        }
        array->n -= level->n_written;
        memmove(array->elems, array->elems + level->n_written,
                array->n * sizeof *array->elems);
        level->n_written = 0;
    }
}

static void
close_level(struct adp_control_text *text, struct ds *s)
{
    struct text_level *level = innermost(text);

    ds_put_char(s, level->json->type == JSON_ARRAY ? ']' : '}');
    drop_written(level);
    text->n_levels--;
    text->n_pieces = text->n_bytes = 0;
}

/* Writes 'json', or its beginning if it becomes a level. */
static void
put_value(struct adp_control_text *text, struct json *json, bool is_ours,
          struct ds *s)
{
    if (text->n_levels < LEVELS
        && (json->type == JSON_ARRAY || json->type == JSON_OBJECT)) {
        open_level(text, json, is_ours, s);
    } else {
        json_to_ds(json, 0, s);
    }
}

static void
put_element(struct adp_control_text *text, struct text_level *level,
            struct ds *s)
{
    struct json **elementp = &level->json->array.elems[level->n_written++];

    put_value(text, *elementp, level->is_ours, s);
    if (level->is_ours && level == innermost(text)) {
        json_destroy(*elementp);
        *elementp = NULL;
    }
}

static void
put_member(struct adp_control_text *text, struct text_level *level,
           struct ds *s)
{
    const struct shash_node *member = level->next;
    const struct hmap_node *next = hmap_next(&json_object(level->json)->map,
                                             &member->node);
    struct json *name = json_string_create(member->name);

    level->n_written++;
    level->next = (next ? CONTAINER_OF(next, struct shash_node, node) : NULL);
    json_to_ds(name, 0, s);
    json_destroy(name);
    ds_put_char(s, ':');
    put_value(text, member->data, level->is_ours, s);
}

static void
put_piece(struct adp_control_text *text, struct ds *s)
{
    struct text_level *level = innermost(text);
    size_t before = s->length;

    if (level->n_written == level_n(level)) {
        close_level(text, s);
        return;
    }
    if (level->n_written) {
        ds_put_char(s, ',');
    }
    if (level->json->type == JSON_ARRAY) {
        put_element(text, level, s);
    } else {
        put_member(text, level, s);
    }
    if (level == innermost(text)) {
        text->n_pieces++;
        text->n_bytes += s->length - before;
    }
}

struct adp_control_text *
adp_control_text_create(struct json *json)
{
    struct adp_control_text *text = xzalloc(sizeof *text);

    text->json = json;
    return text;
}

void
adp_control_text_destroy(struct adp_control_text *text)
{
    if (text) {
        while (text->n_levels) {
            drop_written(innermost(text));
            text->n_levels--;
        }
        json_destroy(text->json);
        free(text);
    }
}

bool
adp_control_text_put(struct adp_control_text *text, struct ds *s, size_t len)
{
    size_t end = s->length + len;

    if (!text->n_levels) {
        put_value(text, text->json, true, s);
    }
    while (text->n_levels && s->length < end) {
        put_piece(text, s);
    }
    return !text->n_levels;
}

size_t
adp_control_text_left(const struct adp_control_text *text)
{
    if (!text->n_levels) {
        return 0;
    }

    const struct text_level *level = &text->levels[text->n_levels - 1];
    size_t n = level_n(level) - level->n_written;
    return 1 + (text->n_pieces ? n * text->n_bytes / text->n_pieces : n);
}
