# SPDX-License-Identifier: Apache-2.0

# Unit tests: each a libcheck program on the engine library alone.

UNIT_TESTS = \
	tests/unit/test-punted \
	tests/unit/test-awaited \
	tests/unit/test-bridge-pipeline \
	tests/unit/test-cached-verdict \
	tests/unit/test-catch \
	tests/unit/test-changes \
	tests/unit/test-classifier-seek \
	tests/unit/test-collector \
	tests/unit/test-commit \
	tests/unit/test-configure \
	tests/unit/test-conntrack-ahead \
	tests/unit/test-conntrack-displace \
	tests/unit/test-conntrack-flush \
	tests/unit/test-conntrack-ftp \
	tests/unit/test-conntrack-half-open \
	tests/unit/test-conntrack-handover \
	tests/unit/test-conntrack-peek \
	tests/unit/test-conntrack-ref \
	tests/unit/test-conntrack-sctp \
	tests/unit/test-conntrack-table \
	tests/unit/test-conntrack-track \
	tests/unit/test-conntrack-unanswered \
	tests/unit/test-conntrack-zone-full \
	tests/unit/test-control-ahead \
	tests/unit/test-control-conn \
	tests/unit/test-control-hold \
	tests/unit/test-control-requests \
	tests/unit/test-control-stage \
	tests/unit/test-control-text \
	tests/unit/test-csum \
	tests/unit/test-decide-break \
	tests/unit/test-decide-ct \
	tests/unit/test-decide \
	tests/unit/test-desired \
	tests/unit/test-desired-amend \
	tests/unit/test-disk \
	tests/unit/test-disk-thread \
	tests/unit/test-dns \
	tests/unit/test-dpctl-batch \
	tests/unit/test-dpctl-delta \
	tests/unit/test-dpctl-delta-ports \
	tests/unit/test-dpctl-explain \
	tests/unit/test-dpctl-feed \
	tests/unit/test-dpctl-follow \
	tests/unit/test-dpctl-html \
	tests/unit/test-dpctl-input \
	tests/unit/test-dpctl-inspect \
	tests/unit/test-dpctl-ipv6 \
	tests/unit/test-dpctl-peers \
	tests/unit/test-dpctl-load \
	tests/unit/test-dpctl-pieces \
	tests/unit/test-dpctl-plan \
	tests/unit/test-dpctl-similar \
	tests/unit/test-dpctl-services \
	tests/unit/test-dpctl-stats \
	tests/unit/test-dpctl-trace \
	tests/unit/test-dpctl-walk \
	tests/unit/test-dpctl \
	tests/unit/test-engine \
	tests/unit/test-engine-changes \
	tests/unit/test-execute \
	tests/unit/test-fast \
	tests/unit/test-fast-known \
	tests/unit/test-fast-paced \
	tests/unit/test-fast-settled \
	tests/unit/test-flow-cache \
	tests/unit/test-group \
	tests/unit/test-guide \
	tests/unit/test-handover-file \
	tests/unit/test-handover-policies \
	tests/unit/test-handover-told \
	tests/unit/test-input \
	tests/unit/test-input-held \
	tests/unit/test-input-nat \
	tests/unit/test-input-watched \
	tests/unit/test-job \
	tests/unit/test-log \
	tests/unit/test-journal \
	tests/unit/test-learn \
	tests/unit/test-learn-again \
	tests/unit/test-control-reading \
	tests/unit/test-counted-command \
	tests/unit/test-cow \
	tests/unit/test-waste \
	tests/unit/test-match-random \
	tests/unit/test-match \
	tests/unit/test-metadata \
	tests/unit/test-metrics \
	tests/unit/test-model-index \
	tests/unit/test-model-ip \
	tests/unit/test-pipeline-ipv6 \
	tests/unit/test-model-blame \
	tests/unit/test-model-changes \
	tests/unit/test-model-l7 \
	tests/unit/test-model-numbers \
	tests/unit/test-model-sort \
	tests/unit/test-model \
	tests/unit/test-month \
	tests/unit/test-names \
	tests/unit/test-nd-options \
	tests/unit/test-addresses \
	tests/unit/test-netdev-wrap \
	tests/unit/test-offload \
	tests/unit/test-packet-ring \
	tests/unit/test-poller \
	tests/unit/test-heap \
	tests/unit/test-igmp \
	tests/unit/test-igmp-queue \
	tests/unit/test-igmp-reports \
	tests/unit/test-multicast \
	tests/unit/test-multicast-send \
	tests/unit/test-multicast-slices \
	tests/unit/test-members \
	tests/unit/test-pipeline-early \
	tests/unit/test-pipeline-egress \
	tests/unit/test-pipeline-services \
	tests/unit/test-pipeline-example \
	tests/unit/test-pipeline-names \
	tests/unit/test-pipeline-packets \
	tests/unit/test-pipeline-multicast \
	tests/unit/test-pipeline \
	tests/unit/test-policy \
	tests/unit/test-policy-places \
	tests/unit/test-ports \
	tests/unit/test-priority \
	tests/unit/test-program \
	tests/unit/test-push-stats \
	tests/unit/test-recent \
	tests/unit/test-request-order \
	tests/unit/test-flush \
	tests/unit/test-fqdns \
	tests/unit/test-fqdns-slices \
	tests/unit/test-conntrack-hash \
	tests/unit/test-ipf \
	tests/unit/test-refusal \
	tests/unit/test-rule-set \
	tests/unit/test-succession \
	tests/unit/test-summary \
	tests/unit/test-summary-kept \
	tests/unit/test-tnl-neigh \
	tests/unit/test-truncate \
	tests/unit/test-unlearn \
	tests/unit/test-wraps \
	tests/unit/test-remote \
	tests/unit/test-rewrite \
	tests/unit/test-seq-spare \
	tests/unit/test-session-parse \
	tests/unit/test-sample \
	tests/unit/test-session \
	tests/unit/test-shadow \
	tests/unit/test-show-log \
	tests/unit/test-ingress \
	tests/unit/test-secret-hash \
	tests/unit/test-store \
	tests/unit/test-state-anew \
	tests/unit/test-state-disk \
	tests/unit/test-state-fqdns \
	tests/unit/test-state-group \
	tests/unit/test-state-order \
	tests/unit/test-state-size \
	tests/unit/test-state-slices \
	tests/unit/test-state \
	tests/unit/test-tunnel \
	tests/unit/test-tunnel-push \
	tests/unit/test-tunnel-recirc \
	tests/unit/test-tunnel-template \
	tests/unit/test-turn \
	tests/unit/test-walk
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)

