/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-handover-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util.h"

#define MAGIC 0x61647068616e6431ULL
#define BUFFER_SIZE (256 * 1024)
BUILD_ASSERT_DECL(BUFFER_SIZE % sizeof(uint64_t) == 0);

struct handover_file_part {
    uint32_t kind, version;
    uint64_t ofs, len;          /* From the file's beginning. */
};

/* What the file begins with.  Numbers are in the machine's order. */
struct handover_file_header {
    uint64_t magic;             /* Zero until all else is written. */
    uint32_t version;
    uint32_t n_parts;
    char boot_id[40];           /* Of the kernel, with zeros behind. */
    int64_t begun_ms;           /* CLOCK_BOOTTIME. */
    uint64_t len;               /* Of the file. */
    uint64_t content_sum;       /* Of what follows the header. */
    struct handover_file_part parts[ADP_HANDOVER_MAX_PARTS];
    uint64_t header_sum;        /* Of what comes before. */
};
BUILD_ASSERT_DECL(sizeof(struct handover_file_header) % sizeof(uint64_t) == 0);

static char *
file_error(const char *path, const char *what, int error)
{
    return xasprintf("%s: %s: %s", path, what, ovs_strerror(error));
}

static long long int
boottime_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* Which start of the machine this is.  Zeros if nobody knows. */
static void
read_boot_id(char id[40])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    memset(id, 0, 40);
    if (f) {
        if (!fgets(id, 40, f)) {
            id[0] = '\0';
        }
        fclose(f);
    }
}

/* Adds 'n' bytes, those that lack to a whole word taken for zeros.  Each step
 * can be undone, so whatever changes one word changes the sum. */
static uint64_t
sum_add(uint64_t sum, const void *data, size_t n)
{
    const char *p = data;
    uint64_t word;

    for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
        sum ^= sum >> 32;
    }
    if (n) {
        word = 0;
        memcpy(&word, p, n);
        sum = (sum ^ word) * 0x9e3779b97f4a7c15ULL;
        sum ^= sum >> 32;
    }
    return sum;
}

/* Writing. */

struct adp_handover_out {
    char *path, *temporary;
    int fd;
    uint64_t max_len;
    long long int deadline;
    struct handover_file_header header;
    uint64_t len;               /* Written, or in the buffer. */
    size_t n;                   /* In the buffer. */
    char *buffer;               /* BUFFER_SIZE. */
    char *error;
};

