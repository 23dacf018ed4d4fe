/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_PRINT_H
#define DPCTL_PRINT_H 1

/* Output: YAML, JSON, aligned tables, bold headings on a terminal. */

#include <stdbool.h>
#include <stdint.h>
#include "openvswitch/json.h"
#include "svec.h"

struct ds;

/* The YAML of a value, as a document without "---".  "kind", "apiVersion" and
 * "name" come first, the other members sorted.  The caller frees it. */
char *dpctl_print_yaml(const struct json *);

/* 'text' with control characters as \xNN: those of ASCII, line breaks among
 * them, and U+0080 to U+009F.  A terminal would obey them, and names that
 * somebody chose may have some.  The caller frees it. */
char *dpctl_print_tame(const char *text);

/* What 'format' makes of 'json', whose texts are tame for that. */
void dpctl_print_formatted(const struct json *json,
                           void (*format)(const struct json *, struct ds *));

/* A table whose columns are as wide as they must be, like kubectl's. */
struct dpctl_table {
    struct svec cells;          /* Row by row, headings first. */
    size_t n_columns;
    uint64_t numbers;           /* Bit by bit: columns aligned to the right. */
    int max_width;            /* Beyond it texts lose their middle; 0: none. */
    int *kept_widths;         /* Of tables before this one: columns aren't
                               * narrower.  Set anew; NULL: there are none. */
    bool headless;            /* Without the headings. */
};

void dpctl_table_init(struct dpctl_table *, const char *const *headings,
                      size_t n);
/* Takes 'text', of which what is tame is shown; NULL is shown as "-". */
void dpctl_table_add(struct dpctl_table *, char *text);
void dpctl_table_format(const struct dpctl_table *, struct ds *);
void dpctl_table_print(const struct dpctl_table *);
void dpctl_table_destroy(struct dpctl_table *);

/* An object as "name: value" lines. */
void dpctl_print_members(const struct json *);

/* Escape sequences, or "" where they aren't wanted: not a terminal, NO_COLOR
 * set. */
const char *dpctl_bold(void);
const char *dpctl_plain(void);

#endif /* dpctl-print.h */
