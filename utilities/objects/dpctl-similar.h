/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_SIMILAR_H
#define DPCTL_SIMILAR_H 1

/* What somebody may have meant who typed something else. */

#include <stddef.h>

/* The one of 'words' that differs least from 'word': by one letter that is
 * missing, too many, wrong, or in its neighbor's place, or by two if the word
 * has six letters or more.  NULL if there is none. */
const char *dpctl_similar(const char *word, const char *const words[],
                          size_t n);

#endif /* dpctl-similar.h */
