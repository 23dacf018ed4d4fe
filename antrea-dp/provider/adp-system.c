/* SPDX-License-Identifier: Apache-2.0 */

/* The datapath type "system" as another name of ours.
 *
 * Of upstream's, two functions know names of datapaths, and commands that
 * trace packets know them by themselves (adp-commands.c).  The linker puts
 * functions of ours between the former and who calls them (--wrap, in
 * automake.mk): __wrap_F() is called for F(), __real_F() is upstream's. */

#include <config.h>
#include "adp-system.h"

#include <stdlib.h>
#include <string.h>

#include "adp-bridge-shared.h"
#include "dpif.h"
#include "openvswitch/vlog.h"
#include "sset.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_system);

#define SYSTEM_DATAPATH "ovs-" ADP_SYSTEM_TYPE

int __real_dp_enumerate_names(const char *type, struct sset *names);
int __wrap_dp_enumerate_names(const char *type, struct sset *names);
void __real_dp_parse_name(const char *arg, char **name, char **type);
void __wrap_dp_parse_name(const char *arg, char **name, char **type);

static const char *base_type;
static bool ours;
static bool configured;         /* The latest that was asked for. */

void
adp_system_init(const char *base_type_)
{
    base_type = base_type_;
}

bool
adp_system_is_ours(void)
{
    return ours;
}

/* Whoever's they are. */
static bool
has_system_bridges(void)
{
    struct sset names = SSET_INITIALIZER(&names);

    ofproto_dpif_class.enumerate_names(ADP_SYSTEM_TYPE, &names);
    bool any = !sset_is_empty(&names);
    sset_destroy(&names);
    return any;
}

void
adp_system_configure(bool wanted)
{
    bool changed = wanted != configured;

    configured = wanted;
    if (wanted == ours) {
        return;
    }
    if (has_system_bridges()) {
        if (changed) {
            VLOG_WARN("Open_vSwitch: other_config:"ADP_SYSTEM_KEY": bridges "
                      "of type "ADP_SYSTEM_TYPE" stay what they are, and so "
                      "does the type until none is left or ovs-vswitchd is "
                      "restarted");
        }
        return;
    }
    ours = wanted;
    VLOG_INFO("bridges of type "ADP_SYSTEM_TYPE" are %s",
              ours ? "of type antrea, without a built-in pipeline"
              : "the kernel's");
}

/* Names of datapaths. */

int
__wrap_dp_enumerate_names(const char *type, struct sset *names)
{
    if (ours && !strcmp(type, ADP_SYSTEM_TYPE)) {
        /* That one has its own name already. */
        sset_clear(names);
        return 0;
    }
    return __real_dp_enumerate_names(type, names);
}

void
__wrap_dp_parse_name(const char *arg, char **name, char **type)
{
    __real_dp_parse_name(arg, name, type);
    if (ours && !strcmp(*type, ADP_SYSTEM_TYPE)
        && !strcmp(*name, SYSTEM_DATAPATH)) {
        free(*name);
        free(*type);
        *name = xasprintf("ovs-%s", base_type);
        *type = xstrdup(base_type);
    }
}

/* Commands' arguments. */

char *
adp_system_real_name(const char *arg)
{
    return (ours && !strcmp(arg, SYSTEM_DATAPATH)
            ? xasprintf("ovs-%s", base_type) : xstrdup(arg));
}
