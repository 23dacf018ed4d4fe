/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-dns.h"

#include <arpa/nameser.h>
#include <ctype.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

#include "openvswitch/util.h"
#include "packets.h"
#include "unaligned.h"
#include "util.h"

/* Bits of the header's second word. */
#define FLAG_RESPONSE 0x8000
#define MASK_OPCODE 0x7800
#define MASK_RCODE 0x000f

/* What follows a record's name: type, class, TTL, length of its data. */
#define RECORD_FIXED_LEN 10

/* Names go on to records, terminals and shells. */
#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789-_."

/* Of a name: as many labels fit in, each of which a pointer may lead to. */
#define MAX_POINTERS 127

struct message {
    const uint8_t *start, *end;
    const uint8_t *answers;     /* Where the first record begins. */
    size_t n_answers;
};

struct record {
    const uint8_t *owner;
    uint16_t type, class;
    uint32_t ttl;
    const uint8_t *data;
    size_t data_len;
};

struct cname {
    char owner[ADP_DNS_NAME_SIZE], target[ADP_DNS_NAME_SIZE];
    uint32_t ttl;
};

static uint16_t
get_16(const uint8_t *p)
{
    return ntohs(get_unaligned_be16((const ovs_be16 *) p));
}

static uint32_t
get_32(const uint8_t *p)
{
    return ntohl(get_unaligned_be32((const ovs_be32 *) p));
}

void
adp_dns_answer_init(struct adp_dns_answer *answer)
{
    memset(answer, 0, sizeof *answer);
}

void
adp_dns_answer_uninit(struct adp_dns_answer *answer)
{
    free(answer->addresses);
}

/* Returns how many bytes the name at 'start' takes there, 0 if it is none: a
 * pointer leads to before the part of the name that it ends, so that there are
 * no loops. */
static size_t
measure_name(const struct message *msg, const uint8_t *start)
{
    const uint8_t *part = start, *p = start;
    size_t len = 0, total = 1, n_pointers = 0;

    while (p < msg->end && *p) {
        if ((*p & NS_CMPRSFLGS) == NS_CMPRSFLGS) {
            if (msg->end - p < NS_INT16SZ) {
                return 0;
            }

            size_t target = get_16(p) & ~(NS_CMPRSFLGS << 8);
            if (target < NS_HFIXEDSZ || target >= part - msg->start
                || ++n_pointers > MAX_POINTERS) {
                return 0;
            }
            len = len ? len : p + NS_INT16SZ - start;
            p = part = msg->start + target;
        } else {
            size_t label_len = *p + 1;

            total += label_len;
            if (*p & NS_CMPRSFLGS || msg->end - p < label_len
                || total > NS_MAXCDNAME) {
                return 0;
            }
            p += label_len;
        }
    }
    return p >= msg->end ? 0 : len ? len : p + 1 - start;
}

/* Reads the name at 'p' into 'name', in lower case, what is no text escaped.
 * Returns how many bytes it takes there, 0 if it is none. */
static size_t
read_name(const struct message *msg, const uint8_t *p,
          char name[ADP_DNS_NAME_SIZE])
{
    if (!measure_name(msg, p)) {
        return 0;
    }

    int len = dn_expand(msg->start, msg->end, p, name, ADP_DNS_NAME_SIZE);
    if (len <= 0) {
        return 0;
    }
    for (char *c = name; *c; c++) {
        *c = tolower((unsigned char) *c);
    }
    return len;
}

/* Is it one that anybody should have? */
static bool
is_plain(const char *name)
{
    return !name[strspn(name, NAME_CHARACTERS)];
}

/* Reads the record at '*p', and moves that behind it.  Returns false if there
 * is no whole one. */
static bool
read_record(const struct message *msg, const uint8_t **p, struct record *r)
{
    size_t name_len = measure_name(msg, *p);

    if (!name_len || msg->end - *p - name_len < RECORD_FIXED_LEN) {
        return false;
    }

    const uint8_t *fixed = *p + name_len;
    r->owner = *p;
    r->type = get_16(fixed);
    r->class = get_16(fixed + 2);
    r->ttl = get_32(fixed + 4);
    r->data_len = get_16(fixed + 8);
    r->data = fixed + RECORD_FIXED_LEN;
    if (msg->end - r->data < r->data_len) {
        return false;
    }
    if (r->ttl > INT32_MAX) {
        r->ttl = 0;             /* RFC 2181, section 8. */
    }
    *p = r->data + r->data_len;
    return true;
}

/* Goes through all answers, and sets 'cnames' to the first CNAMEs.  Returns
 * how many; '*whole' tells whether all records are there. */
static size_t
read_cnames(const struct message *msg,
            struct cname cnames[ADP_DNS_MAX_CNAMES], bool *whole)
{
    const uint8_t *p = msg->answers;
    size_t n = 0;
    struct record r;

    *whole = true;
    for (size_t i = 0; i < msg->n_answers; i++) {
        if (!read_record(msg, &p, &r)) {
            *whole = false;
            break;
        }
        if (r.type == ns_t_cname && r.class == ns_c_in
            && n < ADP_DNS_MAX_CNAMES
            && read_name(msg, r.owner, cnames[n].owner)
            && read_name(msg, r.data, cnames[n].target)) {
            cnames[n++].ttl = r.ttl;
        }
    }
    return n;
}

