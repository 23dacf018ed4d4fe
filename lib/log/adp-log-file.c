/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-log-file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "openvswitch/dynamic-string.h"
#include "openvswitch/thread.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_log_file);

#define RETRY_MS 1000
#define CHECK_MS 1000

struct adp_log_file {
    pthread_t thread;
    struct ovs_mutex mutex;
    pthread_cond_t work;        /* Something is pending, or exit. */
    pthread_cond_t done;        /* Nothing is, and nothing is being written. */

    struct ds pending OVS_GUARDED;
    uint64_t n_pending OVS_GUARDED;     /* Lines. */
    bool writing OVS_GUARDED;
    bool exit OVS_GUARDED;
    char *name OVS_GUARDED;
    uint64_t max_size OVS_GUARDED;
    unsigned int n_backups OVS_GUARDED;
    uint64_t n_written OVS_GUARDED, n_lost OVS_GUARDED;
    uint64_t n_rotated OVS_GUARDED;
    char *error OVS_GUARDED;

    /* The thread's. */
    int fd;                     /* -1: none. */
    char *open_name;
    uint64_t size;
    long long int next_try, next_check;
    bool said;                  /* Why it can't be written. */
};

/* A part of what is to be written, and how. */
struct job {
    char *name;
    uint64_t max_size;
    unsigned int n_backups;
    struct ds lines;
    uint64_t n_lines;
};

/* The thread. */

static void
close_file(struct adp_log_file *f)
{
    if (f->fd >= 0) {
        close(f->fd);
        f->fd = -1;
    }
    free(f->open_name);
    f->open_name = NULL;
}

static void
make_folder(const char *name)
{
    char *folder = dir_name(name);

    mkdir(folder, 0755);        /* If it fails, open() says why. */
    free(folder);
}

/* Returns 0 or a positive errno value. */
static int
open_file(struct adp_log_file *f, const char *name)
{
    struct stat s;

    make_folder(name);
    f->fd = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (f->fd < 0) {
        return errno;
    }
    if (fstat(f->fd, &s)) {
        int error = errno;

        close_file(f);
        return error;
    }
    f->open_name = xstrdup(name);
    f->size = s.st_size;
    f->next_check = time_msec() + CHECK_MS;
    return 0;
}

/* Has somebody taken the file away? */
static bool
is_gone(const struct adp_log_file *f)
{
    struct stat by_name, by_fd;

    return (stat(f->open_name, &by_name) || fstat(f->fd, &by_fd)
            || by_name.st_ino != by_fd.st_ino
            || by_name.st_dev != by_fd.st_dev);
}

static char *
backup_name(const char *name, unsigned int i)
{
    return i ? xasprintf("%s.%u", name, i) : xstrdup(name);
}

/* Moves the file, and those before it, one further.  Returns 0 or a positive
 * errno value. */
static int
rotate(struct adp_log_file *f, const struct job *job)
{
    int error = 0;

    for (unsigned int i = job->n_backups; i > 0; i--) {
        char *from = backup_name(job->name, i - 1);
        char *to = backup_name(job->name, i);

        /* All but the last may not be there. */
        error = rename(from, to) && i == 1 ? errno : 0;
        free(from);
        free(to);
    }
    if (!job->n_backups) {
        error = unlink(job->name) ? errno : 0;
    }
    close_file(f);
    if (error) {
        return error;
    }
    ovs_mutex_lock(&f->mutex);
    f->n_rotated++;
    ovs_mutex_unlock(&f->mutex);
    return 0;
}

/* Sees to it that the right file is open, with room for a line of 'len'
 * bytes. */
