/* SPDX-License-Identifier: Apache-2.0 */

/* Included at the end of conntrack-half-open.c, see conntrack-sctp.h. */

#include "conntrack-sctp.h"

#include "crc32c.h"
#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

/* Checksum. */

#ifdef __SSE4_2__
static uint64_t
crc32c_add(uint64_t crc, const void *data, size_t size)
{
    const uint8_t *p = data;
    uint64_t word;

    for (; size >= sizeof word; size -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        crc = _mm_crc32_u64(crc, word);
    }
    while (size--) {
        crc = _mm_crc32_u8(crc, *p++);
    }
    return crc;
}

ovs_be32
conntrack_sctp_csum(const void *data, size_t size)
{
    const ovs_be32 none = 0;
    uint64_t crc = UINT32_MAX;

    crc = crc32c_add(crc, data, offsetof(struct sctp_header, sctp_csum));
    crc = crc32c_add(crc, &none, sizeof none);
    crc = crc32c_add(crc, (const uint8_t *) data + SCTP_HEADER_LEN,
                     size - SCTP_HEADER_LEN);
    return (OVS_FORCE ovs_be32) ~(uint32_t) crc;
}
#else
ovs_be32
conntrack_sctp_csum(const void *data, size_t size)
{
    struct sctp_header *sh = CONST_CAST(void *, data);
    ovs_16aligned_be32 saved = sh->sctp_csum;
    ovs_be32 csum;

    put_16aligned_be32(&sh->sctp_csum, 0);
    csum = crc32c(data, size);
    sh->sctp_csum = saved;
    return csum;
}
#endif

bool
conntrack_sctp_extract(struct conn_key *key, const void *data, size_t size,
                       bool whole, bool validate_checksum)
{
    const struct sctp_header *sh = data;

    if (size < (whole ? SCTP_HEADER_LEN : ICMP_ERROR_DATA_L4_LEN)) {
        return false;
    }
    if (validate_checksum
        && conntrack_sctp_csum(data, size)
           != get_16aligned_be32(&sh->sctp_csum)) {
        COVERAGE_INC(conntrack_l4csum_err);
        return false;
    }
    key->src.port = sh->sctp_src;
    key->dst.port = sh->sctp_dst;
    return key->src.port && key->dst.port;
}

void
conntrack_sctp_set_ports(struct dp_packet *packet, ovs_be16 src, ovs_be16 dst)
{
    struct sctp_header *sh = dp_packet_l4(packet);
    size_t size = dp_packet_l4_size(packet);
    ovs_be32 change = 0;

    if (sh->sctp_src == src && sh->sctp_dst == dst) {
        return;
    }
    if (size >= SCTP_HEADER_LEN) {
        change = conntrack_sctp_csum(sh, size);
    }
    sh->sctp_src = src;
    sh->sctp_dst = dst;
    if (size >= SCTP_HEADER_LEN) {
        change ^= conntrack_sctp_csum(sh, size);
        put_16aligned_be32(&sh->sctp_csum,
                           get_16aligned_be32(&sh->sctp_csum) ^ change);
    }
}

void
conntrack_sctp_nat(struct dp_packet *packet, const struct conn_key *key)
{
    if (key->nw_proto == IPPROTO_SCTP) {
        conntrack_sctp_set_ports(packet, key->dst.port, key->src.port);
    }
}

/* Packets. */

/* A chunk's type is its bit in a set, but for those from 16 on. */
enum sctp_chunk {
    SCTP_INIT = 1 << 1,
    SCTP_INIT_ACK = 1 << 2,
    SCTP_HEARTBEAT = 1 << 4,
    SCTP_HEARTBEAT_ACK = 1 << 5,
    SCTP_ABORT = 1 << 6,
    SCTP_SHUTDOWN = 1 << 7,
    SCTP_SHUTDOWN_ACK = 1 << 8,
    SCTP_ERROR = 1 << 9,
    SCTP_COOKIE_ECHO = 1 << 10,
    SCTP_COOKIE_ACK = 1 << 11,
    SCTP_SHUTDOWN_COMPLETE = 1 << 14,
    SCTP_AUTH = 1 << 15,
    SCTP_PAD = 1 << 16,
    SCTP_OTHER = 1 << 17,
};

