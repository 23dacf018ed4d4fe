/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_PARTIES_H
#define DPCTL_PARTIES_H 1

/* Who is at the two ends of a packet: what "trace" fills in of the ports and
 * addresses that nobody has in his head, or that a capture doesn't have.
 *
 * All of it comes from records (docs/control-socket.md), that is to say from
 * what the Node does, not from what it should. */

#include <stdbool.h>
#include "dpctl-address.h"

struct dpctl_options;
struct dpctl_parties;
struct dpctl_frame;
struct json;

/* A packet in words.  What is NULL wasn't given. */
struct dpctl_talk {
    const char *from;           /* [pod/][NAMESPACE/]NAME. */
    const char *to;             /* [pod/|svc/][NAMESPACE/]NAME[:PORT], or an
                                 * address with or without port. */
    const char *protocol;       /* "tcp", "udp", "sctp", "icmp". */
    const char *family;         /* "ipv4", "ipv6". */
    const char *namespace_;     /* Where names without one are. */
};

/* Knows 'records': Pods, the NodeConfig, Services and Manifests of Pods, those
 * that matter at least.  Takes them. */
struct dpctl_parties *dpctl_parties_create(struct json *records);
void dpctl_parties_destroy(struct dpctl_parties *);

/* "KIND NAME" of all records that 'talk' may be about, for "get" by names; the
 * Pods and the NodeConfig are needed beside them.  An array of strings. */
struct json *dpctl_parties_names(const struct dpctl_talk *);

/* Makes a flow, in the syntax of ovs-ofctl(8), of 'talk', and the name of the
 * port that it comes from; both are the caller's to free.  Returns NULL, or
 * what is wrong, the caller's to free. */
char *dpctl_parties_flow(const struct dpctl_parties *,
                         const struct dpctl_talk *, char **flow,
                         char **in_port);

/* Makes a match, in the syntax of ovs-ofctl(8), of what packets of 'talk' have
 * in common, any part of which may be NULL, and the name of the port that they
 * come from, NULL if they may come from several; both are the caller's to
 * free.  Returns NULL, or what is wrong, the caller's to free. */
char *dpctl_parties_match(const struct dpctl_parties *,
                          const struct dpctl_talk *, char **match,
                          char **in_port);

/* Fills in the MAC addresses that 'frame' lacks: from Pods and the gateway.
 * Returns NULL, or what is missing. */
char *dpctl_parties_complete(const struct dpctl_parties *,
                             struct dpctl_frame *);

/* The port of the Pod that sends from 'frame''s source address, or NULL. */
const char *dpctl_parties_port(const struct dpctl_parties *,
                               const struct dpctl_frame *);

#endif /* dpctl-parties.h */
