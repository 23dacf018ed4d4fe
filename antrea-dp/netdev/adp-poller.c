/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-poller.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_poller);

struct adp_poller {
    struct ovs_refcount ref_cnt;        /* Its thread's and its queues'. */
    int epoll_fd;                       /* Immutable; negative: none. */
    bool sleepless;                     /* It doesn't know all queues. */

    /* Of the current iteration. */
    unsigned int n_packets, n_others;

    long long int idle_since;           /* 0: not idle. */
    bool rested;                        /* In the iteration before. */
};

static pthread_key_t poller_key;
static __thread struct adp_poller *mine;

static void
poller_unref(struct adp_poller *p)
{
    if (p && ovs_refcount_unref(&p->ref_cnt) == 1) {
        if (p->epoll_fd >= 0) {
            close(p->epoll_fd);
        }
        free(p);
    }
}

static void
thread_ends(void *p)
{
    mine = NULL;
    poller_unref(p);
}

static struct adp_poller *
poller_get(void)
{
    static struct ovsthread_once once = OVSTHREAD_ONCE_INITIALIZER;

    if (OVS_LIKELY(mine)) {
        return mine;
    }
    if (ovsthread_once_start(&once)) {
        xpthread_key_create(&poller_key, thread_ends);
        ovsthread_once_done(&once);
    }
    mine = xzalloc(sizeof *mine);
    ovs_refcount_init(&mine->ref_cnt);
    mine->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (mine->epoll_fd < 0) {
        VLOG_WARN("no epoll, idle packet threads won't rest: %s",
                  ovs_strerror(errno));
    }
    xpthread_setspecific(poller_key, mine);
    return mine;
}

void
adp_poller_adopt(struct adp_poller **ownerp, int fd)
{
    struct adp_poller *p = poller_get();
    struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

    adp_poller_leave(ownerp, fd);
    if (p->epoll_fd >= 0
        && epoll_ctl(p->epoll_fd, EPOLL_CTL_ADD, fd, &event)) {
        VLOG_WARN("epoll_ctl failed, an idle packet thread won't rest: %s",
                  ovs_strerror(errno));
        p->sleepless = true;
    }
    ovs_refcount_ref(&p->ref_cnt);
    *ownerp = p;
}

void
adp_poller_leave(struct adp_poller **ownerp, int fd)
{
    struct adp_poller *p = *ownerp;

    if (p) {
        if (p->epoll_fd >= 0) {
            struct epoll_event unused;

            epoll_ctl(p->epoll_fd, EPOLL_CTL_DEL, fd, &unused);
        }
        poller_unref(p);
        *ownerp = NULL;
    }
}

bool
adp_poller_is_mine(const struct adp_poller *owner)
{
    return owner && owner == mine;
}

void
adp_poller_note(unsigned int n)
{
    mine->n_packets += n;
}

void
adp_poller_note_other(void)
{
    if (mine) {
        mine->n_others++;
    }
}

/* A device that goes down leaves an error in its socket, which would be news
 * for ever. */
static void
clear_errors(const struct adp_poller *p)
{
    struct epoll_event events[16];
    int n = epoll_wait(p->epoll_fd, events, ARRAY_SIZE(events), 0);

    for (int i = 0; i < n; i++) {
        if (events[i].events & EPOLLERR) {
            int error;
            socklen_t len = sizeof error;

            getsockopt(events[i].data.fd, SOL_SOCKET, SO_ERROR, &error, &len);
        }
    }
}

bool
adp_poller_wants_rest(long long int now_us, int *ms)
{
    struct adp_poller *p = mine;

    if (!p || p->epoll_fd < 0 || p->sleepless) {
        return false;
    }
    const bool busy = p->n_packets || p->n_others;

    p->n_packets = p->n_others = 0;
    if (busy) {
        p->idle_since = 0;
        p->rested = false;
        return false;
    }
    if (!p->idle_since) {
        p->idle_since = now_us;
    }
    if (now_us - p->idle_since < ADP_POLLER_SPIN_US) {
        return false;
    }
    if (p->rested) {
        /* It woke up for nothing. */
        clear_errors(p);
    }
    p->rested = true;
    poll_fd_wait(p->epoll_fd, POLLIN);
    *ms = ADP_POLLER_MAX_REST_MS;
    return true;
}
