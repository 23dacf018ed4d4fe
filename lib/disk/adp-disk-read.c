/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-disk-folder.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adp-disk-private.h"
#include "openvswitch/json.h"
#include "util.h"

/* Files. */

/* Reads "PREFIX-0123456789abcdef" or that with ".new" behind it. */
static bool
parse_name(const char *s, const char *prefix, struct adp_disk_entry *entry)
{
    size_t len = strlen(prefix);
    const char *digits = s + len + 1;
    bool ok;

    if (strncmp(s, prefix, len) || s[len] != '-' || strlen(digits) < 16) {
        return false;
    }
    entry->generation = hexits_value(digits, 16, &ok);
    entry->is_new = !strcmp(digits + 16, ".new");
    return ok && (entry->is_new || !digits[16]);
}

static void
add_entry(struct adp_disk_files *files, const char *name)
{
    struct adp_disk_entry entry;

    if (parse_name(name, "log", &entry)) {
        entry.kind = ADP_DISK_LOG;
    } else if (parse_name(name, "snapshot", &entry)) {
        entry.kind = ADP_DISK_SNAPSHOT;
    } else {
        return;
    }
    entry.name = xstrdup(name);
    if (files->n >= files->allocated) {
        files->entries = x2nrealloc(files->entries, &files->allocated,
                                    sizeof *files->entries);
    }
    files->entries[files->n++] = entry;
}

static int
compare_entries(const void *a_, const void *b_)
{
    const struct adp_disk_entry *a = a_;
    const struct adp_disk_entry *b = b_;

    return (a->generation < b->generation ? -1
            : a->generation > b->generation ? 1
            : strcmp(a->name, b->name));
}

char *
adp_disk_files_list(const char *path, struct adp_disk_files *files)
{
    DIR *dir = opendir(path);
    struct dirent *de;

    *files = (struct adp_disk_files) { .n = 0 };
    if (!dir) {
        return (errno == ENOENT ? NULL
                : xasprintf("%s: %s", path, ovs_strerror(errno)));
    }
    errno = 0;
    while ((de = readdir(dir))) {
        add_entry(files, de->d_name);
        errno = 0;
    }
    int error = errno;
    closedir(dir);
    if (files->n) {
        qsort(files->entries, files->n, sizeof *files->entries,
              compare_entries);
    }
    return error ? xasprintf("%s: %s", path, ovs_strerror(error)) : NULL;
}

void
adp_disk_files_uninit(struct adp_disk_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        free(files->entries[i].name);
    }
    free(files->entries);
}

/* Reading. */

static char *
carry_out(const struct adp_disk_frame *frame, const char *name,
          const struct adp_disk_ops *ops)
{
    struct json *array = NULL;
    char *error = NULL;

    if (frame->op != ADP_DISK_CLEAR) {
        array = json_from_string(frame->payload);
        if (array->type != JSON_ARRAY) {
            error = xstrdup("a frame holds no list");
        }
    }
    if (!error) {
        error = ops->carry_out(frame->op, array, ops->aux);
    }
    json_destroy(array);
    if (error) {
        char *text = xasprintf("%s: generation %"PRIu64": %s", name,
                               frame->generation, error);
        free(error);
        error = text;
    }
    return error;
}

/* What a log's or a snapshot's transactions are. */
struct scan {
    const char *name;
    enum adp_disk_kind kind;
    uint64_t from;              /* Generation in the header. */
    bool may_be_torn;

    uint64_t generation;        /* At the end of the last whole group. */
    struct adp_disk_mark end;   /* Of that. */
};

static char *
scan_error(const struct scan *scan, const char *what)
{
    return xasprintf("%s: damaged behind byte %"PRIu64": %s", scan->name,
                     scan->end.size, what);
}

/* Reads all frames, to see where the last group ends. */
static char *
scan_frames(struct scan *scan, struct adp_disk_reader *reader,
            const struct adp_disk_ops *ops)
{
    uint64_t next = scan->from + (scan->kind == ADP_DISK_LOG);
    bool in_group = false, has_end = false;
    enum adp_disk_result result;
    struct adp_disk_frame frame;
    char *error;

    scan->generation = scan->from;
    scan->end = adp_disk_reader_mark(reader);
    while ((result = adp_disk_reader_next(reader, &frame, &error))
           == ADP_DISK_FRAME) {
        if (frame.generation != next
            || (scan->kind == ADP_DISK_SNAPSHOT && has_end)) {
            return scan_error(scan, "a transaction is missing");
        }
        in_group = frame.op != ADP_DISK_END || frame.len;
        if (!in_group) {
            has_end = true;
            scan->generation = next;
            scan->end = adp_disk_reader_mark(reader);
        }
        next += scan->kind == ADP_DISK_LOG && frame.op == ADP_DISK_END;
        if (ops->pause) {
            ops->pause();
        }
    }
    if (result == ADP_DISK_BAD) {
        return error;
    }
    return (((result == ADP_DISK_TORN || in_group)
             && !scan->may_be_torn)
            || (scan->kind == ADP_DISK_SNAPSHOT && !has_end)
            ? scan_error(scan, "the rest is missing") : NULL);
}