struct sctp_chunk_header {
    uint8_t type;
    uint8_t flags;
    ovs_be16 len;               /* With this header, without padding. */
};
#define SCTP_CHUNK_HEADER_LEN 4
BUILD_ASSERT_DECL(sizeof(struct sctp_chunk_header) == SCTP_CHUNK_HEADER_LEN);

/* INIT and INIT ACK without parameters. */
#define SCTP_INIT_LEN 20
#define SCTP_FLAG_T 1

/* What a packet says. */
struct sctp_packet {
    ovs_be32 vtag;
    uint32_t chunks;            /* Set of SCTP_*. */
    unsigned int n_chunks;
    ovs_be32 init_tag;          /* Of INIT and INIT ACK. */
    bool reflects;              /* The tag is that of the other direction. */
};

static uint32_t
sctp_chunk_bit(uint8_t type)
{
    enum { PAD = 0x84 };

    return type < 16 ? 1u << type : type == PAD ? SCTP_PAD : SCTP_OTHER;
}

/* Adds a chunk that has 'len' bytes.  False if it is malformed, or has no
 * place there. */
static bool
sctp_packet_add(struct sctp_packet *sp, const struct sctp_chunk_header *chunk,
                size_t len)
{
    uint32_t bit = sctp_chunk_bit(chunk->type);

    if (bit & (SCTP_INIT | SCTP_INIT_ACK)) {
        if (len < SCTP_INIT_LEN) {
            return false;
        }
        memcpy(&sp->init_tag, chunk + 1, sizeof sp->init_tag);
        if (!sp->init_tag) {
            return false;
        }
    } else if (bit & (SCTP_COOKIE_ECHO | SCTP_COOKIE_ACK)) {
        if (sp->n_chunks) {
            return false;
        }
    } else if (bit & (SCTP_ABORT | SCTP_SHUTDOWN_COMPLETE)
               && chunk->flags & SCTP_FLAG_T) {
        sp->reflects = true;
    }
    sp->chunks |= bit;
    sp->n_chunks++;
    return true;
}

/* False if the packet isn't one that an SCTP end may send. */
static bool
sctp_packet_parse(const struct dp_packet *packet, struct sctp_packet *sp)
{
    const uint32_t alone = SCTP_INIT | SCTP_INIT_ACK | SCTP_SHUTDOWN_COMPLETE;
    const struct sctp_header *sh = dp_packet_l4(packet);
    const char *p = (const char *) (sh + 1);
    size_t left = dp_packet_l4_size(packet);

    if (left < SCTP_HEADER_LEN) {
        return false;
    }
    left -= SCTP_HEADER_LEN;
    memset(sp, 0, sizeof *sp);
    sp->vtag = get_16aligned_be32(&sh->sctp_vtag);
    while (left >= SCTP_CHUNK_HEADER_LEN) {
        const struct sctp_chunk_header *chunk = (const void *) p;
        size_t len = ntohs(chunk->len);

        if (len < SCTP_CHUNK_HEADER_LEN || len > left
            || !sctp_packet_add(sp, chunk, len)) {
            return false;
        }
        len = MIN(ROUND_UP(len, 4), left);
        p += len;
        left -= len;
    }
    return (!left && sp->n_chunks
            && (sp->n_chunks == 1 || !(sp->chunks & alone || sp->reflects))
            && (sp->vtag == 0) == ((sp->chunks & SCTP_INIT) != 0));
}

/* Associations. */

/* X(STATE, what a dump calls it, seconds without a packet).  After RFC 9260,
 * but seen from the middle. */
#define SCTP_STATES                                                         \
    X(INIT_SENT, COOKIE_WAIT, 10)                                           \
    X(COOKIE_WAIT, COOKIE_WAIT, 3)                                          \
    X(COOKIE_ECHOED, COOKIE_ECHOED, 3)                                      \
    X(HEARTBEAT_SENT, HEARTBEAT_SENT, 30)                                   \
    X(ESTABLISHED, ESTABLISHED, 210)                                        \
    X(SHUTDOWN_SENT, SHUTDOWN_SENT, 3)      /* In original direction. */    \
    X(SHUTDOWN_RECD, SHUTDOWN_RECD, 3)      /* In reply direction. */       \
    X(SHUTDOWN_ACK_SENT, SHUTDOWN_ACK_SENT, 3)                              \
    X(CLOSED, CLOSED, 10)