check_LTLIBRARIES = tests/unit/libunit.la
tests_unit_libunit_la_SOURCES = \
	tests/unit/engine.c \
	tests/unit/engine-fixture.h \
	tests/unit/engine-places.h \
	tests/unit/engine.h \
	tests/unit/equal-hash.h \
	tests/unit/flow-diff.c \
	tests/unit/flow-diff.h \
	tests/unit/model-transact.c \
	tests/unit/model-transact.h \
	tests/unit/quoted-json.c \
	tests/unit/quoted-json.h \
	tests/unit/rounds.h \
	tests/unit/test-run.c \
	tests/unit/test-run.h \
	tests/unit/test-seed.c \
	tests/unit/test-seed.h
UNIT_LIBS = \
	tests/unit/libunit.la \
	lib/libadp.la \
	$(OVS_LIB) \
	$(CHECK_LIBS)

# Programs that tests call.
check_PROGRAMS += \
	tests/unit/gen-flows \
	tests/unit/gen-names

# Measures, checks nothing: "make bench-programs".
EXTRA_PROGRAMS = tests/unit/bench-engine tests/unit/bench-match \
	tests/unit/bench-state
tests_unit_bench_state_SOURCES = tests/unit/bench-state.c
tests_unit_bench_state_LDADD = $(UNIT_LIBS)
CLEANFILES += $(EXTRA_PROGRAMS)
tests_unit_bench_engine_SOURCES = \
	tests/unit/bench-engine.c \
	tests/unit/many-rules.h \
	tests/unit/record-flows.h
tests_unit_bench_engine_LDADD = $(UNIT_LIBS)
tests_unit_bench_match_SOURCES = \
	tests/unit/bench-match-keys.c \
	tests/unit/bench-match-keys.h \
	tests/unit/bench-match-time.h \
	tests/unit/bench-match.c
tests_unit_bench_match_LDADD = $(UNIT_LIBS)
bench-programs: $(EXTRA_PROGRAMS)
.PHONY: bench-programs

tests_unit_test_punted_SOURCES = tests/unit/test-punted.c
tests_unit_test_punted_LDADD = $(UNIT_LIBS)

tests_unit_test_bridge_pipeline_SOURCES = \
	tests/unit/call-notes.h \
	tests/unit/test-bridge-pipeline.c \
	antrea-dp/state/adp-bridge-pipeline.c
tests_unit_test_bridge_pipeline_LDADD = $(UNIT_LIBS)

tests_unit_test_catch_SOURCES = \
	tests/unit/test-catch.c \
	antrea-dp/packet/adp-catch.c
tests_unit_test_catch_LDADD = $(UNIT_LIBS)

tests_unit_test_changes_SOURCES = tests/unit/test-changes.c
tests_unit_test_changes_LDADD = $(UNIT_LIBS)

tests_unit_test_classifier_seek_SOURCES = tests/unit/test-classifier-seek.c
tests_unit_test_classifier_seek_LDADD = $(UNIT_LIBS)

tests_unit_test_commit_SOURCES = \
	tests/unit/classifier-model.c \
	tests/unit/classifier-model.h \
	tests/unit/test-commit.c \
	antrea-dp/bridge/adp-turn.c \
	antrea-dp/state/adp-commit.c \
	antrea-dp/state/adp-state-order.c
tests_unit_test_commit_LDADD = $(UNIT_LIBS)

tests_unit_test_configure_SOURCES = \
	tests/unit/test-configure.c \
	antrea-dp/provider/adp-configure.c
tests_unit_test_configure_LDADD = $(UNIT_LIBS)
tests_unit_test_configure_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=conntrack_half_open_set_limit \
	-Wl,--wrap=conntrack_unanswered_set_limit \
	-Wl,--wrap=vlog

tests_unit_test_cached_verdict_SOURCES = \
	tests/unit/collect-all.h \
	tests/unit/credit-nobody.h \
	tests/unit/no-tunnels.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-cached-verdict.c \
	antrea-dp/bridge/adp-ports.c \
	antrea-dp/bridge/adp-turn.c \
	antrea-dp/packet/adp-cached-verdict.c \
	antrea-dp/packet/adp-ct.c \
	antrea-dp/packet/adp-summary.c \
	antrea-dp/packet/adp-walk.c
