/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_EXAMPLE_PIPELINE_H
#define TESTS_EXAMPLE_PIPELINE_H 1

/* The pipeline that docs/pipelines.md explains. */

#include "pipeline.h"

extern const struct adp_pipeline example_pipeline;

#endif /* example-pipeline.h */
