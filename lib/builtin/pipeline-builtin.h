/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_BUILTIN_H
#define ADP_PIPELINE_BUILTIN_H 1

/* The pipelines that are built in: the only place that knows them all.
 *
 * Whoever works with a pipeline gets it from here by its name, and needs no
 * other header than pipeline.h for what it does with it.
 *
 * Thread-safety: adp_pipeline_names() is for the main thread, the pipelines
 * are constant.
 */

struct adp_pipeline;

/* NULL if there is none of that name. */
const struct adp_pipeline *adp_pipeline_find(const char *name);
/* Comma-separated names, for messages. */
const char *adp_pipeline_names(void);

#endif /* pipeline-builtin.h */
