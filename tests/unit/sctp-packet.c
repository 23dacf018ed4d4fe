/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "sctp-packet.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include "crc32c.h"
#include "dp-packet.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "util.h"

const struct sctp_chunk_kind sctp_chunks[SCTP_N_CHUNKS] = {
    { "data", 0, 21 }, { "init", 1, 20 }, { "init-ack", 2, 40 },
    { "sack", 3, 16 }, { "heartbeat", 4, 12 }, { "heartbeat-ack", 5, 12 },
    { "abort", 6, 4 }, { "shutdown", 7, 8 }, { "shutdown-ack", 8, 4 },
    { "error", 9, 8 }, { "cookie-echo", 10, 18 }, { "cookie-ack", 11, 4 },
    { "shutdown-complete", 14, 4 }, { "auth", 15, 16 }, { "i-data", 64, 24 },
    { "pad", 0x84, 8 }, { "forward-tsn", 192, 8 },
};

static void
put_chunk(struct ofpbuf *l4, const char *text)
{
    size_t name_len = strcspn(text, "/:");
    const char *number = strchr(text, ':');
    ovs_be32 word = htonl(number ? atoi(number + 1) : 0);
    size_t i = 0;

    while (strlen(sctp_chunks[i].name) != name_len
           || strncmp(sctp_chunks[i].name, text, name_len)) {
        i++;
        ck_assert_uint_lt(i, SCTP_N_CHUNKS);
    }
    uint8_t *p = ofpbuf_put_zeros(l4, ROUND_UP(sctp_chunks[i].len, 4));
    p[0] = sctp_chunks[i].type;
    p[1] = strstr(text, "/t") ? 1 : 0;
    p[3] = sctp_chunks[i].len;
    if (sctp_chunks[i].len > 4) {
        memcpy(p + 4, &word, sizeof word);
    }
}

void
sctp_set_csum(struct ofpbuf *l4)
{
    struct sctp_header *sh = l4->data;

    put_16aligned_be32(&sh->sctp_csum, 0);
    put_16aligned_be32(&sh->sctp_csum, crc32c(l4->data, l4->size));
}

struct dp_packet *
sctp_compose(const struct tuple *t, uint32_t vtag, const char *text)
{
    char *copy = xstrdup(text), *save = NULL;
    struct ofpbuf l4;

    ofpbuf_init(&l4, 128);
    struct sctp_header *sh = ofpbuf_put_zeros(&l4, SCTP_HEADER_LEN);
    sh->sctp_src = htons(t->tp_src);
    sh->sctp_dst = htons(t->tp_dst);
    put_16aligned_be32(&sh->sctp_vtag, htonl(vtag));
    for (char *s = strtok_r(copy, " ", &save); s;
         s = strtok_r(NULL, " ", &save)) {
        put_chunk(&l4, s);
    }
    sctp_set_csum(&l4);
    struct dp_packet *packet = talk_compose_raw(t, l4.data, l4.size);
    ofpbuf_uninit(&l4);
    free(copy);
    return packet;
}

bool
sctp_csum_is_right(const struct dp_packet *packet)
{
    size_t size = dp_packet_l4_size(packet);
    struct ofpbuf l4;

    ofpbuf_init(&l4, size);
    ofpbuf_put(&l4, dp_packet_l4(packet), size);
    sctp_set_csum(&l4);
    bool right = !memcmp(l4.data, dp_packet_l4(packet), size);
    ofpbuf_uninit(&l4);
    return right;
}