enum OVS_PACKED_ENUM sctp_state {
#define X(STATE, SHOWN, SECONDS) SCTPS_##STATE,
    SCTP_STATES
#undef X
};

static const struct {
    enum ct_dpif_sctp_state shown;
    int timeout_s;
} sctp_states[] = {
#define X(STATE, SHOWN, SECONDS) { CT_DPIF_SCTP_STATE_##SHOWN, SECONDS },
    SCTP_STATES
#undef X
};

/* An association on one pair of addresses.
 *
 * Packets in a direction carry the tag that the end which receives them has
 * chosen, in its INIT or INIT ACK.  A server may answer a repeated INIT with
 * another tag, and anybody may send an INIT: which tag is meant shows when it
 * is used, in COOKIE ECHO and COOKIE ACK. */
struct sctp_assoc {
    enum sctp_state state;
    uint8_t replied : 1;        /* There was a packet in reply direction. */

    /* The handshake.  Once there is an association it is for one that takes
     * its place, if both ends agree, as when one of them has started anew. */
    uint8_t inits : 2;          /* There was an INIT, by direction. */
    uint8_t echoed : 2;         /* There was a COOKIE ECHO, by direction. */
    uint8_t other_dir : 1;
    ovs_be32 offered[2];        /* By direction.  0: not known. */
    ovs_be32 other;             /* Also offered, in direction 'other_dir'. */

    ovs_be32 tag[2];            /* In force, but for the first handshake. */
};

struct conn_sctp {
    struct conn up;
    struct sctp_assoc assoc;
};
BUILD_ASSERT_DECL(sizeof(struct conn_sctp) <= POOL_SLOT);
BUILD_ASSERT_DECL(sizeof(struct conn_sctp) <= CT_PEEK_CONN_SIZE);

static struct conn_sctp *
conn_sctp_cast(const struct conn *conn)
{
    return CONTAINER_OF(conn, struct conn_sctp, up);
}

/* Whether there is an association, be it closed. */
static bool
sctp_is_set_up(const struct sctp_assoc *a)
{
    return a->state >= SCTPS_ESTABLISHED;
}

bool
conntrack_sctp_is_set_up(const struct conn *conn)
{
    const struct sctp_assoc *a = &conn_sctp_cast(conn)->assoc;

    return sctp_is_set_up(a) && a->state != SCTPS_CLOSED;
}

/* Tags. */

static void
sctp_offer(struct sctp_assoc *a, bool dir, ovs_be32 tag)
{
    bool chosen = a->echoed & 1 << dir;
    ovs_be32 second = chosen ? tag : a->offered[dir];

    if (tag == a->offered[dir]) {
        return;
    }
    if (!chosen) {
        a->offered[dir] = tag;
    }
    if (second) {
        a->other = second;
        a->other_dir = dir;
    }
}

/* 'tag' isn't 0. */
static bool
sctp_is_offered(const struct sctp_assoc *a, bool dir, ovs_be32 tag)
{
    return (tag == a->offered[dir]
            || (tag == a->other && dir == a->other_dir));
}

static void
sctp_forget_handshake(struct sctp_assoc *a)
{
    a->inits = a->echoed = 0;
    a->offered[0] = a->offered[1] = a->other = 0;
}

/* Ends the handshake: its tags are in force, in direction 'dir' 'tag'. */
static void
sctp_agree(struct sctp_assoc *a, bool dir, ovs_be32 tag)
{
    a->tag[dir] = tag;
    a->tag[!dir] = a->offered[!dir];
    sctp_forget_handshake(a);
}

static bool
sctp_tag_is_right(const struct sctp_assoc *a, bool dir, ovs_be32 tag)
{
    return (a->state <= SCTPS_COOKIE_ECHOED ? sctp_is_offered(a, dir, tag)
            : tag == a->tag[dir]);
}

/* Chunks.  Each function returns false if the packet is invalid; then the
 * caller forgets what became of the association.  A packet may be tracked more
 * than once, with the same result. */

