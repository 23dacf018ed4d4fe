/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_IGMP_H
#define ADP_IGMP_H 1

/* Messages of IGMP, versions 1 to 3 (RFC 1112, 2236, 3376): reading what hosts
 * report, writing queries and what Nodes report to each other.
 *
 * Of a group record of version 3 it counts only whether somebody wants
 * anything of the group: who names sources joins the group.
 *
 * A message is the payload of an IP packet.  One with a wrong checksum, or
 * that ends before it should, tells nothing at all.
 *
 * Thread-safety: no state.
 * Cost: linear in the message; that of a record is constant, once the reader
 * has begun.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/types.h"

#define ADP_IGMP_TYPE_QUERY 0x11
#define ADP_IGMP_TYPE_REPORT_V1 0x12
#define ADP_IGMP_TYPE_REPORT_V2 0x16
#define ADP_IGMP_TYPE_LEAVE_V2 0x17
#define ADP_IGMP_TYPE_REPORT_V3 0x22

enum adp_igmp_result {
    ADP_IGMP_REPORT,            /* Joins and leaves, of which 'cb' was told. */
    ADP_IGMP_OTHER,             /* A query, or of no known type. */
    ADP_IGMP_MALFORMED,
};

typedef void adp_igmp_cb(uint8_t type, ovs_be32 group, bool joins, void *aux);
enum adp_igmp_result adp_igmp_parse(const void *msg, size_t len,
                                    adp_igmp_cb *, void *aux);

/* The same record by record; 'msg' must stay. */
struct adp_igmp_reader {
    size_t n_left;              /* Records that next() has for 'cb', or has
                                 * nothing to tell of. */

    const uint8_t *msg;         /* Private. */
    size_t offset;
};
enum adp_igmp_result adp_igmp_reader_init(struct adp_igmp_reader *,
                                          const void *msg, size_t len);
/* Only if there are some left. */
void adp_igmp_reader_next(struct adp_igmp_reader *, adp_igmp_cb *, void *aux);

/* Writes a general query of version 3, which those of other versions read as
 * theirs, to be answered within 'max_response' tenths of a second (at most
 * 127).  'interval' in seconds (at most 127 are told) is that between
 * queries. */
#define ADP_IGMP_QUERY_LEN 12
void adp_igmp_put_query(uint8_t msg[ADP_IGMP_QUERY_LEN],
                        unsigned int max_response, unsigned int interval);

/* A report of version 3, record by record. */
#define ADP_IGMP_REPORT_HEADER_LEN 8
#define ADP_IGMP_REPORT_RECORD_LEN 8
#define ADP_IGMP_REPORT_MAX_RECORDS 128
struct adp_igmp_report {
    uint8_t msg[ADP_IGMP_REPORT_HEADER_LEN
                + ADP_IGMP_REPORT_MAX_RECORDS * ADP_IGMP_REPORT_RECORD_LEN];
    size_t n_records;
};

void adp_igmp_report_init(struct adp_igmp_report *);
/* At most ADP_IGMP_REPORT_MAX_RECORDS. */
void adp_igmp_report_add(struct adp_igmp_report *, ovs_be32 group, bool joins);
/* Completes 'msg', and returns its length. */
size_t adp_igmp_report_finish(struct adp_igmp_report *);

#endif /* adp-igmp.h */
