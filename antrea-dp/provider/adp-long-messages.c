/* SPDX-License-Identifier: Apache-2.0 */

/* What is too long for an OpenFlow message, whose length has 16 bits.
 *
 * Nothing bounds a group's buckets: they come in several messages, or by
 * records.  Upstream puts the description of a group, and its statistics,
 * into one message, however long.  The length that such a message tells is
 * wrong, so that who reads it no longer knows where the next one begins; and
 * before it puts another group behind it upstream aborts.  So the linker puts
 * these between (--wrap, in automake.mk): a group is told with as many of its
 * buckets as fit, of other lists what fits no message is left out, and no
 * message leaves whose length isn't so.
 *
 * Thread-safety: as that of the functions. */

#include <config.h>
#include <errno.h>

#include "nx-match.h"
#include "openflow/netronome-ext.h"
#include "openflow/openflow.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-msgs.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/rconn.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_long_messages);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);

enum { PROPERTY_LEN = 8 };      /* Of a bucket, one with up to four bytes. */

void __real_ofpmp_postappend(struct ovs_list *replies, size_t start_ofs);
void __wrap_ofpmp_postappend(struct ovs_list *replies, size_t start_ofs);
void __real_ofputil_append_group_desc_reply(const struct ofputil_group_desc *,
                                            const struct ovs_list *buckets,
                                            struct ovs_list *replies);
void __wrap_ofputil_append_group_desc_reply(const struct ofputil_group_desc *,
                                            const struct ovs_list *buckets,
                                            struct ovs_list *replies);
void __real_ofputil_append_group_stats(struct ovs_list *replies,
                                       const struct ofputil_group_stats *);
void __wrap_ofputil_append_group_stats(struct ovs_list *replies,
                                       const struct ofputil_group_stats *);
int __real_rconn_send(struct rconn *, struct ofpbuf *,
                      struct rconn_packet_counter *);
int __wrap_rconn_send(struct rconn *, struct ofpbuf *,
                      struct rconn_packet_counter *);
int __real_rconn_send_with_limit(struct rconn *, struct ofpbuf *,
                                 struct rconn_packet_counter *, int limit);
int __wrap_rconn_send_with_limit(struct rconn *, struct ofpbuf *,
                                 struct rconn_packet_counter *, int limit);

static struct ofpbuf *
last_reply(const struct ovs_list *replies)
{
    return ofpbuf_from_list(ovs_list_back(replies));
}

/* For what is put into a message of its own. */
static size_t
room_in_reply(const struct ovs_list *replies)
{
    return UINT16_MAX - ofpbuf_headersize(last_reply(replies));
}

void
__wrap_ofpmp_postappend(struct ovs_list *replies, size_t start_ofs)
{
    struct ofpbuf *reply = last_reply(replies);

    if (reply->size - start_ofs > room_in_reply(replies)) {
        VLOG_WARN_RL(&rl, "an item of %"PRIuSIZE" bytes is too long for an "
                     "OpenFlow message", reply->size - start_ofs);
        reply->size = start_ofs;
    } else {
        __real_ofpmp_postappend(replies, start_ofs);
    }
}

static bool
has_buckets_alone(enum ofp_version version)
{
    return version >= OFP11_VERSION && version <= OFP14_VERSION;
}

/* Bytes beside the buckets. */
static size_t
group_len(const struct ofputil_group_desc *gds, enum ofp_version version)
{
    if (has_buckets_alone(version)) {
        return sizeof(struct ofp11_group_desc_stats);
    }

    size_t len = sizeof(struct ofp15_group_desc_stats);
    if (gds->props.selection_method[0]) {
        struct ofpbuf fields;

        ofpbuf_init(&fields, 0);
        oxm_put_field_array(&fields, &gds->props.fields, version);
        len += ROUND_UP(sizeof(struct ntr_group_prop_selection_method)
                        + fields.size, 8);
        ofpbuf_uninit(&fields);
    }
    return len;
}

static size_t
bucket_len(const struct ofputil_bucket *bucket, bool weighed,
           enum ofp_version version)
{
    struct ofpbuf actions;

