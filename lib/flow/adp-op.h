/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_OP_H
#define ADP_OP_H 1

/* Op lists: the actions of a flow or bucket as decide() executes them.
 *
 * An op list is translated once from OpenFlow actions (ofpacts) and then
 * immutable.  Translation decides for each action which op carries it out, or
 * that no op can: then it becomes ADP_OP_PUNT with the reason.  Every action
 * has an op, so translation never fails.
 *
 * An op's operands stay in the ofpact that it came from; the list owns a copy
 * of all of them.
 *
 * Thread-safety: immutable after adp_op_list_init().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "adp-punt.h"
#include "openvswitch/types.h"
#include "util.h"

struct flow;
struct flow_wildcards;
struct ofpact;
struct ofpact_fin_timeout;

/* X(SYMBOL, "what it does"). */
#define ADP_OPS                                                             \
    X(SET_WORD, "set bits of a register or of metadata")                    \
    X(MODIFY, "change fields of the flow in place")                         \
    X(DEC_TTL, "decrement the TTL; punt the packet that it kills")          \
    X(OUTPUT, "send to a port, but never back to the input port")           \
    X(OUTPUT_IN_PORT, "send to the input port")                             \
    X(OUTPUT_REG, "send to the port whose number a field holds")            \
    X(GROUP, "do what a group says")                                        \
    X(TABLE, "look up in a table, do what the rule says, come back")        \
    X(CT, "conntrack")                                                      \
    X(CT_CLEAR, "forget what conntrack said")                               \
    X(CLONE, "do the nested ops on a copy of the packet")                   \
    X(LEARN, "ask for a new flow")                                          \
    X(METER, "drop the packet if it exceeds a meter")                       \
    X(CONTROLLER, "send a copy to the controller")                          \
    X(EXIT, "do nothing more with the packet")                              \
    X(PUNT, "leave the packet to the stock path")

enum adp_op_code {
#define X(SYMBOL, TEXT) ADP_OP_##SYMBOL,
    ADP_OPS
#undef X
};

/* Highest table that packets can be sent to: above it are a table that is
 * OpenFlow's own and the number that stands for "all". */
#define ADP_LAST_TABLE 253

/* In place of a table number: the table that the packet is in. */
#define ADP_OP_TABLE_SAME 255

struct adp_op {
    enum adp_op_code code;
    union {
        enum adp_punt punt;         /* PUNT. */
        struct {                    /* TABLE. */
            uint8_t table_id;       /* Or ADP_OP_TABLE_SAME. */
            bool with_ct_orig;      /* Match on the original tuple. */
            bool heeds_miss;        /* A miss is what the table says. */
            ofp_port_t in_port;     /* OFPP_IN_PORT: as it is. */
        };
        ofp_port_t port;            /* OUTPUT. */
        uint32_t meter_id;          /* METER: the datapath's number. */
        struct {                    /* CONTROLLER. */
            uint16_t controller_id;
            uint16_t max_len;
            uint8_t reason;         /* OFPR_*. */
        };
        struct {                    /* SET_WORD. */
            uint16_t word;          /* Of struct flow, as uint32_ts. */
            uint32_t value, mask;
        };
    };
    const struct ofpact *ofpact;    /* Inside the list's copy. */
    struct adp_op_list *nested;     /* CLONE. */
};

struct adp_op_list {
    struct ofpact *ofpacts;         /* All actions. */
    struct adp_op *ops;
    uint32_t ofpacts_len;
    uint32_t n_ops : 20;            /* Actions without effect have no op. */
    enum adp_punt punt : 8;         /* Of the first PUNT within, if any. */
    bool borrows : 1;               /* The actions are somebody else's. */
    bool lodges : 1;                /* The room for ops is, too. */
};
BUILD_ASSERT_DECL(ADP_N_PUNTS < 1 << 7);

void adp_op_list_init(struct adp_op_list *, const struct ofpact *,
                      size_t ofpacts_len);
/* The same for an action set, such as a bucket's. */
void adp_op_list_init_set(struct adp_op_list *, const struct ofpact *,
                          size_t ofpacts_len);
/* The same with the ops in 'room', which is for as many as adp_op_list_room()
 * says.  If the list 'borrows' the actions, without a copy of them; they must
 * outlive it then, as 'room' must. */
size_t adp_op_list_room(const struct ofpact *, size_t ofpacts_len);
void adp_op_list_init_in(struct adp_op_list *, const struct ofpact *,
                         size_t ofpacts_len, bool borrows,
                         struct adp_op *room);
void adp_op_list_uninit(struct adp_op_list *);

/* The first fin_timeout() after 'previous', or of all if that is NULL, that
 * each packet gets to which the actions are for.  It has no op: who credits
 * the flow sees to its timeouts.  NULL if there is none (more). */
const struct ofpact_fin_timeout *adp_op_next_fin_timeout(
    const struct ofpact *, size_t ofpacts_len,
    const struct ofpact_fin_timeout *previous);

/* Makes 'op' the one for output to 'port', of at most 'max_len' bytes if that
 * is the controller.  Returns false if that does nothing. */
bool adp_op_init_output(struct adp_op *, ofp_port_t, uint16_t max_len);

/* If 'a' sets bits in one 32-bit word of what OpenFlow keeps beside the
 * packet, sets 'op' to that and returns true. */
bool adp_op_init_set_word(struct adp_op *, const struct ofpact *a);

/* Carries out an action that only changes fields: that of ADP_OP_SET_WORD or
 * ADP_OP_MODIFY, or one inside ct(exec()).  Marks in 'wc' what it reads and
 * writes. */
void adp_op_modify(const struct ofpact *, struct flow *,
                   struct flow_wildcards *wc);

#endif /* adp-op.h */
