/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHOW_TURNS_H
#define ADP_SHOW_TURNS_H 1

/* Turns of the main loop as JSON: see docs/control-socket.md, "stats". */

#include <stdbool.h>

struct json;

/* 'take': "recent" is what comes after this from now on. */
struct json *adp_show_turns(bool take);

#endif /* adp-show-turns.h */
