/* SPDX-License-Identifier: Apache-2.0 */

/* Which pipeline a bridge runs.
 *
 * A bridge goes from one pipeline to another, from one set of options to
 * another, or to none, in one table version: a packet meets the old tables or
 * the new ones.  A pipeline owns its bridge: what was in the tables before
 * leaves with that version, whoever put it there.  The typed state stays.
 *
 * When a change is refused the bridge keeps the pipeline that it has. */

#include <config.h>
#include "adp-bridge-private.h"

#include "adp-state.h"
#include "model.h"
#include "ofproto/dp-hooks-ofproto.h"
#include "openvswitch/ofp-match.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/vlog.h"
#include "pipeline-builtin.h"
#include "pipeline.h"
#include "smap.h"

VLOG_DEFINE_THIS_MODULE(adp_bridge_pipeline);

#define DEFAULT_PIPELINE "v1.15"

struct choice {
    const struct adp_pipeline *pipeline; /* NULL: none. */
    uint64_t options;
};

/* Appends "early (service-mac, tunnel-mark)". */
static void
choice_format(const struct choice *choice, struct ds *s)
{
    ds_put_cstr(s, choice->pipeline ? choice->pipeline->name : "none");
    if (choice->options) {
        ds_put_cstr(s, " (");
        adp_pipeline_format_options(choice->pipeline, choice->options, s);
        ds_put_char(s, ')');
    }
}

/* What the bridge's configuration asks for.  Returns NULL or an error text. */
static char *
choice_parse(struct choice *choice, const struct smap *other_config)
{
    const char *name = smap_get_def(other_config, "antrea-dp-pipeline",
                                    DEFAULT_PIPELINE);
    const char *options = smap_get_def(other_config,
                                       "antrea-dp-pipeline-options", "");
    char *error = NULL;

    choice->pipeline = adp_pipeline_find(name);
    choice->options = 0;
    if (choice->pipeline) {
        error = adp_pipeline_parse_options(choice->pipeline, options,
                                           &choice->options);
    } else if (strcmp(name, "none")) {
        return xasprintf("other_config:antrea-dp-pipeline: no pipeline \"%s\" "
                         "(there are: none, %s)", name, adp_pipeline_names());
    } else if (options[strspn(options, ", ")]) {
        error = xstrdup("without a pipeline there are no options");
    }
    if (error) {
        char *text = xasprintf("other_config:antrea-dp-pipeline-options: %s",
                               error);

        free(error);
        return text;
    }
    return NULL;
}

/* What flows need to be there before them. */

static char *
ensure_meter(struct adp_bridge *b, const char *meter)
{
    struct ofputil_meter_mod mm;
    enum ofputil_protocol usable;
    char *error = parse_ofp_meter_mod_str(&mm, meter, OFPMC13_ADD, &usable);

    if (!error) {
        enum ofperr ofperr = ofproto_ensure_meter(&b->dpif.up, &mm);

        if (ofperr) {
            error = xasprintf("meter \"%s\": %s", meter,
                              ofperr_to_string(ofperr));
        }
        free(mm.meter.bands);
    }
    return error;
}

static char *
ensure_tlv_map(struct adp_bridge *b, const char *tlv_map)
{
    struct ofputil_tlv_table_mod ttm;
    enum ofputil_protocol usable;
    char *error = parse_ofp_tlv_table_mod_str(&ttm, NXTTMC_ADD, tlv_map,
                                              &usable);
    if (!error) {
        enum ofperr ofperr = ofproto_ensure_tlv_map(&b->dpif.up, &ttm);

        if (ofperr) {
            error = xasprintf("TLV map \"%s\": %s", tlv_map,
                              ofperr_to_string(ofperr));
        }
        ofputil_uninit_tlv_table(&ttm.mappings);
    }
    return error;
}

