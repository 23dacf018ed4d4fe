/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-disk-folder.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "adp-disk-private.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "util.h"

/* What a frame holds, but for a record that is longer. */
#define FRAME_LEN (64 * 1024)
/* Of a snapshot, in one go and synchronized. */
#define STEP_LEN (256 * 1024)
/* Shorter logs aren't worth a snapshot. */
#define MIN_LOG_LEN (1024 * 1024)

#define NEW_SUFFIX ".new"

struct adp_disk_folder {
    char *path;
    uint64_t generation;
    struct adp_disk_file *log;  /* NULL: not opened yet. */
    bool has_log;               /* On the disk. */
    bool has_name;              /* The log's name is, too. */
    uint64_t log_generation;
    struct adp_disk_mark end;   /* Of what counts in the log. */
    bool dirty;                 /* There may be something behind it. */
    struct adp_disk_mark before; /* The latest group, */
    uint64_t n_latest;          /* which has so many transactions. */
    uint64_t log_bytes;         /* Of logs before this one. */
    uint64_t snapshot_generation, snapshot_bytes;
    uint64_t written;           /* Bytes, ever. */

    /* The one that is being written. */
    struct {
        struct adp_disk_file *file; /* NULL: none is. */
        uint64_t generation;
        const struct json *records;
        size_t n;               /* Of them. */
    } next;
};

char *
adp_disk_name(const char *path, const char *what, uint64_t generation)
{
    return xasprintf("%s/%s-%016"PRIx64, path, what, generation);
}

/* Of the one that is being written. */
static char *
snapshot_name(const struct adp_disk_folder *f, const char *suffix)
{
    char *name = adp_disk_name(f->path, "snapshot", f->next.generation);
    char *whole = xasprintf("%s%s", name, suffix);

    free(name);
    return whole;
}

static char *
parent_of(const char *path)
{
    return dir_name(path);
}

/* Making the folder ready. */

/* The folder's name must survive, too. */
static char *
make_folder(const char *path)
{
    char *parent = parent_of(path);
    char *error = adp_disk_make_folder(path);

    if (!error) {
        error = adp_disk_sync_folder(parent);
    }
    free(parent);
    return error;
}

/* Sets '*logp' to a file under its name that has a header, and nothing else,
 * on the disk, or to NULL and returns an error.  That the name, too, is there
 * the caller sees to. */
static char *
begin_log(const char *path, uint64_t generation, struct adp_disk_file **logp)
{
    char *name = adp_disk_name(path, "log", generation);
    char *new_name = xasprintf("%s"NEW_SUFFIX, name);
    char *error = adp_disk_remove(new_name);

    *logp = NULL;
    if (!error) {
        error = adp_disk_file_create(new_name, ADP_DISK_LOG, generation, logp);
    }
    if (!error) {
        error = adp_disk_file_sync(*logp);
    }
    if (!error) {
        error = adp_disk_rename(new_name, name);
    }
    if (error) {
        adp_disk_file_close(*logp);
        *logp = NULL;
    }
    free(new_name);
    free(name);
    return error;
}

/* Removes what was there before the latest snapshot, and what has no name of
 * its own yet. */
static char *
remove_old(const struct adp_disk_folder *f)
{
    struct adp_disk_files files;
    char *error = adp_disk_files_list(f->path, &files);

    for (size_t i = 0; !error && i < files.n; i++) {
        const struct adp_disk_entry *entry = &files.entries[i];

        if (entry->is_new || entry->generation < f->snapshot_generation) {
            char *name = xasprintf("%s/%s", f->path, entry->name);

            error = adp_disk_remove(name);
            free(name);
        }
    }
    adp_disk_files_uninit(&files);
    return error;
}

static char *
open_log(struct adp_disk_folder *f)
{
    char *name = adp_disk_name(f->path, "log", f->log_generation);
    char *error = adp_disk_file_open(name, f->end, &f->log);

    free(name);
    f->has_name = false;        /* Who knows how that one ended? */
    return error ? error : remove_old(f);
}

static char *
make_log(struct adp_disk_folder *f)
{
    char *parent = parent_of(f->path);
    char *error = make_folder(parent);

    free(parent);
    if (!error) {
        error = make_folder(f->path);
    }
    if (!error) {
        error = begin_log(f->path, f->generation, &f->log);
    }
    if (!error) {
        f->has_log = true;
        f->log_generation = f->generation;
        f->end = f->before = adp_disk_file_end(f->log);
    }
    return error;
}

/* Makes that the log ends at 'f->end', if not now, then before the next
 * group. */
