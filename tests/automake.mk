# SPDX-License-Identifier: Apache-2.0

include tests/unit/automake.mk
include tests/unit/model.mk
include tests/unit/conntrack.mk
include tests/unit/dpctl.mk
include tests/fuzz/automake.mk
include tests/threads/automake.mk

EXTRA_DIST += \
	docs \
	tests/run \
	tests/bench \
	tests/browser \
	tests/conformance \
	tests/demo \
	tests/dpctl \
	tests/e2e \
	tests/mesh \
	tests/oracle \
	tests/static \
	tests/openflow.py \
	tests/unixctl.py \
	tests/upstream \
	tests/upstream-full

TESTS += \
	tests/conformance/compare.test \
	tests/conformance/early.test \
	tests/conformance/v115.test \
	tests/dpctl/completion.test \
	tests/dpctl/diff.test \
	tests/dpctl/dpctl.test \
	tests/dpctl/follow.test \
	tests/dpctl/habits.test \
	tests/dpctl/inspect.test \
	tests/dpctl/keep-going.test \
	tests/dpctl/recovery.test \
	tests/dpctl/retry.test \
	tests/dpctl/watch.test

# Tests of the source tree and of the build itself; once is enough.
if !SANITIZERS
TESTS += \
	tests/static/bench.test \
	tests/static/boot.test \
	tests/static/bounds.test \
	tests/static/cache.test \
	tests/static/comments.test \
	tests/static/dist.test \
	tests/static/docs-names.test \
	tests/static/dpdk-conf.test \
	tests/static/features.test \
	tests/static/fuzz-run.test \
	tests/static/headers.test \
	tests/static/install.test \
	tests/static/hooks-budget.test \
	tests/static/hooks-refused.test \
	tests/static/image.test \
	tests/static/layers.test \
	tests/static/names-doc.test \
	tests/static/pipelines-doc.test \
	tests/static/prefetch.test \
	tests/static/rebuild.test \
	tests/static/run.test \
	tests/static/style.test \
	tests/static/thread-safety.test
endif

TEST_EXTENSIONS = .test
TEST_LOG_COMPILER =
# A program that hangs is named, and doesn't take the others' time.
LOG_COMPILER = timeout -v -k 10 600
AM_TESTS_ENVIRONMENT = \
	ADP_TOP='$(abs_top_srcdir)'; export ADP_TOP; \
	ADP_BUILD='$(abs_top_builddir)'; export ADP_BUILD; \
	ADP_COMPILE='$(COMPILE)'; export ADP_COMPILE; \
	CK_TIMEOUT_MULTIPLIER=20; export CK_TIMEOUT_MULTIPLIER; \
	UBSAN_OPTIONS=print_stacktrace=1; export UBSAN_OPTIONS; \
	ASAN_OPTIONS=$(ASAN_SEARCHES)$${ASAN_OPTIONS-}; export ASAN_OPTIONS;

# Functions that look for something in a text are checked to the end of the text
# each time they are called: of a long one that is parsed, most of the time goes
# there.  What they return is checked where it is used.
ASAN_SEARCHES = \
	intercept_strspn=0:intercept_strpbrk=0:intercept_strstr=0:intercept_strtok=0:

# Stock OVS as oracle, on what "make install" has installed; as root.
#   make check-oracle [SEED=...|random] [SETS=...] [PACKETS=...]
ORACLE_ENV = \
	ADP_TOP='$(abs_top_srcdir)' ADP_BUILD='$(abs_top_builddir)' \
	ADP_PREFIX='$(prefix)'

check-oracle: tests/unit/gen-flows
	@$(ORACLE_ENV) $(if $(SEED),SEED=$(SEED)) $(if $(SETS),SETS=$(SETS)) \
	$(if $(PACKETS),PACKETS=$(PACKETS)) \
		$(top_srcdir)/tests/oracle/oracle.test

# The same for long, and with another seed each time: an hour, unless told
# otherwise.  The steps to what differs are left in tests/oracle here.
#   make soak-oracle [SECONDS=...] [PACKETS=...] [WORKERS=...] [SEED=...]
#       [SETS=...] [KIND=...]
soak-oracle: tests/unit/gen-flows
	@$(top_srcdir)/tests/oracle/soak --prefix '$(prefix)' \
		--gen-flows tests/unit/gen-flows --cases tests/oracle \
		$(if $(SECONDS),--seconds $(SECONDS)) \
		$(if $(PACKETS),--packets $(PACKETS)) \
		$(if $(WORKERS),--workers $(WORKERS)) \
		$(if $(SEED),--seed $(SEED)) $(if $(SETS),--sets $(SETS)) \
		$(if $(KIND),--kind $(KIND))

.PHONY: check-oracle soak-oracle

# The mesh of policies for long: an hour or so; as root.
#   make soak-mesh [SEED=...] [SETS=...] [STEPS=...]
soak-mesh:
	@ADP_PREFIX='$(prefix)' $(if $(SEED),SEED=$(SEED)) \
	SETS=$(or $(SETS),200) STEPS=$(or $(STEPS),12) \
		$(top_srcdir)/tests/mesh/mesh.test

.PHONY: soak-mesh

# The pages of `antrea-dpctl trace --html` in a browser.  With PICTURE=FILE,
# that for the README is made anew.
check-browser: utilities/antrea-dpctl
	@ADP_TOP='$(abs_top_srcdir)' ADP_BUILD='$(abs_top_builddir)' \
		$(top_srcdir)/tests/browser/page.test $(PICTURE)

.PHONY: check-browser
