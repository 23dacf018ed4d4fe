/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_SCTP_PACKET_H
#define TESTS_SCTP_PACKET_H 1

/* Packets of SCTP, by the names of their chunks. */

#include <stdbool.h>
#include <stdint.h>
#include "talk.h"

struct ofpbuf;

struct sctp_chunk_kind {
    const char *name;
    uint8_t type;
    uint16_t len;               /* With the chunk's header. */
};
enum { SCTP_N_CHUNKS = 17 };
extern const struct sctp_chunk_kind sctp_chunks[SCTP_N_CHUNKS];

/* A packet with the chunks of 'text', which blanks separate:
 * "NAME[/t][:NUMBER]", with the T bit, with NUMBER (of INIT and INIT ACK: the
 * tag) in its first word. */
struct dp_packet *sctp_compose(const struct tuple *, uint32_t vtag,
                               const char *text);

/* Makes the checksum of the SCTP header and what follows it right. */
void sctp_set_csum(struct ofpbuf *l4);
bool sctp_csum_is_right(const struct dp_packet *);

#endif /* sctp-packet.h */
