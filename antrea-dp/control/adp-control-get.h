/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONTROL_GET_H
#define ADP_CONTROL_GET_H 1

/* Records for a client: the answer to "get".
 *
 * For the main thread. */

struct adp_bridge;
struct adp_control_reading;
struct adp_query;

/* All records, or those of one kind or of one name (NULL: any). */
struct adp_control_reading *adp_control_get_all(const struct adp_bridge *,
                                                const char *kind,
                                                const char *name);
/* Some of the records: what is named, and what bears the keys. */
struct adp_control_reading *adp_control_get_some(const struct adp_bridge *,
                                                 const struct adp_query *);

#endif /* adp-control-get.h */
