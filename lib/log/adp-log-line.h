/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_LOG_LINE_H
#define ADP_LOG_LINE_H 1

/* Lines of the log: what Antrea's agent writes into its np.log.
 *
 *     2023/07/04 12:45:21.804416 IngressDefaultRule
 *     AntreaNetworkPolicy:default/reject RejectTCP Ingress Reject 16
 *     default/nettool 10.10.1.7 53646 10.10.1.14 80 TCP 60 label
 *
 * in one line: a time, and fields with blanks between them, of which those
 * that are missing are "<nil>".  What is in a field has no blanks or control
 * characters in the line, wherever it came from, so that a line has as many
 * fields as it seems.
 *
 * Source: Antrea's document "Antrea Network Policy CRDs", audit logging.
 *
 * Thread-safety: values.
 */

#include <stdint.h>

struct ds;
struct json;

/* X(SYMBOL, name in JSON), in the order of the line. */
#define ADP_LOG_FIELDS                                                      \
    X(TABLE, "table")                                                       \
    X(POLICY, "policy")                                                     \
    X(RULE, "rule")                                                         \
    X(DIRECTION, "direction")                                               \
    X(ACTION, "action")                                                     \
    X(PRIORITY, "priority")                                                 \
    X(APPLIED_TO, "appliedTo")                                              \
    X(SRC, "src")                                                           \
    X(SRC_PORT, "srcPort")                                                  \
    X(DST, "dst")                                                           \
    X(DST_PORT, "dstPort")                                                  \
    X(PROTOCOL, "protocol")                                                 \
    X(LENGTH, "length")                                                     \
    X(LABEL, "label")

enum adp_log_field {
#define X(SYMBOL, NAME) ADP_LOG_##SYMBOL,
    ADP_LOG_FIELDS
#undef X
    ADP_N_LOG_FIELDS
};

/* A line without its time. */
struct adp_log_line {
    char *text;                 /* The fields. */
    char in_port[16], out_port[16]; /* Names, cut short; "": none.  Not in the
                                     * text. */
    char bridge[16];
};

/* Makes the text of 'fields', of which NULL and "" are missing. */
char *adp_log_line_text(const char *const fields[ADP_N_LOG_FIELDS]);

/* "2023/07/04 12:45:21.804416", local time. */
void adp_log_format_time(uint64_t time_us, struct ds *);
/* A duration as Antrea's agent (Go) writes it: "1.000855s", "20ms". */
void adp_log_format_duration(uint64_t duration_us, struct ds *);
/* The line as a whole, with "[N packets in D]" if it stands for several. */
void adp_log_format(const struct adp_log_line *, uint64_t time_us,
                    uint64_t n_packets, uint64_t duration_us, struct ds *);

/* Puts the fields of 'text' that aren't missing into the object 'o'. */
void adp_log_line_to_json(const char *text, struct json *o);

#endif /* adp-log-line.h */
