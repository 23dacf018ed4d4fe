# SPDX-License-Identifier: Apache-2.0

# Fuzzers: in a build with --enable-fuzzers with clang's libFuzzer, for
# ./boot.sh fuzz; in all others with a driver of our own, as unit tests.

EXTRA_DIST += \
	tests/fuzz/README.md \
	tests/fuzz/conntrack.options \
	tests/fuzz/corpus \
	tests/fuzz/flows.options \
	tests/fuzz/objects.dict \
	tests/fuzz/parsers.dict \
	tests/fuzz/run \
	tests/fuzz/state.dict

FUZZERS = \
	tests/fuzz/fuzz-conntrack \
	tests/fuzz/fuzz-control \
	tests/fuzz/fuzz-disk \
	tests/fuzz/fuzz-flows \
	tests/fuzz/fuzz-fragments \
	tests/fuzz/fuzz-handover \
	tests/fuzz/fuzz-objects \
	tests/fuzz/fuzz-packet \
	tests/fuzz/fuzz-parsers \
	tests/fuzz/fuzz-state
check_PROGRAMS += $(FUZZERS)
TESTS += $(FUZZERS)

if LIBFUZZER
FUZZ_DRIVER =
FUZZ_LIBS = $(FUZZ_REST)
FUZZ_LINK = $(AM_LDFLAGS) -fsanitize=fuzzer
else
FUZZ_DRIVER = tests_fuzz_libdriver_la
check_LTLIBRARIES += tests/fuzz/libdriver.la
tests_fuzz_libdriver_la_SOURCES = tests/fuzz/driver.c
FUZZ_LIBS = tests/fuzz/libdriver.la $(FUZZ_REST)
FUZZ_LINK = $(AM_LDFLAGS)
endif
WRAP_QUOTED_PORTS = \
	-Wl,--wrap=packet_set_sctp_port -Wl,--wrap=packet_set_tcp_port
FUZZ_REST = tests/unit/libunit.la lib/libadp.la $(OVS_LIB) $(CHECK_LIBS)

fuzzers: $(FUZZERS)
.PHONY: fuzzers

tests_fuzz_fuzz_conntrack_SOURCES = \
	tests/fuzz/ct-packet.c \
	tests/fuzz/ct-packet.h \
	tests/fuzz/fuzz-conntrack.c \
	tests/fuzz/fuzz.h \
	antrea-dp/packet/adp-ct.c \
	antrea-dp/provider/adp-quoted-ports.c
tests_fuzz_fuzz_conntrack_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_conntrack_LDFLAGS = $(FUZZ_LINK) $(WRAP_QUOTED_PORTS) \
	-Wl,--wrap=time_msec -Wl,--wrap=poll_timer_wait_until_at

tests_fuzz_fuzz_control_SOURCES = \
	$(STATE_WORLD) \
	tests/fuzz/fuzz-control.c \
	tests/fuzz/fuzz-place.h \
	tests/fuzz/fuzz.h \
	antrea-dp/control/adp-control-bridge.c \
	antrea-dp/control/adp-control-get.c \
	antrea-dp/control/adp-control-methods.c \
	antrea-dp/control/adp-control-reading.c \
	antrea-dp/control/adp-control-transaction.c
tests_fuzz_fuzz_control_LDADD = antrea-dp/libcontrol.la $(FUZZ_LIBS)
tests_fuzz_fuzz_control_LDFLAGS = $(FUZZ_LINK) -Wl,--wrap=time_msec

tests_fuzz_fuzz_disk_SOURCES = \
	tests/fuzz/fuzz-disk.c \
	tests/fuzz/fuzz-place.h \
	tests/fuzz/fuzz.h \
	tests/unit/disk-world.h \
	antrea-dp/state/adp-state-disk.c
tests_fuzz_fuzz_disk_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_disk_LDFLAGS = $(FUZZ_LINK)

tests_fuzz_fuzz_flows_SOURCES = \
	tests/fuzz/fuzz-flows.c \
	tests/fuzz/fuzz.h
tests_fuzz_fuzz_flows_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_flows_LDFLAGS = $(FUZZ_LINK)

tests_fuzz_fuzz_fragments_SOURCES = \
	tests/fuzz/fuzz-fragments.c \
	tests/fuzz/fuzz.h \
	tests/unit/ip-fragment.h
tests_fuzz_fuzz_fragments_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_fragments_LDFLAGS = $(FUZZ_LINK)

tests_fuzz_fuzz_handover_SOURCES = \
	tests/fuzz/ct-packet.c \
	tests/fuzz/ct-packet.h \
	tests/fuzz/fuzz-handover.c \
	tests/fuzz/fuzz-place.h \
	tests/fuzz/fuzz.h \
	antrea-dp/provider/adp-quoted-ports.c
tests_fuzz_fuzz_handover_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_handover_LDFLAGS = $(FUZZ_LINK) $(WRAP_QUOTED_PORTS)

tests_fuzz_fuzz_objects_SOURCES = \
	tests/fuzz/fuzz-objects.c \
	tests/fuzz/fuzz.h \
	tests/unit/index-answer.h
tests_fuzz_fuzz_objects_LDADD = utilities/libdpctl.la $(FUZZ_LIBS) \
	$(YAML_LIBS) $(PCAP_LIBS)
tests_fuzz_fuzz_objects_LDFLAGS = $(FUZZ_LINK)

tests_fuzz_fuzz_packet_SOURCES = \
	tests/fuzz/fuzz-packet.c \
	tests/fuzz/fuzz.h \
	antrea-dp/packet/adp-refusal.c \
	antrea-dp/packet/adp-truncate.c
tests_fuzz_fuzz_packet_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_packet_LDFLAGS = $(FUZZ_LINK)

tests_fuzz_fuzz_parsers_SOURCES = \
	tests/fuzz/fuzz-parsers.c \
	tests/fuzz/fuzz.h
tests_fuzz_fuzz_parsers_LDADD = utilities/libdpctl.la $(FUZZ_LIBS) \
	$(YAML_LIBS) $(PCAP_LIBS)
tests_fuzz_fuzz_parsers_LDFLAGS = $(FUZZ_LINK)

tests_fuzz_fuzz_state_SOURCES = \
	tests/fuzz/fuzz-state.c \
	tests/fuzz/fuzz.h \
	tests/unit/random-records.c \
	tests/unit/random-records.h
tests_fuzz_fuzz_state_LDADD = $(FUZZ_LIBS)
tests_fuzz_fuzz_state_LDFLAGS = $(FUZZ_LINK)

ADP_TEST_OBJECTS += \
	$(foreach name,$(subst -,_,$(subst /,_,$(FUZZERS))) \
	               $(FUZZ_DRIVER), \
		$($(name)_OBJECTS))
