/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHOW_MEMORY_H
#define ADP_SHOW_MEMORY_H 1

/* What takes memory, in counts and, where that costs nothing to know, in
 * bytes: for "stats", and for ovs-appctl memory/show, where upstream also
 * writes it into the log when the daemon has grown by half.  For the main
 * thread.
 *
 * Cost: does not grow with what there is. */

struct adp_bridge;
struct conntrack;
struct json;
struct simap;

/* A bridge's and the daemon's, as JSON. */
struct json *adp_show_memory(const struct adp_bridge *);

/* In upstream's way, counts and kB: adds what is the bridge's, and what all
 * bridges share. */
void adp_show_memory_of_bridge(const struct adp_bridge *, struct simap *usage);
void adp_show_memory_of_daemon(struct conntrack *, struct simap *usage);

#endif /* adp-show-memory.h */
