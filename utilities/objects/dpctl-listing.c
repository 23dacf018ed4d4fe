/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-listing.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

void
dpctl_listing_init(struct dpctl_listing *l)
{
    memset(l, 0, sizeof *l);
    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        sset_init(&l->of[i].names);
    }
}

void
dpctl_listing_destroy(struct dpctl_listing *l)
{
    for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
        sset_destroy(&l->of[i].names);
        free(l->of[i].version);
    }
}

static void
begin(struct dpctl_listing *l, enum dpctl_kind_id id, const char *version)
{
    sset_clear(&l->of[id].names);
    free(l->of[id].version);
    l->of[id].version = nullable_xstrdup(version);
    l->of[id].running = true;
    l->of[id].overflow = false;
}

void
dpctl_listing_page(struct dpctl_listing *l, enum dpctl_kind_id id,
                   const char *version)
{
    l->begun = true;
    if (!l->of[id].running
        || !nullable_string_is_equal(l->of[id].version, version)) {
        begin(l, id, version);
    }
}

void
dpctl_listing_initial(struct dpctl_listing *l, enum dpctl_kind_id id)
{
    if (!l->begun && !l->of[id].running) {
        begin(l, id, NULL);
    }
}

void
dpctl_listing_begun(struct dpctl_listing *l)
{
    if (!l->begun) {
        for (size_t i = 0; i < DPCTL_N_KINDS; i++) {
            l->of[i].running = false;
            sset_clear(&l->of[i].names);
        }
    }
    l->begun = true;
}

void
dpctl_listing_see(struct dpctl_listing *l, enum dpctl_kind_id id,
                  const char *manifest)
{
    if (!l->of[id].running || l->of[id].overflow) {
        return;
    }
    sset_add(&l->of[id].names, manifest);
    if (sset_count(&l->of[id].names) > DPCTL_LISTING_MAX) {
        sset_clear(&l->of[id].names);
        l->of[id].overflow = true;
    }
}

bool
dpctl_listing_end(struct dpctl_listing *l, enum dpctl_kind_id id)
{
    bool whole = l->of[id].running && !l->of[id].overflow;

    l->begun = true;
    l->of[id].running = false;
    l->of[id].told |= whole;
    return whole;
}

bool
dpctl_listing_is_older(const struct dpctl_listing *l, enum dpctl_kind_id id,
                       const char *version)
{
    long long int event, list;

    return (version && l->of[id].version && l->of[id].told
            && str_to_llong(version, 10, &event)
            && str_to_llong(l->of[id].version, 10, &list)
            && event <= list);
}
