/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-bridge.h"

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "model.h"
#include "openvswitch/dynamic-string.h"
#include "util.h"

/* Appends the names of all bridges. */
static void
list_bridges(struct ds *s)
{
    for (const struct adp_bridge *bridge = adp_bridge_next(NULL); bridge;
         bridge = adp_bridge_next(bridge)) {
        ds_put_format(s, "%s%s", s->length ? ", " : "",
                      adp_bridge_name(bridge));
    }
}

static struct adp_error *
no_bridge_error(const char *name)
{
    struct adp_error *error;

    if (name) {
        error = adp_error_create("bridge", NULL, xstrdup("bridge"),
                                 "there is no bridge \"%s\" of type antrea",
                                 name);
    } else if (!adp_bridge_next(NULL)) {
        error = adp_error_create("bridge", NULL, xstrdup("bridge"),
                                 "there is no bridge of type antrea");
    } else {
        struct ds s = DS_EMPTY_INITIALIZER;

        list_bridges(&s);
        error = adp_error_create("bridge", NULL, xstrdup("bridge"),
                                 "must be given, because there are several: "
                                 "%s", ds_cstr(&s));
        ds_destroy(&s);
    }
    return error;
}

struct adp_bridge *
adp_control_find_bridge(const char *name, bool need_state,
                        struct adp_error **errorp)
{
    struct adp_bridge *bridge = (name
                                 ? adp_bridge_lookup(name)
                                 : adp_bridge_only());

    *errorp = NULL;
    if (!bridge) {
        *errorp = no_bridge_error(name);
    } else if (need_state && !adp_bridge_state(bridge)) {
        const char *why = adp_bridge_pipeline_error(bridge);

        *errorp = adp_error_create("bridge", NULL, xstrdup("bridge"),
                                   "bridge \"%s\" has no built-in pipeline "
                                   "(%s)", adp_bridge_name(bridge),
                                   why ? why
                                   : "other_config:antrea-dp-pipeline=none");
        bridge = NULL;
    }
    return bridge;
}
