/* SPDX-License-Identifier: Apache-2.0 */

/* Preloaded, makes the tap devices of ovs-vswitchd ends of a wire that wire.py
 * holds the other end of: a file that both map.  The kernel never sees their
 * packets.
 *
 * What comes in is written there as batches, many at once.  The main thread,
 * which polls taps, gets one batch in each turn of its loop, in the order in
 * which they are there, so each is handled as if it had come alone; and doesn't
 * sleep before it had them all.  In most of these turns it isn't told of anything
 * else, which would take it longer than the batch does.  What goes out is written behind each other,
 * with the number of the batch that was being handled.  When all batches are
 * done a byte goes to the pipe that the environment names. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { N_PORTS = 64, N_FDS = 4096, IN_SIZE = 4 << 20, OUT_SIZE = 24 << 20 };

/* Turns in which nobody reads from a port before its batch is taken for lost:
 * while the datapath takes on a new setting there are some. */
enum { MAX_TURNS = 64 };

/* A batch: the port, the number of frames, then each one's length before it.
 * All without padding, in this machine's order of bytes. */
struct wire {
    _Atomic uint32_t round;     /* Moves on when there is something to do. */
    uint32_t n_batches;
    uint32_t gap;               /* Turns to spend on each batch, beyond one. */
    uint32_t n_lost;            /* Batches for ports that nobody read from. */
    _Atomic uint32_t out_len;   /* Beyond OUT_SIZE: some are missing. */
    uint32_t pad[3];
    char names[N_PORTS][16];
    uint8_t in[IN_SIZE];
    uint8_t out[OUT_SIZE];
};

/* What goes out: this, then the frame. */
struct out {
    uint32_t batch;             /* UINT32_MAX outside of a round. */
    uint16_t port;
    uint16_t len;
};

static struct wire *wire;
static int done_fd;
static uint16_t port_of_fd[N_FDS];      /* 1 + the port, or 0. */

/* Of the main thread. */
static enum { IDLE, READY, HANDED, LAST } state;
static uint32_t round_seen, batch, n_turns;
static const uint8_t *next;             /* The next frame's length. */
static uint16_t next_port, n_left;
static bool sees_nothing;               /* In this turn, but for its batch. */

/* The function of that name that one here stands before. */
#define REAL(NAME)                                                      \
    ({                                                                  \
        static __typeof__(NAME) *real;                                  \
                                                                        \
        if (!real) {                                                    \
            real = (__typeof__(real)) dlsym(RTLD_NEXT, #NAME);          \
        }                                                               \
        real;                                                           \
    })

static bool
is_main_thread(void)
{
    static __thread int is_main = -1;

    if (is_main < 0) {
        is_main = getpid() == gettid();
    }
    return is_main;
}

static void __attribute__((constructor))
map_wire(void)
{
    const char *name = getenv("ADP_ORACLE_WIRE");
    const char *pipe = getenv("ADP_ORACLE_WIRE_PIPE");
    int fd = name ? open(name, O_RDWR | O_CLOEXEC) : -1;

    if (fd >= 0) {
        wire = mmap(NULL, sizeof *wire, PROT_READ | PROT_WRITE, MAP_SHARED,
                    fd, 0);
        wire = wire == MAP_FAILED ? NULL : wire;
        close(fd);
    }
    done_fd = pipe ? atoi(pipe) : -1;
}

static bool
is_tap(int fd)
{
    return fd >= 0 && fd < N_FDS && port_of_fd[fd];
}

static void
begin_batch(void)
{
    uint16_t header[2];

    memcpy(header, next, sizeof header);
    next += sizeof header;
    next_port = header[0];
    n_left = header[1];
    n_turns = 0;
    state = READY;
}

static void
end_batch(void)
{
    batch++;
    n_turns = 0;
    if (batch < wire->n_batches) {
        begin_batch();
    } else {
        state = LAST;
    }
}

/* The main thread is through with a turn.  Returns true if it mustn't sleep. */
static bool
turn(void)
{
    if (state == IDLE) {
        uint32_t round = atomic_load(&wire->round);

        if (round == round_seen) {
            return false;
        }
        round_seen = round;
        batch = 0;
        next = wire->in;
        begin_batch();
    } else if (state == READY) {
        if (++n_turns > MAX_TURNS) {
            uint16_t len;

            for (wire->n_lost++; n_left; n_left--) {
                memcpy(&len, next, sizeof len);
                next += sizeof len + len;
            }
            end_batch();
        }
    } else if (state == HANDED) {
        if (n_turns++ >= wire->gap) {
            end_batch();
        }
    } else if (n_turns++ > 1) {
        state = IDLE;
        if (write(done_fd, "", 1) < 0) {
            abort();
        }
        return false;
    }
    return true;
}

/* True if this is where the main loop sleeps at the end of a turn, not where it
 * waits for somebody in the middle of one. */
static bool
ends_turn(const struct pollfd *fds, nfds_t n)
{
    if (wire && is_main_thread()) {
        for (nfds_t i = 0; i < n; i++) {
            if (is_tap(fds[i].fd)) {
                return true;
            }
        }
    }
    return false;
}

int
poll(struct pollfd *fds, nfds_t n, int timeout)
{
    static unsigned int n_skipped;

    if (is_main_thread()) {
        sees_nothing = false;
    }
    if (ends_turn(fds, n)) {
        bool busy = turn();

        timeout = busy ? 0 : timeout;
        sees_nothing = busy && ++n_skipped % 64;
        if (sees_nothing) {
            for (nfds_t i = 0; i < n; i++) {
                fds[i].revents = 0;
            }
            return 0;
        }
    }
    return REAL(poll)(fds, n, timeout);
}

int
__poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
    return poll(fds, n, timeout);
}

