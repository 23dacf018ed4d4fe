/* SPDX-License-Identifier: Apache-2.0 */

/* The pipeline as a drawing, from top to bottom: a box for each table, under
 * the name of its stage, and left of the boxes the way of the packet from
 * table to table.  A step that skips tables makes a bow to the left; one that
 * comes back, to the right. */

#include <config.h>
#include "dpctl-html.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-walk.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

enum {
    WIDTH = 340,
    RAIL_X = 52,                /* Where the path goes. */
    BOX_X = 78,
    BOX_WIDTH = WIDTH - BOX_X - 2,
    BOX_HEIGHT = 20,
    ROW_HEIGHT = 23,
    STAGE_HEIGHT = 19,          /* Of a stage's name. */
    END_HEIGHT = 24,            /* Of a port. */
    END_SPACE = 12,             /* Between a port and the tables. */
};

struct drawn_row {
    const struct json *table;
    int id;
    int y;                      /* Of the middle. */
    bool on;                    /* Did the packet come here? */
    size_t first_visit;         /* If it did. */
    bool last;                  /* Did its walk end here? */
};

struct drawing {
    const struct json *trace;
    struct ds *s;
    struct drawn_row *rows;
    size_t n_rows;
    int height;
};

static int
visit_table(const struct json *trace, size_t i)
{
    return dpctl_json_int(dpctl_walk_visit(trace, i), "id", -1);
}

static const struct drawn_row *
find_row(const struct drawing *d, int id)
{
    for (size_t i = 0; i < d->n_rows; i++) {
        if (d->rows[i].id == id) {
            return &d->rows[i];
        }
    }
    return NULL;
}

static bool
is_outcome(const struct drawing *d, const char *word)
{
    return dpctl_walk_is_outcome(d->trace, word);
}

/* Layout. */

/* The stage of row 'i', if it is the first of its stage. */
static const char *
new_stage(const struct json_array *tables, size_t i)
{
    const char *stage = dpctl_json_str(tables->elems[i], "stage");
    const char *before = i ? dpctl_json_str(tables->elems[i - 1], "stage")
                         : NULL;

    return stage && !(before && !strcmp(stage, before)) ? stage : NULL;
}

static void
layout(struct drawing *d)
{
    const struct json_array *tables = dpctl_json_array(d->trace,
                                                       "pipeline_tables");
    size_t n_visits = dpctl_walk_n_visits(d->trace);
    int y = END_HEIGHT + END_SPACE;

    d->n_rows = tables->n;
    d->rows = xcalloc(tables->n, sizeof *d->rows);
    for (size_t i = 0; i < tables->n; i++) {
        struct drawn_row *row = &d->rows[i];

        y += new_stage(tables, i) ? STAGE_HEIGHT : 0;
        row->table = tables->elems[i];
        row->id = dpctl_json_int(row->table, "id", -1);
        row->y = y + ROW_HEIGHT / 2;
        for (size_t j = n_visits; j-- > 0; ) {
            if (visit_table(d->trace, j) == row->id) {
                row->last |= j + 1 == n_visits;
                row->on = true;
                row->first_visit = j;
            }
        }
        y += ROW_HEIGHT;
    }
    d->height = y + END_SPACE + END_HEIGHT;
}

/* Tables. */

static void
draw_stages(const struct drawing *d)
{
    const struct json_array *tables = dpctl_json_array(d->trace,
                                                       "pipeline_tables");

    for (size_t i = 0; i < d->n_rows; i++) {
        const char *stage = new_stage(tables, i);

        if (stage) {
            ds_put_format(d->s, "<text class=\"stage\" x=\"%d\" y=\"%d\">",
                          BOX_X, d->rows[i].y - ROW_HEIGHT / 2 - 4);
            dpctl_html_escape(stage, d->s);
            ds_put_cstr(d->s, "</text>\n");
        }
    }
}

static void
draw_box(const struct drawing *d, const struct drawn_row *row)
{
    const char *name = dpctl_json_str(row->table, "table");
    int baseline = row->y + 4;

    ds_put_format(d->s, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                  "rx=\"4\"/>", BOX_X, row->y - BOX_HEIGHT / 2, BOX_WIDTH,
                  BOX_HEIGHT);
    ds_put_format(d->s, "<text class=\"id\" x=\"%d\" y=\"%d\">%d</text>",
                  BOX_X + 28, baseline, row->id);
    ds_put_format(d->s, "<text x=\"%d\" y=\"%d\">", BOX_X + 38, baseline);
    dpctl_html_escape(name ? name : "Table", d->s);
    ds_put_cstr(d->s, "</text>");
}

