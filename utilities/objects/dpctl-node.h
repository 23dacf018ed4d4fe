/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_NODE_H
#define DPCTL_NODE_H 1

/* Which node a change is for.
 *
 * The node's name decides which Pods, endpoints and policies are local: under
 * a wrong one everything local is taken away.  So a name is believed only if
 * there is such a Node, and it is changed only on demand.  Before the first
 * Node is known, any name is: objects may come in any order.  So it is where a
 * watch tells of Nodes, page by page, and no other name is in force.
 */

#include <stdbool.h>

struct json;
struct shash;

struct dpctl_node_question {
    const char *given;          /* The user's, or NULL. */
    const char *what;           /* "--node b", for messages. */
    const char *in_force;       /* See below; or NULL. */
    bool change;                /* May it be another one than that? */
    bool must_exist;            /* Even the one in force. */
    bool may_come;              /* Not all Nodes are known yet. */
    const struct shash *manifests[2]; /* Those before and after the change;
                                       * each may be NULL. */
    const struct json *node_config; /* A NodeConfig record that will be there
                                     * besides, or NULL. */
};

/* The name of the node that the records are for: that of the NodeConfig or,
 * before there is one, of the Node that the Pods among the records are on.
 * 'records' is keyed by dpctl_record_key(), 'manifests' by their names.
 * Borrowed; NULL if nothing tells. */
const char *dpctl_node_in_force(const struct shash *records,
                                const struct shash *manifests);

/* NULL, or why the change can't be for this node. */
char *dpctl_node_check(const struct dpctl_node_question *);

#endif /* dpctl-node.h */
