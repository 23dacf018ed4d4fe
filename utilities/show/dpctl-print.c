/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "dpctl-json.h"
#include "dpctl-load.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

static bool
want_colors(void)
{
    return isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
}

const char *
dpctl_bold(void)
{
    return want_colors() ? "\033[1m" : "";
}

const char *
dpctl_plain(void)
{
    return want_colors() ? "\033[0m" : "";
}

/* YAML. */

/* Would the string read as something else if it had no quotes?  For breaks of
 * lines beyond ASCII's libyaml doesn't see to that. */
static bool
needs_quotes(const char *text)
{
    static const char *const breaks[] = {
        "\r", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9",
    };
    struct json *other = dpctl_load_plain_scalar(text);
    bool needs = other || !strcmp(text, "<<");

    json_destroy(other);
    for (size_t i = 0; i < ARRAY_SIZE(breaks) && !needs; i++) {
        needs = strstr(text, breaks[i]) != NULL;
    }
    return needs;
}

static void
emit_scalar(yaml_emitter_t *emitter, const char *text, bool is_string)
{
    yaml_scalar_style_t style = (!is_string ? YAML_ANY_SCALAR_STYLE
                                 : needs_quotes(text)
                                 ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                                 : strchr(text, '\n')
                                 ? YAML_LITERAL_SCALAR_STYLE
                                 : YAML_ANY_SCALAR_STYLE);
    yaml_event_t event;

    yaml_scalar_event_initialize(&event, NULL, NULL,
                                 (const yaml_char_t *) text, strlen(text), 1,
                                 1, style);
    yaml_emitter_emit(emitter, &event);
}

static void emit_value(yaml_emitter_t *, const struct json *);

static void
emit_object(yaml_emitter_t *emitter, const struct json *json)
{
    static const char *const first[] = {
        "apiVersion", "kind", "metadata", "name", "spec"
    };
    const struct shash_node **nodes = shash_sort(json->object);
    size_t n = shash_count(json->object);
    yaml_event_t event;

    yaml_mapping_start_event_initialize(&event, NULL, NULL, 1,
                                        (n ? YAML_BLOCK_MAPPING_STYLE
                                         : YAML_FLOW_MAPPING_STYLE));
    yaml_emitter_emit(emitter, &event);
    for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
        const struct shash_node *node = shash_find(json->object, first[i]);
        if (node) {
            emit_scalar(emitter, node->name, true);
            emit_value(emitter, node->data);
        }
    }
    for (size_t i = 0; i < n; i++) {
        bool done = false;
        for (size_t j = 0; j < ARRAY_SIZE(first); j++) {
            done |= !strcmp(nodes[i]->name, first[j]);
        }
        if (!done) {
            emit_scalar(emitter, nodes[i]->name, true);
            emit_value(emitter, nodes[i]->data);
        }
    }
    yaml_mapping_end_event_initialize(&event);
    yaml_emitter_emit(emitter, &event);
    free(nodes);
}

static void
emit_value(yaml_emitter_t *emitter, const struct json *json)
{
    if (json->type == JSON_OBJECT) {
        emit_object(emitter, json);
    } else if (json->type == JSON_ARRAY) {
        yaml_event_t event;
        yaml_sequence_start_event_initialize(&event, NULL, NULL, 1,
                                             (json->array.n
                                              ? YAML_BLOCK_SEQUENCE_STYLE
                                              : YAML_FLOW_SEQUENCE_STYLE));
        yaml_emitter_emit(emitter, &event);
        for (size_t i = 0; i < json->array.n; i++) {
            emit_value(emitter, json->array.elems[i]);
        }
        yaml_sequence_end_event_initialize(&event);
        yaml_emitter_emit(emitter, &event);
    } else if (json->type == JSON_STRING) {
        emit_scalar(emitter, json->string, true);
    } else {
        char *text = json_to_string(json, 0);
        emit_scalar(emitter, text, false);
        free(text);
    }
}

static int
write_to_ds(void *ds, unsigned char *buffer, size_t size)
{
    ds_put_buffer(ds, (const char *) buffer, size);
    return 1;
}

char *
dpctl_print_yaml(const struct json *json)
{
    struct ds ds = DS_EMPTY_INITIALIZER;
    yaml_emitter_t emitter;
    yaml_event_t event;

    yaml_emitter_initialize(&emitter);
    yaml_emitter_set_output(&emitter, write_to_ds, &ds);
    yaml_emitter_set_width(&emitter, -1);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    yaml_emitter_emit(&emitter, &event);
    yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
    yaml_emitter_emit(&emitter, &event);
    emit_value(&emitter, json);
    yaml_document_end_event_initialize(&event, 1);
    yaml_emitter_emit(&emitter, &event);
    yaml_stream_end_event_initialize(&event);
    yaml_emitter_emit(&emitter, &event);
    yaml_emitter_delete(&emitter);
    return ds_steal_cstr(&ds);
}

/* Texts from outside. */

char *
dpctl_print_tame(const char *text)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (const char *p = text; *p; p++) {
        unsigned char c = p[0], next = p[1];

        if (c < ' ' || c == 0x7f) {
            ds_put_format(&s, "\\x%02x", c);
        } else if (c == 0xc2 && next >= 0x80 && next < 0xa0) {
            ds_put_format(&s, "\\x%02x", next);
            p++;
        } else {
            ds_put_char(&s, c);
        }
    }
    return ds_steal_cstr(&s);
}

