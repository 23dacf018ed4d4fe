/* SPDX-License-Identifier: Apache-2.0 */

/* Prints what a built-in pipeline makes of records, or brings flows and groups
 * into one form, so that they can be compared as text. */

#include <config.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "model.h"
#include "openvswitch/match.h"
#include "openvswitch/ofp-actions.h"
#include "openvswitch/ofp-flow.h"
#include "openvswitch/ofp-group.h"
#include "openvswitch/ofp-port.h"
#include "openvswitch/ofp-table.h"
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline.h"
#include "svec.h"
#include "util.h"

static struct ofputil_port_map port_map;
static struct ofputil_table_map table_map;

static void OVS_NO_RETURN
usage(void)
{
    printf("usage: %s [OPTION]... RECORDS.json [PORT=NUMBER]...\n"
           "       %s --normalize [PORT=NUMBER]... < FLOWS\n"
           "Prints the flows of the records in a file (a JSON array, or an\n"
           "object with such an array in \"records\"), in the syntax of\n"
           "ovs-ofctl.  The bridge's ports are those given.\n"
           "  --flows, --groups, --meters, --tables   what to print "
           "(default: flows)\n"
           "  --pipeline=NAME   one of %s (default: v1.15)\n"
           "  --options=LIST    of the pipeline\n"
           "  --round=N         round number in cookies (default: 1)\n"
           "  --normalize       print the flows and groups that stand in the\n"
           "                    input, one a line, in one form\n",
           program_name, program_name, adp_pipeline_names());
    exit(EXIT_FAILURE);
}

static void
add_port(const char *arg)
{
    const char *eq = strrchr(arg, '=');
    unsigned int number;

    if (!eq || eq == arg || !str_to_uint(eq + 1, 0, &number)
        || number >= ofp_to_u16(OFPP_MAX)) {
        ovs_fatal(0, "%s: not PORT=NUMBER", arg);
    }

    char *name = xmemdup0(arg, eq - arg);
    ofputil_port_map_put(&port_map, u16_to_ofp(number), name);
    free(name);
}

static bool
port_number(const char *name, ofp_port_t *port, void *aux OVS_UNUSED)
{
    *port = ofputil_port_map_get_number(&port_map, name);
    return *port != OFPP_NONE;
}

/* Normalizing. */

static void
normalize_flow(const char *line, struct ds *out)
{
    enum ofputil_protocol usable;
    struct ofputil_flow_mod fm;
    char *error = parse_ofp_flow_mod_str(&fm, line, &port_map, &table_map,
                                         OFPFC_ADD, &usable);
    if (error) {
        ovs_fatal(0, "%s: %s", line, error);
    }

    struct match match;
    struct ofpact_format_params fp = {
        .port_map = &port_map, .table_map = &table_map, .s = out,
    };
    minimatch_expand(&fm.match, &match);
    ds_put_cstr(out, "table=");
    ofputil_format_table(fm.table_id, &table_map, out);
    ds_put_cstr(out, ", ");
    if (fm.hard_timeout) {
        ds_put_format(out, "hard_timeout=%"PRIu16", ", fm.hard_timeout);
    }
    ds_put_format(out, "priority=%d", fm.priority);

    struct ds match_s = DS_EMPTY_INITIALIZER;
    match_format(&match, &port_map, &match_s, OFP_DEFAULT_PRIORITY);
    if (match_s.length) {
        ds_put_format(out, ",%s", ds_cstr(&match_s));
    }
    ds_destroy(&match_s);
    ds_put_cstr(out, " actions=");
    ofpacts_format(fm.ofpacts, fm.ofpacts_len, &fp);

    minimatch_destroy(&fm.match);
    free(fm.ofpacts);
}

static void
normalize_group(const char *line, struct ds *out)
{
    enum ofputil_protocol usable;
    struct ofputil_group_mod gm;
    char *error = parse_ofp_group_mod_str(&gm, OFPGC11_ADD, line, &port_map,
                                          &table_map, &usable);
    if (error) {
        ovs_fatal(0, "%s: %s", line, error);
    }

    struct ofpact_format_params fp = {
        .port_map = &port_map, .table_map = &table_map, .s = out,
    };
    ds_put_format(out, "group_id=%"PRIu32",type=%s", gm.group_id,
                  gm.type == OFPGT11_SELECT ? "select"
                  : gm.type == OFPGT11_ALL ? "all" : "other");

    const struct ofputil_bucket *bucket;
    LIST_FOR_EACH (bucket, list_node, &gm.buckets) {
        ds_put_format(out, ",bucket=bucket_id:%"PRIu32",weight:%"PRIu16
                      ",actions=", bucket->bucket_id, bucket->weight);
        ofpacts_format(bucket->ofpacts, bucket->ofpacts_len, &fp);
    }
    ofputil_uninit_group_mod(&gm);
}

