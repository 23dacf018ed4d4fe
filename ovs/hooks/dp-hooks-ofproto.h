/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DP_HOOKS_OFPROTO_H
#define DP_HOOKS_OFPROTO_H 1

/* Access to statics of ofproto.c for another ofproto provider.
 *
 * Thread-safety: for the main thread, without ofproto_mutex unless it says
 * otherwise.
 */

#include "ofproto/ofproto-provider.h"

/* Applies group mods that add or modify, then the flow mods, then group mods
 * that delete, all in one new table version, as a bundle does but without a
 * controller connection.  With 'replace' all other flows and groups go,
 * whoever put them there.  On an error nothing has changed, and '*culprit' is
 * the index of the mod at fault: flow mods count from 0, group mods go on
 * after them, and behind these is what 'replace' does. */
enum ofperr ofproto_commit_mods(struct ofproto *,
                                const struct ofputil_flow_mod *, size_t n_fms,
                                const struct ofputil_group_mod *,
                                size_t n_gms, bool replace,
                                size_t *culprit);

/* Removes rules that have passed their hard or their idle timeout, all in one
 * new table version. */
void ofproto_expire_rules(struct ofproto *, struct rule_collection *hard,
                          struct rule_collection *idle)
    OVS_REQUIRES(ofproto_mutex);

/* Has what is in 'to_remove' removed after a grace period. */
void ofproto_postpone_removals(struct ofproto *)
    OVS_REQUIRES(ofproto_mutex);

/* Configures meter 'mm' unless the bridge has one of its number. */
enum ofperr ofproto_ensure_meter(struct ofproto *,
                                 const struct ofputil_meter_mod *);

/* Configures meter 'mm', which the bridge may have. */
enum ofperr ofproto_set_meter(struct ofproto *,
                              const struct ofputil_meter_mod *);

/* Deletes the meter, and flows that use it, if there is one. */
void ofproto_delete_meter(struct ofproto *, uint32_t meter_id);

/* Sets '*stats' to what the meter and its first band have counted.  Returns
 * false if there is no such meter. */
struct ofproto_meter_count {
    uint64_t n_packets, n_bytes;                /* That came to it. */
    uint64_t n_dropped_packets, n_dropped_bytes;
};
bool ofproto_count_meter(const struct ofproto *, uint32_t meter_id,
                         struct ofproto_meter_count *);

/* Maps tunnel options to fields as 'ttm' (a NXTTMC_ADD) says, unless they
 * are. */
enum ofperr ofproto_ensure_tlv_map(struct ofproto *,
                                   struct ofputil_tlv_table_mod *ttm);

/* Gives table 'table_id' its name unless OpenFlow or the database named it. */
void ofproto_name_table(struct ofproto *, uint8_t table_id, const char *name);

/* Calls 'cb', with the mutex, for each bridge of any type. */
void ofproto_for_each(void (*cb)(const struct ofproto *, void *aux),
                      void *aux) OVS_EXCLUDED(ofproto_mutex);

/* Adds to the counters of table 'table_id'. */
void ofproto_credit_table(struct ofproto *, uint8_t table_id,
                          unsigned long matched, unsigned long missed);

#endif /* dp-hooks-ofproto.h */
