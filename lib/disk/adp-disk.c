/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-disk.h"

#include <stdlib.h>

#include "openvswitch/json.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/thread.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "seq.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_disk);

/* Between a snapshot that failed and the next one. */
#define RETRY_MS 10000

enum disk_task {
    TASK_NONE,
    TASK_APPEND,
    TASK_TAKE_BACK,
    TASK_DONE,                  /* One has ended. */
};

struct adp_disk {
    pthread_t thread;
    struct seq *seq;            /* Something has ended. */
    long long int next_snapshot; /* The owner's: not before. */

    struct ovs_mutex mutex;
    pthread_cond_t changed;
    bool exit OVS_GUARDED;
    enum disk_task task OVS_GUARDED;
    const struct adp_disk_change *changes OVS_GUARDED; /* The owner's, */
    size_t n_changes OVS_GUARDED;
    uint64_t generation OVS_GUARDED;    /* of which this is the first. */
    char *task_error OVS_GUARDED;
    struct json *records OVS_GUARDED;   /* For a snapshot, or NULL. */
    struct json *used_records OVS_GUARDED;
    const char *new_path OVS_GUARDED;   /* The owner's, who waits; or NULL. */
    char *move_error OVS_GUARDED;
    struct adp_disk_stats stats OVS_GUARDED;
    bool wants_snapshot OVS_GUARDED;

    /* The thread's. */
    struct adp_disk_folder *folder;
    bool in_snapshot;
};

/* The thread. */

/* Takes 'error'.  Something has ended. */
static void
note_end(struct adp_disk *d, uint64_t *n_good, const char *error)
    OVS_REQUIRES(d->mutex)
{
    bool same = nullable_string_is_equal(d->stats.error, error);

    d->stats.generation = adp_disk_folder_generation(d->folder);
    d->stats.bytes = adp_disk_folder_bytes(d->folder);
    d->stats.written = adp_disk_folder_written(d->folder);
    d->wants_snapshot = adp_disk_folder_wants_snapshot(d->folder);
    if (error) {
        d->stats.n_failed++;
        if (!same) {
            VLOG_ERR("%s", error);
        }
    } else {
        ++*n_good;
        d->stats.last_write = time_wall_msec();
        if (!same) {
            VLOG_INFO("the state can be written again");
        }
    }
    free(d->stats.error);
    d->stats.error = nullable_xstrdup(error);
    seq_change(d->seq);
}

static void
do_task(struct adp_disk *d)
    OVS_REQUIRES(d->mutex)
{
    const struct adp_disk_change *changes = d->changes;
    uint64_t generation = d->generation;
    enum disk_task task = d->task;
    size_t n = d->n_changes;
    uint64_t taken_back = 0;

    ovs_mutex_unlock(&d->mutex);
    char *error = (task == TASK_APPEND
                   ? adp_disk_folder_append(d->folder, generation, changes, n)
                   : adp_disk_folder_take_back(d->folder));
    ovs_mutex_lock(&d->mutex);
    d->task = TASK_DONE;
    d->task_error = error;
    if (!error) {
        d->stats.n_transactions += n;
    }
    note_end(d, task == TASK_APPEND ? &d->stats.n_groups : &taken_back, error);
    xpthread_cond_signal(&d->changed);
}

static void
go_on_with_snapshot(struct adp_disk *d)
    OVS_REQUIRES(d->mutex)
{
    const struct json *records = d->records;
    bool done = false;
    char *error;

    ovs_mutex_unlock(&d->mutex);
    if (!d->in_snapshot) {
        error = adp_disk_folder_begin_snapshot(d->folder, records);
        done = error != NULL;
    } else {
        error = adp_disk_folder_go_on(d->folder, &done);
    }
    d->in_snapshot = !done;
    ovs_mutex_lock(&d->mutex);
    if (done) {
        d->used_records = d->records;
        d->records = NULL;
        note_end(d, &d->stats.n_snapshots, error);
        free(error);
    }
}

static void
move(struct adp_disk *d)
    OVS_REQUIRES(d->mutex)
{
    d->move_error = adp_disk_folder_move(d->folder, d->new_path);
    d->new_path = NULL;
    xpthread_cond_broadcast(&d->changed);
}

static void *
disk_main(void *d_)
{
    struct adp_disk *d = d_;

    ovsrcu_quiesce_start();
    ovs_mutex_lock(&d->mutex);
    for (;;) {
        if (d->new_path) {
            move(d);
        } else if (d->records && !d->in_snapshot && !d->exit) {
            /* It begins with what was written when it was asked for. */
            go_on_with_snapshot(d);
        } else if (d->task == TASK_APPEND || d->task == TASK_TAKE_BACK) {
            do_task(d);
        } else if (d->exit) {
            break;
        } else if (d->records) {
            go_on_with_snapshot(d);
        } else {
            ovs_mutex_cond_wait(&d->changed, &d->mutex);
        }
    }
    ovs_mutex_unlock(&d->mutex);
    return NULL;
}

/* The owner. */

