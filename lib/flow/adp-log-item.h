/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_LOG_ITEM_H
#define ADP_LOG_ITEM_H 1

/* What a packet-in for the log says of the policy rule that decided.
 *
 * Antrea's flows send the agent each packet that is to be logged, and the
 * agent reads from registers which rule of which table decided what.  Where
 * the datapath logs itself it reads the same: a program says where these
 * things stand.
 *
 * Thread-safety: values.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow;

/* In the order of the values that registers have. */
enum adp_log_disposition {
    ADP_LOG_ALLOW,
    ADP_LOG_DROP,
    ADP_LOG_REJECT,
    ADP_LOG_PASS,
    ADP_N_LOG_DISPOSITIONS
};
/* "Allow", as Antrea writes it. */
const char *adp_log_disposition_to_string(enum adp_log_disposition);

struct adp_log_bits {
    uint8_t reg, first, n;      /* Bits 'first' to 'first + n - 1'. */
};

struct adp_log_layout {
    struct adp_log_bits table;          /* That decided. */
    struct adp_log_bits disposition;
    struct adp_log_bits denied;         /* By a rule, not by isolation. */
    uint8_t denied_rule;                /* Registers with rules' IDs: of one */
    uint8_t rule[2];                    /* that denies; that lets pass, by
                                         * direction ([1]: ingress). */
    uint8_t first_ingress_table;        /* Those before are for egress. */
};

/* Without padding: equal items are equal byte for byte. */
struct adp_log_item {
    uint32_t rule;              /* Its conjunction ID; 0: isolation. */
    uint16_t priority;          /* Of the flow that decided. */
    uint8_t table_id;
    uint8_t disposition;        /* enum adp_log_disposition. */
    uint8_t ingress;
    uint8_t n_cts;              /* ct()s before: what the packet looks like. */
    uint8_t zero[2];
};

/* Rules that one packet can meet: for egress and for ingress one that passes
 * and one that decides. */
#define ADP_MAX_LOG_ITEMS 4

/* All but 'priority' and 'n_cts', which it leaves 0. */
void adp_log_item_init(struct adp_log_item *, const struct adp_log_layout *,
                       const struct flow *);
/* Does the item deny? */
bool adp_log_item_denies(const struct adp_log_item *);

#endif /* adp-log-item.h */
