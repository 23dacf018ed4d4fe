/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-shadow-translate.h"

#include "adp-bridge-shared.h"
#include "dp-packet.h"
#include "odp-util.h"
#include "ofproto/ofproto-dpif-xlate-cache.h"
#include "ofproto/ofproto-dpif-xlate.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/ofpbuf.h"
#include "util.h"

/* A pass less would do for what decide() doesn't punt. */
#define MAX_PASSES 8

/* Upstream's numbers of buckets are small; a hash beyond that gives no other
 * one. */
#define MAX_HASHES 65536

struct translator {
    struct adp_shadow_run run;
    struct adp_bridge *bridge;
    ovs_version_t version;
    struct adp_shadow_translation *result;
    unsigned int n_passes;
};

static struct translator *
translator_of(struct adp_shadow_run *run)
{
    return CONTAINER_OF(run, struct translator, run);
}

/* What upstream would count and learn. */

static struct adp_sample_hit *
add_hit(struct adp_sample_hits *hits)
{
    static struct adp_sample_hit spare;
    struct adp_sample_hit *hit = (hits->n < ADP_SAMPLE_MAX_HITS
                                  ? &hits->hits[hits->n] : &spare);

    hits->n++;
    memset(hit, 0, sizeof *hit);
    return hit;
}

/* Upstream has flows of its own, for misses, in a table of its own. */
static void
note_rule(struct translator *t, const struct rule *rule)
{
    if (rule->ofproto == &t->bridge->dpif.up
        && rule->table_id <= ADP_LAST_TABLE) {
        struct adp_sample_hit *hit = add_hit(&t->result->hits);

        hit->cookie = rule->flow_cookie;
        hit->id = minimatch_hash(&rule->cr.match, 0);
        hit->priority = rule->cr.priority;
        hit->table_id = rule->table_id;
    }
}

static void
note_group(struct translator *t, const struct group_dpif *group,
           const struct ofputil_bucket *bucket)
{
    if (group->up.ofproto == &t->bridge->dpif.up) {
        struct adp_sample_hit *hit = add_hit(&t->result->hits);

        hit->is_bucket = true;
        hit->id = group->up.group_id;
        hit->bucket = bucket ? bucket->bucket_id : UINT32_MAX;
    }
}

/* Empties 'xcache'. */
static void
note_cache(struct translator *t, struct xlate_cache *xcache)
{
    struct ofpbuf entries = xcache->entries;
    struct xc_entry *entry;

    XC_ENTRY_FOR_EACH (entry, &entries) {
        switch (entry->type) {
        case XC_RULE:
            note_rule(t, &entry->rule->up);
            break;
        case XC_GROUP:
            note_group(t, entry->group.group, entry->group.bucket);
            break;
        case XC_LEARN:
            t->result->n_learned++;
            break;
        case XC_TABLE:
        case XC_BOND:
        case XC_NETDEV:
        case XC_NETFLOW:
        case XC_MIRROR:
        case XC_NORMAL:
        case XC_FIN_TIMEOUT:
        case XC_TNL_NEIGH:
        case XC_TUNNEL_HEADER:
            break;
        }
    }
    xlate_cache_clear(xcache);
}

/* Groups. */

/* Would the hash lead upstream to the bucket? */
static bool
hash_leads_to(const struct translator *t, uint32_t hash,
              const struct adp_sample_hit *hit)
{
    const struct group_dpif *group = group_dpif_lookup(&t->bridge->dpif,
                                                       hit->id, t->version,
                                                       false);

    return (!group || !group->hash_map
            || group->hash_map[hash & group->hash_mask]->bucket_id
               == hit->bucket);
}

