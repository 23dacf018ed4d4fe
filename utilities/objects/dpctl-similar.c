/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "dpctl-similar.h"

#include <ctype.h>
#include <string.h>

#include "util.h"

enum { MAX_LEN = 32 };

static bool
is_same(char a, char b)
{
    return tolower((unsigned char) a) == tolower((unsigned char) b);
}

/* How many letters make the difference.  Neither is longer than MAX_LEN. */
static size_t
distance(const char *a, const char *b)
{
    size_t n_a = strlen(a), n_b = strlen(b);
    size_t d[MAX_LEN + 1][MAX_LEN + 1];

    for (size_t i = 0; i <= n_a; i++) {
        for (size_t j = 0; j <= n_b; j++) {
            if (!i || !j) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = MIN(MIN(d[i - 1][j], d[i][j - 1]) + 1,
                          d[i - 1][j - 1] + !is_same(a[i - 1], b[j - 1]));
            if (i > 1 && j > 1 && is_same(a[i - 1], b[j - 2])
                && is_same(a[i - 2], b[j - 1])) {
                d[i][j] = MIN(d[i][j], d[i - 2][j - 2] + 1);
            }
        }
    }
    return d[n_a][n_b];
}

const char *
dpctl_similar(const char *word, const char *const words[], size_t n)
{
    size_t len = strlen(word);
    size_t least = len >= 6 ? 3 : 2;
    const char *found = NULL;

    for (size_t i = 0; i < n && len <= MAX_LEN; i++) {
        size_t its_len = strlen(words[i]);

        /* Of two letters a wrong one is half the word. */
        if (its_len <= MAX_LEN && (len > 2 || its_len > 2)) {
            size_t d = distance(word, words[i]);

            if (d < least) {
                least = d;
                found = words[i];
            }
        }
    }
    return found;
}