static char *
ensure_needs(struct adp_bridge *b)
{
    const struct adp_pipeline *p = b->pipeline;
    char *error = NULL;

    for (size_t i = 0; i < p->n_meters && !error; i++) {
        error = ensure_meter(b, p->meters[i]);
    }
    for (size_t i = 0; i < p->n_options && !error; i++) {
        if (b->pipeline_options & UINT64_C(1) << i && p->options[i].tlv_map) {
            error = ensure_tlv_map(b, p->options[i].tlv_map);
        }
    }
    return error;
}

void
adp_bridge_reinstall_pipeline(struct adp_bridge *b)
{
    char *error = ensure_needs(b);

    if (error) {
        VLOG_ERR("bridge %s: %s", b->dpif.up.name, error);
        free(error);
    }
    adp_state_sync(b->state, true);
}

/* Changing. */

static void
name_tables(struct adp_bridge *b)
{
    ofputil_table_map_destroy(&b->table_map);
    ofputil_table_map_init(&b->table_map);
    for (size_t i = 0; b->pipeline && i < b->pipeline->n_tables; i++) {
        const struct adp_pipeline_table *t = &b->pipeline->tables[i];

        ofproto_name_table(&b->dpif.up, t->id, t->name);
        ofputil_table_map_put(&b->table_map, t->id, t->name);
    }
}

static void
unname_tables(struct adp_bridge *b)
{
    for (size_t i = 0; b->pipeline && i < b->pipeline->n_tables; i++) {
        ofproto_name_table(&b->dpif.up, b->pipeline->tables[i].id, NULL);
    }
}

static void
set_choice(struct adp_bridge *b, const struct choice *choice)
{
    unname_tables(b);
    b->pipeline = choice->pipeline;
    b->pipeline_options = choice->options;
    name_tables(b);
}

/* Empties the bridge, for a controller or, if there is none, for what upstream
 * does then. */
static char *
install_none(struct adp_bridge *b)
{
    char *error = adp_bridge_commit(b, NULL, 0, NULL, 0, true);

    if (!error) {
        ofproto_flush_flows(&b->dpif.up);
        if (b->state) {
            adp_state_forget_flows(b->state);
        }
    }
    return error;
}

static char *
install_pipeline(struct adp_bridge *b, bool replace)
{
    char *text = ensure_needs(b);

    if (text) {
        return text;
    }
    if (!b->state) {
        b->state = adp_state_create(b);
    }
    adp_bridge_rebuild_ports(b);

    struct adp_error *error = adp_state_install(b->state, replace);
    if (error) {
        text = xstrdup(error->message);
        adp_error_destroy(error);
    }
    return text;
}

static char *
change_choice(struct adp_bridge *b, const struct choice *choice)
{
    const struct choice old = { b->pipeline, b->pipeline_options };
    bool replace = choice->pipeline != old.pipeline;

    set_choice(b, choice);
    char *error = (choice->pipeline ? install_pipeline(b, replace)
                   : install_none(b));
    if (error) {
        set_choice(b, &old);
    }
    return error;
}

/* Takes 'error'; NULL if all is well. */
static void
note_error(struct adp_bridge *b, char *error)
{
    if (error && !nullable_string_is_equal(error, b->pipeline_error)) {
        const struct choice kept = { b->pipeline, b->pipeline_options };
        struct ds s = DS_EMPTY_INITIALIZER;

        choice_format(&kept, &s);
        VLOG_ERR("bridge %s: %s; keeping pipeline %s", b->dpif.up.name, error,
                 ds_cstr(&s));
        ds_destroy(&s);
    }
    free(b->pipeline_error);
    b->pipeline_error = error;
}

void
adp_bridge_configure_pipeline(struct adp_bridge *b,
                              const struct smap *other_config)
{
    struct choice choice;
    char *error = choice_parse(&choice, other_config);

    if (!error && (choice.pipeline != b->pipeline
                   || choice.options != b->pipeline_options)) {
        error = change_choice(b, &choice);
        if (!error) {
            struct ds s = DS_EMPTY_INITIALIZER;

            choice_format(&choice, &s);
            VLOG_INFO("bridge %s: pipeline %s", b->dpif.up.name, ds_cstr(&s));
            ds_destroy(&s);
        }
    }
    note_error(b, error);
}
