/* SPDX-License-Identifier: Apache-2.0 */

/* As many neighbours of LLDP as a port may have.
 *
 * Where LLDP is enabled upstream keeps each that a packet names, until the
 * port goes, and looks for it among all.  It has a limit, but nothing sets it.
 * So the linker puts this between (--wrap, in automake.mk). */

#include <config.h>

#include "ovs-lldp.h"

__typeof__(lldp_process_packet) __real_lldp_process_packet;
__typeof__(lldp_process_packet) __wrap_lldp_process_packet;

/* As lldpd's default.  What comes beyond isn't kept. */
enum { LLDP_MAX_NEIGHBORS = 32 };

void
__wrap_lldp_process_packet(struct lldp *lldp, const struct dp_packet *packet)
{
    if (lldp && !lldp->lldpd->g_config.c_max_neighbors) {
        lldp->lldpd->g_config.c_max_neighbors = LLDP_MAX_NEIGHBORS;
    }
    __real_lldp_process_packet(lldp, packet);
}
