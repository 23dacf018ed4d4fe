/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "pipeline-builtin.h"

#include <string.h>

#include "openvswitch/dynamic-string.h"
#include "pipeline-early.h"
#include "pipeline-v115.h"
#include "pipeline.h"
#include "util.h"

static const struct adp_pipeline *const pipelines[] = {
    &adp_pipeline_v115,
    &adp_pipeline_early,
};

const struct adp_pipeline *
adp_pipeline_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(pipelines); i++) {
        if (!strcmp(pipelines[i]->name, name)) {
            return pipelines[i];
        }
    }
    return NULL;
}

const char *
adp_pipeline_names(void)
{
    static char *names;

    if (!names) {
        struct ds s = DS_EMPTY_INITIALIZER;

        for (size_t i = 0; i < ARRAY_SIZE(pipelines); i++) {
            ds_put_format(&s, "%s%s", i ? ", " : "", pipelines[i]->name);
        }
        names = ds_steal_cstr(&s);
    }
    return names;
}
