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

static void
emit_scalar(yaml_emitter_t *emitter, const char *text, bool is_string)
{
    /* A string that would read as something else needs quotes. */
    struct json *other = is_string ? dpctl_load_plain_scalar(text) : NULL;
    yaml_scalar_style_t style = (other ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                                 : is_string && strchr(text, '\n')
                                 ? YAML_LITERAL_SCALAR_STYLE
                                 : YAML_ANY_SCALAR_STYLE);
    yaml_event_t event;

    json_destroy(other);
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

/* Tables. */

void
dpctl_table_init(struct dpctl_table *table, const char *const *headings,
                 size_t n)
{
    svec_init(&table->cells);
    table->n_columns = n;
    for (size_t i = 0; i < n; i++) {
        svec_add(&table->cells, headings[i]);
    }
}

void
dpctl_table_add(struct dpctl_table *table, char *text)
{
    svec_add_nocopy(&table->cells, text ? text : xstrdup("-"));
}

void
dpctl_table_print(const struct dpctl_table *table)
{
    size_t n_columns = table->n_columns;
    size_t *widths = xcalloc(n_columns, sizeof *widths);

    for (size_t i = 0; i < table->cells.n; i++) {
        size_t *width = &widths[i % n_columns];
        *width = MAX(*width, strlen(table->cells.names[i]));
    }
    for (size_t i = 0; i < table->cells.n; i++) {
        bool last = i % n_columns == n_columns - 1;
        if (!i) {
            fputs(dpctl_bold(), stdout);
        }
        if (last) {
            fputs(table->cells.names[i], stdout);
        } else {
            printf("%-*s", (int) widths[i % n_columns] + 3,
                   table->cells.names[i]);
        }
        if (i == n_columns - 1) {
            fputs(dpctl_plain(), stdout);
        }
        if (last) {
            putchar('\n');
        }
    }
    free(widths);
}

void
dpctl_table_destroy(struct dpctl_table *table)
{
    svec_destroy(&table->cells);
}

/* Counters. */

static char *
counter_text(const struct json *json)
{
    return (!json || json->type == JSON_NULL ? NULL
            : json->type == JSON_STRING ? xstrdup(json->string)
            : json_to_string(json, JSSF_SORT));
}

/* "drops_by_table" to "drops by table". */
static char *
counter_name(const char *name)
{
    char *text = xstrdup(name);

    for (char *c = text; *c; c++) {
        if (*c == '_') {
            *c = ' ';
        }
    }
    return text;
}

static bool
is_array_of_objects(const struct json *json)
{
    for (size_t i = 0; json->type == JSON_ARRAY && i < json->array.n; i++) {
        if (json->array.elems[i]->type != JSON_OBJECT) {
            return false;
        }
    }
    return json->type == JSON_ARRAY && json->array.n;
}

static void
print_rows(const struct json_array *rows)
{
    /* The columns are the members of all rows. */
    struct svec columns = SVEC_EMPTY_INITIALIZER;
    for (size_t i = 0; i < rows->n; i++) {
        const struct shash_node *node;
        SHASH_FOR_EACH (node, json_object(rows->elems[i])) {
            svec_add(&columns, node->name);
        }
    }
    svec_sort_unique(&columns);
    size_t name = svec_find(&columns, "name");
    if (name != SIZE_MAX) {
        char *text = columns.names[name];
        memmove(columns.names + 1, columns.names, name * sizeof text);
        columns.names[0] = text;
    }

    struct dpctl_table table;
    svec_init(&table.cells);
    table.n_columns = columns.n;
    for (size_t i = 0; i < columns.n; i++) {
        char *heading = counter_name(columns.names[i]);
        for (char *c = heading; *c; c++) {
            *c = *c == ' ' ? '-' : *c >= 'a' && *c <= 'z' ? *c - 32 : *c;
        }
        dpctl_table_add(&table, heading);
    }
    for (size_t i = 0; i < rows->n; i++) {
        for (size_t j = 0; j < columns.n; j++) {
            dpctl_table_add(&table,
                            counter_text(dpctl_json_member(rows->elems[i],
                                                           columns.names[j])));
        }
    }
    dpctl_table_print(&table);
    dpctl_table_destroy(&table);
    svec_destroy(&columns);
}

void
dpctl_print_counters(const struct json *json, int indent)
{
    if (json->type != JSON_OBJECT) {
        char *text = counter_text(json);
        printf("%*s%s\n", indent, "", text ? text : "-");
        free(text);
        return;
    }

    const struct shash_node **nodes = shash_sort(json->object);
    size_t n = shash_count(json->object);
    int width = 0;
    for (size_t i = 0; i < n; i++) {
        const struct json *value = nodes[i]->data;
        if (value->type != JSON_OBJECT && !is_array_of_objects(value)) {
            width = MAX(width, (int) strlen(nodes[i]->name));
        }
    }

    /* Plain values first, then what has a heading. */
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            const struct json *value = nodes[i]->data;
            bool rows = is_array_of_objects(value);
            if ((value->type == JSON_OBJECT || rows) != pass) {
                continue;
            }
            char *name = counter_name(nodes[i]->name);
            if (!pass) {
                char *text = counter_text(value);
                printf("%*s%s:%*s%s\n", indent, "", name,
                       width - (int) strlen(name) + 1, "",
                       text ? text : "-");
                free(text);
            } else {
                printf("%*s%s%s:%s\n", indent, "", dpctl_bold(), name,
                       dpctl_plain());
                if (rows) {
                    print_rows(json_array(value));
                } else {
                    dpctl_print_counters(value, indent + 2);
                }
            }
            free(name);
        }
    }
    free(nodes);
}