static bool
sctp_init(struct sctp_assoc *a, const struct sctp_packet *sp, bool dir)
{
    if (a->state == SCTPS_HEARTBEAT_SENT) {
        if (dir) {
            return false;
        }
        a->state = SCTPS_INIT_SENT;
    }
    sctp_offer(a, !dir, sp->init_tag);
    a->inits |= 1 << dir;
    return true;
}

static bool
sctp_init_ack(struct sctp_assoc *a, const struct sctp_packet *sp, bool dir)
{
    if (!(a->inits & 1 << !dir) || !sctp_is_offered(a, dir, sp->vtag)) {
        return false;
    }
    sctp_offer(a, !dir, sp->init_tag);
    if (a->state == SCTPS_INIT_SENT) {
        a->state = SCTPS_COOKIE_WAIT;
    }
    return true;
}

static bool
sctp_cookie_echo(struct sctp_assoc *a, const struct sctp_packet *sp, bool dir)
{
    if (a->inits & 1 << dir && sctp_is_offered(a, dir, sp->vtag)) {
        a->offered[dir] = sp->vtag;
        a->echoed |= 1 << dir;
        if (!sctp_is_set_up(a)) {
            a->state = SCTPS_COOKIE_ECHOED;
        }
        return true;
    }
    /* Again, because the answer was lost. */
    return sctp_is_set_up(a) && sp->vtag == a->tag[dir];
}

static bool
sctp_cookie_ack(struct sctp_assoc *a, const struct sctp_packet *sp, bool dir)
{
    if (a->echoed & 1 << !dir && sctp_is_offered(a, dir, sp->vtag)) {
        sctp_agree(a, dir, sp->vtag);
        a->state = SCTPS_ESTABLISHED;
        return true;
    }
    return sctp_is_set_up(a) && sp->vtag == a->tag[dir];
}

/* ABORT and SHUTDOWN COMPLETE.  They may be about an association that was to
 * take this one's place, which changes nothing. */
static bool
sctp_end(struct sctp_assoc *a, const struct sctp_packet *sp, bool dir)
{
    bool tag_dir = sp->reflects ? !dir : dir;

    if (sp->reflects && a->state < SCTPS_COOKIE_ECHOED) {
        return false;           /* Of what?  No packet had a tag yet. */
    }
    if (!sctp_tag_is_right(a, tag_dir, sp->vtag)) {
        return (sctp_is_set_up(a)
                && sctp_is_offered(a, tag_dir, sp->vtag));
    }
    if (sp->chunks & SCTP_ABORT || a->state == SCTPS_SHUTDOWN_ACK_SENT) {
        if (a->state <= SCTPS_COOKIE_ECHOED) {
            sctp_agree(a, tag_dir, sp->vtag);
        }
        sctp_forget_handshake(a);
        a->state = SCTPS_CLOSED;
    }
    return true;
}

/* The first answer to a HEARTBEAT whose association isn't known. */
static bool
sctp_heartbeat_reply(struct sctp_assoc *a, const struct sctp_packet *sp)
{
    if (!(sp->chunks & (SCTP_HEARTBEAT | SCTP_HEARTBEAT_ACK))) {
        return false;
    }
    a->tag[1] = sp->vtag;
    a->state = SCTPS_ESTABLISHED;
    return true;
}

/* Whatever else an association's packets hold. */
static bool
sctp_rest(struct sctp_assoc *a, const struct sctp_packet *sp, bool dir)
{
    if (a->state == SCTPS_HEARTBEAT_SENT && dir) {
        return sctp_heartbeat_reply(a, sp);
    }
    if (!sctp_tag_is_right(a, dir, sp->vtag)
        || (a->state < SCTPS_COOKIE_ECHOED && sp->chunks & ~SCTP_ERROR)) {
        return false;
    }
    if (sp->chunks & SCTP_SHUTDOWN && a->state == SCTPS_ESTABLISHED) {
        a->state = dir ? SCTPS_SHUTDOWN_RECD : SCTPS_SHUTDOWN_SENT;
    }
    if (sp->chunks & SCTP_SHUTDOWN_ACK
        && (a->state == SCTPS_SHUTDOWN_SENT
            || a->state == SCTPS_SHUTDOWN_RECD)) {
        a->state = SCTPS_SHUTDOWN_ACK_SENT;
    }
    return true;
}

