# SPDX-License-Identifier: Apache-2.0

# ovs-vswitchd: upstream's own main program with our provider linked in.  The
# provider registers itself in constructors, upstream never names it.

sbin_PROGRAMS += antrea-dp/ovs-vswitchd
antrea_dp_ovs_vswitchd_SOURCES = \
	antrea-dp/adp-appctl.c \
	antrea-dp/adp-appctl.h \
	antrea-dp/adp-behind.h \
	antrea-dp/adp-bridge-pipeline.c \
	antrea-dp/adp-bridge-private.h \
	antrea-dp/adp-bridge.c \
	antrea-dp/adp-bridge.h \
	antrea-dp/adp-cache.c \
	antrea-dp/adp-cache.h \
	antrea-dp/adp-cached.c \
	antrea-dp/adp-cached.h \
	antrea-dp/adp-control-appctl.c \
	antrea-dp/adp-control-appctl.h \
	antrea-dp/adp-control-methods.c \
	antrea-dp/adp-control-methods.h \
	antrea-dp/adp-control.c \
	antrea-dp/adp-control.h \
	antrea-dp/adp-ct.c \
	antrea-dp/adp-ct.h \
	antrea-dp/adp-draft.c \
	antrea-dp/adp-draft.h \
	antrea-dp/adp-expire.c \
	antrea-dp/adp-fast.c \
	antrea-dp/adp-fast.h \
	antrea-dp/adp-fold.c \
	antrea-dp/adp-install.c \
	antrea-dp/adp-input.c \
	antrea-dp/adp-journal.c \
	antrea-dp/adp-memo.c \
	antrea-dp/adp-memo.h \
	antrea-dp/adp-ports.c \
	antrea-dp/adp-ports.h \
	antrea-dp/adp-provider.c \
	antrea-dp/adp-rewrite.c \
	antrea-dp/adp-rewrite.h \
	antrea-dp/adp-show-names.c \
	antrea-dp/adp-show-stats.c \
	antrea-dp/adp-show-trace.c \
	antrea-dp/adp-show-trace.h \
	antrea-dp/adp-show.c \
	antrea-dp/adp-state-flows.c \
	antrea-dp/adp-state-flows.h \
	antrea-dp/adp-state-order.c \
	antrea-dp/adp-state-order.h \
	antrea-dp/adp-state.c \
	antrea-dp/adp-state.h \
	antrea-dp/adp-tunnel.c \
	antrea-dp/adp-tunnel.h \
	antrea-dp/adp-walk.c \
	antrea-dp/adp-walk.h
antrea_dp_ovs_vswitchd_LDADD = \
	$(OVS_VSWITCHD_OBJECTS) \
	antrea-dp/libcontrol.la \
	lib/libadp.la \
	$(OVS_VSWITCHD_LIBS) \
	$(DPDK_LIBS)

# The part of the control socket that knows no daemon, for unit tests too.
noinst_LTLIBRARIES += antrea-dp/libcontrol.la
antrea_dp_libcontrol_la_SOURCES = \
	antrea-dp/adp-control-conn.c \
	antrea-dp/adp-control-conn.h \
	antrea-dp/adp-control-scan.c \
	antrea-dp/adp-control-scan.h \
	antrea-dp/adp-control-server.c \
	antrea-dp/adp-control-server.h \
	antrea-dp/adp-control-stage.c \
	antrea-dp/adp-control-stage.h
