/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-quantity.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

/* A digit, then digits and one point. */
static bool
starts_with_number(const char *s)
{
    size_t n = strspn(s, "0123456789.");
    const char *point = memchr(s, '.', n);

    return (isdigit((unsigned char) s[0])
            && (!point || !memchr(point + 1, '.', s + n - point - 1)));
}

static bool
parse_suffix(const char *suffix, double *factor)
{
    static const char *const suffixes[][2] = {
        { "", NULL }, { "k", "Ki" }, { "M", "Mi" }, { "G", "Gi" },
        { "T", "Ti" }, { "P", "Pi" }, { "E", "Ei" },
    };

    double factors[2] = { 1, 1 };

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        for (size_t binary = 0; binary < 2; binary++) {
            if (nullable_string_is_equal(suffixes[i][binary], suffix)) {
                *factor = factors[binary];
                return true;
            }
        }
        factors[0] *= 1000;
        factors[1] *= 1024;
    }
    return false;
}

bool
dpctl_quantity(const char *text, double *value)
{
    double factor;
    char *end;

    if (!starts_with_number(text)) {
        return false;
    }

    /* strtod() alone would take "5E3" whole, of which the E is a suffix. */
    char *number = xmemdup0(text, strspn(text, "0123456789."));
    double n = strtod(number, &end);
    bool ok = !*end;

    ok = ok && parse_suffix(text + strlen(number), &factor);
    if (ok) {
        *value = n * factor;
        ok = isfinite(*value);
    }
    free(number);
    return ok;
}
