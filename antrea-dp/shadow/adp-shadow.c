/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-shadow.h"

#include "adp-bridge-shared.h"
#include "adp-sample.h"
#include "adp-shadow-compare.h"
#include "adp-shadow-report.h"
#include "adp-shadow-translate.h"
#include "adp-tunnel.h"
#include "adp-turn.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "unixctl.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(adp_shadow);

struct adp_shadow {
    uint64_t n_compared, n_equal, n_different, n_stale;
    uint64_t n_unfit[ADP_SHADOW_N_UNFIT];
    uint64_t n_equal_by[ADP_SAMPLE_N_WAYS];     /* Of 'n_equal'. */

    /* The latest, of which number 'n_different' modulo the size is the
     * oldest. */
    struct json *kept[ADP_SHADOW_MAX_KEPT];
};

/* How many samples are to be made wrong. */
static unsigned int n_to_spoil;

struct adp_shadow *
adp_shadow_create(void)
{
    return xzalloc(sizeof(struct adp_shadow));
}

void
adp_shadow_destroy(struct adp_shadow *shadow)
{
    if (shadow) {
        for (size_t i = 0; i < ARRAY_SIZE(shadow->kept); i++) {
            json_destroy(shadow->kept[i]);
        }
        free(shadow);
    }
}

/* Does 'b' look as it did to the sample?  Sets '*version' to that of its
 * tables. */
static bool
is_current(struct adp_bridge *b, const struct adp_sample *s,
           ovs_version_t *version)
{
    const struct adp_ports *ports = ovsrcu_get(struct adp_ports *, &b->ports);

    /* No version comes without its program in between. */
    adp_bridge_lock_tables();
    const struct adp_program *program = ovsrcu_get(struct adp_program *,
                                                   &b->program);
    bool current = program->generation == s->generation;
    *version = ofproto_dpif_get_tables_version(&b->dpif);
    ovs_mutex_unlock(&ofproto_mutex);

    return (current && adp_ports_serial(ports) == s->ports_serial
            && (!s->tunnel_serial
                || s->tunnel_serial == adp_tunnels_serial(b->tunnels)));
}

static void
keep(struct adp_bridge *b, const struct adp_sample *s,
     const struct adp_shadow_translation *upstream,
     const struct adp_shadow_comparison *cmp)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(1, 5);
    struct adp_shadow *shadow = b->shadow;
    struct json **kept = &shadow->kept[shadow->n_different
                                       % ARRAY_SIZE(shadow->kept)];

    json_destroy(*kept);
    *kept = adp_shadow_report(b, s, upstream, cmp);
    shadow->n_different++;
    if (!VLOG_DROP_WARN(&rl)) {
        char *parts = adp_shadow_parts(cmp);
        char *port = adp_shadow_port_name(b, s);

        VLOG_WARN("bridge %s: a packet from port %s (by %s) fares otherwise "
                  "than in upstream's translation: %s; see \"ovs-appctl "
                  "antrea-dp/shadow-show %s\"", b->dpif.up.name, port,
                  adp_sample_way_name(s->way), parts, b->dpif.up.name);
        free(parts);
        free(port);
    }
}

/* Returns false if the sample is to be looked at once more. */
static bool
count(struct adp_bridge *b, struct adp_sample *s,
      enum adp_shadow_unfit unfit,
      const struct adp_shadow_translation *upstream,
      const struct adp_shadow_comparison *cmp)
{
    struct adp_shadow *shadow = b->shadow;

    if (unfit) {
        shadow->n_unfit[unfit]++;
    } else if (!cmp->any_differs) {
        shadow->n_compared++;
        shadow->n_equal++;
        shadow->n_equal_by[s->way]++;
    } else if (!s->is_suspect) {
        s->is_suspect = true;
        return false;
    } else {
        shadow->n_compared++;
        keep(b, s, upstream, cmp);
    }
    return true;
}

