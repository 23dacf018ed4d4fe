# SPDX-License-Identifier: Apache-2.0

# The engine and the typed state: a plain library that knows no daemon.

noinst_LTLIBRARIES += lib/libadp.la
lib_libadp_la_SOURCES = \
	lib/adp-change-log.c \
	lib/adp-change-log.h \
	lib/adp-compile.c \
	lib/adp-cow.c \
	lib/adp-cow.h \
	lib/adp-decide-ct.c \
	lib/adp-decide-group.c \
	lib/adp-decide-private.h \
	lib/adp-decide.c \
	lib/adp-decide.h \
	lib/adp-delta.c \
	lib/adp-group-map.c \
	lib/adp-group.c \
	lib/adp-key.c \
	lib/adp-key.h \
	lib/adp-learn.c \
	lib/adp-learn.h \
	lib/adp-match-linear.c \
	lib/adp-match.c \
	lib/adp-match.h \
	lib/adp-op-modify.c \
	lib/adp-op.c \
	lib/adp-op.h \
	lib/adp-program-private.h \
	lib/adp-program.c \
	lib/adp-program.h \
	lib/adp-punt.c \
	lib/adp-punt.h \
	lib/adp-reads.c \
	lib/adp-reads.h \
	lib/adp-rules.c \
	lib/adp-rules.h \
	lib/adp-session-parse.c \
	lib/adp-session-parse.h \
	lib/adp-session.c \
	lib/adp-session.h \
	lib/adp-stats.c \
	lib/adp-stats.h \
	lib/adp-trace.c \
	lib/adp-trace.h \
	lib/model-check.c \
	lib/model-parse-policy.c \
	lib/model-parse.c \
	lib/model-parse.h \
	lib/model-reader.c \
	lib/model-reader.h \
	lib/model-record.c \
	lib/model-records.h \
	lib/model.c \
	lib/model.h \
	lib/pipeline-state.c \
	lib/pipeline-state.h \
	lib/pipeline-v115-clause.c \
	lib/pipeline-v115-clause.h \
	lib/pipeline-v115-policy.c \
	lib/pipeline-v115-service.c \
	lib/pipeline-v115-text.c \
	lib/pipeline-v115-text.h \
	lib/pipeline-v115.c \
	lib/pipeline-v115.def \
	lib/pipeline-v115.h \
	lib/pipeline.c \
	lib/pipeline.h
