/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-quantity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

static const char digits[] = "0123456789";

/* The length of "5", "5.25", "5." or ".25", perhaps with a sign, at the
 * beginning; 0 if there is none. */
static size_t
number_length(const char *s)
{
    size_t n_sign = *s == '+' || *s == '-';
    size_t n_whole = strspn(s + n_sign, digits);
    const char *point = s + n_sign + n_whole;
    size_t n_part = *point == '.' ? strspn(point + 1, digits) : 0;

    return (n_whole + n_part
            ? n_sign + n_whole + (*point == '.') + n_part : 0);
}

/* "e3", "E-3". */
static bool
parse_exponent(const char *s, double *factor)
{
    if (*s != 'e' && *s != 'E') {
        return false;
    }

    size_t n_sign = s[1] == '+' || s[1] == '-';
    size_t n = strspn(s + 1 + n_sign, digits);

    if (!n || s[1 + n_sign + n]) {
        return false;
    }
    *factor = pow(10, strtod(s + 1, NULL));
    return true;
}

/* From thousand-millionths on, a thousand times more each. */
static bool
parse_suffix(const char *suffix, double *factor)
{
    static const char *const suffixes[][2] = {
        { "n", NULL }, { "u", NULL }, { "m", NULL },
        { "", NULL }, { "k", "Ki" }, { "M", "Mi" }, { "G", "Gi" },
        { "T", "Ti" }, { "P", "Pi" }, { "E", "Ei" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        for (size_t binary = 0; binary < 2; binary++) {
            if (nullable_string_is_equal(suffixes[i][binary], suffix)) {
                *factor = pow(binary ? 1024 : 1000, (int) i - 3);
                return true;
            }
        }
    }
    return false;
}

bool
dpctl_quantity(const char *text, double *value)
{
    double factor;
    char *end;

    size_t length = number_length(text);
    if (!length) {
        return false;
    }

    /* strtod() alone would take "0x5" whole, and "5E", which is exa, not. */
    char *number = xmemdup0(text, length);
    double n = strtod(number, &end);
    bool ok = !*end && (parse_suffix(text + length, &factor)
                        || parse_exponent(text + length, &factor));

    if (ok) {
        *value = n * factor;
        ok = isfinite(*value);
    }
    free(number);
    return ok;
}