/* A packet is hashed once, for all groups that it meets.  0 isn't a hash. */
static uint32_t
find_hash(struct adp_shadow_run *run)
{
    const struct translator *t = translator_of(run);
    const struct adp_sample_hits *hits = &run->sample->hits;

    for (uint32_t hash = 1; hash <= MAX_HASHES; hash++) {
        bool leads = true;

        for (size_t i = 0; leads && i < hits->n; i++) {
            leads = (!hits->hits[i].is_bucket
                     || hits->hits[i].bucket == UINT32_MAX
                     || hash_leads_to(t, hash, &hits->hits[i]));
        }
        if (leads) {
            return hash;
        }
    }
    run->unfit = ADP_SHADOW_BUCKET;
    return 1;
}

/* Passes. */

static void
note_pass(struct translator *t, const struct ofpbuf *actions)
{
    struct ds s = DS_EMPTY_INITIALIZER;

    format_odp_actions(&s, actions->data, actions->size, NULL);
    svec_add_nocopy(&t->result->passes, ds_steal_cstr(&s));
}

static void
pass(struct translator *t, struct dp_packet *packet, const struct flow *flow)
{
    uint64_t stub[1024 / 8];
    struct ofpbuf actions = OFPBUF_STUB_INITIALIZER(stub);
    struct xlate_cache *xcache;
    struct xlate_out xout;
    struct xlate_in xin;

    if (t->n_passes++ >= MAX_PASSES) {
        t->run.unfit = ADP_SHADOW_ACTION;
        return;
    }
    xcache = xlate_cache_new();
    xlate_in_init(&xin, &t->bridge->dpif, t->version, flow,
                  flow->in_port.ofp_port, NULL, ntohs(flow->tcp_flags), NULL,
                  NULL, &actions);
    xin.xcache = xcache;
    if (xlate_actions(&xin, &xout)) {
        ofpbuf_clear(&actions);         /* It drops the packet. */
    }
    note_cache(t, xcache);
    note_pass(t, &actions);
    /* The frozen states of further passes live until this ends. */
    adp_shadow_execute(&t->run, packet, actions.data, actions.size);
    xlate_out_uninit(&xout);
    xlate_cache_delete(xcache);
    ofpbuf_uninit(&actions);
}

/* What the datapath doesn't know is in the frozen state. */
static void
recirculate(struct adp_shadow_run *run, struct dp_packet *packet,
            uint32_t recirc_id)
{
    struct translator *t = translator_of(run);
    struct flow flow;

    packet->md.recirc_id = recirc_id;
    flow_extract(packet, &flow);
    flow.in_port = run->sample->flow.in_port;
    flow.tunnel = run->sample->flow.tunnel;
    flow.tunnel.metadata.tab = ofproto_get_tun_tab(&t->bridge->dpif.up);
    pass(t, packet, &flow);
}

/* True if the packet, as far as it was kept, is to upstream what it was. */
static bool
parses_alike(struct dp_packet *packet, const struct flow *sampled)
{
    struct flow flow;

    flow_extract(packet, &flow);
    flow.in_port = sampled->in_port;
    flow.tunnel = sampled->tunnel;
    return flow_equal(&flow, sampled);
}

enum adp_shadow_unfit
adp_shadow_translate(struct adp_bridge *b, const struct adp_sample *sample,
                     ovs_version_t version,
                     struct adp_shadow_translation *result)
{
    struct translator t = {
        .run = {
            .sample = sample,
            .effects = &result->effects,
            .recirculate = recirculate,
            .hash = find_hash,
        },
        .bridge = b,
        .version = version,
        .result = result,
    };
    struct flow flow = sample->flow;
    struct dp_packet *packet = adp_shadow_packet(sample, &sample->packet);

    memset(result, 0, sizeof *result);
    svec_init(&result->effects);
    svec_init(&result->passes);
    if (!parses_alike(packet, &flow)) {
        t.run.unfit = ADP_SHADOW_LONG;
    } else {
        flow.tunnel.metadata.tab = ofproto_get_tun_tab(&b->dpif.up);
        pass(&t, packet, &flow);
    }
    dp_packet_delete(packet);
    return t.run.unfit;
}

void
adp_shadow_translation_uninit(struct adp_shadow_translation *result)
{
    svec_destroy(&result->effects);
    svec_destroy(&result->passes);
}