static void
draw_table(const struct drawing *d, const struct drawn_row *row)
{
    const char *about = dpctl_json_str(row->table, "about");
    bool dropped = row->last && (is_outcome(d, "dropped")
                                 || is_outcome(d, "rejected"));
    bool punted = row->last && is_outcome(d, "punted");

    ds_put_format(d->s, "<g class=\"table%s%s\" data-table=\"%d\">",
                  row->on ? " on" : "",
                  dropped ? " dropped" : punted ? " punted" : "", row->id);
    if (about) {
        ds_put_cstr(d->s, "<title>");
        dpctl_html_escape(about, d->s);
        ds_put_cstr(d->s, "</title>");
    }
    if (row->on) {
        ds_put_format(d->s, "<a href=\"#visit-%"PRIuSIZE"\">",
                      row->first_visit);
    }
    draw_box(d, row);
    ds_put_cstr(d->s, row->on ? "</a></g>\n" : "</g>\n");
}

/* Does the packet's way lead out of the last table? */
static bool
leaves(const struct drawing *d)
{
    return is_outcome(d, "forwarded") || is_outcome(d, "to controller");
}

/* The stop of the packet's way at a table. */
static void
draw_stop(const struct drawing *d, const struct drawn_row *row)
{
    if (row->last && !leaves(d)) {
        ds_put_format(d->s, "<g class=\"end %s\"><circle cx=\"%d\" cy=\"%d\" "
                      "r=\"8\"/>", !is_outcome(d, "punted") ? "dropped"
                      : "punted", RAIL_X, row->y);
        ds_put_format(d->s, "<path d=\"M%d %dl7 7m0 -7l-7 7\"/></g>\n",
                      RAIL_X - 3, row->y - 3);
    } else {
        ds_put_format(d->s, "<circle class=\"stop%s\" cx=\"%d\" cy=\"%d\" "
                      "r=\"%s\"/>\n", row->on ? " on" : "", RAIL_X, row->y,
                      row->on ? "4.5" : "2.5");
    }
}

/* The way. */

static void
draw_edge(const struct drawing *d, const struct drawn_row *from,
          const struct drawn_row *to, bool back)
{
    int n_rows = abs((int) (to - from));
    int bow = (back ? 18 : n_rows <= 1 ? 0
               : n_rows >= 8 ? 46 : 16 + 4 * n_rows);
    int x = back ? RAIL_X + bow : RAIL_X - bow;
    int end = to->y + (to->y > from->y ? -6 : to->y < from->y ? 6 : 0);

    ds_put_format(d->s, "<path class=\"edge%s\" data-from=\"%d\" "
                  "data-to=\"%d\" d=\"M%d %d",
                  back ? " back" : "", from->id, to->id, RAIL_X, from->y);
    if (from == to) {
        ds_put_format(d->s, "c-30 -14 -30 14 -6 2");
    } else if (bow) {
        ds_put_format(d->s, "C%d %d %d %d %d %d", x, from->y, x, to->y,
                      RAIL_X + (back ? 5 : -5), to->y);
    } else {
        ds_put_format(d->s, "V%d", end);
    }
    ds_put_cstr(d->s, "\" marker-end=\"url(#arrow)\"/>\n");
}

static void
draw_way(const struct drawing *d)
{
    size_t n = dpctl_walk_n_visits(d->trace);

    for (size_t i = 0; i + 1 < n; i++) {
        struct dpctl_walk_next next = dpctl_walk_next(d->trace, i);
        const struct drawn_row *from = find_row(d, visit_table(d->trace, i));
        const struct drawn_row *to = find_row(d, visit_table(d->trace, i + 1));

        if (next.back && next.visit != SIZE_MAX) {
            const struct drawn_row *caller
                = find_row(d, visit_table(d->trace, next.visit));

            if (from && caller) {
                draw_edge(d, from, caller, true);
            }
            from = caller;
        }
        if (from && to) {
            draw_edge(d, from, to, false);
        }
    }
}

/* Ports at the ends. */

