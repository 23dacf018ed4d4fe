/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-ofp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "openflow/openflow.h"
#include "openvswitch/ofp-errors.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofp-protocol.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vconn.h"
#include "socket-util.h"
#include "timeval.h"
#include "util.h"

/* A bridge may be told to speak few of them. */
#define VERSIONS (1u << OFP10_VERSION | 1u << OFP11_VERSION \
                  | 1u << OFP12_VERSION | 1u << OFP13_VERSION \
                  | 1u << OFP14_VERSION | 1u << OFP15_VERSION)

struct dpctl_ofp {
    struct vconn *vconn;
    char *name;
    int timeout_s;
};

/* Waits for the connection, or what it may have for us, no longer than
 * 'deadline'. */
static void
wait_for(struct dpctl_ofp *ofp, void (*wait)(struct vconn *),
         long long int deadline)
{
    vconn_run(ofp->vconn);
    vconn_run_wait(ofp->vconn);
    wait(ofp->vconn);
    if (ofp->timeout_s) {
        poll_timer_wait_until(deadline);
    }
    poll_block();
}

static long long int
new_deadline(const struct dpctl_ofp *ofp)
{
    return time_msec() + ofp->timeout_s * 1000LL;
}

static bool
is_too_late(const struct dpctl_ofp *ofp, long long int deadline)
{
    return ofp->timeout_s && time_msec() >= deadline;
}

/* 'error' is what functions of vconns return. */
static char *
describe(const struct dpctl_ofp *ofp, const char *what, int error)
{
    return xasprintf("%s: %s: %s", ofp->name, what,
                     ovs_retval_to_string(error));
}

static char *
connect_vconn(struct dpctl_ofp *ofp)
{
    long long int deadline = new_deadline(ofp);
    int error;

    while ((error = vconn_connect(ofp->vconn)) == EAGAIN) {
        if (is_too_late(ofp, deadline)) {
            error = ETIMEDOUT;
            break;
        }
        wait_for(ofp, vconn_connect_wait, deadline);
    }
    return error ? describe(ofp, "cannot connect", error) : NULL;
}

char *
dpctl_ofp_open(const char *socket, const char *bridge, int timeout_s,
               struct dpctl_ofp **ofpp)
{
    const char *path = strncmp(socket, "unix:", 5) ? socket : socket + 5;
    const char *slash = strrchr(path, '/');
    struct dpctl_ofp *ofp = xzalloc(sizeof *ofp);
    char *error;

    ofp->timeout_s = timeout_s;
    ofp->name = xasprintf("unix:%.*s%s.mgmt",
                          slash ? (int) (slash + 1 - path) : 0, path, bridge);
    int retval = vconn_open(ofp->name, VERSIONS, DSCP_DEFAULT, &ofp->vconn);
    if (retval) {
        ofp->vconn = NULL;
        error = describe(ofp, "cannot connect", retval);
    } else {
        error = connect_vconn(ofp);
    }

    if (error) {
        dpctl_ofp_close(ofp);
        ofp = NULL;
    }
    *ofpp = ofp;
    return error;
}

void
dpctl_ofp_close(struct dpctl_ofp *ofp)
{
    if (ofp) {
        vconn_close(ofp->vconn);
        free(ofp->name);
        free(ofp);
    }
}

/* Takes 'request'. */
static char *
send_request(struct dpctl_ofp *ofp, struct ofpbuf *request)
{
    long long int deadline = new_deadline(ofp);
    int error;

    while ((error = vconn_send(ofp->vconn, request)) == EAGAIN) {
        if (is_too_late(ofp, deadline)) {
            error = ETIMEDOUT;
            break;
        }
        wait_for(ofp, vconn_send_wait, deadline);
    }
    if (error) {
        ofpbuf_delete(request);
        return describe(ofp, "cannot send", error);
    }
    return NULL;
}

static char *
receive(struct dpctl_ofp *ofp, struct ofpbuf **msg)
{
    long long int deadline = new_deadline(ofp);
    int error;

    while ((error = vconn_recv(ofp->vconn, msg)) == EAGAIN) {
        if (is_too_late(ofp, deadline)) {
            return xasprintf("%s: no answer within %d s", ofp->name,
                             ofp->timeout_s);
        }
        wait_for(ofp, vconn_recv_wait, deadline);
    }
    return error ? describe(ofp, "connection lost", error) : NULL;
}

/* Takes one part of an answer apart.  Returns 0 or an OFPERR_*. */
typedef int part_cb(struct ofpbuf *msg, void *aux);

