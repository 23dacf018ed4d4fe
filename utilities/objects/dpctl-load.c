/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-load.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

#include "dpctl-json.h"
#include "openvswitch/dynamic-string.h"
#include "svec.h"
#include "util.h"

/* Only the first 'n' stay. */
static void
docs_truncate(struct dpctl_docs *docs, size_t n)
{
    while (docs->n > n) {
        docs->n--;
        free(docs->docs[docs->n].file);
        json_destroy(docs->docs[docs->n].json);
    }
}

void
dpctl_docs_destroy(struct dpctl_docs *docs)
{
    docs_truncate(docs, 0);
    free(docs->docs);
    *docs = (struct dpctl_docs) DPCTL_DOCS_INITIALIZER;
}

/* Takes 'json'. */
static void
docs_add(struct dpctl_docs *docs, const char *file, size_t index, int line,
         struct json *json)
{
    if (json->type == JSON_NULL) {
        json_destroy(json);
        return;
    }
    if (docs->n >= docs->allocated) {
        docs->docs = x2nrealloc(docs->docs, &docs->allocated,
                                sizeof *docs->docs);
    }
    docs->docs[docs->n++] = (struct dpctl_doc) {
        .file = xstrdup(file), .index = index, .line = line, .json = json,
    };
}

/* JSON. */

/* Turns the parser's "line L, column C, byte B: TEXT", which counts lines from
 * 0, into our form. */
static char *
json_error_text(const char *file, int first_line, const char *message)
{
    int line, column, byte, ofs = 0;

    if (ovs_scan(message, "line %d, column %d, byte %d: %n",
                 &line, &column, &byte, &ofs) && ofs) {
        return xasprintf("%s:%d:%d: %s", file, first_line + line,
                         column, message + ofs);
    }
    return xasprintf("%s:%d: %s", file, first_line, message);
}

/* Skips blanks, and a line of "---" between two values. */
static size_t
json_skip_separator(const char *text, size_t len, size_t ofs, int *line)
{
    while (ofs < len) {
        if (isspace((unsigned char) text[ofs])) {
            *line += text[ofs] == '\n';
            ofs++;
        } else if (len - ofs >= 3 && !memcmp(text + ofs, "---", 3)
                   && (ofs + 3 == len
                       || isspace((unsigned char) text[ofs + 3]))) {
            ofs += 3;
        } else {
            break;
        }
    }
    return ofs;
}

/* Members of objects in 'json', however deep. */
static size_t
json_count_members(const struct json *json)
{
    size_t n = 0;

    if (json->type == JSON_ARRAY) {
        for (size_t i = 0; i < json->array.n; i++) {
            n += json_count_members(json->array.elems[i]);
        }
    } else if (json->type == JSON_OBJECT) {
        const struct shash_node *node;
        SHASH_FOR_EACH (node, json->object) {
            n += 1 + json_count_members(node->data);
        }
    }
    return n;
}

/* Members of objects in 'text', which is valid JSON: each has a colon. */
static size_t
json_text_count_members(const char *text, size_t len)
{
    bool quoted = false;
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (quoted && text[i] == '\\') {
            i++;
        } else if (text[i] == '"') {
            quoted = !quoted;
        } else {
            n += !quoted && text[i] == ':';
        }
    }
    return n;
}

static char *
load_json_values(struct dpctl_docs *docs, const char *file,
                 const char *text, size_t len)
{
    size_t index = 1;
    int line = 1;
    size_t ofs = json_skip_separator(text, len, 0, &line);

    while (ofs < len) {
        struct json_parser *parser = json_parser_create(0);
        size_t used = json_parser_feed(parser, text + ofs, len - ofs);
        struct json *json = json_parser_finish(parser);
        if (json->type == JSON_STRING) {
            /* Either a bare string or the parser's error; an object or an
             * array is what a document has to be anyway. */
            char *error = json_error_text(file, line, json_string(json));
            json_destroy(json);
            return error;
        }
        if (json_count_members(json)
            != json_text_count_members(text + ofs, used)) {
            /* Of two members of a name the parser keeps the last.  Which one
             * it is the other parser says, if it takes the text at all. */
            json_destroy(json);
            return xasprintf("%s:%d: a member of an object is given twice",
                             file, line);
        }
        docs_add(docs, file, index++, line, json);
        for (size_t i = 0; i < used; i++) {
            line += text[ofs + i] == '\n';
        }
        ofs = json_skip_separator(text, len, ofs + used, &line);
    }
    return NULL;
}

