/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-html.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-walk.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Escaping. */

/* The length of the character at 'p' if it is UTF-8 that XML may hold, else
 * 0. */
static size_t
xml_char_len(const unsigned char *p)
{
    uint32_t c = *p;
    size_t len = (c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2
                  : c >= 0xe0 && c < 0xf0 ? 3
                  : c >= 0xf0 && c < 0xf5 ? 4 : 0);

    if (len == 1) {
        return c >= 0x20 || c == '\t' || c == '\n' || c == '\r';
    }
    c &= 0x7f >> len;
    for (size_t i = 1; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
        c = c << 6 | (p[i] & 0x3f);
    }
    /* Neither longer than need be, nor a surrogate, nor no character. */
    return ((len == 3 && c < 0x800) || (len == 4 && c < 0x10000)
            || (c >= 0xd800 && c < 0xe000) || (c & 0xfffe) == 0xfffe
            || c > 0x10ffff
            ? 0 : len);
}

void
dpctl_html_escape(const char *text, struct ds *s)
{
    while (*text) {
        size_t len = xml_char_len((const unsigned char *) text);

        switch (*text) {
        case '<':
            ds_put_cstr(s, "&lt;");
            break;
        case '>':
            ds_put_cstr(s, "&gt;");
            break;
        case '&':
            ds_put_cstr(s, "&amp;");
            break;
        case '"':
            ds_put_cstr(s, "&quot;");
            break;
        case '\'':
            ds_put_cstr(s, "&#39;");
            break;
        default:
            if (len) {
                ds_put_buffer(s, text, len);
            } else {
                ds_put_cstr(s, "\xef\xbf\xbd");
            }
        }
        text += len ? len : 1;
    }
}

void
dpctl_html_format(struct ds *s, const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = xvasprintf(format, args);
    va_end(args);
    dpctl_html_escape(text, s);
    free(text);
}

/* An element without attributes other than 'attributes', which is HTML. */
static void
put_element(struct ds *s, const char *name, const char *attributes,
            const char *text)
{
    ds_put_format(s, "<%s%s%s>", name, attributes ? " " : "",
                  attributes ? attributes : "");
    dpctl_html_escape(text, s);
    ds_put_format(s, "</%s>", name);
}

static const char *
str(const struct json *trace, const char *path)
{
    const char *s = dpctl_json_str(trace, path);

    return s ? s : "?";
}

/* The top of the page. */

/* The outcome as the name of a class: only one that we know. */
static const char *
outcome_class(const struct json *trace)
{
    return (dpctl_walk_is_outcome(trace, "forwarded")
            || dpctl_walk_is_outcome(trace, "to controller") ? "forwarded"
            : dpctl_walk_is_outcome(trace, "dropped")
              || dpctl_walk_is_outcome(trace, "rejected") ? "dropped"
            : "punted");
}

/* A link to a visit. */
static void
put_link(const struct json *trace, size_t visit, struct ds *s)
{
    char *title = dpctl_walk_title(trace, visit);

    ds_put_format(s, "<a href=\"#visit-%"PRIuSIZE"\">", visit);
    dpctl_html_escape(title, s);
    ds_put_cstr(s, "</a>");
    free(title);
}

/* Where the verdict was found, if it isn't where the walk ends. */
static void
put_decided(const struct json *trace, struct ds *s)
{
    size_t decided = dpctl_walk_decided(trace);

    if (decided != SIZE_MAX
        && (decided + 1 < dpctl_walk_n_visits(trace)
            || dpctl_walk_is_outcome(trace, "forwarded"))) {
        ds_put_cstr(s, ", decided in ");
        put_link(trace, decided, s);
    }
}

static void
put_verdict(const struct json *trace, struct ds *s)
{
    size_t n_visits = dpctl_walk_n_visits(trace);
    const char *reason = dpctl_json_str(trace, "reason");
    const char *at_present = dpctl_json_str(trace, "at_present");

    ds_put_format(s, "<p class=\"verdict %s\" id=\"verdict\"><strong>",
                  outcome_class(trace));
    if (dpctl_walk_is_outcome(trace, "forwarded")) {
        struct ds ports = DS_EMPTY_INITIALIZER;

        ds_put_cstr(s, "Forwarded");
        dpctl_walk_put_outputs(trace, &ports);
        dpctl_html_escape(ds_cstr(&ports), s);
        ds_destroy(&ports);
    } else {
        ds_put_cstr(s, dpctl_walk_is_outcome(trace, "dropped") ? "Dropped"
                    : dpctl_walk_is_outcome(trace, "rejected") ? "Rejected"
                    : dpctl_walk_is_outcome(trace, "to controller")
                    ? "Sent to the controller"
                    : "Left to stock translation");
        if (n_visits) {
            ds_put_cstr(s, " in ");
            put_link(trace, n_visits - 1, s);
        }
    }
    ds_put_cstr(s, "</strong>");
    put_decided(trace, s);
    if (reason) {
        ds_put_cstr(s, "<br/>");
        put_element(s, "span", "class=\"reason\"", reason);
    }
    if (at_present) {
        ds_put_cstr(s, "<br/>At present: ");
        put_element(s, "span", "class=\"reason\"", at_present);
    }
    ds_put_cstr(s, "</p>\n");
}

