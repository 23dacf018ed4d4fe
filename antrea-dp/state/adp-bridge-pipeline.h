/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_BRIDGE_PIPELINE_H
#define ADP_BRIDGE_PIPELINE_H 1

/* Which pipeline a bridge runs, and its typed state.  For the main thread. */

#include <stdbool.h>
#include <stdint.h>

struct adp_bridge;
struct adp_fqdns;               /* adp-fqdns.h. */
struct adp_multicast;           /* adp-multicast.h. */
struct adp_pipeline;
struct adp_state;               /* adp-state.h. */
struct smap;
struct uuid;

/* NULL if pipeline is "none". */
const struct adp_pipeline *adp_bridge_pipeline(const struct adp_bridge *);
uint64_t adp_bridge_pipeline_options(const struct adp_bridge *);
/* Why the bridge doesn't run the pipeline that its configuration asks for.
 * NULL if it does. */
const char *adp_bridge_pipeline_error(const struct adp_bridge *);
/* Has the bridge had nothing yet that its configuration asked for, because of
 * an error?  It is empty then, and lets no packet pass. */
bool adp_bridge_awaits_pipeline(const struct adp_bridge *);
/* NULL if pipeline is "none". */
struct adp_state *adp_bridge_state(const struct adp_bridge *);
struct adp_fqdns *adp_bridge_fqdns(const struct adp_bridge *);
struct adp_multicast *adp_bridge_multicast(const struct adp_bridge *);
/* The pipeline's name for table 'id', or else what OpenFlow or the database
 * calls it, or NULL.  Main thread. */
const char *adp_bridge_pipeline_table_name(uint8_t id, void *bridge);

/* For the state: brings what flows of the pipeline need to be there before
 * them, should somebody have deleted it.  Returns why it couldn't, for the
 * caller to free, or NULL. */
char *adp_bridge_pipeline_ensure(struct adp_bridge *);
/* For the state: the flows are those of these options from now on. */
void adp_bridge_pipeline_set_options(struct adp_bridge *, uint64_t options);

/* For the provider. */
void adp_bridge_pipeline_init(struct adp_bridge *);
/* With 'deleted' what there is of it on the disk goes, too. */
void adp_bridge_pipeline_uninit(struct adp_bridge *, bool deleted);
/* By which the bridge's state is found again.  Before it is configured. */
void adp_bridge_pipeline_identify(struct adp_bridge *, const struct uuid *);
void adp_bridge_pipeline_configure(struct adp_bridge *,
                                   const struct smap *other_config);
/* A slice of what is on its way into the bridge, and what ports that changed
 * ask for.  Brings a pipeline back that was flushed.  Returns true unless it
 * was flushed and isn't back, the bridge awaits one, or the state of before
 * the daemon's start isn't in force: then no packet may pass. */
bool adp_bridge_pipeline_run(struct adp_bridge *);
void adp_bridge_pipeline_wait(struct adp_bridge *);

#endif /* adp-bridge-pipeline.h */
