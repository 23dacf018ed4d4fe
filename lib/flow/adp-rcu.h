/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_RCU_H
#define ADP_RCU_H 1

/* Callbacks that RCU's thread runs by the ten thousands.
 *
 * That thread runs all that was postponed before it looks up: meanwhile no
 * grace period ends, and who waits for one, as the main thread does when ports
 * changed, waits for all of them.  So callbacks that may be many say
 * when they have done one.
 *
 * Thread-safety: any thread; in others than RCU's it does nothing.
 */

/* One more callback is done.  Now and then this is a quiescent state: the
 * caller must not go on to use what RCU protects. */
void adp_rcu_breathe(void);

#endif /* adp-rcu.h */