static char *
replay_frames(const struct scan *scan, struct adp_disk_reader *reader,
              const struct adp_disk_ops *ops)
{
    char *error = NULL;

    while (!error && adp_disk_reader_mark(reader).size < scan->end.size) {
        struct adp_disk_frame frame;
        enum adp_disk_result result
            = adp_disk_reader_next(reader, &frame, &error);

        if (result == ADP_DISK_FRAME && frame.op != ADP_DISK_END) {
            error = carry_out(&frame, scan->name, ops);
        } else if (!error && result != ADP_DISK_FRAME) {
            error = scan_error(scan, "it changes while it is read");
        }
        if (ops->pause) {
            ops->pause();
        }
    }
    return error;
}

static char *
with_reader(struct scan *scan, const struct adp_disk_ops *ops, bool replay)
{
    struct adp_disk_reader *reader;
    char *error = adp_disk_reader_open(scan->name, scan->kind, scan->from,
                                       &reader);

    if (!error) {
        error = (replay ? replay_frames(scan, reader, ops)
                 : scan_frames(scan, reader, ops));
    }
    adp_disk_reader_close(reader);
    return error;
}

/* Carries out what is in a file. */
static char *
read_file(struct scan *scan, const struct adp_disk_ops *ops)
{
    char *error = with_reader(scan, ops, false);

    return error ? error : with_reader(scan, ops, true);
}

static char *
read_snapshot(const char *path, const struct adp_disk_files *files,
              const struct adp_disk_ops *ops, struct adp_disk_position *pos)
{
    struct scan scan = { .kind = ADP_DISK_SNAPSHOT };
    bool found = false;

    for (size_t i = 0; i < files->n; i++) {
        const struct adp_disk_entry *entry = &files->entries[i];

        if (entry->kind == ADP_DISK_SNAPSHOT && !entry->is_new) {
            scan.from = entry->generation;
            found = true;
        }
    }
    if (!found) {
        return NULL;
    }

    char *name = adp_disk_name(path, "snapshot", scan.from);
    scan.name = name;
    char *error = read_file(&scan, ops);
    free(name);
    pos->generation = pos->snapshot_generation = scan.from;
    pos->snapshot_bytes = scan.end.size;
    return error;
}

/* Reads the logs from the snapshot on: each begins where the one before it
 * ends. */
static char *
read_logs(const char *path, const struct adp_disk_files *files,
          const struct adp_disk_ops *ops, struct adp_disk_position *pos)
{
    char *error = NULL;

    for (size_t i = 0; !error && i < files->n; i++) {
        const struct adp_disk_entry *entry = &files->entries[i];

        if (entry->kind != ADP_DISK_LOG || entry->is_new
            || entry->generation < pos->snapshot_generation) {
            continue;
        }
        if (entry->generation != pos->generation) {
            break;
        }

        bool is_last = true;
        for (size_t j = i + 1; j < files->n; j++) {
            is_last = is_last && (files->entries[j].kind != ADP_DISK_LOG
                                  || files->entries[j].is_new);
        }
        char *name = adp_disk_name(path, "log", entry->generation);
        struct scan scan = {
            .name = name, .kind = ADP_DISK_LOG, .from = entry->generation,
            .may_be_torn = is_last,
        };
        error = read_file(&scan, ops);
        free(name);
        pos->generation = scan.generation;
        pos->log_bytes += pos->end.size;
        pos->log_generation = entry->generation;
        pos->end = scan.end;
        pos->has_log = true;
    }
    return error;
}

/* Is the last log one that was read?  If not, one before it is missing. */
static char *
check_logs(const char *path, const struct adp_disk_files *files,
           const struct adp_disk_position *pos)
{
    uint64_t last = pos->snapshot_generation;
    bool any = pos->snapshot_bytes;

    for (size_t i = 0; i < files->n; i++) {
        const struct adp_disk_entry *entry = &files->entries[i];

        if (entry->kind == ADP_DISK_LOG && !entry->is_new) {
            last = MAX(last, entry->generation);
            any = true;
        }
    }
    if (any && (!pos->has_log || pos->log_generation != last)) {
        char *name = adp_disk_name(path, "log", pos->generation);
        char *error = xasprintf("%s: the file is missing", name);

        free(name);
        return error;
    }
    return NULL;
}