static struct json *
tame_copy(const struct json *json)
{
    struct json *copy;

    if (json->type == JSON_OBJECT) {
        const struct shash_node *node;

        copy = json_object_create();
        SHASH_FOR_EACH (node, json_object(json)) {
            char *name = dpctl_print_tame(node->name);

            json_object_put(copy, name, tame_copy(node->data));
            free(name);
        }
    } else if (json->type == JSON_ARRAY) {
        copy = json_array_create_empty();
        for (size_t i = 0; i < json->array.n; i++) {
            json_array_add(copy, tame_copy(json->array.elems[i]));
        }
    } else if (json->type == JSON_STRING) {
        copy = json_string_create_nocopy(dpctl_print_tame(json->string));
    } else {
        copy = json_clone(json);
    }
    return copy;
}

void
dpctl_print_formatted(const struct json *json,
                      void (*format)(const struct json *, struct ds *))
{
    struct json *tame = tame_copy(json);
    struct ds s = DS_EMPTY_INITIALIZER;

    format(tame, &s);
    fputs(ds_cstr(&s), stdout);
    ds_destroy(&s);
    json_destroy(tame);
}

/* Tables. */

void
dpctl_table_init(struct dpctl_table *table, const char *const *headings,
                 size_t n)
{
    svec_init(&table->cells);
    table->n_columns = n;
    table->numbers = 0;
    table->max_width = 0;
    table->kept_widths = NULL;
    table->headless = false;
    for (size_t i = 0; i < n; i++) {
        svec_add(&table->cells, headings[i]);
    }
}

void
dpctl_table_add(struct dpctl_table *table, char *text)
{
    svec_add_nocopy(&table->cells, dpctl_print_tame(text ? text : "-"));
    free(text);
}

#define COLUMN_GAP "   "

/* No text gets shorter than this. */
#define MIN_TEXT_WIDTH 9

static bool
is_number(const struct dpctl_table *table, size_t column)
{
    return column < 64 && table->numbers >> column & 1;
}

/* Takes from the widest texts what the table has too much. */
static void
fit(const struct dpctl_table *table, int widths[])
{
    int excess = ((int) strlen(COLUMN_GAP) * ((int) table->n_columns - 1)
                  - table->max_width);

    for (size_t i = 0; i < table->n_columns; i++) {
        excess += widths[i];
    }
    for (; table->max_width && excess > 0; excess--) {
        int *widest = NULL;

        for (size_t i = 0; i < table->n_columns; i++) {
            if (!is_number(table, i) && widths[i] > MIN_TEXT_WIDTH
                && (!widest || widths[i] > *widest)) {
                widest = &widths[i];
            }
        }
        if (!widest) {
            break;
        }
        --*widest;
    }
}

/* 'text' without as much of its middle as it takes to be 'width' long: names
 * often differ in their ends. */
static char *
shorten(const char *text, int width)
{
    int len = strlen(text);
    int head = (width - 3) / 2, tail = width - 3 - head;

    return (len <= width ? xstrdup(text)
            : xasprintf("%.*s...%s", head, text, text + len - tail));
}

static void
format_cell(const struct dpctl_table *table, size_t column, int width,
            const char *text_, struct ds *s)
{
    bool is_last = column == table->n_columns - 1;
    char *text = shorten(text_, width);

    if (is_number(table, column)) {
        ds_put_format(s, "%*s", width, text);
    } else if (is_last) {
        ds_put_cstr(s, text);
    } else {
        ds_put_format(s, "%-*s", width, text);
    }
    ds_put_cstr(s, is_last ? "\n" : COLUMN_GAP);
    free(text);
}

void
dpctl_table_format(const struct dpctl_table *table, struct ds *s)
{
    size_t n_columns = table->n_columns;
    int *widths = xcalloc(n_columns, sizeof *widths);

    for (size_t i = 0; i < table->cells.n; i++) {
        int *width = &widths[i % n_columns];
        *width = MAX(*width, (int) strlen(table->cells.names[i]));
    }
    for (size_t i = 0; table->kept_widths && i < n_columns; i++) {
        widths[i] = MAX(widths[i], table->kept_widths[i]);
        table->kept_widths[i] = widths[i];
    }
    fit(table, widths);
    ds_put_cstr(s, table->headless ? "" : dpctl_bold());
    for (size_t i = table->headless ? n_columns : 0; i < table->cells.n;
         i++) {
        if (i == n_columns && !table->headless) {
            ds_put_cstr(s, dpctl_plain());
        }
        format_cell(table, i % n_columns, widths[i % n_columns],
                    table->cells.names[i], s);
    }
    if (table->cells.n <= n_columns && !table->headless) {
        ds_put_cstr(s, dpctl_plain());
    }
    free(widths);
}

void
dpctl_table_print(const struct dpctl_table *table)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    dpctl_table_format(table, &s);
    fputs(ds_cstr(&s), stdout);
    ds_destroy(&s);
}

void
dpctl_table_destroy(struct dpctl_table *table)
{
    svec_destroy(&table->cells);
}

/* Members. */

static char *
member_text(const struct json *json)
{
    return (json->type == JSON_STRING ? xstrdup(json->string)
            : json_to_string(json, JSSF_SORT));
}

void
dpctl_print_members(const struct json *json)
{
    const struct shash_node **nodes = shash_sort(json_object(json));
    size_t n = shash_count(json_object(json));
    int width = 0;

    for (size_t i = 0; i < n; i++) {
        width = MAX(width, (int) strlen(nodes[i]->name));
    }
    for (size_t i = 0; i < n; i++) {
        char *text = member_text(nodes[i]->data);

        printf("%s:%*s%s\n", nodes[i]->name,
               width - (int) strlen(nodes[i]->name) + 1, "", text);
        free(text);
    }
    free(nodes);
}
