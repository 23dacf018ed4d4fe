/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-given.h"

#include <string.h>

#include "dpctl-input.h"

char *
dpctl_given_text(struct dpctl_input *input, const char *text)
{
    struct dpctl_docs docs = DPCTL_DOCS_INITIALIZER;
    char *error = dpctl_load_text(&docs, "f", text, strlen(text));

    if (!error) {
        error = dpctl_input_add(input, &docs, "default", false);
    }
    dpctl_docs_destroy(&docs);
    return error;
}
