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
    struct ofpbuf *msg;
    struct marks marks;
};

/* A connection that has such. */
struct request_queue {
    struct ovs_list node;
    const struct rconn *rconn;
    unsigned int seqno;         /* Of the connection that they came by. */
    const struct adp_bridge *bridge;    /* Which outlives its connections. */
    struct ovs_list asides;     /* In the order in which they came. */
    size_t n;
};

static struct ovs_list all_queues = OVS_LIST_INITIALIZER(&all_queues);
static const struct adp_bridge *served;

void
adp_request_order_serve(const struct adp_bridge *b)
{
    served = b;
}

/* Connections. */

static struct request_queue *
find(const struct rconn *rconn)
{
    struct request_queue *q;

    LIST_FOR_EACH (q, node, &all_queues) {
        if (q->rconn == rconn) {
            return q;
        }
    }
    return NULL;
}

static struct request_queue *
add(const struct rconn *rconn)
{
    struct request_queue *q = xmalloc(sizeof *q);

    *q = (struct request_queue) {
        .rconn = rconn,
        .seqno = rconn_get_connection_seqno(rconn),
        .bridge = served,
    };
    ovs_list_init(&q->asides);
    ovs_list_push_back(&all_queues, &q->node);
    return q;
}

static void
put_aside(struct request_queue *q, struct ofpbuf *msg, struct marks marks)
{
    struct aside *a = xmalloc(sizeof *a);

    *a = (struct aside) { .msg = msg, .marks = marks };
    ovs_list_push_back(&q->asides, &a->node);
    q->n++;
}

/* The first one.  With the last one, 'q' goes. */
static struct ofpbuf *
take(struct request_queue *q)
{
    struct aside *a = CONTAINER_OF(ovs_list_pop_front(&q->asides),
                                   struct aside, node);
    struct ofpbuf *msg = a->msg;

    free(a);
    if (!--q->n) {
        ovs_list_remove(&q->node);
        free(q);
    }
    return msg;
}

static void
forget(struct request_queue *q)
{
    bool more;

    do {
        more = q->n > 1;
        ofpbuf_delete(take(q));
    } while (more);
}

static bool
must_wait(const struct request_queue *q)
{
    const struct aside *first = CONTAINER_OF(ovs_list_front(&q->asides),
                                             struct aside, node);
    const struct marks *marks = &first->marks;

    return ((marks->learned
             && !adp_install_is_past(q->bridge, marks->learned))
            || (marks->counted
                && !adp_push_stats_has(q->bridge, marks->counted)));
}

bool
adp_request_order_holds(const struct rconn *rconn)
{
    const struct request_queue *q = find(rconn);

    return q && must_wait(q);
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
    struct ofputil_bundle_ctrl_msg bundle;
    struct marks marks = { 0, 0 };
    enum ofptype type;

    if (!served || ofptype_decode(&type, oh)) {
        return marks;
    }
    switch ((int) type) {
    case OFPTYPE_FLOW_MOD:
        marks.learned = adp_install_mark(served, table_of(oh));
        break;
    case OFPTYPE_BUNDLE_CONTROL:
        if (!ofputil_decode_bundle_ctrl(oh, &bundle)
            && bundle.type == OFPBCT_COMMIT_REQUEST) {
            marks.learned = adp_install_mark(served, OFPTT_ALL);
        }
        break;
    case OFPTYPE_FLOW_MONITOR_STATS_REQUEST:
        marks.learned = adp_install_mark(served, OFPTT_ALL);
        break;
    case OFPTYPE_FLOW_STATS_REQUEST:
    case OFPTYPE_AGGREGATE_STATS_REQUEST:
    case OFPTYPE_TABLE_STATS_REQUEST:
        marks.learned = adp_install_mark(served, OFPTT_ALL);
        marks.counted = adp_push_stats_ask();
        break;
    case OFPTYPE_GROUP_STATS_REQUEST:
    case OFPTYPE_PORT_STATS_REQUEST:    /* Those of tunnels. */
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
    struct request_queue *q = find(rconn);

    if (q && q->seqno != rconn_get_connection_seqno(rconn)) {
        forget(q);              /* As all that its connection left unread. */
        q = NULL;
    }
    while (!q || q->n < ADP_REQUEST_ORDER_MAX) {
        struct ofpbuf *msg = receive(rconn);

        if (!msg) {
            break;
        }

        struct marks marks = marks_for(msg->data);
        if (!q && !marks.learned && !marks.counted) {
            return msg;
        }
        q = q ? q : add(rconn);
        put_aside(q, msg, marks);
    }
    return q && !must_wait(q) ? take(q) : NULL;
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
    struct request_queue *q = find(rconn);

    if (q) {
        forget(q);
    }
    __real_rconn_destroy(rconn);
}
