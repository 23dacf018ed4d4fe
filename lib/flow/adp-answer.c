/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-answer.h"

#include <string.h>
#include "flow.h"
#include "openvswitch/ofp-actions.h"
#include "util.h"

void
adp_answers_add(struct adp_answers *answers, const uint8_t *userdata,
                size_t userdata_len, enum adp_answer answer, bool log)
{
    ovs_assert(answers->n < ADP_ANSWERS_MAX
               && userdata_len <= ADP_ANSWER_USERDATA_MAX);
    memcpy(answers->list[answers->n].userdata, userdata, userdata_len);
    answers->list[answers->n].userdata_len = userdata_len;
    answers->list[answers->n].answer = answer;
    answers->list[answers->n].log = log;
    answers->n++;
}

bool
adp_answers_any_told(const struct adp_answers *answers)
{
    for (size_t i = 0; i < answers->n; i++) {
        const struct adp_answer_rule *rule = &answers->list[i];

        if (rule->log || (rule->answer != ADP_ANSWER_HOLD
                          && rule->answer != ADP_ANSWER_READ)) {
            return true;
        }
    }
    return false;
}

const struct adp_answer_rule *
adp_answers_find(const struct adp_answers *answers, const struct ofpact *a)
{
    if (a->type != OFPACT_CONTROLLER) {
        return NULL;
    }

    const struct ofpact_controller *controller = ofpact_get_CONTROLLER(a);
    for (size_t i = 0; i < answers->n; i++) {
        size_t len = answers->list[i].userdata_len;
        bool hold = answers->list[i].answer == ADP_ANSWER_HOLD;

        if (controller->pause == hold && controller->userdata_len == len
            && !memcmp(controller->userdata, answers->list[i].userdata, len)) {
            return &answers->list[i];
        }
    }
    return NULL;
}

void
adp_answer_icmp(enum adp_answer answer, bool ipv6, uint8_t *type,
                uint8_t *code)
{
    static const struct {
        uint8_t type4, code4, type6, code6;
    } errors[] = {
#define X(SYMBOL, TYPE4, CODE4, TYPE6, CODE6) \
        [ADP_ANSWER_##SYMBOL] = { TYPE4, CODE4, TYPE6, CODE6 },
        ADP_ANSWERS
#undef X
    };

    *type = ipv6 ? errors[answer].type6 : errors[answer].type4;
    *code = ipv6 ? errors[answer].code6 : errors[answer].code4;
}

const char *
adp_answer_text(enum adp_answer answer, const struct flow *flow)
{
    bool ipv6 = flow->dl_type == htons(ETH_TYPE_IPV6);

    if (answer == ADP_ANSWER_HOLD) {
        return "waits until the addresses that it tells are in force";
    } else if (answer == ADP_ANSWER_READ) {
        return "is read: who joins or leaves which group";
    } else if (flow->nw_proto == IPPROTO_TCP) {
        return "a TCP reset";
    } else if (answer == ADP_ANSWER_UNREACHABLE) {
        return (ipv6 ? "ICMPv6 \"port unreachable\""
                : "ICMP \"port unreachable\"");
    }
    return (ipv6 ? "ICMPv6 \"administratively prohibited\""
            : "ICMP \"administratively prohibited\"");
}
