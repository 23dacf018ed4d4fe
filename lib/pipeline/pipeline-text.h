/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PIPELINE_TEXT_H
#define ADP_PIPELINE_TEXT_H 1

/* Flow templates: flow text in which constants stand by name.
 *
 * A template is text in the syntax of ovs-ofctl in which the names of the
 * pipeline's vocabulary stand in braces.  With the one of v1.15:
 *
 *   {FromPodRegMark}       the mark: "reg0=0x3/0xf" in a match,
 *                          "set_field:0x3/0xf->reg0" in actions
 *   {A+B}                  both marks, which are in one register
 *   {EndpointIPField=0x1}  the same for a field and a value of one's own
 *   {EndpointPortField[]}  the field as such: "NXM_NX_REG4[0..15]"
 *   {CtZone}               the constant's text
 *   {ip_src}               "nw_src", or "ipv6_src" where the flow is for IPv6
 *
 * Actions begin at "actions=".
 *
 * Thread-safety: no state.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "openvswitch/dynamic-string.h"

struct ofpbuf;

/* A named run of bits, with a value if it is a mark. */
struct adp_text_bits {
    const char *name;
    const char *storage;        /* "reg0", "ct_mark", ... */
    uint8_t first, last;
    bool is_mark;
    uint32_t value;
};

struct adp_text_const {
    const char *name;
    const char *text;
};

/* The names that templates of one pipeline may use. */
struct adp_vocabulary {
    const struct adp_text_bits *bits;
    size_t n_bits;
    const struct adp_text_const *consts;
    size_t n_consts;
    const struct adp_text_const *words; /* Names that stand for other text in
                                         * each family of addresses. */
    size_t n_words;
    bool loads;                 /* Actions read "load:0x3->NXM_NX_REG0[0..3]"
                                 * instead of "set_field:0x3/0xf->reg0". */
};

/* Initializers of struct adp_text_bits. */
#define ADP_TEXT_FIELD(NAME, STORAGE, FIRST, LAST) \
    { #NAME, STORAGE, FIRST, LAST, false, 0 },
#define ADP_TEXT_MARK(NAME, STORAGE, FIRST, LAST, VALUE) \
    { #NAME, STORAGE, FIRST, LAST, true, VALUE },

/* Appends 'template' to 's' with its names replaced.  If 'actions' is true,
 * all of it is actions.  A wrong template is a bug and aborts. */
void adp_text_expand(struct ds *s, const struct adp_vocabulary *,
                     const char *template, bool actions);

/* Appends to 'actions' what "{NAME}" of a mark, or "{NAME=VALUE}" of a field,
 * both of a register of 32 bits, makes of a template's. */
void adp_text_put_mark(struct ofpbuf *actions, const struct adp_vocabulary *,
                       const char *name);
void adp_text_put_field(struct ofpbuf *actions, const struct adp_vocabulary *,
                        const char *name, uint32_t value);

/* The text of a constant, NULL if there is no such. */
const char *adp_text_const(const struct adp_vocabulary *, const char *name);

#endif /* pipeline-text.h */
