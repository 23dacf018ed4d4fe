/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/json.h"
#include "sset.h"
#include "util.h"

struct adp_control_scan_level {
    bool is_object;

    /* Objects. */
    bool expects_name;
    struct sset names;
    const char *name;           /* Of the current member, within 'names'. */

    /* Arrays. */
    size_t index;
};

void
adp_control_scan_init(struct adp_control_scan *scan)
{
    memset(scan, 0, sizeof *scan);
    ds_init(&scan->name);
}

void
adp_control_scan_uninit(struct adp_control_scan *scan)
{
    while (scan->depth > 0) {
        sset_destroy(&scan->levels[--scan->depth].names);
    }
    free(scan->levels);
    free(scan->duplicate);
    ds_destroy(&scan->name);
}

static struct adp_control_scan_level *
scan_top(struct adp_control_scan *scan)
{
    return scan->depth ? &scan->levels[scan->depth - 1] : NULL;
}

static void
scan_push(struct adp_control_scan *scan, bool is_object)
{
    if (scan->depth >= scan->allocated_depth) {
        scan->levels = x2nrealloc(scan->levels, &scan->allocated_depth,
                                  sizeof *scan->levels);
        for (size_t i = 0; i < scan->depth; i++) {
            sset_moved(&scan->levels[i].names);
        }
    }

    struct adp_control_scan_level *level = &scan->levels[scan->depth++];
    memset(level, 0, sizeof *level);
    level->is_object = level->expects_name = is_object;
    sset_init(&level->names);
    scan->max_depth = MAX(scan->max_depth, scan->depth);
}

static void
scan_pop(struct adp_control_scan *scan)
{
    if (scan->depth) {
        sset_destroy(&scan->levels[--scan->depth].names);
    }
}

/* Names are as long as the client likes; cuts 's' at the end of a UTF-8
 * sequence. */
static void
cut_path(struct ds *s)
{
    enum { MAX_PATH = 256 };

    if (s->length > MAX_PATH) {
        size_t len = MAX_PATH;

        while (len > 0 && (s->string[len] & 0xc0) == 0x80) {
            len--;
        }
        ds_truncate(s, len);
        ds_put_cstr(s, "...");
    }
}

static char *
scan_path(const struct adp_control_scan *scan)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    for (size_t i = 0; i < scan->depth; i++) {
        const struct adp_control_scan_level *level = &scan->levels[i];

        if (level->is_object) {
            ds_put_format(&s, "%s%s", s.length ? "." : "",
                          level->name ? level->name : "");
        } else {
            ds_put_format(&s, "[%"PRIuSIZE"]", level->index);
        }
    }
    cut_path(&s);
    return ds_steal_cstr(&s);
}

/* 'scan->name' is complete. */
static void
scan_end_name(struct adp_control_scan *scan)
{
    struct adp_control_scan_level *top = scan_top(scan);
    char *name;

    /* "\u0061" is "a".  If the name is malformed, this yields a text that says
     * so; then the parser ends the message here. */
    if (memchr(ds_cstr(&scan->name), '\\', scan->name.length)) {
        json_string_unescape(scan->name.string, scan->name.length, &name);
    } else {
        name = xstrdup(ds_cstr(&scan->name));
    }
    ds_clear(&scan->name);

    struct sset_node *node = sset_find(&top->names, name);
    bool is_duplicate = node != NULL;
    if (!node) {
        node = sset_add(&top->names, name);
    }
    top->name = node->name;
    top->expects_name = false;
    if (is_duplicate && !scan->duplicate) {
        scan->duplicate = scan_path(scan);
    }
    free(name);
}

/* 'c' is part of a string, or ends it. */
static void
scan_string_byte(struct adp_control_scan *scan, char c)
{
    if (!scan->in_escape && c == '"') {
        scan->in_string = false;
        if (scan->string_is_name) {
            scan_end_name(scan);
        }
        return;
    }
    scan->in_escape = !scan->in_escape && c == '\\';
    if (scan->string_is_name) {
        ds_put_char(&scan->name, c);
    }
}

static void
scan_begin_string(struct adp_control_scan *scan)
{
    const struct adp_control_scan_level *top = scan_top(scan);

    scan->n_values++;
    scan->in_string = true;
    scan->in_escape = false;
    scan->string_is_name = top && top->is_object && top->expects_name;
}

static void
scan_separator(struct adp_control_scan *scan)
{
    struct adp_control_scan_level *top = scan_top(scan);

    if (top) {
        top->expects_name = top->is_object;
        top->index++;
    }
}

/* 'c' begins a sequence.  Overlong forms, surrogates and what is beyond
 * U+10FFFF show in the second byte. */
static void
scan_utf8_begin(struct adp_control_scan *scan, uint8_t c)
{
    scan->utf8_min = (c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80);
    scan->utf8_max = (c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf);
    scan->utf8_left = (c < 0xc2 ? 0
                       : c < 0xe0 ? 1
                       : c < 0xf0 ? 2
                       : c < 0xf5 ? 3 : 0);
    if (!scan->utf8_left) {
        scan->bad_utf8 = true;
    }
}

static void
scan_utf8_byte(struct adp_control_scan *scan, uint8_t c)
{
    if (scan->utf8_left) {
        if (c < scan->utf8_min || c > scan->utf8_max) {
            scan->bad_utf8 = true;
        }
        scan->utf8_left--;
        scan->utf8_min = 0x80;
        scan->utf8_max = 0xbf;
    } else if (c >= 0x80) {
        scan_utf8_begin(scan, c);
    }
}

void
adp_control_scan_feed(struct adp_control_scan *scan, const char *data,
                      size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = data[i];

        scan_utf8_byte(scan, c);
        if (scan->in_string) {
            scan_string_byte(scan, c);
            continue;
        }

        bool is_atom = false;
        switch (c) {
        case '"':
            scan_begin_string(scan);
            break;
        case '{': case '[':
            scan->n_values++;
            scan_push(scan, c == '{');
            break;
        case '}': case ']':
            scan_pop(scan);
            break;
        case ',':
            scan_separator(scan);
            break;
        case ':': case ' ': case '\t': case '\r': case '\n':
            break;
        default:
            scan->n_values += !scan->in_atom;
            is_atom = true;
            break;
        }
        scan->in_atom = is_atom;
    }
}
