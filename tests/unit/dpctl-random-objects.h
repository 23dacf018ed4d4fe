/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_RANDOM_OBJECTS_H
#define DPCTL_RANDOM_OBJECTS_H 1

/* Random objects of a small cluster, of few names, so that what is drawn later
 * replaces or selects what was drawn before. */

struct ds;

/* Appends an object of any kind, and what separates it from the next. */
void dpctl_random_object(struct ds *);
/* Appends a Pod of 'namespace_'. */
void dpctl_random_pod(struct ds *, const char *namespace_);

#endif /* dpctl-random-objects.h */
