/* SPDX-License-Identifier: Apache-2.0 */

/* Where turns of the main loop begin and end, and what upstream does in them.
 *
 * Upstream's main loop calls nobody when it wakes up or goes to sleep.  So the
 * linker puts these functions between it and what it calls (--wrap, in
 * automake.mk): __wrap_F() is called for F(), __real_F() is upstream's.
 *
 * poll_block() is also called by other threads, and by the main thread in the
 * middle of a turn, when it waits for a grace period, say: it ends a turn if
 * bridge_wait() was called before. */

#include <config.h>
#include "adp-turns.h"

#include <signal.h>

#include "adp-bridge.h"
#include "adp-control.h"
#include "adp-counted-command.h"
#include "adp-flush.h"
#include "adp-handover.h"
#include "adp-heap.h"
#include "adp-request-order.h"
#include "adp-removal.h"
#include "adp-show-log.h"
#include "adp-tunnel.h"
#include "adp-turn.h"
#include "daemon.h"
#include "fatal-signal.h"
#include "ofproto/connmgr.h"
#include "ofproto/ofproto.h"
#include "openvswitch/poll-loop.h"
#include "openvswitch/vlog.h"
#include "ovs-thread.h"
#include "ovsdb-idl.h"
#include "unixctl.h"
#include "vswitchd/bridge.h"

typedef void handle_openflow(struct ofconn *, const struct ovs_list *msgs);

void __real_bridge_exit(bool delete_datapath);
void __wrap_bridge_exit(bool delete_datapath);
void __real_bridge_wait(void);
void __wrap_bridge_wait(void);
void __real_connmgr_run(struct connmgr *, handle_openflow *);
void __wrap_connmgr_run(struct connmgr *, handle_openflow *);
int __real_ofproto_type_run(const char *);
int __wrap_ofproto_type_run(const char *);
void __real_ovsdb_idl_run(struct ovsdb_idl *);
void __wrap_ovsdb_idl_run(struct ovsdb_idl *);
void __real_poll_block(void);
void __wrap_poll_block(void);
bool __real_should_service_stop(void);
bool __wrap_should_service_stop(void);
void __real_unixctl_server_run(struct unixctl_server *);
void __wrap_unixctl_server_run(struct unixctl_server *);

DEFINE_STATIC_PER_THREAD_DATA(bool, turn_ends, false);

static bool ends;

bool
adp_turns_end(void)
{
    return ends;
}

/* Ends the process as upstream does at a signal: files that go with it are
 * deleted, the rest is left to the kernel.  To take apart all flows, ports and
 * connections takes a second and more, in which packets are lost. */
static void
end_at_once(void)
{
    adp_show_log_exit();
    adp_control_exit();
    vlog_disable_async();       /* Or the log's last lines may be missing. */
    fatal_signal_handler(SIGTERM);
    fatal_signal_run();
}

void
__wrap_bridge_exit(bool delete_datapath)
{
    ends = true;
    if (!delete_datapath && adp_handover_leave()) {
        end_at_once();
    }
    __real_bridge_exit(delete_datapath);
}

/* Upstream asks at the end of each turn. */
bool
__wrap_should_service_stop(void)
{
    return adp_handover_must_end() || __real_should_service_stop();
}

void
__wrap_bridge_wait(void)
{
    __real_bridge_wait();
    adp_flush_wait();
    adp_handover_wait();
    if (adp_heap_run()) {
        poll_immediate_wake();
    }
    *turn_ends_get() = true;
}

void
__wrap_poll_block(void)
{
    bool *ends = turn_ends_get();

    if (*ends) {
        *ends = false;
        adp_turn_end();
        __real_poll_block();
        adp_turn_begin();
    } else {
        __real_poll_block();
    }
}

void
__wrap_ovsdb_idl_run(struct ovsdb_idl *idl)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_OVSDB);

    __real_ovsdb_idl_run(idl);
    adp_turn_leave(outer);
}

int
__wrap_ofproto_type_run(const char *type)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_DATAPATH);
    /* All bridges share a datapath. */
    struct adp_bridge *b = adp_bridge_next(NULL);
    bool changes = b && adp_tunnels_expect_change(b, type);
    int error = __real_ofproto_type_run(type);

    /* Here, not when bridges run or the loop goes to sleep: in a turn that
     * changes the configuration it is done twice. */
    for (; changes && b; b = adp_bridge_next(b)) {
        adp_tunnels_note_change(b);
    }
    adp_turn_leave(outer);
    return error;
}

/* Whose requests are handled next: upstream runs a bridge, then its
 * connections.  NULL: not one of ours. */
static struct adp_bridge *served;

void
adp_turns_expect_requests(struct adp_bridge *b)
{
    served = b;
}

void
__wrap_connmgr_run(struct connmgr *mgr, handle_openflow *handle)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_OPENFLOW);

    adp_flush_serve(ADP_FLUSH_REQUEST);
    adp_request_order_serve(served);
    __real_connmgr_run(mgr, handle);
    adp_request_order_serve(NULL);
    adp_flush_serve(ADP_FLUSH_NOBODY);
    if (served) {
        adp_removal_run(served);
        served = NULL;
    }
    adp_turn_leave(outer);
}

void
__wrap_unixctl_server_run(struct unixctl_server *server)
{
    enum adp_turn_section outer = adp_turn_enter(ADP_TURN_COMMANDS);

    adp_flush_run();
    adp_counted_commands_run();
    adp_flush_serve(ADP_FLUSH_COMMAND);
    __real_unixctl_server_run(server);
    adp_flush_serve(ADP_FLUSH_NOBODY);
    adp_turn_leave(outer);
}
