/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_GIVEN_H
#define DPCTL_GIVEN_H 1

/* Objects for antrea-dpctl, as a test gives them. */

#include "dpctl-plan.h"

struct dpctl_input;
struct json;

/* Adds the documents of 'text', from a file called "f", to 'input', which may
 * hold some.  Returns the error. */
char *dpctl_given_text(struct dpctl_input *, const char *text);

/* A cluster of two Nodes.  Of the Pods, web and client are on node1. */
extern const char dpctl_given_cluster[];

/* What node1 makes of 'a', and 'b' unless that is NULL, given 'state': a plan
 * or an error, which are the caller's. */
struct dpctl_given_plan {
    struct dpctl_plan plan;
    char *error;
};

struct dpctl_given_plan dpctl_given_plan(enum dpctl_verb,
                                         const struct json *state,
                                         const char *a, const char *b);

/* The records that follow on node1 from 'given' and 'text' whose key begins
 * with 'key', as YAML; or the error.  The caller frees it. */
char *dpctl_given_resolve(const char *given, const char *text,
                          const char *key);

#endif /* dpctl-given.h */
