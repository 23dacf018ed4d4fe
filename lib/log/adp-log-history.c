/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-log-history.h"

#include <stdlib.h>
#include "util.h"

struct adp_log_history {
    uint64_t last;
    struct adp_log_entry *entries[ADP_LOG_HISTORY_SIZE];
};

static void
entry_destroy(struct adp_log_entry *entry)
{
    if (entry) {
        free(entry->line.text);
        free(entry);
    }
}

struct adp_log_history *
adp_log_history_create(void)
{
    return xzalloc(sizeof(struct adp_log_history));
}

void
adp_log_history_destroy(struct adp_log_history *h)
{
    for (size_t i = 0; i < ADP_LOG_HISTORY_SIZE; i++) {
        entry_destroy(h->entries[i]);
    }
    free(h);
}

void
adp_log_history_add(struct adp_log_history *h, const struct adp_log_line *line,
                    uint64_t time_us, uint64_t n_packets, uint64_t duration_us)
{
    struct adp_log_entry *entry = xmalloc(sizeof *entry);
    struct adp_log_entry **place = &h->entries[++h->last
                                               % ADP_LOG_HISTORY_SIZE];

    *entry = (struct adp_log_entry) {
        .number = h->last,
        .time_us = time_us,
        .n_packets = n_packets,
        .duration_us = duration_us,
        .line = *line,
    };
    entry->line.text = xstrdup(line->text);
    entry_destroy(*place);
    *place = entry;
}

uint64_t
adp_log_history_last(const struct adp_log_history *h)
{
    return h->last;
}

const struct adp_log_entry *
adp_log_history_next(const struct adp_log_history *h, uint64_t number)
{
    if (number >= h->last) {
        return NULL;
    }

    uint64_t oldest = (h->last > ADP_LOG_HISTORY_SIZE
                       ? h->last - ADP_LOG_HISTORY_SIZE : 0) + 1;
    return h->entries[MAX(number + 1, oldest) % ADP_LOG_HISTORY_SIZE];
}
