/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-catch.h"

#include <stdlib.h>
#include <string.h>

#include "adp-bridge.h"
#include "adp-catch.h"
#include "adp-show.h"
#include "openvswitch/json.h"
#include "openvswitch/match.h"
#include "openvswitch/poll-loop.h"
#include "timeval.h"
#include "util.h"

char *
adp_control_catch_begin(struct adp_control_catch *c, struct adp_bridge *b,
                        const char *in_port, const char *flow,
                        const char **code)
{
    /* Neither a port nor a bridge has a line's end in its name. */
    char *what = xasprintf("%s\n%s\n%s", adp_bridge_name(b),
                           in_port ? in_port : "", flow ? flow : "");
    struct match match;

    if (c->catch && adp_catch_bridge(c->catch) == b
        && !strcmp(c->what, what)) {
        free(what);
        return NULL;
    }

    adp_control_catch_end(c);
    char *reason = adp_show_parse_match(b, in_port, flow, &match);
    *code = "invalid";
    if (!reason) {
        c->catch = adp_catch_create(b, &match);
        if (c->catch) {
            c->what = what;
            return NULL;
        }
        *code = "limit";
        reason = xasprintf("another client waits for a packet of bridge %s",
                           adp_bridge_name(b));
    }
    free(what);
    return reason;
}

void
adp_control_catch_end(struct adp_control_catch *c)
{
    adp_catch_destroy(c->catch);
    free(c->what);
    *c = (struct adp_control_catch) { .catch = NULL };
}

struct json *
adp_control_catch_result(struct adp_control_catch *c, long long int wait_ms)
{
    const struct adp_caught *caught = adp_catch_get(c->catch);
    long long int now = time_msec();
    struct json *result;

    if (caught) {
        result = adp_show_caught(adp_catch_bridge(c->catch), caught);
        adp_control_catch_end(c);
        return result;
    }

    c->deadline = c->deadline ? c->deadline : now + wait_ms;
    if (now < c->deadline) {
        adp_catch_wait(c->catch);
        poll_timer_wait_until(c->deadline);
        return NULL;
    }
    c->deadline = 0;
    c->ends = now + ADP_CONTROL_CATCH_LINGER_MS;
    result = json_object_create();
    json_object_put(result, "waiting", json_boolean_create(true));
    return result;
}

void
adp_control_catch_run(struct adp_control_catch *c)
{
    if (c->catch && !c->deadline) {
        if (time_msec() >= c->ends) {
            adp_control_catch_end(c);
        } else {
            poll_timer_wait_until(c->ends);
        }
    }
}