static bool
sctp_track(struct sctp_assoc *a, const struct sctp_packet *sp, bool dir)
{
    if (sp->chunks & SCTP_INIT) {
        return sctp_init(a, sp, dir);
    } else if (sp->chunks & SCTP_INIT_ACK) {
        return sctp_init_ack(a, sp, dir);
    } else if (sp->chunks & (SCTP_ABORT | SCTP_SHUTDOWN_COMPLETE)) {
        return sctp_end(a, sp, dir);
    } else if (sp->chunks & SCTP_COOKIE_ECHO) {
        return sctp_cookie_echo(a, sp, dir);    /* DATA may come with it. */
    } else if (sp->chunks & SCTP_COOKIE_ACK) {
        return sctp_cookie_ack(a, sp, dir) && sctp_rest(a, sp, dir);
    }
    return sctp_rest(a, sp, dir);
}

/* Connections. */

static void
sctp_set_expiration(struct conn_sctp *conn, long long int now)
{
    int seconds = sctp_states[conn->assoc.state].timeout_s;

    atomic_store_relaxed(&conn->up.expiration, now + seconds * 1000LL);
}

static enum ct_update_res
sctp_conn_update(struct conntrack *ct OVS_UNUSED, struct conn *conn_,
                 struct dp_packet *packet, bool reply, long long int now)
{
    struct conn_sctp *conn = conn_sctp_cast(conn_);
    struct sctp_assoc a = conn->assoc;
    struct sctp_packet sp;

    if (!sctp_packet_parse(packet, &sp)) {
        return CT_UPDATE_INVALID;
    }
    if (a.state == SCTPS_CLOSED && sp.chunks & SCTP_INIT) {
        return CT_UPDATE_NEW;
    }
    bool keeps_alive = (a.state != SCTPS_CLOSED
                        && !(sctp_is_set_up(&a)
                             && sp.chunks & (SCTP_INIT | SCTP_INIT_ACK)));
    if (!sctp_track(&a, &sp, reply)) {
        return CT_UPDATE_INVALID;
    }
    a.replied |= reply;
    conn->assoc = a;
    if (keeps_alive) {
        sctp_set_expiration(conn, now);
    }
    return a.replied ? CT_UPDATE_VALID : CT_UPDATE_VALID_NEW;
}

static bool
sctp_valid_new(struct dp_packet *packet)
{
    const uint32_t heartbeat = SCTP_HEARTBEAT | SCTP_AUTH | SCTP_PAD;
    struct sctp_packet sp;

    return (sctp_packet_parse(packet, &sp)
            && (sp.chunks & SCTP_INIT
                || (sp.chunks & SCTP_HEARTBEAT && !(sp.chunks & ~heartbeat))));
}

static struct conn *
sctp_new_conn(struct conntrack *ct OVS_UNUSED, struct dp_packet *packet,
              long long int now, uint32_t tp_id)
{
    struct conn_sctp *conn = conntrack_pool_zalloc(sizeof *conn);
    struct sctp_packet sp;

    conn->up.tp_id = tp_id;
    conn->assoc.state = SCTPS_HEARTBEAT_SENT;
    if (sctp_packet_parse(packet, &sp)) {       /* It was valid just now. */
        conn->assoc.tag[0] = sp.vtag;
        if (sp.chunks & SCTP_INIT) {
            sctp_init(&conn->assoc, &sp, false);
        }
    }
    sctp_set_expiration(conn, now);
    return &conn->up;
}

static void
sctp_conn_get_protoinfo(const struct conn *conn,
                        struct ct_dpif_protoinfo *protoinfo)
{
    const struct sctp_assoc *a = &conn_sctp_cast(conn)->assoc;
    const ovs_be32 *tag = (a->state <= SCTPS_COOKIE_ECHOED ? a->offered
                           : a->tag);

    protoinfo->proto = IPPROTO_SCTP;
    protoinfo->sctp.state = sctp_states[a->state].shown;
    protoinfo->sctp.vtag_orig = ntohl(tag[0]);
    protoinfo->sctp.vtag_reply = ntohl(tag[1]);
}

struct ct_l4_proto ct_proto_sctp = {
    .new_conn = sctp_new_conn,
    .valid_new = sctp_valid_new,
    .conn_update = sctp_conn_update,
    .conn_get_protoinfo = sctp_conn_get_protoinfo,
};