static char *
cut(struct adp_disk_folder *f)
{
    char *error = adp_disk_file_cut(f->log, f->end);

    f->dirty = error != NULL;
    return error;
}

/* Makes that a transaction can be appended. */
static char *
make_ready(struct adp_disk_folder *f)
{
    char *error = NULL;

    if (!f->log) {
        error = f->has_log ? open_log(f) : make_log(f);
    } else if (f->dirty) {
        error = cut(f);
    }
    if (!error && !f->has_name) {
        error = adp_disk_sync_folder(f->path);
        f->has_name = !error;
    }
    return error;
}

/* Transactions. */

struct adp_disk_folder *
adp_disk_folder_create(const char *path,
                       const struct adp_disk_position *position)
{
    struct adp_disk_folder *f = xmalloc(sizeof *f);

    *f = (struct adp_disk_folder) {
        .path = xstrdup(path),
        .generation = position->generation,
        .has_log = position->has_log,
        .log_generation = position->log_generation,
        .end = position->end,
        .before = position->end,
        .log_bytes = position->log_bytes,
        .snapshot_generation = position->snapshot_generation,
        .snapshot_bytes = position->snapshot_bytes,
    };
    return f;
}

void
adp_disk_folder_destroy(struct adp_disk_folder *f)
{
    if (f) {
        adp_disk_file_close(f->log);
        adp_disk_file_close(f->next.file);
        free(f->path);
        free(f);
    }
}

/* Files that are open go on under their names of now. */
void
adp_disk_folder_set_path(struct adp_disk_folder *f, const char *path)
{
    free(f->path);
    f->path = xstrdup(path);
    if (f->log) {
        char *name = adp_disk_name(f->path, "log", f->log_generation);

        adp_disk_file_set_name(f->log, name);
        free(name);
    }
    if (f->next.file) {
        char *name = snapshot_name(f, NEW_SUFFIX);

        adp_disk_file_set_name(f->next.file, name);
        free(name);
    }
}

char *
adp_disk_folder_move(struct adp_disk_folder *f, const char *to)
{
    char *error = adp_disk_folder_rename(f->path, to);

    if (!error) {
        adp_disk_folder_set_path(f, to);
    }
    return error;
}

/* Puts elements from the '*i'th on into one frame. */
static char *
put_some(struct adp_disk_file *file, enum adp_disk_op op, uint64_t generation,
         const struct json *array, size_t *i)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    do {
        ds_put_char(&s, s.length ? ',' : '[');
        json_to_ds(array->array.elems[*i], 0, &s);
    } while (++*i < array->array.n && s.length < FRAME_LEN);
    ds_put_char(&s, ']');
    char *error = adp_disk_file_put(file, op, generation, ds_cstr(&s),
                                    s.length);
    ds_destroy(&s);
    return error;
}

static char *
put_all(struct adp_disk_file *file, enum adp_disk_op op, uint64_t generation,
        const struct json *array)
{
    char *error = NULL;

    for (size_t i = 0; !error && array && i < array->array.n; ) {
        error = put_some(file, op, generation, array, &i);
    }
    return error;
}

static char *
put_change(struct adp_disk_file *file, uint64_t generation,
           const struct adp_disk_change *change, bool goes_on)
{
    const char *end = goes_on ? ADP_DISK_GOES_ON : "";
    char *error = NULL;

    if (change->clear) {
        error = adp_disk_file_put(file, ADP_DISK_CLEAR, generation, "", 0);
    }
    if (!error) {
        error = put_all(file, ADP_DISK_DELETE, generation, change->delete);
    }
    if (!error) {
        error = put_all(file, ADP_DISK_PATCH, generation, change->patch);
    }
    if (!error) {
        error = put_all(file, ADP_DISK_APPLY, generation, change->apply);
    }
    return (error ? error
            : adp_disk_file_put(file, ADP_DISK_END, generation, end,
                                strlen(end)));
}

char *
adp_disk_folder_append(struct adp_disk_folder *f, uint64_t generation,
                       const struct adp_disk_change *changes, size_t n)
{
    if (generation != f->generation + 1) {
        return xasprintf("%s: generation %"PRIu64" can't follow %"PRIu64,
                         f->path, generation, f->generation);
    }

    char *error = make_ready(f);
    if (error) {
        return error;
    }
    for (size_t i = 0; !error && i < n; i++) {
        error = put_change(f->log, generation + i, &changes[i], i + 1 < n);
    }
    if (!error) {
        error = adp_disk_file_sync(f->log);
    }
    if (error) {
        free(cut(f));
        return error;
    }
    f->before = f->end;
    f->end = adp_disk_file_end(f->log);
    f->written += f->end.size - f->before.size;
    f->generation += n;
    f->n_latest = n;
    return NULL;
}

