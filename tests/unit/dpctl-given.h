/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_GIVEN_H
#define DPCTL_GIVEN_H 1

/* Objects for antrea-dpctl, as a test gives them. */

struct dpctl_input;

/* Adds the documents of 'text', from a file called "f", to 'input', which may
 * hold some.  Returns the error. */
char *dpctl_given_text(struct dpctl_input *, const char *text);

#endif /* dpctl-given.h */
