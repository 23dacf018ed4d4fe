/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_DNS_H
#define ADP_DNS_H 1

/* What a DNS answer says of addresses (RFC 1035, RFC 3596).
 *
 * The message comes from the network: nothing in it is believed.  Names are
 * expanded by libc's dn_expand(), but before that their pointers must lead
 * backwards, each to before the part of the name that it ends: what else there
 * is ends the message.  Names that hold anything but letters, digits, '-', '_'
 * and '.' say nothing: a message about such a name is malformed.
 *
 * An answer is about the name that it was asked for.  Its addresses are those
 * of that name, or of where the name's CNAMEs lead, whatever order they are
 * in; all else in a message is left alone.
 *
 * Thread-safety: no state.
 * Cost: linear in the records, whose names are read at most twice.
 */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Including the '\0'. */
#define ADP_DNS_NAME_SIZE 254

/* As many records of an answer are looked at, and the first CNAMEs of them. */
#define ADP_DNS_MAX_RECORDS 4096
#define ADP_DNS_MAX_CNAMES 8

enum adp_dns_result {
    ADP_DNS_ANSWER,             /* It is an answer, if perhaps an empty one. */
    ADP_DNS_OTHER,              /* A query, an error, about something else. */
    ADP_DNS_MALFORMED,
};

struct adp_dns_address {
    struct in6_addr ip;         /* IPv4 as mapped address. */
    uint32_t ttl;               /* Seconds: the least on the way to it. */
};

struct adp_dns_answer {
    char name[ADP_DNS_NAME_SIZE]; /* In lower case, without final dot. */
    struct adp_dns_address *addresses;
    size_t n_addresses, allocated_addresses;
};

void adp_dns_answer_init(struct adp_dns_answer *);
void adp_dns_answer_uninit(struct adp_dns_answer *);

/* Sets 'name' to what the 'len' bytes of 'msg' are an answer about, as
 * adp_dns_parse() does, without a look at its records. */
enum adp_dns_result adp_dns_parse_name(const void *msg, size_t len,
                                       char name[ADP_DNS_NAME_SIZE]);

/* Fills 'answer' from the 'len' bytes of 'msg'.  With 'partial' the message
 * may be the beginning of a longer one: what is whole of it counts. */
enum adp_dns_result adp_dns_parse(const void *msg, size_t len, bool partial,
                                  struct adp_dns_answer *answer);

/* Takes the next message out of the 'len' bytes of a TCP segment from
 * '*offset' on, and moves that.  Returns NULL at the end.  '*partial' tells
 * whether the message goes on in other segments. */
const void *adp_dns_next_of_segment(const void *segment, size_t len,
                                    size_t *offset, size_t *msg_len,
                                    bool *partial);

#endif /* adp-dns.h */
