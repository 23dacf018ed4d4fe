/* SPDX-License-Identifier: Apache-2.0 */

#ifndef ADP_CONFIGURE_H
#define ADP_CONFIGURE_H 1

/* What other_config and external_ids of a bridge, and other_config of the
 * daemon, say.  For the main thread. */

#include <stdbool.h>

struct adp_bridge;
struct smap;

/* Of a value that is not what it may be the log tells, once, and the one so
 * far holds; before there was any, the default does. */
void adp_configure(struct adp_bridge *, const struct smap *other_config,
                   const struct smap *external_ids);
/* The bridge goes, perhaps before it was configured. */
void adp_configure_forget(struct adp_bridge *);

/* The same for other_config of the Open_vSwitch table. */
void adp_configure_daemon(const struct smap *other_config);

/* One that is true or false in other_config of the Open_vSwitch table. */
struct adp_switch {
    const char *key;
    bool normal;                /* Without the key. */
    bool is_known;              /* Was there ever a right one, or none? */
    bool value;                 /* If so. */
    char *wrong;                /* What it is instead of a right one. */
};

/* Sets 'value', the same way. */
void adp_switch_configure(struct adp_switch *,
                          const struct smap *other_config);

#endif /* adp-configure.h */
