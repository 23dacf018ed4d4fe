/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-state-disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "adp-disk.h"
#include "dirs.h"
#include "model-patch.h"
#include "model-pause.h"
#include "model.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "util.h"
#include "uuid.h"

VLOG_DEFINE_THIS_MODULE(adp_state_disk);

struct adp_state_disk {
    char *folder;
    struct adp_disk_position position; /* Of what was read. */
    struct adp_disk *disk;      /* NULL: it wasn't read yet. */
};

static bool keeps;

void
adp_state_disk_configure(bool keep)
{
    keeps = keep;
}

static char *
folder_of(const char *bridge, const struct uuid *uuid)
{
    return xasprintf("%s/antrea-dp/%.64s-"UUID_FMT, ovs_dbdir(), bridge,
                     UUID_ARGS(uuid));
}

struct adp_state_disk *
adp_state_disk_create_in(const char *folder)
{
    struct adp_state_disk *sd = xzalloc(sizeof *sd);

    sd->folder = xstrdup(folder);
    return sd;
}

struct adp_state_disk *
adp_state_disk_create(const char *bridge, const struct uuid *uuid)
{
    char *folder = folder_of(bridge, uuid);
    struct adp_state_disk *sd = adp_state_disk_create_in(folder);

    free(folder);
    if (!keeps) {
        char *error = adp_state_disk_set_aside(sd);

        if (error) {
            VLOG_ERR("%s", error);
            free(error);
        }
        adp_state_disk_destroy(sd);
        sd = NULL;
    }
    return sd;
}

bool
adp_state_disk_exists(const char *bridge, const struct uuid *uuid)
{
    char *folder = folder_of(bridge, uuid);
    struct adp_state_disk sd = { .folder = folder };
    bool exists = keeps && adp_state_disk_has_state(&sd);

    free(folder);
    return exists;
}

void
adp_state_disk_destroy(struct adp_state_disk *sd)
{
    if (sd) {
        adp_disk_destroy(sd->disk);
        free(sd->folder);
        free(sd);
    }
}

void
adp_state_disk_delete(const char *bridge, const struct uuid *uuid)
{
    char *folder = folder_of(bridge, uuid);
    char *error = adp_disk_folder_delete(folder);

    if (error) {
        VLOG_ERR("%s", error);
        free(error);
    }
    free(folder);
}

const char *
adp_state_disk_folder(const struct adp_state_disk *sd)
{
    return sd->folder;
}

bool
adp_state_disk_has_state(const struct adp_state_disk *sd)
{
    struct stat s;

    /* Of what can't be looked at nobody knows. */
    return !stat(sd->folder, &s) || errno != ENOENT;
}

/* Reading. */

static struct adp_error *
patch(struct adp_model *model, const struct json *patches)
{
    struct json *records;
    struct adp_error *error = adp_model_patch(model, patches, &records);

    if (!error) {
        error = adp_model_apply(model, records, NULL);
        json_destroy(records);
    }
    return error;
}

static char *
carry_out(enum adp_disk_op op, const struct json *array, void *model_)
{
    struct adp_model *model = model_;
    struct adp_error *error = NULL;

    switch (op) {
    case ADP_DISK_CLEAR:
        adp_model_clear(model);
        break;
    case ADP_DISK_DELETE:
        error = adp_model_delete(model, array, true, NULL);
        break;
    case ADP_DISK_PATCH:
        error = patch(model, array);
        break;
    case ADP_DISK_APPLY:
        error = adp_model_apply(model, array, NULL);
        break;
    case ADP_DISK_END:
    default:
        OVS_NOT_REACHED();
    }
    if (error) {
        char *text = xstrdup(error->message);

        adp_error_destroy(error);
        return text;
    }
    return NULL;
}

char *
adp_state_disk_read(struct adp_state_disk *sd, struct adp_model *model,
                    uint64_t *generation)
{
    const struct adp_disk_ops ops = {
        .carry_out = carry_out, .pause = adp_pause, .aux = model,
    };

    adp_model_clear(model);
    char *error = adp_disk_folder_read(sd->folder, &ops, &sd->position);
    *generation = sd->position.generation;
    return error;
}

char *
adp_state_disk_set_aside(struct adp_state_disk *sd)
{
    char *to;
    char *error = adp_disk_folder_set_aside(sd->folder, &to);

    memset(&sd->position, 0, sizeof sd->position);
    if (to) {
        VLOG_WARN("%s was set aside as %s", sd->folder, to);
        free(to);
    }
    return error;
}

void
adp_state_disk_begin(struct adp_state_disk *sd)
{
    sd->disk = adp_disk_create(sd->folder, &sd->position);
}

struct adp_disk *
adp_state_disk_get(const struct adp_state_disk *sd)
{
    return sd ? sd->disk : NULL;
}
