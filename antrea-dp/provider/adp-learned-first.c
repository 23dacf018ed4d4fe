/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-learned-first.h"

#include "adp-install.h"
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

/* A message that was put aside. */
struct aside {
    struct ovs_list node;
    const struct rconn *rconn;
    unsigned int seqno;         /* Of the connection that it came by. */
    struct ofpbuf *msg;
    const struct adp_bridge *bridge;    /* Which outlives its connections. */
    uint64_t mark;              /* See adp_install_mark(). */
};

static struct ovs_list all_aside = OVS_LIST_INITIALIZER(&all_aside);
static const struct adp_bridge *served;

void
adp_learned_first_serve(const struct adp_bridge *b)
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
adp_learned_first_holds(const struct rconn *rconn)
{
    const struct aside *a = find(rconn);

    return a && !adp_install_is_past(a->bridge, a->mark);
}

/* Which table a "flow mod" is about, OFPTT_ALL if it doesn't say: the upper
 * byte of older ones' command may be its number. */
static uint8_t
table_of(const struct ofp_header *oh)
{
    struct ofpbuf b = ofpbuf_const_initializer(oh, ntohs(oh->length));

    return (ofpraw_pull_assert(&b) == OFPRAW_OFPT11_FLOW_MOD
            ? ((const struct ofp11_flow_mod *) b.data)->table_id : OFPTT_ALL);
}

/* True if the message changes or tells flows: of table '*table_id', or
 * OFPTT_ALL. */
static bool
is_about_flows(const struct ofp_header *oh, uint8_t *table_id)
{
    struct ofputil_bundle_ctrl_msg bundle;
    enum ofptype type;

    *table_id = OFPTT_ALL;
    if (ofptype_decode(&type, oh)) {
        return false;
    }
    switch ((int) type) {
    case OFPTYPE_FLOW_MOD:
        *table_id = table_of(oh);
        return true;
    case OFPTYPE_BUNDLE_CONTROL:
        return (!ofputil_decode_bundle_ctrl(oh, &bundle)
                && bundle.type == OFPBCT_COMMIT_REQUEST);
    case OFPTYPE_FLOW_STATS_REQUEST:
    case OFPTYPE_AGGREGATE_STATS_REQUEST:
    case OFPTYPE_TABLE_STATS_REQUEST:
    case OFPTYPE_FLOW_MONITOR_STATS_REQUEST:
        return true;
    default:
        return false;
    }
}

/* What the message has to wait for, or 0. */
static uint64_t
mark_for(const struct ofpbuf *msg)
{
    uint8_t table_id;

    return (served && adp_install_mark(served, OFPTT_ALL)
            && is_about_flows(msg->data, &table_id)
            ? adp_install_mark(served, table_id) : 0);
}

struct ofpbuf *
adp_learned_first_recv(struct rconn *rconn,
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
    uint64_t mark = msg ? mark_for(msg) : 0;

    if (!mark) {
        return msg;
    }
    a = xmalloc(sizeof *a);
    *a = (struct aside) {
        .rconn = rconn,
        .seqno = seqno,
        .msg = msg,
        .bridge = served,
        .mark = mark,
    };
    ovs_list_push_back(&all_aside, &a->node);
    return NULL;
}

void
adp_learned_first_wait(const struct rconn *rconn)
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