/* Sends 'request', which it takes, and hands the parts of the answer on. */
static char *
ask(struct dpctl_ofp *ofp, struct ofpbuf *request, part_cb *cb, void *aux)
{
    ovs_be32 xid = ((const struct ofp_header *) request->data)->xid;
    char *error = send_request(ofp, request);
    bool more = true;

    while (more && !error) {
        struct ofpbuf *msg;

        error = receive(ofp, &msg);
        if (error) {
            break;
        }
        const struct ofp_header *oh = msg->data;
        if (oh->xid == xid) {
            enum ofptype type;
            int refusal = ofptype_decode(&type, oh);

            if (!refusal && type == OFPTYPE_ERROR) {
                refusal = ofperr_decode_msg(oh, NULL);
            } else if (!refusal) {
                more = ofpmp_more(oh);
                refusal = cb(msg, aux);
            }
            if (refusal) {
                error = xasprintf("%s: %s", ofp->name,
                                  ofperr_to_string(refusal));
            }
        }
        ofpbuf_delete(msg);
    }
    return error;
}

/* Flows. */

void
dpctl_ofp_all_flows(struct ofputil_flow_stats_request *request)
{
    *request = (struct ofputil_flow_stats_request) {
        .out_port = OFPP_ANY, .out_group = OFPG_ANY, .table_id = OFPTT_ALL,
    };
    match_init_catchall(&request->match);
}

struct flow_taker {
    dpctl_ofp_flow_cb *cb;
    void *aux;
};

static int
take_flows(struct ofpbuf *msg, void *taker_)
{
    struct flow_taker *taker = taker_;
    struct ofpbuf ofpacts;
    int error;

    ofpbuf_init(&ofpacts, 64);
    for (;;) {
        struct ofputil_flow_stats fs;

        error = ofputil_decode_flow_stats_reply(&fs, msg, false, &ofpacts);
        if (error) {
            break;
        }
        taker->cb(&fs, taker->aux);
    }
    ofpbuf_uninit(&ofpacts);
    return error == EOF ? 0 : error;
}

char *
dpctl_ofp_flows(struct dpctl_ofp *ofp,
                const struct ofputil_flow_stats_request *request,
                dpctl_ofp_flow_cb *cb, void *aux)
{
    struct flow_taker taker = { cb, aux };
    enum ofputil_protocol protocol
        = ofputil_protocol_from_ofp_version(vconn_get_version(ofp->vconn));

    if (protocol == OFPUTIL_P_OF10_STD) {
        /* Which knows no tables. */
        protocol = OFPUTIL_P_OF10_NXM_TID;
    }
    return ask(ofp, ofputil_encode_flow_stats_request(request, protocol),
               take_flows, &taker);
}

/* Ports. */

struct port_taker {
    dpctl_ofp_port_cb *cb;
    void *aux;
};

static int
take_ports(struct ofpbuf *msg, void *taker_)
{
    const struct port_taker *taker = taker_;
    const struct ofp_header *oh = msg->data;
    enum ofp_version version = oh->version;
    struct ofputil_phy_port port;
    int error;

    ofpraw_pull_assert(msg);
    while (!(error = ofputil_pull_phy_port(version, msg, &port))) {
        taker->cb(&port, taker->aux);
    }
    return error == EOF ? 0 : error;
}

char *
dpctl_ofp_ports(struct dpctl_ofp *ofp, dpctl_ofp_port_cb *cb, void *aux)
{
    struct port_taker taker = { cb, aux };

    return ask(ofp,
               ofputil_encode_port_desc_stats_request(
                   vconn_get_version(ofp->vconn), OFPP_ANY),
               take_ports, &taker);
}

struct stats_taker {
    struct ofputil_port_stats *stats;
    bool found;
};

static int
take_stats(struct ofpbuf *msg, void *taker_)
{
    struct stats_taker *taker = taker_;
    struct ofputil_port_stats stats;
    int error;

    while (!(error = ofputil_decode_port_stats(&stats, msg))) {
        free(stats.custom_stats.counters);
        *taker->stats = stats;
        taker->stats->custom_stats.counters = NULL;
        taker->found = true;
    }
    return error == EOF ? 0 : error;
}

char *
dpctl_ofp_port_stats(struct dpctl_ofp *ofp, ofp_port_t port, bool *found,
                     struct ofputil_port_stats *stats)
{
    struct stats_taker taker = { .stats = stats };
    char *error = ask(ofp,
                      ofputil_encode_dump_ports_request(
                          vconn_get_version(ofp->vconn), port),
                      take_stats, &taker);

    *found = taker.found;
    return error;
}