static int
ready_file(struct adp_log_file *f, const struct job *job, size_t len)
{
    long long int now = time_msec();

    if (f->fd >= 0 && strcmp(f->open_name, job->name)) {
        close_file(f);
    }
    if (f->fd >= 0 && now >= f->next_check) {
        f->next_check = now + CHECK_MS;
        if (is_gone(f)) {
            close_file(f);
        }
    }
    if (f->fd < 0) {
        int error = open_file(f, job->name);

        if (error) {
            return error;
        }
    }
    if (f->size && f->size + len > job->max_size) {
        int error = rotate(f, job);

        return error ? error : open_file(f, job->name);
    }
    return 0;
}

/* Writes whole lines, or nothing.  Returns 0 or a positive errno value. */
static int
write_lines(struct adp_log_file *f, const char *lines, size_t len)
{
    const uint64_t old_size = f->size;

    while (len) {
        ssize_t n = write(f->fd, lines, len);

        if (n < 0 && errno == EINTR) {
            continue;
        } else if (n <= 0) {
            int error = n ? errno : EIO;

            if (f->size != old_size && ftruncate(f->fd, old_size)) {
                VLOG_DBG("%s: %s", f->open_name, ovs_strerror(errno));
            }
            close_file(f);
            return error;
        }
        lines += n;
        len -= n;
        f->size += n;
    }
    return 0;
}

/* The length of as many lines as fit into 'max' bytes, at least one. */
static size_t
fitting_len(const char *lines, size_t len, uint64_t max)
{
    const char *end;

    if (len <= max) {
        return len;
    }
    end = max ? memrchr(lines, '\n', max) : NULL;
    end = end ? end : memchr(lines, '\n', len);
    return end ? end + 1 - lines : len;
}

static uint64_t
count_lines(const char *lines, size_t len)
{
    uint64_t n = 0;

    for (size_t i = 0; i < len; i++) {
        n += lines[i] == '\n';
    }
    return n;
}

/* Returns how many lines were written, and sets '*errorp'. */
static uint64_t
write_job(struct adp_log_file *f, const struct job *job, int *errorp)
{
    const char *lines = job->lines.string;
    size_t len = job->lines.length;
    uint64_t n = 0;

    *errorp = 0;
    while (len && !*errorp) {
        *errorp = ready_file(f, job, fitting_len(lines, len, 0));
        if (!*errorp) {
            uint64_t room = (f->size < job->max_size
                             ? job->max_size - f->size : 0);
            size_t part = fitting_len(lines, len, room);

            *errorp = write_lines(f, lines, part);
            if (!*errorp) {
                n += count_lines(lines, part);
                lines += part;
                len -= part;
            }
        }
    }
    return n;
}

static void
say(struct adp_log_file *f, const struct job *job, int error)
{
    if (error && !f->said) {
        VLOG_WARN("%s: %s: what policies log isn't written",
                  job->name, ovs_strerror(error));
    } else if (!error && f->said) {
        VLOG_INFO("%s: is written again", job->name);
    }
    f->said = error != 0;
}

static void
run_job(struct adp_log_file *f, struct job *job)
{
    int error = 0;
    uint64_t n = 0;
    bool tried = job->name && time_msec() >= f->next_try;

    if (tried) {
        n = write_job(f, job, &error);
        if (error) {
            f->next_try = time_msec() + RETRY_MS;
        }
        say(f, job, error);
    }

    ovs_mutex_lock(&f->mutex);
    f->n_written += n;
    f->n_lost += job->name ? job->n_lines - n : 0;
    if (tried) {
        free(f->error);
        f->error = error ? xasprintf("%s: %s", job->name, ovs_strerror(error))
                   : NULL;
    }
    ovs_mutex_unlock(&f->mutex);
}

