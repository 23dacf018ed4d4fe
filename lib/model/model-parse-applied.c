/* SPDX-License-Identifier: Apache-2.0 */

/* Records that apply to Pods and are no policies. */

#include <config.h>
#include "model-parse.h"

#include <stdlib.h>
#include <string.h>

#include "util.h"

/* Egress. */

/* With a smaller burst no frame of a common size would ever pass. */
#define MIN_BURST_KBITS 12

static void
parse_bandwidth(struct adp_object *o, struct adp_bandwidth *bandwidth)
{
    const struct json *json = adp_object_typed(o, "bandwidth", JSON_OBJECT,
                                               ADP_OPTIONAL);
    struct adp_object b;

    if (json) {
        size_t mark = adp_reader_enter(o->reader, "bandwidth");

        adp_object_open(&b, o->reader, json);
        bandwidth->rate = adp_object_integer(&b, "rateKbps", 1, UINT32_MAX,
                                             ADP_REQUIRED, 0);
        bandwidth->burst = adp_object_integer(&b, "burstKbits",
                                              MIN_BURST_KBITS, UINT32_MAX,
                                              ADP_REQUIRED, 0);
        adp_object_close(&b);
        adp_reader_leave(o->reader, mark);
    }
}

struct adp_record *
adp_parse_egress(struct adp_object *o)
{
    struct adp_egress *egress = xzalloc(sizeof *egress);

    adp_object_names(o, "appliedToGroups", ADP_REQUIRED, &egress->applied_to);
    adp_object_host_ip(o, "egressIP", ADP_REQUIRED, &egress->ip);
    egress->node = nullable_xstrdup(adp_object_string(o, "egressNode",
                                                      ADP_OPTIONAL));
    parse_bandwidth(o, &egress->bandwidth);
    return &egress->up;
}

void
adp_free_egress(struct adp_record *record)
{
    struct adp_egress *egress = CONTAINER_OF(record, struct adp_egress, up);

    adp_names_uninit(&egress->applied_to);
    free(egress->node);
    free(egress);
}

/* TrafficControl. */

struct adp_record *
adp_parse_traffic_control(struct adp_object *o)
{
    static const char *const directions[] = {
        "Ingress", "Egress", "Both", NULL
    };
    static const char *const actions[] = { "Mirror", "Redirect", NULL };
    struct adp_traffic_control *tc = xzalloc(sizeof *tc);

    adp_object_names(o, "appliedToGroups", ADP_REQUIRED, &tc->applied_to);
    int direction = adp_object_choice(o, "direction", directions, -1);
    tc->directions[true] = direction != 1;
    tc->directions[false] = direction != 0;
    tc->redirect = adp_object_choice(o, "action", actions, -1) == 1;
    tc->target_port = nullable_xstrdup(adp_object_string(o, "targetPort",
                                                         ADP_REQUIRED));
    tc->return_port = nullable_xstrdup(adp_object_string(o, "returnPort",
                                                         ADP_OPTIONAL));

    struct adp_reader *r = o->reader;
    if (tc->redirect && !tc->return_port) {
        adp_reader_error_at(r, "returnPort",
                            "is missing: what is redirected must come back");
    } else if (!tc->redirect && tc->return_port) {
        adp_reader_error_at(r, "returnPort",
                            "goes with the action Redirect only");
    } else if (nullable_string_is_equal(tc->target_port, tc->return_port)) {
        adp_reader_error_at(r, "returnPort", "\"%s\" is the target port",
                            tc->return_port);
    }
    return &tc->up;
}

void
adp_free_traffic_control(struct adp_record *record)
{
    struct adp_traffic_control *tc
        = CONTAINER_OF(record, struct adp_traffic_control, up);

    adp_names_uninit(&tc->applied_to);
    free(tc->target_port);
    free(tc->return_port);
    free(tc);
}