static char *
load_json(struct dpctl_docs *docs, const char *file,
          const char *text, size_t len)
{
    char *copy = (memmem(text, len, "\\u0000", 6) ? xmemdup(text, len) : NULL);

    if (copy) {
        dpctl_json_replace_nulls(copy, len);
    }
    char *error = load_json_values(docs, file, copy ? copy : text, len);
    free(copy);
    return error;
}

/* YAML. */

struct anchor {
    struct json *json;
    size_t n_nodes;
};

struct builder {
    yaml_parser_t parser;
    const char *file;
    struct shash anchors;       /* "struct anchor *", of this document. */
    size_t n_nodes;             /* Of this document, aliases written out. */
    size_t n_aliased;           /* Nodes that came from aliases. */
    int depth;
    char *error;
};

static struct json *build_node(struct builder *, yaml_event_t *);

static void OVS_PRINTF_FORMAT(3, 4)
builder_error(struct builder *b, const yaml_mark_t *mark,
              const char *format, ...)
{
    if (!b->error) {
        va_list args;
        va_start(args, format);
        char *text = xvasprintf(format, args);
        va_end(args);
        b->error = xasprintf("%s:%"PRIuSIZE":%"PRIuSIZE": %s", b->file,
                             mark->line + 1, mark->column + 1, text);
        free(text);
    }
}

static bool
next_event(struct builder *b, yaml_event_t *event)
{
    if (yaml_parser_parse(&b->parser, event)) {
        return true;
    }
    const yaml_parser_t *p = &b->parser;
    const char *problem = p->problem ? p->problem : "invalid YAML";
    if (p->error == YAML_READER_ERROR) {
        if (!b->error) {
            b->error = xasprintf("%s: byte %"PRIuSIZE": %s", b->file,
                                 p->problem_offset, problem);
        }
    } else {
        builder_error(b, &p->problem_mark, "%s%s%s", problem,
                      p->context ? " " : "", p->context ? p->context : "");
    }
    return false;
}

static void
anchors_clear(struct builder *b)
{
    struct shash_node *node;
    SHASH_FOR_EACH (node, &b->anchors) {
        struct anchor *anchor = node->data;
        json_destroy(anchor->json);
    }
    shash_clear_free_data(&b->anchors);
}

static void
anchor_set(struct builder *b, const yaml_char_t *name, struct json *json,
           size_t n_nodes)
{
    if (name) {
        struct anchor *anchor = xmalloc(sizeof *anchor);
        anchor->json = json_clone(json);
        anchor->n_nodes = n_nodes;
        struct anchor *old = shash_replace(&b->anchors, (const char *) name,
                                           anchor);
        if (old) {
            json_destroy(old->json);
            free(old);
        }
    }
}

static bool
is_word(const char *text, const char *word)
{
    /* "word", "Word" or "WORD". */
    if (strcasecmp(text, word)) {
        return false;
    }
    if (!isupper((unsigned char) text[0])) {
        return !strcmp(text, word);
    }
    bool second = isupper((unsigned char) text[1]);
    for (const char *p = text + 1; *p; p++) {
        if (!!isupper((unsigned char) *p) != second) {
            return false;
        }
    }
    return true;
}

static struct json *
plain_number(const char *text)
{
    const char *p = text + (*text == '-' || *text == '+');
    int base = 10;

    if (p[0] == '0' && p[1]) {
        base = (p[1] == 'x' ? 16 : p[1] == 'o' ? 8 : p[1] == 'b' ? 2
                : strspn(p, "01234567") == strlen(p) ? 8 : 10);
    }
    if (base != 10) {
        const char *digits = p + (isdigit((unsigned char) p[1]) ? 1 : 2);
        if (!isxdigit((unsigned char) *digits)) {
            return NULL;
        }
        char *end;
        errno = 0;
        long long int value = strtoll(digits, &end, base);
        return (errno || *end ? NULL
                : json_integer_create(*text == '-' ? -value : value));
    }

    /* Digits with at most one point and one exponent. */
    size_t n = strspn(p, "0123456789");
    size_t n_digits = n;
    const char *q = p + n;
    if (*q == '.') {
        n = strspn(++q, "0123456789");
        n_digits += n;
        q += n;
    }
    if (!n_digits) {
        return NULL;
    }
    if (*q == 'e' || *q == 'E') {
        q++;
        q += *q == '-' || *q == '+';
        n = strspn(q, "0123456789");
        q += n;
        if (!n) {
            return NULL;
        }
    }
    if (*q) {
        return NULL;
    }

    char *end;
    errno = 0;
    long long int value = strtoll(text, &end, 10);
    if (!errno && !*end) {
        return json_integer_create(value);
    }
    double real = strtod(text, NULL);
    if (!isfinite(real)) {
        return NULL;
    }
    return (real == trunc(real) && fabs(real) < 1e15
            ? json_integer_create((long long int) real)
            : json_real_create(real));
}

