/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_V115_TEXT_H
#define ADP_PIPELINE_V115_TEXT_H 1

/* Flow templates: flow text in which constants stand by name.
 *
 * A template is text in the syntax of ovs-ofctl in which pipeline-v115.def's
 * names stand in braces:
 *
 *   {FromPodRegMark}       the mark: "reg0=0x3/0xf" in a match,
 *                          "set_field:0x3/0xf->reg0" in actions
 *   {A+B}                  both marks, which are in one register
 *   {EndpointIPField=0x1}  the same for a field and a value of one's own
 *   {EndpointPortField[]}  the field as such: "NXM_NX_REG4[0..15]"
 *   {CtZone}               the constant's text
 *
 * Actions begin at "actions=".
 *
 * Thread-safety: no state.
 */

#include <stdbool.h>
#include "openvswitch/dynamic-string.h"

/* Appends 'template' to 's' with its names replaced.  If 'actions' is true,
 * all of it is actions.  A wrong template is a bug and aborts. */
void adp_v115_expand(struct ds *s, const char *template, bool actions);

/* The text of an ADP_CONST, NULL if there is no such. */
const char *adp_v115_const(const char *name);

#endif /* pipeline-v115-text.h */