static const struct cname *
find_cname(const struct cname cnames[], size_t n, const char *owner)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(cnames[i].owner, owner)) {
            return &cnames[i];
        }
    }
    return NULL;
}

/* Where CNAMEs lead from 'name'.  Lowers '*ttl'. */
static const char *
follow(const char *name, const struct cname cnames[], size_t n, uint32_t *ttl)
{
    for (size_t i = 0; i < n; i++) {
        const struct cname *cname = find_cname(cnames, n, name);

        if (!cname) {
            break;
        }
        name = cname->target;
        *ttl = MIN(*ttl, cname->ttl);
    }
    return name;
}

static bool
get_address(const struct record *r, struct in6_addr *ip)
{
    if (r->class != ns_c_in) {
        return false;
    }
    if (r->type == ns_t_a && r->data_len == sizeof(ovs_be32)) {
        ovs_be32 ip4 = get_unaligned_be32((const ovs_be32 *) r->data);

        in6_addr_set_mapped_ipv4(ip, ip4);
        return ip4 != 0;        /* How some servers say that there is none. */
    }
    if (r->type == ns_t_aaaa && r->data_len == sizeof *ip) {
        memcpy(ip, r->data, sizeof *ip);
        /* The first is in no packet. */
        return !IN6_IS_ADDR_V4MAPPED(ip) && !IN6_IS_ADDR_UNSPECIFIED(ip);
    }
    return false;
}

static void
add_address(struct adp_dns_answer *answer, const struct in6_addr *ip,
            uint32_t ttl)
{
    if (answer->n_addresses >= answer->allocated_addresses) {
        answer->addresses = x2nrealloc(answer->addresses,
                                       &answer->allocated_addresses,
                                       sizeof *answer->addresses);
    }
    answer->addresses[answer->n_addresses++] = (struct adp_dns_address) {
        .ip = *ip,
        .ttl = ttl,
    };
}

static void
collect(const struct message *msg, const char *target, uint32_t ttl,
        struct adp_dns_answer *answer)
{
    const uint8_t *p = msg->answers;
    struct record r;

    for (size_t i = 0; i < msg->n_answers && read_record(msg, &p, &r); i++) {
        char owner[ADP_DNS_NAME_SIZE];
        struct in6_addr ip;

        if (get_address(&r, &ip) && read_name(msg, r.owner, owner)
            && !strcmp(owner, target)) {
            add_address(answer, &ip, MIN(ttl, r.ttl));
        }
    }
}

/* Sets 'msg' to the answers, and 'name' to what they are about. */
static enum adp_dns_result
read_head(const uint8_t *data, size_t len, struct message *msg, char *name)
{
    if (len < NS_HFIXEDSZ) {
        return ADP_DNS_MALFORMED;
    }

    uint16_t flags = get_16(data + 2);
    if (!(flags & FLAG_RESPONSE) || flags & MASK_OPCODE) {
        return ADP_DNS_OTHER;
    }
    if (flags & MASK_RCODE) {
        return ADP_DNS_OTHER;   /* An error has no addresses. */
    }
    if (get_16(data + 4) != 1) {
        return ADP_DNS_OTHER;   /* Nobody asks two questions. */
    }
    *msg = (struct message) { .start = data, .end = data + len };

    const uint8_t *question = data + NS_HFIXEDSZ;
    size_t name_len = read_name(msg, question, name);
    if (!name_len || !is_plain(name)
        || msg->end - question - name_len < NS_QFIXEDSZ) {
        return ADP_DNS_MALFORMED;
    }
    if (get_16(question + name_len + 2) != ns_c_in) {
        return ADP_DNS_OTHER;
    }
    msg->answers = question + name_len + NS_QFIXEDSZ;
    msg->n_answers = MIN(get_16(data + 6), ADP_DNS_MAX_RECORDS);
    return ADP_DNS_ANSWER;
}

enum adp_dns_result
adp_dns_parse_name(const void *data, size_t len, char name[ADP_DNS_NAME_SIZE])
{
    struct message msg;

    return read_head(data, len, &msg, name);
}

enum adp_dns_result
adp_dns_parse(const void *data, size_t len, bool partial,
              struct adp_dns_answer *answer)
{
    struct cname cnames[ADP_DNS_MAX_CNAMES];
    struct message msg;
    uint32_t ttl = UINT32_MAX;
    bool whole;

    answer->n_addresses = 0;
    enum adp_dns_result result = read_head(data, len, &msg, answer->name);
    if (result != ADP_DNS_ANSWER) {
        return result;
    }

    size_t n = read_cnames(&msg, cnames, &whole);
    if (!whole && !partial) {
        return ADP_DNS_MALFORMED;
    }
    const char *target = follow(answer->name, cnames, n, &ttl);
    collect(&msg, target, ttl, answer);
    return ADP_DNS_ANSWER;
}

const void *
adp_dns_next_of_segment(const void *segment_, size_t len, size_t *offset,
                        size_t *msg_len, bool *partial)
{
    const uint8_t *segment = segment_;
    size_t left = len - *offset;

    if (left <= NS_INT16SZ) {
        return NULL;
    }
    *msg_len = get_16(segment + *offset);
    left -= NS_INT16SZ;
    *offset += NS_INT16SZ;
    *partial = *msg_len > left;
    *msg_len = MIN(*msg_len, left);

    const void *msg = segment + *offset;
    *offset += *msg_len;
    return msg;
}