struct json *
dpctl_load_plain_scalar(const char *text)
{
    static const char *const trues[] = { "true", "yes", "on" };
    static const char *const falses[] = { "false", "no", "off" };

    if (!*text || !strcmp(text, "~") || is_word(text, "null")) {
        return json_null_create();
    }
    for (size_t i = 0; i < ARRAY_SIZE(trues); i++) {
        if (is_word(text, trues[i])) {
            return json_boolean_create(true);
        }
        if (is_word(text, falses[i])) {
            return json_boolean_create(false);
        }
    }
    return plain_number(text);
}

static struct json *
build_scalar(struct builder *b, const yaml_event_t *event)
{
    const char *text = (const char *) event->data.scalar.value;
    const char *tag = (const char *) event->data.scalar.tag;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (memchr(text, '\0', event->data.scalar.length)) {
        builder_error(b, &event->start_mark, "a zero byte in a scalar");
        return NULL;
    }
    if (tag && strcmp(tag, "!")) {
        const char *type = tag;
        if (!ovs_scan(tag, "tag:yaml.org,2002:")) {
            builder_error(b, &event->start_mark, "unknown tag %s", tag);
            return NULL;
        }
        type += strlen("tag:yaml.org,2002:");
        if (!strcmp(type, "int") || !strcmp(type, "float")
            || !strcmp(type, "bool") || !strcmp(type, "null")) {
            plain = true;
        } else if (!strcmp(type, "str")) {
            plain = false;
        } else {
            builder_error(b, &event->start_mark, "unknown tag !!%s", type);
            return NULL;
        }
    } else if (tag) {
        plain = false;
    }

    struct json *json = plain ? dpctl_load_plain_scalar(text) : NULL;
    if (!json) {
        json = json_string_create(text);
    }
    anchor_set(b, event->data.scalar.anchor, json, 1);
    return json;
}

static struct json *
build_alias(struct builder *b, const yaml_event_t *event)
{
    const char *name = (const char *) event->data.alias.anchor;
    const struct anchor *anchor = shash_find_data(&b->anchors, name);

    if (!anchor) {
        builder_error(b, &event->start_mark, "unknown alias *%s", name);
        return NULL;
    }
    b->n_nodes += anchor->n_nodes;
    b->n_aliased += anchor->n_nodes;
    if (b->n_aliased > DPCTL_LOAD_MAX_ALIASED) {
        builder_error(b, &event->start_mark,
                      "aliases stand for more than %d values",
                      DPCTL_LOAD_MAX_ALIASED);
        return NULL;
    }
    return json_clone(anchor->json);
}

static struct json *
build_sequence(struct builder *b, const yaml_event_t *start)
{
    struct json *array = json_array_create_empty();
    size_t n_before = b->n_nodes;

    for (;;) {
        yaml_event_t event;
        if (!next_event(b, &event)) {
            break;
        }
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            anchor_set(b, start->data.sequence_start.anchor, array,
                       b->n_nodes - n_before + 1);
            return array;
        }
        struct json *element = build_node(b, &event);
        yaml_event_delete(&event);
        if (!element) {
            break;
        }
        json_array_add(array, element);
    }
    json_destroy(array);
    return NULL;
}

/* "<<": the members of 'value' (a mapping, or several) where 'object' has
 * none of its own. */
static bool
merge_members(struct json *object, const struct json *value)
{
    if (value->type == JSON_ARRAY) {
        for (size_t i = 0; i < value->array.n; i++) {
            if (value->array.elems[i]->type != JSON_OBJECT
                || !merge_members(object, value->array.elems[i])) {
                return false;
            }
        }
        return true;
    }
    if (value->type != JSON_OBJECT) {
        return false;
    }
    struct shash_node *node;
    SHASH_FOR_EACH (node, value->object) {
        if (!shash_find(object->object, node->name)) {
            json_object_put(object, node->name, json_clone(node->data));
        }
    }
    return true;
}

