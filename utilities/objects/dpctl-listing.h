/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_LISTING_H
#define DPCTL_LISTING_H 1

/* The lists of one feed: what of a kind is there, so that what isn't listed
 * is known to have gone.
 *
 * A list comes in pages of one version; or it is what a watch with
 * sendInitialEvents begins with: ADDED events up to a bookmark.  Memory: the
 * names in one list of each kind, DPCTL_LISTING_MAX of them at most. */

#include <stdbool.h>
#include "dpctl-kind.h"
#include "sset.h"

/* As many records as the daemon may have. */
enum { DPCTL_LISTING_MAX = 1000000 };

struct dpctl_listing {
    struct {
        bool running;           /* More of it is to come. */
        bool overflow;          /* More names than we keep. */
        bool told;              /* There was a whole one. */
        char *version;          /* Of the list that is running, or was
                                 * last. */
        struct sset names;      /* Manifests'. */
    } of[DPCTL_N_KINDS];
    bool begun;                 /* The feed is beyond initial events. */
};

void dpctl_listing_init(struct dpctl_listing *);
void dpctl_listing_destroy(struct dpctl_listing *);

/* A page of a list, of 'version' (may be NULL), begins. */
void dpctl_listing_page(struct dpctl_listing *, enum dpctl_kind_id,
                        const char *version);
/* An ADDED event that may be an initial one. */
void dpctl_listing_initial(struct dpctl_listing *, enum dpctl_kind_id);
/* Any other event: there are no more initial ones. */
void dpctl_listing_begun(struct dpctl_listing *);

/* Such an object is in the list that is running, if one is. */
void dpctl_listing_see(struct dpctl_listing *, enum dpctl_kind_id,
                       const char *manifest);

/* The list is complete.  Returns false if it tells nothing about what isn't
 * in it. */
bool dpctl_listing_end(struct dpctl_listing *, enum dpctl_kind_id);

/* Has the list told what an event of that version does? */
bool dpctl_listing_is_older(const struct dpctl_listing *, enum dpctl_kind_id,
                            const char *version);

#endif /* dpctl-listing.h */
