/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "adp-show-turns.h"

#include "adp-turn.h"
#include "openvswitch/json.h"
#include "util.h"

static struct json *
sections_to_json(const uint64_t section_us[ADP_TURN_N_SECTIONS])
{
    struct json *o = json_object_create();

    for (int i = 0; i < ADP_TURN_N_SECTIONS; i++) {
        if (section_us[i]) {
            json_object_put(o, adp_turn_section_name(i),
                            json_integer_create(section_us[i]));
        }
    }
    return o;
}

static struct json *
turn_to_json(const struct adp_turn *turn, long long int now)
{
    struct json *o = json_object_create();

    json_object_put(o, "us", json_integer_create(turn->us));
    json_object_put(o, "cpu_us", json_integer_create(turn->cpu_us));
    if (turn->us) {
        json_object_put(o, "ago_ms",
                        json_integer_create((now - turn->began) / 1000));
    }
    json_object_put(o, "section_us", sections_to_json(turn->section_us));
    return o;
}

struct json *
adp_show_turns(bool take)
{
    long long int now = adp_turn_now();
    struct json *o = json_object_create();
    struct json *longer = json_object_create();
    struct adp_turn_counts c;

    adp_turn_get_counts(&c, take);
    json_object_put(o, "count", json_integer_create(c.n_turns));
    for (int i = 0; i < ADP_TURN_N_BOUNDS; i++) {
        json_object_put_nocopy(longer, xasprintf("%d", adp_turn_bounds_ms[i]),
                               json_integer_create(c.n_longer[i]));
    }
    json_object_put(o, "longer_than_ms", longer);
    json_object_put(o, "section_us", sections_to_json(c.section_us));
    json_object_put(o, "longest", turn_to_json(&c.longest, now));

    struct json *recent = turn_to_json(&c.recent, now);
    json_object_put(recent, "since_ms",
                    json_integer_create((now - c.recent_since) / 1000));
    json_object_put(o, "recent", recent);
    return o;
}
