/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_PUNT_H
#define ADP_PUNT_H 1

/* Why a packet goes the stock way.
 *
 * A punt is never an error: stock translation runs from the same flows, so the
 * packet fares the same, only slower.  The reasons exist to be counted and
 * shown.  Most are known when an action is compiled (adp-op.h), some only when
 * the packet is seen.
 */

/* X(SYMBOL, "name-in-statistics", "explanation"). */
#define ADP_PUNT_REASONS                                                    \
    X(NORMAL, "normal", "action NORMAL or FLOOD")                           \
    X(CONTROLLER, "controller", "packet-in to a controller")                \
    X(METER, "meter", "conntrack passes behind a meter, in a corner")       \
    X(ACTION, "action", "an action that has no compiled form")              \
    X(FRAGMENT, "fragment", "IP fragment")                                  \
    X(ALG, "alg", "connection with an application-layer gateway")           \
    X(ICMP_ERROR, "icmp-error", "ICMP error about a connection")            \
    X(BRIDGE, "bridge", "a bridge feature that is not compiled")            \
    X(PATCH, "patch", "output to a patch port")                             \
    X(TUNNEL, "tunnel", "tunnel output needs the stock path (e.g. ARP)")    \
    X(DEPTH, "depth", "too many tables on the way")                         \
    X(PORT, "port", "output to a port with special settings")               \
    X(BEHIND, "behind", "behind a punted packet of the same addresses")

enum adp_punt {
    ADP_PUNT_NONE,
#define X(SYMBOL, NAME, TEXT) ADP_PUNT_##SYMBOL,
    ADP_PUNT_REASONS
#undef X
    ADP_N_PUNTS
};

const char *adp_punt_name(enum adp_punt);
const char *adp_punt_text(enum adp_punt);

#endif /* adp-punt.h */
