/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-walk.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dpctl-json.h"
#include "dpctl-print.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

#define LINE_LEN 79
#define INDENT 4

bool
dpctl_walk_is_told(const struct json *trace)
{
    const struct json *visit = dpctl_walk_visit(trace, 0);

    return visit ? dpctl_json_member(visit, "steps") != NULL
           : dpctl_json_member(trace, "outcome") != NULL;
}

/* Visits. */

size_t
dpctl_walk_n_visits(const struct json *trace)
{
    return dpctl_json_array(trace, "tables")->n;
}

const struct json *
dpctl_walk_visit(const struct json *trace, size_t i)
{
    const struct json_array *visits = dpctl_json_array(trace, "tables");

    return i < visits->n ? visits->elems[i] : NULL;
}

const struct json *
dpctl_walk_table(const struct json *trace, size_t i)
{
    const struct json_array *tables = dpctl_json_array(trace,
                                                       "pipeline_tables");
    long long int id = dpctl_json_int(dpctl_walk_visit(trace, i), "id", -1);

    for (size_t j = 0; j < tables->n; j++) {
        if (dpctl_json_int(tables->elems[j], "id", -1) == id) {
            return tables->elems[j];
        }
    }
    return NULL;
}

char *
dpctl_walk_title(const struct json *trace, size_t i)
{
    const struct json *visit = dpctl_walk_visit(trace, i);
    const char *name = dpctl_json_str(visit, "table");

    return xasprintf("table %lld%s%s", dpctl_json_int(visit, "id", 0),
                     name ? " " : "", name ? name : "");
}

/* Does the walk come back from visit 'to' to visit 'from', which led there? */
static bool
comes_back(const struct json *trace, size_t from, size_t to)
{
    const struct json_array *steps
        = dpctl_json_array(dpctl_walk_visit(trace, from), "steps");

    for (size_t i = 0; i < steps->n; i++) {
        if (dpctl_json_int(steps->elems[i], "visit", -1) == to) {
            return dpctl_json_bool(steps->elems[i], "returns", false);
        }
    }
    return false;
}

/* The visit that the walk comes back to after visit 'i', the last one of a
 * detour, or SIZE_MAX. */
static size_t
find_return(const struct json *trace, size_t i)
{
    for (;;) {
        long long int from = dpctl_json_int(dpctl_walk_visit(trace, i),
                                            "from", -1);

        if (from < 0 || from >= i) {
            return SIZE_MAX;
        } else if (comes_back(trace, from, i)) {
            return from;
        }
        i = from;
    }
}

struct dpctl_walk_next
dpctl_walk_next(const struct json *trace, size_t i)
{
    const struct json_array *steps
        = dpctl_json_array(dpctl_walk_visit(trace, i), "steps");

    for (size_t j = 0; j < steps->n; j++) {
        long long int to = dpctl_json_int(steps->elems[j], "visit", -1);

        if (to > i && to < dpctl_walk_n_visits(trace)
            && !dpctl_json_bool(steps->elems[j], "returns", false)) {
            return (struct dpctl_walk_next) { .visit = to };
        }
    }
    return (struct dpctl_walk_next) {
        .visit = find_return(trace, i), .back = true,
    };
}

bool
dpctl_walk_is_outcome(const struct json *trace, const char *word)
{
    return nullable_string_is_equal(dpctl_json_str(trace, "outcome"), word);
}

/* Names and headers. */

/* The address in "10.10.0.26:40000" or "[fd00::1]:80". */
static char *
address_of(const char *endpoint)
{
    const char *colon = strrchr(endpoint, ':');

    if (*endpoint == '[') {
        return xmemdup0(endpoint + 1, strcspn(endpoint + 1, "]"));
    }
    return (colon && strchr(endpoint, ':') == colon
            ? xmemdup0(endpoint, colon - endpoint) : xstrdup(endpoint));
}

char *
dpctl_walk_named(const struct json *trace, const char *text)
{
    const struct json *names = dpctl_json_member(trace, "names");
    char *address = address_of(text);
    const struct json *name = names ? dpctl_json_member(names, address) : NULL;
    char *named = (name && name->type == JSON_STRING
                   ? xasprintf("%s (%s)", text, json_string(name))
                   : xstrdup(text));

    free(address);
    return named;
}

size_t
dpctl_walk_n_outputs(const struct json *trace)
{
    return dpctl_json_array(trace, "outputs")->n;
}

const char *
dpctl_walk_output_port(const struct json *trace, size_t i)
{
    return dpctl_json_str(dpctl_json_array(trace, "outputs")->elems[i],
                          "port");
}

/* Every header that the daemon tells of, outermost first. */
static const char *const header_names[] = {
    "tun_src", "tun_dst", "tun_id", "eth_src", "eth_dst", "vlan_tci",
    "arp_op", "arp_spa", "arp_tpa", "arp_sha", "arp_tha",
    "ip_src", "ip_dst", "ipv6_src", "ipv6_dst", "nw_proto", "nw_ttl",
    "tcp_src", "tcp_dst", "tcp_flags", "udp_src", "udp_dst",
    "sctp_src", "sctp_dst", "icmp_type", "icmp_code", "icmpv6_type",
    "icmpv6_code",
};

