/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SUCCESSION_H
#define ADP_SUCCESSION_H 1

/* Flows that took each other's place.
 *
 * Upstream has a flow that was replaced credit the next one, one step, and
 * hold it: verdicts keep flows for a moment only there.  Here a verdict keeps
 * the first flow for as long as it is used and each next one does the same:
 * so by way of it all that ever were in that place would stay, and what it
 * credits would get to one that isn't the last.
 *
 * Thread-safety: any thread. */

struct rule_dpif;

/* Has 'rule', which was replaced, credit and hold the last of those that took
 * its place instead of the next one.  Does nothing for others. */
void adp_succession_shorten(struct rule_dpif *rule);

#endif /* adp-succession.h */
