# SPDX-License-Identifier: Apache-2.0
#
# Unit tests of the model and of pipelines.

tests_unit_test_model_index_SOURCES = \
	tests/unit/count-pauses.h \
	tests/unit/test-model-index.c
tests_unit_test_model_index_LDADD = $(UNIT_LIBS)
tests_unit_test_model_index_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=adp_model_find \
	-Wl,--wrap=strcmp

tests_unit_test_model_ip_SOURCES = tests/unit/test-model-ip.c
tests_unit_test_model_ip_LDADD = $(UNIT_LIBS)

tests_unit_test_model_blame_SOURCES = tests/unit/test-model-blame.c
tests_unit_test_model_blame_LDADD = $(UNIT_LIBS)

tests_unit_test_model_changes_SOURCES = \
	tests/unit/random-records.c \
	tests/unit/random-records.h \
	tests/unit/test-model-changes.c
tests_unit_test_model_changes_LDADD = $(UNIT_LIBS)

tests_unit_test_model_l7_SOURCES = tests/unit/test-model-l7.c
tests_unit_test_model_l7_LDADD = $(UNIT_LIBS)

tests_unit_test_model_numbers_SOURCES = tests/unit/test-model-numbers.c
tests_unit_test_model_numbers_LDADD = $(UNIT_LIBS)

tests_unit_test_model_sort_SOURCES = \
	tests/unit/count-pauses.h \
	tests/unit/test-model-sort.c
tests_unit_test_model_sort_LDADD = $(UNIT_LIBS)

tests_unit_test_model_SOURCES = tests/unit/test-model.c
tests_unit_test_model_LDADD = $(UNIT_LIBS)

tests_unit_test_pipeline_ipv6_SOURCES = \
	tests/unit/pipeline-world.c \
	tests/unit/pipeline-world.h \
	tests/unit/test-pipeline-ipv6.c
tests_unit_test_pipeline_ipv6_LDADD = $(UNIT_LIBS)

tests_unit_test_pipeline_early_SOURCES = \
	tests/unit/pipeline-world.c \
	tests/unit/pipeline-world.h \
	tests/unit/test-pipeline-early.c
tests_unit_test_pipeline_early_LDADD = $(UNIT_LIBS)

tests_unit_test_pipeline_names_SOURCES = \
	tests/unit/pipeline-world.c \
	tests/unit/pipeline-world.h \
	tests/unit/test-pipeline-names.c
tests_unit_test_pipeline_names_LDADD = $(UNIT_LIBS)

tests_unit_test_pipeline_packets_SOURCES = \
	tests/unit/pipeline-world.c \
	tests/unit/pipeline-world.h \
	tests/unit/test-pipeline-packets.c
tests_unit_test_pipeline_packets_LDADD = $(UNIT_LIBS)

tests_unit_test_pipeline_multicast_SOURCES = \
	tests/unit/pipeline-world.c \
	tests/unit/pipeline-world.h \
	tests/unit/test-pipeline-multicast.c
tests_unit_test_pipeline_multicast_LDADD = $(UNIT_LIBS)

tests_unit_test_pipeline_egress_SOURCES = \
	tests/unit/pipeline-world.c \
	tests/unit/pipeline-world.h \
	tests/unit/test-pipeline-egress.c
tests_unit_test_pipeline_egress_LDADD = $(UNIT_LIBS)

tests_unit_test_pipeline_services_SOURCES = \
	tests/unit/pipeline-world.c \
	tests/unit/pipeline-world.h \
	tests/unit/test-pipeline-services.c
tests_unit_test_pipeline_services_LDADD = $(UNIT_LIBS)

tests_unit_test_pipeline_example_SOURCES = \
	tests/unit/example-pipeline.c \
	tests/unit/example-pipeline.h \
	tests/unit/pipeline-world.c \
	tests/unit/pipeline-world.h \
	tests/unit/test-pipeline-example.c
tests_unit_test_pipeline_example_LDADD = $(UNIT_LIBS)

tests_unit_test_pipeline_SOURCES = \
	tests/unit/pipeline-world.c \
	tests/unit/pipeline-world.h \
	tests/unit/test-pipeline.c
tests_unit_test_pipeline_LDADD = $(UNIT_LIBS)
