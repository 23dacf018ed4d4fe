/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-veth-pair.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>

#include "hash.h"
#include "netlink.h"
#include "netlink-socket.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_veth_pair);

#define PREFIX "adp-"
/* What a veth can take; nothing that the port sends is longer. */
#define END_MTU 65535

/* Of the names that fit some are cut: by a hash they stay different. */
static void
name_of_end(const char *name, char end[IFNAMSIZ])
{
    if (strlen(name) + strlen(PREFIX) < IFNAMSIZ) {
        snprintf(end, IFNAMSIZ, PREFIX"%s", name);
    } else {
        snprintf(end, IFNAMSIZ, PREFIX"%08"PRIx32, hash_string(name, 0));
    }
}

/* What the kernel says of a device. */
struct link {
    int ifindex;
    int other;                  /* Of a pair, 0: in another namespace. */
    unsigned int flags;
    char name[IFNAMSIZ];
    char kind[16];
};

static void
begin(struct ofpbuf *request, uint16_t type, uint16_t flags, int ifindex)
{
    ofpbuf_init(request, 0);
    nl_msg_put_nlmsghdr(request, 0, type, NLM_F_REQUEST | flags);

    struct ifinfomsg *info = ofpbuf_put_zeros(request, sizeof *info);

    info->ifi_family = AF_UNSPEC;
    info->ifi_index = ifindex;
}

static int
transact(struct ofpbuf *request, struct ofpbuf **replyp)
{
    int error = nl_transact(NETLINK_ROUTE, request, replyp);

    ofpbuf_uninit(request);
    return error;
}

static bool
parse_kind(const struct nlattr *info, struct link *link)
{
    static const struct nl_policy policy[] = {
        [IFLA_INFO_KIND] = { .type = NL_A_STRING, .optional = true },
    };
    struct nlattr *attrs[ARRAY_SIZE(policy)];

    link->kind[0] = '\0';
    if (!info) {
        return true;
    }
    if (!nl_parse_nested(info, policy, attrs, ARRAY_SIZE(attrs))) {
        return false;
    }
    if (attrs[IFLA_INFO_KIND]) {
        ovs_strlcpy(link->kind, nl_attr_get_string(attrs[IFLA_INFO_KIND]),
                    sizeof link->kind);
    }
    return true;
}

static bool
parse_link(const struct ofpbuf *reply, struct link *link)
{
    static const struct nl_policy policy[] = {
        [IFLA_IFNAME] = { .type = NL_A_STRING },
        [IFLA_LINK] = { .type = NL_A_U32, .optional = true },
        [IFLA_LINKINFO] = { .type = NL_A_NESTED, .optional = true },
        [IFLA_LINK_NETNSID] = { .type = NL_A_U32, .optional = true },
    };
    struct nlattr *attrs[ARRAY_SIZE(policy)];
    const size_t head = NLMSG_HDRLEN + sizeof(struct ifinfomsg);

    if (reply->size < head
        || !nl_policy_parse(reply, head, policy, attrs, ARRAY_SIZE(attrs))
        || !parse_kind(attrs[IFLA_LINKINFO], link)) {
        return false;
    }
    const struct ifinfomsg *info = ofpbuf_at(reply, NLMSG_HDRLEN,
                                             sizeof *info);

    link->ifindex = info->ifi_index;
    link->flags = info->ifi_flags;
    link->other = (attrs[IFLA_LINK] && !attrs[IFLA_LINK_NETNSID]
                   ? nl_attr_get_u32(attrs[IFLA_LINK]) : 0);
    ovs_strlcpy(link->name, nl_attr_get_string(attrs[IFLA_IFNAME]),
                sizeof link->name);
    return true;
}

/* By number, or by 'name' if that isn't NULL. */
static int
get_link(int ifindex, const char *name, struct link *link)
{
    struct ofpbuf request, *reply;

    begin(&request, RTM_GETLINK, 0, ifindex);
    if (name) {
        nl_msg_put_string(&request, IFLA_IFNAME, name);
    }
    int error = transact(&request, &reply);

    if (!error) {
        error = parse_link(reply, link) ? 0 : EPROTO;
        ofpbuf_delete(reply);
    }
    return error;
}

/* Is it one end of a pair of ours? */
static bool
is_ours(const struct link *link)
{
    char end[IFNAMSIZ];
    struct link other;

    name_of_end(link->name, end);
    return (!strcmp(link->kind, "veth") && link->other
            && !get_link(link->other, NULL, &other)
            && !strcmp(other.kind, "veth") && !strcmp(other.name, end));
}

