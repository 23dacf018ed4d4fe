/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-pcap.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <string.h>

#include "byte-order.h"
#include "openvswitch/ofpbuf.h"
#include "unaligned.h"
#include "util.h"

/* What both kinds of cooked header say. */
struct cooked {
    size_t header_len;
    ovs_be16 protocol;
    uint16_t device_type;       /* ARPHRD_*. */
    uint8_t packet_type;
    uint16_t address_len;
    const uint8_t *address;
};

enum {
    COOKED_ETHERNET = 1,        /* ARPHRD_ETHER. */
    COOKED_BROADCAST = 1,       /* LINUX_SLL_BROADCAST. */
};

static uint16_t
get_u16(const uint8_t *p)
{
    return p[0] << 8 | p[1];
}

static struct cooked
parse_sll(const uint8_t *p)
{
    return (struct cooked) {
        .header_len = 16,
        .packet_type = MIN(get_u16(p), UINT8_MAX),
        .device_type = get_u16(p + 2),
        .address_len = get_u16(p + 4),
        .address = p + 6,
        .protocol = htons(get_u16(p + 14)),
    };
}

static struct cooked
parse_sll2(const uint8_t *p)
{
    return (struct cooked) {
        .header_len = 20,
        .protocol = htons(get_u16(p)),
        .device_type = get_u16(p + 8),
        .packet_type = p[10],
        .address_len = p[11],
        .address = p + 12,
    };
}

/* Puts an Ethernet header in the place of the cooked one.  Returns NULL, or
 * why it can't. */
static const char *
thaw(struct cooked c, const uint8_t *data, size_t len,
     struct dpctl_frame *frame)
{
    struct eth_header *eth;

    if (c.device_type != COOKED_ETHERNET) {
        return "comes from a device that isn't Ethernet";
    } else if (ntohs(c.protocol) < ETH_TYPE_MIN) {
        return "isn't Ethernet II";
    }

    frame->bytes = ofpbuf_new(sizeof *eth + len - c.header_len);
    eth = ofpbuf_put_zeros(frame->bytes, sizeof *eth);
    eth->eth_type = c.protocol;
    frame->is_cooked = true;
    frame->is_broadcast = c.packet_type == COOKED_BROADCAST;
    frame->has_src = c.address_len == ETH_ADDR_LEN;
    if (frame->has_src) {
        memcpy(&eth->eth_src, c.address, ETH_ADDR_LEN);
    }
    ofpbuf_put(frame->bytes, data + c.header_len, len - c.header_len);
    return NULL;
}

/* The bytes of one packet.  Returns NULL, or what is wrong with it. */
static const char *
decode(int link_type, const uint8_t *data, size_t len,
       struct dpctl_frame *frame)
{
    static const char cut_off[] = "is cut off within its header";

    switch (link_type) {
    case DLT_EN10MB:
        if (len < sizeof(struct eth_header)) {
            return cut_off;
        }
        frame->bytes = ofpbuf_clone_data(data, len);
        frame->has_src = true;
        return NULL;
    case DLT_LINUX_SLL:
        return (len < 16 ? cut_off
                : thaw(parse_sll(data), data, len, frame));
    case DLT_LINUX_SLL2:
        return (len < 20 ? cut_off
                : thaw(parse_sll2(data), data, len, frame));
    default:
        OVS_NOT_REACHED();
    }
}

static char *
check_link_type(const char *file, int link_type)
{
    if (link_type == DLT_EN10MB || link_type == DLT_LINUX_SLL
        || link_type == DLT_LINUX_SLL2) {
        return NULL;
    }
    const char *name = pcap_datalink_val_to_name(link_type);
    return xasprintf("%s: has packets of link type %s; Ethernet and Linux "
                     "cooked captures can be read (tcpdump -i eth0, "
                     "tcpdump -i any)", file, name ? name : "unknown");
}

static char *
read_packet(const char *file, pcap_t *pcap, int index,
            struct dpctl_frame *frame)
{
    char *error = check_link_type(file, pcap_datalink(pcap));
    struct pcap_pkthdr *header;
    const u_char *data;
    const char *why;
    int retval = 1;

    if (error) {
        return error;
    }
    for (int i = 0; i < index && retval == 1; i++) {
        retval = pcap_next_ex(pcap, &header, &data);
    }
    if (retval == PCAP_ERROR) {
        return xasprintf("%s: %s", file, pcap_geterr(pcap));
    } else if (retval != 1) {
        return xasprintf("%s: has no packet %d", file, index);
    }
    why = decode(pcap_datalink(pcap), data, header->caplen, frame);
    return why ? xasprintf("%s: packet %d %s", file, index, why) : NULL;
}

char *
dpctl_pcap_read(const char *file, int index, struct dpctl_frame *frame)
{
    char why[PCAP_ERRBUF_SIZE];
    pcap_t *pcap = pcap_open_offline(file, why);

    *frame = (struct dpctl_frame) { .bytes = NULL };
    if (!pcap) {
        /* Only what is about opening it names the file. */
        bool named = !strncmp(why, file, strlen(file));

        return xasprintf("%s%s%s", named ? "" : file, named ? "" : ": ",
                         why);
    }
    char *error = read_packet(file, pcap, index, frame);
    pcap_close(pcap);
    return error;
}
