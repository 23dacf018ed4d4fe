# SPDX-License-Identifier: Apache-2.0

# Unit tests of upstream's conntrack with our hooks.

tests_unit_test_conntrack_ahead_SOURCES = tests/unit/test-conntrack-ahead.c
tests_unit_test_conntrack_ahead_LDADD = $(UNIT_LIBS)

tests_unit_test_conntrack_flush_SOURCES = \
	tests/unit/conntrack-counts.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-flush.c
tests_unit_test_conntrack_flush_LDADD = $(UNIT_LIBS)

tests_unit_test_conntrack_ftp_SOURCES = \
	tests/unit/conntrack-foresee.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-ftp.c
tests_unit_test_conntrack_ftp_LDADD = $(UNIT_LIBS)

tests_unit_test_conntrack_half_open_SOURCES = \
	tests/unit/conntrack-counts.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-half-open.c \
	tests/unit/wait-until.h
tests_unit_test_conntrack_half_open_LDADD = $(UNIT_LIBS)
tests_unit_test_conntrack_half_open_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=pthread_join

tests_unit_test_conntrack_handover_SOURCES = \
	tests/unit/handover-world.h \
	tests/unit/sctp-packet.c \
	tests/unit/sctp-packet.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-handover.c \
	tests/unit/wait-until.h
tests_unit_test_conntrack_handover_LDADD = $(UNIT_LIBS)

tests_unit_test_conntrack_displace_SOURCES = \
	tests/unit/conntrack-foresee.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-displace.c
tests_unit_test_conntrack_displace_LDADD = $(UNIT_LIBS)

tests_unit_test_conntrack_peek_SOURCES = \
	tests/unit/conntrack-foresee.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-peek.c
tests_unit_test_conntrack_peek_LDADD = $(UNIT_LIBS)
tests_unit_test_conntrack_peek_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=ovs_mutex_lock_at

tests_unit_test_conntrack_sctp_SOURCES = \
	tests/unit/sctp-packet.c \
	tests/unit/sctp-packet.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-sctp.c
tests_unit_test_conntrack_sctp_LDADD = $(UNIT_LIBS)

tests_unit_test_conntrack_table_SOURCES = \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-table.c \
	tests/unit/wait-until.h
tests_unit_test_conntrack_table_LDADD = $(UNIT_LIBS)

tests_unit_test_conntrack_ref_SOURCES = \
	tests/unit/conntrack-world.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-ref.c \
	tests/unit/wait-until.h
tests_unit_test_conntrack_ref_LDADD = $(UNIT_LIBS)

tests_unit_test_conntrack_track_SOURCES = \
	tests/unit/conntrack-world.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-track.c \
	tests/unit/wait-until.h
tests_unit_test_conntrack_track_LDADD = $(UNIT_LIBS)

tests_unit_test_conntrack_unanswered_SOURCES = \
	tests/unit/conntrack-counts.h \
	tests/unit/sctp-packet.c \
	tests/unit/sctp-packet.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-unanswered.c \
	tests/unit/wait-until.h
tests_unit_test_conntrack_unanswered_LDADD = $(UNIT_LIBS)

tests_unit_test_conntrack_zone_full_SOURCES = \
	tests/unit/conntrack-foresee.h \
	tests/unit/conntrack-counts.h \
	tests/unit/talk.c \
	tests/unit/talk.h \
	tests/unit/test-conntrack-zone-full.c
tests_unit_test_conntrack_zone_full_LDADD = $(UNIT_LIBS)

tests_unit_test_conntrack_hash_SOURCES = tests/unit/test-conntrack-hash.c
tests_unit_test_conntrack_hash_LDADD = $(UNIT_LIBS)