struct dpctl_walk_header *
dpctl_walk_headers(const struct json *trace, size_t i, size_t *n)
{
    const struct json_array *outputs = dpctl_json_array(trace, "outputs");
    const struct json *before = dpctl_json_member(trace, "headers");
    const struct json *after = (i < outputs->n
                                ? dpctl_json_member(outputs->elems[i],
                                                    "headers")
                                : NULL);
    struct dpctl_walk_header *headers
        = xcalloc(ARRAY_SIZE(header_names), sizeof *headers);

    *n = 0;
    for (size_t j = 0; j < ARRAY_SIZE(header_names); j++) {
        struct dpctl_walk_header h = {
            .name = header_names[j],
            .before = before ? dpctl_json_str(before, header_names[j]) : NULL,
            .after = after ? dpctl_json_str(after, header_names[j]) : NULL,
        };

        if (h.before || h.after) {
            headers[(*n)++] = h;
        }
    }
    return headers;
}

/* The header 'NAME_src' or 'NAME_dst' of any of the protocols. */
static const char *
find_header(const struct json *trace, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *path = xasprintf("headers.%s", names[i]);
        const char *value = dpctl_json_str(trace, path);

        free(path);
        if (value) {
            return value;
        }
    }
    return NULL;
}
#define FIND_HEADER(TRACE, ...)                                         \
    find_header(TRACE, (const char *const[]) { __VA_ARGS__ },           \
                ARRAY_SIZE(((const char *const[]) { __VA_ARGS__ })))

char *
dpctl_walk_summary(const struct json *trace)
{
    const char *flow = dpctl_json_str(trace, "flow");
    const char *src = FIND_HEADER(trace, "ip_src", "ipv6_src", "arp_spa",
                                  "eth_src");
    const char *dst = FIND_HEADER(trace, "ip_dst", "ipv6_dst", "arp_tpa",
                                  "eth_dst");
    const char *sport = FIND_HEADER(trace, "tcp_src", "udp_src", "sctp_src");
    const char *dport = FIND_HEADER(trace, "tcp_dst", "udp_dst", "sctp_dst");
    size_t len = flow ? strcspn(flow, ",=") : 0;
    bool protocol = len && flow[len] != '=';

    return xasprintf("%.*s%s%s%s%s to %s%s%s",
                     protocol ? (int) len : 0, protocol ? flow : "",
                     protocol ? " " : "", src ? src : "?",
                     sport ? ":" : "", sport ? sport : "",
                     dst ? dst : "?", dport ? ":" : "", dport ? dport : "");
}

const char *
dpctl_walk_destination(const struct json *trace)
{
    const char *dst = FIND_HEADER(trace, "ip_dst", "ipv6_dst", "arp_tpa",
                                  "eth_dst");
    const struct json *name = (dst ? dpctl_json_member(
                                   dpctl_json_member(trace, "names"), dst)
                               : NULL);

    return name && name->type == JSON_STRING ? json_string(name) : NULL;
}

size_t
dpctl_walk_decided(const struct json *trace)
{
    size_t last = dpctl_walk_n_visits(trace);
    const char *object = (last ? dpctl_json_str(dpctl_walk_visit(trace,
                                                                 last - 1),
                                                "object") : NULL);

    for (size_t i = 0; i < last && object; i++) {
        if (nullable_string_is_equal(object,
                                     dpctl_json_str(dpctl_walk_visit(trace,
                                                                     i),
                                                    "object"))) {
            return i;
        }
    }
    return last ? last - 1 : SIZE_MAX;
}

/* The text. */

/* Appends 'words' as a paragraph, indented; the line has 'column' characters
 * already.  Words longer than a line stand on one of their own. */
static size_t
put_wrapped(struct ds *s, const char *words, size_t column)
{
    while (*words) {
        size_t len = strcspn(words, " ");

        if (column > INDENT && column + 1 + len > LINE_LEN) {
            ds_put_char(s, '\n');
            column = 0;
        }
        if (!column) {
            ds_put_char_multiple(s, ' ', INDENT);
            column = INDENT;
        } else if (column > INDENT) {
            ds_put_char(s, ' ');
            column++;
        }
        ds_put_buffer(s, words, len);
        column += len;
        words += len + (words[len] == ' ');
    }
    return column;
}

static void
format_heading(const struct json *trace, size_t i, struct ds *s)
{
    const struct json *table = dpctl_walk_table(trace, i);
    const char *about = table ? dpctl_json_str(table, "about") : NULL;
    char *title = dpctl_walk_title(trace, i);

    *title = toupper((unsigned char) *title);
    ds_put_format(s, "%s%s%s", dpctl_bold(), title, dpctl_plain());
    if (about) {
        ds_put_format(s, ": %s", about);
    }
    ds_put_char(s, '\n');
    free(title);
}