tests_unit_test_cached_verdict_LDADD = $(UNIT_LIBS)

tests_unit_test_control_ahead_SOURCES = \
	tests/unit/control-world.h \
	tests/unit/test-control-ahead.c
tests_unit_test_control_ahead_LDADD = antrea-dp/libcontrol.la $(UNIT_LIBS)

tests_unit_test_control_conn_SOURCES = \
	tests/unit/control-world.h \
	tests/unit/test-control-conn.c
tests_unit_test_control_conn_LDADD = antrea-dp/libcontrol.la $(UNIT_LIBS)

tests_unit_test_control_hold_SOURCES = tests/unit/test-control-hold.c
tests_unit_test_control_hold_LDADD = antrea-dp/libcontrol.la $(UNIT_LIBS)

tests_unit_test_control_requests_SOURCES = \
	tests/unit/test-control-requests.c \
	antrea-dp/bridge/adp-turn.c \
	antrea-dp/bridge/adp-waste.c \
	antrea-dp/control/adp-control.c
tests_unit_test_control_requests_LDADD = antrea-dp/libcontrol.la $(UNIT_LIBS)

tests_unit_test_control_stage_SOURCES = tests/unit/test-control-stage.c
tests_unit_test_control_stage_LDADD = antrea-dp/libcontrol.la $(UNIT_LIBS)

tests_unit_test_control_text_SOURCES = tests/unit/test-control-text.c
tests_unit_test_control_text_LDADD = antrea-dp/libcontrol.la $(UNIT_LIBS)

tests_unit_test_csum_SOURCES = tests/unit/test-csum.c
tests_unit_test_csum_LDADD = $(UNIT_LIBS)

tests_unit_test_nd_options_SOURCES = tests/unit/test-nd-options.c
tests_unit_test_nd_options_LDADD = $(UNIT_LIBS)

tests_unit_test_seq_spare_SOURCES = tests/unit/test-seq-spare.c
tests_unit_test_seq_spare_LDADD = $(UNIT_LIBS)
tests_unit_test_seq_spare_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=free

tests_unit_test_addresses_SOURCES = \
	tests/unit/test-addresses.c \
	antrea-dp/netdev/adp-addresses.c
tests_unit_test_addresses_LDADD = $(UNIT_LIBS)
tests_unit_test_addresses_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=freeifaddrs \
	-Wl,--wrap=getifaddrs

tests_unit_test_netdev_wrap_SOURCES = \
	tests/unit/test-netdev-wrap.c \
	antrea-dp/netdev/adp-netdev-wrap.c
tests_unit_test_netdev_wrap_LDADD = $(UNIT_LIBS)
tests_unit_test_netdev_wrap_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=dp_packet_clone \
	-Wl,--wrap=dp_packet_clone_with_headroom \
	-Wl,--wrap=netdev_afxdp_batch_send \
	-Wl,--wrap=netdev_get_devices \
	-Wl,--wrap=netdev_push_header \
	-Wl,--wrap=netdev_rxq_recv \
	-Wl,--wrap=netdev_send \
	-Wl,--wrap=odp_execute_actions

tests_unit_test_offload_SOURCES = tests/unit/test-offload.c
tests_unit_test_offload_LDADD = $(UNIT_LIBS)

tests_unit_test_packet_ring_SOURCES = \
	tests/unit/test-packet-ring.c \
	antrea-dp/netdev/adp-packet-pool.c \
	antrea-dp/netdev/adp-packet-ring.c
tests_unit_test_packet_ring_LDADD = $(UNIT_LIBS)
tests_unit_test_packet_ring_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=recvmsg

tests_unit_test_poller_SOURCES = \
	tests/unit/test-poller.c \
	antrea-dp/netdev/adp-poller.c
tests_unit_test_poller_LDADD = $(UNIT_LIBS)

tests_unit_test_decide_break_SOURCES = tests/unit/test-decide-break.c
tests_unit_test_decide_break_LDADD = $(UNIT_LIBS)

tests_unit_test_decide_ct_SOURCES = tests/unit/test-decide-ct.c
tests_unit_test_decide_ct_LDADD = $(UNIT_LIBS)

tests_unit_test_unlearn_SOURCES = tests/unit/test-unlearn.c
tests_unit_test_unlearn_LDADD = $(UNIT_LIBS)

tests_unit_test_decide_SOURCES = tests/unit/test-decide.c
tests_unit_test_decide_LDADD = $(UNIT_LIBS)

tests_unit_test_desired_SOURCES = \
	tests/unit/desired-world.c \
	tests/unit/desired-world.h \
	tests/unit/test-desired.c
tests_unit_test_desired_LDADD = $(UNIT_LIBS)

tests_unit_test_desired_amend_SOURCES = \
	tests/unit/desired-world.c \
	tests/unit/desired-world.h \
	tests/unit/test-desired-amend.c
tests_unit_test_desired_amend_LDADD = $(UNIT_LIBS)

tests_unit_test_engine_SOURCES = \
	tests/unit/random-records.c \
	tests/unit/random-records.h \
	tests/unit/test-engine.c
tests_unit_test_engine_LDADD = $(UNIT_LIBS)

tests_unit_test_engine_changes_SOURCES = \
	tests/unit/pipeline-world.c \
	tests/unit/pipeline-world.h \
	tests/unit/test-engine-changes.c
