# SPDX-License-Identifier: Apache-2.0

# ovs-vswitchd: upstream's own main program with our provider linked in.  The
# provider registers itself in constructors, upstream never names it.

sbin_PROGRAMS += antrea-dp/ovs-vswitchd
antrea_dp_ovs_vswitchd_SOURCES = \
	antrea-dp/bridge/adp-bridge-private.h \
	antrea-dp/bridge/adp-bridge-shared.h \
	antrea-dp/bridge/adp-bridge.c \
	antrea-dp/bridge/adp-bridge.h \
	antrea-dp/bridge/adp-credit.c \
	antrea-dp/bridge/adp-credit.h \
	antrea-dp/bridge/adp-expire.c \
	antrea-dp/bridge/adp-expire.h \
	antrea-dp/bridge/adp-heap.c \
	antrea-dp/bridge/adp-heap.h \
	antrea-dp/bridge/adp-held.c \
	antrea-dp/bridge/adp-held.h \
	antrea-dp/bridge/adp-igmp-queue.c \
	antrea-dp/bridge/adp-igmp-queue.h \
	antrea-dp/bridge/adp-install.c \
	antrea-dp/bridge/adp-install.h \
	antrea-dp/bridge/adp-journal.c \
	antrea-dp/bridge/adp-journal.h \
	antrea-dp/bridge/adp-main-queue.c \
	antrea-dp/bridge/adp-main-queue.h \
	antrea-dp/bridge/adp-ports.c \
	antrea-dp/bridge/adp-ports.h \
	antrea-dp/bridge/adp-removal.c \
	antrea-dp/bridge/adp-removal.h \
	antrea-dp/bridge/adp-rule-set.c \
	antrea-dp/bridge/adp-rule-set.h \
	antrea-dp/bridge/adp-succession.c \
	antrea-dp/bridge/adp-succession.h \
	antrea-dp/bridge/adp-turn.c \
	antrea-dp/bridge/adp-turn.h \
	antrea-dp/bridge/adp-waste.c \
	antrea-dp/bridge/adp-waste.h \
	antrea-dp/control/adp-appctl.c \
	antrea-dp/control/adp-appctl.h \
	antrea-dp/control/adp-control-appctl.c \
	antrea-dp/control/adp-control-appctl.h \
	antrea-dp/control/adp-control-bridge.c \
	antrea-dp/control/adp-control-bridge.h \
	antrea-dp/control/adp-control-catch.c \
	antrea-dp/control/adp-control-catch.h \
	antrea-dp/control/adp-control-get.c \
	antrea-dp/control/adp-control-get.h \
	antrea-dp/control/adp-control-methods.c \
	antrea-dp/control/adp-control-methods.h \
	antrea-dp/control/adp-control-reading.c \
	antrea-dp/control/adp-control-reading.h \
	antrea-dp/control/adp-control-stats.c \
	antrea-dp/control/adp-control-stats.h \
	antrea-dp/control/adp-control-transaction.c \
	antrea-dp/control/adp-control-transaction.h \
	antrea-dp/control/adp-control.c \
	antrea-dp/control/adp-control.h \
	antrea-dp/control/adp-counted-command.c \
	antrea-dp/control/adp-counted-command.h \
	antrea-dp/netdev/adp-addresses.c \
	antrea-dp/netdev/adp-kernel-port.c \
	antrea-dp/netdev/adp-kernel-port.h \
	antrea-dp/netdev/adp-mark-port.c \
	antrea-dp/netdev/adp-mark-port.h \
	antrea-dp/netdev/adp-netdev-wrap.c \
	antrea-dp/netdev/adp-packet-pool.c \
	antrea-dp/netdev/adp-packet-pool.h \
	antrea-dp/netdev/adp-packet-ring.c \
	antrea-dp/netdev/adp-packet-ring.h \
	antrea-dp/netdev/adp-poller.c \
	antrea-dp/netdev/adp-poller.h \
	antrea-dp/netdev/adp-veth-pair.c \
	antrea-dp/netdev/adp-veth-pair.h \
	antrea-dp/packet/adp-cached-verdict.c \
	antrea-dp/packet/adp-cached-verdict.h \
	antrea-dp/packet/adp-catch.c \
	antrea-dp/packet/adp-catch.h \
	antrea-dp/packet/adp-csum.h \
	antrea-dp/packet/adp-ct.c \
	antrea-dp/packet/adp-ct.h \
	antrea-dp/packet/adp-fast.c \
	antrea-dp/packet/adp-fast.h \
	antrea-dp/packet/adp-flow-cache.c \
	antrea-dp/packet/adp-flow-cache.h \
	antrea-dp/packet/adp-input-catch.c \
	antrea-dp/packet/adp-input-private.h \
	antrea-dp/packet/adp-input-walk.c \
	antrea-dp/packet/adp-input.c \
	antrea-dp/packet/adp-input.h \
	antrea-dp/show/adp-show-log.c \
	antrea-dp/show/adp-show-log.h \
	antrea-dp/packet/adp-log-packet.c \
	antrea-dp/packet/adp-log-packet.h \
	antrea-dp/packet/adp-packet-in.c \
	antrea-dp/packet/adp-packet-in.h \
	antrea-dp/packet/adp-punted.h \
	antrea-dp/packet/adp-push-stats.c \
	antrea-dp/packet/adp-push-stats.h \
	antrea-dp/packet/adp-refusal.c \
	antrea-dp/packet/adp-refusal.h \
	antrea-dp/packet/adp-refuse.c \
	antrea-dp/packet/adp-truncate.c \
	antrea-dp/packet/adp-truncate.h \
	antrea-dp/packet/adp-refuse.h \
	antrea-dp/packet/adp-rewrite.c \
	antrea-dp/packet/adp-rewrite.h \
	antrea-dp/packet/adp-sample-note.c \
	antrea-dp/packet/adp-sample.c \
	antrea-dp/packet/adp-sample.h \
	antrea-dp/packet/adp-summary.c \
	antrea-dp/packet/adp-summary.h \
	antrea-dp/packet/adp-tunnel.c \
	antrea-dp/packet/adp-tunnel.h \
	antrea-dp/packet/adp-tuple.h \
	antrea-dp/packet/adp-walk-cache.c \
	antrea-dp/packet/adp-walk-cache.h \
	antrea-dp/packet/adp-walk.c \
	antrea-dp/packet/adp-walk.h \
	antrea-dp/provider/adp-commands.c \
	antrea-dp/provider/adp-configure.c \
	antrea-dp/provider/adp-configure.h \
	antrea-dp/provider/adp-cut-gtpu.c \
	antrea-dp/provider/adp-fail-open.c \
	antrea-dp/provider/adp-flush.c \
	antrea-dp/provider/adp-flush.h \
	antrea-dp/provider/adp-gone-bridges.c \
	antrea-dp/provider/adp-gone-flows.c \
	antrea-dp/provider/adp-hash-fields.c \
	antrea-dp/provider/adp-headers.c \
	antrea-dp/provider/adp-lldp-neighbors.c \
	antrea-dp/provider/adp-long-messages.c \
	antrea-dp/provider/adp-mcast-reports.c \
	antrea-dp/provider/adp-meter-ids.c \
	antrea-dp/provider/adp-mpls-labels.c \
	antrea-dp/provider/adp-provider.c \
	antrea-dp/provider/adp-quoted-ports.c \
	antrea-dp/provider/adp-request-order.c \
	antrea-dp/provider/adp-request-order.h \
	antrea-dp/provider/adp-stacked-tags.c \
	antrea-dp/provider/adp-system.c \
	antrea-dp/provider/adp-system.h \
	antrea-dp/provider/adp-tunnel-ends.c \
	antrea-dp/provider/adp-tunnel-ends.h \
	antrea-dp/provider/adp-turns.c \
	antrea-dp/provider/adp-turns.h \
	antrea-dp/shadow/adp-shadow-compare.c \
	antrea-dp/shadow/adp-shadow-compare.h \
	antrea-dp/shadow/adp-shadow-execute.c \
	antrea-dp/shadow/adp-shadow-execute.h \
	antrea-dp/shadow/adp-shadow-report.c \
	antrea-dp/shadow/adp-shadow-report.h \
	antrea-dp/shadow/adp-shadow-translate.c \
	antrea-dp/shadow/adp-shadow-translate.h \
	antrea-dp/shadow/adp-shadow.c \
	antrea-dp/shadow/adp-shadow.h \
	antrea-dp/show/adp-show-l7.c \
	antrea-dp/show/adp-show-meaning.c \
	antrea-dp/show/adp-show-meaning.h \
	antrea-dp/show/adp-show-memory.c \
	antrea-dp/show/adp-show-memory.h \
	antrea-dp/show/adp-show-names.c \
	antrea-dp/show/adp-show-stats.c \
	antrea-dp/show/adp-show-store.c \
	antrea-dp/show/adp-show-store.h \
	antrea-dp/show/adp-show-trace.c \
	antrea-dp/show/adp-show-trace.h \
	antrea-dp/show/adp-show-turns.c \
	antrea-dp/show/adp-show-turns.h \
	antrea-dp/show/adp-show.c \
	antrea-dp/show/adp-show.h \
	antrea-dp/state/adp-bridge-pipeline.c \
	antrea-dp/state/adp-bridge-pipeline.h \
	antrea-dp/state/adp-commit.c \
	antrea-dp/state/adp-commit.h \
	antrea-dp/state/adp-fqdns.c \
	antrea-dp/state/adp-fqdns.h \
	antrea-dp/state/adp-handover.c \
	antrea-dp/state/adp-handover.h \
	antrea-dp/state/adp-multicast.c \
	antrea-dp/state/adp-multicast.h \
	antrea-dp/state/adp-own-call.c \
	antrea-dp/state/adp-own-call.h \
	antrea-dp/state/adp-multicast-send.c \
	antrea-dp/state/adp-multicast-send.h \
	antrea-dp/state/adp-job.c \
	antrea-dp/state/adp-job.h \
	antrea-dp/state/adp-state-call.c \
	antrea-dp/state/adp-state-call.h \
	antrea-dp/state/adp-state-group.c \
	antrea-dp/state/adp-state-group.h \
	antrea-dp/state/adp-state-disk.c \
	antrea-dp/state/adp-state-disk.h \
	antrea-dp/state/adp-state-get.c \
	antrea-dp/state/adp-state-meters.c \
	antrea-dp/state/adp-state-meters.h \
	antrea-dp/state/adp-state-order.c \
	antrea-dp/state/adp-state-order.h \
	antrea-dp/state/adp-state-private.h \
	antrea-dp/state/adp-state-store.c \
	antrea-dp/state/adp-state-store.h \
	antrea-dp/state/adp-state.c \
	antrea-dp/state/adp-state.h
