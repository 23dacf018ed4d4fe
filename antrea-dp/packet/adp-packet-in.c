/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-packet-in.h"

#include "adp-bridge-shared.h"
#include "adp-decide.h"
#include "adp-offload.h"
#include "dp-hooks.h"
#include "dp-packet.h"
#include "flow.h"
#include "ofproto/connmgr.h"
#include "ofproto/ofproto-dpif.h"
#include "util.h"

/* Controllers get whole checksums.  The caller frees it. */
static void *
copy_data(const struct dp_packet *packet)
{
    if (OVS_LIKELY(!adp_offload_is_due(packet))) {
        return xmemdup(dp_packet_data(packet), dp_packet_size(packet));
    }
    struct dp_packet *copy = dp_packet_clone(packet);

    adp_offload_complete(copy);
    void *data = dp_packet_steal_data(copy);

    dp_packet_delete(copy);
    return data;
}

static struct ofproto_async_msg *
message(const struct adp_packet_in *pin, const struct dp_packet *packet)
{
    struct ofproto_async_msg *am = xzalloc(sizeof *am);
    struct ofputil_packet_in *base = &am->pin.up.base;

    am->controller_id = pin->controller_id;
    am->oam = OAM_PACKET_IN;
    am->pin.max_len = pin->max_len;
    base->packet = copy_data(packet);
    base->packet_len = dp_packet_size(packet);
    base->reason = pin->reason;
    base->table_id = pin->table_id;
    base->cookie = pin->cookie;
    if (pin->userdata_len) {
        base->userdata = xmemdup(pin->userdata, pin->userdata_len);
        base->userdata_len = pin->userdata_len;
    }
    flow_get_metadata(&pin->flow, &base->flow_metadata);
    return am;
}

void
adp_packet_in_send(struct adp_bridge *b, struct dp_netdev_pmd_thread *pmd,
                   const struct adp_packet_in *pin,
                   const struct dp_packet *packet, bool last)
{
    bool metered = pin->meter_id != UINT32_MAX;

    if (metered && !dp_pmd_meter_copy(pmd, packet, pin->meter_id)) {
        return;
    }
    if (metered || last) {
        /* To upstream the packet, or its copy behind the meter, ends with an
         * upcall that has no actions for it. */
        dp_count_sent_to_controller();
    }
    ofproto_dpif_send_async_msg(&b->dpif, message(pin, packet));
}
