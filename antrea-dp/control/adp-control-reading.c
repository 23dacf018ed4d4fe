/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-control-reading.h"

#include <stdlib.h>

#include "adp-bridge-pipeline.h"
#include "adp-bridge.h"
#include "adp-state.h"
#include "openvswitch/list.h"
#include "openvswitch/poll-loop.h"
#include "util.h"

struct adp_control_reading {
    const struct adp_control_reading_class *class;
    unsigned int n_refs;        /* The client's and the state's. */
    struct ovs_list node;       /* In 'awaited', while the client waits. */
    char *bridge_name;          /* It may be gone before reading begins. */
    struct adp_bridge *bridge;  /* That is read. */
    void *aux;
    bool has_begun;             /* The class's begin() was called. */
    bool begun, ended;
};

static struct ovs_list awaited = OVS_LIST_INITIALIZER(&awaited);

struct adp_control_reading *
adp_control_reading_create(const struct adp_control_reading_class *class,
                           const struct adp_bridge *b, void *aux)
{
    struct adp_control_reading *reading = xzalloc(sizeof *reading);

    reading->class = class;
    reading->n_refs = 1;
    reading->bridge_name = xstrdup(adp_bridge_name(b));
    reading->aux = aux;
    ovs_list_push_back(&awaited, &reading->node);
    return reading;
}

static void
unref(struct adp_control_reading *reading)
{
    if (!--reading->n_refs) {
        reading->class->destroy(reading->aux);
        free(reading->bridge_name);
        free(reading);
    }
}

void
adp_control_reading_leave(struct adp_control_reading *reading)
{
    if (reading) {
        ovs_list_remove(&reading->node);
        unref(reading);
    }
}

/* The bridge, if it can be read. */
static struct adp_bridge *
find_bridge(const struct adp_control_reading *reading)
{
    struct adp_bridge *b = adp_bridge_lookup(reading->bridge_name);

    return (b && (adp_bridge_state(b) || !reading->class->needs_state)
            ? b : NULL);
}

bool
adp_control_reading_is_lost(const struct adp_control_reading *reading)
{
    return !reading->begun && !find_bridge(reading);
}

static void
read_slices(void *reading_)
{
    struct adp_control_reading *reading = reading_;

    reading->class->read(reading->bridge, reading->aux);
}

static void
end_slices(void *reading_)
{
    struct adp_control_reading *reading = reading_;

    reading->ended = true;
    unref(reading);
}

static bool
may_begin(const struct adp_control_reading *reading)
{
    const struct adp_bridge *b = reading->begun ? NULL : find_bridge(reading);
    const struct adp_state *state = b ? adp_bridge_state(b) : NULL;

    return (b && reading->class->may_begin(b, reading->aux)
            && (!state || !adp_state_is_large(state)
                || adp_state_may_be_read(state)));
}

/* Begins to read, if the state permits, or does all of it. */
static void
begin(struct adp_control_reading *reading)
{
    struct adp_bridge *b = find_bridge(reading);
    struct adp_state *state = adp_bridge_state(b);

    if (!reading->has_begun && reading->class->begin) {
        reading->class->begin(b, reading->aux);
    }
    reading->has_begun = true;
    reading->bridge = b;
    if (!state || !adp_state_is_large(state)) {
        reading->class->read(b, reading->aux);
        reading->begun = reading->ended = true;
    } else if (adp_state_read(state, read_slices, end_slices, reading)) {
        reading->n_refs++;
        reading->begun = true;
    }
}

bool
adp_control_reading_run(struct adp_control_reading *reading,
                        struct json **result, struct adp_error **errorp)
{
    if (may_begin(reading)) {
        begin(reading);
    }
    if (reading->ended) {
        *result = reading->class->take(reading->aux, errorp);
    }
    return reading->ended;
}

void
adp_control_readings_wait(void)
{
    const struct adp_control_reading *reading;

    LIST_FOR_EACH (reading, node, &awaited) {
        if (reading->ended || may_begin(reading)) {
            poll_immediate_wake();
        }
    }
}