    ofpbuf_init(&actions, 0);
    size_t len = ofpacts_put_openflow_actions(
        bucket->ofpacts, bucket->ofpacts_len, &actions, version);
    ofpbuf_uninit(&actions);

    if (has_buckets_alone(version)) {
        return len + sizeof(struct ofp11_bucket);
    }
    return (len + sizeof(struct ofp15_bucket)
            + (weighed || bucket->weight ? PROPERTY_LEN : 0)
            + (bucket->watch_port != OFPP_ANY ? PROPERTY_LEN : 0)
            + (bucket->watch_group != OFPG_ANY ? PROPERTY_LEN : 0));
}

/* The first ones, which fit a message. */
static void
append_first_buckets(const struct ofputil_group_desc *gds,
                     const struct ovs_list *buckets, struct ovs_list *replies)
{
    enum ofp_version version = ofpmp_version(replies);
    size_t room = room_in_reply(replies);
    size_t len = group_len(gds, version);
    size_t n_buckets = ovs_list_size(buckets);
    struct ofputil_bucket *copies = xcalloc(n_buckets, sizeof *copies);
    const struct ofputil_bucket *bucket;
    struct ovs_list first = OVS_LIST_INITIALIZER(&first);
    size_t n = 0;

    LIST_FOR_EACH (bucket, list_node, buckets) {
        len += bucket_len(bucket, gds->type == OFPGT11_SELECT, version);
        if (len > room) {
            break;
        }
        copies[n] = *bucket;
        ovs_list_push_back(&first, &copies[n++].list_node);
    }
    VLOG_WARN_RL(&rl, "group %"PRIu32" is told with %"PRIuSIZE" of its "
                 "%"PRIuSIZE" buckets, as many as fit an OpenFlow message",
                 gds->group_id, n, n_buckets);
    __real_ofputil_append_group_desc_reply(gds, &first, replies);
    free(copies);
}

void
__wrap_ofputil_append_group_desc_reply(const struct ofputil_group_desc *gds,
                                       const struct ovs_list *buckets,
                                       struct ovs_list *replies)
{
    const struct ofpbuf *last = last_reply(replies);
    size_t size = last->size;

    /* Most groups fit, so nothing is measured before. */
    __real_ofputil_append_group_desc_reply(gds, buckets, replies);
    if (last == last_reply(replies) && last->size == size) {
        append_first_buckets(gds, buckets, replies);
    }
}

void
__wrap_ofputil_append_group_stats(struct ovs_list *replies,
                                  const struct ofputil_group_stats *gs)
{
    size_t max = ((room_in_reply(replies) - sizeof(struct ofp13_group_stats))
                  / sizeof(struct ofp11_bucket_counter));
    struct ofputil_group_stats first = *gs;

    if (gs->n_buckets > max) {
        VLOG_WARN_RL(&rl, "group %"PRIu32": counters of %"PRIuSIZE" of its "
                     "%"PRIu32" buckets are told, as many as fit an OpenFlow "
                     "message", gs->group_id, max, gs->n_buckets);
        first.n_buckets = max;
    }
    __real_ofputil_append_group_stats(replies, &first);
}

/* May 'msg' leave?  If not it is freed. */
static bool
has_length(const struct rconn *rc, struct ofpbuf *msg)
{
    if (msg->size <= UINT16_MAX) {
        return true;
    }
    VLOG_WARN_RL(&rl, "%s: a message of %"PRIu32" bytes is too long for "
                 "OpenFlow and isn't sent", rconn_get_name(rc), msg->size);
    ofpbuf_delete(msg);
    return false;
}

int
__wrap_rconn_send(struct rconn *rc, struct ofpbuf *msg,
                  struct rconn_packet_counter *counter)
{
    return (has_length(rc, msg) ? __real_rconn_send(rc, msg, counter)
            : EMSGSIZE);
}

int
__wrap_rconn_send_with_limit(struct rconn *rc, struct ofpbuf *msg,
                             struct rconn_packet_counter *counter, int limit)
{
    return (has_length(rc, msg)
            ? __real_rconn_send_with_limit(rc, msg, counter, limit)
            : EMSGSIZE);
}
