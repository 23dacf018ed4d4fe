/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_V115_H
#define ADP_PIPELINE_V115_H 1

/* Antrea's pipeline as of v1.15: the parts that its source files share.
 *
 * pipeline-v115.def          names, numbers and options
 * pipeline-v115.c            tables, static flows, Nodes and Pods
 * pipeline-v115-nd.c         neighbour discovery
 * pipeline-v115-service.c    Services
 * pipeline-v115-policy.c     policies
 * pipeline-v115-applied.c    Egresses and TrafficControls
 * pipeline-v115-dsr.c        Services with direct server return
 * pipeline-v115-multicast.c  multicast
 * pipeline-v115-l7.c         the way to the engine of L7 rules
 * pipeline-v115-metrics.c    which flows count what
 */

#include "pipeline-gen.h"

struct adp_applied;

extern const struct adp_pipeline adp_pipeline_v115;

enum adp_v115_table {
#define ADP_TABLE(NAME, MISS) ADP_V115_##NAME,
#include "pipeline-v115.def"
    ADP_V115_N_TABLES
};

enum adp_v115_cookie {
#define ADP_COOKIE(NAME, CATEGORY) ADP_V115_COOKIE_##NAME = CATEGORY,
#include "pipeline-v115.def"
};

/* Bits of the options. */
enum adp_v115_option {
#define ADP_OPTION(SYMBOL, NAME, TEXT) ADP_V115_##SYMBOL,
#include "pipeline-v115.def"
};

extern const struct adp_pipeline_parts adp_v115_parts;

void adp_v115_generate_node(struct adp_generator *);
void adp_v115_generate_peer_node(struct adp_generator *,
                                 const struct adp_record *);
void adp_v115_generate_pod(struct adp_generator *, const struct adp_record *);
/* The field of a tunnel's end. */
const char *adp_v115_tun_dst(const struct in6_addr *);

/* Neighbour discovery: what is always there; who may send it with which
 * addresses; the answers for what is behind the pipeline, to whoever asks on a
 * port, or with OFPP_ANY on all. */
void adp_v115_generate_nd(struct adp_generator *);
void adp_v115_generate_gateway_nd(struct adp_generator *, ofp_port_t);
void adp_v115_generate_pod_nd(struct adp_generator *, ofp_port_t,
                              struct eth_addr, const struct in6_addr *);
void adp_v115_answer_nd(struct adp_generator *, uint8_t category,
                        uint32_t object, size_t table, ofp_port_t,
                        const struct in6_addr *);
void adp_v115_generate_service(struct adp_generator *,
                               const struct adp_record *);
void adp_v115_generate_applied(struct adp_generator *,
                               const struct adp_applied *);
void adp_v115_generate_applied_to_pod(struct adp_generator *,
                                      const struct adp_applied *,
                                      const struct adp_pod *);
void adp_v115_generate_policies(struct adp_generator *);
void adp_v115_generate_l7(struct adp_generator *);

/* Multicast: what the NodeConfig asks for, a Pod, the ports of all Pods, in
 * order, and a MulticastGroup. */
void adp_v115_generate_multicast(struct adp_generator *);
void adp_v115_generate_multicast_pod(struct adp_generator *, ofp_port_t,
                                     const struct adp_pod *);
void adp_v115_generate_queries(struct adp_generator *, const ofp_port_t *,
                               size_t n);
void adp_v115_generate_multicast_group(struct adp_generator *,
                                       const struct adp_record *);
/* Is the rule about IGMP or multicast?  With 'options', NULL or why 'policy'
 * can't be had. */
bool adp_v115_is_multicast_rule(const struct adp_network_policy *,
                                const struct adp_network_policy_rule *,
                                uint64_t options);
struct adp_error *adp_v115_check_policy(const struct adp_network_policy *,
                                        uint64_t options);

/* Direct server return: what the NodeConfig and a PeerNode ask for, and a
 * Service for which it is in force: for an address of it, and for packets of
 * 'match' that were not marked yet, of group 'group', to an endpoint of
 * another Node.  What was learned goes with the mark if it 'deletes'. */
void adp_v115_generate_dsr_node(struct adp_generator *);
void adp_v115_generate_dsr_peer(struct adp_generator *,
                                const struct adp_peer_node *);
void adp_v115_generate_dsr_refusal(struct adp_generator *,
                                   const struct in6_addr *ip);
bool adp_v115_is_dsr(const struct adp_generator *, const struct adp_service *);
void adp_v115_generate_dsr_mark(struct adp_generator *, enum adp_family,
                                const char *match, const char *src_field,
                                const char *dst_field, uint8_t nw_proto,
                                uint32_t group, bool deletes);

/* For struct adp_pipeline. */
#define ADP_V115_N_METRIC_TABLES 12
#define ADP_V115_N_PASS_TABLES 2
extern const uint8_t adp_v115_pass_tables[ADP_V115_N_PASS_TABLES];
extern const uint8_t adp_v115_metric_tables[ADP_V115_N_METRIC_TABLES];
#define ADP_V115_N_FILLED_TABLES 4
extern const struct adp_pipeline_filled
    adp_v115_filled_tables[ADP_V115_N_FILLED_TABLES];
enum adp_flow_metric adp_v115_flow_metric(uint8_t table_id, uint64_t cookie,
                                          const struct minimatch *,
                                          uint32_t *id);

#endif /* pipeline-v115.h */