tests_unit_test_engine_changes_LDADD = $(UNIT_LIBS)

tests_unit_test_execute_SOURCES = tests/unit/test-execute.c
tests_unit_test_execute_LDADD = $(UNIT_LIBS)

FAST_WORLD = \
	tests/unit/credit-nobody.h \
	tests/unit/fast-world.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	antrea-dp/packet/adp-cached-verdict.c \
	antrea-dp/packet/adp-fast.c
FAST_WRAP = \
	-Wl,--wrap=conntrack_checksums_are_valid \
	-Wl,--wrap=conntrack_clock_init \
	-Wl,--wrap=conntrack_track_check \
	-Wl,--wrap=conntrack_track_commit \
	-Wl,--wrap=conntrack_track_predict \
	-Wl,--wrap=conntrack_track_prefetch \
	-Wl,--wrap=conntrack_track_update \
	-Wl,--wrap=dp_pmd_conntrack \
	-Wl,--wrap=dp_pmd_execute \
	-Wl,--wrap=dp_pmd_meter \
	-Wl,--wrap=dp_pmd_now_ms \
	-Wl,--wrap=dp_pmd_send \
	-Wl,--wrap=dp_pmd_send_into_tunnel \
	-Wl,--wrap=dp_pmd_send_train

tests_unit_test_fast_SOURCES = tests/unit/test-fast.c $(FAST_WORLD)
tests_unit_test_fast_LDADD = $(UNIT_LIBS)
tests_unit_test_fast_LDFLAGS = $(AM_LDFLAGS) $(FAST_WRAP)

tests_unit_test_fast_known_SOURCES = \
	tests/unit/test-fast-known.c $(FAST_WORLD)
tests_unit_test_fast_known_LDADD = $(UNIT_LIBS)
tests_unit_test_fast_known_LDFLAGS = $(AM_LDFLAGS) $(FAST_WRAP)

tests_unit_test_fast_settled_SOURCES = \
	tests/unit/test-fast-settled.c $(FAST_WORLD)
tests_unit_test_fast_settled_LDADD = $(UNIT_LIBS)
tests_unit_test_fast_settled_LDFLAGS = $(AM_LDFLAGS) $(FAST_WRAP)

tests_unit_test_fast_paced_SOURCES = \
	tests/unit/test-fast-paced.c $(FAST_WORLD)
tests_unit_test_fast_paced_LDADD = $(UNIT_LIBS)
tests_unit_test_fast_paced_LDFLAGS = $(AM_LDFLAGS) $(FAST_WRAP)

tests_unit_test_flow_cache_SOURCES = \
	tests/unit/conntrack-foresee.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-flow-cache.c \
	tests/unit/turn-slices.h \
	antrea-dp/packet/adp-flow-cache.c \
	antrea-dp/packet/adp-sample.c
tests_unit_test_flow_cache_LDADD = $(UNIT_LIBS)

tests_unit_test_group_SOURCES = tests/unit/test-group.c
tests_unit_test_group_LDADD = $(UNIT_LIBS)
tests_unit_test_group_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=hash_bytes

tests_unit_test_guide_SOURCES = tests/unit/test-guide.c
tests_unit_test_guide_LDADD = $(UNIT_LIBS)

INPUT_WORLD = \
	tests/unit/call-notes.h \
	tests/unit/input-world.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	antrea-dp/packet/adp-input-catch.c \
	antrea-dp/packet/adp-input-walk.c \
	antrea-dp/packet/adp-input.c \
	antrea-dp/packet/adp-log-packet.c
INPUT_WRAPS = \
	-Wl,--wrap=conntrack_peek_apply \
	-Wl,--wrap=dp_pmd_count_compiled \
	-Wl,--wrap=dp_pmd_count_lost \
	-Wl,--wrap=dp_pmd_execute_and_keep \
	-Wl,--wrap=dp_pmd_meter

tests_unit_test_input_SOURCES = $(INPUT_WORLD) tests/unit/test-input.c
tests_unit_test_input_LDADD = $(UNIT_LIBS)
tests_unit_test_input_LDFLAGS = $(AM_LDFLAGS) $(INPUT_WRAPS)

tests_unit_test_input_held_SOURCES = \
	$(INPUT_WORLD) \
	tests/unit/test-input-held.c
tests_unit_test_input_held_LDADD = $(UNIT_LIBS)
tests_unit_test_input_held_LDFLAGS = $(AM_LDFLAGS) $(INPUT_WRAPS)

tests_unit_test_input_nat_SOURCES = \
	$(INPUT_WORLD) \
	tests/unit/test-input-nat.c
tests_unit_test_input_nat_LDADD = $(UNIT_LIBS)
tests_unit_test_input_nat_LDFLAGS = $(AM_LDFLAGS) $(INPUT_WRAPS)

tests_unit_test_input_watched_SOURCES = \
	$(INPUT_WORLD) \
	tests/unit/test-input-watched.c
tests_unit_test_input_watched_LDADD = $(UNIT_LIBS)
tests_unit_test_input_watched_LDFLAGS = $(AM_LDFLAGS) $(INPUT_WRAPS)

tests_unit_test_disk_SOURCES = tests/unit/disk-world.h tests/unit/test-disk.c
tests_unit_test_disk_LDADD = $(UNIT_LIBS)

