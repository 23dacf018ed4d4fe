/* SPDX-License-Identifier: Apache-2.0 */

#ifndef DPCTL_HTML_H
#define DPCTL_HTML_H 1

/* A traced packet's walk as a page.
 *
 * One document that needs nothing else: no scripts, no references to the
 * outside.  It is well-formed XML, too, so that any parser can read it.  Each
 * visit (dpctl-walk.h) is an <article data-table="ID">, in the order of the
 * walk; in the drawing each table is a <g data-table="ID">, of class "on" if
 * the packet came there, and each step from one table to the next a
 * <path class="edge" data-from="ID" data-to="ID">, in the order of the walk.
 *
 * A run of visits that only hit the flow for all other packets is folded away
 * (<details>).
 *
 * Pure functions on the answer to `trace`, in which a member "page" may tell
 * "node", "time" and "version", for the top of the page.
 */

#include "openvswitch/json.h"

struct ds;

/* Appends 'text' so that it means itself in text and in attributes.  What XML
 * can't hold (control characters, what isn't UTF-8) becomes U+FFFD. */
void dpctl_html_escape(const char *text, struct ds *);
/* The same for what 'format' makes. */
void dpctl_html_format(struct ds *, const char *format, ...)
    OVS_PRINTF_FORMAT(2, 3);

/* The page. */
void dpctl_html_walk(const struct json *trace, struct ds *);
/* Its parts: the style sheet, and the drawing of the pipeline as SVG. */
extern const char dpctl_html_style[];
void dpctl_html_pipeline(const struct json *trace, struct ds *);

#endif /* dpctl-html.h */