# Of these functions of upstream's, adp-flush.c (ct_*, rconn_recv*, rconn_run*,
# unixctl_command_reply), adp-request-order.c (rconn_destroy), adp-system.c
# (dp_*_name*), adp-commands.c (unixctl_command_register), adp-addresses.c
# (netdev_get_addrs*),
# adp-mark-port.c (netdev_open, _get_type, _set_config), adp-netdev-wrap.c (what
# packets pass), adp-headers.c (commit_odp_actions, odp_nsh_*),
# adp-gone-bridges.c (recirc_free_ofproto), adp-gone-flows.c
# (ofproto_rule_*), adp-quoted-ports.c (packet_set_*), adp-mpls-labels.c
# (flow_pop_mpls), adp-stacked-tags.c (flow_extract), adp-hash-fields.c
# (flow_mask_hash_fields, flow_hash_symmetric_l3l4), adp-mcast-reports.c
# (mcast_snooping_add_*), adp-cut-gtpu.c (netdev_gtpu_pop_header),
# adp-lldp-neighbors.c (lldp_process_packet), adp-meter-ids.c (id_pool_*),
# adp-long-messages.c (ofpmp_postappend, ofputil_append_group_*, rconn_send*),
# adp-tunnel-ends.c (tnl_port_map_insert_ipdev), adp-fail-open.c
# (connmgr_failure_duration) and adp-turns.c have a look at each call.
antrea_dp_ovs_vswitchd_LDFLAGS = \
	$(AM_LDFLAGS) \
	-Wl,--wrap=bridge_exit \
	-Wl,--wrap=bridge_wait \
	-Wl,--wrap=commit_odp_actions \
	-Wl,--wrap=connmgr_failure_duration \
	-Wl,--wrap=connmgr_run \
	-Wl,--wrap=ct_dpif_flush \
	-Wl,--wrap=dp_enumerate_names \
	-Wl,--wrap=dp_packet_clone \
	-Wl,--wrap=dp_packet_clone_with_headroom \
	-Wl,--wrap=dp_parse_name \
	-Wl,--wrap=flow_extract \
	-Wl,--wrap=flow_hash_symmetric_l3l4 \
	-Wl,--wrap=flow_mask_hash_fields \
	-Wl,--wrap=flow_pop_mpls \
	-Wl,--wrap=id_pool_alloc_id \
	-Wl,--wrap=id_pool_free_id \
	-Wl,--wrap=lldp_process_packet \
	-Wl,--wrap=mcast_snooping_add_mld \
	-Wl,--wrap=mcast_snooping_add_report \
	-Wl,--wrap=netdev_get_addrs \
	-Wl,--wrap=netdev_get_addrs_list_flush \
	-Wl,--wrap=netdev_get_devices \
	-Wl,--wrap=netdev_get_type \
	-Wl,--wrap=netdev_gtpu_pop_header \
	-Wl,--wrap=netdev_open \
	-Wl,--wrap=netdev_push_header \
	-Wl,--wrap=netdev_rxq_recv \
	-Wl,--wrap=netdev_send \
	-Wl,--wrap=netdev_set_config \
	-Wl,--wrap=odp_execute_actions \
	-Wl,--wrap=odp_nsh_key_from_attr \
	-Wl,--wrap=ofpmp_postappend \
	-Wl,--wrap=ofproto_ct_set_zone_timeout_policy \
	-Wl,--wrap=ofproto_rule_expire \
	-Wl,--wrap=ofproto_rule_reduce_timeouts \
	-Wl,--wrap=ofproto_rule_reduce_timeouts__ \
	-Wl,--wrap=ofproto_type_run \
	-Wl,--wrap=ofputil_append_group_desc_reply \
	-Wl,--wrap=ofputil_append_group_stats \
	-Wl,--wrap=ovsdb_idl_run \
	-Wl,--wrap=packet_set_sctp_port \
	-Wl,--wrap=packet_set_tcp_port \
	-Wl,--wrap=poll_block \
	-Wl,--wrap=rconn_destroy \
	-Wl,--wrap=rconn_recv \
	-Wl,--wrap=rconn_recv_wait \
	-Wl,--wrap=rconn_run \
	-Wl,--wrap=rconn_run_wait \
	-Wl,--wrap=rconn_send \
	-Wl,--wrap=rconn_send_with_limit \
	-Wl,--wrap=recirc_free_ofproto \
	-Wl,--wrap=should_service_stop \
	-Wl,--wrap=tnl_port_map_insert_ipdev \
	-Wl,--wrap=unixctl_command_register \
	-Wl,--wrap=unixctl_command_reply \
	-Wl,--wrap=unixctl_server_run
antrea_dp_ovs_vswitchd_LDADD = \
	$(OVS_VSWITCHD_OBJECTS) \
	antrea-dp/libcontrol.la \
	lib/libadp.la \
	$(OVS_VSWITCHD_LIBS) \
	$(DPDK_LIBS)

# The part of the control socket that knows no daemon, for unit tests too.
noinst_LTLIBRARIES += antrea-dp/libcontrol.la
antrea_dp_libcontrol_la_SOURCES = \
	antrea-dp/control/adp-control-conn.c \
	antrea-dp/control/adp-control-conn.h \
	antrea-dp/control/adp-control-scan.c \
	antrea-dp/control/adp-control-scan.h \
	antrea-dp/control/adp-control-server.c \
	antrea-dp/control/adp-control-server.h \
	antrea-dp/control/adp-control-hold.c \
	antrea-dp/control/adp-control-hold.h \
	antrea-dp/control/adp-control-stage.c \
	antrea-dp/control/adp-control-stage.h \
	antrea-dp/control/adp-control-text.c \
	antrea-dp/control/adp-control-text.h
