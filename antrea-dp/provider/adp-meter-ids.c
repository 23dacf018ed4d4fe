/* SPDX-License-Identifier: Apache-2.0 */

/* Numbers for the datapath's meters.
 *
 * Upstream takes them in the main thread and gives them back in the one that
 * runs RCU callbacks, when packet threads have forgotten the meter, and there
 * is no lock: a controller that replaces its meters spoils the pool.  So the
 * linker puts these between (--wrap, in automake.mk).  Other pools have locks
 * of their own, which come first. */

#include <config.h>

#include "id-pool.h"
#include "ovs-thread.h"

bool __real_id_pool_alloc_id(struct id_pool *, uint32_t *id);
bool __wrap_id_pool_alloc_id(struct id_pool *, uint32_t *id);
void __real_id_pool_free_id(struct id_pool *, uint32_t id);
void __wrap_id_pool_free_id(struct id_pool *, uint32_t id);

static struct ovs_mutex mutex = OVS_MUTEX_INITIALIZER;

bool
__wrap_id_pool_alloc_id(struct id_pool *pool, uint32_t *id)
{
    ovs_mutex_lock(&mutex);
    bool ok = __real_id_pool_alloc_id(pool, id);
    ovs_mutex_unlock(&mutex);
    return ok;
}

void
__wrap_id_pool_free_id(struct id_pool *pool, uint32_t id)
{
    ovs_mutex_lock(&mutex);
    __real_id_pool_free_id(pool, id);
    ovs_mutex_unlock(&mutex);
}