/* Where and when the trace was made, and by what. */
static void
put_origin(const struct json *trace, struct ds *s)
{
    static const struct {
        const char *path;
        const char *format;
    } parts[] = {
        { "page.node", "; on Node %s" }, { "page.time", ", %s" },
        { "page.version", ", antrea-dp %s" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
        const char *text = dpctl_json_str(trace, parts[i].path);

        if (text) {
            char *sentence = xasprintf(parts[i].format, text);

            dpctl_html_escape(sentence, s);
            free(sentence);
        }
    }
}

static void
put_header(const struct json *trace, struct ds *s)
{
    char *port = dpctl_walk_named(trace, str(trace, "in_port"));
    char *summary = dpctl_walk_summary(trace);

    ds_put_cstr(s, "<header>\n");
    put_element(s, "h1", NULL, summary);
    ds_put_cstr(s, "\n<p>");
    dpctl_html_format(s, "From port %s of bridge %s, pipeline %s", port,
                      str(trace, "bridge"), str(trace, "pipeline"));
    put_origin(trace, s);
    ds_put_cstr(s, "</p>\n");
    put_verdict(trace, s);
    ds_put_cstr(s, "</header>\n");
    free(summary);
    free(port);
}

/* Visits. */

/* Is there nothing to a visit but that the packet goes on? */
static bool
is_quiet(const struct json *trace, size_t i)
{
    const struct json *visit = dpctl_walk_visit(trace, i);
    const struct json_array *steps = dpctl_json_array(visit, "steps");

    return (dpctl_json_str(visit, "flow") && !dpctl_json_str(visit, "object")
            && steps->n == 1
            && !strcmp(str(steps->elems[0], "do"), "goto"));
}

/* The same, and by no other flow than the one for packets that no other is
 * for? */
static bool
is_miss(const struct json *trace, size_t i)
{
    return (is_quiet(trace, i)
            && !strcmp(str(dpctl_walk_visit(trace, i), "flow"),
                       "priority=0"));
}

static void
put_visit_heading(const struct json *trace, size_t i, struct ds *s)
{
    const struct json *visit = dpctl_walk_visit(trace, i);
    const struct json *table = dpctl_walk_table(trace, i);
    const char *about = table ? dpctl_json_str(table, "about") : NULL;
    const char *name = dpctl_json_str(visit, "table");

    ds_put_format(s, "<h3><b>%lld</b>", dpctl_json_int(visit, "id", 0));
    dpctl_html_escape(name ? name : "Table", s);
    if (about) {
        ds_put_char(s, ' ');
        put_element(s, "span", "class=\"about\"", about);
    }
    ds_put_cstr(s, "</h3>\n");
}

static void
put_next(const struct json *trace, size_t i, struct ds *s)
{
    struct dpctl_walk_next next = dpctl_walk_next(trace, i);

    if (next.visit != SIZE_MAX) {
        ds_put_format(s, "<p class=\"next\">Next: %s",
                      next.back ? "back in " : "");
        put_link(trace, next.visit, s);
        ds_put_cstr(s, "</p>\n");
    }
}

static void
put_visit(const struct json *trace, size_t i, struct ds *s)
{
    const struct json *visit = dpctl_walk_visit(trace, i);
    const char *flow = dpctl_json_str(visit, "flow");
    struct svec sentences = SVEC_EMPTY_INITIALIZER;

    ds_put_format(s, "<article id=\"visit-%"PRIuSIZE"\" data-table=\"%lld\" "
                  "class=\"visit%s\">\n", i, dpctl_json_int(visit, "id", 0),
                  is_quiet(trace, i) ? " quiet" : "");
    put_visit_heading(trace, i, s);
    if (flow) {
        ds_put_cstr(s, "<p>");
        put_element(s, "code", "class=\"flow\"", flow);
        ds_put_cstr(s, "</p>\n");
    }
    dpctl_walk_words(trace, i, &sentences);
    if (sentences.n) {
        char *words = svec_join(&sentences, " ", "");

        put_element(s, "p", "class=\"words\"", words);
        ds_put_char(s, '\n');
        free(words);
    }
    put_next(trace, i, s);
    ds_put_cstr(s, "</article>\n");
    svec_destroy(&sentences);
}

/* How many visits from 'i' on may be folded away: misses, but for one that a
 * link from the verdict leads to. */
static size_t
count_folded(const struct json *trace, size_t i)
{
    size_t n_visits = dpctl_walk_n_visits(trace);
    size_t decided = dpctl_walk_decided(trace);
    size_t n = 0;

    while (i + n + 1 < n_visits && i + n != decided && is_miss(trace, i + n)) {
        n++;
    }
    return n;
}

static void
put_visits(const struct json *trace, struct ds *s)
{
    size_t n_visits = dpctl_walk_n_visits(trace);

    for (size_t i = 0; i < n_visits; ) {
        size_t n = count_folded(trace, i);

        if (n) {
            ds_put_cstr(s, "<details><summary>");
            dpctl_html_format(s, "%"PRIuSIZE" table%s with no flow of its "
                              "own for the packet", n, n == 1 ? "" : "s");
            ds_put_cstr(s, "</summary>\n");
        }
        for (size_t end = i + MAX(n, 1); i < end; i++) {
            put_visit(trace, i, s);
        }
        if (n) {
            ds_put_cstr(s, "</details>\n");
        }
    }
}

/* Headers. */

static void
put_header_cell(const struct json *trace, const char *value, struct ds *s)
{
    const struct json *names = dpctl_json_member(trace, "names");
    const struct json *name = (names && value
                               ? dpctl_json_member(names, value) : NULL);

    ds_put_cstr(s, "<td>");
    put_element(s, "span", "class=\"address\"",
                value ? value : "\xe2\x80\x93");
    if (name && name->type == JSON_STRING) {
        put_element(s, "small", NULL, json_string(name));
    }
    ds_put_cstr(s, "</td>");
}

/* The headers before, and after if 'output' is one of the outputs. */
static void
put_headers(const struct json *trace, size_t output, struct ds *s)
{
    bool sent = output < dpctl_walk_n_outputs(trace);
    size_t n;
    struct dpctl_walk_header *headers = dpctl_walk_headers(trace, output, &n);

    ds_put_cstr(s, "<table>\n<tr><th>Header</th><th>");
    dpctl_html_format(s, "In: %s", str(trace, "in_port"));
    if (sent) {
        ds_put_cstr(s, "</th><th>");
        dpctl_html_format(s, "Out: %s", dpctl_walk_output_port(trace, output));
    }
    ds_put_cstr(s, "</th></tr>\n");
    for (size_t i = 0; i < n; i++) {
        const struct dpctl_walk_header *h = &headers[i];
        bool changed = sent && !nullable_string_is_equal(h->before, h->after);

        ds_put_format(s, "<tr%s>", changed ? " class=\"changed\"" : "");
        put_element(s, "th", NULL, h->name);
        put_header_cell(trace, h->before, s);
        if (sent) {
            put_header_cell(trace, h->after, s);
        }
        ds_put_cstr(s, "</tr>\n");
    }
    ds_put_cstr(s, "</table>\n");
    free(headers);
}

static void
put_raw(struct ds *s, const char *heading, const char *text)
{
    put_element(s, "h2", NULL, heading);
    ds_put_cstr(s, "\n<p class=\"raw\">");
    put_element(s, "code", NULL, text);
    ds_put_cstr(s, "</p>\n");
}

static void
put_details(const struct json *trace, struct ds *s)
{
    size_t n = dpctl_walk_n_outputs(trace);

    put_element(s, "h2", NULL, "Headers");
    ds_put_char(s, '\n');
    for (size_t i = 0; i < MAX(n, 1); i++) {
        put_headers(trace, i, s);
    }
    put_raw(s, "Flow", str(trace, "flow"));
    if (!dpctl_walk_is_outcome(trace, "punted")) {
        const char *actions = str(trace, "actions");

        put_raw(s, "Datapath actions", *actions ? actions : "drop");
    }
}

void
dpctl_html_walk(const struct json *trace, struct ds *s)
{
    char *summary = dpctl_walk_summary(trace);
    const char *to = dpctl_walk_destination(trace);
    const char *node = dpctl_json_str(trace, "page.node");

    ds_put_cstr(s, "<!DOCTYPE html>\n"
                "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n"
                "<head>\n<meta charset=\"utf-8\"/>\n"
                "<meta name=\"viewport\" "
                "content=\"width=device-width, initial-scale=1\"/>\n"
                "<meta http-equiv=\"Content-Security-Policy\" "
                "content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
                "<title>");
    dpctl_html_format(s, "Trace: %s%s%s%s%s%s: %s", summary, to ? " (" : "",
                      to ? to : "", to ? ")" : "", node ? " on " : "",
                      node ? node : "", str(trace, "outcome"));
    ds_put_format(s, "</title>\n<style>\n%s</style>\n</head>\n<body>\n",
                  dpctl_html_style);
    put_header(trace, s);
    ds_put_cstr(s, "<main>\n<figure>\n");
    dpctl_html_pipeline(trace, s);
    ds_put_cstr(s, "</figure>\n<div>\n");
    put_visits(trace, s);
    put_details(trace, s);
    ds_put_cstr(s, "</div>\n</main>\n</body>\n</html>\n");
    free(summary);
}
