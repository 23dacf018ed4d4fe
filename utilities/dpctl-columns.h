/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_COLUMNS_H
#define DPCTL_COLUMNS_H 1

/* The tables that "get" prints, a layout for each kind.  Some columns are for
 * -o wide alone. */

#include <stdbool.h>
#include <stddef.h>

enum { DPCTL_MAX_COLUMNS = 12 };

struct dpctl_layout;
struct dpctl_table;
struct json;
struct json_array;

/* Of records of 'kind'; NULL, or one without a layout: of any records. */
const struct dpctl_layout *dpctl_layout_of_records(const char *kind);
/* Of objects of the kind that the user calls 'word'. */
const struct dpctl_layout *dpctl_layout_of_objects(const char *word);
/* The kinds with a layout, in the order of "get all"; NULL behind them. */
const char *dpctl_layout_kind(size_t i);

/* Begins a table, whose first column is 'first' if that isn't NULL: its cells
 * are the caller's to add. */
void dpctl_layout_start(const struct dpctl_layout *, bool wide,
                        const char *first, struct dpctl_table *);
/* A row. */
void dpctl_layout_add(const struct dpctl_layout *, bool wide,
                      const struct json *record, struct dpctl_table *);

/* The records in 'found' with what wide columns take from others in
 * 'state'. */
struct json *dpctl_layout_widen(const struct json *found,
                                const struct json_array *state);

#endif /* dpctl-columns.h */
