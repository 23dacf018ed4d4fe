/* SPDX-License-Identifier: Apache-2.0 */

#ifndef XLATE_KEPT_H
#define XLATE_KEPT_H 1

/* Included by ofproto-dpif-xlate.c: packets that a group's bucket or a clone()
 * gives back as they were.
 *
 * Upstream has no copy made for these: what the actions changed is changed
 * back before the next output, as the difference between two flows tells.  No
 * difference tells what is below a header that was put before the packet or
 * taken away, or that the packet is within a tunnel's by now.  So the actions
 * of a bucket that does so get a copy, unless nothing follows; otherwise what
 * follows writes headers where none are, up to 64 kB of them, or goes out as
 * the tunnel's packet.  And where the packet is given back, upstream doesn't
 * forget that a header was to be pushed or popped: it would be the wrong
 * packet's.
 *
 * Thread-safety: as the translation's.
 */

struct xlate_kept {
    size_t start;               /* Of the bucket's actions. */
    struct flow base;           /* What the packet is, before them. */
};

/* Before the actions. */
static struct xlate_kept
xlate_keep(struct xlate_ctx *ctx)
{
    if (ctx->pending_encap || ctx->pending_decap) {
        xlate_commit_actions(ctx);
    }
    return (struct xlate_kept) { ctx->odp_actions->size, ctx->base_flow };
}

/* The packet is given back: no header waits to be pushed or popped. */
static void
xlate_forget_headers(struct xlate_ctx *ctx)
{
    ctx->pending_encap = false;
    ctx->pending_decap = false;
    ofpbuf_delete(ctx->encap_data);
    ctx->encap_data = NULL;
}

static bool
xlate_kept_is_another(const struct xlate_kept *kept,
                      const struct ofpbuf *actions)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH_UNSAFE (a, left,
                             ofpbuf_at(actions, kept->start, 0),
                             actions->size - kept->start) {
        switch (nl_attr_type(a)) {
        case OVS_ACTION_ATTR_PUSH_ETH:
        case OVS_ACTION_ATTR_POP_ETH:
        case OVS_ACTION_ATTR_PUSH_NSH:
        case OVS_ACTION_ATTR_POP_NSH:
        case OVS_ACTION_ATTR_ADD_MPLS:
        case OVS_ACTION_ATTR_TUNNEL_PUSH:
            return true;
        case OVS_ACTION_ATTR_PUSH_MPLS:
        case OVS_ACTION_ATTR_POP_MPLS:
            /* Without Ethernet the label says what the packet is. */
            if (kept->base.packet_type != htonl(PT_ETH)) {
                return true;
            }
            break;
        }
    }
    return false;
}

/* After them.  'is_last': nothing that follows sees the packet. */
static void
xlate_give_back(struct xlate_ctx *ctx, const struct xlate_kept *kept,
                bool is_last)
{
    /* Of more there is no translation anyway. */
    size_t len = NLA_HDRLEN + ctx->odp_actions->size - kept->start;

    xlate_forget_headers(ctx);
    if (is_last || len > UINT16_MAX
        || !xlate_kept_is_another(kept, ctx->odp_actions)) {
        return;
    }

    struct nlattr clone = { .nla_len = len,
                            .nla_type = OVS_ACTION_ATTR_CLONE };
    ofpbuf_insert(ctx->odp_actions, kept->start, &clone, sizeof clone);
    ctx->base_flow = kept->base;
}

#endif /* xlate-kept.h */