static void
format_next(const struct json *trace, size_t i, struct ds *s, size_t column)
{
    struct dpctl_walk_next next = dpctl_walk_next(trace, i);

    if (next.visit != SIZE_MAX) {
        char *title = dpctl_walk_title(trace, next.visit);
        char *words = xasprintf("Next: %s%s.", next.back ? "back in " : "",
                                title);

        put_wrapped(s, words, column);
        free(words);
        free(title);
    }
}

static void
format_visit(const struct json *trace, size_t i, struct ds *s)
{
    const char *flow = dpctl_json_str(dpctl_walk_visit(trace, i), "flow");
    struct svec sentences = SVEC_EMPTY_INITIALIZER;
    size_t column = 0;

    ds_put_char(s, '\n');
    format_heading(trace, i, s);
    if (flow) {
        /* On a line of its own, as long as it is: to be looked for. */
        ds_put_char_multiple(s, ' ', INDENT);
        ds_put_format(s, "Hit: %s\n", flow);
    }
    dpctl_walk_words(trace, i, &sentences);
    for (size_t j = 0; j < sentences.n; j++) {
        column = put_wrapped(s, sentences.names[j], column);
    }
    format_next(trace, i, s, column);
    ds_chomp(s, '\n');
    ds_put_char(s, '\n');
    svec_destroy(&sentences);
}

/* What the walk has made of the headers that it changed. */
static void
format_changes(const struct json *trace, size_t output, struct ds *s)
{
    static const char *const headings[] = { "HEADER", "BEFORE", "AFTER" };
    struct dpctl_table table;
    bool changed = false;
    size_t n;
    struct dpctl_walk_header *headers = dpctl_walk_headers(trace, output, &n);

    dpctl_table_init(&table, headings, ARRAY_SIZE(headings));
    for (size_t i = 0; i < n; i++) {
        const struct dpctl_walk_header *h = &headers[i];

        if (!nullable_string_is_equal(h->before, h->after)) {
            dpctl_table_add(&table, xstrdup(h->name));
            dpctl_table_add(&table, nullable_xstrdup(h->before));
            dpctl_table_add(&table, nullable_xstrdup(h->after));
            changed = true;
        }
    }
    if (changed) {
        ds_put_format(s, "\nSent out of port %s with changed headers:\n",
                      dpctl_walk_output_port(trace, output));
        dpctl_table_format(&table, s);
    }
    dpctl_table_destroy(&table);
    free(headers);
}

static void
format_packet(const struct json *trace, struct ds *s)
{
    const char *in_port = dpctl_json_str(trace, "in_port");
    const char *pipeline = dpctl_json_str(trace, "pipeline");
    const char *bridge = dpctl_json_str(trace, "bridge");
    const char *flow = dpctl_json_str(trace, "flow");
    char *from = dpctl_walk_named(trace, in_port ? in_port : "?");

    ds_put_format(s, "Flow: %s\n", flow ? flow : "?");
    ds_put_format(s, "Comes in on port %s of bridge %s, pipeline %s\n", from,
                  bridge ? bridge : "?", pipeline ? pipeline : "?");
    free(from);
}

void
dpctl_walk_put_outputs(const struct json *trace, struct ds *s)
{
    for (size_t i = 0; i < dpctl_walk_n_outputs(trace); i++) {
        char *port = dpctl_walk_named(trace,
                                      dpctl_walk_output_port(trace, i));

        ds_put_format(s, "%s %s", i ? "," : " out of port", port);
        free(port);
    }
}

void
dpctl_walk_put_verdict(const struct json *trace, struct ds *s)
{
    const char *verdict = dpctl_json_str(trace, "verdict");
    const char *at_present = dpctl_json_str(trace, "at_present");

    if (at_present) {
        ds_put_format(s, "At present: %s\n", at_present);
    }
    ds_put_format(s, "Verdict: %s", verdict ? verdict : "?");
    if (dpctl_walk_is_outcome(trace, "forwarded")) {
        dpctl_walk_put_outputs(trace, s);
    }
}

void
dpctl_walk_format(const struct json *trace, struct ds *s)
{
    const char *actions = dpctl_json_str(trace, "actions");

    format_packet(trace, s);
    for (size_t i = 0; i < dpctl_walk_n_visits(trace); i++) {
        format_visit(trace, i, s);
    }
    for (size_t i = 0; i < dpctl_walk_n_outputs(trace); i++) {
        format_changes(trace, i, s);
    }
    ds_put_format(s, "\nDatapath actions: %s\n",
                  dpctl_walk_is_outcome(trace, "punted") ? "(stock)"
                  : actions && *actions ? actions : "drop");
    ds_put_cstr(s, dpctl_bold());
    dpctl_walk_put_verdict(trace, s);
    ds_put_format(s, "%s\n", dpctl_plain());
}
