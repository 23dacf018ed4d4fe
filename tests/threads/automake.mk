# SPDX-License-Identifier: Apache-2.0

# The daemon with Pods that talk, for ThreadSanitizer: in a build that has it.
if THREADS
check_PROGRAMS += tests/threads/ovs-vswitchd
tests_threads_ovs_vswitchd_SOURCES = \
	tests/threads/netdev-pod.c \
	tests/threads/talk-ring.h
tests_threads_ovs_vswitchd_LDFLAGS = $(antrea_dp_ovs_vswitchd_LDFLAGS)
tests_threads_ovs_vswitchd_LDADD = \
	$(antrea_dp_ovs_vswitchd_OBJECTS) \
	$(antrea_dp_ovs_vswitchd_LDADD)
ADP_TEST_OBJECTS += $(tests_threads_ovs_vswitchd_OBJECTS)
endif

EXTRA_DIST += tests/threads

# On what is installed, with the daemon of the build in _build-tsan/.
#   make check-tsan [SEED=...] [SECONDS_TSAN=...]
check-tsan:
	@ADP_TOP='$(abs_top_srcdir)' ADP_PREFIX='$(prefix)' \
	$(if $(SEED),SEED=$(SEED)) \
	$(if $(SECONDS_TSAN),SECONDS_TSAN=$(SECONDS_TSAN)) \
		$(top_srcdir)/tests/threads/threads.test

.PHONY: check-tsan