char *
adp_disk_folder_take_back(struct adp_disk_folder *f)
{
    if (!f->log || f->before.size == f->end.size) {
        return xasprintf("%s: there is nothing to be taken back", f->path);
    }
    f->end = f->before;
    f->generation -= f->n_latest;
    return cut(f);
}

uint64_t
adp_disk_folder_generation(const struct adp_disk_folder *f)
{
    return f->generation;
}

uint64_t
adp_disk_folder_bytes(const struct adp_disk_folder *f)
{
    return f->snapshot_bytes + f->log_bytes + f->end.size;
}

uint64_t
adp_disk_folder_written(const struct adp_disk_folder *f)
{
    return f->written;
}

/* Snapshots. */

bool
adp_disk_folder_wants_snapshot(const struct adp_disk_folder *f)
{
    return (!f->next.file
            && f->log_bytes + f->end.size > MAX(MIN_LOG_LEN,
                                                f->snapshot_bytes));
}

/* Begins a new log, unless this one is empty. */
static char *
rotate(struct adp_disk_folder *f)
{
    struct adp_disk_file *log;
    char *error = make_ready(f);

    if (error || f->log_generation == f->generation) {
        return error;
    }
    error = begin_log(f->path, f->generation, &log);
    if (!error) {
        adp_disk_file_close(f->log);
        f->log = log;
        f->has_name = false;
        f->log_bytes += f->end.size;
        f->log_generation = f->generation;
        f->end = f->before = adp_disk_file_end(log);
        error = make_ready(f);
    }
    return error;
}

/* What there is of a snapshot that comes to nothing takes room that
 * transactions could have. */
static void
remove_unfinished(const struct adp_disk_folder *f)
{
    char *name = snapshot_name(f, NEW_SUFFIX);

    free(adp_disk_remove(name));
    free(name);
}

static void
end_snapshot(struct adp_disk_folder *f)
{
    adp_disk_file_close(f->next.file);
    f->next.file = NULL;
    f->next.records = NULL;
}

char *
adp_disk_folder_begin_snapshot(struct adp_disk_folder *f,
                               const struct json *records)
{
    char *error = rotate(f);

    ovs_assert(!f->next.file);
    if (error) {
        return error;
    }
    f->next.generation = f->generation;
    f->next.records = records;
    f->next.n = 0;

    char *name = snapshot_name(f, NEW_SUFFIX);
    error = adp_disk_remove(name);
    if (!error) {
        error = adp_disk_file_create(name, ADP_DISK_SNAPSHOT,
                                     f->next.generation, &f->next.file);
        if (error) {
            remove_unfinished(f);
        }
    }
    free(name);
    return error;
}

static char *
put_records(struct adp_disk_folder *f)
{
    uint64_t begin = adp_disk_file_end(f->next.file).size;
    char *error = NULL;

    while (!error && f->next.n < f->next.records->array.n
           && adp_disk_file_end(f->next.file).size - begin < STEP_LEN) {
        error = put_some(f->next.file, ADP_DISK_APPLY, f->next.generation,
                         f->next.records, &f->next.n);
    }
    return error ? error : adp_disk_file_sync(f->next.file);
}

/* The snapshot is all that counts of what was there before its log began. */
static void
forget_old(struct adp_disk_folder *f)
{
    f->snapshot_generation = f->next.generation;
    f->snapshot_bytes = adp_disk_file_end(f->next.file).size;
    f->written += f->snapshot_bytes;
    f->log_bytes = 0;
}

static char *
finish_snapshot(struct adp_disk_folder *f)
{
    char *error = adp_disk_file_put(f->next.file, ADP_DISK_END,
                                    f->next.generation, "", 0);
    if (!error) {
        error = adp_disk_file_sync(f->next.file);
    }
    if (!error) {
        char *from = snapshot_name(f, NEW_SUFFIX);
        char *to = snapshot_name(f, "");

        error = adp_disk_rename(from, to);
        free(to);
        free(from);
    }
    if (!error) {
        error = adp_disk_sync_folder(f->path);
    }
    if (!error) {
        forget_old(f);
        error = remove_old(f);
    }
    return error;
}

char *
adp_disk_folder_go_on(struct adp_disk_folder *f, bool *done)
{
    char *error = put_records(f);

    *done = error || f->next.n >= f->next.records->array.n;
    if (!error && *done) {
        error = finish_snapshot(f);
    }
    if (error) {
        remove_unfinished(f);
    }
    if (*done) {
        end_snapshot(f);
    }
    return error;
}