tests_unit_test_disk_thread_SOURCES = \
	tests/unit/disk-world.h \
	tests/unit/test-disk-thread.c
tests_unit_test_disk_thread_LDADD = $(UNIT_LIBS)

tests_unit_test_log_SOURCES = tests/unit/test-log.c
tests_unit_test_log_LDADD = $(UNIT_LIBS)

tests_unit_test_job_SOURCES = \
	tests/unit/test-job.c \
	tests/unit/turn-clock.h \
	antrea-dp/bridge/adp-heap.c \
	antrea-dp/bridge/adp-turn.c \
	antrea-dp/state/adp-job.c
tests_unit_test_job_LDADD = $(UNIT_LIBS)

tests_unit_test_journal_SOURCES = \
	tests/unit/test-journal.c \
	antrea-dp/bridge/adp-journal.c \
	antrea-dp/bridge/adp-rule-set.c
tests_unit_test_journal_LDADD = $(UNIT_LIBS)

tests_unit_test_waste_SOURCES = \
	tests/unit/test-waste.c \
	antrea-dp/bridge/adp-turn.c \
	antrea-dp/bridge/adp-waste.c
tests_unit_test_waste_LDADD = $(UNIT_LIBS)

tests_unit_test_cow_SOURCES = tests/unit/test-cow.c
tests_unit_test_cow_LDADD = $(UNIT_LIBS)

tests_unit_test_rule_set_SOURCES = \
	tests/unit/test-rule-set.c \
	antrea-dp/bridge/adp-rule-set.c
tests_unit_test_rule_set_LDADD = $(UNIT_LIBS)

tests_unit_test_learn_again_SOURCES = tests/unit/test-learn-again.c
tests_unit_test_learn_again_LDADD = \
	tests/unit/libunit.la $(OVS_VSWITCHD_LIBS) $(DPDK_LIBS) $(CHECK_LIBS)

tests_unit_test_learn_SOURCES = tests/unit/test-learn.c
tests_unit_test_learn_LDADD = $(UNIT_LIBS)

tests_unit_test_match_random_SOURCES = \
	tests/unit/policy-world.c \
	tests/unit/policy-world.h \
	tests/unit/test-match-random.c
tests_unit_test_match_random_LDADD = $(UNIT_LIBS)

tests_unit_test_match_SOURCES = tests/unit/test-match.c
tests_unit_test_match_LDADD = $(UNIT_LIBS)

tests_unit_test_metadata_SOURCES = tests/unit/test-metadata.c
tests_unit_test_metadata_LDADD = $(UNIT_LIBS)

tests_unit_test_metrics_SOURCES = tests/unit/test-metrics.c
tests_unit_test_metrics_LDADD = $(UNIT_LIBS)

tests_unit_test_policy_SOURCES = tests/unit/test-policy.c
tests_unit_test_policy_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_policy_places_SOURCES = \
	tests/unit/dpctl-given.c \
	tests/unit/dpctl-given.h \
	tests/unit/test-policy-places.c
tests_unit_test_policy_places_LDADD = \
	utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_ports_SOURCES = \
	tests/unit/test-ports.c \
	antrea-dp/bridge/adp-ports.c
tests_unit_test_ports_LDADD = $(UNIT_LIBS)
tests_unit_test_ports_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=dpif_port_query_by_name

tests_unit_test_priority_SOURCES = \
	tests/unit/pipeline-world.c \
	tests/unit/pipeline-world.h \
	tests/unit/test-priority.c
tests_unit_test_priority_LDADD = $(UNIT_LIBS)

tests_unit_test_program_SOURCES = tests/unit/test-program.c
tests_unit_test_program_LDADD = $(UNIT_LIBS)

tests_unit_test_push_stats_SOURCES = \
	tests/unit/call-notes.h \
	tests/unit/turn-slices.h \
	tests/unit/test-push-stats.c \
	antrea-dp/packet/adp-push-stats.c
tests_unit_test_push_stats_LDADD = $(UNIT_LIBS)
tests_unit_test_push_stats_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=poll_immediate_wake_at \
	-Wl,--wrap=poll_timer_wait_until_at \
	-Wl,--wrap=time_msec

tests_unit_test_recent_SOURCES = tests/unit/test-recent.c
tests_unit_test_recent_LDADD = $(UNIT_LIBS)

tests_unit_test_control_reading_SOURCES = \
	antrea-dp/control/adp-control-reading.c \
	tests/unit/test-control-reading.c
tests_unit_test_control_reading_LDADD = $(UNIT_LIBS)
tests_unit_test_control_reading_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=poll_immediate_wake_at

tests_unit_test_counted_command_SOURCES = \
	antrea-dp/control/adp-counted-command.c \
	tests/unit/test-counted-command.c
tests_unit_test_counted_command_LDADD = $(UNIT_LIBS)

tests_unit_test_flush_SOURCES = \
	antrea-dp/provider/adp-flush.c \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-flush.c
tests_unit_test_flush_LDADD = $(UNIT_LIBS)
tests_unit_test_flush_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=ct_dpif_flush \
	-Wl,--wrap=rconn_recv \
	-Wl,--wrap=rconn_recv_wait \
	-Wl,--wrap=rconn_run \
	-Wl,--wrap=rconn_run_wait \
	-Wl,--wrap=time_msec \
	-Wl,--wrap=unixctl_command_reply