/* Reads one "key: value" that begins with 'key_event' into 'object'.  The
 * values of "<<" are kept in 'merges' till all keys are known. */
static bool
build_member(struct builder *b, const yaml_event_t *key_event,
             struct json *object, struct json *merges)
{
    if (key_event->type != YAML_SCALAR_EVENT) {
        builder_error(b, &key_event->start_mark,
                      "the key of a mapping must be a scalar");
        return false;
    }
    const char *key = (const char *) key_event->data.scalar.value;
    bool merge = (key_event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
                  && !strcmp(key, "<<"));
    if (memchr(key, '\0', key_event->data.scalar.length)) {
        builder_error(b, &key_event->start_mark, "a zero byte in a key");
        return false;
    }
    if (!merge && shash_find(object->object, key)) {
        builder_error(b, &key_event->start_mark, "key \"%s\" is given twice",
                      key);
        return false;
    }

    yaml_event_t event;
    if (!next_event(b, &event)) {
        return false;
    }
    struct json *value = build_node(b, &event);
    yaml_event_delete(&event);
    if (!value) {
        return false;
    }
    if (merge) {
        json_array_add(merges, value);
    } else {
        json_object_put(object, key, value);
    }
    return true;
}

static struct json *
build_mapping(struct builder *b, const yaml_event_t *start)
{
    struct json *object = json_object_create();
    struct json *merges = json_array_create_empty();
    size_t n_before = b->n_nodes;

    for (;;) {
        yaml_event_t event;
        if (!next_event(b, &event)) {
            break;
        }
        if (event.type == YAML_MAPPING_END_EVENT) {
            yaml_event_delete(&event);
            if (!merge_members(object, merges)) {
                builder_error(b, &start->start_mark,
                              "\"<<\" must name a mapping");
                break;
            }
            json_destroy(merges);
            anchor_set(b, start->data.mapping_start.anchor, object,
                       b->n_nodes - n_before + 1);
            return object;
        }
        bool ok = build_member(b, &event, object, merges);
        yaml_event_delete(&event);
        if (!ok) {
            break;
        }
    }
    json_destroy(merges);
    json_destroy(object);
    return NULL;
}

/* The value that begins with 'event', which stays the caller's.  NULL on
 * error. */
static struct json *
build_node(struct builder *b, yaml_event_t *event)
{
    struct json *json = NULL;

    b->n_nodes++;
    if (++b->depth > DPCTL_LOAD_MAX_DEPTH) {
        builder_error(b, &event->start_mark, "nested deeper than %d levels",
                      DPCTL_LOAD_MAX_DEPTH);
    } else if (event->type == YAML_SCALAR_EVENT) {
        json = build_scalar(b, event);
    } else if (event->type == YAML_ALIAS_EVENT) {
        json = build_alias(b, event);
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        json = build_sequence(b, event);
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        json = build_mapping(b, event);
    } else {
        builder_error(b, &event->start_mark, "a value is missing");
    }
    b->depth--;
    return json;
}

static void
load_yaml_documents(struct builder *b, struct dpctl_docs *docs)
{
    size_t index = 0;
    bool done = false;

    while (!done && !b->error) {
        yaml_event_t event;
        if (!next_event(b, &event)) {
            return;
        }
        if (event.type == YAML_STREAM_END_EVENT) {
            done = true;
        } else if (event.type == YAML_DOCUMENT_START_EVENT) {
            anchors_clear(b);
            b->n_nodes = b->n_aliased = 0;
            index++;
        } else if (event.type != YAML_STREAM_START_EVENT
                   && event.type != YAML_DOCUMENT_END_EVENT) {
            int line = event.start_mark.line + 1;
            struct json *json = build_node(b, &event);
            if (json) {
                docs_add(docs, b->file, index, line, json);
            }
        }
        yaml_event_delete(&event);
    }
}

static char *
load_yaml(struct dpctl_docs *docs, const char *file,
          const char *text, size_t len)
{
    struct builder b = {
        .file = file,
        .anchors = SHASH_INITIALIZER(&b.anchors),
    };

    if (!yaml_parser_initialize(&b.parser)) {
        return xasprintf("%s: out of memory", file);
    }
    yaml_parser_set_input_string(&b.parser, (const unsigned char *) text, len);
    load_yaml_documents(&b, docs);
    yaml_parser_delete(&b.parser);
    anchors_clear(&b);
    shash_destroy(&b.anchors);
    return b.error;
}