static int
write_all(int fd, const char *data, size_t left, off_t ofs)
{
    while (left) {
        ssize_t n = pwrite(fd, data, left, ofs);

        if (n > 0) {
            data += n;
            left -= n;
            ofs += n;
        } else if (!n) {
            return ENOSPC;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static void
out_flush(struct adp_handover_out *out)
{
    int error;

    if (out->error) {
        return;
    }
    if (out->len > out->max_len) {
        out->error = xasprintf("%s: more than %llu bytes", out->path,
                               (unsigned long long int) out->max_len);
        return;
    }
    if (boottime_ms() > out->deadline) {
        out->error = xasprintf("%s: it takes too long", out->path);
        return;
    }
    out->header.content_sum = sum_add(out->header.content_sum, out->buffer,
                                      out->n);
    error = write_all(out->fd, out->buffer, out->n, out->len - out->n);
    if (error) {
        out->error = file_error(out->path, "write", error);
    }
    out->n = 0;
}

char *
adp_handover_out_create(const char *path, uint64_t max_len,
                        long long int max_ms, struct adp_handover_out **outp)
{
    char *temporary = xasprintf("%s.new", path);
    int fd;

    *outp = NULL;
    unlink(path);
    unlink(temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
              0600);
    if (fd < 0) {
        char *error = file_error(temporary, "create", errno);

        free(temporary);
        return error;
    }

    struct adp_handover_out *out = *outp = xzalloc(sizeof *out);
    out->path = xstrdup(path);
    out->temporary = temporary;
    out->fd = fd;
    out->max_len = max_len;
    out->header.version = ADP_HANDOVER_FILE_VERSION;
    out->header.begun_ms = boottime_ms();
    out->deadline = out->header.begun_ms + max_ms;
    read_boot_id(out->header.boot_id);
    out->buffer = xmalloc(BUFFER_SIZE);
    out->len = sizeof out->header;
    return NULL;
}

void
adp_handover_out_begin(struct adp_handover_out *out, uint32_t kind,
                       uint32_t version)
{
    ovs_assert(out->header.n_parts < ADP_HANDOVER_MAX_PARTS);
    out->header.parts[out->header.n_parts++] = (struct handover_file_part) {
        .kind = kind, .version = version, .ofs = out->len,
    };
}

bool
adp_handover_out_write(struct adp_handover_out *out, const void *data_,
                       size_t len)
{
    struct handover_file_part *part
        = &out->header.parts[out->header.n_parts - 1];
    const char *data = data_;

    part->len += len;
    while (len) {
        size_t n = MIN(len, BUFFER_SIZE - out->n);

        memcpy(out->buffer + out->n, data, n);
        out->n += n;
        out->len += n;
        data += n;
        len -= n;
        if (out->n == BUFFER_SIZE) {
            out_flush(out);
            out->n = 0;
        }
    }
    return !out->error;
}

/* The beginning, last. */
static char *
out_end(struct adp_handover_out *out)
{
    struct handover_file_header *h = &out->header;
    int error;

    h->magic = MAGIC;
    h->len = out->len;
    h->header_sum = sum_add(0, h, offsetof(struct handover_file_header,
                                           header_sum));
    error = write_all(out->fd, (const char *) h, sizeof *h, 0);
    if (error) {
        return file_error(out->path, "write", error);
    }
    if (rename(out->temporary, out->path)) {
        return file_error(out->path, "rename", errno);
    }
    return NULL;
}

char *
adp_handover_out_commit(struct adp_handover_out *out, uint64_t *len)
{
    char *error;

    out_flush(out);
    error = out->error ? out->error : out_end(out);
    if (error) {
        unlink(out->temporary);
    }
    close(out->fd);
    *len = out->len;
    free(out->path);
    free(out->temporary);
    free(out->buffer);
    free(out);
    return error;
}

/* Reading. */

struct adp_handover_in {
    void *map;
    size_t len;
    long long int age_ms;
};

static const struct handover_file_header *
in_header(const struct adp_handover_in *in)
{
    return in->map;
}

/* Why the file that is open as 'fd' isn't to be trusted, or NULL. */
static const char *
check_file(int fd, struct stat *s)
{
    if (fstat(fd, s)) {
        return "fstat failed";
    } else if (!S_ISREG(s->st_mode)) {
        return "it isn't a file";
    } else if (s->st_uid != geteuid() || s->st_mode & (S_IRWXG | S_IRWXO)) {
        return "others may have written it";
    } else if (s->st_size < sizeof(struct handover_file_header)) {
        return "it is too short";
    }
    return NULL;
}

static const char *
check_parts(const struct handover_file_header *h)
{
    if (h->n_parts > ADP_HANDOVER_MAX_PARTS) {
        return "it has too many parts";
    }
    for (size_t i = 0; i < h->n_parts; i++) {
        const struct handover_file_part *part = &h->parts[i];

        if (part->ofs < sizeof *h || part->ofs > h->len
            || part->len > h->len - part->ofs) {
            return "a part isn't there";
        }
    }
    return NULL;
}

static const char *
check_time(const struct handover_file_header *h, long long int *age_ms)
{
    long long int now = boottime_ms();
    char boot_id[40];

    read_boot_id(boot_id);
    if (memcmp(boot_id, h->boot_id, sizeof boot_id)
        || h->begun_ms < 0 || h->begun_ms > now) {
        return "it is from before the machine's start";
    }
    *age_ms = now - h->begun_ms;
    return *age_ms > ADP_HANDOVER_MAX_AGE_MS ? "it is too old" : NULL;
}

static const char *
check_content(const struct adp_handover_in *in, long long int *age_ms)
{
    const struct handover_file_header *h = in_header(in);
    const char *error;

    if (h->magic != MAGIC
        || h->header_sum != sum_add(0, h, offsetof(struct handover_file_header,
                                                   header_sum))) {
        return "it isn't whole";
    }
    if (h->version != ADP_HANDOVER_FILE_VERSION) {
        return "its format is another version's";
    }
    error = check_time(h, age_ms);
    if (!error && h->len != in->len) {
        error = "it isn't as long as it was";
    }
    if (!error) {
        error = check_parts(h);
    }
    if (!error && h->content_sum != sum_add(0, h + 1, in->len - sizeof *h)) {
        error = "its checksum is wrong";
    }
    return error;
}

/* Maps what is open as 'fd'. */
static const char *
in_map(int fd, struct adp_handover_in **inp)
{
    struct adp_handover_in *in;
    struct stat s;
    const char *error = check_file(fd, &s);
    void *map;

    if (error) {
        return error;
    }
    map = mmap(NULL, s.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (map == MAP_FAILED) {
        return "mmap failed";
    }
    in = xzalloc(sizeof *in);
    in->map = map;
    in->len = s.st_size;
    error = check_content(in, &in->age_ms);
    if (error) {
        adp_handover_in_close(in);
    } else {
        *inp = in;
    }
    return error;
}

char *
adp_handover_in_open(const char *path, struct adp_handover_in **inp)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const char *error;

    *inp = NULL;
    if (fd < 0) {
        if (errno == ENOENT) {
            return NULL;
        }
        int code = errno;

        unlink(path);
        return file_error(path, "open", code);
    }
    if (unlink(path)) {
        /* It could be used again. */
        int code = errno;

        close(fd);
        return file_error(path, "unlink", code);
    }
    error = in_map(fd, inp);
    close(fd);
    return error ? xasprintf("%s: %s", path, error) : NULL;
}

void
adp_handover_in_close(struct adp_handover_in *in)
{
    if (in) {
        munmap(in->map, in->len);
        free(in);
    }
}

long long int
adp_handover_in_age_ms(const struct adp_handover_in *in)
{
    return in->age_ms;
}

const void *
adp_handover_in_part(const struct adp_handover_in *in, uint32_t kind,
                     uint32_t version, size_t *len)
{
    const struct handover_file_header *h = in_header(in);

    for (size_t i = 0; i < h->n_parts; i++) {
        const struct handover_file_part *part = &h->parts[i];

        if (part->kind == kind && part->version == version) {
            *len = part->len;
            return (const char *) in->map + part->ofs;
        }
    }
    return NULL;
}