tests_unit_test_request_order_SOURCES = \
	antrea-dp/provider/adp-request-order.c \
	tests/unit/test-request-order.c
tests_unit_test_request_order_LDADD = $(UNIT_LIBS)
tests_unit_test_request_order_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=poll_immediate_wake_at \
	-Wl,--wrap=rconn_destroy \
	-Wl,--wrap=rconn_get_connection_seqno

FQDNS_WORLD = \
	tests/unit/fqdns-world.h \
	tests/unit/own-records.h \
	antrea-dp/bridge/adp-held.c \
	antrea-dp/bridge/adp-main-queue.c \
	antrea-dp/state/adp-fqdns.c \
	antrea-dp/state/adp-own-call.c
FQDNS_WRAP = \
	-Wl,--wrap=dpif_execute \
	-Wl,--wrap=poll_immediate_wake_at \
	-Wl,--wrap=poll_timer_wait_until_at \
	-Wl,--wrap=time_msec

tests_unit_test_fqdns_SOURCES = tests/unit/test-fqdns.c $(FQDNS_WORLD)
tests_unit_test_fqdns_LDADD = $(UNIT_LIBS)
tests_unit_test_fqdns_LDFLAGS = $(AM_LDFLAGS) $(FQDNS_WRAP)

tests_unit_test_fqdns_slices_SOURCES = \
	tests/unit/test-fqdns-slices.c $(FQDNS_WORLD)
tests_unit_test_fqdns_slices_LDADD = $(UNIT_LIBS)
tests_unit_test_fqdns_slices_LDFLAGS = $(AM_LDFLAGS) $(FQDNS_WRAP)

tests_unit_test_igmp_queue_SOURCES = \
	tests/unit/test-igmp-queue.c \
	antrea-dp/bridge/adp-igmp-queue.c \
	antrea-dp/bridge/adp-main-queue.c
tests_unit_test_igmp_queue_LDADD = $(UNIT_LIBS)

MULTICAST_WORLD = \
	tests/unit/multicast-world.h \
	tests/unit/own-records.h \
	antrea-dp/bridge/adp-igmp-queue.c \
	antrea-dp/bridge/adp-main-queue.c \
	antrea-dp/state/adp-multicast.c \
	antrea-dp/state/adp-own-call.c
MULTICAST_WRAP = \
	-Wl,--wrap=poll_immediate_wake_at \
	-Wl,--wrap=poll_timer_wait_until_at \
	-Wl,--wrap=time_msec

tests_unit_test_multicast_SOURCES = \
	tests/unit/test-multicast.c $(MULTICAST_WORLD)
tests_unit_test_multicast_LDADD = $(UNIT_LIBS)
tests_unit_test_multicast_LDFLAGS = $(AM_LDFLAGS) $(MULTICAST_WRAP)

tests_unit_test_multicast_slices_SOURCES = \
	tests/unit/test-multicast-slices.c $(MULTICAST_WORLD)
tests_unit_test_multicast_slices_LDADD = $(UNIT_LIBS)
tests_unit_test_multicast_slices_LDFLAGS = $(AM_LDFLAGS) $(MULTICAST_WRAP)

tests_unit_test_multicast_send_SOURCES = \
	tests/unit/test-multicast-send.c \
	antrea-dp/state/adp-multicast-send.c
tests_unit_test_multicast_send_LDADD = $(UNIT_LIBS)

tests_unit_test_state_size_SOURCES = \
	tests/unit/many-rules.h \
	tests/unit/record-flows.h \
	tests/unit/test-state-size.c
tests_unit_test_state_size_LDADD = $(UNIT_LIBS)

tests_unit_test_month_SOURCES = \
	tests/unit/record-flows.h \
	tests/unit/test-month.c
tests_unit_test_month_LDADD = $(UNIT_LIBS)

tests_unit_test_ipf_SOURCES = \
	tests/unit/ip-fragment.h \
	tests/unit/test-ipf.c
tests_unit_test_ipf_LDADD = $(UNIT_LIBS)
tests_unit_test_ipf_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=latch_set \
	-Wl,--wrap=time_msec

tests_unit_test_succession_SOURCES = \
	tests/unit/test-succession.c \
	antrea-dp/bridge/adp-succession.c
tests_unit_test_succession_LDADD = $(UNIT_LIBS)

tests_unit_test_summary_SOURCES = \
	tests/unit/summary-world.h \
	tests/unit/test-summary.c \
	antrea-dp/packet/adp-summary.c
tests_unit_test_summary_LDADD = $(UNIT_LIBS)

tests_unit_test_summary_kept_SOURCES = \
	tests/unit/summary-world.h \
	tests/unit/test-summary-kept.c \
	antrea-dp/packet/adp-summary.c
tests_unit_test_summary_kept_LDADD = $(UNIT_LIBS)
tests_unit_test_summary_kept_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=ovs_mutex_lock_at \
	-Wl,--wrap=ovs_mutex_unlock

tests_unit_test_tnl_neigh_SOURCES = tests/unit/test-tnl-neigh.c
tests_unit_test_tnl_neigh_LDADD = $(UNIT_LIBS)
tests_unit_test_tnl_neigh_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=time_msec