static void
draw_port(const struct drawing *d, const char *what, const char *port, int y)
{
    ds_put_format(d->s, "<g class=\"port\"><rect x=\"1\" y=\"%d\" "
                  "width=\"%d\" height=\"%d\" rx=\"4\"/>", y, WIDTH - 2,
                  END_HEIGHT);
    ds_put_format(d->s, "<text x=\"%d\" y=\"%d\"><tspan class=\"what\">%s"
                  "</tspan>&#160; ", 12, y + END_HEIGHT / 2 + 4, what);
    dpctl_html_escape(port, d->s);
    ds_put_cstr(d->s, "</text></g>\n");
}

/* The way from the last table, which may be NULL. */
static void
draw_out(const struct drawing *d, const struct drawn_row *last,
         const char *ports)
{
    if (last) {
        ds_put_format(d->s, "<path class=\"edge\" d=\"M%d %dV%d\" "
                      "marker-end=\"url(#arrow)\"/>\n", RAIL_X, last->y,
                      d->height - END_HEIGHT - 2);
    }
    draw_port(d, "out", ports, d->height - END_HEIGHT - 1);
}

static void
draw_ends(const struct drawing *d)
{
    const char *in_port = dpctl_json_str(d->trace, "in_port");
    size_t n_outputs = dpctl_walk_n_outputs(d->trace);
    size_t n = dpctl_walk_n_visits(d->trace);
    const struct drawn_row *first = NULL;
    const struct drawn_row *last = NULL;

    if (n) {
        first = find_row(d, visit_table(d->trace, 0));
        last = find_row(d, visit_table(d->trace, n - 1));
    }
    if (first) {
        ds_put_format(d->s, "<path class=\"edge\" d=\"M%d %dV%d\" "
                      "marker-end=\"url(#arrow)\"/>\n",
                      RAIL_X, END_HEIGHT + 1, first->y - 6);
    }
    draw_port(d, "in", in_port ? in_port : "?", 1);
    if (is_outcome(d, "to controller")) {
        draw_out(d, last, "controller");
    } else if (n_outputs && is_outcome(d, "forwarded")) {
        struct ds ports = DS_EMPTY_INITIALIZER;

        for (size_t i = 0; i < n_outputs; i++) {
            ds_put_format(&ports, "%s%s", i ? ", " : "",
                          dpctl_walk_output_port(d->trace, i));
        }
        draw_out(d, last, ds_cstr(&ports));
        ds_destroy(&ports);
    }
}

/* All of it. */

/* For those who can't see it. */
static void
describe(const struct drawing *d)
{
    const char *pipeline = dpctl_json_str(d->trace, "pipeline");
    const char *verdict = dpctl_json_str(d->trace, "verdict");

    ds_put_cstr(d->s, "<title id=\"drawing\">");
    dpctl_html_format(d->s, "The packet's way through pipeline %s",
                      pipeline ? pipeline : "?");
    ds_put_cstr(d->s, "</title>\n<desc id=\"way\">Tables ");
    for (size_t i = 0; i < dpctl_walk_n_visits(d->trace); i++) {
        ds_put_format(d->s, "%s%d", i ? ", " : "", visit_table(d->trace, i));
    }
    dpctl_html_format(d->s, "; %s", verdict ? verdict : "?");
    ds_put_cstr(d->s, "</desc>\n");
}

void
dpctl_html_pipeline(const struct json *trace, struct ds *s)
{
    struct drawing d = { .trace = trace, .s = s };

    layout(&d);
    ds_put_format(s, "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"group\""
                  " aria-labelledby=\"drawing way\" viewBox=\"0 0 %d %d\" "
                  "width=\"%d\" height=\"%d\">\n",
                  WIDTH, d.height, WIDTH, d.height);
    describe(&d);
    ds_put_cstr(s, "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"6\" "
                "refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
                "markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
                "<path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n");
    if (d.n_rows) {
        ds_put_format(s, "<path class=\"rail\" d=\"M%d %dV%d\"/>\n", RAIL_X,
                      d.rows[0].y, d.rows[d.n_rows - 1].y);
    }
    draw_stages(&d);
    for (size_t i = 0; i < d.n_rows; i++) {
        draw_table(&d, &d.rows[i]);
    }
    draw_way(&d);
    draw_ends(&d);
    for (size_t i = 0; i < d.n_rows; i++) {
        draw_stop(&d, &d.rows[i]);
    }
    ds_put_cstr(s, "</svg>\n");
    free(d.rows);
}
