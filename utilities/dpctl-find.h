/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_FIND_H
#define DPCTL_FIND_H 1

/* The records that users mean by the names that they type.  Where there is
 * none, they end the program with a word about what there is instead. */

#include "openvswitch/json.h"

struct dpctl_options;
struct dpctl_rpc;

/* The result of "get" for records of 'kind': an object with "records". */
struct json *dpctl_get_kind(struct dpctl_rpc *, const struct dpctl_options *,
                            const char *kind);

/* A Pod or Service by its name, in the namespace that was asked for, or
 * NAMESPACE/NAME.  'option' is where that stood, for messages. */
struct json *dpctl_find_record(struct dpctl_rpc *,
                               const struct dpctl_options *, const char *kind,
                               const char *option, const char *word);

/* A Pod of this Node.  Where the bridge's flows are somebody else's, there are
 * no records: then this is what OVSDB says of the Pod's port, in the form of
 * one, and '*unknown' what nobody here knows, for the caller to free; NULL if
 * that is nothing. */
struct json *dpctl_find_pod(struct dpctl_rpc *, const struct dpctl_options *,
                            const char *option, const char *word,
                            char **unknown);

/* A policy by its name, NAMESPACE/NAME or TYPE:NAME. */
struct json *dpctl_find_policy(struct dpctl_rpc *,
                               const struct dpctl_options *, const char *word);

/* Do users who type 'word' mean the policy of that record's name? */
bool dpctl_is_policy_called(const char *record_name, const char *word,
                            const char *namespace_);

/* The number of the table that is called 'word', or has that number.  'stats'
 * is the answer to "stats". */
uint8_t dpctl_find_table(const struct json *stats, const char *word);

#endif /* dpctl-find.h */
