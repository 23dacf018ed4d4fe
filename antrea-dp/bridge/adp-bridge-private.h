/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_BRIDGE_PRIVATE_H
#define ADP_BRIDGE_PRIVATE_H 1

/* A bridge of type "antrea", from the inside: what no other room sees.
 *
 *   - what is guarded by ofproto_mutex tells what happened to the tables since
 *     the last version was closed.
 *
 *   - the rest belongs to the main thread, but for 'stopped' and 'learn_seq'.
 *
 * It stays until upstream frees the bridge: threads of upstream's may ask for
 * 'constructed' until then.
 */

#include "adp-bridge-shared.h"
#include "adp-credit.h"
#include "adp-journal.h"
#include "adp-rule-set.h"
#include "openvswitch/hmap.h"
#include "seq.h"
#include "simap.h"

/* Sets of rules.  Each grows on its own, not all rules' at once: that would
 * take long where there are many. */
#define ADP_JOURNAL_TABLES ADP_JOURNAL_PARTS

/* Rules that were deleted: adp-removal.h.  From 'first' on they are still
 * there. */
struct adp_bridge_leaving {
    struct rule **rules;
    size_t first, n, allocated;
    long long int next;                 /* When some more may go, ... */
    uint64_t given;                     /* ... if this portion has gone. */
};

struct adp_bridge_own {
    /* adp-journal.c */
    struct adp_rule_set rules[ADP_JOURNAL_TABLES]
        OVS_GUARDED_BY(ofproto_mutex);
    struct hmap learned OVS_GUARDED_BY(ofproto_mutex); /* Not more than
                                         * 'learn' counts. */
    size_t n_rules OVS_GUARDED_BY(ofproto_mutex); /* But for hidden ones. */
    struct adp_delta *journal OVS_GUARDED_BY(ofproto_mutex);
    struct hmap dirty_groups OVS_GUARDED_BY(ofproto_mutex);
    bool keeps_pipeline OVS_GUARDED_BY(ofproto_mutex); /* Close it, then. */
    bool empty OVS_GUARDED_BY(ofproto_mutex);   /* The latest version has no
                                                 * flow. */
    bool emptied OVS_GUARDED_BY(ofproto_mutex); /* One had none, and the main
                                                 * thread doesn't know yet. */
    bool filled OVS_GUARDED_BY(ofproto_mutex);  /* One had again, and it
                                                 * doesn't know yet. */
    struct adp_learn_entry *installing OVS_GUARDED_BY(ofproto_mutex);
                                        /* What the next rule is made from. */
    struct {
        struct adp_learner *learner;    /* NULL: nothing is learned so. */
        uint32_t hash;                  /* Of the flow. */
    } stock_learning OVS_GUARDED_BY(ofproto_mutex); /* By translation. */

    /* Flows that leave with the version that is open.  Emptied when it is
     * closed. */
    struct hmap removed OVS_GUARDED_BY(ofproto_mutex);

    /* adp-bridge.c */
    bool constructed;                   /* There is a journal.  Becomes false
                                         * under ofproto_mutex. */
    atomic_bool stopped;                /* Packets must not enter any more. */
    bool waits_for_flows;               /* Said in the log. */
    const char *punted_for;             /* The same. */
    uint16_t round;
    struct simap special_ports;         /* Port name -> enum adp_special. */
    bool ports_dirty;
    uint64_t ports_seq;
    uint32_t ports_digest;              /* Of names and numbers. */
    uint64_t connectivity_seqno;
    uint64_t tnl_conf_seqno;
    struct ofputil_port_map port_map;
    struct ofputil_table_map table_map;

    /* adp-install.c */
    struct seq *learn_seq;              /* Changes when 'learn' was empty. */
    uint64_t learn_seqno;
    uint64_t learn_taken;               /* Flows that waited, ever. */
    bool learn_more;                    /* Flows wait for the next slice. */
    long long int learn_pause_ends;     /* Until then nobody wakes it up. */

    /* adp-expire.c */
    struct ovs_list unswept OVS_GUARDED_BY(ofproto_mutex); /* struct rule. */
    uint64_t expire_seqno;
    bool expire_more;                   /* The sweep goes on. */

    /* adp-removal.c */
    struct adp_bridge_leaving leaving;

    /* adp-credit.c */
    bool credit_amid;                   /* Something is left for later. */
    struct adp_collected credit_begins_with;    /* When that began, ... */
    struct adp_collected credit_known;          /* ... and last ended. */
    uint64_t table_credit[ADP_N_TABLES][2]; /* Credited: matched, missed. */
    uint64_t credited_idle_passes;
};

/* adp-journal.c */
void adp_journal_init(struct adp_bridge *);
void adp_journal_uninit(struct adp_bridge *) OVS_REQUIRES(ofproto_mutex);

/* adp-expire.c */
void adp_expire_stop(struct adp_bridge *);

#endif /* adp-bridge-private.h */
