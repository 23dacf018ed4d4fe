/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-show-store.h"

#include <stdlib.h>

#include "adp-disk.h"
#include "adp-state-disk.h"
#include "adp-state.h"
#include "openvswitch/json.h"
#include "timeval.h"
#include "util.h"

static void
put_count(struct json *o, const char *name, uint64_t value)
{
    json_object_put(o, name, json_integer_create(value));
}

static void
put_stats(struct json *o, struct adp_disk *disk)
{
    struct adp_disk_stats stats;

    adp_disk_get_stats(disk, &stats);
    put_count(o, "generation", stats.generation);
    put_count(o, "bytes", stats.bytes);
    put_count(o, "written", stats.written);
    put_count(o, "transactions", stats.n_transactions);
    put_count(o, "groups", stats.n_groups);
    put_count(o, "snapshots", stats.n_snapshots);
    put_count(o, "failed", stats.n_failed);
    if (stats.last_write) {
        put_count(o, "last_write_ms_ago",
                  MAX(0, time_wall_msec() - stats.last_write));
    }
    if (stats.error) {
        json_object_put_string(o, "error", stats.error);
        free(stats.error);
    }
}

struct json *
adp_show_store(const struct adp_state *state)
{
    const struct adp_state_disk *sd = adp_state_get_disk(state);
    const char *error = adp_state_restore_error(state);
    struct json *o;

    if (!sd) {
        return NULL;
    }
    o = json_object_create();
    json_object_put_string(o, "folder", adp_state_disk_folder(sd));
    if (adp_state_is_closed(state)) {
        json_object_put_string(o, "closed", (error ? error
                                             : "it is being restored"));
        json_object_put(o, "failed_to_restore",
                        json_boolean_create(error != NULL));
    }
    if (adp_state_disk_get(sd)) {
        put_stats(o, adp_state_disk_get(sd));
    }
    return o;
}
