/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_MATCH_DIRECT_H
#define ADP_MATCH_DIRECT_H 1

/* The direct matcher, for a handful of rules without conjunctions: compares
 * the packet with one after the other, word by word. */

#include "adp-match.h"

/* Up to this number of rules it is as fast as a hash. */
#define ADP_MATCH_DIRECT_MAX 8

extern const struct adp_match_class adp_match_direct_class;

#endif /* adp-match-direct.h */