struct adp_disk *
adp_disk_create(const char *path, const struct adp_disk_position *position)
{
    struct adp_disk *d = xzalloc(sizeof *d);

    d->folder = adp_disk_folder_create(path, position);
    d->seq = seq_create();
    ovs_mutex_init(&d->mutex);
    xpthread_cond_init(&d->changed, NULL);
    ovs_mutex_lock(&d->mutex);
    d->stats.generation = position->generation;
    d->stats.bytes = adp_disk_folder_bytes(d->folder);
    d->wants_snapshot = adp_disk_folder_wants_snapshot(d->folder);
    ovs_mutex_unlock(&d->mutex);
    d->thread = ovs_thread_create("adp_disk", disk_main, d);
    return d;
}

void
adp_disk_destroy(struct adp_disk *d)
{
    if (!d) {
        return;
    }
    ovs_mutex_lock(&d->mutex);
    d->exit = true;
    xpthread_cond_broadcast(&d->changed);
    ovs_mutex_unlock(&d->mutex);
    xpthread_join(d->thread, NULL);

    adp_disk_folder_destroy(d->folder);
    ovs_mutex_lock(&d->mutex);
    json_destroy(d->records);
    json_destroy(d->used_records);
    free(d->task_error);
    free(d->stats.error);
    ovs_mutex_unlock(&d->mutex);
    seq_destroy(d->seq);
    xpthread_cond_destroy(&d->changed);
    ovs_mutex_destroy(&d->mutex);
    free(d);
}

void
adp_disk_set_path(struct adp_disk *d, const char *path)
{
    ovs_mutex_lock(&d->mutex);
    ovs_assert(d->task == TASK_NONE && !d->records);
    adp_disk_folder_set_path(d->folder, path);
    ovs_mutex_unlock(&d->mutex);
}

char *
adp_disk_move(struct adp_disk *d, const char *to)
{
    ovs_mutex_lock(&d->mutex);
    d->new_path = to;
    xpthread_cond_broadcast(&d->changed);
    while (d->new_path) {
        ovs_mutex_cond_wait(&d->changed, &d->mutex);
    }
    char *error = d->move_error;
    d->move_error = NULL;
    ovs_mutex_unlock(&d->mutex);
    return error;
}

static void
begin(struct adp_disk *d, enum disk_task task, uint64_t generation,
      const struct adp_disk_change *changes, size_t n)
{
    ovs_mutex_lock(&d->mutex);
    ovs_assert(d->task == TASK_NONE);
    d->task = task;
    d->generation = generation;
    d->changes = changes;
    d->n_changes = n;
    xpthread_cond_broadcast(&d->changed);
    ovs_mutex_unlock(&d->mutex);
}

void
adp_disk_append(struct adp_disk *d, uint64_t generation,
                const struct adp_disk_change *changes, size_t n)
{
    begin(d, TASK_APPEND, generation, changes, n);
}

void
adp_disk_take_back(struct adp_disk *d)
{
    begin(d, TASK_TAKE_BACK, 0, NULL, 0);
}

bool
adp_disk_is_busy(const struct adp_disk *d_)
{
    struct adp_disk *d = CONST_CAST(struct adp_disk *, d_);

    ovs_mutex_lock(&d->mutex);
    bool busy = d->task != TASK_NONE;
    ovs_mutex_unlock(&d->mutex);
    return busy;
}

bool
adp_disk_is_done(struct adp_disk *d, char **error)
{
    ovs_mutex_lock(&d->mutex);
    bool done = d->task == TASK_DONE;
    *error = NULL;
    if (done) {
        *error = d->task_error;
        d->task_error = NULL;
        d->task = TASK_NONE;
    }
    ovs_mutex_unlock(&d->mutex);
    return done;
}

void
adp_disk_finish(struct adp_disk *d)
{
    ovs_mutex_lock(&d->mutex);
    while (d->task == TASK_APPEND || d->task == TASK_TAKE_BACK) {
        ovs_mutex_cond_wait(&d->changed, &d->mutex);
    }
    ovs_mutex_unlock(&d->mutex);
}

void
adp_disk_wait(struct adp_disk *d)
{
    seq_wait(d->seq, seq_read(d->seq));
    ovs_mutex_lock(&d->mutex);
    if (d->task == TASK_DONE || d->used_records) {
        poll_immediate_wake();  /* It ended before. */
    }
    ovs_mutex_unlock(&d->mutex);
}

bool
adp_disk_wants_snapshot(struct adp_disk *d, long long int now_ms)
{
    ovs_mutex_lock(&d->mutex);
    bool wants = (d->wants_snapshot && !d->records && !d->used_records
                  && now_ms >= d->next_snapshot);
    ovs_mutex_unlock(&d->mutex);
    return wants;
}

void
adp_disk_snapshot(struct adp_disk *d, struct json *records,
                  long long int now_ms)
{
    ovs_mutex_lock(&d->mutex);
    ovs_assert(!d->records && !d->used_records);
    d->records = records;
    d->next_snapshot = now_ms + RETRY_MS;
    xpthread_cond_broadcast(&d->changed);
    ovs_mutex_unlock(&d->mutex);
}

struct json *
adp_disk_take_records(struct adp_disk *d)
{
    ovs_mutex_lock(&d->mutex);
    struct json *records = d->used_records;
    d->used_records = NULL;
    ovs_mutex_unlock(&d->mutex);
    return records;
}

void
adp_disk_get_stats(struct adp_disk *d, struct adp_disk_stats *stats)
{
    ovs_mutex_lock(&d->mutex);
    *stats = d->stats;
    stats->error = nullable_xstrdup(d->stats.error);
    ovs_mutex_unlock(&d->mutex);
}