char *
adp_disk_folder_read(const char *path, const struct adp_disk_ops *ops,
                     struct adp_disk_position *pos)
{
    struct adp_disk_files files;
    char *error = adp_disk_files_list(path, &files);

    *pos = (struct adp_disk_position) { .generation = 0 };
    if (!error) {
        error = read_snapshot(path, &files, ops, pos);
    }
    if (!error) {
        error = read_logs(path, &files, ops, pos);
    }
    if (!error) {
        error = check_logs(path, &files, pos);
    }
    adp_disk_files_uninit(&files);
    return error;
}

/* The folder as a whole. */

static char *
look(const char *path, bool *is_there)
{
    struct stat s;

    *is_there = !stat(path, &s);
    return (*is_there || errno == ENOENT ? NULL
            : xasprintf("%s: %s", path, ovs_strerror(errno)));
}

/* Sets '*to' to where what is there goes, or to NULL if there is nothing. */
static char *
find_old_name(const char *path, char **to)
{
    bool is_there;
    char *error = look(path, &is_there);
    struct stat s;

    *to = NULL;
    for (unsigned int i = 1; is_there; i++) {
        *to = xasprintf("%s.old-%u", path, i);
        if (lstat(*to, &s)) {
            break;
        }
        free(*to);
    }
    return error;
}

static char *
sync_parent(const char *path)
{
    char *parent = dir_name(path);
    char *error = adp_disk_sync_folder(parent);

    free(parent);
    return error;
}

char *
adp_disk_folder_set_aside(const char *path, char **to)
{
    char *error = find_old_name(path, to);

    if (*to) {
        error = adp_disk_rename(path, *to);
        if (!error) {
            error = sync_parent(path);
        }
        if (error) {
            free(*to);
            *to = NULL;
        }
    }
    return error;
}

char *
adp_disk_folder_new_name(const char *path)
{
    return xasprintf("%s.new", path);
}

/* Gives 'path' the name 'old', unless that is NULL, and 'new' the name 'path':
 * both, or after an error none. */
static char *
change_places(const char *path, const char *old, const char *new)
{
    char *error = old ? adp_disk_rename(path, old) : NULL;

    if (error) {
        return error;
    }
    error = adp_disk_rename(new, path);
    if (!error) {
        error = sync_parent(path);
        if (!error) {
            return NULL;
        }
        free(adp_disk_rename(path, new));
    }
    if (old) {
        free(adp_disk_rename(old, path));
    }
    return error;
}

char *
adp_disk_folder_rename(const char *path, const char *to)
{
    bool is_there;
    char *error = look(path, &is_there);

    return error || !is_there ? error : change_places(to, NULL, path);
}

char *
adp_disk_folder_take_place(const char *path, char **aside)
{
    char *error = find_old_name(path, aside);

    if (!error) {
        char *new = adp_disk_folder_new_name(path);

        error = change_places(path, *aside, new);
        free(new);
    }
    if (error) {
        free(*aside);
        *aside = NULL;
    }
    return error;
}

char *
adp_disk_folder_bring_back(const char *path, const char *aside)
{
    if (!aside) {
        return adp_disk_folder_delete(path);
    }

    char *new = adp_disk_folder_new_name(path);
    char *error = change_places(path, new, aside);
    if (!error) {
        error = adp_disk_folder_delete(new);
    }
    free(new);
    return error;
}

char *
adp_disk_folder_recover(const char *path)
{
    char *new = adp_disk_folder_new_name(path);
    bool is_there, has_new = false;
    char *error = look(path, &is_there);

    if (!error) {
        error = look(new, &has_new);
    }
    if (!error && has_new && is_there) {
        free(adp_disk_folder_delete(new)); /* It is in nobody's way. */
    } else if (!error && has_new) {
        error = change_places(path, NULL, new);
    }
    free(new);
    return error;
}

char *
adp_disk_folder_delete(const char *path)
{
    struct adp_disk_files files;
    char *error = adp_disk_files_list(path, &files);

    /* The latest first: what is left over has a gap, and is no state. */
    for (size_t i = files.n; !error && i > 0; i--) {
        char *name = xasprintf("%s/%s", path, files.entries[i - 1].name);

        error = adp_disk_remove(name);
        free(name);
    }
    adp_disk_files_uninit(&files);
    if (!error && rmdir(path) && errno != ENOENT) {
        error = xasprintf("%s: %s", path, ovs_strerror(errno));
    }
    return error;
}
