/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-log-dedup.h"

#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "util.h"

struct waiting {
    struct hmap_node node;              /* In 'by_text'. */
    struct ovs_list list_node;          /* In 'in_order'. */
    struct adp_log_line line;
    uint64_t first_us;
    uint64_t n_packets;
};

struct adp_log_dedup {
    struct hmap by_text;
    struct ovs_list in_order;           /* By 'first_us'. */
    adp_log_dedup_cb *cb;
    void *aux;
};

struct adp_log_dedup *
adp_log_dedup_create(adp_log_dedup_cb *cb, void *aux)
{
    struct adp_log_dedup *d = xmalloc(sizeof *d);

    hmap_init(&d->by_text);
    ovs_list_init(&d->in_order);
    d->cb = cb;
    d->aux = aux;
    return d;
}

static void
pass_on(struct adp_log_dedup *d, struct waiting *w, uint64_t now_us)
{
    d->cb(&w->line, now_us, w->n_packets,
          now_us > w->first_us ? now_us - w->first_us : 0, d->aux);
    hmap_remove(&d->by_text, &w->node);
    ovs_list_remove(&w->list_node);
    free(w->line.text);
    free(w);
}

void
adp_log_dedup_destroy(struct adp_log_dedup *d, uint64_t now_us)
{
    struct waiting *w;

    LIST_FOR_EACH_SAFE (w, list_node, &d->in_order) {
        pass_on(d, w, now_us);
    }
    hmap_destroy(&d->by_text);
    free(d);
}

void
adp_log_dedup_add(struct adp_log_dedup *d, struct adp_log_line *line,
                  uint64_t time_us)
{
    uint32_t hash = hash_string(line->text, 0);
    struct waiting *w;

    HMAP_FOR_EACH_WITH_HASH (w, node, hash, &d->by_text) {
        if (!strcmp(w->line.text, line->text)) {
            w->n_packets++;
            free(line->text);
            return;
        }
    }
    if (hmap_count(&d->by_text) >= ADP_LOG_DEDUP_MAX) {
        d->cb(line, time_us, 1, 0, d->aux);
        free(line->text);
        return;
    }
    w = xmalloc(sizeof *w);
    w->line = *line;
    w->first_us = time_us;
    w->n_packets = 1;
    hmap_insert(&d->by_text, &w->node, hash);
    ovs_list_push_back(&d->in_order, &w->list_node);
}

static struct waiting *
first_waiting(const struct adp_log_dedup *d)
{
    return (ovs_list_is_empty(&d->in_order) ? NULL
            : CONTAINER_OF(ovs_list_front(&d->in_order), struct waiting,
                           list_node));
}

void
adp_log_dedup_run(struct adp_log_dedup *d, uint64_t now_us)
{
    struct waiting *w;

    /* A line of the future is one of before the clock was set back. */
    while ((w = first_waiting(d)) != NULL
           && (now_us >= w->first_us + ADP_LOG_DEDUP_US
               || now_us < w->first_us)) {
        pass_on(d, w, now_us);
    }
}

uint64_t
adp_log_dedup_next_us(const struct adp_log_dedup *d)
{
    const struct waiting *w = first_waiting(d);

    return w ? w->first_us + ADP_LOG_DEDUP_US : UINT64_MAX;
}

size_t
adp_log_dedup_count(const struct adp_log_dedup *d)
{
    return hmap_count(&d->by_text);
}
