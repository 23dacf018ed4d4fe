/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-disk-file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crc32c.h"
#include "openvswitch/dynamic-string.h"
#include "unaligned.h"
#include "util.h"

#define MAGIC "adp-disk"
#define CHECKED_LEN (ADP_DISK_HEADER_LEN - 4)

/* Written in one go. */
#define BUFFER_LEN (256 * 1024)

/* What a disk writes at least. */
#define SECTOR_LEN 512

int (*adp_disk_fault)(const char *what, const char *name);

struct adp_disk_file {
    char *name;
    int fd;
    struct ds buffer;           /* Behind what is in the file. */
    struct adp_disk_mark end;   /* With the buffer. */
};

struct adp_disk_reader {
    char *name;
    int fd;
    uint64_t file_size;
    struct adp_disk_mark mark;
    char *payload;
    size_t allocated;
};

static char *
disk_error(const char *name, const char *what, int error)
{
    return xasprintf("%s: %s: %s", name, what, ovs_strerror(error));
}

/* Returns 0, or an error that a test wants. */
static int
fault(const char *what, const char *name)
{
    return adp_disk_fault ? adp_disk_fault(what, name) : 0;
}

/* Headers. */

static void
put_be32(uint8_t *header, size_t ofs, uint32_t value)
{
    put_unaligned_be32(ALIGNED_CAST(ovs_be32 *, header + ofs), htonl(value));
}

static void
put_be64(uint8_t *header, size_t ofs, uint64_t value)
{
    put_unaligned_be64(ALIGNED_CAST(ovs_be64 *, header + ofs), htonll(value));
}

static uint32_t
get_be32(const uint8_t *header, size_t ofs)
{
    return ntohl(get_unaligned_be32(ALIGNED_CAST(const ovs_be32 *,
                                                 header + ofs)));
}

static uint64_t
get_be64(const uint8_t *header, size_t ofs)
{
    return ntohll(get_unaligned_be64(ALIGNED_CAST(const ovs_be64 *,
                                                  header + ofs)));
}

static uint32_t
checksum(const void *data, size_t len)
{
    return ntohl(crc32c(data, len));
}

static void
seal(uint8_t *header)
{
    put_be32(header, CHECKED_LEN, checksum(header, CHECKED_LEN));
}

static bool
is_sealed(const uint8_t *header)
{
    return get_be32(header, CHECKED_LEN) == checksum(header, CHECKED_LEN);
}

/* Writing. */

/* Empties the buffer, whatever comes of it. */
static char *
flush(struct adp_disk_file *f)
{
    const char *data = ds_cstr(&f->buffer);
    size_t left = f->buffer.length;
    int error = left ? fault("write", f->name) : 0;

    while (left && !error) {
        ssize_t n = write(f->fd, data, left);

        if (n > 0) {
            data += n;
            left -= n;
        } else if (n < 0 && errno != EINTR) {
            error = errno;
        } else if (!n) {
            error = ENOSPC;
        }
    }
    ds_clear(&f->buffer);
    return error ? disk_error(f->name, "write", error) : NULL;
}

static struct adp_disk_file *
file_create(const char *name, int fd, struct adp_disk_mark end)
{
    struct adp_disk_file *f = xmalloc(sizeof *f);

    *f = (struct adp_disk_file) {
        .name = xstrdup(name),
        .fd = fd,
        .buffer = DS_EMPTY_INITIALIZER,
        .end = end,
    };
    return f;
}

char *
adp_disk_file_create(const char *name, enum adp_disk_kind kind,
                     uint64_t generation, struct adp_disk_file **fp)
{
    uint8_t header[ADP_DISK_HEADER_LEN] = MAGIC;
    int error = fault("create", name);
    int fd = -1;

    *fp = NULL;
    if (!error) {
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        error = fd < 0 ? errno : 0;
    }
    if (error) {
        return disk_error(name, "create", error);
    }

    put_be32(header, 8, ADP_DISK_VERSION);
    put_be32(header, 12, kind);
    put_be64(header, 16, generation);
    seal(header);
    *fp = file_create(name, fd, (struct adp_disk_mark) { sizeof header, 0 });
    ds_put_buffer(&(*fp)->buffer, (char *) header, sizeof header);
    return NULL;
}

char *
adp_disk_file_open(const char *name, struct adp_disk_mark mark,
                   struct adp_disk_file **fp)
{
    int error = fault("open", name);
    int fd = -1;

    *fp = NULL;
    if (!error) {
        fd = open(name, O_WRONLY | O_CLOEXEC);
        error = fd < 0 ? errno : 0;
    }
    if (error) {
        return disk_error(name, "open", error);
    }

    *fp = file_create(name, fd, mark);
    char *text = adp_disk_file_cut(*fp, mark);
    if (text) {
        adp_disk_file_close(*fp);
        *fp = NULL;
    }
    return text;
}

