/* SPDX-License-Identifier: Apache-2.0 */

/* Recirculation IDs of a bridge that goes.
 *
 * When a bridge is deleted upstream looks for IDs that somebody still holds,
 * and says that they were left allocated.  Translations into tunnels that have
 * it for their underlay hold some.
 *
 * So the linker puts this between (--wrap, in automake.mk). */

#include <config.h>

#include "adp-bridge.h"
#include "adp-tunnel.h"
#include "ofproto/ofproto-dpif-rid.h"

__typeof__(recirc_free_ofproto) __real_recirc_free_ofproto;
__typeof__(recirc_free_ofproto) __wrap_recirc_free_ofproto;

void
__wrap_recirc_free_ofproto(struct ofproto_dpif *ofproto, const char *name)
{
    struct adp_bridge *b = NULL;

    while ((b = adp_bridge_next(b)) != NULL) {
        adp_tunnels_release_recircs(b);
    }
    __real_recirc_free_ofproto(ofproto, name);
}
