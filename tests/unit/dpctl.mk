# SPDX-License-Identifier: Apache-2.0

# Unit tests of antrea-dpctl.

tests_unit_test_dpctl_batch_SOURCES = tests/unit/test-dpctl-batch.c
tests_unit_test_dpctl_batch_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

DELTA_WORLD = \
	tests/unit/dpctl-delta-world.c \
	tests/unit/dpctl-delta-world.h \
	tests/unit/dpctl-given.c \
	tests/unit/dpctl-given.h \
	tests/unit/dpctl-random-families.c \
	tests/unit/dpctl-random-families.h \
	tests/unit/dpctl-random-objects.c \
	tests/unit/dpctl-random-objects.h \
	tests/unit/index-answer.h

tests_unit_test_dpctl_delta_SOURCES = \
	$(DELTA_WORLD) \
	tests/unit/test-dpctl-delta.c
tests_unit_test_dpctl_delta_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_delta_ports_SOURCES = \
	$(DELTA_WORLD) \
	tests/unit/test-dpctl-delta-ports.c
tests_unit_test_dpctl_delta_ports_LDADD = \
	utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_explain_SOURCES = tests/unit/test-dpctl-explain.c
tests_unit_test_dpctl_explain_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_feed_SOURCES = tests/unit/test-dpctl-feed.c
tests_unit_test_dpctl_feed_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_follow_SOURCES = tests/unit/test-dpctl-follow.c
tests_unit_test_dpctl_follow_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_html_SOURCES = tests/unit/test-dpctl-html.c
tests_unit_test_dpctl_html_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_input_SOURCES = \
	tests/unit/dpctl-given.c \
	tests/unit/dpctl-given.h \
	tests/unit/test-dpctl-input.c
tests_unit_test_dpctl_input_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)
tests_unit_test_dpctl_services_SOURCES = \
	tests/unit/dpctl-given.c \
	tests/unit/dpctl-given.h \
	tests/unit/test-dpctl-services.c
tests_unit_test_dpctl_services_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_ipv6_SOURCES = \
	tests/unit/dpctl-given.c \
	tests/unit/dpctl-given.h \
	tests/unit/test-dpctl-ipv6.c
tests_unit_test_dpctl_ipv6_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_peers_SOURCES = \
	tests/unit/dpctl-given.c \
	tests/unit/dpctl-given.h \
	tests/unit/test-dpctl-peers.c
tests_unit_test_dpctl_peers_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_load_SOURCES = tests/unit/test-dpctl-load.c
tests_unit_test_dpctl_load_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_plan_SOURCES = \
	tests/unit/dpctl-given.c \
	tests/unit/dpctl-given.h \
	tests/unit/test-dpctl-plan.c
tests_unit_test_dpctl_plan_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_pieces_SOURCES = tests/unit/test-dpctl-pieces.c
tests_unit_test_dpctl_pieces_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_inspect_SOURCES = tests/unit/test-dpctl-inspect.c
tests_unit_test_dpctl_inspect_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_similar_SOURCES = tests/unit/test-dpctl-similar.c
tests_unit_test_dpctl_similar_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_trace_SOURCES = tests/unit/test-dpctl-trace.c
tests_unit_test_dpctl_trace_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_stats_SOURCES = tests/unit/test-dpctl-stats.c
tests_unit_test_dpctl_stats_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_walk_SOURCES = tests/unit/test-dpctl-walk.c
tests_unit_test_dpctl_walk_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)

tests_unit_test_dpctl_SOURCES = \
	tests/unit/dpctl-given.c \
	tests/unit/dpctl-given.h \
	tests/unit/test-dpctl.c
tests_unit_test_dpctl_LDADD = utilities/libdpctl.la $(UNIT_LIBS) $(YAML_LIBS)
