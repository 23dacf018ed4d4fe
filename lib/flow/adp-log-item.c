/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-log-item.h"

#include <string.h>
#include "flow.h"
#include "util.h"

const char *
adp_log_disposition_to_string(enum adp_log_disposition disposition)
{
    static const char *const names[ADP_N_LOG_DISPOSITIONS] = {
        [ADP_LOG_ALLOW] = "Allow",
        [ADP_LOG_DROP] = "Drop",
        [ADP_LOG_REJECT] = "Reject",
        [ADP_LOG_PASS] = "Pass",
    };

    return names[disposition];
}

static uint32_t
read_bits(const struct adp_log_bits *bits, const struct flow *flow)
{
    return (flow->regs[bits->reg] >> bits->first
            & ((UINT64_C(1) << bits->n) - 1));
}

void
adp_log_item_init(struct adp_log_item *item,
                  const struct adp_log_layout *layout, const struct flow *flow)
{
    memset(item, 0, sizeof *item);
    item->table_id = read_bits(&layout->table, flow);
    item->disposition = (read_bits(&layout->disposition, flow)
                         % ADP_N_LOG_DISPOSITIONS);
    item->ingress = item->table_id >= layout->first_ingress_table;
    if (!adp_log_item_denies(item)) {
        item->rule = flow->regs[layout->rule[item->ingress]];
    } else if (read_bits(&layout->denied, flow)) {
        item->rule = flow->regs[layout->denied_rule];
    }
}

bool
adp_log_item_denies(const struct adp_log_item *item)
{
    return (item->disposition == ADP_LOG_DROP
            || item->disposition == ADP_LOG_REJECT);
}