static bool
compare(struct adp_bridge *b, struct adp_sample *s,
        ovs_version_t version)
{
    struct adp_shadow_translation upstream;
    struct adp_shadow_comparison cmp;
    enum adp_shadow_unfit unfit;

    unfit = adp_shadow_translate(b, s, version, &upstream);
    if (unfit) {
        adp_shadow_translation_uninit(&upstream);
        return count(b, s, unfit, NULL, NULL);
    }
    unfit = adp_shadow_compare(s, &upstream, &cmp);
    bool done = count(b, s, unfit, &upstream, &cmp);
    adp_shadow_comparison_uninit(&cmp);
    adp_shadow_translation_uninit(&upstream);
    return done;
}

static bool
judge(struct adp_sample *s, void *slice OVS_UNUSED)
{
    struct adp_bridge *b = adp_bridge_of_serial(s->bridge);
    ovs_version_t version;

    if (!b) {
        return true;
    }

    enum adp_shadow_unfit unfit = adp_shadow_sample_unfit(s);
    if (unfit) {
        b->shadow->n_unfit[unfit]++;
    } else if (!is_current(b, s, &version)) {
        b->shadow->n_stale++;
    } else {
        if (n_to_spoil && !s->is_suspect) {
            n_to_spoil--;
            s->done.actions.size = 0;
        }
        return compare(b, s, version);
    }
    return true;
}

/* Spoiling. */

static void
spoil(struct unixctl_conn *conn, int argc OVS_UNUSED, const char *argv[],
      void *aux OVS_UNUSED)
{
    if (str_to_uint(argv[1], 10, &n_to_spoil)) {
        unixctl_command_reply(conn, NULL);
    } else {
        unixctl_command_reply_error(conn, "how many?");
    }
}

void
adp_shadow_add_spoiling(void)
{
    unixctl_command_register("antrea-dp/shadow-spoil", "N", 1, 1, spoil,
                             NULL);
}

static bool
goes_on(void *slice)
{
    return adp_turn_slice_goes_on(slice);
}

void
adp_shadow_run(void)
{
    struct adp_turn_slice slice;

    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_SHADOW);
    adp_turn_slice_init(&slice);
    adp_samples_drain(goes_on, judge, &slice);
    adp_turn_leave(outer);
}

void
adp_shadow_wait(void)
{
    adp_samples_wait();
}

static void
put_count(struct json *o, const char *name, uint64_t n)
{
    json_object_put(o, name, json_integer_create(n));
}

struct json *
adp_shadow_stats(const struct adp_bridge *b)
{
    const struct adp_shadow *shadow = b->shadow;
    struct json *uncompared = json_object_create();
    struct json *equal_by = json_object_create();
    struct json *o = json_object_create();

    put_count(o, "rate", adp_samples_rate());
    put_count(o, "sampled", adp_counted(&b->counters.sampled));
    put_count(o, "lost", adp_counted(&b->counters.samples_lost));
    put_count(o, "compared", shadow->n_compared);
    put_count(o, "equal", shadow->n_equal);
    put_count(o, "different", shadow->n_different);
    put_count(o, "stale", shadow->n_stale);
    for (int i = ADP_SHADOW_FIT + 1; i < ADP_SHADOW_N_UNFIT; i++) {
        put_count(uncompared, adp_shadow_unfit_name(i), shadow->n_unfit[i]);
    }
    json_object_put(o, "uncompared", uncompared);
    for (int i = ADP_SAMPLE_STOCK + 1; i < ADP_SAMPLE_N_WAYS; i++) {
        put_count(equal_by, adp_sample_way_name(i), shadow->n_equal_by[i]);
    }
    json_object_put(o, "equal_by", equal_by);
    return o;
}

struct json *
adp_shadow_differences(const struct adp_bridge *b)
{
    const struct adp_shadow *shadow = b->shadow;
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < ARRAY_SIZE(shadow->kept); i++) {
        const struct json *kept
            = shadow->kept[(shadow->n_different + i)
                           % ARRAY_SIZE(shadow->kept)];

        if (kept) {
            json_array_add(array, json_clone(kept));
        }
    }
    return array;
}