static int
remove_link(int ifindex)
{
    struct ofpbuf request;

    begin(&request, RTM_DELLINK, NLM_F_ACK, ifindex);
    return transact(&request, NULL);
}

static int
create(const char *name)
{
    const struct ifinfomsg info = { .ifi_flags = IFF_NOARP,
                                    .ifi_change = IFF_NOARP };
    struct ofpbuf request;
    char end[IFNAMSIZ];

    name_of_end(name, end);
    begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, 0);
    nl_msg_put_string(&request, IFLA_IFNAME, name);
    size_t link = nl_msg_start_nested(&request, IFLA_LINKINFO);
    nl_msg_put_string(&request, IFLA_INFO_KIND, "veth");
    size_t data = nl_msg_start_nested(&request, IFLA_INFO_DATA);
    size_t peer = nl_msg_start_nested(&request, VETH_INFO_PEER);
    nl_msg_put(&request, &info, sizeof info);
    nl_msg_put_string(&request, IFLA_IFNAME, end);
    nl_msg_put_u32(&request, IFLA_MTU, END_MTU);
    nl_msg_end_nested(&request, peer);
    nl_msg_end_nested(&request, data);
    nl_msg_end_nested(&request, link);
    return transact(&request, NULL);
}

/* The host's own stack sees what comes out of that end, too.  Over IPv4 it
 * finds nothing to do: unicast is for other MACs, and what is for all comes
 * from an address of its own, which it doesn't believe. */
static int
keep_host_out(int end)
{
    struct ofpbuf request;

    begin(&request, RTM_SETLINK, NLM_F_ACK, end);
    size_t spec = nl_msg_start_nested(&request, IFLA_AF_SPEC);
    size_t family = nl_msg_start_nested(&request, AF_INET6);
    nl_msg_put_u8(&request, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE);
    nl_msg_end_nested(&request, family);
    nl_msg_end_nested(&request, spec);
    int error = transact(&request, NULL);

    /* There may be no IPv6. */
    return error == EAFNOSUPPORT ? 0 : error;
}

/* Routers that the host itself is for others aren't its own, either.  In a
 * container the file may be read-only. */
static void
disable_ipv6(const char *name)
{
    char end[IFNAMSIZ];

    name_of_end(name, end);
    char *path = xasprintf("/proc/sys/net/ipv6/conf/%s/disable_ipv6", end);
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd >= 0) {
        if (write(fd, "1", 1) != 1) {
            VLOG_DBG("%s: %s", path, ovs_strerror(errno));
        }
        close(fd);
    }
    free(path);
}

static int
bring_up(int end)
{
    struct ofpbuf request;

    begin(&request, RTM_SETLINK, NLM_F_ACK, end);

    struct ifinfomsg *info = ofpbuf_at_assert(&request, NLMSG_HDRLEN,
                                              sizeof *info);

    info->ifi_flags = info->ifi_change = IFF_UP | IFF_NOARP;
    return transact(&request, NULL);
}

/* Makes room for a pair, as far as that may be. */
static int
make_way(const struct link *link)
{
    if (!strcmp(link->kind, "tun") && !(link->flags & IFF_LOWER_UP)) {
        VLOG_INFO("%s: replacing a tap that nobody uses", link->name);
        return remove_link(link->ifindex);
    }
    return EEXIST;
}

static int
find_or_create(const char *name, struct link *link)
{
    int error = get_link(0, name, link);

    if (!error) {
        if (is_ours(link)) {
            return 0;
        }
        error = make_way(link);
    } else if (error == ENODEV) {
        error = 0;
    }
    if (!error) {
        error = create(name);
    }
    return error ? error : get_link(0, name, link);
}

int
adp_veth_pair_make(const char *name, int *endp)
{
    struct link link;
    int error = strlen(name) < IFNAMSIZ ? find_or_create(name, &link)
                : ENAMETOOLONG;

    if (!error) {
        error = keep_host_out(link.other);
        if (!error) {
            disable_ipv6(name);
            error = bring_up(link.other);
        }
        if (error) {
            adp_veth_pair_remove(link.other);
        }
        *endp = link.other;
    }
    return error;
}

void
adp_veth_pair_remove(int end)
{
    int error = remove_link(end);

    if (error && error != ENODEV) {
        VLOG_WARN("a pair of veths stays: %s", ovs_strerror(error));
    }
}

void
adp_veth_pair_remove_left_over(const char *name)
{
    struct link link;

    if (strlen(name) < IFNAMSIZ && !get_link(0, name, &link)
        && is_ours(&link)) {
        VLOG_INFO("%s: removing a pair of veths that is wanted no more", name);
        adp_veth_pair_remove(link.other);
    }
}
