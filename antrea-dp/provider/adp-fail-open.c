/* SPDX-License-Identifier: Apache-2.0 */

/* Bridges with a built-in pipeline, or that are to have one, don't fail open.
 *
 * In fail mode "standalone" upstream flushes a bridge whose controllers can't
 * be reached, and puts NORMAL above all flows that come then.  A pipeline
 * forwards without a controller, and nothing may pass it by.  So upstream is
 * told that such a bridge never lost its controllers (--wrap, in
 * automake.mk): __wrap_F() is called for F(), __real_F() is upstream's.  Only
 * what makes a bridge fail open asks. */

#include <config.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge-shared.h"
#include "ofproto/connmgr.h"

int __real_connmgr_failure_duration(const struct connmgr *);
int __wrap_connmgr_failure_duration(const struct connmgr *);

static bool
has_pipeline(const struct connmgr *mgr)
{
    const struct adp_bridge *b;

    LIST_FOR_EACH (b, list_node, &adp_bridges) {
        if (b->dpif.up.connmgr == mgr) {
            return adp_bridge_pipeline(b) || adp_bridge_awaits_pipeline(b);
        }
    }
    return false;
}

int
__wrap_connmgr_failure_duration(const struct connmgr *mgr)
{
    /* Less than zero, since without probes zero is long enough. */
    return has_pipeline(mgr) ? -1 : __real_connmgr_failure_duration(mgr);
}
