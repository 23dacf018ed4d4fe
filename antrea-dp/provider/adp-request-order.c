/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-request-order.h"

#include "adp-install.h"
#include "adp-push-stats.h"
#include "openflow/nicira-ext.h"
#include "openflow/openflow.h"
#include "openvswitch/list.h"
#include "openvswitch/ofp-bundle.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/rconn.h"
#include "util.h"

void __real_rconn_destroy(struct rconn *);
void __wrap_rconn_destroy(struct rconn *);

/* What a message waits for. */
struct marks {
    uint64_t learned;           /* See adp_install_mark(); 0: nothing. */
    uint64_t counted;           /* See adp_push_stats_ask(); 0: nothing. */
};

/* A message that was put aside. */
struct aside {
    struct ovs_list node;
    const struct rconn *rconn;
    unsigned int seqno;         /* Of the connection that it came by. */
    struct ofpbuf *msg;
    const struct adp_bridge *bridge;    /* Which outlives its connections. */
    struct marks marks;
};

static struct ovs_list all_aside = OVS_LIST_INITIALIZER(&all_aside);
static const struct adp_bridge *served;

void
adp_request_order_serve(const struct adp_bridge *b)
{
    served = b;
}

static struct aside *
find(const struct rconn *rconn)
{
    struct aside *a;

    LIST_FOR_EACH (a, node, &all_aside) {
        if (a->rconn == rconn) {
            return a;
        }
    }
    return NULL;
}

static struct ofpbuf *
take(struct aside *a)
{
    struct ofpbuf *msg = a->msg;

    ovs_list_remove(&a->node);
    free(a);
    return msg;
}

bool
adp_request_order_holds(const struct rconn *rconn)
{
    const struct aside *a = find(rconn);

    return (a && ((a->marks.learned
                   && !adp_install_is_past(a->bridge, a->marks.learned))
                  || (a->marks.counted
                      && !adp_push_stats_has(a->bridge, a->marks.counted))));
}

/* Messages. */

/* Which table a "flow mod" is about, OFPTT_ALL if it doesn't say: the upper
 * byte of older ones' command may be its number. */
static uint8_t
table_of(const struct ofp_header *oh)
{
    struct ofpbuf b = ofpbuf_const_initializer(oh, ntohs(oh->length));

    return (ofpraw_pull_assert(&b) == OFPRAW_OFPT11_FLOW_MOD
            ? ((const struct ofp11_flow_mod *) b.data)->table_id : OFPTT_ALL);
}

static struct marks
marks_for(const struct ofp_header *oh)
{
    const uint64_t learned = adp_install_mark(served, OFPTT_ALL);
    struct ofputil_bundle_ctrl_msg bundle;
    struct marks marks = { 0, 0 };
    enum ofptype type;

    if (ofptype_decode(&type, oh)) {
        return marks;
    }
    switch ((int) type) {
    case OFPTYPE_FLOW_MOD:
        marks.learned = (learned ? adp_install_mark(served, table_of(oh))
                         : 0);
        break;
    case OFPTYPE_BUNDLE_CONTROL:
        if (!ofputil_decode_bundle_ctrl(oh, &bundle)
            && bundle.type == OFPBCT_COMMIT_REQUEST) {
            marks.learned = learned;
        }
        break;
    case OFPTYPE_FLOW_MONITOR_STATS_REQUEST:
        marks.learned = learned;
        break;
    case OFPTYPE_FLOW_STATS_REQUEST:
    case OFPTYPE_AGGREGATE_STATS_REQUEST:
    case OFPTYPE_TABLE_STATS_REQUEST:
        marks.learned = learned;
        marks.counted = adp_push_stats_ask();
        break;
    case OFPTYPE_GROUP_STATS_REQUEST:
        marks.counted = adp_push_stats_ask();
        break;
    default:
        break;
    }
    return marks;
}

struct ofpbuf *
adp_request_order_recv(struct rconn *rconn,
                       struct ofpbuf *(*receive)(struct rconn *))
{
    unsigned int seqno = rconn_get_connection_seqno(rconn);
    struct aside *a = find(rconn);

    if (a) {
        bool is_of_this = a->seqno == seqno;
        struct ofpbuf *msg = take(a);

        if (is_of_this) {
            return msg;
        }
        ofpbuf_delete(msg);     /* As all that its connection left unread. */
    }

    struct ofpbuf *msg = receive(rconn);
    struct marks marks = { 0, 0 };

    if (msg && served) {
        marks = marks_for(msg->data);
    }
    if (!marks.learned && !marks.counted) {
        return msg;
    }
    a = xmalloc(sizeof *a);
    *a = (struct aside) {
        .rconn = rconn,
        .seqno = seqno,
        .msg = msg,
        .bridge = served,
        .marks = marks,
    };
    ovs_list_push_back(&all_aside, &a->node);
    return NULL;
}

void
adp_request_order_wait(const struct rconn *rconn)
{
    if (find(rconn)) {
        poll_immediate_wake();
    }
}

void
__wrap_rconn_destroy(struct rconn *rconn)
{
    struct aside *a = find(rconn);

    if (a) {
        ofpbuf_delete(take(a));
    }
    __real_rconn_destroy(rconn);
}
