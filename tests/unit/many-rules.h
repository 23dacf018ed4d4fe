/* SPDX-License-Identifier: Apache-2.0 */

#ifndef TESTS_MANY_RULES_H
#define TESTS_MANY_RULES_H 1

/* A state of many policy rules as text, that of the benchmark cases "state-*":
 * 20 Pods, policies of ten rules each, of which half are about one of many
 * groups of 8 addresses.  What the rules say is random. */

#include <stdlib.h>

#include "openvswitch/dynamic-string.h"
#include "random.h"
#include "record-flows.h"

#define N_PODS 20
#define RULES_OF_POLICY 10
#define RULES_OF_GROUP 20
#define N_ADDRESSES 8

static void
put_pod(struct ds *s, int i, int generation)
{
    ds_put_format(s, "{\"kind\":\"Pod\",\"name\":\"d/pod%d\","
                  "\"port\":\"pod%d\",\"mac\":\"00:00:00:00:02:%02x\","
                  "\"ips\":[\"10.10.0.%d\"]}", i, i, i,
                  10 + i + generation % 5 * 40);
}

static void
put_applied_to(struct ds *s, int i)
{
    ds_put_format(s, "{\"kind\":\"AppliedToGroup\",\"name\":\"pod%d\","
                  "\"pods\":[\"d/pod%d\"]}", i, i);
}

static void
put_group(struct ds *s, int i, int n)
{
    ds_put_format(s, "{\"kind\":\"AddressGroup\",\"name\":\"g%d\","
                  "\"addresses\":[", i);
    for (int j = 0; j < n; j++) {
        int number = i * 100 + j;

        ds_put_format(s, "%s\"10.%d.%d.%d\"", j ? "," : "",
                      40 + number / 62500, number / 250 % 250,
                      1 + number % 250);
    }
    ds_put_cstr(s, "]}");
}

static void
put_rule(struct ds *s, int n_groups)
{
    ds_put_cstr(s, "{\"direction\":\"In\",\"from\":{");
    if (random_range(2)) {
        ds_put_format(s, "\"addressGroups\":[\"g%d\"]",
                      random_range(n_groups));
    } else {
        ds_put_cstr(s, "\"ipBlocks\":[");
        for (int i = 0; i < 4; i++) {
            ds_put_format(s, "%s{\"cidr\":\"%d.%d.%d.0/24\"}", i ? "," : "",
                          11 + random_range(180), random_range(256),
                          random_range(256));
        }
        ds_put_char(s, ']');
    }
    ds_put_format(s, "},\"services\":[{\"protocol\":\"TCP\",\"port\":80},"
                  "{\"protocol\":\"TCP\",\"port\":443},"
                  "{\"protocol\":\"TCP\",\"port\":%d}]}",
                  1 + random_range(60000));
}

static void
put_policy(struct ds *s, int i, int n_groups)
{
    ds_put_format(s, "{\"kind\":\"NetworkPolicy\",\"name\":\"p%d\","
                  "\"type\":\"K8sNetworkPolicy\","
                  "\"appliedToGroups\":[\"pod%d\"],\"rules\":[", i,
                  random_range(N_PODS));
    for (int j = 0; j < RULES_OF_POLICY; j++) {
        ds_put_cstr(s, j ? "," : "");
        put_rule(s, n_groups);
    }
    ds_put_cstr(s, "]}");
}

/* All records, as an array. */
static void
put_state(struct ds *s, int n_rules)
{
    int n_groups = n_rules / RULES_OF_GROUP;

    ds_put_cstr(s, "[" NODE_RECORD);
    for (int i = 0; i < N_PODS; i++) {
        ds_put_char(s, ',');
        put_pod(s, i, 0);
        ds_put_char(s, ',');
        put_applied_to(s, i);
    }
    for (int i = 0; i < n_groups; i++) {
        ds_put_char(s, ',');
        put_group(s, i, N_ADDRESSES);
    }
    for (int i = 0; i < n_rules / RULES_OF_POLICY; i++) {
        ds_put_char(s, ',');
        put_policy(s, i, n_groups);
    }
    ds_put_char(s, ']');
}

#endif /* many-rules.h */
