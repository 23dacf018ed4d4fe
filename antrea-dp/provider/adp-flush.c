/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-flush.h"

#include <limits.h>
#include <stdlib.h>

#include "adp-request-order.h"
#include "conntrack-flush.h"
#include "ct-dpif.h"
#include "dp-hooks.h"
#include "dpif-netdev.h"
#include "openvswitch/list.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofp-ct.h"
#include "openvswitch/rconn.h"
#include "openvswitch/vlog.h"
#include "seq.h"
#include "unixctl.h"
#include "util.h"

int __real_ct_dpif_flush(struct dpif *, const uint16_t *zone,
                         const struct ofp_ct_match *);
int __wrap_ct_dpif_flush(struct dpif *, const uint16_t *zone,
                         const struct ofp_ct_match *);
struct ofpbuf *__real_rconn_recv(struct rconn *);
struct ofpbuf *__wrap_rconn_recv(struct rconn *);
void __real_rconn_recv_wait(struct rconn *);
void __wrap_rconn_recv_wait(struct rconn *);
void __real_rconn_run(struct rconn *);
void __wrap_rconn_run(struct rconn *);
void __real_rconn_run_wait(struct rconn *);
void __wrap_rconn_run_wait(struct rconn *);
void __real_unixctl_command_reply(struct unixctl_conn *, const char *body);
void __wrap_unixctl_command_reply(struct unixctl_conn *, const char *body);

/* Who waits for a flush. */
struct waiter {
    struct ovs_list node;
    struct conntrack_flush *flush;

    /* One of both.  Upstream keeps a command's connection until it is replied
     * to.  An OpenFlow connection may go, and one that takes its place in
     * memory waits, too. */
    struct unixctl_conn *command;
    char *reply;
    struct rconn *rconn;
};

static struct ovs_list waiters = OVS_LIST_INITIALIZER(&waiters);
static uint64_t done_seqno;     /* Of conntrack_flush_seq(). */

static enum adp_flush_client client;
static struct rconn *requester; /* Whose message was received last. */
static struct conntrack_flush *commanded; /* By the present command. */

void
adp_flush_serve(enum adp_flush_client client_)
{
    client = client_;
    requester = NULL;
}

static struct waiter *
add_waiter(struct conntrack_flush *flush)
{
    struct waiter *w = xzalloc(sizeof *w);

    w->flush = flush;
    ovs_list_push_back(&waiters, &w->node);
    return w;
}

static void
remove_waiter(struct waiter *w)
{
    ovs_list_remove(&w->node);
    conntrack_flush_unref(w->flush);
    free(w->reply);
    free(w);
}

void
adp_flush_run(void)
{
    struct waiter *w;

    done_seqno = seq_read(conntrack_flush_seq());
    LIST_FOR_EACH_SAFE (w, node, &waiters) {
        if (conntrack_flush_is_done(w->flush)) {
            if (w->command) {
                __real_unixctl_command_reply(w->command, w->reply);
            }
            remove_waiter(w);
        }
    }
}

void
adp_flush_wait(void)
{
    if (!ovs_list_is_empty(&waiters)) {
        seq_wait(conntrack_flush_seq(), done_seqno);
    }
}

/* Flushing. */

/* Who asks upstream's module for its log finds there what was flushed, in
 * upstream's words. */
extern struct vlog_module *VLM_ct_dpif;

static void
log_flush(const struct dpif *dpif, const uint16_t *zone,
          const struct ofp_ct_match *match)
{
    struct ds what = DS_EMPTY_INITIALIZER;

    if (!vlog_is_enabled(VLM_ct_dpif, VLL_DBG)) {
        return;
    }
    if (match) {
        ds_put_format(&what, "zone=%d ", zone ? *zone : 0);
        ofp_ct_match_format(&what, match);
    } else if (zone) {
        ds_put_format(&what, "zone %"PRIu16, *zone);
    } else {
        ds_put_cstr(&what, "<all>");
    }
    vlog(VLM_ct_dpif, VLL_DBG, "%s: ct_flush: %s", dpif_name(dpif),
         ds_cstr(&what));
    ds_destroy(&what);
}

/* Is it about one connection, found by its tuple? */
static bool
is_whole_tuple(const struct ofp_ct_match *match)
{
    return (ofp_ct_tuple_is_five_tuple(&match->tuple_orig, match->ip_proto)
            && ofp_ct_tuple_is_zero(&match->tuple_reply, match->ip_proto));
}

int
__wrap_ct_dpif_flush(struct dpif *dpif, const uint16_t *zone,
                     const struct ofp_ct_match *match)
{
    if (match && ofp_ct_match_is_zero(match)) {
        match = NULL;
    }
    if (client == ADP_FLUSH_NOBODY || !dpif_is_netdev(dpif)
        || (match && is_whole_tuple(match))) {
        return __real_ct_dpif_flush(dpif, zone, match);
    }

    log_flush(dpif, zone, match);
    struct conntrack_flush *flush
        = conntrack_flush_begin(dp_dpif_conntrack(dpif), zone, match);

    if (client == ADP_FLUSH_COMMAND) {
        commanded = flush;
    } else {
        add_waiter(flush)->rconn = requester;
    }
    return 0;
}

/* Commands. */

void
__wrap_unixctl_command_reply(struct unixctl_conn *conn, const char *body)
{
    if (commanded) {
        struct waiter *w = add_waiter(commanded);

        commanded = NULL;
        w->command = conn;
        w->reply = nullable_xstrdup(body);
    } else {
        __real_unixctl_command_reply(conn, body);
    }
}

/* Requests. */

/* What was learned and counted before may hold a connection, too. */
static bool
is_held(const struct rconn *rconn)
{
    const struct waiter *w;

    LIST_FOR_EACH (w, node, &waiters) {
        if (w->rconn == rconn && !conntrack_flush_is_done(w->flush)) {
            return true;
        }
    }
    return adp_request_order_holds(rconn);
}

struct ofpbuf *
__wrap_rconn_recv(struct rconn *rconn)
{
    if (is_held(rconn)) {
        return NULL;
    }
    requester = rconn;
    return adp_request_order_recv(rconn, __real_rconn_recv);
}

void
__wrap_rconn_recv_wait(struct rconn *rconn)
{
    if (!is_held(rconn)) {
        adp_request_order_wait(rconn);
        __real_rconn_recv_wait(rconn);
    }
}

/* A connection that is held isn't idle: what its peer says, answers to probes
 * among it, is there to be read. */
static void
call_without_probes(struct rconn *rconn, void (*f)(struct rconn *))
{
    int interval = rconn_get_probe_interval(rconn);

    rconn_set_probe_interval(rconn, INT_MAX);
    f(rconn);
    rconn_set_probe_interval(rconn, interval);
}

void
__wrap_rconn_run(struct rconn *rconn)
{
    if (is_held(rconn)) {
        call_without_probes(rconn, __real_rconn_run);
    } else {
        __real_rconn_run(rconn);
    }
}

void
__wrap_rconn_run_wait(struct rconn *rconn)
{
    if (is_held(rconn)) {
        call_without_probes(rconn, __real_rconn_run_wait);
    } else {
        __real_rconn_run_wait(rconn);
    }
}
