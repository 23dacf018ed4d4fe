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

    /* Of a state that is to take the place of what is there. */
    bool is_in_place;
    char *aside;                /* Where that went, or NULL. */
};

static bool keeps;
static bool keeps_what_is_there;

void
adp_state_disk_configure(bool keep, bool is_known)
{
    keeps = keep;
    keeps_what_is_there = keep || !is_known;
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

static void
note_aside(const char *folder, const char *to)
{
    if (to) {
        VLOG_WARN("%s was set aside as %s", folder, to);
    }
}

/* When what is there is read one day it would be out of date. */
static char *
set_aside(const char *folder)
{
    char *to = NULL;
    char *error = adp_disk_folder_recover(folder);

    if (!error) {
        error = adp_disk_folder_set_aside(folder, &to);
    }
    note_aside(folder, to);
    free(to);
    return error;
}

static void
leave(const struct adp_state_disk *sd)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    char *error = adp_state_disk_has_state(sd) ? set_aside(sd->folder) : NULL;

    if (error) {
        VLOG_ERR_RL(&rl, "%s", error);
        free(error);
    }
}

bool
adp_state_disk_is_kept(void)
{
    return keeps_what_is_there;
}

void
adp_state_disk_leave(const char *bridge, const struct uuid *uuid)
{
    char *folder = folder_of(bridge, uuid);
    const struct adp_state_disk sd = { .folder = folder };

    leave(&sd);
    free(folder);
}

struct adp_state_disk *
adp_state_disk_create(const char *bridge, const struct uuid *uuid)
{
    char *folder = folder_of(bridge, uuid);
    struct adp_state_disk *sd = adp_state_disk_create_in(folder);

    free(folder);
    if (!keeps && !(keeps_what_is_there && adp_state_disk_has_state(sd))) {
        leave(sd);
        adp_state_disk_destroy(sd);
        sd = NULL;
    }
    return sd;
}

void
adp_state_disk_destroy(struct adp_state_disk *sd)
{
    if (sd) {
        adp_disk_destroy(sd->disk);
        free(sd->aside);
        free(sd->folder);
        free(sd);
    }
}

/* All that is there of 'from', which may have ended in between. */
static char *
move_files(struct adp_state_disk *sd, const char *from, const char *to)
{
    char *error = set_aside(to);

    if (!error && sd && sd->disk) {
        return adp_disk_move(sd->disk, to);
    }
    if (!error) {
        error = adp_disk_folder_recover(from);
    }
    return error ? error : adp_disk_folder_rename(from, to);
}

char *
adp_state_disk_move(struct adp_state_disk *sd, const char *bridge,
                    const struct uuid *old, const struct uuid *uuid)
{
    char *from = folder_of(bridge, old);
    char *to = folder_of(bridge, uuid);
    char *error = move_files(sd, from, to);

    if (!error && sd) {
        free(sd->folder);
        sd->folder = xstrdup(to);
    }
    free(to);
    free(from);
    return error;
}

void
adp_state_disk_delete(const char *bridge, const struct uuid *uuid)
{
    char *folder = folder_of(bridge, uuid);
    char *error = adp_disk_folder_recover(folder);

    if (!error) {
        error = adp_disk_folder_delete(folder);
    }
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

static bool
may_exist(const char *folder)
{
    struct stat s;

    /* Of what can't be looked at nobody knows. */
    return !stat(folder, &s) || errno != ENOENT;
}

bool
adp_state_disk_has_state(const struct adp_state_disk *sd)
{
    char *new = adp_disk_folder_new_name(sd->folder);
    bool has_state = may_exist(sd->folder) || may_exist(new);

    free(new);
    return has_state;
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
    char *error = adp_disk_folder_recover(sd->folder);
    if (!error) {
        error = adp_disk_folder_read(sd->folder, &ops, &sd->position);
        *generation = sd->position.generation;
    }
    return error;
}

void
adp_state_disk_begin(struct adp_state_disk *sd)
{
    sd->disk = adp_disk_create(sd->folder, &sd->position);
}

/* Another state in its place. */

char *
adp_state_disk_begin_anew(struct adp_state_disk *sd)
{
    char *new = adp_disk_folder_new_name(sd->folder);
    char *error = adp_disk_folder_delete(new);

    if (!error) {
        memset(&sd->position, 0, sizeof sd->position);
        /* If somebody took away what was there, the place is free. */
        sd->is_in_place = !may_exist(sd->folder);
        sd->disk = adp_disk_create(sd->is_in_place ? sd->folder : new,
                                   &sd->position);
    }
    free(new);
    return error;
}

char *
adp_state_disk_take_place(struct adp_state_disk *sd)
{
    char *error = (sd->is_in_place ? NULL
                   : adp_disk_folder_take_place(sd->folder, &sd->aside));

    if (!error && !sd->is_in_place) {
        sd->is_in_place = true;
        adp_disk_set_path(sd->disk, sd->folder);
    }
    return error;
}

static void
forget_aside(struct adp_state_disk *sd)
{
    free(sd->aside);
    sd->aside = NULL;
    sd->is_in_place = false;
}

void
adp_state_disk_give_up(struct adp_state_disk *sd)
{
    adp_disk_destroy(sd->disk);
    sd->disk = NULL;
    char *error = (sd->is_in_place
                   ? adp_disk_folder_bring_back(sd->folder, sd->aside)
                   : adp_disk_folder_recover(sd->folder));
    if (error) {
        VLOG_ERR("what was to take the place of %s stays: %s", sd->folder,
                 error);
        free(error);
    }
    forget_aside(sd);
}

void
adp_state_disk_stay(struct adp_state_disk *sd)
{
    note_aside(sd->folder, sd->aside);
    forget_aside(sd);
}

struct adp_disk *
adp_state_disk_get(const struct adp_state_disk *sd)
{
    return sd ? sd->disk : NULL;
}
