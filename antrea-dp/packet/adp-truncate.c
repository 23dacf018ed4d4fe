/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-truncate.h"

#include <netinet/in.h>
#include <netinet/ip6.h>

#include "adp-held.h"
#include "csum.h"
#include "dp-packet.h"
#include "flow.h"
#include "packets.h"
#include "unaligned.h"

/* Of a message's header. */
#define HEAD_LEN 12
#define FLAGS_OFS 2
#define FLAG_QR 0x8000
#define FLAG_TC 0x0200
#define COUNT_OFS 4             /* Of questions, then three of records. */

/* Of a question, behind its name. */
#define QUESTION_TAIL_LEN 4
#define LABEL_MAX 63

static uint16_t
get_16(const uint8_t *p)
{
    return ntohs(get_unaligned_be16((const ovs_be16 *) p));
}

/* How many bytes of an answer are header and question; 0: it has no such. */
static size_t
question_len(const uint8_t *msg, size_t len)
{
    size_t i = HEAD_LEN;

    if (len < HEAD_LEN || !(get_16(msg + FLAGS_OFS) & FLAG_QR)
        || get_16(msg + COUNT_OFS) != 1) {
        return 0;
    }
    while (i < len && msg[i] && msg[i] <= LABEL_MAX) {
        i += 1 + msg[i];
    }
    return (i < len && !msg[i] && len - i > QUESTION_TAIL_LEN
            ? i + 1 + QUESTION_TAIL_LEN : 0);
}

/* Makes a whole datagram of the packet's header, with 'l4_len' bytes
 * behind. */
static void
put_ip(struct dp_packet *answer, const struct dp_packet *packet, bool ipv6,
       size_t l4_len)
{
    dp_packet_set_l3(answer, dp_packet_tail(answer));
    if (ipv6) {
        struct ovs_16aligned_ip6_hdr *ip6
            = dp_packet_put(answer, dp_packet_l3(packet), sizeof *ip6);

        ip6->ip6_nxt = IPPROTO_UDP;
        ip6->ip6_plen = htons(l4_len);
    } else {
        struct ip_header *ip = dp_packet_put(answer, dp_packet_l3(packet),
                                             sizeof *ip);

        ip->ip_ihl_ver = IP_IHL_VER(5, 4);
        ip->ip_frag_off = 0;
        ip->ip_tot_len = htons(sizeof *ip + l4_len);
        ip->ip_csum = 0;
        ip->ip_csum = csum(ip, sizeof *ip);
    }
}

static void
put_message(struct dp_packet *answer, const uint8_t *from, size_t len)
{
    uint8_t *msg = dp_packet_put(answer, from, len);

    put_unaligned_be16((ovs_be16 *) (msg + FLAGS_OFS),
                       htons(get_16(msg + FLAGS_OFS) | FLAG_TC));
    memset(msg + COUNT_OFS + 2, 0, 3 * 2);
}

struct dp_packet *
adp_truncated_answer(const struct dp_packet *packet, const struct flow *flow)
{
    const struct udp_header *old = dp_packet_l4(packet);
    const bool ipv6 = flow->dl_type == htons(ETH_TYPE_IPV6);
    size_t l4_len = dp_packet_l4_size(packet), msg_len;

    if ((flow->nw_frag & FLOW_NW_FRAG_MASK) != FLOW_NW_FRAG_ANY
        || flow->nw_proto != IPPROTO_UDP
        || flow->tp_src != htons(ADP_DNS_PORT) || !old
        || l4_len < UDP_HEADER_LEN) {
        return NULL;
    }
    msg_len = question_len((const uint8_t *) (old + 1),
                           l4_len - UDP_HEADER_LEN);
    if (!msg_len) {
        return NULL;
    }

    const size_t l2_len = packet->l3_ofs;
    struct dp_packet *answer = dp_packet_new(l2_len + IPV6_HEADER_LEN
                                             + UDP_HEADER_LEN + msg_len);
    dp_packet_put(answer, dp_packet_data(packet), l2_len);
    dp_packet_reset_offsets(answer);
    put_ip(answer, packet, ipv6, UDP_HEADER_LEN + msg_len);
    dp_packet_set_l4(answer, dp_packet_tail(answer));
    struct udp_header *udp = dp_packet_put(answer, old, UDP_HEADER_LEN);
    udp->udp_len = htons(UDP_HEADER_LEN + msg_len);
    udp->udp_csum = 0;
    put_message(answer, (const uint8_t *) (old + 1), msg_len);

    udp = dp_packet_l4(answer);
    uint32_t sum = (ipv6 ? packet_csum_pseudoheader6(dp_packet_l3(answer))
                    : packet_csum_pseudoheader(dp_packet_l3(answer)));
    udp->udp_csum = csum_finish(csum_continue(sum, udp,
                                              UDP_HEADER_LEN + msg_len));
    if (!udp->udp_csum) {
        udp->udp_csum = htons(0xffff);
    }
    answer->md = packet->md;
    return answer;
}
