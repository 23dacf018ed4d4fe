/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_SHADOW_REPORT_H
#define ADP_SHADOW_REPORT_H 1

/* A difference as JSON, with all that it takes to see it again. */

struct adp_bridge;
struct adp_sample;
struct adp_shadow_comparison;
struct adp_shadow_translation;
struct json;

struct json *adp_shadow_report(const struct adp_bridge *,
                               const struct adp_sample *,
                               const struct adp_shadow_translation *,
                               const struct adp_shadow_comparison *);
/* The parts that differ, by a comma each; the caller frees it. */
char *adp_shadow_parts(const struct adp_shadow_comparison *);
/* The name of the sample's port; the caller frees it. */
char *adp_shadow_port_name(const struct adp_bridge *,
                           const struct adp_sample *);

#endif /* adp-shadow-report.h */
