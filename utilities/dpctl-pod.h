/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_POD_H
#define DPCTL_POD_H 1

/* describe pod, and what else begins with a Pod. */

struct dpctl_options;

/* describe pod NAME. */
void dpctl_describe_pod(const struct dpctl_options *, const char *name);

/* Records of the policies that apply to the Pod, in the order in which they
 * are decided, as an array: get policies --pod NAME. */
struct json *dpctl_policies_of_pod(const struct dpctl_options *,
                                   const char *name);

#endif /* dpctl-pod.h */
