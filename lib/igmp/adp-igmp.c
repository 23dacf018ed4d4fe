/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-igmp.h"

#include <arpa/inet.h>
#include <string.h>

#include "csum.h"
#include "packets.h"
#include "unaligned.h"
#include "util.h"

#define HEADER_LEN 8            /* Of all messages, and of a group record. */
#define GROUP_OFFSET 4          /* In both. */

/* Types of group records. */
enum {
    MODE_IS_INCLUDE = 1,
    MODE_IS_EXCLUDE,
    CHANGE_TO_INCLUDE,
    CHANGE_TO_EXCLUDE,
    ALLOW_NEW_SOURCES,
    BLOCK_OLD_SOURCES,
};

static uint16_t
get_be16(const uint8_t *p)
{
    return ntohs(get_unaligned_be16((const ovs_be16 *) p));
}

static ovs_be32
get_group(const uint8_t *p)
{
    return get_unaligned_be32((const ovs_be32 *) (p + GROUP_OFFSET));
}

static void
put_be16(uint8_t *p, uint16_t value)
{
    put_unaligned_be16((ovs_be16 *) p, htons(value));
}

static size_t
record_len(const uint8_t *record)
{
    return HEADER_LEN + (get_be16(record + 2) + record[1]) * 4;
}

/* Are the records that the report promises there? */
static bool
has_records(const uint8_t *msg, size_t len)
{
    size_t n = get_be16(msg + 6);
    size_t offset = HEADER_LEN;

    for (size_t i = 0; i < n; i++) {
        if (len - offset < HEADER_LEN
            || len - offset < record_len(msg + offset)) {
            return false;
        }
        offset += record_len(msg + offset);
    }
    return true;
}

static void
read_record(const uint8_t *record, adp_igmp_cb *cb, void *aux)
{
    bool has_sources = get_be16(record + 2);
    ovs_be32 group = get_group(record);

    switch (record[0]) {
    case MODE_IS_EXCLUDE:
    case CHANGE_TO_EXCLUDE:
        cb(ADP_IGMP_TYPE_REPORT_V3, group, true, aux);
        break;
    case MODE_IS_INCLUDE:
    case CHANGE_TO_INCLUDE:
        cb(ADP_IGMP_TYPE_REPORT_V3, group, has_sources, aux);
        break;
    case ALLOW_NEW_SOURCES:
        if (has_sources) {
            cb(ADP_IGMP_TYPE_REPORT_V3, group, true, aux);
        }
        break;
    case BLOCK_OLD_SOURCES:     /* Others may be wanted. */
    default:
        break;
    }
}

enum adp_igmp_result
adp_igmp_reader_init(struct adp_igmp_reader *r, const void *msg_, size_t len)
{
    const uint8_t *msg = msg_;

    r->msg = msg;
    r->offset = r->n_left = 0;
    if (len < HEADER_LEN || csum(msg, len)) {
        return ADP_IGMP_MALFORMED;
    }
    switch (msg[0]) {
    case ADP_IGMP_TYPE_REPORT_V1:
    case ADP_IGMP_TYPE_REPORT_V2:
    case ADP_IGMP_TYPE_LEAVE_V2:
        r->n_left = 1;
        return ADP_IGMP_REPORT;
    case ADP_IGMP_TYPE_REPORT_V3:
        if (!has_records(msg, len)) {
            return ADP_IGMP_MALFORMED;
        }
        r->offset = HEADER_LEN;
        r->n_left = get_be16(msg + 6);
        return ADP_IGMP_REPORT;
    default:
        return ADP_IGMP_OTHER;
    }
}

void
adp_igmp_reader_next(struct adp_igmp_reader *r, adp_igmp_cb *cb, void *aux)
{
    const uint8_t *record = r->msg + r->offset;
    uint8_t type = r->msg[0];

    if (type == ADP_IGMP_TYPE_REPORT_V3) {
        read_record(record, cb, aux);
        r->offset += record_len(record);
    } else {
        cb(type, get_group(record), type != ADP_IGMP_TYPE_LEAVE_V2, aux);
    }
    r->n_left--;
}

enum adp_igmp_result
adp_igmp_parse(const void *msg, size_t len, adp_igmp_cb *cb, void *aux)
{
    struct adp_igmp_reader r;
    enum adp_igmp_result result = adp_igmp_reader_init(&r, msg, len);

    while (r.n_left) {
        adp_igmp_reader_next(&r, cb, aux);
    }
    return result;
}

static void
put_csum(uint8_t *msg, size_t len)
{
    put_unaligned_be16((ovs_be16 *) (msg + 2), csum(msg, len));
}

void
adp_igmp_put_query(uint8_t msg[ADP_IGMP_QUERY_LEN], unsigned int max_response,
                   unsigned int interval)
{
    memset(msg, 0, ADP_IGMP_QUERY_LEN);
    msg[0] = ADP_IGMP_TYPE_QUERY;
    msg[1] = max_response;
    msg[8] = 2;                 /* Robustness. */
    msg[9] = MIN(interval, 127);
    put_csum(msg, ADP_IGMP_QUERY_LEN);
}

void
adp_igmp_report_init(struct adp_igmp_report *report)
{
    memset(report->msg, 0, ADP_IGMP_REPORT_HEADER_LEN);
    report->msg[0] = ADP_IGMP_TYPE_REPORT_V3;
    report->n_records = 0;
}

void
adp_igmp_report_add(struct adp_igmp_report *report, ovs_be32 group, bool joins)
{
    uint8_t *record = (report->msg + ADP_IGMP_REPORT_HEADER_LEN
                       + report->n_records++ * ADP_IGMP_REPORT_RECORD_LEN);

    ovs_assert(report->n_records <= ADP_IGMP_REPORT_MAX_RECORDS);
    memset(record, 0, ADP_IGMP_REPORT_RECORD_LEN);
    record[0] = joins ? CHANGE_TO_EXCLUDE : CHANGE_TO_INCLUDE;
    put_unaligned_be32((ovs_be32 *) (record + GROUP_OFFSET), group);
}

size_t
adp_igmp_report_finish(struct adp_igmp_report *report)
{
    size_t len = (ADP_IGMP_REPORT_HEADER_LEN
                  + report->n_records * ADP_IGMP_REPORT_RECORD_LEN);

    put_be16(report->msg + 6, report->n_records);
    put_csum(report->msg, len);
    return len;
}