char *
dpctl_load_text(struct dpctl_docs *docs, const char *file,
                const char *text, size_t len)
{
    static const char bom[] = "\xef\xbb\xbf";
    size_t i = 0;

    if (len >= 3 && !memcmp(text, bom, 3)) {
        text += 3;
        len -= 3;
    }
    if (len > docs->max_bytes) {
        return xasprintf("%s: larger than the limit of %"PRIuSIZE" MiB", file,
                         docs->max_bytes / (1024 * 1024));
    }
    while (i < len && isspace((unsigned char) text[i])) {
        i++;
    }
    if (i >= len || (text[i] != '{' && text[i] != '[')) {
        return load_yaml(docs, file, text, len);
    }

    /* JSON, most likely.  YAML can be written in that way, too. */
    size_t n_before = docs->n;
    char *error = load_json(docs, file, text, len);
    if (error) {
        docs_truncate(docs, n_before);
        char *yaml_error = load_yaml(docs, file, text, len);
        if (yaml_error) {
            docs_truncate(docs, n_before);
            bool twice = strstr(yaml_error, "is given twice");
            free(twice ? error : yaml_error);
            error = twice ? yaml_error : error;
        } else {
            free(error);
            error = NULL;
        }
    }
    return error;
}

/* Files. */

/* What some shells make of a program's output. */
static bool
is_utf16(const char *text, size_t len)
{
    return (len >= 2 && (!memcmp(text, "\xff\xfe", 2)
                         || !memcmp(text, "\xfe\xff", 2)));
}

static char *
load_fd(struct dpctl_docs *docs, const char *file, int fd)
{
    struct ds text = DS_EMPTY_INITIALIZER;
    char *error = NULL;

    for (;;) {
        enum { CHUNK = 65536 };
        ds_reserve(&text, text.length + CHUNK);
        ssize_t n = read(fd, text.string + text.length, CHUNK);
        if (n < 0 && errno == EINTR) {
            continue;
        } else if (n < 0) {
            error = xasprintf("%s: %s", file, ovs_strerror(errno));
            break;
        } else if (!n) {
            break;
        }
        const char *zero = memchr(text.string + text.length, '\0', n);
        if (zero) {
            error = (is_utf16(text.string, text.length + n)
                     ? xasprintf("%s: is UTF-16; it must be UTF-8", file)
                     : xasprintf("%s: byte %"PRIuSIZE" is zero: this is "
                                 "neither YAML nor JSON", file,
                                 (size_t) (zero - text.string)));
            break;
        }
        text.length += n;
        if (text.length > docs->max_bytes) {
            break;              /* dpctl_load_text() says so. */
        }
    }
    if (!error) {
        error = dpctl_load_text(docs, file, text.string ? text.string : "",
                                text.length);
    }
    ds_destroy(&text);
    return error;
}

static char *
load_dir(struct dpctl_docs *docs, const char *path)
{
    struct svec names = SVEC_EMPTY_INITIALIZER;
    DIR *dir = opendir(path);
    char *error = NULL;

    if (!dir) {
        return xasprintf("%s: %s", path, ovs_strerror(errno));
    }
    for (struct dirent *de; (de = readdir(dir)) != NULL; ) {
        const char *dot = strrchr(de->d_name, '.');
        if (de->d_name[0] != '.' && dot
            && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml")
                || !strcmp(dot, ".json"))) {
            svec_add_nocopy(&names, xasprintf("%s/%s", path, de->d_name));
        }
    }
    closedir(dir);

    svec_sort(&names);
    for (size_t i = 0; i < names.n && !error; i++) {
        error = dpctl_load_path(docs, names.names[i]);
    }
    if (!names.n) {
        error = xasprintf("%s: no *.yaml, *.yml or *.json file", path);
    }
    svec_destroy(&names);
    return error;
}

char *
dpctl_load_path(struct dpctl_docs *docs, const char *path)
{
    if (!strcmp(path, "-")) {
        return load_fd(docs, "stdin", STDIN_FILENO);
    }

    struct stat st;
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
        return load_dir(docs, path);
    }

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return xasprintf("%s: %s", path, ovs_strerror(errno));
    }
    char *error = load_fd(docs, path, fd);
    close(fd);
    return error;
}
