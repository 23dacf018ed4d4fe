/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_SURPRISE_H
#define DPCTL_SURPRISE_H 1

/* What is no error in the objects that a user gives, and may yet not do what
 * he expects:
 *
 *   - Pods whose Namespace or Node isn't known: no selector finds them by the
 *     Namespace's labels, and no packet finds the way to the Node; likewise
 *     Pods with an address on a Node that has no Pod CIDR or no address;
 *   - session affinity that is to last longer than OpenFlow's timeouts;
 *   - source ranges of a load balancer that are of another family than the
 *     Service, and addresses of it without a range of their family;
 *   - addresses for outsiders that another Service serves;
 *   - rules about IGMP that are to be logged, which its messages aren't;
 *   - groups of ipBlocks that a policy is applied to;
 *   - groups that aren't there, which are nobody;
 *   - policies of one Tier with one priority, whose order nothing defines.
 *
 * An object is named once for each of these at most, and of each only a few
 * are named, so that there are never many lines.
 */

struct dpctl_kind;
struct json;
struct shash;
struct svec;

struct dpctl_surprise {
    const struct shash *given;  /* Manifest's name to object: to be judged. */
    const struct shash *manifests; /* The same: all that there will be. */
    const struct shash *records[2]; /* Record's key to record: before and
                                     * after.  Each may be NULL. */
    const char *node;           /* Ours, or NULL. */
};

/* "5 in Tier application", which policies may share; NULL if the object is
 * none of Antrea's policies. */
char *dpctl_policy_rank(const struct dpctl_kind *, const struct json *object);

/* Appends a sentence for each. */
void dpctl_surprises(const struct dpctl_surprise *, struct svec *warnings);

#endif /* dpctl-surprise.h */
