# SPDX-License-Identifier: Apache-2.0

# Unit tests: each a libcheck program on the engine library alone.

UNIT_TESTS = \
	tests/unit/test-control-conn \
	tests/unit/test-decide-ct \
	tests/unit/test-decide \
	tests/unit/test-model
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)

check_LTLIBRARIES = tests/unit/libunit.la
tests_unit_libunit_la_SOURCES = \
	tests/unit/engine.c \
	tests/unit/engine.h
UNIT_LIBS = \
	tests/unit/libunit.la \
	lib/libadp.la \
	$(OVS_LIB) \
	$(CHECK_LIBS)

# Programs that tests call.
check_PROGRAMS += \
	tests/unit/gen-flows

tests_unit_test_control_conn_SOURCES = tests/unit/test-control-conn.c
tests_unit_test_control_conn_LDADD = $(UNIT_LIBS)

tests_unit_test_decide_ct_SOURCES = tests/unit/test-decide-ct.c
tests_unit_test_decide_ct_LDADD = $(UNIT_LIBS)

tests_unit_test_decide_SOURCES = tests/unit/test-decide.c
tests_unit_test_decide_LDADD = $(UNIT_LIBS)

tests_unit_test_model_SOURCES = tests/unit/test-model.c
tests_unit_test_model_LDADD = $(UNIT_LIBS)

tests_unit_gen_flows_SOURCES = tests/unit/gen-flows.c
tests_unit_gen_flows_LDADD = $(UNIT_LIBS)

ADP_TEST_OBJECTS = \
	$(tests_unit_libunit_la_OBJECTS) \
	$(tests_unit_test_control_conn_OBJECTS) \
	$(tests_unit_test_decide_ct_OBJECTS) \
	$(tests_unit_test_decide_OBJECTS) \
	$(tests_unit_test_model_OBJECTS) \
	$(tests_unit_gen_flows_OBJECTS)