/* The rest of what a turn asks the kernel for, of each of its sockets. */

static bool
is_blind(void)
{
    if (!wire || !is_main_thread() || !sees_nothing) {
        return false;
    }
    errno = EAGAIN;
    return true;
}

int
accept(int fd, struct sockaddr *address, socklen_t *len)
{
    if (is_blind()) {
        return -1;
    }
    fd = REAL(accept)(fd, address, len);
    if (fd >= 0 && wire) {
        /* A controller that reads later, on a busy machine, misses nothing. */
        setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &(int) { OUT_SIZE },
                   sizeof(int));
    }
    return fd;
}

ssize_t
recv(int fd, void *data, size_t size, int flags)
{
    if (is_blind()) {
        return -1;
    }
    return REAL(recv)(fd, data, size, flags);
}

ssize_t
recvmsg(int fd, struct msghdr *message, int flags)
{
    if (flags & MSG_DONTWAIT && is_blind()) {
        return -1;
    }
    return REAL(recvmsg)(fd, message, flags);
}

ssize_t
readv(int fd, const struct iovec *iov, int n)
{
    if (is_tap(fd)) {
        uint16_t len;

        if (state != READY || port_of_fd[fd] != 1 + next_port
            || !is_main_thread()) {
            errno = EAGAIN;
            return -1;
        }
        memcpy(&len, next, sizeof len);
        memcpy(iov->iov_base, next + sizeof len,
               len < iov->iov_len ? len : iov->iov_len);
        next += sizeof len + len;
        if (!--n_left) {
            n_turns = 0;
            state = HANDED;
        }
        return len < iov->iov_len ? len : iov->iov_len;
    }
    return REAL(readv)(fd, iov, n);
}

ssize_t
write(int fd, const void *data, size_t size)
{
    if (is_tap(fd)) {
        struct out out = {
            .batch = state == IDLE ? UINT32_MAX : batch,
            .port = port_of_fd[fd] - 1,
            .len = size,
        };
        uint32_t place = atomic_fetch_add(&wire->out_len, sizeof out + size);

        if (place + sizeof out + size <= OUT_SIZE) {
            memcpy(&wire->out[place], &out, sizeof out);
            memcpy(&wire->out[place + sizeof out], data, size);
        }
        return size;
    }
    return REAL(write)(fd, data, size);
}

int
ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    void *arg;
    int result;

    va_start(args, request);
    arg = va_arg(args, void *);
    va_end(args);
    result = REAL(ioctl)(fd, request, arg);
    if (wire && !result && request == TUNSETIFF && fd < N_FDS) {
        const struct ifreq *ifr = arg;

        for (int i = 0; i < N_PORTS; i++) {
            if (!strncmp(wire->names[i], ifr->ifr_name, IFNAMSIZ)) {
                port_of_fd[fd] = 1 + i;
            }
        }
    }
    return result;
}

int
close(int fd)
{
    if (fd >= 0 && fd < N_FDS) {
        port_of_fd[fd] = 0;
    }
    return REAL(close)(fd);
}