tests_unit_test_wraps_SOURCES = \
	tests/unit/test-wraps.c \
	antrea-dp/provider/adp-cut-gtpu.c \
	antrea-dp/provider/adp-gone-flows.c \
	antrea-dp/provider/adp-hash-fields.c \
	antrea-dp/provider/adp-lldp-neighbors.c \
	antrea-dp/provider/adp-mcast-reports.c \
	antrea-dp/provider/adp-meter-ids.c \
	antrea-dp/provider/adp-mpls-labels.c \
	antrea-dp/provider/adp-quoted-ports.c \
	antrea-dp/provider/adp-stacked-tags.c
tests_unit_test_wraps_LDADD = $(UNIT_LIBS)

tests_unit_test_truncate_SOURCES = \
	tests/unit/test-truncate.c \
	antrea-dp/packet/adp-truncate.c
tests_unit_test_truncate_LDADD = $(UNIT_LIBS)

tests_unit_test_refusal_SOURCES = \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-refusal.c \
	antrea-dp/packet/adp-refusal.c
tests_unit_test_refusal_LDADD = $(UNIT_LIBS)

tests_unit_test_rewrite_SOURCES = \
	tests/unit/test-rewrite.c \
	antrea-dp/packet/adp-summary.c \
	antrea-dp/packet/adp-rewrite.c
tests_unit_test_rewrite_LDADD = $(UNIT_LIBS)

tests_unit_test_session_parse_SOURCES = \
	tests/unit/test-session-parse.c
tests_unit_test_session_parse_LDADD = $(UNIT_LIBS)

tests_unit_test_session_SOURCES = \
	tests/unit/little-memory.h \
	tests/unit/test-session.c
tests_unit_test_session_LDADD = $(UNIT_LIBS)
tests_unit_test_session_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=adp_reserve \
	-Wl,--wrap=adp_unreserve \
	-Wl,--wrap=mprotect

tests_unit_test_ingress_SOURCES = \
	tests/unit/test-ingress.c \
	tests/unit/tunnel-kinds.h
tests_unit_test_ingress_LDADD = $(UNIT_LIBS)

tests_unit_test_secret_hash_SOURCES = tests/unit/test-secret-hash.c
tests_unit_test_secret_hash_LDADD = $(UNIT_LIBS)

tests_unit_test_store_SOURCES = \
	tests/unit/collect-all.h \
	tests/unit/little-memory.h \
	tests/unit/test-store.c \
	tests/unit/tunnel-kinds.h
tests_unit_test_store_LDADD = $(UNIT_LIBS)
tests_unit_test_store_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=mprotect

tests_unit_test_awaited_SOURCES = \
	tests/unit/collect-all.h \
	tests/unit/test-awaited.c
tests_unit_test_awaited_LDADD = $(UNIT_LIBS)

tests_unit_test_collector_SOURCES = \
	tests/unit/collect-all.h \
	tests/unit/test-collector.c
tests_unit_test_collector_LDADD = $(UNIT_LIBS)

STATE_WORLD = \
	tests/unit/classifier-model.c \
	tests/unit/classifier-model.h \
	tests/unit/state-world.c \
	tests/unit/state-world.h \
	antrea-dp/bridge/adp-heap.c \
	antrea-dp/bridge/adp-turn.c \
	antrea-dp/bridge/adp-waste.c \
	antrea-dp/state/adp-commit.c \
	antrea-dp/state/adp-job.c \
	antrea-dp/state/adp-state-call.c \
	antrea-dp/state/adp-state-group.c \
	antrea-dp/state/adp-state-disk.c \
	antrea-dp/state/adp-state-get.c \
	antrea-dp/state/adp-state-meters.c \
	antrea-dp/state/adp-state-order.c \
	antrea-dp/state/adp-state-store.c \
	antrea-dp/state/adp-state.c

tests_unit_test_remote_SOURCES = tests/unit/test-remote.c
tests_unit_test_remote_LDADD = $(UNIT_LIBS)

tests_unit_test_state_anew_SOURCES = \
	$(STATE_WORLD) \
	tests/unit/test-state-anew.c
tests_unit_test_state_anew_LDADD = $(UNIT_LIBS)

tests_unit_test_state_disk_SOURCES = \
	$(STATE_WORLD) \
	tests/unit/test-state-disk.c
tests_unit_test_state_disk_LDADD = $(UNIT_LIBS)

tests_unit_test_state_fqdns_SOURCES = \
	$(STATE_WORLD) \
	tests/unit/pipeline-world.h \
	tests/unit/test-state-fqdns.c \
	antrea-dp/state/adp-fqdns.c \
	antrea-dp/state/adp-own-call.c
tests_unit_test_state_fqdns_LDADD = $(UNIT_LIBS)

tests_unit_test_state_group_SOURCES = \
	$(STATE_WORLD) \
	tests/unit/test-state-group.c
tests_unit_test_state_group_LDADD = $(UNIT_LIBS)

tests_unit_test_state_order_SOURCES = \
	tests/unit/classifier-model.c \
	tests/unit/classifier-model.h \
	tests/unit/test-state-order.c \
	antrea-dp/state/adp-state-order.c
tests_unit_test_state_order_LDADD = $(UNIT_LIBS)

tests_unit_test_state_slices_SOURCES = \
	$(STATE_WORLD) \
	tests/unit/test-state-slices.c
tests_unit_test_state_slices_LDADD = $(UNIT_LIBS)

tests_unit_test_state_SOURCES = \
	$(STATE_WORLD) \
	tests/unit/test-state.c
