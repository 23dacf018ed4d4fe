/* SPDX-License-Identifier: Apache-2.0 */

/* The worked example of docs/pipelines.md: Pods of one Node, each of which may
 * open connections to every other, and nobody else to them. */

#include <config.h>
#include "example-pipeline.h"

#include <inttypes.h>

#include "packets.h"
#include "pipeline-gen.h"
#include "util.h"

enum { ADMIT, TRACK, FILTER, DELIVER };

static const struct adp_pipeline_table tables[] = {
    [ADMIT] = { "Admit", 0, "drop" },
    [TRACK] = { "Track", 1, "drop" },
    [FILTER] = { "Filter", 2, "drop" },
    [DELIVER] = { "Deliver", 5, "drop" },
};

static const struct adp_text_bits bits[] = {
    ADP_TEXT_MARK(FromPod, "reg0", 0, 3, 1)
    ADP_TEXT_MARK(FromGateway, "reg0", 0, 3, 2)
    ADP_TEXT_FIELD(Port, "reg1", 0, 31)
};

static const struct adp_text_const consts[] = {
    { "Zone", "100" },
};

static const struct adp_vocabulary vocabulary = {
    .bits = bits,
    .n_bits = ARRAY_SIZE(bits),
    .consts = consts,
    .n_consts = ARRAY_SIZE(consts),
};

static const struct adp_static_flow static_flows[] = {
    { TRACK, 100, "ip actions=ct(table=Filter,zone={Zone})" },
    { FILTER, 200, "ct_state=+inv+trk,ip actions=drop" },
    { FILTER, 100, "ct_state=+est+trk,ip actions=goto_table:Deliver" },
    { FILTER, 100, "ct_state=+new+trk,ip,{FromPod} "
      "actions=ct(commit,zone={Zone}),goto_table:Deliver" },
};

enum { OPTION_PROBES };

static const struct adp_pipeline_option options[] = {
    [OPTION_PROBES] = { "probes", "the gateway may open connections, too",
                        NULL },
};

/* Categories of cookies.  0 is for static flows. */
enum { COOKIE_NODE = 1, COOKIE_POD = 2 };

static void
generate_gateway(struct adp_generator *g)
{
    ofp_port_t port;

    if (!adp_gen_port(g, g->node->gateway_port, &port)) {
        return;
    }
    adp_gen_flow(g, COOKIE_NODE, 0, ADMIT, 100,
                 "ip,in_port=%"PRIu32" actions={FromGateway},goto_table:Track",
                 port);
    adp_gen_flow(g, COOKIE_NODE, 0, DELIVER, 100,
                 "ip,nw_dst=%s actions=output:%"PRIu32,
                 adp_ip_text(&g->node->net[ADP_IPV4].gateway_ip).s, port);
    if (adp_gen_option(g, OPTION_PROBES)) {
        adp_gen_flow(g, COOKIE_NODE, 0, FILTER, 100,
                     "ct_state=+new+trk,ip,{FromGateway} "
                     "actions=ct(commit,zone={Zone}),goto_table:Deliver");
    }
}

static void
generate_pod(struct adp_generator *g, const struct adp_record *record)
{
    const struct adp_pod *pod = CONTAINER_OF(record, struct adp_pod, up);
    ofp_port_t port;

    if (!adp_gen_port(g, pod->port, &port)) {
        return;
    }
    for (size_t i = 0; i < pod->ips.n; i++) {
        adp_gen_flow(g, COOKIE_POD, 0, ADMIT, 100,
                     "ip,in_port=%"PRIu32",dl_src="ETH_ADDR_FMT","
                     "nw_src=%s actions={FromPod},goto_table:Track",
                     port, ETH_ADDR_ARGS(pod->mac),
                     adp_ip_text(&pod->ips.ips[i]).s);
        adp_gen_flow(g, COOKIE_POD, 0, DELIVER, 100,
                     "ip,nw_dst=%s actions={Port=0x%"PRIx32"},"
                     "set_field:"ETH_ADDR_FMT"->eth_dst,output:{Port[]}",
                     adp_ip_text(&pod->ips.ips[i]).s, port,
                     ETH_ADDR_ARGS(pod->mac));
    }
}

static void
generate(struct adp_generator *g)
{
    if (g->node) {
        generate_gateway(g);
        adp_gen_for_each(g, ADP_KIND_POD, generate_pod);
    }
}

const struct adp_pipeline example_pipeline = {
    .name = "example",
    .tables = tables,
    .n_tables = ARRAY_SIZE(tables),
    .vocabulary = &vocabulary,
    .static_flows = static_flows,
    .n_static_flows = ARRAY_SIZE(static_flows),
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .kinds = (1u << ADP_KIND_NODE_CONFIG | 1u << ADP_KIND_POD),
    .generate = generate,
};
