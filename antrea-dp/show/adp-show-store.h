/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHOW_STORE_H
#define ADP_SHOW_STORE_H 1

/* Where a bridge's typed state is stored, and how that went.  For the main
 * thread. */

struct adp_state;
struct json;

/* NULL: it isn't stored. */
struct json *adp_show_store(const struct adp_state *);

#endif /* adp-show-store.h */