void
adp_disk_file_close(struct adp_disk_file *f)
{
    if (f) {
        close(f->fd);
        ds_destroy(&f->buffer);
        free(f->name);
        free(f);
    }
}

void
adp_disk_file_set_name(struct adp_disk_file *f, const char *name)
{
    free(f->name);
    f->name = xstrdup(name);
}

char *
adp_disk_file_put(struct adp_disk_file *f, enum adp_disk_op op,
                  uint64_t generation, const char *payload, size_t len)
{
    uint8_t header[ADP_DISK_HEADER_LEN] = { 0 };

    if (len > ADP_DISK_MAX_PAYLOAD) {
        return xasprintf("%s: %"PRIuSIZE" bytes don't fit into a frame",
                         f->name, len);
    }
    put_be32(header, 0, len);
    put_be32(header, 4, op);
    put_be64(header, 8, generation);
    put_be32(header, 16, f->end.n_frames);
    put_be32(header, 20, checksum(payload, len));
    seal(header);
    ds_put_buffer(&f->buffer, (char *) header, sizeof header);
    ds_put_buffer(&f->buffer, payload, len);
    f->end.size += sizeof header + len;
    f->end.n_frames++;
    return f->buffer.length >= BUFFER_LEN ? flush(f) : NULL;
}

static char *
synchronize(int fd, const char *name)
{
    int error = fault("fsync", name);

    if (!error && fsync(fd)) {
        error = errno;
    }
    return error ? disk_error(name, "fsync", error) : NULL;
}

char *
adp_disk_file_sync(struct adp_disk_file *f)
{
    char *error = flush(f);

    return error ? error : synchronize(f->fd, f->name);
}

struct adp_disk_mark
adp_disk_file_end(const struct adp_disk_file *f)
{
    return f->end;
}

char *
adp_disk_file_cut(struct adp_disk_file *f, struct adp_disk_mark mark)
{
    int error = fault("truncate", f->name);

    ds_clear(&f->buffer);
    if (!error && (ftruncate(f->fd, mark.size)
                   || lseek(f->fd, mark.size, SEEK_SET) < 0)) {
        error = errno;
    }
    if (error) {
        return disk_error(f->name, "truncate", error);
    }
    f->end = mark;
    return synchronize(f->fd, f->name);
}

/* Reading. */