static void *
file_main(void *f_)
{
    struct adp_log_file *f = f_;
    struct job job = { .lines = DS_EMPTY_INITIALIZER };

    /* It reads nothing that RCU guards, and nobody waits for a disk. */
    ovsrcu_quiesce_start();
    ovs_mutex_lock(&f->mutex);
    while (f->n_pending || !f->exit) {
        if (!f->n_pending) {
            ovs_mutex_cond_wait(&f->work, &f->mutex);
            continue;
        }

        struct ds lines = job.lines;
        job.lines = f->pending;
        job.n_lines = f->n_pending;
        f->pending = lines;
        f->n_pending = 0;
        f->writing = true;
        job.name = nullable_xstrdup(f->name);
        job.max_size = f->max_size;
        job.n_backups = f->n_backups;
        ovs_mutex_unlock(&f->mutex);

        run_job(f, &job);
        free(job.name);
        ds_clear(&job.lines);

        ovs_mutex_lock(&f->mutex);
        f->writing = false;
        if (!f->n_pending) {
            xpthread_cond_broadcast(&f->done);
        }
    }
    ovs_mutex_unlock(&f->mutex);
    ds_destroy(&job.lines);
    return NULL;
}

/* Who has the lines. */

struct adp_log_file *
adp_log_file_create(void)
{
    struct adp_log_file *f = xzalloc(sizeof *f);

    ovs_mutex_init(&f->mutex);
    xpthread_cond_init(&f->work, NULL);
    xpthread_cond_init(&f->done, NULL);
    ovs_mutex_lock(&f->mutex);
    ds_init(&f->pending);
    f->max_size = ADP_LOG_FILE_DEFAULT_SIZE;
    f->n_backups = ADP_LOG_FILE_DEFAULT_BACKUPS;
    ovs_mutex_unlock(&f->mutex);
    f->fd = -1;
    f->thread = ovs_thread_create("adp-log", file_main, f);
    return f;
}

void
adp_log_file_destroy(struct adp_log_file *f)
{
    ovs_mutex_lock(&f->mutex);
    f->exit = true;
    xpthread_cond_signal(&f->work);
    ovs_mutex_unlock(&f->mutex);
    xpthread_join(f->thread, NULL);

    ovs_mutex_lock(&f->mutex);
    ds_destroy(&f->pending);
    free(f->name);
    free(f->error);
    ovs_mutex_unlock(&f->mutex);
    close_file(f);
    ovs_mutex_destroy(&f->mutex);
    xpthread_cond_destroy(&f->work);
    xpthread_cond_destroy(&f->done);
    free(f);
}

void
adp_log_file_configure(struct adp_log_file *f, const char *name,
                       uint64_t max_size, unsigned int n_backups)
{
    ovs_mutex_lock(&f->mutex);
    if (!nullable_string_is_equal(f->name, name)) {
        free(f->name);
        f->name = nullable_xstrdup(name);
    }
    f->max_size = max_size;
    f->n_backups = MIN(n_backups, ADP_LOG_FILE_MAX_BACKUPS);
    ovs_mutex_unlock(&f->mutex);
}

void
adp_log_file_put(struct adp_log_file *f, const char *line, size_t len)
{
    ovs_mutex_lock(&f->mutex);
    if (!f->name) {
        /* Nobody wants them. */
    } else if (f->pending.length + len > ADP_LOG_FILE_MAX_PENDING) {
        f->n_lost++;
    } else {
        ds_put_buffer(&f->pending, line, len);
        if (!f->n_pending++) {
            xpthread_cond_signal(&f->work);
        }
    }
    ovs_mutex_unlock(&f->mutex);
}

void
adp_log_file_flush(struct adp_log_file *f)
{
    ovs_mutex_lock(&f->mutex);
    while (f->n_pending || f->writing) {
        ovs_mutex_cond_wait(&f->done, &f->mutex);
    }
    ovs_mutex_unlock(&f->mutex);
}

void
adp_log_file_stats_get(struct adp_log_file *f,
                       struct adp_log_file_stats *stats)
{
    ovs_mutex_lock(&f->mutex);
    *stats = (struct adp_log_file_stats) {
        .n_written = f->n_written,
        .n_lost = f->n_lost,
        .n_rotated = f->n_rotated,
        .name = nullable_xstrdup(f->name),
        .error = nullable_xstrdup(f->error),
    };
    ovs_mutex_unlock(&f->mutex);
}
