/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_ANSWER_H
#define ADP_ANSWER_H 1

/* Packet-ins that the datapath takes care of: packets that are refused and
 * told so, or logged, and packets that are held until somebody has read them.
 *
 * Antrea's agent answers for the datapath: flows send it the packet, userdata
 * says what to do with it, and it makes a TCP reset or an ICMP error, which it
 * injects, or writes a line into a file.  Packets with DNS answers are paused
 * for it until the addresses that they tell are in force.  Where nobody but us
 * makes the flows we do all that ourselves.  The flows stay what they are: a
 * program says of which userdata it takes care.
 *
 * Thread-safety: values.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "adp-log-item.h"

struct flow;
struct ofpact;

/* X(SYMBOL, ICMP type, code, ICMPv6 type, code); TCP gets a reset. */
#define ADP_ANSWERS                                                         \
    /* A policy forbids it: administratively prohibited. */                 \
    X(PROHIBITED, 3, 10, 1, 1)                                              \
    /* Nobody is there: port unreachable. */                                \
    X(UNREACHABLE, 3, 3, 1, 4)

enum adp_answer {
    ADP_ANSWER_NONE,
#define X(SYMBOL, TYPE4, CODE4, TYPE6, CODE6) ADP_ANSWER_##SYMBOL,
    ADP_ANSWERS
#undef X
    ADP_ANSWER_HOLD,            /* None, but the packet waits, as if paused. */
    ADP_ANSWER_READ,            /* None, but the main thread reads a copy. */
};

#define ADP_ANSWERS_MAX 6
#define ADP_ANSWER_USERDATA_MAX 2

/* What is done in place of a packet-in. */
struct adp_answer_rule {
    uint8_t userdata[ADP_ANSWER_USERDATA_MAX];
    uint8_t userdata_len;
    uint8_t answer;                     /* enum adp_answer. */
    bool log;
};

/* The packet-ins that are answered.  All bytes count. */
struct adp_answers {
    struct adp_answer_rule list[ADP_ANSWERS_MAX];
    uint8_t n;
    struct adp_log_layout log_layout;
};

void adp_answers_add(struct adp_answers *, const uint8_t *userdata,
                     size_t userdata_len, enum adp_answer, bool log);

/* True if a packet may be refused or logged in place of a packet-in. */
bool adp_answers_any_told(const struct adp_answers *);

/* What is to be done in place of 'a'; NULL: nothing, or it is no controller
 * action. */
const struct adp_answer_rule *adp_answers_find(const struct adp_answers *,
                                               const struct ofpact *a);

/* Sets '*type' and '*code' to those of the ICMP error that 'answer' is for a
 * packet that isn't TCP. */
void adp_answer_icmp(enum adp_answer, bool ipv6, uint8_t *type, uint8_t *code);

/* What a packet like 'flow' is answered with, for people: "a TCP reset".
 * Whether it may be answered at all, the packet tells.  Of a packet that is
 * held, why it waits. */
const char *adp_answer_text(enum adp_answer, const struct flow *);

#endif /* adp-answer.h */