/* Reads 'len' bytes, which the file has.  Returns 0 or an errno value. */
static int
read_all(struct adp_disk_reader *r, void *data_, size_t len)
{
    char *data = data_;

    while (len) {
        ssize_t n = read(r->fd, data, len);

        if (n > 0) {
            data += n;
            len -= n;
        } else if (!n) {
            return EIO;         /* It was longer. */
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static char *
damage(const struct adp_disk_reader *r, const char *what)
{
    return xasprintf("%s: damaged at byte %"PRIu64": %s", r->name,
                     r->mark.size, what);
}

static char *
check_header(struct adp_disk_reader *r, enum adp_disk_kind kind,
             uint64_t generation)
{
    uint8_t header[ADP_DISK_HEADER_LEN];

    if (r->file_size < sizeof header) {
        return damage(r, "the file has no header");
    }

    int error = read_all(r, header, sizeof header);
    if (error) {
        return disk_error(r->name, "read", error);
    } else if (memcmp(header, MAGIC, strlen(MAGIC))) {
        return damage(r, "this is no such file");
    } else if (!is_sealed(header)) {
        return damage(r, "the header's checksum is wrong");
    } else if (get_be32(header, 8) != ADP_DISK_VERSION) {
        return xasprintf("%s: has format %"PRIu32", of which this version "
                         "knows nothing (it knows %d)", r->name,
                         get_be32(header, 8), ADP_DISK_VERSION);
    } else if (get_be32(header, 12) != kind
               || get_be64(header, 16) != generation) {
        return damage(r, "this is another file than its name says");
    }
    r->mark.size = sizeof header;
    return NULL;
}

char *
adp_disk_reader_open(const char *name, enum adp_disk_kind kind,
                     uint64_t generation, struct adp_disk_reader **rp)
{
    struct stat s;
    int fd = open(name, O_RDONLY | O_CLOEXEC);

    *rp = NULL;
    if (fd < 0 || fstat(fd, &s)) {
        int error = errno;

        if (fd >= 0) {
            close(fd);
        }
        return disk_error(name, "open", error);
    }

    struct adp_disk_reader *r = xmalloc(sizeof *r);
    *r = (struct adp_disk_reader) {
        .name = xstrdup(name), .fd = fd, .file_size = s.st_size,
    };
    char *error = check_header(r, kind, generation);
    if (error) {
        adp_disk_reader_close(r);
    } else {
        *rp = r;
    }
    return error;
}

void
adp_disk_reader_close(struct adp_disk_reader *r)
{
    if (r) {
        close(r->fd);
        free(r->payload);
        free(r->name);
        free(r);
    }
}

/* Takes a frame's header, which is sealed, apart.  Returns what is wrong with
 * it, or NULL. */
static const char *
parse_frame(const struct adp_disk_reader *r, const uint8_t *header,
            struct adp_disk_frame *frame)
{
    uint32_t op = get_be32(header, 4);

    frame->len = get_be32(header, 0);
    frame->op = op;
    frame->generation = get_be64(header, 8);
    return (get_be32(header, 16) != r->mark.n_frames ? "a frame is missing"
            : op < ADP_DISK_CLEAR || op > ADP_DISK_END ? "unknown operation"
            : frame->len > ADP_DISK_MAX_PAYLOAD ? "a frame is too long"
            : NULL);
}

static int
read_payload(struct adp_disk_reader *r, struct adp_disk_frame *frame)
{
    if (frame->len >= r->allocated) {
        free(r->payload);
        r->allocated = frame->len + 1;
        r->payload = xmalloc(r->allocated);
    }
    frame->payload = r->payload;
    frame->payload[frame->len] = '\0';
    return read_all(r, frame->payload, frame->len);
}

/* Returns the end of the bytes that aren't zero, not before 'from'. */
static uint64_t
end_of_data(const struct adp_disk_reader *r, uint64_t from)
{
    uint64_t end = r->file_size;

    while (end > from) {
        char data[4096];
        size_t n = MIN(end - from, sizeof data);
        size_t left = n;

        if (pread(r->fd, data, n, end - n) != n) {
            return r->file_size;
        }
        while (left && !data[left - 1]) {
            left--;
        }
        end -= n - left;
        if (left) {
            break;
        }
    }
    return end;
}

/* Was the frame, of 'len' bytes with its header as far as that is known, and
 * what is behind it, never written?  When power goes, file systems may know
 * of a file's new length before they have written what it is for: then bytes
 * read as zeros, from the end of an earlier write on, which is the beginning
 * of a frame, or from that of a sector. */
static bool
is_unwritten(const struct adp_disk_reader *r, uint64_t len)
{
    uint64_t end = end_of_data(r, r->mark.size);

    return (end <= r->mark.size
            || (end < r->mark.size + len
                && ROUND_UP(end, SECTOR_LEN) < r->file_size));
}

/* A checksum is wrong, in the first 'len' bytes of the next frame. */
static enum adp_disk_result
wrong_checksum(const struct adp_disk_reader *r, uint64_t len, const char *what,
               char **errorp)
{
    if (is_unwritten(r, len)) {
        return ADP_DISK_TORN;
    }
    *errorp = damage(r, what);
    return ADP_DISK_BAD;
}

enum adp_disk_result
adp_disk_reader_next(struct adp_disk_reader *r, struct adp_disk_frame *frame,
                     char **errorp)
{
    uint64_t left = r->file_size - r->mark.size;
    uint8_t header[ADP_DISK_HEADER_LEN];

    *errorp = NULL;
    if (left < sizeof header) {
        return left ? ADP_DISK_TORN : ADP_DISK_EOF;
    }

    int error = read_all(r, header, sizeof header);
    if (!error && !is_sealed(header)) {
        return wrong_checksum(r, sizeof header, "a frame's checksum is wrong",
                              errorp);
    }
    const char *what = error ? NULL : parse_frame(r, header, frame);
    if (!error && !what) {
        if (left - sizeof header < frame->len) {
            return ADP_DISK_TORN;
        }
        error = read_payload(r, frame);
        if (!error && (checksum(frame->payload, frame->len)
                       != get_be32(header, 20))) {
            return wrong_checksum(r, sizeof header + frame->len,
                                  "the checksum of a payload is wrong",
                                  errorp);
        }
    }
    if (error || what) {
        *errorp = (error ? disk_error(r->name, "read", error)
                   : damage(r, what));
        return ADP_DISK_BAD;
    }
    r->mark.size += sizeof header + frame->len;
    r->mark.n_frames++;
    return ADP_DISK_FRAME;
}

struct adp_disk_mark
adp_disk_reader_mark(const struct adp_disk_reader *r)
{
    return r->mark;
}

/* Folders. */

char *
adp_disk_sync_folder(const char *name)
{
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) {
        return disk_error(name, "open", errno);
    }
    char *error = synchronize(fd, name);
    close(fd);
    return error;
}

char *
adp_disk_rename(const char *from, const char *to)
{
    int error = fault("rename", from);

    if (!error && rename(from, to)) {
        error = errno;
    }
    return error ? disk_error(from, "rename", error) : NULL;
}

char *
adp_disk_remove(const char *name)
{
    int error = fault("unlink", name);

    if (!error && unlink(name) && errno != ENOENT) {
        error = errno;
    }
    return error ? disk_error(name, "unlink", error) : NULL;
}

char *
adp_disk_make_folder(const char *name)
{
    int error = fault("mkdir", name);

    if (!error && mkdir(name, 0700)) {
        error = errno == EEXIST ? 0 : errno;
    }
    return error ? disk_error(name, "mkdir", error) : NULL;
}