static void
normalize(void)
{
    struct ds in = DS_EMPTY_INITIALIZER;
    struct ds out = DS_EMPTY_INITIALIZER;

    while (!ds_get_line(&in, stdin)) {
        const char *line = ds_cstr(&in) + strspn(ds_cstr(&in), " ");

        ds_clear(&out);
        if (!strncmp(line, "group_id=", 9)) {
            normalize_group(line, &out);
        } else {
            normalize_flow(line, &out);
        }
        puts(ds_cstr(&out));
    }
    ds_destroy(&in);
    ds_destroy(&out);
}

/* Generating. */

static void OVS_NO_RETURN
fail(struct adp_error *error)
{
    ovs_fatal(0, "%s", error->message);
}

static void
print_sorted(const struct shash *texts)
{
    struct svec sorted = SVEC_EMPTY_INITIALIZER;
    const struct shash_node *node;

    SHASH_FOR_EACH (node, texts) {
        svec_add(&sorted, node->name);
    }
    svec_sort(&sorted);
    for (size_t i = 0; i < sorted.n; i++) {
        puts(sorted.names[i]);
    }
    svec_destroy(&sorted);
}

static struct json *
read_records(const char *file_name)
{
    struct json *json = json_from_file(file_name);

    if (json->type == JSON_STRING) {
        ovs_fatal(0, "%s: %s", file_name, json_string(json));
    }
    if (json->type == JSON_OBJECT) {
        const struct json *records = shash_find_data(json->object, "records");

        if (!records) {
            ovs_fatal(0, "%s: no \"records\"", file_name);
        }
        struct json *clone = json_clone(records);
        json_destroy(json);
        json = clone;
    }
    return json;
}

static void
generate(const struct adp_pipeline *pipeline, uint64_t pipeline_options,
         const char *file_name, uint16_t round, bool groups)
{
    struct adp_model_env env = {
        .port_number = port_number,
        .round = round,
        .options = pipeline_options,
    };
    struct json *records = read_records(file_name);
    struct adp_model *model = adp_model_create();
    struct adp_pipeline_state *state = adp_pipeline_state_create();
    struct adp_flow_set set;
    struct adp_error *error;

    adp_flow_set_init(&set);
    error = adp_model_apply(model, records, NULL);
    if (!error) {
        error = adp_model_check(model, &env);
    }
    if (!error) {
        error = adp_pipeline_generate(pipeline, model, state, &env, &set);
    }
    if (error) {
        fail(error);
    }
    print_sorted(groups ? &set.groups : &set.flows);

    adp_flow_set_uninit(&set);
    adp_pipeline_state_destroy(state);
    adp_model_destroy(model);
    json_destroy(records);
}

int
main(int argc, char *argv[])
{
    enum {
        FLOWS, GROUPS, METERS, TABLES, NORMALIZE, ROUND, PIPELINE, OPTIONS
    };
    static const struct option options[] = {
        { "flows", no_argument, NULL, FLOWS },
        { "groups", no_argument, NULL, GROUPS },
        { "meters", no_argument, NULL, METERS },
        { "tables", no_argument, NULL, TABLES },
        { "normalize", no_argument, NULL, NORMALIZE },
        { "round", required_argument, NULL, ROUND },
        { "pipeline", required_argument, NULL, PIPELINE },
        { "options", required_argument, NULL, OPTIONS },
        { NULL, 0, NULL, 0 },
    };
    const char *pipeline_name = "v1.15";
    const char *option_list = "";
    uint64_t pipeline_options;
    int what = FLOWS;
    int round = 1;
    int option;

    set_program_name(argv[0]);
    /* Upstream warns of what normalizing changes; that is the purpose. */
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_ERR);
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == ROUND) {
            round = atoi(optarg);
        } else if (option == PIPELINE) {
            pipeline_name = optarg;
        } else if (option == OPTIONS) {
            option_list = optarg;
        } else if (option == '?') {
            usage();
        } else {
            what = option;
        }
    }

    const struct adp_pipeline *pipeline = adp_pipeline_find(pipeline_name);
    if (!pipeline) {
        ovs_fatal(0, "no pipeline \"%s\" (there are: %s)", pipeline_name,
                  adp_pipeline_names());
    }
    char *error = adp_pipeline_parse_options(pipeline, option_list,
                                             &pipeline_options);
    if (error) {
        ovs_fatal(0, "%s", error);
    }

    ofputil_port_map_init(&port_map);
    adp_pipeline_init_table_map(pipeline, &table_map);

    if (what == METERS) {
        for (size_t i = 0; i < pipeline->n_meters; i++) {
            puts(pipeline->meters[i]);
        }
    } else if (what == TABLES) {
        for (size_t i = 0; i < pipeline->n_tables; i++) {
            printf("%"PRIu8" %s\n", pipeline->tables[i].id,
                   pipeline->tables[i].name);
        }
    } else {
        if (what != NORMALIZE && optind >= argc) {
            usage();
        }
        for (int i = optind + (what != NORMALIZE); i < argc; i++) {
            add_port(argv[i]);
        }
        if (what == NORMALIZE) {
            normalize();
        } else {
            generate(pipeline, pipeline_options, argv[optind], round,
                     what == GROUPS);
        }
    }
    ofputil_port_map_destroy(&port_map);
    ofputil_table_map_destroy(&table_map);
    return 0;
}
