/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_STATE_DISK_H
#define ADP_STATE_DISK_H 1

/* The typed state of one bridge on the disk (adp-disk-folder.h).
 *
 * It has a folder below "antrea-dp" in the folder of OVS's database, named by
 * the bridge's name and the UUID of its row: another bridge that gets the name
 * one day doesn't get the state, and a daemon that restarts finds it again.
 *
 * Errors are texts, malloc()ed for the caller, or NULL.
 *
 * For the main thread.
 */

#include <stdbool.h>
#include <stdint.h>

struct adp_disk;
struct adp_model;
struct adp_state_disk;
struct json;
struct uuid;

/* Are states kept on the disk?  For bridges that get one from now on.  While
 * nobody knows, 'keep' is for those of which nothing is there. */
void adp_state_disk_configure(bool keep, bool is_known);

/* Is what is there from before for the bridges that it belongs to?  Else it is
 * set aside: when it is read one day it would be out of date. */
bool adp_state_disk_is_kept(void);
/* Sets aside what there is of a bridge that goes on without it. */
void adp_state_disk_leave(const char *bridge, const struct uuid *);

/* NULL if states aren't kept.  What is there is set aside then. */
struct adp_state_disk *adp_state_disk_create(const char *bridge,
                                             const struct uuid *);
/* In a folder that tests name. */
struct adp_state_disk *adp_state_disk_create_in(const char *folder);
/* Leaves what is there.  NULL does nothing. */
void adp_state_disk_destroy(struct adp_state_disk *);
/* The bridge has another row, 'uuid' instead of 'old': it may be the database
 * that was put back.  What there is of the bridge goes along, and what has the
 * new name is set aside.  'sd', which may be NULL, is used again afterwards;
 * it isn't being read, nor is one to take its place.  After an error all is
 * where it was. */
char *adp_state_disk_move(struct adp_state_disk *sd, const char *bridge,
                          const struct uuid *old, const struct uuid *uuid);
/* Deletes what there is of a bridge that is gone. */
void adp_state_disk_delete(const char *bridge, const struct uuid *);

const char *adp_state_disk_folder(const struct adp_state_disk *);
/* Is there something to be read? */
bool adp_state_disk_has_state(const struct adp_state_disk *);
/* Makes 'model', in which a transaction is under way, what is there.  Pauses
 * (model-pause.h).  Records are parsed, but not checked against each other,
 * nor against ports: they were. */
char *adp_state_disk_read(struct adp_state_disk *, struct adp_model *model,
                          uint64_t *generation);

/* Goes on with what was read, or with nothing. */
void adp_state_disk_begin(struct adp_state_disk *);

/* Begins a state that is to take the place of what is there, which stays until
 * the new one was written... */
char *adp_state_disk_begin_anew(struct adp_state_disk *);
/* ...and takes the place: what was there is set aside. */
char *adp_state_disk_take_place(struct adp_state_disk *);
/* Nothing comes of it: all is as it was before. */
void adp_state_disk_give_up(struct adp_state_disk *);
/* It is in force. */
void adp_state_disk_stay(struct adp_state_disk *);

/* NULL before that. */
struct adp_disk *adp_state_disk_get(const struct adp_state_disk *);

#endif /* adp-state-disk.h */