tests_unit_test_state_LDADD = $(UNIT_LIBS)

tests_unit_test_tunnel_SOURCES = \
	tests/unit/counted-xcaches.h \
	tests/unit/tunnel-world.h \
	tests/unit/turn-slices.h \
	tests/unit/test-tunnel.c \
	antrea-dp/packet/adp-tunnel.c
tests_unit_test_tunnel_LDADD = $(UNIT_LIBS)
tests_unit_test_tunnel_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=poll_immediate_wake_at \
	-Wl,--wrap=time_msec

tests_unit_test_tunnel_push_SOURCES = \
	tests/unit/test-tunnel-push.c \
	tests/unit/train.h
tests_unit_test_tunnel_push_LDADD = $(UNIT_LIBS)
tests_unit_test_tunnel_push_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=netdev_push_header

tests_unit_test_tunnel_recirc_SOURCES = \
	tests/unit/counted-xcaches.h \
	tests/unit/tunnel-world.h \
	tests/unit/turn-slices.h \
	tests/unit/test-tunnel-recirc.c \
	antrea-dp/packet/adp-tunnel.c
tests_unit_test_tunnel_recirc_LDADD = $(UNIT_LIBS)
tests_unit_test_tunnel_recirc_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=time_msec

tests_unit_test_tunnel_template_SOURCES = \
	tests/unit/test-tunnel-template.c \
	tests/unit/train.h
tests_unit_test_tunnel_template_LDADD = $(UNIT_LIBS)
tests_unit_test_tunnel_template_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=time_usec

tests_unit_test_turn_SOURCES = \
	tests/unit/test-turn.c \
	tests/unit/turn-clock.h \
	antrea-dp/bridge/adp-turn.c
tests_unit_test_turn_LDADD = $(UNIT_LIBS)

tests_unit_test_dns_SOURCES = tests/unit/test-dns.c
tests_unit_test_dns_LDADD = $(UNIT_LIBS)
tests_unit_test_dns_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=dn_expand

tests_unit_test_handover_file_SOURCES = tests/unit/test-handover-file.c
tests_unit_test_handover_file_LDADD = $(UNIT_LIBS)
tests_unit_test_handover_file_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=clock_gettime

tests_unit_test_handover_policies_SOURCES = \
	tests/unit/handover-world.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-handover-policies.c
tests_unit_test_handover_policies_LDADD = $(UNIT_LIBS)

tests_unit_test_handover_told_SOURCES = \
	tests/unit/test-handover-told.c \
	antrea-dp/state/adp-handover.c
tests_unit_test_handover_told_LDADD = $(UNIT_LIBS)

tests_unit_test_heap_SOURCES = \
	tests/unit/test-heap.c \
	antrea-dp/bridge/adp-heap.c \
	antrea-dp/bridge/adp-turn.c \
	antrea-dp/state/adp-job.c
tests_unit_test_heap_LDADD = $(UNIT_LIBS)

tests_unit_test_igmp_SOURCES = tests/unit/test-igmp.c
tests_unit_test_igmp_LDADD = $(UNIT_LIBS)
tests_unit_test_igmp_reports_SOURCES = tests/unit/test-igmp-reports.c
tests_unit_test_igmp_reports_LDADD = $(UNIT_LIBS)
tests_unit_test_members_SOURCES = tests/unit/test-members.c
tests_unit_test_members_LDADD = $(UNIT_LIBS)
tests_unit_test_names_SOURCES = tests/unit/test-names.c
tests_unit_test_names_LDADD = $(UNIT_LIBS)

tests_unit_gen_flows_SOURCES = tests/unit/gen-flows.c
tests_unit_gen_flows_LDADD = $(UNIT_LIBS)

tests_unit_gen_names_SOURCES = tests/unit/gen-names.c
tests_unit_gen_names_LDADD = $(UNIT_LIBS)

# Of all that is built here: Automake's variables have the programs' names with
# "_" for "/" and "-".
ADP_TEST_OBJECTS = \
	$(foreach name,$(subst -,_,$(subst /,_,$(UNIT_TESTS))) \
	               tests_unit_gen_flows tests_unit_gen_names \
	               tests_unit_libunit_la, \
		$($(name)_OBJECTS))

tests_unit_test_sample_SOURCES = \
	tests/unit/test-sample.c \
	antrea-dp/packet/adp-sample.c
tests_unit_test_sample_LDADD = $(UNIT_LIBS)

tests_unit_test_shadow_SOURCES = \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-shadow.c \
	antrea-dp/shadow/adp-shadow-compare.c \
	antrea-dp/shadow/adp-shadow-execute.c
tests_unit_test_shadow_LDADD = $(UNIT_LIBS)

tests_unit_test_show_log_SOURCES = \
	tests/unit/test-show-log.c \
	tests/unit/turn-slices.h \
	antrea-dp/show/adp-show-log.c
tests_unit_test_show_log_LDADD = $(UNIT_LIBS)

tests_unit_test_walk_SOURCES = \
	tests/unit/no-tunnels.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-walk.c \
	antrea-dp/packet/adp-ct.c \
	antrea-dp/packet/adp-walk.c
tests_unit_test_walk_LDADD = $(UNIT_LIBS)
tests_unit_test_walk_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=tnl_port_map_lookup

# What is tested is optimized as ever; most of the time that tests take to build
# goes to compiling the tests.
tests/unit/%.o: CFLAGS += -O1
